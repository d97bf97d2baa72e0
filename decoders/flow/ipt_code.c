/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_code.h"

static void read_insn(struct ipt_code_insn *out, const struct hwt_image *img,
		      const struct hwt_where *w)
{
	uint8_t buf[IPT_CODE_INSN];
	struct hwt_insn in;
	int n = hwt_image_read(img, w, out->ip, buf, sizeof(buf));
	uint64_t differs;

	/* it came while flow may already have been here */
	if (n <= 0 && w->time != HWT_TIME_UNKNOWN && image_is_rewritten_at(img, out->ip))
		n = image_read_during((struct hwt_image *)(uintptr_t)img, w, HWT_TIME_UNKNOWN,
				      out->ip, buf, sizeof(buf), &differs);
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

	if (s->ip == ip && s->gen == gen && s->isa == isa && !image_is_rewritten_at(img, ip) &&
	    !image_is_rewritten_at(img, ip + IPT_CODE_INSN - 1))
		return s;
	*s = (struct ipt_code_insn){ .ip = ip, .gen = gen, .isa = (uint8_t)isa,
		.target = HWT_NO_ADDR };
	read_insn(s, img, w);
	return s;
}
