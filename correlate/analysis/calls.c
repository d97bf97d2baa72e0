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

static int64_t key_of(const struct hwt_event *ev)
{
	return ev->tid != HWT_NONE ? ev->tid : -2 - (int64_t)ev->cpu;
}

/* A jump out of the top frame into another function, which returns in its place. */
static int tail(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .ret = HWT_NO_ADDR, .any = 1, .holes = stack_holes(c, t) };

	if (t->n) {
		f = t->v[t->n - 1];
		stack_leave(stack_slot(c->pre, &c->npre), c, t, ev, HWT_WHY_TAIL);
		t->n--;
	} else {
		/* the function that was running when the trace began */
		t->base--;
		stack_leave_unseen(stack_slot(c->pre, &c->npre), c, t, ev, t->base);
		c->pre[c->npre - 1].why = HWT_WHY_TAIL;
	}
	f.func = ev->u.edge.to;
	f.site = ev->u.edge.from;
	f.why = HWT_WHY_TAIL;
	f.inferred = 0;
	return stack_push_enter(c, t, &f, ev);
}

static int on_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct frame f = { .func = ev->u.edge.to, .site = ev->u.edge.from, .ret = HWT_NO_ADDR,
		.why = HWT_WHY_CALL };

	if (ev->flags & HWT_F_TAIL)
		return tail(c, t, ev);
	if (ev->u.edge.kind == HWT_INSN_FAR_CALL) {
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
	struct frame *top = t->n ? &t->v[t->n - 1] : NULL;
	uint32_t stay = 0;
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
		if (t->n > 1 && !stack_is_entry(c, ev, top->func) && !top->exc) {
			stack_leave(stack_slot(c->pre, &c->npre), c, t, ev, HWT_WHY_UNWIND);
			t->n--;
		}
		return tail(c, t, ev);
	}
	i = find_func(c, t, func);
	if (i >= 0 || (top && top->holes != stack_holes(c, t))) {
		/* what was left was entered unseen, above what stays */
		stay = i >= 0 ? (uint32_t)i + 1 : t->n;
		if (stay == t->n)
			stack_leave_unseen(stack_slot(c->post, &c->npost), c, t, ev,
				     t->base + (int32_t)stay);
		stack_unwind(c, t, stay, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
		return 0;
	}
	/* all that was called here is gone, and the frame below was open before */
	for (stay = t->n; stay && !t->v[stay - 1].exc; stay--)
		;
	stack_unwind(c, t, stay, HWT_WHY_UNWIND, HWT_WHY_UNWIND, ev);
	if (stay)
		stack_leave_unseen(stack_slot(c->post, &c->npost), c, t, ev,
				t->base + (int32_t)stay);
	else
		stack_leave_below(c, t, ev);
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
		if (t->n && !t->v[t->n - 1].exc)
			stack_unwind(c, t, t->n - 1, HWT_WHY_RETURN, HWT_WHY_RETURN, ev);
		return 0;
	}
	i = find_return(t, to);
	if (i < 0)
		return odd_return(c, t, ev);
	stack_unwind(c, t, (uint32_t)i, HWT_WHY_UNWIND, HWT_WHY_RETURN, ev);
	return 0;
}

static void on_gap(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	struct hwt_call *o = stack_slot(c->pre, &c->npre);

	/* where threads are known, any of them may have run in the hole */
	if (ev->tid == HWT_NONE && ev->cpu != HWT_NONE)
		t->holes++;
	else
		c->holes++;
	t->away = AWAY_NO;
	t->resume = HWT_NO_ADDR;
	*o = (struct hwt_call){ .ev = *ev, .what = HWT_CALL_GAP, .why = HWT_WHY_LOST,
		.tainted = 1, .depth = t->base + (int32_t)t->n, .func = HWT_NO_ADDR,
		.site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
		.enter_span = HWT_SPAN_UNKNOWN };
}

static void note_switch(struct hwt_calls *c, const struct thread *t, const struct hwt_event *ev)
{
	bool other = ev->cpu == c->last_cpu && t->key != c->last_key && t->key >= 0 &&
		c->last_key >= 0;

	if (other || ev->type == HWT_EV_SCHED_SWITCH)
		*stack_slot(c->pre, &c->npre) = (struct hwt_call){
			.ev = *ev, .what = HWT_CALL_SWITCH,
			.depth = t->base + (int32_t)t->n, .func = HWT_NO_ADDR,
			.site = HWT_NO_ADDR, .enter_time = HWT_TIME_UNKNOWN,
			.enter_span = HWT_SPAN_UNKNOWN };
	c->last_key = t->key;
	c->last_cpu = ev->cpu;
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

static int handle(struct hwt_calls *c, const struct hwt_event *ev)
{
	struct thread *t;
	bool used;
	int rc;

	if (ev->type == HWT_EV_NONE)
		return 0;
	t = stack_thread(c, key_of(ev));
	if (!t)
		return -ENOMEM;
	rc = settle(c, t, ev, &used);
	note_switch(c, t, ev);
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
		t->away = (ev->flags & HWT_F_CUT) || (t->n && t->v[t->n - 1].exc) ? AWAY_OFF :
			AWAY_NO;
		break;
	case HWT_EV_GAP:
		on_gap(c, t, ev);
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

/* What the last event made, one by one: 1 if @out was filled, 0, or -ENOMEM. */
static int take(struct hwt_calls *c, struct hwt_call *out)
{
	int rc;

	if (c->pre_at < c->npre) {
		*out = c->pre[c->pre_at++];
		return 1;
	}
	if (c->t && c->t->n > c->to) {
		stack_leave(out, c, c->t, &c->cause, c->t->n == c->to + 1 ? c->last_why : c->why);
		c->t->n--;
		return 1;
	}
	if (c->has_then) {
		c->has_then = false;
		rc = stack_push(c, c->t, &c->then, &c->cause);
		if (rc < 0)
			return rc;
		stack_enter(out, c->t, &c->then, &c->cause);
		c->t = NULL;
		return 1;
	}
	if (c->post_at < c->npost) {
		*out = c->post[c->post_at++];
		return 1;
	}
	return 0;
}

int hwt_calls_next(struct hwt_calls *c, struct hwt_call *out)
{
	for (;;) {
		int rc = take(c, out);

		if (rc)
			return rc;
		c->npre = c->npost = c->pre_at = c->post_at = 0;
		c->t = NULL;
		if (c->below)
			c->below->base--;
		c->below = NULL;
		if (c->at == c->n) {
			c->at = c->n = 0;
			rc = hwt_stream_next(c->flow, c->ev, BATCH);
			if (rc <= 0)
				return rc;
			c->n = rc;
		}
		rc = handle(c, &c->ev[c->at++]);
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
	c->last_key = -1;
	c->last_cpu = HWT_NONE;
	*out = c;
	return 0;
}

static uint64_t image_func(void *ctx, const struct hwt_event *ev, uint64_t addr)
{
	struct hwt_where w = { .pid = ev->pid,
		.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN };
	struct hwt_symbol sym;

	if (hwt_image_symbol(ctx, &w, addr, &sym) != 1)
		return HWT_NO_ADDR;
	/* a program's first instruction is reached after exec, by neither call nor signal */
	return strcmp(sym.name, "_start") ? sym.start : HWT_NO_ADDR;
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
	hwt_stream_close(c->flow);
	free(c);
}
