/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Thirty rounds of the same work between getppid() and getuid(). In one a task of higher priority
 * takes the CPU: printed is for how long at least, and how long the round took at most, in ns. In
 * another the task sleeps: for how long at most, its CPU time around that, and the round.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static sem_t go;
static volatile uint64_t sink;
static uint64_t hogged;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t now(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

static void spin(uint64_t ns)
{
	uint64_t end = now() + ns;

	while (now() < end)
		sink++;
}

static void *hog(void *arg)
{
	uint64_t begin;

	(void)arg;
	sem_wait(&go);
	begin = now();
	spin(40000000);
	hogged = now() - begin;
	return NULL;
}

int main(void)
{
	struct sched_param rt = { .sched_priority = 50 };
	uint64_t preempted = 0, blocked = 0, ran = 0, last = 0;
	cpu_set_t one;
	pthread_t t;
	int cpu = sched_getcpu();

	CPU_ZERO(&one);
	CPU_SET(cpu < 0 ? 0 : cpu, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sem_init(&go, 0, 0) ||
	    pthread_create(&t, NULL, hog, NULL) || pthread_setschedparam(t, SCHED_FIFO, &rt)) {
		fprintf(stderr, "no task of higher priority here\n");
		return 77;
	}
	pthread_setname_np(t, "hog");
	usleep(10000);
	for (int i = 0; i < 30; i++) {
		struct timespec ms = { 0, 90000000 };
		uint64_t start = now();

		syscall(SYS_getppid);
		spin(300000);
		if (i == 17)
			sem_post(&go);
		if (i == 23) {
			ran = read_clock(CLOCK_THREAD_CPUTIME_ID);
			blocked = now();
			nanosleep(&ms, NULL);
			blocked = now() - blocked;
			ran = read_clock(CLOCK_THREAD_CPUTIME_ID) - ran;
		}
		spin(300000);
		syscall(SYS_getuid);
		if (i == 17)
			preempted = now() - start;
		if (i == 23)
			last = now() - start;
	}
	pthread_join(t, NULL);
	printf("preempted %llu %llu\n", (unsigned long long)hogged,
	       (unsigned long long)preempted);
	printf("blocked %llu %llu %llu\n", (unsigned long long)blocked,
	       (unsigned long long)ran, (unsigned long long)last);
	return 0;
}
