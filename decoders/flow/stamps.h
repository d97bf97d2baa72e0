/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_STAMPS_H
#define HWT_FLOW_STAMPS_H

/* The timestamps that the units of a trace buffer sent, as they are. No code is needed for them. */
#include "../../hwtrace/source/capture.h"

struct stamp {
	size_t cfg;		/* index of the trace unit in the buffer */
	size_t span;
	uint64_t off;		/* of the packet, as flow numbers it */
	uint64_t ticks;
};

/* Bits of the timestamps of a trace unit. */
unsigned stamps_bits(const struct trace_cfg *cfg);
/*
 * All of buffer @b, or of its spans from @from to @to (excluded), in order of the bytes. @use
 * returns 0, or what ends it and is returned. 0, -ENOMEM. Units that the library can not read
 * have none.
 */
int stamps_read(const struct trace_buf *b, size_t from, size_t to,
		int (*use)(void *arg, const struct stamp *s), void *arg);

#endif
