/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_EMIT_H
#define HWT_FLOW_EMIT_H

/*
 * From walked ranges to the events that were asked for; shared by the flow backends. It holds the
 * interest, counts, drops what nobody wants before an event is built, and at HWT_LEVEL_CALLS
 * turns the end of a range and the start of the next into CALL and RETURN edges.
 *
 * HWT_LEVEL_HOLES: GAP only. HWT_LEVEL_CALLS: CALL and RETURN made of ranges (FAR_CALL and
 * FAR_RETURN too, the latter with HWT_F_INTR; a jump to another function's first instruction is a
 * CALL with HWT_F_TAIL; "br x30" of A64 is a RETURN), and as they are ON, OFF, GAP, EXCEPTION,
 * ERET, ASPACE, NOPATH, SCHED_SWITCH and the TRIGGER of a TraceStop; no CALL is made of an
 * EXCEPTION. ON, ERET and EXCEPTION without address get it from the range that comes next. An ERET
 * behind its FAR_RETURN is not told again; which ASPACE are told is in hwtrace/decode.h. With
 * @ranges, each RANGE too.
 * HWT_LEVEL_RANGES and HWT_LEVEL_INSNS: everything; ranges are expanded to instructions above the
 * flow layer.
 */
#include <stdbool.h>

#include "flow.h"
#include "fold.h"

#define EMIT_RING 512		/* events; a power of two */
#define EMIT_HELD 4		/* events that wait behind an edge */
#define EMIT_STEP (2 * EMIT_HELD + 3)	/* most events that one call below puts into the ring */

struct emit_cpu {		/* per trace id or CPU: an edge waits for its target */
	/*
	 * CALL, RETURN, ON, ERET or EXCEPTION that waits for where it leads, or ASPACE that waits
	 * for what runs there; type NONE: none
	 */
	struct hwt_event pending;
	struct hwt_event held[EMIT_HELD];	/* came after it; they keep their order */
	unsigned nheld;
	/* ASPACE told last, and the one before it; type NONE: none that is sure to hold */
	struct hwt_event context, earlier;
	/* ASPACE before @pending, an ON: told, unless @earlier is in force again behind that */
	struct hwt_event before;
	bool has_before;
	bool in_run;			/* the ASPACE that waits follows another one */
};

struct emit {
	struct hwt_flow_stats *stats;
	struct hwt_interest want;	/* own copies of its arrays */
	uint64_t told;			/* time and CPU of the event pushed last */
	int32_t told_cpu;
	bool counts;			/* TIMESTAMP and CYCLES at HWT_LEVEL_CALLS, too */
	bool narrow;			/* the interest restricts time, place or owner */
	/* holes of another thread: shown if one that is wanted comes out of them */
	struct hwt_event hidden[EMIT_HELD];
	unsigned nhidden;
	struct hwt_image *image;
	struct emit_cpu *cpus;		/* indexed by trace id (128), or one */
	unsigned ncpus;
	struct fold fold;		/* between the ring and the consumer */
	bool ended;			/* nothing comes any more */
	unsigned head, tail;		/* ring positions; head - tail events wait */
	struct hwt_event ring[EMIT_RING];
};

/* 0, -EINVAL for an interest that is none, -ENOMEM; after a failure emit_fini() is fine. */
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

/*
 * A RANGE of @slot. @ev is complete. Counts it, and emits what the interest makes of it. One with
 * HWT_F_DOUBT leads nowhere, and its instructions are not counted.
 */
void emit_range(struct emit *e, unsigned slot, const struct hwt_event *ev);
/* Any other event. GAP, ON, OFF, NOPATH and EXCEPTION end a pending edge. */
void emit_event(struct emit *e, unsigned slot, const struct hwt_event *ev);
/* End of input: a pending edge goes out without target. */
void emit_flush(struct emit *e);
/* Takes up to @max events out; returns how many. */
int emit_take(struct emit *e, struct hwt_event *out, int max);
/* The event that waits for what may be told in it; NULL: none. Others must not be later. */
static inline const struct hwt_event *emit_waits(const struct emit *e)
{
	return fold_first(&e->fold);
}

#endif
