/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_line.h"

#include <errno.h>
#include <stdlib.h>

static uint32_t count(const struct anchor_line *l, uint32_t site)
{
	return l->start[site + 1] - l->start[site];
}

static uint32_t nth(const struct anchor_line *l, uint32_t site, uint32_t i)
{
	return l->of_site[l->start[site] + i];
}

/* How many records of @site stand before record @j. */
static uint32_t before(const struct anchor_line *l, uint32_t site, uint32_t j)
{
	uint32_t lo = 0, hi = count(l, site);

	while (lo < hi) {
		uint32_t mid = lo + (hi - lo) / 2;

		if (nth(l, site, mid) < j)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

/* Hit number of the record of @site before its @i-th. */
static uint64_t hit_before(const struct anchor_line *l, uint32_t site, uint32_t i)
{
	return i ? l->r[nth(l, site, i - 1)].hit : l->before ? l->before[site] : 0;
}

/* Whether records of @site may be lost between its @i-th and the one before. */
static bool missing(const struct anchor_line *l, uint32_t site, uint32_t i)
{
	if (!l->hits || i == count(l, site))
		return true;
	return l->r[nth(l, site, i)].hit > 1 + hit_before(l, site, i);
}

static int sort_sites(struct anchor_line *l)
{
	uint32_t at[ANCHOR_SITES];

	for (uint32_t j = 0; j < l->n; j++) {
		if (l->r[j].site >= ANCHOR_SITES)
			return -EINVAL;
		l->start[l->r[j].site + 1]++;
	}
	for (uint32_t s = 0; s < ANCHOR_SITES; s++) {
		l->start[s + 1] += l->start[s];
		at[s] = l->start[s];
	}
	for (uint32_t j = 0; j < l->n; j++)
		l->of_site[at[l->r[j].site]++] = j;
	return 0;
}

/*
 * Places where hit numbers are missing and none is told to be lossy: all of them, then. @open
 * counts such stretches as they begin and end; @told counts the places that are told.
 */
static int find_missing(const struct anchor_line *l, const uint32_t *told, int32_t *open)
{
	for (uint32_t s = 0; s < ANCHOR_SITES; s++) {
		uint32_t p = 0;		/* first place behind the record before */
		uint64_t hit = hit_before(l, s, 0);

		for (uint32_t i = 0; i < count(l, s); i++) {
			uint32_t j = nth(l, s, i);

			if ((l->r[j].hit != ANCHOR_NO_HIT) != l->hits ||
			    (l->hits && l->r[j].hit <= hit))
				return -EINVAL;
			if (l->r[j].hit > hit + 1 && told[j + 1] == told[p]) {
				open[p]++;
				open[j + 1]--;
			}
			hit = l->r[j].hit;
			p = j + 1;
		}
	}
	return 0;
}

static int find_lossy(struct anchor_line *l, const struct anchor_args *a)
{
	uint32_t *told = calloc((size_t)l->n + 2, sizeof(*told));
	int32_t *open = calloc((size_t)l->n + 2, sizeof(*open)), depth = 0;
	uint32_t last = LINE_NONE;
	int rc = told && open ? 0 : -ENOMEM;

	for (uint32_t j = 0; !rc && j <= l->n; j++) {
		bool lossy = (!j && a->front) || (j == l->n ? a->back : l->r[j].lost);

		told[j + 1] = told[j] + lossy;
	}
	if (!rc)
		rc = find_missing(l, told, open);
	for (uint32_t j = 0; !rc && j <= l->n; j++) {
		depth += open[j];
		if (told[j + 1] > told[j] || depth > 0)
			last = j;
		l->prev_lossy[j] = last;
	}
	last = LINE_NONE;
	for (uint32_t j = l->n + 1; !rc && j-- > 0;) {
		if (l->prev_lossy[j] == j)
			last = j;
		l->next_lossy[j] = last;
	}
	free(told);
	free(open);
	return rc;
}

int line_make(struct anchor_line *l, const struct anchor_args *a)
{
	size_t n = a->nrecords;
	int rc;

	*l = (struct anchor_line){ .r = a->records, .n = (uint32_t)n,
		.before = a->before };
	l->hits = n && a->records[0].hit != ANCHOR_NO_HIT;
	l->t = calloc(n + 1, sizeof(*l->t));
	l->next_lossy = calloc(n + 1, sizeof(*l->next_lossy));
	l->prev_lossy = calloc(n + 1, sizeof(*l->prev_lossy));
	l->of_site = calloc(n + 1, sizeof(*l->of_site));
	if (!l->t || !l->next_lossy || !l->prev_lossy || !l->of_site)
		return -ENOMEM;
	rc = sort_sites(l);
	if (rc < 0)
		return rc;
	for (uint32_t j = 0; j < l->n; j++)
		l->t[j] = a->records[j].t;
	return find_lossy(l, a);
}

void line_free(struct anchor_line *l)
{
	free(l->t);
	free(l->next_lossy);
	free(l->prev_lossy);
	free(l->of_site);
}

uint32_t line_up(const struct anchor_line *l, uint32_t site, uint32_t c)
{
	uint32_t i, record = LINE_NONE, place;

	if (c > 2 * l->n)
		return LINE_NONE;
	i = before(l, site, c / 2);
	if (i < count(l, site))
		record = nth(l, site, i);
	place = (c + 1) / 2 <= l->n && missing(l, site, i) ? l->next_lossy[(c + 1) / 2] : LINE_NONE;
	if (place <= record && place != LINE_NONE)
		return 2 * place;
	return record == LINE_NONE ? LINE_NONE : 2 * record + 1;
}

uint32_t line_down(const struct anchor_line *l, uint32_t site, uint32_t c)
{
	uint32_t i = before(l, site, (c + 1) / 2), place;

	place = missing(l, site, i) ? l->prev_lossy[c / 2] : LINE_NONE;
	if (place != LINE_NONE && (!i || place > nth(l, site, i - 1)))
		return 2 * place;
	return i ? 2 * nth(l, site, i - 1) + 1 : LINE_NONE;
}

void line_hits(const struct anchor_line *l, uint32_t site, uint32_t c, uint64_t *lo, uint64_t *hi)
{
	uint32_t i;

	if (c & 1) {
		*lo = *hi = l->r[c / 2].hit;
		return;
	}
	i = before(l, site, c / 2);
	*lo = hit_before(l, site, i) + 1;
	*hi = i < count(l, site) ? l->r[nth(l, site, i)].hit - 1 : UINT64_MAX;
}

void line_cells(const struct anchor_line *l, uint32_t site, uint64_t hit, uint32_t *lo,
		uint32_t *hi)
{
	uint32_t a = 0, b = count(l, site), from, to;

	while (a < b) {
		uint32_t mid = a + (b - a) / 2;

		if (l->r[nth(l, site, mid)].hit < hit)
			a = mid + 1;
		else
			b = mid;
	}
	if (a < count(l, site) && l->r[nth(l, site, a)].hit == hit) {
		*lo = *hi = 2 * nth(l, site, a) + 1;
		return;
	}
	from = a ? nth(l, site, a - 1) + 1 : 0;
	to = a < count(l, site) ? nth(l, site, a) : l->n;
	*lo = l->next_lossy[from] <= to ? 2 * l->next_lossy[from] : LINE_NONE;
	*hi = *lo != LINE_NONE ? 2 * l->prev_lossy[to] : LINE_NONE;
}

bool line_records(const struct anchor_line *l, uint32_t site, uint32_t lo, uint32_t hi,
		  uint32_t *first, uint32_t *last)
{
	uint32_t a = before(l, site, lo / 2), b = before(l, site, (hi + 1) / 2);

	if (a >= b)
		return false;
	*first = nth(l, site, a);
	*last = nth(l, site, b - 1);
	return true;
}
