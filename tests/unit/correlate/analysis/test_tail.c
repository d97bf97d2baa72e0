/* SPDX-License-Identifier: BSD-2-Clause */
/* When functions are over that end by a jump: frames by hand, as calls are told for such code. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hwtrace/calls.h>

#include "correlate/analysis/tail.h"

#define F 0x1000
#define G 0x2000

static struct tails tails;
static uint64_t addr = F;
static const struct point of_f = { .kind = POINT_EXIT, .addr = &addr, .n = 1 };

static int frame_of(int tid, int what, int why, uint64_t func, int depth)
{
	struct hwt_call c = { .what = (uint8_t)what, .why = (uint8_t)why, .func = func,
		.depth = depth };
	struct hwt_event ev = { .type = HWT_EV_FRAME, .tid = tid, .cpu = 0,
		.u.rec = { .data = &c, .size = sizeof(c) } };

	return tails_event(&tails, &of_f, &ev);
}

static int enter(int why, uint64_t func, int depth)
{
	return frame_of(1, HWT_CALL_ENTER, why, func, depth);
}

static int leave(int why, uint64_t func, int depth)
{
	return frame_of(1, HWT_CALL_LEAVE, why, func, depth);
}

static void jumps(void **state)
{
	(void)state;
	/* f() { return g(); } */
	assert_int_equal(enter(HWT_WHY_CALL, F, 3), TAIL_NONE);
	assert_int_equal(leave(HWT_WHY_TAIL, F, 3), TAIL_WITHIN);
	assert_int_equal(enter(HWT_WHY_TAIL, G, 3), TAIL_NONE);
	/* what it calls is not it, but for f itself, which is one more */
	assert_int_equal(enter(HWT_WHY_CALL, F, 4), TAIL_NONE);
	assert_int_equal(leave(HWT_WHY_RETURN, F, 4), TAIL_RETURN);
	assert_int_equal(enter(HWT_WHY_CALL, G, 4), TAIL_NONE);
	assert_int_equal(leave(HWT_WHY_RETURN, G, 4), TAIL_NONE);
	/* another thread at the same depth */
	assert_int_equal(frame_of(2, HWT_CALL_LEAVE, HWT_WHY_RETURN, G, 3), TAIL_NONE);
	assert_int_equal(leave(HWT_WHY_RETURN, G, 3), TAIL_RETURN);
	assert_int_equal(leave(HWT_WHY_RETURN, G, 3), TAIL_NONE);
}

/* f jumps to g, g to f, ...: one call, however often */
static void loop(void **state)
{
	(void)state;
	assert_int_equal(enter(HWT_WHY_CALL, F, 1), TAIL_NONE);
	for (int i = 0; i < 100; i++) {
		assert_int_equal(leave(HWT_WHY_TAIL, F, 1), TAIL_WITHIN);
		assert_int_equal(enter(HWT_WHY_TAIL, G, 1), TAIL_NONE);
		assert_int_equal(leave(HWT_WHY_TAIL, G, 1), TAIL_NONE);
		assert_int_equal(enter(HWT_WHY_TAIL, F, 1), TAIL_WITHIN);
	}
	assert_int_equal(leave(HWT_WHY_RETURN, F, 1), TAIL_RETURN);
	assert_int_equal(leave(HWT_WHY_RETURN, G, 1), TAIL_NONE);
}

static void lost(void **state)
{
	(void)state;
	assert_int_equal(leave(HWT_WHY_TAIL, F, 2), TAIL_WITHIN);
	assert_int_equal(leave(HWT_WHY_LOST, G, 2), TAIL_LOST);
	assert_int_equal(leave(HWT_WHY_LOST, G, 2), TAIL_NONE);
	/* left without being told: what is below it knows */
	assert_int_equal(leave(HWT_WHY_TAIL, F, 7), TAIL_WITHIN);
	assert_int_equal(leave(HWT_WHY_RETURN, G, 5), TAIL_NONE);
	assert_int_equal(leave(HWT_WHY_RETURN, G, 7), TAIL_NONE);
	assert_int_equal(leave(HWT_WHY_OPEN, F, 0), TAIL_LOST);
	tails_free(&tails);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(jumps),
		cmocka_unit_test(loop),
		cmocka_unit_test(lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
