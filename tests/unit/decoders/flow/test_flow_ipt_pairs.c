/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Truth: the run of a random program, sent by the model's Intel PT unit under all pairs of its
 * options. Flow must find the same instructions, name each overflow once, and put each instruction
 * in an interval that holds the tick at which it retired. With return compression one thread runs,
 * and returns go where they were called from: else flow has named holes there, no-return. Rows with
 * CYC are sent once more without.
 *
 * Where only holes are asked for, they are the same but in rare runs: a block that ends at an event
 * may hold a call, which libipt 2.0.5 does not tell. How many such runs there are is printed and
 * may not grow.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../correlate/bound.h"
#include "../../../support/ptflow.h"
#include "../../../support/ptrun.h"

#define BRANCHES	3000	/* of a program, and row of the table */

static unsigned turns = 2;	/* through the table; the first argument says how many */

struct walk {
	const struct ptprog *prog;
	const struct ptrun *run;
	struct ptprog_cur cur;
	const char *what;
	unsigned holes, others;	/* @others: 1, not where only holes are asked for */
	uint64_t insns, timed, open;	/* @open: without an end */
	uint64_t outside;
	uint32_t *width;
	size_t nwidth;
};

/* Of a row, in all turns: with its options, and without CYC. */
static struct sum {
	uint64_t timed, open;
	uint32_t *width;
	size_t n;
} sums[PAIRS_ROWS][2];

static void wrong(const struct walk *w, const struct hwt_event *ev, const char *why, uint64_t a,
		  uint64_t b)
{
	fail_msg("%s: %s at byte %llu, event %zu: %llx, not %llx", w->what, why,
		 (unsigned long long)ev->off, w->cur.ev, (unsigned long long)a,
		 (unsigned long long)b);
}

static bool at(struct walk *w, uint64_t *addr)
{
	return ptprog_at(w->prog, &w->cur, ptrun_traced, &w->run->cfg, addr);
}

/* The last instruction of a block retired at the tick of its event. */
static void check_time(struct walk *w, const struct hwt_event *ev)
{
	const struct model_event *m = &w->prog->ev[w->cur.ev];

	if (w->cur.k + 1 != m->insns || m->insns != m->block->insns)
		return;
	if (ev->time == HWT_TIME_UNKNOWN || !w->run->cfg.tsc)
		return;
	w->timed++;
	if (ev->span == HWT_SPAN_UNKNOWN)
		w->open++;
	else
		w->width[w->nwidth++] = ev->span;
	if (m->tick < ev->time || (ev->span != HWT_SPAN_UNKNOWN && m->tick > ev->time + ev->span)) {
		if (!w->outside++)
			printf("# %s: event %zu ran at %llu, not in %llu+%u, byte %llu\n", w->what,
			       w->cur.ev, (unsigned long long)m->tick,
			       (unsigned long long)ev->time, ev->span,
			       (unsigned long long)ev->off);
	}
}

static void range(struct walk *w, const struct hwt_event *ev)
{
	uint64_t addr = 0;

	for (uint32_t i = 0; i < ev->u.range.insns; i++) {
		if (!at(w, &addr))
			wrong(w, ev, "more than ran", ev->u.range.first, 0);
		if (!i && addr != ev->u.range.first)
			wrong(w, ev, "first", ev->u.range.first, addr);
		check_time(w, ev);
		w->cur.k++;
	}
	if (addr != ev->u.range.last)
		wrong(w, ev, "last", ev->u.range.last, addr);
	w->insns += ev->u.range.insns;
}

static void gap(struct walk *w, const struct hwt_event *ev)
{
	uint64_t addr;

	if (ev->u.gap.cause != HWT_GAP_OVERFLOW || w->holes == w->run->nlost)
		wrong(w, ev, hwt_gap_name((unsigned)ev->u.gap.cause), w->holes, w->run->nlost);
	w->cur = (struct ptprog_cur){ .ev = w->run->lost[w->holes++].to };
	at(w, &addr);
}

static void holes_only(struct walk *w, const struct flow_args *args)
{
	struct hwt_interest want = { .level = HWT_LEVEL_HOLES, .time_hi = HWT_TIME_UNKNOWN };
	struct flow_args a = *args;
	struct hwt_event ev[64];
	struct hwt_stream *s;
	unsigned holes = 0;
	int n;

	a.want = &want;
	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	while ((n = hwt_stream_next(s, ev, 64)) > 0)
		for (int i = 0; i < n; i++)
			holes += ev[i].type == HWT_EV_GAP;
	assert_int_equal(n, 0);
	hwt_stream_close(s);
	if (holes != w->holes)
		printf("# where only holes are asked for %u, not %u: %s\n", holes, w->holes,
		       w->what);
	w->others += holes != w->holes;
}

static void decode(struct walk *w)
{
	struct hwt_event ev[64];
	struct hwt_stream *s;
	struct flow_args a;
	struct ptflow f;
	uint64_t addr;
	int n;

	ptflow_init(&f);
	f.cfg.r.pt.mtc_freq = w->run->cfg.mtc_freq;
	f.cfg.r.pt.nom_freq = w->run->cfg.ratio;
	f.cfg.r.pt.cpuid_15_eax = w->run->cfg.ctc_eax;
	f.cfg.r.pt.cpuid_15_ebx = w->run->cfg.ctc_ebx;
	for (unsigned i = 0; i < PTPROG_SEGS; i++)
		assert_int_equal(image_add_bytes(f.image, HWT_NONE, 0, w->prog->seg[i].addr,
						 w->prog->seg[i].code, w->prog->seg[i].size,
						 "test"), 0);
	ptflow_span(&f, w->run->p, w->run->n);
	a = (struct flow_args){ .want = &f.want, .buf = &f.buf, .image = f.image,
		.machine = f.machine, .tsc = &f.tsc };
	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	assert_int_equal(bound_new(&s, &f.want, s, true), 0);
	while ((n = hwt_stream_next(s, ev, 64)) > 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].type == HWT_EV_RANGE)
				range(w, &ev[i]);
			if (ev[i].type == HWT_EV_GAP)
				gap(w, &ev[i]);
		}
	}
	assert_int_equal(n, 0);
	hwt_stream_close(s);
	holes_only(w, &a);
	ptflow_fini(&f);
	/* an overflow at the end hides the rest */
	if (w->holes < w->run->nlost)
		w->cur = (struct ptprog_cur){ .ev = w->run->lost[w->holes++].to };
	assert_int_equal(w->holes, w->run->nlost);
	if (at(w, &addr))
		fail_msg("%s: less than ran: event %zu", w->what, w->cur.ev);
}

static int by_width(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static uint32_t median(struct sum *s)
{
	if (!s->n)
		return 0;
	qsort(s->width, s->n, sizeof(*s->width), by_width);
	return s->width[s->n / 2];
}

static void keep(struct sum *s, const struct walk *w)
{
	s->timed += w->timed;
	s->open += w->open;
	s->width = realloc(s->width, (s->n + w->nwidth + 1) * sizeof(*s->width));
	assert_non_null(s->width);
	memcpy(s->width + s->n, w->width, w->nwidth * sizeof(*s->width));
	s->n += w->nwidth;
}

/* A run under the options of a row; @total takes what came of it. */
static void one(struct walk *total, struct sum *sum, const struct ptprog *prog,
		const struct model_pt_cfg *cfg, const char *what)
{
	static struct ptrun run;
	struct walk w = { .prog = prog, .run = &run, .what = what,
		.width = malloc(prog->nev * sizeof(*w.width)) };

	assert_non_null(w.width);
	assert_int_equal(ptrun_encode(&run, prog, cfg), 0);
	decode(&w);
	keep(sum, &w);
	total->insns += w.insns;
	total->timed += w.timed;
	total->open += w.open;
	total->outside += w.outside;
	total->holes += w.holes;
	total->others += w.others;
	free(w.width);
	ptrun_free(&run);
	memset(&run, 0, sizeof(run));
}

static void row_times(const struct pairs *pairs, unsigned row)
{
	struct sum *s = sums[row];
	struct model_pt_cfg cfg;
	uint32_t with = median(&s[0]), without = median(&s[1]);

	ptrun_cfg(&cfg, pairs, row);
	if (!cfg.tsc)
		return;
	printf("# row %u: %.1f%% open, median %u ticks", row, 100. * s[0].open / s[0].timed, with);
	if (cfg.cyc)
		printf("; without CYC %.1f%% open, median %u", 100. * s[1].open / s[1].timed,
		       without);
	printf("\n");
}

static void all_pairs(void **state)
{
	static struct pairs pairs;
	struct walk sum = { 0 };
	char what[512];

	(void)state;
	assert_int_equal(ptrun_pairs(&pairs), 0);
	for (unsigned i = 0; i < turns * pairs.nrows; i++) {
		unsigned row = i % pairs.nrows;
		struct ptprog_cfg pc = { .seed = i + 1, .branches = BRANCHES, .pauses = i & 1 };
		struct model_pt_cfg cfg;
		struct ptprog prog;
		FILE *f = fmemopen(what, sizeof(what), "w");

		assert_non_null(f);
		pairs_print(f, &pairs, row);
		fclose(f);
		ptrun_cfg(&cfg, &pairs, row);
		cfg.seed = i;
		pc.one_thread = cfg.retcomp;
		if (cfg.retcomp)	/* calls and returns that are not traced do not match */
			cfg.nranges = 0;
		pc.tricks = !cfg.retcomp;
		pc.unseen = i % 3 == 1 && !cfg.no_user;
		assert_int_equal(ptprog_make(&prog, &pc), 0);
		ptrun_ranges(&cfg, &prog);
		one(&sum, &sums[row][0], &prog, &cfg, what);
		if (cfg.cyc && cfg.tsc) {
			cfg.cyc = false;
			one(&sum, &sums[row][1], &prog, &cfg, what);
		}
		ptprog_free(&prog);
	}
	for (unsigned row = 0; row < pairs.nrows; row++)
		row_times(&pairs, row);
	printf("# %u rows, %u turns: %llu instructions, %u holes; %llu blocks "
	       "with a time, %llu of them without an end, %llu outside of their interval\n",
	       pairs.nrows, turns, (unsigned long long)sum.insns, sum.holes,
	       (unsigned long long)sum.timed, (unsigned long long)sum.open,
	       (unsigned long long)sum.outside);
	assert_int_equal(sum.outside, 0);
	assert_true(sum.others <= turns * pairs.nrows / 200);
	for (unsigned row = 0; row < pairs.nrows; row++) {
		free(sums[row][0].width);
		free(sums[row][1].width);
	}
}

/*
 * As desktop parts are set up: a crystal of 24 MHz at 3 GHz, an MTC each 8 of its ticks, a PSB each
 * few KiB. A tenth is what cycles must make of the width.
 */
static void cycles_are_worth_it(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 8; i++) {
		struct ptprog_cfg pc = { .seed = i + 1, .branches = 5 * BRANCHES,
			.one_thread = true };
		struct model_pt_cfg cfg = { .seed = i, .psb_bytes = 2048, .retcomp = true,
			.tsc = true, .mtc = !(i & 4), .mtc_freq = 3, .ctc_eax = 2,
			.ctc_ebx = 250, .cyc = true, .ratio = 30, .cbr_every = i & 1 ? 20000 : 0,
			.ovf_every = i & 2 ? 2000 : 0 };
		struct walk total = { 0 };
		struct ptprog prog;
		struct sum sum[2] = { 0 };
		uint32_t with, without;
		char what[64];

		snprintf(what, sizeof(what), "mtc=%d cbr=%s ovf=%s", cfg.mtc,
			 i & 1 ? "20000" : "fixed", i & 2 ? "seed" : "none");
		assert_int_equal(ptprog_make(&prog, &pc), 0);
		one(&total, &sum[0], &prog, &cfg, what);
		cfg.cyc = false;
		one(&total, &sum[1], &prog, &cfg, what);
		with = median(&sum[0]);
		without = median(&sum[1]);
		printf("# %s: %.2f%% open, median %u ticks; without CYC %.2f%%, %u\n", what,
		       100. * sum[0].open / sum[0].timed, with, 100. * sum[1].open / sum[1].timed,
		       without);
		assert_int_equal(total.outside, 0);
		assert_true(with && with * 10 <= without);
		free(sum[0].width);
		free(sum[1].width);
		ptprog_free(&prog);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_pairs),
		cmocka_unit_test(cycles_are_worth_it) };

	if (ptflow_missing())
		return 77;
	if (argc > 1)
		turns = (unsigned)strtoul(argv[1], NULL, 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
