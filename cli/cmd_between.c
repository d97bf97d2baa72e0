/* SPDX-License-Identifier: BSD-2-Clause */
/* between: the instructions that ran between two events of the kernel. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

#include "cli.h"

#define BATCH	256
#define SOURCES	64	/* streams whose place between the events is remembered */
#define HELD	65536	/* events that may wait */

/* How an event is named on the command line. */
struct pick {
	const char *text;
	uint64_t number;	/* of the capture, or of those of the name; 0: the first */
	const char *name;	/* not terminated; NULL: any event */
	size_t len;
	struct hwt_filter *filter;	/* NULL: none */
	bool cond;		/* it says more than names */
	/* found */
	uint64_t seen;		/* events of the name */
	uint64_t exact;		/* number of the one that it is, once that is known */
	bool found;
	struct hwt_event ev;	/* without its data */
};

/*
 * Order tells more than intervals: behind what is certainly after the first event, all is. And
 * where tracing was off from an instant up to that of an event, and on from one at or behind it,
 * what ran before it was switched off is before the event, and what ran behind is after.
 */
struct lane {
	uint32_t src;
	int32_t cpu;
	bool seen;		/* an event came */
	bool after;		/* all that comes is after the first event */
	bool over;		/* ... and after the second */
	bool off;		/* tracing is off, since @off_end at the latest */
	uint64_t off_end;
};

/* An event that waits until it is known where it is. */
struct held {
	struct hwt_event ev;
	uint8_t lane;
	bool after, before, out;	/* certainly; @out: before the first or behind the second */
};

struct between {
	struct run *r;
	struct pick p[2];
	struct lane lanes[SOURCES];
	unsigned nlanes;
	struct held *q;			/* HELD, a ring */
	uint64_t head, tail;		/* oldest, next to fill */
	bool stopped;
	int32_t tid;			/* of both events, if it says whose; else 0 */
	uint64_t certain, possible, holes;
};

static bool number(const char *s, size_t n, uint64_t *out)
{
	uint64_t v = 0;

	for (size_t i = 0; i < n; i++)
		if (s[i] < '0' || s[i] > '9' || __builtin_mul_overflow(v, 10, &v) ||
		    __builtin_add_overflow(v, (uint64_t)(s[i] - '0'), &v))
			return false;
	*out = v;
	return n && v;
}

/* The text without its number as a filter: 1, 0 if it may be a name, or an error of the filter. */
static int as_filter(struct pick *p, const struct hwt_session *s, struct hwt_diag *diag)
{
	char *text = strndup(p->text, p->len), *colon;
	int rc;

	if (!text)
		return -ENOMEM;
	p->cond = strchr(text, ' ');
	rc = hwt_kernel_filter(s, &p->filter, text, diag);
	/* names of events that are none of ours may have what looks like a filter */
	colon = strchr(text, ':');
	if (colon)
		*colon = 0;
	if (rc < 0 && !p->cond && !hwt_abi_event_by_name(text))
		rc = 0;
	else if (rc >= 0)
		rc = 1;
	free(text);
	return rc;
}

/* N, #N, NAME, or a filter, the last two with :N. 0 or an exit code. */
static int parse(struct pick *p, const char *text, const struct hwt_session *s)
{
	const char *colon = strrchr(text, ':');
	struct hwt_diag diag = { .text = "out of memory" };
	int rc = 0;

	*p = (struct pick){ .text = text, .len = strlen(text) };
	if (number(text + (*text == '#'), p->len - (*text == '#'), &p->number))
		return 0;
	if (colon && number(colon + 1, strlen(colon + 1), &p->number))
		p->len = (size_t)(colon - text);
	if (memchr(text, ' ', p->len) || memchr(text, ':', p->len) || memchr(text, '*', p->len) ||
	    memchr(text, ',', p->len))
		rc = as_filter(p, s, &diag);
	if (rc < 0) {
		say("hwtrace help between", "%s: %s", text, diag.text);
		return EXIT_USAGE;
	}
	if (rc)
		return 0;
	p->name = text;
	if (p->len && *text != '#')
		return 0;
	say("12, sched.switch, sched.switch:3, or a filter",
	    "\"%s\" is no event: a number that timeline prints, or a name", text);
	return EXIT_USAGE;
}

/* True if @ev is the one; it is looked for from behind @from on if it has no number. */
static bool is_it(struct pick *p, const struct run *r, const struct hwt_event *ev, uint64_t from)
{
	const char *name;

	if (p->exact)
		return ev->u.rec.number == p->exact;
	if (p->filter) {
		if (!hwt_filter_wants(p->filter, ev))
			return false;
		p->seen++;
		return p->number ? p->number == p->seen : ev->u.rec.number > from;
	}
	if (!p->name) {
		p->seen = ev->u.rec.number;
		return p->number == p->seen;
	}
	name = hwt_kernel_name(r->session, ev);
	if (strlen(name) != p->len || memcmp(name, p->name, p->len))
		return false;
	p->seen++;
	return p->number ? p->number == p->seen : ev->u.rec.number > from;
}

static int not_found(const struct pick *p)
{
	const char *hint = "hwtrace timeline, which numbers the events";

	if (p->filter && !p->seen)
		say(hint, "%s: no event of the capture matches", p->text);
	else if (!p->seen && p->name)
		say("hwtrace timeline, which has the events of the kernel; from one function to "
		    "another: hwtrace latency --from F --to G",
		    "%s: no event of this name in the capture", p->text);
	else if (!p->seen)
		say("hwtrace calls or list, which show what ran",
		    "%s: the capture has no events of the kernel", p->text);
	else
		say(hint, "%s: the capture has %llu such events", p->text,
		    (unsigned long long)p->seen);
	return EXIT_USAGE;
}

static void print_event(struct between *b, const struct hwt_event *ev)
{
	struct run *r = b->r;

	r->json.certain = 0;
	if (!run_line(r))
		return;
	if (r->opts.format != OPT_TEXT) {
		jsonl_event(&r->json, &r->show, ev);
		return;
	}
	out_str(r->out, "  ");
	show_event(&r->show, ev);
}

/*
 * The exit of a system call that another thread entered is hardly meant: a second event that only a
 * name is given of is of the thread of the first, if there is one. --cpu asks for something else.
 */
static bool of_other_task(const struct between *b, const struct hwt_event *ev)
{
	const struct pick *p = &b->p[1];
	int32_t tid = b->p[0].ev.tid;

	return !p->exact && !p->number && !p->cond && !b->r->opts.ncpus && tid > 0 &&
		ev->tid != tid;
}

/*
 * Finds both events, and prints the one of @print (-1: none), as what it points to can not be kept.
 * 0 or an exit code.
 */
static int find(struct between *b, int print)
{
	struct hwt_timeline_opts o = { .kernel = true, .want = HWT_INTEREST_ALL };
	struct hwt_stream *st = run_timeline(b->r, &o);
	struct hwt_event ev[BATCH], other = { 0 };
	bool go = st, any = false;
	int n = 0;

	b->p[0].seen = b->p[1].seen = 0;
	b->p[0].found = b->p[1].found = false;
	while (go && (n = hwt_stream_next(st, ev, BATCH)) > 0) {
		for (int i = 0; i < n && go; i++) {
			if (ev[i].type != HWT_EV_RECORD)
				continue;
			for (int k = 0; k < 2; k++) {
				struct pick *p = &b->p[k];

				/* the second one is behind the first unless it says where it is */
				if (p->found || (k && !p->number && !b->p[0].found) ||
				    !is_it(p, b->r, &ev[i], k ? b->p[0].ev.u.rec.number : 0))
					continue;
				if (k && of_other_task(b, &ev[i])) {
					other = any ? other : ev[i];
					any = true;
					continue;
				}
				p->found = true;
				p->ev = ev[i];
				if (k == print)
					print_event(b, &ev[i]);
			}
			go = !(b->p[0].found && b->p[1].found);
		}
		go = go && run_tick(b->r, NULL, 0);
	}
	hwt_stream_close(st);
	if (n < 0)
		run_error(b->r, n, "kernel events");
	if (any && !b->p[1].found) {
		b->p[1].found = true;
		b->p[1].ev = other;
	}
	for (int k = 0; k < 2; k++)
		if (b->p[k].found)
			b->p[k].exact = b->p[k].ev.u.rec.number;
	for (int k = 0; k < 2 && !run_interrupted; k++)
		if (!b->p[k].found)
			return not_found(&b->p[k]);
	return 0;
}

static struct lane *lane_of(struct between *b, const struct hwt_event *ev)
{
	for (unsigned i = 0; i < b->nlanes; i++)
		if (b->lanes[i].src == ev->src && b->lanes[i].cpu == ev->cpu)
			return &b->lanes[i];
	if (b->nlanes == SOURCES)
		return NULL;
	b->lanes[b->nlanes] = (struct lane){ .src = ev->src, .cpu = ev->cpu };
	return &b->lanes[b->nlanes++];
}

/* Prints one that is between, or may be. */
static void print(struct between *b, const struct held *h)
{
	struct run *r = b->r;
	bool sure = h->after && h->before;

	if (h->out || b->stopped)
		return;
	if (!run_line(r)) {
		b->stopped = true;
		return;
	}
	if (h->ev.type == HWT_EV_INSN)
		*(sure ? &b->certain : &b->possible) += 1;
	b->holes += h->ev.type == HWT_EV_GAP;
	if (r->opts.format != OPT_TEXT) {
		r->json.certain = sure ? 2 : 1;
		jsonl_event(&r->json, &r->show, &h->ev);
		r->json.certain = 0;
		return;
	}
	out_str(r->out, sure ? "  " : "? ");
	show_event(&r->show, &h->ev);
}

/* Prints from the oldest on what is known; @all: the rest, too. */
static void flush(struct between *b, bool all)
{
	for (; b->head != b->tail; b->head++) {
		const struct held *h = &b->q[b->head % HELD];

		if (!all && !h->out && !(h->after && h->before) && b->tail - b->head < HELD)
			return;
		print(b, h);
	}
}

/* What waits of a lane is before the first event, or before the second. */
static void settle(struct between *b, const struct lane *l, bool first)
{
	for (uint64_t i = b->head; i != b->tail; i++) {
		struct held *h = &b->q[i % HELD];

		if (&b->lanes[h->lane] != l)
			continue;
		if (first)
			h->out = true;
		else
			h->before = true;
	}
}

/* Tracing is on again, from @ev on. */
static void on_again(struct between *b, struct lane *l, const struct hwt_event *ev)
{
	const struct hwt_event *from = &b->p[0].ev, *to = &b->p[1].ev;
	uint64_t end = hwt_event_end(from);

	if (ev->time == HWT_TIME_UNKNOWN || ev->clock != from->clock || ev->clock != to->clock)
		return;
	/* what was over before the first event did not come at all */
	if (!l->after && ev->time >= end && (!l->seen || (l->off && l->off_end <= from->time))) {
		settle(b, l, true);
		l->after = true;
	}
	if (l->off && l->off_end <= to->time && ev->time >= hwt_event_end(to)) {
		settle(b, l, false);
		l->over = true;
	}
}

/* Tracing is off at the end of all that was asked for. */
static void still_off(struct between *b)
{
	for (unsigned i = 0; i < b->nlanes; i++)
		if (b->lanes[i].off && b->lanes[i].off_end <= b->p[1].ev.time)
			settle(b, &b->lanes[i], false);
}

static bool moves(const struct hwt_event *ev)
{
	return ev->type == HWT_EV_INSN || ev->type == HWT_EV_NOPATH || ev->type == HWT_EV_GAP ||
		ev->type == HWT_EV_EXCEPTION || ev->type == HWT_EV_ON || ev->type == HWT_EV_ERET;
}

static void event(struct between *b, const struct hwt_event *ev)
{
	const struct hwt_event *from = &b->p[0].ev, *to = &b->p[1].ev;
	struct lane none = { 0 }, *l = lane_of(b, ev);
	struct held *h;

	/* the id of a first thread is that of its process, too: others of it are not asked for */
	if (ev->type == HWT_EV_NONE || (b->tid && ev->tid > 0 && ev->tid != b->tid))
		return;
	l = l ? l : &none;
	if (ev->type == HWT_EV_ON)
		on_again(b, l, ev);
	l->after = l->after || hwt_before(from, ev);
	l->over = l->over || hwt_before(to, ev);
	if (moves(ev))
		l->off = false;
	l->seen = true;
	if (ev->type == HWT_EV_OFF) {
		l->off = true;
		l->off_end = hwt_event_end(ev);
	}
	if (l->over || hwt_before(ev, from) ||
	    (ev->type != HWT_EV_INSN && !show_wanted(&b->r->show, ev)))
		return;
	h = &b->q[b->tail++ % HELD];
	*h = (struct held){ .ev = *ev, .after = l->after, .before = hwt_before(ev, to),
		.lane = l == &none ? SOURCES : (uint8_t)(l - b->lanes) };
	flush(b, false);
}

/* Whose instructions: as the user says; else the thread of both, or the CPU of both. */
static int whose(struct between *b, struct hwt_interest *want)
{
	const struct hwt_event *from = &b->p[0].ev, *to = &b->p[1].ev;
	const struct opts *o = &b->r->opts;

	want->cpus = o->cpus;
	want->ncpus = o->ncpus;
	want->tids = o->tids;
	want->ntids = o->ntids;
	if (o->ncpus || o->ntids)
		return 0;
	if (from->tid > 0 && from->tid == to->tid) {
		want->tids = &from->tid;
		want->ntids = 1;
		b->tid = from->tid;
	} else if (from->cpu != HWT_NONE && from->cpu == to->cpu) {
		want->cpus = &from->cpu;
		want->ncpus = 1;
	} else {
		say("--cpu N or --tid N", "the events are neither of one thread nor of one CPU");
		return EXIT_USAGE;
	}
	return 0;
}

static void sum(const struct between *b)
{
	struct run *r = b->r;
	struct jsonl *j = &r->json;
	struct out *o = r->out;

	if (r->opts.format != OPT_TEXT) {
		jsonl_open(j, "between");
		jsonl_u64(j, "certain", b->certain);
		jsonl_u64(j, "possible", b->possible);
		jsonl_u64(j, "holes", b->holes);
		jsonl_close(j);
		return;
	}
	out_str(o, "== ");
	out_count(o, b->certain, "instruction");
	out_str(o, " certainly between");
	if (b->possible) {
		out_str(o, ", ");
		out_udec(o, b->possible);
		out_str(o, " that may be (?)");
	}
	if (b->holes) {
		out_str(o, "; more in ");
		out_count(o, b->holes, "hole");
	}
	out_nl(o);
}

static int between(struct between *b)
{
	struct run *r = b->r;
	struct hwt_timeline_opts o = { .hardware = true, .anchors = true,
		.want = { .level = HWT_LEVEL_INSNS, .addrs = r->addrs, .naddrs = r->naddrs,
			  .time_hi = HWT_TIME_UNKNOWN } };
	struct hwt_event ev[BATCH];
	struct hwt_stream *st;
	int rc = find(b, -1), n = 0;

	if (rc)
		return rc;
	if (b->p[1].ev.u.rec.number <= b->p[0].ev.u.rec.number) {
		say("the two in the other order", "%s is not behind %s", b->p[1].text,
		    b->p[0].text);
		return EXIT_USAGE;
	}
	if (run_kernel_only(r)) {
		find(b, 0);
		find(b, 1);
	}
	if (!run_trace(r, true))
		return 0;
	rc = whose(b, &o.want);
	if (rc)
		return rc;
	if (b->p[0].ev.clock == HWT_CLOCK_BASE) {
		o.want.time_lo = b->p[0].ev.time == HWT_TIME_UNKNOWN ? 0 : b->p[0].ev.time;
		o.want.time_hi = hwt_event_end(&b->p[1].ev);
	}
	st = run_timeline(r, &o);
	if (!st)
		return 0;
	b->q = malloc(HELD * sizeof(*b->q));
	if (!b->q) {
		run_error(r, -ENOMEM, "timeline");
		run_done(r, st);
		return 0;
	}
	find(b, 0);
	while (!b->stopped && run_tick(r, st, HWT_NO_OFF) &&
	       (n = hwt_stream_next(st, ev, BATCH)) > 0)
		for (int i = 0; i < n && !b->stopped; i++)
			event(b, &ev[i]);
	if (n < 0)
		run_error(r, n, "timeline");
	if (!n)
		still_off(b);
	flush(b, true);
	if (!b->stopped && !run_interrupted)
		find(b, 1);
	run_done(r, st);
	sum(b);
	return 0;
}

int cmd_between(struct run *r)
{
	struct between b = { .r = r };
	int rc;

	if (access(r->opts.args[0], F_OK) && !access(r->opts.args[2], F_OK)) {
		say("hwtrace between FILE EVENT EVENT", "the capture comes first, then the two "
		    "events");
		return EXIT_USAGE;
	}
	rc = run_open(r);
	if (rc)
		return rc;
	rc = parse(&b.p[0], r->opts.args[1], r->session);
	if (!rc)
		rc = parse(&b.p[1], r->opts.args[2], r->session);
	if (!rc)
		rc = between(&b);
	hwt_filter_free(b.p[0].filter);
	hwt_filter_free(b.p[1].filter);
	free(b.q);
	return rc;
}
