/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf.data of Intel PT whose events are on another clock (perf record -k). Truth: a simulated
 * clock at the tick where tracing was turned on in each chunk, right behind a TSC packet.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <hwtrace/hwtrace.h>

#include "hwtrace/model/pt_packet.h"
#include "tests/support/mkperf.h"
#include "tests/support/scratch.h"
#include "tests/support/simclock.h"

#define GHZ 1000000000ull
#define CHUNKS 200
#define STAMPS 20

static struct sim sim;
static uint64_t on[CHUNKS];

/* @lost: the record of each third chunk is not there. */
static void make(const char *path, bool lost)
{
	static uint8_t bytes[CHUNKS * STAMPS * 32];
	struct model_pt_buf e;
	struct mkperf m;
	uint64_t tick = sim.begin, step = (sim.end - sim.begin) / (CHUNKS * (STAMPS + 1)), at = 0;

	model_pt_init(&e, bytes, sizeof(bytes));
	mkperf_init(&m, false);
	m.flags |= 1u << 25;	/* use_clockid, and clockid 0 */
	mkperf_pt(&m);
	for (unsigned k = 0; k < CHUNKS; k++) {
		model_pt_psb(&e);
		for (unsigned i = 0; i < STAMPS; i++) {
			tick += sim_range(&sim, step / 2, step);
			model_pt_tsc(&e, tick);
			if (!i) {
				model_pt_psbend(&e);
				model_pt_pge(&e, 0x400000);
				on[k] = tick + 5;
			}
			model_pt_tnt(&e, 1, 1);
		}
		model_pt_pgd_noip(&e);
		m.time = sim_clock(&sim, tick + sim_range(&sim, 0, step / 2)) +
			sim_range(&sim, 0, 3000);
		tick += step + 10000;	/* it starts again after the record is written */
		if (!lost || k % 3)
			mkperf_aux(&m, at, e.n - at, 0);
		at = e.n;
	}
	assert_false(e.full);
	mkperf_auxtrace(&m, 0, e.n, 0, 1, 0, bytes, e.n);
	assert_int_equal(mkperf_write(&m, path), 0);
	mkperf_free(&m);
}

static unsigned check(struct hwt_session *s, uint64_t *most)
{
	const struct hwt_interest want = HWT_INTEREST_ALL;
	struct hwt_stream *st;
	struct hwt_event ev[64];
	uint64_t last = 0;
	unsigned seen = 0;
	int n;

	assert_int_equal(hwt_session_flow(s, 0, &want, &st, NULL), 0);
	while ((n = hwt_stream_next(st, ev, 64)) > 0)
		for (int i = 0; i < n; i++) {
			uint64_t truth;

			assert_int_equal(ev[i].clock, HWT_CLOCK_BASE);
			if (ev[i].time == HWT_TIME_UNKNOWN)
				continue;
			assert_true(ev[i].time >= last);
			last = ev[i].time;
			if (ev[i].type != HWT_EV_ON)
				continue;
			assert_true(seen < CHUNKS);
			truth = sim_clock(&sim, on[seen]);
			assert_true(ev[i].time <= truth);
			assert_true(ev[i].span != HWT_SPAN_UNKNOWN);
			assert_true(truth <= ev[i].time + ev[i].span);
			*most = ev[i].span > *most ? ev[i].span : *most;
			seen++;
		}
	assert_int_equal(n, 0);
	hwt_stream_close(st);
	return seen;
}

static void on_another_clock(void **state)
{
	const struct sim_opts so = { .hz = 3 * GHZ, .begin = 70000 * GHZ, .ticks = 90 * GHZ,
		.start_ns = 1700000000 * GHZ, .skew_ppm = 100, .drift_ppb = 200000, .changes = 20 };

	for (unsigned seed = 1; seed <= 20; seed++) {
		struct hwt_open_opts o = { .size = sizeof(o) };
		struct hwt_clock_info k;
		struct hwt_session *s;
		struct hwt_diag d;
		uint64_t most = 0;

		sim_make(&sim, seed, &so);
		make(scratch("perf.data"), seed & 1);
		assert_int_equal(hwt_session_open(&s, scratch("perf.data"), &o, &d), 0);
		hwt_session_clock(s, &k);
		assert_int_equal(k.how, HWT_MAP_FITTED);
		assert_int_equal(k.counter, HWT_CLOCK_TSC);
		assert_int_equal(k.base, HWT_CLOCK_REALTIME);
		assert_int_equal(k.steps, 0);
		assert_true(k.pairs > CHUNKS);
		assert_int_equal(check(s, &most), CHUNKS);
		/* a chunk is about 100 ms; the ends of it are known to a part of a step */
		assert_true(most < 100000000);
		hwt_session_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(on_another_clock),
	};

	if (!strncmp(hwt_backend(0), "no libipt", 9)) {
		puts("no libipt on this machine");
		return 77;
	}
	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
