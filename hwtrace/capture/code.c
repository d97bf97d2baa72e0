/* SPDX-License-Identifier: BSD-2-Clause */
/* The code that ran: files that are mapped, and pages that are not what their file holds. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record.h"

/* Where the file of a map can be read although its name may be gone. */
static void map_link(const struct proc *p, const struct proc_map *m, char *buf, size_t size)
{
	snprintf(buf, size, "/proc/%d/map_files/%llx-%llx", p->pid, (unsigned long long)m->start,
		 (unsigned long long)m->end);
}

static int tell_map(struct rec *r, struct step_task *t, struct proc_map *m, uint64_t tick)
{
	struct hwt_map map = { .addr = m->start, .size = m->end - m->start, .file_off = m->off,
		.path = m->path, .pid = t->proc->pid };
	char link[96];
	int rc;

	m->told = true;
	/* the pages that run are all that is needed of what has no file */
	if (!m->file)
		return 0;
	map_link(t->proc, m, link, sizeof(link));
	/* what can not be copied is served by its pages */
	if (native_file(r->w, m->path, m->deleted ? link : NULL, NULL, 0))
		m->file = false;
	rc = native_diag(r->w)->code;
	if (rc)
		return rc;
	return r->began ? records_map(r, t, m, tick) : native_map(r->w, &map);
}

/* Is @m inside of what is mapped now? Then nothing of it is gone. */
static bool still_there(const struct proc *p, uint64_t start, uint64_t end)
{
	const struct proc_map *m = proc_map(p, start);

	return m && m->end >= end;
}

struct range { uint64_t start, end; };

int code_maps(struct rec *r, struct step_task *t, uint64_t tick)
{
	struct proc *p = t->proc;
	size_t n = p->nmaps;
	struct range *old = n ? malloc(n * sizeof(*old)) : NULL;
	int rc = 0;

	if (n && !old)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		old[i] = (struct range){ p->maps[i].start, p->maps[i].end };
	if (proc_remap(p)) {
		free(old);
		return 0;	/* the process is gone: its end comes next */
	}
	for (size_t i = 0; i < n && !rc; i++)
		if (!still_there(p, old[i].start, old[i].end))
			rc = records_unmap(r, t, old[i].start, old[i].end - old[i].start, tick);
	free(old);
	for (size_t i = 0; i < p->nmaps && !rc; i++)
		if (!p->maps[i].told)
			rc = tell_map(r, t, &p->maps[i], tick);
	return rc;
}

/* True if the page is what the file behind its map holds. */
static bool is_of_file(const struct proc *p, const struct proc_page *g)
{
	const struct proc_map *m = proc_map(p, g->addr);
	uint8_t bytes[PROC_PAGE] = { 0 };
	char link[96];
	ssize_t n;
	int fd;

	if (!m || !m->file)
		return false;
	map_link(p, m, link, sizeof(link));
	fd = open(m->deleted ? link : m->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = pread(fd, bytes, sizeof(bytes), (off_t)(m->off + (g->addr - m->start)));
	close(fd);
	/* behind the end of the file there are zeroes */
	return n > 0 && !memcmp(bytes, g->bytes, sizeof(bytes));
}

/*
 * A page holds what it was read with from the last instruction on that ran in it before: when it
 * was changed between is not known, and nothing of it ran meanwhile.
 */
static int page_ran(struct rec *r, struct step_task *t, uint64_t addr, const uint8_t *code,
		    size_t n, uint64_t tick)
{
	struct proc *p = t->proc;
	struct proc_page *g;
	uint64_t from;
	bool fresh;
	int rc = 0;

	g = proc_page(p, addr, &fresh);
	if (!g)
		return -ENOMEM;
	from = g->tick ? rec_ns(r, g->tick) + 1 : p->since ? rec_ns(r, p->since) : 0;
	g->tick = tick;
	if (!fresh && !memcmp(g->bytes + (addr - g->addr), code, n))
		return 0;
	if (!proc_map(p, addr))
		rc = code_maps(r, t, tick);
	if (rc)
		return rc;
	if (proc_read(p, g->addr, g->bytes, PROC_PAGE) != PROC_PAGE)
		memcpy(g->bytes + (addr - g->addr), code, n);
	/* it may have been changed again by the very instruction */
	if (fresh && is_of_file(p, g))
		return 0;
	memcpy(g->bytes + (addr - g->addr), code, n);
	return native_pages(r->w, p->pid, g->addr, from, g->bytes, PROC_PAGE);
}

int code_ran(struct rec *r, struct step_task *t, uint64_t addr, const uint8_t *p, size_t n,
	     uint64_t tick)
{
	size_t here = PROC_PAGE - (addr & (PROC_PAGE - 1));
	int rc;

	if (here > n)
		here = n;
	rc = page_ran(r, t, addr, p, here, tick);
	return rc || here == n ? rc : page_ran(r, t, addr + here, p + here, n - here, tick);
}

/* By the symbols of the files that are mapped now. The image is made anew: few ask, and once. */
size_t code_resolve(struct rec *r, struct proc *p, const char *symbol, uint64_t *addr, size_t max)
{
	struct hwt_image *img = NULL;
	uint64_t (*v)[2] = malloc(max * sizeof(*v));
	struct notes notes = { 0 };
	size_t n = 0;

	if (v && !proc_remap(p) && !image_new(&img, &notes)) {
		for (size_t i = 0; i < p->nmaps; i++) {
			const struct proc_map *m = &p->maps[i];
			struct hwt_map map = { .addr = m->start, .size = m->end - m->start,
				.file_off = m->off, .path = m->path, .pid = p->pid };

			if (m->file && !m->deleted)
				image_add_map(img, &map);
		}
		n = hwt_image_find(img, symbol, v, max);
		if (n > max)
			n = max;
		for (size_t i = 0; i < n; i++)
			addr[i] = v[i][0];
	}
	image_free(img);
	notes_free(&notes);
	free(v);
	return n;
}
