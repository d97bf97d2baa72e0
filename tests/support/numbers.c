/* SPDX-License-Identifier: BSD-2-Clause */
#include "numbers.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

void *numbers_room(size_t n, size_t size)
{
	void *p = calloc(n + 1, size);

	if (!p)
		fail_msg("no memory");
	return p;
}

void numbers_add(struct numbers *l, uint64_t v)
{
	if (l->n == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 1024;
		l->v = realloc(l->v, l->cap * sizeof(*l->v));
		if (!l->v)
			fail_msg("no memory");
	}
	l->v[l->n++] = v;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

uint64_t numbers_share(struct numbers *l, unsigned permille)
{
	if (!l->n)
		return 0;
	qsort(l->v, l->n, sizeof(*l->v), by_value);
	return l->v[(l->n - 1) * permille / 1000];
}

double numbers_mean(const struct numbers *l)
{
	double sum = 0;

	for (size_t i = 0; i < l->n; i++)
		sum += (double)l->v[i];
	return l->n ? sum / (double)l->n : 0;
}
