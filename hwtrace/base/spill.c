/* SPDX-License-Identifier: BSD-2-Clause */
#include "spill.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define STEP	((size_t)1 << 22)	/* bytes that are written before the system hears of them */
#define RUN_STEP	16384		/* the same of bytes that a merge has read of one part */

int temp_fd(void)
{
	const char *dir = getenv("TMPDIR");
	char name[4096];
	int fd;

	if (!dir || !*dir)
		dir = "/tmp";
	if (snprintf(name, sizeof(name), "%s/hwtrace-XXXXXX", dir) >= (int)sizeof(name))
		return -ENAMETOOLONG;
	fd = mkostemp(name, O_CLOEXEC);
	if (fd < 0)
		return -errno;
	unlink(name);
	return fd;
}

/* A file of @cap bytes, all of them there: a full disk must not be met by a write to memory. */
static int map_file(int fd, size_t cap, void **out)
{
	void *p;

	if (cap > INT64_MAX || posix_fallocate(fd, 0, (off_t)cap))
		return -ENOSPC;
	p = mmap(NULL, cap, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		return -errno;
	*out = p;
	return 0;
}

/* Moves what is in the heap to a file. Negative: it stays where it is. */
static int spill_out(struct spill *s, size_t cap)
{
	int fd = temp_fd(), rc;
	void *p;

	if (fd < 0)
		return fd;
	rc = fd ? map_file(fd, cap, &p) : -EBADF;	/* 0 is "none" */
	if (rc) {
		close(fd);
		return rc;
	}
	if (s->v)
		memcpy(p, s->v, s->cap);
	free(s->v);
	s->v = p;
	s->fd = fd;
	s->cap = cap;
	return 0;
}

int spill_room(struct spill *s, size_t size)
{
	size_t used, cap = s->cap ? s->cap * 2 : 16 * size;
	void *p;

	if (s->n >= SIZE_MAX / 4 / size)
		return -ENOMEM;
	used = s->n * size;
	if (s->fd && used >= s->told + STEP) {
		spill_done(s, 1, s->told, used);
		s->told = used;
	}
	if (used + size <= s->cap)
		return 0;
	if (!s->fd && (cap <= SPILL_HEAP || spill_out(s, cap))) {
		p = realloc(s->v, cap);
		if (!p)
			return -ENOMEM;
		s->v = p;
		s->cap = cap;
	} else if (s->cap < cap) {
		if (map_file(s->fd, cap, &p))
			return -ENOMEM;
		munmap(s->v, s->cap);
		s->v = p;
		s->cap = cap;
	}
	return 0;
}

void spill_done(const struct spill *s, size_t size, size_t from, size_t to)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE), a = from * size, b = to * size;

	if (!s->fd)
		return;
	a -= a % page;
	b -= b % page;
	if (a < b)
		madvise((char *)s->v + a, b - a, MADV_DONTNEED);
}

/* A part that is sorted: what of it is left, and from where on it was not given back. */
struct run { char *p, *end, *kept; };

typedef int cmp_fn(const void *, const void *);

static void sift(struct run *v, size_t i, size_t n, cmp_fn *cmp)
{
	struct run x = v[i];

	for (size_t k; (k = 2 * i + 1) < n; i = k) {
		if (k + 1 < n && cmp(v[k].p, v[k + 1].p) > 0)
			k++;
		if (cmp(x.p, v[k].p) <= 0)
			break;
		v[i] = v[k];
	}
	v[i] = x;
}

/* Merges @n sorted runs, which are all of @s, to @out. 0 or -ENOMEM. */
static int merge(const struct spill *s, size_t size, struct run *v, size_t n, cmp_fn *cmp,
		 struct spill *out)
{
	for (size_t i = n / 2; i-- > 0;)
		sift(v, i, n, cmp);
	while (n) {
		if (spill_room(out, size))
			return -ENOMEM;
		memcpy((char *)out->v + out->n++ * size, v->p, size);
		v->p += size;
		if (v->p == v->end || v->p - v->kept >= RUN_STEP) {
			spill_done(s, 1, (size_t)(v->kept - (char *)s->v),
				   (size_t)(v->p - (char *)s->v));
			v->kept = v->p;
		}
		if (v->p == v->end)
			*v = v[--n];
		sift(v, 0, n, cmp);
	}
	return 0;
}

void spill_sort(struct spill *s, size_t size, cmp_fn *cmp)
{
	size_t run = SPILL_HEAP / size * size, bytes = s->n * size, n = 0;
	struct run *v = s->fd ? malloc((bytes / run + 1) * sizeof(*v)) : NULL;
	struct spill out = { .n = 0 };

	if (!v) {
		if (s->n)
			qsort(s->v, s->n, size, cmp);
		return;
	}
	for (size_t at = 0; at < bytes; at += run) {
		char *p = (char *)s->v + at;
		size_t left = bytes - at < run ? bytes - at : run;

		qsort(p, left / size, size, cmp);
		spill_done(s, 1, at, at + left);
		v[n++] = (struct run){ p, p + left, p };
	}
	if (merge(s, size, v, n, cmp, &out)) {
		spill_free(&out);
		qsort(s->v, s->n, size, cmp);
	} else {
		spill_free(s);
		*s = out;
	}
	free(v);
}

void spill_free(struct spill *s)
{
	if (s->fd) {
		munmap(s->v, s->cap);
		close(s->fd);
	} else {
		free(s->v);
	}
	*s = (struct spill){ 0 };
}
