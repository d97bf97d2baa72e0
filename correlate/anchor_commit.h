/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_ANCHOR_COMMIT_H
#define HWT_CORRELATE_ANCHOR_COMMIT_H

/*
 * Anchors where the kernel is traced: an instruction whose every run writes one record (struct
 * capture_commit). Each such instruction of a CPU is a line of its own: an interrupt between the
 * instruction and its record may make another one's record first.
 */
#include <hwtrace/stream.h>

#include "../hwtrace/source/capture.h"
#include "anchor_book.h"

#define COMMIT_LINES	64	/* instructions that are looked at: bits of a word */
#define COMMIT_EVENTS	4	/* of one */

struct commit_line {
	uint64_t addr;
	uint32_t id[COMMIT_EVENTS];	/* of its events */
	unsigned nids;
	/* each record of one event has a mark behind it: id << 48 | its number */
	bool marks;
};

/* The instructions of @c, by their list and by symbols. How many. */
unsigned commit_lines(const struct capture *c, struct commit_line lines[COMMIT_LINES]);

/*
 * Reads @flow, of at least HWT_LEVEL_RANGES, and each of @kernel, which are @n of the same capture,
 * to their ends and takes all, also on failure. Records are those of @cpu. On success out[i] are
 * the anchors of lines[i]. 0, -ENOMEM, or the error of a file.
 */
int commit_books_new(struct anchor_book **out, const struct commit_line *lines, unsigned n,
		     struct hwt_stream *flow, struct hwt_stream **kernel, int32_t cpu);

#endif
