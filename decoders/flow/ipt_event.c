/* SPDX-License-Identifier: BSD-2-Clause */
/* Events of the library, and packets that it does not know, to ours. */
#include <string.h>

#include "ipt_flow.h"

static void put(struct flow_ipt *f, const struct hwt_event *ev)
{
	emit_event(&f->emit, 0, ev);
}

static void put_at(struct flow_ipt *f, unsigned type, uint64_t addr, unsigned flags)
{
	struct hwt_event ev = ipt_event(f, type, ipt_at(f));

	ev.flags = (uint8_t)flags;
	ev.u.at.addr = addr;
	put(f, &ev);
}

static void put_value(struct flow_ipt *f, unsigned type, uint64_t value, uint64_t addr,
		      unsigned what)
{
	struct hwt_event ev = ipt_event(f, type, ipt_at(f));

	ev.u.value.value = value;
	ev.u.value.addr = addr;
	ev.u.value.what = what;
	put(f, &ev);
}

static void put_power(struct flow_ipt *f, unsigned what, uint64_t payload, uint64_t addr)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_POWER, ipt_at(f));

	ev.u.power.what = what;
	ev.u.power.payload = payload;
	ev.u.power.addr = addr;
	put(f, &ev);
}

static void put_exception(struct flow_ipt *f, uint64_t from, uint64_t to)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_EXCEPTION, ipt_at(f));

	ev.flags = HWT_F_CUT;
	ev.u.exc.from = from;
	ev.u.exc.to = to;
	ev.u.exc.what = HWT_EXC_ASYNC;
	put(f, &ev);
}

static void put_record(struct flow_ipt *f, unsigned kind, uint64_t off, uint64_t size)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_RECORD, off);

	ev.u.rec.data = ipt_span(f)->p + off;
	ev.u.rec.size = (uint32_t)size;
	ev.u.rec.id = FLOW_RECORD_PT | kind;
	put(f, &ev);
}

static void aspace(struct flow_ipt *f, uint64_t cr3, bool update)
{
	struct hwt_event ev;

	/* a PSB repeats what is known */
	if (update && cr3 == f->owner.cr3)
		return;
	ipt_owner_cr3(&f->owner, cr3);
	ipt_choose_image(f);
	ev = ipt_event(f, HWT_EV_ASPACE, ipt_at(f));
	ev.u.aspace.id = cr3;
	ev.u.aspace.valid = 1;
	put(f, &ev);
}

static void vmcs(struct flow_ipt *f, uint64_t base)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_ASPACE, ipt_at(f));

	ev.u.aspace.vmid = (uint32_t)(base >> 12);	/* page of the VMCS */
	ev.u.aspace.valid = 2;
	put(f, &ev);
}

static void ptwrite(struct flow_ipt *f, const struct ipt_lib_event *e)
{
	struct hwt_event ev = ipt_event(f, HWT_EV_MARK, ipt_at(f));

	ev.u.mark.value = e->value;
	ev.u.mark.addr = e->ip;
	ev.u.mark.bits = (uint8_t)(e->size * 8);
	put(f, &ev);
}

static void cbr(struct flow_ipt *f, const struct ipt_lib_event *e)
{
	if (e->update && e->value == f->cbr)
		return;
	f->cbr = (uint16_t)e->value;
	put_value(f, HWT_EV_FREQ, e->value, HWT_NO_ADDR, 0);
}

void ipt_put_foreign(struct flow_ipt *f, uint64_t limit, bool all)
{
	while (f->copy && emit_room(&f->emit) > IPT_ROOM) {
		if (!f->item.size && !ipt_foreign_next(&f->item, &f->walk, ipt_span(f), limit))
			return;
		if (f->item.bound && !all)
			return;
		if (f->timed)
			ipt_time_used(&f->t, f->item.off + f->item.size);
		if (f->item.kind != IPT_EXSTOP)
			put_record(f, f->item.kind, f->item.off, f->item.size);
		f->item.size = 0;
	}
}

/* True if an EXSTOP event of the library stands for a foreign packet, which is given. */
static bool stands_for_foreign(struct flow_ipt *f)
{
	bool other;

	if (!f->copy)
		return false;
	ipt_put_foreign(f, f->seg.end, false);
	if (!f->item.size)
		return false;
	other = f->item.kind != IPT_EXSTOP;
	if (other)
		put_record(f, f->item.kind, f->item.off, f->item.size);
	f->item.size = 0;
	return other;
}

static void exstop(struct flow_ipt *f, const struct ipt_lib_event *e)
{
	if (!e->no_ip && stands_for_foreign(f))
		return;
	put_power(f, HWT_POWER_EXSTOP, 0, e->ip);
}

/* The library is past the OVF; our own packets tell where it is. */
static void overflow(struct flow_ipt *f, bool on)
{
	uint64_t end = ipt_at(f);
	uint64_t ovf = ipt_next_ovf(ipt_span(f), f->ovf, end, ipt_lib_cyc_cut(f->lib));

	f->tracing = on;
	ipt_rets_forget(&f->rets);
	f->ovf = f->began = ovf < end ? ovf + 2 : end;
	memset(f->given, 0, sizeof(f->given));
	/* the overflow may have taken the FUP they wait for */
	ipt_put_foreign(f, end, true);
	ipt_owner_lost(&f->owner);
	ipt_gap(f, HWT_GAP_OVERFLOW, 0, ovf, 0, 0);
	ipt_choose_image(f);
}

void ipt_put_packet(struct flow_ipt *f, const struct ipt_packet *pkt, uint64_t off)
{
	struct hwt_event ev;

	if (pkt->kind == IPT_PIP) {
		ipt_owner_cr3(&f->owner, pkt->payload);
		ipt_choose_image(f);
	}
	ev = ipt_event(f, HWT_EV_ASPACE, off);
	switch (pkt->kind) {
	case IPT_PIP:
		ev.u.aspace.id = pkt->payload;
		ev.u.aspace.valid = 1;
		break;
	case IPT_VMCS:
		ev.u.aspace.vmid = (uint32_t)(pkt->payload >> 12);
		ev.u.aspace.valid = 2;
		break;
	case IPT_CBR:
		ev.type = HWT_EV_FREQ;
		ev.u.value.value = f->cbr = (uint16_t)pkt->payload;
		ev.u.value.addr = HWT_NO_ADDR;
		break;
	case IPT_PTW:
		ev.type = HWT_EV_MARK;
		ev.u.mark.value = pkt->payload;
		ev.u.mark.addr = HWT_NO_ADDR;
		ev.u.mark.bits = (uint8_t)(pkt->count * 8);
		break;
	default:
		return;
	}
	put(f, &ev);
}

/* Counts what the library told of a packet, so that a hole does not tell it again. */
static void given(struct flow_ipt *f, enum ipt_lib_type type)
{
	switch (type) {
	case IPT_LIB_CR3: f->given[IPT_TOLD_CR3]++; break;
	case IPT_LIB_VMCS: f->given[IPT_TOLD_VMCS]++; break;
	case IPT_LIB_CBR: f->given[IPT_TOLD_CBR]++; break;
	case IPT_LIB_PTWRITE: f->given[IPT_TOLD_PTW]++; break;
	default: break;
	}
}

static void translate(struct flow_ipt *f, const struct ipt_lib_event *e)
{
	switch (e->type) {
	case IPT_LIB_ENABLED:
		f->tracing = true;
		ipt_passed_off(f);
		ipt_no_idle(f, e->ip, ipt_at(f));
		put_at(f, HWT_EV_ON, e->ip, e->resumed ? HWT_F_RESUMED : 0);
		break;
	case IPT_LIB_DISABLED:
		f->tracing = false;
		put_at(f, HWT_EV_OFF, e->ip, 0);
		break;
	case IPT_LIB_ASYNC_DISABLED:
		f->tracing = false;
		put_at(f, HWT_EV_OFF, e->ip, HWT_F_CUT);
		break;
	case IPT_LIB_ASYNC_BRANCH:
		put_exception(f, e->ip, e->to);
		break;
	case IPT_LIB_CR3:
		aspace(f, e->value, e->update);
		break;
	case IPT_LIB_VMCS:
		vmcs(f, e->value);
		break;
	case IPT_LIB_OVERFLOW:
		overflow(f, !e->no_ip);
		break;
	case IPT_LIB_TSX:
		if (!e->update)
			put_value(f, HWT_EV_TX, 0, e->ip, (unsigned)e->value);
		break;
	case IPT_LIB_STOP:
		put_value(f, HWT_EV_TRIGGER, 0, HWT_NO_ADDR, HWT_TRIGGER_STOP);
		break;
	case IPT_LIB_EXSTOP:
		exstop(f, e);
		break;
	case IPT_LIB_MWAIT:
		put_power(f, HWT_POWER_MWAIT, e->value, e->ip);
		break;
	case IPT_LIB_PWRE:
		put_power(f, HWT_POWER_PWRE, e->value, HWT_NO_ADDR);
		break;
	case IPT_LIB_PWRX:
		put_power(f, HWT_POWER_PWRX, e->value, HWT_NO_ADDR);
		break;
	case IPT_LIB_PTWRITE:
		ptwrite(f, e);
		break;
	case IPT_LIB_CBR:
		cbr(f, e);
		break;
	case IPT_LIB_EXEC:	/* seen in each block */
	case IPT_LIB_OTHER:
		break;
	}
}

/*
 * True if flow came to the PSB that was read: the mode in it holds at its address. If tracing is
 * off, the enable is missing, and if it is on where the PSB has no address, the disable: the PSB
 * is believed, and read again from its start.
 */
static bool at_psb(const struct ipt_lib_event *e)
{
	return e->update && (e->type == IPT_LIB_EXEC || e->type == IPT_LIB_TSX);
}

/* True if branches may have been kept back while its packet was sent. */
static bool passes_by(const struct ipt_lib_event *e)
{
	switch (e->type) {
	case IPT_LIB_CBR: case IPT_LIB_PWRE: case IPT_LIB_PWRX: case IPT_LIB_OTHER:
		return true;
	case IPT_LIB_EXSTOP: case IPT_LIB_MWAIT:
		return e->no_ip;
	default:
		return false;
	}
}

void ipt_step_event(struct flow_ipt *f)
{
	struct ipt_lib_event e;
	/* the library has read the event, and now reads the next one */
	uint64_t off = ipt_at(f);

	if (f->timed)
		ipt_time_event(&f->t, ipt_span(f), off);
	f->differs = HWT_NO_ADDR;
	f->status = ipt_lib_event(f->dec, &e);
	f->steps++;
	if (f->status < 0) {
		f->block.insns = 0;
		return;
	}
	if (e.has_tsc)
		ipt_time_take(&f->t, e.tsc);
	given(f, e.type);
	ipt_release(f, true);
	if (e.type == IPT_LIB_EXEC && f->plain != (bool)e.value) {
		f->plain = e.value;
		ipt_choose_image(f);
	}
	ipt_moved(f);
	if ((f->at_ret || f->ret_open) && e.type == IPT_LIB_DISABLED) {
		f->at_ret = f->ret_open = false;
		ipt_rets_return(&f->rets, false);
	}
	if (!ipt_return_holds(f, e.ip)) {
		ipt_broken_at(f, HWT_GAP_NO_RETURN, 0, f->block.end_ip, f->ret_off);
		return;
	}
	if (f->timed && (!f->tracing || !passes_by(&e)))
		ipt_time_flushed(&f->t);
	while (emit_room(&f->emit) > IPT_ROOM && ipt_overdue(f))
		;
	if (at_psb(&e)) {
		if (f->tracing == e.no_ip) {
			ipt_broken(f, HWT_GAP_BREAK, 0, HWT_NO_ADDR);
			return;
		}
		if (e.type == IPT_LIB_EXEC) {
			ipt_came_to_psb(f);
			ipt_rets_forget(&f->rets);
		}
	}
	translate(f, &e);
}
