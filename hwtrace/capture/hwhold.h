/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWHOLD_H
#define HWT_CAPTURE_HWHOLD_H

#include <dirent.h>
#include <stddef.h>

/*
 * Who records with a trace unit through perf: "process 812 (perf)", the first few of them, ""
 * for none that this user may look into. @proc: an open /proc, closed here; NULL: there is none.
 */
void hwhold_perf(DIR *proc, char *text, size_t size);

#endif
