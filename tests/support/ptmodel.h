/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PTMODEL_H
#define TESTS_PTMODEL_H

/*
 * From what a program really ran (addresses of all instructions in order, from single steps) to the
 * packets that Intel PT would send for its user part. Written from the manual; shares no table or
 * code with
 * decoders/ or hwtrace/image/. x86-64, static ELF. The few branch forms that compilers make are
 * known
 * here; an instruction whose successor can not be explained is an error, so a gap in that list
 * shows.
 */
#include "ptenc.h"

struct ptmodel {
	const uint8_t *elf;
	size_t elf_size;
	const uint64_t *addr;
	size_t n;
	size_t psb_every;	/* instructions between two PSBs; 0: one at the start */
	/* instructions that an internal overflow swallows; equal: none */
	size_t lost_from, lost_to;
	bool timed;		/* TSC and TMA at each PSB, MTC between */
	bool no_mtc;		/* TSC only */
	bool cyc;		/* a CYC before each packet that may have one; a cycle is a tick */
	/*
	 * Branches are kept back over MTC, and TIPs with them while there are any (SDM, "Deferred
	 * TIPs"). Otherwise each MTC finds them sent.
	 */
	bool keep;
	const uint64_t *tick;	/* of each instruction, never decreasing; NULL: one each 3 */
	bool retcomp;		/* compress returns */
	unsigned ratio;		/* core to bus ratio in CBR packets; 0: 30 */
	uint64_t tsc;		/* of the first instruction, advanced */
};

#define PTMODEL_MTC_FREQ 6	/* MTC every 2^6 ticks of a crystal clock that runs like the TSC */

/*
 * Appends the packets to @e. 0, or -1 with the index of the instruction that was not understood
 * in *@where.
 */
int ptmodel_encode(struct ptmodel *m, struct model_pt_buf *e, size_t *where);

#endif
