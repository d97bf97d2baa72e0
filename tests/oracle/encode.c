/* SPDX-License-Identifier: BSD-2-Clause */
#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code.h"
#include "encode.h"
#include "hwtrace/capture/native.h"
#include "hwtrace/capture/unit_cfg.h"
#include "hwtrace/model/frame.h"

#define FIRST_ID	0x10	/* trace id of the first thread */
#define PID	1000

#define SEGMENTS	16

const char *encode_program;

struct encoder;

struct sink {
	struct encoder *e;
	int buf;
	uint8_t id;
	struct truth_holes *holes;
	int err;
};

struct encoder {
	struct native_writer *w;
	struct rec *r;
	const struct rec_clock *clk;
	struct model_frame *frame;
	struct code code;
	struct encode_sum *sum;
	Elf64_Phdr mapped[SEGMENTS];	/* code of encode_program */
	size_t nmapped;
};

static int say(const char *what, int err)
{
	fprintf(stderr, "oracle: %s: %s\n", what, hwt_strerror(err));
	return err;
}

int encode_rewrites(const struct rec *r)
{
	struct code c = { 0 };
	int rc = codemap_collect(&c, r);

	rc = rc ? rc : c.changes;
	codemap_free(&c);
	return rc;
}

static int read_program(struct encoder *e)
{
	FILE *f = fopen(encode_program, "rb");
	Elf64_Ehdr h;
	Elf64_Phdr ph;
	int ok = f && fread(&h, sizeof(h), 1, f) == 1 && !fseek(f, (long)h.e_phoff, SEEK_SET);

	for (unsigned i = 0; ok && i < h.e_phnum && e->nmapped < SEGMENTS; i++) {
		ok = fread(&ph, sizeof(ph), 1, f) == 1;
		if (ok && ph.p_type == PT_LOAD && ph.p_flags & PF_X)
			e->mapped[e->nmapped++] = ph;
	}
	if (f)
		fclose(f);
	return ok && e->nmapped ? 0 : -EINVAL;
}

static int map_program(struct encoder *e)
{
	int err = read_program(e);

	for (size_t i = 0; i < e->nmapped && !err; i++) {
		const struct hwt_map m = { .addr = e->mapped[i].p_vaddr,
			.size = e->mapped[i].p_filesz, .file_off = e->mapped[i].p_offset,
			.path = encode_program, .pid = PID };

		err = native_map(e->w, &m);
	}
	if (!err)
		err = native_file(e->w, encode_program, NULL, NULL, 0);
	return err ? say(encode_program, err) : 0;
}

static int is_mapped(const struct encoder *e, uint64_t addr)
{
	for (size_t i = 0; i < e->nmapped; i++) {
		if (addr - e->mapped[i].p_vaddr < e->mapped[i].p_filesz)
			return 1;
	}
	return 0;
}

/* Runs of known bytes. */
static int put_page(struct encoder *e, const struct code_page *pg)
{
	int err = 0;

	for (size_t o = 0; o < CODE_PAGE && !err; o++) {
		size_t from = o, n;

		while (o < CODE_PAGE && pg->have[o])
			o++;
		n = o - from;
		if (n)
			err = native_pages(e->w, HWT_NONE, pg->addr + from, 0, pg->byte + from, n);
	}
	return err;
}

static int put_code(struct encoder *e)
{
	int err = codemap_collect(&e->code, e->r);

	for (size_t i = 0; i < e->code.slots && !err; i++) {
		if (e->code.page[i] && !is_mapped(e, e->code.page[i]->addr))
			err = put_page(e, e->code.page[i]);
	}
	return err ? say("code", err) : 0;
}

/* Code that ran since the page was written last is not this block: it was written again. */
static int is_written(const struct code_page *pg, uint64_t addr, const uint8_t *p, size_t n)
{
	if (!pg->since)
		return 1;
	for (size_t i = 0; i < n && addr % CODE_PAGE + i < CODE_PAGE; i++) {
		size_t o = addr % CODE_PAGE + i;

		if (pg->have[o] == 2 && pg->byte[o] != p[i])
			return 1;
	}
	return 0;
}

/*
 * If other code was where the block of @ev runs, it was written between the last time that code of
 * this page ran and the event before, at @tick. Half the way leaves room for a trace that tells a
 * time late.
 */
static int follow_code(struct encoder *e, const struct model_event *ev, uint64_t tick)
{
	uint64_t addr = ev->block->first;
	size_t n = ev->block->last + ev->block->last_size - addr;
	struct code_page *pg = codemap_page(&e->code, addr - addr % CODE_PAGE, 1);
	const uint8_t *p = rec_bytes(ev->block);
	int err = 0;

	if (!pg)
		return -ENOMEM;
	if (codemap_differs(&e->code, addr, p, n, 1)) {
		if (is_written(pg, addr, p, n)) {
			pg->since = pg->ran + (tick - pg->ran) / 2;
			for (size_t i = 0; i < CODE_PAGE; i++)
				pg->have[i] = pg->have[i] != 0;
			e->sum->pages++;
		}
		err = native_pages(e->w, HWT_NONE, addr, pg->since, p, n);
	}
	pg->ran = ev->tick;
	return err ? err : codemap_put(&e->code, addr, p, n, 2);
}

static int put_trace(void *arg, const void *p, size_t n)
{
	struct sink *s = arg;

	if (s->e->frame)
		return model_frame_put(s->e->frame, s->id, p, n);
	return native_trace(s->e->w, s->buf, HWT_TIME_UNKNOWN, p, n);
}

static int put_frames(void *arg, const void *p, size_t n)
{
	return native_trace(((struct encoder *)arg)->w, 0, HWT_TIME_UNKNOWN, p, n);
}

static void put_lost(void *arg, uint64_t from, uint64_t to)
{
	struct sink *s = arg;
	int err = truth_hole_add(s->holes, from, to);

	if (err)
		s->err = err;
}

static int begin(struct encoder *e, const char *dir, const char *arch)
{
	const struct native_clock clock = { .counter = "qemu-insns", .base = "CLOCK_MONOTONIC",
					    .frequency = 1000000000 };
	struct hwt_diag diag = { 0 };
	int err = native_create(&e->w, dir, true, &diag);

	if (err) {
		fprintf(stderr, "oracle: %s\n", diag.text);
		return err;
	}
	native_set(e->w, "capture", "recorder", "model");
	native_set(e->w, "capture", "arch", "%s", arch);
	native_clock(e->w, &clock);
	err = encode_program ? map_program(e) : 0;
	return err ? err : put_code(e);
}

static int end(struct encoder *e, int err)
{
	struct hwt_diag diag = { 0 };
	int closed = native_close(e->w, &diag);

	if (closed)
		fprintf(stderr, "oracle: %s\n", diag.text);
	codemap_free(&e->code);
	return err ? err : closed;
}

typedef int (*put_fn)(void *unit, const struct model_event *ev);

/* All events of a thread into a unit. */
static int feed(struct encoder *e, size_t thread, put_fn put, void *unit, struct sink *s)
{
	struct rec_iter *it;
	struct model_event ev;
	uint64_t tick = e->clk->start;
	int err = rec_iter_new(&it, e->r, thread, e->clk), r;

	if (err)
		return say("recording", err);
	while (!err && (r = rec_next(it, &ev))) {
		if (r < 0) {
			fprintf(stderr, "oracle: recording: %s\n", rec_why(it));
			err = r;
			break;
		}
		if (ev.op == MODEL_RUN && e->code.changes)
			err = follow_code(e, &ev, tick);
		tick = ev.tick;
		if (!err)
			err = put(unit, &ev);
		if (err)
			say("unit", err);
	}
	rec_iter_free(it);
	return err ? err : s->err;
}

static int put_pt(void *unit, const struct model_event *ev)
{
	return model_pt_put(unit, ev);
}

static int put_etm4(void *unit, const struct model_event *ev)
{
	return model_etm4_put(unit, ev);
}

/* All counts are 64-bit numbers. */
static void add_counts(void *sum, const void *c, size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)sum)[i] += ((const uint64_t *)c)[i];
}

static int pt_thread(struct encoder *e, size_t i, const struct model_pt_cfg *cfg, struct sink *s)
{
	struct trace_cfg g = { .proto = HWT_PROTO_PT, .cpu = (int32_t)i };
	const struct model_out out = { put_trace, put_lost, s };
	struct model_pt *m;
	char name[32];
	int err;

	g.r.pt.mtc_freq = cfg->mtc_freq;
	g.r.pt.nom_freq = cfg->ratio;
	g.r.pt.cpuid_15_eax = cfg->ctc_eax;
	g.r.pt.cpuid_15_ebx = cfg->ctc_ebx;
	g.r.pt.noretcomp = !cfg->retcomp;
	snprintf(name, sizeof(name), "cpu %zu", i);
	s->buf = native_add_buf(e->w, name, (int32_t)i, PID, PID + (int32_t)i, FRAMING_NONE, &g, 1);
	if (s->buf < 0)
		return say("buffer", s->buf);
	err = model_pt_new(&m, cfg, &out);
	if (err)
		return say("options of the unit", err);
	err = feed(e, i, put_pt, m, s);
	if (!err)
		err = model_pt_end(m);
	add_counts(&e->sum->pt, model_pt_counts(m), sizeof(e->sum->pt));
	model_pt_free(m);
	return err;
}

int encode_pt(const char *dir, struct rec *r, const struct rec_clock *clk,
	      const struct model_pt_cfg *cfg, struct truth_holes *holes, struct encode_sum *sum)
{
	struct encoder e = { .r = r, .clk = clk, .sum = sum };
	int err = begin(&e, dir, "x86_64");

	for (size_t i = 0; i < rec_threads(r) && !err; i++) {
		struct sink s = { .e = &e, .holes = &holes[i] };

		err = pt_thread(&e, i, cfg, &s);
	}
	return end(&e, err);
}

static int etm4_thread(struct encoder *e, size_t i, const struct model_etm4_cfg *cfg,
		       struct sink *s)
{
	const struct model_out out = { put_trace, put_lost, s };
	struct model_etm4_cfg c = *cfg;
	struct model_etm4 *m;
	struct trace_cfg g;
	char name[32];
	int err;

	c.trace_id = s->id;
	unit_cfg_etm4(&g, &c);
	g.cpu = c.trace_id - FIRST_ID;
	snprintf(name, sizeof(name), "cpu %zu", i);
	if (!e->frame)
		s->buf = native_add_buf(e->w, name, (int32_t)i, PID, PID + (int32_t)i,
					FRAMING_NONE, &g, 1);
	if (s->buf < 0)
		return say("buffer", s->buf);
	err = model_etm4_new(&m, &c, &out);
	if (err)
		return say("options of the unit", err);
	err = feed(e, i, put_etm4, m, s);
	if (!err)
		err = model_etm4_end(m);
	add_counts(&e->sum->etm4, model_etm4_counts(m), sizeof(e->sum->etm4));
	model_etm4_free(m);
	return err;
}

static int open_frames(struct encoder *e, const struct model_etm4_cfg *cfg)
{
	const struct model_frame_cfg fc = { .seed = cfg->seed, .idle = 1 };
	const struct model_out out = { put_frames, NULL, e };
	struct trace_cfg g[64];
	size_t n = rec_threads(e->r);
	int err;

	if (n > sizeof(g) / sizeof(g[0]))
		return say("too many threads", -E2BIG);
	for (size_t i = 0; i < n; i++) {
		struct model_etm4_cfg c = *cfg;

		c.trace_id = (uint8_t)(FIRST_ID + i);
		unit_cfg_etm4(&g[i], &c);
		g[i].cpu = (int32_t)i;
	}
	err = native_add_buf(e->w, "ETB", HWT_NONE, PID, HWT_NONE, FRAMING_MEM, g, n);
	return err < 0 ? say("buffer", err) : model_frame_new(&e->frame, &fc, &out);
}

int encode_etm4(const char *dir, struct rec *r, const struct rec_clock *clk,
		const struct model_etm4_cfg *cfg, int framed, struct truth_holes *holes,
		struct encode_sum *sum)
{
	struct encoder e = { .r = r, .clk = clk, .sum = sum };
	int err = begin(&e, dir, rec_isa(r) == MODEL_A64 ? "aarch64" : "arm");

	if (!err && framed)
		err = open_frames(&e, cfg);
	for (size_t i = 0; i < rec_threads(r) && !err; i++) {
		struct sink s = { .e = &e, .holes = &holes[i], .id = (uint8_t)(FIRST_ID + i) };

		err = etm4_thread(&e, i, cfg, &s);
	}
	if (e.frame && !err)
		err = model_frame_flush(e.frame);
	model_frame_free(e.frame);
	return end(&e, err);
}
