/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A peer reads what the unit wrote: libipt's instruction decoder over the code of a random program
 * must walk the very instructions that ran, under all pairs of options. With return compression
 * only one thread runs: where a RET goes elsewhere, as between threads, libipt keeps its entry on
 * the stack, the manual takes it off (ipt_rets.h).
 */
#if __has_include(<intel-pt.h>)
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <intel-pt.h>

#include "tests/support/ptrun.h"

#define BRANCHES	5000	/* of a program, and row of the table */

static unsigned turns = 4;	/* through the table; the first argument says how many */

static int read_code(uint8_t *buf, size_t size, const struct pt_asid *asid, uint64_t ip, void *arg)
{
	const struct ptprog *p = arg;

	for (unsigned i = 0; i < PTPROG_SEGS; i++) {
		uint64_t off = ip - p->seg[i].addr;

		if (off < p->seg[i].size) {
			size_t n = p->seg[i].size - off;

			n = n < size ? n : size;
			memcpy(buf, p->seg[i].code + off, n);
			return (int)n;
		}
	}
	return -pte_nomap;
}

struct peer {
	const struct ptprog *prog;
	const struct ptrun *run;
	struct pt_insn_decoder *d;
	struct ptprog_cur cur;
	const char *what;
	uint64_t insns, values;
	size_t value;		/* events before this one were compared or are lost */
	unsigned holes;
};

static void wrong(struct peer *p, const char *why, uint64_t a, uint64_t b)
{
	uint64_t off = 0;

	pt_insn_get_offset(p->d, &off);
	fail_msg("%s: %s at byte %llu, event %zu: %llx, not %llx", p->what, why,
		 (unsigned long long)off, p->cur.ev, (unsigned long long)a, (unsigned long long)b);
}

/* Events that leave no packet: the decoder stops where its last packet ends. */
static bool silent(const struct peer *p, size_t from, size_t to)
{
	for (; from < to; from++) {
		const struct model_event *ev = &p->prog->ev[from];

		if (ev->op == MODEL_RUN && ev->insns == ev->block->insns &&
		    ptrun_traced((const void *)ev->block, &p->run->cfg) &&
		    (ev->block->cond || (ev->block->kind != MODEL_JUMP &&
					 ev->block->kind != MODEL_CALL &&
					 (ev->block->kind != MODEL_PTWRITE ||
					  p->run->cfg.ptw) &&
					 ev->block->kind != MODEL_PLAIN)))
			return false;
	}
	return true;
}

/* The flow goes on behind a hole: it must have come to it, and not farther. */
static void over_hole(struct peer *p)
{
	const struct ptrun *r = p->run;
	struct ptprog_cur to;
	uint64_t addr;

	if (p->holes >= r->nlost)
		wrong(p, "a hole too many", p->holes, r->nlost);
	to = (struct ptprog_cur){ .ev = r->lost[p->holes].to };
	ptprog_at(p->prog, &to, ptrun_traced, &r->cfg, &addr);
	ptprog_at(p->prog, &p->cur, ptrun_traced, &r->cfg, &addr);
	if (!silent(p, p->cur.ev, r->lost[p->holes].from) || p->cur.ev > to.ev)
		wrong(p, "hole elsewhere", p->cur.ev, r->lost[p->holes].from);
	p->cur = to;
	p->holes++;
}

/* The next value that was written and not lost. */
static void value(struct peer *p, uint64_t v)
{
	const struct ptrun *r = p->run;
	size_t i = p->value;

	for (unsigned k = 0; i < p->prog->nev; i++) {
		const struct model_event *ev = &p->prog->ev[i];

		while (k < r->nlost && r->lost[k].to <= i)
			k++;
		if (ev->op == MODEL_VALUE && (k == r->nlost || i < r->lost[k].from) &&
		    ptrun_traced((const struct ptprog_block *)ev[-1].block, &r->cfg))
			break;
	}
	if (i == p->prog->nev || p->prog->ev[i].value != v)
		wrong(p, "value", v, i < p->prog->nev ? p->prog->ev[i].value : 0);
	p->value = i + 1;
	p->values++;
}

static void event(struct peer *p, const struct pt_event *ev)
{
	switch (ev->type) {
	case ptev_overflow:
		over_hole(p);
		break;
	case ptev_ptwrite:
		value(p, ev->variant.ptwrite.payload);
		break;
	default: break;
	}
}

static void insn(struct peer *p, const struct pt_insn *in)
{
	uint64_t addr;

	if (!ptprog_at(p->prog, &p->cur, ptrun_traced, &p->run->cfg, &addr))
		wrong(p, "more than ran", in->ip, 0);
	if (in->ip != addr)
		wrong(p, "instruction", in->ip, addr);
	p->cur.k++;
	p->insns++;
}

static void decode(struct peer *p)
{
	struct pt_config c;
	struct pt_image *image = pt_image_alloc(NULL);
	struct pt_insn in = { 0 };
	uint64_t addr;
	int st;

	pt_config_init(&c);
	c.begin = p->run->p;
	c.end = p->run->p + p->run->n;
	c.mtc_freq = p->run->cfg.mtc_freq;
	c.nom_freq = p->run->cfg.ratio;
	c.cpuid_0x15_eax = p->run->cfg.ctc_eax;
	c.cpuid_0x15_ebx = p->run->cfg.ctc_ebx;
	p->d = pt_insn_alloc_decoder(&c);
	assert_non_null(p->d);
	assert_non_null(image);
	pt_image_set_callback(image, read_code, (void *)p->prog);
	assert_int_equal(pt_insn_set_image(p->d, image), 0);
	st = pt_insn_sync_forward(p->d);
	while (st >= 0) {
		while (st >= 0 && st & pts_event_pending) {
			struct pt_event ev;

			st = pt_insn_event(p->d, &ev, sizeof(ev));
			if (st >= 0)
				event(p, &ev);
		}
		if (st < 0 || st & pts_eos)
			break;
		st = pt_insn_next(p->d, &in, sizeof(in));
		if (st >= 0 || in.iclass != ptic_error)
			insn(p, &in);
		in.iclass = ptic_error;
	}
	if (st < 0 && st != -pte_eos)
		wrong(p, pt_errstr(pt_errcode(st)), 0, 0);
	if (p->holes < p->run->nlost)	/* no flow behind the last */
		over_hole(p);
	if (ptprog_at(p->prog, &p->cur, ptrun_traced, &p->run->cfg, &addr))
		wrong(p, "less than ran", 0, addr);
	assert_int_equal(p->holes, p->run->nlost);
	pt_insn_free_decoder(p->d);
	pt_image_free(image);
}

/* Each kind of packet and each form was sent, so each was read. PAD carries nothing. */
static void none_unused(const struct model_pt_count *c)
{
	static const uint8_t ipb[] = { 0, 1, 2, 3, 4, 6 };

	for (unsigned i = 0; i < MODEL_PT_KINDS; i++) {
		printf("# %s %llu\n", model_pt_kind_name(i), (unsigned long long)c->packet[i]);
		assert_true(c->packet[i] || i == MODEL_PT_PAD);
	}
	for (unsigned i = 0; i < sizeof(ipb); i++) {
		printf("# IPBytes %u: %llu\n", ipb[i], (unsigned long long)c->ip[ipb[i]]);
		assert_true(c->ip[ipb[i]] > 0);
	}
	printf("# %llu branches, %llu returns, %llu compressed, %llu TIPs deferred, %llu MTCs over "
	       "a TNT, %llu asynchronous, %llu PSB+ while off, %llu sleeps, %llu events lost\n",
	       (unsigned long long)c->branches, (unsigned long long)c->returns,
	       (unsigned long long)c->compressed, (unsigned long long)c->deferred,
	       (unsigned long long)c->kept, (unsigned long long)c->async,
	       (unsigned long long)c->psb_off, (unsigned long long)c->sleeps,
	       (unsigned long long)c->lost);
	assert_true(c->compressed && c->compressed < c->returns && c->deferred && c->kept);
	assert_true(c->async && c->psb_off && c->sleeps && c->lost);
	assert_int_equal(c->jumps, 0);
}

static void all_pairs(void **state)
{
	static struct pairs pairs;
	struct model_pt_count sum = { 0 };
	struct ptrun run = { 0 };
	uint64_t insns = 0, branches = 0;
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
		pc.unseen = i % 3 == 1 && !cfg.no_user;
		pc.one_thread = cfg.retcomp;
		if (cfg.retcomp)	/* calls and returns that are not traced do not match */
			cfg.nranges = 0;
		pc.no_context = i % 6 == 1 && pc.unseen;
		assert_int_equal(ptprog_make(&prog, &pc), 0);
		ptrun_ranges(&cfg, &prog);
		if (ptrun_encode(&run, &prog, &cfg))
			fail_msg("%s: not encoded", what);
		struct peer p = { .prog = &prog, .run = &run, .what = what };

		decode(&p);
		insns += p.insns;
		branches += prog.branches;
		ptrun_sum(&sum, &run.count);
		if (i < pairs.nrows)
			printf("# %2u %s: %llu instructions, %zu bytes, %u holes\n", row, what,
			       (unsigned long long)p.insns, run.n, run.nlost);
		ptprog_free(&prog);
	}
	ptrun_free(&run);
	printf("# %u rows, %u turns, %llu branches, %llu instructions\n", pairs.nrows, turns,
	       (unsigned long long)branches, (unsigned long long)insns);
	none_unused(&sum);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(all_pairs) };

	if (argc > 1)
		turns = (unsigned)strtoul(argv[1], NULL, 0);

	return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
#include <stdio.h>

int main(void)
{
	printf("no libipt on this machine\n");
	return 77;
}
#endif
