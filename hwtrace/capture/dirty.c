/* SPDX-License-Identifier: BSD-2-Clause */
#include "dirty.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/arena.h"
#include "../base/diag.h"
#include "../source/tep.h"
#include "tracefs.h"

#define FIELDS		60	/* of an event; the reader takes a few more */
#define SHOWN		256	/* bytes of an array, two digits each */

struct tracepoint {
	uint32_t id;		/* this kernel's number */
	const char *system, *name;
	struct trace_fmt_field f[FIELDS];
};

struct dirty {
	struct arena arena;
	struct trace_fmt *fmt;
	struct tracepoint **v;
	struct hwt_abi_own *own;
	unsigned n, max;
};

static int no_memory(struct hwt_diag *diag)
{
	return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
}

/* --- which there are --- */

static bool is_plain(const char *pattern)
{
	return !strpbrk(pattern, "*?");
}

/* What folder @dir has that fits, to @out as PREFIX + its name. 0, -ENOMEM or another errno. */
static int list(const char *dir, const char *prefix, const char *pattern, struct strlist *out)
{
	DIR *d = opendir(dir);
	struct dirent *e;
	char text[600];
	int rc = 0;

	if (!d)
		return -errno;
	while (!rc && (e = readdir(d))) {
		if (*e->d_name == '.' || fnmatch(pattern, e->d_name, FNM_NOESCAPE))
			continue;
		snprintf(text, sizeof(text), "%.255s%.255s", prefix, e->d_name);
		rc = strlist_add(out, text);
	}
	closedir(d);
	return rc;
}

/* All of pattern "system:event" to @out. What others use the tracer for itself is left out. */
static int expand(const char *root, const char *pattern, struct strlist *out)
{
	const char *colon = strchr(pattern, ':');
	struct strlist systems = { 0 };
	char system[256], dir[600], prefix[260];
	size_t before = out->n;
	int rc;

	snprintf(system, sizeof(system), "%.*s", colon ? (int)(colon - pattern) : 255, pattern);
	snprintf(dir, sizeof(dir), "%s/events", root);
	rc = list(dir, "", system, &systems);
	for (size_t i = 0; !rc && i < systems.n; i++) {
		if (!strcmp(systems.v[i], "ftrace"))
			continue;
		snprintf(dir, sizeof(dir), "%s/events/%.255s", root, systems.v[i]);
		snprintf(prefix, sizeof(prefix), "%.255s:", systems.v[i]);
		rc = list(dir, prefix, colon ? colon + 1 : "*", out);
		if (rc == -ENOTDIR)	/* a file of all systems */
			rc = 0;
	}
	strlist_free(&systems);
	strlist_sort(out, before);
	return rc;
}

/* --- their fields --- */

/* "name_size" would be the length of a text that is called "name". */
static const char *field_name(struct dirty *d, const struct hwt_abi_own *e,
			      const struct tracepoint *t, const char *name)
{
	size_t n = strlen(name);
	struct trace_fmt_field f;
	char text[160];

	if (n < 6 || n >= sizeof(text) - 1 || strcmp(name + n - 5, "_size"))
		return name;
	for (unsigned i = 0; trace_fmt_field(d->fmt, t->id, i, &f); i++)
		if (f.is_array && strlen(f.name) == n - 5 &&
		    !memcmp(f.name, name, n - 5)) {
			snprintf(text, sizeof(text), "%s_", name);
			return arena_str(&d->arena, text);
		}
	return name;
}

static bool is_number(const struct trace_fmt_field *f)
{
	return !f->is_array &&
		(f->size == 1 || f->size == 2 || f->size == 4 || f->size == 8);
}

static int add_fields(struct dirty *d, struct hwt_abi_own *e, struct tracepoint *t)
{
	struct hwt_abi_field *v = arena_alloc(&d->arena, FIELDS * sizeof(*v));

	if (!v)
		return -ENOMEM;
	e->fields = v;
	e->size = sizeof(struct hwt_rec);
	while (e->nfields < FIELDS && trace_fmt_field(d->fmt, t->id, e->nfields,
						      &t->f[e->nfields])) {
		const struct trace_fmt_field *f = &t->f[e->nfields];
		bool number = is_number(f);
		struct hwt_abi_field *to = &v[e->nfields++];

		*to = (struct hwt_abi_field){ .unit = "", .text = "", .offset = e->size,
			.size = number ? 8 : 4, .type = !number ? HWT_ABI_text : f->is_address ?
				HWT_ABI_x64 : f->is_signed ? HWT_ABI_s64 : HWT_ABI_u64,
			.name = field_name(d, e, t, f->name) };
		if (!to->name)
			return -ENOMEM;
		e->size = (uint16_t)(e->size + to->size);
	}
	return 0;
}

/* 1: it is added; 0: it is no tracepoint that can be recorded. */
static int add(struct dirty *d, const char *root, const char *full, unsigned id)
{
	const char *colon = strchr(full, ':');
	struct tracepoint *t;
	char path[600], *text;
	int64_t number;
	bool fine;

	snprintf(path, sizeof(path), "%s/events/%.*s/%.255s/enable", root, (int)(colon - full),
		 full, colon + 1);
	if (access(path, F_OK))
		return 0;
	t = arena_alloc(&d->arena, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->system = arena_strn(&d->arena, full, (size_t)(colon - full));
	t->name = arena_str(&d->arena, colon + 1);
	if (!t->system || !t->name)
		return -ENOMEM;
	snprintf(path, sizeof(path), "events/%.255s/%.255s/format", t->system, t->name);
	text = tracefs_read(root, path);
	fine = text && trace_fmt_add(d->fmt, t->system, text, strlen(text));
	free(text);
	number = fine ? trace_fmt_id(d->fmt, t->system, t->name) : -1;
	if (number < 0)
		return 0;
	t->id = (uint32_t)number;
	d->v[d->n] = t;
	d->own[d->n] = (struct hwt_abi_own){ .name = arena_str(&d->arena, full),
		.id = (uint16_t)(id + d->n) };
	if (!d->own[d->n].name || add_fields(d, &d->own[d->n], t))
		return -ENOMEM;
	d->n++;
	return 1;
}

/* A name that came before. */
static bool is_there(const struct dirty *d, const char *full)
{
	for (unsigned i = 0; i < d->n; i++)
		if (!strcmp(d->own[i].name, full))
			return true;
	return false;
}

static int add_pattern(struct dirty *d, const char *root, const char *pattern, unsigned id,
		       struct hwt_diag *diag)
{
	struct strlist names = { 0 };
	unsigned found = 0;
	int rc = expand(root, pattern, &names);

	if (rc && rc != -ENOMEM)
		rc = diag_set(diag, rc, 180, NULL, HWT_NO_OFF, "tracefs: events: %s",
			      strerror(-rc));
	for (size_t i = 0; !rc && i < names.n; i++) {
		if (is_there(d, names.v[i])) {
			found++;
			continue;
		}
		if (d->n == d->max)
			rc = diag_set(diag, -HWT_E_FILTER, 183, NULL, HWT_NO_OFF, "dirty:%.80s: "
				      "more than %u tracepoints", pattern, d->max);
		else
			rc = add(d, root, names.v[i], id);
		if (rc > 0) {
			found++;
			rc = 0;
		}
	}
	strlist_free(&names);
	if (!rc && !found)
		rc = diag_set(diag, -HWT_E_FILTER, 183, NULL, HWT_NO_OFF, "dirty:%.80s: this "
			      "kernel has no such tracepoint%s", pattern, is_plain(pattern) ?
			      "; list-events 'dirty:*' lists them" : "");
	return rc == -ENOMEM ? no_memory(diag) : rc;
}

int dirty_new(struct dirty **out, const struct strlist *patterns, unsigned id, unsigned max,
	      struct hwt_diag *diag)
{
	const char *root = tracefs_root();
	struct dirty *d;
	int rc = 0;

	if (!root)
		return diag_set(diag, -ENOENT, 180, NULL, HWT_NO_OFF, "tracefs, which has "
				"tracepoints, is not mounted at /sys/kernel/tracing");
	d = calloc(1, sizeof(*d));
	if (!d)
		return no_memory(diag);
	d->max = max;
	d->v = calloc(max, sizeof(struct tracepoint *));
	d->own = calloc(max, sizeof(*d->own));
	if (!d->v || !d->own || trace_fmt_empty(&d->fmt, __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__,
						sizeof(long)))
		rc = no_memory(diag);
	for (size_t i = 0; !rc && i < patterns->n; i++)
		rc = add_pattern(d, root, patterns->v[i], id, diag);
	if (rc) {
		dirty_free(d);
		return rc;
	}
	*out = d;
	return 0;
}

void dirty_free(struct dirty *d)
{
	if (!d)
		return;
	trace_fmt_free(d->fmt);
	arena_free(&d->arena);
	free(d->v);
	free(d->own);
	free(d);
}

const struct hwt_abi_own *dirty_own(const struct dirty *d, unsigned *n)
{
	*n = d->n;
	return d->own;
}

bool dirty_at(const struct dirty *d, unsigned i, uint32_t *id, const char **system,
	      const char **name)
{
	if (i >= d->n)
		return false;
	*id = d->v[i]->id;
	*system = d->v[i]->system;
	*name = d->v[i]->name;
	return true;
}

const struct trace_fmt_field *dirty_field(const struct dirty *d, unsigned i, unsigned k)
{
	return &d->v[i]->f[k];
}

/* --- records --- */

/* A number of this machine's own byte order, of 1, 2, 4 or 8 bytes. */
static uint64_t load(const uint8_t *p, size_t size, bool is_signed)
{
	uint16_t v2;
	uint32_t v4;
	uint64_t v8;

	switch (size) {
	case 1:
		return is_signed ? (uint64_t)(int8_t)*p : *p;
	case 2:
		memcpy(&v2, p, 2);
		return is_signed ? (uint64_t)(int16_t)v2 : v2;
	case 4:
		memcpy(&v4, p, 4);
		return is_signed ? (uint64_t)(int32_t)v4 : v4;
	}
	memcpy(&v8, p, 8);
	return v8;
}

/* Where the bytes of a field are; NULL: not inside the record. */
static const uint8_t *place(const struct trace_fmt_field *f, const uint8_t *p, size_t n,
			    size_t *size)
{
	size_t off = f->offset;
	uint32_t v;

	if (off > n || f->size > n - off)
		return NULL;
	*size = f->size ? f->size : n - off;
	if (f->is_dynamic) {
		if (f->size != 4)
			return NULL;
		v = (uint32_t)load(p + off, 4, false);
		off = (v & 0xffff) + (f->is_relative ? off + 4 : 0);
		*size = v >> 16;
	}
	return off <= n && *size <= n - off ? p + off : NULL;
}

/* As text: of an array the elements, "0x1,0x2", of bytes their digits. Returns its length. */
static size_t put_array(char *to, size_t room, const struct trace_fmt_field *f, const uint8_t *p,
			size_t size)
{
	size_t element = f->element, n = 0;
	char text[24];

	if (element != 2 && element != 4 && element != 8)
		element = 1;
	size = size < SHOWN ? size : SHOWN;
	for (size_t at = 0; at + element <= size; at += element) {
		unsigned long long v = load(p + at, element, false);
		size_t k = (size_t)snprintf(text, sizeof(text), element == 1 ? "%02llx" :
					    at ? ",0x%llx" : "0x%llx", v);

		if (k > room - n)
			break;
		memcpy(to + n, text, k);
		n += k;
	}
	return n;
}

static size_t put_text(char *to, size_t room, const struct trace_fmt_field *f, const uint8_t *p,
		       size_t n)
{
	const uint8_t *from;
	size_t size;

	from = place(f, p, n, &size);
	if (!from)
		return 0;
	if (!f->is_text)
		return put_array(to, room, f, from, size);
	size = strnlen((const char *)from, size < room ? size : room);
	memcpy(to, from, size);
	return size;
}

int dirty_make(const struct dirty *d, unsigned i, const uint8_t *p, size_t n,
	       const struct virt_ctx *ctx, void *rec)
{
	const struct hwt_abi_own *e = &d->own[i];
	const struct tracepoint *t = d->v[i];
	struct hwt_rec h = { .time = ctx->time, .id = e->id, .version = HWT_ABI_VERSION,
		.flags = ctx->flags, .pid = ctx->pid, .tid = ctx->tid };
	size_t at = e->size, most = VIRT_REC_MAX - 8, size;
	uint8_t *to = rec, *last = NULL;
	uint32_t len;

	for (unsigned k = 0; k < e->nfields; k++) {
		const struct trace_fmt_field *f = &t->f[k];
		uint8_t *value = to + e->fields[k].offset;

		if (e->fields[k].type == HWT_ABI_text) {
			len = (uint32_t)put_text((char *)to + at, most - at, f, p, n);
			at += len;
			memcpy(value, &len, sizeof(len));
			last = value;
		} else {
			const uint8_t *from = place(f, p, n, &size);
			uint64_t v = from ? trace_fmt_narrow(load(from, f->size, f->is_signed),
							     f->narrow, f->is_signed) : 0;

			memcpy(value, &v, sizeof(v));
		}
	}
	/* the last text has the zeroes that fill the record */
	size = (at + 7) & ~(size_t)7;
	memset(to + at, 0, size - at);
	if (last) {
		memcpy(&len, last, sizeof(len));
		len += (uint32_t)(size - at);
		memcpy(last, &len, sizeof(len));
	}
	h.size = (uint16_t)size;
	memcpy(to, &h, sizeof(h));
	return (int)size;
}
