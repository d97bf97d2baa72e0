/* SPDX-License-Identifier: BSD-2-Clause */
#include "perf_ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/event.h>

/* What the kernel wrote before it moved a head is there for who has seen it (acquire). */
static uint64_t load(const void *p)
{
	return __atomic_load_n((const uint64_t *)p, __ATOMIC_ACQUIRE);
}

/* What was read is read before the kernel may write there (release). */
static void store(void *p, uint64_t v)
{
	__atomic_store_n((uint64_t *)p, v, __ATOMIC_RELEASE);
}

void perf_ring_init(struct perf_ring *r, struct perf_event_mmap_page *page, const void *data,
		    uint64_t size)
{
	r->page = page;
	r->data = data;
	r->size = size;
	r->head = r->tail = page->data_tail;
	r->damaged = 0;
	r->backward = false;
	r->back = (struct vec){ 0 };
}

/* @n bytes from the reader's place on, put together if they lie across the end. */
static const uint8_t *piece(struct perf_ring *r, uint64_t n)
{
	uint64_t at = r->tail & (r->size - 1), first = r->size - at;

	if (n <= first)
		return r->data + at;
	memcpy(r->copy, r->data + at, (size_t)first);
	memcpy(r->copy + first, r->data, (size_t)(n - first));
	return r->copy;
}

/* Records can not be found again behind one that is none. */
static const struct perf_event_header *damaged(struct perf_ring *r)
{
	r->damaged += r->head - r->tail;
	r->tail = r->head;
	return NULL;
}

int perf_ring_back(struct perf_ring *r)
{
	uint64_t head = load(&r->page->data_head), n = 0;
	/* it counts down from 0 */
	uint64_t all = -head < r->size ? -head : r->size;
	struct perf_event_header h;
	uint32_t *at;

	r->backward = true;
	r->back.n = 0;
	r->head = head;
	while (all - n >= sizeof(h)) {
		r->tail = head + n;
		memcpy(&h, piece(r, sizeof(h)), sizeof(h));
		if (h.size < sizeof(h) || h.size % 8) {
			r->damaged += all - n;
			break;
		}
		if (h.size > all - n)
			break;
		at = vec_push(&r->back, sizeof(*at));
		if (!at)
			return -ENOMEM;
		*at = (uint32_t)n;
		n += h.size;
	}
	return 0;
}

void perf_ring_free(struct perf_ring *r)
{
	free(r->back.v);
	r->backward = false;
	r->back = (struct vec){ 0 };
}

/* perf_ring_back() has looked at their sizes. */
static const struct perf_event_header *next_back(struct perf_ring *r)
{
	struct perf_event_header h;

	r->tail = r->head + ((const uint32_t *)r->back.v)[--r->back.n];
	memcpy(&h, piece(r, sizeof(h)), sizeof(h));
	return (const struct perf_event_header *)piece(r, h.size);
}

const struct perf_event_header *perf_ring_next(struct perf_ring *r)
{
	struct perf_event_header h;
	const uint8_t *p;

	if (r->backward)
		return r->back.n ? next_back(r) : NULL;
	if (r->tail == r->head)
		r->head = load(&r->page->data_head);
	if (r->head - r->tail < sizeof(h))
		return r->head == r->tail ? NULL : damaged(r);
	/* the kernel's are multiples of 8 */
	if (r->tail % 8 || r->head - r->tail > r->size)
		return damaged(r);
	memcpy(&h, piece(r, sizeof(h)), sizeof(h));
	if (h.size < sizeof(h) || h.size % 8 || h.size > r->head - r->tail)
		return damaged(r);
	p = piece(r, h.size);
	r->tail += h.size;
	return (const struct perf_event_header *)p;
}

void perf_ring_done(struct perf_ring *r)
{
	store(&r->page->data_tail, r->tail);
}

void perf_aux_init(struct perf_aux_ring *a, struct perf_event_mmap_page *page, const void *p,
		   uint64_t size, bool each, const struct perf_ring_out *out)
{
	*a = (struct perf_aux_ring){ .page = page, .p = p, .size = size, .each = each,
		.pos = page->aux_tail, .out = *out };
}

static void lose(struct perf_aux_ring *a, unsigned cause, uint64_t n)
{
	/* the first of several causes at one place stays */
	if (a->cause == HWT_GAP_NONE)
		a->cause = (uint16_t)cause;
	a->lost += n;
	a->open = false;
}

void perf_aux_lost(struct perf_aux_ring *a)
{
	lose(a, HWT_GAP_AUX_LOST, 0);
}

/* The span that the bytes at @pos belong to, if none is open. */
static int begin(struct perf_aux_ring *a, const struct perf_ring_aux *rec)
{
	struct perf_ring_span s = { .pos = a->pos, .time = rec ? rec->time : HWT_TIME_UNKNOWN,
		.pid = rec ? rec->pid : HWT_NONE, .tid = rec ? rec->tid : HWT_NONE,
		.flags = rec ? (uint16_t)rec->flags : 0, .cause = a->cause, .lost = a->lost };

	if (a->open)
		return 0;
	a->open = true;
	a->cause = HWT_GAP_NONE;
	a->lost = 0;
	a->sum.spans++;
	return a->out.span(a->out.arg, &s);
}

/* Bytes of the ring up to @end, in two pieces if they lie across its end. */
static int copy(struct perf_aux_ring *a, uint64_t end, const struct perf_ring_aux *rec)
{
	int rc = a->pos < end ? begin(a, rec) : 0;

	while (!rc && a->pos < end) {
		uint64_t at = a->pos & (a->size - 1), n = a->size - at;

		if (n > end - a->pos)
			n = end - a->pos;
		rc = a->out.bytes(a->out.arg, rec ? rec->time : HWT_TIME_UNKNOWN, a->p + at, n);
		a->pos += n;
		a->sum.bytes += n;
	}
	return rc;
}

/* Bytes whose record is lost: what it said of them nobody knows. */
static int untold(struct perf_aux_ring *a, uint64_t end)
{
	int rc;

	if (a->pos >= end)
		return 0;
	a->sum.untold += end - a->pos;
	lose(a, HWT_GAP_AUX_LOST, 0);
	rc = copy(a, end, NULL);
	lose(a, HWT_GAP_AUX_LOST, 0);
	return rc;
}

/* What flags say of the place before the bytes; of that behind them: after(). */
static void before(struct perf_aux_ring *a, uint64_t flags)
{
	if (flags & PERF_AUX_FLAG_COLLISION) {
		a->sum.collisions++;
		lose(a, HWT_GAP_COLLISION, 0);
	}
	if (flags & PERF_AUX_FLAG_PARTIAL) {
		a->sum.partial++;
		/* Intel PT tells in its packets where it was off (VMX) */
		if (a->each)
			lose(a, HWT_GAP_AUX_LOST, 0);
	}
	if (a->each)
		a->open = false;
}

/* Another task: the unit was stopped between. */
static void owner(struct perf_aux_ring *a, int32_t tid)
{
	a->open &= tid == a->tid;
	a->tid = tid;
}

static void after(struct perf_aux_ring *a, uint64_t flags)
{
	if (!(flags & PERF_AUX_FLAG_TRUNCATED))
		return;
	a->sum.truncated++;
	a->stopped = true;
	lose(a, HWT_GAP_AUX_LOST, 0);
}

int perf_aux_take(struct perf_aux_ring *a, const struct perf_ring_aux *rec)
{
	uint64_t head = load(&a->page->aux_head), off = rec->off, end;
	int rc;

	/* offsets are those of a ring that runs over itself then: see perf_aux_snapshot() */
	if (rec->flags & PERF_AUX_FLAG_OVERWRITE)
		return 0;
	if (head - a->pos > a->size || off > head || rec->size > head - off) {
		/* no such bytes: those that there are come as what no record told of */
		a->sum.wrong++;
		lose(a, HWT_GAP_DAMAGED, 0);
		after(a, rec->flags);
		return 0;
	}
	end = off + rec->size;
	rc = untold(a, off);
	if (!rc) {
		before(a, rec->flags);
		owner(a, rec->tid);
		rc = copy(a, end, rec);
	}
	after(a, rec->flags);
	store(&a->page->aux_tail, a->pos);
	return rc;
}

int perf_aux_rest(struct perf_aux_ring *a)
{
	uint64_t head = load(&a->page->aux_head);
	int rc = 0;

	if (head - a->pos <= a->size) {
		rc = untold(a, head);
	} else {
		/* more than the ring has, and no record told of it */
		a->sum.wrong++;
		lose(a, HWT_GAP_DAMAGED, 0);
	}
	store(&a->page->aux_tail, a->pos);
	return rc;
}

/* The kernel hands a ring out filled with zeroes: what is not zero behind @at was there before. */
static bool was_full(const struct perf_aux_ring *a, uint64_t at)
{
	for (uint64_t i = at; i < a->size; i++)
		if (a->p[i])
			return true;
	return false;
}

int perf_aux_snapshot(struct perf_aux_ring *a, const struct perf_ring_aux *rec)
{
	/*
	 * Some drivers give the place in the ring (Intel PT), some count on (CoreSight): both have
	 * the place in the low bits.
	 */
	uint64_t head = load(&a->page->aux_head), end;
	bool full = head >= a->size || was_full(a, head);
	int rc;

	a->pos = !full ? 0 : head >= a->size ? head - a->size : head;
	end = full ? a->pos + a->size : head;
	a->open = false;
	a->cause = HWT_GAP_NONE;	/* what is older was not to be kept */
	a->lost = 0;
	rc = copy(a, end, rec);
	a->open = false;
	return rc;
}
