/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RND_H
#define TESTS_RND_H

#include <stdint.h>

/* The same numbers in every run (xorshift, Marsaglia 2003). */
static inline uint64_t rnd(void)
{
	static uint64_t x = 88172645463325252;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

#endif
