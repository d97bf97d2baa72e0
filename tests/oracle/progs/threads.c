/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that sort, hand over work through a lock and a condition, and count. threads [N] */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define THREADS	4

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int jobs, items;
static long total;

static int compare(const void *a, const void *b)
{
	return *(const int *)a - *(const int *)b;
}

static long sort_some(unsigned seed)
{
	int *v = malloc((size_t)items * sizeof(*v));
	long sum = 0;

	for (int i = 0; v && i < items; i++) {
		seed = seed * 1103515245 + 12345;
		v[i] = (int)(seed >> 16 & 0x7fff);
	}
	if (v)
		qsort(v, (size_t)items, sizeof(*v), compare);
	for (int i = 0; v && i < items; i += 7)
		sum += v[i];
	free(v);
	return sum;
}

static void *work(void *arg)
{
	long sum;

	for (;;) {
		int job;

		pthread_mutex_lock(&lock);
		while (!jobs)
			pthread_cond_wait(&more, &lock);
		job = jobs < 0 ? -1 : jobs--;
		pthread_mutex_unlock(&lock);
		if (job < 0)
			return NULL;
		sum = sort_some((unsigned)job);
		__atomic_fetch_add(&total, sum, __ATOMIC_RELAXED);
	}
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];

	items = argc > 1 ? atoi(argv[1]) : 300;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&t[i], NULL, work, NULL))
			return 1;
	}
	for (int i = 1; i <= 16; i++) {
		pthread_mutex_lock(&lock);
		jobs++;
		pthread_cond_signal(&more);
		pthread_mutex_unlock(&lock);
	}
	for (;;) {
		int left;

		pthread_mutex_lock(&lock);
		left = jobs;
		if (!left)
			jobs = -1;
		pthread_mutex_unlock(&lock);
		if (!left)
			break;
		sched_yield();
	}
	pthread_mutex_lock(&lock);
	pthread_cond_broadcast(&more);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", total);
	return 0;
}
