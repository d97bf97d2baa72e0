/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_EXPORT_PERF_H
#define HWT_EXPORT_PERF_H

#include <hwtrace/export.h>

struct capture;

/* hwt_export_perf() of what a session has open; all pointers are set, @o is whole. */
int export_perf(struct capture *c, int fd, const struct hwt_export_opts *o,
		struct hwt_export_result *res, struct hwt_diag *diag);

#endif
