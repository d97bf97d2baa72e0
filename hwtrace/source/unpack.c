/* SPDX-License-Identifier: BSD-2-Clause */
#include "unpack.h"

#include <limits.h>

#include <zlib.h>

#include <hwtrace/err.h>

static int unpack_zlib(void *dst, size_t n, const void *src, size_t m)
{
	uLongf got = n;

	if (n > UINT_MAX || m > UINT_MAX || uncompress(dst, &got, src, m) != Z_OK || got != n)
		return -HWT_E_FORMAT;
	return 0;
}

int unpack(enum unpack how, void *dst, size_t n, const void *src, size_t m)
{
	switch (how) {
	case UNPACK_ZSTD: return unpack_zstd(dst, n, src, m);
	case UNPACK_ZLIB: return unpack_zlib(dst, n, src, m);
	default: return -HWT_E_FORMAT;
	}
}
