/* SPDX-License-Identifier: BSD-2-Clause */
#include "sim.h"

/* xorshift (Marsaglia 2003) */
static uint64_t next(struct sim *s)
{
	s->x ^= s->x << 13;
	s->x ^= s->x >> 7;
	s->x ^= s->x << 17;
	return s->x;
}

/* 0 to 2 * @mean. */
static uint64_t about(struct sim *s, uint64_t mean)
{
	return next(s) % (2 * mean + 1);
}

/* True once in @every on average; 0: never. */
static bool once(struct sim *s, unsigned every)
{
	return every && next(s) % every == 0;
}

void sim_start(struct sim *s, const struct sim_cfg *cfg)
{
	*s = (struct sim){ .cfg = *cfg, .x = cfg->seed * 0x9e3779b97f4a7c15 + 1, .now = 1000000 };
	for (unsigned k = 0; k < 8; k++)
		next(s);
	s->offset = cfg->skew ? (int64_t)(next(s) % (2 * cfg->skew + 1)) - (int64_t)cfg->skew : 0;
	s->rate = cfg->drift;
}

/* Long pauses and bursts: a quarter of all gaps is ten times as short, a few are long. */
static void advance(struct sim *s)
{
	uint64_t gap = 1 + about(s, s->cfg.gap), add;

	if (next(s) % 4 == 0)
		gap = 1 + gap / 10;
	else if (next(s) % 50 == 0)
		gap *= 10;
	s->now += gap;
	add = gap * s->cfg.drift + next(s) % 1000000000;
	s->offset += (s->rate < 0 ? -1 : 1) * (int64_t)(add / 1000000000);
	if (s->offset > (int64_t)s->cfg.skew) {
		s->offset = s->cfg.skew;
		s->rate = -(int64_t)s->cfg.drift;
	} else if (s->offset < -(int64_t)s->cfg.skew) {
		s->offset = -(int64_t)s->cfg.skew;
		s->rate = s->cfg.drift;
	}
}

static uint32_t site(struct sim *s)
{
	uint32_t k = (uint32_t)(next(s) % s->cfg.sites);

	return k < s->cfg.sites / 2 ? k : (uint32_t)(next(s) % s->cfg.sites);
}

void sim_next(struct sim *s, struct sim_one *o)
{
	uint64_t from, stamp, there;
	uint32_t at;

	advance(s);
	at = site(s);
	s->hit[at]++;
	if (s->hole)
		s->hole--;
	else if (once(s, s->cfg.hole_every))
		s->hole = about(s, s->cfg.hole_length);
	if (s->burst)
		s->burst--;
	else if (once(s, s->cfg.burst_every))
		s->burst = about(s, s->cfg.burst_length);
	*o = (struct sim_one){ .time = s->now, .seen = !s->hole,
		.kept = !s->burst && next(s) % 1000 >= s->cfg.lose };

	/* the trace's clock, its packets, and what is known of both */
	there = s->now + (uint64_t)s->offset;
	from = there - there % s->cfg.timing;
	o->v = (struct anchor_visit){ .t = { from - s->cfg.skew,
		from + s->cfg.timing - 1 + s->cfg.skew }, .site = at,
		.hidden = s->hidden ? ANCHOR_ANY : 0 };
	s->hidden = o->seen ? false : true;

	/* the stamp is read before the commit, and not before the last commit */
	stamp = s->now - next(s) % (s->cfg.jitter + 1);
	if (stamp < s->tick)
		stamp = s->tick;
	s->tick = s->now;
	o->r = (struct anchor_record){ .t = { stamp, stamp + s->cfg.jitter }, .site = at,
		.hit = s->cfg.hits ? s->hit[at] : ANCHOR_NO_HIT, .lost = s->lost };
	s->lost = !o->kept;
}
