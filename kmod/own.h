/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_OWN_H
#define HWT_KMOD_OWN_H

/* What a session may see whose opener has no right to see the machine (session.own). */
#include <linux/types.h>

struct hwt_rec;
struct mm_struct;
struct session;
struct task_struct;

/* Does a task of the owner run, and is it in its own context? */
bool own_runs(const struct session *s);
/* Is a task with memory @mm, which the caller holds in place, one of the owner's? */
bool own_task(const struct session *s, struct task_struct *t, struct mm_struct *mm);
/* Makes of a record what such a session may have; false: not at all. */
bool own_hide(struct hwt_rec *rec);

#endif
