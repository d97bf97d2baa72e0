/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_VMA_H
#define HWT_KMOD_VMA_H

/* What a mapping shows, as mm.map and state.map have it. */
#include <linux/types.h>

struct vm_area_struct;

struct vma_facts {
	u64 offset, inode, inode_gen;
	u32 major, minor, prot, kind, shared, deleted;
	const char *path;	/* in the caller's buffer or the kernel's own; NULL: none */
	bool cut;		/* the path does not fit */
};

/* Whoever calls holds the mapping in place. @buf: for the path. */
void vma_look(struct vma_facts *f, struct vm_area_struct *v, char *buf, int size);

#endif
