/* SPDX-License-Identifier: BSD-2-Clause */
#include "clock.h"

#include <string.h>

static const char *const names[HWT_CLOCK_COUNT] = {
	[HWT_CLOCK_BASE] = "base", [HWT_CLOCK_TSC] = "tsc", [HWT_CLOCK_CS] = "coresight",
	[HWT_CLOCK_CNTVCT] = "cntvct", [HWT_CLOCK_CYC] = "cyc", [HWT_CLOCK_PERF] = "perf",
	[HWT_CLOCK_LOCAL] = "local", [HWT_CLOCK_GLOBAL] = "global",
	[HWT_CLOCK_MONOTONIC] = "monotonic", [HWT_CLOCK_MONOTONIC_RAW] = "monotonic-raw",
	[HWT_CLOCK_BOOT] = "boot", [HWT_CLOCK_REALTIME] = "realtime", [HWT_CLOCK_TAI] = "tai",
};

const char *hwt_clock_name(unsigned clock)
{
	return names[clock < HWT_CLOCK_COUNT ? clock : HWT_CLOCK_BASE];
}

enum hwt_clock time_clock_of(const char *name)
{
	static const struct { const char *name; enum hwt_clock clock; } other[] = {
		{ "CLOCK_MONOTONIC", HWT_CLOCK_MONOTONIC },
		{ "CLOCK_MONOTONIC_RAW", HWT_CLOCK_MONOTONIC_RAW },
		{ "CLOCK_BOOTTIME", HWT_CLOCK_BOOT }, { "CLOCK_REALTIME", HWT_CLOCK_REALTIME },
		{ "CLOCK_TAI", HWT_CLOCK_TAI },
		/* ftrace's trace_clock */
		{ "mono", HWT_CLOCK_MONOTONIC }, { "mono_raw", HWT_CLOCK_MONOTONIC_RAW },
		{ "x86-tsc", HWT_CLOCK_TSC },
		/* uname of CTF clocks, readings of Linux */
		{ "monotonic_raw", HWT_CLOCK_MONOTONIC_RAW }, { "boottime", HWT_CLOCK_BOOT },
		{ "sched_clock", HWT_CLOCK_PERF }, { "perf clock", HWT_CLOCK_PERF },
	};

	for (unsigned i = HWT_CLOCK_TSC; i < HWT_CLOCK_COUNT; i++)
		if (!strcmp(name, names[i]))
			return (enum hwt_clock)i;
	for (unsigned i = 0; i < sizeof(other) / sizeof(other[0]); i++)
		if (!strcmp(name, other[i].name))
			return other[i].clock;
	return HWT_CLOCK_BASE;
}

enum hwt_clock time_clock_of_id(unsigned id)
{
	static const enum hwt_clock clocks[] = { HWT_CLOCK_BASE, HWT_CLOCK_MONOTONIC,
		HWT_CLOCK_MONOTONIC_RAW, HWT_CLOCK_BOOT, HWT_CLOCK_REALTIME, HWT_CLOCK_TAI,
		HWT_CLOCK_PERF };

	return id < sizeof(clocks) / sizeof(clocks[0]) ? clocks[id] : HWT_CLOCK_BASE;
}

/*
 * Linux slews the adjusted clocks by up to 500 ppm (adjtimex(2), ADJ_FREQUENCY); the others are
 * the counter times a constant, rounded. A CoreSight timestamp has a crystal of its own.
 */
uint32_t time_clock_drift(enum hwt_clock clock)
{
	switch (clock) {
	case HWT_CLOCK_MONOTONIC: case HWT_CLOCK_BOOT: case HWT_CLOCK_REALTIME: case HWT_CLOCK_TAI:
		return 500000;
	case HWT_CLOCK_MONOTONIC_RAW: case HWT_CLOCK_PERF: case HWT_CLOCK_LOCAL:
	case HWT_CLOCK_GLOBAL:
		return 1000;
	default:
		return 100000;
	}
}
