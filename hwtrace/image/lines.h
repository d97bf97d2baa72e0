/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_IMAGE_LINES_H
#define HWT_IMAGE_LINES_H

/* Lines of text in a symbol list: "ADDRESS ..." each. */
#include "../base/cur.h"

/* The next line without its newline: 1, *@s and *@n set; 0 at the end. */
static inline int line_next(struct cur *c, const char **s, size_t *n)
{
	const uint8_t *nl;

	if (!cur_left(c))
		return 0;
	nl = memchr(c->p, '\n', cur_left(c));
	*n = nl ? (size_t)(nl - c->p) : cur_left(c);
	*s = (const char *)cur_take(c, *n);
	cur_skip(c, nl != NULL);
	if (*n && (*s)[*n - 1] == '\r')
		--*n;
	return 1;
}

/* A hexadecimal number of 1 to 16 digits, with or without 0x: its length, 0 if there is none. */
static inline size_t line_hex(const char *s, size_t n, uint64_t *out)
{
	size_t start = n > 2 && s[0] == '0' && (s[1] | 0x20) == 'x' ? 2 : 0, i;
	uint64_t v = 0;

	for (i = start; i < n; i++) {
		char c = s[i] | 0x20;
		unsigned d = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
			c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;

		if (d == 16)
			break;
		if (i - start >= 16)
			return 0;
		v = v << 4 | d;
	}
	*out = v;
	return i > start ? i : 0;
}

#endif
