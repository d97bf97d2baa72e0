/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "packet.h"

const char *ipt_packet_name(unsigned kind)
{
	static const char *const names[IPT_KINDS] = {
		[IPT_PAD] = "pad", [IPT_TNT8] = "tnt.8", [IPT_TNT64] = "tnt.64", [IPT_TIP] = "tip",
		[IPT_TIP_PGE] = "tip.pge", [IPT_TIP_PGD] = "tip.pgd", [IPT_FUP] = "fup",
		[IPT_MODE_EXEC] = "mode.exec", [IPT_MODE_TSX] = "mode.tsx", [IPT_PIP] = "pip",
		[IPT_VMCS] = "vmcs", [IPT_CBR] = "cbr", [IPT_TSC] = "tsc", [IPT_MTC] = "mtc",
		[IPT_TMA] = "tma", [IPT_CYC] = "cyc", [IPT_PSB] = "psb", [IPT_PSBEND] = "psbend",
		[IPT_OVF] = "ovf", [IPT_STOP] = "stop", [IPT_MNT] = "mnt", [IPT_PTW] = "ptw",
		[IPT_EXSTOP] = "exstop", [IPT_MWAIT] = "mwait", [IPT_PWRE] = "pwre",
		[IPT_PWRX] = "pwrx", [IPT_BBP] = "bbp", [IPT_BIP] = "bip", [IPT_BEP] = "bep",
		[IPT_CFE] = "cfe", [IPT_EVD] = "evd", [IPT_TRIG] = "trig",
	};

	return kind < IPT_KINDS ? names[kind] : "unknown";
}

/* One sign a branch, first branch left: ! taken, . not taken. */
static size_t text_tnt(const struct ipt_packet *pkt, char *buf, size_t n)
{
	char s[65];
	unsigned i, bits = pkt->count < 64 ? pkt->count : 64;

	for (i = 0; i < bits; i++)
		s[i] = pkt->payload >> (bits - 1 - i) & 1 ? '!' : '.';
	s[i] = 0;
	return snprintf(buf, n, "%s", s);
}

/* IPBytes field, the bits that were sent (? for those that were not), and the full ip. */
static size_t text_ip(const struct ipt_packet *pkt, struct ipt_last_ip *last, char *buf, size_t n)
{
	static const uint8_t digits[8] = { 0, 4, 8, 12, 12, 0, 16, 0 };
	unsigned sent = digits[pkt->count & 7];
	uint64_t shown = pkt->payload;
	char s[17];

	if (!ipt_last_ip_apply(last, pkt))
		return snprintf(buf, n, "%u: ???????????????? ip <suppressed>", pkt->count);
	if (pkt->count == 3) {		/* the sign stands for the upper bits */
		shown = last->ip;
		sent = 16;
	}
	for (unsigned i = 0; i < 16; i++)
		s[i] = i < 16 - sent ? '?' : "0123456789abcdef"[shown >> (60 - 4 * i) & 15];
	s[16] = 0;
	return snprintf(buf, n, "%u: %s ip %016" PRIx64, pkt->count, s, last->ip);
}

static size_t text_exec(uint64_t mode, char *buf, size_t n)
{
	static const char *const words[4] = { "", "cs.l", "cs.d", "cs.l, cs.d" };
	const char *cs = words[mode & (IPT_EXEC_L | IPT_EXEC_D)];

	return snprintf(buf, n, "%s%s", cs, mode & IPT_EXEC_IF ? *cs ? ", if" : "if" : "");
}

static size_t text_pwrx(const struct ipt_packet *pkt, char *buf, size_t n)
{
	return snprintf(buf, n, "last c%" PRIx64 ", deepest c%" PRIx64 "%s%s%s%s", pkt->payload,
		    pkt->extra, pkt->count & 1 ? ", interrupt" : "",
		    pkt->count & 2 ? ", timer" : "", pkt->count & 4 ? ", store" : "",
		    pkt->count & 8 ? ", hardware" : "");
}

static size_t text_trig(const struct ipt_packet *pkt, char *buf, size_t n)
{
	char icnt[16] = "";

	if (pkt->count & 0x40)
		snprintf(icnt, sizeof(icnt), ", icnt %" PRIx64, pkt->extra);
	return snprintf(buf, n, "%" PRIx64 "%s%s%s", pkt->payload, icnt,
		    pkt->count & 0x20 ? ", mult" : "", pkt->flag ? ", ip" : "");
}

/*
 * What an item of a block is: a register, or a field of the PEBS record (SDM vol. 3, "Block Item
 * (BIP) Packet"). Last branch records are numbered within their block. "" if not defined.
 */
static void item_name(unsigned type, unsigned id, char *buf, size_t n)
{
	static const char *const gpr[] = { "rflags", "rip", "rax", "rcx", "rdx", "rbx", "rsp",
		"rbp", "rsi", "rdi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15" };
	static const char *const basic[] = { "ip", "counters", "timestamp" };
	static const char *const mem[] = { "address", "auxiliary", "latency", "tsx" };
	static const char *const lbr[] = { "from", "to", "info" };
	const char *name = NULL;

	if (type == 1 && id < sizeof(gpr) / sizeof(*gpr))
		name = gpr[id];
	else if (type == 4 && id < sizeof(basic) / sizeof(*basic))
		name = basic[id];
	else if (type == 5 && id < sizeof(mem) / sizeof(*mem))
		name = mem[id];
	buf[0] = 0;
	if (name)
		snprintf(buf, n, " %s", name);
	else if (type >= 8 && type <= 10 && id < 30)
		snprintf(buf, n, " lbr%u.%s", id / 3, lbr[id % 3]);
	else if (type == 16)
		snprintf(buf, n, " xmm%u.q%u", id / 2, id % 2);
}

static size_t text_bip(const struct ipt_packet *pkt, char *buf, size_t n)
{
	char name[32];

	item_name((unsigned)pkt->extra, pkt->count, name, sizeof(name));
	return snprintf(buf, n, "%x: %" PRIx64 "%s", pkt->count, pkt->payload, name);
}

size_t ipt_packet_text(const struct ipt_packet *pkt, struct ipt_last_ip *last, char *buf, size_t n)
{
	uint64_t v = pkt->payload, x = pkt->extra;
	const char *ip = pkt->flag ? ", ip" : "";

	switch (pkt->kind) {
	case IPT_TNT8: case IPT_TNT64: return text_tnt(pkt, buf, n);
	case IPT_TIP: case IPT_TIP_PGE: case IPT_TIP_PGD: case IPT_FUP:
		return text_ip(pkt, last, buf, n);
	case IPT_MODE_EXEC: return text_exec(v, buf, n);
	case IPT_MODE_TSX:
		return snprintf(buf, n, "%s%s%s", v & IPT_TSX_INTX ? "intx" : "",
			    (v & 3) == 3 ? ", " : "", v & IPT_TSX_ABORT ? "abrt" : "");
	case IPT_PIP:
		return snprintf(buf, n, "%" PRIx64 "%s cr3 %016" PRIx64, v,
				pkt->flag ? ", nr" : "", v);
	case IPT_TSC: return snprintf(buf, n, "%" PRIx64 " tsc %016" PRIx64, v, v);
	case IPT_VMCS: case IPT_CBR: case IPT_MTC: case IPT_CYC: case IPT_MNT:
		return snprintf(buf, n, "%" PRIx64, v);
	case IPT_TMA: return snprintf(buf, n, "%" PRIx64 ", %" PRIx64, v, x);
	case IPT_PTW: return snprintf(buf, n, "%x: %" PRIx64 "%s", pkt->count == 8, v, ip);
	case IPT_EXSTOP: case IPT_BEP: return snprintf(buf, n, "%s", pkt->flag ? "ip" : "");
	case IPT_MWAIT: return snprintf(buf, n, "%08" PRIx64 ", %08" PRIx64, v, x);
	case IPT_PWRE:		/* sent as state - 1, modulo 16 */
		return snprintf(buf, n, "c%u.%u%s", (unsigned)(v + 1) & 15, (unsigned)(x + 1) & 15,
			    pkt->flag ? ", hw" : "");
	case IPT_PWRX: return text_pwrx(pkt, buf, n);
	case IPT_BBP:
		return snprintf(buf, n, "type %x, %u-byte items", pkt->count, pkt->flag ? 4u : 8u);
	case IPT_BIP: return text_bip(pkt, buf, n);
	case IPT_CFE:
		return snprintf(buf, n, "type %" PRIx64 ", vector %" PRIx64 "%s", v, x, ip);
	case IPT_EVD: return snprintf(buf, n, "type %" PRIx64 ": %" PRIx64, x, v);
	case IPT_TRIG: return text_trig(pkt, buf, n);
	}
	return snprintf(buf, n, "%s", "");
}
