/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * From a capture to the timeline: a program, assembled by hand, that writes a number with PTWRITE
 * and asks the kernel for a mark of the same number, over and over; its trace by the software unit,
 * in a buffer of the thread, and in one of the CPU. The instant of each request is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include <hwtrace/hwtrace.h>
#include <hwtrace/uapi.h>

#include "hwtrace/capture/native.h"
#include "hwtrace/model/pt.h"
#include "tests/support/ptflow.h"
#include "tests/support/scratch.h"

#define BASE	0x401000
#define ROUNDS	40
#define TID	11
#define OTHER	12

/* ptwrite rax; syscall; jmp to the ptwrite */
static const uint8_t code[] = { 0xf3, 0x48, 0x0f, 0xae, 0xe0, 0x0f, 0x05, 0xeb, 0xf7 };

static uint8_t trace[65536];
static size_t ntrace;
static uint64_t asked[ROUNDS];		/* instant of each record, ns */

static int put(void *arg, const void *p, size_t n)
{
	(void)arg;
	assert_true(ntrace + n <= sizeof(trace));
	memcpy(trace + ntrace, p, n);
	ntrace += n;
	return 0;
}

static void run(struct model_pt *m, const struct model_block *b, uint64_t tick, uint64_t to)
{
	const struct model_event ev = { .op = MODEL_RUN, .tick = tick, .block = b,
		.insns = b->insns, .taken = b->kind == MODEL_JUMP, .to = to };

	assert_int_equal(model_pt_put(m, &ev), 0);
}

/* A round is 1000 ticks; the request is written 150 behind the system call's instruction. */
static void program(void)
{
	static const struct model_block ptw = { .first = BASE, .last = BASE, .insns = 1,
		.last_size = 5, .isa = MODEL_X86_64, .kind = MODEL_PTWRITE,
		.target = MODEL_NO_ADDR };
	static const struct model_block call = { .first = BASE + 5, .last = BASE + 5, .insns = 1,
		.last_size = 2, .isa = MODEL_X86_64, .kind = MODEL_SYSCALL,
		.target = MODEL_NO_ADDR };
	static const struct model_block jump = { .first = BASE + 7, .last = BASE + 7, .insns = 1,
		.last_size = 2, .isa = MODEL_X86_64, .kind = MODEL_JUMP, .target = BASE };
	const struct model_pt_cfg cfg = { .psb_bytes = 512, .tsc = true, .mtc = true, .mtc_freq = 3,
		.ctc_eax = 2, .ctc_ebx = 84, .ratio = 21, .ptw = true };
	const struct model_out out = { .put = put };
	struct model_event ev = { .op = MODEL_ENTER, .tick = 9000, .to = BASE };
	struct model_pt *m;

	ntrace = 0;
	assert_int_equal(model_pt_new(&m, &cfg, &out), 0);
	assert_int_equal(model_pt_put(m, &ev), 0);
	for (unsigned k = 0; k < ROUNDS; k++) {
		uint64_t t = 10000 + 1000 * k;

		run(m, &ptw, t, BASE + 5);
		ev = (struct model_event){ .op = MODEL_VALUE, .tick = t, .value = k + 1,
			.size = 8 };
		assert_int_equal(model_pt_put(m, &ev), 0);
		run(m, &call, t + 300, MODEL_UNSEEN);
		asked[k] = t + 450;
		ev = (struct model_event){ .op = MODEL_ENTER, .tick = t + 600, .to = BASE + 7 };
		assert_int_equal(model_pt_put(m, &ev), 0);
		run(m, &jump, t + 700, BASE);
	}
	ev = (struct model_event){ .op = MODEL_END, .tick = 10000 + 1000 * ROUNDS };
	assert_int_equal(model_pt_put(m, &ev), 0);
	model_pt_free(m);
}

static void comes(struct native_writer *w, uint64_t time, int32_t prev, int32_t next)
{
	struct hwt_rec_sched_switch s = { .rec = { .id = HWT_ID_sched_switch, .size = sizeof(s),
		.version = 1, .time = time, .pid = prev, .tid = prev }, .prev_pid = prev,
		.prev_tid = prev, .next_pid = next, .next_tid = next };

	assert_int_equal(native_event(w, 0, &s, sizeof(s)), 0);
}

/* @lose: which record is lost, ROUNDS: none. */
static void capture(const char *dir, bool cpu_wise, unsigned lose)
{
	const struct trace_cfg pt = { .name = "pt", .core = "", .proto = HWT_PROTO_PT, .cpu = 0,
		.r.pt = { .family = 6, .model = 0x8f, .mtc_freq = 3, .nom_freq = 21,
			.cpuid_15_eax = 2, .cpuid_15_ebx = 84 } };
	struct { struct hwt_rec_user_mark r; char text[8]; } m = { .r = { .rec = {
		.id = HWT_ID_user_mark, .size = sizeof(m.r), .version = 1, .pid = TID,
		.tid = TID }, .ip = BASE + 7 } };
	struct hwt_rec_stream_lost lost = { .rec = { .id = HWT_ID_stream_lost, .version = 1,
		.size = sizeof(lost), .pid = HWT_NONE, .tid = HWT_NONE }, .count = 1 };
	struct native_writer *w;
	struct hwt_diag d;
	int buf;

	assert_int_equal(native_create(&w, dir, true, &d), 0);
	assert_int_equal(native_set(w, "capture", "recorder", "test"), 0);
	assert_int_equal(native_set(w, "capture", "arch", "x86_64"), 0);
	/* a tick is a ns */
	assert_int_equal(native_clock(w, &(struct native_clock){ .counter = "tsc",
		.base = "CLOCK_MONOTONIC", .frequency = 1000000000, .map = { .mult = 1 } }), 0);
	assert_int_equal(native_task(w, TID, TID, "marks"), 0);
	assert_int_equal(native_pages(w, HWT_NONE, BASE, 0, code, sizeof(code)), 0);
	buf = native_add_buf(w, "pt", cpu_wise ? 0 : HWT_NONE, cpu_wise ? HWT_NONE : TID,
			     cpu_wise ? HWT_NONE : TID, FRAMING_NONE, &pt, 1);
	assert_true(buf >= 0);
	assert_int_equal(native_trace(w, buf, HWT_TIME_UNKNOWN, trace, ntrace), 0);
	comes(w, 5000, OTHER, TID);
	for (unsigned k = 0; k < ROUNDS; k++) {
		m.r.rec.time = lost.rec.time = asked[k];
		m.r.value = k + 1;
		if (k == lose)
			assert_int_equal(native_event(w, 0, &lost, sizeof(lost)), 0);
		else
			assert_int_equal(native_event(w, 0, &m, m.r.rec.size), 0);
	}
	comes(w, 10000 + 1000 * ROUNDS + 50000, TID, OTHER);
	assert_int_equal(native_close(w, &d), 0);
}

/* How many are tied; each OFF that is narrower than the trace alone says holds its request. */
static uint64_t tied(const char *dir)
{
	struct hwt_timeline_opts o = { .size = sizeof(o), .kernel = true, .hardware = true,
		.anchors = true, .want = HWT_INTEREST_ALL };
	struct hwt_timeline_stats st;
	struct hwt_event ev[64];
	struct hwt_session *s;
	struct hwt_stream *t;
	struct hwt_diag d;
	unsigned offs = 0;
	int n;

	o.want.level = HWT_LEVEL_RANGES;
	assert_int_equal(hwt_session_open(&s, dir, NULL, &d), 0);
	assert_int_equal(hwt_session_timeline(s, &o, &t, &d), 0);
	while ((n = hwt_stream_next(t, ev, 64)) > 0)
		for (int i = 0; i < n; i++) {
			if (ev[i].type != HWT_EV_OFF || offs == ROUNDS)
				continue;
			/* the instruction was before the record, 150 ticks at most */
			assert_true(ev[i].time <= asked[offs] - 150);
			assert_true(hwt_event_end(&ev[i]) >= asked[offs] - 150);
			offs++;
		}
	assert_int_equal(n, 0);
	assert_int_equal(offs, ROUNDS);
	hwt_timeline_stats(t, &st);
	hwt_stream_close(t);
	hwt_session_close(s);
	return st.marks;
}

static void marks(void **state)
{
	(void)state;
	program();
	for (int cpu_wise = 0; cpu_wise < 2; cpu_wise++) {
		const char *dir = scratch(cpu_wise ? "cpu.hwt" : "thread.hwt");

		/* before the first mark, and behind the last one, there may have been others */
		capture(dir, cpu_wise, ROUNDS);
		assert_int_equal(tied(dir), ROUNDS - 2);
		/* its own is lost; and the turn, where that tells whose flow it is */
		capture(dir, cpu_wise, ROUNDS / 2);
		assert_int_equal(tied(dir), cpu_wise ? 0 : ROUNDS - 3);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(marks) };

	if (ptflow_missing())
		return 77;
	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
