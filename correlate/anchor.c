/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounds of each visit, as a cell of the line of records and as a hit number, narrowed from both
 * sides until nothing changes. To end early would only leave them wider.
 */
#include "anchor.h"
#include "anchor_line.h"

#include <errno.h>
#include <stdlib.h>

#define ROUNDS		64	/* sweeps over all visits, at most */
#define REFINES		4	/* times that what is certain narrows the times again, at most */
#define RESTARTS	32	/* contradictions that are taken out one by one */
#define UNBOUNDED	(1ull << 32)
#define NOT_ONE		UINT32_MAX

/* What is known of a visit. */
struct var {
	uint32_t lo, hi;	/* cells */
	uint32_t from_lo, from_hi;	/* visits whose times said so */
	uint32_t before, same;	/* the visit before, and that of the same site, or NOT_ONE */
	bool dead;		/* part of a contradiction: as if a hole hid it */
	uint64_t nlo, nhi;	/* hit numbers */
	uint64_t hidden;	/* what holes hide up to here */
};

struct solve {
	const struct anchor_args *a;
	struct anchor_line line;
	struct anchor_sum *sum;
	struct var *v;
	struct hwt_interval *t;	/* of visits; neither end ever goes back */
	uint32_t n;
	bool changed;
	uint32_t broken;	/* a visit that has no possibility left, or NOT_ONE */
};

static void found(struct anchor_sum *sum, struct anchor_finding f)
{
	if (sum->contradictions < ANCHOR_FINDINGS)
		sum->finding[sum->contradictions] = f;
	sum->contradictions++;
}

/*
 * Order narrows intervals: none begins before one that comes earlier, or ends behind one that comes
 * later. False if two contradict each other; nothing is changed then.
 */
static bool in_order(struct hwt_interval *t, uint32_t n, uint32_t *a, uint32_t *b)
{
	*a = 0;
	for (*b = 0; *b < n; ++*b) {
		if (t[*b].lo > t[*a].lo)
			*a = *b;
		if (t[*b].hi < t[*a].lo)
			return false;
	}
	for (uint32_t i = 1; i < n; i++)
		if (t[i].lo < t[i - 1].lo)
			t[i].lo = t[i - 1].lo;
	for (uint32_t i = n; i-- > 1;)
		if (t[i - 1].hi > t[i].hi)
			t[i - 1].hi = t[i].hi;
	return true;
}

/* The same; times that contradict each other are taken for not known. */
static void order(struct solve *s, struct hwt_interval *t, uint32_t n, enum anchor_why why,
		  bool tell)
{
	static const struct hwt_interval unknown = { 0, HWT_TIME_UNKNOWN };
	uint32_t a, b;

	for (unsigned k = 0; k < RESTARTS; k++) {
		if (in_order(t, n, &a, &b))
			return;
		if (tell)
			found(s->sum, (struct anchor_finding){ .a = a, .b = b, .why = (uint8_t)why,
				.after = ANCHOR_NONE, .until = ANCHOR_NONE });
		t[a] = t[b] = unknown;
	}
	for (uint32_t i = 0; i < n; i++)
		t[i] = unknown;
}

static uint32_t site(const struct solve *s, uint32_t i)
{
	return s->a->visits[i].site;
}

static void check(struct solve *s, uint32_t i)
{
	const struct var *v = &s->v[i];

	if (s->broken == NOT_ONE && (v->lo > v->hi || v->nlo > v->nhi))
		s->broken = i;
}

/* The lower bounds of @i agree with each other, and with a cell that it can have. */
static void fit_lo(struct solve *s, uint32_t i)
{
	struct var *v = &s->v[i];
	uint32_t up, down;
	uint64_t n, m;

	v->lo = line_up(&s->line, site(s, i), v->lo);	/* LINE_NONE is above all */
	if (s->line.hits && v->lo != LINE_NONE) {
		line_hits(&s->line, site(s, i), v->lo, &n, &m);
		if (n > v->nlo)
			v->nlo = n;
		line_cells(&s->line, site(s, i), v->nlo, &up, &down);
		if (up > v->lo)
			v->lo = up;
	}
	check(s, i);
}

static void fit_hi(struct solve *s, uint32_t i)
{
	struct var *v = &s->v[i];
	uint32_t up, down;
	uint64_t n, m;

	v->hi = line_down(&s->line, site(s, i), v->hi);
	if (s->line.hits && v->hi != LINE_NONE) {
		line_hits(&s->line, site(s, i), v->hi, &n, &m);
		if (m < v->nhi)
			v->nhi = m;
		line_cells(&s->line, site(s, i), v->nhi, &up, &down);
		if (down < v->hi || down == LINE_NONE)
			v->hi = down;
	}
	if (v->hi == LINE_NONE) {
		v->hi = 0;
		s->broken = s->broken == NOT_ONE ? i : s->broken;
	}
	check(s, i);
}

/* Visit @i is not before cell @c and not before hit @hit: @from says so. */
static void raise(struct solve *s, uint32_t i, uint32_t c, uint64_t hit, uint32_t from)
{
	struct var *v = &s->v[i];

	if (c <= v->lo && hit <= v->nlo)
		return;
	v->lo = c > v->lo ? c : v->lo;
	v->nlo = hit > v->nlo ? hit : v->nlo;
	v->from_lo = from;
	s->changed = true;
	fit_lo(s, i);
}

/* Visit @i is not behind cell @c and not behind hit @hit. */
static void lower(struct solve *s, uint32_t i, uint32_t c, uint64_t hit, uint32_t from)
{
	struct var *v = &s->v[i];

	if (c >= v->hi && hit >= v->nhi)
		return;
	v->hi = c < v->hi ? c : v->hi;
	v->nhi = hit < v->nhi ? hit : v->nhi;
	v->from_hi = from;
	s->changed = true;
	fit_hi(s, i);
}

/* By its time alone: behind the records that were over before, before those that came later. */
static void by_time(struct solve *s)
{
	const struct anchor_line *l = &s->line;
	uint32_t j = 0, k = 0;

	for (uint32_t i = 0; i < s->n; i++) {
		if (s->v[i].dead)
			continue;
		while (j < l->n && l->t[j].hi < s->t[i].lo)
			j++;
		while (k < l->n && l->t[k].lo <= s->t[i].hi)
			k++;
		raise(s, i, 2 * j, 0, i);
		lower(s, i, 2 * k, UINT64_MAX, i);
		s->sum->steps++;
	}
	s->sum->steps += l->n;
}

/* The cell @k records later (earlier) than @c, if none was lost between. */
static uint32_t ahead(const struct solve *s, uint32_t c, uint64_t k)
{
	uint64_t to = c + 2 * k - !(c & 1);

	return to < 2 * s->line.n ? (uint32_t)to : 2 * s->line.n;
}

static uint32_t back(uint32_t c, uint64_t k)
{
	uint64_t by = 2 * k - !(c & 1);

	return by < c ? c - (uint32_t)by : 0;
}

/* What visit @p, the one before, says of @i, or the other way round. */
static void step(struct solve *s, uint32_t p, uint32_t i, bool forward)
{
	struct var *v = &s->v[i], *u = &s->v[p];
	uint64_t h = v->hidden - u->hidden;

	if (forward) {
		raise(s, i, u->lo + (u->lo & 1), 0, u->from_lo);
		if (h < UNBOUNDED)
			lower(s, i, ahead(s, u->hi, h + 1), UINT64_MAX, u->from_hi);
	} else {
		lower(s, p, v->hi - (v->hi & 1), UINT64_MAX, v->from_hi);
		if (h < UNBOUNDED)
			raise(s, p, back(v->lo, h + 1), 0, v->from_lo);
	}
}

/* The same by hit numbers: @p is the one before of the same site. */
static void step_hits(struct solve *s, uint32_t p, uint32_t i, bool forward)
{
	struct var *v = &s->v[i], *u = &s->v[p];
	uint64_t h = v->hidden - u->hidden + 1;

	if (forward) {
		raise(s, i, 0, u->nlo + 1, u->from_lo);
		if (h <= UNBOUNDED && u->nhi < UINT64_MAX - h)
			lower(s, i, UINT32_MAX, u->nhi + h, u->from_hi);
	} else {
		if (v->nhi < UINT64_MAX)
			lower(s, p, UINT32_MAX, v->nhi - 1, v->from_hi);
		if (h <= UNBOUNDED && v->nlo > h)
			raise(s, p, 0, v->nlo - h, v->from_lo);
	}
}

static void sweep(struct solve *s, bool forward)
{
	for (uint32_t k = 0; k < s->n && s->broken == NOT_ONE; k++) {
		uint32_t i = forward ? k : s->n - 1 - k;

		s->sum->steps++;
		if (s->v[i].dead)
			continue;
		if (s->v[i].before != NOT_ONE)
			step(s, s->v[i].before, i, forward);
		if (s->line.hits && s->v[i].same != NOT_ONE && s->broken == NOT_ONE)
			step_hits(s, s->v[i].same, i, forward);
	}
}

static void settle(struct solve *s)
{
	for (unsigned k = 0; k < ROUNDS && s->broken == NOT_ONE; k++) {
		s->changed = false;
		sweep(s, true);
		sweep(s, false);
		if (!s->changed)
			return;
	}
}

/* Everything is possible again, but for what contradicted itself. */
static int start(struct solve *s)
{
	uint32_t last[ANCHOR_SITES], before = NOT_ONE;
	uint64_t hidden = 0;

	for (unsigned k = 0; k < ANCHOR_SITES; k++)
		last[k] = NOT_ONE;
	s->broken = NOT_ONE;
	for (uint32_t i = 0; i < s->n; i++) {
		const struct anchor_visit *in = &s->a->visits[i];
		struct var *v = &s->v[i];

		if (in->site >= ANCHOR_SITES)
			return -EINVAL;
		hidden += in->hidden == ANCHOR_ANY || v->dead ? UNBOUNDED : in->hidden;
		s->t[i] = in->t;
		if (v->dead) {
			s->t[i] = (struct hwt_interval){ 0, HWT_TIME_UNKNOWN };
			continue;
		}
		*v = (struct var){ .hi = 2 * s->line.n, .from_lo = i, .from_hi = i,
			.before = before, .same = last[in->site], .nhi = UINT64_MAX,
			.hidden = hidden };
		before = last[in->site] = i;
		if (!i && s->a->pinned && s->line.n) {
			v->lo = v->hi = 1;
			v->nlo = v->nhi = s->line.hits ? s->line.r[0].hit : 0;
		}
		if (in->hit != ANCHOR_NO_HIT && s->line.hits)
			v->nlo = v->nhi = in->hit;
		fit_lo(s, i);
		fit_hi(s, i);
	}
	return 0;
}

/* Visits without a hole between them and @i leave the assignment with it. */
static void bury(struct solve *s, uint32_t i)
{
	uint32_t a = i, b = i;

	while (a && !s->a->visits[a].hidden)
		a--;
	while (b + 1 < s->n && !s->a->visits[b + 1].hidden)
		b++;
	for (; a <= b; a++)
		s->v[a].dead = true;
}

static void contradiction(struct solve *s)
{
	const struct var *v = &s->v[s->broken];
	uint32_t a = v->from_lo, b = v->from_hi, j, k;

	for (j = 0; j < s->line.n && s->line.t[j].hi < s->t[a].lo;)
		j++;
	for (k = s->line.n; k && s->line.t[k - 1].lo > s->t[b].hi;)
		k--;
	found(s->sum, (struct anchor_finding){ .why = ANCHOR_NO_RECORD, .a = a, .b = b,
		.after = j < s->line.n ? j : ANCHOR_NONE, .until = k ? k - 1 : ANCHOR_NONE });
	bury(s, a);
	bury(s, b);
}

static bool is_certain(const struct var *v)
{
	return !v->dead && v->lo == v->hi && v->lo & 1;
}

/* What visits and records can be narrows their times. False if nothing got closer. */
static bool refine(struct solve *s)
{
	bool closer = false;
	uint32_t a, b;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct var *v = &s->v[i];
		struct hwt_interval *t = &s->t[i], was = *t, *r = &s->line.t[v->lo / 2];
		uint64_t lo, hi;

		if (v->dead)
			continue;
		lo = line_lo(&s->line, v->lo);
		hi = line_hi(&s->line, v->hi);
		t->lo = lo > t->lo ? lo : t->lo;
		t->hi = hi < t->hi ? hi : t->hi;
		closer |= t->lo > was.lo || t->hi < was.hi;
		if (!is_certain(v))
			continue;
		closer |= t->lo > r->lo || t->hi < r->hi;
		*r = *t;
	}
	s->sum->steps += s->n;
	return closer && in_order(s->t, s->n, &a, &b) && in_order(s->line.t, s->line.n, &a, &b);
}

/* Everything that follows from all demands together; s->broken: no assignment fits them. */
static int attempt(struct solve *s, bool tell)
{
	unsigned more = 0;
	int rc;

	for (uint32_t j = 0; j < s->line.n; j++)
		s->line.t[j] = s->a->records[j].t;
	rc = start(s);
	if (rc < 0)
		return rc;
	order(s, s->t, s->n, ANCHOR_VISITS, tell);
	order(s, s->line.t, s->line.n, ANCHOR_RECORDS, tell);
	do {
		by_time(s);
		settle(s);
	} while (s->broken == NOT_ONE && refine(s) && more++ < REFINES);
	return 0;
}

static int solve(struct solve *s)
{
	for (unsigned k = 0;; k++) {
		int rc;

		for (uint32_t i = 0; k == RESTARTS && i < s->n; i++)
			s->v[i].dead = true;
		rc = attempt(s, !k);
		if (rc < 0 || s->broken == NOT_ONE)
			return rc;
		contradiction(s);
	}
}

static void result(const struct solve *s, uint32_t i, struct anchor_match *m)
{
	const struct var *v = &s->v[i];
	bool any;

	*m = (struct anchor_match){ .t = s->t[i], .first = 1, .state = ANCHOR_BAD };
	if (v->dead) {
		m->t = s->a->visits[i].t;
		s->sum->bad++;
		return;
	}
	any = line_records(&s->line, site(s, i), v->lo, v->hi, &m->first, &m->last);
	if (s->line.hits) {
		m->hit_lo = v->nlo;
		m->hit_hi = v->nhi == UINT64_MAX ? ANCHOR_NO_HIT : v->nhi;
	}
	if (!any) {
		m->state = ANCHOR_LOST;
		s->sum->lost++;
	} else if (is_certain(v)) {
		m->state = ANCHOR_CERTAIN;
		s->sum->certain++;
	} else {
		m->state = ANCHOR_POSSIBLE;
		s->sum->possible++;
	}
}

static int setup(struct solve *s, const struct anchor_args *a, struct anchor_sum *sum)
{
	*s = (struct solve){ .a = a, .sum = sum, .n = (uint32_t)a->nvisits };
	*sum = (struct anchor_sum){ 0 };
	if (a->nvisits >> 30 || a->nrecords >> 30)
		return -EINVAL;
	s->v = calloc(a->nvisits + 1, sizeof(*s->v));
	s->t = calloc(a->nvisits + 1, sizeof(*s->t));
	return s->v && s->t ? line_make(&s->line, a) : -ENOMEM;
}

static void teardown(struct solve *s)
{
	line_free(&s->line);
	free(s->v);
	free(s->t);
}

int anchor_solve(const struct anchor_args *a, struct anchor_match *match,
		 struct hwt_interval *times, struct anchor_sum *sum)
{
	struct solve s;
	int rc = setup(&s, a, sum);

	if (!rc)
		rc = solve(&s);
	for (uint32_t i = 0; !rc && i < s.n; i++)
		result(&s, i, &match[i]);
	for (uint32_t j = 0; !rc && times && j < s.line.n; j++)
		times[j] = s.line.t[j];
	teardown(&s);
	return rc;
}

int anchor_possible(const struct anchor_args *a, uint64_t *steps)
{
	struct anchor_sum sum;
	struct solve s;
	int rc = setup(&s, a, &sum);

	if (!rc)
		rc = attempt(&s, true);
	if (!rc)
		rc = s.broken == NOT_ONE && !sum.contradictions;
	*steps += sum.steps;
	teardown(&s);
	return rc;
}
