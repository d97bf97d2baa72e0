/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CORRELATE_STACK_H
#define HWT_CORRELATE_STACK_H

/* What the files of the call tree share: threads, their open frames, and the calls to hand out. */
#include <stdbool.h>

#include "calls.h"

#define BATCH	64
#define SEARCH	4096	/* frames looked at for one return */
#define QUEUE	8

enum away {		/* tracing stopped where the kernel or a handler took over */
	AWAY_NO,
	AWAY_OFF,	/* told by an OFF */
	AWAY_EXC	/* told by an exception whose handler is not seen */
};

struct frame {
	uint64_t func, site;
	uint64_t ret;		/* where the frame returns to, HWT_NO_ADDR if not known */
	uint64_t enter_time;
	uint64_t holes;		/* stack_holes() at the entry */
	uint32_t enter_span;
	uint8_t clock;
	uint8_t why;		/* enum hwt_call_why */
	uint8_t exc;		/* left by a return from exception, not by a return */
	uint8_t any;		/* where it returns to was never seen: any place will do */
	uint8_t inferred;
	int16_t el;		/* exception level that it was entered from, -1 not known */
};

struct thread {
	int64_t key;		/* tid, or below zero a CPU */
	struct frame *v;
	uint32_t n, cap;
	int32_t base;		/* depth of v[0] */
	uint64_t holes;		/* of this thread alone */
	uint64_t off_addr;	/* of the last OFF */
	int16_t el;		/* exception level now, -1 not known */
	uint8_t away;		/* enum away */
	uint64_t resume;	/* where tracing came back before its level was told, or none */
	bool far_ret;		/* the event before was a far return: its ERET is the same */
	bool left;		/* the level told the return: an ERET or ON after it is the same */
	uint64_t left_ret;	/* where that return was expected */
	bool far_call;		/* @pend waits for the exception that it makes (Arm) */
	struct hwt_event pend;
};

struct hwt_calls {
	struct hwt_stream *flow;
	calls_func func;
	void *ctx;
	struct thread **threads;	/* hash by key, open addressing */
	size_t nthreads, cap;
	uint64_t holes;			/* that any thread may have run through */
	int64_t last_key;
	int32_t last_cpu;
	struct hwt_event ev[BATCH];
	int at, n;			/* position in @ev, events in it */
	/* what the current event makes: @pre, then an unwinding of @t, then @post */
	struct hwt_call pre[QUEUE], post[QUEUE];
	unsigned npre, npost, pre_at, post_at;
	struct thread *t;		/* NULL: no unwinding */
	uint32_t to;			/* frames that stay */
	uint8_t why, last_why;		/* of the frames, of the lowest one */
	struct hwt_event cause;
	struct frame then;		/* entered after the unwinding */
	bool has_then;
	struct thread *below;	/* its outermost frame is left last, NULL: none */
};

/* stack.c */
/* First instruction of the function that holds @addr, HWT_NO_ADDR if not known. */
uint64_t stack_func_of(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr);
bool stack_is_entry(const struct hwt_calls *c, const struct hwt_event *ev, uint64_t addr);
/* The stack of @key, made if it is not there; NULL without memory. */
struct thread *stack_thread(struct hwt_calls *c, int64_t key);
/* Holes that the thread may have run through so far. */
uint64_t stack_holes(const struct hwt_calls *c, const struct thread *t);
/* The next free one of a queue. */
struct hwt_call *stack_slot(struct hwt_call *q, unsigned *n);
void stack_enter(struct hwt_call *o, const struct thread *t, const struct frame *f,
		const struct hwt_event *ev);
/* The leave of @t's top frame, which stays. */
void stack_leave(struct hwt_call *o, const struct hwt_calls *c, const struct thread *t,
		const struct hwt_event *ev, uint8_t why);
/* The leave of a frame whose entry was not seen. */
void stack_leave_unseen(struct hwt_call *o, const struct hwt_calls *c, const struct thread *t,
		const struct hwt_event *ev, int32_t depth);
/* After the unwinding, the frame that was open before the outermost known one. */
void stack_leave_below(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* 0 or -ENOMEM; the second also hands out the entry. */
int stack_push(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev);
int stack_push_enter(struct hwt_calls *c, struct thread *t, const struct frame *f,
		const struct hwt_event *ev);
/* Frames from the top down to @to leave, the lowest with @last, before what is in @post. */
void stack_unwind(struct hwt_calls *c, struct thread *t, uint32_t to, uint8_t why, uint8_t last,
		const struct hwt_event *ev);
/* The lowest frame that a search may reach. */
uint32_t stack_bottom(const struct thread *t);

/* exception.c */
/* A system call's instruction; its target is where the exception led. */
int exc_far_call(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
int exc_taken(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* Leaves the exception that was taken at @to, or the topmost one. */
void exc_far_return(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev,
		uint64_t to);
/* An ERET after a level that told the same return already. */
int exc_left_to(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* Tracing starts. */
int exc_on(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);
/* The exception level is told. */
void exc_level(struct hwt_calls *c, struct thread *t, const struct hwt_event *ev);

#endif
