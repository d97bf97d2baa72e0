/* SPDX-License-Identifier: BSD-2-Clause */
/* Truth: the names in clock_gettime(2), ftrace's trace_clock file and LTTng's clock uname. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "hwtrace/time/clock.h"

static void each_name_is_its_own(void **state)
{
	for (unsigned i = 0; i < HWT_CLOCK_COUNT; i++) {
		for (unsigned k = 0; k < i; k++)
			assert_string_not_equal(hwt_clock_name(i), hwt_clock_name(k));
		assert_int_equal(time_clock_of(hwt_clock_name(i)), i);
	}
	assert_string_equal(hwt_clock_name(HWT_CLOCK_COUNT), "base");
	assert_string_equal(hwt_clock_name(HWT_CLOCK_CS), "coresight");
}

static void names_of_others(void **state)
{
	static const struct { const char *name; enum hwt_clock clock; } t[] = {
		{ "CLOCK_MONOTONIC", HWT_CLOCK_MONOTONIC }, { "mono", HWT_CLOCK_MONOTONIC },
		{ "monotonic", HWT_CLOCK_MONOTONIC }, { "mono_raw", HWT_CLOCK_MONOTONIC_RAW },
		{ "CLOCK_MONOTONIC_RAW", HWT_CLOCK_MONOTONIC_RAW }, { "boot", HWT_CLOCK_BOOT },
		{ "CLOCK_REALTIME", HWT_CLOCK_REALTIME }, { "tai", HWT_CLOCK_TAI },
		{ "local", HWT_CLOCK_LOCAL }, { "global", HWT_CLOCK_GLOBAL },
		{ "x86-tsc", HWT_CLOCK_TSC }, { "perf", HWT_CLOCK_PERF },
		{ "perf clock", HWT_CLOCK_PERF }, { "cntvct", HWT_CLOCK_CNTVCT },
		{ "uptime", HWT_CLOCK_BASE }, { "", HWT_CLOCK_BASE },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		assert_int_equal(time_clock_of(t[i].name), t[i].clock);
}

static void ids_of_records(void **state)
{
	assert_int_equal(time_clock_of_id(1), HWT_CLOCK_MONOTONIC);
	assert_int_equal(time_clock_of_id(4), HWT_CLOCK_REALTIME);
	assert_int_equal(time_clock_of_id(6), HWT_CLOCK_PERF);
	assert_int_equal(time_clock_of_id(0), HWT_CLOCK_BASE);
	assert_int_equal(time_clock_of_id(7), HWT_CLOCK_BASE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_name_is_its_own),
		cmocka_unit_test(names_of_others),
		cmocka_unit_test(ids_of_records),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
