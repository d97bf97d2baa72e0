/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_TIMELINE_H
#define HWTRACE_TIMELINE_H

/* One stream of everything: what the trace units saw and what the kernel told, in order. */
#include <stdbool.h>

#include <hwtrace/calls.h>
#include <hwtrace/session.h>

struct hwt_filter;

struct hwt_timeline_opts {
	size_t size;			/* sizeof(struct hwt_timeline_opts) */
	/* of kernel events time, CPUs and threads count; the stream copies what is pointed to */
	struct hwt_interest want;
	bool hardware;			/* events of the trace buffers */
	bool kernel;			/* events of the kernel */
	bool anchors;			/* narrow times by what is seen on both sides */
	/*
	 * HWT_EV_FRAME for each entry and exit of a function instead of the events of flow,
	 * whatever @want.level is
	 */
	bool calls;
	const struct hwt_filter *filter;	/* of kernel events; borrowed; NULL: all */
	/*
	 * @calls: events of flow that are no calls or returns too, each before its frames: where
	 * tracing begins and stops, exceptions, and ranges if @want.ranges is set
	 */
	bool flow;
};

/*
 * Events of all wanted buffers, and of the kernel, in one order that is the same each time: by
 * clock domain, earliest instant, then kernel before buffers, buffers as the session counts them,
 * and place in the trace. What has no time comes right behind what came before it in its own
 * stream. Times of one CPU never go back. GAPs pass through. A switch that flow tells is left out
 * where the kernel's own record of it is in the stream. u.rec.number of kernel events counts all of
 * the capture, also those that are not wanted.
 *
 * The session must outlive the stream, which the caller closes. 0, or a negative code with @diag
 * filled and *@out untouched. A buffer that can not be decoded is left out: then 0 is returned,
 * and @diag tells of the first such with its code.
 */
int hwt_session_timeline(struct hwt_session *s, const struct hwt_timeline_opts *o,
			 struct hwt_stream **out, struct hwt_diag *diag);

/* Work of a timeline so far. */
struct hwt_timeline_stats {
	size_t inputs;			/* streams that are merged */
	size_t failed;			/* buffers that are left out, their bytes are in @flow */
	uint64_t events, compares;	/* handed out; comparisons of two streams */
	/* events that came earlier than one before them in their own stream, put behind it */
	uint64_t late, late_by;	/* ... by so many ticks of their clock at most */
	uint32_t late_src;		/* place of the first of them */
	uint64_t late_off;
	uint32_t clocks;		/* bit set of enum hwt_clock, of the times handed out */
	struct hwt_flow_stats flow;	/* sum over the buffers */
	/*
	 * System calls whose record is known for certain, and those for which it is not; findings
	 * where no record is possible at all
	 */
	uint64_t anchors, unanchored, contradictions;
	/* The same of runs of instructions of the kernel that write a record each. */
	uint64_t committed, uncommitted;
	/* The same of switches to another address space and what made it so. */
	uint64_t switches, unswitched;
	/* The same of marks of programs and their user.mark. */
	uint64_t marks, unmarked;
	/* records that narrow times of programs' code, which did not run when they were written */
	uint64_t dark;
};
void hwt_timeline_stats(const struct hwt_stream *s, struct hwt_timeline_stats *out);

/* Last instant of an event, HWT_TIME_UNKNOWN if there is no bound. */
static inline uint64_t hwt_event_end(const struct hwt_event *ev)
{
	if (ev->time == HWT_TIME_UNKNOWN || ev->span == HWT_SPAN_UNKNOWN ||
	    ev->span > HWT_TIME_UNKNOWN - 1 - ev->time)
		return HWT_TIME_UNKNOWN;
	return ev->time + ev->span;
}

/* True if @a certainly happened before @b: one clock, and their intervals do not touch. */
static inline bool hwt_before(const struct hwt_event *a, const struct hwt_event *b)
{
	return a->clock == b->clock && b->time != HWT_TIME_UNKNOWN &&
		hwt_event_end(a) < b->time;
}

#endif
