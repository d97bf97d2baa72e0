/* SPDX-License-Identifier: BSD-2-Clause */
#include "tep.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <traceevent/event-parse.h>

#include <hwtrace/err.h>

#include "../base/arena.h"
#include "../base/cur.h"
#include "../base/idmap.h"
#include "../base/text.h"

#define MAX_FORMATS 65536
#define MAX_FORMAT 65536	/* bytes of one format; the kernel writes at most a few KiB */
#define MAX_FIELDS 256	/* of one format */
#define MAX_STRING 512		/* bytes printed of one string or array */

struct trace_fmt {
	struct tep_handle *tep;
	struct arena arena;
	char **names;		/* "system:event" */
	uint32_t n;
	struct idmap of;	/* id to index in @names */
	char text[MAX_FORMAT];	/* of one format, rewritten */
};

static bool add_name(struct trace_fmt *t, const struct tep_event *ev)
{
	char text[256], *copy;

	if (!(t->n & (t->n - 1))) {
		char **v = realloc(t->names, (t->n ? t->n * 2 : 1) * sizeof(*v));

		if (!v)
			return false;
		t->names = v;
	}
	snprintf(text, sizeof(text), "%s:%s", ev->system, ev->name);
	copy = arena_str(&t->arena, text);
	if (!copy || idmap_set(&t->of, (uint32_t)ev->id, t->n))
		return false;
	t->names[t->n++] = copy;
	return true;
}

static bool ident(char ch)
{
	return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || (ch >= '0' && ch <= '9') ||
		ch == '_';
}

/*
 * A declaration as the kernel writes it: two or more words, stars between, and one bracket: "[N]"
 * behind the name of an array, or "[]" behind the type of a __data_loc.
 */
static bool declaration(const char *s)
{
	bool dynamic = !strncmp(s, "__data_loc ", 11) || !strncmp(s, "__rel_loc ", 10);
	unsigned words = 0, brackets = 0, after = 0;

	while (*s) {
		if (*s == ' ' || *s == '*') {
			s++;
		} else if (*s == '[') {
			const char *start = ++s;

			while (ident(*s))
				s++;
			if (*s++ != ']' || brackets++ || words < 2 || (s - start == 1) != dynamic)
				return false;
			after = words;
		} else if (ident(*s)) {
			words++;
			while (ident(*s))
				s++;
		} else {
			return false;
		}
	}
	if (dynamic)	/* loc, type, [], name */
		return brackets == 1 && words == after + 1;
	return words >= 2 && (!brackets || words == after) && s[-1] != ' ' && s[-1] != '*';
}

/*
 * The library recurses on nested terms, and keeps memory on text it does not expect. It gets what
 * is understood here, written anew: name, ID and well-formed fields. Returns its length, or 0.
 */
static size_t clean(const char *in, size_t n, char *out, size_t size)
{
	char line[512], name[128] = "", decl[256];
	unsigned id = 0, off, bytes, sign, fields = 0;
	size_t len = 0, eol;
	bool common = true;

	for (; n; n -= eol, in += eol) {
		const char *end = memchr(in, '\n', n);

		eol = end ? (size_t)(end - in) + 1 : n;
		if (eol > sizeof(line))
			continue;
		memcpy(line, in, eol);
		line[end ? eol - 1 : eol < sizeof(line) ? eol : eol - 1] = 0;
		if (!fields && sscanf(line, "name: %127[A-Za-z0-9_]", name) == 1)
			continue;
		if (!fields && sscanf(line, "ID: %6u", &id) == 1)
			continue;
		if (sscanf(line, " field:%255[^;]; offset:%5u; size:%5u; signed:%1u;", decl, &off,
			   &bytes, &sign) != 4 || !declaration(decl) || fields == MAX_FIELDS)
			continue;
		if (!fields++)
			len = (size_t)snprintf(out, size, "name: %s\nID: %u\nformat:\n", name,
					       id);
		if (common && !strstr(decl, "common_"))
			len += (size_t)snprintf(out + len, size - len, "\n");
		common &= !!strstr(decl, "common_");
		len += (size_t)snprintf(out + len, size - len,
					"\tfield:%s;\toffset:%u;\tsize:%u;\tsigned:%u;\n", decl,
					off, bytes, sign);
		if (len + 1024 > size)
			break;
	}
	if (!fields || !name[0])
		return 0;
	return len + (size_t)snprintf(out + len, size - len, "%s\nprint fmt: \"\"\n",
				      common ? "\n" : "");
}

/* One format of system @sys. False if it is none, or one that the library does not take. */
static bool add_format(struct trace_fmt *t, const char *sys, const uint8_t *p, size_t n)
{
	struct tep_event *ev = NULL;
	size_t len;

	if (n > MAX_FORMAT)
		return false;
	len = clean((const char *)p, n, t->text, sizeof(t->text));
	return len && !tep_parse_format(t->tep, &ev, t->text, len, sys) && ev && add_name(t, ev);
}

/* A NUL-terminated string at @c, as long as the rest. */
static const char *string(struct cur *c)
{
	const uint8_t *end = memchr(c->p, 0, cur_left(c));

	return cur_str(c, end ? (size_t)(end - c->p) + 1 : cur_left(c) + 1);
}

/* "header_page" and "header_event": layout of ring buffer pages, not needed for perf samples. */
static void skip_header(struct cur *c)
{
	uint64_t n;

	string(c);
	n = cur_u64(c);
	cur_skip(c, n < SIZE_MAX ? (size_t)n : SIZE_MAX);
}

static void formats(struct trace_fmt *t, struct cur *c, const char *sys, uint32_t nr,
		    unsigned *used)
{
	for (uint32_t i = 0; i < nr && !c->bad; i++) {
		uint64_t n = cur_u64(c);
		const uint8_t *p = n <= cur_left(c) ? cur_take(c, (size_t)n) : NULL;

		if (!p || *used >= MAX_FORMATS) {
			c->bad = true;
			return;
		}
		if (add_format(t, sys, p, (size_t)n))
			++*used;
	}
}

int trace_fmt_new(struct trace_fmt **out, const void *p, size_t n, unsigned *used, bool *cut)
{
	static const uint8_t magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	struct cur c = cur_new(p, n, false);
	const uint8_t *m = cur_take(&c, sizeof(magic));
	bool big;
	uint32_t systems;
	struct trace_fmt *t;

	if (!m || memcmp(m, magic, sizeof(magic)) || !string(&c))
		return -HWT_E_FORMAT;
	big = cur_u8(&c);
	c.swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->tep = tep_alloc();
	if (!t->tep) {
		free(t);
		return -ENOMEM;
	}
	tep_set_loglevel(TEP_LOG_NONE);
	tep_set_file_bigendian(t->tep, big ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
	tep_set_local_bigendian(t->tep, tep_is_bigendian());
	tep_set_long_size(t->tep, cur_u8(&c) == 4 ? 4 : 8);
	cur_u32(&c);	/* page size */
	skip_header(&c);
	skip_header(&c);
	formats(t, &c, "ftrace", cur_u32(&c), used);
	systems = cur_u32(&c);
	for (uint32_t i = 0; i < systems && !c.bad; i++) {
		const char *sys = string(&c);

		if (sys)
			formats(t, &c, sys, cur_u32(&c), used);
	}
	*cut = c.bad;
	*out = t;
	return 0;
}

void trace_fmt_free(struct trace_fmt *t)
{
	if (!t)
		return;
	tep_free(t->tep);
	free(t->names);
	idmap_free(&t->of);
	arena_free(&t->arena);
	free(t);
}

const char *trace_fmt_name(struct trace_fmt *t, uint32_t id)
{
	uint32_t i = idmap_get(&t->of, id);

	return i == IDMAP_NONE ? NULL : t->names[i];
}

int64_t trace_fmt_id(struct trace_fmt *t, const char *sys, const char *event)
{
	struct tep_event *ev = tep_find_event_by_name(t->tep, sys, event);

	return ev ? (int64_t)(uint32_t)ev->id : -1;
}

/* The format is input too: a field must lie in the record, whatever it says. */
static bool inside(const struct tep_format_field *f, size_t n)
{
	return f->offset >= 0 && f->size >= 0 && (size_t)f->offset <= n &&
		(size_t)f->size <= n - (size_t)f->offset;
}

static bool number(struct trace_fmt *t, const struct tep_format_field *f, const uint8_t *p,
		   uint64_t *v)
{
	if (f->size != 1 && f->size != 2 && f->size != 4 && f->size != 8)
		return false;
	*v = tep_read_number(t->tep, p + f->offset, f->size);
	if (f->flags & TEP_FIELD_IS_SIGNED && f->size < 8 && *v >> (8 * f->size - 1) & 1)
		*v |= UINT64_MAX << (8 * f->size);
	return true;
}

bool trace_fmt_number(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		      size_t n, uint64_t *v)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	struct tep_format_field *f = ev ? tep_find_any_field(ev, field) : NULL;

	return f && inside(f, n) && number(t, f, p, v);
}

/* Text up to its NUL; bytes that are no printable ASCII become a dot, so a line stays a line. */
static void put_string(struct text *o, const uint8_t *p, size_t n)
{
	n = strnlen((const char *)p, n < MAX_STRING ? n : MAX_STRING);
	for (size_t i = 0; i < n; i++)
		text_put(o, "%c", p[i] >= 0x20 && p[i] < 0x7f ? p[i] : '.');
}

static void put_bytes(struct text *o, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n && i < MAX_STRING; i++)
		text_put(o, "%02x", p[i]);
}

/* The library takes arrays of any type of one byte for text, also addresses and u8 buffers. */
static bool is_text(const struct tep_format_field *f)
{
	return f->flags & TEP_FIELD_IS_STRING && strstr(f->type, "char") &&
		!strstr(f->type, "unsigned");
}

static void put_field(struct trace_fmt *t, struct text *o, const struct tep_format_field *f,
		      const uint8_t *p, size_t n)
{
	uint64_t v, off, len;

	text_put(o, "%s%s=", o->len ? " " : "", f->name);
	if (!inside(f, n)) {
		text_put(o, "?");
	} else if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		/* __data_loc: length in the upper half, offset from the record in the lower */
		v = f->size == 4 ? tep_read_number(t->tep, p + f->offset, 4) : 0;
		off = v & 0xffff;
		len = v >> 16;
		if (f->flags & TEP_FIELD_IS_RELATIVE)
			off += (uint64_t)f->offset + (uint64_t)f->size;
		if (off > n || len > n - off)
			text_put(o, "?");
		else if (is_text(f))
			put_string(o, p + off, (size_t)len);
		else
			put_bytes(o, p + off, (size_t)len);
	} else if (f->flags & TEP_FIELD_IS_ARRAY) {
		if (is_text(f))
			put_string(o, p + f->offset, (size_t)f->size);
		else
			put_bytes(o, p + f->offset, (size_t)f->size);
	} else if (!number(t, f, p, &v)) {
		put_bytes(o, p + f->offset, (size_t)f->size);
	} else if (f->flags & TEP_FIELD_IS_SIGNED) {
		text_put(o, "%" PRId64, (int64_t)v);
	} else if (f->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_LONG)) {
		text_put(o, "0x%" PRIx64, v);
	} else {
		text_put(o, "%" PRIu64, v);
	}
}

size_t trace_fmt_text(struct trace_fmt *t, uint32_t id, const uint8_t *p, size_t n, char *buf,
		      size_t size)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	struct text o = { .buf = buf, .size = size };

	if (size)
		buf[0] = 0;
	for (struct tep_format_field *f = ev ? ev->format.fields : NULL; f; f = f->next)
		put_field(t, &o, f, p, n);
	return o.len;
}
