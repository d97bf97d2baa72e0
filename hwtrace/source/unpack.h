/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_UNPACK_H
#define HWT_SOURCE_UNPACK_H

#include <stddef.h>

/* Compressed pieces of known size. */
enum unpack { UNPACK_NONE, UNPACK_ZSTD, UNPACK_ZLIB, UNPACK_UNKNOWN };

/* @m bytes at @src to @n bytes at @dst. 0, or -HWT_E_FORMAT if they are not these. */
int unpack(enum unpack how, void *dst, size_t n, const void *src, size_t m);
/* perf_zstd.c, the one that includes the library */
int unpack_zstd(void *dst, size_t n, const void *src, size_t m);

#endif
