/* SPDX-License-Identifier: BSD-2-Clause */
#include "idmap.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define FIRST 64	/* slots of the first table */

struct idmap_slot {
	uint64_t id;
	uint32_t value;		/* IDMAP_NONE: free */
};

static uint32_t home(uint64_t id, uint32_t cap)
{
	id ^= id >> 32;
	id *= 0x9e3779b97f4a7c15u;
	id ^= id >> 29;
	return (uint32_t)(id >> 20) & (cap - 1);
}

/* The slot of @id, or the free one where it would go. There is always a free slot. */
static struct idmap_slot *find(const struct idmap *m, uint64_t id)
{
	uint32_t i = home(id, m->cap);

	while (m->slots[i].value != IDMAP_NONE && m->slots[i].id != id)
		i = (i + 1) & (m->cap - 1);
	return &m->slots[i];
}

static int grow(struct idmap *m)
{
	struct idmap big = { .n = m->n, .cap = m->cap ? m->cap * 2 : FIRST };

	if (m->cap > UINT32_MAX / 4)
		return -ENOMEM;
	big.slots = malloc(big.cap * sizeof(*big.slots));
	if (!big.slots)
		return -ENOMEM;
	memset(big.slots, 0xff, big.cap * sizeof(*big.slots));
	for (uint32_t i = 0; i < m->cap; i++)
		if (m->slots[i].value != IDMAP_NONE)
			*find(&big, m->slots[i].id) = m->slots[i];
	free(m->slots);
	*m = big;
	return 0;
}

int idmap_set(struct idmap *m, uint64_t id, uint32_t value)
{
	struct idmap_slot *s;

	if (m->n >= m->cap / 2 && grow(m))
		return -ENOMEM;
	s = find(m, id);
	if (s->value == IDMAP_NONE)
		m->n++;
	*s = (struct idmap_slot){ .id = id, .value = value };
	return 0;
}

uint32_t idmap_get(const struct idmap *m, uint64_t id)
{
	return m->cap ? find(m, id)->value : IDMAP_NONE;
}

/* What was pushed on from its home by the one that goes moves back, so that it is found. */
void idmap_del(struct idmap *m, uint64_t id)
{
	uint32_t mask = m->cap - 1, hole, i;
	struct idmap_slot *s = m->cap ? find(m, id) : NULL;

	if (!s || s->value == IDMAP_NONE)
		return;
	hole = (uint32_t)(s - m->slots);
	for (i = (hole + 1) & mask; m->slots[i].value != IDMAP_NONE; i = (i + 1) & mask) {
		uint32_t from = home(m->slots[i].id, m->cap);

		if (((i - from) & mask) < ((i - hole) & mask))
			continue;
		m->slots[hole] = m->slots[i];
		hole = i;
	}
	m->slots[hole].value = IDMAP_NONE;
	m->n--;
}

void idmap_free(struct idmap *m)
{
	free(m->slots);
	*m = (struct idmap){ 0 };
}
