/* SPDX-License-Identifier: BSD-2-Clause */
/* Expectations are those of RFC 8259. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "hwtrace/base/json.h"

static struct arena arena;

static int parse_n(struct json **j, const char *text, size_t n, struct hwt_diag *d)
{
	char *p = malloc(n ? n : 1);	/* exact size: a sanitizer sees a read past it */
	int rc;

	assert_non_null(p);
	memcpy(p, text, n);
	rc = json_parse(j, &arena, "t.json", p, n, d);
	free(p);
	return rc;
}

static struct json *ok(const char *text)
{
	struct hwt_diag d = { .text = "" };
	struct json *j = NULL;

	if (parse_n(&j, text, strlen(text), &d))
		fail_msg("%s: %s at %lu", text, d.text, (unsigned long)d.off);
	return j;
}

static void no(const char *text, uint64_t off)
{
	struct hwt_diag d = { .text = "" };
	struct json *j = NULL;

	if (parse_n(&j, text, strlen(text), &d) != -HWT_E_FORMAT)
		fail_msg("%s: taken", text);
	assert_int_equal(d.id, 80);
	if (d.off != off)
		fail_msg("%s: %s at %lu, not %lu", text, d.text, (unsigned long)d.off,
			 (unsigned long)off);
	assert_null(j);
}

static void trees(void **state)
{
	struct json *j = ok(" {\"a\":[1,-0.5e+3,true,false,null,{}],"
			    "\"b\":{\"c\":\"x\"},\"a2\":[]}\n");
	struct json *a = json_get(j, "a"), *e;
	static const uint8_t types[] = { JSON_NUMBER, JSON_NUMBER, JSON_BOOL, JSON_BOOL,
		JSON_NULL, JSON_OBJECT };
	unsigned n = 0;

	assert_int_equal(j->off, 1);
	for (e = a->child; e; e = e->next)
		assert_int_equal(e->type, types[n++]);
	assert_int_equal(n, 6);
	assert_string_equal(a->child->next->text, "-0.5e+3");
	assert_true(a->child->next->next->truth);
	assert_string_equal(json_get(json_get(j, "b"), "c")->text, "x");
	assert_null(json_get(j, "a2")->child);
	assert_null(json_get(j, "z"));
	assert_null(json_get(a, "z"));
	assert_null(json_get(NULL, "z"));
	assert_string_equal(json_get(ok("{\"k\":1,\"k\":2}"), "k")->text, "2");
}

static void strings(void **state)
{
	assert_string_equal(ok("\"\\\"\\\\\\/\\b\\f\\n\\r\\t\"")->text, "\"\\/\b\f\n\r\t");
	/* U+00E9, U+20AC, U+1F600 as UTF-8, RFC 3629 */
	assert_string_equal(ok("\"\\u00e9\\u20AC\\ud83d\\uDE00\"")->text,
			    "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80");
	assert_string_equal(ok("\"\xc3\xa9\"")->text, "\xc3\xa9");
	no("\"a", 0);
	no("\"a\\", 0);
	no("\"a\\\"", 0);
	no("\"a\\x\"", 2);
	no("\"\\u12g4\"", 1);
	no("\"\\u12\"", 1);
	no("\"\\ud83d\"", 1);
	no("\"\\ude00\"", 1);
	no("\"\\ud83d\\u0041\"", 1);
	no("\"\\u0000\"", 1);
	no("\"a\nb\"", 2);
}

static void errors(void **state)
{
	no("", 0);
	no("  ", 2);
	no("{", 1);
	no("[1", 2);
	no("[1,", 3);
	no("[1,]", 3);
	no("[,1]", 1);
	no("[1 2]", 3);
	no("{\"a\"}", 4);
	no("{\"a\":}", 5);
	no("{\"a\":1,}", 7);
	no("{a:1}", 1);
	no("[1}", 2);
	no("1 2", 2);
	no("]", 0);
	no("tru", 0);
	no("nul", 0);
	no("01", 0);
	no("-", 0);
	no("1.", 0);
	no("1e", 0);
	no(".5", 0);
	no("+1", 0);
	no("NaN", 0);
	no("// c\n1", 0);
}

static void depth(void **state)
{
	char text[2 * JSON_MAX_DEPTH + 8];

	memset(text, '[', JSON_MAX_DEPTH);
	memset(text + JSON_MAX_DEPTH, ']', JSON_MAX_DEPTH);
	text[2 * JSON_MAX_DEPTH] = 0;
	ok(text);
	memset(text, '[', JSON_MAX_DEPTH + 1);
	memset(text + JSON_MAX_DEPTH + 1, ']', JSON_MAX_DEPTH + 1);
	text[2 * JSON_MAX_DEPTH + 2] = 0;
	no(text, JSON_MAX_DEPTH);
}

static void numbers(void **state)
{
	uint64_t v = 0;

	assert_true(json_u64(ok("18446744073709551615"), &v) && v == UINT64_MAX);
	assert_true(json_u64(ok("\"18433473881008870804\""), &v) && v == 18433473881008870804ull);
	assert_false(json_u64(ok("-1"), &v));
	assert_false(json_u64(ok("1.0"), &v));
	assert_false(json_u64(ok("18446744073709551616"), &v));
	assert_false(json_u64(ok("\"\""), &v));
	assert_false(json_u64(ok("true"), &v));
	assert_false(json_u64(NULL, &v));
}

/* every prefix of a text is refused, and none is read past its end */
static void prefixes(void **state)
{
	static const char text[] = "{\"a\":[1,{\"b\":\"\\u00e9\\n\"}],\"c\":-1.5e3,\"d\":null}";

	for (size_t n = 0; n < sizeof(text) - 1; n++) {
		struct json *j;

		assert_int_equal(parse_n(&j, text, n, NULL), -HWT_E_FORMAT);
	}
	ok(text);
}

static int clean(void **state)
{
	arena_free(&arena);
	return 0;
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test_teardown(trees, clean), cmocka_unit_test_teardown(strings, clean),
		cmocka_unit_test_teardown(errors, clean), cmocka_unit_test_teardown(depth, clean),
		cmocka_unit_test_teardown(numbers, clean),
		cmocka_unit_test_teardown(prefixes, clean),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
