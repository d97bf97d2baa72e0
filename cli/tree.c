/* SPDX-License-Identifier: BSD-2-Clause */
/* Entries and exits of functions as lines of a tree, or as JSON objects. */
#include "tree.h"

#define INDENT_MAX 40		/* levels that are drawn; the depth column has them all */

static const char *const whys[] = { "call", "tail", "interrupt", "syscall", "signal", "return",
	"unwind", "lost", "running", "again", "open" };

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
	else if (!min)
		out_str(o, "<= ");
	if (min && max != min && max != HWT_TIME_UNKNOWN)
		out_spans(o, min, max);
	else
		out_span(o, min ? min : max);
}

/* @said: the line tells already that the entry was not seen. */
static void leave_marks(struct tree *t, const struct hwt_call *c, bool said)
{
	struct out *o = t->r->out;

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
		out_str(o, t->r->time_hi == HWT_TIME_UNKNOWN ? " (trace ends inside)" :
			" (open at the end of --time)");
		break;
	}
	if (c->inferred && !said)
		out_str(o, " (entry not seen)");
	if (c->tainted && c->why != HWT_WHY_LOST)
		out_str(o, " (hole inside)");
}

static void begun_add(struct tree *t, const struct hwt_call *c)
{
	if (!hwt_call_begins(c) || t->nbegun == TREE_BEGUN)
		return;
	t->begun[t->nbegun].func = c->func;
	t->begun[t->nbegun].tid = c->ev.tid;
	t->begun[t->nbegun++].depth = c->depth;
}

/* True if @c leaves one of them. */
static bool begun_take(struct tree *t, const struct hwt_call *c)
{
	for (unsigned i = 0; i < t->nbegun; i++)
		if (t->begun[i].func == c->func && t->begun[i].tid == c->ev.tid &&
		    t->begun[i].depth == c->depth) {
			t->begun[i] = t->begun[--t->nbegun];
			return true;
		}
	return false;
}

static void enter_marks(struct out *o, const struct hwt_call *c)
{
	if (hwt_call_begins(c))
		out_str(o, " (trace begins here)");
	else if (c->why == HWT_WHY_AGAIN)
		out_str(o, " (open before the hole)");
	else if (c->why == HWT_WHY_RUNNING)
		out_str(o, c->tainted ? " (already running, caller not known)" :
			" (already running)");
}

/* CPUs of a buffer interleave: what one returns to must not shift the others. */
static int32_t *base_of(struct tree *t, const struct hwt_call *c)
{
	return &t->base[((uint32_t)c->ev.cpu + 1) % TREE_BASES];
}

static void indent(struct tree *t, const struct hwt_call *c)
{
	struct out *o = t->r->out;
	int32_t *base = base_of(t, c);
	int64_t depth;

	if (c->depth < *base)
		*base = c->depth;
	/* what is told of a frame stands inside it */
	depth = (int64_t)c->depth + (c->what == HWT_CALL_RESUME);
	show_head(&t->r->show, &c->ev);
	out_fmt(o, "%4d  ", (int)depth);
	depth -= *base;
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
		r->show.named++;
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
		begun_add(t, c);
		break;
	case HWT_CALL_LEAVE:
		out_str(o, "} ");
		name(r, c);
		duration(o, c);
		leave_marks(t, c, begun_take(t, c));
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
	leave_marks(t, c, in->inferred);
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

bool tree_flush(struct tree *t)
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
	if (!tree_flush(t))
		return false;
	if (!hole && !t->mixed && t->any && c->ev.tid != t->tid) {
		struct hwt_call sw = *c;

		sw.what = HWT_CALL_SWITCH;
		*base_of(t, c) = c->depth < 0 ? c->depth : 0;
		if (!put(t, &sw))
			return false;
	}
	if (!hole) {
		t->any = true;
		t->tid = c->ev.tid;
	}
	hold(t, c);
	return hole || c->what == HWT_CALL_ENTER || tree_flush(t);
}

bool tree_in_syms(const struct tree *t, uint64_t addr)
{
	for (size_t i = 0; i < t->naddrs; i++)
		if (addr >= t->addrs[i].lo && addr <= t->addrs[i].hi)
			return true;
	return !t->naddrs;
}

bool tree_selected(const struct tree *t, const struct hwt_call *c)
{
	if (c->ev.clock == HWT_CLOCK_BASE && hwt_event_end(&c->ev) < t->time_lo)
		return false;
	/* a hole may hide any function */
	if (!t->naddrs || c->what == HWT_CALL_GAP)
		return true;
	return (c->what == HWT_CALL_ENTER || c->what == HWT_CALL_LEAVE) && tree_in_syms(t, c->func);
}

bool tree_print(struct tree *t, const struct hwt_call *c)
{
	if (same_hole(t, c)) {
		t->count++;
		t->bytes += c->ev.u.gap.bytes;
		show_count(&t->r->show, &c->ev);
		return true;
	}
	if (t->r->opts.format == OPT_TEXT)
		return print_text(t, c);
	if (!tree_flush(t))
		return false;
	if (c->what != HWT_CALL_GAP)
		return put(t, c);
	hold(t, c);
	return true;
}

void tree_begin(struct tree *t)
{
	t->full = t->any = false;
	t->nbegun = 0;
	memset(t->base, 0, sizeof(t->base));
}
