// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpumask.h>
#include <linux/cred.h>
#include <linux/pid.h>
#include <linux/uidgid.h>

#include "quota.h"
#include "session.h"

/* Of rings of all CPUs. */
static u64 bytes_of(const struct session *s)
{
	return s->ring_size * num_possible_cpus();
}

/* Who has many user ids, as of a user namespace, gets what all users together do. */
int quota_allows(const struct session *s)
{
	u64 bytes = bytes_of(s);
	unsigned int i, all = 0, users = 0, mine = 0;

	for (i = 0; i < HWT_KMOD_SESSIONS; i++) {
		const struct session *o = sessions[i];

		if (!o)
			continue;
		all++;
		users += o->own;
		if (!o->own || !uid_eq(o->owner, s->owner))
			continue;
		mine++;
		bytes += bytes_of(o);
	}
	if (all == HWT_KMOD_SESSIONS)
		return -EBUSY;
	if (!s->own)
		return 0;
	if (mine >= HWT_KMOD_USER_SESSIONS || bytes > HWT_KMOD_USER_BYTES)
		return -EDQUOT;
	return users >= HWT_KMOD_USERS_SESSIONS ? -EBUSY : 0;
}

void quota_tell(const struct session *s, bool all, struct hwt_kmod_holder *h)
{
	h->flags = HWT_KMOD_HELD | (s->own ? HWT_KMOD_HELD_USER : 0);
	if (!all && !uid_eq(s->owner, current_uid()))
		return;
	h->uid = from_kuid_munged(current_user_ns(), s->owner);
	h->pid = pid_vnr(s->opener);
	h->bytes = bytes_of(s);
}
