/* SPDX-License-Identifier: BSD-2-Clause */
#include "ini.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "cur.h"

struct text { const char *p; size_t n; };

static bool blank(char c)
{
	return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v';
}

static struct text trim(struct text t)
{
	while (t.n && blank(t.p[0])) {
		t.p++;
		t.n--;
	}
	while (t.n && blank(t.p[t.n - 1]))
		t.n--;
	return t;
}

static struct text unquote(struct text t)
{
	if (t.n >= 2 && (t.p[0] == '"' || t.p[0] == '\'') && t.p[t.n - 1] == t.p[0])
		return (struct text){ t.p + 1, t.n - 2 };
	return t;
}

static struct text uncomment(struct text t)
{
	if (t.n >= 2 && t.p[0] == '/' && t.p[1] == '/')
		return (struct text){ t.p, 0 };
	for (size_t i = 0; i < t.n; i++)
		if ((t.p[i] == ';' || t.p[i] == '#') && (!i || blank(t.p[i - 1])))
			t.n = i;
	return t;
}

/* The next line without its end. */
static struct text next_line(struct cur *c)
{
	const uint8_t *nl = memchr(c->p, '\n', cur_left(c));
	size_t n = nl ? (size_t)(nl - c->p) : cur_left(c);
	struct text t = { (const char *)cur_take(c, n), n };

	if (nl)
		cur_skip(c, 1);
	return t;
}

struct reader {
	struct ini *ini;
	struct arena *a;
	size_t cap;
	const char *section;
};

static int push(struct reader *r, const struct ini_item *it)
{
	struct ini *ini = r->ini;

	if (ini->n == r->cap) {
		size_t cap = r->cap ? r->cap * 2 : 64;
		struct ini_item *v = arena_alloc(r->a, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		if (ini->n)
			memcpy(v, ini->v, ini->n * sizeof(*v));
		ini->v = v;
		r->cap = cap;
	}
	ini->v[ini->n++] = *it;
	return 0;
}

/* 0 taken, 1 no such line, -ENOMEM. */
static int take(struct reader *r, struct text t, uint32_t line, uint64_t off)
{
	struct ini_item it = { .section = r->section, .value = "", .line = line, .off = off };
	const char *eq;
	struct text k, v;

	if (t.p[0] == '[') {
		const char *end = memchr(t.p, ']', t.n);

		if (!end)
			return 1;
		k = trim((struct text){ t.p + 1, (size_t)(end - t.p) - 1 });
		it.section = r->section = arena_strn(r->a, k.p, k.n);
		return r->section ? push(r, &it) : -ENOMEM;
	}
	eq = memchr(t.p, '=', t.n);
	if (!eq)
		return 1;
	k = trim((struct text){ t.p, (size_t)(eq - t.p) });
	v = unquote(trim((struct text){ eq + 1, t.n - (size_t)(eq + 1 - t.p) }));
	if (!k.n)
		return 1;
	it.key = arena_strn(r->a, k.p, k.n);
	it.value = arena_strn(r->a, v.p, v.n);
	return it.key && it.value ? push(r, &it) : -ENOMEM;
}

int ini_parse(struct ini *out, struct arena *a, const char *file, const void *p, size_t n,
	      struct notes *ns)
{
	struct reader r = { .ini = out, .a = a, .section = "" };
	struct cur c = cur_new(p, n, false);
	uint32_t line = 0;

	*out = (struct ini){ .file = file };
	if (n > INI_MAX_FILE)
		return -EFBIG;
	if (n >= 3 && !memcmp(p, "\xef\xbb\xbf", 3))
		cur_skip(&c, 3);
	while (cur_left(&c)) {
		uint64_t off = cur_pos(&c);
		struct text t = trim(uncomment(trim(next_line(&c))));
		int rc;

		line++;
		if (!t.n)
			continue;
		if (out->n >= INI_MAX_ITEMS) {
			notes_add(ns, HWT_NOTE_WARN, 61, file, off,
				  "line %u: more than %u lines, the rest is not read", line,
				  INI_MAX_ITEMS);
			break;
		}
		rc = take(&r, t, line, off);
		if (rc < 0)
			return rc;
		if (rc)
			notes_add(ns, HWT_NOTE_WARN, 61, file, off,
				  "line %u: neither [section] nor key=value: %.*s", line,
				  t.n > 60 ? 60 : (int)t.n, t.p);
	}
	return 0;
}

bool ini_eq(const char *a, const char *b)
{
	return !strcasecmp(a, b);
}

const struct ini_item *ini_find(const struct ini *ini, const char *section, const char *key)
{
	for (size_t i = ini->n; i--;)
		if (ini->v[i].key && ini_eq(ini->v[i].key, key) &&
		    ini_eq(ini->v[i].section, section))
			return &ini->v[i];
	return NULL;
}

bool ini_u64(const char *s, uint64_t *out)
{
	unsigned base = 10;
	uint64_t v = 0;

	if (s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
		base = 16;
		s += 2;
	}
	if (!*s)
		return false;
	for (; *s; s++) {
		unsigned d = *s >= '0' && *s <= '9' ? (unsigned)(*s - '0') :
			(*s | 32) >= 'a' && (*s | 32) <= 'f' ? (unsigned)((*s | 32) - 'a') + 10 :
			99;

		if (d >= base || __builtin_mul_overflow(v, base, &v) ||
		    __builtin_add_overflow(v, d, &v))
			return false;
	}
	*out = v;
	return true;
}

bool ini_list(const char **s, char *buf, size_t size)
{
	while (**s) {
		const char *end = strchrnul(*s, ',');
		struct text t = trim((struct text){ *s, (size_t)(end - *s) });

		*s = *end ? end + 1 : end;
		if (!t.n)
			continue;
		if (t.n >= size)
			t.n = size - 1;
		memcpy(buf, t.p, t.n);
		buf[t.n] = 0;
		return true;
	}
	return false;
}
