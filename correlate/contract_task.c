/* SPDX-License-Identifier: BSD-2-Clause */
/* Tasks: who runs where, who wakes whom, lives, names, signals. */
#include <string.h>

#include "../hwtrace/events/names.h"
#include "contract.h"

#define UNKNOWN32 UINT32_MAX

static void came_in(struct contract *c, struct contract_cpu *k, int32_t pid, int32_t tid)
{
	k->running = tid;
	k->running_pid = pid;
	k->ran = c->now;
}

/*
 * A switch is missing: so are the records of who ran there. Some machines hide tasks from those
 * that trace, and what such a task or an interrupt of it did is no finding elsewhere.
 */
static void hidden(struct contract *c)
{
	contract_forget(c, c->now.at.cpu);
}

/* Who leaves is who came; a switch changes the task. */
static void leaves(struct contract *c, struct contract_cpu *k,
		   const struct hwt_rec_sched_switch *r)
{
	if (!k || k->running == HWT_NONE || r->prev_tid == HWT_NONE)
		return;
	contract_check(c, RULE_SWITCH);
	if (k->running != r->prev_tid) {
		contract_broken(c, RULE_SWITCH, KIND_NONE, c->now.at.cpu, &k->ran, r->prev_tid,
				"task %d leaves CPU %d, but %d came in last: a switch is missing, "
				"who ran between is not known", r->prev_tid, c->now.at.cpu,
				k->running);
		hidden(c);
	} else if (r->prev_tid == r->next_tid) {
		contract_broken(c, RULE_SWITCH, KIND_NONE, c->now.at.cpu, &k->ran, r->prev_tid,
				"a switch from task %d to itself", r->prev_tid);
	}
}

static void is_on(struct contract *c, struct contract_task *t, int32_t cpu)
{
	t->cpu = cpu;
	t->moved = c->now;
}

static void comes(struct contract *c, struct contract_task *t, int32_t cpu)
{
	contract_check(c, RULE_WOKEN);
	if (t->slept.seq)
		contract_broken(c, RULE_WOKEN, KIND_sched_wakeup, HWT_NONE, &t->slept, t->tid,
				"task %d runs on CPU %d, but nobody woke it since it went to "
				"sleep: why it waited is not known", t->tid, cpu);
	t->slept = (struct contract_mark){ 0 };
	if (cpu < 0)
		return;
	if (t->cpu >= 0) {
		contract_check(c, RULE_MOVED);
		if (t->cpu != cpu)
			contract_broken(c, RULE_MOVED, KIND_sched_migrate, CONTRACT_ANY, &t->moved,
					t->tid, "task %d runs on CPU %d, but nobody moved it from "
					"CPU %d: when it changed is not known", t->tid, cpu,
					t->cpu);
	}
	is_on(c, t, cpu);
}

static void sched_switch(struct contract *c, struct contract_cpu *k,
			 const struct hwt_rec_sched_switch *r)
{
	struct contract_task *prev = contract_task(c, r->prev_tid), *next;

	leaves(c, k, r);
	if (prev) {
		prev->slept = (struct contract_mark){ 0 };
		if (r->preempted != HWT_yesno_yes &&
		    (r->prev_state == HWT_task_state_sleep ||
		     r->prev_state == HWT_task_state_wait || r->prev_state == HWT_task_state_idle))
			prev->slept = c->now;
		is_on(c, prev, c->now.at.cpu);
	}
	next = contract_task(c, r->next_tid);	/* may take the place of @prev */
	if (next)
		comes(c, next, c->now.at.cpu);
	if (k)
		came_in(c, k, r->next_pid, r->next_tid);
}

/* A thread that calls exec gets the id of its process without a switch. */
static void runs(struct contract *c, struct contract_cpu *k, const struct hwt_rec *r)
{
	if (!k || k->running == HWT_NONE || r->tid < 0 || c->off >> RULE_RUNS & 1)
		return;
	contract_check(c, RULE_RUNS);
	if (k->running == r->tid)
		return;
	if (r->tid != r->pid || k->running_pid != r->pid) {
		contract_broken(c, RULE_RUNS, KIND_sched_switch, c->now.at.cpu, &k->ran, r->tid,
				"a record of task %d on CPU %d, where %d runs: a switch is missing "
				"or on a wrong CPU", r->tid, c->now.at.cpu, k->running);
		hidden(c);
	}
	came_in(c, k, r->pid, r->tid);
}

/* Each waking ends in one wakeup. */
static void woken(struct contract *c, const struct hwt_rec_sched_wakeup *r)
{
	struct contract_task *t = contract_task(c, r->wake_tid);
	struct contract_open *o;

	if (!t)
		return;
	o = &t->waking;
	t->slept = (struct contract_mark){ 0 };
	contract_check(c, RULE_WAKING);
	if (r->rec.id == HWT_ID_sched_waking) {
		if (o->open)
			contract_broken(c, RULE_WAKING, KIND_sched_wakeup, HWT_NONE, &o->mark,
					t->tid, "task %d is to be woken before it was the last "
					"time: when it could run is not known", t->tid);
	} else if (o->mark.seq && !o->open) {
		contract_broken(c, RULE_WAKING, KIND_sched_waking, HWT_NONE, &o->mark, t->tid,
				"task %d is woken, but nobody asked for it since the last time: "
				"who did is not known", t->tid);
	}
	*o = (struct contract_open){ .mark = c->now, .open = r->rec.id == HWT_ID_sched_waking };
}

static void migrate(struct contract *c, const struct hwt_rec_sched_migrate *r)
{
	struct contract_task *t = contract_task(c, r->task_tid);
	struct contract_cpu *from;

	if (!t || r->from_cpu > INT32_MAX || r->to_cpu > INT32_MAX)
		return;
	from = contract_cpu(c, (int32_t)r->from_cpu);
	contract_check(c, RULE_MOVED);
	if (t->cpu >= 0 && t->cpu != (int32_t)r->from_cpu)
		contract_broken(c, RULE_MOVED, KIND_sched_migrate, CONTRACT_ANY, &t->moved, t->tid,
				"task %d moves from CPU %u, but was on CPU %d: when it came there "
				"is not known", t->tid, r->from_cpu, t->cpu);
	else if (from && from->running == t->tid)
		contract_broken(c, RULE_MOVED, KIND_sched_switch, (int32_t)r->from_cpu,
				&from->ran, t->tid, "task %d moves away from CPU %u while it runs "
				"there: a switch is missing", t->tid, r->from_cpu);
	is_on(c, t, (int32_t)r->to_cpu);
}

/* An id is used again when the task that had it has ended. */
static void born(struct contract *c, const struct contract_task *t,
		 const struct contract_mark *before)
{
	contract_check(c, RULE_BORN);
	if (before->seq && !t->exited)
		contract_broken(c, RULE_BORN, KIND_sched_exit, CONTRACT_ANY, before, t->tid,
				"task %d is new, but the one before with this id did not exit: "
				"when that ended is not known", t->tid);
}

static void forked(struct contract *c, const struct hwt_rec_sched_fork *f)
{
	struct contract_task *t = contract_task(c, f->child_tid);

	if (!t)
		return;
	born(c, t, t->forked.seq ? &t->forked : &t->new);
	*t = (struct contract_task){ .tid = t->tid, .life = c->life, .forked = c->now,
		.cpu = HWT_NONE };
}

/* Threads of io_uring are new without a fork. */
static void new_task(struct contract *c, const struct hwt_rec_sched_wakeup_new *w)
{
	struct contract_task *t = contract_task(c, w->wake_tid);

	if (!t)
		return;
	born(c, t, &t->new);
	t->slept = (struct contract_mark){ 0 };
	t->new = c->now;
	t->exited = false;
	if (w->target_cpu <= INT32_MAX)
		is_on(c, t, (int32_t)w->target_cpu);
	else
		t->cpu = HWT_NONE;
}

static void exits(struct contract *c, const struct hwt_rec_sched_exit *x)
{
	struct contract_task *t = contract_task(c, x->task_tid);

	if (!t)
		return;
	contract_check(c, RULE_EXIT);
	if (t->exited && t->exit.seq)
		contract_broken(c, RULE_EXIT, KIND_sched_wakeup_new, CONTRACT_ANY, &t->exit,
				t->tid, "task %d exits a second time: when the second one began is "
				"not known", t->tid);
	t->exited = true;
	t->exit = c->now;
}

static void freed(struct contract *c, const struct hwt_rec_sched_free *f)
{
	struct contract_task *t = contract_task(c, f->task_tid);

	if (!t)
		return;
	contract_check(c, RULE_EXIT);
	if (t->forked.seq && !t->exited)
		contract_broken(c, RULE_EXIT, KIND_sched_exit, HWT_NONE, &t->forked, t->tid,
				"task %d is gone, but it did not exit: when it ended is not known",
				t->tid);
	*t = (struct contract_task){ .tid = t->tid, .life = c->life, .cpu = HWT_NONE };
}

/* The first thread has exited before, and the one that calls exec has its id from now on. */
static void exec(struct contract *c, struct contract_cpu *k, const struct hwt_rec_sched_exec *e)
{
	struct contract_task *t = contract_task(c, e->old_tid);

	if (t && e->old_tid != e->task_tid) {
		t->exited = true;
		t->exit = (struct contract_mark){ 0 };
	}
	t = contract_task(c, e->task_tid);
	if (t) {
		t->exited = false;
		is_on(c, t, c->now.at.cpu);
	}
	if (k && k->running != HWT_NONE)
		came_in(c, k, e->task_pid, e->task_tid);
}

/*
 * The record of a new name stands before the change: for a moment both are right. Once the first
 * thread has exited, its id may be that of one that calls exec.
 */
static void is_named(struct contract *c, struct contract_task *t, const char *name)
{
	contract_check(c, RULE_NAMED);
	if (t->exited) {
		t->name[0] = 0;
		return;
	}
	if (!t->name[0])
		memcpy(t->name, name, 16);
	if (!strncmp(name, t->name, 16) || !strncmp(name, t->old, 16)) {
		t->told = c->now;
		return;
	}
	if (t->old[0] || !t->renamed)
		contract_broken(c, RULE_NAMED, KIND_sched_comm, CONTRACT_ANY, &t->told, t->tid,
				"task %d is called \"%.15s\", but its name was \"%.15s\" and "
				"nobody changed it", t->tid, name, t->name);
	memcpy(t->old, name, 16);
	if (!t->renamed)
		memcpy(t->name, name, 16);
	t->told = c->now;
}

static void names(struct contract *c, const struct hwt_rec *h)
{
	const struct hwt_rec_sched_comm *r = (const void *)h;
	struct contract_task *t;
	const char *name;
	int32_t tid;

	for (unsigned i = 0; names_of(h, i, &tid, &name); i++) {
		t = contract_task(c, tid);
		if (t)
			is_named(c, t, name);
	}
	if (h->id != HWT_ID_sched_comm || r->comm[15])
		return;
	t = contract_task(c, r->task_tid);
	if (!t)
		return;
	memcpy(t->old, t->name, 16);
	memcpy(t->name, r->comm, 16);
	t->renamed = true;
	t->told = c->now;
}

/* Of a signal to a process whose number is not known nobody can say who got it. */
static struct contract_thing *signal_of(struct contract *c, int32_t pid, uint32_t nr)
{
	return contract_thing(c, (uint64_t)(uint32_t)pid << 32 | nr, HWT_ID_sched_signal_send);
}

static void signal_send(struct contract *c, const struct hwt_rec_sched_signal_send *s)
{
	struct contract_thing *t;

	if (s->signal > 64 || s->result == HWT_signal_result_ignored ||
	    s->result == HWT_signal_result_pending || s->result == HWT_signal_result_no_room)
		return;
	if (s->to_pid <= 0) {
		c->signal_to_any[s->signal] = c->seq;
		return;
	}
	t = signal_of(c, s->to_pid, s->signal);
	t->count++;
	t->counted = true;
}

/*
 * The end of a process kills its threads without a record of its own (signal 9); timers of
 * programs send again what was ignored before (code -2, SI_TIMER).
 */
static void signal_deliver(struct contract *c, const struct hwt_rec_sched_signal_deliver *d)
{
	struct contract_thing *t;

	if (d->signal > 64 || d->signal == 9 || d->code == -2 || d->rec.pid <= 0)
		return;
	t = signal_of(c, d->rec.pid, d->signal);
	contract_check(c, RULE_SIGNAL);
	if (t->counted && !t->count && t->took.seq && c->signal_to_any[d->signal] < t->took.seq)
		contract_broken(c, RULE_SIGNAL, KIND_sched_signal_send, CONTRACT_ANY, &t->took,
				d->rec.tid, "task %d takes signal %u once more, but nobody sent "
				"it: who did is not known", d->rec.tid, d->signal);
	if (t->count)
		t->count--;
	t->took = c->now;
}

void contract_sched(struct contract *c, struct contract_cpu *k, const struct hwt_rec *h)
{
	if (h->id != HWT_ID_sched_switch && h->id != HWT_ID_sched_exec)
		runs(c, k, h);
	if (h->id != HWT_ID_sched_fork)
		names(c, h);
	switch (h->id) {
	case HWT_ID_sched_switch: sched_switch(c, k, (const void *)h); break;
	case HWT_ID_sched_waking: case HWT_ID_sched_wakeup: woken(c, (const void *)h); break;
	case HWT_ID_sched_wakeup_new: new_task(c, (const void *)h); break;
	case HWT_ID_sched_migrate: migrate(c, (const void *)h); break;
	case HWT_ID_sched_fork: forked(c, (const void *)h); break;
	case HWT_ID_sched_exec: exec(c, k, (const void *)h); break;
	case HWT_ID_sched_exit: exits(c, (const void *)h); break;
	case HWT_ID_sched_free: freed(c, (const void *)h); break;
	case HWT_ID_sched_signal_send: signal_send(c, (const void *)h); break;
	case HWT_ID_sched_signal_deliver: signal_deliver(c, (const void *)h); break;
	}
}
