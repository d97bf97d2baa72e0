/* SPDX-License-Identifier: BSD-2-Clause */
/* Foreign CTF 1.8 (LTTng and others): directories with a file "metadata". */
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/strlist.h"
#include "ctf.h"

#define MAX_DIRS	1024		/* traces below the path */
#define MAX_LOOKED	16384		/* directories */
#define MAX_PROBED	64		/* of them, while the format is not known */
#define MAX_METADATA	(16ull << 20)	/* bytes; the library keeps all of it in memory */
#define EVENTS_FREE	65536		/* for traces of no size */

/* Packets of a description begin with this number, in either byte order; CTF 1.8 section 7.1. */
#define META_MAGIC	0x75d11d57u

static int is_metadata(const struct file *f)
{
	static const char head[] = "/* CTF 1.";
	uint32_t magic;

	if (f->size < sizeof(head))
		return 0;
	memcpy(&magic, f->p, sizeof(magic));
	return !memcmp(f->p, head, sizeof(head) - 1) || magic == META_MAGIC ||
		magic == __builtin_bswap32(META_MAGIC);
}

static bool has_metadata(const char *dir, uint64_t *size)
{
	char path[4096];
	struct stat st;

	if (snprintf(path, sizeof(path), "%s/metadata", dir) >= (int)sizeof(path) ||
	    stat(path, &st) || !S_ISREG(st.st_mode))
		return false;
	*size = (uint64_t)st.st_size;
	return true;
}

/* --- directories --- */

/* Adds the folders of @dir, by name; without links, which may go round. */
static int add_below(struct strlist *d, const char *dir, uint64_t *bytes)
{
	DIR *s = opendir(dir);
	size_t first = d->n;
	struct dirent *e;
	struct stat st;
	char *path;
	int rc = !s && errno == ENOMEM ? -ENOMEM : 0;

	while (s && !rc && d->n < MAX_LOOKED && (e = readdir(s))) {
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (asprintf(&path, "%s/%s", dir, e->d_name) < 0) {
			rc = -ENOMEM;
			break;
		}
		if (lstat(path, &st))
			st.st_mode = 0;
		if (S_ISDIR(st.st_mode))
			rc = strlist_add(d, path);
		else if (S_ISREG(st.st_mode))
			*bytes += (uint64_t)st.st_size;
		free(path);
	}
	if (s)
		closedir(s);
	strlist_sort(d, first);
	return rc;
}

/* @dir from / on, without ".", ".." and doubled "/": by its text, links are not looked at. */
static const char *plain_path(struct arena *a, const char *dir)
{
	char at[PATH_MAX], out[2 * PATH_MAX], *from, *part;
	size_t n = 0;

	if (*dir == '/')
		*at = 0;
	else if (!getcwd(at, sizeof(at)))
		return dir;
	if (strlen(at) + strlen(dir) + 2 > sizeof(out))
		return dir;
	from = arena_alloc(a, strlen(at) + strlen(dir) + 2);
	if (!from)
		return NULL;
	sprintf(from, "%s/%s", at, dir);
	for (part = strtok_r(from, "/", &from); part; part = strtok_r(NULL, "/", &from)) {
		if (!strcmp(part, "."))
			continue;
		if (strcmp(part, ".."))
			n += (size_t)sprintf(out + n, "/%s", part);
		else
			while (n && out[--n] != '/')
				;
	}
	return arena_strn(a, out, n);
}

static int add_trace_dir(struct ctf *x, const char *dir, uint64_t size)
{
	if (size > MAX_METADATA) {
		notes_add(&x->c->notes, HWT_NOTE_CUT, E_CTF_LIMIT, dir, HWT_NO_OFF,
			  "its metadata has more than 16 MiB");
		return 0;
	}
	if (x->ndirs == MAX_DIRS)
		return 0;
	x->dirs[x->ndirs] = arena_str(&x->c->arena, dir);
	x->plain[x->ndirs] = plain_path(&x->c->arena, dir);
	if (!x->dirs[x->ndirs] || !x->plain[x->ndirs])
		return -ENOMEM;
	x->ndirs++;
	return 0;
}

/*
 * Calls @trace for the traces at @path, itself or all below it, until it returns other than 0;
 * looks at @max directories. @bytes: of their files.
 */
static int find(const char *path, size_t max, uint64_t *bytes,
		int (*trace)(struct ctf *x, const char *dir, uint64_t size), struct ctf *x)
{
	struct strlist d = { 0 };
	uint64_t size, other = 0;
	int rc = strlist_add(&d, path);

	for (size_t i = 0; i < d.n && i < max && !rc; i++) {
		bool is = has_metadata(d.v[i], &size);
		size_t n = d.n;

		rc = add_below(&d, d.v[i], is ? bytes : &other);
		if (!rc && is)
			rc = trace(x, d.v[i], size);
		/* what is in a trace (index/) is no other one */
		if (is)
			strlist_cut(&d, n);
	}
	strlist_free(&d);
	return rc;
}

static int found(struct ctf *x, const char *dir, uint64_t size)
{
	return 1;
}

static int probe(const struct file *f, const char *path)
{
	const char *base = strrchr(path, '/');
	uint64_t bytes = 0;

	/* without the library our own kernel/ goes to the reader that needs none */
	if (!f && has_metadata(path, &bytes))
		return ctf_lib_here() ? 2 : 1;
	if (!f)
		return find(path, MAX_PROBED, &bytes, found, NULL) == 1;
	return !strcmp(base ? base + 1 : path, "metadata") && is_metadata(f) ? 2 : 0;
}

/* --- opening --- */

static void free_ctf(struct capture *c)
{
	struct ctf *x = c->priv;

	free(x->traces);
	free(x->streams);
	free(x->classes);
}

static int read_all(struct ctf *x, const char *path, struct hwt_diag *diag)
{
	struct capture *c = x->c;
	uint64_t bytes = 0;
	int rc = find(path, MAX_LOOKED, &bytes, add_trace_dir, x);

	if (rc)
		return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	if (!x->ndirs && c->notes.n)
		return diag_set(diag, -HWT_E_FORMAT, E_CTF_LIMIT, path, HWT_NO_OFF,
				"no trace that can be read: %.200s", c->notes.v[0].diag.text);
	if (!x->ndirs)
		return diag_set(diag, -HWT_E_FORMAT, 2, path, HWT_NO_OFF,
				"no CTF trace: there is no file metadata in it or below it");
	if (!ctf_lib_here())
		return diag_set(diag, -HWT_E_LIB, E_CTF_NO_LIB, path, HWT_NO_OFF,
				"this is a CTF trace, and this hwtrace was built without "
				"libbabeltrace2");
	c->other_size = bytes;
	/* each event takes a bit at least */
	x->max_events = bytes > UINT64_MAX / 8 - EVENTS_FREE ? UINT64_MAX :
		bytes * 8 + EVENTS_FREE;
	return ctf_scan(x, diag);
}

static int open_ctf(struct capture *c, struct file *f, const char *path,
		    const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	const char *slash = f ? strrchr(path, '/') : NULL;
	struct ctf *x = arena_alloc(&c->arena, sizeof(*x));
	int rc;

	c->format = "ctf";
	/* named by its metadata: read from the directory like the rest */
	if (f && x)
		path = slash ? arena_strn(&c->arena, path, (size_t)(slash - path) +
					  (slash == path)) : ".";
	file_close(f);
	if (!x || !path || !(x->dirs = arena_alloc(&c->arena, MAX_DIRS * sizeof(*x->dirs))) ||
	    !(x->plain = arena_alloc(&c->arena, MAX_DIRS * sizeof(*x->plain))))
		return diag_set(diag, -ENOMEM, 3, c->path, HWT_NO_OFF, "out of memory");
	x->c = c;
	c->priv = x;
	c->free_priv = free_ctf;
	rc = read_all(x, path, diag);
	if (rc < 0)
		return rc;
	c->events = ctf_events;
	c->event_name = ctf_event_name;
	c->event_text = ctf_event_text;
	c->kernel = ctf_kernel;
	c->names_unread = true;
	c->dirty_name = ctf_dirty_name;
	c->dirty_text = ctf_dirty_text;
	c->dirty_field = ctf_dirty_field;
	return 0;
}

const struct source source_ctf = {
	.name = "ctf", .what = "CTF 1.8 traces of LTTng and others (directory with metadata)",
	.probe = probe, .open = open_ctf,
};
