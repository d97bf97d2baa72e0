/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The model of a trace buffer can fail: each of its rules is broken once by a sequence that is
 * wrong in that alone; one that is right, written here by hand from the manual, breaks none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "tests/model/trbe_model.h"

#define BASE	0xffff800012340000ull

enum { LIMITR, PTR, BASER, SR, MAR, MPAM, TRG, IDR };

static const struct trbe_unit unit = { .align = 6 };
static struct trbe_model m;
static uint8_t mem[8192], given[8192];

static void wr(uint32_t reg, uint64_t v)
{
	m.r.wr64(&m.r, reg, v);
}

static uint64_t rd(uint32_t reg)
{
	uint64_t v = 0;

	m.r.rd64(&m.r, reg, &v);
	return v;
}

static void fence(enum hwreg_barrier kind)
{
	(m.r.barrier)(&m.r, kind);
}

static void make(void)
{
	trbe_model_init(&m, &unit, mem, BASE, sizeof(mem));
	trbe_model_log(&m, given, sizeof(given));
}

static void program(uint32_t but)
{
	if (but != SR)
		wr(SR, 0);
	if (but != BASER)
		wr(BASER, BASE);
	if (but != PTR)
		wr(PTR, BASE);
	if (but != LIMITR)
		wr(LIMITR, (BASE + 8192) | 3u << 3);
}

static void start(void)
{
	fence(HWREG_CONTEXT);
	wr(LIMITR, m.limitr | 1);
	fence(HWREG_CONTEXT);
}

static void trace(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint8_t b = (uint8_t)(i * 7);

		trbe_model_trace(&m, &b, 1);
	}
}

static void stop(void)
{
	fence(HWREG_TRACE);
	fence(HWREG_MEMORY);
	wr(LIMITR, 0);
	fence(HWREG_CONTEXT);
}

static void right(void **state)
{
	make();
	program(~0u);
	start();
	trace(100);
	stop();
	assert_int_equal(rd(PTR), BASE + 100);
	assert_int_equal(rd(SR), 0);
	assert_memory_equal(trbe_model_look(&m), given, 100);
	/* to its end */
	program(~0u);
	start();
	trace(9000);
	assert_int_equal(m.k.dropped, 9000 - 8192);
	stop();
	assert_int_equal(rd(PTR), BASE);
	/* stopped, wrapped, an interrupt; its buffer is full */
	assert_int_equal(rd(SR), 1 << 17 | 1 << 20 | 1 << 22 | 1);
	wr(SR, 0);
	trbe_model_end(&m);
	assert_int_equal(m.rules.total, 0);
}

static void way(void)
{
	m.r.rd32(&m.r, PTR, &(uint32_t){ 0 });
}

static void owned(void)
{
	m.u.owned = true;
	rd(LIMITR);
}

static void read_only(void)
{
	wr(IDR, 0);
}

static void enabled(void)
{
	program(~0u);
	start();
	wr(PTR, BASE);
}

static void reserved(void)
{
	wr(BASER, BASE + 8);
}

static void place(void)
{
	program(PTR);
	wr(PTR, BASE + 8);
	start();
}

static void unset(void)
{
	m.ptr = BASE;
	program(PTR);
	start();
}

static void stopped(void)
{
	program(~0u);
	wr(SR, 1u << 17);
	start();
}

static void settle_on(void)
{
	program(~0u);
	wr(LIMITR, m.limitr | 1);
}

static void settle_off(void)
{
	program(~0u);
	start();
	fence(HWREG_TRACE);
	wr(LIMITR, 0);
	rd(SR);
}

static void pointer(void)
{
	program(~0u);
	start();
	rd(PTR);
}

static void no_drain(void)
{
	program(~0u);
	start();
	trace(10);
	wr(LIMITR, 0);
}

static void unseen(void)
{
	program(~0u);
	start();
	trace(10);
	fence(HWREG_TRACE);
	wr(LIMITR, 0);
	trbe_model_look(&m);
}

static void memory(void)
{
	m.k.mem_bytes = 127;
	program(~0u);
	start();
	trace(128);
}

static void left(void)
{
	program(~0u);
	start();
	trbe_model_end(&m);
}

static void broken(void **s)
{
	static void (*const wrong[TRBE_RULE_COUNT])(void) = {
		[TRBE_R_WAY] = way, [TRBE_R_OWNED] = owned, [TRBE_R_READ_ONLY] = read_only,
		[TRBE_R_ENABLED] = enabled, [TRBE_R_RESERVED] = reserved, [TRBE_R_PLACE] = place,
		[TRBE_R_UNSET] = unset, [TRBE_R_STOPPED] = stopped,
		[TRBE_R_SETTLE_ON] = settle_on, [TRBE_R_SETTLE_OFF] = settle_off,
		[TRBE_R_POINTER] = pointer, [TRBE_R_DRAIN] = no_drain,
		[TRBE_R_UNSEEN] = unseen, [TRBE_R_MEMORY] = memory, [TRBE_R_LEFT] = left,
	};

	for (unsigned i = 0; i < TRBE_RULE_COUNT; i++) {
		make();
		wrong[i]();
		if (m.rules.broken[i] != 1 || m.rules.total != 1)
			fail_msg("not caught alone: %s", m.rules.text[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(right), cmocka_unit_test(broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
