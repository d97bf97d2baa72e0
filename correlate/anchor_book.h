/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_BOOK_H
#define HWT_CORRELATE_ANCHOR_BOOK_H

/* Anchors of one stream of flow that are certain, in order, in a file without a name. */
#include <hwtrace/event.h>
#include <hwtrace/stream.h>

#include "anchor.h"

/*
 * An event of flow. At another level the same packet tells others: what has a larger offset is
 * behind it then.
 */
struct anchor_mark {
	uint64_t off;
	uint64_t last;		/* RANGE: u.range.last; else 0 */
	uint32_t type;
	uint32_t alone;		/* no other event of this type has this offset, at any level */
};

/* A record was written behind @begin, and before @end was over. They may be the same. */
struct anchor_place {
	struct anchor_mark begin, end;
	uint64_t upto;		/* what is before @begin was over then, ns; or not known */
	uint64_t from;		/* what is behind @end began then; 0: not known */
	/*
	 * who runs behind @end, until the next @begin; HWT_NONE: that is told by others;
	 * ANCHOR_NOBODY: somebody else came, and nothing tells who
	 */
	int32_t pid, tid;
	bool itself;		/* @begin, which is @end: it was from @from to @upto */
	struct hwt_interval t;	/* in which it was, as flow has it */
	/* number of the record among those of its line, from 0; UINT64_MAX: not certain */
	uint64_t record;
};

#define ANCHOR_NOBODY	(-2)

struct anchor_book;

/* 0, -ENOMEM, or the error of the file. */
int anchor_book_open(struct anchor_book **out);
void anchor_book_free(struct anchor_book *b);	/* NULL is fine */
int anchor_book_put(struct anchor_book *b, const struct anchor_place *p);
/* All is written; to be read from the start. */
int anchor_book_done(struct anchor_book *b, const struct anchor_sum *sum);
/* 1, or 0 at the end. */
int anchor_book_get(struct anchor_book *b, struct anchor_place *p);
const struct anchor_sum *anchor_book_sum(const struct anchor_book *b);

struct anchor_mark anchor_mark_of(const struct hwt_event *ev);

/*
 * Takes @b, and @up, which is of the same trace, at any level; also on failure. Times get narrower,
 * and threads are those that the places tell; nothing else changes. 0 or -ENOMEM.
 */
int anchor_flow_new(struct hwt_stream **out, struct anchor_book *b, struct hwt_stream *up);
/* The same for marks of unit @trace_id alone: what others send is in no order to them. */
int anchor_marks_new(struct hwt_stream **out, struct anchor_book *b, struct hwt_stream *up,
		     uint8_t trace_id);

/* Last instant of an event, or HWT_TIME_UNKNOWN. */
static inline uint64_t anchor_end(const struct hwt_event *ev)
{
	if (ev->time == HWT_TIME_UNKNOWN || ev->span == HWT_SPAN_UNKNOWN)
		return HWT_TIME_UNKNOWN;
	return ev->time + ev->span;
}

static inline bool anchor_timed(const struct hwt_event *ev)
{
	return ev->time != HWT_TIME_UNKNOWN && ev->clock == HWT_CLOCK_BASE;
}

/* A hole: what ran there is not known. */
static inline bool anchor_hides(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_GAP || ev->type == HWT_EV_NOPATH ||
		(ev->type == HWT_EV_ON && !(ev->flags & HWT_F_RESUMED));
}

#endif
