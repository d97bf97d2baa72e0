/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_CS_GUESS_H
#define HWT_SOURCE_CS_GUESS_H

/* What undescribed CoreSight bytes look like. */
#include <stddef.h>
#include <stdint.h>

enum cs_look {
	CS_LOOK_NOTHING,	/* no evidence */
	CS_LOOK_RAW,		/* one source, no frames */
	CS_LOOK_FRAMES,		/* 16-byte frames */
	CS_LOOK_FSYNC,		/* frames with frame sync words in between */
	CS_LOOK_SWAPPED		/* frames or raw trace, bytes of 32-bit words reversed */
};

struct cs_guess {
	enum cs_look look;
	uint32_t raw_sync;	/* A-syncs in the bytes as they are */
	uint32_t frame_sync;	/* A-syncs of single ids, taken as frames */
	uint32_t fsync;		/* frame sync words, those of barriers left out */
	uint32_t swapped_sync;	/* the better of both with words swapped */
	uint8_t ids[8];		/* trace ids with an A-sync, the first few */
	uint8_t nids;
};

#define CS_LOOK_MAX (1u << 20)

/* Looks at the first CS_LOOK_MAX bytes. */
void cs_guess(struct cs_guess *g, const void *p, size_t n);

/* The evidence in words; always NUL-terminated. */
void cs_guess_text(const struct cs_guess *g, char *buf, size_t size);

#endif
