/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CLOCK_WIDEN_H
#define HWT_CLOCK_WIDEN_H

/*
 * Times of a fitted clock map. Below this stream they are values of its lower line, which is one
 * clock for all that the counter stamped; above, true intervals of base ns: the end of each is as
 * late as the map allows. Order and starts stay.
 */
#include <hwtrace/stream.h>

#include "../../hwtrace/time/span.h"

/* Takes @up, also on failure. @fit must outlive it. 0 or -ENOMEM. */
int widen_new(struct hwt_stream **out, const struct time_fit *fit, struct hwt_stream *up);
/* The same for events that are still in ticks of the trace's counter: they become base ns. */
int convert_new(struct hwt_stream **out, const struct time_fit *fit, struct hwt_stream *up);

#endif
