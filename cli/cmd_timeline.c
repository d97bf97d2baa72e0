/* SPDX-License-Identifier: BSD-2-Clause */
/* timeline: what the trace units saw and what the kernel told, in one order. */
#include <stdio.h>
#include <stdlib.h>

#include "tree.h"

#define BATCH 256

struct hwt_stream *run_timeline(struct run *r, struct hwt_timeline_opts *o)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_stream *st;
	int rc;

	o->size = sizeof(*o);
	o->want.resync = r->opts.resync;
	rc = hwt_session_timeline(r->session, o, &st, &diag);
	if (rc < 0 || diag.code < 0) {
		out_flush(r->out);
		say_diag(&diag, rc < 0 ? rc : diag.code, r->opts.args[0]);
		if (!r->failed)
			r->failed = EXIT_INPUT;
	}
	return rc < 0 ? NULL : st;
}

void run_kernel_count(struct run *r, const struct hwt_event *ev)
{
	struct hwt_abi_value v;

	if (ev->type != HWT_EV_RECORD || !ev->u.rec.number)
		return;
	r->kernel_events++;
	if (strcmp(hwt_kernel_name(r->session, ev), "stream.lost"))
		return;
	r->kernel_holes++;
	if (hwt_kernel_field(r->session, ev, "count", &v))
		r->kernel_lost += v.u;
}

static bool call(struct tree *t, const struct hwt_event *ev)
{
	struct hwt_call hole = { .what = HWT_CALL_GAP, .ev = *ev };
	const struct hwt_call *c = ev->type == HWT_EV_GAP ? &hole : ev->u.rec.data;

	return !tree_selected(t, c) || tree_print(t, c);
}

static bool line(struct tree *t, const struct hwt_event *ev)
{
	struct run *r = t->r;

	if (r->opts.format == OPT_TEXT ? !show_wanted(&r->show, ev) : ev->type == HWT_EV_NONE)
		return true;
	if (!tree_flush(t) || !run_line(r))
		return false;
	run_kernel_count(r, ev);
	if (r->opts.format == OPT_TEXT)
		show_event(&r->show, ev);
	else
		jsonl_event(&r->json, &r->show, ev);
	return true;
}

static bool event(struct tree *t, const struct hwt_event *ev)
{
	struct run *r = t->r;

	/* without records of the kernel, flow tells who runs */
	if (ev->type == HWT_EV_FRAME && ev->u.rec.id == HWT_CALL_SWITCH) {
		const struct hwt_call *c = ev->u.rec.data;

		if (c->ev.type == HWT_EV_SCHED_SWITCH)
			return line(t, &c->ev);
	}
	/* a hole is part of the tree only where there is one */
	if (ev->type == HWT_EV_FRAME ||
	    (ev->type == HWT_EV_GAP && r->opts.detail == OPT_DETAIL_CALLS))
		return call(t, ev);
	return line(t, ev);
}

static void read_all(struct tree *t, struct hwt_stream *st)
{
	struct run *r = t->r;
	struct hwt_event ev[BATCH];
	bool go = true;
	int n = 0;

	while (go && run_tick(r, st, HWT_NO_OFF) && (n = hwt_stream_next(st, ev, BATCH)) > 0)
		for (int i = 0; i < n && go; i++)
			go = event(t, &ev[i]) && !run_interrupted;
	if (n < 0)
		run_error(r, n, "timeline");
	tree_flush(t);
}

/* What the order does not tell must be said. */
static void order_notes(struct run *r, const struct hwt_stream *st)
{
	struct hwt_timeline_stats s;
	char place[24] = "";

	hwt_timeline_stats(st, &s);
	if (r->opts.quiet)
		return;
	if (s.late_off != HWT_NO_OFF)
		snprintf(place, sizeof(place), " at 0x%llx", (unsigned long long)s.late_off);
	if (s.late)
		say("hwtrace check FILE, which looks at each clock",
		    "%llu event%s earlier than one before in the same stream, by up to %llu; they "
		    "stand where their stream has them; the first is of source %u%s",
		    (unsigned long long)s.late, out_s(s.late), (unsigned long long)s.late_by,
		    s.late_src, place);
	if (s.clocks & (s.clocks - 1))
		say("hwtrace info FILE, which tells the clocks",
		    "times of several clocks that are not mapped to each other: those of one "
		    "follow those of the other, which is no order");
}

int cmd_timeline(struct run *r)
{
	static const enum hwt_level levels[] = {
		[OPT_DETAIL_CALLS] = HWT_LEVEL_CALLS, [OPT_DETAIL_RANGE] = HWT_LEVEL_RANGES,
		[OPT_DETAIL_INSN] = HWT_LEVEL_INSNS, [OPT_DETAIL_EVENTS] = HWT_LEVEL_CALLS,
	};
	struct hwt_timeline_opts o = { .kernel = true, .anchors = true };
	struct tree t = { .r = r, .mixed = true };
	struct hwt_filter *filter = NULL;
	struct hwt_diag diag;
	struct hwt_stream *st;
	int rc = run_open(r);

	if (rc)
		return rc;
	if (r->opts.filter &&
	    hwt_kernel_filter(r->session, &filter, r->opts.filter, &diag) < 0) {
		const struct hwt_error_info *e = hwt_error_info(diag.id);

		say(e ? e->hint : "hwtrace help events", "--filter: %s", diag.text);
		return EXIT_USAGE;
	}
	o.filter = filter;
	/* who names events asks for them, not for what ran between */
	o.hardware = !filter || r->opts.have_detail;
	r->trace_unread = !o.hardware;
	o.calls = r->opts.detail == OPT_DETAIL_CALLS;
	o.want = (struct hwt_interest){
		.level = levels[r->opts.detail], .addrs = o.calls ? NULL : r->addrs,
		.naddrs = o.calls ? 0 : r->naddrs, .time_lo = r->time_lo, .time_hi = r->time_hi,
		.cpus = r->opts.cpus, .ncpus = r->opts.ncpus,
		.tids = r->opts.tids, .ntids = r->opts.ntids,
	};
	/* a stack needs all calls: those of --sym are taken from the whole tree */
	t.addrs = r->addrs;
	t.naddrs = r->naddrs;
	st = run_timeline(r, &o);
	if (st) {
		read_all(&t, st);
		order_notes(r, st);
		run_done(r, st);
	}
	hwt_filter_free(filter);
	return 0;
}
