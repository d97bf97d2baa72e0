/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf.data files made of captures that are put together here. What is in them is read by a walk of
 * this file's own, by the layouts of linux/perf_event.h and of perf's description of the container;
 * holes are also read by our reader, whose tests have files of perf's as their truth.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "correlate/export/perf.h"
#include "hwtrace/image/image.h"
#include "hwtrace/source/capture.h"
#include "tests/support/scratch.h"

enum { MMAP = 1, COMM = 3, FORK = 7, MMAP2 = 10, AUX, ITRACE_START, SWITCH = 14, SWITCH_CPU_WIDE,
	AUXTRACE_INFO = 70, AUXTRACE };

struct state {
	struct capture *c;
	struct hwt_export_opts o;
	struct hwt_export_result res;
	struct hwt_diag diag;
	unsigned notes[256];	/* by error id */
	int fd;
	uint8_t *p;
	size_t n;
};

static void on_note(void *arg, const struct hwt_diag *d)
{
	struct state *s = arg;

	assert_true(d->id < 256 && d->text[0]);
	s->notes[d->id]++;
}

static int setup(void **state)
{
	struct state *s = calloc(1, sizeof(*s));

	if (!s || capture_new(&s->c))
		return -1;
	s->c->format = "test";
	s->c->path = "test";
	s->o = (struct hwt_export_opts){ .size = sizeof(s->o), .note = on_note, .arg = s };
	s->fd = memfd_create("export", 0);
	*state = s;
	return s->fd < 0;
}

static int teardown(void **state)
{
	struct state *s = *state;

	capture_free(s->c);
	close(s->fd);
	free(s->p);
	free(s);
	return 0;
}

static uint64_t u64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, 8);
	return v;
}

static uint32_t u32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, 4);
	return v;
}

static void export(struct state *s)
{
	int rc = export_perf(s->c, s->fd, &s->o, &s->res, &s->diag);

	if (rc)
		fail_msg("%d: %s", rc, s->diag.text);
	s->n = (size_t)lseek(s->fd, 0, SEEK_END);
	assert_int_equal(s->n, s->res.bytes);
	s->p = malloc(s->n);
	assert_int_equal(pread(s->fd, s->p, s->n, 0), s->n);
	assert_memory_equal(s->p, "PERFILE2", 8);
}

/* The @k-th record of @type, NULL if there is none; the walk ends where the header says. */
static const uint8_t *record(const struct state *s, uint32_t type, unsigned k)
{
	uint64_t at = u64(s->p + 40), end = at + u64(s->p + 48);

	while (at < end) {
		const uint8_t *r = s->p + at;
		uint16_t size;

		memcpy(&size, r + 6, 2);
		assert_true(size >= 8 && size % 8 == 0 && at + size <= end);
		if (u32(r) == type && !k--)
			return r;
		at += size;
		if (u32(r) == AUXTRACE) {
			assert_int_equal(u64(r + 8) % 8, 0);
			at += u64(r + 8);
		}
	}
	assert_int_equal(at, end);
	return NULL;
}

static struct trace_buf *pt_buf(struct state *s, int32_t cpu, int32_t pid, int32_t tid)
{
	struct trace_buf *b = capture_add_buf(s->c, "buffer");
	struct trace_cfg *g = capture_add_cfg(s->c, b);

	g->core = "";
	g->proto = HWT_PROTO_PT;
	g->cpu = cpu;
	b->cpu = cpu;
	b->pid = pid;
	b->tid = tid;
	return b;
}

static struct trace_span *span(struct state *s, struct trace_buf *b, uint64_t pos, const void *p,
			       size_t n)
{
	struct trace_span *sp = capture_add_span(s->c, b);

	*sp = (struct trace_span){ .p = p, .size = n, .pos = pos, .time = HWT_TIME_UNKNOWN,
		.pid = HWT_NONE, .tid = HWT_NONE };
	return sp;
}

/* SDM vol. 3, "Trace Packets": PSB, TSC 0x123456789a, MTC, CYC, TIP at 0xffffffff81000000. */
static const uint8_t packets[] = {
	0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02, 0x82, 0x02,
	0x82, 0x19, 0x9a, 0x78, 0x56, 0x34, 0x12, 0, 0, 0x02, 0x23, 0x59, 0x11, 0x0b, 0x6d, 0, 0,
	0, 0x81, 0xff, 0xff, 0x01
};

static void test_pt_info(void **state)
{
	struct state *s = *state;
	struct trace_buf *b = pt_buf(s, 3, HWT_NONE, HWT_NONE);
	struct trace_cfg *g = &b->cfgs[0];
	const uint8_t *r, *attr;
	/* in the order in which perf's AUXTRACE_INFO for intel_pt has grown */
	const uint64_t want[] = { 8, 9, 77, 1000, 1, 0x400, 0x800, 3, 0, 1, 0x200, 0x3c000, 168, 2,
		2, 24 };

	g->r.pt.mtc_freq = 5;
	g->r.pt.nom_freq = 24;
	g->r.pt.cpuid_15_eax = 2;
	g->r.pt.cpuid_15_ebx = 168;
	g->r.pt.noretcomp = true;
	g->r.pt.nfilter = 2;
	g->r.pt.filter[0][0] = 0x1000;
	g->r.pt.filter[0][1] = 0x1fff;
	g->r.pt.filter[1][1] = 0xf;
	g->r.pt.filter_stop = 2;
	g->r.pt.family = 6;
	g->r.pt.model = 78;
	g->r.pt.stepping = 3;
	s->c->tsc = (struct time_map){ .shift = 9, .mult = 77, .zero = 1000 };
	s->c->host = "a-host";
	machine_switch(s->c->machine, 3, 5000, 10, 11, 0);
	machine_switch(s->c->machine, 3, 6000, 20, 21, HWT_F_PREEMPT);
	span(s, b, 0, packets, sizeof(packets));
	export(s);
	r = record(s, AUXTRACE_INFO, 0);
	assert_int_equal(u32(r + 8), 1);
	assert_memory_equal(r + 16, want, sizeof(want));
	assert_string_equal((const char *)r + 16 + 17 * 8,
			    "filter 0x1000/0x1000,tracestop 0x0/0x10");
	assert_int_equal(u64(r + 16 + 16 * 8), strlen("filter 0x1000/0x1000,tracestop 0x0/0x10"));
	/* attribute: PT, TSC, CYC, MTC with 2^5, no return compression, branches; the kernel ran */
	attr = s->p + u64(s->p + 24);
	assert_int_equal(u64(attr + 8), 0x2000 | 0x800 | 0x400 | 0x200 | 0x2 | 0x1 | 5 << 14);
	assert_int_equal(u64(attr + 40) >> 5 & 1, 0);	/* exclude_kernel */
	assert_int_equal(u64(attr + 40) >> 26 & 1, 1);	/* context_switch */
	/* the schedule: who ran first, then a switch that names both sides */
	r = record(s, ITRACE_START, 0);
	assert_int_equal(u32(r + 8), 10);
	assert_int_equal(u32(r + 12), 11);
	r = record(s, SWITCH_CPU_WIDE, 0);
	assert_int_equal(r[5] << 8 & 0x6000, 0x6000);	/* out, preempted */
	assert_int_equal(u32(r + 8), 20);
	assert_int_equal(u32(r + 16), 10);
	r = record(s, SWITCH_CPU_WIDE, 1);
	assert_int_equal(r[5] << 8 & 0x2000, 0);
	assert_int_equal(u32(r + 12), 11);
	assert_int_equal(u32(r + 20), 21);
	assert_int_equal(u64(r + 24), 6000);
	assert_int_equal(u32(r + 32), 3);
	/* perf completes TSC packets by the reference */
	r = record(s, AUXTRACE, 0);
	assert_int_equal(u64(r + 8), (sizeof(packets) + 7) & ~7u);
	assert_int_equal(u64(r + 24), 0x123456789a);
	assert_int_equal(u32(r + 40), 3);
	assert_memory_equal(r + 48, packets, sizeof(packets));
	assert_non_null(memmem(s->p, s->n, "GenuineIntel,6,78,3", 20));
	assert_non_null(memmem(s->p, s->n, "a-host", 7));
}

/* What was said of the bytes before each span; the file must say the same. */
static const struct { uint16_t cause; uint64_t lost, pos; } holes[] = {
	{ HWT_GAP_NONE, 0, 1000 }, { HWT_GAP_AUX_LOST, 0, 1016 }, { HWT_GAP_AUX_LOST, 100, 1132 },
	{ HWT_GAP_AUX_MISSING, 64, 1212 }, { HWT_GAP_COLLISION, 0, 1228 },
};
#define NHOLES (sizeof(holes) / sizeof(holes[0]))

static void test_holes(void **state)
{
	static const uint8_t trace[16 * NHOLES] = { 1, 2, 3 };
	struct state *s = *state;
	struct trace_buf *b = pt_buf(s, 0, HWT_NONE, HWT_NONE);
	struct hwt_open_opts o = { .size = sizeof(o) };
	const struct trace_buf *got;
	struct hwt_diag d;
	struct capture *c;
	char path[64];

	for (size_t i = 0; i < NHOLES; i++) {
		struct trace_span *sp = span(s, b, holes[i].pos, trace + 16 * i, 16);

		sp->cause_before = holes[i].cause;
		sp->lost_before = holes[i].lost;
	}
	b->cause_after = HWT_GAP_AUX_MISSING;
	b->lost_after = 40;
	export(s);
	/* PERF_AUX_FLAG_TRUNCATED is of the record before the loss, COLLISION of its own */
	assert_int_equal(u64(record(s, AUX, 0) + 24), 1);
	assert_int_equal(u64(record(s, AUX, 1) + 24), 1);
	assert_int_equal(u64(record(s, AUX, 2) + 24), 0);
	assert_int_equal(u64(record(s, AUX, 3) + 8), 1148);	/* announced, and not there */
	assert_int_equal(u64(record(s, AUX, 3) + 16), 64);
	assert_int_equal(u64(record(s, AUX, 5) + 24), 8);
	assert_null(record(s, AUXTRACE, NHOLES));
	/* perf must start anew behind holes: as for snapshots */
	assert_int_equal(u64(record(s, AUXTRACE_INFO, 0) + 16 + 8 * 8), 1);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", s->fd);
	assert_int_equal(source_open(&c, path, &o, &d), 0);
	assert_int_equal(c->nbufs, 1);
	got = &c->bufs[0];
	assert_int_equal(got->nspans, NHOLES);
	for (size_t i = 0; i < NHOLES; i++) {
		assert_int_equal(got->spans[i].pos, holes[i].pos);
		assert_int_equal(got->spans[i].size, 16);
		assert_memory_equal(got->spans[i].p, trace + 16 * i, 16);
		assert_int_equal(got->spans[i].cause_before, holes[i].cause);
		assert_int_equal(got->spans[i].lost_before, holes[i].lost);
	}
	assert_int_equal(got->cause_after, HWT_GAP_AUX_MISSING);
	assert_int_equal(got->lost_after, 40);
	capture_free(c);
}

/* Offsets that run over each other, causes that perf does not know, loss before the first byte. */
static void test_odd_holes(void **state)
{
	static const uint8_t trace[32] = { 1 };
	struct state *s = *state;
	struct trace_buf *b = pt_buf(s, 0, HWT_NONE, HWT_NONE);
	struct trace_span *sp = span(s, b, 0, trace, 16);

	sp->cause_before = HWT_GAP_AUX_LOST;
	sp->lost_before = 8;
	sp = span(s, b, 4, trace + 16, 16);
	sp->cause_before = HWT_GAP_DAMAGED;
	sp->lost_before = 32;
	span(s, b, 0, trace, 0);
	export(s);
	assert_int_equal(s->notes[195], 1);
	/* stands for the loss at the start */
	assert_int_equal(u64(record(s, AUX, 0) + 16), 0);
	assert_int_equal(u64(record(s, AUX, 0) + 24), 1);
	assert_int_equal(u64(record(s, AUX, 1) + 8), 8);
	assert_int_equal(u64(record(s, AUX, 1) + 24), 1);
	assert_int_equal(u64(record(s, AUX, 2) + 8), 8 + 16 + 32);
	assert_null(record(s, AUX, 3));
	assert_null(record(s, AUXTRACE, 2));
}

static struct trace_buf *etm_buf(struct state *s, int32_t cpu, uint8_t id, uint32_t configr)
{
	struct trace_buf *b = capture_add_buf(s->c, "etm");
	struct trace_cfg *g = capture_add_cfg(s->c, b);

	*g = (struct trace_cfg){ .core = "", .proto = HWT_PROTO_ETM4, .trace_id = id, .cpu = cpu,
		.arch = 8, .profile = 'A' };
	g->r.etm4.configr = configr;
	g->r.etm4.idr0 = 0x28000ea1;
	g->r.etm4.idr1 = 0x4100f403;
	g->r.etm4.idr2 = 0x488;
	b->cpu = cpu;
	b->pid = b->tid = HWT_NONE;
	return b;
}

/*
 * Trace without frames of two units: perf would take both for the first, so it is framed. The frame
 * by hand (Arm IHI 0029): id change at once in byte 0, data, id 0 for what is left. Behind it one
 * of id 0 alone.
 */
static void test_etm_frames(void **state)
{
	static const uint8_t a[] = { 0x80, 0x01, 0xf7 }, b[] = { 0x55 };
	static const uint8_t frame[16] = { 0x10 << 1 | 1, 0x80, 0, 0xf7 };
	struct state *s = *state;
	const uint8_t *r;

	span(s, etm_buf(s, 0, 0x10, 1), 0, a, sizeof(a));
	span(s, etm_buf(s, 1, 0x11, 1), 0, b, sizeof(b));
	export(s);
	r = record(s, AUXTRACE_INFO, 0);
	assert_int_equal(u32(r + 8), 3);
	assert_int_equal(u64(r + 16), 1);			/* version */
	assert_int_equal(u64(r + 24) & UINT32_MAX, 2);		/* units */
	assert_int_equal(u64(r + 40), 0x4040404040404040);
	assert_int_equal(u64(r + 56), 7);
	assert_int_equal(u64(r + 64), 1);
	assert_int_equal(u64(r + 72), 0x10);
	assert_int_equal(u64(r + 80), 0x28000ea1);
	assert_int_equal(u64(r + 40 + 80 + 8), 1);		/* CPU of the second */
	assert_int_equal(u64(record(s, AUX, 0) + 24), 0);	/* not raw */
	r = record(s, AUXTRACE, 0);
	assert_int_equal(u64(r + 8), 32);
	assert_int_equal(r[48], frame[0]);
	assert_int_equal(r[49], 0x80);
	/* bit 0 of even bytes is in the last one */
	assert_int_equal(r[50] | (r[63] & 2) >> 1, 0x01);
	assert_int_equal(r[51], 0xf7);
	assert_int_equal(r[64], 0x01);
	for (int i = 65; i < 80; i++)
		assert_int_equal(r[i], 0);
	assert_int_equal(u32(r + 40), UINT32_MAX);		/* by thread: no context ids */
	assert_int_not_equal(u32(r + 36), u32(record(s, AUXTRACE, 1) + 36));
	assert_int_equal(s->notes[194], 1);
}

/* Frames stay as they are; behind the last of them stands one of id 0, as above. */
static void test_etm_memory(void **state)
{
	static const uint8_t frames[32] = { 0x10 << 1 | 1, 0x80, 0, 0xf7, [16] = 0x01 };
	struct state *s = *state;
	struct trace_buf *b = etm_buf(s, 0, 0x10, 1);
	const uint8_t *r;

	b->framing = FRAMING_MEM;
	span(s, b, 0, frames, 16);
	span(s, b, 16, frames, 16);
	export(s);
	assert_int_equal(u64(record(s, AUX, 0) + 16), 16);
	assert_int_equal(u64(record(s, AUX, 1) + 16), 32);
	assert_int_equal(u64(record(s, AUXTRACE, 0) + 8), 16);
	r = record(s, AUXTRACE, 1);
	assert_int_equal(u64(r + 8), 32);
	assert_memory_equal(r + 48, frames, sizeof(frames));
	assert_int_equal(s->res.trace_bytes, 48);
}

/* One unit: as it is, told by a flag; no times, as there is nothing to order by. */
static void test_etm_raw(void **state)
{
	static const uint8_t a[] = { 0x80, 0x01, 0xf7 };
	struct state *s = *state;
	const uint8_t *attr;

	span(s, etm_buf(s, 0, 0, 1), 0, a, sizeof(a));
	export(s);
	assert_int_equal(u64(record(s, AUX, 0) + 24), 0x100);
	assert_memory_equal(record(s, AUXTRACE, 0) + 48, a, sizeof(a));
	assert_int_equal(u64(record(s, AUXTRACE_INFO, 0) + 72), 0x10);	/* an id where none was */
	attr = s->p + u64(s->p + 24);
	assert_int_equal(u64(attr + 24) & 4, 0);			/* PERF_SAMPLE_TIME */
}

static void refused(struct state *s)
{
	assert_int_equal(export_perf(s->c, s->fd, &s->o, &s->res, &s->diag), -HWT_E_FORMAT);
	assert_int_equal(s->diag.id, 190);
	assert_int_equal(lseek(s->fd, 0, SEEK_END), 0);
}

static void test_refused(void **state)
{
	struct state *s = *state;

	refused(s);				/* nothing in it */
	pt_buf(s, 0, HWT_NONE, HWT_NONE);
	pt_buf(s, 1, HWT_NONE, HWT_NONE)->cfgs[0].r.pt.mtc_freq = 3;
	refused(s);				/* one attribute for two settings */
	etm_buf(s, 2, 0x10, 1);
	refused(s);				/* two kinds of trace */
}

static void test_same_id(void **state)
{
	struct state *s = *state;

	etm_buf(s, 0, 0x10, 1)->framing = FRAMING_MEM;
	etm_buf(s, 1, 0x10, 0x41)->framing = FRAMING_MEM;
	refused(s);
}

/* A clock of two rates: perf gets one of them, and the user hears how far that is off. */
static void test_fitted_clock(void **state)
{
	struct state *s = *state;

	span(s, pt_buf(s, 3, HWT_NONE, HWT_NONE), 0, packets, sizeof(packets));
	assert_int_equal(time_line_add(&s->c->fit.lo, 0, 0, 1ull << TIME_RATE_BITS), 0);
	assert_int_equal(time_line_add(&s->c->fit.lo, 1000, 1000, 2ull << TIME_RATE_BITS), 0);
	assert_int_equal(time_line_add(&s->c->fit.lo, 2000, 3000, 2ull << TIME_RATE_BITS), 0);
	assert_int_equal(time_line_add(&s->c->fit.hi, 0, 10, 2ull << TIME_RATE_BITS), 0);
	time_fit_close(&s->c->fit);
	s->c->tsc = (struct time_map){ .fit = &s->c->fit, .mult = 1 };
	export(s);
	assert_int_equal(s->notes[191], 1);
}

/* Forks, execs and maps in their order; code told as bytes becomes a file. */
static void test_code(void **state)
{
	static const uint8_t v1[] = { 0x90, 0xc3 }, v2[] = { 0xcc };
	struct state *s = *state;
	struct hwt_image *img = s->c->image;
	struct hwt_map m = { .addr = 0x400000, .size = 0x1000, .file_off = 0x2000, .pid = 7,
		.path = "/no/such/file", .build_id = { 1, 2, 3, 4 }, .build_id_size = 4 };
	const char *dir = scratch("images");
	char path[256];
	uint8_t got[8];
	const uint8_t *r;
	int fd;

	span(s, pt_buf(s, 0, 7, 7), 0, packets, sizeof(packets));
	s->c->tsc = (struct time_map){ .mult = 1 };
	machine_task(s->c->machine, 7, 7);
	machine_set_comm(s->c->machine, 7, "parent", 6);
	machine_task(s->c->machine, 8, 8);
	machine_set_comm(s->c->machine, 8, "child", 5);
	image_add_map(img, &m);
	image_fork(img, 100, 7, 8);
	image_exec(img, 200, 8);
	image_add_bytes(img, 7, 300, 0x500000, v1, sizeof(v1), NULL);
	image_add_bytes(img, 7, 400, 0x500000, v2, sizeof(v2), NULL);
	image_add_bytes(img, 7, 500, 0x600002, v2, sizeof(v2), NULL);
	image_add_bytes(img, 7, 500, 0x600000, v1, sizeof(v1), NULL);
	image_add_bytes(img, HWT_NONE, 0, 0xffffffff81000000, v1, sizeof(v1), NULL);
	s->o.images = dir;
	export(s);
	assert_int_equal(s->notes[193], 1);		/* the second version */
	r = record(s, MMAP2, 0);
	assert_int_equal(r[5] & 0x40, 0x40);		/* with a build-id */
	assert_int_equal(u64(r + 16), 0x400000);
	assert_int_equal(u64(r + 24), 0x1000);
	assert_int_equal(u64(r + 32), 0x2000);
	assert_int_equal(r[40], 4);
	assert_memory_equal(r + 44, m.build_id, 4);
	assert_string_equal((const char *)r + 72, m.path);
	r = record(s, FORK, 0);
	assert_int_equal(u32(r + 8), 8);
	assert_int_equal(u32(r + 12), 7);
	assert_int_equal(u64(r + 24), 100);
	/* parent's name, child's from the fork on, and by exec */
	assert_string_equal((const char *)record(s, COMM, 0) + 16, "parent");
	assert_string_equal((const char *)record(s, COMM, 1) + 16, "child");
	r = record(s, COMM, 2);
	assert_string_equal((const char *)r + 16, "child");
	assert_int_equal(r[5] & 0x20, 0x20);
	/* both versions are files, mapped one over the other */
	for (int i = 1; i <= 2; i++) {
		r = record(s, MMAP2, i);
		assert_int_equal(u64(r + 16), 0x500000);
		assert_int_equal(u64(r + 24), i == 1 ? 2 : 1);
		snprintf(path, sizeof(path), "%s%s", dir, (const char *)r + 72);
		fd = open(path, O_RDONLY);
		assert_true(fd >= 0);
		assert_int_equal(read(fd, got, sizeof(got)), i == 1 ? 2 : 1);
		assert_memory_equal(got, i == 1 ? v1 : v2, i == 1 ? 2 : 1);
		close(fd);
	}
	/* an instruction may go on in the next piece: its bytes are in both files, in one map */
	r = record(s, MMAP2, 4);
	assert_int_equal(u64(r + 16), 0x600000);
	assert_int_equal(u64(r + 24), 2);
	snprintf(path, sizeof(path), "%s%s", dir, (const char *)r + 72);
	fd = open(path, O_RDONLY);
	assert_int_equal(read(fd, got, sizeof(got)), 3);
	assert_memory_equal(got, "\x90\xc3\xcc", 3);
	close(fd);
	/* the kernel's is a module at offset 0 */
	r = record(s, MMAP, 0);
	assert_int_equal(u32(r + 8), UINT32_MAX);
	assert_int_equal(u64(r + 16), 0xffffffff81000000);
	assert_int_equal(u64(r + 32), 0);
	assert_int_equal(s->res.files, 5);
}

/* A recorded path can not name a place outside of the directory. */
static void test_outside(void **state)
{
	struct state *s = *state;
	struct hwt_map m = { .addr = 0x400000, .size = 0x1000, .pid = 7 };
	char path[512], dir[256];

	scratch_write("code", "x", 1);
	snprintf(dir, sizeof(dir), "%s", scratch("deep"));
	snprintf(path, sizeof(path), "%s/../code", scratch("code2"));
	mkdir(scratch("code2"), 0777);
	m.path = path;
	span(s, pt_buf(s, 0, 7, 7), 0, packets, sizeof(packets));
	image_add_map(s->c->image, &m);
	s->o.images = dir;
	export(s);
	/* found, and told by the path that it really has */
	assert_null(strstr((const char *)record(s, MMAP2, 0) + 72, ".."));
	assert_non_null(strstr((const char *)record(s, MMAP2, 0) + 72, "/code"));
	assert_int_equal(s->res.files, 1);
}

static void test_no_images(void **state)
{
	struct state *s = *state;

	span(s, pt_buf(s, 0, 7, 7), 0, packets, sizeof(packets));
	image_add_bytes(s->c->image, 7, 0, 0x500000, "x", 1, NULL);
	export(s);
	assert_null(record(s, MMAP2, 0));
	assert_int_equal(s->notes[192], 1);
}

static void test_no_room(void **state)
{
	struct state *s = *state;
	volatile sig_atomic_t stop = 1;
	int fd = open("/dev/full", O_WRONLY), pipe_fd[2];

	span(s, pt_buf(s, 0, 7, 7), 0, packets, sizeof(packets));
	if (fd >= 0) {
		assert_int_equal(export_perf(s->c, fd, &s->o, &s->res, &s->diag), -ENOSPC);
		assert_int_equal(s->diag.id, 7);
		close(fd);
	}
	s->o.stop = &stop;
	assert_int_equal(export_perf(s->c, s->fd, &s->o, &s->res, &s->diag), -EINTR);
	s->o.stop = NULL;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(pipe_fd), 0);
	close(pipe_fd[0]);
	assert_int_equal(export_perf(s->c, pipe_fd[1], &s->o, &s->res, &s->diag), -EPIPE);
	close(pipe_fd[1]);
}

#define T(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		T(test_pt_info), T(test_holes), T(test_odd_holes), T(test_etm_frames),
		T(test_etm_memory), T(test_etm_raw), T(test_refused), T(test_same_id), T(test_code),
		T(test_outside), T(test_fitted_clock),
		T(test_no_images), T(test_no_room),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
