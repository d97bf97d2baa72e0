/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text of instructions, by capstone where it agrees with our own decoder about the length, and by
 * tables here for what capstone 4 does not know or names wrongly. It never decides control flow.
 */
#include <capstone/capstone.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "insn.h"

#define ISAS	(HWT_ISA_T32 + 1)
#define SLOTS	4096	/* texts kept; a power of two */
#define LEN_MAX	15	/* bytes of the longest instruction */

struct slot {
	uint64_t addr;
	uint8_t  isa, n;	/* n 0: empty */
	uint8_t  bytes[LEN_MAX];
	char     text[103];
};

struct hwt_disasm {
	csh cs[ISAS];
	cs_insn *insn[ISAS];	/* NULL: not opened yet */
	struct slot slots[SLOTS];
};

int hwt_disasm_new(struct hwt_disasm **out)
{
	struct hwt_disasm *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	*out = d;
	return 0;
}

void hwt_disasm_free(struct hwt_disasm *d)
{
	for (int i = 0; d && i < ISAS; i++) {
		if (d->insn[i]) {
			cs_free(d->insn[i], 1);
			cs_close(&d->cs[i]);
		}
	}
	free(d);
}

/* Opens the printer of @isa once. 0, or -ENOMEM where it can not. */
static int open_isa(struct hwt_disasm *d, unsigned isa)
{
	static const struct { int arch, mode; } t[ISAS] = {
		[HWT_ISA_X86_64] = { CS_ARCH_X86, CS_MODE_64 },
		[HWT_ISA_X86_32] = { CS_ARCH_X86, CS_MODE_32 },
		[HWT_ISA_X86_16] = { CS_ARCH_X86, CS_MODE_16 },
		[HWT_ISA_A64] = { CS_ARCH_ARM64, 0 },
		[HWT_ISA_A32] = { CS_ARCH_ARM, CS_MODE_ARM | CS_MODE_V8 },
		[HWT_ISA_T32] = { CS_ARCH_ARM, CS_MODE_THUMB | CS_MODE_V8 },
	};

	if (d->insn[isa])
		return 0;
	if (cs_open(t[isa].arch, t[isa].mode, &d->cs[isa]) != CS_ERR_OK)
		return -ENOMEM;
	d->insn[isa] = cs_malloc(d->cs[isa]);
	if (!d->insn[isa]) {
		cs_close(&d->cs[isa]);
		return -ENOMEM;
	}
	return 0;
}

/* Text by capstone; 1, or 0 if it does not know the instruction or sees another length. */
static int by_capstone(struct hwt_disasm *d, unsigned isa, uint64_t addr, const uint8_t *p,
		       size_t n, char *buf, size_t size)
{
	const uint8_t *at = p;
	cs_insn *in;

	if (open_isa(d, isa))
		return 0;
	in = d->insn[isa];
	if (!cs_disasm_iter(d->cs[isa], &at, &n, &addr, in) || n)
		return 0;
	if ((size_t)snprintf(buf, size, "%s%s%s", in->mnemonic, *in->op_str ? " " : "",
			     in->op_str) >= size)
		return 0;	/* half an operand would be another one */
	return 1;
}

static const char *const reg64[] = {
	"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
	"r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
};

static const char *const reg32[] = {
	"eax", "ecx", "edx", "ebx", "esp", "ebp", "esi", "edi",
	"r8d", "r9d", "r10d", "r11d", "r12d", "r13d", "r14d", "r15d",
};

/*
 * PTWRITE is f3 0f ae /4; without f3 the bytes are XSAVE, which has the same memory operand. The
 * address is one further so that RIP stays the same.
 */
static void ptwrite(struct hwt_disasm *d, unsigned isa, uint64_t addr, const uint8_t *p, size_t n,
		    char *buf, size_t size)
{
	uint8_t b[LEN_MAX], rex = 0;
	char text[96];
	size_t o = 0, i, modrm;
	const char *ops;

	for (i = 0; i < n && p[i] != 0x0f; i++) {
		if (isa == HWT_ISA_X86_64 && p[i] >> 4 == 4)
			rex = p[i];
		if (p[i] != 0xf3)
			b[o++] = p[i];
	}
	modrm = i + 2;
	if (modrm < n && p[modrm] >> 6 == 3) {
		unsigned reg = (p[modrm] & 7u) | (rex & 1u) << 3;

		snprintf(buf, size, "ptwrite %s", rex & 8 ? reg64[reg] : reg32[reg]);
		return;
	}
	memcpy(b + o, p + i, n - i);
	o += n - i;
	if (by_capstone(d, isa, addr + n - o, b, o, text, sizeof(text)) &&
	    (ops = strchr(text, '[')))
		snprintf(buf, size, "ptwrite %s ptr %s", rex & 8 ? "qword" : "dword", ops);
	else
		snprintf(buf, size, "ptwrite");
}

static int x86_text(struct hwt_disasm *d, const struct hwt_insn *in, const uint8_t *p, char *buf,
		    size_t size)
{
	static const struct { uint8_t n, b[4]; const char *text; } t[] = {
		{ 4, { 0xf3, 0x0f, 0x1e, 0xfa }, "endbr64" },
		{ 4, { 0xf3, 0x0f, 0x1e, 0xfb }, "endbr32" },
		{ 4, { 0xf3, 0x0f, 0x01, 0xec }, "uiret" },
		{ 4, { 0xf3, 0x0f, 0x01, 0xed }, "testui" },
		{ 4, { 0xf3, 0x0f, 0x01, 0xee }, "clui" },
		{ 4, { 0xf3, 0x0f, 0x01, 0xef }, "stui" },
		{ 4, { 0xf3, 0x0f, 0x01, 0xca }, "eretu" },
		{ 4, { 0xf2, 0x0f, 0x01, 0xca }, "erets" },
		{ 3, { 0x0f, 0x01, 0xe8 }, "serialize" },
		{ 4, { 0xf2, 0x0f, 0x01, 0xe8 }, "xsusldtrk" },
		{ 4, { 0xf2, 0x0f, 0x01, 0xe9 }, "xresldtrk" },
		{ 3, { 0x0f, 0x01, 0xc6 }, "wrmsrns" },
		{ 4, { 0x66, 0x0f, 0x01, 0xcc }, "tdcall" },
		{ 4, { 0x66, 0x0f, 0x01, 0xcd }, "seamret" },
		{ 4, { 0x66, 0x0f, 0x01, 0xce }, "seamops" },
		{ 4, { 0x66, 0x0f, 0x01, 0xcf }, "seamcall" },
		{ 3, { 0x0f, 0x01, 0xd9 }, "vmmcall" },
	};

	if (in->kind == HWT_INSN_PTWRITE) {
		ptwrite(d, in->isa, in->addr, p, in->size, buf, size);
		return 1;
	}
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		if (in->size == t[i].n && !memcmp(p, t[i].b, t[i].n)) {
			snprintf(buf, size, "%s", t[i].text);
			return 1;
		}
	}
	if (p[0] == 0xd5 && in->kind == HWT_INSN_JUMP) {
		snprintf(buf, size, "jmpabs 0x%llx", (unsigned long long)in->target);
		return 1;
	}
	return 0;
}

/* Pointer authentication, guarded branches and other hints: capstone prints a number. */
static const char *a64_hint(unsigned n)
{
	switch (n) {
	case 7: return "xpaclri";
	case 8: return "pacia1716";
	case 10: return "pacib1716";
	case 12: return "autia1716";
	case 14: return "autib1716";
	case 16: return "esb";
	case 17: return "psb csync";
	case 18: return "tsb csync";
	case 20: return "csdb";
	case 22: return "clrbhb";
	case 24: return "paciaz";
	case 25: return "paciasp";
	case 26: return "pacibz";
	case 27: return "pacibsp";
	case 28: return "autiaz";
	case 29: return "autiasp";
	case 30: return "autibz";
	case 31: return "autibsp";
	case 32: return "bti";
	case 34: return "bti c";
	case 36: return "bti j";
	case 38: return "bti jc";
	default: return NULL;
	}
}

/* General register @n as an operand; 31 is the zero register. */
static const char *a64_reg(unsigned n, int wide, char buf[5])
{
	if (n == 31)
		return wide ? "xzr" : "wzr";
	snprintf(buf, 5, "%c%u", wide ? 'x' : 'w', n & 31);
	return buf;
}

/* As a base address 31 is the stack pointer. */
static const char *a64_base(unsigned n, char buf[5])
{
	return n == 31 ? "sp" : a64_reg(n, 1, buf);
}

static int a64_branch(const struct hwt_insn *in, uint32_t w, char *buf, size_t size)
{
	static const char *const cond[] = { "eq", "ne", "hs", "lo", "mi", "pl", "vs", "vc", "hi",
		"ls", "ge", "lt", "gt", "le", "al", "nv" };
	static const char *const reg_cc[] = { "gt", "ge", "hi", "hs", "", "", "eq", "ne" };
	static const char *const imm_cc[] = { "gt", "lt", "hi", "lo", "", "", "eq", "ne" };
	unsigned opc = insn_bits(w, 24, 21), n = insn_bits(w, 9, 5), m = insn_bits(w, 4, 0);
	unsigned cc = insn_bits(w, 23, 21);
	char key = w & 1u << 10 ? 'b' : 'a', r[3][5];
	unsigned long long to = in->target;
	int wide = w >> 31;

	if (w >> 24 == 0x54 && w & 1u << 4) {
		snprintf(buf, size, "bc.%s 0x%llx", cond[w & 15], to);
	} else if ((w & 0x7f000000) == 0x74000000) {
		snprintf(buf, size, "cb%s%s %s, %s, 0x%llx",
			 w & 1u << 15 ? w & 1u << 14 ? "h" : "b" : "", reg_cc[cc],
			 a64_reg(m, wide, r[0]), a64_reg(insn_bits(w, 20, 16), wide, r[1]), to);
	} else if ((w & 0x7f000000) == 0x75000000) {
		snprintf(buf, size, "cb%s %s, #%u, 0x%llx", imm_cc[cc], a64_reg(m, wide, r[0]),
			 insn_bits(w, 20, 15), to);
	} else if (w >> 24 == 0x55) {
		to = in->addr - 4ull * insn_bits(w, 20, 5);
		snprintf(buf, size, "reta%csppc 0x%llx", w & 1u << 21 ? 'b' : 'a', to);
	} else if (w >> 25 == 0x6b && w & 1u << 11) {
		const char *name = opc == 2 ? "ret" : opc == 4 ? "eret" : opc & 1 ? "blr" : "br";

		if (opc == 2 && m != 31)
			snprintf(buf, size, "reta%csppcr %s", key, a64_reg(m, 1, r[0]));
		else if (opc == 2 || opc == 4)
			snprintf(buf, size, "%sa%c", name, key);
		else if (opc < 2)
			snprintf(buf, size, "%sa%cz %s", name, key, a64_reg(n, 1, r[0]));
		else
			snprintf(buf, size, "%sa%c %s, %s", name, key, a64_reg(n, 1, r[0]),
				 a64_base(m, r[1]));
	} else {
		return 0;
	}
	return 1;
}

/* Atomics of FEAT_LSE and FEAT_LRCPC, DDI 0487 C4.1 "Loads and stores". */
static int a64_atomic(uint32_t w, char *buf, size_t size)
{
	static const char *const op[] = { "ldadd", "ldclr", "ldeor", "ldset", "ldsmax", "ldsmin",
		"ldumax", "ldumin", "swp" };
	static const char *const width[] = { "b", "h", "", "" };
	static const char *const order[] = { "", "l", "a", "al" };
	unsigned sz = w >> 30, s = insn_bits(w, 20, 16), opc = insn_bits(w, 15, 12);
	char r[3][5];
	const char *t, *base = a64_base(insn_bits(w, 9, 5), r[0]);

	t = a64_reg(w & 31, sz == 3, r[1]);
	if ((w & 0x3f200c00) == 0x38200000) {
		if (opc == 12 && s == 31 && insn_bits(w, 23, 22) == 2) {
			snprintf(buf, size, "ldapr%s %s, [%s]", width[sz], t, base);
			return 1;
		}
		if (opc > 8)
			return 0;
		snprintf(buf, size, "%s%s%s %s, %s, [%s]", op[opc], order[insn_bits(w, 23, 22)],
			 width[sz], a64_reg(s, sz == 3, r[2]), t, base);
		return 1;
	}
	if ((w & 0x3fa07c00) == 0x08a07c00) {
		snprintf(buf, size, "cas%s%s %s, %s, [%s]",
			 order[insn_bits(w, 22, 22) << 1 | insn_bits(w, 15, 15)], width[sz],
			 a64_reg(s, sz == 3, r[2]), t, base);
		return 1;
	}
	return 0;
}

static int a64_text(const struct hwt_insn *in, const uint8_t *p, char *buf, size_t size)
{
	uint32_t w = insn_le32(p);
	const char *hint = NULL;
	char r[5];

	if ((w & 0xfffff01f) == 0xd503201f)
		hint = a64_hint(insn_bits(w, 11, 5));
	if (hint)
		snprintf(buf, size, "%s", hint);
	else if ((w & 0xffffffc0) == 0xd5031000)
		snprintf(buf, size, "wf%ct %s", w & 0x20 ? 'i' : 'e', a64_reg(w & 31, 1, r));
	else if (in->kind == HWT_INSN_OTHER || in->kind == HWT_INSN_BARRIER)
		return a64_atomic(w, buf, size);
	else
		return a64_branch(in, w, buf, size);
	return 1;
}

/* Low overhead loops of v8.1-M. */
static int t32_text(const struct hwt_insn *in, const uint8_t *p, char *buf, size_t size)
{
	uint32_t w = (uint32_t)insn_le16(p) << 16 | insn_le16(p + (in->size == 4 ? 2 : 0));
	unsigned n = insn_bits(w, 19, 16);
	unsigned long long to = in->target;

	if (in->size != 4)
		return 0;
	if ((w & 0xffcff001) == 0xf00fc001)
		snprintf(buf, size, w & 1u << 20 ? "letp lr, 0x%llx" : w & 1u << 21 ? "le 0x%llx" :
			 "le lr, 0x%llx", to);
	else if ((w & 0xfff0f001) == 0xf040c001)
		snprintf(buf, size, "wls lr, r%u, 0x%llx", n, to);
	else if ((w & 0xffc0f001) == 0xf000c001)
		snprintf(buf, size, "wlstp.%u lr, r%u, 0x%llx", 8u << insn_bits(w, 21, 20), n, to);
	else if ((w & 0xfff0ffff) == 0xf040e001)
		snprintf(buf, size, "dls lr, r%u", n);
	else if ((w & 0xffc0ffff) == 0xf000e001 && n != 15)
		snprintf(buf, size, "dlstp.%u lr, r%u", 8u << insn_bits(w, 21, 20), n);
	else if (w == 0xf00fe001)
		snprintf(buf, size, "lctp");
	else
		return 0;
	return 1;
}

/* The bytes themselves, as a directive of the assembler. */
static void raw_text(unsigned isa, const uint8_t *p, size_t n, char *buf, size_t size)
{
	size_t o = 0;

	*buf = 0;
	if (isa >= HWT_ISA_A64 && n == 4) {
		uint32_t w = isa == HWT_ISA_T32 ? (uint32_t)insn_le16(p) << 16 | insn_le16(p + 2) :
			insn_le32(p);

		snprintf(buf, size, ".word 0x%08x", w);
		return;
	}
	if (isa == HWT_ISA_T32 && n == 2) {
		snprintf(buf, size, ".short 0x%04x", insn_le16(p));
		return;
	}
	for (size_t i = 0; i < n && i < LEN_MAX && o < size; i++)
		o += (size_t)snprintf(buf + o, size - o, "%s0x%02x", i ? ", " : ".byte ", p[i]);
}

static void make_text(struct hwt_disasm *d, const struct hwt_insn *in, const uint8_t *p, char *buf,
		      size_t size)
{
	int done;

	switch (in->isa) {
	case HWT_ISA_A64: done = a64_text(in, p, buf, size); break;
	case HWT_ISA_T32: done = t32_text(in, p, buf, size); break;
	case HWT_ISA_A32: done = 0; break;
	default: done = x86_text(d, in, p, buf, size); break;
	}
	if (!done && !by_capstone(d, in->isa, in->addr, p, in->size, buf, size))
		raw_text(in->isa, p, in->size, buf, size);
}

static struct slot *slot_of(struct hwt_disasm *d, const struct hwt_insn *in)
{
	uint64_t h = (in->addr ^ in->addr >> 12) * 0x9e3779b97f4a7c15 + in->isa;

	return &d->slots[h >> 52 & (SLOTS - 1)];
}

int hwt_disasm_text(struct hwt_disasm *d, unsigned isa, uint64_t addr, const void *p, size_t n,
		    char *buf, size_t size)
{
	struct hwt_insn in;
	struct slot *s;

	if (isa <= HWT_ISA_UNKNOWN || isa >= ISAS || !size)
		return -EINVAL;
	if (hwt_insn_decode(&in, isa, addr, p, n)) {
		raw_text(isa, p, n, buf, size);
		return 0;
	}
	s = slot_of(d, &in);
	if (s->n != in.size || s->addr != addr || s->isa != isa || memcmp(s->bytes, p, in.size)) {
		make_text(d, &in, p, s->text, sizeof(s->text));
		s->addr = addr;
		s->isa = (uint8_t)isa;
		s->n = in.size;
		memcpy(s->bytes, p, in.size);
	}
	snprintf(buf, size, "%s", s->text);
	return 0;
}
