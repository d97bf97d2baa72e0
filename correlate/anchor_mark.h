/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_MARK_H
#define HWT_CORRELATE_ANCHOR_MARK_H

/*
 * Anchors by marks: a program that writes a number with PTWRITE and asks the kernel for a user.mark
 * with the same number does both before it writes or asks for another one, in either order. So the
 * system call of the request stands between the marks before and behind, at the address that the
 * record names. Of the calls there it is the one that was made at the record's time; if that may be
 * said of two, of none, or not of all that ran there, nothing is tied.
 *
 * In a buffer of a CPU that is said of one turn of a thread: from the switch to it on, up to the
 * next one, its flow is that of the thread, whatever others do elsewhere, and is lost there.
 * Of a unit that sends marks alone (STM, ITM) there is no call: a mark with the record's number and
 * channel is behind the record of its thread before, and before the one behind.
 *
 * Records may be lost: what is there was written once all the same. But where a hole may hide
 * another mark of the number, too, nothing is tied.
 */
#include <hwtrace/stream.h>

#include "anchor_book.h"

#define MARK_RECORDS	16384	/* if there are more nothing is tied */
#define MARK_TURNS	262144	/* of a CPU; later ones are not looked at */
#define MARK_CALLS	64	/* between three marks; the one in the middle is not tied if more */

/*
 * Reads @flow, of HWT_LEVEL_RANGES, and @kernel to their ends; both are taken, also on failure.
 * Flow is of thread @tid alone; or of @cpu; or of marks, both are HWT_NONE. In the sum, "possible"
 * are marks with a record that are not tied. 0, -ENOMEM, or the error of a file.
 */
int mark_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		  int32_t cpu, int32_t tid);
/*
 * The same of the marks of unit @trace_id in a buffer that others share: for anchor_marks_new().
 * A number that another unit of the buffer sends, too, is not tied.
 */
int mark_book_of(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		 uint8_t trace_id);

#endif
