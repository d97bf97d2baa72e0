/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_FUNC_H
#define HWT_KMOD_FUNC_H

/*
 * Events of a session's own: functions of the kernel that are called or return, through kprobes
 * and kretprobes. They are prepared when the session is opened, so that what can not be probed is
 * said then, and are in place while it runs.
 */
#include <hwtrace/kmod.h>

struct session;
struct session_cpu;

/* 0 or what is wrong with the request; func_close() in both cases. These sleep. */
int func_open(struct session *s, const struct hwt_kmod_session *c);
void func_close(struct session *s);
/* Puts them in place, or none of them. */
int func_start(struct session *s);
/* Takes them away. Handlers may still run until hook_sync(). */
void func_stop(struct session *s);
/* After that: hits inside of other probes are to be told by this CPU, which stays there. */
void func_nested(struct session *s);
/*
 * Counts as lost on its CPU what the kernel could not tell since the last time. Seldom, as it ends
 * a sub-buffer; runs as ring_flush() does.
 */
void func_lost(struct session_cpu *c);
/* 0, or -EINVAL: there is no such event. */
int func_count(struct session *s, struct hwt_kmod_probed *p);

#endif
