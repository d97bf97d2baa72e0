/* SPDX-License-Identifier: BSD-2-Clause */
/* Records of a perf.data by hand, and the virtual events that they are by events.def's words. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "hwtrace/source/capture.h"
#include "hwtrace/source/perf.h"
#include "tests/support/mkperf.h"

static struct mkperf m;
static uint8_t *bytes;	/* of the open capture */

static struct capture *capture(void)
{
	struct hwt_diag d = { 0 };
	struct capture *c;
	struct file *f;
	size_t n;

	bytes = mkperf_file(&m, &n);
	assert_int_equal(capture_new(&c), 0);
	assert_int_equal(file_mem(&f, "t.data", bytes, n), 0);
	/* the file has no trace: that is the reader's error, its events are there */
	source_perf.open(c, f, "t.data", NULL, &d);
	return c;
}

static void start(void)
{
	mkperf_init(&m, false);
	mkperf_feature_str(&m, 4, "6.1.0");
	mkperf_feature_str(&m, 6, "x86_64");
}

/* Everything that comes, one event a line: "time cpu pid/tid name fields". */
static void expect(const char *want)
{
	static char got[65536];
	struct capture *c = capture();
	const struct hwt_abi_event *e;
	struct hwt_event ev[7];
	struct hwt_stream *s;
	size_t n = 0;
	int k;

	got[0] = 0;
	assert_non_null(c->kernel);
	assert_int_equal(c->kernel(c, &s, NULL), 0);
	while ((k = hwt_stream_next(s, ev, 7)) > 0)
		for (int i = 0; i < k; i++) {
			assert_int_equal(ev[i].type, HWT_EV_RECORD);
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%llu %d %d/%d ",
					      (unsigned long long)ev[i].time, ev[i].cpu,
					      ev[i].pid, ev[i].tid);
			if (ev[i].u.rec.id >= HWT_ID_DIRTY) {
				n += (size_t)snprintf(got + n, sizeof(got) - n, "%s\n",
						      c->dirty_name(c, &ev[i]));
				continue;
			}
			assert_int_equal(hwt_abi_record(&e, ev[i].u.rec.data, ev[i].u.rec.size),
					 ev[i].u.rec.size);
			n += (size_t)snprintf(got + n, sizeof(got) - n, "%s ", e->name);
			n += hwt_abi_format(got + n, sizeof(got) - n, e, ev[i].u.rec.data);
			got[n++] = '\n';
			got[n] = 0;
		}
	assert_int_equal(k, 0);
	hwt_stream_close(s);
	capture_free(c);
	free(bytes);
	mkperf_free(&m);
	assert_string_equal(got, want);
}

static void at(uint64_t time, uint32_t cpu, uint32_t pid, uint32_t tid)
{
	m.time = time;
	m.cpu = cpu;
	m.pid = pid;
	m.tid = tid;
}

/* Who goes tells both; who comes is told only if nobody told that it would. */
static void switches(void **state)
{
	start();
	at(1000, 1, 10, 11);
	mkperf_switch_wide(&m, true, 20, 21);
	at(1001, 1, 20, 21);
	mkperf_switch_wide(&m, false, 10, 11);
	at(1002, 2, 30, 30);
	mkperf_switch_wide(&m, false, 40, 41);
	/* of one task: the other one is not known */
	at(1003, 3, 50, 51);
	mkperf_switch(&m, true);
	at(1004, 3, 50, 51);
	mkperf_switch(&m, false);
	expect("1000 1 10/11 sched.switch prev_pid=10 prev_tid=11 next_pid=20 next_tid=21 "
	       "preempted=no\n"
	       "1001 1 20/21 dirty:switch_again\n"
	       "1002 2 40/41 sched.switch prev_pid=40 prev_tid=41 next_pid=30 next_tid=30\n"
	       "1003 3 50/51 sched.switch prev_pid=50 prev_tid=51 preempted=no\n"
	       "1004 3 -1/-1 sched.switch next_pid=50 next_tid=51\n");
}

static void tasks(void **state)
{
	start();
	at(1000, 0, 10, 10);
	mkperf_comm(&m, "a name", false);
	mkperf_comm(&m, "prog", true);
	at(1001, 0, 77, 78);
	mkperf_task(&m, 7, 0, 10, 11);
	mkperf_task(&m, 4, 0, 10, 11);
	mkperf_itrace_start(&m);
	/* made up of /proc, before the recording: no event */
	at(0, 0, 99, 99);
	mkperf_comm(&m, "old", false);
	mkperf_mmap2(&m, 0x1000, 0x1000, 0, 5, "/old");
	expect("1000 0 10/10 sched.comm task_pid=10 task_tid=10 comm=\"a name\"\n"
	       "1000 0 10/10 sched.comm task_pid=10 task_tid=10 comm=\"prog\"\n"
	       "1000 0 10/10 sched.exec task_pid=10 task_tid=10\n"
	       "1001 0 77/78 sched.fork parent_pid=10 parent_tid=11 child_pid=77 child_tid=78\n"
	       "1001 0 77/78 sched.exit task_pid=77 task_tid=78\n"
	       "1001 0 77/78 dirty:itrace_start\n");
}

static void maps(void **state)
{
	static const uint8_t id[] = { 0xab, 0xcd };

	start();
	at(1000, 0, 10, 11);
	mkperf_mmap2_id(&m, 0x400000, 0x1000, 0x2000, id, 2, "/bin/x");
	mkperf_mmap2(&m, 0x500000, 0x1000, 0, 3, "/data");
	mkperf_mmap2(&m, 0x600000, 0x1000, 0, 5, "[vdso]");
	mkperf_mmap2(&m, 0x700000, 0x1000, 0, 7, "//anon");
	mkperf_mmap(&m, UINT32_MAX, 0xffffffff81000000u, 0x1000, 0, "[kernel.kallsyms]_text");
	expect("1000 0 10/11 mm.map map_pid=10 map_tid=11 addr=0x400000 length=4096 offset=8192 "
	       "prot=read|exec kind=file build_id=abcd shared=no path=\"/bin/x\"\n"
	       "1000 0 10/11 dirty:mmap2\n"
	       "1000 0 10/11 mm.map map_pid=10 map_tid=11 addr=0x600000 length=4096 offset=0 "
	       "prot=read|exec kind=kernel shared=no path=\"[vdso]\"\n"
	       "1000 0 10/11 mm.map map_pid=10 map_tid=11 addr=0x700000 length=4096 offset=0 "
	       "prot=read|write|exec kind=memory shared=no path=\"//anon\"\n"
	       "1000 0 10/11 dirty:mmap\n");
}

static void poke(uint64_t addr, unsigned old, unsigned fresh)
{
	size_t rec = mkperf_begin(&m, REC_TEXT_POKE, 0);
	uint8_t all[64];

	for (unsigned i = 0; i < 64; i++)
		all[i] = (uint8_t)i;
	mkperf_u64(&m, addr);
	mkperf_u16(&m, (uint16_t)old);
	mkperf_u16(&m, (uint16_t)fresh);
	mkperf_put(&m, all, old + fresh);
	mkperf_put(&m, "\0\0\0\0\0\0\0", (8 - (4 + old + fresh) % 8) % 8);
	mkperf_sample_id(&m);
	mkperf_end(&m, rec);
}

static void code(void **state)
{
	size_t rec;

	start();
	at(1000, 0, 10, 10);
	poke(0x1000, 5, 5);
	poke(0x2000, 18, 18);	/* in pieces of 16 */
	poke(0x3000, 0, 8);	/* new code is no patch */
	rec = mkperf_begin(&m, REC_KSYMBOL, 0);
	mkperf_u64(&m, 0x4000);
	mkperf_u32(&m, 64);
	mkperf_u16(&m, 1);
	mkperf_u16(&m, 1);
	mkperf_str(&m, "bpf_prog_1");
	mkperf_sample_id(&m);
	mkperf_end(&m, rec);
	expect("1000 0 10/10 text.patch addr=0x1000 size=5 "
	       "old_code=00010203040000000000000000000000 "
	       "new_code=05060708090000000000000000000000\n"
	       "1000 0 10/10 text.patch addr=0x2000 size=16 "
	       "old_code=000102030405060708090a0b0c0d0e0f "
	       "new_code=12131415161718191a1b1c1d1e1f2021\n"
	       "1000 0 10/10 text.patch addr=0x2010 size=2 "
	       "old_code=10110000000000000000000000000000 "
	       "new_code=22230000000000000000000000000000\n"
	       "1000 0 10/10 dirty:text_poke\n"
	       "1000 0 10/10 text.ksymbol addr=0x4000 size=64 kind=bpf removed=yes "
	       "name=\"bpf_prog_1\"\n");
}

static void lost(uint64_t n)
{
	size_t rec = mkperf_begin(&m, REC_LOST, 0);

	mkperf_u64(&m, 1);
	mkperf_u64(&m, n);
	mkperf_sample_id(&m);
	mkperf_end(&m, rec);
}

/* A loss is told, and who ran before it is not taken for who runs after it. */
static void losses(void **state)
{
	start();
	at(1000, 1, 10, 11);
	mkperf_switch_wide(&m, true, 20, 21);
	at(1001, 1, 20, 21);
	lost(42);
	mkperf_switch_wide(&m, false, 10, 11);
	expect("1000 1 10/11 sched.switch prev_pid=10 prev_tid=11 next_pid=20 next_tid=21 "
	       "preempted=no\n"
	       "1001 1 -1/-1 stream.lost count=42 cause=provider event=0\n"
	       "1001 1 10/11 sched.switch prev_pid=10 prev_tid=11 next_pid=20 next_tid=21\n");
}

static void round_end(void)
{
	mkperf_end(&m, mkperf_begin(&m, REC_FINISHED_ROUND, 0));
}

static void comm(uint64_t time, uint32_t cpu, const char *name)
{
	at(time, cpu, 10, 10);
	mkperf_comm(&m, name, false);
}

#define LINE(t, cpu, name) \
	#t " " #cpu " 10/10 sched.comm task_pid=10 task_tid=10 comm=\"" name "\"\n"

/* CPUs one after the other in each round; the next round may begin before the last one's end. */
static void order(void **state)
{
	start();
	comm(1000, 0, "a");
	comm(1003, 0, "b");
	comm(1001, 1, "c");
	comm(1005, 1, "d");
	round_end();
	comm(1004, 0, "e");
	comm(1006, 1, "f");
	round_end();
	comm(1006, 0, "g");
	round_end();
	comm(1002, 0, "h");	/* was interrupted for long: it is waited for */
	expect(LINE(1000, 0, "a") LINE(1001, 1, "c") LINE(1002, 0, "h") LINE(1003, 0, "b")
	       LINE(1004, 0, "e") LINE(1005, 1, "d") LINE(1006, 1, "f") LINE(1006, 0, "g"));
	/* too long: it is counted as lost where its time was over */
	start();
	comm(1000, 0, "a");
	round_end();
	comm(900000000, 0, "b");
	round_end();
	comm(900000001, 0, "c");
	round_end();
	comm(500, 1, "late");
	expect(LINE(1000, 0, "a")
	       "900000000 -1 -1/-1 stream.lost count=1 cause=other event=0\n"
	       LINE(900000000, 0, "b") LINE(900000001, 0, "c"));
}

/* HEADER_ATTR, as a pipe has it: a tracepoint (perf_event_attr.type 2) of its number @config. */
static void header_attr(uint32_t type, uint64_t config)
{
	size_t r = mkperf_begin(&m, 64, 0), from = m.n;

	mkperf_u32(&m, type);
	mkperf_u32(&m, 64);
	mkperf_u64(&m, config);
	while (m.n < from + 64)
		mkperf_u64(&m, 0);
	mkperf_end(&m, r);
}

/* One that is opened three times is told once; of what is no tracepoint numbers say nothing. */
static void opened_twice(void **state)
{
	struct capture *c;
	unsigned told = 0;

	start();
	header_attr(2, 5);
	header_attr(2, 6);
	header_attr(2, 5);
	header_attr(2, 5);
	header_attr(0, 6);
	header_attr(0, 6);
	c = capture();
	for (size_t i = 0; i < c->notes.n; i++) {
		if (c->notes.v[i].diag.id != E_TWICE)
			continue;
		told++;
		assert_string_equal(c->notes.v[i].diag.text, "a tracepoint was opened more than "
				    "once, so each of its records may be there twice");
	}
	assert_int_equal(told, 1);
	capture_free(c);
	free(bytes);
	mkperf_free(&m);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(opened_twice),
		cmocka_unit_test(switches), cmocka_unit_test(tasks), cmocka_unit_test(maps),
		cmocka_unit_test(code), cmocka_unit_test(losses), cmocka_unit_test(order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
