/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * guest [-d DIR] [-s SEED] [-r ROW] [-v] RECORDING...: makes the traces of the CPUs of each guest
 * under each row of options, decodes them through the public API, and compares with what ran. Exit
 * 0: all equal; 1: not; 2: the test itself can not be done.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <hwtrace/session.h>
#include <hwtrace/uapi.h>

#include "../encode.h"
#include "code.h"
#include "hwtrace/capture/unit_cfg.h"

#define BATCH		256
#define CPUS		16
#define FIRST_ID	0x10
#define SCALE		16	/* recorded ticks a tick: emulated code is slow */

enum { ALL, USER, KERNEL };
static const struct factor filter_factor = { "filter", 3, { "none", "user", "kernel" } };

static struct options { const char *dir; uint64_t seed; int row, verbose; } opt = {
	.dir = "guest.hwt", .row = -1
};
static int failed;
static uint64_t all_insns, all_branches, all_ranges, all_timed, all_outside, all_holes;
static uint64_t all_stale, all_stale_insns;
static struct encode_sum used;

struct job {
	const char *name;
	struct rec *rec;
	const struct rec_clock *clk;
	struct code *code;
	int row, filter, exact;
	unsigned open;		/* branches that OpenCSD does not commit, see rows.c */
	struct model_pt_cfg pt;
	struct model_etm4_cfg etm4;
	struct native_writer *w;
	struct truth_holes holes[CPUS];
	struct truth *t[CPUS];
	int bad[CPUS];
	uint64_t unwanted;
};

static int is_pt(const struct job *j)
{
	return rec_isa(j->rec) == MODEL_X86_64;
}

static void complain(const struct job *j, size_t cpu, const char *why)
{
	printf("FAIL %s row %d cpu %zu: %s\n", j->name, j->row, cpu, why);
	failed = 1;
}

struct sink { struct job *j; int buf; size_t cpu; int err; };

static int put_trace(void *arg, const void *p, size_t n)
{
	const struct sink *s = arg;

	return native_trace(s->j->w, s->buf, HWT_TIME_UNKNOWN, p, n);
}

static void put_lost(void *arg, uint64_t from, uint64_t to)
{
	struct sink *s = arg;

	s->err |= truth_hole_add(&s->j->holes[s->cpu], from, to);
}

/* The side channel of a trace without address spaces: who came onto the CPU. */
static int put_switch(struct job *j, size_t cpu, uint64_t tick, uint64_t hit, int32_t prev,
		      int32_t next, uint64_t aspace)
{
	struct hwt_rec_sched_switch e = {
		.rec = { .time = tick, .id = HWT_ID_sched_switch, .size = sizeof(e),
			 .version = HWT_ABI_VERSION, .flags = HWT_REC_HIT, .hit = hit,
			 .pid = prev, .tid = prev },
		.prev_pid = prev, .prev_tid = prev, .next_pid = next, .next_tid = next,
		.prev_comm = "guest", .next_comm = "guest", .next_aspace = aspace,
	};

	return native_event(j->w, (int32_t)cpu, &e, sizeof(e));
}

/* PT tells no address space without kernel, and our flow does not know it after an overflow. */
static int needs_schedule(const struct job *j)
{
	return is_pt(j) && (j->filter == USER || (j->filter == ALL && j->pt.ovf_every));
}

static int feed(struct job *j, size_t cpu, struct model_pt *pt, struct model_etm4 *etm4)
{
	struct rec_iter *it;
	struct model_event ev;
	int32_t pid = HWT_NONE, next;
	uint64_t hit = 0;
	int err = rec_iter_new(&it, j->rec, cpu, j->clk);

	while (!err && (err = rec_next(it, &ev)) > 0) {
		next = ev.op == MODEL_CONTEXT ? code_pid(j->code, ev.ctx.aspace) : HWT_NONE;
		err = 0;
		/* beside address spaces they would only blur the times around them */
		if (needs_schedule(j) && next != HWT_NONE && next != pid) {
			err = put_switch(j, cpu, ev.tick, ++hit, pid, next, ev.ctx.aspace);
			pid = next;
		}
		if (!err)
			err = pt ? model_pt_put(pt, &ev) : model_etm4_put(etm4, &ev);
	}
	rec_iter_free(it);
	return err;
}

static void add_counts(void *sum, const void *c, size_t size)
{
	for (size_t i = 0; i < size / 8; i++)
		((uint64_t *)sum)[i] += ((const uint64_t *)c)[i];
}

static void pt_unit(struct trace_cfg *g, const struct model_pt_cfg *cfg)
{
	*g = (struct trace_cfg){ .proto = HWT_PROTO_PT };
	g->r.pt.mtc_freq = cfg->mtc_freq;
	g->r.pt.nom_freq = cfg->ratio;
	g->r.pt.cpuid_15_eax = cfg->ctc_eax;
	g->r.pt.cpuid_15_ebx = cfg->ctc_ebx;
	g->r.pt.noretcomp = !cfg->retcomp;
}

static int encode_cpu(struct job *j, size_t cpu)
{
	struct sink s = { .j = j, .cpu = cpu };
	const struct model_out out = { put_trace, put_lost, &s };
	struct model_pt *pt = NULL;
	struct model_etm4 *etm4 = NULL;
	struct trace_cfg g;
	char name[32];
	int err;

	j->etm4.trace_id = (uint8_t)(FIRST_ID + cpu);
	if (is_pt(j))
		pt_unit(&g, &j->pt);
	else
		unit_cfg_etm4(&g, &j->etm4);
	g.cpu = (int32_t)cpu;
	snprintf(name, sizeof(name), "cpu %zu", cpu);
	s.buf = native_add_buf(j->w, name, (int32_t)cpu, HWT_NONE, HWT_NONE, FRAMING_NONE, &g, 1);
	if (s.buf < 0)
		return s.buf;
	err = is_pt(j) ? model_pt_new(&pt, &j->pt, &out) : model_etm4_new(&etm4, &j->etm4, &out);
	if (!err)
		err = feed(j, cpu, pt, etm4);
	if (!err)
		err = pt ? model_pt_end(pt) : model_etm4_end(etm4);
	if (pt)
		add_counts(&used.pt, model_pt_counts(pt), sizeof(used.pt));
	if (etm4)
		add_counts(&used.etm4, model_etm4_counts(etm4), sizeof(used.etm4));
	model_pt_free(pt);
	model_etm4_free(etm4);
	return err ? err : s.err;
}

static int encode(struct job *j)
{
	/* what the ticks are worth is of no interest here: as if a nanosecond each */
	const struct native_clock clock = { .counter = "qemu", .base = "CLOCK_MONOTONIC",
					    .frequency = 1000000000 };
	struct hwt_diag diag = { 0 };
	int err = native_create(&j->w, opt.dir, true, &diag), closed;

	if (err) {
		fprintf(stderr, "guest: %s\n", diag.text);
		return err;
	}
	native_set(j->w, "capture", "recorder", "model");
	native_set(j->w, "capture", "arch", "%s", is_pt(j) ? "x86_64" : "aarch64");
	native_clock(j->w, &clock);
	err = code_write(j->code, j->w);
	for (size_t i = 0; i < rec_threads(j->rec) && !err; i++)
		err = encode_cpu(j, i);
	closed = native_close(j->w, &diag);
	if (err || closed)
		fprintf(stderr, "guest: encoding: %s\n", err ? hwt_strerror(err) : diag.text);
	return err ? err : closed;
}

static int stale_ok(const struct job *j)
{
	return is_pt(j) && j->pt.retcomp;
}

static void event(struct job *j, size_t cpu, const struct hwt_event *ev)
{
	char why[160];

	if (ev->type == HWT_EV_GAP && ev->u.gap.cause != HWT_GAP_OVERFLOW &&
	    !(stale_ok(j) && ev->u.gap.cause == HWT_GAP_NO_RETURN) && !j->unwanted++) {
		snprintf(why, sizeof(why), "a hole that nobody made: %s at byte %" PRIu64
			 " addr %" PRIx64, hwt_gap_name((unsigned)ev->u.gap.cause), ev->off,
			 ev->u.gap.addr);
		complain(j, cpu, why);
	}
	if (opt.verbose && ev->type == HWT_EV_GAP)
		printf("     %zu: gap %s at byte %" PRIu64 "\n", cpu,
		       hwt_gap_name((unsigned)ev->u.gap.cause), ev->off);
	if (opt.verbose > 1 && ev->type == HWT_EV_RANGE)
		printf("     %zu: %" PRIx64 "..%" PRIx64 " n%u pid %d byte %" PRIu64
		       " time %" PRIu64 "+%u\n", cpu, ev->u.range.first, ev->u.range.last,
		       ev->u.range.insns, ev->pid, ev->off, ev->time, ev->span);
	if (j->bad[cpu])
		return;
	j->bad[cpu] = truth_event(j->t[cpu], ev);
	if (j->bad[cpu])
		complain(j, cpu, truth_why(j->t[cpu]));
}

static void decode(struct job *j)
{
	static struct hwt_event ev[BATCH];
	const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
					   .time_hi = HWT_TIME_UNKNOWN };
	const struct hwt_open_opts opts = { .size = sizeof(opts) };
	struct hwt_session *s;
	struct hwt_diag diag;
	int r = hwt_session_open(&s, opt.dir, &opts, &diag);

	if (r) {
		complain(j, 0, diag.text);
		return;
	}
	for (size_t i = 0; i < hwt_session_bufs(s); i++) {
		struct hwt_stream *st;

		r = hwt_session_flow(s, i, &want, &st, &diag);
		if (r) {
			complain(j, i, diag.text);
			continue;
		}
		while ((r = hwt_stream_next(st, ev, BATCH)) > 0) {
			for (int k = 0; k < r; k++)
				event(j, i, &ev[k]);
		}
		if (r < 0)
			complain(j, i, hwt_strerror(r));
		hwt_stream_close(st);
	}
	for (size_t i = 0; hwt_session_note(s, i); i++)
		printf("     note: %s\n", hwt_session_note(s, i)->diag.text);
	hwt_session_close(s);
}

static void sum_up(struct job *j, const char *text)
{
	struct truth_stats sum = { 0 };

	for (size_t i = 0; i < rec_threads(j->rec); i++) {
		const struct truth_stats *st = truth_stats(j->t[i]);

		truth_add(&sum, st);
		if (st->outside && j->exact && !j->bad[i])
			complain(j, i, truth_why(j->t[i]));
	}
	printf("%-4s %s %2d %s: %" PRIu64 " insns %" PRIu64 " branches, holes %" PRIu64
	       " lost %" PRIu64 " left %" PRIu64 ", timed %.1f%%\n", failed ? "" : "ok", j->name,
	       j->row, text, sum.insns, sum.branches, sum.holes, sum.lost, sum.left,
	       sum.timed + sum.untimed ? 100. * sum.timed / (sum.timed + sum.untimed) : 0);
	fflush(stdout);
	all_insns += sum.insns;
	all_branches += sum.branches;
	all_ranges += sum.ranges;
	all_timed += sum.timed;
	all_outside += j->exact ? sum.outside : 0;
	all_holes += sum.holes;
	all_stale += sum.stale;
	all_stale_insns += sum.stale_insns;
}

/* Levels that leave no trace, by filter: of PT CPL, of ETM EL. */
static unsigned levels(const struct job *j)
{
	if (j->filter == ALL)
		return 0;
	return j->filter == USER ? is_pt(j) ? 7 : 14 : is_pt(j) ? 8 : 1;
}

static int run(struct job *j, const char *text)
{
	int err;

	memset(j->holes, 0, sizeof(j->holes));
	memset(j->t, 0, sizeof(j->t));
	memset(j->bad, 0, sizeof(j->bad));
	j->unwanted = 0;
	err = encode(j);
	for (size_t i = 0; i < rec_threads(j->rec) && !err; i++) {
		err = truth_new(&j->t[i], j->rec, i, j->clk, &j->holes[i]);
		if (!err)
			truth_filter(j->t[i], levels(j));
		if (!err && stale_ok(j))
			truth_stale(j->t[i]);
	}
	if (!err) {
		decode(j);
		for (size_t i = 0; i < rec_threads(j->rec); i++) {
			if (!j->bad[i] && truth_end(j->t[i], j->open))
				complain(j, i, truth_why(j->t[i]));
		}
		sum_up(j, text);
	}
	for (size_t i = 0; i < CPUS; i++) {
		truth_free(j->t[i]);
		free(j->holes[i].h);
	}
	return err;
}

/* Whether times are good to the instruction. */
static int is_fine(const struct row *row)
{
	return rows_pt_exact(row) && rows_pt_timed(row) >= 2;
}

/* Options of this row; NULL, or why nothing in its trace tells which code ran. */
static const char *set_row(struct job *j, const struct row *row, unsigned nf,
			   const struct code_sum *code)
{
	int framed;

	j->filter = row->v[nf - 1];
	j->open = 0;
	if (is_pt(j)) {
		rows_pt_cfg(row, opt.seed, &j->pt);
		j->pt.no_kernel = j->filter == USER;
		j->pt.no_user = j->filter == KERNEL;
		/* a switch is told as soon as it can have been, and the times go with it */
		j->exact = rows_pt_exact(row) && !needs_schedule(j);
		if (code->changes && (!rows_pt_exact(row) || !j->pt.mtc))
			return "code is rewritten, and no good time says when";
		j->exact &= !code->changes;
		return NULL;
	}
	rows_etm4_cfg(row, opt.seed, &j->etm4, &framed);
	j->etm4.exclude = (uint8_t)levels(j);
	j->exact = 1;
	j->open = j->etm4.cycles && !j->etm4.commit1 ? j->etm4.max_spec : 0;
	return code->changes && !j->etm4.timestamps ?
		"code is rewritten, and no time says when" : NULL;
}

static uint8_t *value(struct row *row, const struct factor *f, unsigned nf, const char *name)
{
	unsigned i = 0;

	while (i + 1 < nf && strcmp(f[i].name, name))
		i++;
	return &row->v[i];
}

/*
 * What a decoder can not know, whoever it is, or what ours does not with this library (README.md):
 * such rows get another value of one option.
 */
static void make_fit(struct row *row, const struct factor *f, unsigned nf, int pt)
{
	unsigned filter = row->v[nf - 1];

	if (!pt) {
		*value(row, f, nf, "frames") = 0;
		if (filter != KERNEL)
			*value(row, f, nf, "contextid") = 1;
		if (filter == USER)
			*value(row, f, nf, "speculation") = 0;
		return;
	}
	/* no address space in the trace: time must tell it, good to the instruction */
	if (filter == USER) {
		*value(row, f, nf, "time") = 3;
		*value(row, f, nf, "cbr") = 0;
	}
	if (filter == ALL && !is_fine(row))
		*value(row, f, nf, "overflow") = 0;
	/* how much a return takes along that libipt does not find, only time can tell */
	if ((!rows_pt_timed(row) || !rows_pt_exact(row)))
		*value(row, f, nf, "retcomp") = 0;
}

static void describe(const struct job *j, const struct code_sum *c)
{
	printf("guest: %s: %zu CPUs, %" PRIu64 " user and %" PRIu64 " kernel instructions, "
	       "%" PRIu64 " system calls, %" PRIu64 " faults, %" PRIu64 " interrupts, %" PRIu64
	       " changes of address space\n", j->name, rec_threads(j->rec), c->insns[0],
	       c->insns[1], c->calls, c->faults, c->irqs, c->switches);
	printf("guest: %s: %u processes, %u pages of code, %u differ between processes, %u places "
	       "rewritten, %u address spaces came to another process\n", j->name, c->processes,
	       c->pages, c->shared, c->changes, c->moved);
}

static int recording(const char *path)
{
	const struct rec_clock clk = { .per_tick = SCALE };
	static struct row rows[ROWS_MAX];
	struct factor f[FACTORS_MAX];
	const char *why, *slash = strrchr(path, '/');
	struct job j = { .name = slash ? slash + 1 : path, .clk = &clk };
	struct code_sum code;
	unsigned n, nf;
	int err = rec_open(&j.rec, path, &why);

	if (err) {
		fprintf(stderr, "guest: %s %s\n", path, why);
		return err;
	}
	err = rec_is_guest(j.rec) ? code_new(&j.code, j.rec, &clk) : -1;
	if (err) {
		fprintf(stderr, "guest: %s is no recording of a guest\n", path);
		rec_close(j.rec);
		return err;
	}
	code_sum(j.code, &code);
	describe(&j, &code);
	nf = is_pt(&j) ? rows_npt : rows_netm4;
	memcpy(f, is_pt(&j) ? rows_pt : rows_etm4, nf * sizeof(*f));
	f[nf++] = filter_factor;
	n = rows_make(rows, f, nf);
	for (unsigned i = 0; i < n && !err; i++) {
		char text[512];

		j.row = (int)i;
		if (opt.row >= 0 && opt.row != j.row)
			continue;
		make_fit(&rows[i], f, nf, is_pt(&j));
		rows_text(&rows[i], f, nf, text, sizeof(text));
		why = set_row(&j, &rows[i], nf, &code);
		if (why)
			printf("none %s %2u %s: %s\n", j.name, i, text, why);
		else
			err = run(&j, text);
	}
	code_free(j.code);
	rec_close(j.rec);
	return err;
}

static void sums(void)
{
	printf("sum: %" PRIu64 " instructions, %" PRIu64 " branches, %" PRIu64 " holes, %.1f%% of "
	       "%" PRIu64 " ranges timed, %" PRIu64 " outside of their interval\n", all_insns,
	       all_branches, all_holes, all_ranges ? 100. * all_timed / all_ranges : 0, all_ranges,
	       all_outside);
	printf("sum: pip %" PRIu64 " pge %" PRIu64 " pgd %" PRIu64 " asynchronous %" PRIu64
	       " compressed returns %" PRIu64 "; exceptions %" PRIu64 " returns from them %" PRIu64
	       " contexts %" PRIu64 "\n", used.pt.packet[MODEL_PT_PIP],
	       used.pt.packet[MODEL_PT_PGE], used.pt.packet[MODEL_PT_PGD], used.pt.async,
	       used.pt.compressed, used.etm4.exception1 + used.etm4.exception2,
	       used.etm4.exception_return, used.etm4.context + used.etm4.ctx_long32[0] +
	       used.etm4.ctx_long64[0]);
	if (all_stale)
		printf("sum: %" PRIu64 " compressed returns that libipt does not find, with "
		       "%" PRIu64 " instructions\n", all_stale, all_stale_insns);
}

int main(int argc, char **argv)
{
	int c, err = 0;

	while ((c = getopt(argc, argv, "d:s:r:v")) != -1) {
		switch (c) {
		case 'd': opt.dir = optarg; break;
		case 's': opt.seed = strtoull(optarg, NULL, 0); break;
		case 'r': opt.row = atoi(optarg); break;
		case 'v': opt.verbose++; break;
		default: return 2;
		}
	}
	for (; optind < argc && !err; optind++)
		err = recording(argv[optind]);
	/* nothing was held against anything */
	if (!err && !all_insns)
		failed = 1;
	sums();
	return err ? 2 : failed;
}
