/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_CALLS_H
#define HWTRACE_CALLS_H

/* Function entries and exits with their depth, from a stream at HWT_LEVEL_CALLS. */
#include <hwtrace/session.h>

enum hwt_call_what {
	HWT_CALL_ENTER, HWT_CALL_LEAVE, HWT_CALL_GAP, HWT_CALL_SWITCH
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
	HWT_WHY_LOST		/* closed because a hole makes the stack uncertain */
};

struct hwt_call {
	struct hwt_event ev;	/* the event behind it; time and place */
	uint8_t what;		/* enum hwt_call_what */
	uint8_t why;		/* enum hwt_call_why */
	/*
	 * 1: the frame was open before the trace began, its entry lies in a hole, or it was
	 * forgotten because more than HWT_CALLS_DEPTH were open
	 */
	uint8_t inferred;
	uint8_t tainted;	/* 1: a hole lies between enter and this leave */
	/* 0 outermost; negative frames appear when returns leave the first known one */
	int32_t depth;
	uint64_t func;		/* first instruction of the function, or the address entered */
	uint64_t site;		/* address of the call or return instruction */
	/*
	 * LEAVE: interval of the matching ENTER, in the clock domain of @ev. HWT_TIME_UNKNOWN if
	 * it is not known or can not be before @ev.
	 */
	uint64_t enter_time;
	uint32_t enter_span;	/* as in struct hwt_event */
};

struct hwt_calls;

/* Open calls of a thread that are remembered. */
#define HWT_CALLS_DEPTH 65536

/*
 * Takes ownership of @flow, also on failure. Threads have separate stacks. Memory: one frame an
 * open call, at most HWT_CALLS_DEPTH a thread.
 */
int hwt_calls_new(struct hwt_calls **out, struct hwt_session *s, struct hwt_stream *flow);
/* 1 filled, 0 end, negative error. */
int hwt_calls_next(struct hwt_calls *c, struct hwt_call *out);
void hwt_calls_free(struct hwt_calls *c);

#endif
