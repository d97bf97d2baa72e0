/* SPDX-License-Identifier: BSD-2-Clause */
#include "capture.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../image/image.h"
#include "../time/clock.h"

#define FACT_MAX 4096	/* bytes of one value */

/*
 * Arrays carry no capacity: it is the power of two at or above their count, so they are grown
 * exactly when the count is one. @array points at the array's pointer. Returns the zeroed new
 * slot, or NULL with the array as it was.
 */
static void *append(void *array, size_t *n, size_t size)
{
	char *p, *old;

	memcpy(&old, array, sizeof(old));
	p = old;
	if (!(*n & (*n - 1))) {
		size_t want = *n ? *n * 2 : 1;

		if (want > SIZE_MAX / size)
			return NULL;
		p = realloc(old, want * size);
		if (!p)
			return NULL;
		memcpy(array, &p, sizeof(p));
	}
	p += (*n)++ * size;
	return memset(p, 0, size);
}

int capture_new(struct capture **out)
{
	struct capture *c = calloc(1, sizeof(*c));
	int err;

	if (!c)
		return -ENOMEM;
	c->format = c->path = c->clock = "";
	c->arch = c->host = c->release = c->cmdline = c->cpu = "";
	c->time_start = HWT_TIME_UNKNOWN;
	c->scope.pid = HWT_NONE;
	err = machine_new(&c->machine);
	if (!err)
		err = image_new(&c->image, &c->notes);
	if (err) {
		capture_free(c);
		return err;
	}
	*out = c;
	return 0;
}

void capture_free(struct capture *c)
{
	if (!c)
		return;
	if (c->free_priv)
		c->free_priv(c);
	if (c->image)
		image_free(c->image);
	machine_free(c->machine);
	for (size_t i = 0; i < c->nbufs; i++) {
		free(c->bufs[i].spans);
		free(c->bufs[i].cfgs);
		free(c->bufs[i].marks);
	}
	free(c->bufs);
	for (size_t i = 0; i < c->nfiles; i++)
		file_close(c->files[i]);
	free(c->files);
	free(c->facts);
	free(c->commits);
	notes_free(&c->notes);
	time_fit_free(&c->fit);
	arena_free(&c->arena);
	free(c);
}

bool capture_hz(struct capture *c, uint64_t hz)
{
	if (time_fit_hz(&c->fit, hz))
		return false;
	c->tsc = (struct time_map){ .fit = &c->fit };
	/* and one line for those who can not have more */
	time_map_rate(&c->tsc, c->fit.rate_lo);
	c->one_counter = true;
	return true;
}

void capture_base(struct capture *c, const char *name)
{
	c->clock = name;
	c->base = (uint8_t)time_clock_of(name);
}

struct trace_buf *capture_add_buf(struct capture *c, const char *name)
{
	char *copy = arena_str(&c->arena, name);
	struct trace_buf *b = copy ? append(&c->bufs, &c->nbufs, sizeof(*b)) : NULL;

	if (b)
		b->name = copy;
	return b;
}

struct trace_span *capture_add_span(struct capture *c, struct trace_buf *b)
{
	return append(&b->spans, &b->nspans, sizeof(*b->spans));
}

int capture_add_mark(struct capture *c, struct trace_buf *b, uint64_t pos, uint64_t time,
		     bool after)
{
	struct trace_mark *m = append(&b->marks, &b->nmarks, sizeof(*b->marks));

	if (!m)
		return -ENOMEM;
	*m = (struct trace_mark){ .pos = pos, .time = time, .after = after };
	return 0;
}

int capture_add_commit(struct capture *c, uint32_t id, uint64_t addr)
{
	struct capture_commit *k;

	if (c->ncommits == CAPTURE_COMMITS)
		return -E2BIG;
	k = append(&c->commits, &c->ncommits, sizeof(*k));
	if (!k)
		return -ENOMEM;
	*k = (struct capture_commit){ addr, id };
	return 0;
}

struct trace_cfg *capture_add_cfg(struct capture *c, struct trace_buf *b)
{
	return append(&b->cfgs, &b->ncfgs, sizeof(*b->cfgs));
}

int capture_add_file(struct capture *c, struct file *f)
{
	struct file **slot = append(&c->files, &c->nfiles, sizeof(*slot));

	if (!slot) {
		file_close(f);
		return -ENOMEM;
	}
	*slot = f;
	return 0;
}

void capture_fact(struct capture *c, const char *key, const char *fmt, ...)
{
	char text[FACT_MAX];
	struct capture_fact *f;
	char *k, *v;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	k = arena_str(&c->arena, key);
	v = arena_str(&c->arena, text);
	if (!k || !v)
		return;
	f = append(&c->facts, &c->nfacts, sizeof(*f));
	if (f)
		*f = (struct capture_fact){ .key = k, .value = v };
}
