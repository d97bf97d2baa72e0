// SPDX-License-Identifier: GPL-2.0-only
#ifdef __KERNEL__
#include <linux/err.h>
#include <linux/filter.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/slab.h>
#endif
#include <hwtrace/uapi.h>

#include "filter.h"

#define CPU_PLACE ((u32)SKF_AD_OFF + SKF_AD_CPU)

/* An instruction that may stand in a filter. Jumps and scratch memory depend on where it is. */
static bool allowed(const struct sock_filter *i, u32 size)
{
	switch (i->code) {
	case BPF_LD | BPF_W | BPF_ABS:
		return i->k == CPU_PLACE || (!(i->k & 3) && size >= 4 && i->k <= size - 4);
	case BPF_LD | BPF_MEM:
	case BPF_LDX | BPF_MEM:
	case BPF_ST:
	case BPF_STX:
		return i->k < BPF_MEMWORDS;
	case BPF_ALU | BPF_LSH | BPF_K:
	case BPF_ALU | BPF_RSH | BPF_K:
		return i->k <= 31;
	case BPF_LD | BPF_IMM:
	case BPF_LDX | BPF_IMM:
	case BPF_MISC | BPF_TAX:
	case BPF_MISC | BPF_TXA:
	case BPF_ALU | BPF_ADD | BPF_K:
	case BPF_ALU | BPF_AND | BPF_K:
	case BPF_ALU | BPF_AND | BPF_X:
	case BPF_ALU | BPF_OR | BPF_K:
	case BPF_ALU | BPF_OR | BPF_X:
	case BPF_ALU | BPF_XOR | BPF_K:
	case BPF_JMP | BPF_JA:
	case BPF_JMP | BPF_JEQ | BPF_K:
	case BPF_JMP | BPF_JGT | BPF_K:
	case BPF_JMP | BPF_JGE | BPF_K:
	case BPF_JMP | BPF_JSET | BPF_K:
	case BPF_RET | BPF_K:
		return true;
	default:
		return false;
	}
}

/* Comes to instruction @k behind the next with the scratch words in @have; false: outside. */
static bool reach(u16 *work, u32 n, u32 at, u32 k, u16 have)
{
	if (k >= n - at - 1)
		return false;
	work[at + 1 + k] &= have;
	return true;
}

/* @work: the scratch words, one bit each, that are written on all ways to each instruction. */
static bool flows(const struct sock_filter *v, u32 n, u16 *work)
{
	u32 i;

	for (i = 0; i < n; i++) {
		bool fine = true;

		switch (BPF_CLASS(v[i].code)) {
		case BPF_RET:
			/* the kernel's verifier believes that it goes on behind a return */
			reach(work, n, i, 0, work[i]);
			break;
		case BPF_JMP:
			if (BPF_OP(v[i].code) == BPF_JA)
				fine = reach(work, n, i, v[i].k, work[i]);
			else
				fine = reach(work, n, i, v[i].jt, work[i]) &&
					reach(work, n, i, v[i].jf, work[i]);
			break;
		case BPF_ST:
		case BPF_STX:
			fine = reach(work, n, i, 0, work[i] | 1u << v[i].k);
			break;
		default:
			if (BPF_MODE(v[i].code) == BPF_MEM && BPF_CLASS(v[i].code) <= BPF_LDX)
				fine = work[i] >> v[i].k & 1;
			fine = fine && reach(work, n, i, 0, work[i]);
		}
		if (!fine)
			return false;
	}
	return true;
}

int filter_check(struct sock_filter *v, u32 n, u32 size, u16 *work)
{
	u32 i;

	if (!n || n > BPF_MAXINSNS)
		return -EINVAL;
	for (i = 0; i < n; i++)
		if (!allowed(&v[i], size))
			return -EINVAL;
	memset(work, 0xff, n * sizeof(*work));
	work[0] = 0;
	if (!flows(v, n, work))
		return -EINVAL;
	/* what stays a load from a packet is the CPU's number, which the kernel takes from none */
	for (i = 0; i < n; i++)
		if (v[i].code == (BPF_LD | BPF_W | BPF_ABS) && v[i].k != CPU_PLACE)
			v[i].code = BPF_LDX | BPF_W | BPF_ABS;
	return 0;
}

#ifdef __KERNEL__

/* The kernel's call-back is told nothing but the program. */
static DEFINE_MUTEX(filter_lock);
static u32 filter_size;

static int check_user(struct sock_filter *v, unsigned int n)
{
	u16 *work;
	int rc;

	if (!n || n > BPF_MAXINSNS)
		return -EINVAL;
	work = kmalloc_array(n, sizeof(*work), GFP_KERNEL);
	if (!work)
		return -ENOMEM;
	rc = filter_check(v, n, filter_size, work);
	kfree(work);
	return rc;
}

int filter_make(struct bpf_prog **out, struct sock_fprog *u, u32 size)
{
	int rc;

	mutex_lock(&filter_lock);
	filter_size = size;
	rc = bpf_prog_create_from_user(out, u, check_user, false);
	mutex_unlock(&filter_lock);
	return rc;
}

#endif
