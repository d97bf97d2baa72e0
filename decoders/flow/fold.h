/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_FOLD_H
#define HWT_FLOW_FOLD_H

/*
 * HWT_LEVEL_CALLS, the last stage: what stands directly behind another event is told in it
 * (hwtrace/decode.h says what). An event that may tell more waits here for the next one; events of
 * no type stand for what was left out, so that no time is lost. Off, it hands on what it is given.
 */
#include "flow.h"

#define FOLD_HELD 8	/* the event that waits and times behind it */
#define FOLD_IDS 128	/* trace ids; 0 where there are none */

struct fold_src {		/* what was told last of a source */
	int32_t pid, tid;
	uint8_t level;		/* as u.at.level; 0: not sure to hold */
	bool any;
};

struct fold {
	bool on;
	struct fold_src src[FOLD_IDS];
	/* [0] is the one that waits if @waits, else all of them are ready */
	struct hwt_event held[FOLD_HELD];
	unsigned n, at;		/* those before @at were taken */
	bool waits;
};

/* Nothing of @ev but its time. */
struct hwt_event fold_reached(const struct hwt_event *ev);
/* Takes @ev in; fold_take() must have said that nothing is ready. */
void fold_put(struct fold *f, const struct hwt_event *ev);
/* The next event that is ready; false: none. */
bool fold_take(struct fold *f, struct hwt_event *out);
/* Nothing comes any more: what waits is ready; false: nothing waits. */
bool fold_end(struct fold *f);

static inline const struct hwt_event *fold_first(const struct fold *f)
{
	return f->waits ? &f->held[0] : NULL;
}

#endif
