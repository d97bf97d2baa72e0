/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_INSN_H
#define HWT_IMAGE_INSN_H

/* One decoder an architecture. Each fills size, kind, target and cond; the rest is set. */
#include <hwtrace/image.h>

int insn_x86(struct hwt_insn *o, unsigned bits, const uint8_t *p, size_t n);
int insn_a64(struct hwt_insn *o, const uint8_t *p, size_t n);
int insn_a32(struct hwt_insn *o, const uint8_t *p, size_t n);
int insn_t32(struct hwt_insn *o, const uint8_t *p, size_t n);

/* Bits @hi..@lo of @w as a signed number. */
static inline int64_t insn_signed(uint32_t w, unsigned hi, unsigned lo)
{
	return (int32_t)(w << (31 - hi)) >> (31 - hi + lo);
}

static inline uint32_t insn_bits(uint32_t w, unsigned hi, unsigned lo)
{
	return (w >> lo) & (uint32_t)((1ull << (hi - lo + 1)) - 1);
}

static inline uint16_t insn_le16(const uint8_t *p)
{
	return (uint16_t)(p[0] | p[1] << 8);
}

static inline uint32_t insn_le32(const uint8_t *p)
{
	return insn_le16(p) | (uint32_t)insn_le16(p + 2) << 16;
}

#endif
