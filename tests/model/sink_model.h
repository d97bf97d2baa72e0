/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_TESTS_MODEL_SINK_MODEL_H
#define HWT_TESTS_MODEL_SINK_MODEL_H

/* What models of units that keep trace have in common: bytes come, wait, and go to memory. */
#include "kmod/hwreg.h"

struct sink_model {
	uint8_t *mem;			/* what may be written, at @mem_base */
	uint64_t mem_base, mem_bytes;
	/* all bytes that came while it collected; those that came when it did not */
	uint8_t *log;
	uint64_t logged, log_cap, dropped;
	uint64_t stored;
	uint8_t pending[64];		/* on their way */
	uint32_t npending;
};

enum sink_stored { SINK_INSIDE, SINK_OUTSIDE };

void sink_model_log(struct sink_model *s, uint8_t *log, uint64_t cap);
/* Bytes came. */
void sink_model_note(struct sink_model *s, const uint8_t *p, uint32_t n);
/*
 * @n bytes go to *at, which moves on, and at @last goes round to @first (*round). Outside of the
 * memory nothing is written.
 */
enum sink_stored sink_model_store(struct sink_model *s, uint64_t *at, uint64_t first,
				  uint64_t last, const uint8_t *p, uint32_t n, bool *round);
/* The first @n of what waits has gone. */
void sink_model_gone(struct sink_model *s, uint32_t n);

#endif
