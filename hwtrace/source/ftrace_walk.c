/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "ftrace.h"

/*
 * A chunk is unpacked as a whole; trace-cmd packs 10 pages in one. All walks of a capture are open
 * at once, so together they may take this much, and each always has room for small pages.
 */
#define CHUNKS_ALL	(1u << 30)
#define CHUNK_MIN	(128u << 10)
#define CHUNK_MAX	(16u << 20)

void ftrace_walk_init(struct ftrace_walk *w, const struct ftrace *ft, const struct ftrace_cpu *cpu)
{
	const struct ftrace_buf *b = (const struct ftrace_buf *)ft->bufs.v + cpu->buf;

	*w = (struct ftrace_walk){ .ft = ft, .cpu = cpu, .buf = b, .layout = ft->layout };
	w->layout.page_size = b->page_size;
	if (!cpu->packed) {
		w->run = cpu->p;
		w->run_size = (size_t)cpu->size;
		return;
	}
	w->chunks = cur_new(cpu->p, (size_t)cpu->size, ft->swap);
	w->nchunks = cur_u32(&w->chunks);
}

void ftrace_walk_fini(struct ftrace_walk *w)
{
	free(w->chunk);
	w->chunk = NULL;
}

__attribute__((format(printf, 5, 6)))
static void bad(struct ftrace_walk *w, unsigned id, unsigned severity, uint64_t off,
		const char *fmt, ...)
{
	va_list ap;

	if (w->bad_id)
		return;
	w->bad_id = id;
	w->bad_severity = severity;
	w->bad_off = off;
	va_start(ap, fmt);
	vsnprintf(w->bad_text, sizeof(w->bad_text), fmt, ap);
	va_end(ap);
}

static uint64_t run_off(const struct ftrace_walk *w)
{
	return w->cpu->packed ? w->chunk_off : w->cpu->off;
}

static size_t chunk_limit(const struct ftrace_walk *w)
{
	size_t n = CHUNKS_ALL / w->ft->cpus.n;

	return n < CHUNK_MIN ? CHUNK_MIN : n > CHUNK_MAX ? CHUNK_MAX : n;
}

/* Unpacks the next chunk that can be. 1, 0 at the end. */
static int next_chunk(struct ftrace_walk *w)
{
	while (w->nchunks) {
		uint64_t off = w->cpu->off + cur_pos(&w->chunks);
		uint32_t packed = cur_u32(&w->chunks), size = cur_u32(&w->chunks);
		const uint8_t *p = cur_take(&w->chunks, packed);
		bool torn = w->torn;

		w->nchunks--;
		w->torn = true;
		if (!p || w->chunks.bad) {
			w->nchunks = 0;
			bad(w, E_FT_CUT, HWT_NOTE_CUT, off, "cpu %d: the data ends inside a "
			    "compressed chunk", w->cpu->cpu);
			return 0;
		}
		if (!size || size > chunk_limit(w)) {
			bad(w, E_FT_PACKED, HWT_NOTE_WARN, off, "cpu %d: a compressed chunk of "
			    "%u bytes is left out", w->cpu->cpu, size);
			continue;
		}
		if (size > w->chunk_cap) {
			uint8_t *v = realloc(w->chunk, size);

			if (!v)
				return -ENOMEM;
			w->chunk = v;
			w->chunk_cap = size;
		}
		if (unpack(w->ft->pack, w->chunk, size, p, packed)) {
			bad(w, E_FT_PACKED, HWT_NOTE_WARN, off, "cpu %d: a compressed chunk of "
			    "%u bytes can not be unpacked", w->cpu->cpu, packed);
			continue;
		}
		w->torn = torn;
		w->chunk_off = off;
		w->run = w->chunk;
		w->run_size = size;
		w->pos = 0;
		return 1;
	}
	return 0;
}

/* 1 with a page begun, 0 at the end. */
static int next_page(struct ftrace_walk *w)
{
	size_t left = w->run_size - w->pos, n = w->layout.page_size;

	if (!left) {
		int rc = w->cpu->packed ? next_chunk(w) : 0;

		if (rc <= 0)
			return rc;
		left = w->run_size;
	}
	w->page_pos = w->pos;
	if (n > left)
		n = left;
	ring_page_start(&w->page, &w->layout, w->run + w->pos, n);
	if (n < w->layout.page_size)
		bad(w, E_FT_CUT, HWT_NOTE_CUT, run_off(w) + w->pos, "cpu %d: the last page is "
		    "cut", w->cpu->cpu);
	w->pos += n;
	w->in_page = true;
	return 1;
}

static void lost(struct ftrace_walk *w, struct ftrace_rec *r)
{
	uint64_t time = w->page.time;

	*r = (struct ftrace_rec){
		.time = w->any && w->last < time ? w->last : time, .until = time,
		.missed = w->torn ? UINT64_MAX : w->page.missed, .off = run_off(w),
	};
	if (w->any && w->last > time)
		r->time = r->until = w->last;
	if (!w->cpu->packed)
		r->off += w->page_pos;
	w->page.lost = w->torn = false;
	w->last = r->until;
	w->any = true;
}

static bool record(struct ftrace_walk *w, struct ftrace_rec *r)
{
	struct ring_rec rr;

	if (!ring_page_next(&w->page, &rr)) {
		w->in_page = false;
		w->torn |= w->page.bad != NULL;
		if (w->page.bad)
			bad(w, E_FT_PAGE, HWT_NOTE_WARN, run_off(w) + w->page_pos,
			    "cpu %d: a page %s", w->cpu->cpu, w->page.bad);
		return false;
	}
	*r = (struct ftrace_rec){ .p = rr.p, .size = rr.size, .time = rr.time,
				  .off = run_off(w) + (w->cpu->packed ? 0 : w->page_pos + rr.off) };
	if (w->any && r->time < w->last) {
		r->back = true;
		r->time = w->last;
	}
	r->until = r->time;
	w->last = r->time;
	w->any = true;
	return true;
}

int ftrace_walk_next(struct ftrace_walk *w, struct ftrace_rec *r)
{
	w->bad_id = 0;
	for (;;) {
		if (!w->in_page) {
			int rc = next_page(w);

			if (rc <= 0)
				return rc;
		}
		if (w->page.lost || w->torn) {
			lost(w, r);
			return 1;
		}
		if (record(w, r))
			return 1;
	}
}
