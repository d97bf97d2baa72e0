/* SPDX-License-Identifier: BSD-2-Clause */
/* Dark times and records by hand: what is narrowed, and what must stay as it is. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/anchor_dark.h"
#include "tests/support/evlist.h"

#define MAX	64
#define CPU	1
#define PROGRAM	0x401000

static struct hwt_event flow[MAX], kernel[MAX], out[MAX];
static union { struct hwt_rec_sched_switch sw; struct hwt_rec_irq_entry irq;
	struct hwt_rec_stream_lost lost; } rec[MAX];
static size_t nflow, nkernel;

static int start(void **state)
{
	(void)state;
	nflow = nkernel = 0;
	return 0;
}

static size_t add(unsigned type, uint64_t lo, uint64_t hi)
{
	flow[nflow] = (struct hwt_event){ .type = (uint16_t)type, .time = lo, .off = 10 * nflow,
		.cpu = CPU, .pid = HWT_NONE, .tid = HWT_NONE, .span = (uint32_t)(hi - lo) };
	return nflow++;
}

static size_t run(uint64_t lo, uint64_t hi)
{
	size_t i = add(HWT_EV_RANGE, lo, hi);

	flow[i].u.range.first = flow[i].u.range.last = PROGRAM;
	return i;
}

static void dark(uint64_t lo, uint64_t hi)
{
	add(HWT_EV_OFF, lo, hi);
	flow[add(HWT_EV_ON, lo, hi)].flags = HWT_F_RESUMED;
}

static void put(unsigned id, uint64_t time, int32_t cpu, int32_t tid, int32_t next)
{
	struct hwt_event *ev = &kernel[nkernel];
	size_t size = id == HWT_ID_sched_switch ? sizeof(rec->sw) :
		id == HWT_ID_irq_entry ? sizeof(rec->irq) : sizeof(rec->lost);

	memset(&rec[nkernel], 0, sizeof(rec[0]));
	rec[nkernel].sw.rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size,
		.version = 1 };
	if (id == HWT_ID_sched_switch)
		rec[nkernel].sw.next_pid = rec[nkernel].sw.next_tid = next;
	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = time, .cpu = cpu, .pid = tid,
		.tid = tid };
	ev->u.rec.id = id;
	ev->u.rec.data = &rec[nkernel++];
	ev->u.rec.size = (uint32_t)size;
}

static void irq(uint64_t time)
{
	put(HWT_ID_irq_entry, time, CPU, 7, 0);
}

static struct anchor_sum narrow(int32_t tid)
{
	struct anchor_book *book;
	struct anchor_sum sum;
	struct hwt_stream *s;
	size_t n = nflow;

	/* behind the end of trace anything may be */
	run(5000, 5010);
	nflow = n;
	n++;
	assert_int_equal(dark_book_new(&book, evlist(flow, n), evlist(kernel, nkernel), CPU,
				       tid), 0);
	sum = *anchor_book_sum(book);
	assert_int_equal(anchor_flow_new(&s, book, evlist(flow, n)), 0);
	assert_int_equal(hwt_stream_next(s, out, MAX), n);
	hwt_stream_close(s);
	return sum;
}

/* Before the first code, too. */
static size_t first(uint64_t lo, uint64_t hi)
{
	run(10, 20);
	return run(lo, hi);
}

static void is(size_t i, uint64_t lo, uint64_t hi)
{
	assert_int_equal(out[i].time, lo);
	assert_int_equal(out[i].time + out[i].span, hi);
}

/* A record whose time is vague: written when that was over at the latest, not before it began. */
static void test_vague(void **state)
{
	size_t a = first(100, 200), b;

	(void)state;
	dark(100, 200);
	b = run(100, 200);
	irq(140);
	kernel[0].span = 20;
	assert_int_equal(narrow(HWT_NONE).certain, 1);
	is(a, 100, 160);
	is(b, 140, 200);
}

/* Code, a dark time that may be anywhere from 100 to 200, code. */
static void test_one(void **state)
{
	size_t a = first(100, 200), b;

	(void)state;
	dark(100, 200);
	b = run(100, 200);
	irq(140);
	irq(150);
	assert_int_equal(narrow(HWT_NONE).certain, 2);
	is(a, 100, 140);
	is(b, 150, 200);
	/* of another CPU, and what nobody says the time of */
	start(NULL);
	a = first(100, 200);
	dark(100, 200);
	b = run(100, 200);
	put(HWT_ID_irq_entry, 150, CPU + 1, 7, 0);
	kernel[0].cpu = CPU + 1;
	irq(HWT_TIME_UNKNOWN);
	assert_int_equal(narrow(HWT_NONE).certain, 0);
	is(a, 100, 200);
	is(b, 100, 200);
}

static void test_several(void **state)
{
	size_t a = first(100, 200), b, c;

	(void)state;
	dark(100, 200);
	b = run(100, 200);
	dark(100, 200);
	c = run(100, 200);
	irq(150);
	assert_int_equal(narrow(HWT_NONE).possible, 1);
	is(a, 100, 150);
	is(b, 100, 200);	/* between both */
	is(c, 150, 200);
	/* one of them is over before: which it is, is known then */
	flow[2].span = flow[3].span = 20;
	assert_int_equal(narrow(HWT_NONE).certain, 1);
	is(a, 100, 150);
	is(b, 100, 150);
}

static void test_hole(void **state)
{
	size_t a = first(100, 200), b, c;

	(void)state;
	add(HWT_EV_GAP, 100, 200);
	b = run(100, 200);
	dark(150, 250);
	c = run(150, 250);
	irq(180);
	/* the kernel may have been where the hole is */
	assert_int_equal(narrow(HWT_NONE).possible, 1);
	is(a, 100, 200);
	is(b, 100, 200);
	is(c, 180, 250);
}

static void test_contradiction(void **state)
{
	size_t a;
	struct anchor_sum sum;

	(void)state;
	first(100, 110);
	dark(110, 200);
	a = run(110, 200);
	run(200, 210);
	run(300, 310);
	irq(150);
	irq(250);	/* it ran then */
	add(HWT_EV_OFF, 400, 410);
	sum = narrow(HWT_NONE);
	assert_int_equal(sum.contradictions, 1);
	assert_int_equal(sum.certain, 0);
	is(a, 110, 200);
	/* the kernel is traced, too: nothing is dark */
	kernel[1].time = 420;
	assert_int_equal(narrow(HWT_NONE).certain, 2);
	flow[4].u.range.last = UINT64_MAX - 4095;
	assert_int_equal(narrow(HWT_NONE).certain, 0);
	is(a, 110, 200);
}

static void test_threads(void **state)
{
	size_t a, b, c, d;

	(void)state;
	a = first(100, 110);
	dark(110, 200);
	b = run(110, 200);
	dark(210, 300);
	c = run(210, 300);
	dark(310, 400);
	d = run(310, 400);
	put(HWT_ID_sched_switch, 150, CPU, 7, 8);
	irq(250);
	irq(350);
	narrow(HWT_NONE);
	assert_int_equal(out[a].tid, HWT_NONE);
	assert_int_equal(out[b].tid, 8);
	assert_int_equal(out[c].tid, 8);
	assert_int_equal(out[d].tid, 8);
	/* somebody may have come and gone */
	put(HWT_ID_stream_lost, 360, CPU, HWT_NONE, 0);
	kernel[2] = kernel[3];
	kernel[2].time = 250;
	kernel[3] = kernel[1];
	kernel[3].time = 350;
	narrow(HWT_NONE);
	assert_int_equal(out[b].tid, 8);
	assert_int_equal(out[c].tid, HWT_NONE);
	assert_int_equal(out[d].tid, HWT_NONE);
}

/* A switch that is there, but whose instant nobody knows, is as good as lost. */
static void test_vague_switch(void **state)
{
	size_t b, c;

	(void)state;
	first(100, 110);
	dark(110, 200);
	b = run(110, 200);
	dark(210, 300);
	c = run(210, 300);
	put(HWT_ID_sched_switch, 150, CPU, 7, 8);
	irq(215);
	put(HWT_ID_sched_switch, 220, CPU, 8, 9);
	irq(250);
	narrow(HWT_NONE);
	assert_int_equal(out[c].tid, 9);
	kernel[2].span = HWT_SPAN_UNKNOWN;
	narrow(HWT_NONE);
	assert_int_equal(out[b].tid, 8);
	assert_int_equal(out[c].tid, HWT_NONE);
}

/* A switch that may be of more dark times than there is room for: behind each somebody may run. */
static void test_no_room(void **state)
{
	enum { TIMES = DARK_WINDOW + 100 };
	static struct hwt_event v[3 * TIMES + 8];
	struct anchor_book *book;
	struct hwt_stream *s;
	unsigned told = 0;
	size_t n;
	int k;

	(void)state;
	first(100, 110);
	dark(110, 200);
	n = nflow;
	memcpy(v, flow, n * sizeof(*v));
	for (unsigned i = 0; i < TIMES; i++)
		for (unsigned j = 0; j < 3; j++, n++) {
			v[n] = flow[j ? nflow + j - 3 : 0];
			v[n].time = 300;
			v[n].span = 100;
			v[n].off = 10 * n;
		}
	v[n] = flow[0];
	v[n].time = 5000;
	v[n].off = 10 * n;
	n++;
	put(HWT_ID_sched_switch, 150, CPU, 7, 8);
	put(HWT_ID_sched_switch, 350, CPU, 8, 9);
	assert_int_equal(dark_book_new(&book, evlist(v, n), evlist(kernel, nkernel), CPU,
				       HWT_NONE), 0);
	assert_int_equal(anchor_flow_new(&s, book, evlist(v, n)), 0);
	/* the first code behind the switch to 8 is before all that the other may be of */
	for (size_t at = 0; (k = hwt_stream_next(s, out, MAX)) > 0;)
		for (int i = 0; i < k; i++, at++)
			if (out[i].type == HWT_EV_RANGE && at > nflow)
				told += out[i].tid == 8;
	hwt_stream_close(s);
	assert_int_equal(told, 0);
}

static void test_thread_alone(void **state)
{
	size_t a = first(100, 900), b;

	(void)state;
	dark(100, 900);
	b = run(100, 900);
	put(HWT_ID_sched_switch, 200, CPU, 7, 8);
	put(HWT_ID_sched_switch, 300, CPU, 8, 9);	/* not about it */
	put(HWT_ID_sched_switch, 800, CPU + 1, 9, 7);
	assert_int_equal(narrow(7).certain, 2);
	is(a, 100, 200);
	is(b, 800, 900);
	assert_int_equal(out[b].tid, HWT_NONE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_vague, start),
		cmocka_unit_test_setup(test_one, start),
		cmocka_unit_test_setup(test_several, start),
		cmocka_unit_test_setup(test_hole, start),
		cmocka_unit_test_setup(test_contradiction, start),
		cmocka_unit_test_setup(test_threads, start),
		cmocka_unit_test_setup(test_vague_switch, start),
		cmocka_unit_test_setup(test_no_room, start),
		cmocka_unit_test_setup(test_thread_alone, start),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
