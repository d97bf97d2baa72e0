/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "hwtrace/machine/machine.h"
#include "tests/support/rnd.h"

static void tasks(void **state)
{
	struct machine *m;
	int32_t pid, tid;

	assert_int_equal(machine_new(&m), 0);
	assert_int_equal(machine_pid(m, 5), HWT_NONE);
	assert_string_equal(machine_comm(m, 5), "");
	assert_int_equal(machine_set_comm(m, 5, "a\x01z", 16), 0);
	assert_int_equal(machine_pid(m, 5), HWT_NONE);
	assert_int_equal(machine_task(m, 4, 5), 0);
	assert_int_equal(machine_task(m, HWT_NONE, 5), 0);
	assert_int_equal(machine_pid(m, 5), 4);
	assert_string_equal(machine_comm(m, 5), "a\x01z");
	assert_int_equal(machine_set_comm(m, 5, "worker/0long", 8), 0);
	assert_string_equal(machine_comm(m, 5), "worker/0");
	for (int i = 0; i < 100000; i++)
		assert_int_equal(machine_task(m, i & ~7, i), 0);
	assert_int_equal(machine_tasks(m), 100000);
	machine_task_at(m, 99999, &pid, &tid);
	assert_int_equal(tid, 99999);
	assert_int_equal(pid, 99992);
	assert_int_equal(machine_pid(m, 99999), 99992);
	assert_string_equal(machine_comm(m, 5), "worker/0");
	machine_free(m);
	machine_free(NULL);
}

/* Names hold from their time on, whatever order they come in; a child begins with its parent's. */
static void names_of_times(void **state)
{
	struct machine *m;

	assert_int_equal(machine_new(&m), 0);
	assert_int_equal(machine_set_comm_at(m, 7, 50, "cat", 16), 0);
	assert_int_equal(machine_fork_comm(m, 8, 7, 40), 0);
	assert_int_equal(machine_fork_comm(m, 7, 5, 30), 0);
	assert_int_equal(machine_set_comm_at(m, 5, 20, "bash", 16), 0);
	assert_int_equal(machine_set_comm(m, 5, "sh", 16), 0);
	assert_int_equal(machine_set_comm_at(m, 5, 60, "sh", 16), 0);
	assert_int_equal(machine_see_comm(m, 6, 60, "kworker", 16), 0);
	assert_int_equal(machine_see_comm(m, 6, 70, "kworker", 16), 0);
	assert_int_equal(machine_default_comm(m, 9, "late", 16), 0);
	assert_int_equal(machine_default_comm(m, 10, "late", 16), 0);
	assert_int_equal(machine_see_comm(m, 10, 40, "early", 16), 0);
	assert_int_equal(machine_see_comm(m, 10, 60, "late", 16), 0);
	assert_int_equal(machine_fork_comm(m, 1, 2, 5), 0);	/* each other's parent */
	assert_int_equal(machine_fork_comm(m, 2, 1, 5), 0);
	assert_int_equal(machine_fork_comm(m, 3, 3, 5), 0);
	assert_string_equal(machine_comm_at(m, 5, 30), "sh");	/* not sorted: the last */
	machine_sort(m);
	assert_string_equal(machine_comm_at(m, 5, 0), "sh");
	assert_string_equal(machine_comm_at(m, 5, 19), "sh");
	assert_string_equal(machine_comm_at(m, 5, 20), "bash");
	assert_string_equal(machine_comm_at(m, 5, 60), "sh");
	assert_string_equal(machine_comm_at(m, 7, 29), "");
	assert_string_equal(machine_comm_at(m, 7, 49), "bash");
	assert_string_equal(machine_comm_at(m, 7, 50), "cat");
	assert_string_equal(machine_comm_at(m, 7, HWT_TIME_UNKNOWN), "cat");
	assert_string_equal(machine_comm_at(m, 8, 90), "bash");
	assert_string_equal(machine_comm_at(m, 6, 1), "kworker");
	assert_string_equal(machine_comm_at(m, 9, 1), "late");
	assert_string_equal(machine_comm(m, 9), "late");
	assert_string_equal(machine_comm_at(m, 10, 1), "early");
	assert_string_equal(machine_comm_at(m, 10, 60), "late");
	assert_string_equal(machine_comm_at(m, 1, 9), "");
	assert_string_equal(machine_comm_at(m, 3, 9), "");
	machine_free(m);
}

/*
 * Each CPU's switches are read by themselves: a name seen on one CPU before and after another one
 * that only the other CPU saw. And an exec that nothing names: what is seen next is its name.
 */
static void names_of_cpus(void **state)
{
	static const struct { uint64_t t; const char *name; } sees[] = {
		{ 10, "hwtrace" }, { 12, "hwtrace" }, { 100, "sh" }, { 110, "sh" },	/* CPU 0 */
		{ 40, "sh" }, { 50, "sh" },						/* CPU 1 */
		{ 20, "hwtrace" }, { 90, "sh" }, { 200, "x" },				/* CPU 2 */
		{ 120, "cat" }, { 130, "cat" },						/* CPU 3 */
	};
	static const struct { uint64_t t; const char *want; } asks[] = {
		{ 0, "hwtrace" }, { 25, "hwtrace" }, { 29, "hwtrace" }, { 30, "sh" }, { 39, "sh" },
		{ 60, "sh" }, { 99, "sh" }, { 119, "sh" }, { 121, "cat" }, { 199, "cat" },
		{ 200, "x" }, { HWT_TIME_UNKNOWN, "x" },
	};
	struct machine *m;

	assert_int_equal(machine_new(&m), 0);
	for (size_t i = 0; i < sizeof(sees) / sizeof(sees[0]); i++)
		assert_int_equal(machine_see_comm(m, 4, sees[i].t, sees[i].name, 16), 0);
	assert_int_equal(machine_renamed(m, 4, 30), 0);
	/* back and forth: what was between on the other CPU does not hold on */
	assert_int_equal(machine_see_comm(m, 5, 10, "a", 16), 0);
	assert_int_equal(machine_see_comm(m, 5, 100, "a", 16), 0);
	assert_int_equal(machine_see_comm(m, 5, 50, "b", 16), 0);
	/* renamed, and never seen again; a task that is only that */
	assert_int_equal(machine_renamed(m, 5, 300), 0);
	assert_int_equal(machine_renamed(m, 6, 300), 0);
	/* for all times: with or without its first exec; not behind another one */
	assert_int_equal(machine_set_comm(m, 7, "prog", 16), 0);
	assert_int_equal(machine_renamed(m, 7, 300), 0);
	assert_int_equal(machine_renamed(m, 7, 500), 0);
	machine_sort(m);
	for (size_t i = 0; i < sizeof(asks) / sizeof(asks[0]); i++)
		assert_string_equal(machine_comm_at(m, 4, asks[i].t), asks[i].want);
	assert_string_equal(machine_comm_at(m, 5, 20), "a");
	assert_string_equal(machine_comm_at(m, 5, 60), "b");
	assert_string_equal(machine_comm_at(m, 5, 100), "a");
	assert_string_equal(machine_comm_at(m, 5, 299), "a");
	assert_string_equal(machine_comm_at(m, 5, 400), "");
	assert_string_equal(machine_comm_at(m, 6, 400), "");
	assert_string_equal(machine_comm_at(m, 7, 10), "prog");
	assert_string_equal(machine_comm_at(m, 7, 400), "prog");
	assert_string_equal(machine_comm_at(m, 7, 500), "");
	machine_free(m);
}

/* "Is about to go" belongs to the next entry of its CPU, and to no other. */
static void about_to_go(void **state)
{
	/* the last: 2^24 - 1 ns are the most */
	static const uint64_t out[] = { 5, 20, 35, 51 };
	struct machine_cursor c;
	struct machine *m;

	assert_int_equal(machine_new(&m), 0);
	assert_int_equal(machine_switch_out(m, 1, 5), 0);
	assert_int_equal(machine_switch(m, 2, 7, 1, 1, 0), 0);
	assert_int_equal(machine_switch(m, 1, 10, 1, 1, 0), 0);
	assert_int_equal(machine_switch(m, 1, 20, 2, 2, 0), 0);
	assert_int_equal(machine_switch_out(m, 1, 40), 0);
	assert_int_equal(machine_switch(m, 1, 35, 1, 1, 0), 0);	/* later: of no use */
	assert_int_equal(machine_switch_out(m, 1, 40), 0);
	assert_int_equal(machine_switch(m, 1, 50 + 0x1000000, 2, 2, 0), 0);
	machine_sort(m);
	machine_cursor_init(&c, m, 1);
	for (unsigned i = 0; i < 4; i++) {
		assert_int_equal(machine_cursor_out(&c), out[i]);
		machine_cursor_step(&c);
	}
	assert_true(machine_cursor_out(&c) == HWT_TIME_UNKNOWN);
	machine_free(m);
}

static void schedule(void **state)
{
	static const struct { int32_t cpu; uint64_t t; int32_t tid; } in[] = {
		{ 0, 10, 1 }, { 3, 5, 2 }, { 0, 30, 2 }, { 0, 20, HWT_NONE }, { 0, 20, 7 },
		{ 1 << 30, 1, 9 }, { 0, 0, 4 },
	};
	static const int32_t want[] = { 4, 1, HWT_NONE, 7, 2 };
	struct machine_cursor c;
	struct machine *m;
	uint64_t last = 0;

	assert_int_equal(machine_new(&m), 0);
	for (unsigned i = 0; i < sizeof(in) / sizeof(in[0]); i++)
		assert_int_equal(machine_switch(m, in[i].cpu, in[i].t, in[i].tid, in[i].tid,
						(uint8_t)i), 0);
	machine_sort(m);
	machine_cursor_init(&c, m, 2);
	assert_true(machine_cursor_due(&c) == HWT_TIME_UNKNOWN);
	assert_int_equal(c.tid, HWT_NONE);
	machine_cursor_init(&c, m, 1 << 30);
	assert_int_equal(machine_cursor_due(&c), 1);
	machine_cursor_init(&c, m, 0);
	for (unsigned i = 0; i < 5; i++) {
		assert_true(machine_cursor_due(&c) >= last);
		last = machine_cursor_due(&c);
		assert_int_equal(machine_cursor_step(&c)->tid, want[i]);
		assert_int_equal(c.tid, want[i]);
	}
	assert_true(machine_cursor_due(&c) == HWT_TIME_UNKNOWN);
	machine_free(m);
}

static void aspaces(void **state)
{
	struct machine *m;

	assert_int_equal(machine_new(&m), 0);
	assert_int_equal(machine_aspace(m, 0), HWT_NONE);
	assert_int_equal(machine_set_aspace(m, 0, 0), 0);
	assert_int_equal(machine_set_aspace(m, 0x1234000, 77), 0);
	assert_int_equal(machine_set_aspace(m, 0x1234000, 78), 0);
	assert_int_equal(machine_aspace(m, 0), 0);
	assert_int_equal(machine_aspace(m, 0x1234000), 78);
	assert_int_equal(machine_aspace(m, 1), HWT_NONE);
	/* a guess does not count against what the source said */
	assert_int_equal(machine_guess_aspace(m, 0x1234000, 79), 0);
	assert_int_equal(machine_aspace(m, 0x1234000), 78);
	assert_int_equal(machine_guess_aspace(m, 1, 80), 0);
	assert_int_equal(machine_aspace(m, 1), 80);
	assert_int_equal(machine_set_aspace(m, 1, 81), 0);
	assert_int_equal(machine_aspace(m, 1), 81);
	machine_free(m);
}

/* A long schedule, a little out of order, or not in order at all: as a stable sort has it. */
struct plain { uint64_t time; int32_t tid; };

static int by_plain(const void *pa, const void *pb)
{
	const struct plain *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void long_schedule(void **state)
{
	enum { N = 300000 };
	static struct plain want[N];

	for (int far = 0; far < 2; far++) {
		struct machine_cursor c;
		struct machine *m;

		assert_int_equal(machine_new(&m), 0);
		for (int i = 0; i < N; i++) {
			uint64_t t = (uint64_t)i / 3 * 10 + rnd() % 50 + 100;

			if (far)
				t = rnd() % 100000;
			want[i] = (struct plain){ t, i };
			assert_int_equal(machine_switch(m, 1, t, 1, i, 0), 0);
		}
		qsort(want, N, sizeof(want[0]), by_plain);
		machine_sort(m);
		for (int round = 0; round < 2; round++) {
			machine_cursor_init(&c, m, 1);
			assert_non_null(c.spill);
			for (int i = 0; i < N; i++) {
				if (machine_cursor_due(&c) != want[i].time)
					assert_int_equal(machine_cursor_due(&c), want[i].time);
				if (machine_cursor_step(&c)->tid != want[i].tid)
					assert_int_equal(c.tid, want[i].tid);
			}
			assert_true(machine_cursor_due(&c) == HWT_TIME_UNKNOWN);
		}
		machine_free(m);
	}
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(tasks),
		cmocka_unit_test(names_of_times), cmocka_unit_test(names_of_cpus),
		cmocka_unit_test(about_to_go),
		cmocka_unit_test(schedule),
		cmocka_unit_test(long_schedule), cmocka_unit_test(aspaces),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
