/* SPDX-License-Identifier: BSD-2-Clause */
#include "bpf_asm.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>

/* More than a program can have, and less than a label can count. */
#define OPS_MAX	32768

enum op_kind { OP_PLAIN, OP_GOTO, OP_JUMP };

struct bpf_op {
	uint16_t code;
	uint16_t t, f;		/* labels */
	uint8_t kind;		/* enum op_kind */
	uint8_t far_t, far_f;	/* needs a jump of its own */
	uint16_t at;		/* instruction, when placed */
	uint32_t k;
};

unsigned bpf_label(struct bpf_asm *a)
{
	if (a->labels.n >= OPS_MAX)
		a->rc = -ENOSPC;
	else if (!a->rc && !vec_push(&a->labels, sizeof(uint16_t)))
		a->rc = -ENOMEM;
	return a->rc ? 0 : (unsigned)a->labels.n - 1;
}

void bpf_here(struct bpf_asm *a, unsigned label)
{
	if (!a->rc)
		((uint16_t *)a->labels.v)[label] = (uint16_t)a->ops.n;
}

static void put(struct bpf_asm *a, const struct bpf_op *op)
{
	struct bpf_op *n;

	if (!a->rc && a->ops.n >= OPS_MAX)
		a->rc = -ENOSPC;
	if (a->rc)
		return;
	n = vec_push(&a->ops, sizeof(*n));
	if (n)
		*n = *op;
	else
		a->rc = -ENOMEM;
}

void bpf_op(struct bpf_asm *a, unsigned code, uint32_t k)
{
	put(a, &(struct bpf_op){ .code = (uint16_t)code, .k = k });
}

void bpf_jump(struct bpf_asm *a, unsigned cond, uint32_t k, unsigned t, unsigned f)
{
	put(a, &(struct bpf_op){ .code = (uint16_t)(BPF_JMP | BPF_K | cond), .t = (uint16_t)t,
		.f = (uint16_t)f, .kind = OP_JUMP, .k = k });
}

void bpf_goto(struct bpf_asm *a, unsigned label)
{
	put(a, &(struct bpf_op){ .code = BPF_JMP | BPF_JA, .t = (uint16_t)label,
		.kind = OP_GOTO });
}

/* A jump to what comes next is left out. */
static unsigned size_of(const struct bpf_asm *a, size_t i)
{
	const struct bpf_op *op = (const struct bpf_op *)a->ops.v + i;

	if (op->kind == OP_GOTO)
		return ((const uint16_t *)a->labels.v)[op->t] != i + 1;
	return 1u + op->far_t + op->far_f;
}

static unsigned target(const struct bpf_asm *a, unsigned label)
{
	return ((const struct bpf_op *)a->ops.v)[((const uint16_t *)a->labels.v)[label]].at;
}

/* Places all; true if a jump turned out to be too short. They only become longer, so this ends. */
static int place(struct bpf_asm *a)
{
	struct bpf_op *op = a->ops.v;
	unsigned at = 0;
	int again = 0;

	for (size_t i = 0; i < a->ops.n; i++) {
		op[i].at = (uint16_t)at;
		at += size_of(a, i);
		if (at > HWT_BPF_MAX) {
			a->rc = -ENOSPC;
			return 0;
		}
	}
	for (size_t i = 0; i < a->ops.n; i++) {
		if (op[i].kind != OP_JUMP)
			continue;
		if (!op[i].far_t && target(a, op[i].t) - op[i].at - 1u > 255)
			op[i].far_t = again = 1;
		if (!op[i].far_f && target(a, op[i].f) - op[i].at - 1u > 255)
			op[i].far_f = again = 1;
	}
	return again;
}

static void write_op(const struct bpf_asm *a, size_t i, struct hwt_bpf_insn *v)
{
	const struct bpf_op *op = (const struct bpf_op *)a->ops.v + i;
	unsigned at = op->at, n = 1;

	v[at] = (struct hwt_bpf_insn){ .code = op->code, .k = op->k };
	if (op->kind == OP_GOTO)
		v[at].k = target(a, op->t) - at - 1;
	if (op->kind != OP_JUMP)
		return;
	v[at].jt = (uint8_t)(op->far_t ? n - 1 : target(a, op->t) - at - 1);
	if (op->far_t) {
		v[at + n] = (struct hwt_bpf_insn){ .code = BPF_JMP | BPF_JA,
			.k = target(a, op->t) - at - n - 1 };
		n++;
	}
	v[at].jf = (uint8_t)(op->far_f ? n - 1 : target(a, op->f) - at - 1);
	if (op->far_f)
		v[at + n] = (struct hwt_bpf_insn){ .code = BPF_JMP | BPF_JA,
			.k = target(a, op->f) - at - n - 1 };
}

int bpf_link(struct bpf_asm *a, struct hwt_bpf_insn *v, size_t max)
{
	struct bpf_op *op = a->ops.v;
	size_t n;

	while (!a->rc && place(a))
		;
	if (a->rc)
		return a->rc;
	n = op[a->ops.n - 1].at + 1u;	/* it is a return */
	if (n > max)
		return -ENOSPC;
	for (size_t i = 0; i < a->ops.n; i++)
		if (size_of(a, i))
			write_op(a, i, v);
	return (int)n;
}

void bpf_free(struct bpf_asm *a)
{
	free(a->ops.v);
	free(a->labels.v);
	*a = (struct bpf_asm){ 0 };
}
