/* SPDX-License-Identifier: BSD-2-Clause */
#include "tail.h"

#include <errno.h>
#include <stdlib.h>

#include <hwtrace/calls.h>

/* The depths of the thread of @ev, made if @make. NULL: there are none, or no memory. */
static struct vec *depths_of(struct tails *t, const struct hwt_event *ev, bool make)
{
	/* as the stacks of calls are told apart */
	uint64_t key = ev->tid != HWT_NONE ? (uint64_t)ev->tid : 1ull << 63 | (uint32_t)ev->cpu;
	uint32_t at = idmap_get(&t->by_thread, key);

	if (at != IDMAP_NONE)
		return (struct vec *)t->threads.v + at;
	if (!make || !vec_push(&t->threads, sizeof(struct vec)))
		return NULL;
	if (idmap_set(&t->by_thread, key, (uint32_t)t->threads.n - 1) < 0) {
		t->threads.n--;
		return NULL;
	}
	return (struct vec *)t->threads.v + t->threads.n - 1;
}

/* Takes off what is deeper than @depth. True if the jump from a frame at @depth is open. */
static bool open_at(struct vec *d, int32_t depth)
{
	const int32_t *v = d->v;

	while (d->n && v[d->n - 1] > depth)
		d->n--;
	return d->n && v[d->n - 1] == depth;
}

static int jumped(struct tails *t, const struct hwt_event *ev, int32_t depth)
{
	struct vec *d = depths_of(t, ev, true);
	int32_t *v;

	if (!d)
		return -ENOMEM;
	if (open_at(d, depth))
		return TAIL_WITHIN;
	v = vec_push(d, sizeof(*v));
	if (!v)
		return -ENOMEM;
	*v = depth;
	return TAIL_WITHIN;
}

int tails_event(struct tails *t, const struct point *p, const struct hwt_event *ev)
{
	const struct hwt_call *c = ev->u.rec.data;
	struct vec *d;
	bool own, open;

	if (ev->type != HWT_EV_FRAME || (c->what != HWT_CALL_ENTER && c->what != HWT_CALL_LEAVE))
		return TAIL_NONE;
	own = point_in(p, c->func, c->func);
	if (c->what == HWT_CALL_LEAVE && c->why == HWT_WHY_TAIL && own)
		return jumped(t, ev, c->depth);
	d = depths_of(t, ev, false);
	open = d && open_at(d, c->depth);
	if (c->what == HWT_CALL_ENTER)
		return open && own && c->why == HWT_WHY_TAIL ? TAIL_WITHIN : TAIL_NONE;
	if (c->why == HWT_WHY_TAIL || !(open || own))
		return TAIL_NONE;
	if (open)
		d->n--;
	return c->why == HWT_WHY_LOST || c->why == HWT_WHY_OPEN ? TAIL_LOST : TAIL_RETURN;
}

void tails_free(struct tails *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		free(((struct vec *)t->threads.v)[i].v);
	free(t->threads.v);
	idmap_free(&t->by_thread);
}
