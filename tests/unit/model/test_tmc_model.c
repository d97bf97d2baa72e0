/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a trace memory controller can fail: each of its rules is broken once by a sequence
 * that is wrong in that alone; the sequence that the manual recommends (2.3) breaks none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/model/tmc_model.h"

#define BASE	0x80000000u

static const struct tmc_unit etb = { .kind = TMC_IS_ETB, .soft_lock = true, .power_known = true,
	.width_log2 = 4, .claims = 0xf, .ram_bytes = 1024, .flush_delay = 3, .ready_delay = 3 };
static const struct tmc_unit etr = { .kind = TMC_IS_ETR, .soft_lock = true, .power_known = true,
	.width_log2 = 3, .claims = 0xf, .address_bits = 40, .flush_delay = 3, .ready_delay = 3 };

static struct tmc_model m;
static uint8_t mem[4096], bus[8192];

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

static void await(uint32_t reg, uint32_t mask, uint32_t want)
{
	for (unsigned i = 0; i < 100 && (rd(reg) & mask) != want; i++)
		;
}

static void trace(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t b = (uint8_t)(i * 7) & 0x7f;

		tmc_model_trace(&m, &b, 1);
	}
}

static void take(const struct tmc_unit *u)
{
	memset(mem, 0, sizeof(mem));
	tmc_model_init(&m, u, mem, BASE, 1024);
	tmc_model_log(&m, bus, sizeof(bus));
	wr(0xfb0, 0xc5acce55);
	wr(0xfa0, 2);
}

static void program(uint32_t but)
{
	static const struct { uint32_t reg, v; } t[] = {
		{ 0x028, 0 }, { 0x304, 3 }, { 0x01c, 0 }, { 0x018, 0 }, { 0x014, 0 },
		{ 0x004, 256 }, { 0x110, 0xf02 }, { 0x118, BASE }, { 0x11c, 0 }, { 0x018, BASE },
		{ 0x03c, 0 },
	};

	for (unsigned i = 0; i < (m.u.kind == TMC_IS_ETR ? 11 : 5); i++)
		if (t[i].reg != but)
			wr(t[i].reg, t[i].v);
}

static void start(void)
{
	wr(0x020, 1);
}

static void stop(void)
{
	wr(0x304, 0x1003);
	wr(0x304, 0x1043);
	await(0x304, 0x40, 0);
	await(0x00c, 4, 4);
}

static void right(void **state)
{
	take(&etb);
	program(0);
	start();
	assert_int_equal(rd(0x00c) & 0x1d, 0x10);
	trace(1500);
	stop();
	assert_int_equal(rd(0x00c) & 0x0f, 0x0d);
	for (unsigned i = 0; i < 256; i++) {
		uint32_t v = rd(0x010);

		assert_memory_equal(&v, bus + m.k.logged - 1024 + 4 * i, 4);
	}
	assert_int_equal(rd(0x010), 0xffffffff);
	wr(0x020, 0);
	wr(0xfa4, 2);
	wr(0xfb0, 0);
	tmc_model_end(&m);
	assert_int_equal(m.rules.total, 0);

	take(&etr);
	program(0);
	start();
	trace(100);
	assert_int_equal(m.k.dropped, 0);
	stop();
	assert_int_equal(rd(0x018), BASE + 104);
	wr(0x020, 0);
	assert_memory_equal(mem, bus, 104);
	trace(1);
	assert_int_equal(m.k.dropped, 1);
	wr(0xfa4, 2);
	wr(0xfb0, 0);
	tmc_model_end(&m);
	assert_int_equal(m.rules.total, 0);
}

static void power_unknown(void)
{
	m.u.power_known = false;
	rd(0xfc8);
}

static void absent(void)
{
	take(&etb);
	wr(0x118, BASE);	/* of an ETR */
}

static void read_only(void)
{
	wr(0x300, 0);
}

static void soft_lock(void)
{
	wr(0xfb0, 0);
	wr(0x028, 0);
}

static void claim(void)
{
	wr(0xfa4, 2);
	wr(0x028, 0);
}

static void claim_other(void)
{
	tmc_model_claim(&m, 1);
	wr(0xfa4, 1);
}

static void state(void)
{
	program(0);
	start();
	wr(0x004, 128);
}

static void not_ready(void)
{
	m.u.ready_delay = 50;
	program(0);
	start();
	wr(0x020, 0);
	wr(0x028, 0);
}

static void reserved(void)
{
	wr(0x304, 4);
}

static void unset(void)
{
	program(0x110);
	start();
}

static void flush(void)
{
	wr(0x304, 0x43);
}

static void pointer(void)
{
	program(0);
	start();
	rd(0x018);
}

static void data(void)
{
	program(0);
	start();
	rd(0x010);
}

static void memory(void)
{
	m.k.mem_bytes = 512;
	program(0);
	start();
	trace(512 + 2 * 8);
}

static void left(void)
{
	program(0);
	start();
	stop();
	wr(0xfa4, 2);
	wr(0xfb0, 0);
	tmc_model_end(&m);
}

static void broken(void **s)
{
	static void (*const wrong[TMC_RULE_COUNT])(void) = {
		[TMC_R_POWER_UNKNOWN] = power_unknown, [TMC_R_ABSENT] = absent,
		[TMC_R_READ_ONLY] = read_only, [TMC_R_SOFT_LOCK] = soft_lock,
		[TMC_R_CLAIM] = claim, [TMC_R_CLAIM_OTHER] = claim_other, [TMC_R_STATE] = state,
		[TMC_R_NOT_READY] = not_ready, [TMC_R_RESERVED] = reserved, [TMC_R_UNSET] = unset,
		[TMC_R_FLUSH] = flush, [TMC_R_POINTER] = pointer, [TMC_R_DATA] = data,
		[TMC_R_MEMORY] = memory, [TMC_R_LEFT] = left,
	};

	for (unsigned i = 0; i < TMC_RULE_COUNT; i++) {
		take(&etr);
		assert_int_equal(m.rules.total, 0);
		wrong[i]();
		if (m.rules.broken[i] != 1 || m.rules.total != 1)
			fail_msg("not caught alone: %s", m.rules.text[i]);
	}
}

/* The same rules, otherwise. */
static void more(void **s)
{
	/* a word of 16 bytes is read in part */
	take(&etb);
	program(0);
	start();
	trace(64);
	stop();
	rd(0x010);
	wr(0x020, 0);
	assert_int_equal(m.rules.broken[TMC_R_DATA], 1);
	/* a second flush in the first */
	take(&etr);
	m.u.flush_delay = 100;
	program(0);
	start();
	wr(0x304, 0x43);
	wr(0x304, 0x43);
	assert_int_equal(m.rules.broken[TMC_R_FLUSH], 1);
	/* a formatter that is changed while it works */
	take(&etr);
	program(0);
	start();
	wr(0x304, 0);
	assert_int_equal(m.rules.broken[TMC_R_STATE], 1);
	/* places that are none */
	for (unsigned i = 0; i < 4; i++) {
		static const uint32_t reg[] = { 0x028, 0x304, 0x004, 0x118 };
		static const uint32_t v[] = { 3, 2, 0, BASE + 4 };

		take(&etr);
		program(reg[i]);
		wr(reg[i], v[i]);
		start();
		assert_int_equal(m.rules.broken[TMC_R_RESERVED], 1);
	}
	/* data with the lock closed */
	take(&etb);
	program(0);
	start();
	trace(64);
	stop();
	wr(0xfb0, 0);
	rd(0x010);
	assert_int_equal(m.rules.broken[TMC_R_SOFT_LOCK], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right), cmocka_unit_test(broken), cmocka_unit_test(more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
