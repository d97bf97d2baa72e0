/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_PT_PACKET_H
#define HWT_PT_PACKET_H

/*
 * Intel PT packets: pure functions over bytes. Intel SDM vol. 3, chapter "Intel Processor Trace",
 * section "Trace Packets".
 */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>

enum ipt_kind {
	IPT_PAD, IPT_TNT8, IPT_TNT64, IPT_TIP, IPT_TIP_PGE, IPT_TIP_PGD, IPT_FUP,
	IPT_MODE_EXEC, IPT_MODE_TSX, IPT_PIP, IPT_VMCS, IPT_CBR, IPT_TSC, IPT_MTC, IPT_TMA, IPT_CYC,
	IPT_PSB, IPT_PSBEND, IPT_OVF, IPT_STOP, IPT_MNT, IPT_PTW, IPT_EXSTOP, IPT_MWAIT, IPT_PWRE,
		IPT_PWRX,
	IPT_BBP, IPT_BIP, IPT_BEP, IPT_CFE, IPT_EVD, IPT_TRIG, IPT_KINDS
};

#define IPT_PACKET_MAX	16	/* bytes of the longest packet (PSB) */

/* payload of MODE.Exec (CS.L and CS.D as sent, IF of Event Trace) and of MODE.TSX */
enum { IPT_EXEC_L = 1, IPT_EXEC_D = 2, IPT_EXEC_IF = 4, IPT_TSX_INTX = 1, IPT_TSX_ABORT = 2 };

struct ipt_packet {
	/*
	 * IP bits as sent, not extended; TNT bits (first branch is the highest); PIP: CR3; VMCS:
	 * address; TMA: CTC; MWAIT: hints; PWRE: C-state; PWRX: last C-state; CFE: type; TRIG:
	 * trigger bits; else the value
	 */
	uint64_t payload;
	/*
	 * second field: TMA fast counter, PWRE sub C-state, PWRX deepest C-state, EVD type,
	 * MWAIT extensions, CFE vector, TRIG instruction count, BIP type of its block
	 */
	uint64_t extra;
	uint8_t  kind;		/* enum ipt_kind */
	uint8_t  size;		/* bytes */
	/*
	 * TNT: number of bits; IP packets: IPBytes field 0..7; BIP: id; BBP: type; PTW:
	 * payload bytes; PWRX: wake reason bits; TRIG: flag bits 5 MULT, 6 ICNTV
	 */
	uint8_t  count;
	/*
	 * FUP follows (PTW.IP, EXSTOP.IP, BEP.IP, CFE.IP, TRIG.IP), PIP.NR, PWRE.HW, BBP.SZ
	 * (1: 4-byte items)
	 */
	uint8_t  flag;
};

/* What a packet needs of those before it. A zeroed one is the state at a PSB. */
struct ipt_ctx {
	/* 0: outside a block, 1: inside one with 8-byte items, 2: with 4-byte items */
	uint8_t bbp;
	uint8_t type;		/* of that block */
};

/* All packets but PAD and short TNT outside blocks; use ipt_packet_decode(). */
int ipt_packet_decode_any(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p, size_t n);

/*
 * Decodes one packet at @p. Returns its size in bytes; -HWT_E_MORE if it continues after @n
 * bytes; -HWT_E_PACKET
 * if the bytes are reserved or undefined. @out is written only on success; @ctx follows BBP, and
 * ends the block at BEP, OVF, PSB and at any branch packet (TNT, TIP, TIP.PGE, TIP.PGD).
 */
static inline int ipt_packet_decode(struct ipt_packet *out, struct ipt_ctx *ctx, const uint8_t *p,
				    size_t n)
{
	unsigned stop;

	if (!n || p[0] & 1 || p[0] == 0x02 || ctx->bbp)
		return ipt_packet_decode_any(out, ctx, p, n);
	/* most packets: stop bit, branches in bits stop-1..1; PAD has no bit at all */
	stop = 31 - (unsigned)__builtin_clz(p[0] | 1U);
	*out = (struct ipt_packet){
		.payload = (p[0] & ~(1U << stop)) >> 1, .kind = p[0] ? IPT_TNT8 : IPT_PAD,
		.size = 1, .count = p[0] ? stop - 1 : 0,
	};
	return 1;
}

/*
 * True of the first byte of PAD and of a short TNT, which are one byte each and most of a trace;
 * outside of blocks (struct ipt_ctx).
 */
static inline int ipt_packet_is_short(uint8_t first)
{
	return !(first & 1) && first != 0x02;
}

/*
 * Sizes of packets that their first byte tells, outside of blocks: PAD, short TNT, TIP family,
 * short CYC, MTC. 0: any other, and what is not defined.
 */
extern const uint8_t ipt_packet_sizes[256];

/* Why ipt_packet_decode() gave -HWT_E_PACKET for these bytes; static, never NULL. */
const char *ipt_packet_why(const uint8_t *p, size_t n);

/* Last IP as the SDM's IP compression defines it. */
struct ipt_last_ip {
	uint64_t ip;
	uint8_t suppressed;	/* the last packet carried none */
};
/*
 * Applies an IP packet; 1 if there is an ip now, 0 if suppressed. Resets are the caller's: PSB
 * zeroes @last.
 */
int ipt_last_ip_apply(struct ipt_last_ip *last, const struct ipt_packet *pkt);

/* Offset of the first PSB at or after @p, or @n if there is none. A cut PSB at the end is none. */
size_t ipt_sync_forward(const uint8_t *p, size_t n);
/* Offset of the last PSB that begins before @n, or @n if there is none. */
size_t ipt_sync_backward(const uint8_t *p, size_t n);

const char *ipt_packet_name(unsigned kind);	/* "tip.pge"; static, never NULL */
/*
 * Payload in words; @last gives the full ip of IP packets and is advanced. Returns the full
 * length.
 */
size_t ipt_packet_text(const struct ipt_packet *pkt, struct ipt_last_ip *last, char *buf, size_t n);

#endif
