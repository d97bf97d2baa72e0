/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classes of instructions for the model, by capstone and not by our own tables: those are what the
 * model's traces are there to test. What capstone 4 does not know is added from the manuals (Intel
 * SDM vol. 2, Arm DDI 0487).
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/err.h>

#include "insn.h"

#define ISAS	(MODEL_T32 + 1)

struct model_insns {
	csh cs[ISAS];
	cs_insn *insn[ISAS];	/* NULL: not opened yet */
};

int model_insns_new(struct model_insns **out)
{
	struct model_insns *m = calloc(1, sizeof(*m));

	if (!m)
		return -ENOMEM;
	*out = m;
	return 0;
}

void model_insns_free(struct model_insns *m)
{
	for (int i = 0; m && i < ISAS; i++) {
		if (m->insn[i]) {
			cs_free(m->insn[i], 1);
			cs_close(&m->cs[i]);
		}
	}
	free(m);
}

static int open_isa(struct model_insns *m, unsigned isa)
{
	static const struct { int arch, mode; } t[ISAS] = {
		[MODEL_X86_64] = { CS_ARCH_X86, CS_MODE_64 },
		[MODEL_X86_32] = { CS_ARCH_X86, CS_MODE_32 },
		[MODEL_A64] = { CS_ARCH_ARM64, 0 },
		[MODEL_A32] = { CS_ARCH_ARM, CS_MODE_ARM | CS_MODE_V8 },
		[MODEL_T32] = { CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_V8 },
	};

	if (!isa || isa >= ISAS)
		return -EINVAL;
	if (m->insn[isa])
		return 0;
	if (cs_open(t[isa].arch, t[isa].mode, &m->cs[isa]) != CS_ERR_OK)
		return -ENOMEM;
	m->insn[isa] = cs_option(m->cs[isa], CS_OPT_DETAIL, CS_OPT_ON) == CS_ERR_OK ?
		cs_malloc(m->cs[isa]) : NULL;
	if (!m->insn[isa]) {
		cs_close(&m->cs[isa]);
		return -ENOMEM;
	}
	return 0;
}

static const cs_insn *look(struct model_insns *m, unsigned isa, uint64_t addr, const uint8_t *p,
			   size_t n)
{
	return cs_disasm_iter(m->cs[isa], &p, &n, &addr, m->insn[isa]) ? m->insn[isa] : NULL;
}

static int is_legacy_prefix(uint8_t b)
{
	return b == 0x26 || b == 0x2e || b == 0x36 || b == 0x3e || (b >= 0x64 && b <= 0x67) ||
		b == 0xf0 || b == 0xf2 || b == 0xf3;
}

/* Bytes of ModRM, SIB and displacement with 32- or 64-bit addressing; 0 if @n is too small. */
static size_t x86_modrm(const uint8_t *p, size_t n)
{
	unsigned mod, rm;
	size_t size = 1;

	if (!n)
		return 0;
	mod = p[0] >> 6;
	rm = p[0] & 7;
	if (mod == 3)
		return 1;
	if (rm == 4) {
		if (n < 2)
			return 0;
		size = 2;
		rm = p[1] & 7;
	}
	if (mod == 1)
		size += 1;
	else if (mod == 2 || rm == 5)
		size += 4;
	return size <= n ? size : 0;
}

/*
 * Length of what capstone does not know: newer instructions of the maps behind 0f, VEX and EVEX.
 * They have a ModRM byte, and an immediate byte in map 3 and in a few rows of map 1 (SDM vol. 2,
 * appendix A). The bytes after the prefixes are at @i.
 */
static int x86_size(const uint8_t *p, size_t n, size_t i)
{
	static const uint8_t imm[] = { 0x70, 0x71, 0x72, 0x73, 0xa4, 0xac, 0xc2, 0xc4, 0xc5, 0xc6 };
	unsigned map;
	size_t k;

	if (n - i < 3)
		return -HWT_E_MORE;
	if (p[i] == 0x0f) {
		map = p[i + 1] == 0x38 ? 2 : p[i + 1] == 0x3a ? 3 : 1;
		i += map > 1 ? 2 : 1;
	} else if (p[i] == 0xc5) {
		map = 1;
		i += 2;
	} else if (p[i] == 0xc4) {
		map = p[i + 1] & 0x1f;
		i += 3;
	} else if (p[i] == 0x62) {
		map = p[i + 1] & 7;
		i += 4;
	} else {
		return -HWT_E_PACKET;
	}
	if (i + 1 >= n)
		return -HWT_E_MORE;
	k = x86_modrm(p + i + 1, n - i - 1);
	if (!k)
		return -HWT_E_MORE;
	if (map == 3 || (map == 1 && memchr(imm, p[i], sizeof(imm))))
		k++;
	return i + 1 + k <= n ? (int)(i + 1 + k) : -HWT_E_MORE;
}

/*
 * Near branches with an operand-size prefix in 64-bit code: the displacement keeps its size (SDM
 * vol. 2, "near branches in 64-bit mode"); capstone follows the other vendor. 1 if it was one.
 */
static int x86_branch66(const uint8_t *p, size_t n, size_t i, uint64_t addr, struct model_insn *o)
{
	size_t disp = i + 1;
	int32_t d;

	if (p[i] == 0x0f && i + 1 < n && p[i + 1] >> 4 == 8)
		disp++;
	else if (p[i] != 0xe8 && p[i] != 0xe9)
		return 0;
	if (n - disp < 4 || disp > n)
		return -HWT_E_MORE;
	memcpy(&d, p + disp, 4);
	o->size = (uint8_t)(disp + 4);
	o->target = addr + o->size + (uint64_t)(int64_t)d;
	o->kind = p[i] == 0xe8 ? MODEL_CALL : MODEL_JUMP;
	o->cond = p[i] == 0x0f;
	return 1;
}

static int x86_kind(unsigned id)
{
	switch (id) {
	case X86_INS_JAE: case X86_INS_JA: case X86_INS_JBE: case X86_INS_JB: case X86_INS_JE:
	case X86_INS_JGE: case X86_INS_JG: case X86_INS_JLE: case X86_INS_JL: case X86_INS_JNE:
	case X86_INS_JNO: case X86_INS_JNP: case X86_INS_JNS: case X86_INS_JO: case X86_INS_JP:
	case X86_INS_JS: case X86_INS_JCXZ: case X86_INS_JECXZ: case X86_INS_JRCXZ:
	case X86_INS_LOOP: case X86_INS_LOOPE: case X86_INS_LOOPNE: case X86_INS_JMP:
		return MODEL_JUMP;
	case X86_INS_CALL:
		return MODEL_CALL;
	case X86_INS_RET:
		return MODEL_RETURN;
	case X86_INS_SYSCALL: case X86_INS_SYSENTER: case X86_INS_VMCALL: case X86_INS_VMMCALL:
		return MODEL_SYSCALL;
	case X86_INS_INT: case X86_INS_INT1: case X86_INS_INT3: case X86_INS_INTO:
		return MODEL_INT;
	case X86_INS_SYSRET: case X86_INS_SYSEXIT: case X86_INS_IRET: case X86_INS_IRETD:
	case X86_INS_IRETQ: case X86_INS_RETF: case X86_INS_RETFQ:
		return MODEL_FAR_RETURN;
	case X86_INS_LCALL: case X86_INS_LJMP: case X86_INS_VMLAUNCH: case X86_INS_VMRESUME:
	case X86_INS_RSM:
		return MODEL_FAR;
	case X86_INS_HLT: case X86_INS_MWAIT:
		return MODEL_WAIT;
	default:
		return MODEL_PLAIN;
	}
}

static int x86_is_string(uint8_t op)
{
	return (op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) ||
		(op >= 0x6c && op <= 0x6f);
}

static int x86(struct model_insns *m, unsigned isa, uint64_t addr, const uint8_t *p, size_t n,
	       struct model_insn *o)
{
	size_t i = 0;
	const cs_insn *in;
	int rep = 0, osz = 0, size;

	for (; i < n && is_legacy_prefix(p[i]); i++) {
		rep = p[i] == 0xf2 || p[i] == 0xf3 ? p[i] : rep;
		osz |= p[i] == 0x66;
	}
	if (isa == MODEL_X86_64 && i < n && p[i] >> 4 == 4)
		i++;
	if (i >= n)
		return -HWT_E_MORE;
	if (osz && isa == MODEL_X86_64) {
		int err = x86_branch66(p, n, i, addr, o);

		if (err)
			return err < 0 ? err : 0;
	}
	in = look(m, isa, addr, p, n);
	if (in) {
		o->size = (uint8_t)in->size;
		o->kind = (uint8_t)x86_kind(in->id);
	} else {
		size = x86_size(p, n, i);
		if (size < 0)
			return n < MODEL_INSN_BYTES ? -HWT_E_MORE : -HWT_E_PACKET;
		o->size = (uint8_t)size;
	}
	/* PTWRITE: f3 0f ae /4 */
	if (rep == 0xf3 && n - i >= 3 && p[i] == 0x0f && p[i + 1] == 0xae &&
	    (p[i + 2] >> 3 & 7) == 4)
		o->kind = MODEL_PTWRITE;
	o->rep = rep && x86_is_string(p[i]);
	o->cond = in && in->id == X86_INS_INTO;
	if (!in || (o->kind != MODEL_JUMP && o->kind != MODEL_CALL))
		return 0;
	if (in->detail->x86.op_count && in->detail->x86.operands[0].type == X86_OP_IMM) {
		o->target = (uint64_t)in->detail->x86.operands[0].imm;
		if (isa == MODEL_X86_32)
			o->target &= UINT32_MAX;
		o->cond = in->id != X86_INS_JMP && in->id != X86_INS_CALL;
	} else {
		o->kind = o->kind == MODEL_CALL ? MODEL_ICALL : MODEL_IJUMP;
	}
	return 0;
}

/* What capstone 4 may not know (DDI 0487: C4.1.65, branches with pointer authentication, ...). */
static int a64_new(uint32_t w, uint64_t addr, struct model_insn *o)
{
	if ((w & 0xfefff800) == 0xd63f0800 || (w & 0xfefff800) == 0xd61f0800) {
		/* BRAA, BRAAZ, BLRAA, BLRAAZ and the B key */
		o->kind = w & 0x00200000 ? MODEL_ICALL : MODEL_IJUMP;
		return 1;
	}
	if ((w & 0xfffffbff) == 0xd65f0bff) {	/* RETAA, RETAB */
		o->kind = MODEL_RETURN;
		return 1;
	}
	if ((w & 0xfffffbff) == 0xd69f0bff || w == 0xd69f03e0) {	/* ERETAA, ERETAB, ERET */
		o->kind = MODEL_FAR_RETURN;
		return 1;
	}
	if ((w & 0xff000010) == 0x54000010) {	/* BC.cond */
		o->kind = MODEL_JUMP;
		o->cond = 1;
		o->target = addr + (uint64_t)((int64_t)(int32_t)(w << 8) >> 13) * 4;
		return 1;
	}
	if ((w & 0xffffffc0) == 0xd5031000) {	/* WFET, WFIT */
		o->kind = MODEL_WAIT;
		return 1;
	}
	if ((w & 0xfffff0ff) == 0xd50330df) {
		o->kind = MODEL_BARRIER;
		return 1;
	}
	return 0;
}

static int a64(struct model_insns *m, uint64_t addr, const uint8_t *p, size_t n,
	       struct model_insn *o)
{
	const cs_insn *in;
	const cs_arm64 *d;
	uint32_t w;

	if (n < 4)
		return -HWT_E_MORE;
	o->size = 4;
	memcpy(&w, p, 4);
	if (a64_new(w, addr, o))
		return 0;
	in = look(m, MODEL_A64, addr, p, 4);
	if (!in)
		return 0;	/* newer than capstone, and no branch */
	d = &in->detail->arm64;
	switch (in->id) {
	case ARM64_INS_CBZ: case ARM64_INS_CBNZ: case ARM64_INS_TBZ: case ARM64_INS_TBNZ:
		o->cond = 1;
		o->kind = MODEL_JUMP;
		break;
	case ARM64_INS_B:
		/* AL and NV are conditions by their encoding: 0101010x (C6.2.26) */
		o->cond = w >> 24 == 0x54;
		o->kind = MODEL_JUMP;
		break;
	case ARM64_INS_BL: o->kind = MODEL_CALL; break;
	case ARM64_INS_BR: o->kind = MODEL_IJUMP; break;
	case ARM64_INS_BLR: o->kind = MODEL_ICALL; break;
	case ARM64_INS_RET: o->kind = MODEL_RETURN; break;
	case ARM64_INS_SVC: case ARM64_INS_HVC: case ARM64_INS_SMC:
		o->kind = MODEL_SYSCALL;
		break;
	default:
		/* hints 2 and 3 are WFE and WFI (C6.2.127) */
		if (w == 0xd503205f || w == 0xd503207f)
			o->kind = MODEL_WAIT;
		break;
	}
	if (o->kind == MODEL_JUMP || o->kind == MODEL_CALL)
		o->target = (uint64_t)d->operands[d->op_count - 1].imm;
	return 0;
}

static int is_link_reg(const cs_arm_op *op)
{
	return op->type == ARM_OP_REG && op->reg == ARM_REG_LR;
}

/* Loads of PC, and arithmetic that writes it. */
static void arm_writes_pc(const cs_insn *in, struct model_insn *o)
{
	const cs_arm *d = &in->detail->arm;
	int i = 0, sp = in->id == ARM_INS_POP || d->operands[0].reg == ARM_REG_SP;

	switch (in->id) {
	case ARM_INS_POP: case ARM_INS_LDM: case ARM_INS_LDMDA: case ARM_INS_LDMDB:
	case ARM_INS_LDMIB:
		for (i = in->id != ARM_INS_POP; i < d->op_count; i++) {
			if (d->operands[i].reg == ARM_REG_PC)
				o->kind = sp ? MODEL_RETURN : MODEL_IJUMP;
		}
		/* with the user bank or SPSR: LDM with "^" and PC is a return from exception */
		if (o->kind != MODEL_PLAIN && d->usermode)
			o->kind = MODEL_FAR_RETURN;
		return;
	case ARM_INS_CMP: case ARM_INS_CMN: case ARM_INS_TST: case ARM_INS_TEQ:
	case ARM_INS_STR: case ARM_INS_STRB: case ARM_INS_STRH: case ARM_INS_STRD:
	case ARM_INS_PUSH: case ARM_INS_PLD: case ARM_INS_PLDW: case ARM_INS_PLI:
	case ARM_INS_STRT: case ARM_INS_STM: case ARM_INS_STMDB: case ARM_INS_STMDA:
	case ARM_INS_STMIB:
		return;
	default:
		break;
	}
	if (!d->op_count || d->operands[0].type != ARM_OP_REG || d->operands[0].reg != ARM_REG_PC)
		return;
	if (d->update_flags && in->id != ARM_INS_LDR) {
		o->kind = MODEL_FAR_RETURN;	/* SUBS PC, LR and its kin */
		return;
	}
	o->kind = MODEL_IJUMP;
	if (in->id == ARM_INS_MOV && d->op_count == 2 && is_link_reg(&d->operands[1]))
		o->kind = MODEL_RETURN;
	/* LDR PC, [SP], #4 is a POP */
	if (in->id == ARM_INS_LDR && d->writeback && d->op_count > 1 &&
	    d->operands[1].type == ARM_OP_MEM && d->operands[1].mem.base == ARM_REG_SP)
		o->kind = MODEL_RETURN;
}

static void arm_kind(const cs_insn *in, struct model_insn *o)
{
	const cs_arm *d = &in->detail->arm;
	const cs_arm_op *last = d->op_count ? &d->operands[d->op_count - 1] : NULL;

	switch (in->id) {
	case ARM_INS_CBZ: case ARM_INS_CBNZ:
		o->cond = 1;
		/* fall through */
	case ARM_INS_B:
		o->kind = MODEL_JUMP;
		break;
	case ARM_INS_BL:
		o->kind = MODEL_CALL;
		break;
	case ARM_INS_BLX:
		o->kind = last && last->type == ARM_OP_REG ? MODEL_ICALL : MODEL_CALL;
		break;
	case ARM_INS_BX: case ARM_INS_BXJ:
		o->kind = last && is_link_reg(last) ? MODEL_RETURN : MODEL_IJUMP;
		break;
	case ARM_INS_TBB: case ARM_INS_TBH:
		o->kind = MODEL_IJUMP;
		break;
	case ARM_INS_SVC: case ARM_INS_HVC: case ARM_INS_SMC:
		o->kind = MODEL_SYSCALL;
		break;
	case ARM_INS_RFEDA: case ARM_INS_RFEDB: case ARM_INS_RFEIA: case ARM_INS_RFEIB:
		o->kind = MODEL_FAR_RETURN;
		break;
	case ARM_INS_ISB:
		o->kind = MODEL_BARRIER;
		break;
	case ARM_INS_WFE: case ARM_INS_WFI:
		o->kind = MODEL_WAIT;
		break;
	default:
		arm_writes_pc(in, o);
		break;
	}
	if ((o->kind == MODEL_JUMP || o->kind == MODEL_CALL) && last && last->type == ARM_OP_IMM)
		o->target = (uint32_t)last->imm;
}

static int a32(struct model_insns *m, uint64_t addr, const uint8_t *p, size_t n,
	       struct model_insn *o)
{
	const cs_insn *in;
	uint32_t w;

	if (n < 4)
		return -HWT_E_MORE;
	o->size = 4;
	memcpy(&w, p, 4);
	in = look(m, MODEL_A32, addr, p, 4);
	if (in)
		arm_kind(in, o);
	if ((w & 0x0fffffff) == 0x0160006e)	/* ERET, F5.1.56 */
		o->kind = MODEL_FAR_RETURN;
	o->cond = w >> 28 < 14;
	return 0;
}

/* ITSTATE after one instruction (DDI 0487, ITAdvance()). */
static uint8_t it_next(uint8_t it)
{
	return it & 7 ? (uint8_t)((it & 0xe0) | (it << 1 & 0x1f)) : 0;
}

static int t32(struct model_insns *m, uint64_t addr, const uint8_t *p, size_t n, uint8_t *it,
	       struct model_insn *o)
{
	const cs_insn *in;
	uint16_t w, w2 = 0;

	if (n < 2)
		return -HWT_E_MORE;
	memcpy(&w, p, 2);
	o->size = w >> 11 >= 0x1d ? 4 : 2;
	if (n < o->size)
		return -HWT_E_MORE;
	if (o->size == 4)
		memcpy(&w2, p + 2, 2);
	/* IT is kept from capstone, which would remember it past this call */
	if ((w & 0xff00) == 0xbf00 && (w & 15)) {
		if (it)
			*it = (uint8_t)w;
		return 0;
	}
	in = look(m, MODEL_T32, addr, p, o->size);
	if (in && in->size == o->size)
		arm_kind(in, o);
	if (w == 0xf3de && w2 >> 8 == 0x8f)	/* SUBS PC, LR, #imm8; 0 is ERET */
		o->kind = MODEL_FAR_RETURN;
	/* B<cond>: T1 1101 cond, T3 with a condition below 14 */
	if ((w >> 12 == 0xd && (w >> 8 & 15) < 14) ||
	    (w >> 11 == 0x1e && (w2 & 0xd000) == 0x8000 && (w >> 7 & 7) != 7))
		o->cond = 1;
	if (it && *it) {
		o->cond |= *it >> 4 < 14;
		*it = it_next(*it);
	}
	return 0;
}

int model_insn_get(struct model_insns *m, unsigned isa, uint64_t addr, const void *p, size_t n,
		   uint8_t *it, struct model_insn *out)
{
	struct model_insn o = { .target = MODEL_NO_ADDR };
	int err = open_isa(m, isa);

	if (err)
		return err;
	if (n > MODEL_INSN_BYTES)
		n = MODEL_INSN_BYTES;
	switch (isa) {
	case MODEL_A64: err = a64(m, addr, p, n, &o); break;
	case MODEL_A32: err = a32(m, addr, p, n, &o); break;
	case MODEL_T32: err = t32(m, addr, p, n, it, &o); break;
	default: err = x86(m, isa, addr, p, n, &o); break;
	}
	if (!err)
		*out = o;
	return err;
}
