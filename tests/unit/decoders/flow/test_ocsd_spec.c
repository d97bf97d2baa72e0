/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../decoders/flow/ocsd_spec.h"

static struct spec s;

/* A unit that leaves @max elements uncommitted. */
static void start(uint32_t max)
{
	s = (struct spec){ .max = max };
}

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
	start(SPEC_MAX);
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
	start(SPEC_MAX);
	assert_true(spec_mispredict(&s));
}

static void test_cancel(void **state)
{
	start(SPEC_MAX);
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

/*
 * OpenCSD 1.3.3, EtmV4P0Stack::erase_curr_from_front(): its iterator is past the end if the
 * element was the last one. With an atom that must be there, it is not.
 */
static void test_sure(void **state)
{
	start(SPEC_MAX);
	push("A");
	assert_false(spec_mispredict(&s));	/* alone, or nobody knows */
	push("EA");
	assert_true(spec_mispredict(&s));
	push("EA");
	spec_commit(&s, 1);
	assert_true(spec_mispredict(&s));
	push("A");
	spec_commit(&s, 1);			/* its atom is gone */
	assert_false(spec_mispredict(&s));
	push("EA");
	assert_true(spec_mispredict(&s));
	spec_commit(&s, 2);			/* more than there are: the count is wrong */
	push("EA");
	assert_false(spec_mispredict(&s));
	spec_reset(&s);
	push("EA");
	assert_true(spec_mispredict(&s));
	spec_cancel(&s, 2);
	push("EA");
	assert_false(spec_mispredict(&s));
	push("E");				/* no address is dropped */
	assert_true(spec_mispredict(&s));
	start(4);
	assert_true(spec_info(&s, 4));
	assert_false(spec_info(&s, 5));		/* deeper than the unit can be */
	push("EEE");
	assert_true(spec_info(&s, 0));	/* the library may have begun anew here */
	spec_cancel(&s, 1);
	push("EA");
	assert_false(spec_mispredict(&s));
}

/* What is above the depth of the unit was committed: it can not be cancelled, and hides nothing. */
static void test_depth(void **state)
{
	start(4);
	push("EEEEEEEEA");
	spec_cancel(&s, 3);
	assert_true(spec_mispredict(&s));
	push("A");
	spec_cancel(&s, 2);
	push("A");
	assert_false(spec_mispredict(&s));
}

static void test_full(void **state)
{
	start(SPEC_MAX);
	spec_push(&s, SPEC_ATOM, 3 * SPEC_MAX);
	assert_true(s.n <= SPEC_MAX && s.n >= SPEC_MAX / 2);
	spec_cancel(&s, UINT32_MAX);
	is("");
}

/* What the return stack has is known from the ranges alone. */
static void test_rets(void **state)
{
	struct spec_rets r = { .n = 0 };

	assert_true(spec_rets_exception(&r, false));
	spec_rets_range(&r, true, false, true);		/* ret: nothing is there */
	assert_false(spec_rets_exception(&r, false));
	spec_rets_range(&r, true, true, false);		/* bl */
	assert_true(spec_rets_exception(&r, false));
	spec_rets_range(&r, false, false, true);	/* a return that was not taken */
	assert_true(spec_rets_exception(&r, false));
	spec_rets_range(&r, true, false, true);
	assert_true(spec_rets_exception(&r, false));	/* takes it */
	spec_rets_range(&r, true, false, true);
	assert_false(spec_rets_exception(&r, false));
	spec_rets_range(&r, true, true, false);
	spec_rets_range(&r, true, false, true);
	assert_false(spec_rets_exception(&r, true));	/* would take it, and must not */
	for (unsigned i = 0; i < 3 * SPEC_RETS; i++)
		spec_rets_range(&r, true, true, false);
	assert_int_equal(r.n, SPEC_RETS);
	for (unsigned i = 0; i < 3 * SPEC_RETS; i++)
		spec_rets_range(&r, true, false, true);
	assert_int_equal(r.n, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mispredict), cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_sure), cmocka_unit_test(test_depth),
		cmocka_unit_test(test_full),
		cmocka_unit_test(test_rets),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
