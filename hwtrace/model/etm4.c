/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the PE did, to elements (Arm IHI 0064, chapter 5). A P0 element closes a run of
 * instructions that began at @start, where the P0 element before it led; where that is, and in
 * what context, is told when the next P0 element is made.
 */
#include "etm4.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "etm4_pkt.h"

#define RET_STACK 3		/* return addresses kept; a decoder keeps more, IHI 0064 5.3.3 */
#define OVERFLOW_LEN 16

/* Exception types of A-profile PEs, IHI 0064 6.4.11. */
enum {
	EXC_HALT = 1, EXC_CALL = 2, EXC_TRAP = 3, EXC_SERROR = 4, EXC_INST_DEBUG = 6,
	EXC_INST_FAULT = 0xb, EXC_DATA_FAULT = 0xc, EXC_IRQ = 0xe, EXC_FIQ = 0xf
};

struct model_etm4 {
	struct model_etm4_cfg cfg;
	struct etm4_pkt k;
	struct model_etm4_count count;
	uint64_t index;			/* of the present event */
	uint64_t tick;			/* of the event before */

	bool on;			/* trace is being generated */
	bool need_sync;
	bool need_addr;			/* where @start is has not been told */
	bool indirect;			/* ... and the P0 element before is an indirect branch */
	bool matchable;			/* ... that the return stack may tell */
	bool eret;			/* ... and an exception return */
	uint64_t start;			/* first instruction without P0 element */
	uint64_t start_tick;		/* it ran after this */
	uint64_t pc;			/* next instruction, as the event before said */
	uint8_t isa;			/* enum model_isa at @start, 0: not known */
	uint8_t last_isa;		/* ... at the one before */
	uint64_t unproven;		/* RUN events since @start */
	uint32_t swallow;		/* RUN events that the overflow still takes */

	struct etm4_ctx ctx, ctx_next;	/* of @start, and what comes behind the next P0 element */
	bool ctx_waits;
	struct { uint64_t a; uint8_t isa; } ret[RET_STACK];
	unsigned nret;

	uint64_t cc_base;		/* cycles at the last cycle count */
	bool cc_known;
	uint64_t ts_tick;		/* of the last timestamp */
};

static uint64_t scale(uint64_t t, uint32_t mul, uint32_t div)
{
	return (uint64_t)((unsigned __int128)t * (mul ? mul : 1) / (div ? div : 1));
}

static uint64_t cycles_at(const struct model_etm4 *m, uint64_t tick)
{
	return scale(tick, m->cfg.cc_mul, m->cfg.cc_div);
}

static unsigned is(unsigned isa)
{
	return isa == MODEL_T32;
}

static bool excluded(const struct model_etm4 *m)
{
	return m->cfg.exclude >> m->ctx.el & 1;
}

/* Events before @to that left nothing behind. */
static void lost(struct model_etm4 *m, uint64_t to)
{
	if (m->k.to.lost && m->k.proven < to)
		m->k.to.lost(m->k.to.arg, m->k.proven, to);
	m->k.proven = to;
}

/* Nothing is known of what comes next. */
static void off(struct model_etm4 *m)
{
	m->on = m->need_addr = m->indirect = m->matchable = m->eret = false;
	m->unproven = 0;
	if (m->ctx_waits)
		m->ctx = m->ctx_next;
	m->ctx_waits = false;
}

/*
 * Trace stops here: nothing says so, but the next trace on. Instructions since the last P0
 * element can not be told any more.
 */
static void turn_off(struct model_etm4 *m)
{
	etm4_flush_atoms(&m->k);
	if (m->eret)
		etm4_exception_return(&m->k);
	if (m->unproven) {
		m->count.unproven += m->unproven;
		lost(m, m->index);
	}
	off(m);
}

static void timestamp(struct model_etm4 *m, uint64_t tick)
{
	uint64_t cycles = cycles_at(m, tick);

	etm4_timestamp(&m->k, scale(tick, m->cfg.ts_mul, m->cfg.ts_div),
		       m->cc_known && cycles > m->cc_base ? cycles - m->cc_base : 0);
	m->ts_tick = tick;
}

static void sync(struct model_etm4 *m)
{
	etm4_sync(&m->k);
	m->need_sync = false;
	m->nret = 0;
	if (m->cfg.timestamps)
		timestamp(m, m->start_tick);
	if (m->on)
		m->need_addr = true;
	m->matchable = false;
}

static void turn_on(struct model_etm4 *m)
{
	if (m->need_sync)
		sync(m);
	etm4_trace_on(&m->k);
	m->on = true;
	m->need_addr = true;
	m->nret = 0;
	m->k.ctx_known = false;
}

/* True if the return stack tells where the branch went. */
static bool matched(struct model_etm4 *m)
{
	if (!m->matchable)
		return false;
	m->matchable = false;
	if (!m->nret || m->ret[m->nret - 1].a != m->start ||
	    is(m->ret[m->nret - 1].isa) != is(m->isa)) {
		m->count.ret_missed++;
		return false;
	}
	m->nret--;
	m->count.ret_matched++;
	return true;
}

/*
 * Before a P0 element: all that a decoder needs to walk from @start. @exception: it is one, taken
 * before any instruction ran; its own address may tell @start then: true is returned.
 */
static bool prepare(struct model_etm4 *m, bool exception)
{
	struct etm4_pkt *k = &m->k;
	unsigned period = m->cfg.sync_period;

	if (m->isa)
		m->ctx.sf = m->isa == MODEL_A64;
	m->last_isa = m->isa;
	if (!m->on) {
		turn_on(m);
	} else if (m->need_sync || (period && k->since_sync >> period)) {
		etm4_flush_atoms(k);
		etm4_commit(k);
		sync(m);
	}
	if (m->need_addr && matched(m))
		m->need_addr = false;
	if (exception && m->cfg.exc_at_target && m->indirect && m->need_addr && !m->eret &&
	    etm4_same_ctx(k, &m->ctx)) {
		etm4_flush_atoms(k);
		m->indirect = m->need_addr = false;
		return true;
	}
	if (m->need_addr || !etm4_same_ctx(k, &m->ctx)) {
		etm4_flush_atoms(k);
		etm4_place(k, &m->ctx, m->need_addr, m->start, is(m->isa));
	}
	if (m->eret)
		etm4_exception_return(k);
	m->need_addr = m->indirect = m->eret = false;
	return false;
}

/* Behind a P0 element: the next run begins at @to. What the element was has been set before. */
static void begin(struct model_etm4 *m, uint64_t tick, uint64_t to)
{
	struct etm4_pkt *k = &m->k;
	uint64_t cycles = cycles_at(m, tick) - m->cc_base;

	if (m->cfg.cycles && (!m->cc_known || cycles >= etm4_cc_threshold(&m->cfg))) {
		etm4_flush_atoms(k);
		if (m->cfg.commit1)
			etm4_commit(k);
		etm4_cycles(k, cycles, m->cc_known);
		m->cc_base += cycles;
		m->cc_known = true;
	}
	if (m->cfg.timestamps && m->cfg.ts_every && tick - m->ts_tick >= m->cfg.ts_every) {
		etm4_flush_atoms(k);
		timestamp(m, tick);
	}
	if (m->k.spec && !m->cfg.greedy && !etm4_rnd(k, 8)) {
		etm4_flush_atoms(k);
		etm4_commit(k);
	}
	if (m->cfg.event_every && !etm4_rnd(k, m->cfg.event_every)) {
		etm4_flush_atoms(k);
		etm4_event(k, 1 + etm4_rnd(k, 15));
	}
	m->start = m->pc = to;
	m->start_tick = tick;
	m->isa = 0;
	m->unproven = 0;
	if (m->ctx_waits)
		m->ctx = m->ctx_next;
	m->ctx_waits = false;
}

static void exception(struct model_etm4 *m, unsigned type, uint64_t from,
		      const struct model_event *ev)
{
	bool at_target = prepare(m, from == m->start && !m->unproven);

	etm4_flush_atoms(&m->k);
	etm4_exception(&m->k, type, at_target);
	etm4_address(&m->k, from, is(m->isa));
	m->k.proven = m->index + 1;
	m->need_addr = true;
	begin(m, ev->tick, ev->to);
	if (ev->to >= MODEL_UNSEEN)
		turn_off(m);
}

static void push_return(struct model_etm4 *m, const struct model_block *b)
{
	if (!m->cfg.ret_stack)
		return;
	if (m->nret == RET_STACK)
		memmove(m->ret, m->ret + 1, --m->nret * sizeof(m->ret[0]));
	m->ret[m->nret].a = b->last + b->last_size;
	m->ret[m->nret++].isa = b->isa;
}

/* A branch, or an instruction that is traced like one. */
static void waypoint(struct model_etm4 *m, const struct model_event *ev, bool taken)
{
	const struct model_block *b = ev->block;
	bool link = b->kind == MODEL_CALL || b->kind == MODEL_ICALL;
	bool indirect = b->kind == MODEL_IJUMP || b->kind == MODEL_RETURN ||
		b->kind == MODEL_ICALL || b->kind == MODEL_FAR_RETURN || b->kind == MODEL_FAR;

	prepare(m, false);
	etm4_atom(&m->k, taken, m->index);
	if (taken && link)
		push_return(m, b);
	if (taken && indirect) {
		m->need_addr = m->indirect = true;
		m->matchable = m->cfg.ret_stack && (b->kind == MODEL_IJUMP ||
						    b->kind == MODEL_RETURN);
		m->eret = b->kind == MODEL_FAR_RETURN;
	}
	begin(m, ev->tick, ev->to);
	if (ev->to >= MODEL_UNSEEN)
		turn_off(m);
}

/* The unit's buffer is full: atoms that wait are gone, and what comes is, for a while. */
static bool overflows(struct model_etm4 *m)
{
	struct etm4_pkt *k = &m->k;

	if (m->swallow) {
		m->count.overflow_events++;
		if (!--m->swallow)
			lost(m, m->index + 1);
		return true;
	}
	if (!m->cfg.overflow_every || !m->on || etm4_rnd(k, m->cfg.overflow_every))
		return false;
	if (m->eret && !k->natoms)
		etm4_exception_return(k);
	etm4_commit(k);
	k->atoms = k->natoms = 0;
	etm4_overflow(k);
	off(m);
	m->cc_known = false;
	m->need_sync = true;
	m->swallow = 1 + etm4_rnd(k, m->cfg.overflow_len ? m->cfg.overflow_len : OVERFLOW_LEN);
	return overflows(m);
}

static bool executed(const struct model_event *ev)
{
	return !ev->block->cond || ev->taken;
}

/* What the last instruction of a whole block is to the trace unit. */
static void last_insn(struct model_etm4 *m, const struct model_event *ev)
{
	const struct model_block *b = ev->block;

	switch (b->kind) {
	case MODEL_PLAIN:
	case MODEL_PTWRITE:
		break;
	case MODEL_WAIT:
		if (m->cfg.wfx_branch)
			waypoint(m, ev, executed(ev));
		break;
	case MODEL_SYSCALL:
		if (executed(ev))
			exception(m, EXC_CALL, b->last + b->last_size, ev);
		break;
	default:
		waypoint(m, ev, executed(ev));
		break;
	}
}

/* Whether the flow went on where the instructions say that it does. */
static bool follows(const struct model_event *ev)
{
	const struct model_block *b = ev->block;
	uint64_t next = b->last + b->last_size;

	switch (b->kind) {
	case MODEL_JUMP:
	case MODEL_CALL:
		if (executed(ev))
			next = b->target;
		break;
	case MODEL_PLAIN:
	case MODEL_PTWRITE:
	case MODEL_WAIT:
	case MODEL_BARRIER:
		break;
	default:
		if (executed(ev))
			return true;
	}
	return ev->to >= MODEL_UNSEEN || ev->to == next;
}

static void run(struct model_etm4 *m, const struct model_event *ev)
{
	const struct model_block *b = ev->block;

	if (excluded(m) || overflows(m)) {
		m->start = m->pc = ev->to;
		m->start_tick = ev->tick;
		m->isa = 0;
		return;
	}
	if ((m->on || m->unproven) && b->first != m->pc)
		turn_off(m);
	if (!m->on && !m->unproven) {
		m->start = b->first;
		m->start_tick = m->tick;
		m->isa = 0;
		m->k.proven = m->index;
	}
	if (!m->isa)
		m->isa = b->isa;
	m->unproven++;
	m->pc = ev->to;
	if (ev->insns != b->insns)
		return;
	last_insn(m, ev);
	if (!follows(ev)) {
		m->index++;	/* it is over */
		turn_off(m);
		m->index--;
	}
}

static unsigned exception_type(unsigned trap)
{
	switch (trap) {
	case MODEL_TRAP_IRQ:		return EXC_IRQ;
	case MODEL_TRAP_NMI:		return EXC_FIQ;
	case MODEL_TRAP_INST_FAULT:	return EXC_INST_FAULT;
	case MODEL_TRAP_DATA_FAULT:	return EXC_DATA_FAULT;
	case MODEL_TRAP_UNDEFINED:	return EXC_TRAP;
	case MODEL_TRAP_DEBUG:		return EXC_INST_DEBUG;
	case MODEL_TRAP_HALT:		return EXC_HALT;
	default:			return EXC_SERROR;
	}
}

static void trap(struct model_etm4 *m, const struct model_event *ev)
{
	if (excluded(m) || m->swallow) {
		m->start = m->pc = ev->to;
		m->start_tick = ev->tick;
		return;
	}
	if ((m->on || m->unproven) && m->pc < MODEL_UNSEEN && m->pc != ev->from)
		turn_off(m);
	if (!m->on && !m->unproven) {
		m->start = ev->from;
		m->start_tick = m->tick;
		m->isa = 0;
		m->k.proven = m->index;
	}
	if (!m->isa)
		m->isa = ev->ctx.isa ? ev->ctx.isa : m->last_isa;
	exception(m, exception_type(ev->trap), ev->from, ev);
}

static void context(struct model_etm4 *m, const struct model_ctx *c)
{
	struct etm4_ctx *to = &m->ctx;

	if (m->unproven) {
		if (!m->ctx_waits)
			m->ctx_next = m->ctx;
		m->ctx_waits = true;
		to = &m->ctx_next;
	}
	if (c->valid & 1)
		to->cid = (uint32_t)c->aspace;
	if (c->valid & 2)
		to->vmid = m->cfg.vmid_size == 1 ? c->vmid & 0xff : c->vmid;
	if (c->valid & 4)
		to->el = c->level & 3;
	to->ns = !c->secure;
	if (c->isa)
		to->sf = c->isa == MODEL_A64;
	if ((m->on || m->unproven) && excluded(m))
		turn_off(m);
}

int model_etm4_put(struct model_etm4 *m, const struct model_event *ev)
{
	switch (ev->op) {
	case MODEL_RUN:
		run(m, ev);
		break;
	case MODEL_TRAP:
		trap(m, ev);
		break;
	case MODEL_ENTER:
		turn_off(m);
		m->start = m->pc = ev->to;
		m->start_tick = ev->tick;
		break;
	case MODEL_CONTEXT:
		context(m, &ev->ctx);
		break;
	default:
		break;
	}
	m->tick = ev->tick;
	m->index++;
	m->count.events = m->index;
	if (m->k.n > sizeof(m->k.out) / 2)
		etm4_send(&m->k);
	return m->k.err;
}

int model_etm4_end(struct model_etm4 *m)
{
	turn_off(m);
	if (m->swallow)
		lost(m, m->index);
	m->swallow = 0;
	etm4_commit(&m->k);
	etm4_send(&m->k);
	return m->k.err;
}

static bool bad(const struct model_etm4_cfg *c)
{
	if (!c->trace_id || c->trace_id > 0x6f)
		return true;
	if (c->vmid_size && c->vmid_size != 1 && c->vmid_size != 4)
		return true;
	if (c->sync_period && (c->sync_period < 8 || c->sync_period > 20))
		return true;
	if (c->cc_bits && (c->cc_bits < 12 || c->cc_bits > 20))
		return true;
	/* a cycle count that commits needs something that waits for it */
	return c->cc_threshold >> 12 || c->cc_format2 > 2 ||
		(c->cycles && !c->commit1 && !c->max_spec);
}

int model_etm4_new(struct model_etm4 **out, const struct model_etm4_cfg *cfg,
		   const struct model_out *to)
{
	struct model_etm4 *m;

	if (bad(cfg) || !to->put)
		return -EINVAL;
	m = calloc(1, sizeof(*m));
	if (!m)
		return -ENOMEM;
	m->cfg = *cfg;
	m->k.cfg = &m->cfg;
	m->k.count = &m->count;
	m->k.to = *to;
	m->k.rnd = cfg->seed;
	m->need_sync = true;
	m->ctx.ns = 1;
	*out = m;
	return 0;
}

void model_etm4_free(struct model_etm4 *m)
{
	free(m);
}

const struct model_etm4_count *model_etm4_counts(const struct model_etm4 *m)
{
	return &m->count;
}

/* IHI 0064 7.3; fields not named are those of a unit without data trace. */
void model_etm4_regs(struct model_etm4_regs *out, const struct model_etm4_cfg *c)
{
	/* WFXMODE came with ETMv4.3, VMIDs of 32 bits with ETMv4.1 */
	unsigned minor = c->wfx_branch ? 3 : c->vmid_size == 4 ? 1 : 0;

	memset(out, 0, sizeof(*out));
	out->configr = 1 | (uint32_t)!!c->cycles << 4 | (uint32_t)!!c->cid << 6 |
		(uint32_t)!!c->vmid_size << 7 | (uint32_t)!!c->timestamps << 11 |
		(uint32_t)!!c->ret_stack << 12;
	out->traceidr = c->trace_id;
	out->syncpr = c->sync_period;
	out->ccctlr = c->cycles ? etm4_cc_threshold(c) : 0;
	/* TRCCCI, RETSTACK, four events, timestamps of 64 bits */
	out->idr[0] = 1 | 1 << 7 | 1 << 9 | 3 << 10 | 8 << 24 | (uint32_t)!!c->commit1 << 29;
	out->idr[1] = 0x4100f400 | minor << 4;
	out->idr[2] = (c->addr32 ? 4 : 8) | 4 << 5 | (uint32_t)c->vmid_size << 10 |
		(etm4_cc_bits(c) - 12) << 25 | (uint32_t)!!c->wfx_branch << 31;
	out->idr[8] = c->max_spec;
	out->devarch = 0x47704a13 | minor << 16;
}
