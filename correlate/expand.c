/* SPDX-License-Identifier: BSD-2-Clause */
#include "expand.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../hwtrace/image/image.h"

#define BATCH	64	/* events taken from upstream at once */
#define WINDOW	1024	/* bytes of code read at once */
#define LONGEST	16	/* no instruction is longer */
#define QUIET	65536	/* instructions dropped before the consumer hears of the time */

/* Code bytes of one address space while its maps stay as they are. */
struct window {
	uint64_t base, until;	/* first address; base ns from which it may be stale */
	uint64_t from;		/* base ns at which it was read */
	size_t n;		/* bytes valid */
	uint32_t space;		/* HWT_SPACE_* */
	int32_t pid;
	uint8_t code[WINDOW];
};

struct expand {
	struct hwt_stream s;
	struct hwt_stream *up;
	struct hwt_image *image;
	struct hwt_addr_range *addrs;
	size_t naddrs;
	struct hwt_event in[BATCH];
	int n, i;		/* events in @in, next one */
	bool walking;		/* in[i - 1] is a RANGE with @left instructions to go from @pc */
	bool lost[256];		/* by trace id: nothing of a RANGE in doubt did run */
	bool ended;
	bool gave;		/* something of @in went out */
	uint64_t pc;
	uint32_t left;
	uint64_t holes;		/* that the walk made */
	uint32_t quiet;		/* instructions dropped since something went out */
	uint32_t space[256];	/* HWT_SPACE_* that runs, by trace id */
	struct window w;
};

/* Which of Arm's memory spaces runs, from what the trace says of level and security. */
static void note_space(struct expand *x, const struct hwt_event *ev)
{
	if (ev->u.aspace.valid & 4)
		x->space[ev->u.aspace.trace_id] = image_space(ev->u.aspace.el,
							      ev->u.aspace.secure);
}

static bool window_holds(const struct window *w, const struct hwt_event *ev, uint32_t space,
			 uint64_t pc)
{
	if (!w->n || w->pid != ev->pid || w->space != space || pc - w->base >= w->n)
		return false;
	/* the last bytes may lack the rest of an instruction, unless the code itself ends there */
	if (pc - w->base > w->n - (w->n < LONGEST ? w->n : LONGEST) && w->n == WINDOW)
		return false;
	return ev->time == w->from || (ev->time >= w->from && ev->time < w->until);
}

/* Code that came to @pc within the interval of the event. */
static int read_later(struct expand *x, const struct hwt_event *ev, const struct hwt_where *where,
		      uint64_t pc)
{
	uint64_t hi = HWT_TIME_UNKNOWN, differs;

	if (ev->span != HWT_SPAN_UNKNOWN)
		hi = ev->time + ev->span;
	return image_read_during(x->image, where, hi, pc, x->w.code, sizeof(x->w.code), &differs);
}

/* Decodes the instruction at @pc as it was at the event's time. */
static int insn_at(struct expand *x, const struct hwt_event *ev, uint64_t pc, struct hwt_insn *out)
{
	struct window *w = &x->w;
	uint32_t space = ev->u.range.isa >= HWT_ISA_A64 ? x->space[ev->u.range.trace_id] : 0;

	if (!window_holds(w, ev, space, pc)) {
		/* ticks of another clock say nothing of the image's time */
		struct hwt_where where = { .pid = ev->pid, .space = space,
			.time = ev->clock == HWT_CLOCK_BASE ? ev->time : HWT_TIME_UNKNOWN };
		int n = hwt_image_read(x->image, &where, pc, w->code, sizeof(w->code));

		if (n <= 0 && space) {
			where.space = 0;	/* the level was not that of this code */
			n = hwt_image_read(x->image, &where, pc, w->code, sizeof(w->code));
		}
		if (!n && where.time != HWT_TIME_UNKNOWN)
			n = read_later(x, ev, &where, pc);
		w->n = n > 0 ? (size_t)n : 0;
		if (!w->n)
			return n < 0 ? n : -ENOENT;
		w->base = pc;
		w->pid = ev->pid;
		w->space = space;
		w->from = ev->time;
		w->until = image_has_pokes(x->image) ? 0 : image_next_change(x->image, &where);
	}
	return hwt_insn_decode(out, ev->u.range.isa, pc, w->code + (pc - w->base),
			       w->n - (size_t)(pc - w->base));
}

static bool wanted(const struct expand *x, uint64_t addr)
{
	for (size_t i = 0; i < x->naddrs; i++)
		if (addr >= x->addrs[i].lo && addr <= x->addrs[i].hi)
			return true;
	return x->naddrs == 0;
}

/* Where a range in doubt can not be followed further: a branch that always leaves a trace. */
static bool leaves(const struct hwt_insn *in)
{
	/* SVC and its like may be skipped by a condition; that of IT is not in their bytes */
	return in->kind >= HWT_INSN_CALL && in->kind <= HWT_INSN_FAR_JUMP &&
		!(in->kind == HWT_INSN_FAR_CALL && (in->cond || in->isa == HWT_ISA_T32));
}

/* The walk can not go on: what is not proven becomes a hole. */
static void broken(struct expand *x, const struct hwt_event *range, int rc, struct hwt_event *out)
{
	*out = *range;
	out->type = HWT_EV_GAP;
	out->flags = 0;
	memset(&out->u, 0, sizeof(out->u));
	out->u.gap.addr = x->pc;
	out->u.gap.cause = rc == -ENOENT ? HWT_GAP_NO_IMAGE : HWT_GAP_BAD_IMAGE;
	out->u.gap.trace_id = range->u.range.trace_id;
	out->u.gap.code = rc;
	x->holes++;
}

/* One step of the walk; returns how many events it gave (0 or 1). */
static int walk(struct expand *x, struct hwt_event *out)
{
	const struct hwt_event *range = &x->in[x->i - 1];
	bool last = x->left == 1, doubt = range->flags & HWT_F_DOUBT;
	struct hwt_insn in;
	int rc = insn_at(x, range, x->pc, &in);

	if (rc < 0 && last && x->pc == range->u.range.last && range->u.range.last_size) {
		/*
		 * its bytes are gone or unknown to our tables, but the flow decoder saw it end
		 * here
		 */
		in = (struct hwt_insn){ .size = range->u.range.last_size };
		rc = 0;
	}
	if (rc < 0 || x->pc > range->u.range.last || last != (x->pc == range->u.range.last)) {
		x->walking = false;
		if (doubt)
			return 0;	/* the hole comes from upstream */
		broken(x, range, rc, out);
		return 1;
	}
	if (last || (doubt && leaves(&in)))
		x->walking = false;
	if (wanted(x, x->pc)) {
		*out = *range;
		out->type = HWT_EV_INSN;
		out->u.range.first = out->u.range.last = x->pc;
		out->u.range.insns = 1;
		out->u.range.last_size = in.size;
		if (!last || doubt) {
			/* where the last one before the hole went is not known */
			bool end = doubt && !x->walking;

			out->u.range.kind = in.kind;
			out->flags &= (uint8_t)~(HWT_F_TAKEN | HWT_F_COND | HWT_F_DOUBT);
			out->flags |= end ? HWT_F_DOUBT : 0;
		}
		rc = 1;
	}
	x->pc += in.size;
	x->left--;
	return rc;
}

/* Begins with @ev: 1 if it went out as it is, 0 if it is walked or left out. */
static int begin(struct expand *x, const struct hwt_event *ev, struct hwt_event *out)
{
	if (ev->type == HWT_EV_RANGE && ev->u.range.insns) {
		bool *lost = &x->lost[ev->u.range.trace_id], doubt = ev->flags & HWT_F_DOUBT;

		/* only the first range in doubt begins with instructions that did run */
		x->walking = !doubt || !*lost;
		*lost = doubt;
		x->pc = ev->u.range.first;
		x->left = ev->u.range.insns;
		return 0;
	}
	if (ev->type == HWT_EV_ASPACE)
		note_space(x, ev);
	else if (ev->type == HWT_EV_GAP && (ev->u.gap.cause == HWT_GAP_UNKNOWN_BRANCH ||
					    ev->u.gap.cause == HWT_GAP_NO_RETURN))
		x->lost[ev->u.gap.trace_id] = true;
	*out = *ev;
	x->gave = true;
	return 1;
}

/* Nothing but the time that was reached. */
static int progress(struct expand *x, const struct hwt_event *at, struct hwt_event *out)
{
	x->quiet = 0;
	*out = (struct hwt_event){
		.type = HWT_EV_NONE, .time = at->time, .span = HWT_SPAN_UNKNOWN, .cpu = at->cpu,
		.clock = at->clock, .pid = HWT_NONE, .tid = HWT_NONE,
	};
	return 1;
}

static int expand_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct expand *x = hwt_container_of(s, struct expand, s);
	int n = 0, rc;

	while (n < max) {
		if (x->walking) {
			rc = walk(x, &ev[n]);
			x->gave |= rc != 0;
			n += rc;
			x->quiet = rc ? 0 : x->quiet + 1;
			if (x->quiet >= QUIET && !n)
				return progress(x, &x->in[x->i - 1], ev);
			continue;
		}
		if (x->i == x->n) {
			/* events carry pointers that live until the next call upstream */
			if (n || x->ended)
				break;
			/* a whole batch was dropped: tell the time reached */
			if (x->n && !x->gave) {
				rc = progress(x, &x->in[x->n - 1], ev);
				x->n = x->i = 0;
				return rc;
			}
			x->i = 0;
			x->gave = false;
			x->n = hwt_stream_next(x->up, x->in, BATCH);
			if (x->n <= 0) {
				rc = x->n;
				x->n = 0;
				x->ended = rc != -EAGAIN;
				return rc;
			}
		}
		n += begin(x, &x->in[x->i], &ev[n]);
		x->i++;
	}
	return n;
}

uint64_t expand_holes(const struct hwt_stream *s)
{
	return hwt_container_of((struct hwt_stream *)s, struct expand, s)->holes;
}

static void expand_close(struct hwt_stream *s)
{
	struct expand *x = hwt_container_of(s, struct expand, s);

	hwt_stream_close(x->up);
	free(x->addrs);
	free(x);
}

static const struct hwt_stream_ops expand_ops = { expand_next, expand_close };

int expand_new(struct hwt_stream **out, struct hwt_image *image, const struct hwt_interest *want,
	       struct hwt_stream *up)
{
	struct expand *x = calloc(1, sizeof(*x));

	if (x && want->naddrs) {
		x->addrs = calloc(want->naddrs, sizeof(*x->addrs));
		if (x->addrs)
			memcpy(x->addrs, want->addrs, want->naddrs * sizeof(*x->addrs));
	}
	if (!x || (want->naddrs && !x->addrs)) {
		free(x);
		hwt_stream_close(up);
		return -ENOMEM;
	}
	x->naddrs = want->naddrs;
	x->s.ops = &expand_ops;
	x->s.name = up->name;
	x->up = up;
	x->image = image;
	*out = &x->s;
	return 0;
}
