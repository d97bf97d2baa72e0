/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_ARENA_H
#define HWT_BASE_ARENA_H

/* Memory that lives as long as its owner: strings and small tables of a session. Freed at once. */
#include <stddef.h>

struct arena_block;
struct arena {
	struct arena_block *head;
	size_t left;		/* bytes free in @head */
};

/* Zeroed, aligned to 16 bytes; NULL without memory. A zeroed struct arena is an empty one. */
void *arena_alloc(struct arena *a, size_t n);
/* A copy of at most @n bytes of @s with a NUL; stops at a NUL. */
char *arena_strn(struct arena *a, const char *s, size_t n);
char *arena_str(struct arena *a, const char *s);
void arena_free(struct arena *a);

#endif
