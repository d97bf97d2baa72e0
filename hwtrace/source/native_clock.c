/* SPDX-License-Identifier: BSD-2-Clause */
/* clock.sync and clock.freq records: what the counter and other clocks showed at one instant. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../time/clock.h"
#include "native.h"

#define NCLOCKS 8	/* clock_id values */
#define RAW_DRIFT_PPB 1	/* of CLOCK_MONOTONIC_RAW against the counter that it is made of */

void native_rate(struct native *n, const uint8_t *r)
{
	uint32_t id = native_u32(r, clock_rate, clock);
	uint64_t interval = native_u64(r, clock_rate, interval);

	if (id < NCLOCKS && interval > n->rates[id].interval)
		n->rates[id] = (struct native_rate){ interval, native_u64(r, clock_rate, rate),
			native_u64(r, clock_rate, error), (int64_t)native_u64(r, clock_rate, drift),
			native_u32(r, clock_rate, width) };
}

void native_rates(struct native *n)
{
	for (unsigned id = 0; id < NCLOCKS; id++) {
		const struct native_rate *r = &n->rates[id];
		const struct hwt_abi_named *v = NULL;
		char key[64];

		for (unsigned i = 0; (v = hwt_abi_value_at("clock_id", i)) && v->value != id; i++)
			;
		if (!r->interval || !v)
			continue;
		snprintf(key, sizeof(key), "rate by %s", v->name);
		capture_fact(n->c, key, "%" PRIu64 ".%03u Hz, drift %" PRId64 " ppb (known to %"
			     PRIu64 "), read within %u ticks", r->rate / 1000,
			     (unsigned)(r->rate % 1000), r->drift, r->error, r->width);
	}
}

/*
 * What the counter showed before and after the other clock was read. False: the record is of
 * another clock than the base, or can not be.
 */
static bool pair_of(const struct native *n, const struct native_rec *r, struct time_pair *p)
{
	uint64_t ticks = native_u64(r->p, clock_sync, counter);
	uint64_t ns = native_u64(r->p, clock_sync, value);

	if (n->c->base == HWT_CLOCK_BASE || ticks > INT64_MAX || ns >= TIME_LATEST ||
	    time_clock_of_id(native_u32(r->p, clock_sync, clock)) != (enum hwt_clock)n->c->base)
		return false;
	/* whole ns: it was anywhere in the last one */
	*p = (struct time_pair){ ticks, ticks + native_u32(r->p, clock_sync, width), ns, ns + 1 };
	return true;
}

int native_pair(struct native *n, struct pairs *ps, const struct native_rec *r, const char *file)
{
	struct time_pair p;

	if (r->e->id == HWT_ID_clock_freq) {
		uint64_t error = native_u64(r->p, clock_freq, error);

		n->hz = native_u64(r->p, clock_freq, hz);
		/* the clocks that are kept are slewed by up to 500 ppm against that */
		n->hz_ppm = 500 + (error > 1000000000 ? 1000000 : (uint32_t)(error / 1000) + 1);
		return 0;
	}
	return pair_of(n, r, &p) ? pairs_add(ps, n->c, &p, file, r->off) : 0;
}

/*
 * One more look at all records: there are few of these, but times of the others wait for them.
 * @dirty: those of dirty/, if it has its own clock.
 */
static int each(struct native *n, bool dirty, int (*use)(struct native *n,
		const struct native_rec *r, const char *file, void *arg), void *arg)
{
	struct native_walk w;
	struct native_rec r;
	int rc = 0;

	for (size_t i = 0; i < n->nstreams && !rc; i++) {
		if ((n->streams[i].dirty && n->dirty_apart) != dirty)
			continue;
		rc = native_walk_init(&w, n, &n->streams[i]);
		w.quiet = true;
		while (!rc && native_next(&w, &r, NULL))
			if (r.e && (r.e->id == HWT_ID_clock_sync || r.e->id == HWT_ID_clock_freq))
				rc = use(n, &r, w.f->path, arg);
		native_walk_free(&w);
	}
	return rc;
}

static int count(struct native *n, const struct native_rec *r, const char *file, void *arg)
{
	uint64_t *seen = arg;
	uint32_t id;

	if (r->e->id != HWT_ID_clock_sync)
		return 0;
	id = native_u32(r->p, clock_sync, clock);
	seen[id < NCLOCKS ? id : 0]++;
	return 0;
}

static int add(struct native *n, const struct native_rec *r, const char *file, void *arg)
{
	return native_pair(n, arg, r, file);
}

int native_fit(struct native *n)
{
	struct capture *c = n->c;
	uint64_t seen[NCLOCKS] = { 0 };
	struct pairs ps = { 0 };
	unsigned best = 0;
	int rc;

	c->one_counter = true;
	if (time_map_valid(&c->tsc))
		return 0;
	rc = each(n, false, count, seen);
	for (unsigned id = 1; id < NCLOCKS; id++) {
		enum hwt_clock k = time_clock_of_id(id);

		if (!seen[id] || k == HWT_CLOCK_BASE)
			continue;
		if (c->base != HWT_CLOCK_BASE ? k == (enum hwt_clock)c->base :
		    seen[id] > seen[best])
			best = id;
	}
	if (rc || !best)
		return rc;
	if (c->base == HWT_CLOCK_BASE)
		capture_base(c, hwt_clock_name(time_clock_of_id(best)));
	rc = each(n, false, add, &ps);
	if (!rc) {
		rc = pairs_use(&ps, c, n->hz, n->hz_ppm, 0);
		n->fit_begin = ps.begin;
		n->fit_end = ps.end;
		return rc;
	}
	fitter_free(ps.f);
	return rc;
}

/* ns from @a to @b, whichever is later. */
static uint64_t apart(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* How far @m leaves the middle of both lines, at most, while the clocks were read. */
static uint64_t farthest(const struct native *n, const struct time_map *m)
{
	const struct time_fit *f = &n->c->fit;
	const struct time_line *lines[] = { &f->lo, &f->hi };
	uint64_t most = 0;

	for (unsigned k = 0; k < 2; k++)
		for (size_t i = 0; i <= lines[k]->n; i++) {
			uint64_t c = i < lines[k]->n ? lines[k]->v[i].from : n->fit_end;
			uint64_t t, lo, hi;

			c = c < n->fit_begin ? n->fit_begin : c > n->fit_end ? n->fit_end : c;
			t = time_map_ns_ordered(m, c);
			lo = apart(t, time_fit_lo(f, c));
			hi = apart(t, time_fit_hi(f, c));
			most = lo > most ? lo : most;
			most = hi > most ? hi : most;
		}
	return most;
}

/* The middle of both lines at tick @c, and @w: how far that may be off. */
static uint64_t middle(const struct time_fit *f, uint64_t c, uint64_t *w)
{
	uint64_t lo = time_fit_lo(f, c), hi = time_fit_hi(f, c);

	*w = (hi - lo + 1) / 2;
	return lo + (hi - lo) / 2;
}

void native_one_clock(struct native *n)
{
	struct capture *c = n->c;
	const struct time_fit *f = &c->fit;
	struct time_map m = { .mult = 0 };
	uint64_t w0, w1, from, ns, ticks = n->fit_end - n->fit_begin, ppb = UINT64_MAX, rate = 0;

	/* trace has times of other counters; so has dirty/ that is tied to the base alone */
	if (!c->tsc.fit || c->nbufs || c->how.steps ||
	    c->how.drift_ppb > time_clock_drift(c->base) || (n->dirty_fit.lo.n && !n->dirty_ticks))
		return;
	from = middle(f, n->fit_begin, &w0);
	ns = middle(f, n->fit_end, &w1);
	ns = ns > from ? ns - from : 0;
	if (ns && ticks && w0 + w1 < ns / 1000) {
		rate = time_rate_down(ns, ticks);
		ppb = (w0 + w1) * 1000000000 / ns + 1;
	}
	if (n->hz && n->hz_ppm * 1000ull < ppb) {
		rate = time_rate_down(1000000000, n->hz);
		ppb = n->hz_ppm * 1000ull;
	}
	time_map_rate(&m, rate);
	if (!m.mult)
		return;
	m.zero = from - (uint64_t)(((unsigned __int128)n->fit_begin * m.mult) >> m.shift);
	c->tsc = m;
	c->how.rate_ppb = (uint32_t)ppb;
	c->how.pairs_off = farthest(n, &m);
}

static int add_dirty(struct native *n, const struct native_rec *r, const char *file, void *arg)
{
	struct time_pair p;
	int rc = r->e->id == HWT_ID_clock_sync && pair_of(n, r, &p) ? fitter_add(arg, &p) : 0;

	return rc == -ENOMEM ? rc : 0;	/* a pair that can not be says nothing */
}

/* What the counter showed when it was so late by the clock of dirty/. */
static int add_ticks(struct native *n, const struct native_rec *r, const char *file, void *arg)
{
	uint64_t ticks = native_u64(r->p, clock_sync, counter);
	uint64_t ns = native_u64(r->p, clock_sync, value);
	struct time_pair p = { ns, ns + 1, ticks, ticks + native_u32(r->p, clock_sync, width) + 1 };
	int rc;

	if (r->e->id != HWT_ID_clock_sync || ticks >= TIME_LATEST || ns >= TIME_LATEST ||
	    time_clock_of_id(native_u32(r->p, clock_sync, clock)) !=
	    (enum hwt_clock)n->dirty_clock)
		return 0;
	rc = fitter_add(arg, &p);
	return rc == -ENOMEM ? rc : 0;
}

/* 1: there is a map. */
static int fit_dirty(struct native *n, bool ticks)
{
	struct time_fit_opts o = { .drift_ppb = RAW_DRIFT_PPB };
	struct time_fit_report r;
	struct fitter *f;
	int rc;

	if (!ticks)
		o = (struct time_fit_opts){ .hz = n->dirty.freq, .hz_ppm = NATIVE_HZ_PPM,
			.drift_ppb = time_clock_drift(n->c->base) };
	rc = fitter_new(&f, &o);
	if (rc)
		return rc;
	rc = each(n, !ticks, ticks ? add_ticks : add_dirty, f);
	if (!rc)
		rc = fitter_done(f, &n->dirty_fit, &r);
	fitter_free(f);
	return rc;
}

int native_fit_dirty(struct native *n)
{
	int rc = 0;

	if (!n->dirty_apart || !n->dirty.clock)
		return 0;
	/* CLOCK_MONOTONIC_RAW is the counter times a number; others are slewed against it */
	if (n->dirty_clock == HWT_CLOCK_MONOTONIC_RAW && time_map_valid(&n->c->tsc)) {
		rc = fit_dirty(n, true);
		n->dirty_ticks = rc == 1;
	}
	if (!rc)
		rc = fit_dirty(n, false);
	return rc < 0 ? rc : 0;
}

uint64_t native_time(const struct native *n, const struct native_stream *s, uint64_t ticks,
		     uint32_t *span)
{
	const struct time_fit *m = &n->dirty_fit;
	uint64_t lo, hi;

	*span = 0;
	if (!s->dirty || !n->dirty_apart)
		return time_map_valid(&n->c->tsc) ? time_map_ns(&n->c->tsc, ticks) :
			HWT_TIME_UNKNOWN;
	*span = HWT_SPAN_UNKNOWN;
	if (!m->lo.n)
		return HWT_TIME_UNKNOWN;
	lo = time_fit_lo(m, ticks);
	hi = time_fit_hi(m, ticks);
	if (n->dirty_ticks) {
		lo = time_map_ns_ordered(&n->c->tsc, lo);
		hi = time_map_ns_ordered(&n->c->tsc, hi);
	}
	if (hi < TIME_LATEST && hi - lo < HWT_SPAN_UNKNOWN)
		*span = (uint32_t)(hi - lo);
	return lo;
}
