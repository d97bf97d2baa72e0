/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_KFILTER_H
#define HWT_CAPTURE_KFILTER_H

/*
 * Conditions on tracepoints as the kernel's tracer takes them itself (its files "filter"; grammar:
 * Documentation/trace/events.rst of Linux, "Event filtering").
 */
#include <hwtrace/filter.h>

#include "dirty.h"

/*
 * What must hold of each record of the @i-th tracepoint that @f wants as event @id: all that the
 * kernel compares as we do, of which it leaves out nothing that is wanted. What it can not express
 * is for the reader of records. *out is to be freed; NULL: all records. 0 or -ENOMEM.
 */
int kfilter_text(char **out, const struct hwt_filter *f, unsigned id, const struct dirty *d,
		 unsigned i);

#endif
