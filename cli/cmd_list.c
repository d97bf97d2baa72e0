/* SPDX-License-Identifier: BSD-2-Clause */
/* list: what ran, in order, with the kernel's events of the same CPU between. */
#include <stdlib.h>

#include "cli.h"

#define BATCH 256

/*
 * Kernel-side events that belong to one buffer. Each CPU's events are in order in the file, so one
 * pass over the file for each buffer needs no memory.
 */
struct side {
	struct hwt_stream *st;	/* NULL: none or no more */
	struct hwt_event ev;	/* the next one, valid if @st */
	bool open;		/* there are such events: switches are told by them, not by flow */
	int32_t cpu, tid;	/* HWT_NONE: any */
	const struct owners *owners;
	size_t buf;
	bool begun;		/* an instant of the trace is known */
	uint64_t left_out;	/* events before the trace and behind it, that text does not show */
	int32_t prev, next;	/* threads of the last switch */
	/* a text's reader wants the last of several address spaces that nothing ran in */
	struct hwt_event aspace;
	uint64_t naspaces;
};

/*
 * Whose buffers there are. Where threads have their own, several are of one CPU, and each of its
 * events belongs to one of them only.
 */
struct owners {
	struct owner { int32_t cpu, tid; } *v;
	size_t n;
};

/* The first buffer of @tid on @cpu, or the first of @cpu at all. */
static size_t owner_of(const struct owners *o, int32_t cpu, int32_t tid)
{
	size_t first = o->n;

	for (size_t i = 0; i < o->n; i++) {
		if (o->v[i].cpu != cpu)
			continue;
		if (tid != HWT_NONE && o->v[i].tid == tid)
			return i;
		if (first == o->n)
			first = i;
	}
	return first;
}

/* A switch belongs to the thread that goes; if that is not traced, to the one that comes. */
static size_t owner_of_event(const struct owners *o, const struct hwt_event *ev)
{
	size_t i;

	if (ev->type != HWT_EV_SCHED_SWITCH)
		return owner_of(o, ev->cpu, ev->tid);
	i = owner_of(o, ev->cpu, ev->u.sched.prev_tid);
	return i < o->n && o->v[i].tid == ev->u.sched.prev_tid ? i :
		owner_of(o, ev->cpu, ev->u.sched.next_tid);
}

static bool one_of(const int32_t *v, size_t n, int32_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return !n;
}

/* As struct hwt_interest has it. */
static bool task_wanted(const struct run *r, int32_t pid, int32_t tid)
{
	return one_of(r->opts.tids, r->opts.ntids, tid != HWT_NONE ? tid : pid);
}

/* JSON has everything, text what a person asked for. */
static bool shown(const struct run *r, const struct hwt_event *ev)
{
	return r->opts.format == OPT_TEXT ? show_wanted(&r->show, ev) : ev->type != HWT_EV_NONE;
}

/* Kernel-side events before the trace begins and after it ends, too. */
static bool everything(const struct run *r)
{
	return r->opts.format != OPT_TEXT || r->opts.verbose;
}

static bool side_wanted(const struct run *r, const struct side *s, const struct hwt_event *ev)
{
	if (!shown(r, ev) || (s->cpu != HWT_NONE && ev->cpu != s->cpu) ||
	    (s->cpu != HWT_NONE && s->tid != HWT_NONE &&
	     owner_of_event(s->owners, ev) != s->buf) ||
	    (s->cpu == HWT_NONE && s->tid != HWT_NONE && ev->tid != s->tid))
		return false;
	if (!one_of(r->opts.cpus, r->opts.ncpus, ev->cpu))
		return false;
	if (ev->type == HWT_EV_SCHED_SWITCH) {
		if (!task_wanted(r, ev->u.sched.prev_pid, ev->u.sched.prev_tid) &&
		    !task_wanted(r, ev->u.sched.next_pid, ev->u.sched.next_tid))
			return false;
	} else if (!task_wanted(r, ev->pid, ev->tid)) {
		return false;
	}
	return !r->opts.have_time || (ev->time != HWT_TIME_UNKNOWN && ev->time >= r->time_lo &&
				      ev->time <= r->time_hi);
}

static void side_close(struct side *s)
{
	hwt_stream_close(s->st);
	s->st = NULL;
}

/* Reads up to the next wanted event. One a call: records are valid until the next one. */
static void side_next(struct run *r, struct side *s)
{
	for (unsigned k = 0; s->st; k++) {
		if (hwt_stream_next(s->st, &s->ev, 1) <= 0 ||
		    (k % BATCH == 0 && !run_tick(r, NULL, 0)))
			side_close(s);
		else if (side_wanted(r, s, &s->ev))
			return;
	}
}

/* perf records a switch twice, as seen by the thread that goes and by the one that comes. */
static bool again(struct side *s)
{
	int32_t prev = s->ev.u.sched.prev_tid, next = s->ev.u.sched.next_tid;
	bool same = prev == s->prev && next == s->next;

	if (s->ev.type != HWT_EV_SCHED_SWITCH)
		return false;
	s->prev = prev;
	s->next = next;
	return same;
}

/* Passes over what happened before @time; what has no time was there before the trace. */
static void side_skip(struct run *r, struct side *s, uint64_t time)
{
	while (s->st && (s->ev.time < time || s->ev.time == HWT_TIME_UNKNOWN) && !run_interrupted) {
		s->left_out += !again(s);
		side_next(r, s);
	}
}

/* What is not shown is said. */
static void side_rest(struct run *r, struct side *s)
{
	side_skip(r, s, HWT_TIME_UNKNOWN);
	if (!s->left_out || run_interrupted)
		return;
	out_str(r->out, "== left out: ");
	out_count(r->out, s->left_out, "kernel event");
	out_str(r->out, " outside the trace (-v shows all)\n");
}

static void side_open(struct run *r, struct side *s, const struct owners *o, size_t i,
		      const struct hwt_buf_info *b)
{
	struct hwt_capture_info info;
	struct hwt_diag diag;

	*s = (struct side){ .cpu = b->cpu, .tid = b->tid, .owners = o, .buf = i,
			    .prev = HWT_NONE, .next = HWT_NONE };
	hwt_session_info(r->session, &info);
	/* who asks for functions wants nothing else */
	if (!info.nevents || r->naddrs || hwt_session_events(r->session, &s->st, &diag) < 0)
		s->st = NULL;
	s->open = s->st;
	side_next(r, s);
}

static bool put(struct run *r, const struct hwt_event *ev)
{
	if (!run_line(r))
		return false;
	run_kernel_count(r, ev);
	if (r->opts.format == OPT_TEXT)
		show_event(&r->show, ev);
	else
		jsonl_event(&r->json, &r->show, ev);
	return true;
}

static bool put_aspace(struct run *r, struct side *s)
{
	bool go = true;

	if (s->naspaces) {
		r->show.repeats = s->naspaces;
		go = put(r, &s->aspace);
		r->show.repeats = 0;
	}
	s->naspaces = 0;
	return go;
}

static bool print(struct run *r, struct side *s, const struct hwt_event *ev)
{
	if (!everything(r) && ev->type == HWT_EV_ASPACE) {
		s->aspace = *ev;
		s->naspaces++;
		return true;
	}
	return put_aspace(r, s) && put(r, ev);
}

/* Kernel-side events up to @time; one without a time stands where the file has it. */
static bool print_side(struct run *r, struct side *s, uint64_t time)
{
	while (s->st && (s->ev.time <= time || s->ev.time == HWT_TIME_UNKNOWN) &&
	       !run_interrupted) {
		if (!again(s) && !print(r, s, &s->ev))
			return false;
		side_next(r, s);
	}
	return true;
}

static bool print_batch(struct run *r, struct side *s, const struct hwt_event *ev, int n)
{
	for (int i = 0; i < n; i++) {
		if (ev[i].clock == HWT_CLOCK_BASE && ev[i].time != HWT_TIME_UNKNOWN) {
			if (!s->begun && !everything(r))
				side_skip(r, s, ev[i].time);
			s->begun = true;
			if (!print_side(r, s, ev[i].time))
				return false;
		}
		/* the kernel's own record of the same switch has its exact time */
		if (s->open && ev[i].type == HWT_EV_SCHED_SWITCH)
			continue;
		if (shown(r, &ev[i]) && !print(r, s, &ev[i]))
			return false;
	}
	return true;
}

static bool buffer(struct run *r, const struct owners *o, size_t i, const struct hwt_buf_info *b,
		   enum hwt_level level)
{
	struct hwt_stream *st = run_flow(r, i, level, true);
	struct hwt_event ev[BATCH];
	struct side side;
	bool go = true;
	int n = 0;

	if (!st)
		return true;
	if (r->opts.format == OPT_TEXT && hwt_session_bufs(r->session) > 1) {
		out_str(r->out, "== ");
		out_safe(r->out, b->name);
		out_nl(r->out);
	}
	side_open(r, &side, o, i, b);
	while (go && run_tick(r, st, n ? ev[n - 1].off : 0) &&
	       (n = hwt_stream_next(st, ev, BATCH)) > 0)
		go = print_batch(r, &side, ev, n);
	go = go && put_aspace(r, &side);
	if (n < 0)
		run_error(r, n, b->name);
	if (everything(r))
		go = go && print_side(r, &side, HWT_TIME_UNKNOWN);
	else if (go && n >= 0)
		side_rest(r, &side);
	side_close(&side);
	run_done(r, st);
	return go && !run_interrupted && !r->out->err;
}

/* A capture without trace: the events of the kernel are all there is. */
static void kernel_only(struct run *r)
{
	const struct hwt_buf_info none = { .cpu = HWT_NONE, .pid = HWT_NONE, .tid = HWT_NONE };
	const struct owners nobody = { 0 };
	struct side side;

	r->traceless = true;
	if (!r->opts.quiet)
		say("hwtrace timeline FILE, which tells system calls by name and takes --filter",
		    "%s: there is no hardware trace in it, so kernel events are all that is listed",
		    r->opts.args[0]);
	side_open(r, &side, &nobody, 0, &none);
	print_side(r, &side, HWT_TIME_UNKNOWN);
	side_close(&side);
}

int cmd_list(struct run *r)
{
	static const enum hwt_level levels[] = {
		[OPT_LEVEL_INSN] = HWT_LEVEL_INSNS, [OPT_LEVEL_RANGE] = HWT_LEVEL_RANGES,
		[OPT_LEVEL_EVENTS] = HWT_LEVEL_CALLS,
	};
	struct hwt_buf_info b;
	struct owners o = { 0 };
	int rc = run_open(r);

	if (rc)
		return rc;
	if (run_kernel_only(r) && !r->naddrs) {
		kernel_only(r);
		return 0;
	}
	/* an empty capture has an empty list */
	if (!run_trace(r, run_kernel_only(r)))
		return 0;
	o.n = hwt_session_bufs(r->session);
	o.v = calloc(o.n + 1, sizeof(*o.v));
	if (!o.v) {
		say(NULL, "out of memory");
		return EXIT_INPUT;
	}
	for (size_t i = 0; i < o.n; i++) {
		hwt_session_buf(r->session, i, &b);
		o.v[i] = (struct owner){ b.cpu, b.tid };
	}
	for (size_t i = 0; i < o.n; i++)
		if (run_buf(r, i, &b) && !buffer(r, &o, i, &b, levels[r->opts.level]))
			break;
	free(o.v);
	return 0;
}
