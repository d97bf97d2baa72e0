/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * x86 instruction length and branch class. Intel SDM vol. 2, chapter 2 (format) and appendix A
 * (opcode maps); AMD APM vol. 3 for XOP and 3DNow!; Intel APX specification for REX2 and EVEX
 * map 4. Operands are never looked at, only what decides the length and what branches.
 */
#include "insn.h"

#define LEN_MAX	15	/* bytes; longer ones fault, SDM vol. 3, 6.15 (#GP) */

enum {
	M = 1,		/* ModRM follows */
	B = 2,		/* 8-bit immediate */
	W = 4,		/* 16-bit immediate */
	Z = 8,		/* 16 or 32 bits by operand size */
	V = 16,		/* 16, 32 or 64 bits by operand size */
	O = 32,		/* an address, by address size */
	X = 64,		/* not in 64-bit mode */
	U = 128,	/* undefined */
};

/* One-byte opcodes. Prefixes and escapes are taken before it is looked at. */
static const uint8_t map0[256] = {
	[0x00 ... 0x03] = M, [0x04] = B, [0x05] = Z, [0x06 ... 0x07] = X,
	[0x08 ... 0x0b] = M, [0x0c] = B, [0x0d] = Z, [0x0e] = X, [0x0f] = U,
	[0x10 ... 0x13] = M, [0x14] = B, [0x15] = Z, [0x16 ... 0x17] = X,
	[0x18 ... 0x1b] = M, [0x1c] = B, [0x1d] = Z, [0x1e ... 0x1f] = X,
	[0x20 ... 0x23] = M, [0x24] = B, [0x25] = Z, [0x26] = U, [0x27] = X,
	[0x28 ... 0x2b] = M, [0x2c] = B, [0x2d] = Z, [0x2e] = U, [0x2f] = X,
	[0x30 ... 0x33] = M, [0x34] = B, [0x35] = Z, [0x36] = U, [0x37] = X,
	[0x38 ... 0x3b] = M, [0x3c] = B, [0x3d] = Z, [0x3e] = U, [0x3f] = X,
	[0x60 ... 0x61] = X, [0x62] = M | X, [0x63] = M, [0x64 ... 0x67] = U,
	[0x68] = Z, [0x69] = M | Z, [0x6a] = B, [0x6b] = M | B,
	[0x70 ... 0x7f] = B,
	[0x80] = M | B, [0x81] = M | Z, [0x82] = M | B | X, [0x83] = M | B, [0x84 ... 0x8f] = M,
	[0x9a] = Z | W | X,
	[0xa0 ... 0xa3] = O, [0xa8] = B, [0xa9] = Z,
	[0xb0 ... 0xb7] = B, [0xb8 ... 0xbf] = V,
	[0xc0 ... 0xc1] = M | B, [0xc2] = W, [0xc4 ... 0xc5] = M | X, [0xc6] = M | B,
	[0xc7] = M | Z, [0xc8] = W | B, [0xca] = W, [0xcd] = B, [0xce] = X,
	[0xd0 ... 0xd3] = M, [0xd4 ... 0xd5] = B | X, [0xd6] = X, [0xd8 ... 0xdf] = M,
	[0xe0 ... 0xe7] = B, [0xe8 ... 0xe9] = Z, [0xea] = Z | W | X, [0xeb] = B,
	[0xf0] = U, [0xf2 ... 0xf3] = U, [0xf6 ... 0xf7] = M, [0xfe ... 0xff] = M,
};

/* Opcodes after 0f. 38 and 3a are maps of their own, 0f is 3DNow! with its opcode at the end. */
static const uint8_t map1[256] = {
	[0x00 ... 0x03] = M, [0x04] = U, [0x0a] = U, [0x0c] = U, [0x0d] = M, [0x0f] = M | B,
	[0x10 ... 0x23] = M, [0x24 ... 0x27] = U, [0x28 ... 0x2f] = M,
	[0x36] = U, [0x38 ... 0x3f] = U,
	[0x40 ... 0x6f] = M, [0x70 ... 0x73] = M | B, [0x74 ... 0x76] = M, [0x78 ... 0x79] = M,
	[0x7a ... 0x7b] = U, [0x7c ... 0x7f] = M,
	[0x80 ... 0x8f] = Z, [0x90 ... 0x9f] = M,
	[0xa3] = M, [0xa4] = M | B, [0xa5 ... 0xa7] = M, [0xab] = M, [0xac] = M | B,
	[0xad ... 0xb9] = M, [0xba] = M | B, [0xbb ... 0xc1] = M, [0xc2] = M | B, [0xc3] = M,
	[0xc4 ... 0xc6] = M | B, [0xc7] = M, [0xd0 ... 0xff] = M,
};

struct x86 {
	struct hwt_insn *o;
	const uint8_t *p;
	size_t n, pos;
	int err;
	unsigned bits;		/* 16, 32 or 64 */
	unsigned map;		/* opcode map; 16 and up: not legacy */
	uint8_t op, modrm;
	uint8_t p66, p67, lock, rep;	/* prefixes seen; @rep is the last of f2 and f3 */
	uint8_t rex, rexw;
};

static uint8_t byte(struct x86 *x)
{
	if (x->err)
		return 0;
	if (x->pos >= LEN_MAX)
		x->err = -HWT_E_PACKET;
	else if (x->pos >= x->n)
		x->err = -HWT_E_MORE;
	else
		return x->p[x->pos++];
	return 0;
}

static void skip(struct x86 *x, size_t n)
{
	if (x->err)
		return;
	if (x->pos + n > LEN_MAX)
		x->err = -HWT_E_PACKET;
	else if (x->pos + n > x->n)
		x->err = -HWT_E_MORE;
	else
		x->pos += n;
}

static void bad(struct x86 *x)
{
	if (!x->err)
		x->err = -HWT_E_PACKET;
}

/* Bytes of an operand or an address: the prefix takes the other of 16 and 32 bits. */
static unsigned osize(const struct x86 *x)
{
	if (x->rexw)
		return 4;
	return (x->bits == 16) == !x->p66 ? 2 : 4;
}

static unsigned asize(const struct x86 *x)
{
	if (x->bits == 64)
		return x->p67 ? 4 : 8;
	return (x->bits == 16) == !x->p67 ? 2 : 4;
}

static void modrm(struct x86 *x)
{
	unsigned mod, rm;

	x->modrm = byte(x);
	mod = x->modrm >> 6;
	rm = x->modrm & 7;
	/* moves to and from control and debug registers have no memory form, whatever mod says */
	if (mod == 3 || (x->map == 1 && x->op >= 0x20 && x->op <= 0x23))
		return;
	if (asize(x) == 2) {
		skip(x, mod ? mod : rm == 6 ? 2 : 0);
		return;
	}
	if (rm == 4 && (byte(x) & 7) == 5 && !mod)
		skip(x, 4);
	skip(x, mod == 1 ? 1 : mod == 2 || rm == 5 ? 4 : 0);
}

/* What follows the opcode. */
static void operands(struct x86 *x, unsigned flags)
{
	if (flags & U || (flags & X && x->bits == 64))
		bad(x);
	if (flags & M)
		modrm(x);
	skip(x, (flags & B ? 1 : 0) + (flags & W ? 2 : 0));
	if (flags & Z)
		skip(x, osize(x));
	if (flags & V)
		skip(x, x->rexw ? 8 : osize(x));
	if (flags & O)
		skip(x, asize(x));
}

static void branch(struct x86 *x, unsigned kind, unsigned size)
{
	const uint8_t *p;
	int64_t rel;
	uint64_t to;

	skip(x, size);
	if (x->err)
		return;
	p = x->p + x->pos - size;
	rel = size == 1 ? (int8_t)p[0] : size == 2 ? (int16_t)insn_le16(p) : (int32_t)insn_le32(p);
	to = x->o->addr + x->pos + (uint64_t)rel;
	/* addresses are linear: a 16-bit target wraps at 64 KiB, as if the segment began there */
	if (x->bits == 16 && osize(x) == 2 && size == 1)
		to &= 0xffffffff;
	else if (x->bits == 16 && osize(x) == 2)
		to = ((x->o->addr + x->pos) & 0xffff0000) | (to & 0xffff);
	else if (x->bits != 64)
		to &= osize(x) == 2 ? 0xffff : 0xffffffff;
	x->o->kind = (uint8_t)kind;
	x->o->cond = kind == HWT_INSN_BRANCH;
	x->o->target = to;
}

/* A near branch with a 32-bit displacement; in 64-bit mode the operand size prefix is ignored. */
static void branch_z(struct x86 *x, unsigned kind)
{
	branch(x, kind, x->bits == 64 ? 4 : osize(x));
}

static void group_ff(struct x86 *x)
{
	static const uint8_t kind[8] = {
		[2] = HWT_INSN_ICALL, [3] = HWT_INSN_FAR_CALL,
		[4] = HWT_INSN_IJUMP, [5] = HWT_INSN_FAR_JUMP,
	};
	unsigned reg;

	modrm(x);
	reg = x->modrm >> 3 & 7;
	if (reg == 7 || (x->modrm >> 6 == 3 && (reg == 3 || reg == 5)))
		bad(x);
	x->o->kind = kind[reg];
}

static void legacy_map0(struct x86 *x)
{
	unsigned reg;

	switch (x->op) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3: branch(x, HWT_INSN_BRANCH, 1); return;
	case 0xe8: branch_z(x, HWT_INSN_CALL); return;
	case 0xe9: branch_z(x, HWT_INSN_JUMP); return;
	case 0xeb: branch(x, HWT_INSN_JUMP, 1); return;
	case 0xff: group_ff(x); return;
	case 0x9a: x->o->kind = HWT_INSN_FAR_CALL; break;
	case 0xea: x->o->kind = HWT_INSN_FAR_JUMP; break;
	case 0xc2: case 0xc3: x->o->kind = HWT_INSN_RETURN; break;
	case 0xca: case 0xcb: case 0xcf: x->o->kind = HWT_INSN_FAR_RETURN; break;
	case 0xcc: case 0xcd: case 0xf1: x->o->kind = HWT_INSN_FAR_CALL; break;
	case 0xce: x->o->kind = HWT_INSN_FAR_CALL; x->o->cond = 1; break;	/* INTO */
	}
	operands(x, map0[x->op]);
	reg = x->modrm >> 3 & 7;
	switch (x->op) {
	case 0xf6:
		skip(x, reg < 2 ? 1 : 0);
		break;
	case 0xf7:
		skip(x, reg < 2 ? osize(x) : 0);
		break;
	case 0xc6: case 0xc7:		/* f8 are XABORT and XBEGIN */
		if (reg && x->modrm != 0xf8)
			bad(x);
		break;
	case 0xfe:
		if (reg > 1)
			bad(x);
		break;
	case 0x62: case 0x8d: case 0xc4: case 0xc5:
		if (x->modrm >> 6 == 3)
			bad(x);
		break;
	}
}

/* 0f 01 with a register form: one instruction a ModRM value and mandatory prefix. */
static unsigned group_0f01(const struct x86 *x)
{
	switch (x->modrm) {
	case 0xc1: return HWT_INSN_FAR_CALL;				/* VMCALL */
	case 0xc2: case 0xc3: return HWT_INSN_FAR_JUMP;			/* VMLAUNCH, VMRESUME */
	case 0xca: return x->rep ? HWT_INSN_FAR_RETURN : HWT_INSN_OTHER;	/* ERETU, ERETS */
	case 0xcc: return x->p66 ? HWT_INSN_FAR_CALL : HWT_INSN_OTHER;	/* TDCALL */
	case 0xcd: return x->p66 ? HWT_INSN_FAR_RETURN : HWT_INSN_OTHER;	/* SEAMRET */
	case 0xcf: return x->p66 ? HWT_INSN_FAR_CALL : HWT_INSN_OTHER;	/* SEAMCALL */
	case 0xd8: return HWT_INSN_FAR_JUMP;				/* VMRUN */
	case 0xd9: return HWT_INSN_FAR_CALL;				/* VMMCALL */
	case 0xec: return x->rep == 0xf3 ? HWT_INSN_FAR_RETURN : HWT_INSN_OTHER;	/* UIRET */
	default: return HWT_INSN_OTHER;
	}
}

static void legacy_map1(struct x86 *x)
{
	if (x->op >= 0x80 && x->op <= 0x8f) {
		branch_z(x, HWT_INSN_BRANCH);
		return;
	}
	operands(x, map1[x->op]);
	switch (x->op) {
	case 0x01: x->o->kind = (uint8_t)group_0f01(x); break;
	case 0x05: case 0x34: x->o->kind = HWT_INSN_FAR_CALL; break;	/* SYSCALL, SYSENTER */
	case 0x07: case 0x35: case 0xaa: x->o->kind = HWT_INSN_FAR_RETURN; break; /* .., RSM */
	case 0x78:			/* EXTRQ and INSERTQ of SSE4a, else VMREAD */
		skip(x, x->rep == 0xf2 || x->p66 ? 2 : 0);
		break;
	case 0xae:
		if (x->rep == 0xf3 && (x->modrm >> 3 & 7) == 4 && !x->p66)
			x->o->kind = HWT_INSN_PTWRITE;
		break;
	}
}

static void legacy(struct x86 *x)
{
	if (x->op == 0x0f && !x->map) {
		x->map = 1;
		x->op = byte(x);
		if (x->op == 0x38 || x->op == 0x3a) {
			x->map = x->op == 0x38 ? 2 : 3;
			x->op = byte(x);
		}
	}
	switch (x->map) {
	case 0: legacy_map0(x); break;
	case 1: legacy_map1(x); break;
	case 2: operands(x, M); break;
	default: operands(x, M | B); break;
	}
}

/* Maps 1 to 3 have the same immediates whether the prefix is VEX or EVEX. */
static void vector_map(struct x86 *x, unsigned map)
{
	switch (map) {
	case 1: operands(x, x->op == 0x77 ? 0 : M | (map1[x->op] & B)); break;
	case 2: case 5: case 6: operands(x, M); break;
	case 3: operands(x, M | B); break;
	case 7: operands(x, M); skip(x, 4); break;	/* RDMSR, URDMSR with immediate */
	default: bad(x); break;
	}
}

static void vex(struct x86 *x, unsigned first)
{
	unsigned map = 1;

	if (x->p66 || x->rep || x->lock || x->rex)
		bad(x);
	if (first == 0xc4)
		map = byte(x) & 31;
	byte(x);
	x->op = byte(x);
	x->map = 16;
	vector_map(x, map);
}

/* APX: legacy opcodes with three operands or without flags. */
static void evex_map4(struct x86 *x, unsigned pp)
{
	unsigned flags = M, reg;

	switch (x->op) {
	case 0x80: case 0x83: case 0xc0: case 0xc1: case 0x6b:
	case 0x24: case 0x2c: case 0xd4: flags |= B; break;
	case 0x69: case 0x81: flags |= Z; break;
	}
	x->p66 = pp == 1;
	operands(x, flags);
	reg = x->modrm >> 3 & 7;
	if (x->op == 0xf6 && reg < 2)
		skip(x, 1);
	if (x->op == 0xf7 && reg < 2)
		skip(x, osize(x));
}

static void evex(struct x86 *x)
{
	unsigned map, second;

	if (x->p66 || x->rep || x->lock || x->rex)
		bad(x);
	map = byte(x) & 7;
	second = byte(x);
	byte(x);
	x->op = byte(x);
	x->map = 16;
	x->rexw = second >> 7;
	if (map == 4)
		evex_map4(x, second & 3);
	else if (map == 1 && x->op == 0x77)
		bad(x);
	else
		vector_map(x, map);
}

static void xop(struct x86 *x)
{
	unsigned map = byte(x) & 31;

	if (x->p66 || x->rep || x->lock || x->rex)
		bad(x);
	byte(x);
	x->op = byte(x);
	x->map = 16;
	operands(x, map == 8 ? M | B : M);
	if (map == 10)
		skip(x, 4);
	else if (map > 10)
		bad(x);
}

static void rex2(struct x86 *x)
{
	unsigned payload = byte(x), row;

	x->op = byte(x);
	x->rexw = payload >> 3 & 1;
	x->map = payload >> 7;
	row = x->op >> 4;
	if (!x->map && x->op == 0xa1) {		/* JMPABS */
		uint64_t lo, hi;

		skip(x, 8);
		if (x->err)
			return;
		lo = insn_le32(x->p + x->pos - 8);
		hi = insn_le32(x->p + x->pos - 4);
		x->o->kind = HWT_INSN_JUMP;
		x->o->target = lo | hi << 32;
		return;
	}
	if (x->rex || (x->map ? row == 3 || row == 8 || x->op == 0x38 || x->op == 0x3a :
		       row == 4 || row == 7 || row == 10 || row == 14 || x->op == 0x0f))
		bad(x);
	if (!x->map && (map0[x->op] & U || x->op == 0x62 || x->op == 0xd5))
		bad(x);
	if (x->map)
		legacy_map1(x);
	else
		legacy_map0(x);
}

/* Takes prefixes and the first byte behind them. */
static uint8_t prefixes(struct x86 *x)
{
	for (;;) {
		uint8_t b = byte(x);

		switch (x->err ? 0 : b) {
		case 0x26: case 0x2e: case 0x36: case 0x3e: case 0x64: case 0x65: break;
		case 0x66: x->p66 = 1; break;
		case 0x67: x->p67 = 1; break;
		case 0xf0: x->lock = 1; break;
		case 0xf2: case 0xf3: x->rep = b; break;
		case 0x40 ... 0x4f:
			if (x->bits != 64)
				return b;
			x->rex = b;
			continue;
		default:
			x->rexw = x->rex >> 3 & 1;
			return b;
		}
		x->rex = 0;	/* counts only right before the opcode */
	}
}

/* What would be ModRM, before it is taken: tells prefixes from the old instructions. */
static unsigned peek(struct x86 *x)
{
	unsigned b = byte(x);

	if (!x->err)
		x->pos--;
	return b;
}

int insn_x86(struct hwt_insn *o, unsigned bits, const uint8_t *p, size_t n)
{
	struct x86 x = { .o = o, .p = p, .n = n, .bits = bits };

	o->kind = HWT_INSN_OTHER;
	x.op = prefixes(&x);
	switch (x.err ? 0 : x.op) {
	case 0xc4: case 0xc5:
		if (bits == 64 || peek(&x) >= 0xc0)
			vex(&x, x.op);
		else
			legacy(&x);
		break;
	case 0x62:
		if (bits == 64 || peek(&x) >= 0xc0)
			evex(&x);
		else
			legacy(&x);
		break;
	case 0x8f:
		if ((peek(&x) & 31) >= 8)
			xop(&x);
		else
			legacy(&x);
		break;
	case 0xd5:
		if (bits == 64)
			rex2(&x);
		else
			legacy(&x);
		break;
	default:
		legacy(&x);
	}
	o->size = (uint8_t)x.pos;
	return x.err;
}
