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
	HWT_CLOCK_CNTVCT,	/* Arm virtual counter */
	HWT_CLOCK_CYC,		/* cycles of a CPU */
	/* ns of clocks that the kernel keeps; one of them may be what the base is */
	HWT_CLOCK_PERF,		/* the scheduler's, which perf uses by default */
	HWT_CLOCK_LOCAL,	/* ftrace "local": as perf's, not compared between CPUs */
	HWT_CLOCK_GLOBAL,	/* ftrace "global": as perf's, in order over CPUs */
	HWT_CLOCK_MONOTONIC,
	HWT_CLOCK_MONOTONIC_RAW,	/* not slewed */
	HWT_CLOCK_BOOT,		/* monotonic with the time asleep */
	HWT_CLOCK_REALTIME,	/* UTC */
	HWT_CLOCK_TAI,
	HWT_CLOCK_COUNT
};

/* "tsc", "coresight", "monotonic-raw", ...: as in --json; "base" for what is none. Static. */
const char *hwt_clock_name(unsigned clock);

#define HWT_TIME_UNKNOWN UINT64_MAX	/* no time is known; zero is a time like any other */

/* An instant is never a number: it lies in [lo, hi], both included. hi may be HWT_TIME_UNKNOWN. */
struct hwt_interval {
	uint64_t lo, hi;
};

/* Lengths, which are intervals too: @v is added to @sum. A bound that is too long is none. */
static inline void hwt_interval_add(struct hwt_interval *sum, struct hwt_interval v)
{
	sum->lo = sum->lo > HWT_TIME_UNKNOWN - v.lo ? HWT_TIME_UNKNOWN : sum->lo + v.lo;
	sum->hi = sum->hi > HWT_TIME_UNKNOWN - v.hi ? HWT_TIME_UNKNOWN : sum->hi + v.hi;
}

#endif
