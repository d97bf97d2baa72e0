/* SPDX-License-Identifier: BSD-2-Clause */
/* What a unit's timestamps say of its counter. */
#include <errno.h>
#include <stdlib.h>

#include <hwtrace/session.h>

#include "../../decoders/flow/stamps.h"
#include "../../hwtrace/time/span.h"
#include "../session.h"

struct unit {
	struct time_wrap wrap;
	uint64_t most;		/* so far in this span */
	size_t span;
	struct hwt_stamps s;
};

struct reader { struct unit *v; };

static int take(void *arg, const struct stamp *st)
{
	struct unit *u = &((struct reader *)arg)->v[st->cfg];
	struct hwt_stamps *s = &u->s;
	uint64_t t;

	if (s->count && u->span != st->span)	/* recorded anew: the order of spans is not ours */
		u->wrap.seen = false;
	t = time_unwrap(&u->wrap, st->ticks);
	if (!s->count || u->span != st->span)
		u->most = t;
	u->span = st->span;
	if (!s->count++)
		s->first = st->ticks;
	else
		s->changes += st->ticks != s->last;
	s->last = st->ticks;
	s->zero += !st->ticks;
	if (t >= u->most) {
		u->most = t;
		return 0;
	}
	if (!s->back++)
		s->back_off = st->off;
	if (u->most - t > s->back_by)
		s->back_by = u->most - t;
	return 0;
}

int hwt_session_stamps(struct hwt_session *s, size_t i, struct hwt_stamps *v, size_t max)
{
	const struct capture *c = session_capture(s);
	const struct trace_buf *b;
	struct reader r;
	int rc;

	if (i >= c->nbufs)
		return -EINVAL;
	b = &c->bufs[i];
	r.v = calloc(b->ncfgs ? b->ncfgs : 1, sizeof(*r.v));
	if (!r.v)
		return -ENOMEM;
	for (size_t k = 0; k < b->ncfgs; k++) {
		const struct trace_cfg *g = &b->cfgs[k];

		r.v[k].wrap.bits = (uint8_t)stamps_bits(g);
		r.v[k].s = (struct hwt_stamps){ .name = g->name ? g->name : "", .cpu = g->cpu,
			.trace_id = g->trace_id, .bits = r.v[k].wrap.bits, .back_off = HWT_NO_OFF,
			.clock = g->proto == HWT_PROTO_PT ? HWT_CLOCK_TSC : HWT_CLOCK_CS };
	}
	rc = stamps_read(b, 0, b->nspans, take, &r);
	for (size_t k = 0; !rc && k < b->ncfgs && k < max; k++)
		v[k] = r.v[k].s;
	free(r.v);
	return rc ? rc : (int)(b->ncfgs < max ? b->ncfgs : max);
}
