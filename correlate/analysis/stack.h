/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_STACK_H
#define HWT_CORRELATE_STACK_H

/* What the files of the call tree share: threads, their open frames, and the calls to hand out. */
#include <stdbool.h>

#include "../../hwtrace/base/idmap.h"
#include "../../hwtrace/base/vec.h"
#include "calls.h"

#define BATCH	64
#define SEARCH	4096	/* frames looked at for one return */
#define QUEUE	8

enum phase { PHASE_FROM, PHASE_EVENT, PHASE_TO, PHASES };

enum away {		/* tracing stopped where the kernel or a handler took over */
	AWAY_NO,
	AWAY_OFF,	/* told by an OFF */
	AWAY_EXC,	/* told by an exception whose handler is not seen */
	AWAY_STOP	/* by nothing that ran: what starts elsewhere is a new beginning */
};

struct frame {
	uint64_t func, site;
	uint64_t ret;		/* where the frame returns to, HWT_NO_ADDR if not known */
	uint64_t enter_time;
	uint64_t holes;		/* stack_holes() at the entry */
	uint32_t seg;		/* thread's @seg at the entry */
	int32_t depth;
	uint32_t enter_span;
	uint8_t clock;
	uint8_t why;		/* enum hwt_call_why */
	uint8_t exc;		/* left by a return from exception, not by a return */
	uint8_t any;		/* where it returns to was never seen: any place will do */
	uint8_t inferred;
	uint8_t behind;		/* first one behind a hole: its caller is not known */
	int16_t el;		/* exception level that it was entered from, -1 not known */
};

struct thread {
	int64_t key;		/* tid, or below zero a CPU */
	/*
	 * Frames below @lost were open at a hole, and what ran behind it was none of them: they
	 * are told as left, and taken up again if flow comes back to one.
	 */
	struct frame *v;
	uint32_t lost, n, cap;
	uint32_t seg;		/* grows when frames are given up as lost */
	int32_t next;		/* depth of the next frame if none is open */
	uint64_t holes;		/* of this thread alone */
	uint64_t seen;		/* stack_holes() when it was last known what runs */
	bool astray;		/* a return led to a function that no open frame is of */
	uint64_t last;		/* where flow was seen last, HWT_NO_ADDR: nowhere */
	int32_t cpu, pid, tid;	/* of its last event */
	uint32_t src;
	uint64_t off_addr;	/* of the last OFF */
	int16_t el;		/* exception level now, -1 not known */
	uint8_t away;		/* enum away */
	uint64_t resume;	/* where tracing came back before its level was told, or none */
	bool far_ret;		/* the event before was a far return: its ERET is the same */
	bool left;		/* the level told the return: an ERET or ON after it is the same */
	uint64_t left_ret;	/* where that return was expected */
	/*
	 * Of a merged stream: which lane its last event was of, NO_LANE: none yet; that one's
	 * holes when it came there; all holes, and the end of its time, at its last event
	 */
	uint32_t lane;
	uint64_t base, any, end;
	bool far_call;		/* @pend waits for the exception that it makes (Arm) */
	struct hwt_event pend;
};

#define NO_LANE UINT32_MAX

struct lane {			/* what is known of one buffer, or of one CPU in it */
	uint32_t src;
	uint64_t holes;		/* that any of its threads may have run through */
	int64_t last_key;
	int32_t last_cpu;
};

struct hwt_calls {
	struct hwt_stream *flow;
	calls_func func;
	void *ctx;
	struct thread **threads;	/* hash by key, open addressing */
	size_t nthreads, cap;
	bool merged;			/* of several buffers */
	struct idmap by_src;
	struct vec lanes;		/* of struct lane; if not @merged just one */
	uint64_t any;			/* holes of all of them */
	struct hwt_event ev[BATCH];
	int at, n;			/* position in @ev, events in it */
	uint8_t phase;			/* enum phase of the event at @at */
	bool located;			/* the function at an ON is known, whatever it came from */
	bool ended;
	bool with_flow;			/* events are handed out, too */
	size_t ending;			/* slots of @threads closed at the end */
	/* what a phase makes: @pre, then an unwinding of @t, then @then, then @post */
	struct hwt_call pre[QUEUE], post[QUEUE];
	unsigned npre, npost, pre_at, post_at;
	struct thread *t;		/* NULL: no unwinding and no @then */
	uint32_t cur, to;		/* next frame to leave, frames that stay */
	uint8_t why, last_why;		/* of the frames, of the lowest one */
	bool keep;			/* they stay as lost ones */
	struct hwt_event cause;
	struct frame then;		/* entered after the unwinding */
	bool has_then;
	int64_t again;			/* lost frame that is taken up, -1: none */
};

/* stack.c */
/* First instruction of the function that holds @addr, HWT_NO_ADDR if not known. */
uint64_t stack_func_of(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr);
bool stack_is_entry(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr);
/* The stack of @key, made if it is not there; NULL without memory. */
struct thread *stack_thread(struct hwt_calls *c, int64_t key);
/* It is seen in the buffer of @ev now. 0 or -ENOMEM. */
int stack_move(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
struct lane *stack_lane(const struct hwt_calls *c, const struct thread *t);
/* Holes that the thread may have run through so far. */
uint64_t stack_holes(const struct hwt_calls *c, const struct thread *t);
/* The next free one of a queue. */
struct hwt_call *stack_slot(struct hwt_call *q, unsigned *n);
void stack_enter(struct hwt_call *o, const struct thread *t, const struct frame *f,
		const struct hwt_event *ev);
/* The innermost open frame, NULL if there is none. */
/* Where a call, return or exception was taken; HWT_NO_ADDR of anything else. */
uint64_t stack_site(const struct hwt_event *ev);
struct frame *stack_top(const struct thread *t);
/* The leave of frame @f. */
void stack_leave(struct hwt_call *o, const struct hwt_calls *c, const struct thread *t,
		const struct frame *f, const struct hwt_event *ev, uint8_t why);
/* Takes the innermost frame off; it must be there. */
void stack_pop(struct thread *t);
/* 0 or -ENOMEM; the second also hands out the entry. */
int stack_push(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev);
int stack_push_enter(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev);
/* Frames from the top down to @to leave, the lowest with @last, before what is in @post. */
void stack_unwind(struct hwt_calls *c, struct thread *t, uint32_t to, uint8_t why, uint8_t last,
		const struct hwt_event *ev);
/* One record of the unwinding and what follows it: 1 if @out was filled, 0, or -ENOMEM. */
int stack_take(struct hwt_calls *c, struct hwt_call *out);
/* The lowest frame that a search may reach. */
uint32_t stack_bottom(const struct thread *t);

/* locate.c */
/*
 * Flow is at @addr. If no open frame is known to be of the function there, finds one that is, or
 * makes one.
 */
void locate(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev, uint64_t addr);
/* Behind a hole flow goes on in frame @i, after what the event makes leave. */
void locate_resume(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev, uint32_t i);
/* A hole, or time without trace: what is open is not certain. */
void locate_hole(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* Tracing starts at another place than it stopped, by nothing that is known. */
void locate_untraced(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);

/* exception.c */
/* A system call's instruction; its target is where the exception led. */
int exc_far_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* No handler runs: the PE goes into Debug state, up to where tracing is on again. */
bool exc_halts(const struct hwt_event *ev);
int exc_taken(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* Leaves the exception that was taken at @to, or the topmost one. */
void exc_far_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev,
		uint64_t to);
/* An ERET after a level that told the same return already. */
int exc_left_to(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* True if it is known how flow came to where tracing starts. */
bool exc_explains(const struct hwt_calls *c, const struct thread *t, const struct hwt_event *ev);
/* Tracing starts. */
int exc_on(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* The exception level is told. */
void exc_level(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);

#endif
