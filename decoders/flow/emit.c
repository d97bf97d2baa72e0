/* SPDX-License-Identifier: BSD-2-Clause */
/* Longer than other files: what waits for an edge, and in which order, is one thing. */
#include "emit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void *copy(const void *v, size_t n, size_t size)
{
	void *p;

	if (!n)
		return NULL;
	if (!v || n > SIZE_MAX / size)
		return NULL;
	p = malloc(n * size);
	if (p)
		memcpy(p, v, n * size);
	return p;
}

int emit_init(struct emit *e, const struct flow_args *a, struct hwt_flow_stats *stats,
	      unsigned ncpus)
{
	const struct hwt_interest *w = a->want;

	memset(e, 0, sizeof(*e));
	e->stats = stats;
	e->image = a->image;
	if (w->level > HWT_LEVEL_INSNS || (w->naddrs && !w->addrs) || (w->ncpus && !w->cpus) ||
	    (w->ntids && !w->tids))
		return -EINVAL;
	e->want = *w;
	e->want.addrs = copy(w->addrs, w->naddrs, sizeof(*w->addrs));
	e->want.cpus = copy(w->cpus, w->ncpus, sizeof(*w->cpus));
	e->want.tids = copy(w->tids, w->ntids, sizeof(*w->tids));
	e->fold.on = w->level == HWT_LEVEL_CALLS && !w->unfolded && !w->ranges;
	e->counts = w->level == HWT_LEVEL_CALLS && (w->unfolded || w->ranges);
	e->narrow = w->naddrs || w->ncpus || w->ntids || w->time_lo ||
		w->time_hi != HWT_TIME_UNKNOWN;
	e->cpus = calloc(ncpus, sizeof(*e->cpus));
	e->ncpus = ncpus;
	if (!e->cpus || (w->naddrs && !e->want.addrs) || (w->ncpus && !e->want.cpus) ||
	    (w->ntids && !e->want.tids))
		return -ENOMEM;
	return 0;
}

void emit_fini(struct emit *e)
{
	free((void *)e->want.addrs);
	free((void *)e->want.cpus);
	free((void *)e->want.tids);
	free(e->cpus);
	e->want = (struct hwt_interest){ 0 };
	e->cpus = NULL;
	e->ncpus = 0;
}

static bool want_time(const struct hwt_interest *w, const struct hwt_event *ev)
{
	/* other clocks can not be compared with a window of the base clock */
	if (ev->time == HWT_TIME_UNKNOWN || ev->clock != HWT_CLOCK_BASE)
		return true;
	/* the lower end needs an upper bound, see struct flow_stream */
	return w->time_hi == HWT_TIME_UNKNOWN || ev->time <= w->time_hi;
}

static bool one_of(const int32_t *v, size_t n, int32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

static bool want_addr(const struct hwt_interest *w, uint64_t lo, uint64_t hi)
{
	for (size_t i = 0; i < w->naddrs; i++)
		if (lo <= w->addrs[i].hi && hi >= w->addrs[i].lo)
			return true;
	return false;
}

static bool want_cpu(const struct hwt_interest *w, const struct hwt_event *ev)
{
	return !w->ncpus || ev->cpu == HWT_NONE || one_of(w->cpus, w->ncpus, ev->cpu);
}

static bool want_task(const struct hwt_interest *w, int32_t pid, int32_t tid)
{
	return (pid == HWT_NONE && tid == HWT_NONE) ||
		one_of(w->tids, w->ntids, tid != HWT_NONE ? tid : pid);
}

/* An event whose owner or place is not known passes: it may be one that was asked for. */
static bool want_owner(const struct hwt_interest *w, const struct hwt_event *ev)
{
	if (!w->ntids)
		return true;
	/* a switch names two */
	if (ev->type == HWT_EV_SCHED_SWITCH)
		return want_task(w, ev->u.sched.prev_pid, ev->u.sched.prev_tid) ||
			want_task(w, ev->u.sched.next_pid, ev->u.sched.next_tid);
	return want_task(w, ev->pid, ev->tid);
}

static bool want_place(const struct hwt_interest *w, const struct hwt_event *ev)
{
	if (!w->naddrs)
		return true;
	switch (ev->type) {
	case HWT_EV_RANGE:
	case HWT_EV_INSN:
		return want_addr(w, ev->u.range.first, ev->u.range.last);
	case HWT_EV_CALL:
	case HWT_EV_RETURN:
		return want_addr(w, ev->u.edge.from, ev->u.edge.from) ||
			ev->u.edge.to == HWT_NO_ADDR ||
			want_addr(w, ev->u.edge.to, ev->u.edge.to);
	}
	return true;
}

static bool wanted(const struct emit *e, const struct hwt_event *ev)
{
	return !e->narrow || (want_time(&e->want, ev) && want_cpu(&e->want, ev) &&
			      want_owner(&e->want, ev) && want_place(&e->want, ev));
}

/* Holes that were held back go out, if there is room for one more event. */
static void show_hidden(struct emit *e)
{
	for (unsigned i = 0; i < e->nhidden && emit_room(e) > 1; i++)
		e->ring[e->head++ % EMIT_RING] = e->hidden[i];
	e->nhidden = 0;
}

/*
 * A hole of another thread may hide the beginning of one that is wanted: who comes next on that
 * CPU tells. True if @ev waits for that.
 */
static bool hide_hole(struct emit *e, const struct hwt_event *ev)
{
	bool other, same = e->nhidden && e->hidden[0].cpu == ev->cpu;

	if (!e->want.ntids || ev->type == HWT_EV_NONE)
		return false;
	other = ev->type == HWT_EV_GAP && !want_owner(&e->want, ev) &&
		want_time(&e->want, ev) && want_cpu(&e->want, ev);
	if (other) {
		if (e->nhidden == EMIT_HELD || !same)
			show_hidden(e);
		e->hidden[e->nhidden++] = *ev;
	} else if (same) {
		if (want_owner(&e->want, ev))
			show_hidden(e);
		e->nhidden = 0;
	}
	return other;
}

static bool is_news(const struct emit *e, const struct hwt_event *ev)
{
	return ev->time != HWT_TIME_UNKNOWN && (ev->time != e->told || ev->cpu != e->told_cpu);
}

static void push(struct emit *e, const struct hwt_event *ev)
{
	/* never for a backend that keeps to emit_room() */
	if (!emit_room(e) || hide_hole(e, ev))
		return;
	if (wanted(e, ev)) {
		e->ring[e->head++ % EMIT_RING] = *ev;
	} else if (is_news(e, ev)) {
		/* a time that was reached bounds what came before, wanted or not */
		e->ring[e->head++ % EMIT_RING] = fold_reached(ev);
	} else {
		return;
	}
	e->told = ev->time;
	e->told_cpu = ev->cpu;
}

static struct hwt_where where(const struct hwt_event *ev)
{
	return (struct hwt_where){ .pid = ev->pid,
		.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN };
}

/* Address after the instruction of an edge, HWT_NO_ADDR if it can not be told. */
static uint64_t edge_end(const struct emit *e, const struct hwt_event *edge)
{
	struct hwt_where w = where(edge);
	struct hwt_insn in;
	uint8_t code[16];
	int n;

	if (edge->u.edge.last_size)
		return edge->u.edge.from + edge->u.edge.last_size;
	n = hwt_image_read(e->image, &w, edge->u.edge.from, code, sizeof(code));
	if (n <= 0 || hwt_insn_decode(&in, edge->u.edge.isa, edge->u.edge.from, code, (size_t)n))
		return HWT_NO_ADDR;
	return edge->u.edge.from + in.size;
}

/* A jump is a call if it enters another function at its first instruction. */
static bool tail_call(const struct emit *e, const struct hwt_event *edge, uint64_t to)
{
	struct hwt_where w = where(edge);
	uint64_t func = HWT_NO_ADDR;

	if (to == HWT_NO_ADDR || image_entry(e->image, &w, to, &func) != 1)
		return false;
	func = HWT_NO_ADDR;
	image_entry(e->image, &w, edge->u.edge.from, &func);
	if (func == to)
		return false;
	return edge->u.edge.kind != HWT_INSN_BRANCH || edge_end(e, edge) != to;
}

static bool is_edge(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_CALL || ev->type == HWT_EV_RETURN;
}

/* Where the flow went on, in the event that waits for it. */
static uint64_t *target(struct hwt_event *ev)
{
	if (is_edge(ev))
		return &ev->u.edge.to;
	return ev->type == HWT_EV_EXCEPTION ? &ev->u.exc.to : &ev->u.at.addr;
}

/* What waits in @c goes to @to, then what waited behind it. */
static void settle(struct emit *e, struct emit_cpu *c, uint64_t to)
{
	struct hwt_event *p = &c->pending;

	if (p->type == HWT_EV_NONE)
		return;
	if (c->has_before && (c->before.type != HWT_EV_NONE || is_news(e, &c->before)))
		push(e, &c->before);
	c->has_before = false;
	if (p->type == HWT_EV_ASPACE) {
		push(e, p);
	} else if (!is_edge(p) || !(p->flags & HWT_F_TAIL) || tail_call(e, p, to)) {
		*target(p) = to;
		push(e, p);
	}
	for (unsigned i = 0; i < c->nheld; i++)
		push(e, &c->held[i]);
	c->nheld = 0;
	p->type = HWT_EV_NONE;
}

static void hold(struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	if (c->pending.type == HWT_EV_ASPACE || c->nheld == EMIT_HELD)
		settle(e, c, HWT_NO_ADDR);
	if (c->pending.type == HWT_EV_NONE)
		push(e, ev);
	else
		c->held[c->nheld++] = *ev;
}

/* Of one owner and level, and telling the same of them. */
static bool same_kind(const struct hwt_event *a, const struct hwt_event *b)
{
	return a->type == b->type && a->pid == b->pid && a->tid == b->tid &&
		a->u.aspace.el == b->u.aspace.el && a->u.aspace.valid == b->u.aspace.valid;
}

static bool same_context(const struct hwt_event *a, const struct hwt_event *b)
{
	return same_kind(a, b) && a->u.aspace.id == b->u.aspace.id &&
		a->u.aspace.vmid == b->u.aspace.vmid && a->u.aspace.secure == b->u.aspace.secure;
}

/* Where a level above the user's may have been left, that it is still in force is news. */
static void doubt_level(struct emit_cpu *c)
{
	if ((c->context.u.aspace.valid & 4) && c->context.u.aspace.el)
		c->context.type = HWT_EV_NONE;
	if ((c->earlier.u.aspace.valid & 4) && c->earlier.u.aspace.el)
		c->earlier.type = HWT_EV_NONE;
}

/* Behind another owner's events the same context is the proof that it changed back. */
static void note_owner(struct emit_cpu *c, const struct hwt_event *ev)
{
	if (ev->pid == c->context.pid && ev->tid == c->context.tid)
		return;
	c->context.type = HWT_EV_NONE;
	c->earlier.type = HWT_EV_NONE;
}

static void tell_time(struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	struct hwt_event time = fold_reached(ev);

	if (is_news(e, ev))
		hold(e, c, &time);
}

/* The context in which nothing ran yet, NULL: none. */
static struct hwt_event *idle_context(struct emit_cpu *c)
{
	struct hwt_event *last = c->nheld ? &c->held[c->nheld - 1] : &c->pending;

	return last->type == HWT_EV_ASPACE ? last : NULL;
}

/* @ev instead of @idle, whose time stays unless an earlier one bounds what came before. */
static void replace_context(struct emit *e, struct emit_cpu *c, struct hwt_event *idle,
			    const struct hwt_event *ev)
{
	struct hwt_event time = fold_reached(idle);

	if (idle == &c->pending) {
		if (is_news(e, idle))
			push(e, &time);
	} else if (is_news(e, idle) && c->nheld < EMIT_HELD &&
		   !(c->nheld > 1 && idle[-1].type == HWT_EV_NONE)) {
		*idle = time;
		idle = &c->held[c->nheld++];
	}
	*idle = *ev;
	c->context = *ev;
}

/*
 * A context that repeats is not told, and of those that follow one another with nothing between
 * only the first, which may be the first proof of who runs, and the last.
 */
static void context(struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	struct hwt_event *idle = idle_context(c);

	if (c->has_before && same_context(ev, &c->earlier)) {
		c->context = c->earlier;
		c->before = fold_reached(&c->before);
		tell_time(e, c, ev);
	} else if (same_context(ev, &c->context)) {
		tell_time(e, c, ev);
	} else if (idle && same_kind(idle, ev) && c->in_run) {
		replace_context(e, c, idle, ev);
	} else {
		c->in_run = idle && same_kind(idle, ev);
		c->earlier = c->context;
		c->context = *ev;
		if (c->pending.type == HWT_EV_ASPACE)
			settle(e, c, HWT_NO_ADDR);
		if (c->pending.type == HWT_EV_NONE)
			c->pending = *ev;
		else
			hold(e, c, ev);
	}
}

/* "br x30": the architecture calls it a jump, but hand-written code returns with it. */
static bool jumps_back(const struct emit *e, const struct hwt_event *ev)
{
	static const uint8_t br_x30[] = { 0xc0, 0x03, 0x1f, 0xd6 };
	struct hwt_where w = where(ev);
	uint8_t code[4];

	return ev->u.range.kind == HWT_INSN_IJUMP && ev->u.range.isa == HWT_ISA_A64 &&
		hwt_image_read(e->image, &w, ev->u.range.last, code, sizeof(code)) == 4 &&
		!memcmp(code, br_x30, sizeof(code));
}

static void edge_of(const struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	struct hwt_event *p = &c->pending;
	unsigned kind = jumps_back(e, ev) ? HWT_INSN_RETURN : ev->u.range.kind;
	uint16_t type = HWT_EV_CALL;
	uint8_t flags = 0;

	switch (kind) {
	case HWT_INSN_CALL:
	case HWT_INSN_ICALL:
	case HWT_INSN_FAR_CALL:
		break;
	case HWT_INSN_RETURN:
		type = HWT_EV_RETURN;
		break;
	case HWT_INSN_FAR_RETURN:
		type = HWT_EV_RETURN;
		flags = HWT_F_INTR;
		doubt_level(c);
		break;
	case HWT_INSN_JUMP:
	case HWT_INSN_IJUMP:
	case HWT_INSN_BRANCH:
		flags = HWT_F_TAIL;
		break;
	default:
		return;
	}
	/* a conditional call or return that was not taken is none (A32) */
	if ((ev->flags & HWT_F_COND) && !(ev->flags & HWT_F_TAKEN))
		return;
	*p = *ev;
	p->type = type;
	p->flags = flags;
	memset(&p->u, 0, sizeof(p->u));
	p->u.edge.from = ev->u.range.last;
	p->u.edge.to = HWT_NO_ADDR;
	p->u.edge.isa = ev->u.range.isa;
	p->u.edge.kind = (uint8_t)kind;
	p->u.edge.last_size = ev->u.range.last_size;
	p->u.edge.trace_id = ev->u.range.trace_id;
}

void emit_range(struct emit *e, unsigned slot, const struct hwt_event *ev)
{
	if (!(ev->flags & HWT_F_DOUBT))
		e->stats->insns += ev->u.range.insns;
	e->stats->ranges++;
	if (e->want.level == HWT_LEVEL_HOLES || slot >= e->ncpus)
		return;
	if (e->want.level == HWT_LEVEL_CALLS) {
		note_owner(&e->cpus[slot], ev);
		settle(e, &e->cpus[slot], ev->u.range.first);
		if (e->want.ranges)
			push(e, ev);
		if (!(ev->flags & HWT_F_DOUBT))
			edge_of(e, &e->cpus[slot], ev);
		return;
	}
	push(e, ev);
}

/* Where the instruction flow was when a pending edge is ended by @ev. */
static uint64_t flow_at(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_NOPATH:
		return ev->u.range.first;
	case HWT_EV_EXCEPTION:
		return ev->u.exc.from;
	case HWT_EV_OFF:
		return ev->u.at.addr;
	case HWT_EV_GAP:
		/* the next instruction, which could not be read */
		return ev->u.gap.cause == HWT_GAP_NO_IMAGE ? ev->u.gap.addr : HWT_NO_ADDR;
	}
	return HWT_NO_ADDR;
}

/* @ev ends what waits in @c, and waits itself if it does not say where the flow goes on. */
static void end_pending(struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	bool handler = c->pending.type == HWT_EV_EXCEPTION, has_before = false;
	struct hwt_event copy = *ev, before, *idle = idle_context(c);
	bool waits = (ev->type == HWT_EV_ON || ev->type == HWT_EV_ERET ||
		      ev->type == HWT_EV_EXCEPTION) && *target(&copy) == HWT_NO_ADDR;

	/* nothing ran in a context between an exception and where tracing starts again */
	if (waits && ev->type == HWT_EV_ON && idle) {
		before = *idle;
		has_before = true;
		if (idle == &c->pending)
			idle->type = HWT_EV_NONE;
		else
			c->nheld--;
	}
	/* the place where tracing stops or is interrupted again is not the handler's start */
	settle(e, c, handler && ev->type != HWT_EV_GAP && ev->type != HWT_EV_NOPATH ?
	       HWT_NO_ADDR : flow_at(ev));
	if (waits)
		c->pending = copy;
	else
		push(e, ev);
	c->has_before = has_before;
	if (has_before)
		c->before = before;
}

/* Cycles for which there is no place: where the last ones are, some were not counted. */
static void lose_count(struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	struct hwt_event lost = *ev;
	unsigned i = c->nheld;

	lost.type = HWT_EV_CYCLES;
	lost.u.value.what = HWT_CYCLES_BEHIND;
	lost.time = c->pending.time;
	while (i && c->held[i - 1].type != HWT_EV_CYCLES &&
	       c->held[i - 1].type != HWT_EV_TIMESTAMP)
		i--;
	if (!i) {
		push(e, &lost);
		return;
	}
	lost.time = c->held[i - 1].time;
	c->held[i - 1] = lost;
}

/*
 * Timestamps and cycles between them, at HWT_LEVEL_CALLS for those who make times of them: each
 * stays behind the edge that it came after. A context waits for what runs in it, and nothing may
 * come between.
 */
static void count(struct emit *e, struct emit_cpu *c, const struct hwt_event *ev)
{
	struct hwt_event *last = c->nheld ? &c->held[c->nheld - 1] : &c->pending;
	bool before = ev->type == HWT_EV_CYCLES && ev->u.value.what == HWT_CYCLES_BEFORE &&
		ev->u.value.value;

	if (!e->counts)
		return;
	if (c->pending.type == HWT_EV_NONE) {
		push(e, ev);
	} else if (before && last->type == HWT_EV_CYCLES && last->u.value.value &&
		   last->u.value.what == HWT_CYCLES_BEFORE &&
		   last->u.value.trace_id == ev->u.value.trace_id) {
		last->u.value.value += ev->u.value.value;
	} else if (last->type != HWT_EV_ASPACE && c->nheld < EMIT_HELD) {
		c->held[c->nheld++] = *ev;
	} else if (ev->type == HWT_EV_CYCLES) {
		lose_count(e, c, ev);
	}
}

void emit_event(struct emit *e, unsigned slot, const struct hwt_event *ev)
{
	struct emit_cpu *c;

	if (ev->type == HWT_EV_GAP) {
		e->stats->gaps++;
		e->stats->bytes_skipped += ev->u.gap.bytes;
		if (!hwt_gap_has_addr((unsigned)ev->u.gap.cause))
			e->stats->bytes_lost += ev->u.gap.lost;
	} else if (e->want.level == HWT_LEVEL_HOLES) {
		return;
	}
	if (slot >= e->ncpus)
		return;
	if (e->want.level != HWT_LEVEL_CALLS) {
		push(e, ev);
		return;
	}
	c = &e->cpus[slot];
	if (ev->type != HWT_EV_NONE)
		note_owner(c, ev);
	if (ev->type == HWT_EV_ON || ev->type == HWT_EV_ERET)
		doubt_level(c);
	switch (ev->type) {
	case HWT_EV_ASPACE:
		context(e, c, ev);
		break;
	case HWT_EV_GAP:
	case HWT_EV_OFF:
	case HWT_EV_ON:
	case HWT_EV_EXCEPTION:
	case HWT_EV_NOPATH:
		end_pending(e, c, ev);
		break;
	case HWT_EV_ERET:
		/* behind the instruction that made it, it says the same */
		if (c->pending.type == HWT_EV_RETURN && c->pending.flags & HWT_F_INTR)
			tell_time(e, c, ev);
		else if (is_edge(&c->pending))
			hold(e, c, ev);
		else
			end_pending(e, c, ev);
		break;
	case HWT_EV_TX:
		tell_time(e, c, ev);
		break;
	case HWT_EV_CYCLES:
	case HWT_EV_TIMESTAMP:
		count(e, c, ev);
		break;
	case HWT_EV_NONE:
	case HWT_EV_SCHED_SWITCH:
		hold(e, c, ev);
		break;
	case HWT_EV_TRIGGER:
		if (ev->u.value.what == HWT_TRIGGER_STOP)
			hold(e, c, ev);
		break;
	}
}

void emit_flush(struct emit *e)
{
	for (unsigned i = 0; i < e->ncpus; i++)
		settle(e, &e->cpus[i], HWT_NO_ADDR);
	show_hidden(e);
	e->ended = true;
}

int emit_take(struct emit *e, struct hwt_event *out, int max)
{
	int n = 0;

	while (n < max) {
		if (!fold_take(&e->fold, &out[n])) {
			if (e->head != e->tail)
				fold_put(&e->fold, &e->ring[e->tail++ % EMIT_RING]);
			else if (!e->ended || !fold_end(&e->fold))
				break;
			continue;
		}
		e->stats->events += out[n++].type != HWT_EV_NONE;
	}
	return n;
}
