/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_CODE_H
#define HWT_FLOW_OCSD_CODE_H

#include "../../hwtrace/image/image.h"

/* Mapped code that never changes while the buffer is decoded. */
struct code_part {
	uint64_t addr;
	const uint8_t *p;
	uint32_t size;		/* bytes, even */
	uint32_t space;		/* HWT_SPACE_* bits, 0: any */
};

/*
 * All code of @img, if it is the same at any time and in every address space and all of it is
 * mapped: 1, and *out (free()) holds it. 0 if code has to be asked for at each place and time.
 */
int code_parts(struct hwt_image *img, struct code_part **out, size_t *n);

#endif
