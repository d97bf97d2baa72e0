/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_RECORDER_H
#define TESTS_ORACLE_RECORDER_H

/* What the plugins share: the recording's file, its dictionary of blocks, streams of numbers. */
#include <stddef.h>
#include <stdint.h>

#include "rec_format.h"

#define RECORDER_CHUNK	(1 << 16)	/* bytes of a stream kept in memory */

struct blk {
	uint64_t first;
	uint32_t id, n;		/* instructions */
	struct blk *next;	/* same hash */
	uint32_t nbytes;
	uint8_t isa, it;	/* ITSTATE, T32 */
	uint8_t data[];		/* sizes of the instructions, then their bytes */
};

struct out {
	uint32_t number;	/* of the stream in the recording */
	size_t n;
	uint8_t buf[RECORDER_CHUNK + 4096];
};

/* 0, or anything else: said on stderr. */
int recorder_open(const char *path, unsigned isa, unsigned flags);
void recorder_close(void);
/* Says why once; what was recorded is not finished then. */
void recorder_fail(const char *why);
int recorder_failed(void);

/* For what several threads of the emulator use. */
void recorder_lock(void);
void recorder_unlock(void);

/* The block as it is in the dictionary, for which @b is freed if that had it. */
struct blk *recorder_intern(struct blk *b);

uint32_t recorder_stream(void);		/* the next number of a stream */
void recorder_put(struct out *o, uint64_t v);
void recorder_flush(struct out *o);

#endif
