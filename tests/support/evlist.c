/* SPDX-License-Identifier: BSD-2-Clause */
#include "evlist.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

struct evlist {
	struct hwt_stream s;
	const struct hwt_event *v;
	size_t n, i;
};

static int list_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct evlist *l = hwt_container_of(s, struct evlist, s);
	int n = 0;

	while (n < max && l->i < l->n)
		ev[n++] = l->v[l->i++];
	return n;
}

static void list_close(struct hwt_stream *s)
{
	free(hwt_container_of(s, struct evlist, s));
}

static const struct hwt_stream_ops list_ops = { list_next, list_close };

struct hwt_stream *evlist(const struct hwt_event *v, size_t n)
{
	struct evlist *l = calloc(1, sizeof(*l));

	assert_non_null(l);
	*l = (struct evlist){ .s = { .ops = &list_ops, .name = "list" }, .v = v, .n = n };
	return &l->s;
}
