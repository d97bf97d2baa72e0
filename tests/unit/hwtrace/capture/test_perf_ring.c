/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A writer that does what perf_event_open(2) says of the kernel (heads, tails, wrap, LOST records,
 * TRUNCATED and a stop when the trace has no room), in steps between those of the reader and in a
 * thread of its own. It knows each byte that it wrote and each that it could not write.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/event.h>

#include "hwtrace/capture/perf_ring.h"

#define DATA	4096u
#define AUX	8192u
#define STEPS	4000u

/* xorshift (Marsaglia 2003), with a state for each writer: they run in threads */
static uint64_t rnd_next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static uint64_t rnd_below(uint64_t *x, uint64_t n)
{
	return (rnd_next(x) >> 11) % n;
}

struct aux_rec { struct perf_event_header h; uint64_t off, size, flags; };
struct lost_rec { struct perf_event_header h; uint64_t id, lost; };
struct other_rec { struct perf_event_header h; uint64_t seq; uint8_t fill[4000]; };

struct writer {
	struct perf_event_mmap_page page;
	uint8_t data[DATA], aux[AUX];
	uint64_t rnd;
	uint64_t head, aux_head;	/* as written; published with release */
	uint64_t lost;			/* records that had no room since the last LOST record */
	uint64_t seq;			/* of other records that were to be written */
	uint64_t told_lost, all_lost;
	int stopped;			/* atomic: by want of room; the reader clears it */
	uint64_t untold, truncated, collisions;	/* bytes of lost records; records written */
	uint64_t boundaries;		/* places that a span must begin at */
	bool no_stop;			/* the ring runs over itself */
	int done;
};

static uint8_t byte_at(uint64_t pos)
{
	return (uint8_t)(pos * 0x9e3779b97f4a7c15ull >> 53 | 1);
}

static void put_bytes(struct writer *w, const void *p, uint64_t n)
{
	for (uint64_t i = 0; i < n; i++)
		w->data[(w->head + i) % DATA] = ((const uint8_t *)p)[i];
	w->head += n;
}

static uint64_t room(struct writer *w)
{
	return DATA - (w->head - __atomic_load_n(&w->page.data_tail, __ATOMIC_ACQUIRE));
}

static void publish(struct writer *w)
{
	__atomic_store_n(&w->page.data_head, w->head, __ATOMIC_RELEASE);
}

/* With the LOST record that is due before it. */
static bool put_record(struct writer *w, const void *p, uint64_t n)
{
	struct lost_rec l = { { PERF_RECORD_LOST, 0, sizeof(l) }, 0, w->lost };

	if (room(w) < n + (w->lost ? sizeof(l) : 0)) {
		w->lost++;
		w->all_lost++;
		return false;
	}
	if (w->lost) {
		put_bytes(w, &l, sizeof(l));
		w->told_lost += w->lost;
		w->lost = 0;
	}
	put_bytes(w, p, n);
	publish(w);
	return true;
}

static void trace(struct writer *w)
{
	uint64_t n = rnd_below(&w->rnd, 3) ? rnd_below(&w->rnd, 600) : rnd_below(&w->rnd, AUX);
	uint64_t tail = __atomic_load_n(&w->page.aux_tail, __ATOMIC_ACQUIRE);
	uint64_t fit = AUX - (w->aux_head - tail);
	struct aux_rec r = { { PERF_RECORD_AUX, 0, sizeof(r) }, w->aux_head, n, 0 };

	if (__atomic_load_n(&w->stopped, __ATOMIC_ACQUIRE))
		return;
	if (!rnd_below(&w->rnd, 20))
		r.flags |= PERF_AUX_FLAG_COLLISION;
	if (n > fit) {
		r.size = fit;
		r.flags |= PERF_AUX_FLAG_TRUNCATED;
		__atomic_store_n(&w->stopped, 1, __ATOMIC_RELEASE);
	}
	for (uint64_t i = 0; i < r.size; i++)
		w->aux[(r.off + i) % AUX] = byte_at(r.off + i);
	w->aux_head += r.size;
	__atomic_store_n(&w->page.aux_head, w->aux_head, __ATOMIC_RELEASE);
	if (!put_record(w, &r, sizeof(r))) {
		w->untold += r.size;
		return;
	}
	w->truncated += !!(r.flags & PERF_AUX_FLAG_TRUNCATED);
	w->collisions += !!(r.flags & PERF_AUX_FLAG_COLLISION);
}

static void step(struct writer *w)
{
	struct other_rec o = { .h = { PERF_RECORD_COMM, 0, 0 } };

	if (rnd_below(&w->rnd, 2)) {
		trace(w);
		return;
	}
	o.h.size = (uint16_t)(16 + 8 * rnd_below(&w->rnd, rnd_below(&w->rnd, 10) ? 8 : 400));
	o.seq = w->seq++;
	memset(o.fill, (int)o.seq, sizeof(o.fill));
	put_record(w, &o, o.h.size);
}

struct reader {
	struct perf_ring ring;
	struct perf_aux_ring aux;
	struct writer *w;
	uint64_t pos, seq, lost, spans, holes, restarts, others;
	uint64_t span_bytes;
	uint16_t last_cause;
	bool must_begin;	/* what comes next may not continue */
};

static int on_span(void *arg, const struct perf_ring_span *s)
{
	struct reader *r = arg;

	assert_int_equal(s->pos, r->pos);
	assert_int_equal(s->lost, 0);
	r->spans++;
	r->holes += s->cause != HWT_GAP_NONE;
	r->last_cause = s->cause;
	r->must_begin = false;
	return 0;
}

static int on_bytes(void *arg, uint64_t time, const uint8_t *p, uint64_t n)
{
	struct reader *r = arg;

	assert_false(r->must_begin);
	for (uint64_t i = 0; i < n; i++)
		if (p[i] != byte_at(r->pos + i))
			fail_msg("byte %llu", (unsigned long long)(r->pos + i));
	r->pos += n;
	return 0;
}

static void reader_init(struct reader *r, struct writer *w, bool each)
{
	struct perf_ring_out out = { on_span, on_bytes, r };

	memset(r, 0, sizeof(*r));
	r->w = w;
	perf_ring_init(&r->ring, &w->page, w->data, DATA);
	perf_aux_init(&r->aux, &w->page, w->aux, AUX, each, &out);
}

static void see_other(struct reader *r, const struct other_rec *o)
{
	/* those between were lost, and a LOST record has said how many records were */
	assert_true(o->seq >= r->seq);
	r->seq = o->seq + 1;
	r->others++;
	for (unsigned i = 0; i + 16 < o->h.size; i++)
		assert_int_equal(o->fill[i], (uint8_t)o->seq);
}

static void restart(struct reader *r)
{
	if (!r->aux.stopped)
		return;
	r->aux.stopped = false;
	r->restarts++;
	r->must_begin = true;
	__atomic_store_n(&r->w->stopped, 0, __ATOMIC_RELEASE);
}

static void read_all(struct reader *r, unsigned max)
{
	const struct perf_event_header *h;
	struct aux_rec a;
	struct lost_rec l;

	while (max-- && (h = perf_ring_next(&r->ring))) {
		switch (h->type) {
		case PERF_RECORD_AUX:
			memcpy(&a, h, sizeof(a));
			assert_int_equal(perf_aux_take(&r->aux, &(struct perf_ring_aux){
				a.off, a.size, a.flags, a.off, 1, 2 }), 0);
			assert_int_equal(r->pos, a.off + a.size);
			if (a.flags & PERF_AUX_FLAG_TRUNCATED)
				r->must_begin = true;
			restart(r);
			break;
		case PERF_RECORD_LOST:
			memcpy(&l, h, sizeof(l));
			r->lost += l.lost;
			perf_aux_lost(&r->aux);
			/* the record of the stop may be among them: then it is started anyway */
			r->aux.stopped = true;
			restart(r);
			break;
		default:
			see_other(r, (const struct other_rec *)h);
		}
	}
	perf_ring_done(&r->ring);
	r->must_begin &= r->aux.open;
}

static void finish(struct reader *r, bool each)
{
	struct writer *w = r->w;

	read_all(r, UINT32_MAX);
	assert_int_equal(perf_aux_rest(&r->aux), 0);
	assert_int_equal(r->pos, w->aux_head);		/* each byte once, in order, right */
	assert_int_equal(r->aux.sum.bytes, w->aux_head);
	assert_int_equal(r->aux.sum.untold, w->untold);
	assert_int_equal(r->aux.sum.truncated, w->truncated);
	assert_int_equal(r->aux.sum.collisions, w->collisions);
	assert_int_equal(r->aux.sum.wrong, 0);
	assert_int_equal(r->ring.damaged, 0);
	assert_int_equal(r->lost, w->told_lost);
	assert_int_equal(w->told_lost + w->lost, w->all_lost);
	assert_int_equal(r->spans, r->aux.sum.spans);
	if (!each)
		assert_true(r->spans <= 1 + 2 * (w->truncated + w->collisions + w->all_lost));
}

/* Reader and writer take turns of random length; a slow, an even and a fast reader. */
static void turns(void **state)
{
	static struct writer w;
	static struct reader r;
	uint64_t stops = 0, untold = 0, collisions = 0, lost = 0;

	for (unsigned seed = 1; seed <= 60; seed++) {
		bool each = seed % 2;

		memset(&w, 0, sizeof(w));
		w.rnd = seed * 0x9e3779b97f4a7c15ull;
		/* heads that have counted far, up to near the end of 64 bits */
		w.page.data_head = w.page.data_tail = w.head = seed % 5 ? 0 : UINT64_MAX - 4095;
		w.page.aux_head = w.page.aux_tail = w.aux_head = seed % 7 ? 0 : 1ull << 40;
		reader_init(&r, &w, each);
		r.pos = w.aux_head;
		for (unsigned i = 0; i < STEPS; i++) {
			step(&w);
			if (rnd_below(&w.rnd, 1 + seed % 3 * 8) == 0)
				read_all(&r, rnd_below(&w.rnd, 2) ? 1 : UINT32_MAX);
		}
		r.aux.sum.bytes += w.page.aux_head >= 1ull << 40 ? 1ull << 40 : 0;
		finish(&r, each);
		stops += w.truncated;
		untold += w.untold;
		collisions += w.collisions;
		lost += w.all_lost;
	}
	/* all of it happened */
	assert_true(stops > 100 && untold > 100 && collisions > 100 && lost > 100);
}

static void *write_on(void *arg)
{
	struct writer *w = arg;

	for (unsigned i = 0; i < 200000; i++) {
		step(w);
		if (!(i % 64))
			sched_yield();
	}
	__atomic_store_n(&w->done, 1, __ATOMIC_RELEASE);
	return NULL;
}

static void threads(void **state)
{
	static struct writer w;
	static struct reader r;
	pthread_t t;

	w.rnd = 77;
	reader_init(&r, &w, false);
	assert_int_equal(pthread_create(&t, NULL, write_on, &w), 0);
	while (!__atomic_load_n(&w.done, __ATOMIC_ACQUIRE)) {
		read_all(&r, 64);
		sched_yield();
	}
	pthread_join(t, NULL);
	finish(&r, false);
	assert_true(r.others > 1000 && r.pos > 100000);
}

/* Rings that no kernel makes: never a byte outside of them, and an end. */
static void damaged(void **state)
{
	static struct writer w;
	static struct reader r;
	uint64_t rnd = 5;

	for (unsigned i = 0; i < 20000; i++) {
		const struct perf_event_header *h;
		unsigned n = 0;

		for (unsigned k = 0; k < DATA; k += 8)
			*(uint64_t *)(w.data + k) = rnd_below(&rnd, 3) ? rnd_next(&rnd) :
				PERF_RECORD_AUX | 32ull << 48;
		w.page.data_tail = rnd_below(&rnd, 1u << 16);
		w.page.data_head = w.page.data_tail + rnd_below(&rnd, DATA + 100);
		reader_init(&r, &w, false);
		while ((h = perf_ring_next(&r.ring))) {
			assert_true(h->size >= 8 && h->size <= DATA);
			n++;
		}
		assert_true(n <= DATA / 8);
		assert_int_equal(r.ring.tail, r.ring.head);
	}
}

static int on_any(void *arg, uint64_t time, const uint8_t *p, uint64_t n)
{
	struct reader *r = arg;

	assert_true(p >= r->w->aux && n <= AUX && p + n <= r->w->aux + AUX);
	r->pos += n;
	return 0;
}

static int on_any_span(void *arg, const struct perf_ring_span *s)
{
	return 0;
}

static void wrong_aux(void **state)
{
	static struct writer w;
	static struct reader r;
	struct perf_ring_out out = { on_any_span, on_any, &r };
	uint64_t rnd = 9;

	r.w = &w;
	for (unsigned i = 0; i < 100000; i++) {
		uint64_t tail = rnd_below(&rnd, 1u << 20), head = tail + rnd_below(&rnd, 3 * AUX);
		struct perf_ring_aux rec = { rnd_below(&rnd, 2) ? rnd_next(&rnd) :
			tail + rnd_below(&rnd, 2 * AUX), rnd_below(&rnd, 2) ? rnd_next(&rnd) :
			rnd_below(&rnd, 2 * AUX), rnd_next(&rnd) & ~2ull, 0, 0, 0 };

		w.page.aux_tail = tail;
		w.page.aux_head = head;
		r.pos = 0;
		perf_aux_init(&r.aux, &w.page, w.aux, AUX, i & 1, &out);
		perf_aux_take(&r.aux, &rec);
		assert_true(r.pos <= AUX);
		perf_aux_rest(&r.aux);
		assert_true(r.pos <= AUX);
		if (head - tail <= AUX)
			assert_int_equal(r.pos, head - tail);
	}
}

/* The n newest bytes of a ring that runs over itself, whether its head counts on or not. */
static void snapshots(void **state)
{
	static struct writer w;
	static struct reader r;
	struct perf_ring_out out = { on_span, on_bytes, &r };
	uint64_t rnd = 3;

	for (unsigned i = 0; i < 400; i++) {
		bool counts_on = i & 1;
		uint64_t all = i < 4 ? i / 2 * AUX : rnd_below(&rnd, 3 * AUX);

		memset(&w, 0, sizeof(w));
		for (uint64_t k = 0; k < all; k++)
			w.aux[k % AUX] = byte_at(k);
		w.page.aux_head = counts_on ? all : all % AUX;
		memset(&r, 0, sizeof(r));
		r.w = &w;
		/* the test's bytes go by their count, the ring's place starts anew */
		perf_aux_init(&r.aux, &w.page, w.aux, AUX, i & 2, &out);
		r.pos = all > AUX ? all - AUX : 0;
		r.aux.out.span = on_any_span;
		assert_int_equal(perf_aux_snapshot(&r.aux, NULL), 0);
		assert_int_equal(r.pos, all);
	}
}

static int fails(void *arg, uint64_t time, const uint8_t *p, uint64_t n)
{
	return -28;
}

static void output_fails(void **state)
{
	static struct writer w;
	struct perf_ring_out out = { on_any_span, fails, NULL };
	struct perf_aux_ring a;

	w.page.aux_head = 100;
	perf_aux_init(&a, &w.page, w.aux, AUX, false, &out);
	assert_int_equal(perf_aux_take(&a, &(struct perf_ring_aux){ .size = 100 }), -28);
}

/*
 * A ring that runs over itself: each record goes in front of the one before, at places that count
 * down from 0, and writes over the end of the oldest.
 */
static void backward(void **state)
{
	static struct perf_ring r;
	static struct writer w;
	static struct other_rec rec;
	static uint16_t sizes[STEPS];

	for (unsigned count = 0; count < 200; count += count < 40 ? 1 : 7) {
		const struct perf_event_header *h;
		unsigned first = count;
		uint64_t sum = 0;

		memset(&w, 0, sizeof(w));
		w.rnd = 77 + count;
		for (unsigned i = 0; i < count; i++) {
			/* header and number at least; now and then as much as half of the ring */
			sizes[i] = (uint16_t)(16 + 8 * rnd_below(&w.rnd, i % 13 ? 20 : 250));
			rec.h = (struct perf_event_header){ PERF_RECORD_COMM, 0, sizes[i] };
			rec.seq = i;
			memset(rec.fill, (int)i, sizeof(rec.fill));
			w.head -= sizes[i];
			put_bytes(&w, &rec, sizes[i]);
			w.head -= sizes[i];
		}
		publish(&w);
		perf_ring_init(&r, &w.page, w.data, DATA);
		assert_int_equal(perf_ring_back(&r), 0);
		/* of the newest all that fit as a whole */
		while (first && sum + sizes[first - 1] <= DATA)
			sum += sizes[--first];
		for (unsigned i = first; i < count; i++) {
			h = perf_ring_next(&r);
			assert_non_null(h);
			memcpy(&rec, h, h->size);
			assert_int_equal(h->size, sizes[i]);
			assert_int_equal(rec.seq, i);
			for (unsigned k = 0; k < sizes[i] - 16u; k++)
				assert_int_equal(rec.fill[k], (uint8_t)i);
		}
		assert_null(perf_ring_next(&r));
		assert_int_equal(r.damaged, 0);
		perf_ring_free(&r);
	}
	/* what is no record ends it, and is counted */
	w.head -= 64;
	publish(&w);
	memset(w.data, 0, sizeof(w.data));
	perf_ring_init(&r, &w.page, w.data, DATA);
	assert_int_equal(perf_ring_back(&r), 0);
	assert_null(perf_ring_next(&r));
	assert_int_equal(r.damaged, DATA);
	perf_ring_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(turns),
		cmocka_unit_test(threads),
		cmocka_unit_test(damaged),
		cmocka_unit_test(wrong_aux),
		cmocka_unit_test(snapshots),
		cmocka_unit_test(backward),
		cmocka_unit_test(output_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
