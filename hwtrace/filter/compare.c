/* SPDX-License-Identifier: BSD-2-Clause */
/* Comparisons: fields and values are looked up in the tables and must fit each other. */
#include <errno.h>
#include <hwtrace/uapi.h>
#include <stdbool.h>
#include <string.h>

#include "../base/diag.h"
#include "parse.h"

/* Those of struct hwt_rec; a CPU that is not known is -1. */
static const struct hwt_abi_field header[] = {
	{ "cpu", "CPU", "where it was recorded", FILTER_CPU, 4, HWT_ABI_pid, 1 },
	{ "pid", "", "process that runs", offsetof(struct hwt_rec, pid), 4, HWT_ABI_pid, 1 },
	{ "tid", "", "task that runs", offsetof(struct hwt_rec, tid), 4, HWT_ABI_pid, 1 },
	{ "time", "ticks", "of the record", offsetof(struct hwt_rec, time), 8, HWT_ABI_u64, 1 },
	{ "hit", "", "number of the record", FILTER_HIT, 8, HWT_ABI_u64, 1 },
};

_Static_assert(offsetof(struct hwt_rec, hit) == FILTER_HIT, "record header");

#define CTX "ctx."
#define NHEADER (sizeof(header) / sizeof(header[0]))

int filter_signed(unsigned type)
{
	return type == HWT_ABI_s32 || type == HWT_ABI_s64 || type == HWT_ABI_pid;
}

static int same(const struct tok *t, const char *name)
{
	return strlen(name) == t->n && !memcmp(name, t->p, t->n);
}

static int is_string(const struct hwt_abi_field *f)
{
	return f->type == HWT_ABI_name16 || f->type == HWT_ABI_text;
}

static int is_bytes(const struct hwt_abi_field *f)
{
	return f->type == HWT_ABI_code16 || f->type == HWT_ABI_id24;
}

static int is_bits(const char *list)
{
	size_t n = strlen(list);

	return n > 4 && !strcmp(list + n - 4, "_bit");
}

/* The same behind "ctx.". */
static int context(struct parse *ps, struct filter_test *t)
{
	struct tok name = ps->t;
	struct near near;
	char buf[40];

	name.p += strlen(CTX);
	name.n -= strlen(CTX);
	near_init(&near, name.p, name.n);
	for (unsigned i = 0; i < ps->nctx; i++) {
		if (same(&name, ps->ctx[i].name)) {
			t->f = ps->ctx[i];
			t->ctx = 1;
			return parse_step(ps);
		}
		near_try(&near, ps->ctx[i].name);
	}
	return parse_fail(ps, ps->t.p, "no record here has %s%s%s%s%s",
			  parse_show(&ps->t, buf, sizeof(buf)), near.best ? "; did you mean " : "",
			  near.best ? CTX : "; record --context names such fields",
			  near.best ? near.best : "", near.best ? "?" : "");
}

/* The field that is named by the word, which is taken, for a test. */
static int field(struct parse *ps, struct filter_test *t)
{
	const struct hwt_abi_field *f = ps->e->fields;
	unsigned n = ps->e->nfields;
	struct near near;
	char buf[40];

	near_init(&near, ps->t.p, ps->t.n);
	if (ps->t.kind != TOK_WORD)
		return parse_fail(ps, ps->t.p, "expected a field of %s, found %s", ps->e->name,
				  parse_show(&ps->t, buf, sizeof(buf)));
	if (ps->t.n > strlen(CTX) && !memcmp(ps->t.p, CTX, strlen(CTX)))
		return context(ps, t);
	for (unsigned i = 0; i < n + NHEADER; i++) {
		const struct hwt_abi_field *c = i < n ? &f[i] : &header[i - n];

		if (same(&ps->t, c->name)) {
			t->f = *c;
			return parse_step(ps);
		}
		near_try(&near, c->name);
	}
	if (!strncmp(ps->e->name, "syscall.", 8) && (same(&ps->t, "name") || same(&ps->t, "call")))
		return parse_fail(ps, ps->t.p, "%s has no field %s; one call is %s:read, "
				  "or nr == N", ps->e->name,
				  parse_show(&ps->t, buf, sizeof(buf)), ps->e->name);
	return parse_fail(ps, ps->t.p, "%s has no field %s%s%s%s", ps->e->name,
			  parse_show(&ps->t, buf, sizeof(buf)),
			  near.best ? "; did you mean " : "", near.best ? near.best : "",
			  near.best ? "?" : "");
}

static int named(struct parse *ps, const struct hwt_abi_field *f, uint64_t *v)
{
	const struct hwt_abi_named *c = NULL;
	struct near near;
	char buf[40];

	near_init(&near, ps->t.p, ps->t.n);
	if (!hwt_abi_value_at(f->unit, 0))
		return parse_fail(ps, ps->t.p, "expected a number for %s, found %s", f->name,
				  parse_show(&ps->t, buf, sizeof(buf)));
	for (unsigned i = 0; (c = hwt_abi_value_at(f->unit, i)) && !same(&ps->t, c->name); i++)
		near_try(&near, c->name);
	if (!c)
		return parse_fail(ps, ps->t.p, "%s is never %s; %s %s%s", f->name,
				  parse_show(&ps->t, buf, sizeof(buf)),
				  near.best ? "did you mean" : "its values are those of",
				  near.best ? near.best : f->unit, near.best ? "?" : "");
	*v |= c->value;
	return parse_step(ps);
}

/* The number as the type holds it, extended to 64 bits; what is no value of it is an error. */
static int number(struct parse *ps, const struct hwt_abi_field *f, uint64_t *v)
{
	const struct tok *t = &ps->t;
	int wide = f->size == 8, sign = filter_signed(f->type);
	bool any = !f->since;	/* no value means "not known" */
	uint64_t most = sign ? (wide ? INT64_MAX : INT32_MAX) :
		(wide ? UINT64_MAX - !any : UINT32_MAX - 1);
	/* the most negative value means "not known"; of ids it is -1 */
	uint64_t least = sign ? most + any : 0;

	if (t->minus && f->type == HWT_ABI_pid)
		return parse_fail(ps, t->p, "%s is never negative; known(%s) asks whether it is "
				  "known", f->name, f->name);
	if (t->value > (t->minus ? least : most))
		return parse_fail(ps, t->p, "%.*s is no value of %s, which is %s%s",
				  t->n < 24 ? (int)t->n : 24, t->p, f->name,
				  hwt_abi_type_name(f->type),
				  t->value == most + 1 && !t->minus && !sign ?
				  "; all ones mean that it is not known" : "");
	*v = t->minus ? -t->value : t->value;
	return parse_step(ps);
}

static int value(struct parse *ps, const struct hwt_abi_field *f, uint64_t *v)
{
	char buf[40];
	int rc;

	*v = 0;
	if (ps->t.kind == TOK_NUMBER)
		return number(ps, f, v);
	if (ps->t.kind == TOK_WORD) {
		rc = named(ps, f, v);
		while (!rc && ps->t.kind == TOK_BAR && is_bits(f->unit)) {
			rc = parse_step(ps);
			if (!rc)
				rc = named(ps, f, v);
		}
		return rc;
	}
	return parse_fail(ps, ps->t.p, "expected a value for %s, found %s", f->name,
			  parse_show(&ps->t, buf, sizeof(buf)));
}

/* The string into the test. */
static int text(struct parse *ps, struct filter_test *t)
{
	char buf[40], *s;

	if (ps->t.kind != TOK_STRING)
		return parse_fail(ps, ps->t.p, "%s is text: expected a \"string\", found %s",
				  t->f.name, parse_show(&ps->t, buf, sizeof(buf)));
	s = arena_alloc(&ps->f->arena, ps->t.n);
	if (!s)
		return diag_set(ps->diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "out of memory");
	t->str = s;
	t->len = lex_string(&ps->t, s);
	if (t->op == TEST_GLOB && t->len > FILTER_GLOB)
		return parse_fail(ps, ps->t.p, "a pattern over %d bytes", FILTER_GLOB);
	if (t->op == TEST_GLOB || !t->f.since)
		return parse_step(ps);
	if (!t->len || (t->len == 1 && *s == '-'))
		return parse_fail(ps, ps->t.p, "this text means that %s is not known; known(%s) "
				  "asks for it", t->f.name, t->f.name);
	if (t->f.type == HWT_ABI_name16 && t->len > 15)
		return parse_fail(ps, ps->t.p, "%s holds 15 characters at most; %s ~ \"%.14s*\" "
				  "fits names that were cut", t->f.name, t->f.name, s);
	return parse_step(ps);
}

/*
 * The value as it is stored in one that is not known would satisfy the test, or the field can be
 * missing.
 */
static int guard(const struct filter_test *t, int negated)
{
	if (!t->f.since)
		return 0;
	return negated || t->f.since > 1 || t->f.offset == FILTER_HIT ||
		(t->op != TEST_EQ && t->op != TEST_STR);
}

/* Adds "known and the test", or "known and not the test". */
static int add(struct parse *ps, struct part *out, const struct filter_test *t, int negated)
{
	struct filter_test known = { .f = t->f, .op = TEST_KNOWN, .ctx = t->ctx };
	struct part p;
	int rc;

	if (!guard(t, negated)) {
		rc = part_test(ps, out, t);
		if (negated)
			part_not(out);
		return rc;
	}
	rc = part_test(ps, out, &known);
	if (!rc)
		rc = part_test(ps, &p, t);
	if (rc)
		return rc;
	if (negated)
		part_not(&p);
	part_and(ps, out, &p);
	return 0;
}

/* LOW..HIGH, whose first value is in @t. */
static int range(struct parse *ps, struct part *out, struct filter_test *t, const char *at)
{
	struct filter_test high = { .f = t->f, .op = TEST_GT, .ctx = t->ctx };
	uint64_t flip = filter_signed(t->f.type) ? 1ull << 63 : 0;
	struct part p;
	int rc = parse_step(ps);

	if (!rc)
		rc = value(ps, &t->f, &high.value);
	if (rc)
		return rc;
	if ((t->value ^ flip) > (high.value ^ flip))
		return parse_fail(ps, at, "the range ends before it begins");
	t->op = TEST_GE;
	rc = add(ps, out, t, 0);
	if (!rc)
		rc = part_test(ps, &p, &high);
	if (rc)
		return rc;
	part_not(&p);
	part_and(ps, out, &p);
	return 0;
}

/* @of: has the field. */
static int element(struct parse *ps, const struct filter_test *of, struct part *out)
{
	const struct hwt_abi_field *f = &of->f;
	struct filter_test t = { .f = *f, .op = is_string(f) ? TEST_STR : TEST_EQ, .ctx = of->ctx };
	const char *at = ps->t.p;
	int rc;

	rc = is_string(f) ? text(ps, &t) : value(ps, f, &t.value);
	if (!rc && ps->t.kind == TOK_TO && !is_string(f))
		return range(ps, out, &t, at);
	return rc ? rc : add(ps, out, &t, 0);
}

static int step_over_lines(struct parse *ps)
{
	int rc = parse_step(ps);

	while (!rc && ps->t.kind == TOK_NEXT && *ps->t.p == '\n')
		rc = parse_step(ps);
	return rc;
}

/* in {A, B..C}; the word is "{" */
static int set(struct parse *ps, const struct filter_test *of, struct part *out)
{
	struct part p;
	char buf[40];
	int rc;

	if (ps->t.kind != TOK_SET)
		return parse_fail(ps, ps->t.p, "expected {, found %s",
				  parse_show(&ps->t, buf, sizeof(buf)));
	rc = step_over_lines(ps);
	for (unsigned i = 0; !rc; i++) {
		rc = element(ps, of, i ? &p : out);
		while (!rc && ps->t.kind == TOK_NEXT && *ps->t.p == '\n')
			rc = parse_step(ps);
		if (rc)
			break;
		if (i)
			part_or(ps, out, &p);
		if (ps->t.kind == TOK_SET_END)
			return parse_step(ps);
		if (ps->t.kind != TOK_NEXT)
			return parse_fail(ps, ps->t.p, "expected \",\" or }, found %s",
					  parse_show(&ps->t, buf, sizeof(buf)));
		rc = step_over_lines(ps);
	}
	return rc;
}

static int known(struct parse *ps, struct part *out)
{
	struct filter_test t = { .op = TEST_KNOWN };
	char buf[40];
	int rc = parse_step(ps);

	if (!rc && ps->t.kind != TOK_OPEN)
		return parse_fail(ps, ps->t.p, "expected known(FIELD), found %s",
				  parse_show(&ps->t, buf, sizeof(buf)));
	if (!rc)
		rc = parse_step(ps);
	if (!rc)
		rc = field(ps, &t);
	if (rc)
		return rc;
	if (ps->t.kind != TOK_CLOSE)
		return parse_fail(ps, ps->t.p, "expected ), found %s",
				  parse_show(&ps->t, buf, sizeof(buf)));
	rc = part_test(ps, out, &t);
	return rc ? rc : parse_step(ps);
}

/* The test of an operator, and whether it is negated; -1 if it is none. */
static int operator(unsigned kind, const struct hwt_abi_field *f, int *negated)
{
	*negated = kind == TOK_NE || kind == TOK_UNLIKE || kind == TOK_LT || kind == TOK_LE;
	switch (kind) {
	case TOK_EQ:
	case TOK_NE:
		return is_string(f) ? TEST_STR : TEST_EQ;
	case TOK_LT:
	case TOK_GE:
		return TEST_GE;
	case TOK_LE:
	case TOK_GT:
		return TEST_GT;
	case TOK_BITS:
		return TEST_BITS;
	case TOK_LIKE:
	case TOK_UNLIKE:
		return TEST_GLOB;
	}
	return -1;
}

static int operator_fits(const struct parse *ps, const struct hwt_abi_field *f, int op)
{
	char buf[40];

	if (op < 0)
		return parse_fail(ps, ps->t.p, "expected a comparison with %s, such as %s, found "
				  "%s", f->name, is_string(f) ? "~ \"a*\"" : "== 1",
				  parse_show(&ps->t, buf, sizeof(buf)));
	if (is_string(f) && op != TEST_STR && op != TEST_GLOB)
		return parse_fail(ps, ps->t.p, "%s is text: use == != ~ or in", f->name);
	if (!is_string(f) && op == TEST_GLOB)
		return parse_fail(ps, ps->t.p, "%s is a number: patterns are for text", f->name);
	return 0;
}

int parse_compare(struct parse *ps, struct part *out)
{
	struct filter_test t = { .op = TEST_EQ };
	const char *at;
	int negated, op, rc;

	if (same(&ps->t, "known"))
		return known(ps, out);
	rc = field(ps, &t);
	if (rc)
		return rc;
	if (is_bytes(&t.f))
		return parse_fail(ps, ps->t.p, "%s holds bytes: only known(%s) can be asked",
				  t.f.name, t.f.name);
	if (ps->t.kind == TOK_WORD && same(&ps->t, "in")) {
		rc = parse_step(ps);
		return rc ? rc : set(ps, &t, out);
	}
	op = operator(ps->t.kind, &t.f, &negated);
	rc = operator_fits(ps, &t.f, op);
	if (!rc)
		rc = parse_step(ps);
	if (rc)
		return rc;
	t.op = (uint8_t)op;
	at = ps->t.p;
	rc = is_string(&t.f) ? text(ps, &t) : value(ps, &t.f, &t.value);
	if (!rc && op == TEST_BITS && !t.value)
		return parse_fail(ps, at, "0 has no bits");
	return rc ? rc : add(ps, out, &t, negated);
}

int parse_syscall(struct parse *ps, struct part *out, unsigned nr)
{
	static const uint64_t others[] = { HWT_syscall_abi_bits32, HWT_syscall_abi_x32 };
	struct filter_test t = { .op = TEST_EQ, .value = nr };
	struct part p;
	int rc;

	t.f = *hwt_abi_field_by_name(ps->e->e, "nr");
	rc = part_test(ps, out, &t);
	t.f = *hwt_abi_field_by_name(ps->e->e, "abi");
	for (unsigned i = 0; !rc && i < 2; i++) {
		t.value = others[i];
		rc = part_test(ps, &p, &t);
		if (rc)
			break;
		part_not(&p);
		part_and(ps, out, &p);
	}
	return rc;
}
