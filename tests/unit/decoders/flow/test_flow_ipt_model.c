/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A program that really ran: single steps say which instructions, an encoder written from the
 * manual makes the packets of it, and flow must find the same instructions, all and in order.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <elf.h>
#include <fcntl.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../../../correlate/bound.h"
#include "../../../../correlate/clock/widen.h"
#include "../../../../hwtrace/source/file.h"
#include "../../../../hwtrace/time/fit.h"
#include "../../../support/ptflow.h"
#include "../../../support/ptmodel.h"
#include "../../../support/simclock.h"

#define PROGRAM	"fixtures/captures/demo/in/demo"
#define MAX_RUN	(1U << 20)	/* instructions */
#define TURNS	30

static uint64_t *ran;
static size_t nran;
static struct file *elf;
static uint8_t *trace;
static struct time_fit *fitted;	/* of the counter to another clock; NULL: none */

static int step_all(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		return -1;
	while (WIFSTOPPED(status) && nran < MAX_RUN) {
		struct user_regs_struct regs;
		struct iovec iov = { &regs, sizeof(regs) };

		if (ptrace(PTRACE_GETREGSET, pid, (void *)(uintptr_t)NT_PRSTATUS, &iov))
			return -1;
#ifdef __x86_64__
		ran[nran++] = regs.rip;
#endif
		if (ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) ||
		    waitpid(pid, &status, 0) != pid)
			return -1;
	}
	return nran ? 0 : -1;
}

/* 0, or -1 if the system does not let us see a program run. */
static int observe(void)
{
	pid_t pid = fork();

	if (pid < 0)
		return -1;
	if (!pid) {
		int null = open("/dev/null", O_WRONLY);

		dup2(null, 1);
		dup2(null, 2);
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(77);
		execl(PROGRAM, PROGRAM, (char *)NULL);
		_exit(127);
	}
	return step_all(pid);
}

struct addrs {
	uint64_t *v;
	uint64_t *lo, *hi;	/* ticks of each; NULL: not asked for */
	size_t n, holes;
};

static void expand(struct addrs *l, struct ptflow *f, const struct hwt_event *ev)
{
	struct hwt_where w = { .pid = HWT_NONE, .time = HWT_TIME_UNKNOWN };
	uint64_t at = ev->u.range.first;
	struct hwt_insn in;

	for (uint32_t i = 0; i < ev->u.range.insns; i++, at += in.size) {
		uint8_t buf[16];
		int n = hwt_image_read(f->image, &w, at, buf, sizeof(buf));

		assert_true(n > 0);
		assert_int_equal(hwt_insn_decode(&in, ev->u.range.isa, at, buf, (size_t)n), 0);
		assert_true(l->n < MAX_RUN);
		if (l->lo) {
			l->lo[l->n] = ev->time;
			l->hi[l->n] = ev->span == HWT_SPAN_UNKNOWN ? HWT_TIME_UNKNOWN :
				ev->time + ev->span;
		}
		l->v[l->n++] = at;
	}
}

/* Encodes what ran as @m says and walks it again. */
static void walk(struct addrs *l, const struct ptmodel *m, const struct hwt_interest *want)
{
	struct ptmodel model = *m;
	struct hwt_event ev[64];
	struct flow_args a = { 0 };
	struct hwt_stream *s;
	struct ptflow f;
	struct model_pt_buf e;
	size_t where = 0;
	int n;

	model.elf = elf->p;
	model.elf_size = elf->size;
	model.addr = ran;
	model.n = nran;
	model_pt_init(&e, trace, MAX_RUN);
	assert_int_equal(ptmodel_encode(&model, &e, &where), 0);
	assert_false(e.full);
	ptflow_init(&f);
	f.want = *want;
	f.cfg.r.pt.mtc_freq = PTMODEL_MTC_FREQ;
	f.cfg.r.pt.cpuid_15_eax = f.cfg.r.pt.cpuid_15_ebx = 1;
	f.cfg.r.pt.nom_freq = 30;
	assert_int_equal(image_add_elf(f.image, HWT_NONE, PROGRAM, HWT_NO_ADDR, NULL), 0);
	ptflow_span(&f, trace, e.n);
	f.tsc.fit = fitted;
	a = (struct flow_args){ .want = &f.want, .buf = &f.buf, .image = f.image,
		.machine = f.machine, .tsc = &f.tsc };
	l->n = l->holes = 0;
	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	assert_int_equal(bound_new(&s, want, s, true), 0);
	if (fitted)
		assert_int_equal(widen_new(&s, fitted, s), 0);
	while ((n = hwt_stream_next(s, ev, 64)) > 0) {
		for (int i = 0; i < n; i++) {
			l->holes += ev[i].type == HWT_EV_GAP;
			if (ev[i].type == HWT_EV_RANGE)
				expand(l, &f, &ev[i]);
		}
	}
	assert_int_equal(n, 0);
	hwt_stream_close(s);
	ptflow_fini(&f);
}

static void test_all_found_again(void **state)
{
	static const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	struct addrs l = { .v = malloc(MAX_RUN * sizeof(*l.v)) };
	struct ptmodel m = { 0 };

	assert_non_null(l.v);
	for (unsigned i = 0; i < 16; i++) {
		m.psb_every = (size_t[]){ 0, 1000, 100, 7 }[i & 3];
		m.timed = i & 4;
		m.retcomp = i & 8;
		m.tsc = 1000;
		walk(&l, &m, &want);
		assert_int_equal(l.holes, 0);
		assert_int_equal(l.n, nran);
		assert_memory_equal(l.v, ran, nran * sizeof(*ran));
	}
	free(l.v);
}

/* An overflow swallows a stretch: one hole, all before and all after it. */
static void test_overflow(void **state)
{
	static const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	struct addrs l = { .v = malloc(MAX_RUN * sizeof(*l.v)) };

	assert_non_null(l.v);
	for (size_t k = 1; k < 18; k++) {
		struct ptmodel m = { .psb_every = 300 };
		size_t before = 0, after = 0;

		m.lost_from = nran * k / 21;
		m.lost_to = m.lost_from + 37;
		walk(&l, &m, &want);
		assert_int_equal(l.holes, 1);
		while (before < l.n && l.v[before] == ran[before])
			before++;
		assert_true(before <= m.lost_to);
		/* the rest lines up with the end */
		while (before + after < l.n &&
		       l.v[l.n - 1 - after] == ran[nran - 1 - after])
			after++;
		if (before + after != l.n)
			print_message("lost %zu: %zu + %zu of %zu\n", m.lost_from, before, after,
				      l.n);
		assert_int_equal(before + after, l.n);
	}
	free(l.v);
}

/* The longest way round that the program went, over and over. */
static uint64_t *make_long(size_t *size)
{
	size_t from = 0, to = 0, at = 0;
	uint64_t *v;

	for (size_t i = 0; i < nran; i++)
		for (size_t k = nran - 1; k > i + (to - from); k--)
			if (ran[i] == ran[k])
				from = i, to = k;
	assert_true(to > from);
	*size = nran + (to - from) * (TURNS - 1);
	v = malloc(*size * sizeof(*v));
	assert_non_null(v);
	for (size_t i = 0; i < from; i++)
		v[at++] = ran[i];
	for (size_t i = 0; i < TURNS * (to - from); i++)
		v[at++] = ran[from + i % (to - from)];
	for (size_t i = to; i < nran; i++)
		v[at++] = ran[i];
	return v;
}

/*
 * Mostly a few ticks an instruction, sometimes over several MTC, once over a whole turn of them,
 * which are all sent: the manual does not expect 256 of them to be lost in an overflow.
 */
static void make_ticks(uint64_t *tick, unsigned seed)
{
	uint64_t t = 100000;

	srand(seed);
	for (size_t i = 0; i < nran; i++) {
		unsigned x = (unsigned)rand() % 2000;

		t += x < 1900 ? x % 4 : x < 1999 ? x / 4 : 0;
		if (i == nran / 8)
			t += 300U << PTMODEL_MTC_FREQ;
		tick[i] = t;
	}
}

/* Narrowest to widest: how many ticks an instruction's time is left open, on average. */
static double openness(const struct addrs *l)
{
	double sum = 0;
	size_t n = 0;

	for (size_t i = 0; i < l->n; i++)
		if (l->hi[i] != HWT_TIME_UNKNOWN)
			sum += (double)(l->hi[i] - l->lo[i]), n++;
	return n ? sum / (double)n : -1;
}

/* The tick of each instruction that was found lies in its interval. */
static void check_ticks(const struct addrs *l, const uint64_t *tick, const struct ptmodel *m,
			const char *what)
{
	size_t k = 0, bounded = 0;

	for (size_t i = 0; i < l->n; i++, k++) {
		/* those in front of the hole end where the sequence stops to agree */
		if (k < m->lost_to && m->lost_to > m->lost_from && l->v[i] != ran[k])
			k = m->lost_to;
		assert_int_equal(l->v[i], ran[k]);
		if (l->lo[i] == HWT_TIME_UNKNOWN)
			fail_msg("%s: instruction %zu has no time", what, k);
		if (tick[k] < l->lo[i] || tick[k] > l->hi[i])
			fail_msg("%s: instruction %zu ran at %llu, not in [%llu, %llu]", what, k,
				 (unsigned long long)tick[k], (unsigned long long)l->lo[i],
				 (unsigned long long)l->hi[i]);
		bounded += l->hi[i] != HWT_TIME_UNKNOWN;
	}
	assert_int_equal(k, nran);
	printf("# %s: %zu of %zu bounded, %.0f ticks wide\n", what, bounded, l->n, openness(l));
}

/* What a clock showed at each tick, and a map of it from @pairs readings, some lost. */
static void make_clock(struct sim *s, const struct sim_opts *o, const uint64_t *tick, uint64_t *ns,
		       unsigned pairs, unsigned jitter, unsigned lost, unsigned seed)
{
	const struct time_fit_opts fo = { .drift_ppb = o->drift_ppb };
	struct time_fit_report r;
	struct fitter *f;

	sim_make(s, seed, o);
	for (size_t i = 0; i < nran; i++)
		ns[i] = sim_clock(s, tick[i]);
	assert_int_equal(fitter_new(&f, &fo), 0);
	for (unsigned i = 0; i <= pairs; i++) {
		uint64_t c = s->begin + (s->end - s->begin) * i / pairs;
		uint64_t w = sim_range(s, 0, jitter);
		uint64_t v = sim_clock(s, sim_range(s, c, c + w));
		const struct time_pair p = { c, c + w, v, v + 1 };

		if (!lost || !i || i == pairs || sim_range(s, 0, lost))
			assert_int_equal(fitter_add(f, &p), 0);
	}
	assert_int_equal(fitter_done(f, fitted, &r), 1);
	assert_int_equal(r.nsteps, o->steps);
	fitter_free(f);
}

/* Truth lies in its interval, for each instruction. */
static void test_time(void **state)
{
	static const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	static const struct { const char *name; struct ptmodel m; } rows[] = {
		{ "MTC, kept", { .keep = true } },
		{ "MTC, sent", { 0 } },
		{ "MTC and PSB", { .keep = true, .psb_every = 500 } },
		{ "CYC", { .keep = true, .cyc = true } },
		{ "CYC and PSB", { .keep = true, .cyc = true, .psb_every = 500 } },
		{ "CYC, no MTC", { .keep = true, .cyc = true, .no_mtc = true, .psb_every = 999 } },
		{ "TSC at PSB", { .keep = true, .no_mtc = true, .psb_every = 300 } },
		{ "one TSC", { .keep = true, .no_mtc = true } },
		{ "overflow", { .keep = true, .lost_from = 5000, .lost_to = 5050,
			.psb_every = 700 } },
	};
	struct addrs l = { .v = malloc(MAX_RUN * sizeof(*l.v)),
		.lo = malloc(MAX_RUN * sizeof(*l.lo)), .hi = malloc(MAX_RUN * sizeof(*l.hi)) };
	uint64_t *tick, *once = ran, *longer;
	size_t nonce = nran, size;

	longer = make_long(&size);
	ran = longer;
	nran = size;
	tick = malloc(nran * sizeof(*tick));
	assert_true(l.v && l.lo && l.hi && tick);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		for (unsigned k = 0; k < 4; k++) {
			struct ptmodel m = rows[i].m;

			make_ticks(tick, k);
			m.timed = true;
			m.tick = tick;
			m.retcomp = k & 1;
			if (m.lost_to) {
				m.lost_from = nran * (k + 1) / 9;
				m.lost_to = m.lost_from + 50;
			}
			walk(&l, &m, &want);
			assert_int_equal(l.holes, m.lost_to > m.lost_from);
			check_ticks(&l, tick, &m, rows[i].name);
		}
	}
	free(l.v);
	free(l.lo);
	free(l.hi);
	free(tick);
	free(ran);
	ran = once;
	nran = nonce;
}

/* The same in ns of a clock that only readings tie to the TSC. */
static void test_fitted_time(void **state)
{
	static const struct hwt_interest want = { .level = HWT_LEVEL_RANGES,
		.time_hi = HWT_TIME_UNKNOWN };
	static const struct ptmodel traces[] = {
		{ .keep = true }, { .keep = true, .cyc = true, .psb_every = 500 },
		{ .keep = true, .no_mtc = true, .psb_every = 300 },
		{ .keep = true, .no_mtc = true },
		{ .keep = true, .lost_from = 1, .lost_to = 1, .psb_every = 700 },
	};
	static const struct { const char *name; uint32_t skew, drift; unsigned steps, jitter,
		lost; } clocks[] = {
		{ "skew", 300, 0, 0, 3, 0 }, { "drift", 100, 20000, 0, 3, 0 },
		{ "step", 100, 1000, 1, 3, 0 }, { "jitter", 100, 1000, 0, 5000, 0 },
		{ "pairs lost", 100, 20000, 0, 3, 1 },
	};
	struct addrs l = { .v = malloc(MAX_RUN * sizeof(*l.v)),
		.lo = malloc(MAX_RUN * sizeof(*l.lo)), .hi = malloc(MAX_RUN * sizeof(*l.hi)) };
	uint64_t *tick = malloc(nran * sizeof(*tick)), *ns = malloc(nran * sizeof(*ns));
	static struct sim sim;
	struct time_fit fit;

	assert_true(l.v && l.lo && l.hi && tick && ns);
	for (unsigned i = 0; i < 25; i++) {
		struct sim_opts o = { .hz = 30000, .start_ns = 50000000000,
			.skew_ppm = clocks[i % 5].skew, .drift_ppb = clocks[i % 5].drift,
			.changes = 9, .steps = clocks[i % 5].steps, .step_min = 900000000,
			.step_max = 9000000000 };
		struct ptmodel m = traces[i / 5];

		make_ticks(tick, i);
		o.begin = tick[0] - 1000;
		o.ticks = tick[nran - 1] - tick[0] + 7000;
		fitted = &fit;
		make_clock(&sim, &o, tick, ns, 60, clocks[i % 5].jitter, clocks[i % 5].lost,
			   i + 1);
		m.timed = true;
		m.tick = tick;
		if (m.lost_to) {
			m.lost_from = nran / 3;
			m.lost_to = m.lost_from + 20;
		}
		walk(&l, &m, &want);
		check_ticks(&l, ns, &m, clocks[i % 5].name);
		time_fit_free(&fit);
		fitted = NULL;
	}
	free(l.v);
	free(l.lo);
	free(l.hi);
	free(tick);
	free(ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_found_again), cmocka_unit_test(test_overflow),
		cmocka_unit_test(test_time), cmocka_unit_test(test_fitted_time),
	};
	int rc;

	if (ptflow_missing())
		return 77;
	ran = malloc(MAX_RUN * sizeof(*ran));
	trace = malloc(MAX_RUN);
	if (!ran || !trace || file_open(&elf, PROGRAM, NULL))
		return 1;
	if (observe() || nran < 300) {
		printf("ptrace is not permitted here\n");
		return 77;
	}
	rc = cmocka_run_group_tests(tests, NULL, NULL);
	file_close(elf);
	free(ran);
	free(trace);
	return rc;
}
