/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * trace.dat of both versions, byte orders and sizes of a long, put together by hand, and what is in
 * them. Recorded ones are compared with trace-cmd in tests/golden/ftrace.sh.
 * Longer than other files: one writer of files and one list of what is in them for all cases.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/source/ftrace.h"
#include "tests/support/mkftrace.h"
#include "tests/support/scratch.h"

#define G 1000000000ull

/* Pages with every kind of record: two CPUs, and an instance. */
static void fill(struct mkftrace *m)
{
	static const uint8_t unknown[8] = { 0xff, 0xff };
	uint8_t print[24] = { 0 };
	struct mkft_bytes args = { 0 };

	mkft_num(m, &args, (uint32_t)-3, 4);
	mkft_put(&args, "ab\0z", 4);
	mkft_num(m, &args, 77, m->long_size);
	mkft_num(m, &args, 0x1f, 4);
	print[m->big] = MKFT_PRINT;
	print[m->big ? 7 : 4] = 20;
	memcpy(print + 8 + m->long_size, "hi\n", 3);

	mkft_page(m, &m->cpu[0], 1000);
	mkft_switch(m, 5, 10, 20);
	mkft_bprint(m, 7, 20, MKFT_FMT, args.p, args.n);
	mkft_extend(m, 1ull << 30 | 3);
	mkft_long_record(m, 1, print, 8 + m->long_size + 4);
	mkft_page_end(m, false, false, 0);
	/* begins with an extended time; what was taken back counts for the time behind it */
	mkft_page(m, &m->cpu[0], 2 * G);
	mkft_extend(m, G);
	mkft_switch(m, 1, 20, 30);
	mkft_discarded(m, 50, 12);
	mkft_record(m, 9, unknown, 8);
	mkft_page_end(m, true, true, 7);
	mkft_page(m, &m->cpu[0], 4 * G);
	mkft_stamp(m, 4 * G + 500);
	mkft_switch(m, 0, 30, 0);
	mkft_page_end(m, true, false, 0);
	m->ncpus = 2;
	mkft_page(m, &m->cpu[1], 1006);
	mkft_switch(m, 0, 0, 11);
	mkft_page_end(m, false, false, 0);
	mkft_page(m, &m->instance_cpu, 3 * G);
	mkft_switch(m, 2, 1, 2);
	mkft_page_end(m, false, false, 0);
	m->instance = "inst";
	free(args.p);
}

struct want { uint64_t time, span; int cpu, tid; const char *name, *text; };

#define SWITCH(a, b) "prev_comm=t" #a " prev_pid=" #a " prev_prio=120 prev_state=1 next_comm=t" #b \
	" next_pid=" #b " next_prio=100"

static const struct want all[] = {
	{ 1005, 0, 0, 10, "sched:sched_switch", SWITCH(10, 20) },
	{ 1006, 0, 1, 0, "sched:sched_switch", SWITCH(0, 11) },
	{ 1012, 0, 0, 20, "ftrace:bprint",
	  "ip=0x81002000 fmt=0x81001000 text=\"n=-3 s=ab c=z    77|1f  |%\"" },
	{ 1016 + (1 << 30), 0, 0, 20, "ftrace:print", "ip=0x0 buf=hi." },
	{ 1016 + (1 << 30), 2 * G - 1016 - (1 << 30), 0, -1, "stream.lost",
	  "count=7 cause=provider event=0" },
	{ 3 * G + 1, 0, 0, 20, "sched:sched_switch", SWITCH(20, 30) },
	{ 3 * G + 2, 0, 0, 1, "sched:sched_switch", SWITCH(1, 2) },
	{ 3 * G + 60, 0, 0, 0, "unknown", "type=65535 bytes=ffff000000000000" },
	{ 3 * G + 60, G - 60, 0, -1, "stream.lost", "cause=provider event=0" },
	{ 4 * G + 500, 0, 0, 30, "sched:sched_switch", SWITCH(30, 0) },
};
#define NALL (sizeof(all) / sizeof(all[0]))

static int open_bytes(struct capture **out, const uint8_t *p, size_t n)
{
	struct hwt_diag d;
	struct file *f;
	int rc;

	assert_int_equal(capture_new(out), 0);
	assert_int_equal(file_mem(&f, "t.dat", p, n), 0);
	rc = source_ftrace.open(*out, f, "t.dat", NULL, &d);
	if (rc < 0 && !d.text[0])
		fail_msg("an error without words");
	return rc;
}

/* All events, @batch at a time; how many. */
static size_t same(struct capture *c, const struct want *want, size_t n, int batch)
{
	struct hwt_event ev[16];
	struct hwt_stream *s;
	char text[512];
	size_t k = 0;
	int got;

	assert_int_equal(c->events(c, &s, NULL), 0);
	while ((got = hwt_stream_next(s, ev, batch)) > 0)
		for (int i = 0; i < got; i++, k++) {
			if (k >= n)
				continue;
			c->event_text(c, &ev[i], text, sizeof(text));
			if (ev[i].time != want[k].time || ev[i].span != want[k].span ||
			    ev[i].cpu != want[k].cpu || ev[i].tid != want[k].tid ||
			    strcmp(c->event_name(c, &ev[i]), want[k].name) ||
			    strcmp(text, want[k].text))
				fail_msg("event %zu: %llu+%u cpu %d tid %d %s: %s", k,
					 (unsigned long long)ev[i].time, ev[i].span, ev[i].cpu,
					 ev[i].tid, c->event_name(c, &ev[i]), text);
		}
	assert_int_equal(got, 0);
	hwt_stream_close(s);
	return k;
}

static void file_of(unsigned version, bool big, unsigned long_size, enum mkft_pack pack)
{
	struct mkftrace m;
	struct capture *c;
	size_t n;
	uint8_t *p;

	mkft_init(&m, version, big, long_size);
	m.pack = pack;
	fill(&m);
	p = mkft_file(&m, &n);
	assert_int_equal(open_bytes(&c, p, n), 0);
	assert_int_equal(c->nevents, NALL);
	assert_int_equal(c->time_start, 1005);
	assert_string_equal(c->clock, "local");
	assert_int_equal(c->base, HWT_CLOCK_LOCAL);
	assert_string_equal(machine_comm(c->machine, 20), "a b");
	assert_int_equal(same(c, all, NALL, 16), NALL);
	assert_int_equal(same(c, all, NALL, 1), NALL);
	/* the losses are one note, the record of an unknown type another */
	assert_int_equal(c->notes.n, 2);
	assert_int_equal(c->notes.v[1].diag.id, 230);
	assert_int_equal(c->notes.v[0].diag.id, 46);
	assert_non_null(strstr(c->notes.v[0].diag.text, "2 places: more than 7"));
	capture_free(c);
	free(p);
	mkft_free(&m);
}

static void every_kind(void **state)
{
	for (unsigned big = 0; big < 2; big++)
		for (unsigned size = 4; size <= 8; size += 4) {
			file_of(6, big, size, MKFT_PLAIN);
			file_of(7, big, size, MKFT_PLAIN);
			file_of(7, big, size, MKFT_ZLIB);
			file_of(7, big, size, MKFT_ZSTD);
		}
}

/* The same as virtual events, with what the capture has left over. */
static void virtual_ones(void **state)
{
	static const char *const names[] = { "sched.switch", "sched.switch", "dirty:ftrace:bprint",
		"dirty:ftrace:print", "stream.lost", "sched.switch", "sched.switch",
		"dirty:unknown", "stream.lost", "sched.switch" };
	struct hwt_abi_value v;
	struct mkftrace m;
	struct capture *c;
	struct hwt_event ev[16];
	struct hwt_stream *s;
	size_t n;
	uint8_t *p;

	mkft_init(&m, 7, false, 8);
	fill(&m);
	p = mkft_file(&m, &n);
	assert_int_equal(open_bytes(&c, p, n), 0);
	assert_int_equal(c->kernel(c, &s, NULL), 0);
	assert_int_equal(hwt_stream_next(s, ev, 16), NALL);
	for (size_t i = 0; i < NALL; i++) {
		const struct hwt_abi_event *e = NULL;

		assert_int_equal(ev[i].type, HWT_EV_RECORD);
		if (ev[i].u.rec.id < HWT_ID_DIRTY) {
			assert_int_equal(hwt_abi_record(&e, ev[i].u.rec.data, ev[i].u.rec.size),
					 ev[i].u.rec.size);
			assert_string_equal(e->name, names[i]);
		} else {
			assert_string_equal(c->dirty_name(c, &ev[i]), names[i]);
		}
		assert_int_equal(ev[i].time, all[i].time);
	}
	assert_int_equal(c->dirty_field(c, &ev[3], "buf", &v), 1);
	assert_int_equal(v.n, 3);
	assert_memory_equal(v.p, "hi\n", 3);
	assert_int_equal(c->dirty_field(c, &ev[2], "ip", &v), 1);
	assert_int_equal(v.u, 0x81002000);
	assert_null(v.p);
	assert_int_equal(c->dirty_field(c, &ev[2], "none", &v), 0);
	assert_int_equal(c->dirty_field(c, &ev[7], "ip", &v), 0);
	hwt_stream_close(s);
	capture_free(c);
	free(p);
	mkft_free(&m);
}

/* One switch at @time of @clock, with options; where it is, and on which clock. */
static struct hwt_event one(unsigned version, const char *clock, uint64_t time,
			    const struct mkft_option *o, size_t no, const char *base)
{
	struct mkftrace m;
	struct capture *c;
	struct hwt_event ev;
	struct hwt_stream *s;
	size_t n;
	uint8_t *p;

	mkft_init(&m, version, false, 8);
	m.clock = clock;
	m.options = o;
	m.noptions = no;
	mkft_page(&m, &m.cpu[0], time);
	mkft_switch(&m, 0, 1, 2);
	mkft_page_end(&m, false, false, 0);
	p = mkft_file(&m, &n);
	assert_int_equal(open_bytes(&c, p, n), 0);
	assert_string_equal(c->clock, base);
	assert_int_equal(c->events(c, &s, NULL), 0);
	assert_int_equal(hwt_stream_next(s, &ev, 1), 1);
	hwt_stream_close(s);
	capture_free(c);
	free(p);
	mkft_free(&m);
	return ev;
}

static void clocks(void **state)
{
	/* mult 1 << 19, shift 20: half; offset 100, which trace-cmd report does not use */
	static const uint8_t half[16] = { 0, 0, 8, 0, 20, 0, 0, 0, 100 };
	static const struct mkft_option tsc = { 14, half, sizeof(half) };
	static const struct mkft_option offset = { 7, "1000", 5 }, hex = { 7, "0x10", 5 };
	static const struct mkft_option back = { 7, "-6000", 6 };
	static const struct mkft_option list = { 4, "local [mono] x86-tsc\n", 22 };
	struct hwt_event ev;

	for (unsigned v = 6; v <= 7; v++) {
		assert_int_equal(one(v, "mono", 5000, NULL, 0, "mono").time, 5000);
		assert_int_equal(one(v, "[boot]", 5000, NULL, 0, "boot").time, 5000);
		assert_int_equal(one(v, "local [global] x", 5000, NULL, 0, "global").time, 5000);
		assert_int_equal(one(v, "local", 5000, &offset, 1, "local").time, 6000);
		assert_int_equal(one(v, "local", 5000, &hex, 1, "local").time, 5016);
		assert_int_equal(one(v, "local", 6001, &back, 1, "local").time, 1);
		assert_int_equal(one(v, "local", 5000, &back, 1, "local").time, 0);
		assert_int_equal(one(v, "local", 5000, &list, 1, "local").time, 5000);
		ev = one(v, "x86-tsc", 5000, NULL, 0, "");
		assert_int_equal(ev.time, 5000);
		assert_int_equal(ev.clock, HWT_CLOCK_TSC);
		ev = one(v, "x86-tsc", 5000, &tsc, 1, "x86-tsc");
		assert_int_equal(ev.time, 2500);
		assert_int_equal(ev.clock, HWT_CLOCK_BASE);
		ev = one(v, "counter", 5, NULL, 0, "");
		assert_true(ev.time == HWT_TIME_UNKNOWN);
		assert_int_equal(ev.span, HWT_SPAN_UNKNOWN);
	}
}

/* Time that goes back: the order of the file stays, and it is said. */
static void backwards(void **state)
{
	struct mkftrace m;
	struct capture *c;
	struct hwt_event ev[4];
	struct hwt_stream *s;
	size_t n;
	uint8_t *p;

	mkft_init(&m, 6, false, 8);
	mkft_page(&m, &m.cpu[0], 1000);
	mkft_switch(&m, 0, 1, 2);
	mkft_page_end(&m, false, false, 0);
	mkft_page(&m, &m.cpu[0], 900);
	mkft_switch(&m, 0, 2, 3);
	mkft_switch(&m, 200, 3, 4);
	mkft_page_end(&m, false, false, 0);
	p = mkft_file(&m, &n);
	assert_int_equal(open_bytes(&c, p, n), 0);
	assert_int_equal(c->events(c, &s, NULL), 0);
	assert_int_equal(hwt_stream_next(s, ev, 4), 3);
	assert_int_equal(ev[1].time, 1000);
	assert_int_equal(ev[1].span, HWT_SPAN_UNKNOWN);
	assert_int_equal(ev[1].tid, 2);
	assert_int_equal(ev[2].time, 1100);
	assert_int_equal(ev[2].span, 0);
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].diag.id, 227);
	assert_int_equal(c->notes.v[0].diag.off, ev[1].off);
	hwt_stream_close(s);
	capture_free(c);
	free(p);
	mkft_free(&m);
}

/* Reads all that is there; the number of events. Times of a CPU never go back. */
static size_t drain(struct capture *c, bool kernel)
{
	struct hwt_event ev[8];
	struct hwt_stream *s;
	uint64_t last[4] = { 0 };
	char text[256];
	size_t k = 0;
	int got;

	assert_int_equal((kernel ? c->kernel : c->events)(c, &s, NULL), 0);
	while ((got = hwt_stream_next(s, ev, 8)) > 0)
		for (int i = 0; i < got; i++, k++) {
			c->event_name(c, &ev[i]);
			c->event_text(c, &ev[i], text, sizeof(text));
			if (ev[i].time == HWT_TIME_UNKNOWN || ev[i].clock || ev[i].cpu < 0 ||
			    ev[i].cpu > 3)
				continue;
			assert_true(ev[i].time >= last[ev[i].cpu]);
			last[ev[i].cpu] = ev[i].time;
		}
	assert_int_equal(got, 0);
	hwt_stream_close(s);
	return k;
}

/* @p in a block of its own size, so that a read past it is seen by a sanitizer. */
static size_t damaged(const uint8_t *p, size_t n, size_t *notes)
{
	uint8_t *copy = malloc(n ? n : 1);
	struct capture *c;
	size_t k = 0;

	assert_non_null(copy);
	memcpy(copy, p, n);
	*notes = 0;
	if (!open_bytes(&c, copy, n)) {
		k = drain(c, false);
		assert_int_equal(k, c->nevents);
		assert_int_equal(drain(c, true), k);
		*notes = c->notes.n;
	}
	capture_free(c);
	free(copy);
	return k;
}

static void damage(unsigned version, enum mkft_pack pack)
{
	static const uint8_t put[] = { 0x00, 0xff, 0x80, 0x01 };
	struct mkftrace m;
	size_t n, notes, before = 0, plain;
	uint8_t *p;

	mkft_init(&m, version, false, 8);
	m.pack = pack;
	fill(&m);
	p = mkft_file(&m, &n);
	plain = damaged(p, n, &notes);
	assert_int_equal(plain, NALL);
	/* the more is there, the more is read, and each cut but one in padding or behind is told */
	for (size_t i = 0; i < n; i++) {
		size_t k = damaged(p, i, &notes);

		if (k && !notes)
			fail_msg("cut at %zu of %zu: nothing is said", i, n);
		/* of version 7, what is cut has its description behind it */
		if (version == 6 && k < before && k + 2 < before)
			fail_msg("cut at %zu: %zu events, %zu before", i, k, before);
		before = k;
	}
	for (size_t i = 0; i < n; i++) {
		uint8_t old = p[i];

		p[i] = i % 4 == 3 ? old + 1 : put[i % 4];
		damaged(p, n, &notes);
		p[i] = old;
	}
	free(p);
	mkft_free(&m);
}

static void damage6(void **state)
{
	damage(6, MKFT_PLAIN);
}

static void damage7(void **state)
{
	damage(7, MKFT_PLAIN);
	damage(7, MKFT_ZSTD);
}

/* A page that says more than it has: what can be read is, and the rest counts as lost. */
static void bad_page(void **state)
{
	static const struct want want[] = {
		{ 1000, 0, 0, 1, "sched:sched_switch", SWITCH(1, 2) },
		{ 1000, 1000, 0, -1, "stream.lost", "cause=provider event=0" },
		{ 2000, 0, 0, 3, "sched:sched_switch", SWITCH(3, 4) },
	};
	struct mkftrace m;
	struct capture *c;
	size_t n;
	uint8_t *p;

	mkft_init(&m, 6, false, 8);
	mkft_page(&m, &m.cpu[0], 1000);
	mkft_switch(&m, 0, 1, 2);
	mkft_switch(&m, 0, 2, 3);
	mkft_page_end(&m, false, false, 0);
	m.cpu[0].p[16 + 64] ^= 15 ^ 28;	/* 28 words: past the end of what the page holds */
	mkft_page(&m, &m.cpu[0], 2000);
	mkft_switch(&m, 0, 3, 4);
	mkft_page_end(&m, false, false, 0);
	p = mkft_file(&m, &n);
	assert_int_equal(open_bytes(&c, p, n), 0);
	assert_int_equal(same(c, want, 3, 16), 3);
	assert_int_equal(c->notes.v[0].diag.id, 222);
	capture_free(c);
	free(p);
	mkft_free(&m);
}

static void refused(void **state)
{
	static const uint8_t v5[] = "\x17\x08\x44tracing5\0\0\x08\0\x10\0\0";
	struct capture *c;
	struct mkftrace m;
	size_t n;
	uint8_t *p;

	assert_int_equal(open_bytes(&c, v5, sizeof(v5)), -HWT_E_FORMAT);
	capture_free(c);
	assert_int_equal(open_bytes(&c, v5, 10), -HWT_E_FORMAT);
	capture_free(c);
	/* a chain of options that leads back to itself ends */
	mkft_init(&m, 7, false, 8);
	mkft_page(&m, &m.cpu[0], 1000);
	mkft_switch(&m, 0, 1, 2);
	mkft_page_end(&m, false, false, 0);
	p = mkft_file(&m, &n);
	memcpy(p + n - 8, p + 25, 8);
	assert_int_equal(open_bytes(&c, p, n), 0);
	assert_int_equal(c->nevents, 1);
	capture_free(c);
	free(p);
	mkft_free(&m);
}

/* As pages are saved from tracefs: two buffers, names, processes of tasks. */
static void directory(void **state)
{
	static const char header[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield: char data;\toffset:16;\tsize:240;\tsigned:1;\n";
	static const char format[] = "name: sched_switch\nID: 314\nformat:\n"
		"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n\n"
		"\tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;\n";
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_event ev[4];
	struct hwt_stream *s;
	struct hwt_diag d;
	struct mkftrace m;
	struct capture *c;

	mkft_init(&m, 6, false, 8);
	mkft_page(&m, &m.cpu[0], 1000);
	mkft_switch(&m, 0, 5, 2);
	mkft_page_end(&m, false, false, 0);
	scratch_sh("mkdir -p t/events/sched/sched_switch t/per_cpu/cpu11 t/per_cpu/cpu2 "
		   "t/instances/i/per_cpu/cpu0");
	assert_int_equal(source_open(&c, scratch("t"), &o, &d), -HWT_E_FORMAT);
	scratch_write("t/events/header_page", header, sizeof(header) - 1);
	scratch_write("t/events/sched/sched_switch/format", format, sizeof(format) - 1);
	scratch_write("t/trace_clock", "local [mono] boot\n", 18);
	scratch_write("t/saved_tgids", "5 4\n", 4);
	scratch_write("t/saved_cmdlines", "5 five\n", 7);
	scratch_write("t/uname", "Linux h 6.1.0 x86_64\n", 21);
	scratch_write("t/per_cpu/cpu11/trace_pipe_raw", m.cpu[0].p, m.cpu[0].n);
	scratch_write("t/per_cpu/cpu2/trace_pipe_raw", "", 0);
	scratch_write("t/instances/i/trace_clock", "[local] mono\n", 13);
	m.cpu[0].p[0]--;
	scratch_write("t/instances/i/per_cpu/cpu0/trace_pipe_raw", m.cpu[0].p, m.cpu[0].n);
	assert_int_equal(source_open(&c, scratch("t"), &o, &d), 0);
	assert_string_equal(c->format, "ftrace");
	assert_string_equal(c->clock, "mono");
	assert_string_equal(c->release, "6.1.0");
	assert_string_equal(machine_comm(c->machine, 5), "five");
	assert_int_equal(c->events(c, &s, &d), 0);
	assert_int_equal(hwt_stream_next(s, ev, 4), 2);
	assert_int_equal(ev[0].cpu, 11);
	assert_int_equal(ev[0].pid, 4);
	assert_int_equal(ev[0].tid, 5);
	assert_int_equal(ev[0].time, 1000);
	assert_int_equal(ev[0].clock, HWT_CLOCK_BASE);
	/* on another clock, which is said: behind all others, though its number is less */
	assert_int_equal(ev[1].cpu, 0);
	assert_int_equal(ev[1].clock, HWT_CLOCK_LOCAL);
	assert_true(ev[1].time < ev[0].time);
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].diag.id, 225);
	hwt_stream_close(s);
	capture_free(c);
	mkft_free(&m);
}

static void exec_record(struct mkftrace *m, uint32_t delta, int32_t tid)
{
	uint8_t p[16] = { 0x3b, 1 };	/* type 315 */

	memcpy(p + 4, &tid, 4);
	memcpy(p + 8, &tid, 4);
	memcpy(p + 12, &tid, 4);
	mkft_record(m, delta, p, sizeof(p));
}

static void save(struct mkftrace *m, unsigned i, const char *path)
{
	scratch_write(path, m->cpu[i].p, m->cpu[i].n);
}

/*
 * Two instances count what nobody knows: neither knows of what the others told of tasks, though
 * their numbers lie between one another's.
 */
static void unmarked_clocks(void **state)
{
	static const char header[] = "\tfield: u64 timestamp;\toffset:0;\tsize:8;\tsigned:0;\n"
		"\tfield: local_t commit;\toffset:8;\tsize:8;\tsigned:1;\n"
		"\tfield: char data;\toffset:16;\tsize:240;\tsigned:1;\n";
	static const char sw[] = "name: sched_switch\nID: 314\nformat:\n"
		"\tfield:pid_t prev_pid;\toffset:24;\tsize:4;\tsigned:1;\n"
		"\tfield:pid_t next_pid;\toffset:52;\tsize:4;\tsigned:1;\n";
	static const char ex[] = "name: sched_process_exec\nID: 315\nformat:\n"
		"\tfield:pid_t pid;\toffset:8;\tsize:4;\tsigned:1;\n"
		"\tfield:pid_t old_pid;\toffset:12;\tsize:4;\tsigned:1;\n";
	static const struct { int32_t prev, prev_pid, next, next_pid; } want[] = {
		{ 9, 9, 0, 0 }, { 9, -1, 8, -1 }, { 8, 8, 3, -1 }, { 8, -1, 9, -1 },
	};
	struct hwt_open_opts o = { .size = sizeof(o) };
	unsigned switches = 0;
	struct hwt_event ev;
	struct hwt_stream *s;
	struct hwt_diag d;
	struct mkftrace m;
	struct capture *c;

	mkft_init(&m, 6, false, 8);
	mkft_page(&m, &m.cpu[0], 1000);
	exec_record(&m, 0, 9);
	mkft_switch(&m, 1, 9, 0);
	mkft_page_end(&m, false, false, 0);
	mkft_page(&m, &m.cpu[1], 10);
	mkft_switch(&m, 0, 9, 8);
	exec_record(&m, 10, 8);
	mkft_switch(&m, 1, 8, 3);
	mkft_page_end(&m, false, false, 0);
	mkft_page(&m, &m.cpu[2], 30);
	mkft_switch(&m, 0, 8, 9);
	mkft_page_end(&m, false, false, 0);
	scratch_sh("mkdir -p u/events/sched/sched_switch u/events/sched/sched_process_exec "
		   "u/per_cpu/cpu0 u/instances/a/per_cpu/cpu0 u/instances/b/per_cpu/cpu0");
	scratch_write("u/events/header_page", header, sizeof(header) - 1);
	scratch_write("u/events/sched/sched_switch/format", sw, sizeof(sw) - 1);
	scratch_write("u/events/sched/sched_process_exec/format", ex, sizeof(ex) - 1);
	scratch_write("u/trace_clock", "[mono]\n", 7);
	scratch_write("u/instances/a/trace_clock", "[counter]\n", 10);
	scratch_write("u/instances/b/trace_clock", "[other]\n", 8);
	save(&m, 0, "u/per_cpu/cpu0/trace_pipe_raw");
	save(&m, 1, "u/instances/a/per_cpu/cpu0/trace_pipe_raw");
	save(&m, 2, "u/instances/b/per_cpu/cpu0/trace_pipe_raw");
	assert_int_equal(source_open(&c, scratch("u"), &o, &d), 0);
	assert_int_equal(c->kernel(c, &s, &d), 0);
	while (hwt_stream_next(s, &ev, 1) == 1) {
		const struct hwt_rec_sched_switch *r = ev.u.rec.data;

		if (ev.u.rec.id != HWT_ID_sched_switch)
			continue;
		assert_true(switches < 4);
		assert_int_equal(r->prev_tid, want[switches].prev);
		assert_int_equal(r->prev_pid, want[switches].prev_pid);
		assert_int_equal(r->next_tid, want[switches].next);
		assert_int_equal(r->next_pid, want[switches++].next_pid);
	}
	assert_int_equal(switches, 4);
	hwt_stream_close(s);
	capture_free(c);
	mkft_free(&m);
}

/*
 * A table that gives all CPUs the same bytes would make as many walks over one file: up to twice
 * its size is read. 1000 CPUs of version 6, whose table follows its 10 bytes "flyrecord".
 */
static void shared_data(void **state)
{
	static const uint8_t text[] = "flyrecord";
	struct mkftrace m;
	struct capture *c;
	uint8_t *p, *at, *big;
	size_t n, head, data;

	mkft_init(&m, 6, false, 8);
	for (unsigned i = 0; i < 16; i++) {
		mkft_page(&m, &m.cpu[0], 1000);
		mkft_switch(&m, 0, 5, 2);
		mkft_page_end(&m, false, false, 0);
	}
	p = mkft_file(&m, &n);
	at = memmem(p, n, text, sizeof(text));
	assert_non_null(at);
	head = (size_t)(at - p) + sizeof(text);
	data = m.cpu[0].n;
	big = calloc(1, head + 16000 + data);
	assert_non_null(big);
	memcpy(big, p, head);
	/* "options  " and an option of the clock may stand between the number and the table */
	at = memmem(big, head, "options  ", 10);
	at = at ? at - 4 : big + head - sizeof(text) - 4;
	assert_int_equal(at[0], 1);
	at[0] = 1000 & 0xff;
	at[1] = 1000 >> 8;
	for (size_t i = 0; i < 1000; i++) {
		uint64_t where[2] = { head + 16000, data };

		memcpy(big + head + 16 * i, where, 16);
	}
	memcpy(big + head + 16000, m.cpu[0].p, data);
	assert_int_equal(open_bytes(&c, big, head + 16000 + data), 0);
	assert_in_range(c->nevents, 16, 2 * (head + 16000 + data) / MKFT_PAGE);
	/* another one is about the clock, whose name is empty */
	assert_int_equal(c->notes.v[0].diag.id, 221);
	capture_free(c);
	free(big);
	free(p);
	mkft_free(&m);
}

/* lib/vsprintf.c: vbin_printf() stores arguments, by size, at multiples of 4 at most. */
static void printk_formats(void **state)
{
	static const uint8_t args[] = { 0xff, 0, 0xfe, 0xff, 3, 0, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1,
		'f', 'n', 0, 0, 0x10, 0, 0, 0, 0, 0, 0, 0x80 };
	struct printk *k;
	char text[256];

	assert_int_equal(printk_new(&k, "0x10 : \"a\\\\b\\\"\\n\\t\"\nno\n"
				    "0xffffffff00000001 : \"\"", 47), 0);
	assert_string_equal(printk_format(k, 0x10), "a\\b\"\n\t");
	assert_string_equal(printk_format(k, 0xffffffff00000001), "");
	assert_null(printk_format(k, 0x11));
	printk_free(k);
	/* a byte, a short behind a gap, a width from an argument, 8 bytes, text, a pointer */
	printk_text(text, sizeof(text), "%hhd %hd %*llx %pI4 %pS", args, sizeof(args), false, 8);
	assert_string_equal(text, "-1 -2 102030405060708 fn 0x8000000000000010");
	printk_text(text, sizeof(text), "%+05d|%-5s|%.1s|%#x %d", (const uint8_t *)
		    "\x07\0\0\0ab\0cd\0\0\0\x1f\0\0\0", 16, false, 8);
	assert_string_equal(text, "+0007|ab   |c|0x1f ?");
	printk_text(text, sizeof(text), "%", NULL, 0, false, 8);
	assert_string_equal(text, "");
	printk_text(text, 4, "abcdef", NULL, 0, false, 8);
	assert_string_equal(text, "abc");
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(every_kind), cmocka_unit_test(virtual_ones),
		cmocka_unit_test(clocks), cmocka_unit_test(backwards), cmocka_unit_test(damage6),
		cmocka_unit_test(damage7), cmocka_unit_test(bad_page), cmocka_unit_test(refused),
		cmocka_unit_test(directory), cmocka_unit_test(unmarked_clocks),
		cmocka_unit_test(shared_data),
		cmocka_unit_test(printk_formats),
	};

	return cmocka_run_group_tests(t, scratch_make, scratch_drop);
}
