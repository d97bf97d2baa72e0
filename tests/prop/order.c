/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A scheduler of several CPUs, simulated; then one CPU's clock is made wrong. The checker must name
 * it, prove no more than is true, and say nothing where all clocks are right.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/uapi.h>

#include "correlate/order.h"

#define CPUS	8
#define TASKS	40
#define EVENTS	40000
#define WIDTH	100	/* ns: times are that wide */

struct event {
	uint64_t time;		/* the truth */
	uint64_t stamp;
	unsigned seq, cpu;
	union {
		struct hwt_rec rec;
		struct hwt_rec_sched_switch sw;
		struct hwt_rec_sched_wakeup wake;
		struct hwt_rec_sched_fork fork;
		struct hwt_rec_sched_migrate migrate;
		struct hwt_rec_sched_free free;
	} u;
};

struct task { int cpu; bool asleep, runs, there; uint64_t ready; };

struct world {
	uint64_t x, next[CPUS];
	unsigned ncpus, slow;	/* all is so many times as slow */
	int cur[CPUS];		/* 0: idle */
	struct task t[TASKS];	/* by tid; 0 is none */
	struct event *e;
	size_t n;
};

static uint64_t rnd(struct world *w)
{
	w->x ^= w->x << 13;
	w->x ^= w->x >> 7;
	w->x ^= w->x << 17;
	return w->x;
}

static struct event *emit(struct world *w, unsigned cpu, uint64_t time, unsigned id, size_t size)
{
	struct event *e = &w->e[w->n];

	memset(e, 0, sizeof(*e));
	*e = (struct event){ .time = time, .seq = (unsigned)w->n++, .cpu = cpu };
	e->u.rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1,
		.pid = w->cur[cpu], .tid = w->cur[cpu] };
	return e;
}

#define EMIT(w, cpu, time, name) \
	emit(w, cpu, time, HWT_ID_sched_##name, sizeof(struct hwt_rec_sched_##name))

/* Which task comes next on @c: any that waits there; 0: none. */
static int pick(struct world *w, unsigned c, uint64_t now)
{
	unsigned start = (unsigned)(rnd(w) % TASKS);

	for (unsigned k = 0; k < TASKS; k++) {
		unsigned i = (start + k) % TASKS;
		const struct task *t = &w->t[i];

		if (i && t->there && !t->asleep && !t->runs && t->cpu == (int)c && t->ready < now)
			return (int)i;
	}
	return 0;
}

static void change(struct world *w, unsigned c, uint64_t now, bool sleeps, bool dead)
{
	int prev = w->cur[c], next = pick(w, c, now);
	struct event *e;

	if (!next && !sleeps)
		return;
	if (!prev && !next)
		return;
	e = EMIT(w, c, now, switch);
	e->u.sw.prev_pid = e->u.sw.prev_tid = prev;
	e->u.sw.next_pid = e->u.sw.next_tid = next;
	e->u.sw.prev_state = dead ? HWT_task_state_dead : sleeps ? HWT_task_state_sleep : 0;
	if (prev) {
		w->t[prev].runs = false;
		/* a signal was pending: it is told to sleep but can run on */
		w->t[prev].asleep = sleeps && rnd(w) % 500;
		w->t[prev].ready = now;
		w->t[prev].there = !dead;
	}
	if (next) {
		w->t[next].runs = true;
		w->t[next].cpu = (int)c;
	}
	w->cur[c] = next;
}

static void wake(struct world *w, unsigned c, uint64_t now)
{
	unsigned i = 1 + (unsigned)(rnd(w) % (TASKS - 1)), target;
	struct task *t = &w->t[i];
	uint64_t d = 100 + rnd(w) % 2000;
	struct event *e;

	/* now and then one that runs: it did not get to sleep */
	if (!t->there || (!t->asleep && (!t->runs || rnd(w) % 20)))
		return;
	target = rnd(w) % 10 < 6 && t->cpu < (int)w->ncpus ? (unsigned)t->cpu :
		(unsigned)(rnd(w) % w->ncpus);
	if (!t->asleep)
		target = (unsigned)t->cpu;
	e = EMIT(w, c, now, waking);
	e->u.wake.wake_pid = e->u.wake.wake_tid = (int)i;
	e->u.wake.target_cpu = (unsigned)t->cpu;
	e = EMIT(w, rnd(w) % 2 ? c : target, now + d, wakeup);
	e->u.wake.wake_pid = e->u.wake.wake_tid = (int)i;
	e->u.wake.target_cpu = target;
	if (!t->asleep)
		return;
	t->asleep = false;
	t->cpu = (int)target;
	t->ready = now + d;
	if (!w->cur[target] && w->next[target] > now + d + 30000)
		w->next[target] = now + d + 300 + rnd(w) % 20000;
}

static void forks(struct world *w, unsigned c, uint64_t now)
{
	struct event *e;
	int i = 0;

	for (int k = 1; k < TASKS && !i; k++)
		i = w->t[k].there ? 0 : k;
	if (!i || !w->cur[c])
		return;
	e = EMIT(w, c, now, fork);
	e->u.fork.parent_pid = e->u.fork.parent_tid = w->cur[c];
	e->u.fork.child_pid = e->u.fork.child_tid = i;
	w->t[i] = (struct task){ .cpu = (int)(rnd(w) % w->ncpus), .there = true,
		.ready = now + 500 };
}

/* A CPU takes a task from another one's queue. */
static void pull(struct world *w, unsigned c, uint64_t now)
{
	int i = pick(w, (unsigned)(rnd(w) % w->ncpus), now);
	struct event *e;

	if (!i || w->t[i].cpu == (int)c)
		return;
	e = EMIT(w, c, now, migrate);
	e->u.migrate.task_pid = e->u.migrate.task_tid = i;
	e->u.migrate.from_cpu = (unsigned)w->t[i].cpu;
	e->u.migrate.to_cpu = c;
	w->t[i].cpu = (int)c;
	w->t[i].ready = now + 300;
}

static void simulate(struct world *w, uint64_t seed, unsigned ncpus, unsigned slow)
{
	w->slow = slow;
	w->x = seed * 0x9e3779b97f4a7c15 + 1;
	w->ncpus = ncpus;
	w->n = 0;
	memset(w->t, 0, sizeof(w->t));
	for (unsigned k = 1; k < TASKS / 2; k++)
		w->t[k] = (struct task){ .cpu = (int)(k % ncpus), .asleep = true, .there = true };
	for (unsigned c = 0; c < ncpus; c++) {
		w->cur[c] = 0;
		w->next[c] = 1000000 + rnd(w) % 100000;
	}
	while (w->n < EVENTS - 4) {
		unsigned c = 0, act = (unsigned)(rnd(w) % 100);
		uint64_t now;

		for (unsigned k = 1; k < ncpus; k++)
			if (w->next[k] < w->next[c])
				c = k;
		now = w->next[c];
		if (!w->cur[c] && pick(w, c, now))
			change(w, c, now, true, false);
		else if (act < 35)
			change(w, c, now, true, false);
		else if (act < 45)
			change(w, c, now, false, false);
		else if (act < 47)
			change(w, c, now, true, true);
		else if (act < 52)
			forks(w, c, now);
		else if (act < 60)
			pull(w, c, now);
		else
			wake(w, c, now);
		w->next[c] = now + 200 + rnd(w) % (40000 * w->slow);
	}
}

enum how { CLEAN, SKEW, STEP, DRIFT, SWAPPED, HOWS };

static int64_t error(enum how how, int64_t ns, uint64_t time, uint64_t end)
{
	switch (how) {
	case SKEW: return ns;
	case STEP: return time > end / 2 ? ns : 0;
	case DRIFT: return (int64_t)((double)ns * (double)time / (double)end);
	default: return 0;
	}
}

static int by_time(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? -1 : 1) : (int)x->seq - (int)y->seq;
}

static int by_stamp(const void *a, const void *b)
{
	const struct event *x = a, *y = b;

	return x->stamp != y->stamp ? (x->stamp < y->stamp ? -1 : 1) : (int)x->seq - (int)y->seq;
}

/* Gives all to a checker; @bad is the CPU whose clock is wrong, with @with it is exchanged. */
static struct order *check(struct world *w, enum how how, unsigned bad, unsigned with, int64_t ns)
{
	uint64_t end, last[CPUS] = { 0 };
	struct order *o;

	qsort(w->e, w->n, sizeof(*w->e), by_time);
	end = w->e[w->n - 1].time;
	for (size_t i = 0; i < w->n; i++) {
		struct event *e = &w->e[i];

		e->stamp = 10000000000ull + e->time;
		if (e->cpu == bad)
			e->stamp += (uint64_t)error(how, ns, e->time, end);
		/* the stream of one CPU never goes back */
		e->stamp = e->stamp > last[e->cpu] ? e->stamp : last[e->cpu] + 1;
		last[e->cpu] = e->stamp;
		e->seq = (unsigned)i;
	}
	qsort(w->e, w->n, sizeof(*w->e), by_stamp);
	if (order_new(&o) < 0)
		return NULL;
	for (size_t i = 0; i < w->n; i++) {
		const struct event *e = &w->e[i];
		unsigned cpu = e->cpu;
		struct hwt_event ev;

		if (how == SWAPPED && (cpu == bad || cpu == with))
			cpu = cpu == bad ? with : bad;
		ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = e->stamp,
			.span = WIDTH, .cpu = (int)cpu, .pid = HWT_NONE, .tid = e->u.rec.tid,
			.off = e->seq };
		ev.u.rec.data = &e->u;
		ev.u.rec.size = e->u.rec.size;
		ev.u.rec.id = e->u.rec.id;
		if (order_event(o, &ev) < 0) {
			order_free(o);
			return NULL;
		}
	}
	order_end(o);
	return o;
}

struct row { unsigned runs, named, pair, wrong, above, none; uint64_t least; };

static void judge(struct row *r, const struct order *o, enum how how, unsigned bad, unsigned with,
		  int64_t ns)
{
	const struct hwt_order_finding *f = order_finding(o, 0);
	uint64_t truth = (uint64_t)(ns < 0 ? -ns : ns);
	int cpu = (int)bad;
	char text[400];

	r->runs++;
	if (!f) {
		r->none++;
		return;
	}
	if (how == SWAPPED)
		truth = 0;
	for (size_t i = 0; (f = order_finding(o, i)); i++) {
		bool own = f->cpu == cpu || f->other == cpu;
		bool right = how == CLEAN ? false : how == SWAPPED ?
			f->kind == HWT_ORDER_SWAPPED && own &&
				(f->cpu == (int)with || f->other == (int)with) :
			f->kind == HWT_ORDER_SKEW ? f->cpu == cpu && f->early == (ns < 0) : own;

		if (!i && right && f->kind != HWT_ORDER_PAIR) {
			r->named++;
			r->least += f->least;
		} else if (!i && right) {
			r->pair++;
		}
		if (!right || f->least > truth) {
			hwt_order_text(f, text, sizeof(text));
			fprintf(stderr, "cpu %u by %lld: %s\n", bad, (long long)ns, text);
		}
		r->wrong += !right;
		r->above += f->least > truth;
	}
}

int main(int argc, char **argv)
{
	static const char *const name[] = { "clean", "skew", "step", "drift", "swapped" };
	static const int64_t sizes[] = { 2000, -2000, 10000, -10000, 100000, -100000, 2000000,
		-2000000 };
	unsigned seeds = argc > 1 ? (unsigned)atoi(argv[1]) : 6;
	struct world w = { .e = malloc(EVENTS * sizeof(*w.e)) };
	int failed = 0;

	if (!w.e)
		return 2;
	printf("%-8s %9s %5s %6s %5s %5s %6s %6s %9s\n", "", "ns", "runs", "named", "pair", "none",
	       "wrong", "above", "proven");
	for (unsigned how = 0; how < HOWS; how++)
		for (unsigned k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++) {
			struct row r = { 0 };
			uint64_t ns = (uint64_t)llabs(sizes[k]);

			for (unsigned seed = 1; seed <= seeds; seed++) {
				unsigned n = 3 + seed % (CPUS - 2), bad = seed % n;
				struct order *o;

				simulate(&w, seed + 100 * k, n, ns > 1000000 ? 50 : 1 + k % 4);
				o = check(&w, how, bad, (bad + 1) % n, sizes[k]);
				if (!o)
					return 2;
				judge(&r, o, how, bad, (bad + 1) % n, sizes[k]);
				order_free(o);
			}
			printf("%-8s %9lld %5u %6u %5u %5u %6u %6u %9.0f\n", name[how],
			       how == CLEAN || how == SWAPPED ? 0 : (long long)sizes[k], r.runs,
			       r.named, r.pair, r.none, r.wrong, r.above,
			       r.named ? (double)r.least / r.named : 0);
			failed |= r.wrong || r.above;
			failed |= how == CLEAN ? r.none != r.runs :
				r.named + r.pair != r.runs;
		}
	free(w.e);
	return failed;
}
