/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Recordings of a thousand and of a hundred thousand short programs (mktasks.h): what is asked of
 * each takes the same memory, but for what is allowed here to grow.
 */
#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <hwtrace/contract.h>
#include <hwtrace/hwtrace.h>
#include <hwtrace/latency.h>
#include <hwtrace/why.h>

#include "hwtrace/base/spill.h"
#include "tests/support/heap.h"
#include "tests/support/mktasks.h"
#include "tests/support/scratch.h"

#define FEW	1000u
#define MANY	100000u
/*
 * Eight tables have up to SPILL_HEAP in the heap (five of a session, three of an analysis), and as
 * much again while they grow or are sorted. Of three of them, of each 32 tasks, 4 slots of 16 bytes
 * remain there, and 2 while that grows (idtab.h).
 */
#define GROWTH	(8 * 2 * SPILL_HEAP + 3 * (MANY / 32) * 6 * 16)

static uint64_t count;		/* what the analysis found */

/* The most bytes since heap_start() in builds with AddressSanitizer, else those of now. */
static size_t held(void)
{
	struct mallinfo2 m = mallinfo2();
	size_t most = heap_most();

	return most ? most : m.uordblks + m.hblkhd;
}

static void feed(struct hwt_session *s, int (*take)(void *, const struct hwt_event *), void *arg)
{
	struct hwt_stream *in;
	struct hwt_event ev[64];
	int n;

	assert_int_equal(hwt_session_kernel(s, &in, NULL), 0);
	while ((n = hwt_stream_next(in, ev, 64)) > 0)
		for (int i = 0; i < n; i++)
			assert_true(take(arg, &ev[i]) >= 0);
	assert_int_equal(n, 0);
	hwt_stream_close(in);
}

static void found(void *arg, const struct hwt_contract_finding *f)
{
	fail_msg("%s", f->text);
}

static size_t contract(struct hwt_session *s)
{
	struct hwt_contract_stats st;
	struct hwt_diag d;

	assert_int_equal(hwt_session_contract(s, found, NULL, &st, &d), 0);
	count = st.records;
	return held();
}

static int take_pairs(void *arg, const struct hwt_event *ev)
{
	struct hwt_pair pair;
	int rc = hwt_pairs_event(arg, ev, &pair);

	count += rc > 0;
	return rc;
}

/* Of each program one call has no end, as it ends itself. */
static size_t latency(struct hwt_session *s)
{
	struct hwt_pairs_opts o = { .size = sizeof(o), .from = "syscall.enter", .waits = true };
	struct hwt_pair_stats st;
	struct hwt_pairs *p;
	struct hwt_diag d;
	size_t n;

	assert_int_equal(hwt_pairs_new(&p, s, &o, &d), 0);
	count = 0;
	feed(s, take_pairs, p);
	n = held();
	hwt_pairs_stats(p, &st);
	assert_int_equal(st.dropped, 0);
	assert_int_equal(st.unended, count);
	hwt_pairs_free(p);
	return n;
}

static int take_why(void *arg, const struct hwt_event *ev)
{
	return hwt_why_event(arg, ev);
}

static size_t why(struct hwt_session *s)
{
	struct hwt_pairs_opts o = { .size = sizeof(o), .from = "syscall.enter" };
	struct hwt_why_answer a;
	struct hwt_why *w;
	struct hwt_diag d;
	size_t n;

	assert_int_equal(hwt_why_new(&w, s, &o, &d), 0);
	feed(s, take_why, w);
	assert_int_equal(hwt_why_choose(w, 1, 0, &d), 0);
	feed(s, take_why, w);
	n = held();
	assert_int_equal(hwt_why_explain(w, &a), 0);
	assert_int_equal(a.this.took.lo, 50100);
	assert_int_equal(a.typical.took.lo, 100);
	count = a.this.number;
	hwt_why_free(w);
	return n;
}

static size_t run(uint32_t tasks, size_t (*what)(struct hwt_session *))
{
	struct hwt_session *s;
	struct hwt_diag d;
	size_t before, n;
	bool counts;

	assert_int_equal(mktasks(scratch("many.hwt"), tasks, &d), 0);
	before = held();
	heap_start();
	assert_int_equal(hwt_session_open(&s, scratch("many.hwt"), NULL, &d), 0);
	counts = heap_most() != 0;
	/* names are put in order at the first question */
	hwt_session_comm_at(s, 1000, 5000);
	n = what(s);
	heap_watch(false);
	hwt_session_close(s);
	return counts ? n : n - before;
}

static void flat(size_t (*what)(struct hwt_session *), uint64_t each)
{
	size_t few = run(FEW, what), many;

	many = run(MANY, what);
	assert_true(!each || count == (uint64_t)MANY * each);
	print_message("%zu KiB for %u tasks, %zu for %u\n", few / 1024, FEW, many / 1024, MANY);
	assert_true(many < few + GROWTH);
}

static void of_contract(void **state)
{
	flat(contract, 0);
}

static void of_latency(void **state)
{
	flat(latency, 1);
}

static void of_why(void **state)
{
	flat(why, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(of_contract),
		cmocka_unit_test(of_latency), cmocka_unit_test(of_why) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
