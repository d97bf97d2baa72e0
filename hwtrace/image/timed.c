/* SPDX-License-Identifier: BSD-2-Clause */
#include "timed.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ITEMS_MAX (1u << 26)	/* keeps every count of the index below 2^32 */

static void unbuild(struct timed *t)
{
	free(t->order);
	free(t->edges);
	free(t->start);
	free(t->lists);
	t->order = NULL;
	t->edges = NULL;
	t->start = NULL;
	t->lists = NULL;
	t->nedges = t->base = 0;
	t->built = false;
}

int timed_add(struct timed *t, const struct timed_item *it)
{
	if (t->n == t->cap) {
		uint32_t cap = t->cap ? t->cap * 2 : 8;
		struct timed_item *v;

		if (cap > ITEMS_MAX)
			return -ENOMEM;
		v = realloc(t->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		t->v = v;
		t->cap = cap;
	}
	t->v[t->n++] = *it;
	if (t->built)
		unbuild(t);
	return 0;
}

void timed_free(struct timed *t)
{
	unbuild(t);
	free(t->v);
	*t = (struct timed){ 0 };
}

static int cmp_order(const void *a, const void *b, void *arg)
{
	const struct timed_item *v = arg;
	const struct timed_item *x = &v[*(const uint32_t *)a], *y = &v[*(const uint32_t *)b];

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->seq < y->seq ? -1 : x->seq > y->seq;
}

static int cmp_u64(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Number of edges <= @addr. */
static uint32_t edges_upto(const struct timed *t, uint64_t addr)
{
	uint32_t lo = 0, hi = t->nedges;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->edges[mid] <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static int build_edges(struct timed *t)
{
	uint32_t n = 0, k = 0;

	t->order = malloc((size_t)t->n * sizeof(*t->order));
	t->edges = malloc((size_t)t->n * 2 * sizeof(*t->edges));
	if (!t->order || !t->edges)
		return -ENOMEM;
	for (uint32_t i = 0; i < t->n; i++) {
		t->order[i] = i;
		t->edges[n++] = t->v[i].addr;
		if (t->v[i].last != UINT64_MAX)
			t->edges[n++] = t->v[i].last + 1;
	}
	qsort_r(t->order, t->n, sizeof(*t->order), cmp_order, t->v);
	qsort(t->edges, n, sizeof(*t->edges), cmp_u64);
	for (uint32_t i = 0; i < n; i++)
		if (!k || t->edges[k - 1] != t->edges[i])
			t->edges[k++] = t->edges[i];
	t->nedges = k;
	return 0;
}

/*
 * Walks the tree nodes whose union is @it, each counted in or appended to. The iterative bottom-up
 * form: @l and @r are half open.
 */
static void cover(struct timed *t, const struct timed_item *it, uint32_t pos, bool fill)
{
	uint32_t l = edges_upto(t, it->addr) - 1 + t->base;
	uint32_t r = edges_upto(t, it->last) + t->base;

	for (; l < r; l >>= 1, r >>= 1) {
		uint32_t node[2], k = 0;

		if (l & 1)
			node[k++] = l++;
		if (r & 1)
			node[k++] = --r;
		for (uint32_t i = 0; i < k; i++) {
			if (fill)
				t->lists[t->start[node[i]]++] = pos;
			else
				t->start[node[i] + 1]++;
		}
	}
}

int timed_build(struct timed *t)
{
	size_t nodes;

	if (t->built || !t->n)
		return 0;
	unbuild(t);
	if (build_edges(t) < 0)
		goto nomem;
	for (t->base = 1; t->base < t->nedges; t->base *= 2)
		;
	nodes = (size_t)t->base * 2;
	t->start = calloc(nodes + 1, sizeof(*t->start));
	if (!t->start)
		goto nomem;
	for (uint32_t i = 0; i < t->n; i++)
		cover(t, &t->v[i], 0, false);
	for (size_t i = 1; i <= nodes; i++) {
		/* one item covers at most 2 * 27 nodes, so 2^26 items may pass 2^32 */
		if (__builtin_add_overflow(t->start[i], t->start[i - 1], &t->start[i]))
			goto nomem;
	}
	t->lists = malloc(((size_t)t->start[nodes] + 1) * sizeof(*t->lists));
	if (!t->lists)
		goto nomem;
	for (uint32_t i = 0; i < t->n; i++)
		cover(t, &t->v[t->order[i]], i, true);
	/* filling moved each start to its end, which is the start of the next */
	memmove(t->start + 1, t->start, nodes * sizeof(*t->start));
	t->start[0] = 0;
	t->built = true;
	return 0;
nomem:
	unbuild(t);
	return -ENOMEM;
}

/* Number of items, in order, that are not after (@time, @seq). */
static uint32_t order_upto(const struct timed *t, uint64_t time, uint32_t seq)
{
	uint32_t lo = 0, hi = t->n;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;
		const struct timed_item *it = &t->v[t->order[mid]];

		if (it->time < time || (it->time == time && it->seq <= seq))
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

uint64_t timed_next(const struct timed *t, uint64_t time)
{
	uint32_t k = t->built ? order_upto(t, time, UINT32_MAX) : t->n;

	return k < t->n ? t->v[t->order[k]].time : UINT64_MAX;
}

/* Takes node @k into account: items at positions below @limit are there, others come later. */
static void look(const struct timed *t, uint32_t k, uint32_t limit, uint32_t space, uint8_t skip,
		 uint32_t *best, uint32_t *next)
{
	uint32_t lo = t->start[k], hi = t->start[k + 1], first = lo;

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (t->lists[mid] < limit)
			lo = mid + 1;
		else
			hi = mid;
	}
	if (lo < t->start[k + 1] && t->lists[lo] < *next)
		*next = t->lists[lo];
	/* @best is a position plus one */
	for (; lo > first && t->lists[lo - 1] >= *best; lo--) {
		const struct timed_item *it = &t->v[t->order[t->lists[lo - 1]]];

		if ((!space || !it->space || (space & it->space)) && (!skip || it->tag != skip)) {
			*best = t->lists[lo - 1] + 1;
			break;
		}
	}
}

void timed_find(const struct timed *t, uint64_t addr, uint64_t time, uint32_t seq, uint32_t space,
		uint8_t skip, struct timed_hit *out)
{
	uint32_t e, limit, best = 0, next = UINT32_MAX;

	*out = (struct timed_hit){ NULL, 0, UINT64_MAX, 0, UINT64_MAX };
	if (!t->built)
		return;
	e = edges_upto(t, addr);
	if (e < t->nedges)
		out->hi = t->edges[e] - 1;
	if (!e)
		return;
	out->lo = t->edges[e - 1];
	limit = order_upto(t, time, seq);
	for (uint32_t k = e - 1 + t->base; k; k >>= 1)
		look(t, k, limit, space, skip, &best, &next);
	if (best) {
		out->item = &t->v[t->order[best - 1]];
		out->t0 = out->item->time;
	}
	if (next != UINT32_MAX) {
		uint64_t when = t->v[t->order[next]].time;

		/* items at @time itself that are left out by @seq end the validity at once */
		out->t1 = when > time ? when - 1 : time;
	}
}
