/* SPDX-License-Identifier: BSD-2-Clause */
/* Which reader a path is for, and what is the same for all of them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "../image/image.h"
#include "capture.h"

static const struct source *const sources[] = {
	&source_perf, &source_snapshot, &source_lldb, &source_native, &source_ctf, &source_ftrace,
	&source_pt, &source_cs,
};
#define NSOURCES (sizeof(sources) / sizeof(sources[0]))

const struct source *source_at(unsigned i)
{
	return i < NSOURCES ? sources[i] : NULL;
}

static const struct source *by_name(const char *name)
{
	for (unsigned i = 0; i < NSOURCES; i++)
		if (!strcmp(sources[i]->name, name))
			return sources[i];
	return NULL;
}

/*
 * The surest of them; of equally sure ones the first. Those that have no mark to go by look at much
 * of the file, so they are not asked where another one said yes.
 */
static const struct source *by_content(const struct file *f, const char *path)
{
	const struct source *best = NULL;
	int sure = 0;

	for (unsigned i = 0; i < NSOURCES && sure < 2; i++) {
		int n = sources[i]->probe(f, path);

		if (n <= sure)
			continue;
		sure = n;
		best = sources[i];
	}
	return best;
}

/* A directory that is none; published captures often have theirs in a folder "in". */
static int unknown_dir(const char *path, struct hwt_diag *diag)
{
	const struct source *src = NULL;
	char below[4096];
	struct stat st;

	if (snprintf(below, sizeof(below), "%s/in", path) < (int)sizeof(below) &&
	    !stat(below, &st) && S_ISDIR(st.st_mode))
		src = by_content(NULL, below);
	if (src)
		return diag_set(diag, -HWT_E_FORMAT, 2, path, HWT_NO_OFF,
				"this directory is no capture, but its folder in/ is one (%s): "
				"name that", src->name);
	return diag_set(diag, -HWT_E_FORMAT, 2, path, HWT_NO_OFF,
			"a directory without snapshot.ini or an .ini with [trace] (snapshot), "
			"trace.json (LLDB), data (perf record with --threads or --kcore), "
			"hwtrace.ini (native), metadata (CTF), or events and per_cpu (tracefs)");
}

static int unknown(const struct file *f, const char *path, const char *as, struct hwt_diag *diag)
{
	char names[128] = "";
	size_t n = 0;

	if (!as && !f)
		return unknown_dir(path, diag);
	if (!as && f->size >= 4 && !memcmp(f->p, "\x7f" "ELF", 4))
		return diag_set(diag, -HWT_E_FORMAT, 6, path, HWT_NO_OFF,
				"this is a program, not a capture: give it with --elf");
	if (!as)
		return diag_set(diag, -HWT_E_FORMAT, f->size ? 2 : 5, path, HWT_NO_OFF,
				f->size ? "its content is of no format known here" :
				"the file is empty");
	for (unsigned i = 0; i < NSOURCES && n < sizeof(names); i++)
		n += (size_t)snprintf(names + n, sizeof(names) - n, " %s", sources[i]->name);
	return diag_set(diag, -EINVAL, 2, path, HWT_NO_OFF,
			"there is no format \"%.60s\"; known are:%s", as, names);
}

static int user_code(struct capture *c, const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	int rc = 0;

	for (size_t i = 0; i < o->nelfs && rc >= 0; i++)
		rc = image_add_elf(c->image, HWT_NONE, o->elfs[i].path, o->elfs[i].addr, diag);
	if (rc >= 0 && o->kcore)
		rc = image_add_kcore(c->image, o->kcore, diag);
	if (rc >= 0 && o->kallsyms)
		rc = image_add_kallsyms(c->image, o->kallsyms, diag);
	if (rc >= 0) {
		rc = image_add_jit(c->image, o->perf_map_dir, c->clock);
		if (rc < 0)
			diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "out of memory");
	}
	return rc < 0 ? rc : 0;
}

/* Takes @f, also on failure. */
static int read_with(struct capture **out, const struct source *src, struct file *f,
		     const char *path, const struct hwt_open_opts *o, struct hwt_diag *diag)
{
	uint64_t size = f ? f->size : 0;
	struct capture *c = NULL;
	int rc = capture_new(&c);

	if (!rc)
		rc = image_set_opts(c->image, o);
	if (!rc) {
		c->format = src->name;
		c->path = arena_str(&c->arena, path);
	}
	if (rc || !c->path) {
		file_close(f);
		capture_free(c);
		return diag_set(diag, rc ? rc : -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	}
	if (!strcmp(path, "-"))
		capture_fact(c, "spooled", "%llu bytes, from standard input to a file without a "
			     "name", (unsigned long long)size);
	rc = src->open(c, f, path, o, diag);
	if (rc >= 0)
		rc = user_code(c, o, diag);
	if (rc < 0) {
		capture_free(c);
		return rc;
	}
	*out = c;
	return 0;
}

int source_open(struct capture **out, const char *path, const struct hwt_open_opts *o,
	struct hwt_diag *diag)
{
	const struct source *src = o->as ? by_name(o->as) : NULL;
	struct file *f = NULL;
	struct stat st;
	bool dir = strcmp(path, "-") && !stat(path, &st) && S_ISDIR(st.st_mode);
	int rc;

	if (o->as && !src)
		return unknown(NULL, path, o->as, diag);
	if (!dir) {
		rc = file_open(&f, path, diag);
		if (rc)
			return rc;
	}
	if (!src)
		src = by_content(f, path);
	if (!src) {
		rc = unknown(f, path, NULL, diag);
		file_close(f);
		return rc;
	}
	return read_with(out, src, f, path, o, diag);
}
