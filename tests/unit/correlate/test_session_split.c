/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The same trace in other pieces gives the same events: AUX data in one AUXTRACE record or in two,
 * announced by one AUX record or two, perf.data as a file or as written to a pipe, unit bytes as
 * they are or in formatter frames that carry a few of them each. The recording is the demo of
 * fixtures/, its instructions are known from single steps; the units' bytes are hand-made.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/hwtrace.h>

#include "tests/support/ptflow.h"

#define DEMO		"fixtures/captures/demo/in"
#define MAX_FILE	8192
#define MAX_EVENTS	4096
#define DATA		248		/* first record of the demo */
#define REC_AUX		11
#define REC_AUXTRACE	71
#define REC_ATTR	64
#define ATTR		128		/* bytes of the attribute without its ids */

struct got { struct hwt_event v[MAX_EVENTS]; size_t n, bufs; struct hwt_flow_stats st; };

static uint8_t demo[MAX_FILE];
static size_t demo_n;
static char dir[] = "/tmp/hwtrace-split-XXXXXX", path[128];
static struct got one, other;

static uint64_t rd(const uint8_t *p, size_t n)
{
	uint64_t v = 0;

	memcpy(&v, p, n);
	return v;
}

static void wr(uint8_t *p, uint64_t v, size_t n)
{
	memcpy(p, &v, n);
}

static void write_file(const char *name, const void *p, size_t n)
{
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	f = fopen(path, "wb");
	assert_non_null(f);
	assert_int_equal(fwrite(p, 1, n, f), n);
	assert_int_equal(fclose(f), 0);
}

/* Progress says nothing that has to be the same. */
static void drop_progress(struct got *g)
{
	size_t k = 0;

	for (size_t i = 0; i < g->n; i++)
		if (g->v[i].type != HWT_EV_NONE)
			g->v[k++] = g->v[i];
	g->n = k;
}

/* Events of all buffers of the file at @path. */
static void decode(struct got *g, const struct hwt_open_opts *o)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_session *s;
	struct hwt_stream *fs;
	struct hwt_diag d;
	int n;

	g->n = 0;
	if (hwt_session_open(&s, path, o, &d))
		fail_msg("%s", d.text);
	g->bufs = hwt_session_bufs(s);
	for (size_t i = 0; i < g->bufs; i++) {
		assert_int_equal(hwt_session_flow(s, i, &want, &fs, &d), 0);
		while ((n = hwt_stream_next(fs, g->v + g->n, (int)(MAX_EVENTS - g->n))) > 0) {
			g->n += (size_t)n;
			assert_true(g->n < MAX_EVENTS);
		}
		assert_int_equal(n, 0);
		hwt_flow_stats(fs, &g->st);
		hwt_stream_close(fs);
	}
	hwt_session_close(s);
	drop_progress(g);
}

/* All of the events but, with @moved, their place in the buffer. */
static void same(const struct got *a, const struct got *b, bool moved)
{
	assert_int_equal(a->n, b->n);
	for (size_t i = 0; i < a->n; i++) {
		struct hwt_event x = a->v[i], y = b->v[i];

		if (x.type == HWT_EV_RECORD)	/* points into the file */
			x.u.rec.data = y.u.rec.data = NULL;
		if (moved)
			x.off = y.off = 0;
		assert_memory_equal(&x, &y, sizeof(x));
	}
	assert_int_equal(a->st.bytes_lost, b->st.bytes_lost);
	if (!moved)
		assert_int_equal(a->st.bytes_decoded, b->st.bytes_decoded);
}

static int setup(void **state)
{
	FILE *f = fopen(DEMO "/perf.data", "rb");

	if (!f || !mkdtemp(dir))
		return -1;
	demo_n = fread(demo, 1, sizeof(demo), f);
	fclose(f);
	return demo_n > DATA && demo_n < sizeof(demo) ? 0 : -1;
}

static int teardown(void **state)
{
	static const char *const names[] = { "perf.data", "conf", "raw" };

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		remove(path);
	}
	return rmdir(dir);
}

/* ---- perf.data ---- */

static const struct hwt_open_opts demo_opts = { .size = sizeof(demo_opts), .sysroot = DEMO };

/* Place of the first record of @type. */
static size_t record(uint32_t type)
{
	size_t at = DATA, end = DATA + rd(demo + 48, 8);

	while (at + 16 < end && rd(demo + at, 4) != type) {
		at += rd(demo + at + 6, 2);
		if (rd(demo + at, 4) == REC_AUXTRACE && type != REC_AUXTRACE)
			return 0;
	}
	return rd(demo + at, 4) == type ? at : 0;
}

/* Opens a hole of @n bytes at @at in the data section and moves all that lies behind it. */
static size_t insert(uint8_t *b, size_t at, size_t n)
{
	size_t end = DATA + rd(b + 48, 8);

	memmove(b + at + n, b + at, demo_n - at);
	wr(b + 48, rd(b + 48, 8) + n, 8);
	for (size_t e = end + n; e + 16 <= demo_n + n; e += 16) {	/* table of features */
		if (e > end + n && e >= rd(b + end + n, 8))
			break;
		wr(b + e, rd(b + e, 8) + n, 8);
	}
	return demo_n + n;
}

static void test_auxtrace_records(void **state)
{
	static uint8_t b[MAX_FILE];
	size_t at = record(REC_AUXTRACE), head = rd(demo + at + 6, 2), n, size;

	assert_true(at);
	size = rd(demo + at + 8, 8);
	write_file("perf.data", demo, demo_n);
	decode(&one, &demo_opts);
	assert_true(one.n > 100);
	for (size_t cut = 1; cut < size; cut++) {
		memcpy(b, demo, demo_n);
		n = insert(b, at + head + cut, head);
		memcpy(b + at + head + cut, b + at, head);
		wr(b + at + 8, cut, 8);
		wr(b + at + head + cut + 8, size - cut, 8);
		wr(b + at + head + cut + 16, cut, 8);	/* offset in the AUX buffer */
		write_file("perf.data", b, n);
		decode(&other, &demo_opts);
		same(&one, &other, false);
	}
}

/* AUX records that follow each other without a flag are one run of trace. */
static void test_aux_records(void **state)
{
	static uint8_t b[MAX_FILE];
	size_t at = record(REC_AUX), n, size, len;

	assert_true(at);
	len = rd(demo + at + 6, 2);
	size = rd(demo + at + 16, 8);
	write_file("perf.data", demo, demo_n);
	decode(&one, &demo_opts);
	for (size_t cut = 1; cut < size; cut++) {
		memcpy(b, demo, demo_n);
		n = insert(b, at + len, len);
		memcpy(b + at + len, b + at, len);
		wr(b + at + 16, cut, 8);
		wr(b + at + len + 8, cut, 8);
		wr(b + at + len + 16, size - cut, 8);
		write_file("perf.data", b, n);
		decode(&other, &demo_opts);
		same(&one, &other, false);
	}
}

/* Header of 16 bytes, the attribute as a record, then the records as they are. */
static void test_pipe(void **state)
{
	static uint8_t b[MAX_FILE];
	size_t attrs = rd(demo + 24, 8), ids = rd(demo + attrs + ATTR, 8), n = 16;
	size_t nids = rd(demo + attrs + ATTR + 8, 8), data = rd(demo + 48, 8);

	write_file("perf.data", demo, demo_n);
	decode(&one, &demo_opts);
	memcpy(b, "PERFILE2", 8);
	wr(b + 8, 16, 8);
	wr(b + n, REC_ATTR, 4);
	wr(b + n + 6, 8 + ATTR + nids, 2);
	memcpy(b + n + 8, demo + attrs, ATTR);
	memcpy(b + n + 8 + ATTR, demo + ids, nids);
	n += 8 + ATTR + nids;
	memcpy(b + n, demo + DATA, data);
	write_file("perf.data", b, n + data);
	decode(&other, &demo_opts);
	assert_int_equal(one.bufs, other.bufs);
	same(&one, &other, false);
}

/* ---- CoreSight ---- */

#define ID 0x10

/* A-sync, trace info, trace on, context, address, then @tail. */
#define START	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 1, 0, 4, 0x81, 0x10, \
		0x9d, 0, 0, 8, 8, 0x80, 0xff, 0xff, 0xff
static const uint8_t unit[] = {
	START, 0xf7, 0xf6, 0x02, 0x85, 0x01, 0xf9, 0x06, 0x1d, 0x9d, 4, 0, 8, 8, 0x80, 0xff, 0xff,
	0xff, 0x81, 0x10, 0x9d, 2, 1, 8, 8, 0x80, 0xff, 0xff, 0xff, 0xf7, 0x07, 0x02, 0x05, 0x00,
	0x05, START, 0xf7, 0xda, 0x00, 0x07, 0xf7, START, 0xf6, 0xf8, 0x00, 0x03, START, 0xfc,
};

/* At most @k bytes of the unit in each frame, @k is odd; the rest of it is of the null source. */
static size_t frames(uint8_t *out, size_t k)
{
	size_t n = 0, len;

	for (size_t at = 0; at < sizeof(unit); at += len) {
		uint8_t *f = out + n;

		memset(f, 0, 16);
		f[0] = ID << 1 | 1;
		len = sizeof(unit) - at < k ? ((sizeof(unit) - at - 1) | 1) : k;
		for (size_t i = 0; i < len; i++) {
			uint8_t v = unit[at + i];

			f[1 + i] = v;
			if ((1 + i) % 2 == 0) {		/* bit 0 of an even byte is in the last */
				f[1 + i] = v & 0xfe;
				f[15] |= (uint8_t)((v & 1) << (1 + i) / 2);
			}
		}
		f[1 + len] = 1;	/* the null source from here on */
		n += 16;
	}
	return n;
}

static void config(const char *framing)
{
	char text[512];

	snprintf(text, sizeof(text), "framing=%s\n[source]\nproto=ETM4\ncore=Cortex-A57\ncpu=0\n"
		 "trace_id=%u\nTRCTRACEIDR=%u\nTRCCONFIGR=0x811\nTRCIDR0=0x28000ea1\n"
		 "TRCIDR1=0x4100f403\nTRCIDR2=0x488\n", framing, ID, ID);
	write_file("conf", text, strlen(text));
}

/* Code is not there, so each atom is a hole that names its address: the decoder's state shows. */
static void test_frames(void **state)
{
	static const size_t pieces[] = { 1, 3, 5, 7, 9, 11, 13 };
	static uint8_t b[16 * (sizeof(unit) + 1)];
	struct hwt_open_opts o = { .size = sizeof(o), .as = "cs" };
	char conf[128];

	snprintf(conf, sizeof(conf), "%s/conf", dir);
	o.config = conf;
	config("none");
	write_file("raw", unit, sizeof(unit));
	decode(&one, &o);
	assert_true(one.n > 10);
	config("memory");
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		size_t n = frames(b, pieces[i]), k = 0;

		write_file("raw", b, n);
		decode(&other, &o);
		/* bytes of the null source are no hole of the unit, but they are told */
		for (size_t j = 0; j < other.n; j++)
			if (other.v[j].type != HWT_EV_GAP || other.v[j].u.gap.trace_id == ID)
				other.v[k++] = other.v[j];
		other.n = k;
		same(&one, &other, true);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_auxtrace_records), cmocka_unit_test(test_aux_records),
		cmocka_unit_test(test_pipe), cmocka_unit_test(test_frames),
	};
	const struct CMUnitTest coresight[] = { cmocka_unit_test(test_frames) };

	if (ptflow_missing())
		return cmocka_run_group_tests(coresight, setup, teardown);
	return cmocka_run_group_tests(tests, setup, teardown);
}
