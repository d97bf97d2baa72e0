/* SPDX-License-Identifier: BSD-2-Clause */
/* Maps for perf, and the files that it reads code from. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../hwtrace/base/idmap.h"
#include "../../hwtrace/base/text.h"
#include "../../hwtrace/image/obj.h"
#include "export.h"

#define PAGE	4096u
#define INSN_MAX 15u		/* bytes of the longest x86 instruction */
#define OWN_DIR "/hwtrace"	/* in the directory of code: what had no file of its own */

struct counts {			/* what is told at the end, once */
	unsigned bytes, elsewhere, kernel, odd, changes, spaces;
	struct idmap pages;	/* to the newest change of bytes in each */
	struct idmap starts;	/* of pieces of bytes, to the first that begins there */
};

/* --- files --- */

static int fail(struct ex *e, int err, const char *path, const char *what)
{
	return diag_set(e->diag, -err, err == EEXIST ? 8 : 7, path, HWT_NO_OFF, "%s: %s", what,
			strerror(err));
}

/* All directories above the last component of @path. */
static int make_dirs(struct ex *e, char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		if (mkdir(path, 0777) < 0 && errno != EEXIST)
			return fail(e, errno, path, "directory can not be made");
		*p = '/';
	}
	return 0;
}

/* An absolute path that does not lead out of the directory it is put into: paths are input. */
static bool stays_inside(const char *path)
{
	for (const char *p = path; (p = strstr(p, "..")); p += 2)
		if ((p == path || p[-1] == '/') && (!p[2] || p[2] == '/'))
			return false;
	return *path == '/' && path[1];
}

static bool same_content(const char *path, const uint8_t *p, uint64_t n)
{
	struct file *f;
	bool same;

	if (file_open(&f, path, NULL) < 0)
		return false;
	same = f->size == n && (!n || !memcmp(f->p, p, (size_t)n));
	file_close(f);
	return same;
}

static int write_new(struct ex *e, const char *path, const uint8_t *p, uint64_t n)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), rc;
	struct sink *s;

	if (fd < 0 && errno == EEXIST) {
		if (same_content(path, p, n))
			return 0;
		if (!e->o->force)
			return fail(e, EEXIST, path, "another file is there");
		/* not opened for writing: it may be a link to the original */
		if (unlink(path) < 0)
			return fail(e, errno, path, "can not be replaced");
		fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
	}
	if (fd < 0)
		return fail(e, errno, path, "can not be made");
	s = calloc(1, sizeof(*s));
	if (!s) {
		close(fd);
		return ex_nomem(e);
	}
	s->fd = fd;
	s->stop = e->o->stop;
	sink_put(s, p, (size_t)n);
	rc = sink_flush(s);
	free(s);
	if (close(fd) < 0 && !rc)
		rc = -errno;
	if (!rc)
		return 0;
	unlink(path);
	return fail(e, -rc, path, "can not be written");
}

/* 1 if the file at @path was asked for before, else it is from now on; negative: no memory. */
static int written(struct ex *e, const char *path)
{
	const char **slot;

	for (size_t i = 0; i < e->files.n; i++)
		if (!strcmp(*list_at(&e->files, const char *, i), path))
			return 1;
	slot = vec_push(&e->files, sizeof(*slot));
	if (!slot)
		return ex_nomem(e);
	*slot = path;
	return 0;
}

/* @n bytes as the file @path of the directory of code. */
static int put_file(struct ex *e, const char *path, const uint8_t *p, uint64_t n)
{
	char full[8192];
	int rc;

	if (snprintf(full, sizeof(full), "%s%s", e->o->images, path) >= (int)sizeof(full))
		return fail(e, ENAMETOOLONG, path, "can not be made");
	rc = make_dirs(e, full);
	rc = rc ? rc : write_new(e, full, p, n);
	e->res->files += !rc;
	return rc;
}

/* --- maps --- */

static int add_map(struct ex *e, const struct image_change *h, int32_t pid, const char *path,
		   uint64_t file_off)
{
	struct ex_map *m;

	/* a record tells a length of 64 bits */
	if (!h->addr && h->last == UINT64_MAX)
		return 0;
	m = vec_push(&e->maps, sizeof(*m));
	if (!m || e->maps.n > UINT32_MAX)
		return ex_nomem(e);
	*m = (struct ex_map){ .time = h->time, .addr = h->addr, .last = h->last, .pid = pid,
		.file_off = file_off, .path = path, .id = h->id, .id_size = h->id_size,
		.seq = h->seq };
	e->res->maps++;
	return 0;
}

/* Code of all address spaces is told for each process. */
static int add_user(struct ex *e, const struct image_change *h, const char *path,
		    uint64_t file_off)
{
	int rc = 0;

	if (h->pid != HWT_NONE)
		return add_map(e, h, h->pid, path, file_off);
	for (size_t i = 0; i < e->pids.n && !rc; i++)
		rc = add_map(e, h, *list_at(&e->pids, int32_t, i), path, file_off);
	return rc;
}

/* Bytes of @h that its file holds. */
static uint64_t in_file(const struct image_change *h)
{
	uint64_t left = h->file && h->file_off < h->file->size ? h->file->size - h->file_off : 0;

	return h->last - h->addr < left ? h->last - h->addr + 1 : left;
}

/* Name of a file of our own for the code at an address; a number tells versions apart. */
static const char *own_path(struct ex *e, const struct image_change *h)
{
	char path[128];

	if (h->pid == HWT_NONE)
		snprintf(path, sizeof(path), OWN_DIR "/%s/%" PRIx64 "-%u.bin",
			 h->addr >= KERNEL_START ? "kernel" : "all", h->addr, h->seq);
	else
		snprintf(path, sizeof(path), OWN_DIR "/pid-%d/%" PRIx64 "-%u.bin", h->pid, h->addr,
			 h->seq);
	return arena_str(&e->arena, path);
}

/* @n bytes at @p and @more behind them as a file of their own, and the map of the @n. */
static int own_file(struct ex *e, const struct image_change *h, const uint8_t *p, uint64_t n,
		    unsigned more)
{
	const char *path = own_path(e, h);
	struct image_change cut = *h;
	int rc = path ? put_file(e, path, p, n + more) : ex_nomem(e);

	if (rc || !n)
		return rc;
	cut.last = h->addr + (n - 1);
	cut.id_size = 0;
	return h->addr < KERNEL_START ? add_user(e, &cut, path, 0) :
		add_map(e, &cut, HWT_NONE, path, 0);
}

/* 1 if @h hides the code that was told before for one of its pages; -ENOMEM. */
static int hides_code(struct ex *e, const struct image_change *h, struct idmap *pages)
{
	uint64_t last = h->last / PAGE;
	bool hides = false;

	for (uint64_t page = h->addr / PAGE; page <= last; page++) {
		uint64_t key = page ^ (uint64_t)(uint32_t)h->pid << 32;
		uint32_t i = idmap_get(pages, key);

		hides |= i != IDMAP_NONE && e->hist[i].pid == h->pid &&
			e->hist[i].addr <= h->last && e->hist[i].last >= h->addr;
		if (idmap_set(pages, key, h->seq))
			return -ENOMEM;
	}
	return hides;
}

static uint64_t start_key(const struct image_change *h, uint64_t addr)
{
	return addr ^ (uint64_t)(uint32_t)h->pid << 32;
}

static int note_starts(struct ex *e, struct idmap *starts)
{
	for (size_t i = 0; i < e->nhist; i++) {
		const struct image_change *h = &e->hist[i];
		uint64_t key = start_key(h, h->addr);

		if (h->kind == IMAGE_BYTES && idmap_get(starts, key) == IDMAP_NONE &&
		    idmap_set(starts, key, (uint32_t)i))
			return -ENOMEM;
	}
	return 0;
}

/* Bytes of the same address space that follow @h, INSN_MAX at most, to @to. */
static unsigned bytes_behind(const struct ex *e, const struct image_change *h,
			     const struct idmap *starts, uint8_t *to)
{
	const struct image_change *last = h;
	unsigned n = 0;

	while (n < INSN_MAX && last->last < UINT64_MAX) {
		uint32_t i = idmap_get(starts, start_key(h, last->last + 1));
		uint64_t size;

		if (i == IDMAP_NONE || e->hist[i].addr != last->last + 1 ||
		    e->hist[i].pid != h->pid || e->hist[i].space != h->space)
			break;
		last = &e->hist[i];
		size = last->last - last->addr + 1;
		size = size < INSN_MAX - n ? size : INSN_MAX - n;
		memcpy(to + n, last->bytes, (size_t)size);
		n += (unsigned)size;
	}
	return n;
}

/* An instruction may go on in the next piece, and perf reads it from one file. */
static int bytes_file(struct ex *e, const struct image_change *h, const struct idmap *starts)
{
	uint64_t n = h->last - h->addr + 1;
	uint8_t more[INSN_MAX], *p;
	unsigned k = bytes_behind(e, h, starts, more);
	int rc;

	if (!k)
		return own_file(e, h, h->bytes, n, 0);
	p = malloc((size_t)n + k);
	if (!p)
		return ex_nomem(e);
	memcpy(p, h->bytes, (size_t)n);
	memcpy(p + n, more, k);
	rc = own_file(e, h, p, n, k);
	free(p);
	return rc;
}

static int bytes(struct ex *e, const struct image_change *h, struct counts *n)
{
	int hides = hides_code(e, h, &n->pages);

	if (hides < 0)
		return ex_nomem(e);
	n->changes += (unsigned)hides;
	if (!e->o->images) {
		n->bytes++;
		return 0;
	}
	return bytes_file(e, h, &n->starts);
}

static size_t build_id(const struct file *f, uint8_t *id)
{
	struct obj *o;
	size_t n;

	if (obj_open(&o, f->p, (size_t)f->size, "", NULL, NULL) < 0)
		return 0;
	n = obj_build_id(o, id);
	obj_close(o);
	return n;
}

/*
 * True if perf finds the code of @h at the recorded path: the same file, a copy of it, or one of
 * the same build. A capture has copies of its own of what is still there.
 */
static bool in_place(const struct image_change *h)
{
	uint8_t id[20], was[20];
	struct stat x, y;
	struct file *f;
	size_t n;
	bool same;

	/* paths are input: what is no plain file is not opened, that could wait for ever */
	if (stat(h->path, &x) < 0 || !S_ISREG(x.st_mode))
		return false;
	if (!stat(h->found, &y) && x.st_dev == y.st_dev && x.st_ino == y.st_ino)
		return true;
	if (!h->file || file_open(&f, h->path, NULL) < 0)
		return false;
	same = f->size == h->file->size &&
		(!f->size || !memcmp(f->p, h->file->p, (size_t)f->size));
	n = same ? 0 : build_id(f, id);
	same = same || (n && n == build_id(h->file, was) && !memcmp(id, was, n));
	file_close(f);
	return same;
}

/* The path that the map gets: as recorded, or where the file is if that names no place. */
static const char *map_path(struct ex *e, const struct image_change *h, struct counts *n)
{
	char *real;
	const char *path = h->path;

	if (!h->found || stays_inside(path)) {
		n->elsewhere += h->found && !in_place(h);
		return path;
	}
	real = realpath(h->found, NULL);
	path = real ? arena_str(&e->arena, real) : h->found;
	free(real);
	return path;
}

static int file_map(struct ex *e, const struct image_change *h, struct counts *n)
{
	const char *path;
	int rc = 0;

	if (h->addr >= KERNEL_START && h->pid == HWT_NONE) {
		uint64_t size = in_file(h);

		/* perf reads what it takes for a kernel module from the start of its file */
		if (size && e->o->images)
			return own_file(e, h, h->file->p + h->file_off, size, 0);
		n->kernel += size != 0;
		return add_map(e, h, HWT_NONE, h->path, h->file_off);
	}
	path = map_path(e, h, n);
	if (!path)
		return ex_nomem(e);
	if (strlen(path) > 4095) {
		n->odd++;
		return 0;
	}
	if (h->file && e->o->images) {
		rc = stays_inside(path) ? written(e, path) : 0;
		n->odd += !stays_inside(path);
		if (!rc && stays_inside(path))
			rc = put_file(e, path, h->file->p, h->file->size);
	}
	return rc < 0 ? rc : add_user(e, h, path, h->file_off);
}

/* A place of the kernel's that is told with its bytes, too. */
static bool told_with_bytes(const struct ex *e, const struct image_change *name)
{
	for (size_t i = 0; i < e->nhist && e->o->images; i++) {
		const struct image_change *h = &e->hist[i];

		if (h->pid == HWT_NONE && (h->kind == IMAGE_BYTES ||
					   (h->kind == IMAGE_MAP && in_file(h))) &&
		    h->addr <= name->last && h->last >= name->addr)
			return true;
	}
	return false;
}

static int one(struct ex *e, const struct image_change *h, struct counts *n)
{
	n->spaces += h->space != 0;
	switch (h->kind) {
	case IMAGE_NAME:
		return told_with_bytes(e, h) ? 0 : add_map(e, h, HWT_NONE, h->path, h->file_off);
	case IMAGE_BYTES: return bytes(e, h, n);
	case IMAGE_MAP: return file_map(e, h, n);
	}
	/* forks and execs are told as tasks; that memory is gone matters to nothing that ran */
	return 0;
}

static void tell(struct ex *e, const struct counts *n)
{
	if (n->bytes)
		ex_note(e, E_EXPORT_CODE, "code recorded as bytes, in %u place%s, is not in the "
			"file", n->bytes, text_s(n->bytes));
	if (n->kernel)
		ex_note(e, E_EXPORT_CODE, "code of the kernel, in %u place%s, is not in the file",
			n->kernel, text_s(n->kernel));
	if (n->elsewhere && !e->o->images)
		ex_note(e, E_EXPORT_CODE, "%u map%s of a file that is not at its recorded place",
			n->elsewhere, n->elsewhere == 1 ? " is" : "s are");
	if (n->odd)
		ex_note(e, E_EXPORT_CODE, "%u recorded path%s no place below a directory", n->odd,
			n->odd == 1 ? " names" : "s name");
	if (n->changes)
		ex_note(e, E_EXPORT_CHANGES, "%u piece%s of code took the place of other code that "
			"ran", n->changes, text_s(n->changes));
	if (n->spaces)
		ex_note(e, E_EXPORT_PART, "%u map%s of one memory space: perf takes all spaces for "
			"one", n->spaces, n->spaces == 1 ? " is" : "s are");
	e->res->elsewhere = n->elsewhere != 0;
}

/* The directory of code is there even if no code is: the call of perf names it. */
static int images(struct ex *e)
{
	char full[8192];

	if (!e->o->images)
		return 0;
	if (snprintf(full, sizeof(full), "%s/", e->o->images) >= (int)sizeof(full))
		return fail(e, ENAMETOOLONG, e->o->images, "can not be made");
	return make_dirs(e, full);
}

int ex_code(struct ex *e)
{
	struct counts n = { 0 };
	int32_t pid, tid;
	int rc = images(e);

	for (size_t i = 0; i < machine_tasks(e->c->machine) && !rc; i++) {
		machine_task_at(e->c->machine, i, &pid, &tid);
		if (pid != HWT_NONE && pid == tid)
			rc = ex_add_pid(e, pid);
	}
	if (rc || image_history(e->c->image, &e->hist, &e->nhist) < 0)
		return ex_nomem(e);
	for (size_t i = 0; i < e->nhist; i++)
		e->hist[i].seq = (uint32_t)i;
	if (e->o->images && note_starts(e, &n.starts))
		rc = ex_nomem(e);
	for (size_t i = 0; i < e->nhist && !rc; i++)
		rc = one(e, &e->hist[i], &n);
	idmap_free(&n.pages);
	idmap_free(&n.starts);
	if (!rc)
		tell(e, &n);
	return rc;
}
