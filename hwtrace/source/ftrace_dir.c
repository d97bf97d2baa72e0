/* SPDX-License-Identifier: BSD-2-Clause */
/* A directory laid out as tracefs is, with what was read from per_cpu/cpuN/trace_pipe_raw. */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "ftrace.h"
#include "tep.h"

#define MAX_FORMATS 65536
#define MAX_HEADER 65536	/* bytes of header_page */

static bool is_dir(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISDIR(st.st_mode);
}

static bool join(char out[PATH_MAX], const char *dir, const char *name)
{
	return snprintf(out, PATH_MAX, "%s/%s", dir, name) < PATH_MAX;
}

bool ftrace_is_dir(const char *path)
{
	char below[PATH_MAX];

	return join(below, path, "per_cpu") && is_dir(below) && join(below, path, "events") &&
		is_dir(below);
}

/* NULL if it is not there, empty, or can not be read (noted). */
static struct file *open_file(struct ftrace *ft, const char *dir, const char *name)
{
	char path[PATH_MAX];
	struct file *f = NULL;
	struct hwt_diag d;
	struct stat st;

	if (!join(path, dir, name) || stat(path, &st))
		return NULL;
	if (file_open(&f, path, &d) < 0) {
		notes_add(&ft->c->notes, HWT_NOTE_WARN, d.id, path, HWT_NO_OFF, "%s", d.text);
		return NULL;
	}
	if (f->size)
		return f;
	file_close(f);
	return NULL;
}

/* Gives the text of a file to @use, if it is there. */
static void with_text(struct ftrace *ft, const char *dir, const char *name,
		      void (*use)(struct ftrace *ft, const char *p, size_t n))
{
	struct file *f = open_file(ft, dir, name);

	if (f)
		use(ft, (const char *)f->p, (size_t)f->size);
	file_close(f);
}

static void use_header(struct ftrace *ft, const char *p, size_t n)
{
	ftrace_header_page(ft, p, n, 0);
}

static void use_printk(struct ftrace *ft, const char *p, size_t n)
{
	printk_new(&ft->printk, p, n);
}

static int visible(const struct dirent *e)
{
	return e->d_name[0] != '.';
}

static void free_names(struct dirent **v, int n)
{
	for (int i = 0; i < n; i++)
		free(v[i]);
	free(v);
}

/* events/SYSTEM/EVENT/format */
static void formats_of(struct ftrace *ft, const char *dir, const char *sys)
{
	struct dirent **v = NULL;
	int n = scandir(dir, &v, visible, alphasort);
	char path[PATH_MAX];

	for (int i = 0; i < n; i++) {
		struct file *f;

		if (!join(path, dir, v[i]->d_name) || !is_dir(path))
			continue;
		f = open_file(ft, path, "format");
		if (!f)
			continue;
		if (ft->nformats < MAX_FORMATS &&
		    trace_fmt_add(ft->fmt, sys, f->p, (size_t)f->size))
			ft->nformats++;
		else
			notes_add(&ft->c->notes, HWT_NOTE_WARN, E_FT_FORMATS, f->path, HWT_NO_OFF,
				  "the format of this event can not be used");
		file_close(f);
	}
	if (n >= 0)
		free_names(v, n);
}

static void formats(struct ftrace *ft, const char *dir)
{
	char path[PATH_MAX], below[PATH_MAX];
	struct dirent **v = NULL;
	int n;

	if (!join(path, dir, "events"))
		return;
	n = scandir(path, &v, visible, alphasort);
	for (int i = 0; i < n; i++)
		if (join(below, path, v[i]->d_name) && is_dir(below))
			formats_of(ft, below, v[i]->d_name);
	if (n >= 0)
		free_names(v, n);
}

static int add_cpu(struct ftrace *ft, struct file *f, int32_t cpu)
{
	struct ftrace_cpu *s;
	int rc = capture_add_file(ft->c, f);

	if (rc)
		return rc;
	s = ftrace_add_cpu(ft);
	if (!s) {
		notes_add(&ft->c->notes, HWT_NOTE_WARN, E_FT_SECTION, f->path, HWT_NO_OFF,
			  "too many CPUs: this one is left out");
		return 0;
	}
	s->cpu = cpu;
	s->p = f->p;
	s->size = f->size;
	s->file = (uint32_t)ft->c->nfiles - 1;
	return 0;
}

static int by_number(const struct dirent **a, const struct dirent **b)
{
	long x = strtol((*a)->d_name + 3, NULL, 10), y = strtol((*b)->d_name + 3, NULL, 10);

	return x < y ? -1 : x > y;
}

static int is_cpu(const struct dirent *e)
{
	return !strncmp(e->d_name, "cpu", 3) && e->d_name[3] >= '0' && e->d_name[3] <= '9';
}

/* Of the buffer's own header_page: its sub-buffers may have another size than the top one's. */
static uint32_t page_size(struct ftrace *ft, const char *dir)
{
	struct file *f = open_file(ft, dir, "events/header_page");
	struct ring_layout l = ft->layout;
	size_t n = f && f->size < MAX_HEADER ? (size_t)f->size : MAX_HEADER;
	char *text = f ? arena_strn(&ft->c->arena, (const char *)f->p, n) : NULL;

	if (text)
		ring_layout_read(&l, text);
	file_close(f);
	return l.page_size;
}

/* A buffer: trace_clock and per_cpu/cpuN/trace_pipe_raw. */
static int buffer(struct ftrace *ft, const char *dir, const char *name)
{
	char path[PATH_MAX], below[PATH_MAX];
	struct file *f = open_file(ft, dir, "trace_clock");
	struct dirent **v = NULL;
	const char *clock;
	int n, rc = 0;

	clock = f ? ftrace_clock_name(ft, (const char *)f->p, (size_t)f->size) : "local";
	file_close(f);
	if (!join(path, dir, "per_cpu"))
		return 0;
	if (!ftrace_add_buf(ft, name, clock, page_size(ft, dir))) {
		notes_add(&ft->c->notes, HWT_NOTE_WARN, E_FT_SECTION, dir, HWT_NO_OFF,
			  "too many buffers: this one is left out");
		return 0;
	}
	n = scandir(path, &v, is_cpu, by_number);
	for (int i = 0; i < n && !rc; i++) {
		f = join(below, path, v[i]->d_name) ? open_file(ft, below, "trace_pipe_raw") : NULL;
		if (f)
			rc = add_cpu(ft, f, (int32_t)strtol(v[i]->d_name + 3, NULL, 10));
	}
	if (n >= 0)
		free_names(v, n);
	return rc;
}

static int instances(struct ftrace *ft, const char *dir)
{
	char path[PATH_MAX], below[PATH_MAX];
	struct dirent **v = NULL;
	int n, rc = 0;

	if (!join(path, dir, "instances"))
		return 0;
	n = scandir(path, &v, visible, alphasort);
	for (int i = 0; i < n && !rc; i++)
		if (join(below, path, v[i]->d_name) && is_dir(below))
			rc = buffer(ft, below, v[i]->d_name);
	if (n >= 0)
		free_names(v, n);
	return rc;
}

int ftrace_dir(struct ftrace *ft, const char *path, struct hwt_diag *diag)
{
	bool big = __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__;
	int rc;

	/* pages do not say it: they are taken as of a machine like this one */
	ft->long_size = 8;
	rc = trace_fmt_empty(&ft->fmt, big, ft->long_size);
	ftrace_header_page(ft, NULL, 0, HWT_NO_OFF);
	with_text(ft, path, "events/header_page", use_header);
	ft->long_size = ft->layout.long_size;
	if (!rc) {
		formats(ft, path);
		with_text(ft, path, "uname", ftrace_uname);
		with_text(ft, path, "kallsyms", ftrace_kallsyms);
		with_text(ft, path, "printk_formats", use_printk);
		with_text(ft, path, "saved_cmdlines", ftrace_cmdlines);
		with_text(ft, path, "saved_tgids", ftrace_tgids);
		rc = buffer(ft, path, "");
	}
	if (!rc)
		rc = instances(ft, path);
	if (rc)
		return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	if (!ft->cpus.n)
		return diag_set(diag, -HWT_E_FORMAT, E_FT_EMPTY, path, HWT_NO_OFF,
				"no per_cpu/cpuN/trace_pipe_raw holds a page");
	return 0;
}
