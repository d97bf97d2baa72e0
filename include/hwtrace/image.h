/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_IMAGE_H
#define HWTRACE_IMAGE_H

/*
 * The code that ran: bytes at (address space, time, address), symbols, source lines, and what an
 * instruction does. An address space is named by its pid; HWT_NONE is "every address space", used
 * for kernel code and bare metal. All times are base clock, ns; HWT_TIME_UNKNOWN in a question
 * means "the newest version".
 */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>
#include <hwtrace/event.h>

struct hwt_image;

/* One part of a file at an address. Strings are copied. */
struct hwt_map {
	uint64_t addr, size;	/* bytes; addr + size must not wrap */
	uint64_t file_off;	/* bytes */
	uint64_t from;		/* first instant it is there, base ns; 0: always */
	const char *path;	/* as the recorder saw it */
	uint32_t space;		/* Arm memory spaces it belongs to (HWT_SPACE_*), 0: any */
	int32_t  pid;		/* HWT_NONE: every address space */
	uint8_t  build_id[20];
	uint8_t  build_id_size;	/* 0: not known */
	/* 1: @path is a plain memory dump, no ELF; never searched in the sysroot */
	uint8_t  raw;
	uint8_t  missing;	/* set by readers when the file can not be found */
	/* in a list, of a file that the user named: it stands for one that was recorded */
	uint8_t  stands_in;
};

enum hwt_space { HWT_SPACE_EL1S = 1, HWT_SPACE_EL1N = 2, HWT_SPACE_EL2 = 4, HWT_SPACE_EL3 = 8,
		 HWT_SPACE_EL2S = 16 };

/* Where a question is asked. */
struct hwt_where {
	int32_t  pid;		/* HWT_NONE: only what is in every address space */
	uint32_t space;		/* HWT_SPACE_*, 0: any */
	uint64_t time;		/* base ns or HWT_TIME_UNKNOWN */
};

/*
 * Reads code. Returns the number of bytes copied to @buf (1..@n, reading runs over map edges), 0
 * if nothing is mapped at @addr, negative on error. Bytes are those at @w->time, text pokes and
 * JIT code included.
 */
int hwt_image_read(const struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		   void *buf, size_t n);

struct hwt_symbol {
	const char *name;	/* demangled; lives as long as the image */
	const char *module;	/* file name, lives as long as the image */
	uint64_t start;		/* run-time address of the symbol */
	uint64_t size;		/* bytes, 0 if the symbol table does not say */
};

/*
 * The function at @addr: 1 found, 0 not; @out is untouched if not. A failing symbol table never
 * fails a decode.
 */
int hwt_image_symbol(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		     struct hwt_symbol *out);

struct hwt_line {
	/* function, inlined ones first; lives as long as the image; may be NULL */
	const char *func;
	const char *file;	/* lives as long as the image */
	int line;		/* 1-based */
};

/*
 * Source position of @addr, innermost inlined frame first. Returns how many of @max were filled,
 * 0 if there is no line information.
 */
int hwt_image_lines(struct hwt_image *img, const struct hwt_where *w, uint64_t addr,
		    struct hwt_line *out, int max);

/*
 * Run-time address ranges of all functions whose name matches the glob @pattern; returns the
 * count, fills at most @max.
 */
size_t hwt_image_find(struct hwt_image *img, const char *pattern,
		      uint64_t (*out)[2], size_t max);

/*
 * Run-time addresses where code of line @line of the source @file (its path, or the last parts of
 * it) begins, sorted; returns the count, fills at most @max. If the line has no code, 0, and *@next
 * is the next line of the file that has some, or 0.
 */
size_t hwt_image_find_line(struct hwt_image *img, const char *file, int line, uint64_t *out,
			   size_t max, int *next);

/*
 * The @i-th map for listing, in order of addition; 0 past the end, else 1. Strings live as long
 * as the image.
 */
int hwt_image_map_at(const struct hwt_image *img, size_t i, struct hwt_map *out);

/* One instruction, classified by our own tables. */
struct hwt_insn {
	uint64_t addr;
	uint64_t target;	/* of a direct branch, else HWT_NO_ADDR */
	uint8_t  size;		/* bytes */
	uint8_t  kind;		/* enum hwt_insn_kind */
	uint8_t  isa;		/* enum hwt_isa */
	uint8_t  cond;		/* 1: conditional (also A32 condition codes) */
};

/*
 * Classifies the instruction at @p. Returns 0; -HWT_E_MORE if @n bytes do not hold it;
 * -HWT_E_PACKET if the bytes are no instruction. Pure function.
 */
int hwt_insn_decode(struct hwt_insn *out, unsigned isa, uint64_t addr, const void *p, size_t n);

struct hwt_disasm;
/* A printer for all instruction sets, not for several threads at once. 0 or -ENOMEM. */
int hwt_disasm_new(struct hwt_disasm **out);
void hwt_disasm_free(struct hwt_disasm *d);	/* NULL is fine */

/*
 * Prints one instruction of @n bytes into @buf (always NUL-terminated); ".byte"/".word" if the
 * printer does not know it. Returns 0, or -EINVAL for an unknown @isa.
 */
int hwt_disasm_text(struct hwt_disasm *d, unsigned isa, uint64_t addr, const void *p, size_t n,
		    char *buf, size_t size);

#endif
