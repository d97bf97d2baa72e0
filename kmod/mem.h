/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_MEM_H
#define HWT_KMOD_MEM_H

/* All memory of the module: zeroed, and counted to the caller's memory group. */
#include <linux/types.h>

struct page;

void *mem_alloc(size_t n);
void *mem_alloc_pages(size_t n);	/* pages of its own, which can be mapped */
/*
 * 2^order pages in a row near @cpu, each to be given back by itself; NULL: not in a row, or none.
 */
struct page *mem_piece(unsigned int order, unsigned int cpu);
/* Pages, some perhaps more than once, in a row in the kernel's map. */
void *mem_vmap(struct page **pages, unsigned int n);
void mem_vunmap(void *p);	/* NULL is fine */
void mem_free(void *p);		/* NULL is fine */

#endif
