/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ranges of a library against hand-assembled code (Arm ARM, C6 and F5): which can be what ran. The
 * truth is the assembly in the comments and what a trace unit must say of each branch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "decoders/flow/ocsd_doubt.h"
#include "hwtrace/image/image.h"

#define A 0x1000ull	/* A64 */
#define T 0x2000ull	/* T32 */

static const uint8_t a64[] = {
	0x1f, 0x20, 0x03, 0xd5,		/* 1000 nop */
	0x1f, 0x00, 0x00, 0x55,		/* 1004 retaasppc 1004 */
	0x1f, 0x20, 0x03, 0xd5,		/* 1008 nop */
	0x41, 0x00, 0x00, 0x54,		/* 100c b.ne 1014 */
	0x1f, 0x20, 0x03, 0xd5,		/* 1010 nop */
	0x01, 0x00, 0x00, 0xd4,		/* 1014 svc #0 */
	0x1f, 0x20, 0x03, 0xd5,		/* 1018 nop */
	0xc0, 0x03, 0x5f, 0xd6,		/* 101c ret */
};
static const uint8_t t32[] = {
	0x08, 0xbf,			/* 2000 it eq */
	0x00, 0xdf,			/* 2002 svceq 0 */
	0x00, 0xbf,			/* 2004 nop */
	0x44, 0xf0, 0x01, 0xc0,		/* 2006 wls lr, r4, 200a */
	0x00, 0xbf,			/* 200a nop */
	0x70, 0x47,			/* 200c bx lr */
};

struct bench {
	struct doubt d;
	struct proof p;
	struct hwt_image *img;
	struct notes notes;
	uint64_t off;		/* of the next packet */
	uint64_t branch;
	uint32_t proven;
};

static struct bench b;

static int setup(void **state)
{
	memset(&b, 0, sizeof(b));
	b.p.version = 1;
	b.d.stack = true;
	assert_int_equal(image_new(&b.img, &b.notes), 0);
	assert_int_equal(image_add_bytes(b.img, HWT_NONE, 0, A, a64, sizeof(a64), "a64"), 0);
	assert_int_equal(image_add_bytes(b.img, HWT_NONE, 0, T, t32, sizeof(t32), "t32"), 0);
	return 0;
}

static int teardown(void **state)
{
	image_free(b.img);
	notes_free(&b.notes);
	return 0;
}

static enum trust take(unsigned isa, uint64_t first, uint64_t last, uint32_t insns, unsigned kind)
{
	const struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	struct hwt_event ev = { .type = HWT_EV_RANGE, .flags = HWT_F_TAKEN };

	ev.u.range.first = first;
	ev.u.range.last = last;
	ev.u.range.insns = insns;
	ev.u.range.isa = (uint8_t)isa;
	ev.u.range.kind = (uint8_t)kind;
	b.branch = HWT_NO_ADDR;
	b.proven = insns;
	return doubt_range(&b.d, &b.p, b.img, &w, &ev, b.off++, &b.branch, &b.proven);
}

static void packet(enum seen_what what, uint64_t addr)
{
	doubt_packet(&b.d, b.off, what, addr);
	/* an exception and a source address make an element themselves */
	b.off += what == SEEN_TARGET;
}

static enum trust ret(void)
{
	return take(HWT_ISA_A64, A + 24, A + 28, 2, HWT_INSN_RETURN);
}

static void right(void **state)
{
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(take(HWT_ISA_A64, A + 8, A + 12, 2, HWT_INSN_BRANCH), TRUST_ALL);
	/* an exception ends a range anywhere, also at its SVC */
	assert_int_equal(take(HWT_ISA_A64, A + 16, A + 20, 2, HWT_INSN_OTHER), TRUST_ALL);
	/* the condition of IT may skip SVC without a trace */
	assert_int_equal(take(HWT_ISA_T32, T, T + 4, 3, HWT_INSN_OTHER), TRUST_ALL);
	/* code that is not there can not contradict */
	assert_int_equal(take(HWT_ISA_A64, 0x9000, 0x9004, 2, HWT_INSN_RETURN), TRUST_ALL);
}

static void passed(void **state)
{
	for (int i = 0; i < 2; i++) {	/* the second answer is the remembered one */
		assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_PART);
		assert_int_equal(b.branch, A + 4);
		assert_int_equal(b.proven, 2);
		doubt_reset(&b.d);
	}
	/* also as the last one, if the library takes it for something else */
	assert_int_equal(take(HWT_ISA_A64, A, A + 4, 2, HWT_INSN_OTHER), TRUST_PART);
	doubt_reset(&b.d);
	/* a conditional one, and SVC in A64 */
	assert_int_equal(take(HWT_ISA_A64, A + 8, A + 16, 3, HWT_INSN_OTHER), TRUST_PART);
	doubt_reset(&b.d);
	assert_int_equal(take(HWT_ISA_A64, A + 20, A + 28, 3, HWT_INSN_RETURN), TRUST_PART);
	doubt_reset(&b.d);
	assert_int_equal(take(HWT_ISA_T32, T + 4, T + 12, 4, HWT_INSN_IJUMP), TRUST_PART);
	assert_int_equal(b.branch, T + 6);
}

static void wrong_count(void **state)
{
	assert_int_equal(take(HWT_ISA_A64, A + 24, A + 28, 1, HWT_INSN_RETURN), TRUST_PART);
	doubt_reset(&b.d);
	assert_int_equal(take(HWT_ISA_A64, A + 24, A + 28, 3, HWT_INSN_RETURN), TRUST_PART);
	doubt_reset(&b.d);
	/* four bytes are one T32 instruction here */
	assert_int_equal(take(HWT_ISA_T32, T + 6, T + 10, 3, HWT_INSN_OTHER), TRUST_PART);
}

/* The library counts in vain until the trace names an address. */
static void until_an_address(void **state)
{
	b.d.stack = false;
	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_PART);
	assert_int_equal(ret(), TRUST_NONE);
	packet(SEEN_TARGET, A + 8);
	assert_int_equal(ret(), TRUST_NONE);	/* named, but not this one */
	packet(SEEN_TARGET, A + 24);
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(ret(), TRUST_ALL);
}

/* An address that comes after the range in the trace says nothing of it. */
static void not_from_the_future(void **state)
{
	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_PART);
	doubt_packet(&b.d, b.off + 1, SEEN_TARGET, A + 24);
	assert_int_equal(ret(), TRUST_NONE);
	b.off++;
	assert_int_equal(ret(), TRUST_ALL);
}

/* A call or return was missed: what the library pops is not what the hardware popped. */
static void return_stack(void **state)
{
	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_PART);
	packet(SEEN_TARGET, A + 24);
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(ret(), TRUST_STACK);
	assert_int_equal(ret(), TRUST_NONE);
	packet(SEEN_TARGET, A + 24);
	assert_int_equal(ret(), TRUST_ALL);
	doubt_restart(&b.d);
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(ret(), TRUST_ALL);
}

/* Instructions that nobody followed, as where code is missing; trace info empties the stack. */
static void missed(void **state)
{
	assert_int_equal(ret(), TRUST_ALL);
	doubt_missed(&b.d);
	/* the one before the hole does not lead here, an address does */
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(ret(), TRUST_STACK);
	packet(SEEN_NO_RETURNS, HWT_NO_ADDR);
	assert_int_equal(ret(), TRUST_NONE);	/* still not known where */
	packet(SEEN_TARGET, A + 24);
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(ret(), TRUST_ALL);
	/* what a later packet says does not hold yet */
	doubt_missed(&b.d);
	doubt_packet(&b.d, b.off + 2, SEEN_NO_RETURNS, HWT_NO_ADDR);
	assert_int_equal(ret(), TRUST_ALL);
	assert_int_equal(ret(), TRUST_STACK);
}

/* The return address of an exception lies elsewhere: nothing of the range ran. */
static void exception(void **state)
{
	packet(SEEN_EXCEPTION, 0);
	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_OTHER), TRUST_WRONG);
	assert_int_equal(b.branch, A + 4);
}

/* A source address says that nothing before it was taken: what always branches still can not be. */
static void source_address(void **state)
{
	packet(SEEN_SOURCE, A + 20);
	assert_int_equal(take(HWT_ISA_A64, A + 8, A + 20, 4, HWT_INSN_OTHER), TRUST_ALL);
	packet(SEEN_SOURCE, A + 28);
	assert_int_equal(take(HWT_ISA_A64, A, A + 28, 8, HWT_INSN_RETURN), TRUST_PART);
	assert_int_equal(b.branch, A + 4);
}

/* Other code may be there now: nothing is remembered. */
static void other_code(void **state)
{
	static const uint8_t nop[] = { 0x1f, 0x20, 0x03, 0xd5 };

	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_PART);
	doubt_reset(&b.d);
	assert_int_equal(image_add_bytes(b.img, HWT_NONE, 1, A + 4, nop, 4, "nop"), 0);
	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_PART);
	doubt_reset(&b.d);
	b.p.version++;
	assert_int_equal(take(HWT_ISA_A64, A, A + 12, 4, HWT_INSN_BRANCH), TRUST_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(right, setup, teardown),
		cmocka_unit_test_setup_teardown(passed, setup, teardown),
		cmocka_unit_test_setup_teardown(wrong_count, setup, teardown),
		cmocka_unit_test_setup_teardown(until_an_address, setup, teardown),
		cmocka_unit_test_setup_teardown(not_from_the_future, setup, teardown),
		cmocka_unit_test_setup_teardown(return_stack, setup, teardown),
		cmocka_unit_test_setup_teardown(missed, setup, teardown),
		cmocka_unit_test_setup_teardown(exception, setup, teardown),
		cmocka_unit_test_setup_teardown(source_address, setup, teardown),
		cmocka_unit_test_setup_teardown(other_code, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
