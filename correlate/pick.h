/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_PICK_H
#define HWT_CORRELATE_PICK_H

/* Which events of a stream take part in a timeline. */
#include <stdbool.h>

#include <hwtrace/decode.h>
#include <hwtrace/filter.h>
#include <hwtrace/stream.h>

/*
 * Takes @up, a stream of kernel events, also on failure. Numbers them from 1 on and passes on those
 * of the window of time, on the CPUs, and by or about the threads and processes of @want (copied),
 * that @filter (borrowed; NULL: all) lets through. 0 or -ENOMEM.
 */
int pick_kernel_new(struct hwt_stream **out, const struct hwt_interest *want,
		    const struct hwt_filter *filter, struct hwt_stream *up);

/*
 * Takes @up, a stream of flow, also on failure. Leaves out switches, which are a guess between two
 * times, if the kernel's records tell them (@switches false), and what belongs to no CPU, which
 * all streams of one buffer have (@shared false).
 */
int pick_flow_new(struct hwt_stream **out, bool switches, bool shared, struct hwt_stream *up);

#endif
