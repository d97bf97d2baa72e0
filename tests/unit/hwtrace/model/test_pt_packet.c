/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packet fixtures the other way round: from the meaning on the right the writer makes the bytes on
 * the left. The decoder's tests read the same files from left to right.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/fixture.h"
#include "tests/support/ptenc.h"

#define FILES	200

static bool has(const char *text, const char *word)
{
	return strstr(text, word);
}

/* The number behind @word, or at the start. */
static uint64_t num(const char *text, const char *word, int base)
{
	const char *p = strstr(text, word);

	return p ? strtoull(p + strlen(word), NULL, base) : 0;
}

static void write_ip(struct model_pt_buf *b, enum model_pt_kind what, const char *text)
{
	uint64_t ip = num(text, " ip ", 16);

	if (!has(text, "<suppressed>"))
		b->last_ip = ip;	/* what the fixture is about is the form */
	assert_true(model_pt_ip(b, what, ip, (enum model_pt_ipb)(text[0] - '0')));
}

/* Kinds with an address, branches or a mode. False: another one. */
static bool write_flow(struct model_pt_buf *b, const char *k, const char *t)
{
	if (!strcmp(k, "tip"))
		write_ip(b, MODEL_PT_TIP, t);
	else if (!strcmp(k, "tip.pge"))
		write_ip(b, MODEL_PT_PGE, t);
	else if (!strcmp(k, "tip.pgd"))
		write_ip(b, MODEL_PT_PGD, t);
	else if (!strcmp(k, "fup"))
		write_ip(b, MODEL_PT_FUP, t);
	else if (!strcmp(k, "tnt.8"))
		ptenc_tnt(b, t);
	else if (!strcmp(k, "tnt.64"))
		ptenc_tnt_long(b, t);
	else if (!strcmp(k, "mode.exec"))
		model_pt_exec(b, has(t, "cs.l") ? 64 : has(t, "cs.d") ? 32 : 16);
	else if (!strcmp(k, "mode.tsx"))
		model_pt_tsx(b, has(t, "intx"), has(t, "abrt"));
	else if (!strcmp(k, "pip"))
		model_pt_pip(b, num(t, "cr3 ", 16), has(t, "nr"));
	else if (!strcmp(k, "vmcs"))
		model_pt_vmcs(b, num(t, "", 16));
	else
		return false;
	return true;
}

static bool write_time(struct model_pt_buf *b, const char *k, const char *t)
{
	if (!strcmp(k, "tsc"))
		model_pt_tsc(b, num(t, "", 16));
	else if (!strcmp(k, "tma"))
		model_pt_tma(b, (uint16_t)num(t, "", 16), (uint16_t)num(t, ", ", 16));
	else if (!strcmp(k, "mtc"))
		model_pt_mtc(b, (uint8_t)num(t, "", 16));
	else if (!strcmp(k, "cyc"))
		model_pt_cyc(b, num(t, "", 16));
	else if (!strcmp(k, "cbr"))
		model_pt_cbr(b, (uint8_t)num(t, "", 16));
	else
		return false;
	return true;
}

/* Power states: MWAIT's hints count from one below C1, so that 15 is C0. */
static bool write_power(struct model_pt_buf *b, const char *k, const char *t)
{
	if (!strcmp(k, "exstop"))
		model_pt_exstop(b, has(t, "ip"));
	else if (!strcmp(k, "mwait"))
		model_pt_mwait(b, (uint32_t)num(t, "", 16), (uint32_t)num(t, ", ", 16));
	else if (!strcmp(k, "pwre"))
		model_pt_pwre(b, (unsigned)num(t, "c", 16) - 1, (unsigned)num(t, ".", 16) - 1,
			      has(t, "hw"));
	else if (!strcmp(k, "pwrx"))
		model_pt_pwrx(b, (unsigned)num(t, "last c", 16), (unsigned)num(t, "deepest c", 16),
			      has(t, "interrupt") | has(t, "timer") << 1 | has(t, "store") << 2 |
			      has(t, "hardware") << 3);
	else
		return false;
	return true;
}

static bool write_data(struct model_pt_buf *b, const char *k, const char *t, unsigned *item)
{
	if (!strcmp(k, "ptw"))
		model_pt_ptw(b, num(t, ": ", 16), t[0] == '1' ? 8 : 4, has(t, "ip"));
	else if (!strcmp(k, "mnt"))
		model_pt_mnt(b, num(t, "", 16));
	else if (!strcmp(k, "bbp"))
		model_pt_bbp(b, (unsigned)num(t, "type ", 16),
			     *item = (unsigned)num(t, ", ", 10));
	else if (!strcmp(k, "bip"))
		model_pt_bip(b, (unsigned)num(t, "", 16), num(t, ": ", 16), *item);
	else if (!strcmp(k, "bep"))
		model_pt_bep(b, has(t, "ip"));
	else if (!strcmp(k, "cfe"))
		model_pt_cfe(b, (unsigned)num(t, "type ", 16), (uint8_t)num(t, "vector ", 16),
			     has(t, "ip"));
	else if (!strcmp(k, "evd"))
		model_pt_evd(b, (unsigned)num(t, "type ", 16), num(t, ": ", 16));
	else
		return false;
	return true;
}

static bool write_row(struct model_pt_buf *b, const char *k, const char *t, unsigned *item)
{
	if (!strcmp(k, "pad"))
		model_pt_pad(b, 1);
	else if (!strcmp(k, "psb"))
		model_pt_psb(b);
	else if (!strcmp(k, "psbend"))
		model_pt_psbend(b);
	else if (!strcmp(k, "ovf"))
		model_pt_ovf(b);
	else if (!strcmp(k, "stop"))
		model_pt_stop(b);
	else
		return write_flow(b, k, t) || write_time(b, k, t) || write_power(b, k, t) ||
			write_data(b, k, t, item);
	return true;
}

/* No packet, one that the writer does not have, or a reserved or unused flag. */
static bool not_ours(const struct fixture_row *r)
{
	return !strcmp(r->name, "bad") || !strcmp(r->name, "trig") ||
		(!strcmp(r->name, "mode.exec") &&
		 (has(r->text, "cs.l, cs.d") || has(r->text, "if")));
}

static void fixtures(void **state)
{
	static struct fixture f;
	char *paths[FILES];
	int n = fixture_list("fixtures/packets/pt", ".txt", paths, FILES);
	unsigned rows = 0, others = 0;

	(void)state;
	assert_true(n > 0);
	for (int i = 0; i < n; i++) {
		unsigned item = 8;

		assert_int_equal(fixture_read(&f, paths[i]), 0);
		for (size_t k = 0; k < f.nrows; k++) {
			const struct fixture_row *r = &f.rows[k];
			struct model_pt_buf b;
			uint8_t bytes[32];

			model_pt_init(&b, bytes, sizeof(bytes));
			if (not_ours(r)) {
				others++;
				continue;
			}
			if (!write_row(&b, r->name, r->text, &item))
				fail_msg("%s:%u: %s", f.path, r->line, r->name);
			rows++;
			if (b.n != r->n || memcmp(bytes, f.bytes + r->off, r->n))
				fail_msg("%s:%u: other bytes for %s %s", f.path, r->line, r->name,
					 r->text);
		}
		free(paths[i]);
	}
	printf("# %u packets of %d files, %u that are bad or not written\n", rows, n, others);
	assert_true(rows > 300);
}

/* What does not fit is not written at all. */
static void room(void **state)
{
	struct model_pt_buf b;
	uint8_t bytes[4] = { 0 };

	(void)state;
	model_pt_init(&b, bytes, 3);
	model_pt_ovf(&b);
	assert_false(b.full);
	model_pt_ovf(&b);
	assert_true(b.full);
	assert_int_equal(b.n, 2);
	assert_int_equal(bytes[2], 0);
	/* a form that can not give the address */
	model_pt_init(&b, bytes, 4);
	assert_false(model_pt_ip(&b, MODEL_PT_TIP, 0x401000, MODEL_PT_IPB_16));
	assert_int_equal(b.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(fixtures), cmocka_unit_test(room) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
