/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_CODE_H
#define HWT_FLOW_IPT_CODE_H

/*
 * What the last instruction of a block is. libipt tells a class only, and not always; our own
 * decoder tells direct from indirect, and the size. Asked for each block, so the answers are kept.
 */
#include "../../hwtrace/image/image.h"

#define IPT_CODE_SLOTS	4096	/* a power of two */
#define IPT_CODE_INSN	15	/* bytes at most; SDM vol. 2, "Instruction Format" */

struct ipt_code_insn {
	uint64_t ip, target;	/* target of a direct branch, or HWT_NO_ADDR */
	uint32_t gen;
	uint8_t kind, size;	/* size 0: not known */
	uint8_t isa;
};

struct ipt_code {
	struct ipt_code_insn v[IPT_CODE_SLOTS];
};

/*
 * The instruction at @ip in the image version @gen (not 0), which @w names. Valid until the next
 * call.
 */
const struct ipt_code_insn *ipt_code_at(struct ipt_code *c, const struct hwt_image *img,
					const struct hwt_where *w, uint32_t gen, unsigned isa,
					uint64_t ip);

#endif
