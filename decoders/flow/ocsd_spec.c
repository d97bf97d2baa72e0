/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_spec.h"

#include <string.h>

static void rets_take(struct spec_rets *r)
{
	r->n -= r->pending && r->n;
	r->pending = false;
}

void spec_rets_range(struct spec_rets *r, bool taken, bool link, bool indirect)
{
	rets_take(r);
	if (taken && link && r->n < SPEC_RETS)
		r->n++;
	r->pending = taken && indirect;
}

bool spec_rets_exception(struct spec_rets *r, bool tells_target)
{
	bool good = !r->pending || (r->n && !tells_target);

	rets_take(r);
	return good;
}

void spec_reset(struct spec *s)
{
	s->n = s->depth = 0;
	s->unsure = s->owes_addr = false;
}

bool spec_info(struct spec *s, uint32_t depth)
{
	/* all but the first one behind a sync are passed over by the library */
	if (depth < s->depth)
		s->depth = depth;
	return depth <= s->max;
}

static void settle(struct spec *s, uint32_t n)
{
	s->unsure |= n > s->depth;
	s->depth -= n < s->depth ? n : s->depth;
}

void spec_commit(struct spec *s, uint32_t n)
{
	settle(s, n);
}

void spec_push(struct spec *s, enum spec_kind kind, unsigned n)
{
	if (kind == SPEC_ATOM || kind == SPEC_P0)
		s->depth = s->depth + n < s->max ? s->depth + n : s->max;
	while (n--) {
		if (s->n == SPEC_MAX) {
			memmove(s->kind, s->kind + SPEC_MAX / 2, SPEC_MAX / 2);
			s->n = SPEC_MAX / 2;
		}
		s->kind[s->n++] = (uint8_t)kind;
	}
}

void spec_cancel(struct spec *s, uint32_t n)
{
	unsigned from = s->n, to;

	settle(s, n);
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
	bool other = false, addr = false;

	while (from && s->kind[from - 1] != SPEC_ATOM) {
		if (s->kind[--from] != SPEC_ADDR)
			other = true;
		else if (other)
			return false;
		else
			addr = true;
	}
	/* an atom or P0 behind it makes sure that the address is not the last one left */
	if (addr && (s->unsure || !from || !s->depth))
		return false;
	to = from;
	for (; from < s->n; from++)
		if (s->kind[from] != SPEC_ADDR)
			s->kind[to++] = s->kind[from];
	s->n = to;
	return true;
}
