/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programming of trace memory controllers, against a model that keeps the manual's rules. The truth
 * is what came over the bus: the newest of it, in order, all of it where nothing says otherwise.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kmod/tmc_prog.h"
#include "tests/model/tmc_model.h"
#include "tests/support/rnd.h"

#define BASE	0x8812340000ull
#define CAP	(1u << 20)

static bool seen[32], ends[8];
static struct tmc_model m;
static struct tmc t;
static uint8_t mem[1 << 17], bus[CAP], out[1 << 17];

static const struct tmc_unit etr = { .kind = TMC_IS_ETR, .soft_lock = true, .power_known = true,
	.width_log2 = 3, .claims = 0xf, .address_bits = 40, .flush_delay = 7, .ready_delay = 5 };
static const struct tmc_unit etf = { .kind = TMC_IS_ETF, .power_known = true, .width_log2 = 4,
	.claims = 0xf, .ram_bytes = 4096, .flush_delay = 3, .ready_delay = 9 };

static uint32_t dice(uint32_t n)
{
	return (uint32_t)(rnd() >> 16) % n;
}

static int say(int rc)
{
	seen[t.why] = true;
	assert_true((rc >= 0) == (t.why == TMC_FINE));
	assert_true(tmc_why_text(t.why)[0]);
	return rc;
}

static void kept(void)
{
	if (m.rules.total)
		print_error("%s (register 0x%x)\n", m.rules.text[m.rules.last], m.rules.where);
	assert_int_equal(m.rules.total, 0);
}

static void make(const struct tmc_unit *u, uint64_t bytes)
{
	memset(mem, 0xee, sizeof(mem));
	tmc_model_init(&m, u, mem, BASE, bytes);
	tmc_model_log(&m, bus, CAP);
}

static struct tmc_wish wish(uint64_t bytes)
{
	return (struct tmc_wish){ .base = BASE, .bytes = bytes };
}

static int open_it(void)
{
	return say(tmc_open(&t, &m.r, m.u.power_known));
}

/* No word of formatted trace is all ones. */
static void trace(uint32_t n)
{
	while (n--) {
		uint8_t b = (uint8_t)(rnd() >> 20);

		if (b == 0xff)
			b = 0;
		tmc_model_trace(&m, &b, 1);
	}
}

/* All of it, in the order in which it came, in pieces of any size. */
static uint64_t take(const struct tmc_got *g)
{
	uint64_t n = 0;

	if (t.kind == TMC_ETR) {
		for (; n < g->bytes; n++)
			out[n] = mem[(g->from + n) % t.bytes];
		return n;
	}
	for (;;) {
		int rc = say(tmc_read(&t, out + n, t.width + dice(300)));

		assert_true(rc >= 0);
		if (!rc)
			return n;
		n += (uint64_t)rc;
	}
}

static void is_newest(const struct tmc_got *g)
{
	uint64_t n = take(g);

	assert_int_equal(n, g->bytes);
	assert_int_equal(g->wrapped, m.k.logged >= t.bytes && t.bytes);
	assert_true(n <= m.k.logged);
	if (!g->wrapped)
		assert_int_equal(n, m.k.logged);
	assert_memory_equal(out, bus + m.k.logged - n, n);
}

static struct tmc_unit any_unit(void)
{
	struct tmc_unit u = { .kind = (enum tmc_config)dice(3), .power_known = true };

	u.soc600 = dice(2);
	u.soft_lock = dice(2);
	u.width_log2 = 2 + dice(4);
	u.claims = dice(2) ? 3 : 0xf;
	u.ram_bytes = 1024u << dice(4);
	u.address_bits = dice(2) ? 0 : 40 + dice(25);
	u.flush_delay = dice(300);
	u.ready_delay = dice(300);
	return u;
}

static void any(void **state)
{
	for (unsigned round = 0; round < 400; round++) {
		struct tmc_unit u = any_unit();
		uint64_t bytes = 4096ull * (1 + dice(8));
		struct tmc_got got;

		make(&u, bytes);
		assert_int_equal(open_it(), 0);
		for (unsigned i = 1 + dice(4); i--;) {
			struct tmc_wish w = wish(bytes);

			w.coherent = dice(2);
			m.k.logged = 0;
			/* nothing is taken while it is off */
			trace(dice(50));
			assert_int_equal(m.k.logged, 0);
			assert_int_equal(say(tmc_start(&t, &w)), 0);
			for (unsigned k = dice(4); k--;) {
				trace(dice(dice(2) ? 300 : 20000));
				if (dice(2)) {
					assert_int_equal(say(tmc_flush(&t)), 0);
					assert_true(m.k.npending < t.width);
				}
			}
			assert_int_equal(say(tmc_stop(&t, &got)), 0);
			assert_int_equal(got.end, TMC_END_ASKED);
			assert_true(got.flushed);
			trace(dice(50));
			/* sometimes it is not read at all */
			if (dice(4))
				is_newest(&got);
		}
		if (dice(2)) {
			struct tmc_wish w = wish(bytes);

			assert_int_equal(say(tmc_start(&t, &w)), 0);
			trace(100);
		}
		assert_int_equal(say(tmc_close(&t)), 0);
		tmc_model_end(&m);
		kept();
		assert_int_equal(m.capture, 0);
		assert_int_equal(tmc_close(&t), 0);
	}
}

/* A trigger ends it, with so much behind. */
static void trigger(void **state)
{
	for (unsigned round = 0; round < 100; round++) {
		struct tmc_unit u = any_unit();
		uint64_t bytes = 4096ull * (1 + dice(4)), before;
		struct tmc_wish w = wish(bytes);
		struct tmc_got got;
		bool comes = dice(4);

		make(&u, bytes);
		w.trigger = true;
		w.behind = dice(1000);
		assert_int_equal(open_it(), 0);
		assert_int_equal(say(tmc_start(&t, &w)), 0);
		assert_int_equal(say(tmc_flush(&t)), -EINVAL);
		trace(dice(9000));
		before = m.k.logged;
		if (comes) {
			tmc_model_trigger(&m);
			trace(1100);
			for (unsigned i = 0; i < 700; i++)
				m.r.relax(&m.r);
			trace(100);
			assert_true(m.k.logged >= before + w.behind / 4 * 4);
			assert_true(m.k.dropped >= 100);
		}
		assert_int_equal(say(tmc_stop(&t, &got)), 0);
		assert_int_equal(got.end, comes ? TMC_END_TRIGGER : TMC_END_ASKED);
		ends[got.end] = true;
		is_newest(&got);
		assert_int_equal(say(tmc_close(&t)), 0);
		tmc_model_end(&m);
		kept();
	}
}

/* The bus refuses what it writes; or it ended, and says nothing. */
static void by_itself(void **state)
{
	struct tmc_wish w = wish(8192);
	struct tmc_got got;

	make(&etr, 8192);
	m.error_after = 1000;
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(3000);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	assert_int_equal(got.end, TMC_END_MEMORY);
	assert_false(got.flushed);
	ends[got.end] = true;
	assert_int_equal(got.bytes, 1000);
	assert_memory_equal(mem, bus, 1000);
	/* it can be used again */
	m.error_after = 0;
	m.k.logged = 0;
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(100);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	is_newest(&got);
	assert_int_equal(say(tmc_close(&t)), 0);
	kept();

	/* the last words are refused: that is seen at the end only */
	make(&etr, 8192);
	m.error_after = 96;
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(100);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	assert_int_equal(got.end, TMC_END_MEMORY);
	assert_int_equal(got.bytes, 96);
	assert_int_equal(say(tmc_close(&t)), 0);
	kept();

	make(&etr, 8192);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(800);
	m.stopped = m.ready = true;
	m.r.relax(&m.r);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	assert_int_equal(got.end, TMC_END_OTHER);
	ends[got.end] = true;
	assert_int_equal(say(tmc_close(&t)), 0);
	kept();
}

static void refused(void **state)
{
	static const uint32_t tags[] = { 1, 2, 4, 3, 0 };
	static const enum tmc_why why[] = { TMC_DEBUGGER, TMC_CLAIMED, TMC_CLAIMED, TMC_DEBUGGER,
		TMC_RUNS };
	struct tmc_unit u = etr;

	u.power_known = false;
	make(&u, 4096);
	assert_int_equal(open_it(), -ENODEV);
	assert_int_equal(t.why, TMC_POWER);
	assert_int_equal(m.accesses, 0);
	for (unsigned i = 0; i < 5; i++) {
		make(&etr, 4096);
		if (tags[i])
			tmc_model_claim(&m, tags[i]);
		else
			tmc_model_enable(&m);
		assert_int_equal(open_it(), -EBUSY);
		assert_int_equal(t.why, why[i]);
		assert_int_equal(m.now[CSUNIT_CLAIMCLR / 4], tags[i]);
		assert_int_equal(m.capture, !tags[i]);
		tmc_model_end(&m);
		kept();
		assert_int_equal(tmc_close(&t), 0);
	}
	/* a FIFO that is none, a port, memory of no width */
	for (unsigned i = 0; i < 4; i++) {
		make(&etr, 4096);
		if (i == 0)
			m.now[TMC_DEVID / 4] |= 0xc0;
		if (i == 1)
			m.now[TMC_DEVTYPE / 4] = 0x11;
		if (i == 2)
			m.now[TMC_DEVID / 4] &= ~0x700u;
		if (i == 3)
			m.now[TMC_DEVID / 4] |= 0x700;
		assert_int_equal(open_it(), -ENODEV);
		assert_int_equal(t.why, TMC_KIND);
	}
	u = etr;
	u.soft_stuck = true;
	make(&u, 4096);
	assert_int_equal(open_it(), -EIO);
	assert_int_equal(t.why, TMC_SOFT_LOCK);
	u = etr;
	u.claims = 0;
	make(&u, 4096);
	assert_int_equal(open_it(), -EBUSY);
	assert_int_equal(t.why, TMC_NO_CLAIM);
}

static void wishes(void **state)
{
	static const struct { uint64_t base, bytes; enum tmc_why why; } bad[] = {
		{ BASE, 0, TMC_BUFFER }, { BASE, 4095, TMC_BUFFER }, { BASE + 8, 4096, TMC_BUFFER },
		{ BASE, 1ull << 40, TMC_BUFFER }, { 1ull << 40, 4096, TMC_ADDRESS },
		{ (1ull << 40) - 4096, 8192, TMC_ADDRESS }, { 0ull - 4096, 8192, TMC_ADDRESS },
	};
	struct tmc_unit u = etr;
	struct tmc_wish w;
	struct tmc_got got;
	unsigned before;

	make(&etr, 4096);
	assert_int_equal(open_it(), 0);
	before = m.accesses;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		w = (struct tmc_wish){ .base = bad[i].base, .bytes = bad[i].bytes };
		assert_int_equal(say(tmc_start(&t, &w)), -EINVAL);
		assert_int_equal(t.why, bad[i].why);
	}
	assert_int_equal(say(tmc_stop(&t, &got)), -EINVAL);
	assert_int_equal(say(tmc_flush(&t)), -EINVAL);
	assert_int_equal(say(tmc_read(&t, out, 100)), -EINVAL);
	assert_int_equal(t.why, TMC_ORDER);
	assert_int_equal(m.accesses, before);
	w = wish(4096);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	assert_int_equal(say(tmc_start(&t, &w)), -EINVAL);
	assert_int_equal(tmc_close(&t), 0);
	kept();
	/* all 64 bits */
	u.address_bits = 64;
	make(&u, 4096);
	m.k.mem_base = ~0ull - 8191;
	assert_int_equal(open_it(), 0);
	w = (struct tmc_wish){ .base = m.k.mem_base, .bytes = 4096 };
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(5000);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	is_newest(&got);
	assert_int_equal(tmc_close(&t), 0);
	kept();
}

/* Statuses that never come. */
static void endless(void **state)
{
	struct tmc_wish w = wish(4096);
	struct tmc_unit u = etr;
	struct tmc_got got;

	u.flush_delay = TMC_NEVER;
	make(&u, 4096);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	assert_int_equal(say(tmc_flush(&t)), -ETIMEDOUT);
	assert_int_equal(t.why, TMC_NO_FLUSH);
	assert_int_equal(tmc_close(&t), -ETIMEDOUT);
	make(&u, 4096);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	assert_int_equal(say(tmc_stop(&t, &got)), -ETIMEDOUT);
	assert_int_equal(t.why, TMC_NO_FLUSH);
	assert_false(got.flushed);
	assert_int_equal(m.capture, 0);
	assert_int_equal(say(tmc_close(&t)), 0);
	tmc_model_end(&m);
	kept();

	u = etr;
	u.ready_delay = TMC_NEVER;
	make(&u, 4096);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	assert_int_equal(say(tmc_stop(&t, &got)), -ETIMEDOUT);
	assert_int_equal(t.why, TMC_NOT_READY);
	assert_int_equal(got.end, TMC_END_STUCK);
	ends[got.end] = true;
	assert_int_equal(m.capture, 0);
	/* it may be tried again, and a close ends it whatever comes */
	assert_int_equal(say(tmc_start(&t, &w)), -EINVAL);
	assert_int_equal(say(tmc_close(&t)), -ETIMEDOUT);
	assert_true(m.accesses < 6000);
	tmc_model_end(&m);

	/* not ready when it is started */
	make(&etr, 4096);
	m.ready = false;
	m.r.relax(&m.r);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), -ETIMEDOUT);
	assert_int_equal(say(tmc_close(&t)), 0);
	kept();

	/* stopped, not read, and then it does not become ready */
	make(&etf, 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(100);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	m.ready = false;
	m.u.ready_delay = TMC_NEVER;
	m.r.relax(&m.r);
	assert_int_equal(say(tmc_close(&t)), -ETIMEDOUT);
	assert_int_equal(m.capture, 0);
}

/* A controller that tells nonsense is not believed. */
static void nonsense(void **state)
{
	struct tmc_wish w = wish(4096);
	struct tmc_got got;

	for (unsigned i = 0; i < 3; i++) {
		make(&etr, 4096);
		assert_int_equal(open_it(), 0);
		assert_int_equal(say(tmc_start(&t, &w)), 0);
		m.rwp = i == 0 ? BASE - 8 : i == 1 ? BASE + 4096 : BASE + 4;
		assert_int_equal(say(tmc_stop(&t, &got)), -EIO);
		assert_int_equal(t.why, TMC_PLACE);
		assert_int_equal(got.bytes, 0);
		assert_int_equal(m.capture, 0);
		assert_int_equal(say(tmc_close(&t)), 0);
	}
	make(&etf, 0);
	assert_int_equal(open_it(), 0);
	assert_int_equal(say(tmc_start(&t, &w)), 0);
	trace(2000);
	assert_int_equal(say(tmc_stop(&t, &got)), 0);
	m.unread = 64;
	assert_int_equal(say(tmc_read(&t, out, ~0u)), -EIO);
	assert_int_equal(t.why, TMC_SHORT);
	assert_int_equal(say(tmc_read(&t, out, 100)), 0);
	assert_int_equal(say(tmc_close(&t)), 0);
}

static int all_of_it(void)
{
	struct tmc_wish w = wish(4096);
	struct tmc_got got;
	int rc = open_it();

	if (!rc)
		rc = say(tmc_start(&t, &w));
	if (!rc)
		trace(100);
	if (!rc)
		rc = say(tmc_flush(&t));
	if (!rc)
		rc = say(tmc_stop(&t, &got));
	while (!rc && t.kind != TMC_ETR) {
		rc = say(tmc_read(&t, out, 64));
		if (rc <= 0)
			return rc;
		rc = 0;
	}
	return rc;
}

/* Each access is refused once, and at close: it does not capture after that. */
static void faults(void **state)
{
	for (unsigned unit = 0; unit < 2; unit++)
		for (unsigned at = 1; ; at++) {
			int rc;

			make(unit ? &etf : &etr, 4096);
			m.fail_at = at;
			rc = all_of_it();
			if (m.accesses < at) {
				assert_int_equal(rc, 0);
				break;
			}
			assert_true(rc == -EIO || !rc);
			m.fail_at = 0;
			rc = tmc_close(&t);
			assert_int_equal(m.capture, 0);
			tmc_model_end(&m);
			/* the refused access was to give it back, or one word of several */
			assert_true(m.rules.total == m.rules.broken[TMC_R_LEFT] +
				    m.rules.broken[TMC_R_DATA] + m.rules.broken[TMC_R_UNSET]);
		}
	for (unsigned unit = 0; unit < 4; unit++)
		for (unsigned at = 1; ; at++) {
			struct tmc_wish w = wish(4096);
			struct tmc_got got;
			unsigned before;
			int rc;

			make(unit & 1 ? &etf : &etr, 4096);
			assert_int_equal(open_it(), 0);
			assert_int_equal(tmc_start(&t, &w), 0);
			trace(64);
			if (unit & 2)
				assert_int_equal(tmc_stop(&t, &got), 0);
			before = m.accesses;
			m.fail_at = before + at;
			rc = say(tmc_close(&t));
			if (m.accesses < before + at) {
				assert_int_equal(rc, 0);
				break;
			}
			assert_true(rc == -EIO || m.accesses == before + at);
		}
}

/* A debugger takes it before any access of ours. */
static void debugger_comes(void **state)
{
	for (unsigned at = 1; at < 1000; at++) {
		int rc;

		make(&etf, 0);
		m.claim_at = at;
		m.claim_tags = 1;
		rc = all_of_it();
		if (m.accesses < at)
			return;
		if (rc) {
			assert_int_equal(rc, -EBUSY);
			assert_true(t.why == TMC_DEBUGGER || t.why == TMC_LOST);
		}
		assert_int_equal(tmc_close(&t), 0);
		assert_int_equal(m.now[CSUNIT_CLAIMCLR / 4], 1);
		assert_int_equal(m.capture, 0);
		assert_true(m.rules.total == m.rules.broken[TMC_R_CLAIM_OTHER]);
		assert_true(m.rules.total <= 1);
	}
	fail();
}

static void all_reasons(void **state)
{
	ends[TMC_END_ASKED] = true;
	for (unsigned i = 0; i <= TMC_SHORT; i++)
		if (!seen[i])
			fail_msg("no test is told: %s", tmc_why_text((enum tmc_why)i));
	for (unsigned i = 0; i <= TMC_END_STUCK; i++)
		if (!ends[i])
			fail_msg("no test ends: %s", tmc_end_text((enum tmc_end)i));
	assert_string_equal(tmc_why_text((enum tmc_why)1000), "");
	assert_string_equal(tmc_end_text((enum tmc_end)1000), "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any), cmocka_unit_test(trigger), cmocka_unit_test(by_itself),
		cmocka_unit_test(refused), cmocka_unit_test(wishes), cmocka_unit_test(endless),
		cmocka_unit_test(nonsense), cmocka_unit_test(faults),
		cmocka_unit_test(debugger_comes), cmocka_unit_test(all_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
