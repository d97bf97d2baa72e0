/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_INI_H
#define HWT_BASE_INI_H

/*
 * "[section]" and "key=value" lines, as snapshot directories and raw configuration files have
 * them. Comments start with ";", "#" or "//" at the start of a line, ";" and "#" also after a
 * blank. Lines end with LF or CRLF. Names and values are trimmed, one pair of quotes around a
 * value is taken off.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"

#define INI_MAX_FILE (1u << 20)		/* bytes; a longer text is no configuration file */
#define INI_MAX_ITEMS 16384u

struct ini_item {
	const char *section;	/* "" before the first header */
	const char *key;	/* NULL: this is the section header itself */
	const char *value;	/* "" for a header */
	uint32_t line;		/* from 1 */
	uint64_t off;		/* of the line, bytes */
};

struct ini {
	struct ini_item *v;	/* in file order, in the arena like all strings */
	size_t n;
	const char *file;	/* name for messages, borrowed */
};

/*
 * Reads a text. Lines that are neither are notes (E061) and skipped. 0, -ENOMEM, or -EFBIG for a
 * text longer than INI_MAX_FILE.
 */
int ini_parse(struct ini *out, struct arena *a, const char *file, const void *p, size_t n,
	      struct notes *ns);

/* Names compare without case. */
bool ini_eq(const char *a, const char *b);
/* The last value of @key in sections of that name (the last one wins), NULL if there is none. */
const struct ini_item *ini_find(const struct ini *ini, const char *section, const char *key);

/* "0x1f", "0X1F" or "31", nothing else. */
bool ini_u64(const char *s, uint64_t *out);

/*
 * Takes the next name of a comma-separated list off *@s into @buf. False at the end. Empty parts
 * are skipped, too long ones are cut.
 */
bool ini_list(const char **s, char *buf, size_t size);

#endif
