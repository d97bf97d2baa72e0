/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_OCSD_WHEN_H
#define HWT_FLOW_OCSD_WHEN_H

/*
 * Which version of the code a trace source runs. Where the trace has timestamps on the base clock
 * and code changes with time, it is what all versions between the timestamp before and the one
 * behind agree on; else the code at the time that the recorder says of the span.
 *
 * The library reads code when it is at a packet, and tells the elements later. Without speculation
 * (TRCIDR8.MAXSPEC 0) it is the code of that packet; with it, of any since the last element.
 */
#include "ocsd_ahead.h"

struct when {
	struct hwt_image *image;
	struct ahead *ahead;	/* NULL: the span's time */
	uint64_t span;		/* base ns, HWT_TIME_UNKNOWN: newest code */
	uint64_t lo, hi;	/* the code is asked for in this interval */
	uint64_t packet;	/* latest timestamp packet, HWT_TIME_UNKNOWN */
	bool late;		/* with speculation */
	uint64_t change;	/* the first change after what was asked for */
};

/* 0 or -ENOMEM. @image, @s and @buf must outlive @w. Under cslib_lock(). */
int when_open(struct when *w, struct hwt_image *image, const struct src *s,
	      const struct trace_buf *buf);
void when_close(struct when *w);	/* under cslib_lock() */
/* A span begins at offset @off; @time is the recorder's. The source was at @s->time. */
void when_span(struct when *w, const struct src *s, uint64_t off, uint64_t time);
/* A timestamp packet at offset @off. True if other code may hold now. */
bool when_packet(struct when *w, const struct src *s, uint64_t off, uint64_t ticks);
/* A timestamp was told: @s->time. True as above. */
bool when_time(struct when *w, const struct src *s);
/* Another process runs from offset @off on; what was asked for is void. */
void when_owner(struct when *w, const struct src *s, uint64_t off);
/*
 * hwt_image_read() of what ran; ends where it is not known which of several versions did:
 * *@differs, or HWT_NO_ADDR.
 */
int when_read(const struct when *w, int32_t pid, uint32_t space, uint64_t addr, void *buf,
	      size_t n, uint64_t *differs);
/* For questions about code that did run: other versions of it are the same. */
struct hwt_where when_where(const struct when *w, int32_t pid, uint32_t space);

#endif
