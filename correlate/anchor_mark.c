/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_mark.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#define BATCH		256
#define USER_END	(1ull << 63)	/* the kernel's addresses are from here on */

struct rec {
	uint64_t value, ip;
	struct hwt_interval t;
	uint64_t number;	/* among those that were looked at */
	int32_t tid, cpu;
	uint32_t channel;
	bool twice;		/* of both sides: the number does not tell which */
	bool seen;		/* in flow */
};

/* A system call; @off is of no type where the kernel is traced, too. */
struct call {
	struct hwt_interval t;
	uint64_t ip;		/* behind the instruction */
	struct anchor_mark off;
};

struct tie { const struct rec *r; struct call c; };

/* From @in to @out thread @tid, and nobody else, ran on the CPU. */
struct turn { uint64_t in, out; int32_t tid; };

struct reader {
	struct anchor_sum sum;
	struct rec *rec;
	size_t nrec;
	bool lost, full;	/* records; room for them */
	struct tie *tie;	/* in order of flow */
	size_t ntie;
	/* calls behind the mark before the newest one; from @at on behind the newest one */
	struct call call[MARK_CALLS];
	size_t ncall, at;
	bool broken[2];		/* not all calls before, behind the newest mark are there */
	bool open;		/* the newest call waits for what comes behind it */
	struct rec *cur;	/* of the newest mark, NULL: none */
	bool begun;		/* code was seen */
	bool hole;		/* of a thread's buffer; of a CPU's, in this turn */
	bool plain;		/* of a unit of marks alone: there are no calls */
	uint8_t id;		/* of that unit, where others share its buffer; 0: none does */
	uint64_t off;		/* of the newest mark of such a unit */
	uint64_t newest;	/* time of the newest record */
	/* of a CPU's buffer */
	int32_t cpu, tid;
	struct turn *turn;
	size_t nturn, now;	/* the one that flow is in, or comes to */
	bool inside;
	size_t tied;		/* before this turn */
};

/* --- records --- */

/* Who comes is known from its switch on, up to the next one; nobody where one may be lost. */
static void switched(struct reader *r, const struct hwt_event *ev, bool lost)
{
	const struct hwt_rec_sched_switch *s = ev->u.rec.data;
	struct turn *last = r->nturn ? &r->turn[r->nturn - 1] : NULL;
	bool timed = anchor_timed(ev) && anchor_end(ev) != HWT_TIME_UNKNOWN;

	if (!r->turn || (ev->cpu != r->cpu && !(lost && ev->cpu == HWT_NONE)))
		return;
	if (last && last->out == HWT_TIME_UNKNOWN) {
		last->out = timed ? ev->time : last->in;
		/* what was lost was so since the record before, which is not known here */
		if (lost || s->prev_tid != last->tid)
			r->nturn--;
	}
	if (lost || !timed || ev->u.rec.size < sizeof(*s) || r->nturn == MARK_TURNS)
		return;
	r->turn[r->nturn++] = (struct turn){ anchor_end(ev), HWT_TIME_UNKNOWN, s->next_tid };
}

static void record(struct reader *r, const struct hwt_event *ev)
{
	const struct hwt_rec_user_mark *m = ev->u.rec.data;
	const struct hwt_abi_event *e;

	if (ev->type != HWT_EV_RECORD || ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return;
	r->lost |= e->id == HWT_ID_stream_lost;
	if (anchor_timed(ev) && ev->time > r->newest)
		r->newest = ev->time;
	if (e->id == HWT_ID_stream_lost || e->id == HWT_ID_sched_switch)
		switched(r, ev, e->id == HWT_ID_stream_lost);
	if (e->id != HWT_ID_user_mark || ev->u.rec.size < sizeof(*m) ||
	    (r->tid != HWT_NONE && ev->tid != r->tid))
		return;
	if (r->nrec == MARK_RECORDS) {
		r->full = true;
		return;
	}
	r->rec[r->nrec] = (struct rec){ .value = m->value, .ip = m->ip, .number = r->nrec,
		.tid = ev->tid, .cpu = ev->cpu, .channel = m->channel,
		.t = { anchor_timed(ev) ? ev->time : 0,
			anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN } };
	r->nrec++;
}

static int by_value(const void *a, const void *b)
{
	const struct rec *x = a, *y = b;

	if (x->value == y->value && x->tid != y->tid)
		return x->tid < y->tid ? -1 : 1;
	return x->value != y->value ? (x->value < y->value ? -1 : 1) :
		x->number < y->number ? -1 : x->number > y->number;
}

static void read_records(struct reader *r, struct hwt_stream *kernel)
{
	struct hwt_event ev[BATCH];
	int n;

	while ((n = hwt_stream_next(kernel, ev, BATCH)) > 0)
		for (int i = 0; i < n; i++)
			record(r, &ev[i]);
	/* what could not be read on may have held more */
	r->lost |= n < 0;
	if (r->nturn && r->turn[r->nturn - 1].out == HWT_TIME_UNKNOWN)
		r->turn[r->nturn - 1].out = r->newest;
	qsort(r->rec, r->nrec, sizeof(*r->rec), by_value);
	for (size_t i = 1; i < r->nrec; i++)
		if (r->rec[i].value == r->rec[i - 1].value &&
		    (r->plain || r->rec[i].tid == r->rec[i - 1].tid))
			r->rec[i].twice = r->rec[i - 1].twice = true;
}

/* The first one of the value, NULL: none. */
static struct rec *find(struct reader *r, uint64_t value)
{
	size_t lo = 0, hi = r->nrec;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (r->rec[mid].value < value)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo < r->nrec && r->rec[lo].value == value ? &r->rec[lo] : NULL;
}

static bool is_ours(const struct reader *r, const struct rec *rec)
{
	const struct turn *t = &r->turn[r->now];

	return !r->turn || (rec->tid == t->tid && rec->cpu == r->cpu && rec->t.lo >= t->in &&
			    rec->t.hi <= t->out);
}

/*
 * A mark of the value is there: more than one of a thread, and none is tied. @inside: it is of who
 * runs, whose record is returned; else it may be anyone's.
 */
static struct rec *see(struct reader *r, uint64_t value, bool inside)
{
	struct rec *rec = find(r, value), *ours = NULL;

	for (; rec && rec < r->rec + r->nrec && rec->value == value; rec++) {
		if (inside && r->turn && rec->tid != r->turn[r->now].tid)
			continue;
		rec->twice |= rec->seen;
		rec->seen = true;
		if (inside && is_ours(r, rec))
			ours = rec;
	}
	return ours;
}

/* --- flow --- */

/* All calls around the newest mark are known now. */
static void finish(struct reader *r)
{
	const struct call *c = NULL;
	size_t n = 0;

	if (!r->cur || r->cur->twice || r->broken[0] || r->broken[1])
		return;
	for (size_t i = 0; i < r->ncall; i++) {
		if (r->call[i].ip != r->cur->ip || r->call[i].t.hi < r->cur->t.lo ||
		    r->call[i].t.lo > r->cur->t.hi)
			continue;
		c = &r->call[i];
		n++;
	}
	if (n == 1 && c->off.type == HWT_EV_OFF)
		r->tie[r->ntie++] = (struct tie){ r->cur, *c };
}

static void mark(struct reader *r, const struct hwt_event *ev)
{
	finish(r);
	for (size_t i = r->at; i < r->ncall; i++)
		r->call[i - r->at] = r->call[i];
	/* one that is still open is not known to end, once it is left behind */
	r->open = r->open && r->ncall > r->at;
	r->ncall -= r->at;
	r->at = r->ncall;
	r->broken[0] = r->broken[1];
	r->broken[1] = false;
	r->cur = see(r, ev->u.mark.value, true);
}

/* Tracing went on, or code of the program ran: the call before it is over. */
static bool is_behind(const struct hwt_event *ev)
{
	return anchor_timed(ev) && (ev->type == HWT_EV_ON || ((ev->type == HWT_EV_RANGE ||
			ev->type == HWT_EV_INSN) && ev->u.range.last < USER_END));
}

static void call(struct reader *r, const struct hwt_event *ev)
{
	r->open = r->ncall < MARK_CALLS;
	if (!r->open) {
		r->broken[1] = true;
		return;
	}
	r->call[r->ncall++] = (struct call){ .ip = ev->u.range.last + ev->u.range.last_size,
		.t = { anchor_timed(ev) ? ev->time : 0, HWT_TIME_UNKNOWN } };
}

/* A mark may be missing there. Before trace begins there are some, but none of its time. */
static bool hides(const struct reader *r, const struct hwt_event *ev)
{
	return (anchor_hides(ev) && (ev->type != HWT_EV_ON || r->begun)) ||
		ev->flags & HWT_F_DOUBT;
}

static void flow_event(struct reader *r, const struct hwt_event *ev)
{
	bool code = ev->type == HWT_EV_RANGE || ev->type == HWT_EV_INSN;

	r->begun |= code;
	if (r->open && is_behind(ev)) {
		r->call[r->ncall - 1].t.hi = anchor_end(ev);
		r->open = false;
	}
	if (anchor_hides(ev) || (code && ev->flags & HWT_F_DOUBT)) {
		r->broken[1] = true;
		r->hole |= hides(r, ev);
		r->open = false;
	} else if (ev->type == HWT_EV_OFF && r->open) {
		r->call[r->ncall - 1].off = anchor_mark_of(ev);
	} else if (ev->type == HWT_EV_MARK && ev->u.mark.addr != HWT_NO_ADDR &&
		   ev->u.mark.addr >= USER_END) {
		/* the kernel's own: of its records (anchor_commit.c) */
	} else if (ev->type == HWT_EV_MARK) {
		/* marks part calls: one that is not over is before it all the same */
		mark(r, ev);
	} else if (code && ev->u.range.kind == HWT_INSN_FAR_CALL &&
		   ev->u.range.last < USER_END) {
		call(r, ev);
	}
}

/* Whose flow is, is not known from here on. */
static void leave(struct reader *r)
{
	if (r->hole && r->lost)
		r->ntie = r->tied;
	r->inside = false;
	r->cur = NULL;
	r->ncall = r->at = 0;
	r->open = false;
}

/* Of a CPU's buffer that is one thread's which is sure to have run in one of its turns. */
static void owned(struct reader *r, const struct hwt_event *ev)
{
	uint64_t hi = anchor_end(ev);
	const struct turn *t;
	bool in;

	if (ev->type == HWT_EV_NONE || ev->type == HWT_EV_SCHED_SWITCH)
		return;
	while (r->now < r->nturn && anchor_timed(ev) && r->turn[r->now].out <= ev->time) {
		leave(r);
		r->hole = false;
		r->tied = r->ntie;
		r->now++;
	}
	t = &r->turn[r->now];
	in = r->now < r->nturn && anchor_timed(ev) && ev->time >= t->in &&
		hi != HWT_TIME_UNKNOWN && hi <= t->out;
	if (in && !r->inside)
		r->broken[0] = r->broken[1] = true;
	if (in || r->inside)
		r->hole |= hides(r, ev);
	if (!in && r->inside)
		leave(r);
	r->inside = in;
	/* another unit's mark may stand in the same buffer */
	if (in && (ev->type != HWT_EV_MARK || ev->cpu == r->cpu))
		flow_event(r, ev);
	else if (ev->type == HWT_EV_MARK)
		see(r, ev->u.mark.value, false);
}

/* Of a unit that sends nothing but marks. */
static void plain(struct reader *r, const struct hwt_event *ev)
{
	bool same = r->off == ev->off;
	struct rec *rec;

	r->hole |= ev->type == HWT_EV_GAP && (!r->id || !ev->u.gap.trace_id ||
					      ev->u.gap.trace_id == r->id);
	if (ev->type != HWT_EV_MARK)
		return;
	rec = see(r, ev->u.mark.value, true);
	/* another unit's of the number: which one the record is of is not known */
	if (r->id && ev->u.mark.trace_id != r->id)
		return;
	r->off = ev->off;
	/* by their place they are not told apart */
	if (same && r->ntie && r->tie[r->ntie - 1].c.off.off == ev->off)
		r->ntie--;
	if (same || !rec || rec->twice)
		return;
	if (rec->channel == ev->u.mark.channel && r->ntie < MARK_RECORDS)
		r->tie[r->ntie++] = (struct tie){ rec, { .off = anchor_mark_of(ev),
			.t = { anchor_timed(ev) ? ev->time : 0,
				anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN } } };
}

static void read_flow(struct reader *r, struct hwt_stream *flow)
{
	struct hwt_event ev[BATCH];
	int n;

	/* what ran before the trace, and behind it, is not seen */
	r->broken[1] = true;
	r->off = HWT_NO_OFF;
	while ((n = hwt_stream_next(flow, ev, BATCH)) > 0)
		for (int i = 0; i < n; i++) {
			if (r->plain)
				plain(r, &ev[i]);
			else if (r->turn)
				owned(r, &ev[i]);
			else
				flow_event(r, &ev[i]);
		}
	if (r->turn)
		leave(r);
}

/*
 * A mark of a unit that sees no calls is before the next record of its thread and behind the one
 * before, whatever is lost between. False: that can not be.
 */
static bool between(const struct reader *r, const struct tie *t, struct anchor_place *p)
{
	p->upto = HWT_TIME_UNKNOWN;
	p->from = 0;
	for (size_t i = 0; i < r->nrec; i++) {
		const struct rec *o = &r->rec[i];

		if (o->tid != t->r->tid || o == t->r)
			continue;
		if (o->number < t->r->number && o->t.lo > p->from)
			p->from = o->t.lo;
		if (o->number > t->r->number && o->t.hi < p->upto)
			p->upto = o->t.hi;
	}
	p->itself = true;
	return p->from <= t->c.t.hi && p->upto >= t->c.t.lo && p->from <= p->upto;
}

static int write_down(struct reader *r, struct anchor_book *book)
{
	/* a hole may hide another mark of the number, whose record is lost */
	bool none = r->full || (!r->turn && r->lost && r->hole);

	for (size_t i = 0; i < r->nrec; i++)
		r->sum.possible += r->rec[i].seen && (!r->turn || r->rec[i].cpu == r->cpu) &&
			(!i || r->rec[i].value != r->rec[i - 1].value ||
			 r->rec[i].tid != r->rec[i - 1].tid);
	for (size_t i = 0; i < r->ntie && !none; i++) {
		const struct tie *t = &r->tie[i];
		struct anchor_place p = { .begin = t->c.off, .end = t->c.off, .upto = t->r->t.hi,
			.from = t->r->t.lo, .pid = HWT_NONE, .tid = HWT_NONE, .t = t->c.t,
			.record = t->r->number };
		int rc;

		/* its number came again later */
		if (t->r->twice || (r->plain && !between(r, t, &p)))
			continue;
		rc = anchor_book_put(book, &p);
		if (rc)
			return rc;
		r->sum.certain++;
		r->sum.possible--;
	}
	return anchor_book_done(book, &r->sum);
}

static int book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		    int32_t cpu, int32_t tid, uint8_t trace_id)
{
	struct reader *r = calloc(1, sizeof(*r));
	struct anchor_book *book = NULL;
	int rc = -ENOMEM;

	if (r) {
		r->rec = malloc(MARK_RECORDS * sizeof(*r->rec));
		/* each record is tied once at most: a number that comes again is not */
		r->tie = malloc(MARK_RECORDS * sizeof(*r->tie));
		r->cpu = cpu;
		r->tid = tid;
		r->id = trace_id;
		r->plain = cpu == HWT_NONE && tid == HWT_NONE;
		if (cpu != HWT_NONE && tid == HWT_NONE)
			r->turn = calloc(MARK_TURNS + 1, sizeof(*r->turn));
	}
	if (r && r->rec && r->tie && (r->turn || r->plain || tid != HWT_NONE))
		rc = anchor_book_open(&book);
	if (!rc) {
		read_records(r, kernel);
		read_flow(r, flow);
		rc = write_down(r, book);
		if (rc)
			anchor_book_free(book);
		else
			*out = book;
	}
	hwt_stream_close(flow);
	hwt_stream_close(kernel);
	if (r) {
		free(r->rec);
		free(r->tie);
		free(r->turn);
	}
	free(r);
	return rc;
}

int mark_book_new(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		  int32_t cpu, int32_t tid)
{
	return book_new(out, flow, kernel, cpu, tid, 0);
}

int mark_book_of(struct anchor_book **out, struct hwt_stream *flow, struct hwt_stream *kernel,
		 uint8_t trace_id)
{
	return book_new(out, flow, kernel, HWT_NONE, HWT_NONE, trace_id);
}
