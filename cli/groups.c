/* SPDX-License-Identifier: BSD-2-Clause */
/* Pairs by task, and by CPU. */
#include <stdlib.h>

#include "pairs.h"

#define GROUPS	4096	/* tasks, or CPUs; more are one row */
#define SHOWN	10	/* of them */

/* Pairs of one task or CPU. */
struct group {
	int32_t id;		/* HWT_NONE: the rest */
	uint64_t n;
	struct hwt_interval sum, max;
};

struct groups {
	struct group v[GROUPS + 1];
	unsigned n;
};

struct groups *groups_new(void)
{
	return calloc(1, sizeof(struct groups));
}

void groups_add(struct groups *g, int32_t id, struct hwt_interval took)
{
	struct group *x;
	unsigned i = 0;

	while (i < g->n && g->v[i].id != id)
		i++;
	if (i == g->n && i < GROUPS)
		g->v[g->n++].id = id;
	x = &g->v[i];
	if (i == GROUPS)
		x->id = HWT_NONE;
	x->n++;
	hwt_interval_add(&x->sum, took);
	if (took.lo > x->max.lo || (took.lo == x->max.lo && took.hi > x->max.hi))
		x->max = took;
}

static int by_count(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->n != y->n)
		return x->n > y->n ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

/* The largest first; how many there are. */
static unsigned sort_groups(struct groups *g)
{
	if (g->n < GROUPS)
		qsort(g->v, g->n, sizeof(*g->v), by_count);
	return g->n + (g->v[GROUPS].n > 0);
}

void groups_json(struct groups *g, struct run *r, bool tasks)
{
	struct jsonl *j = &r->json;
	unsigned n = sort_groups(g);

	for (unsigned i = 0; i < n; i++) {
		const struct group *x = &g->v[i];

		jsonl_open(j, tasks ? "task" : "cpu");
		if (x->id >= 0)
			jsonl_u64(j, tasks ? "tid" : "cpu", (uint64_t)x->id);
		if (tasks && x->id >= 0)
			jsonl_known(j, "comm", show_comm(&r->show, NULL, x->id));
		jsonl_u64(j, "pairs", x->n);
		jsonl_length(j, "sum", x->sum);
		jsonl_length(j, "max", x->max);
		jsonl_close(j);
	}
}

void pair_task(struct run *r, const struct hwt_event *ev, int32_t tid)
{
	const char *comm = tid < 0 ? "" : show_comm(&r->show, ev, tid);

	if (tid >= 0)
		out_fmt(r->out, "tid %d", tid);
	else
		out_str(r->out, "no task");
	if (*comm) {
		out_ch(r->out, ' ');
		out_safe(r->out, comm);
	}
}

void groups_print(struct groups *g, struct run *r, bool tasks, bool ticks)
{
	struct out *o = r->out;
	unsigned n = sort_groups(g);

	if (n < 2)
		return;
	out_str(o, tasks ? "by task:" : "by CPU:");
	out_nl(o);
	for (unsigned i = 0; i < n && i < SHOWN; i++) {
		const struct group *x = &g->v[i];
		struct hwt_interval mean = { x->sum.lo / x->n, x->sum.hi / x->n };

		if (x->sum.hi == HWT_TIME_UNKNOWN)
			mean.hi = HWT_TIME_UNKNOWN;
		out_fmt(o, "  %8llu  mean ", (unsigned long long)x->n);
		pair_length(o, mean, ticks);
		out_str(o, "  max ");
		pair_length(o, x->max, ticks);
		out_str(o, "  ");
		if (tasks)
			pair_task(r, NULL, x->id);
		else
			out_fmt(o, "cpu %d", x->id);
		out_nl(o);
	}
	if (n > SHOWN) {
		out_fmt(o, "  and %u more", n - SHOWN);
		out_nl(o);
	}
}
