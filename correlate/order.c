/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which event must come before which, from what events.def says of their order. What belongs to
 * what is looked for at several scales at once: if no two clocks are farther apart than the scale,
 * then an effect and its cause are those of which there is just one within the scale. Where an
 * effect has no cause at all within it, too often, the scale is wrong, and nothing of it is used.
 */
#include "order.h"
#include "order_graph.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../hwtrace/base/idmap.h"

/* that are known at once, then all are forgotten; a task is 1 KiB at each scale */
#define TASKS		4096u
#define REQUESTS	4096u		/* the same */
#define IPI_KINDS	8
#define SCALES		6
#define ENOUGH		16	/* effects, to say anything */
#define ODD		50	/* one in so many may be an exception */

static const uint64_t scale_ns[SCALES] = { 20000, 100000, 500000, 2500000, 12500000,
	62500000 };

/* An effect that waits until no other cause of it can come, and the causes that were there. */
struct wait {
	struct hwt_order_mark effect;
	struct hwt_order_mark cause;	/* one of those that it may have */
	struct hwt_order_mark last[2];	/* causes that came last */
	struct hwt_order_mark before;	/* the effect before this one */
	uint32_t n;			/* how many it may have */
};

struct task {
	struct wait waking, wakeup;	/* effect: the task runs */
	struct wait enter;		/* effect: syscall.exit */
	struct hwt_order_mark slept;	/* it went to sleep and did not come back yet */
	struct hwt_order_mark fork, gone;	/* it was made, it ended */
	struct hwt_order_mark run;		/* it runs since */
	struct hwt_order_mark before;	/* its start on the CPU before, ... */
	struct hwt_order_mark left;		/* ... which it left then */
	int32_t target;			/* run queue that its wakeup named */
	bool fresh;			/* nothing is known of it but @run */
	bool moved;
};

struct scale {
	struct order_graph g;
	uint64_t ns;
	uint64_t decided, odd;		/* effects; of these, without any cause */
	struct task *tasks;		/* TASKS */
	struct wait *requests;		/* REQUESTS */
	struct wait ipi[IPI_KINDS][ORDER_CPUS];
};

struct order {
	struct idmap tids, requests;
	uint32_t ntasks, nrequests;
	bool wakings, wakeups;		/* there are such events */
	unsigned used;			/* the scale that is right; SCALES: none */
	struct scale s[SCALES];
};

static const struct hwt_order_mark none = { .cpu = HWT_NONE };
#define NO_WAIT { .effect = { .cpu = HWT_NONE }, .cause = { .cpu = HWT_NONE }, \
	.last = { { .cpu = HWT_NONE }, { .cpu = HWT_NONE } }, .before = { .cpu = HWT_NONE } }
static const struct wait no_wait = NO_WAIT;
static const struct task no_task = {
	.waking = NO_WAIT, .wakeup = NO_WAIT, .enter = NO_WAIT, .slept = { .cpu = HWT_NONE },
	.fork = { .cpu = HWT_NONE }, .gone = { .cpu = HWT_NONE }, .run = { .cpu = HWT_NONE },
	.before = { .cpu = HWT_NONE }, .left = { .cpu = HWT_NONE }, .target = HWT_NONE,
};

static bool there(const struct hwt_order_mark *m)
{
	return m->cpu >= 0;
}

/* @b is later than @a by more than the clocks can be apart. */
static bool apart(const struct scale *s, const struct hwt_order_mark *a,
		  const struct hwt_order_mark *b)
{
	return b->lo > a->hi && b->lo - a->hi > s->ns;
}

static void forget_tasks(struct order *o)
{
	idmap_free(&o->tids);
	o->tids = (struct idmap){ 0 };
	o->ntasks = 0;
}

static void forget_requests(struct order *o)
{
	idmap_free(&o->requests);
	o->requests = (struct idmap){ 0 };
	o->nrequests = 0;
}

/* Events are missing: what waits may have been served. */
static void forget(struct order *o)
{
	forget_tasks(o);
	forget_requests(o);
	for (unsigned i = 0; i < SCALES; i++)
		for (unsigned k = 0; k < IPI_KINDS; k++)
			for (unsigned c = 0; c < ORDER_CPUS; c++)
				o->s[i].ipi[k][c] = no_wait;
}

int order_new(struct order **out)
{
	struct order *o = calloc(1, sizeof(*o));
	bool ok = o != NULL;

	for (unsigned i = 0; ok && i < SCALES; i++) {
		struct scale *s = &o->s[i];

		s->ns = scale_ns[i];
		s->g.start = HWT_TIME_UNKNOWN;
		s->tasks = malloc(TASKS * sizeof(*s->tasks));
		s->requests = malloc(REQUESTS * sizeof(*s->requests));
		ok = s->tasks && s->requests;
	}
	if (!ok) {
		order_free(o);
		return -ENOMEM;
	}
	o->used = SCALES;
	forget(o);
	*out = o;
	return 0;
}

void order_free(struct order *o)
{
	if (!o)
		return;
	for (unsigned i = 0; i < SCALES; i++) {
		graph_free(&o->s[i].g);
		free(o->s[i].tasks);
		free(o->s[i].requests);
	}
	idmap_free(&o->tids);
	idmap_free(&o->requests);
	free(o);
}

/* Number of @tid in the tables of tasks, -ENOMEM. */
static int task_of(struct order *o, int32_t tid)
{
	uint32_t i = idmap_get(&o->tids, (uint32_t)tid);

	if (i != IDMAP_NONE)
		return (int)i;
	if (o->ntasks == TASKS)
		forget_tasks(o);
	if (idmap_set(&o->tids, (uint32_t)tid, o->ntasks) < 0)
		return -ENOMEM;
	for (unsigned k = 0; k < SCALES; k++)
		o->s[k].tasks[o->ntasks] = no_task;
	return (int)o->ntasks++;
}

/* By device and sector. */
static int request_of(struct order *o, uint32_t dev, uint64_t sector)
{
	uint64_t key = sector ^ (uint64_t)dev << 40;
	uint32_t i = idmap_get(&o->requests, key);

	if (i != IDMAP_NONE)
		return (int)i;
	if (o->nrequests == REQUESTS)
		forget_requests(o);
	if (idmap_set(&o->requests, key, o->nrequests) < 0)
		return -ENOMEM;
	for (unsigned k = 0; k < SCALES; k++)
		o->s[k].requests[o->nrequests] = no_wait;
	return (int)o->nrequests++;
}

static void cause(const struct scale *s, struct wait *w, const struct hwt_order_mark *m)
{
	w->last[1] = w->last[0];
	w->last[0] = *m;
	if (there(&w->effect) && !apart(s, &w->effect, m)) {
		w->cause = *m;
		w->n++;
	}
}

/* An effect whose cause came after @since, which is of any CPU. */
static void effect(const struct scale *s, struct wait *w, const struct hwt_order_mark *since,
		   const struct hwt_order_mark *m)
{
	w->effect = *m;
	w->cause = w->last[0];
	w->n = 0;
	for (unsigned k = 0; k < 2; k++)
		w->n += there(&w->last[k]) && !apart(s, &w->last[k], since);
}

/* At @now: no more causes come. True if there was just one. */
static bool is_due(const struct scale *s, const struct wait *w, const struct hwt_order_mark *now)
{
	return there(&w->effect) && apart(s, &w->effect, now);
}

/* Pairs by one kind of cause and effect alone. */
static int settle(struct scale *s, struct wait *w, enum hwt_order_rule rule,
		  const struct hwt_order_mark *now)
{
	int rc = 0;

	if (is_due(s, w, now)) {
		if (w->n == 1)
			rc = graph_edge(&s->g, rule, &w->cause, &w->effect);
		w->effect = none;
	}
	return rc;
}

/*
 * An effect whose cause came after the effect before. One cause near that is its own, so another
 * must be well behind it; what stands before the first effect is not known.
 */
static int effect_after(struct scale *s, struct wait *w, enum hwt_order_rule rule,
			const struct hwt_order_mark *m)
{
	int rc = settle(s, w, rule, m);
	unsigned near = 0;

	if (there(&w->before)) {
		w->effect = *m;
		w->cause = w->last[0];
		w->n = 0;
		for (unsigned k = 0; k < 2 && there(&w->last[k]); k++) {
			bool behind = apart(s, &w->before, &w->last[k]);

			w->n += behind;
			near += !behind && !apart(s, &w->last[k], &w->before);
		}
		w->n += near > 1 ? 2 : 0;
	}
	w->before = *m;
	return rc;
}

/* A sleep is over, and so is the time in which another wakeup of it could come. */
static int settle_wake(const struct order *o, struct scale *s, struct task *t,
		       const struct hwt_order_mark *now)
{
	struct wait *a = &t->waking, *b = &t->wakeup;
	bool odd = (o->wakings && !a->n) || (o->wakeups && !b->n);
	int rc = 0;

	if (!is_due(s, a, now))
		return 0;
	s->decided++;
	s->odd += odd;
	if (!odd && b->n == 1)
		rc = graph_edge(&s->g, HWT_ORDER_WAKE_RUN, &b->cause, &b->effect);
	if (!odd && !rc && a->n == 1)
		rc = graph_edge(&s->g, HWT_ORDER_WAKE_RUN, &a->cause, &a->effect);
	if (!odd && !rc && a->n == 1 && b->n == 1)
		rc = graph_edge(&s->g, HWT_ORDER_WAKING_WAKEUP, &a->cause, &b->cause);
	a->effect = b->effect = none;
	return rc;
}

static int leaves(struct scale *s, struct task *t, const struct hwt_rec_sched_switch *r,
		  const struct hwt_order_mark *m)
{
	bool dead = r->prev_state == HWT_task_state_dead || r->prev_state == HWT_task_state_zombie;
	bool known = there(&t->run);
	int rc = 0;

	t->fresh = false;
	t->slept = none;
	if (there(&t->run) && t->run.cpu != m->cpu) {
		/* it came to another CPU before it left this one, if that can be told */
		if (there(&t->before) && t->before.cpu == m->cpu && apart(s, &t->before, &t->run))
			rc = graph_edge(&s->g, HWT_ORDER_ONE_CPU, m, &t->run);
		t->before = none;
		return rc;
	}
	t->left = *m;
	t->before = t->run;
	t->run = none;
	if (dead)
		t->gone = *m;
	else if (known && !r->preempted && r->prev_state != HWT_task_state_ready)
		t->slept = *m;
	return 0;
}

static int comes(struct scale *s, struct task *t, const struct hwt_order_mark *m)
{
	int rc = 0;

	t->fresh = !there(&t->left) && !there(&t->run) && !there(&t->fork);
	if (there(&t->run)) {
		t->before = t->run;	/* it did not leave yet, says its other clock */
	} else if (there(&t->left) && t->left.cpu != m->cpu && there(&t->before) &&
		   apart(s, &t->before, m)) {
		rc = graph_edge(&s->g, HWT_ORDER_ONE_CPU, &t->left, m);
	}
	if (!rc && there(&t->fork))
		rc = graph_edge(&s->g, HWT_ORDER_FORK_RUN, &t->fork, m);
	if (there(&t->slept)) {
		effect(s, &t->waking, &t->slept, m);
		effect(s, &t->wakeup, &t->slept, m);
		/* a wakeup of an earlier sleep named the CPU of that one */
		if (!rc && t->wakeup.n == 1 && t->target >= 0 && !t->moved &&
		    t->wakeup.cause.lo > t->slept.hi)
			rc = graph_came(&s->g, t->target, m->cpu);
	}
	t->fork = t->slept = none;
	t->run = *m;
	t->moved = false;
	return rc;
}

/* A task is made; its number may have been that of one that is gone. */
static int forks(struct scale *s, struct task *t, const struct hwt_order_mark *m)
{
	bool known = there(&t->left) || (there(&t->run) && !t->fresh) || there(&t->fork);
	bool used = there(&t->gone) ? !apart(s, &t->gone, m) : known;
	struct hwt_order_mark run = t->fresh ? t->run : none;

	*t = no_task;
	if (used)
		return 0;
	if (!there(&run)) {
		t->fork = *m;
		return 0;
	}
	/* it ran before it was made */
	t->run = run;
	return apart(s, &run, m) ? 0 : graph_edge(&s->g, HWT_ORDER_FORK_RUN, m, &run);
}

/* A kind of interrupt on a CPU: requests that come close together are served as one. */
static int ipi_came(struct scale *s, uint32_t kind, const struct hwt_order_mark *m)
{
	if (kind >= IPI_KINDS || m->cpu >= ORDER_CPUS)
		return 0;
	return effect_after(s, &s->ipi[kind][m->cpu], HWT_ORDER_IPI, m);
}

static int ipi_sent(struct scale *s, const struct hwt_rec_irq_ipi_send *r,
		    const struct hwt_order_mark *m)
{
	int rc = 0;

	for (unsigned k = 0; r->kind < IPI_KINDS && k < 64 && !rc; k++) {
		uint64_t cpu = (uint64_t)r->first_cpu + k;

		if (!(r->cpus >> k & 1) || cpu >= ORDER_CPUS)
			continue;
		rc = settle(s, &s->ipi[r->kind][cpu], HWT_ORDER_IPI, m);
		cause(s, &s->ipi[r->kind][cpu], m);
	}
	return rc;
}

/* Pairs that follow each other: each cause has one effect. */
static int paired(struct scale *s, struct wait *w, bool is_cause, enum hwt_order_rule rule,
		  const struct hwt_order_mark *m)
{
	int rc;

	if (!is_cause)
		return effect_after(s, w, rule, m);
	rc = settle(s, w, rule, m);
	cause(s, w, m);
	return rc;
}

union record {
	struct hwt_rec_sched_switch sw;
	struct hwt_rec_sched_wakeup wake;	/* waking, wakeup and wakeup_new are alike */
	struct hwt_rec_sched_migrate migrate;
	struct hwt_rec_sched_fork fork;
	struct hwt_rec_sched_free free;
	struct hwt_rec_irq_entry irq;
	struct hwt_rec_irq_ipi_send ipi;
	struct hwt_rec_block_issue issue;
	struct hwt_rec_block_complete complete;
};

/* What an event tells of one task. */
static int task_event(struct order *o, struct scale *s, struct task *t, unsigned id,
		      const union record *r, const struct hwt_order_mark *m)
{
	int rc = settle_wake(o, s, t, m);

	if (rc < 0)
		return rc;
	switch (id) {
	case HWT_ID_sched_switch:
		return m->tid == r->sw.prev_tid ? leaves(s, t, &r->sw, m) : comes(s, t, m);
	case HWT_ID_sched_waking:
		cause(s, &t->waking, m);
		return 0;
	case HWT_ID_sched_wakeup:
		cause(s, &t->wakeup, m);
		t->target = r->wake.target_cpu < INT32_MAX ? (int32_t)r->wake.target_cpu : HWT_NONE;
		return 0;
	case HWT_ID_sched_migrate:
		t->moved = true;
		return 0;
	case HWT_ID_sched_fork:
		return forks(s, t, m);
	case HWT_ID_sched_free:
		t->gone = *m;
		return 0;
	case HWT_ID_syscall_enter:
	case HWT_ID_syscall_exit:
		return paired(s, &t->enter, id == HWT_ID_syscall_enter, HWT_ORDER_SYSCALL, m);
	}
	return 0;
}

static int of_task(struct order *o, int32_t tid, unsigned id, const union record *r,
		   struct hwt_order_mark m)
{
	int i, rc = 0;

	if (tid <= 0)
		return 0;
	i = task_of(o, tid);
	if (i < 0)
		return i;
	m.tid = tid;
	for (unsigned k = 0; k < SCALES && !rc; k++)
		rc = task_event(o, &o->s[k], &o->s[k].tasks[i], id, r, &m);
	return rc;
}

static int of_request(struct order *o, uint32_t dev, uint64_t sector, bool issue,
		      const struct hwt_order_mark *m)
{
	int i = request_of(o, dev, sector), rc = i < 0 ? i : 0;

	for (unsigned k = 0; k < SCALES && !rc; k++)
		rc = paired(&o->s[k], &o->s[k].requests[i], issue, HWT_ORDER_BLOCK, m);
	return rc;
}

static int of_irq(struct order *o, const union record *r, bool sent, const struct hwt_order_mark *m)
{
	int rc = 0;

	for (unsigned k = 0; k < SCALES && !rc; k++)
		rc = sent ? ipi_sent(&o->s[k], &r->ipi, m) : ipi_came(&o->s[k], r->irq.kind, m);
	return rc;
}

static int dispatch(struct order *o, const union record *r, unsigned id, struct hwt_order_mark m)
{
	int rc;

	switch (id) {
	case HWT_ID_sched_switch:
		rc = of_task(o, r->sw.prev_tid, id, r, m);
		return rc ? rc : of_task(o, r->sw.next_tid, id, r, m);
	case HWT_ID_sched_waking:
		o->wakings = true;
		return of_task(o, r->wake.wake_tid, id, r, m);
	case HWT_ID_sched_wakeup:
		o->wakeups = true;
		return of_task(o, r->wake.wake_tid, id, r, m);
	case HWT_ID_sched_migrate:
		return of_task(o, r->migrate.task_tid, id, r, m);
	case HWT_ID_sched_fork:
		return of_task(o, r->fork.child_tid, id, r, m);
	case HWT_ID_sched_free:
		return of_task(o, r->free.task_tid, id, r, m);
	case HWT_ID_syscall_enter:
	case HWT_ID_syscall_exit:
		return of_task(o, m.tid, id, r, m);
	case HWT_ID_irq_ipi_send:
	case HWT_ID_irq_entry:
		return of_irq(o, r, id == HWT_ID_irq_ipi_send, &m);
	case HWT_ID_block_issue:
		return of_request(o, r->issue.dev, r->issue.sector, true, &m);
	case HWT_ID_block_complete:
		return of_request(o, r->complete.dev, r->complete.sector, false, &m);
	case HWT_ID_stream_lost:
		forget(o);
		return 0;
	}
	return 0;
}

int order_event(struct order *o, const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;
	struct hwt_order_mark m = { .lo = ev->time, .hi = ev->time, .off = ev->off, .src = ev->src,
		.cpu = ev->cpu, .tid = ev->tid };

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >= HWT_ID_DIRTY || ev->cpu < 0 ||
	    ev->time == HWT_TIME_UNKNOWN || ev->span == HWT_SPAN_UNKNOWN ||
	    ev->clock != HWT_CLOCK_BASE || ev->time > INT64_MAX)
		return 0;
	if (hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e ||
	    ev->u.rec.size < e->size)
		return 0;
	m.hi += ev->span;
	for (unsigned k = 0; k < SCALES; k++)
		if (o->s[k].g.start != HWT_TIME_UNKNOWN && m.lo > o->s[k].g.start &&
		    m.lo - o->s[k].g.start > ORDER_WINDOW)
			graph_window(&o->s[k].g);
	return dispatch(o, ev->u.rec.data, e->id, m);
}

/* Nothing that was found is near what the scale takes for impossible. */
static bool fits(const struct scale *s)
{
	if (s->decided < ENOUGH || s->odd * ODD > s->decided)
		return false;
	for (size_t i = 0; i < s->g.sum.nfindings; i++)
		if (s->g.f[i].least > s->ns / 2)
			return false;
	return true;
}

void order_end(struct order *o)
{
	for (unsigned k = SCALES; k-- > 0;) {
		graph_end(&o->s[k].g);
		if (fits(&o->s[k]))
			o->used = k;
	}
}

void order_sum(const struct order *o, struct hwt_order_sum *out)
{
	*out = (struct hwt_order_sum){ .best = HWT_TIME_UNKNOWN, .median = HWT_TIME_UNKNOWN };
	if (o->used == SCALES)
		return;
	*out = o->s[o->used].g.sum;
	out->scale = o->s[o->used].ns;
}

const struct hwt_order_finding *order_finding(const struct order *o, size_t i)
{
	if (o->used == SCALES || i >= o->s[o->used].g.sum.nfindings)
		return NULL;
	return &o->s[o->used].g.f[i];
}
