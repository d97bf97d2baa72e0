/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_scan.h"

#include <string.h>

static bool is_foreign(unsigned kind)
{
	switch (kind) {
	case IPT_BBP: case IPT_BIP: case IPT_BEP: case IPT_CFE: case IPT_EVD: case IPT_TRIG:
	case IPT_MNT:	/* known, but without its bytes */
		return true;
	}
	return false;
}

/* Kind of the first packet at or after @at that is not about time, mode or power; *@at moves on. */
static unsigned next_flow(const uint8_t *p, uint64_t *at, uint64_t end)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	/* a FUP and what it belongs to have at most a few packets between them */
	for (int i = 0; i < 16 && *at < end; i++) {
		int n = ipt_packet_decode(&pkt, &ctx, p + *at, end - *at);

		if (n < 0)
			break;
		*at += (unsigned)n;
		switch (pkt.kind) {
		case IPT_PAD: case IPT_CYC: case IPT_MTC: case IPT_TSC: case IPT_TMA:
		case IPT_CBR: case IPT_PIP: case IPT_VMCS: case IPT_MODE_EXEC:
		case IPT_EXSTOP: case IPT_PTW: case IPT_PWRE: case IPT_PWRX: case IPT_MWAIT:
			continue;
		}
		return pkt.kind;
	}
	return IPT_KINDS;
}

bool ipt_fup_has_target(const uint8_t *p, uint64_t at, uint64_t end)
{
	unsigned kind = next_flow(p, &at, end);

	return kind == IPT_TIP || kind == IPT_TIP_PGD;
}

/* The same of a FUP that is still to come. */
static bool fup_has_target(const uint8_t *p, uint64_t at, uint64_t end)
{
	return next_flow(p, &at, end) == IPT_FUP && ipt_fup_has_target(p, at, end);
}

static bool in_group(bool was, unsigned kind)
{
	return kind == IPT_PSB || (was && kind != IPT_PSBEND && kind != IPT_OVF);
}

/*
 * True if @pkt, a MODE.Exec that ends at @at, says that the interrupt flag changed at the address
 * of the FUP behind it, with Event Trace (SDM, "MODE.Exec Packet"). Elsewhere the packet belongs to
 * the TIP behind it, or to a PSB @group. libipt always waits for the TIP.
 */
static bool flag_changed(const struct ipt_packet *pkt, const struct trace_span *s, uint64_t at,
			 uint64_t end, bool group)
{
	return pkt->kind == IPT_MODE_EXEC && !group && next_flow(s->p, &at, end) == IPT_FUP &&
		!ipt_fup_has_target(s->p, at, end);
}

/*
 * True if @pkt, which ends at @at, announces a FUP that is not there: an overflow took it (the FUP
 * after an OVF is the address where tracing resumes, cases B01, B09), or tracing is off (B08).
 */
static bool fup_lost(const struct ipt_packet *pkt, const struct trace_span *s, uint64_t at,
		     uint64_t end)
{
	if (!pkt->flag || (pkt->kind != IPT_EXSTOP && pkt->kind != IPT_PTW))
		return false;
	switch (next_flow(s->p, &at, end)) {
	case IPT_OVF: case IPT_PSB: case IPT_TIP: case IPT_TIP_PGE: case IPT_TIP_PGD:
	case IPT_TNT8: case IPT_TNT64:
		return true;
	}
	return false;
}

/* True if a PSB group may hold it (SDM, "PSB Packet", table of what may follow). */
static bool in_psb_group(unsigned kind)
{
	switch (kind) {
	case IPT_PAD: case IPT_FUP: case IPT_MODE_EXEC: case IPT_MODE_TSX: case IPT_PIP:
	case IPT_VMCS: case IPT_CBR: case IPT_TSC: case IPT_TMA: case IPT_MTC: case IPT_CYC:
	case IPT_MNT:
		return true;
	}
	return false;
}

#define NO_GROUP	UINT64_MAX

/*
 * Follows PSB groups; *@group is the offset of the open one. Returns false where the packet can not
 * stand. libipt reads a whole group ahead and gives up what lies before a broken one.
 */
static bool follow_group(uint64_t *group, unsigned kind, uint64_t at)
{
	if (kind == IPT_PSB) {
		if (*group != NO_GROUP)
			return false;
		*group = at;
		return true;
	}
	if (*group == NO_GROUP || in_psb_group(kind))
		return true;
	*group = kind == IPT_PSBEND || kind == IPT_OVF ? NO_GROUP : *group;
	return *group == NO_GROUP;
}

/*
 * Damage can make a packet that swallows the start of the PSB behind it. Looks for one that starts
 * in the last bytes before the bad packet; @last holds where packets started, indexed by the low
 * bits of a count that is now @n.
 */
static void resync(struct ipt_seg *out, const struct trace_span *s, uint64_t at, uint64_t psb,
		   const uint64_t *last, uint64_t n)
{
	uint64_t from = at - psb < 2 * IPT_PACKET_MAX ? psb + IPT_PACKET_MAX :
		at - IPT_PACKET_MAX + 1;

	if (from > at)
		from = at;
	out->next = from + ipt_sync_forward(s->p + from, s->size - from);
	out->bad = at;
	while (out->bad > out->next && n--)
		out->bad = last[n % IPT_PACKET_MAX];
}

/*
 * So many zeros in a row were never written by a trace unit: those that are known pad by 21 bytes
 * at most. A line of 64 zero bytes that begins inside of a packet leaves 49 or more.
 */
#define PADS_MAX	47

/* Zeros stand where trace should be, from before the packet at @at on. */
static void unwritten(struct ipt_seg *out, const struct trace_span *s, uint64_t at, uint64_t from,
		      uint64_t group)
{
	out->cause = HWT_GAP_AUX_MISSING;
	out->bad = from;
	out->end = group < from ? group : from;
	out->next = at + ipt_sync_forward(s->p + at, s->size - at);
}

#define NO_FUP	UINT64_MAX

struct fup { uint64_t at; bool bound; };

/*
 * Follows FUPs that stand alone: an interrupt or an asynchronous disable, which a TIP or TIP.PGD
 * completes (SDM, "Compound Packet Events"). Where a PSB comes first that packet is missing, and
 * libipt would take the next one for it. @f->at is the FUP that waits.
 */
static void follow_fup(struct fup *f, const struct ipt_packet *pkt, uint64_t at)
{
	switch (pkt->kind) {
	case IPT_MODE_TSX: case IPT_OVF:
		*f = (struct fup){ NO_FUP, true };
		break;
	case IPT_EXSTOP: case IPT_PTW: case IPT_BEP: case IPT_CFE: case IPT_TRIG:
		f->bound |= pkt->flag;
		break;
	case IPT_FUP:
		f->at = f->bound ? NO_FUP : at;
		f->bound = false;
		break;
	case IPT_TIP: case IPT_TIP_PGE: case IPT_TIP_PGD: case IPT_TNT8: case IPT_TNT64:
		*f = (struct fup){ NO_FUP, false };
		break;
	}
}

bool ipt_looks_cut(const struct ipt_packet *pkt, const uint8_t *p, uint64_t n)
{
	return pkt->kind == IPT_CYC && pkt->size == 2 && n > 2 && p[1] == 0x02 && p[2] == 0xf3;
}

_Static_assert(IPT_KINDS <= 32, "kinds of packets are bits of a word");

void ipt_scan(struct ipt_seg *out, const struct trace_span *s, uint64_t from)
{
	uint64_t at, done, psb, group = NO_GROUP, last[IPT_PACKET_MAX], npkts = 0;
	uint64_t pads = 0, before = 0;	/* PADs in a row; where the packet before them begins */
	struct fup fup = { NO_FUP, false };
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	int n = 0;

	*out = (struct ipt_seg){ .cut_cyc = HWT_NO_OFF, .back = HWT_NO_OFF, .tsc = out->tsc };
	at = from + ipt_sync_forward(s->p + from, s->size - from);
	out->begin = psb = at;
	done = at;
	while (at < s->size) {
		/* a short TNT: all that the rest would do with most packets */
		if (ipt_packet_is_short(s->p[at]) && s->p[at] && !ctx.bbp && group == NO_GROUP &&
		    pads <= PADS_MAX) {
			fup = (struct fup){ NO_FUP, false };
			pads = 0;
			out->kinds |= 1U << IPT_TNT8;
			last[npkts++ % IPT_PACKET_MAX] = at++;
			continue;
		}
		n = ipt_packet_decode(&pkt, &ctx, s->p + at, s->size - at);
		if (n >= 0 && pkt.kind == IPT_PSB && fup.at != NO_FUP) {
			out->cause = HWT_GAP_BREAK;
			out->bad = out->end = fup.at;
			out->next = at;
			return;
		}
		if (n >= 0 && pkt.kind == IPT_PAD) {
			if (!pads++)
				before = last[(npkts - 1) % IPT_PACKET_MAX];
		} else if (pads > PADS_MAX) {
			unwritten(out, s, at, before, group);
			return;
		} else {
			pads = 0;
		}
		if (n >= 0 && !follow_group(&group, pkt.kind, at))
			n = -HWT_E_PACKET;
		if (n < 0)
			break;
		if (pkt.kind == IPT_PSB)
			psb = at;
		if (group == NO_GROUP)
			follow_fup(&fup, &pkt, at);
		if (flag_changed(&pkt, s, at + (unsigned)n, s->size, group != NO_GROUP))
			out->foreign = fup.bound = true;
		out->kinds |= 1U << pkt.kind;
		if (pkt.kind == IPT_CYC && out->cut_cyc == HWT_NO_OFF &&
		    ipt_looks_cut(&pkt, s->p + at, s->size - at))
			out->cut_cyc = at;
		if (pkt.kind == IPT_TSC) {
			if ((pkt.payload < out->tsc || !pkt.payload) && out->back == HWT_NO_OFF)
				out->back = at;
			out->tsc = pkt.payload;
		}
		last[npkts++ % IPT_PACKET_MAX] = at;
		at += (unsigned)n;
		if (is_foreign(pkt.kind) || fup_lost(&pkt, s, at, s->size))
			out->foreign = true;
		/* only the resident part: these bytes are read again by the walk */
		span_done_before(s, at, &done);
	}
	out->next = out->bad = at;
	if (n == -HWT_E_PACKET) {
		out->cause = HWT_GAP_BAD_PACKET;
		resync(out, s, at, psb, last, npkts);
	} else if (at < s->size || group != NO_GROUP) {
		out->cause = HWT_GAP_TRUNCATED;
		out->next = s->size;
		if (at == s->size)
			out->bad = group;
	}
	out->end = group != NO_GROUP ? group : out->bad;
}

bool ipt_unwritten(const struct trace_span *s, uint64_t n)
{
	return n && n < s->size && !s->p[0] && !memcmp(s->p, s->p + 1, n - 1);
}

/* True if @pkt, which ends at @at, is given to libipt as an EXSTOP with IP. */
static bool becomes_exstop(const struct ipt_packet *pkt, const struct trace_span *s, uint64_t at,
			   uint64_t end, bool group)
{
	if (pkt->kind == IPT_MODE_EXEC)
		return flag_changed(pkt, s, at, end, group);
	if (pkt->kind != IPT_BEP && pkt->kind != IPT_CFE && pkt->kind != IPT_TRIG)
		return false;
	return pkt->flag && !fup_has_target(s->p, at, end);
}

/* @d is a copy of @pkt, which ends at @at. */
static void patch(uint8_t *d, const struct ipt_packet *pkt, const struct trace_span *s, uint64_t at,
		  uint64_t end, bool group)
{
	static const uint8_t exstop_ip[2] = { 0x02, 0xe2 };	/* SDM, "EXSTOP Packet" */
	bool bound;

	if (fup_lost(pkt, s, at, end))
		d[1] &= 0x7f;		/* bit IP of EXSTOP and PTW */
	bound = becomes_exstop(pkt, s, at, end, group);
	if (!bound && !is_foreign(pkt->kind))
		return;
	memset(d, 0, pkt->size);
	if (bound)
		memcpy(d + pkt->size - 2, exstop_ip, 2);
}

size_t ipt_scan_patch(uint8_t *dst, size_t room, struct ipt_patch *w, const struct trace_span *s,
		      const struct ipt_seg *seg)
{
	struct ipt_packet pkt;
	size_t used = 0;

	while (w->at < seg->end) {
		struct ipt_ctx ctx = w->ctx;
		int n = ipt_packet_decode(&pkt, &ctx, s->p + w->at, seg->end - w->at);
		size_t size = n < 0 ? seg->end - w->at : (size_t)n;	/* a run has none such */

		if (size > room - used && n < 0)
			size = room - used;
		if (size > room - used || !size)
			break;
		memcpy(dst + used, s->p + w->at, size);
		w->at += size;
		w->ctx = ctx;
		if (n >= 0) {
			w->group = in_group(w->group, pkt.kind);
			patch(dst + used, &pkt, s, w->at, seg->end, w->group);
		}
		used += size;
	}
	return used;
}

/* The rest of a PEBS block whose BBP was just read. */
static void block(struct ipt_foreign *out, struct ipt_foreign_walk *w, const struct trace_span *s)
{
	struct ipt_packet pkt;

	while (w->at < w->end) {
		struct ipt_ctx ctx = w->ctx;
		int n = ipt_packet_decode(&pkt, &ctx, s->p + w->at, w->end - w->at);

		if (n < 0 || (pkt.kind != IPT_BIP && pkt.kind != IPT_BEP))
			return;
		w->at += (unsigned)n;
		w->ctx = ctx;
		out->size += (unsigned)n;
		if (pkt.kind == IPT_BEP) {
			out->whole = true;
			out->bound = becomes_exstop(&pkt, s, w->at, w->end, w->group);
			return;
		}
	}
}

int ipt_foreign_next(struct ipt_foreign *out, struct ipt_foreign_walk *w,
		     const struct trace_span *s, uint64_t limit)
{
	struct ipt_packet pkt;

	while (w->at < limit) {
		uint64_t at = w->at;
		int n = ipt_packet_decode(&pkt, &w->ctx, s->p + at, w->end - at);

		if (n < 0)
			break;
		w->at += (unsigned)n;
		w->group = in_group(w->group, pkt.kind);
		if (!is_foreign(pkt.kind) &&
		    !flag_changed(&pkt, s, w->at, w->end, w->group) &&
		    !(pkt.kind == IPT_EXSTOP && pkt.flag && !fup_lost(&pkt, s, w->at, w->end)))
			continue;
		*out = (struct ipt_foreign){ .off = at, .size = (unsigned)n, .kind = pkt.kind };
		if (pkt.kind == IPT_BBP)
			block(out, w, s);
		else
			out->bound = pkt.kind == IPT_EXSTOP ||
				becomes_exstop(&pkt, s, w->at, w->end, w->group);
		return 1;
	}
	return 0;
}

uint64_t ipt_next_ovf(const struct trace_span *s, uint64_t from, uint64_t limit, bool cyc_cut)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	while (from < limit) {
		int n = ipt_packet_decode(&pkt, &ctx, s->p + from, limit - from);

		if (n < 0)
			break;
		if (pkt.kind == IPT_OVF)
			return from;
		if (cyc_cut && ipt_looks_cut(&pkt, s->p + from, limit - from))
			return from + 1;
		from += (unsigned)n;
	}
	return limit;
}
