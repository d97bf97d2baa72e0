/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_BOUND_H
#define HWT_CORRELATE_BOUND_H

/* Upper bounds of time: what a trace unit recorded before a timing packet happened before it. */
#include <hwtrace/decode.h>
#include <hwtrace/stream.h>

#define BOUND_WINDOW 8192	/* events that may wait for the next time of their CPU */

/*
 * Takes @up, also on failure. Sets the span of each event from the first time of the same
 * CPU in the same clock that is later than what the event reaches (see struct flow_stream); events
 * for which none comes within the window get HWT_SPAN_UNKNOWN. Order stays. Events that are over
 * before @want->time_lo are dropped.
 */
int bound_new(struct hwt_stream **out, const struct hwt_interest *want, struct hwt_stream *up);

#endif
