/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ORDER_GRAPH_H
#define HWT_CORRELATE_ORDER_GRAPH_H

/* Bounds between the clocks of CPUs, window by window, and what contradicts itself in them. */
#include "order.h"

/*
 * A kernel's rules have exceptions (a task that is told to sleep may run on for a signal): the
 * clearest orders of each pair of CPUs are put aside, two and one in 64, the next one counts.
 */
#define GRAPH_ASIDE	11	/* at most */

/* x_p - x_q <= @w, by the order of @a and @b. */
struct order_edge {
	struct order_bound {
		int64_t w;
		struct hwt_order_mark a, b;
		uint8_t rule;
	} least[GRAPH_ASIDE + 1];	/* rising */
	uint32_t n, broken;	/* edges of this pair; of these, negative ones */
};

struct order_graph {
	struct order_edge *e;	/* ncpus * ncpus, from p to q at p * room + q; n 0: none */
	int32_t cpu[ORDER_CPUS];
	unsigned ncpus, room;
	uint64_t start;		/* of the window; HWT_TIME_UNKNOWN: none */
	uint64_t last;		/* time of the newest edge */
	struct hwt_order_sum sum;
	struct hwt_order_finding f[ORDER_FINDINGS];
	int64_t *pairs;		/* room * room: least sum of both directions, for the median */
	/* switches after a wakeup: CPU that it named, CPU that the task came to */
	uint32_t *came;		/* room * room */
};

void graph_free(struct order_graph *g);
/* @a must be before @b. 0, -ENOMEM */
int graph_edge(struct order_graph *g, unsigned rule, const struct hwt_order_mark *a,
	       const struct hwt_order_mark *b);
/* A task that was to run on @target came to @cpu. 0, -ENOMEM */
int graph_came(struct order_graph *g, int32_t target, int32_t cpu);
/* Closes the window. */
void graph_window(struct order_graph *g);
/* Closes all. */
void graph_end(struct order_graph *g);

#endif
