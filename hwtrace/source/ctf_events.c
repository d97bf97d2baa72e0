/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Foreign CTF as events, in order of time: the container's own, whose data is the whole message,
 * and as virtual events.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>

#include "../base/text.h"
#include "ctf.h"

#define RECS (256u << 10)	/* bytes of records of one call */

struct ev_stream {
	struct hwt_stream s;
	const struct ctf *x;
	struct ctf_pipe *pipe;
	uint64_t time;		/* of the last event */
	int err;		/* it ended so, and what was read before was given */
	struct virt_state *virt[2];	/* of streams with a clock, and of those without */
	bool raw;		/* no virtual events wanted */
	int32_t *cpu;		/* of each stream, as its events tell; HWT_NONE */
	uint32_t used;		/* bytes of @recs, by the last call */
	uint8_t recs[RECS] __attribute__((aligned(8)));
};

/*
 * CPU, process and task from the contexts. User space knows its numbers in a container (vpid, vtid)
 * only; among the kernel's they would be those of others.
 */
static void who(const struct ctf *x, const struct ctf_msg *m, struct hwt_event *ev)
{
	static const char *const names[] = { "cpu_id", "pid", "tid", "vpid", "vtid" };
	int32_t is[] = { HWT_NONE, HWT_NONE, HWT_NONE, HWT_NONE, HWT_NONE };
	bool kernel = ctf_is_kernel(x, m->stream);
	struct cur c = ctf_body(m);
	struct ctf_value v;
	uint64_t n;

	while (ctf_next_field(&c, &v)) {
		if (v.h.scope == CTF_S_FIELDS || !ctf_number(&v, &n) || n > INT32_MAX)
			continue;
		for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
			if (strlen(names[i]) == v.h.name && !memcmp(v.name, names[i], v.h.name))
				is[i] = (int32_t)n;
	}
	ev->cpu = is[0];
	ev->pid = is[1] == HWT_NONE && !kernel ? is[3] : is[1];
	ev->tid = is[2] == HWT_NONE && !kernel ? is[4] : is[2];
}

static uint32_t span(uint64_t lo, uint64_t hi)
{
	return lo == HWT_TIME_UNKNOWN || hi < lo || hi - lo >= HWT_SPAN_UNKNOWN ?
		HWT_SPAN_UNKNOWN : (uint32_t)(hi - lo);
}

/* The record made in @es->recs is the event's. */
static void set_record(struct ev_stream *es, struct hwt_event *ev, int size)
{
	struct hwt_rec h;

	memcpy(&h, es->recs + es->used, sizeof(h));
	ev->u.rec.id = h.id;
	ev->u.rec.data = es->recs + es->used;
	ev->u.rec.size = (uint32_t)size;
	ev->pid = h.pid;
	ev->tid = h.tid;
	es->used += (uint32_t)size;
}

/* What has no time is in no order with what has one. */
static struct virt_state *state_of(const struct ev_stream *es, const struct ctf_msg *m)
{
	return es->virt[m->lo == HWT_TIME_UNKNOWN];
}

static int set_virtual(struct ev_stream *es, const struct ctf_msg *m, struct hwt_event *ev)
{
	const struct virt_ctx c = { .time = m->lo, .cpu = ev->cpu, .pid = ev->pid, .tid = ev->tid };
	struct virt_state *v = state_of(es, m);
	int n = ctf_virt_make(&es->x->classes[m->klass], v, &c, m, es->recs + es->used);

	if (n > 0)
		set_record(es, ev, n);
	if (n)
		return n;
	if (ev->tid == HWT_NONE)
		ev->tid = virt_running(v, ev->cpu);
	if (ev->pid == HWT_NONE && ev->tid != HWT_NONE)
		ev->pid = virt_pid(v, ev->tid);
	return 0;
}

static int set_event(struct ev_stream *es, const struct ctf_msg *m, struct hwt_event *ev)
{
	/* one past the last: a kind that the first pass did not meet */
	ev->u.rec.id = HWT_ID_DIRTY + (m->klass < es->x->nclasses ? m->klass :
				       (uint32_t)es->x->nclasses);
	ev->u.rec.data = m;
	ev->u.rec.size = m->size;
	who(es->x, m, ev);
	if (m->stream < es->x->nstreams && ev->cpu != HWT_NONE)
		es->cpu[m->stream] = ev->cpu;
	return es->raw || m->klass >= es->x->nclasses ? 0 : set_virtual(es, m, ev);
}

static int32_t cpu_of(const struct ev_stream *es, const struct ctf_msg *m)
{
	return m->stream < es->x->nstreams ? es->cpu[m->stream] : HWT_NONE;
}

/* False: it is told by an event of its own. */
static bool set_lost(struct ev_stream *es, const struct ctf_msg *m, struct hwt_event *ev)
{
	/* of packets it is not known how many events were in them */
	uint64_t n = m->flags & CTF_F_PACKETS ? UINT64_MAX : m->count;
	struct virt_ctx c = { .time = m->lo, .pid = HWT_NONE, .tid = HWT_NONE };

	ev->cpu = c.cpu = cpu_of(es, m);
	if (!es->raw && !(m->flags & CTF_F_PACKETS) && ctf_is_own(es->x, m->stream)) {
		virt_lost(state_of(es, m), c.cpu);
		return false;
	}
	set_record(es, ev, virt_make_lost(state_of(es, m), &c, n, es->recs + es->used));
	return true;
}

/* What follows in a stream can not be read. Kernel events tell it as any other loss. */
static void set_gap(struct ev_stream *es, struct hwt_event *ev, int32_t cpu)
{
	const struct virt_ctx c = { .time = es->time, .cpu = cpu, .pid = HWT_NONE,
		.tid = HWT_NONE };
	struct hwt_rec_stream_lost *r = (void *)(es->recs + es->used);
	int n = virt_make_lost(es->virt[!es->time], &c, UINT64_MAX, r);

	*ev = (struct hwt_event){ .type = HWT_EV_GAP, .span = HWT_SPAN_UNKNOWN,
		.time = es->time ? es->time : HWT_TIME_UNKNOWN,
		.cpu = cpu, .pid = HWT_NONE, .tid = HWT_NONE, .src = ev->src, .off = HWT_NO_OFF,
		.u.gap.cause = HWT_GAP_DAMAGED };
	if (es->raw)
		return;
	r->cause = HWT_lost_cause_other;
	ev->type = HWT_EV_RECORD;
	ev->u.rec.number = 0;
	set_record(es, ev, n);
}

/* 1: the message is an event, 0: it is none, negative: no memory. */
static int fill(struct ev_stream *es, const struct ctf_msg *m, struct hwt_event *ev)
{
	int rc = 0;

	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .time = m->lo, .span = span(m->lo, m->hi),
		.cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE, .src = m->stream,
		.off = HWT_NO_OFF };
	switch (m->type) {
	case CTF_EVENT:
		rc = set_event(es, m, ev);
		break;
	case CTF_LOST:
		if (!set_lost(es, m, ev))
			return 0;
		break;
	case CTF_ERROR:
		/* what could not be opened at all has no place among events: it is a note */
		if (m->stream == CTF_NO_STREAM)
			return 0;
		set_gap(es, ev, cpu_of(es, m));
		break;
	default:
		return 0;
	}
	if (ev->time != HWT_TIME_UNKNOWN && ev->time > es->time)
		es->time = ev->time;
	return rc < 0 ? rc : 1;
}

static int ev_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct ev_stream *es = hwt_container_of(s, struct ev_stream, s);
	const struct ctf_msg *m;
	int n = 0, rc = 1;

	if (es->err)
		return es->err;
	ctf_pipe_release(es->pipe);
	es->used = 0;
	while (n < max && rc >= 0 && RECS - es->used >= VIRT_REC_MAX) {
		rc = ctf_pipe_next(es->pipe, &m, NULL);
		if (!rc)
			return n;
		if (rc > 0) {
			rc = fill(es, m, &ev[n]);
			n += rc > 0;
		} else if (rc == -EAGAIN && !n) {
			/* full of what is no event */
			ctf_pipe_release(es->pipe);
			rc = 1;
		}
	}
	/* what the process did wrong was noted when all was read for the first time */
	if (rc == -HWT_E_LIB) {
		ev[n].src = 0;
		set_gap(es, &ev[n], HWT_NONE);
		return n + 1;
	}
	if (rc == -EINTR && !n) {
		ev[n++] = (struct hwt_event){ .type = HWT_EV_NONE, .time = es->time,
			.cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE, .off = HWT_NO_OFF };
	}
	if (rc < 0 && rc != -EINTR && rc != -EAGAIN)
		es->err = rc;
	return n ? n : rc;
}

static void ev_close(struct hwt_stream *s)
{
	struct ev_stream *es = hwt_container_of(s, struct ev_stream, s);

	ctf_pipe_close(es->pipe);
	virt_state_free(es->virt[0]);
	virt_state_free(es->virt[1]);
	free(es->cpu);
	free(es);
}

static int stream_new(struct capture *c, bool raw, struct hwt_stream **out, struct hwt_diag *diag)
{
	static const struct hwt_stream_ops ops = { .next = ev_next, .close = ev_close };
	const struct ctf *x = c->priv;
	const struct ctf_job job = { .dirs = x->dirs, .ndirs = x->ndirs,
		.max_events = x->max_events };
	struct ev_stream *es = calloc(1, sizeof(*es));
	int rc = es && !virt_state_new(&es->virt[0]) && !virt_state_new(&es->virt[1]) ? 0 :
		-ENOMEM;

	if (!rc) {
		es->cpu = malloc(x->nstreams * sizeof(*es->cpu) + 1);
		rc = es->cpu ? ctf_pipe_open(&es->pipe, &job) : -ENOMEM;
	}
	if (rc) {
		if (es)
			ev_close(&es->s);
		return diag_set(diag, rc, rc == -ENOMEM ? 3 : E_CTF_LIB, c->path, HWT_NO_OFF,
				"the process for libbabeltrace2 can not be made: %s",
				strerror(-rc));
	}
	memset(es->cpu, 0xff, x->nstreams * sizeof(*es->cpu));
	virt_state_kernel(es->virt[0], c->arch, c->release);
	virt_state_kernel(es->virt[1], c->arch, c->release);
	es->s = (struct hwt_stream){ .ops = &ops, .name = "CTF events" };
	es->x = x;
	es->raw = raw;
	*out = &es->s;
	return 0;
}

int ctf_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return stream_new(c, true, out, diag);
}

int ctf_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	return stream_new(c, false, out, diag);
}

/* --- what they are called and say --- */

const char *ctf_dirty_name(const struct capture *c, const struct hwt_event *ev)
{
	const struct ctf *x = c->priv;
	uint32_t i = ev->u.rec.id - HWT_ID_DIRTY;

	return i < x->nclasses ? x->classes[i].name : NULL;
}

size_t ctf_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t size)
{
	return ctf_format(ev->u.rec.data, buf, size);
}

int ctf_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		    struct hwt_abi_value *v)
{
	struct ctf_value f;

	*v = (struct hwt_abi_value){ 0 };
	if (!ctf_find(ev->u.rec.data, name, &f))
		return 0;
	if (ctf_number(&f, &v->u))
		return 1;
	if (f.h.kind != CTF_K_STRING)
		return 0;
	v->p = (const char *)f.p;
	v->n = f.h.size;
	return 1;
}

const char *ctf_event_name(const struct capture *c, const struct hwt_event *ev)
{
	const char *name;

	if (ev->type != HWT_EV_RECORD)
		return NULL;
	if (ev->u.rec.id < HWT_ID_DIRTY)
		return "stream.lost";
	name = ctf_dirty_name(c, ev);
	return name ? name + sizeof("dirty:") - 1 : "record";
}

size_t ctf_event_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t size)
{
	if (size)
		buf[0] = 0;
	if (ev->type != HWT_EV_RECORD)
		return 0;
	if (ev->u.rec.id >= HWT_ID_DIRTY)
		return ctf_dirty_text(c, ev, buf, size);
	return hwt_abi_format(buf, size, hwt_abi_event_by_id(ev->u.rec.id), ev->u.rec.data);
}
