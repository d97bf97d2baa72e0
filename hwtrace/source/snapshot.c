/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Snapshot directories of OpenCSD and DS-5: the descriptions, and what they say together. Longer
 * than other files: every rule looks at the same tables of devices, buffers and links.
 */
#include "snapshot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "../base/ini.h"
#include "cs_guess.h"
#include "cs_unit.h"

/* Bounds on what a damaged description can make us do. */
#define MAX_DEVS 1024
#define MAX_BUFS 256
#define MAX_CFGS 128			/* trace ids of a buffer */
#define MAX_FILES 1024			/* trace files of all buffers */
#define MAX_DUMPS 8192
#define MAX_LINKS 4096			/* sources of all buffers */
#define MAX_INI (4u << 20)		/* bytes of all descriptions */
#define DUP_WINDOW 1024			/* lines of one section looked at for equal keys */

struct dev {
	const char *name, *type, *file;
	struct ini ini;
	bool core;
	int32_t cpu;
};

struct snap {
	struct capture *c;
	const struct snapshot_dir *d;
	struct dev *devs;
	size_t ndevs;
	struct ini root, trace;
	uint64_t ini_bytes;
	unsigned nfiles, ndumps, nlinks;
};

static struct notes *notes(struct snap *s)
{
	return &s->c->notes;
}

/* Equal keys of one section. Where a list is meant, the same name may come again. */
static void note_dups(struct snap *s, const struct ini *ini)
{
	size_t start = 0;

	for (size_t i = 0; i < ini->n; i++) {
		const struct ini_item *it = &ini->v[i];

		if (!it->key)
			start = i;
		if (!it->key || i - start > DUP_WINDOW || ini_eq(it->section, "device_list") ||
		    ini_eq(it->section, "core_trace_sources") ||
		    ini_eq(it->section, "source_buffers"))
			continue;
		for (size_t k = start; k < i; k++) {
			if (!ini->v[k].key || strcasecmp(ini->v[k].key, it->key))
				continue;
			notes_add(notes(s), HWT_NOTE_WARN, 64, ini->file, it->off,
				  "line %u: %s is given again, the last one counts", it->line,
				  it->key);
			break;
		}
	}
}

/* 0; 1: it is not there, noted; or -ENOMEM. */
static int load(struct snap *s, const char *name, struct ini *out, const struct ini_item *at,
		const char *from)
{
	struct hwt_diag diag = { .text = "" };
	const char *path;
	struct file *f;
	int rc = s->d->get(s->d, &f, name, &diag);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		notes_add(notes(s), HWT_NOTE_WARN, 62, from, at ? at->off : HWT_NO_OFF,
			  at ? "%s: %s (line %u)" : "%s: %s", name, diag.text, at ? at->line : 0);
		return 1;
	}
	path = arena_str(&s->c->arena, f->path);
	s->ini_bytes += f->size;
	if (!path)
		rc = -ENOMEM;
	else if (s->ini_bytes > MAX_INI)
		rc = -EFBIG;
	else
		rc = ini_parse(out, &s->c->arena, path, f->p, (size_t)f->size, notes(s));
	file_close(f);
	if (rc == -EFBIG)
		notes_add(notes(s), HWT_NOTE_WARN, 71, path, HWT_NO_OFF,
			  "too long for a description, not read");
	if (!rc)
		note_dups(s, out);
	return rc == -EFBIG ? 1 : rc;
}

static const char *value(const struct ini *ini, const char *section, const char *key)
{
	const struct ini_item *it = ini_find(ini, section, key);

	return it ? it->value : "";
}

static struct dev *find_dev(struct snap *s, const char *name)
{
	for (size_t i = 0; i < s->ndevs; i++)
		if (!strcmp(s->devs[i].name, name))
			return &s->devs[i];
	return NULL;
}

static int add_dev(struct snap *s, const char *name, const struct ini_item *at, const char *from)
{
	struct dev d = { .cpu = HWT_NONE };
	const char *class;
	int rc;

	if (s->ndevs == MAX_DEVS) {
		notes_add(notes(s), HWT_NOTE_WARN, 71, from, at ? at->off : HWT_NO_OFF,
			  "more than %u devices, the rest is not read", MAX_DEVS);
		return 0;
	}
	rc = load(s, name, &d.ini, at, from);
	if (rc)
		return rc < 0 ? rc : 0;
	d.file = d.ini.file;
	d.name = value(&d.ini, "device", "name");
	d.type = value(&d.ini, "device", "type");
	class = value(&d.ini, "device", "class");
	d.core = ini_eq(class, "core");
	if (!d.core && !ini_eq(class, "trace_source"))
		return 0;
	if (!*d.name || find_dev(s, d.name)) {
		notes_add(notes(s), HWT_NOTE_WARN, 64, d.file, HWT_NO_OFF, *d.name ?
			  "device %s is described before, this one is not used" :
			  "device without a name is not used%s", d.name);
		return 0;
	}
	s->devs[s->ndevs++] = d;
	return 0;
}

/* [device_list] in order of the file; without one every *.ini with a [device]. */
static int read_devs(struct snap *s)
{
	bool listed = false;
	int rc = 0;

	s->devs = arena_alloc(&s->c->arena, MAX_DEVS * sizeof(*s->devs));
	if (!s->devs)
		return -ENOMEM;
	for (size_t i = 0; i < s->root.n && !rc; i++) {
		const struct ini_item *it = &s->root.v[i];

		if (!ini_eq(it->section, "device_list"))
			continue;
		listed = true;
		if (it->key)
			rc = add_dev(s, it->value, it, s->root.file);
	}
	for (size_t i = 0; i < s->d->nini && !listed && !rc; i++)
		rc = add_dev(s, s->d->ini[i], NULL, NULL);
	return rc;
}

/* cpu_N is CPU N; other cores are counted in their order. */
static void number_cpus(struct snap *s)
{
	int32_t n = 0;

	for (size_t i = 0; i < s->ndevs; i++) {
		struct dev *d = &s->devs[i];
		uint64_t v;

		if (!d->core)
			continue;
		d->cpu = n++;
		if (!strncasecmp(d->name, "cpu_", 4) && ini_u64(d->name + 4, &v) && v < 1 << 16)
			d->cpu = (int32_t)v;
	}
}

static uint32_t read_regs(struct snap *s, const struct dev *d, struct trace_cfg *g)
{
	uint32_t seen = 0;

	for (size_t i = 0; i < d->ini.n; i++) {
		const struct ini_item *it = &d->ini.v[i];
		uint64_t v = 0;
		uint32_t bit;

		if (!it->key || !ini_eq(it->section, "regs"))
			continue;
		if (ini_u64(it->value, &v)) {
			seen |= cs_reg(g, it->key, v);
			continue;
		}
		bit = cs_reg(&(struct trace_cfg){ .proto = g->proto }, it->key, 0);
		if (bit)
			notes_add(notes(s), HWT_NOTE_WARN, 63, d->file, it->off,
				  "line %u: %s: not a number: %.40s", it->line, it->key,
				  it->value);
	}
	return seen;
}

/* The type of a core that is only named: "Cortex-A7_0". */
static const char *type_of_name(struct snap *s, const char *name)
{
	const char *us = strrchr(name, '_');
	uint8_t arch, profile;

	if (!cs_core(name, &arch, &profile))
		return "";
	return arena_strn(&s->c->arena, name, us ? (size_t)(us - name) : strlen(name));
}

static int set_core(struct snap *s, struct trace_cfg *g)
{
	const struct ini_item *it = NULL;
	const struct dev *core;
	const char *type;

	for (size_t i = s->trace.n; i-- && !it;)
		if (s->trace.v[i].key && ini_eq(s->trace.v[i].section, "core_trace_sources") &&
		    !strcmp(s->trace.v[i].value, g->name))
			it = &s->trace.v[i];
	core = it ? find_dev(s, it->key) : NULL;
	if (core && core->core)
		g->cpu = core->cpu;
	type = core ? core->type : it ? type_of_name(s, it->key) : "";
	if (!type)
		return -ENOMEM;
	cs_set_core(g, type, notes(s), core ? core->file : s->trace.file,
		    it && !core ? it->off : HWT_NO_OFF);
	return 0;
}

static int add_source(struct snap *s, struct trace_buf *b, const struct ini_item *it)
{
	const struct dev *d = find_dev(s, it->key);
	struct trace_cfg *g;
	unsigned proto;

	if (!d || d->core) {
		notes_add(notes(s), HWT_NOTE_WARN, 68, s->trace.file, it->off,
			  "line %u: there is no trace source %s", it->line, it->key);
		return 0;
	}
	proto = cs_proto(d->type);
	if (proto == HWT_PROTO_NONE || b->ncfgs == MAX_CFGS) {
		notes_add(notes(s), HWT_NOTE_WARN, 65, d->file, HWT_NO_OFF,
			  "%s: type \"%.40s\" can not be decoded", d->name, d->type);
		return 0;
	}
	for (size_t i = 0; i < b->ncfgs; i++)
		if (!strcmp(b->cfgs[i].name, d->name))
			return 0;
	g = capture_add_cfg(s->c, b);
	if (!g)
		return -ENOMEM;
	*g = (struct trace_cfg){ .name = d->name, .core = "", .cpu = HWT_NONE,
		.proto = (uint8_t)proto };
	cs_finish(g, read_regs(s, d, g), notes(s), d->file);
	return set_core(s, g);
}

static int add_sources(struct snap *s, struct trace_buf *b)
{
	char name[256];
	int rc = 0;

	for (size_t i = 0; i < s->trace.n && !rc; i++) {
		const struct ini_item *it = &s->trace.v[i];
		const char *list = it->value;
		bool here = false;

		if (!it->key || !ini_eq(it->section, "source_buffers"))
			continue;
		while (ini_list(&list, name, sizeof(name)))
			here |= !strcmp(name, b->name);
		if (here && s->nlinks++ == MAX_LINKS)
			notes_add(notes(s), HWT_NOTE_WARN, 71, s->trace.file, it->off,
				  "more than %u sources, the rest is not read", MAX_LINKS);
		if (here && s->nlinks <= MAX_LINKS)
			rc = add_source(s, b, it);
	}
	return rc;
}

static int add_trace_file(struct snap *s, struct trace_buf *b, const char *name,
			  const struct ini_item *it)
{
	uint64_t pos = b->nspans ? b->spans[b->nspans - 1].pos + b->spans[b->nspans - 1].size : 0;
	struct hwt_diag diag = { .text = "" };
	struct trace_span *sp;
	struct file *f;
	int rc;

	rc = s->nfiles++ < MAX_FILES ? s->d->get(s->d, &f, name, &diag) : -EMFILE;
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		notes_add(notes(s), HWT_NOTE_CUT, 62, s->trace.file, it->off,
			  "line %u: trace of %s: %s: %s", it->line, b->name, name,
			  *diag.text ? diag.text : "too many files");
		return 0;
	}
	rc = capture_add_file(s->c, f);
	if (rc)
		return rc;
	if (!f->size) {
		notes_add(notes(s), HWT_NOTE_WARN, 5, f->path, HWT_NO_OFF,
			  "buffer %s holds no trace", b->name);
		return 0;
	}
	sp = capture_add_span(s->c, b);
	if (!sp)
		return -ENOMEM;
	*sp = (struct trace_span){ .p = f->p, .size = f->size, .pos = pos, .file = f,
		.time = HWT_TIME_UNKNOWN, .pid = HWT_NONE, .tid = HWT_NONE };
	return 0;
}

static void set_framing(struct snap *s, struct trace_buf *b, const char *section)
{
	const struct ini_item *it = ini_find(&s->trace, section, "format");
	struct cs_guess g = { .look = CS_LOOK_NOTHING };
	char text[200];

	if (it && ini_eq(it->value, "source_data"))
		b->framing = FRAMING_NONE;
	else if (it && ini_eq(it->value, "coresight"))
		b->framing = FRAMING_MEM;
	else if (it && ini_eq(it->value, "dstream_coresight"))
		b->framing = FRAMING_TPIU;
	else {
		if (b->nspans)
			cs_guess(&g, b->spans[0].p, (size_t)b->spans[0].size);
		cs_guess_text(&g, text, sizeof(text));
		b->framing = g.look == CS_LOOK_RAW ? FRAMING_NONE :
			g.look == CS_LOOK_FSYNC ? FRAMING_TPIU : FRAMING_MEM;
		notes_add(notes(s), HWT_NOTE_WARN, 67, s->trace.file,
			  it ? it->off : HWT_NO_OFF, "[%.30s] format %s%.30s; %s", section,
			  it ? "not known: " : "is missing", it ? it->value : "", text);
	}
}

static int add_buf(struct snap *s, const char *section, const struct ini_item *at)
{
	const struct ini_item *it = ini_find(&s->trace, section, "file");
	const char *name = value(&s->trace, section, "name"), *list;
	struct trace_buf *b;
	char file[1024];
	int rc = 0;

	if (!it || s->c->nbufs == MAX_BUFS) {
		notes_add(notes(s), HWT_NOTE_WARN, 68, s->trace.file, at->off,
			  it ? "line %u: too many buffers, %s is not read" :
			  "line %u: buffer %s has no file=", at->line, section);
		return 0;
	}
	b = capture_add_buf(s->c, *name ? name : section);
	if (!b)
		return -ENOMEM;
	list = it->value;
	while (!rc && ini_list(&list, file, sizeof(file)))
		rc = add_trace_file(s, b, file, it);
	if (rc)
		return rc;
	set_framing(s, b, section);
	rc = add_sources(s, b);
	if (rc)
		return rc;
	if (!b->ncfgs)
		notes_add(notes(s), HWT_NOTE_WARN, 68, s->trace.file, at->off,
			  "[source_buffers] names no source of buffer %s", b->name);
	cs_check_buf(s->c, b, s->trace.file);
	return 0;
}

static int read_bufs(struct snap *s)
{
	const struct ini_item *it = ini_find(&s->trace, "trace_buffers", "buffers");
	char section[128];
	const char *list;
	int rc = 0;

	if (!it) {
		notes_add(notes(s), HWT_NOTE_WARN, 68, s->trace.file, HWT_NO_OFF,
			  "[trace_buffers] has no buffers=");
		return 0;
	}
	list = it->value;
	while (!rc && ini_list(&list, section, sizeof(section)))
		rc = add_buf(s, section, it);
	return rc;
}

struct dump {
	const char *file;
	const struct ini_item *head, *addr;
	uint64_t address, length, offset;
	uint32_t space;
	bool bad;
};

static void dump_item(struct snap *s, const struct dev *d, struct dump *m,
		      const struct ini_item *it)
{
	bool ok = true;

	if (ini_eq(it->key, "file")) {
		m->file = it->value;
	} else if (ini_eq(it->key, "address")) {
		m->addr = it;
		ok = ini_u64(it->value, &m->address);
		m->bad |= !ok;
	} else if (ini_eq(it->key, "length")) {
		ok = ini_u64(it->value, &m->length);
	} else if (ini_eq(it->key, "offset")) {
		ok = ini_u64(it->value, &m->offset);
		m->bad |= !ok;
	} else if (ini_eq(it->key, "space")) {
		ok = cs_space(it->value, &m->space);
	} else {
		notes_add(notes(s), HWT_NOTE_WARN, 61, d->file, it->off,
			  "line %u: key %s means nothing in a dump", it->line, it->key);
	}
	if (!ok)
		notes_add(notes(s), HWT_NOTE_WARN, 63, d->file, it->off,
			  "line %u: %s can not be \"%.40s\"", it->line, it->key, it->value);
}

static int add_dump(struct snap *s, const struct dev *d, const struct dump *m)
{
	struct hwt_diag diag = { .text = "" };
	struct cs_dump cd = { .addr = m->address, .offset = m->offset, .size = m->length,
		.space = m->space, .ini = d->file, .ini_off = m->head->off };
	struct file *f;
	int rc;

	if (!m->file || !m->addr || m->bad || s->ndumps++ >= MAX_DUMPS) {
		notes_add(notes(s), HWT_NOTE_WARN, 69, d->file, m->head->off,
			  "line %u: [%s] is not used: %s", m->head->line, m->head->section,
			  !m->file ? "no file=" : !m->addr ? "no address=" :
			  m->bad ? "its place is not known" : "too many dumps");
		return 0;
	}
	rc = s->d->get(s->d, &f, m->file, &diag);
	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		notes_add(notes(s), HWT_NOTE_WARN, 62, d->file, m->head->off,
			  "line %u: memory at 0x%" PRIx64 " is missing: %s: %s", m->head->line,
			  m->address, m->file, diag.text);
		return 0;
	}
	cd.path = f->path;
	cd.file_size = f->size;
	rc = cs_add_dump(s->c, &cd);
	file_close(f);
	return rc;
}

static bool is_dump(const char *section)
{
	return !strncasecmp(section, "dump", 4);
}

static int read_dumps(struct snap *s, const struct dev *d)
{
	struct dump m = { .head = NULL };
	int rc = 0;

	for (size_t i = 0; i <= d->ini.n && !rc; i++) {
		const struct ini_item *it = i < d->ini.n ? &d->ini.v[i] : NULL;

		if (it && it->key && m.head)
			dump_item(s, d, &m, it);
		if (it && it->key)
			continue;
		if (m.head)
			rc = add_dump(s, d, &m);
		m = (struct dump){ .head = it && is_dump(it->section) ? it : NULL };
	}
	return rc;
}

/* A timestamp frequency becomes a clock map where the map is exact. */
static void set_clock(struct snap *s)
{
	const struct ini_item *it = ini_find(&s->trace, "timestamp", "frequency");
	uint64_t f;

	if (!it)
		return;
	if (!ini_u64(it->value, &f) || !f) {
		notes_add(notes(s), HWT_NOTE_WARN, 63, s->trace.file, it->off,
			  "line %u: frequency can not be \"%.40s\"", it->line, it->value);
		return;
	}
	capture_fact(s->c, "timestamp frequency", "%" PRIu64 " Hz", f);
	if (!time_map_exact(&s->c->tsc, f) && !capture_hz(s->c, f))
		return;
	capture_base(s->c, "coresight");
}

/* "Cortex-A7, Cortex-A15": each type once. */
static const char *core_types(struct snap *s)
{
	char text[256] = "";
	size_t n = 0;

	for (size_t i = 0; i < s->ndevs; i++) {
		const char *type = s->devs[i].type;
		bool seen = !s->devs[i].core || !*type || n + strlen(type) + 3 > sizeof(text);

		for (size_t k = 0; k < i && !seen; k++)
			seen = s->devs[k].core && !strcmp(s->devs[k].type, type);
		if (!seen)
			n = (size_t)(stpcpy(stpcpy(text + n, n ? ", " : ""), type) - text);
	}
	return arena_str(&s->c->arena, text);
}

static int set_facts(struct snap *s)
{
	const char *v = value(&s->root, "snapshot", "version");
	struct capture *c = s->c;

	if (*v && strcmp(v, "1.0") && strcmp(v, "1"))
		notes_add(notes(s), HWT_NOTE_WARN, 63, s->root.file, HWT_NO_OFF,
			  "version \"%.40s\" is not known, read as 1.0", v);
	if (*v)
		capture_fact(c, "snapshot version", "%s", v);
	v = value(&s->root, "snapshot", "description");
	if (*v)
		capture_fact(c, "description", "%s", v);
	for (size_t i = 0; i < s->ndevs && !*c->arch; i++) {
		uint8_t arch = 0, profile = 0;

		if (s->devs[i].core && cs_core(s->devs[i].type, &arch, &profile))
			c->arch = arch == 8 && profile == 'A' ? "aarch64" : "arm";
	}
	v = core_types(s);
	if (!v)
		return -ENOMEM;
	c->cpu = v;
	return 0;
}

/* snapshot.ini, or what stands in for it: an *.ini with [trace]. 0, 1 none, -ENOMEM. */
static int read_root(struct snap *s)
{
	struct hwt_diag diag;
	struct file *f;
	int rc = s->d->get(s->d, &f, "snapshot.ini", &diag);

	if (!rc) {
		file_close(f);
		return load(s, "snapshot.ini", &s->root, NULL, NULL);
	}
	for (size_t i = 0; i < s->d->nini && i < MAX_DEVS && rc != -ENOMEM; i++) {
		rc = load(s, s->d->ini[i], &s->root, NULL, NULL);
		if (!rc && ini_find(&s->root, "trace", "metadata"))
			return 0;
	}
	s->root = (struct ini){ .file = s->d->path };
	return rc == -ENOMEM ? rc : 1;
}

static int read_trace(struct snap *s)
{
	const struct ini_item *it = ini_find(&s->root, "trace", "metadata");
	int rc;

	if (!it && ini_find(&s->root, "trace_buffers", "buffers")) {
		s->trace = s->root;
		return 0;
	}
	rc = load(s, it ? it->value : "trace.ini", &s->trace, it, s->root.file);
	return rc;
}

int snapshot_read(struct capture *c, const struct snapshot_dir *d, struct hwt_diag *diag)
{
	struct snap s = { .c = c, .d = d, .trace = { .file = d->path } };
	uint64_t bytes = 0;
	int rc = read_root(&s);

	if (rc >= 0)
		rc = read_devs(&s);
	if (rc >= 0)
		rc = read_trace(&s);
	if (rc < 0)
		goto out;
	number_cpus(&s);
	rc = read_bufs(&s);
	for (size_t i = 0; i < s.ndevs && !rc; i++)
		if (s.devs[i].core)
			rc = read_dumps(&s, &s.devs[i]);
	if (rc)
		goto out;
	set_clock(&s);
	rc = set_facts(&s);
	if (rc)
		goto out;
	for (size_t i = 0; i < c->nbufs; i++)
		bytes += c->bufs[i].nspans;
	if (!bytes)
		return diag_set(diag, -HWT_E_FORMAT, 60, d->path, HWT_NO_OFF,
				"no trace in it%s%.180s", c->notes.n ? ": " : "",
				c->notes.n ? c->notes.v[0].diag.text : "");
	return 0;
out:
	return diag_set(diag, rc, 3, d->path, HWT_NO_OFF, "out of memory");
}
