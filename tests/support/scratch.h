/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

/* A scratch folder in which tests make files with compilers and binutils. */
#include <stddef.h>
#include <stdint.h>

/* Group setup and teardown for cmocka. */
int scratch_make(void **state);
int scratch_drop(void **state);
/* The path of a file in it; valid until the fourth call after this one. */
const char *scratch(const char *name);
/* A shell command in the folder; the test is skipped if it can not run. */
void scratch_sh(const char *cmd);
void scratch_write(const char *name, const void *p, size_t n);

/* A program in C: helper(), twice() with aliases, main(), done(), labels of assembly. */
extern const char scratch_source[];
/* The executable segment that readelf lists; @off its place in the file. */
void scratch_text(const char *file, unsigned long long *off, unsigned long long *addr,
		  unsigned long long *size);
/* Address of a symbol as nm lists it. */
uint64_t scratch_nm(const char *file, const char *name);

#endif
