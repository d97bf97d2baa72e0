/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Clocks of this machine. Truth: readings that the map was not made of, and the kernel's own
 * conversion from TSC to perf's clock (mmap page of linux/perf_event.h).
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <cmocka.h>

#include <linux/perf_event.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hwtrace/capture/proc.h"
#include "hwtrace/capture/ticks.h"
#include "hwtrace/time/clock.h"
#include "hwtrace/time/fit.h"

#define PAIRS 400
#define PAGES 8

static void rest(long ns)
{
	const struct timespec t = { .tv_nsec = ns };

	nanosleep(&t, NULL);
}

/* Every fourth reading makes the map, and must put all others where they were read. */
static void held_out(clockid_t id, enum hwt_clock clock)
{
	const struct time_fit_opts o = { .drift_ppb = time_clock_drift(clock) };
	static struct ticks_pair pair[PAIRS];
	struct time_fit_report r;
	struct time_fit m;
	struct fitter *f;

	assert_int_equal(fitter_new(&f, &o), 0);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct time_pair p;

		rest(i % 8 ? 300000 : 2000000);
		pair[i] = ticks_read(id);
		p = (struct time_pair){ pair[i].ticks, pair[i].ticks + pair[i].width, pair[i].ns,
			pair[i].ns + 1 };
		if (i % 4 == 0)
			assert_int_equal(fitter_add(f, &p), 0);
	}
	assert_int_equal(fitter_done(f, &m, &r), 1);
	fitter_free(f);
	printf("%s: %llu pairs, width %llu ns, at most %llu; %llu steps\n", hwt_clock_name(clock),
	       (unsigned long long)r.used, (unsigned long long)r.width_mid,
	       (unsigned long long)r.width_max, (unsigned long long)r.nsteps);
	for (unsigned i = 0; i < PAIRS; i++) {
		struct hwt_interval in = { pair[i].ticks, pair[i].ticks + pair[i].width }, out;

		assert_int_equal(time_fit_apply(&m, in, &out), 0);
		assert_true(out.lo <= pair[i].ns + 1 && pair[i].ns <= out.hi);
	}
	time_fit_free(&m);
}

static void clocks_of_linux(void **state)
{
	held_out(CLOCK_MONOTONIC, HWT_CLOCK_MONOTONIC);
	held_out(CLOCK_MONOTONIC_RAW, HWT_CLOCK_MONOTONIC_RAW);
	held_out(CLOCK_BOOTTIME, HWT_CLOCK_BOOT);
}

#if defined(__x86_64__)
/* The time of the record that the last prctl() made; the ring has no other kind of record. */
static uint64_t last_time(volatile struct perf_event_mmap_page *page, uint64_t *tail)
{
	const uint8_t *ring = (const uint8_t *)page + sysconf(_SC_PAGESIZE);
	uint64_t size = (uint64_t)PAGES * (uint64_t)sysconf(_SC_PAGESIZE), head = page->data_head;
	uint64_t time = 0;

	__sync_synchronize();
	while (*tail < head) {
		struct perf_event_header h;

		/* records are multiples of 8: a header is whole, a time at the end as well */
		memcpy(&h, ring + *tail % size, sizeof(h));
		memcpy(&time, ring + (*tail + h.size - 8) % size, 8);
		*tail += h.size;
	}
	page->data_tail = *tail;
	return time;
}

static struct time_map kernels_map(const volatile struct perf_event_mmap_page *page)
{
	struct time_map m;
	uint32_t seq;

	do {
		seq = page->lock;
		__sync_synchronize();
		m = (struct time_map){ .zero = page->time_zero, .mult = page->time_mult,
			.shift = page->time_shift };
		__sync_synchronize();
	} while (page->lock != seq || (seq & 1));
	return m;
}

static void clock_of_perf(void **state)
{
	struct perf_event_attr a = { .type = PERF_TYPE_SOFTWARE, .size = sizeof(a),
		.config = PERF_COUNT_SW_DUMMY, .sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1, .comm = 1, .exclude_kernel = 1 };
	const struct time_fit_opts o = { .drift_ppb = time_clock_drift(HWT_CLOCK_PERF) };
	size_t size = (1 + PAGES) * (size_t)sysconf(_SC_PAGESIZE);
	volatile struct perf_event_mmap_page *page;
	struct time_fit_report r;
	struct time_map exact;
	struct time_fit m;
	struct fitter *f;
	static struct time_pair pair[PAIRS];
	uint64_t tail = 0;
	bool stated;
	int fd = (int)syscall(SYS_perf_event_open, &a, 0, -1, -1, 0);

	if (fd < 0) {
		print_message("skipped: perf events are not permitted\n");
		skip();
	}
	page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(page, MAP_FAILED);
	assert_int_equal(fitter_new(&f, &o), 0);
	for (unsigned i = 0; i < PAIRS; i++) {
		uint64_t before, after, ns;

		rest(i % 8 ? 300000 : 2000000);
		before = step_ticks();
		prctl(PR_SET_NAME, "clock");
		after = step_ticks();
		ns = last_time(page, &tail);
		assert_true(ns);
		pair[i] = (struct time_pair){ before, after, ns, ns + 1 };
		if (i % 4 == 0)
			assert_int_equal(fitter_add(f, &pair[i]), 0);
	}
	exact = kernels_map(page);
	stated = page->cap_user_time_zero;
	munmap((void *)page, size);
	assert_int_equal(fitter_done(f, &m, &r), 1);
	fitter_free(f);
	printf("perf: %llu pairs, width %llu ns, at most %llu; %llu steps; conversion %s\n",
	       (unsigned long long)r.used, (unsigned long long)r.width_mid,
	       (unsigned long long)r.width_max, (unsigned long long)r.nsteps,
	       stated ? "stated" : "not stated here");
	for (unsigned i = 0; i < PAIRS; i++) {
		assert_true(time_fit_lo(&m, pair[i].a_lo) <= pair[i].b_hi);
		assert_true(time_fit_hi(&m, pair[i].a_hi) >= pair[i].b_lo);
	}
	for (uint64_t c = r.begin; stated && c <= r.end; c += (r.end - r.begin) / 5000) {
		uint64_t ns = time_map_ns(&exact, c);

		assert_true(time_fit_lo(&m, c) <= ns + 1 && ns <= time_fit_hi(&m, c));
	}
	time_fit_free(&m);
}
#else
static void clock_of_perf(void **state)
{
	print_message("skipped: the conversion of this machine's counter is not TSC's\n");
	skip();
}
#endif

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clocks_of_linux),
		cmocka_unit_test(clock_of_perf),
	};
	char comm[16];

	/* under user-mode emulation /proc tells of the emulator */
	proc_comm(getpid(), comm);
	if (strncmp(comm, "test_fit_real", 13)) {
		puts("an emulator makes its counter of a clock of its own");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
