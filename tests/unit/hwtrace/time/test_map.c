/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "hwtrace/time/map.h"

/* Case K01: multiplier, shift and zero as seen on a real machine. */
static const struct time_map k01 = {
	.mult = 672770777, .shift = 31, .zero = 18433097446223852063u,
};

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Bit-wise long multiplication and shift: another way to floor(c * mult / 2^shift) mod 2^64. */
static uint64_t slow(const struct time_map *m, uint64_t c)
{
	uint64_t lo = 0, hi = 0;

	for (int i = 31; i >= 0; i--) {
		hi = hi << 1 | lo >> 63;
		lo <<= 1;
		if (m->mult >> i & 1) {
			hi += lo + c < lo;
			lo += c;
		}
	}
	return m->zero + (m->shift ? lo >> m->shift | hi << (64 - m->shift) : lo);
}

static void exact_and_back(void **state)
{
	static const uint64_t edge[] = {
		0, 1, 2, (1ull << 31) - 1, 1ull << 31, (1ull << 31) + 1, UINT32_MAX, 1ull << 32,
		INT64_MAX, 1ull << 63, UINT64_MAX - 1, UINT64_MAX,
	};
	uint64_t seed = 88172645463325252u;

	for (unsigned i = 0; i < 20000; i++) {
		uint64_t c = i < 12 ? edge[i] : rnd(&seed) >> (i % 64);
		uint64_t ns = time_map_ns(&k01, c), t = time_map_ticks(&k01, ns);

		assert_true(ns == slow(&k01, c));
		/* 3.19 ticks a ns here: the earliest tick of that ns is at most 3 before */
		assert_true(t <= c && c - t <= 3);
		assert_true(time_map_ns(&k01, t) == ns);
		assert_true(t == 0 || time_map_ns(&k01, t - 1) != ns);
	}
}

static void round_trip_of_ns(void **state)
{
	/* a counter slower than 1 GHz: every tick has its own ns, and the way back is exact */
	const struct time_map slower = { .mult = 3000000001u, .shift = 31, .zero = 7 };
	uint64_t seed = 1;

	for (int i = 0; i < 20000; i++) {
		uint64_t c = rnd(&seed) >> (1 + i % 63);

		assert_true(time_map_ticks(&slower, time_map_ns(&slower, c)) == c);
	}
}

static void all_shifts(void **state)
{
	uint64_t seed = 5;

	for (unsigned shift = 0; shift < 64; shift++) {
		for (int i = 0; i < 200; i++) {
			struct time_map m = { .mult = (uint32_t)rnd(&seed) | 1,
					      .shift = (uint16_t)shift, .zero = rnd(&seed) };
			uint64_t c = rnd(&seed);

			assert_true(time_map_ns(&m, c) == slow(&m, c));
		}
	}
}

static void before_zero(void **state)
{
	const struct time_map m = { .mult = 1u << 10, .shift = 11, .zero = 1000 };

	assert_true(time_map_ticks(&m, 1000) == 0);
	assert_true(time_map_ticks(&m, 999) == 0);
	assert_true(time_map_ticks(&m, 0) == 0);
	assert_true(time_map_ticks(&m, 1001) == 2);
}

/* A clock that began at counter 2000: 2000 * 2^9 / 2^10 = 1000 ns less than the counter's. */
static void ordered(void **state)
{
	const struct time_map m = { .mult = 1u << 9, .shift = 10, .zero = (uint64_t)-1000 };
	const struct time_map fast = { .mult = UINT32_MAX, .shift = 0 };

	assert_true(time_map_ns_ordered(&m, 0) == 0);
	assert_true(time_map_ns_ordered(&m, 1999) == 0);
	assert_true(time_map_ns_ordered(&m, 2002) == 1);
	assert_true(time_map_ns_ordered(&m, UINT64_MAX) == INT64_MAX - 1000);
	assert_true(time_map_ns_ordered(&fast, 1ull << 30) == (uint64_t)UINT32_MAX << 30);
	assert_true(time_map_ns_ordered(&fast, 1ull << 40) == INT64_MAX);
}

/* The counter has fewer bits than 64: a value is completed from the reference (perf_event.h). */
static void short_counter(void **state)
{
	const struct time_map m = { .mult = 1, .shift = 0, .zero = 0, .cap_short = true,
				    .cycles = 0x1fffffff0, .mask = 0xffffffff };

	assert_true(time_map_ns(&m, 0x1fffffff5) == 0x1fffffff5);
	assert_true(time_map_ns(&m, 0x00000004) == 0x200000004);
	assert_true(time_map_ticks(&m, 0x200000004) == 0x200000004);
	assert_true(time_map_ticks(&m, 5) == 0x1fffffff0);
	assert_true(time_map_ticks(&m, UINT64_MAX) == 0x2ffffffef);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exact_and_back), cmocka_unit_test(round_trip_of_ns),
		cmocka_unit_test(all_shifts), cmocka_unit_test(before_zero),
		cmocka_unit_test(ordered), cmocka_unit_test(short_counter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
