/* SPDX-License-Identifier: BSD-2-Clause */
#include "path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define EDITS_MAX 1024		/* differences that are looked for */

void path_begin(struct path *p, struct hwt_interval at, uint8_t part, bool detail)
{
	p->tokens.n = p->steps.n = 0;
	p->more = 0;
	p->cut = false;
	p->faults = 0;
	p->fault_at = HWT_NO_ADDR;
	p->detail = detail;
	for (unsigned i = 0; i < PATH_PARTS; i++)
		p->by[i][0] = p->longest[i] = 0;
	p->cause[0] = 0;
	p->since = at.lo;
	p->part = HWT_PART_RUN;
	path_token(p, at, HWT_NO_ADDR - 1, HWT_NO_ADDR, false);
	path_part(p, at, part);
}

void path_free(struct path *p)
{
	free(p->tokens.v);
	free(p->steps.v);
}

static struct path_token *token(const struct path *p, size_t i)
{
	return (struct path_token *)p->tokens.v + i;
}

static struct path_step *step(const struct path *p, size_t i)
{
	return (struct path_step *)p->steps.v + i;
}

static int add_step(struct path *p, struct hwt_interval at, bool visit)
{
	struct path_step *s;

	if (!p->detail || !p->tokens.n)
		return 0;
	if (p->steps.n >= PATH_STEPS) {
		p->cut = true;
		return 0;
	}
	s = vec_push(&p->steps, sizeof(*s));
	if (!s)
		return -ENOMEM;
	*s = (struct path_step){ .at = at, .pos = (uint32_t)p->tokens.n - 1, .part = p->part,
		.visit = visit };
	s->round = token(p, s->pos)->visits;
	return 0;
}

/* The last @k tokens are those before them once more. */
static bool repeats(const struct path *p, size_t k)
{
	size_t n = p->tokens.n;

	if (n < 2 * k + 1)	/* the first token is the begin */
		return false;
	for (size_t i = 0; i < k; i++)
		if (token(p, n - 1 - i)->value != token(p, n - 1 - k - i)->value)
			return false;
	return true;
}

/*
 * They are rounds of a loop: their steps belong to the tokens before them. A visit of one may be
 * older than a step that was folded already, so all of them are counted.
 */
static void fold(struct path *p, size_t k)
{
	size_t first = p->tokens.n - k;
	size_t i = p->steps.n < PATH_STEPS ? p->steps.n : 0;
	uint64_t left = 0;

	for (size_t t = first; t < p->tokens.n; t++) {
		token(p, t - k)->visits += token(p, t)->visits;
		left += token(p, t)->visits;
	}
	while (i && left) {
		struct path_step *s = step(p, --i);

		if (s->pos < first)
			continue;
		left -= s->visit;
		/* numbers of visits go on behind those that the token before had */
		s->round += token(p, s->pos - k)->visits - token(p, s->pos)->visits;
		s->pos -= (uint32_t)k;
	}
	p->tokens.n -= k;
}

int path_token(struct path *p, struct hwt_interval at, uint64_t value, uint64_t addr, bool hole)
{
	struct path_token *t;
	int rc;

	if (p->tokens.n >= PATH_TOKENS) {
		p->cut = true;
		p->more = (p->more ^ value) * 0x9e3779b97f4a7c15u;
		return 0;
	}
	t = vec_push(&p->tokens, sizeof(*t));
	if (!t)
		return -ENOMEM;
	*t = (struct path_token){ .value = value, .addr = addr, .visits = 1, .hole = hole };
	rc = add_step(p, at, true);
	for (size_t k = 1; !rc && k <= PATH_LOOP; k++)
		if (repeats(p, k)) {
			fold(p, k);
			break;
		}
	return rc;
}

/* A stretch is over: the longest one names the cause of its part. */
void path_end(struct path *p, struct hwt_interval at)
{
	uint64_t length = at.lo > p->since ? at.lo - p->since : 0;

	if (p->cause[0] && (!p->by[p->part][0] || length > p->longest[p->part])) {
		memcpy(p->by[p->part], p->cause, sizeof(p->cause));
		p->longest[p->part] = length;
	}
	p->cause[0] = 0;
	p->since = at.lo;
}

int path_part(struct path *p, struct hwt_interval at, uint8_t part)
{
	if (part == p->part)
		return 0;
	path_end(p, at);
	p->part = part;
	return add_step(p, at, false);
}

void path_rename(struct path *p, uint8_t from, uint8_t to)
{
	for (size_t i = p->steps.n; p->part == from && i-- && step(p, i)->part == from;)
		step(p, i)->part = to;
	if (p->part == from)
		p->part = to;
}

int path_behind(struct path *p, struct hwt_interval at, uint8_t part)
{
	struct path_step *v;

	if (!p->detail || !p->tokens.n)
		return 0;
	if (!vec_push(&p->steps, sizeof(*v)))
		return -ENOMEM;
	v = p->steps.v;
	memmove(v + 1, v, (p->steps.n - 1) * sizeof(*v));
	v[0] = (struct path_step){ .at = at, .part = part };
	return 0;
}

uint64_t path_hash(const struct path *p)
{
	uint64_t h = p->more ^ p->tokens.n;

	for (size_t i = 0; i < p->tokens.n; i++) {
		h = (h ^ token(p, i)->value) * 0x9e3779b97f4a7c15u;
		h ^= h >> 29;
	}
	return h;
}

struct diff {
	const struct path *a, *b;
	size_t a0, b0, n, m;	/* what is compared: @n tokens from @a0 on, @m from @b0 on */
	int32_t *v;		/* furthest places, one row for each number of edits */
};

static bool equal(const struct diff *d, size_t i, size_t k)
{
	return token(d->a, d->a0 + i)->value == token(d->b, d->b0 + k)->value;
}

/* Row of @e edits: its entry 0 is diagonal -e. */
static int32_t *row(const struct diff *d, int e)
{
	return d->v + (size_t)e * (size_t)e;	/* rows have 1, 3, 5, ... entries */
}

/* The furthest place on diagonal @k with @e edits before equal tokens are followed. */
static int32_t reach(const struct diff *d, int e, int k)
{
	const int32_t *last;

	if (!e)
		return 0;
	last = row(d, e - 1) + (e - 1);
	if (k == -e || (k != e && last[k - 1] < last[k + 1]))
		return last[k + 1];
	return last[k - 1] + 1;
}

/* Myers (1986): number of edits, or -1 if there are too many. Other diagonals keep -1. */
static int edits(struct diff *d)
{
	for (int e = 0; e < EDITS_MAX; e++) {
		int32_t *r = row(d, e) + e;

		for (int k = -e; k <= e; k++)
			r[k] = -1;
		for (int k = -e; k <= e; k += 2) {
			int64_t x = reach(d, e, k), y = x - k;

			while (x < (int64_t)d->n && y < (int64_t)d->m && y >= 0 &&
			       equal(d, (size_t)x, (size_t)y)) {
				x++;
				y++;
			}
			r[k] = (int32_t)x;
			if (x >= (int64_t)d->n && y >= (int64_t)d->m)
				return e;
		}
	}
	return -1;
}

static void trace_back(const struct diff *d, int e, uint32_t *match)
{
	int64_t x = (int64_t)d->n, y = (int64_t)d->m;

	for (; e >= 0; e--) {
		int k = (int)(x - y);
		int64_t from = reach(d, e, k);

		while (x > from && y > 0) {
			x--;
			y--;
			match[d->a0 + (size_t)x] = (uint32_t)(d->b0 + (size_t)y);
		}
		if (!e)
			break;
		/* one edit back: from the diagonal above or below */
		if (k == -e || (k != e && row(d, e - 1)[e - 1 + k - 1] <
				row(d, e - 1)[e - 1 + k + 1]))
			y = from - (k + 1), x = from;
		else
			x = from - 1, y = x - (k - 1);
	}
}

int path_match(const struct path *a, const struct path *b, uint32_t *match)
{
	struct diff d = { .a = a, .b = b, .n = a->tokens.n, .m = b->tokens.n };
	int e;

	for (size_t i = 0; i < a->tokens.n; i++)
		match[i] = UINT32_MAX;
	for (; d.n && d.m && equal(&d, 0, 0); d.a0++, d.b0++, d.n--, d.m--)
		match[d.a0] = (uint32_t)d.b0;
	for (; d.n && d.m && equal(&d, d.n - 1, d.m - 1); d.n--, d.m--)
		match[d.a0 + d.n - 1] = (uint32_t)(d.b0 + d.m - 1);
	if (!d.n || !d.m)
		return 0;
	d.v = malloc((size_t)EDITS_MAX * EDITS_MAX * sizeof(*d.v));
	if (!d.v)
		return -ENOMEM;
	e = edits(&d);
	if (e >= 0)
		trace_back(&d, e, match);
	free(d.v);
	return 0;
}
