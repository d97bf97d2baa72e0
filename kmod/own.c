// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cred.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <linux/sched/coredump.h>

#include "own.h"
#include "session.h"

/* It is in a process that its owner may look into. */
bool own_task(const struct session *s, struct task_struct *t, struct mm_struct *mm)
{
	const struct cred *c;
	bool yes;

	if (!mm || t->flags & PF_KTHREAD || get_dumpable(mm) != SUID_DUMP_USER)
		return false;
	rcu_read_lock();
	c = __task_cred(t);
	yes = uid_eq(c->uid, s->owner) && uid_eq(c->euid, s->owner) && uid_eq(c->suid, s->owner);
	rcu_read_unlock();
	return yes;
}

bool own_runs(const struct session *s)
{
	return in_task() && own_task(s, current, current->mm);
}

/* The count tells of others, and so would a filter that could look at it. */
bool own_hide(struct hwt_rec *rec)
{
	rec->hit = 0;
	rec->flags &= HWT_REC_CUT;
	switch (rec->id) {
	case HWT_ID_mm_fault:
		return ((struct hwt_rec_mm_fault *)rec)->access & HWT_access_bit_user;
	case HWT_ID_sched_exec:
		((struct hwt_rec_sched_exec *)rec)->aspace = U64_MAX;
		return true;
	default:
		return true;
	}
}
