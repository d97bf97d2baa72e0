/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks of the library: what of them is shown, and when flow can not be believed. */
#include "ipt_flow.h"

#define IPT_WALK	4096	/* blocks of one walk */
#define IPT_PARTS	32	/* of one block: IPT_ROOM holds them */

static void range(struct flow_ipt *f, struct hwt_event *ev, const struct ipt_block *b)
{
	struct hwt_where w = ipt_code_where(f, b->end_ip);
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
	f->kernel |= b->ip >> 63;
	if (f->guessed != HWT_TIME_UNKNOWN && !(b->ip >> 47))
		ipt_guessed(f);
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
 * @off is where the library looked before the block: an indirect branch at its end moves it,
 * though the library does not always name its class.
 */
static bool endless(struct flow_ipt *f, const struct ipt_block *b, uint64_t off)
{
	if (b->kind == HWT_INSN_BRANCH || b->kind == HWT_INSN_RETURN) {
		ipt_moved(f);
		return false;
	}
	if (f->quiet && b->ip == f->mark && off == f->mark_off)
		return true;
	if (f->quiet++ == f->next_mark) {
		f->mark = b->ip;
		f->mark_off = off;
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
	struct hwt_where w = ipt_code_where(f, b->end_ip);
	const struct ipt_code_insn *in = ipt_code_at(&f->code, f->image, &w, f->cur->gen,
						     b->isa, b->end_ip);
	uint64_t ret = b->end_ip + (b->cut ? b->cut : in->size);

	if (in->kind != HWT_INSN_CALL || in->target != ret)
		ipt_rets_call(&f->rets, ret);
}

/*
 * On the way to the place of an event the library goes over direct calls and jumps, though it was
 * asked to end blocks there: those are shown as blocks of their own, and the rest is left.
 */
static void part(struct flow_ipt *f)
{
	struct ipt_block *b = &f->block;
	uint64_t at = b->ip;
	unsigned parts = 0;

	for (uint32_t n = 1; n < b->insns && parts < IPT_PARTS; n++) {
		struct hwt_where w = ipt_code_where(f, at);
		const struct ipt_code_insn *in = ipt_code_at(&f->code, f->image, &w, f->cur->gen,
							     b->isa, at);
		struct ipt_block first = *b;

		if (!in->size)
			return;
		if ((in->kind != HWT_INSN_CALL && in->kind != HWT_INSN_JUMP) ||
		    in->target == HWT_NO_ADDR) {
			at += in->size;
			continue;
		}
		first.end_ip = at;
		first.insns = n;
		first.kind = in->kind;
		first.cut = 0;
		at = b->ip = in->target;
		b->insns -= n;
		n = 0;
		parts++;
		walked(f, &first, true);
		if (first.kind == HWT_INSN_CALL)
			called(f, &first);
	}
}

/* What told the library where the RET leads that it went over from @off on. */
static void returned(struct flow_ipt *f, uint64_t off)
{
	uint64_t end = ipt_at(f);
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	int n;

	f->ret_off = off;
	f->ret_mask = 0;
	for (; off < end; off += (unsigned)n) {
		n = ipt_packet_decode(&pkt, &ctx, ipt_bytes(f, off), end - off);
		if (n < 0)
			break;
		switch (pkt.kind) {
		case IPT_TIP:	/* of the RET, or of an interrupt whose FUP was passed before */
			f->at_ret = true;
			f->ret_tip = pkt.payload;
			f->ret_mask = n > 8 ? UINT64_MAX : (1ull << 8 * (n - 1)) - 1;
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
	/* where it went says whose the TIP is; an event without a place comes after it */
	return ipt_rets_return(&f->rets, !f->ret_mask || (to != HWT_NO_ADDR &&
							  ((to ^ f->ret_tip) & f->ret_mask)));
}

/* The trace ended inside the block. */
static bool at_end(const struct flow_ipt *f)
{
	return f->status < 0 && ipt_lib_fault(f->status).cause == HWT_GAP_NONE;
}

/*
 * @off: where the library looked before the block, HWT_NO_OFF if that was not asked; @apart: the
 * same, for a RET for which the stacks do not agree.
 */
static void take_block(struct flow_ipt *f, uint64_t off, uint64_t apart, uint64_t ret)
{
	if (at_end(f))
		return;
	/* to where there is no code, maybe because the library took a wrong entry */
	if (!f->block.insns) {
		if (f->status < 0 && ipt_lib_fault(f->status).cause == HWT_GAP_NO_IMAGE &&
		    !ipt_return_holds(f, f->block.ip))
			ipt_broken_at(f, HWT_GAP_NO_RETURN, 0, ret, f->ret_off);
		return;
	}
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
	if (f->status >= 0 && f->status & IPT_LIB_EVENT)
		part(f);
	walked(f, &f->block, f->status >= 0);
	if (f->status >= 0 && f->block.kind == HWT_INSN_CALL)
		called(f, &f->block);
	else if (f->status >= 0 && f->block.kind == HWT_INSN_RETURN && off == HWT_NO_OFF &&
		 (apart == HWT_NO_OFF || ipt_rets_agree(&f->rets)))
		f->ret_open = true;
	else if (f->status >= 0 && f->block.kind == HWT_INSN_RETURN)
		returned(f, apart);
	if (f->status >= 0 && endless(f, &f->block, off == HWT_NO_OFF ? f->ret_off : off)) {
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

	uint64_t off;

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
	off = f->base + w.off > f->least ? f->base + w.off : f->least;
	if (w.stale)
		ipt_broken_at(f, HWT_GAP_NO_RETURN, 0, w.end_ip, f->ret_off);
	else if (w.apart)
		returned(f, off);
	else if (w.fresh)	/* behind a RET the stacks may not agree for the next one */
		take_block(f, HWT_NO_OFF, w.ret ? off : HWT_NO_OFF, w.end_ip);
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
		ipt_time_packet(&f->t, ipt_span(f), ipt_at(f));
	if (ipt_overdue(f))
		return;
	f->differs = HWT_NO_ADDR;
	f->status = ipt_lib_next(f->dec, &f->block);
	f->steps++;
	/* an event behind the block may have been read as well, but that is told by its packets */
	if (f->timed && ipt_at(f) != off)
		f->t.hi = f->t.next;
	take_block(f, off, off, ret);
}
