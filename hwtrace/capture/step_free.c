/* SPDX-License-Identifier: BSD-2-Clause */
/* Threads that run at full speed, up to a breakpoint where a window begins. */
#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#include "../base/diag.h"
#include "step_priv.h"

/* Does the signal that waits for the thread run a handler? One without leaves it where it is. */
bool step_caught(const struct step_task *t)
{
	return t->sig > 0 && t->sig <= 64 &&
		proc_signals(t->tid, "SigCgt") >> (t->sig - 1) & 1;
}

/*
 * How a thread with breakpoints goes on: one of them must find SIGTRAP as it has to be, whatever
 * the program makes of it.
 */
static enum __ptrace_request watch(struct step *s, struct step_task *t)
{
	bool watched;

	if (t->entered) {
		step_unmask(t);
		if (s->setter == t)
			s->current = t;
		return PTRACE_SYSCALL;
	}
	watched = step_watches(t);
	if (step_caught(t)) {
		step_unmask(t);
		t->framed = watched;
		return watched ? PTRACE_SINGLESTEP : PTRACE_CONT;
	}
	if (t->look_mask)
		step_mask(t);
	return step_watches(t) ? PTRACE_SYSCALL : PTRACE_CONT;
}

/* Lets a thread run that is outside of all windows, or may not be stepped. */
void step_run_free(struct step *s, struct step_task *t)
{
	enum __ptrace_request how = PTRACE_CONT;
	uint64_t at[PROC_BEGINS];
	size_t n;
	int rc = 0;

	if (s->o.nwindows && !t->armed)
		step_look_ignored(s, t);
	n = step_breaks(s, t, at);
	if (!n)
		step_disarm(t);
	else if (!t->armed)
		rc = arch_breaks(t->tid, at, n);
	t->armed = n && !rc;
	if (rc && rc != -ESRCH && !s->rc)
		s->rc = diag_set(s->diag, rc, 177, NULL, HWT_NO_OFF,
				 "breakpoint can not be set: %s", strerror(-rc));
	t->started = t->queued_trap = t->framed = false;
	t->state = STEP_RUNS;
	if (t->armed) {
		how = watch(s, t);
	} else {
		step_unmask(t);
		t->entered = t->sets_trap = false;
		if (s->setter == t)
			s->setter = NULL;
	}
	ptrace(how, t->tid, NULL, (void *)(uintptr_t)t->sig);
	t->sig = 0;
}

/* One of a thread that is not stepped, which may change how breakpoints find SIGTRAP. */
void step_free_call(struct step *s, struct step_task *t)
{
	struct arch_regs r;

	t->entered = !t->entered;
	if (t->entered) {
		t->sets_trap = !arch_regs(t->tid, &r) && arch_sets_trap(&r);
	} else {
		t->proc->calls++;
		if (s->setter == t)
			step_set_end(s);
	}
	step_again(s, t);
}

/* A breakpoint instruction where the program blocks SIGTRAP: it runs once more as without us. */
bool step_ends(struct step_task *t, const siginfo_t *si)
{
	struct arch_regs r;

	/* those that are sent have codes up to 0 */
	if (!t->free || si->si_code <= 0 || arch_regs(t->tid, &r) ||
	    arch_rewind(t->tid, &r, t->proc->mem))
		return false;
	step_disarm(t);
	step_unmask(t);
	t->state = STEP_RUNS;
	ptrace(PTRACE_CONT, t->tid, NULL, NULL);
	return true;
}

/* What a trap is that looks like that of a step, in a thread that was not stepped. */
enum arch_stop step_free_stop(struct step *s, const struct step_task *t, const siginfo_t *si)
{
	uint64_t at[PROC_BEGINS];
	struct arch_regs r;
	uint8_t before;
	size_t n = t->armed ? step_breaks(s, t, at) : 0;

	if (arch_regs(t->tid, &r))
		return ARCH_CALLED;
	for (size_t i = 0; i < n; i++)
		if (at[i] == r.pc)
			return ARCH_BREAK;
	/* its own trap flag, or an instruction; else it is of nobody */
	if (si->si_code == TRAP_TRACE || r.own_trap ||
	    (proc_read(t->proc, r.pc - 1, &before, 1) && arch_is_break(r.isa, &before, 1)))
		return ARCH_SIGNAL;
	return ARCH_CALLED;
}
