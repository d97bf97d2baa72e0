/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "truth.h"

#define SAMPLES	65536	/* widths kept for the median */

struct truth {
	struct rec_iter *it;
	const struct truth_holes *holes;
	size_t hole;		/* the next one */
	uint64_t index;		/* of the next event from @it */
	/* the RUN we are in; its instructions [done, ev.insns) come next, the first at @addr */
	struct model_event ev;
	uint32_t done;
	uint64_t addr;
	const uint8_t *sizes;	/* of the instructions of the RUN */
	uint64_t before;	/* tick of the event before */
	int lost;		/* the unit lost this RUN */
	int in_hole;		/* and others of this hole */
	unsigned empty;		/* overflows before it that lost no instruction */
	int gaps;		/* since the last range */
	int ended;
	unsigned filter, level;	/* levels without trace; of what runs */
	/* see truth_stale(), truth_rewritten() */
	int stale_ok, rewritten_ok;
	int stale;		/* the next range is behind such a hole */
	uint64_t again;		/* the block where flow went on there; 0: it left it */
	struct truth_stats st;
	uint32_t *width;
	uint64_t nwidth;
	char why[400];
};

int truth_hole_add(struct truth_holes *h, uint64_t from, uint64_t to)
{
	if (h->n == h->room) {
		size_t n = h->room ? h->room * 2 : 64;
		struct truth_hole *p = realloc(h->h, n * sizeof(*p));

		if (!p)
			return -ENOMEM;
		h->h = p;
		h->room = n;
	}
	h->h[h->n++] = (struct truth_hole){ from, to };
	return 0;
}

int truth_new(struct truth **out, struct rec *r, size_t thread, const struct rec_clock *clk,
	      const struct truth_holes *holes)
{
	struct truth *t = calloc(1, sizeof(*t));
	int err;

	if (!t)
		return -ENOMEM;
	t->width = malloc(SAMPLES * sizeof(*t->width));
	err = t->width ? rec_iter_new(&t->it, r, thread, clk) : -ENOMEM;
	if (err) {
		truth_free(t);
		return err;
	}
	t->holes = holes;
	t->before = clk->start;
	*out = t;
	return 0;
}

void truth_filter(struct truth *t, unsigned levels)
{
	t->filter = levels;
}

void truth_stale(struct truth *t)
{
	t->stale_ok = 1;
}

void truth_rewritten(struct truth *t)
{
	t->rewritten_ok = 1;
}

void truth_free(struct truth *t)
{
	if (!t)
		return;
	rec_iter_free(t->it);
	free(t->width);
	free(t);
}

const char *truth_why(const struct truth *t)
{
	return t->why;
}

__attribute__((format(printf, 2, 3)))
static int differ(struct truth *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	n = snprintf(t->why, sizeof(t->why), "after %" PRIu64 " instructions, event %" PRIu64 ": ",
		     t->st.insns, t->index - 1);
	va_start(ap, fmt);
	vsnprintf(t->why + n, sizeof(t->why) - (size_t)n, fmt, ap);
	va_end(ap);
	return 1;
}

/* The next RUN becomes the one we are in. 1, 0 at the end, negative on error. */
static int next_run(struct truth *t)
{
	int r;

	if (t->ev.tick > t->before)
		t->before = t->ev.tick;
	t->empty = 0;
	for (;;) {
		uint64_t i = t->index;

		r = rec_next(t->it, &t->ev);
		if (r <= 0)
			break;
		t->index++;
		while (t->hole < t->holes->n && i >= t->holes->h[t->hole].to) {
			t->empty += !t->in_hole;
			t->in_hole = 0;
			t->hole++;
		}
		if (t->ev.op == MODEL_CONTEXT && t->ev.ctx.valid & 4)
			t->level = t->ev.ctx.level;
		if (t->ev.op == MODEL_RUN && !(t->filter >> t->level & 1)) {
			t->lost = t->hole < t->holes->n && i >= t->holes->h[t->hole].from;
			t->in_hole |= t->lost;
			t->done = 0;
			t->addr = t->ev.block->first;
			t->sizes = rec_sizes(t->ev.block);
			return 1;
		}
		t->before = t->ev.tick;
	}
	t->ended = 1;
	t->ev.block = NULL;
	if (r < 0)
		return differ(t, "the recording: %s", rec_why(t->it)), r;
	return 0;
}

/* Whether a trace without anything behind it can not tell that this RUN came to its end. */
static int is_unproven(const struct model_event *ev)
{
	const struct model_block *b = ev->block;

	if (b->kind == MODEL_JUMP || b->kind == MODEL_CALL)
		return b->isa <= MODEL_X86_32 && !b->cond;	/* an atom on Arm */
	return b->kind == MODEL_PLAIN || b->kind == MODEL_WAIT || b->kind == MODEL_PTWRITE;
}

/*
 * A GAP stands here: what the unit lost comes next, or behind instructions that nothing proves.
 * After it we are at the first instruction that left a trace again. 1 where nothing was lost.
 */
static int pass_hole(struct truth *t)
{
	size_t hole = 0;
	int seen = 0, r = 1;

	if (!t->ev.block || t->done == t->ev.insns)
		r = next_run(t);
	while (r > 0) {
		if (!seen && t->empty && !t->done) {
			t->empty--;
			seen = 1;
			break;
		}
		if (t->lost ? seen && t->hole != hole : seen || !is_unproven(&t->ev))
			break;
		seen |= t->lost;
		hole = t->hole;
		t->st.lost += t->ev.insns - t->done;
		r = next_run(t);
	}
	if (r < 0)
		return 1;
	t->st.holes += (uint64_t)seen;
	return seen || !r ? 0 : differ(t, "a gap before %" PRIx64 ", where nothing was lost",
				       t->addr);
}

static void note_width(struct truth *t, uint32_t w)
{
	uint64_t i = t->nwidth++;

	if (i < SAMPLES)
		t->width[i] = w;
	else if (i % (t->nwidth / SAMPLES + 1) == 0)	/* thinner, the longer it gets */
		t->width[i * 2654435761u % SAMPLES] = w;
}

/* The last instruction of the range retired after @before, and at the tick if it ends the RUN. */
static void check_time(struct truth *t, const struct hwt_event *ev)
{
	uint64_t hi;

	if (ev->time == HWT_TIME_UNKNOWN || ev->span == HWT_SPAN_UNKNOWN) {
		t->st.untimed++;
		return;
	}
	t->st.timed++;
	note_width(t, ev->span);
	hi = ev->time + ev->span;
	if (ev->time <= t->ev.tick &&
	    hi >= (t->done == t->ev.insns ? t->ev.tick : t->before))
		return;
	if (!t->st.outside++)
		differ(t, "at tick %" PRIu64 "..%" PRIu64 ", but the interval is %" PRIu64 "..%"
		       PRIu64, t->before, t->ev.tick, ev->time, hi);
}

static unsigned isa_of(unsigned isa)
{
	static const uint8_t t[] = {
		[HWT_ISA_X86_64] = MODEL_X86_64, [HWT_ISA_X86_32] = MODEL_X86_32,
		[HWT_ISA_A64] = MODEL_A64, [HWT_ISA_A32] = MODEL_A32, [HWT_ISA_T32] = MODEL_T32
	};

	return isa < sizeof(t) ? t[isa] : 0;
}

/* Goes on at the first time that the flow came to @ev and the time of @ev allows it. */
static int pass_stale(struct truth *t, const struct hwt_event *ev)
{
	uint64_t first = ev->u.range.first;
	int r = 1;

	t->stale = t->gaps = 0;
	t->st.stale++;
	if (!t->ev.block || t->done == t->ev.insns)
		r = next_run(t);
	for (; r > 0; r = next_run(t)) {
		for (; t->done < t->ev.insns; t->addr += t->sizes[t->done++]) {
			if (t->addr == first && t->ev.tick >= ev->time) {
				t->again = first;
				return 0;
			}
			t->st.stale_insns++;
		}
	}
	return r < 0 ? 1 : differ(t, "%" PRIx64 " behind a stale return never ran", first);
}

/*
 * Flow leaves the block that it went on at behind a stale return, and the truth is in it still: a
 * loop of one block, and its time does not tell in which of its rounds flow went on. 1: an error.
 */
static int leave_loop(struct truth *t, uint64_t first)
{
	int r = 1;

	if (!t->again || first == t->again)
		return 0;
	while (r > 0 && t->addr == t->again && !t->done) {
		t->st.stale_insns += t->ev.insns;
		r = next_run(t);
	}
	t->again = 0;
	return r > 0 ? 0 : 1;
}

static int range(struct truth *t, const struct hwt_event *ev)
{
	uint64_t last = 0, end = 0;
	int r;

	if (ev->flags & HWT_F_DOUBT)
		return differ(t, "the range at %" PRIx64 " is in doubt", ev->u.range.first);
	if (t->stale && pass_stale(t, ev))
		return 1;
	/* a GAP for each hole, though between two there may be no instruction that is proved */
	for (; t->gaps; t->gaps--) {
		if (pass_hole(t))
			return 1;
	}
	for (uint32_t i = 0; i < ev->u.range.insns; i++) {
		if (!t->ev.block || t->done == t->ev.insns) {
			int was_lost = t->lost;

			r = t->ended ? 0 : next_run(t);
			if (r < 0)
				return 1;
			if (!r)
				return differ(t, "%" PRIx64 " was decoded behind the end",
					      ev->u.range.first);
			if (was_lost && !t->lost)
				return differ(t, "no gap before %" PRIx64 ", where some were lost",
					      t->addr);
		}
		if (!i && leave_loop(t, ev->u.range.first))
			return differ(t, "nothing ran behind a loop");
		if (!i && t->addr != ev->u.range.first)
			return differ(t, "ran %" PRIx64 ", decoded %" PRIx64, t->addr,
				      ev->u.range.first);
		if (i && t->addr != end)
			return differ(t, "ran %" PRIx64 " inside of the range from %" PRIx64,
				      t->addr, ev->u.range.first);
		last = t->addr;
		t->addr += t->sizes[t->done++];
		end = t->addr;
		t->st.insns++;
	}
	t->st.ranges++;
	if (last != ev->u.range.last || isa_of(ev->u.range.isa) != t->ev.block->isa)
		return differ(t, "the range from %" PRIx64 " ends at %" PRIx64 " isa %u, not at %"
			      PRIx64 " isa %u", ev->u.range.first, last, t->ev.block->isa,
			      ev->u.range.last, isa_of(ev->u.range.isa));
	if (t->done == t->ev.insns && t->ev.block->kind != MODEL_PLAIN)
		t->st.branches++;
	check_time(t, ev);
	return 0;
}

int truth_event(struct truth *t, const struct hwt_event *ev)
{
	if (ev->type == HWT_EV_GAP &&
	    ((t->stale_ok && ev->u.gap.cause == HWT_GAP_NO_RETURN) ||
	     (t->rewritten_ok && ev->u.gap.cause == HWT_GAP_BAD_IMAGE)))
		t->stale = 1;
	else if (ev->type == HWT_EV_GAP)
		t->gaps++;
	return ev->type == HWT_EV_RANGE ? range(t, ev) : 0;
}

int truth_end(struct truth *t, unsigned open)
{
	unsigned proven = 0;
	int r = 1;

	/* behind a stale return nothing told where flow goes on */
	if (t->stale)
		open = UINT_MAX;
	t->st.stale += (uint64_t)t->stale;
	if (!t->ev.block || t->done == t->ev.insns)
		r = next_run(t);
	for (; r > 0; r = next_run(t)) {
		t->st.left += t->ev.insns - t->done;
		/* what ends the recording goes nowhere */
		proven += !t->lost && !is_unproven(&t->ev) && t->ev.to != MODEL_NO_ADDR;
	}
	if (r < 0)
		return 1;
	return proven > open ? differ(t, "%" PRIu64 " instructions at the end were not decoded",
			       t->st.left) : 0;
}

int truth_ended(const struct truth *t)
{
	return t->ended;
}

static int by_width(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

const struct truth_stats *truth_stats(struct truth *t)
{
	size_t n = t->nwidth < SAMPLES ? (size_t)t->nwidth : SAMPLES;

	qsort(t->width, n, sizeof(*t->width), by_width);
	t->st.median = n ? t->width[n / 2] : 0;
	return &t->st;
}

void truth_add(struct truth_stats *sum, const struct truth_stats *st)
{
	sum->insns += st->insns;
	sum->branches += st->branches;
	sum->ranges += st->ranges;
	sum->holes += st->holes;
	sum->lost += st->lost;
	sum->stale += st->stale;
	sum->stale_insns += st->stale_insns;
	sum->left += st->left;
	sum->timed += st->timed;
	sum->untimed += st->untimed;
	sum->outside += st->outside;
}
