/* SPDX-License-Identifier: BSD-2-Clause */
/* Where flow can not go on, and where it goes on behind that. */
#include <string.h>

#include "ipt_flow.h"

/* Time of the PSB group at @off, HWT_TIME_UNKNOWN if it has none. */
static uint64_t psb_tsc(const struct flow_ipt *f, uint64_t off)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	for (int i = 0; i < 32 && off < f->seg.end; i++) {
		int n = ipt_packet_decode(&pkt, &ctx, ipt_bytes(f, off), f->seg.end - off);

		if (n < 0 || pkt.kind == IPT_PSBEND)
			break;
		if (pkt.kind == IPT_TSC)
			return pkt.payload;
		off += (unsigned)n;
	}
	return HWT_TIME_UNKNOWN;
}

static void start_at(struct flow_ipt *f, uint64_t off)
{
	ipt_moved(f);
	ipt_rets_start(&f->rets);
	f->at_ret = f->ret_open = false;
	f->block = (struct ipt_block){ 0 };
	f->began = f->least;
	memset(f->given, 0, sizeof(f->given));
	f->status = ipt_lib_sync(f->dec, off);
	f->tracing = f->status >= 0 && !(f->status & IPT_LIB_NO_IP);
	f->steps++;
	ipt_take_time(f);
	if (f->timed)
		ipt_time_start(&f->t, ipt_at(f));
}

void ipt_sync_at(struct flow_ipt *f, uint64_t off)
{
	ipt_lib_close(f->over);
	f->over = NULL;
	f->dec = f->whole;
	f->base = f->seg.begin;
	f->least = f->sync = f->ovf = off;
	f->reached = false;
	if (f->timed && off < f->t.clock.asked)	/* the library had read ahead */
		ipt_time_run(&f->t, ipt_span(f), off, f->seg.end);
	ipt_bridge_period(&f->bridge, off);
	ipt_lib_use(f->dec, f->cur->img);
	start_at(f, off - f->seg.begin);
	f->state = IN_FLOW;
}

/* PSB in the run at or after @off, or its end. Each byte is searched once. */
static uint64_t next_psb(struct flow_ipt *f, uint64_t off)
{
	if (off >= f->seg.end)
		return f->seg.end;
	if (off < f->psb_from || off > f->psb) {
		f->psb_from = off;
		f->psb = off + ipt_sync_forward(ipt_bytes(f, off), f->seg.end - off);
	}
	return f->psb;
}

/* End of the PSB group at @psb, so that code up to the address in it can be walked. */
static uint64_t group_end(const struct flow_ipt *f, uint64_t psb)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	uint64_t off = psb;

	for (int i = 0; i < 32 && off < f->seg.end; i++) {
		int n = ipt_packet_decode(&pkt, &ctx, ipt_bytes(f, off), f->seg.end - off);

		if (n < 0)
			break;
		off += (unsigned)n;
		if (pkt.kind == IPT_PSBEND)
			return off;
	}
	return psb;
}

/* Does the PSB group at @psb tell the mode, as it should? Each that does gives an event. */
static bool tells_mode(const struct flow_ipt *f, uint64_t psb)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	for (int i = 0; i < 32 && psb < f->seg.end; i++) {
		int n = ipt_packet_decode(&pkt, &ctx, ipt_bytes(f, psb), f->seg.end - psb);

		if (n < 0 || pkt.kind == IPT_PSBEND || pkt.kind == IPT_OVF)
			break;
		if (pkt.kind == IPT_MODE_EXEC)
			return true;
		psb += (unsigned)n;
	}
	return false;
}

/*
 * The library gives the mode of a PSB group that flow came to: moves f->sync there. The library's
 * place does not tell which one it is, as it reads ahead, maybe over another group.
 */
void ipt_came_to_psb(struct flow_ipt *f)
{
	uint64_t psb = f->sync;

	if (f->reached || !tells_mode(f, psb))
		do
			psb = next_psb(f, psb + 1);
		while (psb < ipt_at(f) && !tells_mode(f, psb));
	if (psb < ipt_at(f))
		f->sync = psb;
	f->reached = true;
}

/*
 * Tracing is switched on again: PSBs that were sent while it was off tell no mode, and flow is past
 * them. The library has not read over a later one of these, as it waits at the packet that switches
 * tracing off.
 */
void ipt_passed_off(struct flow_ipt *f)
{
	uint64_t psb;

	while ((psb = next_psb(f, f->sync + 1)) < ipt_at(f) && !tells_mode(f, psb)) {
		f->sync = psb;
		f->reached = true;
		ipt_rets_forget(&f->rets);
	}
}

/* What a packet in a hole says that must not be missed. */
static void passed(struct flow_ipt *f, const struct ipt_packet *pkt)
{
	switch (pkt->kind) {
	case IPT_PIP:
		ipt_owner_cr3(&f->owner, pkt->payload);
		ipt_choose_image(f);
		break;
	case IPT_TSC:
		ipt_time_take(&f->t, pkt->payload);
		break;
	case IPT_OVF:
		ipt_owner_lost(&f->owner);
		ipt_choose_image(f);
		break;
	}
}

static bool has_code(struct flow_ipt *f, uint64_t ip)
{
	struct hwt_where w = ipt_where(f);
	uint8_t byte;

	return ip != HWT_NO_ADDR && hwt_image_read(f->image, &w, ip, &byte, 1) > 0;
}

/*
 * Brings the reader of the bridge to the first packet that flow did not use. The library was at
 * @off, but has read ahead; if flow broke at the address @addr that a packet before named, what
 * follows that packet was not used.
 */
static uint64_t unused(struct flow_ipt *f, const uint8_t *p, uint64_t off, uint64_t addr)
{
	struct ipt_bridge *b = &f->bridge, named = { 0 };
	struct ipt_packet pkt;
	uint64_t ip;

	while (b->at < off && ipt_bridge_read(b, p, off, &pkt, &ip))
		if (ip == addr && ip != HWT_NO_ADDR)
			named = *b;
	if (named.at)
		*b = named;
	return b->at;
}

/*
 * The first packet before @psb that names an address with code: true, the reader is behind it and
 * *@kind, *@ip and *@pkt_at tell it.
 */
static bool find_restart(struct flow_ipt *f, const uint8_t *p, uint64_t psb, unsigned *kind,
			 uint64_t *ip, uint64_t *pkt_at, uint64_t *ovf)
{
	struct ipt_packet pkt;

	*ovf = HWT_NO_OFF;
	for (;;) {
		*pkt_at = f->bridge.at;
		if (!ipt_bridge_read(&f->bridge, p, psb, &pkt, ip))
			return false;
		passed(f, &pkt);
		*kind = pkt.kind;
		switch (pkt.kind) {
		case IPT_OVF:
			*ovf = *pkt_at;
			break;
		case IPT_TIP_PGD:
			*ovf = HWT_NO_OFF;
			break;
		case IPT_FUP:	/* it may only say where flow is, as after an OVF */
			if (*ovf != HWT_NO_OFF || !ipt_fup_has_target(p, f->bridge.at, psb))
				*kind = IPT_TIP;
			/* fallthrough */
		case IPT_TIP:
		case IPT_TIP_PGE:
			ipt_no_idle(f, *ip, *pkt_at);
			if (has_code(f, *ip))
				return true;
			*ovf = HWT_NO_OFF;
			break;
		}
	}
}

/* Lets flow go on behind a hole at @off, before the PSB at @psb. */
static bool bridge(struct flow_ipt *f, unsigned cause, int code, uint64_t addr, uint64_t off,
		   uint64_t psb)
{
	const uint8_t *p = ipt_bytes(f, f->seg.begin) - f->seg.begin;
	uint64_t to = group_end(f, psb), ip, pkt_at, ovf;
	uint8_t *start;
	unsigned kind;
	size_t n;

	off = unused(f, p, off, cause == HWT_GAP_NO_RETURN ? HWT_NO_ADDR : addr);
	if (!find_restart(f, p, psb, &kind, &ip, &pkt_at, &ovf))
		return false;
	n = ipt_bridge_make(&f->bridge, p, to, kind, ip, f->t.tsc, &start);
	if (!n)
		return false;
	ipt_lib_close(f->over);
	f->over = ipt_lib_open(f->lib, start, start + n + (to - f->bridge.at));
	if (!f->over)
		return false;
	ipt_gap(f, cause, code, off, pkt_at - off, addr);
	if (ovf != HWT_NO_OFF)
		ipt_lost(f, HWT_GAP_OVERFLOW, 0, ovf);
	ipt_put_foreign(f, pkt_at, true);
	f->dec = f->over;
	f->base = f->bridge.at - n;
	f->least = f->ovf = f->bridge.at;
	f->bridge_end = psb;
	ipt_lib_use(f->dec, f->cur->img);
	start_at(f, 0);
	return true;
}

void ipt_broken_at(struct flow_ipt *f, unsigned cause, int code, uint64_t addr, uint64_t off)
{
	uint64_t next = next_psb(f, f->sync + 1);
	bool told;

	if (f->dec == f->whole)
		ipt_take_time(f);
	/* the library reads ahead: it may be past a PSB that flow did not come to */
	if (next < off) {
		off = next;
	} else {
		if (off <= f->sync)
			off = f->sync;
		if (f->emit.want.resync == HWT_RESYNC_PACKET &&
		    bridge(f, cause, code, addr, off, next))
			return;
	}
	told = f->timed && (cause == HWT_GAP_NO_IMAGE || cause == HWT_GAP_NO_RETURN);
	ipt_owner_lost(&f->owner);
	/* what its packets tell comes behind it, but bounds it not */
	f->t.gap_hi = told ? psb_tsc(f, next) : HWT_TIME_UNKNOWN;
	f->t.gap_told = told;
	ipt_gap(f, cause, code, off, next - off, addr);
	f->t.gap_told = false;
	ipt_choose_image(f);
	if (f->timed)
		ipt_pass_start(f, next, told);
	else if (next < f->seg.end)
		ipt_sync_at(f, next);
	else
		f->state = AT_TAIL;
}

void ipt_broken(struct flow_ipt *f, unsigned cause, int code, uint64_t addr)
{
	ipt_broken_at(f, cause, code, addr, ipt_at(f));
}

void ipt_end_of_input(struct flow_ipt *f)
{
	f->nheld = 0;
	if (f->dec == f->over && f->bridge_end < f->seg.end)
		ipt_sync_at(f, f->bridge_end);
	else
		f->state = AT_TAIL;
}

/* Address that could not be passed: the last instruction, or what follows it. */
static uint64_t stuck_at(struct flow_ipt *f, bool behind)
{
	const struct ipt_block *b = &f->block;
	struct hwt_where w = ipt_code_where(f, b->end_ip);
	const struct ipt_code_insn *in;

	if (!b->insns || !behind)
		return b->insns ? b->end_ip : b->ip;
	in = ipt_code_at(&f->code, f->image, &w, f->cur->gen, b->isa, b->end_ip);
	if (in->target != HWT_NO_ADDR && in->kind != HWT_INSN_BRANCH)
		return in->target;
	return in->size ? b->end_ip + in->size : HWT_NO_ADDR;
}

void ipt_failed(struct flow_ipt *f)
{
	struct ipt_lib_fault e = ipt_lib_fault(f->status);

	if (e.cause == HWT_GAP_NONE) {	/* nothing proves the instructions up to here */
		ipt_end_of_input(f);
		return;
	}
	ipt_release(f, false);
	if (f->differs != HWT_NO_ADDR && hwt_gap_has_addr(e.cause)) {
		/* it is not known which code ran */
		ipt_broken(f, HWT_GAP_BAD_IMAGE, e.code, f->differs);
		return;
	}
	ipt_broken(f, e.cause, e.code,
		   hwt_gap_has_addr(e.cause) ? stuck_at(f, e.behind) : HWT_NO_ADDR);
}
