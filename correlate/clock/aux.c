/* SPDX-License-Identifier: BSD-2-Clause */
#include "aux.h"

#include <errno.h>

#include "../../decoders/flow/stamps.h"
#include "../../hwtrace/source/pairs.h"
#include "../../hwtrace/time/clock.h"

#define READ_MAX (256ull << 20)	/* bytes of trace that are looked through */

struct reader {
	struct pairs ps;
	struct capture *c;
	const struct trace_buf *b;
	size_t mark;		/* the next one */
	bool behind;		/* the last one bounds what comes */
	/* of each unit, as they share the counter: the last timestamp before the mark */
	bool seen;
	uint64_t last;
	struct time_wrap wrap;
	size_t span;
};

static int add(struct reader *r, uint64_t ticks, uint64_t lo, uint64_t hi)
{
	const struct time_pair p = { ticks, ticks, lo, hi };

	return ticks > INT64_MAX || lo > hi ? 0 : pairs_add(&r->ps, r->c, &p, NULL, HWT_NO_OFF);
}

/* Marks before @off, of which the next one bounds the timestamp that came last. */
static int pass_marks(struct reader *r, uint64_t off)
{
	int rc = 0;

	for (; r->mark < r->b->nmarks && r->b->marks[r->mark].pos <= off && !rc; r->mark++) {
		if (r->seen)	/* whole ns: it may be later in the last one */
			rc = add(r, r->last, 0, r->b->marks[r->mark].time + 1);
		r->seen = false;
		r->behind = r->b->marks[r->mark].after;
	}
	return rc;
}

static int take(void *arg, const struct stamp *s)
{
	struct reader *r = arg;
	int rc = pass_marks(r, s->off);
	uint64_t t = time_unwrap(&r->wrap, s->ticks);

	if (!rc && r->behind && r->mark)
		rc = add(r, t, r->b->marks[r->mark - 1].time, TIME_LATEST);
	r->behind = false;
	/* units are not in order of time in a buffer: the latest counts */
	if (!r->seen || t > r->last)
		r->last = t;
	r->seen = true;
	return rc;
}

static int read_buf(struct reader *r, const struct trace_buf *b)
{
	int rc;

	r->b = b;
	r->mark = 0;
	r->behind = r->seen = false;
	r->wrap.bits = (uint8_t)stamps_bits(&b->cfgs[0]);
	/* the generator of CoreSight timestamps may have a crystal of its own */
	r->ps.drift_ppb = time_clock_drift(r->c->base);
	if (b->cfgs[0].proto != HWT_PROTO_PT && r->ps.drift_ppb < time_clock_drift(HWT_CLOCK_CS))
		r->ps.drift_ppb = time_clock_drift(HWT_CLOCK_CS);
	rc = stamps_read(b, 0, b->nspans, take, r);
	return rc ? rc : pass_marks(r, UINT64_MAX);
}

int clock_aux(struct capture *c)
{
	struct reader r = { .c = c };
	struct time_map none = { .mult = 0 };
	uint64_t bytes = 0;
	int rc = 0;

	if (time_map_valid(&c->tsc) || c->fit.lo.n)
		return 0;
	for (size_t i = 0; i < c->nbufs && !rc; i++) {
		const struct trace_buf *b = &c->bufs[i];

		for (size_t k = 0; k < b->nspans; k++)
			bytes += b->spans[k].size;
		if (!b->ncfgs || !b->nmarks)
			continue;
		if (bytes > READ_MAX)
			break;
		rc = read_buf(&r, b);
	}
	if (!rc && r.ps.f)
		rc = pairs_use(&r.ps, c, 0, 0, 0);
	else
		fitter_free(r.ps.f);
	/* only trace is on that counter */
	c->tsc = none;
	return rc ? rc : c->fit.lo.n != 0;
}
