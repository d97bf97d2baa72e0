/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The clocks of the unit. The TSC is given; the crystal clock (CTC) is TSC * eax / ebx of CPUID
 * leaf 15H, and its edges are exact; a core cycle is ratio / cbr TSC ticks, as CBR says (SDM,
 * "Timing Packets").
 */
#include "pt_unit.h"

/*
 * A time in which nothing is told and that would take more packets than this is taken as sleep: the
 * clocks stand, and TSC, TMA and CBR follow at its end (SDM, "TSC Packet": after an event that
 * stops the timing packets).
 */
#define AWAKE	4096
#define TOO_LONG	(1ull << 40)	/* ticks: keeps the count of cycles in 64 bits */

static uint64_t mul_div(uint64_t v, uint32_t mul, uint32_t div, bool up)
{
	return (uint64_t)(((unsigned __int128)v * mul + (up ? div - 1 : 0)) / div);
}

uint64_t ptu_ctc(const struct model_pt *m, unsigned *fc)
{
	uint64_t ctc = mul_div(m->now, m->cfg.ctc_eax, m->cfg.ctc_ebx, false);

	*fc = (unsigned)(m->now - mul_div(ctc, m->cfg.ctc_ebx, m->cfg.ctc_eax, true));
	return ctc;
}

static void next_mtc(struct model_pt *m)
{
	m->mtc_at = mul_div((m->mtc + 1) << m->cfg.mtc_freq, m->cfg.ctc_ebx, m->cfg.ctc_eax, true);
}

static void read_ctc(struct model_pt *m)
{
	unsigned fc;

	if (!m->cfg.mtc) {
		m->mtc_at = UINT64_MAX;
		return;
	}
	m->mtc = ptu_ctc(m, &fc) >> m->cfg.mtc_freq;
	next_mtc(m);
}

static void next_cbr(struct model_pt *m)
{
	m->cbr_at = m->cfg.cbr_every ? m->now + 1 + ptu_rnd(m, 2 * (uint64_t)m->cfg.cbr_every) :
		UINT64_MAX;
}

void ptu_time_start(struct model_pt *m, uint64_t tsc)
{
	m->now = m->fill_now = tsc;
	m->cbr = m->cfg.ratio;
	read_ctc(m);
	next_cbr(m);
}

/* Ticks from which on it is sleep. */
static uint64_t patience(const struct model_pt *m)
{
	uint64_t n = TOO_LONG, p;

	if (m->cfg.mtc) {
		p = AWAKE * (1 + mul_div(1ull << m->cfg.mtc_freq, m->cfg.ctc_ebx, m->cfg.ctc_eax,
					 false));
		n = p < n ? p : n;
	}
	p = AWAKE * (uint64_t)m->cfg.cbr_every;
	return p && p < n ? p : n;
}

static void sleep_to(struct model_pt *m, uint64_t tsc)
{
	ptu_flush(m);
	m->now = tsc;
	m->count.sleeps++;
	m->ovf_state |= m->ovf;
	read_ctc(m);
	next_cbr(m);
	ptu_tsc(m);
	ptu_cbr(m);
}

static void change_cbr(struct model_pt *m)
{
	uint8_t to = (uint8_t)(m->cfg.cbr_min +
			       ptu_rnd(m, m->cfg.cbr_max - m->cfg.cbr_min + 1u));

	next_cbr(m);
	if (to == m->cbr)
		return;
	m->cbr = to;
	ptu_cbr(m);
}

void ptu_time_to(struct model_pt *m, uint64_t tsc)
{
	if (tsc <= m->now)
		return;
	if (tsc >= m->mtc_at || tsc >= m->cbr_at || tsc - m->now >= TOO_LONG)
		if (tsc - m->now > patience(m)) {
			sleep_to(m, tsc);
			return;
		}
	while (m->now < tsc) {
		uint64_t at = m->mtc_at < m->cbr_at ? m->mtc_at : m->cbr_at;

		at = at < tsc ? at : tsc;
		m->cycles += (at - m->now) * m->cbr;
		m->now = at;
		if (at == m->cbr_at)
			change_cbr(m);
		if (at == m->mtc_at) {
			m->mtc++;
			next_mtc(m);
			ptu_mtc(m);
		}
	}
}
