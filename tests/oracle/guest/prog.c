/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * First process of the guest: between two markers it makes system calls, page faults and signals,
 * forks, talks to another process and to a thread on the other CPU, and waits for timers. Then it
 * powers off. What goes wrong is said on the console.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "marker.h"

#define PAGE		4096
#define JIT_AT		((void *)0x10000000)
#define ROUNDS		8

static int to_peer[2], from_peer[2], to_thread[2], from_thread[2];
static volatile sig_atomic_t usr, alarms, faults;
static char *guarded;
static int patch;

static void check(int ok, const char *what)
{
	if (!ok) {
		printf("guest: %s failed\n", what);
		fflush(stdout);
		reboot(RB_POWER_OFF);
	}
}

static void on_usr(int sig)
{
	usr++;
}

static void on_alarm(int sig)
{
	alarms++;
}

static void on_segv(int sig, siginfo_t *si, void *ctx)
{
	faults++;
	if (mprotect(guarded, PAGE, PROT_READ | PROT_WRITE))
		_exit(99);
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static uint32_t ask(const int *to, const int *from, uint32_t v)
{
	check(write(to[1], &v, sizeof(v)) == sizeof(v), "write");
	check(read(from[0], &v, sizeof(v)) == sizeof(v), "read");
	return v;
}

static void *thread(void *arg)
{
	uint32_t v;

	on_cpu(1);
	while (read(to_thread[0], &v, sizeof(v)) == sizeof(v)) {
		v = v * 2654435761u + 1;
		if (write(from_thread[1], &v, sizeof(v)) != sizeof(v))
			break;
	}
	return NULL;
}

static void start_peer(void)
{
	check(!pipe(to_peer) && !pipe(from_peer), "pipe");
	if (!fork()) {
		dup2(to_peer[0], 0);
		dup2(from_peer[1], 1);
		close(to_peer[1]);
		execl("/peer", "peer", (char *)NULL);
		_exit(1);
	}
	ask(to_peer, from_peer, 1);
}

/* int f(void) { return n; } */
static void write_code(void *at, unsigned n)
{
#if defined(__x86_64__)
	uint8_t code[] = { 0xb8, (uint8_t)n, 0, 0, 0, 0xc3 };
#else
	uint32_t code[] = { 0x52800000 | n << 5, 0xd65f03c0 };
#endif
	memcpy(at, code, sizeof(code));
	__builtin___clear_cache(at, (char *)at + sizeof(code));
}

static int call_code(void *at)
{
	int (*f)(void);

	memcpy(&f, &at, sizeof(f));
	return f();
}

/* A child with code of its own where the parent has another. */
static void child(void *code)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		write_code(code, 7);
		_exit(call_code(code));
	}
	check(call_code(code) == 5, "code");
	check(waitpid(pid, &status, 0) == pid && WEXITSTATUS(status) == 7, "child");
}

static void touch(int pages)
{
	volatile char *p = mmap(NULL, (size_t)pages * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	check(p != MAP_FAILED, "mmap");
	for (int i = 0; i < pages; i++)
		p[i * PAGE] = 1;
	munmap((void *)p, (size_t)pages * PAGE);
}

/* Calls and returns in the program itself. */
static uint32_t fib(uint32_t n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

static int by_value(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

	return (x > y) - (x < y);
}

static void compute(uint32_t seed)
{
	uint32_t v[200];

	for (int i = 0; i < 200; i++)
		v[i] = seed = seed * 1664525 + 1013904223;
	qsort(v, 200, sizeof(v[0]), by_value);
	check(v[0] <= v[199] && fib(13) == 233, "computation");
}

/* A switch of the kernel that is made by writing its code. */
static void patch_kernel(int on)
{
	static const char name[] = "/proc/sys/kernel/sched_schedstats";
	int fd = open(name, O_WRONLY);

	check(fd >= 0 && write(fd, on ? "1" : "0", 1) == 1, name);
	close(fd);
}

static void work(void *code)
{
	uint32_t v = 1;

	for (int i = 0; i < ROUNDS; i++) {
		getppid();
		touch(4);
		raise(SIGUSR1);
		check(!mprotect(guarded, PAGE, PROT_NONE), "mprotect");
		*(volatile char *)guarded = 1;
		compute(v);
		if (patch)
			patch_kernel(i & 1);
		v = ask(to_peer, from_peer, v);
		v = ask(to_thread, from_thread, v);
		if (i % 4 == 0)
			child(code);
	}
	while (alarms < 2)
		for (volatile int i = 0; i < 300; i++)
			;
}

/* "patch=1" on the kernel command line: its code is rewritten. */
int main(void)
{
	const struct itimerval often = { { 0, 20000 }, { 0, 20000 } }, never = { 0 };
	struct sigaction segv = { .sa_sigaction = on_segv, .sa_flags = SA_SIGINFO };
	pthread_t t;
	void *code;

	patch = getenv("patch") != NULL;
	check(!mount("proc", "/proc", "proc", 0, NULL), "mount");
	on_cpu(0);
	start_peer();
	check(!pipe(to_thread) && !pipe(from_thread), "pipe");
	check(!pthread_create(&t, NULL, thread, NULL), "pthread_create");
	ask(to_thread, from_thread, 1);
	signal(SIGUSR1, on_usr);
	signal(SIGALRM, on_alarm);
	sigaction(SIGSEGV, &segv, NULL);
	guarded = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	code = mmap(JIT_AT, PAGE, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	check(guarded != MAP_FAILED && code != MAP_FAILED, "mmap");
	write_code(code, 5);
	/* each way once, so that what the kernel does at the first time is done */
	setitimer(ITIMER_REAL, &often, NULL);
	work(code);
	setitimer(ITIMER_REAL, &never, NULL);
	usr = alarms = faults = 0;
	MARKER(1);
	getppid();
	setitimer(ITIMER_REAL, &often, NULL);
	work(code);
	setitimer(ITIMER_REAL, &never, NULL);
	getppid();
	MARKER(2);
	printf("guest: done, %d signals, %d alarms, %d faults%s\n", (int)usr, (int)alarms,
	       (int)faults, patch ? ", kernel patched" : "");
	fflush(stdout);
	reboot(RB_POWER_OFF);
	return 0;
}
