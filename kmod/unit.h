/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_UNIT_H
#define HWT_KMOD_UNIT_H

/* The trace units of a session: what kinds of them have in common (HWT_KMOD_UNIT). */
#include <linux/types.h>
#include <hwtrace/kmod.h>

struct unit;
struct vm_area_struct;

/* One after the other for a unit, but for get, read, mmap and regs: these come at any time. */
struct unit_ops {
	/* On all CPUs that are on; nothing runs after a failure. */
	int (*start)(struct unit *u);
	void (*stop)(struct unit *u);
	/* This CPU, which runs this, is on now, or will be off. */
	void (*cpu)(struct unit *u, bool on);
	int (*get)(struct unit *u, struct hwt_kmod_trace *t);
	int (*read)(struct unit *u, const struct hwt_kmod_trace *t);
	int (*mmap)(struct unit *u, struct vm_area_struct *v, u64 off);
	/* NULL: it is not CoreSight */
	int (*regs)(struct unit *u, struct hwt_kmod_cs_regs *r);
	/* Stopped; frees it. */
	void (*close)(struct unit *u);
};

struct unit {
	const struct unit_ops *ops;
};

/*
 * 0, or why not, also in @c. Of a mere question (HWT_KMOD_UNIT_TRY) *out stays NULL.
 */
int unit_open(struct unit **out, struct hwt_kmod_unit *c);
void unit_init(void);
void unit_exit(void);

/*
 * A kind of trace units: pt.c, cs.c. All are called with cpus_read_lock() held; the last three
 * whether somebody has such units or not.
 */
struct unit_kind {
	int (*open)(struct unit **out, struct hwt_kmod_unit *c);
	void (*sleep)(void);	/* the machine will sleep: tasks are not frozen yet */
	void (*wake)(void);	/* it is awake again */
	void (*off)(void);	/* it ends, or starts another kernel: nothing writes to memory */
};

extern const struct unit_kind pt_kind, cs_kind;

#endif
