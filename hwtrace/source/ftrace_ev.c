/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Records of all CPUs in order of time: as the capture's own events ("sched:sched_switch"), or as
 * virtual ones, where those that are none are "dirty".
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "../base/text.h"
#include "../virt/virt.h"
#include "ftrace.h"
#include "tep.h"

#define BATCH_BYTES (64u << 10)	/* of records handed out in one call */
#define COMMON_SIZE 8			/* type, flags, preempt count, task */

struct cpu {
	struct ftrace_walk w;
	struct ftrace_rec next;
	uint64_t key;			/* what orders it: time, or the number that stands for it */
	uint32_t order;			/* of equal keys: buffer, CPU */
	uint32_t clock;			/* of its events; those without a time come last */
	uint32_t virt;			/* which of the states its records change */
};

struct ev_stream {
	struct hwt_stream s;
	const struct ftrace *ft;
	bool own;			/* none is to be virtual */
	/* by clock, then by buffer: those that have no time have an order each */
	struct virt_state **virt;
	size_t nvirt;
	const struct virt_map **maps;	/* by format, found once; see @found */
	bool *found;
	uint8_t *bytes;			/* of the records handed out by the last call */
	size_t used, cap;
	struct cpu *cpus;
	size_t ncpus, nheap;		/* @heap: those with records left, the earliest first */
	struct cpu **heap;
};

/* Times of two clocks have no order: as in correlate/merge.c, one clock comes behind the other. */
static bool before(const struct cpu *a, const struct cpu *b)
{
	if (a->clock != b->clock)
		return a->clock < b->clock;
	return a->key != b->key ? a->key < b->key : a->order < b->order;
}

static void sink(struct ev_stream *es, size_t i)
{
	struct cpu *c = es->heap[i];

	for (;;) {
		size_t k = 2 * i + 1;

		if (k + 1 < es->nheap && before(es->heap[k + 1], es->heap[k]))
			k++;
		if (k >= es->nheap || !before(es->heap[k], c))
			break;
		es->heap[i] = es->heap[k];
		i = k;
	}
	es->heap[i] = c;
}

static int step(struct ev_stream *es, struct cpu *c)
{
	int rc = ftrace_walk_next(&c->w, &c->next);

	if (rc <= 0)
		return rc;
	c->key = ftrace_time(es->ft, c->w.buf, c->next.time);
	if (c->key == HWT_TIME_UNKNOWN)
		c->key = c->next.time;
	return 1;
}

/* The heap's first has been used: its next record, or one CPU less. */
static int advance(struct ev_stream *es)
{
	int rc = step(es, es->heap[0]);

	if (rc < 0)
		return rc;
	if (!rc)
		es->heap[0] = es->heap[--es->nheap];
	if (es->nheap)
		sink(es, 0);
	return 0;
}

struct common { uint16_t type; uint8_t flags, preempt; int32_t tid; };

/* Every kernel since 2.6.31 begins records so. */
static bool common(const struct ftrace *ft, const uint8_t *p, size_t n, struct common *out)
{
	struct cur c = cur_new(p, n, ft->swap);

	out->type = cur_u16(&c);
	out->flags = cur_u8(&c);
	out->preempt = cur_u8(&c);
	out->tid = (int32_t)cur_u32(&c);
	return !c.bad;
}

/* What virt_make() asks of a record. */
struct get { const struct ftrace *ft; const uint8_t *p; size_t n; uint32_t type; };

static int get_number(void *arg, const char *field, uint64_t *v)
{
	struct get *g = arg;

	return trace_fmt_number(g->ft->fmt, g->type, field, g->p, g->n, v);
}

static int get_string(void *arg, const char *field, const char **p, size_t *n)
{
	struct get *g = arg;

	return trace_fmt_string(g->ft->fmt, g->type, field, g->p, g->n, p, n);
}

static int get_item(void *arg, const char *field, unsigned i, uint64_t *v)
{
	struct get *g = arg;

	return trace_fmt_item(g->ft->fmt, g->type, field, i, g->p, g->n, v);
}

static const struct virt_map *map_of(struct ev_stream *es, uint16_t type)
{
	int64_t i = trace_fmt_index(es->ft->fmt, type);
	const char *name, *colon;
	char system[64];

	if (i < 0 || es->found[i])
		return i < 0 ? NULL : es->maps[i];
	es->found[i] = true;
	name = trace_fmt_name(es->ft->fmt, type);
	colon = name ? strchr(name, ':') : NULL;
	if (!colon || (size_t)(colon - name) >= sizeof(system))
		return NULL;
	snprintf(system, sizeof(system), "%.*s", (int)(colon - name), name);
	es->maps[i] = virt_find(VIRT_LINUX, system, colon + 1);
	return es->maps[i];
}

static void set_span(struct hwt_event *ev, uint64_t until)
{
	uint64_t span = until > ev->time ? until - ev->time : 0;

	ev->span = ev->time == HWT_TIME_UNKNOWN || span >= HWT_SPAN_UNKNOWN ? HWT_SPAN_UNKNOWN :
		(uint32_t)span;
}

static enum hwt_clock clock_of(const struct ftrace *ft, const struct ftrace_buf *b)
{
	return b->domain != HWT_CLOCK_BASE && (!b->joined || (b->domain == HWT_CLOCK_TSC &&
		!time_map_valid(&ft->c->tsc))) ? b->domain : HWT_CLOCK_BASE;
}

static void head(struct ev_stream *es, const struct cpu *c, struct hwt_event *ev)
{
	const struct ftrace_buf *b = c->w.buf;

	*ev = (struct hwt_event){
		.type = HWT_EV_RECORD, .cpu = c->w.cpu->cpu, .pid = HWT_NONE, .tid = HWT_NONE,
		.src = c->w.cpu->file, .off = c->next.off,
		.time = ftrace_time(es->ft, b, c->next.time), .clock = (uint8_t)clock_of(es->ft, b),
	};
	set_span(ev, ftrace_time(es->ft, b, c->next.until));
	/* its own time contradicts the order: somewhere behind the record before it */
	if (c->next.back)
		ev->span = HWT_SPAN_UNKNOWN;
}

/* The record of @size bytes that was made at @rec. */
static void handed(struct ev_stream *es, struct hwt_event *ev, uint8_t *rec, size_t size,
		   uint32_t id)
{
	ev->u.rec.data = rec;
	ev->u.rec.size = (uint32_t)size;
	ev->u.rec.id = id;
	es->used += (size + 7) & ~(size_t)7;
}

static int fill_lost(struct ev_stream *es, const struct cpu *c, struct hwt_event *ev)
{
	struct virt_ctx ctx = { .time = c->next.time, .cpu = ev->cpu, .pid = -1, .tid = -1 };
	uint8_t *rec = es->bytes + es->used;
	int n;

	/* other CPUs' tasks may have changed, too: only this one's state is forgotten */
	n = virt_make_lost(es->virt[c->virt], &ctx, c->next.missed, rec);
	if (n < 0)
		return n;
	handed(es, ev, rec, (size_t)n, HWT_ID_stream_lost);
	return 0;
}

/* 1: it is a virtual event; 0: it is not; or no memory. */
static int fill_virtual(struct ev_stream *es, const struct cpu *c, const struct common *h,
			struct hwt_event *ev)
{
	const struct virt_map *m = map_of(es, h->type);
	struct get g = { es->ft, c->next.p, c->next.size, h->type };
	const struct virt_get get = { get_number, get_string, get_item, &g };
	struct virt_ctx ctx = { .time = c->next.time, .cpu = ev->cpu, .pid = ev->pid,
		.tid = ev->tid, .flags = virt_flags(h->flags, h->preempt) };
	uint8_t *rec = es->bytes + es->used;
	struct hwt_rec made;
	int n;

	if (!m)
		return 0;
	n = virt_make(m, es->virt[c->virt], &ctx, &get, rec);
	if (n <= 0)
		return n;
	memcpy(&made, rec, sizeof(made));
	ev->pid = made.pid;
	ev->tid = made.tid;
	handed(es, ev, rec, (size_t)n, made.id);
	return 1;
}

static int fill(struct ev_stream *es, struct hwt_event *ev)
{
	const struct cpu *c = es->heap[0];
	struct common h = { .tid = HWT_NONE };
	uint8_t *rec = es->bytes + es->used;
	int rc = 0;

	head(es, c, ev);
	if (!c->next.p)
		return fill_lost(es, c, ev);
	if (common(es->ft, c->next.p, c->next.size, &h)) {
		ev->tid = h.tid;
		ev->pid = h.tid ? virt_pid(es->virt[c->virt], h.tid) : 0;
		if (!es->own)
			rc = fill_virtual(es, c, &h, ev);
	}
	if (rc)
		return rc < 0 ? rc : 0;
	memcpy(rec, c->next.p, c->next.size);
	handed(es, ev, rec, c->next.size, HWT_ID_DIRTY + h.type);
	return 0;
}

static int ev_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct ev_stream *es = hwt_container_of(s, struct ev_stream, s);
	int n = 0, rc = 0;

	es->used = 0;
	while (n < max && es->nheap && es->used <= BATCH_BYTES && !rc) {
		rc = fill(es, &ev[n]);
		if (rc)
			break;
		n++;
		rc = advance(es);
	}
	/* it comes again with the next call */
	return n ? n : rc;
}

static void ev_close(struct hwt_stream *s)
{
	struct ev_stream *es = hwt_container_of(s, struct ev_stream, s);

	for (size_t i = 0; i < es->ncpus; i++)
		ftrace_walk_fini(&es->cpus[i].w);
	for (size_t i = 0; es->virt && i < es->nvirt; i++)
		virt_state_free(es->virt[i]);
	free(es->virt);
	free(es->cpus);
	free(es->heap);
	free(es->maps);
	free(es->found);
	free(es->bytes);
	free(es);
}

/* What is known before the first record. */
static int virt_begin(const struct ftrace *ft, struct virt_state **out)
{
	const struct ftrace_tgid *t = ft->tgids.v;
	const char *text;
	size_t n;
	int rc = virt_state_new(out);

	if (rc)
		return rc;
	virt_state_kernel(*out, ft->c->arch, ft->c->release);
	text = trace_fmt_switch(ft->fmt, &n);
	if (text)
		virt_state_format(*out, "sched", "sched_switch", text, n);
	for (size_t i = 0; i < ft->tgids.n && !rc; i++)
		rc = virt_task(*out, t[i].tid, t[i].pid);
	return rc;
}

static int begin(struct ev_stream *es)
{
	const struct ftrace *ft = es->ft;
	const struct ftrace_buf *bufs = ft->bufs.v;
	const struct ftrace_cpu *cpus = ft->cpus.v;
	size_t room = VIRT_REC_MAX;
	int rc = 0;

	for (size_t i = 0; i < ft->bufs.n; i++)
		room = bufs[i].page_size > room ? bufs[i].page_size : room;
	es->bytes = malloc(BATCH_BYTES + room + 8);
	es->maps = calloc((size_t)trace_fmt_count(ft->fmt) + 1, sizeof(*es->maps));
	es->found = calloc((size_t)trace_fmt_count(ft->fmt) + 1, sizeof(*es->found));
	es->cpus = calloc(ft->cpus.n + 1, sizeof(*es->cpus));
	es->heap = calloc(ft->cpus.n + 1, sizeof(*es->heap));
	es->nvirt = HWT_CLOCK_COUNT + ft->bufs.n + 1;
	es->virt = calloc(es->nvirt, sizeof(*es->virt));
	if (!es->virt || !es->bytes || !es->maps || !es->found || !es->cpus || !es->heap)
		return -ENOMEM;
	for (size_t i = 0; i < ft->cpus.n; i++) {
		struct cpu *c = &es->cpus[i];

		ftrace_walk_init(&c->w, ft, &cpus[i]);
		es->ncpus++;
		c->order = (uint32_t)i;
		c->clock = c->w.buf->domain == HWT_CLOCK_BASE ? HWT_CLOCK_COUNT :
			(uint32_t)clock_of(ft, c->w.buf);
		c->virt = c->clock + (c->clock == HWT_CLOCK_COUNT ? cpus[i].buf : 0);
		rc = es->virt[c->virt] ? 0 : virt_begin(ft, &es->virt[c->virt]);
		if (rc)
			return rc;
		rc = step(es, c);
		if (rc < 0)
			return rc;
		if (rc)
			es->heap[es->nheap++] = c;
	}
	for (size_t i = es->nheap / 2; i--;)
		sink(es, i);
	return 0;
}

static int new_stream(struct capture *c, bool own, struct hwt_stream **out, struct hwt_diag *diag)
{
	static const struct hwt_stream_ops ops = { .next = ev_next, .close = ev_close };
	struct ev_stream *es = calloc(1, sizeof(*es));
	int rc = -ENOMEM;

	if (es) {
		es->s = (struct hwt_stream){ .ops = &ops, .name = "ftrace" };
		es->ft = c->priv;
		es->own = own;
		rc = begin(es);
		if (rc < 0)
			ev_close(&es->s);
	}
	if (rc < 0)
		return diag_set(diag, rc, 3, c->path, HWT_NO_OFF, "out of memory");
	*out = &es->s;
	return 0;
}

int ftrace_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return new_stream(c, true, out, diag);
}

int ftrace_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return new_stream(c, false, out, diag);
}

/* Name of a type with @prefix; NULL: the recording does not describe it. */
static const char *type_name(const struct capture *c, const struct hwt_event *ev, bool dirty)
{
	const struct ftrace *ft = c->priv;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id < HWT_ID_DIRTY)
		return NULL;
	return dirty ? trace_fmt_dirty(ft->fmt, ev->u.rec.id - HWT_ID_DIRTY) :
		trace_fmt_name(ft->fmt, ev->u.rec.id - HWT_ID_DIRTY);
}

const char *ftrace_event_name(const struct capture *c, const struct hwt_event *ev)
{
	const char *name = type_name(c, ev, false);

	if (ev->type == HWT_EV_RECORD && ev->u.rec.id == HWT_ID_stream_lost)
		return "stream.lost";
	return name ? name : "unknown";
}

const char *ftrace_dirty_name(const struct capture *c, const struct hwt_event *ev)
{
	const char *name = type_name(c, ev, true);

	return name ? name : "dirty:unknown";
}

/* trace_printk() keeps the address of its format and the arguments. */
static size_t bprint_text(const struct ftrace *ft, uint32_t type, const struct hwt_event *ev,
			  char *buf, size_t size)
{
	const uint8_t *p = ev->u.rec.data, *args;
	const char *name = trace_fmt_name(ft->fmt, type), *format;
	size_t n = ev->u.rec.size, len;
	uint64_t addr;

	if (!name || strcmp(name, "ftrace:bprint") ||
	    !trace_fmt_number(ft->fmt, type, "fmt", p, n, &addr) ||
	    !trace_fmt_bytes(ft->fmt, type, "buf", p, n, &args, &len))
		return 0;
	format = printk_format(ft->printk, addr);
	return format ? printk_text(buf, size, format, args, len, ft->swap, ft->layout.long_size) :
		0;
}

size_t ftrace_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n)
{
	const struct ftrace *ft = c->priv;
	struct text o = { .buf = buf, .size = n };
	const uint8_t *p = ev->u.rec.data;
	uint32_t type;
	char said[1024];

	if (n)
		buf[0] = 0;
	if (ev->type != HWT_EV_RECORD || ev->u.rec.id < HWT_ID_DIRTY)
		return 0;
	type = ev->u.rec.id - HWT_ID_DIRTY;
	if (!trace_fmt_name(ft->fmt, type)) {
		text_put(&o, "type=%u bytes=", type);
		for (uint32_t i = 0; i < ev->u.rec.size && i < 64; i++)
			text_put(&o, "%02x", p[i]);
		return o.len;
	}
	if (!bprint_text(ft, type, ev, said, sizeof(said)))
		return trace_fmt_text(ft->fmt, type, p, ev->u.rec.size, NULL, buf, n);
	o.len = trace_fmt_text(ft->fmt, type, p, ev->u.rec.size, "buf", buf, n);
	text_put(&o, " text=\"%s\"", said);
	return o.len;
}

size_t ftrace_event_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n)
{
	const struct hwt_abi_event *e;

	if (n)
		buf[0] = 0;
	if (ev->type != HWT_EV_RECORD)
		return 0;
	if (ev->u.rec.id >= HWT_ID_DIRTY)
		return ftrace_dirty_text(c, ev, buf, n);
	e = hwt_abi_event_by_id(ev->u.rec.id);
	return e ? hwt_abi_format(buf, n, e, ev->u.rec.data) : 0;
}

int ftrace_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		       struct hwt_abi_value *v)
{
	const struct ftrace *ft = c->priv;
	const uint8_t *p = ev->u.rec.data;
	uint32_t type = ev->u.rec.id - HWT_ID_DIRTY, n = ev->u.rec.size;

	if (trace_fmt_string(ft->fmt, type, name, p, n, &v->p, &v->n))
		return 1;
	return trace_fmt_number(ft->fmt, type, name, p, n, &v->u);
}
