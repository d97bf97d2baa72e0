/* SPDX-License-Identifier: BSD-2-Clause */
#include "diag.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTES_PER_KIND 16	/* more of one kind and file tell a reader nothing new */

static void fill(struct hwt_diag *d, int code, unsigned id, const char *file, uint64_t off,
		 const char *fmt, va_list ap)
{
	d->code = code;
	d->id = (uint16_t)id;
	d->off = off;
	snprintf(d->file, sizeof(d->file), "%s", file ? file : "");
	if (fmt)
		vsnprintf(d->text, sizeof(d->text), fmt, ap);
	else
		d->text[0] = 0;
}

int diag_set(struct hwt_diag *d, int code, unsigned id, const char *file, uint64_t off,
	     const char *fmt, ...)
{
	va_list ap;

	if (d) {
		va_start(ap, fmt);
		fill(d, code, id, file, off, fmt, ap);
		va_end(ap);
	}
	return code;
}

void notes_add(struct notes *ns, unsigned severity, unsigned id, const char *file, uint64_t off,
	       const char *fmt, ...)
{
	struct hwt_note *first = NULL;
	uint32_t same = 0;
	va_list ap;

	for (uint32_t i = 0; i < ns->n; i++) {
		struct hwt_diag *d = &ns->v[i].diag;

		if (d->id == id && ns->v[i].severity == severity && !strcmp(d->file,
			file ? file : "")) {
			if (!first)
				first = &ns->v[i];
			same++;
		}
	}
	if (same >= NOTES_PER_KIND) {
		first->count++;
		return;
	}
	if (ns->n == ns->cap) {
		uint32_t cap = ns->cap ? ns->cap * 2 : 16;
		struct hwt_note *v = realloc(ns->v, cap * sizeof(*v));

		if (!v)
			return;
		ns->v = v;
		ns->cap = cap;
	}
	ns->v[ns->n] = (struct hwt_note){ .severity = (uint8_t)severity, .count = 1 };
	va_start(ap, fmt);
	fill(&ns->v[ns->n].diag, 0, id, file, off, fmt, ap);
	va_end(ap);
	ns->n++;
}

void notes_free(struct notes *ns)
{
	free(ns->v);
	*ns = (struct notes){ 0 };
}
