/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel events and code, stepping, the counter: what is there, and who may use it. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "doctor.h"

/* What the provider itself says, on this machine; false if it can not be asked. */
static bool ask(struct doctor *d, unsigned provider)
{
	struct hwt_providers *p;
	struct hwt_offer offer;

	if (d->root >= 0 || hwt_providers_new(&p))
		return false;
	hwt_providers_ask(p, provider, 0, &offer);
	d->item.verdict = offer.here ? HWT_DOCTOR_YES : HWT_DOCTOR_NO;
	if (!offer.here)
		doctor_say(d->item.why, "%s", offer.why);
	hwt_providers_free(p);
	return true;
}

static bool closed(const struct doctor *d)
{
	return !strcmp(d->lockdown, "confidentiality");
}

/* How a module that is not there could come to be. */
static void how_to_load(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	bool headers, sign = !strcmp(d->lockdown, "integrity") || closed(d);
	char path[160], text[8] = "";

	snprintf(path, sizeof(path), "/lib/modules/%.80s/build/Makefile", d->release);
	headers = doctor_has(d, path);
	doctor_text(d, "/sys/module/module/parameters/sig_enforce", text, sizeof(text));
	doctor_say(i->works, "hwtrace record -k takes the same events from the kernel's own "
		   "tracepoints%s, with what they lack named", d->root_user ||
		   doctor_may(d, DOCTOR_SYS_ADMIN) ? " (tracefs)" : ", where this user may: see "
		   "tracefs and perf below");
	if (sign || *text == 'Y') {
		doctor_say(i->why, "; this kernel takes signed modules only");
		doctor_say(i->next, "sign kmod/hwtrace.ko with a key that this machine trusts");
	} else if (!headers) {
		doctor_say(i->next, "install the headers of this kernel (one of Debian: "
				"linux-headers-%s), then make kmod and "
			   "sudo insmod build/kmod/hwtrace.ko", d->release);
	} else {
		doctor_say(i->next, "make kmod, then sudo insmod build/kmod/hwtrace.ko");
	}
}

void doctor_module(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	bool there = doctor_has(d, "/dev/hwtrace") || doctor_has(d, "/sys/module/hwtrace");

	if (there && (ask(d, HWT_PROVIDER_MODULE) || d->root >= 0)) {
		if (d->root >= 0)
			i->verdict = HWT_DOCTOR_YES;
		doctor_say(i->found, "loaded");
		doctor_say(i->why, "%strace units that it drives, marks in trace and counters in "
			   "records are proven by simulation only", *i->why ? "; " : "");
		doctor_say(i->next, i->verdict == HWT_DOCTOR_YES ? "hwtrace record -k 'sched.*' "
				"-a --time 1" :
			   "a user of the group that owns /dev/hwtrace may record own tasks, root "
			   "the machine");
		return;
	}
	i->verdict = HWT_DOCTOR_NO;
	doctor_say(i->why, "it is not loaded");
	how_to_load(d);
}

/* The first instance of a recorder that was killed. */
static void left(void *arg, const char *dir)
{
	struct hwt_doctor_item *i = arg;

	if (!*i->why)
		doctor_say(i->why, "the instance of a recorder that was killed goes on to "
			   "record; to end it: sudo rmdir %s", dir);
}

static void look_for_left(struct hwt_doctor_item *i)
{
	int n = *i->why ? 0 : hwt_tracers_left(left, i);

	if (n > 1)
		doctor_say(i->why, ", and %d more (hwtrace list-events names them)", n - 1);
}

void doctor_tracefs(struct doctor *d)
{
	static const char *const roots[] = { "/sys/kernel/tracing", "/sys/kernel/debug/tracing" };
	struct hwt_doctor_item *i = &d->item;
	char path[96], clocks[512] = "";
	const char *at = NULL;

	for (unsigned k = 0; k < 2 && !at; k++) {
		snprintf(path, sizeof(path), "%s/trace_clock", roots[k]);
		if (doctor_text(d, path, clocks, sizeof(clocks)) && *clocks)
			at = roots[k];
	}
	if (!ask(d, HWT_PROVIDER_TRACEFS)) {
		i->verdict = at && !closed(d) ? HWT_DOCTOR_YES : HWT_DOCTOR_NO;
		if (!at)
			doctor_say(i->why, "it is not mounted");
		else if (closed(d))
			doctor_say(i->why, "the kernel is locked down (confidentiality)");
	}
	if (at)
		doctor_say(i->found, "%s%s", at, strstr(clocks, "x86-tsc") ? ", with the "
				"counter's clock (x86-tsc)" : "");
	if (d->root < 0)
		look_for_left(i);
	if (i->verdict == HWT_DOCTOR_YES) {
		doctor_say(i->next, "hwtrace record -k 'sched.*' -a --time 1");
		return;
	}
	if (!d->root_user && !doctor_may(d, DOCTOR_SYS_ADMIN))
		doctor_say(i->next, "as root");
	else if (!at && !doctor_grep(d, "/proc/filesystems", "tracefs"))
		doctor_say(i->next, "a kernel with CONFIG_FTRACE and CONFIG_EVENT_TRACING: this "
				"one has no tracefs");
	else if (!at)
		doctor_say(i->next, "sudo mount -t tracefs nodev /sys/kernel/tracing");
}

void doctor_perf(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	bool all = doctor_may(d, DOCTOR_PERFMON) || doctor_may(d, DOCTOR_SYS_ADMIN);

	i->verdict = HWT_DOCTOR_NO;
	if (!doctor_has(d, "/proc/sys/kernel/perf_event_paranoid")) {
		doctor_say(i->why, "this kernel has no perf events");
		return;
	}
	doctor_say(i->found, "perf_event_paranoid is %d%s", d->paranoid,
		   all ? ", and this user may record all" : "");
	if (closed(d)) {
		doctor_say(i->why, "the kernel is locked down (confidentiality): no tracepoints");
	} else if (!doctor_has(d, "/sys/bus/event_source/devices/tracepoint/type")) {
		doctor_say(i->why, "this kernel has no tracepoints for perf");
	} else if (all || d->paranoid < 0) {
		i->verdict = HWT_DOCTOR_YES;
		doctor_say(i->next, "perf record -a -e 'sched:*,irq:*' -- PROGRAM, then hwtrace "
				"timeline perf.data");
	} else {
		doctor_say(i->why, "tracepoints need CAP_PERFMON here");
		if (d->paranoid <= 2)	/* above, some kernels let no user record at all */
			doctor_say(i->works, "hwtrace record -k 'sched.*' -- PROGRAM: of a program "
				   "of one's own, what perf tells without tracepoints");
		doctor_say(i->next, "as root, or give the tool CAP_PERFMON");
	}
}

/* A child that asks to be traced, and ends: what stepping begins with. */
static bool traces(void)
{
	int status = 1;
	pid_t pid = fork();

	if (!pid)
		_exit(ptrace(PTRACE_TRACEME, 0, 0, 0) ? 1 : 0);
	return pid > 0 && waitpid(pid, &status, 0) == pid && !status;
}

void doctor_model(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	long scope = doctor_number(d, "/proc/sys/kernel/yama/ptrace_scope");
	bool may = doctor_may(d, DOCTOR_SYS_PTRACE);

	i->verdict = HWT_DOCTOR_NO;
	doctor_say(i->found, "single steps (ptrace): a simulation, the times are those of the "
			"stepping");
	if (strcmp(d->arch, "x86_64") && strcmp(d->arch, "aarch64")) {
		doctor_say(i->why, "there is a model for x86-64 and arm64 only");
	} else if (scope == 3 || (scope == 2 && !may)) {
		doctor_say(i->why, "ptrace is %s (kernel.yama.ptrace_scope is %ld)", scope == 3 ?
			   "off for everyone until the next boot" : "for CAP_SYS_PTRACE "
			   "only", scope);
		doctor_say(i->next, scope == 3 ? "boot with kernel.yama.ptrace_scope=1 in "
				"sysctl.d" : "as root");
	} else if (d->root < 0 && !traces()) {
		doctor_say(i->why, "ptrace is refused here (a container's seccomp filter does "
				"that)");
		doctor_say(i->next, "run the container with --cap-add SYS_PTRACE, or outside of "
				"it");
	} else {
		i->verdict = scope == 1 && !may ? HWT_DOCTOR_PARTLY : HWT_DOCTOR_YES;
		if (i->verdict == HWT_DOCTOR_PARTLY)
			doctor_say(i->why, "kernel.yama.ptrace_scope is 1: programs that hwtrace "
					"starts, none that run already (-p)");
		doctor_say(i->next, "hwtrace record --model -- PROGRAM");
	}
}

void doctor_counter(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	char now[32];
	bool arm = !*d->vendor;

	doctor_text(d, "/sys/devices/system/clocksource/clocksource0/current_clocksource", now,
			sizeof(now));
	doctor_say(i->found, "the kernel keeps time by %s", *now ? now : "a clock that is not "
			"known");
	i->verdict = HWT_DOCTOR_PARTLY;
	if (arm ? !strcmp(now, "arch_sys_counter") : !strcmp(now, "tsc")) {
		i->verdict = HWT_DOCTOR_YES;
		if (arm)
			doctor_say(i->why, "it is the one of kernel events; CoreSight timestamps "
					"are that counter only where the "
				   "units say so (perf's cs_etm metadata, TRFCR), else their "
				   "clock is fitted");
	} else if (!arm && doctor_flag(d, "constant_tsc") && doctor_flag(d, "nonstop_tsc")) {
		doctor_say(i->why, "the counter runs at one rate always, but the kernel does not "
				"keep time by it: trace and kernel events "
			   "are tied by readings of both clocks, with wider bounds");
		doctor_say(i->next, "boot with tsc=reliable if the machine's TSCs are known to "
				"agree");
	} else {
		i->verdict = HWT_DOCTOR_NO;
		doctor_say(i->why, "the counter is not known to run at one rate always: times of "
				"trace and kernel events may drift apart");
	}
}

void doctor_code(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	char line[512] = "";
	bool named, code;
	int fd;

	/* without rights all addresses are zero */
	doctor_text(d, "/proc/kallsyms", line, sizeof(line));
	named = *line && strspn(line, "0") < 8 && *line != ' ';
	fd = doctor_open(d, "/proc/kcore", O_RDONLY);
	code = fd >= 0;
	if (fd >= 0)
		close(fd);
	i->verdict = named && code ? HWT_DOCTOR_YES :
		named || code ? HWT_DOCTOR_PARTLY : HWT_DOCTOR_NO;
	doctor_say(i->found, "symbols: %s; its bytes (/proc/kcore): "
			"%s", named ? "yes" : "no", code ? "yes" : "no");
	if (i->verdict == HWT_DOCTOR_YES)
		return;
	doctor_say(i->why, "trace of the kernel is decoded by its code as it ran, and told by its "
			"names");
	doctor_say(i->works, "user programs are decoded without");
	if (!d->root_user)
		doctor_say(i->next, "as root: perf record --kcore takes both along");
	else if (!doctor_has(d, "/proc/kcore"))
		doctor_say(i->next, "name the kernel's own file with --elf vmlinux: this kernel "
				"has no /proc/kcore (CONFIG_PROC_KCORE)");
	else
		doctor_say(i->next, named ? "perf record --kcore needs CAP_SYS_RAWIO and a kernel "
				"that is not locked down" :
			   "sudo sysctl kernel.kptr_restrict=1; then perf record --kcore takes "
			   "both along");
}
