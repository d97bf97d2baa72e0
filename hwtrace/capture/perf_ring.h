/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_PERF_RING_H
#define HWT_CAPTURE_PERF_RING_H

/*
 * The reader of what the kernel's perf writes: a ring of records and one of trace (AUX) beside it,
 * as perf_event_open(2) and <linux/perf_event.h> describe them. Only memory: where it comes from,
 * and how a stopped event is started again, is the caller's.
 */
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#include "../base/vec.h"

#define PERF_RING_REC	65536u	/* bytes of a record: its size is 16 bits */

struct perf_ring {
	struct perf_event_mmap_page *page;	/* head and tail of both rings */
	const uint8_t *data;			/* @size bytes, a power of two */
	uint64_t size;
	uint64_t head, tail;			/* of the records that are being read */
	uint64_t damaged;			/* bytes that were no records */
	bool backward;				/* perf_ring_back() was called */
	struct vec back;			/* of uint32_t: where records begin */
	uint8_t copy[PERF_RING_REC];		/* of a record that lies across the end */
};

void perf_ring_init(struct perf_ring *r, struct perf_event_mmap_page *page, const void *data,
		    uint64_t size);
/*
 * The next record: its bytes, which live until perf_ring_done(), or the next call if it lies across
 * the end. NULL: none is left of those that were there when the first one was asked for.
 */
const struct perf_event_header *perf_ring_next(struct perf_ring *r);
/* Gives the kernel the room of what was read. */
void perf_ring_done(struct perf_ring *r);
/*
 * A ring that runs over itself (mapped without PROT_WRITE, of events with write_backward), while
 * nothing is written to it: perf_ring_next() gives what it holds, oldest first. The kernel puts
 * each record in front of the one before, so they are found newest first; of the oldest the end may
 * be written over, and it is left out. 0 or -ENOMEM.
 */
int perf_ring_back(struct perf_ring *r);
void perf_ring_free(struct perf_ring *r);

/* What an AUX record says, and whose it is. */
struct perf_ring_aux {
	uint64_t off, size, flags;	/* PERF_AUX_FLAG_ */
	uint64_t time;			/* as the caller likes; handed on */
	int32_t pid, tid;	/* HWT_NONE: of several */
};

/* A run of trace begins: what is known of the place before it, and of itself. */
struct perf_ring_span {
	uint64_t pos;			/* of its first byte in all that the ring ever took */
	uint64_t time;
	int32_t pid, tid;
	uint16_t flags;			/* of its first AUX record */
	uint16_t cause;			/* enum hwt_gap_cause, HWT_GAP_NONE: nothing is missing */
	uint64_t lost;			/* bytes that are missing, 0: not known */
};

/* Functions return 0 or a negative code, which ends the reading. */
struct perf_ring_out {
	int (*span)(void *arg, const struct perf_ring_span *s);
	int (*bytes)(void *arg, uint64_t time, const uint8_t *p, uint64_t n);
	void *arg;
};

struct perf_ring_sum {
	uint64_t bytes, spans;
	uint64_t truncated, partial, collisions;	/* AUX records with these flags */
	uint64_t untold;				/* bytes whose AUX record is lost */
	uint64_t wrong;					/* AUX records of bytes that are not */
};

/* The ring of trace. */
struct perf_aux_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *p;		/* @size bytes, a power of two */
	uint64_t size;
	uint64_t pos;			/* up to where it was taken */
	bool each;			/* each AUX record is a new start: CoreSight */
	bool open;			/* the next byte continues a span */
	int32_t tid;			/* whose the open span is */
	bool stopped;			/* the kernel has stopped the event, for want of room */
	uint16_t cause;			/* what is known to be missing before the next byte */
	uint64_t lost;			/* bytes of it */
	struct perf_ring_out out;
	struct perf_ring_sum sum;
};

void perf_aux_init(struct perf_aux_ring *a, struct perf_event_mmap_page *page, const void *p,
		   uint64_t size, bool each, const struct perf_ring_out *out);
/*
 * Takes the bytes that an AUX record tells of, and those before it that no record told of, whose
 * record is lost; then the kernel has their room. If @stopped is set then, the caller starts the
 * event again and clears it.
 */
int perf_aux_take(struct perf_aux_ring *a, const struct perf_ring_aux *rec);
/* The same for all that is there, once the event is stopped and all records were taken. */
int perf_aux_rest(struct perf_aux_ring *a);
/* Records were lost: those of trace may be among them. */
void perf_aux_lost(struct perf_aux_ring *a);
/*
 * A ring that runs over itself (mapped without PROT_WRITE), while the event is stopped: what it
 * holds, oldest byte first, as one span. @rec: the last AUX record, NULL.
 */
int perf_aux_snapshot(struct perf_aux_ring *a, const struct perf_ring_aux *rec);

#endif
