/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_FRAMES_H
#define HWT_CORRELATE_FRAMES_H

/* Entries and exits of functions as events, so that they can be merged with others. */
#include <hwtrace/calls.h>

/*
 * Takes @flow, a stream at HWT_LEVEL_CALLS, also on failure. Each struct hwt_call becomes a
 * HWT_EV_FRAME of the same time, but for holes, which stay a GAP. What is certainly before
 * @time_lo (base ns) is not told: @flow has it, as what is open then is known by it. @with_flow:
 * what is no call or return of @flow is told, too, each before its frames. @merged: @flow is of
 * several buffers, and a thread has one stack in all of them. 0 or a negative code.
 */
int frames_new(struct hwt_stream **out, struct hwt_session *s, struct hwt_stream *flow,
	       uint64_t time_lo, bool with_flow, bool merged);

#endif
