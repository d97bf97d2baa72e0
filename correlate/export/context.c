/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * perf takes the context id that a CoreSight unit sends for the number of a thread, also where the
 * trace is that of one thread: each id must be a thread that has the code.
 */
#include <errno.h>
#include <string.h>

#include "../../decoders/flow/flow.h"
#include "export.h"

enum { CFG_CID = 1 << 6, CFG_VMID = 1 << 7 };	/* TRCCONFIGR */

#define BATCH	256
#define IDS_MAX	65536		/* different ids of one capture */

static int add_id(struct ex *e, const struct ex_queue *q, uint64_t id)
{
	struct ex_thread *t;

	/* the idle task is there, and has the code only if it is told for its process */
	if (!id)
		return ex_add_pid(e, 0) ? ex_nomem(e) : 0;
	if (id > INT32_MAX || (int32_t)id == q->tid || e->threads.n >= IDS_MAX ||
	    machine_pid(e->c->machine, (int32_t)id) != HWT_NONE)
		return 0;
	for (size_t i = 0; i < e->threads.n; i++)
		if (list_at(&e->threads, struct ex_thread, i)->tid == (int32_t)id)
			return 0;
	t = vec_push(&e->threads, sizeof(*t));
	if (!t)
		return ex_nomem(e);
	*t = (struct ex_thread){ .pid = q->pid, .tid = (int32_t)id };
	return 0;
}

static int of_queue(struct ex *e, const struct ex_queue *q)
{
	const struct hwt_interest want = { .level = HWT_LEVEL_CALLS,
		.time_hi = HWT_TIME_UNKNOWN, .unfolded = true };
	struct flow_args a = { .want = &want, .buf = q->b, .image = e->c->image,
		.machine = e->c->machine, .tsc = &e->c->tsc, .src = (uint32_t)(q->b - e->c->bufs) };
	struct hwt_event ev[BATCH];
	struct hwt_diag why;
	struct hwt_stream *s;
	int rc = 0, n;

	/* what can not be decoded at all is what perf will find, too */
	if (flow_ocsd_new(&s, &a, &why) < 0)
		return why.code == -ENOMEM ? ex_nomem(e) : 0;
	while (!rc && (n = hwt_stream_next(s, ev, BATCH)) > 0)
		for (int i = 0; i < n && !rc; i++) {
			if (e->o->stop && *e->o->stop)
				rc = diag_set(e->diag, -EINTR, 0, NULL, HWT_NO_OFF, "interrupted");
			else if (ev[i].type == HWT_EV_ASPACE && ev[i].u.aspace.valid & 1)
				rc = add_id(e, q, ev[i].u.aspace.id);
			if (!rc && ev[i].type == HWT_EV_ASPACE && ev[i].u.aspace.valid & 2)
				rc = add_id(e, q, ev[i].u.aspace.vmid);
		}
	hwt_stream_close(s);
	return rc;
}

static bool sends_ids(const struct ex_queue *q)
{
	for (size_t k = 0; k < q->b->ncfgs; k++) {
		const struct trace_cfg *g = &q->b->cfgs[k];

		if ((g->proto == HWT_PROTO_ETM4 || g->proto == HWT_PROTO_ETE) &&
		    g->r.etm4.configr & (CFG_CID | CFG_VMID))
			return true;
	}
	return false;
}

int ex_contexts(struct ex *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->queues.n && !rc && e->cs && !e->per_cpu; i++) {
		const struct ex_queue *q = list_at(&e->queues, struct ex_queue, i);

		if (sends_ids(q))
			rc = of_queue(e, q);
	}
	return rc;
}
