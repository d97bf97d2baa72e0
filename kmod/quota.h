/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_QUOTA_H
#define HWT_KMOD_QUOTA_H

/*
 * What of the sessions users get who may not record the whole machine, so that none of them keeps
 * others out, and all together not who may. Each is called with the table of sessions locked.
 */
struct hwt_kmod_holder;
struct session;

/* May @s, which is not in the table, get a place there? 0, -EDQUOT, -EBUSY. */
int quota_allows(const struct session *s);
/* What a file may know of @s that may record the machine (@all) or not. */
void quota_tell(const struct session *s, bool all, struct hwt_kmod_holder *h);

#endif
