/* SPDX-License-Identifier: BSD-2-Clause */
#include "own.h"

#include <string.h>

static uint32_t length(const struct hwt_abi_field *f, const void *rec)
{
	uint32_t n;

	memcpy(&n, (const char *)rec + f->offset, sizeof(n));
	return n;
}

int own_fits(const struct hwt_abi_own *e, const void *rec, size_t size)
{
	size_t left;

	if (size < e->size)
		return 0;
	left = size - e->size;
	for (unsigned i = 0; i < e->nfields; i++) {
		uint32_t n = e->fields[i].type == HWT_ABI_text ? length(&e->fields[i], rec) : 0;

		if (n > left)
			return 0;
		left -= n;
	}
	return 1;
}

void own_value(struct hwt_abi_value *v, const struct hwt_abi_own *e, const struct hwt_abi_field *f,
	       const void *rec)
{
	size_t at = e->size;

	*v = (struct hwt_abi_value){ 0 };
	if (f->type != HWT_ABI_text) {
		memcpy(&v->u, (const char *)rec + f->offset, sizeof(v->u));
		return;
	}
	for (const struct hwt_abi_field *k = e->fields; k != f; k++)
		if (k->type == HWT_ABI_text)
			at += length(k, rec);
	v->p = (const char *)rec + at;
	v->n = strnlen(v->p, length(f, rec));
}
