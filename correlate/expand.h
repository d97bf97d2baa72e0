/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_EXPAND_H
#define HWT_CORRELATE_EXPAND_H

/* RANGE events to INSN events, by walking the code. */
#include <hwtrace/decode.h>
#include <hwtrace/image.h>
#include <hwtrace/stream.h>

/*
 * Takes @up, also on failure. All other events pass through. Where the walk does not arrive at
 * the range's
 * last instruction after its count, what is proven goes out, then a GAP bad-image.
 */
int expand_new(struct hwt_stream **out, struct hwt_image *image, const struct hwt_interest *want,
	       struct hwt_stream *up);
/* Holes that the walk itself made so far. @s is from expand_new(). */
uint64_t expand_holes(const struct hwt_stream *s);

#endif
