/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Small cases by hand, and random ones against a search through all assignments. The search knows
 * nothing of bounds: it lays the true order of visits and records out as one sequence of commits,
 * each seen or hidden, recorded or lost.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/anchor.h"
#include "tests/support/rnd.h"

#define MAX	8
#define LOST	UINT32_MAX

struct one {
	struct anchor_visit v[MAX];
	struct anchor_record r[MAX];
	size_t nv, nr;
	uint32_t truth[MAX];	/* record of each visit, or LOST */
	bool front, back;
};

static struct anchor_match match[MAX];
static struct hwt_interval times[MAX];
static struct anchor_sum sum;

static void solve(const struct one *o)
{
	struct anchor_args a = { .visits = o->v, .nvisits = o->nv, .records = o->r,
		.nrecords = o->nr, .front = o->front, .back = o->back };

	assert_int_equal(anchor_solve(&a, match, times, &sum), 0);
}

/* What an exhaustive search finds possible: bit j: record j; bit 31: lost. */
static uint32_t can[MAX];
static unsigned found;

struct state {
	size_t v, r;		/* next visit and record */
	uint32_t hidden;	/* hidden since the last visit */
	uint64_t hit[2];	/* commits of each site so far; only with hit numbers */
	uint64_t now;		/* no earlier than this */
	uint32_t pick[MAX];
};

/* What is lost here: is that allowed at this place, and do the numbers leave room for it? */
static bool may_lose(const struct one *o, const struct state *s, unsigned site)
{
	bool told = s->r == o->nr ? o->back : o->r[s->r].lost;

	if (!s->r && o->front)
		told = true;
	if (!told)
		return false;
	for (size_t j = s->r; j < o->nr; j++)
		if (o->r[j].site == site && o->r[j].hit)
			return s->hit[site] + 1 < o->r[j].hit;
	return true;
}

/* What a mark says of the visit's number. */
static bool marked(const struct anchor_visit *v, const struct state *s)
{
	return v->hit == ANCHOR_NO_HIT || v->hit == s->hit[v->site] + 1;
}

static void search(const struct one *o, const struct state *at, unsigned depth)
{
	const struct anchor_visit *v = &o->v[at->v];
	const struct anchor_record *r = &o->r[at->r];
	struct state s;
	bool more_hits = false;

	if (at->v == o->nv && at->r == o->nr) {
		found++;
		for (size_t i = 0; i < o->nv; i++)
			can[i] |= at->pick[i] == LOST ? 1u << 31 : 1u << at->pick[i];
		return;
	}
	if (depth > 14)
		return;
	/* seen and recorded */
	if (at->v < o->nv && at->r < o->nr && v->site == r->site) {
		uint64_t lo = v->t.lo > r->t.lo ? v->t.lo : r->t.lo;
		uint64_t hi = v->t.hi < r->t.hi ? v->t.hi : r->t.hi;

		s = *at;
		s.now = lo > s.now ? lo : s.now;
		if (s.now <= hi && (!r->hit || r->hit == s.hit[r->site] + 1) && marked(v, &s)) {
			s.hit[r->site]++;
			s.pick[s.v++] = (uint32_t)s.r++;
			s.hidden = 0;
			search(o, &s, depth + 1);
		}
	}
	/* seen, record lost */
	if (at->v < o->nv && may_lose(o, at, v->site)) {
		s = *at;
		s.now = v->t.lo > s.now ? v->t.lo : s.now;
		if (s.now <= v->t.hi && marked(v, &s)) {
			s.hit[v->site]++;
			s.pick[s.v++] = LOST;
			s.hidden = 0;
			search(o, &s, depth + 1);
		}
	}
	if (at->v && at->v < o->nv && at->hidden >= v->hidden)
		return;
	/* hidden, recorded */
	if (at->r < o->nr) {
		s = *at;
		s.now = r->t.lo > s.now ? r->t.lo : s.now;
		if (s.now <= r->t.hi && (!r->hit || r->hit == s.hit[r->site] + 1)) {
			s.hit[r->site]++;
			s.r++;
			s.hidden++;
			search(o, &s, depth + 1);
		}
	}
	/* hidden and lost: only numbers tell */
	for (size_t j = 0; j < o->nr; j++)
		more_hits |= o->r[j].hit != 0;
	for (unsigned k = 0; more_hits && k < 2; k++)
		if (may_lose(o, at, k)) {
			s = *at;
			s.hit[k]++;
			s.hidden++;
			search(o, &s, depth + 1);
		}
}

/* A run of commits; what is hidden and lost, and intervals around the true times. */
static void make(struct one *o, bool hits, bool marks, unsigned width)
{
	uint64_t t = 1000, hit[2] = { 0, 0 }, rec_at = 0;
	bool lost = false;
	uint32_t hidden = 0;

	memset(o, 0, sizeof(*o));
	o->front = rnd() % 2;
	o->back = rnd() % 2;
	for (unsigned k = 0; k < 7; k++) {
		uint32_t site = rnd() % 2;
		bool see = rnd() % 4 != 0, rec = rnd() % 4 != 0;

		t += 1 + rnd() % 6;
		hit[site]++;
		if (!rec && !o->nr && !o->front)
			rec = true;
		if (k == 6 && !rec && !o->back)
			rec = true;
		if (rec) {
			o->r[o->nr] = (struct anchor_record){
				.t = { t - rnd() % width, t + rnd() % width }, .site = site,
				.hit = hits ? hit[site] : 0, .lost = lost };
			rec_at = o->nr++;
			lost = false;
		} else {
			lost = true;
		}
		if (see) {
			o->v[o->nv] = (struct anchor_visit){
				.t = { t - rnd() % width, t + rnd() % width }, .site = site,
				.hidden = hidden ? (rnd() % 2 ? hidden : ANCHOR_ANY) : 0 };
			if (marks && rnd() % 2)
				o->v[o->nv].hit = hit[site];
			o->truth[o->nv++] = rec ? (uint32_t)rec_at : LOST;
			hidden = 0;
		} else {
			hidden++;
		}
	}
	if (lost)
		o->back = true;
}

static void exhaustive(bool hits, bool marks)
{
	unsigned certain = 0, only = 0, wide = 0;

	for (unsigned k = 0; k < 4000; k++) {
		struct state s = { 0 };
		struct one o;

		make(&o, hits, marks, 1 + rnd() % 20);
		memset(can, 0, sizeof(can));
		found = 0;
		search(&o, &s, 0);
		assert_true(found);
		solve(&o);
		assert_int_equal(sum.contradictions, 0);
		for (size_t i = 0; i < o.nv; i++) {
			const struct anchor_match *m = &match[i];
			uint32_t bit = o.truth[i] == LOST ? 1u << 31 : 1u << o.truth[i];

			assert_true(can[i] & bit);
			if (m->state == ANCHOR_CERTAIN) {
				assert_int_equal(m->first, o.truth[i]);
				assert_int_equal(can[i], bit);
				certain++;
			} else if (m->state == ANCHOR_LOST) {
				assert_int_equal(can[i], 1u << 31);
				certain++;
			}
			only += !(can[i] & (can[i] - 1));
			for (uint32_t j = 0; j < o.nr; j++) {
				bool in = m->first <= j && j <= m->last;

				assert_true(in || !(can[i] >> j & 1));
				wide += in && o.r[j].site == o.v[i].site && !(can[i] >> j & 1);
			}
		}
	}
	print_message("%u certain of %u that have one possibility; %u records not ruled out\n",
		      certain, only, wide);
	/* what bounds of single visits can not see: intervals that many visits share */
	assert_true(certain * 100 >= only * 95);
}

static void test_search(void **state)
{
	(void)state;
	exhaustive(false, false);
}

static void test_search_hits(void **state)
{
	(void)state;
	exhaustive(true, false);
}

static void test_search_marks(void **state)
{
	(void)state;
	exhaustive(true, true);
}

#define V(lo, hi, site, hidden) { { lo, hi }, site, hidden, ANCHOR_NO_HIT }
#define R(lo, hi, hit, site, lost) { { lo, hi }, hit, site, lost }

/* Three visits, three records: each time alone fits two, the row of them fits once. */
static void test_row(void **state)
{
	struct one o = {
		.v = { V(0, 10, 0, 0), V(10, 20, 0, 0), V(20, 21, 0, 0) }, .nv = 3,
		.r = { R(0, 12, 0, 0, 0), R(8, 22, 0, 0, 0), R(19, 23, 0, 0, 0) }, .nr = 3,
	};

	(void)state;
	solve(&o);
	for (uint32_t i = 0; i < 3; i++) {
		assert_int_equal(match[i].state, ANCHOR_CERTAIN);
		assert_int_equal(match[i].first, i);
		assert_int_equal(match[i].last, i);
	}
	/* both sides and order narrow the times */
	assert_int_equal(match[1].t.lo, 10);
	assert_int_equal(times[1].lo, 10);
	assert_int_equal(times[1].hi, 20);
	assert_int_equal(times[0].hi, 10);
	assert_int_equal(times[2].lo, 20);
	assert_int_equal(times[2].hi, 21);
	assert_int_equal(sum.certain, 3);
}

/* No time at all: only what comes in which order, and it fits at one place. */
static void test_pattern(void **state)
{
	struct one o = {
		.v = { V(0, HWT_TIME_UNKNOWN, 1, 0), V(0, HWT_TIME_UNKNOWN, 1, 0),
			V(0, HWT_TIME_UNKNOWN, 0, 0) }, .nv = 3,
		.r = { R(1, 1, 0, 0, 0), R(2, 2, 0, 1, 0), R(3, 3, 0, 0, 0), R(4, 4, 0, 1, 0),
			R(5, 5, 0, 1, 0), R(6, 6, 0, 0, 0), R(7, 7, 0, 1, 0) }, .nr = 7,
	};

	(void)state;
	solve(&o);
	assert_int_equal(match[0].first, 3);
	assert_int_equal(match[2].first, 5);
	assert_int_equal(sum.certain, 3);
	assert_int_equal(match[1].t.lo, 5);
	assert_int_equal(match[1].t.hi, 5);
	/* the same pattern once more: it may be there, too */
	o.r[7] = (struct anchor_record)R(8, 8, 0, 1, 0);
	o.nr = 8;
	solve(&o);
	assert_int_equal(sum.certain, 3);
	o.back = true;
	solve(&o);
	assert_int_equal(sum.certain, 0);
	assert_int_equal(sum.possible, 3);
}

/* A record that is not there is known by its number. */
static void test_lost_by_number(void **state)
{
	struct one o = {
		.v = { V(5, 15, 0, 0), V(15, 25, 0, 0), V(25, 35, 0, 0) }, .nv = 3,
		.r = { R(10, 10, 4, 0, 0), R(30, 30, 6, 0, 0) }, .nr = 2,
	};

	(void)state;
	solve(&o);
	assert_int_equal(match[0].state, ANCHOR_CERTAIN);
	assert_int_equal(match[1].state, ANCHOR_LOST);
	assert_int_equal(match[1].hit_lo, 5);
	assert_int_equal(match[1].hit_hi, 5);
	assert_int_equal(match[2].state, ANCHOR_CERTAIN);
	assert_int_equal(match[2].first, 1);
	assert_int_equal(match[2].hit_lo, 6);
	/* one visit too many between them for the numbers */
	o.v[2] = (struct anchor_visit)V(16, 26, 0, 0);
	o.v[3] = (struct anchor_visit)V(29, 35, 0, 0);
	o.nv = 4;
	solve(&o);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(sum.bad, 4);
	assert_int_equal(sum.finding[0].why, ANCHOR_NO_RECORD);
}

/* The smallest evidence: two visits; the stretch behind the hole is as certain as before. */
static void test_contradiction(void **state)
{
	struct one o = {
		.v = { V(0, 100, 0, 0), V(50, 60, 0, 0), V(50, 100, 0, 0), V(60, 62, 0, 0),
			V(90, 95, 0, 1) }, .nv = 5,
		.r = { R(20, 20, 1, 0, 0), R(54, 54, 2, 0, 0), R(61, 61, 3, 0, 0),
			R(62, 62, 4, 0, 0), R(93, 93, 5, 0, 0) }, .nr = 5,
	};

	(void)state;
	solve(&o);
	assert_int_equal(sum.contradictions, 0);
	assert_int_equal(sum.certain, 5);
	/* the fourth visit is not behind the third record, so the one before it has no record */
	o.r[3].t = (struct hwt_interval){ 71, 71 };
	solve(&o);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(sum.finding[0].why, ANCHOR_NO_RECORD);
	assert_int_equal(sum.finding[0].a, 1);
	assert_int_equal(sum.finding[0].after, 1);
	assert_int_equal(sum.finding[0].b, 3);
	assert_int_equal(sum.finding[0].until, 2);
	/* alone it is enough where no record is near */
	o.r[2].t = (struct hwt_interval){ 70, 70 };
	solve(&o);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(sum.finding[0].a, 3);
	assert_int_equal(sum.finding[0].b, 3);
	assert_int_equal(sum.finding[0].after, 2);
	assert_int_equal(sum.finding[0].until, 1);
	for (unsigned i = 0; i < 4; i++)
		assert_int_equal(match[i].state, ANCHOR_BAD);
	assert_int_equal(match[4].state, ANCHOR_CERTAIN);
	assert_int_equal(match[4].first, 4);
}

/* Times that go back within one side are told and not used. */
static void test_backwards(void **state)
{
	struct one o = {
		.v = { V(10, 20, 0, 0), V(2, 5, 0, 0), V(30, 40, 0, 0) }, .nv = 3,
		.r = { R(15, 15, 1, 0, 0), R(18, 18, 2, 0, 0), R(35, 35, 3, 0, 0) }, .nr = 3,
	};

	(void)state;
	solve(&o);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(sum.finding[0].why, ANCHOR_VISITS);
	assert_int_equal(sum.finding[0].a, 0);
	assert_int_equal(sum.finding[0].b, 1);
	assert_int_equal(sum.certain, 3);
	o.v[1] = (struct anchor_visit)V(12, 25, 0, 0);
	o.r[1].t = (struct hwt_interval){ 14, 14 };
	solve(&o);
	assert_int_equal(sum.finding[0].why, ANCHOR_RECORDS);
	assert_int_equal(sum.certain, 3);
}

static void test_refused(void **state)
{
	struct one o = { .v = { V(1, 2, 0, 0) }, .nv = 1, .r = { R(1, 2, 2, 0, 0),
		R(2, 3, 2, 0, 0) }, .nr = 2 };
	struct anchor_args a = { .visits = o.v, .nvisits = 1, .records = o.r, .nrecords = 2 };

	(void)state;
	assert_int_equal(anchor_solve(&a, match, times, &sum), -EINVAL);
	o.r[1].hit = 0;
	assert_int_equal(anchor_solve(&a, match, times, &sum), -EINVAL);
	o.r[1].hit = 3;
	o.r[1].site = ANCHOR_SITES;
	assert_int_equal(anchor_solve(&a, match, times, &sum), -EINVAL);
	o.r[1].site = 0;
	o.v[0].site = ANCHOR_SITES;
	assert_int_equal(anchor_solve(&a, match, times, &sum), -EINVAL);
	a.nvisits = (size_t)1 << 30;
	assert_int_equal(anchor_solve(&a, match, times, &sum), -EINVAL);
	a.nvisits = a.nrecords = 0;
	assert_int_equal(anchor_solve(&a, match, times, &sum), 0);
	assert_int_equal(sum.certain, 0);
}

/* Visits of a kind that was never recorded. */
static void test_no_records(void **state)
{
	struct one o = { .v = { V(1, 2, 3, 0) }, .nv = 1 };

	(void)state;
	solve(&o);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(match[0].state, ANCHOR_BAD);
	o.back = true;
	solve(&o);
	assert_int_equal(match[0].state, ANCHOR_LOST);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_row),
		cmocka_unit_test(test_pattern),
		cmocka_unit_test(test_lost_by_number),
		cmocka_unit_test(test_contradiction),
		cmocka_unit_test(test_backwards),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_no_records),
		cmocka_unit_test(test_search),
		cmocka_unit_test(test_search_hits),
		cmocka_unit_test(test_search_marks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
