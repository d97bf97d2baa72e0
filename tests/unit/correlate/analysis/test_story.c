/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Who had the CPU that a task waited for, from records written here, and the same with one of them
 * lost: what was there is known, so what is called certain must be it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/analysis/story.h"

enum { A = 21, B, C, D };

static struct tasks t;
static struct story *s;

static void event(unsigned id, void *rec, size_t size, uint64_t at, int32_t cpu, int32_t tid)
{
	struct hwt_event ev = { .time = at, .type = HWT_EV_RECORD, .cpu = cpu, .pid = tid,
		.tid = tid };
	struct task_change c[TASK_CHANGES];
	struct hwt_rec *r = rec;
	int n;

	*r = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1,
		.pid = tid, .tid = tid };
	ev.u.rec.data = r;
	ev.u.rec.size = (uint32_t)size;
	ev.u.rec.id = id;
	n = tasks_event(&t, &ev, c);
	assert_in_range(n, 0, TASK_CHANGES);
	assert_int_equal(story_event(s, &ev), 0);
	for (int i = 0; i < n; i++) {
		assert_int_equal(story_change(s, &ev, &c[i]), 0);
		task_apply(&c[i]);
	}
}

static void turn(uint64_t at, int32_t prev, int32_t next)
{
	struct hwt_rec_sched_switch r = { .prev_pid = prev, .prev_tid = prev, .next_pid = next,
		.next_tid = next, .prev_state = HWT_task_state_sleep };

	event(HWT_ID_sched_switch, &r, sizeof(r), at, 0, prev);
}

static void wake(uint64_t at, int32_t by, int32_t tid)
{
	struct hwt_rec_sched_wakeup r = { .wake_pid = tid, .wake_tid = tid, .target_cpu = 0 };

	event(HWT_ID_sched_wakeup, &r, sizeof(r), at, 0, by);
}

static void lose(uint64_t at, int32_t cpu)
{
	struct hwt_rec_stream_lost r = { .count = 1 };

	event(HWT_ID_stream_lost, &r, sizeof(r), at, cpu, HWT_NONE);
}

enum what { WHOLE, SILENT, TOLD, TOLD_BACK, TOLD_ELSEWHERE, TOLD_NOWHERE, CASES };

/*
 * B is woken at 2000 and waits: A has the CPU up to 3000, C up to 4000, A again up to 5000, when B
 * comes. What B waited for, as the story has it.
 */
static struct hwt_wait wait_of(enum what what)
{
	const struct hwt_interval from = { 1000, 1000 }, to = { 6000, 6000 };
	struct hwt_wait w[HWT_WAITS];
	unsigned n;

	assert_int_equal(story_new(&s, &t), 0);
	turn(500, B, D);
	turn(1000, D, A);
	wake(2000, A, B);
	/* the records of both switches are lost: what is left joins */
	if (what == TOLD_BACK) {
		lose(2500, 0);
	} else {
		/* the switch to C is: C leaves, which had not come */
		if (what == TOLD)
			lose(2500, 0);
		else if (what != SILENT)
			turn(3000, A, C);
		if (what == TOLD_ELSEWHERE || what == TOLD_NOWHERE)
			lose(3500, what == TOLD_NOWHERE ? HWT_NONE : 1);
		turn(4000, C, A);
	}
	turn(5000, A, B);
	wake(5500, B, A);
	n = story_waits(s, B, from, to, "", w, HWT_WAITS);
	for (unsigned i = 0; i < n; i++)
		if (w[i].part == HWT_PART_READY) {
			story_free(s);
			tasks_free(&t);
			return w[i];
		}
	fail_msg("no wait");
	return w[0];
}

static struct hwt_interval had(const struct hwt_wait *w, int32_t tid)
{
	for (unsigned i = 0; i < w->nturns; i++)
		if (w->turn[i].tid == tid)
			return w->turn[i].took;
	return (struct hwt_interval){ 0, 0 };
}

static void lost_turn(void **state)
{
	(void)state;
	for (enum what what = WHOLE; what < CASES; what++) {
		struct hwt_wait w = wait_of(what);
		struct hwt_interval a = had(&w, A), c = had(&w, C), other = had(&w, HWT_NONE);

		assert_int_equal(w.took.lo, 3000);
		assert_int_equal(w.took.hi, 3000);
		assert_int_equal(w.certain, what == WHOLE || what == TOLD_ELSEWHERE);
		/* 2000 and 1000 of 3000: in what is told of each, or in what nobody is told of */
		assert_true(a.lo <= 2000 && c.lo <= 1000);
		if (w.certain) {
			assert_int_equal(a.lo, 2000);
			assert_int_equal(a.hi, 2000);
			assert_int_equal(c.lo, 1000);
			assert_int_equal(c.hi, 1000);
			assert_int_equal(other.hi, 0);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(lost_turn) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
