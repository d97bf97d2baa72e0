/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "hwtrace/capture/dirty.h"
#include "hwtrace/capture/hwprov.h"
#include "hwtrace/capture/perf_open.h"

#include "cases.h"
#include "client.h"
#include "work.h"

/* The module is the only provider in this guest: others need a library (tests/kernel/beside). */
const char *hwt_provider_name(unsigned provider)
{
	return provider ? NULL : "module";
}

int kprov_new(struct kprov **out, enum hwt_provider which, const struct kprov_want *want)
{
	return which == HWT_PROVIDER_MODULE ? module_new(out, want) : -ENOENT;
}

int kprov_dirty(struct kprov **out, const struct kprov_want *want)
{
	return -ENOENT;
}

int dirty_new(struct dirty **out, const struct strlist *patterns, unsigned id, unsigned max,
	      struct hwt_diag *diag)
{
	return -ENOENT;
}

void dirty_free(struct dirty *d)
{
}

const struct hwt_abi_own *dirty_own(const struct dirty *d, unsigned *n)
{
	*n = 0;
	return NULL;
}

/* Nor is there trace. */
const char *hwt_via_name(unsigned via)
{
	return NULL;
}

int hwprov_new(struct kprov **out, enum hwt_via via, const struct hw_want *want)
{
	return -ENOENT;
}

bool perf_open_clock(struct time_map *map)
{
	return false;
}

#define LOAD	50000	/* calls on each of two CPUs */

static char *const program[] = { "/bin/guest", "calls", NULL };

/* Context fields and functions, which the host looks for. */
static void own(void)
{
	static char *const reads[] = { "/bin/guest", "calls", "reads", NULL };
	struct hwt_record_kernel_result r;
	struct hwt_diag d = { 0 };
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = "/tmp/out/own.hwt",
		.events = "kprobe:vfs_read(buf, count:u64@2), syscall.enter:getppid, "
			"kretprobe:vfs_read", .contexts = "comm, prio, counter:page-faults",
		.argv = reads };

	if (hwt_record_kernel(&o, &r, &d) || r.lost || r.end != HWT_RECORD_EXITED || r.code)
		client_fail("context and functions: %s; %" PRIu64 " lost", d.text, r.lost);
	o.output = "/tmp/out/no.hwt";
	o.events = "kprobe:no_such_function";
	if (hwt_record_kernel(&o, &r, &d) != -ENOENT)
		client_fail("no function: %s", d.text);
	o.events = "irq.*";
	o.contexts = "counter:1/4711";
	if (hwt_record_kernel(&o, &r, &d) != -ENOENT)
		client_fail("no counter: %s", d.text);
}

static int record(const char *name, const char *events, char *const *argv, bool all,
		  uint64_t limit_ns, struct hwt_record_kernel_result *r, struct hwt_diag *d)
{
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = name, .events = events,
		.argv = argv, .all = all, .limit_ns = limit_ns };

	*d = (struct hwt_diag){ 0 };
	return hwt_record_kernel(&o, r, d);
}

void case_load(void)
{
	work_load(LOAD);
	work_loaded();
}

/* More than its small ring takes; the host counts. */
static void lossy(void)
{
	static char *const load[] = { "/bin/guest", "load", NULL };
	struct hwt_record_kernel_result r;
	struct hwt_diag d = { 0 };
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = "/tmp/out/lossy.hwt",
		.events = "syscall.*", .all = true, .argv = load, .buffer_bytes = 131072 };

	if (hwt_record_kernel(&o, &r, &d) || !r.lost || r.end != HWT_RECORD_EXITED || r.code)
		client_fail("more than fits: %s; %" PRIu64 " lost", d.text, r.lost);
	printf("# lossy.hwt: %" PRIu64 " events, %" PRIu64 " lost\n", r.events, r.lost);
}

void case_user(void)
{
	struct hwt_record_kernel_result r;
	struct hwt_diag d;

	if (record("/tmp/user.hwt", "*", program, false, 0, &r, &d) || r.lost ||
	    r.events < 2 * WORK_CALLS || r.end != HWT_RECORD_EXITED || r.code)
		client_fail("a user's program: %s; %" PRIu64 " events", d.text, r.events);
	if (record("/tmp/user2.hwt", "sched.switch", program, false, 0, &r, &d) != -EOPNOTSUPP)
		client_fail("a user records switches: %s", d.text);
}

void case_record(void)
{
	static char *const nothing[] = { "/bin/nothing", NULL };
	struct hwt_record_kernel_result r;
	struct hwt_diag d;

	if (record("/tmp/out/prog.hwt", "syscall.*, sched.*", program, false, 0, &r, &d) ||
	    r.lost || r.events < 2 * WORK_CALLS || r.end != HWT_RECORD_EXITED || r.code)
		client_fail("a program: %s; %" PRIu64 " events, %" PRIu64 " lost", d.text, r.events,
			    r.lost);
	printf("# recorded %" PRIu64 " of a program\n", r.events);
	if (record("/tmp/out/all.hwt", "*", program, true, 0, &r, &d) || r.end != HWT_RECORD_EXITED)
		client_fail("the machine: %s", d.text);
	printf("# recorded %" PRIu64 " of the machine, %" PRIu64 " lost\n", r.events, r.lost);
	if (record("/tmp/out/time.hwt", "irq.*", NULL, true, 300000000, &r, &d) || !r.events)
		client_fail("a time: %s", d.text);
	if (record("/tmp/out/some.hwt", "syscall.enter:getppid where arg5 < 10", program, true, 0,
		   &r, &d) || r.events > 300)
		client_fail("a filter: %s, %" PRIu64 " events", d.text, r.events);
	if (record("/tmp/out/no.hwt", "irq.nothing", NULL, true, 1, &r, &d) != -HWT_E_FILTER ||
	    record("/tmp/out/no.hwt", "sched.switch", nothing, false, 0, &r, &d) != -ENOENT ||
	    !access("/tmp/out/no.hwt", F_OK))
		client_fail("what can not be recorded: %s", d.text);
	own();
	lossy();
}

/* What it wrote before must be there, and open. */
void case_killed(void)
{
	struct hwt_record_kernel_result r;
	struct hwt_diag d;
	pid_t p = fork();

	if (!p) {
		record("/tmp/out/killed.hwt", "*", NULL, true, 0, &r, &d);
		_exit(0);
	}
	for (int i = 0; i < 30; i++) {
		work_calls();
		usleep(100000);
	}
	kill(p, SIGKILL);
	waitpid(p, NULL, 0);
}

#define KILLS 20

/* On the first CPU; @all is where it may run before. */
static void stay(cpu_set_t *all)
{
	cpu_set_t one;

	sched_getaffinity(0, sizeof(*all), all);
	CPU_ZERO(&one);
	CPU_SET(0, &one);
	sched_setaffinity(0, sizeof(one), &one);
}

/* Short ones: killed while it opens, at its first packets, or at any time later. */
void case_killed20(void)
{
	struct hwt_record_kernel_result r;
	struct hwt_diag d;
	cpu_set_t all;
	char name[64];

	/* of each CPU the last block may be lost: then what came behind it is on the same one */
	stay(&all);
	for (unsigned k = 0; k < KILLS; k++) {
		unsigned us = 1000 + 37991 * k % 700000;
		pid_t p = fork();

		if (!p) {
			snprintf(name, sizeof(name), "/tmp/out/killed-%u.hwt", k);
			record(name, "syscall.enter:getppid", NULL, true, 0, &r, &d);
			_exit(0);
		}
		for (unsigned done = 0; done < us; done += 10000) {
			work_calls();
			usleep(us - done < 10000 ? us - done : 10000);
		}
		kill(p, SIGKILL);
		waitpid(p, NULL, 0);
	}
	sched_setaffinity(0, sizeof(all), &all);
}

/* Sessions that recorders started, for who waits for that: in memory that is shared. */
static volatile unsigned *started;

int __real_ioctl(int fd, unsigned long cmd, void *arg);
int __wrap_ioctl(int fd, unsigned long cmd, void *arg);

/* boot.sh has all calls of ioctl() go here. */
int __wrap_ioctl(int fd, unsigned long cmd, void *arg)
{
	int rc = __real_ioctl(fd, cmd, arg);

	if (cmd == HWT_KMOD_START && !rc && started)
		++*started;
	return rc;
}

/* A busy machine takes its time for it. */
static void wait_started(unsigned n)
{
	for (int i = 0; i < 1200 && *started < n; i++)
		usleep(100000);
	if (*started < n)
		client_fail("%u of %u sessions are started", *started, n);
}

static volatile sig_atomic_t taken, stopped;

static void on_take(int sig)
{
	if (sig == SIGUSR2)
		taken++;
	else
		stopped = 1;
}

static void snapshots(const char *name, const char *events, const char *trigger)
{
	struct hwt_diag d = { 0 };
	struct hwt_record_kernel_result r;
	struct hwt_record_kernel_opts o = { .size = sizeof(o), .output = name, .all = true,
		.events = events, .snapshot = true, .buffer_bytes = 1u << 20, .take = &taken,
		.stop = &stopped, .trigger = trigger };
	struct sigaction sa = { .sa_handler = on_take };

	sigaction(SIGUSR2, &sa, NULL);
	sigaction(SIGTERM, &sa, NULL);
	if (hwt_record_kernel(&o, &r, &d))
		client_fail("snapshots: %s", d.text);
	_exit(r.snapshots);
}

static void calls_for(unsigned ms)
{
	for (unsigned i = 0; i < ms; i += 10) {
		work_calls();
		usleep(10000);
	}
}

/* The newest calls are in each; the third is what there is at the end. */
void case_snapshots(void)
{
	cpu_set_t all;
	int status;
	pid_t p;

	started = mmap(NULL, sizeof(*started), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
		       -1, 0);
	if (started == MAP_FAILED) {
		client_fail("no memory to share");
		return;
	}
	p = fork();
	if (!p)
		snapshots("/tmp/out/snap.hwt", "syscall.enter:getppid", NULL);
	/* each CPU keeps its own newest ones */
	stay(&all);
	/* after each snapshot it begins anew */
	for (unsigned i = 1; i <= 3; i++) {
		wait_started(i);
		calls_for(500);
		kill(p, i < 3 ? SIGUSR2 : SIGTERM);
	}
	if (waitpid(p, &status, 0) != p || !WIFEXITED(status) || WEXITSTATUS(status) != 3)
		client_fail("snapshots by a signal: status %x", status);
	*started = 0;
	p = fork();
	if (!p)
		snapshots("/tmp/out/event.hwt", "syscall.enter:getppid, sched.exit",
			  "syscall.enter:getppid where arg5 == 31337");
	wait_started(2);	/* one waits for the event */
	calls_for(200);
	syscall(SYS_getppid, 1, 2, 3, 4, 5, 31337);
	wait_started(3);
	kill(p, SIGTERM);
	if (waitpid(p, &status, 0) != p || !WIFEXITED(status) || WEXITSTATUS(status) != 2)
		client_fail("snapshots by an event: status %x", status);
	sched_setaffinity(0, sizeof(all), &all);
	munmap((void *)started, sizeof(*started));
	started = NULL;
}
