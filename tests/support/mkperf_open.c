/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "hwtrace/source/capture.h"
#include "mkperf.h"

struct capture *mkperf_open(struct mkperf *m)
{
	struct hwt_diag d;
	struct capture *c;
	struct file *f;
	size_t n;

	free(m->file);
	m->file = mkperf_file(m, &n);
	if (!m->file || capture_new(&c))
		return NULL;
	if (!file_mem(&f, "t.data", m->file, n) &&
	    !source_perf.open(c, f, "t.data", NULL, &d))
		return c;
	capture_free(c);
	return NULL;
}
