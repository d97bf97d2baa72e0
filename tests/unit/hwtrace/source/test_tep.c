/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tracepoint formats and records of every shape of field, put together by hand as trace.dat (6)
 * and the kernel's "format" files have them. What recorded ones hold is compared with perf in
 * test_perf_peer.c.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/source/tep.h"

static const char shapes[] =
	"name: shapes\nID: 77\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n\n"
	"\tfield:short neg;\toffset:8;\tsize:2;\tsigned:1;\n"
	"\tfield:u8 mac[6];\toffset:10;\tsize:6;\tsigned:0;\n"
	"\tfield:void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:char comm[8];\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] word;\toffset:32;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u8[] bytes;\toffset:36;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u8[] far;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] near;\toffset:44;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned int n;\toffset:48;\tsize:4;\tsigned:0;\n"
	"\tfield:u64 outside;\toffset:120;\tsize:8;\tsigned:0;\n"
	"\nprint fmt: \"%d\", REC->neg\n";

struct data { uint8_t p[2048]; size_t n; };

static void num(struct data *d, uint64_t v, unsigned bytes, bool big)
{
	for (unsigned i = 0; i < bytes; i++)
		d->p[d->n++] = (uint8_t)(v >> 8 * (big ? bytes - 1 - i : i));
}

static void mem(struct data *d, const void *p, size_t n)
{
	memcpy(d->p + d->n, p, n);
	d->n += n;
}

/* The preamble of trace.dat with one format of system "sys". */
static void preamble(struct data *d, bool big)
{
	d->n = 0;
	mem(d, "\x17\x08\x44tracing6", 12);	/* "6" with its NUL */
	num(d, big, 1, big);
	num(d, 8, 1, big);			/* size of long */
	num(d, 4096, 4, big);
	mem(d, "header_page", 12);
	num(d, 3, 8, big);
	mem(d, "abc", 3);
	mem(d, "header_event", 13);
	num(d, 0, 8, big);
	num(d, 0, 4, big);			/* formats of ftrace itself */
	num(d, 1, 4, big);			/* systems */
	mem(d, "sys", 4);
	num(d, 1, 4, big);
	num(d, sizeof(shapes) - 1, 8, big);
	mem(d, shapes, sizeof(shapes) - 1);
}

static void record(struct data *d, bool big)
{
	d->n = 0;
	num(d, 77, 2, big);
	num(d, 0, 2, big);
	num(d, 1234, 4, big);
	num(d, (uint16_t)-2, 2, big);
	mem(d, "\x01\x02\x03\xfe\xff\x00", 6);
	num(d, 0xffff888000000010, 8, big);
	mem(d, "a\nb\0zzzz", 8);		/* a line feed must not end the line */
	num(d, 5u << 16 | 52, 4, big);		/* length 5 at 52 */
	num(d, 3u << 16 | 57, 4, big);
	num(d, 9u << 16 | 4000, 4, big);	/* past the end */
	num(d, 4u << 16 | 12, 4, big);		/* 12 behind the field: 60 */
	num(d, 4000000000, 4, big);
	mem(d, "word\0\xaa\xbb\xcc" "rel\0", 12);
}

static void shapes_of(bool big)
{
	static const char want[] =
		"neg=-2 mac=010203feff00 ptr=0xffff888000000010 comm=a.b word=word "
		"bytes=aabbcc far=? near=rel n=4000000000 outside=?";
	char text[256], cut[256];
	struct trace_fmt *t;
	struct data d, r;
	unsigned used = 0;
	bool damaged;
	const char *s;
	size_t len;
	uint64_t v;

	preamble(&d, big);
	record(&r, big);
	assert_int_equal(trace_fmt_new(&t, d.p, d.n, &used, &damaged), 0);
	assert_int_equal(used, 1);
	assert_false(damaged);
	assert_string_equal(trace_fmt_name(t, 77), "sys:shapes");
	assert_null(trace_fmt_name(t, 78));
	assert_int_equal(trace_fmt_id(t, "sys", "shapes"), 77);
	assert_int_equal(trace_fmt_id(t, "sys", "other"), -1);
	assert_int_equal(trace_fmt_text(t, 77, r.p, r.n, NULL, text, sizeof(text)), strlen(want));
	assert_string_equal(text, want);
	for (size_t n = 1; n <= strlen(want); n++) {
		memset(cut, 'x', sizeof(cut));
		assert_int_equal(trace_fmt_text(t, 77, r.p, r.n, NULL, cut, n), strlen(want));
		assert_int_equal(strlen(cut), n - 1);
		assert_memory_equal(cut, want, n - 1);
		assert_int_equal(cut[n], 'x');
	}
	assert_true(trace_fmt_number(t, 77, "neg", r.p, r.n, &v));
	assert_true(v == (uint64_t)-2);
	assert_true(trace_fmt_number(t, 77, "common_pid", r.p, r.n, &v));
	assert_int_equal(v, 1234);
	assert_false(trace_fmt_number(t, 77, "outside", r.p, r.n, &v));
	assert_false(trace_fmt_number(t, 77, "mac", r.p, r.n, &v));
	assert_false(trace_fmt_number(t, 77, "none", r.p, r.n, &v));
	assert_true(trace_fmt_string(t, 77, "near", r.p, r.n, &s, &len));
	assert_int_equal(len, 3);
	assert_memory_equal(s, "rel", 3);
	assert_true(trace_fmt_string(t, 77, "comm", r.p, r.n, &s, &len));
	assert_int_equal(len, 3);
	assert_false(trace_fmt_string(t, 77, "far", r.p, r.n, &s, &len));
	assert_false(trace_fmt_string(t, 77, "bytes", r.p, r.n, &s, &len));
	assert_false(trace_fmt_string(t, 77, "n", r.p, r.n, &s, &len));
	trace_fmt_free(t);
}

/* Arrays of numbers, one that takes the rest of the record, and the format of the switches. */
static void items(void **state)
{
	static const char format[] =
		"name: sched_switch\nID: 5\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:long id;\toffset:2;\tsize:2;\tsigned:1;\n"
		"\tfield:short args[2];\toffset:4;\tsize:4;\tsigned:1;\n"
		"\tfield:u32 buf[];\toffset:8;\tsize:0;\tsigned:0;\n"
		"\nprint fmt: \"%s\", REC->x\n";
	static const uint8_t rec[20] = { 5, 0, 0xfe, 0xff, 1, 0, 0xff, 0xff, 7, 0, 0, 0, 9 };
	struct trace_fmt *t;
	const uint8_t *b;
	const char *s;
	char text[128];
	uint64_t v;
	size_t n;

	assert_int_equal(trace_fmt_empty(&t, false, 8), 0);
	assert_null(trace_fmt_switch(t, &n));
	assert_true(trace_fmt_add(t, "sched", format, sizeof(format) - 1));
	s = trace_fmt_switch(t, &n);
	assert_int_equal(n, sizeof(format) - 1);
	assert_memory_equal(s, format, n);
	assert_int_equal(trace_fmt_item(t, 5, "args", 1, rec, sizeof(rec), &v), 2);
	assert_true(v == UINT64_MAX);
	assert_int_equal(trace_fmt_item(t, 5, "args", 2, rec, sizeof(rec), &v), 0);
	assert_int_equal(trace_fmt_item(t, 5, "args", 1, rec, 6, &v), 0);
	assert_int_equal(trace_fmt_item(t, 5, NULL, 0, rec, sizeof(rec), &v), 2);
	assert_true(v == (uint64_t)-2);
	assert_int_equal(trace_fmt_item(t, 5, NULL, 1, rec, sizeof(rec), &v), 0);
	assert_int_equal(trace_fmt_item(t, 5, NULL, 9, rec, sizeof(rec), &v), 0);
	assert_true(trace_fmt_bytes(t, 5, "buf", rec, sizeof(rec), &b, &n));
	assert_ptr_equal(b, rec + 8);
	assert_int_equal(n, 12);
	/* nothing says how long its elements are */
	assert_int_equal(trace_fmt_item(t, 5, "buf", 1, rec, sizeof(rec), &v), 0);
	trace_fmt_text(t, 5, rec, sizeof(rec), "buf", text, sizeof(text));
	assert_string_equal(text, "id=-2 args=0100ffff");
	trace_fmt_free(t);
}

static void either_order(void **state)
{
	shapes_of(false);
	shapes_of(true);
}

/* Every cut is told, but for those behind the last format; the exact size shows a read past it. */
static void cuts(void **state)
{
	struct data d;

	preamble(&d, false);
	for (size_t n = 0; n < d.n; n++) {
		uint8_t *p = malloc(n ? n : 1);
		struct trace_fmt *t;
		unsigned used = 0;
		bool damaged = false;

		assert_non_null(p);
		memcpy(p, d.p, n);
		if (!trace_fmt_new(&t, p, n, &used, &damaged)) {
			assert_true(damaged);
			assert_int_equal(used, 0);
			trace_fmt_free(t);
		}
		free(p);
	}
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(either_order), cmocka_unit_test(cuts), cmocka_unit_test(items),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
