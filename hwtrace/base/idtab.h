/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_IDTAB_H
#define HWT_BASE_IDTAB_H

/*
 * A record for each id, for ids that lie near each other as those of tasks do. The first ones are
 * in the heap, those behind in a file without a name (spill.h), so that any number takes little
 * memory; a record never moves. In the heap remain 48 bytes or so for each 32 ids.
 */
#include <stddef.h>
#include <stdint.h>

#include "idmap.h"

struct idtab {		/* a zeroed one is empty */
	struct idmap block_of;		/* id / 32 to number of its block */
	struct idtab_chunk *chunks;
	size_t nchunks, cap;
	uint32_t blocks;
	int fd;				/* 0: none yet */
	size_t filed;			/* bytes in it */
};

/* Blocks of 32 ids: four times as many ids in a row as a kernel has (PID_MAX_LIMIT). */
#define IDTAB_BLOCKS	(1u << 19)

/* The record of @size bytes, a multiple of 8 and the same in all calls; NULL: there is none. */
void *idtab_get(const struct idtab *t, size_t size, uint32_t id);
/* The same, zeroed if it is new; NULL: no memory, or too many. */
void *idtab_make(struct idtab *t, size_t size, uint32_t id);
/* All of them: the next one at or behind *@at, which begins as 0; NULL: that was the last. */
void *idtab_next(const struct idtab *t, size_t size, uint32_t *at);
/* What was used need not stay resident; it can still be used. Growing does so now and then. */
void idtab_rest(const struct idtab *t);
void idtab_free(struct idtab *t);

#endif
