/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FILTER_LEX_H
#define HWT_FILTER_LEX_H

/* Words of the filter language. */
#include <stddef.h>
#include <stdint.h>

enum tok_kind {
	TOK_END,	/* of the text */
	TOK_NEXT,	/* "," or a line's end */
	TOK_WORD,	/* name of an event, a field, a value */
	TOK_NUMBER, TOK_STRING,
	TOK_EQ, TOK_NE, TOK_LT, TOK_LE, TOK_GT, TOK_GE, TOK_LIKE, TOK_UNLIKE,
	TOK_BITS, TOK_BAR, TOK_AND, TOK_OR, TOK_NOT, TOK_OPEN, TOK_CLOSE, TOK_SET, TOK_SET_END,
	TOK_TO,
	TOK_BAD		/* none of these; @why says what is wrong */
};

struct tok {
	uint8_t kind;		/* enum tok_kind */
	const char *p;		/* its first byte in the text; @n of them */
	size_t n;
	uint64_t value;		/* NUMBER: magnitude */
	uint8_t minus;		/* NUMBER: below zero */
	const char *why;	/* BAD; static */
};

/* The event's name, or END, NEXT or BAD, at @p in a text that ends at @end. */
struct tok lex_event(const char *p, const char *end);
/* The next word of a condition. */
struct tok lex_cond(const char *p, const char *end);
/* The bytes of STRING @t without quotes and escapes into @out of @t->n bytes; how many. */
size_t lex_string(const struct tok *t, char *out);

#endif
