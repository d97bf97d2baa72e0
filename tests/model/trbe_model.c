// SPDX-License-Identifier: GPL-2.0-only
/* Fields are those of the Arm ARM's register descriptions, TRBLIMITR_EL1 to TRBIDR_EL1. */
#include "tests/model/trbe_model.h"

enum { LIMITR, PTR, BASER, SR, MAR, MPAM, TRG, IDR };

static void bad(struct trbe_model *m, enum trbe_rule rule, uint32_t reg)
{
	rules_break(&m->rules, rule, reg);
}

static bool on(const struct trbe_model *m)
{
	return m->limitr & 1;
}

static unsigned int mode(const struct trbe_model *m)
{
	return m->limitr >> 1 & 3;
}

static unsigned int trigger_mode(const struct trbe_model *m)
{
	return m->limitr >> 3 & 3;
}

static void interrupt(struct trbe_model *m)
{
	m->sr |= 1ull << 22;
	m->interrupts++;
}

/* Collection stops: EC, EA and the code of MSS. */
static void stop(struct trbe_model *m, uint64_t status)
{
	m->sr = (m->sr & ~0xfc00ffffull) | status | 1ull << 17;
	m->k.npending = 0;
	interrupt(m);
}

static void store(struct trbe_model *m, uint8_t b)
{
	uint64_t at = m->ptr - m->k.mem_base;
	bool round;

	if (m->sr & 1ull << 17) {
		m->k.dropped++;
		return;
	}
	if (m->fault_at && at == m->fault_at) {
		stop(m, 0x24ull << 26 | 7);	/* translation fault, level 3 */
		return;
	}
	if (m->abort_after && m->k.stored >= m->abort_after) {
		stop(m, 0x24ull << 26 | 1ull << 18 | 0x10);
		return;
	}
	if (sink_model_store(&m->k, &m->ptr, m->baser, m->limitr & ~0xfffull, &b, 1, &round))
		bad(m, TRBE_R_MEMORY, PTR);
	m->unseen = true;
	if (round) {
		m->sr |= 1ull << 20;
		if (mode(m) == 0)
			stop(m, 1);
		else if (mode(m) == 1)
			interrupt(m);
	}
}

static void drain(struct trbe_model *m)
{
	uint8_t p[sizeof(m->k.pending)];
	uint32_t n = m->k.npending;

	memcpy(p, m->k.pending, n);
	m->k.npending = 0;
	for (uint32_t i = 0; i < n; i++)
		store(m, p[i]);
}

static bool collects(const struct trbe_model *m)
{
	return on(m) && !(m->sr & 1ull << 17);
}

static void trigger_event(struct trbe_model *m)
{
	m->trigger_runs = false;
	m->sr |= 1ull << 21;
	if (trigger_mode(m) == 0) {
		drain(m);
		if (!(m->sr & 1ull << 17))
			stop(m, 2);
	} else if (trigger_mode(m) == 1) {
		interrupt(m);
	}
}

void trbe_model_trace(struct trbe_model *m, const uint8_t *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!collects(m)) {
			m->k.dropped += n - i;
			return;
		}
		sink_model_note(&m->k, p + i, 1);
		m->k.pending[m->k.npending++] = p[i];
		if (m->k.npending == sizeof(m->k.pending))
			drain(m);
		if (m->trigger_runs && m->trigger_left-- <= 1)
			trigger_event(m);
	}
}

void trbe_model_trigger(struct trbe_model *m)
{
	if (!collects(m))
		return;
	m->trigger_left = m->trg;
	m->trigger_runs = true;
	if (!m->trigger_left)
		trigger_event(m);
}

const uint8_t *trbe_model_look(struct trbe_model *m)
{
	if (m->unseen)
		bad(m, TRBE_R_UNSEEN, 0);
	return m->k.mem;
}

static bool may_touch(struct trbe_model *m, uint32_t reg)
{
	if (reg > IDR || reg == MPAM || reg == MAR) {
		bad(m, TRBE_R_WAY, reg);
		return false;
	}
	/* only what says so may be looked at */
	if (m->u.owned && reg != IDR) {
		bad(m, TRBE_R_OWNED, reg);
		return false;
	}
	return true;
}

static uint64_t read_it(struct trbe_model *m, uint32_t reg)
{
	if (!may_touch(m, reg))
		return 0;
	if ((reg == PTR || reg == SR) && m->unsettled_off)
		bad(m, TRBE_R_SETTLE_OFF, reg);
	if (reg == PTR && on(m))
		bad(m, TRBE_R_POINTER, reg);
	switch (reg) {
	case LIMITR: return m->limitr;
	case PTR: return m->ptr;
	case BASER: return m->baser;
	case SR: return m->sr;
	case TRG: return m->trg;
	default: return m->u.align | (uint64_t)m->u.owned << 4 | 1u << 5;
	}
}

static void check_start(struct trbe_model *m)
{
	static const uint8_t all[] = { PTR, BASER, SR, LIMITR };
	uint64_t limit = m->limitr & ~0xfffull;

	for (unsigned int i = 0; i < sizeof(all); i++)
		if (!(m->set >> all[i] & 1))
			bad(m, TRBE_R_UNSET, all[i]);
	if (!trigger_mode(m) && !(m->set >> TRG & 1))
		bad(m, TRBE_R_UNSET, TRG);
	if (m->unsettled_on)
		bad(m, TRBE_R_SETTLE_ON, LIMITR);
	if (m->sr & 1ull << 17)
		bad(m, TRBE_R_STOPPED, SR);
	if (mode(m) == 2 || trigger_mode(m) == 2)
		bad(m, TRBE_R_RESERVED, LIMITR);
	if (m->ptr < m->baser || m->ptr >= limit || m->ptr & ((1ull << m->u.align) - 1))
		bad(m, TRBE_R_PLACE, PTR);
	m->k.npending = 0;
	m->trigger_runs = false;
}

static void write_limitr(struct trbe_model *m, uint64_t v)
{
	if (v & 0xfe0)
		bad(m, TRBE_R_RESERVED, LIMITR);
	if (v & 1 && !on(m)) {
		/* with E, nothing else of it may change: both would take effect at once */
		if ((v ^ m->limitr) & ~1ull)
			bad(m, TRBE_R_SETTLE_ON, LIMITR);
		m->limitr = v;
		check_start(m);
		if (m->u.stuck_off)
			m->limitr &= ~1ull;
		return;
	}
	if (!(v & 1) && on(m)) {
		if (m->k.npending && !(m->sr & 1ull << 17)) {
			bad(m, TRBE_R_DRAIN, LIMITR);
			m->k.npending = 0;
		}
		m->unsettled_off = true;
	} else if (on(m)) {
		bad(m, TRBE_R_ENABLED, LIMITR);
		return;
	}
	m->limitr = v;
	m->set |= 1u << LIMITR;
	m->unsettled_on = true;
}

static void write_it(struct trbe_model *m, uint32_t reg, uint64_t v)
{
	if (!may_touch(m, reg))
		return;
	if (reg == IDR) {
		bad(m, TRBE_R_READ_ONLY, reg);
		return;
	}
	if (reg == LIMITR) {
		write_limitr(m, v);
		return;
	}
	if (on(m)) {
		bad(m, TRBE_R_ENABLED, reg);
		return;
	}
	m->set |= 1u << reg;
	m->unsettled_on = true;
	switch (reg) {
	case PTR:
		m->ptr = v;
		break;
	case BASER:
		if (v & 0xfff)
			bad(m, TRBE_R_RESERVED, reg);
		m->baser = v & ~0xfffull;
		break;
	case SR:
		m->sr = v;
		break;
	default:
		if (v >> 32)
			bad(m, TRBE_R_RESERVED, reg);
		m->trg = (uint32_t)v;
		break;
	}
}

static bool refused(struct trbe_model *m)
{
	return ++m->accesses == m->fail_at;
}

static int r_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	bad((struct trbe_model *)r, TRBE_R_WAY, reg);
	*v = 0;
	return 0;
}

static int r_wr32(struct hwreg *r, u32 reg, u32 v)
{
	bad((struct trbe_model *)r, TRBE_R_WAY, reg);
	return 0;
}

static int r_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	struct trbe_model *m = (struct trbe_model *)r;

	if (refused(m))
		return -EFAULT;
	*v = read_it(m, reg);
	return 0;
}

static int r_wr64(struct hwreg *r, u32 reg, u64 v)
{
	struct trbe_model *m = (struct trbe_model *)r;

	if (refused(m))
		return -EFAULT;
	write_it(m, reg, v);
	return 0;
}

static void r_barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	struct trbe_model *m = (struct trbe_model *)r;

	if (kind == HWREG_CONTEXT)
		m->unsettled_on = m->unsettled_off = false;
	if (kind == HWREG_TRACE && on(m))
		drain(m);
	if (kind == HWREG_MEMORY)
		m->unseen = false;
}

static void r_relax(struct hwreg *r)
{
}

void trbe_model_log(struct trbe_model *m, uint8_t *log, uint64_t cap)
{
	sink_model_log(&m->k, log, cap);
}

void trbe_model_end(struct trbe_model *m)
{
	if (on(m) || m->sr & 1ull << 22)
		bad(m, TRBE_R_LEFT, LIMITR);
}

void trbe_model_init(struct trbe_model *m, const struct trbe_unit *u, uint8_t *mem, uint64_t base,
		     uint64_t bytes)
{
	static const char *const text[] = {
#define X(id, words) words,
		TRBE_RULES(X)
#undef X
	};

	memset(m, 0, sizeof(*m));
	m->r = (struct hwreg){ r_rd32, r_wr32, r_rd64, r_wr64, r_barrier, r_relax };
	m->u = *u;
	m->rules.text = text;
	m->k.mem = mem;
	m->k.mem_base = base;
	m->k.mem_bytes = bytes;
	/* what a reset leaves has no meaning, but for E */
	m->limitr = 0x123456000 | 2u << 1;
	m->ptr = m->baser = 0x777000;
	m->sr = 1ull << 17;
	m->trg = 0x55;
}
