/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_EMIT_H
#define HWT_FLOW_EMIT_H

/*
 * From walked ranges to the events that were asked for; shared by the flow backends. It holds the
 * interest, counts, drops what nobody wants before an event is built, and at HWT_LEVEL_CALLS
 * turns the end of
 * a range and the start of the next into CALL and RETURN edges (tail calls by image_entry()).
 */
#include <stdbool.h>

#include "flow.h"

#define EMIT_RING 512		/* events; a power of two */

struct emit_cpu {		/* per trace id or CPU: an edge waits for its target */
	struct hwt_event pending;	/* CALL or RETURN without target; type NONE: none */
};

struct emit {
	struct hwt_flow_stats *stats;
	struct hwt_interest want;	/* own copies of its arrays */
	struct hwt_image *image;
	struct emit_cpu *cpus;		/* indexed by trace id (128), or one */
	unsigned ncpus;
	unsigned head, tail;		/* ring positions; head - tail events wait */
	struct hwt_event ring[EMIT_RING];
};

int emit_init(struct emit *e, const struct flow_args *a, struct hwt_flow_stats *stats,
	unsigned ncpus);
void emit_fini(struct emit *e);

/*
 * Room left in the ring. A backend stops feeding its library while this is below what one step
 * may emit.
 */
static inline unsigned emit_room(const struct emit *e)
{
	return EMIT_RING - (e->head - e->tail);
}

/* A RANGE of @slot. @ev is complete. Counts it, and emits what the interest makes of it. */
void emit_range(struct emit *e, unsigned slot, const struct hwt_event *ev);
/* Any other event. GAP, OFF and EXCEPTION end a pending edge. */
void emit_event(struct emit *e, unsigned slot, const struct hwt_event *ev);
/* End of input: a pending edge goes out without target. */
void emit_flush(struct emit *e);
/* Takes up to @max events out; returns how many. */
int emit_take(struct emit *e, struct hwt_event *out, int max);

#endif
