/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RNDPROG_H
#define TESTS_RNDPROG_H

/* Random classic BPF programs; a tenth of them may run on records. */
#include <linux/filter.h>
#include <stdint.h>

#include "rnd.h"

#define RND_LD_ABS	(BPF_LD | BPF_W | BPF_ABS)
#define RND_CPU		0xfffff024u	/* SKF_AD_OFF + SKF_AD_CPU of linux/filter.h */
#define RND_END		{ BPF_RET | BPF_K, 0, 0, 1 }

/* With @left instructions behind the next; words from @from to @size of the record are loaded. */
static inline struct sock_filter rnd_insn(uint32_t left, uint32_t from, uint32_t size)
{
	static const uint16_t codes[] = { RND_LD_ABS, RND_LD_ABS, RND_LD_ABS, BPF_LD | BPF_IMM,
		BPF_LDX | BPF_IMM, BPF_LD | BPF_MEM, BPF_LDX | BPF_MEM, BPF_ST, BPF_STX,
		BPF_ALU | BPF_ADD | BPF_K, BPF_ALU | BPF_AND | BPF_K, BPF_ALU | BPF_AND | BPF_X,
		BPF_ALU | BPF_OR | BPF_K, BPF_ALU | BPF_OR | BPF_X, BPF_ALU | BPF_XOR | BPF_K,
		BPF_ALU | BPF_LSH | BPF_K, BPF_ALU | BPF_RSH | BPF_K, BPF_MISC | BPF_TAX,
		BPF_MISC | BPF_TXA, BPF_JMP | BPF_JA, BPF_JMP | BPF_JEQ | BPF_K,
		BPF_JMP | BPF_JGT | BPF_K, BPF_JMP | BPF_JGE | BPF_K, BPF_JMP | BPF_JSET | BPF_K,
		BPF_RET | BPF_K };
	uint64_t x = rnd();
	struct sock_filter f = { .code = codes[x % (sizeof(codes) / sizeof(codes[0]))] };

	f.k = (x >> 8) % 4 ? (uint32_t)(x >> 32) % 32 : (uint32_t)(x >> 32);
	switch (BPF_CLASS(f.code)) {
	case BPF_LD:
		if (f.code == RND_LD_ABS)
			f.k = (x >> 10) % 8 ? from + f.k % ((size - from) / 4) * 4 : RND_CPU;
		/* fallthrough */
	case BPF_LDX:
	case BPF_ST:
	case BPF_STX:
		if (BPF_MODE(f.code) == BPF_MEM || BPF_CLASS(f.code) > BPF_LDX)
			f.k %= 3;
		break;
	case BPF_ALU:
		if (BPF_OP(f.code) == BPF_LSH || BPF_OP(f.code) == BPF_RSH)
			f.k %= 32;
		break;
	case BPF_JMP:
		f.jt = (uint8_t)((x >> 12) % (left + 1));
		f.jf = (uint8_t)((x >> 20) % (left + 1));
		if (f.code == (BPF_JMP | BPF_JA))
			f.k %= left + 1;
		break;
	}
	/* one in a hundred is anything */
	if ((x >> 56) % 100 == 0)
		f.code = (uint16_t)rnd();
	if ((x >> 48) % 100 == 0)
		f.k = (uint32_t)rnd();
	return f;
}

/* @n instructions; the last one is a return, mostly. */
static inline void rnd_program(struct sock_filter *v, uint32_t n, uint32_t from, uint32_t size)
{
	for (uint32_t k = 0; k < n; k++)
		v[k] = k + 1 == n && rnd() % 50 ? (struct sock_filter)RND_END :
			rnd_insn(n - k > 2 ? n - k - 2 : 0, from, size);
}

#endif
