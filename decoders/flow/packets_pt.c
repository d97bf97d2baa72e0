/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../pt/packet.h"
#include "flow.h"

/* Bytes of one skipped run in one packet; a longer one is given in pieces. */
#define SKIP_MAX	(1U << 30)

struct packets_pt {
	struct hwt_packets ps;
	const struct trace_buf *buf;
	size_t span;		/* current one */
	uint64_t at;		/* bytes of it that were given */
	bool synced;
	bool cyc_cut;		/* the CPU can cut a CYC by an OVF: SKD007, SKL049, KBL041 */
	struct ipt_ctx ctx;
	struct ipt_last_ip last;
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

/* A CYC of two bytes that with the byte after it reads x7 02 f3: the last two may be an OVF. */
static bool looks_cut(const struct ipt_packet *k, const uint8_t *p, uint64_t n)
{
	return k->kind == IPT_CYC && k->size == 2 && n > 2 && p[1] == 0x02 && p[2] == 0xf3;
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
	pkt->bad = 1;
	snprintf(pkt->name, sizeof(pkt->name), "bad");
	snprintf(pkt->text, sizeof(pkt->text), "%s", why);
	return 1;
}

static int good(struct packets_pt *pp, struct hwt_packet *pkt, const struct ipt_packet *k,
		bool ambiguous)
{
	size_t len;

	begin(pp, pkt, k->size);
	if (k->kind == IPT_PSB)
		memset(&pp->last, 0, sizeof(pp->last));
	snprintf(pkt->name, sizeof(pkt->name), "%s", ipt_packet_name(k->kind));
	len = ipt_packet_text(k, &pp->last, pkt->text, sizeof(pkt->text));
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

	if (!pp->synced) {
		size_t skip = ipt_sync_forward(p, n);

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
	if (!looks_cut(&k, p, n))
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

		if (pp->at < s->size)
			return next_in_span(pp, pkt, s->p + pp->at, s->size - pp->at);
		pp->span++;
		pp->at = 0;
		pp->synced = false;
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
