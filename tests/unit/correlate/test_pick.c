/* SPDX-License-Identifier: BSD-2-Clause */
/* Which events take part in a timeline, by records put together by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/pick.h"

struct fake {
	struct hwt_stream s;
	const struct hwt_event *ev;
	int n, batch, closed;
};

static int fake_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct fake *f = hwt_container_of(s, struct fake, s);
	int n = f->n < max ? f->n : max;

	n = n < f->batch ? n : f->batch;
	memcpy(ev, f->ev, (size_t)n * sizeof(*ev));
	f->ev += n;
	f->n -= n;
	return n;
}

static void fake_close(struct hwt_stream *s)
{
	hwt_container_of(s, struct fake, s)->closed++;
}

static const struct hwt_stream_ops fake_ops = { fake_next, fake_close };

#define EVENTS	6
static struct hwt_rec_sched_switch sw;
static struct hwt_rec_sched_wakeup wake;
static struct hwt_rec_softirq_entry soft;
static struct hwt_event in[EVENTS];

static struct hwt_rec head(unsigned id, size_t size, int32_t tid)
{
	return (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1,
		.pid = tid, .tid = tid };
}

static struct hwt_event record(uint64_t time, uint32_t span, int32_t cpu, const void *rec)
{
	const struct hwt_rec *r = rec;

	return (struct hwt_event){ .time = time, .span = span, .type = HWT_EV_RECORD, .cpu = cpu,
		.pid = r->pid, .tid = r->tid,
		.u.rec = { .data = rec, .size = r->size, .id = r->id } };
}

static int setup(void **state)
{
	memset(&sw, 0, sizeof(sw));
	memset(&wake, 0, sizeof(wake));
	memset(&soft, 0, sizeof(soft));
	sw.rec = head(HWT_ID_sched_switch, sizeof(sw), 10);
	sw.prev_pid = sw.prev_tid = 10;
	sw.next_pid = sw.next_tid = 20;
	wake.rec = head(HWT_ID_sched_wakeup, sizeof(wake), 20);
	wake.wake_pid = wake.wake_tid = 30;
	soft.rec = head(HWT_ID_softirq_entry, sizeof(soft), 30);
	in[0] = record(100, 0, 0, &sw);
	in[1] = record(200, 50, 1, &wake);
	in[2] = record(300, 0, 0, &soft);
	in[3] = record(400, HWT_SPAN_UNKNOWN, 1, &soft);
	/* of this capture only */
	in[4] = record(500, 0, 0, &soft);
	in[4].u.rec.id = HWT_ID_DIRTY + 1;
	in[4].u.rec.data = "what only its reader knows";
	in[4].tid = in[4].pid = 10;
	in[5] = record(HWT_TIME_UNKNOWN, 0, 0, &wake);
	return 0;
}

/* Numbers of the events that are kept, one digit each. */
static const char *kept(const struct hwt_interest *want, const struct hwt_filter *filter, int batch)
{
	struct fake f = { .s = { &fake_ops, "fake" }, .ev = in, .n = EVENTS, .batch = batch };
	static char text[EVENTS + 1];
	struct hwt_event ev[EVENTS];
	struct hwt_stream *p;
	int n, k = 0, calls = 0;

	assert_int_equal(pick_kernel_new(&p, want, filter, &f.s), 0);
	while ((n = hwt_stream_next(p, ev, EVENTS)) > 0) {
		calls++;
		for (int i = 0; i < n; i++) {
			/* progress, and only where all is dropped */
			if (ev[i].type == HWT_EV_NONE)
				assert_int_equal(n, 1);
			else
				text[k++] = (char)('0' + ev[i].u.rec.number);
		}
	}
	assert_int_equal(n, 0);
	/* each batch of upstream is heard of */
	assert_int_equal(calls, (EVENTS + batch - 1) / batch);
	hwt_stream_close(p);
	assert_int_equal(f.closed, 1);
	text[k] = 0;
	return text;
}

static void test_kernel(void **state)
{
	static const int32_t cpu1[] = { 1 }, tid20[] = { 20 }, tid30[] = { 30, 99 };
	struct hwt_interest all = HWT_INTEREST_ALL, w;

	for (int batch = 1; batch <= EVENTS; batch += 2) {
		assert_string_equal(kept(&all, NULL, batch), "123456");
		w = all;
		w.cpus = cpu1;
		w.ncpus = 1;
		assert_string_equal(kept(&w, NULL, batch), "24");
		w = all;
		w.tids = tid20;
		w.ntids = 1;
		/* the switch is about it, the wakeups are by it */
		assert_string_equal(kept(&w, NULL, batch), "126");
		w.tids = tid30;
		w.ntids = 2;
		/* woken, and what it does itself */
		assert_string_equal(kept(&w, NULL, batch), "2346");
		w = all;
		w.time_lo = 230;
		w.time_hi = 300;
		/* an interval that reaches into the window; one without time may lie in it */
		assert_string_equal(kept(&w, NULL, batch), "236");
		w.time_lo = 420;
		w.time_hi = HWT_TIME_UNKNOWN;
		assert_string_equal(kept(&w, NULL, batch), "456");
	}
}

static void test_filter(void **state)
{
	struct hwt_interest all = HWT_INTEREST_ALL;
	struct hwt_filter *f;

	assert_int_equal(hwt_filter_new(&f, "sched.switch where next_tid == 20, softirq.*", NULL),
			 0);
	assert_string_equal(kept(&all, f, 2), "134");
	hwt_filter_free(f);
	assert_int_equal(hwt_filter_new(&f, "sched.switch where next_tid == 21", NULL), 0);
	assert_string_equal(kept(&all, f, 2), "");
	hwt_filter_free(f);
}

static void test_flow(void **state)
{
	static const struct hwt_event flow[] = {
		{ .type = HWT_EV_RANGE, .cpu = 0, .off = 1 },
		{ .type = HWT_EV_SCHED_SWITCH, .cpu = 0, .off = 2 },
		{ .type = HWT_EV_GAP, .cpu = HWT_NONE, .off = 3 },
		{ .type = HWT_EV_GAP, .cpu = 1, .off = 4 },
	};
	static const struct { bool switches, shared; const char *want; } cases[] = {
		{ true, true, "1234" }, { false, true, "134" }, { true, false, "124" },
		{ false, false, "14" },
	};

	for (unsigned c = 0; c < 4; c++) {
		struct fake f = { .s = { &fake_ops, "fake" }, .ev = flow, .n = 4, .batch = 4 };
		struct hwt_event ev[4];
		struct hwt_stream *p;
		char text[8] = "";
		int n;

		assert_int_equal(pick_flow_new(&p, cases[c].switches, cases[c].shared, &f.s), 0);
		n = hwt_stream_next(p, ev, 4);
		for (int i = 0; i < n; i++)
			text[i] = (char)('0' + ev[i].off);
		assert_string_equal(text, cases[c].want);
		hwt_stream_close(p);
		assert_int_equal(f.closed, 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(test_kernel, setup),
		cmocka_unit_test_setup(test_filter, setup),
		cmocka_unit_test(test_flow),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
