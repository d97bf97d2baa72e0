/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_FLOW_H
#define HWT_CORRELATE_ANCHOR_FLOW_H

/*
 * Anchors in a stream of flow: a system call is an instruction of the trace and a record
 * syscall.enter of the kernel. What ran up to the instruction ran before the record was written,
 * what came back after it behind that.
 */
#include <hwtrace/image.h>
#include <hwtrace/stream.h>

#include "anchor_book.h"

/*
 * Reads @flow, of at least HWT_LEVEL_RANGES, and @kernel to their ends and takes both, also on
 * failure. Code in @image tells which instructions are system calls. Whose records count: those of
 * thread @tid, or if that is HWT_NONE, of @cpu. 0, -ENOMEM, or the error of a file.
 */
int anchor_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		    const struct hwt_image *image, int32_t cpu, int32_t tid);

#endif
