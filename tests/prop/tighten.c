/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tasks that move between CPUs, simulated; each CPU's clock is known to a width of its own. Times
 * that orders narrow must hold the true ones, none may be wider, and they come out in order; a
 * clock that is not what was said is found.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/tighten.h"
#include "tests/support/evlist.h"

#define EVENTS	60000
#define CPUS	4
#define TASKS	12
#define TIDS	(EVENTS + TASKS)

struct row {
	const char *name;
	uint64_t width[CPUS];	/* ns */
	uint64_t step;		/* ns between events, about */
	unsigned lose;		/* events of 1000; it is said */
	int64_t skew;		/* of CPU 1, which nobody said */
	bool one;		/* all clocks are one, which two lines hold */
};

static const struct row rows[] = {
	{ .name = "one exact", .width = { 0, 20000, 20000, 20000 }, .step = 2000 },
	{ .name = "all as wide", .width = { 20000, 20000, 20000, 20000 }, .step = 2000 },
	{ .name = "10 ns to 1 ms", .width = { 10, 1000, 30000, 1000000 }, .step = 1000 },
	{ .name = "far apart", .width = { 10, 1000, 30000, 1000000 }, .step = 100000 },
	{ .name = "5 % lost", .width = { 10, 1000, 30000, 1000000 }, .step = 1000, .lose = 50 },
	{ .name = "one counter", .width = { 20000, 20000, 20000, 20000 }, .step = 2000,
	  .one = true },
	{ .name = "a wrong clock", .width = { 10, 1000, 1000, 1000 }, .step = 1000,
	  .skew = 100000 },
};

static struct hwt_event ev[EVENTS];
static union rec { struct hwt_rec_sched_switch sw; struct hwt_rec_sched_fork fork;
	struct hwt_rec_stream_lost lost; } rec[EVENTS];
static uint64_t truth[EVENTS], before[EVENTS], seed, reached[CPUS];
static size_t n;

static uint64_t rnd(uint64_t k)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % k;
}

static union rec *put(const struct row *row, uint64_t now, unsigned cpu, unsigned id, size_t size)
{
	uint64_t w = row->width[cpu], lo = now - (row->one ? w / 3 : rnd(w + 1));
	union rec *r = &rec[n];

	lo += cpu == 1 ? (uint64_t)row->skew : 0;
	lo = lo > reached[cpu] ? lo : reached[cpu];
	reached[cpu] = lo;
	memset(r, 0, sizeof(*r));
	r->sw.rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1 };
	ev[n] = (struct hwt_event){ .type = HWT_EV_RECORD, .time = lo, .span = (uint32_t)w,
		.cpu = (int32_t)cpu, .pid = HWT_NONE, .tid = HWT_NONE, .off = n };
	ev[n].u.rec.data = r;
	ev[n].u.rec.size = (uint32_t)size;
	ev[n].u.rec.id = id;
	truth[n++] = now;
	return r;
}

static int by_time(const void *a, const void *b)
{
	const struct hwt_event *x = a, *y = b;

	return x->time != y->time ? (x->time < y->time ? -1 : 1) : x->off < y->off ? -1 : 1;
}

static void simulate(const struct row *row)
{
	int32_t cur[CPUS] = { 0 }, task[TASKS];
	bool runs[TASKS] = { false };
	unsigned slot[CPUS];
	int32_t tids = TASKS;
	uint64_t now = 1u << 30;

	for (unsigned k = 0; k < TASKS; k++)
		task[k] = (int32_t)k + 1;
	memset(slot, 0, sizeof(slot));
	memset(reached, 0, sizeof(reached));
	n = 0;
	while (n < EVENTS - 2) {
		unsigned c = (unsigned)rnd(CPUS), k = (unsigned)rnd(TASKS);
		union rec *r;

		now += 1 + rnd(2 * row->step);
		if (runs[k] || rnd(1000) < row->lose) {
			if (!runs[k])
				put(row, now, c, HWT_ID_stream_lost, sizeof(r->lost));
			if (runs[k] || !cur[c])
				continue;
			/* a switch to the idle task that nobody sees */
			runs[slot[c]] = false;
			cur[c] = 0;
			continue;
		}
		/* a task has ended, and one that is new takes its place */
		if (!rnd(20) && cur[c]) {
			task[k] = ++tids;
			r = put(row, now, c, HWT_ID_sched_fork, sizeof(r->fork));
			r->fork.child_pid = r->fork.child_tid = task[k];
			now += 1 + rnd(row->step);
		}
		r = put(row, now, c, HWT_ID_sched_switch, sizeof(r->sw));
		r->sw.prev_tid = cur[c];
		if (cur[c])
			runs[slot[c]] = false;
		cur[c] = rnd(4) ? task[k] : 0;
		r->sw.next_tid = cur[c];
		runs[k] = cur[c] != 0;
		slot[c] = k;
	}
	qsort(ev, n, sizeof(ev[0]), by_time);
	for (size_t i = 0; i < n; i++)
		before[ev[i].off] = ev[i].time;
}

static void one(const struct row *row)
{
	struct tighten_stats st;
	struct hwt_event out[100];
	double was = 0, is = 0;
	struct hwt_stream *s;
	uint64_t last = 0;
	size_t got = 0;
	int m;

	simulate(row);
	assert_int_equal(tighten_new(&s, evlist(ev, n)), 0);
	while ((m = hwt_stream_next(s, out, 100)) > 0)
		for (int i = 0; i < m; i++, got++) {
			uint64_t k = out[i].off, hi = out[i].time + out[i].span;
			uint64_t w = row->width[out[i].cpu];

			assert_true(out[i].time >= last);
			last = out[i].time;
			assert_true(out[i].time >= before[k] && hi <= before[k] + w);
			if (!row->skew && (out[i].time > truth[k] || hi < truth[k]))
				fail_msg("%s: event %llu of CPU %d at %llu is not in %llu+%u",
					 row->name, (unsigned long long)k, out[i].cpu,
					 (unsigned long long)truth[k],
					 (unsigned long long)out[i].time, out[i].span);
			assert_int_equal(out[i].u.rec.id,
					 ((const struct hwt_rec *)out[i].u.rec.data)->id);
			was += (double)w;
			is += out[i].span;
		}
	assert_int_equal(m, 0);
	assert_int_equal(got, n);
	tighten_stats(s, &st);
	hwt_stream_close(s);
	printf("%s: %llu orders of two CPUs, %llu of %zu times narrower, mean width %.0f ns, now "
	       "%.0f; %llu windows contradict\n", row->name, (unsigned long long)st.edges,
	       (unsigned long long)st.narrowed, n, was / (double)n, is / (double)n,
	       (unsigned long long)st.contradictions);
	assert_int_equal(st.contradictions > 0, row->skew != 0);
	/* a session uses nothing of a capture in which anything contradicts */
	if (!row->skew)
		assert_int_equal(st.narrowed > 0, !row->one);
}

static void tighten(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++)
		for (uint64_t i = 1; i <= 3; i++) {
			seed = (i + 10 * k) * 0x9e3779b97f4a7c15 | 1;
			for (unsigned j = 0; j < 9; j++)
				rnd(2);
			one(&rows[k]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(tighten) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
