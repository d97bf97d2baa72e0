/* SPDX-License-Identifier: BSD-2-Clause */
#include "frames.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/timeline.h>

#include "analysis/calls.h"

#define BATCH	128

struct frames {
	struct hwt_stream s;
	struct hwt_calls *calls;
	uint64_t time_lo;
	struct hwt_call call[BATCH];	/* those of the last call */
};

static bool early(const struct frames *f, const struct hwt_event *ev)
{
	return ev->clock == HWT_CLOCK_BASE && hwt_event_end(ev) < f->time_lo;
}

static int frames_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct frames *f = hwt_container_of(s, struct frames, s);
	int n = 0, dropped = 0, rc = 0;

	while (n < max && n + dropped < BATCH &&
	       (rc = hwt_calls_next(f->calls, &f->call[n])) > 0) {
		ev[n] = f->call[n].ev;
		if (early(f, &ev[n])) {
			dropped++;
			continue;
		}
		if (f->call[n].what != HWT_CALL_GAP && f->call[n].what != CALLS_FLOW) {
			ev[n].type = HWT_EV_FRAME;
			ev[n].u.rec.data = &f->call[n];
			ev[n].u.rec.size = sizeof(f->call[n]);
			ev[n].u.rec.id = f->call[n].what;
			ev[n].u.rec.number = 0;
		}
		n++;
	}
	if (!n && rc > 0) {	/* progress is told, also when nothing is wanted */
		ev[0] = f->call[0].ev;
		ev[n++].type = HWT_EV_NONE;
	}
	return n ? n : rc;
}

static void frames_close(struct hwt_stream *s)
{
	struct frames *f = hwt_container_of(s, struct frames, s);

	hwt_calls_free(f->calls);
	free(f);
}

static const struct hwt_stream_ops frames_ops = { frames_next, frames_close };

int frames_new(struct hwt_stream **out, struct hwt_session *s, struct hwt_stream *flow,
	       uint64_t time_lo, bool with_flow, bool merged)
{
	struct frames *f = malloc(sizeof(*f));
	int rc;

	if (!f) {
		hwt_stream_close(flow);
		return -ENOMEM;
	}
	f->s = (struct hwt_stream){ .ops = &frames_ops, .name = flow->name };
	f->time_lo = time_lo;
	rc = hwt_calls_new(&f->calls, s, flow);
	if (rc < 0) {		/* it closed the flow */
		free(f);
		return rc;
	}
	if (with_flow)
		calls_with_flow(f->calls);
	if (merged)
		calls_merged(f->calls);
	*out = &f->s;
	return 0;
}
