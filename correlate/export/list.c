/* SPDX-License-Identifier: BSD-2-Clause */
/* All that has a time, in its order: tasks, maps, switches, AUX records. */
#include <errno.h>
#include <stdlib.h>

#include "export.h"

int ex_add_pid(struct ex *e, int32_t pid)
{
	int32_t *slot;

	for (size_t i = 0; i < e->pids.n; i++)
		if (*list_at(&e->pids, int32_t, i) == pid)
			return 0;
	slot = vec_push(&e->pids, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = pid;
	return 0;
}

static int add(struct ex *e, const struct ex_event *ev)
{
	struct ex_event *slot;

	if (e->events.n >= UINT32_MAX)
		return -ENOMEM;
	slot = vec_push(&e->events, sizeof(*slot));
	if (!slot)
		return -ENOMEM;
	*slot = *ev;
	if (ev->kind > EX_MAP)
		slot->seq = (uint32_t)e->events.n;
	return 0;
}

/* When the process was forked; else the first time of all, so that listings count from it. */
static uint64_t born(const struct ex *e, int32_t pid)
{
	for (size_t i = 0; i < e->nhist; i++)
		if (e->hist[i].kind == IMAGE_FORK && e->hist[i].pid == pid)
			return e->hist[i].time;
	return e->c->time_start == HWT_TIME_UNKNOWN ? 0 : e->c->time_start;
}

/* A name makes a task known; one without name is a thread that its process began. */
static int add_task(struct ex *e, struct ex_event *ev)
{
	ev->index = !*machine_comm(e->c->machine, ev->tid);
	ev->pid2 = ev->tid2 = ev->pid;
	return ev->index && ev->tid == ev->pid ? 0 : add(e, ev);
}

static int tasks(struct ex *e)
{
	const struct machine *m = e->c->machine;
	/* the kernel's own task, which perf knows anyhow, stands where time begins */
	struct ex_event idle = { .kind = EX_TASK, .time = e->c->time_start };
	int rc = 0;

	if (e->timed && idle.time != HWT_TIME_UNKNOWN)
		rc = add(e, &idle);

	for (size_t i = 0; i < machine_tasks(m) && !rc; i++) {
		struct ex_event ev = { .kind = EX_TASK };

		machine_task_at(m, i, &ev.pid, &ev.tid);
		if (ev.pid == HWT_NONE || ev.tid == HWT_NONE)
			continue;
		ev.time = born(e, ev.pid);
		rc = add_task(e, &ev);
	}
	return rc;
}

static int forks(struct ex *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->nhist && !rc; i++) {
		const struct image_change *h = &e->hist[i];
		struct ex_event ev = { .kind = EX_EXEC, .time = h->time, .pid = h->pid,
			.tid = h->pid, .seq = (uint32_t)i };

		if (h->kind == IMAGE_FORK) {
			ev.kind = EX_FORK;
			ev.pid2 = ev.tid2 = h->parent;
		} else if (h->kind != IMAGE_EXEC || h->pid == HWT_NONE) {
			continue;
		}
		rc = add(e, &ev);
	}
	return rc;
}

static int maps(struct ex *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->maps.n && !rc; i++) {
		const struct ex_map *m = list_at(&e->maps, struct ex_map, i);

		rc = add(e, &(struct ex_event){ .kind = EX_MAP, .time = m->time, .pid = m->pid,
			 .index = (uint32_t)i, .seq = m->seq });
	}
	return rc;
}

/* One entry of a schedule: the "out" of who ran, the "in" of who runs. */
static int one_switch(struct ex *e, int32_t cpu, const struct machine_run *r,
		      const struct machine_run *prev)
{
	struct ex_event ev = { .kind = EX_SWITCH, .time = r->time, .cpu = cpu, .flags = r->flags,
		.pid = r->pid, .tid = r->tid, .pid2 = prev ? prev->pid : 0,
		.tid2 = prev ? prev->tid : 0 };
	int rc = 0;

	if (!prev && !r->flags && r->tid != HWT_NONE) {
		/* the first one is who ran as tracing began: not a switch */
		ev.kind = EX_ITRACE;
		return add(e, &ev);
	}
	ev.index = 1;
	if (e->switches == 3 || r->tid == HWT_NONE)
		rc = add(e, &ev);
	ev.index = 0;
	return rc || r->tid == HWT_NONE ? rc : add(e, &ev);
}

static int schedule(struct ex *e)
{
	const struct machine *m = e->c->machine;
	int rc = 0;

	for (size_t i = 0; i < machine_ncpus(m) && e->switches && !rc; i++) {
		int32_t cpu = machine_cpu_at(m, i);
		const struct machine_run *prev = NULL;
		struct machine_cursor cur;

		machine_cursor_init(&cur, m, cpu);
		while (!rc && machine_cursor_due(&cur) != HWT_TIME_UNKNOWN) {
			const struct machine_run *r = machine_cursor_step(&cur);

			rc = one_switch(e, cpu, r, prev);
			prev = r;
		}
	}
	return rc;
}

/* Trace of one thread begins with its name; so does that of a CPU whose schedule is not known. */
static int starts(struct ex *e)
{
	int rc = 0;

	for (size_t i = 0; i < e->threads.n && !rc; i++) {
		const struct ex_thread *t = list_at(&e->threads, struct ex_thread, i);

		rc = add_task(e, &(struct ex_event){ .kind = EX_TASK, .pid = t->pid,
			      .tid = t->tid });
	}
	for (size_t i = 0; i < e->queues.n && !rc; i++) {
		const struct ex_queue *q = list_at(&e->queues, struct ex_queue, i);

		if (q->tid == HWT_NONE)
			continue;
		if (machine_pid(e->c->machine, q->tid) == HWT_NONE)
			rc = add_task(e, &(struct ex_event){ .kind = EX_TASK, .pid = q->pid,
				      .tid = q->tid });
		if (!rc)
			rc = add(e, &(struct ex_event){ .kind = EX_ITRACE, .cpu = q->cpu,
				 .pid = q->pid, .tid = q->tid });
	}
	return rc;
}

static int auxs(struct ex *e)
{
	uint64_t time = 0;
	uint32_t q = 0;
	int rc = 0;

	for (size_t i = 0; i < e->auxs.n && !rc; i++) {
		struct ex_aux *a = list_at(&e->auxs, struct ex_aux, i);

		/* in the order of their bytes */
		time = a->q == q && time > a->time ? time : a->time;
		q = a->q;
		a->time = time;
		rc = add(e, &(struct ex_event){ .kind = EX_AUX, .time = time,
			 .index = (uint32_t)i });
	}
	return rc;
}

/* What happens to address spaces stays in the order in which it was recorded. */
static unsigned rank(const struct ex_event *ev)
{
	return ev->kind <= EX_MAP ? EX_MAP : ev->kind;
}

static int by_time(const void *pa, const void *pb)
{
	const struct ex_event *a = pa, *b = pb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	if (rank(a) != rank(b))
		return rank(a) < rank(b) ? -1 : 1;
	return a->seq < b->seq ? -1 : a->seq > b->seq;
}

int ex_list(struct ex *e)
{
	int rc = forks(e);

	rc = rc ? rc : tasks(e);
	rc = rc ? rc : maps(e);
	rc = rc ? rc : starts(e);
	rc = rc ? rc : schedule(e);
	rc = rc ? rc : auxs(e);
	if (rc)
		return ex_nomem(e);
	if (e->events.n)
		qsort(e->events.v, e->events.n, sizeof(struct ex_event), by_time);
	return 0;
}
