/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The real perf_event_open(2): no unit here has a ring for trace, so events without one, whose
 * records come beside. The programs that run say by what they are how many there must be.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/abi.h>
#include <hwtrace/hwtrace.h>

#include "hwtrace/capture/hwtake.h"
#include "hwtrace/capture/native.h"
#include "hwtrace/capture/perf_open.h"
#include "hwtrace/capture/ticks.h"
#include "tests/support/scratch.h"

#define CPUS 64

static struct perf_cpu cpus[CPUS];
static unsigned ncpus;

static struct perf_open dummy(void)
{
	struct perf_open o = { .type = PERF_TYPE_SOFTWARE, .inherit = true, .monotonic = true,
		.data_bytes = 64u << 10 };

	o.event.config[0] = PERF_COUNT_SW_DUMMY;
	o.event.user = true;
	return o;
}

static bool may(void)
{
	struct perf_open o = dummy();
	int rc = perf_open_try(&o, 0, 0);

	if (rc)
		print_message("perf_event_open: %s\n", strerror(-rc));
	return !rc;
}

static int add(void *arg, struct native_writer *w, int32_t cpu, bool raw)
{
	fail_msg("a buffer without trace");
	return -EINVAL;
}

/* Runs @text in a shell that waits until the events are there; its records are in @name. */
static void record(const char *text, const char *name, bool snapshot)
{
	struct ticks_clock c;
	struct hwtake_opts to = { .clock = true, .fit = true, .overwrite = snapshot,
		.units = { .add = add } };
	struct native_clock clock = { .counter = TICKS_COUNTER, .base = "CLOCK_MONOTONIC",
		.from_records = true };
	struct perf_open o = dummy();
	struct native_writer *w;
	struct hwtake *t;
	struct hwt_diag d;
	int go[2], status;
	char b;
	pid_t pid;

	assert_int_equal(pipe(go), 0);
	pid = fork();
	if (!pid) {
		if (read(go[0], &b, 1) == 1)
			execl("/bin/sh", "sh", "-c", text, NULL);
		_exit(127);
	}
	ticks_measure(&c);
	to.map = c.map;
	clock.frequency = c.hz;
	assert_int_equal(hwtake_new(&t, &to), 0);
	ncpus = (unsigned)sysconf(_SC_NPROCESSORS_ONLN);
	assert_true(ncpus <= CPUS);
	for (unsigned i = 0; i < ncpus; i++) {
		cpus[i] = (struct perf_cpu){ .cpu = (int32_t)i };
		assert_int_equal(perf_open_task(&cpus[i], &o, pid), 0);
		/* a second task writes into the same ring */
		assert_int_equal(perf_open_task(&cpus[i], &o, getpid()), 0);
		assert_int_equal(perf_open_each(&cpus[i], PERF_EVENT_IOC_ENABLE, NULL), 0);
		assert_int_equal(hwtake_add(t, cpus[i].cpu, cpus[i].page, cpus[i].data,
					    cpus[i].size, NULL, 0), 0);
	}
	assert_int_equal(native_create(&w, scratch(name), true, &d), 0);
	assert_int_equal(native_clock(w, &clock), 0);
	assert_int_equal(native_set(w, "capture", "scope", "some tasks"), 0);
	assert_int_equal(write(go[1], "", 1), 1);
	do {
		usleep(2000);
		assert_int_equal(hwtake_pump(t, snapshot ? NULL : w), 0);
	} while (!waitpid(pid, &status, WNOHANG));
	assert_int_equal(status, 0);
	assert_int_equal(hwtake_end(t, w), 0);
	assert_int_equal(hwtake_sum(t).records_lost, 0);
	assert_int_equal(native_close(w, &d), 0);
	hwtake_free(t);
	for (unsigned i = 0; i < ncpus; i++)
		perf_open_close(&cpus[i]);
	close(go[0]);
	close(go[1]);
}

struct tally { unsigned forks, execs, exits, maps, switches, comms; uint64_t first, last; };

/* What the capture says, read as any other. */
static struct tally count(const char *name)
{
	struct hwt_open_opts open = { .size = sizeof(open) };
	struct hwt_session *s;
	struct hwt_stream *st;
	struct hwt_event ev[64];
	struct tally t = { .first = UINT64_MAX };
	struct hwt_diag d;
	int n;

	assert_int_equal(hwt_session_open(&s, scratch(name), &open, &d), 0);
	assert_int_equal(hwt_session_kernel(s, &st, &d), 0);
	while ((n = hwt_stream_next(st, ev, 64)) > 0)
		for (int i = 0; i < n; i++) {
			unsigned id = ev[i].u.rec.id;

			t.forks += id == HWT_ID_sched_fork;
			t.execs += id == HWT_ID_sched_exec;
			t.exits += id == HWT_ID_sched_exit;
			t.maps += id == HWT_ID_mm_map;
			t.switches += id == HWT_ID_sched_switch;
			t.comms += id == HWT_ID_sched_comm;
			if (id == HWT_ID_sched_exec && ev[i].time < t.first)
				t.first = ev[i].time;
			if (id == HWT_ID_sched_exit)
				t.last = ev[i].time;
		}
	assert_int_equal(n, 0);
	hwt_stream_close(st);
	hwt_session_close(s);
	return t;
}

static void records(void **state)
{
	/* /bin/sh itself, then three programs: the last one in place of the shell */
	static const char text[] = "/bin/true; /bin/true; exec /bin/true";
	struct tally t;

	if (!may())
		skip();
	record(text, "a.hwt", false);
	t = count("a.hwt");
	assert_int_equal(t.execs, 4);
	assert_int_equal(t.forks, 2);
	assert_int_equal(t.exits, 3);
	assert_true(t.maps >= 4 && t.switches > 2);
	/* each exec names the task, and so does nothing else here */
	assert_int_equal(t.comms, 4);
	assert_true(t.last > t.first && t.last - t.first < 60000000000ull);
}

/* Kept in memory until the end. */
static void kept(void **state)
{
	struct tally t;

	if (!may())
		skip();
	record("/bin/true; /bin/true; exec /bin/true", "b.hwt", true);
	t = count("b.hwt");
	assert_int_equal(t.execs, 4);
	assert_int_equal(t.forks, 2);
	assert_int_equal(t.exits, 3);
}

/* Times lie where this program was at them. */
static void times(void **state)
{
	uint64_t before, after, from, to;
	struct time_map map;
	struct ticks_pair p;
	struct tally t;

	if (!may())
		skip();
	before = ticks_read(CLOCK_MONOTONIC).ns;
	record("exec /bin/true", "c.hwt", false);
	after = ticks_read(CLOCK_MONOTONIC).ns;
	t = count("c.hwt");
	assert_true(t.first > before && t.last < after);
	/* where the kernel gives a conversion it goes on, forwards */
	if (!perf_open_clock(&map)) {
		print_message("the kernel gives no conversion of its clock here\n");
		return;
	}
	from = time_map_ns(&map, step_ticks());
	p = ticks_read(CLOCK_MONOTONIC);
	usleep(20000);
	to = time_map_ns(&map, step_ticks());
	assert_true(to - from >= 19000000 && to - from <
		    2 * (ticks_read(CLOCK_MONOTONIC).ns - p.ns) + 1000000);
}

static void refused(void **state)
{
	struct perf_open o = dummy();
	struct perf_cpu c = { .cpu = 0 };

	if (!may())
		skip();
	/* such an event has no ring for trace */
	o.aux_bytes = 1u << 20;
	assert_int_equal(perf_open_task(&c, &o, 0), -EOPNOTSUPP);
	perf_open_close(&c);
	assert_int_equal(perf_open_task(&c, &o, INT32_MAX), -ESRCH);
	perf_open_close(&c);
	o.type = 0xffff;
	assert_int_equal(perf_open_try(&o, 0, 0), -ENOENT);
	c.cpu = 100000;
	o = dummy();
	assert_true(perf_open_task(&c, &o, 0) < 0);
	perf_open_close(&c);
	/* a fourth word that no kernel here knows is told, not ignored */
	o.event.config[3] = 1;
	assert_true(perf_open_try(&o, 0, 0) <= 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(records),
		cmocka_unit_test(kept),
		cmocka_unit_test(times),
		cmocka_unit_test(refused),
	};

	return cmocka_run_group_tests(tests, scratch_make, scratch_drop);
}
