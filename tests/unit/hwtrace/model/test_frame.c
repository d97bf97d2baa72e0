/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Frames of the formatter against frames put together by hand from Arm IHI 0029 ("Frame data packet
 * format"), and taken apart again by the rules there and by decoders/tpiu.
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

#include "decoders/tpiu/tpiu.h"
#include "hwtrace/model/frame.h"
#include "tests/support/rnd.h"

#define ROOM (1u << 20)

struct buf {
	uint8_t p[ROOM];
	size_t n;
};

static int put(void *arg, const void *p, size_t n)
{
	struct buf *b = arg;

	assert_true(b->n + n <= ROOM);
	memcpy(b->p + b->n, p, n);
	b->n += n;
	return 0;
}

static struct model_frame *make(struct buf *b, const struct model_frame_cfg *cfg)
{
	const struct model_out out = { put, NULL, b };
	struct model_frame *f;

	b->n = 0;
	assert_int_equal(model_frame_new(&f, cfg, &out), 0);
	return f;
}

static void is_hex(const struct buf *b, const char *hex)
{
	char s[200];

	assert_true(2 * b->n < sizeof(s));
	for (size_t i = 0; i < b->n; i++)
		sprintf(s + 2 * i, "%02x", b->p[i]);
	assert_string_equal(s, hex);
}

static struct buf out;

/* Eight bytes of id 0x10: the id, data with bit 0 of even places in byte 15, then id 0. */
static void one_source(void **state)
{
	const struct model_frame_cfg cfg = { .seed = 1 };
	struct model_frame *f = make(&out, &cfg);

	assert_int_equal(model_frame_put(f, 0x10, "\x01\x03\x05\x07\x09\x0b\x0d\x0f", 8), 0);
	assert_int_equal(out.n, 0);
	assert_int_equal(model_frame_flush(f), 0);
	/*
	 * 21: id 0x10, at once. Bit 0 of 03, 07 and 0b is in byte 15, bits 1 to 3. The eighth byte
	 * would be at an even place; the id that follows it takes its place (01, id 0) and comes
	 * into force behind it (bit 4).
	 */
	is_hex(&out, "2101020506090a0d010f00000000001e");
	model_frame_free(f);
}

/* By the rules: an id byte at an even place has bit 0 set; its bit in byte 15 delays it by one. */
static void take_apart(const uint8_t *p, size_t n, uint8_t *id, uint8_t (*data)[ROOM / 8],
		       size_t *len)
{
	for (size_t at = 0; at + 16 <= n; at += 16) {
		int late = -1;

		for (unsigned k = 0; k < 15; k++) {
			unsigned low = p[at + 15] >> k / 2 & 1;
			uint8_t b = p[at + k];

			if (k % 2 == 0 && b & 1) {
				if (low && k < 14)
					late = b >> 1;
				else
					*id = b >> 1;
				continue;
			}
			if (k % 2 == 0)
				b |= (uint8_t)low;
			data[*id][len[*id]++] = b;
			if (late >= 0)
				*id = (uint8_t)late;
			late = -1;
		}
	}
}

static uint8_t sent[4][ROOM / 8], got[0x70][ROOM / 8];
static const uint8_t ids[] = { 0x01, 0x10, 0x42, 0x6f };

/* Random pieces of four sources; returns how many bytes each has. */
static void feed(struct model_frame *f, size_t *len)
{
	for (unsigned i = 0; i < 2000; i++) {
		unsigned k = (unsigned)rnd() % 4, n = (unsigned)rnd() % 50;
		uint8_t *p = sent[k] + len[k];

		for (unsigned b = 0; b < n; b++)
			p[b] = rnd() % 4 ? (uint8_t)rnd() : 0xff;
		assert_int_equal(model_frame_put(f, ids[k], p, n), 0);
		len[k] += n;
		if (rnd() % 100 == 0)
			assert_int_equal(model_frame_flush(f), 0);
	}
	assert_int_equal(model_frame_flush(f), 0);
}

static void apart(void **state)
{
	for (uint64_t seed = 0; seed < 8; seed++) {
		const struct model_frame_cfg cfg = { .seed = seed, .idle = seed & 1,
						     .run_max = seed & 2 ? 2 : 0 };
		struct model_frame *f = make(&out, &cfg);
		size_t len[4] = { 0 }, ngot[0x70] = { 0 };
		const struct model_frame_count *c = model_frame_counts(f);
		uint8_t id = 0;

		feed(f, len);
		assert_int_equal(out.n, 16 * c->frames);
		assert_int_equal(c->data, len[0] + len[1] + len[2] + len[3]);
		take_apart(out.p, out.n, &id, got, ngot);
		for (unsigned k = 0; k < 4; k++) {
			assert_int_equal(ngot[ids[k]], len[k]);
			assert_memory_equal(got[ids[k]], sent[k], len[k]);
		}
		assert_true(c->id_now && c->id_late && c->id_last && c->id_again && c->pad);
		assert_int_equal(ngot[0], c->pad);
		model_frame_free(f);
	}
}

/* The same through decoders/tpiu, with sync words. */
static void by_tpiu(void **state)
{
	for (unsigned sync = MODEL_FRAME_MEM; sync <= MODEL_FRAME_HALF; sync++) {
		const struct model_frame_cfg cfg = { .seed = sync, .sync = (uint8_t)sync,
						     .idle = 1 };
		struct model_frame *f = make(&out, &cfg);
		const struct model_frame_count *c = model_frame_counts(f);
		size_t len[4] = { 0 }, ngot[0x70] = { 0 }, at = 0;
		struct tpiu_run runs[64];
		struct tpiu t;
		size_t used;
		int n;

		feed(f, len);
		tpiu_init(&t, sync != MODEL_FRAME_MEM);
		while ((n = tpiu_decode(&t, out.p + at, out.n - at, &used, runs, 64)) > 0 ||
		       used) {
			for (int i = 0; i < n; i++) {
				if (runs[i].id > 0x6f)
					fail_msg("id %x", runs[i].id);
				memcpy(got[runs[i].id] + ngot[runs[i].id], runs[i].data,
				       runs[i].n);
				ngot[runs[i].id] += runs[i].n;
			}
			at += used;
		}
		for (unsigned k = 0; k < 4; k++) {
			assert_int_equal(ngot[ids[k]], len[k]);
			assert_memory_equal(got[ids[k]], sent[k], len[k]);
		}
		assert_int_equal(!!c->full, sync != MODEL_FRAME_MEM);
		assert_int_equal(!!c->half, sync == MODEL_FRAME_HALF);
		assert_int_equal(out.n, 16 * c->frames + 4 * c->full + 2 * c->half);
		model_frame_free(f);
	}
}

static int full(void *arg, const void *p, size_t n)
{
	return -ENOSPC;
}

static void refusals(void **state)
{
	const struct model_frame_cfg cfg = { .seed = 0 }, bad = { .sync = 3 };
	const struct model_out to = { full, NULL, NULL }, none = { NULL, NULL, NULL };
	struct model_frame *f = NULL;

	assert_int_equal(model_frame_new(&f, &bad, &to), -EINVAL);
	assert_int_equal(model_frame_new(&f, &cfg, &none), -EINVAL);
	assert_null(f);
	f = make(&out, &cfg);
	assert_int_equal(model_frame_put(f, 0, "a", 1), -EINVAL);
	assert_int_equal(model_frame_put(f, 0x70, "a", 1), -EINVAL);
	for (unsigned id = 1; id <= 16; id++)
		assert_int_equal(model_frame_put(f, id, "a", 1), 0);
	assert_int_equal(model_frame_put(f, 17, "a", 1), -ENOSPC);
	model_frame_free(f);
	assert_int_equal(model_frame_new(&f, &cfg, &to), 0);
	assert_int_equal(model_frame_put(f, 1, "a", 1), 0);
	assert_int_equal(model_frame_flush(f), -ENOSPC);
	assert_int_equal(model_frame_put(f, 1, "a", 1), -ENOSPC);
	model_frame_free(f);
	model_frame_free(NULL);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(one_source), cmocka_unit_test(apart), cmocka_unit_test(by_tpiu),
		cmocka_unit_test(refusals),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
