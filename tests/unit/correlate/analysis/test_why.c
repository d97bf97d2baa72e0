/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Planted causes: a simulated task runs the same function again and again, and one of its calls is
 * made slow by one cause. The test knows every true instant; the analysis gets intervals around
 * them. It must name the cause each time, each part's true amount must lie in what it tells, and
 * so must the sum. The capture that is open lends its symbols only; no trace is decoded here.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "tests/support/rnd.h"

#define DEMO	"fixtures/captures/demo/in/perf.data"
#define EVENTS	200000
#define CALLS	25
#define TID	4242
#define MANY	1200000		/* calls; a multiple of 1000 */

enum cause { PREEMPT, SLEEP, IRQ, IRQ_SEEN, EXCEPTION, EXTRA, ROUNDS, SLOW, LOST, SYSCALL, SKIP,
	     IRQ_NESTED, FAULT_EXC, FAULT_ABORT, FAULT_OFF, FAULT_RUN, FAULT_LOOSE, CAUSES };

static const uint8_t expected[CAUSES] = {
	[PREEMPT] = HWT_WHY_PREEMPTED, [SLEEP] = HWT_WHY_BLOCKED, [IRQ] = HWT_WHY_IRQ,
	[IRQ_NESTED] = HWT_WHY_IRQ,
	[IRQ_SEEN] = HWT_WHY_IRQ, [EXCEPTION] = HWT_WHY_EXCEPTION, [EXTRA] = HWT_WHY_EXTRA,
	[ROUNDS] = HWT_WHY_EXTRA, [SLOW] = HWT_WHY_SAME, [LOST] = HWT_WHY_HOLE,
	[SYSCALL] = HWT_WHY_REST, [SKIP] = HWT_WHY_MISSING, [FAULT_EXC] = HWT_WHY_FAULT,
	[FAULT_ABORT] = HWT_WHY_FAULT, [FAULT_OFF] = HWT_WHY_FAULT, [FAULT_RUN] = HWT_WHY_FAULT,
	[FAULT_LOOSE] = HWT_WHY_PARTS,	/* none is certain */
};

static struct hwt_event evs[EVENTS];
static union { struct hwt_rec rec; uint8_t bytes[128]; } recs[4096];
static unsigned n, nrecs, width;
static uint64_t now, floor_lo, scale;
static int64_t truth[HWT_WHY_PARTS];
static bool slow;		/* the call that is made slow */

/* An event at the true instant @now. Kernel records are exact. */
static struct hwt_event *emit(unsigned type, bool exact)
{
	uint64_t lo = now - (exact || !width ? 0 : rnd() % width);
	uint64_t hi = now + (exact || !width ? 0 : rnd() % width);
	struct hwt_event *ev = &evs[n++];

	assert_true(n < EVENTS);
	floor_lo = lo > floor_lo ? lo : floor_lo;
	*ev = (struct hwt_event){ .time = floor_lo, .span = (uint32_t)(hi - floor_lo),
		.type = (uint16_t)type, .cpu = 0, .pid = TID, .tid = TID };
	return ev;
}

static void *record(unsigned id, size_t size)
{
	struct hwt_event *ev = emit(HWT_EV_RECORD, true);
	struct hwt_rec *r = &recs[nrecs++].rec;

	assert_true(nrecs < 4096);
	memset(r, 0, size);
	*r = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1,
		.pid = TID, .tid = TID };
	ev->u.rec.data = r;
	ev->u.rec.size = (uint32_t)size;
	ev->u.rec.id = id;
	return r;
}

/* A block runs and takes @ns; it ends with a branch of @kind. */
static void block(uint64_t first, unsigned kind, uint64_t ns)
{
	struct hwt_event *ev = emit(HWT_EV_RANGE, false);

	ev->u.range.first = first;
	ev->u.range.last = first + 0x10;
	ev->u.range.last_size = 2;
	ev->u.range.insns = 4;
	ev->u.range.kind = (uint8_t)kind;
	now += ns * scale;
}

static void off_cpu(uint64_t ns, bool sleeps)
{
	struct hwt_rec_sched_switch *s = record(HWT_ID_sched_switch, sizeof(*s));
	struct hwt_rec_sched_waking *w;

	s->prev_pid = s->prev_tid = TID;
	s->next_pid = s->next_tid = 77;
	s->prev_state = sleeps ? HWT_task_state_sleep : HWT_task_state_ready;
	s->preempted = !sleeps;
	strcpy(s->next_comm, "hog");
	now += ns;
	if (sleeps) {
		w = record(HWT_ID_sched_waking, sizeof(*w));
		w->rec.tid = w->rec.pid = 78;
		evs[n - 1].cpu = 1;
		evs[n - 1].tid = evs[n - 1].pid = 78;
		w->wake_tid = w->wake_pid = TID;
		now += 300;
		truth[HWT_WHY_READY] += 300;
	}
	s = record(HWT_ID_sched_switch, sizeof(*s));
	evs[n - 1].tid = evs[n - 1].pid = 77;
	s->rec.tid = s->rec.pid = 77;
	s->prev_pid = s->prev_tid = 77;
	s->next_pid = s->next_tid = TID;
	now += 5;		/* until it runs its own code again */
	truth[HWT_WHY_SAME] += 5;
	truth[sleeps ? HWT_WHY_BLOCKED : HWT_WHY_PREEMPTED] += (int64_t)ns;
}

/* Before the first call: without it nothing tells that the task is on its CPU. */
static void switched_in(void)
{
	struct hwt_rec_sched_switch *s = record(HWT_ID_sched_switch, sizeof(*s));

	s->next_pid = s->next_tid = TID;
	now += 5;
}

static void irq(uint64_t ns, bool seen)
{
	struct hwt_rec_irq_entry *i;
	struct hwt_rec_irq_exit *x;
	struct hwt_event *ev;
	uint64_t begin = now;

	if (seen) {
		ev = emit(HWT_EV_EXCEPTION, true);
		ev->u.exc.from = 0x1030;
		ev->u.exc.to = HWT_NO_ADDR;
		ev->u.exc.what = HWT_EXC_ASYNC;
		now += 40;
	}
	i = record(HWT_ID_irq_entry, sizeof(*i));
	strcpy(i->name, "disk");
	now += ns;
	x = record(HWT_ID_irq_exit, sizeof(*x));
	(void)x;
	if (seen) {
		now += 30;
		emit(HWT_EV_ON, true)->u.at.addr = 0x1030;
	}
	truth[HWT_WHY_IRQ] += (int64_t)(now - begin);
}

#define KERNEL	0xffffffff80000000u

/*
 * The kernel is traced: the handler is interrupted, which returns to it, and makes the CPU wait by
 * a return to what follows. Nothing of that is a path of the thread.
 */
static void irq_nested(uint64_t ns)
{
	struct hwt_event *ev = emit(HWT_EV_EXCEPTION, true);
	uint64_t begin = now;
	struct hwt_rec_irq_entry *i;

	ev->u.exc.from = 0x1032;
	ev->u.exc.what = HWT_EXC_ASYNC;
	block(KERNEL + 0x1000, HWT_INSN_CALL, 40);
	i = record(HWT_ID_irq_entry, sizeof(*i));
	strcpy(i->name, "disk");
	block(KERNEL + 0x2000, HWT_INSN_OTHER, ns / 2);
	ev = emit(HWT_EV_EXCEPTION, true);
	ev->u.exc.from = KERNEL + 0x2012;
	ev->u.exc.what = HWT_EXC_ASYNC;
	block(KERNEL + 0x3000, HWT_INSN_FAR_RETURN, 10);
	block(KERNEL + 0x2012, HWT_INSN_RETURN, ns / 2);
	record(HWT_ID_irq_exit, sizeof(struct hwt_rec_irq_exit));
	block(KERNEL + 0x4000, HWT_INSN_FAR_RETURN, 5);
	block(KERNEL + 0x4012, HWT_INSN_BRANCH, 20);
	block(KERNEL + 0x5000, HWT_INSN_FAR_RETURN, 25);
	truth[HWT_WHY_IRQ] += (int64_t)(now - begin);
}

static void exception(uint64_t ns, unsigned what)
{
	struct hwt_event *ev = emit(HWT_EV_EXCEPTION, true);

	ev->u.exc.from = 0x1030;
	ev->u.exc.to = HWT_NO_ADDR;
	ev->u.exc.what = (uint8_t)what;
	emit(HWT_EV_OFF, true)->u.at.addr = 0x1030;
	now += ns;
	emit(HWT_EV_ON, true)->u.at.addr = 0x1030;
	truth[what == HWT_EXC_ASYNC ? HWT_WHY_EXCEPTION : HWT_WHY_FAULT] += (int64_t)ns;
}

static void fault_record(void)
{
	struct hwt_rec_mm_fault *r = record(HWT_ID_mm_fault, sizeof(*r));

	r->ip = 0x1030;
	r->access = HWT_access_bit_user | HWT_access_bit_write;
}

/* As a trace unit of user code, one of all code, and none at all sees a page fault. */
static void fault(unsigned c, uint64_t ns)
{
	struct hwt_event *ev;

	/* what ran last is over for certain when the fault is told, but in FAULT_LOOSE */
	if (c == FAULT_RUN) {
		now += 60;
		truth[HWT_WHY_SAME] += 60;
	}
	if (c == FAULT_EXC) {
		ev = emit(HWT_EV_EXCEPTION, true);
		ev->u.exc.from = 0x1030;
		ev->u.exc.to = HWT_NO_ADDR;
		ev->u.exc.what = HWT_EXC_ASYNC;
	}
	if (c == FAULT_OFF)
		emit(HWT_EV_OFF, true)->u.at.addr = 0x1030;
	if (c == FAULT_EXC || c == FAULT_OFF) {
		now += 70;
		truth[HWT_WHY_FAULT] += 70;
	}
	fault_record();
	now += ns;
	truth[HWT_WHY_FAULT] += (int64_t)ns;
	if (c == FAULT_EXC || c == FAULT_OFF)
		emit(HWT_EV_ON, true)->u.at.addr = 0x1030;
}

static void lost(uint64_t ns)
{
	struct hwt_event *ev = emit(HWT_EV_GAP, true);

	ev->u.gap.cause = HWT_GAP_OVERFLOW;
	now += ns;
	truth[HWT_WHY_HOLE] += (int64_t)ns;
}

/* One call: entry, a loop of three rounds with an inner one, a call, a system call, the end. */
static void call(unsigned c, uint64_t ns)
{
	uint64_t before = now;

	block(0x1000, HWT_INSN_BRANCH, 11);
	if (slow && c == EXTRA) {
		before = now;
		block(0x1018, HWT_INSN_ICALL, 50);
		block(0x3000, HWT_INSN_RETURN, ns);
		block(0x102a, HWT_INSN_JUMP, 4);
		truth[HWT_WHY_EXTRA] = (int64_t)(now - before);
	}
	for (unsigned i = 0; i < (slow && c == ROUNDS ? 3 + ns / 29 : 3); i++) {
		if (i == 3)
			before = now;
		block(0x1040, HWT_INSN_BRANCH, 7);
		block(0x1080, HWT_INSN_BRANCH, 5);
		block(0x1080, HWT_INSN_BRANCH, 5);
		block(0x10c0, HWT_INSN_BRANCH, 12);
	}
	if (slow && c == ROUNDS)
		truth[HWT_WHY_EXTRA] = (int64_t)(now - before);
	/* the loop's branch falls through; here things happen */
	if (slow && c == LOST) {
		/* what the trace would have shown of this block is in the hole */
		lost(ns + 9);
		truth[HWT_WHY_HOLE] -= 9;
		/* a unit tells of an overflow when it is over: from the last block on */
		truth[HWT_WHY_HOLE] += 12;
		truth[HWT_WHY_SAME] -= 12;
	} else {
		block(0x1020, HWT_INSN_OTHER, 9);
	}
	if (slow && c == PREEMPT)
		off_cpu(ns, false);
	if (slow && c == SLEEP)
		off_cpu(ns, true);
	if (slow && (c == IRQ || c == IRQ_SEEN))
		irq(ns, c == IRQ_SEEN);
	if (slow && c == IRQ_NESTED)
		irq_nested(ns);
	if (slow && (c == EXCEPTION || c == FAULT_ABORT))
		exception(ns, c == EXCEPTION ? HWT_EXC_ASYNC : HWT_EXC_DATA_FAULT);
	if (slow && c >= FAULT_EXC && c != FAULT_ABORT)
		fault(c, ns);
	block(0x1032, HWT_INSN_CALL, 8);
	block(0x2000, HWT_INSN_RETURN, 14);
	/* the return lands behind the call */
	block(0x1044, HWT_INSN_FAR_CALL, 10);
	emit(HWT_EV_OFF, true)->u.at.addr = 0x1056;
	now += 25 + (slow && c == SYSCALL ? ns : 0);
	emit(HWT_EV_ON, true)->u.at.addr = 0x1056;
	if (slow && c == SYSCALL)
		truth[HWT_WHY_REST] = (int64_t)ns;
	if (!(slow && c == SKIP)) {
		block(0x1056, HWT_INSN_BRANCH, 6);
		block(0x1200, HWT_INSN_BRANCH, 400);
		block(0x1240, HWT_INSN_BRANCH, 6);
	} else {
		/* straight to the end; the block at 1056 goes another way */
		block(0x1056, HWT_INSN_BRANCH, 6);
		truth[HWT_WHY_MISSING] = -406;
	}
	block(0x1280, HWT_INSN_BRANCH, 5);
}

static void run_of(unsigned c, uint64_t ns, unsigned which)
{
	n = nrecs = 0;
	now = 1000000;
	floor_lo = 0;
	memset(truth, 0, sizeof(truth));
	switched_in();
	for (unsigned i = 0; i < CALLS; i++) {
		slow = i == which;
		scale = slow && c == SLOW ? 1 + ns / 600 : 1;
		block(0x500, HWT_INSN_CALL, 3);
		{
			uint64_t at = now;

			call(c, ns);
			/* all but the system call, and the last block, which is the end */
			if (slow && c == SLOW)
				truth[HWT_WHY_SAME] = (int64_t)(((now - at - 25) / scale - 5) *
					(scale - 1));
		}
		scale = 1;
		block(0x600, HWT_INSN_BRANCH, 20 + rnd() % 50);
	}
}

static void feed(struct hwt_why *w)
{
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(hwt_why_event(w, &evs[i]), 0);
}

static int within(int64_t v, struct hwt_delta d)
{
	return d.lo <= v && v <= d.hi;
}

static void one(struct hwt_session *s, unsigned c, uint64_t ns)
{
	struct hwt_pairs_opts o = { .size = sizeof(o), .from = "0x1000", .to = "0x1280" };
	unsigned which = (unsigned)(rnd() % CALLS), best = HWT_WHY_PARTS;
	struct hwt_why_answer a;
	int64_t lo = 0, hi = 0, all = 0, most = 0;
	struct hwt_diag d;
	struct hwt_why *w;

	run_of(c, ns, which);
	assert_int_equal(hwt_why_new(&w, s, &o, &d), 0);
	feed(w);
	if (hwt_why_choose(w, 1, c == SKIP || c == LOST ? which + 1 : 0, &d))
		fail_msg("%s", d.text);
	feed(w);
	assert_int_equal(hwt_why_explain(w, &a), 0);
	assert_int_equal(a.this.number, which + 1);
	assert_int_equal(a.all, CALLS);
	for (unsigned k = 0; k < HWT_WHY_PARTS; k++) {
		const struct hwt_why_part *p = &a.part[k];
		int64_t sure = p->more.lo > 0 ? p->more.lo : p->more.hi < 0 ? -p->more.hi : 0;

		if (!within(truth[k], p->more))
			fail_msg("cause %u, width %u: %s: %lld is not in %lld..%lld", c, width,
				 hwt_why_name(k), (long long)truth[k], (long long)p->more.lo,
				 (long long)p->more.hi);
		lo += p->more.lo;
		hi += p->more.hi;
		all += truth[k];
		if (sure > most) {
			most = sure;
			best = k;
		}
	}
	if (best != expected[c] && !(c == FAULT_LOOSE && best == HWT_WHY_FAULT))
		fail_msg("cause %u, width %u: taken for %s", c, width, hwt_why_name(best));
	assert_true(lo <= all && all <= hi);
	assert_true(within(all, a.more));
	/* instants that are exact give exact parts, which add up to the whole */
	if (!width) {
		assert_true(lo == hi && a.more.lo == a.more.hi);
		assert_int_equal(lo, a.more.lo);
	}
	if (c == PREEMPT)
		assert_string_equal(a.part[HWT_WHY_PREEMPTED].by, "hog");
	if (c == IRQ)
		assert_string_equal(a.part[HWT_WHY_IRQ].by, "disk");
	assert_int_equal(a.part[HWT_WHY_FAULT].times, c >= FAULT_EXC);
	assert_int_equal(a.part[HWT_WHY_FAULT].typical_times, 0);
	assert_int_equal(a.this.tainted, c == LOST);
	assert_int_equal(a.typical.tainted, 0);
	hwt_why_free(w);
}

static void planted(void **state)
{
	struct hwt_session *s;
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag d;
	unsigned runs = 0;

	if (hwt_session_open(&s, DEMO, &o, &d))
		fail_msg("%s", d.text);
	for (unsigned i = 0; i < 60; i++)
		for (unsigned c = 0; c < CAUSES; c++) {
			width = i % 3 ? (unsigned)(rnd() % 40) + 1 : 0;
			one(s, c, c == SKIP ? 0 : 5000 + rnd() % 100000);
			runs++;
		}
	hwt_session_close(s);
	print_message("%u planted causes\n", runs);
}

static void call_of(uint64_t ns, bool hole)
{
	now += 1000;
	record(HWT_ID_syscall_enter, sizeof(struct hwt_rec_syscall_enter));
	/* of the trace, which has nothing to say of events of the kernel, or of those */
	emit(HWT_EV_GAP, true);
	if (hole)
		record(HWT_ID_stream_lost, sizeof(struct hwt_rec_stream_lost));
	now += ns;
	record(HWT_ID_syscall_exit, sizeof(struct hwt_rec_syscall_exit));
}

/* What touches a hole has no rank, however long it is; neither it nor what overlaps is silent. */
static void ranks(void **state)
{
	struct hwt_pairs_opts po = { .size = sizeof(po), .from = "syscall.enter",
		.to = "syscall.exit" };
	struct hwt_open_opts o = { .size = sizeof(o) };
	static const struct { uint64_t worst, call, is, rivals; } want[] = {
		{ 1, 0, 1, 1 }, { 2, 0, 4, 0 }, { 3, 0, 3, 0 }, { 0, 2, 2, 0 }, { 0, 5, 5, 0 },
	};
	struct hwt_why_answer a;
	struct hwt_session *s;
	struct hwt_why *w;
	struct hwt_diag d;

	(void)state;
	assert_int_equal(hwt_session_open(&s, DEMO, &o, &d), 0);
	n = nrecs = width = 0;
	now = 1000000;
	floor_lo = 0;
	call_of(700, false);
	call_of(5000, true);
	call_of(100, false);
	call_of(690, false);
	evs[n - 1].span = 20;	/* 690 to 710: it may have been the longest */
	call_of(3000, true);
	for (unsigned i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(hwt_why_new(&w, s, &po, &d), 0);
		feed(w);
		assert_int_equal(hwt_why_choose(w, want[i].worst, want[i].call, &d), 0);
		feed(w);
		assert_int_equal(hwt_why_explain(w, &a), 0);
		assert_int_equal(a.this.number, want[i].is);
		assert_int_equal(a.rivals, want[i].rivals);
		assert_int_equal(a.tainted, 2);
		assert_int_equal(a.tainted_number, 2);
		assert_int_equal(a.tainted_most, 5000);
		hwt_why_free(w);
	}
	assert_int_equal(hwt_why_new(&w, s, &po, &d), 0);
	feed(w);
	assert_int_equal(hwt_why_choose(w, 4, 0, &d), -ENOENT);
	assert_non_null(strstr(d.text, "3 of them that touch no hole, of 5"));
	hwt_why_free(w);
	hwt_session_close(s);
}

/* More calls than a table of fixed size holds: the longest is the last, and all are counted. */
static void many_calls(void **state)
{
	struct hwt_pairs_opts po = { .size = sizeof(po), .from = "syscall.enter",
		.to = "syscall.exit" };
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_why_answer a;
	struct hwt_session *s;
	struct hwt_why *w;
	struct hwt_diag d;

	assert_int_equal(hwt_session_open(&s, DEMO, &o, &d), 0);
	assert_int_equal(hwt_why_new(&w, s, &po, &d), 0);
	for (int pass = 0; pass < 2; pass++) {
		now = 1000000;
		floor_lo = 0;
		for (unsigned i = 1; i <= MANY; i++) {
			n = nrecs = 0;
			record(HWT_ID_syscall_enter, sizeof(struct hwt_rec_syscall_enter));
			/* 7919 and 1000 have no divisor in common: each length as often */
			now += i == MANY ? 5000 : 1000 + i * 7919ull % 1000;
			record(HWT_ID_syscall_exit, sizeof(struct hwt_rec_syscall_exit));
			now += 10;
			feed(w);
		}
		if (!pass)
			assert_int_equal(hwt_why_choose(w, 1, 0, &d), 0);
	}
	assert_int_equal(hwt_why_explain(w, &a), 0);
	assert_int_equal(a.all, MANY);
	assert_int_equal(a.this.number, MANY);
	assert_int_equal(a.this.took.lo, 5000);
	/* of the 1200 of each length but one of the shortest, the longest first: number 599 999 */
	assert_int_equal(a.typical.took.lo, 1500);
	hwt_why_free(w);
	hwt_session_close(s);
}

static void refused(void **state)
{
	static const char *const bad[][3] = {
		{ "block.issue", "block.complete", NULL }, { "nosuchfunction", NULL, NULL },
		{ "0x1000", "0x1280", "cpu" },
	};
	struct hwt_open_opts oo = { .size = sizeof(oo) };
	struct hwt_pairs_opts o = { .size = sizeof(o) };
	struct hwt_session *s;
	struct hwt_why *w = NULL;
	struct hwt_diag d;

	assert_int_equal(hwt_session_open(&s, DEMO, &oo, &d), 0);
	for (unsigned i = 0; i < 3; i++) {
		o.from = bad[i][0];
		o.to = bad[i][1];
		o.key = bad[i][2];
		assert_true(hwt_why_new(&w, s, &o, &d) < 0);
		assert_true(d.text[0] && d.id >= 164 && d.id <= 169);
	}
	o = (struct hwt_pairs_opts){ .size = sizeof(o), .from = "0x1000", .to = "0x1280" };
	assert_int_equal(hwt_why_new(&w, s, &o, &d), 0);
	assert_int_equal(hwt_why_choose(w, 1, 0, &d), -ENOENT);
	assert_int_equal(d.id, 168);
	hwt_why_free(w);
	hwt_why_free(NULL);
	hwt_session_close(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(planted),
		cmocka_unit_test(ranks),
		cmocka_unit_test(many_calls),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
