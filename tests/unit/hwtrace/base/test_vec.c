/* SPDX-License-Identifier: BSD-2-Clause */
/* Arrays that grow, against what was put in; sizes that do not fit. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "hwtrace/base/vec.h"

static void keeps_all(void **state)
{
	struct vec a = { 0 };

	(void)state;
	for (uint32_t i = 0; i < 1000; i++) {
		uint32_t *p = vec_push(&a, sizeof(*p));

		assert_non_null(p);
		assert_int_equal(*p, 0);
		*p = i * i;
		assert_true(a.n == i + 1 && a.cap >= a.n && a.cap <= 2 * a.n + 16);
	}
	for (uint32_t i = 0; i < 1000; i++)
		assert_int_equal(((uint32_t *)a.v)[i], i * i);
	free(a.v);
}

static void too_large(void **state)
{
	char *v = malloc(16);
	void *was = v;
	size_t cap = SIZE_MAX / 4;

	(void)state;
	assert_int_equal(vec_room(&v, &cap, cap - 1, 64), 0);
	assert_int_equal(vec_room(&v, &cap, cap, 64), -ENOMEM);
	assert_ptr_equal(v, was);
	assert_int_equal(cap, SIZE_MAX / 4);
	free(v);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(keeps_all), cmocka_unit_test(too_large),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
