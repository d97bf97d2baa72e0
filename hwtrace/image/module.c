/* SPDX-License-Identifier: BSD-2-Clause */
/* From the path that a recorder saw to the file that is here now. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/crc.h"
#include "priv.h"

#define PATH_SIZE 4096		/* bytes; a longer path can not be opened */
#define DELETED " (deleted)"	/* what the kernel appends to the path of an unlinked file */

bool module_is_file(const char *path)
{
	static const char *const pseudo[] = {
		"[", "//anon", "anon_inode:", "/memfd:", "/dev/", "/SYSV", "/anon_hugepage",
		"/proc/", "/sys/", "socket:", "pipe:"
	};

	for (size_t i = 0; i < sizeof(pseudo) / sizeof(pseudo[0]); i++)
		if (!strncmp(path, pseudo[i], strlen(pseudo[i])))
			return false;
	return *path != 0;
}

static unsigned hash_path(const char *s)
{
	uint32_t h = 5381;

	for (; *s; s++)
		h = h * 33 + (uint8_t)*s;
	return (h ^ h >> 15) % MODULE_HASH;
}

/* Recorders pad shorter ids to 20 bytes with zeros. */
static bool same_id(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	uint8_t x[20] = { 0 }, y[20] = { 0 };

	memcpy(x, a, na < 20 ? na : 20);
	memcpy(y, b, nb < 20 ? nb : 20);
	return !memcmp(x, y, sizeof(x));
}

static bool all_zero(const uint8_t *id, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (id[i])
			return false;
	return true;
}

/* A map without build-id gets what was said of its path; one path may be several files in time. */
struct module *module_get(struct hwt_image *img, const char *path, unsigned kind,
			  const uint8_t *id, size_t id_size)
{
	struct module **head = &img->mods[hash_path(path)], *m;

	if (id_size && all_zero(id, id_size))
		id_size = 0;
	for (m = *head; m; m = m->next) {
		if (m->kind != kind || strcmp(m->path, path))
			continue;
		if (!id_size || same_id(m->id, m->id_size, id, id_size))
			return m;
	}
	m = arena_alloc(&img->arena, sizeof(*m));
	if (!m)
		return NULL;
	m->path = arena_str(&img->arena, path);
	if (!m->path)
		return NULL;
	m->kind = (uint8_t)kind;
	m->id_size = (uint8_t)(id_size < sizeof(m->id) ? id_size : sizeof(m->id));
	if (id_size)
		memcpy(m->id, id, m->id_size);
	m->next = *head;
	*head = m;
	return m;
}

int image_set_build_id(struct hwt_image *img, const char *path, const uint8_t *id, size_t n)
{
	if (!n || n > 20 || all_zero(id, n))
		return n > 20 ? -EINVAL : 0;
	for (struct module *m = img->mods[hash_path(path)]; m; m = m->next) {
		if (m->kind != MODULE_MAPPED || m->tried || m->id_size || strcmp(m->path, path))
			continue;
		memcpy(m->id, id, n);
		m->id_size = (uint8_t)n;
		return 0;
	}
	return module_get(img, path, MODULE_MAPPED, id, n) ? 0 : -ENOMEM;
}

static const char *hex(char *buf, const uint8_t *id, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sprintf(buf + 2 * i, "%02x", id[i]);
	buf[2 * n] = 0;
	return buf;
}

int module_file(struct file **out, const char *path, struct hwt_diag *diag)
{
	struct stat st;
	int rc;

	/* opening a device can do things to it; so look before */
	if (!stat(path, &st) && !S_ISREG(st.st_mode))
		return diag_set(diag, -EINVAL, 1, path, HWT_NO_OFF, "this is not a regular file");
	/* "-" would be standard input */
	if (!strcmp(path, "-"))
		path = "./-";
	rc = file_open(out, path, diag);
	if (!rc && (*out)->fd >= 0) {
		/* the bytes stay; a system with many libraries would run out of descriptors */
		close((*out)->fd);
		(*out)->fd = -1;
	}
	return rc;
}

/* True if the file is the one of the recorded build-id, as far as that is known. */
static bool id_fits(struct hwt_image *img, const struct module *m, struct obj *o,
		    const char *path, bool strict)
{
	uint8_t id[20];
	char want[41], have[41];
	size_t n = o ? obj_build_id(o, id) : 0;

	if (!m->id_size)
		return !strict;
	if (n && same_id(m->id, m->id_size, id, n))
		return true;
	if (!strict)
		notes_add(img->ns, HWT_NOTE_WARN, 91, path, HWT_NO_OFF,
			  "this is not the binary that ran: recorded build-id %s, file has %s",
			  hex(want, m->id, m->id_size), n ? hex(have, id, n) : "none");
	return false;
}

/* @strict: only with a proof that it is the right file. */
static bool try_path(struct hwt_image *img, struct module *m, const char *path, bool strict)
{
	struct file *f;
	struct obj *o = NULL;

	if (module_file(&f, path, NULL) < 0)
		return false;
	/* a dump may be taken from an ELF file: its bytes go by file offset, its names are used */
	obj_open(&o, f->p, f->size, path, NULL, NULL);
	if (m->kind != MODULE_RAW && !id_fits(img, m, o, path, strict))
		goto no;
	m->found = arena_str(&img->arena, path);
	if (!m->found)
		goto no;
	if (m->kind != MODULE_RAW && o && obj_relocatable(o))
		notes_add(img->ns, HWT_NOTE_WARN, 99, path, HWT_NO_OFF,
			  "a relocatable object is not the code that ran; its bytes are not used");
	m->file = f;
	m->obj = o;
	return true;
no:
	obj_close(o);
	file_close(f);
	return false;
}

static bool try_in(struct hwt_image *img, struct module *m, const char *dir, const char *path,
		   bool strict)
{
	char buf[PATH_SIZE];

	if (!dir || snprintf(buf, sizeof(buf), "%s/%s", dir, path) >= (int)sizeof(buf))
		return false;
	return try_path(img, m, buf, strict);
}

/* debuginfod's client cache, and the build-id folders of perf: both are named by content. */
static bool try_cache(struct hwt_image *img, struct module *m)
{
	static const char *const forms[] = {
		"%.2s%s/executable", ".build-id/%.2s/%s/elf", ".build-id/%.2s/%s/vdso"
	};
	char id[41], name[80];
	size_t n = m->id_size;

	if (!img->cache || m->id_size < 2)
		return false;
	/* padding is no part of the name */
	while (n > 8 && !m->id[n - 1])
		n--;
	hex(id, m->id, n);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		snprintf(name, sizeof(name), forms[i], id, id + 2);
		if (try_in(img, m, img->cache, name, true))
			return true;
	}
	return false;
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* "[vdso]" has no file of its own; distributions install it as vdso64.so or the like. */
bool module_same_name(const char *recorded, const char *user)
{
	if (!strncmp(recorded, "[vdso", 5))
		return strstr(base_name(user), "vdso") != NULL;
	return module_is_file(recorded) && !strcmp(base_name(recorded), base_name(user));
}

/* Files that the user named without address, by build-id; by name only if none was recorded. */
static bool try_offers(struct hwt_image *img, struct module *m)
{
	for (unsigned i = 0; i < img->noffers; i++) {
		const char *path = img->offers[i]->path;

		if (m->id_size ? try_path(img, m, path, true) :
		    module_same_name(m->path, path) && try_path(img, m, path, false)) {
			img->offers[i]->stands_in = true;
			return true;
		}
	}
	/* the right name and another build: said here, as the search goes on elsewhere */
	for (unsigned i = 0; i < img->noffers; i++)
		if (module_same_name(m->path, img->offers[i]->path))
			id_fits(img, m, img->offers[i]->obj, img->offers[i]->path, false);
	return false;
}

int image_add_copy(struct hwt_image *img, const struct image_copy *c)
{
	struct copy **head = &img->copies[hash_path(c->path)];
	struct copy *k = arena_alloc(&img->arena, sizeof(*k));

	if (!k || c->id_size > sizeof(k->id))
		return k ? -EINVAL : -ENOMEM;
	k->path = arena_str(&img->arena, c->path);
	k->file = arena_str(&img->arena, c->file);
	if (!k->path || !k->file)
		return -ENOMEM;
	k->size = c->size;
	k->crc = c->crc;
	k->id_size = c->id_size;
	if (c->id_size)
		memcpy(k->id, c->id, c->id_size);
	k->next = *head;
	*head = k;
	return 0;
}

/* The bytes that were copied, and no others. */
static bool copy_whole(struct hwt_image *img, struct copy *k)
{
	struct hwt_diag d = { .text = "" };
	struct file *f;

	if (k->checked)
		return k->good;
	k->checked = true;
	if (module_file(&f, k->file, &d) < 0) {
		notes_add(img->ns, HWT_NOTE_CUT, 145, k->file, HWT_NO_OFF, "copy of %.100s: %.100s",
			  k->path, d.text);
		return false;
	}
	k->good = f->size == k->size && crc32c_add(0, f->p, (size_t)f->size) == k->crc;
	if (!k->good)
		notes_add(img->ns, f->size < k->size ? HWT_NOTE_CUT : HWT_NOTE_WARN, 145, k->file,
			  f->size < k->size ? f->size : HWT_NO_OFF,
			  "copy of %.150s: %s", k->path, f->size == k->size ? "wrong checksum" :
			  "another size than it had");
	file_close(f);
	return k->good;
}

static bool try_copies(struct hwt_image *img, struct module *m)
{
	for (struct copy *k = img->copies[hash_path(m->path)]; k && !m->copied; k = k->next)
		if (!strcmp(k->path, m->path) && (!m->id_size || !k->id_size ||
		    same_id(m->id, m->id_size, k->id, k->id_size)) && copy_whole(img, k) &&
		    try_path(img, m, k->file, false))
			m->copied = true;
	return m->copied;
}

static bool search(struct hwt_image *img, struct module *m)
{
	size_t len = strlen(m->path), cut = strlen(DELETED);
	char kept[PATH_SIZE];

	if (m->user && try_path(img, m, m->user->path, false)) {
		m->user->stands_in = true;
		return true;
	}
	if (m->kind != MODULE_RAW && try_offers(img, m))
		return true;
	if (try_copies(img, m))
		return true;
	if (!module_is_file(m->path))
		return m->kind != MODULE_RAW && try_cache(img, m);
	if (m->kind != MODULE_RAW && try_in(img, m, img->sysroot, m->path, false))
		return true;
	if (*m->path != '/' && img->base && try_in(img, m, img->base, m->path, false))
		return true;
	if ((*m->path == '/' || !img->base) && try_path(img, m, m->path, false))
		return true;
	if (m->kind == MODULE_RAW)
		return false;
	if (try_cache(img, m))
		return true;
	/* another file may have taken the name, so here only a build-id convinces */
	if (len <= cut || len >= sizeof(kept) || strcmp(m->path + len - cut, DELETED))
		return false;
	snprintf(kept, sizeof(kept), "%.*s", (int)(len - cut), m->path);
	return try_in(img, m, img->sysroot, kept, true) || try_path(img, m, kept, true);
}

bool module_find(struct hwt_image *img, struct module *m)
{
	if (!m->tried) {
		m->tried = true;
		search(img, m);
	}
	return m->file && !(m->kind != MODULE_RAW && m->obj && obj_relocatable(m->obj));
}

bool module_open(struct hwt_image *img, struct module *m)
{
	bool found = module_find(img, m);

	if (!m->file && !m->noted && module_is_file(m->path)) {
		m->noted = true;
		notes_add(img->ns, HWT_NOTE_WARN, 93, m->path, HWT_NO_OFF, "code file not found");
	}
	return found;
}

/* A reader may have told the build-id of a file that it then names with its address. */
static int check_told_id(struct hwt_image *img, struct module *m, struct hwt_diag *diag)
{
	char want[41], have[41];
	struct module *told;
	uint8_t id[20];
	size_t n = obj_build_id(m->obj, id);

	for (told = img->mods[hash_path(m->path)]; told; told = told->next)
		if (told->kind == MODULE_MAPPED && told->id_size && !strcmp(told->path, m->path))
			break;
	/* 4 bytes are the CRC that debuggers use where there is no build-id */
	if (!told || (n ? same_id(told->id, told->id_size, id, n) : told->id_size == 4))
		return 0;
	return diag_set(diag, -HWT_E_FORMAT, 91, m->path, HWT_NO_OFF,
			"this is not the binary that ran: recorded build-id %s, file has %s",
			hex(want, told->id, told->id_size), n ? hex(have, id, n) : "none");
}

int module_user(struct hwt_image *img, struct module **out, const char *path,
		struct hwt_diag *diag)
{
	struct module *m = module_get(img, path, MODULE_USER, NULL, 0);
	int rc;

	if (!m)
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	if (!m->file) {
		m->tried = true;
		m->found = m->path;
		rc = module_file(&m->file, path, diag);
		if (rc)
			return rc;
	}
	if (!m->obj) {
		rc = obj_open(&m->obj, m->file->p, m->file->size, path, img->ns, diag);
		if (rc)
			return rc;
	}
	rc = check_told_id(img, m, diag);
	if (rc)
		return rc;
	*out = m;
	return 0;
}

static bool try_debug(struct hwt_image *img, struct module *m, const uint8_t *id, size_t n,
		      const char *dir, const char *path)
{
	char buf[PATH_SIZE];
	uint8_t have[20];
	size_t k;

	if (!dir || snprintf(buf, sizeof(buf), "%s/%s", dir, path) >= (int)sizeof(buf))
		return false;
	if (m->found && !strcmp(buf, m->found))
		return false;
	if (module_file(&m->debug, buf, NULL) < 0)
		return false;
	if (!obj_open(&m->debug_obj, m->debug->p, m->debug->size, buf, NULL, NULL)) {
		k = obj_build_id(m->debug_obj, have);
		/* without a build-id on both sides the CRC of .gnu_debuglink was compared */
		if (n ? k && same_id(id, n, have, k) : !k)
			return true;
		obj_close(m->debug_obj);
		m->debug_obj = NULL;
	}
	file_close(m->debug);
	m->debug = NULL;
	return false;
}

/* Places by build-id: the distribution's folder under each root, and debuginfod's cache. */
static bool debug_by_id(struct hwt_image *img, struct module *m, const uint8_t *id, size_t n)
{
	char h[41], name[120];

	if (n < 2)
		return false;
	hex(h, id, n);
	snprintf(name, sizeof(name), "usr/lib/debug/.build-id/%.2s/%s.debug", h, h + 2);
	if (try_debug(img, m, id, n, img->sysroot, name) || try_debug(img, m, id, n, "", name))
		return true;
	snprintf(name, sizeof(name), "%s/debuginfo", h);
	return try_debug(img, m, id, n, img->cache, name);
}

/* Beside the file, in .debug beside it, and under /usr/lib/debug with the file's own path. */
static bool debug_by_link(struct hwt_image *img, struct module *m, const uint8_t *id, size_t n)
{
	uint32_t crc;
	const char *link = obj_debuglink(m->obj, &crc), *slash = strrchr(m->found, '/');
	char dir[PATH_SIZE], name[PATH_SIZE], own[PATH_SIZE];

	/* the name comes from the file: it may not lead elsewhere */
	if (!link || !*link || strchr(link, '/'))
		return false;
	snprintf(dir, sizeof(dir), "%.*s", slash ? (int)(slash - m->found) : 1,
		 slash ? m->found : ".");
	if (snprintf(name, sizeof(name), ".debug/%s", link) >= (int)sizeof(name))
		return false;
	slash = strrchr(m->path, '/');
	if (snprintf(own, sizeof(own), "usr/lib/debug%.*s/%s",
		     slash ? (int)(slash - m->path) : 0, m->path, link) >= (int)sizeof(own))
		return false;
	if (try_debug(img, m, id, n, dir, link) || try_debug(img, m, id, n, dir, name) ||
	    try_debug(img, m, id, n, img->sysroot, own) || try_debug(img, m, id, n, "", own)) {
		if (n || crc32_add(0, m->debug->p, m->debug->size) == crc)
			return true;
		obj_close(m->debug_obj);
		file_close(m->debug);
		m->debug_obj = NULL;
		m->debug = NULL;
	}
	return false;
}

/* A dump's bytes are never replaced, but names may come from a file that the user gave. */
static bool debug_by_user(struct hwt_image *img, struct module *m, const uint8_t *id, size_t n)
{
	for (unsigned i = 0; m->kind == MODULE_RAW && i < img->noffers; i++) {
		const char *path = img->offers[i]->path;

		if ((n || module_same_name(m->path, path)) &&
		    try_debug(img, m, id, n, *path == '/' ? "" : ".", path)) {
			img->offers[i]->stands_in = true;
			return true;
		}
	}
	return false;
}

struct obj *module_debug(struct hwt_image *img, struct module *m)
{
	uint8_t id[20];
	size_t n;

	if (m->debug_tried || !m->obj)
		return m->debug_obj;
	m->debug_tried = true;
	n = obj_build_id(m->obj, id);
	if (!debug_by_user(img, m, id, n) && !debug_by_id(img, m, id, n))
		debug_by_link(img, m, id, n);
	return m->debug_obj;
}

void module_free_all(struct hwt_image *img)
{
	for (size_t i = 0; i < MODULE_HASH; i++) {
		for (struct module *m = img->mods[i]; m; m = m->next) {
			free(m->syms.v);
			dwarf_close(m->dwarf);
			obj_close(m->obj);
			obj_close(m->debug_obj);
			file_close(m->file);
			file_close(m->debug);
		}
	}
}
