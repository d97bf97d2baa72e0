/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TIME_FIT_H
#define HWT_TIME_FIT_H

/*
 * From pairs of readings to a map within bounds (span.h).
 *
 * What is taken for granted: at each instant a tick takes R * (1 - d) to R * (1 + d) ns of the
 * other clock, where R is one number for all of the recording and d is the drift that is given;
 * but for steps, of which there is at most one between two pairs. R is not assumed: what the pairs
 * allow is found, from two convex hulls. Where no R allows all pairs, a clock stepped: the fewest
 * steps that explain the pairs are told, each between the earliest and the latest place it can
 * be. A step that leaves the pairs possible without it is not seen; time_fit_report.blind is how
 * large such a one can be.
 */
#include "span.h"

/*
 * At one instant the counter was in [a_lo, a_hi] and the other clock in [b_lo, b_hi]. Ticks are
 * below 2^63. @b_lo 0: no earliest is known, @b_hi TIME_LATEST or above: no latest.
 */
struct time_pair { uint64_t a_lo, a_hi, b_lo, b_hi; };

struct time_fit_opts {
	uint64_t hz;		/* of the counter, 0: not known */
	uint32_t hz_ppm;	/* @hz is that close, parts in 10^6 */
	uint32_t drift_ppb;	/* d, parts in 10^9 */
	size_t max;		/* pairs kept, 0: TIME_FIT_MAX */
};

#define TIME_FIT_MAX	16384	/* pairs; more are thinned out, which only widens */
#define TIME_FIT_STEPS	8	/* told by a report */

struct time_fit_step {
	uint64_t a_lo, a_hi;	/* it is between these ticks */
	uint64_t b_lo, b_hi;	/* about, of the other clock */
	int64_t least;		/* ns that the other clock went ahead at least, below 0: back */
};

struct time_fit_report {
	uint64_t given, used;	/* pairs; the others hold a narrower one, or were thinned out */
	uint64_t odd;		/* pairs of one tick that exclude each other: the first is used */
	uint32_t drift_ppb;	/* of the map: more than was given where the pairs need it */
	bool wrong_hz;		/* the pairs contradict the frequency, so it is not used */
	uint64_t nsteps;
	struct time_fit_step steps[TIME_FIT_STEPS];
	uint64_t width_mid, width_max;	/* ns, halfway between pairs: median and most */
	uint64_t blind;		/* ns: a step of less may be hidden between two pairs */
	uint64_t begin, end;	/* ticks of the first pair and of the last */
};

struct fitter;

int fitter_new(struct fitter **out, const struct time_fit_opts *o);
void fitter_free(struct fitter *f);		/* NULL is fine */
/* The frequency, found later: as in struct time_fit_opts. */
void fitter_hz(struct fitter *f, uint64_t hz, uint32_t ppm);
/* In any order. 0, -ENOMEM, -EINVAL for what is no pair (ends in the wrong order, 2^63 or more). */
int fitter_add(struct fitter *f, const struct time_pair *p);
/*
 * 1: *@out is the map, to be freed by the caller, *@r says how good it is. 0: the pairs do not tell
 * how fast the counter is; *@out is untouched. Negative: no memory.
 */
int fitter_done(struct fitter *f, struct time_fit *out, struct time_fit_report *r);

#endif
