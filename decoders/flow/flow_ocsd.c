/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * CoreSight trace to events. One decode tree per trace source: the library's own deframer resets
 * all sources when one of them fails.
 *
 * The library pushes, a stream is pulled: the element call answers "no room" when the ring is
 * nearly full, the consumer empties it, and a flush gets the rest.
 */
#include <errno.h>
#include <stdlib.h>

#include "../../hwtrace/base/diag.h"
#include "ocsd_feed.h"
#include "ocsd_other.h"

enum phase { PHASE_FEED, PHASE_EOT, PHASE_DONE };

struct flow {
	struct flow_stream fs;
	struct emit emit;
	struct feed feed;
	const struct trace_buf *buf;
	struct csdec_env env;
	struct proof proof;
	struct csdec *decs;	/* by trace id */
	unsigned ndecs;
	struct csothers others;
	struct csdec *cur;	/* works on a piece */
	const uint8_t *p;	/* rest of the piece */
	uint64_t left;
	bool flush;		/* @cur waits for FLUSH */
	uint8_t phase;
	uint16_t eot_cause;	/* HWT_GAP_BREAK: a barrier, not the end of a span */
	uint64_t eot_off;
	unsigned eot;		/* next source to end */
};

static void others(struct flow *f, const struct feed_piece *pc)
{
	if (f->feed.buf->framing != FRAMING_NONE && pc->id == TPIU_ID_NULL) {
		f->fs.stats.bytes_decoded += pc->n;
		return;
	}
	if (f->feed.buf->framing != FRAMING_NONE && pc->id == TPIU_ID_TRIGGER) {
		struct hwt_event ev = {
			.time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN,
			.type = HWT_EV_TRIGGER, .clock = HWT_CLOCK_CS, .cpu = f->buf->cpu,
			.pid = HWT_NONE, .tid = HWT_NONE, .src = f->others.src,
			.off = pc->off,
		};

		ev.u.value.value = pc->p[0];
		ev.u.value.addr = HWT_NO_ADDR;
		ev.u.value.what = HWT_TRIGGER_MARK;
		ev.u.value.trace_id = pc->id;
		emit_event(&f->emit, 0, &ev);
		f->fs.stats.bytes_decoded += pc->n;
		return;
	}
	csothers_add(&f->others, pc->id, pc->off, pc->n);
}

/* Answer of the library to anything. */
static void answer(struct flow *f, struct csdec *d, enum cslib_answer what, int32_t code)
{
	f->flush = what == CSLIB_WAIT;
	if (what == CSLIB_FATAL)
		csdec_fatal(d, code);
}

/* Gives the rest of the piece to its decoder. */
static void feed_rest(struct flow *f)
{
	struct csdec *d = f->cur;
	enum cslib_answer what;
	uint32_t used = 0;
	int32_t code;

	d->s.fed += f->left;
	what = csdec_give(d, f->p, (uint32_t)f->left, &used, &code);
	if (used > f->left)
		used = (uint32_t)f->left;
	if (!used && what != CSLIB_WAIT)
		used = 1;	/* no progress can not be, and must not become a loop */
	d->s.base += used;
	f->p += used;
	f->left -= used;
	d->s.fed -= f->left;
	answer(f, d, what, code);
}

/* Bytes whose flow is not known; those of the frames and the formatter in proportion. */
static uint64_t blind(const struct flow *f)
{
	uint64_t used = 0, dark = 0;

	for (unsigned i = 0; i < f->ndecs; i++)
		csdec_sum(&f->decs[i], &used, &dark);
	if (!used)
		return 0;
	return (uint64_t)((unsigned __int128)dark * f->fs.stats.bytes_decoded / used);
}

static void eot_begin(struct flow *f, unsigned cause, uint64_t off)
{
	f->phase = PHASE_EOT;
	f->eot = 0;
	f->eot_cause = (uint16_t)cause;
	f->eot_off = off;
	f->cur = NULL;
}

/* One step of ending all sources, in order of their ids as the library does. */
static void eot_step(struct flow *f)
{
	enum cslib_answer what;
	struct csdec *d;
	int32_t code;

	if (f->cur) {		/* EOT was sent and everything came out */
		d = f->cur;
		f->cur = NULL;
		csdec_reset(d, HWT_GAP_TRUNCATED);
		if (f->eot_cause == HWT_GAP_BREAK) {
			src_hole(&d->s, f->eot_off, 0, HWT_GAP_BREAK, 0);
			src_hunt(&d->s, HWT_GAP_BREAK, 0);
		}
		return;
	}
	while (f->eot < f->ndecs) {
		d = &f->decs[f->eot++];
		if (!d->lib || !d->s.fed_any)
			continue;
		f->cur = d;
		f->fs.stats.steps++;
		what = cslib_eot(d->lib, &code);
		answer(f, d, what, code);
		return;
	}
	csothers_tell(&f->others);
	f->fs.stats.bytes_blind = blind(f);
	f->phase = PHASE_FEED;
}

static void span_begin(struct flow *f, const struct trace_span *sp)
{
	csothers_lost(&f->others, sp);
	for (unsigned i = 0; i < f->ndecs; i++) {
		src_span(&f->decs[i].s, sp, f->buf);
		when_span(&f->decs[i].when, &f->decs[i].s, sp->pos, sp->time);
		csdec_code_changed(&f->decs[i]);
	}
}

static void take_data(struct flow *f, const struct feed_piece *pc)
{
	struct csdec *d;

	if (f->buf->framing == FRAMING_NONE)
		d = f->ndecs ? &f->decs[0] : NULL;
	else
		d = pc->id < CSDEC_IDS ? f->others.by_id[pc->id] : NULL;
	if (!d || !d->lib) {
		others(f, pc);
		return;
	}
	f->cur = d;
	f->p = pc->p;
	f->left = pc->n;
	d->s.base = pc->off;
	d->s.fed_any = true;
}

static void end(struct flow *f)
{
	f->phase = PHASE_DONE;
	csothers_lost(&f->others, NULL);
	emit_flush(&f->emit);
}

/* One step; the ring is empty before it. */
static void step(struct flow *f)
{
	enum cslib_answer what;
	struct feed_piece pc;
	int32_t code;

	if (f->flush) {
		f->fs.stats.steps++;
		what = cslib_flush(f->cur->lib, &code);
		answer(f, f->cur, what, code);
		return;
	}
	if (f->phase == PHASE_EOT) {
		eot_step(f);
		return;
	}
	if (f->left) {
		f->fs.stats.steps++;
		feed_rest(f);
		return;
	}
	feed_next(&f->feed, &pc);
	switch (pc.what) {
	case FEED_SPAN:
		span_begin(f, pc.span);
		break;
	case FEED_DATA:
		if (pc.id < CSDEC_IDS)
			csothers_known(&f->others);
		take_data(f, &pc);
		break;
	case FEED_SKIP:
		csothers_gap(&f->others, pc.off, pc.n, 0, pc.cause, 0, 0);
		break;
	case FEED_BREAK:
		eot_begin(f, HWT_GAP_BREAK, pc.off);
		break;
	case FEED_SPAN_END:
		f->fs.stats.bytes_decoded += pc.n;
		eot_begin(f, HWT_GAP_NONE, pc.off);
		break;
	default:
		end(f);
		break;
	}
}

#define QUIET_STEPS 4096	/* without an event, before the consumer is asked again */

static int flow_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct flow *f = hwt_container_of(s, struct flow, fs.s);
	unsigned steps = 0;
	int n = 0;

	if (max <= 0)
		return -EINVAL;
	for (;;) {
		int k = emit_take(&f->emit, ev + n, max - n);

		if (k < 0)
			return n ? n : k;
		n += k;
		if (n == max)
			return n;
		if (f->env.rc < 0)
			return n ? n : f->env.rc;
		if (f->phase == PHASE_DONE)
			return n;
		/* the consumer looks at its clock and at signals from time to time */
		if (!n && ++steps > QUIET_STEPS) {
			*ev = (struct hwt_event){
				.time = HWT_TIME_UNKNOWN, .span = HWT_SPAN_UNKNOWN,
				.type = HWT_EV_NONE, .cpu = HWT_NONE, .pid = HWT_NONE,
				.tid = HWT_NONE, .off = f->feed.at };
			return 1;
		}
		step(f);
	}
}

static void flow_close(struct hwt_stream *s)
{
	struct flow *f = hwt_container_of(s, struct flow, fs.s);

	cslib_lock();
	for (unsigned i = 0; f->decs && i < f->ndecs; i++) {
		cslib_close(f->decs[i].lib);
		when_close(&f->decs[i].when);
	}
	cslib_unlock();
	free(f->decs);
	emit_fini(&f->emit);
	free(f);
}

static const struct hwt_stream_ops flow_ops = { flow_next, flow_close };

static int flow_decs(struct flow *f, const struct flow_args *a)
{
	const struct trace_cfg *cfgs[CSDEC_IDS];
	struct code_part *parts = NULL;
	size_t nparts = 0;
	int rc = csdec_sort(a->buf, cfgs, &f->ndecs);

	if (rc < 0)
		return rc;
	f->decs = calloc(f->ndecs ? f->ndecs : 1, sizeof(*f->decs));
	if (!f->decs)
		return -ENOMEM;
	f->others.first_id = f->ndecs ? cfgs[0]->trace_id : 0;
	rc = code_parts(a->image, &parts, &nparts);
	cslib_lock();
	for (unsigned i = 0; rc >= 0 && i < f->ndecs; i++) {
		f->others.by_id[cfgs[i]->trace_id] = &f->decs[i];
		rc = csdec_open(&f->decs[i], a, cfgs[i], &f->env, parts, nparts);
	}
	cslib_unlock();
	free(parts);
	return rc < 0 ? rc : 0;
}

int flow_ocsd_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag)
{
	struct flow *f = calloc(1, sizeof(*f));
	int rc = -ENOMEM;

	if (!f)
		return csdec_refuse(diag, a->buf, rc);
	f->fs.s.ops = &flow_ops;
	f->fs.s.name = "coresight";
	f->buf = a->buf;
	f->env = (struct csdec_env){
		.emit = &f->emit, .stats = &f->fs.stats, .image = a->image,
		.versions = 1, .counts_only = a->want->level == HWT_LEVEL_HOLES,
		.calls_only = a->want->level == HWT_LEVEL_CALLS && !a->want->ranges,
		.proof = &f->proof,
	};
	for (size_t i = 0; i < a->buf->nspans; i++)
		f->fs.stats.bytes_in += a->buf->spans[i].size;
	f->others.emit = &f->emit;
	f->others.buf = a->buf;
	f->others.src = a->src;
	feed_init(&f->feed, a->buf);
	rc = emit_init(&f->emit, a, &f->fs.stats, a->buf->framing == FRAMING_NONE ? 1 : CSDEC_IDS);
	if (rc >= 0)
		rc = flow_decs(f, a);
	if (rc < 0) {
		flow_close(&f->fs.s);
		return csdec_refuse(diag, a->buf, rc);
	}
	*out = &f->fs.s;
	return 0;
}
