/* SPDX-License-Identifier: BSD-2-Clause */
#include "tighten.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../hwtrace/base/idmap.h"

#define TASKS	8192u	/* that are known at once; then all are forgotten */
#define TURNS	4	/* of a task that are remembered */
#define CPUS	1024	/* of which switches are looked at */
#define LANES	4096	/* of which an order is kept */
#define EDGES	(4 * TIGHTEN_WINDOW)
#define SWEEPS	64
#define NEXT	64
#define NO_ITEM	UINT32_MAX

/* An event, as long as it is remembered. */
struct mark {
	uint64_t lo, hi;
	uint32_t item;		/* in this window, or NO_ITEM */
	bool there;
};

struct turn { struct mark in, out; int32_t cpu; };

struct task {
	struct turn turn[TURNS];	/* the newest first */
	struct mark fork;
	bool fresh;		/* nothing is known of it but the newest turn */
};

struct item {
	struct hwt_event ev;
	uint64_t lo, hi, key;
	uint32_t lane;		/* NO_ITEM: none */
	uint32_t prev;		/* the one before in its lane, NO_ITEM: none */
};

/*
 * Events of one CPU in one file. Two files of a CPU may have a clock each, and what their earliest
 * instants say of the order of both is not known.
 */
struct lane {
	uint32_t last;		/* newest item */
	uint64_t floor;		/* earliest instant of what was handed out */
};

struct edge { uint32_t a, b; };

struct tight {
	struct hwt_stream s, *up;
	struct item *item;	/* TIGHTEN_WINDOW */
	struct hwt_event *spare;	/* the same; those that are kept */
	uint32_t n, kept;	/* items; of the window before */
	uint32_t *order;	/* of the items that can be handed out */
	uint32_t at, ready;
	uint8_t *bytes[2];	/* records of this window and of the one before */
	size_t used;
	unsigned side;
	struct edge *edge;
	uint32_t nedges;
	struct idmap lane_of;
	struct lane lane[LANES];
	uint32_t nlanes;
	uint32_t teller[CPUS];	/* the file with switches of the CPU, and one; 0: none yet */
	struct idmap tids;
	struct task *tasks;
	uint32_t ntasks;
	struct hwt_event next[NEXT];	/* of @up, not taken yet */
	int nnext, inext, rc;
	struct tighten_stats stats;
};

static uint64_t end_of(const struct hwt_event *ev)
{
	return ev->span == HWT_SPAN_UNKNOWN ? HWT_TIME_UNKNOWN : ev->time + ev->span;
}

static void edge(struct tight *t, const struct mark *a, const struct mark *b)
{
	if (!a->there || !b->there || b->item == NO_ITEM)
		return;
	t->stats.edges++;
	if (a->item == NO_ITEM) {
		/* it was handed out: what it says of the other one is left */
		if (a->lo > t->item[b->item].lo)
			t->item[b->item].lo = a->lo;
	} else if (t->nedges < EDGES) {
		t->edge[t->nedges++] = (struct edge){ a->item, b->item };
	}
}

/* --- tasks --- */

static void forget(struct tight *t)
{
	idmap_free(&t->tids);
	t->tids = (struct idmap){ 0 };
	t->ntasks = 0;
}

/* NULL: none, or no memory, which only costs what would have been known of it. */
static struct task *task_of(struct tight *t, int32_t tid)
{
	uint32_t i;

	if (tid <= 0)
		return NULL;
	i = idmap_get(&t->tids, (uint32_t)tid);
	if (i != IDMAP_NONE)
		return &t->tasks[i];
	if (t->ntasks == TASKS)
		forget(t);
	if (idmap_set(&t->tids, (uint32_t)tid, t->ntasks) < 0)
		return NULL;
	t->tasks[t->ntasks] = (struct task){ .fresh = true };
	return &t->tasks[t->ntasks++];
}

/* The earliest that the turn can have been over. */
static uint64_t over(const struct turn *u)
{
	return u->out.there && u->out.lo > u->in.lo ? u->out.lo : u->in.lo;
}

/* @x is not before @y, so @y is: nobody is on two CPUs. */
static bool not_before(const struct turn *x, const struct turn *y)
{
	return y->in.there && over(x) > y->in.hi;
}

/* What is known of two turns of a task now that one of them is told more of. */
static void two_turns(struct tight *t, const struct turn *x, const struct turn *y)
{
	if (!x->in.there || !y->in.there || x->cpu == y->cpu)
		return;
	if (not_before(x, y) && !not_before(y, x))
		edge(t, &y->out, &x->in);
	else if (not_before(y, x) && !not_before(x, y))
		edge(t, &x->out, &y->in);
}

static void comes(struct tight *t, struct task *k, const struct mark *m, int32_t cpu)
{
	struct turn *u = k->turn;

	memmove(&u[1], &u[0], (TURNS - 1) * sizeof(*u));
	u[0] = (struct turn){ .in = *m, .cpu = cpu };
	for (unsigned i = 1; i < TURNS; i++)
		two_turns(t, &u[0], &u[i]);
	/* the first one of all is behind its making */
	if (k->fork.there && !u[1].in.there)
		edge(t, &k->fork, m);
}

static void leaves(struct tight *t, struct task *k, const struct mark *m, int32_t cpu)
{
	unsigned i = 0;

	k->fresh = false;
	while (i < TURNS && (k->turn[i].cpu != cpu || !k->turn[i].in.there))
		i++;
	if (i == TURNS || k->turn[i].out.there)
		return;
	k->turn[i].out = *m;
	for (unsigned j = 0; j < TURNS; j++)
		if (j != i)
			two_turns(t, &k->turn[i], &k->turn[j]);
}

static void forks(struct tight *t, struct task *k, const struct mark *m)
{
	bool ran = k->turn[0].in.there;

	/* its number was another one's: whose turn comes is not known */
	if (!k->fresh || k->turn[1].in.there || k->fork.there) {
		*k = (struct task){ .fresh = false };
		return;
	}
	k->fork = *m;
	if (ran)
		edge(t, m, &k->turn[0].in);
}

/* Turns that two files tell of one CPU are told twice, and which belong together is not known. */
static bool one_teller(struct tight *t, const struct hwt_event *ev)
{
	uint32_t *teller;

	if (ev->cpu >= CPUS)
		return false;
	teller = &t->teller[ev->cpu];
	if (!*teller)
		*teller = ev->src + 1;
	if (*teller == ev->src + 1)
		return true;
	t->stats.contradictions++;
	return false;
}

static void rules(struct tight *t, uint32_t i)
{
	const struct hwt_event *ev = &t->item[i].ev;
	const struct mark m = { t->item[i].lo, t->item[i].hi, i, true };
	const struct hwt_rec_sched_switch *s = ev->u.rec.data;
	const struct hwt_rec_sched_fork *f = ev->u.rec.data;
	const struct hwt_abi_event *e;
	struct task *k;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e ||
	    ev->u.rec.size < e->size)
		return;
	if (e->id == HWT_ID_stream_lost)
		forget(t);
	if (m.lo == HWT_TIME_UNKNOWN || m.hi == HWT_TIME_UNKNOWN || ev->cpu < 0)
		return;
	switch (e->id) {
	case HWT_ID_sched_switch:
		if (!one_teller(t, ev))
			return;
		k = task_of(t, s->prev_tid);
		if (k)
			leaves(t, k, &m, ev->cpu);
		k = task_of(t, s->next_tid);
		if (k)
			comes(t, k, &m, ev->cpu);
		break;
	case HWT_ID_sched_fork:
		k = task_of(t, f->child_tid);
		if (k)
			forks(t, k, &m);
		break;
	}
}

/* --- windows --- */

static bool raise(uint64_t *v, uint64_t by)
{
	if (by <= *v)
		return false;
	*v = by;
	return true;
}

static bool lower(uint64_t *v, uint64_t by)
{
	if (by >= *v)
		return false;
	*v = by;
	return true;
}

/* Once through all orders, each in the direction in which most of it goes at once. */
static bool sweep(struct tight *t)
{
	struct item *v = t->item;
	bool changed = false;

	for (uint32_t i = 0; i < t->n; i++)
		if (v[i].prev != NO_ITEM && v[i].lo != HWT_TIME_UNKNOWN)
			changed |= raise(&v[i].lo, v[v[i].prev].lo);
	for (uint32_t i = t->n; i-- > 0;)
		if (v[i].prev != NO_ITEM && v[i].lo != HWT_TIME_UNKNOWN)
			changed |= lower(&v[v[i].prev].hi, v[i].hi);
	for (uint32_t i = 0; i < t->nedges; i++) {
		changed |= raise(&v[t->edge[i].b].lo, v[t->edge[i].a].lo);
		changed |= lower(&v[t->edge[i].a].hi, v[t->edge[i].b].hi);
	}
	return changed;
}

static void solve(struct tight *t)
{
	bool bad = false;
	unsigned k = 0;

	while (k < SWEEPS && sweep(t))
		k++;
	for (uint32_t i = 0; i < t->n; i++)
		bad |= t->item[i].lo > t->item[i].hi;
	t->stats.contradictions += bad;
	for (uint32_t i = 0; i < t->n; i++) {
		struct hwt_event *ev = &t->item[i].ev;
		uint64_t lo = t->item[i].lo, hi = t->item[i].hi;

		if (bad || lo == HWT_TIME_UNKNOWN)
			continue;
		t->stats.narrowed += lo > ev->time || hi < end_of(ev);
		ev->time = lo;
		ev->span = hi != HWT_TIME_UNKNOWN && hi - lo < HWT_SPAN_UNKNOWN ?
			(uint32_t)(hi - lo) : HWT_SPAN_UNKNOWN;
	}
}

/* What was remembered of this window's items stays, but no more as items. */
static void let_go(struct mark *m)
{
	m->item = NO_ITEM;
}

static void let_go_all(struct tight *t)
{
	for (uint32_t i = 0; i < t->ntasks; i++) {
		struct task *k = &t->tasks[i];

		let_go(&k->fork);
		for (unsigned j = 0; j < TURNS; j++) {
			let_go(&k->turn[j].in);
			let_go(&k->turn[j].out);
		}
	}
}

/* NO_ITEM: none, or no room, which only costs what its order would say. */
static uint32_t lane_of(struct tight *t, const struct hwt_event *ev)
{
	uint64_t id = (uint64_t)ev->src << 32 | (uint32_t)ev->cpu;
	uint32_t i;

	if (ev->cpu < 0)
		return NO_ITEM;
	i = idmap_get(&t->lane_of, id);
	if (i != IDMAP_NONE)
		return i;
	if (t->nlanes == LANES || idmap_set(&t->lane_of, id, t->nlanes) < 0)
		return NO_ITEM;
	t->lane[t->nlanes] = (struct lane){ .last = NO_ITEM };
	return t->nlanes++;
}

/* False: there is no room. */
static bool put(struct tight *t, const struct hwt_event *ev)
{
	struct item *it = &t->item[t->n];
	size_t size = ev->type == HWT_EV_RECORD ? (ev->u.rec.size + 7ull) & ~7ull : 0;
	struct lane *l;

	if (t->n == TIGHTEN_WINDOW || size > TIGHTEN_BYTES - t->used)
		return false;
	*it = (struct item){ .ev = *ev, .lo = ev->time, .hi = end_of(ev), .lane = NO_ITEM,
		.prev = NO_ITEM };
	if (size) {
		memcpy(t->bytes[t->side] + t->used, ev->u.rec.data, ev->u.rec.size);
		it->ev.u.rec.data = t->bytes[t->side] + t->used;
		t->used += size;
	}
	/* what has no time of its own, or another clock's, has no place in this order */
	if (ev->time == HWT_TIME_UNKNOWN || ev->clock != HWT_CLOCK_BASE) {
		it->lo = HWT_TIME_UNKNOWN;
	} else {
		it->lane = lane_of(t, ev);
	}
	if (it->lane != NO_ITEM) {
		l = &t->lane[it->lane];
		it->prev = l->last;
		l->last = t->n;
		raise(&it->lo, l->floor);
	}
	t->n++;
	return true;
}

static int by_time(const void *a, const void *b, void *arg)
{
	const struct tight *t = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	uint64_t s = t->item[x].key, u = t->item[y].key;

	return s != u ? (s < u ? -1 : 1) : x < y ? -1 : x > y;
}

/* What may still be behind an event that comes is kept for the next window. */
static void arrange(struct tight *t, uint64_t newest)
{
	uint64_t key = 0;

	for (uint32_t i = 0; i < t->n; i++) {
		struct item *it = &t->item[i];

		/* without a time it stays where it is */
		it->key = it->lo == HWT_TIME_UNKNOWN ? key : it->ev.time;
		key = it->key > key ? it->key : key;
		t->order[i] = i;
	}
	qsort_r(t->order, t->n, sizeof(*t->order), by_time, t);
	for (t->ready = t->n; t->rc > 0 && t->ready > 1 &&
	     t->item[t->order[t->ready - 1]].key > newest; t->ready--)
		;
	t->kept = t->n - t->ready;
	t->at = 0;
	for (uint32_t i = 0; i < t->ready; i++) {
		const struct item *it = &t->item[t->order[i]];

		if (it->lane != NO_ITEM)
			raise(&t->lane[it->lane].floor, it->ev.time);
	}
}

/* The next window: what the last one kept, and what comes. */
static void fill(struct tight *t)
{
	uint32_t n = t->n, kept = t->kept;
	uint64_t newest = 0;

	t->side = !t->side;
	t->used = t->n = t->nedges = 0;
	for (uint32_t i = 0; i < t->nlanes; i++)
		t->lane[i].last = NO_ITEM;
	let_go_all(t);
	/* kept ones are read from the other half of @item before it is written to */
	for (uint32_t i = 0; i < kept; i++)
		t->spare[i] = t->item[t->order[n - kept + i]].ev;
	for (uint32_t i = 0; i < kept; i++)
		put(t, &t->spare[i]);
	for (;;) {
		if (t->inext == t->nnext) {
			t->inext = 0;
			t->rc = hwt_stream_next(t->up, t->next, NEXT);
			t->nnext = t->rc > 0 ? t->rc : 0;
			if (t->rc <= 0)
				break;
		}
		if (!put(t, &t->next[t->inext]))
			break;
		if (t->item[t->n - 1].lo != HWT_TIME_UNKNOWN)
			raise(&newest, t->next[t->inext].time);
		rules(t, t->n - 1);
		t->inext++;
	}
	solve(t);
	arrange(t, newest);
}

static int tighten_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct tight *t = hwt_container_of(s, struct tight, s);
	int n = 0;

	if (t->at == t->ready) {
		/* its record is longer than all room, so it has no window */
		if (t->inext < t->nnext && !t->kept && t->next[t->inext].type == HWT_EV_RECORD &&
		    t->next[t->inext].u.rec.size > TIGHTEN_BYTES - 8) {
			*ev = t->next[t->inext++];
			return 1;
		}
		if (t->rc > 0 || t->rc == -EAGAIN)
			fill(t);
	}
	while (n < max && t->at < t->ready)
		ev[n++] = t->item[t->order[t->at++]].ev;
	return n ? n : t->rc > 0 ? 0 : t->rc;
}

static void tighten_close(struct hwt_stream *s)
{
	struct tight *t = hwt_container_of(s, struct tight, s);

	hwt_stream_close(t->up);
	idmap_free(&t->tids);
	idmap_free(&t->lane_of);
	free(t->item);
	free(t->spare);
	free(t->order);
	free(t->bytes[0]);
	free(t->bytes[1]);
	free(t->edge);
	free(t->tasks);
	free(t);
}

static const struct hwt_stream_ops tighten_ops = { tighten_next, tighten_close };

int tighten_new(struct hwt_stream **out, struct hwt_stream *up)
{
	struct tight *t = calloc(1, sizeof(*t));

	if (!t) {
		hwt_stream_close(up);
		return -ENOMEM;
	}
	t->s = (struct hwt_stream){ .ops = &tighten_ops, .name = up->name };
	t->up = up;
	t->rc = 1;
	t->item = malloc(TIGHTEN_WINDOW * sizeof(*t->item));
	t->spare = malloc(TIGHTEN_WINDOW * sizeof(*t->spare));
	t->order = malloc(TIGHTEN_WINDOW * sizeof(*t->order));
	t->bytes[0] = malloc(TIGHTEN_BYTES);
	t->bytes[1] = malloc(TIGHTEN_BYTES);
	t->edge = malloc(EDGES * sizeof(*t->edge));
	t->tasks = malloc(TASKS * sizeof(*t->tasks));
	if (!t->item || !t->spare || !t->order || !t->bytes[0] || !t->bytes[1] || !t->edge ||
	    !t->tasks) {
		tighten_close(&t->s);
		return -ENOMEM;
	}
	*out = &t->s;
	return 0;
}

void tighten_stats(const struct hwt_stream *s, struct tighten_stats *out)
{
	*out = hwt_container_of((struct hwt_stream *)s, struct tight, s)->stats;
}
