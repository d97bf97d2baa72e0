/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A native capture that holds everything, read again; and what the writer refuses. Longer than
 * other files: all cases are of the same capture.
 */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "hwtrace/image/image.h"
#include "hwtrace/source/capture.h"
#include "tests/support/mknat.h"
#include "tests/support/scratch.h"

static struct capture *c;
static struct hwt_diag diag;

static void open_it(const char *path)
{
	struct hwt_open_opts o = { .size = sizeof(o) };

	diag = (struct hwt_diag){ .text = "" };
	assert_int_equal(source_open(&c, path, &o, &diag), 0);
	assert_string_equal(c->format, "native");
}

static int setup(void **state)
{
	uint8_t image[256];

	if (scratch_make(state))
		return -1;
	for (unsigned i = 0; i < sizeof(image); i++)
		image[i] = (uint8_t)(255 - i);
	scratch_write("image", image, sizeof(image));
	return 0;
}

static int clean(void **state)
{
	capture_free(c);
	c = NULL;
	return 0;
}

static const char *fact(const char *key)
{
	for (size_t i = 0; i < c->nfacts; i++)
		if (!strcmp(c->facts[i].key, key))
			return c->facts[i].value;
	return "";
}

static void bytes(const struct trace_span *s, unsigned buf, uint64_t pos, uint64_t n)
{
	assert_int_equal(s->pos, pos);
	assert_int_equal(s->size, n);
	for (uint64_t i = 0; i < n; i++)
		assert_int_equal(s->p[i], mknat_byte(buf, pos + i));
}

static void spans(void **state)
{
	const struct trace_buf *b;

	mknat(scratch("a.hwt"), scratch("image"));
	open_it(scratch("a.hwt"));
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->nbufs, 3);
	b = &c->bufs[0];
	assert_string_equal(b->name, "cpu 0");
	assert_int_equal(b->cpu, 0);
	assert_int_equal(b->pid, HWT_NONE);
	assert_int_equal(b->framing, FRAMING_NONE);
	assert_int_equal(b->nspans, 3);
	bytes(&b->spans[0], 0, 0, 100);
	assert_int_equal(b->spans[0].time, 2000);
	assert_int_equal(b->spans[0].cause_before, HWT_GAP_NONE);
	bytes(&b->spans[1], 0, 1000, 40);
	assert_int_equal(b->spans[1].time, 3000);
	assert_int_equal(b->spans[1].pid, 10);
	assert_int_equal(b->spans[1].tid, 11);
	assert_int_equal(b->spans[1].flags, 0x100);
	assert_int_equal(b->spans[1].cause_before, HWT_GAP_COLLISION);
	assert_int_equal(b->spans[1].lost_before, 321);
	bytes(&b->spans[2], 0, 1040, 20);
	assert_int_equal(b->spans[2].cause_before, HWT_GAP_NONE);
	assert_int_equal(b->cause_after, HWT_GAP_OVERFLOW);
	assert_int_equal(b->lost_after, 99);
	b = &c->bufs[1];
	assert_string_equal(b->name, "ETB/0");
	assert_int_equal(b->cpu, HWT_NONE);
	assert_int_equal(b->pid, 77);
	assert_int_equal(b->tid, 78);
	assert_int_equal(b->framing, FRAMING_TPIU);
	assert_int_equal(b->nspans, 1);
	bytes(&b->spans[0], 1, 0, 50);
	assert_true(b->spans[0].time == HWT_TIME_UNKNOWN);
	assert_int_equal(b->spans[0].pid, 77);
	assert_int_equal(c->bufs[2].nspans, 0);
	assert_int_equal(c->bufs[2].framing, FRAMING_MEM);
	assert_int_equal(c->bufs[2].cause_after, HWT_GAP_NONE);
}

static void pt_unit(void **state)
{
	const struct trace_cfg *g;

	mknat(scratch("a.hwt"), scratch("image"));
	open_it(scratch("a.hwt"));
	assert_int_equal(c->bufs[0].ncfgs, 1);
	g = &c->bufs[0].cfgs[0];
	assert_string_equal(g->name, "pt");
	assert_int_equal(g->proto, HWT_PROTO_PT);
	assert_int_equal(g->cpu, 0);
	assert_int_equal(g->r.pt.family, 6);
	assert_int_equal(g->r.pt.model, 0x8f);
	assert_int_equal(g->r.pt.stepping, 4);
	assert_int_equal(g->r.pt.mtc_freq, 3);
	assert_int_equal(g->r.pt.nom_freq, 21);
	assert_int_equal(g->r.pt.cpuid_15_eax, 2);
	assert_int_equal(g->r.pt.cpuid_15_ebx, 168);
	assert_true(g->r.pt.noretcomp);
	assert_int_equal(g->r.pt.nfilter, 2);
	assert_int_equal(g->r.pt.filter_stop, 2);
	assert_int_equal(g->r.pt.filter[0][0], 0x1000);
	assert_int_equal(g->r.pt.filter[0][1], 0x1fff);
	assert_true(g->r.pt.filter[1][0] == 0xffff800000000000);
	assert_true(g->r.pt.filter[1][1] == UINT64_MAX);
}

static void cs_units(void **state)
{
	static const struct { const char *name, *core; unsigned proto, id, arch, profile;
		int cpu; uint32_t regs[12]; unsigned n; } want[] = {
		{ "ETM_0", "Cortex-A72", HWT_PROTO_ETM4, 0x10, 8, 'A', 0,
		  { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12 }, 12 },
		{ "ETM_1", "ARMv9", HWT_PROTO_ETE, 0x11, 8, 'A', 1,
		  { UINT32_MAX, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x47705a13 }, 12 },
		{ "PTM_2", "Cortex-A15", HWT_PROTO_PTM, 0x12, 7, 'A', 2, { 21, 22, 23, 24 }, 4 },
		{ "ETM3_3", "Cortex-M4", HWT_PROTO_ETM3, 0x13, 7, 'M', 3, { 31, 32, 33, 34 }, 4 },
		{ "STM", "", HWT_PROTO_STM, 0x20, 0, 0, -1, { 41, 42, 43 }, 3 },
		{ NULL, "", HWT_PROTO_ITM, 0x21, 0, 0, -1, { 51 }, 1 },
	};

	mknat(scratch("a.hwt"), scratch("image"));
	open_it(scratch("a.hwt"));
	assert_int_equal(c->bufs[1].ncfgs, 6);
	assert_int_equal(c->bufs[2].ncfgs, 1);
	for (unsigned i = 0; i < 6; i++) {
		const struct trace_cfg *g = &c->bufs[1].cfgs[i];

		if (want[i].name)
			assert_string_equal(g->name, want[i].name);
		else
			assert_null(g->name);
		assert_string_equal(g->core, want[i].core);
		assert_int_equal(g->proto, want[i].proto);
		assert_int_equal(g->trace_id, want[i].id);
		assert_int_equal(g->arch, want[i].arch);
		assert_int_equal(g->profile, want[i].profile);
		assert_int_equal(g->cpu, want[i].cpu);
		assert_memory_equal(&g->r, want[i].regs, 4 * want[i].n);
	}
}

static void description(void **state)
{
	int32_t pid, tid;

	mknat(scratch("a.hwt"), scratch("image"));
	open_it(scratch("a.hwt"));
	assert_string_equal(fact("recorder"), "model");
	assert_string_equal(fact("model.seed"), "42");
	assert_string_equal(fact("counter"), "tsc");
	assert_string_equal(fact("counter frequency"), "2000000000 Hz");
	assert_string_equal(fact("wall clock"), "base -3 ns");
	assert_string_equal(c->arch, "x86_64");
	assert_string_equal(c->cmdline, MKNAT_TEXT);
	assert_string_equal(c->clock, "CLOCK_MONOTONIC");
	assert_int_equal(time_map_ns(&c->tsc, 1000), 1000);
	assert_int_equal(time_map_ns(&c->tsc, 3000), 2000);
	machine_task_at(c->machine, 0, &pid, &tid);
	assert_true(machine_tasks(c->machine) >= 2);
	assert_int_equal(pid, 10);
	assert_string_equal(machine_comm(c->machine, 11), MKNAT_TEXT);
	assert_string_equal(machine_comm(c->machine, 12), "");
	assert_int_equal(machine_pid(c->machine, 12), 10);
	assert_int_equal(machine_aspace(c->machine, 0xabc000), 10);
	assert_int_equal(machine_aspace(c->machine, 0x7003), 20);
	assert_int_equal(c->ncommits, 2);
	assert_int_equal(c->commits[0].id, HWT_ID_sched_switch);
	assert_int_equal(c->commits[1].addr, 0xffffffff81000200);
	assert_string_equal(c->commit_by, "trace_event_raw_event_");
}

static void code(void **state)
{
	struct hwt_where w = { .pid = 10, .time = 100 };
	struct hwt_map m;
	uint8_t b[8];

	mknat(scratch("a.hwt"), scratch("image"));
	open_it(scratch("a.hwt"));
	assert_int_equal(hwt_image_map_at(c->image, 0, &m), 1);
	assert_int_equal(m.addr, 0x400000);
	assert_int_equal(m.size, 0x1000);
	assert_int_equal(m.file_off, 0x2000);
	assert_int_equal(m.from, 55);
	assert_int_equal(m.space, HWT_SPACE_EL1N | HWT_SPACE_EL2);
	assert_int_equal(m.pid, 10);
	assert_string_equal(m.path, MKNAT_TEXT);
	assert_int_equal(m.build_id_size, 2);
	assert_memory_equal(m.build_id, "\xde\xad", 2);
	/* a copy of a file: the original is another one by now, and nobody looks */
	assert_int_equal(hwt_image_read(c->image, &w, 0x500010, b, 2), 2);
	assert_memory_equal(b, "\xef\xee", 2);
	/* pages, before and after they changed */
	assert_int_equal(hwt_image_read(c->image, &w, 0x600000, b, 3), 3);
	assert_memory_equal(b, "\x90\x90\xc3", 3);
	w.time = 700;
	assert_int_equal(hwt_image_read(c->image, &w, 0x600000, b, 3), 3);
	assert_memory_equal(b, "\xcc\x90\xc3", 3);
	/* mm.map of a kernel record */
	assert_int_equal(hwt_image_map_at(c->image, 2, &m), 1);
	assert_string_equal(m.path, "/lib/late.so");
	assert_true(m.addr == 0x7f0000030000);
	assert_int_equal(m.file_off, 0x1000);
	/* 1030 ticks */
	assert_int_equal(m.from, 500 + 515);
	assert_int_equal(m.build_id_size, 4);
	assert_memory_equal(m.build_id, "\1\2\3\4", 4);
}

static void kernel(void **state)
{
	struct hwt_stream *st;
	struct hwt_event ev[8];
	struct machine_cursor cur;
	unsigned k = 0;
	char text[200];
	int n;

	mknat(scratch("a.hwt"), scratch("image"));
	open_it(scratch("a.hwt"));
	assert_int_equal(c->nevents, 2 * MKNAT_RECS);
	assert_int_equal(c->time_start, 1000);
	assert_int_equal(c->events(c, &st, &diag), 0);
	while ((n = hwt_stream_next(st, ev, 3)) > 0)
		for (int i = 0; i < n; i++, k++) {
			unsigned rec = k / 2;

			/* CPU 0 and 3 have records of the same times, in that order */
			assert_int_equal(ev[i].cpu, k & 1 ? 3 : 0);
			assert_int_equal(ev[i].clock, HWT_CLOCK_BASE);
			assert_int_equal(ev[i].time, 500 + (MKNAT_TICK + 10 * rec) / 2);
			if (rec % 4 == 3) {
				assert_int_equal(ev[i].type, HWT_EV_MAP);
				assert_string_equal(c->event_name(c, &ev[i]), "mm.map");
				continue;
			}
			assert_int_equal(ev[i].type, HWT_EV_SCHED_SWITCH);
			assert_string_equal(c->event_name(c, &ev[i]), "sched.switch");
			assert_int_equal(ev[i].pid, 10);
			assert_int_equal(ev[i].tid, 11);
			assert_int_equal(ev[i].flags, rec & 1 ? HWT_F_PREEMPT : 0);
			assert_int_equal(ev[i].u.sched.prev_pid, rec);
			/* every fourth record is none of a switch */
			assert_int_equal(ev[i].u.sched.prev_tid,
					 rec ? 19 + rec - (rec % 4 == 0) : 0);
			assert_int_equal(ev[i].u.sched.next_tid, 20 + rec);
			assert_int_equal(ev[i].u.sched.next_aspace, 0x7000 + ev[i].cpu);
			c->event_text(c, &ev[i], text, sizeof(text));
			assert_non_null(strstr(text, "next_pid=20"));
		}
	assert_int_equal(n, 0);
	assert_int_equal(k, 2 * MKNAT_RECS);
	hwt_stream_close(st);
	machine_cursor_init(&cur, c->machine, 3);
	assert_int_equal(machine_cursor_due(&cur), 1000);
	machine_cursor_step(&cur);
	assert_int_equal(cur.tid, 20);
	assert_int_equal(machine_cursor_due(&cur), 1005);
	assert_string_equal(machine_comm(c->machine, 20), "worker");
}

/* More than a block and more than a packet, in pieces of all sizes. */
static void large(void **state)
{
	struct hwt_rec_user_mark { struct hwt_rec rec; } r = { .rec = { .id = 0x9001,
		.size = sizeof(r), .version = 1, .pid = -1, .tid = -1 } };
	struct trace_cfg g = { .proto = HWT_PROTO_PT, .core = "", .cpu = HWT_NONE };
	const size_t size = 1000000;
	struct native_writer *w;
	uint8_t *p = malloc(size);
	size_t at = 0;

	for (size_t i = 0; i < size; i++)
		p[i] = mknat_byte(0, i);
	assert_int_equal(native_create(&w, scratch("l.hwt"), true, &diag), 0);
	assert_int_equal(native_add_buf(w, "b", 0, HWT_NONE, HWT_NONE, FRAMING_NONE, &g, 1), 0);
	for (size_t n = 1; at < size; n = n * 3 % 200003) {
		n = n > size - at ? size - at : n;
		assert_int_equal(native_trace(w, 0, at, p + at, n), 0);
		at += n;
	}
	for (unsigned i = 0; i < 10000; i++) {
		r.rec.time = i;
		r.rec.hit = i + 1;
		assert_int_equal(native_event(w, 1, &r, sizeof(r)), 0);
	}
	assert_int_equal(native_close(w, &diag), 0);
	open_it(scratch("l.hwt"));
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(c->bufs[0].nspans, 1);
	bytes(&c->bufs[0].spans[0], 0, 0, size);
	assert_int_equal(c->nevents, 10000);
	free(p);
}

/* Whatever is not closed or cut by a dying writer was handed over by the last sync. */
static void not_closed(void **state)
{
	struct trace_cfg g = { .proto = HWT_PROTO_PT, .core = "", .cpu = HWT_NONE };
	struct native_writer *w;

	assert_int_equal(native_create(&w, scratch("n.hwt"), true, &diag), 0);
	assert_int_equal(native_add_buf(w, "b", 0, HWT_NONE, HWT_NONE, FRAMING_NONE, &g, 1), 0);
	assert_int_equal(native_trace(w, 0, 1, "abc", 3), 0);
	assert_int_equal(native_task(w, 5, 6, "seven"), 0);
	open_it(scratch("n.hwt"));
	assert_int_equal(c->nbufs, 1);
	assert_int_equal(c->bufs[0].nspans, 0);
	clean(state);
	assert_int_equal(native_sync(w), 0);
	open_it(scratch("n.hwt"));
	assert_int_equal(c->bufs[0].nspans, 1);
	assert_memory_equal(c->bufs[0].spans[0].p, "abc", 3);
	assert_int_equal(machine_pid(c->machine, 6), 5);
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].diag.id, 140);
	assert_int_equal(native_close(w, &diag), 0);
	clean(state);
	open_it(scratch("n.hwt"));
	assert_int_equal(c->notes.n, 0);
}

static void refused(void **state)
{
	struct hwt_rec r = { .id = 0x9001, .size = sizeof(r), .version = 1, .time = 100 };
	struct trace_cfg g = { .proto = HWT_PROTO_NONE };
	struct hwt_map m = { .addr = UINT64_MAX, .size = 2, .path = "x" };
	struct native_writer *w;
	char longer[5000];

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	assert_int_equal(native_create(&w, scratch("r.hwt"), true, &diag), 0);
	assert_int_equal(native_add_buf(w, "b", 0, 0, 0, 7, NULL, 0), -EINVAL);
	assert_int_equal(native_add_buf(w, "b", 0, 0, 0, 0, &g, 1), -EINVAL);
	assert_int_equal(native_trace(w, 0, 0, "x", 1), -EINVAL);
	assert_int_equal(native_hole(w, -1, HWT_GAP_BREAK, 0), -EINVAL);
	assert_int_equal(native_set(w, "a b", "c", "%d", 1), -EINVAL);
	assert_int_equal(native_set(w, "a", "crc", "%d", 1), -EINVAL);
	assert_int_equal(native_set(w, "a", "b", "%s", longer), -E2BIG);
	assert_int_equal(native_map(w, &m), -EINVAL);
	assert_int_equal(native_pages(w, 1, UINT64_MAX, 0, "xx", 2), -EINVAL);
	assert_int_equal(native_file(w, "/no/such/file", NULL, NULL, 0), -ENOENT);
	assert_int_equal(native_file(w, "/dev/null", NULL, NULL, 0), -EINVAL);
	assert_int_equal(native_event(w, 0, &r, sizeof(r)), 0);
	r.time = 99;
	assert_int_equal(native_event(w, 0, &r, sizeof(r)), -EINVAL);
	assert_int_equal(native_event(w, 0, &r, sizeof(r) - 8), -EINVAL);
	assert_int_equal(native_event(w, -1, &r, sizeof(r)), -EINVAL);
	/* none of that stays */
	assert_int_equal(native_diag(w)->code, 0);
	assert_int_equal(native_close(w, &diag), 0);
	open_it(scratch("r.hwt"));
	assert_int_equal(c->nevents, 1);
	assert_int_equal(c->notes.n, 0);
	assert_int_equal(native_close(NULL, NULL), 0);
}

/* Nothing but a capture is ever taken away, and only if the caller says so. */
static void taken(void **state)
{
	struct native_writer *w;
	struct stat st;

	mknat(scratch("a.hwt"), scratch("image"));
	assert_int_equal(native_create(&w, scratch("a.hwt"), false, &diag), -EEXIST);
	assert_int_equal(diag.id, 8);
	scratch_sh("touch a.hwt/kernel/mine a.hwt/note");
	assert_int_equal(native_create(&w, scratch("a.hwt"), true, &diag), 0);
	assert_int_equal(native_close(w, &diag), 0);
	assert_int_equal(stat(scratch("a.hwt/kernel/mine"), &st), 0);
	assert_int_equal(stat(scratch("a.hwt/note"), &st), 0);
	assert_int_equal(stat(scratch("a.hwt/hw/0_cpu_0.bin"), &st), -1);
	scratch_sh("rm -r a.hwt && mkdir -p other/hw full");
	scratch_sh("touch other/hwtrace.ini full/x file");
	assert_int_equal(native_create(&w, scratch("other"), true, &diag), -EEXIST);
	assert_int_equal(native_create(&w, scratch("full"), true, &diag), -EEXIST);
	assert_int_equal(native_create(&w, scratch("file"), true, &diag), -EEXIST);
	assert_int_equal(native_create(&w, scratch("no/such/place"), true, &diag), -ENOENT);
	assert_int_equal(diag.id, 7);
	scratch_sh("mkdir empty");
	assert_int_equal(native_create(&w, scratch("empty"), false, &diag), 0);
	assert_int_equal(native_close(w, &diag), 0);
}

/* The system says no in the middle: the error stays, with words; what was there is read. */
static void no_room(void **state)
{
	struct trace_cfg g = { .proto = HWT_PROTO_PT, .core = "", .cpu = HWT_NONE };
	struct rlimit old, small = { .rlim_cur = 200000 };
	struct native_writer *w;
	uint8_t block[10000];
	int rc = 0;

	for (unsigned i = 0; i < sizeof(block); i++)
		block[i] = mknat_byte(0, i);
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(native_create(&w, scratch("f.hwt"), true, &diag), 0);
	assert_int_equal(native_add_buf(w, "b", 0, HWT_NONE, HWT_NONE, FRAMING_NONE, &g, 1), 0);
	getrlimit(RLIMIT_FSIZE, &old);
	small.rlim_max = old.rlim_max;
	setrlimit(RLIMIT_FSIZE, &small);
	for (unsigned i = 0; i < 100 && !rc; i++)
		rc = native_trace(w, 0, i, block, sizeof(block));
	setrlimit(RLIMIT_FSIZE, &old);
	assert_int_equal(rc, -EFBIG);
	assert_int_equal(native_trace(w, 0, 0, "x", 1), -EFBIG);
	assert_int_equal(native_diag(w)->code, -EFBIG);
	assert_int_equal(native_diag(w)->id, 7);
	assert_non_null(strstr(native_diag(w)->file, "0_b.bin"));
	assert_int_equal(native_close(w, &diag), -EFBIG);
	assert_int_equal(diag.id, 7);
	open_it(scratch("f.hwt"));
	assert_int_equal(c->bufs[0].nspans, 1);
	/* twelve blocks of 16 KiB were whole; the piece of the next has no entry */
	assert_int_equal(c->bufs[0].spans[0].size, 12 * 16384);
	assert_int_equal(c->bufs[0].cause_after, HWT_GAP_DAMAGED);
	assert_int_equal(c->bufs[0].lost_after, 200000 - 12 * 16384);
}

static void map_at(struct native_writer *w, uint64_t time, uint64_t addr)
{
	struct { struct hwt_rec_mm_map r; char path[8]; } m = { .r = { .rec = {
		.id = HWT_ID_mm_map, .size = sizeof(m), .version = 1, .pid = 7, .tid = 7,
		.time = time }, .map_pid = 7, .map_tid = 7, .addr = addr, .length = 0x1000,
		.prot = 5, .path_size = 8 }, .path = "image" };

	assert_int_equal(native_event(w, 0, &m, sizeof(m)), 0);
}

/*
 * Linux tells an exec when its memory is mapped already; the new name comes before that, on @cpu.
 */
static void exec_named_on(int32_t cpu)
{
	struct hwt_rec_sched_comm n = { .rec = { .id = HWT_ID_sched_comm, .size = sizeof(n),
		.version = 1 }, .task_pid = 7, .task_tid = 7, .comm = "new" };
	struct hwt_rec_sched_exec e = { .rec = { .id = HWT_ID_sched_exec, .size = sizeof(e),
		.version = 1 }, .task_pid = 7, .task_tid = 7, .old_tid = 7, .aspace = 0x5000 };
	struct hwt_where at = { .pid = 7 };
	struct native_writer *w;
	uint8_t byte;

	assert_int_equal(native_create(&w, scratch("e.hwt"), true, &diag), 0);
	/* without trace nobody asks for code, and none is kept */
	assert_int_equal(native_add_buf(w, "b", 0, HWT_NONE, HWT_NONE, FRAMING_NONE,
					&(struct trace_cfg){ .proto = HWT_PROTO_PT, .core = "",
						.cpu = HWT_NONE }, 1), 0);
	assert_int_equal(native_clock(w, &(struct native_clock){ .counter = "tsc", .base = "b",
		.frequency = 1000000000 }), 0);
	assert_int_equal(native_file(w, "image", scratch("image"), NULL, 0), 0);
	map_at(w, 100, 0x1000);
	n.rec.time = 200;
	assert_int_equal(native_event(w, cpu, &n, sizeof(n)), 0);
	/* as long as it runs it may get others */
	n.rec.time = 270;
	assert_int_equal(native_event(w, 1, &n, sizeof(n)), 0);
	map_at(w, 210, 0x2000);
	e.rec.time = 220;
	assert_int_equal(native_event(w, 0, &e, sizeof(e)), 0);
	map_at(w, 230, 0x3000);
	/* and one whose name is not told */
	e.rec.tid = e.task_tid = 8;
	e.rec.time = 300;
	assert_int_equal(native_event(w, 0, &e, sizeof(e)), 0);
	assert_int_equal(native_close(w, &diag), 0);
	open_it(scratch("e.hwt"));
	assert_string_equal(machine_comm(c->machine, 7), "new");
	assert_int_equal(machine_aspace(c->machine, 0x5000), 7);
	for (unsigned i = 0; i < 4; i++) {
		static const uint64_t times[] = { 150, 205, 250, 300 };
		/* which of 0x1000, 0x2000, 0x3000 are there, as bits */
		static const unsigned there[] = { 1, 0, 6, 0 };

		at.time = times[i];
		for (unsigned k = 0; k < 3; k++)
			assert_int_equal(hwt_image_read(c->image, &at, 0x1000 * (k + 1), &byte, 1),
					 there[i] >> k & 1);
	}
}

static void exec(void **state)
{
	exec_named_on(0);
	clean(state);
	/* the task moved in between */
	exec_named_on(1);
}

/* What a record tells of drops, with its place, is not told again for its packet. */
static void drop(uint64_t count, const char *words)
{
	struct hwt_rec_stream_lost l = { .rec = { .id = HWT_ID_stream_lost, .size = sizeof(l),
		.version = 1, .time = 100 }, .count = count, .cause = 1 };
	struct hwt_rec_sched_switch s = { .rec = { .id = HWT_ID_sched_switch, .size = sizeof(s),
		.version = 1, .time = 50 }, .next_pid = 7, .next_tid = 7 };
	struct native_writer *w;
	struct machine_cursor k;

	assert_int_equal(native_create(&w, scratch("d.hwt"), true, &diag), 0);
	assert_int_equal(native_clock(w, &(struct native_clock){ .counter = "tsc", .base = "b",
		.frequency = 1000000000 }), 0);
	assert_int_equal(native_event(w, 0, &s, sizeof(s)), 0);
	assert_int_equal(native_sync(w), 0);
	assert_int_equal(native_event(w, 0, &l, sizeof(l)), 0);
	assert_int_equal(native_close(w, &diag), 0);
	open_it(scratch("d.hwt"));
	assert_int_equal(c->notes.n, 1);
	assert_int_equal(c->notes.v[0].diag.id, 46);
	assert_non_null(strstr(c->notes.v[0].diag.text, words));
	machine_cursor_init(&k, c->machine, 0);
	assert_int_equal(machine_cursor_due(&k), 50);
	machine_cursor_step(&k);
	assert_int_equal(k.tid, 7);
	assert_int_equal(machine_cursor_due(&k), 100);
	machine_cursor_step(&k);
	assert_int_equal(k.tid, HWT_NONE);
	capture_free(c);
	c = NULL;
}

static void dropped(void **state)
{
	drop(5, "5 records lost on CPU 0");
	drop(UINT64_MAX, "records lost on CPU 0, how many is not known");
}

/* 7 came in at 50, but it is 8 that leaves at 200: nobody knows who ran between. */
static void switch_is_missing(void **state)
{
	struct hwt_rec_sched_switch s = { .rec = { .id = HWT_ID_sched_switch, .size = sizeof(s),
		.version = 1 } };
	static const int32_t who[][2] = { { 0, 7 }, { 8, 9 }, { 9, 7 }, { 7, 0 }, { 0, 9 } };
	struct native_writer *w;
	struct machine_cursor k;

	assert_int_equal(native_create(&w, scratch("s.hwt"), true, &diag), 0);
	assert_int_equal(native_clock(w, &(struct native_clock){ .counter = "tsc", .base = "b",
		.frequency = 1000000000 }), 0);
	for (unsigned i = 0; i < 5; i++) {
		s.rec.time = 50 + 150 * i;
		s.prev_pid = s.prev_tid = who[i][0];
		s.next_pid = s.next_tid = who[i][1];
		assert_int_equal(native_event(w, 0, &s, sizeof(s)), 0);
		/* on another CPU another task may come first */
		assert_int_equal(native_event(w, 1, &s, sizeof(s)), 0);
	}
	assert_int_equal(native_close(w, &diag), 0);
	open_it(scratch("s.hwt"));
	assert_int_equal(c->notes.n, 2);
	assert_int_equal(c->notes.v[0].diag.id, 46);
	assert_int_equal(c->notes.v[1].diag.id, 46);
	for (int cpu = 0; cpu < 2; cpu++) {
		static const int32_t runs[] = { 7, HWT_NONE, 9, 7, 0, 9 };

		machine_cursor_init(&k, c->machine, cpu);
		for (unsigned i = 0; i < 6; i++) {
			assert_int_equal(machine_cursor_due(&k), i < 2 ? 50 : 50 + 150 * (i - 1));
			machine_cursor_step(&k);
			assert_int_equal(k.tid, runs[i]);
		}
		assert_int_equal(machine_cursor_due(&k), HWT_TIME_UNKNOWN);
	}
}

/* Copies: one for each build, none of a build that is another one by now, none that changed. */
static void copies(void **state)
{
	struct hwt_where at = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint8_t id[20], other[20] = { 9, 9 }, byte;
	struct native_writer *w;
	struct hwt_map m = { .size = 64, .pid = HWT_NONE };
	char hex[41] = "";
	FILE *p;

	scratch_sh("printf 'int main(void){return 0;}' > p.c && cc -Wl,--build-id=sha1 -o p p.c");
	scratch_sh("readelf -n p | sed -n 's/.*Build ID: //p' | tr -d '\\n' > id && ln p q");
	p = fopen(scratch("id"), "r");
	assert_int_equal(fread(hex, 1, 40, p), 40);
	fclose(p);
	for (unsigned i = 0; i < 20; i++)
		assert_int_equal(sscanf(hex + 2 * i, "%2hhx", &id[i]), 1);
	assert_int_equal(native_create(&w, scratch("c.hwt"), true, &diag), 0);
	assert_int_equal(native_file(w, "/bin/p", scratch("p"), other, 20), -ESTALE);
	assert_int_equal(native_file(w, "/bin/p", scratch("p"), id, 20), 0);
	assert_int_equal(native_file(w, "/bin/p", scratch("p"), NULL, 0), 0);
	assert_int_equal(native_file(w, "/bin/p", "/not/asked", id, 20), 0);
	assert_int_equal(native_file(w, "/bin/q", scratch("q"), NULL, 0), 0);
	assert_int_equal(native_file(w, "/bin/image", scratch("image"), NULL, 0), 0);
	for (unsigned i = 0; i < 3; i++) {
		m.addr = 0x1000 * (i + 1);
		m.path = i == 0 ? "/bin/p" : i == 1 ? "/bin/q" : "/bin/image";
		assert_int_equal(native_map(w, &m), 0);
	}
	assert_int_equal(native_close(w, &diag), 0);
	scratch_sh("cmp p c.hwt/images/`cat id` && test `ls c.hwt/images | wc -l` -le 3");
	open_it(scratch("c.hwt"));
	assert_int_equal(hwt_image_read(c->image, &at, 0x1000, &byte, 1), 1);
	assert_int_equal(byte, 0x7f);
	assert_int_equal(hwt_image_read(c->image, &at, 0x2001, &byte, 1), 1);
	assert_int_equal(byte, 'E');
	assert_int_equal(c->notes.n, 0);
	clean(state);
	/* a changed copy is not what ran, whatever it is */
	scratch_sh("printf x | dd of=c.hwt/images/`cat id` bs=1 seek=70 conv=notrunc");
	open_it(scratch("c.hwt"));
	assert_int_equal(hwt_image_read(c->image, &at, 0x1000, &byte, 1), 0);
	assert_int_equal(c->notes.v[0].diag.id, 145);
}

/* The writer is killed at any moment: what was there at its last sync is read, and no more hurt. */
static void killed(void **state)
{
	struct trace_cfg g = { .proto = HWT_PROTO_PT, .core = "", .cpu = HWT_NONE };
	struct hwt_rec r = { .id = HWT_ID_DIRTY, .size = sizeof(r), .version = 1 };
	struct native_writer *w;
	uint8_t block[5000];

	for (unsigned round = 0; round < 20; round++) {
		uint64_t synced = 0, n = 0;
		int fd[2];
		pid_t pid;

		assert_int_equal(pipe(fd), 0);
		pid = fork();
		assert_true(pid >= 0);
		if (!pid) {
			if (native_create(&w, scratch("k.hwt"), true, NULL) ||
			    native_add_buf(w, "b", 0, 0, 0, 0, &g, 1))
				_exit(1);
			for (uint64_t at = 0; ; at += sizeof(block), r.time++) {
				for (unsigned i = 0; i < sizeof(block); i++)
					block[i] = mknat_byte(0, at + i);
				native_trace(w, 0, at, block, sizeof(block));
				native_event(w, 0, &r, sizeof(r));
				native_sync(w);
				synced = at + sizeof(block);
				if (write(fd[1], &synced, sizeof(synced)) < 0)
					_exit(1);
			}
		}
		close(fd[1]);
		for (unsigned i = 0; i < 3 + 7 * round; i++)
			assert_int_equal(read(fd[0], &synced, sizeof(synced)), sizeof(synced));
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		while (read(fd[0], &n, sizeof(n)) == sizeof(n))
			synced = n;
		close(fd[0]);
		open_it(scratch("k.hwt"));
		assert_int_equal(c->bufs[0].nspans, 1);
		n = c->bufs[0].spans[0].size;
		assert_true(n >= synced);
		bytes(&c->bufs[0].spans[0], 0, 0, n);
		assert_true(c->nevents >= synced / sizeof(block));
		assert_true(c->notes.n);
		clean(state);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(spans, clean), cmocka_unit_test_teardown(pt_unit, clean),
		cmocka_unit_test_teardown(cs_units, clean),
		cmocka_unit_test_teardown(description, clean),
		cmocka_unit_test_teardown(code, clean), cmocka_unit_test_teardown(kernel, clean),
		cmocka_unit_test_teardown(large, clean),
		cmocka_unit_test_teardown(not_closed, clean),
		cmocka_unit_test_teardown(refused, clean),
		cmocka_unit_test_teardown(taken, clean), cmocka_unit_test_teardown(no_room, clean),
		cmocka_unit_test_teardown(exec, clean), cmocka_unit_test_teardown(dropped, clean),
		cmocka_unit_test_teardown(switch_is_missing, clean),
		cmocka_unit_test_teardown(copies, clean), cmocka_unit_test_teardown(killed, clean),
	};

	return cmocka_run_group_tests(tests, setup, scratch_drop);
}
