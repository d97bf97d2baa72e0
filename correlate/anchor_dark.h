/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_DARK_H
#define HWT_CORRELATE_ANCHOR_DARK_H

/*
 * Orders between records of the kernel and flow of programs alone. Who writes a record is code of
 * the kernel, which such a trace does not see: it ran while flow was dark, behind an OFF and before
 * what follows it. Of each record the first and the last dark time are found that it can be of, by
 * the intervals of both. The program's code before the first one ran before the record, code behind
 * the last one after it; nothing more is said, and nothing is chosen. A record that can be of no
 * dark time contradicts the trace: it is counted, and no record is used then.
 *
 * Nobody but the next task of the last switch behind which a dark time ended can run after it: so
 * threads are told, too, where no record of the CPU was lost.
 */
#include <hwtrace/stream.h>

#include "anchor_book.h"

#define DARK_WINDOW	8192	/* dark times of one record; those of more stay as they are */

/*
 * Reads @flow, of HWT_LEVEL_RANGES, and @kernel; both are taken, also on failure. @tid: flow is of
 * this thread alone; else HWT_NONE, and it is of @cpu. In the sum, "certain" are records of one
 * dark time, "possible" those of several. Flow in which code of the kernel is seen has an empty
 * book. 0, -ENOMEM, or the error of a file.
 */
int dark_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		  int32_t cpu, int32_t tid);

#endif
