/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Histograms of intervals against the sorted values themselves: whatever instant of each interval
 * is the true one, the true quantile and the true count of a row lie in what is told.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include <hwtrace/latency.h>

#include "tests/support/rnd.h"

#define VALUES 3000

static int cmp(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The nearest rank: the smallest value that at least @permille of all do not exceed. */
static uint64_t rank(const uint64_t *v, size_t n, unsigned permille)
{
	size_t k = 1;

	while (k * 1000 < (uint64_t)permille * n)
		k++;
	return v[k - 1];
}

static uint64_t random_value(void)
{
	unsigned bits = rnd() % 50;

	return bits ? rnd() >> (64 - bits) : 0;
}

static void run(unsigned width, size_t n)
{
	static const unsigned permille[] = { 0, 1, 10, 500, 501, 900, 990, 999, 1000, 1234 };
	static uint64_t v[VALUES];
	uint64_t lo[VALUES], hi[VALUES];
	struct hwt_hist *h;

	assert_int_equal(hwt_hist_new(&h), 0);
	for (size_t i = 0; i < n; i++) {
		uint64_t span = width ? rnd() % width : 0;

		v[i] = random_value();
		lo[i] = v[i] > span ? v[i] - rnd() % (span + 1) : v[i];
		hi[i] = lo[i] + span > v[i] ? lo[i] + span : v[i];
		hwt_hist_add(h, (struct hwt_interval){ lo[i], hi[i] });
	}
	assert_int_equal(hwt_hist_count(h), n);
	for (unsigned k = 0; k < 200; k++) {
		uint64_t a = random_value(), b = a + random_value(), in = 0, sure = 0, may = 0;
		struct hwt_interval got = hwt_hist_between(h, a, b);

		for (size_t i = 0; i < n; i++) {
			in += v[i] >= a && v[i] <= b;
			sure += lo[i] >= a && hi[i] <= b;
			may += hi[i] >= a && lo[i] <= b;
		}
		assert_true(got.lo <= in && in <= got.hi);
		/* and it is worth something: steps of 1/64 at both ends */
		assert_true(got.lo <= sure && got.hi >= may);
	}
	qsort(v, n, sizeof(*v), cmp);
	qsort(lo, n, sizeof(*lo), cmp);
	qsort(hi, n, sizeof(*hi), cmp);
	for (unsigned i = 0; i < sizeof(permille) / sizeof(permille[0]); i++) {
		unsigned p = permille[i] > 1000 ? 1000 : permille[i];
		struct hwt_interval q = hwt_hist_quantile(h, permille[i]);
		uint64_t t = rank(v, n, p), l = rank(lo, n, p), u = rank(hi, n, p);

		assert_true(q.lo <= t && t <= q.hi);
		/* no wider than the ranks of the bounds and a step of 1/64 */
		assert_true(q.lo <= l && q.lo >= l - l / 64 && q.hi >= u && q.hi <= u + u / 64);
		if (p == 1000)
			assert_true(q.lo == l && q.hi == u);
	}
	hwt_hist_free(h);
}

static void quantiles(void **state)
{
	for (size_t n = 1; n < 40; n++)
		run(n % 3 ? 1000 : 0, n);
	run(0, VALUES);
	run(100, VALUES);
	run(1000000, VALUES);
}

static void no_bound(void **state)
{
	struct hwt_hist *h;
	struct hwt_interval q;

	assert_int_equal(hwt_hist_new(&h), 0);
	q = hwt_hist_quantile(h, 500);
	assert_true(!q.lo && !q.hi);
	hwt_hist_add(h, (struct hwt_interval){ 5, 9 });
	hwt_hist_add(h, (struct hwt_interval){ 7, HWT_TIME_UNKNOWN });
	q = hwt_hist_quantile(h, 500);
	assert_true(q.lo == 5 && q.hi == 9);
	q = hwt_hist_quantile(h, 1000);
	assert_true(q.lo == 7 && q.hi == HWT_TIME_UNKNOWN);
	hwt_hist_add(h, (struct hwt_interval){ UINT64_MAX - 2, UINT64_MAX - 1 });
	q = hwt_hist_between(h, 1ull << 63, UINT64_MAX - 1);
	assert_true(q.lo <= 1 && q.hi == 2);
	hwt_hist_free(h);
	hwt_hist_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles),
		cmocka_unit_test(no_bound),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
