/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_VDIR_H
#define TESTS_VDIR_H

/*
 * A snapshot directory as one text: a line "=== NAME" starts file NAME, whose bytes go up to the
 * next such line. The text must outlive the captures read from it.
 */
#include "hwtrace/source/snapshot.h"

#define VDIR_MAX 64

struct vdir {
	struct snapshot_dir dir;
	struct { char name[64]; const char *p; size_t n; } file[VDIR_MAX];
	const char *ini[VDIR_MAX];
	unsigned nfiles;
};

void vdir_init(struct vdir *v, const void *text, size_t n);

#endif
