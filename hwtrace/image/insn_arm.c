/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A32 and T32 branches and waypoints. Arm ARM DDI 0487, F3 and F4; DDI 0553 (v8-M) for loops.
 * Whether a T32 instruction is made conditional by IT is not visible in its bytes.
 */
#include "insn.h"

#define SP	13
#define LR	14
#define PC	15
#define AL	14	/* condition "always" */

static void direct(struct hwt_insn *o, unsigned kind, uint64_t target)
{
	o->kind = (uint8_t)kind;
	o->target = target & 0xffffffff;
}

/* Loading or moving the link register into the PC is a return by convention. */
static unsigned jump_to(unsigned reg)
{
	return reg == LR ? HWT_INSN_RETURN : HWT_INSN_IJUMP;
}

static unsigned a32_unconditional(struct hwt_insn *o, uint32_t w)
{
	if ((w & 0xfe000000) == 0xfa000000) {	/* BLX, to T32 */
		direct(o, HWT_INSN_CALL, o->addr + 8 +
		       (uint64_t)(insn_signed(w, 23, 0) * 4 + (w >> 23 & 2)));
		return HWT_INSN_CALL;
	}
	if ((w & 0xfe500000) == 0xf8100000)	/* RFE */
		return HWT_INSN_FAR_RETURN;
	if ((w & 0xffffff00) == 0xf57ff000 && insn_bits(w, 7, 4) >= 4 && insn_bits(w, 7, 4) <= 6)
		return HWT_INSN_BARRIER;	/* DSB, DMB, ISB */
	return HWT_INSN_OTHER;
}

/* Data processing with the PC as result; with S also the PSR is restored. */
static unsigned a32_data(uint32_t w)
{
	unsigned op = insn_bits(w, 24, 21);

	if (insn_bits(w, 15, 12) != PC || op >> 2 == 2)	/* compares, and the miscellaneous space */
		return HWT_INSN_OTHER;
	if (!(w & 1u << 25) && (w & 0x90) == 0x90)	/* multiplies, extra loads and stores */
		return HWT_INSN_OTHER;
	if (w & 1u << 20)
		return HWT_INSN_FAR_RETURN;
	return (w & 0x0ffffff0) == 0x01a0f000 ? jump_to(w & 15) : HWT_INSN_IJUMP;
}

static unsigned a32_load(uint32_t w)
{
	if ((w & 0x0e108000) == 0x08108000) {		/* LDM with the PC */
		if (w & 1u << 22)
			return HWT_INSN_FAR_RETURN;
		/* popped from the stack, or with the stack pointer from an old frame */
		return insn_bits(w, 19, 16) == SP || (w & 1u << SP) ? HWT_INSN_RETURN :
			HWT_INSN_IJUMP;
	}
	if ((w & 0x0c50f000) == 0x0410f000 && (w & 0x02000010) != 0x02000010 &&
	    (w & 0x01200000) != 0x00200000)		/* LDR, not LDRT */
		return (w & 0x0fffffff) == 0x049df004 ? HWT_INSN_RETURN : HWT_INSN_IJUMP;
	return HWT_INSN_OTHER;
}

static unsigned a32_kind(struct hwt_insn *o, uint32_t w)
{
	uint32_t u = w & 0x0fffffff;

	if (u >> 24 == 0xa || u >> 24 == 0xb) {		/* B, BL */
		unsigned kind = u >> 24 == 0xb ? HWT_INSN_CALL :
			w >> 28 == AL ? HWT_INSN_JUMP : HWT_INSN_BRANCH;

		direct(o, kind, o->addr + 8 + (uint64_t)insn_signed(w, 23, 0) * 4);
		return kind;
	}
	if (u >> 24 == 0xf)				/* SVC */
		return HWT_INSN_FAR_CALL;
	switch (u & 0x0ffffff0) {
	case 0x012fff10: return jump_to(u & 15);	/* BX */
	case 0x012fff20: return HWT_INSN_IJUMP;		/* BXJ */
	case 0x012fff30: return HWT_INSN_ICALL;		/* BLX */
	}
	if ((u & 0x0fd000f0) == 0x01400070)		/* HVC, SMC */
		return HWT_INSN_FAR_CALL;
	if (u == 0x0160006e)				/* ERET */
		return HWT_INSN_FAR_RETURN;
	if (u == 0x0320f002 || u == 0x0320f003)		/* WFE, WFI */
		return HWT_INSN_BARRIER;
	/* ISB, DSB, DMB of v6, by CP15 */
	switch (u & 0x0fff0fff) {
	case 0x0e070f95: case 0x0e070f9a: case 0x0e070fba: return HWT_INSN_BARRIER;
	}
	return u >> 26 ? a32_load(u) : a32_data(u);
}

int insn_a32(struct hwt_insn *o, const uint8_t *p, size_t n)
{
	uint32_t w;

	if (n < 4)
		return -HWT_E_MORE;
	w = insn_le32(p);
	o->size = 4;
	if (w >> 28 == 15) {
		o->kind = (uint8_t)a32_unconditional(o, w);
	} else {
		o->kind = (uint8_t)a32_kind(o, w);
		o->cond = w >> 28 != AL;
	}
	return 0;
}

static unsigned t16_kind(struct hwt_insn *o, uint32_t h)
{
	uint64_t pc = o->addr + 4;

	if (h >> 12 == 0xd) {			/* B<c>, UDF, SVC */
		unsigned cond = insn_bits(h, 11, 8);

		if (cond >= 14)
			return cond == 15 ? HWT_INSN_FAR_CALL : HWT_INSN_OTHER;
		direct(o, HWT_INSN_BRANCH, pc + (uint64_t)insn_signed(h, 7, 0) * 2);
		o->cond = 1;
		return HWT_INSN_BRANCH;
	}
	if (h >> 11 == 0x1c) {			/* B */
		direct(o, HWT_INSN_JUMP, pc + (uint64_t)insn_signed(h, 10, 0) * 2);
		return HWT_INSN_JUMP;
	}
	if ((h & 0xf500) == 0xb100) {		/* CBZ, CBNZ */
		direct(o, HWT_INSN_BRANCH, pc + (h >> 3 & 0x40) + (h >> 2 & 0x3e));
		o->cond = 1;
		return HWT_INSN_BRANCH;
	}
	if ((h & 0xff00) == 0x4700)		/* BX, BXNS; BLX, BLXNS */
		return h & 0x80 ? HWT_INSN_ICALL : jump_to(insn_bits(h, 6, 3));
	switch (h & 0xff87) {
	case 0x4687: return jump_to(insn_bits(h, 6, 3));		/* MOV pc */
	case 0x4487: return HWT_INSN_IJUMP;				/* ADD pc */
	}
	if (h >> 8 == 0xbd)			/* POP with the PC */
		return HWT_INSN_RETURN;
	return h == 0xbf20 || h == 0xbf30 ? HWT_INSN_BARRIER : HWT_INSN_OTHER;
}

/* Offset of B.W, BL and BLX: I1 and I2 are the bits J1 and J2, inverted where S is clear. */
static uint64_t t32_offset(uint32_t w)
{
	uint32_t s = insn_bits(w, 26, 26), i1 = !(insn_bits(w, 13, 13) ^ s);
	uint32_t i2 = !(insn_bits(w, 11, 11) ^ s);

	return (uint64_t)insn_signed(s << 24 | i1 << 23 | i2 << 22 | insn_bits(w, 25, 16) << 12 |
				     insn_bits(w, 10, 0) << 1, 24, 0);
}

/* B<c>.W: here J1 and J2 are plain bits, in the other order. */
static uint64_t t32_cond_offset(uint32_t w)
{
	return (uint64_t)insn_signed(insn_bits(w, 26, 26) << 20 | insn_bits(w, 11, 11) << 19 |
				     insn_bits(w, 13, 13) << 18 | insn_bits(w, 21, 16) << 12 |
				     insn_bits(w, 10, 0) << 1, 20, 0);
}

/* Low overhead loops of v8.1-M, in the space of BLX with bit 0 set. */
static unsigned t32_loop(struct hwt_insn *o, uint32_t w)
{
	uint64_t off = insn_bits(w, 10, 1) << 2 | insn_bits(w, 11, 11) << 1;

	if ((w & 0xffcff001) == 0xf00fc001) {			/* LE, LETP: backwards */
		unsigned kind = (w & 0x00300000) == 0x00200000 ? HWT_INSN_JUMP : HWT_INSN_BRANCH;

		direct(o, kind, o->addr + 4 - off);
		o->cond = kind == HWT_INSN_BRANCH;
		return kind;
	}
	if ((w & 0xfff0f001) == 0xf040c001 || (w & 0xffc0f001) == 0xf000c001) {	/* WLS, WLSTP */
		direct(o, HWT_INSN_BRANCH, o->addr + 4 + off);
		o->cond = 1;
		return HWT_INSN_BRANCH;
	}
	return HWT_INSN_OTHER;
}

/* The space of B<c>.W whose condition field is 111x. */
static unsigned t32_misc(uint32_t w)
{
	if ((w & 0xfff0ffff) == 0xf3c08f00)			/* BXJ */
		return HWT_INSN_IJUMP;
	if ((w & 0xffffff00) == 0xf3de8f00)			/* SUBS pc, lr; ERET */
		return HWT_INSN_FAR_RETURN;
	if ((w & 0xffe0f000) == 0xf7e08000)			/* HVC, SMC */
		return HWT_INSN_FAR_CALL;
	if (w == 0xf3af8002 || w == 0xf3af8003)			/* WFE, WFI */
		return HWT_INSN_BARRIER;
	if ((w & 0xffffff00) == 0xf3bf8f00 && insn_bits(w, 7, 4) >= 4 && insn_bits(w, 7, 4) <= 6)
		return HWT_INSN_BARRIER;			/* DSB, DMB, ISB */
	return HWT_INSN_OTHER;
}

static unsigned t32_branch(struct hwt_insn *o, uint32_t w)
{
	uint64_t pc = o->addr + 4;

	switch (w & 0xd000) {
	case 0x8000:
		if (insn_bits(w, 25, 23) == 7)
			return t32_misc(w);
		direct(o, HWT_INSN_BRANCH, pc + t32_cond_offset(w));
		o->cond = 1;
		return HWT_INSN_BRANCH;
	case 0x9000:
		direct(o, HWT_INSN_JUMP, pc + t32_offset(w));
		return HWT_INSN_JUMP;
	case 0xc000:
		if (w & 1)		/* also DLS, LCTP and the branch future ones: no branch */
			return t32_loop(o, w);
		direct(o, HWT_INSN_CALL, (pc & ~3ull) + t32_offset(w));	/* BLX, to A32 */
		return HWT_INSN_CALL;
	default:
		direct(o, HWT_INSN_CALL, pc + t32_offset(w));
		return HWT_INSN_CALL;
	}
}

static unsigned t32_kind(struct hwt_insn *o, uint32_t w)
{
	if ((w & 0xf8008000) == 0xf0008000)
		return t32_branch(o, w);
	if ((w & 0xfff0ffe0) == 0xe8d0f000)			/* TBB, TBH */
		return HWT_INSN_IJUMP;
	if ((w & 0xffd0ffff) == 0xe810c000 || (w & 0xffd0ffff) == 0xe990c000)	/* RFE */
		return HWT_INSN_FAR_RETURN;
	if ((w & 0xffd08000) == 0xe8908000 || (w & 0xffd08000) == 0xe9108000)	/* LDM with PC */
		return insn_bits(w, 19, 16) == SP ? HWT_INSN_RETURN : HWT_INSN_IJUMP;
	if (w == 0xf85dfb04)					/* LDR pc, [sp], #4 */
		return HWT_INSN_RETURN;
	if ((w & 0xfff0ff00) == 0xf850fe00 && insn_bits(w, 19, 16) != PC)	/* LDRT */
		return HWT_INSN_OTHER;
	if ((w & 0xfff0f000) == 0xf8d0f000 || (w & 0xfff0f800) == 0xf850f800 ||
	    (w & 0xfff0ffc0) == 0xf850f000 || (w & 0xff7ff000) == 0xf85ff000)	/* LDR pc */
		return HWT_INSN_IJUMP;
	return HWT_INSN_OTHER;
}

int insn_t32(struct hwt_insn *o, const uint8_t *p, size_t n)
{
	uint32_t h;

	if (n < 2)
		return -HWT_E_MORE;
	h = insn_le16(p);
	if (h >> 11 < 0x1d) {
		o->size = 2;
		o->kind = (uint8_t)t16_kind(o, h);
		return 0;
	}
	if (n < 4)
		return -HWT_E_MORE;
	o->size = 4;
	o->kind = (uint8_t)t32_kind(o, h << 16 | insn_le16(p + 2));
	return 0;
}
