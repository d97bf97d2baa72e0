/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TIME_CLOCK_H
#define HWT_TIME_CLOCK_H

/* Names of clocks, as those who record give them. */
#include <hwtrace/time.h>

/*
 * The clock of a name that Linux ("CLOCK_MONOTONIC"), perf, ftrace ("mono", "x86-tsc"), CTF
 * ("monotonic") or a native capture ("cntvct") uses; HWT_CLOCK_BASE: not known.
 */
enum hwt_clock time_clock_of(const char *name);
/* The clock of a clock_id value of events.def; HWT_CLOCK_BASE: not known. */
enum hwt_clock time_clock_of_id(unsigned id);
/* How much its rate may change against a counter of the machine, parts in 10^9. */
uint32_t time_clock_drift(enum hwt_clock clock);

#endif
