/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TIME_SPAN_H
#define HWT_TIME_SPAN_H

/*
 * A map from a counter to another clock (ns) that is not known exactly: at each tick the other
 * clock lies between two lines. Both lines are piecewise affine and never go down.
 *
 * The lower line is a clock by itself. Who orders what was stamped with one counter uses it alone:
 * it keeps order and loses nothing. Its values are widened to true intervals at the end, by
 * time_fit_late().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/time.h>

#define TIME_RATE_BITS	40	/* of fraction: rates reach 2^24 ns a tick (60 Hz) */
#define TIME_LATEST	((uint64_t)INT64_MAX)	/* what both lines end at */

/* From tick @from to the next piece's. */
struct time_piece {
	uint64_t from;		/* ticks */
	uint64_t at;		/* ns at @from, up to TIME_LATEST */
	uint64_t rate;		/* ns a tick */
	uint64_t bar;		/* the line does not cross this; set by time_fit_close() */
};

struct time_line {
	struct time_piece *v;	/* by @from, rising; in the heap */
	size_t n, cap;
};

struct time_fit {
	struct time_line lo, hi;	/* of one piece at least */
	uint64_t rate_lo, rate_hi;	/* ns a tick at any instant, at least and at most */
};

/* A rate of @num / @den, rounded down or up; UINT64_MAX if it is too large. @den is not 0. */
uint64_t time_rate_down(uint64_t num, uint64_t den);
uint64_t time_rate_up(uint64_t num, uint64_t den);
/* ns that @ticks take at @rate, rounded down or up; UINT64_MAX if it is more than that. */
uint64_t time_run_down(uint64_t ticks, uint64_t rate);
uint64_t time_run_up(uint64_t ticks, uint64_t rate);

/* Appends a piece, in order of @from; one of the same tick replaces the last. 0 or -ENOMEM. */
int time_line_add(struct time_line *l, uint64_t from, uint64_t at, uint64_t rate);
/* Pieces are in place: makes both lines monotonic, which only widens. */
void time_fit_close(struct time_fit *m);
/* A counter that starts at zero with exactly @hz ticks in a second: to 1 ns. 0, -EINVAL, -ENOMEM */
int time_fit_hz(struct time_fit *out, uint64_t hz);
void time_fit_free(struct time_fit *m);

/* The lower and the upper line at tick @c. */
uint64_t time_fit_lo(const struct time_fit *m, uint64_t c);
uint64_t time_fit_hi(const struct time_fit *m, uint64_t c);
/* Both: [in->lo, in->hi] ticks, hi may be HWT_TIME_UNKNOWN. 0, -EINVAL without a piece. */
int time_fit_apply(const struct time_fit *m, struct hwt_interval in, struct hwt_interval *out);
/* The first tick at which the lower (upper) line reaches @ns; UINT64_MAX: none does. */
uint64_t time_fit_lo_tick(const struct time_fit *m, uint64_t ns);
uint64_t time_fit_hi_tick(const struct time_fit *m, uint64_t ns);
/* The latest that a tick can be whose lower line is at @lo at most. */
uint64_t time_fit_late(const struct time_fit *m, uint64_t lo);
/* The earliest value of the lower line of a tick that can be at @ns or later. */
uint64_t time_fit_early(const struct time_fit *m, uint64_t ns);

/*
 * What lies between two instants, each the interval that the map made of an interval of ticks (both
 * lines, or time_fit_late() of the lower one), if the other clock does not step: takes from @d, ns,
 * what can not be. How fast the counter is at most and at least tells more than where the other
 * clock is, while both are close.
 */
void time_fit_between(const struct time_fit *m, struct hwt_interval a, struct hwt_interval b,
		      struct hwt_interval *d);

/* A counter of @bits (1 to 64) bits that wraps: each value is the nearest to the one before. */
struct time_wrap {
	uint64_t last;
	uint8_t bits;
	bool seen;
};
/* The full value of the low bits @v. Going back by up to half of the range is going back. */
uint64_t time_unwrap(struct time_wrap *w, uint64_t v);

#endif
