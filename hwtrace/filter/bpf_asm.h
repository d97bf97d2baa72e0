/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FILTER_BPF_ASM_H
#define HWT_FILTER_BPF_ASM_H

/* Classic BPF with labels: conditional jumps reach 255 instructions, more is done here. */
#include <hwtrace/filter.h>

#include "../base/vec.h"

struct bpf_asm {
	struct vec ops;		/* of struct bpf_op */
	struct vec labels;	/* of uint16_t: the op that it stands before */
	int rc;			/* the first error; what follows does nothing */
};

/* A label that stands nowhere yet. */
unsigned bpf_label(struct bpf_asm *a);
/* The label stands before what comes next. */
void bpf_here(struct bpf_asm *a, unsigned label);
void bpf_op(struct bpf_asm *a, unsigned code, uint32_t k);
/* Conditional jump, BPF_JEQ and so on, to @t if it holds, else to @f. */
void bpf_jump(struct bpf_asm *a, unsigned cond, uint32_t k, unsigned t, unsigned f);
void bpf_goto(struct bpf_asm *a, unsigned label);
/*
 * The program into @v: number of instructions, -ENOSPC if there are more than @max, -ENOMEM.
 * All labels stand somewhere, and behind the jumps to them.
 */
int bpf_link(struct bpf_asm *a, struct hwt_bpf_insn *v, size_t max);
void bpf_free(struct bpf_asm *a);

#endif
