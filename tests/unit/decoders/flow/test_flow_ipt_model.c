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

#include "../../../../hwtrace/source/file.h"
#include "../../../support/ptflow.h"
#include "../../../support/ptmodel.h"

#define PROGRAM	"fixtures/captures/demo/in/demo"
#define MAX_RUN	(1U << 20)	/* instructions */

static uint64_t *ran;
static size_t nran;
static struct file *elf;
static uint8_t *trace;

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
	struct ptenc e;
	size_t where = 0;
	int n;

	model.elf = elf->p;
	model.elf_size = elf->size;
	model.addr = ran;
	model.n = nran;
	ptenc_init(&e, trace, MAX_RUN);
	assert_int_equal(ptmodel_encode(&model, &e, &where), 0);
	assert_false(e.full);
	ptflow_init(&f);
	f.want = *want;
	f.cfg.r.pt.mtc_freq = PTMODEL_MTC_FREQ;
	f.cfg.r.pt.cpuid_15_eax = f.cfg.r.pt.cpuid_15_ebx = 1;
	assert_int_equal(image_add_elf(f.image, HWT_NONE, PROGRAM, HWT_NO_ADDR, NULL), 0);
	ptflow_span(&f, trace, e.n);
	a = (struct flow_args){ .want = &f.want, .buf = &f.buf, .image = f.image,
		.machine = f.machine, .tsc = &f.tsc };
	l->n = l->holes = 0;
	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_all_found_again), cmocka_unit_test(test_overflow),
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
