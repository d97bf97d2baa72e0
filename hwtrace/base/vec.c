/* SPDX-License-Identifier: BSD-2-Clause */
#include "vec.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int vec_room(void *array, size_t *cap, size_t n, size_t size)
{
	size_t want = *cap ? *cap * 2 : 16;
	void *old, *p;

	if (n < *cap)
		return 0;
	if (want > SIZE_MAX / size)
		return -ENOMEM;
	memcpy(&old, array, sizeof(old));
	p = realloc(old, want * size);
	if (!p)
		return -ENOMEM;
	memcpy(array, &p, sizeof(p));
	*cap = want;
	/* cppcheck-suppress memleak ; the array has it */
	return 0;
}

void *vec_push(struct vec *a, size_t size)
{
	if (vec_room(&a->v, &a->cap, a->n, size))
		return NULL;
	return memset((char *)a->v + a->n++ * size, 0, size);
}
