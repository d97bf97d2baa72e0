/* SPDX-License-Identifier: BSD-2-Clause */
#include "fit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "hull.h"

#define DRIFT_MAX 100000000	/* 10 %: what needs more is no clock */

struct fitter {
	struct time_fit_opts o;
	struct time_pair *v;
	size_t n, cap;
	uint64_t given;
};

/* What is worked on: pairs in order, and which of the ways between two of them may hold a step. */
struct work {
	const struct time_pair *p;
	size_t n;
	struct time_pair *mirror;
	struct hull_point *points[2];
	size_t *fore, *back;		/* first pair of each run, counted from the left */
	size_t nruns;
	bool *step;			/* between pair i and i + 1 */
	uint64_t prior_lo, prior_hi;	/* rates */
	uint64_t lo, hi;		/* rates at any instant */
	uint32_t drift_ppb;
};

int fitter_new(struct fitter **out, const struct time_fit_opts *o)
{
	struct fitter *f = calloc(1, sizeof(*f));

	if (!f)
		return -ENOMEM;
	f->o = *o;
	if (!f->o.max)
		f->o.max = TIME_FIT_MAX;
	if (f->o.max < 16)
		f->o.max = 16;
	if (f->o.drift_ppb > DRIFT_MAX)
		f->o.drift_ppb = DRIFT_MAX;
	*out = f;
	return 0;
}

void fitter_free(struct fitter *f)
{
	if (f)
		free(f->v);
	free(f);
}

void fitter_hz(struct fitter *f, uint64_t hz, uint32_t ppm)
{
	f->o.hz = hz;
	f->o.hz_ppm = ppm;
}

/* --- pairs --- */

static int by_tick(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	for (unsigned i = 0; i < sizeof(struct time_pair) / sizeof(*a); i++)
		if (a[i] != b[i])
			return a[i] < b[i] ? -1 : 1;
	return 0;
}

static unsigned kind(const struct time_pair *p)
{
	return (unsigned)pair_has_lo(p) | (unsigned)pair_has_hi(p) << 1;
}

/* Of two pairs in a row that tell the same kind of thing, the one with the narrower bracket. */
static void thin_out(struct fitter *f)
{
	size_t n = 0, held[4] = { SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX };

	qsort(f->v, f->n, sizeof(*f->v), by_tick);
	for (size_t i = 0; i < f->n; i++) {
		size_t *h = &held[kind(&f->v[i])];

		if (*h == SIZE_MAX) {
			f->v[n] = f->v[i];
			*h = n++;
			continue;
		}
		if (f->v[i].a_hi - f->v[i].a_lo < f->v[*h].a_hi - f->v[*h].a_lo)
			f->v[*h] = f->v[i];
		*h = SIZE_MAX;
	}
	f->n = n;
}

int fitter_add(struct fitter *f, const struct time_pair *p)
{
	struct time_pair *v;
	size_t cap;

	if (p->a_lo > p->a_hi || p->b_lo > p->b_hi || p->a_hi > INT64_MAX || p->b_lo > TIME_LATEST)
		return -EINVAL;
	f->given++;
	if (!kind(p))
		return 0;
	if (f->n == f->o.max)
		thin_out(f);
	if (f->n == f->cap) {
		cap = f->cap ? 2 * f->cap : 64;
		v = realloc(f->v, cap * sizeof(*v));
		if (!v)
			return -ENOMEM;
		f->v = v;
		f->cap = cap;
	}
	f->v[f->n] = *p;
	if (p->b_hi > TIME_LATEST)
		f->v[f->n].b_hi = TIME_LATEST;
	f->n++;
	return 0;
}

/* Both ends of the brackets rise: of two where one holds the other, the narrower stays. */
static void nest(struct fitter *f, struct time_fit_report *r)
{
	size_t n = 0;

	qsort(f->v, f->n, sizeof(*f->v), by_tick);
	for (size_t i = 0; i < f->n; i++) {
		struct time_pair p = f->v[i], *q = n ? &f->v[n - 1] : NULL;

		if (q && q->a_lo == p.a_lo && q->a_hi == p.a_hi) {
			uint64_t lo = p.b_lo > q->b_lo ? p.b_lo : q->b_lo;
			uint64_t hi = p.b_hi < q->b_hi ? p.b_hi : q->b_hi;

			/* a bracket may hold two instants */
			if (lo <= hi && p.a_lo == p.a_hi)
				q->b_lo = lo, q->b_hi = hi;
			else if (p.a_lo == p.a_hi)
				r->odd++;
			continue;
		}
		if (q && q->a_lo == p.a_lo)	/* sorted: the later one is wider */
			continue;
		while (n && f->v[n - 1].a_hi >= p.a_hi)
			n--;
		f->v[n++] = p;
	}
	f->n = n;
}

/* --- runs without a step --- */

/* The fewest runs that each allow a rate, from the left; their first pairs. */
static size_t greedy(struct work *w, const struct time_pair *p, size_t *first)
{
	struct rates r = { .p = p, .drift_ppb = w->drift_ppb, .upper.v = w->points[0],
		.lower.v = w->points[1] };
	size_t n = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (i && rates_add(&r, i))
			continue;
		first[n++] = i;
		rates_start(&r, i, w->prior_lo, w->prior_hi);
		rates_add(&r, i);
	}
	return n;
}

/*
 * Between two pairs next to each other is mostly no step, so the rate is one that some of these
 * ways allow.
 */
static void prior(struct work *w)
{
	struct rates r = { .p = w->p, .drift_ppb = w->drift_ppb, .upper.v = w->points[0],
		.lower.v = w->points[1] };
	uint64_t lo = UINT64_MAX, hi = 0;

	for (size_t i = 0; i + 1 < w->n; i++) {
		rates_start(&r, i, 0, UINT64_MAX);
		rates_add(&r, i);
		if (!rates_add(&r, i + 1))
			continue;
		lo = r.lo < lo ? r.lo : lo;
		hi = r.hi > hi ? r.hi : hi;
	}
	w->prior_lo = lo > hi ? 0 : lo;
	w->prior_hi = lo > hi ? UINT64_MAX : hi;
}

/*
 * From the left each run reaches as far as it can, from the right as well: a step is between the
 * two places. The number of runs is the same.
 */
static void find_runs(struct work *w)
{
	size_t n;

	w->nruns = greedy(w, w->p, w->fore);
	memset(w->step, 0, w->n * sizeof(*w->step));
	if (w->nruns == 1)
		return;
	for (size_t i = 0; i < w->n; i++) {
		const struct time_pair *p = &w->p[w->n - 1 - i];

		w->mirror[i] = (struct time_pair){ INT64_MAX - p->a_hi, INT64_MAX - p->a_lo,
			TIME_LATEST - p->b_hi, TIME_LATEST - p->b_lo };
	}
	for (size_t k = 1; k < w->nruns; k++)
		w->step[w->fore[k] - 1] = true;
	n = greedy(w, w->mirror, w->back);
	/* last pairs, from the right, to first pairs, from the left */
	for (size_t k = 0; k + 1 < n && k + 1 < w->nruns; k++) {
		size_t from = w->n - w->back[k + 1], to = w->fore[w->nruns - 1 - k];

		if (from > to)
			from = to;
		for (size_t i = from - 1; i < to; i++)
			w->step[i] = true;
	}
}

/* What all runs without a step in them allow; if they exclude each other, what any of them does. */
static void find_rates(struct work *w)
{
	struct rates r = { .p = w->p, .drift_ppb = w->drift_ppb, .upper.v = w->points[0],
		.lower.v = w->points[1] };
	uint64_t lo = w->prior_lo, hi = w->prior_hi, any_lo = UINT64_MAX, any_hi = 0;

	for (size_t i = 0; i < w->n; i++) {
		if (!i || w->step[i - 1])
			rates_start(&r, i, w->prior_lo, w->prior_hi);
		rates_add(&r, i);
		if (i + 1 < w->n && !w->step[i])
			continue;
		lo = r.lo > lo ? r.lo : lo;
		hi = r.hi < hi ? r.hi : hi;
		any_lo = r.lo < any_lo ? r.lo : any_lo;
		any_hi = r.hi > any_hi ? r.hi : any_hi;
	}
	w->lo = rate_scale_down(lo <= hi ? lo : any_lo, -(int64_t)w->drift_ppb);
	w->hi = rate_scale_up(lo <= hi ? hi : any_hi, w->drift_ppb);
}

/* --- the two lines --- */

struct anchor { uint64_t x; uint64_t y; };

static __int128 ahead(const struct anchor *a, uint64_t x, uint64_t rate, bool upper)
{
	return (__int128)a->y + (upper ? time_run_up(x - a->x, rate) :
				 time_run_down(x - a->x, rate));
}

static __int128 behind(const struct anchor *a, uint64_t x, uint64_t rate, bool upper)
{
	return (__int128)a->y - (upper ? time_run_down(a->x - x, rate) :
				 time_run_up(a->x - x, rate));
}

struct lines {
	const struct work *w;
	bool upper;
	struct anchor *at;	/* known bounds */
	bool *step;		/* between one and the next */
	size_t *pre, *suf;	/* which bounds most what is behind it, before it */
	size_t n;
};

static uint64_t rate_ahead(const struct lines *l)
{
	return l->upper ? l->w->hi : l->w->lo;
}

static uint64_t rate_behind(const struct lines *l)
{
	return l->upper ? l->w->lo : l->w->hi;
}

static void collect(struct lines *l)
{
	const struct work *w = l->w;
	bool step = false;

	l->n = 0;
	for (size_t i = 0; i < w->n; i++) {
		const struct time_pair *p = &w->p[i];

		step = step || (i && w->step[i - 1]);
		if (l->upper ? !pair_has_hi(p) : !pair_has_lo(p))
			continue;
		if (l->n)
			l->step[l->n - 1] = step;
		step = false;
		l->at[l->n++] = l->upper ? (struct anchor){ p->a_lo, p->b_hi } :
					   (struct anchor){ p->a_hi, p->b_lo };
	}
	for (size_t i = 0; i < l->n; i++) {
		__int128 v = i && !l->step[i - 1] ?
			ahead(&l->at[l->pre[i - 1]], l->at[i].x, rate_ahead(l), l->upper) : 0;
		bool own = !i || l->step[i - 1] ||
			(l->upper ? l->at[i].y <= v : l->at[i].y >= v);

		l->pre[i] = own ? i : l->pre[i - 1];
	}
	for (size_t i = l->n; i--;) {
		bool last = i + 1 == l->n || l->step[i];
		__int128 v = last ? 0 :
			behind(&l->at[l->suf[i + 1]], l->at[i].x, rate_behind(l), l->upper);
		bool own = last || (l->upper ? l->at[i].y <= v : l->at[i].y >= v);

		l->suf[i] = own ? i : l->suf[i + 1];
	}
}

struct way {
	const struct lines *l;
	const struct anchor *a, *b;	/* from behind, from ahead */
};

static __int128 from_left(const struct way *y, uint64_t x)
{
	return ahead(y->a, x, rate_ahead(y->l), y->l->upper);
}

static __int128 from_right(const struct way *y, uint64_t x)
{
	return behind(y->b, x, rate_behind(y->l), y->l->upper);
}

static int put(struct time_line *to, const struct way *y, uint64_t x, bool left)
{
	__int128 v = left ? from_left(y, x) : from_right(y, x);
	uint64_t rate = left ? rate_ahead(y->l) : rate_behind(y->l);

	/* below zero is not; a lower line stays there up to the next pair, which only widens */
	if (v < 0)
		return time_line_add(to, x, 0, y->l->upper ? rate : 0);
	return time_line_add(to, x, v > (__int128)TIME_LATEST ? TIME_LATEST : (uint64_t)v, rate);
}

/*
 * From @x to @end the line is the closer of the two that the sides allow, or the farther one if
 * a step may be between. They cross once at most: the steeper one comes from below.
 */
static int between(struct time_line *to, const struct way *y, uint64_t x, uint64_t end, bool step)
{
	bool most = y->l->upper == step;	/* the larger of both */
	bool steep_left = y->l->upper;		/* which one is steeper */
	__int128 left = from_left(y, x), right = from_right(y, x);
	bool below = steep_left ? left < right : right < left;	/* the steeper one */
	uint64_t a = x, b = end;
	int rc;

	/* the larger is the steeper one at the end, the smaller at the start */
	if (!below)
		return put(to, y, x, most ? steep_left : !steep_left);
	rc = put(to, y, x, most ? !steep_left : steep_left);
	while (a < b) {
		uint64_t k = a + (b - a) / 2;

		left = from_left(y, k);
		right = from_right(y, k);
		if (steep_left ? left >= right : right >= left)
			b = k;
		else
			a = k + 1;
	}
	if (!rc && a < end)
		rc = put(to, y, a, most ? steep_left : !steep_left);
	return rc;
}

static int build(const struct work *w, struct time_line *to, bool upper)
{
	struct lines l = { .w = w, .upper = upper, .at = malloc(w->n * sizeof(*l.at)),
		.step = malloc(w->n * sizeof(*l.step)), .pre = malloc(w->n * sizeof(*l.pre)),
		.suf = malloc(w->n * sizeof(*l.suf)) };
	int rc = l.at && l.step && l.pre && l.suf ? 0 : -ENOMEM;

	if (!rc)
		collect(&l);
	for (size_t i = 0; i < l.n && !rc; i++) {
		struct way y = { &l, &l.at[l.pre[i]], NULL };

		if (i + 1 == l.n) {
			rc = put(to, &y, l.at[i].x, true);
			break;
		}
		y.b = &l.at[l.suf[i + 1]];
		rc = between(to, &y, l.at[i].x, l.at[i + 1].x, l.step[i]);
	}
	if (!rc && !l.n)
		rc = time_line_add(to, 0, upper ? TIME_LATEST : 0, 0);
	free(l.at);
	free(l.step);
	free(l.pre);
	free(l.suf);
	return rc;
}

/* --- what to say of it --- */

static int by_size(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return *a < *b ? -1 : *a > *b;
}

static uint64_t over(__int128 v)
{
	return v < 0 ? 0 : v > (__int128)TIME_LATEST ? TIME_LATEST : (uint64_t)v;
}

/* How far the other clock may have gone on its own between two pairs, unseen. */
static uint64_t unseen(const struct work *w, const struct time_pair *p, const struct time_pair *q)
{
	uint64_t least, most, fore, back;

	if (kind(p) != 3 || kind(q) != 3)
		return 0;
	least = q->a_lo > p->a_hi ? time_run_down(q->a_lo - p->a_hi, w->lo) : 0;
	most = time_run_up(q->a_hi - p->a_lo, w->hi);
	fore = over((__int128)q->b_hi - p->b_lo - least);
	back = over((__int128)most - q->b_lo + p->b_hi);
	return fore > back ? fore : back;
}

static void note_step(const struct work *w, size_t from, size_t to, struct time_fit_report *r)
{
	const struct time_pair *p = &w->p[from], *q = &w->p[to];
	struct time_fit_step s = { .a_lo = p->a_lo, .a_hi = q->a_hi, .b_lo = p->b_lo,
		.b_hi = q->b_hi };
	uint64_t least = q->a_lo > p->a_hi ? time_run_down(q->a_lo - p->a_hi, w->lo) : 0;
	__int128 fore, back;

	/* from what the last pair before allows to what the first one behind does */
	fore = (__int128)q->b_lo - p->b_hi - time_run_up(q->a_hi - p->a_lo, w->hi);
	back = (__int128)p->b_lo + least - q->b_hi;
	if (pair_has_lo(q) && pair_has_hi(p) && fore > 0)
		s.least = (int64_t)over(fore);
	else if (pair_has_lo(p) && pair_has_hi(q) && back > 0)
		s.least = -(int64_t)over(back);
	if (r->nsteps < TIME_FIT_STEPS)
		r->steps[r->nsteps] = s;
	r->nsteps++;
}

static int describe(const struct work *w, const struct time_fit *m, struct time_fit_report *r)
{
	uint64_t *width = malloc(w->n * sizeof(*width)), v;
	size_t from = 0;

	if (!width)
		return -ENOMEM;
	for (size_t i = 0; i < w->n; i++) {
		const struct time_pair *p = &w->p[i], *q = &w->p[i + 1 < w->n ? i + 1 : i];
		uint64_t mid = p->a_hi + (q->a_lo > p->a_hi ? (q->a_lo - p->a_hi) / 2 : 0);

		width[i] = time_fit_hi(m, mid) - time_fit_lo(m, mid);
		if (i + 1 == w->n)
			break;
		v = unseen(w, p, q);
		if (!w->step[i] && v > r->blind)
			r->blind = v;
		if (w->step[i] && (!i || !w->step[i - 1]))
			from = i;
		if (w->step[i] && (i + 2 == w->n || !w->step[i + 1]))
			note_step(w, from, i + 1, r);
	}
	qsort(width, w->n, sizeof(*width), by_size);
	r->width_mid = width[w->n / 2];
	r->width_max = width[w->n - 1];
	r->used = w->n;
	r->drift_ppb = w->drift_ppb;
	r->begin = w->p[0].a_lo;
	r->end = w->p[w->n - 1].a_hi;
	free(width);
	return 0;
}

/* --- all of it --- */

static void set_prior(struct work *w, const struct time_fit_opts *o)
{
	uint64_t ppm = o->hz_ppm > DRIFT_MAX / 1000 ? DRIFT_MAX / 1000 : o->hz_ppm;

	prior(w);
	if (!o->hz)
		return;
	w->prior_lo = rate_scale_down(time_rate_down(1000000000, o->hz), -(int64_t)ppm * 1000);
	w->prior_hi = rate_scale_up(time_rate_up(1000000000, o->hz), (int64_t)ppm * 1000);
}

/* More drift than was promised, or another frequency, where steps would be everywhere else. */
static void explain(struct work *w, struct time_fit_opts o, struct time_fit_report *r)
{
	size_t most = w->n / 32 + 3;	/* runs */

	w->drift_ppb = o.drift_ppb;
	for (;;) {
		set_prior(w, &o);
		find_runs(w);
		if (w->nruns <= most)
			return;
		if (o.hz) {
			r->wrong_hz = true;
			o.hz = 0;
			continue;
		}
		if (w->drift_ppb >= DRIFT_MAX)
			return;
		w->drift_ppb = w->drift_ppb < 250 ? 1000 : w->drift_ppb * 4;
		if (w->drift_ppb > DRIFT_MAX)
			w->drift_ppb = DRIFT_MAX;
	}
}

static void work_free(struct work *w)
{
	free(w->mirror);
	free(w->points[0]);
	free(w->points[1]);
	free(w->fore);
	free(w->back);
	free(w->step);
}

static int work_new(struct work *w, const struct fitter *f)
{
	*w = (struct work){ .p = f->v, .n = f->n };
	w->mirror = malloc(f->n * sizeof(*w->mirror));
	w->points[0] = malloc(f->n * sizeof(*w->points[0]));
	w->points[1] = malloc(f->n * sizeof(*w->points[1]));
	w->fore = malloc(f->n * sizeof(*w->fore));
	w->back = malloc(f->n * sizeof(*w->back));
	w->step = malloc(f->n * sizeof(*w->step));
	return w->mirror && w->points[0] && w->points[1] && w->fore && w->back && w->step ? 0 :
		-ENOMEM;
}

int fitter_done(struct fitter *f, struct time_fit *out, struct time_fit_report *r)
{
	struct time_fit m = { .rate_lo = 0 };
	struct work w;
	int rc;

	*r = (struct time_fit_report){ .given = f->given };
	if (!f->n)
		return 0;
	nest(f, r);
	rc = work_new(&w, f);
	if (!rc) {
		explain(&w, f->o, r);
		find_rates(&w);
		/* a rate may be anything above: no clock */
		if (w.hi == UINT64_MAX)
			goto out;
		m.rate_lo = w.lo;
		m.rate_hi = w.hi;
		rc = build(&w, &m.lo, false);
	}
	if (!rc)
		rc = build(&w, &m.hi, true);
	if (!rc) {
		time_fit_close(&m);
		rc = describe(&w, &m, r);
	}
	if (!rc) {
		*out = m;
		rc = 1;
	}
out:
	if (rc < 1)
		time_fit_free(&m);
	work_free(&w);
	return rc;
}
