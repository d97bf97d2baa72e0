/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FILTER_PARSE_H
#define HWT_FILTER_PARSE_H

/* What the parts of the parser share. */
#include "filter.h"
#include "lex.h"

/*
 * A condition that is parsed: its first test, and the heads of two lists of jumps that nobody has
 * aimed yet, those taken if it holds and those if not. A jump is test * 2 (yes) or + 1 (no); the
 * list goes on in the place of the jump.
 */
struct part {
	uint16_t first, yes, no;
};

#define JUMP_END 0xffff

struct parse {
	struct hwt_filter *f;
	const struct hwt_filter_opts *o;
	const char *text, *end;
	struct hwt_diag *diag;
	const struct filter_event *e;
	struct vec *tests;		/* of @e */
	struct hwt_abi_field ctx[HWT_ABI_CONTEXTS];
	unsigned nctx;
	struct tok t;			/* the word that is looked at */
};

/* Fills the diag, with the place @at in the text; returns -HWT_E_FILTER. */
int parse_fail(const struct parse *ps, const char *at, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* Takes the next word of a condition; -HWT_E_FILTER if there is none that makes sense. */
int parse_step(struct parse *ps);
/* What stands at @t, for a message, in @buf. */
const char *parse_show(const struct tok *t, char *buf, size_t size);

/* Adds a test; its jumps are the part's lists. */
int part_test(struct parse *ps, struct part *out, const struct filter_test *t);
/* @a with what follows it in the list, @b. */
void part_and(struct parse *ps, struct part *a, const struct part *b);
void part_or(struct parse *ps, struct part *a, const struct part *b);
void part_not(struct part *a);
void part_end(struct parse *ps, const struct part *a);

/* A comparison, from its field on. */
int parse_compare(struct parse *ps, struct part *out);
/* Adds "nr is @nr, and it is no call of a 32-bit program". */
int parse_syscall(struct parse *ps, struct part *out, unsigned nr);
/* A condition, up to the end of its clause, behind which parsing goes on. */
int parse_cond(struct parse *ps, struct part *out);

#endif
