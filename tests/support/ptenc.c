/* SPDX-License-Identifier: BSD-2-Clause */
#include "ptenc.h"

#include <ctype.h>
#include <string.h>

void ptenc_init(struct ptenc *e, void *p, size_t cap)
{
	memset(e, 0, sizeof(*e));
	e->p = p;
	e->cap = cap;
}

void ptenc_raw(struct ptenc *e, const void *p, size_t n)
{
	if (n > e->cap - e->n) {
		e->full = true;
		return;
	}
	memcpy(e->p + e->n, p, n);
	e->n += n;
}

static unsigned nibble(char c)
{
	return isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;
}

void ptenc_hex(struct ptenc *e, const char *hex)
{
	while (*hex) {
		uint8_t b;

		if (isspace((unsigned char)*hex)) {
			hex++;
			continue;
		}
		if (!hex[1])
			return;
		b = nibble(hex[0]) << 4 | nibble(hex[1]);
		ptenc_raw(e, &b, 1);
		hex += 2;
	}
}

/* Header of @h bytes, then @len bytes of @v, low byte first. */
static void packet(struct ptenc *e, const char *head, unsigned h, uint64_t v, unsigned len)
{
	uint8_t b[16];

	memcpy(b, head, h);
	for (unsigned i = 0; i < len; i++, v >>= 8)
		b[h + i] = (uint8_t)v;
	ptenc_raw(e, b, h + len);
}

void ptenc_pad(struct ptenc *e, unsigned n)
{
	while (n--)
		packet(e, "", 0, 0, 1);
}

void ptenc_psb(struct ptenc *e)
{
	packet(e, "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82", 16, 0, 0);
	e->last_ip = 0;
}

void ptenc_psbend(struct ptenc *e) { packet(e, "\x02\x23", 2, 0, 0); }
void ptenc_ovf(struct ptenc *e) { packet(e, "\x02\xf3", 2, 0, 0); }
void ptenc_stop(struct ptenc *e) { packet(e, "\x02\x83", 2, 0, 0); }

/* What a decoder makes of @ip sent in this form, when the last ip was @last. */
static uint64_t received(uint64_t last, uint64_t ip, enum ptenc_ipc ipc)
{
	switch (ipc) {
	case PTENC_16: return (last >> 16 << 16) | (ip & 0xffff);
	case PTENC_32: return (last >> 32 << 32) | (ip & 0xffffffff);
	case PTENC_48S: return ip >> 47 & 1 ? ip | 0xffffull << 48 : ip << 16 >> 16;
	case PTENC_48: return (last >> 48 << 48) | ip << 16 >> 16;
	default: return ip;
	}
}

bool ptenc_ip(struct ptenc *e, enum ptenc_ip what, uint64_t ip, enum ptenc_ipc ipc)
{
	static const uint8_t op[] = { 13, 17, 1, 29 };
	static const enum ptenc_ipc order[] = { PTENC_16, PTENC_32, PTENC_48S, PTENC_48, PTENC_64 };
	unsigned len = 0;
	char head;

	for (unsigned i = 0; ipc == PTENC_AUTO; i++)
		if (received(e->last_ip, ip, order[i]) == ip)
			ipc = order[i];
	if (ipc != PTENC_SUPPRESSED) {
		if (received(e->last_ip, ip, ipc) != ip)
			return false;
		e->last_ip = ip;
		len = ipc == PTENC_16 ? 2 : ipc == PTENC_32 ? 4 : ipc == PTENC_64 ? 8 : 6;
	}
	head = (char)(op[what] + 32 * ipc);
	packet(e, &head, 1, ip, len);
	return true;
}

bool ptenc_tip(struct ptenc *e, uint64_t ip) { return ptenc_ip(e, PTENC_TIP, ip, PTENC_AUTO); }
bool ptenc_pge(struct ptenc *e, uint64_t ip) { return ptenc_ip(e, PTENC_PGE, ip, PTENC_AUTO); }
bool ptenc_pgd(struct ptenc *e, uint64_t ip) { return ptenc_ip(e, PTENC_PGD, ip, PTENC_AUTO); }
bool ptenc_fup(struct ptenc *e, uint64_t ip) { return ptenc_ip(e, PTENC_FUP, ip, PTENC_AUTO); }
void ptenc_pgd_noip(struct ptenc *e) { ptenc_ip(e, PTENC_PGD, 0, PTENC_SUPPRESSED); }

/* A leading 1 as stop, then one bit a branch; takes at most @max. */
static uint64_t branch_bits(const char **branches, unsigned max)
{
	uint64_t v = 1;

	for (; max && **branches; max--, ++*branches)
		v = v << 1 | (**branches == 'T' || **branches == '!');
	return v;
}

void ptenc_tnt(struct ptenc *e, const char *branches)
{
	while (*branches)
		packet(e, "", 0, branch_bits(&branches, 6) << 1, 1);
}

void ptenc_tnt_long(struct ptenc *e, const char *branches)
{
	while (*branches)
		packet(e, "\x02\xa3", 2, branch_bits(&branches, 47), 6);
}

void ptenc_exec(struct ptenc *e, unsigned bits)
{
	packet(e, "\x99", 1, bits == 64 ? 1 : bits == 32 ? 2 : 0, 1);
}

void ptenc_tsx(struct ptenc *e, bool intx, bool abort)
{
	packet(e, "\x99", 1, 0x20 + intx + 2 * abort, 1);
}

void ptenc_pip(struct ptenc *e, uint64_t cr3, bool nr)
{
	packet(e, "\x02\x43", 2, cr3 / 32 * 2 + nr, 6);
}

void ptenc_vmcs(struct ptenc *e, uint64_t base) { packet(e, "\x02\xc8", 2, base / 4096, 5); }
void ptenc_cbr(struct ptenc *e, uint8_t ratio) { packet(e, "\x02\x03", 2, ratio, 2); }
void ptenc_tsc(struct ptenc *e, uint64_t tsc) { packet(e, "\x19", 1, tsc, 7); }
void ptenc_mtc(struct ptenc *e, uint8_t ctc) { packet(e, "\x59", 1, ctc, 1); }

void ptenc_tma(struct ptenc *e, uint16_t ctc, uint16_t fc)
{
	packet(e, "\x02\x73", 2, ctc + ((uint64_t)(fc & 511) << 24), 5);
}

void ptenc_cyc(struct ptenc *e, uint64_t cycles)
{
	uint8_t b[16];
	unsigned n = 1;

	b[0] = (uint8_t)(cycles % 32 * 8 + 3);
	cycles /= 32;
	if (cycles)
		b[0] += 4;
	for (; cycles; cycles /= 128, n++)
		b[n] = (uint8_t)(cycles % 128 * 2 + (cycles > 127));
	ptenc_raw(e, b, n);
}

void ptenc_mnt(struct ptenc *e, uint64_t v) { packet(e, "\x02\xc3\x88", 3, v, 8); }

void ptenc_ptw(struct ptenc *e, uint64_t v, unsigned bytes, bool ip)
{
	char head[2] = { 2, (char)(0x12 + (bytes == 8 ? 0x20 : 0) + (ip ? 0x80 : 0)) };

	packet(e, head, 2, v, bytes == 8 ? 8 : 4);
}

void ptenc_exstop(struct ptenc *e, bool ip) { packet(e, ip ? "\x02\xe2" : "\x02\x62", 2, 0, 0); }

void ptenc_mwait(struct ptenc *e, uint32_t hints, uint32_t extensions)
{
	packet(e, "\x02\xc2", 2, hints + ((uint64_t)extensions << 32), 8);
}

void ptenc_pwre(struct ptenc *e, unsigned state, unsigned sub, bool hw)
{
	packet(e, "\x02\x22", 2, (hw ? 0x80 : 0) + (sub & 15) * 256 + (state & 15) * 4096, 2);
}

void ptenc_pwrx(struct ptenc *e, unsigned last, unsigned deepest, unsigned wake)
{
	packet(e, "\x02\xa2", 2, (deepest & 15) + (last & 15) * 16 + (wake & 15) * 256, 5);
}

void ptenc_bbp(struct ptenc *e, unsigned type, unsigned item_bytes)
{
	packet(e, "\x02\x63", 2, (type & 31) + (item_bytes == 4 ? 0x80 : 0), 1);
}

void ptenc_bip(struct ptenc *e, unsigned id, uint64_t v, unsigned item_bytes)
{
	char head = (char)((id & 31) * 8 + 4);

	packet(e, &head, 1, v, item_bytes == 4 ? 4 : 8);
}

void ptenc_bep(struct ptenc *e, bool ip) { packet(e, ip ? "\x02\xb3" : "\x02\x33", 2, 0, 0); }

void ptenc_cfe(struct ptenc *e, unsigned type, uint8_t vector, bool ip)
{
	packet(e, "\x02\x13", 2, (type & 31) + (ip ? 0x80 : 0) + vector * 256, 2);
}

void ptenc_evd(struct ptenc *e, unsigned type, uint64_t v)
{
	char head[3] = { 2, 0x53, (char)(type & 63) };

	packet(e, head, 3, v, 8);
}

void ptenc_psb_plus(struct ptenc *e, uint64_t ip, bool on)
{
	ptenc_psb(e);
	ptenc_exec(e, 64);
	if (on)
		ptenc_ip(e, PTENC_FUP, ip, PTENC_48S);
	ptenc_psbend(e);
}
