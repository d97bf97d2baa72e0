/* SPDX-License-Identifier: BSD-2-Clause */
#include "insn.h"

int hwt_insn_decode(struct hwt_insn *out, unsigned isa, uint64_t addr, const void *p, size_t n)
{
	struct hwt_insn o = { .addr = addr, .target = HWT_NO_ADDR, .isa = (uint8_t)isa };
	int err;

	switch (isa) {
	case HWT_ISA_X86_64: err = insn_x86(&o, 64, p, n); break;
	case HWT_ISA_X86_32: err = insn_x86(&o, 32, p, n); break;
	case HWT_ISA_X86_16: err = insn_x86(&o, 16, p, n); break;
	case HWT_ISA_A64: err = insn_a64(&o, p, n); break;
	case HWT_ISA_A32: err = insn_a32(&o, p, n); break;
	case HWT_ISA_T32: err = insn_t32(&o, p, n); break;
	default: err = -HWT_E_PACKET; break;
	}
	if (!err)
		*out = o;
	return err;
}
