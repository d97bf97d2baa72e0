/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_REC_FORMAT_H
#define TESTS_ORACLE_REC_FORMAT_H

/* What plugin.c writes and rec.c reads; little endian, see README.md. */
#include <stdint.h>

#include "hwtrace/model/model.h"

#define REC_MAGIC	"hwtrec1"
#define REC_HASH	(1 << 20)	/* slots of the recorder's table of blocks */

struct rec_head { char magic[8]; uint32_t isa, flags; };
#define REC_GUEST	1	/* flag: a whole guest; a stream is a CPU, with times */

/* Chunks: { kind, thread, bytes } and the bytes. */
enum { REC_BLOCK = 1, REC_STREAM, REC_FILE_END };

/* A block, the next number; then a byte for the size of each instruction, then their bytes. */
/* @it: ITSTATE before it (T32). */
struct rec_block_head { uint64_t first; uint32_t insns, nbytes, isa, it; };

/*
 * A stream is made of LEB128 numbers. Every block has two guesses what follows, the first and the
 * second last seen in this thread. REC_T_MORE + 2 * n: n + 1 times in a row the first guess;
 * REC_T_MORE + 1 + 2 * n: block n. All but the first guess move the first to the second.
 */
enum { REC_T_EVENT, REC_T_SECOND, REC_T_MORE };
enum {
	REC_LEFT = 1,	/* n: the last block was left while its n-th instruction ran */
	REC_SIGNAL,	/* pc: a signal came there; its handler is next */
	REC_END,	/* of the thread, or of what is recorded of it */
	/* of guests, in this order before a block */
	REC_VALUE,	/* v: a PTWRITE of the block before wrote it */
	REC_TRAP,	/* kind (enum model_trap), level, pc: it came there; its handler is next */
	REC_CONTEXT,	/* aspace, level, table, thread: they hold from the next block on */
	REC_TICK	/* n: ticks since the last one, at the next block's first instruction */
};

#endif
