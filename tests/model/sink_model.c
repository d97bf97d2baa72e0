// SPDX-License-Identifier: GPL-2.0-only
#include "tests/model/sink_model.h"

void sink_model_log(struct sink_model *s, uint8_t *log, uint64_t cap)
{
	s->log = log;
	s->log_cap = cap;
}

void sink_model_note(struct sink_model *s, const uint8_t *p, uint32_t n)
{
	for (uint32_t i = 0; i < n && s->logged < s->log_cap; i++)
		s->log[s->logged++] = p[i];
}

enum sink_stored sink_model_store(struct sink_model *s, uint64_t *at, uint64_t first,
				  uint64_t last, const uint8_t *p, uint32_t n, bool *round)
{
	uint64_t off = *at - s->mem_base;
	bool inside = *at >= s->mem_base && off + n <= s->mem_bytes;

	if (inside)
		memcpy(s->mem + off, p, n);
	s->stored += n;
	*at += n;
	*round = *at >= last;
	if (*round)
		*at = first;
	return inside ? SINK_INSIDE : SINK_OUTSIDE;
}

void sink_model_gone(struct sink_model *s, uint32_t n)
{
	s->npending -= n;
	memmove(s->pending, s->pending + n, s->npending);
}
