/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Kernel records as events, in order of time; rec.data is the whole record but for MAP. The stream
 * of <hwtrace/kernel.h> is the same with every event a record.
 */
#include <errno.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../base/text.h"
#include "native.h"

#define MAX_MAPS 64		/* MAP events, or losses, in one call */
#define KEEP (256u * 1024)	/* bytes of records of one call that are not as in the file */
#define REC_MAX 65536u

struct cpu {
	struct native_walk w;
	struct native_rec next;
	uint64_t time;		/* what orders them: ticks, or base ns where there are two clocks */
	uint64_t ns;		/* base, if the map is known */
	uint32_t span;		/* ns; a clock of its own is less well known */
	const struct native_stream *from;
	bool apart;		/* it has a clock of its own */
	bool lost;		/* records are missing before @next */
};

struct ev_stream {
	struct hwt_stream s;
	const struct native *n;
	bool plain;			/* all are records */
	struct hwt_map maps[MAX_MAPS];	/* of the last call */
	struct hwt_rec_stream_lost lost[MAX_MAPS];
	unsigned nmaps;			/* or losses */
	uint8_t *keep;
	size_t kept;
	size_t ncpus;		/* with records left; they form a heap, the earliest first */
	struct cpu *heap[];
};

static bool before(const struct cpu *a, const struct cpu *b)
{
	if (a->time != b->time)
		return a->time < b->time;
	return a->w.cpu != b->w.cpu ? a->w.cpu < b->w.cpu :
		a->from->file < b->from->file;
}

static void sink(struct ev_stream *es, size_t i)
{
	struct cpu *c = es->heap[i];

	for (;;) {
		size_t k = 2 * i + 1;

		if (k + 1 < es->ncpus && before(es->heap[k + 1], es->heap[k]))
			k++;
		if (k >= es->ncpus || !before(es->heap[k], c))
			break;
		es->heap[i] = es->heap[k];
		i = k;
	}
	es->heap[i] = c;
}

/* The record lives until the next call of the stream, whoever goes on. */
static void keep(struct ev_stream *es, struct cpu *c)
{
	uint8_t *p = es->keep + es->kept;

	if (!c->next.copied)
		return;
	memcpy(p, c->next.p, c->next.size);
	c->next.p = p;
	es->kept += c->next.size;
}

static void free_cpu(struct cpu *c)
{
	native_walk_free(&c->w);
	free(c);
}

static bool step(struct ev_stream *es, struct cpu *c)
{
	const struct native *n = es->n;
	uint64_t ticks;

	do {
		if (!native_next(&c->w, &c->next, NULL))
			return false;
	} while (c->apart && c->next.e && c->next.e->id == HWT_ID_clock_sync);
	ticks = native_load64(c->next.p);
	c->ns = native_time(n, c->from, ticks, &c->span);
	/* a time that is not known stands where its stream has it: at once */
	c->time = !n->dirty_apart ? ticks : c->ns == HWT_TIME_UNKNOWN ? 0 : c->ns;
	c->lost = c->w.lost;
	return true;
}

static void set_record(struct hwt_event *ev, unsigned type, const struct native_rec *r)
{
	struct hwt_rec h;

	memcpy(&h, r->p, sizeof(h));
	ev->type = (uint16_t)type;
	ev->u.rec.data = r->p;
	ev->u.rec.size = r->size;
	ev->u.rec.id = h.id;
}

static void set_switch(struct hwt_event *ev, const uint8_t *p)
{
	uint64_t aspace = native_u64(p, sched_switch, next_aspace);

	ev->type = HWT_EV_SCHED_SWITCH;
	ev->flags = native_u32(p, sched_switch, preempted) ? HWT_F_PREEMPT : 0;
	ev->u.sched.prev_pid = (int32_t)native_u32(p, sched_switch, prev_pid);
	ev->u.sched.prev_tid = (int32_t)native_u32(p, sched_switch, prev_tid);
	ev->u.sched.next_pid = (int32_t)native_u32(p, sched_switch, next_pid);
	ev->u.sched.next_tid = (int32_t)native_u32(p, sched_switch, next_tid);
	ev->u.sched.next_aspace = aspace == UINT64_MAX ? 0 : aspace;
}

static void typed(struct ev_stream *es, struct hwt_event *ev, const struct native_rec *r)
{
	struct hwt_map *m = &es->maps[es->nmaps];

	switch (r->e ? r->e->id : 0) {
	case HWT_ID_sched_switch:
		set_switch(ev, r->p);
		return;
	case HWT_ID_mm_map:
		if (!native_rec_map(r, m))
			break;
		m->from = ev->clock == HWT_CLOCK_BASE ? ev->time : 0;
		set_record(ev, HWT_EV_MAP, r);
		ev->u.rec.data = m;
		ev->u.rec.size = sizeof(*m);
		es->nmaps++;
		return;
	case HWT_ID_sched_fork: case HWT_ID_sched_exec: case HWT_ID_sched_comm:
	case HWT_ID_sched_exit:
		set_record(ev, HWT_EV_TASK, r);
		return;
	case HWT_ID_clock_sync:
		ev->type = HWT_EV_CLOCK_SYNC;
		ev->u.sync.other = native_u64(r->p, clock_sync, value);
		ev->u.sync.other_clock = native_u32(r->p, clock_sync, clock);
		return;
	}
	set_record(ev, HWT_EV_RECORD, r);
}

static void fill(struct ev_stream *es, const struct cpu *c, struct hwt_event *ev)
{
	const struct native *n = es->n;
	bool map = c->ns != HWT_TIME_UNKNOWN;
	struct hwt_rec h;

	memcpy(&h, c->next.p, sizeof(h));
	*ev = (struct hwt_event){
		.time = map ? c->ns : h.time, .span = map ? c->span : 0,
		.clock = map ? HWT_CLOCK_BASE : c->apart ? n->dirty_clock :
			n->counter_cs ? HWT_CLOCK_CS : HWT_CLOCK_TSC,
		.cpu = c->w.cpu, .pid = h.pid, .tid = h.tid, .off = c->next.off,
		.src = c->from->file,
	};
	if (!map && c->apart && n->dirty_clock == HWT_CLOCK_BASE)
		ev->time = HWT_TIME_UNKNOWN;	/* ticks of nobody knows what */
	if (es->plain)
		set_record(ev, HWT_EV_RECORD, &c->next);
	else
		typed(es, ev, &c->next);
}

/* What the writer's own records do not tell: a packet is missing or damaged. */
static void fill_lost(struct ev_stream *es, struct cpu *c, struct hwt_event *ev)
{
	struct hwt_rec_stream_lost *l = &es->lost[es->nmaps++];

	fill(es, c, ev);
	*l = (struct hwt_rec_stream_lost){ .rec = { .time = native_load64(c->next.p),
		.id = HWT_ID_stream_lost, .size = sizeof(*l), .version = HWT_ABI_VERSION,
		.pid = -1, .tid = -1 }, .count = c->w.nlost, .cause = c->w.cause };
	ev->pid = ev->tid = HWT_NONE;
	ev->u.rec.data = l;
	ev->u.rec.size = sizeof(*l);
	ev->u.rec.id = HWT_ID_stream_lost;
	c->lost = false;
}

static int ev_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct ev_stream *es = hwt_container_of(s, struct ev_stream, s);
	int n = 0;

	es->nmaps = 0;
	es->kept = 0;
	while (n < max && es->ncpus && es->nmaps < MAX_MAPS && es->kept <= KEEP - REC_MAX) {
		struct cpu *c = es->heap[0];

		if (c->lost && es->plain) {
			fill_lost(es, c, &ev[n++]);
			continue;
		}
		keep(es, c);
		fill(es, c, &ev[n++]);
		if (!step(es, c)) {
			free_cpu(c);
			es->heap[0] = es->heap[--es->ncpus];
		}
		if (es->ncpus)
			sink(es, 0);
	}
	return n;
}

static void ev_close(struct hwt_stream *s)
{
	struct ev_stream *es = hwt_container_of(s, struct ev_stream, s);

	while (es->ncpus)
		free_cpu(es->heap[--es->ncpus]);
	free(es->keep);
	free(es);
}

static int new_stream(struct capture *c, bool plain, struct hwt_stream **out,
		      struct hwt_diag *diag)
{
	static const struct hwt_stream_ops ops = { .next = ev_next, .close = ev_close };
	const struct native *n = c->priv;
	struct ev_stream *es = calloc(1, sizeof(*es) + n->nstreams * sizeof(es->heap[0]));

	if (!es)
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	es->s = (struct hwt_stream){ .ops = &ops, .name = "kernel records" };
	es->n = n;
	es->plain = plain;
	es->keep = malloc(KEEP);
	for (size_t i = 0; i < n->nstreams || !es->keep; i++) {
		struct cpu *k = es->keep ? calloc(1, sizeof(*k)) : NULL;

		if (!k || native_walk_init(&k->w, n, &n->streams[i])) {
			free(k);
			ev_close(&es->s);
			return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
		}
		k->w.quiet = true;
		k->from = &n->streams[i];
		k->apart = n->streams[i].dirty && n->dirty_apart;
		if (step(es, k))
			es->heap[es->ncpus++] = k;
		else
			free_cpu(k);
	}
	for (size_t i = es->ncpus / 2; i--;)
		sink(es, i);
	*out = &es->s;
	return 0;
}

int native_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return new_stream(c, false, out, diag);
}

int native_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return new_stream(c, true, out, diag);
}

const char *native_event_name(const struct capture *c, const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;

	if (ev->type == HWT_EV_SCHED_SWITCH)
		return "sched.switch";
	if (ev->type == HWT_EV_CLOCK_SYNC)
		return "clock.sync";
	if (ev->type != HWT_EV_RECORD && ev->type != HWT_EV_MAP && ev->type != HWT_EV_TASK)
		return NULL;
	if (ev->u.rec.id >= HWT_ID_DIRTY)
		return native_dirty_name(c, ev);
	e = hwt_abi_event_by_id(ev->u.rec.id);
	return e ? e->name : "record";
}

size_t native_event_text(const struct capture *c, const struct hwt_event *ev, char *buf,
			 size_t size)
{
	struct text o = { .buf = buf, .size = size };
	const struct hwt_abi_event *e;
	const struct hwt_map *m;

	if (size)
		buf[0] = 0;
	switch (ev->type) {
	case HWT_EV_SCHED_SWITCH:
		text_put(&o, "prev_pid=%d prev_tid=%d next_pid=%d next_tid=%d",
			 ev->u.sched.prev_pid, ev->u.sched.prev_tid, ev->u.sched.next_pid,
			 ev->u.sched.next_tid);
		break;
	case HWT_EV_CLOCK_SYNC:
		text_put(&o, "clock=%u value=%llu", ev->u.sync.other_clock,
			 (unsigned long long)ev->u.sync.other);
		break;
	case HWT_EV_MAP:
		m = ev->u.rec.data;
		text_put(&o, "pid=%d addr=0x%llx size=0x%llx file_off=0x%llx path=%s", m->pid,
			 (unsigned long long)m->addr, (unsigned long long)m->size,
			 (unsigned long long)m->file_off, m->path);
		break;
	case HWT_EV_TASK: case HWT_EV_RECORD:
		if (ev->u.rec.id >= HWT_ID_DIRTY)
			return native_dirty_text(c, ev, buf, size);
		e = hwt_abi_event_by_id(ev->u.rec.id);
		if (e) {
			size_t k = hwt_abi_format(buf, size, e, ev->u.rec.data);

			return k + native_context_text(c, ev, k < size ? buf + k : NULL,
						       k < size ? size - k : 0);
		}
		text_put(&o, "%u bytes", ev->u.rec.size);
		break;
	}
	return o.len;
}
