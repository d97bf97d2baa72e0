/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * merge MODE EVENTS: eight streams of made-up events, one of them of kernel records, are read in
 * order. MODE "merge" does it with the library's merge, "clock" has each time that differs from
 * the one before it in its stream go through a clock map of the library first, as decoders do,
 * "heap" is the plain way that both are compared with: a binary heap of eight heads; "none" reads
 * the streams one after the other, which is what making events costs.
 * Prints the number of events, a sum that depends on their order, and comparisons.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "correlate/merge.h"
#include "hwtrace/time/span.h"

#define STREAMS	8
#define BATCH	256
#define PIECES	1000	/* of the clock map */

struct gen {
	struct hwt_stream s;
	uint64_t left, time, rnd;
	uint32_t src, span;
};

static uint64_t record[4];	/* what kernel records point at */

static int gen_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct gen *g = hwt_container_of(s, struct gen, s);
	int n = 0;

	for (; n < max && g->left; n++, g->left--) {
		g->rnd ^= g->rnd << 13;
		g->rnd ^= g->rnd >> 7;
		g->rnd ^= g->rnd << 17;
		/* bursts: several events of one time, as between two timing packets */
		if (!(g->rnd & 7) || !g->src) {
			g->time += g->rnd >> 32 & 1023;
			g->span = (uint32_t)(g->rnd & 63);
		}
		ev[n] = (struct hwt_event){ .time = g->time, .span = g->span,
			.type = g->src ? HWT_EV_RANGE : HWT_EV_RECORD, .cpu = (int32_t)g->src,
			.pid = 1, .tid = 2, .src = g->src, .off = g->left };
		if (g->src) {
			ev[n].u.range.first = g->rnd;
			ev[n].u.range.insns = 5;
		} else {
			ev[n].u.rec.data = record;
			ev[n].u.rec.size = sizeof(record);
		}
	}
	return n;
}

static void nothing(struct hwt_stream *s)
{
}

static const struct hwt_stream_ops gen_ops = { gen_next, nothing };

/* Ticks to ns, both ends. */
struct mapped {
	struct hwt_stream s;
	struct hwt_stream *up;
	const struct time_fit *fit;
	struct hwt_interval in, out;	/* mapped last */
};

static int mapped_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct mapped *m = hwt_container_of(s, struct mapped, s);
	int n = hwt_stream_next(m->up, ev, max);

	for (int i = 0; i < n; i++) {
		struct hwt_interval in = { ev[i].time, ev[i].time + ev[i].span };

		if ((in.lo != m->in.lo || in.hi != m->in.hi) &&
		    time_fit_apply(m->fit, in, &m->out))
			return -1;
		m->in = in;
		ev[i].time = m->out.lo;
		ev[i].span = (uint32_t)(m->out.hi - m->out.lo);
	}
	return n;
}

static const struct hwt_stream_ops mapped_ops = { mapped_next, nothing };

static int make_fit(struct time_fit *fit, uint64_t until)
{
	int rc = 0;

	fit->rate_lo = time_rate_down(1, 3);
	fit->rate_hi = time_rate_up(1, 2);
	for (uint64_t i = 0; i < PIECES && !rc; i++) {
		uint64_t from = until / PIECES * i, rate = time_rate_down(1000 + i % 7, 2400);

		rc = time_line_add(&fit->lo, from, from * 10 / 24, rate);
		if (!rc)
			rc = time_line_add(&fit->hi, from, from * 10 / 24 + 40, rate);
	}
	time_fit_close(fit);
	return rc;
}

struct sum {
	uint64_t events, order;
};

static void take(struct sum *s, const struct hwt_event *ev, int n)
{
	for (int i = 0; i < n; i++)
		s->order = s->order * 31 + (ev[i].off ^ ev[i].src);
	s->events += (uint64_t)n;
}

static int all(struct hwt_stream *st, struct sum *s)
{
	struct hwt_event ev[BATCH];
	int n;

	while ((n = hwt_stream_next(st, ev, BATCH)) > 0)
		take(s, ev, n);
	return n;
}

/* The plain way: heads in a binary heap, structs copied into batches. */
struct head {
	uint64_t time;
	uint32_t k;
};

static int before(const struct head *a, const struct head *b)
{
	return a->time != b->time ? a->time < b->time : a->k < b->k;
}

static uint64_t compares;

static void sink(struct head *h, unsigned n)
{
	struct head x = h[0];
	unsigned i = 0;

	for (unsigned k; (k = 2 * i + 1) < n; i = k) {
		if (k + 1 < n && ++compares && before(&h[k + 1], &h[k]))
			k++;
		compares++;
		if (!before(&h[k], &x))
			break;
		h[i] = h[k];
	}
	h[i] = x;
}

static void heap_merge(struct hwt_stream **in, struct sum *s)
{
	static struct hwt_event ev[STREAMS][BATCH], out[BATCH];
	int n[STREAMS], at[STREAMS] = { 0 }, done = 0;
	struct head h[STREAMS];
	unsigned size = 0;

	for (unsigned k = 0; k < STREAMS; k++) {
		n[k] = hwt_stream_next(in[k], ev[k], BATCH);
		if (n[k] <= 0)
			continue;
		/* few: put in its place from the end */
		struct head x = { ev[k][0].time, k };
		unsigned i = size++;

		for (; i && before(&x, &h[(i - 1) / 2]); i = (i - 1) / 2)
			h[i] = h[(i - 1) / 2];
		h[i] = x;
	}
	while (size) {
		unsigned k = h[0].k;

		out[done++] = ev[k][at[k]++];
		if (done == BATCH) {
			take(s, out, done);
			done = 0;
		}
		if (at[k] == n[k]) {
			n[k] = hwt_stream_next(in[k], ev[k], BATCH);
			at[k] = 0;
		}
		if (n[k] > 0)
			h[0].time = ev[k][at[k]].time;
		else
			h[0] = h[--size];
		sink(h, size);
	}
	take(s, out, done);
}

int main(int argc, char **argv)
{
	uint64_t total = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;
	static struct mapped maps[STREAMS];
	static struct gen g[STREAMS];
	struct hwt_stream *in[STREAMS], *st;
	struct time_fit fit = { 0 };
	struct sum s = { 0 };
	struct merge_stats ms;
	int rc = 0;

	if (!total)
		return 2;
	if (make_fit(&fit, total * 16))
		return 1;
	for (unsigned k = 0; k < STREAMS; k++) {
		g[k] = (struct gen){ .s = { &gen_ops, "made up" }, .left = total / STREAMS,
			.rnd = 88172645463325252u + k, .src = k };
		in[k] = &g[k].s;
		if (strcmp(argv[1], "clock"))
			continue;
		maps[k] = (struct mapped){ .s = { &mapped_ops, "mapped" }, .up = in[k],
			.fit = &fit };
		in[k] = &maps[k].s;
	}
	if (!strcmp(argv[1], "heap")) {
		heap_merge(in, &s);
	} else if (!strcmp(argv[1], "none")) {
		for (unsigned k = 0; k < STREAMS && !rc; k++)
			rc = all(in[k], &s);
	} else {
		rc = merge_new(&st, in, STREAMS);
		if (rc)
			return 1;
		rc = all(st, &s);
		merge_stats(st, &ms);
		compares = ms.compares;
		hwt_stream_close(st);
	}
	time_fit_free(&fit);
	printf("%" PRIu64 " %016" PRIx64 " %" PRIu64 "\n", s.events, s.order, compares);
	return rc ? 1 : 0;
}
