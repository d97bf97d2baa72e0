/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Intervals by cycle counts against a simulated CPU, whose clock changes and stops: the true
 * instant of everything lies in its interval.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/bound.h"
#include "decoders/flow/flow.h"

#define N	40000

struct sim {
	uint64_t rnd;
	double now, cycles;	/* ticks; cycles */
	double clock;		/* cycles in a tick */
	double counted;		/* cycles at the last CYCLES */
	uint64_t mul, div;	/* units of time = ticks * mul / div */
	uint64_t time, stamped;	/* of the last timestamp, units; ticks */
	unsigned n;
	struct hwt_event ev[N];
	uint64_t truth[N];	/* units; counter as it stood */
};

struct feed { struct hwt_stream s; const struct sim *sim; unsigned at; };

static int feed_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct feed *f = hwt_container_of(s, struct feed, s);
	int n = 0;

	while (n < max && n < 100 && f->at < f->sim->n)
		ev[n++] = f->sim->ev[f->at++];
	return n;
}

static void feed_close(struct hwt_stream *s)
{
}

static const struct hwt_stream_ops feed_ops = { feed_next, feed_close };

static uint64_t pick(struct sim *s, uint64_t n)
{
	s->rnd = s->rnd * 6364136223846793005u + 1442695040888963407u;
	return (s->rnd >> 33) % n;
}

static struct hwt_event *put(struct sim *s, unsigned type)
{
	struct hwt_event *e = &s->ev[s->n];

	assert_true(s->n < N);
	s->truth[s->n++] = (uint64_t)s->now * s->mul / s->div;
	*e = (struct hwt_event){ .type = (uint16_t)type, .time = s->time,
				 .span = HWT_SPAN_UNKNOWN, .cpu = 1, .off = s->n };
	e->u.value.trace_id = 0x10;
	return e;
}

static void stamp(struct sim *s, bool known)
{
	struct hwt_event *e;

	s->stamped = (uint64_t)s->now;
	s->time = s->stamped * s->mul / s->div;
	e = put(s, HWT_EV_TIMESTAMP);
	e->u.value.value = s->stamped;
	e->u.value.what = known ? (uint32_t)(floor(s->cycles) - s->counted) : 0;
}

/* @kinds: bit 0 the clock changes up to the first one, 1 it stops, 2 the unit overflows */
static void simulate(struct sim *s, unsigned kinds, uint64_t every, double clock)
{
	double first = s->clock;
	bool known = s->n;

	for (unsigned i = 0; i < 10000; i++) {
		double ran = 1 + (double)pick(s, 400) / 10;

		s->cycles += ran;
		s->now += ran / s->clock;
		if (kinds & 2 && !pick(s, 100))
			s->now += (double)pick(s, 3000) / 7;
		put(s, HWT_EV_RANGE);
		if (!pick(s, 3)) {
			put(s, HWT_EV_CYCLES)->u.value = (typeof(s->ev[0].u.value)){
				.value = known ? (uint64_t)(floor(s->cycles) - s->counted) : 0,
				.what = HWT_CYCLES_BEFORE, .trace_id = 0x10,
			};
			s->counted = floor(s->cycles);
			known = true;
		}
		if ((uint64_t)s->now - s->stamped >= every)
			stamp(s, known);
		if (kinds & 4 && !pick(s, 300)) {
			put(s, HWT_EV_GAP)->u.gap.cause = HWT_GAP_OVERFLOW;
			s->cycles += 777;
			s->now += 999;
			known = false;
			stamp(s, false);
		}
		if (kinds & 1 && i > 3000 && !pick(s, 500))
			s->clock = first / (double)(1 + pick(s, 5));
		if (clock > 0 && i == 5000)
			s->clock = clock;
	}
	stamp(s, known);
	stamp(s, known);
}

static int by_width(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

/* How many are outside of their interval; *median of the widths. */
static unsigned judge(const struct sim *s, uint32_t *median)
{
	static uint32_t width[N];
	const struct hwt_interest want = { .time_hi = HWT_TIME_UNKNOWN };
	struct feed f = { .s = { &feed_ops, "sim" }, .sim = s };
	struct hwt_event ev[64];
	struct hwt_stream *b;
	uint64_t before = 0;
	unsigned outside = 0, n = 0, all = 0;
	int k;

	assert_int_equal(bound_new(&b, &want, &f.s, false), 0);
	while ((k = hwt_stream_next(b, ev, 64)) > 0) {
		for (int i = 0; i < k; i++, all++) {
			uint64_t truth = s->truth[all];

			assert_int_equal(ev[i].off, all + 1);
			assert_true(ev[i].time >= before);	/* times never go back */
			before = ev[i].time;
			if (ev[i].span == HWT_SPAN_UNKNOWN)
				continue;
			width[n++] = ev[i].span;
			outside += truth < ev[i].time || truth > ev[i].time + ev[i].span;
		}
	}
	assert_int_equal(k, 0);
	assert_int_equal(all, s->n);
	hwt_stream_close(b);
	qsort(width, n, sizeof(*width), by_width);
	*median = width[n / 2];
	return outside;
}

static struct sim sim;

static void new(uint64_t seed, double clock, bool ns)
{
	memset(&sim, 0, sizeof(sim));
	sim = (struct sim){ .rnd = seed, .now = 1000, .clock = clock, .mul = ns ? 125 : 1,
			    .div = ns ? 3 : 1 };
	stamp(&sim, false);
}

/* Clocks that change, stop and overflow, in ticks and in ns of a counter of 24 MHz. */
static void test_truth(void **state)
{
	uint32_t coarse, fine;

	for (unsigned kinds = 0; kinds < 8; kinds++) {
		for (unsigned i = 0; i < 12; i++) {
			static const double clocks[] = { 0.5, 1, 3.7, 80 };
			double clock = clocks[i % 4];
			bool ns = i / 4 % 2;

			new(i + 1, clock, ns);
			simulate(&sim, kinds, i < 8 ? 200 : 30, 0);
			assert_int_equal(judge(&sim, &fine), 0);
			for (unsigned k = 0; k < sim.n; k++)	/* not as ETMv4 counts */
				if (sim.ev[k].type == HWT_EV_CYCLES)
					sim.ev[k].u.value.what = HWT_CYCLES_BEHIND;
			assert_int_equal(judge(&sim, &coarse), 0);
			assert_true(fine <= coarse);
			if (!kinds && i < 8 && clock < 50) {
				/* a fifth: some 60 cycles between counts, and a sample's 2 % */
				assert_true(fine * (clock < 2 ? 1 : 5) < coarse);
			}
		}
	}
}

/* A clock that becomes faster than it ever was: noticed, and the new rate is learnt. */
static void test_faster(void **state)
{
	uint32_t median;
	unsigned outside;

	new(7, 2, false);
	simulate(&sim, 0, 200, 4);
	outside = judge(&sim, &median);
	/* at most the stretch in which it changed */
	assert_true(outside < 100);
	assert_true(median < 60);
}

/* Two sources of one CPU that both count: nothing is made of it. */
static void test_mixed(void **state)
{
	uint32_t median;

	new(9, 2, false);
	simulate(&sim, 0, 200, 0);
	for (unsigned i = 0; i < sim.n; i += 3)
		sim.ev[i].u.value.trace_id = sim.ev[i].type == HWT_EV_CYCLES ? 0x11 : 0x10;
	assert_int_equal(judge(&sim, &median), 0);
	assert_true(median >= 200);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_faster),
		cmocka_unit_test(test_mixed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
