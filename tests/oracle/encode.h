/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_ENCODE_H
#define TESTS_ORACLE_ENCODE_H

/* From a recording to a native capture, by the software trace units. */
#include "rec.h"
#include "rows.h"
#include "truth.h"

struct encode_sum {
	struct model_pt_count pt;	/* of all threads */
	struct model_etm4_count etm4;
	uint64_t pages;		/* versions of code that replaced others */
};

/*
 * File of the static program that runs, mapped where it says instead of the bytes that ran, so that
 * the capture has its symbols. NULL, as it is unless set: bytes alone. ELF of 64 bits.
 */
extern const char *encode_program;

/* 1 if code was written over other code that ran, 0 if not, negative. */
int encode_rewrites(const struct rec *r);

/*
 * Writes the capture @dir (one that is there is replaced). Thread i is buffer i, or trace id
 * 0x10 + i of buffer 0 if framed. @holes has one for each thread, zeroed; the caller frees what is
 * put there. Counts are added to @sum. 0, or negative with words on stderr.
 */
int encode_pt(const char *dir, struct rec *r, const struct rec_clock *clk,
	      const struct model_pt_cfg *cfg, struct truth_holes *holes, struct encode_sum *sum);
int encode_etm4(const char *dir, struct rec *r, const struct rec_clock *clk,
		const struct model_etm4_cfg *cfg, int framed, struct truth_holes *holes,
		struct encode_sum *sum);

#endif
