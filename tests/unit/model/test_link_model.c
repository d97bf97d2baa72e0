/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of funnels and replicators can fail: each of its rules is broken once by a sequence
 * that is wrong in that alone; one that is right, written here from the manual, breaks none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/model/link_model.h"

static const struct link_unit funnel = { .ports = 4, .soft_lock = true, .power_known = true,
	.claims = 0xf, .found = 0x300 };
static const struct link_unit replicator = { .replicator = true, .ports = 2, .soft_lock = true,
	.power_known = true, .claims = 0xf };
static struct link_model m;
static uint8_t came[2][64];
static uint32_t ncame[2];

static void out(void *arg, uint32_t port, uint32_t id, const uint8_t *p, uint32_t n)
{
	memcpy(came[port] + ncame[port], p, n);
	ncame[port] += n;
}

static void wr(uint32_t reg, uint32_t v)
{
	m.r.wr32(&m.r, reg, v);
}

static void take(const struct link_unit *u)
{
	link_model_init(&m, u);
	m.out = out;
	ncame[0] = ncame[1] = 0;
	wr(0xfb0, 0xc5acce55);
	wr(0xfa0, 2);
}

static void give(void)
{
	wr(0xfa4, 2);
	wr(0xfb0, 0);
	link_model_end(&m);
}

static void right(void **state)
{
	static const uint8_t b[20] = "0123456789abcdefghi";

	take(&funnel);
	wr(0x000, 0x700);
	wr(0x004, 0x0c1);
	wr(0x000, 0x702);
	link_model_trace(&m, 1, 5, b, 20);
	assert_int_equal(ncame[0], 16);
	link_model_flush(&m);
	assert_int_equal(ncame[0], 20);
	assert_memory_equal(came[0], b, 20);
	wr(0x000, 0x700);
	wr(0x000, 0x300);
	give();
	assert_int_equal(m.rules.total, 0);
	take(&replicator);
	wr(0x004, 0x01);
	link_model_trace(&m, 0, 5, b, 7);
	link_model_trace(&m, 0, 0x15, b, 7);
	assert_int_equal(ncame[0], 14);
	assert_int_equal(ncame[1], 7);
	wr(0x004, 0);
	give();
	assert_int_equal(m.rules.total, 0);
}

static void power_unknown(void)
{
	m.u.power_known = false;
	m.r.rd32(&m.r, 0, &(uint32_t){ 0 });
}

static void absent(void)
{
	wr(0x008, 0);
}

static void read_only(void)
{
	wr(0xfc8, 0);
}

static void soft_lock(void)
{
	wr(0xfb0, 0);
	wr(0x000, 0x301);
}

static void claim(void)
{
	wr(0xfa4, 2);
	wr(0x000, 0x301);
}

static void claim_other(void)
{
	link_model_claim(&m, 1);
	wr(0xfa4, 1);
}

static void reserved(void)
{
	wr(0x000, 0xf00);
}

static void hold(void)
{
	wr(0x000, 0x301);
	wr(0x000, 0x701);
}

static void drain(void)
{
	wr(0x000, 0x301);
	link_model_trace(&m, 0, 1, (const uint8_t *)"x", 1);
	wr(0x000, 0x300);
}

static void closed(void)
{
	wr(0x000, 0x302);
	link_model_trace(&m, 0, 1, (const uint8_t *)"x", 1);
}

static void left(void)
{
	wr(0x000, 0x700);
	give();
}

static void broken(void **s)
{
	static void (*const wrong[LINK_RULE_COUNT])(void) = {
		[LINK_R_POWER_UNKNOWN] = power_unknown, [LINK_R_ABSENT] = absent,
		[LINK_R_READ_ONLY] = read_only, [LINK_R_SOFT_LOCK] = soft_lock,
		[LINK_R_CLAIM] = claim, [LINK_R_CLAIM_OTHER] = claim_other,
		[LINK_R_RESERVED] = reserved, [LINK_R_HOLD] = hold, [LINK_R_DRAIN] = drain,
		[LINK_R_CLOSED] = closed, [LINK_R_LEFT] = left,
	};

	for (unsigned i = 0; i < LINK_RULE_COUNT; i++) {
		take(&funnel);
		wrong[i]();
		if (m.rules.broken[i] != 1 || m.rules.total != 1)
			fail_msg("not caught alone: %s", m.rules.text[i]);
	}
}

/* The same rules, otherwise. */
static void more(void **s)
{
	take(&funnel);
	wr(0x000, 0x310);	/* a port that it does not have */
	wr(0x004, 1u << 12);
	assert_int_equal(m.rules.broken[LINK_R_RESERVED], 2);
	take(&funnel);
	wr(0x000, 0x301);
	wr(0x004, 1);
	assert_int_equal(m.rules.broken[LINK_R_HOLD], 1);
	take(&replicator);
	wr(0x000, 0x100);
	assert_int_equal(m.rules.broken[LINK_R_RESERVED], 1);
	wr(0x000, 0xff);
	wr(0x004, 0xff);
	link_model_trace(&m, 0, 5, (const uint8_t *)"x", 1);
	assert_int_equal(m.rules.broken[LINK_R_CLOSED], 1);
	m.r.rd64(&m.r, 0, &(uint64_t){ 0 });
	m.r.wr64(&m.r, 0, 0);
	assert_int_equal(m.rules.broken[LINK_R_ABSENT], 2);
	give();
	assert_int_equal(m.rules.broken[LINK_R_LEFT], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right), cmocka_unit_test(broken), cmocka_unit_test(more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
