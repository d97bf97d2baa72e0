/* SPDX-License-Identifier: BSD-2-Clause */
/* Trace buffers and pages of code: blocks in NAME.bin, each with an entry in NAME.idx. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/crc.h"
#include "native_priv.h"

/* The bytes first: an entry never speaks of bytes that a dying writer did not write. */
static int put_block(struct native_writer *w, struct native_buf *b, struct native_entry *e,
		     const void *p, size_t n)
{
	uint8_t raw[NATIVE_ENTRY];
	int rc;

	e->off = b->bin.size;
	e->size = n;
	e->crc = crc32c_add(0, p, n);
	native_entry_put(raw, e);
	rc = native_write(w, &b->bin, p, n);
	return rc ? rc : native_write(w, &b->idx, raw, sizeof(raw));
}

/* What is in the block so far, and an entry of the next one that continues it. */
static int put_trace(struct native_writer *w, struct native_buf *b, const void *p, size_t n)
{
	int rc = n ? put_block(w, b, &b->next, p, n) : native_failed(w);

	if (!n)
		return rc;
	b->next.kind = NATIVE_MORE;
	b->next.pos += n;
	return rc;
}

int native_flush_buf(struct native_writer *w, struct native_buf *b)
{
	size_t n = b->fill;

	b->fill = 0;
	return put_trace(w, b, b->block, n);
}

void native_free_buf(struct native_buf *b)
{
	native_shut(&b->bin);
	native_shut(&b->idx);
	free(b->block);
}

static struct native_buf *get(struct native_writer *w, int buf)
{
	return buf >= 0 && (size_t)buf < w->nbufs ? &w->bufs[buf] : NULL;
}

int native_trace(struct native_writer *w, int buf, uint64_t time, const void *bytes, size_t n)
{
	struct native_buf *b = get(w, buf);
	const uint8_t *p = bytes;

	if (native_failed(w) || !b)
		return b ? native_failed(w) : -EINVAL;
	while (n) {
		size_t k = NATIVE_BLOCK - b->fill < n ? NATIVE_BLOCK - b->fill : n;

		if (!b->fill)
			b->next.time = time;
		if (k == NATIVE_BLOCK) {
			put_trace(w, b, p, k);
		} else {
			memcpy(b->block + b->fill, p, k);
			b->fill += k;
			if (b->fill == NATIVE_BLOCK)
				native_flush_buf(w, b);
		}
		p += k;
		n -= k;
	}
	return native_failed(w);
}

int native_span(struct native_writer *w, int buf, const struct trace_span *s)
{
	struct native_buf *b = get(w, buf);
	struct native_entry e = { .kind = NATIVE_HOLE, .time = HWT_TIME_UNKNOWN,
		.pid = HWT_NONE, .tid = HWT_NONE };

	if (!b)
		return -EINVAL;
	native_flush_buf(w, b);
	e.pos = b->next.pos;
	e.cause = s->cause_before;
	e.lost = s->lost_before;
	if (e.cause || e.lost)
		put_block(w, b, &e, "", 0);
	b->next = (struct native_entry){ .kind = NATIVE_START, .pos = s->pos, .time = s->time,
		.pid = s->pid, .tid = s->tid, .flags = s->flags };
	return native_failed(w);
}

int native_hole(struct native_writer *w, int buf, unsigned cause, uint64_t lost)
{
	struct trace_span s = { .cause_before = (uint16_t)cause, .lost_before = lost };
	struct native_buf *b = get(w, buf);

	if (!b || cause >= HWT_GAP_CAUSES)
		return -EINVAL;
	/* lost bytes count in the buffer's own numbering, as far as that goes */
	s.pos = b->next.pos + b->fill;
	s.pos = lost > UINT64_MAX - s.pos ? s.pos : s.pos + lost;
	s.time = HWT_TIME_UNKNOWN;
	s.pid = b->next.pid;
	s.tid = b->next.tid;
	return native_span(w, buf, &s);
}

static bool cfg_fits(const struct trace_cfg *g)
{
	const struct trace_cfg zero = { 0 };

	return native_proto(g->proto) && (g->proto != HWT_PROTO_PT ||
		g->r.pt.nfilter <= sizeof(zero.r.pt.filter) / sizeof(zero.r.pt.filter[0]));
}

static void put_filters(struct native_writer *w, const struct trace_cfg *g)
{
	for (unsigned i = 0; i < g->r.pt.nfilter; i++)
		native_set(w, "unit", g->r.pt.filter_stop >> i & 1 ? "filter_stop" : "filter",
			   "0x%" PRIx64 "-0x%" PRIx64, g->r.pt.filter[i][0],
			   g->r.pt.filter[i][1]);
}

static void put_cfg(struct native_writer *w, size_t buf, const struct trace_cfg *g)
{
	const struct native_field *f;
	uint32_t v;

	native_end_section(w);
	native_set(w, "unit", "buffer", "%zu", buf);
	native_set(w, "unit", "proto", "%s", native_proto(g->proto));
	if (g->name)
		native_set(w, "unit", "name", "%s", g->name);
	if (g->core)
		native_set(w, "unit", "core", "%s", g->core);
	if (g->cpu != HWT_NONE)
		native_set(w, "unit", "cpu", "%d", g->cpu);
	native_set(w, "unit", "trace_id", "0x%02x", g->trace_id);
	native_set(w, "unit", "arch", "%u", g->arch);
	if (g->profile)
		native_set(w, "unit", "profile", "%c", g->profile);
	for (unsigned i = 0; (f = native_field(g->proto, i)); i++) {
		v = 0;
		/* the machine is little-endian, as are all that this writes on */
		memcpy(&v, (const char *)g + f->off, f->size);
		native_set(w, "unit", f->name, g->proto == HWT_PROTO_PT ? "%" PRIu32 :
			   "0x%" PRIx32, v);
	}
	if (g->proto == HWT_PROTO_PT)
		put_filters(w, g);
	native_end_section(w);
}

/* "3_cpu_1" of "cpu 1": any name becomes one that a file may have, and no other buffer's. */
static void file_name(char *out, size_t size, size_t buf, const char *name)
{
	int n = snprintf(out, size, "%zu_%.32s", buf, name);

	for (int i = 0; i < n; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.",
			    out[i]))
			out[i] = '_';
}

static int open_pair(struct native_writer *w, struct native_buf *b, unsigned sub,
		     const char *name)
{
	char file[64];
	int rc;

	snprintf(file, sizeof(file), "%s.bin", name);
	rc = native_open(w, &b->bin, sub, file);
	snprintf(file, sizeof(file), "%s.idx", name);
	return rc ? rc : native_open(w, &b->idx, sub, file);
}

static void describe(struct native_writer *w, size_t buf, const char *name, const char *file,
		     int32_t cpu, int32_t pid, int32_t tid, unsigned framing, size_t ncfgs)
{
	static const char *const framings[] = { "none", "memory", "tpiu" };

	native_end_section(w);
	native_set(w, "buffer", "number", "%zu", buf);
	native_set(w, "buffer", "name", "%s", name);
	native_set(w, "buffer", "file", "%s", file);
	native_set(w, "buffer", "framing", "%s", framings[framing]);
	if (cpu != HWT_NONE)
		native_set(w, "buffer", "cpu", "%d", cpu);
	if (pid != HWT_NONE)
		native_set(w, "buffer", "pid", "%d", pid);
	if (tid != HWT_NONE)
		native_set(w, "buffer", "tid", "%d", tid);
	native_set(w, "buffer", "units", "%zu", ncfgs);
}

int native_add_buf(struct native_writer *w, const char *name, int32_t cpu, int32_t pid,
		   int32_t tid, unsigned framing, const struct trace_cfg *cfgs, size_t ncfgs)
{
	size_t buf = w->nbufs;
	struct native_buf *v;
	char file[48];
	int rc;

	if (native_failed(w))
		return native_failed(w);
	if (framing > FRAMING_TPIU || ncfgs > NATIVE_MAX_UNITS || buf >= NATIVE_MAX_BUFS)
		return -EINVAL;
	for (size_t i = 0; i < ncfgs; i++)
		if (!cfg_fits(&cfgs[i]))
			return -EINVAL;
	v = realloc(w->bufs, (buf + 1) * sizeof(*v));
	if (!v)
		return native_fail(w, -ENOMEM, "hw", "");
	w->bufs = v;
	v[buf] = (struct native_buf){ .bin.fd = -1, .idx.fd = -1, .next = { .time =
		HWT_TIME_UNKNOWN, .pid = pid, .tid = tid } };
	w->nbufs++;
	v[buf].block = malloc(NATIVE_BLOCK);
	if (!v[buf].block)
		return native_fail(w, -ENOMEM, "hw", "");
	file_name(file, sizeof(file), buf, name);
	describe(w, buf, name, file, cpu, pid, tid, framing, ncfgs);
	for (size_t i = 0; i < ncfgs; i++)
		put_cfg(w, buf, &cfgs[i]);
	rc = native_end_section(w);
	if (!rc)
		rc = open_pair(w, &v[buf], SUB_HW, file);
	return rc ? rc : (int)buf;
}

int native_pages(struct native_writer *w, int32_t pid, uint64_t addr, uint64_t time,
		 const void *p, size_t n)
{
	struct native_entry e = { .kind = NATIVE_PAGES, .pos = addr, .time = time, .pid = pid,
		.tid = HWT_NONE };

	if (native_failed(w))
		return native_failed(w);
	if (!n || n > UINT64_MAX - addr || time == HWT_TIME_UNKNOWN)
		return -EINVAL;
	if (w->pages.bin.fd < 0 && open_pair(w, &w->pages, SUB_IMAGES, "pages"))
		return native_failed(w);
	return put_block(w, &w->pages, &e, p, n);
}
