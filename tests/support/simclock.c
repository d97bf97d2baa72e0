/* SPDX-License-Identifier: BSD-2-Clause */
#include "simclock.h"

#include <stdlib.h>

uint64_t sim_rnd(struct sim *s)
{
	s->seed ^= s->seed << 13;
	s->seed ^= s->seed >> 7;
	s->seed ^= s->seed << 17;
	return s->seed;
}

uint64_t sim_range(struct sim *s, uint64_t lo, uint64_t hi)
{
	return lo + sim_rnd(s) % (hi - lo + 1);
}

static __int128 at(const struct sim_part *p, uint64_t c)
{
	return p->at + ((__int128)c - p->from) * p->rate;
}

static int by_tick(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

void sim_make(struct sim *s, uint64_t seed, const struct sim_opts *o)
{
	static uint64_t when[SIM_PARTS];
	unsigned n = o->changes + o->steps;
	double rate = 4294967296e9 / (double)o->hz, own;

	s->seed = seed * 0x9e3779b97f4a7c15u | 1;
	for (unsigned i = 0; i < 8; i++)
		sim_rnd(s);
	s->begin = o->begin;
	s->end = o->begin + o->ticks;
	rate *= 1 + ((double)sim_range(s, 0, 2000) - 1000) / 1000 * o->skew_ppm / 1e6;
	for (unsigned i = 0; i < n; i++)
		when[i] = sim_range(s, s->begin + 1, s->end - 1);
	/* the steps are those that were drawn last: sorted on their own, then merged */
	qsort(when, o->changes, sizeof(when[0]), by_tick);
	qsort(when + o->changes, o->steps, sizeof(when[0]), by_tick);
	s->n = 0;
	s->part[s->n++] = (struct sim_part){ s->begin, (__int128)o->start_ns << 32,
		(uint64_t)rate };
	for (unsigned i = 0, k = o->changes; i < o->changes || k < n;) {
		const struct sim_part *was = &s->part[s->n - 1];
		bool step = i == o->changes || (k < n && when[k] < when[i]);
		struct sim_part p = { .from = when[step ? k++ : i++], .rate = was->rate };
		int64_t ns;

		p.at = at(was, p.from);
		if (step) {
			ns = (int64_t)sim_range(s, o->step_min, o->step_max);
			p.at += (__int128)(sim_rnd(s) & 1 ? ns : -ns) * 4294967296;
		} else {
			own = ((double)sim_range(s, 0, 2000) - 1000) / 1000 * o->drift_ppb / 1e9;
			p.rate = (uint64_t)(rate * (1 + own * 0.999999));
		}
		s->part[s->n++] = p;
	}
}

uint64_t sim_clock(const struct sim *s, uint64_t c)
{
	size_t i = s->n - 1;
	__int128 v;

	while (i && s->part[i].from > c)
		i--;
	v = at(&s->part[i], c) >> 32;
	return v < 0 ? 0 : (uint64_t)v;
}

bool sim_step(const struct sim *s, size_t i, uint64_t *tick, int64_t *ns)
{
	for (size_t k = 1; k < s->n; k++) {
		__int128 d = (s->part[k].at - at(&s->part[k - 1], s->part[k].from)) >> 32;

		if (!d || i--)
			continue;
		*tick = s->part[k].from;
		*ns = (int64_t)d;
		return true;
	}
	return false;
}
