/* SPDX-License-Identifier: BSD-2-Clause */
/* The merged order against a stable sort of everything, and what the work is bounded by. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "correlate/merge.h"
#include "tests/support/rnd.h"

#ifndef __SANITIZE_ADDRESS__
#include "tests/support/nomem.h"
#endif

/* An input that hands out its events in pieces; records point at memory that it reuses. */
struct fake {
	struct hwt_stream s;
	struct hwt_event *ev;
	int n, at, piece, closed;
	int again;		/* every so many calls nothing is there yet; 0: never */
	int calls, end;		/* what it returns at its end */
	bool records;
	uint64_t data[256];
};

static int fake_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct fake *f = hwt_container_of(s, struct fake, s);
	int n = f->n - f->at;

	if (f->again && ++f->calls % f->again == 0)
		return -EAGAIN;
	memset(f->data, 0xee, sizeof(f->data));
	n = n < max ? n : max;
	n = n < f->piece ? n : f->piece;
	for (int i = 0; i < n; i++) {
		ev[i] = f->ev[f->at + i];
		if (!f->records)
			continue;
		f->data[i] = ev[i].off;
		ev[i].type = HWT_EV_RECORD;
		ev[i].u.rec.data = &f->data[i];
		ev[i].u.rec.size = sizeof(f->data[i]);
	}
	f->at += n;
	return n ? n : f->end;
}

static void fake_close(struct hwt_stream *s)
{
	hwt_container_of(s, struct fake, s)->closed++;
}

static const struct hwt_stream_ops fake_ops = { fake_next, fake_close };

#define INPUTS	70

struct set {
	struct fake f[INPUTS];
	struct hwt_stream *in[INPUTS];
	struct hwt_event *ev;	/* of all inputs, one after the other */
	size_t n;		/* inputs */
	int total;
};

/* @each events an input, times of small steps so that many are equal. */
static void set_make(struct set *s, size_t n, int each)
{
	memset(s, 0, sizeof(*s));
	s->n = n;
	s->total = (int)n * each;
	s->ev = calloc((size_t)s->total + 1, sizeof(*s->ev));
	for (size_t k = 0; k < n; k++) {
		uint64_t t = rnd() % 50;

		s->f[k] = (struct fake){ .s = { &fake_ops, "fake" }, .ev = s->ev + k * (size_t)each,
			.n = each, .piece = 1 + (int)(rnd() % 200) };
		s->in[k] = &s->f[k].s;
		for (int i = 0; i < each; i++) {
			t += rnd() % 4 ? 0 : rnd() % (1 + 3 * n);
			s->f[k].ev[i] = (struct hwt_event){ .time = t, .cpu = (int)k,
				.src = (uint32_t)k, .off = (uint64_t)i, .type = HWT_EV_INSN };
		}
	}
}

/* What a stable sort would order by. */
struct row { uint64_t time; uint32_t clock, src; uint64_t off; };

static int row_cmp(const void *pa, const void *pb)
{
	const struct row *a = pa, *b = pb;

	if (a->clock != b->clock)
		return a->clock < b->clock ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (a->src != b->src)
		return a->src < b->src ? -1 : 1;
	return a->off < b->off ? -1 : a->off > b->off;
}

static struct row *sorted(const struct set *s)
{
	struct row *v = calloc((size_t)s->total + 1, sizeof(*v));
	int n = 0;

	for (size_t k = 0; k < s->n; k++) {
		struct row last = { 0 };

		for (int i = 0; i < s->f[k].n; i++) {
			const struct hwt_event *e = &s->f[k].ev[i];
			struct row r = { e->time, e->clock, e->src, e->off };

			/* no time, or an earlier one: as what is ahead of it */
			if (r.time == HWT_TIME_UNKNOWN || r.clock < last.clock ||
			    (r.clock == last.clock && r.time < last.time)) {
				r.time = last.time;
				r.clock = last.clock;
			}
			v[n++] = last = r;
		}
	}
	qsort(v, (size_t)n, sizeof(*v), row_cmp);
	return v;
}

static uint64_t log2_up(uint64_t n)
{
	uint64_t k = 0;

	while ((uint64_t)1 << k < n)
		k++;
	return k;
}

/* Reads all with calls of @max and compares; closes. */
static void check(struct set *s, int max)
{
	struct row *want = sorted(s);
	struct hwt_event ev[300];
	struct merge_stats st;
	struct hwt_stream *m;
	int at = 0, rc;

	assert_int_equal(merge_new(&m, s->in, s->n), 0);
	while ((rc = hwt_stream_next(m, ev, max)) > 0 || rc == -EAGAIN) {
		for (int i = 0; i < rc; i++, at++) {
			assert_true(at < s->total);
			assert_int_equal(ev[i].src, want[at].src);
			assert_int_equal(ev[i].off, want[at].off);
			if (ev[i].type == HWT_EV_RECORD)
				assert_int_equal(*(const uint64_t *)ev[i].u.rec.data, ev[i].off);
		}
	}
	assert_int_equal(rc, 0);
	assert_int_equal(hwt_stream_next(m, ev, max), 0);
	assert_int_equal(at, s->total);
	merge_stats(m, &st);
	assert_int_equal(st.events, s->total);
	/* the ends of the inputs are played, too */
	assert_true(st.compares <= ((uint64_t)s->total + s->n) * log2_up(s->n) + s->n);
	hwt_stream_close(m);
	for (size_t k = 0; k < s->n; k++)
		assert_int_equal(s->f[k].closed, 1);
	free(want);
	free(s->ev);
}

static void test_sorted(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 5, 8, 17, 64, 70 };
	static const int maxes[] = { 1, 2, 7, 300 };
	static struct set s;

	for (unsigned k = 0; k < sizeof(counts) / sizeof(counts[0]); k++)
		for (unsigned m = 0; m < 4; m++) {
			set_make(&s, counts[k], 500);
			check(&s, maxes[m]);
		}
}

/* Also with inputs of very different length, one of them empty. */
static void test_uneven(void **state)
{
	static struct set s;

	set_make(&s, 6, 400);
	for (size_t k = 0; k < 6; k++) {
		s.total -= 400 - (int)k * 80;
		s.f[k].n = (int)k * 80;
	}
	check(&s, 64);
}

static void test_records(void **state)
{
	static struct set s;

	for (int max = 1; max < 300; max += 37) {
		set_make(&s, 9, 700);
		for (size_t k = 0; k < s.n; k += 2)
			s.f[k].records = true;
		check(&s, max);
	}
}

static void test_unknown_and_late(void **state)
{
	static struct set s;
	struct merge_stats st = { 0 };
	struct hwt_event ev[300];
	struct hwt_stream *m;
	uint64_t late = 0, by = 0;

	for (int round = 0; round < 2; round++) {
		set_make(&s, 5, 300);
		for (size_t k = 0; k < s.n; k++)
			for (int i = 0; i < 300; i++) {
				struct hwt_event *e = &s.f[k].ev[i];

				if (rnd() % 5 == 0)
					e->time = HWT_TIME_UNKNOWN;
				/* one that is before what its own stream told last */
				else if (i && rnd() % 9 == 0)
					e->time /= 2;
			}
		if (!round) {
			check(&s, 100);
			continue;
		}
		for (size_t k = 0; k < s.n; k++) {
			uint64_t top = 0;

			for (int i = 0; i < 300; i++) {
				uint64_t t = s.f[k].ev[i].time;

				late += t != HWT_TIME_UNKNOWN && t < top;
				by = t < top && top - t > by ? top - t : by;
				top = t != HWT_TIME_UNKNOWN && t > top ? t : top;
			}
		}
		assert_int_equal(merge_new(&m, s.in, s.n), 0);
		while (hwt_stream_next(m, ev, 300) > 0)
			;
		merge_stats(m, &st);
		hwt_stream_close(m);
		free(s.ev);
	}
	assert_true(late > 10);
	assert_int_equal(st.late, late);
	assert_int_equal(st.late_by, by);
}

/* Clocks that nothing maps to each other: one after the other, each in order. */
static void test_clocks(void **state)
{
	static struct set s;

	set_make(&s, 7, 300);
	for (size_t k = 0; k < s.n; k++)
		for (int i = 0; i < 300; i++)
			s.f[k].ev[i].clock = k % 2 ? HWT_CLOCK_CS : HWT_CLOCK_BASE;
	/* a stream that gets its map late, and one that loses it */
	for (int i = 0; i < 100; i++)
		s.f[0].ev[i].time = HWT_TIME_UNKNOWN;
	for (int i = 200; i < 300; i++)
		s.f[2].ev[i].clock = HWT_CLOCK_TSC;
	check(&s, 300);
}

/* A live input without news holds back all; nothing is lost or told twice. */
static void test_again(void **state)
{
	static struct set s;

	set_make(&s, 8, 400);
	for (size_t k = 0; k < s.n; k++)
		s.f[k].again = 2 + (int)k;
	check(&s, 50);
}

static void test_error(void **state)
{
	static struct set s;
	struct hwt_event ev[300];
	struct hwt_stream *m;
	int n = 0, rc;

	set_make(&s, 4, 100);
	s.f[1].end = -EIO;
	s.f[1].n = 10;
	assert_int_equal(merge_new(&m, s.in, s.n), 0);
	while ((rc = hwt_stream_next(m, ev, 300)) > 0)
		n += rc;
	/* the others are told to their ends */
	assert_int_equal(rc, -EIO);
	assert_int_equal(hwt_stream_next(m, ev, 300), -EIO);
	assert_int_equal(n, 310);
	hwt_stream_close(m);
	free(s.ev);
}

/* Ten times the events are ten times the comparisons and calls. */
static void test_linear(void **state)
{
	static struct set s;
	struct hwt_event ev[256];
	struct merge_stats st[2];
	struct hwt_stream *m;

	for (int round = 0; round < 2; round++) {
		set_make(&s, 8, round ? 20000 : 2000);
		for (size_t k = 0; k < s.n; k++)
			s.f[k].piece = 200;
		assert_int_equal(merge_new(&m, s.in, s.n), 0);
		while (hwt_stream_next(m, ev, 256) > 0)
			;
		merge_stats(m, &st[round]);
		hwt_stream_close(m);
		free(s.ev);
	}
	assert_int_equal(st[1].events, 10 * st[0].events);
	for (int round = 0; round < 2; round++)
		assert_true(st[round].compares <= 3 * (st[round].events + 8) + 8);
	assert_true(st[1].compares <= 11 * st[0].compares);
	assert_true(st[1].calls <= 10 * st[0].calls);
}

static void test_no_memory(void **state)
{
	static struct set s;
	struct hwt_stream *m = NULL, *huge = NULL;

#ifndef __SANITIZE_ADDRESS__
	for (int i = 0; i < 100; i++) {
		int rc;

		set_make(&s, 3, 10);
		on = true;
		countdown = i;
		balance = 0;
		rc = merge_new(&m, s.in, s.n);
		if (!rc)
			hwt_stream_close(m);
		on = false;
		assert_int_equal(balance, 0);
		for (size_t k = 0; k < s.n; k++)
			assert_int_equal(s.f[k].closed, 1);
		free(s.ev);
		if (!rc)
			break;
		assert_int_equal(rc, -ENOMEM);
		assert_true(i < 99);
	}
#endif
	set_make(&s, 1, 10);
	struct hwt_stream **many = calloc(MERGE_MAX + 1, sizeof(*many));

	for (size_t k = 0; k <= MERGE_MAX; k++)
		many[k] = s.in[0];
	assert_int_equal(merge_new(&huge, many, MERGE_MAX + 1), -EINVAL);
	assert_int_equal(s.f[0].closed, MERGE_MAX + 1);
	assert_null(huge);
	free(many);
	free(s.ev);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sorted), cmocka_unit_test(test_uneven),
		cmocka_unit_test(test_records), cmocka_unit_test(test_unknown_and_late),
		cmocka_unit_test(test_clocks), cmocka_unit_test(test_again),
		cmocka_unit_test(test_error), cmocka_unit_test(test_linear),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
