/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_CALLS_H
#define HWT_CORRELATE_CALLS_H

#include <hwtrace/calls.h>

/* First instruction of the function that holds @addr at @ev, HWT_NO_ADDR if not known. */
typedef uint64_t (*calls_func)(void *ctx, const struct hwt_event *ev, uint64_t addr);

/* hwt_calls_new() with another source of symbols; @func may be NULL. Takes @flow, as there. */
int calls_new(struct hwt_calls **out, calls_func func, void *ctx, struct hwt_stream *flow);

#endif
