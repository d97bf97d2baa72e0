/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_DWARF_H
#define HWT_IMAGE_DWARF_H

/* Source lines of one ELF file. */
#include <stdint.h>

#include <hwtrace/image.h>

#include "../base/arena.h"

struct dwarf;

/*
 * @elf_path is the file that ran, @debug_path its separate debug file or NULL. NULL without usable
 * line information or memory: a failing line table never fails a decode.
 */
struct dwarf *dwarf_open(const char *elf_path, const char *debug_path);
void dwarf_close(struct dwarf *d);	/* NULL is fine */

/*
 * Source position of @file_addr (the address as linked), innermost inlined frame first. Returns
 * how many of @max were filled. Strings go to @strings.
 */
int dwarf_lines(struct dwarf *d, uint64_t file_addr, struct hwt_line *out, int max,
		struct arena *strings);

#endif
