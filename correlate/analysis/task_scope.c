/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which tasks a recording of some tasks is of. What is not told of any other task is no reason to
 * believe that it did not happen.
 */
#include <hwtrace/uapi.h>

#include "task.h"

/* The record of @ev as a struct of uapi.h, NULL if it is another event or too short. */
#define REC(ev, name) ((ev)->u.rec.id == HWT_ID_##name && \
	(ev)->u.rec.size >= sizeof(struct hwt_rec_##name) ? \
	(const struct hwt_rec_##name *)(ev)->u.rec.data : NULL)

/* A kernel may hide a few tasks from its tracers: so many of the switches may not join. */
#define FEW	16

static void recorded(struct tasks *t, struct task *k, bool probe)
{
	/* one that was born since was not there when the events begin */
	if (!k || k->recorded || (probe && k->born))
		return;
	k->recorded = true;
	k->unseen = t->events;
	t->recorded++;
}

static void forget(struct tasks *t, struct task *k)
{
	if (!k || !k->recorded)
		return;
	k->recorded = false;
	t->recorded--;
}

/* Its number may be given to another one. */
static void gone(struct tasks *t, struct task *k, bool probe)
{
	if (k && probe)
		k->born = true;
	else
		forget(t, k);
}

static void born(struct tasks *t, const struct hwt_rec_sched_fork *r, bool probe)
{
	const struct task *parent = tasks_get(t, r->parent_tid);
	struct task *child = tasks_get(t, r->child_tid);

	gone(t, child, probe);
	if (!probe && parent && parent->recorded && t->scope.bits & HWT_SCOPE_FORKS)
		recorded(t, child, false);
}

/* Of a switch one of the two is recorded, or the one that leaves is. */
static void switched(struct tasks *t, const struct hwt_rec_sched_switch *r, bool probe)
{
	bool of_prev = !r->next_tid || t->scope.bits & HWT_SCOPE_INSIDE ||
		(t->scope.pid > 0 && r->prev_pid == t->scope.pid);
	bool of_next = !r->prev_tid || (t->scope.pid > 0 && r->next_pid == t->scope.pid);

	if (of_prev)
		recorded(t, tasks_get(t, r->prev_tid), probe);
	if (of_next)
		recorded(t, tasks_get(t, r->next_tid), probe);
}

/* Events that are told of what the running task does, never for the sake of another one. */
static bool of_running(unsigned id)
{
	switch (id >> 8) {
	case HWT_SECTION_irq:
	case HWT_SECTION_softirq:
	case HWT_SECTION_syscall:
	case HWT_SECTION_block:
	case HWT_SECTION_net:
	case HWT_SECTION_mm:
	case HWT_SECTION_timer:
	case HWT_SECTION_user:
		return true;
	}
	return id == HWT_ID_sched_exec || id == HWT_ID_sched_exit;
}

/*
 * Nothing says so, but who leaves a CPU is not who came last: trace of some tasks, as LTTng and
 * trace-cmd can make it without saying so in the file. Not where records were lost: that is told
 * somewhere near, and taints by itself.
 */
static void guess(struct tasks *t, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_switch *r = REC(ev, sched_switch);
	struct task_cpu *c;

	t->lost |= ev->u.rec.id == HWT_ID_stream_lost;
	c = r ? tasks_cpu(t, ev->cpu) : NULL;
	if (!c || r->prev_tid < 0 || r->next_tid < 0)
		return;
	t->joins += c->tid != HWT_NONE;
	t->broken += c->tid != HWT_NONE && c->tid != r->prev_tid;
	c->tid = r->next_tid;
}

void tasks_scope(struct tasks *t, const struct hwt_event *ev, bool probe)
{
	const struct hwt_rec_sched_wakeup *w;
	const struct hwt_rec_sched_switch *s = REC(ev, sched_switch);
	const struct hwt_rec_sched_fork *f = REC(ev, sched_fork);

	if (ev->u.rec.id >= HWT_ID_DIRTY || !ev->u.rec.data)
		return;
	if (!probe && !(t->scope.bits & HWT_SCOPE_TASKS))
		return;
	t->events++;
	if (probe && !t->scope.bits)
		guess(t, ev);
	/* by tasks_probe(), before it is known that not all are recorded */
	w = REC(ev, sched_wakeup);
	w = w ? w : (const void *)REC(ev, sched_waking);
	w = w ? w : (const void *)REC(ev, sched_wakeup_new);
	if (s)
		switched(t, s, probe);
	else if (of_running(ev->u.rec.id) || (t->scope.bits & HWT_SCOPE_INSIDE &&
					      ev->u.rec.id >> 8 == HWT_SECTION_sched))
		recorded(t, tasks_get(t, ev->tid), probe);
	if (w && t->scope.pid > 0 && w->wake_pid == t->scope.pid)
		recorded(t, tasks_get(t, w->wake_tid), probe);
	if (f)
		born(t, f, probe);
	if (ev->u.rec.id == HWT_ID_sched_exit)
		gone(t, tasks_get(t, ev->tid), probe);
}

void tasks_scope_begin(struct tasks *t)
{
	struct task *k;

	if (t->broken > t->joins / FEW && !t->lost)
		t->scope.bits = HWT_SCOPE_TASKS | HWT_SCOPE_GUESSED;
	t->events = 0;
	for (uint32_t i = 0; (k = idtab_next(&t->tasks, sizeof(*k), &i));) {
		k->born = false;
		k->unseen = 0;
	}
	for (size_t i = 0; i < t->cpus.n; i++)
		((struct task_cpu *)t->cpus.v)[i].tid = HWT_NONE;
}

uint64_t tasks_unseen(const struct tasks *t, const struct task *k)
{
	if (!(t->scope.bits & HWT_SCOPE_TASKS))
		return 0;
	return k->recorded ? k->unseen : t->events;
}
