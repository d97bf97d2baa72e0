/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_STEP_H
#define HWT_CAPTURE_STEP_H

/*
 * Runs a program, its threads and its children by single steps (ptrace) and tells each instruction
 * that ran. What the kernel does between two of them is not seen. Nothing here knows of trace.
 *
 * One thread is stepped at a time; the others are stopped, or wait in a system call, or run at full
 * speed outside of every window. All stops come through one waitpid(-1): the calling process must
 * have no other children.
 */
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/capture.h>

#include "proc.h"
#include "step_arch.h"

struct step;

/* What a thread does as far as we know. */
enum step_state {
	STEP_NEW,		/* its first stop has not come yet */
	STEP_STOPPED,		/* waits for us */
	STEP_STEPS,		/* runs one instruction: the next stop comes at once */
	STEP_KERNEL,		/* in a system call, which may take long */
	STEP_RUNS,		/* at full speed */
	STEP_LISTENS		/* stopped by a stop signal, as its user wants it */
};

struct step_insn {
	uint64_t addr, tick;	/* @tick: when it retired */
	uint8_t bytes[ARCH_INSN_BYTES];
	uint8_t n;		/* bytes that could be read, 0: none */
	uint8_t isa;		/* enum model_isa */
	bool call;		/* enters the kernel: system call */
};

struct step_task {
	int32_t tid;
	struct proc *proc;
	uint8_t state;		/* enum step_state */
	bool free;		/* outside of every window */
	bool armed;		/* its debug registers hold the breakpoints */
	bool started;		/* @insn was begun and not told */
	bool unseen;		/* flow is not in user code: enter() is due */
	bool restarting;	/* @insn is a system call that the kernel runs again */
	bool entered;		/* in a system call: its end comes as a stop */
	bool queued_trap;	/* @insn has run, and the trap that says so is still to come */
	bool masked;		/* the program blocks SIGTRAP; we do not while it is stepped */
	bool look_mask;		/* whether it does may have changed */
	bool sets_trap;		/* in a system call that says what SIGTRAP does */
	bool framed;		/* runs freely but for the step into its handler */
	bool trapped;		/* the program set its own trap flag before @insn */
	bool known;		/* start() was told */
	bool waits;		/* stopped before it was known */
	bool queued;
	bool foreign;		/* code of an architecture that is not stepped: runs freely */
	int sig;		/* to be delivered when it goes on */
	uint32_t quantum;	/* steps left before another thread has its turn */
	struct step_insn insn;
	uint64_t pc, sp;	/* at its last stop */
	uint32_t window;	/* number of the window that it is in, from 1 on; 0: none */
	uint64_t ret, ret_sp;	/* end of a window without --to, ret 0: not known */
	struct arch_sequence seq;	/* @nends > 0: runs in one go */
	struct step_task *next;	/* of those that are ready */
	void *unit;		/* the owner's */
};

/* All are told in order; a negative code ends the recording. Ticks never go back. */
struct step_ops {
	int (*start)(void *arg, struct step_task *t, const struct step_task *parent);
	/* flow goes on at @pc after something that was not seen */
	int (*enter)(void *arg, struct step_task *t, uint64_t pc, uint64_t tick);
	int (*insn)(void *arg, struct step_task *t, const struct step_insn *i);
	/* signal @sig came before the instruction at @pc */
	int (*trap)(void *arg, struct step_task *t, uint64_t pc, int sig, uint64_t tick);
	/* is not stepped from here on: window or recording ends */
	int (*leave)(void *arg, struct step_task *t, uint64_t pc, uint64_t tick);
	int (*exec)(void *arg, struct step_task *t, int32_t old_tid, uint64_t tick);
	/* a system call begins, or has ended with what @r says; NULL */
	int (*call)(void *arg, struct step_task *t, const struct arch_regs *r, bool end,
		    uint64_t tick);
	/* a system call of @t may have changed what is mapped */
	int (*remap)(void *arg, struct step_task *t, uint64_t tick);
	/* gone, with the status of waitpid(); or goes on without us, then it is -1 */
	int (*end)(void *arg, struct step_task *t, int status, uint64_t tick);
	/*
	 * Another thread is on the CPU, as told: @prev NULL is one that is not ours, @next NULL
	 * none of ours. All that is told of a thread comes between its turn and the next one. Each
	 * of those below may be NULL.
	 */
	int (*turn)(void *arg, struct step_task *prev, struct step_task *next, uint64_t tick);
	/* addresses of a symbol in @p, at most @max; the number of them */
	size_t (*resolve)(void *arg, struct proc *p, const char *symbol, uint64_t *addr,
			  size_t max);
	/* once in a while; a value other than 0 ends the recording */
	int (*idle)(void *arg);
	void (*note)(void *arg, unsigned id, const char *text);
};

struct step_opts {
	const struct hwt_window *windows;
	size_t nwindows;
	uint64_t limit;		/* steps, 0: none */
	const volatile sig_atomic_t *stop;	/* set from outside: end the recording; NULL */
	bool chld_was_blocked;	/* SIGCHLD, before we blocked it */
	const cpu_set_t *cpus;	/* given back to threads that are left on one CPU; NULL */
	const struct step_ops *ops;
	void *arg;
};

int step_new(struct step **out, const struct step_opts *o);
void step_free(struct step *s);

/*
 * Starts @argv, stopped before its first instruction; or seizes all threads of @pid. Words of a
 * failure are in @diag.
 */
int step_start(struct step *s, char *const *argv, struct hwt_diag *diag);
int step_attach(struct step *s, int32_t pid, struct hwt_diag *diag);

/* Instead of step_run(): a program that was started never runs, one that was seized goes on. */
void step_abandon(struct step *s);

/*
 * Steps until all threads are gone, the limit is reached, or it is told to stop. Then nothing is
 * traced any more: what still lives goes on by itself. 0, or what a callback returned.
 */
int step_run(struct step *s, struct hwt_diag *diag);

uint64_t step_count(const struct step *s);	/* instructions that were told */
/* The name of a window's begin, if no such name was in anything that ran; NULL. */
const char *step_missing(const struct step *s);
/* All threads wait in the kernel, or were stopped by their user. */
bool step_waits(const struct step *s);
unsigned step_tasks(const struct step *s);	/* that live now */
/* How the first process ended, as waitpid() says; false: it did not, or is not our child. */
bool step_status(const struct step *s, int *status);
/* Waits for the program that step_start() started, which is not traced any more. */
void step_reap(struct step *s);

#endif
