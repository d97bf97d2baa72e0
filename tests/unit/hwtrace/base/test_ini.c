/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/base/ini.h"

static struct arena arena;
static struct notes ns;
static struct ini ini;

static void parse(const char *text)
{
	assert_int_equal(ini_parse(&ini, &arena, "t.ini", text, strlen(text), &ns), 0);
}

static const char *get(const char *section, const char *key)
{
	const struct ini_item *it = ini_find(&ini, section, key);

	return it ? it->value : NULL;
}

static void values(void **state)
{
	parse("\xef\xbb\xbf; head\r\n[Device]\r\n Name = cpu_0 \r\n// other\r\n"
	      "FILE=\"a b.bin\" ; why\r\n# no\r\n[regs]\nTRCIDR0(id:0x78)=0x28000EA1\n"
	      "path=a#b;c\nempty=\n[last]\nx='1'");
	assert_int_equal(ns.n, 0);
	assert_string_equal(get("device", "name"), "cpu_0");
	assert_string_equal(get("DEVICE", "file"), "a b.bin");
	assert_string_equal(get("regs", "TRCIDR0(id:0x78)"), "0x28000EA1");
	assert_string_equal(get("regs", "path"), "a#b;c");
	assert_string_equal(get("regs", "empty"), "");
	assert_string_equal(get("last", "X"), "1");
	assert_null(get("device", "x"));
	assert_int_equal(ini_find(&ini, "device", "name")->line, 3);
	/* mark 3, "; head" 8, "[Device]" 10, with line ends */
	assert_int_equal(ini_find(&ini, "device", "name")->off, 21);
	assert_null(ini.v[0].key);
	assert_string_equal(ini.v[0].section, "Device");
}

static void later_wins(void **state)
{
	parse("[a]\nk=1\n[a]\nk=2\n");
	assert_string_equal(get("a", "k"), "2");
}

static void bad_lines(void **state)
{
	parse("junk\n[open\nk=v\n=v\n");
	assert_int_equal(ini.n, 1);
	assert_string_equal(get("", "k"), "v");
	assert_int_equal(ns.n, 3);
	for (uint32_t i = 0; i < 3; i++)
		assert_int_equal(ns.v[i].diag.id, 61);
	assert_int_equal(ns.v[1].diag.off, 5);
	assert_non_null(strstr(ns.v[2].diag.text, "line 4"));
}

static void limits(void **state)
{
	size_t n = INI_MAX_FILE + 1;
	char *p = malloc(n);

	assert_non_null(p);
	memset(p, '\n', n);
	assert_int_equal(ini_parse(&ini, &arena, "t", p, n, &ns), -EFBIG);
	for (size_t i = 0; i + 4 <= n; i += 4)
		memcpy(p + i, "a=b\n", 4);
	assert_int_equal(ini_parse(&ini, &arena, "t", p, n - 1, &ns), 0);
	assert_int_equal(ini.n, INI_MAX_ITEMS);
	assert_int_equal(ns.n, 1);
	free(p);
	assert_int_equal(ini_parse(&ini, &arena, "t", NULL, 0, &ns), 0);
	assert_int_equal(ini.n, 0);
}

/* no NUL at the end, NULs inside */
static void binary(void **state)
{
	static const char text[] = { '[', 'a', 0, 'b', ']', '\n', 'k', 0, '=', 'v', 0, 'w' };
	char *p = malloc(sizeof(text));

	assert_non_null(p);
	memcpy(p, text, sizeof(text));
	assert_int_equal(ini_parse(&ini, &arena, "t", p, sizeof(text), &ns), 0);
	assert_string_equal(get("a", "k"), "v");
	free(p);
}

static void numbers(void **state)
{
	uint64_t v = 0;

	assert_true(ini_u64("0", &v) && v == 0);
	assert_true(ini_u64("18446744073709551615", &v) && v == UINT64_MAX);
	assert_true(ini_u64("0XfFfFfFfFfFfFfFfF", &v) && v == UINT64_MAX);
	assert_true(ini_u64("007", &v) && v == 7);
	assert_false(ini_u64("18446744073709551616", &v));
	assert_false(ini_u64("0x10000000000000000", &v));
	assert_false(ini_u64("", &v));
	assert_false(ini_u64("0x", &v));
	assert_false(ini_u64("-1", &v));
	assert_false(ini_u64("1 ", &v));
	assert_false(ini_u64("1f", &v));
	assert_false(ini_u64("0xg", &v));
}

static void lists(void **state)
{
	const char *s = " a , bcd,, ,e";
	char buf[3];

	assert_true(ini_list(&s, buf, sizeof(buf)));
	assert_string_equal(buf, "a");
	assert_true(ini_list(&s, buf, sizeof(buf)));
	assert_string_equal(buf, "bc");
	assert_true(ini_list(&s, buf, sizeof(buf)));
	assert_string_equal(buf, "e");
	assert_false(ini_list(&s, buf, sizeof(buf)));
}

static int clean(void **state)
{
	arena_free(&arena);
	notes_free(&ns);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test_teardown(values, clean),
		cmocka_unit_test_teardown(later_wins, clean),
		cmocka_unit_test_teardown(bad_lines, clean),
		cmocka_unit_test_teardown(limits, clean),
		cmocka_unit_test_teardown(binary, clean),
		cmocka_unit_test_teardown(numbers, clean),
		cmocka_unit_test_teardown(lists, clean),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
