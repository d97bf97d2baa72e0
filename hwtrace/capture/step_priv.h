/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_STEP_PRIV_H
#define HWT_CAPTURE_STEP_PRIV_H

/* What the files of the stepper share. */
#include "../base/idmap.h"
#include "step.h"
#include "ticks.h"

struct step {
	struct step_opts o;
	struct hwt_diag *diag;
	struct step_task **tasks;
	size_t ntasks, cap;
	struct idmap by_tid;
	struct step_task *current;	/* runs one instruction now */
	struct step_task *last;		/* had its turn last */
	struct step_task *on;		/* is on the CPU, as turn() told; NULL: another's */
	struct step_task *ready, *tail;	/* stopped, wait for their turn */
	uint64_t steps;
	uint32_t since_idle;
	int32_t first;		/* the process that the user named */
	bool ours;		/* it is our child */
	bool ending;		/* stops are taken, nothing goes on */
	bool quiet;		/* nothing is told any more */
	bool have_status;
	bool opened;		/* a window has begun */
	struct step_task *setter;	/* the one with @sets_trap that may go on, or NULL */
	bool put_back;		/* that a blocked SIGTRAP waits was said */
	uint64_t missed;	/* names of windows that a note was about, bit i & 63 */
	uint64_t found;		/* names that were somewhere */
	uint64_t gone;		/* names that were somewhere, and are not in a program since */
	int status;
	int rc;			/* of a callback, or ours */
};

struct step_task *step_find(const struct step *s, int32_t tid);
int step_add(struct step *s, int32_t tid, struct step_task **out);
void step_drop(struct step *s, struct step_task *t);
void step_unqueue(struct step *s, struct step_task *t);
/* A callback returned @rc: the first failure stays. */
/* What is told next is of @t: it comes in, if another one was on the CPU. */
void step_in(struct step *s, struct step_task *t, uint64_t tick);
int step_told(struct step *s, int rc);
/* The instruction that was begun has run. */
void step_tell(struct step *s, struct step_task *t, uint64_t tick);
/* No debug register is set. */
void step_disarm(struct step_task *t);
void step_on_stop(struct step *s, int32_t tid, int status);
/* Of a thread that stopped: it goes on now, or when its turn comes. */
void step_again(struct step *s, struct step_task *t);

/* step_window.c: looks the places up in the process of @t, which may have to wait for libraries. */
void step_resolve(struct step *s, struct step_task *t, bool exec);
/*
 * No window can ever begin: no name of one is in the process of @t, which has all its code, but for
 * what dlopen() may bring. False if that is not known.
 */
bool step_never(struct step *s, struct step_task *t);
size_t step_breaks(const struct step *s, const struct step_task *t, uint64_t at[PROC_BEGINS]);
/* It stands at a breakpoint. */
void step_window_begin(struct step *s, struct step_task *t, const struct arch_regs *r);
/* True if @r is the end of its window: then it has gone on. */
bool step_window_end(struct step *s, struct step_task *t, const struct arch_regs *r);
/* Another program runs: no window is open. */
void step_exec_window(struct step *s, struct step_task *t);
/* It is not stepped from here on. */
void step_leave(struct step *s, struct step_task *t);

/* step_free.c: a handler runs for the signal that waits; one without leaves it where it is. */
bool step_caught(const struct step_task *t);
/* Lets a thread run that is outside of all windows, or may not be stepped. */
void step_run_free(struct step *s, struct step_task *t);
/* A system call of it begins or ends. */
void step_free_call(struct step *s, struct step_task *t);
/* What a trap of it is that looks like that of a step. */
enum arch_stop step_free_stop(struct step *s, const struct step_task *t, const siginfo_t *si);
/* Its breakpoint instruction that ends it, as it blocks SIGTRAP: it goes on, to do so. */
bool step_ends(struct step_task *t, const siginfo_t *si);

/* step_trap.c: does the process of @t ignore SIGTRAP? It is then not stepped any more. */
void step_look_ignored(struct step *s, struct step_task *t);
/*
 * @t begins a system call that changes what SIGTRAP does: no other thread may run with a step or a
 * breakpoint before it, and is looked at. step_set_alone(): none does any more.
 */
void step_set_begin(struct step *s, struct step_task *t);
bool step_set_alone(const struct step *s);
void step_set_end(struct step *s);
/* Of all processes. */
void step_look_all(struct step *s);
/* Are the system calls of @t looked at, which has breakpoints and runs free? */
bool step_watches(const struct step_task *t);
/* Before steps and breakpoints: a SIGTRAP that the program blocks comes through. */
void step_mask(struct step_task *t);
/* The signal mask is that of the program again. */
void step_unmask(struct step_task *t);
/* A SIGTRAP was sent to @t, which blocks it, and is about to be delivered: it stays pending. */
void step_put_back(struct step *s, struct step_task *t);

/* step_life.c: what is there at the start is told. */
int step_first(struct step *s);
/* Nothing is traced afterwards. */
void step_detach(struct step *s);

#endif
