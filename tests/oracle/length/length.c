/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * length -d DIR -t TIME [-p PROGRAM] [-o EVERY] [-s SEED] [-w THREAD:RUN:TICKS] RECORDING
 * FUNCTION...: makes the capture DIR of a recording of PROGRAM and says, from the recording alone,
 * when each thread called and left the functions (first addresses, hex), and what the unit lost:
 *
 *	enter|leave THREAD EVENT RUN TICK FUNCTION CALL: event of the call
 *	hole THREAD FROM TO FIRST: events [FROM, TO) left no trace; from FIRST on nothing proves any
 *
 * TIME: packets, of tsc, mtc, cyc, as "tsc+mtc"; with "flush" no branch waits over an MTC.
 * EVERY: events between overflows. -w makes one RUN of the recording take longer.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../encode.h"

#define NTHREAD	64
#define DEPTH	4096

/* @tail: entered by a jump out of the one below, which returns with it. */
struct frame { uint64_t ret, func, event; int tail; };

static uint64_t *funcs;
static int nfuncs;

static int is_asked(uint64_t addr)
{
	for (int i = 0; i < nfuncs; i++) {
		if (funcs[i] == addr)
			return 1;
	}
	return 0;
}

static void say(const char *what, size_t thread, uint64_t i, uint64_t run, uint64_t tick,
		const struct frame *f)
{
	if (is_asked(f->func))
		printf("%s %zu %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIx64 " %" PRIu64 "\n", what,
		       thread, i, run, tick, f->func, f->event);
}

/* Only a branch with a choice, or with a packet of its own, proves that flow came to it. */
static int is_proof(const struct model_event *ev)
{
	const struct model_block *b = ev->block;

	if (b->kind == MODEL_JUMP || b->kind == MODEL_CALL)
		return b->cond;
	return b->kind != MODEL_PLAIN && b->kind != MODEL_WAIT;
}

/* A jump into a function that jumped on goes on with the same call. */
static int is_chained(const struct frame *v, unsigned n, uint64_t func)
{
	for (; n; n--) {
		if (v[n - 1].func == func)
			return 1;
		if (!v[n - 1].tail)
			break;
	}
	return 0;
}

static void branch(const struct model_event *ev, size_t thread, uint64_t i, uint64_t run,
		   struct frame *v, unsigned *n)
{
	const struct model_block *b = ev->block;

	if (ev->insns != b->insns)
		return;
	if ((b->kind == MODEL_CALL || b->kind == MODEL_ICALL) && *n < DEPTH) {
		v[(*n)++] = (struct frame){ b->last + b->last_size, ev->to, i, 0 };
		say("enter", thread, i, run, ev->tick, &v[*n - 1]);
	}
	if ((b->kind == MODEL_JUMP || b->kind == MODEL_IJUMP) && *n && *n < DEPTH &&
	    is_asked(ev->to) && !is_chained(v, *n, ev->to)) {
		v[*n] = (struct frame){ v[*n - 1].ret, ev->to, i, 1 };
		(*n)++;
		say("enter", thread, i, run, ev->tick, &v[*n - 1]);
	}
	while (b->kind == MODEL_RETURN && *n && v[*n - 1].ret == ev->to) {
		(*n)--;
		say("leave", thread, i, run, ev->tick, &v[*n]);
		if (!v[*n].tail)
			break;
	}
}

static int tell(struct rec *r, const struct rec_clock *clk, size_t thread,
		const struct truth_holes *holes)
{
	static struct frame v[DEPTH];
	struct rec_iter *it;
	struct model_event ev;
	uint64_t i = 0, run = 0, first = 0;
	size_t hole = 0;
	unsigned n = 0;
	int err = rec_iter_new(&it, r, thread, clk);

	for (; !err && (err = rec_next(it, &ev)) > 0; i++) {
		err = 0;
		for (; hole < holes->n && holes->h[hole].from <= i; hole++)
			printf("hole %zu %" PRIu64 " %" PRIu64 " %" PRIu64 "\n", thread,
			       holes->h[hole].from, holes->h[hole].to, first);
		if (ev.op != MODEL_RUN)
			continue;
		branch(&ev, thread, i, ++run, v, &n);
		if (is_proof(&ev))
			first = i + 1;
	}
	printf("end %zu %" PRIu64 " %" PRIu64 "\n", thread, i, first);
	rec_iter_free(it);
	return err;
}

static int options(int argc, char **argv, struct rec_clock *clk, struct model_pt_cfg *cfg,
		   const char **dir)
{
	int c;

	while ((c = getopt(argc, argv, "d:t:o:p:s:w:")) != -1) {
		switch (c) {
		case 'd': *dir = optarg; break;
		case 'p': encode_program = optarg; break;
		case 't':
			cfg->tsc = strstr(optarg, "tsc");
			cfg->mtc = strstr(optarg, "mtc");
			cfg->cyc = strstr(optarg, "cyc");
			cfg->mtc_flush = strstr(optarg, "flush");
			break;
		case 'o': cfg->ovf_every = (uint32_t)strtoul(optarg, NULL, 0); break;
		case 's': clk->seed = cfg->seed = strtoull(optarg, NULL, 0); break;
		case 'w':
			if (sscanf(optarg, "%" SCNu32 ":%" SCNu64 ":%" SCNu32, &clk->slow_thread,
				   &clk->slow_run, &clk->slow_ticks) != 3)
				return -1;
			break;
		default: return -1;
		}
	}
	return optind < argc && *dir ? 0 : -1;
}

int main(int argc, char **argv)
{
	static struct truth_holes holes[NTHREAD];
	static struct encode_sum sum;
	struct rec_clock clk = { .start = 1000000, .pause_every = 900, .pause_ticks = 3000,
				 .away_ticks = 4000 };
	/* the TSC of a 24 MHz crystal at 3 GHz */
	struct model_pt_cfg cfg = { .no_kernel = true, .ratio = 30, .retcomp = true,
				    .psb_bytes = 512, .mtc_freq = 3, .ctc_eax = 2,
				    .ctc_ebx = 250 };
	const char *dir = NULL, *why;
	struct rec *r;
	int err;

	if (options(argc, argv, &clk, &cfg, &dir)) {
		fprintf(stderr, "length: wrong usage\n");
		return 2;
	}
	if (rec_open(&r, argv[optind], &why)) {
		fprintf(stderr, "length: %s\n", why);
		return 2;
	}
	nfuncs = argc - optind - 1;
	funcs = calloc((size_t)nfuncs + 1, sizeof(*funcs));
	for (int i = 0; funcs && i < nfuncs; i++)
		funcs[i] = strtoull(argv[optind + 1 + i], NULL, 16);
	err = !funcs || rec_threads(r) > NTHREAD || rec_isa(r) != MODEL_X86_64;
	if (!err)
		err = encode_pt(dir, r, &clk, &cfg, holes, &sum);
	for (size_t i = 0; !err && i < rec_threads(r); i++)
		err = tell(r, &clk, i, &holes[i]);
	for (size_t i = 0; i < NTHREAD; i++)
		free(holes[i].h);
	free(funcs);
	rec_close(r);
	return err ? 2 : 0;
}
