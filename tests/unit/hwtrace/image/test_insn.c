/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Instructions assembled by hand from the manuals (Intel SDM vol. 2, Intel APX and FRED, Arm DDI
 * 0487 and DDI 0553): what the peers of test_insn_objdump do not know, and the edges.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/image.h>

#define NO	HWT_NO_ADDR
#define AT	0x401000u

struct vec { const char *hex; uint8_t kind, cond; uint64_t target; const char *text; };

static size_t bytes(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned v;
	int used;

	for (; sscanf(hex, "%2x%n", &v, &used) == 1; hex += used)
		out[n++] = (uint8_t)v;
	return n;
}

static size_t word(const char *hex, unsigned isa, uint8_t *out)
{
	unsigned v;
	size_t n = strlen(hex) / 2;

	assert_int_equal(sscanf(hex, "%x", &v), 1);
	if (isa == HWT_ISA_T32 && n == 4)
		v = v >> 16 | v << 16;
	memcpy(out, &v, n);
	return n;
}

static void run(const struct vec *t, size_t count, unsigned isa)
{
	struct hwt_disasm *d;
	char text[128];

	assert_int_equal(hwt_disasm_new(&d), 0);
	for (size_t i = 0; i < count; i++) {
		uint8_t b[32] = { 0 };
		size_t n = isa <= HWT_ISA_X86_16 ? bytes(t[i].hex, b) : word(t[i].hex, isa, b);
		struct hwt_insn in;

		if (hwt_insn_decode(&in, isa, AT, b, sizeof(b)))
			fail_msg("%s: not decoded", t[i].hex);
		if (in.size != n || in.kind != t[i].kind || in.cond != t[i].cond ||
		    in.target != t[i].target || in.isa != isa || in.addr != AT)
			fail_msg("%s: size %u kind %u cond %u target %llx", t[i].hex, in.size,
				 in.kind, in.cond, (unsigned long long)in.target);
		for (size_t k = 0; k < n; k++)
			assert_int_equal(hwt_insn_decode(&in, isa, AT, b, k), isa == HWT_ISA_T32 &&
					 k >= 2 && n == 2 ? 0 : -HWT_E_MORE);
		for (int twice = 0; t[i].text && twice < 2; twice++) {
			assert_int_equal(hwt_disasm_text(d, isa, AT, b, n, text, sizeof(text)), 0);
			assert_string_equal(text, t[i].text);
		}
	}
	hwt_disasm_free(d);
}

#define RUN(t, isa) run(t, sizeof(t) / sizeof(t[0]), isa)

static void x86_64(void **state)
{
	static const struct vec t[] = {
		{ "90", HWT_INSN_OTHER, 0, NO, "nop" },
		{ "e8 fb 0f 00 00", HWT_INSN_CALL, 0, 0x402000, "call 0x402000" },
		{ "eb fe", HWT_INSN_JUMP, 0, 0x401000, "jmp 0x401000" },
		{ "0f 84 fa ff ff ff", HWT_INSN_BRANCH, 1, 0x401000, "je 0x401000" },
		{ "66 e9 00 00 00 00", HWT_INSN_JUMP, 0, 0x401006, NULL },	/* Intel: rel32 */
		{ "f2 e9 00 00 00 00", HWT_INSN_JUMP, 0, 0x401006, NULL },	/* bnd */
		{ "3e ff e0", HWT_INSN_IJUMP, 0, NO, NULL },			/* notrack */
		{ "ff 25 00 01 00 00", HWT_INSN_IJUMP, 0, NO, "jmp qword ptr [rip + 0x100]" },
		{ "41 ff d4", HWT_INSN_ICALL, 0, NO, "call r12" },
		{ "67 e3 fd", HWT_INSN_BRANCH, 1, 0x401000, NULL },
		{ "f3 c3", HWT_INSN_RETURN, 0, NO, NULL },
		{ "c2 08 00", HWT_INSN_RETURN, 0, NO, "ret 8" },
		{ "48 cb", HWT_INSN_FAR_RETURN, 0, NO, NULL },
		{ "48 cf", HWT_INSN_FAR_RETURN, 0, NO, "iretq" },
		{ "48 ff 2e", HWT_INSN_FAR_JUMP, 0, NO, NULL },
		{ "0f 05", HWT_INSN_FAR_CALL, 0, NO, "syscall" },
		{ "48 0f 07", HWT_INSN_FAR_RETURN, 0, NO, NULL },
		{ "cd 80", HWT_INSN_FAR_CALL, 0, NO, "int 0x80" },
		{ "f1", HWT_INSN_FAR_CALL, 0, NO, "int1" },
		{ "f4", HWT_INSN_OTHER, 0, NO, "hlt" },
		{ "0f 0b", HWT_INSN_OTHER, 0, NO, "ud2" },
		{ "c7 f8 00 00 00 00", HWT_INSN_OTHER, 0, NO, NULL },	/* XBEGIN */
		{ "c6 f8 01", HWT_INSN_OTHER, 0, NO, NULL },		/* XABORT */
		{ "f3 0f 1e fa", HWT_INSN_OTHER, 0, NO, "endbr64" },
		{ "f3 0f 01 ec", HWT_INSN_FAR_RETURN, 0, NO, "uiret" },
		{ "f3 0f 01 ca", HWT_INSN_FAR_RETURN, 0, NO, "eretu" },
		{ "f2 0f 01 ca", HWT_INSN_FAR_RETURN, 0, NO, "erets" },
		{ "0f 01 ca", HWT_INSN_OTHER, 0, NO, "clac" },
		{ "0f 01 e8", HWT_INSN_OTHER, 0, NO, "serialize" },
		{ "f3 0f c7 f0", HWT_INSN_OTHER, 0, NO, NULL },		/* SENDUIPI */
		{ "f3 48 0f ae e1", HWT_INSN_PTWRITE, 0, NO, "ptwrite rcx" },
		{ "f3 41 0f ae e1", HWT_INSN_PTWRITE, 0, NO, "ptwrite r9d" },
		{ "f3 48 0f ae 24 25 10 00 00 00", HWT_INSN_PTWRITE, 0, NO,
			"ptwrite qword ptr [0x10]" },
		{ "f3 0f ae 65 08", HWT_INSN_PTWRITE, 0, NO, "ptwrite dword ptr [rbp + 8]" },
		{ "66 0f ae 21", HWT_INSN_OTHER, 0, NO, NULL },
		{ "d5 00 a1 88 77 66 55 44 33 22 11", HWT_INSN_JUMP, 0, 0x1122334455667788,
			"jmpabs 0x1122334455667788" },
		{ "d5 11 ff d0", HWT_INSN_ICALL, 0, NO, NULL },		/* call r16 or above */
		{ "d5 80 af c1", HWT_INSN_OTHER, 0, NO, NULL },		/* imul, map 1 */
		{ "d5 88 c7 c8", HWT_INSN_OTHER, 0, NO, NULL },
		{ "62 f4 7c 18 81 c0 01 02 03 04", HWT_INSN_OTHER, 0, NO, NULL },
		{ "62 f4 7d 18 81 c0 01 02", HWT_INSN_OTHER, 0, NO, NULL },
		{ "62 f4 fc 18 f7 d8", HWT_INSN_OTHER, 0, NO, NULL },		/* NDD neg */
		{ "62 f4 fc 08 f7 c0 01 02 03 04", HWT_INSN_OTHER, 0, NO, NULL },	/* ctest */
		{ "c4 e7 7b f8 c0 01 02 03 04", HWT_INSN_OTHER, 0, NO, NULL },	/* URDMSR imm32 */
		{ "48 b8 01 02 03 04 05 06 07 08", HWT_INSN_OTHER, 0, NO, NULL },
		{ "66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", HWT_INSN_OTHER, 0, NO, NULL },
	};
	static const char *const bad[] = {
		"66 66 66 66 66 66 66 66 66 66 66 66 66 66 66 90", "06", "0f 04", "9a", "ea",
		"ff f8", "ff d8", "8d c0", "48 c5 f8 77", "f0 c5 f8 77",
	};

	RUN(t, HWT_ISA_X86_64);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		uint8_t b[32] = { 0 };
		struct hwt_insn in;

		bytes(bad[i], b);
		assert_int_equal(hwt_insn_decode(&in, HWT_ISA_X86_64, 0, b, 32), -HWT_E_PACKET);
	}
}

static void x86_old(void **state)
{
	static const struct vec t32[] = {
		{ "9a 01 02 03 04 05 06", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "66 ea 01 02 03 04", HWT_INSN_FAR_JUMP, 0, NO, NULL },
		{ "ce", HWT_INSN_FAR_CALL, 1, NO, NULL },
		{ "c4 00", HWT_INSN_OTHER, 0, NO, NULL },			/* LES */
		{ "c5 f8 77", HWT_INSN_OTHER, 0, NO, "vzeroupper" },
		{ "62 00", HWT_INSN_OTHER, 0, NO, NULL },			/* BOUND */
		{ "67 8b 46 10", HWT_INSN_OTHER, 0, NO, NULL },
		{ "66 e8 00 10", HWT_INSN_CALL, 0, 0x2004, NULL },
		{ "a1 01 02 03 04", HWT_INSN_OTHER, 0, NO, NULL },
		{ "40", HWT_INSN_OTHER, 0, NO, "inc eax" },
	};
	static const struct vec t16[] = {
		{ "e8 00 10", HWT_INSN_CALL, 0, 0x402003, NULL },
		{ "66 e8 00 10 00 00", HWT_INSN_CALL, 0, 0x402006, NULL },
		{ "8b 46 10", HWT_INSN_OTHER, 0, NO, NULL },
		{ "67 8b 44 24 10", HWT_INSN_OTHER, 0, NO, NULL },
		{ "ea 5b e0 00 f0", HWT_INSN_FAR_JUMP, 0, NO, NULL },
	};

	RUN(t32, HWT_ISA_X86_32);
	RUN(t16, HWT_ISA_X86_16);
}

static void a64(void **state)
{
	static const struct vec t[] = {
		{ "14000001", HWT_INSN_JUMP, 0, 0x401004, "b #0x401004" },
		{ "97ffffff", HWT_INSN_CALL, 0, 0x400ffc, "bl #0x400ffc" },
		{ "54000040", HWT_INSN_BRANCH, 1, 0x401008, NULL },
		{ "54000051", HWT_INSN_BRANCH, 1, 0x401008, "bc.ne 0x401008" },
		{ "b4ffffe0", HWT_INSN_BRANCH, 1, 0x400ffc, NULL },
		{ "b7080041", HWT_INSN_BRANCH, 1, 0x401008, NULL },
		{ "d61f0200", HWT_INSN_IJUMP, 0, NO, "br x16" },
		{ "d63f0200", HWT_INSN_ICALL, 0, NO, "blr x16" },
		{ "d65f03c0", HWT_INSN_RETURN, 0, NO, "ret" },
		{ "d65f0bff", HWT_INSN_RETURN, 0, NO, "retaa" },
		{ "d65f0fff", HWT_INSN_RETURN, 0, NO, "retab" },
		{ "d65f0be3", HWT_INSN_RETURN, 0, NO, "retaasppcr x3" },
		{ "5520003f", HWT_INSN_RETURN, 0, NO, "retabsppc 0x400ffc" },
		{ "d71f0a11", HWT_INSN_IJUMP, 0, NO, "braa x16, x17" },
		{ "d71f0e1f", HWT_INSN_IJUMP, 0, NO, "brab x16, sp" },
		{ "d61f0a1f", HWT_INSN_IJUMP, 0, NO, "braaz x16" },
		{ "d63f0d1f", HWT_INSN_ICALL, 0, NO, "blrabz x8" },
		{ "d73f0a11", HWT_INSN_ICALL, 0, NO, "blraa x16, x17" },
		{ "d69f03e0", HWT_INSN_FAR_RETURN, 0, NO, "eret" },
		{ "d69f0bff", HWT_INSN_FAR_RETURN, 0, NO, "eretaa" },
		{ "d6bf03e0", HWT_INSN_OTHER, 0, NO, NULL },		/* DRPS */
		{ "74020041", HWT_INSN_BRANCH, 1, 0x401008, "cbgt w1, w2, 0x401008" },
		{ "f4e23fe1", HWT_INSN_BRANCH, 1, 0x400ffc, "cbne x1, x2, 0x400ffc" },
		{ "74c28041", HWT_INSN_BRANCH, 1, 0x401008, "cbbeq w1, w2, 0x401008" },
		{ "7442c041", HWT_INSN_BRANCH, 1, 0x401008, "cbhhi w1, w2, 0x401008" },
		{ "f5e50041", HWT_INSN_BRANCH, 1, 0x401008, "cbne x1, #10, 0x401008" },
		{ "d4000001", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "d4000002", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "d4000003", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "d4200000", HWT_INSN_OTHER, 0, NO, NULL },		/* BRK */
		{ "d5033fdf", HWT_INSN_BARRIER, 0, NO, "isb" },
		{ "d503309f", HWT_INSN_BARRIER, 0, NO, NULL },
		{ "d503323f", HWT_INSN_BARRIER, 0, NO, NULL },		/* DSB OSHnXS */
		{ "d503207f", HWT_INSN_BARRIER, 0, NO, "wfi" },
		{ "d503205f", HWT_INSN_BARRIER, 0, NO, "wfe" },
		{ "d5031003", HWT_INSN_BARRIER, 0, NO, "wfet x3" },
		{ "d5031023", HWT_INSN_BARRIER, 0, NO, "wfit x3" },
		{ "d503201f", HWT_INSN_OTHER, 0, NO, "nop" },
		{ "d503233f", HWT_INSN_OTHER, 0, NO, "paciasp" },
		{ "d503245f", HWT_INSN_OTHER, 0, NO, "bti c" },
		{ "b8e00041", HWT_INSN_OTHER, 0, NO, "ldaddal w0, w1, [x2]" },
		{ "f8208041", HWT_INSN_OTHER, 0, NO, "swp x0, x1, [x2]" },
		{ "38bfc041", HWT_INSN_OTHER, 0, NO, "ldaprb w1, [x2]" },
		{ "c8e0fc41", HWT_INSN_OTHER, 0, NO, "casal x0, x1, [x2]" },
	};

	RUN(t, HWT_ISA_A64);
}

static void arm(void **state)
{
	static const struct vec a[] = {
		{ "eafffffe", HWT_INSN_JUMP, 0, 0x401000, "b #0x401000" },
		{ "0afffffe", HWT_INSN_BRANCH, 1, 0x401000, NULL },
		{ "1bfffffe", HWT_INSN_CALL, 1, 0x401000, NULL },
		{ "fb000000", HWT_INSN_CALL, 0, 0x40100a, NULL },
		{ "e12fff1e", HWT_INSN_RETURN, 0, NO, "bx lr" },
		{ "012fff13", HWT_INSN_IJUMP, 1, NO, NULL },
		{ "e12fff33", HWT_INSN_ICALL, 0, NO, "blx r3" },
		{ "e8bd8010", HWT_INSN_RETURN, 0, NO, "pop {r4, pc}" },
		{ "e8fd8010", HWT_INSN_FAR_RETURN, 0, NO, NULL },
		{ "e89da800", HWT_INSN_RETURN, 0, NO, NULL },
		{ "e49df004", HWT_INSN_RETURN, 0, NO, NULL },
		{ "e51ff004", HWT_INSN_IJUMP, 0, NO, NULL },
		{ "e79ff102", HWT_INSN_IJUMP, 0, NO, NULL },
		{ "e1a0f00e", HWT_INSN_RETURN, 0, NO, "mov pc, lr" },
		{ "e08ff001", HWT_INSN_IJUMP, 0, NO, NULL },
		{ "e25ef004", HWT_INSN_FAR_RETURN, 0, NO, "subs pc, lr, #4" },
		{ "ef000000", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "e1600070", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "e160006e", HWT_INSN_FAR_RETURN, 0, NO, NULL },
		{ "f57ff06f", HWT_INSN_BARRIER, 0, NO, NULL },
		{ "ee070f95", HWT_INSN_BARRIER, 0, NO, NULL },
		{ "e320f003", HWT_INSN_BARRIER, 0, NO, "wfi" },
		{ "e15f0000", HWT_INSN_OTHER, 0, NO, NULL },	/* CMP pc: its Rd field is 0 */
		{ "e00f0f91", HWT_INSN_OTHER, 0, NO, NULL },	/* MUL with 15 in another field */
	};
	static const struct vec t[] = {
		{ "d0fe", HWT_INSN_BRANCH, 1, 0x401000, NULL },
		{ "e7fe", HWT_INSN_JUMP, 0, 0x401000, NULL },
		{ "b90b", HWT_INSN_BRANCH, 1, 0x401006, NULL },
		{ "4770", HWT_INSN_RETURN, 0, NO, "bx lr" },
		{ "4774", HWT_INSN_RETURN, 0, NO, NULL },		/* BXNS lr */
		{ "4798", HWT_INSN_ICALL, 0, NO, "blx r3" },
		{ "bd10", HWT_INSN_RETURN, 0, NO, "pop {r4, pc}" },
		{ "46f7", HWT_INSN_RETURN, 0, NO, "mov pc, lr" },
		{ "4487", HWT_INSN_IJUMP, 0, NO, NULL },
		{ "df00", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "bf30", HWT_INSN_BARRIER, 0, NO, "wfi" },
		{ "f7fffffe", HWT_INSN_CALL, 0, 0x401000, NULL },
		{ "f7ffeffe", HWT_INSN_CALL, 0, 0x401000, NULL },
		{ "f7ffbffe", HWT_INSN_JUMP, 0, 0x401000, NULL },
		{ "f43faffe", HWT_INSN_BRANCH, 1, 0x401000, NULL },
		{ "e8dff001", HWT_INSN_IJUMP, 0, NO, NULL },		/* TBB */
		{ "e8bd8010", HWT_INSN_RETURN, 0, NO, NULL },
		{ "f85dfb04", HWT_INSN_RETURN, 0, NO, NULL },
		{ "f8dff004", HWT_INSN_IJUMP, 0, NO, NULL },
		{ "f3de8f04", HWT_INSN_FAR_RETURN, 0, NO, NULL },
		{ "e99dc000", HWT_INSN_FAR_RETURN, 0, NO, NULL },
		{ "f7f08000", HWT_INSN_FAR_CALL, 0, NO, NULL },
		{ "f3bf8f6f", HWT_INSN_BARRIER, 0, NO, NULL },
		{ "f00fc003", HWT_INSN_BRANCH, 1, 0x401000, "le lr, 0x401000" },
		{ "f02fc003", HWT_INSN_JUMP, 0, 0x401000, "le 0x401000" },
		{ "f01fc803", HWT_INSN_BRANCH, 1, 0x400ffe, "letp lr, 0x400ffe" },
		{ "f043c805", HWT_INSN_BRANCH, 1, 0x40100e, "wls lr, r3, 0x40100e" },
		{ "f023c003", HWT_INSN_BRANCH, 1, 0x401008, "wlstp.32 lr, r3, 0x401008" },
		{ "f043e001", HWT_INSN_OTHER, 0, NO, "dls lr, r3" },
		{ "f00fe001", HWT_INSN_OTHER, 0, NO, "lctp" },
		{ "f100e001", HWT_INSN_OTHER, 0, NO, NULL },		/* BF */
	};

	RUN(a, HWT_ISA_A32);
	RUN(t, HWT_ISA_T32);
}

static void raw(void **state)
{
	static const struct { unsigned isa; const char *hex, *text; } t[] = {
		{ HWT_ISA_X86_64, "06", ".byte 0x06" },
		{ HWT_ISA_X86_64, "d5 80 af c1", ".byte 0xd5, 0x80, 0xaf, 0xc1" },
		{ HWT_ISA_A64, "00 00 00 00", ".word 0x00000000" },
		{ HWT_ISA_T32, "ff de", NULL },
	};
	struct hwt_disasm *d;
	char text[64], one[1];
	uint8_t b[16];

	assert_int_equal(hwt_disasm_new(&d), 0);
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		size_t n = bytes(t[i].hex, b);

		assert_int_equal(hwt_disasm_text(d, t[i].isa, 0, b, n, text, sizeof(text)), 0);
		if (t[i].text)
			assert_string_equal(text, t[i].text);
	}
	assert_int_equal(hwt_disasm_text(d, HWT_ISA_UNKNOWN, 0, b, 1, text, 64), -22);
	assert_int_equal(hwt_disasm_text(d, 99, 0, b, 1, text, 64), -22);
	assert_int_equal(hwt_disasm_text(d, HWT_ISA_A64, 0, b, 0, one, 1), 0);
	assert_string_equal(one, "");
	hwt_disasm_free(d);
	hwt_disasm_free(NULL);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(x86_64), cmocka_unit_test(x86_old), cmocka_unit_test(a64),
		cmocka_unit_test(arm), cmocka_unit_test(raw),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
