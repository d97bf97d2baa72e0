/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PTRUN_H
#define TESTS_PTRUN_H

/* The Intel PT unit over the run of a random program; all its options as an all-pairs table. */
#include "hwtrace/model/pt.h"
#include "pairs.h"
#include "ptprog.h"

#define PTRUN_LOST	4096

struct ptrun {
	uint8_t *p;
	size_t n, cap;
	struct { size_t from, to; } lost[PTRUN_LOST];	/* events */
	unsigned nlost;
	struct model_pt_cfg cfg;
	struct model_pt_count count;
};

/* Encodes @prog; the bytes stay until the next call. 0, or what the unit said. */
int ptrun_encode(struct ptrun *r, const struct ptprog *prog, const struct model_pt_cfg *cfg);
void ptrun_free(struct ptrun *r);

/* All options of the unit; ptrun_cfg() makes the configuration of a row. */
int ptrun_pairs(struct pairs *p);
void ptrun_cfg(struct model_pt_cfg *cfg, const struct pairs *p, unsigned row);
/* Puts the program's addresses into the address filters, if the row has some. */
void ptrun_ranges(struct model_pt_cfg *cfg, const struct ptprog *prog);
/* A ptprog_at() condition: what @arg, a struct model_pt_cfg, lets through. */
bool ptrun_traced(const struct ptprog_block *b, const void *arg);
/* Adds up all counters. */
void ptrun_sum(struct model_pt_count *sum, const struct model_pt_count *c);

#endif
