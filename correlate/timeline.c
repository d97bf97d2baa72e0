/* SPDX-License-Identifier: BSD-2-Clause */
/* Flow of all buffers and the kernel's events as one stream. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/hwtrace.h>

#include "../hwtrace/base/diag.h"
#include "../hwtrace/base/vec.h"
#include "anchor_aspace.h"
#include "anchor_commit.h"
#include "anchor_dark.h"
#include "anchor_flow.h"
#include "anchor_mark.h"
#include "frames.h"
#include "merge.h"
#include "pick.h"
#include "session.h"

#define SCAN_MAX	65536	/* events of a buffer that are looked at for a time */
#define CPUS_MAX	128	/* of one buffer: CoreSight has 111 trace ids */

struct timeline {
	struct hwt_stream s;
	struct hwt_stream *merged, *top;	/* @top owns the other */
	/* inputs, while they are gathered */
	struct hwt_stream **in;
	size_t nin, cap_in;
	/* one flow stream of each buffer, for its counts; they belong to @merged */
	const struct hwt_stream **flows;
	size_t nflows, cap_flows;
	bool follow;		/* calls are told of all buffers at once, which are merged first */
	const struct hwt_stream *flow;	/* by this; it belongs to @merged */
	bool told;		/* the kernel's own records tell switches */
	bool calls;		/* and system calls, which are to be anchors */
	struct commit_line lines[COMMIT_LINES];
	unsigned nlines;	/* what else is to be */
	bool spaces;		/* and switches, which may tell address spaces */
	bool marked;		/* and marks of programs */
	bool dark;		/* what the kernel does is seen in no flow of a program */
	struct anchor_sum anchors, commits, switches, marks, darks;
	size_t inputs, failed;
	uint32_t clocks;
	struct hwt_flow_stats lost;	/* of buffers that can not be decoded */
};

/* Takes @st. */
static int add(struct timeline *t, struct hwt_stream *st)
{
	if (vec_room(&t->in, &t->cap_in, t->nin, sizeof(*t->in))) {
		hwt_stream_close(st);
		return -ENOMEM;
	}
	t->in[t->nin++] = st;
	return 0;
}

/* Takes @book: it is counted in @sum, and *@st, flow of the same trace, gets narrower. */
static void count_book(struct anchor_sum *sum, const struct anchor_book *book)
{
	const struct anchor_sum *add = anchor_book_sum(book);

	sum->certain += add->certain;
	sum->possible += add->possible;
	sum->lost += add->lost;
	sum->contradictions += add->contradictions;
}

static int use_book(struct anchor_sum *sum, struct anchor_book *book, struct hwt_stream **st)
{
	count_book(sum, book);
	return anchor_flow_new(st, book, *st);
}

/*
 * Narrows *@st by instructions of the kernel that write records; taken on failure. True in @found
 * if such were seen. What can not be read is told by the stream itself.
 */
static int commits(struct timeline *t, struct hwt_session *s, size_t i,
		   const struct hwt_interest *all, int32_t cpu, struct hwt_stream **st,
		   bool *found)
{
	struct hwt_stream *flow, *kernel[COMMIT_LINES];
	struct anchor_book *books[COMMIT_LINES];
	unsigned n = 0;
	int rc;

	if (session_flow(s, i, all, &flow, NULL) < 0)
		return 0;
	while (n < t->nlines && session_kernel(s, &kernel[n], NULL) >= 0)
		n++;
	rc = commit_books_new(books, t->lines, n, flow, kernel, cpu);
	/* such trace has no anchors, but it can be shown */
	if (rc == -ENOTSUP)
		return 0;
	if (rc < 0) {
		hwt_stream_close(*st);
		return rc;
	}
	for (unsigned k = 0; k < n; k++) {
		const struct anchor_sum *sum = anchor_book_sum(books[k]);
		bool none = !(sum->certain + sum->possible + sum->lost + sum->bad);

		*found |= !none;
		if (rc < 0 || none)
			anchor_book_free(books[k]);
		else
			rc = use_book(&t->commits, books[k], st);
	}
	return rc;
}

/* Flow of buffer @i and the kernel's events once more, for a pass before the timeline's own. */
static bool open_both(struct hwt_session *s, size_t i, const struct hwt_interest *all,
		      struct hwt_stream **flow, struct hwt_stream **kernel)
{
	if (session_flow(s, i, all, flow, NULL) < 0)
		return false;
	if (session_kernel(s, kernel, NULL) >= 0)
		return true;
	hwt_stream_close(*flow);
	return false;
}

/* The same by address spaces. */
static int spaces(struct timeline *t, struct hwt_session *s, size_t i,
		  const struct hwt_interest *all, int32_t cpu, struct hwt_stream **st)
{
	struct hwt_stream *flow, *kernel;
	struct anchor_book *book;
	int rc;

	if (!open_both(s, i, all, &flow, &kernel))
		return 0;
	rc = aspace_book_new(&book, flow, kernel, cpu,
			     session_capture(s)->bufs[i].cfgs[0].proto == HWT_PROTO_PT);
	if (rc == -ENOTSUP)
		return 0;
	if (rc < 0) {
		hwt_stream_close(*st);
		return rc;
	}
	return use_book(&t->switches, book, st);
}

/* The same by system calls. */
static int system_calls(struct timeline *t, struct hwt_session *s, size_t i,
			const struct hwt_interest *all, const struct hwt_buf_info *b,
			struct hwt_stream **st)
{
	struct hwt_stream *flow, *kernel;
	struct anchor_book *book;
	int rc;

	if (!open_both(s, i, all, &flow, &kernel))
		return 0;
	rc = anchor_book_new(&book, flow, kernel, session_capture(s)->image, b->cpu, b->tid);
	if (rc < 0) {
		hwt_stream_close(*st);
		return rc;
	}
	return use_book(&t->anchors, book, st);
}

/*
 * The same by marks of the program, or by all that the kernel wrote while no code of it ran: what
 * @make sees of both sides.
 */
static int of_both(struct anchor_sum *sum, struct hwt_session *s, size_t i,
		   const struct hwt_interest *all, const struct hwt_buf_info *b,
		   int (*make)(struct anchor_book **out, struct hwt_stream *flow,
			       struct hwt_stream *kernel, int32_t cpu, int32_t tid),
		   struct hwt_stream **st)
{
	struct hwt_stream *flow, *kernel;
	struct anchor_book *book;
	int rc;

	if (!open_both(s, i, all, &flow, &kernel))
		return 0;
	rc = make(&book, flow, kernel, b->cpu, b->tid);
	if (rc < 0) {
		hwt_stream_close(*st);
		return rc;
	}
	return use_book(sum, book, st);
}

/* Marks of each unit that sends nothing else, in a buffer that trace of CPUs shares. */
static int unit_marks(struct timeline *t, struct hwt_session *s, size_t i,
		      const struct hwt_interest *all, struct hwt_stream **st)
{
	struct hwt_stream *flow, *kernel;
	struct anchor_book *book;
	struct hwt_src_info src;
	int rc = 0;

	for (size_t k = 0; rc >= 0 && hwt_session_src(s, i, k, &src); k++) {
		if (!session_marks(&src) || !src.trace_id ||
		    !open_both(s, i, all, &flow, &kernel))
			continue;
		rc = mark_book_of(&book, flow, kernel, src.trace_id);
		if (rc < 0) {
			hwt_stream_close(*st);
			return rc;
		}
		count_book(&t->marks, book);
		rc = anchor_marks_new(st, book, *st, src.trace_id);
	}
	return rc;
}

/*
 * Narrows *@st, flow of buffer @i, by what is seen on both sides. It takes a pass of its own, at
 * the level where instructions are seen.
 */
static int anchor(struct timeline *t, struct hwt_session *s, size_t i,
		  const struct hwt_interest *want, bool shared, struct hwt_stream **st)
{
	struct hwt_interest all = *want;
	struct hwt_buf_info b;
	bool found = false;
	int rc = 0;

	all.level = HWT_LEVEL_RANGES;
	all.naddrs = 0;
	hwt_session_buf(s, i, &b);
	if (b.tid == HWT_NONE && b.cpu == HWT_NONE && want->ncpus == 1)
		b.cpu = want->cpus[0];
	if (t->nlines && b.tid == HWT_NONE && b.cpu != HWT_NONE)
		rc = commits(t, s, i, &all, b.cpu, st, &found);
	if (!rc && !found && t->spaces && b.tid == HWT_NONE && b.cpu != HWT_NONE)
		rc = spaces(t, s, i, &all, b.cpu, st);
	/* system calls say all that marks do, but of those that are in no flow */
	if (!rc && t->marked && (session_of_marks(s, i) ||
				 (!t->calls && (b.tid != HWT_NONE || b.cpu != HWT_NONE))))
		rc = of_both(&t->marks, s, i, &all, &b, mark_book_new, st);
	/* these belong to no CPU */
	if (!rc && t->marked && shared && !session_of_marks(s, i))
		rc = unit_marks(t, s, i, &all, st);
	if (rc < 0 || found || (b.tid == HWT_NONE && b.cpu == HWT_NONE))
		return rc;
	if (t->calls)
		rc = system_calls(t, s, i, &all, &b, st);
	return rc < 0 || !t->dark ? rc : of_both(&t->darks, s, i, &all, &b, dark_book_new, st);
}

/* One stream of buffer @i at the level of @want; @shared: with what belongs to no CPU. */
static int add_flow(struct timeline *t, struct hwt_session *s, size_t i,
		    const struct hwt_timeline_opts *o, const struct hwt_interest *want, bool shared,
		    struct hwt_diag *diag)
{
	struct hwt_interest w = *want;
	struct hwt_stream *st;
	int rc;

	if (vec_room(&t->flows, &t->cap_flows, t->nflows, sizeof(*t->flows)))
		return -ENOMEM;
	/* what is open where the window begins was called before it */
	if (o->calls)
		w.time_lo = 0;
	rc = session_flow(s, i, &w, &st, diag);
	if (rc < 0)
		return rc;
	if (shared)
		t->flows[t->nflows++] = st;
	if (t->told || !shared)
		rc = pick_flow_new(&st, !t->told, shared, st);
	if (rc >= 0 && (t->calls || t->nlines || t->spaces || t->marked || t->dark))
		rc = anchor(t, s, i, want, shared, &st);
	if (rc >= 0 && o->calls && !t->follow)
		rc = frames_new(&st, s, st, session_early(s, want).time_lo,
				o->flow, false);
	if (rc >= 0)
		rc = add(t, st);
	if (rc < 0 && shared)
		t->nflows--;
	return rc;
}

static bool holds(const int32_t *v, size_t n, int32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

/* The wanted CPUs whose units share buffer @i. */
static size_t cpus_of(const struct hwt_session *s, size_t i, const struct hwt_interest *want,
		      int32_t *cpus)
{
	struct hwt_src_info src;
	size_t n = 0;

	for (size_t k = 0; n < CPUS_MAX && hwt_session_src(s, i, k, &src); k++)
		if (src.cpu != HWT_NONE && !holds(cpus, n, src.cpu) &&
		    (!want->ncpus || holds(want->cpus, want->ncpus, src.cpu)))
			cpus[n++] = src.cpu;
	return n;
}

/*
 * CPUs that share a buffer are in the order of its bytes, not of their times: each is decoded by
 * itself, unless there are no times, when that order is all that is known.
 */
static int add_buffer(struct timeline *t, struct hwt_session *s, size_t i,
		      const struct hwt_timeline_opts *o, struct hwt_diag *diag)
{
	struct hwt_interest want = o->want;
	int32_t cpus[CPUS_MAX];
	size_t n = cpus_of(s, i, &o->want, cpus);
	int rc = 0;

	want.unfolded = true;
	if (o->calls)
		want.level = HWT_LEVEL_CALLS;
	if (n < 2 || !session_timed(s, i, SCAN_MAX))
		return add_flow(t, s, i, o, &want, true, diag);
	for (size_t k = 0; k < n && !rc; k++) {
		want.cpus = &cpus[k];
		want.ncpus = 1;
		rc = add_flow(t, s, i, o, &want, !k, diag);
	}
	return rc;
}

static bool buffer_wanted(const struct hwt_session *s, size_t i, const struct hwt_interest *want,
			  struct hwt_buf_info *b)
{
	int32_t cpus[CPUS_MAX];

	if (hwt_session_buf(s, i, b) < 0)
		return false;
	if (b->cpu != HWT_NONE)
		return !want->ncpus || holds(want->cpus, want->ncpus, b->cpu);
	if (b->tid != HWT_NONE && want->ntids && !holds(want->tids, want->ntids, b->tid))
		return false;
	return !want->ncpus || b->nsources < 2 || cpus_of(s, i, want, cpus);
}

static int add_hardware(struct timeline *t, struct hwt_session *s,
			const struct hwt_timeline_opts *o, struct hwt_diag *diag)
{
	struct hwt_buf_info b;
	struct hwt_diag d;

	for (size_t i = 0; i < hwt_session_bufs(s); i++) {
		int rc;

		if (!buffer_wanted(s, i, &o->want, &b))
			continue;
		d = (struct hwt_diag){ .off = HWT_NO_OFF };
		rc = add_buffer(t, s, i, o, &d);
		if (rc == -ENOMEM)
			return rc;
		if (rc >= 0)
			continue;
		if (!t->failed++ && diag) {
			*diag = d;
			diag->code = rc;
		}
		t->lost.bytes_in += b.size;
		t->lost.bytes_skipped += b.size;
		t->lost.gaps++;
	}
	return 0;
}

/*
 * Threads are known, and may move between CPUs: then they have one stack for all. Where CPUs share
 * a buffer it must tell times, for without them its CPUs are one stream.
 */
static bool follows(struct hwt_session *s, const struct hwt_timeline_opts *o)
{
	int32_t cpus[CPUS_MAX];
	struct hwt_buf_info b;
	size_t n = 0, shared;

	if (!o->calls || !o->hardware || !machine_ncpus(session_capture(s)->machine))
		return false;
	for (size_t i = 0; i < hwt_session_bufs(s); i++) {
		if (!buffer_wanted(s, i, &o->want, &b))
			continue;
		if (b.tid != HWT_NONE)
			return false;
		shared = b.cpu == HWT_NONE ? cpus_of(s, i, &o->want, cpus) : 1;
		if (!shared || (shared > 1 && !session_timed(s, i, SCAN_MAX)))
			return false;
		n += shared;
	}
	return n > 1;
}

/* What was added from input @first on becomes one, with the calls of all. */
static int merge_calls(struct timeline *t, struct hwt_session *s, size_t first,
		       const struct hwt_timeline_opts *o)
{
	struct hwt_stream *st;
	size_t n = t->nin - first;
	int rc;

	t->nin = first;		/* they are the merge's, also on failure */
	rc = merge_new(&st, t->in + first, n);
	if (rc < 0)
		return rc;
	t->flow = st;
	rc = frames_new(&st, s, st, session_early(s, &o->want).time_lo, o->flow, true);
	return rc < 0 ? rc : add(t, st);
}

static int add_kernel(struct timeline *t, struct hwt_session *s,
		      const struct hwt_timeline_opts *o, struct hwt_diag *diag)
{
	const struct hwt_interest want = session_early(s, &o->want);
	struct hwt_stream *st;
	int rc = session_kernel(s, &st, diag);

	if (rc == -ENOENT) {
		if (diag)
			*diag = (struct hwt_diag){ .off = HWT_NO_OFF };
		return 0;
	}
	if (rc >= 0)
		rc = pick_kernel_new(&st, &want, o->filter, st);
	return rc < 0 ? rc : add(t, st);
}

/* True if the kernel recorded such an event, among the first @max. */
static bool tells(struct hwt_session *s, const char *name, uint64_t max)
{
	struct hwt_event ev[64];
	struct hwt_stream *st;
	bool found = false;
	uint64_t seen = 0;
	int n = 0;

	if (hwt_session_kernel(s, &st, NULL) < 0)
		return false;
	while (!found && seen < max && (n = hwt_stream_next(st, ev, 64)) > 0) {
		for (int k = 0; k < n; k++)
			found = found || (ev[k].type == HWT_EV_RECORD &&
					  !strcmp(hwt_kernel_name(s, &ev[k]), name));
		seen += (unsigned)n;
	}
	hwt_stream_close(st);
	return found;
}

/*
 * Whether flow is of single steps: what interrupts the program there is not in it, for the unit is
 * told of its instructions alone.
 */
static bool is_stepped(const struct hwt_session *s)
{
	const char *key, *value;

	for (size_t i = 0; (key = hwt_session_fact(s, i, &value)); i++)
		if (!strcmp(key, "method") && !strncmp(value, "single steps", 12))
			return true;
	return false;
}

static int timeline_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct timeline *t = hwt_container_of(s, struct timeline, s);
	int n = hwt_stream_next(t->top, ev, max);

	for (int i = 0; i < n; i++)
		if (ev[i].time != HWT_TIME_UNKNOWN)
			t->clocks |= 1u << ev[i].clock;
	return n;
}

static void timeline_close(struct hwt_stream *s)
{
	struct timeline *t = hwt_container_of(s, struct timeline, s);

	for (size_t i = 0; i < t->nin; i++)
		hwt_stream_close(t->in[i]);
	hwt_stream_close(t->top);
	free(t->in);
	free(t->flows);
	free(t);
}

static const struct hwt_stream_ops timeline_ops = { timeline_next, timeline_close };

int hwt_session_timeline(struct hwt_session *s, const struct hwt_timeline_opts *opts,
			 struct hwt_stream **out, struct hwt_diag *diag)
{
	struct hwt_timeline_opts o = { .want = HWT_INTEREST_ALL };
	struct timeline *t;
	size_t n;
	int rc = 0;

	if (diag)
		*diag = (struct hwt_diag){ .off = HWT_NO_OFF };
	if (!opts || opts->size < sizeof(size_t))
		return diag_set(diag, -EINVAL, 0, NULL, HWT_NO_OFF,
				"size of the options is not set");
	memcpy(&o, opts, opts->size < sizeof(o) ? opts->size : sizeof(o));
	t = calloc(1, sizeof(*t));
	if (!t)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	t->s = (struct hwt_stream){ .ops = &timeline_ops, .name = "timeline" };
	/* who has a schedule has it of switches, most times of the first few events */
	t->told = o.kernel && o.hardware && machine_ncpus(session_capture(s)->machine) &&
		tells(s, "sched.switch", UINT64_MAX);
	t->calls = o.anchors && o.hardware && tells(s, "syscall.enter", SCAN_MAX);
	t->marked = o.anchors && o.hardware && tells(s, "user.mark", SCAN_MAX);
	if (o.anchors && o.hardware)
		t->nlines = commit_lines(session_capture(s), t->lines);
	t->spaces = o.anchors && t->told;
	t->dark = o.anchors && o.hardware && session_capture(s)->kernel && !is_stepped(s);
	if (o.kernel)
		rc = add_kernel(t, s, &o, diag);
	n = t->nin;
	t->follow = follows(s, &o);
	if (!rc && o.hardware)
		rc = add_hardware(t, s, &o, diag);
	t->inputs = t->nin;
	if (!rc && t->follow)
		rc = merge_calls(t, s, n, &o);
	if (!rc) {
		n = t->nin;
		t->nin = 0;	/* theirs, also on failure */
		rc = merge_new(&t->merged, t->in, n);
	}
	if (!rc) {
		t->top = t->merged;
		rc = session_widen(s, &t->top);
		if (rc)
			t->top = t->merged = NULL;	/* closed */
	}
	if (rc < 0) {
		timeline_close(&t->s);
		return rc == -ENOMEM ? diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory") :
			rc;
	}
	*out = &t->s;
	return 0;
}

void hwt_timeline_stats(const struct hwt_stream *s, struct hwt_timeline_stats *out)
{
	const struct timeline *t;
	struct hwt_flow_stats f;
	struct merge_stats m, first = { 0 };

	*out = (struct hwt_timeline_stats){ 0 };
	if (s->ops != &timeline_ops)
		return;
	t = hwt_container_of((struct hwt_stream *)s, struct timeline, s);
	merge_stats(t->merged, &m);
	if (t->flow)
		merge_stats(t->flow, &first);
	if (first.late) {
		m.late = first.late;
		m.late_by = first.late_by;
		m.late_src = first.late_src;
		m.late_off = first.late_off;
	}
	m.compares += first.compares;
	*out = (struct hwt_timeline_stats){ .inputs = t->inputs, .failed = t->failed,
		.events = m.events, .compares = m.compares, .late = m.late,
		.late_by = m.late_by, .late_src = m.late_src, .late_off = m.late_off,
		.clocks = t->clocks, .flow = t->lost,
		.anchors = t->anchors.certain,
		.unanchored = t->anchors.possible + t->anchors.lost,
		.contradictions = t->anchors.contradictions + t->commits.contradictions +
			t->switches.contradictions + t->darks.contradictions,
		.marks = t->marks.certain,
		.unmarked = t->marks.possible,
		.switches = t->switches.certain,
		.unswitched = t->switches.possible + t->switches.lost,
		.dark = t->darks.certain + t->darks.possible,
		.committed = t->commits.certain,
		.uncommitted = t->commits.possible + t->commits.lost };
	for (size_t i = 0; i < t->nflows; i++) {
		hwt_flow_stats(t->flows[i], &f);
		hwt_flow_stats_add(&out->flow, &f);
	}
}
