/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/arena.h"
#include "../base/text.h"
#include "ftrace.h"

#define MAX_WIDTH 256		/* of a number shown; the kernel has no such limit */
#define MAX_STRING 512		/* bytes shown of a string */

struct format { uint64_t addr; const char *text; };

struct printk {
	struct arena arena;
	struct vec formats;	/* struct format, by address */
};

static int cmp(const void *a, const void *b)
{
	const struct format *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Takes the escapes of printk_formats out, in place: \n, \t, \\ and \". */
static void unescape(char *s)
{
	char *out = s;

	for (; *s; s++) {
		if (*s != '\\' || !s[1]) {
			*out++ = *s;
			continue;
		}
		s++;
		*out++ = *s == 'n' ? '\n' : *s == 't' ? '\t' : *s;
	}
	*out = 0;
}

/* A line: 0xADDRESS : "TEXT" */
static int add_line(struct printk *k, const char *p, size_t n)
{
	const char *quote = memchr(p, '"', n), *last = n ? memrchr(p, '"', n) : NULL;
	struct format *f;
	char number[32];
	char *text;

	if (!quote || last <= quote)
		return 0;
	snprintf(number, sizeof(number), "%.*s", (int)(quote - p < 31 ? quote - p : 31), p);
	text = arena_strn(&k->arena, quote + 1, (size_t)(last - quote - 1));
	f = vec_push(&k->formats, sizeof(*f));
	if (!text || !f)
		return -ENOMEM;
	unescape(text);
	*f = (struct format){ strtoull(number, NULL, 16), text };
	return 0;
}

int printk_new(struct printk **out, const char *p, size_t n)
{
	struct printk *k = calloc(1, sizeof(*k));
	int rc = k ? 0 : -ENOMEM;

	while (!rc && n) {
		const char *end = memchr(p, '\n', n);
		size_t len = end ? (size_t)(end - p) + 1 : n;

		rc = add_line(k, p, len);
		p += len;
		n -= len;
	}
	if (rc) {
		printk_free(k);
		return rc;
	}
	if (k->formats.n)
		qsort(k->formats.v, k->formats.n, sizeof(struct format), cmp);
	*out = k;
	return 0;
}

void printk_free(struct printk *k)
{
	if (!k)
		return;
	free(k->formats.v);
	arena_free(&k->arena);
	free(k);
}

const char *printk_format(const struct printk *k, uint64_t addr)
{
	const struct format key = { addr, NULL }, *f = NULL;

	if (k && k->formats.n)
		f = bsearch(&key, k->formats.v, k->formats.n, sizeof(key), cmp);
	return f ? f->text : NULL;
}

/* What stands between "%" and the letter. */
struct spec {
	bool left, plus, space, alt, zero, precise;
	int width, precision;
	unsigned size;		/* bytes of the argument */
};

/* An argument of @size bytes at a multiple of its size, of 4 at most. */
static uint64_t argument(struct cur *c, unsigned size)
{
	unsigned align = size > 4 ? 4 : size;
	size_t odd = cur_pos(c) % align;

	if (odd)
		cur_skip(c, align - odd);
	switch (size) {
	case 1: return cur_u8(c);
	case 2: return cur_u16(c);
	case 4: return cur_u32(c);
	default: return cur_u64(c);
	}
}

static int count(const char **f, struct cur *c)
{
	int v = 0;

	if (**f == '*') {
		++*f;
		v = (int32_t)argument(c, 4);
	} else {
		while (**f >= '0' && **f <= '9')
			v = v < 100000 ? v * 10 + *(*f)++ - '0' : (++*f, v);
	}
	return v > MAX_WIDTH ? MAX_WIDTH : v < -MAX_WIDTH ? -MAX_WIDTH : v;
}

static void read_spec(struct spec *s, const char **f, struct cur *c, unsigned long_size)
{
	*s = (struct spec){ .size = 4 };
	for (;; ++*f) {
		switch (**f) {
		case '-': s->left = true; continue;
		case '+': s->plus = true; continue;
		case ' ': s->space = true; continue;
		case '#': s->alt = true; continue;
		case '0': s->zero = true; continue;
		}
		break;
	}
	s->width = count(f, c);
	if (s->width < 0) {
		s->left = true;
		s->width = -s->width;
	}
	if (**f == '.') {
		++*f;
		s->precise = true;
		s->precision = count(f, c);
		if (s->precision < 0)
			s->precision = 0;
	}
	if ((*f)[0] == 'h' && (*f)[1] == 'h') {
		s->size = 1;
		*f += 2;
	} else if (**f == 'h') {
		s->size = 2;
		++*f;
	} else if ((*f)[0] == 'l' && (*f)[1] == 'l') {
		s->size = 8;
		*f += 2;
	} else if (**f == 'L' || **f == 'q') {
		s->size = 8;
		++*f;
	} else if (**f == 'l' || **f == 'z' || **f == 'Z' || **f == 't') {
		s->size = long_size;
		++*f;
	}
}

/* "%" with the flags of @s, and @tail. */
static void c_format(char out[32], const struct spec *s, const char *tail)
{
	snprintf(out, 32, "%%%s%s%s%s%s*%s", s->left ? "-" : "", s->plus ? "+" : "",
		 s->space ? " " : "", s->alt ? "#" : "", s->zero ? "0" : "", tail);
}

/* @fmt is made by c_format() */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static void put_number(struct text *o, const struct spec *s, char conv, uint64_t v)
{
	char tail[16], fmt[32], buf[2 * MAX_WIDTH + 64];
	bool is_signed = conv == 'd' || conv == 'i';

	if (is_signed && s->size < 8 && v >> (8 * s->size - 1) & 1)
		v |= UINT64_MAX << (8 * s->size);
	snprintf(tail, sizeof(tail), "%sll%c", s->precise ? ".*" : "", is_signed ? 'd' : conv);
	c_format(fmt, s, tail);
	if (s->precise)
		snprintf(buf, sizeof(buf), fmt, s->width, s->precision, (long long)v);
	else
		snprintf(buf, sizeof(buf), fmt, s->width, (long long)v);
	text_put(o, "%s", buf);
}
#pragma GCC diagnostic pop

/* One line whatever is in it. */
static void put_chars(struct text *o, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		text_put(o, "%c", p[i] >= 0x20 && p[i] < 0x7f ? p[i] : '.');
}

static void put_string(struct text *o, const struct spec *s, const char *p, size_t n)
{
	size_t pad;

	if (s->precise && n > (size_t)s->precision)
		n = (size_t)s->precision;
	if (n > MAX_STRING)
		n = MAX_STRING;
	pad = (size_t)s->width > n ? (size_t)s->width - n : 0;
	text_put(o, "%*s", s->left ? 0 : (int)pad, "");
	put_chars(o, p, n);
	text_put(o, "%*s", s->left ? (int)pad : 0, "");
}

/* A string that was stored with its NUL. */
static void stored(struct text *o, const struct spec *s, struct cur *c)
{
	const uint8_t *end = memchr(c->p, 0, cur_left(c));
	size_t n = end ? (size_t)(end - c->p) : cur_left(c);

	put_string(o, s, (const char *)c->p, n);
	cur_skip(c, n + 1);
}

/*
 * Pointers to code (%pS, %ps, %pB, %pF, %pf), hidden ones (%pK) and plain ones are stored, what
 * others point to was written as a string when it was recorded.
 */
static void pointer(struct text *o, const char **f, const struct spec *s, struct cur *c,
		    unsigned long_size)
{
	bool extended = (**f >= 'a' && **f <= 'z') || (**f >= 'A' && **f <= 'Z');

	if (extended && !strchr("SsBFfxKe", **f)) {
		stored(o, s, c);
	} else {
		uint64_t v = argument(c, long_size);

		text_put(o, c->bad ? "?" : "0x%" PRIx64, v);
	}
	while ((**f >= 'a' && **f <= 'z') || (**f >= 'A' && **f <= 'Z') ||
	       (extended && **f >= '0' && **f <= '9'))
		++*f;
}

/* @f is behind the "%". */
static void conversion(struct text *o, const char **f, struct cur *c, unsigned long_size)
{
	struct spec s;
	uint64_t v;
	char conv, ch;

	read_spec(&s, f, c, long_size);
	conv = **f;
	if (!conv)
		return;
	++*f;
	switch (conv) {
	case '%':
		text_put(o, "%%");
		return;
	case 's':
		if (cur_left(c))
			stored(o, &s, c);
		else
			text_put(o, "?");
		return;
	case 'c':
		ch = (char)argument(c, 1);
		put_string(o, &s, &ch, 1);
		return;
	case 'p':
		pointer(o, f, &s, c, long_size);
		return;
	case 'd': case 'i': case 'u': case 'x': case 'X': case 'o':
		v = argument(c, s.size);
		if (c->bad)
			text_put(o, "?");
		else
			put_number(o, &s, conv, v);
		return;
	default:
		text_put(o, "?");
	}
}

size_t printk_text(char *buf, size_t size, const char *format, const uint8_t *p, size_t n,
		   bool swap, unsigned long_size)
{
	struct text o = { .buf = buf, .size = size };
	struct cur c = cur_new(p, n, swap);
	size_t len = strlen(format);

	if (size)
		buf[0] = 0;
	/* the line's own end */
	while (len && (format[len - 1] == '\n' || format[len - 1] == ' '))
		len--;
	for (const char *f = format; *f && (size_t)(f - format) < len;) {
		if (*f++ == '%')
			conversion(&o, &f, &c, long_size);
		else
			put_chars(&o, f - 1, 1);
	}
	return o.len;
}
