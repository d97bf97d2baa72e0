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
#include "../base/idmap.h"
#include "../base/text.h"

#define MAX_FORMATS 65536
#define MAX_FORMAT 65536	/* bytes of one format; the kernel writes at most a few KiB */
#define MAX_FIELDS 256	/* of one format */
#define MAX_STRING 512		/* bytes printed of one string or array */

#define DIRTY "dirty:"

struct trace_fmt {
	struct tep_handle *tep;
	struct arena arena;
	char **names;		/* "dirty:system:event" */
	uint32_t n;
	struct idmap of;	/* id to index in @names */
	const char *(*find)(void *arg, uint64_t addr);	/* NULL */
	void *find_arg;
	char *sched_switch;	/* text of its format, NULL */
	size_t sched_switch_size;
	char text[MAX_FORMAT];	/* of one format, rewritten */
};

static bool add_name(struct trace_fmt *t, const struct tep_event *ev)
{
	char text[256 + sizeof(DIRTY)], *copy;

	if (!(t->n & (t->n - 1))) {
		char **v = realloc(t->names, (t->n ? t->n * 2 : 1) * sizeof(*v));

		if (!v)
			return false;
		t->names = v;
	}
	snprintf(text, sizeof(text), DIRTY "%s:%s", ev->system, ev->name);
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
 * or "[]" behind the name of an array, or "[]" behind the type of a __data_loc.
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
			if (*s++ != ']' || brackets++ || words < 2 ||
			    (dynamic && s - start != 1))
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
	char line[512], name[128] = "", decl[256 + 2];
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
		/* "[]" at the end, an array that takes the rest: the library knows it as "[0]" */
		if (!strcmp(decl + strlen(decl) - 2, "[]"))
			strcpy(decl + strlen(decl) - 1, "0]");
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

bool trace_fmt_add(struct trace_fmt *t, const char *sys, const void *p, size_t n)
{
	struct tep_event *ev = NULL;
	size_t len;

	if (n > MAX_FORMAT)
		return false;
	len = clean(p, n, t->text, sizeof(t->text));
	if (!len || tep_parse_format(t->tep, &ev, t->text, len, sys) || !ev || !add_name(t, ev))
		return false;
	if (!t->sched_switch && !strcmp(ev->system, "sched") && !strcmp(ev->name, "sched_switch")) {
		t->sched_switch = arena_strn(&t->arena, p, n);
		t->sched_switch_size = t->sched_switch ? strlen(t->sched_switch) : 0;
	}
	return true;
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
		if (trace_fmt_add(t, sys, p, (size_t)n))
			++*used;
	}
}

void trace_fmt_read(struct trace_fmt *t, struct cur *c, bool systems, unsigned *used)
{
	uint32_t n = cur_u32(c);

	if (!systems)
		formats(t, c, "ftrace", n, used);
	for (uint32_t i = 0; systems && i < n && !c->bad; i++) {
		const char *sys = string(c);

		if (sys)
			formats(t, c, sys, cur_u32(c), used);
	}
}

int trace_fmt_empty(struct trace_fmt **out, bool big, unsigned long_size)
{
	struct trace_fmt *t = calloc(1, sizeof(*t));

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
	tep_set_long_size(t->tep, long_size == 4 ? 4 : 8);
	*out = t;
	return 0;
}

int trace_fmt_new(struct trace_fmt **out, const void *p, size_t n, unsigned *used, bool *cut)
{
	static const uint8_t magic[] = { 0x17, 0x08, 0x44, 't', 'r', 'a', 'c', 'i', 'n', 'g' };
	struct cur c = cur_new(p, n, false);
	const uint8_t *m = cur_take(&c, sizeof(magic));
	struct trace_fmt *t;
	bool big;
	int rc;

	if (!m || memcmp(m, magic, sizeof(magic)) || !string(&c))
		return -HWT_E_FORMAT;
	big = cur_u8(&c);
	c.swap = big == (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);
	rc = trace_fmt_empty(&t, big, cur_u8(&c));
	if (rc)
		return rc;
	cur_u32(&c);	/* page size */
	skip_header(&c);
	skip_header(&c);
	trace_fmt_read(t, &c, false, used);
	trace_fmt_read(t, &c, true, used);
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

void trace_fmt_strings(struct trace_fmt *t, const char *(*find)(void *arg, uint64_t addr),
		       void *arg)
{
	t->find = find;
	t->find_arg = arg;
}

uint32_t trace_fmt_count(const struct trace_fmt *t)
{
	return t->n;
}

int64_t trace_fmt_index(const struct trace_fmt *t, uint32_t id)
{
	uint32_t i = idmap_get(&t->of, id);

	return i == IDMAP_NONE ? -1 : (int64_t)i;
}

const char *trace_fmt_dirty(struct trace_fmt *t, uint32_t id)
{
	uint32_t i = idmap_get(&t->of, id);

	return i == IDMAP_NONE ? NULL : t->names[i];
}

const char *trace_fmt_name(struct trace_fmt *t, uint32_t id)
{
	const char *name = trace_fmt_dirty(t, id);

	return name ? name + sizeof(DIRTY) - 1 : NULL;
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

/* Where the bytes of a field are. False: not inside the record. */
static bool extent(struct trace_fmt *t, const struct tep_format_field *f, const uint8_t *p,
		   size_t n, const uint8_t **bytes, size_t *len)
{
	uint64_t off, size, v;

	if (!inside(f, n))
		return false;
	off = (uint64_t)f->offset;
	size = (uint64_t)f->size;
	if (f->flags & TEP_FIELD_IS_DYNAMIC) {
		/* __data_loc: length in the upper half, offset from the record in the lower */
		v = f->size == 4 ? tep_read_number(t->tep, p + f->offset, 4) : 0;
		off = v & 0xffff;
		size = v >> 16;
		if (f->flags & TEP_FIELD_IS_RELATIVE)
			off += (uint64_t)f->offset + (uint64_t)f->size;
	} else if (!f->size) {	/* an array up to the end; old formats do not say that it is one */
		size = n - off;
	}
	if (off > n || size > n - off)
		return false;
	*bytes = p + off;
	*len = (size_t)size;
	return true;
}

bool trace_fmt_bytes(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		     size_t n, const uint8_t **bytes, size_t *len)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	struct tep_format_field *f = ev ? tep_find_any_field(ev, field) : NULL;

	return f && extent(t, f, p, n, bytes, len);
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

/*
 * The text that a "char *" points to, if the recording has it. A format of trace_printk() is no
 * text of its own.
 */
static const char *pointed(struct trace_fmt *t, const struct tep_format_field *f, uint64_t v)
{
	return t->find && f->flags & TEP_FIELD_IS_POINTER && strstr(f->type, "char") &&
		strcmp(f->name, "fmt") ?
		t->find(t->find_arg, v) : NULL;
}

bool trace_fmt_string(struct trace_fmt *t, uint32_t id, const char *field, const uint8_t *p,
		      size_t n, const char **s, size_t *len)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	struct tep_format_field *f = ev ? tep_find_any_field(ev, field) : NULL;
	const uint8_t *bytes;

	uint64_t v;

	if (f && inside(f, n) && !(f->flags & TEP_FIELD_IS_ARRAY) && number(t, f, p, &v)) {
		*s = pointed(t, f, v);
		*len = *s ? strlen(*s) : 0;
		return *s;
	}
	if (!f || !is_text(f) || !extent(t, f, p, n, &bytes, len))
		return false;
	*s = (const char *)bytes;
	*len = strnlen(*s, *len);
	return true;
}

/* The @i-th field that is not common. */
static const struct tep_format_field *nth(const struct tep_event *ev, unsigned i)
{
	const struct tep_format_field *f = ev->format.fields;

	while (f && i--)
		f = f->next;
	return f;
}

int trace_fmt_item(struct trace_fmt *t, uint32_t id, const char *field, unsigned i,
		   const uint8_t *p, size_t n, uint64_t *v)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	const struct tep_format_field *f;
	const uint8_t *bytes;
	size_t len, size;

	if (!ev)
		return 0;
	f = field ? tep_find_any_field(ev, field) : nth(ev, i);
	if (f && !field)
		return !(f->flags & TEP_FIELD_IS_ARRAY) && inside(f, n) && number(t, f, p, v) ?
			f->size : 0;
	if (!f || !(f->flags & TEP_FIELD_IS_ARRAY) || is_text(f) ||
	    !extent(t, f, p, n, &bytes, &len))
		return 0;
	size = f->elementsize;
	if ((size != 1 && size != 2 && size != 4 && size != 8) || i >= len / size)
		return 0;
	*v = tep_read_number(t->tep, bytes + i * size, (int)size);
	if (f->flags & TEP_FIELD_IS_SIGNED && size < 8 && *v >> (8 * size - 1) & 1)
		*v |= UINT64_MAX << (8 * size);
	return (int)size;
}

/*
 * An argument of a system call lies in a word of 8 bytes, and its format calls all of them
 * unsigned: what the call takes of it is told by the C type alone. Bytes that count, 0: all; sign.
 */
static unsigned declared(const struct tep_format_field *f, bool *is_signed)
{
	static const struct { const char *type; uint8_t size; bool is_signed; } types[] = {
		{ "int", 4, true }, { "const int", 4, true }, { "pid_t", 4, true },
		{ "clockid_t", 4, true }, { "const clockid_t", 4, true }, { "timer_t", 4, true },
		{ "key_t", 4, true }, { "mqd_t", 4, true }, { "qid_t", 4, true },
		{ "key_serial_t", 4, true }, { "rwf_t", 4, true }, { "unsigned int", 4, false },
		{ "unsigned", 4, false }, { "uid_t", 4, false }, { "gid_t", 4, false },
		{ "u32", 4, false }, { "__u32", 4, false }, { "umode_t", 2, false },
		{ "long", 8, true }, { "off_t", 8, true }, { "loff_t", 8, true },
		{ "ssize_t", 8, true },
	};

	*is_signed = f->flags & TEP_FIELD_IS_SIGNED;
	if (f->size != 8 || *is_signed || f->flags & TEP_FIELD_IS_POINTER || !f->event ||
	    !f->event->system || strcmp(f->event->system, "syscalls"))
		return 0;
	for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		if (!strcmp(f->type, types[i].type)) {
			*is_signed = types[i].is_signed;
			return types[i].size;
		}
	return 0;
}

uint64_t trace_fmt_narrow(uint64_t v, unsigned size, bool is_signed)
{
	unsigned unused = 64 - 8 * size;

	if (!size || size >= 8)
		return v;
	return is_signed ? (uint64_t)((int64_t)(v << unused) >> unused) : v << unused >> unused;
}

bool trace_fmt_field(struct trace_fmt *t, uint32_t id, unsigned i, struct trace_fmt_field *out)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	const struct tep_format_field *f = ev ? nth(ev, i) : NULL;

	if (!f || f->offset < 0 || f->size < 0)
		return false;
	*out = (struct trace_fmt_field){ .name = f->name, .offset = (uint32_t)f->offset,
		.size = (uint32_t)f->size, .element = (uint32_t)f->elementsize,
		.is_address = f->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_LONG),
		.is_array = f->flags & (TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_ARRAY) || !f->size,
		.is_dynamic = f->flags & TEP_FIELD_IS_DYNAMIC,
		.is_relative = f->flags & TEP_FIELD_IS_RELATIVE };
	out->is_text = out->is_array && is_text(f);
	out->narrow = (uint8_t)declared(f, &out->is_signed);
	if (out->is_signed || out->narrow)
		out->is_address = f->flags & TEP_FIELD_IS_POINTER;
	return true;
}

const char *trace_fmt_switch(const struct trace_fmt *t, size_t *n)
{
	*n = t->sched_switch_size;
	return t->sched_switch;
}

static void put_field(struct trace_fmt *t, struct text *o, const struct tep_format_field *f,
		      const uint8_t *p, size_t n)
{
	bool is_signed;
	unsigned narrow = declared(f, &is_signed);
	const uint8_t *bytes;
	const char *s;
	size_t len;
	uint64_t v;

	text_put(o, "%s%s=", o->len ? " " : "", f->name);
	if (!extent(t, f, p, n, &bytes, &len))
		text_put(o, "?");
	else if (f->flags & (TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_ARRAY) && is_text(f))
		put_string(o, bytes, len);
	else if (f->flags & (TEP_FIELD_IS_DYNAMIC | TEP_FIELD_IS_ARRAY) || !number(t, f, p, &v))
		put_bytes(o, bytes, len);
	else if ((s = pointed(t, f, v)))
		put_string(o, (const uint8_t *)s, strlen(s));
	else if (is_signed)
		text_put(o, "%" PRId64, (int64_t)trace_fmt_narrow(v, narrow, true));
	else if (narrow)
		text_put(o, "%" PRIu64, trace_fmt_narrow(v, narrow, false));
	else if (f->flags & (TEP_FIELD_IS_POINTER | TEP_FIELD_IS_LONG))
		text_put(o, "0x%" PRIx64, v);
	else
		text_put(o, "%" PRIu64, v);
}

size_t trace_fmt_text(struct trace_fmt *t, uint32_t id, const uint8_t *p, size_t n,
		      const char *skip, char *buf, size_t size)
{
	struct tep_event *ev = tep_find_event(t->tep, (int)id);
	struct text o = { .buf = buf, .size = size };

	if (size)
		buf[0] = 0;
	for (struct tep_format_field *f = ev ? ev->format.fields : NULL; f; f = f->next)
		if (!skip || strcmp(f->name, skip))
			put_field(t, &o, f, p, n);
	return o.len;
}
