/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CLOCK_AUX_H
#define HWT_CLOCK_AUX_H

/* A clock map where the recording has none: from when trace bytes were taken out of the unit. */
#include "../../hwtrace/source/capture.h"

/*
 * Fits c->fit, a map of the trace's own ticks to base ns, to the timestamps between the marks of
 * the buffers; c->tsc stays as it is, for nothing but trace is on this counter, and who ran can
 * not be told from bounds. What is found goes to c->how and the notes. 1: there is a map; 0: there
 * is none; -ENOMEM. All trace is read, up to a limit.
 */
int clock_aux(struct capture *c);

#endif
