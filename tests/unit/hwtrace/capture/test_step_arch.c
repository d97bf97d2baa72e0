/* SPDX-License-Identifier: BSD-2-Clause */
/* What the stepper must know of instructions and stops; encodings as an assembler gives them. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#include "hwtrace/capture/step_arch.h"

#define PC 0x10000u

enum {
	LDAXR = 0x885ffc20, CMP = 0x6b02001f, BNE_12 = 0x54000061, STLXR = 0x8803fc24,
	CBNZ_BACK = 0x35ffff83, LDXR = 0xc85f7c20, ADD = 0x91000400, STXR = 0xc8027c20,
	LDXP = 0xc87f0440, STXP = 0xc8230440, CASP = 0x48207c82, TBZ_16 = 0x36180080,
	CBZ_8 = 0xb4000045, BL = 0x94000002, SVC = 0xd4000001, LDAXRB = 0x085ffc20,
	STLR = 0x889ffc20, LDAR = 0x88dffc20, CAS = 0x88a07c41, BNE_BACK = 0x54ffffc1
};

static struct arch_sequence sequence(const uint32_t *w, size_t n)
{
	struct arch_sequence q = { .nends = 99 };
	uint8_t bytes[64];

	for (size_t i = 0; i < n; i++)
		for (unsigned k = 0; k < 4; k++)
			bytes[i * 4 + k] = (uint8_t)(w[i] >> 8 * k);
	arch_a64_sequence(&q, PC, bytes, n * 4);
	return q;
}

#define SEQUENCE(...) sequence((const uint32_t[]){ __VA_ARGS__ }, \
	sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

static void compare_and_swap(void **state)
{
	struct arch_sequence q = SEQUENCE(LDAXR, CMP, BNE_12, STLXR, CBNZ_BACK);

	assert_int_equal(q.nends, 2);
	assert_int_equal(q.pc, PC);
	assert_int_equal(q.ends[0], PC + 16);	/* behind the store */
	assert_int_equal(q.ran[0], 4);
	assert_int_equal(q.ends[1], PC + 20);	/* the branch was taken */
	assert_int_equal(q.ran[1], 3);
	q = SEQUENCE(LDAXR, CMP, TBZ_16, STLXR);
	assert_int_equal(q.nends, 2);
	assert_int_equal(q.ends[1], PC + 24);
	q = SEQUENCE(LDAXR, CBZ_8 + 0x40, CMP, STLXR);
	assert_int_equal(q.nends, 2);
	assert_int_equal(q.ends[1], PC + 4 + 16);
	assert_int_equal(q.ran[1], 2);
}

static void add(void **state)
{
	struct arch_sequence q = SEQUENCE(LDXR, ADD, STXR, CBNZ_BACK);

	assert_int_equal(q.nends, 1);
	assert_int_equal(q.ends[0], PC + 12);
	assert_int_equal(q.ran[0], 3);
	q = SEQUENCE(LDXP, STXP);
	assert_int_equal(q.nends, 1);
	assert_int_equal(q.ran[0], 2);
	q = SEQUENCE(LDAXRB, ADD, STXR);
	assert_int_equal(q.nends, 1);
}

static void none(void **state)
{
	assert_int_equal(SEQUENCE(ADD, STXR).nends, 0);
	assert_int_equal(SEQUENCE(CASP, STXR).nends, 0);
	assert_int_equal(SEQUENCE(CAS, STXR).nends, 0);
	assert_int_equal(SEQUENCE(LDAR, STLR).nends, 0);
	assert_int_equal(SEQUENCE(LDXR, ADD).nends, 0);		/* no store in sight */
	assert_int_equal(SEQUENCE(LDXR, BL, STXR).nends, 0);
	assert_int_equal(SEQUENCE(LDXR, SVC, STXR).nends, 0);
	assert_int_equal(SEQUENCE(LDXR, LDXR, STXR).nends, 0);
	/* two branches: which was taken would not be known */
	assert_int_equal(SEQUENCE(LDXR, BNE_12, TBZ_16, STXR).nends, 0);
	/* branches that stay inside */
	assert_int_equal(SEQUENCE(LDXR, CBZ_8, ADD, STXR).nends, 0);
	assert_int_equal(SEQUENCE(LDXR, ADD, BNE_BACK, STXR).nends, 0);
	assert_int_equal(SEQUENCE(LDXR).nends, 0);
}

#if defined(__x86_64__)
#include "hwtrace/model/model.h"

#define X86(f, ...) f(MODEL_X86_64, (const uint8_t[]){ __VA_ARGS__ }, \
	sizeof((const uint8_t[]){ __VA_ARGS__ }))

static void instructions(void **state)
{
	struct arch_sequence q;

	assert_true(X86(arch_is_call, 0x0f, 0x05));		/* syscall */
	assert_true(X86(arch_is_call, 0x48, 0x0f, 0x05));	/* rex.w syscall */
	assert_true(X86(arch_is_call, 0x0f, 0x34));		/* sysenter */
	assert_true(X86(arch_is_call, 0xcd, 0x80));		/* int $0x80 */
	assert_false(X86(arch_is_call, 0xcd, 0x03));
	assert_false(X86(arch_is_call, 0x0f, 0x07));		/* sysret */
	assert_false(X86(arch_is_call, 0x0f));
	assert_false(X86(arch_is_call, 0x66));
	assert_true(X86(arch_is_break, 0xf1));
	assert_false(X86(arch_is_break, 0xcc));
	assert_true(X86(arch_traps, 0xcc));
	assert_true(X86(arch_traps, 0xcd, 0x03));
	assert_true(X86(arch_traps, 0xf1));
	assert_false(X86(arch_traps, 0xcd));
	assert_false(X86(arch_traps, 0xcd, 0x80));
	assert_false(X86(arch_traps, 0x0f, 0xcc));	/* bswap */
	arch_sequence(&q, PC, (const uint8_t[]){ 0x66, 0x9d }, 2);	/* popfw */
	assert_int_equal(q.nends, 1);
	assert_int_equal(q.ends[0], PC + 2);
	assert_int_equal(q.ran[0], 1);
	arch_sequence(&q, PC, (const uint8_t[]){ 0x9c, 0x9d }, 2);	/* pushfq */
	assert_int_equal(q.nends, 0);
	assert_true(arch_is_vsyscall(0xffffffffff600400));
	assert_false(arch_is_vsyscall(0xffffffffff601000));
}

static void stops(void **state)
{
	siginfo_t si = { .si_signo = SIGTRAP, .si_code = TRAP_TRACE };
	struct arch_regs r = { .call = 35, .result = (uint64_t)-516 };

	assert_int_equal(arch_stop(&si, false, false), ARCH_STEPPED);
	assert_int_equal(arch_stop(&si, true, false), ARCH_SIGNAL);
	si.si_code = TRAP_BRKPT;
	assert_int_equal(arch_stop(&si, false, false), ARCH_STEPPED);
	assert_int_equal(arch_stop(&si, false, true), ARCH_CALLED);
	assert_int_equal(arch_stop(&si, true, false), ARCH_SIGNAL);
	si.si_code = TRAP_HWBKPT;
	assert_int_equal(arch_stop(&si, false, false), ARCH_BREAK);
	si.si_code = SI_USER;
	assert_int_equal(arch_stop(&si, false, false), ARCH_SIGNAL);
	si.si_code = SI_KERNEL;
	assert_int_equal(arch_stop(&si, false, false), ARCH_SIGNAL);
	assert_true(arch_restarts(&r));
	r.result = (uint64_t)-4;		/* EINTR */
	assert_false(arch_restarts(&r));
	r = (struct arch_regs){ .call = -1, .result = (uint64_t)-512 };
	assert_false(arch_restarts(&r));	/* a number in a register, no call */
	r = (struct arch_regs){ .call = 13, .args = { SIGTRAP, 0x1000 } };	/* rt_sigaction */
	assert_true(arch_sets_trap(&r));
	r.args[1] = 0;				/* asks only */
	assert_false(arch_sets_trap(&r));
	r = (struct arch_regs){ .call = 13, .args = { SIGINT, 0x1000 } };
	assert_false(arch_sets_trap(&r));
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(compare_and_swap), cmocka_unit_test(add), cmocka_unit_test(none),
#if defined(__x86_64__)
		cmocka_unit_test(instructions), cmocka_unit_test(stops),
#endif
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
