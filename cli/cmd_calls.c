/* SPDX-License-Identifier: BSD-2-Clause */
/* calls: a tree as it unfolds, or a table of functions. */
#include <errno.h>
#include <stdlib.h>

#include "cli.h"

#define INDENT_MAX 40		/* levels that are drawn; the depth column has them all */

static const char *const whys[] = { "call", "tail", "interrupt", "syscall", "signal", "return",
	"unwind", "lost" };

/* A function in the table of --summary. */
struct func {
	const char *name, *module;	/* NULL: no symbol */
	uint64_t addr;
	int32_t pid;			/* without a symbol, whose address it is */
	uint64_t calls, tails, leaves, inferred, unwound, tainted;
	int32_t max_depth;
};

struct table {
	struct func *v;		/* open addressing; calls + leaves == 0: empty */
	size_t n, cap;
	bool nomem;
};

static uint64_t hash_str(uint64_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x100000001b3u;
	return h;
}

static uint64_t func_hash(const struct func *f)
{
	if (f->name)
		return hash_str(hash_str(0xcbf29ce484222325u, f->name), f->module);
	return (f->addr ^ (uint32_t)f->pid) * 0x9e3779b97f4a7c15u;
}

static bool func_equal(const struct func *a, const struct func *b)
{
	if (a->name && b->name)
		return !strcmp(a->name, b->name) && !strcmp(a->module, b->module);
	return !a->name && !b->name && a->addr == b->addr && a->pid == b->pid;
}

static bool empty(const struct func *f)
{
	return !f->calls && !f->leaves;
}

static struct func *find(struct func *v, size_t cap, const struct func *key)
{
	size_t k = (size_t)(func_hash(key) >> 20) & (cap - 1);

	while (!empty(&v[k]) && !func_equal(&v[k], key))
		k = (k + 1) & (cap - 1);
	return &v[k];
}

static bool grow(struct table *t)
{
	size_t cap = t->cap ? t->cap * 2 : 256;
	struct func *v = calloc(cap, sizeof(*v));

	if (!v)
		return false;
	for (size_t i = 0; i < t->cap; i++)
		if (!empty(&t->v[i]))
			*find(v, cap, &t->v[i]) = t->v[i];
	free(t->v);
	t->v = v;
	t->cap = cap;
	return true;
}

static void count(struct run *r, struct table *t, const struct hwt_call *c)
{
	struct hwt_where w = show_where(&c->ev);
	struct func key = { .addr = c->func, .pid = c->ev.pid, .max_depth = INT32_MIN }, *f;
	struct hwt_symbol sym;

	if (c->what != HWT_CALL_ENTER && c->what != HWT_CALL_LEAVE)
		return;
	if (t->n * 2 >= t->cap && !grow(t)) {
		t->nomem = true;
		return;
	}
	if (c->func != HWT_NO_ADDR &&
	    hwt_image_symbol(r->show.image, &w, c->func, &sym) == 1) {
		key.name = sym.name;
		key.module = sym.module ? sym.module : "";
		key.addr = sym.start;
	}
	f = find(t->v, t->cap, &key);
	if (empty(f)) {
		*f = key;
		t->n++;
	}
	if (c->what == HWT_CALL_ENTER) {
		f->calls++;
		f->tails += c->why == HWT_WHY_TAIL;
	} else {
		f->leaves++;
		f->inferred += c->inferred;
		f->tainted += c->tainted;
		f->unwound += c->why == HWT_WHY_UNWIND || c->why == HWT_WHY_LOST;
	}
	if (c->depth > f->max_depth)
		f->max_depth = c->depth;
}

static int by_calls(const void *pa, const void *pb)
{
	const struct func *a = pa, *b = pb;

	if (a->calls != b->calls)
		return a->calls < b->calls ? 1 : -1;
	if (a->leaves != b->leaves)
		return a->leaves < b->leaves ? 1 : -1;
	if (a->name && b->name && strcmp(a->name, b->name))
		return strcmp(a->name, b->name);
	return a->addr < b->addr ? -1 : a->addr > b->addr;
}

static void func_name(struct out *o, const struct func *f)
{
	if (f->name) {
		out_safe(o, f->name);
		if (*f->module) {
			const char *slash = strrchr(f->module, '/');

			out_str(o, "  (");
			out_safe(o, slash ? slash + 1 : f->module);
			out_ch(o, ')');
		}
	} else if (f->addr == HWT_NO_ADDR) {
		out_str(o, "(not traced)");
	} else {
		out_hex(o, f->addr, 1);
	}
}

static void table_json(struct run *r, const struct func *f)
{
	struct jsonl *j = &r->json;

	jsonl_open(j, "function");
	if (f->addr != HWT_NO_ADDR)
		jsonl_hex(j, "addr", f->addr);
	if (f->name) {
		jsonl_str(j, "sym", f->name);
		jsonl_str(j, "module", f->module);
	} else if (f->pid != HWT_NONE) {
		jsonl_u64(j, "pid", (uint64_t)f->pid);
	}
	jsonl_u64(j, "calls", f->calls);
	jsonl_u64(j, "tail_calls", f->tails);
	jsonl_u64(j, "leaves", f->leaves);
	jsonl_u64(j, "inferred", f->inferred);
	jsonl_u64(j, "unwound", f->unwound);
	jsonl_u64(j, "tainted", f->tainted);
	jsonl_key(j, "max_depth");
	out_dec(r->out, f->max_depth);
	jsonl_close(j);
}

static void table_print(struct run *r, struct table *t)
{
	struct out *o = r->out;
	size_t n = 0;

	for (size_t i = 0; i < t->cap; i++)
		if (!empty(&t->v[i]))
			t->v[n++] = t->v[i];
	if (n)
		qsort(t->v, n, sizeof(*t->v), by_calls);
	if (r->opts.format == OPT_TEXT)
		out_str(o, "     calls    leaves   unwound  inferred   tainted  depth  function\n");
	for (size_t i = 0; i < n && run_line(r); i++) {
		const struct func *f = &t->v[i];

		if (r->opts.format != OPT_TEXT) {
			table_json(r, f);
			continue;
		}
		out_udecw(o, f->calls, 10);
		out_udecw(o, f->leaves, 10);
		out_udecw(o, f->unwound, 10);
		out_udecw(o, f->inferred, 10);
		out_udecw(o, f->tainted, 10);
		out_fmt(o, "%7d  ", f->max_depth);
		func_name(o, f);
		out_nl(o);
	}
}

static uint64_t late(uint64_t time, uint32_t span)
{
	return span == HWT_SPAN_UNKNOWN ? HWT_TIME_UNKNOWN : time + span;
}

/* A duration is as uncertain as its ends: "1.2 us", "1.2 us to 1.5 us", ">= 1.2 us". */
static void duration(struct out *o, const struct hwt_call *c)
{
	uint64_t in_hi, out_hi, min = 0, max = HWT_TIME_UNKNOWN;

	if (c->enter_time == HWT_TIME_UNKNOWN || c->ev.time == HWT_TIME_UNKNOWN ||
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

static void leave_marks(struct out *o, const struct hwt_call *c)
{
	if (c->why == HWT_WHY_TAIL)
		out_str(o, " (tail call)");
	else if (c->why == HWT_WHY_UNWIND)
		out_str(o, " (unwound)");
	else if (c->why == HWT_WHY_LOST)
		out_str(o, " (lost in a hole)");
	if (c->inferred)
		out_str(o, " (entry not seen)");
	if (c->tainted)
		out_str(o, " (hole inside)");
}

static void indent(struct run *r, const struct hwt_call *c)
{
	struct out *o = r->out;
	int32_t depth = c->depth < 0 ? 0 : c->depth > INDENT_MAX ? INDENT_MAX : c->depth;

	show_head(&r->show, &c->ev);
	out_fmt(o, "%4d  ", c->depth);
	while (depth-- > 0)
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
		out_hex(o, c->func, 1);
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

/* @last: nothing follows. */
static void print_call(struct run *r, const struct hwt_call *c, bool last)
{
	struct out *o = r->out;

	indent(r, c);
	switch (c->what) {
	case HWT_CALL_ENTER:
		enter_name(r, c);
		/* what is not traced opens nothing, unless something came before its end */
		if (last && c->func == HWT_NO_ADDR)
			out_str(o, " (trace ends inside)");
		else
			out_str(o, " {");
		break;
	case HWT_CALL_LEAVE:
		out_str(o, "} ");
		name(r, c);
		duration(o, c);
		leave_marks(o, c);
		break;
	case HWT_CALL_GAP:
		out_style(o, OUT_RED);
		out_str(o, "-- ");
		show_gap(&r->show, &c->ev);
		out_style(o, OUT_PLAIN);
		break;
	case HWT_CALL_SWITCH:
		out_str(o, "-- other thread");
		break;
	}
	out_nl(o);
}

/* An entry that is left at once, on one line. */
static void print_leaf(struct run *r, const struct hwt_call *in, const struct hwt_call *c)
{
	indent(r, in);
	enter_name(r, in);
	if (in->func != HWT_NO_ADDR)
		out_str(r->out, "()");
	duration(r->out, c);
	leave_marks(r->out, c);
	out_nl(r->out);
}

static void call_json(struct run *r, const struct hwt_call *c)
{
	static const char *const types[] = { "call", "return", "gap", "switch" };
	struct hwt_where w = show_where(&c->ev);
	struct jsonl *j = &r->json;
	struct hwt_symbol sym;

	if (c->what == HWT_CALL_GAP) {
		jsonl_event(j, &r->show, &c->ev);
		return;
	}
	jsonl_open(j, types[c->what]);
	jsonl_common(j, &r->show, &c->ev);
	jsonl_key(j, "depth");
	out_dec(r->out, c->depth);
	if (c->what != HWT_CALL_SWITCH) {
		jsonl_str(j, "why", whys[c->why]);
		if (c->why == HWT_WHY_INTERRUPT && c->ev.type == HWT_EV_EXCEPTION)
			jsonl_str(j, "name", hwt_exc_name(c->ev.u.exc.what));
		if (c->func != HWT_NO_ADDR) {
			jsonl_hex(j, "func", c->func);
			if (hwt_image_symbol(r->show.image, &w, c->func, &sym) == 1)
				jsonl_str(j, "sym", sym.name);
		}
		if (c->site != HWT_NO_ADDR)
			jsonl_hex(j, "site", c->site);
	}
	if (c->what == HWT_CALL_LEAVE) {
		jsonl_bool(j, "inferred", c->inferred);
		jsonl_bool(j, "tainted", c->tainted);
		jsonl_interval(j, "enter", &r->show, c->enter_time, c->enter_span, c->ev.clock);
	}
	jsonl_close(j);
}

/* One entry is held back, to see whether it is left at once. */
struct held {
	struct hwt_call call;
	bool full;
	bool any;		/* a call was printed */
	int32_t tid;		/* its thread */
};

static bool flush_held(struct run *r, struct held *h, bool last)
{
	if (h->full && run_line(r))
		print_call(r, &h->call, last);
	h->full = false;
	return !r->stopped;
}

static bool print(struct run *r, struct held *h, const struct hwt_call *c)
{
	const struct hwt_call *in = &h->call;

	if (r->opts.format != OPT_TEXT) {
		if (!run_line(r))
			return false;
		call_json(r, c);
		return true;
	}
	if (h->full && c->what == HWT_CALL_LEAVE && in->depth == c->depth &&
	    in->func == c->func && in->ev.tid == c->ev.tid && in->ev.cpu == c->ev.cpu) {
		h->full = false;
		if (!run_line(r))
			return false;
		print_leaf(r, in, c);
		return true;
	}
	if (!flush_held(r, h, false))
		return false;
	/* threads that do nothing here need no line */
	if (c->what == HWT_CALL_SWITCH)
		return true;
	if (c->what != HWT_CALL_GAP && h->any && c->ev.tid != h->tid) {
		struct hwt_call sw = *c;

		sw.what = HWT_CALL_SWITCH;
		if (!run_line(r))
			return false;
		print_call(r, &sw, false);
	}
	if (c->what != HWT_CALL_GAP) {
		h->any = true;
		h->tid = c->ev.tid;
	}
	h->call = *c;
	h->full = true;
	return c->what == HWT_CALL_ENTER || flush_held(r, h, false);
}

static bool buffer(struct run *r, size_t i, const struct hwt_buf_info *b, struct table *t)
{
	struct hwt_stream *st = run_flow(r, i, HWT_LEVEL_CALLS);
	struct held held = { .full = false };
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
	if (r->opts.format == OPT_TEXT && !r->opts.summary && hwt_session_bufs(r->session) > 1) {
		out_str(r->out, "== ");
		out_safe(r->out, b->name);
		out_nl(r->out);
	}
	for (unsigned k = 0; go && (rc = hwt_calls_next(calls, &c)) > 0; k++) {
		if (r->opts.summary)
			count(r, t, &c);
		else
			go = print(r, &held, &c);
		if (k % 256 == 0)
			go = go && run_tick(r, st, c.ev.off);
	}
	if (rc < 0)
		run_error(r, rc, b->name);
	flush_held(r, &held, !r->stopped);
	run_count(r, st);
	hwt_calls_free(calls);	/* closes the flow stream */
	return go && !r->stopped;
}

int cmd_calls(struct run *r)
{
	struct table t = { .n = 0 };
	struct hwt_buf_info b;
	int rc = run_open(r);

	if (rc)
		return rc;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (run_buf(r, i, &b) && !buffer(r, i, &b, &t))
			break;
	if (t.nomem)
		run_error(r, -ENOMEM, "table of functions");
	if (r->opts.summary)
		table_print(r, &t);
	free(t.v);
	return 0;
}
