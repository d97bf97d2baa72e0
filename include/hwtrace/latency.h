/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_LATENCY_H
#define HWTRACE_LATENCY_H

/*
 * How long it takes from one point to another: pairs of events out of a timeline, each with its
 * time as an interval, and where that time went.
 *
 * A point is one of
 *	a kernel event		sched.switch where next_comm ~ "a*", as in <hwtrace/filter.h>
 *	a function		its entry: memcpy, pthread_*; its return: memcpy:exit
 *	an address		0x401136
 *	a source line		main.c:12
 */
#include <stdbool.h>

#include <hwtrace/timeline.h>

/* Where the time of a task goes. What a capture can not tell is not known, not zero. */
enum hwt_part {
	/* the task itself runs, in user or kernel mode: between a switch to it and one from it */
	HWT_PART_RUN,
	HWT_PART_PREEMPTED,	/* ready, but made to leave its CPU */
	HWT_PART_BLOCKED,	/* waits for something */
	HWT_PART_READY,		/* woken, and waits for a CPU */
	HWT_PART_IRQ,		/* an interrupt runs on its CPU */
	HWT_PART_SOFTIRQ,
	/* does not run, and no switch tells why: another task was seen on its CPU */
	HWT_PART_AWAY,
	/* nothing tells: it was seen, but no switch told that it came to its CPU */
	HWT_PART_UNKNOWN,
	HWT_PARTS
};
/* "on-cpu", "preempted", ...; static, never NULL. */
const char *hwt_part_name(unsigned part);

/* From one @from to the @to that ended it. */
struct hwt_pair {
	uint64_t number;	/* from 1 on, in order of their ends */
	struct hwt_event from, to;	/* what they point to is gone */
	int32_t pid, tid, cpu;	/* of @from; of the task that a key names */
	uint64_t key;		/* what both have in common: task, CPU or value of a field */
	/* ns; @hi HWT_TIME_UNKNOWN: no bound; both: the time of an end is not known */
	struct hwt_interval took;
	struct hwt_interval part[HWT_PARTS];	/* their sum holds @took */
	bool split;		/* @part is valid */
	bool tainted;		/* touches a hole: an end may belong to another pair */
	/*
	 * @tainted, as not all tasks were recorded: a begin or an end between the two may be one of
	 * those that were not
	 */
	bool outside;
};

/* Who ended a wait. */
enum hwt_waker {
	HWT_WAKER_UNKNOWN,	/* no record tells */
	HWT_WAKER_TASK, HWT_WAKER_IRQ, HWT_WAKER_SOFTIRQ
};
/* "task", "irq", "softirq"; "unknown". Static, never NULL. */
const char *hwt_waker_name(unsigned how);

/* Room for the longest name of a system call. */
#define HWT_WAIT_CALL	32

/* Who woke a task, and what that one had been doing while the first one waited. */
struct hwt_wait_link {
	uint8_t how;		/* enum hwt_waker */
	/* false: the record may have been written on behalf of another one, or of an interrupt */
	bool certain;
	bool cut;		/* what it did is not known, or not from the begin of the wait on */
	uint8_t longest;	/* TASK: enum hwt_part of its own longest wait, HWT_PARTS: none */
	int32_t tid, cpu;	/* IRQ, SOFTIRQ: @tid was interrupted, it is not the one */
	struct hwt_interval at;		/* of the wakeup */
	struct hwt_interval part[HWT_PARTS];	/* TASK: interrupts are part of on-cpu */
	char in[HWT_WAIT_CALL];	/* system call of @longest; "": not known */
	char by[16];		/* the interrupt or softirq; "": not known */
};
/* Who had the CPU. */
struct hwt_wait_turn {
	int32_t tid;		/* 0: it was idle; HWT_NONE: not told */
	struct hwt_interval took;
};
#define HWT_WAITS	4
#define HWT_WAIT_LINKS	3
#define HWT_WAIT_TURNS	4

/* A stretch of a task's time in which it did not run. */
struct hwt_wait {
	uint8_t part;		/* PREEMPTED, BLOCKED, READY or AWAY */
	/*
	 * READY, PREEMPTED: @turn is of the CPU that it waited for all the time, and all of it is
	 * told; else: that it was blocked is
	 */
	bool certain;
	int32_t cpu;		/* READY, PREEMPTED: whose queue it was in; else where it ran */
	struct hwt_interval from, to;	/* instants */
	struct hwt_interval took;
	char in[HWT_WAIT_CALL];	/* BLOCKED, AWAY: system call that it was in; "" */
	/*
	 * BLOCKED, AWAY: who woke it; each next one woke the one before, out of its longest wait
	 */
	unsigned nlinks;
	struct hwt_wait_link link[HWT_WAIT_LINKS];
	/* READY, PREEMPTED: the longest first, and the sum of those without room */
	unsigned nturns;
	struct hwt_wait_turn turn[HWT_WAIT_TURNS];
	struct hwt_interval others;
};

/* What was left over. */
struct hwt_pair_stats {
	uint64_t pairs;		/* handed out */
	uint64_t tainted;	/* of them */
	uint64_t outside;	/* of these */
	uint64_t untimed;	/* of them: without time */
	uint64_t from, to;	/* points passed */
	uint64_t replaced;	/* @from that came again before its @to: the last one counts */
	uint64_t unended;	/* @from whose @to did not come */
	uint64_t unbegun;	/* @to without @from */
	uint64_t backward;	/* pairs whose end is certainly before their begin: clocks differ */
	uint64_t dropped;	/* @from that found no room: too many are open */
	unsigned known;		/* bit of each enum hwt_part that the capture tells */
	unsigned scope;		/* enum hwt_scope_bit, with a guess where nothing is stated */
	uint64_t tasks;		/* HWT_SCOPE_TASKS: those that are known to be recorded, now */
};

struct hwt_pairs;

struct hwt_pairs_opts {
	size_t size;		/* sizeof(struct hwt_pairs_opts) */
	/*
	 * Points; borrowed for the call. @to NULL: the end of @from: the return of a function,
	 * syscall.exit of a syscall.enter, block.complete of a block.issue, ...
	 */
	const char *from, *to;
	/*
	 * What two events of a pair have in common: "task", "cpu", the name of a field that both
	 * have, or FROM=TO of two fields; NULL: by the events themselves (the request of
	 * block.issue, the task that sched.wakeup wakes, the CPU of interrupts, else the task)
	 */
	const char *key;
	bool waits;	/* hwt_pairs_waits() will be asked; takes some 10 MiB */
};

/* 0, or a negative code with @diag filled (-EINVAL, -HWT_E_FILTER: a point is wrong). */
int hwt_pairs_new(struct hwt_pairs **out, struct hwt_session *s, const struct hwt_pairs_opts *o,
		  struct hwt_diag *diag);
void hwt_pairs_free(struct hwt_pairs *p);	/* NULL is fine */
/*
 * Sets what the timeline must hold: level, addresses (@p's), kernel, hardware and calls. Selection
 * by time and CPU is the caller's; one by task may leave out wakeups.
 */
void hwt_pairs_want(const struct hwt_pairs *p, struct hwt_timeline_opts *o);
/* The next event of that timeline: 1 and @out if it ends a pair, 0, or -ENOMEM. */
int hwt_pairs_event(struct hwt_pairs *p, const struct hwt_event *ev, struct hwt_pair *out);
/*
 * What the task of @p, which hwt_pairs_event() gave last, waited for: its longest waits, at most
 * @max and HWT_WAITS, in order of time. How many; 0 where switches do not tell it.
 */
unsigned hwt_pairs_waits(const struct hwt_pairs *p, const struct hwt_pair *pair,
			 struct hwt_wait *v, unsigned max);
/* The counts so far; what is still open is unended. */
void hwt_pairs_stats(const struct hwt_pairs *p, struct hwt_pair_stats *out);
/* The point as it is understood, "entry of memcpy (2 places)"; lives as long as @p. */
const char *hwt_pairs_point(const struct hwt_pairs *p, int to);

/*
 * A histogram of intervals in bounded memory: steps of 1/64 of a power of two. A quantile is an
 * interval that holds the true one, whatever the instants inside their intervals were.
 */
struct hwt_hist;
int hwt_hist_new(struct hwt_hist **out);	/* 0 or -ENOMEM */
void hwt_hist_free(struct hwt_hist *h);		/* NULL is fine */
void hwt_hist_add(struct hwt_hist *h, struct hwt_interval v);
uint64_t hwt_hist_count(const struct hwt_hist *h);
/*
 * The value that @permille of 1000 do not exceed (nearest rank), 0 the least, 1000 the largest;
 * {0, 0} if it is empty.
 */
struct hwt_interval hwt_hist_quantile(const struct hwt_hist *h, unsigned permille);
/* Values in [@lo, @hi]: at least, at most. */
struct hwt_interval hwt_hist_between(const struct hwt_hist *h, uint64_t lo, uint64_t hi);

#endif
