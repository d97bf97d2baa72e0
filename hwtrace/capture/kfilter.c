/* SPDX-License-Identifier: BSD-2-Clause */
#include "kfilter.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../filter/filter.h"
#include "../source/tep.h"

#define TEXT	1024	/* bytes of the kernel's condition; what is longer is left to the reader */
#define PATTERN	100	/* bytes of a text that is compared; the kernel takes up to 255 */

/*
 * What must hold where a test goes on. Nothing is everything: it may hold, nobody asks; and what
 * never holds is NEVER.
 */
static const char NEVER[] = "";

/* A test and its contrary in the kernel's words; both "": it has none for it. */
struct words { char yes[TEXT / 4], no[TEXT / 4]; };

/* Can @v stand in a number of the kernel's of that size and sign? */
static bool fits(const struct trace_fmt_field *f, uint64_t v)
{
	unsigned bits = 8 * f->size;
	int64_t s = (int64_t)v, most = (int64_t)(~0ull >> (65 - bits));

	if (f->is_signed)
		return s <= most && s >= -most - 1;
	return bits == 64 || v >> bits == 0;
}

static void compare(struct words *w, const struct trace_fmt_field *f, const char *yes,
		    const char *no, uint64_t v)
{
	char value[24];

	snprintf(value, sizeof(value), f->is_signed ? "%" PRId64 : "%" PRIu64, v);
	snprintf(w->yes, sizeof(w->yes), "%.64s %s %s", f->name, yes, value);
	snprintf(w->no, sizeof(w->no), "%.64s %s %s", f->name, no, value);
}

static void number(struct words *w, const struct trace_fmt_field *f, const struct filter_test *t)
{
	/* an address is unsigned with us; the kernel knows the word of a call, not its C type */
	if (f->is_array || f->narrow || !fits(f, t->value) || (f->is_address && f->is_signed))
		return;
	if (t->op == TEST_EQ)
		compare(w, f, "==", "!=", t->value);
	else if (t->op == TEST_GT)
		compare(w, f, ">", "<=", t->value);
	else if (t->op == TEST_GE)
		compare(w, f, ">=", "<", t->value);
	else if (t->op == TEST_BITS && (int64_t)t->value > 0)
		snprintf(w->yes, sizeof(w->yes), "%.64s & %" PRIu64, f->name, t->value);
	if (t->op == TEST_BITS && *w->yes)
		snprintf(w->no, sizeof(w->no), "!(%s)", w->yes);
}

/* Letters that mean themselves, for both; of patterns also those that mean the same for both. */
static bool is_plain(const struct filter_test *t)
{
	bool any = false;

	if (!t->len || t->len > PATTERN)
		return false;
	for (size_t i = 0; i < t->len; i++) {
		if (isalnum((unsigned char)t->str[i]) || (t->str[i] && strchr("_./:+-", t->str[i])))
			any = true;
		else if (t->op != TEST_GLOB || (t->str[i] != '*' && t->str[i] != '?'))
			return false;
	}
	return any;
}

/* Is the @k-th field a text that is whole up to PATTERN bytes? Texts behind others may be cut. */
static bool has_room(const struct dirty *d, unsigned i, unsigned k)
{
	unsigned n;
	const struct hwt_abi_own *e = &dirty_own(d, &n)[i];
	size_t before = e->size;

	for (unsigned j = 0; j < k; j++) {
		const struct trace_fmt_field *f = dirty_field(d, i, j);

		if (e->fields[j].type != HWT_ABI_text)
			continue;
		if (f->is_dynamic || !f->size || f->size > VIRT_REC_MAX)
			return false;
		/* of a byte of an array at most four letters are told */
		before += f->is_text ? f->size : 4 * f->size;
	}
	return before + PATTERN + 8 < VIRT_REC_MAX;
}

static void text(struct words *w, const struct trace_fmt_field *f, const struct filter_test *t)
{
	bool glob = t->op == TEST_GLOB;

	/* a pattern that begins with a digit is none for the kernel */
	if (!f->is_text || !is_plain(t) || (glob && *t->str >= '0' && *t->str <= '9'))
		return;
	/*
	 * "*x" the kernel looks for at the end of the array, not of the text, and "*x*" also behind
	 * the text; "**x" and "**x*" it takes for patterns, and they mean what ours does.
	 */
	snprintf(w->yes, sizeof(w->yes), "%.64s %s \"%s%.*s\"", f->name, glob ? "~" : "==",
		 glob && *t->str == '*' ? "*" : "", (int)t->len, t->str);
	snprintf(w->no, sizeof(w->no), "!(%s)", w->yes);
}

static void words_of(struct words *w, const struct filter_test *t, const struct dirty *d,
		     unsigned i)
{
	const struct trace_fmt_field *f = NULL;
	unsigned n;
	const struct hwt_abi_own *e = &dirty_own(d, &n)[i];

	*w->yes = *w->no = 0;
	/* those of the record's header and context have their place in it, and a "since" */
	for (unsigned k = 0; !t->ctx && !t->f.since && k < e->nfields; k++)
		if (e->fields[k].offset == t->f.offset) {
			f = dirty_field(d, i, k);
			if (e->fields[k].type == HWT_ABI_text && !has_room(d, i, k))
				return;
		}
	if (!f)
		return;
	if (t->op == TEST_STR || t->op == TEST_GLOB)
		text(w, f, t);
	else if (t->op != TEST_TRUE && t->op != TEST_KNOWN)
		number(w, f, t);
}

/* "(@a @op @b)", in memory of its own; NULL: everything, or no memory (@rc). */
static char *join(const char *a, const char *op, const char *b, int *rc)
{
	size_t size = strlen(a) + strlen(op) + strlen(b) + 5;
	char *s;

	if (size > TEXT)
		return NULL;
	s = malloc(size);
	if (!s)
		*rc = -ENOMEM;
	else
		snprintf(s, size, "(%s %s %s)", a, op, b);
	return s;
}

static char *copy(const char *s, int *rc)
{
	char *p = s ? strdup(s) : NULL;

	if (s && !p)
		*rc = -ENOMEM;
	return p;
}

static char *either(const char *a, const char *b, int *rc)
{
	if (!a || !b)
		return NULL;
	if (!*a || !*b || !strcmp(a, b))
		return copy(*a ? a : b, rc);
	return join(a, "||", b, rc);
}

/* @test and what must hold behind it. */
static char *both(const char *test, const char *behind, int *rc)
{
	if (!behind || !*behind)
		return copy(behind ? NEVER : test, rc);
	return join(test, "&&", behind, rc);
}

static char *step(const struct words *w, const char *yes, const char *no, int *rc)
{
	char *a, *b, *s;

	if (!*w->yes || (yes && no && !strcmp(yes, no)))
		return either(yes, no, rc);
	if (!yes && !no)
		return NULL;
	/* where one of both ways is free, what holds on the other needs no test before it */
	if (!yes && *no)
		return join(w->yes, "||", no, rc);
	if (!no && *yes)
		return join(w->no, "||", yes, rc);
	a = both(w->yes, yes, rc);
	b = both(w->no, no, rc);
	s = *rc ? NULL : either(a, b, rc);
	free(a);
	free(b);
	return s;
}

int kfilter_text(char **out, const struct hwt_filter *f, unsigned id, const struct dirty *d,
		 unsigned i)
{
	const struct filter_prog *p = filter_prog(f, id);
	const struct filter_test *t = p ? p->tests.v : NULL;
	size_t n = p ? p->tests.n : 0;
	char **v = n ? calloc(n, sizeof(*v)) : NULL;
	struct words w;
	int rc = n && !v ? -ENOMEM : 0;

	*out = NULL;
	/* from the last one back: a test goes on at a later one only */
	for (size_t k = n; !rc && k-- > 0;) {
		const char *yes = t[k].yes == FILTER_YES ? NULL : t[k].yes == FILTER_NO ? NEVER :
			v[t[k].yes];
		const char *no = t[k].no == FILTER_YES ? NULL : t[k].no == FILTER_NO ? NEVER :
			v[t[k].no];

		words_of(&w, &t[k], d, i);
		v[k] = t[k].op == TEST_TRUE ? copy(yes, &rc) : step(&w, yes, no, &rc);
	}
	/* what never holds is left to the reader, who says so */
	if (!rc && v && v[0] && *v[0]) {
		*out = v[0];
		v[0] = NULL;
	}
	for (size_t k = 0; v && k < n; k++)
		free(v[k]);
	free(v);
	return rc;
}
