/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "hwtrace/machine/machine.h"

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
	machine_free(m);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(tasks), cmocka_unit_test(schedule), cmocka_unit_test(aspaces),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
