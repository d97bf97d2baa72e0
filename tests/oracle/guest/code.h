/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_GUEST_CODE_H
#define TESTS_ORACLE_GUEST_CODE_H

/*
 * The code that a guest ran, by address space, and when it changed. Kernel code is in all spaces.
 * Each page table is a process of its own, with a number that we give, from CODE_FIRST_PID on.
 */
#include "../rec.h"
#include "hwtrace/capture/native.h"

#define CODE_FIRST_PID	100000		/* above those of the guest */

struct code;

/* Walks the whole recording, all CPUs in order of time. 0, or negative and said on stderr. */
int code_new(struct code **out, struct rec *r, const struct rec_clock *clk);
void code_free(struct code *c);		/* NULL is fine */
/* Pages, processes and the address spaces that are theirs. */
int code_write(const struct code *c, struct native_writer *w);
/* The kernel's code alone, as it was when it first ran, as a copy of /proc/kcore has it. */
int code_write_kcore(const struct code *c, const char *path);
/* Process of an address space (CR3, CONTEXTIDR), HWT_NONE if none. */
int32_t code_pid(const struct code *c, uint64_t aspace);

struct code_sum {
	unsigned processes, pages;
	unsigned changes;	/* places that were rewritten */
	unsigned shared;	/* addresses at which two processes have different code */
	unsigned moved;		/* address spaces that came to mean another process */
	/* of all CPUs */
	uint64_t insns[2];	/* user, kernel */
	uint64_t irqs, faults, calls, switches;
};
void code_sum(const struct code *c, struct code_sum *out);

#endif
