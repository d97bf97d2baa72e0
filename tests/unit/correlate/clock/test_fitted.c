/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Native captures without a clock map, with pairs of readings. Truth: the clock that is simulated
 * (tests/support/simclock.c) at the tick of each record.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/latency.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "tests/support/scratch.h"
#include "tests/support/simclock.h"

#define GHZ 1000000000ull
#define SWITCHES 20	/* between two pairs */
#define CPUS 2

static struct sim sim;
static uint64_t ticks[100000];
static size_t nticks;
static uint64_t read_first[HWT_CLOCK_COUNT], read_last[HWT_CLOCK_COUNT];

static const struct sim_opts calm = { .hz = 3 * GHZ, .begin = 50 * GHZ, .ticks = 30 * GHZ,
	.start_ns = 700 * GHZ, .skew_ppm = 100, .drift_ppb = 100000, .changes = 30 };

/* The first (last) tick at which a clock_id value was read. */
static uint64_t *read_at(unsigned id, bool last)
{
	unsigned clock = id == 4 ? HWT_CLOCK_REALTIME : HWT_CLOCK_MONOTONIC;

	return last ? &read_last[clock] : &read_first[clock];
}

static void put_sync(struct native_writer *w, int32_t cpu, uint64_t tick, unsigned clock)
{
	struct hwt_rec_clock_sync r = { .rec = { .id = HWT_ID_clock_sync, .size = sizeof(r),
		.version = 1, .pid = -1, .tid = -1 }, .counter = tick, .clock = clock };

	r.width = (uint32_t)sim_range(&sim, 20, 200);
	r.value = sim_clock(&sim, sim_range(&sim, tick, tick + r.width));
	if (clock == 4)
		r.value += 1700000000 * GHZ;
	r.rec.time = tick + r.width;
	assert_int_equal(native_event(w, cpu, &r, sizeof(r)), 0);
	*read_at(clock, false) = *read_at(clock, false) ? *read_at(clock, false) : tick;
	*read_at(clock, true) = tick;
}

static void put_switch(struct native_writer *w, int32_t cpu, uint64_t tick, unsigned i)
{
	struct hwt_rec_sched_switch r = { .rec = { .id = HWT_ID_sched_switch, .size = sizeof(r),
		.version = 1, .pid = 10, .tid = 10 + (int32_t)(i & 1), .time = tick, .hit = i + 1 },
		.prev_pid = 10, .prev_tid = 10 + (int32_t)(i & 1), .next_pid = 10,
		.next_tid = 10 + (int32_t)(~i & 1), .next_aspace = UINT64_MAX };

	assert_int_equal(native_event(w, cpu, &r, sizeof(r)), 0);
	ticks[nticks++] = tick;
}

static bool with_trace;	/* there is a buffer of trace, so times stay what the readings tell */

/* @map: the capture states a conversion. */
static void make(const char *dir, const char *base, unsigned pairs, const struct time_map *map)
{
	struct native_clock k = { .counter = "tsc", .base = base, .frequency = 3 * GHZ };
	struct native_writer *w;
	struct hwt_diag d;
	uint64_t tick = sim.begin + GHZ, step = (sim.end - tick) / (pairs * (SWITCHES + 2));
	unsigned n = 0;

	if (map)
		k.map = *map;
	nticks = 0;
	memset(read_first, 0, sizeof(read_first));
	assert_int_equal(native_create(&w, dir, true, &d), 0);
	assert_int_equal(native_clock(w, &k), 0);
	if (with_trace) {
		struct trace_cfg cfg = { .name = "pt", .core = "", .proto = HWT_PROTO_PT };

		assert_int_equal(native_add_buf(w, "cpu 0", 0, HWT_NONE, HWT_NONE, FRAMING_NONE,
						&cfg, 1), 0);
		assert_int_equal(native_trace(w, 0, HWT_TIME_UNKNOWN, "", 1), 0);
	}
	for (unsigned i = 0; i < pairs; i++) {
		put_sync(w, 0, tick, 1);
		if (i % 3 == 0)
			put_sync(w, 1, tick + step / 2, 4);
		tick += step;
		for (unsigned s = 0; s < SWITCHES; s++, n++) {
			put_switch(w, (int32_t)(n & 1), tick, n);
			tick += sim_range(&sim, step / 2, step);
		}
	}
	put_sync(w, 0, tick, 1);
	assert_int_equal(native_close(w, &d), 0);
}

static struct hwt_session *open_it(const char *path)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_session *s;
	struct hwt_diag d;

	assert_int_equal(hwt_session_open(&s, path, &o, &d), 0);
	return s;
}

static const struct hwt_note *note_of(const struct hwt_session *s, unsigned id)
{
	const struct hwt_note *n;

	for (size_t i = 0; (n = hwt_session_note(s, i)); i++)
		if (n->diag.id == id)
			return n;
	return NULL;
}

/*
 * Each switch, in order, without a span, for one counter stamped all of them. Its true time is as
 * near as the capture says, where it was read; what lies between two of them is by the counter's
 * true mean rate, as far as that is said to be known.
 */
static void all_told(struct hwt_stream *st, uint64_t wall, const struct hwt_clock_info *k)
{
	const double mean = (double)(sim_clock(&sim, read_last[k->base]) -
		sim_clock(&sim, read_first[k->base])) /
		(double)(read_last[k->base] - read_first[k->base]);
	struct hwt_event ev[7];
	uint64_t last = 0, first = 0;
	size_t i = 0;
	int n;

	while ((n = hwt_stream_next(st, ev, 7)) > 0)
		for (int e = 0; e < n; e++) {
			bool sw = ev[e].type == HWT_EV_SCHED_SWITCH ||
				(ev[e].type == HWT_EV_RECORD &&
				 ev[e].u.rec.id == HWT_ID_sched_switch);
			uint64_t truth, tick;
			double length;

			if (ev[e].type == HWT_EV_NONE)
				continue;
			assert_int_equal(ev[e].clock, HWT_CLOCK_BASE);
			assert_true(ev[e].time >= last);
			last = ev[e].time;
			if (!sw)
				continue;
			assert_int_equal(ev[e].span, 0);
			tick = ticks[i++];
			first = i == 1 ? last : first;
			length = (double)(tick - ticks[0]) * mean;
			assert_true(fabs((double)(last - first) - length) <=
				    2 + length * k->rate_ppb / 1e9);
			truth = sim_clock(&sim, tick) + wall;
			if (tick >= read_first[k->base] && tick <= read_last[k->base])
				assert_in_range(last, truth - k->pairs_off - 1,
						truth + k->pairs_off + 1);
		}
	assert_int_equal(n, 0);
	assert_int_equal(i, nticks);
	hwt_stream_close(st);
}

static void kernel_records(void **state)
{
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct hwt_timeline_opts to = { .size = sizeof(to), .want = HWT_INTEREST_ALL,
			.kernel = true };
		struct hwt_clock_info k;
		struct hwt_session *s;
		struct hwt_stream *st;

		sim_make(&sim, seed, &calm);
		make(scratch("f.hwt"), seed & 1 ? "CLOCK_MONOTONIC" : "", 40, NULL);
		s = open_it(scratch("f.hwt"));
		hwt_session_clock(s, &k);
		assert_int_equal(k.how, HWT_MAP_COUNTER);
		/* 40 pairs in 30 s, each to 200 ticks */
		assert_in_range(k.rate_ppb, 1, 20);
		assert_int_equal(k.counter, HWT_CLOCK_TSC);
		assert_int_equal(k.base, HWT_CLOCK_MONOTONIC);
		assert_int_equal(k.pairs, 41);
		assert_int_equal(k.steps, 0);
		assert_int_equal(k.drift_ppb, 500000);
		assert_int_equal(hwt_session_events(s, &st, NULL), 0);
		all_told(st, 0, &k);
		assert_in_range(k.pairs_off, 1, 5000000);
		assert_int_equal(hwt_session_kernel(s, &st, NULL), 0);
		all_told(st, 0, &k);
		assert_int_equal(hwt_session_timeline(s, &to, &st, NULL), 0);
		all_told(st, 0, &k);
		assert_null(note_of(s, 240));
		assert_null(note_of(s, 241));
		hwt_session_close(s);
	}
}

/*
 * With trace each instant is as wide as the readings are apart, but what lies between two is known
 * by the counter: true, and closer by far.
 */
static void lengths_of_a_fitted_clock(void **state)
{
	double widths = 0, wide = 0;
	size_t done = 0;

	with_trace = true;
	for (unsigned seed = 1; seed <= 12; seed++) {
		struct hwt_pairs_opts o = { .size = sizeof(o), .from = "sched.switch" };
		struct hwt_event ev[7];
		struct hwt_clock_info k;
		struct hwt_pairs *pairs;
		struct hwt_session *s;
		struct hwt_stream *st;
		struct hwt_pair p;
		size_t i = 0;
		int n;

		sim_make(&sim, seed, &calm);
		make(scratch("f.hwt"), "CLOCK_MONOTONIC", 40, NULL);
		s = open_it(scratch("f.hwt"));
		hwt_session_clock(s, &k);
		assert_int_equal(k.how, HWT_MAP_FITTED);
		assert_int_equal(hwt_pairs_new(&pairs, s, &o, NULL), 0);
		assert_int_equal(hwt_session_kernel(s, &st, NULL), 0);
		while ((n = hwt_stream_next(st, ev, 7)) > 0)
			for (int e = 0; e < n; e++) {
				bool sw = ev[e].type == HWT_EV_RECORD &&
					ev[e].u.rec.id == HWT_ID_sched_switch;
				uint64_t truth;

				i += sw;
				if (hwt_pairs_event(pairs, &ev[e], &p) != 1)
					continue;
				/* the task leaves at one switch and comes with the next one */
				truth = sim_clock(&sim, ticks[i - 1]) -
					sim_clock(&sim, ticks[i - 2]);
				assert_true(p.took.lo <= truth + 1 && truth <= p.took.hi + 1);
				widths += (double)(p.took.hi - p.took.lo);
				wide += (double)p.from.span + p.to.span;
				done++;
			}
		assert_int_equal(i, nticks);
		hwt_pairs_free(pairs);
		hwt_stream_close(st);
		hwt_session_close(s);
	}
	with_trace = false;
	print_message("%zu lengths, mean width %.0f ns, by the instants %.0f ns\n", done,
		      widths / (double)done, wide / (double)done);
	assert_true(done > 5000 && widths * 2 < wide);
}

/* The capture says that its base is UTC: these pairs are used. */
static void another_base(void **state)
{
	struct hwt_clock_info k;
	struct hwt_session *s;
	struct hwt_stream *st;

	sim_make(&sim, 77, &calm);
	make(scratch("f.hwt"), "CLOCK_REALTIME", 60, NULL);
	s = open_it(scratch("f.hwt"));
	hwt_session_clock(s, &k);
	assert_int_equal(k.base, HWT_CLOCK_REALTIME);
	assert_int_equal(k.pairs, 20);
	assert_int_equal(hwt_session_events(s, &st, NULL), 0);
	all_told(st, 1700000000 * GHZ, &k);
	hwt_session_close(s);
}

static void a_step_is_told(void **state)
{
	struct sim_opts o = calm;
	unsigned told = 0;

	o.steps = 1;
	o.step_min = 50000000;
	o.step_max = 900000000;
	for (unsigned seed = 1; seed <= 12; seed++) {
		const struct hwt_note *n;
		struct hwt_clock_info k;
		struct hwt_session *s;
		unsigned long long least, a, b;
		uint64_t tick;
		int64_t ns;

		sim_make(&sim, seed, &o);
		make(scratch("f.hwt"), "CLOCK_MONOTONIC", 40, NULL);
		s = open_it(scratch("f.hwt"));
		assert_true(sim_step(&sim, 0, &tick, &ns));
		hwt_session_clock(s, &k);
		n = note_of(s, 240);
		if (tick > ticks[40] && tick < ticks[nticks - 40]) {
			assert_int_equal(k.steps, 1);
			assert_non_null(n);
			assert_non_null(strstr(n->diag.text, ns > 0 ? "went ahead" : "set back"));
			assert_int_equal(sscanf(strstr(n->diag.text, "at least"),
				"at least %llu ns against the counter, between ticks %llu and %llu",
				&least, &a, &b), 3);
			assert_true(least <= (unsigned long long)llabs(ns) && least > 40000000);
			assert_true(a <= tick && tick <= b);
			told++;
		}
		hwt_session_close(s);
	}
	assert_true(told >= 6);
}

/* A conversion that the pairs agree with, and one that is 1 % wrong. */
static void pairs_against_a_conversion(void **state)
{
	const struct sim_opts steady = { .hz = 2 * GHZ, .begin = 50 * GHZ, .ticks = 30 * GHZ,
		.start_ns = 25 * GHZ };
	struct time_map map = { .mult = 1u << 30, .shift = 31 };
	struct hwt_clock_info k;
	struct hwt_session *s;

	sim_make(&sim, 5, &steady);
	make(scratch("f.hwt"), "CLOCK_MONOTONIC", 40, &map);
	s = open_it(scratch("f.hwt"));
	hwt_session_clock(s, &k);
	assert_int_equal(k.how, HWT_MAP_EXACT);
	assert_int_equal(k.pairs, 41);
	assert_int_equal(k.pairs_off, 0);
	assert_null(note_of(s, 241));
	hwt_session_close(s);

	map.mult += map.mult / 100;
	make(scratch("f.hwt"), "CLOCK_MONOTONIC", 40, &map);
	s = open_it(scratch("f.hwt"));
	hwt_session_clock(s, &k);
	assert_int_equal(k.how, HWT_MAP_EXACT);
	/* at 80 G ticks 1 % of 40 s, give or take where the last pair is */
	assert_true(k.pairs_off > 250000000 && k.pairs_off < 400000000);
	assert_non_null(note_of(s, 241));
	assert_int_equal(note_of(s, 241)->severity, HWT_NOTE_WARN);
	hwt_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(kernel_records),
		cmocka_unit_test(lengths_of_a_fitted_clock),
		cmocka_unit_test(another_base),
		cmocka_unit_test(a_step_is_told),
		cmocka_unit_test(pairs_against_a_conversion),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
