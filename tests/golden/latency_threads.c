/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Three threads call job() twelve times each. In one call the first sleeps with a lock in its hand,
 * in one the second wants that lock; both say how long that took by the clock of the program, ns.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CALLS	12
#define NAP	60000	/* us */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t held;
static volatile long sink;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void say(const char *what, uint64_t ns)
{
	printf("%s %ld %llu\n", what, syscall(SYS_gettid), (unsigned long long)ns);
}

__attribute__((noinline)) uint64_t job(int who, int k)
{
	uint64_t begin = 0;

	for (int i = 0; i < 10; i++)
		sink += i;
	if (who == 0 && k == 5) {
		begin = now();
		/* until the other one wants the lock, to which it may come late: 2 in glibc */
		do
			usleep(NAP);
		while (__atomic_load_n(&lock.__data.__lock, __ATOMIC_RELAXED) != 2);
		begin = now() - begin;
	}
	if (who == 1 && k == 3) {
		begin = now();
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
		begin = now() - begin;
	}
	return begin;
}

static void *run(void *arg)
{
	int who = *(int *)arg;

	for (int k = 0; k < CALLS; k++) {
		uint64_t ns;

		if (who == 0 && k == 5)
			pthread_mutex_lock(&lock);
		if ((who == 0 && k == 5) || (who == 1 && k == 3))
			pthread_barrier_wait(&held);
		ns = job(who, k);
		if (who == 0 && k == 5)
			pthread_mutex_unlock(&lock);
		if (ns)
			say(who ? "lock" : "sleep", ns);
	}
	return arg;
}

int main(void)
{
	static int who[3] = { 0, 1, 2 };
	pthread_t t[3];

	if (pthread_barrier_init(&held, NULL, 2))
		return 1;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, run, &who[i]))
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return 0;
}
