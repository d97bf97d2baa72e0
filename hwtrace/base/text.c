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

void text_quoted(struct text *t, const char *p, size_t n)
{
	text_put(t, "\"");
	for (; n; n--, p++) {
		unsigned char c = (unsigned char)*p;

		if (c == '"' || c == '\\')
			text_put(t, "\\%c", c);
		else if (c < ' ' || c == 127)
			text_put(t, "\\x%02x", c);
		else
			text_put(t, "%c", c);
	}
	text_put(t, "\"");
}
