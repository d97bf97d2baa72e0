/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bundles that LLDB wrote, and bad ones: the byte named in an error is checked against the text.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include <cmocka.h>

#include "hwtrace/source/lldb.h"

static const char *captures(void)
{
	const char *s = getenv("HWT_CAPTURES");

	return s ? s : "../shared/captures";
}

static char *in(const char *name)
{
	static char path[2048];

	snprintf(path, sizeof(path), "%s/pt/%s", captures(), name);
	return path;
}

static struct capture *c;
static struct hwt_diag diag;

static int open_file(const char *path)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct file *f;

	diag = (struct hwt_diag){ .text = "" };
	assert_int_equal(file_open(&f, path, &diag), 0);
	assert_int_equal(source_lldb.probe(f, path), 2);
	assert_int_equal(capture_new(&c), 0);
	return source_lldb.open(c, f, path, &o, &diag);
}

static int clean(void **state)
{
	capture_free(c);
	c = NULL;
	return 0;
}

static void thread(void **state)
{
	const struct trace_buf *b;
	struct hwt_map m;

	if (open_file(in("lldb-thread/in/trace.json")))
		fail_msg("%s", diag.text);
	assert_int_equal(c->nbufs, 1);
	b = &c->bufs[0];
	assert_int_equal(b->pid, 1234);
	assert_int_equal(b->tid, 3842849);
	assert_int_equal(b->cpu, HWT_NONE);
	assert_int_equal(b->spans[0].size, 4096);
	assert_int_equal(b->cfgs[0].proto, HWT_PROTO_PT);
	assert_int_equal(b->cfgs[0].r.pt.family, 6);
	assert_int_equal(b->cfgs[0].r.pt.model, 79);
	assert_int_equal(b->cfgs[0].r.pt.stepping, 1);
	assert_false(time_map_valid(&c->tsc));
	assert_null(c->events);
	assert_true(hwt_image_map_at(c->image, 0, &m));
	assert_int_equal(m.addr, 0x400000);
	assert_int_equal(m.pid, 1234);
	assert_int_equal(machine_pid(c->machine, 3842849), 1234);
}

/*
 * The same records by another way: SWITCH_CPU_WIDE with TID and TIME is 32 bytes, so record i of
 * the file is at 32 * i. An "in" record (misc 0) names the thread that runs from then on.
 */
static void check_schedule(int cpu, const struct file *f)
{
	struct machine_cursor cur;
	unsigned in_records = 0;

	assert_int_equal(f->size % 32, 0);
	machine_cursor_init(&cur, c->machine, cpu);
	for (uint64_t i = 0; i < f->size; i += 32) {
		uint32_t pid, tid;
		uint64_t t;

		if (f->p[i] != 15 || f->p[i + 5] & 0x20)
			continue;
		memcpy(&pid, f->p + i + 16, 4);
		memcpy(&tid, f->p + i + 20, 4);
		memcpy(&t, f->p + i + 24, 8);
		while (machine_cursor_due(&cur) <= t)
			machine_cursor_step(&cur);
		assert_int_equal(cur.pid, pid);
		assert_int_equal(cur.tid, tid);
		in_records++;
	}
	assert_true(in_records > 30);
}

static void cpus(void **state)
{
	struct hwt_stream *s;
	struct hwt_event ev[7];
	uint64_t last = 0, n = 0;
	int got;

	if (open_file(in("lldb-cpus/in/trace.json")))
		fail_msg("%s", diag.text);
	assert_int_equal(c->nbufs, 2);
	assert_int_equal(c->bufs[0].cpu, 45);
	assert_int_equal(c->bufs[1].cpu, 51);
	assert_int_equal(c->bufs[1].spans[0].size, 5738);
	assert_int_equal(c->bufs[1].cfgs[0].r.pt.model, 85);
	assert_int_equal(c->tsc.mult, 1076264588);
	assert_int_equal(c->tsc.shift, 31);
	assert_true(c->tsc.zero == 18433473881008870804ull);
	assert_int_equal(c->notes.n, 0);
	check_schedule(45, c->files[1]);
	check_schedule(51, c->files[3]);
	assert_true(machine_pid(c->machine, 3497496) == 3497234);
	/* first record of CPU 45 is out of 77590, in the bytes at 24 */
	assert_true(c->time_start == 0x18e09bd0a7ebbbull);
	assert_int_equal(c->events(c, &s, NULL), 0);
	while ((got = hwt_stream_next(s, ev, 7)) > 0) {
		for (int i = 0; i < got; i++, n++) {
			assert_int_equal(ev[i].type, HWT_EV_SCHED_SWITCH);
			assert_true(ev[i].time >= last);
			assert_true(ev[i].cpu == (ev[i].src ? 51 : 45));
			last = ev[i].time;
		}
	}
	hwt_stream_close(s);
	assert_int_equal(n, c->nevents);
}

static void strings_for_numbers(void **state)
{
	struct hwt_map m;

	assert_int_equal(open_file(in("lldb-cpus/in/trace_with_string_numbers.json")), 0);
	assert_true(c->tsc.zero == 18433473881008870804ull);
	assert_true(hwt_image_map_at(c->image, 0, &m));
	assert_int_equal(m.addr, 0x400000);
}

static void others(void **state)
{
	assert_int_equal(open_file(in("lldb-thread/in/trace_2threads.json")), 0);
	assert_int_equal(c->nbufs, 2);
	assert_int_equal(c->bufs[1].tid, 3842850);
	clean(NULL);
	assert_int_equal(open_file(in("lldb-cpus/in/trace_missing_threads.json")), 0);
	assert_int_equal(c->nbufs, 2);
	clean(NULL);
	assert_int_equal(open_file(in("lldb-thread/in/trace_bad_image.json")), 0);
}

/* each is wrong on purpose: what is said, and what stands at the byte that is named */
static void malformed(void **state)
{
	static const struct { const char *file, *text, *at; } t[] = {
		{ "trace_bad.json", "processes", "123" },
		{ "trace_bad2.json", "family", "\"123\"" },
		{ "trace_bad3.json", "pid is missing", "{}" },
		{ "trace_bad4.json", "family is missing", "{\n    \"vendor\"" },
		{ "trace_bad5.json", "pid is missing", "{}" },
		{ "trace_wrong_cpu.json", "family", "2123123" },
	};

	for (size_t i = 0; i < sizeof(t) / sizeof(t[0]); i++) {
		char name[128];
		struct file *f;

		snprintf(name, sizeof(name), "lldb-thread/in/%s", t[i].file);
		assert_int_equal(open_file(in(name)), -HWT_E_FORMAT);
		assert_int_equal(diag.id, 81);
		assert_non_null(strstr(diag.text, t[i].text));
		assert_int_equal(file_open(&f, in(name), NULL), 0);
		assert_true(diag.off + strlen(t[i].at) <= f->size);
		assert_memory_equal(f->p + diag.off, t[i].at, strlen(t[i].at));
		file_close(f);
		clean(NULL);
	}
}

int main(void)
{
	static const struct CMUnitTest t[] = {
		cmocka_unit_test_teardown(thread, clean), cmocka_unit_test_teardown(cpus, clean),
		cmocka_unit_test_teardown(strings_for_numbers, clean),
		cmocka_unit_test_teardown(others, clean),
		cmocka_unit_test_teardown(malformed, clean),
	};
	struct stat st;

	if (stat(in("lldb-cpus"), &st)) {
		printf("no captures at %s (HWT_CAPTURES)\n", captures());
		return 77;
	}
	return cmocka_run_group_tests(t, NULL, NULL);
}
