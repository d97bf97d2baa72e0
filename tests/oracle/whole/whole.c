/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * whole -g CAPTURE -r ROOT [-d DIR] [-m] [-s SETTING] [-t REQUEST,EXTRA] [-v] RECORDING: what
 * hwtrace recorded in a guest (CAPTURE), and trace made of what the plugin saw of the same run, as
 * one capture; ROOT has the guest's programs. Everything that the library says of it is held
 * against what ran. Exit 0: all as it must be; 1: not; 2: the test itself can not be done. -m: the
 * module wrote the number of each record into the trace. -t: only the capture is written, and the
 * truth of each request is printed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "correlate/anchor_aspace.h"
#include "correlate/anchor_commit.h"
#include "correlate/session.h"
#include "whole.h"

#define BATCH	256

#define PT .tsc = true, .psb_bytes = 4096
#define MTC .mtc = true, .mtc_freq = 6

static const struct whole_setting pt_settings[] = {
	{ .name = "tsc+mtc+cyc", .pt = { PT, MTC, .cyc = true } },
	{ .name = "tsc only", .pt = { PT } },
	{ .name = "records lost", .pt = { PT, MTC }, .lose = 10 },
	{ .name = "trace lost", .pt = { PT, MTC, .cyc = true, .ovf_every = 20000 } },
	{ .name = "clock of the guest", .pt = { PT, MTC, .cyc = true }, .guest_clock = true },
	{ .name = "by symbols", .pt = { PT, MTC }, .symbols = true },
};

#define ETM4 .cid = 1, .timestamps = 1, .commit1 = 1, .sync_period = 12

static const struct whole_setting etm4_settings[] = {
	{ .name = "timestamps, cycles", .etm4 = { ETM4, .ts_every = 500, .cycles = 1,
		.cc_threshold = 4 } },
	{ .name = "few timestamps", .etm4 = { ETM4 } },
	{ .name = "records lost", .etm4 = { ETM4, .ts_every = 200, .max_spec = 8 }, .lose = 10 },
	{ .name = "trace lost", .etm4 = { ETM4, .ts_every = 500, .cycles = 1, .cc_threshold = 4,
		.overflow_every = 20000 } },
	{ .name = "clock of the guest", .etm4 = { ETM4, .ts_every = 500, .cycles = 1,
		.cc_threshold = 4, .ret_stack = 1 }, .guest_clock = true },
	{ .name = "by symbols", .etm4 = { ETM4, .ts_every = 500 }, .symbols = true },
	{ .name = "spaces", .etm4 = { ETM4, .ts_every = 500, .cycles = 1, .cc_threshold = 4 },
		.spaces = 99 },
	{ .name = "spaces, all lost", .etm4 = { ETM4, .ts_every = 200, .overflow_every = 20000 },
		.spaces = 1, .lose = 10 },
};
#define NPT	(sizeof(pt_settings) / sizeof(pt_settings[0]))
#define NETM4	(sizeof(etm4_settings) / sizeof(etm4_settings[0]))

static struct {
	const char *dir, *guest, *root, *functions;
	int setting, verbose;
	bool marked;
} opt = {
	.dir = "whole.hwt", .setting = -1
};
static int failed;

__attribute__((format(printf, 3, 4)))
static void complain(const struct whole_setting *set, size_t cpu, const char *fmt, ...)
{
	va_list ap;

	printf("FAIL %s: cpu %zu: ", set->name, cpu);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	printf("\n");
	failed = 1;
}

static bool has_holes(const struct whole_setting *set)
{
	return set->pt.ovf_every || set->etm4.overflow_every;
}

struct sum {
	struct truth_stats flow;
	uint64_t visits, kept, certain, wrong, outside;
	unsigned kinds;		/* events of which anchors are certain */
	uint64_t ranges, other_thread, no_thread, records, inside;
	/* PTWRITEs of programs and of the module, at their instruction, with their record next */
	uint64_t marks, kmarks, placed, tied;
	bool holes;		/* in flow: what ran is found by its time */
	uint64_t changes;	/* switches that tell another address space than the one before */
};

/* --- flow --- */

static void check_flow(struct whole *w, const struct whole_setting *set, struct hwt_session *s,
		       size_t buf, const struct truth_holes *holes, struct sum *sum)
{
	static struct hwt_event ev[BATCH];
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	struct hwt_stream *st;
	struct hwt_diag diag;
	struct truth *t;
	int n, bad = 0;

	if (truth_new(&t, w->rec, buf, &w->clk, holes) < 0 ||
	    session_flow(s, buf, &want, &st, &diag) < 0) {
		complain(set, buf, "no flow");
		return;
	}
	if (set->pt.retcomp)
		truth_stale(t);
	if (w->patches)
		truth_rewritten(t);
	while ((n = hwt_stream_next(st, ev, BATCH)) > 0)
		for (int i = 0; i < n && !bad; i++) {
			if (ev[i].type == HWT_EV_GAP && ev[i].u.gap.cause != HWT_GAP_OVERFLOW &&
			    !(w->patches && ev[i].u.gap.cause == HWT_GAP_BAD_IMAGE) &&
			    !(set->pt.retcomp && ev[i].u.gap.cause == HWT_GAP_NO_RETURN))
				complain(set, buf, "a hole that nobody made: %s at byte %" PRIu64
					 " addr %" PRIx64, hwt_gap_name(ev[i].u.gap.cause),
					 ev[i].off, ev[i].u.gap.addr);
			bad = truth_event(t, &ev[i]);
		}
	hwt_stream_close(st);
	if (!bad)
		bad = truth_end(t, 0);
	if (bad || n < 0)
		complain(set, buf, "%s", n < 0 ? hwt_strerror(n) : truth_why(t));
	if (!bad && !set->guest_clock && truth_stats(t)->outside)
		complain(set, buf, "%" PRIu64 " times outside: %s", truth_stats(t)->outside,
			 truth_why(t));
	truth_add(&sum->flow, truth_stats(t));
	truth_free(t);
}

/* --- which record was written by which run of its instruction --- */

/* The visit that a place of the book is: the one whose time fits, if there is only one. */
static size_t visit_of(const struct whole_cpu *c, size_t line, const struct anchor_place *p)
{
	size_t found = SIZE_MAX;

	for (size_t i = 0; i < c->nvisit[line] && c->visit[line][i].before <= p->t.hi; i++) {
		if (c->visit[line][i].tick < p->t.lo)
			continue;
		if (found != SIZE_MAX)
			return SIZE_MAX;
		found = i;
	}
	return found;
}

static void check_place(const struct whole_cpu *c, const struct whole_visit *v,
			const struct anchor_place *p, bool timed, struct sum *sum)
{
	const struct whole_rec *r = v->record != SIZE_MAX ? &c->rec[v->record] : NULL;

	sum->kept += r && !r->lost;
	if (p->record == UINT64_MAX)
		return;
	sum->certain++;
	if (!r || r->lost || r->nth != p->record) {
		sum->wrong++;
		return;
	}
	sum->outside += timed && (r->data->time < p->t.lo || r->data->time > p->t.hi);
}

static void check_line(const struct whole *w, const struct whole_setting *set, size_t cpu,
		       size_t line, struct anchor_book *book, struct sum *sum)
{
	const struct whole_cpu *c = &w->cpu[cpu];
	const struct anchor_sum *a = anchor_book_sum(book);
	bool holes = sum->holes;
	struct anchor_place p;
	size_t n = 0;

	for (; anchor_book_get(book, &p); n++) {
		size_t i = holes ? visit_of(c, line, &p) : n;

		sum->visits++;
		if (i == SIZE_MAX)
			continue;
		if (i >= c->nvisit[line])
			break;
		check_place(c, &c->visit[line][i], &p, !set->guest_clock, sum);
	}
	if (!holes && n != c->nvisit[line])
		complain(set, cpu, "%s: %zu visits, %zu ran", w->line[line].name, n,
			 c->nvisit[line]);
	if (a->contradictions)
		complain(set, cpu, "%s: %" PRIu64 " contradictions", w->line[line].name,
			 a->contradictions);
	if (opt.verbose && n)
		printf("     cpu %zu %-22s %6zu visits, %" PRIu64 " certain, %" PRIu64
		       " possible\n", cpu, w->line[line].name, n, a->certain, a->possible);
	sum->kinds += a->certain > 0;
}

static void check_books(const struct whole *w, const struct whole_setting *set,
			struct hwt_session *s, size_t buf, struct sum *sum)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	struct hwt_stream *flow, *kernel[COMMIT_LINES];
	struct anchor_book *books[COMMIT_LINES];
	struct commit_line lines[COMMIT_LINES];
	unsigned n = commit_lines(session_capture(s), lines);
	struct hwt_diag diag;
	int rc = session_flow(s, buf, &want, &flow, &diag);

	/* of those that have the name of Linux' event */
	if (n != w->nlines && !(set->symbols && n))
		complain(set, buf, "%u of %zu instructions that count are looked at", n,
			 w->nlines);
	for (unsigned i = 0; i < n && !rc; i++)
		rc = session_kernel(s, &kernel[i], &diag);
	if (!rc)
		rc = commit_books_new(books, lines, n, flow, kernel, (int32_t)buf);
	if (rc) {
		complain(set, buf, "anchors: %s", hwt_strerror(rc));
		return;
	}
	for (unsigned i = 0; i < n; i++) {
		int line = whole_line(w, lines[i].id[0]);

		if (line >= 0)
			check_line(w, set, buf, (size_t)line, books[i], sum);
		anchor_book_free(books[i]);
	}
}

/* --- which change of the address space is of which switch --- */

static const struct whole_rec *nth_switch(const struct whole_cpu *c, uint64_t n)
{
	for (size_t i = 0; i < c->nrec; i++)
		if (c->rec[i].data->id == HWT_ID_sched_switch && !c->rec[i].lost && !n--)
			return &c->rec[i];
	return NULL;
}

/* The first change behind the stamp of a switch is its own. */
static void check_change(const struct whole_cpu *c, const struct anchor_place *p, struct sum *sum)
{
	const struct whole_rec *r = nth_switch(c, p->record);
	size_t i = 0;

	while (r && i < c->nchange && c->change[i].tick < r->data->time)
		i++;
	sum->certain++;
	sum->wrong += !r || i == c->nchange || c->change[i].told < p->t.lo ||
		c->change[i].tick > p->t.hi ||
		(i + 1 < c->nchange && c->change[i + 1].told <= p->t.hi);
}

static void check_spaces(const struct whole *w, const struct whole_setting *set,
			 struct hwt_session *s, size_t buf, struct sum *sum)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	struct hwt_stream *flow, *kernel;
	const struct anchor_sum *found;
	struct anchor_book *book;
	struct anchor_place p;
	struct hwt_diag diag;
	uint64_t n;
	int rc = session_flow(s, buf, &want, &flow, &diag);

	if (!rc)
		rc = session_kernel(s, &kernel, &diag);
	if (!rc)
		rc = aspace_book_new(&book, flow, kernel, (int32_t)buf, whole_is_pt(w));
	if (rc) {
		complain(set, buf, "spaces: %s", hwt_strerror(rc));
		return;
	}
	while (anchor_book_get(book, &p))
		check_change(&w->cpu[buf], &p, sum);
	found = anchor_book_sum(book);
	sum->changes += found->certain + found->possible + found->lost + found->bad;
	/* of the first and the last nothing says that their change is in the trace */
	n = found->certain + found->possible + found->bad;
	sum->kept += n > found->certain + 2 ? n - 2 : found->certain;
	if (found->contradictions)
		complain(set, buf, "spaces: %" PRIu64 " contradictions", found->contradictions);
	anchor_book_free(book);
}

/* --- everything in one stream --- */

struct place { uint64_t ran, seen[WHOLE_LINES], value; size_t marks; };

/* A record stands where its function runs. */
static void check_record(const struct whole *w, const struct hwt_event *ev, struct place *at,
			 struct sum *sum)
{
	const struct whole_cpu *c = &w->cpu[ev->cpu];
	int line = whole_line(w, ev->u.rec.id);

	if (line < 0)
		return;
	if (ev->u.rec.id == HWT_ID_user_mark) {
		const struct hwt_rec_user_mark *m = ev->u.rec.data;

		sum->tied += at->value == m->value;
	}
	for (size_t v = 0; v < c->nvisit[line]; v++) {
		const struct whole_visit *vi = &c->visit[line][v];
		const struct whole_rec *r = vi->record != SIZE_MAX ? &c->rec[vi->record] : NULL;

		if (!r || r->lost || r->nth != at->seen[line])
			continue;
		sum->records++;
		sum->inside += at->ran >= vi->insn && at->ran <= vi->end;
		break;
	}
	at->seen[line]++;
}

static void check_range(const struct whole *w, const struct hwt_event *ev, struct place *at,
			struct sum *sum)
{
	const struct whole_seg *seg;

	if (!(ev->u.range.first >> 63)) {
		seg = whole_seg_at(&w->cpu[ev->cpu], at->ran);
		sum->ranges++;
		sum->no_thread += ev->tid == HWT_NONE;
		sum->other_thread += ev->tid != HWT_NONE && (!seg || ev->tid != seg->tid);
	}
	at->ran += ev->u.range.insns;
}

/* The next value of the CPU, where it was written. */
static void check_mark(const struct whole *w, const struct hwt_event *ev, struct place *at,
		       struct sum *sum)
{
	const struct whole_cpu *c = &w->cpu[ev->cpu];
	const struct whole_mark *m = at->marks < c->nmark ? &c->mark[at->marks] : NULL;

	at->marks++;
	sum->placed += m && m->value == ev->u.mark.value && m->insn == at->ran;
	if (ev->u.mark.addr >> 63) {
		sum->kmarks++;
		return;
	}
	at->value = ev->u.mark.value;
	sum->marks++;
}

static int check_timeline(const struct whole *w, const struct whole_setting *set,
			  struct hwt_session *s, struct sum *sum)
{
	static struct hwt_event ev[BATCH];
	struct hwt_timeline_opts o = { .size = sizeof(o), .want = HWT_INTEREST_ALL,
		.hardware = true, .kernel = true, .anchors = true };
	struct place at[WHOLE_CPUS] = { 0 };
	struct hwt_stream *st;
	struct hwt_diag diag;
	int rc, n;

	o.want.level = HWT_LEVEL_RANGES;
	rc = hwt_session_timeline(s, &o, &st, &diag);
	if (rc)
		return rc;
	while ((n = hwt_stream_next(st, ev, BATCH)) > 0)
		for (int i = 0; i < n; i++) {
			if (ev[i].cpu < 0 || (size_t)ev[i].cpu >= w->ncpus)
				continue;
			if (ev[i].type == HWT_EV_RECORD && ev[i].u.rec.id < HWT_ID_DIRTY)
				check_record(w, &ev[i], &at[ev[i].cpu], sum);
			if (ev[i].type == HWT_EV_MARK)
				check_mark(w, &ev[i], &at[ev[i].cpu], sum);
			if (ev[i].type == HWT_EV_RANGE)
				check_range(w, &ev[i], &at[ev[i].cpu], sum);
		}
	hwt_stream_close(st);
	return n;
}

static void judge_spaces(const struct whole_setting *set, const struct sum *sum)
{
	printf("whole: %-18s %" PRIu64 " switches to other spaces, %" PRIu64 " certain, %" PRIu64
	       " wrong, recall %.2f %%; of %" PRIu64 " user ranges %" PRIu64 " have the wrong "
	       "thread, %" PRIu64 " none\n", set->name, sum->changes, sum->certain, sum->wrong,
	       sum->kept ? 100. * (double)sum->certain / (double)sum->kept : 0, sum->ranges,
	       sum->other_thread, sum->no_thread);
	if (sum->wrong)
		complain(set, 0, "changes that are tied to the wrong switch");
	if (!sum->certain || sum->certain * 100 < sum->kept * set->spaces)
		complain(set, 0, "too few are certain");
	if (sum->other_thread)
		complain(set, 0, "instructions of another thread");
}

static void judge(const struct whole *w, const struct whole_setting *set, const struct sum *sum)
{
	bool holes = sum->holes;
	/* a mark in the trace says which record it is, whatever is lost */
	unsigned recall = w->marked && !holes ? 99 : set->lose ? 90 : holes ? 0 : 99;

	printf("whole: %-18s %" PRIu64 " insns, %" PRIu64 " branches, %" PRIu64 " holes, %" PRIu64
	       " of rewritten code with %" PRIu64 " insns; ", set->name, sum->flow.insns,
	       sum->flow.branches, sum->flow.holes, sum->flow.stale, sum->flow.stale_insns);
	printf("%" PRIu64 " visits of %u kinds, %" PRIu64 " certain, %" PRIu64 " wrong, %" PRIu64
	       " outside of their time, recall %.2f %%", sum->visits, sum->kinds, sum->certain,
	       sum->wrong, sum->outside,
	       sum->kept ? 100. * (double)sum->certain / (double)sum->kept : 0);
	if (!holes && !set->symbols)
		printf("; %" PRIu64 " of %" PRIu64 " records in their function; of %" PRIu64
		       " user ranges %" PRIu64 " have the wrong thread, %" PRIu64 " none; %" PRIu64
		       " marks, %" PRIu64 " of records", sum->inside, sum->records, sum->ranges,
		       sum->other_thread, sum->no_thread, sum->marks, sum->kmarks);
	printf("\n");
	if (sum->wrong || sum->outside)
		complain(set, 0, "records that are tied to the wrong instruction");
	if (!sum->certain || sum->certain * 100 < sum->kept * recall)
		complain(set, 0, "too few are certain");
	if (holes || set->symbols)
		return;
	/* an ETM has no packet that a program writes */
	if (whole_is_pt(w) && (!sum->marks || sum->placed != sum->marks + sum->kmarks))
		complain(set, 0, "marks that stand elsewhere (%" PRIu64 ")",
			 sum->marks + sum->kmarks - sum->placed);
	if (w->marked && sum->kmarks < sum->records)
		complain(set, 0, "records without marks");
	if (!set->lose && sum->tied != sum->marks)
		complain(set, 0, "marks whose record is not the next (%" PRIu64 ")",
			 sum->marks - sum->tied);
	if (sum->other_thread)
		complain(set, 0, "instructions of another thread");
	/* where the switch before was lost nobody can know */
	if (sum->no_thread * 100 > sum->ranges * (set->lose ? 20 : 1))
		complain(set, 0, "instructions of nobody");
	/* one that is not tied is shown somewhere in its time */
	if (!set->lose && sum->records - sum->inside > sum->kept - sum->certain)
		complain(set, 0, "records that stand elsewhere");
}

static int one(struct whole *w, const struct whole_setting *set)
{
	char symbols[4096];
	struct hwt_open_opts opts = { .size = sizeof(opts), .sysroot = opt.root,
		.kcore = w->kcore };
	struct truth_holes holes[WHOLE_CPUS] = { 0 };
	struct sum sum = { 0 };
	struct hwt_session *s;
	struct hwt_diag diag;
	int rc;

	snprintf(symbols, sizeof(symbols), "%s/../symbols", opt.guest);
	if (set->symbols)
		opts.kallsyms = symbols;
	whole_lose(w, set->lose);
	rc = whole_write(w, opt.dir, set, holes);
	if (!rc && (rc = hwt_session_open(&s, opt.dir, &opts, &diag)))
		fprintf(stderr, "whole: %s\n", diag.text);
	if (rc)
		return rc;
	for (size_t i = 0; i < hwt_session_bufs(s); i++)
		if (!set->spaces && !set->symbols)
			check_flow(w, set, s, i, &holes[i], &sum);
	sum.holes = has_holes(set) || sum.flow.stale;
	for (size_t i = 0; i < hwt_session_bufs(s); i++)
		if (set->spaces)
			check_spaces(w, set, s, i, &sum);
		else
			check_books(w, set, s, i, &sum);
	if (!sum.holes && !set->symbols)
		rc = check_timeline(w, set, s, &sum);
	for (size_t i = 0; opt.verbose && hwt_session_note(s, i); i++)
		printf("     note: %s\n", hwt_session_note(s, i)->diag.text);
	hwt_session_close(s);
	for (size_t i = 0; i < WHOLE_CPUS; i++)
		free(holes[i].h);
	if (set->spaces)
		judge_spaces(set, &sum);
	else
		judge(w, set, &sum);
	fflush(stdout);
	return rc;
}

static const struct whole_setting *settings_of(const struct whole *w)
{
	return whole_is_pt(w) ? pt_settings : etm4_settings;
}

static int requests(struct whole *w)
{
	const struct whole_setting *set = &settings_of(w)[opt.setting < 0 ? 0 : opt.setting];
	struct truth_holes holes[WHOLE_CPUS] = { 0 };
	char *end;
	uint64_t request = strtoull(opt.functions, &end, 16);
	int rc = *end == ',' ? whole_requests(w, request, strtoull(end + 1, NULL, 16)) : -1;

	return rc ? rc : whole_write(w, opt.dir, set, holes);
}

int main(int argc, char **argv)
{
	struct whole w;
	int c, rc;

	while ((c = getopt(argc, argv, "d:g:mr:s:t:v")) != -1) {
		switch (c) {
		case 'd': opt.dir = optarg; break;
		case 'g': opt.guest = optarg; break;
		case 'm': opt.marked = true; break;
		case 'r': opt.root = optarg; break;
		case 's': opt.setting = atoi(optarg); break;
		case 't': opt.functions = optarg; break;
		case 'v': opt.verbose++; break;
		default: return 2;
		}
	}
	if (!opt.guest || !opt.root || optind + 1 != argc)
		return 2;
	rc = whole_open(&w, argv[optind], opt.guest);
	w.marked = opt.marked;
	snprintf(w.kcore, sizeof(w.kcore), "%s.kcore", opt.dir);
	if (!rc)
		printf("whole: %zu CPUs, %" PRIu64 " and %" PRIu64 " instructions, %zu and %zu "
		       "records, %" PRIu64 " patches of code, %" PRIu64 " changes of the "
		       "thread, %" PRIu64 " of the address space\n", w.ncpus, w.cpu[0].insns,
		       w.cpu[1].insns, w.cpu[0].nrec, w.cpu[1].nrec, w.patches, w.threads,
		       w.spaces);
	if (!rc && opt.functions)
		rc = requests(&w);
	for (size_t i = 0; !rc && i < (whole_is_pt(&w) ? NPT : NETM4) && !opt.functions; i++)
		if (opt.setting < 0 || (size_t)opt.setting == i)
			rc = one(&w, &settings_of(&w)[i]);
	whole_close(&w);
	return rc ? 2 : failed;
}
