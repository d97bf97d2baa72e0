/* SPDX-License-Identifier: BSD-2-Clause */
#include "hwtake.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "native.h"
#include "ticks.h"

#define KEEP	(4u << 20)
#define SYNC_NS	1000000000	/* between readings of the clock */

struct take_cpu {
	struct hwtake *t;
	int32_t cpu;
	int buf;			/* in the capture, -1: no byte came yet */
	struct perf_ring ring;
	struct perf_aux_ring aux;
	struct native_writer *w;	/* of this call */
	uint8_t *kept;			/* records, whole ones, up to twice what is to be kept */
	uint64_t nkept;
	struct perf_ring_aux last;	/* the last AUX record, where @have_last */
	bool have_last;
};

struct hwtake {
	struct hwtake_opts o;
	struct hwside side;
	struct take_cpu **cpus;
	unsigned ncpus;
	uint64_t synced;		/* CLOCK_MONOTONIC of the last reading that was told */
	struct ticks_pair first;
	uint64_t holes;
};

int hwtake_new(struct hwtake **out, const struct hwtake_opts *o)
{
	struct hwtake *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->o = *o;
	if (!t->o.keep)
		t->o.keep = KEEP;
	if (o->fit)
		t->first = ticks_read(CLOCK_MONOTONIC);
	if (hwside_init(&t->side, &o->map, &o->told)) {
		free(t);
		return -ENOMEM;
	}
	*out = t;
	return 0;
}

void hwtake_free(struct hwtake *t)
{
	if (!t)
		return;
	for (unsigned i = 0; i < t->ncpus; i++) {
		free(t->cpus[i]->kept);
		free(t->cpus[i]);
	}
	free(t->cpus);
	hwside_free(&t->side);
	free(t);
}

/* Adds the buffer when there is something for it: then it is known whether it has frames. */
static int need_buf(struct take_cpu *c, uint64_t flags)
{
	const struct hwtake_units *u = &c->t->o.units;
	bool raw = (flags & AUX_FORMAT) == AUX_CS_RAW;

	if (c->buf < 0)
		c->buf = u->add(u->arg, c->w, c->cpu, c->t->o.coresight && raw);
	return c->buf < 0 ? c->buf : 0;
}

static int on_span(void *arg, const struct perf_ring_span *s)
{
	struct take_cpu *c = arg;
	struct trace_span span = { .pos = s->pos, .time = s->time, .pid = s->pid, .tid = s->tid,
		.flags = s->flags, .cause_before = s->cause, .lost_before = s->lost };
	int rc = need_buf(c, s->flags);

	c->t->holes += s->cause != HWT_GAP_NONE;
	return rc ? rc : native_span(c->w, c->buf, &span);
}

static int on_bytes(void *arg, uint64_t time, const uint8_t *p, uint64_t n)
{
	struct take_cpu *c = arg;

	return native_trace(c->w, c->buf, time, p, (size_t)n);
}

int hwtake_add(struct hwtake *t, int32_t cpu, struct perf_event_mmap_page *page, const void *data,
	       uint64_t size, const void *aux, uint64_t aux_size)
{
	struct take_cpu **v = realloc(t->cpus, (t->ncpus + 1) * sizeof(*v)), *c;
	struct perf_ring_out out = { on_span, on_bytes, NULL };

	if (!v)
		return -ENOMEM;
	t->cpus = v;
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->t = t;
	c->cpu = cpu;
	c->buf = -1;
	out.arg = c;
	perf_ring_init(&c->ring, page, data, size);
	perf_aux_init(&c->aux, page, aux, aux_size, t->o.coresight, &out);
	t->cpus[t->ncpus++] = c;
	return 0;
}

void hwtake_begin(struct hwtake *t)
{
	for (unsigned i = 0; i < t->ncpus; i++) {
		struct take_cpu *c = t->cpus[i];

		c->buf = -1;
		c->nkept = 0;
		c->have_last = false;
	}
	for (unsigned i = 0; i < t->side.ncpus; i++)
		t->side.times[i] = 0;
	t->synced = 0;
	strlist_free(&t->side.paths);
}

static int take_aux(struct take_cpu *c, const struct perf_event_header *h,
		    const struct perf_sample *s)
{
	struct cur b = cur_new((const uint8_t *)h + 8, s->body, false);
	struct perf_ring_aux a = { .time = s->time };

	a.off = cur_u64(&b);
	a.size = cur_u64(&b);
	a.flags = cur_u64(&b);
	/* it is of whoever ran as it was written, which is the one traced only if that is one */
	a.pid = c->t->o.all ? HWT_NONE : s->pid;
	a.tid = c->t->o.all ? HWT_NONE : s->tid;
	c->last = a;
	c->have_last = true;
	return c->t->o.overwrite ? 0 : perf_aux_take(&c->aux, &a);
}

static void take_id(struct take_cpu *c, const struct perf_event_header *h,
		    const struct perf_sample *s)
{
	struct cur b = cur_new((const uint8_t *)h + 8, s->body, false);
	const struct hwtake_units *u = &c->t->o.units;

	if (u->id)
		u->id(u->arg, c->cpu, cur_u64(&b));
}

static int take_record(struct take_cpu *c, const struct perf_event_header *h)
{
	struct perf_sample s;

	if (!hwside_sample(&c->t->side, h, &s))
		return 0;
	switch (h->type) {
	case REC_AUX: return take_aux(c, h, &s);
	case REC_AUX_OUTPUT_HW_ID:
		take_id(c, h, &s);
		return 0;
	case REC_LOST:
		if (!c->t->o.overwrite) {
			/* that of a stop may be among them: an event that runs is not harmed */
			perf_aux_lost(&c->aux);
			c->aux.stopped = true;
		}
		break;
	}
	return hwside_put(&c->t->side, c->w, c->cpu, h);
}

/* Keeps the newest: when twice as much is there as is wanted, the older half goes. */
static int keep(struct take_cpu *c, const struct perf_event_header *h)
{
	uint64_t max = c->t->o.keep, at = 0;

	if (!c->kept)
		c->kept = malloc(2 * max + PERF_RING_REC);
	if (!c->kept)
		return -ENOMEM;
	if (c->nkept >= 2 * max) {
		while (c->nkept - at > max) {
			struct perf_event_header k;

			memcpy(&k, c->kept + at, sizeof(k));
			at += k.size;
		}
		c->nkept -= at;
		memmove(c->kept, c->kept + at, c->nkept);
	}
	memcpy(c->kept + c->nkept, h, h->size);
	c->nkept += h->size;
	return 0;
}

/* What stood there nobody knows: as if the kernel had told that records are lost. */
static int take_damaged(struct take_cpu *c)
{
	c->ring.damaged = 0;
	if (!c->t->o.overwrite) {
		perf_aux_lost(&c->aux);
		c->aux.stopped = true;
	}
	return c->w ? hwside_lost(&c->t->side, c->w, c->cpu) : 0;
}

static int take_ring(struct take_cpu *c, struct native_writer *w)
{
	const struct perf_event_header *h;
	struct perf_event_header copy;
	int rc = 0;

	c->w = w;
	while (!rc && (h = perf_ring_next(&c->ring))) {
		memcpy(&copy, h, sizeof(copy));
		rc = c->t->o.overwrite ? keep(c, h) : take_record(c, h);
	}
	perf_ring_done(&c->ring);
	if (!rc && c->ring.damaged)
		rc = take_damaged(c);
	if (c->aux.stopped && c->t->o.units.restart)
		c->t->o.units.restart(c->t->o.units.arg, c->cpu);
	c->aux.stopped = false;
	return rc;
}

static void fit(struct hwtake *t)
{
	struct ticks_pair now = ticks_read(CLOCK_MONOTONIC);
	struct ticks_clock c = { 0 };

	/* of some ms the map of the start is as good */
	if (!t->o.fit || now.ns - t->first.ns < SYNC_NS / 2)
		return;
	ticks_fit(&c, &t->first, &now);
	if (time_map_valid(&c.map))
		t->side.map = c.map;
}

static int sync_clock(struct hwtake *t, struct native_writer *w, bool now)
{
	struct timespec ts;
	uint64_t ns;

	if (!t->o.clock || !t->ncpus)
		return 0;
	clock_gettime(CLOCK_MONOTONIC, &ts);
	ns = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
	if (!now && ns - t->synced < SYNC_NS)
		return 0;
	t->synced = ns;
	fit(t);
	if (!w)
		return 0;
	return hwside_clock(&t->side, w, t->cpus[0]->cpu);
}

int hwtake_pump(struct hwtake *t, struct native_writer *w)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < t->ncpus; i++)
		rc = take_ring(t->cpus[i], w);
	return rc ? rc : sync_clock(t, t->o.overwrite ? NULL : w, false);
}

/* What was kept in memory, as if it came now. */
static int write_kept(struct take_cpu *c)
{
	struct perf_event_header h;
	int rc = 0;

	for (uint64_t at = 0; !rc && at < c->nkept; at += h.size) {
		memcpy(&h, c->kept + at, sizeof(h));
		rc = take_record(c, (const struct perf_event_header *)(c->kept + at));
	}
	c->nkept = 0;
	return rc;
}

/* What is known to be missing behind the last byte. */
static int end_hole(struct take_cpu *c)
{
	int rc = c->aux.cause != HWT_GAP_NONE ? need_buf(c, 0) : 0;

	if (rc || c->aux.cause == HWT_GAP_NONE)
		return rc;
	c->t->holes++;
	return native_hole(c->w, c->buf, c->aux.cause, c->aux.lost);
}

int hwtake_end(struct hwtake *t, struct native_writer *w)
{
	int rc = 0;

	for (unsigned i = 0; !rc && i < t->ncpus; i++) {
		struct take_cpu *c = t->cpus[i];

		rc = take_ring(c, w);
		if (!rc && t->o.overwrite)
			rc = write_kept(c);
		if (!rc)
			rc = t->o.overwrite ?
				perf_aux_snapshot(&c->aux, c->have_last ? &c->last : NULL) :
				perf_aux_rest(&c->aux);
		if (!rc)
			rc = end_hole(c);
	}
	if (!rc)
		rc = hwside_files(&t->side, w);
	return rc ? rc : sync_clock(t, w, true);
}

struct hwtake_sum hwtake_sum(const struct hwtake *t)
{
	struct hwtake_sum s = { .lost_places = t->holes, .records_lost = t->side.lost };

	for (unsigned i = 0; i < t->ncpus; i++) {
		const struct perf_ring_sum *k = &t->cpus[i]->aux.sum;

		s.trace += k->bytes;
		s.truncated += k->truncated;
		s.partial += k->partial;
		s.collisions += k->collisions;
	}
	return s;
}
