/* SPDX-License-Identifier: BSD-2-Clause */
/* check: decode everything, account for every byte, say what to try. */
#include <errno.h>

#include "cli.h"

struct entry {
	uint64_t count, bytes, lost;
	struct hwt_event first;	/* its place, and once @timed its time */
	bool timed;
};

struct ledger {
	struct entry cause[HWT_GAP_CAUSES];
	struct hwt_flow_stats stats;
	uint64_t odd;		/* bytes that are neither decoded nor skipped, or both */
	bool failed;
	bool shared;		/* units of CPUs that are not selected write here, too */
};

static struct entry *entry_of(struct ledger *l, const struct hwt_event *ev)
{
	unsigned cause = (unsigned)ev->u.gap.cause;

	return &l->cause[cause < HWT_GAP_CAUSES ? cause : HWT_GAP_LIB];
}

static void add(struct ledger *l, const struct hwt_event *ev)
{
	unsigned cause = (unsigned)ev->u.gap.cause;
	struct entry *e = entry_of(l, ev);

	if (!e->count++)
		e->first = (struct hwt_event){ .off = ev->off, .time = HWT_TIME_UNKNOWN };
	e->bytes += ev->u.gap.bytes;
	if (!hwt_gap_has_addr(cause))
		e->lost += ev->u.gap.lost;
}

/* True if @ev is the first hole of its cause, whose time was not looked for yet. */
static bool first_time(struct ledger *l, const struct hwt_event *ev)
{
	struct entry *e = entry_of(l, ev);

	if (e->timed || !e->count || e->first.off != ev->off)
		return false;
	e->first = *ev;
	return e->timed = true;
}

/*
 * When the first hole of each cause was: a level of holes alone has no times, so what lies before
 * them is decoded once more.
 */
static void find_times(struct run *r, size_t i, struct ledger *l)
{
	struct hwt_stream *st;
	struct hwt_event ev[256];
	unsigned left = 0;
	int n;

	for (unsigned c = 0; c < HWT_GAP_CAUSES; c++)
		left += l->cause[c].count != 0;
	st = left ? run_flow(r, i, HWT_LEVEL_CALLS, true) : NULL;
	while (st && left && !run_interrupted && (n = hwt_stream_next(st, ev, 256)) > 0)
		for (int k = 0; k < n; k++)
			if (ev[k].type == HWT_EV_GAP)
				left -= first_time(l, &ev[k]);
	hwt_stream_close(st);
}

static void read_buffer(struct run *r, size_t i, const char *name, struct ledger *l)
{
	struct hwt_stream *st = run_flow(r, i, HWT_LEVEL_HOLES, false);
	struct hwt_event ev[256];
	uint64_t sum, off = 0;
	int n = 0;

	*l = (struct ledger){ .failed = !st };
	if (!st)
		return;
	while (run_tick(r, st, off) && (n = hwt_stream_next(st, ev, 256)) > 0) {
		for (int k = 0; k < n; k++)
			if (ev[k].type == HWT_EV_GAP) {
				add(l, &ev[k]);
				show_count(&r->show, &ev[k]);
			}
		off = ev[n - 1].off;
	}
	if (n < 0) {
		run_error(r, n, name);
		l->failed = true;
	}
	hwt_flow_stats(st, &l->stats);
	sum = l->stats.bytes_decoded + l->stats.bytes_skipped;
	l->odd = sum > l->stats.bytes_in ? sum - l->stats.bytes_in : l->stats.bytes_in - sum;
	run_done(r, st);
	find_times(r, i, l);
}

/* True if not all that is in buffer @i was selected by --cpu: sums are of the whole buffer. */
static bool is_shared(const struct run *r, size_t i, const struct hwt_buf_info *b)
{
	struct hwt_src_info src;

	if (!r->opts.ncpus || b->cpu != HWT_NONE)
		return false;
	for (size_t k = 0; hwt_session_src(r->session, i, k, &src); k++) {
		bool any = false;

		for (size_t n = 0; n < r->opts.ncpus; n++)
			any = any || r->opts.cpus[n] == src.cpu;
		if (!any)
			return true;
	}
	return false;
}

static uint64_t holes(const struct ledger *l)
{
	uint64_t n = 0;

	for (unsigned c = 0; c < HWT_GAP_CAUSES; c++)
		n += l->cause[c].count;
	return n;
}

static void text(struct show *v, const char *name, const struct ledger *l)
{
	const struct hwt_flow_stats *s = &l->stats;
	struct out *o = v->o;

	for (unsigned c = 0; c < HWT_GAP_CAUSES; c++)
		if (l->cause[c].count)
			show_unit(v, &l->cause[c].first);
	out_style(o, OUT_BOLD);
	out_safe(o, name);
	out_style(o, OUT_PLAIN);
	out_str(o, ": ");
	out_group(o, s->bytes_in);
	if (run_interrupted) {
		out_str(o, " bytes, not all read\n");
	} else {
		out_str(o, " bytes = ");
		out_group(o, s->bytes_decoded);
		out_str(o, " decoded + ");
		out_group(o, s->bytes_skipped);
		out_str(o, " skipped; ");
		out_group(o, s->bytes_lost);
		out_str(o, " lost; ");
		if (s->bytes_blind) {
			out_str(o, "flow known for ");
			out_group(o, s->bytes_decoded - s->bytes_blind);
			out_str(o, "; ");
		}
		out_group(o, s->insns);
		out_str(o, s->insns == 1 ? " instruction" : " instructions");
		if (l->shared)
			out_str(o, " (whole buffer, all CPUs; the holes below are those of --cpu)");
		out_nl(o);
	}
	if (l->odd) {
		out_style(o, OUT_RED);
		out_fmt(o, "  sums do not balance by %llu bytes: please report this\n",
			(unsigned long long)l->odd);
		out_style(o, OUT_PLAIN);
	}
	for (unsigned c = 0; c < HWT_GAP_CAUSES; c++) {
		const struct entry *e = &l->cause[c];
		const struct hwt_error_info *info = hwt_error_info(hwt_gap_error(c));

		if (!e->count)
			continue;
		o->line = o->flushed + o->n;
		out_fmt(o, "  %s", hwt_gap_name(c));
		out_tab(o, 18);
		out_count(o, e->count, "hole");
		out_str(o, ", ");
		out_count(o, e->bytes, "byte");
		out_fmt(o, " skipped, %llu lost", (unsigned long long)e->lost);
		if (e->first.off != HWT_NO_OFF)
			out_fmt(o, ", first at 0x%llx", (unsigned long long)e->first.off);
		if (e->first.time != HWT_TIME_UNKNOWN) {
			out_str(o, e->first.off != HWT_NO_OFF ? ", time " : ", first at time ");
			show_when(v, &e->first);
		}
		if (info)
			out_fmt(o, " [E%03u]\n      try: %s", info->id, info->hint);
		out_nl(o);
	}
}

static void json(struct run *r, size_t i, const char *name, const struct ledger *l)
{
	struct jsonl *j = &r->json;
	const struct hwt_flow_stats *s = &l->stats;

	jsonl_open(j, "ledger");
	jsonl_u64(j, "src", i);
	jsonl_str(j, "name", name);
	jsonl_u64(j, "bytes", s->bytes_in);
	jsonl_u64(j, "decoded", s->bytes_decoded);
	jsonl_u64(j, "flow", s->bytes_decoded - s->bytes_blind);
	jsonl_u64(j, "skipped", s->bytes_skipped);
	jsonl_u64(j, "lost", s->bytes_lost);
	jsonl_u64(j, "insns", s->insns);
	jsonl_u64(j, "holes", s->gaps);
	jsonl_bool(j, "balanced", !l->odd);
	jsonl_bool(j, "failed", l->failed);
	if (l->shared)
		jsonl_bool(j, "whole_buffer", true);
	jsonl_close(j);
	for (unsigned c = 0; c < HWT_GAP_CAUSES; c++) {
		const struct entry *e = &l->cause[c];

		if (!e->count)
			continue;
		jsonl_open(j, "holes");
		jsonl_u64(j, "src", i);
		jsonl_str(j, "cause", hwt_gap_name(c));
		jsonl_u64(j, "count", e->count);
		jsonl_u64(j, "bytes", e->bytes);
		jsonl_u64(j, "lost", e->lost);
		jsonl_time(j, &r->show, &e->first);
		if (e->first.off != HWT_NO_OFF)
			jsonl_u64(j, "off", e->first.off);
		jsonl_key(j, "id");
		out_fmt(j->o, "\"E%03u\"", hwt_gap_error(c));
		jsonl_close(j);
	}
}

#define NOTES_SHOWN 3		/* of one id, without --verbose */

static void note(struct out *o, const struct hwt_note *n)
{
	out_str(o, "note: ");
	if (n->diag.file[0]) {
		out_safe(o, n->diag.file);
		if (n->diag.off != HWT_NO_OFF)
			out_fmt(o, "+0x%llx", (unsigned long long)n->diag.off);
		out_str(o, ": ");
	}
	out_safe(o, n->diag.text[0] ? n->diag.text : hwt_strerror(n->diag.code));
	if (n->count > 1)
		out_fmt(o, " (%u times)", n->count);
	if (n->diag.id)
		out_fmt(o, " [E%03u]", n->diag.id);
	out_nl(o);
}

/* The notes of an id, from the @first on. */
static void notes_of(struct run *r, size_t first)
{
	const struct hwt_note *n = hwt_session_note(r->session, first);
	const struct hwt_error_info *info = hwt_error_info(n->diag.id);
	unsigned id = n->diag.id, shown = 0;
	uint64_t more = 0;

	for (size_t i = first; (n = hwt_session_note(r->session, i)); i++) {
		if (n->diag.id != id || n->severity < HWT_NOTE_WARN)
			continue;
		if (shown++ < NOTES_SHOWN || r->opts.verbose)
			note(r->out, n);
		else
			more += n->count;
	}
	if (more)
		out_fmt(r->out, "note: and %llu more like this [E%03u] (-v shows all)\n",
			(unsigned long long)more, id);
	if (info)
		out_fmt(r->out, "      try: %s\n", info->hint);
}

#define E_HIDDEN 94		/* kernel symbols hidden */

/*
 * What is no hole in a buffer but a finding: it is told here, so that it is in a file that this
 * goes to, and not once more on standard error at the end. True if there is any; names that are
 * not known are none, for no trace is wrong or missing.
 */
static bool noted(struct run *r)
{
	const struct hwt_note *n, *k;
	bool any = false;

	r->noted = r->opts.format == OPT_TEXT && !run_interrupted;
	for (size_t i = 0; (n = hwt_session_note(r->session, i)); i++) {
		bool first = n->severity >= HWT_NOTE_WARN;

		any = any || (first && n->diag.id != E_HIDDEN);
		for (size_t j = 0; first && j < i; j++) {
			k = hwt_session_note(r->session, j);
			first = k->diag.id != n->diag.id || k->severity < HWT_NOTE_WARN;
		}
		if (first && r->noted)
			notes_of(r, i);
	}
	if (r->opts.format != OPT_TEXT && !run_interrupted)
		notes_json(r, HWT_NOTE_WARN);
	return any;
}

struct order_arg {
	struct run *r;
	bool any;
};

static void json_mark(struct jsonl *j, const char *cpu, const char *src, const char *off,
		      const struct hwt_order_mark *m)
{
	jsonl_u64(j, cpu, (uint64_t)m->cpu);
	jsonl_u64(j, src, m->src);
	jsonl_u64(j, off, m->off);
}

static void order_finding(void *arg, const struct hwt_order_finding *f)
{
	static const char *const kind[] = { "skew", "pair", "step", "swapped" };
	struct order_arg *a = arg;
	struct jsonl *j = &a->r->json;
	char text[400];

	a->any = true;
	hwt_order_text(f, text, sizeof(text));
	if (a->r->opts.format == OPT_TEXT) {
		out_fmt(a->r->out, "clocks: %s\n", text);
		return;
	}
	jsonl_open(j, "order");
	jsonl_str(j, "kind", kind[f->kind]);
	jsonl_u64(j, "cpu", (uint64_t)f->cpu);
	if (f->other != HWT_NONE)
		jsonl_u64(j, "other", (uint64_t)f->other);
	jsonl_bool(j, "early", f->early);
	jsonl_u64(j, "least", f->least);
	jsonl_u64(j, "broken", f->edges);
	jsonl_u64(j, "from", f->from);
	jsonl_u64(j, "to", f->to);
	jsonl_str(j, "rule", hwt_order_rule_text(f->rule));
	json_mark(j, "first_cpu", "first_src", "first_off", &f->a);
	json_mark(j, "then_cpu", "then_src", "then_off", &f->b);
	jsonl_str(j, "text", text);
	jsonl_close(j);
}

/* Clocks of CPUs against what must come first. True if there are findings. */
static bool ordered(struct run *r)
{
	struct order_arg a = { .r = r };
	struct hwt_order_sum sum;
	struct hwt_diag diag;
	uint64_t edges = 0;
	int rc = hwt_session_order(r->session, &sum, order_finding, &a, &diag);

	if (rc == -ENOENT)
		return false;
	if (rc < 0) {
		run_error(r, rc, "order of events");
		return true;
	}
	for (unsigned k = 0; k < HWT_ORDER_RULES; k++)
		edges += sum.edges[k];
	if (!edges || a.any)
		return a.any;
	if (r->opts.format != OPT_TEXT) {
		jsonl_open(&r->json, "clocks");
		jsonl_u64(&r->json, "edges", edges);
		if (sum.best != HWT_TIME_UNKNOWN) {
			jsonl_u64(&r->json, "apart", sum.best);
			jsonl_u64(&r->json, "apart_median", sum.median);
		}
		jsonl_close(&r->json);
		return false;
	}
	out_str(r->out, "clocks: ");
	out_group(r->out, edges);
	out_str(r->out, " events of two CPUs are in the order that they must have");
	if (sum.best != HWT_TIME_UNKNOWN) {
		out_str(r->out, "; by that alone clocks are less than ");
		out_group(r->out, sum.median);
		out_str(r->out, " ns apart");
	}
	out_nl(r->out);
	return false;
}

int cmd_check(struct run *r)
{
	struct hwt_buf_info b;
	struct ledger l;
	uint64_t stamps = 0;
	bool bad = false;
	int rc = run_open(r);

	if (rc)
		return rc;
	for (size_t i = 0; i < hwt_session_bufs(r->session) && !run_interrupted; i++) {
		if (!run_buf(r, i, &b))
			continue;
		read_buffer(r, i, b.name, &l);
		/* sums can only balance where the whole buffer was read */
		if (run_interrupted || l.failed)
			l.odd = 0;
		l.shared = is_shared(r, i, &b);
		bad = bad || l.failed || l.odd || (l.shared ? holes(&l) : l.stats.gaps);
		if (r->opts.format != OPT_TEXT)
			json(r, i, b.name, &l);
		else if (!l.failed || l.stats.bytes_in)
			text(&r->show, b.name, &l);
		if (!l.failed && !run_interrupted)
			bad = clock_stamps(r, i, &stamps) || bad;
	}
	if (!run_interrupted)
		bad = clock_missing(r, stamps) || bad;
	if (!run_interrupted)
		bad = ordered(r) || bad;
	if (!run_interrupted)
		bad = contract_report(r) || bad;
	bad = noted(r) || bad;
	if (r->opts.format == OPT_TEXT && !run_interrupted)
		out_str(r->out, bad ? "findings: see above\n" : "no findings\n");
	return bad ? EXIT_FINDINGS : 0;
}
