/* SPDX-License-Identifier: BSD-2-Clause */
/* Records written byte by byte from linux/perf_event.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

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

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test(wide), cmocka_unit_test(narrow), cmocka_unit_test(damage),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
