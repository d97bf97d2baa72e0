/* SPDX-License-Identifier: BSD-2-Clause */
/* latency: how long it takes from one point to another, and where that time goes. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli.h"
#include "pairs.h"

#define BATCH	256
#define TOP_MAX	1000	/* of the longest */
#define BAR	40	/* columns */
#define WAITS	2	/* of one pair */

/* One of the longest, with what it waited for. */
struct kept {
	struct hwt_pair p;
	unsigned nwaits;
	struct hwt_wait wait[WAITS];
};

struct latency {
	struct run *r;
	struct hwt_pairs *pairs;
	struct hwt_hist *hist;
	struct kept **top;		/* the longest, in order */
	unsigned ntop, max;
	struct hwt_pair tainted;	/* the longest that touches a hole */
	struct hwt_interval part[HWT_PARTS];
	uint64_t split;			/* pairs in @part */
	struct groups *tasks, *cpus;
	bool any, ticks;		/* @clock is known; it has no map to ns */
	unsigned clock;			/* of the first pair, and of all that are counted */
	uint64_t other;			/* pairs on other clocks */
};

/* Longer by what is certain, else by what is possible. */
static bool longer(const struct hwt_pair *a, const struct hwt_pair *b)
{
	return a->took.lo != b->took.lo ? a->took.lo > b->took.lo : a->took.hi > b->took.hi;
}

static int keep(struct latency *l, const struct hwt_pair *p)
{
	unsigned i = l->ntop;
	struct kept *k;

	if (i == l->max && !longer(p, &l->top[i - 1]->p))
		return 0;
	if (i == l->max)
		i--;
	else if (!(l->top[l->ntop] = malloc(sizeof(*k))))
		return -ENOMEM;
	else
		l->ntop++;
	k = l->top[i];
	for (; i && longer(p, &l->top[i - 1]->p); i--)
		l->top[i] = l->top[i - 1];
	l->top[i] = k;
	k->p = *p;
	k->nwaits = hwt_pairs_waits(l->pairs, p, k->wait, WAITS);
	return 0;
}

static int add(struct latency *l, const struct hwt_pair *p)
{
	int rc;

	if (p->took.lo == HWT_TIME_UNKNOWN)
		return 0;
	l->clock = l->any ? l->clock : p->from.clock;
	l->any = true;
	l->ticks = l->clock != HWT_CLOCK_BASE;
	if (p->from.clock != l->clock) {
		l->other++;
		return 0;
	}
	if (p->tainted) {
		if (!l->tainted.number || p->took.hi > l->tainted.took.hi)
			l->tainted = *p;
		return 0;
	}
	hwt_hist_add(l->hist, p->took);
	rc = keep(l, p);
	groups_add(l->tasks, p->tid, p->took);
	groups_add(l->cpus, p->cpu, p->took);
	if (!p->split)
		return rc;
	l->split++;
	for (unsigned k = 0; k < HWT_PARTS; k++)
		hwt_interval_add(&l->part[k], p->part[k]);
	return rc;
}

static void json_quantiles(struct latency *l, struct jsonl *j)
{
	static const struct { const char *key; unsigned permille; } q[] = {
		{ "min", 0 }, { "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "p999", 999 },
		{ "max", 1000 },
	};

	for (unsigned i = 0; hwt_hist_count(l->hist) && i < sizeof(q) / sizeof(q[0]); i++)
		jsonl_length(j, q[i].key, hwt_hist_quantile(l->hist, q[i].permille));
}

static void print_json(struct latency *l)
{
	struct jsonl *j = &l->r->json;
	struct hwt_pair_stats s;

	hwt_pairs_stats(l->pairs, &s);
	jsonl_open(j, "latency");
	jsonl_str(j, "from", hwt_pairs_point(l->pairs, 0));
	jsonl_str(j, "to", hwt_pairs_point(l->pairs, 1));
	jsonl_str(j, "unit", l->ticks ? "ticks" : "ns");
	jsonl_bool(j, "stepped", pair_stepped(l->r));
	jsonl_u64(j, "pairs", s.pairs);
	jsonl_u64(j, "tainted", s.tainted);
	pair_scope_json(j, s.scope, s.tasks);
	if (s.outside)
		jsonl_u64(j, "outside", s.outside);
	jsonl_u64(j, "untimed", s.untimed);
	jsonl_u64(j, "backward", s.backward);
	jsonl_u64(j, "replaced", s.replaced);
	jsonl_u64(j, "unended", s.unended);
	jsonl_u64(j, "unbegun", s.unbegun);
	jsonl_u64(j, "dropped", s.dropped);
	if (l->other)
		jsonl_u64(j, "other_clock", l->other);
	json_quantiles(l, j);
	jsonl_u64(j, "split", l->split);
	for (unsigned k = 0; l->split && k < HWT_PARTS; k++)
		if (s.known & 1u << k)
			jsonl_length(j, hwt_part_name(k), l->part[k]);
	jsonl_close(j);
	groups_json(l->tasks, l->r, true);
	groups_json(l->cpus, l->r, false);
}

static void print_quantiles(struct latency *l)
{
	static const struct { const char *name; unsigned permille; } q[] = {
		{ "p50", 500 }, { "p90", 900 }, { "p99", 990 }, { "max", 1000 },
	};
	struct out *o = l->r->out;

	out_group(o, hwt_hist_count(l->hist));
	out_fmt(o, " pair%s", out_s(hwt_hist_count(l->hist)));
	for (unsigned i = 0; hwt_hist_count(l->hist) && i < sizeof(q) / sizeof(q[0]); i++) {
		out_fmt(o, "   %s ", q[i].name);
		out_style(o, OUT_BOLD);
		pair_length(o, hwt_hist_quantile(l->hist, q[i].permille), l->ticks);
		out_style(o, OUT_PLAIN);
	}
	out_nl(o);
}

/* An edge is exact, "65.536 us": rounded, it would move values between rows. */
static void label(struct out *o, uint64_t v, bool ticks)
{
	static const char *const unit[] = { "ns", "us", "ms", "s" };
	uint64_t div = 1, rest;
	char text[32];
	unsigned u = 0;
	int n;

	for (; !ticks && u < 3 && v / div >= 1000; u++)
		div *= 1000;
	rest = v % div;
	n = snprintf(text, sizeof(text), "%llu", (unsigned long long)(v / div));
	if (rest)
		n += snprintf(text + n, sizeof(text) - (size_t)n, ".%0*llu", (int)(3 * u),
			      (unsigned long long)rest);
	while (rest && text[n - 1] == '0')
		text[--n] = 0;
	out_fmt(o, "%13s %-2s", text, ticks ? "" : unit[u]);
}

struct row {
	uint64_t lo, hi;	/* both included */
	struct hwt_interval n;
};

/* One row for each power of two that a value may lie in; those that nothing tells apart are one. */
static unsigned make_rows(const struct latency *l, struct row *row)
{
	unsigned n = 0;

	for (unsigned k = 0; k <= 64; k++) {
		struct row x = { .lo = k ? 1ull << (k - 1) : 0,
			.hi = k < 64 ? (1ull << k) - 1 : HWT_TIME_UNKNOWN - 1 };

		x.n = hwt_hist_between(l->hist, x.lo, x.hi);
		if (!x.n.hi && !n)
			continue;
		if (n && !x.n.lo && !row[n - 1].n.lo && x.n.hi == row[n - 1].n.hi) {
			row[n - 1].hi = x.hi;
			row[n - 1].n = hwt_hist_between(l->hist, row[n - 1].lo, x.hi);
			continue;
		}
		row[n++] = x;
	}
	while (n && !row[n - 1].n.hi)
		n--;
	return n;
}

static void print_histogram(struct latency *l)
{
	struct out *o = l->r->out;
	struct row row[65];
	unsigned n = make_rows(l, row);
	uint64_t most = 1;

	for (unsigned k = 0; k < n; k++)
		most = row[k].n.hi > most ? row[k].n.hi : most;
	for (unsigned k = 0; k < n; k++) {
		const struct hwt_interval *v = &row[k].n;
		unsigned sure = (unsigned)((v->lo * BAR + most - 1) / most);
		unsigned may = (unsigned)((v->hi * BAR + most - 1) / most);

		label(o, row[k].lo, l->ticks);
		out_str(o, " .. ");
		if (row[k].hi >= HWT_TIME_UNKNOWN - 1)	/* no bound is known */
			out_fmt(o, "%13s   ", "?");
		else
			label(o, row[k].hi + 1, l->ticks);
		out_str(o, "  ");
		for (unsigned i = 0; i < may; i++)
			out_ch(o, i < sure ? '#' : '-');
		out_fmt(o, "%*s %llu", (int)(BAR - may), "", (unsigned long long)v->lo);
		if (v->hi != v->lo)
			out_fmt(o, "..%llu", (unsigned long long)v->hi);
		out_nl(o);
	}
}

/* Share of the parts in the sum of all, as far as the intervals tell it. */
static void print_parts(struct latency *l)
{
	struct out *o = l->r->out;
	struct hwt_pair_stats s;

	hwt_pairs_stats(l->pairs, &s);
	if (!l->split)
		return;
	out_str(o, "in all: ");
	pair_parts(o, l->part, s.known, l->ticks);
	out_nl(o);
	if (!pair_stepped(l->r))
		return;
	out_str(o, "simulation: where the recorder, which steps the program, has stopped it, that "
		"is blocked, preempted or off-cpu, too");
	out_nl(o);
}

static void print_pair(struct latency *l, const struct hwt_pair *p, unsigned known)
{
	struct out *o = l->r->out;

	out_fmt(o, " %s#%llu  ", p->tainted ? "~" : " ", (unsigned long long)p->number);
	if (p->tainted)
		pair_most(o, p->took.hi, l->ticks);
	else
		pair_length(o, p->took, l->ticks);
	out_str(o, "  ");
	pair_task(l->r, &p->from, p->tid);
	if (p->cpu >= 0)
		out_fmt(o, " cpu %d", p->cpu);
	if (p->split && !p->tainted) {
		out_str(o, ": ");
		pair_parts(o, p->part, known, l->ticks);
	}
	out_nl(o);
	out_style(o, OUT_DIM);
	out_str(o, "      ");
	pair_where(l->r, p);
	out_style(o, OUT_PLAIN);
	out_nl(o);
}

static void left(struct out *o, const char **sep, uint64_t n, const char *what)
{
	if (!n)
		return;
	out_str(o, *sep);
	out_group(o, n);
	out_ch(o, ' ');
	out_str(o, what);
	*sep = ", ";
}

/* What has no rank, and why. */
static void print_tainted(struct latency *l, const struct hwt_pair_stats *s)
{
	struct out *o = l->r->out;
	uint64_t holes = s->tainted - s->outside;

	if (!s->tainted)
		return;
	if (holes) {
		out_group(o, holes);
		out_str(o, holes == 1 ? " touches a hole" : " touch a hole");
	}
	if (s->outside) {
		out_str(o, holes ? ", " : "");
		out_group(o, s->outside);
		out_str(o, s->outside == 1 ? " is not certain, as " : " are not certain, as ");
		pair_scope(o, s->scope, s->tasks);
	}
	if (l->tainted.number)
		out_str(o, holes && s->outside ? "; the longest of all these:" :
			", the longest:");
	out_nl(o);
	if (l->tainted.number)
		print_pair(l, &l->tainted, s->known);
}

static void print_left(struct latency *l)
{
	struct out *o = l->r->out;
	const char *sep = "left over: ";
	struct hwt_pair_stats s;

	hwt_pairs_stats(l->pairs, &s);
	left(o, &sep, s.unended, "not ended");
	left(o, &sep, s.unbegun, "ended without a begin");
	left(o, &sep, s.replaced, "begun again before their end");
	left(o, &sep, s.untimed, "without time");
	left(o, &sep, s.backward, "that end before they begin: hwtrace check tells of the clocks");
	left(o, &sep, s.dropped, "for which there was no room");
	left(o, &sep, l->other, "on another clock than the first, not counted above");
	if (*sep == ',')
		out_nl(o);
	print_tainted(l, &s);
}

/* Why there is nothing to measure. */
static void print_none(struct latency *l, const struct hwt_pair_stats *s)
{
	struct out *o = l->r->out;

	if (s->pairs) {
		if (s->untimed == s->pairs)
			out_str(o, "the trace has no times for them: how long they took is not in "
				"it. hwtrace calls --summary --insns counts what they ran");
		else
			return;
	} else if (!s->from && !s->to) {
		out_str(o, "neither point is in what was recorded: hwtrace calls --summary lists "
			"functions that ran, hwtrace timeline events");
	} else {
		out_str(o, !s->from ? "it never began: only the end was seen" : !s->to ?
			"it never ended: only the begin was seen" : "no begin and end belong "
			"together: --key says what they have in common");
	}
	out_nl(o);
}

static void print_text(struct latency *l)
{
	struct out *o = l->r->out;
	struct hwt_pair_stats s;

	hwt_pairs_stats(l->pairs, &s);
	out_safe(o, hwt_pairs_point(l->pairs, 0));
	out_str(o, "  ->  ");
	out_safe(o, hwt_pairs_point(l->pairs, 1));
	out_nl(o);
	print_quantiles(l);
	if (!hwt_hist_count(l->hist))
		print_none(l, &s);
	print_histogram(l);
	print_parts(l);
	groups_print(l->tasks, l->r, true, l->ticks);
	groups_print(l->cpus, l->r, false, l->ticks);
	if (l->ntop) {
		out_str(o, "longest:");
		out_nl(o);
	}
	for (unsigned i = 0; i < l->ntop; i++) {
		const struct kept *k = l->top[i];

		print_pair(l, &k->p, s.known);
		pair_waits(l->r, &k->p.from, k->wait, k->nwaits, 6);
	}
	print_left(l);
	contract_left_out(l->r);
}

static int read_all(struct latency *l, struct hwt_stream *st)
{
	struct run *r = l->r;
	struct hwt_event ev[BATCH];
	struct hwt_pair_stats s;
	struct hwt_pair p;
	int n = 0, rc;

	while (run_tick(r, st, HWT_NO_OFF) && (n = hwt_stream_next(st, ev, BATCH)) > 0) {
		for (int i = 0; i < n; i++) {
			run_kernel_count(r, &ev[i]);
			if (ev[i].type == HWT_EV_GAP)
				show_count(&r->show, &ev[i]);
			rc = hwt_pairs_event(l->pairs, &ev[i], &p);
			if (rc <= 0)
				continue;
			rc = add(l, &p);
			if (rc < 0)
				return rc;
			hwt_pairs_stats(l->pairs, &s);
			if (r->opts.format == OPT_JSONL)
				pair_json(&r->json, &r->show, &p, s.known);
		}
	}
	return n < 0 ? n : 0;
}

struct hwt_pairs *pairs_open(struct run *r)
{
	struct hwt_pairs_opts po = { .size = sizeof(po), .from = r->opts.pairs.from,
		.to = r->opts.pairs.to, .key = r->opts.pairs.key, .waits = true };
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_pairs *p = NULL;
	int rc = hwt_pairs_new(&p, r->session, &po, &diag);

	if (!rc)
		return p;
	say_diag(&diag, rc, NULL);
	r->failed = diag.id == 3 ? EXIT_INPUT : EXIT_USAGE;
	return NULL;
}

bool pairs_seen(struct run *r)
{
	struct hwt_timeline_opts o = { 0 };
	struct hwt_pairs *p = pairs_open(r);

	if (!p)
		return false;
	hwt_pairs_want(p, &o);
	hwt_pairs_free(p);
	return !o.hardware || run_trace(r, true);
}

struct hwt_stream *pairs_stream(struct run *r, const struct hwt_pairs *p)
{
	struct hwt_timeline_opts o = {
		.want = { .time_lo = r->time_lo, .time_hi = r->time_hi, .cpus = r->opts.cpus,
			.ncpus = r->opts.ncpus, .tids = r->opts.tids, .ntids = r->opts.ntids },
	};

	hwt_pairs_want(p, &o);
	return o.hardware && !run_trace(r, true) ? NULL : run_timeline(r, &o);
}

int cmd_latency(struct run *r)
{
	static struct latency l;
	struct hwt_stream *st = NULL;
	int rc = run_open(r);

	if (rc)
		return rc;
	l.r = r;
	l.max = r->opts.pairs.worst > TOP_MAX ? TOP_MAX : (unsigned)r->opts.pairs.worst;
	if (!l.max)
		l.max = 5;
	l.pairs = pairs_open(r);
	if (!l.pairs)
		return 0;
	l.top = calloc(l.max, sizeof(*l.top));
	l.tasks = groups_new();
	l.cpus = groups_new();
	if (!l.top || !l.tasks || !l.cpus || hwt_hist_new(&l.hist))
		run_error(r, -ENOMEM, "latency");
	else
		st = pairs_stream(r, l.pairs);
	if (st) {
		rc = read_all(&l, st);
		if (rc < 0)
			run_error(r, rc, "timeline");
		if (r->opts.format == OPT_TEXT)
			print_text(&l);
		else
			print_json(&l);
		for (unsigned i = 0; r->opts.format == OPT_JSONL && i < l.ntop; i++)
			pair_waits_json(r, l.top[i]->p.number, l.top[i]->wait, l.top[i]->nwaits);
		for (unsigned i = 0; r->opts.format == OPT_JSON && i < l.ntop; i++) {
			struct hwt_pair_stats s;

			hwt_pairs_stats(l.pairs, &s);
			pair_json(&r->json, &r->show, &l.top[i]->p, s.known);
			pair_waits_json(r, l.top[i]->p.number, l.top[i]->wait, l.top[i]->nwaits);
		}
		run_done(r, st);
	}
	for (unsigned i = 0; i < l.ntop; i++)
		free(l.top[i]);
	free(l.top);
	free(l.tasks);
	free(l.cpus);
	hwt_hist_free(l.hist);
	hwt_pairs_free(l.pairs);
	return 0;
}
