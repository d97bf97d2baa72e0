/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two calls, split into parts. Each step of a path is of one part, so the parts add up to the whole
 * whatever the instants inside their intervals are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "why.h"

#define PLACES 512		/* functions that are told apart */

const char *hwt_why_name(unsigned what)
{
	static const char *const names[HWT_WHY_PARTS] = {
		"preempted", "blocked", "ready", "irq", "softirq", "off-cpu", "fault", "exception",
		"hole", "extra path", "missing path", "same path", "rest", "unknown"
	};

	return what < HWT_WHY_PARTS ? names[what] : "?";
}

/* How much longer a function took, in the middle of what is known. */
struct place {
	uint8_t what;
	uint64_t func;
	int64_t more;
};

struct explain {
	struct hwt_why *w;
	struct hwt_why_answer *out;
	uint8_t *hole[2];	/* tokens that are compared with a hole */
	uint32_t *match[2];	/* token of the other one, UINT32_MAX: none */
	struct place place[PLACES];
	unsigned nplaces;
};

static struct path_token *token(const struct path *p, size_t i)
{
	return (struct path_token *)p->tokens.v + i;
}

static struct path_step *step(const struct path *p, size_t i)
{
	return (struct path_step *)p->steps.v + i;
}

static uint8_t group_of_part(uint8_t part)
{
	static const uint8_t groups[PATH_PARTS] = {
		[HWT_PART_PREEMPTED] = HWT_WHY_PREEMPTED, [HWT_PART_BLOCKED] = HWT_WHY_BLOCKED,
		[HWT_PART_READY] = HWT_WHY_READY, [HWT_PART_IRQ] = HWT_WHY_IRQ,
		[HWT_PART_SOFTIRQ] = HWT_WHY_SOFTIRQ, [HWT_PART_AWAY] = HWT_WHY_AWAY,
		[PATH_FAULT] = HWT_WHY_FAULT, [PATH_EXCEPTION] = HWT_WHY_EXCEPTION,
		[PATH_HOLE] = HWT_WHY_HOLE,
		[PATH_DARK] = HWT_WHY_REST, [HWT_PART_UNKNOWN] = HWT_WHY_UNKNOWN,
	};

	return groups[part];
}

/* An exception in which the kernel told an interrupt is one, from its first instruction on. */
static void name_interrupts(struct path *p)
{
	for (size_t i = 0, end; i < p->steps.n; i = end) {
		bool irq = false;

		for (end = i; end < p->steps.n && (step(p, end)->part == PATH_EXCEPTION ||
		     step(p, end)->part == HWT_PART_IRQ ||
		     step(p, end)->part == HWT_PART_SOFTIRQ); end++)
			irq = irq || step(p, end)->part == HWT_PART_IRQ;
		for (size_t k = i; irq && k < end; k++)
			if (step(p, k)->part == PATH_EXCEPTION)
				step(p, k)->part = HWT_PART_IRQ;
		end += end == i;
	}
}

/* What stands between two common tokens is compared with a hole if one of both has one there. */
static void mark_holes(struct explain *x)
{
	const struct path *a = &x->w->path[1], *b = &x->w->path[0];
	size_t i = 0, k = 0;

	while (i < a->tokens.n || k < b->tokens.n) {
		size_t i1 = i, k1;
		bool hole = false;

		while (i1 < a->tokens.n && x->match[1][i1] == UINT32_MAX)
			hole |= token(a, i1++)->hole;
		k1 = i1 < a->tokens.n ? x->match[1][i1] : b->tokens.n;
		for (size_t n = k; n < k1; n++)
			hole |= token(b, n)->hole;
		if (hole) {
			memset(x->hole[1] + i, 1, i1 - i);
			memset(x->hole[0] + k, 1, k1 - k);
		}
		i = i1 + 1;
		k = k1 + 1;
	}
}

static uint8_t group_of(const struct explain *x, int which, const struct path_step *s)
{
	uint32_t other = x->match[which][s->pos];

	if (s->part != HWT_PART_RUN)
		return group_of_part(s->part);
	if (x->hole[which][s->pos])
		return HWT_WHY_HOLE;
	/* the rounds of a loop that both have are the same path, those that only one has are not */
	if (other != UINT32_MAX && s->round <= token(&x->w->path[!which], other)->visits)
		return HWT_WHY_SAME;
	return which ? HWT_WHY_MISSING : HWT_WHY_EXTRA;
}

/* Where it is, for the steps of a path. */
static void note_place(struct explain *x, int which, const struct path_step *s,
		       struct hwt_interval d)
{
	const struct hwt_event *ev = &x->w->one[which].from;
	struct hwt_where at = { .pid = ev->pid, .time = HWT_TIME_UNKNOWN };
	uint64_t addr = token(&x->w->path[which], s->pos)->addr;
	int64_t more;
	struct hwt_symbol sym;
	unsigned i;

	if (s->group < HWT_WHY_EXTRA || s->group > HWT_WHY_SAME || d.hi == HWT_TIME_UNKNOWN ||
	    s->part != HWT_PART_RUN)
		return;
	if (addr == HWT_NO_ADDR && ev->type == HWT_EV_RANGE)
		addr = ev->u.range.first;
	if (addr == HWT_NO_ADDR)
		return;
	if (hwt_image_symbol(hwt_session_image(x->w->s), &at, addr, &sym))
		addr = sym.start;
	more = (int64_t)(d.lo / 2 + d.hi / 2);
	for (i = 0; i < x->nplaces; i++)
		if (x->place[i].func == addr && x->place[i].what == s->group)
			break;
	if (i == PLACES)
		return;
	if (i == x->nplaces)
		x->place[x->nplaces++] = (struct place){ s->group, addr, 0 };
	x->place[i].more += which ? -more : more;
}

static struct hwt_interval between(const struct explain *x, int which, struct hwt_interval a,
				   struct hwt_interval b)
{
	return pairs_between(x->w->pairs, x->w->one[which].from.clock, a, b);
}

/* Lengths of the parts of one; stretches of a part are measured from end to end. */
static void measure(struct explain *x, int which)
{
	struct path *p = &x->w->path[which];
	struct hwt_interval end = why_at(&x->w->one[which].to), from = { 0, 0 };

	for (size_t i = 0; i < p->steps.n; i++)
		step(p, i)->group = group_of(x, which, step(p, i));
	for (size_t i = 0; i < p->steps.n; i++) {
		const struct path_step *s = step(p, i);
		bool last = i + 1 == p->steps.n;
		struct hwt_interval to = last ? end : step(p, i + 1)->at;
		struct hwt_why_part *part = &x->out->part[s->group];

		if (!i || step(p, i - 1)->group != s->group)
			from = s->at;
		note_place(x, which, s, between(x, which, s->at, to));
		if (!last && step(p, i + 1)->group == s->group)
			continue;
		hwt_interval_add(which ? &part->typical : &part->this, between(x, which, from, to));
		++*(which ? &part->typical_times : &part->times);
	}
	*(which ? &x->out->part[HWT_WHY_FAULT].typical_times : &x->out->part[HWT_WHY_FAULT].times) =
		p->faults;
}

static int64_t minus(uint64_t a, uint64_t b, int64_t none)
{
	if (a == HWT_TIME_UNKNOWN || b == HWT_TIME_UNKNOWN || a > INT64_MAX || b > INT64_MAX)
		return none;
	return (int64_t)a - (int64_t)b;
}

static struct hwt_delta delta(struct hwt_interval a, struct hwt_interval b)
{
	return (struct hwt_delta){ minus(a.lo, b.hi, INT64_MIN), minus(a.hi, b.lo, INT64_MAX) };
}

static void finish(struct explain *x)
{
	const struct path *p = &x->w->path[0];

	for (unsigned k = 0; k < HWT_WHY_PARTS; k++) {
		struct hwt_why_part *part = &x->out->part[k];
		int64_t best = 0;

		part->more = delta(part->this, part->typical);
		part->addr = HWT_NO_ADDR;
		for (unsigned i = 0; i < x->nplaces; i++) {
			int64_t m = x->place[i].more < 0 ? -x->place[i].more : x->place[i].more;

			if (x->place[i].what == k && m > best) {
				best = m;
				part->addr = x->place[i].func;
			}
		}
	}
	x->out->part[HWT_WHY_FAULT].addr = p->fault_at;
	memcpy(x->out->part[HWT_WHY_PREEMPTED].by, p->by[HWT_PART_PREEMPTED], HWT_WHY_BY);
	memcpy(x->out->part[HWT_WHY_IRQ].by, p->by[HWT_PART_IRQ], HWT_WHY_BY);
	memcpy(x->out->part[HWT_WHY_BLOCKED].by, p->by[HWT_PART_BLOCKED], HWT_WHY_BY);
	memcpy(x->out->part[HWT_WHY_AWAY].by, p->by[HWT_PART_AWAY], HWT_WHY_BY);
}

int hwt_why_explain(struct hwt_why *w, struct hwt_why_answer *out)
{
	struct explain x = { .w = w, .out = out };
	int rc = 0;

	*out = (struct hwt_why_answer){ .all = w->calls.n, .alike = w->alike, .own = w->own,
		.same_path = w->same_path, .paths = w->paths, .tainted = w->tainted,
		.tainted_number = w->tainted_number, .tainted_most = w->tainted_most,
		.rivals = w->rivals };
	if (!w->have[0] || !w->have[1])
		return -ENOENT;
	for (int i = 0; i < 2; i++) {
		size_t n = w->path[i].tokens.n + 1;

		x.hole[i] = calloc(n, sizeof(*x.hole[i]));
		x.match[i] = malloc(n * sizeof(*x.match[i]));
		if (!x.hole[i] || !x.match[i])
			rc = -ENOMEM;
		name_interrupts(&w->path[i]);
	}
	if (!rc)
		rc = path_match(&w->path[1], &w->path[0], x.match[1]);
	if (!rc) {
		memset(x.match[0], 0xff, w->path[0].tokens.n * sizeof(*x.match[0]));
		for (size_t i = 0; i < w->path[1].tokens.n; i++)
			if (x.match[1][i] != UINT32_MAX)
				x.match[0][x.match[1][i]] = (uint32_t)i;
		mark_holes(&x);
		measure(&x, 0);
		measure(&x, 1);
		finish(&x);
		out->nwaits = w->nwaits;
		memcpy(out->wait, w->wait, sizeof(out->wait));
		out->this = w->one[0];
		out->typical = w->one[1];
		out->ticks = w->one[0].from.clock != HWT_CLOCK_BASE;
		out->no_switch = !(w->pairs->tasks.known & 1u << HWT_PART_RUN);
		out->scope = w->pairs->tasks.scope.bits;
		out->tasks = w->pairs->tasks.recorded;
		out->more = delta(out->this.took, out->typical.took);
	}
	for (int i = 0; i < 2; i++) {
		free(x.hole[i]);
		free(x.match[i]);
	}
	return rc;
}
