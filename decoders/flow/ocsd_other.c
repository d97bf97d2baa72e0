/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_other.h"

#define OTHERS	(CSDEC_IDS + 1)

void csothers_gap(struct csothers *o, uint64_t off, uint64_t bytes, uint64_t lost, unsigned cause,
		  int32_t code, unsigned id)
{
	struct hwt_event ev = {
		.time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN, .type = HWT_EV_GAP,
		.clock = HWT_CLOCK_CS, .cpu = o->buf->cpu, .pid = o->buf->pid, .tid = o->buf->tid,
		.src = o->src, .off = off,
	};

	ev.u.gap.bytes = bytes;
	ev.u.gap.lost = lost;
	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.code = code;
	ev.u.gap.trace_id = (uint8_t)(id < CSDEC_IDS ? id : 0);
	emit_event(o->emit, o->emit->ncpus > 1 && id < CSDEC_IDS ? id : 0, &ev);
}

void csothers_add(struct csothers *o, unsigned id, uint64_t off, uint64_t n)
{
	struct csother *v = &o->v[id < CSDEC_IDS ? id : CSDEC_IDS];

	if (!v->bytes)
		v->off = off;
	v->bytes += n;
	if (v->places < INT32_MAX)
		v->places++;
}

void csothers_known(struct csothers *o)
{
	struct csother *v = &o->v[CSDEC_IDS];

	if (v->bytes)
		csothers_gap(o, v->off, v->bytes, 0, HWT_GAP_NO_SYNC, 0, CSDEC_IDS);
	*v = (struct csother){ 0 };
}

/* The id whose first bytes come first; OTHERS if there is none. */
static unsigned first_other(const struct csothers *o)
{
	unsigned best = OTHERS;

	for (unsigned id = 0; id < OTHERS; id++)
		if (o->v[id].bytes && (best == OTHERS || o->v[id].off < o->v[best].off))
			best = id;
	return best;
}

void csothers_tell(struct csothers *o)
{
	unsigned id;

	while ((id = first_other(o)) < OTHERS) {
		struct csother *v = &o->v[id];
		const struct csdec *d = id < CSDEC_IDS ? o->by_id[id] : NULL;

		if (id == CSDEC_IDS)	/* the frames begin in the middle of somebody's bytes */
			csothers_gap(o, v->off, v->bytes, 0, HWT_GAP_NO_SYNC, 0, id);
		else if (d)
			csothers_gap(o, v->off, v->bytes, 0, HWT_GAP_NO_DECODER, d->refused, id);
		else
			csothers_gap(o, v->off, v->bytes, 0, HWT_GAP_RESERVED,
				     (int32_t)v->places, id);
		*v = (struct csother){ 0 };
	}
}

void csothers_lost(struct csothers *o, const struct trace_span *sp)
{
	const struct trace_buf *b = o->buf;
	unsigned cause = sp ? sp->cause_before : b->cause_after;
	uint64_t lost = sp ? sp->lost_before : b->lost_after, off = sp ? sp->pos : 0;

	if (cause == HWT_GAP_NONE && !lost)
		return;
	if (!sp && b->nspans)
		off = b->spans[b->nspans - 1].pos + b->spans[b->nspans - 1].size;
	csothers_gap(o, off, 0, lost, cause != HWT_GAP_NONE ? cause : HWT_GAP_AUX_LOST, 0,
		     o->first_id);
}
