/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "perf.h"

void perf_walk_init(struct perf_walk *w, const struct perf *pf)
{
	*w = (struct perf_walk){ .pf = pf, .pos = pf->nsegs ? pf->segs[0].off : 0 };
}

void perf_walk_fini(struct perf_walk *w)
{
	perf_zstd_free(w->z);
	w->z = NULL;
}

__attribute__((format(printf, 5, 6)))
static void bad(struct perf_walk *w, unsigned id, unsigned severity, uint64_t off, const char *fmt,
		...)
{
	va_list ap;

	if (w->bad_id)
		return;
	w->bad_id = id;
	w->bad_severity = severity;
	w->bad_off = off;
	w->bad_file = w->pf->segs[w->seg].file;
	va_start(ap, fmt);
	vsnprintf(w->bad_text, sizeof(w->bad_text), fmt, ap);
	va_end(ap);
}

static void next_seg(struct perf_walk *w)
{
	if (w->z && perf_zstd_left(w->z))
		bad(w, E_ZSTD, HWT_NOTE_CUT, w->outer_off,
		    "the compressed stream ends inside a record: %zu bytes of it are there",
		    perf_zstd_left(w->z));
	if (w->z)
		perf_zstd_reset(w->z);
	w->inner = false;
	w->seg++;
	if (w->seg < w->pf->nsegs)
		w->pos = w->told = w->pf->segs[w->seg].off;
}

/* The header at w->pos. False (and the segment is left) if there is no usable record. */
static bool header(struct perf_walk *w, struct perf_rec *r)
{
	const struct perf_seg *s = &w->pf->segs[w->seg];
	uint64_t left = s->end - w->pos;
	struct cur c = cur_new(s->f->p + w->pos, (size_t)left, w->pf->swap);

	*r = (struct perf_rec){ .p = s->f->p + w->pos, .off = w->pos, .file = s->file };
	r->type = cur_u32(&c);
	r->misc = cur_u16(&c);
	r->size = cur_u16(&c);
	if (left < 8) {
		bad(w, E_REC_CUT, HWT_NOTE_CUT, w->pos,
		    "truncated record: %u of 8 header bytes are there", (unsigned)left);
		return false;
	}
	if (r->size < 8) {
		bad(w, E_REC_SIZE, HWT_NOTE_CUT, w->pos,
		    "record size %u is below 8; the rest of the section can not be read", r->size);
		return false;
	}
	if (r->size > left) {
		bad(w, E_REC_CUT, HWT_NOTE_CUT, w->pos,
		    "truncated record: type %u, %u bytes, %llu are there", r->type, r->size,
		    (unsigned long long)left);
		return false;
	}
	return true;
}

/* Bytes behind a record that its size does not count. */
static void extra(struct perf_walk *w, struct perf_rec *r)
{
	const struct perf_seg *s = &w->pf->segs[w->seg];
	struct cur c = cur_new(r->p, r->size, w->pf->swap);
	uint64_t have = s->end - w->pos, want, skip;

	cur_skip(&c, 8);
	want = r->type == REC_AUXTRACE ? cur_u64(&c) : cur_u32(&c);
	skip = r->type == REC_TRACING_DATA ? (want + 7) & ~7ull : want;
	if (c.bad)
		want = skip = 0;
	r->extra = s->f->p + w->pos;
	r->extra_want = want;
	r->extra_have = want < have ? want : have;
	w->pos += skip < have ? skip : have;
}

/* Starts on the slice in a COMPRESSED record. 0, or negative without memory. */
static int open_slice(struct perf_walk *w, const struct perf_rec *r)
{
	struct cur c = cur_new(r->p, r->size, w->pf->swap);
	uint64_t n;
	int rc;

	if (!w->z) {
		rc = perf_zstd_new(&w->z);
		if (rc)
			return rc;
	}
	cur_skip(&c, 8);
	n = cur_left(&c);
	if (r->type == REC_COMPRESSED2) {
		n = cur_u64(&c);
		if (c.bad || n > cur_left(&c)) {
			bad(w, E_ZSTD, HWT_NOTE_CUT, r->off,
			    "COMPRESSED2 claims %llu bytes, %zu are there",
			    (unsigned long long)n, cur_left(&c));
			n = cur_left(&c);
		}
	}
	w->outer_off = r->off;
	w->inner = true;
	perf_zstd_feed(w->z, c.p, (size_t)n);
	return 0;
}

/* The next record of the open slice: true if there is one. */
static bool inner(struct perf_walk *w, struct perf_rec *r)
{
	const char *what = "";
	const uint8_t *p;
	uint32_t n;
	int rc = perf_zstd_record(w->z, w->pf->swap, &p, &n, &what);
	struct cur c;

	if (rc == 1) {
		c = cur_new(p, n, w->pf->swap);
		*r = (struct perf_rec){ .p = p, .size = n, .off = w->outer_off, .inner = true,
					.file = w->pf->segs[w->seg].file };
		r->type = cur_u32(&c);
		r->misc = cur_u16(&c);
		return true;
	}
	w->inner = false;
	if (rc < 0) {	/* one stream: nothing behind the damage can be opened */
		bad(w, E_ZSTD, HWT_NOTE_WARN, w->outer_off, "compressed records are damaged: %s",
		    what);
		perf_zstd_reset(w->z);
	}
	return false;
}

int perf_next(struct perf_walk *w, struct perf_rec *r)
{
	const struct perf *pf = w->pf;
	int rc;

	w->bad_id = 0;
	while (w->seg < pf->nsegs) {
		if (w->inner) {
			if (inner(w, r))
				return 1;
			continue;
		}
		if (w->pos >= pf->segs[w->seg].end || !header(w, r)) {
			next_seg(w);
			continue;
		}
		file_done_before(pf->segs[w->seg].f, 0, w->pos, &w->told);
		w->pos += r->size;
		if (r->type == REC_COMPRESSED || r->type == REC_COMPRESSED2) {
			rc = open_slice(w, r);
			if (rc)
				return rc;
			continue;
		}
		if (r->type == REC_AUXTRACE || (r->type == REC_TRACING_DATA && pf->pipe))
			extra(w, r);
		return 1;
	}
	return 0;
}

bool perf_walk_stable(const struct perf_walk *w)
{
	return w->inner && perf_zstd_ready(w->z, w->pf->swap);
}
