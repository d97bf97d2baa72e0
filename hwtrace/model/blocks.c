/* SPDX-License-Identifier: BSD-2-Clause */
/* Blocks that ran, each once, and the walk that makes them of single instructions. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/err.h>

#include "hwtrace/base/arena.h"
#include "insn.h"

/* A block and, behind it, its bytes. */
struct code {
	struct model_block b;	/* first: a pointer to it is a pointer to this */
	uint32_t hash, nbytes;
	uint8_t bytes[];
};

struct model_blocks {
	struct model_insns *insns;
	struct arena mem;
	struct code **all;
	size_t n, room;
	uint32_t *slot;		/* index + 1 into @all, 0: free */
	size_t nslots;		/* a power of two */
};

int model_blocks_new(struct model_blocks **out)
{
	struct model_blocks *m = calloc(1, sizeof(*m));
	int err;

	if (!m)
		return -ENOMEM;
	err = model_insns_new(&m->insns);
	if (err) {
		free(m);
		return err;
	}
	*out = m;
	return 0;
}

void model_blocks_free(struct model_blocks *m)
{
	if (!m)
		return;
	model_insns_free(m->insns);
	arena_free(&m->mem);
	free(m->all);
	free(m->slot);
	free(m);
}

const struct model_block *model_blocks_at(const struct model_blocks *m, size_t i)
{
	return i < m->n ? &m->all[i]->b : NULL;
}

const uint8_t *model_block_bytes(const struct model_block *b, size_t *n)
{
	const struct code *c = (const struct code *)b;

	*n = c->nbytes;
	return c->bytes;
}

/* Eight bytes at a time: in the path of every block that runs. */
static uint32_t hash_of(const struct model_block *b, const uint8_t *p, size_t n)
{
	uint64_t h = (b->first ^ (uint64_t)b->isa << 56) * 0x9e3779b97f4a7c15 + b->cond, v;

	for (; n >= 8; n -= 8, p += 8) {
		memcpy(&v, p, 8);
		h = (h ^ v) * 0xff51afd7ed558ccd;
		h ^= h >> 32;
	}
	v = 0;
	memcpy(&v, p, n);
	h = (h ^ v ^ n << 56) * 0xff51afd7ed558ccd;
	return (uint32_t)(h >> 32);
}

static int same(const struct code *c, const struct model_block *b, const uint8_t *p, size_t n)
{
	return c->b.first == b->first && c->nbytes == n && c->b.isa == b->isa &&
		c->b.insns == b->insns && c->b.cond == b->cond && !memcmp(c->bytes, p, n);
}

static int grow(struct model_blocks *m)
{
	size_t n = m->nslots ? m->nslots * 2 : 1 << 12;
	uint32_t *slot;
	struct code **all;

	if (m->n >= UINT32_MAX / 4)
		return -ENOMEM;
	all = realloc(m->all, n / 2 * sizeof(*all));
	if (!all)
		return -ENOMEM;
	m->all = all;
	m->room = n / 2;
	slot = calloc(n, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	for (size_t i = 0; i < m->n; i++) {
		size_t k = m->all[i]->hash & (n - 1);

		while (slot[k])
			k = (k + 1) & (n - 1);
		slot[k] = (uint32_t)i + 1;
	}
	free(m->slot);
	m->slot = slot;
	m->nslots = n;
	return 0;
}

static int intern(struct model_blocks *m, const struct model_block *b, const uint8_t *p, size_t n,
		  const struct model_block **out)
{
	uint32_t h = hash_of(b, p, n);
	struct code *c;
	size_t k;

	if (m->nslots) {
		for (k = h & (m->nslots - 1); m->slot[k]; k = (k + 1) & (m->nslots - 1)) {
			c = m->all[m->slot[k] - 1];
			if (c->hash == h && same(c, b, p, n)) {
				*out = &c->b;
				return 0;
			}
		}
	}
	if (m->n == m->room) {
		int err = grow(m);

		if (err)
			return err;
	}
	c = arena_alloc(&m->mem, sizeof(*c) + n);
	if (!c)
		return -ENOMEM;
	c->b = *b;
	c->hash = h;
	c->nbytes = (uint32_t)n;
	memcpy(c->bytes, p, n);
	for (k = h & (m->nslots - 1); m->slot[k];)
		k = (k + 1) & (m->nslots - 1);
	m->all[m->n++] = c;
	m->slot[k] = (uint32_t)m->n;
	*out = &c->b;
	return 0;
}

int model_walk_flush(struct model_walk *w, uint64_t to, struct model_event *ev)
{
	struct model_block b = {
		.first = w->first, .last = w->last, .target = w->insn.target, .insns = w->insns,
		.last_size = w->insn.size, .isa = w->isa, .kind = w->insn.kind,
		.cond = w->insn.cond
	};
	struct model_event e = { .op = MODEL_RUN, .insns = w->insns, .tick = w->tick, .to = to };
	int err;

	if (!w->insns)
		return 0;
	err = intern(w->blocks, &b, w->bytes, w->nbytes, &e.block);
	if (err)
		return err;
	/* a conditional branch to the next instruction can not be told from one not taken */
	e.taken = b.kind != MODEL_PLAIN && b.kind != MODEL_BARRIER && b.kind != MODEL_WAIT &&
		b.kind != MODEL_PTWRITE && (!b.cond || to != b.last + b.last_size);
	w->insns = w->nbytes = 0;
	*ev = e;
	return 1;
}

int model_walk_insn(struct model_walk *w, unsigned isa, uint64_t addr, const void *p, size_t n,
		    uint64_t tick, struct model_event *ev)
{
	struct model_insn in;
	int told = 0, err;

	if (w->insns && w->insn.rep && addr == w->last) {
		w->tick = tick;
		return 0;
	}
	if (addr != w->next || isa != w->isa)
		w->it = 0;	/* came by a branch or from a handler */
	err = model_insn_get(w->blocks->insns, isa, addr, p, n, &w->it, &in);
	if (err)
		return err;
	if (w->insns && (w->insn.kind != MODEL_PLAIN || addr != w->next || isa != w->isa ||
			 w->insns == MODEL_WALK_INSNS)) {
		told = model_walk_flush(w, addr, ev);
		if (told < 0)
			return told;
	}
	if (!w->insns)
		w->first = addr;
	memcpy(w->bytes + w->nbytes, p, in.size);
	w->nbytes += in.size;
	w->insns++;
	w->insn = in;
	w->isa = (uint8_t)isa;
	w->last = addr;
	w->next = addr + in.size;
	w->tick = tick;
	return told;
}
