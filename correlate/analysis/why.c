/* SPDX-License-Identifier: BSD-2-Clause */
/* All calls from one point to another, and the two that are compared. */
#include "why.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/kernel.h>
#include <hwtrace/uapi.h>

#include "../../hwtrace/base/diag.h"
#include "../../hwtrace/filter/filter.h"

#define ID_NONE 168
#define ID_TASK 169

static void forget(struct hwt_why *w)
{
	for (size_t i = 0; i < w->threads.n; i++) {
		struct why_thread *t = ((struct why_thread **)w->threads.v)[i];

		path_free(&t->path);
		free(t);
	}
	w->threads.n = 0;
	idmap_free(&w->by_key);
	w->by_key = (struct idmap){ .n = 0 };
}

static struct why_thread *thread_of(struct hwt_why *w, uint64_t key)
{
	uint32_t at = idmap_get(&w->by_key, key);
	struct why_thread *t, **slot;

	if (at != IDMAP_NONE)
		return ((struct why_thread **)w->threads.v)[at];
	t = calloc(1, sizeof(*t));
	slot = t ? vec_push(&w->threads, sizeof(*slot)) : NULL;
	if (!slot || idmap_set(&w->by_key, key, (uint32_t)w->threads.n - 1) < 0) {
		w->threads.n -= slot != NULL;
		free(t);
		return NULL;
	}
	t->key = key;
	*slot = t;
	return t;
}

/* One begins: what is inside another one is part of that. */
static int begun(void *ctx, const struct pairs_open *o, const struct hwt_event *ev)
{
	struct hwt_why *w = ctx;
	struct why_thread *t;

	if (o->inner || (o->nested && !o->again))
		return 0;
	t = thread_of(w, o->p.key);
	if (!t)
		return -ENOMEM;
	/* a hole took it away, and what was seen since is of it */
	if (o->again && t->open)
		return 0;
	/* where one that was open ended is not known */
	t->before_end = t->open ? HWT_TIME_UNKNOWN : t->last_end;
	t->doubt = o->nested;
	t->part = o->task ? o->task->part : HWT_PART_RUN;
	t->open = true;
	t->exc = t->fault = false;	/* in a handler, it is its own code that runs */
	t->one = (struct hwt_why_one){ .pid = o->p.pid, .tid = o->p.tid, .cpu = o->p.cpu,
		.from = o->p.from };
	t->begin = ++w->begun;
	/* steps are kept of the two only */
	path_begin(&t->path, why_at(ev), why_part(w, t), w->pass == 2 &&
		   (t->begin == w->begin[0] || t->begin == w->begin[1]));
	return 0;
}

static void swap_paths(struct path *a, struct path *b)
{
	struct path t = *a;

	*a = *b;
	*b = t;
}

static bool same_begin(const struct hwt_event *a, const struct hwt_event *b)
{
	return a->time == b->time && a->span == b->span;
}

static int ended(void *ctx, const struct pairs_open *o, const struct hwt_pair *p)
{
	struct hwt_why *w = ctx;
	struct why_thread *t = o->inner ? NULL : thread_of(w, o->p.key);
	struct why_call *c;
	int rc;

	if (!t || !t->open)
		return 0;
	/* that it ended tells that a fault was over, not since when */
	t->loose = t->loose || p->to.type == HWT_EV_RECORD;
	rc = why_fault_over(w, t, why_at(&p->to));
	/* it was taken up again behind a hole that its path does not reach back over */
	if (!rc && !same_begin(&p->from, &t->one.from))
		rc = path_behind(&t->path, why_at(&p->from), PATH_HOLE);
	if (rc)
		return rc;
	path_end(&t->path, why_at(&p->to));
	t->last_end = hwt_event_end(&p->to);
	t->open = false;
	t->one.number = p->number;
	t->one.from = p->from;
	t->one.to = p->to;
	t->one.took = p->took;
	t->one.tainted = p->tainted;
	t->one.outside = p->outside;
	t->one.cut = t->path.cut;
	if (w->pass == 2) {
		for (int i = 0; i < 2; i++)
			if (t->begin == w->begin[i]) {
				w->one[i] = t->one;
				swap_paths(&w->path[i], &t->path);
				w->have[i] = true;
			}
		if (t->begin == w->begin[0])
			w->nwaits = hwt_pairs_waits(w->pairs, p, w->wait, HWT_WAITS);
		return 0;
	}
	if (p->took.lo == HWT_TIME_UNKNOWN) {
		w->untimed++;
		return 0;
	}
	if (spill_room(&w->calls, sizeof(*c)) < 0)
		return -ENOMEM;
	c = (struct why_call *)w->calls.v + w->calls.n++;
	*c = (struct why_call){ p->number, t->begin, path_hash(&t->path), p->took, t->one.tid,
		p->tainted };
	return 0;
}

/* Who or what causes the stretch of a part that begins. */
static void note_cause(const struct hwt_why *w, struct why_thread *t, const struct task_change *c,
		       const struct hwt_event *ev)
{
	uint8_t part = c->part;
	const struct hwt_rec_sched_switch *s = ev->u.rec.data;
	const struct hwt_rec_irq_entry *i = ev->u.rec.data;
	char *by = t->path.cause;
	struct hwt_capture_info info;
	const char *name;

	if (ev->u.rec.id == HWT_ID_sched_switch && part == HWT_PART_PREEMPTED)
		snprintf(by, sizeof(t->path.cause), "%.16s", s->next_comm);
	else if (ev->u.rec.id == HWT_ID_irq_entry && part == HWT_PART_IRQ)
		snprintf(by, sizeof(t->path.cause), "%.16s", i->name);
	else if (t->fault && (part == HWT_PART_BLOCKED || part == HWT_PART_AWAY))
		snprintf(by, sizeof(t->path.cause), "a page fault");
	if (c->task->call < 0 || (part != HWT_PART_BLOCKED && part != HWT_PART_AWAY))
		return;
	hwt_session_info(w->s, &info);
	name = info.arch ? filter_syscall_name(info.arch, (uint64_t)c->task->call) : NULL;
	if (name)
		snprintf(by, sizeof(t->path.cause), "%s", name);
	else
		snprintf(by, sizeof(t->path.cause), "nr %d", c->task->call);
}

/*
 * What the kernel tells of a task at @ev counts where it is not known whether one of the two was
 * running: it may as well be of the one before or behind it.
 */
static void edge(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev)
{
	uint64_t end;

	if (w->pass != 2)
		return;
	if (t->open) {
		end = hwt_event_end(&t->one.from);
		t->one.edge += end > ev->time;
	}
	for (int i = 0; i < 2; i++) {
		end = hwt_event_end(&w->one[i].to);
		if (w->have[i] && t->key == (uint64_t)w->one[i].tid && end > ev->time)
			w->one[i].edge++;
	}
}

static int changed(void *ctx, const struct hwt_event *ev, const struct task_change *c)
{
	struct hwt_why *w = ctx;
	uint32_t at = idmap_get(&w->by_key, (uint64_t)c->task->tid);
	struct why_thread *t;
	int rc = 0;

	if (at == IDMAP_NONE)
		return 0;
	t = ((struct why_thread **)w->threads.v)[at];
	t->part = c->part;
	if (ev->type == HWT_EV_RECORD) {
		edge(w, t, ev);
		t->seen.lo = t->before.lo = HWT_TIME_UNKNOWN;
	}
	if (t->open) {
		if (c->was == HWT_PART_AWAY)
			path_rename(&t->path, HWT_PART_BLOCKED, HWT_PART_AWAY);
		rc = path_part(&t->path, c->at, why_part(w, t));
		if (t->path.part == c->part && ev->type == HWT_EV_RECORD && ev->u.rec.data)
			note_cause(w, t, c, ev);
	}
	return rc;
}

/* A page fault, or what tells that the one before is over: its task called the kernel. */
static int told(void *ctx, const struct hwt_event *ev)
{
	struct hwt_why *w = ctx;
	uint32_t at = ev->tid > 0 ? idmap_get(&w->by_key, (uint64_t)ev->tid) : IDMAP_NONE;
	struct why_thread *t;
	int rc;

	if (at == IDMAP_NONE || ev->type != HWT_EV_RECORD)
		return 0;
	t = ((struct why_thread **)w->threads.v)[at];
	if (ev->u.rec.id == HWT_ID_mm_fault && ev->u.rec.data &&
	    ev->u.rec.size >= sizeof(struct hwt_rec_mm_fault)) {
		rc = why_fault_placed(w, t, ev);
		if (!rc)
			edge(w, t, ev);
		return rc < 0 ? rc : why_fault(w, t, ev);
	}
	if (ev->u.rec.id != HWT_ID_syscall_enter && ev->u.rec.id != HWT_ID_syscall_exit)
		return 0;
	t->loose = true;
	return why_fault_over(w, t, why_at(ev));
}

/* A hole of a CPU is one of the task that runs there; of no CPU, of all. */
static int holes(struct hwt_why *w, const struct hwt_event *ev)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < w->threads.n; i++) {
		struct why_thread *t = ((struct why_thread **)w->threads.v)[i];
		const struct task *k = t->key >> 63 ? NULL :
			tasks_find(&w->pairs->tasks, (int32_t)t->key);
		bool here = t->key >> 63 ? ev->cpu < 0 || (int32_t)t->key == ev->cpu :
			ev->tid > 0 ? t->key == (uint64_t)ev->tid : ev->cpu < 0 || !k ||
			k->cpu < 0 || (k->cpu == ev->cpu && k->state == HWT_PART_RUN);

		if (here)
			rc = why_flow(w, t, ev);
	}
	return rc;
}

/* What hwt_pairs are told for latency. */
static bool for_pairs(const struct hwt_why *w, const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_GAP:
		return w->pairs->trace;
	case HWT_EV_RANGE:
		return w->ranges;
	}
	return true;
}

/* It is never seen again, but for another task with its id. */
static void drop(struct hwt_why *w, int32_t tid)
{
	uint32_t at = idmap_get(&w->by_key, (uint64_t)tid);
	struct why_thread **v = w->threads.v, *t, *last;

	if (at == IDMAP_NONE)
		return;
	t = v[at];
	last = v[--w->threads.n];
	idmap_del(&w->by_key, (uint64_t)tid);
	if (last != t) {
		v[at] = last;
		(void)idmap_set(&w->by_key, last->key, at);	/* there is room: one less */
	}
	path_free(&t->path);
	free(t);
}

int hwt_why_event(struct hwt_why *w, const struct hwt_event *ev)
{
	uint64_t key = ev->tid > 0 ? (uint64_t)ev->tid : 1ull << 63 | (uint32_t)ev->cpu;
	struct why_thread *t;
	struct hwt_pair p;
	int rc = for_pairs(w, ev) ? hwt_pairs_event(w->pairs, ev, &p) : 0;

	if (rc < 0)
		return rc;
	switch (ev->type) {
	case HWT_EV_RECORD:
		drop(w, tasks_dead(ev));
		return 0;
	case HWT_EV_GAP:
		return holes(w, ev);
	case HWT_EV_RANGE:
	case HWT_EV_ON:
	case HWT_EV_OFF:
	case HWT_EV_EXCEPTION:
	case HWT_EV_ERET:
		t = thread_of(w, key);
		return t ? why_flow(w, t, ev) : -ENOMEM;
	}
	return 0;
}

int hwt_why_new(struct hwt_why **out, struct hwt_session *s, const struct hwt_pairs_opts *o,
		struct hwt_diag *diag)
{
	struct hwt_why *w = calloc(1, sizeof(*w));
	const struct hwt_pairs *p;
	int rc;

	if (!w)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	w->s = s;
	w->pass = 1;
	w->trace = hwt_session_bufs(s) > 0;
	rc = hwt_pairs_new(&w->pairs, s, o, diag);
	p = w->pairs;
	if (!rc && (p->from_key.by != BY_TASK || p->to_key.by != BY_TASK ||
		    *p->from_key.field || *p->to_key.field || p->from.kind == POINT_EXIT))
		rc = diag_set(diag, -EINVAL, ID_TASK, NULL, HWT_NO_OFF, "why follows one task: "
			      "%.80s and %.80s are not both passed by it", p->from.text,
			      p->to.text);
	if (rc) {
		hwt_why_free(w);
		return rc;
	}
	w->pairs->watch = (struct pairs_watch){ changed, told, begun, ended, w };
	w->ranges = p->from.kind == POINT_ADDR || p->to.kind == POINT_ADDR;
	*out = w;
	return 0;
}

void hwt_why_free(struct hwt_why *w)
{
	if (!w)
		return;
	forget(w);
	free(w->threads.v);
	spill_free(&w->calls);
	hwt_pairs_free(w->pairs);
	path_free(&w->path[0]);
	path_free(&w->path[1]);
	free(w);
}

void hwt_why_want(const struct hwt_why *w, struct hwt_timeline_opts *o)
{
	/* the stream of latency, so that both see the same in the same order, and what ran */
	hwt_pairs_want(w->pairs, o);
	o->hardware = true;
	o->want.addrs = NULL;
	o->want.naddrs = 0;
	o->want.ranges = true;
}

const char *hwt_why_point(const struct hwt_why *w, int to)
{
	return hwt_pairs_point(w->pairs, to);
}

static bool longer(const struct why_call *a, const struct why_call *b)
{
	return a->took.lo != b->took.lo ? a->took.lo > b->took.lo : a->took.hi > b->took.hi;
}

static int by_length(const void *a, const void *b)
{
	const struct why_call *x = a, *y = b;

	if (longer(x, y) || longer(y, x))
		return longer(x, y) ? -1 : 1;
	return x->number < y->number ? -1 : 1;
}

static int by_hash(const void *a, const void *b)
{
	const struct why_call *x = a, *y = b;

	if (x->hash != y->hash)
		return x->hash < y->hash ? -1 : 1;
	return by_length(a, b);
}

#define STEP	16384	/* calls that are read before memory is given back */

/* The @i-th; all of them are read in order. */
static const struct why_call *call_at(const struct hwt_why *w, size_t i)
{
	if (i && i % STEP == 0)
		spill_done(&w->calls, sizeof(struct why_call), i - STEP, i);
	return (const struct why_call *)w->calls.v + i;
}

static void sort_calls(struct hwt_why *w, int (*order)(const void *, const void *))
{
	spill_sort(&w->calls, sizeof(struct why_call), order);
}

/*
 * Whether @c may be the typical one of @this: tasks do unlike things at one point, and nothing is
 * known to be longer than what has no known length.
 */
static bool counts(const struct hwt_why *w, const struct why_call *c, const struct why_call *this)
{
	return !c->tainted && c->number != this->number && (!w->own || c->tid == this->tid) &&
		(c->took.hi != HWT_TIME_UNKNOWN || this->took.hi == HWT_TIME_UNKNOWN);
}

/* Those of the same task, if there are enough of them. */
static bool enough_own(struct hwt_why *w, const struct why_call *this)
{
	unsigned n = 0;

	w->own = true;
	for (size_t i = 0; this->tid >= 0 && i < w->calls.n && n < WHY_OWN; i++)
		n += counts(w, call_at(w, i), this);
	return n >= WHY_OWN;
}

/*
 * The middle one of the most frequent path, without @this and holes, of the same task if it has
 * enough; else the middle of all.
 */
static void find_typical(struct hwt_why *w, const struct why_call *this)
{
	uint64_t hash = this->hash, number = this->number, last = 0;
	size_t n = w->calls.n, best = 0, from = 0, size = 0;
	const struct why_call *v;

	w->own = enough_own(w, this);
	sort_calls(w, by_hash);
	w->paths = w->same_path = 0;
	for (size_t i = 0, first = 0; i < n; i++) {
		v = call_at(w, i);
		if (!i || v->hash != last) {
			w->paths++;
			first = i;
			size = 0;
		}
		last = v->hash;
		size += counts(w, v, this);
		w->same_path += v->hash == hash;
		if (size > best) {
			best = size;
			from = first;
		}
	}
	w->begin[1] = this->begin;
	w->alike = best;
	/* by length within a path: the @best / 2-th of those that count */
	for (size_t i = from, k = 0; i < n && best; i++) {
		v = call_at(w, i);
		if (counts(w, v, this) && k++ == best / 2) {
			w->begin[1] = v->begin;
			break;
		}
	}
	if (best > 1 || (best && n < 3))
		return;
	sort_calls(w, by_length);
	v = w->calls.v;
	w->own = false;
	w->alike = 1;
	w->begin[1] = v[n / 2].number != number ? v[n / 2].begin : v[n / 2 + 1 < n ? n / 2 + 1 :
		n / 2 - 1].begin;
}

/* What has no rank, as an end of it may be another one's. */
static void count_tainted(struct hwt_why *w)
{
	const struct why_call *v;

	w->tainted = w->tainted_number = w->tainted_most = 0;
	for (size_t i = 0; i < w->calls.n; i++) {
		v = call_at(w, i);
		if (!v->tainted)
			continue;
		if (!w->tainted++ || v->took.hi > w->tainted_most) {
			w->tainted_number = v->number;
			w->tainted_most = v->took.hi;
		}
	}
}

/* The @worst-th of those that have a rank, in order of length; if none has one, of all. */
static size_t ranked(const struct hwt_why *w, uint64_t worst)
{
	bool all = w->tainted == w->calls.n;
	size_t i = 0;

	for (; i < w->calls.n; i++)
		if ((all || !call_at(w, i)->tainted) && worst-- <= 1)
			break;
	return i;
}

/* How many behind the @at-th may have taken longer. */
static uint64_t rivals(const struct hwt_why *w, size_t at)
{
	const struct why_call this = *call_at(w, at), *v;
	uint64_t n = 0;

	for (size_t i = at + 1; !this.tainted && i < w->calls.n; i++) {
		v = call_at(w, i);
		n += !v->tainted && v->took.hi > this.took.lo;
	}
	return n;
}

static int no_such(const struct hwt_why *w, uint64_t worst, uint64_t call, struct hwt_diag *diag)
{
	char holes[64] = "";

	if (call && call <= w->numbers)
		return diag_set(diag, -ENOENT, ID_NONE, NULL, HWT_NO_OFF,
				"number %llu has no time, or is inside another one of %.80s, which "
				"is explained with it", (unsigned long long)call,
				hwt_why_point(w, 0));
	if (call)
		return diag_set(diag, -ENOENT, ID_NONE, NULL, HWT_NO_OFF,
				"there are %zu of them, and no number %llu", w->calls.n,
				(unsigned long long)call);
	if (w->tainted && w->tainted < w->calls.n)
		snprintf(holes, sizeof(holes), " that touch no hole, of %zu", w->calls.n);
	return diag_set(diag, -ENOENT, ID_NONE, NULL, HWT_NO_OFF,
			"there are %zu of them%s, and no longest but %llu",
			w->tainted < w->calls.n ? w->calls.n - (size_t)w->tainted : w->calls.n,
			holes, (unsigned long long)(worst - 1));
}

int hwt_why_choose(struct hwt_why *w, uint64_t worst, uint64_t call, struct hwt_diag *diag)
{
	struct hwt_pair_stats st;
	struct why_call this;
	size_t i = 0;

	hwt_pairs_stats(w->pairs, &st);
	w->numbers = st.pairs;
	if (!w->calls.n && w->untimed)
		return diag_set(diag, -ENOENT, ID_NONE, NULL, HWT_NO_OFF,
				"%llu ran from %.80s to %.80s, but the trace has no times for them",
				(unsigned long long)w->untimed, hwt_why_point(w, 0),
				hwt_why_point(w, 1));
	if (!w->calls.n)
		return diag_set(diag, -ENOENT, ID_NONE, NULL, HWT_NO_OFF,
				"nothing ran from %.80s to %.80s", hwt_why_point(w, 0),
				hwt_why_point(w, 1));
	sort_calls(w, by_length);
	count_tainted(w);
	while (call && i < w->calls.n && call_at(w, i)->number != call)
		i++;
	if (!call)
		i = ranked(w, worst);
	if (i >= w->calls.n)
		return no_such(w, worst, call, diag);
	if (w->calls.n < 2)
		return diag_set(diag, -ENOENT, ID_NONE, NULL, HWT_NO_OFF,
				"there is only one: nothing to hold it against");
	this = *call_at(w, i);
	w->rivals = rivals(w, i);
	w->begin[0] = this.begin;
	find_typical(w, &this);
	/* the second pass begins like the first */
	forget(w);
	pairs_reset(w->pairs);
	w->begun = 0;
	w->pass = 2;
	if (pairs_keep_story(w->pairs))
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	return 0;
}
