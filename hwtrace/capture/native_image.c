/* SPDX-License-Identifier: BSD-2-Clause */
/* Copies of files that code was mapped from. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/crc.h"
#include "../image/obj.h"
#include "../source/file.h"
#include "native_priv.h"

#define NEW "new"		/* name of a copy until it is whole */

/* Recorders pad shorter ids to 20 bytes with zeroes. */
static bool same_id(const uint8_t *a, size_t na, const uint8_t *b, size_t nb)
{
	uint8_t x[20] = { 0 }, y[20] = { 0 };

	if (!na || !nb)
		return na == nb;
	memcpy(x, a, na);
	memcpy(y, b, nb);
	return !memcmp(x, y, sizeof(x));
}

/* -1: no such copy. */
static int64_t find(const struct native_writer *w, const char *path, const uint8_t *id, size_t n)
{
	for (size_t i = 0; i < w->ncopies; i++) {
		const struct native_copy *c = &w->copies[i];

		if ((!path || !strcmp(c->path, path)) &&
		    (!n || same_id(c->id, c->id_size, id, n)))
			return (int64_t)i;
	}
	return -1;
}

/* Regular files only, and never one that may block. */
static int open_from(const char *from)
{
	struct stat st;
	int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), rc;

	if (fd < 0)
		return -errno;
	rc = fstat(fd, &st) ? -errno : S_ISREG(st.st_mode) ? 0 : -EINVAL;
	if (!rc)
		return fd;
	close(fd);
	return rc;
}

/* Reads @fd to its end into @o. A file that can not be read is no error that stays. */
static int copy(struct native_writer *w, struct native_out *o, int fd, uint32_t *crc)
{
	uint8_t buf[16384];

	for (*crc = 0;;) {
		ssize_t k = read(fd, buf, sizeof(buf));

		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return k ? -errno : 0;
		*crc = crc32c_add(*crc, buf, (size_t)k);
		if (native_write(w, o, buf, (size_t)k))
			return native_failed(w);
	}
}

/* The build-id that stands in the copy; its length, 0 if it has none. */
static size_t id_of(struct native_writer *w, uint8_t id[20])
{
	char path[4096];
	struct obj *o = NULL;
	struct file *f;
	size_t n = 0;

	if (snprintf(path, sizeof(path), "%s/images/" NEW, w->dir) >= (int)sizeof(path) ||
	    file_open(&f, path, NULL))
		return 0;
	if (!obj_open(&o, f->p, f->size, path, NULL, NULL))
		n = obj_build_id(o, id);
	obj_close(o);
	file_close(f);
	return n;
}

static int remember(struct native_writer *w, const char *path, const uint8_t *id, size_t n)
{
	struct native_copy *v = realloc(w->copies, (w->ncopies + 1) * sizeof(*v));

	if (!v)
		return native_fail(w, -ENOMEM, "images", "");
	w->copies = v;
	v[w->ncopies] = (struct native_copy){ .path = strdup(path), .id_size = (uint8_t)n };
	if (n)
		memcpy(v[w->ncopies].id, id, n);
	if (!v[w->ncopies].path)
		return native_fail(w, -ENOMEM, "images", "");
	w->ncopies++;
	return 0;
}

static void describe(struct native_writer *w, const char *path, const char *id, const char *file,
		     uint64_t size, uint32_t crc)
{
	native_end_section(w);
	native_set(w, "image", "path", "%s", path);
	native_set(w, "image", "build_id", "%s", id);
	native_set(w, "image", "file", "%s", file);
	native_set(w, "image", "size", "%" PRIu64, size);
	native_set(w, "image", "sum", "0x%08" PRIx32, crc);
	native_end_section(w);
}

/* Gives the whole copy its name, and tells of it. */
static int settle(struct native_writer *w, const char *path, uint64_t size, uint32_t crc,
		  const uint8_t *id, size_t n)
{
	char hex[41] = "-", file[48];

	for (size_t i = 0; i < n; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	/* the number: one build-id may come with other bytes, stripped or not */
	if (n && find(w, NULL, id, n) < 0)
		snprintf(file, sizeof(file), "%s", hex);
	else
		snprintf(file, sizeof(file), "file-%zu", w->nfiles++);
	if (renameat(w->sub[SUB_IMAGES], NEW, w->sub[SUB_IMAGES], file))
		return native_fail(w, -errno, "images", "can not rename the copy");
	describe(w, path, hex, file, size, crc);
	return remember(w, path, id, n);
}

int native_file(struct native_writer *w, const char *path, const char *from,
		const uint8_t *build_id, size_t n)
{
	struct native_out o = { .fd = -1 };
	uint8_t own[20];
	uint32_t crc = 0;
	int fd, rc;

	if (native_failed(w))
		return native_failed(w);
	if (n > sizeof(own) || !*path || strlen(path) > NATIVE_VALUE)
		return -EINVAL;
	if (find(w, path, build_id, n) >= 0)
		return 0;
	fd = open_from(from ? from : path);
	if (fd < 0)
		return fd;
	rc = native_open(w, &o, SUB_IMAGES, NEW);
	if (!rc)
		rc = copy(w, &o, fd, &crc);
	close(fd);
	native_shut(&o);
	if (!rc) {
		size_t has = id_of(w, own);

		/* another build took the name since it was mapped */
		if (n && has && !same_id(own, has, build_id, n))
			rc = -ESTALE;
		else
			rc = settle(w, path, o.size, crc, has ? own : build_id, has ? has : n);
	}
	if (rc)
		unlinkat(w->sub[SUB_IMAGES], NEW, 0);
	return rc;
}
