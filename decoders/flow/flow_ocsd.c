/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight trace to events and packets through OpenCSD: the only file that includes it, which is
 * why it is long. One decode tree per trace source: the library's own deframer resets all sources
 * when one of them fails.
 *
 * The library pushes, a stream is pulled: the element callback answers WAIT when the ring is
 * nearly full, the consumer empties it, and FLUSH gets the rest.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <opencsd/c_api/opencsd_c_api.h>

#include "ocsd_code.h"
#include "ocsd_feed.h"
#include "ocsd_src.h"

#define ROOM_LOW	(16 * EMIT_STEP)	/* events that may follow after WAIT was answered */
#define NSLOTS		128			/* trace ids */
#define PAD		64	/* bytes */
#define OTHERS		(NSLOTS + 1)		/* and bytes before the first id */

/* OpenCSD keeps its trees in one map without a lock. */
static pthread_mutex_t lib_lock = PTHREAD_MUTEX_INITIALIZER;

struct flow;
struct packets;

struct dec {			/* a source and its decoder */
	struct src s;
	struct flow *f;		/* whose it is: of a stream, */
	struct packets *ps;	/* or of a list of packets */
	dcd_tree_handle_t tree;	/* C_API_INVALID_TREE_HANDLE: no decoder */
	int32_t refused;	/* ocsd_err_t why there is none */
	ocsd_trace_protocol_t proto;
	int last_type;		/* of the last packet */
	bool live_code;		/* code is asked for, not mapped */
	bool overflow_told;
	bool on;		/* tracing, as far as told */
	uint32_t given;		/* bytes in @pad */
	uint8_t pad[PAD + 1];	/* what an STM decoder reads */
};

struct others { uint64_t off, bytes; };	/* bytes without a decoder, of one id */

enum phase { PHASE_FEED, PHASE_EOT, PHASE_DONE };

struct flow {
	struct flow_stream fs;
	struct emit emit;
	struct feed feed;
	struct hwt_image *image;
	const struct trace_buf *buf;
	uint64_t when;		/* base ns of the span, for the image */
	struct dec *decs;	/* by trace id */
	unsigned ndecs;
	struct dec *by_id[NSLOTS];
	struct others other[OTHERS];
	uint64_t other_since;	/* input taken since they were last told */
	struct dec *cur;	/* works on a piece */
	const uint8_t *p;	/* rest of the piece */
	uint64_t left;
	bool flush;		/* @cur waits for FLUSH */
	uint8_t phase;
	uint16_t eot_cause;	/* HWT_GAP_BREAK: a barrier, not the end of a span */
	uint64_t eot_off;
	unsigned eot;		/* next source to end */
	bool counts_only;	/* nobody wants ranges */
	int rc;
};

#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
/* OpenCSD 1.3.3 never frees the 32 bytes that hold the element callback of a tree. */
const char *__lsan_default_suppressions(void);

const char *__lsan_default_suppressions(void)
{
	return "leak:ocsd_dt_set_gen_elem_outfn\n";
}
#endif

const char *flow_ocsd_version(void)
{
	static char text[32];

	pthread_mutex_lock(&lib_lock);
	if (!text[0])
		snprintf(text, sizeof(text), "OpenCSD %s", ocsd_get_version_str());
	pthread_mutex_unlock(&lib_lock);
	return text;
}

/* What a packet type means for the bytes of the packet. */
enum use { USE_GOOD, USE_SYNC, USE_UNSYNC, USE_BAD, USE_CUT, USE_OVERFLOW, USE_DISCARD };

#define ETM4_ASYNC_SIZE 12	/* bytes; zeros before it come one by one under its name */

static enum use use_etm4(int type, uint32_t size)
{
	switch (type) {
	case ETM4_PKT_I_ASYNC:		return size == ETM4_ASYNC_SIZE ? USE_SYNC : USE_UNSYNC;
	case ETM4_PKT_I_NOTSYNC:	return USE_UNSYNC;
	case ETM4_PKT_I_INCOMPLETE_EOT:	return USE_CUT;
	case ETM4_PKT_I_BAD_SEQUENCE:
	case ETM4_PKT_I_BAD_TRACEMODE:
	case ETM4_PKT_I_RESERVED:
	case ETM4_PKT_I_RESERVED_CFG:	return USE_BAD;
	case ETM4_PKT_I_OVERFLOW:	return USE_OVERFLOW;
	case ETM4_PKT_I_DISCARD:	return USE_DISCARD;
	default:			return USE_GOOD;
	}
}

static enum use use_etm3(int type)
{
	switch (type) {
	case ETM3_PKT_A_SYNC:		return USE_SYNC;
	case ETM3_PKT_NOTSYNC:		return USE_UNSYNC;
	case ETM3_PKT_INCOMPLETE_EOT:	return USE_CUT;
	case ETM3_PKT_BAD_SEQUENCE:
	case ETM3_PKT_BAD_TRACEMODE:
	case ETM3_PKT_RESERVED:		return USE_BAD;
	default:			return USE_GOOD;
	}
}

static enum use use_ptm(int type)
{
	switch (type) {
	case PTM_PKT_A_SYNC:		return USE_SYNC;
	case PTM_PKT_NOTSYNC:		return USE_UNSYNC;
	case PTM_PKT_INCOMPLETE_EOT:	return USE_CUT;
	case PTM_PKT_BAD_SEQUENCE:
	case PTM_PKT_RESERVED:		return USE_BAD;
	default:			return USE_GOOD;
	}
}

static enum use use_stm(int type)
{
	switch (type) {
	case STM_PKT_ASYNC:		return USE_SYNC;
	case STM_PKT_NOTSYNC:		return USE_UNSYNC;
	case STM_PKT_INCOMPLETE_EOT:	return USE_CUT;
	case STM_PKT_BAD_SEQUENCE:
	case STM_PKT_RESERVED:		return USE_BAD;
	default:			return USE_GOOD;
	}
}

/* Type of any packet and what it means. */
static enum use packet_use(ocsd_trace_protocol_t proto, const void *pkt, uint32_t size, int *type)
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

/*
 * Gives @n bytes to the library. Its STM reader looks one byte past the end while it searches for
 * a sync, so it gets a copy that has one.
 */
static ocsd_datapath_resp_t give(struct dec *d, const uint8_t *p, uint32_t n, uint32_t *used)
{
	if (d->proto == OCSD_PROTOCOL_STM) {
		n = n < PAD ? n : PAD;
		memcpy(d->pad, p, n);
		d->pad[n] = 0;
		d->given = n;
		p = d->pad;
	}
	d->s.end = d->s.base + n;
	return ocsd_dt_process_data(d->tree, OCSD_OP_DATA, (ocsd_trc_index_t)d->s.base, n, p,
				    used);
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
	 * newest is right for all of them.
	 */
	if (v7)
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

/* Makes @d->tree, or says in @d->refused why not. -ENOMEM is the only failure. */
static int dec_open(struct dec *d, const struct trace_cfg *cfg, int flags)
{
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
	ocsd_err_t err = OCSD_ERR_NO_PROTOCOL;

	if (cfg->proto >= sizeof(kinds) / sizeof(kinds[0]) || !kinds[cfg->proto].create) {
		d->refused = err;
		return 0;
	}
	d->proto = kinds[cfg->proto].proto;
	d->tree = ocsd_create_dcd_tree(OCSD_TRC_SRC_SINGLE, OCSD_DFRMTR_FRAME_MEM_ALIGN);
	if (d->tree == C_API_INVALID_TREE_HANDLE)
		return -ENOMEM;
	err = kinds[cfg->proto].create(d->tree, cfg, flags);
	if (err != OCSD_OK) {
		ocsd_destroy_dcd_tree(d->tree);
		d->tree = C_API_INVALID_TREE_HANDLE;
		d->refused = err;
	}
	return err == OCSD_ERR_MEM ? -ENOMEM : 0;
}

/* Silences the library: its logger is shared by all trees and is not made for threads. */
static void lib_init(void)
{
	ocsd_def_errlog_init(OCSD_ERR_SEV_NONE, 0);
}

/* ---- code ---- */

static uint32_t read_code(const void *ctx, const ocsd_vaddr_t addr,
			  const ocsd_mem_space_acc_t space, const uint32_t n, uint8_t *buf)
{
	const struct dec *d = ctx;
	struct hwt_where w = { .pid = d->s.code_pid, .time = d->f->when };
	int rc;

	/* one bit names a space; the decoders that do not know the level give several */
	if (!(space & (space - 1)))
		w.space = space;
	rc = hwt_image_read(d->f->image, &w, addr, buf, n);
	return rc > 0 ? (uint32_t)rc : 0;
}

/* Code from @lo to @hi, both included, is asked for. */
static ocsd_err_t add_asked(struct dec *d, uint64_t lo, uint64_t hi)
{
	return ocsd_dt_add_callback_mem_acc(d->tree, lo, hi, OCSD_MEM_SPACE_ANY, read_code, d);
}

static ocsd_err_t add_live(struct dec *d)
{
	return add_asked(d, 0, UINT64_MAX);
}

/* Other code may be at the same place now: the library must forget the pages that it keeps. */
static void code_changed(struct dec *d)
{
	if (!d->live_code)
		return;
	ocsd_dt_remove_mem_acc(d->tree, 0, OCSD_MEM_SPACE_ANY);
	if (add_live(d) != OCSD_OK)
		d->f->rc = -ENOMEM;
}

static ocsd_err_t add_part(struct dec *d, const struct code_part *v)
{
	ocsd_mem_space_acc_t space = v->space ? (ocsd_mem_space_acc_t)v->space :
						OCSD_MEM_SPACE_ANY;
	ocsd_err_t err = ocsd_dt_add_buffer_mem_acc(d->tree, v->addr, space, v->p, v->size);

	return err == OCSD_ERR_MEM_ACC_OVERLAP ? OCSD_OK : err;		/* the first one stays */
}

/*
 * Mapped parts are read by the library itself. What lies between them may still be code without a
 * file, and is asked for; not if there are memory spaces, whose parts overlap.
 */
static ocsd_err_t add_parts(struct dec *d, const struct code_part *v, size_t n)
{
	ocsd_err_t err = OCSD_OK;
	uint64_t at = 0;
	bool between = true;

	for (size_t i = 0; i < n; i++)
		between = between && !v[i].space;
	for (size_t i = 0; i < n && err == OCSD_OK; i++) {
		if (between && v[i].addr > at)
			err = add_asked(d, at, v[i].addr - 1);
		if (err == OCSD_OK)
			err = add_part(d, &v[i]);
		at = v[i].addr + v[i].size;
	}
	if (between && err == OCSD_OK && at)
		err = add_asked(d, at, UINT64_MAX);
	return err;
}

static int add_code(struct dec *d, const struct code_part *v, size_t n)
{
	ocsd_err_t err;

	d->live_code = !n;
	err = n ? add_parts(d, v, n) : add_live(d);
	return err == OCSD_OK ? 0 : err == OCSD_ERR_MEM ? -ENOMEM : -HWT_E_LIB;
}

/* ---- elements to events ---- */

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

/*
 * The library has no words for SVC, HVC and SMC, and for returns from exception of A32 and T32
 * (RFE, SUBS pc, LDM ^): our own tables have.
 */
static unsigned far_kind(struct dec *d, const ocsd_generic_trace_elem *e, unsigned kind)
{
	struct hwt_where w = { .pid = d->s.code_pid, .time = d->f->when };
	unsigned isa = isa_of(e->isa);
	uint64_t addr = e->en_addr - e->last_instr_sz;
	struct hwt_insn in;
	uint8_t code[4];
	int n;

	if (d->f->counts_only || !e->last_instr_sz)
		return kind;
	if (kind != HWT_INSN_OTHER && (kind != HWT_INSN_IJUMP || isa == HWT_ISA_A64))
		return kind;
	n = hwt_image_read(d->f->image, &w, addr, code, e->last_instr_sz == 2 ? 2 : 4);
	if (n <= 0 || hwt_insn_decode(&in, isa, addr, code, (size_t)n))
		return kind;
	return in.kind == (kind == HWT_INSN_OTHER ? HWT_INSN_FAR_CALL : HWT_INSN_FAR_RETURN) ?
		in.kind : kind;
}

static void cycles(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	struct hwt_event ev = src_event(&d->s, HWT_EV_CYCLES, off);

	ev.u.value.value = e->cycle_count;
	ev.u.value.addr = HWT_NO_ADDR;
	ev.u.value.trace_id = d->s.id;
	src_emit(&d->s, &ev);
}

static struct hwt_event range_event(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off,
				    unsigned type)
{
	struct hwt_event ev = src_event(&d->s, type, off);

	ev.u.range.first = e->st_addr;
	ev.u.range.last = e->en_addr - e->last_instr_sz;
	ev.u.range.insns = e->num_instr_range;
	ev.u.range.isa = (uint8_t)isa_of(e->isa);
	ev.u.range.kind = (uint8_t)far_kind(d, e, kind_of(e));
	ev.u.range.last_size = e->last_instr_sz;
	ev.u.range.trace_id = d->s.id;
	if (e->last_instr_exec)
		ev.flags |= HWT_F_TAKEN;
	if (e->last_instr_cond)
		ev.flags |= HWT_F_COND;
	return ev;
}

/* An A64 branch without condition can not fall through: other code ran. */
static bool contradicts(const struct hwt_event *ev)
{
	if (ev->flags & (HWT_F_TAKEN | HWT_F_COND) || ev->u.range.isa != HWT_ISA_A64)
		return false;
	return ev->u.range.kind >= HWT_INSN_CALL && ev->u.range.kind <= HWT_INSN_IJUMP;
}

static void range(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	struct hwt_event ev = range_event(d, e, off, HWT_EV_RANGE);
	struct flow *f = d->f;

	d->overflow_told = false;
	if (f->counts_only) {
		f->fs.stats.insns += ev.u.range.insns;
		f->fs.stats.ranges++;
	} else {
		emit_range(&f->emit, f->emit.ncpus > 1 ? d->s.id : 0, &ev);
	}
	if (contradicts(&ev))
		src_hole_at(&d->s, off, ev.u.range.last, HWT_GAP_BAD_IMAGE, 0);
}

static void no_sync(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	struct src *s = &d->s;
	unsigned cause;

	switch (e->unsync_eot_info) {
	case UNSYNC_OVERFLOW:	cause = HWT_GAP_OVERFLOW; break;
	case UNSYNC_DISCARD:	cause = HWT_GAP_BREAK; break;
	case UNSYNC_BAD_PACKET:	cause = HWT_GAP_BAD_PACKET; break;
	default:
		/* start, reset, end: bytes before the next A-sync tell it, if there are any */
		if (off != s->sync_off && !s->hunting)
			src_hunt(s, HWT_GAP_NO_SYNC, 0);
		return;
	}
	if (off == s->sync_off || (s->hunting && s->hunt_cause == cause))
		return;		/* told when the packet was seen */
	src_hole(s, off, 0, cause, 0);
	src_hunt(s, cause, 0);
}

static void trace_on(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	struct hwt_event ev;

	if (e->trace_on_reason == TRACE_ON_OVERFLOW && !d->overflow_told) {
		src_hole(&d->s, off, 0, HWT_GAP_OVERFLOW, 0);
		src_hole_flush(&d->s);
	}
	d->overflow_told = false;
	d->on = true;
	ev = src_event(&d->s, HWT_EV_ON, off);
	if (e->trace_on_reason == TRACE_ON_EX_DEBUG)
		ev.flags |= HWT_F_INTR;
	ev.u.at.addr = HWT_NO_ADDR;
	ev.u.at.trace_id = d->s.id;
	src_emit(&d->s, &ev);
}

static void at(struct dec *d, unsigned type, uint64_t off)
{
	struct hwt_event ev = src_event(&d->s, type, off);

	ev.u.at.addr = HWT_NO_ADDR;
	ev.u.at.trace_id = d->s.id;
	src_emit(&d->s, &ev);
}

static void context(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	const ocsd_pe_context *c = &e->context;
	struct src *s = &d->s;
	int32_t tid = HWT_NONE, pid;
	struct hwt_event ev;

	pid = src_owner(s, c->ctxt_id_valid, c->context_id, c->vmid_valid, c->vmid, &tid);
	if (pid != HWT_NONE) {
		s->pid = pid;
		s->tid = tid;
	} else if (tid != HWT_NONE) {
		s->pid = s->span_pid;
		s->tid = s->span_tid;
	}
	ev = src_event(s, HWT_EV_ASPACE, off);
	ev.u.aspace.id = c->ctxt_id_valid ? c->context_id : 0;
	ev.u.aspace.vmid = c->vmid_valid ? c->vmid : 0;
	ev.u.aspace.el = c->el_valid ? (uint8_t)c->exception_level : 0;
	ev.u.aspace.trace_id = s->id;
	ev.u.aspace.valid = (uint8_t)(c->ctxt_id_valid | c->vmid_valid << 1 | c->el_valid << 2 |
				      c->bits64 << 3);
	switch (c->security_level) {
	case ocsd_sec_secure:	ev.u.aspace.secure = 1; break;
	case ocsd_sec_root:	ev.u.aspace.secure = 2; break;
	case ocsd_sec_realm:	ev.u.aspace.secure = 3; break;
	default:		break;
	}
	src_emit(s, &ev);
}

static void exception(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	struct hwt_event ev = src_event(&d->s, HWT_EV_EXCEPTION, off);

	ev.u.exc.from = e->excep_ret_addr ? e->en_addr : HWT_NO_ADDR;
	ev.u.exc.to = HWT_NO_ADDR;
	ev.u.exc.number = e->exception_number;
	ev.u.exc.isa = (uint8_t)isa_of(e->isa);
	ev.u.exc.trace_id = d->s.id;
	src_emit(&d->s, &ev);
}

static void value(struct dec *d, unsigned type, uint64_t off, uint64_t v, unsigned what)
{
	struct hwt_event ev = src_event(&d->s, type, off);

	ev.u.value.value = v;
	ev.u.value.addr = HWT_NO_ADDR;
	ev.u.value.what = what;
	ev.u.value.trace_id = d->s.id;
	src_emit(&d->s, &ev);
}

static void timestamp(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	/* what came before happened before it, so it bounds only what comes */
	src_timestamp(&d->s, e->timestamp);
	value(d, HWT_EV_TIMESTAMP, off, e->timestamp, 0);
}

static void transaction(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	unsigned what = HWT_TX_BEGIN;

	if (e->mem_trans == OCSD_MEM_TRANS_COMMIT)
		what = HWT_TX_COMMIT;
	else if (e->mem_trans == OCSD_MEM_TRANS_FAIL)
		what = HWT_TX_ABORT;
	value(d, HWT_EV_TX, off, e->mem_trans, what);
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

static void software(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	const ocsd_swt_info_t *w = &e->sw_trace_info;
	unsigned bits = w->swt_payload_pkt_bitsize;
	struct hwt_event ev;

	if (w->swt_has_timestamp) {
		src_timestamp(&d->s, e->timestamp);
		value(d, HWT_EV_TIMESTAMP, off, e->timestamp, 0);
	}
	if (w->swt_frequency) {
		value(d, HWT_EV_FREQ, off, payload(e, bits), 0);
		return;
	}
	ev = src_event(&d->s, HWT_EV_MARK, off);
	ev.u.mark.value = payload(e, bits);
	ev.u.mark.addr = HWT_NO_ADDR;
	ev.u.mark.bits = (uint8_t)bits;
	ev.u.mark.trace_id = d->s.id;
	ev.u.mark.kind = (uint8_t)((w->swt_marker_packet ? HWT_MARK_FLAG : 0) |
				   (w->swt_trigger_event ? HWT_MARK_TRIGGER : 0) |
				   (w->swt_master_err ? HWT_MARK_MERR : 0) |
				   (w->swt_global_err ? HWT_MARK_GERR : 0) |
				   (w->swt_has_timestamp ? HWT_MARK_TS : 0));
	if (w->swt_id_valid && !w->swt_global_err) {
		ev.flags |= HWT_F_SW;
		ev.u.mark.master = w->swt_master_id;
		ev.u.mark.channel = w->swt_channel_id;
	}
	src_emit(&d->s, &ev);
}

static void unknown(struct dec *d, const ocsd_generic_trace_elem *e, uint64_t off)
{
	struct hwt_event ev = src_event(&d->s, HWT_EV_RECORD, off);

	ev.u.rec.id = (uint32_t)e->elem_type;
	src_emit(&d->s, &ev);
}

static ocsd_datapath_resp_t element(const void *ctx, const ocsd_trc_index_t index, const uint8_t id,
				    const ocsd_generic_trace_elem *e)
{
	struct dec *d = (struct dec *)ctx;
	uint64_t off = src_off(&d->s, (uint32_t)index);
	struct hwt_event ev;

	/* some elements of 1.3.3 (Q) come with an index that was never set */
	if (off >= d->s.end || off < d->s.start)
		off = d->s.last_off;
	if (e->has_cc && !d->f->counts_only)
		cycles(d, e, off);
	switch (e->elem_type) {
	case OCSD_GEN_TRC_ELEM_INSTR_RANGE:
		range(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_I_RANGE_NOPATH:
		d->overflow_told = false;
		ev = range_event(d, e, off, HWT_EV_NOPATH);
		src_emit(&d->s, &ev);
		src_hole_at(&d->s, off, e->st_addr, HWT_GAP_NO_PATH, 0);
		break;
	case OCSD_GEN_TRC_ELEM_NO_SYNC:
		no_sync(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_TRACE_ON:
		trace_on(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_EO_TRACE:	/* also said of a source that never was on */
		if (d->on)
			at(d, HWT_EV_OFF, off);
		d->on = false;
		break;
	case OCSD_GEN_TRC_ELEM_PE_CONTEXT:
		context(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_NACC:
		src_hole_at(&d->s, off, e->st_addr, HWT_GAP_NO_IMAGE, 0);
		break;
	case OCSD_GEN_TRC_ELEM_ADDR_UNKNOWN:
		src_hole_at(&d->s, off, HWT_NO_ADDR, HWT_GAP_NO_PATH, 0);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION:
		exception(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_EXCEPTION_RET:
		at(d, HWT_EV_ERET, off);
		break;
	case OCSD_GEN_TRC_ELEM_TIMESTAMP:
		timestamp(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_CYCLE_COUNT:	/* told above */
		break;
	case OCSD_GEN_TRC_ELEM_EVENT:
		value(d, HWT_EV_TRIGGER, off, e->trace_event.ev_number,
		      e->trace_event.ev_type == EVENT_NUMBERED ? HWT_TRIGGER_EVENT :
								 HWT_TRIGGER_MARK);
		break;
	case OCSD_GEN_TRC_ELEM_SWTRACE:
		software(d, e, off);
		break;
	case OCSD_GEN_TRC_ELEM_SYNC_MARKER:
		value(d, HWT_EV_TRIGGER, off, e->sync_marker.value, HWT_TRIGGER_SYNC);
		break;
	case OCSD_GEN_TRC_ELEM_MEMTRANS:
		transaction(d, e, off);
		break;
	default:		/* made by a newer library: never silent */
		unknown(d, e, off);
		break;
	}
	return emit_room(&d->f->emit) < ROOM_LOW ? OCSD_RESP_WAIT : OCSD_RESP_CONT;
}

/* ---- packets, seen before they are decoded ---- */

/* Whose code the next instructions are: must be known before the packet is walked. */
static void packet_context(struct dec *d, const void *pkt)
{
	bool id_valid, vmid_valid;
	int32_t pid, tid = HWT_NONE;
	uint32_t id, vmid;

	switch (d->proto) {
	case OCSD_PROTOCOL_ETMV3: {
		const ocsd_etmv3_pkt *p = pkt;

		id_valid = p->context.updated_c, vmid_valid = p->context.updated_v;
		id = p->context.ctxtID, vmid = p->context.VMID;
		break;
	}
	case OCSD_PROTOCOL_PTM: {
		const ocsd_ptm_pkt *p = pkt;

		id_valid = p->context.updated_c, vmid_valid = p->context.updated_v;
		id = p->context.ctxtID, vmid = p->context.VMID;
		break;
	}
	case OCSD_PROTOCOL_ETMV4I: {
		const ocsd_etmv4_i_pkt *p = pkt;

		if (!p->pkt_valid.bits.context_valid)
			return;
		id_valid = p->context.updated_c, vmid_valid = p->context.updated_v;
		id = p->context.ctxtID, vmid = p->context.VMID;
		break;
	}
	default:
		return;
	}
	if (!id_valid && !vmid_valid)
		return;
	pid = src_owner(&d->s, id_valid, id, vmid_valid, vmid, &tid);
	if (tid == HWT_NONE)
		return;
	if (pid == HWT_NONE)
		pid = d->s.span_pid;
	if (pid != d->s.code_pid) {
		d->s.code_pid = pid;
		code_changed(d);
	}
}

/* Speculation is resolved in a stream whose trace unit has none (TRCIDR8.MAXSPEC is 0). */
static bool unexpected(const struct dec *d)
{
	if (d->proto != OCSD_PROTOCOL_ETMV4I || d->s.cfg->r.etm4.idr8)
		return false;
	switch (d->last_type) {
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

static void monitor(const void *ctx, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
		    const void *pkt, const uint32_t size, const uint8_t *bytes)
{
	struct dec *d = (struct dec *)ctx;
	struct src *s = &d->s;
	uint64_t off;
	enum use use;

	if (op != OCSD_OP_DATA || !pkt)
		return;
	off = src_off(s, (uint32_t)index);
	use = packet_use(d->proto, pkt, size, &d->last_type);
	switch (use) {
	case USE_BAD:
		if (!s->hunting)
			src_hunt(s, HWT_GAP_BAD_PACKET, d->last_type);
		break;
	case USE_CUT:
		if (!s->hunting)
			src_hunt(s, HWT_GAP_TRUNCATED, 0);
		break;
	case USE_UNSYNC:
		if (!s->hunting)
			src_hunt(s, HWT_GAP_NO_SYNC, 0);
		break;
	default:
		break;
	}
	src_packet(s, off, size, use == USE_SYNC);
	if (use == USE_OVERFLOW || use == USE_DISCARD) {
		/* the packet itself is understood, what the unit wrote before it may be lost */
		unsigned cause = use == USE_OVERFLOW ? HWT_GAP_OVERFLOW : HWT_GAP_BREAK;

		if (!s->hunting) {
			src_hole(s, off, 0, cause, 0);
			src_hunt(s, cause, 0);
			d->overflow_told = use == USE_OVERFLOW;
		}
	}
	if (use == USE_GOOD && !s->hunting && unexpected(d))
		src_hole(s, off, 0, HWT_GAP_BAD_PACKET, d->last_type);
	if (d->live_code && use == USE_GOOD)
		packet_context(d, pkt);
}

/* ---- the stream ---- */

static void gap(struct flow *f, uint64_t off, uint64_t bytes, uint64_t lost, unsigned cause,
		int32_t code, unsigned id)
{
	struct hwt_event ev = {
		.time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN, .type = HWT_EV_GAP,
		.clock = HWT_CLOCK_CS, .cpu = f->buf->cpu, .pid = f->buf->pid, .tid = f->buf->tid,
		.src = f->ndecs ? f->decs[0].s.buf : 0, .off = off,
	};

	ev.u.gap.bytes = bytes;
	ev.u.gap.lost = lost;
	ev.u.gap.cause = (int16_t)cause;
	ev.u.gap.code = code;
	ev.u.gap.trace_id = (uint8_t)(id < NSLOTS ? id : 0);
	emit_event(&f->emit, f->emit.ncpus > 1 && id < NSLOTS ? id : 0, &ev);
}

/* The earliest bytes of an id that nobody decodes; OTHERS if there are none. */
static unsigned first_other(const struct flow *f)
{
	unsigned best = OTHERS;

	for (unsigned id = 0; id < OTHERS; id++) {
		if (f->other[id].bytes && (best == OTHERS || f->other[id].off < f->other[best].off))
			best = id;
	}
	return best;
}

/* Tells those bytes, by place; the ring is empty and holds more events than there are ids. */
static void tell_others(struct flow *f)
{
	unsigned id;

	f->other_since = 0;
	while ((id = first_other(f)) < OTHERS) {
		struct others *o = &f->other[id];
		struct dec *d = id < NSLOTS ? f->by_id[id] : NULL;

		gap(f, o->off, o->bytes, 0, d ? HWT_GAP_NO_DECODER : HWT_GAP_RESERVED,
		    d ? d->refused : 0, id);
		o->bytes = 0;
	}
}

static void others(struct flow *f, const struct feed_piece *pc)
{
	struct others *o = &f->other[pc->id < NSLOTS ? pc->id : NSLOTS];

	if (f->feed.buf->framing != FRAMING_NONE && pc->id == TPIU_ID_NULL) {
		f->fs.stats.bytes_decoded += pc->n;
		return;
	}
	if (f->feed.buf->framing != FRAMING_NONE && pc->id == TPIU_ID_TRIGGER) {
		struct hwt_event ev = {
			.time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN,
			.type = HWT_EV_TRIGGER, .clock = HWT_CLOCK_CS, .cpu = f->buf->cpu,
			.pid = HWT_NONE, .tid = HWT_NONE, .src = f->ndecs ? f->decs[0].s.buf : 0,
			.off = pc->off,
		};

		ev.u.value.value = pc->p[0];
		ev.u.value.addr = HWT_NO_ADDR;
		ev.u.value.what = HWT_TRIGGER_MARK;
		ev.u.value.trace_id = pc->id;
		emit_event(&f->emit, 0, &ev);
		f->fs.stats.bytes_decoded += pc->n;
		return;
	}
	if (!o->bytes)
		o->off = pc->off;
	o->bytes += pc->n;
	f->other_since += pc->n;
	if (f->other_since >= FEED_SLICE)
		tell_others(f);
}

/* Afresh: what the decoder held is gone; bytes that no packet was made of are a hole. */
static void dec_reset(struct dec *d, unsigned cause)
{
	uint64_t used = src_settle(&d->s, cause);

	d->f->fs.stats.bytes_decoded += used;
	if (d->tree)
		ocsd_dt_process_data(d->tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
	src_start(&d->s);
	d->overflow_told = false;
}

/* Why the library gave up on the packet that it was shown last. */
static unsigned fatal_cause(const struct dec *d)
{
	if (d->proto == OCSD_PROTOCOL_ETMV4I) {
		if (use_etm4(d->last_type, 0) == USE_BAD)
			return HWT_GAP_BAD_PACKET;
		if (d->last_type >= ETM4_PKT_I_Q && d->last_type < ETE_PKT_I_SRC_ADDR_MATCH)
			return HWT_GAP_NO_PATH;
	}
	return HWT_GAP_LIB;
}

/* A fatal answer: the packet and what followed it up to here is lost, the source starts afresh. */
static void dec_fatal(struct dec *d, ocsd_datapath_resp_t r)
{
	struct src *s = &d->s;
	unsigned cause = fatal_cause(d);
	bool was_hunting = s->hunting;

	if (!was_hunting && s->last_size) {
		/* a hole without bytes that has an address would name it; here bytes are known */
		if (cause == HWT_GAP_NO_PATH) {
			src_hole_at(s, s->last_off, HWT_NO_ADDR, cause, (int32_t)r);
			cause = HWT_GAP_NO_DECODER;
		}
		src_hole(s, s->last_off, s->last_size, cause, (int32_t)r);
	}
	if (d->proto != OCSD_PROTOCOL_STM && s->fed > s->packed) {
		src_hole(s, s->last_off + s->last_size, s->fed - s->packed, cause, (int32_t)r);
		s->packed = s->fed;
	}
	ocsd_dt_process_data(d->tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
	src_hunt(s, cause, (int32_t)r);
	s->sync_off = HWT_NO_OFF;
	s->last_size = 0;
}

/* Answer of the library to anything. */
static void answer(struct flow *f, struct dec *d, ocsd_datapath_resp_t r)
{
	f->flush = false;
	if (OCSD_DATA_RESP_IS_FATAL(r))
		dec_fatal(d, r);
	else if (OCSD_DATA_RESP_IS_WAIT(r))
		f->flush = true;
}

/* Gives the rest of the piece to its decoder. */
static void feed_rest(struct flow *f)
{
	struct dec *d = f->cur;
	ocsd_datapath_resp_t r;
	uint32_t used = 0;

	d->s.fed += f->left;
	r = give(d, f->p, (uint32_t)f->left, &used);
	if (used > f->left)
		used = (uint32_t)f->left;
	if (!used && !OCSD_DATA_RESP_IS_WAIT(r))
		used = 1;	/* no progress can not be, and must not become a loop */
	d->s.base += used;
	f->p += used;
	f->left -= used;
	d->s.fed -= f->left;
	answer(f, d, r);
}

static void eot_begin(struct flow *f, unsigned cause, uint64_t off)
{
	f->phase = PHASE_EOT;
	f->eot = 0;
	f->eot_cause = (uint16_t)cause;
	f->eot_off = off;
	f->cur = NULL;
}

/* One step of ending all sources, in order of their ids as the library does. */
static void eot_step(struct flow *f)
{
	struct dec *d;

	if (f->cur) {		/* EOT was sent and everything came out */
		d = f->cur;
		f->cur = NULL;
		dec_reset(d, HWT_GAP_TRUNCATED);
		if (f->eot_cause == HWT_GAP_BREAK) {
			src_hole(&d->s, f->eot_off, 0, HWT_GAP_BREAK, 0);
			src_hunt(&d->s, HWT_GAP_BREAK, 0);
		}
		return;
	}
	while (f->eot < f->ndecs) {
		d = &f->decs[f->eot++];
		if (!d->tree || !d->s.fed_any)
			continue;
		f->cur = d;
		f->fs.stats.steps++;
		answer(f, d, ocsd_dt_process_data(d->tree, OCSD_OP_EOT, 0, 0, NULL, NULL));
		return;
	}
	tell_others(f);
	f->phase = PHASE_FEED;
}

static void span_begin(struct flow *f, const struct trace_span *sp)
{
	if (sp->cause_before != HWT_GAP_NONE || sp->lost_before)
		gap(f, sp->pos, 0, sp->lost_before, sp->cause_before != HWT_GAP_NONE ?
		    sp->cause_before : HWT_GAP_AUX_LOST, 0, f->ndecs ? f->decs[0].s.id : 0);
	f->when = sp->time;
	for (unsigned i = 0; i < f->ndecs; i++) {
		struct src *s = &f->decs[i].s;

		s->start = s->end = s->last_off = sp->pos;
		s->span_pid = sp->pid != HWT_NONE ? sp->pid : f->buf->pid;
		s->span_tid = sp->tid != HWT_NONE ? sp->tid : f->buf->tid;
		s->pid = s->code_pid = s->span_pid;
		s->tid = s->span_tid;
		code_changed(&f->decs[i]);
	}
}

static void take_data(struct flow *f, const struct feed_piece *pc)
{
	struct dec *d;

	if (f->buf->framing == FRAMING_NONE)
		d = f->ndecs ? &f->decs[0] : NULL;
	else
		d = pc->id < NSLOTS ? f->by_id[pc->id] : NULL;
	if (!d || !d->tree) {
		others(f, pc);
		return;
	}
	f->cur = d;
	f->p = pc->p;
	f->left = pc->n;
	d->s.base = pc->off;
	d->s.fed_any = true;
}

static void end(struct flow *f)
{
	uint64_t off = 0;

	f->phase = PHASE_DONE;
	if (f->buf->nspans) {
		const struct trace_span *sp = &f->buf->spans[f->buf->nspans - 1];

		off = sp->pos + sp->size;
	}
	if (f->buf->cause_after != HWT_GAP_NONE || f->buf->lost_after)
		gap(f, off, 0, f->buf->lost_after, f->buf->cause_after != HWT_GAP_NONE ?
		    f->buf->cause_after : HWT_GAP_AUX_LOST, 0, f->ndecs ? f->decs[0].s.id : 0);
	emit_flush(&f->emit);
}

/* One step; the ring is empty before it. */
static void step(struct flow *f)
{
	struct feed_piece pc;

	if (f->flush) {
		f->fs.stats.steps++;
		answer(f, f->cur, ocsd_dt_process_data(f->cur->tree, OCSD_OP_FLUSH, 0, 0, NULL,
						       NULL));
		return;
	}
	if (f->phase == PHASE_EOT) {
		eot_step(f);
		return;
	}
	if (f->left) {
		f->fs.stats.steps++;
		feed_rest(f);
		return;
	}
	feed_next(&f->feed, &pc);
	switch (pc.what) {
	case FEED_SPAN:
		span_begin(f, pc.span);
		break;
	case FEED_DATA:
		take_data(f, &pc);
		break;
	case FEED_SKIP:
		gap(f, pc.off, pc.n, 0, pc.cause, 0, 0);
		break;
	case FEED_BREAK:
		eot_begin(f, HWT_GAP_BREAK, pc.off);
		break;
	case FEED_SPAN_END:
		f->fs.stats.bytes_decoded += pc.n;
		eot_begin(f, HWT_GAP_NONE, pc.off);
		break;
	default:
		end(f);
		break;
	}
}

#define QUIET_STEPS 4096	/* without an event, before the consumer is asked again */

static int flow_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct flow *f = hwt_container_of(s, struct flow, fs.s);
	unsigned steps = 0;
	int n = 0;

	if (max <= 0)
		return -EINVAL;
	for (;;) {
		int k = emit_take(&f->emit, ev + n, max - n);

		if (k < 0)
			return n ? n : k;
		n += k;
		if (n == max)
			return n;
		if (f->rc < 0)
			return n ? n : f->rc;
		if (f->phase == PHASE_DONE)
			return n;
		/* the consumer looks at its clock and at signals from time to time */
		if (!n && ++steps > QUIET_STEPS) {
			*ev = (struct hwt_event){
				.time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN,
				.type = HWT_EV_NONE, .cpu = HWT_NONE, .pid = HWT_NONE,
				.tid = HWT_NONE, .off = f->feed.at };
			return 1;
		}
		step(f);
	}
}

static void decs_free(struct dec *decs, unsigned n)
{
	pthread_mutex_lock(&lib_lock);
	for (unsigned i = 0; decs && i < n; i++) {
		if (decs[i].tree != C_API_INVALID_TREE_HANDLE)
			ocsd_destroy_dcd_tree(decs[i].tree);
	}
	pthread_mutex_unlock(&lib_lock);
	free(decs);
}

static void flow_free(struct flow *f)
{
	decs_free(f->decs, f->ndecs);
	emit_fini(&f->emit);
	free(f);
}

static void flow_close(struct hwt_stream *s)
{
	flow_free(hwt_container_of(s, struct flow, fs.s));
}

static const struct hwt_stream_ops flow_ops = { flow_next, flow_close };

/* Sources in order of their ids; of two with the same id the first one counts. */
static int sort_cfgs(const struct trace_buf *buf, const struct trace_cfg **out, unsigned *n)
{
	*n = 0;
	for (size_t i = 0; i < buf->ncfgs; i++) {
		const struct trace_cfg *c = &buf->cfgs[i];
		unsigned k;

		if (c->trace_id >= NSLOTS)
			return -HWT_E_FORMAT;
		for (k = 0; k < *n && out[k]->trace_id != c->trace_id; k++)
			;
		if (k < *n || (buf->framing == FRAMING_NONE && *n))
			continue;
		for (k = *n; k && out[k - 1]->trace_id > c->trace_id; k--)
			out[k] = out[k - 1];
		out[k] = c;
		++*n;
	}
	return 0;
}

/* Decoders of @f: trees with @flags, elements if @elements. */
static int dec_setup(struct dec *d, const struct trace_cfg *cfg, int flags, FnDefPktDataMon mon,
		     FnTraceElemIn elements)
{
	int rc = dec_open(d, cfg, flags);

	if (rc < 0 || !d->tree)
		return rc;
	if (elements && ocsd_dt_set_gen_elem_outfn(d->tree, elements, d) != OCSD_OK)
		return -ENOMEM;
	if (ocsd_dt_attach_packet_callback(d->tree, (unsigned char)id_of(cfg),
					   OCSD_C_API_CB_PKT_MON, mon, d) != OCSD_OK)
		return -ENOMEM;
	return 0;
}

static int flow_decs(struct flow *f, const struct flow_args *a)
{
	const struct trace_cfg *cfgs[NSLOTS];
	struct code_part *parts = NULL;
	size_t nparts = 0;
	int rc = sort_cfgs(a->buf, cfgs, &f->ndecs);

	if (rc < 0)
		return rc;
	f->decs = calloc(f->ndecs ? f->ndecs : 1, sizeof(*f->decs));
	if (!f->decs)
		return -ENOMEM;
	rc = code_parts(a->image, &parts, &nparts);
	pthread_mutex_lock(&lib_lock);
	lib_init();
	for (unsigned i = 0; rc >= 0 && i < f->ndecs; i++) {
		struct dec *d = &f->decs[i];

		d->f = f;
		src_init(&d->s, a, &f->emit, cfgs[i]);
		src_start(&d->s);
		f->by_id[cfgs[i]->trace_id] = d;
		rc = dec_setup(d, cfgs[i], OCSD_CREATE_FLG_FULL_DECODER, monitor, element);
		if (rc >= 0 && d->tree && cfgs[i]->proto != HWT_PROTO_STM)
			rc = add_code(d, parts, nparts);
	}
	pthread_mutex_unlock(&lib_lock);
	free(parts);
	return rc < 0 ? rc : 0;
}

static int refuse(struct hwt_diag *diag, const struct trace_buf *buf, int rc)
{
	if (rc == -ENOMEM)
		return diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory");
	if (rc == -HWT_E_FORMAT)
		return diag_set(diag, rc, 121, NULL, HWT_NO_OFF,
				"trace buffer \"%s\": a trace id is above 0x7f", buf->name);
	return diag_set(diag, rc, 120, NULL, HWT_NO_OFF, "trace buffer \"%s\": OpenCSD %s",
			buf->name, ocsd_get_version_str());
}

int flow_ocsd_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag)
{
	struct flow *f = calloc(1, sizeof(*f));
	int rc = -ENOMEM;

	if (!f)
		return refuse(diag, a->buf, rc);
	f->fs.s.ops = &flow_ops;
	f->fs.s.name = "coresight";
	f->buf = a->buf;
	f->image = a->image;
	f->when = HWT_TIME_UNKNOWN;
	f->counts_only = a->want->level == HWT_LEVEL_HOLES;
	for (size_t i = 0; i < a->buf->nspans; i++)
		f->fs.stats.bytes_in += a->buf->spans[i].size;
	feed_init(&f->feed, a->buf);
	rc = emit_init(&f->emit, a, &f->fs.stats, a->buf->framing == FRAMING_NONE ? 1 : NSLOTS);
	if (rc >= 0)
		rc = flow_decs(f, a);
	if (rc < 0) {
		flow_free(f);
		return refuse(diag, a->buf, rc);
	}
	*out = &f->fs.s;
	return 0;
}

/* ---- packets ---- */

#define PACKET_RING	128	/* a power of two */
#define PACKET_STEP	32	/* bytes given at a time, so that all their packets have room */

struct packets {
	struct hwt_packets ps;
	struct feed feed;
	const struct trace_buf *buf;
	struct dec *decs;
	unsigned ndecs;
	struct dec *by_id[NSLOTS];
	struct dec *cur;
	const uint8_t *p;
	uint64_t left;
	bool done;
	unsigned head, tail;
	struct hwt_packet ring[PACKET_RING];
};

static struct hwt_packet *packet_add(struct packets *ps, uint64_t off, uint64_t size,
				     const uint8_t *p, unsigned id)
{
	struct hwt_packet *k;

	if (ps->head - ps->tail == PACKET_RING)
		ps->tail++;	/* can not be: a step makes fewer */
	k = &ps->ring[ps->head++ % PACKET_RING];
	memset(k, 0, sizeof(*k));
	k->off = off;
	k->size = (uint32_t)size;
	k->trace_id = (uint8_t)id;
	k->raw_size = size < sizeof(k->raw) ? (uint8_t)size : sizeof(k->raw);
	memcpy(k->raw, p, k->raw_size);
	return k;
}

static void packet_bad(struct packets *ps, uint64_t off, uint64_t size, const uint8_t *p,
		       unsigned id, unsigned proto, const char *name, const char *why)
{
	struct hwt_packet *k = packet_add(ps, off, size, p, id);

	k->bad = 1;
	k->proto = (uint8_t)proto;
	snprintf(k->name, sizeof(k->name), "%s", name);
	snprintf(k->text, sizeof(k->text), "%s", why);
}

/* "NAME : meaning; fields" of the library into name and text. */
static void packet_words(struct hwt_packet *k, char *s)
{
	size_t n = strcspn(s, " :\t"), len;
	char *t = s + n;

	while (*t == ' ' || *t == ':' || *t == '\t')
		t++;
	for (len = strlen(t); len && (t[len - 1] == ' ' || t[len - 1] == '\n' ||
				      t[len - 1] == ';'); )
		t[--len] = 0;
	snprintf(k->text, sizeof(k->text), "%s", t);
	snprintf(k->name, sizeof(k->name), "%.*s", (int)(n < sizeof(k->name) ? n : 0), s);
}

static void list(const void *ctx, const ocsd_datapath_op_t op, const ocsd_trc_index_t index,
		 const void *pkt, const uint32_t n, const uint8_t *bytes)
{
	struct dec *d = (struct dec *)ctx;
	uint64_t off = src_off(&d->s, (uint32_t)index), size = n;
	struct hwt_packet *k;
	char text[512];
	enum use use;

	if (op != OCSD_OP_DATA || !pkt)
		return;
	use = packet_use(d->proto, pkt, n, &d->last_type);
	if (d->proto == OCSD_PROTOCOL_STM && use == USE_UNSYNC && off >= d->s.base &&
	    off < d->s.base + d->given) {
		/* without the bytes that are not there, see give() */
		bytes = d->pad + (off - d->s.base);
		if (size > d->given - (off - d->s.base))
			size = d->given - (off - d->s.base);
	}
	k = packet_add(d->ps, off, size, bytes, d->s.id);
	k->proto = d->s.cfg->proto;
	k->bad = use == USE_UNSYNC || use == USE_BAD || use == USE_CUT;
	if (ocsd_pkt_str(d->proto, pkt, text, sizeof(text)) != OCSD_OK)
		snprintf(text, sizeof(text), "type 0x%x", (unsigned)d->last_type);
	packet_words(k, text);
}

static void packets_data(struct packets *ps, const struct feed_piece *pc)
{
	struct dec *d = pc->id < NSLOTS ? ps->by_id[pc->id] : NULL;

	if (ps->buf->framing == FRAMING_NONE)
		d = ps->ndecs ? &ps->decs[0] : NULL;
	if (d && d->tree) {
		ps->cur = d;
		ps->p = pc->p;
		ps->left = pc->n;
		d->s.base = pc->off;
		d->s.fed_any = true;
		return;
	}
	if (ps->buf->framing != FRAMING_NONE && pc->id == TPIU_ID_NULL)
		return;
	if (ps->buf->framing != FRAMING_NONE && pc->id == TPIU_ID_TRIGGER)
		snprintf(packet_add(ps, pc->off, pc->n, pc->p, pc->id)->name, 32, "TRIGGER");
	else if (d)
		packet_bad(ps, pc->off, pc->n, pc->p, pc->id, d->s.cfg->proto, "NO_DECODER",
			   "no decoder for this source");
	else
		packet_bad(ps, pc->off, pc->n, pc->p, pc->id < NSLOTS ? pc->id : 0,
			   HWT_PROTO_NONE, "NO_SOURCE", pc->id < NSLOTS ?
			   "trace id without a source" : "before the first trace id");
}

/* The end of a span or a barrier: partial packets are listed as such. */
static void packets_eot(struct packets *ps)
{
	for (unsigned i = 0; i < ps->ndecs; i++) {
		struct dec *d = &ps->decs[i];

		if (!d->tree || !d->s.fed_any)
			continue;
		ocsd_dt_process_data(d->tree, OCSD_OP_EOT, 0, 0, NULL, NULL);
		ocsd_dt_process_data(d->tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
		d->s.fed_any = false;
	}
}

static void packets_feed(struct packets *ps)
{
	struct dec *d = ps->cur;
	uint32_t n = ps->left < PACKET_STEP ? (uint32_t)ps->left : PACKET_STEP, used = 0;
	ocsd_datapath_resp_t r;

	r = give(d, ps->p, n, &used);
	if (!used || used > n)
		used = n;
	if (OCSD_DATA_RESP_IS_FATAL(r)) {
		packet_bad(ps, d->s.base, used, ps->p, d->s.id, d->s.cfg->proto, "REFUSED",
			   "the library refused the bytes up to here");
		ocsd_dt_process_data(d->tree, OCSD_OP_RESET, 0, 0, NULL, NULL);
	}
	d->s.base += used;
	ps->p += used;
	ps->left -= used;
}

static int packets_next(struct hwt_packets *h, struct hwt_packet *pkt)
{
	struct packets *ps = (struct packets *)h;
	struct feed_piece pc;

	while (ps->head == ps->tail) {
		if (ps->done)
			return 0;
		if (ps->left) {
			packets_feed(ps);
			continue;
		}
		feed_next(&ps->feed, &pc);
		switch (pc.what) {
		case FEED_DATA:
			packets_data(ps, &pc);
			break;
		case FEED_SKIP:
			packet_bad(ps, pc.off, pc.n, pc.p, 0, HWT_PROTO_NONE, "NO_FRAME",
				   pc.cause == HWT_GAP_TRUNCATED ? "part of a frame" :
				   "before the first frame sync");
			break;
		case FEED_BREAK:
		case FEED_SPAN_END:
			packets_eot(ps);
			break;
		case FEED_END:
			ps->done = true;
			break;
		default:
			break;
		}
	}
	*pkt = ps->ring[ps->tail++ % PACKET_RING];
	return 1;
}

static void packets_close(struct hwt_packets *h)
{
	struct packets *ps = (struct packets *)h;

	decs_free(ps->decs, ps->ndecs);
	free(ps);
}

int packets_ocsd_new(struct hwt_packets **out, const struct flow_args *a, struct hwt_diag *diag)
{
	struct packets *ps = calloc(1, sizeof(*ps));
	const struct trace_cfg *cfgs[NSLOTS];
	int rc;

	if (!ps)
		return refuse(diag, a->buf, -ENOMEM);
	ps->ps.next = packets_next;
	ps->ps.close = packets_close;
	ps->buf = a->buf;
	feed_init(&ps->feed, a->buf);
	rc = sort_cfgs(a->buf, cfgs, &ps->ndecs);
	if (rc >= 0) {
		ps->decs = calloc(ps->ndecs ? ps->ndecs : 1, sizeof(*ps->decs));
		rc = ps->decs ? 0 : -ENOMEM;
	}
	pthread_mutex_lock(&lib_lock);
	lib_init();
	for (unsigned i = 0; rc >= 0 && i < ps->ndecs; i++) {
		struct dec *d = &ps->decs[i];

		d->ps = ps;
		src_init(&d->s, a, NULL, cfgs[i]);
		ps->by_id[cfgs[i]->trace_id] = d;
		rc = dec_setup(d, cfgs[i], OCSD_CREATE_FLG_PACKET_PROC, list, NULL);
	}
	pthread_mutex_unlock(&lib_lock);
	if (rc < 0) {
		packets_close(&ps->ps);
		return refuse(diag, a->buf, rc);
	}
	*out = &ps->ps;
	return 0;
}
