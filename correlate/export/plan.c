/* SPDX-License-Identifier: BSD-2-Clause */
/* Which buffers are written, whose they are, and at which AUX offsets their bytes and holes lie. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "export.h"

enum { CFG_CID = 1 << 6, CFG_VMID = 1 << 7, CFG_TS = 1 << 11 };	/* TRCCONFIGR */

static bool is_etm(const struct trace_cfg *g)
{
	return g->proto == HWT_PROTO_ETM4 || g->proto == HWT_PROTO_ETE;
}

enum what { NOTHING, SOME_PT, SOME_CS };

/* What of a buffer can be written; units beside it are told. */
static enum what what_of(struct ex *e, const struct trace_buf *b)
{
	bool pt = b->ncfgs && b->cfgs[0].proto == HWT_PROTO_PT, etm = false;

	for (size_t k = 0; k < b->ncfgs; k++)
		etm |= is_etm(&b->cfgs[k]);
	for (size_t k = 0; k < b->ncfgs && !pt; k++) {
		const struct trace_cfg *g = &b->cfgs[k];

		if (!is_etm(g))
			ex_note(e, E_EXPORT_PART, "trace of %s%s%s in %s is not in the file",
				hwt_proto_name(g->proto), g->name ? " " : "",
				g->name ? g->name : "", b->name);
	}
	return pt ? SOME_PT : etm ? SOME_CS : NOTHING;
}

static int choose(struct ex *e)
{
	const struct trace_cfg *first;
	bool pt = false;

	for (size_t i = 0; i < e->c->nbufs; i++) {
		const struct trace_buf *b = &e->c->bufs[i];
		enum what w = what_of(e, b);
		struct ex_queue *q;

		if (w == NOTHING) {
			e->res->left_out++;
			continue;
		}
		pt |= w == SOME_PT;
		e->cs |= w == SOME_CS;
		q = vec_push(&e->queues, sizeof(*q));
		if (!q)
			return ex_nomem(e);
		*q = (struct ex_queue){ .b = b, .cpu = b->cpu, .pid = b->pid, .tid = b->tid,
			.raw = w == SOME_CS && b->framing == FRAMING_NONE };
	}
	if (!e->queues.n || (pt && e->cs))
		return diag_set(e->diag, -HWT_E_FORMAT, E_EXPORT_NO, e->c->path, HWT_NO_OFF,
				"%s", pt ? "trace of Intel PT and of CoreSight" :
				"no trace buffer of Intel PT, ETMv4 or ETE");
	e->res->bufs = (uint32_t)e->queues.n;
	first = list_at(&e->queues, struct ex_queue, 0)->b->cfgs;
	while (e->cs && !is_etm(first))
		first++;
	e->res->proto = first->proto;
	return 0;
}

/*
 * perf finds the code of a CPU's trace by the schedule for PT, by context ids and at the times of
 * timestamps for CoreSight. Without them it wants the trace of one thread.
 */
static bool by_cpu(const struct ex *e)
{
	for (size_t i = 0; i < e->queues.n; i++) {
		const struct ex_queue *q = list_at(&e->queues, struct ex_queue, i);

		if (q->tid != HWT_NONE || q->cpu == HWT_NONE)
			return false;
		for (size_t k = 0; k < i; k++)
			if (list_at(&e->queues, struct ex_queue, k)->cpu == q->cpu)
				return false;
		for (size_t k = 0; k < q->b->ncfgs && e->cs; k++) {
			uint32_t r = q->b->cfgs[k].r.etm4.configr;

			if (is_etm(&q->b->cfgs[k]) && !(r & CFG_TS && r & (CFG_CID | CFG_VMID)))
				return false;
		}
	}
	return !e->cs || machine_tasks(e->c->machine);
}

static int32_t free_tid(const struct ex *e)
{
	int32_t max = 0, pid, tid;

	for (size_t i = 0; i < machine_tasks(e->c->machine); i++) {
		machine_task_at(e->c->machine, i, &pid, &tid);
		max = pid > max ? pid : max;
		max = tid > max ? tid : max;
	}
	for (size_t i = 0; i < e->queues.n; i++)
		if (list_at(&e->queues, struct ex_queue, i)->tid > max)
			max = list_at(&e->queues, struct ex_queue, i)->tid;
	return max < INT32_MAX - (int32_t)e->queues.n ? max + 1 : 1;
}

static bool span_owned(const struct ex_queue *q)
{
	for (size_t k = 0; k < q->b->nspans; k++)
		if (q->b->spans[k].tid != HWT_NONE)
			return true;
	return false;
}

/* A recording of one thread from CPU to CPU: what the AUX records say of their owner. */
static void from_spans(struct ex_queue *q)
{
	const struct trace_span *s = q->b->spans;

	for (size_t k = 1; k < q->b->nspans; k++)
		if (s[k].tid != s[0].tid || s[k].pid != s[0].pid)
			return;
	if (q->b->nspans && s[0].tid != HWT_NONE) {
		q->pid = s[0].pid;
		q->tid = s[0].tid;
	}
}

/* Gives each queue a thread, if it needs one. */
static int owners(struct ex *e)
{
	int32_t next = free_tid(e), first = next;
	unsigned made = 0;

	for (size_t i = 0; i < e->queues.n; i++) {
		struct ex_queue *q = list_at(&e->queues, struct ex_queue, i);
		bool taken = false;

		if (e->per_cpu && (e->cs || machine_ncpus(e->c->machine) || span_owned(q)))
			continue;
		if (q->tid == HWT_NONE && !e->per_cpu)
			from_spans(q);
		for (size_t k = 0; k < i && q->tid != HWT_NONE; k++)
			taken |= list_at(&e->queues, struct ex_queue, k)->tid == q->tid;
		if (q->pid == HWT_NONE && q->tid != HWT_NONE)
			q->pid = machine_pid(e->c->machine, q->tid);
		if (q->tid == HWT_NONE || taken) {
			q->tid = next++;
			made++;
		}
		if (q->pid == HWT_NONE)
			q->pid = e->new_pid = first;
		if (ex_add_pid(e, q->pid))
			return ex_nomem(e);
	}
	for (size_t i = 0; i < e->queues.n && !e->per_cpu; i++)
		list_at(&e->queues, struct ex_queue, i)->cpu = HWT_NONE;
	for (size_t i = 0; i < e->queues.n && e->per_cpu; i++)
		if (list_at(&e->queues, struct ex_queue, i)->tid == HWT_NONE)
			list_at(&e->queues, struct ex_queue, i)->pid = HWT_NONE;
	if (made)
		ex_note(e, E_EXPORT_THREAD, "%u trace buffer%s of no known thread: in the file the "
			"trace of thread %d%s", made, made == 1 ? " is" : "s are", first,
			made == 1 ? "" : " and the following");
	return 0;
}

/* --- offsets --- */

struct run {			/* over the spans of a queue */
	struct ex *e;
	uint32_t q;
	uint64_t end;		/* AUX offset behind all so far */
	size_t last;		/* index of the last AUX record, SIZE_MAX: none */
};

static int add_aux(struct run *r, uint64_t off, uint64_t size, uint64_t flags, uint64_t time,
		   int32_t pid, int32_t tid)
{
	struct ex_aux *a = vec_push(&r->e->auxs, sizeof(*a));
	const struct ex_queue *q = list_at(&r->e->queues, struct ex_queue, r->q);

	if (!a || r->e->auxs.n > UINT32_MAX)
		return ex_nomem(r->e);
	if (!r->e->per_cpu) {
		pid = q->pid;
		tid = q->tid;
	} else if (r->e->new_pid != HWT_NONE && tid == HWT_NONE) {
		pid = q->pid;
		tid = q->tid;
	}
	if (q->raw)
		flags |= P_AUX_CS_RAW;
	*a = (struct ex_aux){ .off = off, .size = size, .flags = flags, .q = r->q, .pid = pid,
		.tid = tid, .time = time == HWT_TIME_UNKNOWN ? 0 : time };
	r->last = r->e->auxs.n - 1;
	r->end = off + size;
	return 0;
}

/*
 * A hole between @r->end and @*start, where the next bytes are to lie; they are moved on where
 * that is too near. @flags are for the record that follows.
 */
static int add_hole(struct run *r, unsigned cause, uint64_t lost, uint64_t *start, uint64_t time,
		    uint64_t *flags)
{
	uint64_t left = *start >= r->end ? *start - r->end : 0;

	if (left < lost) {
		if (lost > UINT64_MAX - r->end)
			lost = UINT64_MAX - r->end;
		*start = r->end + lost;
	}
	switch (cause) {
	case HWT_GAP_NONE:
		return 0;
	case HWT_GAP_COLLISION:
		*flags |= P_AUX_COLLISION;
		return 0;
	case HWT_GAP_AUX_MISSING:
		/* announced, and its bytes are not there */
		return lost ? add_aux(r, *start - lost, lost, 0, time, HWT_NONE, HWT_NONE) : 0;
	}
	if (cause != HWT_GAP_AUX_LOST)
		ex_note(r->e, E_EXPORT_HOLE, "a hole of the kind \"%s\" is in the file as lost "
			"trace", hwt_gap_name(cause));
	if (r->last == SIZE_MAX && add_aux(r, *start - lost, 0, 0, time, HWT_NONE, HWT_NONE))
		return -ENOMEM;
	list_at(&r->e->auxs, struct ex_aux, r->last)->flags |= P_AUX_TRUNCATED;
	return 0;
}

static int add_span(struct run *r, const struct trace_span *s)
{
	const struct ex_queue *q = list_at(&r->e->queues, struct ex_queue, r->q);
	struct ex_chunk c = { .size = s->size, .p = s->p, .time = s->time, .q = r->q }, *slot;
	uint64_t flags = s->flags & (P_AUX_PARTIAL | P_AUX_COLLISION);
	uint64_t start = s->pos > r->end ? s->pos : r->end;
	bool gap;
	int rc = 0;

	if (r->e->c->format && strcmp(r->e->c->format, "perf.data"))
		flags = 0;	/* of another recorder */
	if (q->b->framing == FRAMING_TPIU)
		rc = ex_frames(r->e, s, &c);
	else if (r->e->cs && q->b->framing == FRAMING_NONE && !q->raw)
		rc = ex_frame_raw(r->e, s, q->unit_id, &c);
	else if (q->b->framing == FRAMING_MEM && s + 1 == q->b->spans + q->b->nspans &&
		 c.size && !(c.size % EX_FRAME))
		ex_last_frame(&c);
	if (!rc)
		rc = add_hole(r, s->cause_before, s->lost_before, &start, s->time, &flags);
	if (rc || !c.size)
		return rc;
	gap = start != r->end || s->cause_before != HWT_GAP_NONE;
	if (c.size > UINT64_MAX - start)
		return diag_set(r->e->diag, -HWT_E_FORMAT, E_EXPORT_NO, r->e->c->path, HWT_NO_OFF,
				"trace of %s at an impossible offset", q->b->name);
	r->e->snapshot |= !r->e->cs && gap && s != q->b->spans;
	rc = add_aux(r, start, c.size, flags, s->time, s->pid, s->tid);
	slot = rc ? NULL : vec_push(&r->e->chunks, sizeof(*slot));
	if (!slot)
		return rc ? rc : ex_nomem(r->e);
	c.off = start;
	*slot = c;
	r->e->res->trace_bytes += c.size;
	return 0;
}

static int add_queue(struct ex *e, uint32_t i)
{
	struct run r = { .e = e, .q = i, .last = SIZE_MAX };
	const struct trace_buf *b = list_at(&e->queues, struct ex_queue, i)->b;
	uint64_t start, none = 0;
	int rc = 0;

	for (size_t k = 0; k < b->nspans && !rc; k++)
		rc = add_span(&r, &b->spans[k]);
	start = r.end;
	if (!rc && b->cause_after != HWT_GAP_NONE)
		rc = add_hole(&r, b->cause_after, b->lost_after, &start, HWT_TIME_UNKNOWN, &none);
	/* behind the last byte only a record can stand for a loss that has a size */
	if (!rc && none)
		rc = add_aux(&r, start, 0, none, HWT_TIME_UNKNOWN, HWT_NONE, HWT_NONE);
	return rc;
}

/* Whether the "in" side of a switch names both tasks, and what perf is told of it. */
static void switches(struct ex *e)
{
	const struct machine *m = e->c->machine;
	bool unknown = false, owned = false;

	for (size_t i = 0; i < machine_ncpus(m); i++) {
		struct machine_cursor cur;

		machine_cursor_init(&cur, m, machine_cpu_at(m, i));
		while (!unknown && machine_cursor_due(&cur) != HWT_TIME_UNKNOWN)
			unknown = machine_cursor_step(&cur)->tid == HWT_NONE;
		e->switches = 3;
	}
	for (size_t i = 0; i < e->queues.n && e->per_cpu; i++)
		owned |= span_owned(list_at(&e->queues, struct ex_queue, i));
	if (e->switches && (unknown || owned))
		e->switches = 2;
	if (!e->timed)
		e->switches = 0;
}

/* perf has one line for a clock; here it may be of many pieces. */
static void straight(struct ex *e)
{
	const struct time_line *l = &e->c->fit.lo;
	struct time_map one = e->c->tsc;
	uint64_t most = 0;

	if (!e->c->tsc.fit)
		return;
	one.fit = NULL;
	for (size_t i = 0; i < l->n; i++) {
		uint64_t a = time_map_ns_ordered(&one, l->v[i].from);
		uint64_t b = time_fit_lo(e->c->tsc.fit, l->v[i].from);
		uint64_t d = a > b ? a - b : b - a;

		most = d > most ? d : most;
	}
	if (most)
		ex_note(e, E_EXPORT_PART, "the clock is known from pairs of readings; perf takes "
			"one line for it, up to %llu ns from the times here",
			(unsigned long long)most);
}

int ex_plan(struct ex *e)
{
	int rc = choose(e);

	if (rc)
		return rc;
	e->per_cpu = by_cpu(e);
	e->timed = e->cs ? e->per_cpu :
		time_map_valid(&e->c->tsc) || e->c->time_start != HWT_TIME_UNKNOWN;
	straight(e);
	switches(e);
	return owners(e);
}

int ex_offsets(struct ex *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->queues.n && !rc; i++) {
		struct ex_queue *q = list_at(&e->queues, struct ex_queue, i);

		/* perf takes trace without frames for that of the first unit */
		if (e->units.n > 1)
			q->raw = false;
		rc = add_queue(e, (uint32_t)i);
	}
	return rc;
}
