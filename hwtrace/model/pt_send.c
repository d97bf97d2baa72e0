/* SPDX-License-Identifier: BSD-2-Clause */
/* What the unit sends: the order of packets around a packet, and internal overflow. */
#include "pt_unit.h"

#include <stdlib.h>

#define MTC_TURN	200	/* lost MTCs after which a decoder could lose a turn of the count */

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t ptu_rnd(struct model_pt *m, uint64_t n)
{
	uint64_t z = m->rnd += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (z ^ z >> 31) % n;
}

void ptu_deliver(struct model_pt *m)
{
	if (m->b.n && !m->err)
		m->err = m->to.put(m->to.arg, m->b.p, m->b.n);
	m->b.n = 0;
}

static void room(struct model_pt *m)
{
	if (m->b.cap - m->b.n < PTU_LARGEST)
		ptu_deliver(m);
	m->count.bytes -= m->b.n;
}

/* Called before each packet: there is room for it. False: it is lost. */
static bool begin(struct model_pt *m, enum model_pt_kind kind)
{
	if (m->ovf)
		return false;
	room(m);
	m->count.packet[kind]++;
	return true;
}

static void done(struct model_pt *m)
{
	m->count.bytes += m->b.n;
}

/*
 * SDM, "Cycle Count (CYC) Packet": stands before a packet that may have one, and tells the cycles
 * since the CYC before, if they reach the threshold. What is left of a cycle stays in the count.
 */
static void cyc(struct model_pt *m)
{
	uint64_t n, min;

	if (!m->cfg.cyc)
		return;
	min = m->cfg.cyc_thresh ? 1ull << (m->cfg.cyc_thresh - 1) : 1;
	n = m->cycles / m->cfg.ratio;
	if (n < min || !begin(m, MODEL_PT_CYC))
		return;
	model_pt_cyc(&m->b, n);
	done(m);
	m->cycles -= n * m->cfg.ratio;
}

/* All branches that wait are one packet: none is later than the packet before it was sent. */
static void tnt(struct model_pt *m)
{
	bool wide = m->ntnt > 6 || (m->cfg.tnt == MODEL_PT_TNT_MIX && !ptu_rnd(m, 4));

	cyc(m);
	if (begin(m, wide ? MODEL_PT_TNT_LONG : MODEL_PT_TNT_SHORT)) {
		if (wide)
			model_pt_tnt_long(&m->b, m->tnt, m->ntnt);
		else
			model_pt_tnt(&m->b, m->tnt, m->ntnt);
		done(m);
	}
	m->ntnt = 0;
	m->tnt = 0;
}

void ptu_flush(struct model_pt *m)
{
	unsigned n = m->ntips;

	if (m->ntnt)
		tnt(m);
	m->ntips = 0;
	for (unsigned i = 0; i < n; i++)
		ptu_ip(m, MODEL_PT_TIP, m->tips[i]);
}

void ptu_branch(struct model_pt *m, bool taken)
{
	if (m->ovf)
		return;
	if (!m->ntnt) {
		bool mix = m->cfg.tnt == MODEL_PT_TNT_MIX;

		m->oldest = m->count.events;
		m->cap = m->cfg.tnt == MODEL_PT_TNT8 || (mix && ptu_rnd(m, 2)) ? 6 :
			mix ? 1 + (unsigned)ptu_rnd(m, PTU_BITS) : PTU_BITS;
	}
	m->tnt = m->tnt << 1 | taken;
	if (++m->ntnt == m->cap)
		ptu_flush(m);
}

/* SDM, "Deferred TIPs": behind a TNT with room; the TNT goes first, then they. */
void ptu_indirect(struct model_pt *m, uint64_t to)
{
	if (m->cfg.defer_tips && m->ntnt && m->ntips < PTU_TIPS) {
		m->tips[m->ntips++] = to;
		m->count.deferred++;
		return;
	}
	ptu_flush(m);
	ptu_ip(m, MODEL_PT_TIP, to);
}

/* A form that does not need the last IP. */
static enum model_pt_ipb whole(const struct model_pt *m, uint64_t ip)
{
	return model_pt_ip_fits(&m->b, ip, MODEL_PT_IPB_48S) ? MODEL_PT_IPB_48S : MODEL_PT_IPB_64;
}

/* SDM, "IP Compression", and "Internal Buffer Overflow": not against packets that were lost. */
static enum model_pt_ipb form(struct model_pt *m, uint64_t ip)
{
	static const enum model_pt_ipb all[] = { MODEL_PT_IPB_16, MODEL_PT_IPB_32,
		MODEL_PT_IPB_48S, MODEL_PT_IPB_48, MODEL_PT_IPB_64 };
	enum model_pt_ipb fits[5] = { MODEL_PT_IPB_64 };
	unsigned n = 0;

	if (m->cfg.ips == MODEL_PT_IP_MIX) {
		for (unsigned i = 0; i < 5; i++)
			if (model_pt_ip_fits(&m->b, ip, all[i]) &&
			    (!m->fresh_ip || all[i] == MODEL_PT_IPB_48S ||
			     all[i] == MODEL_PT_IPB_64))
				fits[n++] = all[i];
		return fits[ptu_rnd(m, n)];	/* the last one always fits */
	}
	if (m->fresh_ip || m->cfg.ips == MODEL_PT_IP_WIDE)
		return whole(m, ip);
	for (n = 0; !model_pt_ip_fits(&m->b, ip, all[n]);)
		n++;
	return all[n];
}

void ptu_ip(struct model_pt *m, enum model_pt_kind what, uint64_t ip)
{
	enum model_pt_ipb ipb;

	if (what != MODEL_PT_FUP)
		cyc(m);
	if (!begin(m, what))
		return;
	ipb = form(m, ip);
	model_pt_ip(&m->b, what, ip, ipb);
	m->count.ip[ipb]++;
	m->fresh_ip = false;
	done(m);
}

void ptu_pgd_noip(struct model_pt *m)
{
	cyc(m);
	if (!begin(m, MODEL_PT_PGD))
		return;
	model_pt_pgd_noip(&m->b);
	m->count.ip[MODEL_PT_IPB_0]++;
	done(m);
}

/* SDM, "TraceStop Packet" */
void ptu_stop(struct model_pt *m)
{
	if (m->ovf)
		return;
	room(m);
	model_pt_stop(&m->b);
	done(m);
}

void ptu_exec(struct model_pt *m)
{
	if (m->bits_sent == m->bits)
		return;
	cyc(m);
	if (!begin(m, MODEL_PT_EXEC))
		return;
	model_pt_exec(&m->b, m->bits);
	m->bits_sent = m->bits;
	done(m);
}

/* CR3[51:5]; the bits above are no part of the address (bit 63: do not flush). */
static uint64_t cr3(const struct model_pt *m)
{
	return m->ctx.aspace & 0xfffffffffffe0;
}

static void pip(struct model_pt *m)
{
	cyc(m);
	if (!begin(m, MODEL_PT_PIP))
		return;
	model_pt_pip(&m->b, cr3(m), m->cfg.nr);
	m->aspace_sent = m->ctx.aspace;
	m->aspace_known = true;
	done(m);
}

/* SDM, "Paging Information Packet (PIP)": ContextEn and CTL.OS. */
void ptu_pip(struct model_pt *m)
{
	if (!(m->ctx.valid & 1) || m->cfg.no_kernel || !m->context_en ||
	    (m->aspace_known && m->aspace_sent == m->ctx.aspace))
		return;
	m->ovf_state |= m->ovf;
	ptu_flush(m);
	pip(m);
}

void ptu_ptw(struct model_pt *m, uint64_t value, unsigned bytes)
{
	ptu_flush(m);
	cyc(m);
	if (!begin(m, MODEL_PT_PTW))
		return;
	model_pt_ptw(&m->b, value, bytes, m->cfg.ptw_fup);
	done(m);
	if (m->cfg.ptw_fup)
		ptu_ip(m, MODEL_PT_FUP, m->ptw_at);
}

void ptu_mtc(struct model_pt *m)
{
	m->ovf_mtcs += m->ovf;
	if (m->cfg.mtc_flush)
		ptu_flush(m);
	cyc(m);
	if (!begin(m, MODEL_PT_MTC))
		return;
	model_pt_mtc(&m->b, (uint8_t)m->mtc);
	m->count.kept += m->ntnt > 0;
	done(m);
}

/* Not one that CYC may precede; it waits for nothing. */
void ptu_cbr(struct model_pt *m)
{
	if (!begin(m, MODEL_PT_CBR))
		return;
	model_pt_cbr(&m->b, m->cbr);
	done(m);
}

void ptu_tsc(struct model_pt *m)
{
	unsigned fc;
	uint64_t ctc;

	if (!m->cfg.tsc)
		return;
	cyc(m);
	if (!begin(m, MODEL_PT_TSC))
		return;
	model_pt_tsc(&m->b, m->now);
	done(m);
	if (!m->cfg.mtc || !begin(m, MODEL_PT_TMA))
		return;
	ctc = ptu_ctc(m, &fc);
	model_pt_tma(&m->b, (uint16_t)ctc, (uint16_t)fc);
	done(m);
}

/* Packets of PSB+ that have no condition but an option. */
static void status(struct model_pt *m)
{
	if (m->cfg.vmcs && begin(m, MODEL_PT_VMCS)) {
		model_pt_vmcs(&m->b, m->cfg.vmcs);
		done(m);
	}
	if (m->cfg.tsx && m->context_en && begin(m, MODEL_PT_TSX)) {
		model_pt_tsx(&m->b, false, false);
		done(m);
	}
}

/*
 * SDM, "Packet Stream Boundary (PSB) Packet" and "PSB+": TSC, TMA and CBR always, PIP and MODE.TSX
 * with ContextEn, MODE.Exec and FUP with PacketEn. The last IP and the return stack start anew.
 */
void ptu_psb(struct model_pt *m)
{
	ptu_flush(m);
	if (!begin(m, MODEL_PT_PSB))
		return;
	m->psb_at = m->count.bytes + m->b.n;
	model_pt_psb(&m->b);
	done(m);
	m->fresh_ip = false;
	m->nret = 0;
	m->bits_sent = 0;
	m->aspace_known = false;
	m->count.psb_off += !m->packet_en;
	ptu_tsc(m);
	ptu_cbr(m);
	if (m->packet_en)
		ptu_exec(m);
	status(m);
	ptu_pip(m);
	if (m->packet_en)
		ptu_ip(m, MODEL_PT_FUP, m->next);
	begin(m, MODEL_PT_PSBEND);
	model_pt_psbend(&m->b);
	done(m);
}

void ptu_ovf_begin(struct model_pt *m, uint64_t event)
{
	m->ovf_from = m->ntnt && m->oldest < event ? m->oldest : event;
	m->ntnt = m->ntips = 0;
	m->tnt = 0;
	m->ovf = true;
	m->ovf_state = false;
	m->ovf_mtcs = 0;
}

/*
 * SDM, "Internal Buffer Overflow" and "Overflow (OVF) Packet": OVF has a CYC with the length of the
 * overflow; then FUP if PacketEn is set, else the TIP.PGE to come says where. Nothing is compressed
 * against what was lost. Where state was lost as well, PSB+ gives it anew.
 */
void ptu_ovf_end(struct model_pt *m, uint64_t event)
{
	m->ovf = false;
	m->nret = 0;
	m->fresh_ip = true;
	cyc(m);
	begin(m, MODEL_PT_OVF);
	model_pt_ovf(&m->b);
	done(m);
	if (m->packet_en)
		ptu_ip(m, MODEL_PT_FUP, m->next);
	m->count.lost += event - m->ovf_from;
	if (m->to.lost)
		m->to.lost(m->to.arg, m->ovf_from, event);
	if (m->ovf_state || m->ovf_mtcs > MTC_TURN)
		ptu_psb(m);
}

bool ptu_full(struct model_pt *m)
{
	uint64_t in = m->count.bytes - m->fill_bytes, ticks = m->now - m->fill_now, out;
	uint64_t size = (uint64_t)m->cfg.buf_bytes * m->cfg.drain_ticks;

	if (!m->cfg.buf_bytes)
		return false;
	m->fill_bytes = m->count.bytes;
	m->fill_now = m->now;
	m->fill += in * m->cfg.drain_ticks;
	/* more than empties it, and no overflow of the product */
	out = ticks > size ? size : ticks * m->cfg.drain_bytes;
	m->fill -= out < m->fill ? out : m->fill;
	return m->fill > (m->ovf ? size / 2 : size);
}
