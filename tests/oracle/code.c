/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>

#include "code.h"

struct code_page *codemap_page(struct code *c, uint64_t addr, int make)
{
	size_t i;

	if (make && c->n * 2 >= c->slots) {
		size_t slots = c->slots ? c->slots * 2 : 256;
		struct code_page **p = calloc(slots, sizeof(*p));

		if (!p)
			return NULL;
		for (size_t k = 0; k < c->slots; k++) {
			if (!c->page[k])
				continue;
			for (i = (c->page[k]->addr / CODE_PAGE) & (slots - 1); p[i];)
				i = (i + 1) & (slots - 1);
			p[i] = c->page[k];
		}
		free(c->page);
		c->page = p;
		c->slots = slots;
	}
	if (!c->slots)
		return NULL;
	for (i = (addr / CODE_PAGE) & (c->slots - 1); c->page[i]; i = (i + 1) & (c->slots - 1)) {
		if (c->page[i]->addr == addr)
			return c->page[i];
	}
	if (!make)
		return NULL;
	c->page[i] = calloc(1, sizeof(**c->page));
	if (c->page[i]) {
		c->page[i]->addr = addr;
		c->n++;
	}
	return c->page[i];
}

void codemap_free(struct code *c)
{
	for (size_t i = 0; i < c->slots; i++)
		free(c->page[i]);
	free(c->page);
}

int codemap_differs(struct code *c, uint64_t addr, const uint8_t *p, size_t n, int missing)
{
	for (size_t i = 0; i < n; i++, addr++) {
		size_t o = addr % CODE_PAGE;
		const struct code_page *pg = codemap_page(c, addr - o, 0);

		if (pg && pg->have[o] ? pg->byte[o] != p[i] : missing)
			return 1;
	}
	return 0;
}

int codemap_put(struct code *c, uint64_t addr, const uint8_t *p, size_t n, uint8_t have)
{
	for (size_t i = 0; i < n; i++, addr++) {
		size_t o = addr % CODE_PAGE;
		struct code_page *pg = codemap_page(c, addr - o, 1);

		if (!pg)
			return -ENOMEM;
		pg->byte[o] = p[i];
		pg->have[o] = have;
	}
	return 0;
}

int codemap_collect(struct code *c, const struct rec *r)
{
	const struct model_block *b;
	const uint8_t *p;
	size_t n;
	int err = 0;

	for (size_t i = 0; (b = rec_block(r, i, &p, &n)) && !err; i++) {
		if (codemap_differs(c, b->first, p, n, 0))
			c->changes = 1;
		else
			err = codemap_put(c, b->first, p, n, 1);
	}
	return err;
}
