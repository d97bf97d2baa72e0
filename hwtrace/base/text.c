/* SPDX-License-Identifier: BSD-2-Clause */
#include "text.h"

#include <stdarg.h>
#include <stdio.h>

void text_put(struct text *t, const char *fmt, ...)
{
	size_t at = t->len < t->size ? t->len : t->size;
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(at < t->size ? t->buf + at : NULL, t->size - at, fmt, ap);
	va_end(ap);
	t->len += n > 0 ? (size_t)n : 0;
}
