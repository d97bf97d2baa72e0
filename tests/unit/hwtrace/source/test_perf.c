/* SPDX-License-Identifier: BSD-2-Clause */
/* The perf.data reader on files made here: damage, both byte orders, every kind of record. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "hwtrace/source/perf.h"
#include "tests/support/mkperf.h"

static uint8_t *bytes;		/* alive as long as the capture */

/* Opens @n bytes; NULL and @d if that fails. */
static struct capture *open_bytes(const uint8_t *p, size_t n, struct hwt_diag *d)
{
	struct capture *c;
	struct file *f;

	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(file_mem(&f, "t.data", p, n), 0);
	*d = (struct hwt_diag){ 0 };
	if (source_perf.open(c, f, "t.data", NULL, d)) {
		capture_free(c);
		return NULL;
	}
	return c;
}

static struct capture *open_mk(struct mkperf *m, struct hwt_diag *d)
{
	size_t n;

	free(bytes);
	bytes = mkperf_file(m, &n);
	return open_bytes(bytes, n, d);
}

static void done(struct capture *c, struct mkperf *m)
{
	capture_free(c);
	mkperf_free(m);
	free(bytes);
	bytes = NULL;
}

/* The first note with @id, or NULL. */
static const struct hwt_note *note(const struct capture *c, unsigned id)
{
	for (uint32_t i = 0; i < c->notes.n; i++)
		if (c->notes.v[i].diag.id == id)
			return &c->notes.v[i];
	return NULL;
}

static void put64(size_t off, uint64_t v)
{
	memcpy(bytes + off, &v, 8);
}

/* A file whose header is changed: 64-bit word at @off becomes @v. */
static struct capture *patched(size_t off, uint64_t v, size_t cut, struct hwt_diag *d)
{
	struct mkperf m;
	size_t n;

	mkperf_init(&m, false);
	mkperf_aux(&m, 0, 0, 0);
	free(bytes);
	bytes = mkperf_file(&m, &n);
	n = MKPERF_DATA + m.n;	/* neither ids nor features: as a recording that was cut off */
	put64(104 + 136, 0);
	if (off)
		put64(off, v);
	mkperf_free(&m);
	return open_bytes(bytes, cut ? cut : n, d);
}

/* pd-attr-size-0, pd-trunc-hdr, pd-magic-swapped, and what lies beside them */
static void bad_headers(void **state)
{
	struct hwt_diag d;

	for (uint64_t size = 0; size < 80; size += 8) {
		assert_null(patched(16, size, 0, &d));
		assert_int_equal(d.id, 31);
		assert_int_equal(d.off, 16);
	}
	assert_null(patched(16, UINT64_MAX, 0, &d));
	assert_int_equal(d.code, -HWT_E_FORMAT);
	for (size_t cut = 8; cut < 104; cut++) {
		assert_null(patched(0, 0, cut, &d));
		assert_int_equal(d.id, 4);
		assert_int_equal(d.off, cut);
	}
	memcpy(bytes, "2ELIFREP", 8);
	assert_null(open_bytes(bytes, 248, &d));
	assert_int_equal(d.id, 31);
	memcpy(bytes, "PERFFILE", 8);
	assert_null(open_bytes(bytes, 248, &d));
	assert_int_equal(d.id, 30);
	assert_null(open_bytes(bytes, 0, &d));
	assert_int_equal(d.id, 5);
	assert_null(patched(24, 1ull << 63, 0, &d));
	assert_int_equal(d.id, 31);
	assert_null(patched(40, 1ull << 63, 0, &d));
	assert_int_equal(d.id, 31);
	/* of a larger file that was cut */
	assert_null(patched(24, 1ull << 40, 0, &d));
	assert_int_equal(d.id, 4);
	assert_int_equal(d.off, 24);
}

/* pd-data-size-0, pd-data-size-max */
static void data_size(void **state)
{
	struct hwt_diag d;
	struct capture *c = patched(48, 0, 0, &d);

	assert_non_null(c);
	assert_int_equal(note(c, 35)->severity, HWT_NOTE_CUT);
	assert_int_equal(c->nevents, 1);
	capture_free(c);
	c = patched(48, 1ull << 63, 0, &d);
	assert_non_null(c);
	assert_int_equal(note(c, 36)->severity, HWT_NOTE_CUT);
	assert_int_equal(c->nevents, 1);
	capture_free(c);
	free(bytes);
	bytes = NULL;
}

/* pd-rec-size-0, -7, -ffff: alone, and behind a good record */
static void record_size(void **state)
{
	static const struct { uint16_t size, id; } t[] = { { 0, 33 }, { 7, 33 }, { 0xffff, 34 } };
	struct hwt_diag d;

	for (int behind = 0; behind < 2; behind++)
		for (unsigned i = 0; i < 3; i++) {
			struct mkperf m;
			struct capture *c;
			size_t at;

			mkperf_init(&m, false);
			if (behind)
				mkperf_comm(&m, "x", false);
			at = m.n;
			mkperf_aux(&m, 0, 0, 0);
			memcpy(m.p + at + 6, &t[i].size, 2);
			c = open_mk(&m, &d);
			if (!behind) {
				assert_null(c);
				assert_int_equal(d.id, t[i].id);
				assert_int_equal(d.off, MKPERF_DATA);
			} else {
				assert_int_equal(note(c, t[i].id)->severity, HWT_NOTE_CUT);
				assert_int_equal(note(c, t[i].id)->diag.off, MKPERF_DATA + at);
				assert_int_equal(c->nevents, 1);
			}
			done(c, &m);
		}
}

/* pd-mmap2-nonul: 16 bytes of name, no end of it, no room for the sample id */
static void name_without_end(void **state)
{
	struct mkperf m;
	struct hwt_diag d;
	struct hwt_map map;
	struct capture *c;
	size_t at;

	mkperf_init(&m, false);
	at = mkperf_begin(&m, 10, 2);
	for (int i = 0; i < 3; i++)
		mkperf_u64(&m, i ? 0x1000 : 0);
	for (int i = 0; i < 4; i++)
		mkperf_u64(&m, 0);
	mkperf_u32(&m, 5);
	mkperf_u32(&m, 2);
	mkperf_put(&m, "/abcdefghijklmno", 16);
	mkperf_end(&m, at);
	c = open_mk(&m, &d);
	assert_non_null(c);
	assert_int_equal(note(c, 43)->severity, HWT_NOTE_WARN);
	if (hwt_image_map_at(c->image, 0, &map))
		assert_string_equal(map.path, "/abcdefghijklmno");
	done(c, &m);
}

/* pd-timeconv-old, pd-timeconv-shift64 */
static void time_conv(void **state)
{
	static const struct { uint64_t shift, mult; bool ok; } t[] = {
		{ 31, 672770777, true }, { 63, 1, true }, { 64, 1, false }, { 10, 0, false },
		{ UINT64_MAX, 5, false }, { 31, 1ull << 32, false },
	};
	struct hwt_diag d;

	for (int big = 0; big < 2; big++)
		for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
			struct mkperf m;
			struct capture *c;

			mkperf_init(&m, big);
			mkperf_time_conv(&m, t[i].shift, t[i].mult, 18433097446223852063u);
			c = open_mk(&m, &d);
			assert_non_null(c);
			assert_int_equal(time_map_valid(&c->tsc), t[i].ok);
			assert_int_equal(!note(c, 41), t[i].ok);
			if (t[i].ok)
				assert_true(c->tsc.zero == 18433097446223852063u);
			done(c, &m);
		}
}

/* The long form: cap_user_time_zero 0 is "no conversion", cap_user_time_short has a mask. */
static void time_conv_long(void **state)
{
	struct hwt_diag d;

	for (int cap = 0; cap < 2; cap++) {
		struct mkperf m;
		struct capture *c;
		size_t at;

		mkperf_init(&m, false);
		at = mkperf_begin(&m, 79, 0);
		for (uint64_t v = 1; v <= 3; v++)
			mkperf_u64(&m, v);
		mkperf_u64(&m, 0x1234500000000);
		mkperf_u64(&m, UINT32_MAX);
		mkperf_put(&m, cap ? "\1\1" : "\0\1", 2);
		mkperf_put(&m, "\0\0\0\0\0\0", 6);
		mkperf_end(&m, at);
		c = open_mk(&m, &d);
		assert_int_equal(time_map_valid(&c->tsc), cap);
		assert_true(!cap || (c->tsc.cap_short && c->tsc.mask == UINT32_MAX));
		done(c, &m);
	}
}

struct tally { unsigned n, type[HWT_EV_TYPES], text; uint64_t time[64]; };

static void count_events(struct capture *c, struct tally *t)
{
	struct hwt_event ev[7];
	struct hwt_stream *s;
	struct hwt_diag d;
	char text[256];
	int k;

	*t = (struct tally){ 0 };
	assert_int_equal(c->events(c, &s, &d), 0);
	while ((k = hwt_stream_next(s, ev, 7)) > 0)
		for (int i = 0; i < k; i++) {
			t->type[ev[i].type]++;
			t->time[t->n++ % 64] = ev[i].time;
			t->text += c->event_text(c, &ev[i], text, sizeof(text)) > 0;
			assert_true(c->event_text(c, &ev[i], NULL, 0) == strlen(text) ||
				    strlen(text) == sizeof(text) - 1);
			assert_non_null(c->event_name(c, &ev[i]));
		}
	assert_int_equal(k, 0);
	hwt_stream_close(s);
}

/* One record of each kind, in both byte orders: what becomes of each. */
static void every_kind(void **state)
{
	static const uint8_t id[20] = { 1, 2, 3 };
	struct hwt_diag d;

	for (int big = 0; big < 2; big++) {
		struct machine_cursor cur;
		struct mkperf m;
		struct tally t;
		struct capture *c;
		size_t at;

		mkperf_init(&m, big);
		m.cpu = 2;
		mkperf_feature_str(&m, 3, "box");
		mkperf_feature_str(&m, 4, "6.1.0");
		mkperf_feature_str(&m, 6, "x86_64");
		mkperf_feature_str(&m, 9, "GenuineIntel,6,94,3");
		mkperf_pt(&m);
		mkperf_comm(&m, "first", false);
		mkperf_comm(&m, "second", true);
		mkperf_mmap2(&m, 0x400000, 0x1000, 0, 5, "/bin/a");
		mkperf_mmap2(&m, 0x500000, 0x1000, 0, 3, "/bin/data");
		mkperf_mmap2_id(&m, 0x600000, 0x1000, 0, id, 20, "/bin/b");
		mkperf_mmap(&m, UINT32_MAX, 0xffffffff81000000, 0x100000, 0xffffffff81000000,
			    "[kernel.kallsyms]_text");
		m.time = 2000000;
		mkperf_itrace_start(&m);
		m.pid = m.tid = 77;
		m.time = 2000100;
		mkperf_task(&m, 7, 0, 1234, 1234);
		m.time = 2000200;
		mkperf_switch_wide(&m, false, 1234, 1234);
		m.time = 2000300;
		mkperf_switch_wide(&m, true, 1234, 1234);
		m.time = 2000400;
		at = mkperf_begin(&m, 2, 0);	/* LOST */
		mkperf_u64(&m, 1);
		mkperf_u64(&m, 9);
		mkperf_sample_id(&m);
		mkperf_end(&m, at);
		mkperf_task(&m, 4, 0, 1234, 1234);
		c = open_mk(&m, &d);
		assert_non_null(c);
		assert_string_equal(c->host, "box");
		assert_string_equal(c->arch, "x86_64");
		assert_string_equal(c->release, "6.1.0");
		assert_int_equal(c->nevents, 12);
		assert_int_equal(c->time_start, 1000000);
		assert_string_equal(machine_comm(c->machine, 1234), "second");
		assert_int_equal(machine_pid(c->machine, 77), 77);
		assert_non_null(note(c, 46));
		machine_cursor_init(&cur, c->machine, 2);
		assert_int_equal(machine_cursor_due(&cur), 2000000);
		assert_int_equal(machine_cursor_step(&cur)->tid, 1234);
		assert_int_equal(machine_cursor_due(&cur), 2000200);
		assert_int_equal(machine_cursor_step(&cur)->tid, 77);
		assert_int_equal(machine_cursor_due(&cur), 2000400);
		assert_int_equal(machine_cursor_step(&cur)->tid, HWT_NONE);
		assert_true(machine_cursor_due(&cur) == HWT_TIME_UNKNOWN);
		count_events(c, &t);
		assert_int_equal(t.n, 12);
		assert_int_equal(t.type[HWT_EV_MAP], 3);
		assert_int_equal(t.type[HWT_EV_TASK], 4);
		assert_int_equal(t.type[HWT_EV_SCHED_SWITCH], 2);
		assert_int_equal(t.type[HWT_EV_RECORD], 3);
		assert_int_equal(t.text, 12);
		done(c, &m);
	}
}

/* Case I09: the same map 10^5 times; the image has it once. */
static void many_maps(void **state)
{
	struct mkperf m;
	struct hwt_diag d;
	struct hwt_map map;
	struct capture *c;

	mkperf_init(&m, false);
	for (int i = 0; i < 100000; i++)
		mkperf_mmap2(&m, 0x400000, 0x1000, 0, 5, "/bin/a");
	c = open_mk(&m, &d);
	assert_int_equal(c->nevents, 100000);
	assert_int_equal(hwt_image_map_at(c->image, 0, &map), 1);
	assert_string_equal(map.path, "/bin/a");
	assert_int_equal(hwt_image_map_at(c->image, 1, &map), 0);
	done(c, &m);
}

/* Case I03: every cut of a file says that it is cut, and what is before the cut is read. */
static void every_cut(void **state)
{
	struct mkperf m;
	struct hwt_diag d;
	uint8_t *all;
	size_t n;

	mkperf_init(&m, false);
	mkperf_feature_str(&m, 3, "box");
	mkperf_pt(&m);
	mkperf_comm(&m, "x", true);
	mkperf_aux(&m, 0, 0x40, 0);
	mkperf_auxtrace(&m, 0, 0x40, 0, 1234, 0, "0123456789abcdef0123456789abcdef"
			"0123456789abcdef0123456789abcdef", 0x40);
	mkperf_switch(&m, true);
	all = mkperf_file(&m, &n);
	for (size_t cut = 0; cut < n; cut++) {
		uint8_t *p = malloc(cut ? cut : 1);	/* ends where the input ends */
		struct capture *c;
		bool said = false;

		memcpy(p, all, cut);
		c = open_bytes(p, cut, &d);
		if (!c)
			said = d.code < 0 && d.id;
		for (uint32_t i = 0; c && i < c->notes.n; i++)
			said |= c->notes.v[i].severity == HWT_NOTE_CUT;
		if (!said)
			fail_msg("cut at %zu is not told", cut);
		capture_free(c);
		free(p);
	}
	free(all);
	mkperf_free(&m);
}

/* Every byte set to 00, ff, ^01, ^80: a sanitizer is the judge. */
static void every_byte(void **state)
{
	struct mkperf m;
	size_t n;

	mkperf_init(&m, false);
	mkperf_pt(&m);
	mkperf_mmap2(&m, 0x400000, 0x1000, 0, 5, "/bin/a");
	mkperf_aux(&m, 0, 8, 0);
	mkperf_auxtrace(&m, 0, 8, 0, 1234, 0, "01234567", 8);
	mkperf_switch_wide(&m, false, 1, 1);
	free(bytes);
	bytes = mkperf_file(&m, &n);
	for (size_t i = 0; i < n; i++)
		for (int k = 0; k < 4; k++) {
			uint8_t old = bytes[i];
			struct hwt_diag d;
			struct capture *c;
			struct tally t;

			bytes[i] = k == 0 ? 0 : k == 1 ? 0xff : old ^ (k == 2 ? 1 : 0x80);
			c = open_bytes(bytes, n, &d);
			assert_true(c || d.code < 0);
			if (c)
				count_events(c, &t);
			capture_free(c);
			bytes[i] = old;
		}
	mkperf_free(&m);
	free(bytes);
	bytes = NULL;
}

/* Old and new code bytes of a TEXT_POKE, by time, out of order in the file. */
static void text_poke(void **state)
{
	static const struct { uint64_t time; const char *code; } t[] = {
		{ 300, "CC" }, { 100, "AA" }, { 200, "BB" },
	};
	static const char *const old[] = { "BB", "00", "AA" };
	struct mkperf m;
	struct hwt_diag d;
	struct capture *c;
	char b[2];

	mkperf_init(&m, false);
	for (int i = 0; i < 3; i++) {
		size_t at = mkperf_begin(&m, 20, 1);

		m.time = t[i].time;
		mkperf_u64(&m, 0xffffffff81001000);
		mkperf_u16(&m, 2);
		mkperf_u16(&m, 2);
		mkperf_put(&m, old[i], 2);
		mkperf_put(&m, t[i].code, 2);
		mkperf_sample_id(&m);
		mkperf_end(&m, at);
	}
	c = open_mk(&m, &d);
	for (uint64_t time = 50; time <= 350; time += 100) {
		struct hwt_where w = { .pid = HWT_NONE, .time = time };
		static const char want[] = "0ABC";

		assert_int_equal(hwt_image_read(c->image, &w, 0xffffffff81001000, b, 2), 2);
		assert_int_equal(b[0], want[time / 100]);
	}
	done(c, &m);
}

/* Case N04: the buffer of one CPU is written ten seconds late, and a little out of order. */
static void late_flush(void **state)
{
	static const struct { uint32_t cpu; uint64_t time; uint32_t tid; } t[] = {
		{ 1, 10000000000, 11 }, { 1, 10000000900, 12 }, { 0, 500, 1 }, { 0, 700, 3 },
		{ 0, 600, 2 }, { 1, 10000000950, 13 }, { 0, 10000000100, 4 },
	};
	struct machine_cursor cur;
	struct mkperf m;
	struct hwt_diag d;
	struct capture *c;

	mkperf_init(&m, false);
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		m.cpu = t[i].cpu;
		m.time = t[i].time;
		m.tid = t[i].tid;
		mkperf_switch(&m, false);
	}
	c = open_mk(&m, &d);
	for (int cpu = 0; cpu < 2; cpu++) {
		int32_t n = cpu ? 3 : 4;
		uint64_t last = 0;

		machine_cursor_init(&cur, c->machine, cpu);
		for (int32_t i = 1; i <= n; i++) {
			assert_true(machine_cursor_due(&cur) >= last);
			last = machine_cursor_due(&cur);
			assert_int_equal(machine_cursor_step(&cur)->tid, 10 * cpu + i);
		}
		assert_true(machine_cursor_due(&cur) == HWT_TIME_UNKNOWN);
	}
	assert_int_equal(c->time_start, 500);
	done(c, &m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(bad_headers), cmocka_unit_test(data_size),
		cmocka_unit_test(record_size), cmocka_unit_test(name_without_end),
		cmocka_unit_test(time_conv), cmocka_unit_test(time_conv_long),
		cmocka_unit_test(every_kind), cmocka_unit_test(many_maps),
		cmocka_unit_test(every_cut), cmocka_unit_test(every_byte),
		cmocka_unit_test(text_poke), cmocka_unit_test(late_flush),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
