/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_win.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int anchor_win_init(struct anchor_win *w)
{
	size_t nr = 4 * ANCHOR_WINDOW;

	*w = (struct anchor_win){ 0 };
	w->v = malloc(ANCHOR_WINDOW * sizeof(*w->v));
	w->m = malloc(ANCHOR_WINDOW * sizeof(*w->m));
	w->r = malloc(nr * sizeof(*w->r));
	w->t = malloc(nr * sizeof(*w->t));
	if (w->v && w->m && w->r && w->t)
		return 0;
	anchor_win_free(w);
	return -ENOMEM;
}

void anchor_win_free(struct anchor_win *w)
{
	free(w->v);
	free(w->m);
	free(w->r);
	free(w->t);
	*w = (struct anchor_win){ 0 };
}

void anchor_win_visit(struct anchor_win *w, const struct anchor_visit *v)
{
	w->v[w->nv++] = *v;
}

void anchor_win_record(struct anchor_win *w, const struct anchor_record *r)
{
	w->r[w->nr++] = *r;
}

static void tell(struct anchor_win *w, const struct anchor_sum *sum, size_t upto)
{
	uint64_t *count[] = {
		[ANCHOR_POSSIBLE] = &w->sum.possible, [ANCHOR_CERTAIN] = &w->sum.certain,
		[ANCHOR_LOST] = &w->sum.lost, [ANCHOR_BAD] = &w->sum.bad,
	};

	for (size_t i = w->told; i < upto; i++)
		++*count[w->m[i].state];
	w->sum.steps += sum->steps;
	for (size_t k = 0; k < sum->contradictions && k < ANCHOR_FINDINGS; k++) {
		struct anchor_finding f = sum->finding[k];
		bool records = f.why == ANCHOR_RECORDS;

		/* one of visits that come again is told then */
		if (!records && (f.b >= upto || f.a >= upto))
			continue;
		f.a += records ? w->r0 : w->v0;
		f.b += records ? w->r0 : w->v0;
		f.after += f.after == ANCHOR_NONE ? 0 : w->r0;
		f.until += f.until == ANCHOR_NONE ? 0 : w->r0;
		if (w->sum.contradictions < ANCHOR_FINDINGS)
			w->sum.finding[w->sum.contradictions] = f;
		w->sum.contradictions++;
	}
}

int anchor_win_solve(struct anchor_win *w, bool all, size_t *upto)
{
	struct anchor_args a = {
		.visits = w->v, .nvisits = w->nv, .records = w->r, .nrecords = w->nr,
		.front = !w->pinned, .back = true, .pinned = w->pinned, .before = w->before,
	};
	struct anchor_sum sum;
	int rc = anchor_solve_rigid(&a, &w->rigid, w->m, w->t, &sum);

	if (rc < 0)
		return rc;
	*upto = all ? w->nv : w->nv - w->nv / 4;
	if (*upto < w->told)
		*upto = w->told;
	tell(w, &sum, *upto);
	return 0;
}

/* Records that were over before visit @i began. */
static size_t over(const struct anchor_win *w, size_t i)
{
	size_t n = 0;

	while (i < w->nv && n < w->nr && w->r[n].t.hi < w->v[i].t.lo)
		n++;
	return n;
}

void anchor_win_slide(struct anchor_win *w, size_t upto)
{
	size_t pin = upto, n;

	while (pin && w->m[pin - 1].state != ANCHOR_CERTAIN)
		pin--;
	/* a pin fixes nothing that is far behind it */
	w->pinned = pin && upto - --pin <= w->nv / 2 &&
		w->nr - w->m[pin].first <= 3 * ANCHOR_WINDOW;
	if (!w->pinned)
		pin = upto;
	n = w->pinned ? w->m[pin].first : over(w, pin);
	if (!w->pinned && w->nr - n > 3 * ANCHOR_WINDOW)
		n = w->nr - 3 * ANCHOR_WINDOW;
	for (size_t j = 0; j < n; j++)
		w->before[w->r[j].site] = w->r[j].hit;
	w->told = upto - pin;
	w->nv -= pin;
	w->nr -= n;
	w->v0 += pin;
	w->r0 += n;
	memmove(w->v, w->v + pin, w->nv * sizeof(*w->v));
	memmove(w->r, w->r + n, w->nr * sizeof(*w->r));
}
