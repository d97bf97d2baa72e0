/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Over a hole: the packets in it are good, only the way between them is not known. Those that say
 * something without it are told, in their order.
 */
#include <string.h>

#include "ipt_flow.h"

#define PASS_STEP	4096	/* packets at once */

static enum ipt_told kind_of(unsigned kind)
{
	switch (kind) {
	case IPT_PIP: return IPT_TOLD_CR3;
	case IPT_VMCS: return IPT_TOLD_VMCS;
	case IPT_CBR: return IPT_TOLD_CBR;
	case IPT_PTW: return IPT_TOLD_PTW;
	default: return IPT_TOLD_KINDS;
	}
}

static void say(struct flow_ipt *f, const struct ipt_packet *pkt, uint64_t off)
{
	enum ipt_told kind = kind_of(pkt->kind);

	if (kind == IPT_TOLD_KINDS)
		return;
	/* the library gave the events of its packets one by one, up to where flow was */
	if (f->pass.given[kind]) {
		f->pass.given[kind]--;
		return;
	}
	ipt_time_not_before(&f->t, f->pass.tsc);
	ipt_time_used(&f->t, off + pkt->size);
	ipt_put_foreign(f, off, true);
	ipt_put_packet(f, pkt, off);
}

void ipt_pass_start(struct flow_ipt *f, uint64_t end, bool told)
{
	f->pass = (struct ipt_pass){ .at = told ? f->began : end, .end = end,
		.tsc = HWT_TIME_UNKNOWN };
	memcpy(f->pass.given, f->given, sizeof(f->given));
	f->state = IN_HOLE;
}

/* False if there was no room for all. */
static bool tell_switches(struct flow_ipt *f)
{
	while (emit_room(&f->emit) > IPT_ROOM)
		if (!ipt_overdue(f))
			return true;
	return false;
}

void ipt_step_hole(struct flow_ipt *f)
{
	struct ipt_pass *w = &f->pass;
	struct ipt_packet pkt;

	f->steps++;
	for (int i = 0; i < PASS_STEP && w->at < w->end; i++) {
		int n;

		if (!tell_switches(f))
			return;
		n = ipt_packet_decode(&pkt, &w->ctx, ipt_span(f)->p + w->at, w->end - w->at);
		if (n < 0) {
			w->at = w->end;
			break;
		}
		if (pkt.kind == IPT_TSC) {
			ipt_put_foreign(f, w->at, true);
			ipt_time_take(&f->t, pkt.payload);
			w->tsc = pkt.payload;
			if (!tell_switches(f))
				return;
		}
		say(f, &pkt, w->at);
		w->at += (unsigned)n;
	}
	if (w->at < w->end)
		return;
	ipt_put_foreign(f, w->end, true);
	if (f->copy && (f->item.size || emit_room(&f->emit) <= IPT_ROOM))
		return;
	if (w->end < f->seg.end)
		ipt_sync_at(f, w->end);
	else
		f->state = AT_TAIL;
}
