/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads that move between CPUs, each with a buffer of its own. A program that is made up here
 * calls, returns and moves; its true instants are known. The analysis gets the buffers merged by
 * the lower bounds of times that hold the true ones. What it says for certain must be so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/timeline.h>

#include "correlate/analysis/calls.h"
#include "tests/support/evlist.h"
#include "tests/support/rnd.h"

#define EVENTS	12000
#define CPUS	3
#define THREADS	2
#define DEPTH	12

struct open { uint64_t func, at, enter; unsigned number; };
struct thread { struct open v[DEPTH]; unsigned n; int32_t cpu; };

static struct hwt_event evs[EVENTS];
static struct { uint64_t func, enter, leave; int32_t tid; } calls[EVENTS];
static unsigned n, ncalls;
static uint64_t now, reached[CPUS];
static unsigned width;
static bool shared, nobody;	/* one buffer of all CPUs; whose a hole is, is not known */

static uint64_t func(void *ctx, const struct hwt_event *ev, uint64_t addr)
{
	(void)ctx;
	(void)ev;
	return addr & ~(uint64_t)0xfff;
}

/* At the true instant @now, which the event's interval holds; times of a buffer never go back. */
static struct hwt_event *emit(unsigned type, const struct thread *t, int32_t tid)
{
	uint64_t lo = now - (width ? rnd() % width : 0), hi = now + (width ? rnd() % width : 0);
	struct hwt_event *ev = &evs[n++];

	lo = lo > reached[t->cpu] ? lo : reached[t->cpu];
	reached[t->cpu] = lo;
	*ev = (struct hwt_event){ .time = lo, .span = (uint32_t)(hi - lo), .type = (uint16_t)type,
		.cpu = t->cpu, .pid = 7, .tid = tid, .off = n,
		.src = shared ? 0 : (uint32_t)t->cpu };
	return ev;
}

static void edge(struct hwt_event *ev, uint64_t from, uint64_t to, unsigned kind)
{
	ev->u.edge.from = from;
	ev->u.edge.to = to;
	ev->u.edge.kind = (uint8_t)kind;
	ev->u.edge.last_size = 5;
}

static void call(struct thread *t, int32_t tid)
{
	struct open *top = &t->v[t->n - 1], *o = &t->v[t->n++];

	*o = (struct open){ .func = 0x1000 * (1 + rnd() % 6), .enter = now, .number = ncalls++ };
	o->at = o->func + 0x10;
	calls[o->number].func = o->func;
	calls[o->number].enter = now;
	calls[o->number].tid = tid;
	top->at += 0x10;
	if ((top->at & 0xfff) > 0xe00)
		top->at = top->func + 0x20;
	edge(emit(HWT_EV_CALL, t, tid), top->at, o->func, HWT_INSN_CALL);
}

static void ret(struct thread *t, int32_t tid)
{
	const struct open *o = &t->v[--t->n];

	calls[o->number].leave = now;
	edge(emit(HWT_EV_RETURN, t, tid), o->at, t->v[t->n - 1].at + 5, HWT_INSN_RETURN);
}

/* To another CPU, while nothing runs there; it takes @away. */
static void move(struct thread *t, int32_t tid, uint64_t away)
{
	emit(HWT_EV_OFF, t, tid)->u.at.addr = t->v[t->n - 1].at + 7;
	now += away;
	t->cpu = (t->cpu + 1 + (int32_t)(rnd() % (CPUS - 1))) % CPUS;
	emit(HWT_EV_ON, t, tid)->u.at.addr = t->v[t->n - 1].at + 7;
}

static int by_time(const void *a, const void *b)
{
	const struct hwt_event *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->cpu != y->cpu)
		return x->cpu < y->cpu ? -1 : 1;
	return x->off < y->off ? -1 : 1;
}

/* In the order that merge.c makes. */
static void program(uint64_t away, unsigned holes)
{
	struct thread t[THREADS] = { { .n = 1, .cpu = 0 }, { .n = 1, .cpu = 1 } };

	n = ncalls = 0;
	now = 1000000;
	memset(reached, 0, sizeof(reached));
	for (int i = 0; i < THREADS; i++) {
		t[i].v[0] = (struct open){ .func = 0x8000, .at = 0x8010 };
		emit(HWT_EV_ON, &t[i], 10 + i)->u.at.addr = 0x8010;
	}
	while (n < EVENTS - 8) {
		struct thread *k = &t[rnd() % THREADS];
		int32_t tid = 10 + (int32_t)(k - t);

		now += 1 + rnd() % 20;
		if (holes && rnd() % holes == 0) {
			emit(HWT_EV_GAP, k, nobody ? HWT_NONE : tid)->u.gap.cause =
				HWT_GAP_OVERFLOW;
			/* what it does meanwhile is lost, a move too */
			for (unsigned was = n, i = rnd() % 6; i; i--, n = was) {
				now += 5;
				if (k->n < DEPTH && rnd() % 2)
					call(k, tid);
				else if (k->n > 1)
					ret(k, tid);
			}
			emit(HWT_EV_ON, k, tid)->u.at.addr = k->v[k->n - 1].at + 7;
		} else if (rnd() % 25 == 0) {
			move(k, tid, away);
		} else if (k->n < DEPTH && (k->n == 1 || rnd() % 2)) {
			call(k, tid);
		} else {
			ret(k, tid);
		}
	}
	qsort(evs, n, sizeof(evs[0]), by_time);
}

/* Calls that end where one says so, and began where it says. */
static bool is_true(const struct hwt_call *o)
{
	for (unsigned i = 0; i < ncalls; i++)
		if (calls[i].leave && calls[i].tid == o->ev.tid && calls[i].func == o->func &&
		    o->ev.time <= calls[i].leave && calls[i].leave <= hwt_event_end(&o->ev) &&
		    o->enter_time <= calls[i].enter &&
		    calls[i].enter <= o->enter_time + o->enter_span)
			return true;
	return false;
}

/* How many of 100 calls that ended are told for certain. */
static unsigned told(uint64_t away, unsigned w, unsigned holes)
{
	struct hwt_calls *c;
	struct hwt_call o;
	unsigned certain = 0, ended = 0;

	width = w;
	program(away, holes);
	assert_int_equal(calls_new(&c, func, NULL, evlist(evs, n)), 0);
	calls_merged(c);
	while (hwt_calls_next(c, &o) > 0) {
		if (o.what != HWT_CALL_LEAVE || o.tainted || o.inferred ||
		    o.why != HWT_WHY_RETURN)
			continue;
		if (!is_true(&o))
			fail_msg("width %u, holes %u: tid %d left %llx at %llu..%u, entered at "
				 "%llu", w, holes, o.ev.tid, (unsigned long long)o.func,
				 (unsigned long long)o.ev.time, o.ev.span,
				 (unsigned long long)o.enter_time);
		certain++;
	}
	for (unsigned i = 0; i < ncalls; i++)
		ended += calls[i].leave != 0;
	memset(calls, 0, sizeof(calls));
	hwt_calls_free(c);
	print_message("away %u, width %u, holes %u: %u of %u certain\n", (unsigned)away, w, holes,
		      certain, ended);
	return certain * 100 / ended;
}

/* Of no CPU: the CPUs of its buffer were not seen, those of others were. */
static void of_all(void **state)
{
	static const struct { uint32_t src; int32_t cpu, tid; unsigned type; } v[] = {
		{ 0, 0, 10, HWT_EV_CALL }, { 0, 1, 11, HWT_EV_CALL }, { 1, 2, 12, HWT_EV_CALL },
		{ 0, HWT_NONE, HWT_NONE, HWT_EV_GAP }, { 0, 0, 10, HWT_EV_RETURN },
		{ 0, 1, 11, HWT_EV_RETURN }, { 1, 2, 12, HWT_EV_RETURN },
	};
	struct hwt_calls *c;
	struct hwt_call o;
	unsigned left = 0;

	(void)state;
	for (n = 0; n < sizeof(v) / sizeof(v[0]); n++) {
		evs[n] = (struct hwt_event){ .type = (uint16_t)v[n].type, .time = 100 + 10 * n,
			.cpu = v[n].cpu, .tid = v[n].tid, .pid = v[n].tid, .src = v[n].src };
		if (v[n].type == HWT_EV_CALL)
			edge(&evs[n], 0x1010, 0x2000, HWT_INSN_CALL);
		else if (v[n].type == HWT_EV_RETURN)
			edge(&evs[n], 0x2010, 0x1015, HWT_INSN_RETURN);
	}
	assert_int_equal(calls_new(&c, func, NULL, evlist(evs, n)), 0);
	calls_merged(c);
	while (hwt_calls_next(c, &o) > 0)
		if (o.what == HWT_CALL_LEAVE && o.func == 0x2000) {
			assert_int_equal(o.tainted, o.ev.tid != 12);
			left++;
		}
	assert_int_equal(left, 3);
	hwt_calls_free(c);
}

static void follows_shared(void **state)
{
	shared = nobody = true;
	assert_int_equal(told(100, 40, 0), 100);
	assert_true(told(100, 40, 200) > 60);
	told(1, 60, 200);
	shared = false;
	told(100, 40, 200);
	told(0, 5, 50);
	nobody = false;
}

static void follows(void **state)
{
	(void)state;
	/* a move takes longer than times are wide: nothing is lost by it */
	assert_int_equal(told(100, 0, 0), 100);
	assert_int_equal(told(100, 40, 0), 100);
	assert_true(told(100, 40, 200) > 70);
	/* what is not certain is not told as if it were */
	assert_true(told(1, 60, 0) < 100);
	told(1, 60, 200);
	told(0, 5, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(follows),
		cmocka_unit_test(follows_shared), cmocka_unit_test(of_all) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
