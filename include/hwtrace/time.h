/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_TIME_H
#define HWTRACE_TIME_H

#include <stdint.h>

/*
 * Clock domains. An event's time is in ticks of its domain until the session maps it to the base.
 */
enum hwt_clock {
	HWT_CLOCK_BASE,		/* ns of the capture's base clock (perf's, where there is one) */
	HWT_CLOCK_TSC,		/* x86 time stamp counter */
	HWT_CLOCK_CS,		/* CoreSight timestamp, frequency often unknown */
	HWT_CLOCK_COUNT
};

#define HWT_TIME_UNKNOWN UINT64_MAX	/* no time is known; zero is a time like any other */

/* An instant is never a number: it lies in [lo, hi], both included. hi may be HWT_TIME_UNKNOWN. */
struct hwt_interval {
	uint64_t lo, hi;
};

#endif
