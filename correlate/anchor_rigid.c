/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_rigid.h"

#include <errno.h>
#include <stdlib.h>

#define COARSE	4	/* parts of the slack that are tried first */
#define FINE	128	/* and last */

struct trial {
	const struct anchor_args *a;
	struct anchor_args with;	/* the same, but for the records */
	struct anchor_record *r;
	uint64_t slack, wander;
	uint64_t steps;
};

/* Records as they are if the amount is from @lo to @hi, somewhere among them. */
static void assume(struct trial *t, uint64_t lo, uint64_t hi)
{
	lo = lo > t->wander ? lo - t->wander : 0;
	hi = t->slack - hi > t->wander ? hi + t->wander : t->slack;
	for (size_t j = 0; j < t->a->nrecords; j++) {
		struct hwt_interval *x = &t->r[j].t;

		*x = t->a->records[j].t;
		x->lo += lo;
		if (x->hi != HWT_TIME_UNKNOWN)
			x->hi -= t->slack - hi;
	}
}

/*
 * Takes impossible amounts from one end of @lo to @hi, @up: the lower one. A piece that is not
 * impossible may have an impossible part, so smaller ones are tried until they are not worth it.
 */
static int shave(struct trial *t, uint64_t *lo, uint64_t *hi, bool up)
{
	uint64_t piece = t->slack / COARSE, least = t->slack / FINE;
	int rc;

	while (piece && piece >= least && piece < *hi - *lo) {
		uint64_t a = up ? *lo : *hi - piece;

		assume(t, a, a + piece);
		rc = anchor_possible(&t->with, &t->steps);
		if (rc < 0)
			return rc;
		if (rc)
			piece /= 2;
		else if (up)
			*lo = a + piece + 1;
		else
			*hi = a - 1;
	}
	return 0;
}

/* Whether the amount can be told apart in what all records have. */
static bool has_slack(const struct anchor_args *a, uint64_t slack)
{
	for (size_t j = 0; j < a->nrecords; j++) {
		const struct hwt_interval *t = &a->records[j].t;

		if (t->hi < t->lo || t->hi - t->lo < slack)
			return false;
	}
	return slack && a->nrecords && a->nvisits;
}

static int narrow(struct trial *t, struct anchor_match *match, struct hwt_interval *times,
		  struct anchor_sum *sum)
{
	uint64_t lo = 0, hi = t->slack;
	int rc = anchor_possible(t->a, &t->steps);

	/* what contradicts itself anyway proves nothing of the clock */
	if (!rc)
		return anchor_solve(t->a, match, times, sum);
	if (rc > 0)
		rc = shave(t, &lo, &hi, true);
	if (!rc)
		rc = shave(t, &lo, &hi, false);
	assume(t, lo, hi);
	if (!rc)
		rc = anchor_solve(&t->with, match, times, sum);
	/* every amount is impossible: the clock is not as rigid as was said */
	if (!rc && sum->contradictions)
		rc = anchor_solve(t->a, match, times, sum);
	if (!rc)
		sum->steps += t->steps;
	return rc;
}

int anchor_solve_rigid(const struct anchor_args *a, const struct anchor_rigid *r,
		       struct anchor_match *match, struct hwt_interval *times,
		       struct anchor_sum *sum)
{
	struct trial t = { .a = a, .with = *a, .slack = r->slack };
	unsigned __int128 wander;
	int rc;

	if (a->nrecords >> 30 || !has_slack(a, r->slack))
		return anchor_solve(a, match, times, sum);
	t.r = malloc(a->nrecords * sizeof(*t.r));
	if (!t.r)
		return -ENOMEM;
	for (size_t j = 0; j < a->nrecords; j++)
		t.r[j] = a->records[j];
	t.with.records = t.r;
	wander = a->records[a->nrecords - 1].t.hi - a->records[0].t.lo;
	wander = wander * r->ppb / 1000000000 + 1;
	t.wander = wander < r->slack ? (uint64_t)wander : r->slack;
	rc = narrow(&t, match, times, sum);
	free(t.r);
	return rc;
}
