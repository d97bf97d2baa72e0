/* SPDX-License-Identifier: BSD-2-Clause */
/* Traces of a few bytes, written by hand: what is found, read, joined and told. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/kernel.h>
#include <hwtrace/uapi.h>

#include "hwtrace/source/ctf.h"
#include "tests/support/scratch.h"

#define TYPES "/* CTF 1.8 */\n" \
	"typealias integer { size = 8; align = 8; signed = false; } := u8;\n" \
	"typealias integer { size = 32; align = 8; signed = true; } := s32;\n" \
	"typealias integer { size = 64; align = 8; signed = true; } := s64;\n" \
	"typealias integer { size = 8; align = 8; signed = false; encoding = UTF8; } := chr;\n"
#define TRACE(uuid) "trace { major = 1; minor = 8; byte_order = le; uuid = \"" uuid "\"; };\n"
#define ID1 "01010101-0101-0101-0101-010101010101"
#define ID2 "02020202-0202-0202-0202-020202020202"
#define CLOCK(more) "clock { name = c; freq = 1000000000; " more " };\n" \
	"typealias integer { size = 64; align = 8; signed = false; map = clock.c.value; } := ts;\n"
#define STREAM "stream { event.header := struct { u8 id; ts timestamp; };\n" \
	"event.context := struct { s32 vpid; u8 cpu_id; }; };\n"
#define LTTNG "env { domain = \"kernel\"; hostname = \"host\"; kernel_release = \"5.10.0\"; };\n"
#define SWITCH "event { name = \"sched_switch\"; id = 1; fields := struct { chr prev_comm[16]; " \
	"s32 prev_tid; s32 prev_prio; s64 prev_state; chr next_comm[16]; s32 next_tid; " \
	"s32 next_prio; }; };\n"
#define OTHER "event { name = \"other\"; id = 2; fields := struct { u8 a; }; };\n"

static uint8_t bytes[4096];
static size_t len;

static void put(uint64_t v, unsigned n)
{
	memcpy(bytes + len, &v, n);
	len += n;
}

static void head(unsigned id, uint64_t time)
{
	put(id, 1);
	put(time, 8);
	put(77, 4);
	put(3, 1);
}

static void put_switch(uint64_t time, unsigned prev, unsigned next)
{
	head(1, time);
	put(0x61, 8);
	put(0, 8);
	put(prev, 4);
	put(20, 4);
	put(0, 8);
	put(0x62, 8);
	put(0, 8);
	put(next, 4);
	put(20, 4);
}

static void put_other(uint64_t time, unsigned a)
{
	head(2, time);
	put(a, 1);
}

static void write_trace(const char *dir, const char *meta)
{
	char name[128];

	snprintf(name, sizeof(name), "mkdir -p %s", dir);
	scratch_sh(name);
	snprintf(name, sizeof(name), "%s/metadata", dir);
	scratch_write(name, meta, strlen(meta));
	snprintf(name, sizeof(name), "%s/s", dir);
	scratch_write(name, bytes, len);
	len = 0;
}

static struct hwt_session *open_it(const char *name, int want, unsigned id)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_diag d = { .off = HWT_NO_OFF };
	struct hwt_session *s = NULL;
	int rc = hwt_session_open(&s, scratch(name), &o, &d);

	if (rc && d.id == E_CTF_NO_LIB)
		skip();
	if (rc != want || d.id != id)
		fail_msg("%s: %d, E%03u %s", name, rc, d.id, d.text);
	return s;
}

/* "TIME+SPAN pid tid name: text" of all kernel events. */
static void is(struct hwt_session *s, const char *want)
{
	static char got[8192];
	struct hwt_stream *st;
	struct hwt_event ev[3];
	struct hwt_diag d;
	char text[512];
	size_t at = 0;
	int n;

	got[0] = 0;
	assert_int_equal(hwt_session_kernel(s, &st, &d), 0);
	while ((n = hwt_stream_next(st, ev, 3)) > 0)
		for (int i = 0; i < n; i++) {
			assert_int_equal(ev[i].type, HWT_EV_RECORD);
			hwt_kernel_text(s, &ev[i], text, sizeof(text));
			at += (size_t)snprintf(got + at, sizeof(got) - at, "%lld+%d %d %d %s: %s\n",
					       (long long)ev[i].time, (int)ev[i].span, ev[i].pid,
					       ev[i].tid, hwt_kernel_name(s, &ev[i]), text);
			assert_int_equal(ev[i].off, HWT_NO_OFF);
		}
	assert_int_equal(n, 0);
	hwt_stream_close(st);
	assert_string_equal(got, want);
}

static void test_kernel(void **state)
{
	struct hwt_capture_info info;
	struct hwt_abi_value v;
	struct hwt_session *s;
	struct hwt_stream *st;
	struct hwt_event ev;
	struct hwt_diag d;

	put_other(100, 5);
	put_switch(200, 11, 12);
	put_other(300, 6);
	write_trace("kernel", TYPES TRACE(ID1) LTTNG CLOCK("offset = 1000;") STREAM SWITCH OTHER);
	s = open_it("kernel", 0, 0);
	/* who runs is known from the switch on; the number in a container is none of the machine */
	is(s, "1100+0 -1 -1 dirty:other: a=5 stream.vpid=77 stream.cpu_id=3\n"
	   "1200+0 -1 11 sched.switch: prev_tid=11 next_tid=12 prev_prio=120 "
	   "next_prio=120 prev_state=ready prev_comm=\"a\" next_comm=\"b\"\n"
	   "1300+0 -1 12 dirty:other: a=6 stream.vpid=77 stream.cpu_id=3\n");
	hwt_session_info(s, &info);
	assert_string_equal(info.host, "host");
	assert_string_equal(info.release, "5.10.0");
	assert_string_equal(info.clock, "c");
	assert_int_equal(info.nevents, 3);
	assert_int_equal(info.time_start, 1100);
	assert_int_equal(info.nbufs, 0);
	assert_null(hwt_session_note(s, 0));
	/* the container's own */
	assert_int_equal(hwt_session_events(s, &st, &d), 0);
	assert_int_equal(hwt_stream_next(st, &ev, 1), 1);
	assert_string_equal(hwt_event_name(s, &ev), "other");
	assert_int_equal(ev.cpu, 3);
	assert_int_equal(hwt_kernel_field(s, &ev, "a", &v), 1);
	assert_int_equal(v.u, 5);
	assert_int_equal(hwt_kernel_field(s, &ev, "b", &v), 0);
	assert_int_equal(hwt_stream_next(st, &ev, 1), 1);
	assert_string_equal(hwt_event_name(s, &ev), "sched_switch");
	assert_int_equal(hwt_kernel_field(s, &ev, "next_comm", &v), 1);
	assert_int_equal(v.n, 1);
	assert_memory_equal(v.p, "b", 1);
	/* not read to its end */
	hwt_stream_close(st);
	hwt_session_close(s);
}

/* Clocks from 1970 on are joined, clocks of one uuid too, others are not. */
static void test_clocks(void **state)
{
	struct hwt_session *s;

	put_other(5, 1);
	put_other(9, 2);
	write_trace("abs/a", TYPES TRACE(ID1) CLOCK("offset = 10; absolute = true;") STREAM OTHER);
	put_other(1, 3);
	write_trace("abs/b", TYPES TRACE(ID2) CLOCK("offset = 16; absolute = true; precision = 2;")
		    STREAM OTHER);
	s = open_it("abs", 0, 0);
	is(s, "15+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n"
	   "15+4 77 -1 dirty:other: a=3 stream.vpid=77 stream.cpu_id=3\n"
	   "19+0 77 -1 dirty:other: a=2 stream.vpid=77 stream.cpu_id=3\n");
	assert_null(hwt_session_note(s, 0));
	hwt_session_close(s);

	put_other(5, 1);
	write_trace("rel/a", TYPES TRACE(ID1) CLOCK("absolute = false; uuid = \"" ID1 "\";") STREAM
		    OTHER);
	put_other(1, 2);
	write_trace("rel/b", TYPES TRACE(ID2) CLOCK("absolute = false; uuid = \"" ID1 "\";") STREAM
		    OTHER);
	put_other(3, 3);
	write_trace("rel/c", TYPES TRACE("03030303-0303-0303-0303-030303030303")
		    CLOCK("absolute = false; uuid = \"" ID2 "\";") STREAM OTHER);
	s = open_it("rel", 0, 0);
	is(s, "1+0 77 -1 dirty:other: a=2 stream.vpid=77 stream.cpu_id=3\n"
	   "5+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n");
	assert_int_equal(hwt_session_note(s, 0)->diag.id, E_CTF_CLOCK);
	assert_non_null(strstr(hwt_session_note(s, 0)->diag.file, "rel/c/s"));
	hwt_session_close(s);
}

static void test_back(void **state)
{
	struct hwt_session *s;
	const struct hwt_note *n;

	put_other(5, 1);
	put_other(3, 2);
	put_other(4, 3);
	put_other(6, 4);
	write_trace("back", TYPES TRACE(ID1) CLOCK("") STREAM OTHER);
	s = open_it("back", 0, 0);
	is(s, "5+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n"
	   "5+-1 77 -1 dirty:other: a=2 stream.vpid=77 stream.cpu_id=3\n"
	   "5+-1 77 -1 dirty:other: a=3 stream.vpid=77 stream.cpu_id=3\n"
	   "6+0 77 -1 dirty:other: a=4 stream.vpid=77 stream.cpu_id=3\n");
	n = hwt_session_note(s, 0);
	assert_int_equal(n->diag.id, E_CTF_BACK);
	assert_string_equal(n->diag.text, "event 2 has the time 3 ns, and one before it 5");
	hwt_session_close(s);
}

static void test_damage(void **state)
{
	struct hwt_session *s;
	const struct hwt_note *n;
	struct hwt_stream *st;
	struct hwt_event ev[3];
	struct hwt_diag d;

	put_other(5, 1);
	head(9, 6);
	write_trace("damage", TYPES TRACE(ID1) CLOCK("") STREAM OTHER);
	s = open_it("damage", 0, 0);
	is(s, "5+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n"
	   "5+-1 -1 -1 stream.lost: cause=other event=0\n");
	/* among the container's own it is a hole */
	assert_int_equal(hwt_session_events(s, &st, &d), 0);
	assert_int_equal(hwt_stream_next(st, ev, 3), 2);
	assert_int_equal(ev[1].type, HWT_EV_GAP);
	assert_int_equal(ev[1].u.gap.cause, HWT_GAP_DAMAGED);
	assert_int_equal(ev[1].time, 5);
	assert_int_equal(ev[1].cpu, 3);
	hwt_stream_close(st);
	n = hwt_session_note(s, 0);
	assert_int_equal(n->diag.id, E_CTF_STREAM);
	assert_int_equal(n->severity, HWT_NOTE_CUT);
	assert_non_null(strstr(n->diag.file, "damage/s"));
	hwt_session_close(s);
	/* the description: file and line */
	write_trace("meta", "/* CTF 1.8 */\n\ntrace { major = 1; ] };\n");
	open_it("meta", -HWT_E_FORMAT, E_CTF_META);
	/* beside another one: a note */
	put_other(1, 1);
	write_trace("beside/a", TYPES TRACE(ID1) CLOCK("") STREAM OTHER);
	write_trace("beside/b", "/* CTF 1.8 */\ntrace {");
	s = open_it("beside", 0, 0);
	is(s, "1+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n");
	assert_int_equal(hwt_session_note(s, 0)->diag.id, E_CTF_META);
	assert_int_equal(hwt_session_note(s, 0)->diag.off, 14);
	hwt_session_close(s);
}

static void test_find(void **state)
{
	struct hwt_session *s;

	put_other(1, 1);
	write_trace("deep/x/y/z", TYPES TRACE(ID1) CLOCK("") STREAM OTHER);
	scratch_sh("mkdir -p deep/x/y/z/index/q none/at/all; echo >deep/file; "
		   "ln -s .. deep/x/loop; echo '/* CTF 1.8 */ trace {' >deep/x/y/z/index/metadata; "
		   "mkdir -p big; truncate -s 20M big/metadata");
	s = open_it("deep", 0, 0);
	is(s, "1+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n");
	hwt_session_close(s);
	s = open_it("deep/x/y/z/metadata", 0, 0);
	is(s, "1+0 77 -1 dirty:other: a=1 stream.vpid=77 stream.cpu_id=3\n");
	hwt_session_close(s);
	open_it("none", -HWT_E_FORMAT, 2);
	open_it("big", -HWT_E_FORMAT, E_CTF_LIMIT);
}

/* Fields of all classes, in this process: sanitizers and coverage see the library's side, too. */
static void test_fields(void **state)
{
	const char *dirs[] = { scratch("fields") };
	const struct ctf_job job = { .dirs = dirs, .ndirs = 1, .max_events = 1000 };
	int fd = memfd_create("messages", 0), log = memfd_create("log", 0);
	static union { struct ctf_msg m; uint8_t b[1 << 16]; } u;
	const struct ctf_msg *m;
	char text[512] = "";
	size_t at = 0;
	ssize_t n;

	if (!ctf_lib_here())
		skip();
	head(1, 7);
	put(5, 1);		/* enum without label */
	put(2, 1);		/* two labels */
	put(0xff, 1);		/* signed */
	put(1, 1);		/* variant: text */
	put(0x6968, 3);
	put(0x3f800000, 4);	/* 1.0 */
	put(0x4004000000000000, 8);	/* 2.5 */
	put(2, 1);
	put(0x0908, 2);
	put(0x21, 1);
	put(0, 1);
	write_trace("fields", TYPES TRACE(ID1) CLOCK("") STREAM
		    "env { number = 5; text = \"t\"; };\n"
		    "event { name = e; id = 1; context := struct { }; fields := struct {\n"
		    "enum : u8 { a = 1 } e0; enum : u8 { a = 2, b = 1 ... 3 } e2;\n"
		    "enum : integer { size = 8; signed = true; base = 16; } { m = -1 } es;\n"
		    "enum : u8 { num, str } tag; variant <tag> { u8 num; string str; } v;\n"
		    "floating_point { exp_dig = 8; mant_dig = 24; align = 8; } f;\n"
		    "floating_point { exp_dig = 11; mant_dig = 53; align = 8; } d;\n"
		    "u8 n; u8 seq[n]; struct { struct { integer { size = 8; base = 16; } x; } y; } "
		    "st[1]; struct { } none; string last; }; };\n");
	ctf_lib_run(&job, fd, log);
	n = pread(fd, u.b, sizeof(u.b), 0);
	assert_true(n > 0);
	for (; ctf_msg_whole(u.b + at, (size_t)n - at) > 0; at += m->size) {
		m = (const struct ctf_msg *)(const void *)(u.b + at);
		if (m->type == CTF_ERROR)
			fail_msg("%s", (const char *)(m + 1));
		if (m->type == CTF_EVENT)
			ctf_format(m, text, sizeof(text));
	}
	assert_int_equal(at, n);
	assert_string_equal(text, "e0=5 e2=\"a\"|\"b\"(2) es=\"m\"(-1) tag=\"str\"(1) v.str=\"hi\" "
			    "f=1 d=2.5 n=2 seq=[8, 9] st[0].y.x=0x21 none={} last=\"\" "
			    "stream.vpid=77 stream.cpu_id=3");
	close(fd);
	close(log);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel), cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_back), cmocka_unit_test(test_damage),
		cmocka_unit_test(test_find), cmocka_unit_test(test_fields),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
