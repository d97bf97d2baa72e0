/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_NOMEM_H
#define TESTS_NOMEM_H

/*
 * Memory that runs out: while @on, allocation number @countdown and all behind it fail, and
 * @balance counts blocks that were not given back. Takes the place of the C library's functions in
 * the whole program, so it is included by the file of a test that has main(), and not in a
 * sanitized build, which has its own.
 */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

extern void *__libc_malloc(size_t n);
extern void *__libc_calloc(size_t n, size_t size);
extern void *__libc_realloc(void *p, size_t n);
extern void __libc_free(void *p);

static bool on;
static long countdown, balance;

static bool fails(void)
{
	if (!on || --countdown >= 0)
		return false;
	errno = ENOMEM;
	return true;
}

void *malloc(size_t n)
{
	void *p = fails() ? NULL : __libc_malloc(n);

	balance += on && p;
	return p;
}

void *calloc(size_t n, size_t size)
{
	void *p = fails() ? NULL : __libc_calloc(n, size);

	balance += on && p;
	return p;
}

void *realloc(void *old, size_t n)
{
	void *p = fails() ? NULL : __libc_realloc(old, n);

	balance += on && p && !old;
	return p;
}

void free(void *p)
{
	balance -= on && p;
	__libc_free(p);
}

#endif
