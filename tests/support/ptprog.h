/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PTPROG_H
#define TESTS_PTPROG_H

/*
 * A random x86 program in memory and a run of it: threads in 64-bit and 32-bit code, a kernel with
 * system calls, interrupts, faults and thread switches. The run is made first and is the truth;
 * its events are what a software trace unit is told.
 */
#include <stdbool.h>

#include "hwtrace/model/model.h"

#define PTPROG_SEGS	4	/* user 64-bit low and high, user 32-bit, kernel */
#define PTPROG_INSNS	8	/* of one block, at most */
#define PTPROG_THREADS	3

struct ptprog_block {
	struct model_block b;		/* first: an event's block is one of these */
	uint8_t off[PTPROG_INSNS];	/* of each instruction, from the first */
	uint8_t level;			/* CPL it runs at */
};

struct ptprog_seg {
	uint64_t addr;
	uint64_t half;		/* where the second half of its functions begins */
	uint8_t *code;
	size_t size;
	uint8_t bits, level;
};

struct ptprog_cfg {
	uint64_t seed;
	size_t branches;	/* conditional and indirect ones to run */
	bool unseen;		/* the recorder sees user code only */
	bool no_context;	/* and no context */
	bool tricks;		/* some returns go elsewhere than their call */
	bool one_thread;	/* so that returns and calls of threads do not mix */
	bool pauses;		/* sometimes nothing happens for long */
};

struct ptprog {
	struct ptprog_seg seg[PTPROG_SEGS];
	struct model_event *ev;
	size_t nev, branches;
	uint64_t insns;
	void *priv;
};

/* 0, -1: no memory. */
int ptprog_make(struct ptprog *p, const struct ptprog_cfg *cfg);
void ptprog_free(struct ptprog *p);

/* Walks the instructions that ran, one by one; zeroed: at the start. */
struct ptprog_cur {
	size_t ev;	/* event of the instruction */
	unsigned k;	/* its number in the block */
};
/*
 * Goes to the next instruction that @want accepts the block of (NULL: any), if the cursor is not at
 * one. False at the end.
 */
bool ptprog_at(const struct ptprog *p, struct ptprog_cur *c,
	       bool (*want)(const struct ptprog_block *b, const void *arg), const void *arg,
	       uint64_t *addr);

#endif
