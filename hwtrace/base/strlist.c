/* SPDX-License-Identifier: BSD-2-Clause */
#include "strlist.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "vec.h"

int strlist_add(struct strlist *l, const char *s)
{
	char *copy = strdup(s);

	if (!copy || vec_room(&l->v, &l->cap, l->n, sizeof(*l->v))) {
		free(copy);
		return -ENOMEM;
	}
	l->v[l->n++] = copy;
	return 0;
}

void strlist_cut(struct strlist *l, size_t n)
{
	while (l->n > n)
		free(l->v[--l->n]);
}

void strlist_free(struct strlist *l)
{
	strlist_cut(l, 0);
	free(l->v);
	*l = (struct strlist){ 0 };
}

static int by_name(const void *a, const void *b)
{
	return strverscmp(*(char *const *)a, *(char *const *)b);
}

void strlist_sort(struct strlist *l, size_t n)
{
	if (l->n > n)
		qsort(l->v + n, l->n - n, sizeof(*l->v), by_name);
}
