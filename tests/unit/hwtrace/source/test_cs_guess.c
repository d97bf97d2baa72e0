/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The form of undescribed trace. Truth: what the snapshots of others declare of their buffers,
 * and one ETMv4 stream put into each form by hand (CASES E11).
 */
#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "hwtrace/source/capture.h"
#include "hwtrace/source/cs_guess.h"

/* A-sync, Trace Info, Trace On, context, address, three atoms: 30 bytes of ETMv4. */
static const uint8_t etm[30] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x01, 0x00, 0x04,
	0x81, 0x10, 0x9d, 0, 0, 8, 8, 0x80, 0xff, 0xff, 0xff, 0xf7, 0xf6, 0xf7 };
/* The same in three frames of trace id 0x10, the last one filled up with id 0. */
static const uint8_t frames[48] = {
	0x21, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x01, 0x00, 0x80,
	0x21, 0x00, 0x04, 0x81, 0x10, 0x9d, 0, 0, 8, 8, 0x80, 0xff, 0xfe, 0xff, 0xf6, 0xc0,
	0x21, 0xf6, 0xf6, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0, 1, 0x02 };
static const uint8_t fsync[4] = { 0xff, 0xff, 0xff, 0x7f };

#define FIB2_SIZE 14624		/* bytes of the published file */

static uint8_t buf[4096];

static enum cs_look look(size_t n, struct cs_guess *g)
{
	uint8_t *p = malloc(n);		/* exact size for the sanitizer */
	char text[40];

	assert_non_null(p);
	memcpy(p, buf, n);
	cs_guess(g, p, n);
	free(p);
	cs_guess_text(g, text, sizeof(text));
	assert_true(strlen(text) < sizeof(text));
	return g->look;
}

static void swap(uint8_t *p, size_t n)
{
	for (size_t i = 0; i + 4 <= n; i += 4) {
		uint8_t a = p[i], b = p[i + 1];

		p[i] = p[i + 3];
		p[i + 1] = p[i + 2];
		p[i + 2] = b;
		p[i + 3] = a;
	}
}

static void forms(void **state)
{
	struct cs_guess g;
	size_t n = 0;

	memcpy(buf, etm, 30);
	memcpy(buf + 30, etm, 30);
	assert_int_equal(look(60, &g), CS_LOOK_RAW);
	assert_int_equal(g.raw_sync, 2);
	swap(buf, 60);
	assert_int_equal(look(60, &g), CS_LOOK_SWAPPED);

	memcpy(buf, frames, 48);
	memcpy(buf + 48, frames, 48);
	assert_int_equal(look(96, &g), CS_LOOK_FRAMES);
	assert_int_equal(g.frame_sync, 2);
	assert_int_equal(g.nids, 1);
	assert_int_equal(g.ids[0], 0x10);
	swap(buf, 96);
	assert_int_equal(look(96, &g), CS_LOOK_SWAPPED);

	/* a barrier between the halves is no sync word of a TPIU */
	memcpy(buf, frames, 48);
	for (n = 48; n < 64; n += 4)
		memcpy(buf + n, fsync, 4);
	memcpy(buf + 64, frames, 48);
	assert_int_equal(look(112, &g), CS_LOOK_FRAMES);
	assert_int_equal(g.fsync, 0);
	assert_int_equal(g.frame_sync, 2);

	n = 0;
	for (int i = 0; i < 3; i++) {
		memcpy(buf + n, fsync, 4);
		memcpy(buf + n + 4, frames + 16 * i, 16);
		n += 20;
	}
	assert_int_equal(look(n, &g), CS_LOOK_FSYNC);
	assert_int_equal(g.fsync, 3);
	assert_int_equal(g.ids[0], 0x10);
}

static void no_evidence(void **state)
{
	static const uint8_t fill[] = { 0, 0xff, 0x55 };
	struct cs_guess g;

	for (unsigned i = 0; i < 3; i++) {
		memset(buf, fill[i], sizeof(buf));
		for (size_t n = 1; n < 80; n++)
			assert_int_equal(look(n, &g), CS_LOOK_NOTHING);
	}
	memcpy(buf, frames, 48);
	for (size_t n = 1; n < 48; n++)
		look(n, &g);
}

static unsigned nright, nsilent;

static void check(const char *dir)
{
	static const enum cs_look want[] = { [FRAMING_NONE] = CS_LOOK_RAW,
		[FRAMING_MEM] = CS_LOOK_FRAMES, [FRAMING_TPIU] = CS_LOOK_FSYNC };
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct capture *c;

	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(source_snapshot.open(c, NULL, dir, &o, NULL), 0);
	for (size_t i = 0; i < c->nbufs; i++) {
		const struct trace_buf *b = &c->bufs[i];
		struct cs_guess g;
		uint8_t *p;
		char text[256];
		size_t n;

		if (!b->nspans)
			continue;
		if (strstr(dir, "/fib-2/") && b->spans[0].size != FIB2_SIZE) {
			printf("# left out: %s is not the published file\n", dir);
			continue;
		}
		n = b->spans[0].size & ~(size_t)3;
		cs_guess(&g, b->spans[0].p, b->spans[0].size);
		cs_guess_text(&g, text, sizeof(text));
		if (g.look != want[b->framing] && g.look != CS_LOOK_NOTHING)
			fail_msg("%s %s: %s", dir, b->name, text);
		if (g.look == CS_LOOK_NOTHING) {
			nsilent++;
			continue;
		}
		nright++;
		p = malloc(n);
		assert_non_null(p);
		memcpy(p, b->spans[0].p, n);
		swap(p, n);
		cs_guess(&g, p, n);
		free(p);
		cs_guess_text(&g, text, sizeof(text));
		if (g.look != CS_LOOK_SWAPPED)
			fail_msg("%s %s, swapped: %s", dir, b->name, text);
	}
	capture_free(c);
}

static void of_others(void **state)
{
	static const char *const sub[] = { "arm", "ete" };
	const char *root = getenv("HWT_CAPTURES");
	char path[2048];
	struct stat st;

	for (unsigned i = 0; i < 2; i++) {
		struct dirent **v;
		int n;

		snprintf(path, sizeof(path), "%s/%s", root ? root : "../shared/captures", sub[i]);
		n = scandir(path, &v, NULL, alphasort);
		if (n < 0) {
			printf("# captures of others are not here\n");
			skip();
		}
		for (int k = 0; k < n; k++) {
			snprintf(path, sizeof(path), "%s/%s/%s/in/snapshot.ini",
				 root ? root : "../shared/captures", sub[i], v[k]->d_name);
			if (!stat(path, &st)) {
				*strrchr(path, '/') = 0;
				check(path);
			}
			free(v[k]);
		}
		free(v);
	}
	assert_true(nright >= 25);
	printf("# form of %u buffers of others found, also with words swapped; %u show nothing\n",
	       nright, nsilent);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(forms), cmocka_unit_test(no_evidence), cmocka_unit_test(of_others),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
