/* SPDX-License-Identifier: BSD-2-Clause */
#include "pairs.h"

#include <errno.h>
#include <inttypes.h>

#include "../time/clock.h"

/* How far the exact map leaves the pair's bounds, ns. */
static uint64_t outside(const struct time_map *m, const struct time_pair *p)
{
	uint64_t lo = time_map_ns_ordered(m, p->a_lo), hi = time_map_ns_ordered(m, p->a_hi);

	if (hi < p->b_lo)
		return p->b_lo - hi;
	return lo > p->b_hi ? lo - p->b_hi : 0;
}

static uint32_t drift_of(const struct pairs *ps, const struct capture *c)
{
	return ps->drift_ppb ? ps->drift_ppb : time_clock_drift(c->base);
}

int pairs_add(struct pairs *ps, struct capture *c, const struct time_pair *p, const char *file,
	      uint64_t off)
{
	const struct time_fit_opts o = { .drift_ppb = drift_of(ps, c) };
	uint64_t d;
	int rc = ps->f ? 0 : fitter_new(&ps->f, &o);

	if (!rc)
		rc = fitter_add(ps->f, p);
	if (rc)
		return rc == -ENOMEM ? rc : 0;	/* a pair that can not be says nothing */
	ps->n++;
	if (!time_map_valid(&c->tsc) || c->tsc.fit)
		return 0;
	d = outside(&c->tsc, p);
	if (d && !ps->off_n++) {
		ps->file = file;
		ps->off = off;
	}
	if (d > ps->off_max)
		ps->off_max = d;
	return 0;
}

static const char *base_name(const struct capture *c)
{
	return c->clock && *c->clock ? c->clock : "the other clock";
}

static void note_steps(struct capture *c, const struct time_fit_report *r)
{
	for (size_t i = 0; i < r->nsteps && i < TIME_FIT_STEPS; i++) {
		const struct time_fit_step *s = &r->steps[i];

		notes_add(&c->notes, HWT_NOTE_WARN, 240, NULL, HWT_NO_OFF,
			  "%s %s by at least %" PRIu64 " ns against the counter, between ticks %"
			  PRIu64 " and %" PRIu64 " (%" PRIu64 " to %" PRIu64 " ns)", base_name(c),
			  s->least < 0 ? "was set back" : s->least ? "went ahead" : "stepped",
			  s->least < 0 ? -(uint64_t)s->least : (uint64_t)s->least, s->a_lo,
			  s->a_hi, s->b_lo, s->b_hi);
	}
	if (r->nsteps > TIME_FIT_STEPS)
		notes_add(&c->notes, HWT_NOTE_WARN, 240, NULL, HWT_NO_OFF,
			  "%" PRIu64 " more steps", r->nsteps - TIME_FIT_STEPS);
}

static void note_odd(struct capture *c, const struct time_fit_report *r, uint64_t hz,
		     uint32_t drift)
{
	if (r->odd)
		notes_add(&c->notes, HWT_NOTE_WARN, 241, NULL, HWT_NO_OFF,
			  "%" PRIu64 " of %" PRIu64 " clock pairs exclude others of the same tick",
			  r->odd, r->given);
	if (r->wrong_hz)
		notes_add(&c->notes, HWT_NOTE_WARN, 241, NULL, HWT_NO_OFF,
			  "a counter of %" PRIu64 " Hz does not fit the clock pairs; the frequency "
			  "is not used", hz);
	if (r->drift_ppb > drift)
		notes_add(&c->notes, HWT_NOTE_WARN, 243, NULL, HWT_NO_OFF,
			  "the counter and %s drift by more than %u ppm; %u ppm is allowed for",
			  base_name(c), drift / 1000, r->drift_ppb / 1000);
}

static void compare(const struct pairs *ps, struct capture *c, uint64_t stated)
{
	c->how.pairs = ps->n;
	c->how.pairs_off = ps->off_max;
	if (ps->off_max > stated)
		notes_add(&c->notes, HWT_NOTE_WARN, 241, ps->file, ps->off,
			  "%" PRIu64 " of %" PRIu64 " clock pairs are not where the capture's "
			  "conversion puts them, by up to %" PRIu64 " ns%s", ps->off_n, ps->n,
			  ps->off_max, stated ? ", which is more than it says" : "");
}

/* One straight line near the map, for those who can not have more. */
static void straight(struct time_map *m, const struct time_fit *fit,
		     const struct time_fit_report *r)
{
	uint64_t ns = time_fit_lo(fit, r->end) - time_fit_lo(fit, r->begin);
	uint64_t ticks = r->end - r->begin, rate = fit->rate_lo / 2 + fit->rate_hi / 2;

	time_map_rate(m, ns && ticks ? time_rate_down(ns, ticks) : rate);
	m->zero = time_fit_lo(fit, r->begin) -
		(uint64_t)(((unsigned __int128)r->begin * m->mult) >> m->shift);
}

int pairs_use(struct pairs *ps, struct capture *c, uint64_t hz, uint32_t ppm, uint64_t stated)
{
	const bool exact = time_map_valid(&c->tsc);
	const uint32_t drift = drift_of(ps, c);
	struct time_fit_report r;
	struct time_fit m;
	int rc = 0;

	if (exact)
		compare(ps, c, stated);
	if (ps->f) {
		fitter_hz(ps->f, hz, ppm);
		rc = fitter_done(ps->f, &m, &r);
	}
	fitter_free(ps->f);
	ps->f = NULL;
	if (rc <= 0)
		return rc;
	note_steps(c, &r);
	c->how.steps = r.nsteps;
	c->how.pairs = r.given;
	if (exact) {
		time_fit_free(&m);
		return 0;
	}
	note_odd(c, &r, hz, drift);
	ps->begin = r.begin;
	ps->end = r.end;
	c->how.drift_ppb = r.drift_ppb;
	c->how.width_mid = r.width_mid;
	c->how.width_max = r.width_max;
	c->fit = m;
	c->tsc = (struct time_map){ .fit = &c->fit };
	straight(&c->tsc, &c->fit, &r);
	return 0;
}
