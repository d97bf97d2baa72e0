/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A kernel that rewrites its code while a CPU runs it, as Linux' text_poke_bp() does: a breakpoint
 * at the first byte, then the rest, then the first byte; what runs over the breakpoint is made by
 * its handler (NOP, JMP, CALL). The patch is told between the breakpoint and the new first byte.
 *
 * Truth: a CPU that is simulated here, instruction by instruction, with its ticks; the trace is
 * that of the software unit. Flow must be what ran outside of bad-image holes, and where times are
 * exact enough there are none.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../hwtrace/model/pt.h"
#include "../../../support/ptflow.h"

#define CODE	0xffffffff81000000	/* parts, PART bytes each */
#define PARTS	4
#define PART	0x100
#define SITE	1		/* what is rewritten: 5 bytes, in each part */
#define MORE	0x10		/* where all ways of a part meet */
#define OTHER	0x40		/* of a jump */
#define FUNC	0x60		/* two functions, FUNC_SIZE apart */
#define FUNC_SIZE 0x10
#define HANDLER	(CODE + 0x1000)
#define ROUNDS	60000
#define PATCHES	200
#define ZERO	1000000		/* ns of tick 0 */

enum what { NOP, JMP, CALL0, CALL1, KINDS };

struct step { uint64_t addr, tick; };

struct cpu {
	uint64_t seed, tick, next_patch;
	enum what now[PARTS], then[PARTS];
	uint64_t int3_at[PARTS], new_at[PARTS];	/* the breakpoint is there between both */
	unsigned npatches, traps, part;
	struct step *ran;
	size_t nran;
	struct model_pt *pt;
	struct ptflow *f;
	uint8_t *trace;
	size_t ntrace, room;
};

static uint32_t rnd(struct cpu *c, uint32_t n)
{
	uint64_t z = c->seed += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return (uint32_t)((z ^ z >> 31) % n);
}

static void site_bytes(uint8_t p[5], enum what what)
{
	static const uint8_t nop[5] = { 0x0f, 0x1f, 0x44, 0, 0 };
	int32_t rel = what == JMP ? OTHER : what == CALL0 ? FUNC : FUNC + FUNC_SIZE;

	memcpy(p, nop, 5);
	if (what == NOP)
		return;
	rel -= SITE + 5;
	p[0] = what == JMP ? 0xe9 : 0xe8;
	memcpy(p + 1, &rel, 4);
}

/* Little-endian distance of a JMP rel32 at @at. */
static void jump(uint8_t *code, unsigned at, int32_t to)
{
	int32_t rel = to - (int32_t)at - 5;

	code[at] = 0xe9;
	memcpy(code + at + 1, &rel, 4);
}

static void write_code(struct ptflow *f)
{
	static const uint8_t handler[] = { 0x90, 0x48, 0xcf };	/* NOP; IRETQ */

	for (unsigned i = 0; i < PARTS; i++) {
		uint8_t b[PART];

		memset(b, 0x90, sizeof(b));
		site_bytes(b + SITE, NOP);
		b[6] = 0x75;			/* JNE MORE */
		b[7] = MORE - 8;
		jump(b, MORE, i + 1 < PARTS ? PART : -(int)(PARTS - 1) * PART);
		b[OTHER + 1] = 0x75;		/* JNE to the next instruction */
		b[OTHER + 2] = 0;
		jump(b, OTHER + 3, MORE);
		b[FUNC + 1] = 0x75;
		b[FUNC + 2] = 1;
		b[FUNC + 4] = 0xc3;
		b[FUNC + FUNC_SIZE + 2] = 0xc3;
		assert_int_equal(image_add_bytes(f->image, HWT_NONE, 0, CODE + i * PART, b,
						 sizeof(b), NULL), 0);
	}
	assert_int_equal(image_add_bytes(f->image, HWT_NONE, 0, HANDLER, handler,
					 sizeof(handler), NULL), 0);
}

static int put(void *arg, const void *p, size_t n)
{
	struct cpu *c = arg;

	if (c->ntrace + n > c->room) {
		c->room = 2 * (c->ntrace + n);
		c->trace = realloc(c->trace, c->room);
		assert_non_null(c->trace);
	}
	memcpy(c->trace + c->ntrace, p, n);
	c->ntrace += n;
	return 0;
}

/* Blocks stay for the unit; there are few different ones. */
static const struct model_block *block(const uint64_t *addr, unsigned n, unsigned kind, bool cond,
				       uint64_t target, unsigned last_size)
{
	static struct model_block all[256];
	static unsigned have;
	struct model_block b = { .first = addr[0], .last = addr[n - 1], .target = target,
		.insns = n, .last_size = (uint8_t)last_size, .isa = MODEL_X86_64,
		.kind = (uint8_t)kind, .cond = cond };
	unsigned i = 0;

	while (i < have && memcmp(&all[i], &b, sizeof(b)))
		i++;
	if (i == have) {
		assert_true(have < 256);
		memcpy(&all[have++], &b, sizeof(b));
	}
	return &all[i];
}

/* @n instructions, the last one of @kind, to @to; a block that ends early has kind PLAIN. */
static void run(struct cpu *c, const uint64_t *addr, unsigned n, unsigned kind, int cond,
		uint64_t target, unsigned last_size, uint64_t to)
{
	struct model_event ev = { .op = MODEL_RUN, .insns = n, .to = to };

	c->tick += n + rnd(c, 4);
	for (unsigned i = 0; i < n; i++)
		c->ran[c->nran++] = (struct step){ addr[i], c->tick };
	ev.block = block(addr, n, kind, cond >= 0, target, last_size);
	ev.taken = cond > 0 || (kind != MODEL_PLAIN && cond < 0);
	ev.tick = c->tick;
	assert_int_equal(model_pt_put(c->pt, &ev), 0);
}

static void trap(struct cpu *c, uint64_t from, uint64_t to)
{
	struct model_event ev = { .op = MODEL_TRAP, .from = from, .to = HANDLER,
		.tick = ++c->tick };
	const uint64_t h[2] = { HANDLER, HANDLER + 1 };

	assert_int_equal(model_pt_put(c->pt, &ev), 0);
	c->tick += rnd(c, 40);
	run(c, h, 2, MODEL_FAR_RETURN, -1, MODEL_NO_ADDR, 2, to);
	c->traps++;
}

static void call_func(struct cpu *c, uint64_t base, unsigned which)
{
	uint64_t a = base + FUNC + which * FUNC_SIZE, back = base + SITE + 5;
	const uint64_t plain[3] = { a, a + 1, a + 2 };

	if (which) {
		run(c, plain, 3, MODEL_RETURN, -1, MODEL_NO_ADDR, 1, back);
	} else {
		const uint64_t ret[2] = { a + 3, a + 4 };
		bool over = rnd(c, 2);

		run(c, plain, 2, MODEL_JUMP, over, a + 4, 2, over ? a + 4 : a + 3);
		run(c, ret + over, 2 - over, MODEL_RETURN, -1, MODEL_NO_ADDR, 1, back);
	}
}

/* From behind the site on, or the way of the jump, to where both meet. */
static void rest(struct cpu *c, uint64_t base, bool jumped, const uint64_t *before, unsigned n)
{
	uint64_t a[16];
	bool taken = rnd(c, 2);

	memcpy(a, before, n * sizeof(*a));
	if (jumped) {
		a[0] = base + OTHER;
		a[1] = base + OTHER + 1;
		run(c, a, 2, MODEL_JUMP, taken, base + OTHER + 3, 2, base + OTHER + 3);
		a[0] = base + OTHER + 3;
		run(c, a, 1, MODEL_JUMP, -1, base + MORE, 5, base + MORE);
		return;
	}
	a[n++] = base + 6;
	run(c, a, n, MODEL_JUMP, taken, base + MORE, 2, taken ? base + MORE : base + 8);
	n = 0;
	if (!taken)
		while (n < MORE - 8)
			a[n] = base + 8 + n, n++;
	if (n)
		run(c, a, n, MODEL_PLAIN, -1, MODEL_NO_ADDR, 1, base + MORE);
}

static void part(struct cpu *c)
{
	unsigned i = c->part;
	uint64_t base = CODE + i * PART, site = base + SITE, a[2] = { base, site };
	uint64_t next = CODE + (i + 1) % PARTS * PART, more = base + MORE, to;
	enum what w;

	if (c->new_at[i] && c->tick >= c->new_at[i]) {
		c->now[i] = c->then[i];
		c->new_at[i] = c->int3_at[i] = 0;
	}
	w = c->now[i];
	if (c->int3_at[i] && c->tick >= c->int3_at[i]) {
		/* it makes what comes, whether the rest is written yet or not */
		w = c->then[i];
		to = w == NOP ? site + 5 : w == JMP ? base + OTHER :
			base + FUNC + (w == CALL1) * FUNC_SIZE;
		run(c, a, 1, MODEL_PLAIN, -1, MODEL_NO_ADDR, 1, MODEL_NO_ADDR);
		trap(c, site, to);
		if (w == CALL0 || w == CALL1)
			call_func(c, base, w == CALL1);
		rest(c, base, w == JMP, a, 0);
	} else if (w == CALL0 || w == CALL1) {
		run(c, a, 2, MODEL_CALL, -1, base + FUNC + (w == CALL1) * FUNC_SIZE, 5,
		    base + FUNC + (w == CALL1) * FUNC_SIZE);
		call_func(c, base, w == CALL1);
		rest(c, base, false, a, 0);
	} else if (w == JMP) {
		run(c, a, 2, MODEL_JUMP, -1, base + OTHER, 5, base + OTHER);
		rest(c, base, true, a, 0);
	} else {
		rest(c, base, false, a, 2);
	}
	run(c, &more, 1, MODEL_JUMP, -1, next, 5, next);
	c->part = (i + 1) % PARTS;
}

/* Somebody elsewhere begins to rewrite a site; all CPUs know of each step before the next. */
static void patch(struct cpu *c)
{
	unsigned i = rnd(c, PARTS);
	uint64_t told;
	uint8_t b[5];

	if (c->new_at[i] || c->tick < c->next_patch || c->npatches == PATCHES)
		return;
	do
		c->then[i] = (enum what)rnd(c, KINDS);
	while (c->then[i] == c->now[i]);
	c->int3_at[i] = c->tick + 1;
	told = c->int3_at[i] + 600 + rnd(c, 400);
	c->new_at[i] = told + 600 + rnd(c, 400);
	site_bytes(b, c->then[i]);
	assert_int_equal(image_add_bytes(c->f->image, HWT_NONE, ZERO + told, CODE + i * PART + SITE,
					 b, 5, NULL), 0);
	c->next_patch = c->tick + 1000 + rnd(c, 3000);
	c->npatches++;
}

static void simulate(struct cpu *c, const struct model_pt_cfg *cfg)
{
	const struct model_out out = { .put = put, .arg = c };
	struct model_event ev = { .op = MODEL_CONTEXT, .ctx = { .aspace = 0x1000,
		.isa = MODEL_X86_64, .valid = 5 } };

	c->tick = 1000;
	c->ran = calloc(ROUNDS, 32 * sizeof(*c->ran));
	assert_non_null(c->ran);
	assert_int_equal(model_pt_new(&c->pt, cfg, &out), 0);
	ev.tick = c->tick;
	assert_int_equal(model_pt_put(c->pt, &ev), 0);
	for (unsigned n = 0; n < ROUNDS; n++) {
		patch(c);
		part(c);
	}
	assert_int_equal(model_pt_end(c->pt), 0);
	model_pt_free(c->pt);
}

struct found {
	uint64_t insns, holes, skipped, outside;
	bool behind;		/* a hole: flow goes on at a place that only its time tells */
	size_t at;
};

static void range(const struct cpu *c, struct found *o, const struct hwt_event *ev)
{
	uint64_t first = ev->u.range.first, hi = ev->time + ev->span - ZERO;
	size_t n = ev->u.range.insns;

	for (; o->behind && o->at < c->nran; o->at++, o->skipped++)
		if (c->ran[o->at].addr == first && c->ran[o->at].tick + ZERO >= ev->time)
			break;
	o->behind = false;
	if (o->at + n > c->nran)
		fail_msg("%llx and %zu more were decoded behind the end",
			 (unsigned long long)first, n - 1);
	if (c->ran[o->at].addr != first || c->ran[o->at + n - 1].addr != ev->u.range.last)
		fail_msg("at tick %llu, instruction %zu: ran %llx to %llx, decoded %llx to %llx",
			 (unsigned long long)c->ran[o->at].tick, o->at,
			 (unsigned long long)c->ran[o->at].addr,
			 (unsigned long long)c->ran[o->at + n - 1].addr, (unsigned long long)first,
			 (unsigned long long)ev->u.range.last);
	o->at += n;
	o->insns += n;
	o->outside += ev->time > ZERO + c->ran[o->at - 1].tick ||
		(ev->span != HWT_SPAN_UNKNOWN && hi < c->ran[o->at - n].tick);
}

static struct found decode(struct cpu *c, unsigned level)
{
	struct hwt_interest want = { .level = level, .time_hi = HWT_TIME_UNKNOWN };
	struct flow_args a = { .want = &want, .buf = &c->f->buf, .image = c->f->image,
		.machine = c->f->machine, .tsc = &c->f->tsc };
	struct found o = { 0 };
	struct hwt_event ev[64];
	struct hwt_stream *s;
	int n;

	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	while ((n = hwt_stream_next(s, ev, 64)) > 0) {
		for (int i = 0; i < n; i++) {
			if (ev[i].type == HWT_EV_RANGE)
				range(c, &o, &ev[i]);
			if (ev[i].type != HWT_EV_GAP)
				continue;
			if (ev[i].u.gap.cause != HWT_GAP_BAD_IMAGE)
				fail_msg("a hole: %s",
					 hwt_gap_name((unsigned)ev[i].u.gap.cause));
			o.behind = true;
			o.holes++;
		}
	}
	assert_int_equal(n, 0);
	hwt_stream_close(s);
	return o;
}

static void one(const char *name, struct model_pt_cfg cfg, unsigned holes, unsigned percent)
{
	struct ptflow f;
	struct found o;
	struct cpu c = { .seed = 7 + cfg.psb_bytes, .f = &f };

	ptflow_init(&f);
	f.tsc = (struct time_map){ .zero = ZERO, .mult = 1 };
	cfg.tsc = true;
	cfg.ctc_eax = 2;
	cfg.ctc_ebx = 250;
	cfg.ratio = 30;
	f.cfg.r.pt.mtc_freq = cfg.mtc_freq;
	f.cfg.r.pt.nom_freq = 30;
	f.cfg.r.pt.cpuid_15_eax = 2;
	f.cfg.r.pt.cpuid_15_ebx = 250;
	write_code(&f);
	simulate(&c, &cfg);
	ptflow_span(&f, c.trace, c.ntrace);
	o = decode(&c, HWT_LEVEL_RANGES);
	printf("# %s: %u patches, %u breakpoints that ran, %zu instructions, %llu decoded, %llu "
	       "holes, %llu outside of their time\n", name, c.npatches, c.traps, c.nran,
	       (unsigned long long)o.insns, (unsigned long long)o.holes,
	       (unsigned long long)o.outside);
	assert_int_equal(c.npatches, PATCHES);
	assert_true(c.traps > PATCHES);
	assert_true(o.holes <= holes);
	assert_true(o.insns >= c.nran / 100 * percent);
	assert_int_equal(o.outside, 0);
	assert_int_equal(decode(&c, HWT_LEVEL_HOLES).holes, o.holes);
	free(c.ran);
	free(c.trace);
	ptflow_fini(&f);
}

/* Packets are close to each other: flow is never where two versions are possible. */
static void exact(void **state)
{
	(void)state;
	one("cycles", (struct model_pt_cfg){ .cyc = true, .mtc = true, .mtc_freq = 3,
		.psb_bytes = 2048 }, 0, 99);
	one("cycles, returns compressed", (struct model_pt_cfg){ .cyc = true, .mtc = true,
		.mtc_freq = 3, .psb_bytes = 2048, .retcomp = true, .ret_clear = true }, 0, 99);
	one("MTC", (struct model_pt_cfg){ .mtc = true, .mtc_freq = 0, .psb_bytes = 2048 }, 0, 99);
}

/* They are not: it is said, and what is shown is right. */
static void coarse(void **state)
{
	(void)state;
	one("one MTC in 16000 ticks", (struct model_pt_cfg){ .mtc = true, .mtc_freq = 7,
		.psb_bytes = 512 }, PATCHES, 20);
	one("one TSC in 256 bytes", (struct model_pt_cfg){ .psb_bytes = 256 }, PATCHES, 20);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(exact), cmocka_unit_test(coarse) };

	return ptflow_missing() ? 77 : cmocka_run_group_tests(tests, NULL, NULL);
}
