/* SPDX-License-Identifier: BSD-2-Clause */
/* Address filters: places of a program as nm and readelf list them; of a kernel from our list. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hwtrace/base/diag.h"
#include "hwtrace/capture/addr_filter.h"
#include "tests/support/scratch.h"

static const char kallsyms[] = "ffffffff81000000 T first\nffffffff81000040 t second\n"
	"ffffffff81000100 T third\nffffffff81000200 t twin\nffffffff81000240 t twin\n"
	"ffffffff81000300 T last\n";

static char program[300];
static unsigned long long off, addr, size;

static int make(void **state)
{
	if (scratch_make(state))
		return -1;
	scratch_write("p.c", scratch_source, strlen(scratch_source));
	scratch_write("kallsyms", kallsyms, sizeof(kallsyms) - 1);
	return 0;
}

static bool built(void)
{
	char *real;

	if (!*program) {
		scratch_sh("cc -O0 -g -o p p.c");
		real = realpath(scratch("p"), NULL);
		assert_non_null(real);
		snprintf(program, sizeof(program), "%s", real);
		free(real);
		scratch_text("p", &off, &addr, &size);
	}
	return true;
}

static int make_it(const char *text, char *out, struct hwt_diag *d)
{
	char copy[100];

	*d = (struct hwt_diag){ 0 };
	snprintf(copy, sizeof(copy), "%s", scratch("kallsyms"));
	return addr_filter(text, copy, out, ADDR_FILTER_TEXT, d);
}

/* The size that nm -S lists. */
static uint64_t nm_size(const char *name)
{
	char cmd[200];
	unsigned long long v = 0;
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm -S %s | awk '$4 == \"%s\" { print $2 }'", scratch("p"),
		 name);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_int_equal(fscanf(f, "%llx", &v), 1);
	pclose(f);
	return v;
}

static void of_file(void **state)
{
	char text[400], want[400], out[ADDR_FILTER_TEXT];
	struct hwt_diag d;
	uint64_t at;

	built();
	at = scratch_nm("p", "helper") - addr + off;
	snprintf(text, sizeof(text), "helper@%s", program);
	snprintf(want, sizeof(want), "filter 0x%" PRIx64 "/0x%" PRIx64 "@%s", at,
		 nm_size("helper"), program);
	assert_int_equal(make_it(text, out, &d), 0);
	assert_string_equal(out, want);
	/* as the user writes it, by another path */
	snprintf(text, sizeof(text), "  filter  helper @ %s/./p", scratch("."));
	assert_int_equal(make_it(text, out, &d), 0);
	assert_string_equal(out, want);
	snprintf(text, sizeof(text), "start helper@%s", program);
	snprintf(want, sizeof(want), "start 0x%" PRIx64 "@%s", at, program);
	assert_int_equal(make_it(text, out, &d), 0);
	assert_string_equal(out, want);
	snprintf(text, sizeof(text), "tracestop helper/8@%s", program);
	snprintf(want, sizeof(want), "tracestop 0x%" PRIx64 "/0x8@%s", at, program);
	assert_int_equal(make_it(text, out, &d), 0);
	assert_string_equal(out, want);
	snprintf(text, sizeof(text), "0x%llx/16@%s", addr + 4, program);
	snprintf(want, sizeof(want), "filter 0x%llx/0x10@%s", off + 4, program);
	assert_int_equal(make_it(text, out, &d), 0);
	assert_string_equal(out, want);
}

static void of_kernel(void **state)
{
	char out[ADDR_FILTER_TEXT];
	struct hwt_diag d;

	assert_int_equal(make_it("second", out, &d), 0);
	assert_string_equal(out, "filter 0xffffffff81000040/0xc0");
	assert_int_equal(make_it("stop third", out, &d), 0);
	assert_string_equal(out, "stop 0xffffffff81000100");
	assert_int_equal(make_it("third/4", out, &d), 0);
	assert_string_equal(out, "filter 0xffffffff81000100/0x4");
	assert_int_equal(make_it("0xffffffff81000000/0x100", out, &d), 0);
	assert_string_equal(out, "filter 0xffffffff81000000/0x100");
}

static void refused(void **state)
{
	static const struct { const char *text, *words; } all[] = {
		{ "", "no place" }, { "  ", "no place" }, { "@/bin/sh", "no place" },
		{ "fourth", "no function fourth" }, { "twin", "more than one" },
		{ "0x1000", "size" }, { "second/x", "no number" }, { "second/0", "no number" },
		{ "main@/nowhere/at/all", "not there" }, { "filter", "no function filter" },
		{ "main@/proc/self/maps", "" }, { "main@/", "" },
	};
	char text[400], out[ADDR_FILTER_TEXT];
	struct hwt_diag d;

	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		if (make_it(all[i].text, out, &d) >= 0 || !strstr(d.text, all[i].words))
			fail_msg("%s: \"%s\"", all[i].text, d.text);
	built();
	snprintf(text, sizeof(text), "nobody@%s", program);
	assert_true(make_it(text, out, &d) < 0);
	assert_non_null(strstr(d.text, "no function nobody"));
	snprintf(text, sizeof(text), "0xfffffffffff/4@%s", program);
	assert_true(make_it(text, out, &d) < 0);
	snprintf(text, sizeof(text), "helper@%s", program);
	d = (struct hwt_diag){ 0 };
	assert_true(addr_filter(text, "/nowhere", out, 20, &d) < 0);
	scratch_sh("cp p 'x,y'");
	snprintf(text, sizeof(text), "helper@%s", scratch("x,y"));
	assert_true(make_it(text, out, &d) < 0);
	assert_non_null(strstr(d.text, "comma"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_file),
		cmocka_unit_test(of_kernel),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, make, scratch_drop);
}
