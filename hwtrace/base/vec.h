/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_VEC_H
#define HWT_BASE_VEC_H

/* Arrays that grow by doubling. */
#include <stddef.h>

/* Elements of one size; a zeroed one is empty. The owner frees @v. */
struct vec { void *v; size_t n, cap; };

/* A zeroed element of @size bytes at the end, valid until the next one; NULL without memory. */
void *vec_push(struct vec *a, size_t size);
/*
 * Room for one more element of @size bytes in the array that the pointer at @array is for, which
 * holds @n. 0, or -ENOMEM with the array as it was.
 */
int vec_room(void *array, size_t *cap, size_t n, size_t size);

#endif
