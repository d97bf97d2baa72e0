/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_STORY_H
#define HWT_CORRELATE_STORY_H

/*
 * What tasks did lately, and who had each CPU: of a wait that is over it tells who ended it, what
 * that one had been doing meanwhile, and who had the CPU. Memory is bounded: the oldest is
 * forgotten.
 */
#include "task.h"

#define STORY_KEPT	(1u << 16)	/* stretches of tasks, and turns on CPUs */

/* A stretch of a task that is over. */
struct story_stretch {
	uint64_t before;	/* the one before of the task: number from 1 on, 0: none */
	struct hwt_interval from, to;
	int32_t tid;
	int32_t cpu;		/* READY: whose queue it was in last */
	int32_t call;		/* system call that it was in, HWT_NONE */
	int32_t by, by_cpu;	/* who woke it, and where: of a wait that a wakeup ended */
	uint8_t part;		/* enum hwt_part; interrupts are part of what they interrupt */
	uint8_t how;		/* enum hwt_waker */
	bool certain;		/* ... is what the record says */
	bool moved;		/* it waited in the queues of more than one CPU */
	char name[16];		/* of the interrupt */
};

/* One task on one CPU, over. */
struct story_turn {
	uint64_t before;	/* as above, of the CPU */
	struct hwt_interval from, to;
	int32_t tid;
	/* who leaves at the end is who came, and had not left in between */
	bool joined;
};

struct story_task {		/* what it does now */
	uint64_t last;
	struct hwt_interval from;
	int32_t cpu, call;
	uint8_t part;
	bool known, moved;
};

struct story_cpu {
	uint64_t last;
	struct hwt_interval from;
	int32_t tid;		/* HWT_NONE: nobody is known to be there */
	bool all_told;		/* it can not leave without a record */
	bool irq, softirq;	/* one is open */
	char irq_name[16];
	uint64_t vec;
};

struct story {
	const struct tasks *t;		/* who is recorded */
	struct story_stretch *stretch;	/* STORY_KEPT of each, by number */
	struct story_turn *turn;
	uint64_t nstretch, nturn;
	bool irq_ends, softirq_ends;	/* ends are recorded: what is open is open */
	struct idtab tasks;		/* of struct story_task, by tid */
	struct vec cpus;		/* of struct story_cpu */
};

/* @t outlives it. 0 or -ENOMEM. */
int story_new(struct story **out, const struct tasks *t);
void story_free(struct story *s);	/* NULL is fine */
/* An event, before the changes that it makes; then each of these. 0 or -ENOMEM. */
int story_event(struct story *s, const struct hwt_event *ev);
int story_change(struct story *s, const struct hwt_event *ev, const struct task_change *c);
/*
 * The longest waits of the task between two instants, at most @max, in order of time; how many.
 * What lies farther back than is kept is left out. Names of system calls are those of @arch.
 */
unsigned story_waits(const struct story *s, int32_t tid, struct hwt_interval from,
		     struct hwt_interval to, const char *arch, struct hwt_wait *v, unsigned max);

#endif
