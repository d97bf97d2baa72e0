/* SPDX-License-Identifier: BSD-2-Clause */
#include "pt_packet.h"

#include <string.h>

void model_pt_init(struct model_pt_buf *e, void *p, size_t cap)
{
	memset(e, 0, sizeof(*e));
	e->p = p;
	e->cap = cap;
}

void model_pt_raw(struct model_pt_buf *e, const void *p, size_t n)
{
	if (n > e->cap - e->n) {
		e->full = true;
		return;
	}
	memcpy(e->p + e->n, p, n);
	e->n += n;
}

/* Header of @h bytes, then @len bytes of @v, low byte first. */
static void packet(struct model_pt_buf *e, const char *head, unsigned h, uint64_t v, unsigned len)
{
	uint8_t b[16];

	memcpy(b, head, h);
	for (unsigned i = 0; i < len; i++, v >>= 8)
		b[h + i] = (uint8_t)v;
	model_pt_raw(e, b, h + len);
}

void model_pt_pad(struct model_pt_buf *e, unsigned n)
{
	while (n--)
		packet(e, "", 0, 0, 1);
}

void model_pt_psb(struct model_pt_buf *e)
{
	packet(e, "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82", 16, 0, 0);
	e->last_ip = 0;
}

void model_pt_psbend(struct model_pt_buf *e) { packet(e, "\x02\x23", 2, 0, 0); }
void model_pt_ovf(struct model_pt_buf *e) { packet(e, "\x02\xf3", 2, 0, 0); }
void model_pt_stop(struct model_pt_buf *e) { packet(e, "\x02\x83", 2, 0, 0); }

/* What a decoder makes of @ip sent in this form, when the last ip was @last. */
static uint64_t received(uint64_t last, uint64_t ip, enum model_pt_ipb ipb)
{
	switch (ipb) {
	case MODEL_PT_IPB_16: return (last >> 16 << 16) | (ip & 0xffff);
	case MODEL_PT_IPB_32: return (last >> 32 << 32) | (ip & 0xffffffff);
	case MODEL_PT_IPB_48S: return ip >> 47 & 1 ? ip | 0xffffull << 48 : ip << 16 >> 16;
	case MODEL_PT_IPB_48: return (last >> 48 << 48) | ip << 16 >> 16;
	default: return ip;
	}
}

bool model_pt_ip_fits(const struct model_pt_buf *e, uint64_t ip, enum model_pt_ipb ipb)
{
	return received(e->last_ip, ip, ipb) == ip;
}

bool model_pt_ip(struct model_pt_buf *e, enum model_pt_kind what, uint64_t ip,
		 enum model_pt_ipb ipb)
{
	static const enum model_pt_ipb order[] = { MODEL_PT_IPB_16, MODEL_PT_IPB_32,
		MODEL_PT_IPB_48S, MODEL_PT_IPB_48, MODEL_PT_IPB_64 };
	static const uint8_t bytes[] = { 0, 2, 4, 6, 6, 0, 8 };
	static const uint8_t op[] = { [MODEL_PT_TIP] = 13, [MODEL_PT_PGE] = 17,
		[MODEL_PT_PGD] = 1, [MODEL_PT_FUP] = 29 };
	char head;

	for (unsigned i = 0; ipb == MODEL_PT_IPB_BEST; i++)
		if (model_pt_ip_fits(e, ip, order[i]))
			ipb = order[i];
	if (ipb != MODEL_PT_IPB_0) {
		if (!model_pt_ip_fits(e, ip, ipb))
			return false;
		e->last_ip = ip;
	}
	head = (char)(op[what] + 32 * ipb);
	packet(e, &head, 1, ip, bytes[ipb]);
	return true;
}

bool model_pt_tip(struct model_pt_buf *e, uint64_t ip)
{
	return model_pt_ip(e, MODEL_PT_TIP, ip, MODEL_PT_IPB_BEST);
}

bool model_pt_pge(struct model_pt_buf *e, uint64_t ip)
{
	return model_pt_ip(e, MODEL_PT_PGE, ip, MODEL_PT_IPB_BEST);
}

bool model_pt_pgd(struct model_pt_buf *e, uint64_t ip)
{
	return model_pt_ip(e, MODEL_PT_PGD, ip, MODEL_PT_IPB_BEST);
}

bool model_pt_fup(struct model_pt_buf *e, uint64_t ip)
{
	return model_pt_ip(e, MODEL_PT_FUP, ip, MODEL_PT_IPB_BEST);
}

void model_pt_pgd_noip(struct model_pt_buf *e)
{
	model_pt_ip(e, MODEL_PT_PGD, 0, MODEL_PT_IPB_0);
}

/* A leading 1 as stop, then the branches, the oldest first (SDM, "TNT Packet"). */
void model_pt_tnt(struct model_pt_buf *e, uint64_t bits, unsigned n)
{
	packet(e, "", 0, (bits | 1ull << n) << 1, 1);
}

void model_pt_tnt_long(struct model_pt_buf *e, uint64_t bits, unsigned n)
{
	packet(e, "\x02\xa3", 2, bits | 1ull << n, 6);
}

void model_pt_exec(struct model_pt_buf *e, unsigned bits)
{
	packet(e, "\x99", 1, bits == 64 ? 1 : bits == 32 ? 2 : 0, 1);
}

void model_pt_tsx(struct model_pt_buf *e, bool intx, bool abort)
{
	packet(e, "\x99", 1, 0x20 + intx + 2 * abort, 1);
}

void model_pt_pip(struct model_pt_buf *e, uint64_t cr3, bool nr)
{
	packet(e, "\x02\x43", 2, cr3 / 32 * 2 + nr, 6);
}

void model_pt_vmcs(struct model_pt_buf *e, uint64_t base)
{
	packet(e, "\x02\xc8", 2, base / 4096, 5);
}
void model_pt_cbr(struct model_pt_buf *e, uint8_t ratio) { packet(e, "\x02\x03", 2, ratio, 2); }
void model_pt_tsc(struct model_pt_buf *e, uint64_t tsc) { packet(e, "\x19", 1, tsc, 7); }
void model_pt_mtc(struct model_pt_buf *e, uint8_t ctc) { packet(e, "\x59", 1, ctc, 1); }

void model_pt_tma(struct model_pt_buf *e, uint16_t ctc, uint16_t fc)
{
	packet(e, "\x02\x73", 2, ctc + ((uint64_t)(fc & 511) << 24), 5);
}

void model_pt_cyc(struct model_pt_buf *e, uint64_t cycles)
{
	uint8_t b[16];
	unsigned n = 1;

	b[0] = (uint8_t)(cycles % 32 * 8 + 3);
	cycles /= 32;
	if (cycles)
		b[0] += 4;
	for (; cycles; cycles /= 128, n++)
		b[n] = (uint8_t)(cycles % 128 * 2 + (cycles > 127));
	model_pt_raw(e, b, n);
}

void model_pt_mnt(struct model_pt_buf *e, uint64_t v) { packet(e, "\x02\xc3\x88", 3, v, 8); }

void model_pt_ptw(struct model_pt_buf *e, uint64_t v, unsigned bytes, bool ip)
{
	char head[2] = { 2, (char)(0x12 + (bytes == 8 ? 0x20 : 0) + (ip ? 0x80 : 0)) };

	packet(e, head, 2, v, bytes == 8 ? 8 : 4);
}

void model_pt_exstop(struct model_pt_buf *e, bool ip)
{
	packet(e, ip ? "\x02\xe2" : "\x02\x62", 2, 0, 0);
}

void model_pt_mwait(struct model_pt_buf *e, uint32_t hints, uint32_t extensions)
{
	packet(e, "\x02\xc2", 2, hints + ((uint64_t)extensions << 32), 8);
}

void model_pt_pwre(struct model_pt_buf *e, unsigned state, unsigned sub, bool hw)
{
	packet(e, "\x02\x22", 2, (hw ? 0x80 : 0) + (sub & 15) * 256 + (state & 15) * 4096, 2);
}

void model_pt_pwrx(struct model_pt_buf *e, unsigned last, unsigned deepest, unsigned wake)
{
	packet(e, "\x02\xa2", 2, (deepest & 15) + (last & 15) * 16 + (wake & 15) * 256, 5);
}

void model_pt_bbp(struct model_pt_buf *e, unsigned type, unsigned item_bytes)
{
	packet(e, "\x02\x63", 2, (type & 31) + (item_bytes == 4 ? 0x80 : 0), 1);
}

void model_pt_bip(struct model_pt_buf *e, unsigned id, uint64_t v, unsigned item_bytes)
{
	char head = (char)((id & 31) * 8 + 4);

	packet(e, &head, 1, v, item_bytes == 4 ? 4 : 8);
}

void model_pt_bep(struct model_pt_buf *e, bool ip)
{
	packet(e, ip ? "\x02\xb3" : "\x02\x33", 2, 0, 0);
}

void model_pt_cfe(struct model_pt_buf *e, unsigned type, uint8_t vector, bool ip)
{
	packet(e, "\x02\x13", 2, (type & 31) + (ip ? 0x80 : 0) + vector * 256, 2);
}

void model_pt_evd(struct model_pt_buf *e, unsigned type, uint64_t v)
{
	char head[3] = { 2, 0x53, (char)(type & 63) };

	packet(e, head, 3, v, 8);
}
