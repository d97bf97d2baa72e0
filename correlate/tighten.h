/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_TIGHTEN_H
#define HWT_CORRELATE_TIGHTEN_H

/*
 * Kernel events whose instants are known within bounds, narrowed by what must come first: those of
 * a CPU in one file are in order; a task leaves one CPU before it comes to another, and is made
 * before it runs. Only orders that hold whatever the instants are: of two turns of a task that one
 * is first which the other can not precede. Not wakeups: some versions of Linux tell of a task
 * that it sleeps, and it runs on without one; nor requests and interrupts, which may have been on
 * their way before.
 *
 * Difference constraints, a window at a time: "a before b" makes b as late as a, and a as early as
 * b. A window in which that leaves an event no instant stays as it was: who is wrong there is for
 * the check of order to say (order.h).
 *
 * Where all instants come from one counter nothing gets narrower: a later tick is later on both
 * lines of its map already. It is of use where clocks differ in what is known of them.
 */
#include <hwtrace/stream.h>

#define TIGHTEN_WINDOW	4096	/* events */
#define TIGHTEN_BYTES	(1u << 20)	/* of their records; a longer one has no window */

/* Takes @up, also on failure: kernel events by their earliest instant. 0 or -ENOMEM. */
int tighten_new(struct hwt_stream **out, struct hwt_stream *up);

struct tighten_stats {
	uint64_t edges;		/* between two CPUs */
	uint64_t narrowed;	/* events */
	uint64_t contradictions;	/* windows that were left as they were */
};
void tighten_stats(const struct hwt_stream *s, struct tighten_stats *out);

#endif
