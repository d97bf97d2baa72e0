/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_ahead.h"

#include <errno.h>
#include <stdlib.h>

#include "ocsd_feed.h"
#include "ocsd_lib.h"

#define STEP	32u	/* bytes given at a time, so that all their timestamps have room */
#define QUEUE	64	/* timestamps; a power of two; one has two bytes at least */

struct ahead {
	struct feed feed;
	struct cslib_dec *lib;
	const struct time_map *map;
	struct src where;	/* only for its place in the buffer */
	bool framed, done;
	uint8_t id;
	const uint8_t *p;	/* rest of the piece */
	uint64_t left;
	unsigned head, tail;
	struct { uint64_t off, time; } queue[QUEUE];
};

static void on_packet(void *ctx, const struct cslib_packet *p)
{
	struct ahead *a = ctx;

	if (!p->has_time)
		return;
	if (a->head - a->tail == QUEUE)
		a->tail++;	/* can not be: a step makes fewer */
	a->queue[a->head % QUEUE].off = src_off(&a->where, p->index);
	a->queue[a->head++ % QUEUE].time = time_map_ns_ordered(a->map, p->time);
}

int ahead_new(struct ahead **out, const struct src *s, const struct trace_buf *buf)
{
	static const struct cslib_calls calls = { .packet = on_packet };
	struct ahead *a;
	int32_t refused;
	int rc;

	*out = NULL;
	if (s->cfg->proto != HWT_PROTO_ETM4 && s->cfg->proto != HWT_PROTO_ETE)
		return 0;
	a = calloc(1, sizeof(*a));
	if (!a)
		return -ENOMEM;
	rc = cslib_open(&a->lib, s->cfg, &calls, a, &refused);
	if (rc < 0 || !a->lib) {
		free(a);
		return rc;
	}
	a->map = s->map;
	a->framed = buf->framing != FRAMING_NONE;
	a->id = s->id;
	feed_init(&a->feed, buf);
	*out = a;
	return 0;
}

void ahead_free(struct ahead *a)
{
	if (a)
		cslib_close(a->lib);
	free(a);
}

static void give(struct ahead *a)
{
	uint32_t n = a->left < STEP ? (uint32_t)a->left : STEP, used = 0;
	int32_t code;

	if (cslib_data(a->lib, a->where.base, a->p, n, &used, &code) == CSLIB_FATAL)
		cslib_reset(a->lib);
	if (!used || used > n)
		used = n;
	a->where.base += used;
	a->p += used;
	a->left -= used;
}

static void step(struct ahead *a)
{
	struct feed_piece pc;

	if (a->left) {
		give(a);
		return;
	}
	feed_next(&a->feed, &pc);
	switch (pc.what) {
	case FEED_DATA:
		if (a->framed && pc.id != a->id)
			break;
		a->p = pc.p;
		a->left = pc.n;
		a->where.base = pc.off;
		break;
	case FEED_BREAK:
	case FEED_SPAN_END:
		cslib_reset(a->lib);
		break;
	case FEED_END:
		a->done = true;
		break;
	default:
		break;
	}
}

uint64_t ahead_next(struct ahead *a, uint64_t off, uint64_t time)
{
	for (;;) {
		for (; a->tail != a->head; a->tail++) {
			unsigned i = a->tail % QUEUE;

			if (a->queue[i].off >= off &&
			    (time == HWT_TIME_UNKNOWN || a->queue[i].time > time))
				return a->queue[i].time;
		}
		if (a->done)
			return HWT_TIME_UNKNOWN;
		step(a);
	}
}
