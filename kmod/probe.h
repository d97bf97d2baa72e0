/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_PROBE_H
#define HWT_KMOD_PROBE_H

/* What the probes share. */
#include <linux/mm_types.h>
#include <linux/sched.h>
#include <asm/page.h>

#include "vtp.h"

/*
 * The address space of @t as trace hardware names it; all ones for kernel threads, which run in
 * whatever the task before them left.
 */
static inline u64 probe_aspace(const struct task_struct *t)
{
#ifdef CONFIG_X86
	/* __pa() would ask whether it lies in the kernel's image, as that of no process does */
	return t->mm ? (unsigned long)t->mm->pgd - PAGE_OFFSET : U64_MAX;
#elif defined(CONFIG_PID_IN_CONTEXTIDR)
	return t->pid;
#else
	return U64_MAX;
#endif
}

/* Sets the length of more->text so that the record with @size bytes before it has room. */
static inline void probe_text(struct vtp_more *more, size_t size)
{
	u32 max = HWT_TEXT_MAX - 8;

	more->len = more->text ? strlen(more->text) : 0;
	if (more->len > max) {
		more->len = max;
		more->flags |= HWT_REC_CUT;
	}
}

#endif
