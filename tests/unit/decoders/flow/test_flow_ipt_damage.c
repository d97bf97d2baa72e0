/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Damaged Intel PT. What holds for every input is checked by ptflow_run(); the truth for the rest
 * is the same stream without damage.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../support/fixture.h"
#include "../../../support/ptenc.h"
#include "../../../support/ptflow.h"

#define L	0x401000

static struct fixture fx;
static struct ptflow pf;
static uint8_t bytes[1 << 16];
static char text[1 << 20], whole[1 << 20];

/* Something of everything at L: branches, a call, a return, an indirect jump, straight code. */
static void code(void)
{
	ptflow_code(&pf, HWT_NONE, L, "7502 7502 eb10 9090 9090 9090 9090 9090 e803000000 c3 9090"
		    "7505 ffe0 ffd0 c3 0f05 48cf ebfe 9090 9090 9090 9090 9090 9090 9090 9090");
	ptflow_code(&pf, HWT_NONE, 0xffffffff81e00000, "7500 48cf");
}

static void run(const void *p, size_t n, char *out)
{
	pf.buf.nspans = 0;
	ptflow_span(&pf, p, n);
	ptflow_run(&pf, out, sizeof(text));
}

static void test_every_byte(void **state)
{
	char *path[64];
	int n = fixture_list("fixtures/packets/pt", ".txt", path, 64);

	assert_true(n > 20);
	ptflow_init(&pf);
	code();
	for (int k = 0; k < n; k++) {
		assert_int_equal(fixture_read(&fx, path[k]), 0);
		for (size_t i = 0; i < fx.size; i++) {
			const uint8_t was = fx.bytes[i];
			const uint8_t v[] = { 0, 0xff, was ^ 1, was ^ 0x80 };

			for (size_t d = 0; d < sizeof(v); d++) {
				fx.bytes[i] = v[d];
				pf.want.resync = HWT_RESYNC_PSB;
				run(fx.bytes, fx.size, text);
				pf.want.resync = HWT_RESYNC_PACKET;
				run(fx.bytes, fx.size, text);
			}
			fx.bytes[i] = was;
		}
		free(path[k]);
	}
	ptflow_fini(&pf);
}

/* Holes do not depend on what is asked for, so that "check" and "list" tell the same. */
static void test_levels_agree(void **state)
{
	static char *holes = whole;
	char *path[64];
	int n = fixture_list("fixtures/packets/pt", ".txt", path, 64);

	ptflow_init(&pf);
	code();
	for (int k = 0; k < n; k++) {
		assert_int_equal(fixture_read(&fx, path[k]), 0);
		for (size_t i = 0; i < 2 * fx.size; i++) {
			const uint8_t was = fx.bytes[i / 2];
			char *at = text, *line;

			fx.bytes[i / 2] ^= i & 1 ? 0x80 : 0x03;
			pf.want.level = HWT_LEVEL_HOLES;
			run(fx.bytes, fx.size, holes);
			pf.want.level = HWT_LEVEL_RANGES;
			run(fx.bytes, fx.size, text);
			fx.bytes[i / 2] = was;
			for (line = holes; (at = strstr(at, "gap ")); at = strchr(at, '\n') + 1) {
				size_t len = (size_t)(strchr(at, '\n') + 1 - at);

				if (strncmp(line, at, len))
					fail_msg("%s, byte %zu:\n%s---\n%s", path[k], i / 2, holes,
						 text);
				line += len;
			}
			assert_int_equal(*line, 0);
		}
		free(path[k]);
	}
	ptflow_fini(&pf);
}

/* A block of flow from a PSB where tracing is off, to where it is off again. */
static void block(struct model_pt_buf *e)
{
	ptenc_psb_plus(e, 0, false);
	model_pt_pge(e, L);
	ptenc_tnt(e, "NNT");
	model_pt_fup(e, L + 0x1f);
	model_pt_pgd_noip(e);
	model_pt_pge(e, L);
	ptenc_tnt(e, "T");
	model_pt_fup(e, L + 4);
	model_pt_pgd_noip(e);
}

/* A cut gives the start of what the whole gives, then at most one hole. */
static void test_cuts(void **state)
{
	struct model_pt_buf e;

	ptflow_init(&pf);
	code();
	model_pt_init(&e, bytes, sizeof(bytes));
	for (int i = 0; i < 3; i++)
		block(&e);
	assert_false(e.full);
	run(bytes, e.n, whole);
	assert_null(strstr(whole, "gap"));
	for (size_t n = 0; n < e.n; n++) {
		/* of its own size, so that a sanitizer sees a read past the end */
		uint8_t *p = malloc(n ? n : 1);
		char *g;

		memcpy(p, bytes, n);
		run(p, n, text);
		free(p);
		g = strstr(text, "gap ");
		if (g) {
			assert_true(!strncmp(g, "gap truncated", 13) ||
				    !strncmp(g, "gap no-sync 0+", 14));
			assert_null(strstr(g + 1, "gap "));
			*g = 0;
		}
		assert_int_equal(strncmp(whole, text, strlen(text)), 0);
	}
	ptflow_fini(&pf);
}

/* Damage between two PSBs leaves what the others give as it was. */
static void test_blocks_are_independent(void **state)
{
	size_t start[4], len;
	struct model_pt_buf e;
	char *one;

	ptflow_init(&pf);
	code();
	model_pt_init(&e, bytes, sizeof(bytes));
	for (int i = 0; i < 3; i++) {
		start[i] = e.n;
		block(&e);
	}
	start[3] = e.n;
	run(bytes, start[1], whole);
	one = strdup(whole);
	len = strlen(one);
	assert_true(len > 0);
	for (size_t i = start[1]; i < start[2]; i++) {
		const uint8_t was = bytes[i];

		bytes[i] = 0xd9 ^ (uint8_t)i;
		run(bytes, start[3], text);
		bytes[i] = was;
		assert_int_equal(strncmp(text, one, len), 0);
		assert_string_equal(text + strlen(text) - len, one);
	}
	free(one);
	ptflow_fini(&pf);
}

/* Any bytes: nothing but the checks of ptflow_run() is expected. */
static void test_noise(void **state)
{
	uint64_t x = 0x9e3779b97f4a7c15;

	ptflow_init(&pf);
	code();
	for (int round = 0; round < 200; round++) {
		struct model_pt_buf e;

		model_pt_init(&e, bytes, 600);
		while (!e.full) {
			uint8_t junk[8];

			block(&e);
			for (int i = 0; i < 8; i++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				junk[i] = (uint8_t)x;
			}
			model_pt_raw(&e, junk, 1 + (x >> 32) % 8);
		}
		pf.want.resync = round & 1;
		run(bytes, e.n, text);
	}
	ptflow_fini(&pf);
}

/* The enable before a PSB is missing: the PSB is believed, and nothing is walked to it. */
static void test_enable_is_missing(void **state)
{
	struct model_pt_buf e;
	size_t psb;

	ptflow_init(&pf);
	code();
	model_pt_init(&e, bytes, sizeof(bytes));
	block(&e);
	psb = e.n;
	model_pt_psb(&e);
	model_pt_cbr(&e, 20);
	model_pt_exec(&e, 64);
	model_pt_ip(&e, MODEL_PT_FUP, L, MODEL_PT_IPB_48S);
	model_pt_psbend(&e);
	ptenc_tnt(&e, "T");
	model_pt_fup(&e, L + 4);
	model_pt_pgd_noip(&e);
	run(bytes, e.n, text);
	snprintf(whole, sizeof(whole), "off 401004 cut\nfreq 20\ngap break %zu+0\n"
		 "401000-401000 1 branch\noff 401004 cut\n", psb);
	assert_non_null(strstr(text, whole));
	/* the same at the address where tracing was switched off: no code between */
	e.n = psb;
	ptenc_psb_plus(&e, L + 4, true);
	model_pt_fup(&e, L + 0x16);
	model_pt_pgd_noip(&e);
	run(bytes, e.n, text);
	snprintf(whole, sizeof(whole), "off 401004 cut\ngap break %zu+0\n"
		 "401004-401004 1 jump\noff 401016 cut\n", psb);
	assert_non_null(strstr(text, whole));
	ptflow_fini(&pf);
}

/*
 * Zeros are PAD packets, but no unit sends a line of them: the packet before them may be cut. As
 * many as units are known to send change nothing, nor do those at the end of a buffer.
 */
static void test_unwritten(void **state)
{
	struct model_pt_buf e;
	size_t tnt, psb;

	ptflow_init(&pf);
	code();
	for (unsigned pads = 21; pads <= 64; pads += 43) {
		model_pt_init(&e, bytes, sizeof(bytes));
		ptenc_psb_plus(&e, L, true);
		tnt = e.n;
		ptenc_tnt(&e, "T");
		model_pt_pad(&e, pads);
		model_pt_fup(&e, L + 0x16);
		model_pt_pgd_noip(&e);
		model_pt_pge(&e, L + 4);
		psb = e.n;
		ptenc_psb_plus(&e, L + 4, true);
		model_pt_fup(&e, L + 0x16);
		model_pt_pgd_noip(&e);
		model_pt_pad(&e, 200);
		run(bytes, e.n, text);
		snprintf(whole, sizeof(whole), "gap aux-missing %zu+%zu\n401004-401004 1 jump\n",
			 tnt, psb - tnt);
		if (pads == 21)
			assert_null(strstr(text, "gap"));
		else
			assert_non_null(strstr(text, whole));
	}
	ptflow_fini(&pf);
}

/*
 * A PSB while tracing is off tells no address and no mode. Flow that goes on behind it and breaks
 * has passed it: nothing is shown a second time.
 */
static void test_psb_while_off(void **state)
{
	struct model_pt_buf e;
	size_t off;
	char *at;

	ptflow_init(&pf);
	code();
	model_pt_init(&e, bytes, sizeof(bytes));
	ptenc_psb_plus(&e, L, true);
	model_pt_fup(&e, L);
	model_pt_pgd_noip(&e);
	off = e.n;
	model_pt_psb(&e);
	model_pt_cbr(&e, 20);
	model_pt_psbend(&e);
	model_pt_pge(&e, L);
	ptenc_tnt(&e, "NT");
	model_pt_tip(&e, 0x999000);
	ptenc_tnt(&e, "TTTTTT");
	ptenc_psb_plus(&e, L + 4, true);
	model_pt_fup(&e, L + 0x16);
	model_pt_pgd_noip(&e);
	for (int level = HWT_LEVEL_RANGES; level >= HWT_LEVEL_HOLES; level--) {
		pf.want.level = (enum hwt_level)level;
		run(bytes, e.n, text);
		at = strstr(text, "gap ");
		assert_non_null(at);
		at = strchr(at + 4, ' ');
		assert_non_null(at);
		assert_true(strtoul(at, NULL, 10) > off + 18);
		if (level == HWT_LEVEL_RANGES)
			at = strstr(text, "401000-401000");
		assert_true(level != HWT_LEVEL_RANGES || (at && !strstr(at + 1, "401000-401000")));
	}
	ptflow_fini(&pf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_byte), cmocka_unit_test(test_levels_agree),
		cmocka_unit_test(test_cuts),
		cmocka_unit_test(test_blocks_are_independent), cmocka_unit_test(test_noise),
		cmocka_unit_test(test_enable_is_missing), cmocka_unit_test(test_unwritten),
		cmocka_unit_test(test_psb_while_off),
	};

	return ptflow_missing() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
