/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT to events: runs, spans and the stream. What a block or an event means is in ipt_*.c. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ipt_flow.h"

#define COPY_MAX	(1U << 20)	/* bytes of a copy of trace in memory */
#define QUIET_STEPS	(1U << 16)	/* library calls in one next() without an event */

static void close_run(struct flow_ipt *f)
{
	ipt_lib_close(f->whole);
	ipt_lib_close(f->over);
	if (!f->spool)
		free(f->copy);
	file_close(f->spool);
	f->spool = NULL;
	f->dec = f->whole = f->over = NULL;
	f->copy = NULL;
	f->nheld = 0;
}

static void step_span(struct flow_ipt *f)
{
	const struct trace_span *s;

	if (f->span == f->buf->nspans) {
		uint64_t end = 0;

		if (f->span) {
			s = &f->buf->spans[f->span - 1];
			end = s->pos + s->size;
		}
		if (f->buf->cause_after != HWT_GAP_NONE)
			ipt_lost(f, f->buf->cause_after, f->buf->lost_after, end);
		emit_flush(&f->emit);
		f->state = AT_END;
		return;
	}
	s = ipt_span(f);
	f->fs.stats.bytes_in += s->size;
	f->done = f->hint = 0;
	f->seg.next = 0;
	ipt_owner_span(&f->owner, f->buf, s);
	/* a decoder that starts afresh while tracing was on loses its way */
	if (s->cause_before != HWT_GAP_NONE || f->tracing) {
		ipt_owner_lost(&f->owner);
		ipt_lost(f, s->cause_before != HWT_GAP_NONE ? s->cause_before : HWT_GAP_BREAK,
		     s->lost_before, 0);
	}
	f->tracing = false;
	ipt_choose_image(f);
	f->state = AT_SEG;
}

/* A long copy is written to a file, so that memory does not grow with the trace. */
static int spool_run(struct flow_ipt *f, struct ipt_patch *w)
{
	uint8_t *piece = malloc(COPY_MAX);
	uint64_t told = 0;
	size_t n = 0;
	int rc = piece ? file_spool_new(&f->spool, "trace without foreign packets") : -ENOMEM;

	while (!rc && (n = ipt_scan_patch(piece, COPY_MAX, w, ipt_span(f), &f->seg))) {
		rc = file_spool_write(f->spool, piece, n);
		span_done_before(ipt_span(f), w->at, &told);
	}
	free(piece);
	if (!rc)
		rc = file_spool_map(f->spool);
	if (!rc)
		f->copy = (uint8_t *)(uintptr_t)f->spool->p;
	return rc;
}

/* The run without foreign packets, in memory if it is short. */
static int copy_run(struct flow_ipt *f)
{
	struct ipt_patch w = { .at = f->seg.begin };
	size_t n = f->seg.end - f->seg.begin;

	if (n > COPY_MAX)
		return spool_run(f, &w);
	f->copy = malloc(n);
	if (!f->copy)
		return -ENOMEM;
	ipt_scan_patch(f->copy, n, &w, ipt_span(f), &f->seg);
	return 0;
}

static void open_run(struct flow_ipt *f)
{
	size_t n = f->seg.end - f->seg.begin;
	const uint8_t *p;

	if (f->seg.foreign) {
		f->error = copy_run(f);
		if (f->error)
			return;
		f->walk = (struct ipt_foreign_walk){ .at = f->seg.begin, .end = f->seg.end };
		f->item.size = 0;
	}
	p = ipt_bytes(f, f->seg.begin);
	f->dec = f->whole = ipt_lib_open(f->lib, p, p + n);
	if (!f->dec) {
		f->error = -ENOMEM;
		return;
	}
	ipt_time_run(&f->t, ipt_span(f), f->seg.begin, f->seg.end);
	f->psb_from = f->tsc_from = 1;	/* nothing is known of the run */
	f->psb = f->tsc_at = 0;
	ipt_sync_at(f, f->seg.begin);
}

static void note(struct flow_ipt *f, enum ipt_noted what, unsigned severity, unsigned id,
		 uint64_t off, const char *text)
{
	const struct file *file = ipt_span(f)->file;

	if (f->notes && !(f->noted & what))
		notes_add(f->notes, severity, id, file ? file->path : f->buf->name, off, "%s",
			  text);
	f->noted |= what;
}

/* What the packets of a run need and the configuration does not have: cases C07, A11. */
static void doubts(struct flow_ipt *f)
{
	static const struct trace_cfg none;
	const struct trace_cfg *c = f->buf->ncfgs ? f->buf->cfgs : &none;
	const uint32_t mtc = 1U << IPT_MTC, cyc = 1U << IPT_CYC;

	if (!(c->r.pt.cpuid_15_eax && c->r.pt.cpuid_15_ebx) &&
	    f->seg.kinds & (c->r.pt.nom_freq ? mtc : mtc | cyc))
		note(f, IPT_NOTED_RATIO, HWT_NOTE_INFO, 123, HWT_NO_OFF, "the trace has MTC or "
		     "CYC packets, but not the ratio of TSC to crystal clock: times come from "
		     "TSC packets alone");
	if (f->seg.cut_cyc != HWT_NO_OFF && !c->r.pt.family)
		note(f, IPT_NOTED_CUT, HWT_NOTE_WARN, 124, ipt_span(f)->file_off + f->seg.cut_cyc,
		     "this CYC may be one that an overflow cut (erratum SKD007), as the CPU is "
		     "not known");
	if (f->seg.back != HWT_NO_OFF)
		note(f, IPT_NOTED_BACK, HWT_NOTE_WARN, 196, ipt_span(f)->file_off + f->seg.back,
		     "this TSC packet is zero or before the one that it follows");
}

static void step_seg(struct flow_ipt *f)
{
	const struct trace_span *s = ipt_span(f);
	uint64_t from = f->seg.next;

	if (from == s->size) {
		f->fs.stats.bytes_decoded += s->size - f->done;
		f->span++;
		f->state = AT_SPAN;
		return;
	}
	ipt_scan(&f->seg, s, from);
	doubts(f);
	if (f->seg.begin > from && !(from == 0 && ipt_unwritten(s, f->seg.begin)))
		ipt_gap(f, HWT_GAP_NO_SYNC, 0, from, f->seg.begin - from, 0);
	if (f->seg.begin < f->seg.end)
		open_run(f);
	else if (f->seg.cause != HWT_GAP_NONE)
		ipt_gap(f, f->seg.cause, 0, f->seg.bad, f->seg.next - f->seg.bad, 0);
}

/* What comes is later than the last packet, and that bounds what came before. */
static void all_used(struct flow_ipt *f)
{
	struct hwt_event ev;

	ipt_time_packet(&f->t, ipt_span(f), ipt_at(f));
	ipt_time_not_before(&f->t, f->t.sent);
	ev = ipt_event(f, HWT_EV_NONE, ipt_at(f));
	emit_event(&f->emit, 0, &ev);
}

/* The run is over: foreign packets at its end, then why it ended. */
static void step_tail(struct flow_ipt *f)
{
	if (f->copy) {
		ipt_put_foreign(f, f->seg.end, true);
		if (f->item.size || emit_room(&f->emit) <= IPT_ROOM)
			return;
	}
	ipt_take_time(f);
	if (ipt_overdue(f))
		return;
	if (f->timed)
		all_used(f);
	if (f->seg.cause != HWT_GAP_NONE) {
		f->tracing = false;
		ipt_gap(f, f->seg.cause, 0, f->seg.bad, f->seg.next - f->seg.bad, 0);
		ipt_owner_lost(&f->owner);
	}
	close_run(f);
	f->state = AT_SEG;
}

static void tell_system(struct flow_ipt *f)
{
	uint64_t before = f->hint;

	if (f->state != IN_FLOW)
		return;
	span_done_before(ipt_span(f), ipt_at(f), &f->hint);
	if (f->spool && f->hint > before)
		file_done(f->spool, before > f->seg.begin ? before - f->seg.begin : 0,
			  f->hint - f->seg.begin);
}

static void step_flow(struct flow_ipt *f)
{
	if (ipt_overdue(f))
		return;
	if (f->copy)
		ipt_put_foreign(f, ipt_at(f), false);
	if (f->status < 0)
		ipt_failed(f);
	else if (f->status & IPT_LIB_EVENT)
		ipt_step_event(f);
	else if (f->status & IPT_LIB_END)	/* case B16: no packet is left to prove more code */
		ipt_end_of_input(f);
	else
		ipt_step_block(f);
}

/* Fills the ring, as far as one call may go. */
static void run(struct flow_ipt *f)
{
	f->steps = 0;
	while (f->state != AT_END && !f->error && f->steps < QUIET_STEPS &&
	       emit_room(&f->emit) > IPT_ROOM) {
		switch (f->state) {
		case AT_SPAN: step_span(f); break;
		case AT_SEG: step_seg(f); break;
		case IN_FLOW: step_flow(f); break;
		case IN_HOLE: ipt_step_hole(f); break;
		case AT_TAIL: step_tail(f); break;
		case AT_END: break;
		}
	}
	tell_system(f);
	f->fs.stats.steps += f->steps;
}

static int ipt_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct flow_ipt *f = hwt_container_of(s, struct flow_ipt, fs.s);
	int n;

	if (max <= 0)
		return -EINVAL;
	if (emit_room(&f->emit) == EMIT_RING)
		run(f);
	n = emit_take(&f->emit, ev, max);
	if (n)
		return n;
	if (f->error)
		return f->error;
	if (f->state == AT_END)
		return 0;
	if (emit_waits(&f->emit)) {
		*ev = fold_reached(emit_waits(&f->emit));
		return 1;
	}
	*ev = ipt_event(f, HWT_EV_NONE, f->dec ? ipt_at(f) : 0);
	return 1;
}

static void ipt_close(struct hwt_stream *s)
{
	struct flow_ipt *f = hwt_container_of(s, struct flow_ipt, fs.s);

	close_run(f);
	ipt_free_images(f);
	ipt_lib_free(f->lib);
	ipt_bridge_free(&f->bridge);
	emit_fini(&f->emit);
	free(f);
}

static const struct hwt_stream_ops ipt_ops = { ipt_next, ipt_close };

int flow_ipt_new(struct hwt_stream **out, const struct flow_args *a, struct hwt_diag *diag)
{
	struct flow_ipt *f = calloc(1, sizeof(*f));
	int rc;

	if (!f)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	f->fs.s.ops = &ipt_ops;
	f->fs.bounded = true;
	f->fs.s.name = a->buf->name;
	f->buf = a->buf;
	f->image = a->image;
	f->src = a->src;
	f->notes = a->notes;
	f->rewritten = image_is_rewritten(a->image);
	/* which code ran is asked for an interval, at each level */
	f->timed = a->want->level > HWT_LEVEL_HOLES || f->rewritten;
	f->calm_from = f->calm_until = 0;
	f->differs = HWT_NO_ADDR;
	ipt_time_init(&f->t, a->tsc && time_map_valid(a->tsc) ? a->tsc : NULL,
		      a->buf->ncfgs ? &a->buf->cfgs[0] : NULL);
	rc = emit_init(&f->emit, a, &f->fs.stats, 1);
	if (!rc)
		rc = ipt_lib_new(&f->lib, a->buf->ncfgs ? &a->buf->cfgs[0] : NULL, ipt_read_code,
				 f);
	if (rc < 0) {
		ipt_close(&f->fs.s);
		return diag_set(diag, rc, rc == -ENOMEM ? 3 : 0, NULL, HWT_NO_OFF, "%s",
				rc == -ENOMEM ? "out of memory" : "no valid interest");
	}
	ipt_owner_init(&f->owner, a->machine, a->buf);
	f->guessed = HWT_TIME_UNKNOWN;
	*out = &f->fs.s;
	return 0;
}
