// SPDX-License-Identifier: GPL-2.0-only
/* Tasks: include/trace/events/sched.h, task.h and signal.h of the kernel. */
#include <linux/binfmts.h>
#include <linux/sched/signal.h>
#include <linux/sched/task.h>
#include <linux/mm.h>
#include <trace/events/sched.h>
#include <trace/events/task.h>
#include <trace/events/signal.h>

#include "hook.h"
#include "place.h"
#include "probe.h"

/* The list of states has the kernel's own order; the first ones are their own numbers. */
static __always_inline u32 state_of(const struct task_struct *t, unsigned int state)
{
	BUILD_BUG_ON(TASK_INTERRUPTIBLE != 1 || TASK_UNINTERRUPTIBLE != 2);
	if (likely(state <= TASK_UNINTERRUPTIBLE && !t->exit_state))
		return state;
	return __task_state_index(state, t->exit_state);
}

static __always_inline void fill_switch(struct hwt_rec_sched_switch *r, bool preempt,
					const struct task_struct *prev,
					const struct task_struct *next, unsigned int prev_state)
{
	vtp_task(&r->prev_pid, &r->prev_tid, prev);
	vtp_task(&r->next_pid, &r->next_tid, next);
	r->prev_prio = prev->prio;
	r->next_prio = next->prio;
	if (unlikely(preempt)) {
		r->prev_state = HWT_task_state_ready;
		r->preempted = HWT_yesno_yes;
	} else {
		/* one that is ready yielded, or was made to leave on its way to user code: nobody
		 * tells which */
		u32 state = state_of(prev, prev_state);

		r->prev_state = state;
		r->preempted = state ? HWT_yesno_no : U32_MAX;
	}
	r->next_aspace = probe_aspace(next);
	vtp_comm(r->prev_comm, prev->comm);
	vtp_comm(r->next_comm, next->comm);
}

static noinline notrace void switch_staged(u64 hit, bool preempt, struct task_struct *prev,
					   struct task_struct *next, unsigned int prev_state)
{
	struct hwt_rec_sched_switch r VTP_ALL_SET;

	fill_switch(&r, preempt, prev, next, prev_state);
	PLACE_GIVE(sched, switch, &r, hit);
}

static PLACE_PROBE void on_switch(void *data, bool preempt, struct task_struct *prev,
				  struct task_struct *next, unsigned int prev_state)
{
	struct hwt_rec_sched_switch *r;
	struct place at;

	if (PLACE_OPEN(sched, switch, &at, &r)) {
		fill_switch(r, preempt, prev, next, prev_state);
		PLACE_DONE(sched, switch, &at, r);
	} else {
		switch_staged(at.hit, preempt, prev, next, prev_state);
	}
	PLACE_RETURN();
}

#define FILL_WAKE(r, p) \
	do { \
		vtp_task(&(r)->wake_pid, &(r)->wake_tid, p); \
		(r)->prio = (p)->prio; \
		(r)->target_cpu = task_cpu(p); \
		vtp_comm((r)->comm, (p)->comm); \
	} while (0)

#define WAKE(ev) \
	static noinline notrace void ev##_staged(u64 hit, struct task_struct *p) \
	{ \
		struct hwt_rec_sched_##ev r VTP_ALL_SET; \
		\
		FILL_WAKE(&r, p); \
		PLACE_GIVE(sched, ev, &r, hit); \
	} \
	\
	static PLACE_PROBE void on_##ev(void *data, struct task_struct *p) \
	{ \
		struct hwt_rec_sched_##ev *r; \
		struct place at; \
		\
		if (PLACE_OPEN(sched, ev, &at, &r)) { \
			FILL_WAKE(r, p); \
			PLACE_DONE(sched, ev, &at, r); \
		} else { \
			ev##_staged(at.hit, p); \
		} \
		PLACE_RETURN(); \
	}
WAKE(waking)
WAKE(wakeup)

static void on_wakeup_new(void *data, struct task_struct *p)
{
	struct hwt_rec_sched_wakeup_new r;

	FILL_WAKE(&r, p);
	vtp_sched_wakeup_new(&r, NULL);
}

static void on_migrate(void *data, struct task_struct *p, int dest_cpu)
{
	struct hwt_rec_sched_migrate r;

	vtp_task(&r.task_pid, &r.task_tid, p);
	r.from_cpu = task_cpu(p);
	r.to_cpu = dest_cpu;
	vtp_comm(r.comm, p->comm);
	vtp_sched_migrate(&r, NULL);
}

static void on_fork(void *data, struct task_struct *parent, struct task_struct *child)
{
	struct hwt_rec_sched_fork r;

	vtp_task(&r.parent_pid, &r.parent_tid, parent);
	vtp_task(&r.child_pid, &r.child_tid, child);
	vtp_comm(r.comm, child->comm);
	vtp_sched_fork(&r, NULL);
}

static void on_exec(void *data, struct task_struct *p, pid_t old_pid, struct linux_binprm *bprm)
{
	struct vtp_more more = { .text = bprm->filename };
	struct hwt_rec_sched_exec r;

	probe_text(&more, sizeof(r));
	vtp_task(&r.task_pid, &r.task_tid, p);
	r.old_tid = old_pid;
	r.path_size = vtp_text_size(more.len);
	r.aspace = probe_aspace(p);
	vtp_sched_exec(&r, &more);
}

/* Tasks that end at one time find each other gone: then nobody tells who is last. */
static u32 last_of_process(struct task_struct *p)
{
	if (atomic_read(&p->signal->live))
		return HWT_yesno_no;
	return thread_group_empty(p) ? HWT_yesno_yes : U32_MAX;
}

static void put_exit(struct task_struct *p, u32 last)
{
	struct hwt_rec_sched_exit r;

	vtp_task(&r.task_pid, &r.task_tid, p);
	r.prio = p->prio;
	r.last = last;
	vtp_comm(r.comm, p->comm);
	vtp_sched_exit(&r, NULL);
}

static void on_exit(void *data, struct task_struct *p)
{
	put_exit(p, last_of_process(p));
}

static void on_exit_group(void *data, struct task_struct *p, bool group_dead)
{
	put_exit(p, group_dead);
}

static void on_comm(void *data, struct task_struct *p, const char *comm)
{
	struct hwt_rec_sched_comm r;

	vtp_task(&r.task_pid, &r.task_tid, p);
	vtp_name(r.comm, comm);
	vtp_sched_comm(&r, NULL);
}

static void on_free(void *data, struct task_struct *p)
{
	struct hwt_rec_sched_free r;

	vtp_task(&r.task_pid, &r.task_tid, p);
	vtp_comm(r.comm, p->comm);
	vtp_sched_free(&r, NULL);
}

static void on_inherit(void *data, struct task_struct *p, struct task_struct *from)
{
	struct hwt_rec_sched_inherit r;

	vtp_task(&r.task_pid, &r.task_tid, p);
	r.old_prio = p->prio;
	r.new_prio = from ? min(p->normal_prio, from->prio) : p->normal_prio;
	vtp_comm(r.comm, p->comm);
	vtp_sched_inherit(&r, NULL);
}

static s32 code_of(const struct kernel_siginfo *info)
{
	if (info == SEND_SIG_NOINFO)
		return SI_USER;
	return info == SEND_SIG_PRIV ? SI_KERNEL : info->si_code;
}

static void on_send(void *data, int sig, struct kernel_siginfo *info, struct task_struct *p,
		    int group, int result)
{
	struct hwt_rec_sched_signal_send r;

	vtp_task(&r.to_pid, &r.to_tid, p);
	r.signal = sig;
	r.code = code_of(info);
	r.group = !!group;
	r.result = result;	/* TRACE_SIGNAL_* are in the order of the list */
	vtp_comm(r.comm, p->comm);
	vtp_sched_signal_send(&r, NULL);
}

static void on_deliver(void *data, int sig, struct kernel_siginfo *info, struct k_sigaction *ka)
{
	struct hwt_rec_sched_signal_deliver r;

	r.signal = sig;
	r.code = code_of(info);
	r.handler = (unsigned long)ka->sa.sa_handler;
	r.handler_flags = ka->sa.sa_flags;
	vtp_sched_signal_deliver(&r, NULL);
}

struct hook hooks_sched[] = {
	{ HOOK_TP(sched_switch, on_switch, VTP_sched_switch) },
	{ HOOK_TP(sched_waking, on_waking, VTP_sched_waking) },
	{ HOOK_TP(sched_wakeup, on_wakeup, VTP_sched_wakeup) },
	{ HOOK_TP(sched_wakeup_new, on_wakeup_new, VTP_sched_wakeup_new) },
	{ HOOK_TP(sched_migrate_task, on_migrate, VTP_sched_migrate) },
	{ HOOK_TP(sched_process_fork, on_fork, VTP_sched_fork) },
	{ HOOK_TP(sched_process_exec, on_exec, VTP_sched_exec) },
	{ HOOK_TP2(sched_process_exit, on_exit, on_exit_group, VTP_sched_exit) },
	{ HOOK_TP(task_rename, on_comm, VTP_sched_comm) },
	{ HOOK_TP(sched_process_free, on_free, VTP_sched_free) },
	{ HOOK_TP(sched_pi_setprio, on_inherit, VTP_sched_inherit) },
	{ HOOK_TP(signal_generate, on_send, VTP_sched_signal_send) },
	{ HOOK_TP(signal_deliver, on_deliver, VTP_sched_signal_deliver) },
	{}
};
