/* SPDX-License-Identifier: BSD-2-Clause */
/* Records written byte by byte from linux/perf_event.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/source/lldb.h"

static uint8_t buf[1024];
static size_t n;

static void put(uint64_t v, unsigned bytes)
{
	memcpy(buf + n, &v, bytes);
	n += bytes;
}

static void head(unsigned type, unsigned misc, unsigned size)
{
	put(type, 4);
	put(misc, 2);
	put(size, 2);
}

static void two(uint32_t pid, uint32_t tid)
{
	put(pid, 4);
	put(tid, 4);
}

static struct lldb_switches w;
static struct lldb_switch s;

static void start(void)
{
	uint8_t *p = malloc(n ? n : 1);	/* exact size for the sanitizer; freed by stop() */

	memcpy(p, buf, n);
	lldb_switches_init(&w, p, n, 3);
}

static void stop(void)
{
	free((void *)w.cur.start);
	n = 0;
}

static void is(uint64_t time, int32_t prev, int32_t next, uint64_t off)
{
	assert_int_equal(lldb_switches_next(&w, &s), 1);
	assert_int_equal(s.time, time);
	assert_int_equal(s.prev_tid, prev);
	assert_int_equal(s.tid, next);
	assert_int_equal(s.off, off);
}

static void wide(void **state)
{
	head(15, 0x6000, 32);	/* out, preempted: 20 goes, 11 comes */
	two(10, 11);
	two(20, 20);
	put(100, 8);
	head(15, 0, 32);	/* in: 20 went, 11 is here; nothing new */
	two(20, 20);
	two(10, 11);
	put(101, 8);
	head(99, 0, 16);	/* unknown record */
	put(0, 8);
	head(15, 0x2000, 40);	/* with CPU in the trailer; idle comes */
	two(0, 0);
	two(10, 11);
	put(200, 8);
	put(3, 8);
	head(2, 0, 40);		/* LOST: id, count, then the trailer */
	put(7, 8);
	put(5, 8);
	two(10, 11);
	put(300, 8);
	head(15, 0, 32);
	two(0xffffffff, 0xffffffff);
	two(30, 31);
	put(400, 8);
	start();
	is(100, 20, 11, 0);
	assert_int_equal(s.flags, HWT_F_PREEMPT);
	assert_int_equal(s.pid, 10);
	is(200, 11, 0, 80);
	assert_int_equal(s.flags, 0);
	is(300, 0, HWT_NONE, 120);
	is(400, HWT_NONE, 31, 160);
	assert_int_equal(s.pid, 30);
	assert_int_equal(lldb_switches_next(&w, &s), 0);
	assert_null(w.bad);
	stop();
}

/* SWITCH does not tell who comes: not known until the next "in" */
static void narrow(void **state)
{
	head(14, 0, 24);
	two(5, 6);
	put(1, 8);
	head(14, 0x2000, 24);
	two(5, 6);
	put(2, 8);
	head(14, 0, 24);
	two(5, 7);
	put(3, 8);
	start();
	is(1, HWT_NONE, 6, 0);
	is(2, 6, HWT_NONE, 24);
	is(3, HWT_NONE, 7, 48);
	assert_int_equal(lldb_switches_next(&w, &s), 0);
	stop();
}

static void damage(void **state)
{
	static const uint16_t bad_size[] = { 0, 7 };

	for (unsigned i = 0; i < 2; i++) {
		head(15, 0, bad_size[i]);
		put(0, 8);
		start();
		assert_int_equal(lldb_switches_next(&w, &s), 0);
		assert_non_null(w.bad);
		assert_false(w.cut);
		stop();
	}
	for (size_t cut = 1; cut < 32; cut++) {
		head(15, 0, 32);
		two(1, 2);
		two(3, 4);
		put(9, 8);
		n = cut;
		start();
		assert_int_equal(lldb_switches_next(&w, &s), 0);
		assert_non_null(w.bad);
		assert_true(w.cut);
		stop();
	}
	/* too short for what its type says: skipped */
	head(15, 0, 16);
	put(0, 8);
	start();
	assert_int_equal(lldb_switches_next(&w, &s), 0);
	assert_null(w.bad);
	stop();
}

/* The bytes so far, from @from on, which stay where they are. */
static struct file *file_of(size_t from)
{
	struct file *f;

	assert_int_equal(file_mem(&f, "switches", buf + from, n - from), 0);
	return f;
}

/* Two CPUs in order of time, as virtual events; a LOST is no switch. */
static void as_events(void **state)
{
	struct lldb_switch_file v[2] = { { .cpu = 4, .buf = 0 }, { .cpu = 6, .buf = 1 } };
	struct lldb_switch_list list = { v, 2 };
	const struct hwt_rec_sched_switch *sw[3];
	const struct hwt_rec_stream_lost *lost;
	struct hwt_event ev[9];
	struct hwt_stream *st;
	struct capture *c;
	size_t from;

	head(15, 0x6000, 32);	/* 20 goes, though it could run on; 11 comes */
	two(10, 11);
	two(20, 21);
	put(100, 8);
	head(2, 0, 40);
	put(7, 8);
	put(5, 8);		/* records lost */
	two(10, 11);
	put(300, 8);
	v[0].f = file_of(0);
	from = n;
	head(15, 0x2000, 32);
	two(0, 0);
	two(30, 30);
	put(200, 8);
	head(14, 0, 24);
	two(40, 41);
	put(400, 8);
	v[1].f = file_of(from);
	n = 0;
	assert_int_equal(capture_new(&c), 0);
	c->priv = &list;
	assert_int_equal(lldb_kernel(c, &st, NULL), 0);
	assert_int_equal(hwt_stream_next(st, ev, 9), 4);
	for (int i = 0; i < 4; i++) {
		assert_int_equal(ev[i].type, HWT_EV_RECORD);
		assert_int_equal(ev[i].time, 100 * (i + 1));
		assert_int_equal(ev[i].cpu, i % 2 ? 6 : 4);
		assert_int_equal(ev[i].src, i % 2);
		assert_int_equal(ev[i].u.rec.id, i == 2 ? HWT_ID_stream_lost : HWT_ID_sched_switch);
	}
	sw[0] = ev[0].u.rec.data;
	sw[1] = ev[1].u.rec.data;
	sw[2] = ev[3].u.rec.data;
	lost = ev[2].u.rec.data;
	assert_int_equal(sw[0]->prev_pid, 20);
	assert_int_equal(sw[0]->prev_tid, 21);
	assert_int_equal(sw[0]->next_pid, 10);
	assert_int_equal(sw[0]->next_tid, 11);
	assert_int_equal(sw[0]->prev_state, HWT_task_state_ready);
	assert_int_equal(sw[1]->prev_tid, 30);
	assert_int_equal(sw[1]->next_tid, 0);
	assert_int_equal(sw[1]->prev_state, UINT32_MAX);
	assert_int_equal(sw[2]->next_pid, 40);
	assert_int_equal(sw[2]->next_tid, 41);
	assert_int_equal(lost->count, 5);
	assert_int_equal(ev[2].off, 32);
	assert_int_equal(hwt_stream_next(st, ev, 9), 0);
	hwt_stream_close(st);
	/* the reader's own events: who runs is not known after it */
	assert_int_equal(lldb_events(c, &st, NULL), 0);
	assert_int_equal(hwt_stream_next(st, ev, 9), 4);
	assert_int_equal(ev[2].type, HWT_EV_SCHED_SWITCH);
	assert_int_equal(ev[2].u.sched.prev_tid, 11);
	assert_int_equal(ev[2].u.sched.next_tid, HWT_NONE);
	hwt_stream_close(st);
	c->priv = NULL;
	capture_free(c);
	file_close((struct file *)v[0].f);
	file_close((struct file *)v[1].f);
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(wide), cmocka_unit_test(narrow), cmocka_unit_test(damage),
		cmocka_unit_test(as_events),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
