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

/* Ids come and go, against the same array; what goes leaves room. */
static void deletes(void **state)
{
	static uint32_t value[N];
	struct idmap m = { 0 };
	uint32_t seed = 7, n = 0;

	idmap_del(&m, 1);
	for (uint32_t i = 0; i < N; i++)
		value[i] = IDMAP_NONE;
	for (uint32_t i = 0; i < 20 * N; i++) {
		uint32_t k;

		seed = seed * 1664525 + 1013904223;
		/* few at a time: neighbours collide, and the table must not grow */
		k = (seed >> 8) % 300;
		if (seed >> 31) {
			n += value[k] == IDMAP_NONE;
			value[k] = i;
			assert_int_equal(idmap_set(&m, (uint64_t)k << 40, i), 0);
		} else {
			n -= value[k] != IDMAP_NONE;
			value[k] = IDMAP_NONE;
			idmap_del(&m, (uint64_t)k << 40);
		}
		assert_int_equal(m.n, n);
		if (i % 1000 == 0)
			for (k = 0; k < 300; k++)
				assert_int_equal(idmap_get(&m, (uint64_t)k << 40), value[k]);
	}
	/* one id after the other, all of which go again */
	for (uint32_t i = 0; i < N; i++) {
		assert_int_equal(idmap_set(&m, i + 1000000ull, i), 0);
		idmap_del(&m, i + 1000000ull);
	}
	assert_true(m.cap <= 1024);
	idmap_free(&m);
}

int main(void)
{
	const struct CMUnitTest t[] = { cmocka_unit_test(patterns), cmocka_unit_test(deletes) };

	return cmocka_run_group_tests(t, NULL, NULL);
}
