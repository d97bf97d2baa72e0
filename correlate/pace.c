/* SPDX-License-Identifier: BSD-2-Clause */
#include "pace.h"

#define FRACTION	32	/* bits of a rate */
#define SAMPLE		128u	/* ticks of a sample at least: its rate is within 2 % */
#define SAME		6u	/* samples in a row before a rate is trusted */
#define NEAR		5	/* 1/2^5: as different as rates may be that are the same */

static uint64_t at_rate(uint64_t rate, uint64_t cycles)
{
	unsigned __int128 t = (unsigned __int128)rate * cycles >> FRACTION;

	return t > UINT64_MAX ? UINT64_MAX : (uint64_t)t;
}

static void stop(struct pace *p)
{
	if (!p->broke)
		p->upto = p->from = p->count;
	p->broke = true;
	p->known = p->sample.known = false;
}

/* Counts from here on are good. */
static void restart(struct pace *p)
{
	stop(p);
	p->known = true;
	p->from = ++p->count;
}

static struct pace_mark mark(const struct pace *p, const struct hwt_event *ev)
{
	return (struct pace_mark){
		.known = p->known, .time = ev->time, .ticks = ev->u.value.value,
		.count = p->count + ev->u.value.what,
	};
}

/* The rate of a sample that ends at @m, if it is long enough. */
static void sample(struct pace *p, const struct pace_mark *m)
{
	struct pace_mark *s = &p->sample;
	uint64_t t = m->time - s->time, c = m->count - s->count, rate;

	if (!m->known || !s->known || m->time < s->time || m->count < s->count) {
		*s = *m;
		return;
	}
	if (t < SAMPLE * p->tick)
		return;
	/* one tick and one cycle are not seen */
	rate = (uint64_t)(((unsigned __int128)(t - p->tick) << FRACTION) / (c + 1));
	*s = *m;
	if (!p->rate || rate < p->rate - (p->rate >> NEAR)) {
		p->rate = rate;
		p->same = 0;
		p->trusted = false;
	} else if (rate > p->rate + (p->rate >> NEAR)) {
		p->same = 0;
		return;
	}
	if (rate < p->rate)
		p->rate = rate;
	p->trusted |= ++p->same >= SAME;
}

/* What the counts between @l and @m are good for. */
static void stretch(const struct pace *p, const struct pace_mark *l, const struct pace_mark *m,
		    struct pace_stretch *st)
{
	uint64_t cycles;

	*st = (struct pace_stretch){
		.used = true, .t1 = l->time, .t2 = m->time, .c1 = l->count, .upto = m->count,
		.from = l->count, .c2 = m->count, .rate = p->rate, .tick = p->tick,
	};
	if (p->broke) {
		st->upto = l->known ? p->upto : l->count;
		st->from = m->known ? p->from : m->count;
	}
	cycles = p->broke ? st->upto - st->c1 + (st->c2 - st->from) : st->c2 - st->c1;
	/* the clock was faster than it was thought to be */
	if (cycles && at_rate(st->rate, cycles - 1) > st->t2 - st->t1 + st->tick)
		st->used = false;
}

void pace_end(struct pace *p, const struct hwt_event *ev, struct pace_stretch *st)
{
	const struct pace_mark *l = &p->last;
	struct pace_mark m;
	uint64_t t, ticks;

	*st = (struct pace_stretch){ .used = false };
	if (ev->type != HWT_EV_TIMESTAMP || ev->u.value.trace_id != p->id)
		return;
	m = mark(p, ev);
	if (p->timed && m.ticks > l->ticks && m.time > l->time) {
		t = m.time - l->time;
		ticks = m.ticks - l->ticks;
		t = t / ticks + (t % ticks != 0);
		if (t > p->tick)
			p->tick = t;
	}
	if (p->tick)
		sample(p, &m);
	if (p->trusted && p->timed && (p->broke || (l->known && m.known)))
		stretch(p, l, &m, st);
	p->last = m;
	p->timed = true;
	p->broke = false;
}

void pace_event(struct pace *p, const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_GAP:
		if (!hwt_gap_has_addr((unsigned)ev->u.gap.cause))
			stop(p);
		break;
	case HWT_EV_ON:
		stop(p);
		break;
	case HWT_EV_TIMESTAMP:
	case HWT_EV_CYCLES:
		if (ev->u.value.trace_id != p->id) {	/* two sources of one CPU, or the first */
			*p = (struct pace){ .id = ev->u.value.trace_id };
			break;
		}
		if (ev->type == HWT_EV_TIMESTAMP)
			break;
		if (ev->u.value.what != HWT_CYCLES_BEFORE)
			stop(p);
		else if (!p->known || !ev->u.value.value)
			restart(p);	/* it is not known how many */
		else
			p->count += ev->u.value.value;
		break;
	}
}

void pace_interval(const struct pace_stretch *st, uint64_t before, uint64_t after, uint64_t *lo,
		   uint64_t *hi)
{
	uint64_t past = 0, left = 0;

	if (before > st->upto)
		before = st->upto;
	if (after < st->from)
		after = st->from;
	/* an instant is where the counter stood: a tick and a cycle are not whole */
	if (before > st->c1 + 1)
		past = at_rate(st->rate, before - st->c1 - 1);
	if (after + 1 < st->c2)
		left = at_rate(st->rate, st->c2 - after - 1);
	past = past > st->tick - 1 ? past - (st->tick - 1) : 0;
	left = left > st->tick ? left - st->tick : 0;
	*hi = left < st->t2 - st->t1 ? st->t2 - left : st->t1;
	*lo = past < *hi - st->t1 ? st->t1 + past : *hi;
}
