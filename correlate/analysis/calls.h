/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_CALLS_H
#define HWT_CORRELATE_CALLS_H

#include <hwtrace/calls.h>

/* hwt_call.what, besides enum hwt_call_what: @ev is an event of the flow, as it came */
#define CALLS_FLOW	0x80

/* First instruction of the function that holds @addr at @ev, HWT_NO_ADDR if not known. */
typedef uint64_t (*calls_func)(void *ctx, const struct hwt_event *ev, uint64_t addr);

/* hwt_calls_new() with another source of symbols; @func may be NULL. Takes @flow, as there. */
int calls_new(struct hwt_calls **out, calls_func func, void *ctx, struct hwt_stream *flow);
/* Hands out the flow, too: what is no call, return or GAP, before what it does to the stack. */
void calls_with_flow(struct hwt_calls *c);
/*
 * The flow is that of several buffers, merged: a thread that moves between them has one stack.
 * Where it is not certain that what it did in one is over, the move is as uncertain as a hole.
 */
void calls_merged(struct hwt_calls *c);

#endif
