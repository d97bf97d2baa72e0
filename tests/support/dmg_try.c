/* SPDX-License-Identifier: BSD-2-Clause */
/* Longer than other files would be good: one variant from its bytes to all that must hold. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "../../correlate/session.h"
#include "dmg.h"
#include "heap.h"

#define STEPS_BASE	20000	/* library calls allowed for any input ... */
#define STEPS_PER_BYTE	64	/* ... and per byte: one TNT bit may stand for one block */
#define HEAP_BASE	(24u << 20)	/* heap allowed for any input, and per byte of it: */
#define HEAP_PER_BYTE	64
#define CPU_SECONDS	120	/* of one variant; the work is counted, this ends an endless one */
#define SHOWN		20	/* failures that are told */
#define BRIEF		1024	/* bytes of trace that a brief variant decodes */
#define TURNS		4	/* packets, holes, calls, ranges; instructions always */
#define MAPPED		(1 << 20)	/* files above it are mapped while they are open */

struct dmg dmg = { .trace_buf = SIZE_MAX };

static const struct dmg_variant *now;
static bool learning;

/* A session of a variant; what is not its own is put back. */
struct opened {
	struct hwt_session *s;
	struct trace_buf *b;	/* NULL: @s is the variant's own */
	struct trace_buf saved;
	struct trace_span span;
	uint8_t *copy;
};

void dmg_fail(const char *what, const struct dmg_variant *v)
{
	if (dmg.failures++ < SHOWN)
		fprintf(stderr, "damage: %s (%s at offset %zu of %s, %s)\n", what, v->how, v->off,
			dmg.victim, v->w ? "in a part" : v->brief ? "in brief" : "whole");
}

bool dmg_more_words(void)
{
	return dmg.failures <= SHOWN;
}

static void too_long(int sig)
{
	dprintf(2, "damage: a variant does not end: %s at offset %zu of %s\n", now->how, now->off,
		dmg.victim);
	_exit(1);
}

/* ASan ends the process: say which variant it was. */
static void died(void)
{
	if (now)
		dprintf(2, "damage: died (%s at offset %zu of %s)\n", now->how, now->off,
			dmg.victim);
}

/* --- sessions --- */

/* Buffer @i is [from, from + n) of its span @k, alone; @p if not NULL in place of its bytes. */
static void trim(struct opened *o, size_t i, size_t k, uint64_t from, uint64_t n,
		 const unsigned char *p)
{
	struct trace_buf *b = &session_capture(o->s)->bufs[i];

	o->b = b;
	o->saved = *b;
	o->span = b->spans[k];
	/* a block of its own: a sanitizer sees the first byte read past it */
	o->copy = dmg_need(malloc(n ? n : 1));
	memcpy(o->copy, p ? p : o->span.p + from, n);
	o->span.p = o->copy;
	o->span.size = n;
	o->span.pos += from;
	o->span.file_off += from;
	o->span.file = NULL;
	if (from)
		o->span.cause_before = HWT_GAP_NONE;
	b->spans = &o->span;
	b->nspans = 1;
	b->lost_after = 0;
	b->cause_after = HWT_GAP_NONE;
}

static void untrim(struct opened *o)
{
	if (!o->b)
		return;
	*o->b = o->saved;
	free(o->copy);
	o->b = NULL;
}

static int open_variant(struct opened *o, const struct dmg_variant *v, struct hwt_diag *d)
{
	const struct dmg_window *w = v->w;

	*o = (struct opened){ .s = dmg.session };
	if (w) {
		trim(o, w->buf, w->span, w->lo - session_capture(o->s)->bufs[w->buf].
		     spans[w->span].pos, v->n, v->p);
		return 0;
	}
	o->s = NULL;
	return hwt_session_open(&o->s, dmg.capture, &dmg.opts, d);
}

static void close_variant(struct opened *o)
{
	untrim(o);
	if (o->s != dmg.session)
		hwt_session_close(o->s);
}

/* --- events --- */

static void keep(const struct hwt_event *ev)
{
	struct dmg_events *e = &dmg.evs;

	/* a frequency is told when it is not what it was */
	if (ev->type == HWT_EV_NONE || ev->type == HWT_EV_FREQ)
		return;
	if (e->n == e->cap) {
		bool was = heap_watch(false);

		e->cap = e->cap ? 2 * e->cap : 4096;
		e->v = dmg_need(realloc(e->v, e->cap * sizeof(*e->v)));
		heap_watch(was);
	}
	e->v[e->n++] = *ev;
}

/* Times of one CPU do not go back. */
static void check_time(uint64_t *last, const struct hwt_event *ev, const struct dmg_variant *v)
{
	uint64_t *t = &last[ev->cpu & 255];

	if (ev->time == HWT_TIME_UNKNOWN)
		return;
	if (ev->time < *t)
		dmg_fail("time goes back", v);
	*t = ev->time;
}

unsigned dmg_trace_id(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_INSN:
	case HWT_EV_RANGE:
	case HWT_EV_NOPATH:	return ev->u.range.trace_id;
	case HWT_EV_ON:
	case HWT_EV_OFF:
	case HWT_EV_ERET:	return ev->u.at.trace_id;
	case HWT_EV_GAP:	return ev->u.gap.trace_id;
	case HWT_EV_ASPACE:	return ev->u.aspace.trace_id;
	case HWT_EV_EXCEPTION:	return ev->u.exc.trace_id;
	case HWT_EV_MARK:	return ev->u.mark.trace_id;
	case HWT_EV_CYCLES:
	case HWT_EV_TIMESTAMP:
	case HWT_EV_TRIGGER:	return ev->u.value.trace_id;
	default:		return 0;
	}
}

static void see(struct dmg_result *r, const struct hwt_event *ev, const struct dmg_variant *v)
{
	int cause = ev->u.gap.cause;
	uint64_t end;

	if (ev->type >= HWT_EV_TYPES)
		dmg_fail("event of no type", v);
	if (ev->type != HWT_EV_OFF)
		r->blind[dmg_trace_id(ev) % DMG_IDS] = ev->type == HWT_EV_GAP &&
			cause == HWT_GAP_NO_SYNC;
	if (ev->type != HWT_EV_GAP)
		return;
	r->gaps++;
	if (cause <= HWT_GAP_NONE || cause >= HWT_GAP_CAUSES)
		dmg_fail("hole without a cause", v);
	if (cause == HWT_GAP_TRUNCATED)
		r->truncated++;
	if (ev->u.gap.bytes && ev->off != HWT_NO_OFF) {
		end = ev->off + ev->u.gap.bytes;
		/* of the 16 bytes of a frame one or two are its own */
		if (ev->src < dmg.nbufs && dmg.buf[ev->src].framing)
			end += ev->u.gap.bytes / 7;
		if (end > r->hole_end)
			r->hole_end = end;
	}
}

/* Decodes buffer @i at @level; checks the sums. */
static void flow(struct hwt_session *s, size_t i, enum hwt_level level,
		 const struct dmg_variant *v, struct dmg_result *r, struct hwt_flow_stats *st)
{
	struct hwt_interest want = HWT_INTEREST_ALL;
	uint64_t last[256] = { 0 }, gaps = 0, skipped = 0;
	struct hwt_event ev[256];
	struct hwt_stream *fs;
	struct hwt_diag d;
	int n;

	*st = (struct hwt_flow_stats){ 0 };
	want.level = level;
	n = hwt_session_flow(s, i, &want, &fs, &d);
	if (n < 0) {
		if (!d.text[0])
			dmg_fail("flow refused without words", v);
		return;
	}
	while ((n = hwt_stream_next(fs, ev, 256)) > 0) {
		for (int k = 0; k < n; k++) {
			check_time(last, &ev[k], v);
			if (ev[k].type == HWT_EV_GAP) {
				gaps++;
				skipped += ev[k].u.gap.bytes;
			}
			see(r, &ev[k], v);
			if (i == v->buf && level == HWT_LEVEL_INSNS)
				keep(&ev[k]);
		}
	}
	if (n < 0)
		dmg_fail("stream ended in an error", v);
	hwt_flow_stats(fs, st);
	if (st->bytes_in != st->bytes_decoded + st->bytes_skipped)
		dmg_fail("bytes do not balance", v);
	if (skipped != st->bytes_skipped || gaps != st->gaps)
		dmg_fail("holes are not what was counted", v);
	if (st->steps > STEPS_BASE + STEPS_PER_BYTE * st->bytes_in)
		dmg_fail("more work than linear", v);
	hwt_stream_close(fs);
}

/* --- packets --- */

static void add_end(struct dmg_ends *e, uint64_t size, bool half)
{
	if (!(e->n & (e->n + 1)))
		e->v = dmg_need(realloc(e->v, 2 * (e->n + 1) * sizeof(*e->v)));
	e->overlap |= half;
	e->v[e->n] = (e->n ? e->v[e->n - 1] : 0) + size;
	e->n++;
}

static bool is_sync(const struct hwt_packet *p)
{
	return !p->bad && (!strcmp(p->name, "psb") || !strcmp(p->name, "I_ASYNC") ||
			   !strcmp(p->name, "ASYNC") || !strcmp(p->name, "A_SYNC"));
}

static void add_sync(struct dmg_buf *b, uint64_t off, unsigned id)
{
	/* it may begin in the middle of a frame */
	if (b->framing)
		off &= -(uint64_t)DMG_FRAME;
	/* sources of one buffer take turns */
	if (b->nsyncs && off < b->sync[b->nsyncs - 1])
		off = b->sync[b->nsyncs - 1];
	if (!(b->nsyncs & (b->nsyncs + 1))) {
		b->sync = dmg_need(realloc(b->sync, 2 * (b->nsyncs + 1) * sizeof(*b->sync)));
		b->sync_id = dmg_need(realloc(b->sync_id, 2 * (b->nsyncs + 1)));
	}
	b->sync_id[b->nsyncs] = (uint8_t)id;
	b->sync[b->nsyncs++] = off;
}

static void packets(struct hwt_session *s, size_t i, const struct dmg_variant *v)
{
	struct dmg_buf *b = learning ? &dmg.buf[i] : NULL;
	uint64_t sum = 0;
	struct hwt_buf_info info;
	struct hwt_packets *ps;
	struct hwt_packet pkt;
	struct hwt_diag d;
	int rc;

	hwt_session_buf(s, i, &info);
	rc = hwt_session_packets(s, i, &ps, &d);
	if (rc < 0) {
		if (!d.text[0])
			dmg_fail("packets refused without words", v);
		return;
	}
	while ((rc = hwt_packets_next(ps, &pkt)) > 0) {
		unsigned id = info.formatted ? pkt.trace_id % DMG_IDS : 0;

		sum += pkt.size;
		if (pkt.raw_size > sizeof(pkt.raw) || !memchr(pkt.text, 0, sizeof(pkt.text)))
			dmg_fail("packet without an end", v);
		if (!b)
			continue;
		add_end(&b->ends[id], pkt.size, pkt.proto == HWT_PROTO_STM);
		if (is_sync(&pkt))
			add_sync(b, pkt.off, id);
	}
	if (rc < 0)
		dmg_fail("packets ended in an error", v);
	if (info.proto == HWT_PROTO_PT && sum != info.size)
		dmg_fail("packets do not cover the buffer", v);
	hwt_packets_close(ps);
}

static bool carries_time(const struct hwt_packet *p)
{
	return !strcmp(p->name, "tsc") || !strcmp(p->name, "tma") || !strcmp(p->name, "mtc") ||
		!strcmp(p->name, "cyc") || !strcmp(p->name, "cbr");
}

struct dmg_packets dmg_list(const struct dmg_variant *v, size_t buf, uint64_t lo, uint64_t hi,
			    bool times)
{
	struct dmg_packets out = { 0 };
	struct hwt_packets *ps;
	struct hwt_packet pkt;
	struct opened o;
	struct hwt_diag d;

	if (!v->w)
		dmg_put(v->p, v->n);
	if (open_variant(&o, v, &d))
		return out;
	if (!hwt_session_packets(o.s, buf, &ps, &d)) {
		while (hwt_packets_next(ps, &pkt) > 0) {
			if (pkt.off < lo || pkt.off >= hi || (times && !carries_time(&pkt)))
				continue;
			if (!(out.n & (out.n + 1)))
				out.v = dmg_need(realloc(out.v, 2 * (out.n + 1) * sizeof(*out.v)));
			out.v[out.n] = (struct dmg_packet){ pkt.off, pkt.size, { 0 } };
			memcpy(out.v[out.n++].raw, pkt.raw, pkt.raw_size < 8 ? pkt.raw_size : 8);
		}
		hwt_packets_close(ps);
	}
	close_variant(&o);
	return out;
}

/* --- one variant --- */

static void kernel_events(struct hwt_session *s, const struct dmg_variant *v)
{
	struct hwt_event ev[64];
	struct hwt_stream *es;
	struct hwt_diag d;
	char text[128];
	int n;

	if (hwt_session_events(s, &es, &d) < 0)
		return;
	while ((n = hwt_stream_next(es, ev, 64)) > 0)
		for (int k = 0; k < n; k++)
			if (!hwt_event_name(s, &ev[k]) ||
			    (hwt_event_text(s, &ev[k], text, sizeof(text)),
			     !memchr(text, 0, sizeof(text))))
				dmg_fail("kernel event without name or end", v);
	if (n < 0)
		dmg_fail("kernel events ended in an error", v);
	hwt_stream_close(es);
}

/*
 * Instructions that the walk of a range can not name are holes as well. @rough: holes are found in
 * larger blocks, so that damaged maps or times may take effect a few instructions later.
 */
static bool agree(const struct hwt_flow_stats *insns, const struct hwt_flow_stats *other,
		  bool rough)
{
	return rough || (insns->gaps >= other->gaps && insns->insns == other->insns &&
			 insns->bytes_skipped == other->bytes_skipped);
}

/* Packets and the levels other than that of instructions take turns: each costs a whole walk. */
static void buffer(struct hwt_session *s, size_t i, const struct dmg_variant *v,
		   struct dmg_result *r)
{
	struct hwt_flow_stats a, b;
	struct dmg_result dummy;

	flow(s, i, HWT_LEVEL_INSNS, v, r, &a);
	if (v->reference)
		return;
	if (learning || dmg.variants % TURNS == HWT_LEVEL_INSNS)
		packets(s, i, v);
	for (int level = HWT_LEVEL_HOLES; level < HWT_LEVEL_INSNS; level++) {
		if (!learning && dmg.variants % TURNS != (unsigned)level)
			continue;
		flow(s, i, (enum hwt_level)level, v, &dummy, &b);
		if (!agree(&a, &b, level == HWT_LEVEL_HOLES && !learning))
			dmg_fail("what is found depends on what is asked for", v);
	}
}

/* A part of one buffer, from a place where the undamaged one has a synchronisation. */
static void buffer_brief(struct opened *o, const struct dmg_variant *v, struct dmg_result *r)
{
	const struct capture *c = session_capture(o->s);
	size_t turn = dmg.variants / TURNS, i = c->nbufs ? turn % c->nbufs : 0, k;
	const struct dmg_buf *b = i < dmg.nbufs ? &dmg.buf[i] : NULL;
	const struct trace_span *s;
	uint64_t from = 0, at;

	if (!c->nbufs || !c->bufs[i].nspans) {
		if (c->nbufs)
			buffer(o->s, i, v, r);
		return;
	}
	turn /= c->nbufs;
	k = turn % c->bufs[i].nspans;
	s = &c->bufs[i].spans[k];
	at = b && b->nsyncs ? b->sync[turn % b->nsyncs] : 0;
	if (at > s->pos && at - s->pos < s->size)
		from = at - s->pos;
	if (b && b->framing)
		from = from < DMG_ID_BACK ? 0 : from - DMG_ID_BACK;
	trim(o, i, k, from, s->size - from < BRIEF ? s->size - from : BRIEF, NULL);
	buffer(o->s, i, v, r);
	untrim(o);
	dmg.briefs++;
}

static void decode(struct opened *o, const struct dmg_variant *v, struct dmg_result *r)
{
	if (v->w) {
		dmg.windows++;
		buffer(o->s, v->w->buf, v, r);
		return;
	}
	for (size_t i = 0; hwt_session_note(o->s, i); i++)
		r->cut_notes += hwt_session_note(o->s, i)->severity == HWT_NOTE_CUT;
	kernel_events(o->s, v);
	if (v->brief) {
		buffer_brief(o, v, r);
		return;
	}
	for (size_t i = 0; i < hwt_session_bufs(o->s); i++) {
		struct dmg_result other = { 0 };

		buffer(o->s, i, v, v->buf == SIZE_MAX || i == v->buf ? r : &other);
	}
}

void dmg_try(const struct dmg_variant *v, struct dmg_result *r)
{
	static const struct itimerval limit = { .it_value.tv_sec = CPU_SECONDS };
	struct opened o;
	struct hwt_diag d;
	int rc;

	*r = (struct dmg_result){ 0 };
	dmg.evs.n = 0;
	now = v;
	dmg.variants++;
	setitimer(ITIMER_VIRTUAL, &limit, NULL);
	if (!v->w)
		dmg_put(v->p, v->n);
	heap_start();
	rc = open_variant(&o, v, &d);
	if (rc < 0) {
		dmg.refused++;
		r->refused = true;
		if (o.s)
			dmg_fail("handle written on failure", v);
		if (!d.text[0] || !d.id)
			dmg_fail("refused without words or error id", v);
	} else {
		dmg.opened++;
		r->opened = true;
		decode(&o, v, r);
		close_variant(&o);
	}
	heap_watch(false);
	if (dmg.heap_peak < heap_most())
		dmg.heap_peak = heap_most();
	if (heap_most() > HEAP_BASE + HEAP_PER_BYTE * (v->n + dmg.good_n))
		dmg_fail("more memory than linear", v);
	now = NULL;
}

/* --- what the undamaged capture holds --- */

static bool is_victim(const struct file *f)
{
	struct stat file, own;

	return f && f->path && !stat(f->path, &file) && !stat(dmg.victim, &own) &&
		file.st_dev == own.st_dev && file.st_ino == own.st_ino;
}

static void learn_place(const struct capture *c, size_t i, size_t k)
{
	const struct trace_span *s = &c->bufs[i].spans[k];
	struct dmg_place *p;

	if (!s->size || !is_victim(s->file) || s->file_off > dmg.good_n ||
	    s->size > dmg.good_n - s->file_off)
		return;
	dmg.place = dmg_need(realloc(dmg.place, (dmg.nplaces + 1) * sizeof(*dmg.place)));
	p = &dmg.place[dmg.nplaces++];
	*p = (struct dmg_place){ .lo = (size_t)s->file_off, .buf = i, .span = k, .pos = s->pos,
		.hi = (size_t)(s->file_off + s->size) };
	if (s->size == dmg.good_n && c->bufs[i].nspans == 1)
		dmg.trace_buf = i;
}

void dmg_learn(void)
{
	struct dmg_variant v = { .how = "undamaged", .p = dmg.good, .n = dmg.good_n,
		.buf = SIZE_MAX };
	const struct capture *c;
	struct opened o;
	struct dmg_result r = { 0 };
	struct hwt_diag d;

	signal(SIGVTALRM, too_long);
	heap_on_death(died);
	now = &v;
	dmg_put(v.p, v.n);
	if (open_variant(&o, &v, &d)) {
		if (dmg.declared || dmg.is_pipe || dmg.is_trace)
			dmg_fail("the undamaged capture does not open", &v);
		return;
	}
	c = session_capture(o.s);
	dmg.nbufs = c->nbufs;
	dmg.buf = dmg_need(calloc(c->nbufs + 1, sizeof(*dmg.buf)));
	for (size_t i = 0; i < c->nbufs; i++) {
		dmg.buf[i].proto = c->bufs[i].ncfgs ? c->bufs[i].cfgs[0].proto : HWT_PROTO_NONE;
		dmg.buf[i].framing = c->bufs[i].framing;
		for (size_t k = 0; k < c->bufs[i].nspans; k++)
			learn_place(c, i, k);
	}
	learning = true;
	decode(&o, &v, &r);
	learning = false;
	if (r.cut_notes && (dmg.declared || dmg.is_pipe || dmg.is_trace))
		dmg_fail("the undamaged capture is said to be cut", &v);
	if (dmg.is_trace && dmg.trace_buf == SIZE_MAX)
		dmg_fail("this file is no trace buffer", &v);
	if (dmg.good_n <= MAPPED)
		dmg.session = o.s;
	else
		close_variant(&o);
	now = NULL;
}
