/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Four rounds between getppid() and getuid(), each with something to wait for, on one CPU: a lock
 * whose holder sleeps; a pipe whose writer computes; a task of higher priority that takes the CPU;
 * a lock whose holder waits for a writer that sleeps. Printed is for each: its name, the ids of the
 * tasks that it is about, and ns that they measured.
 */
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int pipes[4][2];
static sem_t ready, go;
static volatile uint64_t sink;
static uint64_t slept, computed, hogged, slept_far;
static int holder_tid, writer_tid, hog_tid, middle_tid, far_tid;

static uint64_t read_clock(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void spin(clockid_t id, uint64_t ns)
{
	uint64_t end = read_clock(id) + ns;

	/* CPU time is asked of the kernel: not too often */
	while (read_clock(id) < end)
		for (int i = 0; i < (id == CLOCK_MONOTONIC ? 1 : 100000); i++)
			sink++;
}

static uint64_t doze(long ns)
{
	struct timespec t = { 0, ns };
	uint64_t begin = read_clock(CLOCK_MONOTONIC);

	nanosleep(&t, NULL);
	return read_clock(CLOCK_MONOTONIC) - begin;
}

static void start(pthread_t *t, const char *name, void *(*run)(void *))
{
	pthread_create(t, NULL, run, NULL);
	pthread_setname_np(*t, name);
}

static void *holder(void *arg)
{
	holder_tid = (int)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	sem_post(&ready);
	slept = doze(60000000);
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *writer(void *arg)
{
	char c;

	writer_tid = (int)syscall(SYS_gettid);
	computed = read(pipes[0][0], &c, 1) == 1 ? read_clock(CLOCK_THREAD_CPUTIME_ID) : 0;
	spin(CLOCK_THREAD_CPUTIME_ID, 40000000);
	computed = read_clock(CLOCK_THREAD_CPUTIME_ID) - computed;
	return write(pipes[1][1], "x", 1) == 1 ? arg : NULL;
}

static void *hog(void *arg)
{
	uint64_t begin;

	hog_tid = (int)syscall(SYS_gettid);
	sem_wait(&go);
	begin = read_clock(CLOCK_MONOTONIC);
	spin(CLOCK_MONOTONIC, 50000000);
	hogged = read_clock(CLOCK_MONOTONIC) - begin;
	return arg;
}

static void *middle(void *arg)
{
	char c;

	middle_tid = (int)syscall(SYS_gettid);
	pthread_mutex_lock(&lock);
	sem_post(&ready);
	if (read(pipes[2][0], &c, 1) != 1)
		return NULL;
	pthread_mutex_unlock(&lock);
	return arg;
}

static void *far(void *arg)
{
	far_tid = (int)syscall(SYS_gettid);
	sem_wait(&go);
	slept_far = doze(70000000);
	return write(pipes[2][1], "x", 1) == 1 ? arg : NULL;
}

static void round_lock(void)
{
	pthread_t t;

	start(&t, "holder", holder);
	sem_wait(&ready);
	syscall(SYS_getppid);
	pthread_mutex_lock(&lock);
	syscall(SYS_getuid);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	printf("lock %d %llu\n", holder_tid, (unsigned long long)slept);
}

static void round_pipe(void)
{
	pthread_t t;
	char c;

	start(&t, "writer", writer);
	usleep(5000);
	syscall(SYS_getppid);
	if (write(pipes[0][1], "x", 1) != 1 || read(pipes[1][0], &c, 1) != 1)
		return;
	syscall(SYS_getuid);
	pthread_join(t, NULL);
	printf("pipe %d %llu\n", writer_tid, (unsigned long long)computed);
}

static int round_hog(void)
{
	struct sched_param rt = { .sched_priority = 50 };
	pthread_t t;

	start(&t, "hog", hog);
	if (pthread_setschedparam(t, SCHED_FIFO, &rt))
		return 77;
	usleep(5000);
	syscall(SYS_getppid);
	sem_post(&go);
	syscall(SYS_getuid);
	pthread_join(t, NULL);
	printf("hog %d %llu\n", hog_tid, (unsigned long long)hogged);
	return 0;
}

static void round_chain(void)
{
	pthread_t t, u;

	start(&u, "far", far);
	start(&t, "middle", middle);
	sem_wait(&ready);
	usleep(5000);
	syscall(SYS_getppid);
	sem_post(&go);
	pthread_mutex_lock(&lock);
	syscall(SYS_getuid);
	pthread_mutex_unlock(&lock);
	pthread_join(t, NULL);
	pthread_join(u, NULL);
	printf("chain %d %d %llu\n", middle_tid, far_tid, (unsigned long long)slept_far);
}

int main(void)
{
	cpu_set_t one;
	int rc;

	CPU_ZERO(&one);
	CPU_SET(0, &one);
	if (sched_setaffinity(0, sizeof(one), &one) || sem_init(&ready, 0, 0) ||
	    sem_init(&go, 0, 0))
		return 77;
	for (int i = 0; i < 4; i++)
		if (pipe(pipes[i]))
			return 77;
	round_lock();
	round_pipe();
	rc = round_hog();
	if (rc)
		return rc;
	round_chain();
	return 0;
}
