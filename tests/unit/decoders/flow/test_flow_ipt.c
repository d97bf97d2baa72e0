/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Flow of hand-made Intel PT streams. The truth is the packet list in each fixture, the code bytes
 * here and the manual (SDM vol. 3, "Intel Processor Trace"); L is 401000.
 * Longer than other files: all cases walk the same code.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../decoders/pt/packet.h"
#include "../../../support/fixture.h"
#include "../../../support/ptenc.h"
#include "../../../support/ptflow.h"

#define NOPS16 "90909090909090909090909090909090"

struct code { uint64_t addr; const char *hex; };

struct row {
	const char *fixture;
	struct code code[4];
	const char *expect;
	unsigned model;		/* of family 6; 0: CPU not known */
	uint64_t filter[2];	/* second 0: none */
	enum hwt_resync resync;
};

static const struct row rows[] = {
	{ "ovf-fup", { { 0x401020, "7502" }, { 0x401024, "7502" }, { 0x401026, NOPS16 } },
		.expect = "gap overflow 27+0\n"
		"401020-401020 1 branch\n"
		"401024-401024 1 branch\n"
		"401026-40102f 10 other\n"
		"off 401030 cut\n" },
	/* code before the overflow is there, but no packet says that it ran */
	{ "ovf-fup", { { 0x401000, NOPS16 }, { 0x401020, "7502" }, { 0x401024, "7502" },
		{ 0x401026, NOPS16 } },
		.expect = "gap overflow 27+0\n"
		"401020-401020 1 branch\n"
		"401024-401024 1 branch\n"
		"401026-40102f 10 other\n"
		"off 401030 cut\n" },
	{ "ovf-pge", { { 0x401020, NOPS16 } },
		.expect = "gap overflow 27+0\n"
		"on 401020\n"
		"401020-401023 4 other\n"
		"off 401024 cut\n" },
	{ "psb-ovf", { { 0x401010, "4889c090" } },	/* three bytes in 64-bit mode only */
		.expect = "gap overflow 25+0\n"
		"on 401010\n"
		"401010-401013 2 other\n"
		"off 401014 cut\n" },
	{ "psb-disabled", { { 0x401000, "0f05" }, { 0x401008, "90" } },
		.expect = "401000-401000 1 far-call\n"
		"off -\n"
		"freq 24\n"
		"exstop 0 -\n"
		"mark 0/32 -\n"
		"on 401008\n"
		"401008-401008 1 other\n"
		"off 401009 cut\n" },
	{ "bdm70", { { 0x401000, NOPS16 }, { 0x401010, NOPS16 } },
		.expect = "401000-401003 4 other\n"
		"off 401004 cut\n"
		"on 401010\n"
		"401010-401013 4 other\n"
		"off 401014 cut\n" },
	/* without the filter the disabling branch is a far one, which is not in this code */
	{ "pgd-noip-direct", { { 0x401000, "75027502eb10" }, { 0x401080, "90" } },
		.expect = "on 401000\n"
		"401000-401000 1 branch\n"
		"401002-401002 1 branch\n"
		"401004-401004 1 jump\n"
		"gap no-image 29+0 at 401016\n"
		"on 401080\n"
		"401080-401080 1 other\n"
		"off 401081 cut\n", .resync = HWT_RESYNC_PACKET },
	{ "pgd-noip-direct", { { 0x401000, "75027502eb10" }, { 0x401080, "90" } },
		.expect = "on 401000\n"
		"401000-401000 1 branch\n"
		"401002-401002 1 branch\n"
		"401004-401004 1 jump\n"
		"gap no-image 29+7 at 401016\n" },
	{ "pgd-noip-direct", { { 0x401000, "75027502eb10" }, { 0x401080, "90" } },
		.expect = "on 401000\n"
		"401000-401000 1 branch\n"
		"401002-401002 1 branch\n"
		"401004-401004 1 jump\n"
		"off -\n"
		"on 401080\n"
		"401080-401080 1 other\n"
		"off 401081 cut\n", .model = 0x5e, .filter = { 0x401000, 0x401008 } },
	{ "syscall-ret", { { 0x70000015, "0f05c3" } },
		.expect = "on 70000015\n"
		"70000015-70000015 1 far-call\n"
		"off -\n"
		"on 70000017 resumed\n"
		"70000017-70000017 1 return\n" },
	/*
	 * A trace unit forgets its calls at a PSB (SDM, "RET Compression": the stack that both
	 * sides keep begins there), and a decoder that starts there knows none; so the taken bit
	 * is a return without call, although libipt keeps its stack and would follow it.
	 */
	{ "retcomp-psb", { { 0x401000, "e82b00000090" }, { 0x401030, "750e" },
		{ 0x401040, "c3" } },
		.expect = "on 401000\n"
		"401000-401000 1 call\n"
		"401030-401030 1 branch\n"
		"401040-401040 1 return\n"
		"gap no-return 55+5 at 401040\n" },
	{ "retcomp-psb", { { 0x401000, "e82b00000090" }, { 0x401030, "750e" },
		{ 0x401040, "c3" } },
		.expect = "on 401000\n"
		"401000-401000 1 call\n"
		"401030-401030 1 branch\n"
		"401040-401040 1 return\n"
		"gap no-return 55+1 at 401040\n"
		"off 401005 cut\n", .resync = HWT_RESYNC_PACKET },
	{ "ipc-signext", { { 0xffffffffc05f803c, "90909090" } },
		.expect = "on ffffffffc05f803c\n"
		"ffffffffc05f803c-ffffffffc05f803f 4 other\n"
		"off ffffffffc05f8040 cut\n" },
	{ "ipc-reserved5", { { 0 } }, .expect = "gap bad-packet 27+9\n" },
	{ "ipc-reserved7", { { 0 } }, .expect = "gap bad-packet 27+9\n" },
	{ "lastip-psb", { { 0xffffffff81001000, "90909090" } },
		.expect = "on ffffffff81001000\n"
		"ffffffff81001000-ffffffff81001003 4 other\n"
		"off ffffffff81001004 cut\n"
		"on 1234\n" },
	{ "lastip-suppress", { { 0x401000, NOPS16 NOPS16 } },
		.expect = "on 401000\n"
		"401000-401003 4 other\n"
		"off 401004 cut\n"
		"on 401008\n"
		"401008-40100f 8 other\n"
		"off 401010\n"
		"on 401018\n"
		"401018-401018 1 other\n"
		"off 401019 cut\n" },
	{ "tma-res", { { 0 } }, .expect = "gap bad-packet 24+11\n" },
	{ "cbr-cyc", { { 0 } }, .expect = "freq 32\nfreq 8\n" },
	{ "cyc-long", { { 0x401000, "7502" } }, .expect = "401000-401000 1 branch\n" },
	{ "cyc-cut", { { 0 } }, .expect = "gap truncated 27+1\n" },
	{ "skd007", { { 0x401000, "90" } },
		.expect = "gap overflow 28+0\n"
		"401000-401000 1 other\n"
		"off 401001 cut\n", .model = 0x4e },
	{ "pebs-bip", { { 0x401000, "90907500750075007500" } },
		.expect = "401000-401001 2 other\n"
		"record bbp 27+23\n"
		"401002-401002 1 branch\n"
		"401004-401004 1 branch\n"
		"401006-401006 1 branch\n"
		"401008-401008 1 branch\n" },
	{ "pebs-bip4", { { 0x401000, "750075007500" } },
		.expect = "record bbp 27+15\n"
		"401000-401000 1 branch\n"
		"401002-401002 1 branch\n"
		"401004-401004 1 branch\n" },
	{ "exstop-ovf", { { 0x401000, NOPS16 }, { 0x401008, "75ff" } },
		.expect = "exstop 0 -\n"
		"gap overflow 29+0\n"
		"401008-401008 1 branch\n"
		"off 401009 cut\n" },
	{ "exstop-cbr", { { 0x401000, "90907405" }, { 0x401009, "90" } },
		.expect = "freq 32\n"
		"401000-401001 2 other\n"
		"exstop 0 401002\n"
		"freq 15\n"
		"401002-401002 1 branch\n"
		"off 401009 cut\n" },
	{ "async", { { 0x401000, NOPS16 }, { 0xffffffff81e00000, "750048cf" } },
		.expect = "401000-401003 4 other\n"
		"exc 401004>ffffffff81e00000\n"
		"ffffffff81e00000-ffffffff81e00000 1 branch\n"
		"ffffffff81e00002-ffffffff81e00002 1 far-return\n"
		"401004-401005 2 other\n"
		"off 401006 cut\n" },
	{ "tsx-abort", { { 0x401000, NOPS16 }, { 0x401040, "90" } },
		.expect = "401000-401000 1 other\n"
		"tx 401001 begin\n"
		"401001-401003 3 other\n"
		"tx 401004 abort\n"
		"exc 401004>401040\n"
		"401040-401040 1 other\n"
		"off 401041 cut\n" },
	/* the branch before the cut is shown, nothing behind it */
	{ "psb-cut", { { 0x401000, "75009090" } },
		.expect = "401000-401000 1 branch\n"
		"gap truncated 28+10\n" },
	{ "badopc", { { 0x401000, "90" } },
		.expect = "gap bad-packet 27+4\n"
		"401000-401000 1 other\n"
		"off 401001 cut\n" },
	{ "stop", { { 0x401000, NOPS16 } },
		.expect = "401000-401000 1 other\n"
		"off 401001 cut\n"
		"trigger 2\n"
		"on 401004\n"
		"401004-401004 1 other\n"
		"off 401005 cut\n" },
	/* no packet says that any of it ran */
	{ "loop", { { 0x401000, "ebfe" } }, .expect = "on 401000\n" },
	{ "loop", { { 0x401000, "f390ebfc" } }, .expect = "on 401000\n" },
	{ "loop", { { 0x401000, "e8fbffffff" } }, .expect = "on 401000\n" },
	{ "loop", { { 0x401000, NOPS16 } }, .expect = "on 401000\n" },
	{ "zero", { { 0 } }, .expect = "gap no-sync 0+64\n" },
	{ "ff", { { 0 } }, .expect = "gap no-sync 0+64\n" },
	{ "02", { { 0 } }, .expect = "gap no-sync 0+65\n" },
};

static struct fixture fx;
static struct ptflow pf;
static char text[1 << 16];

static void load(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "fixtures/packets/pt/%s.txt", name);
	assert_int_equal(fixture_read(&fx, path), 0);
	ptflow_init(&pf);
	ptflow_span(&pf, fx.bytes, fx.size);
}

static void test_rows(void **state)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		load(r->fixture);
		for (int k = 0; k < 4 && r->code[k].hex; k++)
			ptflow_code(&pf, HWT_NONE, r->code[k].addr, r->code[k].hex);
		if (r->model) {
			pf.cfg.r.pt.family = 6;
			pf.cfg.r.pt.model = (uint8_t)r->model;
			pf.cfg.r.pt.stepping = 3;
		}
		if (r->filter[1]) {
			memcpy(pf.cfg.r.pt.filter[0], r->filter, sizeof(r->filter));
			pf.cfg.r.pt.nfilter = 1;
		}
		pf.want.resync = r->resync;
		ptflow_run(&pf, text, sizeof(text));
		if (strcmp(text, r->expect))
			print_message("%s (%zu)\n", r->fixture, i);
		assert_string_equal(text, r->expect);
		ptflow_fini(&pf);
	}
}

/* 54 branches, 47 T, 1 N, 6 T: a taken jump goes to itself, one not taken to the next one. */
static void test_long_tnt(void **state)
{
	size_t n = 0;

	load("longtnt");
	ptflow_code(&pf, HWT_NONE, 0x401000, "75fe75fe");
	ptflow_run(&pf, text, sizeof(text));
	for (const char *p = text; (p = strstr(p, "401000-401000 1 branch\n")); p++)
		n++;
	assert_int_equal(n, 48);
	for (const char *p = text; (p = strstr(p, "401002-401002 1 branch\n")); p++)
		n++;
	assert_int_equal(n, 54);
	assert_non_null(strstr(text, "off 401002 cut\n"));
	ptflow_fini(&pf);
}

/* An incomplete PEBS block, the hole behind it, and a BEP without block. */
static void test_pebs_overflow(void **state)
{
	load("pebs-ovf");
	ptflow_code(&pf, HWT_NONE, 0x401004, "7500750090");
	ptflow_run(&pf, text, sizeof(text));
	assert_non_null(strstr(text, "record bbp 27+12\ngap overflow 39+0\n"));
	assert_non_null(strstr(text, "record bep 49+2\n"));
	assert_non_null(strstr(text, "401004-401004 1 branch\n"));
	assert_non_null(strstr(text, "401006-401006 1 branch\n"));
	assert_int_equal(pf.stats.insns, 2);
	ptflow_fini(&pf);
}

/* Event trace, which libipt does not know: alone, with a FUP, with an interrupt's FUP and TIP. */
static void test_event_trace(void **state)
{
	static uint8_t b[256];
	struct model_pt_buf e;
	size_t evd, iret, intr, alone;
	char expect[512];

	ptflow_init(&pf);
	ptflow_code(&pf, HWT_NONE, 0x401000, NOPS16);
	ptflow_code(&pf, HWT_NONE, 0xffffffff81000000, "7500 48cf");
	model_pt_init(&e, b, sizeof(b));
	ptenc_psb_plus(&e, 0x401000, true);
	evd = e.n;
	model_pt_evd(&e, 0, 0x1234);
	intr = e.n;
	model_pt_cfe(&e, 1, 14, true);
	model_pt_fup(&e, 0x401002);
	model_pt_tip(&e, 0xffffffff81000000);
	ptenc_tnt(&e, "N");
	iret = e.n;
	model_pt_cfe(&e, 2, 0, false);
	model_pt_tip(&e, 0x401002);
	alone = e.n;
	model_pt_cfe(&e, 3, 0, true);
	model_pt_fup(&e, 0x401004);
	model_pt_fup(&e, 0x401006);	/* IP compression goes on over both */
	model_pt_pgd_noip(&e);
	assert_false(e.full);
	ptflow_span(&pf, b, e.n);
	ptflow_run(&pf, text, sizeof(text));
	snprintf(expect, sizeof(expect), "record evd %zu+11\n"
		 "record cfe %zu+4\n"
		 "401000-401001 2 other\n"
		 "exc 401002>ffffffff81000000\n"
		 "ffffffff81000000-ffffffff81000000 1 branch\n"
		 "record cfe %zu+4\n"
		 "ffffffff81000002-ffffffff81000002 1 far-return\n"
		 "401002-401003 2 other\n"
		 "record cfe %zu+4\n"
		 "401004-401005 2 other\n"
		 "off 401006 cut\n", evd, intr, iret, alone);
	assert_string_equal(text, expect);
	ptflow_fini(&pf);
}

/* A block handed on: two items, as fixtures/packets/pt/pebs-bip.txt says. */
static void test_record_text(void **state)
{
	struct hwt_event ev = { .type = HWT_EV_RECORD };
	size_t n;

	load("pebs-bip");
	ev.u.rec.id = FLOW_RECORD_PT | IPT_BBP;
	ev.u.rec.data = fx.bytes + 27;
	ev.u.rec.size = 23;
	assert_true(flow_is_record(&ev));
	assert_string_equal(flow_record_name(&ev), "pt:pebs");
	n = flow_record_text(&ev, text, sizeof(text));
	assert_string_equal(text, "bbp type 1, 8-byte items; bip 0: 11 rflags; bip 1: 0 rip; "
			    "bep ip");
	assert_int_equal(n, strlen(text));
	assert_int_equal(flow_record_text(&ev, text, 5), n);
	assert_string_equal(text, "bbp ");
	assert_int_equal(flow_record_text(&ev, NULL, 0), n);
	ptflow_fini(&pf);
}

/* Wrong code that never asks for a packet, while packets are left: one hole, bounded work. */
static void test_no_progress(void **state)
{
	static const struct { const char *code, *addr; } v[] = {
		{ "ebfe", "401000" }, { "f390ebfc", "401000" }, { "e8fbffffff", "401000" },
		{ "e800000000ebf9", "401005" },		/* a call to the next one, back */
	};
	/* H, then a TNT, then H again and a disable at L + 1 */
	static const char bytes[] =
		"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x99\x01"
		"\x7d\x00\x10\x40\x00\x00\x00\x02\x23" "\x06"
		"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x99\x01"
		"\x7d\x00\x20\x40\x00\x00\x00\x02\x23" "\x3d\x01\x20\x01";
	char expect[128];

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		ptflow_init(&pf);
		ptflow_span(&pf, bytes, sizeof(bytes) - 1);
		ptflow_code(&pf, HWT_NONE, 0x401000, v[i].code);
		ptflow_code(&pf, HWT_NONE, 0x402000, "9090");
		ptflow_run(&pf, text, sizeof(text));
		snprintf(expect, sizeof(expect), "gap no-progress 27+1 at %s\n"
			 "402000-402000 1 other\n"
			 "off 402001 cut\n", v[i].addr);
		assert_string_equal(text, expect);
		assert_true(pf.stats.steps < 64);
		ptflow_fini(&pf);
	}
}

/* A library that is not there: flow goes on where the trace names code again. */
static void test_hole_in_the_image(void **state)
{
	static uint8_t b[256];
	struct model_pt_buf e;

	ptflow_init(&pf);
	ptflow_code(&pf, HWT_NONE, 0x401000, "ffd0 7500 ffd0 90 ffd0 90 90 c3");
	ptflow_code(&pf, HWT_NONE, 0xffffffff81000000, "7500 48cf");
	model_pt_init(&e, b, sizeof(b));
	ptenc_psb_plus(&e, 0x401000, true);
	model_pt_tip(&e, 0x500000);		/* the call */
	ptenc_tnt(&e, "TTNT");
	model_pt_tip(&e, 0x500100);
	model_pt_tip(&e, 0x401002);		/* its return */
	ptenc_tnt(&e, "N");
	model_pt_tip(&e, 0x500000);		/* another one, with an interrupt inside */
	model_pt_fup(&e, 0x500004);
	model_pt_tip(&e, 0xffffffff81000000);
	ptenc_tnt(&e, "N");
	model_pt_tip(&e, 0x500004);
	ptenc_tnt(&e, "T");
	model_pt_ovf(&e);				/* lost inside, found outside */
	model_pt_fup(&e, 0x401007);
	model_pt_tip(&e, 0x500000);
	ptenc_psb_plus(&e, 0x401009, true);	/* back by a way that no packet names */
	model_pt_fup(&e, 0x40100a);
	model_pt_pgd_noip(&e);
	assert_false(e.full);
	ptflow_span(&pf, b, e.n);
	/* to the next PSB, as libipt's own tools */
	ptflow_run(&pf, text, sizeof(text));
	assert_string_equal(text, "401000-401000 1 icall\n"
			    "gap no-image 32+46 at 500000\n"
			    "401009-401009 1 other\n"
			    "off 40100a cut\n");
	pf.want.resync = HWT_RESYNC_PACKET;
	ptflow_run(&pf, text, sizeof(text));
	assert_string_equal(text, "401000-401000 1 icall\n"
			    "gap no-image 32+4 at 500000\n"
			    "401002-401002 1 branch\n"
			    "401004-401004 1 icall\n"
			    "gap no-image 47+3 at 500000\n"
			    "ffffffff81000000-ffffffff81000000 1 branch\n"
			    "ffffffff81000002-ffffffff81000002 1 far-return\n"
			    "gap no-image 65+3 at 500004\n"
			    "gap overflow 66+0\n"
			    "401007-401007 1 icall\n"
			    "gap no-image 78+0 at 500000\n"
			    "401009-401009 1 other\n"
			    "off 40100a cut\n");
	ptflow_fini(&pf);
}

/* An idle loop that an interrupt leaves is no fault; how often it ran is not known. */
static void test_idle_loop(void **state)
{
	static const char bytes[] =
		"\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x99\x01"
		"\x7d\x00\x10\x40\x00\x00\x00\x02\x23"
		"\x3d\x02\x10\x2d\x00\x20"		/* FUP L+2, TIP 402000 */
		"\x3d\x01\x20\x01";

	ptflow_init(&pf);
	ptflow_span(&pf, bytes, sizeof(bytes) - 1);
	ptflow_code(&pf, HWT_NONE, 0x401000, "f390ebfc");
	ptflow_code(&pf, HWT_NONE, 0x402000, "9090");
	ptflow_run(&pf, text, sizeof(text));
	assert_string_equal(text, "401000-401000 1 other\n"
			    "exc 401002>402000\n"
			    "402000-402000 1 other\n"
			    "off 402001 cut\n");
	ptflow_fini(&pf);
}

/* Memory that was never written is no hole, if a PSB comes behind it. */
static void test_zeros_before(void **state)
{
	static uint8_t b[256];

	load("stop");
	memcpy(b + 100, fx.bytes, fx.size);
	pf.buf.nspans = 0;
	ptflow_span(&pf, b, 100 + fx.size);
	ptflow_code(&pf, HWT_NONE, 0x401000, NOPS16);
	ptflow_run(&pf, text, sizeof(text));
	assert_string_equal(text, "401000-401000 1 other\n"
			    "off 401001 cut\n"
			    "trigger 2\n"
			    "on 401004\n"
			    "401004-401004 1 other\n"
			    "off 401005 cut\n");
	b[50] = 1;
	ptflow_run(&pf, text, sizeof(text));
	assert_int_equal(strncmp(text, "gap no-sync 0+100\n", 18), 0);
	ptflow_fini(&pf);
}

/* Recorder's words about bytes around spans, and a decoder that starts afresh in each. */
static void test_spans(void **state)
{
	struct trace_span *s;

	load("async");
	ptflow_code(&pf, HWT_NONE, 0x401000, NOPS16);
	ptflow_code(&pf, HWT_NONE, 0xffffffff81e00000, "750048cf");
	pf.spans[0].size = 27;			/* tracing is on at its end */
	ptflow_span(&pf, fx.bytes + 27, fx.size - 27);
	s = ptflow_span(&pf, fx.bytes, fx.size);
	s->cause_before = HWT_GAP_AUX_LOST;
	s->lost_before = 4096;
	pf.buf.cause_after = HWT_GAP_AUX_MISSING;
	pf.buf.lost_after = 7;
	ptflow_run(&pf, text, sizeof(text));
	assert_string_equal(text, "gap break 27+0\n"
			    "gap no-sync 27+24\n"
			    "gap aux-lost 51+0 lost 4096\n"
			    "401000-401003 4 other\n"
			    "exc 401004>ffffffff81e00000\n"
			    "ffffffff81e00000-ffffffff81e00000 1 branch\n"
			    "ffffffff81e00002-ffffffff81e00002 1 far-return\n"
			    "401004-401005 2 other\n"
			    "off 401006 cut\n"
			    "gap aux-missing 102+0 lost 7\n");
	ptflow_fini(&pf);
}

static void test_levels(void **state)
{
	load("async");
	ptflow_code(&pf, HWT_NONE, 0x401000, NOPS16);
	ptflow_code(&pf, HWT_NONE, 0xffffffff81e00000, "750048cf");
	pf.want.level = HWT_LEVEL_HOLES;
	assert_string_equal(ptflow_run(&pf, text, sizeof(text)), "");
	assert_int_equal(pf.stats.insns, 8);
	pf.want.level = HWT_LEVEL_CALLS;
	assert_string_equal(ptflow_run(&pf, text, sizeof(text)),
			    "exc 401004>ffffffff81e00000\n"
			    "return ffffffff81e00002>401004\n"
			    "off 401006 cut\n");
	ptflow_fini(&pf);
}

/*
 * Two calls, then a RET that goes elsewhere: it used up the entry of the second call, so that a
 * compressed RET leads behind the first. Over an overflow no RET is compressed. Either way 401015
 * did not run.
 */
static void test_stale_returns(void **state)
{
	static uint8_t b[256];

	for (int ovf = 0; ovf < 2; ovf++) {
		struct model_pt_buf e;

		ptflow_init(&pf);
		ptflow_code(&pf, HWT_NONE, 0x401000, "e80b000000 90 7500 90");
		ptflow_code(&pf, HWT_NONE, 0x401010, "e80b000000 90 7500 90");
		ptflow_code(&pf, HWT_NONE, 0x401020, "7500 c3");
		ptflow_code(&pf, HWT_NONE, 0x401030, "c3");
		model_pt_init(&e, b, sizeof(b));
		ptenc_psb_plus(&e, 0x401000, true);
		ptenc_tnt(&e, "N");
		if (ovf) {
			model_pt_ovf(&e);
			model_pt_ip(&e, MODEL_PT_FUP, 0x401030, MODEL_PT_IPB_64);
		} else {
			model_pt_tip(&e, 0x401030);
		}
		ptenc_tnt(&e, "TNT");
		assert_false(e.full);
		ptflow_span(&pf, b, e.n);
		ptflow_run(&pf, text, sizeof(text));
		assert_non_null(strstr(text, "401020-401020 1 branch\n"));
		assert_null(strstr(text, "401015"));
		assert_null(strstr(text, "401005"));
		assert_non_null(strstr(text, "401030-401030 1 return\ngap no-return "));
		pf.want.level = HWT_LEVEL_HOLES;
		pf.buf.nspans = 0;
		ptflow_span(&pf, b, e.n);
		assert_non_null(strstr(ptflow_run(&pf, text, sizeof(text)), "gap no-return "));
		ptflow_fini(&pf);
	}
}

/*
 * Event Trace tells a change of the interrupt flag by MODE.Exec and a FUP, which is no jump (SDM,
 * "MODE.Exec Packet"); with a TIP behind it the same packets are an interrupt. PSBs have both, too.
 */
static void test_interrupt_flag(void **state)
{
	uint8_t bytes[256];
	struct model_pt_buf e;

	ptflow_init(&pf);
	ptflow_code(&pf, HWT_NONE, 0x401000, "90 fb 90 7500 90 fa 90 7500");
	ptflow_code(&pf, HWT_NONE, 0x402000, "90");
	model_pt_init(&e, bytes, sizeof(bytes));
	ptenc_psb_plus(&e, 0x401000, true);
	ptenc_hex(&e, "9905");
	model_pt_fup(&e, 0x401002);
	ptenc_tnt(&e, "N");
	ptenc_psb_plus(&e, 0x401005, true);
	ptenc_hex(&e, "9901");
	model_pt_fup(&e, 0x401007);
	model_pt_fup(&e, 0x401008);
	ptenc_hex(&e, "9901");
	model_pt_tip(&e, 0x402000);
	model_pt_fup(&e, 0x402001);
	model_pt_pgd_noip(&e);
	assert_false(e.full);
	ptflow_span(&pf, bytes, e.n);
	ptflow_run(&pf, text, sizeof(text));
	assert_string_equal(text, "401000-401001 2 other\nrecord mode.exec 27+2\n"
			    "401002-401003 2 branch\n"
			    "401005-401006 2 other\nrecord mode.exec 60+2\n"
			    "401007-401007 1 other\nexc 401008>402000\n"
			    "402000-402000 1 other\noff 402001 cut\n");
	ptflow_fini(&pf);
}

/*
 * Code at 500000 is missing: what needs no code is told in the order of the packets, each once,
 * also that which the library read but did not come to; then the next PSB.
 */
static void test_in_hole(void **state)
{
	static uint8_t bytes[1 << 13];
	struct model_pt_buf e;

	ptflow_init(&pf);
	pf.tsc = (struct time_map){ .mult = 1 };
	pf.buf.pid = pf.buf.tid = HWT_NONE;
	pf.buf.cpu = 3;
	assert_int_equal(machine_switch(pf.machine, 3, 100, 9, 9, 0), 0);
	assert_int_equal(machine_switch(pf.machine, 3, 2500, 10, 10, 0), 0);
	machine_sort(pf.machine);
	ptflow_code(&pf, HWT_NONE, 0x401000, "90 7500 ffe0");
	model_pt_init(&e, bytes, sizeof(bytes));
	model_pt_psb(&e);
	model_pt_tsc(&e, 1000);
	model_pt_pip(&e, 0x1000, false);
	model_pt_cbr(&e, 20);
	model_pt_exec(&e, 64);
	model_pt_psbend(&e);
	model_pt_pge(&e, 0x401000);
	model_pt_cbr(&e, 21);
	ptenc_tnt(&e, "N");
	model_pt_tip(&e, 0x500000);
	model_pt_ptw(&e, 7, 4, false);
	model_pt_tsc(&e, 2000);
	model_pt_cbr(&e, 22);
	model_pt_pip(&e, 0x2000, false);
	model_pt_tip(&e, 0x600000);
	model_pt_mnt(&e, 1);
	model_pt_tsc(&e, 3000);
	for (unsigned i = 0; i < 300; i++) {	/* more than a ring holds, with what is kept free */
		model_pt_ptw(&e, i, 8, false);
		model_pt_cbr(&e, 30);
	}
	ptenc_psb_plus(&e, 0x401000, true);
	ptenc_tnt(&e, "N");
	model_pt_fup(&e, 0x401003);
	model_pt_pgd_noip(&e);
	assert_false(e.full);
	ptflow_span(&pf, bytes, e.n);
	ptflow_run(&pf, text, sizeof(text));
	assert_non_null(strstr(text, "aspace 1000 vm 0\nfreq 20\non 401000\n"));
	assert_non_null(strstr(text, "401003-401003 1 ijump\ngap no-image 69+4236 at 500000\n"
			       "mark 7/32 -\nfreq 22\naspace 2000 vm 0\nrecord mnt 86+11\n"
			       "switch 9>10\nmark 0/64 -\nfreq 30\nmark 1/64 -\nfreq 30\n"));
	assert_non_null(strstr(text, "mark 12b/64 -\nfreq 30\n401000-401001 2 branch\noff 401003"));
	for (const char *p = text, *was = NULL; (p = strstr(p, "freq 2")); was = p++)
		assert_true(!was || was[6] < p[6]);	/* 20, 21, 22: each once */
	ptflow_fini(&pf);
}

static unsigned noted(unsigned id)
{
	unsigned n = 0;

	for (uint32_t i = 0; i < pf.notes.n; i++)
		n += pf.notes.v[i].diag.id == id;
	return n;
}

/* MTC without the ratio to the crystal: said once, not for each run. Case C07. */
static void test_note_ratio(void **state)
{
	for (unsigned known = 0; known < 2; known++) {
		uint8_t bytes[256];
		struct model_pt_buf e;

		ptflow_init(&pf);
		pf.cfg.r.pt.cpuid_15_eax = pf.cfg.r.pt.cpuid_15_ebx = known;
		model_pt_init(&e, bytes, sizeof(bytes));
		for (int i = 0; i < 3; i++) {
			ptenc_psb_plus(&e, 0, false);
			model_pt_mtc(&e, (uint8_t)i);
			ptenc_hex(&e, "d9");		/* no packet: ends a run */
		}
		ptflow_span(&pf, bytes, e.n);
		ptflow_run(&pf, text, sizeof(text));
		assert_int_equal(noted(123), !known);
		ptflow_fini(&pf);
	}
}

/* x7 02 f3: SKD007 where the CPU may have it. The fixture is made from the erratum's text. */
static void test_note_cut(void **state)
{
	for (unsigned family = 0; family <= 6; family += 6) {
		ptflow_init(&pf);
		pf.cfg.r.pt.family = (uint16_t)family;
		pf.cfg.r.pt.model = 0x56;
		assert_int_equal(fixture_read(&fx, "fixtures/packets/pt/skd007.txt"), 0);
		ptflow_span(&pf, fx.bytes, fx.size);
		ptflow_run(&pf, text, sizeof(text));
		assert_int_equal(noted(124), !family);
		ptflow_fini(&pf);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_hole), cmocka_unit_test(test_interrupt_flag),
		 cmocka_unit_test(test_note_ratio),
		cmocka_unit_test(test_note_cut),
		cmocka_unit_test(test_rows), cmocka_unit_test(test_long_tnt),
		cmocka_unit_test(test_pebs_overflow), cmocka_unit_test(test_record_text),
		cmocka_unit_test(test_event_trace), cmocka_unit_test(test_no_progress),
		cmocka_unit_test(test_hole_in_the_image), cmocka_unit_test(test_idle_loop),
		cmocka_unit_test(test_spans), cmocka_unit_test(test_zeros_before),
		cmocka_unit_test(test_levels), cmocka_unit_test(test_stale_returns),
	};

	return ptflow_missing() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
