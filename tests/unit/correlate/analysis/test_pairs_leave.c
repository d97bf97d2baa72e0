/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Wakeups of a task whose way to the CPU was not recorded, in captures made by hand: that it leaves
 * shows that it was there, so the next time that it comes ends nothing.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/latency.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "tests/support/scratch.h"

#define X 10
#define Y 11
#define Z 12

static struct native_writer *w;

static void put_wake(uint64_t time, unsigned id, int32_t tid)
{
	struct hwt_rec_sched_wakeup r = { .rec = { .id = id, .size = sizeof(r), .version = 1,
		.pid = Y, .tid = Y, .time = time }, .wake_pid = tid, .wake_tid = tid };

	assert_int_equal(native_event(w, 0, &r, sizeof(r)), 0);
}

static void put_switch(uint64_t time, int32_t prev, int32_t next)
{
	struct hwt_rec_sched_switch r = { .rec = { .id = HWT_ID_sched_switch, .size = sizeof(r),
		.version = 1, .pid = prev, .tid = prev, .time = time }, .prev_pid = prev,
		.prev_tid = prev, .next_pid = next, .next_tid = next, .next_aspace = UINT64_MAX };

	assert_int_equal(native_event(w, 0, &r, sizeof(r)), 0);
}

/* One tick is one ns. */
static struct hwt_session *make(unsigned wake)
{
	struct native_clock k = { .counter = "tsc", .base = "CLOCK_MONOTONIC",
		.frequency = 1000000000, .map = { .mult = 1 } };
	struct hwt_session *s;
	struct hwt_diag d;

	assert_int_equal(native_create(&w, scratch("p.hwt"), true, &d), 0);
	assert_int_equal(native_clock(w, &k), 0);
	put_wake(1000, wake, X);
	put_wake(2000, wake, Z);
	put_switch(2600, Y, Z);
	put_switch(4000, Z, Y);
	put_switch(5000, X, Y);		/* it had come unseen */
	put_switch(9000, Y, X);
	assert_int_equal(native_close(w, &d), 0);
	assert_int_equal(hwt_session_open(&s, scratch("p.hwt"), NULL, &d), 0);
	return s;
}

/* Pairs of @from; how many are of X, and of these are certain. */
static void count(const char *from, unsigned wake, unsigned *of_x, unsigned *certain)
{
	struct hwt_pairs_opts o = { .size = sizeof(o), .from = from };
	struct hwt_session *s = make(wake);
	struct hwt_pair_stats st;
	struct hwt_stream *in;
	struct hwt_event ev[4];
	struct hwt_pairs *p;
	struct hwt_pair pair;
	unsigned of_z = 0;
	int n;

	*of_x = *certain = 0;
	assert_int_equal(hwt_pairs_new(&p, s, &o, NULL), 0);
	assert_int_equal(hwt_session_kernel(s, &in, NULL), 0);
	while ((n = hwt_stream_next(in, ev, 4)) > 0)
		for (int i = 0; i < n; i++) {
			if (hwt_pairs_event(p, &ev[i], &pair) != 1)
				continue;
			if (pair.tid == Z) {
				of_z++;
				assert_int_equal(pair.took.lo, 600);
				assert_int_equal(pair.took.hi, 600);
				assert_false(pair.tainted);
				continue;
			}
			assert_int_equal(pair.tid, X);
			++*of_x;
			*certain += !pair.tainted;
		}
	assert_int_equal(of_z, 1);
	hwt_pairs_stats(p, &st);
	assert_int_equal(st.from, 2);
	assert_int_equal(st.pairs + st.unended, 2);
	hwt_pairs_free(p);
	hwt_stream_close(in);
	hwt_session_close(s);
}

static void a_leave_ends_a_wakeup(void **state)
{
	unsigned of_x, certain;

	count("sched.wakeup", HWT_ID_sched_wakeup, &of_x, &certain);
	assert_int_equal(of_x, 0);
}

/* The kernel may tell it of a task that is about to leave: then the pair is one, perhaps. */
static void a_leave_taints_a_waking(void **state)
{
	unsigned of_x, certain;

	count("sched.waking", HWT_ID_sched_waking, &of_x, &certain);
	assert_int_equal(of_x, 1);
	assert_int_equal(certain, 0);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(a_leave_ends_a_wakeup),
		cmocka_unit_test(a_leave_taints_a_waking),
	};

	return cmocka_run_group_tests(t, scratch_make, scratch_drop);
}
