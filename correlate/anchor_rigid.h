/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_RIGID_H
#define HWT_CORRELATE_ANCHOR_RIGID_H

/*
 * Records whose clock is not the visits' own: each time is known within wide bounds, but all are
 * wrong by the same amount, or nearly so. Amounts with which no assignment is possible are taken
 * away from both ends; what is left makes every record's time closer.
 */
#include "anchor.h"

struct anchor_rigid {
	/*
	 * ticks that are in the width of each record's time for that amount; what is left of the
	 * width is each record's own. 0: it is the same clock.
	 */
	uint64_t slack;
	uint32_t ppb;		/* by which the two clocks' rates differ at most */
};

/* As anchor_solve(). Where the clocks are not what @r says, it is as if @r said nothing. */
int anchor_solve_rigid(const struct anchor_args *a, const struct anchor_rigid *r,
		       struct anchor_match *match, struct hwt_interval *times,
		       struct anchor_sum *sum);

#endif
