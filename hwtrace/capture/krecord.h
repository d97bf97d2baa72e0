/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KRECORD_H
#define HWT_CAPTURE_KRECORD_H

/* One recording of kernel events, trace or both: what krecord.c and kopen.c share. */
#include <signal.h>
#include <sys/types.h>

#include "../time/map.h"
#include "hwprov.h"

struct krec {
	const struct hwt_record_kernel_opts *o;
	struct hwt_record_kernel_result *out;
	struct kprov_want want, trigger_want, dirty_want;
	struct hwt_filter *events, *narrow, *trigger;
	struct kown *own;
	struct dirty *dirty;		/* tracepoints that are recorded beside; NULL: none */
	struct kprov *p, *watch;	/* NULL: no kernel events; no trigger */
	struct kprov *beside;		/* of @dirty */
	struct kprov *hw;		/* NULL: no trace */
	struct hw_want hw_want;
	struct time_map perf_clock;
	struct native_writer *w;	/* NULL: none is open */
	int32_t target;			/* process that is recorded, 0: all */
	pid_t child;			/* 0: none, or its end was taken */
	int go;				/* closed: the child executes */
	int err;			/* a failing exec() comes back by it */
	sig_atomic_t taken;		/* value of *o->take that was acted on */
	unsigned number;		/* of the last snapshot */
};

/* kopen.c: the filters, who records, and the capture if it is one. 0 or a code with words. */
int krec_open(struct krec *k);

#endif
