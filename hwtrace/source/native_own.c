/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a recording chose itself, context fields and events of its own: the metadata of kernel/ and
 * dirty/ tell it, in the lines that hwtrace/events/metadata.c writes. Other lines are for other
 * readers.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <hwtrace/uapi.h>

#include "../base/cur.h"
#include "../base/text.h"
#include "../events/own.h"
#include "../events/record.h"
#include "native.h"

#define LINE	256		/* bytes; longer lines are none of ours */
#define EVENTS	4096		/* twice what a recording of tracepoints takes */
#define FIELDS	64		/* of an event */
#define OWN_TEXT 2048		/* bytes that are shown of one text, with escapes */

struct meta {
	struct native *n;
	struct native_own *own;
	struct cur c;
	char line[LINE];
	/* of the event that is read */
	char name[LINE];
	unsigned long id;	/* 0: none */
	struct hwt_abi_field f[FIELDS];
	unsigned nf;
	unsigned ntexts, seen;	/* of them, and whose bytes were declared */
	uint16_t size;		/* of the record so far */
	bool strange;		/* it has what no event of ours has */
};

/* The next line, "" if it is too long; false: there is none. */
static bool next_line(struct meta *m)
{
	size_t left = cur_left(&m->c), n;
	const uint8_t *p = m->c.p, *end = left ? memchr(p, '\n', left) : NULL;

	if (!left)
		return false;
	n = end ? (size_t)(end - p) : left;
	cur_skip(&m->c, end ? n + 1 : n);
	if (n >= LINE)
		n = 0;
	memcpy(m->line, p, n);
	m->line[n] = 0;
	return true;
}

static char *keep(struct native *n, const char *s, size_t size)
{
	return arena_strn(&n->c->arena, s, size);
}

/* The name in "\t\tTYPE _NAME;" or "..._NAME[16];"; false: it is no such line. */
static bool field_line(char *line, const char **type, const char **name)
{
	char *space = strchr(line, ' '), *end;

	if (strncmp(line, "\t\t", 2) || !space || space[1] != '_')
		return false;
	*space = 0;
	*type = line + 2;
	*name = space + 2;
	end = strpbrk(space + 2, "[;");
	if (!end || end == *name)
		return false;
	*end = 0;
	return true;
}

/* Lines behind the header's own, up to the end of the struct. */
static void read_context(struct meta *m)
{
	struct native_own *o = m->own;
	const struct hwt_abi_field *f;
	const char *type, *name;
	uint32_t mask = 0;
	bool known = true;

	while (next_line(m) && strncmp(m->line, "\t}", 2)) {
		unsigned i = 0;

		if (!field_line(m->line, &type, &name))
			continue;
		while ((f = hwt_abi_context_at(i)) && strcmp(f->name, name))
			i++;
		if (f)
			mask |= 1u << i;
		else if (!strstr(" size version flags hit pid tid ", name))
			known = false;
	}
	/* with one of them not known, nobody can say where the others lie */
	if (!known)
		return;
	o->contexts = mask;
	o->ctx_size = hwt_abi_context(mask, o->ctx, &o->nctx);
}

static int add_event(struct meta *m)
{
	struct native_own *o = m->own;
	struct arena *a = &m->n->c->arena;
	struct hwt_abi_own *e;
	struct hwt_abi_field *f;

	if (m->id < HWT_ID_DIRTY || m->id > UINT16_MAX || m->strange || o->nevents == EVENTS ||
	    m->seen != m->ntexts)
		return 0;
	if (!o->events)
		o->events = arena_alloc(a, EVENTS * sizeof(*o->events));
	f = arena_alloc(a, (m->nf + 1) * sizeof(*f));
	if (!o->events || !f)
		return -ENOMEM;
	memcpy(f, m->f, m->nf * sizeof(*f));
	e = &o->events[o->nevents];
	*e = (struct hwt_abi_own){ .id = (uint16_t)m->id, .fields = f, .nfields = m->nf,
		.size = m->size, .name = keep(m->n, m->name, strlen(m->name)) };
	o->nevents += e->name != NULL;
	return e->name ? 0 : -ENOMEM;
}

/* The bytes of texts are declared behind all fields, in the order of their lengths. */
static bool text_line(struct meta *m, const char *name)
{
	for (unsigned i = 0, k = 0; i < m->nf; i++)
		if (m->f[i].type == HWT_ABI_text && k++ == m->seen) {
			m->seen++;
			return !strcmp(m->f[i].name, name);
		}
	return false;
}

static int add_field(struct meta *m, const char *type, const char *name)
{
	struct hwt_abi_field *f = &m->f[m->nf];
	size_t n = strlen(name);

	if (m->id < HWT_ID_DIRTY)
		return 0;
	if (!strcmp(type, "chr")) {
		m->strange |= !text_line(m, name);
		return 0;
	}
	*f = (struct hwt_abi_field){ .unit = "", .text = "", .size = 8, .offset = m->size };
	f->type = !strcmp(type, "u64") ? HWT_ABI_u64 : !strcmp(type, "x64") ? HWT_ABI_x64 :
		!strcmp(type, "s64") ? HWT_ABI_s64 : HWT_ABI_TYPES;
	if (!strcmp(type, "u32") && n > 5 && !strcmp(name + n - 5, "_size")) {
		f->type = HWT_ABI_text;
		f->size = 4;
		n -= 5;
		m->ntexts++;
	}
	if (f->type == HWT_ABI_TYPES || m->nf == FIELDS - 1 || m->seen) {
		m->strange = true;
		return 0;
	}
	f->name = keep(m->n, name, n);
	m->size = (uint16_t)(m->size + f->size);
	m->nf++;
	return f->name ? 0 : -ENOMEM;
}

static int read_event(struct meta *m)
{
	static const char name_is[] = "\tname = \"", id_is[] = "\tid = ";
	const char *type, *name, *end;
	int rc = 0;

	m->id = m->nf = m->ntexts = m->seen = 0;
	m->size = sizeof(struct hwt_rec);
	m->strange = false;
	strcpy(m->name, "dirty:");
	while (!rc && next_line(m) && m->line[0] != '}') {
		if (!strncmp(m->line, name_is, sizeof(name_is) - 1)) {
			name = m->line + sizeof(name_is) - 1;
			end = strchr(name, '"');
			snprintf(m->name, sizeof(m->name), "dirty:%.*s",
				 end ? (int)(end - name) : 0, name);
		} else if (!strncmp(m->line, id_is, sizeof(id_is) - 1)) {
			m->id = strtoul(m->line + sizeof(id_is) - 1, NULL, 10);
		} else if (field_line(m->line, &type, &name)) {
			rc = add_field(m, type, name);
		}
	}
	return rc ? rc : add_event(m);
}

static void read_clock(struct meta *m)
{
	static const char name_is[] = "\tname = \"", freq_is[] = "\tfreq = ";

	while (next_line(m) && m->line[0] != '}') {
		if (!strncmp(m->line, name_is, sizeof(name_is) - 1)) {
			const char *name = m->line + sizeof(name_is) - 1;

			m->own->clock = keep(m->n, name, strcspn(name, "\""));
		} else if (!strncmp(m->line, freq_is, sizeof(freq_is) - 1)) {
			m->own->freq = strtoull(m->line + sizeof(freq_is) - 1, NULL, 10);
		}
	}
}

int native_parse_own(struct native *n, struct native_own *own, const void *text, size_t size)
{
	struct meta m = { .n = n, .own = own, .c = cur_new(text, size, false) };
	int rc = 0;

	while (!rc && next_line(&m)) {
		if (!strcmp(m.line, "\tevent.context := struct {"))
			read_context(&m);
		else if (!strcmp(m.line, "clock {"))
			read_clock(&m);
		else if (!strcmp(m.line, "event {"))
			rc = read_event(&m);
	}
	return rc;
}

int native_read_own(struct native *n, struct native_own *own, const char *folder)
{
	const char *path = native_path(n, folder, "metadata");
	struct hwt_diag d;
	struct file *f;
	int rc;

	if (!path)
		return -ENOMEM;
	rc = file_open(&f, path, &d);
	if (rc)
		return rc == -ENOMEM ? rc : 0;	/* records of the tables can be read without */
	rc = native_parse_own(n, own, f->p, f->size);
	file_close(f);
	return rc;
}

const struct hwt_abi_own *native_own_event(const struct native_own *o, unsigned id)
{
	/* the writer counts them */
	unsigned at = o->nevents ? id - o->events[0].id : 0;

	if (at < o->nevents && o->events[at].id == id)
		return &o->events[at];
	for (unsigned i = 0; i < o->nevents; i++)
		if (o->events[i].id == id)
			return &o->events[i];
	return NULL;
}

size_t native_fields_end(const struct native_own *o, const struct hwt_abi_event *e,
			 const void *rec)
{
	const struct hwt_abi_own *own;
	struct hwt_rec h;

	memcpy(&h, rec, sizeof(h));
	if (!e) {
		own = native_own_event(o, h.id);
		return own ? own->size : 0;
	}
	return (record_fixed(e, h.version) + 7) & ~(size_t)7;
}

/* What describes the record. */
static const struct native_own *own_of(const struct capture *c, const struct hwt_event *ev)
{
	const struct native *n = c->priv;

	return ev->src >= n->dirty_src ? &n->dirty : &n->own;
}

const char *native_dirty_name(const struct capture *c, const struct hwt_event *ev)
{
	const struct hwt_abi_own *e = native_own_event(own_of(c, ev), ev->u.rec.id);

	return e ? e->name : "dirty:record";
}

/* Where context of a record lies; NULL: there is none. */
static const uint8_t *context_of(const struct native_own *o, const struct hwt_event *ev)
{
	size_t end;

	if (!o->ctx_size)
		return NULL;
	end = native_fields_end(o, hwt_abi_event_by_id(ev->u.rec.id), ev->u.rec.data);
	return end && ev->u.rec.size >= end + o->ctx_size ?
		(const uint8_t *)ev->u.rec.data + end : NULL;
}

/* @at: of the context. hwt_abi_value() looks at a record's version. */
static int context_value(const struct hwt_event *ev, const uint8_t *at,
			 const struct hwt_abi_field *f, struct hwt_abi_value *v)
{
	struct hwt_abi_field here = *f;

	here.offset = (uint16_t)(at - (const uint8_t *)ev->u.rec.data + f->offset);
	return hwt_abi_value(v, &here, ev->u.rec.data);
}

size_t native_context_text(const struct capture *c, const struct hwt_event *ev, char *buf,
			   size_t size)
{
	const struct native_own *o = own_of(c, ev);
	const uint8_t *at = context_of(o, ev);
	struct text t = { buf, size, 0 };
	struct hwt_abi_value v;
	char value[128];

	for (unsigned i = 0; at && i < o->nctx; i++) {
		if (!context_value(ev, at, &o->ctx[i], &v))
			continue;
		hwt_abi_format_value(value, sizeof(value), &o->ctx[i], &v);
		text_put(&t, " ctx.%s=%s", o->ctx[i].name, value);
	}
	return t.len;
}

int native_context_field(const struct capture *c, const struct hwt_event *ev, const char *name,
			 struct hwt_abi_value *v)
{
	const struct native_own *o = own_of(c, ev);
	const uint8_t *at = context_of(o, ev);

	for (unsigned i = 0; at && i < o->nctx; i++)
		if (!strcmp(o->ctx[i].name, name))
			return context_value(ev, at, &o->ctx[i], v);
	return 0;
}

size_t native_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf,
			 size_t size)
{
	const struct hwt_abi_own *e = native_own_event(own_of(c, ev), ev->u.rec.id);
	struct text t = { buf, size, 0 };
	struct hwt_abi_value v;
	char value[OWN_TEXT];

	if (!e || !own_fits(e, ev->u.rec.data, ev->u.rec.size)) {
		text_put(&t, "%u bytes", ev->u.rec.size);
		return t.len;
	}
	for (unsigned i = 0; i < e->nfields; i++) {
		own_value(&v, e, &e->fields[i], ev->u.rec.data);
		hwt_abi_format_value(value, sizeof(value), &e->fields[i], &v);
		text_put(&t, "%s%s=%s", i ? " " : "", e->fields[i].name, value);
	}
	return t.len + native_context_text(c, ev, t.len < size ? buf + t.len : NULL,
					   t.len < size ? size - t.len : 0);
}

int native_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		       struct hwt_abi_value *v)
{
	const struct hwt_abi_own *e = native_own_event(own_of(c, ev), ev->u.rec.id);

	if (!strncmp(name, "ctx.", 4))
		return native_context_field(c, ev, name + 4, v);
	if (!e || !own_fits(e, ev->u.rec.data, ev->u.rec.size))
		return 0;
	for (unsigned i = 0; i < e->nfields; i++)
		if (!strcmp(e->fields[i].name, name)) {
			own_value(v, e, &e->fields[i], ev->u.rec.data);
			return 1;
		}
	return 0;
}
