/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer against printf, and what may not reach a terminal or a JSON reader. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/out/out.h"

static struct out o;

static void begin(void)
{
	out_init(&o, -1);
}

static void is(const char *want)
{
	if (strlen(want) != o.n || memcmp(want, o.buf, o.n))
		fail_msg("got \"%.*s\", not \"%s\"", (int)o.n, o.buf, want);
	o.n = 0;
}

static void numbers(void **state)
{
	static const uint64_t v[] = { 0, 1, 9, 10, 255, 4096, 999999999, UINT32_MAX, INT64_MAX,
		UINT64_MAX };
	char want[64];

	begin();
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		snprintf(want, sizeof(want), "%" PRIu64, v[i]);
		out_udec(&o, v[i]);
		is(want);
		snprintf(want, sizeof(want), "%" PRId64, (int64_t)v[i]);
		out_dec(&o, (int64_t)v[i]);
		is(want);
		snprintf(want, sizeof(want), "%15" PRIu64, v[i]);
		out_udecw(&o, v[i], 15);
		is(want);
		snprintf(want, sizeof(want), "%08" PRIx64, v[i]);
		out_hex(&o, v[i], 8);
		is(want);
		snprintf(want, sizeof(want), "%016" PRIx64, v[i]);
		out_hex(&o, v[i], 16);
		is(want);
		out_hex(&o, v[i], 20);	/* more digits than there are */
		is(want);
	}
	out_dec(&o, INT64_MIN);
	is("-9223372036854775808");
}

static void columns(void **state)
{
	begin();
	out_str(&o, "ab");
	out_tab(&o, 4);
	out_str(&o, "c");
	out_tab(&o, 4);		/* past it: one blank */
	out_str(&o, "d");
	is("ab  c d");
	begin();
	o.color = true;
	out_style(&o, OUT_RED);
	out_str(&o, "a");
	out_style(&o, OUT_PLAIN);
	out_tab(&o, 3);
	out_str(&o, "b");
	is("\033[31ma\033[0m  b");
	begin();
	out_style(&o, OUT_RED);
	is("");
	/* a letter of two bytes takes one column */
	out_safe(&o, "\xc3\xa9");
	out_tab(&o, 3);
	is("\xc3\xa9  ");
}

static void units(void **state)
{
	static const struct { uint64_t v; const char *span, *size; } t[] = {
		{ 0, "0 ns", "0 B" }, { 999, "999 ns", "999 B" }, { 1000, "1 us", "1000 B" },
		{ 1024, "1.02 us", "1 KiB" }, { 1536, "1.53 us", "1.5 KiB" },
		{ 2047, "2.04 us", "1.99 KiB" }, { 12345, "12.3 us", "12 KiB" },
		{ 999999, "999 us", "976 KiB" }, { 1000000, "1 ms", "976 KiB" },
		{ 1048575, "1.04 ms", "1023 KiB" }, { 1500000000, "1.5 s", "1.39 GiB" },
	};

	begin();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		out_span(&o, t[i].v);
		is(t[i].span);
		out_size(&o, t[i].v);
		is(t[i].size);
	}
	out_spans(&o, 1352000000, 1354100000);
	is("1.352 s to 1.354 s");
	out_spans(&o, 1350000001, 1350000002);
	is("1.350000001 s to 1.350000002 s");
	out_spans(&o, 423456789, 423999999);
	is("423.4 ms to 423.9 ms");
	out_spans(&o, 999999, 1000000);
	is("999 us to 1 ms");
	out_spans(&o, 7, 8);
	is("7 ns to 8 ns");
	out_spans(&o, 1500, 1700);
	is("1.5 us to 1.7 us");
	out_group(&o, 1234567);
	is("1 234 567");
	out_group(&o, 123);
	is("123");
	out_group(&o, 1000);
	is("1 000");
}

/* What a hostile name of a task or symbol could do to a terminal. */
static void terminal(void **state)
{
	static const char *const t[][2] = {
		{ "plain ~", "plain ~" }, { "a\033[2Jb", "a\\x1b[2Jb" },
		{ "a\nb\r\t", "a\\x0ab\\x0d\\x09" }, { "\x7f", "\\x7f" },
		{ "\x9b" "31m", "\\x9b31m" }, { "\xc2\x9b", "\\u009b" },
		{ "\xe2\x80\xae" "evil", "\\u202eevil" }, { "\xe2\x81\xa6", "\\u2066" },
		{ "\xd8\x9c", "\\u061c" }, { "\xef\xbb\xbf", "\\ufeff" },
		{ "gr\xc3\xbc\xc3\x9f", "gr\xc3\xbc\xc3\x9f" },
		{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x80" },
		{ "\xc3", "\\xc3" }, { "\xc3(", "\\xc3(" }, { "\xe2\x82", "\\xe2\\x82" },
	};

	begin();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		out_safe(&o, t[i][0]);
		is(t[i][1]);
	}
}

static void json(void **state)
{
	static const char *const t[][2] = {
		{ "", "\"\"" }, { "a\"b\\c", "\"a\\\"b\\\\c\"" },
		{ "\n\x01", "\"\\u000a\\u0001\"" }, { "\xc3\xbc", "\"\xc3\xbc\"" },
		{ "\xff", "\"\\ufffd\"" }, { "\xc3", "\"\\ufffd\"" },
		{ "\xc0\xaf", "\"\\ufffd\\ufffd\"" },
		{ "\xed\xa0\x80", "\"\\ufffd\\ufffd\\ufffd\"" },	/* a surrogate */
		{ "\xf4\x90\x80\x80", "\"\\ufffd\\ufffd\\ufffd\\ufffd\"" },
		{ "\xe0\x80\x80", "\"\\ufffd\\ufffd\\ufffd\"" },	/* overlong */
		{ "\xe2\x80\xa8", "\"\\u2028\"" },
	};

	begin();
	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		out_json_str(&o, t[i][0]);
		is(t[i][1]);
	}
}

/* More than the buffer through a pipe, in pieces that straddle its end. */
static void long_output(void **state)
{
	char got[64];
	int fd[2];

	assert_int_equal(pipe(fd), 0);
	out_init(&o, fd[1]);
	assert_true(fcntl(fd[1], F_SETPIPE_SZ, 4 * OUT_BUF) > 0);
	for (int i = 0; i < OUT_BUF / 8; i++)
		out_str(&o, "123456789\n");
	assert_int_equal(out_close(&o), 0);
	close(fd[1]);
	for (int i = 0; i < OUT_BUF / 8; i++) {
		assert_int_equal(read(fd[0], got, 10), 10);
		assert_memory_equal(got, "123456789\n", 10);
	}
	assert_int_equal(read(fd[0], got, 10), 0);
	close(fd[0]);
}

/* A full disk is told once and kept; nothing is written after it. */
static void failing(void **state)
{
	int fd = open("/dev/full", O_WRONLY);

	if (fd < 0)
		skip();
	out_init(&o, fd);
	o.owned = true;
	out_str(&o, "x");
	assert_int_equal(out_flush(&o), -ENOSPC);
	for (int i = 0; i < 2 * OUT_BUF; i++)
		out_ch(&o, 'x');
	assert_int_equal(out_close(&o), -ENOSPC);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers), cmocka_unit_test(columns), cmocka_unit_test(units),
		cmocka_unit_test(terminal), cmocka_unit_test(json),
		cmocka_unit_test(long_output), cmocka_unit_test(failing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
