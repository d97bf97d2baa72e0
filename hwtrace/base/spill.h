/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_SPILL_H
#define HWT_BASE_SPILL_H

/*
 * An array that only grows and need not stay in memory: small ones lie in the heap, larger ones in
 * a file without a name in $TMPDIR or /tmp, mapped. Where none can be made they stay in the heap.
 */
#include <stddef.h>
#include <stdint.h>

#define SPILL_HEAP	((size_t)1 << 20)	/* bytes that stay in the heap */

struct spill {
	void *v;	/* moves when the array grows */
	size_t n;	/* elements */
	size_t cap;	/* bytes */
	size_t told;	/* bytes that need not stay resident, as the system knows */
	int fd;		/* 0: in the heap; zero is a valid start */
};

/* Makes room for one more element of @size bytes, at index @n. 0 or -ENOMEM. */
int spill_room(struct spill *s, size_t size);
/* Elements [from, to) need not stay resident; they can still be read and written. */
void spill_done(const struct spill *s, size_t size, size_t from, size_t to);
/* As qsort(), with a MiB or two of memory; @cmp never says that two are the same. */
void spill_sort(struct spill *s, size_t size, int (*cmp)(const void *, const void *));
void spill_free(struct spill *s);

/* Descriptor of a new file without a name in $TMPDIR or /tmp, or negative. */
int temp_fd(void);

#endif
