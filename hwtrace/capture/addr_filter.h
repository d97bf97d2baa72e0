/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_ADDR_FILTER_H
#define HWT_CAPTURE_ADDR_FILTER_H

#include <stddef.h>

#include <hwtrace/err.h>

#define ADDR_FILTER_TEXT 4400	/* bytes of one: a path, and numbers before it */

/*
 * Where trace is wanted, as a user names it: "[KIND] PLACE[/SIZE][@FILE]", PLACE a function or an
 * address as linked; without @FILE of the kernel. KIND is filter (only there; with a size), start
 * and stop (from the first instruction of it on, up to it), tracestop (nothing any more once it was
 * there). Made into what PERF_EVENT_IOC_SET_FILTER takes: offsets in the file for user code. A
 * function without /SIZE is all of it.
 * -EINVAL, -ENOENT, -ENOMEM with words.
 */
int addr_filter(const char *text, const char *kallsyms, char *out, size_t size,
		struct hwt_diag *diag);

#endif
