/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture as the public API shows it: the one place where sources, flow and image meet. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>

#include "../decoders/flow/flow.h"
#include "../hwtrace/source/capture.h"
#include "bound.h"
#include "clock/aux.h"
#include "clock/widen.h"
#include "expand.h"
#include "export/perf.h"
#include "session.h"

struct hwt_session {
	struct capture *cap;
	bool asked;		/* for a clock that trace alone is on */
};

/* What hwt_session_flow() hands out: the top of a chain, and the flow stream below that counts. */
struct session_stream {
	struct hwt_stream s;
	struct hwt_stream *top;
	const struct flow_stream *flow;
	const struct hwt_stream *expanded;	/* NULL: not to instructions */
};

int hwt_session_open(struct hwt_session **out, const char *path, const struct hwt_open_opts *opts,
		     struct hwt_diag *diag)
{
	struct hwt_open_opts o = { .size = sizeof(o) };
	struct hwt_session *s;
	int rc;

	if (diag)
		*diag = (struct hwt_diag){ .off = HWT_NO_OFF };
	if (opts) {
		if (opts->size < sizeof(size_t))
			return diag_set(diag, -EINVAL, 0, NULL, HWT_NO_OFF,
				"size of the options is not set");
		memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	}
	s = calloc(1, sizeof(*s));
	if (!s)
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	rc = source_open(&s->cap, path, &o, diag);
	if (rc < 0) {
		free(s);
		return rc;
	}
	*out = s;
	return 0;
}

void hwt_session_close(struct hwt_session *s)
{
	if (!s)
		return;
	capture_free(s->cap);
	free(s);
}

struct capture *session_capture(struct hwt_session *s)
{
	return s->cap;
}

const struct hwt_note *hwt_session_note(const struct hwt_session *s, size_t i)
{
	return i < s->cap->notes.n ? &s->cap->notes.v[i] : NULL;
}

static const char *text(const char *s)
{
	return s ? s : "";
}

void hwt_session_info(const struct hwt_session *s, struct hwt_capture_info *out)
{
	const struct capture *c = s->cap;

	*out = (struct hwt_capture_info){
		.format = text(c->format), .path = text(c->path), .time_start = c->time_start,
		.clock = text(c->clock), .arch = text(c->arch), .host = text(c->host),
		.release = text(c->release), .cmdline = text(c->cmdline), .cpu = text(c->cpu),
		.nevents = c->nevents, .nbufs = c->nbufs, .ntasks = machine_tasks(c->machine),
		.nmaps = image_nmaps(c->image), .size = c->other_size,
	};
	for (size_t i = 0; i < c->nfiles; i++)
		out->size += c->files[i]->scratch ? 0 : c->files[i]->size;
}

/* The counter of what was traced, where the capture does not say it. */
static unsigned counter_of(const struct capture *c)
{
	unsigned proto = c->nbufs && c->bufs[0].ncfgs ? c->bufs[0].cfgs[0].proto : HWT_PROTO_NONE;

	if (c->counter != HWT_CLOCK_BASE || proto == HWT_PROTO_NONE)
		return c->counter;
	return proto == HWT_PROTO_PT ? HWT_CLOCK_TSC : HWT_CLOCK_CS;
}

/* All trace is read for it, so only when somebody asks for its times. */
static int find_clock(struct hwt_session *s)
{
	int rc = s->asked ? 0 : clock_aux(s->cap);

	s->asked = true;
	return rc < 0 ? rc : 0;
}

void hwt_session_clock(struct hwt_session *s, struct hwt_clock_info *out)
{
	const struct capture *c = s->cap;

	find_clock(s);

	*out = c->how;
	out->how = c->how.rate_ppb ? HWT_MAP_COUNTER :
		c->fit.lo.n && c->how.pairs ? HWT_MAP_FITTED :
		time_map_valid(&c->tsc) ? HWT_MAP_EXACT : HWT_MAP_NONE;
	out->counter = (uint8_t)counter_of(c);
	out->base = c->base;
}

void hwt_session_scope(const struct hwt_session *s, struct hwt_scope *out)
{
	*out = s->cap->scope;
}

const char *hwt_session_fact(const struct hwt_session *s, size_t i, const char **value)
{
	if (i >= s->cap->nfacts)
		return NULL;
	*value = s->cap->facts[i].value;
	return s->cap->facts[i].key;
}

size_t hwt_session_bufs(const struct hwt_session *s)
{
	return s->cap->nbufs;
}

int hwt_session_buf(const struct hwt_session *s, size_t i, struct hwt_buf_info *out)
{
	const struct trace_buf *b;

	if (i >= s->cap->nbufs)
		return -EINVAL;
	b = &s->cap->bufs[i];
	*out = (struct hwt_buf_info){
		.name = text(b->name), .file = text(s->cap->path), .nsources = (uint8_t)b->ncfgs,
		.formatted = b->framing, .cpu = b->cpu, .pid = b->pid, .tid = b->tid,
		.lost = b->lost_after, .nspans = b->nspans,
	};
	for (size_t k = 0; k < b->nspans; k++) {
		out->size += b->spans[k].size;
		out->lost += b->spans[k].lost_before;
	}
	if (b->nspans && b->spans[0].file)
		out->file = b->spans[0].file->path;
	for (size_t k = 0; k < b->ncfgs; k++) {
		if (k && out->proto != b->cfgs[k].proto) {
			out->proto = HWT_PROTO_NONE;
			break;
		}
		out->proto = b->cfgs[k].proto;
	}
	return 0;
}

int hwt_session_src(const struct hwt_session *s, size_t i, size_t k, struct hwt_src_info *out)
{
	const struct trace_cfg *cfg;

	if (i >= s->cap->nbufs || k >= s->cap->bufs[i].ncfgs)
		return 0;
	cfg = &s->cap->bufs[i].cfgs[k];
	*out = (struct hwt_src_info){
		.name = text(cfg->name), .proto = cfg->proto, .trace_id = cfg->trace_id,
		.cpu = cfg->cpu, .core = text(cfg->core),
	};
	return 1;
}

/* Arguments of a decoder for buffer @i; @pt tells which backend it is for. */
static int flow_args(struct hwt_session *s, size_t i, const struct hwt_interest *want,
		     struct flow_args *a, bool *pt, struct hwt_diag *diag)
{
	if (diag)
		*diag = (struct hwt_diag){ .off = HWT_NO_OFF };
	if (i >= s->cap->nbufs)
		return diag_set(diag, -EINVAL, 0, s->cap->path, HWT_NO_OFF, "no trace buffer %zu",
			i);
	*a = (struct flow_args){
		.want = want, .buf = &s->cap->bufs[i], .image = s->cap->image,
		.machine = s->cap->machine, .tsc = &s->cap->tsc, .src = (uint32_t)i,
		.notes = &s->cap->notes,
	};
	*pt = a->buf->ncfgs && a->buf->cfgs[0].proto == HWT_PROTO_PT;
	/* a recorder of ours always describes its units: something is missing or damaged */
	if (!a->buf->ncfgs && !strcmp(text(s->cap->format), "native"))
		return diag_set(diag, -HWT_E_FORMAT, 143, s->cap->path, HWT_NO_OFF,
				"hwtrace.ini does not describe the trace unit of buffer \"%s\"",
				text(a->buf->name));
	if (!a->buf->ncfgs)
		return diag_set(diag, -HWT_E_FORMAT, 25, s->cap->path, HWT_NO_OFF,
				"trace buffer \"%s\" has no configured source", text(a->buf->name));
	return 0;
}

int hwt_session_packets(struct hwt_session *s, size_t i, struct hwt_packets **out,
			struct hwt_diag *diag)
{
	static const struct hwt_interest all = HWT_INTEREST_ALL;
	struct flow_args a;
	bool pt;
	int rc = flow_args(s, i, &all, &a, &pt, diag);

	if (rc < 0)
		return rc;
	return pt ? packets_pt_new(out, &a, diag) : packets_ocsd_new(out, &a, diag);
}

int hwt_packets_next(struct hwt_packets *ps, struct hwt_packet *pkt)
{
	return ps->next(ps, pkt);
}

int hwt_packets_stats(const struct hwt_packets *ps, struct hwt_flow_stats *out)
{
	if (!ps->stats)
		return 0;
	*out = *ps->stats;
	return 1;
}

void hwt_packets_close(struct hwt_packets *ps)
{
	if (ps)
		ps->close(ps);
}

static int session_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct session_stream *ss = hwt_container_of(s, struct session_stream, s);

	return hwt_stream_next(ss->top, ev, max);
}

static void session_close(struct hwt_stream *s)
{
	struct session_stream *ss = hwt_container_of(s, struct session_stream, s);

	hwt_stream_close(ss->top);
	free(ss);
}

static const struct hwt_stream_ops session_ops = { session_next, session_close };

/* What ends before @ns in base time can not be before this in that of flow. */
struct hwt_interest session_early(const struct hwt_session *s, const struct hwt_interest *want)
{
	struct hwt_interest w = *want;

	if (s->cap->tsc.fit && w.time_lo)
		w.time_lo = time_fit_early(s->cap->tsc.fit, w.time_lo);
	return w;
}

/* Up to the bounds of times; @widen: of a fitted map, in base time. */
static int flow_new(struct hwt_session *s, size_t i, const struct hwt_interest *all, bool widen,
		    struct hwt_stream **out, struct hwt_diag *diag)
{
	const struct hwt_interest w = session_early(s, all), *want = &w;
	struct session_stream *ss;
	struct flow_args a;
	bool pt;
	int rc = flow_args(s, i, want, &a, &pt, diag);

	if (rc < 0)
		return rc;
	rc = find_clock(s);
	ss = rc < 0 ? NULL : calloc(1, sizeof(*ss));
	if (!ss)
		return diag_set(diag, -ENOMEM, 3, s->cap->path, HWT_NO_OFF, "out of memory");
	rc = pt ? flow_ipt_new(&ss->top, &a, diag) : flow_ocsd_new(&ss->top, &a, diag);
	if (rc < 0)
		goto fail;
	ss->flow = hwt_container_of(ss->top, struct flow_stream, s);
	if (want->level > HWT_LEVEL_HOLES) {
		rc = bound_new(&ss->top, want, ss->top, ss->flow->bounded);
		if (rc < 0) {
			diag_set(diag, rc, 3, s->cap->path, HWT_NO_OFF, "out of memory");
			goto fail;	/* bound_new() closed the flow stream */
		}
		if (s->cap->tsc.fit && s->cap->fit.lo.n > 1)
			bound_uneven(ss->top);
		if (widen && s->cap->tsc.fit)
			rc = widen_new(&ss->top, s->cap->tsc.fit, ss->top);
		if (rc < 0) {
			diag_set(diag, rc, 3, s->cap->path, HWT_NO_OFF, "out of memory");
			goto fail;
		}
	}
	if (want->level >= HWT_LEVEL_INSNS) {
		rc = expand_new(&ss->top, s->cap->image, want, ss->top);
		if (rc < 0) {
			diag_set(diag, rc, 3, s->cap->path, HWT_NO_OFF, "out of memory");
			goto fail;	/* expand_new() closed the flow stream */
		}
		ss->expanded = ss->top;
	}
	if (!time_map_valid(&s->cap->tsc) && s->cap->fit.lo.n) {
		rc = convert_new(&ss->top, &s->cap->fit, ss->top);
		if (rc < 0) {
			diag_set(diag, rc, 3, s->cap->path, HWT_NO_OFF, "out of memory");
			goto fail;
		}
	}
	ss->s.ops = &session_ops;
	ss->s.name = text(a.buf->name);
	*out = &ss->s;
	return 0;
fail:
	free(ss);
	return rc;
}

int hwt_session_flow(struct hwt_session *s, size_t i, const struct hwt_interest *want,
		     struct hwt_stream **out, struct hwt_diag *diag)
{
	return flow_new(s, i, want, true, out, diag);
}

int session_flow(struct hwt_session *s, size_t i, const struct hwt_interest *want,
		 struct hwt_stream **out, struct hwt_diag *diag)
{
	return flow_new(s, i, want, !s->cap->one_counter, out, diag);
}

bool session_timed(struct hwt_session *s, size_t i, unsigned max)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_CALLS, .time_hi = HWT_TIME_UNKNOWN };
	struct hwt_event ev[64];
	struct hwt_stream *st;
	bool found = false;
	unsigned seen = 0;
	int n = 0;

	if (hwt_session_flow(s, i, &want, &st, NULL) < 0)
		return false;
	while (!found && seen < max && (n = hwt_stream_next(st, ev, 64)) > 0) {
		for (int k = 0; k < n; k++)
			found = found || ev[k].time != HWT_TIME_UNKNOWN;
		seen += (unsigned)n;
	}
	hwt_stream_close(st);
	return found;
}

bool session_marks(const struct hwt_src_info *src)
{
	return src->proto == HWT_PROTO_STM || src->proto == HWT_PROTO_ITM;
}

bool session_of_marks(const struct hwt_session *s, size_t i)
{
	struct hwt_src_info src;
	size_t k;

	for (k = 0; hwt_session_src(s, i, k, &src); k++)
		if (!session_marks(&src))
			return false;
	return k > 0;
}

const struct time_fit *session_fit(const struct hwt_session *s)
{
	return s->cap->one_counter && !s->cap->how.steps ? s->cap->tsc.fit : NULL;
}

int session_widen(struct hwt_session *s, struct hwt_stream **st)
{
	if (!s->cap->tsc.fit || !s->cap->one_counter)
		return 0;
	return widen_new(st, s->cap->tsc.fit, *st);
}

void hwt_flow_stats(const struct hwt_stream *s, struct hwt_flow_stats *out)
{
	const struct session_stream *ss;

	*out = (struct hwt_flow_stats){ 0 };
	if (s->ops != &session_ops)
		return;
	ss = hwt_container_of((struct hwt_stream *)s, struct session_stream, s);
	*out = ss->flow->stats;
	if (ss->expanded)
		out->gaps += expand_holes(ss->expanded);
}

int hwt_session_events(struct hwt_session *s, struct hwt_stream **out, struct hwt_diag *diag)
{
	struct hwt_stream *st;
	int rc;

	if (!s->cap->events)
		return diag_set(diag, -ENOENT, 0, s->cap->path, HWT_NO_OFF,
				"a %s capture holds no kernel-side events", text(s->cap->format));
	rc = s->cap->events(s->cap, &st, diag);
	if (rc >= 0)
		rc = session_widen(s, &st);
	if (rc >= 0)
		*out = st;
	return rc == -ENOMEM ? diag_set(diag, rc, 3, s->cap->path, HWT_NO_OFF, "out of memory") :
		rc;
}

const char *hwt_event_name(const struct hwt_session *s, const struct hwt_event *ev)
{
	const char *name = NULL;

	if (flow_is_record(ev))
		return flow_record_name(ev);
	if (s->cap->event_name)
		name = s->cap->event_name(s->cap, ev);
	return name ? name : "record";
}

const char *hwt_gap_code_text(const struct hwt_session *s, const struct hwt_event *ev)
{
	struct hwt_buf_info b;

	if (ev->type != HWT_EV_GAP || ev->u.gap.code <= 0 || ev->src >= s->cap->nbufs ||
	    hwt_session_buf(s, ev->src, &b) < 0)
		return NULL;
	return b.proto == HWT_PROTO_PT ? flow_ipt_error(ev->u.gap.code) : NULL;
}

size_t hwt_event_text(const struct hwt_session *s, const struct hwt_event *ev, char *buf,
	size_t size)
{
	if (size)
		buf[0] = 0;
	if (flow_is_record(ev))
		return flow_record_text(ev, buf, size);
	return s->cap->event_text ? s->cap->event_text(s->cap, ev, buf, size) : 0;
}

struct hwt_image *hwt_session_image(struct hwt_session *s)
{
	return s->cap->image;
}

int hwt_session_task(const struct hwt_session *s, size_t i, int32_t *pid, int32_t *tid)
{
	if (i >= machine_tasks(s->cap->machine))
		return 0;
	machine_task_at(s->cap->machine, i, pid, tid);
	return 1;
}

const char *hwt_session_comm(const struct hwt_session *s, int32_t tid)
{
	session_names(s);
	return machine_comm(s->cap->machine, tid);
}

const char *hwt_session_comm_at(const struct hwt_session *s, int32_t tid, uint64_t time)
{
	session_names(s);
	return machine_comm_at(s->cap->machine, tid, time);
}

int hwt_export_perf(struct hwt_session *s, int fd, const struct hwt_export_opts *opts,
		    struct hwt_export_result *res, struct hwt_diag *diag)
{
	struct hwt_export_opts o = { .size = sizeof(o) };
	struct hwt_export_result none = { 0 };

	if (diag)
		*diag = (struct hwt_diag){ .off = HWT_NO_OFF };
	if (opts && opts->size < sizeof(size_t))
		return diag_set(diag, -EINVAL, 0, NULL, HWT_NO_OFF,
				"size of the options is not set");
	if (opts)
		memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	res = res ? res : &none;
	*res = (struct hwt_export_result){ 0 };
	return export_perf(s->cap, fd, &o, res, diag);
}

const char *hwt_backend(unsigned i)
{
	switch (i) {
	case 0: return flow_ipt_version();
	case 1: return flow_ocsd_version();
	}
	return NULL;
}
