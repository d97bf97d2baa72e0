/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Steps and breakpoints are told by a SIGTRAP that the kernel delivers by force: to a thread that
 * ignores or blocks it, it takes away the program's handler and unblocks it (force_sig() of Linux).
 * What the program has made of SIGTRAP has to stay, whether one is ever sent to it or not.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>

#include "step_priv.h"

/*
 * A watched call costs some 10 us more. Programs say what their signals do when they start, and
 * threads what they block: what comes later, and never at the begin of a window, is not seen.
 */
#define WATCH_CALLS	4096u

#define TRAP_BIT	(1ull << (SIGTRAP - 1))

static void look(struct step *s, struct step_task *t)
{
	struct proc *p = t->proc;
	bool before = p->ignores_trap;
	char text[200], comm[16];

	p->ignores_trap = proc_signals(t->tid, "SigIgn") & TRAP_BIT;
	p->catches_trap = proc_signals(t->tid, "SigCgt") & TRAP_BIT;
	if (!p->ignores_trap || before)
		return;
	proc_comm(p->pid, comm);
	snprintf(text, sizeof(text), "process %d (%s) ignores SIGTRAP, which a step would undo: "
		 "from here on it runs at full speed and is not recorded, nor is what it starts",
		 p->pid, comm);
	s->o.ops->note(s->o.arg, 181, text);
}

/* It may come to a breakpoint at any time; one in a system call stops at its end first. */
static bool may_break(const struct step_task *t, const struct proc *p)
{
	return t->proc == p && t->armed && t->state == STEP_RUNS && !t->entered;
}

static void interrupt(const struct step *s, const struct proc *p)
{
	for (size_t i = 0; i < s->ntasks; i++)
		if (may_break(s->tasks[i], p))
			ptrace(PTRACE_INTERRUPT, s->tasks[i]->tid, NULL, NULL);
}

void step_look_ignored(struct step *s, struct step_task *t)
{
	look(s, t);
	if (t->proc->ignores_trap)
		interrupt(s, t->proc);
}

void step_look_all(struct step *s)
{
	/* processes may share what their signals do */
	for (size_t i = 0; i < s->ntasks; i++)
		step_look_ignored(s, s->tasks[i]);
}

bool step_watches(const struct step_task *t)
{
	return t->masked || t->proc->catches_trap || t->proc->calls < WATCH_CALLS;
}

void step_set_begin(struct step *s, struct step_task *t)
{
	s->setter = t;
	interrupt(s, t->proc);
}

bool step_set_alone(const struct step *s)
{
	const struct step_task *t = s->setter;

	if (t->state != STEP_STOPPED || (s->current && s->current != t))
		return false;
	for (size_t i = 0; i < s->ntasks; i++)
		if (may_break(s->tasks[i], t->proc))
			return false;
	return true;
}

void step_set_end(struct step *s)
{
	s->setter->sets_trap = false;
	s->setter = NULL;
	step_look_all(s);
}

/*
 * Has a call with a mask of its own ended by a signal that is still to be delivered? That mask is
 * the one in force then, and the one that PTRACE_GETSIGMASK tells comes back behind the signal.
 */
static bool between_masks(const struct step_task *t, uint64_t set)
{
	struct arch_regs r;

	return !t->sig && !arch_regs(t->tid, &r) &&
		((int64_t)r.result == -EINTR || arch_restarts(&r)) &&
		proc_signals(t->tid, "SigBlk") != set;
}

void step_mask(struct step_task *t)
{
	uint64_t set;

	t->look_mask = false;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(set), &set) || !(set & TRAP_BIT))
		return;
	if (between_masks(t, set)) {
		t->look_mask = true;
		return;
	}
	set &= ~TRAP_BIT;
	t->masked = !ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(set), &set);
}

void step_unmask(struct step_task *t)
{
	uint64_t set;

	t->look_mask = true;
	if (!t->masked)
		return;
	t->masked = false;
	if (ptrace(PTRACE_GETSIGMASK, t->tid, (void *)sizeof(set), &set))
		return;
	set |= TRAP_BIT;
	ptrace(PTRACE_SETSIGMASK, t->tid, (void *)sizeof(set), &set);
}

/*
 * The kernel queues a signal again that is blocked when it goes on from its stop: as it was, for
 * the thread or the process. Each step would bring it back, so there is none up to the next system
 * call, which may be the one that waits for it.
 */
void step_put_back(struct step *s, struct step_task *t)
{
	if (!t->unseen)
		step_leave(s, t);
	if (!s->put_back)
		s->o.ops->note(s->o.arg, 181, "a SIGTRAP waits that the program blocks: while it "
			       "does, only its system calls are recorded");
	s->put_back = true;
	t->sig = SIGTRAP;
	if (s->ending)
		return;
	/* nor may a breakpoint be met */
	step_disarm(t);
	step_unmask(t);
	t->state = STEP_RUNS;
	ptrace(PTRACE_SYSCALL, t->tid, NULL, (void *)(uintptr_t)t->sig);
	t->sig = 0;
}
