/* SPDX-License-Identifier: BSD-2-Clause */
#include "merge.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define BATCH	128	/* events taken from an input at once */

/* What an input is ordered by. Ended ones come last: no event has such a clock. */
struct key {
	uint64_t time;
	uint32_t clock, in;	/* enum hwt_clock, position of the input */
};
#define CLOCK_NONE	UINT32_MAX

struct input {
	struct hwt_stream *s;
	struct hwt_event *ev;	/* BATCH */
	int n, i;
};

/*
 * A tree of losers: each inner node holds the input that lost there, node 0 the one that won all.
 * Input k is the leaf n + k, the parent of a node is half its number.
 */
struct merge {
	struct hwt_stream s;
	size_t n;
	int error;		/* of the first input that failed */
	bool built, stale;	/* @stale: the winner's key has to be made anew */
	struct merge_stats stats;
	struct key *keys;	/* of the next event of each input */
	uint32_t *tree;
	uint32_t *won;		/* of each node, while the tree is built */
	struct input *in;
	struct hwt_event *events;
};

static bool less(const struct key *a, const struct key *b)
{
	if (a->time != b->time && a->clock == b->clock)
		return a->time < b->time;
	return a->clock != b->clock ? a->clock < b->clock : a->in < b->in;
}

static void note_late(struct merge *m, const struct key *key, const struct hwt_event *ev)
{
	struct merge_stats *st = &m->stats;

	if (!st->late++) {
		st->late_src = ev->src;
		st->late_off = ev->off;
	}
	if (ev->clock == key->clock && key->time - ev->time > st->late_by)
		st->late_by = key->time - ev->time;
}

/* Makes the key of the next event; it never goes back. */
static void set_key(struct merge *m, size_t k)
{
	const struct input *in = &m->in[k];
	const struct hwt_event *ev = &in->ev[in->i];
	struct key *key = &m->keys[k];

	if (ev->time == HWT_TIME_UNKNOWN)
		return;
	if (ev->clock > key->clock || (ev->clock == key->clock && ev->time >= key->time)) {
		key->clock = ev->clock;
		key->time = ev->time;
	} else {
		note_late(m, key, ev);
	}
}

/* Has the next event of input @k ready. 0, or -EAGAIN. */
static int fetch(struct merge *m, size_t k)
{
	struct input *in = &m->in[k];

	if (in->i == in->n) {
		int rc = hwt_stream_next(in->s, in->ev, BATCH);

		m->stats.calls++;
		in->i = in->n = 0;
		if (rc == -EAGAIN)
			return rc;
		if (rc <= 0) {
			if (rc < 0 && !m->error)
				m->error = rc;
			m->keys[k].clock = CLOCK_NONE;
			return 0;
		}
		in->n = rc;
	}
	set_key(m, k);
	return 0;
}

/* Plays input @k from its leaf up, against the losers there. */
static void replay(struct merge *m, uint32_t k)
{
	for (size_t node = (m->n + k) / 2; node; node /= 2) {
		m->stats.compares++;
		if (less(&m->keys[m->tree[node]], &m->keys[k])) {
			uint32_t won = m->tree[node];

			m->tree[node] = k;
			k = won;
		}
	}
	m->tree[0] = k;
}

/* First every input gets a key, then each node its loser, from the last one up. */
static int build(struct merge *m)
{
	uint32_t *win = m->won;
	int rc;

	for (size_t k = 0; k < m->n; k++) {
		if (m->in[k].i < m->in[k].n || m->keys[k].clock == CLOCK_NONE)
			continue;
		rc = fetch(m, k);
		if (rc < 0)
			return rc;
	}
	for (size_t k = 0; k < m->n; k++)
		win[m->n + k] = (uint32_t)k;
	for (size_t node = m->n; node-- > 1;) {
		uint32_t a = win[2 * node], b = win[2 * node + 1];
		bool second = less(&m->keys[b], &m->keys[a]);

		m->stats.compares++;
		win[node] = second ? b : a;
		m->tree[node] = second ? a : b;
	}
	m->tree[0] = m->n > 1 ? win[1] : 0;
	m->built = true;
	return 0;
}

/* The winner's next event comes into its place. */
static int renew(struct merge *m)
{
	uint32_t k = m->tree[0];
	uint64_t time = m->keys[k].time;
	uint32_t clock = m->keys[k].clock;
	int rc = fetch(m, k);

	if (rc < 0)
		return rc;
	m->stale = false;
	/* who won wins again with the same key */
	if (time != m->keys[k].time || clock != m->keys[k].clock)
		replay(m, k);
	return 0;
}

static int merge_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct merge *m = hwt_container_of(s, struct merge, s);
	int n = 0, rc = 0;

	if (!m->built)
		rc = build(m);
	while (!rc && n < max) {
		struct input *in = &m->in[m->tree[0]];

		if (m->stale) {
			/* what was handed out of this batch must stay valid until the next call */
			if (n && in->i == in->n)
				break;
			rc = renew(m);
			continue;
		}
		if (m->keys[m->tree[0]].clock == CLOCK_NONE) {
			rc = m->error;
			break;
		}
		ev[n++] = in->ev[in->i++];
		m->stale = true;
	}
	m->stats.events += (uint64_t)n;
	return n ? n : rc;
}

static void merge_close(struct hwt_stream *s)
{
	struct merge *m = hwt_container_of(s, struct merge, s);

	for (size_t k = 0; k < m->n; k++)
		hwt_stream_close(m->in[k].s);
	free(m->keys);
	free(m->tree);
	free(m->won);
	free(m->in);
	free(m->events);
	free(m);
}

static const struct hwt_stream_ops merge_ops = { merge_next, merge_close };

int merge_new(struct hwt_stream **out, struct hwt_stream *const *in, size_t n)
{
	struct merge *m = n <= MERGE_MAX ? calloc(1, sizeof(*m)) : NULL;

	if (m) {
		m->keys = calloc(n + 1, sizeof(*m->keys));
		m->tree = calloc(n + 1, sizeof(*m->tree));
		m->won = calloc(n + 1, 2 * sizeof(*m->won));
		m->in = calloc(n + 1, sizeof(*m->in));
		m->events = malloc((n + 1) * BATCH * sizeof(*m->events));
	}
	if (!m || !m->keys || !m->tree || !m->won || !m->in || !m->events) {
		for (size_t k = 0; k < n; k++)
			hwt_stream_close(in[k]);
		if (m)
			merge_close(&m->s);	/* it has no inputs yet */
		return n > MERGE_MAX ? -EINVAL : -ENOMEM;
	}
	m->s = (struct hwt_stream){ .ops = &merge_ops, .name = "timeline" };
	m->n = n;
	for (size_t k = 0; k < n; k++) {
		m->in[k] = (struct input){ .s = in[k], .ev = m->events + k * BATCH };
		m->keys[k].in = (uint32_t)k;
	}
	/* nothing to merge is at its end */
	if (!n)
		m->keys[0].clock = CLOCK_NONE;
	*out = &m->s;
	return 0;
}

void merge_stats(const struct hwt_stream *s, struct merge_stats *out)
{
	*out = hwt_container_of((struct hwt_stream *)s, struct merge, s)->stats;
}
