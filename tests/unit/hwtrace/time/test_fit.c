/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: clocks that are simulated (tests/support/simclock.c). At any tick what the clock showed
 * must lie in the interval that the map gives. Widths are printed.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "hwtrace/time/fit.h"
#include "tests/support/simclock.h"

#define SEEDS 1200

struct scenario {
	const char *name;
	struct sim_opts sim;
	unsigned pairs;
	uint64_t width;		/* of a bracket, ticks, at most */
	unsigned wide;		/* one in so many is up to 1000 times as wide (an interrupt) */
	unsigned lost;		/* percent of the pairs, in runs */
	uint8_t bits;		/* the counter's, 0: 64 */
	bool one_sided;		/* each tells only "not before" or "not after" */
	uint64_t hz;		/* told */
};

static struct sim sim;

static struct time_pair one_pair(const struct scenario *sc, uint64_t c)
{
	uint64_t most = sc->width, w, ns;
	struct time_pair p;

	if (sc->wide && !sim_range(&sim, 0, sc->wide - 1))
		most *= 1000;
	w = sim_range(&sim, 0, most);
	ns = sim_clock(&sim, sim_range(&sim, c, c + w));
	p = (struct time_pair){ c, c + w, ns, ns + 1 };
	if (!sc->one_sided)
		return p;
	p.a_hi = c;
	ns = sim_clock(&sim, c);
	if (sim_rnd(&sim) & 1)
		return (struct time_pair){ c, c, 0, ns + 1 + sim_range(&sim, 0, most) };
	most = sim_range(&sim, 0, most);
	return (struct time_pair){ c, c, ns > most ? ns - most : 0, TIME_LATEST };
}

static int by_size(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

/* The fitter's promise is for steps with some pairs between: one of two in one gap is hidden. */
static bool steps_apart(const uint64_t *at, size_t n)
{
	uint64_t tick;
	size_t i = 0;
	int64_t ns;

	for (size_t k = 0; sim_step(&sim, k, &tick, &ns); k++) {
		size_t from = i;

		while (i < n && at[i] + 300000 < tick)
			i++;
		if (i - from < 4)
			return false;
	}
	return n - i >= 4;
}

/* False if the steps are too close. */
static bool make_pairs(const struct scenario *sc, struct fitter *f)
{
	struct time_wrap wrap = { .bits = sc->bits };
	static uint64_t at[20000];
	bool lost = false;
	size_t n = 0;

	for (unsigned i = 0; i < sc->pairs; i++)
		at[i] = sim_range(&sim, sim.begin, sim.end);
	qsort(at, sc->pairs, sizeof(at[0]), by_size);
	for (unsigned i = 0; i < sc->pairs; i++) {
		struct time_pair p = one_pair(sc, at[i]);

		if (!sim_range(&sim, 0, 7))
			lost = sim_range(&sim, 0, 99) < sc->lost;
		if (lost)
			continue;
		if (sc->bits) {
			uint64_t w = p.a_hi - p.a_lo, mask = (1ull << sc->bits) - 1;

			if (!wrap.seen)		/* the first is known: the reader counts from it */
				time_unwrap(&wrap, p.a_lo & mask), wrap.last = p.a_lo;
			p.a_lo = time_unwrap(&wrap, p.a_lo & mask);
			p.a_hi = p.a_lo + w;
		}
		assert_int_equal(fitter_add(f, &p), 0);
		at[n++] = p.a_lo;
	}
	return !sc->sim.steps || steps_apart(at, n);
}

/* The truth at many ticks: inside, or how far outside. */
static uint64_t outside(const struct time_fit *m, uint64_t c)
{
	struct hwt_interval out, in = { c, c };
	uint64_t t = sim_clock(&sim, c);

	assert_int_equal(time_fit_apply(m, in, &out), 0);
	assert_true(out.lo <= out.hi);
	return t < out.lo ? out.lo - t : t > out.hi ? t - out.hi : 0;
}

static void check_steps(const struct time_fit_report *r)
{
	uint64_t tick;
	int64_t ns;

	for (size_t i = 0; i < r->nsteps && i < TIME_FIT_STEPS; i++) {
		const struct time_fit_step *s = &r->steps[i];
		int64_t sum = 0, most = 0;

		for (size_t k = 0; sim_step(&sim, k, &tick, &ns); k++)
			if (tick >= s->a_lo && tick <= s->a_hi) {
				sum += ns;
				most = 1;
			}
		assert_true(most);	/* there is one */
		assert_true(!s->least || (s->least > 0) == (sum > 0));
		assert_true(llabs(s->least) <= llabs(sum));
	}
}

/* What is too large to be hidden is told, or is part of more than a report has room for. */
static void check_told(const struct time_fit_report *r)
{
	uint64_t tick;
	int64_t ns;

	for (size_t k = 0; sim_step(&sim, k, &tick, &ns); k++) {
		bool told = r->nsteps > TIME_FIT_STEPS || tick <= r->begin || tick >= r->end ||
			(uint64_t)llabs(ns) <= r->blind;

		for (size_t i = 0; i < r->nsteps && !told; i++)
			told = tick >= r->steps[i].a_lo && tick <= r->steps[i].a_hi;
		assert_true(told);
	}
}

static void run(const struct scenario *sc)
{
	static uint64_t mids[SEEDS];
	uint64_t unseen = 0, told = 0, planted = 0, n = 0, ticks = 0;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		struct time_fit_opts o = { .hz = sc->hz, .hz_ppm = sc->sim.skew_ppm + 1,
			.drift_ppb = sc->sim.drift_ppb };
		struct time_fit_report r;
		struct time_fit m;
		struct fitter *f;
		int64_t ns;
		uint64_t tick, most = 0;
		bool apart;
		int rc;

		sim_make(&sim, seed, &sc->sim);
		assert_int_equal(fitter_new(&f, &o), 0);
		apart = make_pairs(sc, f);
		rc = fitter_done(f, &m, &r);
		assert_true(rc >= 0);
		fitter_free(f);
		if (rc && !apart)
			time_fit_free(&m);
		if (!rc || !apart)
			continue;
		for (size_t k = 0; sim_step(&sim, k, &tick, &ns); k++)
			if (tick > r.begin && tick < r.end) {
				planted++;
				most += (uint64_t)llabs(ns);
			}
		check_steps(&r);
		check_told(&r);
		told += r.nsteps;
		for (unsigned i = 0; i < 60; i++) {
			uint64_t c = sim_range(&sim, sim.begin, sim.end), off;

			if (sc->sim.steps && (c < r.begin || c > r.end))
				continue;	/* a step out there is nobody's to know */
			off = outside(&m, c);
			ticks++;
			if (off && sc->sim.steps && off <= r.blind && off <= most)
				unseen++;	/* a step that the pairs do not show */
			else if (off)
				fail_msg("%s, seed %u: tick %llu is %llu ns outside", sc->name,
					 seed, (unsigned long long)c, (unsigned long long)off);
		}
		mids[n++] = r.width_mid;
		time_fit_free(&m);
	}
	assert_true(n);
	qsort(mids, n, sizeof(mids[0]), by_size);
	printf("%-28s %llu maps, %llu ticks inside, %llu behind unseen steps; width %llu ns, "
	       "at most %llu; steps told %llu of %llu\n", sc->name, (unsigned long long)n,
	       (unsigned long long)(ticks - unseen), (unsigned long long)unseen,
	       (unsigned long long)mids[n / 2], (unsigned long long)mids[n - 1],
	       (unsigned long long)told, (unsigned long long)planted);
}

#define GHZ 1000000000ull

static void scenarios(void **state)
{
	static const struct scenario all[] = {
		{ .name = "skew", .sim = { .hz = 3 * GHZ, .begin = 1000 * GHZ, .ticks = 60 * GHZ,
			.start_ns = 5000 * GHZ, .skew_ppm = 200 }, .pairs = 60, .width = 100 },
		{ .name = "drift", .sim = { .hz = 3 * GHZ, .begin = 1000 * GHZ, .ticks = 60 * GHZ,
			.start_ns = 5000 * GHZ, .skew_ppm = 200, .drift_ppb = 20000,
			.changes = 50 }, .pairs = 200, .width = 100 },
		{ .name = "slow counter", .sim = { .hz = 24000000, .begin = 77,
			.ticks = 24000000ull * 300, .start_ns = 12345, .skew_ppm = 50,
			.drift_ppb = 1000, .changes = 20 }, .pairs = 300, .width = 3 },
		{ .name = "jitter", .sim = { .hz = 2 * GHZ, .begin = GHZ, .ticks = 20 * GHZ,
			.start_ns = 90 * GHZ, .skew_ppm = 100, .drift_ppb = 5000, .changes = 20 },
			.pairs = 200, .width = 200, .wide = 2 },
		{ .name = "wrap at 40 bits", .sim = { .hz = 2 * GHZ, .begin = (1ull << 40) - GHZ,
			.ticks = 3ull << 40, .start_ns = GHZ, .skew_ppm = 50, .drift_ppb = 1000,
			.changes = 10 }, .pairs = 300, .width = 100, .bits = 40 },
		{ .name = "wrap at 32 bits", .sim = { .hz = 100000000, .begin = 4000000000u,
			.ticks = 20ull << 32, .start_ns = GHZ, .skew_ppm = 50, .drift_ppb = 1000,
			.changes = 10 }, .pairs = 1500, .width = 10, .bits = 32 },
		{ .name = "pairs lost", .sim = { .hz = 3 * GHZ, .begin = 0, .ticks = 60 * GHZ,
			.start_ns = 5000 * GHZ, .skew_ppm = 200, .drift_ppb = 20000,
			.changes = 50 }, .pairs = 200, .width = 100, .lost = 80 },
		{ .name = "two to four pairs", .sim = { .hz = 3 * GHZ, .begin = GHZ,
			.ticks = 60 * GHZ, .start_ns = 5000 * GHZ, .skew_ppm = 200,
			.drift_ppb = 20000, .changes = 50 }, .pairs = 4, .width = 100, .lost = 30 },
		{ .name = "one pair, known frequency", .sim = { .hz = 3 * GHZ, .begin = GHZ,
			.ticks = 60 * GHZ, .start_ns = 5000 * GHZ, .skew_ppm = 30,
			.drift_ppb = 2000, .changes = 5 }, .pairs = 1, .width = 100,
			.hz = 3 * GHZ },
		{ .name = "one-sided", .sim = { .hz = 50000000, .begin = GHZ,
			.ticks = 50000000ull * 60, .start_ns = 5000 * GHZ, .skew_ppm = 100,
			.drift_ppb = 5000, .changes = 10 }, .pairs = 400, .width = 2000000,
			.one_sided = true },
		{ .name = "one step", .sim = { .hz = 3 * GHZ, .begin = GHZ, .ticks = 60 * GHZ,
			.start_ns = 5000 * GHZ, .skew_ppm = 200, .drift_ppb = 1000, .changes = 10,
			.steps = 1, .step_min = 100000, .step_max = 1000000000 }, .pairs = 200,
			.width = 100 },
		{ .name = "steps, jitter, loss", .sim = { .hz = 3 * GHZ, .begin = GHZ,
			.ticks = 60 * GHZ, .start_ns = 5000 * GHZ, .skew_ppm = 200,
			.drift_ppb = 1000, .changes = 10, .steps = 3, .step_min = 3000000,
			.step_max = 1000000000 }, .pairs = 400, .width = 200, .wide = 10,
			.lost = 20 },
		{ .name = "small steps", .sim = { .hz = 3 * GHZ, .begin = GHZ, .ticks = 60 * GHZ,
			.start_ns = 5000 * GHZ, .skew_ppm = 200, .drift_ppb = 20000, .changes = 10,
			.steps = 2, .step_min = 1, .step_max = 20000 }, .pairs = 200,
			.width = 100 },
	};

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		run(&all[i]);
}

static struct fitter *fitter_of(const struct time_fit_opts *o, const struct time_pair *p, size_t n)
{
	struct fitter *f;

	assert_int_equal(fitter_new(&f, o), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(fitter_add(f, &p[i]), 0);
	return f;
}

/* More pairs than are kept: what is left holds the truth as well. */
static void many_pairs(void **state)
{
	const struct sim_opts so = { .hz = 3 * GHZ, .begin = GHZ, .ticks = 600 * GHZ,
		.start_ns = GHZ, .skew_ppm = 100, .drift_ppb = 1000, .changes = 300 };
	const struct scenario sc = { .width = 100 };
	const struct time_fit_opts o = { .drift_ppb = 1000, .max = 64 };

	for (unsigned seed = 1; seed < 20; seed++) {
		struct time_fit_report r;
		struct time_fit m;
		struct fitter *f = fitter_of(&o, NULL, 0);

		sim_make(&sim, seed, &so);
		for (unsigned i = 0; i < 20000; i++) {
			struct time_pair p = one_pair(&sc, sim_range(&sim, sim.begin, sim.end));

			assert_int_equal(fitter_add(f, &p), 0);
		}
		assert_int_equal(fitter_done(f, &m, &r), 1);
		fitter_free(f);
		assert_true(r.given == 20000 && r.used <= 64 && r.used > 16);
		assert_int_equal(r.nsteps, 0);
		for (unsigned i = 0; i < 500; i++)
			assert_true(!outside(&m, sim_range(&sim, 0, sim.end + GHZ)));
		time_fit_free(&m);
	}
}

/* Both ways in which a stream makes an interval of ticks [@lo, @hi] one of the other clock. */
static struct hwt_interval instant(const struct time_fit *m, uint64_t lo, uint64_t hi, bool late)
{
	return (struct hwt_interval){ time_fit_lo(m, lo), late ?
		time_fit_late(m, time_fit_lo(m, hi)) : time_fit_hi(m, hi) };
}

/* What lies between two ticks is in what is told of instants around them, and that is closer. */
static void lengths(void **state)
{
	const struct scenario sc = { .name = "lengths", .pairs = 40, .width = 500, .wide = 8 };
	const struct sim_opts so = { .hz = 2500000000, .begin = 1ull << 40, .ticks = 50000000000,
		.start_ns = 77000000000, .skew_ppm = 80, .drift_ppb = 100000, .changes = 40 };
	const struct time_fit_opts o = { .drift_ppb = 100000 };
	double widths = 0, wide = 0;

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct time_fit_report r;
		struct time_fit m;
		struct fitter *f;

		sim_make(&sim, seed, &so);
		assert_int_equal(fitter_new(&f, &o), 0);
		for (unsigned i = 0; i < sc.pairs; i++) {
			struct time_pair p = one_pair(&sc, sim_range(&sim, sim.begin, sim.end));

			assert_int_equal(fitter_add(f, &p), 0);
		}
		assert_int_equal(fitter_done(f, &m, &r), 1);
		for (unsigned i = 0; i < 5000; i++) {
			uint64_t far = sim_range(&sim, 0, 3) ? 3000000 : 3000000000;
			uint64_t a = sim_range(&sim, sim.begin + 5000, sim.end - far - 5000);
			uint64_t b = a + sim_range(&sim, 0, far), w = sim_range(&sim, 0, 4000);
			struct hwt_interval x = instant(&m, a - sim_range(&sim, 0, w),
							a + sim_range(&sim, 0, w), i & 1);
			struct hwt_interval y = instant(&m, b - sim_range(&sim, 0, w),
							b + sim_range(&sim, 0, w), i & 2);
			struct hwt_interval d = { y.lo > x.hi ? y.lo - x.hi : 0,
				y.hi > x.lo ? y.hi - x.lo : 0 };
			uint64_t truth = sim_clock(&sim, b) - sim_clock(&sim, a);

			wide += (double)(d.hi - d.lo);
			time_fit_between(&m, x, y, &d);
			widths += (double)(d.hi - d.lo);
			/* both readings are whole ns */
			assert_true(d.lo <= truth + 1 && truth <= d.hi + 1);
		}
		time_fit_free(&m);
		fitter_free(f);
	}
	print_message("width of a length: %.0f ns of %.0f\n", widths / 100000, wide / 100000);
	assert_true(widths * 2 < wide);
}

static void what_pairs_can_not_tell(void **state)
{
	static const struct time_pair one = { 1000, 1010, 500, 501 };
	static const struct time_pair bad[] = { { 2, 1, 0, 1 }, { 1, 2, 3, 2 },
		{ 1, 1ull << 63, 3, 4 }, { 1, 2, 1ull << 63, UINT64_MAX } };
	static const struct time_pair early[] = { { 1000, 1000, 500, TIME_LATEST },
		{ 2000, 2000, 600, TIME_LATEST } };
	const struct time_fit_opts none = { .drift_ppb = 0 };
	struct time_fit_report r;
	struct time_fit m = { .rate_lo = 77 };
	struct fitter *f = fitter_of(&none, NULL, 0);

	assert_int_equal(fitter_done(f, &m, &r), 0);
	for (size_t i = 0; i < 4; i++)
		assert_true(fitter_add(f, &bad[i]) < 0);
	assert_int_equal(fitter_add(f, &one), 0);
	assert_int_equal(fitter_done(f, &m, &r), 0);	/* one pair and no frequency */
	fitter_free(f);
	f = fitter_of(&none, early, 2);			/* it may be as fast as it likes */
	assert_int_equal(fitter_done(f, &m, &r), 0);
	assert_true(m.rate_lo == 77);
	fitter_free(f);
	fitter_free(NULL);
}

/* A frequency that is not that of the pairs; pairs that drift more than was promised. */
static void promises_that_do_not_hold(void **state)
{
	const struct time_fit_opts wrong = { .hz = GHZ, .hz_ppm = 100, .drift_ppb = 1000 };
	const struct time_fit_opts calm = { .drift_ppb = 10 };
	const struct sim_opts so = { .hz = 3 * GHZ, .begin = GHZ, .ticks = 60 * GHZ,
		.start_ns = GHZ, .drift_ppb = 50000, .changes = 40 };
	const struct scenario sc = { .width = 50 };

	for (unsigned seed = 1; seed < 40; seed++) {
		const struct time_fit_opts *o = seed & 1 ? &wrong : &calm;
		struct time_fit_report r;
		struct fitter *f = fitter_of(o, NULL, 0);
		struct time_fit m;

		sim_make(&sim, seed, &so);
		for (unsigned i = 0; i < 300; i++) {
			struct time_pair p = one_pair(&sc, sim_range(&sim, sim.begin, sim.end));

			assert_int_equal(fitter_add(f, &p), 0);
		}
		assert_int_equal(fitter_done(f, &m, &r), 1);
		fitter_free(f);
		assert_int_equal(r.wrong_hz, seed & 1);
		assert_true(r.drift_ppb >= 4000 && r.drift_ppb <= 500000);
		for (unsigned i = 0; i < 300; i++) {
			uint64_t c = sim_range(&sim, sim.begin, sim.end);

			/* what more than the drift that it has is a step, of at most... */
			assert_true(outside(&m, c) <= r.blind);
		}
		time_fit_free(&m);
	}
}

/* Two pairs of one tick that exclude each other; a wide bracket around a narrow one. */
static void odd_pairs(void **state)
{
	static const struct time_pair v[] = {
		{ 1000, 1000, 5000, 5001 }, { 1000, 1000, 7000, 7001 },
		{ 1000000, 1000000, 1004000, 1004001 }, { 999000, 1000500, 1003000, 1004900 },
		{ 2000000, 2000010, 2004000, 2004011 } };
	const struct time_fit_opts o = { .drift_ppb = 0 };
	struct time_fit_report r;
	struct fitter *f = fitter_of(&o, v, 5);
	struct time_fit m;

	assert_int_equal(fitter_done(f, &m, &r), 1);
	fitter_free(f);
	assert_int_equal(r.given, 5);
	assert_int_equal(r.used, 3);
	assert_int_equal(r.odd, 1);
	assert_int_equal(r.nsteps, 0);
	assert_true(time_fit_lo(&m, 500000) >= 503990 && time_fit_hi(&m, 500000) <= 504010);
	time_fit_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scenarios),
		cmocka_unit_test(many_pairs),
		cmocka_unit_test(lengths),
		cmocka_unit_test(what_pairs_can_not_tell),
		cmocka_unit_test(promises_that_do_not_hold),
		cmocka_unit_test(odd_pairs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
