/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stops of threads that are single-stepped, and what follows from each. Longer than other
 * files: each kind of stop may change what every other one of the same thread means.
 */
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/diag.h"
#include "step_priv.h"

#define QUANTUM		1000u	/* steps of a thread while others are ready */
#define IDLE_STEPS	256u	/* from one look at the outside to the next */
#define IDLE_MS		100	/* the same while nothing stops */

#define EVENT_OF(status)	((unsigned)(status) >> 16)

int step_new(struct step **out, const struct step_opts *o)
{
	struct step *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->o = *o;
	*out = s;
	return 0;
}

static void free_proc(struct step *s, struct proc *p)
{
	if (p && !--p->refs)
		proc_free(p);
}

void step_free(struct step *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < s->ntasks; i++) {
		free_proc(s, s->tasks[i]->proc);
		free(s->tasks[i]);
	}
	free(s->tasks);
	idmap_free(&s->by_tid);
	free(s);
}

struct step_task *step_find(const struct step *s, int32_t tid)
{
	uint32_t i = idmap_get(&s->by_tid, (uint32_t)tid);

	return i < s->ntasks && s->tasks[i]->tid == tid ? s->tasks[i] : NULL;
}

/* The process that thread @tid belongs to, made if it is new. */
static struct proc *find_proc(struct step *s, int32_t tid, int *rc)
{
	int64_t tgid = proc_status(tid, "Tgid");
	struct proc *p = NULL;

	if (tgid < 0)
		tgid = tid;
	for (size_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i]->proc->pid == tgid)
			return s->tasks[i]->proc;
	*rc = proc_new(&p, (int32_t)tgid);
	if (!*rc)
		proc_exec(p);	/* memory that can not be read is found later */
	return p;
}

int step_add(struct step *s, int32_t tid, struct step_task **out)
{
	struct step_task *t = step_find(s, tid);
	int rc = 0;

	if (t) {
		*out = t;
		return 0;
	}
	if (s->ntasks == s->cap) {
		size_t cap = s->cap ? s->cap * 2 : 16;
		struct step_task **v = realloc(s->tasks, cap * sizeof(*v));

		if (!v)
			return -ENOMEM;
		s->tasks = v;
		s->cap = cap;
	}
	t = calloc(1, sizeof(*t));
	if (!t)
		return -ENOMEM;
	t->tid = tid;
	t->unseen = t->look_mask = true;
	t->free = s->o.nwindows > 0;
	t->proc = find_proc(s, tid, &rc);
	if (!rc)
		rc = idmap_set(&s->by_tid, (uint32_t)tid, (uint32_t)s->ntasks);
	if (rc) {
		if (t->proc && !t->proc->refs)
			proc_free(t->proc);
		free(t);
		return rc;
	}
	t->proc->refs++;
	s->tasks[s->ntasks++] = t;
	*out = t;
	return 0;
}

void step_unqueue(struct step *s, struct step_task *t)
{
	struct step_task **p = &s->ready, *last = NULL;

	for (; *p && *p != t; p = &(*p)->next)
		last = *p;
	if (*p) {
		*p = t->next;
		if (s->tail == t)
			s->tail = last;
	}
	t->queued = false;
	t->next = NULL;
}

static void enqueue(struct step *s, struct step_task *t)
{
	if (t->queued)
		return;
	t->queued = true;
	t->next = NULL;
	if (s->tail && s->ready)
		s->tail->next = t;
	else
		s->ready = t;
	s->tail = t;
}

void step_drop(struct step *s, struct step_task *t)
{
	uint32_t i = idmap_get(&s->by_tid, (uint32_t)t->tid);

	step_unqueue(s, t);
	if (s->current == t)
		s->current = NULL;
	if (s->last == t)
		s->last = NULL;
	if (s->on == t)
		s->on = NULL;
	if (s->setter == t)
		s->setter = NULL;
	/* the last one takes its place; an id that is gone keeps a place that names another */
	if (i < s->ntasks && s->tasks[i] == t) {
		s->tasks[i] = s->tasks[--s->ntasks];
		if (i < s->ntasks)
			idmap_set(&s->by_tid, (uint32_t)s->tasks[i]->tid, i);
	}
	free_proc(s, t->proc);
	free(t);
}

int step_told(struct step *s, int rc)
{
	if (rc < 0 && !s->rc)
		s->rc = rc;
	return rc;
}

void step_in(struct step *s, struct step_task *t, uint64_t tick)
{
	if (s->on == t || (t && !t->known))
		return;
	if (s->o.ops->turn && !s->quiet)
		step_told(s, s->o.ops->turn(s->o.arg, s->on, t, tick));
	s->on = t;
}

static int enter(struct step *s, struct step_task *t, uint64_t pc, uint64_t tick)
{
	step_in(s, t, tick);
	if (!t->unseen)
		return 0;
	t->unseen = false;
	return step_told(s, s->o.ops->enter(s->o.arg, t, pc, tick));
}

static int insn(struct step *s, struct step_task *t, const struct step_insn *i)
{
	if (enter(s, t, i->addr, i->tick) < 0)
		return s->rc;
	s->steps++;
	s->since_idle++;
	return step_told(s, s->o.ops->insn(s->o.arg, t, i));
}

/* The instruction that was begun has run. */
void step_tell(struct step *s, struct step_task *t, uint64_t tick)
{
	if (!t->started)
		return;
	t->started = false;
	if (!t->insn.call)
		t->insn.tick = tick;
	insn(s, t, &t->insn);
	if (t->insn.call)
		t->unseen = true;
}

/* All of a sequence up to where it stopped have run. */
static void tell_sequence(struct step *s, struct step_task *t, uint64_t pc, uint64_t tick)
{
	struct arch_sequence *q = &t->seq;
	struct step_insn i = t->insn;
	uint32_t ran = 0;

	for (uint32_t k = 0; k < q->nends; k++)
		if (q->ends[k] == pc)
			ran = q->ran[k];
	q->nends = 0;
	t->started = false;
	i.tick = tick;
	for (uint32_t k = 0; k < ran && !s->rc; k++) {
		if (k) {	/* arm64 */
			i.addr = q->pc + k * 4;
			i.n = (uint8_t)proc_read(t->proc, i.addr, i.bytes, 4);
		}
		insn(s, t, &i);
	}
}

/*
 * A sequence that has to run in one go: the others that are stepped stand still, so nothing can
 * break it but what it would also meet without us.
 */
static bool begin_sequence(struct step *s, struct step_task *t)
{
	uint8_t code[ARCH_SEQUENCE_BYTES];
	size_t n;

	if (!arch_begins(t->insn.bytes, t->insn.n))
		return false;
	n = proc_read(t->proc, t->pc, code, sizeof(code));
	arch_sequence(&t->seq, t->pc, code, n);
	if (!t->seq.nends)
		return false;
	if (arch_breaks(t->tid, t->seq.ends, t->seq.nends)) {
		t->seq.nends = 0;
		return false;
	}
	t->armed = true;
	return true;
}

/* Reads what comes next. False: the thread is gone, or is none that can be stepped. */
static bool begin(struct step *s, struct step_task *t)
{
	struct step_insn *i = &t->insn;
	struct arch_regs r;
	int rc = arch_regs(t->tid, &r);

	if (rc) {
		t->foreign = rc == -ENOSYS;
		return false;
	}
	/* the kernel goes back to the system call before it leaves to user code */
	t->restarting = arch_restarts(&r);
	if (t->restarting)
		r.pc -= ARCH_CALL_SIZE;
	if (arch_is_vsyscall(r.pc)) {
		/* emulated: the kernel returns for it, and the step ends behind what follows */
		uint64_t ret = arch_return(&r, t->proc->mem), now = step_ticks();

		if (enter(s, t, r.pc, now) < 0 ||
		    step_told(s, s->o.ops->trap(s->o.arg, t, r.pc, SIGSEGV, now)) < 0)
			return false;
		t->unseen = true;
		r.pc = ret;
	}
	t->pc = r.pc;
	t->sp = r.sp;
	t->trapped = r.own_trap;
	i->addr = r.pc;
	i->isa = r.isa;
	i->n = (uint8_t)proc_read(t->proc, r.pc, i->bytes, sizeof(i->bytes));
	i->call = arch_is_call(r.isa, i->bytes, i->n);
	t->started = true;
	return true;
}

void step_disarm(struct step_task *t)
{
	if (t->armed)
		arch_breaks(t->tid, NULL, 0);
	t->armed = false;
}

/* To the begin of a system call, or to its end, which may take long: others go on meanwhile. */
static void call(struct step *s, struct step_task *t)
{
	step_unmask(t);
	/* no step of another thread while it changes what SIGTRAP does: no wait is in that call */
	s->current = s->setter == t ? t : NULL;
	t->state = STEP_KERNEL;
	ptrace(PTRACE_SYSCALL, t->tid, NULL, (void *)(uintptr_t)t->sig);
	t->sig = 0;
}

/* It ignores SIGTRAP. */
static void spare(struct step *s, struct step_task *t)
{
	if (t->queued_trap || !t->unseen)
		step_in(s, t, step_ticks());
	if (t->queued_trap)
		step_tell(s, t, step_ticks());
	step_leave(s, t);
	step_run_free(s, t);
}

/* The instruction raises a SIGTRAP itself, and the program blocks it: that ends the program. */
static bool fatal(const struct step_task *t)
{
	return t->masked && (t->trapped ||
			     arch_traps(t->insn.isa, t->insn.bytes, t->insn.n));
}

/* One step of a thread that is stopped. */
static void go(struct step *s, struct step_task *t)
{
	enum __ptrace_request how = PTRACE_SINGLESTEP;
	bool handled;

	if (s->current == t)
		s->current = NULL;
	if (t->free || t->foreign) {
		step_run_free(s, t);
		return;
	}
	step_disarm(t);
	if (t->entered) {
		call(s, t);
		return;
	}
	if (t->proc->ignores_trap) {
		spare(s, t);
		return;
	}
	if (t->queued_trap) {
		t->queued_trap = false;
		t->state = STEP_STEPS;
		s->current = t;
		ptrace(PTRACE_SINGLESTEP, t->tid, NULL, NULL);
		return;
	}
	if (!begin(s, t)) {
		/* gone: waitpid() says how */
		if (t->foreign) {
			step_leave(s, t);
			s->o.ops->note(s->o.arg, 172, "32-bit code can not be stepped here: "
				       "it runs at full speed and is not recorded");
			step_run_free(s, t);
		} else {
			t->state = STEP_STEPS;
			s->current = t;
		}
		return;
	}
	handled = step_caught(t);
	t->insn.tick = step_ticks();
	if (t->insn.call && !handled) {
		call(s, t);
		return;
	}
	s->current = t;
	t->state = STEP_STEPS;
	if (handled)
		step_unmask(t);		/* a handler's frame keeps the mask */
	else if (t->look_mask)
		step_mask(t);
	if (fatal(t)) {
		step_unmask(t);
		how = PTRACE_CONT;
	} else if (!t->sig && begin_sequence(s, t)) {
		how = PTRACE_CONT;
	}
	ptrace(how, t->tid, NULL, (void *)(uintptr_t)t->sig);
	if (t->insn.call) {
		t->state = STEP_KERNEL;
		s->current = NULL;
	}
	t->sig = 0;
}

static bool is_free(const struct step_task *t)
{
	return t->free || t->foreign || t->proc->ignores_trap;
}

/* Of a thread that stopped: it goes on now, or when its turn comes. */
void step_again(struct step *s, struct step_task *t)
{
	t->state = STEP_STOPPED;
	if (s->ending)
		return;
	if (t->sets_trap && !s->setter)
		step_set_begin(s, t);
	if (s->setter == t) {
		return;		/* next_turn(), when it is alone */
	} else if (s->setter) {
		enqueue(s, t);
	} else if (is_free(t)) {
		go(s, t);
	} else if (s->current && s->current != t) {
		enqueue(s, t);
	} else if (!s->ready || (t == s->last && t->quantum)) {
		t->quantum = t->quantum ? t->quantum - 1 : QUANTUM;
		s->last = t;
		step_in(s, t, step_ticks());
		go(s, t);
	} else {
		s->current = NULL;
		enqueue(s, t);
	}
}

static void next_turn(struct step *s)
{
	struct step_task *t;
	bool more = true;

	if (s->setter && step_set_alone(s))
		go(s, s->setter);
	while (more && !s->current && !s->setter && (t = s->ready)) {
		more = is_free(t);
		step_unqueue(s, t);
		if (t->sets_trap) {
			step_again(s, t);
			continue;
		}
		if (!more) {
			s->last = t;
			t->quantum = QUANTUM;
			step_in(s, t, step_ticks());
		}
		go(s, t);
	}
}

/* It stopped inside a sequence: how much of that ran is known by where it stands. */
static void cut_sequence(struct step *s, struct step_task *t, uint64_t tick)
{
	struct arch_sequence *q = &t->seq;
	struct arch_regs r;

	if (!q->nends)
		return;
	step_disarm(t);
	if (arch_regs(t->tid, &r))
		r.pc = q->pc;
	if (r.pc != q->ends[0] && r.pc != q->ends[q->nends - 1]) {
		q->ends[0] = r.pc;
		q->ran[0] = r.pc - q->pc < ARCH_SEQUENCE_BYTES ?
			(uint32_t)(r.pc - q->pc) / 4 : 0;
	}
	tell_sequence(s, t, r.pc, tick);
}

/* A signal is about to be delivered. */
static void on_signal(struct step *s, struct step_task *t, int sig, uint64_t tick)
{
	struct arch_regs r;

	t->sig = sig;
	cut_sequence(s, t, tick);
	if (arch_regs(t->tid, &r)) {
		step_again(s, t);
		return;
	}
	/* INT3 has run when its signal comes, what faults has not */
	if (t->started && !t->restarting && r.pc != t->insn.addr)
		step_tell(s, t, tick);
	t->started = false;
	if (!t->free && !t->foreign && !t->unseen) {
		step_told(s, s->o.ops->trap(s->o.arg, t, r.pc, sig, tick));
		t->unseen = true;
	}
	step_again(s, t);
}

/* What follows from a system call that has ended. */
static bool called(struct step *s, struct step_task *t, const struct arch_regs *r, uint64_t tick)
{
	if (s->o.ops->call && !t->free)
		step_told(s, s->o.ops->call(s->o.arg, t, r, true, tick));
	if (arch_remaps(r->call) && s->o.ops->remap)
		step_told(s, s->o.ops->remap(s->o.arg, t, tick));
	return step_window_end(s, t, r);
}

/* One instruction is done, or a system call. */
static void stepped(struct step *s, struct step_task *t, enum arch_stop why, uint64_t tick)
{
	bool is_call = t->started && t->insn.call;
	struct arch_regs r;
	int sig = 0;

	if (t->started && (why == ARCH_STEPPED || is_call)) {
		if (arch_regs(t->tid, &r)) {
			step_again(s, t);	/* killed meanwhile */
			return;
		}
		if (!is_call)
			arch_fix(&r, t->insn.bytes, t->insn.n, t->proc->mem);
		/* its own single-step: the trap that we took was also meant for it */
		if (t->trapped && why == ARCH_STEPPED)
			sig = SIGTRAP;
		step_tell(s, t, tick);
		if (is_call ? called(s, t, &r, tick) : step_window_end(s, t, &r))
			return;
	}
	t->started = false;
	if (sig)
		on_signal(s, t, sig, tick);
	else
		step_again(s, t);
}

/* A system call begins or ends. */
static void on_call(struct step *s, struct step_task *t, uint64_t tick)
{
	struct arch_regs r;

	if (t->free) {
		step_free_call(s, t);
		return;
	}
	if (arch_regs(t->tid, &r)) {
		step_again(s, t);
		return;
	}
	if (!t->entered) {
		step_tell(s, t, tick);
		if (s->o.ops->call)
			step_told(s, s->o.ops->call(s->o.arg, t, &r, false, tick));
		t->entered = true;
		t->sets_trap = arch_sets_trap(&r);
		step_again(s, t);
		return;
	}
	t->entered = t->started = false;
	if (s->setter == t)
		step_set_end(s);
	if (!called(s, t, &r, tick))
		step_again(s, t);
}

/* One that was sent, and that is let through only by us. */
static void on_blocked_trap(struct step *s, struct step_task *t, uint64_t tick)
{
	struct arch_regs r;

	cut_sequence(s, t, tick);
	if (t->started && !t->restarting && !arch_regs(t->tid, &r) && r.pc != t->insn.addr) {
		step_tell(s, t, tick);
		t->pc = r.pc;
	}
	t->started = false;
	step_put_back(s, t);
}

static void on_trap(struct step *s, struct step_task *t, uint64_t tick)
{
	bool broke = t->started && arch_is_break(t->insn.isa, t->insn.bytes, t->insn.n);
	struct arch_regs r;
	enum arch_stop why;
	siginfo_t si;

	if (ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si)) {
		step_again(s, t);
		return;
	}
	why = arch_stop(&si, broke, t->started && t->insn.call);
	if ((why == ARCH_STEPPED || why == ARCH_CALLED) && is_free(t) && !t->framed)
		why = step_free_stop(s, t, &si);
	switch (why) {
	case ARCH_SIGNAL:
		if (!t->masked)
			on_signal(s, t, SIGTRAP, tick);
		else if (!step_ends(t, &si))
			on_blocked_trap(s, t, tick);
		return;
	case ARCH_BREAK:
		if (!t->armed || arch_regs(t->tid, &r)) {
			/* the program's own debugger is not possible: we are it */
			on_signal(s, t, SIGTRAP, tick);
			return;
		}
		step_disarm(t);
		if (t->seq.nends) {
			tell_sequence(s, t, r.pc, tick);
			if (!step_window_end(s, t, &r))
				step_again(s, t);
			return;
		}
		step_window_begin(s, t, &r);
		step_again(s, t);
		return;
	case ARCH_HANDLER:
		t->started = false;
		t->look_mask = true;
		step_again(s, t);
		return;
	case ARCH_STEPPED:
		if (t->seq.nends)
			step_disarm(t);	/* the program's own single-step ended it */
		t->seq.nends = 0;
		stepped(s, t, ARCH_STEPPED, tick);
		return;
	case ARCH_CALLED:
		stepped(s, t, ARCH_CALLED, tick);
	}
}

static void on_child(struct step *s, struct step_task *t, uint64_t tick)
{
	struct step_task *c;
	unsigned long id = 0;

	if (!ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &id)) {
		if (step_told(s, step_add(s, (int32_t)id, &c)))
			return;
		/* what was started in a window belongs to it */
		c->free = t->free;
		c->window = t->window;
		c->ret = 0;
		if (!c->known) {
			c->known = true;
			step_told(s, s->o.ops->start(s->o.arg, c, t));
			if (c->proc != t->proc) {
				/* as its parent: that needs no word */
				c->proc->ignores_trap = t->proc->ignores_trap;
				c->proc->calls = t->proc->calls;
				step_look_ignored(s, c);
				step_resolve(s, c, false);
			}
		}
		if (c->waits) {
			c->waits = false;
			step_again(s, c);
		}
	}
	step_again(s, t);
}

static void on_exec(struct step *s, struct step_task *t, uint64_t tick)
{
	unsigned long id = (unsigned long)t->tid;
	struct step_task *old;

	ptrace(PTRACE_GETEVENTMSG, t->tid, NULL, &id);
	/* a thread that is not the first one takes the first one's id; the others are gone */
	old = step_find(s, (int32_t)id);
	if (old && old != t) {
		step_tell(s, old, tick);
		step_told(s, s->o.ops->end(s->o.arg, old, 0, tick));
		step_drop(s, old);
		t->started = false;
	}
	step_tell(s, t, tick);
	t->unseen = true;
	t->entered = true;	/* execve() has still to end */
	t->queued_trap = false;
	t->armed = false;	/* the kernel has cleared them */
	t->foreign = false;
	t->seq.nends = 0;
	t->sets_trap = false;
	if (s->setter == t)
		s->setter = NULL;
	step_exec_window(s, t);
	proc_exec(t->proc);
	t->proc->calls = 0;
	step_look_ignored(s, t);
	step_told(s, s->o.ops->exec(s->o.arg, t, (int32_t)id, tick));
	if (!s->rc)
		step_resolve(s, t, true);
	step_again(s, t);
}

static void on_event_stop(struct step *s, struct step_task *t, int sig, uint64_t tick)
{
	bool stopped = sig == SIGSTOP || sig == SIGTSTP || sig == SIGTTIN || sig == SIGTTOU;

	struct arch_regs r;

	/* what was begun and has run ends with the trap that stands behind this stop */
	cut_sequence(s, t, tick);
	t->queued_trap = t->started && !t->restarting && !t->insn.call &&
		!arch_regs(t->tid, &r) && r.pc != t->insn.addr;
	if (!t->queued_trap)
		t->started = false;
	if (!t->known) {
		/* its parent's event tells who it is; which of both comes first is not fixed */
		t->state = STEP_STOPPED;
		t->waits = true;
		return;
	}
	if (stopped && !s->ending) {
		if (!t->unseen && !t->free)
			step_in(s, t, tick);
		if (!t->unseen && !t->free)
			step_told(s, s->o.ops->trap(s->o.arg, t, t->pc, sig, tick));
		t->unseen = true;
		t->state = STEP_LISTENS;
		ptrace(PTRACE_LISTEN, t->tid, NULL, NULL);
		return;
	}
	step_again(s, t);
}

static void on_end(struct step *s, struct step_task *t, int status, uint64_t tick)
{
	/* the last thing it did was to call exit, or it was killed in a call */
	if (t->started && t->insn.call)
		step_tell(s, t, tick);
	if (t->tid == s->first) {
		s->status = status;
		s->have_status = true;
	}
	if (t->known && !s->quiet)
		step_told(s, s->o.ops->end(s->o.arg, t, status, tick));
	step_drop(s, t);
}

/* That a thread stopped is no record of it; what follows from it mostly is. */
static void came(struct step *s, struct step_task *t, int status, uint64_t tick)
{
	unsigned event = EVENT_OF(status);

	if (WIFSTOPPED(status) && (event == PTRACE_EVENT_STOP || is_free(t)) &&
	    event != PTRACE_EVENT_CLONE && event != PTRACE_EVENT_FORK &&
	    event != PTRACE_EVENT_VFORK && event != PTRACE_EVENT_EXEC)
		return;
	step_in(s, t, tick);
}

void step_on_stop(struct step *s, int32_t tid, int status)
{
	uint64_t tick = step_ticks();
	struct step_task *t = step_find(s, tid);
	int sig = WSTOPSIG(status);

	if (!t) {
		/* a child whose stop comes before its parent's event, or one that is not ours */
		if (!WIFSTOPPED(status) || step_told(s, step_add(s, tid, &t)))
			return;
	}
	came(s, t, status, tick);
	if (!WIFSTOPPED(status)) {
		on_end(s, t, status, tick);
		return;
	}
	if (s->current == t)
		s->current = NULL;
	t->state = STEP_STOPPED;
	switch (EVENT_OF(status)) {
	case PTRACE_EVENT_CLONE:
	case PTRACE_EVENT_FORK:
	case PTRACE_EVENT_VFORK:
		on_child(s, t, tick);
		break;
	case PTRACE_EVENT_EXEC:
		on_exec(s, t, tick);
		break;
	case PTRACE_EVENT_STOP:
		on_event_stop(s, t, sig, tick);
		break;
	case 0:
		if (sig == (SIGTRAP | 0x80))
			on_call(s, t, tick);
		else if (sig == SIGTRAP)
			on_trap(s, t, tick);
		else
			on_signal(s, t, sig, tick);
		break;
	default:
		step_again(s, t);
	}
}

static bool must_stop(struct step *s)
{
	if (s->o.limit && s->steps >= s->o.limit)
		return true;
	if (s->o.stop && *s->o.stop)
		return true;
	if (s->since_idle >= IDLE_STEPS) {
		s->since_idle = 0;
		if (s->o.ops->idle && step_told(s, s->o.ops->idle(s->o.arg)))
			return true;
	}
	return s->rc != 0;
}

/* The next stop, 0 if there was none for a while. */
static int32_t wait_stop(struct step *s, int *status)
{
	struct timespec ms = { .tv_nsec = IDLE_MS * 1000000l };
	sigset_t chld;
	int32_t tid;

	/* user code stops at once: no need for more system calls */
	if (s->current) {
		tid = waitpid(-1, status, __WALL);
		return tid < 0 && errno == EINTR ? 0 : tid;
	}
	tid = waitpid(-1, status, __WALL | WNOHANG);
	if (tid)
		return tid;
	/* it waits in its call, or we would not run here */
	if (s->on && (s->on->state == STEP_LISTENS ||
		      (s->on->state == STEP_KERNEL && s->on->entered)))
		step_in(s, NULL, step_ticks());
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	if (sigtimedwait(&chld, NULL, &ms) < 0)
		s->since_idle = IDLE_STEPS;
	return 0;
}

int step_run(struct step *s, struct hwt_diag *diag)
{
	struct step_task *t;
	int status;

	s->diag = diag;
	step_first(s);
	if (!s->rc && (t = step_find(s, s->first)) && step_never(s, t)) {
		step_abandon(s);
		return -ENOENT;
	}
	for (size_t i = 0; i < s->ntasks && !s->rc; i++)
		if (s->tasks[i]->state == STEP_STOPPED)
			step_again(s, s->tasks[i]);
	while (s->ntasks && !must_stop(s)) {
		int32_t tid;

		next_turn(s);
		if (s->rc)
			break;
		tid = wait_stop(s, &status);
		if (tid < 0)
			break;		/* ECHILD: none is left */
		if (tid)
			step_on_stop(s, tid, status);
	}
	step_detach(s);
	return s->rc;
}

uint64_t step_count(const struct step *s)
{
	return s->steps;
}

bool step_waits(const struct step *s)
{
	for (size_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i]->state != STEP_KERNEL && s->tasks[i]->state != STEP_LISTENS)
			return false;
	return s->ntasks > 0;
}

unsigned step_tasks(const struct step *s)
{
	return (unsigned)s->ntasks;
}

bool step_status(const struct step *s, int *status)
{
	*status = s->status;
	return s->have_status;
}
