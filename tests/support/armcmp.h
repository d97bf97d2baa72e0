/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ARMCMP_H
#define TESTS_ARMCMP_H

/*
 * What a decoder says, held against what ran, thing by thing. The first difference is kept as
 * text and the rest is not looked at.
 */
#include "armprog.h"
#include "hwtrace/model/etm4.h"

struct armcmp {
	const struct armrun *run;
	const struct model_etm4_cfg *cfg;
	size_t at;			/* next item */
	bool on;			/* tracing started anew before it */
	uint8_t el, ns;
	uint32_t cid, vmid;
	uint64_t tick;			/* of the item before */
	uint64_t ts_min;		/* the next item is not before this timestamp */
	uint64_t cc_tick;		/* of the last cycle count */
	bool cc_known;
	bool cc_doubt;			/* trace started anew since, maybe by an overflow */
	uint64_t insns, excs, erets, timestamps, cycles, unknown_cycles, events;
	char why[300];			/* "": no difference */
};

/* Marks what the unit did not trace; @lost: pairs of first and behind-last event. */
void armcmp_mark(struct armrun *run, const struct model_etm4_cfg *cfg, const uint64_t (*lost)[2],
		 size_t nlost);
void armcmp_start(struct armcmp *c, const struct armrun *run, const struct model_etm4_cfg *cfg);
void armcmp_insn(struct armcmp *c, uint64_t pc, unsigned isa);	/* enum model_isa */
/* Instructions from @first to before @end; sizes are those of the program. */
void armcmp_range(struct armcmp *c, uint64_t first, uint64_t end, unsigned isa);
void armcmp_exception(struct armcmp *c, unsigned number, uint64_t ret);
void armcmp_eret(struct armcmp *c);
/* The timestamp that a tick has. */
uint64_t armcmp_time(const struct armcmp *c, uint64_t tick);
void armcmp_timestamp(struct armcmp *c, uint64_t value);
void armcmp_cycles(struct armcmp *c, uint64_t count);	/* 0: unknown */
/* @slack: so many P0 elements may be missing, and what belongs to none */
void armcmp_end(struct armcmp *c, unsigned slack);

#endif
