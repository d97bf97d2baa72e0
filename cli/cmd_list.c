/* SPDX-License-Identifier: BSD-2-Clause */
/* list: what ran, in order, with the kernel's events of the same CPU between. */
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
	bool begun;		/* an instant of the trace is known */
	int32_t prev, next;	/* threads of the last switch */
};

static bool one_of(const int32_t *v, size_t n, int32_t x, int32_t y)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x || v[i] == y)
			return true;
	return !n;
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
	    (s->cpu == HWT_NONE && s->tid != HWT_NONE && ev->tid != s->tid))
		return false;
	if (!one_of(r->opts.cpus, r->opts.ncpus, ev->cpu, ev->cpu))
		return false;
	if (ev->type == HWT_EV_SCHED_SWITCH) {
		if (!one_of(r->opts.tids, r->opts.ntids, ev->u.sched.prev_tid,
			    ev->u.sched.next_tid) &&
		    !one_of(r->opts.tids, r->opts.ntids, ev->u.sched.prev_pid,
			    ev->u.sched.next_pid))
			return false;
	} else if (!one_of(r->opts.tids, r->opts.ntids, ev->tid, ev->pid)) {
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

/* Passes over what happened before @time; what has no time was there before the trace. */
static void side_skip(struct run *r, struct side *s, uint64_t time)
{
	while (s->st && (s->ev.time < time || s->ev.time == HWT_TIME_UNKNOWN) && !run_interrupted)
		side_next(r, s);
}

static void side_open(struct run *r, struct side *s, const struct hwt_buf_info *b)
{
	struct hwt_capture_info info;
	struct hwt_diag diag;

	*s = (struct side){ .cpu = b->cpu, .tid = b->tid, .prev = HWT_NONE, .next = HWT_NONE };
	hwt_session_info(r->session, &info);
	/* who asks for functions wants nothing else */
	if (!info.nevents || r->naddrs || hwt_session_events(r->session, &s->st, &diag) < 0)
		s->st = NULL;
	s->open = s->st;
	side_next(r, s);
}

static bool print(struct run *r, const struct hwt_event *ev)
{
	if (!run_line(r))
		return false;
	if (r->opts.format == OPT_TEXT)
		show_event(&r->show, ev);
	else
		jsonl_event(&r->json, &r->show, ev);
	return true;
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

/* Kernel-side events up to @time; one without a time stands where the file has it. */
static bool print_side(struct run *r, struct side *s, uint64_t time)
{
	while (s->st && (s->ev.time <= time || s->ev.time == HWT_TIME_UNKNOWN) &&
	       !run_interrupted) {
		if (!again(s) && !print(r, &s->ev))
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
		if (shown(r, &ev[i]) && !print(r, &ev[i]))
			return false;
	}
	return true;
}

static bool buffer(struct run *r, size_t i, const struct hwt_buf_info *b, enum hwt_level level)
{
	struct hwt_stream *st = run_flow(r, i, level);
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
	side_open(r, &side, b);
	while (go && run_tick(r, st, n ? ev[n - 1].off : 0) &&
	       (n = hwt_stream_next(st, ev, BATCH)) > 0)
		go = print_batch(r, &side, ev, n);
	if (n < 0)
		run_error(r, n, b->name);
	if (everything(r))
		go = go && print_side(r, &side, HWT_TIME_UNKNOWN);
	side_close(&side);
	run_done(r, st);
	return go && !run_interrupted && !r->out->err;
}

int cmd_list(struct run *r)
{
	static const enum hwt_level levels[] = {
		[OPT_LEVEL_INSN] = HWT_LEVEL_INSNS, [OPT_LEVEL_RANGE] = HWT_LEVEL_RANGES,
		[OPT_LEVEL_EVENTS] = HWT_LEVEL_CALLS,
	};
	struct hwt_buf_info b;
	int rc = run_open(r);

	if (rc)
		return rc;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (run_buf(r, i, &b) && !buffer(r, i, &b, levels[r->opts.level]))
			break;
	return 0;
}
