/* SPDX-License-Identifier: BSD-2-Clause */
/* A64 branches and waypoints. Arm ARM DDI 0487, C4.1 "A64 instruction set encoding". */
#include "insn.h"

static void direct(struct hwt_insn *o, unsigned kind, int64_t words)
{
	o->kind = (uint8_t)kind;
	o->cond = kind == HWT_INSN_BRANCH;
	o->target = o->addr + (uint64_t)words * 4;
}

/* "Unconditional branch (register)" with its pointer authentication forms. */
static unsigned register_branch(uint32_t w)
{
	unsigned opc = insn_bits(w, 24, 21), op3 = insn_bits(w, 15, 10), op4 = insn_bits(w, 4, 0);
	int auth = op3 >> 1 == 1;

	if (insn_bits(w, 20, 16) != 31)
		return HWT_INSN_OTHER;
	switch (opc) {
	case 0:	/* BR, BRAAZ, BRABZ */
	case 1:	/* BLR, BLRAAZ, BLRABZ */
		if ((op3 || op4) && !(auth && op4 == 31))
			return HWT_INSN_OTHER;
		return opc ? HWT_INSN_ICALL : HWT_INSN_IJUMP;
	case 2:	/* RET, RETAA, RETAB, RETAASPPCR, RETABSPPCR */
		return op3 && !(auth && insn_bits(w, 9, 5) == 31) ? HWT_INSN_OTHER :
			HWT_INSN_RETURN;
	case 4:	/* ERET, ERETAA, ERETAB */
		return (op3 && !auth) || insn_bits(w, 9, 5) != 31 ? HWT_INSN_OTHER :
			HWT_INSN_FAR_RETURN;
	case 8:	/* BRAA, BRAB */
		return auth ? HWT_INSN_IJUMP : HWT_INSN_OTHER;
	case 9:	/* BLRAA, BLRAB */
		return auth ? HWT_INSN_ICALL : HWT_INSN_OTHER;
	default:
		return HWT_INSN_OTHER;
	}
}

/* CB<cc>, CBB<cc>, CBH<cc>: FEAT_CMPBR. */
static int compare_branch(uint32_t w)
{
	unsigned cc = insn_bits(w, 23, 21);

	if (cc == 4 || cc == 5)
		return 0;
	if (w & 1u << 24)
		return !(w & 1u << 14);
	if (insn_bits(w, 15, 14) == 0)
		return 1;
	return (w & 1u << 15) && !(w & 1u << 31);
}

static int barrier(uint32_t w)
{
	return (w & 0xfffff0ff) == 0xd50330df ||	/* ISB */
	       (w & 0xfffff0ff) == 0xd503309f ||	/* DSB */
	       (w & 0xfffff3ff) == 0xd503323f ||	/* DSB nXS */
	       (w & 0xfffff0ff) == 0xd50330bf ||	/* DMB */
	       w == 0xd503205f || w == 0xd503207f ||	/* WFE, WFI */
	       (w & 0xffffffc0) == 0xd5031000;		/* WFET, WFIT */
}

int insn_a64(struct hwt_insn *o, const uint8_t *p, size_t n)
{
	uint32_t w;

	if (n < 4)
		return -HWT_E_MORE;
	w = insn_le32(p);
	o->size = 4;
	o->kind = HWT_INSN_OTHER;
	if ((w & 0x7c000000) == 0x14000000)
		direct(o, w >> 31 ? HWT_INSN_CALL : HWT_INSN_JUMP, insn_signed(w, 25, 0));
	else if (w >> 24 == 0x54)				/* B.cond, BC.cond */
		direct(o, HWT_INSN_BRANCH, insn_signed(w, 23, 5));
	else if ((w & 0x7e000000) == 0x34000000)		/* CBZ, CBNZ */
		direct(o, HWT_INSN_BRANCH, insn_signed(w, 23, 5));
	else if ((w & 0x7e000000) == 0x36000000)		/* TBZ, TBNZ */
		direct(o, HWT_INSN_BRANCH, insn_signed(w, 18, 5));
	else if ((w & 0x7e000000) == 0x74000000 && compare_branch(w))
		direct(o, HWT_INSN_BRANCH, insn_signed(w, 13, 5));
	else if (w >> 25 == 0x6b)
		o->kind = (uint8_t)register_branch(w);
	else if ((w & 0xffc0001f) == 0x5500001f)		/* RETAASPPC, RETABSPPC */
		o->kind = HWT_INSN_RETURN;
	else if ((w & 0xffe0001c) == 0xd4000000 && (w & 3))	/* SVC, HVC, SMC */
		o->kind = HWT_INSN_FAR_CALL;
	else if (barrier(w))
		o->kind = HWT_INSN_BARRIER;
	return 0;
}
