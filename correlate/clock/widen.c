/* SPDX-License-Identifier: BSD-2-Clause */
#include "widen.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <hwtrace/event.h>

struct widen {
	struct hwt_stream s;
	struct hwt_stream *up;
	const struct time_fit *fit;
	uint64_t of, late;	/* looked up last */
	bool ticks;		/* of the counter, below */
};

static void set_span(struct hwt_event *ev, uint64_t hi)
{
	ev->span = HWT_SPAN_UNKNOWN;
	if (hi < TIME_LATEST && hi >= ev->time && hi - ev->time < HWT_SPAN_UNKNOWN)
		ev->span = (uint32_t)(hi - ev->time);
}

static void convert(struct widen *w, struct hwt_event *ev)
{
	uint64_t hi = HWT_TIME_UNKNOWN;

	if (ev->clock != HWT_CLOCK_TSC && ev->clock != HWT_CLOCK_CS)
		return;
	ev->clock = HWT_CLOCK_BASE;
	if (ev->time == HWT_TIME_UNKNOWN)
		return;
	if (ev->span != HWT_SPAN_UNKNOWN)
		hi = time_fit_hi(w->fit, ev->time + ev->span);
	ev->time = time_fit_lo(w->fit, ev->time);
	set_span(ev, hi);
}

static void widen(struct widen *w, struct hwt_event *ev)
{
	uint64_t hi = ev->time + ev->span;

	if (ev->clock != HWT_CLOCK_BASE || ev->time == HWT_TIME_UNKNOWN ||
	    ev->span == HWT_SPAN_UNKNOWN)
		return;
	if (hi != w->of) {
		w->of = hi;
		w->late = time_fit_late(w->fit, hi);
	}
	set_span(ev, w->late);
}

static int widen_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct widen *w = hwt_container_of(s, struct widen, s);
	int n = hwt_stream_next(w->up, ev, max);

	for (int i = 0; i < n; i++) {
		if (w->ticks)
			convert(w, &ev[i]);
		else
			widen(w, &ev[i]);
	}
	return n;
}

static void widen_close(struct hwt_stream *s)
{
	struct widen *w = hwt_container_of(s, struct widen, s);

	hwt_stream_close(w->up);
	free(w);
}

static const struct hwt_stream_ops widen_ops = { widen_next, widen_close };

static int make(struct hwt_stream **out, const struct time_fit *fit, struct hwt_stream *up,
		bool ticks)
{
	struct widen *w = malloc(sizeof(*w));

	if (!w) {
		hwt_stream_close(up);
		return -ENOMEM;
	}
	*w = (struct widen){ .s = { .ops = &widen_ops, .name = up->name }, .up = up, .fit = fit,
		.of = HWT_TIME_UNKNOWN, .ticks = ticks };
	*out = &w->s;
	return 0;
}

int widen_new(struct hwt_stream **out, const struct time_fit *fit, struct hwt_stream *up)
{
	return make(out, fit, up, false);
}

int convert_new(struct hwt_stream **out, const struct time_fit *fit, struct hwt_stream *up)
{
	return make(out, fit, up, true);
}
