/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: schoolbook multiplication in bits, and searches by trying each tick. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "hwtrace/time/span.h"

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* ticks * rate in bits of 2^-40 ns: @hi:@lo, by shifts and additions. */
static void slow_mul(uint64_t a, uint64_t b, uint64_t *hi, uint64_t *lo)
{
	*hi = *lo = 0;
	for (int i = 63; i >= 0; i--) {
		*hi = *hi << 1 | *lo >> 63;
		*lo <<= 1;
		if (b >> i & 1) {
			*hi += *lo + a < *lo;
			*lo += a;
		}
	}
}

/* floor and remainder of ticks * rate / 2^40; UINT64_MAX if it has more than 64 bits. */
static uint64_t slow_run(uint64_t ticks, uint64_t rate, int *rest)
{
	uint64_t hi, lo;

	slow_mul(ticks, rate, &hi, &lo);
	*rest = (lo & ((1ull << 40) - 1)) != 0;
	if (hi >> 40) {
		*rest = 0;
		return UINT64_MAX;
	}
	return hi << 24 | lo >> 40;
}

static void products(void **state)
{
	static const uint64_t edge[] = { 0, 1, 1ull << 24, (1ull << 40) - 1, 1ull << 40,
		(1ull << 40) + 1, UINT32_MAX, INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX };
	uint64_t seed = 7;
	const unsigned n = sizeof(edge) / sizeof(edge[0]);

	for (unsigned i = 0; i < 40000; i++) {
		uint64_t c = i < n * n ? edge[i / n] : rnd(&seed) >> (rnd(&seed) % 64);
		uint64_t r = i < n * n ? edge[i % n] : rnd(&seed) >> (rnd(&seed) % 64);
		int rest;
		uint64_t want = slow_run(c, r, &rest);

		assert_true(time_run_down(c, r) == want);
		assert_true(time_run_up(c, r) == want + (uint64_t)rest);
	}
}

/* rate_down * den <= num * 2^40 <= rate_up * den, and each is the closest that does. */
static void rates(void **state)
{
	uint64_t seed = 11;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t num = rnd(&seed) >> (24 + rnd(&seed) % 40);
		uint64_t den = (rnd(&seed) >> (rnd(&seed) % 64)) | 1;
		uint64_t down = time_rate_down(num, den), up = time_rate_up(num, den);
		uint64_t ah, al, bh, bl;

		if (down == UINT64_MAX || up == UINT64_MAX)
			continue;
		slow_mul(num, 1ull << 40, &ah, &al);
		slow_mul(down, den, &bh, &bl);
		assert_true(bh < ah || (bh == ah && bl <= al));
		slow_mul(up, den, &bh, &bl);
		assert_true(bh > ah || (bh == ah && bl >= al));
		assert_true(up - down <= 1);
	}
	assert_true(time_rate_down(UINT64_MAX, 1) == UINT64_MAX);
	assert_true(time_rate_up(1000000000, 1000000000) == 1ull << 40);
	assert_true(time_rate_down(1000000000, 24000000) == 45812984490666ull);
	assert_true(time_rate_up(1000000000, 24000000) == 45812984490667ull);
}

static struct time_fit random_fit(uint64_t *seed, size_t n)
{
	struct time_fit m = { .rate_lo = 1ull << 38, .rate_hi = 1ull << 42 };
	uint64_t from = rnd(seed) % 5000, at = rnd(seed) % 100000 + 20000;

	for (size_t i = 0; i < n; i++) {
		uint64_t hi = from + (i ? rnd(seed) % 3 : 0);

		assert_int_equal(time_line_add(&m.lo, from, at, rnd(seed) % (1ull << 42)), 0);
		assert_int_equal(time_line_add(&m.hi, hi, at + rnd(seed) % 300,
					       rnd(seed) % (1ull << 42)), 0);
		from += rnd(seed) % 400 + 5;
		at += rnd(seed) % 900;
		at -= rnd(seed) % 700;	/* steps back, too */
	}
	time_fit_close(&m);
	return m;
}

static uint64_t raw_line(const struct time_line *l, uint64_t c, bool up)
{
	size_t i = l->n - 1;
	int rest;
	uint64_t v;

	while (i && l->v[i].from > c)
		i--;
	v = l->v[i].at + slow_run(c - l->v[i].from, l->v[i].rate, &rest);
	return v + (uint64_t)(up && rest);
}

/* What the pieces say before they are made monotonic, by the slow way. */
static void raw_lines(const struct time_fit *m, uint64_t c, uint64_t *lo, uint64_t *hi)
{
	*lo = raw_line(&m->lo, c, false);
	*hi = raw_line(&m->hi, c, true);
}

static void lines_hold_and_never_go_down(void **state)
{
	uint64_t seed = 99;

	for (unsigned round = 0; round < 60; round++) {
		struct time_fit m = random_fit(&seed, 1 + round % 9);
		uint64_t end = m.lo.v[m.lo.n - 1].from + 600, was_lo = 0, was_hi = 0;
		uint64_t first = m.hi.v[0].from;

		for (uint64_t c = 0; c < end; c++) {
			struct hwt_interval out, in = { c, c };
			uint64_t lo, hi;

			assert_int_equal(time_fit_apply(&m, in, &out), 0);
			assert_true(out.lo >= was_lo && out.hi >= was_hi);
			was_lo = out.lo;
			was_hi = out.hi;
			if (c < first)
				continue;
			raw_lines(&m, c, &lo, &hi);
			assert_true(out.lo <= lo && out.hi >= hi);
			assert_true(out.lo <= out.hi || lo > hi);
		}
		time_fit_free(&m);
	}
}

static void searches(void **state)
{
	uint64_t seed = 1234;

	for (unsigned round = 0; round < 40; round++) {
		struct time_fit m = random_fit(&seed, 1 + round % 9);
		uint64_t end = m.lo.v[m.lo.n - 1].from + 600, lo_tick = 0, hi_tick = 0;
		uint64_t from = time_fit_lo(&m, 0), to = time_fit_lo(&m, end);

		for (uint64_t ns = from; ns < to; ns += 1 + round % 3) {
			while (time_fit_lo(&m, lo_tick) < ns)
				lo_tick++;
			while (time_fit_hi(&m, hi_tick) < ns)
				hi_tick++;
			assert_true(time_fit_lo_tick(&m, ns) == lo_tick);
			assert_true(time_fit_hi_tick(&m, ns) == hi_tick);
			assert_true(time_fit_early(&m, ns) == time_fit_lo(&m, hi_tick));
		}
		/* what is stamped with the lower line is widened to hold all ticks it can be */
		for (uint64_t c = m.lo.v[0].from; c < end; c += 7) {
			uint64_t lo = time_fit_lo(&m, c);

			assert_true(time_fit_late(&m, lo) >= time_fit_hi(&m, c));
		}
		time_fit_free(&m);
	}
}

static void far_away(void **state)
{
	struct time_piece lo = { .from = 1000, .at = 500, .rate = 1ull << 40 };
	struct time_piece hi = { .from = 1000, .at = 600, .rate = 3ull << 39 };
	struct time_fit m = { .lo = { .v = &lo, .n = 1 }, .hi = { .v = &hi, .n = 1 },
		.rate_lo = 1ull << 40, .rate_hi = 3ull << 39 };
	struct hwt_interval out;

	time_fit_close(&m);
	assert_true(time_fit_lo(&m, 0) == 0);
	assert_true(time_fit_hi(&m, 900) == 500);
	assert_true(time_fit_hi(&m, 0) == 0);
	assert_true(time_fit_lo(&m, UINT64_MAX) == TIME_LATEST);
	assert_true(time_fit_hi(&m, UINT64_MAX) == TIME_LATEST);
	assert_true(time_fit_lo_tick(&m, 1500) == 2000);
	assert_true(time_fit_lo_tick(&m, UINT64_MAX) == UINT64_MAX);
	assert_true(time_fit_late(&m, TIME_LATEST) == HWT_TIME_UNKNOWN);
	assert_int_equal(time_fit_apply(&m, (struct hwt_interval){ 2000, HWT_TIME_UNKNOWN }, &out),
			 0);
	assert_true(out.lo == 1500 && out.hi == HWT_TIME_UNKNOWN);
	m.lo.n = 0;
	assert_true(time_fit_apply(&m, out, &out) < 0);
}

static void wraps(void **state)
{
	static const uint8_t bits[] = { 8, 32, 40, 48, 56, 64 };
	uint64_t seed = 5;

	for (unsigned b = 0; b < sizeof(bits); b++) {
		uint64_t mask = bits[b] == 64 ? UINT64_MAX : (1ull << bits[b]) - 1;
		struct time_wrap w = { .bits = bits[b] };
		uint64_t t = rnd(&seed) & mask;

		for (unsigned i = 0; i < 2000; i++) {
			assert_true(time_unwrap(&w, t & mask) == t);
			t += rnd(&seed) & (mask >> 1) & 0xffffffffffff;
			if (i % 5 == 4 && t > 100)	/* a little out of order */
				t -= rnd(&seed) % (mask < 100 ? 3 : 100);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(products),
		cmocka_unit_test(rates),
		cmocka_unit_test(lines_hold_and_never_go_down),
		cmocka_unit_test(searches),
		cmocka_unit_test(far_away),
		cmocka_unit_test(wraps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
