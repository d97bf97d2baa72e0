/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "perf_order.h"

/* kept at most for one file, then the earliest go: 48 bytes each, and copies of compressed ones */
#define MAX_NODES	(1u << 19)
#define MAX_BYTES	(32u << 20)
/*
 * A record is stamped before it is written: what interrupts it, or whoever takes the CPU away from
 * the machine, is stamped later and may be in the file some rounds before.
 */
#define SLACK_NS	100000000u
#define GIVEN_STEP	(4u << 20)	/* bytes of records between two hints to the system */

struct node {
	uint64_t time, seq;	/* seq: order of the file */
	const uint8_t *p;	/* in the file, or a copy of its own */
	uint64_t off;
	uint32_t size, type;
	uint16_t misc;
	bool copy;
};

/* One file: its records wait in a heap, the earliest first. */
struct line {
	struct perf pf;		/* the same, with this file only */
	struct perf_walk w;
	struct node *heap;
	size_t n, cap, bytes;
	uint64_t seq;
	uint64_t max;		/* latest time so far */
	uint64_t round;		/* latest time when the last round ended */
	uint64_t until;		/* times up to this one are complete */
	bool ended;
	/* place of the records that were given since the system was told, and their bytes */
	uint64_t from, to, given;
};

struct perf_order {
	struct line *lines;
	size_t nlines;
	uint64_t last, late;
	uint8_t *copy;		/* bytes of the record that was given last */
};

static bool before(const struct node *a, const struct node *b)
{
	return a->time != b->time ? a->time < b->time : a->seq < b->seq;
}

static int push(struct line *l, struct node x)
{
	size_t i = l->n;

	if (vec_room(&l->heap, &l->cap, l->n, sizeof(*l->heap)))
		return -ENOMEM;
	l->n++;
	for (; i && before(&x, &l->heap[(i - 1) / 2]); i = (i - 1) / 2)
		l->heap[i] = l->heap[(i - 1) / 2];
	l->heap[i] = x;
	return 0;
}

static struct node pop(struct line *l)
{
	struct node top = l->heap[0], x = l->heap[--l->n];
	size_t i = 0, k;

	while ((k = 2 * i + 1) < l->n) {
		if (k + 1 < l->n && before(&l->heap[k + 1], &l->heap[k]))
			k++;
		if (!before(&l->heap[k], &x))
			break;
		l->heap[i] = l->heap[k];
		i = k;
	}
	l->heap[i] = x;
	if (top.copy)
		l->bytes -= top.size;
	return top;
}

static int keep(struct line *l, const struct perf_rec *r)
{
	struct node x = { .seq = l->seq++, .p = r->p, .off = r->off, .size = r->size,
		.type = r->type, .misc = r->misc, .copy = r->inner };
	struct perf_sample s;
	uint8_t *copy;

	perf_sample(&l->pf, r, &s);
	x.time = s.time;
	/* a loss is told also where its time is not: it came after what was read */
	if (r->type == REC_LOST && (!s.time || s.time == HWT_TIME_UNKNOWN))
		x.time = l->max;
	if (!x.time || x.time == HWT_TIME_UNKNOWN)
		return 0;
	if (x.copy) {
		copy = malloc(r->size);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, r->p, r->size);
		x.p = copy;
		l->bytes += r->size;
	}
	if (push(l, x)) {
		if (x.copy)
			free((void *)x.p);
		return -ENOMEM;
	}
	if (x.time > l->max)
		l->max = x.time;
	return 0;
}

/* Reads on until the earliest record of the file is known. */
static int fill(struct line *l)
{
	struct perf_rec r;

	while (!l->ended && l->n < MAX_NODES && l->bytes < MAX_BYTES &&
	       !(l->n && l->heap[0].time + SLACK_NS <= l->until)) {
		int rc = perf_next(&l->w, &r);

		if (rc < 0)
			return rc;
		if (!rc) {
			l->ended = true;
		} else if (r.type == REC_FINISHED_ROUND) {
			l->until = l->round;
			l->round = l->max;
		} else if (r.type < REC_KERNEL_END) {
			rc = keep(l, &r);
			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Records are read again when they are given: those pages need not stay resident either. */
static void give(struct line *l, const struct node *x)
{
	if (x->copy)
		return;
	if (!l->given || x->off < l->from)
		l->from = x->off;
	if (!l->given || x->off > l->to)
		l->to = x->off;
	l->given += x->size;
	if (l->given < GIVEN_STEP)
		return;
	file_done(l->pf.segs[0].f, l->from, l->to);
	l->given = 0;
}

int perf_order_next(struct perf_order *o, struct perf_rec *r, uint64_t *time)
{
	free(o->copy);
	o->copy = NULL;
	for (;;) {
		struct line *first = NULL;
		struct node x;

		for (size_t i = 0; i < o->nlines; i++) {
			struct line *l = &o->lines[i];
			int rc = fill(l);

			if (rc)
				return rc;
			if (l->n && (!first || l->heap[0].time < first->heap[0].time))
				first = l;
		}
		if (!first)
			return 0;
		x = pop(first);
		if (x.time < o->last) {
			o->late++;
			if (x.copy)
				free((void *)x.p);
			continue;
		}
		o->last = *time = x.time;
		give(first, &x);
		o->copy = x.copy ? (uint8_t *)x.p : NULL;
		*r = (struct perf_rec){ .type = x.type, .misc = x.misc, .size = x.size, .p = x.p,
			.off = x.off, .file = first->pf.segs[0].file, .inner = x.copy };
		return 1;
	}
}

uint64_t perf_order_late(struct perf_order *o)
{
	uint64_t n = o->late;

	o->late = 0;
	return n;
}

int perf_order_new(struct perf_order **out, const struct perf *pf)
{
	struct perf_order *o = calloc(1, sizeof(*o));

	if (o)
		o->lines = calloc(pf->nsegs ? pf->nsegs : 1, sizeof(*o->lines));
	if (!o || !o->lines) {
		free(o);
		return -ENOMEM;
	}
	o->nlines = pf->nsegs;
	for (size_t i = 0; i < o->nlines; i++) {
		struct line *l = &o->lines[i];

		l->pf = *pf;
		l->pf.segs = &pf->segs[i];
		l->pf.nsegs = 1;
		perf_walk_init(&l->w, &l->pf);
	}
	*out = o;
	return 0;
}

void perf_order_free(struct perf_order *o)
{
	if (!o)
		return;
	for (size_t i = 0; i < o->nlines; i++) {
		struct line *l = &o->lines[i];

		for (size_t k = 0; k < l->n; k++)
			if (l->heap[k].copy)
				free((void *)l->heap[k].p);
		free(l->heap);
		perf_walk_fini(&l->w);
	}
	free(o->lines);
	free(o->copy);
	free(o);
}
