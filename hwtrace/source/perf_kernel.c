/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stream of <hwtrace/kernel.h>. A dirty event is the whole record; its id is HWT_ID_DIRTY and
 * the record's type, for samples and 64 and the attr's index.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "perf_kernel.h"
#include "perf_order.h"
#include "tep.h"

#define SAMPLES		(HWT_ID_DIRTY + REC_KERNEL_END)
#define OUT_SIZE	(128u << 10)	/* bytes that one call hands out */
#define REC_SIZE	(64u << 10)	/* at most, of a record of the file */

struct kernel_stream {
	struct hwt_stream s;
	const struct perf *pf;
	struct perf_order *order;
	const struct virt_map **maps;	/* by attr, NULL: dirty */
	struct perf_turn turn;
	bool more;			/* @turn is not done */
	uint64_t time;			/* of @turn */
	size_t used;
	uint64_t out[OUT_SIZE / 8];
};

static const char *tracepoint(const struct perf *pf, const struct perf_attr *a)
{
	return a->type == PERF_TYPE_TP && pf->fmt && a->config <= UINT32_MAX ?
		trace_fmt_name(pf->fmt, (uint32_t)a->config) : NULL;
}

/* How hwtrace/virt reads a sample. */
static int number(void *arg, const char *field, uint64_t *v)
{
	const struct perf_turn *t = arg;

	return trace_fmt_number(t->pf->fmt, (uint32_t)t->s.attr->config, field, t->s.raw,
				t->s.raw_size, v);
}

static int string(void *arg, const char *field, const char **p, size_t *n)
{
	const struct perf_turn *t = arg;

	return trace_fmt_string(t->pf->fmt, (uint32_t)t->s.attr->config, field, t->s.raw,
				t->s.raw_size, p, n);
}

static int item(void *arg, const char *field, unsigned i, uint64_t *v)
{
	const struct perf_turn *t = arg;

	return trace_fmt_item(t->pf->fmt, (uint32_t)t->s.attr->config, field, i, t->s.raw,
			      t->s.raw_size, v);
}

static int turn_sample(struct kernel_stream *ks, void *rec)
{
	struct perf_turn *t = &ks->turn;
	const struct virt_get g = { number, string, item, t };
	const struct virt_map *m = t->s.attr && !t->s.bad ?
		ks->maps[t->s.attr - ks->pf->attrs] : NULL;
	uint64_t flags, count;

	if (!m || !t->s.raw)
		return 0;
	if (number(t, "common_flags", &flags) && number(t, "common_preempt_count", &count))
		t->ctx.flags = virt_flags((unsigned)flags, (unsigned)count);
	return virt_make(m, t->virt, &t->ctx, &g, rec);
}

static void header(const struct kernel_stream *ks, struct hwt_event *ev)
{
	const struct perf_turn *t = &ks->turn;

	*ev = (struct hwt_event){ .time = ks->time, .type = HWT_EV_RECORD, .cpu = t->ctx.cpu,
		.pid = t->ctx.pid, .tid = t->ctx.tid, .src = t->r.file, .off = t->r.off };
}

static void dirty(struct kernel_stream *ks, struct hwt_event *ev)
{
	const struct perf_turn *t = &ks->turn;
	char *copy = (char *)ks->out + ks->used;

	header(ks, ev);
	ev->u.rec.id = HWT_ID_DIRTY + t->r.type;
	if (t->r.type == REC_SAMPLE && t->s.attr)
		ev->u.rec.id = SAMPLES + (uint32_t)(t->s.attr - ks->pf->attrs);
	ev->u.rec.data = t->r.p;
	ev->u.rec.size = t->r.size;
	if (!t->r.inner)
		return;
	memcpy(copy, t->r.p, t->r.size);
	ev->u.rec.data = copy;
	ks->used += (t->r.size + 7) & ~7ull;
}

/* Records that came too late for their place: how many, where. */
static bool late(struct kernel_stream *ks, struct hwt_event *ev)
{
	struct virt_ctx ctx = { .time = ks->time, .cpu = HWT_NONE, .pid = -1, .tid = -1 };
	uint64_t n = perf_order_late(ks->order);
	struct hwt_rec_stream_lost *rec = (void *)((char *)ks->out + ks->used);

	if (!n)
		return false;
	ks->used += (size_t)virt_make_lost(ks->turn.virt, &ctx, n, rec);
	rec->cause = HWT_lost_cause_other;
	*ev = (struct hwt_event){ .time = ks->time, .type = HWT_EV_RECORD, .cpu = HWT_NONE,
		.pid = HWT_NONE, .tid = HWT_NONE, .off = HWT_NO_OFF,
		.u.rec = { rec, sizeof(*rec), HWT_ID_stream_lost } };
	return true;
}

/* The record that is open, or its next part, as an event. */
static int turn(struct kernel_stream *ks, struct hwt_event *ev)
{
	struct perf_turn *t = &ks->turn;
	struct hwt_rec *rec = (void *)((char *)ks->out + ks->used);
	int rc;

	if (t->r.type == REC_SAMPLE) {
		ks->more = false;
		rc = turn_sample(ks, rec);
	} else {
		rc = perf_side(t, rec, &ks->more);
	}
	if (rc < 0)
		return rc;
	if (!rc) {
		dirty(ks, ev);
		return 0;
	}
	t->part++;
	ks->used += (size_t)rc;
	header(ks, ev);
	ev->pid = rec->pid;
	ev->tid = rec->tid;
	ev->u.rec.data = rec;
	ev->u.rec.size = (uint32_t)rc;
	ev->u.rec.id = rec->id;
	return 0;
}

static int next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct kernel_stream *ks = hwt_container_of(s, struct kernel_stream, s);
	struct perf_turn *t = &ks->turn;
	int n = 0, rc;

	ks->used = 0;
	while (n < max && ks->used + REC_SIZE + VIRT_REC_MAX <= OUT_SIZE) {
		if (!ks->more) {
			rc = perf_order_next(ks->order, &t->r, &ks->time);
			if (rc <= 0)
				return n ? n : rc;
			perf_sample(ks->pf, &t->r, &t->s);
			t->ctx = (struct virt_ctx){ .time = ks->time, .cpu = t->s.cpu,
				.pid = t->s.pid, .tid = t->s.tid };
			t->part = 0;
			ks->more = true;
			if (late(ks, &ev[n])) {
				n++;
				continue;
			}
		}
		rc = turn(ks, &ev[n]);
		if (rc)
			return n ? n : rc;
		n++;
	}
	return n;
}

static void close_stream(struct hwt_stream *s)
{
	struct kernel_stream *ks = hwt_container_of(s, struct kernel_stream, s);

	perf_order_free(ks->order);
	virt_state_free(ks->turn.virt);
	free(ks->maps);
	free(ks);
}

static void tell(struct perf_told *told, unsigned id)
{
	told->sched_switch |= id == HWT_ID_sched_switch;
	told->fork |= id == HWT_ID_sched_fork;
	told->exec |= id == HWT_ID_sched_exec;
	told->comm |= id == HWT_ID_sched_comm;
	told->exit |= id == HWT_ID_sched_exit;
}

/* The maps of all attrs, and what the kernel was. */
static void bind(struct kernel_stream *ks)
{
	const struct perf *pf = ks->pf;
	const struct capture *c = pf->c;
	unsigned major, minor;
	const char *format;
	char name[256], *event;
	size_t n;

	virt_state_kernel(ks->turn.virt, c->arch, c->release);
	format = pf->fmt ? trace_fmt_switch(pf->fmt, &n) : NULL;
	if (format)
		virt_state_format(ks->turn.virt, "sched", "sched_switch", format, n);
	ks->turn.runnable_known = c->release && sscanf(c->release, "%3u.%3u", &major,
						       &minor) == 2 &&
		(major > 4 || (major == 4 && minor >= 17));
	for (size_t i = 0; i < pf->nattrs; i++) {
		const char *full = tracepoint(pf, &pf->attrs[i]);

		snprintf(name, sizeof(name), "%s", full ? full : "");
		event = strchr(name, ':');
		if (!event)
			continue;
		*event++ = 0;
		ks->maps[i] = virt_find(VIRT_LINUX, name, event);
		if (ks->maps[i])
			tell(&ks->turn.told, virt_id(ks->maps[i]));
	}
}

int perf_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	static const struct hwt_stream_ops ops = { next, close_stream };
	struct kernel_stream *ks = calloc(1, sizeof(*ks));
	const struct perf *pf = c->priv;

	if (ks)
		ks->maps = calloc(pf->nattrs + 1, sizeof(*ks->maps));
	if (!ks || !ks->maps || virt_state_new(&ks->turn.virt) ||
	    perf_order_new(&ks->order, pf)) {
		if (ks)
			close_stream(&ks->s);
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	}
	ks->s = (struct hwt_stream){ .ops = &ops, .name = "perf.data" };
	ks->pf = ks->turn.pf = pf;
	bind(ks);
	*out = &ks->s;
	return 0;
}

/* The same event as perf_ev.c has it. */
static struct hwt_event as_record(const struct hwt_event *ev)
{
	struct hwt_event e = *ev;

	e.u.rec.id = ev->u.rec.id >= SAMPLES ? ev->u.rec.id - SAMPLES + PERF_FIRST_SAMPLE :
		ev->u.rec.id - HWT_ID_DIRTY;
	return e;
}

int perf_dirty_names(struct perf *pf)
{
	struct arena *a = &pf->c->arena;
	char name[256];

	pf->dirty = arena_alloc(a, (pf->nattrs + REC_KERNEL_END) * sizeof(*pf->dirty));
	if (!pf->dirty)
		return -ENOMEM;
	for (size_t i = 0; i < pf->nattrs + REC_KERNEL_END; i++) {
		const struct perf_attr *at = i < REC_KERNEL_END ? NULL :
			&pf->attrs[i - REC_KERNEL_END];
		const char *tp = at ? tracepoint(pf, at) : NULL;

		/* a SWITCH record that is no event of its own tells what another one told */
		snprintf(name, sizeof(name), "dirty:%s", tp ? tp : at ?
			 at->name[0] ? at->name : "sample" :
			 i == REC_SWITCH || i == REC_SWITCH_CPU_WIDE ? "switch_again" :
			 perf_type_name((unsigned)i));
		pf->dirty[i] = arena_str(a, name);
		if (!pf->dirty[i])
			return -ENOMEM;
	}
	return 0;
}

const char *perf_dirty_name(const struct capture *c, const struct hwt_event *ev)
{
	const struct perf *pf = c->priv;
	uint32_t i = ev->u.rec.id - HWT_ID_DIRTY;

	return pf->dirty && i < pf->nattrs + REC_KERNEL_END ? pf->dirty[i] : NULL;
}

size_t perf_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n)
{
	struct hwt_event e = as_record(ev);

	return perf_event_text(c, &e, buf, n);
}

int perf_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		     struct hwt_abi_value *v)
{
	const struct perf *pf = c->priv;
	struct perf_rec r = { .p = ev->u.rec.data, .size = ev->u.rec.size, .type = REC_SAMPLE };
	struct perf_turn t = { .pf = pf };

	if (ev->u.rec.id < SAMPLES)
		return 0;
	perf_sample(pf, &r, &t.s);
	if (!t.s.attr || t.s.bad)
		return 0;
	if (t.s.raw && tracepoint(pf, t.s.attr))
		return number(&t, name, &v->u) || string(&t, name, &v->p, &v->n);
	if (!strcmp(name, "ip") && t.s.attr->sample_type & S_IP)
		v->u = t.s.ip;
	else if (!strcmp(name, "addr") && t.s.attr->sample_type & S_ADDR)
		v->u = t.s.addr;
	else if (!strcmp(name, "period") && t.s.attr->sample_type & S_PERIOD)
		v->u = t.s.period;
	else
		return 0;
	return 1;
}
