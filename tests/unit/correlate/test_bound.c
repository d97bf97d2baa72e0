/* SPDX-License-Identifier: BSD-2-Clause */
/* Spans against a plain quadratic search for the next later time of the same CPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/bound.h"
#include "decoders/flow/flow.h"

struct fake {
	struct hwt_stream s;
	const struct hwt_event *ev;
	int n, batch, closed;
};

static int fake_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct fake *f = hwt_container_of(s, struct fake, s);
	int n = f->n < max ? f->n : max;

	if (n > f->batch)
		n = f->batch;
	memcpy(ev, f->ev, (size_t)n * sizeof(*ev));
	f->ev += n;
	f->n -= n;
	return n;
}

static void fake_close(struct hwt_stream *s)
{
	hwt_container_of(s, struct fake, s)->closed++;
}

static const struct hwt_stream_ops fake_ops = { fake_next, fake_close };

static bool bounded;	/* the stream tells spans itself */

static int run(const struct hwt_event *in, int n, uint64_t time_lo, struct hwt_event *out, int max,
	       int batch)
{
	const struct hwt_interest want = { .time_lo = time_lo, .time_hi = HWT_TIME_UNKNOWN };
	struct fake f = { .s = { &fake_ops, "fake" }, .ev = in, .n = n, .batch = batch };
	struct hwt_stream *b;
	int got = 0, rc;

	assert_int_equal(bound_new(&b, &want, &f.s, bounded), 0);
	while (got < max &&
	       (rc = hwt_stream_next(b, out + got, batch < max - got ? batch : max - got)) > 0)
		got += rc;
	assert_int_equal(rc, 0);
	for (int i = 0, all = got; i < all; i++) {	/* NONE tells progress only */
		if (!i)
			got = 0;
		if (out[i].type != HWT_EV_NONE)
			out[got++] = out[i];
	}
	hwt_stream_close(b);
	assert_int_equal(f.closed, 1);
	return got;
}

static struct hwt_event at(int cpu, uint64_t time)
{
	return (struct hwt_event){ .type = HWT_EV_RANGE, .cpu = cpu, .time = time, .pid = HWT_NONE,
				   .tid = HWT_NONE, .span = HWT_SPAN_UNKNOWN };
}

static uint32_t want_span(const struct hwt_event *ev, int n, int i)
{
	for (int k = i + 1; k < n && ev[i].time != HWT_TIME_UNKNOWN; k++)
		if (ev[k].cpu == ev[i].cpu && ev[k].time != HWT_TIME_UNKNOWN &&
		    ev[k].time > ev[i].time)
			return (uint32_t)(ev[k].time - ev[i].time);
	return HWT_SPAN_UNKNOWN;
}

static void next_time_of_the_same_cpu(void **state)
{
	enum { N = 3000 };
	static struct hwt_event in[N], out[N + 1];
	uint64_t time[3] = { 10, 0, 500 };

	srand(1);
	for (int i = 0; i < N; i++) {
		int cpu = rand() % 3;

		time[cpu] += rand() % 4 ? 0 : (uint64_t)(rand() % 100);
		in[i] = at(cpu, rand() % 10 ? time[cpu] : HWT_TIME_UNKNOWN);
		in[i].off = (uint64_t)i;
	}
	for (int batch = 1; batch < 400; batch = batch * 3 + 1) {
		assert_int_equal(run(in, N, 0, out, N + 1, batch), N);
		for (int i = 0; i < N; i++) {
			assert_int_equal(out[i].off, i);
			assert_int_equal(out[i].time, in[i].time);
			assert_int_equal(out[i].span, want_span(in, N, i));
		}
	}
}

/* An event is not over before what it reaches, and a switch of tasks bounds nothing. */
static void reach(void **state)
{
	struct hwt_event in[] = { at(0, 10), at(0, 10), at(0, 11), at(0, 15), at(0, 20), at(0, 21),
		at(0, 22) };
	struct hwt_event out[8];

	in[0].span = 5;				/* to 15 */
	in[2].span = FLOW_REACH_UNKNOWN;
	in[4].type = HWT_EV_SCHED_SWITCH;
	assert_int_equal(run(in, 7, 0, out, 8, 8), 7);
	assert_int_equal(out[0].span, 21 - 10);
	assert_int_equal(out[1].span, 21 - 10);	/* a little wide: order is kept */
	assert_int_equal(out[2].span, HWT_SPAN_UNKNOWN);
	assert_int_equal(out[3].span, 21 - 15);
	assert_int_equal(out[4].span, 1);
	assert_int_equal(out[5].span, 1);
	assert_int_equal(out[6].span, HWT_SPAN_UNKNOWN);
}

/* Spans of the stream stay; one that it does not know ends with the next that it does. */
static void told_by_the_stream(void **state)
{
	struct hwt_event in[] = { at(0, 10), at(0, 10), at(1, 10), at(0, 10), at(0, 12), at(0, 30),
		at(0, 40) };
	struct hwt_event out[8];

	in[0].span = 7;
	in[3].type = HWT_EV_SCHED_SWITCH;	/* a guess: it bounds nothing */
	in[3].span = 1;
	in[4].span = FLOW_REACH_UNKNOWN;
	in[5].span = 3;
	bounded = true;
	assert_int_equal(run(in, 7, 0, out, 8, 8), 7);
	bounded = false;
	assert_int_equal(out[0].span, 7);
	assert_int_equal(out[1].span, 33 - 10);
	assert_int_equal(out[2].span, HWT_SPAN_UNKNOWN);	/* another CPU */
	assert_int_equal(out[3].span, 1);
	assert_int_equal(out[4].span, HWT_SPAN_UNKNOWN);
	assert_int_equal(out[5].span, 3);
	assert_int_equal(out[6].span, HWT_SPAN_UNKNOWN);
}

/*
 * A CPU that never tells a time again must not hold back the others for ever, nor cost them their
 * bounds.
 */
static void window_is_bounded(void **state)
{
	enum { N = 4 * BOUND_WINDOW };
	struct hwt_event *in = calloc(N, sizeof(*in)), *out = calloc(N + 1, sizeof(*out));

	assert_true(in && out);
	in[0] = at(9, 77);
	for (int i = 1; i < N; i++)
		in[i] = at(0, (uint64_t)i / 2);
	assert_int_equal(run(in, N, 0, out, N + 1, 256), N);
	assert_int_equal(out[0].span, HWT_SPAN_UNKNOWN);
	for (int i = 1; i < N - 2; i++)
		assert_int_equal(out[i].span, 1);
	free(in);
	free(out);
}

/* What is over before the asked time is left out; what may reach into it stays. */
static void early_events_are_dropped(void **state)
{
	struct hwt_event in[] = { at(0, 1), at(0, 5), at(0, HWT_TIME_UNKNOWN), at(0, 8), at(0,
		20) };
	struct hwt_event out[8];

	assert_int_equal(run(in, 5, 10, out, 8, 8), 3);
	assert_int_equal(out[0].time, HWT_TIME_UNKNOWN);
	assert_int_equal(out[1].time, 8);	/* in [8, 20] */
	assert_int_equal(out[2].time, 20);
	assert_int_equal(run(in, 2, 10, out, 8, 8), 1);	/* the last one may be later: not dropped */
	assert_int_equal(out[0].time, 5);
}

/* A pointer lives until the next call upstream, so its event can not wait. */
static void records_do_not_wait(void **state)
{
	struct hwt_event in[] = { at(0, 1), at(0, 1), at(0, 9) };
	struct hwt_event out[4];

	in[1].type = HWT_EV_RECORD;
	assert_int_equal(run(in, 3, 0, out, 4, 2), 3);
	assert_int_equal(out[0].span, HWT_SPAN_UNKNOWN);
	assert_int_equal(out[1].span, HWT_SPAN_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(next_time_of_the_same_cpu), cmocka_unit_test(reach),
		cmocka_unit_test(told_by_the_stream),
		cmocka_unit_test(window_is_bounded),
		cmocka_unit_test(early_events_are_dropped),
		cmocka_unit_test(records_do_not_wait),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
