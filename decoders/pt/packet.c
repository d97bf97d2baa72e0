/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdbool.h>

#include "packet.h"

/*
 * Packets that start with 02, by their second byte. Size 0: reserved. Intel SDM vol. 3, "Trace
 * Packets", table of headers.
 */
static const struct {
	uint8_t kind, size;
} ext[256] = {
	[0x03] = { IPT_CBR, 4 },	[0x12] = { IPT_PTW, 6 },	[0x13] = { IPT_CFE, 4 },
	[0x22] = { IPT_PWRE, 4 },	[0x23] = { IPT_PSBEND, 2 },	[0x32] = { IPT_PTW, 10 },
	[0x33] = { IPT_BEP, 2 },	[0x43] = { IPT_PIP, 8 },	[0x53] = { IPT_EVD, 11 },
	[0x62] = { IPT_EXSTOP, 2 },	[0x63] = { IPT_BBP, 3 },	[0x73] = { IPT_TMA, 7 },
	[0x82] = { IPT_PSB, 16 },	[0x83] = { IPT_STOP, 2 },	[0x92] = { IPT_PTW, 6 },
	[0xa2] = { IPT_PWRX, 7 },	[0xa3] = { IPT_TNT64, 8 },	[0xb2] = { IPT_PTW, 10 },
	[0xb3] = { IPT_BEP, 2 },	[0xc2] = { IPT_MWAIT, 10 },	[0xc3] = { IPT_MNT, 11 },
	[0xc8] = { IPT_VMCS, 7 },	[0xe2] = { IPT_EXSTOP, 2 },	[0xf3] = { IPT_OVF, 2 },
};

/* Bytes of IP by the IPBytes field; -1: reserved. SDM, "IP Compression". */
static const int8_t ip_bytes[8] = { 0, 2, 4, 6, 6, -1, 8, -1 };

#define CYC_MAX	9	/* bytes: 5 + 8 * 7 = 61 bits of count; one more would not fit 64 */

static uint64_t le16(const uint8_t *p)
{
	return p[0] | (uint64_t)p[1] << 8;
}

static uint64_t le32(const uint8_t *p)
{
	return le16(p) | le16(p + 2) << 16;
}

static uint64_t le48(const uint8_t *p)
{
	return le32(p) | le16(p + 4) << 32;
}

static uint64_t le64(const uint8_t *p)
{
	return le32(p) | le32(p + 4) << 32;
}

static int done(struct ipt_packet *out, unsigned kind, unsigned size, uint64_t payload)
{
	*out = (struct ipt_packet){ .kind = kind, .size = size, .payload = payload };
	return size;
}

static int decode_psb(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p, size_t n)
{
	for (size_t i = 2; i < 16; i++) {
		if (i == n)
			return -HWT_E_MORE;
		if (p[i] != (i & 1 ? 0x82 : 0x02))
			return -HWT_E_PACKET;
	}
	ctx->bbp = 0;
	return done(out, IPT_PSB, 16, 0);
}

static int decode_tnt64(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p)
{
	uint64_t bits = le48(p + 2);
	unsigned stop;

	if (bits < 2)		/* no stop bit, or no branch below it */
		return -HWT_E_PACKET;
	stop = 63 - __builtin_clzll(bits);
	ctx->bbp = 0;
	done(out, IPT_TNT64, 8, bits & ~(1ULL << stop));
	out->count = stop;
	return 8;
}

static int decode_tma(struct ipt_packet *out, const uint8_t *p)
{
	if (p[4] || p[6] & 0xfe)
		return -HWT_E_PACKET;
	done(out, IPT_TMA, 7, le16(p + 2));
	out->extra = le16(p + 5);
	return 7;
}

/* The payload of a whole 02 packet that has one. */
static int decode_ext_fields(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p,
			     unsigned kind, unsigned size)
{
	uint64_t payload = 0, extra = 0;
	unsigned count = 0, flag = 0;

	switch (kind) {
	case IPT_CBR:
		payload = p[2];
		break;
	case IPT_PTW:
		count = size - 2;
		payload = count == 4 ? le32(p + 2) : le64(p + 2);
		flag = p[1] >> 7;
		break;
	case IPT_CFE:
		payload = p[2] & 0x1f;
		flag = p[2] >> 7;
		extra = p[3];
		break;
	case IPT_EVD:
		extra = p[2] & 0x3f;
		payload = le64(p + 3);
		break;
	case IPT_PWRE:
		payload = p[3] >> 4;
		extra = p[3] & 0xf;
		flag = p[2] >> 7;
		break;
	case IPT_PWRX:
		payload = p[2] >> 4;
		extra = p[2] & 0xf;
		count = p[3] & 0xf;
		break;
	case IPT_PIP:		/* bit 0 NR, then CR3[51:5] */
		payload = le48(p + 2) >> 1 << 5;
		flag = p[2] & 1;
		break;
	case IPT_VMCS:
		payload = (le32(p + 2) | (uint64_t)p[6] << 32) << 12;
		break;
	case IPT_MWAIT:
		payload = le32(p + 2);
		extra = le32(p + 6);
		break;
	case IPT_MNT:
		payload = le64(p + 3);
		break;
	case IPT_EXSTOP:
		flag = p[1] >> 7;
		break;
	case IPT_BBP:
		count = p[2] & 0x1f;
		flag = p[2] >> 7;
		ctx->bbp = 1 + flag;
		ctx->type = count;
		break;
	case IPT_BEP:
		flag = p[1] >> 7;
		ctx->bbp = 0;
		break;
	case IPT_OVF:
		ctx->bbp = 0;
		break;
	}
	*out = (struct ipt_packet){ .payload = payload, .extra = extra, .kind = kind,
				    .size = size, .count = count, .flag = flag };
	return size;
}

static int decode_ext(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p, size_t n)
{
	unsigned kind, size;

	if (n < 2)
		return -HWT_E_MORE;
	kind = ext[p[1]].kind;
	size = ext[p[1]].size;
	if (!size)
		return -HWT_E_PACKET;
	if (kind == IPT_PSB)
		return decode_psb(out, ctx, p, n);
	if (kind == IPT_MNT && n > 2 && p[2] != 0x88)
		return -HWT_E_PACKET;
	if (n < size)
		return -HWT_E_MORE;
	if (kind == IPT_TNT64)
		return decode_tnt64(out, ctx, p);
	if (kind == IPT_TMA)
		return decode_tma(out, p);
	return decode_ext_fields(out, ctx, p, kind, size);
}

static int decode_ip(struct ipt_packet *out, struct ipt_ctx *ctx, unsigned kind,
		     const uint8_t *p, size_t n)
{
	unsigned ipc = p[0] >> 5;
	int len = ip_bytes[ipc];
	uint64_t ip = 0;

	if (len < 0)
		return -HWT_E_PACKET;
	if (n < 1 + (size_t)len)
		return -HWT_E_MORE;
	switch (len) {
	case 2: ip = le16(p + 1); break;
	case 4: ip = le32(p + 1); break;
	case 6: ip = le48(p + 1); break;
	case 8: ip = le64(p + 1); break;
	}
	if (kind != IPT_FUP)
		ctx->bbp = 0;
	done(out, kind, 1 + len, ip);
	out->count = ipc;
	return 1 + len;
}

static int decode_cyc(struct ipt_packet *out, const uint8_t *p, size_t n)
{
	uint64_t value = p[0] >> 3;
	unsigned size = 1, shift = 5;
	bool more = p[0] & 4;

	while (more) {
		if (size == CYC_MAX)
			return -HWT_E_PACKET;
		if (size == n)
			return -HWT_E_MORE;
		value |= (uint64_t)(p[size] >> 1) << shift;
		shift += 7;
		more = p[size++] & 1;
	}
	return done(out, IPT_CYC, size, value);
}

static int decode_mode(struct ipt_packet *out, const uint8_t *p, size_t n)
{
	if (n < 2)
		return -HWT_E_MORE;
	if (p[1] >> 5 > 1)
		return -HWT_E_PACKET;
	return done(out, p[1] >> 5 ? IPT_MODE_TSX : IPT_MODE_EXEC, 2, p[1] & 0x1f);
}

static int decode_bip(struct ipt_packet *out, const struct ipt_ctx *ctx, const uint8_t *p, size_t n)
{
	unsigned size = ctx->bbp == 2 ? 5 : 9;

	if (n < size)
		return -HWT_E_MORE;
	done(out, IPT_BIP, size, size == 5 ? le32(p + 1) : le64(p + 1));
	out->count = p[0] >> 3;
	out->extra = ctx->type;
	return size;
}

static int decode_trig(struct ipt_packet *out, const uint8_t *p, size_t n)
{
	unsigned size;

	if (n < 2)
		return -HWT_E_MORE;
	size = p[1] & 0x40 ? 5 : 3;	/* ICNTV: an instruction count follows */
	if (n < size)
		return -HWT_E_MORE;
	done(out, IPT_TRIG, size, p[2]);
	out->extra = size == 5 ? le16(p + 3) : 0;
	out->count = p[1] & 0x60;
	out->flag = p[1] >> 7;
	return size;
}

static int decode_odd(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p, size_t n)
{
	if ((p[0] & 3) == 3)
		return decode_cyc(out, p, n);
	switch (p[0] & 0x1f) {
	case 0x0d: return decode_ip(out, ctx, IPT_TIP, p, n);
	case 0x11: return decode_ip(out, ctx, IPT_TIP_PGE, p, n);
	case 0x01: return decode_ip(out, ctx, IPT_TIP_PGD, p, n);
	case 0x1d: return decode_ip(out, ctx, IPT_FUP, p, n);
	}
	switch (p[0]) {
	case 0x19: return n < 8 ? -HWT_E_MORE : done(out, IPT_TSC, 8, le64(p) >> 8);
	case 0x59: return n < 2 ? -HWT_E_MORE : done(out, IPT_MTC, 2, p[1]);
	case 0x99: return decode_mode(out, p, n);
	case 0xd9: return decode_trig(out, p, n);
	}
	return -HWT_E_PACKET;
}

/*
 * 32 first bytes with the same three high bits, which are IPBytes in the TIP family (op codes 01,
 * 0d, 11, 1d); even ones are PAD and short TNT, those that end in 011 CYC of one byte.
 */
#define SIZES(ip, ext, mtc) \
	1, ip, ext, 1, 1, 0, 1, 0, 1, 0, 1, 1, 1, ip, 1, 0, \
	1, ip, 1, 1, 1, 0, 1, 0, 1, mtc, 1, 1, 1, ip, 1, 0
const uint8_t ipt_packet_sizes[256] = {
	SIZES(1, 0, 0), SIZES(3, 1, 0), SIZES(5, 1, 2), SIZES(7, 1, 0),
	SIZES(7, 1, 0), SIZES(0, 1, 0), SIZES(9, 1, 0), SIZES(0, 1, 0),
};

int ipt_packet_decode_any(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p, size_t n)
{
	if (!n)
		return -HWT_E_MORE;
	if (p[0] & 1)
		return decode_odd(out, ctx, p, n);
	if (p[0] == 0x02)
		return decode_ext(out, ctx, p, n);
	if (ctx->bbp && (p[0] & 7) == 4)
		return decode_bip(out, ctx, p, n);
	if (!p[0])
		return done(out, IPT_PAD, 1, 0);
	ctx->bbp = 0;
	return ipt_packet_decode(out, ctx, p, n);
}

const char *ipt_packet_why(const uint8_t *p, size_t n)
{
	if (n && (p[0] & 3) == 3)
		return "CYC longer than 9 bytes";
	if (n > 1 && p[0] == 0x99)
		return "reserved MODE leaf";
	if (n && (p[0] & 1)) {
		unsigned op = p[0] & 0x1f;

		if (op == 0x0d || op == 0x11 || op == 0x01 || op == 0x1d)
			return "reserved IP compression";
		return "unknown packet header";
	}
	if (n < 2)
		return "unknown packet header";
	switch (p[1]) {
	case 0x82: return "broken PSB";
	case 0xa3: return "long TNT without a branch";
	case 0x73: return "reserved bits of TMA are set";
	case 0x52: case 0x72: case 0xd2: case 0xf2: return "reserved PTW size";
	}
	return "unknown extended packet header";
}

int ipt_last_ip_apply(struct ipt_last_ip *last, const struct ipt_packet *pkt)
{
	uint64_t ip = pkt->payload;

	last->suppressed = 0;
	switch (pkt->count) {
	case 1: last->ip = (last->ip & ~0xffffULL) | ip; return 1;
	case 2: last->ip = (last->ip & ~0xffffffffULL) | ip; return 1;
	case 3: last->ip = (uint64_t)((int64_t)(ip << 16) >> 16); return 1;
	case 4: last->ip = (last->ip & ~0xffffffffffffULL) | ip; return 1;
	case 6: last->ip = ip; return 1;
	}
	last->suppressed = 1;
	return 0;
}
