/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_TAIL_H
#define HWT_CORRELATE_TAIL_H

/*
 * When a function is over that ended by a jump into another one. Its frame is gone then, but what
 * it was called for is not done: it takes until the place that called it goes on, as if the
 * compiler had made a call of the jump.
 */
#include "../../hwtrace/base/idmap.h"
#include "../../hwtrace/base/vec.h"
#include "point.h"

struct tails {
	struct idmap by_thread;
	struct vec threads;	/* of struct vec of int32_t: depths whose frame was replaced */
};

enum tail {
	TAIL_NONE,	/* nothing */
	TAIL_WITHIN,	/* a function of the point goes on in another one, or that in it again */
	TAIL_RETURN,	/* it is over */
	TAIL_LOST,	/* it is not known when it ends, or if it did */
};

/*
 * What a frame of a timeline does to the functions of @p. An end that no jump came before counts
 * too. One value of enum tail, or -ENOMEM.
 */
int tails_event(struct tails *t, const struct point *p, const struct hwt_event *ev);
void tails_free(struct tails *t);

#endif
