/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_owner.h"

static void set(struct ipt_owner *o, int32_t pid, int32_t tid)
{
	o->pid = o->code = pid;
	o->tid = tid;
}

/*
 * Between the "out" and the "in" record of a switch the kernel changes the address space: who has
 * a new one is the task that comes. One that was there before is the old task's. Of one that is
 * told for the first time within, nobody can say whose it is; user code that runs then, as
 * our time can be late, is that of the task that comes.
 */
static void by_schedule(struct ipt_owner *o)
{
	const struct machine_run *next;

	set(o, o->cur.pid, o->cur.tid);
	if (!o->between || o->kept || o->cr3 == HWT_NO_ADDR)
		return;
	next = &o->cur.v[o->cur.i];
	if (o->moved) {
		set(o, next->pid, next->tid);
		return;
	}
	o->pid = o->tid = HWT_NONE;
	o->code = next->pid;
}

/*
 * Linux, PTI: bit 12 chooses the half of the 8 KiB table, bit 11 the process-context id of it where
 * the CPU has those.
 */
#define KPTI_HALF	0x1000
#define KPTI_BITS	0x1800

static uint64_t space(const struct ipt_owner *o, uint64_t cr3)
{
	return o->kpti && cr3 != HWT_NO_ADDR ? cr3 & ~(uint64_t)KPTI_BITS : cr3;
}

#define RUNS	64	/* that are looked through */

/*
 * Whose address space it is, where that is not who runs by the schedule. Time is not known well
 * then, most times it is early: of several that have it one after the other it is the one that runs
 * next on this CPU. Where the schedule tells nobody, it is the one that ran last.
 */
static int32_t owner_of(const struct ipt_owner *o, uint64_t aspace)
{
	const struct machine_cursor *c = &o->cur;

	for (size_t i = c->i; c->tid == HWT_NONE && i && i + RUNS > c->i; i--)
		if (machine_owns(o->m, aspace, c->v[i - 1].pid))
			return c->v[i - 1].pid;
	for (size_t i = c->i; i < c->n && i < c->i + RUNS; i++)
		if (machine_owns(o->m, aspace, c->v[i].pid))
			return c->v[i].pid;
	return machine_aspace(o->m, aspace);
}

/*
 * CR3 wins over time: the schedule is stamped on another clock path and a little early or late. But
 * one process after another may have it, and share it with a child: then time tells which.
 */
static void choose(struct ipt_owner *o)
{
	int32_t pid;

	if (o->fixed)
		return;
	by_schedule(o);
	if (o->cr3 == HWT_NO_ADDR || !o->m)
		return;
	if (machine_owns(o->m, space(o, o->cr3), o->pid))
		return;
	pid = owner_of(o, space(o, o->cr3));
	if (pid == HWT_NONE || pid == o->pid)
		return;
	if (o->between && pid == o->cur.v[o->cur.i].pid)
		set(o, pid, o->cur.v[o->cur.i].tid);
	else
		set(o, pid, o->between && pid == o->cur.pid ? o->cur.tid : HWT_NONE);
}

void ipt_owner_init(struct ipt_owner *o, struct machine *m, const struct trace_buf *b)
{
	*o = (struct ipt_owner){ .m = m, .cr3 = HWT_NO_ADDR, .side = HWT_NO_ADDR,
		.pid = b->pid, .tid = b->tid, .code = b->pid, .taken = HWT_TIME_UNKNOWN };
	o->cur.pid = o->cur.tid = HWT_NONE;
	if (m)
		machine_cursor_init(&o->cur, m, b->cpu);
	if (b->pid != HWT_NONE || b->tid != HWT_NONE || b->cpu == HWT_NONE)
		o->cur.n = o->cur.i;		/* the schedule of no CPU */
}

void ipt_owner_span(struct ipt_owner *o, const struct trace_buf *b, const struct trace_span *s)
{
	int32_t tid = s->tid != HWT_NONE ? s->tid : b->tid;
	int32_t pid = s->pid != HWT_NONE ? s->pid : b->pid;

	o->fixed = pid != HWT_NONE || tid != HWT_NONE;
	if (o->fixed && pid == HWT_NONE && o->m)
		pid = machine_pid(o->m, tid);
	set(o, pid, tid);
	choose(o);
}

/*
 * A stretch with one CR3 that began as the task came in by the schedule, and that ran user code,
 * is over: the CR3 is that task's. Kernel threads keep the CR3 of the task before them, but run no
 * user code. The schedule can be late by the grain of the trace's time, so two stretches must
 * agree. With page-table isolation
 * both sides of a task count as one.
 */
static void learn(struct ipt_owner *o)
{
	uint64_t cr3 = space(o, o->cr3);
	unsigned i = (unsigned)(cr3 >> 12) % IPT_GUESSES;

	if (o->held && o->user && o->m && o->cur.pid > 0) {
		if (o->guess[i].cr3 == cr3 && o->guess[i].pid == o->cur.pid)
			machine_guess_aspace(o->m, cr3, o->cur.pid);
		o->guess[i].cr3 = cr3;
		o->guess[i].pid = o->cur.pid;
	}
	o->user = false;
}

/*
 * True if the change to @cr3 shows page-table isolation. Without process-context ids two tasks can
 * differ in bit 12 as well; so the same half must be left again, after user code ran with it and
 * none with the other, and no task came in between.
 */
static bool isolated(struct ipt_owner *o, uint64_t cr3)
{
	bool again;

	if (o->cr3 == HWT_NO_ADDR)
		return false;
	if ((o->cr3 ^ cr3) == KPTI_BITS)
		return true;
	if ((o->cr3 ^ cr3) != KPTI_HALF || cr3 & 0xfff || (cr3 & KPTI_HALF && o->user)) {
		o->side = HWT_NO_ADDR;
		return false;
	}
	if (cr3 & KPTI_HALF)
		return false;
	again = o->user && o->side == o->cr3;
	o->side = o->user ? o->cr3 : HWT_NO_ADDR;
	return again;
}

void ipt_owner_cr3(struct ipt_owner *o, uint64_t cr3)
{
	o->kpti |= isolated(o, cr3);
	if (space(o, cr3) != space(o, o->cr3)) {
		learn(o);
		o->held = false;
		o->moved = o->between && (o->moved || o->cr3 != HWT_NO_ADDR);
		o->kept = false;
	}
	o->cr3 = cr3;
	choose(o);
}

void ipt_owner_lost(struct ipt_owner *o)
{
	o->cr3 = o->side = HWT_NO_ADDR;
	o->held = o->kept = o->moved = false;
	choose(o);
}

bool ipt_owner_told(const struct ipt_owner *o)
{
	return o->cr3 != HWT_NO_ADDR && o->m &&
		machine_aspace(o->m, space(o, o->cr3)) != HWT_NONE;
}

/* Is @now between the two records of the next switch? */
static void look_ahead(struct ipt_owner *o, uint64_t now)
{
	if (o->between || machine_cursor_due(&o->cur) == HWT_TIME_UNKNOWN ||
	    machine_cursor_out(&o->cur) > now)
		return;
	/* nothing was seen of a task that came and is about to go at one instant */
	o->kept = o->started && o->taken != now && o->cr3 != HWT_NO_ADDR;
	o->between = true;
	o->moved = false;
	choose(o);
}

int ipt_owner_step(struct ipt_owner *o, uint64_t now, struct hwt_event *ev)
{
	const struct machine_run *r;
	int32_t pid, tid;

	while (machine_cursor_due(&o->cur) <= now && machine_cursor_due(&o->cur) !=
	       HWT_TIME_UNKNOWN) {
		pid = o->cur.pid;
		tid = o->cur.tid;
		learn(o);
		r = machine_cursor_step(&o->cur);
		o->between = o->kept = o->moved = false;
		o->taken = now;
		o->side = HWT_NO_ADDR;
		o->held = o->cr3 != HWT_NO_ADDR;
		choose(o);
		if (!o->started && machine_cursor_due(&o->cur) <= now)
			continue;
		if (!o->started)
			break;
		ev->time = r->time;
		ev->flags = r->flags;
		ev->u.sched.prev_pid = pid;
		ev->u.sched.prev_tid = tid;
		ev->u.sched.next_pid = r->pid;
		ev->u.sched.next_tid = r->tid;
		ev->u.sched.next_aspace = o->cr3;
		return 1;
	}
	look_ahead(o, now);
	o->started = true;
	return 0;
}
