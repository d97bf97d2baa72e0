/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MACHINE_MACHINE_H
#define HWT_MACHINE_MACHINE_H

/*
 * Who ran where: tasks and the schedule of each CPU, filled by a source reader, then read by
 * flow.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/event.h>

struct machine;

int machine_new(struct machine **out);
void machine_free(struct machine *m);

/* A task exists. @pid HWT_NONE: not known yet (a fork or comm seen before its parent is fine). */
int machine_task(struct machine *m, int32_t pid, int32_t tid);
/*
 * Its name from @time on (base ns); the last one set is what machine_comm() gives. Control bytes
 * are kept as they are.
 */
int machine_set_comm(struct machine *m, int32_t tid, const char *comm, size_t n);
const char *machine_comm(const struct machine *m, int32_t tid);	/* "" if not known */
int32_t machine_pid(const struct machine *m, int32_t tid);	/* HWT_NONE if not known */
size_t machine_tasks(const struct machine *m);
/* The @i-th task in order of addition; @i < machine_tasks(). */
void machine_task_at(const struct machine *m, size_t i, int32_t *pid, int32_t *tid);

/*
 * From @time (base ns) on, @tid runs on @cpu. tid HWT_NONE: not known from here on (lost records).
 * Entries may come out of order between CPUs and, a little, within one; machine_sort() orders
 * them once.
 * @flags are those of the SCHED_SWITCH event.
 */
int machine_switch(struct machine *m, int32_t cpu, uint64_t time, int32_t pid, int32_t tid,
	uint8_t flags);
void machine_sort(struct machine *m);

/*
 * The schedule of one CPU, read forwards. Plain value; the machine must outlive it and not
 * change.
 */
struct machine_cursor {
	const struct machine_run *v;
	size_t i, n;
	int32_t pid, tid;		/* who runs now, HWT_NONE before the first entry */
};

struct machine_run {
	uint64_t time;			/* base ns */
	int32_t pid, tid;
	uint32_t seq;			/* order of addition, decides between equal times */
	uint8_t flags;
};

void machine_cursor_init(struct machine_cursor *c, const struct machine *m, int32_t cpu);

/* Time of the next switch of this CPU, HWT_TIME_UNKNOWN if there is none. */
static inline uint64_t machine_cursor_due(const struct machine_cursor *c)
{
	return c->i < c->n ? c->v[c->i].time : HWT_TIME_UNKNOWN;
}

/* Takes one switch; only if machine_cursor_due() is not HWT_TIME_UNKNOWN. */
static inline const struct machine_run *machine_cursor_step(struct machine_cursor *c)
{
	const struct machine_run *r = &c->v[c->i++];

	c->pid = r->pid;
	c->tid = r->tid;
	return r;
}

/*
 * Address spaces seen in the trace itself (CR3 of PIP, CONTEXTIDR): the pid that was last seen
 * running with it.
 * Set by flow or by readers; HWT_NONE if never seen.
 */
int machine_set_aspace(struct machine *m, uint64_t aspace, int32_t pid);
int32_t machine_aspace(const struct machine *m, uint64_t aspace);

#endif
