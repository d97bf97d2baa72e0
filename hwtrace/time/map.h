/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TIME_MAP_H
#define HWT_TIME_MAP_H

#include <stdbool.h>
#include <stdint.h>

/*
 * From a counter to perf nanoseconds, as PERF_RECORD_TIME_CONV and the perf mmap page define it
 * (linux/perf_event.h, "time_zero"): ns = zero + (c >> shift) * mult + (((c & mask(shift)) *
 * mult) >> shift).
 */
struct time_map {
	uint64_t zero;
	uint64_t cycles, mask;	/* only if cap_short: c = cycles + ((c - cycles) & mask) first */
	uint32_t mult;		/* 0: no map */
	uint16_t shift;		/* below 64 */
	bool cap_short;
};

static inline bool time_map_valid(const struct time_map *m)
{
	return m->mult != 0;
}

/* Nanoseconds of counter value @c; @m must be valid. Wraps like the kernel's own arithmetic. */
uint64_t time_map_ns(const struct time_map *m, uint64_t c);
/*
 * The earliest counter value whose time is not before @ns; at most one tick from exact over the
 * 64-bit range.
 */
uint64_t time_map_ticks(const struct time_map *m, uint64_t ns);

#endif
