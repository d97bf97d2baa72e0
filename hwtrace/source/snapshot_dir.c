/* SPDX-License-Identifier: BSD-2-Clause */
/* A snapshot in the file system: found, and its files opened. */
#include "snapshot.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

#include "../base/ini.h"

static int get_file(const struct snapshot_dir *d, struct file **out, const char *name,
		    struct hwt_diag *diag)
{
	char path[4096];
	int n = snprintf(path, sizeof(path), "%s%s%s", *name == '/' ? "" : d->path,
			 *name == '/' ? "" : "/", name);

	if (n >= (int)sizeof(path) || !*name || !strcmp(name, "-"))
		return diag_set(diag, -ENAMETOOLONG, 1, name, HWT_NO_OFF, "no file name");
	return file_open(out, path, diag);
}

static int is_ini(const struct dirent *e)
{
	const char *dot = strrchr(e->d_name, '.');

	return dot && !strcasecmp(dot, ".ini");
}

static bool dir_has(const char *path, const char *name)
{
	char buf[4096];
	struct stat st;

	return snprintf(buf, sizeof(buf), "%s/%s", path, name) < (int)sizeof(buf) &&
		!stat(buf, &st) && S_ISREG(st.st_mode);
}

static bool has_text(const struct file *f, const char *what)
{
	size_t n = f->size < INI_MAX_FILE ? (size_t)f->size : INI_MAX_FILE;

	return n && memmem(f->p, n, what, strlen(what));
}

/* One *.ini with [trace] makes a directory a snapshot. */
static bool ini_with_trace(const char *path)
{
	struct dirent **v;
	bool found = false;
	int n = scandir(path, &v, is_ini, alphasort);

	for (int i = 0; i < n; i++) {
		struct snapshot_dir d = { .path = path };
		struct file *f;

		if (!found && !get_file(&d, &f, v[i]->d_name, NULL)) {
			found = has_text(f, "[trace]");
			file_close(f);
		}
		free(v[i]);
	}
	if (n >= 0)
		free(v);
	return found;
}

static int probe(const struct file *f, const char *path)
{
	if (f)
		return has_text(f, "[snapshot]") || has_text(f, "[device_list]") ? 2 : 0;
	return dir_has(path, "snapshot.ini") ? 2 : ini_with_trace(path) ? 1 : 0;
}

static int read_dir(struct capture *c, const char *path, struct hwt_diag *diag)
{
	struct snapshot_dir d = { .path = path, .get = get_file };
	struct dirent **v;
	const char **ini;
	int n = scandir(path, &v, is_ini, alphasort), rc = 0;

	if (n < 0) {
		rc = -errno;
		return diag_set(diag, rc, 1, path, HWT_NO_OFF, "can not read directory: %s",
				strerror(-rc));
	}
	ini = arena_alloc(&c->arena, (size_t)n * sizeof(*ini) + 1);
	for (int i = 0; i < n; i++) {
		if (ini)
			ini[i] = arena_str(&c->arena, v[i]->d_name);
		if (!ini || !ini[i])
			rc = -ENOMEM;
		free(v[i]);
	}
	free(v);
	if (rc)
		return diag_set(diag, rc, 3, path, HWT_NO_OFF, "out of memory");
	d.ini = ini;
	d.nini = (size_t)n;
	return snapshot_read(c, &d, diag);
}

static int open_snapshot(struct capture *c, struct file *f, const char *path,
			 const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	const char *slash = strrchr(path, '/');
	char *dir;

	c->format = "snapshot";
	dir = !f ? arena_str(&c->arena, path) : !slash ? arena_str(&c->arena, ".") :
		arena_strn(&c->arena, path, (size_t)(slash - path) + (slash == path));
	file_close(f);
	if (!dir)
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	return read_dir(c, dir, diag);
}

const struct source source_snapshot = {
	.name = "snapshot", .what = "OpenCSD or DS-5 snapshot directory (snapshot.ini)",
	.probe = probe, .open = open_snapshot,
};
