/* SPDX-License-Identifier: BSD-2-Clause */
/* The capture: trace of what ran, code, and what the guest recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/unit_cfg.h"
#include "hwtrace/model/etm4.h"
#include "whole.h"

#define FIRST_ID	0x10	/* of trace, the first CPU's */

struct sink { struct native_writer *w; struct truth_holes *holes; int buf, err; };

static int put_trace(void *arg, const void *p, size_t n)
{
	const struct sink *s = arg;

	return native_trace(s->w, s->buf, HWT_TIME_UNKNOWN, p, n);
}

static void put_lost(void *arg, uint64_t from, uint64_t to)
{
	struct sink *s = arg;

	s->err |= truth_hole_add(s->holes, from, to);
}

/* What the capture says of the unit. */
static struct trace_cfg describe(const struct whole *w, size_t cpu, const struct model_pt_cfg *pt,
				 const struct model_etm4_cfg *etm4)
{
	struct trace_cfg g = { .proto = HWT_PROTO_PT };

	if (whole_is_pt(w)) {
		g.r.pt.mtc_freq = pt->mtc_freq;
		g.r.pt.nom_freq = pt->ratio;
		g.r.pt.cpuid_15_eax = pt->ctc_eax;
		g.r.pt.cpuid_15_ebx = pt->ctc_ebx;
		g.r.pt.noretcomp = !pt->retcomp;
	} else {
		unit_cfg_etm4(&g, etm4);
	}
	g.cpu = (int32_t)cpu;
	return g;
}

static int feed(struct whole *w, size_t cpu, struct model_pt *pt, struct model_etm4 *etm4)
{
	struct model_event ev;
	struct rec_iter *it;
	int rc = rec_iter_new(&it, w->rec, cpu, &w->clk);

	if (rc)
		return rc;
	while ((rc = rec_next(it, &ev)) > 0) {
		rc = pt ? model_pt_put(pt, &ev) : model_etm4_put(etm4, &ev);
		if (rc)
			break;
	}
	if (!rc)
		rc = pt ? model_pt_end(pt) : model_etm4_end(etm4);
	rec_iter_free(it);
	return rc;
}

static int write_trace(struct whole *w, struct native_writer *nw, size_t cpu,
		       const struct whole_setting *set, struct truth_holes *holes)
{
	struct sink sink = { .w = nw, .holes = holes };
	const struct model_out out = { put_trace, put_lost, &sink };
	struct model_pt_cfg cfg = set->pt;
	struct model_etm4_cfg etm = set->etm4;
	struct model_pt *pt = NULL;
	struct model_etm4 *etm4 = NULL;
	struct trace_cfg g;
	char name[32];
	int rc;

	cfg.ratio = 30;
	cfg.ptw = true;
	cfg.ctc_eax = 2;
	cfg.ctc_ebx = 250;
	etm.trace_id = (uint8_t)(FIRST_ID + cpu);
	g = describe(w, cpu, &cfg, &etm);
	snprintf(name, sizeof(name), "cpu %zu", cpu);
	sink.buf = native_add_buf(nw, name, (int32_t)cpu, HWT_NONE, HWT_NONE, FRAMING_NONE, &g, 1);
	rc = sink.buf < 0 ? sink.buf : whole_is_pt(w) ? model_pt_new(&pt, &cfg, &out) :
		model_etm4_new(&etm4, &etm, &out);
	if (!rc)
		rc = feed(w, cpu, pt, etm4);
	model_pt_free(pt);
	model_etm4_free(etm4);
	return rc ? rc : sink.err;
}

/* The code that the kernel gives to all programs has no file: the guest's program copied it. */
static int write_vdso(const struct whole *w, struct native_writer *nw)
{
	char path[4096];

	snprintf(path, sizeof(path), "%s/../vdso", w->guest);
	return native_file(nw, "[vdso]", path, NULL, 0);
}

static int write_records(const struct whole_cpu *c, struct native_writer *w, int32_t cpu)
{
	uint64_t lost = 0;
	int rc = 0;

	for (size_t i = 0; i < c->nrec && !rc; i++) {
		struct hwt_rec_stream_lost l = { .rec = { .time = c->rec[i].data->time,
			.id = HWT_ID_stream_lost, .size = sizeof(l), .version = HWT_ABI_VERSION,
			.pid = -1, .tid = -1 }, .count = lost };

		lost += c->rec[i].lost;
		if (c->rec[i].lost)
			continue;
		if (lost)
			rc = native_event(w, cpu, &l, sizeof(l));
		if (!rc)
			rc = native_event(w, cpu, c->rec[i].data, c->rec[i].size);
		lost = 0;
	}
	return rc;
}

/* The guest's own file of a CPU: packets as they are. */
static int copy_packets(const struct whole *w, struct native_writer *nw, size_t cpu, bool *first)
{
	char path[4096];
	uint8_t *p = NULL;
	long size = -1;
	size_t at = 0;
	int rc = 0;
	FILE *f;

	snprintf(path, sizeof(path), "%s/kernel/cpu%zu", w->guest, cpu);
	f = fopen(path, "rb");
	if (f && !fseek(f, 0, SEEK_END))
		size = ftell(f);
	if (size > 0)
		p = malloc((size_t)size);
	if (!p || fseek(f, 0, SEEK_SET) || fread(p, (size_t)size, 1, f) != 1)
		rc = -EIO;
	while (!rc && at + sizeof(struct hwt_ctf_packet) <= (size_t)size) {
		struct hwt_ctf_packet h;

		memcpy(&h, p + at, sizeof(h));
		if (h.packet_size / 8 < sizeof(h) || h.packet_size / 8 > (size_t)size - at) {
			rc = -EINVAL;
			break;
		}
		if (*first)
			rc = native_take_uuid(nw, h.uuid);
		*first = false;
		if (!rc)
			rc = native_packet(nw, p + at, h.packet_size / 8);
		at += h.packet_size / 8;
	}
	free(p);
	if (f)
		fclose(f);
	return rc;
}

int whole_write(struct whole *w, const char *dir, const struct whole_setting *set,
		struct truth_holes holes[WHOLE_CPUS])
{
	const char *counter = whole_is_pt(w) ? "tsc" : "cntvct";
	/* what ticks are worth is of no interest: as if a nanosecond each */
	struct native_clock clock = { .counter = counter, .base = "", .frequency = 1000000000 };
	struct hwt_diag diag = { .code = 0 };
	struct native_writer *nw;
	bool first = true;
	int rc = native_create(&nw, dir, true, &diag), closed;

	if (rc) {
		fprintf(stderr, "whole: %s\n", diag.text);
		return rc;
	}
	if (set->guest_clock)
		clock = (struct native_clock){ .counter = counter, .base = "CLOCK_MONOTONIC",
			.from_records = true };
	native_set(nw, "capture", "recorder", "model");
	native_set(nw, "capture", "arch", whole_is_pt(w) ? "x86_64" : "aarch64");
	native_clock(nw, &clock);
	if (set->symbols)
		native_set(nw, "commits", "symbols", "vtp_");
	for (size_t i = 0; i < w->nlines && !set->spaces && !set->symbols; i++)
		native_commit(nw, w->line[i].name, w->line[i].addr);
	if (w->marked)
		native_set(nw, "commits", "marks", "ptwrite");
	rc = code_write_kcore(w->code, w->kcore);
	if (!rc && !whole_is_pt(w))
		rc = write_vdso(w, nw);
	for (size_t i = 0; i < w->ncpus && !rc; i++)
		rc = write_trace(w, nw, i, set, &holes[i]);
	for (size_t i = 0; i < w->ncpus && !rc; i++)
		rc = set->lose ? write_records(&w->cpu[i], nw, (int32_t)i) :
			copy_packets(w, nw, i, &first);
	closed = native_close(nw, &diag);
	if (rc || closed)
		fprintf(stderr, "whole: %s\n", rc ? hwt_strerror(rc) : diag.text);
	return rc ? rc : closed;
}
