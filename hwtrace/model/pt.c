/* SPDX-License-Identifier: BSD-2-Clause */
/* From what a CPU did to what an Intel PT unit has to say about it. */
#include "pt_unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OVF_EVENTS	64	/* an injected overflow swallows as many, if not told */

static const char *const names[MODEL_PT_KINDS] = {
	"pad", "psb", "psbend", "ovf", "tnt.8", "tnt.64", "tip", "tip.pge", "tip.pgd", "fup",
	"mode.exec", "mode.tsx", "pip", "vmcs", "cbr", "tsc", "tma", "mtc", "cyc", "ptw",
};

const char *model_pt_kind_name(unsigned kind)
{
	return kind < MODEL_PT_KINDS ? names[kind] : "";
}

static bool in_limits(const struct model_pt_cfg *c)
{
	return c->nranges <= MODEL_PT_RANGES && c->tnt <= MODEL_PT_TNT_MIX &&
		c->ips <= MODEL_PT_IP_MIX && c->mtc_freq <= 15 && c->cyc_thresh <= 12 &&
		/* FC of TMA has nine bits */
		c->ctc_ebx / c->ctc_eax < 512 && c->cbr_min && c->cbr_min <= c->cbr_max &&
		(!c->buf_bytes || (c->drain_bytes && c->drain_ticks)) &&
		(!c->psb_bytes || c->psb_bytes >= MODEL_PT_PSB_MIN);
}

int model_pt_new(struct model_pt **out, const struct model_pt_cfg *cfg, const struct model_out *to)
{
	struct model_pt_cfg c = *cfg;
	struct model_pt *m;

	c.ctc_eax = c.ctc_eax ? c.ctc_eax : 1;
	c.ctc_ebx = c.ctc_ebx ? c.ctc_ebx : c.ctc_eax;
	c.ratio = c.ratio ? c.ratio : 30;
	c.cbr_min = c.cbr_min ? c.cbr_min : (uint8_t)(c.ratio / 2 + 1);
	c.cbr_max = c.cbr_max ? c.cbr_max : c.ratio;
	c.ovf_events = c.ovf_events ? c.ovf_events : OVF_EVENTS;
	if (!in_limits(&c))
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->cfg = c;
	m->to = *to;
	m->rnd = c.seed;
	m->next = MODEL_UNSEEN;
	m->bits = 64;
	model_pt_init(&m->b, m->room, sizeof(m->room));
	*out = m;
	return 0;
}

void model_pt_free(struct model_pt *m)
{
	free(m);
}

const struct model_pt_count *model_pt_counts(const struct model_pt *m)
{
	return &m->count;
}

static bool known(uint64_t addr)
{
	return addr < MODEL_UNSEEN;
}

/* SDM, "Filter Enable (FilterEn)" */
static bool in_range(const struct model_pt *m, uint64_t ip)
{
	for (unsigned i = 0; i < m->cfg.nranges; i++)
		if (m->cfg.range[i].first <= ip && ip <= m->cfg.range[i].last)
			return true;
	return !m->cfg.nranges;
}

/* SDM, "Context Enable (ContextEn)". Where no level is told, the upper half is the kernel's. */
static bool in_context(const struct model_pt *m, uint64_t ip)
{
	bool user = m->ctx.valid & 4 ? m->ctx.level == 3 : !(ip >> 63);

	return known(ip) && !(user ? m->cfg.no_user : m->cfg.no_kernel);
}

static void enable(struct model_pt *m, uint64_t ip)
{
	m->packet_en = true;
	ptu_exec(m);
	ptu_ip(m, MODEL_PT_PGE, ip);
}

/* @shown: the address is in context, so it is told. */
static void disable(struct model_pt *m, uint64_t ip, bool shown)
{
	ptu_flush(m);
	m->packet_en = false;
	if (shown)
		ptu_ip(m, MODEL_PT_PGD, ip);
	else
		ptu_pgd_noip(m);
}

/*
 * The flow leaves by something that nobody told: as an interrupt into code that is not traced. The
 * trace has to say where, so that must be known.
 */
static int leave(struct model_pt *m)
{
	if (!m->packet_en)
		return 0;
	if (!known(m->next))
		return -EINVAL;
	ptu_flush(m);
	ptu_ip(m, MODEL_PT_FUP, m->next);
	disable(m, 0, false);
	m->context_en = false;
	m->count.async += !m->ovf;
	return 0;
}

/*
 * A far transfer, an interrupt or a new start, now that its target's context is told. SDM, "Packet
 * Generation Scenarios": FUP for what no instruction shows, then PIP and MODE.Exec if they changed,
 * then TIP, or TIP.PGE or TIP.PGD where PacketEn changes.
 */
static void settle(struct model_pt *m, unsigned bits)
{
	bool was = m->packet_en, on;

	if (!m->hold)
		return;
	m->bits = (uint8_t)bits;
	m->next = m->target;
	if (was) {
		ptu_flush(m);
		if (m->hold == PTU_TRAP) {
			ptu_ip(m, MODEL_PT_FUP, m->from);
			m->count.async += !m->ovf;
		}
	}
	m->hold = PTU_NONE;
	m->context_en = in_context(m, m->next);
	on = m->context_en && in_range(m, m->next);
	ptu_pip(m);
	if (was && on) {
		ptu_exec(m);
		ptu_ip(m, MODEL_PT_TIP, m->next);
	} else if (was) {
		disable(m, m->next, m->context_en);
	} else if (on) {
		enable(m, m->next);
	}
}

static void hold(struct model_pt *m, unsigned kind, uint64_t from, uint64_t to)
{
	m->hold = (uint8_t)kind;
	m->from = from;
	m->target = to;
	m->held = m->count.events;
}

static unsigned bits_of(const struct model_pt *m, unsigned isa)
{
	return isa == MODEL_X86_64 ? 64 : isa == MODEL_X86_32 ? 32 : m->bits;
}

static void push(struct model_pt *m, uint64_t ret)
{
	m->ret_top = (m->ret_top + 1) % PTU_RETS;
	m->ret[m->ret_top] = ret;
	m->nret += m->nret < PTU_RETS;
}

/*
 * SDM, "Indirect Transfer Compression for Returns (RET)": each RET takes the youngest entry; if
 * that is where it goes, a taken bit is enough. Else the TNT must be sent first, so that no bit of
 * it can be taken for a compressed return; decoders need not know CTL.DisRETC, so always.
 */
static void near_return(struct model_pt *m, uint64_t to)
{
	bool same = m->nret && m->ret[m->ret_top] == to;

	if (m->nret) {
		m->ret_top = (m->ret_top + PTU_RETS - 1) % PTU_RETS;
		m->nret = m->cfg.ret_clear && !same ? 0 : m->nret - 1;
	}
	m->count.returns += !m->ovf;
	if (m->cfg.retcomp && same) {
		m->count.compressed += !m->ovf;
		ptu_branch(m, true);
		return;
	}
	ptu_flush(m);
	ptu_indirect(m, to);
}

/* Address behind the block; direct calls to there are not on the stack of returns. */
static uint64_t after(const struct model_block *b)
{
	return b->last + b->last_size;
}

/* Where the last instruction went, for what is not told by an address in the trace. */
static uint64_t direct_next(const struct model_event *ev)
{
	const struct model_block *b = ev->block;
	bool jumps = b->kind == MODEL_CALL || (b->kind == MODEL_JUMP && (ev->taken || !b->cond));

	return !jumps ? after(b) : b->target != MODEL_NO_ADDR ? b->target : ev->to;
}

/* The packet of the last instruction of a block, while PacketEn is set and stays. */
static void branch(struct model_pt *m, const struct model_event *ev)
{
	const struct model_block *b = ev->block;

	switch (b->kind) {
	case MODEL_JUMP:
		if (b->cond) {
			m->count.branches += !m->ovf;
			ptu_branch(m, ev->taken);
		}
		break;
	case MODEL_CALL: case MODEL_ICALL:
		if (b->kind == MODEL_ICALL || m->next != after(b))
			push(m, after(b));
		if (b->kind == MODEL_ICALL && known(m->next))
			ptu_indirect(m, m->next);
		break;
	case MODEL_IJUMP:
		if (known(m->next))
			ptu_indirect(m, m->next);
		break;
	case MODEL_RETURN:
		if (known(m->next))
			near_return(m, m->next);
		break;
	case MODEL_PTWRITE:
		m->ptw_at = b->last;
		break;
	default: break;
	}
}

/*
 * A near branch over the edge of an IP filter: TIP.PGD stands for its TNT or TIP and says where it
 * went; TIP.PGE where it comes in. The stack of returns stays as it is: what such a CALL pushed, an
 * unseen RET would have to take.
 */
static void cross(struct model_pt *m)
{
	if (!m->packet_en) {
		enable(m, m->next);
		return;
	}
	disable(m, m->next, true);
}

/* The last instruction of a whole block. */
static int last_insn(struct model_pt *m, const struct model_event *ev)
{
	const struct model_block *b = ev->block;
	bool near_indirect = b->kind == MODEL_IJUMP || b->kind == MODEL_ICALL ||
		b->kind == MODEL_RETURN;

	if (b->kind == MODEL_SYSCALL || b->kind == MODEL_FAR_RETURN || b->kind == MODEL_FAR) {
		hold(m, PTU_FAR, b->last, ev->to);
		return 0;
	}
	/* SDM, "FUP Cases and IP Payload": a software interrupt has a FUP with its own address */
	if (b->kind == MODEL_INT) {
		hold(m, PTU_TRAP, b->last, ev->to);
		return 0;
	}
	if (near_indirect && ev->to == MODEL_UNSEEN && m->packet_en)
		return -EINVAL;		/* a packet would have to name it */
	m->next = near_indirect ? ev->to : direct_next(ev);
	if (m->cfg.nranges && m->context_en && known(m->next) &&
	    in_range(m, m->next) != m->packet_en)
		cross(m);
	else if (m->packet_en)
		branch(m, ev);
	if (!near_indirect && ev->to == MODEL_UNSEEN)
		hold(m, PTU_TRAP, m->next, ev->to);
	return 0;
}

/* Between two instructions, nothing held back: what the unit sends of itself. */
static void boundary(struct model_pt *m, uint64_t event)
{
	/* FUP can not tell the code size, and MODE.Exec goes with TIP only: it lasts on */
	if (m->ovf && (!m->packet_en || (known(m->next) && m->bits == m->bits_sent))) {
		if (m->ovf_left)
			m->ovf_left--;
		else if (!ptu_full(m))
			ptu_ovf_end(m, event);
	}
	if (m->cfg.psb_bytes && m->count.bytes - m->psb_at >= m->cfg.psb_bytes && !m->ovf &&
	    (!m->packet_en || known(m->next)))
		ptu_psb(m);
}

static int run(struct model_pt *m, const struct model_event *ev, uint64_t event)
{
	const struct model_block *b = ev->block;
	unsigned bits = bits_of(m, b->isa);

	settle(m, bits);
	boundary(m, event);
	if (m->next != b->first || m->bits != bits) {
		m->count.jumps += known(m->next);
		if (leave(m))
			return -EINVAL;
		hold(m, PTU_ENTER, m->next, b->first);
		settle(m, bits);
	}
	ptu_time_to(m, ev->tick);
	if (ev->insns < b->insns) {
		m->next = MODEL_NO_ADDR;	/* the TRAP that follows says where */
		return 0;
	}
	return last_insn(m, ev);
}

static bool same_context(const struct model_ctx *a, const struct model_ctx *b)
{
	return a->aspace == b->aspace && a->level == b->level && a->isa == b->isa &&
		a->valid == b->valid;
}

/*
 * MOV to CR3: what else changes the address space is a far transfer and held. It has a PIP also if
 * the value is the same; a recorder tells that by the same context once more.
 */
static void context(struct model_pt *m, const struct model_event *ev)
{
	bool again = same_context(&m->ctx, &ev->ctx);

	m->ctx = ev->ctx;
	if (m->hold || !m->started)
		return;
	ptu_time_to(m, ev->tick);
	if (again)
		m->aspace_known = false;
	if (m->ctx.valid & 4 ? m->ctx.level < 3 : known(m->next) && m->next >> 63)
		ptu_pip(m);
}

static bool sane(const struct model_event *ev)
{
	switch (ev->op) {
	case MODEL_RUN: return ev->block && ev->insns <= ev->block->insns;
	case MODEL_VALUE: return ev->size == 4 || ev->size == 8;
	case MODEL_TRAP: return known(ev->from);
	default: return ev->op <= MODEL_END;
	}
}

static void start(struct model_pt *m, const struct model_event *ev)
{
	m->started = true;
	ptu_time_start(m, ev->tick);
	ptu_psb(m);
}

static int take(struct model_pt *m, const struct model_event *ev, uint64_t event)
{
	unsigned bits = bits_of(m, m->ctx.isa);

	switch (ev->op) {
	case MODEL_RUN:
		return run(m, ev, event);
	case MODEL_TRAP:
		settle(m, bits);
		m->next = ev->from;
		boundary(m, event);
		ptu_time_to(m, ev->tick);
		hold(m, PTU_TRAP, ev->from, ev->to);
		break;
	case MODEL_ENTER:
		settle(m, bits);
		boundary(m, event);
		if (leave(m))
			return -EINVAL;
		ptu_time_to(m, ev->tick);
		hold(m, PTU_ENTER, m->next, ev->to);
		break;
	case MODEL_CONTEXT:
		context(m, ev);
		break;
	case MODEL_VALUE:
		if (m->cfg.ptw && m->packet_en && !m->hold)
			ptu_ptw(m, ev->value, ev->size);
		break;
	default:
		ptu_time_to(m, ev->tick);
		return model_pt_end(m);
	}
	return 0;
}

int model_pt_put(struct model_pt *m, const struct model_event *ev)
{
	uint64_t event = m->count.events;
	int rc;

	if (m->err)
		return m->err;
	if (m->ended || !sane(ev))
		return -EINVAL;
	if (!m->started && ev->op != MODEL_CONTEXT)
		start(m, ev);
	if (m->started && !m->ovf && ev->op < MODEL_CONTEXT &&
	    ((m->cfg.ovf_every && !ptu_rnd(m, m->cfg.ovf_every)) || ptu_full(m))) {
		ptu_ovf_begin(m, m->hold ? m->held : event);
		m->ovf_left = m->cfg.ovf_every ? ptu_rnd(m, m->cfg.ovf_events) : 0;
	}
	rc = take(m, ev, event);
	m->count.events = event + 1;
	return m->err ? m->err : rc;
}

int model_pt_leave(struct model_pt *m, uint64_t pc, uint64_t tick)
{
	if (m->err)
		return m->err;
	if (m->ended || !m->started || !known(pc))
		return -EINVAL;
	settle(m, m->bits);
	m->next = pc;
	boundary(m, m->count.events++);
	ptu_time_to(m, tick);
	if (!m->packet_en)
		return m->err;
	leave(m);
	ptu_stop(m);
	return m->err;
}

int model_pt_end(struct model_pt *m)
{
	if (m->ended)
		return m->err;
	m->ended = true;
	settle(m, m->bits);
	if (m->ovf) {
		m->packet_en &= known(m->next) && m->bits == m->bits_sent;
		ptu_ovf_end(m, m->count.events);
	}
	leave(m);
	ptu_flush(m);
	ptu_deliver(m);
	return m->err;
}
