/* SPDX-License-Identifier: BSD-2-Clause */
#include "bound.h"
#include "../decoders/flow/flow.h"
#include "pace.h"

#include <errno.h>
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
	struct pace pace;
};

struct bound {
	struct hwt_stream s;
	struct hwt_stream *up;
	uint64_t time_lo;
	unsigned head, tail;	/* positions: next to fill, next to hand out */
	unsigned open;		/* events before this position have their span, or never will */
	unsigned nlanes, hit;	/* lanes in use, the one found last */
	bool bounded;		/* spans of @up are those of the events */
	bool ended, dropped;
	bool uneven;		/* no times by cycles */
	bool calls;		/* of which cycles are no part: they end here */
	struct hwt_event last;	/* of those dropped, for its time */
	struct lane lanes[LANES];
	unsigned next[BOUND_WINDOW];	/* next position in the same lane */
	bool done[BOUND_WINDOW];
	uint64_t reach[BOUND_WINDOW];	/* the bound is a time later than this */
	uint64_t count[BOUND_WINDOW];	/* cycles up to the event, see struct pace */
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

/* All that waits is over; the cycle counts before and behind each event give it its interval. */
static void narrow_lane(struct bound *b, struct lane *l, const struct pace_stretch *st)
{
	unsigned pos = l->first, behind = pos;

	for (;; pos = b->next[pos & MASK]) {
		struct hwt_event *ev = &b->ring[pos & MASK];
		uint64_t count = b->count[pos & MASK], after = st->c2, hi;

		while (behind != l->last && b->count[behind & MASK] <= count)
			behind = b->next[behind & MASK];
		if (b->count[behind & MASK] > count)
			after = b->count[behind & MASK];
		pace_interval(st, count, after, &ev->time, &hi);
		ev->span = hi - ev->time < HWT_SPAN_UNKNOWN ? (uint32_t)(hi - ev->time) :
							      HWT_SPAN_UNKNOWN;
		b->done[pos & MASK] = true;
		if (pos == l->last)
			break;
	}
	l->waits = false;
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

static void wait(struct bound *b, struct lane *l, unsigned pos, uint64_t reach)
{
	b->reach[pos & MASK] = reach;
	b->done[pos & MASK] = false;
	if (l->waits)
		b->next[l->last & MASK] = pos;
	else
		l->first = pos;
	l->last = pos;
	l->waits = true;
}

/* What happened before an event was over when that was. */
static void add_bounded(struct bound *b, const struct hwt_event *ev)
{
	unsigned pos = b->head++;
	struct lane *l;

	b->ring[pos & MASK] = *ev;
	b->done[pos & MASK] = true;
	if (ev->span == FLOW_REACH_UNKNOWN)
		b->ring[pos & MASK].span = HWT_SPAN_UNKNOWN;
	if (ev->time == HWT_TIME_UNKNOWN || ev->span == FLOW_REACH_UNKNOWN ||
	    !(l = lane_of(b, ev)))
		return;
	if (ev->span == HWT_SPAN_UNKNOWN)
		wait(b, l, pos, ev->time ? ev->time - 1 : 0);
	else if (bounds(ev))
		close_lane(b, l, ev->time + ev->span);
}

static void add(struct bound *b, const struct hwt_event *ev)
{
	unsigned pos = b->head++;
	struct pace_stretch st;
	struct lane *l;

	b->ring[pos & MASK] = *ev;
	b->ring[pos & MASK].span = HWT_SPAN_UNKNOWN;
	b->done[pos & MASK] = true;
	if (ev->time == HWT_TIME_UNKNOWN || !(l = lane_of(b, ev)))
		return;
	if (ev->time > l->time) {
		st.used = false;
		if (!b->uneven)
			pace_end(&l->pace, ev, &st);
		/* units that count cycles keep nothing back: no event reaches farther */
		if (st.used && l->waits && b->ring[l->first & MASK].time == st.t1)
			narrow_lane(b, l, &st);
		else if (bounds(ev))
			close_lane(b, l, ev->time);
		l->time = ev->time;
	}
	pace_event(&l->pace, ev);
	b->count[pos & MASK] = l->pace.count;
	if (ev->time < l->time || ev->span == FLOW_REACH_UNKNOWN)
		return;
	wait(b, l, pos, ev->time + (ev->span == HWT_SPAN_UNKNOWN ? 0 : ev->span));
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
		if (b->bounded)
			add_bounded(b, &in[i]);
		else
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
		if (b->calls && (e->type == HWT_EV_CYCLES || e->type == HWT_EV_TIMESTAMP)) {
			b->dropped = true;
			b->last = *e;
			continue;
		}
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

int bound_new(struct hwt_stream **out, const struct hwt_interest *want, struct hwt_stream *up,
	      bool bounded)
{
	struct bound *b = malloc(sizeof(*b));

	if (!b) {
		hwt_stream_close(up);
		return -ENOMEM;
	}
	b->s.ops = &bound_ops;
	b->s.name = up->name;
	b->up = up;
	b->bounded = bounded;
	b->time_lo = want->time_lo;
	b->calls = want->level == HWT_LEVEL_CALLS;
	b->head = b->tail = b->open = b->nlanes = b->hit = 0;
	b->ended = b->dropped = b->uneven = false;
	*out = &b->s;
	return 0;
}

void bound_uneven(struct hwt_stream *s)
{
	hwt_container_of(s, struct bound, s)->uneven = true;
}
