/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_TICKS_H
#define HWT_CAPTURE_TICKS_H

/* The counter of this machine that trace and kernel records have their times from. */
#include <stdint.h>
#include <time.h>

#include "../time/map.h"

#if defined(__x86_64__)
#include <x86intrin.h>
#define TICKS_COUNTER	"tsc"
/* not before what came before it has been done (SDM vol. 2, RDTSC) */
static inline uint64_t step_ticks(void)
{
	unsigned cpu;

	return __rdtscp(&cpu);
}
#elif defined(__aarch64__)
#define TICKS_COUNTER	"cntvct"
static inline uint64_t step_ticks(void)
{
	uint64_t v;

	__asm__ volatile("isb; mrs %0, cntvct_el0" : "=r"(v));
	return v;
}
#else
#define TICKS_COUNTER	"monotonic"
static inline uint64_t step_ticks(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}
#endif

/* One instant read on two clocks: the other one while the counter stood in [ticks, +width]. */
struct ticks_pair { uint64_t ticks, width, ns; };

/* The narrowest of some readings. */
struct ticks_pair ticks_read(clockid_t clock);

struct ticks_clock {
	uint64_t hz;
	uint32_t ctc_eax, ctc_ebx;	/* x86: as CPUID leaf 15H: TSC = crystal * ebx / eax */
	struct time_map map;		/* ticks to CLOCK_MONOTONIC */
	int64_t wall;			/* CLOCK_REALTIME minus CLOCK_MONOTONIC, ns */
	uint64_t error;			/* of @map at the pairs it was made of, ns */
};

/*
 * What this machine's counter is worth, found out in some milliseconds where the CPU does not tell
 * its frequency.
 */
void ticks_measure(struct ticks_clock *c);
/* The map made of two pairs some time apart; what it gives for them is at most @error off. */
void ticks_fit(struct ticks_clock *c, const struct ticks_pair *a, const struct ticks_pair *b);

#endif
