/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_BASE_TEXT_H
#define HWT_BASE_TEXT_H

#include <stddef.h>

/* Text put together in a buffer of the caller: cut where it is full, NUL-terminated if size > 0. */
struct text {
	char *buf;
	size_t size;	/* bytes of @buf */
	size_t len;	/* of the whole text, also of what did not fit */
};

__attribute__((format(printf, 2, 3)))
void text_put(struct text *t, const char *fmt, ...);

#endif
