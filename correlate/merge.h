/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_MERGE_H
#define HWT_CORRELATE_MERGE_H

/* Several streams as one. */
#include <stddef.h>

#include <hwtrace/stream.h>

#define MERGE_MAX	65536	/* streams */

/*
 * Takes the @n streams of @in, also on failure; @in itself is borrowed. Events come out by clock
 * domain, earliest instant, position of their stream in @in, and place in it. An event without
 * time, or with one before that of an event ahead of it in its stream, counts as at the latest
 * time of its stream so far; it is passed on as it is. Pass-through of NONE keeps the consumer
 * informed. An input that ends with an error ends alone; the error comes when all others are at
 * their end, or at once if it is -EAGAIN and nothing else can be told.
 *
 * Memory is one batch an input; each event costs at most ceil(log2 @n) comparisons, and the first
 * one @n - 1 more. 0, -ENOMEM, -EINVAL (more than MERGE_MAX).
 */
int merge_new(struct hwt_stream **out, struct hwt_stream *const *in, size_t n);

struct merge_stats {
	uint64_t events, compares;
	uint64_t late;		/* events with a time before one ahead of them in their stream */
	uint64_t late_by;	/* at most, in ticks of their clock */
	uint32_t late_src;	/* the first of them */
	uint64_t late_off;
	uint64_t calls;		/* of inputs */
};
void merge_stats(const struct hwt_stream *s, struct merge_stats *out);

#endif
