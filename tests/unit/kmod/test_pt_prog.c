/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Intel PT is programmed against a model of its registers. The truth: rules of the manual that the
 * model keeps, which are broken one by one on purpose first; the bytes that the model wrote, in
 * their order; control words that were put together by hand from the manual's tables.
 *
 * Longer than other files: each rule has its wrong sequence here.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kmod/pt_prog.h"
#include "tests/model/pt_model.h"
#include "tests/support/rnd.h"

#define PAGE	4096u
#define PHYS	0x123400000ull		/* of memory; at a multiple of 4 MiB */
#define TABLES	0x7f0000000ull
#define MEM	(1u << 20)
#define NTABLES	3

struct rig {
	struct ptm m;
	struct pt_leaves leaves;
	struct pt_caps caps;
	struct pt_unit u;
	struct pt_piece piece[1024];
	struct pt_table table[NTABLES];
	struct pt_wish wish;
	uint8_t *mem;			/* MEM bytes */
	uint64_t *words;
	uint32_t npieces;
	enum pt_why why;
	u64 offer;
};

/* A CPU with everything; MTC 0 3 6 9, CYC 0 to 11, PSB 0 to 5. */
static void rig_new(struct rig *r, uint64_t seed)
{
	memset(r, 0, sizeof(*r));
	r->m.ebx = 0x1ff;
	r->m.ecx = 0x7;
	r->m.sub1_eax = 0x02490004;
	r->m.sub1_ebx = 0x003f0fff;
	r->m.phys_bits = 39;
	r->m.virt_bits = 48;
	r->m.seed = seed;
	ptm_init(&r->m);
	r->wish.bits = PT_BIT_OS | PT_BIT_USER | PT_BIT_BRANCH | PT_BIT_TSC;
}

static void rig_free(struct rig *r)
{
	ptm_free(&r->m);
	free(r->mem);
	free(r->words);
}

static void rig_leaves(struct rig *r)
{
	r->leaves = (struct pt_leaves){ .max = 0x1f, .l7_ebx = 1u << 25, .l14_ebx = r->m.ebx,
		.l14_ecx = r->m.ecx, .l14_1_eax = r->m.sub1_eax, .l14_1_ebx = r->m.sub1_ebx,
		.phys_bits = r->m.phys_bits, .virt_bits = r->m.virt_bits, .vmx = r->m.vmx };
}

static void rig_memory(struct rig *r)
{
	r->mem = calloc(1, MEM);
	r->words = calloc(NTABLES, PAGE);
	assert_non_null(r->mem);
	assert_non_null(r->words);
	ptm_give(&r->m, PHYS, r->mem, MEM, false);
	for (unsigned i = 0; i < NTABLES; i++) {
		r->table[i] = (struct pt_table){ (u64 *)r->words + i * PAGE / 8,
			TABLES + 3 * i * PAGE };
		ptm_give(&r->m, r->table[i].phys, r->table[i].word, PAGE, true);
	}
}

/* Up to here nothing may fail: the unit is ready to be started. */
static void rig_ready(struct rig *r, uint32_t npieces, uint32_t bytes)
{
	rig_memory(r);
	rig_leaves(r);
	r->npieces = npieces;
	for (uint32_t i = 0; i < npieces; i++)
		r->piece[i] = (struct pt_piece){ PHYS + (u64)i * bytes, bytes, 0 };
	assert_int_equal(pt_probe(&r->m.r, &r->leaves, &r->caps, &r->why), 0);
	assert_int_equal(pt_config(&r->u, &r->m.r, &r->caps, &r->wish, &r->offer), 0);
	assert_int_equal(pt_buffer(&r->u, r->piece, npieces, r->table, NTABLES), 0);
}

static void show_broken(const struct ptm *m)
{
	for (unsigned i = 0; i < PTM_NRULES; i++)
		if (m->broken[i])
			print_message("broken %u times: %s\n", m->broken[i], ptm_rule_text(i));
}

static void rig_kept(struct rig *r)
{
	ptm_end(&r->m);
	if (ptm_broken(&r->m))
		show_broken(&r->m);
	assert_int_equal(ptm_broken(&r->m), 0);
}

static uint8_t byte_at(struct rig *r, u64 n)
{
	uint64_t at = n % r->u.bytes;

	for (uint32_t i = 0; i < r->npieces; i++) {
		if (at < r->piece[i].bytes)
			return *ptm_look(&r->m, r->piece[i].phys + at);
		at -= r->piece[i].bytes;
	}
	return 0;
}

/* The reader is done with some of what is there, which is what was written. */
static void read_some(struct rig *r, bool all)
{
	u64 n = r->u.head - r->u.tail;

	assert_true(r->u.head >= r->u.tail);
	n = all || !n ? n : rnd() % (n + 1);
	for (u64 i = 0; i < n; i++)
		if (byte_at(r, r->u.tail + i) != r->m.log[r->u.tail + i])
			fail_msg("byte %llu", (unsigned long long)(r->u.tail + i));
	r->u.tail += n;
}

/*
 * Wrong on purpose: each by hand, straight at the registers. Tables are those of a unit that is
 * ready: one piece of 4096 bytes, and one more.
 */
static int wr(struct rig *r, u32 reg, u64 v)
{
	return r->m.r.wr64(&r->m.r, reg, v);
}

static void fence(struct rig *r)
{
	hwreg_barrier(&r->m.r, HWREG_MEMORY);
}

#define CTL_TOPA_ON	0x210d		/* BranchEn, ToPA, User, OS, TraceEn */

static void on(struct rig *r)
{
	fence(r);
	wr(r, 0x571, 0);
	wr(r, 0x560, TABLES);
	wr(r, 0x561, 0x7f);
	wr(r, 0x570, CTL_TOPA_ON);
}

static void w_ctl_while_on(struct rig *r) { on(r); wr(r, 0x570, CTL_TOPA_ON | 1 << 10); }
static void w_reg_while_on(struct rig *r) { on(r); wr(r, 0x571, 0); }
static void w_ctl_reserved(struct rig *r) { wr(r, 0x570, 1ull << 18); }
static void w_ctl_value(struct rig *r) { wr(r, 0x570, 1 << 9 | 1 << 14); }
static void w_ctl_range(struct rig *r) { wr(r, 0x570, 3ull << 32); }
static void w_ctl_output(struct rig *r) { r->m.ecx = 3; wr(r, 0x570, 0xd); }
static void w_ctl_vmx(struct rig *r) { r->m.vmx = true; wr(r, 0x570, CTL_TOPA_ON); }
static void w_status_reserved(struct rig *r) { wr(r, 0x571, 8); }
static void w_base_reserved(struct rig *r) { wr(r, 0x560, 1ull << 39); }
static void w_cr3_reserved(struct rig *r) { wr(r, 0x572, 0x1010); }
static void w_addr_form(struct rig *r) { wr(r, 0x581, 1ull << 47); }
static void w_no_such(struct rig *r) { r->m.sub1_eax = 1; wr(r, 0x582, 0); }

static void entry_is(struct rig *r, unsigned n, u64 e)
{
	r->table[0].word[n] = e;
	on(r);
	ptm_run(&r->m, 3 * PAGE);
}

static void w_topa_reserved(struct rig *r) { entry_is(r, 0, PHYS | 2); }
static void w_topa_align(struct rig *r) { entry_is(r, 0, (PHYS + PAGE) | 1 << 6); }
static void w_topa_phys(struct rig *r) { entry_is(r, 0, 1ull << 39); }
static void w_topa_end_bits(struct rig *r) { entry_is(r, 2, TABLES | 1 | 1 << 4); }
static void w_topa_end_first(struct rig *r) { entry_is(r, 0, TABLES | 1); }
static void w_topa_one(struct rig *r) { r->m.ecx = 5; entry_is(r, 0, PHYS); }
static void w_memory(struct rig *r) { entry_is(r, 0, PHYS + MEM); }

static void place_is(struct rig *r, u64 base, u64 ptrs, u64 ctl)
{
	fence(r);
	wr(r, 0x560, base);
	wr(r, 0x561, ptrs);
	wr(r, 0x570, ctl);
	ptm_run(&r->m, 200);
}

static void w_topa_table(struct rig *r) { place_is(r, TABLES + 128, 0x7f, CTL_TOPA_ON); }
static void w_topa_offset(struct rig *r) { place_is(r, TABLES, 4096ull << 32, CTL_TOPA_ON); }
static void w_single_mask(struct rig *r) { place_is(r, PHYS, 0x17f, 0xd); }
static void w_single_align(struct rig *r) { place_is(r, PHYS + 2048, 0xfff, 0xd); }
static void w_single_offset(struct rig *r) { place_is(r, PHYS, 4096ull << 32 | 0xfff, 0xd); }

static void w_table_while_on(struct rig *r)
{
	on(r);
	r->table[0].word[1] |= 1 << 4;
	wr(r, 0x570, CTL_TOPA_ON & ~1);
}

static void w_table_no_fence(struct rig *r)
{
	fence(r);
	wr(r, 0x571, 0);
	wr(r, 0x560, TABLES);
	r->table[0].word[1] |= 1 << 4;
	wr(r, 0x570, CTL_TOPA_ON);
}

static void w_data_no_fence(struct rig *r)
{
	on(r);
	ptm_run(&r->m, 500);
	wr(r, 0x570, CTL_TOPA_ON & ~1);
	ptm_look(&r->m, PHYS);
}

static void w_place_while_on(struct rig *r)
{
	u64 v;

	on(r);
	r->m.r.rd64(&r->m.r, 0x561, &v);
}

/* Filled up to a piece that ends it, or tells of it. */
static void fill(struct rig *r, u64 bit)
{
	r->table[0].word[0] |= bit;
	on(r);
	ptm_run(&r->m, PAGE + 200);
	wr(r, 0x570, CTL_TOPA_ON & ~1);
	fence(r);
}

static void w_dead_start(struct rig *r)
{
	fill(r, 1 << 4);
	wr(r, 0x561, 0x7f);
	wr(r, 0x570, CTL_TOPA_ON);
}

static void w_pmi_left(struct rig *r)
{
	fill(r, 1 << 2);
	wr(r, 0x570, CTL_TOPA_ON);
}

static void w_counters(struct rig *r) { wr(r, 0x390, 1); }
static void w_foreign(struct rig *r) { r->m.foreign = true; wr(r, 0x572, 0); }
static void w_left_on(struct rig *r) { on(r); ptm_end(&r->m); }

static void rules(void **state)
{
	static const struct { enum ptm_rule rule; void (*f)(struct rig *r); } t[] = {
		{ PTM_CTL_WHILE_ON, w_ctl_while_on }, { PTM_REG_WHILE_ON, w_reg_while_on },
		{ PTM_CTL_RESERVED, w_ctl_reserved }, { PTM_CTL_VALUE, w_ctl_value },
		{ PTM_CTL_RANGE, w_ctl_range }, { PTM_CTL_OUTPUT, w_ctl_output },
		{ PTM_CTL_VMX, w_ctl_vmx }, { PTM_STATUS_RESERVED, w_status_reserved },
		{ PTM_BASE_RESERVED, w_base_reserved }, { PTM_CR3_RESERVED, w_cr3_reserved },
		{ PTM_ADDR_FORM, w_addr_form }, { PTM_NO_SUCH, w_no_such },
		{ PTM_TOPA_RESERVED, w_topa_reserved }, { PTM_TOPA_ALIGN, w_topa_align },
		{ PTM_TOPA_TABLE, w_topa_table }, { PTM_TOPA_PHYS, w_topa_phys },
		{ PTM_TOPA_OFFSET, w_topa_offset }, { PTM_TOPA_END_BITS, w_topa_end_bits },
		{ PTM_TOPA_END_FIRST, w_topa_end_first }, { PTM_TOPA_ONE, w_topa_one },
		{ PTM_SINGLE_MASK, w_single_mask }, { PTM_SINGLE_ALIGN, w_single_align },
		{ PTM_SINGLE_OFFSET, w_single_offset }, { PTM_MEMORY, w_memory },
		{ PTM_TABLE_WHILE_ON, w_table_while_on }, { PTM_TABLE_NO_FENCE, w_table_no_fence },
		{ PTM_DATA_NO_FENCE, w_data_no_fence }, { PTM_PLACE_WHILE_ON, w_place_while_on },
		{ PTM_DEAD_START, w_dead_start }, { PTM_PMI_LEFT, w_pmi_left },
		{ PTM_COUNTERS, w_counters }, { PTM_FOREIGN, w_foreign },
		{ PTM_LEFT_ON, w_left_on }
	};
	bool seen[PTM_NRULES] = { false };

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		for (unsigned seed = 1; seed < 8; seed++) {
			struct rig r;

			rig_new(&r, seed);
			r.wish.overwrite = true;
			rig_ready(&r, 2, PAGE);
			assert_int_equal(ptm_broken(&r.m), 0);
			t[i].f(&r);
			if (!r.m.broken[t[i].rule] ||
			    ptm_broken(&r.m) != r.m.broken[t[i].rule]) {
				show_broken(&r.m);
				fail_msg("%s", ptm_rule_text(t[i].rule));
			}
			rig_free(&r);
		}
		seen[t[i].rule] = true;
	}
	for (unsigned i = 0; i < PTM_NRULES; i++)
		if (!seen[i])
			fail_msg("not tried: %s", ptm_rule_text(i));
	print_message("%d rules, each broken and seen\n", PTM_NRULES);
}

static void refused(void **state)
{
	struct rig r;
	unsigned n;

	for (n = 0; n < 11; n++) {
		static const enum pt_why why[] = { PT_FINE, PT_NONE, PT_NONE, PT_HIDDEN,
			PT_NO_OUTPUT, PT_DENIED, PT_TAKEN, PT_VMX, PT_FINE, PT_NO_OUTPUT, PT_VMX };
		int rc;

		rig_new(&r, n + 1);
		r.m.vmx = n == 7 || n == 8 || n == 10;
		r.m.vmx_trace = n == 8;
		rig_leaves(&r);
		if (n == 1)
			r.leaves.max = 0x13;
		if (n == 2 || n == 3)
			r.leaves.l7_ebx = 0;
		r.leaves.hypervisor = n == 3;
		if (n == 4)
			r.leaves.l14_ecx = 8;
		if (n == 9)
			r.leaves.phys_bits = 0;
		r.m.fault = n == 5 ? 1 : n == 10 ? 2 : 0;
		if (n == 6) {
			r.m.foreign = true;
			r.m.ctl = CTL_TOPA_ON;
		}
		rc = pt_probe(&r.m.r, &r.leaves, &r.caps, &r.why);
		assert_int_equal(r.why, why[n]);
		assert_int_equal(!rc, r.why == PT_FINE);
		rig_kept(&r);
		rig_free(&r);
	}
	assert_string_equal(pt_why_text(PT_NONE), "this CPU has no Intel PT");
	assert_string_equal(pt_why_text((enum pt_why)10000), "");
}

/* What a CPU has not is refused; what is offered in place of it the model takes. */
static void wishes(void **state)
{
	static const struct { u32 bit, ebx; enum pt_why why; } t[] = {
		{ PT_BIT_CR3, 1 << 0, PT_CR3 }, { PT_BIT_CYC, 1 << 1, PT_CYC },
		{ PT_BIT_MTC, 1 << 3, PT_MTC }, { PT_BIT_PTW, 1 << 4, PT_PTW },
		{ PT_BIT_PTW_IP, 1 << 4, PT_PTW }, { PT_BIT_POWER, 1 << 5, PT_POWER },
		{ PT_BIT_EVENTS, 1 << 7, PT_EVENTS }, { PT_BIT_NO_TNT, 1 << 8, PT_TNT } };
	struct pt_caps c;
	struct rig r;

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		for (unsigned has = 0; has < 2; has++) {
			rig_new(&r, i + 1);
			r.wish.bits |= t[i].bit;
			if (!has)
				r.m.ebx &= ~t[i].ebx;
			rig_leaves(&r);
			assert_int_equal(pt_probe(&r.m.r, &r.leaves, &c, &r.why), 0);
			assert_int_equal(pt_check(&c, &r.wish, &r.why, &r.offer),
					 has ? 0 : -EOPNOTSUPP);
			assert_int_equal(r.why, has ? PT_FINE : t[i].why);
			rig_free(&r);
		}
	rig_new(&r, 1);
	rig_leaves(&r);
	assert_int_equal(pt_probe(&r.m.r, &r.leaves, &c, &r.why), 0);
#define NO(change, is) do { \
	struct pt_wish w = r.wish; \
	struct pt_caps k = c; \
	change; \
	assert_true(pt_check(&k, &w, &r.why, &r.offer) < 0); \
	assert_int_equal(r.why, is); \
} while (0)
	NO(w.bits |= 1u << 30, PT_BITS);
	NO(w.bits &= ~(u32)(PT_BIT_OS | PT_BIT_USER), PT_NOBODY);
	NO((k.must_branch = true, w.bits &= ~(u32)PT_BIT_BRANCH), PT_BRANCHES);
	NO(k.topa = false, PT_NO_STOP);
	NO((k.topa = false, w.overwrite = w.pmi = true), PT_NO_PMI);
	NO((w.bits |= PT_BIT_MTC, k.mtc_map = 0), PT_MTC);
	NO((w.bits |= PT_BIT_CYC, k.cyc_map = 0), PT_CYC);
	NO((w.bits |= PT_BIT_MTC, w.mtc = 255), PT_MTC_EVERY);
	assert_int_equal(r.offer, 9);
	NO((w.bits |= PT_BIT_MTC, w.mtc = 4), PT_MTC_EVERY);
	assert_int_equal(r.offer, 3);
	NO((w.bits |= PT_BIT_CYC, w.cyc = 15), PT_CYC_EVERY);
	assert_int_equal(r.offer, 11);
	NO(w.psb = 6, PT_PSB_EVERY);
	assert_int_equal(r.offer, 5);
	NO(w.nranges = 5, PT_RANGES);
	assert_int_equal(r.offer, 4);
	NO((w.nranges = 1, w.range[0].first = 2, w.range[0].last = 1), PT_RANGE);
	NO((w.nranges = 1, w.range[0].last = 1ull << 47), PT_RANGE);
	NO((w.nranges = 1, w.range[0].first = 0xffff7fffffffffff,
	    w.range[0].last = ~0ull), PT_RANGE);
	NO((w.bits |= PT_BIT_CR3, w.cr3 = 16), PT_CR3_VALUE);
#undef NO
	rig_kept(&r);
	rig_free(&r);
}

/* Any wish on any CPU: refused, or the model takes it; what is offered is the nearest there is. */
static void any_wish(void **state)
{
	unsigned taken = 0, offers = 0;

	for (unsigned k = 0; k < 16000; k++) {
		struct pt_wish w = { .bits = (u32)rnd() & PT_BIT_ALL & (u32)rnd(),
			.mtc = rnd() % 18, .cyc = rnd() % 18, .psb = rnd() % 18,
			.nranges = rnd() % 6, .cr3 = rnd() & ~31ull, .overwrite = rnd() & 1 };
		struct rig r;
		int rc;

		rig_new(&r, k + 1);
		r.m.ebx = rnd() & 0x1ff;
		r.m.ecx = 1 + rnd() % 7;
		r.m.sub1_eax = (u32)rnd() & 0xffff0007;
		r.m.sub1_ebx = (u32)rnd() | 1 << 16;
		for (unsigned i = 0; i < 4; i++)
			w.range[i] = (struct pt_range){ rnd() >> (17 + rnd() % 3),
				rnd() >> 17 | 0xffff8ull << 44, rnd() & 1 };
		w.bits |= PT_BIT_OS;
		if (!(r.m.ecx & 5))
			r.m.ecx = 1;
		rig_leaves(&r);
		assert_int_equal(pt_probe(&r.m.r, &r.leaves, &r.caps, &r.why), 0);
		r.wish = w;
		rc = pt_config(&r.u, &r.m.r, &r.caps, &w, &r.offer);
		if (rc && (r.u.why == PT_MTC_EVERY || r.u.why == PT_CYC_EVERY ||
			   (r.u.why == PT_PSB_EVERY && r.m.ebx & 2))) {
			unsigned is_mtc = r.u.why == PT_MTC_EVERY;
			uint32_t map = is_mtc ? r.m.sub1_eax >> 16 : r.u.why == PT_CYC_EVERY ?
				r.m.sub1_ebx & 0xffff : r.m.sub1_ebx >> 16;
			int n = is_mtc ? w.mtc : r.u.why == PT_CYC_EVERY ? w.cyc : w.psb;

			assert_true(map >> r.offer & 1);
			for (int i = 0; i < 16; i++)
				if (map >> i & 1)
					assert_true(abs(i - n) >= abs((int)r.offer - n));
			offers++;
		}
		if (!rc) {
			rig_memory(&r);
			r.piece[0] = (struct pt_piece){ PHYS, PAGE, 0 };
			assert_int_equal(pt_buffer(&r.u, r.piece, 1, r.table, 1), 0);
			assert_int_equal(pt_start(&r.u), 0);
			assert_int_equal(pt_stop(&r.u), 0);
			taken++;
		}
		rig_kept(&r);
		rig_free(&r);
	}
	print_message("%u wishes taken, %u other values offered\n", taken, offers);
	assert_true(taken > 300 && offers > 500);
}

/* The manual's table of the control register, by hand. */
static void words(void **state)
{
	struct rig r;

	rig_new(&r, 5);
	r.wish = (struct pt_wish){ .bits = PT_BIT_USER | PT_BIT_BRANCH | PT_BIT_TSC | PT_BIT_MTC |
		PT_BIT_CYC, .mtc = 3, .cyc = 2, .psb = 3 };
	rig_ready(&r, 2, PAGE);
	assert_int_equal(pt_start(&r.u), 0);
	/* PSBFreq 3, CycThresh 2, MTCFreq 3; BranchEn TSCEn MTCEn ToPA; User CYCEn TraceEn */
	assert_true(r.m.ctl == 0x310e70b);
	assert_int_equal(pt_stop(&r.u), 0);
	r.wish = (struct pt_wish){ .bits = PT_BIT_OS | PT_BIT_PTW | PT_BIT_PTW_IP | PT_BIT_POWER |
		PT_BIT_EVENTS | PT_BIT_NO_TNT | PT_BIT_CR3 | PT_BIT_NO_RETC, .nranges = 3,
		.cr3 = 0x1234567000, .overwrite = true,
		.range = { { 0x400000, 0x4fffff, false },
			   { 0xffffffff81000000, 0xffffffff81ffffff, true },
			   { 0, 0, false } } };
	assert_int_equal(pt_config(&r.u, &r.m.r, &r.caps, &r.wish, &r.offer), 0);
	assert_int_equal(pt_buffer(&r.u, r.piece, 2, r.table, NTABLES), 0);
	assert_int_equal(pt_start(&r.u), 0);
	/* DisTNT; ADDR2 1, ADDR1 2, ADDR0 1; EventEn; PTWEn DisRETC ToPA; CR3 FUPonPTW Pwr OS On */
	assert_true(r.m.ctl == 0x800121800019b5ull);
	assert_true(r.m.cr3 == 0x1234567000 && r.m.addr[0] == 0x400000 &&
		    r.m.addr[1] == 0x4fffff && r.m.addr[2] == 0xffffffff81000000 &&
		    r.m.addr[3] == 0xffffffff81ffffff && !r.m.addr[4] && !r.m.addr[5]);
	assert_int_equal(pt_stop(&r.u), 0);
	/* size 0, at the first piece; the way back behind the second */
	assert_true(r.words[0] == PHYS && r.words[1] == PHYS + PAGE && r.words[2] == (TABLES | 1));
	rig_kept(&r);
	rig_free(&r);
}

static void buffers(void **state)
{
	struct rig r;

	rig_new(&r, 1);
	rig_memory(&r);
	rig_leaves(&r);
	assert_int_equal(pt_probe(&r.m.r, &r.leaves, &r.caps, &r.why), 0);
	assert_int_equal(pt_buffer(&r.u, r.piece, 1, r.table, 1), -EINVAL);
	assert_int_equal(pt_start(&r.u), -EINVAL);
	assert_int_equal(pt_config(&r.u, &r.m.r, &r.caps, &r.wish, &r.offer), 0);
#define NO(ph, by, n, is) do { \
	for (unsigned i_ = 0; i_ < 1024; i_++) \
		r.piece[i_] = (struct pt_piece){ ph, by, 0 }; \
	assert_int_equal(pt_buffer(&r.u, r.piece, n, r.table, 1), -EINVAL); \
	assert_int_equal(r.u.why, is); \
} while (0)
	NO(PHYS, PAGE, 0, PT_PIECES);
	NO(PHYS, 2048, 1, PT_PIECE);
	NO(PHYS, 3 * PAGE, 1, PT_PIECE);
	NO(PHYS + PAGE, 2 * PAGE, 1, PT_PIECE);
	NO(1ull << 39, PAGE, 1, PT_PIECE);
	NO(0, 256u << 20, 1, PT_PIECE);
	NO(PHYS, PAGE, 512, PT_TABLES);
	r.table[0].phys += 8;
	NO(PHYS, PAGE, 1, PT_TABLES);
	r.table[0].phys = 1ull << 39;
	NO(PHYS, PAGE, 1, PT_TABLES);
	r.u.caps.pieces = false;
	NO(PHYS, PAGE, 2, PT_PIECES);
#undef NO
	rig_kept(&r);
	rig_free(&r);
}

static void joins(void **state)
{
	struct pt_piece p2[2];

	for (unsigned k = 0; k < 3000; k++) {
		struct pt_piece p[256], q[256];
		uint64_t at = PHYS, max = PAGE << rnd() % 8;
		uint32_t n = 1 + rnd() % 256, m, j = 0;

		for (uint32_t i = 0; i < n; i++) {
			at += rnd() % 20 ? 0 : PAGE * (rnd() % 50);
			p[i] = q[i] = (struct pt_piece){ at, PAGE, 0 };
			at += PAGE;
		}
		m = pt_join(p, n, max);
		assert_true(m <= n);
		for (uint32_t i = 0; i < m; i++) {
			assert_true(p[i].bytes <= max && !(p[i].phys & (p[i].bytes - 1)));
			for (uint64_t b = 0; b < p[i].bytes; b += PAGE)
				assert_true(q[j++].phys == p[i].phys + b);
			/* two that could be one are none */
			if (i && p[i].bytes == p[i - 1].bytes && p[i].bytes < max &&
			    p[i - 1].phys + p[i].bytes == p[i].phys)
				assert_true(p[i - 1].phys & p[i].bytes);
		}
		assert_int_equal(j, n);
	}
	/* no larger than the CPU takes */
	p2[0] = (struct pt_piece){ 0, 128u << 20, 0 };
	p2[1] = (struct pt_piece){ 128u << 20, 128u << 20, 0 };
	assert_int_equal(pt_join(p2, 2, ~0ull), 2);
	assert_int_equal(pt_tables_for(511), 1);
	assert_int_equal(pt_tables_for(512), 2);
}

/* Pieces of several sizes, in any order. */
static void rig_any(struct rig *r, uint64_t seed, bool overwrite, bool pmi)
{
	unsigned kind = rnd() % 4;

	rig_new(r, seed);
	r->m.vmx = rnd() & 1;
	r->m.vmx_trace = true;
	r->wish.overwrite = overwrite;
	r->wish.pmi = pmi;
	if (kind == 0) {
		r->m.ecx = overwrite && !pmi && rnd() & 1 ? 4 : 1;
		rig_ready(r, 1, PAGE << rnd() % 4);
		return;
	}
	rig_memory(r);
	rig_leaves(r);
	r->npieces = kind == 1 ? 2 + rnd() % 6 : kind == 2 ? 100 : 511 + rnd() % 2;
	for (uint32_t i = 0; i < r->npieces; i++) {
		uint32_t bytes = kind == 1 ? PAGE << rnd() % 3 : PAGE;

		/* places of their own; those of many pieces overlap, so only a few are filled */
		r->piece[i] = (struct pt_piece){ PHYS + (uint64_t)(i * 7 % 32) * 4 * PAGE, bytes,
			0 };
	}
	if (kind == 3)
		for (uint32_t i = 0; i < r->npieces; i++)
			r->piece[i].phys = PHYS + (uint64_t)(i * 7 % 256) * PAGE;
	if (kind == 2)
		for (uint32_t i = 0; i < r->npieces; i++)
			r->piece[i].phys = PHYS + (uint64_t)(i * 7 % 100) * PAGE;
	assert_int_equal(pt_probe(&r->m.r, &r->leaves, &r->caps, &r->why), 0);
	assert_int_equal(pt_config(&r->u, &r->m.r, &r->caps, &r->wish, &r->offer), 0);
	assert_int_equal(pt_buffer(&r->u, r->piece, r->npieces, r->table, NTABLES), 0);
	/* up to where the first table leads to the next one */
	if (kind == 3)
		r->u.head = r->u.tail = r->m.written = 500 * PAGE;
}

/* Nothing that is not read is written over, and each byte is where it is said to be. */
static void kept(void **state)
{
	uint64_t bytes = 0, turns = 0, cuts = 0;

	for (unsigned k = 0; k < 100; k++) {
		uint64_t dropped = 0, first;
		bool pmi = k & 1;
		struct rig r;

		rig_any(&r, k + 1, false, pmi);
		first = r.u.head;
		assert_int_equal(pt_start(&r.u), 0);
		for (unsigned i = 0; i < 60; i++) {
			ptm_run(&r.m, rnd() % (2 * PAGE) / (1 + (i & 1)));
			if (pmi && r.m.told)
				assert_int_equal(pt_pmi(&r.u), 1);
			switch (rnd() % 8) {
			case 0:
				assert_int_equal(pt_stop(&r.u), 0);
				assert_int_equal(r.u.head, r.m.written);
				read_some(&r, true);
				assert_int_equal(pt_start(&r.u), 0);
				break;
			case 1:
			case 2: read_some(&r, r.u.bytes > 256 * PAGE); break;
			default:
				assert_int_equal(pt_turn(&r.u), 0);
				turns++;
			}
			assert_true(r.u.head - r.u.tail <= r.u.bytes);
			dropped = r.m.dropped;
		}
		assert_int_equal(pt_stop(&r.u), 0);
		assert_int_equal(r.u.head, r.m.written);
		assert_int_equal(!r.u.cuts && dropped, 0);
		read_some(&r, true);
		for (unsigned i = 0; i < r.m.nstarts; i++)
			if (r.m.psb[i] + 2 <= (i + 1 < r.m.nstarts ? r.m.psb[i + 1] : r.m.written))
				assert_memory_equal(r.m.log + r.m.psb[i], "\x02\x82", 2);
		bytes += r.m.written - first;
		cuts += r.u.cuts;
		rig_kept(&r);
		rig_free(&r);
	}
	print_message("%llu bytes, %llu turns, full %llu times: 0 rules broken\n",
		      (unsigned long long)bytes, (unsigned long long)turns,
		      (unsigned long long)cuts);
	assert_true(cuts > 20);
}

/* The newest are there, up to the place that is told. */
static void newest(void **state)
{
	unsigned wrapped = 0;

	for (unsigned k = 0; k < 60; k++) {
		struct rig r;
		u64 n;

		rig_any(&r, k + 1, true, false);
		assert_int_equal(pt_start(&r.u), 0);
		for (unsigned i = 0; i < 20; i++) {
			ptm_run(&r.m, rnd() % (4 * PAGE));
			assert_int_equal(pt_turn(&r.u), 0);
		}
		assert_int_equal(pt_stop(&r.u), 0);
		assert_int_equal(r.u.head % r.u.bytes, r.m.written % r.u.bytes);
		assert_true(!r.u.wrapped || r.m.written >= r.u.bytes);
		wrapped += r.u.wrapped;
		n = r.m.written < r.u.bytes ? r.m.written : r.u.bytes;
		if (r.u.bytes > 256 * PAGE)
			n = n < PAGE ? n : PAGE;
		for (u64 i = 1; i <= n; i++)
			if (byte_at(&r, r.m.written - i) != r.m.log[r.m.written - i])
				fail_msg("byte %llu from the end", (unsigned long long)i);
		assert_int_equal(r.u.cuts, 0);
		rig_kept(&r);
		rig_free(&r);
	}
	assert_true(wrapped > 10);
}

/* Each access is refused once: no rule is broken, and nothing is left on. */
static void faults(void **state)
{
	unsigned ended = 0;

	for (unsigned n = 1; n < 60; n++) {
		struct rig r;
		int rc;

		rig_new(&r, n);
		r.wish.bits |= PT_BIT_CR3;
		r.wish.nranges = 2;
		r.wish.pmi = true;
		rig_ready(&r, 4, PAGE);
		r.m.fault = n;
		rc = pt_start(&r.u);
		ptm_run(&r.m, 100);
		if (!rc)
			rc = pt_turn(&r.u);
		if (!rc) {
			ptm_run(&r.m, 2 * PAGE);
			pt_pmi(&r.u);
			rc = r.u.state == PT_ENDED ? -EACCES : pt_stop(&r.u);
		}
		if (rc) {
			assert_int_equal(rc, -EACCES);
			assert_int_equal(r.u.state, PT_ENDED);
			assert_int_equal(r.u.why, PT_DENIED);
			assert_false(r.u.writes);
			assert_int_equal(pt_turn(&r.u), 0);
			assert_int_equal(pt_stop(&r.u), 0);
			ended++;
		}
		rig_kept(&r);
		rig_free(&r);
	}
	assert_true(ended > 30);
}

static void refuse(struct ptm *m)
{
	m->fault = 1;
}

/* It can not be switched off: that is said, and it is not tried for ever. */
static void stuck(void **state)
{
	struct rig r;
	unsigned n;

	rig_new(&r, 1);
	rig_ready(&r, 4, PAGE);
	assert_int_equal(pt_start(&r.u), 0);
	r.m.meddle = refuse;
	n = r.m.accesses;
	assert_int_equal(pt_stop(&r.u), -EACCES);
	assert_true(r.m.accesses - n < 5);
	assert_true(r.u.writes);
	assert_int_equal(r.u.state, PT_ENDED);
	assert_int_equal(r.u.why, PT_DENIED);
	ptm_end(&r.m);
	assert_int_equal(r.m.broken[PTM_LEFT_ON], 1);
	assert_int_equal(ptm_broken(&r.m), 1);
	rig_free(&r);
}

static void steal(struct ptm *m)
{
	m->ctl = CTL_TOPA_ON | 1 << 10 | 1 << 11;
	m->foreign = true;
	m->meddle = NULL;
}

/* VMXON on a CPU that can not trace beside it (section "VMX Operation"). */
static void vmxon(struct ptm *m)
{
	m->ctl &= ~1ull;
	m->vmx = true;
	m->meddle = NULL;
}

static void move_place(struct ptm *m)
{
	if (m->ctl & 1)
		return;
	m->base = *(u64 *)m->arg;
	m->ptrs = ((u64 *)m->arg)[1];
}

static void others(void **state)
{
	static const u64 beyond[2] = { TABLES, 2ull << 7 };
	static const u64 places[][2] = { { PHYS, 0x7f }, { TABLES, 7ull << 7 },
		{ TABLES, 1u << 31 }, { TABLES, 4ull << 7 | 1ull << 32 }, { TABLES, 4097ull << 32 },
		{ TABLES, 3ull << 7 | 5ull << 32 } };
	struct rig r;

	/* somebody was first */
	rig_new(&r, 1);
	rig_ready(&r, 4, PAGE);
	r.m.ctl = CTL_TOPA_ON;
	r.m.foreign = true;
	assert_int_equal(pt_start(&r.u), -EBUSY);
	assert_int_equal(r.u.why, PT_TAKEN);
	assert_int_equal(pt_stop(&r.u), -EBUSY);
	assert_int_equal(pt_turn(&r.u), -EBUSY);
	assert_int_equal(pt_config(&r.u, &r.m.r, &r.caps, &r.wish, &r.offer), -EINVAL);
	rig_kept(&r);
	rig_free(&r);
	/* somebody takes it away */
	rig_new(&r, 2);
	rig_ready(&r, 4, PAGE);
	assert_int_equal(pt_start(&r.u), 0);
	assert_int_equal(pt_buffer(&r.u, r.piece, 1, r.table, 1), -EINVAL);
	assert_int_equal(pt_start(&r.u), -EINVAL);
	r.m.meddle = steal;
	assert_int_equal(pt_turn(&r.u), -EBUSY);
	assert_int_equal(r.u.why, PT_STOLEN);
	assert_true(r.u.writes);
	assert_int_equal(pt_pmi(&r.u), 0);
	rig_kept(&r);
	rig_free(&r);
	/* somebody switches it off */
	for (unsigned turn = 0; turn < 2; turn++) {
		rig_new(&r, 3);
		rig_ready(&r, 4, PAGE);
		assert_int_equal(pt_start(&r.u), 0);
		ptm_run(&r.m, 500);
		r.m.meddle = vmxon;
		if (turn) {
			assert_int_equal(pt_turn(&r.u), -EACCES);
			assert_int_equal(r.u.why, PT_DENIED);
			assert_int_equal(r.m.broken[PTM_CTL_VMX], 1);
		} else {
			assert_int_equal(pt_stop(&r.u), 0);
			assert_int_equal(r.u.why, PT_CLEARED);
			assert_int_equal(ptm_broken(&r.m), 0);
		}
		rig_free(&r);
	}
	/* the place is nowhere, or beyond what was allowed */
	for (unsigned i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		bool over = i == 5;

		rig_new(&r, 4);
		rig_ready(&r, 4, PAGE);
		if (over)	/* what may be written ends before the fourth piece */
			r.u.head = r.u.tail = 4 * PAGE;
		assert_int_equal(pt_start(&r.u), 0);
		r.m.arg = (void *)(uintptr_t)places[i];
		r.m.meddle = move_place;
		if (over) {
			assert_int_equal(pt_stop(&r.u), 0);
			r.u.limit = r.u.head + 1;
			r.u.state = PT_RUNS;
			r.m.arg = (void *)(uintptr_t)beyond;
		}
		assert_int_equal(pt_stop(&r.u), -EIO);
		assert_int_equal(r.u.why, PT_LOST_PLACE);
		assert_int_equal(r.u.state, PT_ENDED);
		rig_kept(&r);
		rig_free(&r);
	}
}

static void errors(void **state)
{
	static const u64 nowhere[2] = { PHYS, 0x7f };
	struct rig r;

	/* memory that it can not write to: told, tried again, given up */
	for (unsigned seed = 1; seed < 30; seed++) {
		unsigned turns = 0;

		rig_new(&r, seed);
		rig_ready(&r, 4, PAGE);
		r.m.area[0].bytes = PAGE + 100;
		assert_int_equal(pt_start(&r.u), 0);
		while (r.u.state != PT_ENDED && turns++ < 20) {
			ptm_run(&r.m, 2 * PAGE);
			pt_turn(&r.u);
			if (r.u.head < PAGE + 100)
				continue;
			assert_int_equal(r.u.why, PT_ERROR);
			assert_int_equal(r.u.head, r.m.written);
		}
		assert_int_equal(r.u.state, PT_ENDED);
		assert_int_equal(r.u.why, PT_ERROR);
		assert_true(r.u.cuts >= 3);
		assert_int_equal(ptm_broken(&r.m), r.m.broken[PTM_MEMORY]);
		/* it is asked for once more, and the memory is there */
		r.m.area[0].bytes = MEM;
		assert_int_equal(pt_start(&r.u), 0);
		ptm_run(&r.m, PAGE);
		assert_int_equal(pt_stop(&r.u), 0);
		assert_int_equal(r.u.errors, 0);
		assert_int_equal(r.u.head, r.m.written);
		rig_free(&r);
	}
	/* an error at a place that is nowhere */
	rig_new(&r, 1);
	rig_ready(&r, 4, PAGE);
	r.m.area[0].bytes = 1;
	assert_int_equal(pt_start(&r.u), 0);
	ptm_run(&r.m, PAGE);
	r.m.arg = (void *)(uintptr_t)nowhere;
	r.m.meddle = move_place;
	assert_int_equal(pt_stop(&r.u), -EIO);
	assert_int_equal(r.u.why, PT_ERROR);
	rig_free(&r);
	/* code that ends the trace */
	for (unsigned over = 0; over < 2; over++) {
		rig_new(&r, 2);
		r.wish.overwrite = over;
		rig_ready(&r, 4, PAGE);
		assert_int_equal(pt_start(&r.u), 0);
		ptm_run(&r.m, 500);
		ptm_trace_stop(&r.m);
		assert_int_equal(pt_turn(&r.u), 0);
		assert_int_equal(r.u.state, PT_ENDED);
		assert_int_equal(r.u.why, PT_STOPPED);
		assert_int_equal(pt_turn(&r.u), 0);
		assert_int_equal(pt_start(&r.u), 0);
		assert_int_equal(pt_stop(&r.u), 0);
		rig_kept(&r);
		rig_free(&r);
	}
	/* nobody reads: it waits, and goes on when there is room */
	rig_new(&r, 3);
	rig_ready(&r, 2, PAGE);
	assert_int_equal(pt_start(&r.u), 0);
	ptm_run(&r.m, 3 * PAGE);
	assert_int_equal(pt_turn(&r.u), 0);
	assert_int_equal(r.u.state, PT_WAITS);
	assert_int_equal(r.u.why, PT_FULL);
	assert_int_equal(r.u.head, 2 * PAGE);
	assert_int_equal(pt_turn(&r.u), 0);
	assert_int_equal(r.u.state, PT_WAITS);
	read_some(&r, true);
	assert_int_equal(pt_turn(&r.u), 0);
	assert_int_equal(r.u.state, PT_RUNS);
	assert_int_equal(r.u.limit, 4 * PAGE);
	ptm_run(&r.m, 3 * PAGE);
	assert_int_equal(pt_turn(&r.u), 0);
	assert_int_equal(r.u.head, 4 * PAGE);
	assert_int_equal(pt_stop(&r.u), 0);
	assert_int_equal(pt_start(&r.u), -ENOSPC);
	assert_int_equal(r.u.cuts, 2);
	rig_kept(&r);
	rig_free(&r);
}

/* A reader that comes with each interrupt loses nothing. */
static void interrupts(void **state)
{
	unsigned pmis = 0;

	for (unsigned seed = 1; seed < 20; seed++) {
		struct rig r;

		rig_new(&r, seed);
		r.wish.pmi = true;
		rig_ready(&r, 8, PAGE);
		assert_int_equal(pt_pmi(&r.u), 0);
		assert_int_equal(pt_start(&r.u), 0);
		for (unsigned i = 0; i < 2000; i++) {
			unsigned before = r.m.pmis;
			bool told = r.m.told;

			ptm_run(&r.m, rnd() % 200);
			told |= r.m.pmis != before;
			/* it may also come while we look */
			before = r.m.pmis;
			if (!pt_pmi(&r.u)) {
				assert_false(told);
				continue;
			}
			assert_true(told || r.m.pmis != before);
			pmis++;
			assert_int_equal(r.u.state, PT_RUNS);
			read_some(&r, true);
		}
		assert_int_equal(pt_stop(&r.u), 0);
		assert_int_equal(r.u.cuts, 0);
		assert_int_equal(r.m.dropped, 0);
		assert_int_equal(r.u.head, r.m.written);
		rig_kept(&r);
		rig_free(&r);
	}
	assert_true(pmis > 100);
	/* it fills up before anybody comes */
	for (unsigned seed = 1; seed < 20; seed++) {
		struct rig r;

		rig_new(&r, seed);
		r.wish.pmi = true;
		rig_ready(&r, 2, PAGE);
		assert_int_equal(pt_start(&r.u), 0);
		ptm_run(&r.m, 4 * PAGE);
		assert_int_equal(pt_pmi(&r.u), 1);
		assert_int_equal(r.u.state, PT_WAITS);
		read_some(&r, true);
		assert_int_equal(pt_turn(&r.u), 0);
		assert_int_equal(r.u.state, PT_RUNS);
		assert_int_equal(pt_stop(&r.u), 0);
		rig_kept(&r);
		rig_free(&r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(refused),
		cmocka_unit_test(wishes),
		cmocka_unit_test(any_wish),
		cmocka_unit_test(words),
		cmocka_unit_test(buffers),
		cmocka_unit_test(joins),
		cmocka_unit_test(kept),
		cmocka_unit_test(newest),
		cmocka_unit_test(faults),
		cmocka_unit_test(stuck),
		cmocka_unit_test(others),
		cmocka_unit_test(errors),
		cmocka_unit_test(interrupts)
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
