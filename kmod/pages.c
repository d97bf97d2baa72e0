// SPDX-License-Identifier: GPL-2.0-only
/*
 * Records to user space without copies: sub-buffers as they lie in the rings, mapped or in a pipe.
 * Nobody but us writes there, and which of them may be read is told by ioctl() alone: there is no
 * position that user space could write.
 */
#include <linux/math64.h>
#include <linux/mm.h>
#include <linux/pipe_fs_i.h>
#include <linux/splice.h>
#include <linux/vmalloc.h>

#include "compat/compat.h"
#include "session.h"

/* The ring that byte @off of the file belongs to, and what is left of it; NULL: none. */
static void *find(struct session *s, u64 off, u64 *left)
{
	u64 cpu, at;

	if (s->ring_size % PAGE_SIZE)
		return NULL;
	cpu = div64_u64_rem(off, s->ring_size, &at);
	if (cpu >= nr_cpu_ids || !s->cpu[cpu].ring)
		return NULL;
	*left = s->ring_size - at;
	return s->cpu[cpu].data + at;
}

int session_mmap(struct session *s, struct vm_area_struct *v)
{
	u64 n = v->vm_end - v->vm_start, left;
	void *data;
	u64 at;
	int rc;

	if (v->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	data = find(s, (u64)v->vm_pgoff << PAGE_SHIFT, &left);
	if (!data || left != s->ring_size || n != left)
		return -EINVAL;
	/* a map keeps the session, so a child does not get it by chance */
	compat_vm_flags(v, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	for (at = 0; at < n; at += PAGE_SIZE) {
		rc = vm_insert_page(v, v->vm_start + at, vmalloc_to_page(data + at));
		if (rc)
			return rc;
		cond_resched();
	}
	return 0;
}

static void put_one(struct splice_pipe_desc *spd, unsigned int i)
{
	put_page(spd->pages[i]);
}

/* The pipe holds the pages; what is in them stays as it is until the packet is given back. */
ssize_t session_splice(struct session *s, loff_t *pos, struct pipe_inode_info *pipe, size_t len)
{
	struct page *pages[PIPE_DEF_BUFFERS];
	struct partial_page partial[PIPE_DEF_BUFFERS];
	struct splice_pipe_desc spd = { .pages = pages, .partial = partial,
		.nr_pages_max = PIPE_DEF_BUFFERS, .ops = &nosteal_pipe_buf_ops,
		.spd_release = put_one };
	u64 left;
	void *data = *pos < 0 ? NULL : find(s, *pos, &left);
	ssize_t n;

	if (!data)
		return -EINVAL;
	len = min_t(u64, len, left);
	while (len && spd.nr_pages < PIPE_DEF_BUFFERS) {
		u32 off = offset_in_page(data), piece = min_t(size_t, len, PAGE_SIZE - off);

		pages[spd.nr_pages] = vmalloc_to_page(data);
		get_page(pages[spd.nr_pages]);
		partial[spd.nr_pages++] = (struct partial_page){ .offset = off, .len = piece };
		data += piece;
		len -= piece;
	}
	n = splice_to_pipe(pipe, &spd);
	if (n > 0)
		*pos += n;
	return n;
}

int session_get(struct session *s, struct hwt_kmod_packet *p)
{
	bool stopped = READ_ONCE(s->state) == SESSION_STOPPED;
	struct session_cpu *c;
	struct ring_view v;
	int rc = -EAGAIN;

	if (p->cpu >= nr_cpu_ids || !cpu_possible(p->cpu) || s->state == SESSION_READY)
		return -EINVAL;
	c = &s->cpu[p->cpu];
	if (mutex_lock_interruptible(&s->read_lock))
		return -ERESTARTSYS;
	if (session_next(s, c->ring, &v)) {
		p->number = v.number;
		p->offset = s->ring_size * p->cpu + (u64)(v.p - c->data);
		p->bytes = v.size;
		p->pad = 0;
		p->begin = v.begin;
		p->end = v.end;
		p->lost = v.lost;
		p->produced = v.produced;
		rc = 0;
	} else if (stopped) {
		rc = -ENODATA;
	}
	mutex_unlock(&s->read_lock);
	return rc;
}

int session_put_back(struct session *s, const struct hwt_kmod_packet *p)
{
	struct ring_view v;
	struct ring *r;
	int rc = -ESTALE;

	if (p->cpu >= nr_cpu_ids || !cpu_possible(p->cpu))
		return -EINVAL;
	r = s->cpu[p->cpu].ring;
	if (mutex_lock_interruptible(&s->read_lock))
		return -ERESTARTSYS;
	/* what else the caller says of it is not looked at */
	if (ring_get(r, &v) && v.number == p->number)
		rc = ring_put(r, &v);
	mutex_unlock(&s->read_lock);
	return rc;
}
