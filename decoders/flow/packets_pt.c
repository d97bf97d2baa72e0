/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pt/packet.h"
#include "flow.h"
#include "ipt_scan.h"

/* Bytes of one skipped run in one packet; a longer one is given in pieces. */
#define SKIP_MAX	(1U << 30)

/*
 * The TSC at MTC packets. TMA gives the crystal counter (CTC) and the TSC ticks since its last step
 * for the TSC packet before it; MTC is sent at a step. Intel SDM vol. 3, TMA and MTC
 * packets, and CPUID leaf 15.
 */
struct mtc_clock {
	bool tsc_known, known;
	uint64_t tsc;		/* of the last TSC packet */
	uint64_t base;		/* TSC at CTC @ctc */
	uint64_t ctc;		/* of the last TMA, 16 bits are sent */
	uint64_t count;		/* CTC >> MTCFreq at the last MTC, its 8 low bits are sent */
};

struct packets_pt {
	struct hwt_packets ps;
	const struct trace_buf *buf;
	size_t span;		/* current one */
	uint64_t at;		/* bytes of it that were given */
	uint64_t told;		/* of them the system was told that they are done */
	uint64_t unwritten;	/* so many bytes from its start on are no packets, but no hole */
	bool synced;
	bool cyc_cut;		/* the CPU can cut a CYC by an OVF: SKD007, SKL049, KBL041 */
	struct ipt_ctx ctx;
	struct ipt_last_ip last;
	struct mtc_clock clock;
};

/* Skylake and Kaby Lake client parts, as listed in their specification updates. */
static bool has_cyc_cut(const struct trace_buf *buf)
{
	const struct trace_cfg *cfg = buf->ncfgs ? buf->cfgs : NULL;

	if (!cfg || cfg->proto != HWT_PROTO_PT || cfg->r.pt.family != 6)
		return false;
	switch (cfg->r.pt.model) {
	case 0x4e: case 0x5e: case 0x8e: case 0x9e: return true;
	}
	return false;
}

/* The TSC at an MTC; false if it is not known: no TMA, or MTCs are missing. */
static bool mtc_time(struct packets_pt *pp, uint8_t mtc, uint64_t *tsc)
{
	const struct trace_cfg *cfg = pp->buf->ncfgs ? pp->buf->cfgs : NULL;
	struct mtc_clock *c = &pp->clock;
	uint8_t step = mtc - (uint8_t)c->count;
	int64_t since;		/* CTC steps after the TMA; below 0 at an MTC of the same count */

	if (!c->known || !cfg || !cfg->r.pt.cpuid_15_eax || !cfg->r.pt.cpuid_15_ebx)
		return false;
	if (step >= 128) {		/* back, or half of the range is missing */
		c->known = false;
		return false;
	}
	c->count += step;
	since = (int64_t)((c->count << cfg->r.pt.mtc_freq) - c->ctc);
	*tsc = c->base + (uint64_t)((__int128)since * cfg->r.pt.cpuid_15_ebx /
				    cfg->r.pt.cpuid_15_eax);
	return true;
}

/* Follows the timing packets; true and *@tsc if a TMA or MTC has a time. */
static bool clock_step(struct packets_pt *pp, const struct ipt_packet *k, uint64_t *tsc)
{
	const struct trace_cfg *cfg = pp->buf->ncfgs ? pp->buf->cfgs : NULL;
	struct mtc_clock *c = &pp->clock;

	switch (k->kind) {
	case IPT_TSC:
		*c = (struct mtc_clock){ .tsc_known = true, .tsc = k->payload };
		return false;
	case IPT_TMA:
		/* with a larger MTCFreq the sent 16 bits do not hold all of an MTC */
		c->known = c->tsc_known && cfg && cfg->r.pt.mtc_freq <= 8;
		c->base = c->tsc - k->extra;
		c->ctc = k->payload;
		c->count = cfg ? k->payload >> (cfg->r.pt.mtc_freq & 15) : 0;
		*tsc = c->tsc;
		return c->tsc_known;
	case IPT_MTC:
		return mtc_time(pp, (uint8_t)k->payload, tsc);
	case IPT_OVF:
		c->known = false;	/* MTCs may be lost */
	}
	return false;
}

static void begin(struct packets_pt *pp, struct hwt_packet *pkt, uint64_t size)
{
	const struct trace_span *s = &pp->buf->spans[pp->span];
	const uint8_t *p = s->p + pp->at;

	memset(pkt, 0, sizeof(*pkt));
	pkt->off = s->pos + pp->at;
	pkt->proto = HWT_PROTO_PT;
	pkt->size = size;
	pkt->raw_size = size < sizeof(pkt->raw) ? size : sizeof(pkt->raw);
	memcpy(pkt->raw, p, pkt->raw_size);
	pp->at += size;
}

static int bad(struct packets_pt *pp, struct hwt_packet *pkt, uint64_t size, const char *why)
{
	begin(pp, pkt, size < SKIP_MAX ? size : SKIP_MAX);
	pp->clock = (struct mtc_clock){ 0 };
	pkt->bad = 1;
	snprintf(pkt->name, sizeof(pkt->name), "bad");
	snprintf(pkt->text, sizeof(pkt->text), "%s", why);
	return 1;
}

/* One line for what flow counts as decoded, too. */
static int unwritten(struct packets_pt *pp, struct hwt_packet *pkt, uint64_t size)
{
	begin(pp, pkt, size < SKIP_MAX ? size : SKIP_MAX);
	snprintf(pkt->name, sizeof(pkt->name), "%s", ipt_packet_name(IPT_PAD));
	snprintf(pkt->text, sizeof(pkt->text), "(never written)");
	return 1;
}

static int good(struct packets_pt *pp, struct hwt_packet *pkt, const struct ipt_packet *k,
		bool ambiguous)
{
	uint64_t tsc;
	size_t len;

	begin(pp, pkt, k->size);
	if (k->kind == IPT_OVF)
		pkt->hole = HWT_GAP_OVERFLOW;
	if (k->kind == IPT_PSB)
		memset(&pp->last, 0, sizeof(pp->last));
	snprintf(pkt->name, sizeof(pkt->name), "%s", ipt_packet_name(k->kind));
	len = ipt_packet_text(k, &pp->last, pkt->text, sizeof(pkt->text));
	if (clock_step(pp, k, &tsc) && len < sizeof(pkt->text))
		snprintf(pkt->text + len, sizeof(pkt->text) - len, " tsc %016" PRIx64, tsc);
	if (ambiguous && len < sizeof(pkt->text))
		snprintf(pkt->text + len, sizeof(pkt->text) - len,
			 " (or the first byte of a CYC cut by an overflow: 02 f3 follows)");
	return 1;
}

/* The packet at the current place of a span; @n bytes are left, at least one. */
static int next_in_span(struct packets_pt *pp, struct hwt_packet *pkt, const uint8_t *p, size_t n)
{
	struct ipt_packet k;
	int rc;

	if (pp->at < pp->unwritten)
		return unwritten(pp, pkt, pp->unwritten - pp->at);
	if (!pp->synced) {
		size_t skip = ipt_sync_forward(p, n);

		if (!pp->at && ipt_unwritten(&pp->buf->spans[pp->span], skip)) {
			pp->unwritten = skip;
			return unwritten(pp, pkt, skip);
		}
		if (skip)
			return bad(pp, pkt, skip, "(not synchronised)");
		pp->synced = true;
		memset(&pp->ctx, 0, sizeof(pp->ctx));
	}
	rc = ipt_packet_decode(&k, &pp->ctx, p, n);
	if (rc == -HWT_E_MORE)
		return bad(pp, pkt, n, "truncated");
	if (rc < 0) {
		pp->synced = false;
		return bad(pp, pkt, 1 + ipt_sync_forward(p + 1, n - 1), ipt_packet_why(p, n));
	}
	if (!ipt_looks_cut(&k, p, n))
		return good(pp, pkt, &k, false);
	if (pp->cyc_cut)
		return bad(pp, pkt, 1, "CYC cut by an overflow (erratum SKD007)");
	return good(pp, pkt, &k, true);
}

static int next(struct hwt_packets *ps, struct hwt_packet *pkt)
{
	struct packets_pt *pp = (struct packets_pt *)ps;

	while (pp->span < pp->buf->nspans) {
		const struct trace_span *s = &pp->buf->spans[pp->span];

		span_done_before(s, pp->at, &pp->told);
		if (pp->at < s->size)
			return next_in_span(pp, pkt, s->p + pp->at, s->size - pp->at);
		pp->span++;
		pp->at = pp->told = pp->unwritten = 0;
		pp->synced = false;
		pp->clock = (struct mtc_clock){ 0 };
	}
	return 0;
}

static void packets_close(struct hwt_packets *ps)
{
	free(ps);
}

int packets_pt_new(struct hwt_packets **out, const struct flow_args *a, struct hwt_diag *diag)
{
	struct packets_pt *pp = calloc(1, sizeof(*pp));

	if (!pp)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	pp->ps.next = next;
	pp->ps.close = packets_close;
	pp->buf = a->buf;
	pp->cyc_cut = has_cyc_cut(a->buf);
	*out = &pp->ps;
	return 0;
}
