/* SPDX-License-Identifier: BSD-2-Clause */
#include "slurp.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

uint8_t *slurp(const char *path, size_t *n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *p = NULL;
	struct stat st;

	if (f && !fstat(fileno(f), &st)) {
		*n = (size_t)st.st_size;
		p = malloc(*n + 1);
	}
	if (!p || fread(p, 1, *n, f) != *n) {
		fprintf(stderr, "%s: can not be read\n", path);
		exit(1);
	}
	p[*n] = 0;
	fclose(f);
	return p;
}
