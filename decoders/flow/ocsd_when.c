/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_when.h"

#include "ocsd_lib.h"

int when_open(struct when *w, struct hwt_image *image, const struct src *s,
	      const struct trace_buf *buf)
{
	*w = (struct when){ .image = image, .span = HWT_TIME_UNKNOWN, .lo = HWT_TIME_UNKNOWN,
			    .hi = HWT_TIME_UNKNOWN, .packet = HWT_TIME_UNKNOWN,
			    .late = s->cfg->r.etm4.idr8 };
	if (!s->map)
		return 0;	/* ticks of another clock say nothing of the image's time */
	return ahead_new(&w->ahead, s, buf);
}

void when_close(struct when *w)
{
	ahead_free(w->ahead);
	w->ahead = NULL;
}

static uint64_t earliest(const struct when *w, const struct src *s)
{
	return w->late ? s->time : w->packet;
}

/* A new interval from @lo on, in a packet at @off. */
static void begin(struct when *w, const struct src *s, uint64_t off, uint64_t lo)
{
	w->lo = lo;
	w->change = image_code_change(w->image, s->code_pid, lo);
	/* what never changes again needs no end */
	w->hi = w->change == HWT_TIME_UNKNOWN ? lo : ahead_next(w->ahead, off, w->packet);
}

void when_span(struct when *w, const struct src *s, uint64_t off, uint64_t time)
{
	uint64_t lo = earliest(w, s);

	if (w->ahead && w->packet == HWT_TIME_UNKNOWN &&
	    ahead_next(w->ahead, off, HWT_TIME_UNKNOWN) == HWT_TIME_UNKNOWN) {
		cslib_lock();
		when_close(w);		/* no timestamps come */
		cslib_unlock();
	}
	/* before the first timestamp: not before the span before */
	if (lo == HWT_TIME_UNKNOWN)
		lo = w->span != HWT_TIME_UNKNOWN ? w->span : 0;
	if (w->ahead)
		begin(w, s, off, lo);
	w->span = time;
}

/* The interval moved; true if other code may hold now. */
static bool move(struct when *w, const struct src *s, uint64_t off)
{
	uint64_t lo = earliest(w, s);

	if (lo == HWT_TIME_UNKNOWN)
		lo = w->lo;
	if (w->change == HWT_TIME_UNKNOWN) {
		w->lo = w->hi = lo;
		return false;
	}
	w->lo = lo;
	w->hi = ahead_next(w->ahead, off, w->packet);
	if (w->change > w->hi)
		return false;
	begin(w, s, off, lo);
	return true;
}

bool when_packet(struct when *w, const struct src *s, uint64_t off, uint64_t ticks)
{
	uint64_t t;

	if (!w->ahead)
		return false;
	t = time_map_ns_ordered(s->map, ticks);
	if (w->packet == HWT_TIME_UNKNOWN || t > w->packet)
		w->packet = t;
	return move(w, s, off);
}

bool when_time(struct when *w, const struct src *s)
{
	return w->ahead && w->late && move(w, s, s->last_off);
}

void when_owner(struct when *w, const struct src *s, uint64_t off)
{
	if (w->ahead)
		begin(w, s, off, w->lo);
}

struct hwt_where when_where(const struct when *w, int32_t pid, uint32_t space)
{
	return (struct hwt_where){ .pid = pid, .space = space,
				   .time = w->ahead ? w->lo : w->span };
}

int when_read(const struct when *w, int32_t pid, uint32_t space, uint64_t addr, void *buf,
	      size_t n, uint64_t *differs)
{
	struct hwt_where at = when_where(w, pid, space);

	*differs = HWT_NO_ADDR;
	if (!w->ahead)
		return hwt_image_read(w->image, &at, addr, buf, n);
	return image_read_during(w->image, &at, w->hi, addr, buf, n, differs);
}
