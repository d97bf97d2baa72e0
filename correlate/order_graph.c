/* SPDX-License-Identifier: BSD-2-Clause */
#include "order_graph.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CAME_LEAST	16	/* switches before a CPU is thought to be another one */

void graph_free(struct order_graph *g)
{
	free(g->e);
	free(g->pairs);
	free(g->came);
}

static struct order_edge *edge(const struct order_graph *g, unsigned p, unsigned q)
{
	return &g->e[p * g->room + q];
}

/* The bound that counts, or NULL. */
static const struct order_bound *bound(const struct order_graph *g, unsigned p, unsigned q)
{
	const struct order_edge *e = edge(g, p, q);

	uint32_t aside = 2 + e->n / 64;

	if (aside > GRAPH_ASIDE)
		aside = GRAPH_ASIDE;
	return e->n > aside ? &e->least[aside] : NULL;
}

/* A square of @size bytes an element, with room for more CPUs. */
static void *grown(void *old, size_t size, unsigned n, unsigned room, unsigned wide)
{
	char *v = calloc((size_t)wide * wide, size);

	for (unsigned p = 0; v && p < n; p++)
		memcpy(v + p * wide * size, (char *)old + p * room * size, n * size);
	return v;
}

static int grow(struct order_graph *g)
{
	unsigned wide = g->room ? 2 * g->room : 8;
	struct order_edge *e = grown(g->e, sizeof(*e), g->ncpus, g->room, wide);
	int64_t *pairs = grown(g->pairs, sizeof(*pairs), g->ncpus, g->room, wide);
	uint32_t *came = grown(g->came, sizeof(*came), g->ncpus, g->room, wide);

	if (!e || !pairs || !came) {
		free(e);
		free(pairs);
		free(came);
		return -ENOMEM;
	}
	graph_free(g);
	g->e = e;
	g->pairs = pairs;
	g->came = came;
	g->room = wide;
	return 0;
}

/* Index of @cpu, or -ENOMEM; ORDER_CPUS: there are too many, this one is left out. */
static int cpu_index(struct order_graph *g, int32_t cpu)
{
	for (unsigned k = 0; k < g->ncpus; k++)
		if (g->cpu[k] == cpu)
			return (int)k;
	if (g->ncpus == ORDER_CPUS)
		return ORDER_CPUS;
	if (g->ncpus == g->room && grow(g) < 0)
		return -ENOMEM;
	g->cpu[g->ncpus] = cpu;
	return (int)g->ncpus++;
}

int graph_edge(struct order_graph *g, unsigned rule, const struct hwt_order_mark *a,
	       const struct hwt_order_mark *b)
{
	int p, q;
	struct order_edge *e;
	uint32_t k;
	int64_t w;

	if (a->cpu == b->cpu || a->cpu < 0 || b->cpu < 0 || b->hi == HWT_TIME_UNKNOWN ||
	    b->hi > INT64_MAX || a->lo > INT64_MAX)
		return 0;
	p = cpu_index(g, a->cpu);
	q = p < 0 ? p : cpu_index(g, b->cpu);
	if (q < 0)
		return q;
	if (p == ORDER_CPUS || q == ORDER_CPUS)
		return 0;
	if (g->start == HWT_TIME_UNKNOWN)
		g->start = a->lo;
	g->last = b->lo > a->lo ? b->lo : a->lo;
	w = (int64_t)b->hi - (int64_t)a->lo;
	e = edge(g, (unsigned)p, (unsigned)q);
	g->sum.edges[rule]++;
	g->sum.broken[rule] += w < 0;
	e->broken += w < 0;
	k = e->n < GRAPH_ASIDE + 1 ? e->n : GRAPH_ASIDE + 1;
	e->n++;
	for (; k && e->least[k - 1].w > w; k--)
		if (k <= GRAPH_ASIDE)
			e->least[k] = e->least[k - 1];
	if (k <= GRAPH_ASIDE)
		e->least[k] = (struct order_bound){ .w = w, .a = *a, .b = *b,
			.rule = (uint8_t)rule };
	return 0;
}

int graph_came(struct order_graph *g, int32_t target, int32_t cpu)
{
	int p = cpu_index(g, target), q = p < 0 ? p : cpu_index(g, cpu);

	if (q < 0)
		return q;
	if (p != ORDER_CPUS && q != ORDER_CPUS)
		g->came[(unsigned)p * g->room + (unsigned)q]++;
	return 0;
}

/* Adds to a finding of that kind and CPU, or begins it; the clearest window's example is kept. */
static void found(struct order_graph *g, const struct hwt_order_finding *n)
{
	struct hwt_order_finding *f = NULL;

	for (size_t i = 0; !f && i < g->sum.nfindings; i++)
		if (g->f[i].kind == n->kind && g->f[i].cpu == n->cpu &&
		    g->f[i].other == n->other && g->f[i].early == n->early)
			f = &g->f[i];
	if (!f) {
		if (g->sum.nfindings == ORDER_FINDINGS)
			return;
		f = &g->f[g->sum.nfindings++];
		*f = *n;
		return;
	}
	f->windows++;
	f->edges += n->edges;
	f->to = n->to;
	if (n->least > f->least) {
		f->least = n->least;
		f->rule = n->rule;
		f->a = n->a;
		f->b = n->b;
		f->c = n->c;
		f->d = n->d;
	}
}

static struct hwt_order_finding finding(const struct order_graph *g, enum hwt_order_kind kind,
				    const struct order_bound *b, uint64_t broken)
{
	return (struct hwt_order_finding){
		.kind = (uint8_t)kind, .rule = b->rule, .other = HWT_NONE, .from = g->start,
		.to = g->last, .windows = 1, .edges = broken, .a = b->a, .b = b->b,
	};
}

/*
 * Whether a shift of the clock of @c alone explains all: from @lo to @hi, without 0. @broken:
 * orders that it mends.
 */
static bool alone(const struct order_graph *g, unsigned c, int64_t *lo, int64_t *hi,
		  uint64_t *broken)
{
	*lo = INT64_MIN;
	*hi = INT64_MAX;
	*broken = 0;
	for (unsigned p = 0; p < g->ncpus; p++)
		for (unsigned q = 0; q < g->ncpus; q++) {
			const struct order_bound *e = bound(g, p, q);

			if (!e)
				continue;
			if (p != c && q != c && e->w < 0)
				return false;
			if (p == c && e->w < *hi)
				*hi = e->w;
			if (q == c && -e->w > *lo)
				*lo = -e->w;
			*broken += p == c || q == c ? edge(g, p, q)->broken : 0;
		}
	return *lo <= *hi && (*lo > 0 || *hi < 0);
}

/* The clearest contradiction of @c with another CPU. */
static const struct order_bound *worst(const struct order_graph *g, unsigned c)
{
	const struct order_bound *w = NULL;

	for (unsigned k = 0; k < 2 * g->ncpus; k++) {
		const struct order_bound *e = k < g->ncpus ? bound(g, c, k) :
			bound(g, k - g->ncpus, c);

		if (e && (!w || e->w < w->w))
			w = e;
	}
	return w;
}

/* The CPU whose clock explains the window; false: none does, or two do equally well. */
static bool blame(struct order_graph *g)
{
	int64_t lo, hi, best_lo = 0;
	uint64_t broken, best = 0, second = 0;
	unsigned who = 0;
	struct hwt_order_finding f;

	for (unsigned c = 0; c < g->ncpus; c++) {
		if (!alone(g, c, &lo, &hi, &broken))
			continue;
		if (broken < best) {
			second = broken > second ? broken : second;
			continue;
		}
		second = best;
		best = broken;
		who = c;
	}
	if (!best)
		return false;
	alone(g, who, &best_lo, &hi, &broken);
	f = finding(g, HWT_ORDER_SKEW, worst(g, who), best);
	f.cpu = g->cpu[who];
	f.early = best_lo > 0;
	f.least = best_lo > 0 ? (uint64_t)best_lo : (uint64_t)-hi;
	if (second == best) {
		f.kind = HWT_ORDER_PAIR;
		f.cpu = f.a.cpu;
		f.other = f.b.cpu;
		f.early = false;
	}
	found(g, &f);
	return true;
}

/*
 * Bellman-Ford: bounds of all clocks against that of @from, through others. @d is INT64_MAX where
 * there is none; @via the CPU before. False: a negative circle, @at is on it or behind it.
 */
static bool bounds(const struct order_graph *g, unsigned from, int64_t *d, unsigned *via,
		   unsigned *at)
{
	bool changed = true;

	for (unsigned c = 0; c < g->ncpus; c++) {
		d[c] = c == from ? 0 : INT64_MAX;
		via[c] = c;
	}
	for (unsigned k = 0; changed; k++) {
		changed = false;
		for (unsigned p = 0; p < g->ncpus; p++)
			for (unsigned q = 0; q < g->ncpus; q++) {
				const struct order_bound *e = bound(g, p, q);

				/* x_p <= x_q + w */
				if (!e || d[q] == INT64_MAX || d[q] + e->w >= d[p])
					continue;
				d[p] = d[q] + e->w;
				via[p] = q;
				*at = p;
				changed = true;
			}
		if (k >= g->ncpus && changed)
			return false;
	}
	return true;
}

/* A circle of bounds below 0. Told by its two clearest orders; @least is what is missing to 0. */
static void circle(struct order_graph *g, const unsigned *via, unsigned at)
{
	const struct order_bound *one = NULL, *two = NULL;
	struct hwt_order_finding f;
	uint64_t broken = 0;
	int64_t sum = 0;
	unsigned p;

	for (unsigned k = 0; k < g->ncpus; k++)
		at = via[at];
	p = at;
	if (via[p] == p)
		return;
	do {
		const struct order_bound *e = bound(g, p, via[p]);

		sum += e->w;
		broken += edge(g, p, via[p])->broken;
		if (!one || e->w < one->w) {
			two = one;
			one = e;
		} else if (!two || e->w < two->w) {
			two = e;
		}
		p = via[p];
	} while (p != at);
	f = finding(g, HWT_ORDER_STEP, one, broken);
	f.cpu = one->a.cpu < one->b.cpu ? one->a.cpu : one->b.cpu;
	f.other = one->a.cpu < one->b.cpu ? one->b.cpu : one->a.cpu;
	f.least = (uint64_t)-sum;
	if (two) {
		f.c = two->a;
		f.d = two->b;
	}
	found(g, &f);
}

/* Contradictions that no one CPU explains: each pair for itself. */
static void each_pair(struct order_graph *g)
{
	for (unsigned p = 0; p < g->ncpus; p++)
		for (unsigned q = 0; q < g->ncpus; q++) {
			const struct order_bound *e = bound(g, p, q);
			struct hwt_order_finding f;

			if (!e || e->w >= 0)
				continue;
			f = finding(g, HWT_ORDER_PAIR, e, edge(g, p, q)->broken);
			f.cpu = e->a.cpu;
			f.other = e->b.cpu;
			f.least = (uint64_t)-e->w;
			found(g, &f);
		}
}

/* How far clocks may be apart by order alone; a pair is both directions, also through others. */
static void tighten(struct order_graph *g, unsigned from, const int64_t *d)
{
	for (unsigned c = 0; c < g->ncpus; c++) {
		int64_t *w = &g->pairs[from * g->room + c];

		if (c != from && d[c] != INT64_MAX && (!*w || d[c] + 1 < *w))
			*w = d[c] + 1;		/* 0: not known */
	}
}

void graph_window(struct order_graph *g)
{
	unsigned via[ORDER_CPUS], at = 0;
	int64_t d[ORDER_CPUS];
	bool bad = false, circular = false;

	if (g->start == HWT_TIME_UNKNOWN)
		return;
	for (unsigned p = 0; p < g->ncpus; p++)
		for (unsigned q = 0; q < g->ncpus; q++)
			bad |= bound(g, p, q) && bound(g, p, q)->w < 0;
	for (unsigned c = 0; c < g->ncpus && !circular; c++) {
		circular = !bounds(g, c, d, via, &at);
		if (!bad)
			tighten(g, c, d);
	}
	if (circular)
		circle(g, via, at);
	if (bad && !blame(g) && !circular)
		each_pair(g);
	g->sum.windows++;
	g->start = HWT_TIME_UNKNOWN;
	memset(g->e, 0, (size_t)g->room * g->room * sizeof(*g->e));
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Both directions of a pair: the shifts that order leaves. */
static void sum_pairs(struct order_graph *g)
{
	size_t n = 0, max = (size_t)g->ncpus * g->ncpus;
	uint64_t *v = calloc(max + 1, sizeof(*v));

	g->sum.best = g->sum.median = HWT_TIME_UNKNOWN;
	for (unsigned p = 0; v && p < g->ncpus; p++)
		for (unsigned q = 0; q < p; q++) {
			int64_t a = g->pairs[p * g->room + q], b = g->pairs[q * g->room + p];

			if (a && b)
				v[n++] = (uint64_t)(a - 1) + (uint64_t)(b - 1);
		}
	if (n) {
		qsort(v, n, sizeof(*v), by_value);
		g->sum.best = v[0];
		g->sum.median = v[n / 2];
	}
	free(v);
}

/* A CPU to which nobody comes that was sent there, but all to one other. */
static void find_swapped(struct order_graph *g)
{
	for (unsigned p = 0; p < g->ncpus; p++) {
		uint64_t all = 0, most = 0;
		unsigned to = p;

		for (unsigned q = 0; q < g->ncpus; q++) {
			uint32_t n = g->came[p * g->room + q];

			all += n;
			if (n > most) {
				most = n;
				to = q;
			}
		}
		if (to == p || all < CAME_LEAST || most * 10 < all * 9)
			continue;
		found(g, &(struct hwt_order_finding){
			.kind = HWT_ORDER_SWAPPED, .rule = HWT_ORDER_WAKE_RUN, .cpu = g->cpu[to],
			.other = g->cpu[p], .windows = 1, .edges = most });
	}
}

/*
 * A CPU whose clock is wrong by itself explains what is told of a pair with it, of a step of its
 * clock, and of a CPU that was blamed for orders with it in fewer windows: that finding, or NULL.
 */
static struct hwt_order_finding *known(struct order_graph *g, const struct hwt_order_finding *f)
{
	for (size_t k = 0; k < g->sum.nfindings; k++) {
		struct hwt_order_finding *by = &g->f[k];

		if (by->kind != HWT_ORDER_SKEW || by == f)
			continue;
		if (f->kind == HWT_ORDER_STEP && (by->cpu == f->cpu || by->cpu == f->other))
			return by;
		if (by->cpu != (by->early ? f->b.cpu : f->a.cpu))
			continue;
		if (f->kind == HWT_ORDER_PAIR ||
		    (f->kind == HWT_ORDER_SKEW && f->windows < by->windows))
			return by;
	}
	return NULL;
}

static void merge_pairs(struct order_graph *g)
{
	struct hwt_order_finding keep[ORDER_FINDINGS];
	size_t n = 0;

	for (size_t i = 0; i < g->sum.nfindings; i++) {
		const struct hwt_order_finding *f = &g->f[i];
		struct hwt_order_finding *by = known(g, f);

		if (!by)
			continue;
		by->windows += f->windows;
		by->edges += f->edges;
		by->from = f->from < by->from ? f->from : by->from;
		by->to = f->to > by->to ? f->to : by->to;
	}
	for (size_t i = 0; i < g->sum.nfindings; i++)
		if (!known(g, &g->f[i]))
			keep[n++] = g->f[i];
	memcpy(g->f, keep, n * sizeof(keep[0]));
	g->sum.nfindings = n;
}

static int by_windows(const void *a, const void *b)
{
	const struct hwt_order_finding *x = a, *y = b;

	return x->windows != y->windows ? (x->windows > y->windows ? -1 : 1) :
		x->edges != y->edges ? (x->edges > y->edges ? -1 : 1) : x->cpu - y->cpu;
}

void graph_end(struct order_graph *g)
{
	graph_window(g);
	find_swapped(g);
	sum_pairs(g);
	merge_pairs(g);
	qsort(g->f, g->sum.nfindings, sizeof(g->f[0]), by_windows);
}
