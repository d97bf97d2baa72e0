/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_bridge.h"

#include <hwtrace/event.h>

#include <stdlib.h>
#include <string.h>

#define GROUP	64	/* bytes: PSB 16, TSC 8, MODE 2, FUP 9, PSBEND 2, then one IP packet 9 */

void ipt_bridge_period(struct ipt_bridge *b, uint64_t psb)
{
	b->at = psb;
	b->ctx = (struct ipt_ctx){ 0 };
	b->last = (struct ipt_last_ip){ 0 };
	b->mode = IPT_EXEC_L;
	b->from = b->to = 0;
}

unsigned ipt_bridge_read(struct ipt_bridge *b, const uint8_t *p, uint64_t limit,
			 struct ipt_packet *pkt, uint64_t *ip)
{
	int n;

	*ip = HWT_NO_ADDR;
	if (b->at >= limit)
		return 0;
	n = ipt_packet_decode(pkt, &b->ctx, p + b->at, limit - b->at);
	if (n < 0)
		return 0;
	b->at += (unsigned)n;
	switch (pkt->kind) {
	case IPT_PSB:
		b->last = (struct ipt_last_ip){ 0 };
		break;
	case IPT_MODE_EXEC:
		b->mode = (uint8_t)pkt->payload;
		break;
	case IPT_TIP: case IPT_TIP_PGE: case IPT_TIP_PGD: case IPT_FUP:
		if (ipt_last_ip_apply(&b->last, pkt))
			*ip = b->last.ip;
		break;
	}
	return (unsigned)n;
}

/* An IP packet with the whole address. SDM, "IP Compression": IPBytes 6. */
static uint8_t *put_ip(uint8_t *q, uint8_t opcode, uint64_t ip)
{
	*q++ = opcode | 6 << 5;
	for (int i = 0; i < 8; i++)
		*q++ = (uint8_t)(ip >> 8 * i);
	return q;
}

/* The group in @q; its size. */
static size_t group(uint8_t *q, unsigned kind, uint8_t mode, uint64_t ip, uint64_t tsc)
{
	enum { FUP = 0x1d, PGE = 0x11 };
	uint8_t *const begin = q;

	for (int i = 0; i < 8; i++) {
		*q++ = 0x02;
		*q++ = 0x82;
	}
	if (tsc != HWT_TIME_UNKNOWN) {
		*q++ = 0x19;
		for (int i = 0; i < 7; i++)
			*q++ = (uint8_t)(tsc >> 8 * i);
	}
	*q++ = 0x99;
	*q++ = mode;
	if (kind != IPT_TIP_PGE)
		q = put_ip(q, FUP, ip);
	*q++ = 0x02;
	*q++ = 0x23;
	/* an enable is told as one; a FUP comes once more, for what it is bound to */
	if (kind == IPT_TIP_PGE)
		q = put_ip(q, PGE, ip);
	else if (kind == IPT_FUP)
		q = put_ip(q, FUP, ip);
	return (size_t)(q - begin);
}

static bool copy(struct ipt_bridge *b, const uint8_t *p, uint64_t to)
{
	size_t n = to - b->at;
	uint8_t *buf;

	if (b->to == to && b->from <= b->at)
		return true;	/* a later place in the same period */
	if (n > IPT_BRIDGE_MAX)
		return false;
	if (n + GROUP > b->cap) {
		buf = realloc(b->buf, n + GROUP);
		if (!buf)
			return false;
		b->buf = buf;
		b->cap = n + GROUP;
	}
	memcpy(b->buf + GROUP, p + b->at, n);
	b->from = b->at;
	b->to = to;
	return true;
}

size_t ipt_bridge_make(struct ipt_bridge *b, const uint8_t *p, uint64_t to, unsigned kind,
		       uint64_t ip, uint64_t tsc, uint8_t **start)
{
	uint8_t g[GROUP];
	size_t n;

	if (!copy(b, p, to))
		return 0;
	n = group(g, kind, b->mode & (IPT_EXEC_L | IPT_EXEC_D), ip, tsc);
	*start = b->buf + GROUP + (b->at - b->from) - n;
	memcpy(*start, g, n);
	return n;
}

void ipt_bridge_free(struct ipt_bridge *b)
{
	free(b->buf);
	b->buf = NULL;
	b->cap = 0;
}
