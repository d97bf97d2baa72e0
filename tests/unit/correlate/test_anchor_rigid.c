/* SPDX-License-Identifier: BSD-2-Clause */
/* Clocks that are off by one unknown amount: cases by hand. What is random is in tests/prop/. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "correlate/anchor_rigid.h"

#define N	8
#define SLACK	6000

/* Commits at uneven instants: no pause is like another. */
static const uint64_t at[N] = { 10000, 11300, 11900, 14000, 14450, 16150, 16400, 17650 };

static struct anchor_visit v[N];
static struct anchor_record r[N];
static struct anchor_match match[N];
static struct hwt_interval times[N];
static struct anchor_sum sum;

/* The last commit's record is lost, as is the first's; @off: of the records' clock. */
static void fill(const int64_t *off)
{
	for (unsigned i = 0; i < N; i++)
		v[i] = (struct anchor_visit){ .t = { at[i] - 50, at[i] + 50 } };
	for (unsigned i = 1; i < N - 1; i++) {
		uint64_t t = at[i] + (uint64_t)off[i];

		r[i - 1] = (struct anchor_record){ .t = { t - SLACK / 2, t + SLACK / 2 } };
	}
}

static void solve(uint64_t slack, uint32_t ppb)
{
	const struct anchor_args a = { .visits = v, .nvisits = N, .records = r,
		.nrecords = N - 2, .front = true, .back = true };
	const struct anchor_rigid k = { slack, ppb };

	assert_int_equal(anchor_solve_rigid(&a, &k, match, times, &sum), 0);
}

static void one_amount(void **state)
{
	static const int64_t off[N] = { 700, 700, 700, 700, 700, 700, 700, 700 };

	(void)state;
	fill(off);
	solve(0, 0);
	assert_int_equal(sum.certain, 0);
	solve(SLACK, 0);
	assert_int_equal(sum.certain, N - 2);
	assert_int_equal(match[0].state, ANCHOR_LOST);
	assert_int_equal(match[N - 1].state, ANCHOR_LOST);
	for (unsigned i = 1; i < N - 1; i++) {
		assert_int_equal(match[i].first, i - 1);
		assert_true(times[i - 1].lo <= at[i] && at[i] <= times[i - 1].hi);
	}
}

/* Rates that may differ by more than the slack take all that back. */
static void loose(void **state)
{
	static const int64_t off[N] = { 700, 700, 700, 700, 700, 700, 700, 700 };

	(void)state;
	fill(off);
	solve(SLACK, 500000000);
	assert_int_equal(sum.certain, 0);
}

/* A clock that steps is not rigid: no amount fits, and nothing is taken from it. */
static void step(void **state)
{
	static const int64_t off[N] = { -2500, -2500, -2500, -2500, 2500, 2500, 2500, 2500 };

	(void)state;
	fill(off);
	solve(SLACK, 0);
	assert_int_equal(sum.contradictions, 0);
	for (unsigned i = 0; i < N; i++)
		assert_true(match[i].t.lo <= at[i] && at[i] <= match[i].t.hi);
}

/* Times that are closer than the slack, or not known, are taken as they are. */
static void no_slack(void **state)
{
	static const int64_t off[N] = { 0 };

	(void)state;
	fill(off);
	r[2].t = (struct hwt_interval){ at[3] - 50, at[3] + 50 };
	solve(SLACK, 0);
	assert_int_equal(sum.certain, N - 2);
	r[2].t = (struct hwt_interval){ 0, HWT_TIME_UNKNOWN };
	solve(SLACK, 0);
	for (unsigned i = 0; i < N; i++)
		assert_true(match[i].t.lo <= at[i] && at[i] <= match[i].t.hi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_amount),
		cmocka_unit_test(loose),
		cmocka_unit_test(step),
		cmocka_unit_test(no_slack),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
