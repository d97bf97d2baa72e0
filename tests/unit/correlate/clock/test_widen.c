/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Events on the lower line of a fitted map, and events in ticks. Truth: the clock that is simulated
 * (tests/support/simclock.c) at the tick of each event; it must lie in what comes out.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <cmocka.h>

#include "correlate/clock/widen.h"
#include "hwtrace/time/fit.h"
#include "tests/support/evlist.h"
#include "tests/support/simclock.h"

#define GHZ	1000000000ull
#define SEEDS	40
#define EVENTS	500
#define PAIRS	60

static struct sim sim;
static uint64_t tick[EVENTS], until[EVENTS];	/* an event was between these */
static struct hwt_event ev[EVENTS + 3];

static int by_size(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static void fit(struct time_fit *m, unsigned seed)
{
	const struct sim_opts o = { .hz = 3 * GHZ, .begin = 50 * GHZ, .ticks = 30 * GHZ,
		.start_ns = 700 * GHZ, .skew_ppm = 100, .drift_ppb = 100000, .changes = 30 };
	const struct time_fit_opts fo = { .drift_ppb = 100000 };
	struct time_fit_report r;
	struct fitter *f;

	sim_make(&sim, seed, &o);
	assert_int_equal(fitter_new(&f, &fo), 0);
	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t c = sim_range(&sim, sim.begin, sim.end), w = sim_range(&sim, 0, 300);
		uint64_t ns = sim_clock(&sim, sim_range(&sim, c, c + w));

		assert_int_equal(fitter_add(f, &(struct time_pair){ c, c + w, ns, ns + 1 }), 0);
	}
	assert_int_equal(fitter_done(f, m, &r), 1);
	fitter_free(f);
	for (unsigned i = 0; i < EVENTS; i++)
		tick[i] = sim_range(&sim, sim.begin, sim.end);
	qsort(tick, EVENTS, sizeof(tick[0]), by_size);
	for (unsigned i = 0; i < EVENTS; i++)
		until[i] = tick[i] + (i % 3 ? sim_range(&sim, 0, 100000) : 0);
}

/* Takes @s. Both ends of each event are inside; how wide they are in the middle. */
static uint64_t inside(struct hwt_stream *s, bool span)
{
	static uint64_t width[EVENTS];
	struct hwt_event out[EVENTS + 3];

	assert_int_equal(hwt_stream_next(s, out, EVENTS + 3), EVENTS + 3);
	for (unsigned i = 0; i < EVENTS; i++) {
		assert_int_equal(out[i].clock, HWT_CLOCK_BASE);
		assert_true(out[i].span != HWT_SPAN_UNKNOWN);
		assert_true(out[i].time <= sim_clock(&sim, tick[i]));
		assert_true(out[i].time + out[i].span >=
			    sim_clock(&sim, span ? until[i] : tick[i]));
		width[i] = out[i].span;
	}
	/* no time, no end, and another clock */
	assert_int_equal(out[EVENTS].time, HWT_TIME_UNKNOWN);
	assert_int_equal(out[EVENTS + 1].span, HWT_SPAN_UNKNOWN);
	assert_int_equal(out[EVENTS + 2].clock, HWT_CLOCK_MONOTONIC);
	assert_int_equal(out[EVENTS + 2].span, 5);
	hwt_stream_close(s);
	qsort(width, EVENTS, sizeof(width[0]), by_size);
	return width[EVENTS / 2];
}

/* @ticks: events are not converted yet. */
static void make(const struct time_fit *m, bool ticks, bool span)
{
	for (unsigned i = 0; i < EVENTS; i++) {
		uint64_t lo = ticks ? tick[i] : time_fit_lo(m, tick[i]);
		uint64_t hi = ticks ? until[i] : time_fit_lo(m, until[i]);

		ev[i] = (struct hwt_event){ .type = HWT_EV_RANGE, .time = lo,
			.span = span ? (uint32_t)(hi - lo) : 0,
			.clock = ticks ? HWT_CLOCK_TSC : HWT_CLOCK_BASE };
	}
	ev[EVENTS] = ev[EVENTS + 1] = ev[EVENTS + 2] = ev[EVENTS - 1];
	ev[EVENTS].time = HWT_TIME_UNKNOWN;
	ev[EVENTS + 1].span = HWT_SPAN_UNKNOWN;
	ev[EVENTS + 2].clock = HWT_CLOCK_MONOTONIC;
	ev[EVENTS + 2].span = 5;
}

static void run(bool ticks)
{
	uint64_t points = 0, spans = 0;

	for (unsigned seed = 1; seed <= SEEDS; seed++) {
		int (*new)(struct hwt_stream **, const struct time_fit *, struct hwt_stream *) =
			ticks ? convert_new : widen_new;
		struct hwt_stream *s;
		struct time_fit m;

		fit(&m, seed);
		make(&m, ticks, false);
		assert_int_equal(new(&s, &m, evlist(ev, EVENTS + 3)), 0);
		points += inside(s, false);
		make(&m, ticks, true);
		assert_int_equal(new(&s, &m, evlist(ev, EVENTS + 3)), 0);
		spans += inside(s, true);
		time_fit_free(&m);
	}
	printf("%s: %u events inside; instants are %llu ns wide, others %llu\n",
	       ticks ? "ticks" : "lower line", 2 * SEEDS * EVENTS,
	       (unsigned long long)(points / SEEDS), (unsigned long long)(spans / SEEDS));
	/* as wide as pairs half a second apart and the drift make it, and no more */
	assert_true(points / SEEDS > 100 && points / SEEDS < 100000);
}

static void lower_line(void **state)
{
	run(false);
}

static void in_ticks(void **state)
{
	run(true);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lower_line),
		cmocka_unit_test(in_ticks) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
