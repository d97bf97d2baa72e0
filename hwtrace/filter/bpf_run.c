/* SPDX-License-Identifier: BSD-2-Clause */
/* Classic BPF: which programs may run on records, and what they do. */
#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>

#include "filter.h"

/* What @i may be, wherever it stands; jumps and scratch memory are looked at by the caller. */
static int allowed(const struct hwt_bpf_insn *i, size_t size)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return i->k == HWT_BPF_CPU || (i->k % 4 == 0 && size >= 4 && i->k <= size - 4);
	case BPF_LD | BPF_W | BPF_MEM:
	case BPF_LDX | BPF_W | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
		return i->k < BPF_MEMWORDS;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return i->k < 32;
	case BPF_LD | BPF_W | BPF_IMM:
	case BPF_LDX | BPF_W | BPF_IMM:
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_RET | BPF_K:
		return 1;
	}
	return 0;
}

/* Words of the scratch memory that are written on all ways to an instruction, one bit each. */
static int flow(const struct hwt_bpf_insn *v, size_t n, uint16_t *written)
{
	for (size_t i = 0; i < n; i++) {
		unsigned class = BPF_CLASS(v[i].code);
		uint16_t w = written[i];
		size_t left = n - 1 - i;

		if ((class == BPF_LD || class == BPF_LDX) && BPF_MODE(v[i].code) == BPF_MEM &&
		    !(w & 1u << v[i].k))
			return -EINVAL;
		if (class == BPF_ST || class == BPF_STX)
			w |= (uint16_t)(1u << v[i].k);
		if (class == BPF_RET)
			continue;
		if (!left)
			return -EINVAL;	/* runs past the end */
		if (class != BPF_JMP) {
			written[i + 1] &= w;
		} else if (v[i].code == (BPF_JMP | BPF_JA)) {
			if (v[i].k >= left)
				return -EINVAL;
			written[i + 1 + v[i].k] &= w;
		} else {
			if (v[i].jt >= left || v[i].jf >= left)
				return -EINVAL;
			written[i + 1 + v[i].jt] &= w;
			written[i + 1 + v[i].jf] &= w;
		}
	}
	return 0;
}

int hwt_bpf_check(const struct hwt_bpf_insn *v, size_t n, size_t size)
{
	uint16_t written[HWT_BPF_MAX];

	if (!n || n > HWT_BPF_MAX)
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		if (!allowed(&v[i], size))
			return -EINVAL;
	memset(written, 0xff, sizeof(written));
	written[0] = 0;
	return flow(v, n, written);
}

struct machine {
	uint32_t a, x, mem[BPF_MEMWORDS];
};

static void compute(struct machine *m, const struct hwt_bpf_insn *i)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_IMM:		m->a = i->k; break;
	case BPF_LDX | BPF_W | BPF_IMM:		m->x = i->k; break;
	case BPF_LD | BPF_W | BPF_MEM:		m->a = m->mem[i->k]; break;
	case BPF_LDX | BPF_W | BPF_MEM:		m->x = m->mem[i->k]; break;
	case BPF_ST:				m->mem[i->k] = m->a; break;
	case BPF_STX:				m->mem[i->k] = m->x; break;
	case BPF_ALU | BPF_ADD | BPF_K:		m->a += i->k; break;
	case BPF_ALU | BPF_AND | BPF_K:		m->a &= i->k; break;
	case BPF_ALU | BPF_OR | BPF_K:		m->a |= i->k; break;
	case BPF_ALU | BPF_XOR | BPF_K:		m->a ^= i->k; break;
	case BPF_ALU | BPF_LSH | BPF_K:		m->a <<= i->k; break;
	case BPF_ALU | BPF_RSH | BPF_K:		m->a >>= i->k; break;
	case BPF_ALU | BPF_AND | BPF_X:		m->a &= m->x; break;
	case BPF_ALU | BPF_OR | BPF_X:		m->a |= m->x; break;
	case BPF_MISC | BPF_TAX:		m->x = m->a; break;
	case BPF_MISC | BPF_TXA:		m->a = m->x; break;
	}
}

static size_t jump(const struct hwt_bpf_insn *i, uint32_t a)
{
	switch (i->code) {
	case BPF_JMP | BPF_JEQ | BPF_K:
		return a == i->k ? i->jt : i->jf;
	case BPF_JMP | BPF_JGT | BPF_K:
		return a > i->k ? i->jt : i->jf;
	case BPF_JMP | BPF_JGE | BPF_K:
		return a >= i->k ? i->jt : i->jf;
	case BPF_JMP | BPF_JSET | BPF_K:
		return a & i->k ? i->jt : i->jf;
	}
	return i->k;	/* BPF_JA */
}

uint32_t hwt_bpf_run(const struct hwt_bpf_insn *v, size_t n, const void *rec, size_t size,
		     int32_t cpu)
{
	struct machine m = { .a = 0 };

	for (size_t i = 0; i < n; i++) {
		switch (BPF_CLASS(v[i].code)) {
		case BPF_RET:
			return v[i].k;
		case BPF_JMP:
			i += jump(&v[i], m.a);
			break;
		case BPF_LD:
			if (BPF_MODE(v[i].code) != BPF_ABS) {
				compute(&m, &v[i]);
			} else if (v[i].k == HWT_BPF_CPU) {
				m.a = (uint32_t)cpu;
			} else {
				if (size < 4 || v[i].k > size - 4)
					return 0;
				memcpy(&m.a, (const char *)rec + v[i].k, 4);
			}
			break;
		default:
			compute(&m, &v[i]);
		}
	}
	return 0;
}
