/* SPDX-License-Identifier: BSD-2-Clause */
/* What tasks do, from records written here: on its CPU is one only from a switch to it on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/analysis/task.h"

#define US 1000u

static struct tasks t;
static uint8_t was[64];		/* of tasks: what they did before they last changed */

static void apply(const struct hwt_event *ev)
{
	struct task_change c[TASK_CHANGES];
	int n = tasks_event(&t, ev, c);

	assert_in_range(n, 0, TASK_CHANGES);
	for (int i = 0; i < n; i++) {
		was[c[i].task->tid % 64] = c[i].was;
		task_apply(&c[i]);
	}
}

static void event(unsigned id, struct hwt_rec *r, size_t size, uint64_t at, int32_t cpu,
		  int32_t tid)
{
	struct hwt_event ev = { .time = at, .type = HWT_EV_RECORD, .cpu = cpu, .pid = tid,
		.tid = tid };

	*r = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1,
		.pid = tid, .tid = tid };
	ev.u.rec.data = r;
	ev.u.rec.size = (uint32_t)size;
	ev.u.rec.id = id;
	apply(&ev);
}

static void turn(uint64_t at, int32_t cpu, int32_t prev, int32_t next)
{
	struct hwt_rec_sched_switch s = { .prev_pid = prev, .prev_tid = prev, .next_pid = next,
		.next_tid = next, .prev_state = HWT_task_state_sleep };

	event(HWT_ID_sched_switch, &s.rec, sizeof(s), at, cpu, prev);
}

static void wake(uint64_t at, int32_t cpu, int32_t by, int32_t tid)
{
	struct hwt_rec_sched_wakeup w = { .wake_pid = tid, .wake_tid = tid };

	event(HWT_ID_sched_wakeup, &w.rec, sizeof(w), at, cpu, by);
}

static void seen(uint64_t at, int32_t cpu, int32_t tid)
{
	struct hwt_rec_syscall_exit x = { .nr = 1 };

	event(HWT_ID_syscall_exit, &x.rec, sizeof(x), at, cpu, tid);
}

static unsigned part(int32_t tid)
{
	return tasks_get(&t, tid)->part;
}

/* As a stepping recorder does it: the kernel tells no switch to the task that it woke. */
static void seen_only(void **state)
{
	(void)state;
	turn(1 * US, 1, 10, 11);
	assert_int_equal(part(11), HWT_PART_RUN);
	wake(2 * US, 1, 11, 10);
	assert_int_equal(part(10), HWT_PART_READY);
	seen(3 * US, 1, 10);
	assert_int_equal(part(10), HWT_PART_UNKNOWN);
	assert_int_equal(part(11), HWT_PART_AWAY);
	/* another comes there: who was seen last is gone, whoever the switch says left */
	turn(4 * US, 1, 12, 11);
	assert_int_equal(part(10), HWT_PART_AWAY);
	assert_int_equal(part(11), HWT_PART_RUN);
	tasks_free(&t);
}

/* One whose switch out is missing is not there beside the next one; and may come again. */
static void missing_switch(void **state)
{
	(void)state;
	turn(1 * US, 0, 20, 21);
	turn(2 * US, 0, 22, 23);
	assert_int_equal(part(21), HWT_PART_AWAY);
	assert_int_equal(part(23), HWT_PART_RUN);
	turn(3 * US, 0, 22, 23);
	assert_int_equal(part(23), HWT_PART_RUN);
	seen(4 * US, 0, 23);
	assert_int_equal(part(23), HWT_PART_RUN);
	/* it is seen elsewhere: nobody told that it came there */
	seen(5 * US, 1, 23);
	assert_int_equal(part(23), HWT_PART_UNKNOWN);
	tasks_free(&t);
}

static void flow(unsigned type, uint64_t at, int32_t cpu, int32_t tid)
{
	struct hwt_event ev = { .time = at, .type = (uint16_t)type, .cpu = cpu, .pid = tid,
		.tid = tid };

	apply(&ev);
}

/* What executes is on a CPU, as far as its instructions are seen; the kernel's word comes first. */
static void executes(void **state)
{
	(void)state;
	turn(1 * US, 0, 50, 51);
	flow(HWT_EV_ON, 2 * US, 1, 52);
	assert_int_equal(part(52), HWT_PART_RUN);
	seen(3 * US, 1, 52);
	assert_int_equal(part(52), HWT_PART_RUN);
	flow(HWT_EV_OFF, 4 * US, 1, 52);
	assert_int_equal(part(52), HWT_PART_UNKNOWN);
	flow(HWT_EV_ON, 5 * US, 1, 52);
	/* another one's instructions on that CPU: it left, and nobody told when */
	flow(HWT_EV_ON, 6 * US, 1, 53);
	assert_int_equal(part(52), HWT_PART_UNKNOWN);
	assert_int_equal(part(53), HWT_PART_RUN);
	flow(HWT_EV_GAP, 7 * US, 1, HWT_NONE);
	assert_int_equal(part(53), HWT_PART_UNKNOWN);
	/* on its CPU by a switch, and in the kernel */
	flow(HWT_EV_ON, 8 * US, 0, 51);
	flow(HWT_EV_OFF, 9 * US, 0, 51);
	assert_int_equal(part(51), HWT_PART_RUN);
	turn(10 * US, 0, 51, 50);
	flow(HWT_EV_ON, 10 * US, 0, 51);
	assert_int_equal(part(51), HWT_PART_BLOCKED);
	tasks_free(&t);
}

static void hole(int32_t cpu)
{
	struct hwt_event ev = { .type = HWT_EV_GAP, .cpu = cpu, .pid = HWT_NONE, .tid = HWT_NONE };
	struct task_change c[TASK_CHANGES];

	assert_int_equal(tasks_event(&t, &ev, c), 0);
}

/* A hole counts for who may have been in it; that one comes or goes is none. */
static void holes(void **state)
{
	struct task *k;
	uint64_t n;

	(void)state;
	hole(0);
	turn(1 * US, 0, 30, 31);
	k = tasks_get(&t, 31);
	n = tasks_holes(&t, k);
	turn(2 * US, 0, 31, 32);
	assert_int_equal(tasks_holes(&t, k), n);
	hole(0);		/* it sleeps */
	turn(3 * US, 0, 32, 31);
	assert_int_equal(tasks_holes(&t, k), n);
	hole(1);
	assert_int_equal(tasks_holes(&t, k), n);
	hole(0);
	assert_int_equal(tasks_holes(&t, k), n + 1);
	turn(4 * US, 0, 31, 30);
	turn(5 * US, 1, 30, 31);
	assert_int_equal(tasks_holes(&t, k), n + 1);
	hole(1);
	assert_int_equal(tasks_holes(&t, k), n + 2);
	hole(HWT_NONE);
	assert_int_equal(tasks_holes(&t, k), n + 3);
	tasks_free(&t);
}

/*
 * Linux tells sched.waking of a task that is about to sleep, and then the switch that says so: it
 * does not wait, it is ready. With no record that it was woken, nobody knows how long it waited.
 */
static void waking_first(void **state)
{
	(void)state;
	turn(1 * US, 0, 41, 40);
	wake(2 * US, 1, 42, 40);
	turn(3 * US, 0, 40, 41);
	assert_int_equal(part(40), HWT_PART_BLOCKED);
	turn(9 * US, 0, 41, 40);
	assert_int_equal(was[40], HWT_PART_AWAY);
	turn(10 * US, 0, 40, 41);
	wake(11 * US, 1, 42, 40);
	assert_int_equal(was[40], HWT_PART_BLOCKED);
	tasks_free(&t);
}

/* A switch to one that was thought to run there: it was away since another one came unseen. */
static void away_between(void **state)
{
	(void)state;
	turn(1 * US, 0, 41, 40);
	turn(9 * US, 0, 43, 40);
	assert_int_equal(part(40), HWT_PART_RUN);
	assert_int_equal(was[40], HWT_PART_AWAY);
	tasks_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seen_only),
		cmocka_unit_test(missing_switch),
		cmocka_unit_test(executes),
		cmocka_unit_test(holes),
		cmocka_unit_test(waking_first),
		cmocka_unit_test(away_between),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
