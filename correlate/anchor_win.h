/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_WIN_H
#define HWT_CORRELATE_ANCHOR_WIN_H

/*
 * anchor_solve() over sequences of any length, in a window that slides from one certain visit to
 * the next. Visits and records are given as they come; what the window does not show is taken as
 * not known, so its size costs certainty, never truth.
 */
#include "anchor_rigid.h"

#define ANCHOR_WINDOW	4096	/* visits; up to four times as many records */

struct anchor_win {
	struct anchor_visit *v;
	struct anchor_match *m;
	struct anchor_record *r;
	struct hwt_interval *t;		/* of records */
	size_t nv, nr;
	uint64_t v0, r0;		/* numbers of the first ones here since the start */
	size_t told;			/* of @v: those before it fix the rest only */
	bool pinned;			/* the first visit wrote the first record */
	uint64_t before[ANCHOR_SITES];
	struct anchor_rigid rigid;	/* of the records' clock; all 0 at first */
	struct anchor_sum sum;		/* of all that was told; findings by those numbers */
};

/* 0, -ENOMEM. The window must then be freed. */
int anchor_win_init(struct anchor_win *w);
void anchor_win_free(struct anchor_win *w);

/* Room for another visit, another record? */
static inline bool anchor_win_room(const struct anchor_win *w)
{
	return w->nv < ANCHOR_WINDOW;
}

static inline bool anchor_win_room_records(const struct anchor_win *w)
{
	return w->nr < 4 * ANCHOR_WINDOW;
}

void anchor_win_visit(struct anchor_win *w, const struct anchor_visit *v);
void anchor_win_record(struct anchor_win *w, const struct anchor_record *r);
/*
 * Looks at what is in the window. Visits from @told up to @upto (indices in the window) are decided
 * now: @m tells of them, @t of all records here; to be followed by anchor_win_slide(). @all: no
 * more visits come. 0, or the codes of anchor_solve().
 */
int anchor_win_solve(struct anchor_win *w, bool all, size_t *upto);
/* Drops visits before @upto, but for one that fixes the rest, and records that none can have. */
void anchor_win_slide(struct anchor_win *w, size_t upto);

#endif
