/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_CODE_H
#define TESTS_ORACLE_CODE_H

/* The code of a recording by address, in pages that know which of their bytes ever ran. */
#include "rec.h"

#define CODE_PAGE	4096u

/* Code memory as it is now. */
struct code_page {
	uint64_t addr;
	uint64_t ran;		/* tick of the last event of a block here */
	uint64_t since;		/* tick from which on it holds what it holds now; 0: the start */
	uint8_t byte[CODE_PAGE];
	uint8_t have[CODE_PAGE];	/* 0 not known, 1 from before @since, 2 ran since then */
};
struct code {
	struct code_page **page;	/* open addressing by address */
	size_t n, slots;
	int changes;		/* some byte has had two values */
};

/* The page that begins at @addr; NULL: not there, or with @make no memory. */
struct code_page *codemap_page(struct code *c, uint64_t addr, int make);
void codemap_free(struct code *c);
/* 1 if a byte is not what is there; bytes that are not there count by @missing. */
int codemap_differs(struct code *c, uint64_t addr, const uint8_t *p, size_t n, int missing);
/* @have as in struct code_page. 0, -ENOMEM. */
int codemap_put(struct code *c, uint64_t addr, const uint8_t *p, size_t n, uint8_t have);
/* The code as it is before anything runs: of what is rewritten, the first that was there. */
int codemap_collect(struct code *c, const struct rec *r);

#endif
