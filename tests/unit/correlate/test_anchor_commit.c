/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow of a kernel and its records by hand: what is tied, whose code it is, which times change. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/anchor_commit.h"
#include "correlate/anchor_win.h"
#include "tests/support/evlist.h"

#define MAX	(7 * ANCHOR_WINDOW)	/* events: a window, and what is behind it */
#define SITE	0xffffffff81000100
#define CALLER	0xffffffff81002000
#define PROGRAM	0x401000

/* A stream of events that lie in an array. */
static struct hwt_event flow[MAX], kernel[MAX], out[MAX];
static struct hwt_rec_sched_switch rec[MAX];
static size_t nflow, nkernel;
static uint64_t off;
static bool marks;		/* the capture says that records are marked */

static struct hwt_event *add(unsigned type, uint64_t lo, uint64_t hi)
{
	struct hwt_event *ev = &flow[nflow++];

	*ev = (struct hwt_event){ .type = (uint16_t)type, .time = lo, .off = off++, .cpu = 1,
		.pid = HWT_NONE, .tid = HWT_NONE, .span = (uint32_t)(hi - lo) };
	return ev;
}

static void run(uint64_t lo, uint64_t hi, uint64_t addr, unsigned kind)
{
	struct hwt_event *ev = add(HWT_EV_RANGE, lo, hi);

	ev->u.range.first = ev->u.range.last = addr;
	ev->u.range.kind = (uint8_t)kind;
}

/*
 * Program, kernel, the function with a call in it, kernel, program: 6 events from @lo to @hi, the
 * function's are 2 to 4.
 */
static void visit(uint64_t lo, uint64_t hi)
{
	run(lo, hi, CALLER, HWT_INSN_CALL);
	run(lo, hi, SITE, HWT_INSN_CALL);
	run(lo, hi, CALLER + 0x800, HWT_INSN_RETURN);
	run(lo, hi, SITE + 0x10, HWT_INSN_RETURN);
	run(lo, hi, CALLER + 8, HWT_INSN_JUMP);
	run(lo, hi, PROGRAM, HWT_INSN_OTHER);
}

static void record(unsigned id, uint64_t time, int32_t cpu, int32_t tid)
{
	struct hwt_rec_sched_switch *r = &rec[nkernel];
	struct hwt_event *ev = &kernel[nkernel++];
	size_t size = id == HWT_ID_sched_switch ? sizeof(*r) : sizeof(struct hwt_rec_stream_lost);

	memset(r, 0, sizeof(*r));
	r->rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1 };
	if (id == HWT_ID_sched_switch)
		r->next_pid = r->next_tid = tid;
	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = time, .cpu = cpu };
	ev->u.rec.data = r;
	ev->u.rec.size = (uint32_t)size;
	ev->u.rec.id = id;
}

static int start(void **state)
{
	(void)state;
	nflow = nkernel = 0;
	off = 0;
	marks = false;
	return 0;
}

/* Both passes; what came out is in @out. */
static struct anchor_sum tie(void)
{
	const struct commit_line line = { .addr = SITE, .id = { HWT_ID_sched_switch },
		.nids = 1, .marks = marks };
	struct hwt_stream *st = evlist(kernel, nkernel);
	struct anchor_book *book;
	struct anchor_sum sum;
	size_t n;
	int got;

	assert_int_equal(commit_books_new(&book, &line, 1, evlist(flow, nflow), &st, 1), 0);
	sum = *anchor_book_sum(book);
	assert_int_equal(anchor_flow_new(&st, book, evlist(flow, nflow)), 0);
	for (n = 0; (got = hwt_stream_next(st, out + n, MAX - n)) > 0;)
		n += (size_t)got;
	assert_int_equal(n, nflow);
	hwt_stream_close(st);
	return sum;
}

static void times(const struct hwt_event *ev, uint64_t lo, uint64_t hi)
{
	assert_int_equal(ev->time, lo);
	assert_int_equal(ev->time + ev->span, hi);
}

static void order(void **state)
{
	struct anchor_sum sum;

	(void)state;
	visit(1000, 9000);
	visit(1000, 9000);
	record(HWT_ID_sched_switch, 3000, 1, 7);
	record(HWT_ID_sched_switch, 4000, 0, 8);	/* of another CPU */
	record(HWT_ID_sched_switch, 5000, 1, 9);
	sum = tie();
	/* more records may have been before and behind, so nothing says that these are they */
	assert_int_equal(sum.certain, 0);
	assert_int_equal(out[5].tid, HWT_NONE);

	start(state);
	visit(1000, 9000);
	visit(1000, 9000);
	visit(9500, 9600);
	record(HWT_ID_sched_switch, 3000, 1, 7);
	record(HWT_ID_sched_switch, 5000, 1, 9);
	record(HWT_ID_sched_switch, 9550, 1, 11);
	sum = tie();
	assert_int_equal(sum.certain, 3);
	times(&out[0], 1000, 3000);	/* before the first */
	times(&out[1], 1000, 9000);	/* in the function: nothing says */
	times(&out[3], 1000, 9000);
	times(&out[4], 3000, 5000);
	times(&out[5], 3000, 5000);
	times(&out[11], 5000, 9000);
	assert_int_equal(out[0].tid, HWT_NONE);
	assert_int_equal(out[3].tid, HWT_NONE);
	assert_int_equal(out[4].tid, 7);
	assert_int_equal(out[6].tid, 7);
	assert_int_equal(out[11].tid, 9);
	assert_int_equal(out[17].tid, 11);
}

/* Where the records of a switch are lost nobody is known behind it. */
static void lost(void **state)
{
	(void)state;
	visit(400, 600);
	visit(1000, 1100);
	visit(2000, 2100);
	visit(3000, 3100);
	visit(4000, 4100);
	record(HWT_ID_sched_switch, 500, 1, 6);
	record(HWT_ID_sched_switch, 1050, 1, 7);
	record(HWT_ID_stream_lost, 3050, 1, 0);
	record(HWT_ID_sched_switch, 3050, 1, 9);
	record(HWT_ID_sched_switch, 4050, 1, 10);
	record(HWT_ID_sched_switch, 5000, 1, 10);
	flow[16].tid = flow[17].tid = 7;
	assert_int_equal(tie().certain, 4);
	assert_int_equal(out[11].tid, 7);
	assert_int_equal(out[16].tid, HWT_NONE);
	assert_int_equal(out[17].tid, HWT_NONE);
	assert_int_equal(out[23].tid, 9);
}

/* A hole may hide a switch, and the end of the function. */
static void hole(void **state)
{
	struct anchor_sum sum;

	(void)state;
	visit(1000, 1100);
	add(HWT_EV_GAP, 1100, 5000);
	run(5000, 5100, PROGRAM, HWT_INSN_OTHER);
	visit(6000, 6100);
	record(HWT_ID_sched_switch, 900, 1, 6);
	record(HWT_ID_sched_switch, 1050, 1, 7);
	record(HWT_ID_sched_switch, 3050, 1, 8);
	record(HWT_ID_sched_switch, 6050, 1, 9);
	record(HWT_ID_sched_switch, 6200, 1, 9);
	sum = tie();
	assert_int_equal(sum.certain, 2);
	assert_int_equal(out[5].tid, 7);
	assert_int_equal(out[7].tid, HWT_NONE);
	assert_int_equal(out[13].tid, 9);

	/* the hole is in the function: its end is when the program runs again */
	start(state);
	run(1000, 1100, SITE, HWT_INSN_CALL);
	add(HWT_EV_GAP, 1100, 5000);
	run(5000, 5100, CALLER, HWT_INSN_RETURN);
	run(5000, 5100, PROGRAM, HWT_INSN_OTHER);
	record(HWT_ID_sched_switch, 4000, 1, 7);
	sum = tie();
	assert_int_equal(sum.contradictions, 0);
	assert_int_equal(out[2].tid, HWT_NONE);
}

/* The function with its record's mark in it. */
static void marked_visit(uint64_t lo, uint64_t hi, uint64_t hit, uint64_t addr)
{
	struct hwt_event *ev;

	run(lo, hi, SITE, HWT_INSN_CALL);
	ev = add(HWT_EV_MARK, lo, hi);
	ev->u.mark.value = (uint64_t)HWT_ID_sched_switch << 48 | hit;
	ev->u.mark.addr = addr;
	ev->u.mark.bits = 64;
	run(lo, hi, CALLER + 0x800, HWT_INSN_RETURN);
	run(lo, hi, SITE + 0x10, HWT_INSN_RETURN);
	run(lo, hi, PROGRAM, HWT_INSN_OTHER);
}

static void numbered(uint64_t time, int32_t tid, uint64_t hit)
{
	record(HWT_ID_sched_switch, time, 1, tid);
	rec[nkernel - 1].rec.hit = hit;
	rec[nkernel - 1].rec.flags = HWT_REC_HIT;
}

/*
 * A mark says which record it is, where times say nothing and both sides have losses: of the
 * visits before and behind a hole one each is marked with a number, the others follow from it.
 */
static void marked(void **state)
{
	struct anchor_sum sum;

	(void)state;
	for (int k = 0; k < 4; k++) {
		start(state);
		marks = k > 0;
		marked_visit(1000, 9000, 11, CALLER + 0x700);
		add(HWT_EV_GAP, 1000, 9000);
		/* not the kernel's own, of a program: it says nothing */
		marked_visit(1000, 9000, 15, k == 2 ? PROGRAM : CALLER + 0x700);
		for (unsigned i = 0; i < 8; i++) {
			if (k == 3 && 10 + i == 15)
				record(HWT_ID_stream_lost, 3000, 1, 0);
			else
				numbered(2000 + i * 100, (int32_t)(20 + i), 10 + i);
		}
		sum = tie();
		assert_int_equal(sum.contradictions, 0);
		assert_int_equal(sum.certain, (k == 1) + (k > 0));
		assert_int_equal(sum.lost, k == 3);
		assert_int_equal(out[4].tid, k ? 21 : HWT_NONE);
		assert_int_equal(out[10].tid, k == 1 ? 25 : HWT_NONE);
	}
}

/* Where another visit began inside, or a hole hides one, a mark may be that of the other. */
static void marked_inside(void **state)
{
	struct anchor_sum sum;

	marks = true;
	run(1000, 9000, SITE, HWT_INSN_CALL);
	marked_visit(1000, 9000, 12, CALLER + 0x700);
	run(1000, 9000, SITE, HWT_INSN_CALL);
	add(HWT_EV_GAP, 1000, 9000);
	nflow--;
	add(HWT_EV_GAP, 1000, 9000);
	flow[nflow] = flow[2];
	flow[nflow].off = off++;
	nflow++;
	run(1000, 9000, PROGRAM, HWT_INSN_OTHER);
	numbered(2000, 20, 11);
	numbered(2100, 21, 12);
	numbered(2200, 22, 13);
	numbered(2300, 23, 14);
	sum = tie();
	assert_int_equal(sum.contradictions, 0);
	assert_int_equal(sum.certain, 0);
	start(state);
}

/*
 * A breakpoint in the place of a call (a text patch), whose handler makes it: its return is not
 * that of the function. Behind an interrupt that goes back it is.
 */
static void emulated_call(void **state)
{
	struct hwt_event *ev;

	for (int k = 0; k < 2; k++) {
		start(state);
		run(1000, 1100, SITE, HWT_INSN_OTHER);
		ev = add(HWT_EV_EXCEPTION, 1100, 1110);
		ev->u.exc.from = SITE + 4;
		run(1120, 1130, CALLER + 0x900, HWT_INSN_FAR_RETURN);
		if (!k) {
			run(1140, 1150, CALLER + 0x800, HWT_INSN_RETURN);
			run(1800, 1900, SITE + 9, HWT_INSN_RETURN);
		} else {
			run(1800, 1900, SITE + 4, HWT_INSN_RETURN);
		}
		run(2000, 2100, CALLER, HWT_INSN_RETURN);
		run(3000, 3100, PROGRAM, HWT_INSN_OTHER);
		run(3200, 3300, PROGRAM, HWT_INSN_OTHER);
		numbered(500, 20, 11);
		numbered(1600, 21, 12);
		numbered(9000, 22, 13);
		assert_int_equal(tie().certain, 1);
		assert_int_equal(out[nflow - 1].tid, 21);
		/* the end of the function is known behind the interrupt only */
		assert_int_equal(out[nflow - 3].tid, k ? 21 : HWT_NONE);
	}
}

/* Program, the function in one piece, program: 3 events. */
static void brief(uint64_t time)
{
	run(time, time + 10, SITE, HWT_INSN_RETURN);
	run(time + 20, time + 30, CALLER, HWT_INSN_OTHER);
	run(time + 40, time + 50, PROGRAM, HWT_INSN_OTHER);
}

/*
 * Numbers of records that go back are none: nothing is tied in the window that has them, and what
 * was told of the thread before ends there.
 */
static void numbers_go_back(void **state)
{
	const unsigned n = 2 * ANCHOR_WINDOW, wrong = ANCHOR_WINDOW + ANCHOR_WINDOW / 2;
	struct anchor_sum sum;
	unsigned known = 0;

	/* all in one window */
	for (unsigned i = 0; i < 4; i++) {
		brief(1000 + i * 100);
		numbered(1005 + i * 100, (int32_t)(20 + i), i == 2 ? 3 : 10 + i);
	}
	sum = tie();
	assert_int_equal(sum.certain, 0);
	assert_int_equal(sum.contradictions, 1);
	for (unsigned i = 0; i < nflow; i++) {
		assert_int_equal(out[i].tid, HWT_NONE);
		times(&out[i], flow[i].time, flow[i].time + flow[i].span);
	}

	/* behind a window that was decided */
	start(state);
	for (unsigned i = 0; i < n; i++) {
		brief(1000 + i * 100);
		numbered(1005 + i * 100, (int32_t)(20 + i), i == wrong ? 3 : 10 + i);
	}
	numbered(1005 + n * 100, 20, 10 + n);
	sum = tie();
	assert_int_equal(sum.contradictions, 1);
	for (unsigned i = 0; i < n; i++) {
		int32_t tid = out[3 * i + 2].tid;

		if (tid != HWT_NONE) {
			assert_int_equal(tid, 20 + i);
			assert_int_equal(known, i);	/* none comes again behind the end */
			known++;
		}
	}
	assert_int_equal(known, sum.certain);
	/* three quarters of a window are decided at once */
	assert_in_range(known, ANCHOR_WINDOW / 2, wrong - 1);
}

/* Offsets that go back tell nothing of another level. */
static void back(void **state)
{
	static const struct commit_line line = { .addr = SITE, .id = { HWT_ID_sched_switch },
		.nids = 1 };
	struct hwt_stream *st = evlist(kernel, nkernel);
	struct anchor_book *book;

	(void)state;
	visit(1000, 1100);
	flow[4].off = 0;
	assert_int_equal(commit_books_new(&book, &line, 1, evlist(flow, nflow), &st, 1), -ENOTSUP);
}

/* By address, and by the symbols of the functions that write records. */
static void lines(void **state)
{
	struct commit_line l[COMMIT_LINES];
	struct capture *c;

	(void)state;
	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(commit_lines(c, l), 0);
	assert_int_equal(capture_add_commit(c, HWT_ID_sched_waking, SITE), 0);
	assert_int_equal(capture_add_commit(c, HWT_ID_sched_switch, CALLER), 0);
	assert_int_equal(capture_add_commit(c, HWT_ID_sched_wakeup, SITE), 0);
	assert_int_equal(commit_lines(c, l), 2);
	assert_int_equal(l[0].addr, SITE);
	assert_int_equal(l[0].nids, 2);
	assert_int_equal(l[1].id[0], HWT_ID_sched_switch);
	for (unsigned i = 3; i < CAPTURE_COMMITS; i++)
		assert_int_equal(capture_add_commit(c, HWT_ID_sched_switch, i), 0);
	assert_int_equal(capture_add_commit(c, HWT_ID_sched_switch, 99), -E2BIG);
	/* each instruction is one line, two of them are one here */
	assert_int_equal(commit_lines(c, l), CAPTURE_COMMITS - 1);
	capture_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(order, start),
		cmocka_unit_test_setup(lost, start),
		cmocka_unit_test_setup(hole, start),
		cmocka_unit_test_setup(marked, start),
		cmocka_unit_test_setup(marked_inside, start),
		cmocka_unit_test_setup(emulated_call, start),
		cmocka_unit_test_setup(numbers_go_back, start),
		cmocka_unit_test_setup(back, start),
		cmocka_unit_test_setup(lines, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
