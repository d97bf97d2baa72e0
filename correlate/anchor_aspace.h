/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_ASPACE_H
#define HWT_CORRELATE_ANCHOR_ASPACE_H

/*
 * Anchors by address space: a switch to a process with another one is a record of the kernel that
 * tells it, and behind it comes a change of CR3 or CONTEXTIDR in the flow, before the process runs.
 * There are more such changes than switches (exec, idle CPUs), so of each switch it is asked which
 * change it made.
 */
#include <hwtrace/stream.h>

#include "anchor_book.h"

/*
 * Reads @flow, of at least HWT_LEVEL_RANGES, and @kernel to their ends and takes both, also on
 * failure. Records are those of @cpu; @cr3: address spaces in flow are CR3, with bits that records
 * leave out. 0, -ENOMEM, -ENOTSUP (offsets of flow go back), or the error of a file. The record of
 * a place is its number among the CPU's sched.switch.
 */
int aspace_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		    int32_t cpu, bool cr3);

#endif
