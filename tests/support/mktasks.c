/* SPDX-License-Identifier: BSD-2-Clause */
#include "mktasks.h"

#include <stdint.h>
#include <string.h>

#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"

#define SHELL	2	/* who starts them */
#define FIRST	1000	/* the first id */
#define SPACES	4096	/* page tables are used again, as those of the dead are free */
#define SLOW	1000	/* one of so many takes TICKS more */
#define TICKS	50000

static struct native_writer *w;
static uint64_t now;
static uint64_t hits[1 << 16];

static int failed;		/* the first error */

/* Writes a record of @tid, which runs, 100 ns after the one before. */
static void put(void *rec, size_t size, uint16_t id, int32_t tid)
{
	struct hwt_rec *h = rec;

	*h = (struct hwt_rec){ .time = now, .id = id, .size = (uint16_t)size, .version = 1,
		.flags = HWT_REC_HIT | HWT_REC_CTX, .hit = ++hits[id], .pid = tid, .tid = tid };
	if (!failed)
		failed = native_event(w, 0, rec, size);
	now += 100;
}

#define PUT(tid, name, ...) do { \
	struct hwt_rec_##name r_ = { __VA_ARGS__ }; \
	put(&r_, sizeof(r_), HWT_ID_##name, tid); \
} while (0)

static void swap(int32_t from, int32_t to, uint32_t state)
{
	PUT(from, sched_switch, .prev_pid = from, .prev_tid = from, .next_pid = to, .next_tid = to,
	    .prev_prio = 120, .next_prio = 120, .prev_state = state,
	    .preempted = HWT_yesno_no, .next_aspace = (uint64_t)(to % SPACES + 1) << 12,
	    .prev_comm = "-", .next_comm = "-");
}

static void one(int32_t tid)
{
	PUT(SHELL, sched_fork, .parent_pid = SHELL, .parent_tid = SHELL, .child_pid = tid,
	    .child_tid = tid, .comm = "sh");
	PUT(SHELL, sched_wakeup_new, .wake_pid = tid, .wake_tid = tid, .prio = 120,
	    .target_cpu = 0, .comm = "sh");
	swap(SHELL, tid, HWT_task_state_sleep);
	PUT(tid, sched_comm, .task_pid = tid, .task_tid = tid, .comm = "cc");
	PUT(tid, syscall_enter, .nr = 39, .abi = HWT_syscall_abi_bits64);
	if (tid % SLOW == 0)
		now += TICKS;
	PUT(tid, syscall_exit, .nr = 39, .abi = HWT_syscall_abi_bits64, .ret = tid);
	PUT(tid, syscall_enter, .nr = 231, .abi = HWT_syscall_abi_bits64);
	PUT(tid, sched_exit, .task_pid = tid, .task_tid = tid, .prio = 120,
	    .last = HWT_yesno_yes, .comm = "cc");
	PUT(tid, sched_waking, .wake_pid = SHELL, .wake_tid = SHELL, .prio = 120, .target_cpu = 0,
	    .comm = "make");
	PUT(tid, sched_wakeup, .wake_pid = SHELL, .wake_tid = SHELL, .prio = 120, .target_cpu = 0,
	    .comm = "make");
	swap(tid, SHELL, HWT_task_state_dead);
	PUT(SHELL, sched_free, .task_pid = tid, .task_tid = tid, .comm = "cc");
}

int mktasks(const char *dir, uint32_t n, struct hwt_diag *diag)
{
	const struct native_clock c = { .counter = "tsc", .base = "monotonic",
		.map = { .mult = 1 } };
	int rc = native_create(&w, dir, true, diag);

	if (rc < 0)
		return rc;
	now = 1000;
	failed = 0;
	memset(hits, 0, sizeof(hits));
	native_set(w, "capture", "arch", "x86_64");
	native_clock(w, &c);
	native_task(w, SHELL, SHELL, "make");
	swap(0, SHELL, HWT_task_state_ready);
	for (uint32_t i = 0; i < n; i++)
		one(FIRST + (int32_t)i);
	rc = native_close(w, diag);
	return failed < 0 ? failed : rc;
}
