/* SPDX-License-Identifier: BSD-2-Clause */
#include "task.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/kernel.h>
#include <hwtrace/uapi.h>

#define PROBE	65536	/* events that are looked at */

/* The record of @ev as a struct of uapi.h, NULL if it is another event or too short. */
#define REC(ev, name) ((ev)->u.rec.id == HWT_ID_##name && \
	(ev)->u.rec.size >= sizeof(struct hwt_rec_##name) ? \
	(const struct hwt_rec_##name *)(ev)->u.rec.data : NULL)

void tasks_free(struct tasks *t)
{
	idtab_free(&t->tasks);
	free(t->cpus.v);
	*t = (struct tasks){ .any = 0 };
}

static unsigned told_by(unsigned id)
{
	switch (id) {
	case HWT_ID_sched_switch:
		return 1u << HWT_PART_RUN | 1u << HWT_PART_PREEMPTED | 1u << HWT_PART_BLOCKED;
	case HWT_ID_sched_waking:
	case HWT_ID_sched_wakeup:
		return 1u << HWT_PART_READY;
	case HWT_ID_irq_entry:
		return 1u << HWT_PART_IRQ;
	case HWT_ID_softirq_entry:
		return 1u << HWT_PART_SOFTIRQ;
	}
	return 0;
}

/* Holes that may hide what the task does where it is now. */
static uint64_t holes_at(const struct tasks *t, const struct task *k)
{
	/* without switches it may be anywhere */
	if (!(t->known & 1u << HWT_PART_RUN))
		return t->any;
	if (k->state != HWT_PART_RUN && k->state != HWT_PART_UNKNOWN)
		return t->holes;
	return tasks_cpu_holes(t, k->cpu);
}

/* More parts are told from now on; where tasks are may be one of them. */
static void told(struct tasks *t, unsigned parts)
{
	struct task *k;

	for (uint32_t i = 0; (k = idtab_next(&t->tasks, sizeof(*k), &i));)
		k->holes += holes_at(t, k) - k->base;
	t->known |= parts;
	for (uint32_t i = 0; (k = idtab_next(&t->tasks, sizeof(*k), &i));)
		k->base = holes_at(t, k);
}

/*
 * Only what is on the clock of the first record with a time tells parts of a time: when it was on
 * another one, among the events of this one, is not known. One without time leaves no part behind.
 */
static bool tell(struct tasks *t, const struct hwt_event *ev)
{
	if (ev->time == HWT_TIME_UNKNOWN)
		return true;
	if (!t->timed)
		t->clock = ev->clock;
	t->timed = true;
	if (ev->clock != t->clock)
		return false;
	if (told_by(ev->u.rec.id) & ~t->known)
		told(t, told_by(ev->u.rec.id));
	return true;
}

void tasks_probe(struct tasks *t, struct hwt_session *s)
{
	struct hwt_event ev[64];
	struct hwt_stream *st;
	unsigned seen = 0;
	int n;

	hwt_session_scope(s, &t->scope);
	if (hwt_session_kernel(s, &st, NULL) < 0)
		return;
	while (seen < PROBE && (n = hwt_stream_next(st, ev, 64)) > 0) {
		for (int i = 0; i < n; i++)
			if (ev[i].type == HWT_EV_RECORD) {
				tell(t, &ev[i]);
				tasks_scope(t, &ev[i], true);
			}
		seen += (unsigned)n;
	}
	hwt_stream_close(st);
	tasks_scope_begin(t);
}

struct task *tasks_find(const struct tasks *t, int32_t tid)
{
	return tid > 0 ? idtab_get(&t->tasks, sizeof(struct task), (uint32_t)tid) : NULL;
}

struct task *tasks_get(struct tasks *t, int32_t tid)
{
	struct task *k = tasks_find(t, tid);

	if (k || tid <= 0)
		return k;
	k = idtab_make(&t->tasks, sizeof(*k), (uint32_t)tid);
	if (!k)
		return NULL;
	*k = (struct task){ .pid = HWT_NONE, .tid = tid, .cpu = HWT_NONE, .call = HWT_NONE,
		.state = HWT_PART_UNKNOWN, .part = HWT_PART_UNKNOWN };
	k->base = holes_at(t, k);
	return k;
}

/* One that has called exit may be made to leave, or wait, before its last switch. */
int32_t tasks_dead(const struct hwt_event *ev)
{
	const struct hwt_rec_sched_switch *s = ev->type == HWT_EV_RECORD && ev->u.rec.data ?
		REC(ev, sched_switch) : NULL;

	return s && s->preempted != HWT_yesno_yes && s->prev_tid > 0 &&
		(s->prev_state == HWT_task_state_dead ||
		 s->prev_state == HWT_task_state_zombie) ? s->prev_tid : 0;
}

struct task_cpu *tasks_cpu(struct tasks *t, int32_t cpu)
{
	if (cpu < 0 || cpu >= TASK_CPUS)
		return NULL;
	while (t->cpus.n <= (size_t)cpu) {
		struct task_cpu *c = vec_push(&t->cpus, sizeof(*c));

		if (!c)
			return NULL;
		c->tid = HWT_NONE;
	}
	return (struct task_cpu *)t->cpus.v + cpu;
}

/* It is somewhere else from now on: the holes of both places do not mix. */
static void put(const struct tasks *t, struct task *k, uint8_t state, int32_t cpu)
{
	k->holes += holes_at(t, k) - k->base;
	k->state = state;
	k->flow = false;
	k->cpu = cpu;
	k->base = holes_at(t, k);
}

/* Nothing that the kernel told says that it does not run. */
static bool may_run(const struct task *k)
{
	return k->state == HWT_PART_UNKNOWN || k->state == HWT_PART_AWAY || k->flow;
}

void tasks_seen(struct tasks *t, struct task *k, int32_t cpu)
{
	bool flow = may_run(k);

	put(t, k, flow ? HWT_PART_RUN : k->state, cpu >= 0 ? cpu : k->cpu);
	k->flow = flow;
	if (flow && k->part != HWT_PART_IRQ && k->part != HWT_PART_SOFTIRQ)
		k->part = HWT_PART_RUN;
}

static uint8_t part_of(const struct task *k, const struct task_cpu *c)
{
	if ((k->state != HWT_PART_RUN && k->state != HWT_PART_UNKNOWN) || !c)
		return k->state;
	return c->irq ? HWT_PART_IRQ : c->softirq ? HWT_PART_SOFTIRQ : k->state;
}

static struct hwt_interval instant(const struct hwt_event *ev)
{
	return (struct hwt_interval){ ev->time, hwt_event_end(ev) };
}

/*
 * A task that waits and then is there was woken in between. Where that is not told, it may have
 * been ready for as long as it seemed to wait: another one did it that is not recorded, or Linux
 * told it before the task left (sched.waking of one that is about to sleep).
 */
static uint8_t was(const struct tasks *t, const struct task *k, uint8_t part)
{
	return t->known & 1u << HWT_PART_READY &&
		k->part == HWT_PART_BLOCKED && part != HWT_PART_READY ? HWT_PART_AWAY : k->part;
}

static int change(const struct tasks *t, const struct task_cpu *c, struct task *k,
		  struct hwt_interval at, struct task_change *out)
{
	uint8_t part = part_of(k, c);

	if (part == k->part)
		return 0;
	*out = (struct task_change){ k, part, was(t, k, part), at };
	return 1;
}

/*
 * Another task than @tid was the last on a CPU, and no switch told that it left: it did so between
 * its last record and this event.
 */
static int left(struct tasks *t, struct task_cpu *c, int32_t tid, const struct hwt_event *ev,
		struct task_change *out)
{
	struct task *other = c->tid == tid ? NULL : tasks_get(t, c->tid);
	struct hwt_interval at = instant(ev);

	if (!other || other->cpu != ev->cpu ||
	    (other->state != HWT_PART_RUN && other->state != HWT_PART_UNKNOWN))
		return 0;
	if (c->seen < at.lo)
		at.lo = c->seen;
	put(t, other, HWT_PART_AWAY, other->cpu);
	return change(t, NULL, other, at, out);
}

/*
 * What the header of a record says: this task runs on this CPU now. If no switch told so, there was
 * one between the last record of the other task and this one; and when it leaves need not be told
 * either, so behind this instant it is not known whether it runs.
 */
static int running(struct tasks *t, struct task_cpu *c, const struct hwt_event *ev,
		   struct task_change *out)
{
	struct task *k = tasks_get(t, ev->tid);
	struct hwt_interval at = instant(ev);
	const struct task_cpu *old;
	int n;

	if (!c || ev->tid < 0)
		return 0;
	n = left(t, c, ev->tid, ev, out);
	if (c->tid != ev->tid && c->seen < at.lo)
		at.lo = c->seen;
	c->tid = ev->tid;
	c->seen = ev->time;
	if (!k)
		return n;
	k->pid = ev->pid;
	if (k->cpu != ev->cpu) {
		old = tasks_cpu(t, k->cpu);
		if (k->state == HWT_PART_RUN && old && old->seen < at.lo)
			at.lo = old->seen;
		put(t, k, HWT_PART_UNKNOWN, ev->cpu);
		/* it is told even if the part stays */
		out[n++] = (struct task_change){ k, part_of(k, c), was(t, k, part_of(k, c)),
			at };
		return n;
	}
	if (k->state != HWT_PART_RUN) {
		put(t, k, k->lit ? HWT_PART_RUN : HWT_PART_UNKNOWN, k->cpu);
		k->flow = k->lit;
	}
	return n + change(t, c, k, at, out + n);
}

/*
 * A task leaves a CPU, and by what was told it was on none, or on another one: it came here between
 * the last record of this CPU and this one. What it did here is not known.
 */
static int came(const struct tasks *t, const struct task_cpu *c, const struct task *k,
		const struct hwt_event *ev, struct task_change *out)
{
	struct hwt_interval at = instant(ev);

	if (!k || k->state == HWT_PART_UNKNOWN ||
	    (k->state == HWT_PART_RUN && (k->cpu == ev->cpu || k->cpu < 0)))
		return 0;
	if (c->seen < at.lo)
		at.lo = c->seen;
	*out = (struct task_change){ (struct task *)k, HWT_PART_UNKNOWN,
		was(t, k, HWT_PART_UNKNOWN), at };
	return 1;
}

static int switched(struct tasks *t, struct task_cpu *c, const struct hwt_event *ev,
		    const struct hwt_rec_sched_switch *r, struct task_change *out)
{
	struct task *prev = tasks_get(t, r->prev_tid), *next = tasks_get(t, r->next_tid);
	int n = 0;

	/* nobody switches in an interrupt: what is still open was lost */
	if (c) {
		n = left(t, c, r->prev_tid, ev, out);
		n += came(t, c, prev, ev, out + n);
		c->irq = c->softirq = 0;
		c->tid = r->next_tid;
		c->seen = ev->time;
	}
	if (prev && prev != next) {
		put(t, prev, r->prev_state == HWT_task_state_ready || r->preempted == 1 ?
		    HWT_PART_PREEMPTED : HWT_PART_BLOCKED, ev->cpu);
		if (n && out[n - 1].task == prev)
			out[n++] = (struct task_change){ prev, prev->state, HWT_PART_UNKNOWN,
				instant(ev) };
		else
			n += change(t, NULL, prev, instant(ev), out + n);
	}
	if (next) {
		put(t, next, HWT_PART_RUN, ev->cpu);
		next->pid = r->next_pid;
		/* one that was thought to run here was away in between, which is not applied yet */
		uint8_t away = n ? out[0].part : next->part;

		if (n && out[0].task == next)
			out[n++] = (struct task_change){ next, HWT_PART_RUN, away, instant(ev) };
		else
			n += change(t, c, next, instant(ev), out + n);
	}
	return n;
}

static int woken(struct tasks *t, int32_t tid, const struct hwt_event *ev, struct task_change *out)
{
	struct task *k = tasks_get(t, tid);

	if (!k || (k->state != HWT_PART_BLOCKED && k->state != HWT_PART_AWAY &&
		   k->state != HWT_PART_UNKNOWN))
		return 0;
	put(t, k, HWT_PART_READY, k->cpu);
	return change(t, NULL, k, instant(ev), out);
}

static void hole(struct tasks *t, const struct hwt_event *ev, bool kernel)
{
	struct task *k = tasks_get(t, ev->tid);
	struct task_cpu *c = tasks_cpu(t, ev->cpu);

	t->any++;
	if (kernel || (!c && !k))
		t->holes++;
	else if (c)
		c->holes++;
	else
		k->holes++;
	/* an exit may be among what was lost */
	if (kernel && c)
		c->irq = c->softirq = 0;
}

/*
 * Begin or end of an interrupt on a CPU, behind the @n changes that the record's header made; that
 * of the task that runs is the last of them.
 */
static int interrupt(struct tasks *t, struct task_cpu *c, const struct hwt_event *ev,
		     uint32_t *open, bool enter, struct task_change *out, int n)
{
	struct task *k = tasks_get(t, c->tid);

	if (enter)
		++*open;
	else if (*open)
		--*open;
	if (!k)
		return n;
	/* it came some time before, and is interrupted now */
	if (n && out[n - 1].task == k) {
		uint8_t before = out[n - 1].part, part = part_of(k, c);

		if (part == before)
			return n;
		out[n] = (struct task_change){ k, part, before, instant(ev) };
		return n + 1;
	}
	return n + change(t, c, k, instant(ev), out + n);
}

/* Its instructions are not seen any more. */
static int dark(struct tasks *t, struct task *k, const struct hwt_event *ev,
		struct task_change *out)
{
	if (!k)
		return 0;
	k->lit = false;
	if (!k->flow)
		return 0;
	put(t, k, HWT_PART_UNKNOWN, k->cpu);
	return change(t, NULL, k, instant(ev), out);
}

static int seen(struct tasks *t, struct task_cpu *c, const struct hwt_event *ev,
		struct task_change *out)
{
	struct task *k = tasks_get(t, ev->tid);
	int n = 0;

	if (c && c->flow != ev->tid)
		n = dark(t, tasks_get(t, c->flow), ev, out);
	if (c)
		c->flow = ev->tid > 0 ? ev->tid : 0;
	if (!k)
		return n;
	k->lit = true;
	if (!may_run(k))
		return n;
	if (!k->flow || (ev->cpu >= 0 && k->cpu != ev->cpu)) {
		put(t, k, HWT_PART_RUN, ev->cpu >= 0 ? ev->cpu : k->cpu);
		k->flow = true;
	}
	return n + change(t, k->cpu == ev->cpu ? c : NULL, k, instant(ev), out + n);
}

/* What the trace shows of who runs: a task that executes is on a CPU, whatever no switch told. */
static int flow(struct tasks *t, struct task_cpu *c, const struct hwt_event *ev,
		struct task_change *out)
{
	const struct hwt_call *call = ev->u.rec.data;

	if (!t->timed || ev->clock != t->clock || ev->time == HWT_TIME_UNKNOWN ||
	    ev->flags & HWT_F_DOUBT)
		return 0;
	switch (ev->type) {
	case HWT_EV_FRAME:
		if (call->ev.type != HWT_EV_CALL && call->ev.type != HWT_EV_RETURN)
			return 0;
		return seen(t, c, ev, out);
	case HWT_EV_ON:
	case HWT_EV_ERET:
		return seen(t, c, ev, out);
	case HWT_EV_EXCEPTION:
		if (ev->u.exc.to != HWT_NO_ADDR)
			return seen(t, c, ev, out);
		return dark(t, tasks_get(t, ev->tid), ev, out);
	case HWT_EV_OFF:
	case HWT_EV_GAP:
		return dark(t, tasks_get(t, ev->tid > 0 ? ev->tid : c ? c->flow : 0), ev, out);
	}
	return 0;
}

static void call(struct tasks *t, const struct hwt_event *ev)
{
	const struct hwt_rec_syscall_enter *e = REC(ev, syscall_enter);
	struct task *k = e || ev->u.rec.id == HWT_ID_syscall_exit ? tasks_get(t, ev->tid) : NULL;

	if (k)
		/* as hwt_kernel_call(): who does not tell has those of the machine */
		k->call = e && (e->abi == HWT_syscall_abi_bits64 || e->abi == UINT32_MAX) &&
			e->nr <= INT16_MAX ? (int32_t)e->nr : HWT_NONE;
}

int tasks_event(struct tasks *t, const struct hwt_event *ev, struct task_change out[TASK_CHANGES])
{
	struct task_cpu *c = tasks_cpu(t, ev->cpu);
	const struct hwt_rec_sched_wakeup *w;
	const struct hwt_rec_sched_switch *s;
	int n;

	if (ev->type == HWT_EV_GAP)
		hole(t, ev, false);
	if (ev->type == HWT_EV_FRAME && ev->u.rec.id == HWT_CALL_UNTRACED)
		hole(t, ev, false);
	if (ev->type != HWT_EV_RECORD)
		return flow(t, c, ev, out);
	if (ev->u.rec.id >= HWT_ID_DIRTY || !ev->u.rec.data)
		return 0;
	if (ev->u.rec.id == HWT_ID_stream_lost) {
		hole(t, ev, true);
		return 0;
	}
	tasks_scope(t, ev, false);
	if (!tell(t, ev))
		return 0;
	s = REC(ev, sched_switch);
	if (s)
		return switched(t, c, ev, s, out);
	call(t, ev);
	n = running(t, c, ev, out);
	/* the three have the same fields */
	w = REC(ev, sched_wakeup);
	w = w ? w : (const void *)REC(ev, sched_waking);
	w = w ? w : (const void *)REC(ev, sched_wakeup_new);
	if (w)
		return n + woken(t, w->wake_tid, ev, out + n);
	if (!c)
		return n;
	switch (ev->u.rec.id) {
	case HWT_ID_irq_entry:
	case HWT_ID_irq_exit:
		return interrupt(t, c, ev, &c->irq, ev->u.rec.id == HWT_ID_irq_entry, out, n);
	case HWT_ID_softirq_entry:
	case HWT_ID_softirq_exit:
		return interrupt(t, c, ev, &c->softirq, ev->u.rec.id == HWT_ID_softirq_entry, out,
				 n);
	}
	return n;
}

uint64_t tasks_cpu_holes(const struct tasks *t, int32_t cpu)
{
	uint64_t n = t->holes;

	if (cpu < 0)
		return t->any;
	if ((size_t)cpu < t->cpus.n)
		n += ((const struct task_cpu *)t->cpus.v)[cpu].holes;
	return n;
}

uint64_t tasks_holes(const struct tasks *t, const struct task *k)
{
	return k->holes + holes_at(t, k) - k->base;
}
