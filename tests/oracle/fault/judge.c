/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fault.h"

#define NEAR	64	/* bytes between where a range is told and where it was without the fault */
#define ENOUGH	24	/* ranges in a row that leave no doubt where they are */
#define GROUP	64	/* bytes of a PSB+, which is whole or a hole */
#define BEFORE	32	/* bytes of packets that the library reads ahead of what it tells */

struct at {
	struct verdict *v;
	const struct trace *t;
	const struct base *b;
	const struct plan *p;
	const struct seen_list *s;
	uint8_t *covered;	/* by instruction */
	uint64_t pos;		/* instruction that comes next */
	uint64_t base;		/* since here it went on without a break; NO_POS: from no place */
	uint64_t lo, hi;	/* instructions that the fault may take: [lo, hi) */
	uint64_t off_hi;	/* the byte that goes with @hi */
	unsigned holes_behind;	/* holes behind that byte */
	bool lost, marked;	/* we do not know where it is; a hole said so */
	bool astray;		/* it once went on elsewhere as if that came next */
};

__attribute__((format(printf, 2, 3)))
static void say(struct verdict *v, const char *fmt, ...)
{
	va_list ap;

	if (*v->why)
		return;
	va_start(ap, fmt);
	vsnprintf(v->why, sizeof(v->why), fmt, ap);
	va_end(ap);
}

/* The instructions from @pos on are those of the range. */
static bool is_at(const struct trace *t, uint64_t pos, const struct seen *s)
{
	return s->insns && s->insns <= t->ninsn - pos && pos < t->ninsn &&
		t->insn[pos].addr == s->first && t->insn[pos].line >= s->insns &&
		t->insn[pos + s->insns - 1].addr == s->last;
}

/* How many of the ranges from @i on ran from @pos on; @all: up to the next hole or the end. */
static unsigned fits(const struct at *a, size_t i, uint64_t pos, unsigned most, bool *all)
{
	unsigned n = 0;

	for (; i < a->s->n && !a->s->v[i].cause && !a->s->v[i].doubt; i++) {
		if (n == most || !is_at(a->t, pos, &a->s->v[i]))
			break;
		pos += a->s->v[i].insns;
		n++;
	}
	*all = i == a->s->n || a->s->v[i].cause || a->s->v[i].doubt;
	return n;
}

static uint64_t apart(uint64_t x, uint64_t y)
{
	return x > y ? x - y : y - x;
}

/*
 * Where the ranges from @i on ran; NO_POS if nowhere near. Once it went astray that may be before
 * a->pos: what seemed to fit there was shown instead of something that ran earlier.
 */
static uint64_t locate(const struct at *a, size_t i)
{
	uint64_t off = a->s->v[i].off, from = a->astray ? 0 : a->pos, best;
	const uint64_t *at = a->b->off;
	unsigned most;

	/* of the places that fit as well, the one that was told nearest to here */
	for (unsigned want = ENOUGH; ; want *= 8) {
		unsigned ties = 0;

		most = 0;
		best = NO_POS;
		for (uint64_t k = from; k < a->b->shown; k++) {
			bool all;
			unsigned n;

			if (at[k] + NEAR < off)
				continue;
			if (at[k] > off + NEAR)
				break;
			if (a->t->insn[k].addr != a->s->v[i].first)
				continue;
			n = fits(a, i, k, want, &all);
			if (!n || n < most || (n < 3 && !all))
				continue;
			ties = n > most ? 1 : ties + 1;
			if (n > most || apart(at[k], off) < apart(at[best], off))
				best = k;
			most = n;
		}
		if (ties < 2 || most < want || want > 2000)
			return best;
	}
}

static void wrong(struct at *a, const struct seen *s)
{
	struct verdict *v = a->v;

	if (a->marked) {
		v->marked++;
	} else {
		v->wrong++;
		a->astray = true;
	}
	if (!a->p->code && s->off >= a->off_hi + BEFORE) {
		v->beyond++;
		say(v, "%" PRIx64 " at byte %" PRIu64 " did not run, behind the next sync at %"
		    PRIu64, s->first, s->off, a->off_hi);
	}
	a->lost = true;
}

/* A trace unit that speculates tells late whether what it sent did run. */
static uint64_t uncommitted(const struct trace *t, uint64_t pos)
{
	uint32_t ev = t->insn[pos].ev, n = t->pt ? 0 : t->etmc.max_spec * 3;

	return n ? t->first[ev > n ? ev - n : 0] : pos;
}

/*
 * The flow went on at @to instead of a->pos. Where what ran before both is the same, as in a loop,
 * the instructions between are as well missing from further back.
 */
static void slide(struct at *a, uint64_t to)
{
	uint64_t from = a->pos;

	while (from > a->lo && to > from && a->covered[from - 1] && !a->covered[to - 1] &&
	       a->t->insn[from - 1].addr == a->t->insn[to - 1].addr) {
		a->covered[--from] = 0;
		a->covered[--to] = 1;
	}
}

/*
 * What was shown without a break since @a->base is the same as what ran just before @to: that is
 * where it was, as in a loop whose turn could not be told when it began.
 */
static bool moved(struct at *a, uint64_t to)
{
	uint64_t n = a->pos - a->base;

	if (a->base == NO_POS || n > to)
		return false;
	for (uint64_t i = 1; i <= n; i++) {
		if (a->t->insn[to - i].addr != a->t->insn[a->pos - i].addr)
			return false;
	}
	memset(a->covered + a->base, 0, n);
	memset(a->covered + to - n, 1, n);
	a->base = to - n;
	return true;
}

static void right(struct at *a, const struct seen *s)
{
	uint64_t last = a->pos + s->insns - 1;
	uint32_t ev = a->t->insn[last].ev;

	memset(a->covered + a->pos, 1, s->insns);
	a->pos += s->insns;
	a->lost = a->marked = false;
	if (s->lo == NO_POS)
		return;
	/* at the tick of its event if it is the last instruction there, else before */
	if (s->lo > a->t->ev[ev].tick ||
	    s->hi < (last + 1 == a->t->first[ev + 1] ? a->t->ev[ev].tick : ev ?
		     a->t->ev[ev - 1].tick : 0))
		a->v->outside++;
}

static void hole(struct at *a, const struct seen *s, uint32_t causes)
{
	struct verdict *v = a->v;

	a->lost = a->marked = true;
	if (s->off + GROUP < a->p->from && !a->p->code) {
		v->false_holes++;
		say(v, "%s at byte %" PRIu64 ", before the fault", hwt_gap_name(s->cause), s->off);
		return;
	}
	if (s->off > a->off_hi && !a->p->code) {
		a->holes_behind++;
		say(v, "%s at byte %" PRIu64 ", behind the sync at %" PRIu64,
		    hwt_gap_name(s->cause), s->off, a->off_hi);
		return;
	}
	if (!v->holes++)
		v->cause = s->cause;
	if (causes >> s->cause & 1 && !v->right_cause) {
		v->right_cause = true;
		v->cause = s->cause;
	}
}

/* The instructions that the fault may take. */
static void reach(struct at *a)
{
	const struct trace *t = a->t;
	const struct plan *p = a->p;
	const struct sync *y = trace_sync_from(t, p->to);

	a->hi = t->ninsn;
	a->off_hi = y ? y->end : NO_POS / 2;
	if (y && y->ev + 1 < t->nev)
		a->hi = t->first[y->ev + 1];
	a->lo = a->hi;
	for (uint64_t i = 0; i < t->ninsn; i++) {
		if (a->b->off[i] != NO_POS && a->b->off[i] + BEFORE >= p->from) {
			a->lo = uncommitted(t, i);
			break;
		}
	}
	if (p->code) {
		a->lo = 0;
		a->hi = t->ninsn;
		a->off_hi = NO_POS / 2;
	}
}

static void count_lost(struct at *a)
{
	struct verdict *v = a->v;

	for (uint64_t i = 0; i < a->t->ninsn; i++) {
		if (a->covered[i] || a->b->off[i] == NO_POS)
			continue;
		v->lost++;
		if (i < a->lo) {
			v->early++;
			say(v, "instruction %" PRIu64 " at %" PRIx64 " was lost, before %" PRIu64,
			    i, a->t->insn[i].addr, a->lo);
		} else if (i >= a->hi) {
			v->late++;
			say(v, "instruction %" PRIu64 " at %" PRIx64 " was lost, behind %" PRIu64,
			    i, a->t->insn[i].addr, a->hi);
		}
	}
}

void judge(struct verdict *v, const struct trace *t, const struct base *b, const struct plan *p,
	   const struct seen_list *s, uint32_t causes)
{
	struct at a = { .v = v, .t = t, .b = b, .p = p, .s = s };

	*v = (struct verdict){ 0 };
	a.covered = calloc(t->ninsn, 1);
	if (!a.covered) {
		say(v, "out of memory");
		v->late = 1;
		return;
	}
	reach(&a);
	a.lost = a.marked = false;
	a.base = NO_POS;
	for (size_t i = 0; i < s->n; i++) {
		const struct seen *e = &s->v[i];
		uint64_t at;

		if (e->cause) {
			hole(&a, e, causes);
			continue;
		}
		if (e->doubt) {
			a.lost = true;
			continue;
		}
		at = a.lost ? locate(&a, i) : is_at(t, a.pos, e) ? a.pos : NO_POS;
		if (a.lost)
			a.base = at;
		if (at == NO_POS && !a.lost) {
			/* it goes on elsewhere as if that came next */
			a.astray = true;
			at = locate(&a, i);
			if (at != NO_POS && moved(&a, at)) {
				a.pos = at;
				right(&a, e);
				continue;
			}
			v->wrong += at != NO_POS;
			a.base = at;
			if (at != NO_POS && p->silent && !p->code)
				slide(&a, at);
		}
		if (at == NO_POS) {
			wrong(&a, e);
			continue;
		}
		a.pos = at;
		right(&a, e);
	}
	if (p->silent && !p->code && a.pos < b->shown)
		slide(&a, b->shown);
	count_lost(&a);
	/* such a hole tells that what is behind the synchronisation was lost, if it was */
	if (!v->late)
		v->false_holes += a.holes_behind;
	free(a.covered);
}

int judge_base(struct base *b, const struct trace *t, const struct seen_list *s)
{
	uint64_t pos = 0;

	b->shown = 0;
	b->off = b->off ? b->off : malloc((t->ninsn + 1) * sizeof(*b->off));
	if (!b->off)
		return -ENOMEM;
	for (uint64_t i = 0; i < t->ninsn; i++)
		b->off[i] = NO_POS;
	for (size_t i = 0; i < s->n; i++) {
		if (s->v[i].cause || s->v[i].doubt || !is_at(t, pos, &s->v[i]))
			return -EINVAL;
		for (uint32_t k = 0; k < s->v[i].insns; k++)
			b->off[pos++] = s->v[i].off;
	}
	b->shown = pos;
	return 0;
}
