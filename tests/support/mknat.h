/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MKNAT_H
#define TESTS_MKNAT_H

/* A small native capture with everything in it that one can have; what it holds is told here. */
#include <stdint.h>

#include "hwtrace/capture/native.h"

#define MKNAT_TICK 1000		/* of the first kernel record; they are 10 ticks apart */
#define MKNAT_SPLIT 5		/* records of each CPU in the first packet, then */
#define MKNAT_RECS 8		/* in all packets */

/* The byte at @pos of buffer @buf. */
static inline uint8_t mknat_byte(unsigned buf, uint64_t pos)
{
	return (uint8_t)(pos * 7 + pos / 251 + buf * 100 + 1);
}

/* Checks every call with cmocka. @image: a file that is copied as "/bin/copied". */
void mknat(const char *dir, const char *image);

/* The text in its map's path, its task's name and its command line. */
#define MKNAT_TEXT " #odd;\n\"path\"\t%41 '\x7f = [x] "

#endif
