/* SPDX-License-Identifier: BSD-2-Clause */
#include "file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../base/diag.h"
#include "../base/spill.h"

#define SMALL (1 << 20)		/* bytes up to which a file is read rather than mapped */

#define DONE_NEAR	(64 << 10)	/* bytes behind that stay mapped */
#define DONE_AGAIN	(4 << 20)	/* bytes that may have come back: two large pages */

enum { HOW_BORROWED, HOW_HEAP, HOW_MAPPED };

static struct file *file_new(const char *path)
{
	struct file *f = calloc(1, sizeof(*f));

	if (!f)
		return NULL;
	f->fd = -1;
	f->path = strdup(path);
	if (!f->path) {
		free(f);
		return NULL;
	}
	return f;
}

void file_close(struct file *f)
{
	if (!f)
		return;
	if (f->how == HOW_HEAP)
		free((void *)f->p);
	else if (f->how == HOW_MAPPED)
		munmap((void *)f->p, (size_t)f->size);
	if (f->fd >= 0)
		close(f->fd);
	free(f->path);
	free(f);
}

int file_mem(struct file **out, const char *name, const void *p, size_t n)
{
	struct file *f = file_new(name);

	if (!f)
		return -ENOMEM;
	f->p = n ? p : NULL;
	f->size = n;
	*out = f;
	return 0;
}

/* A file that shrinks between fstat() and read() is taken as it is then. */
static int read_all(struct file *f)
{
	uint8_t *p = malloc((size_t)f->size);
	size_t n = 0;

	if (!p)
		return -ENOMEM;
	f->p = p;
	f->how = HOW_HEAP;
	while (n < f->size) {
		ssize_t r = pread(f->fd, p + n, (size_t)f->size - n, (off_t)n);

		if (r < 0 && errno == EINTR)
			continue;
		if (r < 0)
			return -errno;
		if (!r)
			break;
		n += (size_t)r;
	}
	f->size = n;
	return 0;
}

static int load(struct file *f, uint64_t size)
{
	void *p;

	f->size = size;
	if (!size)
		return 0;
	if (size <= SMALL)
		return read_all(f);
	if (size > SIZE_MAX)
		return -EFBIG;
	p = mmap(NULL, (size_t)size, PROT_READ, MAP_PRIVATE, f->fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	f->p = p;
	f->how = HOW_MAPPED;
	return 0;
}

static int write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return -errno;
		p += w;
		n -= (size_t)w;
	}
	return 0;
}

/* Standard input from where it stands, into a file without a name. Returns its descriptor. */
static int spool(void)
{
	char buf[65536];
	int fd = temp_fd(), rc;

	if (fd < 0)
		return fd;
	for (;;) {
		ssize_t r = read(STDIN_FILENO, buf, sizeof(buf));

		if (r < 0 && errno == EINTR)
			continue;
		if (!r)
			return fd;
		rc = r < 0 ? -errno : write_all(fd, buf, (size_t)r);
		if (rc) {
			close(fd);
			return rc;
		}
	}
}

/* O_NONBLOCK: the open of a FIFO without writer, or of a device, must not wait. */
static int open_fd(const char *path)
{
	int fd;

	if (!strcmp(path, "-"))
		return spool();
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static const char *kind_name(mode_t m)
{
	return S_ISDIR(m) ? "a directory" : S_ISFIFO(m) ? "a FIFO" : S_ISSOCK(m) ? "a socket" :
		S_ISCHR(m) || S_ISBLK(m) ? "a device" : "no regular file";
}

int file_open(struct file **out, const char *path, struct hwt_diag *diag)
{
	struct file *f = file_new(path);
	struct stat st;
	int rc;

	if (!f)
		return diag_set(diag, -ENOMEM, 3, path, HWT_NO_OFF, "out of memory");
	f->fd = open_fd(path);
	if (f->fd < 0) {
		rc = f->fd;
		file_close(f);
		return diag_set(diag, rc, 1, path, HWT_NO_OFF, "can not open: %s", strerror(-rc));
	}
	if (fstat(f->fd, &st)) {
		rc = -errno;
	} else if (!S_ISREG(st.st_mode)) {
		file_close(f);
		return diag_set(diag, S_ISDIR(st.st_mode) ? -EISDIR : -EINVAL, 1, path, HWT_NO_OFF,
				"this is %s, not a regular file", kind_name(st.st_mode));
	} else {
		rc = load(f, (uint64_t)st.st_size);
	}
	if (rc) {
		file_close(f);
		return diag_set(diag, rc, rc == -ENOMEM ? 3 : 1, path, HWT_NO_OFF,
				"can not read: %s", strerror(-rc));
	}
	*out = f;
	return 0;
}

void file_done(const struct file *f, uint64_t from, uint64_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (f->how != HOW_MAPPED)
		return;
	if (to > f->size)
		to = f->size;
	to -= to % page;
	from -= from % page;
	if (from < to)
		madvise((void *)(f->p + from), (size_t)(to - from), MADV_DONTNEED);
}

void file_give_back(const struct file *f, uint64_t base, uint64_t off, uint64_t *told)
{
	uint64_t from = *told;

	/*
	 * Readers look back a little, and one look may map far more than a page around it: what is
	 * near stays, and what an earlier call gave back is given back once more.
	 */
	from = from > DONE_AGAIN ? from - DONE_AGAIN : 0;
	file_done(f, base + from, base + off - DONE_NEAR);
	*told = off;
}

int file_spool_new(struct file **out, const char *name)
{
	struct file *f = file_new(name);
	int rc;

	if (!f)
		return -ENOMEM;
	f->fd = temp_fd();
	if (f->fd < 0) {
		rc = f->fd;
		file_close(f);
		return rc;
	}
	f->scratch = true;
	*out = f;
	return 0;
}

int file_spool_write(struct file *f, const void *p, size_t n)
{
	int rc = write_all(f->fd, p, n);

	if (!rc)
		f->size += n;
	return rc;
}

int file_spool_map(struct file *f)
{
	return load(f, f->size);
}
