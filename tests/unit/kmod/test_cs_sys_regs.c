/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All registers that programming a trace unit by system registers touches are in the lists of
 * cs_sys_regs.h, in their width and direction: what is not there can not be reached. Numbers are
 * held against the assembler's in tests/golden/cs_sysregs.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "kmod/cs_sys_regs.h"
#include "kmod/etm4_prog.h"
#include "kmod/trbe_prog.h"
#include "tests/model/trbe_model.h"
#include "tests/unit/kmod/etm4_units.h"

static struct etm4_model m;
static struct trbe_model b;
static struct hwreg *behind;
static unsigned touched;

#define IS(o) reg == (o) ||

static bool is_read(uint32_t reg)
{
	return CS_SYS_READ(IS) CS_SYS_BOTH(IS) false;
}

static bool is_write(uint32_t reg)
{
	return CS_SYS_WRITE(IS) CS_SYS_BOTH(IS) false;
}

static bool is_wide(uint32_t reg)
{
	return CS_SYS_WIDE(IS) reg == TRC_TRFCR;
}

static int rd32(struct hwreg *r, u32 reg, u32 *v)
{
	touched++;
	assert_true(is_read(reg));
	return behind->rd32(behind, reg, v);
}

static int wr32(struct hwreg *r, u32 reg, u32 v)
{
	assert_true(is_write(reg));
	return behind->wr32(behind, reg, v);
}

static int rd64(struct hwreg *r, u32 reg, u64 *v)
{
	assert_true(behind == &m.r ? is_wide(reg) : CS_SYS_BUFFER(IS) CS_SYS_BUFFER_READ(IS) false);
	return behind->rd64(behind, reg, v);
}

static int wr64(struct hwreg *r, u32 reg, u64 v)
{
	assert_true(behind == &m.r ? is_wide(reg) : CS_SYS_BUFFER(IS) false);
	return behind->wr64(behind, reg, v);
}

static void barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	hwreg_barrier(behind, kind);
}

static void relax(struct hwreg *r)
{
	behind->relax(behind);
}

static struct hwreg regs = { rd32, wr32, rd64, wr64, barrier, relax };

static void units(void **state)
{
	unsigned done = 0;

	behind = &m.r;
	while (done < 1000) {
		struct etm4_unit u = any_unit();
		struct etm4_wish w = { .id = 1 };
		struct etm4_place p = { .r = &regs, .system = true, .trf = u.trf, .powered = true };
		struct etm4 e;

		if (!u.system)
			continue;
		done++;
		etm4_model_init(&m, &u, (uint32_t)rnd());
		assert_int_equal(etm4_open(&e, &p), 0);
		w.levels = e.caps.levels & 3;
		assert_int_equal(etm4_config(&e, &w), 0);
		assert_int_equal(etm4_start(&e), 0);
		assert_int_equal(etm4_save(&e), 0);
		assert_int_equal(etm4_restore(&e), 0);
		assert_int_equal(etm4_close(&e), 0);
	}
	assert_true(touched > 10000);
}

static void buffers(void **state)
{
	struct trbe_unit u = { .align = 6 };
	static uint8_t mem[8192];
	struct trbe_wish w = { .base = 0x10000, .bytes = sizeof(mem), .trigger = true };
	struct trbe_got got;
	struct trbe t;

	behind = &b.r;
	trbe_model_init(&b, &u, mem, w.base, sizeof(mem));
	assert_int_equal(trbe_open(&t, &regs), 0);
	assert_int_equal(trbe_start(&t, &w), 0);
	assert_int_equal(trbe_stop(&t, &got), 0);
	assert_int_equal(trbe_close(&t), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(units), cmocka_unit_test(buffers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
