/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_JSON_H
#define HWT_BASE_JSON_H

/*
 * A strict reader of JSON texts (RFC 8259) into a tree. Strings are passed on as UTF-8 without
 * check, \u escapes are turned into UTF-8. Nesting is bounded.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "diag.h"

#define JSON_MAX_DEPTH 64
#define JSON_MAX_FILE (2u << 20)	/* bytes; a tree takes up to 32 times as much */

enum json_type { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT };

struct json {
	uint8_t type;			/* enum json_type */
	bool truth;			/* BOOL */
	uint64_t off;			/* where it starts, bytes */
	const char *name;		/* key if it is in an object, else NULL */
	const char *text;		/* STRING: its value; NUMBER: as written */
	struct json *child, *next;	/* first element; next one of the same parent */
};

/*
 * 0 and *@out, all in the arena; or -HWT_E_FORMAT with @diag (E080: what, and the byte where) or
 * -ENOMEM.
 */
int json_parse(struct json **out, struct arena *a, const char *file, const void *p, size_t n,
	       struct hwt_diag *diag);

/* The member of that name, NULL if @j is no object or has none. Of equal names the last one. */
struct json *json_get(const struct json *j, const char *name);

/* A whole number below 2^64, as number or in a string ("12", "0x1f"). */
bool json_u64(const struct json *j, uint64_t *out);

#endif
