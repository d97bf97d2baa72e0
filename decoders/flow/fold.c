/* SPDX-License-Identifier: BSD-2-Clause */
#include "fold.h"

struct hwt_event fold_reached(const struct hwt_event *ev)
{
	return (struct hwt_event){
		.type = HWT_EV_NONE, .time = ev->time,
		.span = ev->type == HWT_EV_SCHED_SWITCH ? FLOW_REACH_UNKNOWN : ev->span,
		.clock = ev->clock, .cpu = ev->cpu, .pid = HWT_NONE, .tid = HWT_NONE,
		.src = ev->src, .off = ev->off,
	};
}

static unsigned source_of(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_CALL:
	case HWT_EV_RETURN:	return ev->u.edge.trace_id % FOLD_IDS;
	case HWT_EV_NOPATH:	return ev->u.range.trace_id % FOLD_IDS;
	case HWT_EV_ON:
	case HWT_EV_OFF:
	case HWT_EV_ERET:	return ev->u.at.trace_id % FOLD_IDS;
	case HWT_EV_GAP:	return ev->u.gap.trace_id % FOLD_IDS;
	case HWT_EV_ASPACE:	return ev->u.aspace.trace_id % FOLD_IDS;
	case HWT_EV_EXCEPTION:	return ev->u.exc.trace_id % FOLD_IDS;
	default:		return 0;
	}
}

static bool same_owner(const struct hwt_event *a, const struct hwt_event *b)
{
	return a->cpu == b->cpu && a->pid == b->pid && a->tid == b->tid &&
		a->src == b->src && source_of(a) == source_of(b);
}

/* Where @ev may tell the level that is in force behind it; NULL: it is not one that changes it. */
static uint8_t *level_in(struct hwt_event *ev)
{
	bool edge = ev->type == HWT_EV_CALL || ev->type == HWT_EV_RETURN;

	return edge && !(ev->flags & HWT_F_INTR) ? NULL : (uint8_t *)hwt_event_level(ev);
}

static bool is_system_call(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_CALL && ev->u.edge.kind == HWT_INSN_FAR_CALL &&
		!(ev->flags & HWT_F_INTR);
}

static bool may_tell_more(struct hwt_event *ev)
{
	return level_in(ev) || is_system_call(ev) ||
		(ev->type == HWT_EV_OFF && ev->flags & HWT_F_CUT);
}

static uint8_t level_of(const struct hwt_event *context)
{
	return context->u.aspace.valid & 4 ? (uint8_t)(context->u.aspace.el + 1) : 0;
}

/* After these the level told before need not hold, whether a new one is told or not. */
static void note(struct fold *f, struct hwt_event *ev)
{
	struct fold_src *s = &f->src[source_of(ev)];
	uint8_t *level = level_in(ev);

	if (ev->type == HWT_EV_NONE || ev->type == HWT_EV_SCHED_SWITCH)
		return;
	if (ev->type == HWT_EV_ASPACE)
		s->level = level_of(ev);
	else if (level || is_system_call(ev) || ev->pid != s->pid || ev->tid != s->tid)
		s->level = level ? *level : 0;
	s->pid = ev->pid;
	s->tid = ev->tid;
	s->any = true;
}

/* Takes the place of @ev, which is told elsewhere or not at all. */
static void only_time(struct fold *f, const struct hwt_event *ev)
{
	const struct hwt_event *last = f->n ? &f->held[f->n - 1] : NULL;

	if (ev->time == HWT_TIME_UNKNOWN || (last && last->time == ev->time &&
					     last->cpu == ev->cpu))
		return;
	f->held[f->n++] = fold_reached(ev);
	if (f->n == FOLD_HELD)
		f->waits = false;
}

/* A context is told in what stands before it, or not if it tells neither level nor owner anew. */
static bool fold_context(struct fold *f, const struct hwt_event *ev)
{
	const struct fold_src *s = &f->src[source_of(ev)];
	struct hwt_event *to = f->waits && same_owner(&f->held[0], ev) ? &f->held[0] : NULL;
	uint8_t level = level_of(ev), *in = to ? level_in(to) : NULL;

	if (!level && ev->pid == HWT_NONE && ev->tid == HWT_NONE)
		return true;
	if (in && (!level || *in == level))
		return true;
	if (in && !*in && ev->off >= to->off && ev->off - to->off <= UINT8_MAX) {
		in[0] = level;
		in[1] = (uint8_t)(ev->off - to->off);
		return true;
	}
	return !to && s->any && s->pid == ev->pid && s->tid == ev->tid &&
		(!level || level == s->level);
}

/* True if what waits tells @ev too, or need not be told for it. */
static bool folded(struct fold *f, const struct hwt_event *ev)
{
	struct hwt_event *w = f->waits ? &f->held[0] : NULL;

	if (ev->type == HWT_EV_ASPACE)
		return fold_context(f, ev);
	if (!w || !same_owner(w, ev))
		return false;
	if (is_system_call(w) && ev->type == HWT_EV_EXCEPTION) {
		w->flags |= HWT_F_INTR;
		w->u.edge.number = (uint16_t)ev->u.exc.number;
		w->u.edge.to = ev->u.exc.to;
		return true;
	}
	if (w->type == HWT_EV_OFF && ev->type == HWT_EV_ON && ev->flags & HWT_F_RESUMED &&
	    w->u.at.addr == ev->u.at.addr) {
		*w = fold_reached(w);
		f->waits = false;
		return true;
	}
	return false;
}

void fold_put(struct fold *f, const struct hwt_event *ev)
{
	if (f->on && ev->type == HWT_EV_NONE && f->waits) {
		f->held[f->n++] = *ev;
		if (f->n == FOLD_HELD)
			f->waits = false;
		return;
	}
	if (f->on && folded(f, ev)) {
		only_time(f, ev);
		return;
	}
	/* room for one is left: only times were put behind what waits */
	f->held[f->n++] = *ev;
	f->waits = f->n == 1 && f->on && may_tell_more(&f->held[0]);
}

bool fold_take(struct fold *f, struct hwt_event *out)
{
	struct hwt_event last;

	if (f->waits || f->at == f->n)
		return false;
	*out = f->held[f->at++];
	if (f->on)
		note(f, out);
	/* the last one came behind what waited, and may wait itself */
	if (f->at + 1 == f->n && may_tell_more(&f->held[f->at]) && f->on) {
		last = f->held[f->at];
		f->held[0] = last;
		f->at = 0;
		f->n = 1;
		f->waits = true;
	} else if (f->at == f->n) {
		f->at = f->n = 0;
	}
	return true;
}

bool fold_end(struct fold *f)
{
	bool was = f->waits;

	f->waits = false;
	return was;
}
