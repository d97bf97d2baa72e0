/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/diag.h"
#include "kernel.h"
#include "kernel_page.h"
#include "tracefs.h"

#define BUFFER_KB	4096	/* of the CPU: half a second of a flood */
#define PAGES_MAX	4096	/* read at a time, more than the buffer has */

struct kernel {
	char dir[TRACEFS_DIR];	/* of the instance */
	int pipe;		/* trace_pipe_raw of the CPU */
	size_t page_size;
	uint8_t *page;
	struct kpage pages;
};

/* Turns on the events that we know how to read; the number of them. */
static unsigned enable(struct kernel *k, int32_t tracer)
{
	const char *group, *name, *filter;
	char path[128], text[256];
	unsigned n = 0;

	for (unsigned i = 0; kpage_wanted(i, &group, &name, &filter); i++) {
		char *format;

		snprintf(path, sizeof(path), "events/%s/%s/format", group, name);
		format = tracefs_read(k->dir, path);
		if (!format || !kpage_format(&k->pages, i, format)) {
			free(format);
			continue;	/* this kernel does not have it */
		}
		free(format);
		if (*filter) {
			char *p = text, *end = text + sizeof(text);

			/* each %d is the tracer */
			for (; *filter && p + 16 < end; filter++) {
				if (filter[0] == '%' && filter[1] == 'd') {
					p += snprintf(p, (size_t)(end - p), "%d", tracer);
					filter++;
				} else {
					*p++ = *filter;
				}
			}
			*p = 0;
			snprintf(path, sizeof(path), "events/%s/%s/filter", group, name);
			if (tracefs_write(k->dir, path, text))
				continue;
		}
		snprintf(path, sizeof(path), "events/%s/%s/enable", group, name);
		n += !tracefs_write(k->dir, path, "1");
	}
	return n;
}

/* Everything but what to trace. */
static int set_up(struct kernel *k, int cpu, const char **what)
{
	char text[160], path[256];
	char *header;
	bool known;
	int rc;

	/* all events begin at once: of those that begin earlier causes would be missing */
	*what = "it stopped";
	rc = tracefs_write(k->dir, "tracing_on", "0");
	if (rc)
		return rc;
	*what = "the clock of the counter (x86-tsc)";
	rc = tracefs_write(k->dir, "trace_clock", "x86-tsc");
	if (rc)
		return rc;
	*what = "its buffer";
	snprintf(text, sizeof(text), "%d", BUFFER_KB);
	rc = tracefs_write(k->dir, "buffer_size_kb", text);
	if (rc)
		return rc;
	/* in groups of 32 CPUs, the highest first */
	snprintf(text, sizeof(text), "%x", 1u << (cpu % 32));
	for (int i = 0; i < cpu / 32 && i < 16; i++)
		strcat(text, ",00000000");
	*what = "one CPU";
	rc = tracefs_write(k->dir, "tracing_cpumask", text);
	if (rc)
		return rc;
	*what = "the layout of its pages";
	header = tracefs_read(k->dir, "events/header_page");
	known = header && kpage_header(&k->pages, header);
	free(header);
	if (!known)
		return -EPROTO;
	*what = "its pages";
	snprintf(path, sizeof(path), "%s/per_cpu/cpu%d/trace_pipe_raw", k->dir, cpu);
	k->pipe = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	return k->pipe < 0 ? -errno : 0;
}

int kernel_open(struct kernel **out, int cpu, int32_t tracer, struct hwt_diag *diag)
{
	struct kernel *k = calloc(1, sizeof(*k));
	const char *what = "events";
	int rc;

	if (!k)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	k->pipe = -1;
	tracefs_clean();
	rc = kpage_init(&k->pages) ? diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory") :
		tracefs_instance(k->dir, "", diag);
	if (rc) {
		kpage_fini(&k->pages);
		free(k);
		return rc;
	}
	k->page_size = (size_t)sysconf(_SC_PAGESIZE);
	k->page = malloc(k->page_size);
	rc = k->page ? set_up(k, cpu, &what) : -ENOMEM;
	if (!rc && !enable(k, tracer)) {
		what = "any of the events";
		rc = -ENOENT;
	}
	if (!rc) {
		what = "it running";
		rc = tracefs_write(k->dir, "tracing_on", "1");
	}
	if (rc) {
		kernel_close(k);
		return diag_set(diag, rc, 180, NULL, HWT_NO_OFF, "tracefs: can not have %s: %s",
				what, strerror(-rc));
	}
	*out = k;
	return 0;
}

int kernel_read(struct kernel *k, int (*put)(void *arg, const struct hwt_rec *rec), void *arg)
{
	for (unsigned i = 0; i < PAGES_MAX; i++) {
		ssize_t n = read(k->pipe, k->page, k->page_size);
		int rc;

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)	/* EAGAIN: no more yet */
			break;
		rc = kpage_read(&k->pages, k->page, (size_t)n, put, arg);
		if (rc)
			return rc;
	}
	return 0;
}

void kernel_close(struct kernel *k)
{
	if (!k)
		return;
	if (k->pipe >= 0)
		close(k->pipe);
	tracefs_remove(k->dir);
	kpage_fini(&k->pages);
	free(k->page);
	free(k);
}
