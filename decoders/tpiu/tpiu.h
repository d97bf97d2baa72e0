/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_TPIU_TPIU_H
#define HWT_TPIU_TPIU_H

/* CoreSight formatter frames. Arm CoreSight Architecture Specification, "Formatter" and "TPIU". */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TPIU_ID_NULL	0x00
#define TPIU_ID_LAST	0x6f	/* the highest id of a trace source */
#define TPIU_ID_TRIGGER	0x7d
#define TPIU_ID_UNKNOWN	0xff	/* data before any id, or after a break */

#define TPIU_FRAME_RUNS	8	/* runs that one frame gives at most */

/*
 * One run of bytes of one source, in order. Bytes of one source within one frame are never
 * contiguous in memory. Null bytes are dropped; all else is given, also triggers, reserved ids and
 * TPIU_ID_UNKNOWN: no decoder may be fed from those.
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
	uint64_t skipped;	/* bytes before the first sync, and cut by one inside a frame */
	uint64_t skip_end;	/* the last skipped byte lies before this place */
	uint64_t tail;		/* bytes of a partial frame at the end */
	uint64_t probe;		/* bytes that a DSTREAM probe put in */
	uint64_t data_bytes, null_bytes, trigger_bytes, reserved_bytes, unowned_bytes;
	/*
	 * full sync words that are no barrier in input without sync words: it is no plain memory
	 * dump, or it is misaligned; the place of the first one
	 */
	uint64_t stray_syncs, stray_off;
};

struct tpiu {
	uint64_t pos;		/* input consumed */
	uint64_t off[8];	/* place in the input of each pair of bytes of @frame */
	uint32_t last;		/* the last four bytes, newest lowest */
	uint8_t  frame[20];	/* partial frame, or the last bytes while not synced */
	uint8_t  have;		/* bytes in @frame */
	uint8_t  id;		/* current source, or TPIU_ID_UNKNOWN */
	/* input may hold full (ffffff7f) and half (ff7f) sync: byte-wise search */
	bool     sync_words;
	/* set by the caller after tpiu_init(): see tpiu_is_dstream() */
	bool     dstream;
	bool     synced;
	bool     barrier;	/* the last tpiu_decode() ended after a barrier frame */
	uint32_t fsync_run;	/* full sync words in a row */
	struct tpiu_stats st;
};

/* @sync_words: TPIU output with sync words; else 16-byte aligned memory frames (ETB, ETF, ETR). */
void tpiu_init(struct tpiu *t, bool sync_words);
/*
 * Takes bytes and fills at most @max runs (TPIU_FRAME_RUNS or more, else -EINVAL). Returns how
 * many; *@used tells how many input bytes were consumed. Any split of the input gives the same
 * runs. It returns early after a barrier: the runs of that call lie before it. In all input, also
 * without sync words, a full sync word starts a new frame: no frame can hold one.
 */
int tpiu_decode(struct tpiu *t, const uint8_t *p, size_t n, size_t *used, struct tpiu_run *out,
	int max);
/*
 * End of input: what a partial frame holds (TPIU_FRAME_RUNS at most). After it all input is
 * counted: frame_bytes + sync_bytes + skipped + tail + probe.
 */
int tpiu_flush(struct tpiu *t, struct tpiu_run *out, int max);

/*
 * True if the input is what a DSTREAM probe stored: eight bytes of the probe's own follow each 504
 * of the port, and the last two of them count down. Looks at the first 64 blocks; needs three.
 */
bool tpiu_is_dstream(const uint8_t *p, size_t n);

#endif
