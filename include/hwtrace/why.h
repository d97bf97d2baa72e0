/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_WHY_H
#define HWTRACE_WHY_H

/*
 * Why one took longer: of all that ran from one point to another in a task, one is held against a
 * typical one. The difference of their times is split into parts that add up to it.
 *
 * Two passes over the same timeline: the first finds all of them and their paths, the second looks
 * at the two.
 */
#include <hwtrace/latency.h>

enum hwt_why_what {
	/* where the task was not running by itself: enum hwt_part but RUN */
	HWT_WHY_PREEMPTED, HWT_WHY_BLOCKED, HWT_WHY_READY, HWT_WHY_IRQ, HWT_WHY_SOFTIRQ,
	HWT_WHY_AWAY,
	HWT_WHY_FAULT,		/* page faults that the kernel tells, aborts that the trace tells */
	HWT_WHY_EXCEPTION,	/* faults and interrupts of which the kernel tells nothing */
	HWT_WHY_HOLE,		/* trace is missing, and what the typical one did meanwhile */
	HWT_WHY_EXTRA,		/* instructions that the typical one did not run, or less often */
	HWT_WHY_MISSING,	/* that only the typical one ran, or more often */
	HWT_WHY_SAME,		/* the same instructions, slower or faster */
	HWT_WHY_REST,		/* on its CPU, and no trace tells what ran */
	HWT_WHY_UNKNOWN,	/* neither trace nor a switch tells whether it ran */
	HWT_WHY_PARTS
};
/* "preempted", "extra path", ...; static, never NULL. */
const char *hwt_why_name(unsigned what);

/* A difference: lo <= hi, ns or ticks; INT64_MAX: no bound. */
struct hwt_delta {
	int64_t lo, hi;
};

/* Room for the longest: a task and an interrupt have 15 bytes, a system call less than this. */
#define HWT_WHY_BY 64

struct hwt_why_part {
	struct hwt_delta more;		/* this one's minus the typical one's */
	struct hwt_interval this, typical;
	uint32_t times, typical_times;	/* stretches of it; HWT_WHY_FAULT: faults */
	/* where most of it was, HWT_WHY_FAULT: the first instruction; HWT_NO_ADDR: not told */
	uint64_t addr;
	char by[HWT_WHY_BY];		/* task that came, interrupt, system call; "" */
};

struct hwt_why_one {
	uint64_t number;		/* as in struct hwt_pair: order of the ends */
	int32_t pid, tid, cpu;
	struct hwt_event from, to;
	struct hwt_interval took;
	bool tainted;			/* a hole is inside */
	bool outside;			/* as in struct hwt_pair */
	bool cut;			/* its path is too long: the end of it is not compared */
	/*
	 * What the kernel told of its task while it is not known whether this one had begun, or was
	 * still not over: it may be of the one before or behind it
	 */
	uint32_t edge;
};

struct hwt_why_answer {
	struct hwt_why_one this, typical;
	uint64_t all;			/* how many there are */
	uint64_t alike;			/* that took the path of the typical one */
	uint64_t same_path;		/* that took the path of this one, with it */
	uint64_t paths;			/* different ones */
	/*
	 * That touch a hole: an end may be another one's, so only the upper bound of their length
	 * holds. They have no rank. The one with the largest bound, and that; 0: none.
	 */
	uint64_t tainted, tainted_number;
	uint64_t tainted_most;		/* HWT_TIME_UNKNOWN: no bound */
	unsigned scope;			/* as in struct hwt_pair_stats */
	uint64_t tasks;
	/*
	 * Of the others, those that are ranked behind this one but may have taken longer, as far
	 * as their intervals tell; 0 if this one has no rank
	 */
	uint64_t rivals;
	bool ticks;			/* times are in ticks of a clock without map to ns */
	bool no_switch;			/* no switch tells when tasks ran, nor HWT_WHY_REST */
	struct hwt_delta more;		/* the whole difference; the parts add up to it */
	struct hwt_why_part part[HWT_WHY_PARTS];
	/* what this one waited for, as hwt_pairs_waits() tells it */
	unsigned nwaits;
	struct hwt_wait wait[HWT_WAITS];
	/* the typical one and @alike are of the task of this one, which had enough of them */
	uint8_t own;
};

struct hwt_why;

/* As hwt_pairs_new(); both points must be of one task (-EINVAL if a key says otherwise). */
int hwt_why_new(struct hwt_why **out, struct hwt_session *s, const struct hwt_pairs_opts *o,
		struct hwt_diag *diag);
void hwt_why_free(struct hwt_why *w);	/* NULL is fine */
/* As hwt_pairs_want(), for both passes: all that ran. */
void hwt_why_want(const struct hwt_why *w, struct hwt_timeline_opts *o);
/* The next event of a pass. 0 or -ENOMEM. */
int hwt_why_event(struct hwt_why *w, const struct hwt_event *ev);
/*
 * Between the passes: the @worst-th longest of those that touch no hole (of those that do, if all
 * do), or number @call if that is not 0. 0, or -ENOENT with @diag filled.
 */
int hwt_why_choose(struct hwt_why *w, uint64_t worst, uint64_t call, struct hwt_diag *diag);
/* After the second. 0, -ENOMEM; -ENOENT: the passes were not the same. */
int hwt_why_explain(struct hwt_why *w, struct hwt_why_answer *out);
const char *hwt_why_point(const struct hwt_why *w, int to);

#endif
