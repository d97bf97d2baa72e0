/* SPDX-License-Identifier: BSD-2-Clause */
#include "span.h"

#include <errno.h>
#include <stdlib.h>

typedef unsigned __int128 u128;

static uint64_t cap64(u128 v)
{
	return v > UINT64_MAX ? UINT64_MAX : (uint64_t)v;
}

static uint64_t latest(u128 v)
{
	return v > TIME_LATEST ? TIME_LATEST : (uint64_t)v;
}

uint64_t time_rate_down(uint64_t num, uint64_t den)
{
	return cap64(((u128)num << TIME_RATE_BITS) / den);
}

uint64_t time_rate_up(uint64_t num, uint64_t den)
{
	return cap64((((u128)num << TIME_RATE_BITS) + (den - 1)) / den);
}

/* Both factors are below 2^64: the product and the rounding fit in 128 bits. */
uint64_t time_run_down(uint64_t ticks, uint64_t rate)
{
	return cap64(((u128)ticks * rate) >> TIME_RATE_BITS);
}

uint64_t time_run_up(uint64_t ticks, uint64_t rate)
{
	u128 v = (u128)ticks * rate;

	return cap64((v >> TIME_RATE_BITS) + ((v & (((u128)1 << TIME_RATE_BITS) - 1)) != 0));
}

int time_line_add(struct time_line *l, uint64_t from, uint64_t at, uint64_t rate)
{
	if (l->n && l->v[l->n - 1].from == from)
		l->n--;
	if (l->n == l->cap) {
		size_t cap = l->cap ? 2 * l->cap : 16;
		struct time_piece *v = realloc(l->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		l->v = v;
		l->cap = cap;
	}
	l->v[l->n++] = (struct time_piece){ .from = from, .at = latest(at), .rate = rate };
	return 0;
}

/* Index of the piece that @c lies in; the first one also reaches back. */
static size_t piece_at(const struct time_line *l, uint64_t c)
{
	size_t a = 0, b = l->n;

	while (b - a > 1) {
		size_t k = a + (b - a) / 2;

		if (l->v[k].from <= c)
			a = k;
		else
			b = k;
	}
	return a;
}

static uint64_t lo_piece(const struct time_piece *p, uint64_t c)
{
	uint64_t v = latest((u128)p->at + time_run_down(c - p->from, p->rate));

	return v < p->bar ? v : p->bar;
}

static uint64_t hi_piece(const struct time_piece *p, uint64_t c)
{
	uint64_t v = latest((u128)p->at + time_run_up(c - p->from, p->rate));

	return v > p->bar ? v : p->bar;
}

uint64_t time_fit_lo(const struct time_fit *m, uint64_t c)
{
	const struct time_piece *p = &m->lo.v[piece_at(&m->lo, c)];
	uint64_t back, v = p->at < p->bar ? p->at : p->bar;

	if (c >= p->from)
		return lo_piece(p, c);
	back = time_run_up(p->from - c, m->rate_hi);
	return v > back ? v - back : 0;
}

uint64_t time_fit_hi(const struct time_fit *m, uint64_t c)
{
	const struct time_piece *p = &m->hi.v[piece_at(&m->hi, c)];
	uint64_t back;

	if (c >= p->from)
		return hi_piece(p, c);
	back = time_run_down(p->from - c, m->rate_lo);
	return p->at > back ? p->at - back : 0;
}

void time_fit_close(struct time_fit *m)
{
	uint64_t bar = TIME_LATEST;

	for (size_t i = m->lo.n; i--;) {
		m->lo.v[i].bar = bar;
		if (m->lo.v[i].at < bar)
			bar = m->lo.v[i].at;
	}
	bar = 0;
	for (size_t i = 0; i < m->hi.n; i++) {
		m->hi.v[i].bar = bar;
		if (i + 1 < m->hi.n)
			bar = hi_piece(&m->hi.v[i], m->hi.v[i + 1].from);
	}
}

int time_fit_hz(struct time_fit *out, uint64_t hz)
{
	struct time_fit m = { .rate_lo = 0 };
	int rc;

	if (!hz)
		return -EINVAL;
	m.rate_lo = time_rate_down(1000000000, hz);
	m.rate_hi = time_rate_up(1000000000, hz);
	rc = time_line_add(&m.lo, 0, 0, m.rate_lo);
	if (!rc)
		rc = time_line_add(&m.hi, 0, 0, m.rate_hi);
	if (rc) {
		time_fit_free(&m);
		return rc;
	}
	time_fit_close(&m);
	*out = m;
	return 0;
}

void time_fit_free(struct time_fit *m)
{
	free(m->lo.v);
	free(m->hi.v);
	*m = (struct time_fit){ 0 };
}

int time_fit_apply(const struct time_fit *m, struct hwt_interval in, struct hwt_interval *out)
{
	if (!m->lo.n || !m->hi.n)
		return -EINVAL;
	out->lo = time_fit_lo(m, in.lo);
	out->hi = in.hi == HWT_TIME_UNKNOWN ? in.hi : time_fit_hi(m, in.hi);
	return 0;
}

/* The first tick at which the line of @p reaches @ns, which is above its value at @from. */
static u128 piece_tick(const struct time_piece *p, uint64_t ns, bool upper)
{
	/* no speed, or held down to what comes later */
	if (!p->rate || (!upper && p->at >= ns))
		return (u128)1 << 64;
	if (upper)
		return ((u128)(ns - p->at - 1) << TIME_RATE_BITS) / p->rate + 1;
	return (((u128)(ns - p->at) << TIME_RATE_BITS) + (p->rate - 1)) / p->rate;
}

static uint64_t first_tick(const struct time_fit *m, uint64_t ns, bool upper)
{
	uint64_t (*value)(const struct time_fit *, uint64_t) = upper ? time_fit_hi : time_fit_lo;
	const struct time_line *l = upper ? &m->hi : &m->lo;
	uint64_t a = 0, b = l->v[0].from, k;
	size_t i = 0, j = l->n;
	u128 x;

	if (value(m, b) >= ns) {	/* before all pieces: by halving, this is rare */
		while (a < b) {
			k = a + (b - a) / 2;
			if (value(m, k) >= ns)
				b = k;
			else
				a = k + 1;
		}
		return a;
	}
	/* the last piece that begins below */
	while (j - i > 1) {
		size_t h = i + (j - i) / 2;

		if (value(m, l->v[h].from) < ns)
			i = h;
		else
			j = h;
	}
	x = piece_tick(&l->v[i], ns, upper) + l->v[i].from;
	if (i + 1 < l->n)
		return x < l->v[i + 1].from ? (uint64_t)x : l->v[i + 1].from;
	return ns > TIME_LATEST || x > UINT64_MAX ? UINT64_MAX : (uint64_t)x;
}

uint64_t time_fit_lo_tick(const struct time_fit *m, uint64_t ns)
{
	return first_tick(m, ns, false);
}

uint64_t time_fit_hi_tick(const struct time_fit *m, uint64_t ns)
{
	return first_tick(m, ns, true);
}

uint64_t time_fit_late(const struct time_fit *m, uint64_t lo)
{
	uint64_t c;

	if (lo >= TIME_LATEST)
		return HWT_TIME_UNKNOWN;
	c = time_fit_lo_tick(m, lo + 1);
	return time_fit_hi(m, c && c != UINT64_MAX ? c - 1 : c);
}

uint64_t time_fit_early(const struct time_fit *m, uint64_t ns)
{
	return time_fit_lo(m, time_fit_hi_tick(m, ns));
}

void time_fit_between(const struct time_fit *m, struct hwt_interval a, struct hwt_interval b,
		      struct hwt_interval *d)
{
	uint64_t a_lo = time_fit_lo_tick(m, a.lo), b_lo = time_fit_lo_tick(m, b.lo), t;
	uint64_t a_hi = a.hi >= TIME_LATEST ? UINT64_MAX : time_fit_hi_tick(m, a.hi + 1);
	uint64_t b_hi = b.hi >= TIME_LATEST ? UINT64_MAX : time_fit_hi_tick(m, b.hi + 1);
	uint64_t lo = 0, hi = HWT_TIME_UNKNOWN;

	/* the last tick that the upper line can have had there is the one before */
	if (a_hi != UINT64_MAX && b_lo != UINT64_MAX && b_lo >= a_hi)
		lo = time_run_down(b_lo - (a_hi - !!a_hi), m->rate_lo);
	if (b_hi != UINT64_MAX && a_lo != UINT64_MAX) {
		t = b_hi - !!b_hi;
		hi = t > a_lo ? time_run_up(t - a_lo, m->rate_hi) : 0;
	}
	/* readings that contradict each other are told elsewhere */
	if (lo > d->hi || hi < d->lo)
		return;
	d->lo = lo > d->lo ? lo : d->lo;
	d->hi = hi < d->hi ? hi : d->hi;
}

uint64_t time_unwrap(struct time_wrap *w, uint64_t v)
{
	uint64_t mask = w->bits >= 64 ? UINT64_MAX : ((uint64_t)1 << w->bits) - 1;
	uint64_t d = (v - w->last) & mask;

	v &= mask;
	if (!w->seen || w->bits >= 64) {
		w->seen = true;
		return w->last = v;
	}
	if (d <= mask / 2)
		w->last += d;
	else	/* back; not below zero */
		w->last = w->last >= mask + 1 - d ? w->last - (mask + 1 - d) : v;
	return w->last;
}
