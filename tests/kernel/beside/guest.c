/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The recorder in a guest with the module and the kernel's tracer: each alone with tracepoints that
 * are no virtual events, both of one run, and conditions on context fields. What was recorded is
 * looked at outside (look.py). The program is tests/golden/record/dirty.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <hwtrace/capture.h>

#include "hwtrace/capture/hwprov.h"

#define CALLS	"syscall.enter:prctl, syscall.exit:prctl"
#define DIRTY	"dirty:task:task_rename, dirty:signal:signal_generate"

/* There is no trace in the guest. */
const char *hwt_via_name(unsigned via)
{
	return NULL;
}

int hwprov_new(struct kprov **out, enum hwt_via via, const struct hw_want *want)
{
	return -ENOENT;
}

static char *const program[] = { "/bin/prog", "200", NULL };
static volatile sig_atomic_t stopped;
static int bad;

static void on_stop(int sig)
{
	stopped = 1;
}

static void on_note(void *arg, const struct hwt_diag *d)
{
	printf("# %s: %s\n", (const char *)arg, d->text);
}

static void record(struct hwt_record_kernel_opts *o, const char *name, unsigned provider)
{
	struct hwt_record_kernel_result r;
	struct hwt_diag d = { 0 };
	char path[64];

	snprintf(path, sizeof(path), "/tmp/out/%s.hwt", name);
	o->size = sizeof(*o);
	o->output = path;
	o->provider = (uint8_t)(provider + 1);
	o->stop = &stopped;
	o->note = on_note;
	o->arg = (void *)name;
	if (hwt_record_kernel(o, &r, &d) || r.lost || (o->argv && r.code) ||
	    r.provider != provider) {
		printf("FAIL %s: %s; %" PRIu64 " lost\n", name, d.text, r.lost);
		bad = 1;
		return;
	}
	printf("# %s: %" PRIu64 " events\n", name, r.events);
}

/* A recorder of the whole machine, in a process of its own. */
static pid_t machine(const char *name, unsigned provider, const char *events)
{
	struct hwt_record_kernel_opts o = { .events = events, .all = true };
	pid_t p = fork();

	if (p)
		return p;
	signal(SIGTERM, on_stop);
	record(&o, name, provider);
	fflush(stdout);
	_exit(bad);
}

/* What describes the records is written when they are recorded. */
static void begun(const char *name)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/out/%s.hwt/kernel/metadata", name);
	for (int i = 0; i < 2000 && access(path, F_OK); i++)
		usleep(10000);
}

/* Recorders of one run; it begins when all of them do. */
static void together(void)
{
	static const char events[] = "syscall.*, sched.switch, sched.wakeup, sched.fork, "
		"sched.exec, sched.exit, softirq.entry, softirq.exit";
	pid_t a = machine("both-module", HWT_PROVIDER_MODULE, events);
	pid_t b = machine("both-tracefs", HWT_PROVIDER_TRACEFS, events);
	pid_t c = machine("both-perf", HWT_PROVIDER_PERF, events), p;
	int status;

	begun("both-module");
	begun("both-tracefs");
	begun("both-perf");
	p = fork();
	if (!p) {
		execv(program[0], program);
		_exit(127);
	}
	waitpid(p, &status, 0);
	usleep(200000);
	kill(a, SIGTERM);
	kill(b, SIGTERM);
	kill(c, SIGTERM);
	waitpid(a, &status, 0);
	bad |= status != 0;
	waitpid(b, &status, 0);
	bad |= status != 0;
	waitpid(c, &status, 0);
	bad |= status != 0;
}

int main(void)
{
	struct hwt_record_kernel_opts o = { .argv = program };

	o.events = CALLS ", sched.*, " DIRTY;
	record(&o, "module", HWT_PROVIDER_MODULE);
	record(&o, "tracefs", HWT_PROVIDER_TRACEFS);
	o.events = "dirty:task:task_rename where newcomm ~ \"n1?\"";
	record(&o, "some", HWT_PROVIDER_MODULE);
	/* a name is that of the call before */
	o.events = "syscall.*";
	o.contexts = "comm, prio, cgroup";
	record(&o, "ctx-all", HWT_PROVIDER_MODULE);
	o.narrow = "ctx.comm ~ \"n1?\" && ctx.prio in {100..120}";
	record(&o, "ctx-some", HWT_PROVIDER_MODULE);
	together();
	puts(bad ? "FAIL" : "ok: beside");
	return bad;
}
