/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_code.h"

#define MAX_INSN	15	/* bytes; SDM vol. 2, "Instruction Format" */

static void read_insn(struct ipt_code_insn *out, const struct hwt_image *img,
		      const struct hwt_where *w)
{
	uint8_t buf[MAX_INSN];
	struct hwt_insn in;
	int n = hwt_image_read(img, w, out->ip, buf, sizeof(buf));

	if (n <= 0 || hwt_insn_decode(&in, out->isa, out->ip, buf, (size_t)n))
		return;
	out->kind = in.kind;
	out->size = in.size;
	out->target = in.target;
}

const struct ipt_code_insn *ipt_code_at(struct ipt_code *c, const struct hwt_image *img,
					const struct hwt_where *w, uint32_t gen, unsigned isa,
					uint64_t ip)
{
	struct ipt_code_insn *s = &c->v[(ip ^ ip >> 12) % IPT_CODE_SLOTS];

	if (s->ip == ip && s->gen == gen && s->isa == isa)
		return s;
	*s = (struct ipt_code_insn){ .ip = ip, .gen = gen, .isa = (uint8_t)isa,
		.target = HWT_NO_ADDR };
	read_insn(s, img, w);
	return s;
}
