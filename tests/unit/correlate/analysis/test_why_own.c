/* SPDX-License-Identifier: BSD-2-Clause */
/* Of which task the typical one is, in captures made by hand: lengths of calls are known. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>
#include <hwtrace/why.h>

#include "hwtrace/capture/native.h"
#include "tests/support/scratch.h"

#define SLOW 10		/* its calls take 1000 ns, the last one 50000 */
#define QUICK 11	/* 40 calls of 20 ns */

static struct native_writer *w;

static void put_call(uint64_t time, uint64_t length, int32_t tid)
{
	struct hwt_rec_syscall_enter e = { .rec = { .id = HWT_ID_syscall_enter,
		.size = sizeof(e), .version = 1, .pid = tid, .tid = tid, .time = time } };
	struct hwt_rec_syscall_exit x = { .rec = { .id = HWT_ID_syscall_exit,
		.size = sizeof(x), .version = 1, .pid = tid, .tid = tid, .time = time + length } };

	assert_int_equal(native_event(w, 0, &e, sizeof(e)), 0);
	assert_int_equal(native_event(w, 0, &x, sizeof(x)), 0);
}

/* What the worst call is held against, where its task has @n others. One tick is one ns. */
static struct hwt_why_answer ask(unsigned n)
{
	struct native_clock k = { .counter = "tsc", .base = "CLOCK_MONOTONIC",
		.frequency = 1000000000, .map = { .mult = 1 } };
	struct hwt_pairs_opts o = { .size = sizeof(o), .from = "syscall.enter" };
	struct hwt_why_answer a;
	struct hwt_session *s;
	struct hwt_stream *in;
	struct hwt_event ev[16];
	struct hwt_why *why;
	struct hwt_diag d;
	uint64_t time = 5000;
	int got;

	assert_int_equal(native_create(&w, scratch("w.hwt"), true, &d), 0);
	assert_int_equal(native_clock(w, &k), 0);
	for (unsigned i = 0; i < 40; i++, time += 5000) {
		put_call(time, 20, QUICK);
		if (i < n)
			put_call(time + 2000, 1000, SLOW);
	}
	put_call(time, 50000, SLOW);
	assert_int_equal(native_close(w, &d), 0);
	assert_int_equal(hwt_session_open(&s, scratch("w.hwt"), NULL, &d), 0);
	assert_int_equal(hwt_why_new(&why, s, &o, &d), 0);
	for (int pass = 0; pass < 2; pass++) {
		assert_int_equal(hwt_session_kernel(s, &in, NULL), 0);
		while ((got = hwt_stream_next(in, ev, 16)) > 0)
			for (int i = 0; i < got; i++)
				assert_int_equal(hwt_why_event(why, &ev[i]), 0);
		hwt_stream_close(in);
		if (!pass)
			assert_int_equal(hwt_why_choose(why, 1, 0, &d), 0);
	}
	assert_int_equal(hwt_why_explain(why, &a), 0);
	assert_int_equal(a.this.tid, SLOW);
	assert_int_equal(a.this.took.lo, 50000);
	hwt_why_free(why);
	hwt_session_close(s);
	return a;
}

static void of_the_same_task(void **state)
{
	struct hwt_why_answer a = ask(12);

	assert_true(a.own);
	assert_int_equal(a.typical.tid, SLOW);
	assert_int_equal(a.typical.took.lo, 1000);
	assert_int_equal(a.alike, 12);
}

static void of_all_where_it_has_few(void **state)
{
	struct hwt_why_answer a = ask(2);

	assert_false(a.own);
	assert_int_equal(a.typical.tid, QUICK);
	assert_int_equal(a.typical.took.lo, 20);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(of_the_same_task), cmocka_unit_test(of_all_where_it_has_few),
	};

	return cmocka_run_group_tests(t, scratch_make, scratch_drop);
}
