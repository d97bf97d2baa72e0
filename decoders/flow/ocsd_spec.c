/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_spec.h"

#include <string.h>

void spec_push(struct spec *s, enum spec_kind kind, unsigned n)
{
	while (n--) {
		if (s->n == SPEC_MAX) {
			memmove(s->kind, s->kind + SPEC_MAX / 2, SPEC_MAX / 2);
			s->n = SPEC_MAX / 2;
		}
		s->kind[s->n++] = (uint8_t)kind;
	}
}

void spec_cancel(struct spec *s, unsigned n)
{
	unsigned from = s->n, to;

	while (from && n)
		n -= s->kind[--from] == SPEC_ATOM || s->kind[from] == SPEC_P0;
	to = from;
	for (; from < s->n; from++)
		if (s->kind[from] != SPEC_ATOM && s->kind[from] != SPEC_P0)
			s->kind[to++] = s->kind[from];
	s->n = to;
}

bool spec_mispredict(struct spec *s)
{
	unsigned from = s->n, to;
	bool other = false;

	while (from && s->kind[from - 1] != SPEC_ATOM) {
		if (s->kind[--from] != SPEC_ADDR)
			other = true;
		else if (other)
			return false;
	}
	to = from;
	for (; from < s->n; from++)
		if (s->kind[from] != SPEC_ADDR)
			s->kind[to++] = s->kind[from];
	s->n = to;
	return true;
}
