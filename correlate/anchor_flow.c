/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_flow.h"
#include "anchor_win.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#define BATCH		256
#define USER_END	(1ull << 63)	/* the kernel's addresses are from here on */

/* Reading of both streams. */
struct reader {
	struct anchor_book *book;
	const struct hwt_image *image;
	struct anchor_win w;
	struct anchor_place place[ANCHOR_WINDOW];	/* of the visits in the window */
	struct hwt_stream *flow, *kernel;
	struct hwt_event fe[BATCH], ke[BATCH];
	int nf, f, nk, k;
	int32_t cpu, tid;
	bool hidden;		/* a hole since the last visit */
	bool open;		/* the newest visit waits for what comes behind it */
	bool lost;		/* records were lost since the last one */
	uint64_t last;		/* earliest time of the newest record */
	/* of each record: when the call was over, 0: not known */
	uint64_t done[4 * ANCHOR_WINDOW];
	struct anchor_visit v;
	struct anchor_place at;
};

/* What may be a system call: of some instructions only the code tells. */
static bool is_call(const struct hwt_event *ev)
{
	return (ev->type == HWT_EV_RANGE || ev->type == HWT_EV_INSN) &&
		ev->u.range.kind == HWT_INSN_FAR_CALL && ev->u.range.last < USER_END &&
		!(ev->flags & HWT_F_DOUBT);
}

static bool x86_prefix(uint8_t b)
{
	return b == 0x66 || b == 0x67 || b == 0xf2 || b == 0xf3 || (b & 0xe7) == 0x26 ||
		(b & 0xfe) == 0x64 || (b & 0xf0) == 0x40;
}

/* SYSCALL, SYSENTER, INT 0x80, SVC. Far calls, INT3 and calls of a hypervisor write no record. */
static bool calls_kernel(unsigned isa, const uint8_t *p, size_t n)
{
	switch (isa) {
	case HWT_ISA_X86_64: case HWT_ISA_X86_32: case HWT_ISA_X86_16:
		for (; n > 2 && x86_prefix(*p); n--)
			p++;
		return n == 2 && ((p[0] == 0x0f && (p[1] == 0x05 || p[1] == 0x34)) ||
				  (p[0] == 0xcd && p[1] == 0x80));
	case HWT_ISA_A64:
		return n == 4 && p[3] == 0xd4 && !(p[2] & 0xe0) && (p[0] & 0x1f) == 1;
	case HWT_ISA_A32:
		return n == 4 && (p[3] & 0xf) == 0xf && p[3] >> 4 != 0xf;
	case HWT_ISA_T32:
		return n == 2 && p[1] == 0xdf;
	default:
		return false;
	}
}

/* Whether the instruction that @ev ends with writes a record. -1: not known. */
static int writes_record(const struct reader *r, const struct hwt_event *ev)
{
	struct hwt_where w = { .pid = ev->pid,
		.time = anchor_timed(ev) ? ev->time : HWT_TIME_UNKNOWN };
	size_t size = ev->u.range.last_size;
	uint8_t code[16];

	if (!size || size > sizeof(code) ||
	    hwt_image_read(r->image, &w, ev->u.range.last, code, size) != (int)size)
		return -1;
	return calls_kernel(ev->u.range.isa, code, size);
}

/*
 * Intel PT tells a software interrupt as an exception at its address (SDM, "FUP Cases and IP
 * Payload"), and so an interrupt that came before it: INT 0x80 may have been a system call there.
 */
static bool may_be_int(const struct reader *r, const struct hwt_event *ev)
{
	struct hwt_where w = { .pid = ev->pid,
		.time = anchor_timed(ev) ? ev->time : HWT_TIME_UNKNOWN };
	uint64_t from = ev->type == HWT_EV_EXCEPTION ? ev->u.exc.from :
		ev->type == HWT_EV_OFF && ev->flags & HWT_F_CUT ? ev->u.at.addr : HWT_NO_ADDR;
	uint8_t code[2];

	return from < USER_END && hwt_image_read(r->image, &w, from, code, 2) == 2 &&
		code[0] == 0xcd && code[1] == 0x80;
}

/* The open visit is complete: its record was written before @hi. */
static void put_visit(struct reader *r, uint64_t hi)
{
	r->v.t.hi = hi;
	r->place[r->w.nv] = r->at;
	anchor_win_visit(&r->w, &r->v);
	r->open = false;
}

/*
 * Whether @ev came after the record was written. Where the kernel is traced, too, its code between
 * the instruction and the record is seen, so only the program's next code is behind.
 */
static bool is_behind(const struct reader *r, const struct hwt_event *ev)
{
	if (!anchor_timed(ev) || ev->type == HWT_EV_NONE || ev->type == HWT_EV_SCHED_SWITCH)
		return false;
	if (r->at.begin.type == HWT_EV_OFF)
		return true;
	return (ev->type == HWT_EV_RANGE || ev->type == HWT_EV_INSN) &&
		ev->u.range.last < USER_END;
}

static void flow_event(struct reader *r, const struct hwt_event *ev)
{
	int call;

	if (r->open && ev->type == HWT_EV_OFF && r->at.begin.type == HWT_EV_RANGE) {
		r->at.begin = r->at.end = anchor_mark_of(ev);
		return;
	}
	if (r->open && is_behind(r, ev))
		put_visit(r, anchor_end(ev));
	r->hidden |= anchor_hides(ev) || may_be_int(r, ev);
	if (!is_call(ev))
		return;
	call = writes_record(r, ev);
	/* one that may have written a record, or not, is as good as a hole */
	r->hidden |= call < 0;
	if (call <= 0)
		return;
	if (r->open)
		put_visit(r, HWT_TIME_UNKNOWN);
	r->v = (struct anchor_visit){ .t.lo = anchor_timed(ev) ? ev->time : 0,
		.hidden = r->hidden ? ANCHOR_ANY : 0 };
	r->at = (struct anchor_place){ .begin.type = HWT_EV_RANGE, .pid = HWT_NONE,
		.tid = HWT_NONE };
	r->open = true;
	r->hidden = false;
}

/* Visits until the window is full. 1: there are more. */
static int fill_visits(struct reader *r)
{
	/* one event may complete a visit, and another one right behind it */
	while (r->w.nv + 2 <= ANCHOR_WINDOW) {
		if (r->f == r->nf) {
			r->f = 0;
			r->nf = hwt_stream_next(r->flow, r->fe, BATCH);
			if (r->nf <= 0) {
				r->nf = 0;
				if (r->open)
					put_visit(r, HWT_TIME_UNKNOWN);
				return 0;
			}
		}
		flow_event(r, &r->fe[r->f++]);
	}
	return 1;
}

static void kernel_event(struct reader *r, const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;
	const struct hwt_rec *rec = ev->u.rec.data;
	bool cpu_wise = r->tid == HWT_NONE;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return;
	if (e->id == HWT_ID_stream_lost)
		r->lost |= !cpu_wise || ev->cpu == r->cpu || ev->cpu == HWT_NONE;
	/* a thread is back in its code when its call is over; a CPU may run another one before */
	if (e->id == HWT_ID_syscall_exit && !cpu_wise && ev->tid == r->tid && r->w.nr &&
	    !r->done[r->w.nr - 1] && anchor_timed(ev))
		r->done[r->w.nr - 1] = ev->time;
	if (e->id != HWT_ID_syscall_enter || (cpu_wise ? ev->cpu != r->cpu : ev->tid != r->tid))
		return;
	r->done[r->w.nr] = 0;
	anchor_win_record(&r->w, &(struct anchor_record){
		.t = { anchor_timed(ev) ? ev->time : 0,
			anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN },
		/* numbers are those of the CPU */
		.hit = cpu_wise && rec->flags & HWT_REC_HIT ? rec->hit : ANCHOR_NO_HIT,
		.lost = r->lost });
	r->lost = false;
	r->last = anchor_timed(ev) ? ev->time : r->last;
}

/* Records that the visits of the window may have written. */
static void fill_records(struct reader *r)
{
	uint64_t until = r->w.nv ? r->w.v[r->w.nv - 1].t.hi : 0;

	/* one more than they can have: the end of the last call stands before it */
	while (anchor_win_room_records(&r->w) && r->last <= until) {
		if (r->k == r->nk) {
			r->k = 0;
			r->nk = hwt_stream_next(r->kernel, r->ke, BATCH);
			if (r->nk <= 0) {
				r->nk = 0;
				return;
			}
		}
		kernel_event(r, &r->ke[r->k++]);
	}
}

static int write_down(struct reader *r, size_t upto)
{
	for (size_t i = r->w.told; i < upto; i++) {
		const struct anchor_match *m = &r->w.m[i];
		struct anchor_place p = r->place[i];
		int rc;

		/* behind the instruction there is code that ran before the record was written */
		if (m->state != ANCHOR_CERTAIN || p.begin.type != HWT_EV_OFF)
			continue;
		p.upto = r->w.t[m->first].hi;
		p.from = r->w.t[m->first].lo;
		if (r->done[m->first] > p.from)
			p.from = r->done[m->first];
		p.record = r->w.r0 + m->first;
		rc = anchor_book_put(r->book, &p);
		if (rc)
			return rc;
	}
	return 0;
}

static int read_both(struct reader *r)
{
	uint64_t v0, r0;
	size_t upto;
	int more, rc;

	do {
		more = fill_visits(r);
		fill_records(r);
		rc = anchor_win_solve(&r->w, !more, &upto);
		/* numbers that do not rise are no numbers: nothing is known then, which is told */
		if (rc == -EINVAL)
			return anchor_book_done(r->book,
						&(struct anchor_sum){ .contradictions = 1 });
		if (!rc)
			rc = write_down(r, upto);
		if (rc < 0)
			return rc;
		v0 = r->w.v0;
		r0 = r->w.r0;
		anchor_win_slide(&r->w, upto);
		for (size_t i = 0; i < r->w.nv; i++)
			r->place[i] = r->place[i + (size_t)(r->w.v0 - v0)];
		for (size_t j = 0; j < r->w.nr; j++)
			r->done[j] = r->done[j + (size_t)(r->w.r0 - r0)];
	} while (more);
	return anchor_book_done(r->book, &r->w.sum);
}

int anchor_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		    const struct hwt_image *image, int32_t cpu, int32_t tid)
{
	struct reader *r = calloc(1, sizeof(*r));
	int rc = r ? anchor_win_init(&r->w) : -ENOMEM;

	if (!rc)
		rc = anchor_book_open(&r->book);
	if (!rc) {
		r->image = image;
		r->flow = flow;
		r->kernel = kernel;
		r->cpu = cpu;
		r->tid = tid;
		rc = read_both(r);
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
