/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes of address space and switches by hand. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/anchor_aspace.h"
#include "tests/support/evlist.h"

#define MAX	64
#define KERNEL	0xffffffff81002000
#define PROGRAM	0x401000

/* A stream of events that lie in an array. */
static struct hwt_event flow[MAX], kernel[MAX], out[MAX];
static struct hwt_rec_sched_switch rec[MAX];
static size_t nflow, nkernel;

static struct hwt_event *add(unsigned type, uint64_t lo, uint64_t hi)
{
	struct hwt_event *ev = &flow[nflow];

	*ev = (struct hwt_event){ .type = (uint16_t)type, .time = lo, .off = nflow++, .cpu = 1,
		.pid = HWT_NONE, .tid = HWT_NONE, .span = (uint32_t)(hi - lo) };
	return ev;
}

static void run(uint64_t lo, uint64_t hi, uint64_t addr)
{
	struct hwt_event *ev = add(HWT_EV_RANGE, lo, hi);

	ev->u.range.first = ev->u.range.last = addr;
}

/* The kernel changes the address space, then a program runs: 3 events. */
static void change(uint64_t lo, uint64_t hi, uint64_t id)
{
	struct hwt_event *ev;

	run(lo, hi, KERNEL);
	ev = add(HWT_EV_ASPACE, lo, hi);
	ev->u.aspace.id = id;
	ev->u.aspace.valid = 1;
	run(lo, hi, PROGRAM);
}

static void comes(uint64_t time, int32_t tid, uint64_t aspace)
{
	struct hwt_rec_sched_switch *r = &rec[nkernel];
	struct hwt_event *ev = &kernel[nkernel++];

	*r = (struct hwt_rec_sched_switch){ .rec = { .id = HWT_ID_sched_switch,
		.size = sizeof(*r), .version = 1 }, .next_pid = tid, .next_tid = tid,
		.next_aspace = aspace };
	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = time, .cpu = 1 };
	ev->u.rec.data = r;
	ev->u.rec.size = sizeof(*r);
	ev->u.rec.id = HWT_ID_sched_switch;
}

static int start(void **state)
{
	(void)state;
	nflow = nkernel = 0;
	return 0;
}

static struct anchor_sum tie(void)
{
	struct anchor_book *book;
	struct anchor_sum sum;
	struct hwt_stream *st;

	assert_int_equal(aspace_book_new(&book, evlist(flow, nflow), evlist(kernel, nkernel), 1,
					 true), 0);
	sum = *anchor_book_sum(book);
	assert_int_equal(anchor_flow_new(&st, book, evlist(flow, nflow)), 0);
	assert_int_equal(hwt_stream_next(st, out, MAX), nflow);
	hwt_stream_close(st);
	return sum;
}

static void times(const struct hwt_event *ev, uint64_t lo, uint64_t hi)
{
	assert_int_equal(ev->time, lo);
	assert_int_equal(ev->time + ev->span, hi);
}

/*
 * A program ran, then another one and again the first: 9 events, and the times of the last 6 are
 * one interval. The changes have bits of CR3 that records leave out.
 */
static void three(void)
{
	change(1000, 1000, 0x5001);
	change(1000, 9000, 0x7002);
	change(1000, 9000, 0x5001);
}

static void order(void **state)
{
	struct anchor_sum sum;

	(void)state;
	three();
	change(9500, 9600, 0x7002);
	change(9900, 9950, 0x5001);
	comes(500, 5, 0x4000);
	comes(2000, 7, 0x6000);
	comes(5000, 5, 0x4000);
	comes(9550, 7, 0x6000);
	comes(9700, 5, 0x4000);
	sum = tie();
	assert_int_equal(sum.contradictions, 0);
	/* the first that must change the space is the one to 7; the last may be behind the trace */
	assert_int_equal(sum.certain, 3);
	assert_int_equal(sum.possible, 1);
	times(&out[2], 1000, 1000);
	times(&out[3], 1000, 9000);	/* the kernel that switches */
	times(&out[5], 2000, 5000);
	times(&out[8], 5000, 9000);
	assert_int_equal(out[2].tid, HWT_NONE);
	assert_int_equal(out[5].tid, 7);
	assert_int_equal(out[8].tid, 5);
	assert_int_equal(out[14].tid, HWT_NONE);
}

/* Kernel threads borrow the space; a change without a switch (exec) is nobody's. */
static void others(void **state)
{
	struct anchor_sum sum;

	(void)state;
	three();
	change(9500, 9600, 0x9003);
	change(9800, 9900, 0x7002);
	change(9990, 9990, 0x5001);
	comes(500, 5, 0x4000);
	comes(2000, 7, 0x6000);
	comes(3000, 2, UINT64_MAX);
	comes(4000, 7, 0x6000);
	comes(5000, 5, 0x4000);
	comes(9850, 7, 0x6000);
	comes(9950, 5, 0x4000);
	sum = tie();
	assert_int_equal(sum.contradictions, 0);
	assert_int_equal(sum.certain, 3);
	/* a thread without a space came between, which the trace does not tell */
	assert_int_equal(out[5].tid, HWT_NONE);
	assert_int_equal(out[8].tid, 5);
}

/* What a hole hides may be the change. */
static void hole(void **state)
{
	struct anchor_sum sum;

	(void)state;
	three();
	add(HWT_EV_GAP, 9000, 9400);
	change(9500, 9600, 0x7002);
	change(9900, 9950, 0x5001);
	comes(500, 5, 0x4000);
	comes(2000, 7, 0x6000);
	comes(5000, 5, 0x4000);
	comes(9200, 7, 0x6000);
	comes(9700, 5, 0x4000);
	sum = tie();
	assert_int_equal(sum.contradictions, 0);
	assert_int_equal(sum.certain, 0);
	times(&out[5], 1000, 9000);
	for (size_t i = 0; i < nflow; i++)
		assert_int_equal(out[i].tid, HWT_NONE);
}

/* Records that do not tell spaces say nothing. */
static void not_told(void **state)
{
	struct anchor_sum sum;

	(void)state;
	three();
	comes(2000, 7, UINT64_MAX);
	comes(5000, 5, UINT64_MAX);
	sum = tie();
	assert_int_equal(sum.certain + sum.possible + sum.lost, 0);
	times(&out[5], 1000, 9000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(order, start),
		cmocka_unit_test_setup(others, start),
		cmocka_unit_test_setup(hole, start),
		cmocka_unit_test_setup(not_told, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
