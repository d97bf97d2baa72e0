/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads and their frames: what is open, and what an entry or a leave tells. */
#include "stack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/timeline.h>

uint64_t stack_func_of(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr)
{
	return c->func && addr != HWT_NO_ADDR ? c->func(c->ctx, ev, addr) : HWT_NO_ADDR;
}

bool stack_is_entry(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr)
{
	return addr != HWT_NO_ADDR && stack_func_of(c, ev, addr) == addr;
}

static size_t hash(int64_t key, size_t cap)
{
	return (size_t)(((uint64_t)key * 0x9e3779b97f4a7c15u) >> 32) & (cap - 1);
}

static int grow_table(struct hwt_calls *c)
{
	size_t cap = c->cap ? c->cap * 2 : 64;
	struct thread **v = calloc(cap, sizeof(*v));

	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < c->cap; i++) {
		size_t k;

		if (!c->threads[i])
			continue;
		for (k = hash(c->threads[i]->key, cap); v[k]; k = (k + 1) & (cap - 1))
			;
		v[k] = c->threads[i];
	}
	free(c->threads);
	c->threads = v;
	c->cap = cap;
	return 0;
}

struct thread *stack_thread(struct hwt_calls *c, int64_t key)
{
	struct thread *t;
	size_t k;

	if (c->nthreads * 2 >= c->cap && grow_table(c) < 0)
		return NULL;
	for (k = hash(key, c->cap); c->threads[k]; k = (k + 1) & (c->cap - 1))
		if (c->threads[k]->key == key)
			return c->threads[k];
	t = calloc(1, sizeof(*t));
	if (!t)
		return NULL;
	t->key = key;
	t->off_addr = t->resume = t->left_ret = t->last = HWT_NO_ADDR;
	t->lane = NO_LANE;
	t->end = HWT_TIME_UNKNOWN;
	t->seen = stack_holes(c, t);
	t->el = -1;
	c->threads[k] = t;
	c->nthreads++;
	return t;
}

uint64_t stack_holes(const struct hwt_calls *c, const struct thread *t)
{
	return t->holes + (t->lane == NO_LANE ? 0 : stack_lane(c, t)->holes - t->base);
}

struct lane *stack_lane(const struct hwt_calls *c, const struct thread *t)
{
	return (struct lane *)c->lanes.v + t->lane;
}

/* Index of the lane of @ev, made if there is none; NO_LANE: no memory. */
static uint32_t lane_of(struct hwt_calls *c, const struct hwt_event *ev)
{
	/* CPUs may share a buffer */
	uint64_t key = c->merged ? (uint64_t)((uint32_t)ev->cpu + 1u) << 32 | ev->src : 0;
	uint32_t at = idmap_get(&c->by_src, key);
	struct lane *l;

	if (at != IDMAP_NONE)
		return at;
	l = vec_push(&c->lanes, sizeof(*l));
	if (!l)
		return NO_LANE;
	*l = (struct lane){ .src = ev->src, .last_key = -1,
		.last_cpu = HWT_NONE };
	if (idmap_set(&c->by_src, key, (uint32_t)c->lanes.n - 1) < 0) {
		c->lanes.n--;
		return NO_LANE;
	}
	return (uint32_t)c->lanes.n - 1;
}

/*
 * A thread that comes from another buffer may have run through holes of any on its way. Where the
 * times do not tell that all it did there is over, its order is not known, which is no better.
 */
int stack_move(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev)
{
	uint32_t lane = lane_of(c, ev);
	bool first = t->lane == NO_LANE;

	if (lane == NO_LANE)
		return -ENOMEM;
	if (lane != t->lane) {
		t->holes = stack_holes(c, t);
		t->lane = lane;
		t->base = stack_lane(c, t)->holes;
		if (!first && (t->any != c->any || ev->time == HWT_TIME_UNKNOWN ||
			       t->end >= ev->time))
			t->holes++;
	}
	t->any = c->any;
	t->end = hwt_event_end(ev);
	return 0;
}

struct hwt_call *stack_slot(struct hwt_call *q, unsigned *n)
{
	return &q[*n < QUEUE ? (*n)++ : QUEUE - 1];
}

void stack_enter(struct hwt_call *o, const struct thread *t, const struct frame *f,
		const struct hwt_event *ev)
{
	*o = (struct hwt_call){
		.ev = *ev, .what = HWT_CALL_ENTER, .why = f->why, .inferred = f->inferred,
		.tainted = f->behind, .depth = f->depth, .func = f->func,
		.site = f->site, .enter_time = HWT_TIME_UNKNOWN, .enter_span = HWT_SPAN_UNKNOWN,
	};
}

struct frame *stack_top(const struct thread *t)
{
	return t->n > t->lost ? &t->v[t->n - 1] : NULL;
}

uint64_t stack_site(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		return ev->u.edge.from;
	case HWT_EV_EXCEPTION:
		return ev->u.exc.from;
	}
	return HWT_NO_ADDR;
}

void stack_leave(struct hwt_call *o, const struct hwt_calls *c, const struct thread *t,
		const struct frame *f, const struct hwt_event *ev, uint8_t why)
{
	*o = (struct hwt_call){
		.ev = *ev, .what = HWT_CALL_LEAVE, .why = why, .inferred = f->inferred,
		.tainted = f->holes != stack_holes(c, t), .depth = f->depth, .func = f->func,
		.site = stack_site(ev), .enter_time = f->enter_time, .enter_span = f->enter_span,
	};
	/* an unwinding that a hole explains is not one that was seen */
	if (o->tainted && why == HWT_WHY_UNWIND)
		o->why = HWT_WHY_LOST;
	if (f->inferred || f->clock != ev->clock || ev->time == HWT_TIME_UNKNOWN ||
	    (ev->span != HWT_SPAN_UNKNOWN && ev->time + ev->span < f->enter_time))
		o->enter_time = HWT_TIME_UNKNOWN;
	if (o->enter_time == HWT_TIME_UNKNOWN)
		o->enter_span = HWT_SPAN_UNKNOWN;
}

void stack_pop(struct thread *t)
{
	int32_t depth = t->v[--t->n].depth;

	if (t->n == t->lost)
		t->next = depth - 1;
}

int stack_push(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev)
{
	if (t->n == HWT_CALLS_DEPTH) {
		/* the outermost half is forgotten; their leaves will be inferred */
		t->n = HWT_CALLS_DEPTH / 2;
		memmove(t->v, t->v + HWT_CALLS_DEPTH / 2, t->n * sizeof(*t->v));
		t->lost -= t->lost > HWT_CALLS_DEPTH / 2 ? HWT_CALLS_DEPTH / 2 : t->lost;
	}
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 32;
		struct frame *v = realloc(t->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n] = *f;
	t->v[t->n].depth = t->n > t->lost ? t->v[t->n - 1].depth + 1 : t->next;
	t->v[t->n].seg = t->seg;
	t->v[t->n].enter_time = ev->time;
	t->v[t->n].enter_span = ev->span;
	t->v[t->n].clock = ev->clock;
	t->v[t->n].holes = stack_holes(c, t);
	t->v[t->n].el = t->el;
	t->n++;
	return 0;
}

int stack_push_enter(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev)
{
	int rc = stack_push(c, t, f, ev);

	if (!rc)
		stack_enter(stack_slot(c->pre, &c->npre), t, &t->v[t->n - 1], ev);
	return rc;
}

void stack_unwind(struct hwt_calls *c, struct thread *t, uint32_t to, uint8_t why, uint8_t last,
		const struct hwt_event *ev)
{
	c->t = t;
	c->cur = t->n;
	c->to = to;
	c->why = why;
	c->last_why = last;
	c->cause = *ev;
}

/* What comes after an unwinding: a lost frame taken up, or a new one. */
static int take_then(struct hwt_calls *c, struct hwt_call *out)
{
	struct thread *t = c->t;
	int rc;

	if (c->keep) {
		t->lost = t->n;
		t->next = 0;
		t->seg++;
		c->keep = false;
	}
	if (c->again >= 0) {
		struct frame *f = &t->v[c->again], told = *f;

		t->lost = (uint32_t)c->again;
		t->n = t->lost + 1;
		c->again = -1;
		c->t = NULL;
		told.why = HWT_WHY_AGAIN;
		told.inferred = f->inferred ? 1 : 2;
		stack_enter(out, t, &told, &c->cause);
		out->tainted = 1;
		return 1;
	}
	c->t = NULL;
	if (!c->has_then)
		return 0;
	c->has_then = false;
	rc = stack_push(c, t, &c->then, &c->cause);
	if (rc < 0)
		return rc;
	stack_enter(out, t, &t->v[t->n - 1], &c->cause);
	return 1;
}

int stack_take(struct hwt_calls *c, struct hwt_call *out)
{
	struct thread *t = c->t;

	if (!t)
		return 0;
	if (c->cur <= c->to)
		return take_then(c, out);
	c->cur--;
	stack_leave(out, c, t, &t->v[c->cur], &c->cause, c->cur == c->to ? c->last_why : c->why);
	if (!c->keep)
		stack_pop(t);
	return 1;
}

uint32_t stack_bottom(const struct thread *t)
{
	return t->n - t->lost > SEARCH ? t->n - SEARCH : t->lost;
}
