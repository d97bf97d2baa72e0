/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Marks and their records: by hand, what is tied and what must not be; and random programs, whose
 * calls are known, with coarse times, holes, numbers that come again and lost records.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/anchor_mark.h"
#include "tests/support/evlist.h"

#define MAX	4096
#define TID	7
#define CPU	1
#define ASK	0x401002	/* behind the call that asks for a mark */
#define OTHER	0x402002	/* behind another one */

static struct hwt_event flow[MAX], kernel[MAX];
static union { struct hwt_rec_user_mark mark; struct hwt_rec_sched_switch sw; } rec[MAX];
static size_t nflow, nkernel;
static int32_t cpu, tid;	/* whose the buffer is */

static struct hwt_event *add(unsigned type, uint64_t lo, uint64_t hi)
{
	struct hwt_event *ev = &flow[nflow];

	*ev = (struct hwt_event){ .type = (uint16_t)type, .time = lo, .off = 10 * nflow,
		.span = (uint32_t)(hi - lo), .cpu = CPU, .pid = HWT_NONE, .tid = TID };
	nflow++;
	return ev;
}

static void code(uint64_t lo, uint64_t hi, uint64_t addr, unsigned kind)
{
	struct hwt_event *ev = add(HWT_EV_RANGE, lo, hi);

	ev->u.range.first = ev->u.range.last = addr;
	ev->u.range.kind = (uint8_t)kind;
	ev->u.range.isa = HWT_ISA_X86_64;
	ev->u.range.last_size = 2;
}

/* A system call; the index of its OFF. */
static size_t call(uint64_t lo, uint64_t hi, uint64_t behind)
{
	size_t off;

	code(lo, hi, behind - 2, HWT_INSN_FAR_CALL);
	off = nflow;
	add(HWT_EV_OFF, lo, hi);
	add(HWT_EV_ON, lo, hi)->flags = HWT_F_RESUMED;
	return off;
}

static void mark(uint64_t lo, uint64_t hi, uint64_t value)
{
	struct hwt_event *ev = add(HWT_EV_MARK, lo, hi);

	ev->u.mark.value = value;
	ev->u.mark.bits = 64;
}

static void put(unsigned id, uint64_t time, uint64_t value, uint64_t ip, int32_t who)
{
	struct hwt_rec_user_mark *r = &rec[nkernel].mark;
	struct hwt_event *ev = &kernel[nkernel++];
	size_t size = id == HWT_ID_user_mark ? sizeof(*r) : sizeof(struct hwt_rec_stream_lost);

	memset(r, 0, sizeof(*r));
	r->rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1 };
	if (id == HWT_ID_user_mark) {
		r->value = value;
		r->ip = ip;
	}
	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = time, .tid = who, .cpu = CPU };
	ev->u.rec.data = r;
	ev->u.rec.size = (uint32_t)size;
	ev->u.rec.id = id;
}

static void record(uint64_t time, uint64_t value)
{
	put(HWT_ID_user_mark, time, value, ASK, tid);
}

/* Thread @next comes to CPU @on. */
static void comes(uint64_t time, int32_t on, int32_t prev, int32_t next)
{
	struct hwt_rec_sched_switch *s = &rec[nkernel].sw;

	put(HWT_ID_stream_lost, time, 0, 0, prev);
	*s = (struct hwt_rec_sched_switch){ .rec = { .id = HWT_ID_sched_switch,
		.version = 1, .size = sizeof(*s) }, .prev_tid = prev, .next_tid = next };
	kernel[nkernel - 1].cpu = on;
	kernel[nkernel - 1].u.rec.id = HWT_ID_sched_switch;
	kernel[nkernel - 1].u.rec.size = sizeof(*s);
}

static int start(void **state)
{
	(void)state;
	cpu = HWT_NONE;
	tid = TID;
	nflow = nkernel = 0;
	return 0;
}

static struct anchor_sum tie(struct anchor_book **book)
{
	assert_int_equal(mark_book_new(book, evlist(flow, nflow), evlist(kernel, nkernel), cpu,
				       tid), 0);
	return *anchor_book_sum(*book);
}

static uint64_t tied(void)
{
	struct anchor_book *book;
	struct anchor_sum sum = tie(&book);

	anchor_book_free(book);
	assert_int_equal(sum.certain + sum.possible, 1);
	return sum.certain;
}

/* A mark of no record, so that what ran before, or comes behind, is known. */
static void fence(uint64_t t)
{
	mark(t, t + 10, 999);
}

static void test_times(void **state)
{
	struct hwt_event out[MAX];
	struct anchor_book *book;
	struct anchor_place p;
	struct hwt_stream *s;
	size_t off;

	(void)state;
	fence(90);
	mark(100, 200, 5);
	off = call(100, 200, ASK);
	code(150, 220, 0x401002, HWT_INSN_OTHER);
	fence(300);
	put(HWT_ID_user_mark, 120, 5, ASK, 8);	/* another thread's */
	record(160, 5);
	assert_int_equal(tie(&book).certain, 1);
	assert_int_equal(anchor_flow_new(&s, book, evlist(flow, nflow)), 0);
	assert_int_equal(hwt_stream_next(s, out, MAX), nflow);
	hwt_stream_close(s);
	assert_int_equal(out[1].time + out[1].span, 160);	/* the mark, which is before it */
	assert_int_equal(out[off].time + out[off].span, 160);
	assert_int_equal(out[off + 1].time, 160);
	assert_int_equal(out[off + 2].time, 160);
	assert_int_equal(tie(&book).certain, 1);
	assert_int_equal(anchor_book_get(book, &p), 1);
	assert_int_equal(p.begin.off, flow[off].off);
	anchor_book_free(book);
}

enum { TWO_CALLS = 1, FAR_CALL = 2, NO_CALL = 4, OTHER_CALL = 8, MARK_AGAIN = 16, RECORD_AGAIN = 32,
	HOLE = 64, LOST = 128, NO_FENCE = 256, NO_END = 512, KERNEL = 1024 };

static uint64_t variant(unsigned v)
{
	start(NULL);
	if (!(v & NO_FENCE))
		fence(90);
	/* before the mark, at its time or long before */
	if (v & TWO_CALLS)
		call(100, 200, ASK);
	if (v & FAR_CALL)
		call(91, 99, ASK);
	mark(100, 200, 5);
	if (v & HOLE)
		add(HWT_EV_GAP, 150, 160);
	if (v & KERNEL)
		code(100, 200, ASK - 2, HWT_INSN_FAR_CALL);
	else if (!(v & NO_CALL))
		call(100, 200, v & OTHER_CALL ? OTHER : ASK);
	if (!(v & NO_END))
		fence(300);
	if (v & MARK_AGAIN) {
		mark(400, 410, 5);
		call(400, 420, OTHER);
		fence(430);
	}
	if (v & LOST)
		put(HWT_ID_stream_lost, 10, 0, 0, HWT_NONE);
	record(160, 5);
	if (v & RECORD_AGAIN)
		record(405, 5);
	return tied();
}

static void test_doubt(void **state)
{
	(void)state;
	assert_int_equal(variant(0), 1);
	assert_int_equal(variant(FAR_CALL), 1);	/* was over before */
	for (unsigned v = TWO_CALLS; v <= KERNEL; v <<= 1) {
		/* what is tied to nothing else is none of one that is not there */
		if (v == FAR_CALL || v == NO_END)
			continue;
		/* nothing hides another mark of the number */
		assert_int_equal(variant(v), v == LOST);
	}
	assert_int_equal(variant(LOST | HOLE), 0);
	/* behind the last mark of a trace there may have been more */
	assert_int_equal(variant(NO_END), 0);
}

/* --- random programs --- */

static uint64_t seed;

static uint64_t rnd(uint64_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % n;
}

struct sim {
	uint64_t now, width, value;
	bool first;		/* it asks before it writes */
	bool again, lose, holes;
	bool hidden;
	uint64_t truth[MAX];	/* of each OFF: number of its record + 1 */
	uint64_t records, pairs;
};

static void seen(struct sim *s, uint64_t *lo, uint64_t *hi)
{
	s->now += 1 + rnd(20);
	*lo = s->now - s->now % s->width;
	*hi = *lo + s->width;
}

static void run_call(struct sim *s, uint64_t behind, bool asks)
{
	uint64_t lo, hi;
	size_t off;

	seen(s, &lo, &hi);
	off = s->hidden ? MAX - 1 : call(lo, hi, behind);
	s->truth[off] = 0;
	s->now += 1 + rnd(10);
	if (asks && s->lose && !rnd(10)) {
		put(HWT_ID_stream_lost, s->now, 0, 0, HWT_NONE);
	} else if (asks) {
		record(s->now, s->value);
		s->truth[off] = ++s->records;
	}
	seen(s, &lo, &hi);
	if (s->hidden)
		return;
	/* back in the program */
	flow[off + 1].span = (uint32_t)(hi - flow[off + 1].time);
	code(lo, hi, behind, HWT_INSN_OTHER);
}

static void run_mark(struct sim *s)
{
	uint64_t lo, hi;

	seen(s, &lo, &hi);
	if (!s->hidden)
		mark(lo, hi, s->value);
}

static void run_one(struct sim *s)
{
	uint64_t lo, hi;

	if (s->holes && !rnd(s->hidden ? 4 : 40)) {
		if (s->hidden) {
			seen(s, &lo, &hi);
			add(HWT_EV_GAP, lo, hi);
		}
		s->hidden = !s->hidden;
	}
	s->now += rnd(4) ? 0 : rnd(400);
	if (rnd(2)) {
		run_call(s, rnd(3) ? OTHER : ASK, false);
		return;
	}
	s->pairs++;
	s->value = s->again && !rnd(10) ? rnd(s->pairs) : s->pairs;
	if (s->first)
		run_call(s, ASK, true);
	run_mark(s);
	if (!s->first)
		run_call(s, ASK, true);
}

static void test_random(void **state)
{
	static struct sim s;
	uint64_t certain = 0, possible = 0, clean = 0, cleanly = 0;

	(void)state;
	for (uint64_t k = 0; k < 2000; k++) {
		struct anchor_book *book;
		struct anchor_place p;
		struct anchor_sum sum;

		start(NULL);
		seed = (k + 1) * 0x9e3779b97f4a7c15 | 1;
		for (unsigned i = 0; i < 8; i++)
			rnd(2);
		s = (struct sim){ .now = 1000, .width = 1ull << rnd(8), .first = k & 1,
			.again = k & 2, .lose = k % 16 == 4, .holes = k & 8 };
		while (nflow + 16 < MAX && nkernel < 200)
			run_one(&s);
		sum = tie(&book);
		while (anchor_book_get(book, &p)) {
			size_t off = (size_t)(p.begin.off / 10);

			assert_int_equal(flow[off].type, HWT_EV_OFF);
			assert_int_equal(s.truth[off], p.record + 1);
		}
		anchor_book_free(book);
		certain += sum.certain;
		possible += sum.possible;
		if (s.width <= 16 && !s.again && !s.lose && !s.holes) {
			clean += sum.certain;
			cleanly += sum.certain + sum.possible;
		}
	}
	print_message("%llu of %llu marks tied, none wrong; where times are close %llu of %llu\n",
		      (unsigned long long)certain, (unsigned long long)(certain + possible),
		      (unsigned long long)clean, (unsigned long long)cleanly);
	assert_true(certain > 50000);
	assert_true(clean * 100 >= cleanly * 90);
}

/*
 * A CPU with two threads, which use the same numbers, are somewhere else now and then, and ask for
 * marks there, too; switches and records get lost.
 */
struct one { int32_t tid; uint64_t pairs; };

static void elsewhere(struct sim *s, struct one *t)
{
	s->now += 1 + rnd(50);
	put(HWT_ID_user_mark, s->now, ++t->pairs, ASK, t->tid);
	kernel[nkernel - 1].cpu = CPU + 1;
	s->records++;
}

static void turns(struct sim *s, struct one *t)
{
	int32_t on = 0;

	while (nflow + 16 < MAX && nkernel < 400) {
		int32_t next = (int32_t)rnd(2);
		uint64_t lo, hi;

		/* the kernel runs: flow is dark */
		seen(s, &lo, &hi);
		code(lo, hi, OTHER - 2, HWT_INSN_FAR_CALL);
		add(HWT_EV_OFF, lo, hi);
		s->now += 1 + rnd(100);
		if (s->lose && !rnd(10))
			put(HWT_ID_stream_lost, s->now, 0, 0, HWT_NONE);
		else
			comes(s->now, CPU, t[on].tid, t[next].tid);
		for (uint64_t i = rnd(4); i && next != on; i--)
			elsewhere(s, &t[on]);
		on = next;
		seen(s, &lo, &hi);
		add(HWT_EV_ON, lo, hi)->flags = HWT_F_RESUMED;
		for (uint64_t i = 2 + rnd(12); i; i--) {
			tid = t[on].tid;
			s->value = t[on].pairs;
			if (s->holes && !rnd(s->hidden ? 4 : 60)) {
				if (s->hidden) {
					seen(s, &lo, &hi);
					add(HWT_EV_GAP, lo, hi);
				}
				s->hidden = !s->hidden;
			}
			if (!rnd(3)) {
				run_call(s, OTHER, false);
				continue;
			}
			s->value = s->again && !rnd(6) ? rnd(t[on].pairs + 1) : ++t[on].pairs;
			if (s->first)
				run_call(s, ASK, true);
			run_mark(s);
			if (!s->first)
				run_call(s, ASK, true);
		}
	}
}

static void test_cpu(void **state)
{
	static struct sim s;
	uint64_t certain = 0, possible = 0;

	(void)state;
	for (uint64_t k = 0; k < 3000; k++) {
		struct one t[2] = { { 7, 0 }, { 8, 0 } };
		struct anchor_book *book;
		struct anchor_place p;
		struct anchor_sum sum;

		start(NULL);
		seed = (k + 1) * 0x9e3779b97f4a7c15 | 1;
		for (unsigned i = 0; i < 8; i++)
			rnd(2);
		s = (struct sim){ .now = 1000, .width = 1ull << rnd(7), .first = k & 1,
			.again = k & 2, .lose = k & 4, .holes = k & 8 };
		turns(&s, t);
		cpu = CPU;
		tid = HWT_NONE;
		sum = tie(&book);
		while (anchor_book_get(book, &p)) {
			size_t off = (size_t)(p.begin.off / 10);

			assert_int_equal(flow[off].type, HWT_EV_OFF);
			assert_int_equal(s.truth[off], p.record + 1);
		}
		anchor_book_free(book);
		certain += sum.certain;
		possible += sum.possible;
	}
	print_message("of a CPU: %llu of %llu marks tied, none wrong\n",
		      (unsigned long long)certain, (unsigned long long)(certain + possible));
	assert_true(certain > 50000);
}

/*
 * The record of mark @v, or, if records may be lost, a loss. It comes at one of two times, whose
 * index is the result, and the mark at the other.
 */
static bool ask(uint64_t v, bool lossy, uint64_t *now, uint64_t at[2])
{
	bool first = rnd(2);

	for (unsigned j = 0; j < 2; j++) {
		*now += 1 + rnd(60);
		at[j] = *now;
	}
	if (lossy && !rnd(10)) {
		put(HWT_ID_stream_lost, at[first], 0, 0, HWT_NONE);
	} else {
		put(HWT_ID_user_mark, at[first], v, ASK, v & 1 ? 7 : 8);
		rec[nkernel - 1].mark.channel = 3;
	}
	return first;
}

/* Units of marks: numbers on a channel, other numbers on others; records and marks get lost. */
static void test_plain(void **state)
{
	uint64_t certain = 0, narrower = 0;

	(void)state;
	for (uint64_t k = 0; k < 500; k++) {
		static uint64_t truth[MAX];
		struct hwt_event out[64];
		struct anchor_book *book;
		uint64_t now = 1000;
		struct hwt_stream *st;
		size_t i = 0;
		int n;

		start(NULL);
		seed = (k + 1) * 0x9e3779b97f4a7c15 | 1;
		for (uint64_t v = 1; v < 300; v++) {
			uint64_t width = 1ull << rnd(12), at[2];
			bool first = ask(v, k & 1, &now, at);

			if (!rnd(8)) {
				mark(at[!first], at[!first] + width, rnd(300));
				flow[nflow - 1].u.mark.channel = 4;
				truth[nflow - 1] = at[!first];
			}
			mark(at[!first] > width ? at[!first] - rnd(width) : 0,
			     at[!first] + width, v);
			flow[nflow - 1].u.mark.channel = 3;
			truth[nflow - 1] = at[!first];
		}
		cpu = tid = HWT_NONE;
		certain += tie(&book).certain;
		assert_int_equal(anchor_flow_new(&st, book, evlist(flow, nflow)), 0);
		while ((n = hwt_stream_next(st, out, 64)) > 0)
			for (int j = 0; j < n; j++, i++) {
				assert_true(out[j].time <= truth[i]);
				assert_true(out[j].time + out[j].span >= truth[i]);
				assert_true(out[j].span <= flow[i].span);
				narrower += out[j].span < flow[i].span;
			}
		hwt_stream_close(st);
	}
	print_message("of a unit of marks: %llu tied, %llu narrower\n",
		      (unsigned long long)certain, (unsigned long long)narrower);
	assert_true(certain > 50000 && narrower > 10000);
}

#define UNIT	0x10

/* Trace of a CPU, which is sent in no order to the marks; or a mark of another unit. */
static void beside(uint64_t *truth, uint64_t now)
{
	uint64_t at = now > 3000 ? now - rnd(3000) : now, width = rnd(500);

	if (rnd(3)) {
		code(at, at + width, ASK, HWT_INSN_OTHER);
	} else {
		mark(at, at + width, 1 + rnd(3000));
		flow[nflow - 1].u.mark.channel = (uint16_t)(3 + rnd(2));
		flow[nflow - 1].u.mark.trace_id = UNIT + 1;
	}
	truth[nflow - 1] = at;
}

/*
 * A unit of marks whose buffer CPUs and another such unit share: no other event changes, and a
 * number that both sent ties nothing; nor do two marks of one place.
 */
static void test_shared(void **state)
{
	uint64_t certain = 0, narrower = 0;

	(void)state;
	for (uint64_t k = 0; k < 500; k++) {
		static uint64_t truth[MAX];
		struct hwt_event out[64];
		struct anchor_book *book;
		uint64_t now = 1000;
		struct hwt_stream *st;
		size_t i = 0;
		int n;

		start(NULL);
		seed = (k + 1) * 0x9e3779b97f4a7c15 | 1;
		for (uint64_t v = 1; v < 300; v++) {
			uint64_t width = 1ull << rnd(12), at[2];
			bool first = ask(v, k & 1, &now, at);

			while (!rnd(3))
				beside(truth, now);
			if (k & 2 && !rnd(50))
				continue;	/* its mark was lost */
			mark(at[!first] > width ? at[!first] - rnd(width) : 0,
			     at[!first] + width, v);
			flow[nflow - 1].u.mark.channel = 3;
			flow[nflow - 1].u.mark.trace_id = UNIT;
			truth[nflow - 1] = at[!first];
			if (nflow > 1 && flow[nflow - 2].u.mark.trace_id == UNIT &&
			    flow[nflow - 2].type == HWT_EV_MARK && !rnd(20))
				flow[nflow - 1].off = flow[nflow - 2].off;
		}
		assert_int_equal(mark_book_of(&book, evlist(flow, nflow), evlist(kernel, nkernel),
					      UNIT), 0);
		certain += anchor_book_sum(book)->certain;
		assert_int_equal(anchor_marks_new(&st, book, evlist(flow, nflow), UNIT), 0);
		while ((n = hwt_stream_next(st, out, 64)) > 0)
			for (int j = 0; j < n; j++, i++) {
				if (flow[i].type != HWT_EV_MARK || flow[i].u.mark.trace_id != UNIT)
					assert_memory_equal(&out[j], &flow[i], sizeof(out[j]));
				assert_true(out[j].time <= truth[i]);
				assert_true(out[j].time + out[j].span >= truth[i]);
				narrower += out[j].span < flow[i].span;
			}
		assert_int_equal(i, nflow);
		hwt_stream_close(st);
	}
	print_message("of a unit in a shared buffer: %llu tied, %llu narrower\n",
		      (unsigned long long)certain, (unsigned long long)narrower);
	assert_true(certain > 50000 && narrower > 10000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_times, start),
		cmocka_unit_test_setup(test_doubt, start),
		cmocka_unit_test_setup(test_random, start),
		cmocka_unit_test_setup(test_cpu, start),
		cmocka_unit_test_setup(test_plain, start),
		cmocka_unit_test_setup(test_shared, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
