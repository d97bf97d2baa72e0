/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ARMPROG_H
#define TESTS_ARMPROG_H

/*
 * A random Arm program of real instruction bytes, and a run of it whose every decision is random
 * too: the truth for trace units. User code (EL0) is A64, or T32 and A32 mixed; handlers (EL1) are
 * A64. Nothing here knows anything about trace.
 */
#include <stdbool.h>

#include "hwtrace/model/model.h"

#define ARMPROG_CHUNKS 5

struct arm_insn {
	uint64_t addr, target;
	uint32_t code;		/* T32 of 32 bits: first halfword in the upper half */
	uint8_t size, isa, kind, cond;
	uint8_t entry;		/* may be branched to, interrupted, and begin a block */
	uint8_t chunk;
};

struct arm_chunk {
	uint64_t addr;
	uint32_t first, n;	/* instructions */
	uint32_t bytes;
	uint8_t *mem;
	uint8_t user, isa;
};

struct armprog {
	struct arm_insn *v;
	uint32_t n;
	struct arm_chunk chunk[ARMPROG_CHUNKS];
	unsigned nchunks;
	uint64_t rnd;
};

enum arm_what { ARM_INSN, ARM_EXC, ARM_ERET };

/* One thing that happened, in order. */
struct arm_item {
	uint64_t pc;		/* EXC: where it returns to */
	uint64_t tick;
	uint64_t event;		/* number of the model event that told it */
	uint32_t cid, vmid;
	uint8_t what, isa, el, ns;
	uint8_t exc;		/* EXC: enum model_trap, or 0xff for a call */
	uint8_t skip;		/* for the caller: left no trace */
	uint8_t gap;		/* things are missing before this one */
};

struct armrun_cfg {
	uint64_t seed;		/* of the program */
	uint64_t run_seed;	/* of what it does */
	uint32_t branches;	/* about so many */
	uint8_t aarch32;	/* user code is T32 and A32 */
	uint8_t ns;
	/* what the kernel does is not seen; the recorder says ENTER where user code goes on */
	uint8_t unseen;
	uint8_t traps;		/* 1: many interrupts and faults, also inside blocks */
};

struct armrun {
	struct arm_item *v;
	size_t n, room;
	uint64_t branches;
	struct armprog prog;
	struct model_block *block;	/* the one that begins at each instruction */
};

/* The events go to @put. 0, or what @put returned, or -ENOMEM. */
int armrun_make(struct armrun *r, const struct armrun_cfg *cfg,
		int (*put)(void *arg, const struct model_event *ev), void *arg);
void armrun_free(struct armrun *r);
/* Bytes of the program at @addr, as many as there are up to @n. */
size_t armprog_read(const struct armprog *p, uint64_t addr, void *buf, size_t n);
/* The instruction at @addr, NULL if there is none. */
const struct arm_insn *armprog_at(const struct armprog *p, uint64_t addr);

#endif
