/* SPDX-License-Identifier: BSD-2-Clause */
/* why: one that took long, held against a typical one. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli.h"
#include "pairs.h"

#define BATCH 256

static int read_all(struct run *r, struct hwt_why *w, struct hwt_stream *st, bool first)
{
	struct hwt_event ev[BATCH];
	int n = 0, rc = 0;

	while (run_tick(r, st, HWT_NO_OFF) && (n = hwt_stream_next(st, ev, BATCH)) > 0) {
		for (int i = 0; i < n && !rc; i++) {
			if (first)
				run_kernel_count(r, &ev[i]);
			if (first && ev[i].type == HWT_EV_GAP)
				show_count(&r->show, &ev[i]);
			rc = hwt_why_event(w, &ev[i]);
		}
		if (rc)
			return rc;
	}
	return run_interrupted ? -EINTR : n < 0 ? n : 0;
}

/* One pass; false if there is nothing more to do. */
static bool pass(struct run *r, struct hwt_why *w, bool first)
{
	struct hwt_timeline_opts o = {
		.want = { .time_lo = r->time_lo, .time_hi = r->time_hi, .cpus = r->opts.cpus,
			.ncpus = r->opts.ncpus, .tids = r->opts.tids, .ntids = r->opts.ntids },
	};
	struct hwt_stream *st;
	int rc;

	hwt_why_want(w, &o);
	st = run_timeline(r, &o);
	if (!st)
		return false;
	rc = read_all(r, w, st, first);
	if (rc < 0 && rc != -EINTR)
		run_error(r, rc, "timeline");
	/* the counts are those of one pass */
	if (first)
		run_done(r, st);
	else
		hwt_stream_close(st);
	return !rc;
}

static uint64_t magnitude(int64_t v)
{
	return v < 0 ? -(uint64_t)v : (uint64_t)v;
}

static void amount(struct out *o, int64_t v, bool ticks)
{
	uint64_t u = magnitude(v);

	out_ch(o, v < 0 ? '-' : '+');
	if (ticks)
		out_udec(o, u);
	else
		out_span(o, u);
}

static void difference(struct out *o, struct hwt_delta d, bool ticks)
{
	unsigned col = (unsigned)(o->flushed + o->n - o->line);

	if (d.lo == INT64_MIN || d.hi == INT64_MAX) {
		out_str(o, "not known");
	} else if (!ticks && d.lo != d.hi && (d.lo < 0) == (d.hi < 0)) {
		out_ch(o, d.lo < 0 ? '-' : '+');
		out_spans_sep(o, magnitude(d.lo), magnitude(d.hi), d.lo < 0 ? " to -" : " to +");
	} else {
		amount(o, d.lo, ticks);
		if (d.lo != d.hi) {
			out_str(o, " to ");
			amount(o, d.hi, ticks);
		}
	}
	out_tab(o, col + 26);
}

static void text_one(struct run *r, const struct hwt_why_one *c, bool ticks)
{
	const char *comm = c->tid >= 0 ? show_comm(&r->show, &c->from, c->tid) : "";
	struct out *o = r->out;

	out_fmt(o, "%s#%llu took ", c->tainted ? "~" : "", (unsigned long long)c->number);
	out_style(o, OUT_BOLD);
	if (c->tainted)
		pair_most(o, c->took.hi, ticks);
	else
		pair_length(o, c->took, ticks);
	out_style(o, OUT_PLAIN);
	if (c->tid >= 0)
		out_fmt(o, " in tid %d", c->tid);
	if (*comm) {
		out_ch(o, ' ');
		out_safe(o, comm);
	}
	if (c->cut)
		out_str(o, " (path too long: its end is not compared)");
}

/* The part with the larger certain amount first; rest is the last. */
static void order(const struct hwt_why_answer *a, unsigned *at)
{
	for (unsigned i = 0; i < HWT_WHY_REST; i++) {
		unsigned k = i;

		for (; k; k--) {
			const struct hwt_delta *x = &a->part[at[k - 1]].more, *y = &a->part[i].more;
			int64_t m = x->lo / 2 + x->hi / 2, n = y->lo / 2 + y->hi / 2;

			if ((m < 0 ? -m : m) >= (n < 0 ? -n : n))
				break;
			at[k] = at[k - 1];
		}
		at[k] = i;
	}
}

static void where(struct run *r, const struct hwt_why_answer *a, unsigned k)
{
	const struct hwt_why_part *p = &a->part[k];
	struct hwt_where at = { .pid = a->this.pid, .time = HWT_TIME_UNKNOWN };
	struct hwt_event ev = a->this.from;
	struct hwt_symbol sym;

	if (p->addr == HWT_NO_ADDR)
		return;
	out_str(r->out, k == HWT_WHY_FAULT ? ", the first at" : ", most of it in");
	if (hwt_image_symbol(r->show.image, &at, p->addr, &sym) == 1) {
		show_sym(&r->show, &ev, p->addr);
	} else {
		out_ch(r->out, ' ');
		show_code(&r->show, a->this.pid, p->addr);
	}
}

static void times(struct out *o, const struct hwt_why_part *p)
{
	if (p->times == p->typical_times)
		return;
	out_fmt(o, " (%u time%s", p->times, out_s(p->times));
	out_fmt(o, ", typical %u)", p->typical_times);
}

static void text_part(struct run *r, const struct hwt_why_answer *a, unsigned k)
{
	static const char *const what[HWT_WHY_PARTS] = {
		"made to leave its CPU", "waits", "woken, waits for a CPU", "interrupts",
		"softirqs", "not running, no switch tells why", "page faults",
		"exceptions, of which the kernel tells nothing",
		"trace is missing", "only here, or more often", "only in the typical one",
		"the same instructions", "on its CPU, no trace tells what ran",
		"neither trace nor a switch tells whether it ran"
	};
	/* who steps a program stops its threads, and can not tell that from what the kernel does */
	static const char *const simulated[HWT_WHY_PARTS] = {
		[HWT_WHY_PREEMPTED] = "not running; simulation, the stepper let others run",
		[HWT_WHY_BLOCKED] = "waits, or is stopped by the stepper (simulation)",
		[HWT_WHY_AWAY] = "not running; simulation, the stepper stopped it where no switch "
			"tells why",
	};
	const struct hwt_why_part *p = &a->part[k];
	struct out *o = r->out;

	out_str(o, "  ");
	difference(o, p->more, a->ticks);
	out_style(o, OUT_BOLD);
	out_str(o, hwt_why_name(k));
	out_style(o, OUT_PLAIN);
	out_fmt(o, ": %s", k == HWT_WHY_REST && a->no_switch ? "no trace tells what ran, no switch "
		"whether it did" : pair_stepped(r) && simulated[k] ? simulated[k] : what[k]);
	if (p->by[0]) {
		out_str(o, k == HWT_WHY_PREEMPTED ? ", by " :
			k == HWT_WHY_BLOCKED || k == HWT_WHY_AWAY ? ", in " : ", ");
		out_safe(o, p->by);
	}
	where(r, a, k);
	if (k < HWT_WHY_EXTRA)
		times(o, p);
	out_nl(o);
}

/* How sure it is that this is the one. */
static void text_rank(struct run *r, const struct hwt_why_answer *a)
{
	struct out *o = r->out;

	if (a->this.outside) {
		out_str(o, "it is not certain, as ");
		pair_scope(o, a->scope, a->tasks);
		out_str(o, ": its end may be another one's");
		out_nl(o);
	} else if (a->this.tainted) {
		out_str(o, "a hole is in it, and its end may be another one's: the parts are those "
			"of the whole stretch");
		out_nl(o);
	}
	if (a->this.edge) {
		out_count(o, a->this.edge, "event");
		out_str(o, " of the kernel near its begin or end may be of the one before or "
			"behind it");
		out_nl(o);
	}
	if (a->rivals) {
		out_count(o, a->rivals, "other");
		out_str(o, " may have taken longer, as far as the times tell");
		out_nl(o);
	}
	if (a->tainted && !(a->this.tainted && a->tainted == 1)) {
		out_udec(o, a->tainted);
		out_str(o, a->tainted == 1 ? " touches a hole and has" : " touch a hole and have");
		out_fmt(o, " no rank: ~#%llu took ", (unsigned long long)a->tainted_number);
		pair_most(o, a->tainted_most, a->ticks);
		if (!a->this.tainted)
			out_fmt(o, " (--call %llu)", (unsigned long long)a->tainted_number);
		out_nl(o);
	}
}

static void text(struct run *r, struct hwt_why *w, const struct hwt_why_answer *a)
{
	struct hwt_pair p = { .from = a->this.from, .to = a->this.to, .tid = a->this.tid };
	unsigned at[HWT_WHY_PARTS] = { 0 };
	struct out *o = r->out;

	out_safe(o, hwt_why_point(w, 0));
	out_str(o, "  ->  ");
	out_safe(o, hwt_why_point(w, 1));
	out_nl(o);
	text_one(r, &a->this, a->ticks);
	out_nl(o);
	out_str(o, "typical: ");
	text_one(r, &a->typical, a->ticks);
	out_fmt(o, " (the middle of %llu%s%s; %llu in all", (unsigned long long)a->alike,
		hwt_session_bufs(r->session) ? " of its path" : "",
		a->own ? " of the same task" : ", of any task", (unsigned long long)a->all);
	/* only trace tells paths */
	if (hwt_session_bufs(r->session))
		out_fmt(o, ", %llu path%s, %llu took that of #%llu", (unsigned long long)a->paths,
			out_s(a->paths), (unsigned long long)a->same_path,
			(unsigned long long)a->this.number);
	out_ch(o, ')');
	out_nl(o);
	text_rank(r, a);
	difference(o, a->more, a->ticks);
	out_str(o, a->ticks ? "  ticks in all, of which" : "  in all, of which");
	out_nl(o);
	order(a, at);
	for (unsigned i = 0; i < HWT_WHY_REST; i++)
		if (a->part[at[i]].this.hi || a->part[at[i]].typical.hi)
			text_part(r, a, at[i]);
	text_part(r, a, HWT_WHY_REST);
	if (a->part[HWT_WHY_UNKNOWN].this.hi || a->part[HWT_WHY_UNKNOWN].typical.hi)
		text_part(r, a, HWT_WHY_UNKNOWN);
	if (a->nwaits) {
		out_str(o, "what it waited for, the longest waits:");
		out_nl(o);
		pair_waits(r, &a->this.from, a->wait, a->nwaits, 2);
	}
	out_style(o, OUT_DIM);
	pair_where(r, &p);
	out_style(o, OUT_PLAIN);
	out_nl(o);
	contract_left_out(r);
}

static void json_delta(struct jsonl *j, const char *key, struct hwt_delta d)
{
	if (d.lo == INT64_MIN || d.hi == INT64_MAX)
		return;
	jsonl_key(j, key);
	out_fmt(j->o, "{\"lo\":%lld,\"hi\":%lld}", (long long)d.lo, (long long)d.hi);
}

static void json_one(struct run *r, const char *type, const struct hwt_why_one *c)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, type);
	jsonl_u64(j, "number", c->number);
	if (c->tid >= 0)
		jsonl_u64(j, "tid", (uint64_t)c->tid);
	if (c->cpu >= 0)
		jsonl_u64(j, "cpu", (uint64_t)c->cpu);
	jsonl_interval(j, "from", &r->show, c->from.time, c->from.span, c->from.clock);
	jsonl_interval(j, "to", &r->show, c->to.time, c->to.span, c->to.clock);
	jsonl_length(j, "took", c->took);
	jsonl_bool(j, "tainted", c->tainted);
	if (c->outside)
		jsonl_bool(j, "outside", true);
	jsonl_bool(j, "cut", c->cut);
	jsonl_u64(j, "edge_events", c->edge);
	jsonl_close(j);
}

static void json(struct run *r, struct hwt_why *w, const struct hwt_why_answer *a)
{
	struct hwt_where at = { .pid = a->this.pid, .time = HWT_TIME_UNKNOWN };
	struct jsonl *j = &r->json;
	struct hwt_symbol sym;

	json_one(r, "this", &a->this);
	json_one(r, "typical", &a->typical);
	for (unsigned k = 0; k < HWT_WHY_PARTS; k++) {
		const struct hwt_why_part *p = &a->part[k];

		jsonl_open(j, "part");
		jsonl_str(j, "what", hwt_why_name(k));
		json_delta(j, "more", p->more);
		jsonl_length(j, "this", p->this);
		jsonl_length(j, "typical", p->typical);
		jsonl_u64(j, "times", p->times);
		jsonl_u64(j, "typical_times", p->typical_times);
		if (p->addr != HWT_NO_ADDR) {
			jsonl_hex(j, "addr", p->addr);
			if (hwt_image_symbol(r->show.image, &at, p->addr, &sym))
				jsonl_str(j, "sym", sym.name);
		}
		jsonl_known(j, "by", p->by);
		jsonl_close(j);
	}
	pair_waits_json(r, a->this.number, a->wait, a->nwaits);
	jsonl_open(j, "why");
	jsonl_str(j, "from", hwt_why_point(w, 0));
	jsonl_str(j, "to", hwt_why_point(w, 1));
	jsonl_str(j, "unit", a->ticks ? "ticks" : "ns");
	jsonl_bool(j, "stepped", pair_stepped(r));
	jsonl_u64(j, "all", a->all);
	jsonl_u64(j, "paths", a->paths);
	jsonl_u64(j, "alike", a->alike);
	jsonl_u64(j, "same_path", a->same_path);
	jsonl_bool(j, "own", a->own);
	jsonl_u64(j, "may_be_longer", a->rivals);
	jsonl_u64(j, "tainted", a->tainted);
	pair_scope_json(j, a->scope, a->tasks);
	if (a->tainted) {
		jsonl_u64(j, "tainted_number", a->tainted_number);
		if (a->tainted_most != HWT_TIME_UNKNOWN)
			jsonl_u64(j, "tainted_most", a->tainted_most);
	}
	json_delta(j, "more", a->more);
	jsonl_close(j);
}

static struct hwt_why *open_why(struct run *r)
{
	struct hwt_pairs_opts po = { .size = sizeof(po), .from = r->opts.pairs.from,
		.to = r->opts.pairs.to, .key = r->opts.pairs.key };
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_why *w = NULL;
	int rc = hwt_why_new(&w, r->session, &po, &diag);

	if (!rc)
		return w;
	say_diag(&diag, rc, NULL);
	r->failed = diag.id == 3 ? EXIT_INPUT : EXIT_USAGE;
	return NULL;
}

int cmd_why(struct run *r)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_why_answer a;
	struct hwt_why *w;
	int rc = run_open(r);

	if (rc)
		return rc;
	if (!pairs_seen(r))
		return 0;
	w = open_why(r);
	if (!w)
		return 0;
	if (pass(r, w, true)) {
		rc = hwt_why_choose(w, r->opts.pairs.worst, r->opts.pairs.call, &diag);
		if (rc < 0) {
			say_diag(&diag, rc, NULL);
			r->failed = EXIT_USAGE;
		} else if (pass(r, w, false)) {
			rc = hwt_why_explain(w, &a);
			if (rc < 0)
				run_error(r, rc, "why");
			else if (r->opts.format == OPT_TEXT)
				text(r, w, &a);
			else
				json(r, w, &a);
		}
	}
	hwt_why_free(w);
	return 0;
}
