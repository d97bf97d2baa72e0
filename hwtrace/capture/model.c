/* SPDX-License-Identifier: BSD-2-Clause */
/* hwt_record_model(): from single steps to a native capture. */
#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../base/diag.h"
#include "record.h"

#define WAIT_S	5	/* of waiting until it is said; then after twice the time */
/*
 * A kill loses at most what came since the last time that all was written. Both clocks are read
 * then, which must be at least once a second: half of it leaves room for a step that takes long.
 */
#define SYNC_NS	500000000u
/* another stepping tracer on the CPU makes the kernel write 8 MB of records a second */
#define READ_NS	50000000u

uint64_t rec_ns(const struct rec *r, uint64_t tick)
{
	return time_map_valid(&r->clock.map) ? time_map_ns(&r->clock.map, tick) : tick;
}

static void note_text(void *arg, unsigned id, const char *text)
{
	struct rec *r = arg;
	struct hwt_diag d;

	if (!r->o->note)
		return;
	diag_set(&d, 0, id, NULL, HWT_NO_OFF, "%s", text);
	r->o->note(r->o->arg, &d);
}

void rec_note(struct rec *r, unsigned id, const char *fmt, ...)
{
	char text[256];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	note_text(r, id, text);
}

static int on_start(void *arg, struct step_task *t, const struct step_task *parent)
{
	struct rec *r = arg;
	uint64_t tick = step_ticks();
	char comm[16];

	r->sum.threads_seen++;
	if (idmap_set(&r->tasks, (uint32_t)t->tid, (uint32_t)t->proc->pid))
		return -ENOMEM;
	/* its pages are those of its parent before */
	if (parent && t->proc != parent->proc)
		t->proc->since = tick;
	if (parent)
		return records_fork(r, parent, t, tick);
	proc_comm(t->tid, comm);
	return native_task(r->w, t->proc->pid, t->tid, comm);
}

/* A thread that is never stepped has no trace unit. */
static int on_enter(void *arg, struct step_task *t, uint64_t pc, uint64_t tick)
{
	struct rec *r = arg;
	int rc = t->unit ? 0 : unit_new(r, t);

	if (!rc && !t->proc->nmaps)
		rc = code_maps(r, t, tick);
	return rc ? rc : unit_enter(t, pc, tick);
}

static int on_insn(void *arg, struct step_task *t, const struct step_insn *i)
{
	return unit_insn(t, i);
}

static int on_trap(void *arg, struct step_task *t, uint64_t pc, int sig, uint64_t tick)
{
	struct rec *r = arg;
	int rc = records_signal(r, t, sig, tick);

	return rc || !t->unit ? rc : unit_trap(t, pc, sig, tick);
}

static int on_leave(void *arg, struct step_task *t, uint64_t pc, uint64_t tick)
{
	return t->unit ? unit_leave(t, pc, tick) : 0;
}

/* What the program may do with another user's rights is lost under a tracer. */
static void note_setuid(struct rec *r, const struct step_task *t, const char *exe)
{
	char link[64];
	struct stat st;

	snprintf(link, sizeof(link), "/proc/%d/exe", t->proc->pid);
	if (!geteuid() || stat(link, &st))
		return;
	if (((st.st_mode & S_ISUID) && st.st_uid != geteuid()) ||
	    ((st.st_mode & S_ISGID) && st.st_gid != getegid()))
		rec_note(r, 179, "%s is set-user-id or set-group-id: traced, it runs without the "
			 "rights that this gives", exe);
}

static int on_exec(void *arg, struct step_task *t, int32_t old_tid, uint64_t tick)
{
	struct rec *r = arg;
	char link[64], exe[4096], comm[16];
	ssize_t n;
	int rc = 0;

	snprintf(link, sizeof(link), "/proc/%d/exe", t->proc->pid);
	n = readlink(link, exe, sizeof(exe) - 1);
	exe[n > 0 ? n : 0] = 0;
	note_setuid(r, t, exe);
	if (r->began) {
		t->proc->since = tick;
		rc = records_exec(r, t, old_tid, exe, tick);
	} else {
		proc_comm(t->tid, comm);
		rc = native_task(r->w, t->proc->pid, t->tid, comm);
	}
	if (!rc)
		rc = code_maps(r, t, tick);
	r->began = true;
	return rc;
}

static int on_call(void *arg, struct step_task *t, const struct arch_regs *regs, bool end,
		   uint64_t tick)
{
	return records_call(arg, t, regs, end, tick);
}

static int on_remap(void *arg, struct step_task *t, uint64_t tick)
{
	return code_maps(arg, t, tick);
}

static int on_end(void *arg, struct step_task *t, int status, uint64_t tick)
{
	/* below 0: it goes on, and we do not see how */
	int rc = status < 0 ? 0 : records_exit(arg, t, tick), err = 0;

	if (t->unit)
		err = unit_end(t);
	unit_free(t);
	return rc ? rc : err;
}

static int on_turn(void *arg, struct step_task *prev, struct step_task *next, uint64_t tick)
{
	return records_switch(arg, prev, next, tick);
}

static size_t on_resolve(void *arg, struct proc *p, const char *symbol, uint64_t *addr, size_t max)
{
	return code_resolve(arg, p, symbol, addr, max);
}

/* A recording that does nothing and one that hangs look the same from outside. */
static void note_wait(struct rec *r, uint64_t now)
{
	uint64_t steps = step_count(r->step);
	unsigned s, next = r->wait_said ? r->wait_said * 2 : WAIT_S;

	if (!r->wait_since || steps != r->wait_steps || !step_waits(r->step)) {
		r->wait_steps = steps;
		r->wait_since = now;
		r->wait_said = 0;
		return;
	}
	s = (unsigned)((now - r->wait_since) / r->clock.hz);
	if (s < next)
		return;
	r->wait_said = s;
	rec_note(r, 0, "all threads wait, %u s; Ctrl-C ends the recording and keeps it", s);
}

/* Both clocks read now, and how far the clock map has gone wrong. */
static int tell_clock(struct rec *r)
{
	struct ticks_pair p = ticks_read(CLOCK_MONOTONIC);
	uint64_t ns = rec_ns(r, p.ticks + p.width / 2);
	uint64_t off = ns > p.ns ? ns - p.ns : p.ns - ns;

	r->clock_off = off > r->clock_off ? off : r->clock_off;
	return records_clock(r, &p);
}

static int on_idle(void *arg)
{
	struct rec *r = arg;
	uint64_t now = step_ticks();
	int rc = 0;

	r->sum.threads = step_tasks(r->step);
	r->sum.bytes = native_bytes(r->w);
	r->sum.kernel_events = native_records(r->w);
	if (r->o->progress)
		r->o->progress(r->o->arg, &r->sum);
	note_wait(r, now);
	if (now >= r->next_read) {
		rc = records_flush(r);
		r->next_read = now + r->clock.hz / (1000000000u / READ_NS);
	}
	if (!rc && now >= r->next_sync) {
		rc = tell_clock(r);
		if (!rc)
			rc = records_flush(r);
		if (!rc)
			rc = native_sync(r->w);
		r->next_sync = now + r->clock.hz / (1000000000u / SYNC_NS);
	}
	return rc;
}

static const struct step_ops ops = { .start = on_start, .enter = on_enter, .insn = on_insn,
	.trap = on_trap, .leave = on_leave, .exec = on_exec, .call = on_call,
	.remap = on_remap, .end = on_end, .turn = on_turn, .resolve = on_resolve,
	.idle = on_idle, .note = note_text };

static int describe(struct rec *r)
{
	const struct hwt_record_opts *o = r->o;
	struct native_clock clock = { .counter = TICKS_COUNTER, .base = "CLOCK_MONOTONIC",
		.frequency = r->clock.hz, .map = r->clock.map, .wall = r->clock.wall };
	int rc = native_origin(r->w, "model", o->argv);

	if (!rc)
		rc = native_set(r->w, "capture", "method", "single steps (ptrace) on CPU %d",
				r->cpu);
	return rc ? rc : native_clock(r->w, &clock);
}

/* With the error of the clock map, so that nobody takes it for better than it is. */
static int say_clock(struct rec *r)
{
	int rc = tell_clock(r);

	if (!rc)
		rc = records_flush(r);
	return rc ? rc : native_set(r->w, "capture", "clock_error", "%llu ns at the readings",
				    (unsigned long long)(r->clock_off + r->clock.error));
}

static int open_all(struct rec *r, struct hwt_diag *diag)
{
	struct hwt_diag why = { .off = HWT_NO_OFF };
	int rc = model_insns_new(&r->insns);

	if (!rc)
		rc = model_blocks_new(&r->blocks);
	if (rc)
		return diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "%s", hwt_strerror(rc));
	rc = native_create(&r->w, r->o->output, r->o->force, diag);
	if (rc)
		return rc;
	if (!r->o->no_kernel && kernel_open(&r->kernel, r->cpu, (int32_t)getpid(), &why))
		rec_note(r, why.id, "no events of this machine's kernel: %s", why.text);
	rc = describe(r);
	return rc ? rc : tell_clock(r);
}

static void result_end(const struct rec *r, struct hwt_record_result *out)
{
	int status = 0;

	out->end = HWT_RECORD_DETACHED;
	if (!step_status(r->step, &status))
		return;
	if (WIFEXITED(status)) {
		out->end = HWT_RECORD_EXITED;
		out->code = WEXITSTATUS(status);
	} else if (WIFSIGNALED(status)) {
		out->end = HWT_RECORD_KILLED;
		out->code = WTERMSIG(status);
		out->seccomp = out->code == SIGSYS;
	}
}

static void result(struct rec *r, struct hwt_record_result *out)
{
	r->sum.threads = 0;
	r->sum.bytes = native_bytes(r->w);
	r->sum.kernel_events = native_records(r->w);
	out->sum = r->sum;
	out->limited = r->o->limit && step_count(r->step) >= r->o->limit;
	result_end(r, out);
}

/* Ends the capture; a failure of the writer is that of the recording. */
static int close_capture(struct rec *r, int rc, struct hwt_diag *diag)
{
	struct hwt_diag why = { .off = HWT_NO_OFF };
	bool gone = rc && !native_traced(r->w);
	int err;

	kernel_close(r->kernel);
	r->kernel = NULL;
	if (gone) {
		/* an empty one would only be taken for a recording; the first error stays */
		why = *native_diag(r->w);
		native_discard(r->w);
		err = why.code;
	} else {
		err = native_close(r->w, &why);
	}
	r->w = NULL;
	if (err && (!rc || rc == err)) {
		*diag = why;
		if (gone) {
			size_t n = strlen(diag->text);

			snprintf(diag->text + n, sizeof(diag->text) - n,
				 "; no trace was written yet: no capture is left");
		}
		return err;
	}
	if (rc && !diag->text[0])
		diag_set(diag, rc, 0, NULL, HWT_NO_OFF, "%s", hwt_strerror(rc));
	return rc;
}

static int run(struct rec *r, struct hwt_record_result *out, struct hwt_diag *diag)
{
	const struct hwt_record_opts *o = r->o;
	int rc = o->pid ? step_attach(r->step, o->pid, diag) :
		step_start(r->step, o->argv, diag), err;
	const char *missing = NULL;

	if (!rc)
		rc = open_all(r, diag);
	if (rc) {
		step_abandon(r->step);
		return r->w ? close_capture(r, rc, diag) : rc;
	}
	rc = step_run(r->step, diag);
	if (!step_count(r->step) && (!rc || rc == -ENOENT))
		missing = step_missing(r->step);
	if (missing)
		rc = diag_set(diag, -ENOENT, 178, NULL, HWT_NO_OFF, "nothing was recorded: "
			      "%s is in no program that was looked at", missing);
	err = say_clock(r);
	result(r, out);
	/* first what was recorded, then the program that may run for long */
	rc = close_capture(r, rc ? rc : err, diag);
	if (!rc && !(o->stop && *o->stop)) {
		step_reap(r->step);
		result_end(r, out);
	}
	return rc;
}

static void free_all(struct rec *r)
{
	step_free(r->step);
	model_blocks_free(r->blocks);
	model_insns_free(r->insns);
	free(r->queue.p);
	idmap_free(&r->tasks);
	free(r);
}

static int bind_cpu(struct rec *r, cpu_set_t *old)
{
	cpu_set_t one;

	r->cpu = sched_getcpu();
	if (r->cpu < 0 || r->cpu >= CPU_SETSIZE || sched_getaffinity(0, sizeof(*old), old))
		return -errno;
	CPU_ZERO(&one);
	CPU_SET(r->cpu, &one);
	return sched_setaffinity(0, sizeof(one), &one) ? -errno : 0;
}

static int check(const struct hwt_record_opts *o, struct hwt_diag *diag)
{
	bool prog = o->argv && o->argv[0];

	if (o->size < sizeof(*o) || !o->output || prog == (o->pid > 0) || o->mtc > 15)
		return diag_set(diag, -EINVAL, 0, NULL, HWT_NO_OFF, "options make no sense");
#if !defined(__x86_64__) && !defined(__aarch64__)
	return diag_set(diag, -ENOSYS, 172, NULL, HWT_NO_OFF,
			"the software trace unit runs on x86-64 and arm64");
#endif
	return 0;
}

int hwt_record_model(const struct hwt_record_opts *o, struct hwt_record_result *out,
		     struct hwt_diag *diag)
{
	struct step_opts so = { .windows = o->windows, .nwindows = o->nwindows,
		.limit = o->limit, .stop = o->stop, .ops = &ops };
	sigset_t chld, old_mask;
	struct rec *r;
	cpu_set_t cpus;
	int rc = check(o, diag);

	if (rc)
		return rc;
	memset(out, 0, sizeof(*out));
	r = calloc(1, sizeof(*r));
	if (!r)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	r->o = o;
	r->diag = diag;
	rc = bind_cpu(r, &cpus);
	if (rc) {
		free(r);
		return diag_set(diag, rc, 173, NULL, HWT_NO_OFF, "can not stay on one CPU: %s",
				strerror(-rc));
	}
	ticks_measure(&r->clock);
	/* so that the wait for the next stop can end without one */
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	sigprocmask(SIG_BLOCK, &chld, &old_mask);
	so.chld_was_blocked = sigismember(&old_mask, SIGCHLD);
	so.cpus = o->pid ? NULL : &cpus;
	so.arg = r;
	rc = step_new(&r->step, &so);
	if (!rc)
		rc = run(r, out, diag);
	free_all(r);
	sigprocmask(SIG_SETMASK, &old_mask, NULL);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	return rc;
}
