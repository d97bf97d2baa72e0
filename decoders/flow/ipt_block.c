/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of the library: what of them is shown, and when flow can not be believed. */
#include "ipt_flow.h"

#define IPT_WALK	4096	/* blocks of one walk */

static void range(struct flow_ipt *f, struct hwt_event *ev, const struct ipt_block *b)
{
	struct hwt_where w = ipt_where(f);
	const struct ipt_code_insn *in;

	*ev = ipt_event(f, HWT_EV_RANGE, ipt_at(f));
	ev->u.range.first = b->ip;
	ev->u.range.last = b->end_ip;
	ev->u.range.insns = b->insns;
	ev->u.range.isa = b->isa;
	in = ipt_code_at(&f->code, f->image, &w, f->cur->gen, ev->u.range.isa, b->end_ip);
	ev->u.range.kind = in->size ? in->kind : b->kind;
	ev->u.range.last_size = b->cut ? b->cut : in->size;
}

/* True if the last instruction of a whole block can not be passed without a packet. */
static bool needs_packet(unsigned kind)
{
	switch (kind) {
	case HWT_INSN_BRANCH: case HWT_INSN_RETURN: case HWT_INSN_ICALL: case HWT_INSN_IJUMP:
	case HWT_INSN_FAR_CALL: case HWT_INSN_FAR_RETURN: case HWT_INSN_FAR_JUMP:
		return true;
	}
	return false;
}

/*
 * A block that ended without a packet is only shown when a later packet proves that flow got there.
 * @whole: the library found the way on.
 */
static void walked(struct flow_ipt *f, const struct ipt_block *b, bool whole)
{
	struct hwt_event ev;

	f->owner.user |= !(b->ip >> 47);
	if (f->emit.want.level == HWT_LEVEL_HOLES) {
		f->fs.stats.insns += b->insns;
		f->fs.stats.ranges++;
		return;
	}
	range(f, &ev, b);
	ipt_take_time(f);
	if (whole && needs_packet(ev.u.range.kind)) {
		ipt_time_reach(&f->t, &ev);
		ipt_release(f, true);
		emit_range(&f->emit, 0, &ev);
		return;
	}
	if (f->nheld == IPT_HELD)
		ipt_release(f, false);
	f->held[f->nheld++] = ev;
}

/*
 * Code that comes to the same address again without having needed a packet will do so for ever: it
 * holds direct jumps and calls only (case B17). One earlier address is kept, ever farther apart.
 */
static bool endless(struct flow_ipt *f, const struct ipt_block *b)
{
	if (b->kind == HWT_INSN_BRANCH || b->kind == HWT_INSN_RETURN) {
		ipt_moved(f);
		return false;
	}
	/* an indirect branch takes a packet, but the library does not always name its class */
	if (f->quiet && b->ip == f->mark && ipt_at(f) == f->mark_off)
		return true;
	if (f->quiet++ == f->next_mark) {
		f->mark = b->ip;
		f->mark_off = ipt_at(f);
		f->next_mark = f->next_mark * 2 + 1;
	}
	return false;
}

/* False if nothing proves the block, or what there is of it. */
static bool shown(struct flow_ipt *f)
{
	return f->status >= 0 || ipt_lib_fault(f->status).came;
}

static void called(struct flow_ipt *f, const struct ipt_block *b)
{
	struct hwt_where w = ipt_where(f);
	const struct ipt_code_insn *in = ipt_code_at(&f->code, f->image, &w, f->cur->gen,
						     b->isa, b->end_ip);
	uint64_t ret = b->end_ip + (b->cut ? b->cut : in->size);

	if (in->kind != HWT_INSN_CALL || in->target != ret)
		ipt_rets_call(&f->rets, ret);
}

/* What told the library where the RET leads that it went over from @off on. */
static void returned(struct flow_ipt *f, uint64_t off)
{
	uint64_t end = ipt_at(f);
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	int n;

	f->ret_off = off;
	for (; off < end; off += (unsigned)n) {
		n = ipt_packet_decode(&pkt, &ctx, ipt_bytes(f, off), end - off);
		if (n < 0)
			break;
		switch (pkt.kind) {
		case IPT_TIP:
			ipt_rets_return(&f->rets, false);
			return;
		case IPT_TIP_PGD:	/* the next step tells whether it is for the RET */
			f->at_ret = true;
			return;
		case IPT_TNT8: case IPT_TNT64: case IPT_FUP:
			off = end;
			n = 0;
			break;
		}
	}
	f->at_ret = true;
}

bool ipt_return_holds(struct flow_ipt *f, uint64_t to)
{
	if (f->ret_open) {
		f->ret_open = false;
		/* an event without a place: the stacks agreed, and hardware compresses then */
		if (to == HWT_NO_ADDR && f->rets.lib.n)
			to = f->rets.lib.v[f->rets.lib.top];
		return ipt_rets_went(&f->rets, to);
	}
	if (!f->at_ret)
		return true;
	f->at_ret = false;
	return ipt_rets_return(&f->rets, true);
}

/* The trace ended inside the block. */
static bool at_end(const struct flow_ipt *f)
{
	return f->status < 0 && ipt_lib_fault(f->status).cause == HWT_GAP_NONE;
}

/* @off: where the library looked before the block, HWT_NO_OFF if that was not asked. */
static void take_block(struct flow_ipt *f, uint64_t off, uint64_t ret)
{
	if (!f->block.insns || at_end(f))
		return;
	if (!f->tracing) {
		/* as in ipt_step_event(); the library walks from where tracing was switched off */
		ipt_broken(f, HWT_GAP_BREAK, 0, HWT_NO_ADDR);
		return;
	}
	if (!ipt_return_holds(f, f->block.ip)) {
		ipt_broken_at(f, HWT_GAP_NO_RETURN, 0, ret, f->ret_off);
		return;
	}
	if (!shown(f))
		return;
	walked(f, &f->block, f->status >= 0);
	if (f->status >= 0 && f->block.kind == HWT_INSN_CALL)
		called(f, &f->block);
	else if (f->status >= 0 && f->block.kind == HWT_INSN_RETURN && off == HWT_NO_OFF)
		f->ret_open = true;
	else if (f->status >= 0 && f->block.kind == HWT_INSN_RETURN)
		returned(f, off);
	if (f->status >= 0 && endless(f, &f->block)) {
		f->nheld = 0;
		ipt_broken(f, HWT_GAP_NO_PROGRESS, 0, f->block.ip);
	}
}

/* Blocks that nobody wants to see, as many as come one after the other: what "check" is made of. */
static void step_walk(struct flow_ipt *f)
{
	struct ipt_lib_walk w = {
		.rets = &f->rets, .code = &f->code, .image = f->image, .where = ipt_where(f),
		.gen = f->cur->gen, .most = IPT_WALK, .ret = f->ret_open,
		.end_ip = f->block.end_ip,
	};

	/* a hole of a stale return may begin early by what one walk took */
	f->ret_off = ipt_at(f);
	f->status = ipt_lib_walk(f->dec, &w, &f->block);
	f->steps += w.steps;
	f->fs.stats.insns += w.insns;
	f->fs.stats.ranges += w.steps - w.fresh;
	f->owner.user |= w.user;
	f->ret_open = w.ret;
	if (w.branch)
		ipt_moved(f);
	if (w.stale)
		ipt_broken_at(f, HWT_GAP_NO_RETURN, 0, w.end_ip, f->ret_off);
	else if (w.fresh)
		take_block(f, HWT_NO_OFF, w.end_ip);
}

void ipt_step_block(struct flow_ipt *f)
{
	uint64_t off, ret = f->block.end_ip;

	if (f->emit.want.level == HWT_LEVEL_HOLES && !f->timed && f->due == HWT_TIME_UNKNOWN &&
	    !f->copy && f->tracing && !f->at_ret && ipt_rets_agree(&f->rets)) {
		step_walk(f);
		return;
	}
	off = ipt_at(f);
	if (f->timed || f->due != HWT_TIME_UNKNOWN)
		ipt_take_time(f);
	if (f->timed)
		ipt_time_packet(&f->t, ipt_span(f), f->seg.end, ipt_at(f), true);
	if (ipt_overdue(f))
		return;
	f->status = ipt_lib_next(f->dec, &f->block);
	f->steps++;
	take_block(f, off, ret);
}
