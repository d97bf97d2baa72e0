// SPDX-License-Identifier: GPL-2.0-only
#include <linux/dcache.h>
#include <linux/fs.h>
#include <linux/mm.h>
#include <hwtrace/uapi.h>

#include "vma.h"

static void look_at_file(struct vma_facts *f, struct file *file, char *buf, int size)
{
	struct inode *inode = file_inode(file);
	char *path = d_path(&file->f_path, buf, size);

	f->inode = inode->i_ino;
	f->inode_gen = inode->i_generation;
	f->major = MAJOR(inode->i_sb->s_dev);
	f->minor = MINOR(inode->i_sb->s_dev);
	f->deleted = d_unlinked(file->f_path.dentry);
	if (IS_ERR(path))
		f->cut = true;
	else
		f->path = path;
}

void vma_look(struct vma_facts *f, struct vm_area_struct *v, char *buf, int size)
{
	*f = (struct vma_facts){
		.prot = (v->vm_flags & VM_READ ? HWT_prot_bit_read : 0) |
			(v->vm_flags & VM_WRITE ? HWT_prot_bit_write : 0) |
			(v->vm_flags & VM_EXEC ? HWT_prot_bit_exec : 0),
		.shared = !!(v->vm_flags & VM_MAYSHARE), .kind = HWT_map_kind_memory,
	};
	if (v->vm_file) {
		f->kind = HWT_map_kind_file;
		f->offset = (u64)v->vm_pgoff << PAGE_SHIFT;
		look_at_file(f, v->vm_file, buf, size);
	} else if (v->vm_ops && v->vm_ops->name) {
		f->kind = HWT_map_kind_kernel;
		f->path = v->vm_ops->name(v);
	}
}
