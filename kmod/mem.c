// SPDX-License-Identifier: GPL-2.0-only
#include <linux/atomic.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/topology.h>
#include <linux/vmalloc.h>

#include "mem.h"

/* Tests let each allocation fail once. */
static int fail_alloc;
module_param(fail_alloc, int, 0600);
MODULE_PARM_DESC(fail_alloc, "the n-th allocation from now on fails; 0: none");

void *mem_alloc(size_t n)
{
	if (READ_ONCE(fail_alloc) > 0 && --fail_alloc == 0)
		return NULL;
	return kvzalloc(n, GFP_KERNEL_ACCOUNT | __GFP_NOWARN);
}

void *mem_alloc_pages(size_t n)
{
	if (READ_ONCE(fail_alloc) > 0 && --fail_alloc == 0)
		return NULL;
	return __vmalloc(n, GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_ZERO);
}

struct page *mem_piece(unsigned int order, unsigned int cpu)
{
	struct page *p;

	if (READ_ONCE(fail_alloc) > 0 && --fail_alloc == 0)
		return NULL;
	p = alloc_pages_node(cpu_to_node(cpu), GFP_KERNEL_ACCOUNT | __GFP_NOWARN | __GFP_ZERO |
			     (order ? __GFP_NORETRY : 0), order);
	if (p && order)
		split_page(p, order);
	return p;
}

void *mem_vmap(struct page **pages, unsigned int n)
{
	if (READ_ONCE(fail_alloc) > 0 && --fail_alloc == 0)
		return NULL;
	return vmap(pages, n, VM_MAP, PAGE_KERNEL);
}

void mem_vunmap(void *p)
{
	vunmap(p);
}

void mem_free(void *p)
{
	kvfree(p);
}
