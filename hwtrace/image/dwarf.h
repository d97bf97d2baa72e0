/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_DWARF_H
#define HWT_IMAGE_DWARF_H

/* Source lines and inlined functions of one ELF file. Damage is "no line", never an error. */
#include <hwtrace/image.h>

#include "../base/arena.h"

struct dwarf;

/*
 * Opens the debug information of @debug_path (NULL: none), else that of @elf_path itself. NULL if
 * there is none, or no memory. Reads only the list of units; the rest is read when it is asked for.
 */
struct dwarf *dwarf_open(const char *elf_path, const char *debug_path);
void dwarf_close(struct dwarf *d);	/* NULL is fine */

/*
 * Source position of @file_addr (as linked), innermost inlined frame first; returns how many of
 * @max were filled, 0 if not known. Names live as long as @d and @strings, which must be the same
 * arena in each call; an address asked again takes no new memory. A line of 0 is the compiler's own
 * code.
 */
int dwarf_lines(struct dwarf *d, uint64_t file_addr, struct hwt_line *out, int max,
		struct arena *strings);

/*
 * Addresses (as linked) at which statements of @line of @file begin, in any order; returns how many
 * there are, fills at most @max. *@next, if it is larger or 0, becomes the next line after @line
 * that has code.
 */
size_t dwarf_find_line(struct dwarf *d, const char *file, int line, uint64_t *out, size_t max,
		       int *next);

#endif
