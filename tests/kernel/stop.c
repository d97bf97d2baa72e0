/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A recording whose machine loses its power: the library's recorder writes to a disk, and on the
 * console stands what the kernel said is on it (stop.py). fdatasync() is wrapped by the linker.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "cases.h"
#include "client.h"

#define BURST	20	/* calls, then a pause of 10 ms */

int __real_fdatasync(int fd);
int __wrap_fdatasync(int fd);

int __wrap_fdatasync(int fd)
{
	char link[64], path[256], line[300];
	struct stat st;
	ssize_t n;
	int rc;

	/* what came after this may be there, too */
	if (fstat(fd, &st))
		st.st_size = 0;
	rc = __real_fdatasync(fd);
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (!rc && n > 6 && !memcmp(path, "/disk/", 6)) {
		path[n] = 0;
		n = snprintf(line, sizeof(line), "synced %s %" PRId64 "\n", path + 6,
			     (int64_t)st.st_size);
		if (write(1, line, (size_t)n) != n)
			client_fail("the console");
	}
	return rc;
}

static uint64_t until;	/* ns: then the last call was made */

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Calls that are numbered, on a CPU of its own. */
static void *call(void *arg)
{
	long cpu = (long)(intptr_t)arg, i = 0;
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	while (now_ns() < until) {
		for (int k = 0; k < BURST; k++)
			syscall(SYS_getppid, 1, 2, 3, 4, cpu, i++);
		usleep(10000);
	}
	printf("calls %ld %ld\n", cpu, i);
	return NULL;
}

void case_stop(void)
{
	const char *seconds = getenv("SPAN");
	uint64_t span = 1000000000ull * (uint64_t)(seconds ? atol(seconds) : 10);
	struct hwt_record_kernel_result r;
	struct hwt_diag d = { .text = "" };
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = "/disk/stop.hwt",
		.events = "syscall.enter:getppid, sched.switch", .all = true,
		.limit_ns = span };
	pthread_t t[2];

	printf("recording\n");
	/* the recording begins later and takes as long: it has the last call, however it closes */
	until = now_ns() + span;
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, call, (void *)i);
	if (hwt_record_kernel(&o, &r, &d) || r.lost)
		client_fail("recording: %s; %" PRIu64 " lost", d.text, r.lost);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("# recorded %" PRIu64 " events\n", r.events);
}
