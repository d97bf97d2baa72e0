/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_book.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

struct anchor_book {
	FILE *file;		/* of struct anchor_place */
	struct anchor_sum sum;
};

int anchor_book_open(struct anchor_book **out)
{
	struct anchor_book *b = calloc(1, sizeof(*b));

	if (!b)
		return -ENOMEM;
	b->file = tmpfile();
	if (!b->file) {
		int rc = -errno;

		free(b);
		return rc;
	}
	*out = b;
	return 0;
}

void anchor_book_free(struct anchor_book *b)
{
	if (!b)
		return;
	fclose(b->file);
	free(b);
}

int anchor_book_put(struct anchor_book *b, const struct anchor_place *p)
{
	return fwrite(p, sizeof(*p), 1, b->file) == 1 ? 0 : -EIO;
}

int anchor_book_done(struct anchor_book *b, const struct anchor_sum *sum)
{
	b->sum = *sum;
	return fflush(b->file) || fseek(b->file, 0, SEEK_SET) ? -EIO : 0;
}

int anchor_book_get(struct anchor_book *b, struct anchor_place *p)
{
	return fread(p, sizeof(*p), 1, b->file) == 1;
}

const struct anchor_sum *anchor_book_sum(const struct anchor_book *b)
{
	return &b->sum;
}

struct anchor_mark anchor_mark_of(const struct hwt_event *ev)
{
	return (struct anchor_mark){ .off = ev->off, .type = ev->type,
		.last = ev->type == HWT_EV_RANGE ? ev->u.range.last : 0,
		.alone = ev->type == HWT_EV_OFF };
}

struct narrow {
	struct hwt_stream s, *up;
	struct anchor_book *book;
	struct anchor_place next;	/* the next anchor, if @more */
	bool more;
	bool inside;		/* between its two ends */
	uint64_t floor;		/* of the last one that was passed, 0: none */
	int32_t pid, tid;	/* who runs, by the last one */
	uint8_t id;		/* only marks of this unit are looked at; 0: all */
};

static void advance(struct narrow *n)
{
	n->inside = false;
	n->more = anchor_book_get(n->book, &n->next);
}

static void narrow(struct narrow *n, struct hwt_event *ev, bool before)
{
	uint64_t lo = ev->time, hi = anchor_end(ev), ceil = HWT_TIME_UNKNOWN;

	if (ev->clock != HWT_CLOCK_BASE)
		return;
	if (before)
		ceil = n->next.upto;
	if (lo == HWT_TIME_UNKNOWN) {
		/* without any time of its own: from anchor to anchor */
		if (!n->floor || ceil == HWT_TIME_UNKNOWN || ev->type == HWT_EV_NONE)
			return;
		lo = n->floor;
	}
	lo = lo > n->floor ? lo : n->floor;
	hi = hi < ceil ? hi : ceil;
	if (lo > hi)
		return;		/* a contradiction: what was there stays */
	ev->time = lo;
	ev->span = hi != HWT_TIME_UNKNOWN && hi - lo < HWT_SPAN_UNKNOWN ? (uint32_t)(hi - lo) :
		HWT_SPAN_UNKNOWN;
}

static void leave(struct narrow *n)
{
	n->floor = n->next.from > n->floor ? n->next.from : n->floor;
	n->pid = n->next.pid;
	n->tid = n->next.tid;
	advance(n);
}

static void enter(struct narrow *n)
{
	n->inside = true;
	n->tid = HWT_NONE;
}

static bool is_mark(const struct anchor_mark *m, const struct hwt_event *ev)
{
	return ev->off == m->off && ev->type == m->type &&
		(ev->type != HWT_EV_RANGE || ev->u.range.last == m->last);
}

/* Places that are over, although their events are not shown at this level or were left out. */
static void catch_up(struct narrow *n, const struct hwt_event *ev)
{
	if (ev->type == HWT_EV_NONE)
		return;
	while (n->more) {
		const struct anchor_place *p = &n->next;
		bool late = p->end.alone && anchor_timed(ev) && ev->time > p->from;

		if (!n->inside && (late || (!p->begin.alone && ev->off > p->begin.off)))
			enter(n);
		if (!n->inside || !(late || (!p->end.alone && ev->off > p->end.off)))
			return;
		leave(n);
	}
}

static void who(const struct narrow *n, struct hwt_event *ev)
{
	if (n->tid == HWT_NONE || ev->tid == n->tid || ev->type == HWT_EV_NONE)
		return;
	if (n->tid == ANCHOR_NOBODY) {
		ev->tid = HWT_NONE;
		return;
	}
	ev->tid = n->tid;
	if (n->pid != HWT_NONE)
		ev->pid = n->pid;
}

static void pass(struct narrow *n, struct hwt_event *ev)
{
	bool before;

	if (n->id && (ev->type != HWT_EV_MARK || ev->u.mark.trace_id != n->id))
		return;
	catch_up(n, ev);
	if (anchor_hides(ev))
		n->tid = HWT_NONE;
	before = n->more && !n->inside &&
		(ev->off < n->next.begin.off || n->next.begin.alone);
	narrow(n, ev, before);
	if (n->more && !n->inside && is_mark(&n->next.begin, ev)) {
		if (n->next.itself) {
			n->floor = n->next.from > n->floor ? n->next.from : n->floor;
			narrow(n, ev, true);
		}
		enter(n);
	}
	who(n, ev);
	if (n->more && n->inside && is_mark(&n->next.end, ev))
		leave(n);
}

static int narrow_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct narrow *n = hwt_container_of(s, struct narrow, s);
	int got = hwt_stream_next(n->up, ev, max);

	for (int i = 0; i < got; i++)
		pass(n, &ev[i]);
	return got;
}

static void narrow_close(struct hwt_stream *s)
{
	struct narrow *n = hwt_container_of(s, struct narrow, s);

	hwt_stream_close(n->up);
	anchor_book_free(n->book);
	free(n);
}

static const struct hwt_stream_ops narrow_ops = { narrow_next, narrow_close };

int anchor_flow_new(struct hwt_stream **out, struct anchor_book *b, struct hwt_stream *up)
{
	struct narrow *n = calloc(1, sizeof(*n));

	if (!n) {
		hwt_stream_close(up);
		anchor_book_free(b);
		return -ENOMEM;
	}
	n->s = (struct hwt_stream){ .ops = &narrow_ops, .name = up->name };
	n->up = up;
	n->book = b;
	n->tid = HWT_NONE;
	advance(n);
	*out = &n->s;
	return 0;
}

int anchor_marks_new(struct hwt_stream **out, struct anchor_book *b, struct hwt_stream *up,
		     uint8_t trace_id)
{
	int rc = anchor_flow_new(out, b, up);

	if (!rc)
		hwt_container_of(*out, struct narrow, s)->id = trace_id;
	return rc;
}
