/* SPDX-License-Identifier: BSD-2-Clause */
/* The counter and what a tick is worth. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "hwtrace/capture/ticks.h"

static uint64_t off(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Pairs of a clock that is known: what the map gives is told by arithmetic. */
static void fit(void **state)
{
	static const uint64_t hz[] = { 1000000, 19200000, 2599998110, 4000000000 };

	for (size_t i = 0; i < sizeof(hz) / sizeof(hz[0]); i++) {
		struct ticks_pair a = { 123456789012345, 0, 777000000000 };
		struct ticks_pair b = { a.ticks + hz[i] * 10, 0, a.ns + 10000000000 };
		struct ticks_clock c = { 0 };

		ticks_fit(&c, &a, &b);
		assert_true(time_map_valid(&c.map));
		assert_int_equal(c.hz, hz[i]);
		assert_true(off(time_map_ns(&c.map, a.ticks), a.ns) <= 1);
		/* 10 s with a multiplier of 32 bits */
		assert_true(off(time_map_ns(&c.map, b.ticks), b.ns) <= 6);
		assert_true(off(time_map_ns(&c.map, a.ticks + hz[i]), a.ns + 1000000000) <= 2);
	}
}

static void no_fit(void **state)
{
	struct ticks_pair a = { 1000, 0, 1000 }, b = { 1000, 0, 2000 }, c = { 2000, 0, 1000 };
	struct ticks_clock k = { 0 };

	ticks_fit(&k, &a, &b);
	assert_false(time_map_valid(&k.map));
	ticks_fit(&k, &a, &c);
	assert_false(time_map_valid(&k.map));
	ticks_fit(&k, &b, &a);
	assert_false(time_map_valid(&k.map));
}

/* Against the clock itself: whatever interrupts between the readings only widens them. */
static void measure(void **state)
{
	struct ticks_pair begin = ticks_read(CLOCK_MONOTONIC), end;
	struct timespec before, after;
	struct ticks_clock c;
	uint64_t ns, lo, hi, far;

	ticks_measure(&c);
	assert_true(c.hz > 900000);
	assert_true(c.ctc_eax && c.ctc_ebx >= c.ctc_eax);
	clock_gettime(CLOCK_MONOTONIC, &before);
	ns = time_map_ns(&c.map, step_ticks());
	clock_gettime(CLOCK_MONOTONIC, &after);
	lo = (uint64_t)before.tv_sec * 1000000000 + (uint64_t)before.tv_nsec;
	hi = (uint64_t)after.tv_sec * 1000000000 + (uint64_t)after.tv_nsec;
	/*
	 * The map was made of the last 20 ms: the width of its pairs, and as much again for each
	 * 20 ms that this task was kept waiting since.
	 */
	far = 2 * c.error * (1 + (hi - begin.ns) / 20000000) + 100000;
	assert_true(ns + far >= lo && ns <= hi + far);
	end = ticks_read(CLOCK_MONOTONIC);
	assert_true(end.ticks > begin.ticks && end.ns > begin.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fit), cmocka_unit_test(no_fit), cmocka_unit_test(measure),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
