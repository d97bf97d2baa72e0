/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What happens to the tasks that are recorded, in the words of the virtual events, and the kernel's
 * own records between. Times of a stream must not go back, but those of the kernel are read late:
 * ours wait in a queue until then.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "record.h"

#define QUEUE_BYTES	(1u << 20)	/* that wait before the kernel's are read */

/*
 * The kernel's records of other tasks come whether the program does anything or not. Some are
 * wanted for each instruction that they may have delayed, at 20 us and more a step; while nothing
 * is stepped they would fill the disk.
 */
#define OTHERS_FREE	200000u
#define OTHERS_STEP	16u

/* What was dropped stood between the record before and the next one. */
static int tell_dropped(struct rec *r, uint64_t tick)
{
	struct hwt_rec_stream_lost e = { .rec = { .time = tick, .id = HWT_ID_stream_lost,
		.size = sizeof(e), .version = HWT_ABI_VERSION, .pid = -1, .tid = -1 },
		.count = r->dropped };

	r->dropped = 0;
	return native_event(r->w, r->cpu, &e.rec, sizeof(e));
}

static int put(struct rec *r, struct hwt_rec *rec)
{
	int rc;

	if (rec->time < r->last_tick)
		rec->time = r->last_tick;
	r->last_tick = rec->time;
	rc = r->dropped ? tell_dropped(r, rec->time) : 0;
	return rc ? rc : native_event(r->w, r->cpu, rec, rec->size);
}

static int queue(struct rec *r, const struct hwt_rec *rec)
{
	struct record_queue *q = &r->queue;

	if (q->cap - q->n < rec->size) {
		size_t cap = q->cap ? q->cap * 2 : 65536;
		uint8_t *p = realloc(q->p, cap);

		if (!p)
			return -ENOMEM;
		q->p = p;
		q->cap = cap;
	}
	memcpy(q->p + q->n, rec, rec->size);
	q->n += rec->size;
	return q->n > QUEUE_BYTES ? records_flush(r) : 0;
}

/* Completes the header of one of ours. */
static int emit(struct rec *r, struct hwt_rec *rec, unsigned id, size_t size,
		const struct step_task *t, uint64_t tick)
{
	rec->time = tick;
	rec->id = (uint16_t)id;
	rec->size = (uint16_t)size;
	rec->version = HWT_ABI_VERSION;
	rec->flags = HWT_REC_HIT;
	rec->hit = ++r->hits[id];
	rec->pid = t ? t->proc->pid : -1;
	rec->tid = t ? t->tid : -1;
	return r->kernel ? queue(r, rec) : put(r, rec);
}

/* Writes what waits and is not after @tick. */
static int drain(struct rec *r, size_t *at, uint64_t tick)
{
	struct record_queue *q = &r->queue;
	int rc = 0;

	while (!rc && *at < q->n) {
		struct hwt_rec *rec = (struct hwt_rec *)(q->p + *at);

		if (rec->time > tick)
			break;
		*at += rec->size;
		rc = put(r, rec);
	}
	return rc;
}

struct merge { struct rec *r; size_t at; };

static bool ours(const struct rec *r, int32_t tid)
{
	return idmap_get(&r->tasks, (uint32_t)tid) != IDMAP_NONE;
}

/* Is it about a task that is recorded, or one that it makes go on? */
static bool concerns(const struct rec *r, const struct hwt_rec *rec)
{
	switch (rec->id) {
	case HWT_ID_sched_waking:
	case HWT_ID_sched_wakeup:
	case HWT_ID_sched_wakeup_new:
		return ours(r, ((const struct hwt_rec_sched_waking *)rec)->wake_tid);
	case HWT_ID_sched_migrate:
		return ours(r, ((const struct hwt_rec_sched_migrate *)rec)->task_tid);
	case HWT_ID_sched_signal_send:
		return ours(r, ((const struct hwt_rec_sched_signal_send *)rec)->to_tid);
	}
	/* what the kernel lost itself is never left out */
	return rec->id == HWT_ID_stream_lost;
}

static bool too_many(struct rec *r)
{
	if (r->others >= OTHERS_FREE + step_count(r->step) * OTHERS_STEP)
		return true;
	r->others++;
	return false;
}

static int put_kernel(void *arg, const struct hwt_rec *rec)
{
	struct merge *m = arg;
	union { struct hwt_rec rec; uint8_t bytes[512]; } copy;
	uint32_t pid = idmap_get(&m->r->tasks, (uint32_t)rec->tid);
	int rc;

	/* what others do with their memory on this CPU is of no interest */
	if (rec->size > sizeof(copy) || (pid == IDMAP_NONE && rec->id == HWT_ID_mm_fault))
		return 0;
	if (pid == IDMAP_NONE && !concerns(m->r, rec) && too_many(m->r)) {
		m->r->dropped++;
		return 0;
	}
	rc = drain(m->r, &m->at, rec->time);
	if (rc)
		return rc;
	memcpy(&copy, rec, rec->size);
	if (pid != IDMAP_NONE)
		copy.rec.pid = (int32_t)pid;
	return put(m->r, &copy.rec);
}

int records_flush(struct rec *r)
{
	struct merge m = { .r = r };
	int rc;

	if (!r->kernel)
		return 0;
	rc = kernel_read(r->kernel, put_kernel, &m);
	if (!rc)
		rc = drain(r, &m.at, UINT64_MAX);
	r->queue.n = 0;
	return rc;
}

int records_fork(struct rec *r, const struct step_task *parent, const struct step_task *child,
		 uint64_t tick)
{
	struct hwt_rec_sched_fork e = { .parent_pid = parent->proc->pid,
		.parent_tid = parent->tid, .child_pid = child->proc->pid,
		.child_tid = child->tid };

	proc_comm(child->tid, e.comm);
	return emit(r, &e.rec, HWT_ID_sched_fork, sizeof(e), parent, tick);
}

/* A record with a text behind it. */
static int emit_text(struct rec *r, struct hwt_rec *rec, unsigned id, size_t size,
		     uint32_t *text_size, const char *text, const struct step_task *t,
		     uint64_t tick)
{
	union { struct hwt_rec rec; uint8_t bytes[512 + HWT_TEXT_MAX]; } b;
	size_t n = strnlen(text, HWT_TEXT_MAX - 8);

	memset(&b, 0, sizeof(b));
	*text_size = (uint32_t)(n + 8) & ~7u;
	memcpy(&b, rec, size);
	memcpy(b.bytes + size, text, n);
	return emit(r, &b.rec, id, size + *text_size, t, tick);
}

int records_exec(struct rec *r, const struct step_task *t, int32_t old_tid, const char *path,
		 uint64_t tick)
{
	struct hwt_rec_sched_exec e = { .task_pid = t->proc->pid, .task_tid = t->tid,
		.old_tid = old_tid, .aspace = UINT64_MAX };

	return emit_text(r, &e.rec, HWT_ID_sched_exec, sizeof(e), &e.path_size, path, t, tick);
}

int records_exit(struct rec *r, const struct step_task *t, uint64_t tick)
{
	struct hwt_rec_sched_exit e = { .task_pid = t->proc->pid, .task_tid = t->tid,
		.prio = INT32_MIN, .last = t->proc->refs == 1 };

	proc_comm(t->tid, e.comm);
	return emit(r, &e.rec, HWT_ID_sched_exit, sizeof(e), t, tick);
}

int records_switch(struct rec *r, const struct step_task *prev, const struct step_task *next,
		   uint64_t tick)
{
	struct hwt_rec_sched_switch e = { .prev_pid = -1, .prev_tid = -1,
		.next_pid = next ? next->proc->pid : -1, .next_tid = next ? next->tid : -1,
		.prev_prio = INT32_MIN, .next_prio = INT32_MIN, .prev_state = 9,
		.next_aspace = UINT64_MAX };

	if (prev) {
		e.prev_pid = prev->proc->pid;
		e.prev_tid = prev->tid;
		/* a call that was not entered yet can not have put it to sleep */
		e.preempted = !(prev->state == STEP_KERNEL && prev->entered) &&
			prev->state != STEP_LISTENS;
		e.prev_state = e.preempted ? 0 : 1;
		proc_comm(prev->tid, e.prev_comm);
	}
	if (next)
		proc_comm(next->tid, e.next_comm);
	return emit(r, &e.rec, HWT_ID_sched_switch, sizeof(e), prev, tick);
}

int records_map(struct rec *r, const struct step_task *t, const struct proc_map *m, uint64_t tick)
{
	struct hwt_rec_mm_map e = { .map_pid = t->proc->pid, .map_tid = t->tid,
		.addr = m->start, .length = m->end - m->start, .offset = m->off,
		.inode = UINT64_MAX, .inode_gen = UINT64_MAX, .major = UINT32_MAX,
		.minor = UINT32_MAX, .prot = 5, .kind = m->file ? 0 : *m->path ? 2 : 1 };

	return emit_text(r, &e.rec, HWT_ID_mm_map, sizeof(e), &e.path_size, m->path, t, tick);
}

int records_unmap(struct rec *r, const struct step_task *t, uint64_t addr, uint64_t size,
		  uint64_t tick)
{
	struct hwt_rec_mm_unmap e = { .map_pid = t->proc->pid, .map_tid = t->tid, .addr = addr,
		.length = size };

	return emit(r, &e.rec, HWT_ID_mm_unmap, sizeof(e), t, tick);
}

int records_signal(struct rec *r, const struct step_task *t, int sig, uint64_t tick)
{
	struct hwt_rec_sched_signal_deliver e = { .signal = (uint32_t)sig, .code = INT32_MIN,
		.handler = UINT64_MAX, .handler_flags = UINT64_MAX };

	return emit(r, &e.rec, HWT_ID_sched_signal_deliver, sizeof(e), t, tick);
}

int records_call(struct rec *r, const struct step_task *t, const struct arch_regs *regs, bool end,
		 uint64_t tick)
{
	struct hwt_rec_syscall_enter b = { .nr = (uint32_t)regs->call, .arg0 = regs->args[0],
		.arg1 = regs->args[1], .arg2 = regs->args[2], .arg3 = regs->args[3],
		.arg4 = regs->args[4], .arg5 = regs->args[5] };
	struct hwt_rec_syscall_exit e = { .nr = (uint32_t)regs->call,
		.ret = (int64_t)regs->result };

	if (!end)
		return emit(r, &b.rec, HWT_ID_syscall_enter, sizeof(b), t, tick);
	/* sigreturn restores all registers: there is no number and no result any more */
	return regs->call < 0 ? 0 : emit(r, &e.rec, HWT_ID_syscall_exit, sizeof(e), t, tick);
}

int records_clock(struct rec *r, const struct ticks_pair *p)
{
	struct hwt_rec_clock_sync e = { .counter = p->ticks, .value = p->ns,
		.width = p->width > UINT32_MAX ? UINT32_MAX : (uint32_t)p->width, .clock = 1 };

	return emit(r, &e.rec, HWT_ID_clock_sync, sizeof(e), NULL, p->ticks + p->width);
}
