/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_CRC_H
#define HWT_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/* @crc is that of the bytes before, 0 at the start. */
/* CRC-32 of IEEE 802.3, as gzip and .gnu_debuglink use it. */
uint32_t crc32_add(uint32_t crc, const void *p, size_t n);
/* CRC-32C (Castagnoli), as iSCSI uses it: RFC 3720 section 12.1. */
uint32_t crc32c_add(uint32_t crc, const void *p, size_t n);

#endif
