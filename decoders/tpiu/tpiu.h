/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TPIU_TPIU_H
#define HWT_TPIU_TPIU_H

/* CoreSight formatter frames. Arm CoreSight Architecture Specification, "Formatter" and "TPIU". */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPIU_ID_NULL	0x00
#define TPIU_ID_TRIGGER	0x7d

/*
 * One run of bytes of one source, in order. Bytes of one source within one frame are never
 * contiguous in memory.
 */
struct tpiu_run {
	/* offset of the first byte in the input (all input since tpiu_init) */
	uint64_t off;
	uint8_t  id;
	uint8_t  n;		/* bytes in @data */
	/* 1: partial last frame, bit 0 of each even-placed byte is not known */
	uint8_t  unsure;
	uint8_t  data[15];
};

struct tpiu_stats {
	uint64_t frame_bytes;	/* whole frames decoded, 16 bytes each */
	uint64_t sync_bytes;	/* full and half sync words, barrier frames */
	uint64_t skipped;	/* bytes before the first sync, and after a loss of it */
	uint64_t tail;		/* bytes of a partial frame at the end */
	uint64_t data_bytes, null_bytes, trigger_bytes, reserved_bytes, unowned_bytes;
};

struct tpiu {
	uint64_t pos;		/* input consumed */
	uint8_t  frame[16];	/* partial frame kept between calls */
	uint8_t  have;		/* bytes in @frame */
	uint8_t  id;		/* current source; 0xff: not known yet */
	/* input may hold full (ffffff7f) and half (ff7f) sync: byte-wise search */
	bool     sync_words;
	bool     synced;
	bool     barrier;	/* set when a barrier frame was met; the caller clears it */
	uint32_t fsync_run;
	struct tpiu_stats st;
};

/* @sync_words: TPIU output with sync words; else 16-byte aligned memory frames (ETB, ETF, ETR). */
void tpiu_init(struct tpiu *t, bool sync_words);
/*
 * Takes bytes and fills at most @max runs (a frame gives up to 8). Returns how many; *@used tells
 * how many
 * input bytes were consumed. Any split of the input gives the same runs.
 */
int tpiu_decode(struct tpiu *t, const uint8_t *p, size_t n, size_t *used, struct tpiu_run *out,
	int max);
/* End of input: what a partial frame holds. */
int tpiu_flush(struct tpiu *t, struct tpiu_run *out, int max);

#endif
