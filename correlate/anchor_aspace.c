/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_aspace.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "anchor_win.h"

#define BATCH		256
#define CHANGES		(4 * ANCHOR_WINDOW)
#define USER_END	(1ull << 63)	/* the kernel's addresses are from here on */
#define NO_SPACE	UINT64_MAX
#define CR3_BITS	0x1fffull	/* PCID, PCD, PWT (SDM vol. 3, 2.5), PTI's page */

/* A switch that must change the address space, and who comes. */
struct to { uint64_t number; int32_t pid, tid; };

struct reader {
	struct anchor_book *book;
	struct anchor_win w;		/* visits are switches, records are changes */
	struct anchor_place change[CHANGES];
	struct to to[ANCHOR_WINDOW];
	struct hwt_stream *flow, *kernel;
	struct hwt_event fe[BATCH], ke[BATCH];
	int nf, f, nk, k;
	bool flow_over, kernel_over;
	int32_t cpu;
	bool cr3;
	/* of flow */
	uint64_t off, id;		/* newest offset, address space */
	bool back, lost, user, known;
	struct anchor_mark begin;	/* the first event behind the program's last code */
	/* of the kernel */
	uint64_t switches;
	uint64_t space;			/* of the program that ran last, NO_SPACE: not known */
	bool open;			/* the newest visit waits for the next switch */
	struct anchor_visit v;
	struct to next;
};

/* What switches and changes are compared by: two spaces of one kind only leave more possible. */
static uint32_t kind(const struct reader *r, uint64_t aspace)
{
	/* a program and the kernel may have page tables side by side */
	return (uint32_t)((r->cr3 ? aspace & ~CR3_BITS : aspace) * 0x9e3779b97f4a7c15 >> 56);
}

/* --- changes --- */

static void put_change(struct reader *r, const struct hwt_event *ev)
{
	struct anchor_place *p = &r->change[r->w.nr];

	*p = (struct anchor_place){ .begin = r->begin, .end = anchor_mark_of(ev),
		.t = { anchor_timed(ev) ? ev->time : 0,
			anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN } };
	anchor_win_record(&r->w, &(struct anchor_record){ .t = p->t,
		.site = kind(r, ev->u.aspace.id), .lost = r->lost });
	r->lost = false;
}

static void flow_event(struct reader *r, const struct hwt_event *ev)
{
	if (ev->type == HWT_EV_NONE)
		return;
	if (ev->type != HWT_EV_GAP) {
		r->back |= ev->off < r->off;
		r->off = ev->off;
	}
	if (anchor_hides(ev)) {
		r->lost = true;
		r->known = false;
	}
	if (r->user)
		r->begin = anchor_mark_of(ev);
	r->user = (ev->type == HWT_EV_RANGE || ev->type == HWT_EV_INSN) &&
		ev->u.range.last < USER_END;
	if (ev->type != HWT_EV_ASPACE || !(ev->u.aspace.valid & 1) ||
	    (r->known && ev->u.aspace.id == r->id))
		return;
	r->id = ev->u.aspace.id;
	r->known = true;
	put_change(r, ev);
}

static void fill_changes(struct reader *r)
{
	while (!r->flow_over && anchor_win_room_records(&r->w)) {
		if (r->f == r->nf) {
			r->f = 0;
			r->nf = hwt_stream_next(r->flow, r->fe, BATCH);
			if (r->nf <= 0) {
				r->nf = 0;
				r->flow_over = true;
				return;
			}
		}
		flow_event(r, &r->fe[r->f++]);
	}
}

/* --- switches --- */

static void put_switch(struct reader *r, uint64_t hi)
{
	r->v.t.hi = hi;
	r->to[r->w.nv] = r->next;
	anchor_win_visit(&r->w, &r->v);
	r->open = false;
}

static void kernel_event(struct reader *r, const struct hwt_event *ev)
{
	const struct hwt_rec_sched_switch *s = ev->u.rec.data;
	const struct hwt_abi_event *e;

	if (ev->type != HWT_EV_RECORD || (ev->cpu != r->cpu && ev->cpu != HWT_NONE) ||
	    ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return;
	if (e->id == HWT_ID_stream_lost) {
		if (r->open)
			put_switch(r, HWT_TIME_UNKNOWN);
		r->space = NO_SPACE;
	}
	if (e->id != HWT_ID_sched_switch || ev->cpu != r->cpu || ev->u.rec.size < sizeof(*s))
		return;
	/* the change was made before the next switch was told */
	if (r->open)
		put_switch(r, anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN);
	r->switches++;
	/* a kernel thread, and a task that has given back its own, borrow that of the one before */
	if (!s->next_aspace || s->next_aspace == NO_SPACE)
		return;
	if (r->space != NO_SPACE && r->space != s->next_aspace) {
		r->v = (struct anchor_visit){ .t.lo = anchor_timed(ev) ? ev->time : 0,
			.site = kind(r, s->next_aspace),
			.hidden = ANCHOR_ANY };
		r->next = (struct to){ r->switches - 1, s->next_pid, s->next_tid };
		r->open = true;
	}
	r->space = s->next_aspace;
}

/* Switches that the changes of the window may be of. */
static void fill_switches(struct reader *r)
{
	uint64_t until = r->flow_over || !r->w.nr ? HWT_TIME_UNKNOWN :
		r->w.r[r->w.nr - 1].t.lo;

	while (!r->kernel_over && r->w.nv + 2 <= ANCHOR_WINDOW &&
	       (!r->w.nv || r->w.v[r->w.nv - 1].t.lo <= until)) {
		if (r->k == r->nk) {
			r->k = 0;
			r->nk = hwt_stream_next(r->kernel, r->ke, BATCH);
			if (r->nk <= 0) {
				r->nk = 0;
				r->kernel_over = true;
				if (r->open)
					put_switch(r, HWT_TIME_UNKNOWN);
				return;
			}
		}
		kernel_event(r, &r->ke[r->k++]);
	}
}

/* --- both --- */

static int write_down(struct reader *r, size_t upto)
{
	for (size_t i = r->w.told; i < upto; i++) {
		const struct anchor_match *m = &r->w.m[i];
		struct anchor_place p;
		int rc;

		if (m->state != ANCHOR_CERTAIN)
			continue;
		/* the program's code before it ran before the record was written */
		p = r->change[m->first];
		p.upto = r->w.v[i].t.lo;
		p.from = r->w.v[i].t.lo;
		p.record = r->to[i].number;
		p.pid = p.tid = HWT_NONE;
		/* nobody else came until the next one that is as certain */
		if (i + 1 < r->w.nv && r->w.m[i + 1].state == ANCHOR_CERTAIN &&
		    r->to[i + 1].number == p.record + 1) {
			p.pid = r->to[i].pid;
			p.tid = r->to[i].tid;
		}
		rc = anchor_book_put(r->book, &p);
		if (rc)
			return rc;
	}
	return 0;
}

static int decide(struct reader *r, bool all)
{
	uint64_t v0 = r->w.v0, r0 = r->w.r0;
	size_t upto;
	int rc = anchor_win_solve(&r->w, all, &upto);

	if (!rc)
		rc = write_down(r, upto);
	if (rc < 0)
		return rc;
	anchor_win_slide(&r->w, upto);
	for (size_t i = 0; i < r->w.nv; i++)
		r->to[i] = r->to[i + (size_t)(r->w.v0 - v0)];
	for (size_t j = 0; j < r->w.nr; j++)
		r->change[j] = r->change[j + (size_t)(r->w.r0 - r0)];
	return 0;
}

static int read_both(struct reader *r)
{
	bool all;

	do {
		int rc;

		fill_changes(r);
		fill_switches(r);
		all = r->flow_over && r->kernel_over;
		rc = decide(r, all);
		if (rc < 0)
			return rc;
		/* more trace than the records can say anything of */
		if (r->kernel_over && !r->flow_over && !r->w.nv)
			r->w.nr = 0;
	} while (!all);
	if (r->back)
		return -ENOTSUP;
	return anchor_book_done(r->book, &r->w.sum);
}

/* Whether switches tell the address space: one of the first does, or none. */
static bool tells_spaces(struct reader *r)
{
	bool seen = false;

	while (!seen && (r->nk = hwt_stream_next(r->kernel, r->ke, BATCH)) > 0) {
		for (int i = 0; i < r->nk; i++) {
			const struct hwt_rec_sched_switch *s = r->ke[i].u.rec.data;

			if (r->ke[i].type != HWT_EV_RECORD ||
			    r->ke[i].u.rec.id != HWT_ID_sched_switch ||
			    r->ke[i].u.rec.size < sizeof(*s))
				continue;
			if (s->next_aspace && s->next_aspace != NO_SPACE)
				return true;
			seen = true;
		}
	}
	return false;
}

int aspace_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		    int32_t cpu, bool cr3)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? anchor_win_init(&r->w) : -ENOMEM;

	if (!rc)
		rc = anchor_book_open(&r->book);
	if (!rc) {
		r->flow = flow;
		r->kernel = kernel;
		r->cpu = cpu;
		r->cr3 = cr3;
		r->space = NO_SPACE;
		rc = tells_spaces(r) ? read_both(r) :
			anchor_book_done(r->book, &(struct anchor_sum){ 0 });
		if (rc < 0)
			anchor_book_free(r->book);
		else
			*out = r->book;
	}
	hwt_stream_close(flow);
	hwt_stream_close(kernel);
	if (r)
		anchor_win_free(&r->w);
	free(r);
	return rc;
}
