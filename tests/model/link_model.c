// SPDX-License-Identifier: GPL-2.0-only
/* Sections are those of Arm DDI 0480, "CoreSight SoC-400 Technical Reference Manual". */
#include "tests/model/link_model.h"

enum {
	CTL = 0x000, PRIORITY = 0x004, CLAIMSET = 0xfa0, CLAIMCLR = 0xfa4, LAR = 0xfb0,
	LSR = 0xfb4, DEVID = 0xfc8, DEVTYPE = 0xfcc
};

static void bad(struct link_model *m, enum link_rule rule, uint32_t reg)
{
	rules_break(&m->rules, rule, reg);
}

static bool is_open(const struct link_model *m, uint32_t port)
{
	return m->now[CTL / 4] >> port & 1;
}

static void show(struct link_model *m)
{
	m->now[LSR / 4] = m->u.soft_lock ? 1u | (uint32_t)m->soft_locked << 1 : 0;
	m->now[CLAIMSET / 4] = m->u.claims;
	m->now[LAR / 4] = 0;
}

static void send(struct link_model *m, uint32_t port, uint32_t id, const uint8_t *p, uint32_t n)
{
	if (m->out && n)
		m->out(m->arg, port, id, p, n);
}

/* Each output lets through what its filter does not name: a bit for 16 ids (3.7). */
static void replicate(struct link_model *m, uint32_t id, const uint8_t *p, uint32_t n)
{
	bool any = false;

	for (uint32_t i = 0; i < m->u.ports; i++) {
		if (m->now[i] >> (id >> 4) & 1)
			continue;
		any = true;
		send(m, i, id, p, n);
	}
	if (!any) {
		bad(m, LINK_R_CLOSED, CTL);
		m->lost += n;
	}
}

void link_model_trace(struct link_model *m, uint32_t port, uint32_t id, const uint8_t *p,
		      uint32_t n)
{
	if (m->u.replicator) {
		replicate(m, id, p, n);
		return;
	}
	if (!is_open(m, port)) {
		bad(m, LINK_R_CLOSED, CTL);
		m->lost += n;
		return;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (m->kept[port].n == LINK_KEEPS) {
			send(m, 0, m->kept[port].id, m->kept[port].b, LINK_KEEPS);
			m->kept[port].n = 0;
		}
		m->kept[port].id = id;
		m->kept[port].b[m->kept[port].n++] = p[i];
	}
}

void link_model_flush(struct link_model *m)
{
	for (uint32_t i = 0; i < 8; i++) {
		send(m, 0, m->kept[i].id, m->kept[i].b, m->kept[i].n);
		m->kept[i].n = 0;
	}
}

static bool is_config(const struct link_model *m, uint32_t reg)
{
	return reg == CTL || (reg == PRIORITY && (!m->u.replicator || m->u.ports > 1));
}

static bool has(const struct link_model *m, uint32_t reg)
{
	if (reg & 3 || reg >= 0x1000)
		return false;
	return is_config(m, reg) || reg == CLAIMSET || reg == CLAIMCLR || reg >= LAR;
}

uint32_t link_model_read(struct link_model *m, uint32_t reg)
{
	if (!m->u.power_known)
		bad(m, LINK_R_POWER_UNKNOWN, reg);
	if (!has(m, reg)) {
		bad(m, LINK_R_ABSENT, reg);
		return 0;
	}
	return m->now[reg / 4];
}

static void write_claim(struct link_model *m, uint32_t reg, uint32_t v)
{
	uint32_t others = m->now[CLAIMCLR / 4] & ~m->ours;

	if (reg == CLAIMSET ? others : v & others)
		bad(m, LINK_R_CLAIM_OTHER, reg);
	if (reg == CLAIMSET) {
		m->ours |= v & ~m->now[CLAIMCLR / 4] & m->u.claims;
		m->now[CLAIMCLR / 4] |= v & m->u.claims;
	} else {
		m->now[CLAIMCLR / 4] &= ~v;
		m->ours &= ~v;
	}
}

/* 3.6: eight ports at most, and how many transactions one may have in a row, less one. */
static void write_funnel(struct link_model *m, uint32_t reg, uint32_t v)
{
	uint32_t ports = (1u << m->u.ports) - 1, was = m->now[CTL / 4];

	if (reg == PRIORITY ? v >> 3 * m->u.ports : v & ~(0xf00 | ports) || (v & 0xf00) == 0xf00)
		bad(m, LINK_R_RESERVED, reg);
	if (was & ports && (reg == PRIORITY ? v != m->now[PRIORITY / 4] : (v ^ was) & 0xf00))
		bad(m, LINK_R_HOLD, reg);
	for (uint32_t i = 0; reg == CTL && i < m->u.ports; i++) {
		if (!(was >> i & 1) || v >> i & 1 || !m->kept[i].n)
			continue;
		bad(m, LINK_R_DRAIN, reg);
		m->lost += m->kept[i].n;
		m->kept[i].n = 0;
	}
	m->now[reg / 4] = reg == CTL && m->u.stuck ? (v & ~0xffu) | (was & 0xff) : v;
}

static void write_filter(struct link_model *m, uint32_t reg, uint32_t v)
{
	if (v >> 8)
		bad(m, LINK_R_RESERVED, reg);
	if (!m->u.stuck)
		m->now[reg / 4] = v & 0xff;
}

void link_model_write(struct link_model *m, uint32_t reg, uint32_t v)
{
	if (!m->u.power_known)
		bad(m, LINK_R_POWER_UNKNOWN, reg);
	if (!has(m, reg)) {
		bad(m, LINK_R_ABSENT, reg);
	} else if (reg == LAR) {
		m->soft_locked = m->u.soft_lock && (v != 0xc5acce55 || m->u.soft_stuck);
	} else if (m->soft_locked) {
		bad(m, LINK_R_SOFT_LOCK, reg);
	} else if (reg == CLAIMSET || reg == CLAIMCLR) {
		write_claim(m, reg, v);
	} else if (!is_config(m, reg)) {
		bad(m, LINK_R_READ_ONLY, reg);
	} else {
		if (!m->ours)
			bad(m, LINK_R_CLAIM, reg);
		if (m->u.replicator)
			write_filter(m, reg, v);
		else
			write_funnel(m, reg, v);
	}
	show(m);
}

void link_model_claim(struct link_model *m, uint32_t tags)
{
	m->now[CLAIMCLR / 4] |= tags;
	m->ours &= ~tags;
	show(m);
}

void link_model_end(struct link_model *m)
{
	if (m->ours || (m->u.soft_lock && !m->soft_locked) || m->now[CTL / 4] != m->u.found ||
	    (m->u.replicator && m->u.ports > 1 && m->now[PRIORITY / 4] != m->u.found))
		bad(m, LINK_R_LEFT, 0);
}

static bool refused(struct link_model *m)
{
	if (++m->accesses == m->claim_at)
		link_model_claim(m, m->claim_tags);
	return m->accesses == m->fail_at;
}

static int r_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	struct link_model *m = (struct link_model *)r;

	if (refused(m))
		return -EFAULT;
	*v = link_model_read(m, reg);
	return 0;
}

static int r_wr32(struct hwreg *r, u32 reg, u32 v)
{
	struct link_model *m = (struct link_model *)r;

	if (refused(m))
		return -EFAULT;
	link_model_write(m, reg, v);
	return 0;
}

/* It has none of 64 bits. */
static int r_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	bad((struct link_model *)r, LINK_R_ABSENT, reg);
	*v = 0;
	return 0;
}

static int r_wr64(struct hwreg *r, u32 reg, u64 v)
{
	bad((struct link_model *)r, LINK_R_ABSENT, reg);
	return 0;
}

static void r_barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	/* accesses of one part stay in order */
}

static void r_relax(struct hwreg *r)
{
}

void link_model_init(struct link_model *m, const struct link_unit *u)
{
	static const char *const text[] = {
#define X(id, words) words,
		LINK_RULES(X)
#undef X
	};

	memset(m, 0, sizeof(*m));
	m->r = (struct hwreg){ r_rd32, r_wr32, r_rd64, r_wr64, r_barrier, r_relax };
	m->u = *u;
	m->rules.text = text;
	m->soft_locked = u->soft_lock;
	m->now[CTL / 4] = u->found;
	if (u->replicator)
		m->now[PRIORITY / 4] = u->found;
	m->now[DEVID / 4] = u->ports;
	m->now[DEVTYPE / 4] = u->replicator ? 0x22 : 0x12;
	show(m);
}
