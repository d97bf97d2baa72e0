// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sections are those of Arm IHI 0064, "Embedded Trace Macrocell Architecture Specification". Longer
 * than other files: registers, rules and behaviour of one unit share one state.
 */
#include "tests/model/etm4_model.h"

enum {
	PRGCTLR = 0x004, STATR = 0x00c, TSCTLR = 0x030, SYNCPR = 0x034, CCCTLR = 0x038,
	CONFIGR = 0x010, BBCTLR = 0x03c, TRACEIDR = 0x040, VICTLR = 0x080, VIIECTLR = 0x084,
	VISSCTLR = 0x088, SEQSTR = 0x11c, CNTRLDVR = 0x140, CNTCTLR = 0x150, CNTVR = 0x160,
	RSCTLR = 0x200, SSCSR = 0x2a0, OSLAR = 0x300, OSLSR = 0x304, PDCR = 0x310, PDSR = 0x314,
	ACVR = 0x400, ACATR = 0x480, CIDCVR = 0x600, VMIDCVR = 0x640, CIDCCTLR = 0x680,
	VMIDCCTLR = 0x688, CLAIMSET = 0xfa0, CLAIMCLR = 0xfa4, LAR = 0xfb0, LSR = 0xfb4,
	DEVARCH = 0xfbc, TRFCR = 0x10000
};

/* Of a register, in the order in which rules look at them. */
enum { NO, ID, STATUS, CONFIG, ALWAYS, CONTROL };
#define CORE	0x10	/* in the core power domain (3.4) */
#define WIDE	0x20	/* half of one of 64 bits */
#define MEMORY	0x40	/* no system register */
#define KIND(k)	((k) & 15)

static uint32_t bits(uint32_t v, unsigned int lo, unsigned int n)
{
	return v >> lo & ((1u << n) - 1);
}

static uint32_t ones(uint32_t n)
{
	return n >= 32 ? ~0u : (1u << n) - 1;
}

static void bad(struct etm4_model *m, enum etm4_rule rule, uint32_t reg)
{
	rules_break(&m->rules, rule, reg);
}

static uint32_t rnd(struct etm4_model *m)
{
	m->seed ^= m->seed << 13;
	m->seed ^= m->seed >> 17;
	m->seed ^= m->seed << 5;
	return m->seed;
}

static void have(struct etm4_model *m, uint32_t reg, unsigned int n, uint8_t kind, uint32_t mask)
{
	for (unsigned int i = 0; i < n; i++) {
		m->kind[reg / 4 + i] = kind;
		m->mask[reg / 4 + i] = mask;
	}
}

static void have_wide(struct etm4_model *m, uint32_t reg, unsigned int n, uint32_t lo, uint32_t hi)
{
	for (unsigned int i = 0; i < n; i++) {
		have(m, reg + 8 * i, 1, CONFIG | CORE | WIDE, lo);
		have(m, reg + 8 * i + 4, 1, CONFIG | CORE | WIDE, hi);
	}
}

static unsigned int pairs(const struct etm4_model *m)
{
	return bits(m->u.id[4], 0, 4);
}

static unsigned int contexts(const struct etm4_model *m)
{
	return bits(m->u.id[4], 24, 4);
}

static unsigned int vmids(const struct etm4_model *m)
{
	return bits(m->u.id[4], 28, 4);
}

static unsigned int singles(const struct etm4_model *m)
{
	return bits(m->u.id[4], 20, 4);
}

static unsigned int counters(const struct etm4_model *m)
{
	return bits(m->u.id[5], 28, 3);
}

/* NUMRSPAIR is one less than what there is, but for 0 from ETMv4.3 on (7.3, TRCIDR4). */
static unsigned int selectors(const struct etm4_model *m)
{
	unsigned int n = bits(m->u.id[4], 16, 4);

	return n || (!m->u.ete && m->u.minor < 3) ? 2 * (n + 1) : 0;
}

/* The options that TRCCONFIGR has. */
static uint32_t config_mask(const struct etm4_model *m)
{
	uint32_t id0 = m->u.id[0], id2 = m->u.id[2], mask = 1;

	if (bits(id0, 1, 2))
		mask |= 3u << 1;
	mask |= bits(id0, 5, 1) << 3 | bits(id0, 7, 1) << 4;
	mask |= bits(id2, 5, 5) ? 1u << 6 : 0;
	mask |= bits(id2, 10, 5) ? 1u << 7 : 0;
	mask |= bits(id0, 6, 1) ? 7u << 8 : 0;
	mask |= bits(id0, 24, 5) ? 1u << 11 : 0;
	mask |= bits(id0, 9, 1) << 12;
	mask |= bits(id0, 15, 2) << 13;
	mask |= bits(id2, 29, 2) == 1 ? 1u << 15 : 0;
	mask |= bits(id0, 3, 2) ? 3u << 16 : 0;
	return mask;
}

static void build_filters(struct etm4_model *m)
{
	unsigned int np = pairs(m), nr = selectors(m), ins = bits(m->u.id[5], 9, 3), n;
	uint32_t levels = bits(m->u.id[3], 16, 4) << 8 | bits(m->u.id[3], 20, 4) << 12;

	have(m, VICTLR, 1, ALWAYS | CORE, 0x9f | 3u << 9 | bits(m->u.id[3], 24, 1) << 11 |
	     bits(m->u.id[3], 16, 4) << 16 | bits(m->u.id[3], 20, 3) << 20 |
	     bits(m->u.id[6], 0, 3) << 24);
	if (np) {
		have(m, VIIECTLR, 1, ALWAYS | CORE, ones(np) | ones(np) << 16);
		have(m, VISSCTLR, 1, ALWAYS | CORE, ones(2 * np) | ones(2 * np) << 16);
	}
	n = bits(m->u.id[4], 12, 4);
	have(m, 0x08c, !!n, ALWAYS | CORE, ones(n) | ones(n) << 16);
	have(m, 0x2c0, n ? singles(m) : 0, CONFIG | CORE, ones(n));
	if (bits(m->u.id[0], 3, 2))
		have(m, 0x0a0, 3, CONFIG | CORE, ~0u);
	if (bits(m->u.id[5], 25, 3)) {
		have(m, 0x100, 3, CONFIG | CORE, 0x9f9f);
		have(m, 0x118, 1, CONFIG | CORE, 0x9f);
		have(m, SEQSTR, 1, CONFIG | CORE, 3);
	}
	have(m, 0x120, m->u.ete ? ins : !!ins, CONFIG | CORE,
	     m->u.ete ? 0xffff : ones(8 * ins));
	have(m, CNTRLDVR, counters(m), CONFIG | CORE, 0xffff);
	have(m, CNTCTLR, counters(m), CONFIG | CORE, 0x19f9f);
	for (n = 1; n < counters(m); n += 2)
		m->mask[CNTCTLR / 4 + n] |= 1u << 17;
	have(m, CNTVR, counters(m), CONFIG | CORE, 0xffff);
	for (n = 2; n < nr; n++)
		have(m, RSCTLR + 4 * n, 1, CONFIG | CORE, n & 1 ? 0x17ffff : 0x37ffff);
	have(m, 0x280, singles(m), CONFIG | CORE, 1u << 24 | ones(np) << 16 | ones(2 * np));
	have(m, SSCSR, singles(m), CONFIG | CORE, 0x8000000f);
	have_wide(m, ACVR, 2 * np, ~0u, bits(m->u.id[2], 0, 5) == 8 ? ~0u : 0);
	have_wide(m, ACATR, 2 * np, 0x7c | levels | (bits(m->u.id[0], 3, 2) ? 3 : 0), 0);
	have_wide(m, CIDCVR, contexts(m), ones(8 * bits(m->u.id[2], 5, 5)), 0);
	have_wide(m, VMIDCVR, vmids(m), ones(8 * bits(m->u.id[2], 10, 5)), 0);
	for (n = 0; n < contexts(m); n++) {
		have(m, CIDCCTLR + n / 4 * 4, 1, CONFIG | CORE,
		     m->mask[CIDCCTLR / 4 + n / 4] | 0xfu << n % 4 * 8);
	}
	for (n = 0; n < vmids(m); n++)
		have(m, VMIDCCTLR + n / 4 * 4, 1, CONFIG | CORE,
		     m->mask[VMIDCCTLR / 4 + n / 4] | 0xfu << n % 4 * 8);
}

/* Which registers there are, and which of their bits (7.3). */
static void build(struct etm4_model *m)
{
	const uint32_t *id = m->u.id;
	uint32_t events = bits(id[0], 10, 2) + 1;

	memset(m->kind, NO, sizeof(m->kind));
	memset(m->mask, 0, sizeof(m->mask));
	have(m, PRGCTLR, 1, CONTROL | CORE, 1);
	have(m, STATR, 1, STATUS | CORE, 0);
	have(m, CONFIGR, 1, ALWAYS | CORE, config_mask(m));
	have(m, 0x018, 1, CONFIG | CORE, ~0u);	/* TRCAUXCTLR */
	if (selectors(m) || !m->u.ete) {
		have(m, 0x020, 1, ALWAYS | CORE, 0x9f9f9f9f & ones(8 * events));
		have(m, 0x024, 1, ALWAYS | CORE, ones(events) | bits(id[5], 22, 1) << 11 |
		     bits(id[5], 23, 1) << 12);
	}
	have(m, 0x028, m->u.ete, ALWAYS | CORE, 0x1f0f);
	if (bits(id[3], 26, 1) || bits(id[3], 31, 1))
		have(m, 0x02c, 1, ALWAYS | CORE, 0xf | bits(id[3], 26, 1) << 8 |
		     bits(id[3], 31, 1) << 13);
	have(m, TSCTLR, !!bits(id[0], 24, 5), ALWAYS | CORE, 0x9f);
	have(m, SYNCPR, 1, bits(id[3], 25, 1) ? ID | CORE : ALWAYS | CORE, 0x1f);
	have(m, CCCTLR, bits(id[0], 7, 1), CONFIG | CORE, 0xfff);
	have(m, BBCTLR, bits(id[0], 5, 1), CONFIG | CORE, 1u << 8 | ones(pairs(m)));
	have(m, TRACEIDR, !!bits(id[5], 16, 6), ALWAYS | CORE, 0x7f);
	have(m, 0x044, bits(id[0], 14, 1), CONFIG | CORE, 0x1ff);
	have(m, 0x180, 6, ID | CORE, 0);
	have(m, 0x1e0, 8, ID | CORE, 0);
	build_filters(m);
	have(m, OSLAR, 1, CONTROL | CORE, 1);
	have(m, OSLSR, 1, STATUS | CORE, 0);
	have(m, PDCR, 1, CONTROL | MEMORY, 8);
	have(m, PDSR, 1, STATUS | MEMORY, 0);
	have(m, CLAIMSET, 1, CONTROL | CORE, m->u.claims);
	have(m, CLAIMCLR, 1, CONTROL | CORE, m->u.claims);
	have(m, LAR, 1, CONTROL | MEMORY, ~0u);
	have(m, LSR, 1, STATUS | MEMORY, 0);
	have(m, 0xfb8, 18, ID, 0);	/* AUTHSTATUS to CIDR3 */
}

/* What an access sees of the state. */
static void show(struct etm4_model *m)
{
	m->now[STATR / 4] = (uint32_t)m->idle | (uint32_t)m->stable << 1;
	m->now[PDSR / 4] = m->core;
	m->now[LSR / 4] = m->u.soft_lock ? 1u | (uint32_t)m->soft_locked << 1 : 0;
	m->now[OSLSR / 4] = (m->u.os_lock == ETM4_OSLOCK_UNIT ? 8u :
		m->u.os_lock == ETM4_OSLOCK_CPU ? 16u : 0) | (uint32_t)m->os_locked << 1;
	m->now[CLAIMSET / 4] = m->u.claims;
	m->now[LAR / 4] = m->now[OSLAR / 4] = 0;
}

/* What a reset leaves, on power of the core domain. */
static void lose_core(struct etm4_model *m)
{
	for (unsigned int i = 0; i < 1024; i++) {
		m->set[i] = false;
		if (KIND(m->kind[i]) == CONFIG || KIND(m->kind[i]) == ALWAYS)
			m->now[i] = rnd(m) & m->mask[i];
	}
	m->now[PRGCTLR / 4] = 0;
	m->now[CLAIMCLR / 4] = 0;
	m->ours = 0;
	m->idle = m->stable = true;
	m->os_locked = m->u.os_lock == ETM4_OSLOCK_UNIT;
	m->idle_in = m->stable_in = m->start_in = ETM4_NEVER;
}

void etm4_model_reset(struct etm4_model *m)
{
	build(m);
	memset(m->now, 0, sizeof(m->now));
	lose_core(m);
	for (unsigned int i = 0; i < 7; i++)
		m->now[0x1e0 / 4 + i] = m->u.id[i];
	/* Arm; ETE or ETMv4, and its revision */
	m->now[DEVARCH / 4] = 0x47700000 | (uint32_t)m->u.minor << 16 |
		(m->u.ete ? 0x5a13 : 0x4a13);
	m->now[0xfcc / 4] = 0x13;
	m->core = m->u.system || m->u.power_delay == 0;
	m->power_in = ETM4_NEVER;
	m->soft_locked = m->u.soft_lock;
	m->unsettled = m->drained = false;
	m->trfcr = 0;
	m->was_os_locked = m->os_locked;
	show(m);
}

/* Time passes: one access, or one relax(). */
static bool comes(uint32_t *in)
{
	return *in != ETM4_NEVER && (*in)-- == 0;
}

static void tick(struct etm4_model *m)
{
	if (comes(&m->power_in)) {
		m->core = true;
		m->power_in = ETM4_NEVER;
	}
	if (comes(&m->stable_in)) {
		m->stable = true;
		m->stable_in = ETM4_NEVER;
	}
	if (comes(&m->idle_in)) {
		m->idle = true;
		m->idle_in = ETM4_NEVER;
	}
	if (comes(&m->start_in)) {
		m->idle = m->stable = false;
		m->start_in = ETM4_NEVER;
	}
	show(m);
}

/* What both reading and writing must keep; false: the access goes nowhere. */
static bool may_touch(struct etm4_model *m, uint32_t reg)
{
	uint8_t k = reg < 0x1000 && !(reg & 3) ? m->kind[reg / 4] : NO;

	if (!m->u.power_known)
		bad(m, ETM4_R_POWER_UNKNOWN, reg);
	if (KIND(k) == NO) {
		bad(m, ETM4_R_ABSENT, reg);
		return false;
	}
	if (m->u.system && k & MEMORY) {
		bad(m, ETM4_R_WAY, reg);
		return false;
	}
	if (k & CORE && !m->core) {
		bad(m, ETM4_R_POWER, reg);
		return false;
	}
	if (m->os_locked && (KIND(k) == CONFIG || KIND(k) == ALWAYS))
		bad(m, ETM4_R_OS_LOCK, reg);
	return true;
}

/* The unit changes these while it runs. */
static bool changes(uint32_t reg)
{
	return reg == VICTLR || reg == SEQSTR || (reg >= CNTVR && reg < CNTVR + 16) ||
		(reg >= SSCSR && reg < SSCSR + 32);
}

uint32_t etm4_model_read(struct etm4_model *m, uint32_t reg)
{
	uint32_t v;

	if (!may_touch(m, reg)) {
		tick(m);
		return 0;
	}
	if (reg == STATR && m->unsettled)
		bad(m, ETM4_R_SETTLE, reg);
	if (changes(reg) && !m->stable)
		bad(m, ETM4_R_STABLE, reg);
	v = m->now[reg / 4];
	tick(m);
	return v;
}

/* The selector @n is used: it and what it selects must be there, and be programmed. */
static void check_selector(struct etm4_model *m, uint32_t n)
{
	uint32_t v, group, select, most;

	if (n < 2)
		return;
	if (n >= selectors(m)) {
		bad(m, ETM4_R_RESERVED, RSCTLR + 4 * n);
		return;
	}
	if (!m->set[RSCTLR / 4 + n])
		bad(m, ETM4_R_UNSET, RSCTLR + 4 * n);
	v = m->now[RSCTLR / 4 + n];
	group = bits(v, 16, 4);
	select = bits(v, 0, 16);
	most = group == 2 ? counters(m) : group == 3 ? singles(m) : group == 4 ? 2 * pairs(m) :
		group == 5 ? pairs(m) : group == 6 ? contexts(m) : group == 7 ? vmids(m) : 4;
	if (group > 7 || select & ~(ones(most) | (group == 2 ? 0xf0 : 0)))
		bad(m, ETM4_R_RESERVED, RSCTLR + 4 * n);
	for (unsigned int i = 0; i < most; i++) {
		uint32_t reg = group == 2 ? CNTCTLR + 4 * i : group == 6 ? CIDCVR + 8 * i :
			group == 7 ? VMIDCVR + 8 * i : 0;
		uint32_t other = group == 2 ? CNTVR + 4 * i : group == 6 ? CIDCCTLR + i / 4 * 4 :
			group == 7 ? VMIDCCTLR + i / 4 * 4 : 0;

		if (!(select >> i & 1) || !reg)
			continue;
		if (!m->set[reg / 4])
			bad(m, ETM4_R_UNSET, reg);
		if (!m->set[other / 4])
			bad(m, ETM4_R_UNSET, other);
	}
}

static void check_event(struct etm4_model *m, uint32_t event)
{
	if (event & 0x80) {
		check_selector(m, 2 * (event & 15));
		check_selector(m, 2 * (event & 15) + 1);
	} else {
		check_selector(m, event & 31);
	}
}

static uint64_t wide(const struct etm4_model *m, uint32_t reg)
{
	return m->now[reg / 4] | (uint64_t)m->now[reg / 4 + 1] << 32;
}

static void check_ranges(struct etm4_model *m)
{
	uint32_t used = m->now[VIIECTLR / 4] | m->now[VIIECTLR / 4] >> 16;

	for (unsigned int i = 0; i < pairs(m); i++) {
		if (!(used >> i & 1))
			continue;
		for (unsigned int k = 0; k < 4; k++)
			if (!m->set[(ACVR + 16 * i) / 4 + k] || !m->set[(ACATR + 16 * i) / 4 + k])
				bad(m, ETM4_R_UNSET, ACVR + 16 * i);
		/* 2.8: unpredictable */
		if (wide(m, ACVR + 16 * i) > wide(m, ACVR + 16 * i + 8))
			bad(m, ETM4_R_RESERVED, ACVR + 16 * i);
	}
}

/* All that matters when it begins. */
static void check_start(struct etm4_model *m)
{
	uint32_t v, config = m->now[CONFIGR / 4];

	for (unsigned int i = 0; i < 1024; i++)
		if (KIND(m->kind[i]) == ALWAYS && !m->set[i])
			bad(m, ETM4_R_UNSET, 4 * i);
	if (config & 8 && !m->set[BBCTLR / 4])
		bad(m, ETM4_R_UNSET, BBCTLR);
	if (config & 16 && (!m->set[CCCTLR / 4] || m->now[CCCTLR / 4] < bits(m->u.id[3], 0, 12)))
		bad(m, m->set[CCCTLR / 4] ? ETM4_R_RESERVED : ETM4_R_UNSET, CCCTLR);
	v = m->now[SYNCPR / 4];
	if (!bits(m->u.id[3], 25, 1) && v && (v < 8 || v > 20))
		bad(m, ETM4_R_RESERVED, SYNCPR);
	v = m->now[TRACEIDR / 4];
	if (m->kind[TRACEIDR / 4] && (!v || v >= 0x70))
		bad(m, ETM4_R_RESERVED, TRACEIDR);
	check_event(m, m->now[VICTLR / 4] & 0xff);
	if (config & 1u << 11)
		check_event(m, m->now[TSCTLR / 4] & 0xff);
	check_ranges(m);
}

static void write_enable(struct etm4_model *m, uint32_t v)
{
	bool was = m->now[PRGCTLR / 4] & 1;

	m->now[PRGCTLR / 4] = v & 1;
	/* in memory, accesses of one unit stay in order */
	m->unsettled = m->u.system;
	if (v & 1 && !was) {
		if (!m->idle)
			bad(m, ETM4_R_RESTART, PRGCTLR);
		check_start(m);
		m->drained = false;
		m->idle_in = m->stable_in = ETM4_NEVER;
		m->start_in = m->u.start_delay;
	} else if (!(v & 1) && was) {
		if (!m->drained || m->trfcr & 3)
			bad(m, ETM4_R_DRAIN, PRGCTLR);
		m->start_in = ETM4_NEVER;
		if (!m->idle || m->u.idle_delay) {
			m->idle = m->stable = false;
			m->idle_in = m->u.idle_delay;
			m->stable_in = m->u.stable_delay;
		}
	}
}

static void write_control(struct etm4_model *m, uint32_t reg, uint32_t v)
{
	switch (reg) {
	case PRGCTLR:
		write_enable(m, v);
		break;
	case OSLAR:
		if (m->u.os_lock == ETM4_OSLOCK_UNIT)
			m->os_locked = v & 1 || m->u.os_stuck;
		else
			bad(m, ETM4_R_CPU_LOCK, reg);
		break;
	case PDCR:
		m->now[PDCR / 4] = v & 8;
		if (v & 8 && !m->core)
			m->power_in = m->u.power_delay;
		break;
	case CLAIMSET:
		if (m->now[CLAIMCLR / 4] & ~m->ours)
			bad(m, ETM4_R_CLAIM_OTHER, reg);
		m->ours |= v & ~m->now[CLAIMCLR / 4] & m->u.claims;
		m->now[CLAIMCLR / 4] |= v & m->u.claims;
		break;
	case CLAIMCLR:
		if (v & m->now[CLAIMCLR / 4] & ~m->ours)
			bad(m, ETM4_R_CLAIM_OTHER, reg);
		m->now[CLAIMCLR / 4] &= ~v;
		m->ours &= ~v;
		break;
	default:	/* LAR */
		m->soft_locked = m->u.soft_lock && (v != 0xc5acce55 || m->u.soft_stuck);
		break;
	}
}

/* Only a claim tag may be set without one, and power and locks are for all. */
static bool needs_claim(uint32_t reg)
{
	return reg != CLAIMSET && reg != CLAIMCLR && reg != LAR && reg != PDCR;
}

void etm4_model_write(struct etm4_model *m, uint32_t reg, uint32_t v)
{
	uint8_t k;

	if (!may_touch(m, reg))
		goto out;
	k = KIND(m->kind[reg / 4]);
	if (k == ID || k == STATUS) {
		bad(m, ETM4_R_READ_ONLY, reg);
		goto out;
	}
	if (m->soft_locked && reg != LAR) {
		bad(m, ETM4_R_SOFT_LOCK, reg);
		goto out;
	}
	if (v & ~m->mask[reg / 4] && reg != CLAIMCLR)
		bad(m, ETM4_R_RESERVED, reg);
	if (needs_claim(reg) && !m->ours)
		bad(m, ETM4_R_CLAIM, reg);
	if (k == CONTROL) {
		write_control(m, reg, v);
		goto out;
	}
	/* 7.3: it might ignore the write */
	if (m->now[PRGCTLR / 4] & 1 || !m->idle) {
		bad(m, ETM4_R_ENABLED, reg);
		goto out;
	}
	m->set[reg / 4] = true;
	m->now[reg / 4] = v & m->mask[reg / 4];
out:
	tick(m);
}

void etm4_model_barrier(struct etm4_model *m, enum hwreg_barrier kind)
{
	/* while tracing is allowed, there is more to come */
	if (kind == HWREG_TRACE)
		m->drained = !(m->trfcr & 3);
	else if (kind == (m->u.system ? HWREG_CONTEXT : HWREG_MEMORY))
		m->unsettled = false;
}

void etm4_model_claim(struct etm4_model *m, uint32_t tags)
{
	m->now[CLAIMCLR / 4] |= tags;
	m->ours &= ~tags;
}

void etm4_model_enable(struct etm4_model *m)
{
	m->os_locked = m->was_os_locked = false;
	m->now[PRGCTLR / 4] = 1;
	m->idle = m->stable = false;
	show(m);
}

void etm4_model_end(struct etm4_model *m)
{
	if (m->ours || m->os_locked != m->was_os_locked || m->now[PDCR / 4] || m->trfcr & 3 ||
	    (m->u.soft_lock && !m->soft_locked))
		bad(m, ETM4_R_LEFT, 0);
	if (m->now[PRGCTLR / 4] & 1 && m->set[CONFIGR / 4])
		bad(m, ETM4_R_LEFT, PRGCTLR);
}

/* Resource selector @n, with nothing active but comparators (2.8, 2.9). */
static bool active(const struct etm4_model *m, uint32_t n, const struct etm4_at *at)
{
	uint32_t v = m->now[RSCTLR / 4 + n], group = bits(v, 16, 4);
	bool hit = false;

	if (n < 2)
		return n;
	for (unsigned int i = 0; i < 8; i++) {
		if (!(v >> i & 1))
			continue;
		if (group == 6 && m->now[CIDCVR / 4 + 2 * i] == at->context)
			hit = true;
		if (group == 7 && m->now[VMIDCVR / 4 + 2 * i] == at->vmid)
			hit = true;
	}
	return hit != (v >> 20 & 1);
}

static bool in_ranges(const struct etm4_model *m, uint32_t set, uint64_t address)
{
	for (unsigned int i = 0; i < pairs(m); i++)
		if (set >> i & 1 && address >= wide(m, ACVR + 16 * i) &&
		    address <= wide(m, ACVR + 16 * i + 8))
			return true;
	return false;
}

bool etm4_model_traces(const struct etm4_model *m, const struct etm4_at *at)
{
	uint32_t vi = m->now[VICTLR / 4], ie = m->kind[VIIECTLR / 4] ? m->now[VIIECTLR / 4] : 0;

	if (!(m->now[PRGCTLR / 4] & 1) || m->idle || m->os_locked)
		return false;
	/* E0TRE is of EL0, ExTRE of the others */
	if (m->u.trf && !(m->trfcr & (at->level ? 2 : 1)))
		return false;
	if (vi >> ((at->secure ? 16 : 20) + at->level) & 1)
		return false;
	if (!(vi & 1u << 9) || !active(m, vi & 31, at))
		return false;
	if (ie & 0xffff && !in_ranges(m, ie & 0xffff, at->address))
		return false;
	return !in_ranges(m, ie >> 16, at->address);
}

/* Counter 0 at zero, if that is what asks for timestamps: two rounds are counted out. */
uint32_t etm4_model_time_every(const struct etm4_model *m)
{
	uint32_t ts = m->now[TSCTLR / 4], v = m->now[CNTVR / 4], first = 0;
	uint32_t ctl = m->now[CNTCTLR / 4], sel;

	if (!(m->now[CONFIGR / 4] & 1u << 11) || ts < 2)
		return 0;
	sel = m->now[RSCTLR / 4 + ts];
	if (sel != (2u << 16 | 1) || (ctl & 0xff) != 1)
		return 0;
	for (uint32_t cycle = 1; cycle < 200000; cycle++) {
		if (v == 0) {
			if (first)
				return cycle - first;
			first = cycle;
			if (ctl & 1u << 16)
				v = m->now[CNTRLDVR / 4];
		} else {
			v--;
		}
	}
	return 0;
}

/* The accessor. */
static bool refused(struct etm4_model *m)
{
	if (++m->accesses == m->claim_at)
		etm4_model_claim(m, m->claim_tags);
	return m->accesses == m->fail_at;
}

static bool right_width(struct etm4_model *m, uint32_t reg, bool is_wide)
{
	if (reg >= 0x1000 || !m->kind[reg / 4] || !!(m->kind[reg / 4] & WIDE) == is_wide)
		return true;
	bad(m, ETM4_R_WIDTH, reg);
	return false;
}

static int r_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	struct etm4_model *m = (struct etm4_model *)r;

	if (refused(m))
		return -EFAULT;
	right_width(m, reg, false);
	*v = etm4_model_read(m, reg);
	return 0;
}

static int r_wr32(struct hwreg *r, u32 reg, u32 v)
{
	struct etm4_model *m = (struct etm4_model *)r;

	if (refused(m))
		return -EFAULT;
	right_width(m, reg, false);
	etm4_model_write(m, reg, v);
	return 0;
}

static int r_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	struct etm4_model *m = (struct etm4_model *)r;
	u64 lo;

	if (refused(m))
		return -EFAULT;
	if (reg == TRFCR) {
		if (!m->u.trf)
			bad(m, ETM4_R_ABSENT, reg);
		*v = m->trfcr;
		return 0;
	}
	*v = 0;
	if (right_width(m, reg, true)) {
		lo = etm4_model_read(m, reg);
		*v = lo | (u64)etm4_model_read(m, reg + 4) << 32;
	}
	return 0;
}

static int r_wr64(struct hwreg *r, u32 reg, u64 v)
{
	struct etm4_model *m = (struct etm4_model *)r;

	if (refused(m))
		return -EFAULT;
	if (reg == TRFCR) {
		if (!m->u.trf)
			bad(m, ETM4_R_ABSENT, reg);
		m->trfcr = v;
		return 0;
	}
	if (right_width(m, reg, true)) {
		etm4_model_write(m, reg, (u32)v);
		etm4_model_write(m, reg + 4, (u32)(v >> 32));
	}
	return 0;
}

static void r_barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	etm4_model_barrier((struct etm4_model *)r, kind);
}

static void r_relax(struct hwreg *r)
{
	tick((struct etm4_model *)r);
}

void etm4_model_init(struct etm4_model *m, const struct etm4_unit *u, uint32_t seed)
{
	static const char *const text[] = {
#define X(id, words) words,
		ETM4_RULES(X)
#undef X
	};

	memset(m, 0, sizeof(*m));
	m->r = (struct hwreg){ r_rd32, r_wr32, r_rd64, r_wr64, r_barrier, r_relax };
	m->u = *u;
	m->seed = seed | 1;
	m->rules.text = text;
	etm4_model_reset(m);
}
