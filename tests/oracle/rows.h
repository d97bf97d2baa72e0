/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_ROWS_H
#define TESTS_ORACLE_ROWS_H

/* Options of the trace units, and rows of them such that all pairs of values occur. */
#include "hwtrace/model/etm4.h"
#include "hwtrace/model/pt.h"

#define ROWS_MAX	64
#define FACTORS_MAX	16

struct factor {
	const char *name;
	unsigned n;		/* values */
	const char *value[8];
};

struct row { uint8_t v[FACTORS_MAX]; };

/* Fills at most ROWS_MAX rows; every pair of values of two factors is in one of them. */
unsigned rows_make(struct row *rows, const struct factor *f, unsigned nf);
/* "retcomp=on tnt=long ..."; truncated to @size. */
void rows_text(const struct row *row, const struct factor *f, unsigned nf, char *buf, size_t size);

extern const struct factor rows_pt[], rows_etm4[];
extern const unsigned rows_npt, rows_netm4;

void rows_pt_cfg(const struct row *row, uint64_t seed, struct model_pt_cfg *out);
/* @framed: trace of all threads in CoreSight frames. */
void rows_etm4_cfg(const struct row *row, uint64_t seed, struct model_etm4_cfg *out, int *framed);

/*
 * Whether times are in the trace: 0 no, 1 coarse, 2 with cycles, 3 with cycles in a row that says
 * little of the width: no MTC between; long TNTs, whose branches are as old as the packet
 * before; overflows so often that the core clock is never known.
 */
int rows_pt_timed(const struct row *row);
/*
 * Whether libipt's own time can be right in a row with times. It says who runs and with which code,
 * not when.
 */
int rows_pt_exact(const struct row *row);
int rows_etm4_timed(const struct row *row);

#endif
