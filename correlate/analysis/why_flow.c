/* SPDX-License-Identifier: BSD-2-Clause */
/* The flow of one thread: branches taken, calls and returns, exceptions, holes. */
#include <errno.h>
#include <stdlib.h>

#include <hwtrace/uapi.h>

#include "why.h"

uint8_t why_part(const struct hwt_why *w, const struct why_thread *t)
{
	/* the kernel's word comes first: it sees the task leave even where trace is missing */
	if (t->part != HWT_PART_RUN && t->part != HWT_PART_UNKNOWN)
		return t->part;
	if (t->hole)
		return PATH_HOLE;
	if (t->fault)
		return PATH_FAULT;
	if (t->exc)
		return PATH_EXCEPTION;
	if (!t->dark && w->trace)
		return HWT_PART_RUN;
	/* where no switches are told at all, each of them would be unknown */
	return t->part == HWT_PART_UNKNOWN && w->pairs->tasks.known >> HWT_PART_RUN & 1 ?
		HWT_PART_UNKNOWN : PATH_DARK;
}

static int part(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	return t->open ? path_part(&t->path, why_at(ev), why_part(w, t)) : 0;
}

/*
 * Its exception, or where user code is not traced any more, is where the fault begins; without one
 * of them it does where the kernel tells it. It ends where own code is seen to go on.
 */
int why_fault(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	const struct hwt_rec_mm_fault *r = ev->u.rec.data;
	bool user = r->access & HWT_access_bit_user;
	int rc;

	/* the trace told it already */
	if (t->exc && t->fault)
		return 0;
	rc = why_fault_over(w, t, why_at(ev));
	if (rc || !t->open)
		return rc;
	t->fault = true;
	t->fault_at = why_at(ev);
	/* code that was seen last may have run behind the fault; a call of the kernel goes on */
	t->loose = !w->trace || (t->dark && !user) ||
		(t->seen.lo != HWT_TIME_UNKNOWN && t->seen.hi > ev->time);
	if (!t->path.faults++)
		t->path.fault_at = r->ip;
	path_rename(&t->path, PATH_EXCEPTION, PATH_FAULT);
	if (user && w->trace)
		path_rename(&t->path, PATH_DARK, PATH_FAULT);
	return part(w, t, ev);
}

/* The instruction is of the function whose entry and return are the points. */
static bool is_own(const struct hwt_why *w, const struct hwt_event *ev, uint64_t ip)
{
	struct hwt_where at = { .pid = ev->pid,
		.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN };
	struct hwt_symbol sym;

	return w->pairs->same_function &&
		hwt_image_symbol(hwt_session_image(w->s), &at, ip, &sym) == 1 &&
		point_in(&w->pairs->from, sym.start, sym.start);
}

int why_fault_placed(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	const struct hwt_rec_mm_fault *r = ev->u.rec.data;
	struct hwt_interval at = why_at(ev), end = why_at(&t->one.to);
	int rc = 0;

	/* what begins later has not begun, by the order of events */
	if (!t->begin || t->doubt || t->before_end >= at.lo || (!t->open && end.hi <= at.lo) ||
	    !is_own(w, ev, r->ip))
		return 0;
	for (int i = 0; i < 2 && !rc && !t->open && w->pass == 2; i++) {
		struct path *p = &w->path[i];

		if (!w->have[i] || t->begin != w->begin[i])
			continue;
		if (!p->faults++)
			p->fault_at = r->ip;
		rc = path_part(p, at, PATH_FAULT);
		if (!rc)
			rc = path_part(p, (struct hwt_interval){ at.lo, end.hi }, HWT_PART_RUN);
	}
	return rc < 0 ? rc : 1;
}

int why_fault_over(struct hwt_why *w, struct why_thread *t, struct hwt_interval at)
{
	if (!t->fault)
		return 0;
	t->fault = false;
	if (!t->open || !t->loose)
		return 0;
	return path_part(&t->path, (struct hwt_interval){ t->fault_at.lo, at.hi },
			 why_part(w, t));
}

/* The instruction does not decide where flow goes on. */
static bool no_branch(unsigned kind)
{
	return kind == HWT_INSN_OTHER || kind == HWT_INSN_PTWRITE || kind == HWT_INSN_BARRIER;
}

/*
 * Flow arrives at a range. A path is told by where each branch led, taken or not; so it is the
 * same path again behind a detour or a hole. What is cut by an interrupt goes on.
 */
static int arrive(struct why_thread *t, const struct hwt_event *ev)
{
	uint64_t first = ev->u.range.first;

	if (!t->open || (t->size && no_branch(t->kind) && first == t->last + t->size))
		return 0;
	return path_token(&t->path, why_at(ev), first, first, false);
}

/* In an exception: the range is not of its handler, nor of what interrupted that. */
static bool is_back(struct why_thread *t, const struct hwt_event *ev)
{
	uint64_t first = ev->u.range.first;
	bool far = t->exc_kind == HWT_INSN_FAR_RETURN;

	/* the handler is not traced, or there is no other half for a kernel */
	if (!t->exc_kernel)
		return first == t->exc_from || far;
	if (!(first >> 63))
		return true;
	/* a return to what follows it is there to make the CPU wait for what it was told */
	if (!far || first == t->exc_end)
		return false;
	if (first == t->exc_from || !t->exc_depth)
		return true;
	t->exc_depth--;
	return false;
}

static int range(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	bool back = t->exc && is_back(t, ev);
	int rc;

	if (t->exc && !back) {
		/* the handler's code is not the thread's own */
		t->exc_kind = ev->u.range.kind;
		t->exc_end = ev->u.range.last + ev->u.range.last_size;
		t->exc_kernel |= ev->u.range.first >> 63;
		return part(w, t, ev);
	}
	rc = why_fault_over(w, t, why_at(ev));
	if (back)
		t->exc = false;
	t->hole = t->dark = false;
	if (!rc)
		rc = arrive(t, ev);
	if (!rc)
		rc = part(w, t, ev);
	t->before = t->size ? t->seen : why_at(ev);
	t->last = ev->u.range.last;
	t->size = ev->u.range.last_size;
	t->kind = ev->u.range.kind;
	t->seen = why_at(ev);
	return rc;
}

/*
 * A trace unit tells that it lost something when it can again: what is missing begins where it was
 * seen last. No packet may bound the last range from above but that of the hole: then where the
 * one before was.
 */
static struct hwt_interval hole_begin(const struct why_thread *t, const struct hwt_event *ev)
{
	struct hwt_interval at = why_at(ev), last = t->seen;

	if (last.lo != HWT_TIME_UNKNOWN && last.hi >= at.hi && t->before.lo != HWT_TIME_UNKNOWN)
		last = t->before;
	if (!t->size || t->exc || t->dark ||
	    (t->part != HWT_PART_RUN && t->part != HWT_PART_UNKNOWN) ||
	    last.lo == HWT_TIME_UNKNOWN || at.lo == HWT_TIME_UNKNOWN || at.lo < last.lo)
		return at;
	return (struct hwt_interval){ last.lo, at.hi < last.hi ? at.hi : last.hi };
}

static int gap(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	struct hwt_interval at = hole_begin(t, ev);
	int rc = 0;

	if (t->open && !t->hole)
		rc = path_token(&t->path, at, HWT_NO_ADDR, HWT_NO_ADDR, true);
	t->hole = t->doubt = true;
	t->exc = t->dark = t->fault = false;
	t->size = 0;
	return !rc && t->open ? path_part(&t->path, at, why_part(w, t)) : rc;
}

/* An exception that the trace itself names an abort of memory is a fault, whoever else tells it. */
static void abort_told(struct why_thread *t, const struct hwt_event *ev)
{
	if (ev->u.exc.what != HWT_EXC_INST_FAULT && ev->u.exc.what != HWT_EXC_DATA_FAULT)
		return;
	t->fault = t->open;
	t->loose = false;
	t->fault_at = why_at(ev);
	if (t->open && !t->path.faults++)
		t->path.fault_at = ev->u.exc.from;
}

int why_flow(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	int rc = 0;

	switch (ev->type) {
	case HWT_EV_RANGE:
		return range(w, t, ev);
	case HWT_EV_GAP:
		return gap(w, t, ev);
	case HWT_EV_OFF:
		t->dark = true;
		return part(w, t, ev);
	case HWT_EV_ON:
		rc = why_fault_over(w, t, why_at(ev));
		t->dark = t->hole = false;
		t->exc = false;		/* what is traced again is its own code */
		return rc ? rc : part(w, t, ev);
	case HWT_EV_EXCEPTION:
		if (ev->u.exc.what == HWT_EXC_CALL || ev->u.exc.what == HWT_EXC_SVC)
			return 0;
		if (t->exc) {
			t->exc_depth += t->exc_depth < UINT8_MAX;
			t->exc_kind = HWT_INSN_OTHER;
			return 0;
		}
		rc = why_fault_over(w, t, why_at(ev));
		t->exc = true;
		abort_told(t, ev);
		t->exc_kind = HWT_INSN_OTHER;
		t->exc_kernel = false;
		t->exc_depth = 0;
		t->exc_from = ev->u.exc.from;
		return rc ? rc : part(w, t, ev);
	case HWT_EV_ERET:
		/* where it led tells whether it was the handler's */
		if (t->exc && t->exc_kernel) {
			t->exc_kind = HWT_INSN_FAR_RETURN;
			return 0;
		}
		rc = why_fault_over(w, t, why_at(ev));
		t->exc = false;
		return rc ? rc : part(w, t, ev);
	}
	return 0;
}
