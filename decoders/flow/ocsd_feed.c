/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_feed.h"

#define FRAME 16u		/* bytes; CoreSight Architecture Specification, "Formatter" */
#define TPIU_STEP (4 * FRAME)		/* bytes given to the search for sync words at a time */

enum { AT_SPAN, AT_BYTES, AT_TAIL, AT_SPAN_END, AT_END };

void feed_init(struct feed *f, const struct trace_buf *buf)
{
	*f = (struct feed){ .buf = buf, .state = buf->nspans ? AT_SPAN : AT_END };
	f->id = buf->ncfgs ? buf->cfgs[0].trace_id : 0;
}

/* Place of a run as OpenCSD numbers it: @q is the run's first byte inside its frame. */
static uint64_t run_off(const struct feed *f, const struct tpiu_run *r)
{
	uint64_t q = r->off % FRAME;

	if (f->buf->framing != FRAMING_MEM)
		return r->off;
	if (q < 2)
		return r->off - q;
	return r->off - (q & 1 ? 1 : 2);
}

static void give_run(struct feed *f, struct feed_piece *out)
{
	const struct tpiu_run *r = &f->runs[f->run++];

	out->what = FEED_DATA;
	out->id = r->id;
	out->off = f->buf->spans[f->span].pos + run_off(f, r);
	out->n = r->n;
	out->p = r->data;
	f->own += r->n;
}

/* Bytes that are not in a frame, ending at @end of the span. */
static void give_skip(struct feed *f, struct feed_piece *out, uint64_t n, uint64_t end,
		      unsigned cause)
{
	const struct trace_span *s = &f->buf->spans[f->span];

	out->what = FEED_SKIP;
	out->cause = (uint16_t)cause;
	out->n = n < end ? n : end;
	out->off = s->pos + end - out->n;
	out->p = s->p + end - out->n;
	f->own += out->n;
}

/* One step of the formatter's bytes. True if @out was filled. */
static bool frames(struct feed *f, struct feed_piece *out)
{
	const struct trace_span *s = &f->buf->spans[f->span];
	uint64_t step = f->buf->framing == FRAMING_MEM ? FRAME : TPIU_STEP;
	size_t n = s->size - f->at < step ? s->size - f->at : step, used = 0;

	f->nruns = tpiu_decode(&f->t, s->p + f->at, n, &used, f->runs, FEED_RUNS);
	f->run = 0;
	if (f->nruns < 0)
		f->nruns = 0;
	if (!used && !f->nruns)		/* can not be; an endless loop must not be either */
		used = n;
	f->at += used;
	f->brk = f->t.barrier;	/* behind the runs */
	/* before the first sync word it is one hole */
	if (f->t.st.skipped > f->skipped && f->t.synced) {
		give_skip(f, out, f->t.st.skipped - f->skipped, f->t.st.skip_end, HWT_GAP_NO_SYNC);
		f->skipped = f->t.st.skipped;
		return true;
	}
	return false;
}

/*
 * The end of a span inside a frame: which bit 0 belongs to data and which byte names a source is
 * not known without the frame's last byte, so these bytes are counted and not decoded.
 */
static bool tail(struct feed *f, struct feed_piece *out)
{
	const struct trace_span *s = &f->buf->spans[f->span];
	uint64_t before = f->t.st.tail;

	if (f->t.st.stray_syncs) {	/* the frames are not where the recorder says */
		give_skip(f, out, 0, f->t.st.stray_off, HWT_GAP_BAD_PACKET);
		f->t.st.stray_syncs = 0;
		return true;
	}
	tpiu_flush(&f->t, f->runs, FEED_RUNS);
	f->nruns = f->run = 0;
	f->state = AT_SPAN_END;
	if (f->t.st.skipped > f->skipped) {
		give_skip(f, out, f->t.st.skipped - f->skipped, s->size, HWT_GAP_NO_SYNC);
		f->skipped = f->t.st.skipped;
		return true;
	}
	if (f->t.st.tail > before) {
		give_skip(f, out, f->t.st.tail - before, s->size, HWT_GAP_TRUNCATED);
		return true;
	}
	return false;
}

static bool bytes(struct feed *f, struct feed_piece *out)
{
	const struct trace_span *s = &f->buf->spans[f->span];

	if (f->run < f->nruns) {
		give_run(f, out);
		return true;
	}
	if (f->brk) {
		f->brk = false;
		out->what = FEED_BREAK;
		out->off = s->pos + f->at - (f->at < FRAME ? f->at : FRAME);
		return true;
	}
	if (f->at >= s->size) {
		f->state = f->buf->framing == FRAMING_NONE ? AT_SPAN_END : AT_TAIL;
		return false;
	}
	span_done_before(s, f->at, &f->told);
	if (f->buf->framing != FRAMING_NONE)
		return frames(f, out);
	out->what = FEED_DATA;
	out->id = f->id;
	out->off = s->pos + f->at;
	out->p = s->p + f->at;
	out->n = s->size - f->at < FEED_SLICE ? s->size - f->at : FEED_SLICE;
	f->at += out->n;
	f->own += out->n;
	return true;
}

void feed_next(struct feed *f, struct feed_piece *out)
{
	bool got = false;

	*out = (struct feed_piece){ .what = FEED_END };
	while (!got && f->state != AT_END) {
		const struct trace_span *s = &f->buf->spans[f->span];

		out->span = s;
		switch (f->state) {
		case AT_SPAN:
			f->at = f->own = f->skipped = f->told = 0;
			f->nruns = f->run = 0;
			f->brk = false;
			if (f->buf->framing != FRAMING_NONE)
				tpiu_init(&f->t, f->buf->framing == FRAMING_TPIU);
			f->t.dstream = f->buf->framing == FRAMING_TPIU &&
				       tpiu_is_dstream(s->p, s->size);
			out->what = FEED_SPAN;
			out->off = s->pos;
			f->state = AT_BYTES;
			return;
		case AT_BYTES:
			got = bytes(f, out);
			break;
		case AT_TAIL:
			got = tail(f, out);
			break;
		default:
			out->what = FEED_SPAN_END;
			out->off = s->pos + s->size;
			out->n = s->size - (f->own < s->size ? f->own : s->size);
			f->state = ++f->span < f->buf->nspans ? AT_SPAN : AT_END;
			return;
		}
	}
}
