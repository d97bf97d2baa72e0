/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programming of trace buffers, against a model that keeps the manual's rules. The truth is what
 * the trace unit gave.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kmod/trbe_prog.h"
#include "tests/model/trbe_model.h"
#include "tests/support/rnd.h"

#define BASE	0xffff800012340000ull
#define CAP	(1u << 20)

static bool seen[16], ends[8];
static struct trbe_model m;
static struct trbe t;
static uint8_t mem[1 << 16], unit[CAP], out[1 << 16];

static uint32_t dice(uint32_t n)
{
	return (uint32_t)(rnd() >> 16) % n;
}

static int say(int rc)
{
	seen[t.why] = true;
	assert_true((rc == 0) == (t.why == TRBE_FINE));
	assert_true(trbe_why_text(t.why)[0]);
	return rc;
}

static void kept(void)
{
	if (m.rules.total)
		print_error("%s (register %u)\n", m.rules.text[m.rules.last], m.rules.where);
	assert_int_equal(m.rules.total, 0);
}

static void make(const struct trbe_unit *u)
{
	memset(mem, 0xee, sizeof(mem));
	trbe_model_init(&m, u, mem, BASE, sizeof(mem));
	trbe_model_log(&m, unit, CAP);
}

static void trace(uint32_t n)
{
	while (n--) {
		uint8_t b = (uint8_t)(rnd() >> 20);

		trbe_model_trace(&m, &b, 1);
	}
}

/* The newest of what was given, or of a buffer that fills the oldest. */
static void is_right(const struct trbe_got *g, bool newest)
{
	const uint8_t *p = trbe_model_look(&m) + (t.w.base - BASE);

	for (uint64_t i = 0; i < g->bytes; i++)
		out[i] = p[(g->from + i) % t.w.bytes];
	assert_true(g->bytes <= m.k.logged);
	assert_memory_equal(out, unit + (newest ? m.k.logged - g->bytes : 0), g->bytes);
}

static void any(void **state)
{
	static const enum trbe_mode modes[] = { TRBE_FILL, TRBE_WRAP, TRBE_CIRCULAR };

	for (unsigned round = 0; round < 500; round++) {
		struct trbe_unit u = { .align = (uint8_t)dice(12) };

		make(&u);
		assert_int_equal(say(trbe_open(&t, &m.r)), 0);
		for (unsigned i = 1 + dice(3); i--;) {
			struct trbe_wish w = { .base = BASE + 4096ull * dice(4),
				.bytes = 4096ull * (1 + dice(8)), .mode = modes[dice(3)] };
			struct trbe_got got;

			if (w.mode == TRBE_FILL)
				w.from = (uint64_t)dice((uint32_t)w.bytes) >> u.align << u.align;
			m.k.logged = 0;
			m.interrupts = 0;
			trace(10);
			assert_int_equal(m.k.logged, 0);
			assert_int_equal(say(trbe_start(&t, &w)), 0);
			trace(dice(dice(2) ? 100 : 70000));
			assert_int_equal(say(trbe_stop(&t, &got)), 0);
			ends[got.end] = true;
			assert_int_equal(got.interrupt, m.interrupts > 0);
			if (w.mode == TRBE_FILL) {
				bool full = m.k.logged >= w.bytes - w.from;

				assert_int_equal(got.end, full ? TRBE_END_FULL : TRBE_END_ASKED);
				assert_int_equal(got.from, w.from);
				assert_int_equal(got.bytes, full ? w.bytes - w.from : m.k.logged);
				assert_false(got.wrapped);
			} else {
				assert_int_equal(got.end, TRBE_END_ASKED);
				assert_int_equal(got.wrapped, m.k.logged >= w.bytes);
				assert_int_equal(got.bytes, got.wrapped ? w.bytes : m.k.logged);
				if (w.mode == TRBE_WRAP)
					assert_int_equal(m.interrupts, m.k.logged / w.bytes);
			}
			is_right(&got, w.mode != TRBE_FILL);
		}
		if (dice(2)) {
			struct trbe_wish w = { .base = BASE, .bytes = 4096 };

			assert_int_equal(say(trbe_start(&t, &w)), 0);
			trace(100);
		}
		assert_int_equal(say(trbe_close(&t)), 0);
		trbe_model_end(&m);
		kept();
	}
}

static void trigger(void **state)
{
	for (unsigned round = 0; round < 50; round++) {
		struct trbe_wish w = { .base = BASE, .bytes = 32768, .mode = TRBE_CIRCULAR,
			.trigger = true, .behind = dice(2000) };
		struct trbe_unit u = { .align = 3 };
		struct trbe_got got;
		uint64_t before;

		make(&u);
		assert_int_equal(say(trbe_open(&t, &m.r)), 0);
		assert_int_equal(say(trbe_start(&t, &w)), 0);
		trace(dice(50000));
		before = m.k.logged;
		trbe_model_trigger(&m);
		trace(3000);
		assert_int_equal(m.k.logged, before + w.behind);
		assert_int_equal(say(trbe_stop(&t, &got)), 0);
		assert_int_equal(got.end, TRBE_END_TRIGGER);
		ends[got.end] = true;
		is_right(&got, true);
		assert_int_equal(say(trbe_close(&t)), 0);
		kept();
	}
}

/* Memory that is not there, or a bus that refuses: what was written before is told. */
static void faults_of_memory(void **state)
{
	struct trbe_wish w = { .base = BASE, .bytes = 8192 };
	struct trbe_unit u = { .align = 6 };
	struct trbe_got got;

	for (unsigned i = 0; i < 2; i++) {
		make(&u);
		if (i)
			m.abort_after = 640;
		else
			m.fault_at = 4096;
		assert_int_equal(say(trbe_open(&t, &m.r)), 0);
		assert_int_equal(say(trbe_start(&t, &w)), 0);
		trace(6000);
		assert_int_equal(say(trbe_stop(&t, &got)), 0);
		assert_int_equal(got.end, i ? TRBE_END_ABORT : TRBE_END_FAULT);
		ends[got.end] = true;
		assert_true(got.interrupt);
		assert_int_equal(got.bytes, i ? 640 : 4096);
		is_right(&got, false);
		assert_int_equal(say(trbe_close(&t)), 0);
		trbe_model_end(&m);
		kept();
	}
	/* stage 2, granule protection, and what is not told */
	for (unsigned i = 0; i < 4; i++) {
		static const uint64_t sr[] = { 0x25ull << 26 | 7, 0x1eull << 26, 0x1full << 26, 3 };

		make(&u);
		assert_int_equal(say(trbe_open(&t, &m.r)), 0);
		assert_int_equal(say(trbe_start(&t, &w)), 0);
		m.sr = 1ull << 17 | sr[i];
		assert_int_equal(say(trbe_stop(&t, &got)), 0);
		assert_int_equal(got.end, i < 2 ? TRBE_END_FAULT : TRBE_END_OTHER);
		ends[got.end] = true;
		assert_int_equal(got.status, m.sr | 1ull << 17 | sr[i]);
		trbe_close(&t);
	}
}

static void refused(void **state)
{
	struct trbe_wish w = { .base = BASE, .bytes = 4096 };
	struct trbe_unit u = { .owned = true };
	struct trbe_got got;

	make(&u);
	assert_int_equal(say(trbe_open(&t, &m.r)), -EBUSY);
	assert_int_equal(t.why, TRBE_OWNED);
	assert_int_equal(say(trbe_start(&t, &w)), -EINVAL);
	assert_int_equal(say(trbe_close(&t)), 0);
	kept();
	u.owned = false;
	make(&u);
	m.limitr |= 1;
	assert_int_equal(say(trbe_open(&t, &m.r)), -EBUSY);
	assert_int_equal(t.why, TRBE_RUNS);
	assert_true(m.limitr & 1);
	kept();
	/* somebody took it since */
	make(&u);
	assert_int_equal(say(trbe_open(&t, &m.r)), 0);
	m.limitr |= 1;
	assert_int_equal(say(trbe_start(&t, &w)), -EBUSY);
	assert_int_equal(say(trbe_close(&t)), 0);
	assert_true(m.limitr & 1);
	kept();
	u.stuck_off = true;
	make(&u);
	assert_int_equal(say(trbe_open(&t, &m.r)), 0);
	assert_int_equal(say(trbe_start(&t, &w)), -EIO);
	assert_int_equal(t.why, TRBE_ON);
	assert_int_equal(say(trbe_stop(&t, &got)), -EINVAL);
	assert_int_equal(say(trbe_close(&t)), 0);
	kept();
}

static void wishes(void **state)
{
	static const struct trbe_wish bad[] = {
		{ .base = BASE }, { .base = BASE, .bytes = 4095 },
		{ .base = BASE + 1, .bytes = 4096 }, { .base = ~0ull - 4095, .bytes = 8192 },
		{ .base = BASE, .bytes = 4096, .from = 4096 },
		{ .base = BASE, .bytes = 4096, .from = 32 },
		{ .base = BASE, .bytes = 4096, .mode = (enum trbe_mode)2 },
		{ .base = BASE, .bytes = 4096, .from = 64, .mode = TRBE_WRAP },
		{ .base = BASE, .bytes = 4096, .from = 64, .mode = TRBE_CIRCULAR },
	};
	struct trbe_wish w = { .base = BASE, .bytes = 4096, .from = 64 };
	struct trbe_unit u = { .align = 6 };
	unsigned before;

	make(&u);
	assert_int_equal(say(trbe_open(&t, &m.r)), 0);
	before = m.accesses;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(say(trbe_start(&t, &bad[i])), -EINVAL);
		assert_int_equal(t.why, TRBE_BUFFER);
	}
	assert_int_equal(m.accesses, before);
	assert_int_equal(say(trbe_start(&t, &w)), 0);
	assert_int_equal(say(trbe_start(&t, &w)), -EINVAL);
	assert_int_equal(t.why, TRBE_ORDER);
	assert_int_equal(say(trbe_close(&t)), 0);
	kept();
}

/* A place that is not in the buffer, or before that where it began. */
static void nonsense(void **state)
{
	struct trbe_wish w = { .base = BASE, .bytes = 8192, .from = 4096 };
	static const uint64_t at[] = { BASE - 1, BASE + 8192, BASE + 4095 };
	struct trbe_unit u = { .align = 0 };
	struct trbe_got got;

	for (unsigned i = 0; i < 3; i++) {
		make(&u);
		assert_int_equal(say(trbe_open(&t, &m.r)), 0);
		assert_int_equal(say(trbe_start(&t, &w)), 0);
		m.ptr = at[i];
		assert_int_equal(say(trbe_stop(&t, &got)), -EIO);
		assert_int_equal(t.why, TRBE_PLACE);
		assert_int_equal(got.bytes, 0);
		assert_int_equal(say(trbe_close(&t)), 0);
		trbe_model_end(&m);
		kept();
	}
}

static void faults(void **state)
{
	struct trbe_wish w = { .base = BASE, .bytes = 8192 };
	struct trbe_unit u = { .align = 0 };

	for (unsigned at = 1; ; at++) {
		struct trbe_got got;
		int rc;

		make(&u);
		m.fail_at = at;
		rc = say(trbe_open(&t, &m.r));
		if (!rc)
			rc = say(trbe_start(&t, &w));
		trace(100);
		if (!rc)
			rc = say(trbe_stop(&t, &got));
		if (m.accesses < at) {
			assert_int_equal(rc, 0);
			break;
		}
		assert_int_equal(rc, -EIO);
		assert_int_equal(t.why, TRBE_BUS);
		m.fail_at = 0;
		trbe_close(&t);
		assert_false(m.limitr & 1);
		kept();
	}
}

static void all_reasons(void **state)
{
	for (unsigned i = 0; i <= TRBE_PLACE; i++)
		if (!seen[i])
			fail_msg("no test is told: %s", trbe_why_text((enum trbe_why)i));
	for (unsigned i = 0; i <= TRBE_END_OTHER; i++)
		if (!ends[i] || !trbe_end_text((enum trbe_end)i)[0])
			fail_msg("no test ends so: %u", i);
	assert_string_equal(trbe_why_text((enum trbe_why)1000), "");
	assert_string_equal(trbe_end_text((enum trbe_end)1000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any), cmocka_unit_test(trigger),
		cmocka_unit_test(faults_of_memory), cmocka_unit_test(refused),
		cmocka_unit_test(wishes), cmocka_unit_test(nonsense), cmocka_unit_test(faults),
		cmocka_unit_test(all_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
