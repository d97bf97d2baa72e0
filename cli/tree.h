/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_TREE_H
#define CLI_TREE_H

/* Function calls as they unfold. */
#include "cli.h"

#define TREE_BASES	256	/* CPUs that share one lean on each other */
#define TREE_BEGUN	16	/* open functions that the trace began with, of all threads */

/* Calls on their way to the output. Zero but for @r, @addrs, @naddrs and @mixed at the start. */
struct tree {
	struct run *r;
	const struct hwt_addr_range *addrs;	/* of --sym, borrowed */
	size_t naddrs;
	/* one is held back: an entry may be left at once, a hole may be one of many */
	struct hwt_call held;
	bool full;
	uint32_t count;		/* holes in @held */
	uint64_t bytes;		/* skipped in all of them */
	uint64_t time_lo;	/* what is certainly before it is not printed, base ns */
	bool mixed;		/* several threads at a time: no line tells of the other one */
	bool any;		/* a call was printed */
	int32_t tid;		/* its thread */
	/* depth that is not indented, of each CPU: 0, or the lowest so far */
	int32_t base[TREE_BASES];
	/* analysis takes them for found running, as it does not know what led there */
	struct { uint64_t func; int32_t tid, depth; } begun[TREE_BEGUN];
	unsigned nbegun;
};

/* Forgets the state of what was printed before: another buffer begins. */
void tree_begin(struct tree *t);
/* One more call; false if the command should stop. */
bool tree_print(struct tree *t, const struct hwt_call *c);
/* Prints what is held back; false at the limit. */
bool tree_flush(struct tree *t);
/* True if @c is to be shown: a hole, or a function of --sym. */
bool tree_selected(const struct tree *t, const struct hwt_call *c);
bool tree_in_syms(const struct tree *t, uint64_t addr);

#endif
