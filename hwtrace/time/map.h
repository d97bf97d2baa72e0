/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TIME_MAP_H
#define HWT_TIME_MAP_H

#include <stdbool.h>
#include <stdint.h>

#include "span.h"

/*
 * From a counter to perf nanoseconds, as PERF_RECORD_TIME_CONV and the perf mmap page define it
 * (linux/perf_event.h, "time_zero"): ns = zero + (c >> shift) * mult + (((c & mask(shift)) *
 * mult) >> shift).
 */
struct time_map {
	uint64_t zero;
	uint64_t cycles, mask;	/* only if cap_short: c = cycles + ((c - cycles) & mask) first */
	uint32_t mult;		/* 0: no map, but for @fit */
	uint16_t shift;		/* below 64 */
	bool cap_short;
	/*
	 * not NULL: the conversion is known within bounds only. Then all this is the lower line,
	 * a clock that keeps the counter's order; time_fit_late() tells what its values mean.
	 */
	const struct time_fit *fit;
};

static inline bool time_map_valid(const struct time_map *m)
{
	return m->mult != 0 || m->fit;
}

/* Nanoseconds of counter value @c; @m must be valid. Wraps like the kernel's own arithmetic. */
uint64_t time_map_ns(const struct time_map *m, uint64_t c);
/*
 * The same, but a time before the clock's zero is 0 and one after INT64_MAX is that: a later
 * counter value has no earlier time.
 */
uint64_t time_map_ns_ordered(const struct time_map *m, uint64_t c);
/*
 * The earliest counter value whose time is not before @ns; at most one tick from exact over the
 * 64-bit range.
 */
uint64_t time_map_ticks(const struct time_map *m, uint64_t ns);
/* Sets @mult and @shift to @rate, ns a tick with TIME_RATE_BITS of fraction, rounded down. */
void time_map_rate(struct time_map *m, uint64_t rate);
/*
 * The map of a counter that starts at zero with @frequency ticks in a second, if nanoseconds are
 * exact; else false and *@m is untouched.
 */
bool time_map_exact(struct time_map *m, uint64_t frequency);

#endif
