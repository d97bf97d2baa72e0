/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/kmod.h>

#include "client.h"
#include "work.h"

static void on_signal(int sig)
{
}

void work_calls(void)
{
	for (int i = 0; i < WORK_CALLS; i++)
		syscall(SYS_getppid, 1, 2, 3, 4, 5, i);
}

static struct { pthread_t t[2]; int calls; atomic_int working; } load;

static void *call_on(void *cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET((int)(intptr_t)cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (int i = 0; i < load.calls; i++)
		syscall(SYS_getppid);
	load.working--;
	return NULL;
}

void work_load(int calls)
{
	load.calls = calls;
	load.working = 2;
	for (intptr_t i = 0; i < 2; i++)
		pthread_create(&load.t[i], NULL, call_on, (void *)i);
}

bool work_loads(void)
{
	return load.working;
}

void work_loaded(void)
{
	for (int i = 0; i < 2; i++)
		pthread_join(load.t[i], NULL);
}

void work_marks(int fd)
{
	static const char text[] = "here";

	for (unsigned kind = HWT_KMOD_MARK; kind <= HWT_KMOD_END; kind++)
		for (unsigned i = 0; i < WORK_MARKS; i++) {
			struct hwt_kmod_mark m = { .size = sizeof(m), .kind = kind,
				.value = 0x1234567800000000 + i, .channel = 7 + kind,
				.text = (uintptr_t)text, .len = i ? 4 : 0 };

			if (ioctl(fd, HWT_KMOD_MARK_IT, &m))
				client_fail("a mark");
		}
}

static void children(void)
{
	for (int i = 0; i < WORK_CHILDREN; i++) {
		pid_t p = fork();

		if (!p) {
			execl("/bin/true", "true", NULL);
			_exit(1);
		}
		waitpid(p, NULL, 0);
	}
}

static void on_cpu(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

static void *wander(void *arg)
{
	for (int i = 0; i < 20; i++) {
		on_cpu(i & 1);
		for (volatile int k = 0; k < 20000; k++)
			;
	}
	return NULL;
}

/* Two tasks that wait for each other, each on its CPU. */
static void ping(void)
{
	int a[2], b[2];
	pid_t p;
	char c = 0;

	if (pipe(a) || pipe(b))
		return;
	p = fork();
	if (!p) {
		on_cpu(1);
		for (int i = 0; i < 200; i++)
			if (read(a[0], &c, 1) != 1 || write(b[1], &c, 1) != 1)
				_exit(1);
		_exit(0);
	}
	on_cpu(0);
	for (int i = 0; i < 200; i++)
		if (write(a[1], &c, 1) != 1 || read(b[0], &c, 1) != 1)
			break;
	waitpid(p, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(a[i]);
		close(b[i]);
	}
}

static void packets(void)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(5555),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int in = socket(AF_INET, SOCK_DGRAM, 0), out = socket(AF_INET, SOCK_DGRAM, 0);
	char buf[100] = "";

	if (bind(in, (struct sockaddr *)&to, sizeof(to)))
		client_fail("bind");
	for (int i = 0; i < WORK_PACKETS; i++) {
		if (sendto(out, buf, sizeof(buf), 0, (struct sockaddr *)&to, sizeof(to)) < 0 ||
		    recv(in, buf, sizeof(buf), 0) < 0)
			client_fail("a packet");
	}
	close(in);
	/* nobody is there any more: thrown away */
	sendto(out, buf, sizeof(buf), 0, (struct sockaddr *)&to, sizeof(to));
	close(out);
}

static void blocks(const char *disk)
{
	int fd = open(disk, O_RDONLY | O_DIRECT);
	void *p;

	if (fd < 0 || posix_memalign(&p, 4096, 4096)) {
		client_fail("the disk %s", disk);
		return;
	}
	for (int i = 0; i < WORK_BLOCKS; i++)
		if (pread(fd, p, 4096, i * 65536) != 4096)
			client_fail("a block of %s", disk);
	free(p);
	close(fd);
}

static void code(void)
{
	int fd = open("/bin/busybox", O_RDONLY);
	uint8_t *p = mmap(NULL, 8192, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096);
	uint8_t *q = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	*q = *p;
	mprotect(q, 4096, PROT_READ | PROT_EXEC);
	munmap(p, 8192);
	munmap(q, 4096);
	close(fd);
}

static void timers(void)
{
	struct itimerval it = { .it_value.tv_usec = 2000 };

	for (int i = 0; i < 5; i++) {
		usleep(1000);
		setitimer(ITIMER_REAL, &it, NULL);
		usleep(4000);	/* the signal may come to any thread, or before */
	}
}

static void module(const char *path)
{
	int fd = open(path, O_RDONLY);
	char name[64];

	if (fd < 0 || syscall(SYS_finit_module, fd, "", 0))
		client_fail("the module %s", path);
	close(fd);
	snprintf(name, sizeof(name), "%s", strrchr(path, '/') + 1);
	*strchrnul(name, '.') = 0;
	for (char *c = name; *c; c++)
		if (*c == '-')
			*c = '_';
	if (syscall(SYS_delete_module, name, O_NONBLOCK))
		client_fail("taking %s out", name);
}

void work_all(int fd, const char *disk, const char *mod)
{
	cpu_set_t all;
	pthread_t t[2];

	sched_getaffinity(0, sizeof(all), &all);
	signal(SIGALRM, on_signal);
	work_calls();
	work_marks(fd);
	children();
	ping();
	sched_setaffinity(0, sizeof(all), &all);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, wander, NULL);
	packets();
	blocks(disk);
	code();
	timers();
	module(mod);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}
