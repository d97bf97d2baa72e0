/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which function runs where no call led: at the start of the trace, behind a hole, and below the
 * first known frame. Nothing is taken for open across a hole unless flow comes back to it.
 */
#include "stack.h"

/*
 * The frame of [lo, hi) that runs at @addr: the caller of the one that returns there, or the only
 * one of that function; or -1. Frames of one stretch of trace only: those of an earlier one are
 * older than all that is known of a later one.
 */
static int64_t running(const struct thread *t, uint32_t lo, uint32_t hi, uint64_t func,
		uint64_t addr)
{
	int64_t found = -1;

	if (hi - lo > SEARCH)
		lo = hi - SEARCH;
	for (uint32_t i = hi; i-- > lo;) {
		const struct frame *f = &t->v[i];

		if (found >= 0 && f->seg != t->v[found].seg)
			break;
		if (i > lo && f->ret == addr && !f->any && t->v[i - 1].seg == f->seg)
			return i - 1;
		if (func == HWT_NO_ADDR || f->func != func)
			continue;
		if (found >= 0)
			return -1;
		found = i;
	}
	return found;
}

void locate_resume(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev, uint32_t i)
{
	const struct frame *f = &t->v[i];

	t->seen = stack_holes(c, t);
	*stack_slot(c->post, &c->npost) = (struct hwt_call){ .ev = *ev, .what = HWT_CALL_RESUME,
		.why = HWT_WHY_AGAIN, .tainted = 1, .depth = f->depth, .func = f->func,
		.site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
		.enter_span = HWT_SPAN_UNKNOWN };
}

void locate(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev, uint64_t addr)
{
	bool hole = t->seen != stack_holes(c, t);
	bool entered;
	uint64_t func;
	int64_t i;

	if (addr == HWT_NO_ADDR || (!hole && !t->astray && stack_top(t)))
		return;
	func = stack_func_of(c, ev, addr);
	t->seen = stack_holes(c, t);
	/* a function that is entered where tracing begins anew is not one that is open */
	entered = t->away == AWAY_STOP && ev->type == HWT_EV_ON && func == addr;
	i = hole && !entered ? running(t, t->lost, t->n, func, addr) : -1;
	if (i >= 0) {
		t->astray = false;
		stack_unwind(c, t, (uint32_t)i + 1, HWT_WHY_LOST, HWT_WHY_LOST, ev);
		locate_resume(c, t, ev, (uint32_t)i);
		return;
	}
	/* above a frame that is certain: only the function itself */
	if (!entered && (hole || !stack_top(t)))
		i = running(t, 0, t->lost, func, addr);
	t->astray = false;
	stack_unwind(c, t, hole ? t->lost : t->n, HWT_WHY_LOST, HWT_WHY_LOST, ev);
	c->keep = hole && t->n > t->lost;
	c->again = i;
	if (i >= 0)
		return;
	c->then = (struct frame){ .func = func != HWT_NO_ADDR ? func : addr, .site = HWT_NO_ADDR,
		.ret = HWT_NO_ADDR, .why = HWT_WHY_RUNNING, .any = 1, .inferred = 1,
		.behind = hole && t->n && !entered };
	c->has_then = true;
	if (hole && t->n == t->lost)
		t->next = 0;
}

static void put(struct hwt_calls *c, const struct thread *t, const struct hwt_event *ev,
		uint8_t what)
{
	const struct frame *top = stack_top(t);

	*stack_slot(c->pre, &c->npre) = (struct hwt_call){ .ev = *ev, .what = what,
		.why = HWT_WHY_LOST, .tainted = 1, .depth = top ? top->depth + 1 : t->next,
		.func = HWT_NO_ADDR, .site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
		.enter_span = HWT_SPAN_UNKNOWN };
}

void locate_hole(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct lane *all = c->lanes.v;

	/* where threads are known, any of them may have run in the hole; one of no CPU is of all */
	if (c->merged && ev->cpu == HWT_NONE)
		for (size_t i = 0; i < c->lanes.n; i++)
			all[i].holes += all[i].src == ev->src;
	else if (!c->merged && ev->tid == HWT_NONE && ev->cpu != HWT_NONE)
		t->holes++;
	else
		stack_lane(c, t)->holes++;
	c->any++;
	t->away = AWAY_NO;
	t->resume = HWT_NO_ADDR;
	t->last = t->off_addr = HWT_NO_ADDR;
	put(c, t, ev, HWT_CALL_GAP);
}

void locate_untraced(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct hwt_call *o = &c->pre[c->npre];

	put(c, t, ev, HWT_CALL_UNTRACED);
	o->func = ev->u.at.addr;
	o->site = t->off_addr != HWT_NO_ADDR ? t->off_addr : t->last;
	t->holes++;
	if (t->away != AWAY_STOP)
		t->away = AWAY_NO;
}
