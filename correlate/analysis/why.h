/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_WHY_H
#define HWT_CORRELATE_WHY_H

/* What the files of hwt_why share. */
#include "../../hwtrace/base/spill.h"
#include "pairs.h"
#include "path.h"

/* A thread, or a CPU whose thread is not known. */
struct why_thread {
	uint64_t key;
	/* the last range of its own code; @size 0: none, or flow broke */
	uint64_t last;
	uint8_t size, kind;
	/* when it and the one before ran, as far as nothing else is known since */
	struct hwt_interval seen, before;
	bool dark;		/* tracing is off */
	bool hole;		/* nothing was seen since a hole */
	bool exc;		/* in an exception that came at @exc_from */
	bool exc_kernel;	/* code of the kernel, in the upper half, was seen in it */
	uint8_t exc_kind;	/* of its handler's last instruction */
	uint8_t exc_depth;	/* exceptions in it */
	uint64_t exc_from, exc_end;	/* @exc_end: what follows the handler's last instruction */
	uint8_t part;		/* what the kernel tells: enum hwt_part */
	/*
	 * A page fault is handled, told at @fault_at. @loose: its end is not seen, own code may
	 * have run since
	 */
	bool fault, loose;
	struct hwt_interval fault_at;
	/*
	 * @one and @path are valid: of a pair that is open, or that a hole took away, which may be
	 * taken up again
	 */
	bool open;
	/* since @one began a hole may have held an end or a begin */
	bool doubt;
	uint64_t last_end;	/* the latest instant of the last end; of all before @one: */
	uint64_t before_end;
	uint64_t begin;		/* number of its begin, from 1 on */
	struct hwt_why_one one;
	struct path path;
};

#define WHY_OWN 8	/* calls of a task that tell what is typical of it */

struct why_call {
	uint64_t number, begin, hash;
	struct hwt_interval took;
	int32_t tid;
	bool tainted;
};

struct hwt_why {
	struct hwt_session *s;
	struct hwt_pairs *pairs;	/* which there are */
	bool ranges;		/* the points are places in ranges */
	bool own;		/* the typical one is of the same task's */
	bool trace;		/* there are trace buffers: paths can be known */
	struct idmap by_key;
	struct vec threads;	/* of struct why_thread * */
	struct spill calls;	/* of struct why_call */
	uint64_t untimed;	/* of the first pass: their length is not known */
	uint64_t begun;		/* so far in this pass */
	uint64_t numbers;	/* pairs of the first pass, with those inside others */
	int pass;
	uint64_t begin[2];	/* those of this and the typical one */
	uint64_t alike, same_path, paths;
	uint64_t tainted, tainted_number, tainted_most, rivals;	/* as in hwt_why_answer */
	struct hwt_why_one one[2];	/* this, typical */
	struct path path[2];
	bool have[2];
	unsigned nwaits;
	struct hwt_wait wait[HWT_WAITS];	/* of this */
};

/* why_flow.c: what an event of the trace does to its thread. 0 or -ENOMEM. */
int why_flow(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev);
/* The kernel tells a page fault of the thread. 0 or -ENOMEM. */
int why_fault(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev);
/*
 * 1 if the kernel tells it of code that only the last or open pair of the thread can have run,
 * else 0. If that is over by the order of events it is given the fault. Or -ENOMEM.
 */
int why_fault_placed(struct hwt_why *w, struct why_thread *t, const struct hwt_event *ev);
/* What comes at @at tells that a fault, if there is one, is over. */
int why_fault_over(struct hwt_why *w, struct why_thread *t, struct hwt_interval at);
/* Instant of an event. */
static inline struct hwt_interval why_at(const struct hwt_event *ev)
{
	return (struct hwt_interval){ ev->time, hwt_event_end(ev) };
}
/* The part that a thread's time is of now. */
uint8_t why_part(const struct hwt_why *w, const struct why_thread *t);
#endif
