/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Names of exceptions against the words that OpenCSD prints for hand-made Exception packets
 * (ETMv4: Arm IHI 0064), and against the tables of the manuals where there is no printer.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include <cmocka.h>

#include "decoders/flow/flow.h"
#include "decoders/flow/ocsd_exc.h"

/* A-sync, Trace Info, Trace On, address and context */
static const uint8_t head[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80, 1, 1, 0, 4, 0x81, 0x10,
	0x9d, 0, 0, 8, 8, 0x80, 0xff, 0xff, 0xff };

/* What the library says of exception @n, behind "Exception; ". */
static void printed(uint32_t n, char profile, char *buf, size_t size)
{
	struct trace_cfg cfg = { .name = "ETM", .core = "", .proto = HWT_PROTO_ETM4,
		.trace_id = 0x10, .arch = 8, .profile = (uint8_t)profile, .cpu = 0 };
	uint8_t bytes[64];
	struct trace_span span = { .p = bytes, .time = HWT_TIME_UNKNOWN, .pid = HWT_NONE,
		.tid = HWT_NONE };
	struct trace_buf tb = { .name = "t", .spans = &span, .nspans = 1, .cfgs = &cfg, .ncfgs = 1,
		.cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE };
	struct hwt_interest want = HWT_INTEREST_ALL;
	struct flow_args a = { .want = &want, .buf = &tb };
	struct hwt_packets *ps;
	struct hwt_packet p;
	size_t k = sizeof(head);
	bool seen = false;

	cfg.r.etm4.idr0 = 0x28000ea1;
	cfg.r.etm4.idr1 = 0x4100f403;
	cfg.r.etm4.idr2 = 0x20001088;
	cfg.r.etm4.configr = 0x811;
	memcpy(bytes, head, sizeof(head));
	bytes[k++] = 0x06;
	bytes[k++] = (uint8_t)((n & 0x1f) << 1 | 1 | (n > 0x1f ? 0x80 : 0));
	if (n > 0x1f)
		bytes[k++] = (uint8_t)(n >> 5);
	bytes[k++] = 0x95;	/* its return address */
	bytes[k++] = 0x02;
	span.size = k;
	assert_int_equal(packets_ocsd_new(&ps, &a, NULL), 0);
	while (hwt_packets_next(ps, &p) == 1)
		if (!strcmp(p.name, "I_EXCEPT")) {
			snprintf(buf, size, "%s", p.text);
			seen = true;
		}
	hwt_packets_close(ps);
	assert_true(seen);
}

/* Our word, their word, where they are not the same. */
static const char *const same[][2] = {
	{ "reset", "PE Reset" }, { "instruction fault", "Inst Fault" },
	{ "lazy FP push", "LazyFP Push" }, { "instruction debug", "Inst Debug" },
	{ "debug halt", "DebugHalt" },
	/* number 7 of the vector table since v8-M, which the library's words are older than */
	{ "SecureFault", "Reserved" },
	{ "implementation defined", "Reserved" }, { "exception", "Reserved" },
};

static void compare(char profile, uint32_t first, uint32_t last)
{
	for (uint32_t n = first; n <= last; n++) {
		const char *ours = hwt_exc_name(csexc_v4(n, profile == 'M'));
		bool ok;
		char text[200];

		printed(n, profile, text, sizeof(text));
		ok = strcasestr(text, ours);
		for (size_t i = 0; i < sizeof(same) / sizeof(same[0]); i++)
			ok = ok || (!strcmp(ours, same[i][0]) && strcasestr(text, same[i][1]));
		if (!ok)
			print_error("%c %#x: %s, OpenCSD: %s\n", profile, n, ours, text);
		assert_true(ok);
	}
}

static void v4_a(void **state)
{
	compare('A', 0, 0x0f);
	compare('R', 0, 0x0f);
}

static void v4_m(void **state)
{
	compare('M', 1, 0x1a);
	compare('M', 0x208, 0x20f);
}

/* Arm IHI 0014 (ETMv3) and IHI 0035 (PTM): exception numbers of A, R and M profiles. */
static void v3(void **state)
{
	static const char *const a[16] = { "exception", "debug halt", "SMC", "HVC",
		"asynchronous data abort", "Jazelle or ThumbEE check", "exception", "exception",
		"reset", "undefined instruction", "SVC", "instruction fault", "data fault",
		"generic", "IRQ", "FIQ" };
	static const char *const m[24] = { "exception", "IRQ", "IRQ", "IRQ", "IRQ", "IRQ", "IRQ",
		"IRQ", "IRQ", "UsageFault", "NMI", "SVC", "DebugMonitor", "MemManage", "PendSV",
		"SysTick", "exception", "reset", "exception", "HardFault", "exception", "BusFault",
		"exception", "exception" };

	for (uint32_t n = 0; n < 16; n++)
		assert_string_equal(hwt_exc_name(csexc_v3(n, false)), a[n]);
	for (uint32_t n = 0; n < 24; n++)
		assert_string_equal(hwt_exc_name(csexc_v3(n, true)), m[n]);
	assert_string_equal(hwt_exc_name(csexc_v3(24, true)), "IRQ");
	assert_string_equal(hwt_exc_name(csexc_v3(511, true)), "IRQ");
	assert_string_equal(hwt_exc_name(csexc_v3(512, true)), "exception");
	assert_string_equal(hwt_exc_name(csexc_v3(UINT32_MAX, false)), "exception");
	assert_string_equal(hwt_exc_name(csexc_v4(UINT32_MAX, true)), "exception");
}

static void names(void **state)
{
	for (unsigned i = 0; i < HWT_EXC_KINDS; i++)
		assert_true(hwt_exc_name(i) && *hwt_exc_name(i));
	assert_string_equal(hwt_exc_name(HWT_EXC_KINDS), "exception");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(v4_a),
		cmocka_unit_test(v4_m),
		cmocka_unit_test(v3),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
