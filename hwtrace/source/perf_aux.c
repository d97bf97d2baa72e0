/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "perf.h"

/*
 * Longer than other files: one run over offsets makes all of it.
 *
 * From AUX and AUXTRACE records to trace buffers. AUX offsets count all bytes that a buffer ever
 * took, so they name every byte: chunks (AUXTRACE, the bytes) and AUX records (what the kernel said
 * of them) are joined by offset, never by order in the file.
 */

#define ALIGN 8			/* the tool pads a chunk to this; zero bytes after the trace */

struct group {			/* what one AUX mmap wrote, of one CPU or one thread */
	int32_t cpu, tid;
	struct perf_chunk *chunks;
	size_t nchunks;
	struct perf_aux **aux;
	size_t naux;
	uint64_t missing;	/* declared in AUXTRACE and cut */
	bool snapshot;		/* AUX records tell where the head was, not what was kept */
	size_t first;		/* index of its first trace buffer */
};

static int by_chunk(const void *pa, const void *pb)
{
	const struct perf_chunk *a = pa, *b = pb;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->cpu == HWT_NONE && a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	if (a->file != b->file)
		return a->file < b->file ? -1 : 1;
	return a->file_off < b->file_off ? -1 : a->file_off > b->file_off;
}

static int by_aux(const void *pa, const void *pb)
{
	const struct perf_aux *a = *(struct perf_aux *const *)pa;
	const struct perf_aux *b = *(struct perf_aux *const *)pb;

	if (a->off != b->off)
		return a->off < b->off ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

static void note(struct perf *pf, unsigned id, uint64_t off, const char *what, uint64_t n,
		 uint64_t at)
{
	notes_add(&pf->c->notes, HWT_NOTE_WARN, id, pf->c->path, off,
		  "%s: %" PRIu64 " bytes from AUX offset %" PRIu64, what, n, at);
}

/*
 * Chunks in order and without overlap. A later chunk that starts inside the padding of the one
 * before has the true bytes; any other overlap holds the same bytes twice.
 */
static void clip(struct perf *pf, struct group *g)
{
	uint64_t end = 0;
	size_t n = 0;

	for (size_t i = 0; i < g->nchunks; i++) {
		struct perf_chunk c = g->chunks[i];
		uint64_t cut = c.off < end ? end - c.off : 0;

		if (c.size > UINT64_MAX - c.off)
			c.size = UINT64_MAX - c.off;
		g->missing += c.missing;
		if (cut && cut < ALIGN && n && g->chunks[n - 1].size > cut && c.size > cut) {
			g->chunks[n - 1].size -= cut;
		} else if (cut) {
			if (cut > c.size)
				cut = c.size;
			note(pf, 22, c.file_off, "trace bytes present twice, used once", cut,
			     c.off);
			c.off += cut;
			c.size -= cut;
			c.p += cut;
			c.file_off += cut;
		}
		if (!c.size)
			continue;
		end = c.off + c.size;
		g->chunks[n++] = c;
	}
	g->nchunks = n;
}

/* Index of the first chunk that ends behind @off. */
static size_t chunk_at(const struct group *g, uint64_t off)
{
	size_t lo = 0, hi = g->nchunks;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (g->chunks[mid].off + g->chunks[mid].size <= off)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/*
 * A snapshot buffer runs over itself, and its AUX record gives the head, which is the end, and a
 * size that may be the whole buffer's. Clamped to the chunk that ends there, it has a start. Where
 * that does not fit, the numbers are taken as they stand if the bytes are there; if not, nobody
 * asked to keep them.
 */
static void unwrap(struct group *g, struct perf_aux *a)
{
	uint64_t size = a->size;
	size_t i;

	if (!(a->flags & AUX_OVERWRITE))
		return;
	g->snapshot = true;
	i = a->off ? chunk_at(g, a->off - 1) : g->nchunks;
	if (i < g->nchunks && g->chunks[i].off < a->off) {
		if (size > g->chunks[i].size)
			size = g->chunks[i].size;
		if (size <= a->off && a->off - size >= g->chunks[i].off) {
			a->off -= size;
			a->size = size;
			return;
		}
	}
	i = chunk_at(g, a->off);
	if (i == g->nchunks || g->chunks[i].off > a->off)
		a->size = 0;
}

/* Copies the bytes of @s behind the spool's end; it gets its pointer when all is there. */
static int spool_piece(struct perf *pf, const struct group *g, struct file *sp,
		       struct trace_span *s)
{
	uint64_t off = s->pos, left = s->size;

	s->file_off = sp->size;
	s->file = sp;
	for (size_t i = chunk_at(g, off); left; i++) {
		const struct perf_chunk *c = &g->chunks[i];
		uint64_t skip = off - c->off, n = c->size - skip < left ? c->size - skip : left;
		int rc = file_spool_write(sp, c->p + skip, (size_t)n);

		if (rc)
			return rc;
		off += n;
		left -= n;
	}
	return 0;
}

struct build {			/* while the buffers are made */
	struct perf *pf;
	struct file *spool;	/* NULL: not needed so far */
	bool spool_failed;
	uint64_t truncated, partial, collisions;	/* AUX records with these flags */
};

/* Gives @s its bytes: in place if one chunk holds them, else from the spool. */
static int place(struct build *b, const struct group *g, struct trace_span *s)
{
	struct perf *pf = b->pf;
	const struct perf_chunk *c = &g->chunks[chunk_at(g, s->pos)];
	uint64_t skip = s->pos - c->off;
	int rc = 0;

	s->p = c->p + skip;
	s->file = pf->c->files[c->file];
	s->file_off = c->file_off + skip;
	if (s->size <= c->size - skip)
		return 0;
	if (!b->spool && !b->spool_failed)
		rc = file_spool_new(&b->spool, pf->c->path);
	if (!rc && !b->spool_failed) {
		struct trace_span whole = *s;

		rc = spool_piece(pf, g, b->spool, &whole);
		if (!rc)
			*s = whole;
	}
	if (rc == -ENOMEM)
		return rc;
	if (rc || b->spool_failed) {
		if (!b->spool_failed)
			notes_add(&pf->c->notes, HWT_NOTE_CUT, E_SPOOL, pf->c->path, s->file_off,
				  "can not copy trace to a temporary file: %s", strerror(-rc));
		b->spool_failed = true;
		s->size = c->size - skip;
	}
	return 0;
}

/* Buffers of a group: PT has one, CoreSight one for each framing, and CPU where unformatted. */
static struct trace_buf *buf_for(struct perf *pf, const struct group *g, const struct perf_aux *a)
{
	bool cs = pf->info_type == AUXTRACE_CS_ETM, raw;
	struct capture *cap = pf->c;
	struct trace_buf *b;
	uint8_t framing;
	char name[64];
	int32_t cpu;

	/* bytes that no AUX record describes are taken like the first ones that one does */
	if (!a && g->naux)
		a = g->aux[0];
	raw = cs && a && (a->flags & AUX_FORMAT) == AUX_CS_RAW;
	framing = cs && !raw ? FRAMING_MEM : FRAMING_NONE;
	cpu = raw && g->cpu == HWT_NONE ? a->cpu : g->cpu;
	for (size_t i = g->first; i < cap->nbufs; i++)
		if (cap->bufs[i].framing == framing && cap->bufs[i].cpu == cpu)
			return &cap->bufs[i];
	if (g->cpu != HWT_NONE)
		snprintf(name, sizeof(name), "cpu %d", g->cpu);
	else if (cpu != HWT_NONE)
		snprintf(name, sizeof(name), "tid %d cpu %d", g->tid, cpu);
	else
		snprintf(name, sizeof(name), "tid %d", g->tid);
	b = capture_add_buf(cap, name);
	if (!b)
		return NULL;
	b->framing = framing;
	b->cpu = cpu;
	b->tid = g->cpu == HWT_NONE ? g->tid : HWT_NONE;
	b->pid = b->tid == HWT_NONE ? HWT_NONE : machine_pid(cap->machine, b->tid);
	if (cs ? perf_cs_cfgs(pf, b, raw ? cpu : HWT_NONE) : perf_pt_cfg(pf, b))
		return NULL;
	return b;
}

/* What is known to be missing at the place where the next span starts. */
struct hole { uint16_t cause; uint64_t lost; };

static void lose(struct hole *h, uint16_t cause, uint64_t lost)
{
	if (h->cause == HWT_GAP_NONE || (lost && !h->lost))
		h->cause = cause;
	h->lost += lost;
}

/* A run over the AUX offsets of one group. */
struct run {
	struct build *b;
	const struct group *g;
	struct trace_buf *last;		/* that took the last piece, */
	const struct perf_aux *aux;	/* and its AUX record */
	struct hole h;
};

/* Adds [off, off + size), all of it present and contiguous. @aux NULL: no record covers it. */
static int add_piece(struct run *r, uint64_t off, uint64_t size, const struct perf_aux *aux)
{
	struct perf *pf = r->b->pf;
	struct trace_buf *tb = buf_for(pf, r->g, aux);
	struct trace_span *s;
	bool whole, owned;

	if (!tb)
		return -ENOMEM;
	s = tb->nspans ? &tb->spans[tb->nspans - 1] : NULL;
	/* PT runs on over AUX records; a CoreSight unit is started again for each */
	whole = pf->info_type == AUXTRACE_PT || (r->last == tb && r->aux == aux);
	r->last = tb;
	r->aux = aux;
	if (whole && s && r->h.cause == HWT_GAP_NONE && s->pos + s->size == off) {
		s->size += size;
		if (aux)
			s->flags |= (uint16_t)aux->flags;
		return 0;
	}
	s = capture_add_span(pf->c, tb);
	if (!s)
		return -ENOMEM;
	s->pos = off;
	s->size = size;
	s->time = aux ? aux->time : HWT_TIME_UNKNOWN;
	/* an AUX record is of whoever ran as it was written; of a CPU the schedule tells who ran */
	owned = aux && (tb->cpu == HWT_NONE || !pf->cpu_wide);
	s->pid = owned ? aux->pid : HWT_NONE;
	s->tid = owned ? aux->tid : HWT_NONE;
	s->flags = aux ? (uint16_t)aux->flags : 0;
	s->cause_before = r->h.cause;
	s->lost_before = r->h.lost;
	r->h = (struct hole){ 0 };
	return 0;
}

static void absent(struct run *r, uint64_t off, uint64_t size, const struct perf_aux *aux)
{
	if (aux)
		note(r->b->pf, 21, aux->file_off, "declared, not in the file", size, off);
	lose(&r->h, aux ? HWT_GAP_AUX_MISSING : HWT_GAP_AUX_LOST, size);
}

/* Adds what is present of [off, end); @aux NULL if no AUX record covers it. */
static int add_range(struct run *r, uint64_t off, uint64_t end, const struct perf_aux *aux)
{
	const struct group *g = r->g;

	for (size_t i = chunk_at(g, off); off < end; i++) {
		const struct perf_chunk *c = i < g->nchunks ? &g->chunks[i] : NULL;
		uint64_t stop = c && c->off < end ? c->off : end, n;
		bool pad;

		if (!c)
			stop = end;
		if (stop > off) {
			absent(r, off, stop - off, aux);
			off = stop;
		}
		if (!c || off >= end)
			return 0;
		n = c->off + c->size < end ? c->off + c->size - off : end - off;
		/* fewer than 8 bytes at the end of a chunk that no AUX record counts are padding */
		pad = !aux && g->naux && n < ALIGN && off + n == c->off + c->size;
		if (!aux && !pad && !g->snapshot)
			note(r->b->pf, E_NO_AUX, c->file_off + (off - c->off),
			     "trace without AUX record", n, off);
		if (!pad) {
			int rc = add_piece(r, off, n, aux);

			if (rc)
				return rc;
		}
		off += n;
	}
	return 0;
}

/* A flag speaks of a record, whose size is not what was lost. */
static void flag_note(struct perf *pf, unsigned id, const struct perf_aux *a, const char *what)
{
	notes_add(&pf->c->notes, HWT_NOTE_WARN, id, pf->c->path, a->file_off,
		  "%s, flagged in the AUX record of the %" PRIu64 " bytes from AUX offset %" PRIu64,
		  what, a->size, a->off);
}

/* The flags of one AUX record, once for each. Three counts that mean three things. */
static void aux_flags(struct build *b, const struct perf_aux *a)
{
	struct perf *pf = b->pf;

	b->truncated += !!(a->flags & AUX_TRUNCATED);
	b->partial += !!(a->flags & AUX_PARTIAL);
	b->collisions += !!(a->flags & AUX_COLLISION);
	if (a->flags & AUX_TRUNCATED)
		flag_note(pf, 20, a, "recorder lost trace (truncated)");
	if (a->flags & AUX_COLLISION)
		flag_note(pf, 23, a, "collision with another user of the trace unit");
	if (a->flags & AUX_PARTIAL)
		flag_note(pf, E_AUX_FLAGS, a, "trace has gaps inside (partial)");
}

/*
 * The record is written when the unit has stopped, before it starts again, but for a sample. A sink
 * that several CPUs share, and one that is overwritten, may give older bytes later.
 */
static int add_mark(struct run *r, const struct perf_aux *a, uint64_t end)
{
	const bool after = r->last && r->last->framing == FRAMING_NONE &&
		!r->b->pf->nsampled && !(a->flags & AUX_OVERWRITE);

	return !r->last || r->aux != a || a->time == HWT_TIME_UNKNOWN ? 0 :
		capture_add_mark(r->b->pf->c, r->last, end, a->time, after);
}

/* One AUX record; *pos is the offset up to which everything is done. */
static int add_aux(struct run *r, const struct perf_aux *a, uint64_t *pos)
{
	struct perf *pf = r->b->pf;
	uint64_t end = a->size > UINT64_MAX - a->off ? UINT64_MAX : a->off + a->size;
	int rc = 0;

	aux_flags(r->b, a);
	if (a->off > *pos) {
		rc = add_range(r, *pos, a->off, NULL);
		*pos = a->off;
	} else if (a->off < *pos && a->size) {
		note(pf, 22, a->file_off, "AUX records overlap, bytes used once",
		     (end < *pos ? end : *pos) - a->off, a->off);
	}
	if (a->flags & AUX_COLLISION)
		lose(&r->h, HWT_GAP_COLLISION, 0);
	if (a->flags & AUX_SAMPLED)
		lose(&r->h, HWT_GAP_AUX_LOST, 0);
	if (a->flags & AUX_PARTIAL && pf->info_type == AUXTRACE_CS_ETM)
		lose(&r->h, HWT_GAP_AUX_LOST, 0);
	if (!rc && end > *pos) {
		rc = add_range(r, *pos, end, a);
		*pos = end;
		if (!rc)
			rc = add_mark(r, a, end);
	}
	/* after it the unit was started again: whatever follows does not continue it */
	if (a->flags & AUX_TRUNCATED)
		lose(&r->h, HWT_GAP_AUX_LOST, 0);
	return rc;
}

static int add_group(struct build *b, struct group *g)
{
	struct run r = { .b = b, .g = g };
	uint64_t pos, end;
	int rc = 0;

	g->first = b->pf->c->nbufs;
	clip(b->pf, g);
	for (size_t i = 0; i < g->naux; i++)
		unwrap(g, g->aux[i]);
	if (g->naux)
		qsort(g->aux, g->naux, sizeof(*g->aux), by_aux);
	pos = g->nchunks ? g->chunks[0].off : g->naux ? g->aux[0]->off : 0;
	if (g->naux && g->aux[0]->off < pos)
		pos = g->aux[0]->off;
	for (size_t i = 0; i < g->naux && !rc; i++)
		rc = add_aux(&r, g->aux[i], &pos);
	end = g->nchunks ? g->chunks[g->nchunks - 1].off + g->chunks[g->nchunks - 1].size : pos;
	if (!rc && end > pos)
		rc = add_range(&r, pos, end, NULL);
	/* bytes that an AUXTRACE record declares; an AUX record may have told of them already */
	if (g->missing > r.h.lost)
		lose(&r.h, HWT_GAP_AUX_MISSING, g->missing - r.h.lost);
	if (!rc && !r.last && r.h.cause != HWT_GAP_NONE)
		r.last = buf_for(b->pf, g, NULL);
	if (r.last) {
		r.last->cause_after = r.h.cause;
		r.last->lost_after = r.h.lost;
	}
	for (size_t i = g->first; i < b->pf->c->nbufs; i++)
		for (size_t k = 0; k < b->pf->c->bufs[i].nspans && !rc; k++)
			rc = place(b, g, &b->pf->c->bufs[i].spans[k]);
	return rc;
}

/* Groups by CPU where the recording has one buffer for each, else by thread. */
struct groups {
	struct group *v;
	size_t n;
	struct idmap of;
	bool per_cpu;
};

static uint32_t group_of(struct groups *gs, int32_t cpu, int32_t tid, bool add)
{
	uint64_t key = (uint32_t)(gs->per_cpu ? cpu : tid);
	uint32_t i = idmap_get(&gs->of, key);
	struct group *v;

	if (i != IDMAP_NONE || !add)
		return i;
	if (!(gs->n & (gs->n - 1))) {
		v = realloc(gs->v, (gs->n ? gs->n * 2 : 1) * sizeof(*v));
		if (!v)
			return IDMAP_NONE;
		gs->v = v;
	}
	if (idmap_set(&gs->of, key, (uint32_t)gs->n))
		return IDMAP_NONE;
	gs->v[gs->n] = (struct group){ .cpu = gs->per_cpu ? cpu : HWT_NONE,
				       .tid = gs->per_cpu ? HWT_NONE : tid };
	return (uint32_t)gs->n++;
}

/*
 * The group of an AUX record. One without CPU or thread (no sample id) belongs to the only buffer;
 * one of a buffer without any bytes stands for itself, so that its loss is not forgotten.
 */
static uint32_t aux_group(struct groups *gs, const struct perf_aux *a)
{
	uint32_t i = group_of(gs, a->cpu, a->tid, false);

	if (i != IDMAP_NONE)
		return i;
	if ((gs->per_cpu ? a->cpu : a->tid) == HWT_NONE && gs->n)
		return 0;
	return group_of(gs, a->cpu, a->tid, true);
}

/* Fills @gs; @slots has room for one pointer for each AUX record. */
static int make_groups(struct perf *pf, struct groups *gs, struct perf_aux **slots)
{
	struct perf_chunk *c = pf->chunks.v;
	struct perf_aux *a = pf->aux.v;
	size_t at = 0;
	uint32_t i;

	gs->per_cpu = !pf->chunks.n;
	for (size_t k = 0; k < pf->chunks.n; k++)
		gs->per_cpu |= c[k].cpu != HWT_NONE;
	if (pf->chunks.n)
		qsort(c, pf->chunks.n, sizeof(*c), by_chunk);
	for (size_t k = 0; k < pf->chunks.n; k++) {
		i = group_of(gs, c[k].cpu, c[k].tid, true);
		if (i == IDMAP_NONE)
			return -ENOMEM;
		if (!gs->v[i].nchunks)
			gs->v[i].chunks = &c[k];
		gs->v[i].nchunks++;
	}
	for (size_t k = 0; k < pf->aux.n; k++) {
		i = aux_group(gs, &a[k]);
		if (i == IDMAP_NONE)
			return -ENOMEM;
		a[k].group = i;
		gs->v[i].naux++;
	}
	for (size_t k = 0; k < gs->n; k++) {
		gs->v[k].aux = slots + at;
		at += gs->v[k].naux;
		gs->v[k].naux = 0;
	}
	for (size_t k = 0; k < pf->aux.n; k++) {
		struct group *g = &gs->v[a[k].group];

		g->aux[g->naux++] = &a[k];
	}
	return 0;
}

/* The spool is mapped when nothing more is added; then spans in it get their pointers. */
static int finish_spool(struct build *b, struct hwt_diag *diag)
{
	struct capture *c = b->pf->c;
	struct file *f = b->spool;
	int rc;

	if (!f)
		return 0;
	b->spool = NULL;
	rc = file_spool_map(f);
	if (rc) {
		file_close(f);
		return diag_set(diag, rc, E_SPOOL, c->path, HWT_NO_OFF,
				"can not map the copy of the trace: %s", strerror(-rc));
	}
	for (size_t i = 0; i < c->nbufs; i++)
		for (size_t k = 0; k < c->bufs[i].nspans; k++)
			if (c->bufs[i].spans[k].file == f)
				c->bufs[i].spans[k].p = f->p + c->bufs[i].spans[k].file_off;
	return capture_add_file(c, f) ?
		diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory") : 0;
}

/* Trace of a kind that has no decoder here: what there is of it is said, and no more. */
static void undecoded(struct perf *pf)
{
	const struct perf_chunk *c = pf->chunks.v;
	uint64_t n = 0;

	for (size_t i = 0; i < pf->chunks.n; i++)
		n += c[i].size;
	if (!pf->have_info && pf->chunks.n)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_AUXINFO, pf->c->path, c[0].file_off,
			  "%" PRIu64 " trace bytes without AUXTRACE_INFO", n);
	if (pf->chunks.n)
		capture_fact(pf->c, "trace not decoded", "%" PRIu64 " bytes", n);
	else if (!pf->have_info)
		notes_add(&pf->c->notes, HWT_NOTE_INFO, E_NO_TRACE, pf->c->path, HWT_NO_OFF,
			  "the recording holds no hardware trace");
}

int perf_make_bufs(struct perf *pf, struct hwt_diag *diag)
{
	struct build b = { .pf = pf };
	struct groups gs = { 0 };
	struct perf_aux **slots;
	int rc;

	if (pf->info_type != AUXTRACE_PT && pf->info_type != AUXTRACE_CS_ETM) {
		undecoded(pf);
		return 0;
	}
	if (!pf->chunks.n && !pf->aux.n)
		notes_add(&pf->c->notes, HWT_NOTE_WARN, E_NO_TRACE, pf->c->path, HWT_NO_OFF,
			  "trace was configured, but no byte of it was kept");
	slots = calloc(pf->aux.n ? pf->aux.n : 1, sizeof(*slots));
	rc = slots ? make_groups(pf, &gs, slots) : -ENOMEM;
	for (size_t i = 0; i < gs.n && !rc; i++)
		rc = add_group(&b, &gs.v[i]);
	if (rc)
		diag_set(diag, rc, 3, pf->c->path, HWT_NO_OFF, "out of memory");
	else
		rc = finish_spool(&b, diag);
	if (pf->nsampled)
		perf_sampled_fact(pf);
	if (b.truncated || b.partial || b.collisions)
		capture_fact(pf->c, "aux records", "%" PRIu64 " truncated, %" PRIu64 " partial, %"
			     PRIu64 " with collision", b.truncated, b.partial, b.collisions);
	file_close(b.spool);
	free(slots);
	free(gs.v);
	idmap_free(&gs.of);
	return rc;
}
