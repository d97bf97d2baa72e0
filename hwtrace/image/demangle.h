/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_DEMANGLE_H
#define HWT_IMAGE_DEMANGLE_H

#include <stddef.h>

/*
 * The source-level name of @name (Itanium C++ ABI, Rust legacy mangling), or @name itself where it
 * is not mangled or can not be read. Cut to @n bytes with the NUL; returns @buf. @n is not 0.
 */
char *demangle(const char *name, char *buf, size_t n);

#endif
