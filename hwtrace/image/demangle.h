/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_DEMANGLE_H
#define HWT_IMAGE_DEMANGLE_H

#include <stddef.h>

/* Fills @buf (@n > 0 bytes) with the demangled @name, or @name itself cut to fit; returns @buf. */
char *demangle(const char *name, char *buf, size_t n);

#endif
