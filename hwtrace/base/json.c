/* SPDX-License-Identifier: BSD-2-Clause */
#include "json.h"

#include <errno.h>
#include <string.h>

#include "cur.h"
#include "ini.h"

struct reader {
	struct cur c;
	struct arena *a;
	const char *what;	/* first error, NULL: none */
	uint64_t off;		/* where it is */
	bool nomem;
};

static void *fail(struct reader *r, uint64_t off, const char *what)
{
	if (!r->what) {
		r->what = what;
		r->off = off;
	}
	return NULL;
}

static void *oom(struct reader *r)
{
	r->nomem = true;
	return fail(r, 0, "out of memory");
}

/* The next byte without taking it, -1 at the end. */
static int peek(const struct reader *r)
{
	return cur_left(&r->c) ? *r->c.p : -1;
}

static void space(struct reader *r)
{
	int c;

	while ((c = peek(r)) == ' ' || c == '\t' || c == '\n' || c == '\r')
		cur_skip(&r->c, 1);
}

static bool accept(struct reader *r, int c)
{
	if (peek(r) != c)
		return false;
	cur_skip(&r->c, 1);
	return true;
}

static int hex4(struct reader *r)
{
	int v = 0;

	for (int i = 0; i < 4; i++) {
		int c = peek(r);
		int d = c >= '0' && c <= '9' ? c - '0' :
			(c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : -1;

		if (c < 0 || d < 0)
			return -1;
		cur_skip(&r->c, 1);
		v = v * 16 + d;
	}
	return v;
}

/* Writes at most 4 bytes; RFC 3629. */
static char *utf8(char *o, uint32_t u)
{
	if (u < 0x80) {
		*o++ = (char)u;
		return o;
	}
	if (u < 0x800) {
		*o++ = (char)(0xc0 | u >> 6);
	} else {
		if (u < 0x10000) {
			*o++ = (char)(0xe0 | u >> 12);
		} else {
			*o++ = (char)(0xf0 | u >> 18);
			*o++ = (char)(0x80 | (u >> 12 & 0x3f));
		}
		*o++ = (char)(0x80 | (u >> 6 & 0x3f));
	}
	*o++ = (char)(0x80 | (u & 0x3f));
	return o;
}

/* After "\u". NULL: no code point. U+0000 would end the string early and is refused. */
static char *escape_u(struct reader *r, char *o)
{
	int u = hex4(r), lo;

	if (u <= 0)
		return NULL;
	if (u >= 0xdc00 && u < 0xe000)
		return NULL;
	if (u < 0xd800 || u >= 0xe000)
		return utf8(o, (uint32_t)u);
	if (!accept(r, '\\') || !accept(r, 'u'))
		return NULL;
	lo = hex4(r);
	if (lo < 0xdc00 || lo >= 0xe000)
		return NULL;
	return utf8(o, 0x10000u + ((uint32_t)(u - 0xd800) << 10) + (uint32_t)(lo - 0xdc00));
}

static char *escape(struct reader *r, char *o)
{
	static const char from[] = "\"\\/bfnrt", to[] = "\"\\/\b\f\n\r\t";
	int c = peek(r);
	const char *at = c > 0 ? strchr(from, c) : NULL;

	cur_skip(&r->c, c >= 0);
	if (c == 'u')
		return escape_u(r, o);
	if (!at)
		return NULL;
	*o++ = to[at - from];
	return o;
}

/* The opening quote is next. The value is never longer than its text. */
static const char *string(struct reader *r)
{
	uint64_t off = cur_pos(&r->c);
	const uint8_t *q;
	char *buf, *o;

	cur_skip(&r->c, 1);
	for (q = r->c.p; q < r->c.end && *q != '"'; q++)
		if (*q == '\\' && ++q == r->c.end)
			break;
	if (q >= r->c.end)
		return fail(r, off, "string does not end");
	buf = o = arena_alloc(r->a, (size_t)(q - r->c.p) + 1);
	if (!buf)
		return oom(r);
	while (r->c.p < q) {
		uint64_t at = cur_pos(&r->c);
		uint8_t c = cur_u8(&r->c);

		if (c < 0x20)
			return fail(r, at, "control character in a string");
		if (c != '\\') {
			*o++ = (char)c;
			continue;
		}
		o = escape(r, o);
		if (!o)
			return fail(r, at, "bad escape in a string");
	}
	if (r->c.p != q)
		return fail(r, off, "bad escape in a string");
	cur_skip(&r->c, 1);
	return buf;
}

static size_t digits(struct reader *r)
{
	size_t n = 0;

	for (int c; (c = peek(r)) >= '0' && c <= '9'; n++)
		cur_skip(&r->c, 1);
	return n;
}

static const char *number(struct reader *r)
{
	const uint8_t *p = r->c.p;
	uint64_t off = cur_pos(&r->c);
	bool ok, zero;
	size_t n;
	char *s;

	accept(r, '-');
	zero = peek(r) == '0';
	n = digits(r);
	ok = n && (!zero || n == 1);
	if (accept(r, '.'))
		ok = digits(r) && ok;
	if (accept(r, 'e') || accept(r, 'E')) {
		if (!accept(r, '+'))
			accept(r, '-');
		ok = digits(r) && ok;
	}
	if (!ok)
		return fail(r, off, "bad number");
	s = arena_strn(r->a, (const char *)p, (size_t)(r->c.p - p));
	return s ? s : oom(r);
}

static bool word(struct reader *r, const char *w)
{
	size_t n = strlen(w);

	if (cur_left(&r->c) < n || memcmp(r->c.p, w, n))
		return false;
	cur_skip(&r->c, n);
	return true;
}

/* Everything but the elements of an array or object. */
static void value(struct reader *r, struct json *j)
{
	int c = peek(r);

	if (c == '{' || c == '[') {
		j->type = c == '{' ? JSON_OBJECT : JSON_ARRAY;
		cur_skip(&r->c, 1);
	} else if (c == '"') {
		j->type = JSON_STRING;
		j->text = string(r);
	} else if (c == '-' || (c >= '0' && c <= '9')) {
		j->type = JSON_NUMBER;
		j->text = number(r);
	} else if (word(r, "true") || word(r, "false")) {
		j->type = JSON_BOOL;
		j->truth = c == 't';
	} else if (!word(r, "null")) {
		fail(r, cur_pos(&r->c), c < 0 ? "text ends where a value is needed" :
		     "no JSON value");
	}
}

static struct json *element(struct reader *r, bool named)
{
	struct json *j = arena_alloc(r->a, sizeof(*j));

	if (!j)
		return oom(r);
	space(r);
	if (named) {
		if (peek(r) != '"')
			return fail(r, cur_pos(&r->c), "a name in quotes is needed");
		j->name = string(r);
		space(r);
		if (!r->what && !accept(r, ':'))
			fail(r, cur_pos(&r->c), "\":\" is needed");
		space(r);
	}
	j->off = cur_pos(&r->c);
	if (!r->what)
		value(r, j);
	return r->what ? NULL : j;
}

struct level { struct json *parent, *last; };

/* Reads all below *@root; the stack stands in for recursion. */
static void tree(struct reader *r, struct json *root)
{
	struct level st[JSON_MAX_DEPTH];
	unsigned n = 0;

	if (root->type < JSON_ARRAY)
		return;
	st[n++] = (struct level){ root, NULL };
	while (n && !r->what) {
		struct level *l = &st[n - 1];
		bool obj = l->parent->type == JSON_OBJECT;
		struct json *j;

		space(r);
		if (accept(r, obj ? '}' : ']')) {
			n--;
			continue;
		}
		if (l->last && !accept(r, ',')) {
			fail(r, cur_pos(&r->c), obj ? "\",\" or \"}\" is needed" :
			     "\",\" or \"]\" is needed");
			return;
		}
		j = element(r, obj);
		if (!j)
			return;
		*(l->last ? &l->last->next : &l->parent->child) = j;
		l->last = j;
		if (j->type < JSON_ARRAY)
			continue;
		if (n == JSON_MAX_DEPTH) {
			fail(r, j->off, "nested too deeply");
			return;
		}
		st[n++] = (struct level){ j, NULL };
	}
}

int json_parse(struct json **out, struct arena *a, const char *file, const void *p, size_t n,
	       struct hwt_diag *diag)
{
	struct reader r = { .c = cur_new(p, n, false), .a = a };
	struct json *j;

	if (n > JSON_MAX_FILE)
		return diag_set(diag, -HWT_E_FORMAT, 80, file, 0, "longer than %u bytes",
				JSON_MAX_FILE);
	j = element(&r, false);
	if (j)
		tree(&r, j);
	space(&r);
	if (!r.what && cur_left(&r.c))
		fail(&r, cur_pos(&r.c), "something follows the value");
	if (r.nomem)
		return diag_set(diag, -ENOMEM, 3, file, HWT_NO_OFF, "out of memory");
	if (r.what)
		return diag_set(diag, -HWT_E_FORMAT, 80, file, r.off, "not JSON: %s", r.what);
	*out = j;
	return 0;
}

struct json *json_get(const struct json *j, const char *name)
{
	struct json *found = NULL;

	if (!j || j->type != JSON_OBJECT)
		return NULL;
	for (struct json *k = j->child; k; k = k->next)
		if (!strcmp(k->name, name))
			found = k;
	return found;
}

bool json_u64(const struct json *j, uint64_t *out)
{
	if (!j || (j->type != JSON_NUMBER && j->type != JSON_STRING))
		return false;
	return ini_u64(j->text, out);
}
