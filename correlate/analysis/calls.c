/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Stacks of open calls. A return belongs to the frame whose call it comes back from, found by
 * address and not by counting, so that longjmp, exceptions and code that plays with its stack
 * unwind what they really leave.
 */
#include "stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE	((int64_t)1 << 40)	/* the idle task of CPU 0 */

static int64_t key_of(const struct hwt_calls *c, const struct hwt_event *ev)
{
	/* one for each CPU has the same id */
	if (c->merged && !ev->tid)
		return IDLE + ev->cpu;
	return ev->tid != HWT_NONE ? ev->tid : -2 - (int64_t)ev->cpu;
}

/* A jump out of the top frame into another function, which returns in its place. */
static int tail(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame *top = stack_top(t);
	struct frame f = { .ret = HWT_NO_ADDR, .any = 1 };

	if (top) {
		f = *top;
		stack_leave(stack_slot(c->pre, &c->npre), c, t, top, ev, HWT_WHY_TAIL);
		stack_pop(t);
		if (!stack_top(t))
			t->next = f.depth;
	}
	f.func = ev->u.edge.to;
	f.site = ev->u.edge.from;
	f.why = HWT_WHY_TAIL;
	f.inferred = 0;
	f.behind = 0;
	return stack_push_enter(c, t, &f, ev);
}

static int on_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.edge.to, .site = ev->u.edge.from, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_CALL };

	if (ev->flags & HWT_F_TAIL)
		return tail(c, t, ev);
	if (ev->u.edge.kind == HWT_INSN_FAR_CALL) {
		if (ev->flags & HWT_F_INTR)	/* its exception is told with it */
			return exc_far_call(c, t, ev);
		t->far_call = true;
		t->pend = *ev;
		return 0;
	}
	if (ev->flags & HWT_F_INTR) {
		f.why = HWT_WHY_INTERRUPT;
		f.exc = 1;
		f.ret = f.site;
	} else if (ev->u.edge.last_size) {
		f.ret = ev->u.edge.from + ev->u.edge.last_size;
	}
	return stack_push_enter(c, t, &f, ev);
}

static bool returns_to(const struct frame *f, uint64_t to)
{
	if (f->exc || f->any)
		return false;
	if (f->ret != HWT_NO_ADDR)
		return f->ret == to;
	/* size of the call not known: 15 bytes is the longest instruction */
	return f->site != HWT_NO_ADDR && to > f->site && to - f->site <= 15;
}

/*
 * The frame that comes back to @to. Below an exception too: to come back there, the exception
 * must have been left by something that was not seen as a return from it.
 */
static int64_t find_return(const struct thread *t, uint64_t to)
{
	for (uint32_t i = t->n; i-- > stack_bottom(t);)
		if (returns_to(&t->v[i], to))
			return i;
	return -1;
}

/*
 * The frame of a function whose body is returned to at a place that made no call. Not below an
 * exception, unless in a hole: its handler may use the same functions.
 */
static int64_t find_func(const struct hwt_calls *c, const struct thread *t, uint64_t func)
{
	for (uint32_t i = t->n; func != HWT_NO_ADDR && i-- > stack_bottom(t);) {
		if (t->v[i].func == func)
			return i;
		if (t->v[i].exc && t->v[i].holes == stack_holes(c, t))
			break;
	}
	return -1;
}

/* A return to an address that no call left. */
static int odd_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t to = ev->u.edge.to, func = stack_func_of(c, ev, to);
	struct frame *top = stack_top(t);
	uint32_t stay;
	int64_t i;

	if (top && (top->any || top->why == HWT_WHY_SIGNAL)) {
		stack_unwind(c, t, t->n - 1, HWT_WHY_RETURN, HWT_WHY_RETURN, ev);
		return 0;
	}
	if (top && func != HWT_NO_ADDR && func == to) {
		/*
		 * a jump made with a return; a call inside a function (retpoline) only served to
		 * push an address
		 */
		if (t->n - t->lost > 1 && !stack_is_entry(c, ev, top->func) && !top->exc) {
			stack_leave(stack_slot(c->pre, &c->npre), c, t, top, ev, HWT_WHY_UNWIND);
			stack_pop(t);
		}
		return tail(c, t, ev);
	}
	i = find_func(c, t, func);
	if (i >= 0) {
		stack_unwind(c, t, (uint32_t)i + 1, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
		return 0;
	}
	/* all that was called here is gone; what runs now was open before, or is unseen */
	for (stay = t->n; stay > t->lost && !t->v[stay - 1].exc; stay--)
		;
	t->astray = stay > t->lost;
	stack_unwind(c, t, stay, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
	return 0;
}

static int on_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint64_t to = ev->u.edge.to;
	int64_t i;

	if (ev->u.edge.kind == HWT_INSN_FAR_RETURN || (ev->flags & HWT_F_INTR)) {
		exc_far_return(c, t, ev, to);
		t->far_ret = true;
		return 0;
	}
	if (to == HWT_NO_ADDR) {
		/* ended by a hole: most likely an ordinary return, and if not the next will tell */
		if (stack_top(t) && !stack_top(t)->exc)
			stack_unwind(c, t, t->n - 1, HWT_WHY_RETURN, HWT_WHY_RETURN, ev);
		return 0;
	}
	i = find_return(t, to);
	if (i < 0)
		return odd_return(c, t, ev);
	stack_unwind(c, t, (uint32_t)i, HWT_WHY_UNWIND, HWT_WHY_RETURN, ev);
	return 0;
}

static void note_switch(struct hwt_calls *c, const struct thread *t, const struct hwt_event *ev)
{
	struct lane *l = stack_lane(c, t);
	bool other = ev->cpu == l->last_cpu && t->key != l->last_key && t->key >= 0 &&
		l->last_key >= 0;

	if (other || ev->type == HWT_EV_SCHED_SWITCH)
		*stack_slot(c->pre, &c->npre) = (struct hwt_call){
			.ev = *ev, .what = HWT_CALL_SWITCH,
			.depth = stack_top(t) ? stack_top(t)->depth + 1 : t->next,
			.func = HWT_NO_ADDR,
			.site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
			.enter_span = HWT_SPAN_UNKNOWN };
	l->last_key = t->key;
	l->last_cpu = ev->cpu;
}

/* The far call that waited for what came of it. True if @ev was its exception. */
static int settle(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev, bool *used)
{
	struct hwt_event call = t->pend;

	*used = false;
	if (!t->far_call)
		return 0;
	t->far_call = false;
	if (ev->type == HWT_EV_EXCEPTION) {
		call.u.edge.to = ev->u.exc.to;
		*used = true;
	}
	return exc_far_call(c, t, &call);
}

/* Where flow was before the event, HWT_NO_ADDR if it does not tell. */
static uint64_t from_of(const struct hwt_event *ev)
{
	if (ev->type != HWT_EV_OFF)
		return stack_site(ev);
	/* an end by a branch tells where it leads, outside of what is traced */
	return ev->flags & HWT_F_CUT ? ev->u.at.addr : HWT_NO_ADDR;
}

/* Where it is behind it. */
static uint64_t to_of(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		return ev->u.edge.to;
	case HWT_EV_EXCEPTION:
		return ev->u.exc.to;
	case HWT_EV_ON:
	case HWT_EV_ERET:
		return ev->u.at.addr;
	}
	return HWT_NO_ADDR;
}

/* Tracing starts where the flow that was seen last did not go on. */
static bool anew(const struct thread *t, const struct hwt_event *ev)
{
	return ev->type == HWT_EV_ON && ev->u.at.addr != t->off_addr &&
		ev->u.at.addr != t->last && !(ev->flags & (HWT_F_RESUMED | HWT_F_INTR));
}

/*
 * Nothing ran where the last open frame returned to, as tracing ended there: its function is not
 * one of the trace.
 */
static bool nothing_ran(const struct thread *t, const struct hwt_event *off)
{
	uint64_t addr = off->type == HWT_EV_OFF ? off->u.at.addr :
		exc_halts(off) ? off->u.exc.from : HWT_NO_ADDR;

	return addr == t->last && !stack_top(t) && addr != HWT_NO_ADDR;
}

static void before(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	t->cpu = ev->cpu;
	t->pid = ev->pid;
	t->tid = ev->tid;
	t->src = ev->src;
	note_switch(c, t, ev);
	if (t->far_call)
		return;
	if (ev->type == HWT_EV_ON && t->seen == stack_holes(c, t) && stack_top(t) &&
	    !exc_explains(c, t, ev))
		locate_untraced(c, t, ev);
	/* behind a hole no rule about what stopped before it holds */
	c->located = ev->type == HWT_EV_ON && ev->u.at.addr != HWT_NO_ADDR &&
		(t->seen != stack_holes(c, t) || !stack_top(t));
	if (c->located && !stack_top(t) && anew(t, ev))
		t->next = 0;
	if (!nothing_ran(t, ev))
		locate(c, t, ev, c->located ? ev->u.at.addr : from_of(ev));
}

/* @next: the event behind it, NULL if there is none. */
static void after(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev,
		  const struct hwt_event *next)
{
	uint64_t to = to_of(ev);

	if (to == HWT_NO_ADDR)
		to = from_of(ev);
	if (to != HWT_NO_ADDR)
		t->last = to;
	if (next && key_of(c, next) == t->key && nothing_ran(t, next))
		return;
	if (!t->far_call && (ev->type == HWT_EV_RETURN || ev->type == HWT_EV_ON ||
			     ev->type == HWT_EV_ERET))
		locate(c, t, ev, to_of(ev));
}

static int event(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	bool used;
	int rc = settle(c, t, ev, &used);

	if (rc < 0 || used)
		return rc;
	switch (ev->type) {
	case HWT_EV_CALL:
		t->away = AWAY_NO;
		t->off_addr = HWT_NO_ADDR;
		rc = on_call(c, t, ev);
		break;
	case HWT_EV_RETURN:
		t->away = AWAY_NO;
		t->left = false;
		t->off_addr = HWT_NO_ADDR;
		return on_return(c, t, ev);
	case HWT_EV_ERET:
		if (t->left)
			rc = exc_left_to(c, t, ev);
		else if (!t->far_ret)
			exc_far_return(c, t, ev, ev->u.at.addr);
		break;
	case HWT_EV_EXCEPTION:
		rc = exc_taken(c, t, ev);
		break;
	case HWT_EV_ON:
		rc = exc_on(c, t, ev);
		break;
	case HWT_EV_OFF:
		t->off_addr = ev->u.at.addr;
		t->away = (ev->flags & HWT_F_CUT) || (stack_top(t) && stack_top(t)->exc) ?
			AWAY_OFF : AWAY_NO;
		break;
	case HWT_EV_TRIGGER:
		if (ev->u.value.what == HWT_TRIGGER_STOP)
			t->away = AWAY_STOP;
		return 0;
	case HWT_EV_GAP:
		locate_hole(c, t, ev);
		break;
	case HWT_EV_ASPACE:
		exc_level(c, t, ev);
		return 0;
	default:
		/* keeps far_ret: address space and transactions may stand between */
		return 0;
	}
	t->far_ret = false;
	t->left = false;
	return rc;
}

/* More events, when all that are there were used. A level told in one is an event behind it. */
static int fill(struct hwt_calls *c)
{
	struct hwt_event *in = c->ev + BATCH / 2, *out = c->ev;
	int n = c->ended ? 0 : hwt_stream_next(c->flow, in, BATCH / 2);

	if (n < 0)
		return n;
	c->ended = !n;
	for (; n; n--) {
		struct hwt_event ev = *in++;
		const uint8_t *in_it = hwt_event_level(&ev);
		uint8_t level = in_it ? in_it[0] : 0;

		*out++ = ev;
		if (!level)
			continue;
		ev.type = HWT_EV_ASPACE;
		ev.flags = 0;
		ev.off += in_it[1];
		memset(&ev.u, 0, sizeof(ev.u));
		ev.u.aspace.el = level - 1;
		ev.u.aspace.valid = 4;
		*out++ = ev;
	}
	c->at = 0;
	c->n = (int)(out - c->ev);
	return 0;
}

/* The event behind the one at hand that does something to a stack, NULL: not known. */
static const struct hwt_event *next_of(const struct hwt_calls *c, const struct thread *t)
{
	for (int i = c->at; i < c->n; i++)
		if (c->ev[i].type != HWT_EV_RANGE &&
		    (!c->merged || key_of(c, &c->ev[i]) == t->key))
			return &c->ev[i];
	return NULL;
}

/* One phase of the next event: what it tells of where flow was, what it does, where flow is. */
static int step(struct hwt_calls *c)
{
	struct hwt_event told = c->ev[c->at], *ev = &told;
	uint8_t phase = c->phase++;
	struct thread *t;
	int rc = 0;

	if (c->phase == PHASES || ev->type == HWT_EV_NONE || ev->type == HWT_EV_RANGE) {
		c->phase = PHASE_FROM;
		c->at++;
	}
	if (ev->type == HWT_EV_NONE)
		return 0;
	if (phase == PHASE_FROM && c->with_flow && ev->type != HWT_EV_GAP &&
	    ev->type != HWT_EV_CALL && ev->type != HWT_EV_RETURN)
		*stack_slot(c->pre, &c->npre) = (struct hwt_call){ .ev = *ev, .what = CALLS_FLOW };
	if (ev->type == HWT_EV_RANGE)
		return 0;
	t = stack_thread(c, key_of(c, ev));
	if (!t)
		return -ENOMEM;
	if (phase == PHASE_EVENT)
		return event(c, t, ev);
	if (phase == PHASE_FROM) {
		rc = stack_move(c, t, ev);
		if (!rc)
			before(c, t, ev);
	} else if (c->at == c->n) {
		rc = fill(c);
	}
	if (phase == PHASE_TO && !rc)
		after(c, t, ev, next_of(c, t));
	return rc;
}

/* The next thread with open frames, at the end of the stream. False: no more. */
static bool end_thread(struct hwt_calls *c)
{
	struct hwt_event ev = { .time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN,
		.type = HWT_EV_NONE, .off = HWT_NO_OFF };

	while (c->ending < c->cap) {
		struct thread *t = c->threads[c->ending++];
		uint8_t why;

		if (!t || !stack_top(t))
			continue;
		why = t->seen == stack_holes(c, t) ? HWT_WHY_OPEN : HWT_WHY_LOST;
		ev.cpu = t->cpu;
		ev.pid = t->pid;
		ev.tid = t->tid;
		ev.src = t->src;
		stack_unwind(c, t, t->lost, why, why, &ev);
		return true;
	}
	return false;
}

/* What the last phase made, one by one: 1 if @out was filled, 0, or -ENOMEM. */
static int take(struct hwt_calls *c, struct hwt_call *out)
{
	int rc;

	if (c->pre_at < c->npre) {
		*out = c->pre[c->pre_at++];
		return 1;
	}
	rc = stack_take(c, out);
	if (rc)
		return rc;
	if (c->post_at < c->npost) {
		*out = c->post[c->post_at++];
		return 1;
	}
	c->npre = c->npost = c->pre_at = c->post_at = 0;
	return 0;
}

int hwt_calls_next(struct hwt_calls *c, struct hwt_call *out)
{
	for (;;) {
		int rc = take(c, out);

		if (rc)
			return rc;
		if (c->at == c->n) {
			rc = fill(c);
			if (rc < 0)
				return rc;
		}
		if (c->ended && !end_thread(c))
			return 0;
		if (c->ended)
			continue;
		rc = step(c);
		if (rc < 0)
			return rc;
	}
}

int calls_new(struct hwt_calls **out, calls_func func, void *ctx, struct hwt_stream *flow)
{
	struct hwt_calls *c = calloc(1, sizeof(*c));

	if (!c) {
		hwt_stream_close(flow);
		return -ENOMEM;
	}
	c->flow = flow;
	c->func = func;
	c->ctx = ctx;
	c->again = -1;
	*out = c;
	return 0;
}

void calls_with_flow(struct hwt_calls *c)
{
	c->with_flow = true;
}

void calls_merged(struct hwt_calls *c)
{
	c->merged = true;
}

static uint64_t image_func(void *ctx, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = { .pid = ev->pid,
		.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN };
	struct hwt_symbol sym;

	if (hwt_image_symbol(ctx, &w, addr, &sym) != 1)
		return HWT_NO_ADDR;
	/* a program's first instruction is reached after exec, by neither call nor signal */
	return addr != sym.start || strcmp(sym.name, "_start") ? sym.start : HWT_NO_ADDR;
}

int hwt_calls_new(struct hwt_calls **out, struct hwt_session *s, struct hwt_stream *flow)
{
	return calls_new(out, s ? image_func : NULL, s ? hwt_session_image(s) : NULL, flow);
}

void hwt_calls_free(struct hwt_calls *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < c->cap; i++)
		if (c->threads[i]) {
			free(c->threads[i]->v);
			free(c->threads[i]);
		}
	free(c->threads);
	free(c->lanes.v);
	idmap_free(&c->by_src);
	hwt_stream_close(c->flow);
	free(c);
}
