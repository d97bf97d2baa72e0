/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_CAPTURE_H
#define HWTRACE_CAPTURE_H

/*
 * Recording into a native capture (NAME.hwt, hwtrace-capture(5)). The software trace unit runs a
 * program by single steps and writes the trace that hardware would have sent: Intel PT on x86-64,
 * ETMv4 on arm64. What it records is labelled "model".
 */
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/abi.h>
#include <hwtrace/err.h>

/*
 * Only what runs between two places is stepped; at full speed outside. A place is the name of a
 * function (globs are fine) or a number, looked up in each process when its libraries are there.
 */
struct hwt_window {
	const char *from;	/* NULL: from the start */
	const char *to;		/* NULL: until the function at @from returns to its caller */
};

struct hwt_record_progress {
	uint64_t steps;		/* instructions */
	uint64_t bytes;		/* written */
	uint64_t trace_bytes;	/* of these, trace */
	/* kernel events in the capture: of this machine's kernel, and what the recorder saw */
	uint64_t kernel_events;
	unsigned threads;	/* that live, and ... */
	unsigned threads_seen;
};

struct hwt_record_opts {
	size_t size;		/* of this struct, set by the caller */
	const char *output;	/* directory to be made */
	bool force;		/* a native capture that exists may be replaced */
	char *const *argv;	/* program with its arguments, ends with NULL; or */
	int32_t pid;		/* process to be attached to, 0: none */
	const struct hwt_window *windows;
	size_t nwindows;	/* 0: all is stepped */
	uint64_t limit;		/* instructions, 0: no limit */
	bool no_kernel;		/* no events of the kernel of this machine */
	/* options of the trace unit */
	uint64_t seed;		/* of its free choices */
	bool cycles;		/* cycle counts: CYC of Intel PT, cycle count packets of ETMv4 */
	int8_t mtc;		/* Intel PT: MTC each 2^n ticks of the crystal; below 0: none */
	bool no_retcomp;	/* no compressed returns (Intel PT), no return stack (ETMv4) */
	uint32_t psb_bytes;	/* between synchronisation points; 0: 4096 */
	/* set from a signal handler: end the recording, the program goes on by itself */
	const volatile sig_atomic_t *stop;
	/* now and then; NULL: none */
	void (*progress)(void *arg, const struct hwt_record_progress *p);
	/* what the user should know, one line; NULL: none */
	void (*note)(void *arg, const struct hwt_diag *d);
	void *arg;
	/* ETMv4: ticks of the counter between timestamps; 0: 4096; UINT32_MAX: only with sync */
	uint32_t ts_every;
};

enum hwt_record_end {
	HWT_RECORD_EXITED,	/* @code: exit status */
	HWT_RECORD_KILLED,	/* @code: signal */
	HWT_RECORD_DETACHED,	/* it went on, and is not our child or was not waited for */
};

struct hwt_record_result {
	struct hwt_record_progress sum;
	uint8_t end;		/* enum hwt_record_end, of the first process */
	int code;
	bool limited;		/* @limit was reached */
	bool seccomp;		/* KILLED because a seccomp filter forbids a system call */
};

/*
 * Records until the program and its children have ended, the limit is reached or *stop is set; then
 * the program, if it lives, is not traced any more and goes on, and if it is our child and *stop is
 * not set, its end is waited for. 0, or a negative code with the words in @diag; what was recorded
 * until a failure can be read. -EPERM, -EACCES: the system does not permit it; -ENOENT, -ENOEXEC:
 * there is no such program, or it can not be stepped here.
 *
 * For a process without other children and with one thread: it waits for all of them. The process
 * is bound to one CPU meanwhile.
 */
int hwt_record_model(const struct hwt_record_opts *o, struct hwt_record_result *out,
		     struct hwt_diag *diag);

/* Who can give events of this machine's kernel, the best first. */
enum hwt_provider {
	HWT_PROVIDER_MODULE,	/* hwtrace/kmod.h */
	HWT_PROVIDER_TRACEFS,	/* tracepoints, by an instance of the kernel's tracer */
	HWT_PROVIDER_PERF,	/* perf_event_open(2): tracepoints, and switches, tasks and maps */
	HWT_PROVIDERS
};

/* Who drives the trace units of the hardware. */
enum hwt_via {
	HWT_VIA_PERF,		/* perf's drivers in the kernel */
	HWT_VIA_MODULE,		/* the kernel module by itself */
	HWT_VIAS
};
const char *hwt_via_name(unsigned via);	/* "perf"; NULL past the end */

/* What a provider can give here, to this user. */
struct hwt_offer {
	bool here;
	char from[512];		/* tracepoints that are recorded for it, "" if none */
	char why[160];		/* why it is not here, else "" */
};

/* "module"; NULL past the end. */
const char *hwt_provider_name(unsigned provider);
/*
 * Looks at the system once: the module's device is opened, an instance of the tracer made and taken
 * away. *out is to be freed. 0 or -ENOMEM.
 */
struct hwt_providers;
int hwt_providers_new(struct hwt_providers **out);
void hwt_providers_free(struct hwt_providers *p);	/* NULL is fine */
/* What @provider can give of event @id (hwtrace/abi.h); 0: of any. */
void hwt_providers_ask(const struct hwt_providers *p, unsigned provider, unsigned id,
		       struct hwt_offer *offer);

/*
 * Instances of the kernel's tracer that recorders left behind which were killed: they go on to
 * record until they are removed (rmdir(2)), as the next recorder does. @put gets the folder of
 * each. How many there are; none where the tracer can not be read.
 */
int hwt_tracers_left(void (*put)(void *arg, const char *dir), void *arg);

/*
 * Tracepoints of this kernel, which hwt_record_kernel() records as dirty:SYSTEM:EVENT: those whose
 * names fit one of @n patterns ("kmem:kmalloc", "sched:*"), with the fields that their records
 * have. To be freed. 0; -HWT_E_FILTER with words in @diag if a pattern fits none; -ENOMEM; or why
 * the kernel's tracer can not be read.
 */
struct hwt_tracepoints;
int hwt_tracepoints_new(struct hwt_tracepoints **out, const char *const *patterns, unsigned n,
			struct hwt_diag *diag);
/* The @i-th; NULL past the end. */
const struct hwt_abi_own *hwt_tracepoint_at(const struct hwt_tracepoints *t, unsigned i);
void hwt_tracepoints_free(struct hwt_tracepoints *t);	/* NULL is fine */

/* What a machine can record: one thing of it. */
enum hwt_doctor_verdict { HWT_DOCTOR_INFO, HWT_DOCTOR_NO, HWT_DOCTOR_PARTLY, HWT_DOCTOR_YES };

struct hwt_doctor_item {
	const char *what;	/* "Intel PT" */
	int verdict;		/* enum hwt_doctor_verdict */
	/* "" where there is nothing to say */
	char found[512];	/* what is there */
	char why[256];		/* not, or not all of it */
	char works[256];	/* nevertheless */
	char next[256];		/* a package, option, permission, boot parameter, command */
};

typedef void (*hwt_doctor_fn)(void *arg, const struct hwt_doctor_item *item);

/*
 * Looks at this machine and hands each item to @put, always in the same order. No trace unit is
 * switched on and no register of one is read. @root: a directory with another machine's /proc, /sys
 * and /lib/modules, NULL: this one. The number of ways to record that work at least in part, or a
 * negative code with words in @diag.
 */
int hwt_doctor(const char *root, hwt_doctor_fn put, void *arg, struct hwt_diag *diag);

/*
 * Events of the kernel, trace of the hardware, or both: of the whole machine, or of a process and
 * what it forks. A user who may open the module's device, but not record the machine, gets own
 * tasks only. Where one of both can not be recorded here, that is told by @note and the other one
 * is recorded.
 */
struct hwt_record_kernel_opts {
	size_t size;		/* of this struct, set by the caller */
	const char *output;	/* directory to be made */
	bool force;		/* a native capture that exists may be replaced */
	/*
	 * Virtual events, as a filter (hwtrace/filter.h): "sched.*, irq.entry where irq == 9"; and,
	 * only by the module and for who may record the whole machine, functions of the kernel:
	 * "kprobe:NAME+OFFSET(NAME:TYPE@NUMBER, ...)" with arguments in registers, counted from 0,
	 * "kretprobe:NAME/ACTIVE(NAME:TYPE)" with what is returned, while up to ACTIVE calls are
	 * open; types are u8 to u64, s8 to s64, x8 to x64. All but the function may be left out.
	 * "dirty:SYSTEM:EVENT where ..." are tracepoints of this kernel that are recorded as they
	 * are, by the kernel's tracer beside whoever gives the others; * and ? fit any text.
	 */
	const char *events;	/* NULL: none, only trace */
	bool all;		/* the whole machine; also while argv runs */
	char *const *argv;	/* program with its arguments, ends with NULL; may be NULL */
	int32_t pid;		/* process, 0: none */
	uint64_t buffer_bytes;	/* in the kernel, of each CPU; 0: 4 MiB */
	uint64_t limit_ns;	/* of time; 0: none */
	/* set from a signal handler: end the recording, the program goes on by itself */
	const volatile sig_atomic_t *stop;
	void (*note)(void *arg, const struct hwt_diag *d);	/* NULL: none */
	void *arg;
	/*
	 * Conditions for some of @events, as a filter, or one for all of them ("pid == 12");
	 * NULL: none. An event can not have two.
	 */
	const char *narrow;
	uint8_t provider;	/* enum hwt_provider + 1; 0: the first that can be used */
	/*
	 * Flight recorder: the newest records stay in the kernel, and are written each time that
	 * *take changes (a signal handler counts there), that an event comes which @trigger lets
	 * through, and at the end: to NAME-1.hwt, NAME-2.hwt, ... for an @output NAME.hwt. What is
	 * there already is skipped. While one is written nothing is recorded.
	 */
	bool snapshot;
	const volatile sig_atomic_t *take;	/* NULL: none */
	const char *trigger;			/* a filter; NULL: none */
	/*
	 * Context fields of each record (hwtrace/contexts.def), "prio, comm"; "counter:NAME" with
	 * a counter of perf, or "counter:TYPE/CONFIG" of perf_event_open(2). Only by the module.
	 */
	const char *contexts;			/* NULL: none */
	/*
	 * Trace: a unit of perf with its options as sysfs names them, "cs_etm/@tmc_etr0/k",
	 * "intel_pt/cyc,mtc_period=3/u"; u user code, k the kernel's. NULL: none.
	 */
	const char *trace;
	/*
	 * Where: "vfs_read" (of the kernel), "main@/usr/bin/ls", "0x1000/0x200@FILE"; with "start",
	 * "stop" or "tracestop" before it what perf's filters of these names do.
	 */
	const char *const *trace_filters;
	size_t ntrace_filters;
	uint64_t trace_bytes;		/* of each CPU, in memory; 0: 4 MiB */
	uint8_t via;			/* enum hwt_via */
};

struct hwt_record_kernel_result {
	uint64_t events;	/* kernel events in the captures, with those of the recorder */
	/* of them: readings of the clock; 0 also where the provider makes them itself (module) */
	uint64_t readings;
	uint64_t lost;		/* there was no room in the kernel */
	uint64_t bytes;		/* of the capture */
	uint8_t end;		/* enum hwt_record_end, of the program */
	uint8_t provider;	/* enum hwt_provider that recorded */
	int code;
	unsigned snapshots;	/* captures written */
	uint64_t trace_bytes;	/* of trace in the captures */
	/* asked for, but could not be recorded here: the other one was; told by @note */
	bool no_trace, no_events;
};

/*
 * Records until the program has ended, the process is gone, the time is over or *stop is set. 0, or
 * a negative code with the words in @diag; what was recorded until a failure can be read. -ENOENT:
 * no provider, or no such program or process; -EACCES, -EPERM: not permitted; -HWT_E_FILTER:
 * @events can not be understood, or not made for the kernel; -EOPNOTSUPP: this kernel can not give
 * any of it.
 */
int hwt_record_kernel(const struct hwt_record_kernel_opts *o,
		      struct hwt_record_kernel_result *out, struct hwt_diag *diag);

#endif
