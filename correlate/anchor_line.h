/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_LINE_H
#define HWT_CORRELATE_ANCHOR_LINE_H

/*
 * The records of one CPU as a line of cells: record j is cell 2 j + 1, and the place before it,
 * where any number of lost ones may have been, is cell 2 j. The place behind the last of n is cell
 * 2 n.
 */
#include "anchor.h"

#define LINE_NONE UINT32_MAX

struct anchor_line {
	const struct anchor_record *r;
	uint32_t n;
	bool hits;		/* records have hit numbers */
	const uint64_t *before;	/* as in struct anchor_args */
	struct hwt_interval *t;	/* of each record; neither end ever goes back */
	uint32_t *next_lossy;	/* of each place 0..n: the next where records may be lost */
	uint32_t *prev_lossy;
	uint32_t *of_site;	/* records by site, in order */
	uint32_t start[ANCHOR_SITES + 1];	/* of a site in @of_site */
};

/* 0, -ENOMEM, -EINVAL; to be freed in any case. @l is zeroed. */
int line_make(struct anchor_line *l, const struct anchor_args *a);
void line_free(struct anchor_line *l);

/* The nearest cell from @c on (up to @c) that a visit of @site can have; LINE_NONE: no such. */
uint32_t line_up(const struct anchor_line *l, uint32_t site, uint32_t c);
uint32_t line_down(const struct anchor_line *l, uint32_t site, uint32_t c);

/* Hit numbers that a visit of @site can have in cell @c, which is one that it can have. */
void line_hits(const struct anchor_line *l, uint32_t site, uint32_t c, uint64_t *lo, uint64_t *hi);
/* Cells of hit number @hit, from @lo to @hi; LINE_NONE: no such. */
void line_cells(const struct anchor_line *l, uint32_t site, uint64_t hit, uint32_t *lo,
		uint32_t *hi);

/* Records of @site in cells @lo to @hi: false if there are none. */
bool line_records(const struct anchor_line *l, uint32_t site, uint32_t lo, uint32_t hi,
		  uint32_t *first, uint32_t *last);

/* Earliest and latest instant of a cell. */
static inline uint64_t line_lo(const struct anchor_line *l, uint32_t c)
{
	return c & 1 ? l->t[c / 2].lo : c ? l->t[c / 2 - 1].lo : 0;
}

static inline uint64_t line_hi(const struct anchor_line *l, uint32_t c)
{
	return c / 2 < l->n ? l->t[c / 2].hi : HWT_TIME_UNKNOWN;
}

#endif
