/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_FAULT_KINDS_H
#define TESTS_ORACLE_FAULT_KINDS_H

#include "fault.h"

enum fault {
	F_OVERFLOW, F_LOST, F_LOST_SILENT, F_WRAP, F_CUT, F_CUT_SILENT, F_ZERO_PAGE, F_ZERO_LINE,
	F_ZERO_FILE, F_FRAME_DROP, F_FRAME_TWICE, F_NO_SYNC, F_NO_CODE, F_OTHER_BUILD, F_PATCHED,
	F_SWITCH, F_FLIP, F_CLOCK_BACK, F_CLOCK_ON, F_DRIFT, F_ZERO_TIME, FAULTS
};

struct fault_kind {
	const char *name;
	uint32_t causes;	/* that count as right, by bit */
	bool silent;		/* nothing but the trace tells: what is legal can not be noticed */
	bool code;
	bool frames;		/* only in frames */
	bool declared;		/* a hole has to be told even if no instruction is missing */
	const char *why;	/* these causes */
};

extern const struct fault_kind fault_kinds[FAULTS];

uint64_t rnd(uint64_t *seed, uint64_t n);	/* 0 to @n - 1 */
/* Chooses where and how. False if this trace has no place for the fault. */
bool fault_plan(struct plan *p, unsigned fault, const struct trace *t, uint64_t *seed);

#endif
