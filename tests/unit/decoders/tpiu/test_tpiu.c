/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: OpenCSD's deformatter over the same bytes (its raw frame printer), frames packed here from
 * known bytes by the formatter's rules, and the vectors below, assembled by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <opencsd/c_api/opencsd_c_api.h>

#include "decoders/tpiu/tpiu.h"
#include "tests/support/ptenc.h"

#define MAX (1 << 20)

/* What came out, by id. */
struct out {
	uint8_t *data[256];
	size_t n[256];
	unsigned unsure, barriers;
	uint64_t first[256];	/* place of the first byte */
	struct tpiu t;
};

static void add(struct out *o, unsigned id, const uint8_t *p, size_t n)
{
	if (!o->data[id])
		o->data[id] = malloc(MAX);
	assert_non_null(o->data[id]);
	assert_true(n <= MAX - o->n[id]);
	memcpy(o->data[id] + o->n[id], p, n);
	o->n[id] += n;
}

static void drop(struct out *o)
{
	for (unsigned id = 0; id < 256; id++)
		free(o->data[id]);
}

static void take(struct out *o, const struct tpiu_run *r, int n)
{
	for (int i = 0; i < n; i++) {
		assert_in_range(r[i].n, 1, 15);
		assert_true(r[i].off < o->t.pos);
		assert_int_not_equal(r[i].id, TPIU_ID_NULL);
		if (!o->n[r[i].id])
			o->first[r[i].id] = r[i].off;
		o->unsure += r[i].unsure ? r[i].n : 0;
		add(o, r[i].id, r[i].data, r[i].n);
	}
}

static uint64_t seed = 0x853c49e6748fea9b;

static size_t below(size_t n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (size_t)(seed >> 11) % n;
}

/* All of @p in pieces of at most @piece bytes (0: one piece; -1: random ones). */
static void run(struct out *o, const uint8_t *p, size_t n, bool sync_words, int piece)
{
	struct tpiu_run r[16];
	const struct tpiu_stats *st = &o->t.st;
	size_t at = 0, used;
	int max = 8;

	memset(o, 0, sizeof(*o));
	tpiu_init(&o->t, sync_words);
	o->t.dstream = sync_words && tpiu_is_dstream(p, n);
	while (at < n) {
		size_t len = piece > 0 ? (size_t)piece : piece ? 1 + below(40) : n;
		int got;

		if (len > n - at)
			len = n - at;
		max = piece < 0 ? 8 + (int)below(9) : 16;
		got = tpiu_decode(&o->t, p + at, len, &used, r, max);
		assert_in_range(got, 0, max);
		assert_true(used <= len && (used || got));
		at += used;
		assert_int_equal(o->t.pos, at);
		take(o, r, got);
		o->barriers += o->t.barrier;
	}
	take(o, r, tpiu_flush(&o->t, r, max));
	assert_int_equal(n, st->frame_bytes + st->sync_bytes + st->skipped + st->tail +
			 st->probe);
	assert_int_equal(st->frame_bytes % 16, 0);
}

static void same(const struct out *a, const struct out *b)
{
	for (unsigned id = 0; id < 256; id++) {
		assert_int_equal(a->n[id], b->n[id]);
		if (a->n[id])
			assert_memory_equal(a->data[id], b->data[id], a->n[id]);
		assert_int_equal(a->first[id], b->first[id]);
	}
	assert_int_equal(a->barriers, b->barriers);
	assert_int_equal(a->unsure, b->unsure);
	assert_memory_equal(&a->t.st, &b->t.st, sizeof(a->t.st));
}

static void every_split(const uint8_t *p, size_t n, bool sync_words)
{
	static const int pieces[] = { 1, 2, 3, 5, 15, 16, 17, 31, -1, -1, -1 };
	struct out whole, part;

	run(&whole, p, n, sync_words, 0);
	for (unsigned i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		run(&part, p, n, sync_words, pieces[i]);
		same(&whole, &part);
		drop(&part);
	}
	drop(&whole);
}

/* The ETMv4 stream that the frames of BASIC carry for id 0x10, and a pad byte after it. */
static const char payload[] =
	"000000000000000000000080 010100 04 8110 9d0000080880ffffff f7 f6 f7 00";
#define F1 "21000000000000000000000080010080"
#define F2 "21000481109d0000080880fffefff6c0"
#define F3 "21f6f600010001000100010001000102"
#define BASIC F1 F2 F3
#define FSYNC "ffffff7f"

static size_t hex(uint8_t *p, const char *s)
{
	struct model_pt_buf e;

	model_pt_init(&e, p, 512);
	ptenc_hex(&e, s);
	assert_false(e.full);
	return e.n;
}

static void expect_payload(const struct out *o, unsigned times)
{
	uint8_t b[512];
	size_t n = hex(b, payload);

	assert_int_equal(o->n[0x10], n * times);
	for (unsigned i = 0; i < times; i++)
		assert_memory_equal(o->data[0x10] + i * n, b, n);
}

static void vectors(void **state)
{
	uint8_t b[512];
	struct out o;
	size_t n;

	(void)state;
	n = hex(b, BASIC);
	run(&o, b, n, false, 0);
	expect_payload(&o, 1);
	assert_int_equal(o.t.st.frame_bytes, 48);
	assert_int_equal(o.t.st.null_bytes, 5);
	drop(&o);

	/* two halves that have nothing to do with each other */
	n = hex(b, BASIC FSYNC FSYNC FSYNC FSYNC BASIC);
	run(&o, b, n, false, 0);
	expect_payload(&o, 2);
	assert_int_equal(o.barriers, 1);
	assert_int_equal(o.t.st.sync_bytes, 16);
	assert_int_equal(o.t.st.stray_syncs, 0);
	drop(&o);

	/* sync word after a frame: pin captures have it, a memory dump should not */
	n = hex(b, F1 FSYNC F2 F3);
	run(&o, b, n, true, 0);
	expect_payload(&o, 1);
	assert_int_equal(o.t.st.skipped, 0);
	drop(&o);
	run(&o, b, n, false, 0);
	expect_payload(&o, 1);
	assert_int_equal(o.t.st.stray_syncs, 1);
	assert_int_equal(o.t.st.stray_off, 16);
	drop(&o);

	/* a trigger, and ids that are reserved: never data of a source */
	n = hex(b, "fb002100000000000000000000000000" BASIC);
	run(&o, b, n, false, 0);
	assert_int_equal(o.t.st.trigger_bytes, 1);
	assert_int_equal(o.n[TPIU_ID_TRIGGER], 1);
	assert_int_equal(o.first[TPIU_ID_TRIGGER], 1);
	assert_int_equal(o.n[0x10], 12 + hex(b, payload));
	drop(&o);
	n = hex(b, "fd00e300000000000000000000000000" BASIC);
	run(&o, b, n, false, 0);
	assert_int_equal(o.t.st.reserved_bytes, 13);
	assert_int_equal(o.n[0x7e], 1);
	assert_int_equal(o.n[0x71], 12);
	expect_payload(&o, 1);
	drop(&o);
}

static void ends(void **state)
{
	uint8_t b[512];
	struct out o;
	size_t n;

	(void)state;
	/* five bytes of a frame: the low bits of its even bytes are in the byte that is missing */
	n = hex(b, BASIC "2100000000");
	run(&o, b, n, false, 0);
	assert_int_equal(o.t.st.tail, 5);
	assert_int_equal(o.unsure, 4);
	assert_int_equal(o.n[0x10], hex(b, payload) + 4);
	drop(&o);

	n = hex(b, BASIC "ffff");
	for (int piece = 0; piece < 4; piece++) {
		run(&o, b, n, false, piece);
		expect_payload(&o, 1);
		assert_int_equal(o.t.st.tail, 2);
		assert_int_equal(o.unsure, 0);
		drop(&o);
	}
	/* every cut of the last frame */
	n = hex(b, BASIC);
	for (size_t cut = 33; cut < n; cut++) {
		run(&o, b, cut, false, 0);
		assert_int_equal(o.t.st.frame_bytes, 32);
		assert_int_equal(o.t.st.tail, cut - 32);
		drop(&o);
	}
	/* sync words only, cut anywhere */
	for (size_t cut = 0; cut <= 20; cut++) {
		n = hex(b, FSYNC FSYNC FSYNC FSYNC FSYNC);
		run(&o, b, cut, true, 0);
		for (unsigned id = 0; id < 256; id++)
			assert_int_equal(o.n[id], 0);
		assert_int_equal(o.t.st.sync_bytes, cut & ~3u);
		drop(&o);
	}
}

/* A sink that stopped repeats a pattern: no source, no hang, all bytes counted. */
static void idle(void **state)
{
	uint8_t b[64];
	struct out o;

	(void)state;
	memset(b, 0xff, sizeof(b));
	run(&o, b, sizeof(b), false, 0);
	assert_int_equal(o.t.st.data_bytes, 0);
	assert_int_equal(o.t.st.unowned_bytes, 1);	/* the first id takes effect late */
	assert_int_equal(o.t.st.reserved_bytes, 27);
	assert_int_equal(o.t.st.frame_bytes, 64);
	drop(&o);
	run(&o, b, sizeof(b), true, 0);
	assert_int_equal(o.t.st.skipped, 64);
	drop(&o);
	memset(b, 0, sizeof(b));
	run(&o, b, sizeof(b), false, 0);
	assert_int_equal(o.n[TPIU_ID_UNKNOWN], 60);
	assert_int_equal(o.t.st.unowned_bytes, 60);
	drop(&o);
	for (unsigned i = 0; i < sizeof(b); i += 2)
		b[i] = 1;
	run(&o, b, sizeof(b), false, 0);
	assert_int_equal(o.t.st.null_bytes, 28);
	for (unsigned id = 0; id < 256; id++)
		assert_int_equal(o.n[id], 0);
	drop(&o);
}

/*
 * Packs bytes of random sources into a frame by the formatter's rules: an id byte in an even place,
 * taking effect at once, or after the next byte; bit 0 of even data in the last byte.
 */
static void pack(uint8_t *f, uint8_t *id, struct out *truth)
{
	uint8_t aux = 0;

	for (unsigned i = 0; i < 15; i += 2) {
		uint8_t d[2] = { (uint8_t)below(256), (uint8_t)below(256) };
		unsigned odd = i < 14;

		if (below(3)) {
			f[i] = d[0] & 0xfe;
			aux |= (d[0] & 1) << (i / 2);
			add(truth, *id, d, 1 + odd);
			if (odd)
				f[i + 1] = d[1];
		} else {
			uint8_t next = (uint8_t)(1 + below(TPIU_ID_LAST));
			unsigned late = odd && below(2);

			f[i] = (uint8_t)(next << 1 | 1);
			aux |= late << (i / 2);
			if (odd) {
				f[i + 1] = d[1];
				add(truth, late ? *id : next, d + 1, 1);
			}
			*id = next;
		}
	}
	f[15] = aux;
}

static void packed(void **state)
{
	static uint8_t b[MAX];

	(void)state;
	for (unsigned round = 0; round < 40; round++) {
		struct out truth = { 0 }, o;
		bool words = round & 1;
		uint8_t id = TPIU_ID_UNKNOWN;
		size_t n = 0;

		for (unsigned k = words ? below(30) : 0; k; k--)
			b[n++] = 0x10;		/* begins anywhere */
		for (unsigned i = 0; i < 200; i++) {
			uint8_t f[16];

			pack(f, &id, &truth);
			for (unsigned k = words ? !i + below(3) : 0; k; k--, n += 4)
				memcpy(b + n, "\xff\xff\xff\x7f", 4);
			for (unsigned k = 0; k < 16; k += 2, n += 2) {
				memcpy(b + n, f + k, 2);
				for (; words && k && !below(6); n += 2)
					memmove(b + n + 2, b + n, 2), memcpy(b + n, "\xff\x7f", 2);
			}
		}
		run(&o, b, n, words, 0);
		for (unsigned k = 1; k < 256; k++) {
			/* the 16 bytes before the first sync are taken as a frame */
			size_t more = k == TPIU_ID_UNKNOWN && o.n[k] > truth.n[k] ? 15 : 0;

			assert_int_equal(o.n[k], truth.n[k] + more);
			if (truth.n[k])
				assert_memory_equal(o.data[k] + more, truth.data[k], truth.n[k]);
		}
		every_split(b, n, words);
		drop(&o);
		drop(&truth);
	}
}

/* Every byte made 00, ff, ^1, ^80; every split; all input is counted (in run). */
static void damaged(void **state)
{
	static const char *const in[] = {
		BASIC, BASIC FSYNC FSYNC FSYNC FSYNC BASIC, F1 FSYNC F2 F3,
		FSYNC F1 FSYNC F2 "ff7f" F3, "fb002100000000000000000000000000" BASIC "2100000000",
	};

	(void)state;
	for (unsigned i = 0; i < sizeof(in) / sizeof(in[0]); i++) {
		uint8_t b[512];
		size_t n = hex(b, in[i]);
		uint8_t *p = malloc(n);

		assert_non_null(p);
		for (size_t at = 0; at < n; at++) {
			const uint8_t made[] = { 0, 0xff, b[at] ^ 1, b[at] ^ 0x80 };

			for (unsigned k = 0; k < 4; k++) {
				memcpy(p, b, n);
				p[at] = made[k];
				every_split(p, n, false);
				every_split(p, n, true);
			}
		}
		free(p);
	}
}

/* ---- OpenCSD ---- */

/* Lines "Frame Data; Index 22; ID_DATA[0x10]; 82 a4 ..." and the lines that go on with bytes. */
static void peer_line(const void *context, const char *s, const int len)
{
	struct out *o = (struct out *)(uintptr_t)context;
	const char *id = strstr(s, "ID_DATA["), *p;
	unsigned n = TPIU_ID_UNKNOWN, byte;
	int used;

	(void)len;
	if (!id)
		return;
	sscanf(id, "ID_DATA[%x]", &n);
	p = strchr(id, ';');
	if (!p)
		return;
	for (p++; sscanf(p, "%x%n", &byte, &used) == 1; p += used) {
		uint8_t b = (uint8_t)byte;

		add(o, n, &b, 1);
	}
}

static void peer(struct out *o, const uint8_t *p, size_t n, unsigned flags)
{
	dcd_tree_handle_t h = ocsd_create_dcd_tree(OCSD_TRC_SRC_FRAME_FORMATTED, flags);
	uint32_t used;
	size_t at = 0;

	memset(o, 0, sizeof(*o));
	assert_non_null(h);
	assert_int_equal(ocsd_def_errlog_set_strprint_cb(h, o, peer_line), OCSD_OK);
	assert_int_equal(ocsd_dt_set_raw_frame_printer(h, OCSD_DFRMTR_UNPACKED_RAW_OUT), OCSD_OK);
	while (at < n) {
		used = 0;
		ocsd_dt_process_data(h, OCSD_OP_DATA, at, (uint32_t)(n - at), p + at, &used);
		if (!used)
			break;
		at += used;
	}
	assert_int_equal(at, n);
	ocsd_destroy_dcd_tree(h);
}

static const char *captures;

/* A DSTREAM probe adds eight bytes of its own to each 504 of the port. */
static size_t strip_dstream(uint8_t *p, size_t n)
{
	size_t to = 0;

	for (size_t at = 0; n - at >= 512; at += 512, to += 504)
		memmove(p + to, p + at, 504);
	return to;
}

static void against_peer(const char *name, bool sync_words)
{
	unsigned flags = sync_words ? OCSD_DFRMTR_HAS_FSYNCS | OCSD_DFRMTR_HAS_HSYNCS :
			 OCSD_DFRMTR_FRAME_MEM_ALIGN;
	static uint8_t b[MAX];
	struct out ours, theirs;
	char path[512];
	size_t n, bytes = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/arm/%s", captures, name);
	f = fopen(path, "rb");
	if (!f)
		fail_msg("%s: can not open", path);
	n = fread(b, 1, sizeof(b), f) & ~(size_t)15;
	fclose(f);
	run(&ours, b, n, sync_words, 0);
	every_split(b, n, sync_words);
	if (sync_words) {
		assert_true(tpiu_is_dstream(b, n));
		assert_int_equal(ours.t.st.probe, n / 512 * 8);
		n = strip_dstream(b, n);
		assert_false(tpiu_is_dstream(b, n));
	}
	peer(&theirs, b, n, flags);
	for (unsigned id = 1; id < 256; id++) {
		if (ours.n[id] != theirs.n[id])
			fail_msg("%s: id %02x: %zu bytes, OpenCSD %zu", name, id, ours.n[id],
				 theirs.n[id]);
		if (ours.n[id])
			assert_memory_equal(ours.data[id], theirs.data[id], ours.n[id]);
		bytes += ours.n[id];
	}
	assert_int_equal(ours.t.st.skipped, 0);
	printf("# %s: %zu bytes as OpenCSD\n", name, bytes);
	drop(&ours);
	drop(&theirs);
}

static void capture_files(void **state)
{
	(void)state;
	ocsd_def_errlog_init(OCSD_ERR_SEV_INFO, 1);
	ocsd_def_errlog_config_output(C_API_MSGLOGOUT_FLG_NONE, NULL);
	against_peer("TC2/in/cstrace.bin", false);
	against_peer("juno_r1_1/in/cstrace.bin", false);
	against_peer("fib-files/trace1/cstrace.bin", false);
	against_peer("a55-test-tpiu/in/DSTREAM_0.bin", true);
}

int main(void)
{
	const struct CMUnitTest own[] = {
		cmocka_unit_test(vectors),
		cmocka_unit_test(ends),
		cmocka_unit_test(idle),
		cmocka_unit_test(packed),
		cmocka_unit_test(damaged),
	};
	const struct CMUnitTest foreign[] = { cmocka_unit_test(capture_files) };

	if (cmocka_run_group_tests(own, NULL, NULL))
		return 1;
	captures = getenv("HWT_CAPTURES");
	if (!captures)
		captures = "../shared/captures";
	if (access(captures, R_OK)) {
		printf("vectors passed; no captures at %s\n", captures);
		return 77;
	}
	return cmocka_run_group_tests(foreign, NULL, NULL) ? 1 : 0;
}
