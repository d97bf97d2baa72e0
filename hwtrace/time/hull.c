/* SPDX-License-Identifier: BSD-2-Clause */
#include "hull.h"

#define BILLION 1000000000

typedef unsigned __int128 u128;

/* Above 0 if @q lies above the line from @a to @b. Coordinates are below 2^63, so this fits. */
static __int128 side(const struct hull_point *a, const struct hull_point *b,
		     const struct hull_point *q)
{
	return (__int128)(b->x - a->x) * ((__int128)q->y - a->y) -
		((__int128)b->y - a->y) * (q->x - a->x);
}

/* A point to the right of all; the hull stays convex from below. */
static void hull_add(struct hull *h, struct hull_point p)
{
	while (h->n > 1 && side(&h->v[h->n - 2], &h->v[h->n - 1], &p) <= 0)
		h->n--;
	h->v[h->n++] = p;
}

/* The point from which the way to @q, right of all, is steepest. */
static const struct hull_point *steepest(const struct hull *h, const struct hull_point *q)
{
	size_t a = 0, b = h->n - 1;

	while (a < b) {
		size_t k = a + (b - a) / 2;

		if (side(&h->v[k], &h->v[k + 1], q) > 0)
			a = k + 1;
		else
			b = k;
	}
	return &h->v[a];
}

static uint64_t cap(u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

uint64_t rate_scale_down(uint64_t rate, int64_t ppb)
{
	return cap((u128)rate * (uint64_t)(BILLION + ppb) / BILLION);
}

uint64_t rate_scale_up(uint64_t rate, int64_t ppb)
{
	return cap(((u128)rate * (uint64_t)(BILLION + ppb) + BILLION - 1) / BILLION);
}

void rates_start(struct rates *r, size_t first, uint64_t lo, uint64_t hi)
{
	r->wait = first;
	r->lo = lo;
	r->hi = hi;
	r->upper.n = r->lower.n = 0;
}

/* The average rate is at most (1 + d) times what the slowest instant had. */
static void at_least(struct rates *r, const struct hull_point *to)
{
	const struct hull_point *from = steepest(&r->upper, to);
	uint64_t v;

	if (to->y <= from->y)
		return;
	v = time_rate_down((uint64_t)(to->y - from->y), (uint64_t)(to->x - from->x));
	v = cap((u128)v * BILLION / (BILLION + r->drift_ppb));
	if (v > r->lo)
		r->lo = v;
}

static void at_most(struct rates *r, const struct hull_point *to)
{
	const struct hull_point *from = steepest(&r->lower, to);
	uint64_t v;

	/* both negated; a clock that goes back has no rate */
	v = from->y < to->y ? 0 : time_rate_up((uint64_t)(from->y - to->y),
					       (uint64_t)(to->x - from->x));
	if (v != UINT64_MAX)
		v = cap(((u128)v * BILLION + BILLION - 1 - r->drift_ppb) /
			(BILLION - r->drift_ppb));
	if (v < r->hi)
		r->hi = v;
}

bool rates_add(struct rates *r, size_t i)
{
	const struct time_pair *p = &r->p[i];
	struct hull_point lo = { (int64_t)p->a_hi, (int64_t)p->b_lo };
	struct hull_point hi = { (int64_t)p->a_lo, (int64_t)p->b_hi };

	for (; r->wait < i && r->p[r->wait].a_hi < p->a_lo; r->wait++) {
		const struct time_pair *q = &r->p[r->wait];

		if (pair_has_lo(q))
			hull_add(&r->lower, (struct hull_point){ (int64_t)q->a_hi,
				 -(int64_t)q->b_lo });
	}
	if (pair_has_lo(p) && r->upper.n)
		at_least(r, &lo);
	if (pair_has_hi(p) && r->lower.n)
		at_most(r, &(struct hull_point){ hi.x, -hi.y });
	if (pair_has_hi(p))
		hull_add(&r->upper, hi);
	return r->lo <= r->hi;
}
