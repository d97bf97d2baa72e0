/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LENGTH_CALLS_H
#define LENGTH_CALLS_H

/* What programs call whose calls are counted and timed: a loop, and a recursion. */

static volatile long sink;

__attribute__((noinline)) void leaf(int n)
{
	for (int i = 0; i < n; i++)
		sink += i;
}

__attribute__((noinline)) int fact(int n)
{
	if (n < 2)
		return 1;
	sink += n;
	return n * fact(n - 1);
}

#endif
