/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ORDER_H
#define HWT_CORRELATE_ORDER_H

/*
 * What must come first, held against the clocks of the CPUs. "a before b" with a on CPU p and b on
 * CPU q says of what their clocks are off by: x_p - x_q <= latest(b) - earliest(a). Nothing else is
 * assumed: neither that a clock is right nor how long anything takes. Where all clocks are right
 * every such bound is 0 or more.
 *
 * The least of each pair of CPUs is kept for a window of time, so that drift within it is small.
 * A negative one is a contradiction. Whose clock it is, is said only if shifting that CPU's clock
 * alone explains the window; how much is the least shift that does. Bounds around a circle of CPUs
 * that sum to less than 0 can be explained by no shifts at all: a clock stepped within the window.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/event.h>
#include <hwtrace/order.h>

#define ORDER_WINDOW	200000000ull	/* ns */
#define ORDER_CPUS	256		/* CPUs that are looked at */
#define ORDER_FINDINGS	64		/* different ones that are kept */

struct order;

/* 0, -ENOMEM */
int order_new(struct order **out);
void order_free(struct order *o);	/* NULL is fine */
/*
 * The next event of hwt_session_kernel(); others are left alone. Events of one CPU must be in
 * order; those of different CPUs as their clocks tell. 0, -ENOMEM
 */
int order_event(struct order *o, const struct hwt_event *ev);
/* No more events: closes the last window. */
void order_end(struct order *o);
void order_sum(const struct order *o, struct hwt_order_sum *out);
/* The @i-th finding, the one with the most windows first; after order_end(). */
const struct hwt_order_finding *order_finding(const struct order *o, size_t i);

#endif
