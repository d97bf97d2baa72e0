/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_FILTER_H
#define HWT_KMOD_FILTER_H

/*
 * Filters are classic BPF, made by user space for one event (hwtrace/filter.h). The kernel verifies
 * and compiles them, after this has said which may run on a record, and what their loads mean.
 */
#include <linux/filter.h>
#include <hwtrace/uapi.h>

#include "ring_shim.h"

/*
 * 0, and @v loads from the context in place of a packet: it was @n instructions as hwt_filter_bpf()
 * makes them for records of @size bytes. It loads aligned words inside the record, or the number of
 * the CPU; computes without division; loads words of the scratch memory that it wrote before; jumps
 * forward inside itself, and returns a constant. Else -EINVAL, and @v is of no use. @work: room for
 * @n words.
 */
int filter_check(struct sock_filter *v, u32 n, u32 size, u16 *work);

#ifdef __KERNEL__
/*
 * The program that user space describes at @u, for records of @size bytes; bpf_prog_destroy() ends
 * it. Sleeps. 0, -EINVAL, or what the kernel says.
 */
int filter_make(struct bpf_prog **out, struct sock_fprog *u, u32 size);

/* Whether the record is wanted, which lies at @rec as a whole. Preemption is off. */
static __always_inline bool filter_wants(const struct bpf_prog *p, const struct hwt_rec *rec)
{
	return bpf_prog_run(p, rec) != 0;
}
#endif

#endif
