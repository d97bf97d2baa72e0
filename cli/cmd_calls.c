/* SPDX-License-Identifier: BSD-2-Clause */
/* calls: a tree as it unfolds, or a table of functions. */
#include <errno.h>

#include "cli.h"

#define BATCH 256
#define INDENT_MAX 40		/* levels that are drawn; the depth column has them all */

static const char *const whys[] = { "call", "tail", "interrupt", "syscall", "signal", "return",
	"unwind", "lost", "running", "again", "open" };

/* A buffer's calls on their way to the output. */
struct tree {
	struct run *r;
	const struct hwt_addr_range *addrs;	/* of --sym, borrowed */
	size_t naddrs;
	/* one is held back: an entry may be left at once, a hole may be one of many */
	struct hwt_call held;
	bool full;
	uint32_t count;		/* holes in @held */
	uint64_t bytes;		/* skipped in all of them */
	bool any;		/* a call was printed */
	int32_t tid;		/* its thread */
	int32_t base;		/* depth that is not indented: 0, or the lowest so far */
};

static uint64_t late(uint64_t time, uint32_t span)
{
	return span == HWT_SPAN_UNKNOWN ? HWT_TIME_UNKNOWN : time + span;
}

/* A duration is as uncertain as its ends: "1.2 us", "1.2 us to 1.5 us", ">= 1.2 us". */
static void duration(struct out *o, const struct hwt_call *c)
{
	uint64_t in_hi, out_hi, min = 0, max = HWT_TIME_UNKNOWN;

	if (c->tainted || c->enter_time == HWT_TIME_UNKNOWN || c->ev.time == HWT_TIME_UNKNOWN ||
	    c->ev.clock != HWT_CLOCK_BASE)
		return;
	in_hi = late(c->enter_time, c->enter_span);
	out_hi = late(c->ev.time, c->ev.span);
	if (in_hi != HWT_TIME_UNKNOWN && c->ev.time > in_hi)
		min = c->ev.time - in_hi;
	if (out_hi != HWT_TIME_UNKNOWN && out_hi >= c->enter_time)
		max = out_hi - c->enter_time;
	if (max == HWT_TIME_UNKNOWN && !min)
		return;
	out_ch(o, ' ');
	if (max == HWT_TIME_UNKNOWN)
		out_str(o, ">= ");
	if (max == HWT_TIME_UNKNOWN || min) {
		out_span(o, min);
		if (max == min || max == HWT_TIME_UNKNOWN)
			return;
		out_str(o, " to ");
	} else {
		out_str(o, "<= ");
	}
	out_span(o, max);
}

/* @said: the line tells already that the entry was not seen. */
static void leave_marks(struct out *o, const struct hwt_call *c, bool said)
{
	switch (c->why) {
	case HWT_WHY_TAIL:
		out_str(o, " (tail call)");
		break;
	case HWT_WHY_UNWIND:
		out_str(o, " (unwound)");
		break;
	case HWT_WHY_LOST:
		out_str(o, " (end not seen)");
		break;
	case HWT_WHY_OPEN:
		out_str(o, c->func == HWT_NO_ADDR ? " (trace ends inside)" : " (still running)");
		break;
	}
	if (c->inferred && !said)
		out_str(o, " (entry not seen)");
	if (c->tainted && c->why != HWT_WHY_LOST)
		out_str(o, " (hole inside)");
}

static void enter_marks(struct out *o, const struct hwt_call *c)
{
	if (c->why == HWT_WHY_AGAIN)
		out_str(o, " (open before the hole)");
	else if (c->why == HWT_WHY_RUNNING)
		out_str(o, c->tainted ? " (already running, caller not known)" :
			" (already running)");
}

static void indent(struct tree *t, const struct hwt_call *c)
{
	struct out *o = t->r->out;
	int64_t depth;

	if (c->depth < t->base)
		t->base = c->depth;
	/* what is told of a frame stands inside it */
	depth = (int64_t)c->depth + (c->what == HWT_CALL_RESUME);
	show_head(&t->r->show, &c->ev);
	out_fmt(o, "%4d  ", (int)depth);
	depth -= t->base;
	for (depth = depth > INDENT_MAX ? INDENT_MAX : depth; depth > 0; depth--)
		out_str(o, "  ");
}

static void name(struct run *r, const struct hwt_call *c)
{
	struct hwt_where w = show_where(&c->ev);
	struct hwt_symbol sym;
	struct out *o = r->out;

	if (c->func == HWT_NO_ADDR) {
		out_str(o, "(not traced)");
	} else if (hwt_image_symbol(r->show.image, &w, c->func, &sym) == 1) {
		out_style(o, OUT_CYAN);
		out_safe(o, sym.name);
		out_style(o, OUT_PLAIN);
		if (c->func != sym.start) {
			out_str(o, "+0x");
			out_hex(o, c->func - sym.start, 1);
		}
	} else {
		show_code(&r->show, c->ev.pid, c->func);
	}
}

/* Only what comes from outside is an interrupt; the trace of x86 does not tell. */
static void exception_name(struct out *o, const struct hwt_event *ev)
{
	unsigned what = ev->u.exc.what;

	if (what == HWT_EXC_ASYNC) {
		out_fmt(o, "%s ", hwt_exc_name(what));
		return;
	}
	out_fmt(o, "%s %u ", hwt_exc_is_interrupt(what) ? "interrupt" : "exception",
		ev->u.exc.number);
	if (what != HWT_EXC_UNKNOWN)
		out_fmt(o, "(%s) ", hwt_exc_name(what));
}

static void enter_name(struct run *r, const struct hwt_call *c)
{
	if (c->why == HWT_WHY_INTERRUPT && c->ev.type == HWT_EV_EXCEPTION) {
		exception_name(r->out, &c->ev);
	} else if (c->why != HWT_WHY_CALL && c->why <= HWT_WHY_SIGNAL) {
		out_str(r->out, whys[c->why]);
		out_ch(r->out, ' ');
	}
	name(r, c);
}

static void print_holes(struct tree *t, const struct hwt_call *c)
{
	struct out *o = t->r->out;

	out_style(o, OUT_RED);
	out_str(o, "-- ");
	if (t->count > 1) {
		out_count(o, t->count, "hole");
		if (t->bytes > c->ev.u.gap.bytes) {
			out_str(o, ", ");
			out_count(o, t->bytes, "byte");
			out_str(o, " skipped");
		}
		out_str(o, ", the first: ");
	}
	show_gap(&t->r->show, &c->ev);
	out_style(o, OUT_PLAIN);
}

static void print_untraced(struct run *r, const struct hwt_call *c)
{
	out_style(r->out, OUT_RED);
	out_str(r->out, "-- not traced ");
	if (c->site != HWT_NO_ADDR) {
		out_str(r->out, "from ");
		show_addr(&r->show, &c->ev, c->site);
		out_ch(r->out, ' ');
	}
	out_str(r->out, "to ");
	show_addr(&r->show, &c->ev, c->func);
	out_style(r->out, OUT_PLAIN);
}

static void print_call(struct tree *t, const struct hwt_call *c)
{
	struct run *r = t->r;
	struct out *o = r->out;

	indent(t, c);
	switch (c->what) {
	case HWT_CALL_ENTER:
		enter_name(r, c);
		out_str(o, " {");
		enter_marks(o, c);
		break;
	case HWT_CALL_LEAVE:
		out_str(o, "} ");
		name(r, c);
		duration(o, c);
		leave_marks(o, c, false);
		break;
	case HWT_CALL_GAP:
		print_holes(t, c);
		break;
	case HWT_CALL_SWITCH:
		out_str(o, "-- other thread");
		break;
	case HWT_CALL_UNTRACED:
		print_untraced(r, c);
		break;
	case HWT_CALL_RESUME:
		out_str(o, "-- goes on in ");
		name(r, c);
		out_str(o, ", open before the hole");
		break;
	}
	out_nl(o);
}

/* An entry that is left at once, on one line. */
static void print_leaf(struct tree *t, const struct hwt_call *in, const struct hwt_call *c)
{
	struct out *o = t->r->out;

	indent(t, in);
	enter_name(t->r, in);
	if (in->func != HWT_NO_ADDR)
		out_str(o, "()");
	duration(o, c);
	enter_marks(o, in);
	leave_marks(o, c, in->inferred);
	out_nl(o);
}

static void func_json(struct run *r, const struct hwt_call *c)
{
	struct hwt_where w = show_where(&c->ev);
	struct jsonl *j = &r->json;
	struct hwt_symbol sym;

	if (c->func == HWT_NO_ADDR)
		return;
	jsonl_hex(j, "func", c->func);
	if (hwt_image_symbol(r->show.image, &w, c->func, &sym) == 1)
		jsonl_str(j, "sym", sym.name);
}

static void call_json(struct tree *t, const struct hwt_call *c)
{
	static const char *const types[] = { "call", "return", "gap", "switch", "untraced",
		"resume" };
	struct run *r = t->r;
	struct jsonl *j = &r->json;

	if (c->what == HWT_CALL_GAP) {
		jsonl_gaps(j, &r->show, &c->ev, t->count, t->bytes);
		return;
	}
	/* nothing returned when the trace ended */
	jsonl_open(j, c->what == HWT_CALL_LEAVE && c->why == HWT_WHY_OPEN ? "open" :
		   types[c->what]);
	jsonl_common(j, &r->show, &c->ev);
	jsonl_key(j, "depth");
	out_dec(r->out, c->depth);
	if (c->what == HWT_CALL_ENTER || c->what == HWT_CALL_LEAVE)
		jsonl_str(j, "why", whys[c->why]);
	if (c->why == HWT_WHY_INTERRUPT && c->ev.type == HWT_EV_EXCEPTION)
		jsonl_str(j, "name", hwt_exc_name(c->ev.u.exc.what));
	if (c->what == HWT_CALL_UNTRACED) {
		if (c->site != HWT_NO_ADDR)
			jsonl_hex(j, "from", c->site);
		jsonl_hex(j, "to", c->func);
	} else {
		func_json(r, c);
		if (c->site != HWT_NO_ADDR)
			jsonl_hex(j, "site", c->site);
	}
	if (c->what == HWT_CALL_ENTER || c->what == HWT_CALL_LEAVE) {
		jsonl_bool(j, "inferred", c->inferred);
		jsonl_bool(j, "tainted", c->tainted);
	}
	if (c->what == HWT_CALL_LEAVE)
		jsonl_interval(j, "enter", &r->show, c->enter_time, c->enter_span, c->ev.clock);
	jsonl_close(j);
}

static bool put(struct tree *t, const struct hwt_call *c)
{
	if (!run_line(t->r))
		return false;
	if (t->r->opts.format != OPT_TEXT)
		call_json(t, c);
	else
		print_call(t, c);
	return true;
}

static bool flush_held(struct tree *t)
{
	if (t->full)
		put(t, &t->held);
	t->full = false;
	return !t->r->stopped;
}

static void hold(struct tree *t, const struct hwt_call *c)
{
	t->held = *c;
	t->full = true;
	t->count = 1;
	t->bytes = c->what == HWT_CALL_GAP ? c->ev.u.gap.bytes : 0;
}

/* True if @c is one more of the holes that are held back. */
static bool same_hole(const struct tree *t, const struct hwt_call *c)
{
	const struct hwt_event *a = &t->held.ev, *b = &c->ev;

	return t->full && c->what == HWT_CALL_GAP && t->held.what == HWT_CALL_GAP &&
		a->u.gap.cause == b->u.gap.cause && a->u.gap.trace_id == b->u.gap.trace_id &&
		a->cpu == b->cpu && a->tid == b->tid && t->count < UINT32_MAX;
}

static bool is_leaf(const struct tree *t, const struct hwt_call *c)
{
	const struct hwt_call *in = &t->held;

	return t->full && in->what == HWT_CALL_ENTER && c->what == HWT_CALL_LEAVE &&
		in->depth == c->depth && in->func == c->func && in->ev.tid == c->ev.tid &&
		in->ev.cpu == c->ev.cpu;
}

static bool print_text(struct tree *t, const struct hwt_call *c)
{
	bool hole = c->what == HWT_CALL_GAP;

	if (is_leaf(t, c)) {
		t->full = false;
		if (!run_line(t->r))
			return false;
		print_leaf(t, &t->held, c);
		return true;
	}
	/* threads that do nothing here need no line */
	if (c->what == HWT_CALL_SWITCH)
		return true;
	if (!flush_held(t))
		return false;
	if (!hole && t->any && c->ev.tid != t->tid) {
		struct hwt_call sw = *c;

		sw.what = HWT_CALL_SWITCH;
		t->base = c->depth < 0 ? c->depth : 0;
		if (!put(t, &sw))
			return false;
	}
	if (!hole) {
		t->any = true;
		t->tid = c->ev.tid;
	}
	hold(t, c);
	return hole || c->what == HWT_CALL_ENTER || flush_held(t);
}

static bool in_syms(const struct tree *t, uint64_t addr)
{
	for (size_t i = 0; i < t->naddrs; i++)
		if (addr >= t->addrs[i].lo && addr <= t->addrs[i].hi)
			return true;
	return !t->naddrs;
}

static bool selected(const struct tree *t, const struct hwt_call *c)
{
	/* a hole may hide any function */
	if (!t->naddrs || c->what == HWT_CALL_GAP)
		return true;
	return (c->what == HWT_CALL_ENTER || c->what == HWT_CALL_LEAVE) && in_syms(t, c->func);
}

static bool print(struct tree *t, const struct hwt_call *c)
{
	if (same_hole(t, c)) {
		t->count++;
		t->bytes += c->ev.u.gap.bytes;
		show_count(&t->r->show, &c->ev);
		return true;
	}
	if (t->r->opts.format == OPT_TEXT)
		return print_text(t, c);
	if (!flush_held(t))
		return false;
	if (c->what != HWT_CALL_GAP)
		return put(t, c);
	hold(t, c);
	return true;
}

static bool buffer(struct tree *t, size_t i, const struct hwt_buf_info *b, struct functions *f)
{
	struct run *r = t->r;
	struct hwt_stream *st = run_flow(r, i, HWT_LEVEL_CALLS);
	struct hwt_calls *calls;
	struct hwt_call c;
	bool go = true;
	int rc;

	if (!st)
		return true;
	rc = hwt_calls_new(&calls, r->session, st);
	if (rc < 0) {
		run_error(r, rc, b->name);
		return false;
	}
	if (r->opts.format == OPT_TEXT && !f && hwt_session_bufs(r->session) > 1) {
		out_str(r->out, "== ");
		out_safe(r->out, b->name);
		out_nl(r->out);
	}
	t->full = t->any = false;
	t->base = 0;
	for (unsigned k = 0; go && (rc = hwt_calls_next(calls, &c)) > 0; k++) {
		if (!f && selected(t, &c))
			go = print(t, &c);
		else if (f && c.what == HWT_CALL_GAP)
			show_count(&r->show, &c.ev);
		else if (f && selected(t, &c))
			rc = functions_count(f, r, &c);
		if (rc < 0)
			break;
		if (k % 256 == 0)
			go = go && run_tick(r, st, c.ev.off);
	}
	if (rc < 0)
		run_error(r, rc, b->name);
	flush_held(t);
	run_count(r, st);
	hwt_calls_free(calls);	/* closes the flow stream */
	return go && !r->stopped;
}

/* The buffer once more, for --insns: calls alone do not tell how long a function ran. */
static bool count_insns(struct tree *t, size_t i, const struct hwt_buf_info *b,
			struct functions *f)
{
	struct run *r = t->r;
	struct hwt_stream *st = run_flow(r, i, HWT_LEVEL_RANGES);
	struct hwt_event ev[BATCH];
	bool go = true;
	int n = 0;

	if (!st)
		return true;
	while (go && (n = hwt_stream_next(st, ev, BATCH)) > 0) {
		for (int k = 0; k < n; k++) {
			int rc = 0;

			if (ev[k].type == HWT_EV_RANGE && in_syms(t, ev[k].u.range.first))
				rc = functions_range(f, r, &ev[k]);
			if (rc < 0) {
				run_error(r, rc, b->name);
				go = false;
			}
		}
		go = go && run_tick(r, st, ev[n - 1].off);
	}
	if (n < 0)
		run_error(r, n, b->name);
	hwt_stream_close(st);
	return go;
}

int cmd_calls(struct run *r)
{
	struct functions *f = NULL;
	struct tree t = { .r = r };
	struct hwt_buf_info b;
	int rc;

	if (r->opts.insns && !r->opts.summary) {
		say("hwtrace calls --summary --insns FILE", "--insns needs --summary");
		return EXIT_USAGE;
	}
	rc = run_open(r);
	if (rc)
		return rc;
	if (r->opts.summary) {
		f = functions_new();
		if (!f) {
			run_error(r, -ENOMEM, "table of functions");
			return 0;
		}
	}
	/* a stack needs all calls, so what is selected is taken from the whole tree */
	t.addrs = r->addrs;
	t.naddrs = r->naddrs;
	r->naddrs = 0;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (run_buf(r, i, &b) && (!buffer(&t, i, &b, f) ||
					  (r->opts.insns && !count_insns(&t, i, &b, f))))
			break;
	if (f)
		functions_print(f, r);
	functions_free(f);
	return 0;
}
