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
#include "../pt/time.h"

struct ipt_time {
	const struct time_map *map;	/* NULL: events stay in TSC ticks */
	/*
	 * The library's time, an estimate between two MTC: who runs now, and with which code. Never
	 * decreases on a CPU; HWT_TIME_UNKNOWN
	 */
	uint64_t tsc;
	uint64_t lo;		/* what flow does now is not earlier */
	uint64_t hi;		/* the last packet that was used is not later */
	uint64_t next;		/* nor is the one that the library looks at */
	uint64_t sent;		/* the packet before the last one that was used is not earlier */
	uint64_t pkt, pkt_lo;	/* the library looks at this one, HWT_NO_OFF: any */
	uint64_t gap_hi;	/* with @gap_told: end of a hole whose packets are told */
	bool gap_told;
	uint64_t event_lo;	/* the event that was told last is not earlier */
	bool kept;		/* TIPs that come now may be as old as the TNT before */
	struct { uint64_t of, ns; } at[3];	/* converted last: @tsc, @lo, @hi */
	struct ipt_clock clock;
};

void ipt_time_init(struct ipt_time *t, const struct time_map *map, const struct trace_cfg *cfg);
/* Packets [@begin, @end) of @s come next. */
void ipt_time_run(struct ipt_time *t, const struct trace_span *s, uint64_t begin, uint64_t end);

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
uint64_t ipt_time_ns(struct ipt_time *t);

/* The same of the earliest instant, and of the latest of the packet that comes next. */
uint64_t ipt_time_ns_lo(struct ipt_time *t);
uint64_t ipt_time_ns_next(struct ipt_time *t);

/* Time and clock of an event that is made now, and its span. */
void ipt_time_stamp(struct ipt_time *t, struct hwt_event *ev);
/* Sets the span of an event: up to the packet that was used last. */
void ipt_time_reach(struct ipt_time *t, struct hwt_event *ev);
/* The same up to the packet that the library looks at: what comes next is told by that. */
void ipt_time_reach_next(struct ipt_time *t, struct hwt_event *ev);

/* The same of a hole; what comes behind it bounds it, but for an overflow. */
void ipt_time_gap(struct ipt_time *t, struct hwt_event *ev, unsigned cause);

/* An event of the exact time that it has stands here, where flow may still be earlier. */
void ipt_time_place(struct ipt_time *t, struct hwt_event *ev);

/* All packets before @off may have been used. */
void ipt_time_used(struct ipt_time *t, uint64_t off);
/* Flow starts at @off. */
void ipt_time_start(struct ipt_time *t, uint64_t off);
/* The library is at @off of @s, maybe at another packet. */
void ipt_time_packet(struct ipt_time *t, const struct trace_span *s, uint64_t off);
/* The same, and an event comes whose packets it has read. */
void ipt_time_event(struct ipt_time *t, const struct trace_span *s, uint64_t off);
/* Nothing was kept back when the event was told. */
void ipt_time_flushed(struct ipt_time *t);

#endif
