/* SPDX-License-Identifier: BSD-2-Clause */
/* The writer: its directory, its files, hwtrace.ini and what stands in it. */
#include "native.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <hwtrace/hwtrace.h>

#include "../base/crc.h"
#include "native_priv.h"

static const char *const sub_names[SUBS] = { "kernel", "hw", "images", "dirty" };

int native_fail(struct native_writer *w, int code, const char *file, const char *what)
{
	char path[256];

	if (w->diag.code)
		return w->diag.code;
	snprintf(path, sizeof(path), "%s/%s", w->dir, file);
	if (code == -ENOMEM)
		return diag_set(&w->diag, code, 3, path, HWT_NO_OFF, "out of memory");
	return diag_set(&w->diag, code, 7, path, HWT_NO_OFF, "%s: %s", what, strerror(-code));
}

int native_open(struct native_writer *w, struct native_out *o, unsigned sub, const char *name)
{
	snprintf(o->name, sizeof(o->name), "%s%s%s", sub < SUBS ? sub_names[sub] : "",
		 sub < SUBS ? "/" : "", name);
	o->size = 0;
	o->fd = openat(sub < SUBS ? w->sub[sub] : w->dirfd, name,
		       O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0666);
	return o->fd < 0 ? native_fail(w, -errno, o->name, "can not make the file") : 0;
}

int native_write(struct native_writer *w, struct native_out *o, const void *p, size_t n)
{
	const char *at = p;

	if (native_failed(w))
		return native_failed(w);
	while (n) {
		ssize_t k = write(o->fd, at, n);

		if (k < 0 && errno == EINTR)
			continue;
		/* a regular file takes nothing only where no more fits */
		if (k <= 0)
			return native_fail(w, k ? -errno : -ENOSPC, o->name, "can not write");
		at += k;
		n -= (size_t)k;
		o->size += (uint64_t)k;
		w->bytes += (uint64_t)k;
	}
	return 0;
}

void native_shut(struct native_out *o)
{
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
}

int native_end_section(struct native_writer *w)
{
	char line[24];
	int rc;

	if (!w->len)
		return native_failed(w);
	rc = native_write(w, &w->ini, w->text, w->len);
	snprintf(line, sizeof(line), "crc=0x%08" PRIx32 "\n", crc32c_add(0, w->text, w->len));
	w->len = 0;
	return rc ? rc : native_write(w, &w->ini, line, strlen(line));
}

int native_line(struct native_writer *w, const char *section, const char *key, const char *value)
{
	size_t n = strlen(key) + strlen(value) + 2;

	if (native_failed(w))
		return native_failed(w);
	if (w->len && (strcmp(section, w->section) || w->len + n >= sizeof(w->text)))
		native_end_section(w);
	if (!w->len) {
		snprintf(w->section, sizeof(w->section), "%s", section);
		w->len = (size_t)snprintf(w->text, sizeof(w->text), "[%s]\n", section);
	}
	w->len += (size_t)snprintf(w->text + w->len, sizeof(w->text) - w->len, "%s=%s\n", key,
				   value);
	return native_failed(w);
}

/* True for a word that may name a section or a key. */
static bool word(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");

	return n && n < sizeof(((struct native_writer *)0)->section) && !s[n] && strcmp(s, "crc");
}

int native_set(struct native_writer *w, const char *section, const char *key, const char *fmt,
	       ...)
{
	char value[NATIVE_VALUE + 1], line[LINE_MAX_SIZE];
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(value, sizeof(value), fmt, ap);
	va_end(ap);
	if (!word(section) || !word(key))
		return -EINVAL;
	if (n < 0 || (size_t)n >= sizeof(value))
		return -E2BIG;
	if (!strcmp(section, "capture") && !strcmp(key, "host"))
		snprintf(w->host, sizeof(w->host), "%.64s", value);
	if (!strcmp(section, "capture") && !strcmp(key, "recorder"))
		snprintf(w->label, sizeof(w->label), "%.64s", value);
	native_escape(line, value);
	return native_line(w, section, key, line);
}

int native_origin(struct native_writer *w, const char *recorder, char *const *argv)
{
	char line[2048] = "";
	struct utsname u;
	size_t n = 0;
	int rc = native_set(w, "capture", "recorder", "%s", recorder);

	for (int i = 0; argv && argv[i] && n < sizeof(line); i++)
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s%s", i ? " " : "", argv[i]);
	if (!rc && !uname(&u)) {
		rc = native_set(w, "capture", "arch", "%s", u.machine);
		rc = rc ? rc : native_set(w, "capture", "host", "%s", u.nodename);
		rc = rc ? rc : native_set(w, "capture", "release", "%s", u.release);
	}
	return rc || !*line ? rc : native_set(w, "capture", "cmdline", "%s", line);
}

int native_clock(struct native_writer *w, const struct native_clock *k)
{
	const struct time_map *m;

	if (!k->counter || !k->base || w->have_clock || w->kernel.ncpus)
		return -EINVAL;
	w->clock = *k;
	if (!k->map.mult && !k->from_records)
		time_map_exact(&w->clock.map, k->frequency);
	w->clock.counter = w->clock.base = NULL;
	snprintf(w->kernel.counter, sizeof(w->kernel.counter), "%.32s", k->counter);
	w->kernel.frequency = k->frequency;
	w->have_clock = true;
	native_end_section(w);
	native_set(w, "clock", "counter", "%s", k->counter);
	native_set(w, "clock", "base", "%s", k->base);
	native_set(w, "clock", "frequency", "%" PRIu64, k->frequency);
	m = &w->clock.map;
	native_set(w, "clock", "mult", "%" PRIu32, m->mult);
	native_set(w, "clock", "shift", "%u", m->shift);
	native_set(w, "clock", "zero", "%" PRIu64, m->zero);
	if (m->cap_short) {
		native_set(w, "clock", "cycles", "%" PRIu64, m->cycles);
		native_set(w, "clock", "mask", "0x%" PRIx64, m->mask);
	}
	native_set(w, "clock", "wall", "%" PRId64, k->wall);
	return native_end_section(w);
}

int native_task(struct native_writer *w, int32_t pid, int32_t tid, const char *comm)
{
	return native_set(w, "tasks", "task", "%d %d %s", pid, tid, comm ? comm : "");
}

static void put_hex(char *out, const uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", p[i]);
	if (!n)
		strcpy(out, "-");
}

int native_map(struct native_writer *w, const struct hwt_map *m)
{
	char id[2 * sizeof(m->build_id) + 1], flags[4];
	size_t n = 0;

	if (m->size > UINT64_MAX - m->addr || m->build_id_size > sizeof(m->build_id) || !m->path)
		return -EINVAL;
	put_hex(id, m->build_id, m->build_id_size);
	if (m->raw)
		flags[n++] = 'r';
	if (m->missing)
		flags[n++] = 'm';
	if (!n)
		flags[n++] = '-';
	flags[n] = 0;
	return native_set(w, "maps", "map", "%d 0x%" PRIx64 " 0x%" PRIx64 " 0x%" PRIx64 " %" PRIu64
			  " 0x%x %s %s %s", m->pid, m->addr, m->size, m->file_off, m->from,
			  m->space, flags, id, m->path);
}

int native_aspace(struct native_writer *w, uint64_t aspace, int32_t pid)
{
	return native_set(w, "aspaces", "aspace", "0x%" PRIx64 " %d", aspace, pid);
}

int native_commit(struct native_writer *w, const char *event, uint64_t addr)
{
	return native_set(w, "commits", "commit", "%s 0x%" PRIx64, event, addr);
}

/* A capture begins with this section, and nothing else that is called hwtrace.ini does. */
static bool is_capture(int dirfd)
{
	static const char head[] = "[hwtrace]\n";
	char buf[sizeof(head)] = "";
	int fd = openat(dirfd, NATIVE_INI, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	bool yes = fd >= 0 && read(fd, buf, sizeof(head) - 1) == sizeof(head) - 1 &&
		!strcmp(buf, head);

	if (fd >= 0)
		close(fd);
	return yes;
}

int native_folder(DIR **out, int dirfd, const char *name)
{
	int fd = openat(dirfd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW), rc;

	*out = fd < 0 ? NULL : fdopendir(fd);
	if (*out)
		return 0;
	rc = -errno;
	if (fd >= 0)
		close(fd);
	return rc;
}

/* 1, 0, or negative. */
static int is_empty(int dirfd)
{
	struct dirent *e;
	DIR *d;
	int rc = native_folder(&d, dirfd, "."), n = 0;

	if (rc)
		return rc;
	while ((e = readdir(d)))
		n += strcmp(e->d_name, ".") && strcmp(e->d_name, "..");
	closedir(d);
	return !n;
}

/* Removes the files of folder @sub that a writer makes. */
static int clean(int at, unsigned sub)
{
	static const char *const ours[SUBS][4] = {
		{ "metadata", "cpu*" }, { "*.bin", "*.idx" },
		{ "[0-9a-f]*", "file-*", "pages.*", "new" }, { "metadata", "cpu*" },
	};
	struct dirent *e;
	DIR *d;
	int rc = native_folder(&d, at, sub_names[sub]);

	if (rc)
		return rc == -ENOENT ? 0 : rc;
	while ((e = readdir(d)))
		for (unsigned i = 0; i < 4 && ours[sub][i]; i++)
			if (!fnmatch(ours[sub][i], e->d_name, FNM_PERIOD) &&
			    unlinkat(dirfd(d), e->d_name, 0) && errno != ENOENT && !rc)
				rc = -errno;
	closedir(d);
	if (sub == SUB_DIRTY)	/* few captures have it */
		unlinkat(at, sub_names[sub], AT_REMOVEDIR);
	return rc;
}

/* An old capture goes only if the caller said so; its description last, so that it stays one. */
static int take_over(struct native_writer *w, bool force, struct hwt_diag *diag)
{
	int rc = is_empty(w->dirfd);

	if (rc)
		return rc > 0 ? 0 : diag_set(diag, rc, rc == -ENOMEM ? 3 : 7, w->dir, HWT_NO_OFF,
					     "can not read the directory: %s", strerror(-rc));
	if (!is_capture(w->dirfd))
		return diag_set(diag, -EEXIST, 8, w->dir, HWT_NO_OFF,
				"exists and is no capture of hwtrace");
	if (!force)
		return diag_set(diag, -EEXIST, 8, w->dir, HWT_NO_OFF, "exists already");
	for (unsigned i = 0; i < SUBS && !rc; i++)
		rc = clean(w->dirfd, i);
	if (!rc && unlinkat(w->dirfd, NATIVE_INI, 0) && errno != ENOENT)
		rc = -errno;
	return rc ? diag_set(diag, rc, 7, w->dir, HWT_NO_OFF, "can not remove the old capture: %s",
			     strerror(-rc)) : 0;
}

int native_open_sub(struct native_writer *w, unsigned sub)
{
	if (mkdirat(w->dirfd, sub_names[sub], 0777) && errno != EEXIST)
		return -errno;
	w->sub[sub] = openat(w->dirfd, sub_names[sub],
			     O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
	return w->sub[sub] < 0 ? -errno : 0;
}

static int make_dirs(struct native_writer *w, bool force, struct hwt_diag *diag)
{
	int rc = !mkdir(w->dir, 0777) ? 0 : -errno;

	w->made = !rc;
	if (rc == -EEXIST)
		rc = 0;

	if (!rc) {
		w->dirfd = open(w->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		rc = w->dirfd < 0 ? -errno : 0;
	}
	if (rc == -ENOTDIR)
		return diag_set(diag, -EEXIST, 8, w->dir, HWT_NO_OFF, "exists and is no directory");
	if (!rc && !w->made) {
		rc = take_over(w, force, diag);
		if (rc)
			return rc;
	}
	for (unsigned i = 0; i < SUBS && !rc; i++)
		if (i != SUB_DIRTY)
			rc = native_open_sub(w, i);
	return rc ? diag_set(diag, rc, 7, w->dir, HWT_NO_OFF, "can not make the directory: %s",
			     strerror(-rc)) : 0;
}

/* A capture that could not be begun leaves nothing; rmdir() takes empty folders only. */
static void undo(struct native_writer *w)
{
	if (w->ini.fd >= 0)
		unlinkat(w->dirfd, NATIVE_INI, 0);
	for (unsigned i = 0; i < SUBS; i++)
		if (w->sub[i] >= 0)
			unlinkat(w->dirfd, sub_names[i], AT_REMOVEDIR);
	if (w->made)
		rmdir(w->dir);
}

static void destroy(struct native_writer *w)
{
	native_disk_stop(w);
	for (size_t i = 0; i < w->nbufs; i++)
		native_free_buf(&w->bufs[i]);
	native_free_buf(&w->pages);
	native_free_cpus(w);
	for (size_t i = 0; i < w->ncopies; i++)
		free(w->copies[i].path);
	free(w->copies);
	free(w->bufs);
	native_shut(&w->ini);
	for (unsigned i = 0; i < SUBS; i++)
		if (w->sub[i] >= 0)
			close(w->sub[i]);
	if (w->dirfd >= 0)
		close(w->dirfd);
	free(w->dir);
	free(w);
}

int native_create(struct native_writer **out, const char *dir, bool force, struct hwt_diag *diag)
{
	struct native_writer *w = calloc(1, sizeof(*w));
	int rc;

	if (!w)
		return diag_set(diag, -ENOMEM, 3, dir, HWT_NO_OFF, "out of memory");
	w->dirfd = w->ini.fd = w->pages.bin.fd = w->pages.idx.fd = -1;
	w->kernel.sub = SUB_KERNEL;
	w->dirty.sub = SUB_DIRTY;
	for (unsigned i = 0; i < SUBS; i++)
		w->sub[i] = -1;
	w->dir = strdup(dir);
	rc = w->dir ? make_dirs(w, force, diag) :
		diag_set(diag, -ENOMEM, 3, dir, HWT_NO_OFF, "out of memory");
	if (!rc) {
		if (!native_open(w, &w->ini, SUBS, NATIVE_INI)) {
			native_set(w, "hwtrace", "version", "%u", NATIVE_VERSION);
			native_set(w, "hwtrace", "writer", "hwtrace %s", hwt_version());
			native_end_section(w);
		}
		rc = native_failed(w);
		if (rc && diag)
			*diag = w->diag;
	}
	if (rc) {
		undo(w);
		destroy(w);
		return rc;
	}
	*out = w;
	return 0;
}

int native_sync(struct native_writer *w)
{
	native_end_section(w);
	for (size_t i = 0; i < w->nbufs; i++)
		native_flush_buf(w, &w->bufs[i]);
	native_flush_cpus(w);
	return native_disk_failed(w);
}

int native_end_file(struct native_writer *w, const struct native_out *o)
{
	return o->fd < 0 ? 0 : native_set(w, "end", "file", "%" PRIu64 " %s", o->size, o->name);
}

int native_close(struct native_writer *w, struct hwt_diag *diag)
{
	bool durable;
	int rc;

	if (!w)
		return 0;
	native_sync(w);
	durable = w->disk != NULL;
	native_disk_stop(w);
	/* without records kernel/ is an empty trace, and still one */
	native_describe(w, &w->kernel);
	for (size_t i = 0; i < w->nbufs; i++) {
		native_end_file(w, &w->bufs[i].bin);
		native_end_file(w, &w->bufs[i].idx);
	}
	native_end_file(w, &w->pages.bin);
	native_end_file(w, &w->pages.idx);
	native_end_cpus(w);
	/* that it is whole is not on the disk before it is so there */
	if (durable)
		native_disk_now(w);
	native_set(w, "end", "closed", "1");
	rc = native_end_section(w);
	if (durable && !rc)
		rc = native_disk_now(w);
	if (rc && diag)
		*diag = w->diag;
	destroy(w);
	return rc;
}

bool native_traced(const struct native_writer *w)
{
	for (size_t i = 0; i < w->nbufs; i++)
		if (w->bufs[i].bin.size)
			return true;
	return false;
}

void native_discard(struct native_writer *w)
{
	if (!w)
		return;
	for (unsigned i = 0; i < SUBS; i++)
		clean(w->dirfd, i);
	undo(w);
	destroy(w);
}

const struct hwt_diag *native_diag(const struct native_writer *w)
{
	return &w->diag;
}

uint64_t native_records(const struct native_writer *w)
{
	return w->records;
}

uint64_t native_readings(const struct native_writer *w)
{
	return w->readings;
}

uint64_t native_bytes(const struct native_writer *w)
{
	return w->bytes;
}
