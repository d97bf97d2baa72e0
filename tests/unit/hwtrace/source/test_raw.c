/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "hwtrace/source/raw.h"

static struct capture *c;
static struct hwt_diag diag;
static char dir[] = "/tmp/hwt-raw-XXXXXX";

static const char psb[] = "\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82\x02\x82";

typedef int reader(struct capture *, struct file *, const struct raw_config *, struct hwt_diag *);

static int read_with(reader *rd, const char *config, const char *cpu, const void *p, size_t n)
{
	struct raw_config cfg = { .dir = dir, .cpu = cpu };
	struct file *f;

	diag = (struct hwt_diag){ .text = "" };
	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(ini_parse(&cfg.ini, &c->arena, "cfg", config, strlen(config), &c->notes),
			 0);
	assert_int_equal(file_mem(&f, "t.bin", p, n), 0);
	return rd(c, f, &cfg, &diag);
}

static int pt(const char *config)
{
	return read_with(raw_read_pt, config, NULL, psb, 16);
}

static int clean(void **state)
{
	capture_free(c);
	c = NULL;
	return 0;
}

static void pt_keys(void **state)
{
	const struct trace_cfg *g;

	if (pt("cpu=6/0x55/4\nmtc_freq=3\nnom_freq=24\ncpuid_0x15_eax=2\ncpuid_0x15_ebx=250\n"
	       "tsc_mult=1076264588\ntsc_shift=31\ntsc_zero=0xffd0a8e0b0000000\nnoretcomp=1\n"
	       "filter=0x1000-0x1fff\nfilter_stop=8192-8193\ncpu_number=5\npid=7\ntid=8\n"))
		fail_msg("%s", diag.text);
	g = &c->bufs[0].cfgs[0];
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(g->r.pt.family, 6);
	assert_int_equal(g->r.pt.model, 85);
	assert_int_equal(g->r.pt.stepping, 4);
	assert_int_equal(g->r.pt.mtc_freq, 3);
	assert_int_equal(g->r.pt.nom_freq, 24);
	assert_int_equal(g->r.pt.cpuid_15_eax, 2);
	assert_int_equal(g->r.pt.cpuid_15_ebx, 250);
	assert_true(g->r.pt.noretcomp);
	assert_int_equal(g->r.pt.nfilter, 2);
	assert_int_equal(g->r.pt.filter[0][1], 0x1fff);
	assert_int_equal(g->r.pt.filter[1][0], 0x2000);
	assert_int_equal(g->r.pt.filter_stop, 2);
	assert_int_equal(c->tsc.mult, 1076264588);
	assert_int_equal(c->tsc.shift, 31);
	assert_true(c->tsc.zero == 0xffd0a8e0b0000000ull);
	assert_int_equal(c->bufs[0].cpu, 5);
	assert_int_equal(c->bufs[0].spans[0].tid, 8);
	assert_int_equal(c->bufs[0].spans[0].size, 16);
}

static void pt_bad(void **state)
{
	static const char *const bad[] = { "cpu=6\n", "cpu=6/300\n", "cpu=6/1/2/3\n", "cpu=6/\n",
		"cpu=/6/1\n", "cpu=\n", "mtc_freq=16\n", "nom_freq=256\n", "tsc_shift=64\n",
		"tsc_mult=0x100000000\n", "filter=5-4\n", "filter=1\n", "filter=-\n",
		"filter=0-1\nfilter=0-1\nfilter=0-1\nfilter=0-1\nfilter=0-1\n", "pid=-1\n",
		"dump=x\n", "dump=x@\n", "dump=@0\n", "dump=x@0,1,2,3\n", "dump=x@y\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (pt(bad[i]) != -HWT_E_FORMAT)
			fail_msg("%s: taken", bad[i]);
		assert_int_equal(diag.id, 85);
		assert_string_equal(diag.file, "cfg");
		clean(NULL);
	}
	assert_int_equal(pt("dump=none@0\n"), -ENOENT);
	clean(NULL);
	assert_int_equal(pt("colour=red\n"), 0);
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].diag.id, 85);
	clean(NULL);
	assert_int_equal(read_with(raw_read_pt, "", "6/85", psb, 16), 0);
	assert_int_equal(c->bufs[0].cfgs[0].r.pt.model, 85);
	clean(NULL);
	assert_int_equal(read_with(raw_read_pt, "", "Skylake", psb, 16), -EINVAL);
	clean(NULL);
	assert_int_equal(read_with(raw_read_pt, "", NULL, psb, 0), -HWT_E_FORMAT);
	assert_int_equal(diag.id, 5);
	clean(NULL);
	/* no PSB: opened as asked, and said */
	assert_int_equal(read_with(raw_read_pt, "", NULL, psb + 1, 15), 0);
	assert_int_equal(c->notes.v[0].diag.id, 11);
}

static void dumps(void **state)
{
	char path[64];
	struct hwt_map m;
	FILE *f;

	snprintf(path, sizeof(path), "%s/code.bin", dir);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs("0123456789", f);
	fclose(f);
	assert_int_equal(pt("dump=code.bin@0x1000\ndump=code.bin@0x2000,2,3\n"), 0);
	unlink(path);
	assert_true(hwt_image_map_at(c->image, 0, &m));
	assert_true(m.addr == 0x1000 && m.size == 10 && m.file_off == 0 && m.raw);
	assert_true(hwt_image_map_at(c->image, 1, &m));
	assert_true(m.addr == 0x2000 && m.size == 3 && m.file_off == 2);
	assert_false(hwt_image_map_at(c->image, 2, &m));
}

/* one ETMv4 A-sync with the packets after it */
static const uint8_t etm[30] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x01, 0x00, 0x04,
	0x81, 0x10, 0x9d, 0, 0, 8, 8, 0x80, 0xff, 0xff, 0xff, 0xf7, 0xf6, 0xf7 };

static int cs(const char *config)
{
	return read_with(raw_read_cs, config, NULL, etm, sizeof(etm));
}

static void cs_keys(void **state)
{
	const struct trace_buf *b;

	if (cs("framing=memory\n[source]\nproto=ETM4\nname=big\ncore=Cortex-A72\ncpu=2\n"
	       "TRCCONFIGR=0xc1\nTRCTRACEIDR=0x10\nTRCIDR0=1\nTRCIDR1=2\nTRCIDR2=3\n"
	       "[source]\nproto=STM\ntrace_id=0x20\nSTMTCSR=0x00a00005\n"))
		fail_msg("%s", diag.text);
	b = &c->bufs[0];
	assert_int_equal(b->framing, FRAMING_MEM);
	assert_int_equal(b->ncfgs, 2);
	assert_string_equal(b->cfgs[0].name, "big");
	assert_int_equal(b->cfgs[0].cpu, 2);
	assert_int_equal(b->cfgs[0].trace_id, 0x10);
	assert_int_equal(b->cfgs[0].arch, 8);
	assert_int_equal(b->cfgs[0].r.etm4.idr2, 3);
	assert_int_equal(b->cfgs[1].proto, HWT_PROTO_STM);
	/* what is configured wins over the register, which says 0x20 too (bits 16 to 22) */
	assert_int_equal(b->cfgs[1].trace_id, 0x20);
	/* the bytes are raw: the doubt is said */
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].diag.id, 86);
	assert_non_null(strstr(c->notes.v[0].diag.text, "framing=none"));
	assert_string_equal(c->arch, "aarch64");
}

static void cs_unframed(void **state)
{
	assert_int_equal(cs("[source]\nproto=ETM4\ncore=Cortex-A53\nTRCCONFIGR=0\nTRCTRACEIDR=1\n"
			    "TRCIDR0=1\nTRCIDR1=2\nTRCIDR2=3\n"), 0);
	assert_int_equal(c->bufs[0].framing, FRAMING_NONE);
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].severity, HWT_NOTE_INFO);
}

static void cs_bad(void **state)
{
	static const char *const bad[] = { "framing=round\n[source]\nproto=ETM4\n", "[source]\n",
		"[source]\nproto=XYZ\n", "[source]\nproto=ETM4\ntrace_id=0x80\n",
		"[source]\nproto=ETM4\ncpu=x\n", "[source]\nproto=ETM4\nTRCIDR0=z\n",
		"[source]\nproto=ETM4\nTRCIDR0=0x100000000\n" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		if (cs(bad[i]) != -HWT_E_FORMAT)
			fail_msg("%s: taken", bad[i]);
		assert_int_equal(diag.id, 85);
		clean(NULL);
	}
	/* E11: without a description the evidence is shown */
	assert_int_equal(cs(""), -HWT_E_FORMAT);
	assert_int_equal(diag.id, 84);
	assert_non_null(strstr(diag.text, "--config"));
	assert_non_null(strstr(diag.text, "framing=none"));
}

static int setup(void **state)
{
	return mkdtemp(dir) ? 0 : -1;
}

static int teardown(void **state)
{
	return rmdir(dir);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test_teardown(pt_keys, clean), cmocka_unit_test_teardown(pt_bad, clean),
		cmocka_unit_test_teardown(dumps, clean), cmocka_unit_test_teardown(cs_keys, clean),
		cmocka_unit_test_teardown(cs_unframed, clean),
		cmocka_unit_test_teardown(cs_bad, clean),
	};

	return cmocka_run_group_tests(t, setup, teardown);
}
