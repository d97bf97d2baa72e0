/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "hwtrace/base/idmap.h"

enum { N = 100000 };

/* Ids in patterns that occur (counters, pids, high halves), against an array of what was set. */
static void patterns(void **state)
{
	static uint32_t value[N];

	for (unsigned shift = 0; shift < 48; shift += 8) {
		struct idmap m = { 0 };
		uint32_t seed = 1 + shift;

		assert_int_equal(idmap_get(&m, 0), IDMAP_NONE);
		for (uint32_t i = 0; i < N; i++)
			value[i] = IDMAP_NONE;
		for (uint32_t i = 0; i < N; i++) {
			uint32_t k;

			seed = seed * 1664525 + 1013904223;
			k = seed % N;
			value[k] = i;
			assert_int_equal(idmap_set(&m, (uint64_t)k << shift, i), 0);
		}
		for (uint32_t i = 0; i < N; i++)
			assert_int_equal(idmap_get(&m, (uint64_t)i << shift), value[i]);
		assert_int_equal(idmap_get(&m, UINT64_MAX), IDMAP_NONE);
		idmap_free(&m);
		assert_int_equal(idmap_get(&m, 1), IDMAP_NONE);
	}
}

int main(void)
{
	const struct CMUnitTest t[] = { cmocka_unit_test(patterns) };

	return cmocka_run_group_tests(t, NULL, NULL);
}
