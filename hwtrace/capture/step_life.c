/* SPDX-License-Identifier: BSD-2-Clause */
/* How tracing begins and ends: programs that are started, threads that are seized and let go. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../base/diag.h"
#include "step_priv.h"

#define OPTIONS	(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | \
		 PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC)
#define SCANS	16	/* of a process whose threads make threads while they are seized */
#define DRAINS	8	/* traps of our own that may wait in a thread that is let go */
#define PATIENCE_MS	2000	/* before we say that a thread does not come out of the kernel */

static long number_in(const char *path)
{
	FILE *f = fopen(path, "re");
	long v = -1;

	if (f && fscanf(f, "%ld", &v) != 1)
		v = -1;
	if (f)
		fclose(f);
	return v;
}

/* Why the system does not let us trace @pid. */
static int forbidden(struct hwt_diag *diag, int err, int32_t pid)
{
	long scope = number_in("/proc/sys/kernel/yama/ptrace_scope");
	int64_t tracer = proc_status(pid, "TracerPid");
	char comm[16];

	if (tracer > 0) {
		proc_comm((int32_t)tracer, comm);
		return diag_set(diag, -EBUSY, 175, NULL, HWT_NO_OFF,
				"process %d is traced already, by process %lld (%s)", pid,
				(long long)tracer, comm);
	}
	if (err == ESRCH)
		return diag_set(diag, -ESRCH, 174, NULL, HWT_NO_OFF, "process %d is gone", pid);
	if (scope > 0)
		return diag_set(diag, -EPERM, 173, NULL, HWT_NO_OFF,
				"process %d may not be traced: kernel.yama.ptrace_scope is %ld",
				pid, scope);
	return diag_set(diag, -EPERM, 173, NULL, HWT_NO_OFF,
			"process %d may not be traced: %s (another user's, or the container "
			"forbids ptrace)", pid, strerror(err));
}

/* The new process: waits until it is seized. An error number comes back through @err. */
static void child(int go, int err, const char *path, char *const *argv, const sigset_t *mask)
{
	char c;

	sigprocmask(SIG_SETMASK, mask, NULL);
	while (read(go, &c, 1) < 0 && errno == EINTR)
		;
	execv(path, argv);
	c = (char)errno;
	if (write(err, &c, 1) < 0)
		_exit(126);
	_exit(127);
}

static void kill_child(struct step *s, pid_t pid)
{
	kill(pid, SIGKILL);
	while (waitpid(pid, NULL, __WALL) < 0 && errno == EINTR)
		;
	s->ours = false;
}

/* Up to the stop behind execve(): before it the code is our own. */
static int wait_exec(struct step *s, pid_t pid, int err, const char *path, struct hwt_diag *diag)
{
	unsigned char e;
	int status;

	for (;;) {
		if (waitpid(pid, &status, __WALL) < 0) {
			if (errno == EINTR)
				continue;
			return -errno;
		}
		if (!WIFSTOPPED(status)) {
			s->ours = false;
			if (read(err, &e, 1) == 1)
				return diag_set(diag, -(int)e, 170, path, HWT_NO_OFF,
						"can not be executed: %s", strerror(e));
			return diag_set(diag, -ECHILD, 174, path, HWT_NO_OFF,
					"was killed before its first instruction");
		}
		if ((status >> 16) == PTRACE_EVENT_EXEC)
			return 0;
		ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)
		       (status >> 16 ? 0 : WSTOPSIG(status)));
	}
}

static int seize_child(struct step *s, pid_t pid, int go, int err, const char *path,
		       struct hwt_diag *diag)
{
	struct step_task *t;
	int rc;

	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)(uintptr_t)(OPTIONS | PTRACE_O_EXITKILL)))
		return forbidden(diag, errno, pid);
	if (write(go, "", 1) != 1)
		return -errno;
	rc = wait_exec(s, pid, err, path, diag);
	if (rc)
		return rc;
	rc = step_add(s, pid, &t);
	if (rc)
		return rc;
	t->state = STEP_STOPPED;
	t->known = true;
	t->entered = true;	/* in execve() */
	step_exec_window(s, t);
	return 0;
}

int step_start(struct step *s, char *const *argv, struct hwt_diag *diag)
{
	int go[2], err[2], rc;
	char path[4096];
	sigset_t mask;
	pid_t pid;

	s->diag = diag;
	rc = proc_find(argv[0], path, sizeof(path), diag);
	if (rc)
		return rc;
	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(err, O_CLOEXEC)) {
		rc = -errno;
		close(go[0]);
		close(go[1]);
		return rc;
	}
	/* the program gets the mask that we had before SIGCHLD was blocked */
	sigprocmask(SIG_SETMASK, NULL, &mask);
	if (!s->o.chld_was_blocked)
		sigdelset(&mask, SIGCHLD);
	pid = fork();
	if (!pid) {
		close(go[1]);
		child(go[0], err[1], path, argv, &mask);
	}
	rc = pid < 0 ? -errno : 0;
	close(go[0]);
	close(err[1]);
	if (!rc) {
		s->first = pid;
		s->ours = true;
		rc = seize_child(s, pid, go[1], err[0], path, diag);
		if (rc && s->ours)
			kill_child(s, pid);
	}
	close(go[1]);
	close(err[0]);
	return rc;
}

/* 1 if the thread is new to us. */
static int seize(struct step *s, int32_t pid, int32_t tid, struct hwt_diag *diag)
{
	struct step_task *t;
	int rc;

	if (step_find(s, tid))
		return 0;
	if (ptrace(PTRACE_SEIZE, tid, NULL, (void *)(uintptr_t)OPTIONS)) {
		/* gone, or already ours as a child of one that was seized */
		if (tid != pid && (errno == ESRCH || proc_status(tid, "TracerPid") == getpid()))
			return 0;
		return forbidden(diag, errno, tid);
	}
	rc = step_add(s, tid, &t);
	if (rc)
		return rc;
	t->known = true;
	step_exec_window(s, t);
	ptrace(PTRACE_INTERRUPT, tid, NULL, NULL);
	return 1;
}

static int seize_all(struct step *s, int32_t pid, struct hwt_diag *diag)
{
	char path[64];
	int found = 1, rc;

	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	for (unsigned i = 0; i < SCANS && found; i++) {
		DIR *d = opendir(path);
		struct dirent *e;

		found = 0;
		if (!d)
			return forbidden(diag, ESRCH, pid);
		while ((e = readdir(d))) {
			if (*e->d_name < '0' || *e->d_name > '9')
				continue;
			rc = seize(s, pid, atoi(e->d_name), diag);
			if (rc < 0) {
				closedir(d);
				return rc;
			}
			found |= rc;
		}
		closedir(d);
	}
	return 0;
}

int step_attach(struct step *s, int32_t pid, struct hwt_diag *diag)
{
	int rc;

	s->diag = diag;
	s->first = pid;
	/* a thread's number is none of a process */
	if (proc_status(pid, "Tgid") != pid)
		return diag_set(diag, -ESRCH, 174, NULL, HWT_NO_OFF, "there is no process %d", pid);
	rc = seize_all(s, pid, diag);
	return rc;
}

/* Tells of what is there at the start. */
int step_first(struct step *s)
{
	struct step_task *t;

	for (size_t i = 0; i < s->ntasks; i++)
		if (step_told(s, s->o.ops->start(s->o.arg, s->tasks[i], NULL)))
			return s->rc;
	step_look_all(s);
	t = step_find(s, s->first);
	if (t && !step_told(s, s->o.ops->exec(s->o.arg, t, t->tid, step_ticks())))
		step_resolve(s, t, s->ours);
	return s->rc;
}

void step_abandon(struct step *s)
{
	s->quiet = true;
	if (s->ours) {
		kill_child(s, s->first);
		while (s->ntasks)
			step_drop(s, s->tasks[0]);
	}
	step_detach(s);
}

/*
 * Traps that stepping has made and that wait for delivery would kill the program; one that was sent
 * to it stays. What the program blocks is none of ours.
 */
static void drain(struct step_task *t)
{
	siginfo_t si;
	int status;

	for (unsigned i = 0; i < DRAINS; i++) {
		if (!(proc_signals(t->tid, "SigPnd") & ~proc_signals(t->tid, "SigBlk") &
		      1u << (SIGTRAP - 1)))
			return;
		if (ptrace(PTRACE_CONT, t->tid, NULL, (void *)(uintptr_t)t->sig))
			return;
		t->sig = 0;
		if (waitpid(t->tid, &status, __WALL) != t->tid || !WIFSTOPPED(status))
			return;
		if (status >> 16)
			continue;
		if (WSTOPSIG(status) != SIGTRAP) {
			t->sig = WSTOPSIG(status);
		} else if (!ptrace(PTRACE_GETSIGINFO, t->tid, NULL, &si) &&
			   arch_stop(&si, false, false) == ARCH_SIGNAL) {
			t->sig = SIGTRAP;
			return;
		}
	}
}

static void unpin(const struct step *s, int32_t tid)
{
	cpu_set_t now;

	if (s->o.cpus && !sched_getaffinity(tid, sizeof(now), &now) && CPU_COUNT(&now) == 1)
		sched_setaffinity(tid, sizeof(*s->o.cpus), s->o.cpus);
}

static void let_go(struct step *s, struct step_task *t)
{
	struct arch_regs r;

	step_in(s, t, step_ticks());
	if (t->queued_trap)
		step_tell(s, t, step_ticks());
	if (!arch_regs(t->tid, &r))
		t->pc = r.pc;
	if (!s->quiet) {
		step_leave(s, t);
		step_told(s, s->o.ops->end(s->o.arg, t, -1, step_ticks()));
	}
	arch_breaks(t->tid, NULL, 0);
	drain(t);
	step_unmask(t);
	unpin(s, t->tid);
	ptrace(PTRACE_DETACH, t->tid, NULL, (void *)(uintptr_t)t->sig);
	step_drop(s, t);
}

static void note_patience(struct step *s)
{
	char text[160], comm[16];

	proc_comm(s->tasks[0]->tid, comm);
	snprintf(text, sizeof(text), "waiting for thread %d (%s), which does not leave the kernel",
		 s->tasks[0]->tid, comm);
	s->o.ops->note(s->o.arg, 0, text);
}

/*
 * Threads are let go as they stop: one may wait in the kernel for another. A thread that was
 * stepped must stop first, as the kernel leaves its trap flag set when we just end.
 */
void step_detach(struct step *s)
{
	struct timespec ms = { .tv_nsec = 50 * 1000000l };
	unsigned waited = 0;
	int32_t tid;
	int status;

	s->ending = true;
	for (size_t i = 0; i < s->ntasks; i++)
		if (s->tasks[i]->state != STEP_STOPPED)
			ptrace(PTRACE_INTERRUPT, s->tasks[i]->tid, NULL, NULL);
	for (;;) {
		for (size_t i = s->ntasks; i-- > 0;)
			if (s->tasks[i]->state == STEP_STOPPED)
				let_go(s, s->tasks[i]);
		if (!s->ntasks)
			break;
		tid = waitpid(-1, &status, __WALL | WNOHANG);
		if (tid < 0)
			break;
		if (tid) {
			step_on_stop(s, tid, status);
			continue;
		}
		nanosleep(&ms, NULL);
		waited += 50;
		if (waited == PATIENCE_MS)
			note_patience(s);
	}
}

void step_reap(struct step *s)
{
	int status;

	if (!s->ours || s->have_status)
		return;
	while (waitpid(s->first, &status, 0) != s->first) {
		if (errno != EINTR)
			return;
		if (s->o.stop && *s->o.stop)
			return;
	}
	s->status = status;
	s->have_status = true;
}
