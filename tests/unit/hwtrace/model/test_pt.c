/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: bytes put together by hand from the manual (Intel SDM vol. 3, "Trace Packets and Data
 * Types"), for a few events each.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/model/pt.h"

#define PSB	"02820282028202820282028202820282"
#define START	PSB "02031e00" "0223" "9901"	/* CBR 30, PSBEND, and MODE.Exec for the PGE */

static char text[4096];
static unsigned nlost;
static uint64_t lost_from, lost_to;

static int put(void *arg, const void *p, size_t n)
{
	size_t at = strlen(text);

	for (size_t i = 0; i < n && at + 2 < sizeof(text); i++, at += 2)
		sprintf(text + at, "%02x", ((const uint8_t *)p)[i]);
	return 0;
}

static void lost(void *arg, uint64_t from, uint64_t to)
{
	nlost++;
	lost_from = from;
	lost_to = to;
}

static const struct model_out out = { .put = put, .lost = lost };

/* Blocks of one or two instructions at 401000, 401010, ... and one of the kernel. */
static const struct model_block
	jcc = { 0x401000, 0x401001, 0x401000, 2, 2, MODEL_X86_64, MODEL_JUMP, 1 },
	call = { 0x401003, 0x401003, 0x401010, 1, 5, MODEL_X86_64, MODEL_CALL, 0 },
	ret = { 0x401010, 0x401010, MODEL_NO_ADDR, 1, 1, MODEL_X86_64, MODEL_RETURN, 0 },
	ijump = { 0x401008, 0x401008, MODEL_NO_ADDR, 1, 2, MODEL_X86_64, MODEL_IJUMP, 0 },
	sys = { 0x401020, 0x401020, MODEL_NO_ADDR, 1, 2, MODEL_X86_64, MODEL_SYSCALL, 0 },
	kern = { 0xffffffff81000000, 0xffffffff81000000, MODEL_NO_ADDR, 1, 2, MODEL_X86_64,
		MODEL_FAR_RETURN, 0 },
	cr3 = { 0xffffffff81000000, 0xffffffff81000000, MODEL_NO_ADDR, 1, 3, MODEL_X86_64,
		MODEL_PLAIN, 0 },
	after = { 0x401022, 0x401022, MODEL_NO_ADDR, 1, 4, MODEL_X86_64, MODEL_PTWRITE, 0 };

#define RUN(b, t, go, when) { .op = MODEL_RUN, .block = &(b), .insns = (b).insns, .taken = (t), \
	.to = (go), .tick = (when) }
#define CONTEXT(l, as) { .op = MODEL_CONTEXT, .ctx = { .aspace = (as), .level = (l), \
	.isa = MODEL_X86_64, .valid = 5 } }
#define END(when) { .op = MODEL_END, .tick = (when) }

static void encode(const struct model_pt_cfg *cfg, const struct model_event *ev, size_t n,
		   const char *want)
{
	struct model_pt *m;

	text[0] = 0;
	nlost = 0;
	assert_int_equal(model_pt_new(&m, cfg, &out), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(model_pt_put(m, &ev[i]), 0);
	assert_int_equal(model_pt_end(m), 0);
	assert_int_equal(model_pt_counts(m)->bytes, strlen(text) / 2);
	assert_string_equal(text, want);
	model_pt_free(m);
}

#define ENCODE(cfg, ev, want) encode((cfg), (ev), sizeof(ev) / sizeof((ev)[0]), (want))

/* PGE 401000 against 0 in 4 bytes; taken, not taken; a RET in full and as a bit; a jump. */
static void branches(void **state)
{
	const struct model_event ev[] = {
		RUN(jcc, 1, 0x401000, 1), RUN(jcc, 0, 0x401003, 2), RUN(call, 1, 0x401010, 3),
		RUN(ret, 1, 0x401008, 4), RUN(ijump, 1, 0x401020, 5), END(6)
	};
	struct model_pt_cfg cfg = { 0 };

	(void)state;
	ENCODE(&cfg, ev, START "5100104000" "0c" "2d0810" "2d2010" "3d2010" "01");
	cfg.retcomp = true;
	ENCODE(&cfg, ev, START "5100104000" "1a" "2d2010" "3d2010" "01");
	/* the jump waits behind the TNT until the FUP of the end */
	cfg.retcomp = false;
	cfg.defer_tips = true;
	ENCODE(&cfg, ev, START "5100104000" "0c" "2d0810" "2d2010" "3d2010" "01");
	cfg.retcomp = true;
	ENCODE(&cfg, ev, START "5100104000" "1a" "2d2010" "3d2010" "01");
	/* six bytes each */
	cfg = (struct model_pt_cfg){ .ips = MODEL_PT_IP_WIDE };
	ENCODE(&cfg, ev, START "71001040000000" "0c" "6d081040000000" "6d201040000000"
	       "7d201040000000" "01");
}

/* Six branches fill a short TNT; a long one holds 47. */
static void tnt(void **state)
{
	struct model_event ev[48];
	struct model_pt_cfg cfg = { 0 };

	(void)state;
	for (unsigned i = 0; i < 48; i++)
		ev[i] = (struct model_event)RUN(jcc, 1, 0x401000, i);
	encode(&cfg, ev, 7, START "5100104000" "fe" "06" "3d0010" "01");
	cfg.tnt = MODEL_PT_TNT64;
	encode(&cfg, ev, 7, START "5100104000" "02a3ff0000000000" "3d0010" "01");
	encode(&cfg, ev, 48, START "5100104000" "02a3ffffffffffff" "06" "3d0010" "01");
}

/* SYSCALL and back, with a new CR3: all, user only (TIP.PGD without address), kernel only. */
static void rings(void **state)
{
	const struct model_event ev[] = {
		CONTEXT(3, 0x1000), RUN(sys, 1, 0xffffffff81000000, 1), CONTEXT(0, 0x1000),
		RUN(cr3, 0, 0xffffffff81000003, 2), CONTEXT(0, 0x12345fe0), END(9)
	};
	const struct model_event back[] = {
		CONTEXT(3, 0x1000), RUN(sys, 1, 0xffffffff81000000, 1), CONTEXT(0, 0x1000),
		RUN(kern, 1, 0x401022, 2), CONTEXT(3, 0x1000), RUN(after, 0, 0x401026, 3),
		{ .op = MODEL_VALUE, .value = 0x1122334455667788, .size = 8, .tick = 3 }, END(9)
	};
	struct model_pt_cfg cfg = { .ptw = true, .ptw_fup = true };

	(void)state;
	/* PIP holds CR3 bits 51 to 5, in bits 47 to 1 of its payload */
	ENCODE(&cfg, ev, PSB "02031e00" "0223" "0243000100000000" "9901" "5120104000"
	       "6d00000081ffff" "0243fe4523010000" "3d0300" "01");
	ENCODE(&cfg, back, PSB "02031e00" "0223" "0243000100000000" "9901" "5120104000"
	       "6d00000081ffff" "6d221040000000" "02b28877665544332211" "3d2210" "3d2610" "01");
	cfg.no_kernel = true;
	ENCODE(&cfg, back, START "5120104000" "01" "312210" "02b28877665544332211" "3d2210"
	       "3d2610" "01");
	cfg.no_kernel = false;
	cfg.no_user = true;
	ENCODE(&cfg, back, PSB "02031e00" "0223" "0243000100000000" "9901" "7100000081ffff" "01");
}

/* A signal seen by a user-only recorder: FUP, TIP.PGD; goes on at the handler. */
static void interrupt(void **state)
{
	const struct model_event ev[] = {
		RUN(jcc, 1, 0x401000, 1),
		{ .op = MODEL_RUN, .block = &jcc, .insns = 1, .to = MODEL_NO_ADDR, .tick = 2 },
		{ .op = MODEL_TRAP, .from = 0x401001, .to = MODEL_UNSEEN, .tick = 2 },
		{ .op = MODEL_ENTER, .to = 0x401010, .tick = 5 }, RUN(ret, 1, 0x401020, 6)
	};
	const struct model_event seen[] = {
		RUN(jcc, 1, 0x401000, 1),
		{ .op = MODEL_TRAP, .from = 0x401000, .to = 0xffffffff81000000, .tick = 2 },
		RUN(kern, 1, 0x401000, 3), RUN(jcc, 0, 0x401003, 4)
	};
	struct model_pt_cfg cfg = { 0 };

	(void)state;
	ENCODE(&cfg, ev, START "5100104000" "06" "3d0110" "01" "311010" "2d2010" "3d2010" "01");
	ENCODE(&cfg, seen, START "5100104000" "06" "3d0010" "6d00000081ffff" "6d001040000000" "04"
	       "3d0310" "01");
}

/*
 * TSC 1000 ticks after 0, crystal 2 : 84 (42 ticks each): at 1000 its count is 23, 34 ticks old;
 * with MTCFreq 3 it is sent at count 24, at 1008. A cycle is a tick.
 */
static void times(void **state)
{
	const struct model_event ev[] = {
		RUN(jcc, 1, 0x401000, 1000), RUN(jcc, 1, 0x401000, 1010),
		RUN(jcc, 0, 0x401003, 1020)
	};
	struct model_pt_cfg cfg = { .tsc = true, .mtc = true, .mtc_freq = 3, .ctc_eax = 2,
		.ctc_ebx = 84 };

	(void)state;
	/* FC is 34, the branches are passed by MTC 3 (24 >> 3) */
	ENCODE(&cfg, ev, PSB "19e8030000000000" "02731700002200" "02031e00" "0223" "9901"
	       "5100104000" "5903" "1c" "3d0310" "01");
	cfg.mtc_flush = true;
	ENCODE(&cfg, ev, PSB "19e8030000000000" "02731700002200" "02031e00" "0223" "9901"
	       "5100104000" "06" "5903" "0c" "3d0310" "01");
	/* 8 cycles up to the MTC, 12 to the TNT that the FUP sends */
	cfg.cyc = true;
	cfg.mtc_flush = false;
	ENCODE(&cfg, ev, PSB "19e8030000000000" "02731700002200" "02031e00" "0223" "9901"
	       "5100104000" "43" "5903" "63" "1c" "3d0310" "01");
	/* at most each 16 cycles */
	cfg.cyc_thresh = 5;
	ENCODE(&cfg, ev, PSB "19e8030000000000" "02731700002200" "02031e00" "0223" "9901"
	       "5100104000" "5903" "a3" "1c" "3d0310" "01");
}

/* Whole packets up to where it starts; then OVF, and FUP in full. */
static void overflow(void **state)
{
	struct model_event ev[400];
	struct model_pt_cfg cfg = { .ovf_every = 100, .ovf_events = 8, .seed = 5 };
	struct model_pt *m;
	char *ovf;

	(void)state;
	for (unsigned i = 0; i < 400; i++)
		ev[i] = (struct model_event)RUN(jcc, 1, 0x401000, i);
	text[0] = 0;
	nlost = 0;
	assert_int_equal(model_pt_new(&m, &cfg, &out), 0);
	for (unsigned i = 0; i < 400 && nlost < 1; i++)
		assert_int_equal(model_pt_put(m, &ev[i]), 0);
	assert_int_equal(model_pt_end(m), 0);
	model_pt_free(m);
	assert_int_equal(nlost, 1);
	ovf = strstr(text, "02f3");
	assert_non_null(ovf);
	assert_memory_equal(ovf, "02f3" "7d001040000000", 18);
	/* in front of it are full packets of six, up to the first event that is lost */
	assert_int_equal(lost_from % 6, 0);
	assert_int_equal(strlen(START "5100104000") + lost_from / 6 * 2, ovf - text);
	assert_true(lost_to > lost_from);
}

static void limits(void **state)
{
	struct model_pt_cfg bad[] = { { .tnt = 3 }, { .ips = 3 }, { .mtc_freq = 16 },
		{ .cyc_thresh = 13 }, { .nranges = 5 }, { .buf_bytes = 1 }, { .psb_bytes = 64 },
		{ .ctc_eax = 1, .ctc_ebx = 600 }, { .cbr_min = 9, .cbr_max = 8 } };
	const struct model_event no_block = { .op = MODEL_RUN }, no_op = { .op = 77 },
		run = RUN(jcc, 1, 0x401000, 1), end = END(2);
	struct model_pt_cfg cfg = { 0 };
	struct model_pt *m = NULL;

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(model_pt_new(&m, &bad[i], &out), -EINVAL);
	assert_null(m);
	assert_int_equal(model_pt_new(&m, &cfg, &out), 0);
	assert_int_equal(model_pt_put(m, &no_block), -EINVAL);
	assert_int_equal(model_pt_put(m, &no_op), -EINVAL);
	assert_int_equal(model_pt_put(m, &run), 0);
	assert_int_equal(model_pt_put(m, &end), 0);
	assert_int_equal(model_pt_put(m, &run), -EINVAL);
	model_pt_free(m);
	model_pt_free(NULL);
	assert_string_equal(model_pt_kind_name(MODEL_PT_PTW), "ptw");
	assert_string_equal(model_pt_kind_name(MODEL_PT_KINDS), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(branches), cmocka_unit_test(tnt), cmocka_unit_test(rings),
		cmocka_unit_test(interrupt), cmocka_unit_test(times),
		cmocka_unit_test(overflow), cmocka_unit_test(limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
