/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * oracle [-a TICKS] [-d DIR] [-s SEED] [-r ROW] [-v] RECORDING...: makes the trace of each
 * recording under each row of options, decodes it through the public API, and compares it with
 * what ran. Exit 0: all equal; 1: not; 2: the test itself can not be done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/session.h>

#include "encode.h"

#define BATCH	256
#define NTHREAD	64

static struct options {
	const char *dir;
	uint64_t seed;
	int row;	/* -1: all */
	int verbose;
	uint32_t away;	/* ticks of the longest stay in the kernel */
} opt = { .dir = "oracle.hwt", .row = -1, .away = 4000 };

static struct encode_sum used;
static uint64_t all_insns, all_branches, all_ranges, all_outside;
static uint64_t all_timed[2], all_untimed[2];	/* without times in the trace, with */
static uint64_t all_holes, all_gaps;
static int failed;

struct medians { uint32_t v[4096]; size_t n; };
static struct medians medians[2];	/* coarse times, with cycles */

static void complain(const char *rec, int row, size_t thread, const char *why)
{
	printf("FAIL %s row %d thread %zu: %s\n", rec, row, thread, why);
	failed = 1;
}

/* The thread that @ev is of: its buffer's, or that of its trace id. */
static size_t thread_of(const struct hwt_event *ev, size_t buf, int framed)
{
	return !framed ? buf : ev->cpu >= 0 ? (size_t)ev->cpu : SIZE_MAX;
}

struct job {
	const char *name;
	struct rec *rec;
	const struct rec_clock *clk;
	int row, framed, timed, rewrites;
	unsigned open;		/* branches that OpenCSD does not commit, see rows.c */
	int told_often;		/* the time comes again soon after an overflow */
	int seldom_timed;	/* its width counts in the comparison with and without cycles */
	struct truth *t[NTHREAD];
	int bad[NTHREAD];
	uint64_t gaps, unwanted;
};

static void event(struct job *j, size_t buf, const struct hwt_event *ev)
{
	size_t i = thread_of(ev, buf, j->framed);
	char why[160];

	if (ev->type == HWT_EV_GAP) {
		j->gaps++;
		if (opt.verbose)
			printf("     gap %s at byte %" PRIu64 " of buffer %zu\n",
			       hwt_gap_name((unsigned)ev->u.gap.cause), ev->off, buf);
		if (ev->u.gap.cause != HWT_GAP_OVERFLOW && !j->unwanted++) {
			snprintf(why, sizeof(why), "a hole that nobody made: %s at byte %" PRIu64
				 " addr %" PRIx64, hwt_gap_name((unsigned)ev->u.gap.cause),
				 ev->off, ev->u.gap.addr);
			complain(j->name, j->row, i, why);
		}
	}
	if (i >= rec_threads(j->rec) || j->bad[i])
		return;
	if (opt.verbose > 1 && ev->type == HWT_EV_RANGE)
		printf("     %zu: %" PRIx64 "..%" PRIx64 " n%u\n", i, ev->u.range.first,
		       ev->u.range.last, ev->u.range.insns);
	j->bad[i] = truth_event(j->t[i], ev);
	if (j->bad[i])
		complain(j->name, j->row, i, truth_why(j->t[i]));
}

static int decode(struct job *j)
{
	static struct hwt_event ev[BATCH];
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
					   .time_hi = HWT_TIME_UNKNOWN };
	const struct hwt_open_opts opts = { .size = sizeof(opts) };
	struct hwt_session *s;
	struct hwt_diag diag;
	int r = hwt_session_open(&s, opt.dir, &opts, &diag);

	if (r) {
		complain(j->name, j->row, 0, diag.text);
		return r;
	}
	for (size_t i = 0; i < hwt_session_bufs(s) && !r; i++) {
		struct hwt_stream *st;

		r = hwt_session_flow(s, i, &want, &st, &diag);
		if (r) {
			complain(j->name, j->row, i, diag.text);
			break;
		}
		while ((r = hwt_stream_next(st, ev, BATCH)) > 0) {
			for (int k = 0; k < r; k++)
				event(j, i, &ev[k]);
		}
		if (r < 0)
			complain(j->name, j->row, i, hwt_strerror(r));
		hwt_stream_close(st);
	}
	for (size_t i = 0; hwt_session_note(s, i); i++)
		printf("     note: %s\n", hwt_session_note(s, i)->diag.text);
	hwt_session_close(s);
	return r;
}

static void sum_up(struct job *j, const char *text)
{
	struct truth_stats sum = { 0 };
	uint64_t most = 0;
	uint32_t median = 0;

	for (size_t i = 0; i < rec_threads(j->rec); i++) {
		const struct truth_stats *st = truth_stats(j->t[i]);

		truth_add(&sum, st);
		if (st->timed > most) {		/* of the thread that did the most */
			most = st->timed;
			median = st->median;
		}
		if (st->outside && !j->bad[i])
			complain(j->name, j->row, i, truth_why(j->t[i]));
	}
	printf("%-4s %s %2d %s: %" PRIu64 " insns %" PRIu64 " branches, holes %" PRIu64
	       " lost %" PRIu64 " left %" PRIu64 ", timed %.1f%% median %u\n",
	       failed ? "" : "ok", j->name, j->row, text, sum.insns, sum.branches, sum.holes,
	       sum.lost, sum.left,
	       sum.timed + sum.untimed ? 100. * sum.timed / (sum.timed + sum.untimed) : 0, median);
	fflush(stdout);
	all_insns += sum.insns;
	all_branches += sum.branches;
	all_ranges += sum.ranges;
	all_timed[!!j->timed] += sum.timed;
	all_untimed[!!j->timed] += sum.untimed;
	all_outside += sum.outside;
	all_holes += sum.holes;
	all_gaps += j->gaps;
	if (j->timed && j->seldom_timed && medians[j->timed - 1].n < 4096)
		medians[j->timed - 1].v[medians[j->timed - 1].n++] = median;
}

/* Which of several codes at one address ran is told by the time only: a row without it says so. */
static int untold(const struct job *j, const char *text)
{
	if (!j->rewrites || j->timed == 1 || (j->timed && j->told_often))
		return 0;
	printf("none %s %2d %s: code is rewritten, and no time in the trace says when\n", j->name,
	       j->row, text);
	return 1;
}

static int run(struct job *j, const struct row *row)
{
	static struct truth_holes holes[NTHREAD];
	int pt = rec_isa(j->rec) == MODEL_X86_64, err;
	char text[512];

	memset(holes, 0, sizeof(holes));
	memset(j->t, 0, sizeof(j->t));
	memset(j->bad, 0, sizeof(j->bad));
	j->gaps = j->unwanted = 0;
	if (pt) {
		struct model_pt_cfg cfg;

		rows_pt_cfg(row, opt.seed, &cfg);
		rows_text(row, rows_pt, rows_npt, text, sizeof(text));
		j->timed = rows_pt_timed(row);
		j->framed = 0;
		j->open = 0;
		j->seldom_timed = j->timed < 3;
		j->told_often = cfg.mtc || !cfg.ovf_every || cfg.psb_bytes < 1000;
		if (untold(j, text))
			return 0;
		err = encode_pt(opt.dir, j->rec, j->clk, &cfg, holes, &used);
	} else {
		struct model_etm4_cfg cfg;

		rows_etm4_cfg(row, opt.seed, &cfg, &j->framed);
		j->open = cfg.cycles && !cfg.commit1 ? cfg.max_spec : 0;
		cfg.addr32 = rec_isa(j->rec) != MODEL_A64;
		rows_text(row, rows_etm4, rows_netm4, text, sizeof(text));
		j->timed = rows_etm4_timed(row);
		j->told_often = 1;
		/* where the unit overflows, cycles are not counted from timestamp to timestamp */
		j->seldom_timed = cfg.ts_every > 1000 && !(cfg.cycles && cfg.overflow_every);
		if (untold(j, text))
			return 0;
		err = encode_etm4(opt.dir, j->rec, j->clk, &cfg, j->framed, holes, &used);
	}
	for (size_t i = 0; opt.verbose && i < rec_threads(j->rec); i++) {
		for (size_t k = 0; k < holes[i].n; k++)
			printf("     thread %zu lost events [%" PRIu64 ", %" PRIu64 ")\n", i,
			       holes[i].h[k].from, holes[i].h[k].to);
	}
	for (size_t i = 0; i < rec_threads(j->rec) && !err; i++)
		err = truth_new(&j->t[i], j->rec, i, j->clk, &holes[i]);
	if (!err) {
		decode(j);
		for (size_t i = 0; i < rec_threads(j->rec); i++) {
			if (!j->bad[i] && truth_end(j->t[i], j->open))
				complain(j->name, j->row, i, truth_why(j->t[i]));
		}
		sum_up(j, text);
	}
	for (size_t i = 0; i < NTHREAD; i++) {
		truth_free(j->t[i]);
		free(holes[i].h);
	}
	return err;
}

static int recording(const char *path)
{
	const struct rec_clock clk = { .seed = opt.seed, .start = 1000000, .pause_every = 5000,
				       .pause_ticks = 20000, .away_ticks = opt.away };
	static struct row rows[ROWS_MAX];
	const char *why, *slash = strrchr(path, '/');
	struct job j = { .name = slash ? slash + 1 : path, .clk = &clk };
	int err = rec_open(&j.rec, path, &why), pt;
	unsigned n;

	if (err) {
		fprintf(stderr, "oracle: %s %s\n", path, why);
		return err;
	}
	pt = rec_isa(j.rec) == MODEL_X86_64;
	j.rewrites = encode_rewrites(j.rec);
	n = rows_make(rows, pt ? rows_pt : rows_etm4, pt ? rows_npt : rows_netm4);
	if (rec_threads(j.rec) > NTHREAD) {
		fprintf(stderr, "oracle: %s: too many threads\n", path);
		n = 0;
		err = -1;
	}
	for (unsigned i = 0; i < n && !err; i++) {
		j.row = (int)i;
		if (opt.row < 0 || opt.row == (int)i)
			err = run(&j, &rows[i]);
	}
	rec_close(j.rec);
	return err;
}

/* A form that no trace has is no proof of anything. */
static void count(const char *unit, const char *name, uint64_t n)
{
	printf("%s: %s %s %" PRIu64 "\n", n ? "used" : "unused", unit, name, n);
}

static void counts_pt(const struct model_pt_count *c)
{
	static const char *const ip[8] = { "none", "16", "32", "48 extended", "48 kept", "", "64" };
	static const uint8_t kinds[] = { MODEL_PT_PSB, MODEL_PT_PSBEND, MODEL_PT_OVF,
		MODEL_PT_TNT_SHORT, MODEL_PT_TNT_LONG, MODEL_PT_TIP, MODEL_PT_PGE, MODEL_PT_PGD,
		MODEL_PT_FUP, MODEL_PT_EXEC, MODEL_PT_CBR, MODEL_PT_TSC, MODEL_PT_TMA,
		MODEL_PT_MTC, MODEL_PT_CYC };

	for (size_t i = 0; i < sizeof(kinds); i++)
		count("pt", model_pt_kind_name(kinds[i]), c->packet[kinds[i]]);
	for (unsigned i = 0; i < 8; i++) {
		if (ip[i] && *ip[i])
			count("pt ip", ip[i], c->ip[i]);
	}
	count("pt", "compressed returns", c->compressed);
	count("pt", "other returns", c->returns - c->compressed);
	count("pt", "deferred tips", c->deferred);
	count("pt", "mtc before a tnt", c->kept);
	count("pt", "asynchronous", c->async);
}

static void counts_etm4(const struct model_etm4_count *c)
{
	for (unsigned i = 1; i <= 6; i++) {
		char name[8];

		snprintf(name, sizeof(name), "f%u", i);
		count("etm4 atoms", name, c->atom_packets[i]);
	}
	count("etm4", "exact address", c->match[0] + c->match[1] + c->match[2]);
	count("etm4", "short address 1", c->short1[0] + c->short1[1]);
	count("etm4", "short address 2", c->short2[0] + c->short2[1]);
	count("etm4", "long address 32", c->long32[0] + c->long32[1]);
	count("etm4", "long address 64", c->long64[0] + c->long64[1]);
	count("etm4", "address with context", c->ctx_long32[0] + c->ctx_long32[1] +
	      c->ctx_long64[0] + c->ctx_long64[1]);
	count("etm4", "return stack matched", c->ret_matched);
	count("etm4", "return stack missed", c->ret_missed);
	count("etm4", "exception", c->exception1 + c->exception2);
	count("etm4", "timestamp", c->timestamp);
	count("etm4", "timestamp with count", c->timestamp_cc);
	count("etm4", "cycle counts", c->cc1 + c->cc1_unknown + c->cc2 + c->cc3);
	count("etm4", "commit", c->commit);
	count("etm4", "overflow", c->overflow);
	count("etm4", "event", c->event_packets);
}

static int by_number(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t middle(struct medians *m)
{
	qsort(m->v, m->n, sizeof(*m->v), by_number);
	return m->n ? m->v[m->n / 2] : 0;
}

/* Percent of ranges without interval. */
static double share(int timed)
{
	uint64_t n = all_timed[timed] + all_untimed[timed];

	return n ? 100. * all_untimed[timed] / n : 0;
}

int main(int argc, char **argv)
{
	unsigned times;
	int c, err = 0;

	while ((c = getopt(argc, argv, "a:d:s:r:v")) != -1) {
		switch (c) {
		case 'a': opt.away = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 'd': opt.dir = optarg; break;
		case 's': opt.seed = strtoull(optarg, NULL, 0); break;
		case 'r': opt.row = atoi(optarg); break;
		case 'v': opt.verbose++; break;
		default: return 2;
		}
	}
	for (; optind < argc && !err; optind++)
		err = recording(argv[optind]);
	printf("sum: %" PRIu64 " instructions, %" PRIu64 " branches, %" PRIu64 " holes (%" PRIu64
	       " gaps), %" PRIu64 " ranges outside of their interval\n", all_insns, all_branches,
	       all_holes, all_gaps, all_outside);
	printf("sum: ranges without interval: %.2f%% where the trace has times, %.0f%% of %" PRIu64
	       " where not\n", share(1), share(0), all_timed[0] + all_untimed[0]);
	printf("median width: %u ticks, with cycles %u\n", middle(&medians[0]),
	       middle(&medians[1]));
	times = used.pt.events ? 10 : 5;
	if (medians[0].n && medians[1].n && middle(&medians[1]) * times > middle(&medians[0])) {
		printf("FAIL intervals with cycles are wider than 1/%u of those without\n", times);
		failed = 1;
	}
	if (used.pt.jumps) {
		printf("FAIL %" PRIu64 " blocks began elsewhere than the one before said\n",
		       used.pt.jumps);
		failed = 1;
	}
	if (used.pt.events)
		counts_pt(&used.pt);
	if (used.etm4.events)
		counts_etm4(&used.etm4);
	return err ? 2 : failed;
}
