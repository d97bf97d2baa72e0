/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of section state, and of changes before and after them, to tasks and maps. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "hwtrace/machine/machine.h"
#include "hwtrace/source/capture.h"
#include "tests/support/scratch.h"

static struct native_writer *w;
static struct capture *c;

#define HEAD(ev, t, who) { .time = t, .id = HWT_ID_##ev, .size = sizeof(struct hwt_rec_##ev), \
	.version = 2, .pid = who, .tid = who }

static void task(int32_t cpu, uint64_t time, int32_t pid, int32_t tid, uint64_t aspace,
		 const char *comm)
{
	struct hwt_rec_state_task r = { .rec = HEAD(state_task, time, 5), .task_pid = pid,
		.task_tid = tid, .parent_pid = 1, .prio = 120, .state = 1, .aspace = aspace };

	snprintf(r.comm, sizeof(r.comm), "%s", comm);
	assert_int_equal(native_event(w, cpu, &r, sizeof(r)), 0);
}

static void map(int32_t cpu, uint64_t time, int32_t pid, uint64_t addr, uint32_t kind,
		const char *path)
{
	struct { struct hwt_rec_state_map r; char path[16]; } m = {
		.r = { .rec = HEAD(state_map, time, 5), .map_pid = pid, .addr = addr,
		.length = 0x3000, .offset = 0x1000, .prot = 5, .kind = kind,
		.build_id = { 3, 7, 8, 9 }, .path_size = 16 } };

	m.r.rec.size = sizeof(m);
	snprintf(m.path, sizeof(m.path), "%s", path);
	assert_int_equal(native_event(w, cpu, &m, sizeof(m)), 0);
}

static void changed(int32_t cpu, uint64_t time, int32_t pid, uint64_t addr)
{
	struct { struct hwt_rec_mm_map r; char path[16]; } m = {
		.r = { .rec = HEAD(mm_map, time, pid), .map_pid = pid, .map_tid = pid,
		.addr = addr, .length = 0x1000, .prot = 5, .path_size = 16 }, .path = "/lib/new" };

	m.r.rec.size = sizeof(m);
	assert_int_equal(native_event(w, cpu, &m, sizeof(m)), 0);
}

static void make(void)
{
	struct native_clock k = { .counter = "tsc", .base = "CLOCK_MONOTONIC",
		.frequency = 1000000000 };
	struct hwt_diag diag;

	assert_int_equal(native_create(&w, scratch("s.hwt"), true, &diag), 0);
	/* without trace nobody asks for code, and none is kept */
	assert_int_equal(native_add_buf(w, "b", 0, HWT_NONE, HWT_NONE, FRAMING_NONE,
					&(struct trace_cfg){ .proto = HWT_PROTO_PT, .core = "",
						.cpu = HWT_NONE }, 1), 0);
	assert_int_equal(native_clock(w, &k), 0);
	task(0, 1000, 20, 20, 0x7000, "alone");
	map(0, 1001, 20, 0x400000, HWT_map_kind_file, "/bin/alone");
	map(0, 1002, 20, 0x800000, HWT_map_kind_memory, "");
	map(0, 1003, 20, 0x900000, HWT_map_kind_kernel, "");
	task(0, 1010, 21, 22, UINT64_MAX, "early");
	map(0, 1011, 21, 0x400000, HWT_map_kind_file, "/bin/early");
	task(0, 1020, 23, 23, UINT64_MAX, "late");
	map(0, 1021, 23, 0x400000, HWT_map_kind_file, "/bin/late");
	/* on a CPU that is read later: before the state of 21 was told, and after that of 23 */
	changed(1, 900, 21, 0x500000);
	changed(1, 2000, 23, 0x500000);
	/* and of a process that nothing is told of */
	changed(1, 2001, 30, 0x400000);
	assert_int_equal(native_close(w, &diag), 0);
}

static const struct hwt_map *find(int32_t pid, uint64_t addr)
{
	static struct hwt_map m;

	for (size_t i = 0; hwt_image_map_at(c->image, i, &m); i++)
		if (m.pid == pid && m.addr == addr)
			return &m;
	fail_msg("no map of %d at %llx", pid, (unsigned long long)addr);
	return NULL;
}

static void maps(void **state)
{
	const struct hwt_map *m = find(20, 0x400000);

	assert_int_equal(m->from, 0);
	assert_int_equal(m->size, 0x3000);
	assert_int_equal(m->file_off, 0x1000);
	assert_string_equal(m->path, "/bin/alone");
	assert_int_equal(m->build_id_size, 3);
	assert_memory_equal(m->build_id, "\7\10\11", 3);
	assert_string_equal(find(20, 0x800000)->path, "//anon");
	assert_string_equal(find(20, 0x900000)->path, "[vdso]");
	/* what was mapped before the change is not known */
	assert_int_equal(find(21, 0x400000)->from, 1011);
	assert_int_equal(find(21, 0x500000)->from, 900);
	assert_int_equal(find(23, 0x400000)->from, 0);
	assert_int_equal(find(23, 0x500000)->from, 2000);
	assert_int_equal(find(30, 0x400000)->from, 2001);
}

static void tasks(void **state)
{
	assert_string_equal(machine_comm(c->machine, 20), "alone");
	assert_string_equal(machine_comm(c->machine, 22), "early");
	assert_int_equal(machine_pid(c->machine, 22), 21);
	assert_int_equal(machine_aspace(c->machine, 0x7000), 20);
	assert_int_equal(machine_aspace(c->machine, UINT64_MAX), HWT_NONE);
}

static int setup(void **state)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag diag;

	if (scratch_make(state))
		return -1;
	make();
	return source_open(&c, scratch("s.hwt"), &o, &diag);
}

static int teardown(void **state)
{
	capture_free(c);
	return scratch_drop(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(maps), cmocka_unit_test(tasks),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
