/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_SNAPSHOT_H
#define HWT_SOURCE_SNAPSHOT_H

/* The snapshot reader without the file system, so that tests and fuzzers reach it in memory. */
#include "capture.h"

struct snapshot_dir {
	const char *path;	/* for messages and for the image's paths */
	/* file @name of the directory; E001 or E003 */
	int (*get)(const struct snapshot_dir *d, struct file **out, const char *name,
		   struct hwt_diag *diag);
	const char *const *ini;	/* names of its *.ini files, sorted */
	size_t nini;
};

/* Fills @c. -HWT_E_FORMAT (E060) if there is no trace in it. */
int snapshot_read(struct capture *c, const struct snapshot_dir *d, struct hwt_diag *diag);

#endif
