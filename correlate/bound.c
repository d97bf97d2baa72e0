/* SPDX-License-Identifier: BSD-2-Clause */
#include "bound.h"
#include "../decoders/flow/flow.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#define BATCH	256	/* events taken from upstream at once */
#define LANES	64	/* CPUs of one stream; CoreSight has 111 ids, boards use fewer */
#define MASK	(BOUND_WINDOW - 1)

_Static_assert((BOUND_WINDOW & MASK) == 0, "positions are masked");

/* Events of one CPU that wait for a later time, in order. */
struct lane {
	int32_t cpu;
	uint8_t clock;
	bool waits;		/* @first and @last are valid */
	uint64_t time;		/* newest of this CPU */
	unsigned first, last;	/* positions */
};

struct bound {
	struct hwt_stream s;
	struct hwt_stream *up;
	uint64_t time_lo;
	unsigned head, tail;	/* positions: next to fill, next to hand out */
	unsigned open;		/* events before this position have their span, or never will */
	unsigned nlanes, hit;	/* lanes in use, the one found last */
	bool ended, dropped;
	struct hwt_event last;	/* of those dropped, for its time */
	struct lane lanes[LANES];
	unsigned next[BOUND_WINDOW];	/* next position in the same lane */
	bool done[BOUND_WINDOW];
	uint64_t reach[BOUND_WINDOW];	/* the bound is a time later than this */
	struct hwt_event ring[BOUND_WINDOW];
};

static bool has_pointer(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_RECORD || ev->type == HWT_EV_MAP || ev->type == HWT_EV_TASK;
}

/* NULL if there are more CPUs than lanes: the rest goes without an upper bound. */
static struct lane *lane_of(struct bound *b, const struct hwt_event *ev)
{
	struct lane *l = &b->lanes[b->hit];

	if (b->hit < b->nlanes && l->cpu == ev->cpu && l->clock == ev->clock)
		return l;
	for (b->hit = 0; b->hit < b->nlanes; b->hit++) {
		l = &b->lanes[b->hit];
		if (l->cpu == ev->cpu && l->clock == ev->clock)
			return l;
	}
	if (b->nlanes == LANES)
		return NULL;
	l = &b->lanes[b->nlanes++];
	*l = (struct lane){ .cpu = ev->cpu, .clock = ev->clock, .time = ev->time };
	return l;
}

/* Events of the lane that were over at @time. One that reaches farther holds back the rest. */
static void close_lane(struct bound *b, struct lane *l, uint64_t time)
{
	while (l->waits && b->reach[l->first & MASK] < time) {
		struct hwt_event *ev = &b->ring[l->first & MASK];
		uint64_t d = time - ev->time;

		ev->span = d < HWT_SPAN_UNKNOWN ? (uint32_t)d : HWT_SPAN_UNKNOWN;
		b->done[l->first & MASK] = true;
		if (l->first == l->last)
			l->waits = false;
		l->first = b->next[l->first & MASK];
	}
}

/* The owner is a guess within one interval: a switch, or what is told of it, bounds nothing. */
static bool bounds(const struct hwt_event *ev)
{
	return ev->type != HWT_EV_SCHED_SWITCH &&
		!(ev->type == HWT_EV_NONE && ev->span == FLOW_REACH_UNKNOWN);
}

static void add(struct bound *b, const struct hwt_event *ev)
{
	unsigned pos = b->head++;
	struct lane *l;

	b->ring[pos & MASK] = *ev;
	b->ring[pos & MASK].span = HWT_SPAN_UNKNOWN;
	b->done[pos & MASK] = true;
	if (ev->time == HWT_TIME_UNKNOWN || !(l = lane_of(b, ev)))
		return;
	if (ev->time > l->time) {
		if (bounds(ev))
			close_lane(b, l, ev->time);
		l->time = ev->time;
	}
	if (ev->time < l->time || ev->span == FLOW_REACH_UNKNOWN)
		return;
	b->reach[pos & MASK] = ev->time + (ev->span == HWT_SPAN_UNKNOWN ? 0 : ev->span);
	b->done[pos & MASK] = false;
	if (l->waits)
		b->next[l->last & MASK] = pos;
	else
		l->first = pos;
	l->last = pos;
	l->waits = true;
}

/* Gives up on the oldest event that waits. It is the first of its lane. */
static void give_up(struct bound *b)
{
	struct lane *l = lane_of(b, &b->ring[b->open & MASK]);

	b->done[b->open & MASK] = true;
	if (!l || !l->waits || l->first != b->open)
		return;
	if (l->first == l->last)
		l->waits = false;
	else
		l->first = b->next[b->open & MASK];
}

static void advance(struct bound *b, unsigned keep)
{
	while (b->open != b->head) {
		if (!b->done[b->open & MASK]) {
			if (b->head - b->open <= keep)
				return;
			give_up(b);
		}
		b->open++;
	}
}

static int fill(struct bound *b)
{
	struct hwt_event in[BATCH];
	unsigned keep = BOUND_WINDOW - BATCH;
	int n = hwt_stream_next(b->up, in, BATCH);

	b->ended = n <= 0 && n != -EAGAIN;
	for (int i = 0; i < n; i++) {
		add(b, &in[i]);
		if (has_pointer(&in[i]))	/* lives until the next call upstream only */
			keep = 0;
	}
	advance(b, n <= 0 ? 0 : keep);
	return n;
}

static int bound_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct bound *b = hwt_container_of(s, struct bound, s);
	int n = 0, rc;

	while (n < max) {
		const struct hwt_event *e = &b->ring[b->tail & MASK];

		if (b->tail == b->open) {
			if (n || b->dropped || b->ended)
				break;
			rc = fill(b);
			if (rc <= 0 && b->tail == b->open)
				return rc;
			continue;
		}
		b->tail++;
		if (e->span != HWT_SPAN_UNKNOWN && e->clock == HWT_CLOCK_BASE &&
		    e->time != HWT_TIME_UNKNOWN && e->time + e->span < b->time_lo) {
			b->dropped = true;
			b->last = *e;
			continue;
		}
		ev[n++] = *e;
	}
	if (!n && b->dropped) {		/* progress is told, also when nothing is wanted */
		ev[n++] = (struct hwt_event){
			.type = HWT_EV_NONE, .time = b->last.time, .span = b->last.span,
			.clock = b->last.clock, .cpu = b->last.cpu, .pid = HWT_NONE,
			.tid = HWT_NONE, .src = b->last.src, .off = b->last.off,
		};
	}
	b->dropped = false;
	return n;
}

static void bound_close(struct hwt_stream *s)
{
	struct bound *b = hwt_container_of(s, struct bound, s);

	hwt_stream_close(b->up);
	free(b);
}

static const struct hwt_stream_ops bound_ops = { bound_next, bound_close };

int bound_new(struct hwt_stream **out, const struct hwt_interest *want, struct hwt_stream *up)
{
	struct bound *b = malloc(sizeof(*b));

	if (!b) {
		hwt_stream_close(up);
		return -ENOMEM;
	}
	b->s.ops = &bound_ops;
	b->s.name = up->name;
	b->up = up;
	b->time_lo = want->time_lo;
	b->head = b->tail = b->open = b->nlanes = b->hit = 0;
	b->ended = b->dropped = false;
	*out = &b->s;
	return 0;
}
