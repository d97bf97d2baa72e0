/* SPDX-License-Identifier: BSD-2-Clause */
#include "story.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../../hwtrace/filter/filter.h"

/* The record of @ev as a struct of uapi.h, NULL if it is another event or too short. */
#define REC(ev, name) ((ev)->type == HWT_EV_RECORD && (ev)->u.rec.data && \
	(ev)->u.rec.id == HWT_ID_##name && \
	(ev)->u.rec.size >= sizeof(struct hwt_rec_##name) ? \
	(const struct hwt_rec_##name *)(ev)->u.rec.data : NULL)

const char *hwt_waker_name(unsigned how)
{
	static const char *const names[] = { "unknown", "task", "irq", "softirq" };

	return how < sizeof(names) / sizeof(names[0]) ? names[how] : "?";
}

int story_new(struct story **out, const struct tasks *t)
{
	struct story *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->t = t;
	s->stretch = calloc(STORY_KEPT, sizeof(*s->stretch));
	s->turn = calloc(STORY_KEPT, sizeof(*s->turn));
	if (!s->stretch || !s->turn) {
		story_free(s);
		return -ENOMEM;
	}
	*out = s;
	return 0;
}

void story_free(struct story *s)
{
	if (!s)
		return;
	free(s->stretch);
	free(s->turn);
	idtab_free(&s->tasks);
	free(s->cpus.v);
	free(s);
}

static struct story_task *find_task(const struct story *s, int32_t tid)
{
	return idtab_get(&s->tasks, sizeof(struct story_task), (uint32_t)tid);
}

static const struct story_cpu *find_cpu(const struct story *s, int32_t cpu)
{
	return cpu < 0 || (size_t)cpu >= s->cpus.n ? NULL :
		(const struct story_cpu *)s->cpus.v + cpu;
}

/* NULL: its number is too large, or no memory. */
static struct story_cpu *cpu_of(struct story *s, int32_t cpu)
{
	if (cpu < 0 || cpu >= TASK_CPUS)
		return NULL;
	while (s->cpus.n <= (size_t)cpu) {
		struct story_cpu *c = vec_push(&s->cpus, sizeof(*c));

		if (!c)
			return NULL;
		c->tid = HWT_NONE;
	}
	return (struct story_cpu *)s->cpus.v + cpu;
}

static struct story_stretch *stretch_at(const struct story *s, uint64_t number)
{
	return number && number + STORY_KEPT > s->nstretch ?
		&s->stretch[number % STORY_KEPT] : NULL;
}

static struct story_turn *turn_at(const struct story *s, uint64_t number)
{
	return number && number + STORY_KEPT > s->nturn ? &s->turn[number % STORY_KEPT] : NULL;
}

static bool is_irq(unsigned part)
{
	return part == HWT_PART_IRQ || part == HWT_PART_SOFTIRQ;
}

static bool is_queued(unsigned part)
{
	return part == HWT_PART_READY || part == HWT_PART_PREEMPTED;
}

static struct hwt_interval instant(const struct hwt_event *ev)
{
	return (struct hwt_interval){ ev->time, hwt_event_end(ev) };
}

/* In a recording of some tasks others take turns that are not told. */
static bool all_told(const struct tasks *t, int32_t tid)
{
	const struct task *k;

	if (!(t->scope.bits & HWT_SCOPE_TASKS))
		return true;
	k = tasks_find(t, tid);
	return k && k->recorded;
}

static void next_turn(struct story *s, struct story_cpu *c, const struct hwt_event *ev,
		      const struct hwt_rec_sched_switch *r)
{
	if (c->tid != HWT_NONE) {
		uint64_t number = ++s->nturn;

		s->turn[number % STORY_KEPT] = (struct story_turn){ c->last, c->from, instant(ev),
			c->tid, c->tid == r->prev_tid && all_told(s->t, c->tid) };
		c->last = number;
	}
	c->tid = r->next_tid;
	c->all_told = all_told(s->t, c->tid);
	c->from = instant(ev);
	c->irq = c->softirq = false;
}

/* The three have the same fields. */
static const struct hwt_rec_sched_waking *wake_of(const struct hwt_event *ev)
{
	const struct hwt_rec_sched_waking *w = REC(ev, sched_waking);

	w = w ? w : (const void *)REC(ev, sched_wakeup);
	return w ? w : (const void *)REC(ev, sched_wakeup_new);
}

/* Whose run queue has a task that is ready. */
static void queued(struct story *s, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_wakeup *w = REC(ev, sched_wakeup);
	const struct hwt_rec_sched_migrate *m = REC(ev, sched_migrate);
	struct story_task *k = w ? find_task(s, w->wake_tid) : m ? find_task(s, m->task_tid) : NULL;

	if (!k || !k->known || !is_queued(k->part))
		return;
	if (w)
		k->cpu = (int32_t)w->target_cpu;
	else
		k->moved = true;
}

/* Who has the CPU is not known before the next switch. */
static void lose(struct story_cpu *c)
{
	c->tid = HWT_NONE;
	c->irq = c->softirq = false;
}

int story_event(struct story *s, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_switch *r = REC(ev, sched_switch);
	const struct hwt_rec_softirq_entry *v = REC(ev, softirq_entry);
	const struct hwt_rec_irq_entry *i = REC(ev, irq_entry);
	struct story_cpu *c;

	if (ev->type == HWT_EV_RECORD && ev->u.rec.id == HWT_ID_stream_lost && ev->cpu < 0)
		for (size_t k = 0; k < s->cpus.n; k++)
			lose((struct story_cpu *)s->cpus.v + k);
	if (ev->type != HWT_EV_RECORD || ev->cpu < 0 || ev->cpu >= TASK_CPUS)
		return 0;
	c = cpu_of(s, ev->cpu);
	if (!c)
		return -ENOMEM;
	queued(s, ev);
	if (ev->u.rec.id == HWT_ID_stream_lost) {
		lose(c);
	} else if (r && ev->time != HWT_TIME_UNKNOWN) {
		next_turn(s, c, ev, r);
	} else if (i) {
		c->irq = true;
		memcpy(c->irq_name, i->name, sizeof(c->irq_name));
	} else if (v) {
		c->softirq = true;
		c->vec = v->vec;
	} else if (ev->u.rec.id == HWT_ID_irq_exit) {
		c->irq = false;
		s->irq_ends = true;
	} else if (ev->u.rec.id == HWT_ID_softirq_exit) {
		c->softirq = false;
		s->softirq_ends = true;
	}
	return 0;
}

static const char *softirq_name(uint64_t vec)
{
	const struct hwt_abi_named *v;

	for (unsigned i = 0; (v = hwt_abi_value_at("softirq", i)); i++)
		if (v->value == vec)
			return v->name;
	return "";
}

/*
 * Who woke it: the task that runs, or what interrupts it. sched.waking is told where that happens;
 * sched.wakeup may be told on the CPU that the task comes to, by whoever runs there.
 */
static void woken_by(const struct story *s, const struct hwt_event *ev, struct story_stretch *x)
{
	const struct hwt_rec_sched_waking *w = wake_of(ev);
	const struct story_cpu *c = find_cpu(s, ev->cpu);
	bool told, hard, soft;

	if (!w)
		return;
	told = w->rec.flags & HWT_REC_CTX;
	hard = told ? w->rec.flags & (HWT_REC_HARDIRQ | HWT_REC_NMI) : c && c->irq;
	soft = told ? w->rec.flags & HWT_REC_SOFTIRQ : c && c->softirq;
	x->by = ev->tid;
	x->by_cpu = ev->cpu;
	x->certain = told && (w->rec.id != HWT_ID_sched_wakeup ||
			      (int32_t)w->target_cpu != ev->cpu);
	if (hard) {
		x->how = HWT_WAKER_IRQ;
		if (c && c->irq && s->irq_ends)
			snprintf(x->name, sizeof(x->name), "%.15s", c->irq_name);
	} else if (soft) {
		x->how = HWT_WAKER_SOFTIRQ;
		if (c && c->softirq && s->softirq_ends)
			snprintf(x->name, sizeof(x->name), "%s", softirq_name(c->vec));
	} else if (ev->tid > 0) {
		x->how = HWT_WAKER_TASK;
	}
}

int story_change(struct story *s, const struct hwt_event *ev, const struct task_change *c)
{
	const struct hwt_rec_sched_waking *w = wake_of(ev);
	struct story_task *k = idtab_make(&s->tasks, sizeof(*k), (uint32_t)c->task->tid);
	uint8_t part = c->part;

	if (!k)
		return -ENOMEM;
	/* what interrupts it is counted to what it does */
	if (is_irq(part))
		part = k->known && (k->part == HWT_PART_RUN || k->part == HWT_PART_UNKNOWN) ?
			k->part : HWT_PART_RUN;
	if (k->known && k->part == part)
		return 0;
	if (k->known) {
		uint64_t number = ++s->nstretch;
		struct story_stretch *x = &s->stretch[number % STORY_KEPT];

		*x = (struct story_stretch){ .before = k->last, .from = k->from, .to = c->at,
			.tid = c->task->tid, .cpu = k->cpu, .call = k->call, .by = HWT_NONE,
			.by_cpu = HWT_NONE, .part = k->part };
		if (k->part == HWT_PART_BLOCKED && c->was == HWT_PART_AWAY)
			x->part = HWT_PART_AWAY;
		x->moved = is_queued(k->part) && (k->moved || c->task->cpu != k->cpu);
		if (part == HWT_PART_READY)
			woken_by(s, ev, x);
		k->last = number;
	}
	k->known = true;
	k->part = part;
	k->from = c->at;
	k->call = c->task->call;
	k->cpu = part == HWT_PART_READY && w ? (int32_t)w->target_cpu : c->task->cpu;
	k->moved = false;
	return 0;
}

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* What of [@from, @to] lies in the window; false: nothing. */
static bool clip(struct hwt_interval *from, struct hwt_interval *to,
		 const struct hwt_interval w[2])
{
	from->lo = later(from->lo, w[0].lo);
	from->hi = later(from->hi, w[0].hi);
	to->lo = sooner(to->lo, w[1].lo);
	to->hi = sooner(to->hi, w[1].hi);
	return from->lo < to->hi;
}

static struct hwt_interval between(struct hwt_interval a, struct hwt_interval b)
{
	struct hwt_interval d = { b.lo > a.hi ? b.lo - a.hi : 0, HWT_TIME_UNKNOWN };

	if (b.hi != HWT_TIME_UNKNOWN)
		d.hi = b.hi > a.lo ? b.hi - a.lo : 0;
	return d;
}

static bool longer(struct hwt_interval a, struct hwt_interval b)
{
	return a.lo != b.lo ? a.lo > b.lo : a.hi > b.hi;
}

/* A walk back through what a task did in a window, the latest first. */
struct walk {
	const struct story *s;
	const struct hwt_interval *w;
	uint64_t next;
	bool open, cut;			/* @cut: more is not kept */
	struct story_stretch x;		/* of the last step, clipped */
};

static void walk_begin(struct walk *a, const struct story *s, int32_t tid,
		       const struct hwt_interval w[2])
{
	const struct story_task *k = find_task(s, tid);

	*a = (struct walk){ .s = s, .w = w };
	if (!k || !k->known) {
		a->cut = true;
		return;
	}
	a->open = true;
	a->next = k->last;
	a->x = (struct story_stretch){ .from = k->from, .to = w[1], .tid = tid, .cpu = k->cpu,
		.call = k->call, .by = HWT_NONE, .by_cpu = HWT_NONE, .part = k->part };
}

/* The next stretch that has some of the window. */
static bool walk_next(struct walk *a)
{
	for (;;) {
		if (!a->open) {
			const struct story_stretch *x = stretch_at(a->s, a->next);

			if (!x) {
				/* before the first that is known of it, nothing is */
				a->cut = true;
				return false;
			}
			a->x = *x;
			a->next = x->before;
		} else if (a->x.from.lo >= a->w[1].hi) {
			a->open = false;
			continue;
		}
		a->open = false;
		if (a->x.to.hi <= a->w[0].lo)
			return false;
		if (clip(&a->x.from, &a->x.to, a->w))
			return true;
	}
}

static bool is_wait(unsigned part)
{
	return is_queued(part) || part == HWT_PART_BLOCKED || part == HWT_PART_AWAY;
}

static void name_call(char *to, size_t size, const char *arch, int32_t call)
{
	const char *name = call >= 0 && *arch ? filter_syscall_name(arch, (uint64_t)call) : NULL;

	*to = 0;
	if (name)
		snprintf(to, size, "%s", name);
	else if (call >= 0)
		snprintf(to, size, "nr %d", call);
}

/*
 * What the one that ended the wait @x did meanwhile; @next is its own longest wait in that time,
 * with who ended that. False: there is none, or nobody is known.
 */
static bool follow(const struct story *s, const struct story_stretch *x, const char *arch,
		   struct hwt_wait_link *l, struct story_stretch *next)
{
	const struct hwt_interval w[2] = { x->from, x->to };
	struct hwt_interval best = { 0, 0 };
	struct walk a;

	*l = (struct hwt_wait_link){ .how = x->how, .certain = x->certain, .tid = x->by,
		.cpu = x->by_cpu, .at = x->to, .longest = HWT_PARTS };
	memcpy(l->by, x->name, sizeof(l->by));
	if (x->how != HWT_WAKER_TASK)
		return false;
	l->cut = !all_told(s->t, x->by);
	if (l->cut)
		return false;
	walk_begin(&a, s, x->by, w);
	while (walk_next(&a)) {
		struct hwt_interval d = between(a.x.from, a.x.to);

		hwt_interval_add(&l->part[a.x.part], d);
		if (!is_wait(a.x.part) || !longer(d, best))
			continue;
		best = d;
		*next = a.x;
		l->longest = a.x.part;
		name_call(l->in, sizeof(l->in), arch, a.x.part == HWT_PART_BLOCKED ||
			  a.x.part == HWT_PART_AWAY ? a.x.call : HWT_NONE);
	}
	l->cut = a.cut;
	return l->longest != HWT_PARTS && next->how != HWT_WAKER_UNKNOWN;
}

#define TURNS 64	/* tasks that are told apart */

struct sums {
	struct hwt_wait_turn v[TURNS];
	unsigned n;
	struct hwt_interval others;	/* those without room */
};

static void add_turn(struct sums *u, int32_t tid, struct hwt_interval d)
{
	unsigned i = 0;

	while (i < u->n && u->v[i].tid != tid)
		i++;
	if (i == TURNS) {
		hwt_interval_add(&u->others, d);
		return;
	}
	if (i == u->n)
		u->v[u->n++] = (struct hwt_wait_turn){ .tid = tid };
	hwt_interval_add(&u->v[i].took, d);
}

static void one_turn(struct sums *u, int32_t tid, struct hwt_interval d, bool joined)
{
	/* else it may have left before, and who came then is not told */
	if (!joined) {
		d.lo = 0;
		add_turn(u, HWT_NONE, d);
	}
	add_turn(u, tid, d);
}

static int by_length(const void *a, const void *b)
{
	const struct hwt_wait_turn *x = a, *y = b;

	if (longer(x->took, y->took) || longer(y->took, x->took))
		return longer(x->took, y->took) ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Who had CPU @cpu in the window. */
static void turns(const struct story *s, int32_t cpu, const struct hwt_interval w[2],
		  struct hwt_wait *out)
{
	const struct story_cpu *c = find_cpu(s, cpu);
	struct sums u = { .n = 0 };
	struct hwt_interval from, to, begun;
	bool joined = c && c->tid != HWT_NONE;
	uint64_t number;

	if (!c) {
		out->certain = false;
		return;
	}
	/* who has it now */
	from = begun = c->from;
	to = w[1];
	if (c->tid != HWT_NONE && from.lo < w[1].hi && clip(&from, &to, w)) {
		joined = c->all_told;
		one_turn(&u, c->tid, between(from, to), c->all_told);
	}
	for (number = c->last;;) {
		const struct story_turn *t = turn_at(s, number);

		/* who had it before what is known and kept, and behind a loss, is not told */
		if (!t || t->to.lo != begun.lo || t->to.hi != begun.hi)
			joined = joined && begun.hi <= w[0].lo;
		if (!t || t->to.hi <= w[0].lo)
			break;
		begun = t->from;
		number = t->before;
		from = t->from;
		to = t->to;
		if (!clip(&from, &to, w))
			continue;
		joined = joined && t->joined;
		one_turn(&u, t->tid, between(from, to), t->joined);
	}
	out->others = u.others;
	qsort(u.v, u.n, sizeof(u.v[0]), by_length);
	for (unsigned i = 0; i < u.n; i++) {
		if (out->nturns < HWT_WAIT_TURNS)
			out->turn[out->nturns++] = u.v[i];
		else
			hwt_interval_add(&out->others, u.v[i].took);
	}
	out->certain = out->certain && joined;
}

static void describe(const struct story *s, const struct story_stretch *x, const char *arch,
		     struct hwt_wait *out)
{
	const struct hwt_interval w[2] = { x->from, x->to };
	struct story_stretch now = *x, next = *x;

	*out = (struct hwt_wait){ .part = x->part, .cpu = x->cpu, .from = x->from, .to = x->to,
		.took = between(x->from, x->to), .certain = true };
	if (is_queued(x->part)) {
		out->certain = !x->moved;
		turns(s, x->cpu, w, out);
		return;
	}
	name_call(out->in, sizeof(out->in), arch, x->call);
	if (x->part != HWT_PART_BLOCKED)
		out->certain = false;
	while (now.how != HWT_WAKER_UNKNOWN && out->nlinks < HWT_WAIT_LINKS) {
		if (!follow(s, &now, arch, &out->link[out->nlinks++], &next))
			break;
		/* who made room for it is no one that it waited for */
		if (is_queued(next.part))
			break;
		now = next;
	}
}

unsigned story_waits(const struct story *s, int32_t tid, struct hwt_interval from,
		     struct hwt_interval to, const char *arch, struct hwt_wait *v, unsigned max)
{
	const struct hwt_interval w[2] = { from, to };
	struct story_stretch best[HWT_WAITS];
	unsigned n = 0, i;
	struct walk a;

	max = max > HWT_WAITS ? HWT_WAITS : max;
	walk_begin(&a, s, tid, w);
	while (max && walk_next(&a)) {
		struct hwt_interval d = between(a.x.from, a.x.to);

		if (!is_wait(a.x.part) || !d.hi)
			continue;
		/* the shortest of those that are kept makes room */
		for (i = 0; n == max && i < n; i++)
			if (i == 0 || longer(between(best[0].from, best[0].to),
					     between(best[i].from, best[i].to))) {
				struct story_stretch t = best[0];

				best[0] = best[i];
				best[i] = t;
			}
		if (n < max)
			best[n++] = a.x;
		else if (longer(d, between(best[0].from, best[0].to)))
			best[0] = a.x;
	}
	/* in order of time */
	for (i = 0; i < n; i++)
		for (unsigned k = i + 1; k < n; k++)
			if (best[k].from.lo < best[i].from.lo) {
				struct story_stretch t = best[i];

				best[i] = best[k];
				best[k] = t;
			}
	for (i = 0; i < n; i++)
		describe(s, &best[i], arch, &v[i]);
	return n;
}
