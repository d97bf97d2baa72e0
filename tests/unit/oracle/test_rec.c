/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording put together by hand, read as events, and the comparison of tests/oracle: it must
 * say yes to what ran, and no to anything else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* the oracle is a program, no library */
#include "../../oracle/rec.c"
#include "../../oracle/truth.c"

static char path[] = "/tmp/test_rec.XXXXXX";
static FILE *file;

static void add(const void *p, size_t n)
{
	assert_int_equal(fwrite(p, 1, n, file), n);
}

static void chunk(uint32_t kind, uint32_t id, uint32_t n)
{
	const uint32_t head[3] = { kind, id, n };

	add(head, sizeof(head));
}

/* @sizes: one digit for each instruction. */
static void block(uint64_t first, const char *sizes, const char *bytes, uint32_t n)
{
	struct rec_block_head h = { .first = first, .insns = (uint32_t)strlen(sizes), .nbytes = n,
				    .isa = MODEL_X86_64 };

	chunk(REC_BLOCK, 0, sizeof(h));
	add(&h, sizeof(h));
	for (; *sizes; sizes++)
		add(&(uint8_t){ (uint8_t)(*sizes - '0') }, 1);
	add(bytes, n);
}

#define RUN(n)	REC_T_MORE + 1 + 2 * (n)	/* block n, not guessed */

/*
 * 1000 je to 1005, taken; a fault at 1005, its handler 2000 returns by a system call; 1005 again,
 * a return to 10fe, where a REP turns three times; a system call ends it. The block at 1005 has a
 * last instruction that QEMU gave up.
 */
static int make(void **state)
{
	static const uint8_t stream[] = { RUN(0), RUN(1), REC_T_EVENT, REC_LEFT, 1, REC_T_EVENT,
		REC_SIGNAL, 0x85, 0x20, RUN(2), RUN(1), RUN(3), RUN(4), RUN(4), RUN(5),
		REC_T_EVENT, REC_END };
	const struct rec_head head = { .magic = REC_MAGIC, .isa = MODEL_X86_64 };

	file = fdopen(mkstemp(path), "wb");
	assert_non_null(file);
	add(&head, sizeof(head));
	block(0x1000, "12", "\x90\x74\x02", 3);
	block(0x1005, "21", "\x8b\x00\xc3", 3);
	block(0x2000, "2", "\x0f\x05", 2);
	block(0x10fe, "112", "\x90\x90\xf3\xa4", 4);
	block(0x1100, "2", "\xf3\xa4", 2);
	block(0x1102, "23", "\x0f\x05\x48\xc7\xc0", 5);
	chunk(REC_STREAM, 0, sizeof(stream));
	add(stream, sizeof(stream));
	chunk(REC_FILE_END, 0, 0);
	fclose(file);
	return 0;
}

static int drop(void **state)
{
	return unlink(path);
}

struct want { uint8_t op, insns, taken; uint64_t first, to, from; };

static void test_events(void **state)
{
	static const struct want want[] = {
		{ MODEL_CONTEXT, 0, 0, 0, 0, 0 },
		{ MODEL_ENTER, 0, 0, 0, 0x1000, 0 },
		{ MODEL_RUN, 2, 1, 0x1000, 0x1005, 0 },
		{ MODEL_TRAP, 0, 0, 0, MODEL_UNSEEN, 0x1005 },
		{ MODEL_ENTER, 0, 0, 0, 0x2000, 0 },
		{ MODEL_RUN, 1, 1, 0x2000, MODEL_UNSEEN, 0 },
		{ MODEL_ENTER, 0, 0, 0, 0x1005, 0 },
		{ MODEL_RUN, 2, 1, 0x1005, 0x10fe, 0 },
		{ MODEL_RUN, 3, 0, 0x10fe, 0x1102, 0 },
		{ MODEL_RUN, 1, 1, 0x1102, MODEL_NO_ADDR, 0 },
		{ MODEL_END, 0, 0, 0, MODEL_NO_ADDR, 0 },
	};
	const struct rec_clock clk = { .seed = 3, .start = 100, .away_ticks = 10 };
	const char *why;
	struct rec *r;
	struct rec_iter *it;
	struct model_event ev;
	uint64_t tick = 0;

	assert_int_equal(rec_open(&r, path, &why), 0);
	assert_int_equal(rec_threads(r), 1);
	assert_int_equal(rec_iter_new(&it, r, 0, &clk), 0);
	for (size_t i = 0; i < sizeof(want) / sizeof(want[0]); i++) {
		assert_int_equal(rec_next(it, &ev), 1);
		assert_int_equal(ev.op, want[i].op);
		assert_int_equal(ev.insns, want[i].insns);
		assert_int_equal(ev.taken, want[i].taken);
		assert_true(ev.op == MODEL_CONTEXT || ev.to == want[i].to);
		assert_true(ev.op != MODEL_TRAP || ev.from == want[i].from);
		assert_true(ev.op != MODEL_RUN || ev.block->first == want[i].first);
		assert_true(ev.tick >= tick);
		tick = ev.tick;
	}
	assert_int_equal(rec_next(it, &ev), 0);
	rec_iter_free(it);
	rec_close(r);
}

static struct hwt_event ran(uint64_t first, uint64_t last, uint32_t insns)
{
	struct hwt_event ev = { .type = HWT_EV_RANGE, .time = 0, .span = 1000000 };

	ev.u.range.first = first;
	ev.u.range.last = last;
	ev.u.range.insns = insns;
	ev.u.range.isa = HWT_ISA_X86_64;
	return ev;
}

/* What was decoded, held against the run: index of the event that it does not take, -1: none. */
static int held(const struct hwt_event *ev, int n, const struct truth_holes *holes,
		uint64_t *outside)
{
	const struct rec_clock clk = { .seed = 3, .start = 100, .away_ticks = 10 };
	struct truth *t;
	struct rec *r;
	const char *why;
	int bad = -1;

	assert_int_equal(rec_open(&r, path, &why), 0);
	assert_int_equal(truth_new(&t, r, 0, &clk, holes), 0);
	for (int i = 0; i < n && bad < 0; i++)
		bad = truth_event(t, &ev[i]) ? i : -1;
	if (bad < 0 && truth_end(t, 0))
		bad = n;
	if (outside)
		*outside = truth_stats(t)->outside;
	truth_free(t);
	rec_close(r);
	return bad;
}

static void test_truth(void **state)
{
	struct truth_holes none = { 0 }, some = { 0 };
	struct hwt_event all[8] = { ran(0x1000, 0x1001, 2), ran(0x2000, 0x2000, 1),
		ran(0x1005, 0x1007, 2), ran(0x10fe, 0x1102, 4) };
	struct hwt_event ev[8], gap = { .type = HWT_EV_GAP };
	uint64_t outside;

	assert_int_equal(held(all, 4, &none, &outside), -1);
	assert_int_equal(outside, 0);
	for (int i = 0; i < 4; i++) {	/* another first, last or number; one left out */
		memcpy(ev, all, sizeof(ev));
		ev[i].u.range.first++;
		assert_int_equal(held(ev, 4, &none, NULL), i);
		memcpy(ev, all, sizeof(ev));
		ev[i].u.range.last++;
		assert_int_equal(held(ev, 4, &none, NULL), i);
		memcpy(ev, all, sizeof(ev));
		ev[i].u.range.insns++;
		assert_int_equal(held(ev, 4, &none, NULL), i);
		memcpy(ev, all, sizeof(ev));
		ev[i].u.range.isa = HWT_ISA_A64;
		assert_int_equal(held(ev, 4, &none, NULL), i);
		memcpy(ev, all, sizeof(ev));
		ev[i].flags = HWT_F_DOUBT;
		assert_int_equal(held(ev, 4, &none, NULL), i);
		if (i < 3) {
			memmove(ev + i, all + i + 1, (size_t)(3 - i) * sizeof(*ev));
			assert_int_equal(held(ev, 3, &none, NULL), i);
		}
	}
	assert_int_equal(held(all, 2, &none, NULL), 2);		/* stops too early */
	/* a gap where nothing was lost; a loss with and without its gap */
	memcpy(ev, all, sizeof(ev));
	memmove(ev + 2, all + 1, 3 * sizeof(*ev));
	ev[1] = gap;
	assert_int_equal(held(ev, 5, &none, NULL), 2);
	assert_int_equal(truth_hole_add(&some, 5, 8), 0);	/* the handler and 1005 */
	memmove(ev + 2, all + 3, sizeof(*ev));
	assert_int_equal(held(ev, 3, &some, NULL), -1);
	ev[1] = all[3];
	assert_int_equal(held(ev, 2, &some, NULL), 1);
	free(some.h);
	/* a time that is over before it ran */
	memcpy(ev, all, sizeof(ev));
	ev[2].span = 10;
	assert_int_equal(held(ev, 4, &none, &outside), -1);
	assert_int_equal(outside, 1);
}

/* A recording that is cut anywhere is refused, or contradicts itself; it is never read past. */
static void test_cut(void **state)
{
	static uint8_t b[4096];
	char cut[] = "/tmp/test_rec.XXXXXX";
	FILE *f = fopen(path, "rb");
	size_t n = fread(b, 1, sizeof(b), f);
	const char *why;
	struct rec *r;

	fclose(f);
	close(mkstemp(cut));
	for (size_t i = 0; i < n; i++) {
		f = fopen(cut, "wb");
		assert_true(!i || fwrite(b, i, 1, f) == 1);
		fclose(f);
		assert_true(rec_open(&r, cut, &why) < 0);
	}
	unlink(cut);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_truth),
		cmocka_unit_test(test_cut),
	};

	return cmocka_run_group_tests(tests, make, drop);
}
