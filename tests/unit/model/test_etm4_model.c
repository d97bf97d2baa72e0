/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a trace unit can fail: each of its rules is broken once by a sequence that is wrong
 * in that alone, and a sequence that is right, written here by hand, breaks none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/unit/kmod/etm4_units.h"

static struct etm4_model m;

static void wr(uint32_t reg, uint32_t v)
{
	m.r.wr32(&m.r, reg, v);
}

static uint32_t rd(uint32_t reg)
{
	uint32_t v = 0;

	m.r.rd32(&m.r, reg, &v);
	return v;
}

static void settle(void)
{
	m.r.barrier(&m.r, m.u.system ? HWREG_CONTEXT : HWREG_MEMORY);
}

static void await(uint32_t mask, uint32_t want)
{
	for (unsigned i = 0; i < 100 && (rd(0x00c) & mask) != want; i++)
		;
}

/* Unlocked, powered, claimed. */
static void take(const struct etm4_unit *u)
{
	etm4_model_init(&m, u, 7);
	if (!u->system) {
		wr(0xfb0, 0xc5acce55);
		wr(0x310, 8);
		while (!rd(0x314))
			;
	}
	wr(0xfa0, 2);
	if (u->os_lock == ETM4_OSLOCK_UNIT)
		wr(0x300, 0);
}

/* All that must be written for a trace without filters, but for @but. */
static void program(uint32_t but)
{
	static const struct { uint32_t reg, v; } t[] = {
		{ 0x010, 1 }, { 0x020, 0 }, { 0x024, 0 }, { 0x028, 1u << 12 }, { 0x02c, 0 },
		{ 0x030, 0 }, { 0x034, 12 }, { 0x040, 0x10 }, { 0x080, 1 | 1u << 9 },
		{ 0x084, 0 }, { 0x088, 0 },
	};

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (t[i].reg != but && (t[i].reg != 0x028 || m.u.ete))
			wr(t[i].reg, t[i].v);
}

static void start(void)
{
	if (m.u.trf)
		m.r.wr64(&m.r, 0x10000, 0x23);
	settle();
	wr(0x004, 1);
	settle();
	await(1, 0);
}

static void stop(void)
{
	if (m.u.trf)
		m.r.wr64(&m.r, 0x10000, 0x20);
	settle();
	m.r.barrier(&m.r, HWREG_TRACE);
	wr(0x004, 0);
	settle();
	await(3, 3);
}

static void give(void)
{
	if (m.u.os_lock == ETM4_OSLOCK_UNIT)
		wr(0x300, 1);
	wr(0xfa4, 2);
	if (!m.u.system) {
		wr(0x310, 0);
		wr(0xfb0, 0);
	}
	etm4_model_end(&m);
}

static void right(void **state)
{
	const struct etm4_unit *units[] = { &unit_a57, &unit_ete };

	for (unsigned i = 0; i < 2; i++) {
		struct etm4_at at = { .level = 1, .address = 0x1234 };

		take(units[i]);
		program(0);
		assert_false(etm4_model_traces(&m, &at));
		start();
		assert_true(etm4_model_traces(&m, &at));
		stop();
		assert_false(etm4_model_traces(&m, &at));
		give();
		if (m.rules.total)
			print_error("%s (0x%x)\n", m.rules.text[m.rules.last], m.rules.where);
		assert_int_equal(m.rules.total, 0);
	}
}

static void power_unknown(void)
{
	m.u.power_known = false;
	rd(0xfbc);
}

static void power(void)
{
	etm4_model_init(&m, &unit_a57, 1);
	rd(0x1e0);
}

static void way(void)
{
	take(&unit_ete);
	rd(0x314);
}

static void absent(void)
{
	rd(0x028);	/* ETE only */
}

static void width(void)
{
	m.r.wr64(&m.r, 0x010, 0);
}

static void read_only(void)
{
	wr(0x1e0, 0);
}

static void soft_lock(void)
{
	wr(0xfb0, 0);
	wr(0x010, 0);
}

static void os_lock(void)
{
	wr(0x300, 1);
	wr(0x010, 0);
}

static void cpu_lock(void)
{
	take(&unit_ete);
	wr(0x300, 0);
}

static void enabled(void)
{
	program(0);
	start();
	wr(0x040, 0x11);
	assert_int_equal(m.now[0x40 / 4], 0x10);
}

static void restart(void)
{
	program(0);
	start();
	m.r.barrier(&m.r, HWREG_TRACE);
	wr(0x004, 0);
	settle();
	wr(0x004, 1);
}

static void stable(void)
{
	program(0);
	start();
	rd(0x160);
}

static void unset(void)
{
	program(0x024);
	start();
}

static void reserved(void)
{
	wr(0x010, 1u << 13);	/* QE, which it has not */
}

static void claim(void)
{
	wr(0xfa4, 2);
	wr(0x010, 0);
}

static void claim_other(void)
{
	etm4_model_claim(&m, 1);
	wr(0xfa4, 3);
}

static void no_barrier(void)
{
	take(&unit_ete);
	program(0);
	settle();
	wr(0x004, 1);
	rd(0x00c);
}

static void drain(void)
{
	program(0);
	start();
	wr(0x004, 0);
}

static void left(void)
{
	program(0);
	give();
	wr(0xfb0, 0xc5acce55);
	etm4_model_end(&m);
}

static void broken(void **state)
{
	static void (*const wrong[ETM4_RULE_COUNT])(void) = {
		[ETM4_R_POWER_UNKNOWN] = power_unknown, [ETM4_R_POWER] = power,
		[ETM4_R_WAY] = way, [ETM4_R_ABSENT] = absent, [ETM4_R_WIDTH] = width,
		[ETM4_R_READ_ONLY] = read_only, [ETM4_R_SOFT_LOCK] = soft_lock,
		[ETM4_R_OS_LOCK] = os_lock, [ETM4_R_CPU_LOCK] = cpu_lock,
		[ETM4_R_ENABLED] = enabled, [ETM4_R_RESTART] = restart,
		[ETM4_R_STABLE] = stable, [ETM4_R_UNSET] = unset, [ETM4_R_RESERVED] = reserved,
		[ETM4_R_CLAIM] = claim, [ETM4_R_CLAIM_OTHER] = claim_other,
		[ETM4_R_SETTLE] = no_barrier, [ETM4_R_DRAIN] = drain, [ETM4_R_LEFT] = left,
	};

	for (unsigned i = 0; i < ETM4_RULE_COUNT; i++) {
		take(&unit_a57);
		assert_int_equal(m.rules.total, 0);
		wrong[i]();
		if (m.rules.broken[i] != 1 || m.rules.total != 1)
			fail_msg("not caught alone: %s", m.rules.text[i]);
	}
}

/* Values that the manual has no meaning for, and what filters need that is not programmed. */
static void values(void **state)
{
	static const struct { uint32_t reg, v; enum etm4_rule rule; } t[] = {
		{ 0x040, 0, ETM4_R_RESERVED }, { 0x040, 0x70, ETM4_R_RESERVED },
		{ 0x034, 7, ETM4_R_RESERVED }, { 0x034, 21, ETM4_R_RESERVED },
		{ 0x010, 1 | 1 << 4, ETM4_R_UNSET },	/* cycles without a threshold */
		{ 0x010, 1 | 1 << 3, ETM4_R_UNSET },	/* branch broadcast without ranges */
		{ 0x080, 2 | 1 << 9, ETM4_R_UNSET },	/* a selector that was not written */
		{ 0x080, 16 | 1 << 9, ETM4_R_RESERVED },	/* one that is not there */
		{ 0x084, 1, ETM4_R_UNSET },		/* a range that was not written */
	};

	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		take(&unit_a57);
		program(t[i].reg);
		wr(t[i].reg, t[i].v);
		assert_int_equal(m.rules.total, 0);
		start();
		assert_true(m.rules.broken[t[i].rule]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right), cmocka_unit_test(broken), cmocka_unit_test(values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
