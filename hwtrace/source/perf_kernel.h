/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_PERF_KERNEL_H
#define HWT_SOURCE_PERF_KERNEL_H

/* Private to perf_kernel.c and perf_side.c: records of a perf.data as virtual events. */
#include "../virt/virt.h"
#include "perf.h"

/* Facts that tracepoints of the capture tell too: then the records about them are dirty. */
struct perf_told {
	bool sched_switch, fork, exec, comm, exit;
};

/* A record that is being turned; one may become several. */
struct perf_turn {
	const struct perf *pf;
	struct virt_state *virt;
	struct perf_told told;
	bool runnable_known;	/* the kernel says in SWITCH whether the task could run on: 4.17 */
	struct perf_rec r;
	struct perf_sample s;
	struct virt_ctx ctx;
	unsigned part;		/* records made of it so far */
};

/*
 * perf_side.c: the next record of what is no sample: its size at @rec, and *more if there is
 * another one; 0: none, it is dirty; negative: no memory.
 */
int perf_side(struct perf_turn *t, void *rec, bool *more);

#endif
