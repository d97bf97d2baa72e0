/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders by hand: what a late or early clock makes of wakeups, forks and runs. Simulated schedulers
 * are in tests/prop.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/order.h"

#define MS	1000000ull
#define MAX	4096

struct one {
	uint64_t time;
	int cpu;
	union {
		struct hwt_rec rec;
		struct hwt_rec_sched_switch sw;
		struct hwt_rec_sched_wakeup wake;
		struct hwt_rec_irq_ipi_send send;
		struct hwt_rec_irq_entry irq;
	} u;
};

static struct one v[MAX];
static size_t n;
static uint32_t span;	/* ns, of all times */

static struct one *put(uint64_t time, int cpu, unsigned id, size_t size)
{
	struct one *e = &v[n++];

	memset(e, 0, sizeof(*e));
	e->time = time;
	e->cpu = cpu;
	e->u.rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1 };
	return e;
}

static void turn(uint64_t time, int cpu, int prev, int next)
{
	struct one *e = put(time, cpu, HWT_ID_sched_switch, sizeof(e->u.sw));

	e->u.sw.prev_tid = prev;
	e->u.sw.next_tid = next;
	e->u.sw.prev_state = HWT_task_state_sleep;
}

static void wake(uint64_t time, int cpu, int tid, unsigned id)
{
	struct one *e = put(time, cpu, id, sizeof(e->u.wake));

	e->u.wake.wake_tid = tid;
	e->u.wake.target_cpu = 1;
}

static int by_time(const void *a, const void *b)
{
	const struct one *x = a, *y = b;

	return x->time < y->time ? -1 : x->time > y->time;
}

/* With the clock of @cpu off by @ns. */
static struct order *look(int cpu, int64_t ns)
{
	struct order *o;

	for (size_t i = 0; i < n; i++)
		v[i].time += v[i].cpu == cpu ? (uint64_t)ns : 0;
	qsort(v, n, sizeof(v[0]), by_time);
	assert_int_equal(order_new(&o), 0);
	for (size_t i = 0; i < n; i++) {
		struct hwt_event ev = { .type = HWT_EV_RECORD, .time = v[i].time, .cpu = v[i].cpu,
			.pid = HWT_NONE, .tid = HWT_NONE, .off = i, .span = span };

		ev.u.rec.data = &v[i].u;
		ev.u.rec.size = v[i].u.rec.size;
		ev.u.rec.id = v[i].u.rec.id;
		assert_int_equal(order_event(o, &ev), 0);
	}
	order_end(o);
	return o;
}

/* CPU 0 wakes a task of CPU 1, again and again: it comes 3 us later, and its wakeup 1 us later. */
static void wakeups(void)
{
	n = 0;
	for (unsigned k = 1; k <= 40; k++) {
		wake(k * MS, 0, 7, HWT_ID_sched_waking);
		wake(k * MS + 1000, 1, 7, HWT_ID_sched_wakeup);
		turn(k * MS + 3000, 1, 0, 7);
		turn(k * MS + 400000, 1, 7, 0);
	}
}

static void test_right(void **state)
{
	struct hwt_order_sum sum;
	struct order *o;

	(void)state;
	wakeups();
	o = look(0, 0);
	order_sum(o, &sum);
	assert_int_equal(sum.nfindings, 0);
	assert_null(order_finding(o, 0));
	/* the first sleep was not seen to begin */
	assert_int_equal(sum.edges[HWT_ORDER_WAKING_WAKEUP], 39);
	assert_int_equal(sum.edges[HWT_ORDER_WAKE_RUN], 39);
	assert_int_equal(sum.broken[HWT_ORDER_WAKE_RUN], 0);
	/* only one direction is bounded */
	assert_int_equal(sum.best, HWT_TIME_UNKNOWN);
	order_free(o);
}

static void test_late(void **state)
{
	const struct hwt_order_finding *f;
	struct hwt_order_sum sum;
	struct order *o;
	char text[400];

	(void)state;
	wakeups();
	o = look(0, 20000);
	order_sum(o, &sum);
	assert_int_equal(sum.nfindings, 1);
	f = order_finding(o, 0);
	/* two CPUs: one of them, by 20 us less the 1 us that it takes */
	assert_int_equal(f->kind, HWT_ORDER_PAIR);
	assert_int_equal(f->cpu, 0);
	assert_int_equal(f->other, 1);
	assert_int_equal(f->least, 19000);
	assert_int_equal(f->rule, HWT_ORDER_WAKING_WAKEUP);
	assert_int_equal(f->a.cpu, 0);
	assert_int_equal(f->b.cpu, 1);
	assert_true(f->a.lo > f->b.hi);
	assert_true(hwt_order_text(f, text, sizeof(text)) < sizeof(text));
	assert_non_null(strstr(text, "the clock of cpu 0 is ahead, or that of cpu 1 behind, by "
			       "19000 ns at least"));
	assert_int_equal(hwt_order_text(f, NULL, 0), strlen(text));
	order_free(o);
}

/* Times that are 500 ns wide: what they may be is no contradiction, and counts for the clock. */
static void test_vague(void **state)
{
	static const struct { int64_t ns; size_t findings; uint64_t least; } c[] = {
		{ 1000, 0, 0 }, { 1500, 0, 0 }, { 1501, 1, 1 }, { 2000, 1, 500 } };
	struct hwt_order_sum sum;
	struct order *o;

	(void)state;
	span = 500;
	for (size_t i = 0; i < sizeof(c) / sizeof(c[0]); i++) {
		wakeups();
		o = look(0, c[i].ns);
		order_sum(o, &sum);
		assert_int_equal(sum.nfindings, c[i].findings);
		if (sum.nfindings)
			assert_int_equal(order_finding(o, 0)->least, c[i].least);
		order_free(o);
	}
	span = 0;
}

/*
 * Four CPUs, and a task that runs for 5 us goes round. What CPU 2 does is stamped 20 us early, so
 * its turns there stand before their wakeup, and behind the one that sent it to CPU 1.
 */
static void test_not_swapped(void **state)
{
	struct hwt_order_sum sum;
	struct order *o;

	(void)state;
	n = 0;
	for (unsigned k = 1; k <= 200; k++) {
		int from = (int)(k % 4), to = (int)((k + 1) % 4);

		turn(k * MS, from, 0, 5);
		wake(k * MS + 1000, from, 6, HWT_ID_sched_waking);
		wake(k * MS + 1100, from, 6, HWT_ID_sched_wakeup);
		v[n - 1].u.wake.target_cpu = (uint32_t)to;
		turn(k * MS + 1500, to, 0, 6);
		turn(k * MS + 5000, from, 5, 0);
		wake(k * MS + 5500, to, 5, HWT_ID_sched_waking);
		wake(k * MS + 5600, to, 5, HWT_ID_sched_wakeup);
		v[n - 1].u.wake.target_cpu = (uint32_t)to;
		turn(k * MS + 6000, to, 6, 0);
	}
	o = look(2, -20000);
	order_sum(o, &sum);
	for (size_t i = 0; i < sum.nfindings; i++)
		assert_int_not_equal(order_finding(o, i)->kind, HWT_ORDER_SWAPPED);
	order_free(o);
}

/* Wakeups both ways: 1 us from CPU 0 to CPU 1, 2 us back. No shift of 3 us or more is possible. */
static void test_apart(void **state)
{
	struct hwt_order_sum sum;
	struct order *o;

	(void)state;
	for (int64_t ns = -500; ns <= 1000; ns += 500) {
		wakeups();
		for (unsigned k = 1; k <= 40; k++) {
			wake(k * MS + 600000, 1, 8, HWT_ID_sched_waking);
			wake(k * MS + 602000, 0, 8, HWT_ID_sched_wakeup);
			turn(k * MS + 603000, 0, 0, 8);
			turn(k * MS + 900000, 0, 8, 0);
		}
		o = look(0, ns);
		order_sum(o, &sum);
		assert_int_equal(sum.nfindings, 0);
		assert_int_equal(sum.best, 3000);
		assert_int_equal(sum.median, 3000);
		order_free(o);
	}
}

/* A third CPU that agrees with CPU 1: then it is CPU 0. */
static void test_named(void **state)
{
	const struct hwt_order_finding *f;
	struct order *o;

	(void)state;
	wakeups();
	for (unsigned k = 1; k <= 40; k++) {
		wake(k * MS + 200000, 0, 8, HWT_ID_sched_waking);
		wake(k * MS + 201000, 2, 8, HWT_ID_sched_wakeup);
		turn(k * MS + 202000, 2, 0, 8);
		turn(k * MS + 330000, 2, 8, 0);
		/* 1 and 2 wake each other's */
		wake(k * MS + 400000, 2, 9, HWT_ID_sched_waking);
		wake(k * MS + 401000, 1, 9, HWT_ID_sched_wakeup);
		turn(k * MS + 402000, 1, 0, 9);
		turn(k * MS + 530000, 1, 9, 0);
		wake(k * MS + 600000, 1, 10, HWT_ID_sched_waking);
		wake(k * MS + 601000, 2, 10, HWT_ID_sched_wakeup);
		turn(k * MS + 602000, 2, 0, 10);
		turn(k * MS + 730000, 2, 10, 0);
	}
	o = look(0, 20000);
	f = order_finding(o, 0);
	assert_non_null(f);
	assert_int_equal(f->kind, HWT_ORDER_SKEW);
	assert_int_equal(f->cpu, 0);
	assert_false(f->early);
	assert_int_equal(f->least, 19000);
	assert_null(order_finding(o, 1));
	order_free(o);
}

/* What was lost may have been a wakeup: nothing is said across it. */
static void test_lost(void **state)
{
	struct hwt_order_sum sum;
	struct order *o;

	(void)state;
	wakeups();
	for (unsigned k = 1; k <= 40; k++)
		put(k * MS + 1500, 0, HWT_ID_stream_lost, sizeof(struct hwt_rec_stream_lost));
	o = look(0, 20000);
	order_sum(o, &sum);
	assert_int_equal(sum.edges[HWT_ORDER_WAKE_RUN], 0);
	assert_int_equal(sum.nfindings, 0);
	order_free(o);
}

/* An interrupt that is sent comes; two that are sent together may come as one. */
static void test_ipi(void **state)
{
	struct hwt_order_sum sum;
	struct order *o;

	(void)state;
	wakeups();
	for (unsigned k = 1; k <= 40; k++) {
		struct one *e = put(k * MS + 500000, 0, HWT_ID_irq_ipi_send, sizeof(e->u.send));

		e->u.send.kind = 2;
		e->u.send.cpus = 2;
		e = put(k * MS + 502000, 1, HWT_ID_irq_entry, sizeof(e->u.irq));
		e->u.irq.kind = 2;
	}
	o = look(0, 0);
	order_sum(o, &sum);
	assert_int_equal(sum.edges[HWT_ORDER_IPI], 38);
	assert_int_equal(sum.broken[HWT_ORDER_IPI], 0);
	order_free(o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_right),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_vague),
		cmocka_unit_test(test_apart),
		cmocka_unit_test(test_not_swapped),
		cmocka_unit_test(test_named),
		cmocka_unit_test(test_lost),
		cmocka_unit_test(test_ipi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
