/* SPDX-License-Identifier: BSD-2-Clause */
/* OpenCSD in plain types. Longer than other files: no other one may see the library's. */
#include "ocsd_lib.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opencsd/c_api/opencsd_c_api.h>

#include "flow.h"
#include "ocsd_exc.h"
#include "ocsd_spec.h"

struct cslib_dec {
	dcd_tree_handle_t tree;
	ocsd_trace_protocol_t proto;
	uint8_t id;
	bool m_profile;		/* exception returns are P0 elements (IHI 0064) */
	bool at_end;		/* packets that come are what is left: no whole ones */
	bool cancelled;		/* ETMv3: the packet before cancelled an instruction */
	uint8_t isa;		/* of the last instructions, enum hwt_isa */
	bool speculates;	/* TRCIDR8.MAXSPEC is not 0, or not ETMv4 */
	uint16_t master, channel;	/* STM: bits that the library's numbers are good for */
	const struct cslib_calls *calls;
	void *ctx;
	struct spec spec;
	bool return_stack;	/* TRCCONFIGR.RS */
	struct spec_rets rets;
	const uint8_t *given;	/* bytes that the library works on */
	uint32_t ngiven;
	uint8_t *stm;		/* a piece for the STM decoder, or NULL */
};

/*
 * While it looks for a sync, the STM decoder of 1.3.3 shows bytes by a count of nibbles modulo 256,
 * whether there are as many or not (TrcPktProcStm::waitForSync).
 */
#define STM_PIECE	4096u
#define STM_BEHIND	128u

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void cslib_lock(void)
{
	pthread_mutex_lock(&mutex);
}

void cslib_unlock(void)
{
	pthread_mutex_unlock(&mutex);
}

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/*
 * OpenCSD 1.3.3 never frees the 32 bytes that hold the element callback of a tree, nor the 40 of an
 * address that a mispredict drops.
 */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:ocsd_dt_set_gen_elem_outfn\nleak:EtmV4P0Stack::createAddrElem\n";
}
#endif

const char *flow_ocsd_version(void)
{
	static char text[32];

	cslib_lock();
	if (!text[0])
		snprintf(text, sizeof(text), "OpenCSD %s", ocsd_get_version_str());
	cslib_unlock();
	return text;
}

/* ---- packets ---- */

#define ETM4_ASYNC_SIZE 12	/* bytes; zeros before it come one by one under its name */

static enum cslib_use use_etm4(int type, uint32_t size)
{
	switch (type) {
	case ETM4_PKT_I_ASYNC:		return size == ETM4_ASYNC_SIZE ? CSLIB_SYNC : CSLIB_UNSYNC;
	case ETM4_PKT_I_NOTSYNC:	return CSLIB_UNSYNC;
	case ETM4_PKT_I_INCOMPLETE_EOT:	return CSLIB_CUT;
	case ETM4_PKT_I_BAD_SEQUENCE:
	case ETM4_PKT_I_BAD_TRACEMODE:
	case ETM4_PKT_I_RESERVED:
	case ETM4_PKT_I_RESERVED_CFG:	return CSLIB_BAD;
	case ETM4_PKT_I_OVERFLOW:	return CSLIB_OVERFLOW;
	case ETM4_PKT_I_DISCARD:	return CSLIB_DISCARD;
	default:			return CSLIB_GOOD;
	}
}

static enum cslib_use use_etm3(int type)
{
	switch (type) {
	case ETM3_PKT_A_SYNC:		return CSLIB_SYNC;
	case ETM3_PKT_NOTSYNC:		return CSLIB_UNSYNC;
	case ETM3_PKT_INCOMPLETE_EOT:	return CSLIB_CUT;
	case ETM3_PKT_BAD_SEQUENCE:
	case ETM3_PKT_BAD_TRACEMODE:
	case ETM3_PKT_RESERVED:		return CSLIB_BAD;
	default:			return CSLIB_GOOD;
	}
}

static enum cslib_use use_ptm(int type)
{
	switch (type) {
	case PTM_PKT_A_SYNC:		return CSLIB_SYNC;
	case PTM_PKT_NOTSYNC:		return CSLIB_UNSYNC;
	case PTM_PKT_INCOMPLETE_EOT:	return CSLIB_CUT;
	case PTM_PKT_BAD_SEQUENCE:
	case PTM_PKT_RESERVED:		return CSLIB_BAD;
	default:			return CSLIB_GOOD;
	}
}

static enum cslib_use use_stm(int type)
{
	switch (type) {
	case STM_PKT_ASYNC:		return CSLIB_SYNC;
	case STM_PKT_NOTSYNC:		return CSLIB_UNSYNC;
	case STM_PKT_INCOMPLETE_EOT:	return CSLIB_CUT;
	case STM_PKT_BAD_SEQUENCE:
	case STM_PKT_RESERVED:		return CSLIB_BAD;
	default:			return CSLIB_GOOD;
	}
}

/* Type of any packet and what it means. */
static enum cslib_use packet_use(ocsd_trace_protocol_t proto, const void *pkt, uint32_t size,
			       int *type)
{
	switch (proto) {
	case OCSD_PROTOCOL_ETMV3:
		*type = ((const ocsd_etmv3_pkt *)pkt)->type;
		return use_etm3(*type);
	case OCSD_PROTOCOL_PTM:
		*type = ((const ocsd_ptm_pkt *)pkt)->type;
		return use_ptm(*type);
	case OCSD_PROTOCOL_STM:
		*type = ((const ocsd_stm_pkt *)pkt)->type;
		return use_stm(*type);
	default:
		*type = ((const ocsd_etmv4_i_pkt *)pkt)->type;
		return use_etm4(*type, size);
	}
}

static bool resolves(int type)
{
	switch (type) {
	case ETM4_PKT_I_COMMIT:
	case ETM4_PKT_I_CANCEL_F1:
	case ETM4_PKT_I_CANCEL_F1_MISPRED:
	case ETM4_PKT_I_MISPREDICT:
	case ETM4_PKT_I_CANCEL_F2:
	case ETM4_PKT_I_CANCEL_F3:
		return true;
	default:
		return false;
	}
}

/* Why the library would give up on this packet. */
static unsigned blame(const struct cslib_dec *l, const struct cslib_packet *p)
{
	if (l->proto != OCSD_PROTOCOL_ETMV4I)
		return HWT_GAP_LIB;
	if (p->use == CSLIB_BAD)
		return HWT_GAP_BAD_PACKET;
	return p->type >= ETM4_PKT_I_Q && p->type < ETE_PKT_I_SRC_ADDR_MATCH ? HWT_GAP_NO_PATH :
									       HWT_GAP_LIB;
}

static bool has_address(int type)
{
	return type >= ETM4_PKT_I_ADDR_CTXT_L_32IS0 && type <= ETM4_PKT_I_ADDR_L_64IS1;
}

/* Does the packet name the address of the next instruction? */
static bool packet_addr(ocsd_trace_protocol_t proto, const void *pkt, int type, uint64_t *addr)
{
	switch (proto) {
	case OCSD_PROTOCOL_ETMV3:
		*addr = ((const ocsd_etmv3_pkt *)pkt)->addr.val;
		return type == ETM3_PKT_BRANCH_ADDRESS || type == ETM3_PKT_I_SYNC ||
			type == ETM3_PKT_I_SYNC_CYCLE;
	case OCSD_PROTOCOL_PTM:
		*addr = ((const ocsd_ptm_pkt *)pkt)->addr.val;
		return type == PTM_PKT_BRANCH_ADDRESS || type == PTM_PKT_I_SYNC;
	case OCSD_PROTOCOL_ETMV4I:
		*addr = ((const ocsd_etmv4_i_pkt *)pkt)->v_addr.val;
		return has_address(type) || (type == ETM4_PKT_I_Q &&
			(((const ocsd_etmv4_i_pkt *)pkt)->Q_pkt.addr_present ||
			 ((const ocsd_etmv4_i_pkt *)pkt)->Q_pkt.addr_match));
	default:
		return false;
	}
}

static bool cancels(int type)
{
	return type == ETM4_PKT_I_CANCEL_F1 || type == ETM4_PKT_I_CANCEL_F1_MISPRED ||
		type == ETM4_PKT_I_CANCEL_F2 || type == ETM4_PKT_I_CANCEL_F3;
}

/*
 * Must an address follow, perhaps behind a context? Arm IHI 0064, "Exception" and "Q". @before: it
 * had to before this packet.
 */
static bool owes_address(const ocsd_etmv4_i_pkt *p, bool before)
{
	switch (p->type) {
	case ETM4_PKT_I_EXCEPT:
		return true;
	case ETM4_PKT_I_Q:
		return !p->Q_pkt.addr_present && !p->Q_pkt.addr_match;
	case ETM4_PKT_I_IGNORE:
	case ETM4_PKT_I_CTXT:
		return before;
	default:
		return false;
	}
}

/* Follows what the decoder holds; false if it would go wrong over this packet. */
static bool speculate(struct cslib_dec *l, const ocsd_etmv4_i_pkt *p)
{
	struct spec *s = &l->spec;
	bool owed = s->owes_addr;

	/* no more can be uncommitted; the library counts through the whole number */
	if (cancels(p->type) && p->cancel_elements > s->max)
		return false;
	s->owes_addr = owes_address(p, owed);
	if (owed && !has_address(p->type) && p->type != ETM4_PKT_I_IGNORE &&
	    p->type != ETM4_PKT_I_CTXT)
		return false;
	switch (p->type) {
	case ETM4_PKT_I_COMMIT:
		spec_commit(s, p->commit_elements);
		return true;
	case ETM4_PKT_I_IGNORE:
		return true;
	case ETM4_PKT_I_TRACE_INFO:
		if (!spec_info(s, p->curr_spec_depth))
			return false;
		break;
	case ETM4_PKT_I_CANCEL_F1:
	case ETM4_PKT_I_CANCEL_F1_MISPRED:
	case ETM4_PKT_I_CANCEL_F2:
	case ETM4_PKT_I_CANCEL_F3:
	case ETM4_PKT_I_MISPREDICT:
		spec_push(s, SPEC_ATOM, p->atom.num);
		if (p->type != ETM4_PKT_I_MISPREDICT)
			spec_cancel(s, p->cancel_elements);
		return p->type == ETM4_PKT_I_CANCEL_F1 || spec_mispredict(s);
	case ETM4_PKT_I_EXCEPT:
		spec_push(s, SPEC_P0, 1);
		return true;
	case ETM4_PKT_I_EXCEPT_RTN:
		spec_push(s, l->m_profile ? SPEC_P0 : SPEC_OTHER, 1);
		return true;
	default:
		break;
	}
	if (p->type >= ETM4_PKT_I_ATOM_F6)
		spec_push(s, SPEC_ATOM, p->atom.num);
	else if (p->type >= ETM4_PKT_I_Q)	/* and source addresses of ETE */
		spec_push(s, SPEC_P0, 1);
	else if (!has_address(p->type))
		spec_push(s, SPEC_OTHER, 1);
	else if (p->type >= ETM4_PKT_I_ADDR_MATCH)
		spec_push(s, SPEC_ADDR, 1);
	else {				/* context and address */
		spec_push(s, SPEC_OTHER, 1);
		spec_push(s, SPEC_ADDR, 1);
	}
	return true;
}

/*
 * VERSION resets master and channel to 0 (MIPI STPv2, "VERSION"), which the library does not know
 * before 1.4.2. What was set since then is good.
 */
static void stm_reset(struct cslib_dec *l, int type)
{
	switch (type) {
	case STM_PKT_VERSION:
		l->master = l->channel = 0;
		break;
	case STM_PKT_M8:
		l->master = 0xffff;
		l->channel = 0;
		break;
	case STM_PKT_C8:
		l->channel |= 0xff;
		break;
	case STM_PKT_C16:
		l->channel = 0xffff;
		break;
	}
}

/*
 * The bytes of @p that are there. PTM and ETMv3 tell a run before a sync that began in a piece
 * before this one with a place that may be past all pieces: those bytes are not shown.
 */
static void find_bytes(const struct cslib_dec *l, struct cslib_packet *p)
{
	uintptr_t place = (uintptr_t)p->bytes - (uintptr_t)l->given;

	p->have = p->size;
	if (p->use != CSLIB_UNSYNC ||
	    (l->proto != OCSD_PROTOCOL_PTM && l->proto != OCSD_PROTOCOL_ETMV3))
		return;
	if (place > l->ngiven) {
		place = 0;
		p->have = 0;
	}
	p->bytes = l->given + place;
	if (p->have > l->ngiven - place)
		p->have = (uint32_t)(l->ngiven - place);
}

/*
 * Takes back what a unit without speculation has committed: 1.3.3 does it all the same, and what
 * comes of it differs from build to build.
 */
static bool drops_nothing(const struct cslib_dec *l, const ocsd_etmv4_i_pkt *p)
{
	return !l->speculates && resolves(p->type) && p->type != ETM4_PKT_I_COMMIT;
}

/* Where elements are told late, what the return stack holds at this packet is not known. */
static bool returns(struct cslib_dec *l, const ocsd_etmv4_i_pkt *p)
{
	bool tells_target = p->type == ETM4_PKT_I_EXCEPT && p->exception_info.addr_interp == 2;

	if (!l->return_stack)
		return true;
	if (l->speculates)
		return !tells_target;
	if (p->type == ETM4_PKT_I_EXCEPT)
		return spec_rets_exception(&l->rets, tells_target);
	if (p->type == ETM4_PKT_I_TRACE_ON || p->type == ETM4_PKT_I_TRACE_INFO)
		l->rets = (struct spec_rets){ .n = 0 };
	else if (has_address(p->type))
		l->rets.pending = false;
	return true;
}

/*
 * Trace info empties the return stack (IHI 0064, "Return stack"). Of elements that wait for their
 * commit the library takes calls and returns later, so those must not be there.
 */
static bool empties_stack(const struct cslib_dec *l, const ocsd_etmv4_i_pkt *p)
{
	return l->proto == OCSD_PROTOCOL_ETMV4I && p->type == ETM4_PKT_I_TRACE_INFO &&
		(!l->speculates || !p->curr_spec_depth);
}

/*
 * ETMv3: does the packet cancel an instruction right behind another that did? 1.3.3 then takes more
 * elements back than it has (OcsdGenElemList::cancelPendElem) and writes before its list.
 */
static bool cancels_twice(struct cslib_dec *l, const ocsd_etmv3_pkt *p)
{
	bool again = l->cancelled;

	l->cancelled = p->type == ETM3_PKT_BRANCH_ADDRESS && p->exception.bits.present &&
		p->exception.bits.cancel;
	return again && l->cancelled;
}

/*
 * ETMv3: a P-header of neither instructions nor cycles, which is none (IHI 0014, "P-headers"): 0x80
 * is the end of an A-sync. 1.3.3 tells a range for it whose fields nobody wrote.
 */
static bool tells_nothing(const ocsd_etmv3_pkt *p)
{
	return p->type == ETM3_PKT_P_HDR && !p->atom.num && !p->cycle_count;
}

static bool packet_stamp(const struct cslib_dec *l, const void *pkt, struct cslib_packet *p)
{
	const ocsd_etmv3_pkt *etm3 = pkt;
	const ocsd_ptm_pkt *ptm = pkt;
	const ocsd_stm_pkt *stm = pkt;

	switch (l->proto) {
	case OCSD_PROTOCOL_ETMV4I:
		p->stamp = p->time;
		return p->has_time;
	case OCSD_PROTOCOL_ETMV3:
		p->stamp = etm3->timestamp;
		return p->type == ETM3_PKT_TIMESTAMP;
	case OCSD_PROTOCOL_PTM:
		p->stamp = ptm->timestamp;
		return p->type == PTM_PKT_TIMESTAMP;
	case OCSD_PROTOCOL_STM:
		p->stamp = stm->timestamp;
		return p->use == CSLIB_GOOD && stm->pkt_has_ts;
	default:
		return false;
	}
}

static void on_packet(const void *ctx, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
		      const void *pkt, const uint32_t size, const uint8_t *bytes)
{
	struct cslib_dec *l = (struct cslib_dec *)ctx;
	struct cslib_packet p = { .index = (uint32_t)index, .size = size, .bytes = bytes,
				.raw = pkt };

	if (op != OCSD_OP_DATA || !pkt)
		return;
	/* the decoder gets the same packet after this: a bad one makes it wait for the next sync */
	if (l->calls->element && l->proto == OCSD_PROTOCOL_ETMV4I &&
	    (drops_nothing(l, pkt) || !speculate(l, pkt) || !returns(l, pkt)))
		((ocsd_etmv4_i_pkt *)pkt)->type = ETM4_PKT_I_BAD_SEQUENCE;
	if (l->proto == OCSD_PROTOCOL_ETMV3 && (cancels_twice(l, pkt) || tells_nothing(pkt)))
		((ocsd_etmv3_pkt *)pkt)->type = ETM3_PKT_BAD_SEQUENCE;
	/* 1.3.3 makes an address of the bytes of an ETMv3 packet that the end of the trace cuts */
	if (l->proto == OCSD_PROTOCOL_ETMV3 && l->at_end)
		((ocsd_etmv3_pkt *)pkt)->type = ETM3_PKT_INCOMPLETE_EOT;
	p.use = packet_use(l->proto, pkt, size, &p.type);
	find_bytes(l, &p);
	if (p.use == CSLIB_BAD) {
		spec_reset(&l->spec);
		l->rets = (struct spec_rets){ .n = 0 };
	}
	if (l->proto == OCSD_PROTOCOL_STM)
		stm_reset(l, p.type);
	p.blame = (uint16_t)blame(l, &p);
	p.has_addr = packet_addr(l->proto, pkt, p.type, &p.addr);
	p.exception = l->proto == OCSD_PROTOCOL_ETMV4I && p.type == ETM4_PKT_I_EXCEPT;
	p.no_returns = empties_stack(l, pkt);
	p.has_time = l->proto == OCSD_PROTOCOL_ETMV4I && p.type == ETM4_PKT_I_TIMESTAMP;
	/* one that has no count has that of the packet before it */
	if (p.has_time && bytes && !(bytes[0] & 1))
		((ocsd_etmv4_i_pkt *)pkt)->cycle_count = 0;
	if (p.has_time)
		p.time = ((const ocsd_etmv4_i_pkt *)pkt)->ts.timestamp;
	p.has_stamp = packet_stamp(l, pkt, &p);
	p.has_source = l->proto == OCSD_PROTOCOL_ETMV4I && p.type >= ETE_PKT_I_SRC_ADDR_MATCH &&
		p.type <= ETE_PKT_I_SRC_ADDR_L_64IS1;
	p.unexpected = !l->speculates && resolves(p.type);
	l->calls->packet(l->ctx, &p);
}

bool cslib_packet_owner(const struct cslib_dec *l, const struct cslib_packet *pkt,
			struct cslib_owner *o)
{
	switch (l->proto) {
	case OCSD_PROTOCOL_ETMV3: {
		const ocsd_etmv3_pkt *p = pkt->raw;

		*o = (struct cslib_owner){ p->context.updated_c, p->context.updated_v,
					 p->context.ctxtID, p->context.VMID };
		break;
	}
	case OCSD_PROTOCOL_PTM: {
		const ocsd_ptm_pkt *p = pkt->raw;

		*o = (struct cslib_owner){ p->context.updated_c, p->context.updated_v,
					 p->context.ctxtID, p->context.VMID };
		break;
	}
	case OCSD_PROTOCOL_ETMV4I: {
		const ocsd_etmv4_i_pkt *p = pkt->raw;

		if (!p->pkt_valid.bits.context_valid)
			return false;
		*o = (struct cslib_owner){ p->context.updated_c, p->context.updated_v,
					 p->context.ctxtID, p->context.VMID };
		break;
	}
	default:
		return false;
	}
	return o->id_valid || o->vmid_valid;
}

void cslib_packet_text(const struct cslib_dec *l, const struct cslib_packet *p, char *buf, int n)
{
	if (ocsd_pkt_str(l->proto, p->raw, buf, n) != OCSD_OK)
		snprintf(buf, (size_t)n, "type 0x%x", (unsigned)p->type);
}

/* ---- elements ---- */

static unsigned isa_of(ocsd_isa isa)
{
	switch (isa) {
	case ocsd_isa_arm:	return HWT_ISA_A32;
	case ocsd_isa_thumb2:	return HWT_ISA_T32;
	case ocsd_isa_aarch64:	return HWT_ISA_A64;
	default:		return HWT_ISA_UNKNOWN;
	}
}

static unsigned kind_of(const ocsd_generic_trace_elem *e)
{
	switch (e->last_i_type) {
	case OCSD_INSTR_BR:
		if (e->last_i_subtype == OCSD_S_INSTR_BR_LINK)
			return HWT_INSN_CALL;
		return e->last_instr_cond ? HWT_INSN_BRANCH : HWT_INSN_JUMP;
	case OCSD_INSTR_BR_INDIRECT:
		switch (e->last_i_subtype) {
		case OCSD_S_INSTR_BR_LINK:	return HWT_INSN_ICALL;
		case OCSD_S_INSTR_V8_RET:
		case OCSD_S_INSTR_V7_IMPLIED_RET: return HWT_INSN_RETURN;
		case OCSD_S_INSTR_V8_ERET:	return HWT_INSN_FAR_RETURN;
		default:			return HWT_INSN_IJUMP;
		}
	case OCSD_INSTR_ISB:
	case OCSD_INSTR_DSB_DMB:
	case OCSD_INSTR_WFI_WFE:
		return HWT_INSN_BARRIER;
	default:
		return HWT_INSN_OTHER;
	}
}

static void range(struct cslib_elem *x, const ocsd_generic_trace_elem *e, uint8_t id)
{
	struct hwt_event *ev = &x->ev;

	ev->u.range.first = e->st_addr;
	ev->u.range.last = e->en_addr - e->last_instr_sz;
	ev->u.range.insns = e->num_instr_range;
	ev->u.range.isa = (uint8_t)isa_of(e->isa);
	ev->u.range.kind = (uint8_t)kind_of(e);
	ev->u.range.last_size = e->last_instr_sz;
	ev->u.range.trace_id = id;
	if (e->last_instr_exec)
		ev->flags |= HWT_F_TAKEN;
	if (e->last_instr_cond)
		ev->flags |= HWT_F_COND;
}

static unsigned unsync_cause(const ocsd_generic_trace_elem *e)
{
	switch (e->unsync_eot_info) {
	case UNSYNC_OVERFLOW:	return HWT_GAP_OVERFLOW;
	case UNSYNC_DISCARD:	return HWT_GAP_BREAK;
	case UNSYNC_BAD_PACKET:	return HWT_GAP_BAD_PACKET;
	default:		return HWT_GAP_NO_SYNC;
	}
}

static void at(struct cslib_elem *x, unsigned type, uint8_t id)
{
	x->ev.type = (uint16_t)type;
	x->ev.u.at.addr = HWT_NO_ADDR;
	x->ev.u.at.trace_id = id;
}

static void trace_on(struct cslib_elem *x, const ocsd_generic_trace_elem *e, uint8_t id)
{
	x->what = CSLIB_ON;
	x->overflow = e->trace_on_reason == TRACE_ON_OVERFLOW;
	at(x, HWT_EV_ON, id);
	if (e->trace_on_reason == TRACE_ON_EX_DEBUG)
		x->ev.flags |= HWT_F_INTR;
}

static void context(struct cslib_elem *x, const ocsd_generic_trace_elem *e, uint8_t id)
{
	const ocsd_pe_context *c = &e->context;
	struct hwt_event *ev = &x->ev;

	x->what = CSLIB_CONTEXT;
	x->owner = (struct cslib_owner){ c->ctxt_id_valid, c->vmid_valid, c->context_id, c->vmid };
	ev->type = HWT_EV_ASPACE;
	ev->u.aspace.id = c->ctxt_id_valid ? c->context_id : 0;
	ev->u.aspace.vmid = c->vmid_valid ? c->vmid : 0;
	ev->u.aspace.el = c->el_valid ? (uint8_t)c->exception_level : 0;
	ev->u.aspace.trace_id = id;
	ev->u.aspace.valid = (uint8_t)(c->ctxt_id_valid | c->vmid_valid << 1 | c->el_valid << 2 |
				       c->bits64 << 3);
	switch (c->security_level) {
	case ocsd_sec_secure:	ev->u.aspace.secure = 1; break;
	case ocsd_sec_root:	ev->u.aspace.secure = 2; break;
	case ocsd_sec_realm:	ev->u.aspace.secure = 3; break;
	default:		break;
	}
}

static void exception(struct cslib_elem *x, const ocsd_generic_trace_elem *e,
		      const struct cslib_dec *l)
{
	x->ev.type = HWT_EV_EXCEPTION;
	x->ev.u.exc.from = e->excep_ret_addr ? e->en_addr : HWT_NO_ADDR;
	x->ev.u.exc.to = HWT_NO_ADDR;
	x->ev.u.exc.number = e->exception_number;
	/* in 1.3.3 nobody writes the ISA of an exception of ETMv3 */
	x->ev.u.exc.isa = l->proto == OCSD_PROTOCOL_ETMV3 ? l->isa : (uint8_t)isa_of(e->isa);
	x->ev.u.exc.trace_id = l->id;
	x->ev.u.exc.what = (uint8_t)(l->proto == OCSD_PROTOCOL_ETMV4I ?
		csexc_v4(e->exception_number, l->m_profile) :
		csexc_v3(e->exception_number, l->m_profile));
}

static void value(struct cslib_elem *x, unsigned type, uint64_t v, unsigned what, uint8_t id)
{
	x->ev.type = (uint16_t)type;
	x->ev.u.value.value = v;
	x->ev.u.value.addr = HWT_NO_ADDR;
	x->ev.u.value.what = what;
	x->ev.u.value.trace_id = id;
}

static unsigned transaction(const ocsd_generic_trace_elem *e)
{
	switch (e->mem_trans) {
	case OCSD_MEM_TRANS_COMMIT:	return HWT_TX_COMMIT;
	case OCSD_MEM_TRANS_FAIL:	return HWT_TX_ABORT;
	default:			return HWT_TX_BEGIN;
	}
}

static uint64_t payload(const ocsd_generic_trace_elem *e, unsigned bits)
{
	uint64_t v = 0;
	unsigned n = (bits + 7) / 8;

	/* the library gives it in the byte order of the host */
	if (e->ptr_extended_data && n <= sizeof(v)) {
		switch (n) {
		case 1: v = *(const uint8_t *)e->ptr_extended_data; break;
		case 2: v = *(const uint16_t *)e->ptr_extended_data; break;
		case 4: v = *(const uint32_t *)e->ptr_extended_data; break;
		case 8: v = *(const uint64_t *)e->ptr_extended_data; break;
		}
	}
	return v;
}

static void software(struct cslib_elem *x, const ocsd_generic_trace_elem *e, uint8_t id)
{
	const ocsd_swt_info_t *w = &e->sw_trace_info;
	unsigned bits = w->swt_payload_pkt_bitsize;
	struct hwt_event *ev = &x->ev;

	x->has_time = w->swt_has_timestamp;
	x->time = e->timestamp;
	if (w->swt_frequency) {
		value(x, HWT_EV_FREQ, payload(e, bits), 0, id);
		return;
	}
	ev->type = HWT_EV_MARK;
	ev->u.mark.value = payload(e, bits);
	ev->u.mark.addr = HWT_NO_ADDR;
	ev->u.mark.bits = (uint8_t)bits;
	ev->u.mark.trace_id = id;
	ev->u.mark.kind = (uint8_t)((w->swt_marker_packet ? HWT_MARK_FLAG : 0) |
				    (w->swt_trigger_event ? HWT_MARK_TRIGGER : 0) |
				    (w->swt_master_err ? HWT_MARK_MERR : 0) |
				    (w->swt_global_err ? HWT_MARK_GERR : 0) |
				    (w->swt_has_timestamp ? HWT_MARK_TS : 0));
	if (w->swt_id_valid && !w->swt_global_err) {
		ev->flags |= HWT_F_SW;
		ev->u.mark.master = w->swt_master_id;
		ev->u.mark.channel = w->swt_channel_id;
	}
}

static void convert(struct cslib_elem *x, const ocsd_generic_trace_elem *e,
		    const struct cslib_dec *l)
{
	uint8_t id = l->id;

	switch (e->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		x->what = CSLIB_RANGE;
		x->ev.type = HWT_EV_RANGE;
		range(x, e, id);
		break;
	case OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH:
		x->what = CSLIB_NOPATH;
		x->ev.type = HWT_EV_NOPATH;
		range(x, e, id);
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
		x->what = CSLIB_NO_SYNC;
		x->cause = (uint16_t)unsync_cause(e);
		break;
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		trace_on(x, e, id);
		break;
	case OCSD_GEN_TRC_ELEM_EO_TRACE:
		x->what = CSLIB_OFF;
		at(x, HWT_EV_OFF, id);
		break;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		context(x, e, id);
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		x->what = CSLIB_LOST;
		x->cause = HWT_GAP_NO_IMAGE;
		x->addr = e->st_addr;
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
		x->what = CSLIB_LOST;
		x->cause = HWT_GAP_NO_PATH;
		x->addr = HWT_NO_ADDR;
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		exception(x, e, l);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
		at(x, HWT_EV_ERET, id);
		break;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		x->what = CSLIB_NOTHING;
		/* ETMv4 counts there from the last cycle count, as the next one does: not a step */
		x->has_cycles &= l->proto != OCSD_PROTOCOL_ETMV4I;
		x->has_time = true;
		x->time = e->timestamp;
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:
		x->what = CSLIB_NOTHING;
		break;
	case OCSD_GEN_TRC_ELEM_EVENT:
		value(x, HWT_EV_TRIGGER, e->trace_event.ev_number,
		      e->trace_event.ev_type == EVENT_NUMBERED ? HWT_TRIGGER_EVENT :
								 HWT_TRIGGER_MARK, id);
		break;
	case OCSD_GEN_TRC_ELEM_SWTRACE:
		software(x, e, id);
		break;
	case OCSD_GEN_TRC_ELEM_SYNC_MARKER:
		value(x, HWT_EV_TRIGGER, e->sync_marker.value, HWT_TRIGGER_SYNC, id);
		break;
	case OCSD_GEN_TRC_ELEM_MEMTRANS:
		value(x, HWT_EV_TX, e->mem_trans, transaction(e), id);
		break;
	default:		/* made by a newer library: never silent */
		x->ev.type = HWT_EV_RECORD;
		x->ev.u.rec.id = (uint32_t)e->elem_type;
		break;
	}
}

static ocsd_datapath_resp_t on_element(const void *ctx, const ocsd_trc_index_t index,
				       const uint8_t id, const ocsd_generic_trace_elem *e)
{
	struct cslib_dec *l = (struct cslib_dec *)ctx;
	struct cslib_elem x = { .index = (uint32_t)index, .has_cycles = e->has_cc,
			      /* without the flag the library leaves that of an earlier one */
			      .cycles = e->has_cc ? e->cycle_count : 0,
			      .cycles_before = l->proto == OCSD_PROTOCOL_ETMV4I };

	if (e->elem_type == OCSD_GEN_TRC_ELEM_INSTR_RANGE)
		spec_rets_range(&l->rets, e->last_instr_exec,
				e->last_i_subtype == OCSD_S_INSTR_BR_LINK,
				e->last_i_type == OCSD_INSTR_BR_INDIRECT);
	convert(&x, e, l);
	if (x.ev.type == HWT_EV_RANGE)
		l->isa = x.ev.u.range.isa;
	if (x.ev.type == HWT_EV_MARK) {
		x.ev.u.mark.master &= l->master;
		x.ev.u.mark.channel &= l->channel;
	}
	return l->calls->element(l->ctx, &x) ? OCSD_RESP_CONT : OCSD_RESP_WAIT;
}

/* ---- configuration ---- */

static uint32_t id_of(const struct trace_cfg *cfg)
{
	/* the library wants a valid id even where there are no frames */
	return cfg->trace_id ? cfg->trace_id : 1;
}

static void arch_of(const struct trace_cfg *cfg, ocsd_arch_version_t *arch,
		    ocsd_core_profile_t *profile)
{
	bool v7 = cfg->arch ? cfg->arch == 7 : cfg->proto == HWT_PROTO_ETM3 ||
						cfg->proto == HWT_PROTO_PTM;

	switch (cfg->profile) {
	case 'M': *profile = profile_CortexM; break;
	case 'R': *profile = profile_CortexR; break;
	case 'C': *profile = profile_Custom; break;
	default:  *profile = profile_CortexA; break;
	}
	/*
	 * Later A profiles only add instructions that an older core could not have run, so the
	 * newest is right for all of them. Before 1.8.3 the library counts exception returns as P0
	 * elements of ARMv7-M alone; its branches are those that it knows of other M profiles, too.
	 */
	if (v7 || *profile == profile_CortexM)
		*arch = ARCH_V7;
	else
		*arch = *profile == profile_CortexA ? ARCH_V8_max : ARCH_V8;
}

/*
 * ETE goes by the name of ETMv4: it is the same decoder, and the C API has no packet monitor for
 * ETE. The version is TRCIDR1.TRCARCHMAJ and MIN there, TRCDEVARCH.ARCHVER and REVISION here.
 */
static uint32_t idr1_of(const struct trace_cfg *c)
{
	uint32_t arch = c->r.etm4.devarch;

	if (c->proto != HWT_PROTO_ETE)
		return c->r.etm4.idr1;
	if ((arch >> 12 & 0xf) < ETE_ARCH_VERSION)	/* register not recorded */
		arch = ETE_ARCH_VERSION << 12;
	return (c->r.etm4.idr1 & ~0xff0u) | (arch >> 12 & 0xf) << 8 | (arch >> 16 & 0xf) << 4;
}

static ocsd_err_t create_etm4(dcd_tree_handle_t tree, const struct trace_cfg *c, int flags)
{
	ocsd_etmv4_cfg r = {
		.reg_idr0 = c->r.etm4.idr0, .reg_idr1 = idr1_of(c),
		.reg_idr2 = c->r.etm4.idr2, .reg_idr8 = c->r.etm4.idr8,
		.reg_idr9 = c->r.etm4.idr9, .reg_idr10 = c->r.etm4.idr10,
		.reg_idr11 = c->r.etm4.idr11, .reg_idr12 = c->r.etm4.idr12,
		.reg_idr13 = c->r.etm4.idr13, .reg_configr = c->r.etm4.configr,
		.reg_traceidr = id_of(c),
	};
	unsigned char id;

	arch_of(c, &r.arch_ver, &r.core_prof);
	return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV4I, flags, &r, &id);
}

static ocsd_err_t create_etm3(dcd_tree_handle_t tree, const struct trace_cfg *c, int flags)
{
	ocsd_etmv3_cfg r = {
		.reg_idr = c->r.etm3.idr, .reg_ctrl = c->r.etm3.cr, .reg_ccer = c->r.etm3.ccer,
		.reg_trc_id = id_of(c),
	};
	unsigned char id;

	arch_of(c, &r.arch_ver, &r.core_prof);
	return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_ETMV3, flags, &r, &id);
}

static ocsd_err_t create_ptm(dcd_tree_handle_t tree, const struct trace_cfg *c, int flags)
{
	ocsd_ptm_cfg r = {
		.reg_idr = c->r.etm3.idr, .reg_ctrl = c->r.etm3.cr, .reg_ccer = c->r.etm3.ccer,
		.reg_trc_id = id_of(c),
	};
	unsigned char id;

	arch_of(c, &r.arch_ver, &r.core_prof);
	return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_PTM, flags, &r, &id);
}

static ocsd_err_t create_stm(dcd_tree_handle_t tree, const struct trace_cfg *c, int flags)
{
	ocsd_stm_cfg r = {
		/* STMTCSR.TRACEID is bits 22:16 */
		.reg_tcsr = (c->r.stm.tcsr & ~(0x7fu << 16)) | id_of(c) << 16,
		.reg_feat3r = c->r.stm.feat3r, .reg_devid = c->r.stm.devid,
		.hw_event = HwEvent_Unknown_Disabled,
	};
	unsigned char id;

	return ocsd_dt_create_decoder(tree, OCSD_BUILTIN_DCD_STM, flags, &r, &id);
}

static const struct {
	ocsd_trace_protocol_t proto;
	ocsd_err_t (*create)(dcd_tree_handle_t tree, const struct trace_cfg *c, int flags);
} kinds[] = {
	[HWT_PROTO_ETM3] = { OCSD_PROTOCOL_ETMV3, create_etm3 },
	[HWT_PROTO_PTM] = { OCSD_PROTOCOL_PTM, create_ptm },
	[HWT_PROTO_ETM4] = { OCSD_PROTOCOL_ETMV4I, create_etm4 },
	[HWT_PROTO_ETE] = { OCSD_PROTOCOL_ETMV4I, create_etm4 },
	[HWT_PROTO_STM] = { OCSD_PROTOCOL_STM, create_stm },
};

/* Tree and callbacks of @l. */
static ocsd_err_t setup(struct cslib_dec *l, const struct trace_cfg *cfg)
{
	int flags = l->calls->element ? OCSD_CREATE_FLG_FULL_DECODER : OCSD_CREATE_FLG_PACKET_PROC;
	ocsd_err_t err;

	/*
	 * An exception that finds the return stack empty makes 1.3.3 drop all it holds and go on
	 * with what it dropped, unless errors are to end it. Without speculation returns() sees
	 * such an exception before.
	 */
	if (l->calls->element && l->return_stack && l->speculates)
		flags |= OCSD_OPFLG_PKTDEC_HALT_BAD_PKTS;
	err = kinds[cfg->proto].create(l->tree, cfg, flags);

	if (err != OCSD_OK)
		return err;
	if (l->calls->element && ocsd_dt_set_gen_elem_outfn(l->tree, on_element, l) != OCSD_OK)
		return OCSD_ERR_MEM;
	if (ocsd_dt_attach_packet_callback(l->tree, (unsigned char)id_of(cfg),
					   OCSD_C_API_CB_PKT_MON, on_packet, l) != OCSD_OK)
		return OCSD_ERR_MEM;
	return OCSD_OK;
}

int cslib_open(struct cslib_dec **out, const struct trace_cfg *cfg, const struct cslib_calls *calls,
	     void *ctx, int32_t *refused)
{
	struct cslib_dec *l;
	ocsd_err_t err;

	*out = NULL;
	*refused = OCSD_ERR_NO_PROTOCOL;
	if (cfg->proto >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[cfg->proto].create)
		return 0;
	l = calloc(1, sizeof(*l));
	if (!l)
		return -ENOMEM;
	l->calls = calls;
	l->ctx = ctx;
	l->id = cfg->trace_id;
	l->m_profile = cfg->profile == 'M';
	l->master = l->channel = 0xffff;
	l->proto = kinds[cfg->proto].proto;
	l->speculates = l->proto != OCSD_PROTOCOL_ETMV4I || cfg->r.etm4.idr8;
	/* TRCIDR8.MAXSPEC */
	l->spec.max = l->proto == OCSD_PROTOCOL_ETMV4I ? cfg->r.etm4.idr8 : 0;
	l->return_stack = l->proto == OCSD_PROTOCOL_ETMV4I && cfg->r.etm4.configr >> 12 & 1;
	if (l->proto == OCSD_PROTOCOL_STM) {
		l->stm = calloc(1, STM_PIECE + STM_BEHIND);
		if (!l->stm) {
			free(l);
			return -ENOMEM;
		}
	}
	/* its logger is shared by all trees and is not made for threads */
	ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
	l->tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, OCSD_DFRMTR_FRAME_MEM_ALIGN);
	err = l->tree == C_API_INVALID_TREE_HANDLE ? OCSD_ERR_MEM : setup(l, cfg);
	if (err == OCSD_OK) {
		*out = l;
		return 0;
	}
	cslib_close(l);
	*refused = err;
	return err == OCSD_ERR_MEM ? -ENOMEM : 0;
}

void cslib_close(struct cslib_dec *l)
{
	if (l && l->tree != C_API_INVALID_TREE_HANDLE)
		ocsd_destroy_dcd_tree(l->tree);
	if (l)
		free(l->stm);
	free(l);
}

/* ---- bytes ---- */

static enum cslib_answer answer(ocsd_datapath_resp_t r, int32_t *code)
{
	*code = (int32_t)r;
	return OCSD_DATA_RESP_IS_FATAL(r) ? CSLIB_FATAL :
	       OCSD_DATA_RESP_IS_WAIT(r) ? CSLIB_WAIT : CSLIB_CONT;
}

enum cslib_answer cslib_data(struct cslib_dec *l, uint64_t index, const uint8_t *p, uint32_t n,
			 uint32_t *used, int32_t *code)
{
	if (l->stm) {
		n = n < STM_PIECE ? n : STM_PIECE;
		memcpy(l->stm, p, n);
		p = l->stm;
	}
	l->given = p;
	l->ngiven = n;
	return answer(ocsd_dt_process_data(l->tree, OCSD_OP_DATA, (ocsd_trc_index_t)index, n, p,
					   used), code);
}

enum cslib_answer cslib_flush(struct cslib_dec *l, int32_t *code)
{
	return answer(ocsd_dt_process_data(l->tree, OCSD_OP_FLUSH, 0, 0, NULL, NULL), code);
}

enum cslib_answer cslib_eot(struct cslib_dec *l, int32_t *code)
{
	enum cslib_answer a;

	l->at_end = true;
	a = answer(ocsd_dt_process_data(l->tree, OCSD_OP_EOT, 0, 0, NULL, NULL), code);
	l->at_end = false;
	return a;
}

void cslib_reset(struct cslib_dec *l)
{
	spec_reset(&l->spec);
	ocsd_dt_process_data(l->tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
}

/* ---- code ---- */

static uint32_t on_code(const void *ctx, const ocsd_vaddr_t addr,
			const ocsd_mem_space_acc_t space, const uint32_t n, uint8_t *buf)
{
	const struct cslib_dec *l = ctx;

	/* one bit names a space; the decoders that do not know the level give several */
	return l->calls->code(l->ctx, addr, space & (space - 1) ? 0 : space, n, buf);
}

static int code_result(ocsd_err_t err)
{
	return err == OCSD_OK ? 0 : err == OCSD_ERR_MEM ? -ENOMEM : -HWT_E_LIB;
}

/*
 * 1.3.3 finds each address whose instruction ends at 2^64 in its cache, wherever that is, and reads
 * far outside (TrcMemAccCache::blockInPage). It is given nothing of the last page.
 */
#define TOP	(UINT64_MAX - 4096)

int cslib_add_code(struct cslib_dec *l, uint64_t addr, uint32_t space, const uint8_t *p, uint32_t n)
{
	ocsd_err_t err;

	if (addr > TOP)
		return 0;
	if (n > TOP - addr + 1)
		n = (uint32_t)(TOP - addr + 1);
	err = ocsd_dt_add_buffer_mem_acc(l->tree, addr, space ? (ocsd_mem_space_acc_t)space :
					 OCSD_MEM_SPACE_ANY, p, n);
	return code_result(err == OCSD_ERR_MEM_ACC_OVERLAP ? OCSD_OK : err);
}

int cslib_add_asked(struct cslib_dec *l, uint64_t lo, uint64_t hi)
{
	if (lo > TOP)
		return 0;
	return code_result(ocsd_dt_add_callback_mem_acc(l->tree, lo, hi < TOP ? hi : TOP,
							OCSD_MEM_SPACE_ANY, on_code, l));
}

void cslib_drop_asked(struct cslib_dec *l)
{
	ocsd_dt_remove_mem_acc(l->tree, 0, OCSD_MEM_SPACE_ANY);
}
