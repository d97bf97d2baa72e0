/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/abi.h>

static char seen[4096];
static struct hwt_diag diag;

static void use(void *arg, const struct hwt_abi_use *u)
{
	size_t n = strlen(seen);

	assert_ptr_equal(arg, seen);
	snprintf(seen + n, sizeof(seen) - n, "%u:%.*s:%s ", u->line, (int)u->len, u->name,
		 u->event ? u->event->name : "dirty");
}

/* The text lies in a block of its exact size. */
static int script(const char *text, size_t n)
{
	char *p = malloc(n ? n : 1);
	int rc;

	memcpy(p, text, n);
	seen[0] = 0;
	diag = (struct hwt_diag){ .code = 0 };
	rc = hwt_abi_script(p, n, use, seen, &diag);
	assert_int_equal(hwt_abi_script(p, n, NULL, NULL, NULL), rc);
	free(p);
	return rc;
}

static int text(const char *s)
{
	return script(s, strlen(s));
}

static void dirty(void **state)
{
	const char *names[] = { "irq.entry", "irq.enter", "sched.switch", "", "kprobe:x" };
	size_t at[2] = { 9, 9 };

	assert_int_equal(hwt_abi_dirty(names, 5, at, 2), 3);
	assert_int_equal(at[0], 1);
	assert_int_equal(at[1], 3);
	assert_int_equal(hwt_abi_dirty(names, 5, NULL, 0), 3);
	assert_int_equal(hwt_abi_dirty(names, 1, at, 2), 0);
	assert_int_equal(hwt_abi_dirty(NULL, 0, NULL, 0), 0);
}

static void names(void **state)
{
	assert_int_equal(text(""), 0);
	assert_int_equal(text("\n\n # x\n\r\n"), 0);
	assert_int_equal(text("sched.switch"), 1);
	assert_string_equal(seen, "1:sched.switch:sched.switch ");
	assert_int_equal(text("\tirq.exit # y\nf where a # b\n"), 2);
	assert_string_equal(seen, "1:irq.exit:irq.exit 2:f:dirty ");
}

static void stable(void **state)
{
	assert_int_equal(text("abi=stable\nuser.mark\n"), 1);
	assert_int_equal(text("a:b\nuser.mark\nabi=stable"), -HWT_E_FILTER);
	assert_int_equal(diag.id, 160);
	assert_int_equal(diag.code, -HWT_E_FILTER);
	assert_string_equal(diag.text,
			    "the script declares abi=stable and names 1 dirty event: a:b (line 1)");
	assert_int_equal(text("abi=stable\na\nb\nc\nd\ne\nf\n"), -HWT_E_FILTER);
	assert_non_null(strstr(diag.text, "6 dirty events: a (line 2), "));
	assert_non_null(strstr(diag.text, "d (line 5), ..."));
	assert_null(strstr(diag.text, "e (line"));
}

static void refused(void **state)
{
	static const char *const bad[] = { "abi=2", "abi=stable,", "a b", "a where", "a where # c",
		"a,b", "\x80", "abi=stable abi=stable" };

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		char buf[64];

		snprintf(buf, sizeof(buf), "irq.exit\n%s\n", bad[i]);
		assert_int_equal(text(buf), -HWT_E_FILTER);
		assert_int_equal(diag.id, 161);
		assert_int_equal(diag.off, 9);
	}
	assert_int_equal(script("a\0b", 3), -HWT_E_FILTER);
}

/* A name of any length is a name; what is said of it is bounded. */
static void long_names(void **state)
{
	static char buf[70000];

	memset(buf, 'x', sizeof(buf));
	memcpy(buf, "abi=stable\n", 11);
	assert_int_equal(script(buf, sizeof(buf)), -HWT_E_FILTER);
	assert_int_equal(diag.id, 160);
	assert_true(strlen(diag.text) < 200);
	memcpy(buf, "sched.switch", 12);
	assert_int_equal(script(buf, sizeof(buf)), 1);
	assert_non_null(strstr(seen, "1:sched.switch"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(dirty),
		cmocka_unit_test(names),
		cmocka_unit_test(stable),
		cmocka_unit_test(refused),
		cmocka_unit_test(long_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
