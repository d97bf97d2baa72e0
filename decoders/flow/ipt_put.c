/* SPDX-License-Identifier: BSD-2-Clause */
/* What flow says: events at the present time, holes, and the blocks that waited for a proof. */
#include "ipt_flow.h"

struct hwt_event ipt_event(struct flow_ipt *f, unsigned type, uint64_t off)
{
	struct hwt_event ev = { .type = (uint16_t)type, .src = f->src,
		.cpu = f->buf->cpu, .pid = f->owner.pid, .tid = f->owner.tid };

	ipt_time_stamp(&f->t, &ev);
	ev.off = (f->span < f->buf->nspans ? ipt_span(f)->pos : 0) + off;
	return ev;
}

void ipt_release(struct flow_ipt *f, bool proven)
{
	for (unsigned i = 0; i < f->nheld; i++) {
		if (proven)
			ipt_time_reach(&f->t, &f->held[i]);
		else
			ipt_time_reach_next(&f->t, &f->held[i]);
		emit_range(&f->emit, 0, &f->held[i]);
	}
	f->nheld = 0;
}

void ipt_gap(struct flow_ipt *f, unsigned cause, int code, uint64_t off, uint64_t bytes,
	     uint64_t addr)
{
	struct hwt_event ev;

	if (off < f->done) {
		bytes = off + bytes > f->done ? off + bytes - f->done : 0;
		off = f->done;
	}
	f->fs.stats.bytes_decoded += off - f->done;
	f->done = off + bytes;
	ev = ipt_event(f, HWT_EV_GAP, off);
	ipt_time_gap(&f->t, &ev, cause);
	ev.u.gap.bytes = bytes;
	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.code = code;
	if (hwt_gap_has_addr(cause))
		ev.u.gap.addr = addr;
	emit_event(&f->emit, 0, &ev);
}

void ipt_lost(struct flow_ipt *f, unsigned cause, uint64_t bytes, uint64_t off)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_GAP, off);

	ipt_time_gap(&f->t, &ev, HWT_GAP_BREAK);
	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.lost = hwt_gap_has_addr(cause) ? 0 : bytes;
	emit_event(&f->emit, 0, &ev);
}
