/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_HOOK_H
#define HWT_KMOD_HOOK_H

/*
 * Hooks: places of the kernel that probes hang on. A tracepoint is found by its name and its
 * probe's prototype is checked by the compiler; where there is none, a kprobe on a function.
 * A hook is in place while at least one session wants an event that it gives.
 */
#include <linux/kprobes.h>
#include <linux/tracepoint.h>

#include "vtp.h"

#define HOOK_GIVES	2

struct hook {
	const char *name;		/* NULL ends a list */
	const char *unless;		/* not wanted if the hook of this name is there */
	void *probe;			/* of a tracepoint, or ... */
	kprobe_pre_handler_t handler;	/* of a kprobe, or ... */
	kretprobe_handler_t leave;	/* of one on the returns of a function */
	u8 gives[HOOK_GIVES];		/* enum vtp_index; 0: no more */
	/* set by hook_init() and later */
	struct tracepoint *tp;
	struct kretprobe rp;	/* of a call only its kprobe is used */
	bool there;
	unsigned int users;
};

/* Is @fn what tracepoint @tp calls? */
#define HOOK_FITS(tp, fn) \
	__builtin_types_compatible_p(typeof(check_trace_callback_type_##tp), void(typeof(&fn)))
/* A tracepoint whose prototype is not @fn's stops the compiler here. */
#define HOOK_TP(tp, fn, ...) \
	.name = #tp, .gives = { __VA_ARGS__ }, \
	.probe = (void *)fn + BUILD_BUG_ON_ZERO(!HOOK_FITS(tp, fn))
/* The prototype differs between kernels: one of both must fit. */
#define HOOK_TP2(tp, fn, fn2, ...) \
	.name = #tp, .gives = { __VA_ARGS__ }, \
	.probe = __builtin_choose_expr(HOOK_FITS(tp, fn), (void *)fn, (void *)fn2) + \
		 BUILD_BUG_ON_ZERO(!HOOK_FITS(tp, fn) && !HOOK_FITS(tp, fn2))
#define HOOK_KP(symbol, fn, ...) \
	.name = symbol, .gives = { __VA_ARGS__ }, .handler = fn
#define HOOK_RET(symbol, fn, ...) \
	.name = symbol, .gives = { __VA_ARGS__ }, .leave = fn

extern struct hook hooks_sched[], hooks_task[], hooks_irq[], hooks_io[], hooks_timer[],
	hooks_text[];

/* Finds what there is in this kernel. */
void hook_init(void);
/* Takes kprobes away; no session is left. */
void hook_exit(void);
/* Can this kernel give event @vtp by a hook? */
bool hook_gives(int vtp);
/*
 * Puts the hooks of an event in place or takes them away again, once for each session; callers
 * hold the lock of sessions. After hook_put() probes may still run until hook_sync().
 */
int hook_get(int vtp);
void hook_put(int vtp);
void hook_sync(void);

#endif
