/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_TIME_H
#define HWT_FLOW_IPT_TIME_H

/*
 * Between which instants flow does what it does. A trace unit keeps branches back until a packet
 * is full or must be sent, but not the timing packets between: what a packet decides is only
 * surely later than the packet before it.
 */
#include <stdbool.h>

#include "../../hwtrace/source/capture.h"

struct ipt_time {
	const struct time_map *map;	/* NULL: events stay in TSC ticks */
	uint64_t tsc;		/* never decreases on a CPU; HWT_TIME_UNKNOWN */
	uint64_t lo;		/* what flow does now is not earlier; at most @tsc */
	uint64_t sent;		/* time in force at the last packet that was used */
	uint64_t pkt;		/* the library looks at this one, HWT_NO_OFF: any */
	bool kept;		/* TIPs that come now may be as old as the TNT before */
	uint64_t ns_of, ns, lo_of, lo_ns;	/* @tsc and @lo that were converted last */
};

void ipt_time_init(struct ipt_time *t, const struct time_map *map);

/* The library's time, or that of an event. Kept from going backwards: case C07. */
static inline void ipt_time_take(struct ipt_time *t, uint64_t tsc)
{
	if (t->tsc == HWT_TIME_UNKNOWN || tsc > t->tsc)
		t->tsc = tsc;
}

/* What flow does from now on is not earlier than @tsc. */
static inline void ipt_time_not_before(struct ipt_time *t, uint64_t tsc)
{
	if (tsc != HWT_TIME_UNKNOWN && (t->lo == HWT_TIME_UNKNOWN || tsc > t->lo))
		t->lo = tsc;
}

/* Base ns of the present time, HWT_TIME_UNKNOWN without time or map. */
static inline uint64_t ipt_time_ns(struct ipt_time *t)
{
	if (t->tsc == HWT_TIME_UNKNOWN || !t->map)
		return HWT_TIME_UNKNOWN;
	if (t->tsc != t->ns_of) {
		t->ns = time_map_ns(t->map, t->tsc);
		t->ns_of = t->tsc;
	}
	return t->ns;
}

/* Time and clock of an event that is made now, and how far it reaches. */
void ipt_time_stamp(struct ipt_time *t, struct hwt_event *ev);
/* Sets how far an event reaches: to the packet that was used last. */
void ipt_time_reach(struct ipt_time *t, struct hwt_event *ev);

/* The packet that was used last had nothing kept back behind it; the library is at @off. */
void ipt_time_flushed(struct ipt_time *t, uint64_t off);
/*
 * The library is at @off, maybe at another packet of the run that ends at @end of @s. @sure: its
 * time is not that of an event ahead.
 */
void ipt_time_packet(struct ipt_time *t, const struct trace_span *s, uint64_t end, uint64_t off,
		     bool sure);

#endif
