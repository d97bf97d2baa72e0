/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../decoders/flow/ocsd_spec.h"

static struct spec s;

/* Elements as letters, oldest first: A address, E atom, P other P0, O other. */
static void push(const char *text)
{
	static const char names[] = "AEPO";

	for (; *text; text++)
		spec_push(&s, (enum spec_kind)(strchr(names, *text) - names), 1);
}

static void is(const char *text)
{
	assert_int_equal(s.n, strlen(text));
	for (unsigned i = 0; i < s.n; i++)
		assert_int_equal("AEPO"[s.kind[i]], text[i]);
}

/* Arm IHI 0064, "Mispredict instruction trace packet": addresses behind the atom are dropped. */
static void test_mispredict(void **state)
{
	memset(&s, 0, sizeof(s));
	push("AEA");
	assert_true(spec_mispredict(&s));
	is("AE");
	push("OAA");
	assert_true(spec_mispredict(&s));
	is("AEO");
	push("A");
	assert_true(spec_mispredict(&s));
	push("AO");		/* the address is not the newest */
	assert_false(spec_mispredict(&s));
	is("AEOAO");
	push("E");		/* a newer atom hides it */
	assert_true(spec_mispredict(&s));
	push("AP");
	assert_false(spec_mispredict(&s));
	memset(&s, 0, sizeof(s));
	assert_true(spec_mispredict(&s));
}

static void test_cancel(void **state)
{
	memset(&s, 0, sizeof(s));
	push("EEOPAE");
	spec_cancel(&s, 2);
	is("EEOA");
	spec_cancel(&s, 1);
	is("EOA");
	assert_true(spec_mispredict(&s));
	is("EO");
	push("AEO");		/* the cancelled atom leaves the rest in its order */
	spec_cancel(&s, 1);
	assert_false(spec_mispredict(&s));
	spec_cancel(&s, 99);
	is("OAO");
}

static void test_full(void **state)
{
	memset(&s, 0, sizeof(s));
	spec_push(&s, SPEC_ATOM, 3 * SPEC_MAX);
	assert_true(s.n <= SPEC_MAX && s.n >= SPEC_MAX / 2);
	spec_cancel(&s, UINT32_MAX);
	is("");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mispredict), cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_full),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
