/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_TEXT_H
#define HWT_BASE_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Text put together in a buffer of the caller: cut where it is full, NUL-terminated if size > 0. */
struct text {
	char *buf;
	size_t size;	/* bytes of @buf */
	size_t len;	/* of the whole text, also of what did not fit */
};

__attribute__((format(printf, 2, 3)))
void text_put(struct text *t, const char *fmt, ...);
/* @n bytes in quotes; what could be taken for their end, or is no character, is escaped. */
void text_quoted(struct text *t, const char *p, size_t n);
/* What stands behind "hole" if there are @n: "1 hole", "2 holes". */
static inline const char *text_s(uint64_t n)
{
	return n == 1 ? "" : "s";
}

#endif
