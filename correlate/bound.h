/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_BOUND_H
#define HWT_CORRELATE_BOUND_H

/* Upper bounds of time: what a trace unit recorded before a timing packet happened before it. */
#include <stdbool.h>

#include <hwtrace/decode.h>
#include <hwtrace/stream.h>

#define BOUND_WINDOW 8192	/* events that may wait for the next time of their CPU */

/*
 * Takes @up, also on failure. Sets the span of each event from the first time of the same
 * CPU in the same clock that is later than what the event reaches (see struct flow_stream); where
 * the stream is @bounded, that of each without one, from the end of the next that has one. Events
 * for which none comes within the window get HWT_SPAN_UNKNOWN. Order stays. Events that are over
 * before @want->time_lo are dropped.
 */
int bound_new(struct hwt_stream **out, const struct hwt_interest *want, struct hwt_stream *up,
	      bool bounded);
/*
 * The clock of times does not run evenly (the lower line of a fitted map): cycles between two times
 * say nothing then. Before the first event.
 */
void bound_uneven(struct hwt_stream *s);

#endif
