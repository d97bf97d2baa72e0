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
 * Its name from @time on (base ns, machine_set_comm(): always); the last one set is what
 * machine_comm() gives. Control bytes are kept as they are.
 */
int machine_set_comm_at(struct machine *m, int32_t tid, uint64_t time, const char *comm, size_t n);
int machine_set_comm(struct machine *m, int32_t tid, const char *comm, size_t n);
/* The same of a name that it has at @time, and may have had before. */
int machine_see_comm(struct machine *m, int32_t tid, uint64_t time, const char *comm, size_t n);
/* At @time it gets another name, which is told by what sees it next (an exec). */
int machine_renamed(struct machine *m, int32_t tid, uint64_t time);
/* Its name where nothing else tells one. */
int machine_default_comm(struct machine *m, int32_t tid, const char *comm, size_t n);
/* From @time on it has the name that @parent, known or not, has then. */
int machine_fork_comm(struct machine *m, int32_t tid, int32_t parent, uint64_t time);
const char *machine_comm(const struct machine *m, int32_t tid);	/* "" if not known */
/* At @time; machine_comm() for HWT_TIME_UNKNOWN, or without machine_sort() after the last name. */
const char *machine_comm_at(const struct machine *m, int32_t tid, uint64_t time);
int32_t machine_pid(const struct machine *m, int32_t tid);	/* HWT_NONE if not known */
size_t machine_tasks(const struct machine *m);
/* The @i-th task in order of addition; @i < machine_tasks(). */
void machine_task_at(const struct machine *m, size_t i, int32_t *pid, int32_t *tid);

/*
 * From @time (base ns) on, @tid runs on @cpu. tid HWT_NONE: not known from here on (lost records).
 * Entries may come out of order between CPUs and, a little, within one; machine_sort() orders
 * them, and the names, once.
 * @flags are those of the SCHED_SWITCH event.
 */
int machine_switch(struct machine *m, int32_t cpu, uint64_t time, int32_t pid, int32_t tid,
	uint8_t flags);
/*
 * At @time the task that runs on @cpu is about to go: from then until the next entry of the CPU
 * either task may be what a trace unit sees.
 */
int machine_switch_out(struct machine *m, int32_t cpu, uint64_t time);
void machine_sort(struct machine *m);

/*
 * The schedule of one CPU, read forwards. Plain value; the machine must outlive it and not
 * change.
 */
struct machine_cursor {
	const struct machine_run *v;
	size_t i, n;
	const struct spill *spill;	/* NULL: all in memory */
	int32_t pid, tid;		/* who runs now, HWT_NONE before the first entry */
};

struct machine_run {
	uint64_t time;			/* base ns */
	int32_t pid, tid;
	uint32_t seq;			/* order of addition, decides between equal times */
	uint32_t flags : 8;
	uint32_t lead : 24;		/* ns before @time that the task before was about to go */
};

void machine_cursor_init(struct machine_cursor *c, const struct machine *m, int32_t cpu);
/* Number of CPUs with a schedule, and the @i-th of them. */
size_t machine_ncpus(const struct machine *m);
int32_t machine_cpu_at(const struct machine *m, size_t i);

/* Time of the next switch of this CPU, HWT_TIME_UNKNOWN if there is none. */
static inline uint64_t machine_cursor_due(const struct machine_cursor *c)
{
	return c->i < c->n ? c->v[c->i].time : HWT_TIME_UNKNOWN;
}

/* From when on the next switch may have been made; not HWT_TIME_UNKNOWN if that has a time. */
static inline uint64_t machine_cursor_out(const struct machine_cursor *c)
{
	return c->i < c->n ? c->v[c->i].time - c->v[c->i].lead : HWT_TIME_UNKNOWN;
}

#define MACHINE_STEP	(1 << 16)	/* entries read before memory is given back */
/* What was read need not stay resident. */
void machine_cursor_done(const struct machine_cursor *c);

/* Takes one switch; only if machine_cursor_due() is not HWT_TIME_UNKNOWN. */
static inline const struct machine_run *machine_cursor_step(struct machine_cursor *c)
{
	const struct machine_run *r = &c->v[c->i++];

	c->pid = r->pid;
	c->tid = r->tid;
	if (c->spill && c->i % MACHINE_STEP == 0)
		machine_cursor_done(c);
	return r;
}

/*
 * Address spaces seen in the trace itself (CR3 of PIP, CONTEXTIDR): the pid that was last seen
 * running with it; HWT_NONE if never seen. What readers set counts more than what flow guesses.
 */
int machine_set_aspace(struct machine *m, uint64_t aspace, int32_t pid);
int machine_guess_aspace(struct machine *m, uint64_t aspace, int32_t pid);
int32_t machine_aspace(const struct machine *m, uint64_t aspace);
/* Whether the source said so of @pid, perhaps of others later: who ends gives its space back. */
bool machine_owns(const struct machine *m, uint64_t aspace, int32_t pid);

#endif
