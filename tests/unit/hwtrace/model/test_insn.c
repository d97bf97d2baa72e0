/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The model's classes of instructions: hand-assembled ones, and many against the decoders' own
 * tables, which share nothing with it. Blocks made of single instructions.
 */
#include <link.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/image.h>

#include "hwtrace/model/insn.h"
#include "tests/support/rnd.h"

#define AT	0x401000u
#define NO	MODEL_NO_ADDR

/* Bytes in memory order. */
struct vec { unsigned isa; const char *hex; uint8_t kind, cond; uint64_t target; uint8_t rep; };

static const struct vec vecs[] = {
	{ MODEL_X86_64, "90", MODEL_PLAIN, 0, NO, 0 },
	{ MODEL_X86_64, "7405", MODEL_JUMP, 1, AT + 7, 0 },
	{ MODEL_X86_64, "0f84fbffffff", MODEL_JUMP, 1, AT + 1, 0 },
	{ MODEL_X86_64, "660f84fbffffff", MODEL_JUMP, 1, AT + 2, 0 },	/* prefix ignored */
	{ MODEL_X86_64, "66e9f0000000", MODEL_JUMP, 0, AT + 0xf6, 0 },
	{ MODEL_X86_64, "e3fe", MODEL_JUMP, 1, AT, 0 },			/* JRCXZ */
	{ MODEL_X86_64, "67e3fd", MODEL_JUMP, 1, AT, 0 },		/* JECXZ */
	{ MODEL_X86_64, "e2fe", MODEL_JUMP, 1, AT, 0 },			/* LOOP */
	{ MODEL_X86_64, "e800000000", MODEL_CALL, 0, AT + 5, 0 },
	{ MODEL_X86_64, "ff10", MODEL_ICALL, 0, NO, 0 },
	{ MODEL_X86_64, "3effe0", MODEL_IJUMP, 0, NO, 0 },		/* NOTRACK JMP RAX */
	{ MODEL_X86_64, "c3", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_X86_64, "f3c3", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_X86_64, "c21000", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_X86_64, "cb", MODEL_FAR_RETURN, 0, NO, 0 },
	{ MODEL_X86_64, "48cf", MODEL_FAR_RETURN, 0, NO, 0 },		/* IRETQ */
	{ MODEL_X86_64, "480f07", MODEL_FAR_RETURN, 0, NO, 0 },		/* SYSRETQ */
	{ MODEL_X86_64, "ff28", MODEL_FAR, 0, NO, 0 },			/* far JMP [RAX] */
	{ MODEL_X86_64, "ff18", MODEL_FAR, 0, NO, 0 },
	{ MODEL_X86_64, "0f05", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_X86_64, "cc", MODEL_INT, 0, NO, 0 },
	{ MODEL_X86_64, "cd80", MODEL_INT, 0, NO, 0 },
	{ MODEL_X86_64, "f4", MODEL_WAIT, 0, NO, 0 },
	{ MODEL_X86_64, "f3a4", MODEL_PLAIN, 0, NO, 1 },		/* REP MOVSB */
	{ MODEL_X86_64, "f348ab", MODEL_PLAIN, 0, NO, 1 },
	{ MODEL_X86_64, "f2ae", MODEL_PLAIN, 0, NO, 1 },
	{ MODEL_X86_64, "a4", MODEL_PLAIN, 0, NO, 0 },
	{ MODEL_X86_64, "f3480fae20", MODEL_PTWRITE, 0, NO, 0 },
	{ MODEL_X86_64, "f30faee1", MODEL_PTWRITE, 0, NO, 0 },
	{ MODEL_X86_64, "0fae20", MODEL_PLAIN, 0, NO, 0 },		/* XSAVE */
	{ MODEL_X86_64, "f30f1efa", MODEL_PLAIN, 0, NO, 0 },		/* ENDBR64 */
	{ MODEL_X86_64, "62f17c48100424", MODEL_PLAIN, 0, NO, 0 },	/* EVEX VMOVUPS [RSP] */
	{ MODEL_X86_64, "62f3fd48020c2501020304ff", MODEL_PLAIN, 0, NO, 0 },
	{ MODEL_X86_32, "e8fbffffff", MODEL_CALL, 0, AT, 0 },
	{ MODEL_X86_32, "ea000000003300", MODEL_FAR, 0, NO, 0 },
	{ MODEL_X86_32, "0f34", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_A64, "1f2003d5", MODEL_PLAIN, 0, NO, 0 },
	{ MODEL_A64, "02000014", MODEL_JUMP, 0, AT + 8, 0 },
	{ MODEL_A64, "ffffff97", MODEL_CALL, 0, AT - 4, 0 },
	{ MODEL_A64, "40000054", MODEL_JUMP, 1, AT + 8, 0 },
	{ MODEL_A64, "50000054", MODEL_JUMP, 1, AT + 8, 0 },		/* BC.EQ */
	{ MODEL_A64, "400000b4", MODEL_JUMP, 1, AT + 8, 0 },
	{ MODEL_A64, "41000836", MODEL_JUMP, 1, AT + 8, 0 },
	{ MODEL_A64, "00021fd6", MODEL_IJUMP, 0, NO, 0 },
	{ MODEL_A64, "00023fd6", MODEL_ICALL, 0, NO, 0 },
	{ MODEL_A64, "110a1fd7", MODEL_IJUMP, 0, NO, 0 },		/* BRAA X16, X17 */
	{ MODEL_A64, "1f081fd6", MODEL_IJUMP, 0, NO, 0 },		/* BRAAZ X0 */
	{ MODEL_A64, "110e3fd7", MODEL_ICALL, 0, NO, 0 },		/* BLRAB X16, X17 */
	{ MODEL_A64, "c0035fd6", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_A64, "ff0b5fd6", MODEL_RETURN, 0, NO, 0 },		/* RETAA */
	{ MODEL_A64, "ff0f5fd6", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_A64, "e0039fd6", MODEL_FAR_RETURN, 0, NO, 0 },		/* ERET */
	{ MODEL_A64, "ff0f9fd6", MODEL_FAR_RETURN, 0, NO, 0 },		/* ERETAB */
	{ MODEL_A64, "010000d4", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_A64, "020000d4", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_A64, "030000d4", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_A64, "df3f03d5", MODEL_BARRIER, 0, NO, 0 },
	{ MODEL_A64, "9f3f03d5", MODEL_PLAIN, 0, NO, 0 },		/* DSB */
	{ MODEL_A64, "7f2003d5", MODEL_WAIT, 0, NO, 0 },
	{ MODEL_A64, "5f2403d5", MODEL_PLAIN, 0, NO, 0 },		/* BTI C */
	{ MODEL_A32, "feffffea", MODEL_JUMP, 0, AT, 0 },
	{ MODEL_A32, "feffff0a", MODEL_JUMP, 1, AT, 0 },
	{ MODEL_A32, "feffffeb", MODEL_CALL, 0, AT, 0 },
	{ MODEL_A32, "fefffffb", MODEL_CALL, 0, AT + 2, 0 },		/* BLX, H = 1 */
	{ MODEL_A32, "1eff2fe1", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_A32, "1eff2f01", MODEL_RETURN, 1, NO, 0 },
	{ MODEL_A32, "33ff2fe1", MODEL_ICALL, 0, NO, 0 },
	{ MODEL_A32, "0080bde8", MODEL_RETURN, 0, NO, 0 },		/* LDM SP!, {PC} */
	{ MODEL_A32, "04f09de4", MODEL_RETURN, 0, NO, 0 },		/* LDR PC, [SP], #4 */
	{ MODEL_A32, "04f01fe5", MODEL_IJUMP, 0, NO, 0 },		/* LDR PC, [PC, #-4] */
	{ MODEL_A32, "00f08fe0", MODEL_IJUMP, 0, NO, 0 },		/* ADD PC, PC, R0 */
	{ MODEL_A32, "0ef0a0e1", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_A32, "04f05ee2", MODEL_FAR_RETURN, 0, NO, 0 },		/* SUBS PC, LR, #4 */
	{ MODEL_A32, "0000a003", MODEL_PLAIN, 1, NO, 0 },		/* MOVEQ R0, #0 */
	{ MODEL_A32, "000000ef", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_T32, "fee7", MODEL_JUMP, 0, AT, 0 },
	{ MODEL_T32, "fed0", MODEL_JUMP, 1, AT, 0 },
	{ MODEL_T32, "fff7feff", MODEL_CALL, 0, AT, 0 },
	{ MODEL_T32, "fff7feef", MODEL_CALL, 0, AT, 0 },		/* BLX */
	{ MODEL_T32, "3ff4feaf", MODEL_JUMP, 1, AT, 0 },		/* BEQ.W */
	{ MODEL_T32, "10b1", MODEL_JUMP, 1, AT + 8, 0 },		/* CBZ R0 */
	{ MODEL_T32, "7047", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_T32, "1847", MODEL_IJUMP, 0, NO, 0 },
	{ MODEL_T32, "9847", MODEL_ICALL, 0, NO, 0 },
	{ MODEL_T32, "00bd", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_T32, "bde80080", MODEL_RETURN, 0, NO, 0 },
	{ MODEL_T32, "5df804fb", MODEL_RETURN, 0, NO, 0 },		/* LDR PC, [SP], #4 */
	{ MODEL_T32, "dff804f0", MODEL_IJUMP, 0, NO, 0 },		/* LDR PC, [PC, #4] */
	{ MODEL_T32, "dfe800f0", MODEL_IJUMP, 0, NO, 0 },		/* TBB [PC, R0] */
	{ MODEL_T32, "dfe810f0", MODEL_IJUMP, 0, NO, 0 },		/* TBH */
	{ MODEL_T32, "9f46", MODEL_IJUMP, 0, NO, 0 },			/* MOV PC, R3 */
	{ MODEL_T32, "f746", MODEL_RETURN, 0, NO, 0 },			/* MOV PC, LR */
	{ MODEL_T32, "00df", MODEL_SYSCALL, 0, NO, 0 },
	{ MODEL_T32, "def3008f", MODEL_FAR_RETURN, 0, NO, 0 },		/* ERET */
	{ MODEL_T32, "bff36f8f", MODEL_BARRIER, 0, NO, 0 },
	{ MODEL_T32, "30bf", MODEL_WAIT, 0, NO, 0 },			/* WFI */
	{ MODEL_T32, "08bf", MODEL_PLAIN, 0, NO, 0 },			/* IT EQ */
};

static size_t bytes(const char *hex, uint8_t *out)
{
	size_t n = 0;
	unsigned v;
	int used;

	for (; sscanf(hex, "%2x%n", &v, &used) == 1; hex += used)
		out[n++] = (uint8_t)v;
	return n;
}

static void test_vectors(void **state)
{
	struct model_insns *m;

	assert_int_equal(model_insns_new(&m), 0);
	for (size_t i = 0; i < sizeof(vecs) / sizeof(vecs[0]); i++) {
		const struct vec *v = &vecs[i];
		uint8_t b[16] = { 0 };
		size_t n = bytes(v->hex, b);
		struct model_insn in;

		if (model_insn_get(m, v->isa, AT, b, 15, NULL, &in))
			fail_msg("%s: not known", v->hex);
		if (in.size != n || in.kind != v->kind || in.cond != v->cond ||
		    in.target != v->target || in.rep != v->rep)
			fail_msg("%s: size %u kind %u cond %u target %llx rep %u", v->hex, in.size,
				 in.kind, in.cond, (unsigned long long)in.target, in.rep);
		/* what does not hold the instruction is not read past its end */
		for (size_t k = 0; k < n; k++) {
			int err = model_insn_get(m, v->isa, AT, b, k, NULL, &in);

			if (err != -HWT_E_MORE && !(v->isa <= MODEL_X86_32 && !err && in.size <= k))
				fail_msg("%s cut to %zu: %d", v->hex, k, err);
		}
	}
	model_insns_free(m);
}

/* IT EQ has no else; ITTE NE: two instructions if NE, one if EQ. */
static void test_it(void **state)
{
	static const uint16_t code[] = { 0xbf1a, 0x2000, 0x4770, 0x2001, 0x4770 };
	static const uint8_t cond[] = { 0, 1, 1, 1, 0 };
	struct model_insns *m;
	uint8_t it = 0;

	assert_int_equal(model_insns_new(&m), 0);
	for (int k = 0; k < 2; k++) {
		for (size_t i = 0; i < 5; i++) {
			struct model_insn in;

			assert_int_equal(model_insn_get(m, MODEL_T32, AT + 2 * i, &code[i], 2, &it,
							&in), 0);
			assert_int_equal(in.size, 2);
			assert_int_equal(in.cond, cond[i]);
			assert_int_equal(in.kind, code[i] == 0x4770 ? MODEL_RETURN : MODEL_PLAIN);
		}
	}
	model_insns_free(m);
}

static unsigned kind_of(const struct model_insn *in)
{
	static const uint8_t t[] = {
		[MODEL_PLAIN] = HWT_INSN_OTHER, [MODEL_JUMP] = HWT_INSN_JUMP,
		[MODEL_CALL] = HWT_INSN_CALL, [MODEL_IJUMP] = HWT_INSN_IJUMP,
		[MODEL_ICALL] = HWT_INSN_ICALL, [MODEL_RETURN] = HWT_INSN_RETURN,
		[MODEL_SYSCALL] = HWT_INSN_FAR_CALL, [MODEL_FAR_RETURN] = HWT_INSN_FAR_RETURN,
		[MODEL_FAR] = HWT_INSN_FAR_JUMP, [MODEL_BARRIER] = HWT_INSN_BARRIER,
		[MODEL_WAIT] = HWT_INSN_BARRIER, [MODEL_PTWRITE] = HWT_INSN_PTWRITE,
		[MODEL_INT] = HWT_INSN_FAR_CALL
	};

	return in->kind == MODEL_JUMP && in->cond ? HWT_INSN_BRANCH : t[in->kind];
}

/* True if both mean the same for the flow; the model has no DSB and DMB, and HLT is a wait. */
static int agree(unsigned isa, const struct hwt_insn *h, const struct model_insn *in)
{
	unsigned k = kind_of(in);

	if (h->size != in->size || (h->target != in->target && h->kind != HWT_INSN_FAR_CALL))
		return 0;
	if (h->kind == k && (k == HWT_INSN_OTHER || h->cond == in->cond))
		return 1;
	if (h->kind == HWT_INSN_BARRIER && in->kind == MODEL_PLAIN && isa >= MODEL_A64)
		return 1;
	if (isa <= MODEL_X86_32)
		return (h->kind == HWT_INSN_OTHER && in->kind == MODEL_WAIT) ||
			(h->kind == HWT_INSN_FAR_CALL && in->kind == MODEL_FAR);
	return 0;
}

static void differ(unsigned isa, const uint8_t *p, const struct hwt_insn *h,
		   const struct model_insn *in)
{
	fail_msg("isa %u %02x %02x %02x %02x: size %u %u kind %u %u cond %u %u target %llx %llx",
		 isa, p[0], p[1], p[2], p[3], h->size, in->size, h->kind, kind_of(in), h->cond,
		 in->cond, (unsigned long long)h->target, (unsigned long long)in->target);
}

/* Newer than QEMU and capstone: compare-and-branch, and returns with the PC as modifier. */
static int a64_newer(uint32_t w)
{
	return (w & 0x7c000000) == 0x74000000 || w >> 24 == 0x55;
}

static void test_a64_against_tables(void **state)
{
	struct model_insns *m;
	unsigned branches = 0;

	assert_int_equal(model_insns_new(&m), 0);
	for (int i = 0; i < 400000; i++) {
		uint32_t w = (uint32_t)rnd();
		struct model_insn in;
		struct hwt_insn h;

		if (i & 1)	/* the group of branches, exceptions and system instructions */
			w = (w & ~0x1c000000u) | 0x14000000;
		if (w >> 25 == 0x6b)	/* register branches, reserved fields zero */
			w &= ~0xfc1fu;
		if (a64_newer(w) || hwt_insn_decode(&h, HWT_ISA_A64, AT, &w, 4))
			continue;
		assert_int_equal(model_insn_get(m, MODEL_A64, AT, &w, 4, NULL, &in), 0);
		if (!agree(MODEL_A64, &h, &in))
			differ(MODEL_A64, (uint8_t *)&w, &h, &in);
		branches += h.kind != HWT_INSN_OTHER;
	}
	model_insns_free(m);
	assert_true(branches > 100000);
}

#ifdef __x86_64__
struct sweep { struct model_insns *m; uint64_t insns, branches; };

static int one_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct sweep *s = arg;

	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		const uint8_t *p = (const uint8_t *)(info->dlpi_addr + ph->p_vaddr);
		size_t left = ph->p_filesz < 2000000 ? ph->p_filesz : 2000000;

		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X) || *info->dlpi_name != '/')
			continue;
		while (left >= 15) {
			struct model_insn in;
			struct hwt_insn h;

			if (hwt_insn_decode(&h, HWT_ISA_X86_64, AT, p, left)) {
				p++;
				left--;
				continue;
			}
			if (!model_insn_get(s->m, MODEL_X86_64, AT, p, left, NULL, &in) &&
			    !agree(MODEL_X86_64, &h, &in))
				differ(MODEL_X86_64, p, &h, &in);
			s->branches += h.kind != HWT_INSN_OTHER;
			s->insns++;
			p += h.size;
			left -= h.size;
		}
	}
	return 0;
}

/* The code of the libraries of this process: what compilers and hands wrote. */
static void test_x86_against_tables(void **state)
{
	struct sweep s = { 0 };

	assert_int_equal(model_insns_new(&s.m), 0);
	dl_iterate_phdr(one_object, &s);
	model_insns_free(s.m);
	assert_true(s.insns > 100000 && s.branches > 10000);
}
#endif

static struct model_event ev;

/* Runs @n bytes at @addr as one instruction; the event that came, or NULL. */
static struct model_event *ran(struct model_walk *w, uint64_t addr, const char *hex, uint64_t tick)
{
	uint8_t b[16];
	size_t n = bytes(hex, b);
	int r = model_walk_insn(w, MODEL_X86_64, addr, b, n, tick, &ev);

	assert_true(r >= 0);
	return r ? &ev : NULL;
}

static void test_walk(void **state)
{
	static struct model_walk w;
	const struct model_block *first;
	const uint8_t *p;
	size_t n;

	assert_int_equal(model_blocks_new(&w.blocks), 0);
	assert_null(ran(&w, 0x1000, "90", 10));
	assert_null(ran(&w, 0x1001, "f3a4", 11));	/* three iterations are one instruction */
	assert_null(ran(&w, 0x1001, "f3a4", 12));
	assert_null(ran(&w, 0x1001, "f3a4", 13));
	assert_null(ran(&w, 0x1003, "74fb", 14));
	assert_non_null(ran(&w, 0x1000, "90", 15));	/* taken */
	assert_true(ev.op == MODEL_RUN && ev.taken && ev.insns == 3 && ev.tick == 14);
	assert_true(ev.to == 0x1000 && ev.block->first == 0x1000 && ev.block->last == 0x1003);
	assert_true(ev.block->kind == MODEL_JUMP && ev.block->cond && ev.block->last_size == 2);
	assert_int_equal(ev.block->target, 0x1000);
	first = ev.block;
	p = model_block_bytes(first, &n);
	assert_true(n == 5 && !memcmp(p, "\x90\xf3\xa4\x74\xfb", 5));
	assert_null(ran(&w, 0x1001, "f3a4", 16));
	assert_null(ran(&w, 0x1003, "74fb", 17));
	assert_non_null(ran(&w, 0x1005, "90", 18));	/* not taken, the same block */
	assert_true(ev.block == first && !ev.taken && ev.to == 0x1005);
	/* a handler: what waits is told first, then the recorder's own event */
	assert_int_equal(model_walk_flush(&w, 0x9000, &ev), 1);
	assert_true(ev.insns == 1 && ev.block->kind == MODEL_PLAIN && !ev.taken && ev.tick == 18);
	assert_int_equal(model_walk_flush(&w, 0x9000, &ev), 0);
	/* code that changed is another block */
	assert_null(ran(&w, 0x1000, "90", 20));
	assert_null(ran(&w, 0x1001, "f3a4", 21));
	assert_null(ran(&w, 0x1003, "75fb", 22));
	assert_int_equal(model_walk_flush(&w, MODEL_NO_ADDR, &ev), 1);
	assert_true(ev.block != first && ev.block->first == 0x1000);
	assert_ptr_equal(model_blocks_at(w.blocks, 0), first);
	assert_null(model_blocks_at(w.blocks, 3));
	/* a long run is cut into blocks that hold all of it */
	for (unsigned i = 0, sum = 0; i < 600; i++) {
		if (ran(&w, 0x2000 + i, "90", 30 + i))
			sum += ev.insns;
		if (i == 599) {
			assert_int_equal(model_walk_flush(&w, MODEL_NO_ADDR, &ev), 1);
			assert_int_equal(sum + ev.insns, 600);
		}
	}
	model_blocks_free(w.blocks);
}

/* More blocks than the table starts with; each is found again. */
static void test_many_blocks(void **state)
{
	static struct model_walk w;
	enum { N = 20000 };

	memset(&w, 0, sizeof(w));
	assert_int_equal(model_blocks_new(&w.blocks), 0);
	for (uint64_t i = 0; i < 2 * N; i++) {
		uint64_t addr = 0x100000 + i % N * 16;

		if (ran(&w, addr, "c3", i))
			assert_ptr_equal(ev.block, model_blocks_at(w.blocks, (i - 1) % N));
	}
	assert_non_null(model_blocks_at(w.blocks, N - 1));
	assert_null(model_blocks_at(w.blocks, N));
	model_blocks_free(w.blocks);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_it),
		cmocka_unit_test(test_a64_against_tables),
#ifdef __x86_64__
		cmocka_unit_test(test_x86_against_tables),
#endif
		cmocka_unit_test(test_walk),
		cmocka_unit_test(test_many_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
