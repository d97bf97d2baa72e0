/* SPDX-License-Identifier: BSD-2-Clause */
#include "anchor_commit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "anchor_win.h"

#define BATCH		256
#define COMMIT_TRAPS	8	/* interrupts in each other; NMI, debug, machine check on top */
#define HIT_BITS	48	/* of a mark: kmod.h, HWT_KMOD_UNIT_MARKS */
#define USER_END	(1ull << 63)	/* the kernel's addresses are from here on */

/*
 * Functions that write the records of Linux' events (include/trace/trace_events.h, perf.h), each
 * run exactly one. Those are not among them of whose records a reader drops some: of an event
 * class, and sys_exit, which has one of sigreturn.
 */
static const struct { uint32_t id; const char *name; } functions[] = {
	{ HWT_ID_sched_switch, "sched_switch" }, { HWT_ID_syscall_enter, "sys_enter" },
	{ HWT_ID_irq_entry, "irq_handler_entry" },
	{ HWT_ID_irq_exit, "irq_handler_exit" }, { HWT_ID_sched_migrate, "sched_migrate_task" },
};

struct who { int32_t pid, tid; };

struct line {
	const struct commit_line *what;
	struct anchor_book *book;
	struct anchor_win w;
	struct anchor_place place[ANCHOR_WINDOW];	/* of the visits in the window */
	struct who next[4 * ANCHOR_WINDOW];	/* of the records: who comes, for switches */
	struct hwt_stream *kernel;
	struct hwt_event ke[BATCH];
	int nk, k;
	bool hidden;		/* a hole since the last visit */
	bool open;		/* the newest visit waits for the end of its function */
	int depth;		/* calls below that function, -1: not known */
	/* where interrupts in it came, and whether flow is behind the return from the newest */
	uint64_t trap[COMMIT_TRAPS];
	unsigned ntrap;
	bool back;
	bool markable;		/* the next mark of its event is that of the newest visit */
	bool lost;		/* records were lost since the last one */
	uint64_t last;		/* earliest time of the newest record */
	struct anchor_visit v;
	struct anchor_place at;
};

static unsigned add_line(struct commit_line *lines, unsigned n, uint64_t addr, uint32_t id)
{
	unsigned k = 0;

	while (k < n && lines[k].addr != addr)
		k++;
	if (k == COMMIT_LINES)
		return n;
	if (k == n)
		lines[n++] = (struct commit_line){ .addr = addr };
	if (lines[k].nids < COMMIT_EVENTS)
		lines[k].id[lines[k].nids++] = id;
	return n;
}

unsigned commit_lines(const struct capture *c, struct commit_line lines[COMMIT_LINES])
{
	uint64_t at[2][2];
	unsigned n = 0;
	char name[128];

	for (size_t i = 0; i < c->ncommits; i++)
		n = add_line(lines, n, c->commits[i].addr, c->commits[i].id);
	for (unsigned i = 0; i < n; i++)
		lines[i].marks = c->commit_marks;
	for (size_t i = 0; c->commit_by && i < sizeof(functions) / sizeof(functions[0]); i++) {
		snprintf(name, sizeof(name), "%.64s%s", c->commit_by, functions[i].name);
		/* one name may be that of two functions */
		if (hwt_image_find(c->image, name, at, 2) == 1)
			n = add_line(lines, n, at[0][0], functions[i].id);
	}
	return n;
}

static void put_visit(struct line *l, const struct hwt_event *ev)
{
	l->v.t.hi = ev && anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN;
	if (ev)
		l->at.end = anchor_mark_of(ev);
	l->place[l->w.nv] = l->at;
	anchor_win_visit(&l->w, &l->v);
	l->open = false;
}

/*
 * Interrupts in the function go back to where they came from. What does not is a breakpoint in the
 * place of a call or jump (a text patch), which its handler made: the depth is not known behind it.
 */
static void landed(struct line *l, uint64_t addr)
{
	if (l->back && (!l->ntrap || l->trap[--l->ntrap] != addr))
		l->depth = -1;
	l->back = false;
}

static void interrupted(struct line *l, uint64_t from)
{
	landed(l, from);
	if (l->ntrap == COMMIT_TRAPS)
		l->depth = -1;
	else
		l->trap[l->ntrap++] = from;
}

/*
 * A record's mark is written with it: it is that of the visit that is open, but where another
 * visit began in this one, or a hole may hide one.
 */
static void marked(struct line *l, const struct hwt_event *ev)
{
	if (!l->markable || ev->u.mark.addr == HWT_NO_ADDR || ev->u.mark.addr < USER_END ||
	    l->what->nids != 1 || ev->u.mark.value >> HIT_BITS != l->what->id[0])
		return;
	l->v.hit = ev->u.mark.value & ((1ull << HIT_BITS) - 1);
	l->markable = false;
}

/*
 * The function has returned with @ev: the calls in it did, or the program runs again. Interrupts
 * in it return, too, and tasks are not switched there.
 */
static bool returned(struct line *l, const struct hwt_event *ev)
{
	if (ev->u.range.last < USER_END)
		return true;
	if (l->depth < 0)
		return false;
	if ((ev->u.range.kind == HWT_INSN_CALL || ev->u.range.kind == HWT_INSN_ICALL) &&
	    l->depth < INT32_MAX)
		l->depth++;
	return ev->u.range.kind == HWT_INSN_RETURN && l->depth-- == 0;
}

static void flow_event(struct line *l, const struct hwt_event *ev)
{
	uint64_t addr = l->what->addr;

	if (anchor_hides(ev)) {
		l->hidden = true;
		/* what it hides may be the end of the function */
		l->depth = -1;
		l->markable = false;
	}
	if (l->open && ev->type == HWT_EV_EXCEPTION)
		interrupted(l, ev->u.exc.from);
	if (l->open && ev->type == HWT_EV_MARK)
		marked(l, ev);
	if (ev->type != HWT_EV_RANGE && ev->type != HWT_EV_INSN)
		return;
	if (ev->flags & HWT_F_DOUBT) {
		l->hidden = true;
		l->markable = false;
		return;
	}
	if (l->open) {
		landed(l, ev->u.range.first);
		l->back = ev->u.range.kind == HWT_INSN_FAR_RETURN;
	}
	if (ev->u.range.first <= addr && addr <= ev->u.range.last) {
		l->markable = l->what->marks && !l->open;
		if (l->open)
			put_visit(l, ev);
		l->v = (struct anchor_visit){ .t.lo = anchor_timed(ev) ? ev->time : 0,
			.hidden = l->hidden ? ANCHOR_ANY : 0 };
		l->at = (struct anchor_place){ .begin = anchor_mark_of(ev) };
		l->open = true;
		l->hidden = false;
		l->depth = 0;
		l->ntrap = 0;
		l->back = false;
	}
	if (l->open && returned(l, ev))
		put_visit(l, ev);
}

static bool has_event(const struct line *l, uint32_t id)
{
	for (unsigned i = 0; i < l->what->nids; i++)
		if (l->what->id[i] == id)
			return true;
	return false;
}

static struct who comes(const void *rec, size_t n)
{
	const struct hwt_rec *r = rec;
	const struct hwt_rec_sched_switch *s = rec;

	if (r->id != HWT_ID_sched_switch || n < sizeof(*s))
		return (struct who){ HWT_NONE, HWT_NONE };
	return (struct who){ s->next_pid, s->next_tid };
}

static void kernel_event(struct line *l, const struct hwt_event *ev, int32_t cpu)
{
	const struct hwt_rec *rec = ev->u.rec.data;
	const struct hwt_abi_event *e;

	if (ev->type != HWT_EV_RECORD || (ev->cpu != cpu && ev->cpu != HWT_NONE) ||
	    ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return;
	l->lost |= e->id == HWT_ID_stream_lost;
	if (ev->cpu != cpu || !has_event(l, e->id))
		return;
	l->next[l->w.nr] = comes(rec, ev->u.rec.size);
	anchor_win_record(&l->w, &(struct anchor_record){
		.t = { anchor_timed(ev) ? ev->time : 0,
			anchor_timed(ev) ? anchor_end(ev) : HWT_TIME_UNKNOWN },
		/* numbers are those of an event, not of all that share the instruction */
		.hit = l->what->nids == 1 && rec->flags & HWT_REC_HIT ? rec->hit : ANCHOR_NO_HIT,
		.lost = l->lost });
	l->lost = false;
	l->last = anchor_timed(ev) ? ev->time : l->last;
}

/* Records that the visits of the window may have written. */
static void fill_records(struct line *l, int32_t cpu)
{
	uint64_t until = l->w.nv ? l->w.v[l->w.nv - 1].t.hi : 0;

	while (anchor_win_room_records(&l->w) && l->last <= until) {
		if (l->k == l->nk) {
			l->k = 0;
			l->nk = hwt_stream_next(l->kernel, l->ke, BATCH);
			if (l->nk <= 0) {
				l->nk = 0;
				return;
			}
		}
		kernel_event(l, &l->ke[l->k++], cpu);
	}
}

static int write_down(struct line *l, size_t upto)
{
	for (size_t i = l->w.told; i < upto; i++) {
		const struct anchor_match *m = &l->w.m[i];
		struct anchor_place p = l->place[i];
		int rc;

		/* one that is not certain still ends what is known of who runs */
		p.upto = HWT_TIME_UNKNOWN;
		p.pid = HWT_NONE;
		p.tid = has_event(l, HWT_ID_sched_switch) ? ANCHOR_NOBODY : HWT_NONE;
		p.record = UINT64_MAX;
		p.t = l->w.v[i].t;
		if (m->state == ANCHOR_CERTAIN) {
			p.upto = l->w.t[m->first].hi;
			p.from = l->w.t[m->first].lo;
			p.pid = l->next[m->first].pid;
			p.tid = l->next[m->first].tid;
			p.record = l->w.r0 + m->first;
		}
		rc = anchor_book_put(l->book, &p);
		if (rc)
			return rc;
	}
	return 0;
}

/* Decides on what is in the window; @all: no more visits come. */
static int decide(struct line *l, int32_t cpu, bool all)
{
	uint64_t v0 = l->w.v0, r0 = l->w.r0;
	size_t upto;
	int rc;

	fill_records(l, cpu);
	rc = anchor_win_solve(&l->w, all, &upto);
	if (!rc)
		rc = write_down(l, upto);
	if (rc < 0)
		return rc;
	anchor_win_slide(&l->w, upto);
	for (size_t i = 0; i < l->w.nv; i++)
		l->place[i] = l->place[i + (size_t)(l->w.v0 - v0)];
	for (size_t j = 0; j < l->w.nr; j++)
		l->next[j] = l->next[j + (size_t)(l->w.r0 - r0)];
	return 0;
}

/* What the last place told of who runs ends at the first visit that is not decided. */
static int give_up(struct line *l)
{
	struct anchor_place p;

	l->w.sum.contradictions++;
	if (l->w.told >= l->w.nv)
		return 0;
	p = l->place[l->w.told];
	p.upto = HWT_TIME_UNKNOWN;
	p.pid = p.tid = HWT_NONE;
	p.record = UINT64_MAX;
	p.t = l->w.v[l->w.told].t;
	return anchor_book_put(l->book, &p);
}

static int finish(struct line *l, int32_t cpu, int rc)
{
	if (!rc && l->open)
		put_visit(l, NULL);
	if (!rc)
		rc = decide(l, cpu, true);
	/* numbers that do not rise are no numbers: nothing is known from there on, which is told */
	if (rc == -EINVAL)
		rc = give_up(l);
	return rc ? rc : anchor_book_done(l->book, &l->w.sum);
}

/* Addresses of the lines, and which of them need to see more than the event that begins a visit. */
struct sight {
	uint64_t lo, hi, open;
};

static bool concerns(const struct sight *s, const struct hwt_event *ev, unsigned k)
{
	if (ev->type == HWT_EV_MARK || ev->type == HWT_EV_EXCEPTION)
		return s->open >> k & 1;
	if (ev->type != HWT_EV_RANGE)
		return ev->type == HWT_EV_INSN || anchor_hides(ev);
	return s->open >> k & 1 || ev->flags & HWT_F_DOUBT ||
		(ev->u.range.first <= s->hi && ev->u.range.last >= s->lo);
}

static struct sight sight_of(struct line *const *lines, unsigned n)
{
	struct sight s = { .lo = UINT64_MAX };

	for (unsigned k = 0; k < n; k++) {
		s.lo = lines[k]->what->addr < s.lo ? lines[k]->what->addr : s.lo;
		s.hi = lines[k]->what->addr > s.hi ? lines[k]->what->addr : s.hi;
	}
	return s;
}

/*
 * All lines, event by event. Offsets tell of other levels what is behind an anchor: where they go
 * back nothing can be said, and 1 is returned.
 */
static int read_flow(struct line **lines, unsigned n, struct hwt_stream *flow, int32_t cpu, int *rc)
{
	struct sight sight = sight_of(lines, n);
	struct hwt_event ev[BATCH];
	uint64_t off = 0;
	int back = 0, got;

	while ((got = hwt_stream_next(flow, ev, BATCH)) > 0) {
		for (int i = 0; i < got; i++) {
			if (ev[i].type == HWT_EV_NONE)
				continue;
			/* a hole is where its packet is, which what ran before may not be */
			if (ev[i].type != HWT_EV_GAP) {
				back |= ev[i].off < off;
				off = ev[i].off;
			}
			/* most ranges are nothing to any */
			if (!sight.open && !concerns(&sight, &ev[i], 0))
				continue;
			for (unsigned k = 0; k < n; k++) {
				if (rc[k] || !concerns(&sight, &ev[i], k))
					continue;
				flow_event(lines[k], &ev[i]);
				sight.open &= ~(1ull << k);
				sight.open |= (uint64_t)lines[k]->open << k;
				/* one event may end a visit, begin the next, and end it */
				if (lines[k]->w.nv + 2 > ANCHOR_WINDOW)
					rc[k] = decide(lines[k], cpu, false);
			}
		}
	}
	return back;
}

static struct line *line_new(const struct commit_line *what, struct hwt_stream *kernel)
{
	struct line *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->what = what;
	l->kernel = kernel;
	if (anchor_win_init(&l->w) || anchor_book_open(&l->book)) {
		anchor_win_free(&l->w);
		free(l);
		return NULL;
	}
	return l;
}

int commit_books_new(struct anchor_book **out, const struct commit_line *lines, unsigned n,
		     struct hwt_stream *flow, struct hwt_stream **kernel, int32_t cpu)
{
	struct line *l[COMMIT_LINES] = { NULL };
	int rcs[COMMIT_LINES] = { 0 }, rc = 0;

	for (unsigned i = 0; i < n && !rc; i++) {
		l[i] = line_new(&lines[i], kernel[i]);
		rc = l[i] ? 0 : -ENOMEM;
	}
	if (!rc && read_flow(l, n, flow, cpu, rcs))
		rc = -ENOTSUP;
	for (unsigned i = 0; i < n; i++) {
		if (!rc)
			rc = finish(l[i], cpu, rcs[i]);
		if (l[i])
			anchor_win_free(&l[i]->w);
		hwt_stream_close(kernel[i]);
	}
	for (unsigned i = 0; i < n; i++) {
		if (rc && l[i])
			anchor_book_free(l[i]->book);
		else if (!rc)
			out[i] = l[i]->book;
		free(l[i]);
	}
	hwt_stream_close(flow);
	return rc;
}
