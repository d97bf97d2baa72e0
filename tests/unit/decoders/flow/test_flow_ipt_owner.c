/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose code ran: two tasks with different code at one address, told apart by time and by CR3. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "../../../../decoders/flow/ipt_owner.h"
#include "../../../support/ptenc.h"
#include "../../../support/ptflow.h"
#include "../../../support/scratch.h"

#define L	0x401000

static struct ptflow pf;
static uint8_t bytes[4096];
static char text[1 << 16];
static struct model_pt_buf e;

/* Task 10 has one instruction before its branch at L, task 20 two; the kernel's is everyone's. */
static void start(void)
{
	ptflow_init(&pf);
	pf.tsc = (struct time_map){ .zero = 1000000, .mult = 1 };	/* ns = 1000000 + ticks */
	ptflow_code(&pf, 10, L, "90 7500");
	ptflow_code(&pf, 20, L, "90 90 7500");
	ptflow_code(&pf, HWT_NONE, 0xffffffff81000000, "7500");
	model_pt_init(&e, bytes, sizeof(bytes));
}

static void sched(uint64_t tsc, int32_t pid)
{
	assert_int_equal(machine_switch(pf.machine, 3, 1000000 + tsc, pid, pid, 0), 0);
}

/* A stretch of user code at time @tsc; each task's branch ends at another address, @end. */
static void stay(uint64_t tsc, uint64_t end)
{
	model_pt_tsc(&e, tsc);
	model_pt_pge(&e, L);
	ptenc_tnt(&e, "N");
	model_pt_fup(&e, end);
	model_pt_pgd_noip(&e);
}

static const char *run(void)
{
	machine_sort(pf.machine);
	assert_false(e.full);
	pf.buf.nspans = 0;
	ptflow_span(&pf, bytes, e.n);
	return ptflow_run(&pf, text, sizeof(text));
}

static void test_by_time(void **state)
{
	start();
	sched(100, 5);
	sched(500, 10);
	sched(1500, 20);
	sched(2500, 10);
	ptenc_psb_plus(&e, 0, false);
	stay(1000, L + 3);
	stay(1499, L + 3);
	stay(1500, L + 4);
	stay(2600, L + 3);
	run();
	assert_non_null(strstr(text, "switch 10>20\n"));
	assert_non_null(strstr(text, "switch 20>10\n"));
	assert_null(strstr(text, "switch 5>10\n"));	/* before the trace */
	assert_null(strstr(text, "gap"));
	assert_int_equal(pf.stats.insns, 2 + 2 + 3 + 2);
	ptflow_fini(&pf);
}

/*
 * A TSC from before the switch, as the enable comes a little after it was taken: the idle task runs
 * no user code, so the switch has been. Not if the next TSC says that it comes later.
 */
static void test_idle(void **state)
{
	for (uint64_t due = 1010; due <= 1030; due += 20) {
		start();
		sched(500, 0);
		sched(due, 20);
		ptenc_psb_plus(&e, 0, false);
		stay(1000, L + 4);
		model_pt_tsc(&e, 1020);
		run();
		assert_int_equal(!!strstr(text, "switch 0>20\non 401000\n"), due < 1020);
		assert_int_equal(!!strstr(text, "401000-401002 3 branch\n"), due < 1020);
		ptflow_fini(&pf);
	}
}

/*
 * Page-table isolation: each kernel entry changes CR3, but user and kernel side are one task's.
 * Linux sets bit 12 for the user side, and bit 11 too if the CPU has process-context ids
 * (arch/x86/entry/calling.h, PTI_USER_PGTABLE_AND_PCID_MASK).
 */
static void kpti(uint64_t user)
{
	const uint64_t a = 0x10000, b = 0x24000;
	struct ipt_owner o;
	struct hwt_event ev;

	start();
	for (uint64_t t = 100; t < 1200; t += 100)
		sched(t, t / 100 % 2 ? 10 : 20);
	machine_sort(pf.machine);
	ipt_owner_init(&o, pf.machine, &pf.buf);
	for (uint64_t t = 100; t < 1000; t += 100) {
		uint64_t cr3 = t / 100 % 2 ? a : b;

		ipt_owner_cr3(&o, cr3);
		ipt_owner_step(&o, 1000000 + t, &ev);
		for (unsigned i = 0; i < 2; i++) {	/* two system calls */
			ipt_owner_cr3(&o, cr3 | user);
			o.user = true;
			ipt_owner_cr3(&o, cr3);
		}
	}
	assert_true(o.kpti);
	assert_int_equal(machine_aspace(pf.machine, a), 10);
	assert_int_equal(machine_aspace(pf.machine, b), 20);
	ipt_owner_cr3(&o, a | user);
	assert_int_equal(o.pid, 10);
	ptflow_fini(&pf);
}

static void test_kpti(void **state)
{
	kpti(0x1800);
	kpti(0x1000);
}

/* Neighbouring tables without isolation: both run user code, or switches are between. */
static void test_neighbours(void **state)
{
	struct ipt_owner o;
	struct hwt_event ev;

	for (unsigned both = 0; both < 2; both++) {
		start();
		for (uint64_t t = 100; t < 1200; t += 100)
			sched(t, t / 100 % 2 ? 10 : 20);
		machine_sort(pf.machine);
		ipt_owner_init(&o, pf.machine, &pf.buf);
		for (uint64_t t = 100; t < 1000; t += 100) {
			ipt_owner_cr3(&o, t / 100 % 2 ? 0x11000 : 0x10000);
			if (!both)
				ipt_owner_step(&o, 1000000 + t, &ev);
			o.user |= both || t / 100 % 2;
		}
		assert_false(o.kpti);
		ptflow_fini(&pf);
	}
}

static void step_to(struct ipt_owner *o, uint64_t tsc)
{
	struct hwt_event ev;

	while (ipt_owner_step(o, 1000000 + tsc, &ev))
		;
}

static void owner_is(const struct ipt_owner *o, int32_t pid, int32_t tid, int32_t code)
{
	assert_int_equal(o->pid, pid);
	assert_int_equal(o->tid, tid);
	assert_int_equal(o->code, code);
}

/* Task 10 goes at 500 and 20 is there at 600: what is told between is not simply that of 10. */
static void two_tasks(struct ipt_owner *o)
{
	start();
	sched(100, 10);
	assert_int_equal(machine_switch_out(pf.machine, 3, 1000500), 0);
	sched(600, 20);
	sched(900, 10);
	machine_sort(pf.machine);
	ipt_owner_init(o, pf.machine, &pf.buf);
}

static void test_between_records(void **state)
{
	struct ipt_owner o;

	/* the address space changes: the one that comes has it */
	two_tasks(&o);
	ipt_owner_cr3(&o, 0x10000);
	step_to(&o, 200);
	owner_is(&o, 10, 10, 10);
	assert_int_equal(ipt_owner_due(&o), 1000500);
	step_to(&o, 500);
	assert_int_equal(ipt_owner_due(&o), 1000600);
	owner_is(&o, 10, 10, 10);	/* it may not have gone yet: its address space is there */
	ipt_owner_cr3(&o, 0x10000);
	owner_is(&o, 10, 10, 10);
	ipt_owner_cr3(&o, 0x20000);
	owner_is(&o, 20, 20, 20);
	step_to(&o, 600);
	owner_is(&o, 20, 20, 20);
	step_to(&o, 899);
	assert_int_equal(ipt_owner_due(&o), 1000900);	/* no "out" of this one */
	step_to(&o, 900);
	owner_is(&o, 10, 10, 10);
	ptflow_fini(&pf);

	/* a trace that begins there tells that of one of the two; code is that of the next */
	two_tasks(&o);
	ipt_owner_cr3(&o, 0x20000);
	step_to(&o, 550);
	owner_is(&o, HWT_NONE, HWT_NONE, 20);
	step_to(&o, 600);
	owner_is(&o, 20, 20, 20);
	ptflow_fini(&pf);

	/* the same after a loss, and of a trace that saw nothing of the task that goes */
	two_tasks(&o);
	ipt_owner_cr3(&o, 0x10000);
	step_to(&o, 200);
	step_to(&o, 550);
	ipt_owner_lost(&o);
	owner_is(&o, 10, 10, 10);
	ipt_owner_cr3(&o, 0x20000);
	owner_is(&o, HWT_NONE, HWT_NONE, 20);
	ptflow_fini(&pf);
	two_tasks(&o);
	ipt_owner_cr3(&o, 0x20000);
	step_to(&o, 50);
	step_to(&o, 550);
	owner_is(&o, HWT_NONE, HWT_NONE, 20);
	ptflow_fini(&pf);

	/* whose it is was seen before */
	for (int32_t pid = 10; pid <= 20; pid += 10) {
		two_tasks(&o);
		assert_int_equal(machine_set_aspace(pf.machine, 0x30000, pid), 0);
		ipt_owner_cr3(&o, 0x30000);
		step_to(&o, 550);
		owner_is(&o, pid, pid, pid);
		ptflow_fini(&pf);
	}

	/* it was of both, one after the other, and of a third one: time tells which of them */
	two_tasks(&o);
	for (int32_t pid = 10; pid <= 30; pid += 10)
		assert_int_equal(machine_set_aspace(pf.machine, 0x30000, pid), 0);
	ipt_owner_cr3(&o, 0x30000);
	step_to(&o, 200);
	owner_is(&o, 10, 10, 10);
	step_to(&o, 700);
	owner_is(&o, 20, 20, 20);
	ptflow_fini(&pf);
}

/* No time in the trace: the schedule can not be used, and nothing is taken from it. */
static void test_no_time(void **state)
{
	start();
	sched(500, 10);
	ptenc_psb_plus(&e, 0, false);
	model_pt_pge(&e, 0xffffffff81000000);
	ptenc_tnt(&e, "N");
	model_pt_fup(&e, 0xffffffff81000002);
	model_pt_pgd_noip(&e);
	model_pt_pge(&e, L);
	ptenc_tnt(&e, "N");
	run();
	assert_non_null(strstr(text, "ffffffff81000000-ffffffff81000000 1 branch\n"));
	assert_non_null(strstr(text, "gap no-image"));
	assert_null(strstr(text, "switch"));
	ptflow_fini(&pf);
}

/* A thread's own buffer: neither schedule nor time is asked. */
static void test_fixed(void **state)
{
	start();
	sched(500, 10);
	pf.buf.pid = 20;
	pf.buf.tid = 21;
	ptenc_psb_plus(&e, 0, false);
	stay(1000, L + 4);
	run();
	assert_null(strstr(text, "gap"));
	assert_int_equal(pf.stats.insns, 3);
	ptflow_fini(&pf);
}

/*
 * CR3 c10 and c20 are learned from two stays each; then the schedule is lost (HWT_NONE) and CR3
 * alone tells.
 */
static void test_by_cr3(void **state)
{
	const uint64_t c10 = 0x10a000, c20 = 0x20b000;

	start();
	ptenc_psb_plus(&e, 0, false);
	for (unsigned i = 0; i < 3; i++) {
		sched(1000 + i * 1000, 10);
		sched(1500 + i * 1000, 20);
		model_pt_pip(&e, c10, false);
		stay(1000 + i * 1000, L + 3);
		model_pt_pip(&e, c20, false);
		stay(1500 + i * 1000, L + 4);
	}
	sched(5000, HWT_NONE);
	model_pt_pip(&e, c10, false);
	stay(6000, L + 3);
	model_pt_pip(&e, c20, false);
	stay(7000, L + 4);
	run();
	assert_null(strstr(text, "gap"));
	assert_int_equal(machine_aspace(pf.machine, c10), 10);
	assert_int_equal(machine_aspace(pf.machine, c20), 20);
	assert_int_equal(pf.stats.insns, 4 * (2 + 3));
	ptflow_fini(&pf);
}

/*
 * Code that changes with time: the version of the moment is walked. If the first stay may have
 * been behind the change as well, nobody knows which one it was.
 */
static void test_versions(void **state)
{
	static const uint8_t later[] = { 0x90, 0x90, 0x90, 0x75, 0 };

	for (int known = 1; known >= 0; known--) {
		start();
		pf.buf.pid = pf.buf.tid = 10;
		assert_int_equal(image_add_bytes(pf.image, 10, 1002000, L, later, sizeof(later),
						 "jit"), 0);
		ptenc_psb_plus(&e, 0, false);
		stay(1000, L + 3);
		if (known)
			model_pt_tsc(&e, 1900);
		stay(2500, L + 5);
		run();
		assert_int_equal(!strstr(text, "gap"), known);
		assert_int_equal(!strstr(text, "bad-image"), known);
		assert_int_equal(pf.stats.insns, known ? 2 + 4 : 1);
		ptflow_fini(&pf);
	}
}

/*
 * The same with files, which the library reads itself. Flow begins before the first TSC is known,
 * with the newest version; what follows is walked in that of its time.
 */
static void test_file_versions(void **state)
{
	static const uint8_t was[] = { 0x90, 0x75, 0, 0x90, 0x90 };
	static const uint8_t is[] = { 0x90, 0x90, 0x90, 0x75, 0 };
	const uint64_t at = L + 0x1000;
	struct hwt_map m = { .addr = at, .size = 5, .pid = 10, .raw = 1 };

	start();
	pf.buf.pid = pf.buf.tid = 10;
	scratch_write("was", was, sizeof(was));
	scratch_write("is", is, sizeof(is));
	m.path = scratch("was");
	assert_int_equal(image_add_map(pf.image, &m), 0);
	m.path = scratch("is");
	m.from = 1002000;
	assert_int_equal(image_add_map(pf.image, &m), 0);
	for (int i = 0; i < 2; i++) {
		model_pt_psb(&e);
		model_pt_tsc(&e, 1000 + i * 1500);
		model_pt_exec(&e, 64);
		model_pt_psbend(&e);
		model_pt_pge(&e, at);
		ptenc_tnt(&e, "N");
		model_pt_fup(&e, at + (i ? 5 : 3));
		model_pt_pgd_noip(&e);
	}
	run();
	assert_null(strstr(text, "gap"));
	assert_non_null(strstr(text, "402000-402001 2 branch\n"));
	assert_non_null(strstr(text, "402000-402003 4 branch\n"));
	ptflow_fini(&pf);
}

/* Times of all events, in order. */
static size_t times(uint64_t *out, size_t max, uint8_t *clock)
{
	struct flow_args a = { .want = &pf.want, .buf = &pf.buf, .image = pf.image,
		.machine = pf.machine, .tsc = &pf.tsc };
	struct hwt_event ev[16];
	struct hwt_stream *s;
	size_t k = 0;
	int n;

	assert_int_equal(flow_ipt_new(&s, &a, NULL), 0);
	while ((n = hwt_stream_next(s, ev, 16)) > 0)
		for (int i = 0; i < n && k < max; i++) {
			if (ev[i].type == HWT_EV_NONE)
				continue;
			*clock = ev[i].clock;
			out[k++] = ev[i].time;
		}
	hwt_stream_close(s);
	return k;
}

/*
 * Before the first TSC there is no time, which is not time 0 (case C08); a TSC that goes back is
 * not followed (C07); without a map times are ticks; MTC counts on over its wrap (C02).
 */
static void test_times(void **state)
{
	uint64_t t[32];
	uint8_t clock;
	size_t n;

	start();
	pf.buf.pid = pf.buf.tid = 10;
	ptenc_psb_plus(&e, 0, false);
	model_pt_pge(&e, L);			/* on: no time yet */
	ptenc_tnt(&e, "N");
	model_pt_fup(&e, L + 3);
	model_pt_pgd_noip(&e);
	stay(5000, L + 3);
	stay(4000, L + 3);
	run();
	n = times(t, 32, &clock);
	assert_int_equal(n, 9);			/* three times on, range, off */
	assert_int_equal(clock, HWT_CLOCK_BASE);
	for (size_t i = 0; i < 3; i++)
		assert_true(t[i] == HWT_TIME_UNKNOWN);
	for (size_t i = 3; i < 9; i++)
		assert_int_equal(t[i], 1005000);
	pf.tsc.mult = 0;
	assert_int_equal(times(t, 32, &clock), 9);
	assert_int_equal(clock, HWT_CLOCK_TSC);
	assert_int_equal(t[8], 5000);
	ptflow_fini(&pf);

	start();
	pf.buf.pid = pf.buf.tid = 10;
	pf.cfg.r.pt.cpuid_15_eax = pf.cfg.r.pt.cpuid_15_ebx = 1;
	pf.cfg.r.pt.mtc_freq = 3;		/* one MTC is 8 ticks */
	model_pt_psb(&e);
	model_pt_tsc(&e, 0x10000);
	model_pt_tma(&e, 0xfd << 3, 0);
	model_pt_exec(&e, 64);
	model_pt_psbend(&e);
	for (unsigned i = 1; i <= 6; i++) {	/* fe ff 00 01 02 03 */
		model_pt_mtc(&e, (uint8_t)(0xfd + i));
		model_pt_pge(&e, L);
		ptenc_tnt(&e, "N");
		model_pt_fup(&e, L + 3);
		model_pt_pgd_noip(&e);
	}
	run();
	assert_int_equal(times(t, 32, &clock), 18);
	for (unsigned i = 0; i < 6; i++)
		assert_int_equal(t[3 * i], 1000000 + 0x10000 + 8 * (i + 1));
	ptflow_fini(&pf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_by_time), cmocka_unit_test(test_idle),
		cmocka_unit_test(test_kpti), cmocka_unit_test(test_neighbours),
		cmocka_unit_test(test_between_records),
		cmocka_unit_test(test_no_time),
		cmocka_unit_test(test_fixed), cmocka_unit_test(test_by_cr3),
		cmocka_unit_test(test_versions), cmocka_unit_test(test_file_versions),
		cmocka_unit_test(test_times),
	};

	return ptflow_missing() ? 77 :
		cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
