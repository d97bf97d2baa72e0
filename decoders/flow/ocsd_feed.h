/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_FEED_H
#define HWT_FLOW_OCSD_FEED_H

/*
 * A CoreSight trace buffer as a sequence of pieces: bytes of one trace source in a row, and what
 * happens between them. Frames are taken apart here and not by the library, so that every byte
 * has an owner and a source that fails does not take the others down with it.
 */
#include "../../hwtrace/source/capture.h"
#include "../tpiu/tpiu.h"

#define FEED_SLICE (64u << 10)	/* longest piece of unformatted trace, bytes */
#define FEED_RUNS (4 * TPIU_FRAME_RUNS)

enum feed_what {
	FEED_END,		/* nothing is left */
	FEED_SPAN,		/* a span begins: @span */
	FEED_DATA,		/* @n bytes of source @id */
	FEED_SKIP,		/* @n bytes that belong to no frame, @cause says why */
	FEED_BREAK,		/* barrier in the frames: all sources start afresh */
	FEED_SPAN_END		/* all of @span was given; @n bytes of it are the frames' own */
};

struct feed_piece {
	enum feed_what what;
	uint8_t id;		/* trace id; TPIU_ID_* */
	uint16_t cause;		/* enum hwt_gap_cause */
	/* place in the trace buffer's numbering; of bytes in frames: see feed_next() */
	uint64_t off;
	uint64_t n;		/* bytes */
	const uint8_t *p;	/* DATA, SKIP; valid until the next call */
	const struct trace_span *span;
};

struct feed {
	const struct trace_buf *buf;
	size_t span;		/* current one */
	uint64_t at;		/* bytes of it that were taken */
	uint64_t told;		/* of them the system was told that they are done */
	uint64_t own;		/* bytes of it that were given as DATA or SKIP */
	uint8_t state;
	uint8_t id;		/* of unformatted trace */
	bool brk;		/* a barrier follows the runs */
	struct tpiu t;
	uint64_t skipped;	/* of t.st.skipped, already given */
	int nruns, run;
	struct tpiu_run runs[FEED_RUNS];
};

/* @buf must outlive @f. */
void feed_init(struct feed *f, const struct trace_buf *buf);
/*
 * The next piece. Offsets of bytes inside aligned frames are those that OpenCSD counts: a run's
 * first byte is at the start of the frame, or at the id byte that began it.
 */
void feed_next(struct feed *f, struct feed_piece *out);

#endif
