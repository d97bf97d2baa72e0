/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "hwtrace/base/strlist.h"

static void by_number(void **state)
{
	static const char *const in[] = { "zero", "cpu10", "cpu2", "", "cpu1", "cpu1.idx" };
	static const char *const out[] = { "zero", "", "cpu1", "cpu1.idx", "cpu2", "cpu10" };
	struct strlist l = { 0 };

	strlist_sort(&l, 0);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(strlist_add(&l, in[i]), 0);
	strlist_sort(&l, 1);	/* the first one stays */
	for (unsigned i = 0; i < 6; i++)
		assert_string_equal(l.v[i], out[i]);
	strlist_sort(&l, 7);
	strlist_cut(&l, 9);
	assert_int_equal(l.n, 6);
	strlist_cut(&l, 2);
	assert_int_equal(l.n, 2);
	assert_string_equal(l.v[1], "");
	strlist_free(&l);
	assert_null(l.v);
	strlist_free(&l);
}

/* A copy is kept, however many there are. */
static void many(void **state)
{
	struct strlist l = { 0 };
	char s[16];

	for (int i = 999; i >= 0; i--) {
		snprintf(s, sizeof(s), "n%d", i);
		assert_int_equal(strlist_add(&l, s), 0);
	}
	strlist_sort(&l, 0);
	for (unsigned i = 0; i < 1000; i++) {
		snprintf(s, sizeof(s), "n%u", i);
		assert_string_equal(l.v[i], s);
	}
	strlist_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_number), cmocka_unit_test(many),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
