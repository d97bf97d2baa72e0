/* SPDX-License-Identifier: BSD-2-Clause */
#include "arena.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK 65536	/* bytes; a larger request gets a block of its own */

struct arena_block {
	struct arena_block *next;
	size_t size;
	_Alignas(16) uint8_t data[];
};

void *arena_alloc(struct arena *a, size_t n)
{
	struct arena_block *b = a->head;
	void *p;

	if (n > SIZE_MAX / 2)
		return NULL;
	n = (n + 15) & ~(size_t)15;
	if (!b || n > a->left) {
		size_t size = n > BLOCK ? n : BLOCK;

		b = calloc(1, sizeof(*b) + size);
		if (!b)
			return NULL;
		b->size = size;
		b->next = a->head;
		a->head = b;
		a->left = size;
	}
	p = b->data + (b->size - a->left);
	a->left -= n;
	return p;
}

char *arena_strn(struct arena *a, const char *s, size_t n)
{
	size_t len = strnlen(s, n);
	char *p = arena_alloc(a, len + 1);

	if (p)
		memcpy(p, s, len);
	return p;
}

char *arena_str(struct arena *a, const char *s)
{
	return arena_strn(a, s, strlen(s));
}

void arena_free(struct arena *a)
{
	for (struct arena_block *b = a->head, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	*a = (struct arena){ 0 };
}
