/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that lengths are asked of, in two threads: one call in eight has more to do. To be
 * built with -foptimize-sibling-calls: work() ends by a jump into leaf().
 */
#include <pthread.h>

#include "calls.h"

__attribute__((noinline)) void work(int k)
{
	leaf(20);
	if (k % 8 == 0)
		leaf(90);
	sink += fact(4);
	leaf(7);
}

__attribute__((noinline)) int chain_on(int n)
{
	sink += n;
	return fact(2);
}

/* Ends by a jump, one time in two by a second one behind it: it takes until run() goes on. */
__attribute__((noinline)) int chain(int n)
{
	return n & 1 ? chain_on(n) : fact(3);
}

static void *run(void *arg)
{
	for (int k = 0; k < 240; k++) {
		work(k);
		sink += chain(k);
	}
	return arg;
}

int main(void)
{
	pthread_t t;

	if (pthread_create(&t, NULL, run, NULL))
		return 1;
	run(NULL);
	return pthread_join(t, NULL);
}
