/* SPDX-License-Identifier: BSD-2-Clause */
/* What AUX flags and lost records become: holes of the capture, read back as any reader does. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include <hwtrace/hwtrace.h>

#include "hwtrace/capture/hwtake.h"
#include "hwtrace/capture/native.h"
#include "hwtrace/source/capture.h"
#include "tests/support/scratch.h"

#define DATA	8192u
#define AUX	4096u

struct kernel {
	struct perf_event_mmap_page page;
	uint8_t data[DATA], aux[AUX];
	uint64_t time;
	unsigned restarts, adds;
	int32_t id_cpu;
	uint64_t id;
	bool raw;
};

static struct kernel k;

static void put(uint32_t type, const void *body, size_t n, int32_t tid)
{
	struct perf_event_header h = { type, 0, (uint16_t)(sizeof(h) + n + 24) };
	struct { int32_t pid, tid; uint64_t time; uint32_t cpu, zero; } end = { 100, tid,
		k.time += 1000, 3, 0 };
	const void *v[] = { &h, body, &end };
	size_t size[] = { sizeof(h), n, sizeof(end) };

	for (unsigned i = 0; i < 3; i++) {
		memcpy(k.data + k.page.data_head, v[i], size[i]);
		k.page.data_head += size[i];
	}
	assert_true(k.page.data_head < DATA);
}

static void put_aux(uint64_t size, uint64_t flags, int32_t tid)
{
	uint64_t v[3] = { k.page.aux_head, size, flags };

	memset(k.aux + k.page.aux_head, (int)(k.page.aux_head / 16), size);
	k.page.aux_head += size;
	put(PERF_RECORD_AUX, v, sizeof(v), tid);
}

static int add(void *arg, struct native_writer *w, int32_t cpu, bool raw)
{
	struct trace_cfg g = { .core = "", .proto = HWT_PROTO_PT, .cpu = cpu };

	k.adds++;
	k.raw = raw;
	return native_add_buf(w, "cpu 3", cpu, HWT_NONE, HWT_NONE, FRAMING_NONE, &g, 1);
}

static void restart(void *arg, int32_t cpu)
{
	assert_int_equal(cpu, 3);
	k.restarts++;
}

static void set_id(void *arg, int32_t cpu, uint64_t id)
{
	k.id_cpu = cpu;
	k.id = id;
}

static struct capture *taken(bool coresight, bool all)
{
	struct hwtake_opts o = { .map = { .mult = 1u << 10, .shift = 10 },
		.coresight = coresight, .all = all,
		.units = { .add = add, .id = set_id, .restart = restart } };
	struct native_clock clock = { .counter = "tsc", .base = "perf clock", .map = o.map };
	struct hwt_open_opts open = { .size = sizeof(open) };
	struct native_writer *w;
	struct capture *c;
	struct hwtake *t;
	struct hwt_diag d;

	assert_int_equal(hwtake_new(&t, &o), 0);
	assert_int_equal(hwtake_add(t, 3, &k.page, k.data, DATA, k.aux, AUX), 0);
	assert_int_equal(native_create(&w, scratch("x.hwt"), true, &d), 0);
	assert_int_equal(native_clock(w, &clock), 0);
	assert_int_equal(hwtake_pump(t, w), 0);
	assert_int_equal(hwtake_end(t, w), 0);
	assert_int_equal(hwtake_sum(t).trace, k.page.aux_head);
	assert_int_equal(native_close(w, &d), 0);
	hwtake_free(t);
	assert_int_equal(source_open(&c, scratch("x.hwt"), &open, &d), 0);
	return c;
}

static void begin(void)
{
	memset(&k, 0, sizeof(k));
	k.time = 5000;
}

struct want { uint64_t pos, size; unsigned cause; int32_t tid; };

static void same(struct capture *c, const struct want *v, size_t n, unsigned after)
{
	assert_int_equal(c->nbufs, 1);
	assert_int_equal(c->bufs[0].nspans, n);
	for (size_t i = 0; i < n; i++) {
		const struct trace_span *s = &c->bufs[0].spans[i];

		assert_int_equal(s->pos, v[i].pos);
		assert_int_equal(s->size, v[i].size);
		assert_int_equal(s->cause_before, v[i].cause);
		assert_int_equal(s->tid, v[i].tid);
		for (uint64_t b = 0; b < s->size; b++)
			assert_int_equal(s->p[b], k.aux[s->pos + b]);
	}
	assert_int_equal(c->bufs[0].cause_after, after);
	capture_free(c);
}

static void intel(void **state)
{
	static const struct want v[] = {
		{ 0, 48, HWT_GAP_NONE, 7 },		/* two records in a row */
		{ 48, 16, HWT_GAP_AUX_LOST, 7 },	/* the one before was truncated */
		{ 64, 32, HWT_GAP_COLLISION, 7 },
		{ 96, 16, HWT_GAP_NONE, 8 },		/* another task */
		{ 112, 16, HWT_GAP_AUX_LOST, HWT_NONE },	/* its record is lost */
		{ 128, 16, HWT_GAP_AUX_LOST, 8 },
		{ 144, 16, HWT_GAP_AUX_LOST, HWT_NONE },	/* no record came */
	};
	uint64_t lost[2] = { 0, 1 };

	begin();
	put_aux(32, 0, 7);
	put_aux(16, PERF_AUX_FLAG_TRUNCATED, 7);
	put_aux(16, 0, 7);
	put_aux(16, PERF_AUX_FLAG_COLLISION, 7);
	put_aux(16, PERF_AUX_FLAG_PARTIAL, 7);
	put_aux(16, 0, 8);
	memset(k.aux + k.page.aux_head, 0x77, 16);
	k.page.aux_head += 16;
	put(PERF_RECORD_LOST, lost, sizeof(lost), 8);
	put_aux(16, 0, 8);
	memset(k.aux + k.page.aux_head, 0x78, 16);
	k.page.aux_head += 16;
	same(taken(false, false), v, sizeof(v) / sizeof(v[0]), HWT_GAP_AUX_LOST);
	assert_int_equal(k.adds, 1);
	assert_true(k.restarts >= 1);
	assert_int_equal(k.page.data_tail, k.page.data_head);
	assert_int_equal(k.page.aux_tail, k.page.aux_head);
}

/* The unit is started again for each record; a stop without a byte behind it is at the end. */
static void coresight(void **state)
{
	static const struct want v[] = {
		{ 0, 16, HWT_GAP_NONE, HWT_NONE }, { 16, 16, HWT_GAP_NONE, HWT_NONE },
		{ 32, 16, HWT_GAP_AUX_LOST, HWT_NONE },
	};
	uint64_t id = 0x1a;

	begin();
	put(PERF_RECORD_AUX_OUTPUT_HW_ID, &id, 8, 7);
	put_aux(16, 0x100, 7);
	put_aux(16, 0x100, 7);
	put_aux(16, 0x100 | PERF_AUX_FLAG_PARTIAL | PERF_AUX_FLAG_TRUNCATED, 8);
	same(taken(true, true), v, 3, HWT_GAP_AUX_LOST);
	assert_int_equal(k.id_cpu, 3);
	assert_int_equal(k.id, 0x1a);
	assert_true(k.raw);
	assert_int_equal(k.restarts, 1);
}

/* All of it was lost: there is a buffer that says so. */
static void nothing_kept(void **state)
{
	begin();
	put_aux(0, PERF_AUX_FLAG_TRUNCATED, 7);
	same(taken(false, false), NULL, 0, HWT_GAP_AUX_LOST);
}

/* Heads that can not be: what is missing for them is said, of trace and of records. */
static void wrong_heads(void **state)
{
	static const struct want v[] = { { 0, 16, HWT_GAP_NONE, 7 } };
	struct hwtake_opts o = { .map = { .mult = 1u << 10, .shift = 10 },
		.units = { .add = add, .id = set_id, .restart = restart } };
	struct native_clock clock = { .counter = "tsc", .base = "perf clock", .map = o.map };
	struct hwt_open_opts open = { .size = sizeof(open) };

	for (unsigned i = 0; i < 3; i++) {
		struct native_writer *w;
		struct capture *c;
		struct hwtake *t;
		struct hwt_diag d;

		begin();
		put_aux(16, 0, 7);
		assert_int_equal(hwtake_new(&t, &o), 0);
		assert_int_equal(hwtake_add(t, 3, &k.page, k.data, DATA, k.aux, AUX), 0);
		assert_int_equal(native_create(&w, scratch("x.hwt"), true, &d), 0);
		assert_int_equal(native_clock(w, &clock), 0);
		assert_int_equal(hwtake_pump(t, w), 0);
		k.page.aux_head += i == 1 ? 2 * AUX : 0;
		k.page.data_head += i == 2 ? 16 : 0;	/* no record has a size of 0 */
		assert_int_equal(hwtake_end(t, w), 0);
		assert_int_equal(hwtake_sum(t).records_lost, i == 2);
		assert_int_equal(native_close(w, &d), 0);
		hwtake_free(t);
		assert_int_equal(source_open(&c, scratch("x.hwt"), &open, &d), 0);
		assert_int_equal(c->nevents, i == 2);
		same(c, v, 1, i == 1 ? HWT_GAP_DAMAGED : i == 2 ? HWT_GAP_AUX_LOST : HWT_GAP_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(intel),
		cmocka_unit_test(coresight),
		cmocka_unit_test(nothing_kept),
		cmocka_unit_test(wrong_heads),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
