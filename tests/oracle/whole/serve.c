/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * serve: what the guest runs while it is recorded. Between two markers it answers requests, of
 * which some are slow for a reason that is planted, and makes the kernel do something of all that
 * it tells. serve FILE: hands FILE to the recorder.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <hwtrace/kmod.h>

#include "../guest/marker.h"

#define PAGE		4096
#define PAGES		16	/* that a request writes to */
#define REQUESTS	16
/* the slow ones, counted from 0; why is the name of each (slow.py) */
#define LONGER		4
#define PREEMPTED	7
#define FAULTS		10
#define INTERRUPTS	13
#define TIMERS		24

static char *memory;
static int kick, hog_go[2], timers[TIMERS];
static volatile uint32_t hogged;

static void check(int ok, const char *what)
{
	if (!ok) {
		printf("FAIL serve: %s: %s\n", what, strerror(errno));
		fflush(stdout);
		_exit(1);
	}
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	check(!sched_setaffinity(0, sizeof(set), &set), "sched_setaffinity");
}

static int64_t now(void)
{
	struct timespec t;

	check(!clock_gettime(CLOCK_MONOTONIC, &t), "clock_gettime");
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void set_timers(int64_t first, int64_t step)
{
	for (int i = 0; i < TIMERS; i++, first += step) {
		const struct itimerspec it = { .it_value = { first / 1000000000,
			first % 1000000000 } };

		check(!timerfd_settime(timers[i], TFD_TIMER_ABSTIME, &it, NULL), "timerfd_settime");
	}
}

/* They come while the next request is answered, which takes @length. */
static void interrupt(int64_t length)
{
	int64_t at = now(), set;

	/* how long it takes to set them depends on the machine that emulates: most are for that */
	set_timers(at + 1000000000, 0);
	set = now() - at;
	set_timers(now() + set, length / 3);
}

/*
 * Of a higher priority on the same CPU: once it was told to, it waits for what the next request
 * does, and computes for a while.
 */
static void *hog(void *arg)
{
	const struct sched_param p = { .sched_priority = 10 };
	uint64_t n;
	char c;

	on_cpu(0);
	check(!pthread_setschedparam(pthread_self(), SCHED_FIFO, &p), "SCHED_FIFO");
	while (read(hog_go[0], &c, 1) == 1) {
		/* what the requests before did */
		check(read(kick, &n, sizeof(n)) == sizeof(n), "read");
		check(read(kick, &n, sizeof(n)) == sizeof(n), "read");
		for (uint32_t i = 0; i < 30000; i++)
			hogged += i;
	}
	return NULL;
}

/* What a request has to do, and one more than others. */
__attribute__((noinline)) uint32_t extra(uint32_t v)
{
	for (int i = 0; i < 10000; i++)
		v = v & 1 ? v * 3 + 1 : v >> 1 ^ v << 5;
	return v;
}

__attribute__((noinline)) uint32_t request(uint32_t n, int longer)
{
	const uint64_t one = 1;
	uint32_t v = n;

	for (int i = 0; i < PAGES; i++)
		memory[i * PAGE] = (char)n;
	check(write(kick, &one, sizeof(one)) == sizeof(one), "kick");
	for (int i = 0; i < 20000; i++) {
		v = v * 1664525 + 1013904223;
		__asm__ volatile("" : "+r" (v));
	}
	if (longer)
		v += extra(v);
	return v;
}

/* Its number, in the trace and as a record of the kernel. */
static void mark(int fd, uint64_t n)
{
	struct hwt_kmod_mark m = { .size = sizeof(m), .kind = HWT_KMOD_MARK, .value = n,
		.channel = 1 };

	marker_value(n);
	check(!ioctl(fd, HWT_KMOD_MARK_IT, &m), "a mark");
}

static uint32_t serve(int fd)
{
	int64_t began, length = 0;
	uint32_t v = 0;

	for (uint32_t n = 0; n < REQUESTS; n++) {
		if (n == PREEMPTED)
			check(write(hog_go[1], "", 1) == 1, "write");
		if (n == INTERRUPTS)
			interrupt(length);
		if (n == FAULTS)
			check(!madvise(memory, PAGES * PAGE, MADV_DONTNEED), "madvise");
		mark(fd, n + 1);
		began = now();
		v += request(n, n == LONGER);
		length = now() - began;
		getppid();
	}
	return v;
}

/* --- something of all that the kernel tells --- */

static int to_thread[2], from_thread[2];

static void *answer(void *arg)
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

static uint32_t ask(uint32_t v)
{
	check(write(to_thread[1], &v, sizeof(v)) == sizeof(v), "write");
	check(read(from_thread[0], &v, sizeof(v)) == sizeof(v), "read");
	return v;
}

static void children(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t p = fork();

		if (!p) {
			on_cpu(i & 1);
			execl("/bin/serve", "serve", "", (char *)NULL);
			_exit(1);
		}
		check(waitpid(p, NULL, 0) == p, "waitpid");
	}
}

static void packets(int n)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5555),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	char buf[100] = "";

	check(!bind(in, (struct sockaddr *)&to, sizeof(to)), "bind");
	for (int i = 0; i < n; i++)
		check(sendto(out, buf, sizeof(buf), 0, (struct sockaddr *)&to, sizeof(to)) > 0 &&
		      recv(in, buf, sizeof(buf), 0) > 0, "a packet");
	close(in);
	/* nobody is there any more: thrown away */
	sendto(out, buf, sizeof(buf), 0, (struct sockaddr *)&to, sizeof(to));
	close(out);
}

static volatile sig_atomic_t alarms;

static void on_alarm(int sig)
{
	alarms++;
}

static void put(const char *name, const char *text)
{
	int fd = open(name, O_WRONLY);

	check(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), name);
	close(fd);
}

/* --- the kernel's code is rewritten while both CPUs run it --- */

static volatile int patched;

static void *run_patched(void *arg)
{
	const struct itimerspec soon = { .it_value.tv_nsec = 50000 };
	uint64_t n = 1;
	int fd = eventfd(0, 0);

	on_cpu(1);
	while (!patched) {
		getppid();
		if (write(fd, &n, sizeof(n)) != sizeof(n) || read(fd, &n, sizeof(n)) != sizeof(n))
			break;
		check(!timerfd_settime(timers[0], 0, &soon, NULL), "timerfd_settime");
		sched_yield();
		usleep(500);
	}
	close(fd);
	return NULL;
}

static void try_put(const char *name, const char *text)
{
	char path[128];
	int fd;

	snprintf(path, sizeof(path), "/sys/kernel/tracing/%s", name);
	fd = open(path, O_WRONLY | O_APPEND);
	if (fd < 0 || write(fd, text, strlen(text)) < 0)
		printf("serve: no %s %s\n", name, text);
	if (fd >= 0)
		close(fd);
}

#ifdef __x86_64__
#define SYS(call)	"__x64_sys_" call
#else
#define SYS(call)	"__arm64_sys_" call
#endif

/*
 * A static key, tracepoints, functions that are traced, and a probe behind the begin of one, whose
 * breakpoint becomes a jump. arm64: without the functions, whose patches nothing tells.
 */
static void patch(int on)
{
	static const char *const names[] = { "events/sched/sched_stat_runtime/enable",
		"events/timer/timer_start/enable",
#ifdef __x86_64__
		"events/irq_vectors/enable"
#else
		"events/ipi/enable"
#endif
	};

	put("/proc/sys/kernel/sched_schedstats", on ? "1" : "0");
	for (unsigned i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		try_put(names[i], on ? "1" : "0");
#ifdef __x86_64__
	try_put("current_tracer", on ? "function" : "nop");
#endif
	try_put("events/kprobes/enable", on ? "1" : "0");
}

static void rewrite(int rounds)
{
	pthread_t t;

	check(!pthread_create(&t, NULL, run_patched, NULL), "pthread_create");
	for (int i = 0; i < rounds; i++) {
		patch(!(i & 1));
		/* the kernel makes jumps of breakpoints when it has waited for a while */
		usleep(100000);
	}
	patched = 1;
	pthread_join(t, NULL);
}

static void before_rewrite(void)
{
#ifdef __x86_64__
	try_put("set_ftrace_filter", SYS("getppid") " eventfd_write do_timerfd_settime\n");
	try_put("kprobe_events", "p:getppid5 " SYS("getppid") "+5\n");
	try_put("kprobe_events", "p:yield5 " SYS("sched_yield") "+5\n");
#else
	try_put("kprobe_events", "p:getppid16 " SYS("getppid") "+16\n");
	try_put("kprobe_events", "p:yield16 " SYS("sched_yield") "+16\n");
#endif
}

static void work(int rounds)
{
	const struct itimerval often = { { 0, 3000 }, { 0, 3000 } }, never = { 0 };
	uint32_t v = 1;

	setitimer(ITIMER_REAL, &often, NULL);
	for (int i = 0; i < rounds; i++) {
		for (int k = 0; k < 20; k++)
			v = ask(v);
		packets(3);
		children(2);
		usleep(2000);
		on_cpu(i & 1);
	}
	setitimer(ITIMER_REAL, &never, NULL);
	on_cpu(0);
}

/* Code that the kernel gives to all programs, as a file. */
static void copy_vdso(void)
{
	FILE *maps = fopen("/proc/self/maps", "r"), *f = fopen("vdso", "wb");
	unsigned long from, to;
	char line[256];

	check(maps && f, "maps");
	while (fgets(line, sizeof(line), maps))
		if (strstr(line, "[vdso]") && sscanf(line, "%lx-%lx", &from, &to) == 2)
			check(fwrite((void *)from, to - from, 1, f) == 1, "vdso");
	check(!fclose(f), "vdso");
	fclose(maps);
}

static void export(const char *name)
{
	int fd = open(name, O_RDONLY);
	struct stat st;
	void *p;

	check(fd >= 0 && !fstat(fd, &st), name);
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd, 0);
	check(p != MAP_FAILED && !mlock(p, (size_t)st.st_size), "mmap");
	marker_export(p, (unsigned long)st.st_size);
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	int device;

	if (argc > 1) {
		if (*argv[1])
			export(argv[1]);
		return 0;
	}
	on_cpu(0);
	signal(SIGALRM, on_alarm);
	memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
		      -1, 0);
	kick = eventfd(0, 0);
	device = open(HWT_KMOD_DEVICE, O_RDWR);
	check(memory != MAP_FAILED && kick >= 0 && device >= 0 && !pipe(hog_go) &&
	      !pipe(to_thread) && !pipe(from_thread), "to begin");
	for (int i = 0; i < TIMERS; i++)
		check((timers[i] = timerfd_create(CLOCK_MONOTONIC, 0)) >= 0, "timerfd_create");
	check(!pthread_create(&t[0], NULL, answer, NULL) && !pthread_create(&t[1], NULL, hog, NULL),
	      "pthread_create");
	copy_vdso();
	/* each way once, so that what the kernel does at the first time is done */
	request(1, 1);
	work(1);
	if (getenv("PATCH"))
		before_rewrite();
	MARKER(1);
	getppid();
	serve(device);
	if (getenv("PATCH"))
		rewrite(atoi(getenv("PATCH")));
	else
		work(2);
	getppid();
	MARKER(2);
	printf("guest: served, %d alarms\n", (int)alarms);
	fflush(stdout);
	_exit(0);
}
