// SPDX-License-Identifier: GPL-2.0-only
/* Sections are those of Arm DDI 0461, "CoreSight Trace Memory Controller". */
#include "tests/model/tmc_model.h"

enum {
	RSZ = 0x004, STS = 0x00c, RRD = 0x010, RRP = 0x014, RWP = 0x018, TRG = 0x01c, CTL = 0x020,
	RWD = 0x024, MODE = 0x028, LBUFLEVEL = 0x02c, CBUFLEVEL = 0x030, BUFWM = 0x034,
	RRPHI = 0x038, RWPHI = 0x03c, AXICTL = 0x110, DBALO = 0x118, DBAHI = 0x11c, FFSR = 0x300,
	FFCR = 0x304, PSCR = 0x308, CLAIMSET = 0xfa0, CLAIMCLR = 0xfa4, LAR = 0xfb0, LSR = 0xfb4,
	DEVID = 0xfc8, DEVTYPE = 0xfcc
};

/* Bits that may be set, of what may be written. */
static const struct { uint16_t reg; bool etr; uint32_t mask; } writable[] = {
	{ RRP, false, ~0u }, { RWP, false, ~0u }, { TRG, false, ~0u }, { CTL, false, 1 },
	{ RWD, false, ~0u }, { MODE, false, 3 }, { BUFWM, false, ~0u }, { FFCR, false, 0x7773 },
	{ PSCR, false, 0x1f }, { RRPHI, true, ~0u }, { RWPHI, true, ~0u },
	{ RSZ, true, 0x7fffffff },
	{ AXICTL, true, 0xfbf }, { DBALO, true, ~0u }, { DBAHI, true, ~0u },
	{ CLAIMSET, false, 0xf }, { CLAIMCLR, false, 0xf }, { LAR, false, ~0u },
};

static const uint16_t readable[] = { RSZ, STS, RRD, LBUFLEVEL, CBUFLEVEL, FFSR, LSR, 0xfb8 };

static void bad(struct tmc_model *m, enum tmc_rule rule, uint32_t reg)
{
	rules_break(&m->rules, rule, reg);
}

static bool is_etr(const struct tmc_model *m)
{
	return m->u.kind == TMC_IS_ETR;
}

static uint64_t base(const struct tmc_model *m)
{
	return is_etr(m) ? m->now[DBALO / 4] | (uint64_t)m->now[DBAHI / 4] << 32 : 0;
}

static uint64_t size(const struct tmc_model *m)
{
	return is_etr(m) ? 4ull * m->now[RSZ / 4] : m->u.ram_bytes;
}

static uint32_t width(const struct tmc_model *m)
{
	return 1u << m->u.width_log2;
}

/* What RRD has next (3.3.3). */
static uint32_t data(const struct tmc_model *m)
{
	uint64_t at = m->rrp + 4ull * m->words_read - m->k.mem_base;
	uint32_t v = 0xffffffff;

	if (m->capture && m->ready && !m->mem_err && m->unread && at + 4 <= m->k.mem_bytes)
		memcpy(&v, m->k.mem + at, 4);
	return v;
}

/* What an access sees. */
static void show(struct tmc_model *m)
{
	m->now[RRD / 4] = data(m);
	/* Empty is valid, and told, only while capture is enabled (3.3.2) */
	m->now[STS / 4] = (uint32_t)m->full | (uint32_t)m->triggered << 1 |
		(uint32_t)m->ready << 2 | (uint32_t)m->stopped << 3 |
		(uint32_t)(m->capture && !m->unread) << 4 | (uint32_t)m->mem_err << 5;
	m->now[FFSR / 4] = (uint32_t)m->flushing | (uint32_t)m->stopped << 1;
	m->now[CTL / 4] = m->capture;
	m->now[RRP / 4] = (uint32_t)m->rrp;
	m->now[RWP / 4] = (uint32_t)m->rwp;
	m->now[RRPHI / 4] = (uint32_t)(m->rrp >> 32);
	m->now[RWPHI / 4] = (uint32_t)(m->rwp >> 32);
	m->now[LSR / 4] = m->u.soft_lock ? 1u | (uint32_t)m->soft_locked << 1 : 0;
	m->now[CLAIMSET / 4] = m->u.claims;
	m->now[LAR / 4] = 0;
	if (m->flushing)
		m->now[FFCR / 4] |= 0x40;
	else
		m->now[FFCR / 4] &= ~0x40u;
}

/* One word of its memory is written (2.1.2); it goes round at the end. */
static void store(struct tmc_model *m, const uint8_t *p)
{
	bool round;

	if (m->mem_err)
		return;
	if (m->error_after && m->k.stored + width(m) > m->error_after) {
		m->mem_err = true;
		m->stopped = true;
		m->ready_in = m->u.ready_delay;
		return;
	}
	if (sink_model_store(&m->k, &m->rwp, base(m), base(m) + size(m), p, width(m), &round))
		bad(m, TMC_R_MEMORY, RWP);
	m->full |= round;
	if (m->unread < size(m))
		m->unread += width(m);
}

/* The formatter has stopped (2.1.5): a word that is not full is filled. */
static void stop_formatter(struct tmc_model *m)
{
	while (m->k.npending % width(m)) {
		m->k.pending[m->k.npending++] = 0;
		m->padded++;
		sink_model_note(&m->k, (const uint8_t[]){ 0 }, 1);
	}
	for (uint32_t i = 0; i < m->k.npending; i += width(m))
		store(m, m->k.pending + i);
	m->k.npending = 0;
	m->stopped = true;
	m->ready_in = m->u.ready_delay;
}

static void end_flush(struct tmc_model *m)
{
	uint32_t whole = m->k.npending / width(m) * width(m);

	m->flushing = false;
	m->flush_in = TMC_NEVER;
	if (m->now[FFCR / 4] & 0x1000) {
		stop_formatter(m);
		return;
	}
	for (uint32_t i = 0; i < whole; i += width(m))
		store(m, m->k.pending + i);
	sink_model_gone(&m->k, whole);
}

static bool comes(uint32_t *in)
{
	return *in != TMC_NEVER && (*in)-- == 0;
}

static void tick(struct tmc_model *m)
{
	if (comes(&m->flush_in))
		end_flush(m);
	if (comes(&m->ready_in)) {
		m->ready = true;
		m->ready_in = TMC_NEVER;
		/* Stopped: what is oldest is read first (2.1.2) */
		if (m->capture) {
			m->rrp = m->rwp - base(m) >= m->unread ? m->rwp - m->unread :
				m->rwp + size(m) - m->unread;
			m->words_read = 0;
		}
	}
	show(m);
}

static void trigger_event(struct tmc_model *m)
{
	m->triggered = true;
	m->trigger_runs = false;
	if (m->now[FFCR / 4] & 0x20 && !m->flushing) {
		m->flushing = true;
		m->flush_in = m->u.flush_delay;
	}
	if (m->now[FFCR / 4] & 0x2000)
		stop_formatter(m);
}

void tmc_model_trace(struct tmc_model *m, const uint8_t *p, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!m->capture || m->stopped || m->mem_err) {
			m->k.dropped += n - i;
			break;
		}
		m->k.pending[m->k.npending++] = p[i];
		sink_model_note(&m->k, p + i, 1);
		/* two words wait before they are written */
		if (m->k.npending >= 2 * width(m) || m->k.npending == sizeof(m->k.pending)) {
			store(m, m->k.pending);
			sink_model_gone(&m->k, width(m));
		}
		if (m->trigger_runs && (m->k.logged & 3) == 0 && m->trigger_left-- <= 1)
			trigger_event(m);
	}
	show(m);
}

void tmc_model_trigger(struct tmc_model *m)
{
	if (!m->capture || m->stopped || !(m->now[FFCR / 4] & 0x100))
		return;
	m->trigger_left = m->now[TRG / 4];
	m->trigger_runs = true;
	if (!m->trigger_left)
		trigger_event(m);
	show(m);
}

static bool has(const struct tmc_model *m, uint32_t reg, bool write, uint32_t *mask)
{
	unsigned int i;

	for (i = 0; i < sizeof(writable) / sizeof(writable[0]); i++)
		if (writable[i].reg == reg && (is_etr(m) || !writable[i].etr)) {
			*mask = reg == CLAIMSET || reg == CLAIMCLR ? m->u.claims : writable[i].mask;
			return true;
		}
	if (reg == STS && m->u.soc600) {
		*mask = 0x3f;
		return true;
	}
	for (i = 0; i < sizeof(readable) / sizeof(readable[0]) && !write; i++)
		if (readable[i] == reg)
			return true;
	return !write && reg >= 0xfb8 && reg < 0x1000 && !(reg & 3);
}

/* 3.3.3; the value that was seen is that before. */
static void read_data(struct tmc_model *m)
{
	if (m->soft_locked)
		bad(m, TMC_R_SOFT_LOCK, RRD);
	if (!m->capture || !m->ready || m->mem_err) {
		bad(m, TMC_R_DATA, RRD);
		return;
	}
	if (!m->unread)
		return;
	if (++m->words_read * 4 < width(m))
		return;
	m->words_read = 0;
	m->unread -= width(m);
	m->rrp += width(m);
	if (m->rrp >= base(m) + size(m))
		m->rrp = base(m);
}

uint32_t tmc_model_read(struct tmc_model *m, uint32_t reg)
{
	uint32_t v, mask;

	if (!m->u.power_known)
		bad(m, TMC_R_POWER_UNKNOWN, reg);
	if (!has(m, reg, false, &mask)) {
		bad(m, TMC_R_ABSENT, reg);
		return 0;
	}
	if ((reg == RWP || reg == RRP || reg == RWPHI || reg == RRPHI) && !m->ready)
		bad(m, TMC_R_POINTER, reg);
	/* a word of memory that was begun is read to its end */
	if (m->words_read && reg != RRD)
		bad(m, TMC_R_DATA, reg);
	v = m->now[reg / 4];
	if (reg == RRD)
		read_data(m);
	tick(m);
	return v;
}

static void enable(struct tmc_model *m)
{
	static const uint16_t all[] = { MODE, FFCR, TRG, RSZ, AXICTL, DBALO, DBAHI };
	unsigned int i;

	for (i = 0; i < (is_etr(m) ? 7 : 3); i++)
		if (!m->set[all[i] / 4])
			bad(m, TMC_R_UNSET, all[i]);
	if (m->u.soc600 && !m->set[RWP / 4])
		bad(m, TMC_R_UNSET, RWP);
	/* an ETR of the older kind begins at its base (Linux's driver counts on it, too) */
	if (is_etr(m) && !m->u.soc600)
		m->rwp = base(m);
	if (m->now[MODE / 4] > 2 || (m->now[FFCR / 4] & 3) == 2 || !size(m) ||
	    size(m) % width(m) || base(m) % width(m) || m->rwp % width(m) ||
	    m->rwp < base(m) || m->rwp >= base(m) + size(m))
		bad(m, TMC_R_RESERVED, CTL);
	m->capture = true;
	m->ready = m->stopped = m->triggered = m->mem_err = m->trigger_runs = false;
	m->k.npending = m->words_read = 0;
	m->unread = 0;
	if (!m->u.soc600)
		m->full = false;
	if (m->full)
		m->unread = size(m);
}

static void write_ctl(struct tmc_model *m, uint32_t v)
{
	if (v & 1 && !m->capture) {
		if (!m->ready)
			bad(m, TMC_R_NOT_READY, CTL);
		enable(m);
	} else if (!(v & 1) && m->capture) {
		/* Disabling: what is in it is still written (2.2) */
		m->capture = false;
		m->flushing = false;
		m->flush_in = TMC_NEVER;
		m->trigger_runs = false;
		m->words_read = 0;
		if (!m->ready)
			m->ready_in = m->u.ready_delay;
		m->stopped = true;
	}
}

static void write_ffcr(struct tmc_model *m, uint32_t v)
{
	if ((v ^ m->now[FFCR / 4]) & 3 && (m->capture || !m->ready))
		bad(m, TMC_R_STATE, FFCR);
	if (v & 0x4000)		/* DrainBuffer: for an ETF that is emptied into the bus */
		bad(m, TMC_R_RESERVED, FFCR);
	if (v & 0x40) {
		if (!m->capture || m->stopped || m->flushing)
			bad(m, TMC_R_FLUSH, FFCR);
		else
			m->flush_in = m->u.flush_delay;
		m->flushing = m->capture && !m->stopped;
	}
	m->now[FFCR / 4] = v & 0x3733;
}

static void write_claim(struct tmc_model *m, uint32_t reg, uint32_t v)
{
	if (reg == CLAIMSET) {
		if (m->now[CLAIMCLR / 4] & ~m->ours)
			bad(m, TMC_R_CLAIM_OTHER, reg);
		m->ours |= v & ~m->now[CLAIMCLR / 4] & m->u.claims;
		m->now[CLAIMCLR / 4] |= v & m->u.claims;
		return;
	}
	if (v & m->now[CLAIMCLR / 4] & ~m->ours)
		bad(m, TMC_R_CLAIM_OTHER, reg);
	m->now[CLAIMCLR / 4] &= ~v;
	m->ours &= ~v;
}

static void put_half(uint64_t *p, uint32_t v, bool hi)
{
	*p = hi ? (*p & 0xffffffff) | (uint64_t)v << 32 : (*p & ~0xffffffffull) | v;
}

static void write_config(struct tmc_model *m, uint32_t reg, uint32_t v)
{
	if (m->capture)
		bad(m, TMC_R_STATE, reg);
	else if (!m->ready)
		bad(m, TMC_R_NOT_READY, reg);
	m->set[reg / 4] = true;
	if (reg == RRP || reg == RRPHI)
		put_half(&m->rrp, v, reg == RRPHI);
	else if (reg == RWP || reg == RWPHI)
		put_half(&m->rwp, v, reg == RWPHI);
	else if (reg == STS)
		m->full = v & 1;
	else
		m->now[reg / 4] = v;
}

void tmc_model_write(struct tmc_model *m, uint32_t reg, uint32_t v)
{
	uint32_t mask = 0;

	if (!m->u.power_known)
		bad(m, TMC_R_POWER_UNKNOWN, reg);
	if (!has(m, reg, true, &mask)) {
		bad(m, has(m, reg, false, &mask) ? TMC_R_READ_ONLY : TMC_R_ABSENT, reg);
		goto out;
	}
	if (m->soft_locked && reg != LAR) {
		bad(m, TMC_R_SOFT_LOCK, reg);
		goto out;
	}
	if (m->words_read)
		bad(m, TMC_R_DATA, reg);
	if (v & ~mask && reg != CLAIMCLR)
		bad(m, TMC_R_RESERVED, reg);
	if (reg != LAR && reg != CLAIMSET && reg != CLAIMCLR && !m->ours)
		bad(m, TMC_R_CLAIM, reg);
	if (reg == LAR)
		m->soft_locked = m->u.soft_lock && (v != 0xc5acce55 || m->u.soft_stuck);
	else if (reg == CLAIMSET || reg == CLAIMCLR)
		write_claim(m, reg, v);
	else if (reg == CTL)
		write_ctl(m, v);
	else if (reg == FFCR)
		write_ffcr(m, v);
	else
		write_config(m, reg, v & mask);
	if (reg == FFCR)
		m->set[FFCR / 4] = true;
out:
	tick(m);
}

void tmc_model_claim(struct tmc_model *m, uint32_t tags)
{
	m->now[CLAIMCLR / 4] |= tags;
	m->ours &= ~tags;
}

void tmc_model_enable(struct tmc_model *m)
{
	m->capture = true;
	m->ready = m->stopped = false;
	show(m);
}

void tmc_model_end(struct tmc_model *m)
{
	if (m->ours || (m->u.soft_lock && !m->soft_locked) || (m->capture && m->set[MODE / 4]))
		bad(m, TMC_R_LEFT, 0);
}

static bool refused(struct tmc_model *m)
{
	if (++m->accesses == m->claim_at)
		tmc_model_claim(m, m->claim_tags);
	return m->accesses == m->fail_at;
}

static int r_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	struct tmc_model *m = (struct tmc_model *)r;

	if (refused(m))
		return -EFAULT;
	*v = tmc_model_read(m, reg);
	return 0;
}

static int r_wr32(struct hwreg *r, u32 reg, u32 v)
{
	struct tmc_model *m = (struct tmc_model *)r;

	if (refused(m))
		return -EFAULT;
	tmc_model_write(m, reg, v);
	return 0;
}

/* It has none of 64 bits. */
static int r_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	bad((struct tmc_model *)r, TMC_R_ABSENT, reg);
	*v = 0;
	return 0;
}

static int r_wr64(struct hwreg *r, u32 reg, u64 v)
{
	bad((struct tmc_model *)r, TMC_R_ABSENT, reg);
	return 0;
}

static void r_barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	/* accesses of one unit stay in order */
}

static void r_relax(struct hwreg *r)
{
	tick((struct tmc_model *)r);
}

void tmc_model_log(struct tmc_model *m, uint8_t *log, uint64_t cap)
{
	sink_model_log(&m->k, log, cap);
}

void tmc_model_init(struct tmc_model *m, const struct tmc_unit *u, uint8_t *mem, uint64_t at,
		    uint64_t bytes)
{
	static const char *const text[] = {
#define X(id, words) words,
		TMC_RULES(X)
#undef X
	};

	memset(m, 0, sizeof(*m));
	m->r = (struct hwreg){ r_rd32, r_wr32, r_rd64, r_wr64, r_barrier, r_relax };
	m->u = *u;
	m->rules.text = text;
	m->k.mem = mem;
	m->k.mem_base = is_etr(m) ? at : 0;
	m->k.mem_bytes = is_etr(m) ? bytes : u->ram_bytes;
	m->ready = true;
	m->soft_locked = u->soft_lock;
	m->flush_in = m->ready_in = TMC_NEVER;
	/* what a reset leaves has no meaning */
	m->rwp = m->rrp = is_etr(m) ? 0xfffffff0 : u->ram_bytes / 2;
	m->now[MODE / 4] = 3;
	m->now[RSZ / 4] = is_etr(m) ? 0x1234567 : u->ram_bytes / 4;
	m->now[DEVID / 4] = (uint32_t)u->kind << 6 | u->width_log2 << 8 |
		(u->address_bits ? 1u << 16 | u->address_bits << 17 : 0);
	m->now[DEVTYPE / 4] = u->kind == TMC_IS_ETF ? 0x32 : 0x21;
	/* part 0x961 of SoC-400; 0x9e8 ETR, 0x9e9 ETB, 0x9ea ETF of SoC-600 */
	m->now[0xfe0 / 4] = !u->soc600 ? 0x61 : is_etr(m) ? 0xe8 :
		u->kind == TMC_IS_ETB ? 0xe9 : 0xea;
	m->now[0xfe4 / 4] = 0xb9;
	show(m);
}
