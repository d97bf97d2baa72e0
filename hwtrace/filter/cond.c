/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Conditions: operators on a stack of bounded depth; what they join becomes jumps between tests at
 * once, so there is no tree.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "../base/diag.h"
#include "parse.h"

#define ID_FILTER 162

int parse_fail(const struct parse *ps, const char *at, const char *fmt, ...)
{
	const char *line = ps->text;
	unsigned row = 1;
	char buf[200], place[48];
	va_list ap;

	for (const char *p = ps->text; p < at; p++)
		if (*p == '\n') {
			row++;
			line = p + 1;
		}
	if (row > 1)
		snprintf(place, sizeof(place), "line %u, column %zu", row, (size_t)(at - line) + 1);
	else
		snprintf(place, sizeof(place), "column %zu", (size_t)(at - line) + 1);
	va_start(ap, fmt);
	vsnprintf(buf, sizeof(buf), fmt, ap);
	va_end(ap);
	return diag_set(ps->diag, -HWT_E_FILTER, ID_FILTER, NULL, (uint64_t)(at - ps->text),
			"%s: %s", place, buf);
}

const char *parse_show(const struct tok *t, char *buf, size_t size)
{
	size_t n = t->n < size - 6 ? t->n : size - 6;

	if (t->kind == TOK_END || !t->n)
		return "the end";
	if (t->kind == TOK_NEXT && *t->p == '\n')
		return "the line's end";
	buf[0] = '"';
	for (size_t i = 0; i < n; i++)
		buf[1 + i] = t->p[i] >= ' ' && t->p[i] < 127 ? t->p[i] : '?';
	snprintf(buf + 1 + n, size - 1 - n, "%s\"", n < t->n ? "..." : "");
	return buf;
}

int parse_step(struct parse *ps)
{
	ps->t = lex_cond(ps->t.p + ps->t.n, ps->end);
	if (ps->t.kind == TOK_BAD) {
		char buf[40];

		return parse_fail(ps, ps->t.p, "%s is %s", parse_show(&ps->t, buf, sizeof(buf)),
				  ps->t.why);
	}
	return 0;
}

static uint16_t *jump_at(struct parse *ps, unsigned jump)
{
	struct filter_test *t = (struct filter_test *)ps->tests->v + jump / 2;

	return jump % 2 ? &t->no : &t->yes;
}

static void aim(struct parse *ps, unsigned jump, uint16_t to)
{
	while (jump != JUMP_END) {
		uint16_t *p = jump_at(ps, jump);

		jump = *p;
		*p = to;
	}
}

/* @b behind the end of list @a; the shorter walk is not known, the list is bounded. */
static uint16_t chain(struct parse *ps, uint16_t a, uint16_t b)
{
	uint16_t *p;

	if (a == JUMP_END)
		return b;
	for (p = jump_at(ps, a); *p != JUMP_END; p = jump_at(ps, *p))
		;
	*p = b;
	return a;
}

int part_test(struct parse *ps, struct part *out, const struct filter_test *t)
{
	size_t i = ps->tests->n;
	struct filter_test *n;

	if (i >= FILTER_TESTS)
		return parse_fail(ps, ps->t.p, "more than %d comparisons for %s", FILTER_TESTS,
				  ps->e->name);
	n = vec_push(ps->tests, sizeof(*n));
	if (!n)
		return diag_set(ps->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	*n = *t;
	n->yes = n->no = JUMP_END;
	*out = (struct part){ (uint16_t)i, (uint16_t)(i * 2), (uint16_t)(i * 2 + 1) };
	return 0;
}

void part_and(struct parse *ps, struct part *a, const struct part *b)
{
	aim(ps, a->yes, b->first);
	a->yes = b->yes;
	a->no = chain(ps, a->no, b->no);
}

void part_or(struct parse *ps, struct part *a, const struct part *b)
{
	aim(ps, a->no, b->first);
	a->no = b->no;
	a->yes = chain(ps, a->yes, b->yes);
}

void part_not(struct part *a)
{
	uint16_t t = a->yes;

	a->yes = a->no;
	a->no = t;
}

void part_end(struct parse *ps, const struct part *a)
{
	aim(ps, a->yes, FILTER_YES);
	aim(ps, a->no, FILTER_NO);
}

struct op {
	uint8_t kind;		/* TOK_OPEN, TOK_NOT, TOK_AND or TOK_OR */
	const char *at;
};

struct stack {
	struct op op[FILTER_DEPTH];
	struct part part[FILTER_DEPTH + 1];
	unsigned nops, nparts;
};

static int push(struct parse *ps, struct stack *st)
{
	if (st->nops == FILTER_DEPTH)
		return parse_fail(ps, ps->t.p, "more than %d open parentheses and operators",
				  FILTER_DEPTH);
	st->op[st->nops++] = (struct op){ ps->t.kind, ps->t.p };
	return 0;
}

/* Joins what binds at least as tightly as @kind; all up to a parenthesis for others. */
static void reduce(struct parse *ps, struct stack *st, unsigned kind)
{
	while (st->nops && st->op[st->nops - 1].kind != TOK_OPEN) {
		unsigned top = st->op[st->nops - 1].kind;

		if (kind == TOK_AND && top == TOK_OR)
			return;
		st->nops--;
		if (top == TOK_NOT) {
			part_not(&st->part[st->nparts - 1]);
			continue;
		}
		st->nparts--;
		if (top == TOK_AND)
			part_and(ps, &st->part[st->nparts - 1], &st->part[st->nparts]);
		else
			part_or(ps, &st->part[st->nparts - 1], &st->part[st->nparts]);
	}
}

/* "!" binds to what has just ended. */
static void negate(struct stack *st)
{
	while (st->nops && st->op[st->nops - 1].kind == TOK_NOT) {
		st->nops--;
		part_not(&st->part[st->nparts - 1]);
	}
}

static int operand(struct parse *ps, struct stack *st, int *more)
{
	char buf[40];
	int rc;

	if (ps->t.kind == TOK_NEXT && *ps->t.p == '\n')
		return parse_step(ps);
	if (ps->t.kind == TOK_OPEN || ps->t.kind == TOK_NOT) {
		rc = push(ps, st);
		return rc ? rc : parse_step(ps);
	}
	if (ps->t.kind != TOK_WORD)
		return parse_fail(ps, ps->t.p, "expected a field of %s, found %s", ps->e->name,
				  parse_show(&ps->t, buf, sizeof(buf)));
	rc = parse_compare(ps, &st->part[st->nparts]);
	if (rc)
		return rc;
	st->nparts++;
	negate(st);
	*more = 0;
	return 0;
}

/* Behind an operand: 1 at the end of the condition. */
static int joint(struct parse *ps, struct stack *st, int *more)
{
	char buf[40];
	int rc;

	switch (ps->t.kind) {
	case TOK_AND:
	case TOK_OR:
		reduce(ps, st, ps->t.kind);
		rc = push(ps, st);
		*more = 1;
		return rc ? rc : parse_step(ps);
	case TOK_CLOSE:
		reduce(ps, st, TOK_CLOSE);
		if (!st->nops)
			return parse_fail(ps, ps->t.p, "\")\" without \"(\"");
		st->nops--;
		negate(st);
		return parse_step(ps);
	case TOK_NEXT:
	case TOK_END:
		reduce(ps, st, TOK_CLOSE);
		if (!st->nops)
			return 1;
		if (ps->t.kind == TOK_NEXT && *ps->t.p == '\n')
			return parse_step(ps);
		return parse_fail(ps, st->op[st->nops - 1].at, "\"(\" without \")\"");
	default:
		return parse_fail(ps, ps->t.p, "expected &&, || or the end, found %s",
				  parse_show(&ps->t, buf, sizeof(buf)));
	}
}

int parse_cond(struct parse *ps, struct part *out)
{
	struct stack st = { .nops = 0 };
	int more = 1, rc = parse_step(ps);

	while (!rc)
		rc = more ? operand(ps, &st, &more) : joint(ps, &st, &more);
	if (rc < 0)
		return rc;
	*out = st.part[0];
	return 0;
}
