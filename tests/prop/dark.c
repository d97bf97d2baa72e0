/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Random programs and their kernel; Intel PT of the programs alone by the software unit; records
 * that the kernel wrote meanwhile, some of them lost. Times of the programs' code that the records
 * narrow must still hold when it ran, none may be wider than before, and a thread that is told must
 * be the one that ran. Where the records' clock is another one than was said, nothing may be used.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/uapi.h>

#include "correlate/anchor_dark.h"
#include "correlate/bound.h"
#include "tests/support/evlist.h"
#include "tests/support/numbers.h"
#include "tests/support/ptflow.h"
#include "tests/support/ptrun.h"

#define CPU	3	/* of ptflow_init() */

struct row {
	const char *name;
	int mtc_freq;		/* -1: TSC in PSB+ alone */
	uint32_t psb, ovf;	/* bytes; events between overflows, 0: none */
	unsigned each;		/* kernel blocks to a record, about */
	unsigned lose;		/* records of 1000 that are lost, and said to be */
	int64_t skew;		/* ticks that records are off, which nobody said */
	bool switches;		/* records of switches are kept */
	bool pauses;
};

static const struct row rows[] = {
	{ "TSC, MTC", 3, 4096, 0, 2, 0, 0, true, false },
	{ "TSC, MTC, few records", 3, 4096, 0, 50, 0, 0, true, false },
	{ "coarse MTC, long pauses", 6, 4096, 0, 2, 0, 0, true, true },
	{ "TSC", -1, 2048, 0, 2, 0, 0, true, false },
	{ "TSC, switches only", -1, 2048, 0, 1u << 30, 0, 0, true, true },
	{ "TSC, holes, 5 % lost", -1, 2048, 5000, 2, 50, 0, true, false },
	{ "MTC, holes, half lost", 3, 4096, 5000, 2, 500, 0, true, true },
	{ "MTC, another clock", 3, 4096, 0, 2, 0, 200000, true, false },
};

struct run {
	const struct row *row;
	struct ptprog prog;
	struct ptrun pt;
	struct ptflow f;
	struct hwt_event *kernel;
	union rec { struct hwt_rec_sched_switch sw; struct hwt_rec_sched_wakeup wake;
		struct hwt_rec_stream_lost lost; } *rec;
	size_t nkernel;
	uint64_t x;
	int32_t *tid;		/* of each event: who ran */
};

struct figures {
	struct numbers before, after;	/* widths of times, one an event */
	uint64_t events, narrowed, unknown, told, switches, records, several, wrong;
	uint64_t contradictions;
};

static uint64_t rnd(struct run *r, uint64_t n)
{
	r->x ^= r->x << 13;
	r->x ^= r->x >> 7;
	r->x ^= r->x << 17;
	return r->x % n;
}

static void put(struct run *r, uint64_t tick, unsigned id, int32_t prev, int32_t next)
{
	union rec *rec = &r->rec[r->nkernel];
	struct hwt_event *ev = &r->kernel[r->nkernel++];
	size_t size = id == HWT_ID_sched_switch ? sizeof(rec->sw) :
		id == HWT_ID_stream_lost ? sizeof(rec->lost) : sizeof(rec->wake);

	rec->sw.rec = (struct hwt_rec){ .id = (uint16_t)id, .size = (uint16_t)size, .version = 1 };
	if (id == HWT_ID_sched_switch) {
		rec->sw.next_pid = rec->sw.next_tid = next;
		rec->sw.prev_pid = rec->sw.prev_tid = prev;
	}
	*ev = (struct hwt_event){ .type = HWT_EV_RECORD, .cpu = CPU, .pid = prev, .tid = prev,
		.time = (uint64_t)((int64_t)tick + r->row->skew) };
	ev->u.rec.id = id;
	ev->u.rec.data = rec;
	ev->u.rec.size = (uint32_t)size;
}

static bool in_kernel(const struct model_event *m)
{
	return m->op == MODEL_RUN && !((const struct ptprog_block *)m->block)->level;
}

/* Threads are told by their address space, from 1 on. */
static void make_records(struct run *r)
{
	uint64_t spaces[PTPROG_THREADS];
	unsigned nspaces = 0;
	int32_t now = HWT_NONE;
	bool lost = false;

	for (size_t i = 0; i < r->prog.nev; i++) {
		const struct model_event *m = &r->prog.ev[i];
		int32_t next = now;
		unsigned k = 0;

		if (m->op == MODEL_CONTEXT) {
			while (k < nspaces && spaces[k] != m->ctx.aspace)
				k++;
			if (k == nspaces)
				spaces[nspaces++] = m->ctx.aspace;
			next = (int32_t)k + 1;
		}
		r->tid[i] = next;
		if ((next == now || !r->row->switches) && (!in_kernel(m) || rnd(r, r->row->each)))
			continue;
		if (rnd(r, 1000) < r->row->lose) {
			lost = true;
		} else {
			if (lost)
				put(r, m->tick, HWT_ID_stream_lost, HWT_NONE, 0);
			put(r, m->tick, next != now ? HWT_ID_sched_switch : HWT_ID_sched_waking,
			    now, next);
			lost = false;
		}
		now = next;
	}
}

static struct hwt_stream *flow(struct run *r)
{
	struct flow_args a = { .want = &r->f.want, .buf = &r->f.buf, .image = r->f.image,
		.machine = r->f.machine, .tsc = &r->f.tsc };
	struct hwt_stream *s;

	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	assert_int_equal(bound_new(&s, &r->f.want, s, true), 0);
	return s;
}

/* The code of @ev ran from the end of block @c->ev - 1 to that of where the cursor is then. */
static void see(struct run *r, struct figures *f, struct ptprog_cur *c,
		const struct hwt_event *ev, const struct hwt_event *was)
{
	uint64_t addr = 0, lo, hi = 0, wide;

	assert_true(ptprog_at(&r->prog, c, ptrun_traced, &r->pt.cfg, &addr));
	lo = r->prog.ev[c->ev].tick;
	assert_int_equal(addr, ev->u.range.first);
	if (ev->tid != HWT_NONE) {
		f->told++;
		f->wrong += ev->tid != r->tid[c->ev];
	}
	for (uint32_t i = 0; i < ev->u.range.insns; i++) {
		assert_true(ptprog_at(&r->prog, c, ptrun_traced, &r->pt.cfg, &addr));
		hi = c->ev ? r->prog.ev[c->ev - 1].tick : 0;
		c->k++;
	}
	f->events++;
	if (ev->time == HWT_TIME_UNKNOWN || anchor_end(ev) == HWT_TIME_UNKNOWN) {
		f->unknown++;
		return;
	}
	/* the first of it was over at @lo at the latest, the last began at @hi at the soonest */
	if (ev->time > lo || anchor_end(ev) < hi)
		fail_msg("%s: %llu+%u does not hold %llu to %llu", r->row->name,
			 (unsigned long long)ev->time, ev->span, (unsigned long long)lo,
			 (unsigned long long)hi);
	wide = was->span;
	if (was->time == HWT_TIME_UNKNOWN || was->span == HWT_SPAN_UNKNOWN)
		wide = ev->span;
	else if (ev->time < was->time || anchor_end(ev) > anchor_end(was))
		fail_msg("%s: a time got wider", r->row->name);
	f->narrowed += ev->span < wide;
	numbers_add(&f->before, wide);
	numbers_add(&f->after, ev->span);
}

static void hole(struct run *r, struct ptprog_cur *c, unsigned *n)
{
	assert_true(*n < r->pt.nlost);
	*c = (struct ptprog_cur){ .ev = r->pt.lost[(*n)++].to };
}

static void compare(struct run *r, struct figures *f)
{
	struct hwt_event out[64], was[64];
	struct ptprog_cur c = { 0 };
	struct anchor_book *book;
	struct hwt_stream *a, *b;
	unsigned holes = 0;
	int n = 0, m;

	assert_int_equal(dark_book_new(&book, flow(r), evlist(r->kernel, r->nkernel), CPU,
				       HWT_NONE), 0);
	f->records += anchor_book_sum(book)->certain;
	f->several += anchor_book_sum(book)->possible;
	f->contradictions += anchor_book_sum(book)->contradictions;
	assert_int_equal(anchor_flow_new(&a, book, flow(r)), 0);
	b = flow(r);
	while ((m = hwt_stream_next(b, was, 64)) > 0) {
		n = hwt_stream_next(a, out, m);
		assert_int_equal(n, m);
		for (int i = 0; i < n; i++) {
			assert_int_equal(out[i].off, was[i].off);
			if (out[i].type == HWT_EV_GAP)
				hole(r, &c, &holes);
			else if (out[i].type == HWT_EV_RANGE)
				see(r, f, &c, &out[i], &was[i]);
		}
	}
	assert_int_equal(m, 0);
	hwt_stream_close(a);
	hwt_stream_close(b);
}

static void one(const struct row *row, uint64_t seed, struct figures *f)
{
	struct ptprog_cfg pc = { .seed = seed, .branches = 60000, .pauses = row->pauses };
	struct model_pt_cfg cfg = { .seed = seed, .psb_bytes = row->psb, .tsc = true,
		.mtc = row->mtc_freq >= 0, .no_kernel = true,
		.mtc_freq = (uint8_t)(row->mtc_freq >= 0 ? row->mtc_freq : 0),
		.ctc_eax = 2, .ctc_ebx = 250, .ratio = 30, .ovf_every = row->ovf };
	struct run r = { .row = row, .x = seed * 0x9e3779b97f4a7c15 + 1 };

	assert_int_equal(ptprog_make(&r.prog, &pc), 0);
	assert_int_equal(ptrun_encode(&r.pt, &r.prog, &cfg), 0);
	r.kernel = numbers_room(2 * r.prog.nev, sizeof(*r.kernel));
	r.rec = numbers_room(2 * r.prog.nev, sizeof(*r.rec));
	r.tid = numbers_room(r.prog.nev, sizeof(*r.tid));
	make_records(&r);
	ptflow_init(&r.f);
	r.f.tsc.mult = 1;	/* a tick is a ns */
	r.f.cfg.r.pt.mtc_freq = cfg.mtc_freq;
	r.f.cfg.r.pt.nom_freq = cfg.ratio;
	r.f.cfg.r.pt.cpuid_15_eax = cfg.ctc_eax;
	r.f.cfg.r.pt.cpuid_15_ebx = cfg.ctc_ebx;
	for (unsigned i = 0; i < PTPROG_SEGS; i++)
		assert_int_equal(image_add_bytes(r.f.image, HWT_NONE, 0, r.prog.seg[i].addr,
						 r.prog.seg[i].code, r.prog.seg[i].size, "test"),
				 0);
	ptflow_span(&r.f, r.pt.p, r.pt.n);
	compare(&r, f);
	ptflow_fini(&r.f);
	free(r.kernel);
	free(r.rec);
	free(r.tid);
	ptrun_free(&r.pt);
	ptprog_free(&r.prog);
}

static void dark(void **state)
{
	(void)state;
	for (size_t k = 0; k < sizeof(rows) / sizeof(rows[0]); k++) {
		struct figures f = { 0 };

		for (uint64_t seed = 1; seed <= 3; seed++)
			one(&rows[k], seed, &f);
		printf("%s: %llu records of one dark time, %llu of several; width of a time: "
		       "median %llu, now %llu; 90 %% %llu, now %llu; mean %.0f, now %.0f; %llu "
		       "of %llu narrower; thread told of %llu, wrong of %llu\n", rows[k].name,
		       (unsigned long long)f.records, (unsigned long long)f.several,
		       (unsigned long long)numbers_share(&f.before, 500),
		       (unsigned long long)numbers_share(&f.after, 500),
		       (unsigned long long)numbers_share(&f.before, 900),
		       (unsigned long long)numbers_share(&f.after, 900), numbers_mean(&f.before),
		       numbers_mean(&f.after),
		       (unsigned long long)f.narrowed, (unsigned long long)f.events,
		       (unsigned long long)f.told, (unsigned long long)f.wrong);
		assert_int_equal(f.wrong, 0);
		if (rows[k].skew) {
			assert_true(f.contradictions);
			assert_int_equal(f.narrowed, 0);
		} else {
			assert_int_equal(f.contradictions, 0);
			assert_true(f.narrowed);
		}
		free(f.before.v);
		free(f.after.v);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(dark) };

	if (ptflow_missing())
		return 77;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
