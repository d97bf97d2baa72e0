/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TIME_HULL_H
#define HWT_TIME_HULL_H

/*
 * Which rates some pairs allow. Each pair is a point that the other clock is not above of (upper)
 * and one that it is not below of (lower): the rate is at least the steepest way from an upper
 * point to a later lower one, and at most the flattest from a lower one to a later upper one. Only
 * points of the convex hulls can give these: lower hull of the upper points, upper hull of the
 * lower points. Both grow at the right end; a question costs a binary search.
 */
#include "fit.h"

struct hull_point { int64_t x, y; };

struct hull {
	struct hull_point *v;		/* room for all pairs, the caller's */
	size_t n;
};

struct rates {
	const struct time_pair *p;	/* sorted, both ends of the brackets rising */
	size_t wait;			/* lower points from here on are not in @lower yet */
	uint32_t drift_ppb;
	uint64_t lo, hi;		/* what is allowed, ns a tick; none if lo > hi */
	struct hull upper, lower;	/* the second with y negated */
};

static inline bool pair_has_lo(const struct time_pair *p)
{
	return p->b_lo != 0;
}

static inline bool pair_has_hi(const struct time_pair *p)
{
	return p->b_hi < TIME_LATEST;
}

/* @rate times (10^9 + @ppb) / 10^9, rounded. */
uint64_t rate_scale_down(uint64_t rate, int64_t ppb);
uint64_t rate_scale_up(uint64_t rate, int64_t ppb);

/* Nothing but [@lo, @hi] is known; the first pair will be @first. */
void rates_start(struct rates *r, size_t first, uint64_t lo, uint64_t hi);
/* Pair @i, in order. False if no rate is left. */
bool rates_add(struct rates *r, size_t i);

#endif
