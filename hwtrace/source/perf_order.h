/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_PERF_ORDER_H
#define HWT_SOURCE_PERF_ORDER_H

/*
 * The kernel's records of a perf.data in order of time. The file has them in order for each CPU
 * only, but little behind a FINISHED_ROUND is older than what was read up to the one before.
 */
#include "perf.h"

struct perf_order;

int perf_order_new(struct perf_order **out, const struct perf *pf);	/* 0 or -ENOMEM */
void perf_order_free(struct perf_order *o);	/* NULL is fine */
/*
 * 1: @r, whose bytes are valid until the next call, and its time (never goes back); 0: end;
 * negative: no memory. Records without a time come from before the recording and are left out.
 */
int perf_order_next(struct perf_order *o, struct perf_rec *r, uint64_t *time);
/*
 * Records that were left out since the last call of this function, for they were older than one
 * that was given: the file holds more between two rounds than can be kept.
 */
uint64_t perf_order_late(struct perf_order *o);

#endif
