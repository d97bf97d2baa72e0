/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "perf.h"
#include "tep.h"

/*
 * The kernel's records as events, in order of the file. rec.data is the whole record, header
 * included, but for MAP events; rec.id is its type, for samples the attr's index from
 * PERF_FIRST_SAMPLE on.
 */

#define MAX_MAPS 64		/* MAP events in one call */

struct ev_stream {
	struct hwt_stream s;
	const struct perf *pf;
	struct perf_walk w;
	struct hwt_map maps[MAX_MAPS];	/* of the last call */
	unsigned nmaps;
};

const char *perf_type_name(unsigned type)
{
	static const char *const names[] = {
		"record", "mmap", "lost", "comm", "exit", "throttle", "unthrottle", "fork", "read",
		"sample", "mmap2", "aux", "itrace_start", "lost_samples", "switch",
		"switch_cpu_wide", "namespaces", "ksymbol", "bpf_event", "cgroup", "text_poke",
		"aux_output_hw_id",
	};

	return type < sizeof(names) / sizeof(names[0]) ? names[type] : "record";
}

static void record(struct hwt_event *ev, unsigned type, const struct perf_rec *r, uint32_t id)
{
	ev->type = (uint16_t)type;
	ev->u.rec.data = r->p;
	ev->u.rec.size = r->size;
	ev->u.rec.id = id;
}

static void switch_event(const struct perf *pf, const struct perf_rec *r,
			 const struct perf_sample *s, struct hwt_event *ev)
{
	struct cur c = perf_body(pf, r, s);
	int32_t pid = HWT_NONE, tid = HWT_NONE;	/* the other task */

	if (r->type == REC_SWITCH_CPU_WIDE) {
		pid = (int32_t)cur_u32(&c);
		tid = (int32_t)cur_u32(&c);
	}
	ev->type = HWT_EV_SCHED_SWITCH;
	ev->flags = r->misc & MISC_SWITCH_PREEMPT ? HWT_F_PREEMPT : 0;
	ev->u.sched.prev_pid = ev->u.sched.next_pid = pid;
	ev->u.sched.prev_tid = ev->u.sched.next_tid = tid;
	if (r->misc & MISC_SWITCH_OUT) {
		ev->u.sched.prev_pid = s->pid;
		ev->u.sched.prev_tid = s->tid;
	} else {
		ev->u.sched.next_pid = s->pid;
		ev->u.sched.next_tid = s->tid;
	}
}

/* sched:sched_switch stands for the switch where no SWITCH record does. */
static bool sched_event(const struct perf *pf, const struct perf_sample *s, struct hwt_event *ev)
{
	uint32_t id = (uint32_t)pf->sched_switch;
	uint64_t prev, next, state = 0;

	if (pf->have_switch || pf->sched_switch < 0 || !s->raw || !s->attr ||
	    s->attr->type != PERF_TYPE_TP || s->attr->config != id ||
	    !trace_fmt_number(pf->fmt, id, "prev_pid", s->raw, s->raw_size, &prev) ||
	    !trace_fmt_number(pf->fmt, id, "next_pid", s->raw, s->raw_size, &next))
		return false;
	trace_fmt_number(pf->fmt, id, "prev_state", s->raw, s->raw_size, &state);
	ev->type = HWT_EV_SCHED_SWITCH;
	ev->flags = state ? 0 : HWT_F_PREEMPT;
	ev->u.sched.prev_tid = (int32_t)prev;
	ev->u.sched.prev_pid = s->tid == (int32_t)prev ? s->pid : perf_pid_of(pf, (int32_t)prev);
	ev->u.sched.next_tid = (int32_t)next;
	ev->u.sched.next_pid = perf_pid_of(pf, (int32_t)next);
	return true;
}

static void fill(struct ev_stream *es, const struct perf_rec *r, struct hwt_event *ev)
{
	const struct perf *pf = es->pf;
	struct perf_sample s;
	struct perf_mmap m;

	perf_sample(pf, r, &s);
	*ev = (struct hwt_event){ .time = s.time, .cpu = s.cpu, .pid = s.pid, .tid = s.tid,
				  .src = r->file, .off = r->off };
	/* a record that perf made up of /proc, before the recording: the clock was never read */
	if (!s.time)
		ev->time = HWT_TIME_UNKNOWN;
	if (ev->time == HWT_TIME_UNKNOWN)
		ev->span = HWT_SPAN_UNKNOWN;
	switch (r->type) {
	case REC_MMAP: case REC_MMAP2:
		if (!perf_mmap(pf, r, &s, &m) || !m.exec || !m.whole)
			break;
		es->maps[es->nmaps] = m.map;
		ev->type = HWT_EV_MAP;
		ev->u.rec.data = &es->maps[es->nmaps++];
		ev->u.rec.size = sizeof(struct hwt_map);
		ev->u.rec.id = r->type;
		return;
	case REC_COMM: case REC_FORK: case REC_EXIT:
		record(ev, HWT_EV_TASK, r, r->type);
		return;
	case REC_SWITCH: case REC_SWITCH_CPU_WIDE:
		switch_event(pf, r, &s, ev);
		return;
	case REC_SAMPLE:
		if (!sched_event(pf, &s, ev))
			record(ev, HWT_EV_RECORD, r, s.attr ?
			       PERF_FIRST_SAMPLE + (uint32_t)(s.attr - pf->attrs) : r->type);
		return;
	}
	record(ev, HWT_EV_RECORD, r, r->type);
}

static int ev_next(struct hwt_stream *st, struct hwt_event *ev, int max)
{
	struct ev_stream *es = hwt_container_of(st, struct ev_stream, s);
	bool inner = false;
	struct perf_rec r;
	int n = 0;

	es->nmaps = 0;
	while (n < max && es->nmaps < MAX_MAPS) {
		int rc;

		/* what was handed out in this call must stay readable */
		if (inner && !perf_walk_stable(&es->w))
			break;
		rc = perf_next(&es->w, &r);
		if (rc < 0)
			return n ? n : rc;
		if (!rc)
			break;
		if (r.type >= REC_KERNEL_END)
			continue;
		inner |= r.inner;
		fill(es, &r, &ev[n++]);
	}
	return n;
}

static void ev_close(struct hwt_stream *st)
{
	struct ev_stream *es = hwt_container_of(st, struct ev_stream, s);

	perf_walk_fini(&es->w);
	free(es);
}

int perf_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag)
{
	static const struct hwt_stream_ops ops = { ev_next, ev_close };
	struct ev_stream *es = calloc(1, sizeof(*es));

	if (!es)
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	es->s.ops = &ops;
	es->s.name = "perf.data";
	es->pf = c->priv;
	perf_walk_init(&es->w, es->pf);
	*out = &es->s;
	return 0;
}

const char *perf_event_name(const struct capture *c, const struct hwt_event *ev)
{
	const struct perf *pf = c->priv;
	const struct perf_attr *a;
	const char *name = NULL;
	struct perf_rec r;

	if (ev->type == HWT_EV_SCHED_SWITCH)
		return "sched_switch";
	if (ev->type != HWT_EV_RECORD && ev->type != HWT_EV_MAP && ev->type != HWT_EV_TASK)
		return NULL;
	if (ev->u.rec.id >= PERF_FIRST_SAMPLE && ev->u.rec.id - PERF_FIRST_SAMPLE < pf->nattrs) {
		a = &pf->attrs[ev->u.rec.id - PERF_FIRST_SAMPLE];
		if (a->type == PERF_TYPE_TP && pf->fmt && a->config <= UINT32_MAX)
			name = trace_fmt_name(pf->fmt, (uint32_t)a->config);
		return name ? name : a->name[0] ? a->name : "sample";
	}
	if (ev->type == HWT_EV_TASK && ev->u.rec.id == REC_COMM) {
		struct cur h = cur_new(ev->u.rec.data, ev->u.rec.size, pf->swap);

		cur_skip(&h, 4);
		r.misc = cur_u16(&h);
		return r.misc & MISC_COMM_EXEC ? "exec" : "comm";
	}
	return perf_type_name(ev->u.rec.id);
}

/* The name at the rest of @c, on one line whatever is in it. */
static void put_name(struct text *o, struct cur *c)
{
	bool whole;
	size_t n;
	const char *s = perf_name(c, &n, &whole);

	text_put(o, " name=");
	for (size_t i = 0; i < n; i++)
		text_put(o, "%c", (unsigned char)s[i] < 0x20 || s[i] == 0x7f ? '.' : s[i]);
	if (!whole)
		text_put(o, "...");
}

static void task_text(struct text *o, unsigned type, struct cur *c)
{
	int32_t a = (int32_t)cur_u32(c), b = (int32_t)cur_u32(c), d;

	if (type == REC_COMM) {
		text_put(o, "pid=%d tid=%d", a, b);
		put_name(o, c);
		return;
	}
	d = (int32_t)cur_u32(c);
	text_put(o, "pid=%d tid=%d parent_pid=%d parent_tid=%d", a, d, b, (int32_t)cur_u32(c));
}

static void aux_text(struct text *o, struct cur *c)
{
	uint64_t off = cur_u64(c), size = cur_u64(c), flags = cur_u64(c);

	text_put(o, "offset=0x%" PRIx64 " size=0x%" PRIx64 " flags=0x%" PRIx64, off, size, flags);
	text_put(o, "%s%s%s%s", flags & AUX_TRUNCATED ? " truncated" : "",
		 flags & AUX_OVERWRITE ? " overwrite" : "", flags & AUX_PARTIAL ? " partial" : "",
		 flags & AUX_COLLISION ? " collision" : "");
}

static void namespaces_text(struct text *o, struct cur *c)
{
	int32_t pid = (int32_t)cur_u32(c), tid = (int32_t)cur_u32(c);
	uint64_t nr = cur_u64(c);

	text_put(o, "pid=%d tid=%d", pid, tid);
	for (uint64_t i = 0; i < nr && i < 16 && !c->bad; i++) {
		uint64_t dev = cur_u64(c), ino = cur_u64(c);

		if (!c->bad)
			text_put(o, " ns%u=%" PRIu64 "/0x%" PRIx64, (unsigned)i, dev, ino);
	}
}

static void code_text(struct text *o, unsigned type, struct cur *c)
{
	uint64_t addr = cur_u64(c);
	uint32_t n;

	if (type == REC_TEXT_POKE) {
		n = cur_u16(c);
		text_put(o, "addr=0x%" PRIx64 " old_len=%u new_len=%u", addr, n, cur_u16(c));
		return;
	}
	n = cur_u32(c);
	text_put(o, "addr=0x%" PRIx64 " len=%u type=%u", addr, n, cur_u16(c));
	text_put(o, " flags=%u", cur_u16(c));
	put_name(o, c);
}

static void record_text(struct text *o, unsigned type, struct cur *c)
{
	uint64_t a;
	uint32_t w;

	switch (type) {
	case REC_COMM: case REC_FORK: case REC_EXIT: task_text(o, type, c); return;
	case REC_AUX: aux_text(o, c); return;
	case REC_NAMESPACES: namespaces_text(o, c); return;
	case REC_KSYMBOL: case REC_TEXT_POKE: code_text(o, type, c); return;
	case REC_ITRACE_START:
		w = cur_u32(c);
		text_put(o, "pid=%d tid=%d", (int32_t)w, (int32_t)cur_u32(c));
		return;
	case REC_LOST:
		a = cur_u64(c);
		text_put(o, "id=%" PRIu64 " lost=%" PRIu64, a, cur_u64(c));
		return;
	case REC_LOST_SAMPLES: text_put(o, "lost=%" PRIu64, cur_u64(c)); return;
	case REC_BPF_EVENT:
		w = cur_u16(c);
		text_put(o, "type=%u flags=%u", w, cur_u16(c));
		text_put(o, " id=%u", cur_u32(c));
		return;
	case REC_CGROUP: text_put(o, "id=%" PRIu64, cur_u64(c)); put_name(o, c); return;
	case REC_AUX_OUTPUT_HW_ID: text_put(o, "hw_id=0x%" PRIx64, cur_u64(c)); return;
	case REC_MMAP: case REC_MMAP2:
		w = cur_u32(c);
		cur_u32(c);
		a = cur_u64(c);
		text_put(o, "pid=%d addr=0x%" PRIx64 " size=0x%" PRIx64, (int32_t)w, a, cur_u64(c));
		cur_skip(c, type == REC_MMAP2 ? 40 : 8);
		put_name(o, c);
		return;
	}
	text_put(o, "%zu bytes", cur_left(c));
}

static void sample_text(const struct perf *pf, struct text *o, const struct perf_sample *s)
{
	if (s->raw && s->attr && s->attr->type == PERF_TYPE_TP && pf->fmt &&
	    s->attr->config <= UINT32_MAX &&
	    trace_fmt_name(pf->fmt, (uint32_t)s->attr->config)) {
		o->len = trace_fmt_text(pf->fmt, (uint32_t)s->attr->config, s->raw, s->raw_size,
					NULL, o->buf, o->size);
		return;
	}
	if (!s->attr)
		text_put(o, "unknown event");
	else
		text_put(o, "ip=0x%" PRIx64 " period=%" PRIu64, s->ip, s->period);
	if (s->attr && s->attr->sample_type & S_ADDR)
		text_put(o, " addr=0x%" PRIx64, s->addr);
	if (s->raw)
		text_put(o, " raw=%u bytes", s->raw_size);
}

size_t perf_event_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n)
{
	const struct perf *pf = c->priv;
	struct text o = { .buf = buf, .size = n };
	struct perf_rec r = { .p = ev->u.rec.data, .size = ev->u.rec.size };
	const struct hwt_map *m;
	struct perf_sample s;
	struct cur body;

	if (n)
		buf[0] = 0;
	switch (ev->type) {
	case HWT_EV_SCHED_SWITCH:
		text_put(&o, "prev_pid=%d prev_tid=%d next_pid=%d next_tid=%d",
			 ev->u.sched.prev_pid,
			 ev->u.sched.prev_tid, ev->u.sched.next_pid, ev->u.sched.next_tid);
		break;
	case HWT_EV_MAP:
		m = ev->u.rec.data;
		text_put(&o, "pid=%d addr=0x%" PRIx64 " size=0x%" PRIx64 " file_off=0x%" PRIx64
			 " path=%s", m->pid, m->addr, m->size, m->file_off, m->path);
		break;
	case HWT_EV_TASK: case HWT_EV_RECORD:
		r.type = ev->u.rec.id >= PERF_FIRST_SAMPLE ? REC_SAMPLE : ev->u.rec.id;
		perf_sample(pf, &r, &s);
		body = perf_body(pf, &r, &s);
		if (r.type == REC_SAMPLE)
			sample_text(pf, &o, &s);
		else
			record_text(&o, r.type, &body);
		break;
	}
	return o.len;
}
