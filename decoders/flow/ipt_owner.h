/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_OWNER_H
#define HWT_FLOW_IPT_OWNER_H

/*
 * Whose code a CPU runs now: fixed for the buffer or the span, else by CR3 where the trace says it
 * and it is known, else by the schedule at the trace's own time.
 */
#include <stdbool.h>

#include "../../hwtrace/machine/machine.h"
#include "../../hwtrace/source/capture.h"

#define IPT_GUESSES	64	/* a power of two */

struct ipt_owner {
	struct machine *m;
	struct machine_cursor cur;
	int32_t pid, tid;	/* now */
	int32_t code;		/* process whose code runs; @pid, or as good as is known */
	bool fixed;
	bool started;		/* a time of this buffer is known */
	uint64_t cr3;		/* HWT_NO_ADDR: not known */
	/* the next switch is being made; @cr3 was there as that began, or came since */
	bool between, kept, moved;
	uint64_t taken;		/* a switch was taken at this time last, base ns */
	/* page-table isolation: both sides of a task differ in one or two bits of CR3 */
	bool kpti;
	uint64_t side;		/* CR3 whose user code was left for the same with bit 12 clear */
	/* @cr3 did not change since the task of the schedule came in, and it ran user code */
	bool held, user;
	/* seen once: who ran with which CR3 */
	struct { uint64_t cr3; int32_t pid; } guess[IPT_GUESSES];
};

void ipt_owner_init(struct ipt_owner *o, struct machine *m, const struct trace_buf *b);
void ipt_owner_span(struct ipt_owner *o, const struct trace_buf *b, const struct trace_span *s);
/* CR3 changed. */
void ipt_owner_cr3(struct ipt_owner *o, uint64_t cr3);
/* Nothing is known of CR3 any more: trace was lost. */
void ipt_owner_lost(struct ipt_owner *o);

/* From when on the next switch may be made, then when it is; base ns, HWT_TIME_UNKNOWN if none. */
static inline uint64_t ipt_owner_due(const struct ipt_owner *o)
{
	return o->between ? machine_cursor_due(&o->cur) : machine_cursor_out(&o->cur);
}

/* True if the schedule says that the CPU idles. */
static inline bool ipt_owner_idle(const struct ipt_owner *o)
{
	bool nobody = o->between && o->pid == HWT_NONE;

	return !o->fixed && (nobody ? !o->cur.pid && !o->cur.tid : !o->pid && !o->tid);
}

/* True if the trace says whose code runs: the schedule tells threads only. */
bool ipt_owner_told(const struct ipt_owner *o);

/*
 * Takes one switch that is due at @now: 1 and @ev->u.sched, time and flags are filled, 0 if none is
 * due. Switches before the first time of the buffer are taken in silence.
 */
int ipt_owner_step(struct ipt_owner *o, uint64_t now, struct hwt_event *ev);

#endif
