/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_GUEST_MARKER_H
#define TESTS_ORACLE_GUEST_MARKER_H

/*
 * Instructions that do nothing: they open (1) and close (2) what the recorder records, and hand it
 * bytes (3) that it appends to its export file.
 */
#if defined(__x86_64__)
/* an 8-byte NOP whose displacement is "HWT" and the number */
#define MARKER(n) __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 'H', 'W', 'T', " #n ::: "memory")
#elif defined(__aarch64__)
#define MARKER(n) __asm__ volatile("movz xzr, #(0x4856 + " #n ")" ::: "memory")
#endif

#if defined(__x86_64__)
/* The recorder takes it for PTWRITE of @v. */
static inline void marker_value(unsigned long v)
{
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0x00, 'W'" :: "a" (v) : "memory");
}
#else
static inline void marker_value(unsigned long v)
{
}
#endif

/* @p is in memory: the recorder can not fault it in. */
static inline void marker_export(const void *p, unsigned long n)
{
#if defined(__x86_64__)
	register const void *a __asm__("rdi") = p;
	register unsigned long b __asm__("rsi") = n;
#elif defined(__aarch64__)
	register const void *a __asm__("x0") = p;
	register unsigned long b __asm__("x1") = n;
#endif
#if defined(__x86_64__)
	__asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, 'H', 'W', 'T', 3"
			 :: "r" (a), "r" (b) : "memory");
#elif defined(__aarch64__)
	__asm__ volatile("movz xzr, #0x4859" :: "r" (a), "r" (b) : "memory");
#endif
}

#endif
