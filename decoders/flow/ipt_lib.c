/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_lib.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <intel-pt.h>

#include "flow.h"

/*
 * libipt maps code in sections, each with a table of 8 bytes a byte, of which only what is used is
 * ever touched. Address space of both that stays: less than a program needs means starting again.
 */
#define CODE_CACHE	(1ULL << 34)
#define WALK_CALLS	32	/* and jumps in a row; more may be code that goes on for ever */
#define SECTION_MAX	(8ULL << 20)	/* bytes of code in one section */

struct ipt_lib {
	struct pt_config cfg;
	struct pt_image_section_cache *isc;
	ipt_lib_read *read;
	void *ctx;
};

/* --- configuration --- */

/* Address filter ranges; TraceStop ranges are of the other kind. SDM, "IA32_RTIT_CTL MSR". */
static void set_filter(struct pt_conf_addr_filter *af, const struct trace_cfg *c)
{
	uint64_t *const a[4] = { &af->addr0_a, &af->addr1_a, &af->addr2_a, &af->addr3_a };
	uint64_t *const b[4] = { &af->addr0_b, &af->addr1_b, &af->addr2_b, &af->addr3_b };

	for (unsigned i = 0; i < 4 && i < c->r.pt.nfilter; i++) {
		*a[i] = c->r.pt.filter[i][0];
		*b[i] = c->r.pt.filter[i][1];
		af->config.addr_cfg |= (c->r.pt.filter_stop >> i & 1 ? 2ull : 1ull) << (4 * i);
	}
}

static void set_config(struct pt_config *p, const struct trace_cfg *c)
{
	pt_config_init(p);
	/*
	 * Blocks that are ranges: without direct calls and jumps inside; calls are counted. And
	 * libipt 2.0.5 calls itself for each jump that does not end a block: one that jumps to
	 * itself overflows a stack of 8 MiB.
	 */
	p->flags.variant.block.end_on_call = 1;
	p->flags.variant.block.end_on_jump = 1;
	if (!c)
		return;
	if (c->r.pt.family) {
		p->cpu = (struct pt_cpu){ .vendor = pcv_intel, .family = c->r.pt.family,
			.model = c->r.pt.model, .stepping = c->r.pt.stepping };
		pt_cpu_errata(&p->errata, &p->cpu);	/* a CPU it does not know has none */
	}
	/*
	 * A PSB with a FUP right before an enable is a contradiction but for this erratum; the
	 * parts that have it are more than the library knows.
	 */
	p->errata.bdm70 = 1;
	/* MTC gives time only with the ratio to the crystal; without it the TSC packets remain */
	p->mtc_freq = c->r.pt.mtc_freq;
	p->nom_freq = c->r.pt.nom_freq;
	p->cpuid_0x15_eax = c->r.pt.cpuid_15_eax;
	p->cpuid_0x15_ebx = c->r.pt.cpuid_15_ebx;
	set_filter(&p->addr_filter, c);
}

int ipt_lib_new(struct ipt_lib **out, const struct trace_cfg *cfg, ipt_lib_read *read, void *ctx)
{
	struct ipt_lib *l = calloc(1, sizeof(*l));

	if (!l)
		return -ENOMEM;
	l->read = read;
	l->ctx = ctx;
	l->isc = pt_iscache_alloc(NULL);
	if (!l->isc || pt_iscache_set_limit(l->isc, CODE_CACHE) < 0) {
		ipt_lib_free(l);
		return -ENOMEM;
	}
	set_config(&l->cfg, cfg);
	*out = l;
	return 0;
}

void ipt_lib_free(struct ipt_lib *l)
{
	if (!l)
		return;
	pt_iscache_free(l->isc);
	free(l);
}

bool ipt_lib_cyc_cut(const struct ipt_lib *l)
{
	return l->cfg.errata.skd007;
}

const char *flow_ipt_version(void)
{
	static char text[32];
	struct pt_version v = pt_library_version();

	snprintf(text, sizeof(text), "libipt %u.%u.%u", v.major, v.minor, v.patch);
	return text;
}

const char *flow_ipt_error(int32_t code)
{
	const char *words = code > 0 ? pt_errstr((enum pt_error_code)code) : NULL;

	/* its answer to a number that is no code of its own */
	return words && strcmp(words, pt_errstr((enum pt_error_code)INT32_MAX)) ? words : NULL;
}

/* --- code --- */

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *ctx)
{
	struct ipt_lib *l = ctx;
	int n = l->read(l->ctx, ip, buf, size);

	return n > 0 ? n : -pte_nomap;
}

struct pt_image *ipt_lib_image_new(struct ipt_lib *l)
{
	struct pt_image *img = pt_image_alloc(NULL);

	if (img)
		pt_image_set_callback(img, read_code, l);
	return img;
}

void ipt_lib_image_free(struct pt_image *img)
{
	pt_image_free(img);
}

void ipt_lib_image_add(struct ipt_lib *l, struct pt_image *img, const struct image_section *s)
{
	for (uint64_t at = 0; at < s->size; at += SECTION_MAX) {
		uint64_t n = s->size - at < SECTION_MAX ? s->size - at : SECTION_MAX;
		int isid = pt_iscache_add_file(l->isc, s->path, s->file_off + at, n, s->addr + at);

		if (isid <= 0)
			return;
		pt_image_add_cached(img, l->isc, isid, NULL);
	}
}

/* --- decoders --- */

struct pt_block_decoder *ipt_lib_open(const struct ipt_lib *l, const uint8_t *begin,
				      const uint8_t *end)
{
	struct pt_config cfg = l->cfg;

	cfg.begin = (uint8_t *)(uintptr_t)begin;
	cfg.end = (uint8_t *)(uintptr_t)end;
	return pt_blk_alloc_decoder(&cfg);
}

void ipt_lib_close(struct pt_block_decoder *d)
{
	pt_blk_free_decoder(d);
}

void ipt_lib_use(struct pt_block_decoder *d, struct pt_image *img)
{
	pt_blk_set_image(d, img);
}

_Static_assert((int)IPT_LIB_EVENT == (int)pts_event_pending &&
	       (int)IPT_LIB_NO_IP == (int)pts_ip_suppressed && (int)IPT_LIB_END == (int)pts_eos,
	       "status bits are handed on");

int ipt_lib_sync(struct pt_block_decoder *d, uint64_t psb)
{
	return pt_blk_sync_set(d, psb);
}

bool ipt_lib_offset(struct pt_block_decoder *d, uint64_t *off)
{
	return pt_blk_get_offset(d, off) >= 0;
}

bool ipt_lib_time(struct pt_block_decoder *d, uint64_t *tsc)
{
	return pt_blk_time(d, tsc, NULL, NULL) == 0;
}

static const uint8_t isas[] = {
	[ptem_unknown] = HWT_ISA_UNKNOWN, [ptem_16bit] = HWT_ISA_X86_16,
	[ptem_32bit] = HWT_ISA_X86_32, [ptem_64bit] = HWT_ISA_X86_64,
};

static const uint8_t kinds[] = {
	[ptic_error] = HWT_INSN_OTHER, [ptic_other] = HWT_INSN_OTHER, [ptic_call] = HWT_INSN_CALL,
	[ptic_return] = HWT_INSN_RETURN, [ptic_jump] = HWT_INSN_JUMP,
	[ptic_cond_jump] = HWT_INSN_BRANCH, [ptic_far_call] = HWT_INSN_FAR_CALL,
	[ptic_far_return] = HWT_INSN_FAR_RETURN, [ptic_far_jump] = HWT_INSN_FAR_JUMP,
	[ptic_ptwrite] = HWT_INSN_PTWRITE,
};

#define PICK(table, i)	((unsigned)(i) < sizeof(table) ? (table)[i] : 0)

static void plain_block(struct ipt_block *out, const struct pt_block *b)
{
	out->ip = b->ip;
	out->end_ip = b->end_ip;
	out->insns = b->ninsn;
	out->isa = PICK(isas, b->mode);
	out->kind = PICK(kinds, b->iclass);
	out->cut = b->truncated ? b->size : 0;
}

int ipt_lib_next(struct pt_block_decoder *d, struct ipt_block *out)
{
	struct pt_block b = { 0 };
	int status = pt_blk_next(d, &b, sizeof(b));

	plain_block(out, &b);
	return status;
}

/* False if the call leads to the next instruction: no return address is kept for it. */
static bool call_returns(struct ipt_lib_walk *w, const struct pt_block *b, uint64_t *ret)
{
	const struct ipt_code_insn *in = ipt_code_at(w->code, w->image, &w->where, w->gen,
						     PICK(isas, b->mode), b->end_ip);

	*ret = b->end_ip + (b->truncated ? b->size : in->size);
	return in->kind != HWT_INSN_CALL || in->target != *ret;
}

int ipt_lib_walk(struct pt_block_decoder *d, struct ipt_lib_walk *w, struct ipt_block *last)
{
	struct pt_block b = { 0 };
	uint64_t insns = 0, ret, low = 0, off = 0, end_ip = w->end_ip;
	unsigned steps = 0, calls = 0, most = w->most;
	bool branch = false, after_ret = w->ret, apart = false;
	bool agree = true;	/* as the caller saw */
	int status;

	w->fresh = true;
	w->stale = false;
	for (;;) {
		if (after_ret)
			ipt_lib_offset(d, &off);
		status = pt_blk_next(d, &b, sizeof(b));
		steps++;
		if (status || !b.ninsn)
			break;
		if (after_ret) {
			after_ret = false;
			if (!ipt_rets_went(w->rets, b.ip)) {
				w->stale = true;
				break;
			}
			agree = ipt_rets_agree(w->rets);
		}
		if (b.iclass == ptic_cond_jump) {
			calls = 0;
			branch = true;
		} else if (b.iclass == ptic_return) {
			calls = 0;
			branch = true;
			after_ret = agree;
			apart = !agree;
		} else if ((b.iclass == ptic_call || b.iclass == ptic_jump) &&
			   calls++ < WALK_CALLS) {
			if (b.iclass == ptic_call && call_returns(w, &b, &ret)) {
				ipt_rets_call(w->rets, ret);
				agree = ipt_rets_agree(w->rets);
			}
		} else {
			break;
		}
		insns += b.ninsn;
		low |= ~b.ip;
		end_ip = b.end_ip;
		/* behind a RET it is not known yet */
		if (steps == most || (!after_ret && !agree)) {
			w->fresh = false;
			break;
		}
	}
	plain_block(last, &b);
	w->ret = after_ret;
	w->apart = apart;
	w->end_ip = end_ip;
	w->off = off;
	w->branch = branch;
	w->user = low >> 47;
	w->steps = steps;
	w->insns = insns;
	return status;
}

/* --- events --- */

/* What a power event says, laid out as in its packet (SDM, "PWRE Packet", "PWRX Packet"). */
static uint64_t pwre_bits(const struct pt_event *e)
{
	return (uint64_t)e->variant.pwre.hw << 7 | (uint64_t)e->variant.pwre.sub_state << 8 |
		(uint64_t)e->variant.pwre.state << 12;
}

static uint64_t pwrx_bits(const struct pt_event *e)
{
	return e->variant.pwrx.last | (uint64_t)e->variant.pwrx.deepest << 4 |
		(uint64_t)e->variant.pwrx.interrupt << 8 |
		(uint64_t)e->variant.pwrx.store << 10 |
		(uint64_t)e->variant.pwrx.autonomous << 11;
}

static void set(struct ipt_lib_event *out, enum ipt_lib_type type, uint64_t ip, uint64_t value)
{
	out->type = type;
	out->ip = ip;
	out->value = value;
}

static void power(struct ipt_lib_event *out, const struct pt_event *e)
{
	switch (e->type) {
	case ptev_exstop:
		set(out, IPT_LIB_EXSTOP, e->variant.exstop.ip, 0);
		break;
	case ptev_mwait:
		set(out, IPT_LIB_MWAIT, e->variant.mwait.ip, e->variant.mwait.hints |
		    (uint64_t)e->variant.mwait.ext << 32);
		break;
	case ptev_pwre:
		set(out, IPT_LIB_PWRE, HWT_NO_ADDR, pwre_bits(e));
		break;
	default:
		set(out, IPT_LIB_PWRX, HWT_NO_ADDR, pwrx_bits(e));
		break;
	}
}

static void plain(struct ipt_lib_event *out, const struct pt_event *e)
{
	switch (e->type) {
	case ptev_enabled:
		set(out, IPT_LIB_ENABLED, e->variant.enabled.ip, 0);
		out->resumed = e->variant.enabled.resumed;
		break;
	case ptev_disabled:
		set(out, IPT_LIB_DISABLED, e->variant.disabled.ip, 0);
		break;
	case ptev_async_disabled:
		/* the suppressed address is that where tracing would go on */
		set(out, IPT_LIB_ASYNC_DISABLED, e->variant.async_disabled.at, 0);
		return;
	case ptev_async_branch:
		set(out, IPT_LIB_ASYNC_BRANCH, e->variant.async_branch.from, 0);
		out->to = e->ip_suppressed ? HWT_NO_ADDR : e->variant.async_branch.to;
		return;
	case ptev_paging:
		set(out, IPT_LIB_CR3, HWT_NO_ADDR, e->variant.paging.cr3);
		break;
	case ptev_async_paging:
		set(out, IPT_LIB_CR3, HWT_NO_ADDR, e->variant.async_paging.cr3);
		break;
	case ptev_vmcs:
		set(out, IPT_LIB_VMCS, HWT_NO_ADDR, e->variant.vmcs.base);
		break;
	case ptev_async_vmcs:
		set(out, IPT_LIB_VMCS, HWT_NO_ADDR, e->variant.async_vmcs.base);
		break;
	case ptev_overflow:
		set(out, IPT_LIB_OVERFLOW, HWT_NO_ADDR, 0);
		break;
	case ptev_tsx:
		set(out, IPT_LIB_TSX, e->variant.tsx.ip, e->variant.tsx.aborted ? HWT_TX_ABORT :
		    e->variant.tsx.speculative ? HWT_TX_BEGIN : HWT_TX_COMMIT);
		break;
	case ptev_stop:
		set(out, IPT_LIB_STOP, HWT_NO_ADDR, 0);
		break;
	case ptev_exstop: case ptev_mwait: case ptev_pwre: case ptev_pwrx:
		power(out, e);
		break;
	case ptev_ptwrite:
		set(out, IPT_LIB_PTWRITE, e->variant.ptwrite.ip, e->variant.ptwrite.payload);
		out->size = e->variant.ptwrite.size;
		break;
	case ptev_cbr:
		set(out, IPT_LIB_CBR, HWT_NO_ADDR, e->variant.cbr.ratio);
		break;
	case ptev_exec_mode:
		set(out, IPT_LIB_EXEC, HWT_NO_ADDR, e->variant.exec_mode.mode != ptem_64bit);
		break;
	case ptev_tick:		/* not asked for */
	case ptev_mnt:		/* given without its bytes: taken from the packet */
		set(out, IPT_LIB_OTHER, HWT_NO_ADDR, 0);
		break;
	}
	if (out->no_ip)
		out->ip = HWT_NO_ADDR;
}

int ipt_lib_event(struct pt_block_decoder *d, struct ipt_lib_event *out)
{
	struct pt_event e;
	int status = pt_blk_event(d, &e, sizeof(e));

	*out = (struct ipt_lib_event){ .type = IPT_LIB_OTHER, .ip = HWT_NO_ADDR,
		.to = HWT_NO_ADDR };
	if (status < 0)
		return status;
	out->update = e.status_update;
	out->has_tsc = e.has_tsc;
	out->tsc = e.tsc;
	out->no_ip = e.ip_suppressed;
	plain(out, &e);
	return status;
}

/* --- errors --- */

static unsigned cause_of(enum pt_error_code code)
{
	switch (code) {
	case pte_eos: return HWT_GAP_NONE;
	case pte_nomap: return HWT_GAP_NO_IMAGE;
	case pte_bad_insn: case pte_bad_query: case pte_bad_retcomp: return HWT_GAP_BAD_IMAGE;
	case pte_retstack_empty: return HWT_GAP_NO_RETURN;
	case pte_noip: case pte_ip_suppressed: return HWT_GAP_NO_PATH;
	case pte_bad_packet: case pte_bad_opc: return HWT_GAP_BAD_PACKET;
	/* good packets that can not follow those before: what stood between is missing */
	case pte_bad_context: case pte_no_enable: case pte_bad_status_update: return HWT_GAP_BREAK;
	/* pte_nomem too: mostly it says that its small queue of events is full */
	default: return HWT_GAP_LIB;
	}
}

struct ipt_lib_fault ipt_lib_fault(int status)
{
	enum pt_error_code code = pt_errcode(status);
	struct ipt_lib_fault f = { .code = (int)code, .cause = (uint16_t)cause_of(code) };

	switch (code) {
	case pte_nomap: case pte_bad_insn:
		f.came = f.behind = true;	/* to the end of what is known */
		break;
	case pte_retstack_empty: case pte_bad_query:
		f.came = true;			/* to a branch */
		break;
	default:
		break;
	}
	return f;
}
