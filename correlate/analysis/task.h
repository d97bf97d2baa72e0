/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_TASK_H
#define HWT_CORRELATE_TASK_H

/* What each task does, from the kernel's events in their order: runs, waits, is interrupted. */
#include <hwtrace/latency.h>

#include "../../hwtrace/base/idtab.h"
#include "../../hwtrace/base/vec.h"

#define TASK_CPUS	8192	/* larger numbers of CPUs are not followed */

struct task {
	int32_t pid, tid;
	int32_t cpu;		/* it runs there, or ran last; HWT_NONE: not known */
	uint8_t state;		/* enum hwt_part: RUN, PREEMPTED, BLOCKED, READY, AWAY, UNKNOWN */
	uint8_t part;		/* the same, with interrupts of its CPU */
	bool flow;		/* RUN, because the trace shows that it does */
	bool lit;		/* its instructions are traced, and have not stopped */
	/*
	 * In a recording of some tasks: it is known to be one of them. @unseen: events of the
	 * kernel before that, which are those that it may have been hidden between. @born: among
	 * the events that tasks_probe() looked at
	 */
	bool recorded, born;
	uint64_t unseen;
	int32_t call;		/* number of the 64-bit system call that it is in, HWT_NONE */
	/*
	 * Holes that may have hidden it: in trace of it alone, and of where it was before; to them
	 * come those of where it is now, less @base, which is what they were as it came
	 */
	uint64_t holes, base;
	void *own;		/* the user's */
};

struct task_cpu {
	int32_t tid;		/* what runs, HWT_NONE: not known, 0: idle */
	uint64_t seen;		/* when it was last seen to */
	uint32_t irq, softirq;	/* open ones */
	uint64_t holes;		/* in trace of this CPU */
	int32_t flow;		/* task whose instructions were seen last, 0: none */
};

/* A task begins to do something else; it stands for what it did before until the next call. */
struct task_change {
	struct task *task;
	uint8_t part;		/* what it does from now on */
	/*
	 * what it did up to now, as is known now: @task->part, or AWAY where it was taken for
	 * blocked, and who woke it may be outside of the recording
	 */
	uint8_t was;
	struct hwt_interval at;	/* when it began to */
};

#define TASK_CHANGES	4	/* of one event */

struct tasks {
	struct idtab tasks;	/* of struct task, by tid */
	struct vec cpus;	/* of struct task_cpu */
	uint64_t holes;		/* in trace of no known CPU or task, and lost kernel records */
	uint64_t any;		/* all holes */
	/* task_scope.c: whose events there are; the kernel's so far; tasks that are @recorded */
	struct hwt_scope scope;
	uint64_t events, recorded;
	/* by tasks_probe(): switches, those that do not join the one before; records are lost */
	unsigned joins, broken;
	bool lost;
	unsigned known;		/* bit of each part that the events seen so far tell */
	uint8_t clock;		/* enum hwt_clock of them */
	bool timed;		/* @clock is known */
};

void tasks_free(struct tasks *t);
/* Looks at the begin of the kernel's events for which parts there are. */
void tasks_probe(struct tasks *t, struct hwt_session *s);
/* The task, NULL if nothing is known of it. */
struct task *tasks_find(const struct tasks *t, int32_t tid);
/* The task that leaves its CPU for good by this event; 0: none does. */
int32_t tasks_dead(const struct hwt_event *ev);
/* The task, made if it is new; NULL for no task (idle, not known) or without memory. */
struct task *tasks_get(struct tasks *t, int32_t tid);
/*
 * Takes an event. Fills @out and returns how many tasks change; @task->part is still the old one,
 * and becomes the new one by task_apply(). -ENOMEM.
 */
int tasks_event(struct tasks *t, const struct hwt_event *ev,
		struct task_change out[TASK_CHANGES]);
static inline void task_apply(const struct task_change *c)
{
	c->task->part = c->part;
}
/*
 * Its trace shows that it runs now, on @cpu (HWT_NONE: one that is not known), and where no switch
 * tells it up to where tracing stops. Of the flow tasks_event() takes what no interest in places
 * leaves out, and frames.
 */
void tasks_seen(struct tasks *t, struct task *k, int32_t cpu);
/* Holes so far that may have hidden what the task did: never less than before. */
uint64_t tasks_holes(const struct tasks *t, const struct task *k);
/* The same of a CPU. */
uint64_t tasks_cpu_holes(const struct tasks *t, int32_t cpu);
/*
 * Events so far that what the task did may be missing between, as it is not known to be one of
 * those that were recorded: never less than before.
 */
uint64_t tasks_unseen(const struct tasks *t, const struct task *k);
/* task_scope.c: which tasks are recorded, as this event tells. @probe: by tasks_probe(). */
void tasks_scope(struct tasks *t, const struct hwt_event *ev, bool probe);
void tasks_scope_begin(struct tasks *t);	/* behind the last of the probe's */
/* NULL: its number is too large, or no memory. */
struct task_cpu *tasks_cpu(struct tasks *t, int32_t cpu);

#endif
