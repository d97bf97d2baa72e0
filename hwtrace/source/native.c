/* SPDX-License-Identifier: BSD-2-Clause */
/* Native captures: a directory with hwtrace.ini, hw/, kernel/ and images/. */
#include "native.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "../time/clock.h"

#define MAX_FILES 8192		/* looked at in one folder */

const char *native_path(struct native *n, const char *sub, const char *name)
{
	struct arena *a = &n->c->arena;
	char path[4096];

	if (snprintf(path, sizeof(path), "%s/%s%s%s", n->dir, sub, *sub ? "/" : "", name) >=
	    (int)sizeof(path))
		return arena_str(a, name);
	return arena_str(a, path);
}

int native_get(struct native *n, const char *path, const struct file **f, const char **why)
{
	struct hwt_diag d = { .text = "" };
	struct file *got;
	int rc = file_open(&got, path, &d);

	if (rc == -ENOMEM)
		return rc;
	if (rc) {
		*why = arena_str(&n->c->arena, d.text);
		return *why ? 0 : -ENOMEM;
	}
	*f = got;
	return capture_add_file(n->c, got) ? -ENOMEM : 1;
}

/* --- folders --- */

static void missing(struct native *n, const char *path, const char *why)
{
	notes_add(&n->c->notes, HWT_NOTE_CUT, E_NAT_CUT, path, HWT_NO_OFF, "%.200s", why);
}

/* Names in folder @sub that match, sorted. A folder that is not there has none. */
static int list(struct native *n, const char *sub, const char *pattern, struct strlist *out)
{
	const char *path = native_path(n, "", sub);
	DIR *d = path ? opendir(path) : NULL;
	struct dirent *e;
	int rc = path ? 0 : -ENOMEM;

	*out = (struct strlist){ 0 };
	if (path && !d && errno == ENOMEM)
		rc = -ENOMEM;
	else if (path && !d)
		missing(n, path, strerror(errno));
	while (d && !rc && out->n < MAX_FILES && (e = readdir(d))) {
		if (!fnmatch(pattern, e->d_name, FNM_PERIOD))
			rc = strlist_add(out, e->d_name);
	}
	if (d)
		closedir(d);
	strlist_sort(out, 0);
	if (rc)
		strlist_free(out);
	return rc;
}

/* --- trace buffers --- */

/* 1: both files are open. 0: noted that one is not there. */
static int get_pair(struct native *n, const char *sub, const char *name, const struct file **bin,
		    const struct file **idx)
{
	const char *why, *path;
	char file[96];
	int rc;

	snprintf(file, sizeof(file), "%s.bin", name);
	path = native_path(n, sub, file);
	rc = path ? native_get(n, path, bin, &why) : -ENOMEM;
	if (rc > 0) {
		snprintf(file, sizeof(file), "%s.idx", name);
		path = native_path(n, sub, file);
		rc = path ? native_get(n, path, idx, &why) : -ENOMEM;
	}
	if (!rc)
		missing(n, path, why);
	return rc;
}

static int read_buf(struct native *n, size_t i, const char *name)
{
	struct trace_buf *b = &n->c->bufs[i];
	const struct file *bin = NULL, *idx = NULL;
	int rc;

	if (b->ncfgs != n->units[i])
		notes_add(&n->c->notes, HWT_NOTE_WARN, E_NAT_NO_DESC, n->ini_path, HWT_NO_OFF,
			  "%s: %zu of %u trace units are described", b->name, b->ncfgs,
			  n->units[i]);
	rc = get_pair(n, "hw", name, &bin, &idx);
	if (rc > 0)
		return native_read_buf(n, b, bin, idx);
	if (rc < 0)
		return rc;
	/* what is missing is as long as its other half, if that is there */
	b->cause_after = HWT_GAP_AUX_MISSING;
	b->lost_after = bin ? bin->size : 0;
	return 0;
}

static bool described(const struct native *n, const char *file)
{
	for (size_t i = 0; i < n->c->nbufs; i++)
		if (n->file_of[i] && !strcmp(n->file_of[i], file))
			return true;
	return false;
}

/* Buffers that are there and that the description, cut or damaged, does not have. */
static int undescribed(struct native *n)
{
	int rc = 0;

	for (size_t i = 0; i < n->hw.n && !rc; i++) {
		char *name = n->hw.v[i];
		struct trace_buf *b;

		name[strlen(name) - 4] = 0;
		if (described(n, name) || strlen(name) > 80 || n->c->nbufs >= NATIVE_MAX_BUFS)
			continue;
		b = capture_add_buf(n->c, name);
		if (!b) {
			rc = -ENOMEM;
			break;
		}
		b->cpu = b->pid = b->tid = HWT_NONE;
		notes_add(&n->c->notes, HWT_NOTE_WARN, E_NAT_NO_DESC, n->ini_path, HWT_NO_OFF,
			  "it says nothing of the buffer %.80s", name);
		rc = read_buf(n, n->c->nbufs - 1, name);
	}
	return rc;
}

static int read_hw(struct native *n)
{
	size_t told = n->c->nbufs;
	int rc = 0;

	for (size_t i = 0; i < told && !rc; i++)
		rc = read_buf(n, i, n->file_of[i]);
	return rc ? rc : undescribed(n);
}

/* --- code and kernel records --- */

static int read_pages(struct native *n)
{
	const struct file *bin, *idx;
	const char *path = native_path(n, "images", "pages.bin");
	struct stat st;
	int rc;

	if (!path)
		return -ENOMEM;
	if (stat(path, &st) && errno == ENOENT)
		return 0;
	rc = get_pair(n, "images", "pages", &bin, &idx);
	return rc > 0 ? native_read_pages(n, bin, idx) : rc;
}

/* The files of @folder behind those that are there. */
static int open_streams(struct native *n, const char *folder, bool dirty)
{
	struct native_stream *v;
	struct strlist ns;
	int rc = list(n, folder, "cpu*", &ns);

	if (!rc && ns.n) {
		v = arena_alloc(&n->c->arena, (n->nstreams + ns.n) * sizeof(*v));
		rc = v ? 0 : -ENOMEM;
		if (v && n->nstreams)
			memcpy(v, n->streams, n->nstreams * sizeof(*v));
		n->streams = v ? v : n->streams;
	}
	for (size_t i = 0; i < ns.n && !rc; i++) {
		struct native_stream *s = &n->streams[n->nstreams];
		const char *path = native_path(n, folder, ns.v[i]), *why;

		rc = path ? native_get(n, path, &s->f, &why) : -ENOMEM;
		if (rc < 0)
			break;
		if (!rc)
			missing(n, path, why);
		else
			n->nstreams++;
		s->file = (uint32_t)n->c->nfiles - 1;
		s->dirty = dirty;
		rc = 0;
	}
	strlist_free(&ns);
	return rc;
}

/* dirty/, and which clock it has: its own, unless it is called as that of kernel/. */
static int open_dirty(struct native *n)
{
	const char *path = native_path(n, "", "dirty");
	struct stat st;
	size_t before = n->nstreams;
	int rc;

	if (!path)
		return -ENOMEM;
	if (stat(path, &st) && errno == ENOENT)
		return 0;
	n->dirty_src = (uint32_t)n->c->nfiles;
	rc = open_streams(n, "dirty", true);
	if (!rc && n->nstreams > before)
		rc = native_read_own(n, &n->dirty, "dirty");
	n->dirty_apart = !n->own.clock || !n->dirty.clock || strcmp(n->own.clock, n->dirty.clock);
	if (n->dirty_apart)
		n->c->orders = -1;	/* of one CPU, too, events of both are not in order */
	if (n->dirty_apart && n->dirty.clock)
		n->dirty_clock = (uint8_t)time_clock_of(n->dirty.clock);
	return rc;
}

/* --- opening --- */

static int read_all(struct native *n)
{
	const struct file *f;
	const char *why;
	int rc;

	if (!*n->kernel) {
		notes_add(&n->c->notes, HWT_NOTE_INFO, 0, n->dir, HWT_NO_OFF,
			  "only the kernel records of a capture: times stay in counter ticks");
		rc = open_streams(n, n->kernel, false);
		rc = rc ? rc : native_read_own(n, &n->own, n->kernel);
		return rc ? rc : native_read_kernel(n);
	}
	rc = native_get(n, n->ini_path, &f, &why);

	if (!rc)
		missing(n, n->ini_path, why);
	if (rc > 0)
		rc = native_read_ini(n, f);
	if (!rc && !n->closed && !n->wrong)
		notes_add(&n->c->notes, HWT_NOTE_WARN, E_NAT_CLOSED, n->ini_path, HWT_NO_OFF,
			  "the recorder did not come to its end");
	if (!rc)
		rc = open_streams(n, n->kernel, false);
	if (!rc)
		rc = native_read_own(n, &n->own, n->kernel);
	if (!rc)
		rc = open_dirty(n);
	if (!rc)
		rc = native_fit(n);
	if (!rc)
		rc = native_fit_dirty(n);
	if (!rc)
		native_one_clock(n);
	if (!rc)
		rc = list(n, "hw", "*.bin", &n->hw);
	n->traced = n->c->nbufs || n->hw.n;
	if (!rc)
		rc = native_read_kernel(n);
	if (!rc)
		rc = read_pages(n);
	if (!rc)
		rc = read_hw(n);
	strlist_free(&n->hw);
	return rc;
}

static int exists(const char *dir, const char *name, mode_t type)
{
	char path[4096];
	struct stat st;

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
		!stat(path, &st) && (st.st_mode & S_IFMT) == type;
}

/* Folder kernel/ of a capture, alone. */
static bool only_kernel(const char *dir)
{
	static const char ours[] = "tracer_name = \"hwtrace\"";
	struct hwt_diag d;
	char path[4096];
	struct file *f;
	bool is;

	if (snprintf(path, sizeof(path), "%s/metadata", dir) >= (int)sizeof(path) ||
	    file_open(&f, path, &d))
		return false;
	is = f->size && memmem(f->p, f->size, ours, sizeof(ours) - 1);
	file_close(f);
	return is;
}

static int probe(const struct file *f, const char *path)
{
	static const char head[] = "[hwtrace]\n";

	if (f)
		return f->size >= sizeof(head) - 1 && !memcmp(f->p, head, sizeof(head) - 1) ? 2 : 0;
	if (exists(path, NATIVE_INI, S_IFREG))
		return 2;
	return (exists(path, "hw", S_IFDIR) && exists(path, "kernel", S_IFDIR)) ||
		only_kernel(path);
}

/* What filters may name: events of both folders. */
static int all_own(struct native *n)
{
	size_t all = n->own.nevents + n->dirty.nevents;
	struct hwt_abi_own *v = all ? arena_alloc(&n->c->arena, all * sizeof(*v)) : NULL;

	n->c->contexts = n->own.contexts;
	if (!all)
		return 0;
	if (!v)
		return -ENOMEM;
	if (n->own.nevents)
		memcpy(v, n->own.events, n->own.nevents * sizeof(*v));
	if (n->dirty.nevents)
		memcpy(v + n->own.nevents, n->dirty.events, n->dirty.nevents * sizeof(*v));
	n->c->own = v;
	n->c->nown = (unsigned)all;
	return 0;
}

static void free_native(struct capture *c)
{
	struct native *n = c->priv;

	time_fit_free(&n->dirty_fit);
}

static int open_native(struct capture *c, struct file *f, const char *path,
		       const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	const char *slash = strrchr(path, '/');
	struct native *n = arena_alloc(&c->arena, sizeof(*n));
	int rc;

	c->format = "native";
	c->scope.bits = HWT_SCOPE_STATED;
	if (!n) {
		file_close(f);
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	}
	n->c = c;
	c->priv = n;
	c->free_priv = free_native;
	n->dirty_src = UINT32_MAX;
	n->dir = path;
	if (f)
		n->dir = !slash ? "." : arena_strn(&c->arena, path, (size_t)(slash - path) +
						   (slash == path));
	/* named by its hwtrace.ini: read from the directory like the rest */
	file_close(f);
	for (size_t i = 0; i < NATIVE_MAX_BUFS; i++)
		n->buf_of[i] = -1;
	n->kernel = n->dir && !exists(n->dir, NATIVE_INI, S_IFREG) && only_kernel(n->dir) ? "" :
		"kernel";
	n->ini_path = n->dir ? native_path(n, "", NATIVE_INI) : NULL;
	rc = n->ini_path ? 0 : -ENOMEM;
	if (!rc && !probe(NULL, n->dir))
		return diag_set(diag, -HWT_E_FORMAT, 2, path, HWT_NO_OFF,
				"no native capture: there is neither hwtrace.ini nor hw/ and "
				"kernel/, nor is it the latter");
	if (!rc)
		rc = read_all(n);
	if (rc < 0)
		return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	if (n->nstreams && all_own(n))
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	if (n->nstreams) {
		c->events = native_events;
		c->kernel = native_kernel;
		c->event_name = native_event_name;
		c->event_text = native_event_text;
		c->dirty_name = native_dirty_name;
		c->dirty_text = native_dirty_text;
		c->dirty_field = native_dirty_field;
	}
	if (n->nstreams && n->own.nctx) {
		c->context_text = native_context_text;
		c->context_field = native_context_field;
	}
	return 0;
}

const struct source source_native = {
	.name = "native", .what = "native capture of hwtrace (directory with hwtrace.ini)",
	.probe = probe, .open = open_native,
};
