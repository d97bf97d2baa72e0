/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What runtimes say of the code that they make: perf-PID.map (names) and jitdump (names, bytes,
 * lines, times). Layout of jitdump: Linux tools/perf/Documentation/jitdump-specification.txt.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/text.h"
#include "lines.h"
#include "priv.h"

#define JIT_MAGIC	0x4a695444u	/* "JiTD" as a number of the writer's byte order */
#define JIT_ARCH_TIME	1u		/* header flag: times are of a CPU counter */
#define HEADER_SIZE	40u
#define RECORD_SIZE	16u

enum { JIT_LOAD, JIT_MOVE, JIT_DEBUG_INFO, JIT_CLOSE, JIT_UNWINDING };

/* A list of names says nothing of time: it is of the program that the process runs in the end. */
int perf_map_load(struct hwt_image *img, int32_t pid, const struct file *f, struct hwt_diag *diag)
{
	uint64_t since = maps_last_reset(img, pid);
	struct cur c = cur_new(f->p, f->size, false);
	size_t n, bad = 0;
	const char *s;
	int rc = 0;

	while (!rc && line_next(&c, &s, &n)) {
		uint64_t addr, size;
		size_t i = line_hex(s, n, &addr), k = 0;
		char *name;

		if (i && i < n && s[i] == ' ')
			k = line_hex(s + i + 1, n - i - 1, &size);
		i += 1 + k;
		if (!k || i + 1 >= n || s[i] != ' ') {
			bad += n != 0;
			continue;
		}
		name = arena_strn(&img->arena, s + i + 1, n - i - 1);
		rc = name ? image_add_symbol(img, pid, since, addr, size, name) : -ENOMEM;
	}
	if (rc)
		return diag_set(diag, rc, 3, f->path, HWT_NO_OFF, "out of memory");
	if (bad)
		notes_add(img->ns, HWT_NOTE_WARN, 97, f->path, HWT_NO_OFF,
			  "%zu line%s can not be read", bad, text_s(bad));
	return 0;
}

int image_add_perf_map(struct hwt_image *img, int32_t pid, const char *path, struct hwt_diag *diag)
{
	struct file *f;
	int rc = module_file(&f, path, diag);

	if (rc)
		return rc;
	rc = perf_map_load(img, pid, f, diag);
	file_close(f);
	return rc;
}

/* A function that was loaded, for records that refer to it. */
struct jit_code {
	const uint8_t *p;
	uint64_t size, addr;
	const char *name;
	const struct jit_lines *lines;
};

struct jit {
	struct hwt_image *img;
	const char *path;
	int32_t pid;
	bool timed;		/* times are on the base clock */
	uint64_t since;		/* for all records if not */
	struct jit_code *v;
	uint32_t n, cap;
	struct idmap by_index;	/* code index to @v */
	/* of the last DEBUG_INFO: it comes before its LOAD */
	const struct jit_lines *lines;
};

static int damaged(struct jit *j, uint64_t off, const char *why)
{
	notes_add(j->img->ns, HWT_NOTE_WARN, 98, j->path, off, "%s", why);
	return 0;
}

static int place(struct jit *j, uint64_t time, const struct jit_code *code)
{
	int rc;

	if (!code->size)
		return 0;
	rc = image_add_bytes(j->img, j->pid, time, code->addr, code->p, code->size, NULL);
	return rc ? rc : maps_add_symbol(j->img, j->pid, time, code->addr, code->size, code->name,
					 code->lines);
}

static int remember(struct jit *j, uint64_t index, const struct jit_code *code)
{
	if (j->n == j->cap) {
		uint32_t cap = j->cap ? j->cap * 2 : 64;
		struct jit_code *v = realloc(j->v, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		j->v = v;
		j->cap = cap;
	}
	j->v[j->n] = *code;
	return idmap_set(&j->by_index, index, j->n++);
}

static int load(struct jit *j, struct cur *c, uint64_t time, uint64_t off)
{
	struct jit_code code = { 0 };
	uint64_t index;
	const char *name;
	size_t len;
	int rc;

	cur_skip(c, 4 + 4 + 8);		/* pid, tid, vma */
	code.addr = cur_u64(c);
	code.size = cur_u64(c);
	index = cur_u64(c);
	len = strnlen((const char *)c->p, cur_left(c));
	name = (const char *)cur_take(c, len + 1);
	if (c->bad || code.size > cur_left(c))
		return damaged(j, off, "code of a function is larger than its record");
	code.name = name;
	code.p = cur_take(c, (size_t)code.size);
	if (j->lines && j->lines->base == code.addr)
		code.lines = j->lines;
	j->lines = NULL;
	rc = place(j, time, &code);
	return rc ? rc : remember(j, index, &code);
}

static int move(struct jit *j, struct cur *c, uint64_t time, uint64_t off)
{
	struct jit_code *code;
	uint64_t from, to, size, index;
	uint32_t i;
	int rc;

	cur_skip(c, 4 + 4 + 8);
	from = cur_u64(c);
	to = cur_u64(c);
	size = cur_u64(c);
	index = cur_u64(c);
	if (c->bad)
		return damaged(j, off, "a move record is cut");
	i = idmap_get(&j->by_index, index);
	if (i == IDMAP_NONE || j->v[i].addr != from || j->v[i].size != size)
		return damaged(j, off, "code is moved that was not loaded there");
	code = &j->v[i];
	if (!size)
		return 0;
	rc = image_unmap(j->img, j->pid, time, from, size);
	if (!rc)
		rc = image_add_symbol(j->img, j->pid, time, from, size, NULL);
	code->addr = to;
	return rc ? rc : place(j, time, code);
}

/* Entries are {address, line, discriminator, file name}; the name "\xff" repeats the one before. */
static int debug_info(struct jit *j, struct cur *c, uint64_t off)
{
	uint64_t addr = cur_u64(c), n = cur_u64(c);
	struct jit_lines *l;
	const char *file = "";

	if (c->bad || n > cur_left(c) / 17)
		return damaged(j, off, "more lines than the record holds");
	l = arena_alloc(&j->img->arena, sizeof(*l) + (size_t)n * sizeof(l->v[0]));
	if (!l)
		return -ENOMEM;
	for (uint64_t i = 0; i < n; i++) {
		struct jit_line *e = &l->v[i];
		const char *name;
		size_t len;

		e->addr = cur_u64(c);
		e->line = (int32_t)cur_u32(c);
		cur_skip(c, 4);
		len = strnlen((const char *)c->p, cur_left(c));
		name = (const char *)cur_take(c, len + 1);
		if (c->bad)
			return damaged(j, off, "a file name is cut");
		if (strcmp(name, "\xff"))
			file = arena_str(&j->img->arena, name);
		if (!file)
			return -ENOMEM;
		e->file = file;
		l->n++;
	}
	l->base = addr;
	j->lines = l;
	return 0;
}

static int records(struct jit *j, struct cur *c)
{
	int rc = 0;

	while (!rc && cur_left(c)) {
		uint64_t off = cur_pos(c), time;
		uint32_t id = cur_u32(c), size = cur_u32(c);
		struct cur body;
		const uint8_t *p;

		time = cur_u64(c);
		if (c->bad || size < RECORD_SIZE || size - RECORD_SIZE > cur_left(c))
			return damaged(j, off, "a record ends beyond the file");
		p = cur_take(c, size - RECORD_SIZE);
		body = cur_new(p, size - RECORD_SIZE, c->swap);
		if (!j->timed)
			time = j->since;
		if (id == JIT_LOAD)
			rc = load(j, &body, time, off);
		else if (id == JIT_MOVE)
			rc = move(j, &body, time, off);
		else if (id == JIT_DEBUG_INFO)
			rc = debug_info(j, &body, off);
		else if (id == JIT_CLOSE)
			return 0;
		/* unwind tables and unknown kinds say nothing of code */
	}
	return rc;
}

static int header(struct jit *j, struct cur *c, struct hwt_diag *diag)
{
	uint32_t magic = cur_u32(c), version, size, pid;
	uint64_t flags;

	if (magic == __builtin_bswap32(JIT_MAGIC))
		c->swap = true;
	else if (magic != JIT_MAGIC)
		return diag_set(diag, -HWT_E_FORMAT, 98, j->path, 0, "not a jitdump file");
	version = cur_u32(c);
	size = cur_u32(c);
	cur_skip(c, 8);			/* ELF machine, padding */
	pid = cur_u32(c);
	cur_skip(c, 8);			/* time of creation */
	flags = cur_u64(c);
	if (c->bad || size < HEADER_SIZE)
		return diag_set(diag, -HWT_E_FORMAT, 98, j->path, 8, "header of %u bytes", size);
	if (version != 1)
		return diag_set(diag, -HWT_E_FORMAT, 98, j->path, 4, "version %u is not known",
				version);
	cur_skip(c, size - HEADER_SIZE);
	if (j->pid == HWT_NONE)
		j->pid = (int32_t)pid;
	/* a file of a program may not change every other one */
	if (j->pid == HWT_NONE)
		return diag_set(diag, -HWT_E_FORMAT, 98, j->path, 20, "no process is named");
	j->timed = !(flags & JIT_ARCH_TIME) && !j->img->other_clock;
	j->since = maps_last_reset(j->img, j->pid);
	if (!j->timed)
		notes_add(j->img->ns, HWT_NOTE_INFO, 98, j->path, HWT_NO_OFF,
			  "its times are not on the clock of the capture: the last version of code "
			  "is used");
	return 0;
}

int jitdump_load(struct hwt_image *img, int32_t pid, const struct file *f, struct hwt_diag *diag)
{
	struct jit j = { .img = img, .path = f->path, .pid = pid };
	struct cur c = cur_new(f->p, f->size, false);
	int rc = header(&j, &c, diag);

	if (!rc) {
		rc = records(&j, &c);
		if (rc)
			diag_set(diag, rc, 3, f->path, HWT_NO_OFF, "out of memory");
	}
	idmap_free(&j.by_index);
	free(j.v);
	return rc;
}

int image_add_jitdump(struct hwt_image *img, int32_t pid, const char *path, struct hwt_diag *diag)
{
	struct file *f;
	int rc = module_file(&f, path, diag);

	if (rc)
		return rc;
	rc = jitdump_load(img, pid, f, diag);
	file_close(f);
	return rc;
}

/* The N of "jit-N.dump" at the end of @path; HWT_NONE if it is no such name. */
static int32_t dump_pid(const char *path)
{
	const char *name = strrchr(path, '/');
	int pid, end = 0;

	name = name ? name + 1 : path;
	if (sscanf(name, "jit-%9d.dump%n", &pid, &end) != 1 || !end || name[end] || pid < 0)
		return HWT_NONE;
	return pid;
}

static int note_failed(struct hwt_image *img, int rc, const struct hwt_diag *d)
{
	if (rc == -ENOMEM)
		return rc;
	if (rc < 0)
		notes_add(img->ns, HWT_NOTE_WARN, d->id, d->file, d->off, "%s", d->text);
	return 0;
}

/* Runtimes map a page of their dump so that a recorder sees its name. */
static int recorded_dumps(struct hwt_image *img)
{
	int rc = 0;

	for (size_t i = 0; !rc && i < img->nlist; i++) {
		const struct hwt_map *m = &img->list[i];
		struct hwt_diag d = { .text = "" };
		struct module *mod;

		if (m->raw || m->pid == HWT_NONE || dump_pid(m->path) != m->pid)
			continue;
		mod = module_get(img, m->path, MODULE_MAPPED, m->build_id, m->build_id_size);
		if (mod && module_open(img, mod))
			rc = note_failed(img, jitdump_load(img, m->pid, mod->file, &d), &d);
	}
	return rc;
}

int image_add_jit(struct hwt_image *img, const char *dir, const char *clock)
{
	uint32_t n = img->nspaces;
	int rc;

	img->other_clock = strcmp(clock, "CLOCK_MONOTONIC") != 0;
	rc = recorded_dumps(img);
	for (uint32_t i = 0; dir && !rc && i < n; i++) {
		int32_t pid = img->spaces[i]->pid;
		struct hwt_diag d = { .text = "" };
		char path[4096];

		if (pid < 0)
			continue;
		snprintf(path, sizeof(path), "%s/jit-%d.dump", dir, pid);
		if (!access(path, F_OK))
			rc = note_failed(img, image_add_jitdump(img, pid, path, &d), &d);
		snprintf(path, sizeof(path), "%s/perf-%d.map", dir, pid);
		if (!rc && !access(path, F_OK))
			rc = note_failed(img, image_add_perf_map(img, pid, path, &d), &d);
	}
	return rc;
}
