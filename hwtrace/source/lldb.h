/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_LLDB_H
#define HWT_SOURCE_LLDB_H

#include "../base/cur.h"
#include "capture.h"

/*
 * Reads the text @f of a bundle, called @path in messages, whose files lie in @dir. All three stay
 * the caller's; strings must outlive @c.
 */
int lldb_read(struct capture *c, const struct file *f, const char *path, const char *dir,
	      struct hwt_diag *diag);

/* Context switch records as LLDB keeps them: raw perf records of one CPU. */

/* Reads forwards. A plain value. */
struct lldb_switches {
	struct cur cur;
	int32_t cpu;
	int32_t pid, tid;	/* who runs now, HWT_NONE before the first */
	bool known;		/* @pid and @tid are valid */
	const char *bad;	/* why it ended early; NULL: it did not */
	bool cut;		/* it ended inside a record */
};

struct lldb_switch {
	uint64_t time;		/* base ns */
	uint64_t off;		/* of the record, bytes */
	uint64_t lost;		/* not 0: no switch, but so many records were lost here */
	int32_t prev_pid, prev_tid, pid, tid;
	uint8_t flags;		/* HWT_F_PREEMPT */
};

void lldb_switches_init(struct lldb_switches *w, const void *p, size_t n, int32_t cpu);
/* The next change of who runs: 1, or 0 at the end. */
int lldb_switches_next(struct lldb_switches *w, struct lldb_switch *out);

/* lldb_events.c: the records of all CPUs in order of time; c->priv is the list. */
struct lldb_switch_file { const struct file *f; int32_t cpu; uint32_t buf; };
struct lldb_switch_list { const struct lldb_switch_file *v; size_t n; };

int lldb_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
/* As <hwtrace/kernel.h> has them. */
int lldb_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);

#endif
