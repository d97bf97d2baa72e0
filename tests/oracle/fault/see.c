/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/session.h>

#include "fault.h"

#define BATCH	256

static int add(struct seen_list *l, const struct hwt_event *ev, const struct plan *p)
{
	struct seen *s;

	if (ev->type != HWT_EV_RANGE && ev->type != HWT_EV_GAP)
		return 0;
	if (l->n == l->room) {
		size_t room = l->room ? l->room * 2 : 8192;

		s = realloc(l->v, room * sizeof(*s));
		if (!s)
			return -ENOMEM;
		l->v = s;
		l->room = room;
	}
	s = &l->v[l->n++];
	*s = (struct seen){ .off = put_origin(p, ev->off), .lo = NO_POS, .hi = NO_POS };
	if (ev->type == HWT_EV_GAP) {
		s->cause = (uint16_t)ev->u.gap.cause;
		return 0;
	}
	s->first = ev->u.range.first;
	s->last = ev->u.range.last;
	s->insns = ev->u.range.insns;
	s->doubt = ev->flags & HWT_F_DOUBT;
	if (ev->time != HWT_TIME_UNKNOWN && ev->span != HWT_SPAN_UNKNOWN) {
		s->lo = ev->time;
		s->hi = ev->time + ev->span;
	}
	return 0;
}

int see(struct seen_list *out, const char *dir, const struct plan *p, struct truth *t)
{
	static struct hwt_event ev[BATCH];
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
					   .time_hi = HWT_TIME_UNKNOWN };
	const struct hwt_open_opts opts = { .size = sizeof(opts) };
	struct hwt_session *s;
	struct hwt_stream *st;
	struct hwt_diag diag;
	int r = hwt_session_open(&s, dir, &opts, &diag);

	out->n = 0;
	out->differs = false;
	if (r) {
		fprintf(stderr, "fault: %s\n", diag.text);
		return r;
	}
	r = hwt_session_flow(s, 0, &want, &st, &diag);
	if (r) {
		fprintf(stderr, "fault: %s\n", diag.text);
		hwt_session_close(s);
		return r;
	}
	while ((r = hwt_stream_next(st, ev, BATCH)) > 0) {
		for (int i = 0; i < r; i++) {
			int err = add(out, &ev[i], p);

			if (t && !out->differs)
				out->differs = truth_event(t, &ev[i]);

			if (err)
				r = err;
		}
		if (r < 0)
			break;
	}
	hwt_stream_close(st);
	out->noted = false;
	for (size_t i = 0; hwt_session_note(s, i); i++)
		out->noted |= hwt_session_note(s, i)->diag.id == 196;
	hwt_session_close(s);
	return r;
}
