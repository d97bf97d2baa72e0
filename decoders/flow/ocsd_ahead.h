/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_AHEAD_H
#define HWT_FLOW_OCSD_AHEAD_H

/*
 * The next timestamp of a trace source, before the decoder is there: with it, the time of what is
 * decoded now has both ends. A packet reader of its own goes ahead, so it costs a second look at
 * each packet, and memory for some timestamps.
 */
#include "ocsd_src.h"

struct ahead;

/*
 * For source @s, whose times are on the base clock, in @buf; both must outlive it. 0, -ENOMEM; *out
 * is NULL if the library reads no packets of this source, or they have no timestamps that are
 * looked for (only ETMv4 and ETE). Under cslib_lock().
 */
int ahead_new(struct ahead **out, const struct src *s, const struct trace_buf *buf);
void ahead_free(struct ahead *a);	/* NULL is fine. Under cslib_lock() */
/*
 * Base ns of the first timestamp at or behind offset @off that is later than @time, or the first
 * one at all if @time is HWT_TIME_UNKNOWN; HWT_TIME_UNKNOWN if there is none. Neither @off nor
 * @time may go back from call to call.
 */
uint64_t ahead_next(struct ahead *a, uint64_t off, uint64_t time);

#endif
