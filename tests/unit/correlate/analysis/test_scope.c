/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings of some tasks, simulated: a machine of two CPUs runs tasks of two processes, and what
 * a recorder of one of the two would have seen is kept. A pair that is called certain must be one
 * of the whole machine: no other begin or end of its key between. The parts of its time must hold
 * what the task did. Of its waits, who woke it, what that one did meanwhile and who had the CPU
 * must be true, or not be called certain.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/latency.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "tests/support/rnd.h"
#include "tests/support/scratch.h"

#define CPUS	2
#define TASKS	4		/* of each process */
#define OWN	100		/* their ids: from this on, and of the others from OTHER on */
#define OTHER	200
#define EVENTS	20000
#define REQUESTS 3

/* Who records: what concerns one of the tasks, what is told while one runs, all. */
enum rule { CONCERNS, INSIDE, ALL };

enum state { RUN, PREEMPTED, BLOCKED, READY, IRQ };

struct told {
	uint64_t time, key;	/* @key of a request, or task that it is about */
	int32_t tid, about;	/* header; other task, 0: none */
	uint16_t id;
	uint8_t cpu;
};

struct was { uint64_t time; uint8_t state; };

static struct told told[EVENTS + 64];
static bool told_irq[EVENTS + 64];	/* in an interrupt */
/* who has a CPU from then on */
static struct { uint64_t time; int32_t tid; } had[CPUS][EVENTS];
static unsigned nhad[CPUS];
static bool in_irq[CPUS];
static unsigned ntold;
static struct was was[2 * TASKS][2 * EVENTS];
static unsigned nwas[2 * TASKS];
static int32_t on[CPUS];
static bool in_call[2 * TASKS], issued[REQUESTS];
static uint64_t now;
static struct native_writer *w;
static enum rule rule;

static unsigned below(unsigned n)
{
	return (unsigned)(rnd() % n);
}

static unsigned index_of(int32_t tid)
{
	return tid >= OTHER ? (unsigned)(TASKS + tid - OTHER) : (unsigned)(tid - OWN);
}

static int32_t tid_of(unsigned i)
{
	return i < TASKS ? OWN + (int32_t)i : OTHER + (int32_t)(i - TASKS);
}

static int32_t pid_of(int32_t tid)
{
	return tid ? tid / 100 * 100 : 0;
}

static bool own(int32_t tid)
{
	return tid >= OWN && tid < OWN + TASKS;
}

static void become(int32_t tid, enum state s)
{
	unsigned i = index_of(tid);

	if (tid)
		was[i][nwas[i]++] = (struct was){ now, (uint8_t)s };
}

static enum state state_of(unsigned i)
{
	return was[i][nwas[i] - 1].state;
}

/* A record of the machine; it is written if the recorder sees it. */
static void tell(unsigned cpu, struct hwt_rec *r, unsigned id, size_t size, int32_t about,
		 uint64_t key)
{
	int32_t tid = on[cpu];

	r->id = (uint16_t)id;
	r->size = (uint16_t)size;
	r->version = HWT_ABI_VERSION;
	r->pid = pid_of(tid);
	r->tid = tid;
	r->time = now;
	r->flags = (uint16_t)(HWT_REC_CTX | (in_irq[cpu] ? HWT_REC_HARDIRQ : 0));
	told_irq[ntold] = in_irq[cpu];
	told[ntold++] = (struct told){ now, key, tid, about, (uint16_t)id, (uint8_t)cpu };
	if (rule == ALL || own(tid) || (rule == CONCERNS && about && own(about)))
		assert_int_equal(native_event(w, cpu, r, size), 0);
	now += 1 + below(50);
}

static void switch_to(unsigned cpu, int32_t next, enum state s)
{
	struct hwt_rec_sched_switch r = { .prev_pid = pid_of(on[cpu]), .prev_tid = on[cpu],
		.next_pid = pid_of(next), .next_tid = next, .next_aspace = UINT64_MAX,
		.prev_state = s == BLOCKED ? HWT_task_state_sleep : HWT_task_state_ready,
		.preempted = s == PREEMPTED };

	become(on[cpu], s);
	become(next, RUN);
	had[cpu][nhad[cpu]].time = now;
	had[cpu][nhad[cpu]++].tid = next;
	tell(cpu, &r.rec, HWT_ID_sched_switch, sizeof(r), next, 0);
	on[cpu] = next;
}

static void wake(unsigned cpu, unsigned i)
{
	struct hwt_rec_sched_waking r = { .wake_pid = pid_of(tid_of(i)), .wake_tid = tid_of(i),
		.target_cpu = cpu };

	if (state_of(i) != BLOCKED)
		return;
	become(tid_of(i), READY);
	tell(cpu, &r.rec, HWT_ID_sched_waking, sizeof(r), tid_of(i), 0);
	memset(&r.rec, 0, sizeof(r.rec));
	tell(cpu, &r.rec, HWT_ID_sched_wakeup, sizeof(r), tid_of(i), 0);
}

static int32_t ready(void)
{
	unsigned from = below(2 * TASKS);

	for (unsigned k = 0; k < 2 * TASKS; k++) {
		unsigned i = (from + k) % (2 * TASKS);

		if (state_of(i) == READY || state_of(i) == PREEMPTED)
			return tid_of(i);
	}
	return 0;
}

static void request(unsigned cpu, unsigned i, bool end)
{
	struct hwt_rec_block_issue b = { .request = 0x1000 + i };
	struct hwt_rec_block_complete c = { .request = 0x1000 + i };

	if (issued[i] != end)
		return;
	issued[i] = !end;
	if (end)
		tell(cpu, &c.rec, HWT_ID_block_complete, sizeof(c), 0, i);
	else
		tell(cpu, &b.rec, HWT_ID_block_issue, sizeof(b), 0, i);
}

static void interrupt(unsigned cpu)
{
	struct hwt_rec_irq_entry e = { .irq = 5 };
	struct hwt_rec_irq_exit x = { .irq = 5 };

	become(on[cpu], IRQ);
	in_irq[cpu] = true;
	tell(cpu, &e.rec, HWT_ID_irq_entry, sizeof(e), 0, 5);
	wake(cpu, below(2 * TASKS));
	request(cpu, below(REQUESTS), true);
	become(on[cpu], RUN);
	in_irq[cpu] = false;
	tell(cpu, &x.rec, HWT_ID_irq_exit, sizeof(x), 0, 5);
}

static void call(unsigned cpu)
{
	struct hwt_rec_syscall_enter e = { .nr = 7 };
	struct hwt_rec_syscall_exit x = { .nr = 7 };
	bool *in = &in_call[index_of(on[cpu])];

	*in = !*in;
	if (*in)
		tell(cpu, &e.rec, HWT_ID_syscall_enter, sizeof(e), 0, 0);
	else
		tell(cpu, &x.rec, HWT_ID_syscall_exit, sizeof(x), 0, 0);
}

static void step(void)
{
	unsigned cpu = below(CPUS), what = below(10);
	int32_t next = ready();

	now += below(400);
	if (what < 2 || (!on[cpu] && !next)) {
		interrupt(cpu);
	} else if (!on[cpu]) {
		switch_to(cpu, next, READY);
	} else if (what < 4) {
		call(cpu);
	} else if (what < 5) {
		request(cpu, below(REQUESTS), false);
	} else if (what < 6) {
		wake(cpu, below(2 * TASKS));
	} else if (what < 8 && next) {
		switch_to(cpu, next, PREEMPTED);
	} else {
		switch_to(cpu, next, BLOCKED);
	}
}

static struct hwt_session *run(enum rule by)
{
	struct native_clock k = { .counter = "tsc", .base = "CLOCK_MONOTONIC",
		.frequency = 1000000000, .map = { .mult = 1 } };
	struct hwt_session *s;
	struct hwt_diag d;

	rule = by;
	ntold = 0;
	now = 1000;
	memset(nwas, 0, sizeof(nwas));
	memset(on, 0, sizeof(on));
	memset(nhad, 0, sizeof(nhad));
	memset(in_call, 0, sizeof(in_call));
	memset(issued, 0, sizeof(issued));
	for (unsigned i = 0; i < 2 * TASKS; i++)
		become(tid_of(i), READY);
	assert_int_equal(native_create(&w, scratch("s.hwt"), true, &d), 0);
	assert_int_equal(native_clock(w, &k), 0);
	if (by != ALL)
		assert_int_equal(native_set(w, "capture", "scope", "%s", by == CONCERNS ?
					    "some tasks" : "some tasks, while they run"), 0);
	if (by != ALL)
		assert_int_equal(native_set(w, "capture", "process", "%d", OWN), 0);
	while (ntold < EVENTS)
		step();
	assert_int_equal(native_close(w, &d), 0);
	assert_int_equal(hwt_session_open(&s, scratch("s.hwt"), NULL, &d), 0);
	return s;
}

/* How long the task was in a state between two instants. */
static uint64_t spent(unsigned i, uint64_t from, uint64_t to, enum state s)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < nwas[i]; k++) {
		uint64_t a = was[i][k].time, b = k + 1 < nwas[i] ? was[i][k + 1].time : UINT64_MAX;

		a = a < from ? from : a;
		b = b > to ? to : b;
		if (was[i][k].state == s && a < b)
			sum += b - a;
	}
	return sum;
}

static void check_part(const struct hwt_pair *p, unsigned part, enum state s)
{
	uint64_t true_time = spent(index_of(p->tid), p->from.time, p->to.time, s);

	/* what is not told is off-cpu or not known */
	assert_true(p->part[part].lo <= true_time);
	assert_true(p->part[part].hi + p->part[HWT_PART_AWAY].hi + p->part[HWT_PART_UNKNOWN].hi >=
		    true_time);
}

struct ends { const char *from; uint16_t begin, end; bool of_task; };

static bool is_of(const struct told *t, const struct ends *e, const struct hwt_pair *p)
{
	if (!e->of_task)
		return t->key == p->key % 0x1000;
	if (t->id == HWT_ID_sched_switch)
		return (e->begin == t->id && t->tid == p->tid) || t->about == p->tid;
	return (t->about ? t->about : t->tid) == p->tid;
}

/* No begin and no end of the same key lies between the two. */
static void check_pair(const struct ends *e, const struct hwt_pair *p)
{
	bool begun = false, ended = false;

	for (unsigned i = 0; i < ntold && told[i].time <= p->to.time; i++) {
		const struct told *t = &told[i];

		if (t->time < p->from.time || (t->id != e->begin && t->id != e->end) ||
		    !is_of(t, e, p) || (e->begin == HWT_ID_irq_entry && t->cpu != p->cpu))
			continue;
		begun |= t->time == p->from.time;
		ended |= t->time == p->to.time;
		assert_true(t->time == p->from.time || t->time == p->to.time);
	}
	assert_true(begun && ended);
	if (!p->split || !e->of_task)
		return;
	check_part(p, HWT_PART_RUN, RUN);
	check_part(p, HWT_PART_BLOCKED, BLOCKED);
	check_part(p, HWT_PART_READY, READY);
	check_part(p, HWT_PART_PREEMPTED, PREEMPTED);
	check_part(p, HWT_PART_IRQ, IRQ);
}

/* How long a task had a CPU between two instants. */
static uint64_t had_it(unsigned cpu, int32_t tid, uint64_t from, uint64_t to)
{
	uint64_t sum = 0;

	for (unsigned k = 0; k < nhad[cpu]; k++) {
		uint64_t a = had[cpu][k].time;
		uint64_t b = k + 1 < nhad[cpu] ? had[cpu][k + 1].time : UINT64_MAX;

		a = a < from ? from : a;
		b = b > to ? to : b;
		if (had[cpu][k].tid == tid && a < b)
			sum += b - a;
	}
	return sum;
}

static bool holds(struct hwt_interval v, uint64_t true_value)
{
	return v.lo <= true_value && true_value <= v.hi;
}

/* Who woke @tid at @at, and what that one had been doing since @from. */
static void check_link(const struct hwt_wait_link *l, int32_t tid, uint64_t from)
{
	uint64_t at = l->at.lo, run;
	unsigned i = 0, by;

	while (told[i].time != at || told[i].about != tid || told[i].id != HWT_ID_sched_waking)
		assert_true(++i < ntold);
	assert_int_equal(l->how, told_irq[i] ? HWT_WAKER_IRQ : HWT_WAKER_TASK);
	assert_true(l->certain);
	assert_int_equal(l->tid, told[i].tid);
	assert_int_equal(l->cpu, told[i].cpu);
	if (l->how != HWT_WAKER_TASK)
		return;
	by = index_of(l->tid);
	run = spent(by, from, at, RUN) + spent(by, from, at, IRQ);
	if (rule != ALL)
		assert_true(l->part[HWT_PART_RUN].lo <= run);
	if (rule != ALL || l->cut)
		return;
	assert_true(holds(l->part[HWT_PART_RUN], run));
	assert_true(holds(l->part[HWT_PART_BLOCKED], spent(by, from, at, BLOCKED)));
	assert_true(holds(l->part[HWT_PART_READY], spent(by, from, at, READY)));
	assert_true(holds(l->part[HWT_PART_PREEMPTED], spent(by, from, at, PREEMPTED)));
}

static unsigned nlinks[HWT_WAIT_LINKS + 1], nturns;

static void check_waits(const struct hwt_pairs *p, const struct hwt_pair *pair)
{
	struct hwt_wait v[HWT_WAITS];
	unsigned n = hwt_pairs_waits(p, pair, v, HWT_WAITS);

	for (unsigned i = 0; i < n; i++) {
		const struct hwt_wait *x = &v[i];

		assert_true(x->from.lo >= pair->from.time && x->to.hi <= pair->to.time);
		for (unsigned k = 0; k < x->nturns && x->cpu >= 0; k++) {
			uint64_t t = had_it((unsigned)x->cpu, x->turn[k].tid, x->from.lo, x->to.lo);

			if (x->turn[k].tid == HWT_NONE)
				continue;
			assert_true(x->turn[k].took.lo <= t);
			if (x->certain)
				assert_true(holds(x->turn[k].took, t));
			nturns += x->certain;
		}
		if (x->nlinks && x->part == HWT_PART_BLOCKED)
			check_link(&x->link[0], pair->tid, x->from.lo);
		nlinks[x->nlinks]++;
	}
}

/* Pairs of @e, and those that are certain; of the recorded tasks, and of others. */
static void measure(struct hwt_session *s, const struct ends *e, unsigned all[2],
		    unsigned certain[2])
{
	struct hwt_pairs_opts o = { .size = sizeof(o), .from = e->from,
		.waits = true };
	struct hwt_stream *in;
	struct hwt_event ev[16];
	struct hwt_pairs *p;
	struct hwt_pair pair;
	int n;

	assert_int_equal(hwt_pairs_new(&p, s, &o, NULL), 0);
	assert_int_equal(hwt_session_kernel(s, &in, NULL), 0);
	while ((n = hwt_stream_next(in, ev, 16)) > 0)
		for (int i = 0; i < n; i++) {
			bool of_own;

			if (hwt_pairs_event(p, &ev[i], &pair) != 1)
				continue;
			of_own = own(pair.tid);
			all[!of_own]++;
			if (pair.tainted)
				continue;
			certain[!of_own]++;
			check_pair(e, &pair);
			check_waits(p, &pair);
		}
	hwt_pairs_free(p);
	hwt_stream_close(in);
}

static const struct ends points[] = {
	{ "sched.wakeup", HWT_ID_sched_wakeup, HWT_ID_sched_switch, true },
	{ "sched.switch", HWT_ID_sched_switch, HWT_ID_sched_switch, true },
	{ "syscall.enter", HWT_ID_syscall_enter, HWT_ID_syscall_exit, true },
	{ "irq.entry", HWT_ID_irq_entry, HWT_ID_irq_exit, false },
	{ "block.issue", HWT_ID_block_issue, HWT_ID_block_complete, false },
};

/* Number of the pairs and of the certain ones of each kind, for a few machines. */
static void count(enum rule by, unsigned k, unsigned all[2], unsigned certain[2])
{
	memset(all, 0, 2 * sizeof(*all));
	memset(certain, 0, 2 * sizeof(*certain));
	for (int i = 0; i < 3; i++) {
		struct hwt_session *s = run(by);

		measure(s, &points[k], all, certain);
		hwt_session_close(s);
	}
	print_message("%s: %u of %u, of others %u of %u\n", points[k].from, certain[0], all[0],
		      certain[1], all[1]);
}

/* Switches and wakeups of its tasks, whoever makes them, and what they do themselves. */
static void what_concerns_them(void **state)
{
	unsigned all[2], certain[2];

	for (unsigned k = 0; k < 5; k++) {
		count(CONCERNS, k, all, certain);
		assert_true(all[0] > 100);
		assert_int_equal(certain[1], 0);
		/* a request may end while another one runs, of the rest nothing is missing */
		assert_int_equal(certain[0], k == 4 ? 0 : all[0]);
	}
}

static void what_is_told_while_they_run(void **state)
{
	unsigned all[2], certain[2];

	for (unsigned k = 0; k < 5; k++) {
		count(INSIDE, k, all, certain);
		assert_int_equal(certain[1], 0);
		assert_int_equal(certain[0], k == 4 ? 0 : all[0]);
	}
}

static void of_all_tasks_everything_is_certain(void **state)
{
	unsigned all[2], certain[2];

	for (unsigned k = 0; k < 5; k++) {
		count(ALL, k, all, certain);
		assert_int_equal(certain[0] + certain[1], all[0] + all[1]);
	}
	print_message("links %u %u %u, turns %u\n", nlinks[1], nlinks[2], nlinks[3], nturns);
	assert_true(nlinks[1] > 100 && nlinks[2] > 100 && nlinks[3] > 50 && nturns > 1000);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(what_concerns_them),
		cmocka_unit_test(what_is_told_while_they_run),
		cmocka_unit_test(of_all_tasks_everything_is_certain),
	};

	return cmocka_run_group_tests(t, scratch_make, scratch_drop);
}
