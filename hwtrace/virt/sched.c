/* SPDX-License-Identifier: BSD-2-Clause */
/* sched: include/trace/events/sched.h, task.h and signal.h of Linux, and LTTng's. */
#include "priv.h"

#define CLONE_THREAD	0x10000u	/* include/uapi/linux/sched.h */
#define LTTNG_PRIO	100		/* its priorities are less MAX_RT_PRIO */

static void get_prio(const struct virt_in *in, const char *field, int32_t *prio)
{
	if (get_s32(in, field, prio))
		*prio = (int32_t)((uint32_t)*prio + in->m->arg);
}

static int make_switch(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_switch *r = rec;
	__u64 state;

	if (!virt_get_task(in, "prev_tid", "prev_pid", &r->prev_pid, &r->prev_tid) ||
	    !virt_get_task(in, "next_tid", "next_pid", &r->next_pid, &r->next_tid))
		return 0;
	if (get_u64(in, "prev_state", &state))
		virt_task_state(in->s, state, &r->prev_state, &r->preempted);
	get_prio(in, "prev_prio", &r->prev_prio);
	get_prio(in, "next_prio", &r->next_prio);
	get_name(in, "prev_comm", r->prev_comm);
	get_name(in, "next_comm", r->next_comm);
	if (r->rec.tid != r->prev_tid) {	/* it is the task that runs, whatever was lost */
		r->rec.tid = r->prev_tid;
		r->rec.pid = r->prev_pid;
	}
	return 1;
}

/* Kernels before 4.3 also told of wakeups that found the task awake: success 0. */
static int make_wake(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_wakeup *r = rec;
	__u64 success;

	if (!virt_get_task(in, "tid", "pid", &r->wake_pid, &r->wake_tid) ||
	    (get_u64(in, "success", &success) && !success))
		return 0;
	get_prio(in, "prio", &r->prio);
	get_u32(in, "target_cpu", &r->target_cpu);
	get_name(in, "comm", r->comm);
	return 1;
}

static int make_migrate(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_migrate *r = rec;

	if (!virt_get_task(in, "tid", "pid", &r->task_pid, &r->task_tid))
		return 0;
	get_u32(in, "orig_cpu", &r->from_cpu);
	get_u32(in, "dest_cpu", &r->to_cpu);
	get_name(in, "comm", r->comm);
	return 1;
}

static int make_newtask(const struct virt_in *in, void *rec)
{
	int32_t tid, pid = -1;
	__u64 flags;

	if (!get_s32(in, "pid", &tid) || !get_u64(in, "clone_flags", &flags))
		return 0;
	if (flags & CLONE_THREAD)
		pid = in->c->pid >= 0 ? in->c->pid : virt_pid(in->s, in->c->tid);
	else
		pid = tid;
	return virt_new_task(in->s, tid, pid);
}

static int make_fork(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_fork *r = rec;

	if (!virt_get_task(in, "parent_tid", "parent_pid", &r->parent_pid, &r->parent_tid) ||
	    !virt_get_task(in, "child_tid", "child_pid", &r->child_pid, &r->child_tid))
		return 0;
	if (!virt_is_new(in->s, r->child_tid) && in->m->on == ON_LINUX)
		r->child_pid = -1;	/* of an earlier task with this id */
	get_name(in, "child_comm", r->comm);
	return 1;
}

static int make_exec(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_exec *r = rec;
	const char *p;
	size_t n;

	if (!virt_get_task(in, "tid", "pid", &r->task_pid, &r->task_tid))
		return 0;
	r->task_pid = r->task_tid;	/* whichever thread called it is the first one now */
	if (!get_s32(in, "old_tid", &r->old_tid))
		get_s32(in, "old_pid", &r->old_tid);
	if (in->g->string(in->g->arg, "filename", &p, &n) > 0)
		virt_set_text(rec, p, n);
	r->rec.pid = r->rec.tid = r->task_tid;
	return 1;
}

static int make_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_exit *r = rec;

	if (!virt_get_task(in, "tid", "pid", &r->task_pid, &r->task_tid))
		return 0;
	get_prio(in, "prio", &r->prio);
	if (get_u32(in, "group_dead", &r->last))
		r->last = !!r->last;
	get_name(in, "comm", r->comm);
	return 1;
}

static int make_free(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_free *r = rec;

	if (!virt_get_task(in, "tid", "pid", &r->task_pid, &r->task_tid))
		return 0;
	get_name(in, "comm", r->comm);
	return 1;
}

static int make_comm(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_comm *r = rec;

	if (!virt_get_task(in, "tid", "pid", &r->task_pid, &r->task_tid))
		return 0;
	return get_name(in, "newcomm", r->comm);
}

static int make_inherit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_inherit *r = rec;

	if (!virt_get_task(in, "tid", "pid", &r->task_pid, &r->task_tid))
		return 0;
	get_prio(in, "oldprio", &r->old_prio);
	get_prio(in, "newprio", &r->new_prio);
	get_name(in, "comm", r->comm);
	return 1;
}

/* The kernel's results are those of the list, in its order: TRACE_SIGNAL_DELIVERED and so on. */
static int make_send(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_signal_send *r = rec;

	if (!virt_get_task(in, "tid", "pid", &r->to_pid, &r->to_tid) ||
	    !get_u32(in, "sig", &r->signal))
		return 0;
	get_s32(in, "code", &r->code);
	if (get_u32(in, "group", &r->group))
		r->group = !!r->group;
	get_u32(in, "result", &r->result);
	get_name(in, "comm", r->comm);
	return 1;
}

static int make_deliver(const struct virt_in *in, void *rec)
{
	struct hwt_rec_sched_signal_deliver *r = rec;

	if (!get_u32(in, "sig", &r->signal))
		return 0;
	get_s32(in, "code", &r->code);
	get_u64(in, "sa_handler", &r->handler);
	get_u64(in, "sa_flags", &r->handler_flags);
	return 1;
}

#define BOTH(sys, name, ev, fn) \
	MAP(ON_LINUX, sys, name, sched, ev, fn), \
	MAP(ON_LTTNG, NULL, name, sched, ev, fn, .arg = LTTNG_PRIO)

const struct virt_map virt_sched_maps[] = {
	BOTH("sched", "sched_switch", switch, make_switch),
	BOTH("sched", "sched_waking", waking, make_wake),
	BOTH("sched", "sched_wakeup", wakeup, make_wake),
	BOTH("sched", "sched_wakeup_new", wakeup_new, make_wake),
	BOTH("sched", "sched_migrate_task", migrate, make_migrate),
	{ ON_LINUX, .system = "task", "task_newtask", make_newtask },
	BOTH("sched", "sched_process_fork", fork, make_fork),
	BOTH("sched", "sched_process_exec", exec, make_exec),
	BOTH("sched", "sched_process_exit", exit, make_exit),
	BOTH("sched", "sched_process_free", free, make_free),
	BOTH("task", "task_rename", comm, make_comm),
	BOTH("sched", "sched_pi_setprio", inherit, make_inherit),
	BOTH("signal", "signal_generate", signal_send, make_send),
	BOTH("signal", "signal_deliver", signal_deliver, make_deliver),
	{ 0 }
};
