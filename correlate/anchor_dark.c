/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_dark.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#define BATCH		256
#define USER_END	(1ull << 63)	/* the kernel's addresses are from here on */

/* A time in which no code of the program is seen: begun at @lo or later, over at @hi or before. */
struct dark {
	uint64_t lo, hi;
	struct anchor_mark off;
	bool told;		/* flow tells its begin and its end; else it is a hole */
	/* what ran before it was over then; what runs behind it began then; 0: not known */
	uint64_t upto, from;
	bool says;		/* who comes behind it is not who was there before: */
	int32_t pid, tid;	/* HWT_NONE: not known */
};

struct reader {
	struct anchor_book *book;
	struct hwt_stream *flow, *kernel;
	struct hwt_event fe[BATCH], ke[BATCH];
	int nf, f, nk, k;
	int32_t cpu, tid;
	int32_t pid, tid_now;	/* who runs behind the last one that was written down */
	bool flow_over, seen_kernel;
	/* of flow */
	uint64_t last;		/* earliest instant of the newest event */
	bool open;		/* the newest dark time is not over */
	struct dark now;
	/* not written down yet, in a ring */
	struct dark dark[DARK_WINDOW];
	uint64_t first, end;	/* numbers of the oldest one, and behind the newest */
	uint64_t cur;		/* the last one that the newest record can be of */
	uint64_t forgotten;	/* latest end of one that was written down for want of room */
	uint64_t newest;	/* earliest instant of the newest record */
	bool lost;		/* records of the CPU were lost since the last switch */
	struct anchor_sum sum;
};

static struct dark *at(struct reader *r, uint64_t i)
{
	return &r->dark[i % DARK_WINDOW];
}

/* --- dark times --- */

/* Who runs is told until the next place, or a hole. */
static int write_down(struct reader *r)
{
	const struct dark *d = at(r, r->first++);
	struct anchor_place p = { .begin = d->off, .end = d->off, .t = { d->lo, d->hi },
		.upto = d->upto ? d->upto : HWT_TIME_UNKNOWN,
		.from = d->from > d->lo ? d->from : d->lo,
		.record = UINT64_MAX };

	if (r->cur < r->first)
		r->cur = r->first;
	if (d->says) {
		r->pid = d->pid;
		r->tid_now = d->tid;
	}
	p.pid = r->pid;
	p.tid = r->tid_now;
	if (!d->told)
		r->pid = r->tid_now = HWT_NONE;
	if (!d->told || (!d->upto && !d->from && !d->says))
		return 0;
	return anchor_book_put(r->book, &p);
}

static void set_next(struct dark *d, int32_t pid, int32_t tid)
{
	d->says = true;
	d->pid = pid;
	d->tid = tid;
}

/* The newest one is over at @hi at the latest. */
static int push(struct reader *r, uint64_t hi)
{
	int rc = 0;

	r->open = false;
	r->now.hi = hi;
	if (r->end - r->first == DARK_WINDOW) {
		if (at(r, r->first)->hi > r->forgotten)
			r->forgotten = at(r, r->first)->hi;
		/* somebody may have come there of whom the record that is looked at tells */
		set_next(at(r, r->first), HWT_NONE, HWT_NONE);
		rc = write_down(r);
	}
	/* those before were over before */
	for (uint64_t i = r->end; i > r->first && at(r, i - 1)->hi > hi; i--)
		at(r, i - 1)->hi = hi;
	*at(r, r->end++) = r->now;
	return rc;
}

static void begin(struct reader *r, const struct hwt_event *ev)
{
	r->open = true;
	r->now = (struct dark){ .lo = r->last, .pid = HWT_NONE, .tid = HWT_NONE,
		.says = r->lost };
	if (!ev || ev->type != HWT_EV_OFF)
		return;
	r->now.told = true;
	r->now.off = anchor_mark_of(ev);
}

static int flow_event(struct reader *r, const struct hwt_event *ev)
{
	bool code = ev->type == HWT_EV_RANGE || ev->type == HWT_EV_INSN;

	if (ev->type == HWT_EV_NONE || ev->type == HWT_EV_SCHED_SWITCH)
		return 0;
	if (anchor_timed(ev) && ev->time > r->last)
		r->last = ev->time;
	r->seen_kernel |= code && ev->u.range.last >= USER_END;
	if (anchor_hides(ev)) {
		if (!r->open)
			begin(r, NULL);
		r->now.told = false;
		/* what begins again is behind the hole */
		return ev->type == HWT_EV_ON ? push(r, anchor_timed(ev) ? anchor_end(ev) :
						    HWT_TIME_UNKNOWN) : 0;
	}
	if (ev->type == HWT_EV_OFF) {
		if (!r->open)
			begin(r, ev);
		return 0;
	}
	if (r->open && (code || ev->type == HWT_EV_ON))
		return push(r, anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN);
	return 0;
}

/* Dark times until one begins later than @t. */
static int fill(struct reader *r, uint64_t t)
{
	int rc = 0;

	while (!rc && !r->flow_over && !r->seen_kernel &&
	       (r->first == r->end || at(r, r->end - 1)->lo <= t)) {
		if (r->f == r->nf) {
			r->f = 0;
			r->nf = hwt_stream_next(r->flow, r->fe, BATCH);
		}
		if (r->nf > 0) {
			rc = flow_event(r, &r->fe[r->f++]);
			continue;
		}
		r->nf = 0;
		r->flow_over = true;
		if (!r->open)
			begin(r, NULL);
		r->now.told = false;
		rc = push(r, HWT_TIME_UNKNOWN);
	}
	return rc;
}

/* --- records --- */

/* The kernel writes these where it tells them, on the CPU that it tells. */
static bool is_written(unsigned id)
{
	switch (id >> 8) {
	case HWT_SECTION_irq: case HWT_SECTION_softirq: case HWT_SECTION_syscall:
	case HWT_SECTION_timer:
		return true;
	}
	return id == HWT_ID_sched_switch || id == HWT_ID_sched_waking ||
		id == HWT_ID_sched_wakeup || id == HWT_ID_sched_wakeup_new ||
		id == HWT_ID_sched_migrate || id == HWT_ID_mm_fault;
}

static bool is_switch(const struct hwt_event *ev)
{
	return ev->u.rec.id == HWT_ID_sched_switch &&
		ev->u.rec.size >= sizeof(struct hwt_rec_sched_switch);
}

/* Told by who is not running its own code then: the task itself, or the CPU. */
static bool is_ours(const struct reader *r, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_switch *s = ev->u.rec.data;

	if (r->tid == HWT_NONE)
		return ev->cpu == r->cpu;
	return ev->tid == r->tid || (is_switch(ev) && s->next_tid == r->tid);
}

/* Behind each dark time from here on somebody may have come whose switch is not there. */
static void lose(struct reader *r)
{
	for (uint64_t i = r->first; i < r->end; i++)
		set_next(at(r, i), HWT_NONE, HWT_NONE);
	r->now.says = true;
	r->now.pid = r->now.tid = HWT_NONE;
	r->lost = true;
}

/* It may have come behind any that the record can be of; behind the last one it was there. */
static void come(struct reader *r, const struct hwt_rec_sched_switch *s)
{
	for (uint64_t i = r->first; i < r->cur; i++)
		set_next(at(r, i), HWT_NONE, HWT_NONE);
	set_next(at(r, r->cur), s->next_pid, s->next_tid);
	/* what was said of times after it was said for want of it */
	for (uint64_t i = r->cur + 1; r->lost && i < r->end; i++)
		at(r, i)->says = false;
	r->now.says = r->lost && r->open ? false : r->now.says;
	r->lost = false;
}

static int record(struct reader *r, const struct hwt_event *ev)
{
	uint64_t lo = ev->time, hi = anchor_end(ev);
	struct dark *first, *last;
	int rc;

	/* not in order: it says nothing, but that somebody came */
	if (lo < r->newest) {
		if (is_switch(ev))
			lose(r);
		return 0;
	}
	r->newest = lo;
	rc = fill(r, hi);
	if (rc || r->seen_kernel)
		return rc;
	while (!rc && r->first != r->end && at(r, r->first)->hi < lo)
		rc = write_down(r);
	if (rc)
		return rc;
	if (r->first == r->end || at(r, r->first)->lo > hi) {
		/* it was of one that was left for want of room, or of none */
		r->sum.contradictions += lo > r->forgotten;
		return 0;
	}
	while (r->cur + 1 < r->end && at(r, r->cur + 1)->lo <= hi)
		r->cur++;
	while (r->cur > r->first && at(r, r->cur)->lo > hi)
		r->cur--;
	first = at(r, r->first);
	last = at(r, r->cur);
	if (lo > r->forgotten && (!first->upto || hi < first->upto))
		first->upto = hi;
	if (lo > last->from)
		last->from = lo;
	r->sum.certain += first == last;
	r->sum.possible += first != last;
	if (is_switch(ev) && r->tid == HWT_NONE)
		come(r, ev->u.rec.data);
	return 0;
}

static int kernel_event(struct reader *r, const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return 0;
	if (e->id == HWT_ID_stream_lost && (ev->cpu == r->cpu || ev->cpu == HWT_NONE))
		lose(r);
	if (!is_written(e->id) || !is_ours(r, ev))
		return 0;
	if (anchor_timed(ev) && anchor_end(ev) != HWT_TIME_UNKNOWN)
		return record(r, ev);
	/* somebody came, and nobody knows when */
	if (is_switch(ev))
		lose(r);
	return 0;
}

static int read_both(struct reader *r)
{
	int rc = 0;

	while (!rc && !r->seen_kernel && (r->nk = hwt_stream_next(r->kernel, r->ke, BATCH)) > 0)
		for (r->k = 0; !rc && r->k < r->nk; r->k++)
			rc = kernel_event(r, &r->ke[r->k]);
	while (!rc && r->first != r->end)
		rc = write_down(r);
	return rc;
}

int dark_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		  int32_t cpu, int32_t tid)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? anchor_book_open(&r->book) : -ENOMEM;
	bool none = false;

	if (!rc) {
		r->flow = flow;
		r->kernel = kernel;
		r->cpu = cpu;
		r->tid = tid;
		r->pid = r->tid_now = HWT_NONE;
		/* before the first of it nothing of the program is seen */
		begin(r, NULL);
		rc = read_both(r);
		none = r->seen_kernel;
	}
	if (!rc && (none || r->sum.contradictions)) {
		anchor_book_free(r->book);
		r->book = NULL;
		r->sum = (struct anchor_sum){
			.contradictions = none ? 0 : r->sum.contradictions };
		rc = anchor_book_open(&r->book);
	}
	hwt_stream_close(flow);
	hwt_stream_close(kernel);
	if (!rc)
		rc = anchor_book_done(r->book, &r->sum);
	if (rc < 0 && r)
		anchor_book_free(r->book);
	else if (r)
		*out = r->book;
	free(r);
	return rc;
}
