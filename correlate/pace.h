/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_PACE_H
#define HWT_CORRELATE_PACE_H

/*
 * Time between two timestamps by the cycles that were counted between them (ETMv4).
 *
 * What is assumed: the rate that several samples in a row had, and none was faster, is that of the
 * CPU's clock, and it runs nowhere faster than that. A slower clock, and one that stops while the
 * CPU sleeps, do no harm then; a CPU that sleeps for the same part of each sample from the start
 * looks like one with a slow clock. Where the counts contradict the rate, they are not used.
 */
#include <stdbool.h>

#include <hwtrace/event.h>

struct pace {
	bool known;		/* counts are complete since @from */
	bool broke;		/* since the last timestamp: counts from @upto to @from are lost */
	uint8_t id;		/* trace id that is followed */
	uint64_t count;		/* cycles up to the last CYCLES; a break counts as one */
	uint64_t upto, from;
	bool timed;		/* @last is a timestamp */
	struct pace_mark { bool known; uint64_t time, ticks, count; } last, sample;
	uint64_t tick;		/* units of time in a tick of the counter, rounded up */
	uint64_t rate;		/* units of time in a cycle at least, 32 bits of fraction */
	unsigned same;		/* samples in a row that had it */
	bool trusted;
};

/* From timestamp to timestamp; counts are good from @c1 to @upto, and from @from to @c2. */
struct pace_stretch {
	bool used;
	uint64_t t1, t2, c1, upto, from, c2, rate, tick;
};

/* An event of the CPU, after pace_end() of it. */
void pace_event(struct pace *p, const struct hwt_event *ev);
/* @ev is a time later than that before: what can be said between, if it is a timestamp. */
void pace_end(struct pace *p, const struct hwt_event *ev, struct pace_stretch *st);
/* The interval of what came behind @before cycles and before @after were counted. */
void pace_interval(const struct pace_stretch *st, uint64_t before, uint64_t after, uint64_t *lo,
		   uint64_t *hi);

#endif
