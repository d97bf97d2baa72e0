/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: whoever has a pid field and a name16 field of the same prefix in the list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/abi.h>

#include "hwtrace/events/names.h"
#include "tests/support/kmachine.h"

static void tasks_of_all(void **state)
{
	const struct hwt_abi_event *e;
	unsigned n, found = 0;

	for (unsigned i = 0; (e = hwt_abi_event_at(i)); i++) {
		const struct hwt_abi_field *f = e->fields(&n);
		union kmachine_rec r = { .rec = { .id = e->id, .size = e->size } };
		unsigned tids = 0, comms = 0;
		const char *name;
		int32_t tid;

		for (; n; n--, f++) {
			size_t len = strlen(f->name);

			if (f->type == HWT_ABI_pid && len >= 3 &&
			    !strcmp(f->name + len - 3, "tid")) {
				tid = 100 + (int32_t)tids++;
				memcpy(r.bytes + f->offset, &tid, sizeof(tid));
			}
			if (f->type == HWT_ABI_name16 && len >= 4 &&
			    !strcmp(f->name + len - 4, "comm"))
				snprintf(r.bytes + f->offset, 16, "name%u", 100 + comms++);
		}
		/* who is new or has a new name is no task that has it already; a task is freed
		   when its id may be another's, and requests name no task */
		if (!comms || e->id == HWT_ID_sched_comm || e->id == HWT_ID_sched_fork ||
		    e->id == HWT_ID_sched_free || e->id >> 8 == HWT_SECTION_block) {
			assert_int_equal(names_of(&r, 0, &tid, &name), 0);
			continue;
		}
		for (unsigned k = 0; k < comms; k++, found++) {
			char want[16];

			assert_int_equal(names_of(&r, k, &tid, &name), 1);
			snprintf(want, sizeof(want), "name%d", tid);
			assert_string_equal(name, want);
		}
		assert_int_equal(names_of(&r, comms, &tid, &name), 0);
	}
	assert_int_equal(found, 10);
}

static void not_known(void **state)
{
	union kmachine_rec r = { .rec = { .id = HWT_ID_sched_wakeup } };
	const char *name;
	int32_t tid;

	r.sched_wakeup.wake_tid = 5;
	assert_int_equal(names_of(&r, 0, &tid, &name), 1);
	assert_int_equal(tid, -1);
	memcpy(r.sched_wakeup.comm, "-", 2);
	names_of(&r, 0, &tid, &name);
	assert_int_equal(tid, -1);
	memset(r.sched_wakeup.comm, 'x', 16);	/* no end */
	names_of(&r, 0, &tid, &name);
	assert_int_equal(tid, -1);
	memcpy(r.sched_wakeup.comm, "init", 5);
	r.sched_wakeup.comm[15] = 0;
	names_of(&r, 0, &tid, &name);
	assert_int_equal(tid, 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tasks_of_all), cmocka_unit_test(not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
