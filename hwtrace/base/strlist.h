/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_STRLIST_H
#define HWT_BASE_STRLIST_H

#include <stddef.h>

/* Names, as of files in a folder. A zeroed one is empty. */
struct strlist {
	char **v;
	size_t n, cap;
};

int strlist_add(struct strlist *l, const char *s);	/* a copy; 0 or -ENOMEM */
void strlist_cut(struct strlist *l, size_t n);		/* those from the @n-th on go */
void strlist_free(struct strlist *l);			/* empty again */
/* Those from the @n-th on by name, numbers in it by their value: cpu2 before cpu10. */
void strlist_sort(struct strlist *l, size_t n);

#endif
