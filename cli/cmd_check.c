/* SPDX-License-Identifier: BSD-2-Clause */
/* check: decode everything, account for every byte, say what to try. */
#include "cli.h"

struct entry {
	uint64_t count, bytes, lost;
	uint64_t first;		/* offset of the first one */
};

struct ledger {
	struct entry cause[HWT_GAP_CAUSES];
	struct hwt_flow_stats stats;
	uint64_t odd;		/* bytes that are neither decoded nor skipped, or both */
	bool failed;
	bool shared;		/* units of CPUs that are not selected write here, too */
};

static void add(struct ledger *l, const struct hwt_event *ev)
{
	unsigned cause = (unsigned)ev->u.gap.cause;
	struct entry *e = &l->cause[cause < HWT_GAP_CAUSES ? cause : HWT_GAP_LIB];

	if (!e->count++)
		e->first = ev->off;
	e->bytes += ev->u.gap.bytes;
	if (!hwt_gap_has_addr(cause))
		e->lost += ev->u.gap.lost;
}

static void read_buffer(struct run *r, size_t i, const char *name, struct ledger *l)
{
	struct hwt_stream *st = run_flow(r, i, HWT_LEVEL_HOLES);
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

static void text(struct out *o, const char *name, const struct ledger *l)
{
	const struct hwt_flow_stats *s = &l->stats;

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
		out_str(o, " instructions");
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
		if (e->first != HWT_NO_OFF)
			out_fmt(o, ", first at 0x%llx", (unsigned long long)e->first);
		if (info)
			out_fmt(o, " [E%03u]\n      try: %s", info->id, info->hint);
		out_nl(o);
	}
}

static void json(struct jsonl *j, size_t i, const char *name, const struct ledger *l)
{
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
		if (e->first != HWT_NO_OFF)
			jsonl_u64(j, "off", e->first);
		jsonl_key(j, "id");
		out_fmt(j->o, "\"E%03u\"", hwt_gap_error(c));
		jsonl_close(j);
	}
}

int cmd_check(struct run *r)
{
	const struct hwt_note *n;
	struct hwt_buf_info b;
	struct ledger l;
	bool bad = false, notes = false;
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
			json(&r->json, i, b.name, &l);
		else if (!l.failed || l.stats.bytes_in)
			text(r->out, b.name, &l);
	}
	for (size_t i = 0; (n = hwt_session_note(r->session, i)); i++)
		notes = notes || n->severity >= HWT_NOTE_WARN;
	if (r->opts.format == OPT_TEXT && !run_interrupted)
		out_fmt(r->out, "%s\n", bad && notes ? "findings: see above and the notes" : bad ?
			"findings: see above" : notes ? "findings: see the notes" : "no findings");
	bad = bad || notes;
	return bad ? EXIT_FINDINGS : 0;
}
