/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_RING_SHIM_H
#define HWT_KMOD_RING_SHIM_H

/*
 * What ring.c and filter.c need of their surroundings, in the kernel and in a program that tests
 * them. A ring_local is touched by one CPU and what interrupts it, a ring_shared by any CPU.
 */
#ifdef __KERNEL__

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>
#include <asm/local64.h>
#ifdef CONFIG_X86
#include <asm/msr.h>
#include <asm/tsc.h>
#elif defined(CONFIG_ARM64)
#include <asm/arch_timer.h>
#endif

#define RING_CODE notrace

typedef local64_t ring_local;
typedef atomic64_t ring_shared;

static __always_inline u64 ring_local_read(ring_local *v)
{
	return (u64)local64_read(v);
}

static __always_inline void ring_local_set(ring_local *v, u64 n)
{
	local64_set(v, (s64)n);
}

/* The new value. */
static __always_inline u64 ring_local_add(ring_local *v, u64 n)
{
	return (u64)local64_add_return((s64)n, v);
}

/* Is it zero now? */
static __always_inline bool ring_local_take(ring_local *v, u64 n)
{
	return local64_sub_and_test((s64)n, v);
}

static __always_inline bool ring_local_cas(ring_local *v, u64 old, u64 new)
{
#ifdef CONFIG_X86_64
	bool done;

	/* the kernel's own gives the word, which then is compared once more */
	asm volatile("cmpxchgq %3, %1" : "=@ccz"(done), "+m"(*v), "+a"(old) : "r"(new) : "memory");
	return done;
#else
	return (u64)local64_cmpxchg(v, (s64)old, (s64)new) == old;
#endif
}

static __always_inline u64 ring_shared_read(ring_shared *v)
{
	return (u64)atomic64_read_acquire(v);
}

static __always_inline void ring_shared_set(ring_shared *v, u64 n)
{
	atomic64_set_release(v, (s64)n);
}

/* Orders what is before and after it, if it succeeds. */
static __always_inline bool ring_shared_cas(ring_shared *v, u64 old, u64 new)
{
	return (u64)atomic64_cmpxchg(v, (s64)old, (s64)new) == old;
}

/* The counter that records are stamped with; not read ahead of what stands before it. */
static __always_inline u64 ring_clock(void)
{
#ifdef CONFIG_X86
	return rdtsc_ordered();
#elif defined(CONFIG_ARM64)
	return __arch_counter_get_cntvct();
#else
#error "no counter is known for this architecture"
#endif
}

#else /* a program */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* What may come between two accesses: tests put other writers and the reader there. */
#ifndef RING_POINT
#define RING_POINT() ((void)0)
#endif

#define RING_CODE
#define likely(x)	__builtin_expect(!!(x), 1)
#define unlikely(x)	__builtin_expect(!!(x), 0)
#define noinline	__attribute__((noinline))
#ifndef __always_inline
#define __always_inline	inline __attribute__((always_inline))
#endif
#define READ_ONCE(x)	__atomic_load_n(&(x), __ATOMIC_RELAXED)
#define WRITE_ONCE(x, n) __atomic_store_n(&(x), n, __ATOMIC_RELAXED)

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef struct { u64 v; } ring_local;
typedef struct { u64 v; } ring_shared;

/* The compiler's barriers stand for those of local_t: a signal handler is the interrupt. */
static inline u64 ring_local_read(ring_local *v)
{
	u64 n;

	RING_POINT();
	n = __atomic_load_n(&v->v, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return n;
}

static inline void ring_local_set(ring_local *v, u64 n)
{
	RING_POINT();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	__atomic_store_n(&v->v, n, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline u64 ring_local_add(ring_local *v, u64 n)
{
	RING_POINT();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	n = __atomic_add_fetch(&v->v, n, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return n;
}

static inline bool ring_local_take(ring_local *v, u64 n)
{
	RING_POINT();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	n = __atomic_sub_fetch(&v->v, n, __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return !n;
}

static inline bool ring_local_cas(ring_local *v, u64 old, u64 new)
{
	bool done;

	RING_POINT();
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	done = __atomic_compare_exchange_n(&v->v, &old, new, false, __ATOMIC_RELAXED,
					   __ATOMIC_RELAXED);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	return done;
}

static inline u64 ring_shared_read(ring_shared *v)
{
	RING_POINT();
	return __atomic_load_n(&v->v, __ATOMIC_ACQUIRE);
}

static inline void ring_shared_set(ring_shared *v, u64 n)
{
	RING_POINT();
	__atomic_store_n(&v->v, n, __ATOMIC_RELEASE);
}

static inline bool ring_shared_cas(ring_shared *v, u64 old, u64 new)
{
	RING_POINT();
	return __atomic_compare_exchange_n(&v->v, &old, new, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_ACQUIRE);
}

/* The program's own. */
u64 ring_clock(void);

#endif
#endif
