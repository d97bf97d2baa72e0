/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Classic BPF by hand: what may run on records, and what it does. Codes are those of the kernel's
 * Documentation/networking/filter.rst.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/filter.h>

#define LD_ABS	0x20
#define LD_IMM	0x00
#define LD_MEM	0x60
#define LDX_IMM	0x01
#define LDX_MEM	0x61
#define ST	0x02
#define STX	0x03
#define ADD_K	0x04
#define OR_X	0x4c
#define AND_K	0x54
#define AND_X	0x5c
#define LSH_K	0x64
#define RSH_K	0x74
#define XOR_K	0xa4
#define JA	0x05
#define JEQ	0x15
#define JGT	0x25
#define JGE	0x35
#define JSET	0x45
#define RET_K	0x06
#define RET_A	0x16
#define TAX	0x07
#define TXA	0x87

#define N(v) (sizeof(v) / sizeof((v)[0]))

static void refused(void **state)
{
	static const struct hwt_bpf_insn bad[][4] = {
		{ { LD_ABS, 0, 0, 2 }, { RET_K, 0, 0, 0 } },	/* not aligned */
		{ { LD_ABS, 0, 0, 64 }, { RET_K, 0, 0, 0 } },	/* outside of 64 bytes */
		{ { LD_ABS, 0, 0, 0xfffffffc }, { RET_K, 0, 0, 0 } },
		{ { LD_ABS, 0, 0, 0xfffff000 }, { RET_K, 0, 0, 0 } },	/* protocol */
		{ { 0x28, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* half a word */
		{ { 0x30, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* a byte */
		{ { 0x40, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* at X */
		{ { 0x80, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* length */
		{ { 0xb1, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* IP header */
		{ { LD_MEM, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* never written */
		{ { ST, 0, 0, 16 }, { RET_K, 0, 0, 0 } },	/* no such word */
		{ { LSH_K, 0, 0, 32 }, { RET_K, 0, 0, 0 } },
		{ { 0x34, 0, 0, 2 }, { RET_K, 0, 0, 0 } },	/* division */
		{ { 0x3c, 0, 0, 0 }, { RET_K, 0, 0, 0 } },
		{ { JA, 0, 0, 1 }, { RET_K, 0, 0, 0 } },	/* behind the end */
		{ { JA, 0, 0, 0xffffffff }, { RET_K, 0, 0, 0 } },	/* backward */
		{ { JEQ, 1, 0, 0 }, { RET_K, 0, 0, 0 } },
		{ { JEQ, 0, 1, 0 }, { RET_K, 0, 0, 0 } },
		{ { 0x1d, 0, 0, 0 }, { RET_K, 0, 0, 0 } },	/* compare with X */
		{ { RET_A, 0, 0, 0 }, { RET_K, 0, 0, 0 } },
		{ { RET_K, 0, 0, 0 }, { LD_IMM, 0, 0, 0 } },	/* no return at the end */
		{ { 0xffff, 0, 0, 0 }, { RET_K, 0, 0, 0 } },
	};
	/* the second word is written on one of two ways only */
	static const struct hwt_bpf_insn way[] = {
		{ LD_ABS, 0, 0, 0 }, { JEQ, 0, 1, 7 }, { ST, 0, 0, 2 }, { LDX_MEM, 0, 0, 2 },
		{ RET_K, 0, 0, 1 },
	};
	static const struct hwt_bpf_insn both[] = {
		{ LD_ABS, 0, 0, 60 }, { JEQ, 0, 2, 7 }, { ST, 0, 0, 2 }, { JA, 0, 0, 1 },
		{ STX, 0, 0, 2 }, { LDX_MEM, 0, 0, 2 }, { RET_K, 0, 0, 1 },
	};
	static struct hwt_bpf_insn many[HWT_BPF_MAX + 1];

	for (unsigned i = 0; i < N(bad); i++)
		if (!hwt_bpf_check(bad[i], 2, 64))
			fail_msg("program %u is taken", i);
	assert_int_not_equal(hwt_bpf_check(way, N(way), 64), 0);
	assert_int_equal(hwt_bpf_check(both, N(both), 64), 0);
	assert_int_not_equal(hwt_bpf_check(both, N(both), 60), 0);
	assert_int_not_equal(hwt_bpf_check(both, N(both), 3), 0);
	assert_int_not_equal(hwt_bpf_check(both, 0, 64), 0);
	for (unsigned i = 0; i <= HWT_BPF_MAX; i++)
		many[i].code = RET_K;
	assert_int_equal(hwt_bpf_check(many, HWT_BPF_MAX, 64), 0);
	assert_int_not_equal(hwt_bpf_check(many, HWT_BPF_MAX + 1, 64), 0);
}

/* One instruction between loading 0x80000001 or @x and returning whether A is @want. */
static void is(struct hwt_bpf_insn i, uint32_t x, uint32_t want)
{
	struct hwt_bpf_insn v[] = {
		{ LD_IMM, 0, 0, x }, { TAX, 0, 0, 0 }, { LD_ABS, 0, 0, 4 }, i,
		{ JEQ, 0, 1, want }, { RET_K, 0, 0, 1 }, { RET_K, 0, 0, 0 },
	};
	uint32_t rec[2] = { 5, 0x80000001 };

	assert_int_equal(hwt_bpf_check(v, N(v), sizeof(rec)), 0);
	assert_int_equal(hwt_bpf_run(v, N(v), rec, sizeof(rec), 3), 1);
	/* a record that is shorter than the program was checked for */
	assert_int_equal(hwt_bpf_run(v, N(v), rec, 4, 3), 0);
	assert_int_equal(hwt_bpf_run(v, N(v), rec, 0, 3), 0);
}

static void runs(void **state)
{
	is((struct hwt_bpf_insn){ LD_ABS, 0, 0, 0 }, 0, 5);
	is((struct hwt_bpf_insn){ LD_ABS, 0, 0, HWT_BPF_CPU }, 0, 3);
	is((struct hwt_bpf_insn){ LD_IMM, 0, 0, 77 }, 0, 77);
	is((struct hwt_bpf_insn){ ADD_K, 0, 0, 0x80000000 }, 0, 1);
	is((struct hwt_bpf_insn){ XOR_K, 0, 0, 0x80000000 }, 0, 1);
	is((struct hwt_bpf_insn){ AND_K, 0, 0, 0xff }, 0, 1);
	is((struct hwt_bpf_insn){ AND_X, 0, 0, 0 }, 0xf0000000, 0x80000000);
	is((struct hwt_bpf_insn){ OR_X, 0, 0, 0 }, 6, 0x80000007);
	is((struct hwt_bpf_insn){ LSH_K, 0, 0, 1 }, 0, 2);
	is((struct hwt_bpf_insn){ RSH_K, 0, 0, 31 }, 0, 1);
	is((struct hwt_bpf_insn){ TXA, 0, 0, 0 }, 99, 99);
	is((struct hwt_bpf_insn){ LDX_IMM, 0, 0, 1 }, 99, 0x80000001);
}

static void jumps(void **state)
{
	static const struct { uint16_t code; uint32_t a, k; int want; } t[] = {
		{ JEQ, 5, 5, 1 }, { JEQ, 5, 4, 0 }, { JGT, 5, 4, 1 }, { JGT, 5, 5, 0 },
		{ JGE, 5, 5, 1 }, { JGE, 5, 6, 0 }, { JSET, 6, 4, 1 }, { JSET, 6, 9, 0 },
		{ JGT, 0x80000000, 1, 1 },	/* no signs */
	};
	uint32_t rec[2] = { 0 };

	for (unsigned i = 0; i < N(t); i++) {
		struct hwt_bpf_insn v[] = {
			{ LD_IMM, 0, 0, t[i].a }, { ST, 0, 0, 15 }, { LD_IMM, 0, 0, 0 },
			{ LD_MEM, 0, 0, 15 }, { t[i].code, 1, 0, t[i].k }, { RET_K, 0, 0, 0 },
			{ JA, 0, 0, 1 }, { RET_K, 0, 0, 0 }, { RET_K, 0, 0, 1 },
		};

		assert_int_equal(hwt_bpf_check(v, N(v), 8), 0);
		assert_int_equal(hwt_bpf_run(v, N(v), rec, 8, -1), t[i].want);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(refused),
		cmocka_unit_test(runs),
		cmocka_unit_test(jumps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
