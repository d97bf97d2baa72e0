/* SPDX-License-Identifier: BSD-2-Clause */
/* Orders of kernel events in a session: what the timeline shows of events whose times are vague. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "correlate/session.h"
#include "hwtrace/capture/native.h"
#include "tests/support/evlist.h"
#include "tests/support/scratch.h"

#define MAX	8

static struct hwt_event ev[MAX];
static struct hwt_rec_sched_switch rec[MAX];
static size_t n;

static int events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	(void)c;
	(void)diag;
	*out = evlist(ev, n);
	return 0;
}

static void put(uint64_t lo, uint64_t hi, int32_t cpu, int32_t prev, int32_t next)
{
	rec[n] = (struct hwt_rec_sched_switch){ .rec = { .id = HWT_ID_sched_switch, .version = 1,
		.size = sizeof(rec[0]) }, .prev_tid = prev, .next_tid = next };
	ev[n] = (struct hwt_event){ .type = HWT_EV_RECORD, .time = lo, .span = (uint32_t)(hi - lo),
		.cpu = cpu, .pid = HWT_NONE, .tid = HWT_NONE, .off = n };
	ev[n].u.rec.data = &rec[n];
	ev[n].u.rec.size = sizeof(rec[0]);
	ev[n].u.rec.id = HWT_ID_sched_switch;
	n++;
}

static int by_time(const void *a, const void *b)
{
	const struct hwt_event *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

static void shown(uint64_t *lo, uint64_t *hi)
{
	struct hwt_timeline_opts o = { .size = sizeof(o), .kernel = true,
		.want = HWT_INTEREST_ALL };
	struct hwt_session *s;
	struct hwt_event out[MAX];
	struct hwt_stream *t;
	struct hwt_diag d;
	size_t got = 0;
	int k;

	assert_int_equal(hwt_session_open(&s, scratch("empty.hwt"), NULL, &d), 0);
	session_capture(s)->kernel = events;
	assert_int_equal(hwt_session_timeline(s, &o, &t, &d), 0);
	while ((k = hwt_stream_next(t, out, MAX)) > 0)
		for (int i = 0; i < k; i++, got++) {
			lo[out[i].off] = out[i].time;
			hi[out[i].off] = out[i].time + out[i].span;
		}
	assert_int_equal(got, n);
	hwt_stream_close(t);
	hwt_session_close(s);
}

/* Task 5 runs on CPU 0, whose clock is known to 100 us, then on CPU 1, whose clock is exact. */
static void move(uint64_t left)
{
	n = 0;
	put(1000000, 1100000, 0, 0, 5);
	put(1050000 + left, 1150000 + left, 0, 5, 0);
	put(1120000, 1120000, 1, 0, 5);
	put(1200000, 1200000, 1, 5, 0);
}

static void orders(void **state)
{
	uint64_t lo[MAX], hi[MAX];
	struct native_writer *w;
	struct hwt_diag d;

	(void)state;
	assert_int_equal(native_create(&w, scratch("empty.hwt"), true, &d), 0);
	assert_int_equal(native_close(w, &d), 0);
	move(0);
	shown(lo, hi);
	assert_int_equal(hi[0], 1100000);
	assert_int_equal(lo[1], 1050000);
	assert_int_equal(hi[1], 1120000);	/* it had left when it came to the other one */
	assert_int_equal(lo[2], 1120000);
	assert_int_equal(hi[2], 1120000);
	/* it left later than it came: one of the clocks is wrong, and nobody knows which */
	move(75000);
	shown(lo, hi);
	assert_int_equal(lo[1], 1125000);
	assert_int_equal(hi[1], 1225000);
	assert_int_equal(hi[0], 1100000);
	/* nothing to narrow */
	n = 0;
	put(1000, 1001, 0, 0, 5);
	put(1000, 1001, 0, 5, 0);
	put(1000, 1000, 1, 0, 5);
	shown(lo, hi);
	assert_int_equal(hi[1], 1001);
}

/* A CPU whose events lie in two files: each file is in order, both together are not known to be. */
static void two_files(void **state)
{
	uint64_t lo[MAX], hi[MAX];

	(void)state;
	/* of dirty/, known to 400 us; its earliest instant is before the exact one of kernel/ */
	move(0);
	put(1060000, 1460000, 1, 0, 0);
	ev[4].u.rec.id = rec[4].rec.id = HWT_ID_DIRTY;
	ev[4].src = 1;
	qsort(ev, n, sizeof(ev[0]), by_time);
	shown(lo, hi);
	assert_int_equal(hi[1], 1120000);
	assert_int_equal(lo[4], 1060000);
	assert_int_equal(hi[4], 1460000);
	/* switches of a CPU in two files: which turns are the same is not known */
	move(0);
	put(1060000, 1460000, 1, 0, 5);
	ev[4].src = 1;
	qsort(ev, n, sizeof(ev[0]), by_time);
	shown(lo, hi);
	assert_int_equal(hi[1], 1150000);
	assert_int_equal(hi[4], 1460000);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(orders),
		cmocka_unit_test(two_files) };

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
