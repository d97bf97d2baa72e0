/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_FRAME_H
#define HWT_MODEL_FRAME_H

/*
 * CoreSight formatter (Arm IHI 0029, "Trace formatter"): bytes of several trace sources to 16-byte
 * frames, interleaved by seed. Memory is fixed, put() never allocates.
 */
#include <stddef.h>
#include <stdint.h>

#include "model.h"

enum model_frame_sync {
	MODEL_FRAME_MEM,	/* frames alone, as in ETB and ETR */
	MODEL_FRAME_FULL,	/* full sync words between frames, as at a TPIU's pins */
	MODEL_FRAME_HALF	/* also half sync between byte pairs */
};

struct model_frame_cfg {
	uint64_t seed;
	uint8_t sync;		/* enum model_frame_sync */
	uint8_t idle;		/* 1: now and then padding of id 0 between data */
	uint16_t run_max;	/* longest run of one id, bytes; 0: 64 */
};

struct model_frame_count {
	uint64_t frames, bytes;		/* sent, bytes with sync words */
	uint64_t data;			/* bytes of sources */
	uint64_t id_now, id_late;	/* id changes: at once, and after the next byte */
	uint64_t id_last;		/* in byte 14 */
	uint64_t id_again;		/* ids repeated without change */
	uint64_t pad;			/* bytes of id 0 */
	uint64_t full, half;
};

struct model_frame;

int model_frame_new(struct model_frame **out, const struct model_frame_cfg *cfg,
		    const struct model_out *to);
/*
 * Bytes of the source @id (1 to 0x6f). They may stay in the formatter until more come or a
 * flush. 0; -EINVAL for the id; -ENOSPC for the seventeenth id; or an error of @to.
 */
int model_frame_put(struct model_frame *f, unsigned id, const void *p, size_t n);
/* Sends what waits and pads the last frame with id 0; more may follow. */
int model_frame_flush(struct model_frame *f);
void model_frame_free(struct model_frame *f);	/* NULL is fine */
const struct model_frame_count *model_frame_counts(const struct model_frame *f);

#endif
