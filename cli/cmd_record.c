/* SPDX-License-Identifier: BSD-2-Clause */
/* record: a program is run by the software trace unit, or the machine tells what it does. */
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define MTC_DEFAULT	12	/* 2^12 ticks of a crystal of 25 MHz: 164 us, some steps */

static uint64_t elapsed_ms(const struct timespec *from, const struct timespec *to)
{
	return (uint64_t)((to->tv_sec - from->tv_sec) * 1000 +
			  (to->tv_nsec - from->tv_nsec) / 1000000);
}

static void on_progress(void *arg, const struct hwt_record_progress *p)
{
	struct run *r = arg;
	struct timespec t;
	uint64_t ms;

	if (!r->progress)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	ms = elapsed_ms(&r->start, &t);
	if (ms < 500 || (r->drawn && elapsed_ms(&r->last, &t) < 200))
		return;
	r->last = t;
	r->drawn = true;
	fprintf(stderr, "\rstepping: %llu instructions, %.1f thousand/s, %u thread%s\033[K",
		(unsigned long long)p->steps, (double)p->steps / (double)ms, p->threads,
		out_s(p->threads));
}

static void erase(struct run *r)
{
	if (r->drawn)
		fputs("\r\033[K", stderr);
	r->drawn = false;
}

/* The word of an event in what is said of it ("...: irq.entry"), "" if none is. */
static void event_in(const char *text, char *buf, size_t size)
{
	const char *p = strrchr(text, ':');
	size_t n;

	p = p ? p + 1 + strspn(p + 1, " ") : "";
	n = strspn(p, "abcdefghijklmnopqrstuvwxyz_.");
	snprintf(buf, size, "%.*s", memchr(p, '.', n) ? (int)n : 0, p);
}

#define RIGHTS	"sudo hwtrace record ..., or as root: sysctl kernel.perf_event_paranoid=1 " \
	"(with -a: 0); user code of an own program (u behind the unit) needs the least"

/* What to do about a refusal, by what the system said; NULL: what its id says. */
static const char *next_step(const struct hwt_diag *d, char *buf, size_t size)
{
	static const struct { int code; const char *step; } of_unit[] = {
		{ -EACCES, RIGHTS }, { -EPERM, RIGHTS },
		{ -EBUSY, "end who uses the unit (pgrep -a perf; another hwtrace), then again" },
		{ -EMFILE, "ulimit -n $(ulimit -Hn), then again; or -a, which takes a file for "
			"each CPU only" },
		{ -ENOENT, "hwtrace doctor tells which units there are and what a missing one "
			"needs; -e model in place of it needs none" },
		{ -ENODEV, "hwtrace doctor tells which CPUs have a unit and what is in the way; "
			"-e model in place of it needs none" },
	};
	char event[64];

	if (d->id == 185)
		for (size_t i = 0; i < sizeof(of_unit) / sizeof(of_unit[0]); i++)
			if (d->code == of_unit[i].code)
				return of_unit[i].step;
	if (d->id != 183)
		return NULL;
	if (strstr(d->text, "dirty:")) {
		snprintf(buf, size, "hwtrace list-events 'dirty:*', this kernel's tracepoints");
		return buf;
	}
	event_in(d->text, event, sizeof(event));
	if (!*event)
		return NULL;
	snprintf(buf, size, "hwtrace list-events %s, which says of each recorder why it can not "
		 "tell it here", event);
	return buf;
}

static void say_refused(const struct hwt_diag *d, int rc)
{
	char buf[200];
	const char *step = next_step(d, buf, sizeof(buf));

	if (step)
		say(step, "%s [E%03u]", d->text, d->id);
	else
		say_diag(d, rc, NULL);
}

static void on_note(void *arg, const struct hwt_diag *d)
{
	struct run *r = arg;

	if (r->opts.quiet)
		return;
	erase(r);
	if (d->id >= 183 && d->id <= 185)	/* less than what was asked for: say what to do */
		say_refused(d, d->code);
	else if (d->id)
		say(NULL, "%s [E%03u]", d->text, d->id);
	else
		say(NULL, "%s", d->text);
}

static void size_text(char *buf, size_t n, uint64_t v)
{
	if (v < 10240)
		snprintf(buf, n, "%llu bytes", (unsigned long long)v);
	else if (v < 10240 * 1024)
		snprintf(buf, n, "%llu KiB", (unsigned long long)v >> 10);
	else
		snprintf(buf, n, "%llu MiB", (unsigned long long)v >> 20);
}

static void summary(struct run *r, const char *name, const struct hwt_record_result *res)
{
	const struct hwt_record_progress *p = &res->sum;
	char trace[32], hint[PATH_MAX + 64];
	struct timespec t;
	uint64_t ms;

	if (r->opts.quiet)
		return;
	clock_gettime(CLOCK_MONOTONIC, &t);
	ms = elapsed_ms(&r->start, &t);
	size_text(trace, sizeof(trace), p->trace_bytes);
	snprintf(hint, sizeof(hint), "hwtrace calls %s", name);
	if (!p->steps && r->opts.record.nwindows)
		say("the names of --from and --to, and that the program comes there",
		    "%s: nothing was stepped: the program did not come to a window", name);
	else
		say(hint, "%s: %llu instructions of %u thread%s in %.2f s (%.1f thousand/s), %s of "
		    "simulated trace, %llu kernel event%s%s", name, (unsigned long long)p->steps,
		    p->threads_seen, out_s(p->threads_seen), (double)ms / 1000,
		    ms ? (double)p->steps / (double)ms : 0.0, trace,
		    (unsigned long long)p->kernel_events, out_s(p->kernel_events),
		    run_interrupted ? "; interrupted" : res->limited ? "; stopped at --limit" : "");
}

/* How the program ended, where that is worth a word; the exit code. */
static int verdict(const struct run *r, const struct hwt_record_result *res)
{
	const char *prog = r->opts.nargs ? r->opts.args[0] : "the process";

	if (run_interrupted)
		return EXIT_INTERRUPTED;
	if (res->end == HWT_RECORD_EXITED && res->code) {
		say(NULL, "%s ended with exit code %d", prog, res->code);
		return EXIT_FINDINGS;
	}
	if (res->end == HWT_RECORD_KILLED) {
		say(NULL, "%s was killed by signal %d (%s)%s", prog, res->code,
		    strsignal(res->code), res->seccomp ?
		    ": a seccomp filter forbids the last system call" : "");
		return EXIT_FINDINGS;
	}
	return EXIT_OK;
}

/* The program is the input; all else keeps the output from being made. */
static int failure(const struct hwt_diag *d, int rc)
{
	if (rc == -EEXIST || d->id == 178)
		return EXIT_USAGE;
	return d->id >= 170 && d->id != 173 && d->id <= 174 ? EXIT_INPUT : EXIT_OUTPUT;
}

/* "ls.hwt" for /bin/ls */
static const char *default_name(const struct run *r, char *buf, size_t size)
{
	const char *prog = r->opts.nargs ? r->opts.args[0] : "", *slash = strrchr(prog, '/');

	if (slash)
		prog = slash + 1;
	if (r->opts.record.pid)
		snprintf(buf, size, "pid-%d.hwt", r->opts.record.pid);
	else
		snprintf(buf, size, "%s.hwt", *prog ? prog : "hwtrace");
	return buf;
}

static int record(struct run *r, const char *name, char *const *argv)
{
	const struct opts *o = &r->opts;
	struct hwt_record_opts ro = { .size = sizeof(ro), .output = name, .force = o->force,
		.argv = argv, .pid = o->record.pid, .windows = o->record.windows,
		.nwindows = o->record.nwindows, .limit = o->limit,
		.no_kernel = o->record.no_kernel, .seed = o->record.seed,
		.cycles = o->record.cyc, .no_retcomp = o->record.no_retcomp,
		.mtc = !o->record.have_mtc ? MTC_DEFAULT :
			o->record.mtc == MTC_NONE ? -1 : (int8_t)o->record.mtc,
		.ts_every = o->record.ts_every,
		.stop = &run_interrupted, .progress = on_progress, .note = on_note, .arg = r };
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_record_result res;
	int rc;

	r->progress = !o->quiet && isatty(STDERR_FILENO);
	clock_gettime(CLOCK_MONOTONIC, &r->start);
	run_has_output = 1;	/* Ctrl-C: what was recorded is kept */
	sig_record(NULL);
	rc = hwt_record_model(&ro, &res, &diag);
	erase(r);
	if (rc < 0) {
		say_diag(&diag, rc, NULL);
		return run_interrupted ? EXIT_INTERRUPTED : failure(&diag, rc);
	}
	summary(r, name, &res);
	return verdict(r, &res);
}

static pid_t tracer;

static void forward(int sig)
{
	kill(tracer, sig);
}

/*
 * The tracer of a process that is not ours is a child, out of reach of what is done to the process
 * that the user sees: if that is killed, the child still lets go of all threads in good order.
 * Threads whose tracer just ends would die of the next step.
 */
static int record_apart(struct run *r, const char *name)
{
	pid_t self = getpid(), pid;
	int status;

	pid = fork();
	if (pid < 0) {
		say(NULL, "no process for the tracer: %s", strerror(errno));
		return EXIT_OUTPUT;
	}
	if (!pid) {
		int rc;

		/* Ctrl-C comes once, from the parent */
		setpgid(0, 0);
		signal(SIGTTOU, SIG_IGN);
		signal(SIGPIPE, SIG_IGN);	/* a reader of our messages that left is no end */
		prctl(PR_SET_PDEATHSIG, SIGTERM);
		if (getppid() != self)
			_exit(EXIT_INTERRUPTED);
		rc = record(r, name, NULL);
		_exit(rc);
	}
	tracer = pid;
	sig_record(forward);
	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return EXIT_OUTPUT;
	return WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_INTERRUPTED;
}

/* What was asked for and is not in the capture; true if there is such. */
static bool in_part(const struct run *r, const struct hwt_record_kernel_result *k)
{
	const char *unit = r->opts.record.trace;

	if (unit && k->no_trace)
		say("hwtrace doctor, which tells why and the next step; -e model needs no hardware",
		    "recorded in part: no trace of %s", unit);
	else if (unit && !k->trace_bytes)
		say("that code ran which options and --addr-filter let through (u: user code, k: "
		    "the kernel's); hwtrace doctor", "recorded in part: %s was set up, but gave "
		    "no trace at all", unit);
	else if (k->no_events)
		say("hwtrace list-events, which tells who can record what here, and why not",
		    "recorded in part: no kernel events");
	else
		return false;
	return true;
}

static int record_kernel(struct run *r, const char *name, char *const *argv)
{
	const struct opts *o = &r->opts;
	struct hwt_record_kernel_opts ko = { .size = sizeof(ko), .output = name, .force = o->force,
		.events = o->record.kernel, .all = o->record.all, .argv = argv,
		.pid = o->record.pid, .buffer_bytes = o->record.size,
		.limit_ns = o->record.time, .stop = &run_interrupted, .note = on_note, .arg = r,
		.narrow = o->record.filter, .provider = o->record.provider,
		.snapshot = o->record.snapshot, .take = &run_snapshots,
		.trigger = o->record.trigger, .contexts = o->record.contexts,
		.trace = o->record.trace, .trace_filters = o->record.places,
		.ntrace_filters = o->record.nplaces, .trace_bytes = o->record.trace_size,
		.via = o->record.via };
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_record_kernel_result k;
	struct hwt_record_result res = { 0 };
	char bytes[32], trace[64] = "", hint[PATH_MAX + 64];
	int rc;

	run_has_output = 1;	/* Ctrl-C: what was recorded is kept */
	sig_record(NULL);
	if (o->record.snapshot)
		sig_snapshots();
	rc = hwt_record_kernel(&ko, &k, &diag);
	if (rc < 0) {
		say_refused(&diag, rc);
		return run_interrupted ? EXIT_INTERRUPTED : diag.id == 183 ||
			diag.id == 186 || diag.id == 187 || rc == -HWT_E_FILTER ? EXIT_USAGE :
			failure(&diag, rc);
	}
	size_text(bytes, sizeof(bytes), k.bytes);
	snprintf(hint, sizeof(hint), "hwtrace %s %s", k.trace_bytes ? "calls" : "timeline", name);
	if (k.trace_bytes) {
		size_text(trace, sizeof(trace) - 16, k.trace_bytes);
		strcat(trace, " of trace, ");
	}
	if (o->record.snapshot && !o->quiet)
		say(NULL, "%u snapshot%s, %s%llu kernel event%s, %s%s", k.snapshots,
		    out_s(k.snapshots), trace, (unsigned long long)k.events, out_s(k.events), bytes,
		    run_interrupted ? "; interrupted" : "");
	else if (!o->quiet && !k.trace_bytes && k.events == k.readings)
		say("hwtrace list-events EVENT tells what an event is, and who can record it",
		    "%s: no event of those that were asked for came, only %llu reading%s of the "
		    "clock%s", name, (unsigned long long)k.readings, out_s(k.readings),
		    run_interrupted ? "; interrupted" : "");
	else if (!o->quiet)
		say(hint, "%s: %s%llu kernel event%s, %s%s", name, trace,
		    (unsigned long long)k.events, out_s(k.events), bytes,
		    run_interrupted ? "; interrupted" : "");
	res.end = k.end;
	res.code = k.code;
	rc = verdict(r, &res);
	return !in_part(r, &k) || rc == EXIT_INTERRUPTED ? rc : EXIT_LOSS;
}

/* Of kernel events, trace of the hardware, or both. */
static bool machine(const struct opts *o)
{
	return o->record.kernel || o->record.trace;
}

/* What is asked for and can not be together; NULL: nothing. */
static const char *contradiction(const struct opts *o)
{
	bool whole = machine(o) && o->record.all;

	if (machine(o) == o->record.model)
		return machine(o) ? "record: -k or -e UNIT, or the model, not both; as root the "
			"model takes the kernel's events by itself" :
			"record: what is to be recorded? -k EVENTS of the kernel, -e UNIT or "
			"-e model";
	if (!machine(o) && (o->record.all || o->record.time || o->record.size ||
			    o->record.filter || o->record.contexts || o->record.provider ||
			    o->record.snapshot))
		return "record: --all, --time and --snapshot are for -k and -e UNIT; --size, "
			"--filter, --context and --provider for -k";
	if (!o->record.kernel && (o->record.size || o->record.filter || o->record.contexts ||
				  (o->record.provider && !o->record.trigger)))
		return "record: --size, --filter, --context and --provider are for -k";
	if (!o->record.trace && (o->record.nplaces || o->record.trace_size || o->record.via))
		return "record: --addr-filter, --trace-size and --via are for -e UNIT";
	if (machine(o) && (o->record.nwindows || o->limit || o->record.no_kernel))
		return "record: --from, --to, --limit and --no-kernel are for -e model";
	if (o->nargs && o->record.pid)
		return "record: a program or --pid, not both";
	if (!o->nargs && !o->record.pid && !whole)
		return machine(o) ? "record: no program is named (-p PID: one that runs already; "
			"-a --time SECONDS: the whole machine)" :
			"record: no program is named (-p PID: one that runs already)";
	return NULL;
}

int cmd_record(struct run *r)
{
	struct opts *o = &r->opts;
	const char *name = o->output, *why = contradiction(o);
	char buf[PATH_MAX];
	char **argv;
	int rc;

	if (why) {
		say("hwtrace help record", "%s", why);
		return EXIT_USAGE;
	}
	if (!name)
		name = default_name(r, buf, sizeof(buf));
	if (machine(o) && !o->nargs)
		return record_kernel(r, name, NULL);
	if (o->record.pid)
		return record_apart(r, name);
	argv = calloc((size_t)o->nargs + 1, sizeof(*argv));
	if (!argv) {
		say(NULL, "out of memory");
		return EXIT_OUTPUT;
	}
	for (int i = 0; i < o->nargs; i++)
		argv[i] = o->args[i];
	rc = machine(o) ? record_kernel(r, name, argv) : record(r, name, argv);
	free(argv);
	return rc;
}
