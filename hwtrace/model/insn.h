/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_INSN_H
#define HWT_MODEL_INSN_H

/*
 * What one instruction does to the flow, and blocks made of instructions that ran. A recorder that
 * sees single instructions gives them to a walk, one for each thread; what comes back are RUN
 * events. All threads of a recording share one table of blocks.
 */
#include "model.h"

struct model_insn {
	uint64_t target;	/* of a direct branch, else MODEL_NO_ADDR */
	uint8_t size;		/* bytes */
	uint8_t kind;		/* enum model_kind */
	uint8_t cond;		/* 1: conditional, by itself or by an IT block */
	uint8_t rep;		/* 1: x86 string instruction that may run more than once */
};

struct model_insns;
int model_insns_new(struct model_insns **out);
void model_insns_free(struct model_insns *m);	/* NULL is fine */

/*
 * Classifies the instruction in the @n bytes at @p. @it is the state of a T32 IT block, kept by the
 * caller from one instruction of a thread to the next: 0 outside; NULL: none. Returns 0,
 * -HWT_E_MORE if the bytes do not hold it, -HWT_E_PACKET if they are no instruction that is known.
 */
int model_insn_get(struct model_insns *m, unsigned isa, uint64_t addr, const void *p, size_t n,
		   uint8_t *it, struct model_insn *out);

/* Table of all blocks that ran, by address and bytes: code that changed is another block. */
struct model_blocks;
int model_blocks_new(struct model_blocks **out);
void model_blocks_free(struct model_blocks *m);

/* The @i-th block in order of first use, NULL past the end; alive as long as the table. */
const struct model_block *model_blocks_at(const struct model_blocks *m, size_t i);
/* Bytes of a block of a table, from its first address on. */
const uint8_t *model_block_bytes(const struct model_block *b, size_t *n);

#define MODEL_WALK_INSNS	256	/* longest block of a walk */
#define MODEL_INSN_BYTES	15	/* longest instruction */

/* One thread; zero it, then set @blocks. */
struct model_walk {
	struct model_blocks *blocks;
	uint64_t first, last, next;	/* of what has not been told yet */
	uint64_t tick;
	uint32_t insns, nbytes;		/* 0: nothing waits */
	struct model_insn insn;		/* the last one */
	uint8_t isa, it;
	uint8_t bytes[MODEL_WALK_INSNS * MODEL_INSN_BYTES];
};

/*
 * The instruction at @addr with the bytes at @p (@n of them can be read, it may be shorter) has
 * run and retired at @tick. Returns 1 with *@ev filled if that ended the block before, else 0, or
 * a negative code. Iterations of a REP instruction are one instruction.
 */
int model_walk_insn(struct model_walk *w, unsigned isa, uint64_t addr, const void *p, size_t n,
		    uint64_t tick, struct model_event *ev);

/*
 * Tells what waits: to be called before the recorder makes an event of its own. @to is what runs
 * next, as in struct model_event. Returns as model_walk_insn().
 */
int model_walk_flush(struct model_walk *w, uint64_t to, struct model_event *ev);

#endif
