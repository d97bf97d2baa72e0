/* SPDX-License-Identifier: BSD-2-Clause */
#include "lex.h"

#include <string.h>

static int letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static int digit(char c)
{
	return c >= '0' && c <= '9';
}

static int hex(char c)
{
	if (digit(c))
		return c - '0';
	c |= 32;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Blanks, and a comment up to its line's end. */
static const char *skip(const char *p, const char *end)
{
	while (p < end && (*p == ' ' || *p == '\t' || *p == '\r'))
		p++;
	if (p < end && *p == '#')
		while (p < end && *p != '\n')
			p++;
	return p;
}

static struct tok bad(const char *p, size_t n, const char *why)
{
	return (struct tok){ .kind = TOK_BAD, .p = p, .n = n, .why = why };
}

static struct tok make(unsigned kind, const char *p, size_t n)
{
	return (struct tok){ .kind = (uint8_t)kind, .p = p, .n = n };
}

static int event_char(char c)
{
	return letter(c) || digit(c) || (c && strchr(".:*?-+@/$[]=", c));
}

struct tok lex_event(const char *p, const char *end)
{
	size_t n = 0;

	p = skip(p, end);
	if (p == end)
		return make(TOK_END, p, 0);
	if (*p == '\n' || *p == ',')
		return make(TOK_NEXT, p, 1);
	while (p + n < end && event_char(p[n]))
		n++;
	return n ? make(TOK_WORD, p, n) : bad(p, 1, "no event's name");
}

static struct tok number(const char *p, const char *end)
{
	struct tok t = make(TOK_NUMBER, p, 0);
	unsigned base = 10;
	const char *q = p, *first;

	if (*q == '-') {
		t.minus = 1;
		q++;
	}
	if (end - q > 2 && *q == '0' && (q[1] | 32) == 'x') {
		base = 16;
		q += 2;
	}
	for (first = q; q < end && (letter(*q) || digit(*q)); q++) {
		int d = hex(*q);

		if (d < 0 || (unsigned)d >= base)
			return bad(p, (size_t)(q + 1 - p), "no number");
		if (t.value > (UINT64_MAX - (unsigned)d) / base)
			return bad(p, (size_t)(q + 1 - p), "a number over 64 bits");
		t.value = t.value * base + (unsigned)d;
	}
	t.n = (size_t)(q - p);
	return q == first ? bad(p, t.n, "no number") : t;
}

static struct tok string(const char *p, const char *end)
{
	const char *q = p + 1;

	for (; q < end && *q != '\n'; q++) {
		if (*q == '"')
			return make(TOK_STRING, p, (size_t)(q + 1 - p));
		if (!*q)
			break;
		if (*q != '\\')
			continue;
		if (q + 1 < end && (q[1] == '"' || q[1] == '\\'))
			q++;
		else if (end - q > 3 && q[1] == 'x' && hex(q[2]) >= 0 && hex(q[3]) >= 0 &&
			 (hex(q[2]) || hex(q[3])))
			q += 3;
		else
			return bad(q, 2, "an escape other than \\\", \\\\ and \\xNN");
	}
	return bad(p, (size_t)(q - p), "a string without end");
}

size_t lex_string(const struct tok *t, char *out)
{
	const char *p = t->p + 1, *end = t->p + t->n - 1;
	size_t n = 0;

	for (; p < end; p++) {
		if (*p != '\\') {
			out[n++] = *p;
		} else if (p[1] == 'x') {
			out[n++] = (char)(hex(p[2]) << 4 | hex(p[3]));
			p += 3;
		} else {
			out[n++] = *++p;
		}
	}
	return n;
}

struct tok lex_cond(const char *p, const char *end)
{
	static const struct { char text[3]; uint8_t kind; } ops[] = {
		{ "==", TOK_EQ }, { "!=", TOK_NE }, { "<=", TOK_LE }, { ">=", TOK_GE },
		{ "!~", TOK_UNLIKE }, { "&&", TOK_AND }, { "||", TOK_OR }, { "..", TOK_TO },
		{ "<", TOK_LT }, { ">", TOK_GT }, { "~", TOK_LIKE }, { "&", TOK_BITS },
		{ "|", TOK_BAR }, { "!", TOK_NOT }, { "(", TOK_OPEN }, { ")", TOK_CLOSE },
		{ "{", TOK_SET }, { "}", TOK_SET_END }, { ",", TOK_NEXT }, { "\n", TOK_NEXT },
	};
	size_t n = 0;

	p = skip(p, end);
	if (p == end)
		return make(TOK_END, p, 0);
	if (digit(*p) || (*p == '-' && end - p > 1 && digit(p[1])))
		return number(p, end);
	if (*p == '"')
		return string(p, end);
	/* a dot inside: ctx.prio; two of them are a range's */
	while (p + n < end && (letter(p[n]) || digit(p[n]) ||
			       (n && p[n] == '.' && (size_t)(end - p) > n + 1 && letter(p[n + 1]))))
		n++;
	if (n)
		return make(TOK_WORD, p, n);
	for (unsigned i = 0; i < sizeof(ops) / sizeof(ops[0]); i++) {
		n = strlen(ops[i].text);
		if ((size_t)(end - p) >= n && !memcmp(p, ops[i].text, n))
			return make(ops[i].kind, p, n);
	}
	return bad(p, 1, *p == '=' ? "\"=\"; comparing is ==" : "no part of a condition");
}
