/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_STREAM_H
#define HWTRACE_STREAM_H

/*
 * A stream of events, pulled by its consumer.
 *
 * hwt_stream_next() works like read(2): it fills at most @max events and returns how many; 0 is the
 * end of the stream, -EAGAIN means that a live stream has nothing now, any other negative value is
 * final. Damaged trace data is no error: it is reported in the stream as HWT_EV_GAP.
 *
 * Times of one CPU in one stream never go backwards. Pointers inside events stay valid until the
 * next call on the same stream. A stream built on another one owns it: closing the top closes the
 * chain. A constructor that fails closes what it was given.
 */
#include <stddef.h>

#include <hwtrace/event.h>

struct hwt_stream;

struct hwt_stream_ops {
	int  (*next)(struct hwt_stream *s, struct hwt_event *ev, int max);
	void (*close)(struct hwt_stream *s);
};

struct hwt_stream {
	const struct hwt_stream_ops *ops;
	const char *name;		/* for diagnostics, borrowed */
};

static inline int hwt_stream_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	return s->ops->next(s, ev, max);
}

static inline void hwt_stream_close(struct hwt_stream *s)
{
	if (s)
		s->ops->close(s);
}

#define hwt_container_of(ptr, type, member) ((type *)((char *)(ptr) - offsetof(type, member)))

#endif
