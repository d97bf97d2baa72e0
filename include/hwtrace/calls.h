/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_CALLS_H
#define HWTRACE_CALLS_H

/* Function entries and exits with their depth, from a stream at HWT_LEVEL_CALLS. */
#include <hwtrace/session.h>

enum hwt_call_what {
	HWT_CALL_ENTER, HWT_CALL_LEAVE, HWT_CALL_GAP, HWT_CALL_SWITCH,
	/* tracing was off from @site (HWT_NO_ADDR: not known) to @func: as uncertain as a hole */
	HWT_CALL_UNTRACED,
	/* behind a hole: the innermost frame that is still open, @func, is what runs */
	HWT_CALL_RESUME
};

enum hwt_call_why {
	HWT_WHY_CALL,		/* call instruction */
	HWT_WHY_TAIL,		/* jump to a function's entry: replaces its caller's frame */
	HWT_WHY_INTERRUPT,	/* exception or interrupt */
	HWT_WHY_SYSCALL,
	HWT_WHY_SIGNAL,		/* user handler entered where no call was made */
	HWT_WHY_RETURN,
	HWT_WHY_UNWIND,		/* left without a return: longjmp, exception unwinding,
		signal return */
	HWT_WHY_LOST,		/* its end lies in a hole, if it ended */
	HWT_WHY_RUNNING,	/* ENTER: found running, its entry was not seen */
	/* ENTER: left as LOST before, and runs now: the same call, as far as the trace tells */
	HWT_WHY_AGAIN,
	HWT_WHY_OPEN		/* LEAVE: the trace ends while it is open */
};

struct hwt_call {
	struct hwt_event ev;	/* the event behind it; time and place */
	uint8_t what;		/* enum hwt_call_what */
	uint8_t why;		/* enum hwt_call_why */
	/*
	 * 1: entry not seen: the frame was open before the trace began, its entry lies in a hole,
	 * or it was forgotten because more than HWT_CALLS_DEPTH were open. 2: AGAIN, the entry
	 * was seen before
	 */
	uint8_t inferred;
	/* LEAVE: a hole lies between enter and leave; ENTER: behind one, its caller is not known */
	uint8_t tainted;
	/*
	 * 0: what runs first, and what runs first behind a hole that left nothing certain. Below
	 * zero when returns leave it.
	 */
	int32_t depth;
	/* first instruction of the function; without symbols the address entered or found */
	uint64_t func;
	uint64_t site;		/* address of the call or return instruction */
	/*
	 * LEAVE: interval of the matching ENTER, in the clock domain of @ev. HWT_TIME_UNKNOWN if
	 * it is not known or can not be before @ev.
	 */
	uint64_t enter_time;
	uint32_t enter_span;	/* as in struct hwt_event */
};

/*
 * True if @c is an entry although no call was seen: tracing starts with the first instruction of
 * its function, as it does where a window or an address filter begins with it.
 */
static inline int hwt_call_begins(const struct hwt_call *c)
{
	return c->what == HWT_CALL_ENTER && c->why == HWT_WHY_RUNNING && !c->tainted &&
		c->ev.type == HWT_EV_ON && !(c->ev.flags & HWT_F_RESUMED) &&
		c->ev.u.at.addr == c->func && c->func != HWT_NO_ADDR;
}

struct hwt_calls;

/* Open calls of a thread that are remembered. */
#define HWT_CALLS_DEPTH 65536

/*
 * Takes ownership of @flow, also on failure. Threads have separate stacks. Each LEAVE belongs to
 * the last ENTER of its thread that has none yet, and each ENTER gets one, at the end of the
 * trace at last. Memory: one frame an open call, and those that holes left open, at most
 * HWT_CALLS_DEPTH a thread.
 */
int hwt_calls_new(struct hwt_calls **out, struct hwt_session *s, struct hwt_stream *flow);
/* 1 filled, 0 end, negative error. */
int hwt_calls_next(struct hwt_calls *c, struct hwt_call *out);
void hwt_calls_free(struct hwt_calls *c);	/* with its flow; NULL is fine */

#endif
