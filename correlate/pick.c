/* SPDX-License-Identifier: BSD-2-Clause */
#include "pick.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <hwtrace/abi.h>
#include <hwtrace/uapi.h>

struct pick {
	struct hwt_stream s;
	struct hwt_stream *up;
	bool kernel, switches, shared;
	const struct hwt_filter *filter;
	uint64_t time_lo, time_hi;
	int32_t *cpus, *tids;
	size_t ncpus, ntids;
	uint64_t number;	/* events seen */
};

static bool one_of(const int32_t *v, size_t n, int64_t x)
{
	for (size_t i = 0; i < n; i++)
		if (v[i] == x)
			return true;
	return false;
}

static bool in_window(const struct pick *p, const struct hwt_event *ev)
{
	if (ev->time == HWT_TIME_UNKNOWN || ev->clock != HWT_CLOCK_BASE)
		return true;
	if (ev->time > p->time_hi)
		return false;
	return ev->span == HWT_SPAN_UNKNOWN || ev->time >= p->time_lo ||
		ev->span >= p->time_lo - ev->time;
}

/* A field of the record is the id of one of the tasks: what wakes a thread is about it. */
static bool about(const struct pick *p, const struct hwt_event *ev)
{
	const struct hwt_abi_event *e;
	const struct hwt_abi_field *f;
	struct hwt_abi_value v;
	unsigned n = 0;

	if (ev->u.rec.id >= HWT_ID_DIRTY ||
	    hwt_abi_record(&e, ev->u.rec.data, ev->u.rec.size) <= 0 || !e)
		return false;
	f = e->fields(&n);
	for (unsigned i = 0; i < n; i++)
		if (f[i].type == HWT_ABI_pid && hwt_abi_value(&v, &f[i], ev->u.rec.data) &&
		    one_of(p->tids, p->ntids, (int64_t)v.u))
			return true;
	return false;
}

static bool kernel_wanted(const struct pick *p, const struct hwt_event *ev)
{
	if (!in_window(p, ev) || (p->ncpus && !one_of(p->cpus, p->ncpus, ev->cpu)))
		return false;
	if (p->ntids && !one_of(p->tids, p->ntids, ev->tid != HWT_NONE ? ev->tid : ev->pid) &&
	    !about(p, ev))
		return false;
	return !p->filter || hwt_filter_wants(p->filter, ev);
}

static bool wanted(struct pick *p, struct hwt_event *ev)
{
	if (ev->type == HWT_EV_NONE)
		return false;
	if (!p->kernel)
		return (p->switches || ev->type != HWT_EV_SCHED_SWITCH) &&
			(p->shared || ev->cpu != HWT_NONE);
	if (ev->type != HWT_EV_RECORD)
		return false;
	ev->u.rec.number = ++p->number;
	return kernel_wanted(p, ev);
}

/* One batch of upstream a call, so that what is dropped can not go on for long unheard. */
static int pick_next(struct hwt_stream *s, struct hwt_event *ev, int max)
{
	struct pick *p = hwt_container_of(s, struct pick, s);
	int n = hwt_stream_next(p->up, ev, max), kept = 0;

	for (int i = 0; i < n; i++)
		if (wanted(p, &ev[i]))
			ev[kept++] = ev[i];
	if (n <= 0 || kept)
		return n <= 0 ? n : kept;
	ev[0] = (struct hwt_event){ .type = HWT_EV_NONE, .time = ev[n - 1].time,
		.span = ev[n - 1].span, .clock = ev[n - 1].clock, .cpu = ev[n - 1].cpu,
		.pid = HWT_NONE, .tid = HWT_NONE, .src = ev[n - 1].src, .off = ev[n - 1].off };
	return 1;
}

static void pick_close(struct hwt_stream *s)
{
	struct pick *p = hwt_container_of(s, struct pick, s);

	hwt_stream_close(p->up);
	free(p->cpus);
	free(p->tids);
	free(p);
}

static const struct hwt_stream_ops pick_ops = { pick_next, pick_close };

static int32_t *copy(const int32_t *v, size_t n)
{
	int32_t *c = n <= SIZE_MAX / sizeof(*c) ? malloc(n * sizeof(*c) + 1) : NULL;

	if (c && n)
		memcpy(c, v, n * sizeof(*c));
	return c;
}

static struct pick *pick_new(struct hwt_stream *up)
{
	struct pick *p = calloc(1, sizeof(*p));

	if (!p) {
		hwt_stream_close(up);
		return NULL;
	}
	p->s = (struct hwt_stream){ .ops = &pick_ops, .name = up->name };
	p->up = up;
	return p;
}

int pick_kernel_new(struct hwt_stream **out, const struct hwt_interest *want,
		    const struct hwt_filter *filter, struct hwt_stream *up)
{
	struct pick *p = pick_new(up);

	if (!p)
		return -ENOMEM;
	p->kernel = true;
	p->filter = filter;
	p->time_lo = want->time_lo;
	p->time_hi = want->time_hi;
	p->cpus = copy(want->cpus, want->ncpus);
	p->tids = copy(want->tids, want->ntids);
	p->ncpus = want->ncpus;
	p->ntids = want->ntids;
	if (!p->cpus || !p->tids) {
		pick_close(&p->s);
		return -ENOMEM;
	}
	*out = &p->s;
	return 0;
}

int pick_flow_new(struct hwt_stream **out, bool switches, bool shared, struct hwt_stream *up)
{
	struct pick *p = pick_new(up);

	if (!p)
		return -ENOMEM;
	p->switches = switches;
	p->shared = shared;
	*out = &p->s;
	return 0;
}
