/* SPDX-License-Identifier: BSD-2-Clause */
#include "pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/calls.h>
#include <hwtrace/uapi.h>

#include "../../hwtrace/base/diag.h"
#include "../session.h"

#define ID_MIXED 167

static bool same_places(const struct point *a, const struct point *b)
{
	return a->kind == POINT_ENTRY && b->kind == POINT_EXIT && a->n == b->n &&
		!memcmp(a->addr, b->addr, a->n * sizeof(*a->addr));
}

static bool is_exit(const struct hwt_pairs *p)
{
	return p->from.kind == POINT_EXIT || p->to.kind == POINT_EXIT;
}

static bool is_addr(const struct hwt_pairs *p)
{
	return p->from.kind == POINT_ADDR || p->to.kind == POINT_ADDR;
}

/* What ends a point, as text for free(); 0 if nothing is known to, or -1 without memory. */
static int end_of(const char *from, char **to)
{
	static const char *const ends[][2] = {
		{ "syscall.enter", "syscall.exit" }, { "irq.entry", "irq.exit" },
		{ "softirq.entry", "softirq.exit" }, { "softirq.work_start", "softirq.work_end" },
		{ "softirq.work_queue", "softirq.work_start" }, { "block.issue", "block.complete" },
		{ "block.insert", "block.complete" }, { "timer.expire", "timer.done" },
		{ "timer.hr_expire", "timer.hr_done" }, { "power.idle_enter", "power.idle_exit" },
		{ "user.begin", "user.end" }, { "sched.waking", "sched.switch" },
		{ "sched.wakeup", "sched.switch" }, { "sched.switch", "sched.switch" },
		{ "net.tx", "net.xmit" },
	};
	size_t n = strcspn(from, " \t\n,");

	for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		size_t m = strlen(ends[i][0]);

		/* what is said of the name holds of the end too; a condition need not */
		if (n >= m && !memcmp(from, ends[i][0], m) && (n == m || from[m] == ':'))
			return asprintf(to, "%s%.*s", ends[i][1], (int)(n - m), from + m);
	}
	return 0;
}

static int default_to(struct hwt_pairs *p, const char *from, struct hwt_diag *diag)
{
	size_t n = strlen(from);
	char *to = NULL;
	int rc;

	if (p->from.kind == POINT_ENTRY && n > 6 && !strcmp(from + n - 6, ":entry"))
		n -= 6;
	if (p->from.kind == POINT_ENTRY)
		rc = asprintf(&to, "%.*s:exit", (int)n, from);
	else
		rc = p->from.kind == POINT_KERNEL ? end_of(from, &to) : 0;
	if (rc < 0)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	if (!rc)
		return diag_set(diag, -EINVAL, 164, NULL, HWT_NO_OFF,
				"nothing is known to end \"%.80s\": name its end (--to)", from);
	rc = point_init(&p->to, p->s, to, diag);
	free(to);
	return rc;
}

/* An event of the recording's own: of another clock, perhaps. */
static bool is_dirty(const struct point *p)
{
	bool dirty = false;

	for (unsigned i = 0; p->kind == POINT_KERNEL && i < p->nevents; i++)
		dirty |= hwt_filter_event(p->filter, i) >= HWT_ID_DIRTY;
	return dirty;
}

/* Places of both points; the walk tells what touches them. */
static int gather_places(struct hwt_pairs *p)
{
	size_t n = 0;

	p->addrs = calloc(p->from.n + p->to.n + 1, sizeof(*p->addrs));
	if (!p->addrs)
		return -ENOMEM;
	for (size_t i = 0; i < p->from.n; i++)
		p->addrs[n++] = (struct hwt_addr_range){ p->from.addr[i], p->from.addr[i] };
	for (size_t i = 0; i < p->to.n; i++)
		p->addrs[n++] = (struct hwt_addr_range){ p->to.addr[i], p->to.addr[i] };
	return 0;
}

int hwt_pairs_new(struct hwt_pairs **out, struct hwt_session *s, const struct hwt_pairs_opts *o,
		  struct hwt_diag *diag)
{
	struct hwt_pairs *p = calloc(1, sizeof(*p));
	int rc;

	if (!p)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	p->s = s;
	rc = point_init(&p->from, s, o->from, diag);
	if (!rc)
		rc = o->to ? point_init(&p->to, s, o->to, diag) : default_to(p, o->from, diag);
	if (!rc)
		rc = pairs_key_init(p, o->key, diag);
	if (!rc && is_exit(p) && is_addr(p))
		rc = diag_set(diag, -EINVAL, ID_MIXED, NULL, HWT_NO_OFF, "the return of a function "
			      "and a place inside one can not be seen in one walk");
	if (!rc && gather_places(p))
		rc = diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	if (rc) {
		hwt_pairs_free(p);
		return rc;
	}
	p->same_function = same_places(&p->from, &p->to);
	p->wakes = p->from_key.by == BY_TASK && p->to_key.by == BY_TASK &&
		!strcmp(p->from_key.field, "wake_tid") && !strcmp(p->to_key.field, "next_tid");
	p->lives = p->from_key.by == BY_TASK && p->to_key.by == BY_TASK &&
		(!*p->to_key.field || !strcmp(p->to_key.field, "next_tid"));
	if (!is_dirty(&p->from) && !is_dirty(&p->to))
		p->fit = session_fit(s);
	p->frames = is_exit(p);
	p->trace = p->from.kind != POINT_KERNEL || p->to.kind != POINT_KERNEL;
	p->flow = p->from.kind != POINT_KERNEL && p->to.kind != POINT_KERNEL;
	p->one_context = pairs_one_context(p);
	tasks_probe(&p->tasks, s);
	if (o->size >= offsetof(struct hwt_pairs_opts, waits) + sizeof(o->waits) && o->waits &&
	    pairs_keep_story(p)) {
		hwt_pairs_free(p);
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	}
	*out = p;
	return 0;
}

/* All that events told. */
static void forget(struct hwt_pairs *p)
{
	struct pairs_open *o, *below;

	for (size_t i = 0; i < p->slots.n; i++)
		for (o = ((struct pairs_slot *)p->slots.v)[i].top; o; o = below) {
			below = o->below;
			free(o);
		}
	for (o = p->unused; o; o = below) {
		below = o->below;
		free(o);
	}
	p->unused = NULL;
	story_free(p->story);
	p->story = NULL;
	p->slots.n = p->nopen = p->waiting = 0;
	p->free_slot = 0;
	idmap_free(&p->by_key);
	p->by_key = (struct idmap){ .n = 0 };
	tasks_free(&p->tasks);
	for (int i = 0; i < 2; i++) {
		tails_free(&p->tails[i]);
		p->tails[i] = (struct tails){ .threads = { 0 } };
	}
}

void pairs_reset(struct hwt_pairs *p)
{
	forget(p);
	p->st = (struct hwt_pair_stats){ 0 };
	p->failed = 0;
	tasks_probe(&p->tasks, p->s);
}

void hwt_pairs_free(struct hwt_pairs *p)
{
	if (!p)
		return;
	forget(p);
	free(p->slots.v);
	point_fini(&p->from);
	point_fini(&p->to);
	free(p->key);
	free(p->addrs);
	free(p);
}

const char *hwt_pairs_point(const struct hwt_pairs *p, int to)
{
	return to ? p->to.text : p->from.text;
}

void hwt_pairs_stats(const struct hwt_pairs *p, struct hwt_pair_stats *out)
{
	*out = p->st;
	out->known = p->tasks.known | 1u << HWT_PART_AWAY | 1u << HWT_PART_UNKNOWN;
	out->scope = p->tasks.scope.bits;
	out->tasks = p->tasks.recorded;
	out->unended += p->waiting;
}

static struct pairs_open *pop(struct hwt_pairs *p, struct pairs_slot *slot)
{
	struct pairs_open *o = slot->top;

	slot->top = o->below;
	if (o->link) {
		*o->link = o->next;
		if (o->next)
			o->next->link = o->link;
	}
	o->below = p->unused;
	p->unused = o;
	p->nopen--;
	p->waiting -= !o->nested;
	return o;
}

static uint64_t holes_of(const struct hwt_pairs *p, const struct pairs_open *o)
{
	if (!p->trace)
		return p->tasks.holes;
	if (o->task)
		return tasks_holes(&p->tasks, o->task);
	return p->from_key.by == BY_CPU ? tasks_cpu_holes(&p->tasks, o->p.cpu) : p->tasks.any;
}

/* The part @part that the pair is in ends at @at of @clock. */
static void account(struct hwt_pairs *p, struct pairs_open *o, unsigned part,
		    struct hwt_interval at, unsigned clock)
{
	struct hwt_interval d = pairs_between(p, clock, o->since, at);

	if (holes_of(p, o) != o->holes)
		o->p.tainted = true;
	if (!o->task || d.lo == HWT_TIME_UNKNOWN || clock != o->p.from.clock)
		o->lost_time = true;
	else
		hwt_interval_add(&o->p.part[part], d);
	o->since = at;
}

static void apply(struct hwt_pairs *p, const struct task_change *c, unsigned clock)
{
	for (struct pairs_open *o = c->task->own; o; o = o->next) {
		struct hwt_interval at = c->at;

		/* what a switch that nobody told ends was still so when the pair began */
		if (at.lo < o->since.lo && o->since.lo != HWT_TIME_UNKNOWN)
			at.lo = o->since.lo;
		account(p, o, c->was, at, clock);
	}
	task_apply(c);
	for (struct pairs_open *o = c->task->own; o; o = o->next)
		o->holes = holes_of(p, o);
}

/* A new one on top of its slot; NULL: no room, which is counted. */
static struct pairs_open *push(struct hwt_pairs *p, struct pairs_slot *slot)
{
	struct pairs_open *o = p->unused;

	if (!slot || p->nopen >= PAIRS_OPEN) {
		p->st.dropped++;
		return NULL;
	}
	if (o) {
		p->unused = o->below;
	} else {
		o = malloc(sizeof(*o));
		if (!o) {
			p->st.dropped++;
			return NULL;
		}
	}
	*o = (struct pairs_open){ .below = slot->top };
	slot->top = o;
	p->nopen++;
	return o;
}

static const struct hwt_call *frame_of(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_FRAME ? ev->u.rec.data : NULL;
}

static void failed(struct hwt_pairs *p, int rc)
{
	if (rc < 0 && !p->failed)
		p->failed = rc;
}

static void begin(struct hwt_pairs *p, struct pairs_slot *slot, const struct hwt_event *ev,
		  uint64_t key)
{
	struct pairs_open *o = push(p, slot), *below = o ? o->below : NULL;

	if (!o)
		return;
	o->nested = p->same_function && !point_at(&p->from, ev);
	p->waiting += !o->nested;
	o->again = o->nested && frame_of(ev)->inferred == 2;
	o->inner = below && (!below->nested || below->again || below->inner);
	o->p.from = *ev;
	o->p.from.u.rec.data = NULL;
	o->p.key = key;
	o->p.pid = ev->pid;
	o->p.tid = ev->tid;
	o->p.cpu = ev->cpu;
	o->since = pairs_instant(ev);
	if (p->from_key.by == BY_TASK && !(key >> 63))
		o->task = tasks_get(&p->tasks, (int32_t)key);
	if (o->task) {
		/* what the trace shows of a task is that it runs now, not when it leaves */
		if (ev->type != HWT_EV_RECORD)
			tasks_seen(&p->tasks, o->task, ev->cpu);
		if (o->task->tid != ev->tid)
			o->p.pid = o->task->pid;
		o->p.tid = o->task->tid;
		o->next = o->task->own;
		o->link = (struct pairs_open **)&o->task->own;
		if (o->next)
			o->next->link = &o->next;
		o->task->own = o;
	}
	o->holes = holes_of(p, o);
	o->runs = tasks_get(&p->tasks, ev->tid);
	o->runs_unseen = o->runs ? tasks_unseen(&p->tasks, o->runs) : 0;
	o->unseen = o->task ? tasks_unseen(&p->tasks, o->task) : 0;
	if (p->watch.begun)
		failed(p, p->watch.begun(p->watch.ctx, o, ev));
}

/*
 * In a recording of some tasks, what another one does is no part of it: it may have ended @o, and
 * begun what ends here. What one of those that are recorded does is all there.
 */
static bool outside(const struct hwt_pairs *p, const struct pairs_open *o,
		    const struct hwt_event *ev)
{
	if (!(p->tasks.scope.bits & HWT_SCOPE_TASKS))
		return false;
	if (o->task)
		return tasks_unseen(&p->tasks, o->task) != o->unseen;
	return !p->one_context || !o->runs || o->runs->tid != ev->tid ||
		tasks_unseen(&p->tasks, o->runs) != o->runs_unseen;
}

/* @o, which has left its slot, ended. */
static int end(struct hwt_pairs *p, struct pairs_open *o, const struct hwt_event *ev,
	       struct hwt_pair *out)
{
	struct hwt_interval at = pairs_instant(ev), from = pairs_instant(&o->p.from);

	account(p, o, o->task ? o->task->part : HWT_PART_UNKNOWN, at, ev->clock);
	*out = o->p;
	out->to = *ev;
	out->to.u.rec.data = NULL;
	out->number = ++p->st.pairs;
	out->took = pairs_between(p, ev->clock, from, at);
	if (out->from.clock != ev->clock)
		out->took = (struct hwt_interval){ HWT_TIME_UNKNOWN, HWT_TIME_UNKNOWN };
	if (out->took.lo == HWT_TIME_UNKNOWN)
		p->st.untimed++;
	else if (from.lo > at.hi)
		p->st.backward++;
	out->outside = !p->flow && outside(p, o, ev);
	out->tainted = out->tainted || out->outside;
	out->split = !o->lost_time && out->from.clock == p->tasks.clock &&
		p->tasks.known & 1u << HWT_PART_RUN && !(p->flow && outside(p, o, ev));
	/* none is longer than the whole */
	for (unsigned k = 0; k < HWT_PARTS && out->took.lo != HWT_TIME_UNKNOWN; k++)
		if (out->part[k].hi > out->took.hi)
			out->part[k].hi = out->took.hi;
	p->st.tainted += out->tainted;
	p->st.outside += out->outside;
	if (p->watch.ended)
		failed(p, p->watch.ended(p->watch.ctx, o, out));
	return 1;
}

static bool of_function(const struct point *p, const struct hwt_call *c)
{
	return point_in(p, c->func, c->func);
}

static void nested_begin(struct hwt_pairs *p, const struct hwt_event *ev)
{
	struct pairs_slot *slot;
	uint64_t key;

	if (!pairs_key_of(p, &p->from_key, ev, &key))
		return;
	slot = pairs_slot_of(p, key, true);
	p->st.from += point_at(&p->from, ev);
	begin(p, slot, ev, key);
	pairs_tidy(p, key);
}

/* @c ends the last entry that has no return; @lost: when it ended is not known. */
static int nested_end(struct hwt_pairs *p, const struct hwt_event *ev, const struct hwt_call *c,
		      bool lost, struct hwt_pair *out)
{
	bool own = of_function(&p->from, c);
	struct pairs_slot *slot;
	struct pairs_open *o;
	uint64_t key;

	if (!pairs_key_of(p, &p->from_key, ev, &key))
		return 0;
	slot = pairs_slot_of(p, key, false);
	p->st.to += !lost;
	if (!slot || !slot->top) {
		p->st.unbegun += !lost;
		return 0;
	}
	o = pop(p, slot);
	pairs_tidy(p, key);
	if (lost) {
		p->st.unended += !o->nested;
		return 0;
	}
	if (o->nested && (c->inferred || !own)) {
		p->st.unbegun++;
		return 0;
	}
	if (o->nested) {	/* open before a hole, and taken up again */
		o->p.from.time = c->enter_time;
		o->p.from.span = c->enter_span;
		o->p.tainted = true;
	}
	o->p.tainted = o->p.tainted || c->tainted;
	return end(p, o, ev, out);
}

/* Entry and return of one function: each return belongs to the last entry that has none. */
static int nested(struct hwt_pairs *p, const struct hwt_event *ev, struct hwt_pair *out)
{
	int tail = tails_event(&p->tails[1], &p->to, ev);
	const struct hwt_call *c = frame_of(ev);

	if (tail == TAIL_RETURN || tail == TAIL_LOST)
		return nested_end(p, ev, c, tail == TAIL_LOST, out);
	if (!tail && c && c->what == HWT_CALL_ENTER && of_function(&p->from, c))
		nested_begin(p, ev);
	return tail < 0 ? tail : 0;
}

/* Whether @ev is at a point: 1, 0 or -ENOMEM. A return is one where its caller goes on. */
static int at(struct hwt_pairs *p, int to, const struct hwt_event *ev)
{
	const struct point *point = to ? &p->to : &p->from;
	int tail;

	if (point->kind != POINT_EXIT)
		return point_at(point, ev);
	tail = tails_event(&p->tails[to], point, ev);
	return tail < 0 ? tail : tail == TAIL_RETURN;
}

/*
 * A task that leaves its CPU had come to it: where that is not told, as of a task that is not
 * recorded, its wakeup has no end. But Linux may tell sched.waking of a task that is leaving.
 */
static void leave(struct hwt_pairs *p, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_switch *r = ev->u.rec.data;
	struct pairs_slot *slot;

	if (!p->wakes || ev->type != HWT_EV_RECORD || ev->u.rec.id != HWT_ID_sched_switch || !r ||
	    ev->u.rec.size < sizeof(*r) || r->prev_tid == r->next_tid)
		return;
	slot = pairs_slot_of(p, (uint32_t)r->prev_tid, false);
	if (!slot || !slot->top)
		return;
	if (p->from.e->id == HWT_ID_sched_waking) {
		slot->top->p.tainted = true;
		return;
	}
	pop(p, slot);
	pairs_tidy(p, (uint32_t)r->prev_tid);
	p->st.unended++;
}

/*
 * A task is gone: what waits for it to do something has no end. Not what others do with it: free
 * its memory.
 */
static void died(struct hwt_pairs *p, const struct hwt_event *ev)
{
	int32_t tid = tasks_dead(ev);
	struct pairs_slot *slot;

	if (!tid || !p->lives)
		return;
	slot = pairs_slot_of(p, (uint32_t)tid, false);
	while (slot && slot->top && slot->top->p.from.clock == ev->clock)
		p->st.unended += !pop(p, slot)->nested;
	pairs_tidy(p, (uint32_t)tid);
}

static int plain(struct hwt_pairs *p, const struct hwt_event *ev, struct hwt_pair *out)
{
	int at_to = at(p, 1, ev), at_from = at(p, 0, ev), done = 0;
	const struct hwt_call *c = frame_of(ev);
	struct pairs_slot *slot;
	uint64_t key;

	if (at_to < 0 || at_from < 0)
		return at_to < 0 ? at_to : at_from;
	if (at_to && pairs_key_of(p, &p->to_key, ev, &key)) {
		slot = pairs_slot_of(p, key, false);
		p->st.to++;
		if (slot && slot->top) {
			struct pairs_open *o = pop(p, slot);

			pairs_tidy(p, key);
			o->p.tainted = o->p.tainted || (c && c->tainted && c->inferred);
			done = end(p, o, ev, out);
		} else {
			p->st.unbegun++;
		}
	}
	if (at_from && pairs_key_of(p, &p->from_key, ev, &key)) {
		slot = pairs_slot_of(p, key, true);
		p->st.from++;
		if (slot && slot->top) {
			pop(p, slot);
			p->st.replaced++;
		}
		begin(p, slot, ev, key);
		pairs_tidy(p, key);
	}
	return done;
}

int hwt_pairs_event(struct hwt_pairs *p, const struct hwt_event *ev, struct hwt_pair *out)
{
	struct task_change c[TASK_CHANGES];
	int n = tasks_event(&p->tasks, ev, c);

	if (p->story && ev->clock == p->tasks.clock)
		failed(p, story_event(p->story, ev));
	for (int i = 0; i < n; i++) {
		if (p->story)
			failed(p, story_change(p->story, ev, &c[i]));
		apply(p, &c[i], ev->clock);
		if (p->watch.changed)
			failed(p, p->watch.changed(p->watch.ctx, ev, &c[i]));
	}
	if (p->watch.told)
		failed(p, p->watch.told(p->watch.ctx, ev));
	/* where there are frames, the flow behind them says no more of points */
	if (p->frames && ev->type != HWT_EV_FRAME && ev->type != HWT_EV_RECORD)
		return p->failed;
	leave(p, ev);
	n = p->same_function ? nested(p, ev, out) : plain(p, ev, out);
	died(p, ev);
	return p->failed ? p->failed : n;
}

void hwt_pairs_want(const struct hwt_pairs *p, struct hwt_timeline_opts *o)
{
	o->calls = o->flow = is_exit(p);
	o->kernel = true;
	o->hardware = p->trace;
	o->anchors = true;
	o->want.level = is_addr(p) ? HWT_LEVEL_RANGES : HWT_LEVEL_CALLS;
	o->want.addrs = o->calls ? NULL : p->addrs;
	o->want.naddrs = o->calls ? 0 : p->from.n + p->to.n;
}
