/* SPDX-License-Identifier: BSD-2-Clause */
/* The option table and its parser. Longer than other files: each option is a row and a case. */
#include "opt.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	O_HELP, O_OUTPUT, O_FORCE, O_COLOR, O_PAGER, O_NO_PAGER, O_QUIET, O_VERBOSE, O_JSON,
	O_JSONL, O_AS, O_CONFIG, O_PT, O_CS, O_ELF, O_SYSROOT, O_KCORE, O_KALLSYMS, O_DEBUGINFOD,
	O_PERF_MAP, O_CPU, O_TID, O_PROCESS, O_TIME, O_SYM, O_LIMIT, O_ABS, O_NS, O_STRICT,
	O_MAX_LOSS, O_RESYNC, O_LEVEL, O_LINES, O_SUMMARY, O_INSNS, O_BUILD, O_ABI_CHECK,
	O_CAPTURE, O_REPLACE, O_EVENT, O_ADDR_FILTER, O_TRACE_SIZE, O_VIA, O_MODEL, O_KERNEL,
	O_WHOLE, O_NARROW, O_CONTEXT, O_FOR, O_SIZE,
	O_PROVIDER, O_SNAPSHOT, O_SNAPSHOT_ON,
	O_PID, O_FROM, O_TO, O_STEPS, O_NO_KERNEL, O_CYC, O_MTC,
	O_TS, O_NO_RETCOMP, O_SEED, O_EXPORT_TO, O_IMAGES, O_DETAIL, O_FILTER,
	O_PAIR_FROM, O_PAIR_TO, O_KEY, O_WORST, O_CALL, O_COUNT
};

#define SELECTS	(CMD_PACKETS | CMD_LIST | CMD_CALLS | CMD_MERGES)
#define SHOWS	(CMD_LIST | CMD_CALLS | CMD_MERGES)

static const struct opt_def defs[O_COUNT] = {
	[O_HELP] = { "help", 'h', NULL, NULL, CMD_ALL, "General", "show help and exit" },
	[O_OUTPUT] = { "output", 'o', "FILE", NULL, CMD_PRINTS | CMD_EXPORT, "Output",
		"write to FILE; - is standard output" },
	[O_FORCE] = { "force", 'f', NULL, NULL, CMD_PRINTS | CMD_EXPORT, "Output",
		"overwrite the file of -o if it exists" },
	[O_COLOR] = { "color", 'C', "WHEN", "auto always never", CMD_ALL, "Output",
		"use colours: auto (on a terminal, unless NO_COLOR is set), always, never" },
	[O_PAGER] = { "pager", 0, NULL, NULL, CMD_READS | CMD_HERE | CMD_HELP, "Output",
		"page the output on a terminal (PAGER, else less); the default" },
	[O_NO_PAGER] = { "no-pager", 0, NULL, NULL, CMD_READS | CMD_HERE | CMD_HELP, "Output",
		"do not page the output" },
	[O_QUIET] = { "quiet", 'q', NULL, NULL, CMD_ALL, "Output",
		"no progress, no warnings, no quality line; errors are still printed" },
	[O_VERBOSE] = { "verbose", 'v', NULL, NULL, CMD_ALL, "Output",
		"say more: all notes, maps, raw timestamps, input offsets" },
	[O_JSON] = { "json", 0, NULL, NULL, CMD_READS | CMD_HERE, "Output",
		"one JSON document, an array of the objects of --jsonl" },
	[O_JSONL] = { "jsonl", 0, NULL, NULL, CMD_READS | CMD_HERE, "Output",
		"one JSON object a line, see hwtrace-jsonl(5)" },
	[O_AS] = { "as", 0, "FORMAT", "perf snapshot lldb native ctf ftrace pt cs", CMD_OPENS,
		"Input",
		"format of the input instead of looking at its content: perf, snapshot, lldb, "
		"native, ctf, ftrace, pt, cs" },
	[O_CONFIG] = { "config", 0, "FILE", NULL, CMD_OPENS, "Input",
		"\"key = value\" trace configuration of a raw dump, see hwtrace-raw(5)" },
	[O_PT] = { "pt", 0, "FILE", NULL, CMD_OPENS, "Input", "read a raw Intel PT dump" },
	[O_CS] = { "cs", 0, "FILE", NULL, CMD_OPENS, "Input", "read a raw CoreSight dump" },
	[O_ELF] = { "elf", 0, "FILE[@ADDR]", NULL, CMD_OPENS, "Code",
		"code that ran, with its load address; may be repeated" },
	[O_SYSROOT] = { "sysroot", 0, "DIR", NULL, CMD_OPENS, "Code",
		"directory searched first for mapped files: a recorded /usr/bin/ls is "
		"DIR/usr/bin/ls" },
	[O_KCORE] = { "kcore", 0, "FILE", NULL, CMD_OPENS, "Code", "copy of /proc/kcore" },
	[O_KALLSYMS] = { "kallsyms", 0, "FILE", NULL, CMD_OPENS, "Code",
		"copy of /proc/kallsyms, for kernel symbols" },
	[O_DEBUGINFOD] = { "debuginfod-cache", 0, "DIR", NULL, CMD_OPENS, "Code",
		"directory of a debuginfod client's cache; no network is used" },
	[O_PERF_MAP] = { "perf-map", 0, "DIR", NULL, CMD_OPENS, "Code",
		"directory of perf-PID.map files of JIT compilers" },
	[O_CPU] = { "cpu", 0, "LIST", NULL, CMD_OPENS, "Selection",
		"CPUs as 0,2-5; with slashes (6/79/1) the x86 family/model/stepping of a raw "
		"dump" },
	[O_TID] = { "tid", 0, "LIST", NULL, SHOWS | CMD_PAIRS, "Selection",
		"threads by id, as 12,34; the main thread has the id of its process" },
	[O_PROCESS] = { "pid", 0, "LIST", NULL, SHOWS | CMD_PAIRS, "Selection",
		"all threads of these processes" },
	[O_TIME] = { "time", 0, "A..B", NULL, CMD_LIST | CMD_CALLS | CMD_TIMELINE | CMD_PAIRS,
		"Selection",
		"window from A to B, each empty, a time since the start in seconds or with a unit "
		"(ns, us, ms, s), or a percentage (10%) of the time from the first instant of the "
		"trace to its last" },
	[O_SYM] = { "sym", 0, "GLOB", NULL, SHOWS, "Selection",
		"functions whose name matches GLOB; may be repeated" },
	[O_LIMIT] = { "limit", 0, "N", NULL, SELECTS, "Selection",
		"stop after N lines of output" },
	[O_ABS] = { "abs", 0, NULL, NULL, SHOWS | CMD_PAIRS, "Output",
		"times of the base clock instead of since the start, also in --time" },
	[O_NS] = { "ns", 0, NULL, NULL, SHOWS | CMD_PAIRS, "Output",
		"times as whole nanoseconds" },
	[O_STRICT] = { "strict", 0, NULL, NULL, CMD_PACKETS | CMD_DECODES, "Quality",
		"exit 4 if there is any hole, or if events of the kernel are known to be lost; "
		"with --limit or a selection, among those shown" },
	[O_MAX_LOSS] = { "max-loss", 0, "PCT", NULL, CMD_PACKETS | CMD_DECODES, "Quality",
		"exit 4 if more than PCT percent of the trace bytes are skipped, lost, or say "
		"nothing because code is missing; an overflow has no known size and lost events "
		"of the kernel are no trace bytes (--strict for no hole at all)" },
	[O_RESYNC] = { "resync", 0, "WHERE", "psb packet", CMD_DECODES, "Quality",
		"where Intel PT goes on behind a hole: psb, the next synchronisation point "
		"(default); packet, the next packet that names known code, which shows more" },
	[O_LEVEL] = { "level", 0, "LEVEL", "insn range events", CMD_LIST, "Selection",
		"insn: each instruction (default); range: instructions in a row as one line; "
		"events: calls, returns and everything else but marks, no instructions" },
	[O_LINES] = { "lines", 0, NULL, NULL, CMD_LIST | CMD_MERGES, "Output",
		"add source file and line" },
	[O_SUMMARY] = { "summary", 0, NULL, NULL, CMD_CALLS, "Output",
		"a table of functions with counts instead of the tree" },
	[O_INSNS] = { "insns", 0, NULL, NULL, CMD_CALLS, "Output",
		"with --summary, the number of instructions that ran in each function, also in "
		"those that no call or return tells of; costs a second decoding" },
	[O_BUILD] = { "build", 0, NULL, NULL, CMD_VERSION, "Output",
		"also the versions of the decoder libraries" },
	[O_ABI_CHECK] = { "abi-check", 0, "FILE", NULL, CMD_HELP, "Input",
		"look up the events that a script names, one a line; exit 1 if it declares "
		"abi=stable and one of them is no virtual event" },
	[O_CAPTURE] = { "output", 'o', "NAME.hwt", NULL, CMD_RECORD, "Output",
		"directory for the capture; CMD.hwt here if not given" },
	[O_REPLACE] = { "force", 'f', NULL, NULL, CMD_RECORD, "Output",
		"replace the capture of -o if it exists" },
	[O_EVENT] = { "event", 'e', "UNIT", NULL, CMD_RECORD, "Recording",
		"record trace: intel_pt or cs_etm, with options of the unit as "
		"intel_pt/cyc,mtc_period=3/, cs_etm/@tmc_etr0/, and behind them u for user code "
		"only, k for the kernel's; of CMD or --pid and what they fork, or with -a of all; "
		"or model, which is --model" },
	[O_ADDR_FILTER] = { "addr-filter", 0, "PLACE", NULL, CMD_RECORD, "Recording",
		"with -e, trace only there: FUNCTION@FILE, ADDRESS/SIZE@FILE, or without @FILE of "
		"the kernel; with start, stop or tracestop before it as perf has them; may be "
		"repeated, as often as the unit has filters" },
	[O_TRACE_SIZE] = { "trace-size", 0, "MIB", NULL, CMD_RECORD, "Recording",
		"with -e, memory for the trace of each CPU (default 4)" },
	[O_VIA] = { "via", 0, "NAME", "perf module", CMD_RECORD, "Recording",
		"with -e, who drives the unit: perf, the kernel's drivers (default); module, the "
		"kernel module hwtrace" },
	[O_MODEL] = { "model", 0, NULL, NULL, CMD_RECORD, "Recording",
		"step the program and write the trace that hardware would have sent; needs no "
		"trace hardware and no rights" },
	[O_KERNEL] = { "kernel", 'k', "EVENTS", NULL, CMD_RECORD, "Recording",
		"record these events of the kernel at full speed: a filter, as 'sched.*, irq.entry "
		"where irq == 9', '*': all; of CMD or --pid and what they fork, or with -a of "
		"all; functions of the kernel as 'kprobe:vfs_read(count:u64@2)', "
		"'kretprobe:vfs_read(ret:s64)'; its other tracepoints, as they are, as "
		"'dirty:kmem:kmalloc where bytes_req > 4096'" },
	[O_WHOLE] = { "all", 'a', NULL, NULL, CMD_RECORD, "Recording",
		"with -k or -e, of the whole machine; with CMD as long as it runs" },
	[O_NARROW] = { "filter", 0, "FILTER", NULL, CMD_RECORD, "Recording",
		"with -k, conditions for some events, as 'sched.switch where next_prio < "
		"100', or one for all of them, as 'cpu == 1', 'ctx.prio < 100' with --context "
		"prio; an event has one condition" },
	[O_CONTEXT] = { "context", 0, "LIST", NULL, CMD_RECORD, "Recording",
		"with -k, what else each event tells: vtid, comm, prio, cgroup, preempt_count, "
		"aspace, counter:NAME (cycles, cache-misses, page-faults, ... or TYPE/CONFIG as "
		"perf_event_open(2) has them); needs the kernel module" },
	[O_FOR] = { "time", 0, "SECONDS", NULL, CMD_RECORD, "Recording",
		"with -k or -e, end the recording after so many seconds" },
	[O_SIZE] = { "size", 0, "MIB", NULL, CMD_RECORD, "Recording",
		"with -k, buffer of each CPU in the kernel (default 4)" },
	[O_PROVIDER] = { "provider", 0, "NAME", "module tracefs perf", CMD_RECORD, "Recording",
		"with -k, who gives the events: module, the kernel module hwtrace; tracefs, the "
		"kernel's own tracepoints; perf, which also gives a user switches, tasks and maps "
		"of own tasks; without it the first that can be used" },
	[O_SNAPSHOT] = { "snapshot", 0, NULL, NULL, CMD_RECORD, "Recording",
		"with -k or -e, a flight recorder: the newest stays in the buffers, and is "
		"written at each signal SIGUSR2 and at the end, to NAME-1.hwt, NAME-2.hwt, ...; "
		"none is ever overwritten" },
	[O_SNAPSHOT_ON] = { "snapshot-on", 0, "FILTER", NULL, CMD_RECORD, "Recording",
		"as --snapshot, and also when one of these events comes, as 'sched.exit where "
		"prio < 100'" },
	[O_PID] = { "pid", 'p', "PID", NULL, CMD_RECORD, "Recording",
		"record a process that runs; it goes on when the recording ends" },
	[O_FROM] = { "from", 0, "SYMBOL", NULL, CMD_RECORD, "Recording",
		"step only from the entry of this function (a name, a glob, or an address) to "
		"--to, or without --to until it returns; at full speed outside; may be repeated, "
		"each with its --to" },
	[O_TO] = { "to", 0, "SYMBOL", NULL, CMD_RECORD, "Recording",
		"stop stepping at the entry of this function; without --from, step from the "
		"start" },
	[O_STEPS] = { "limit", 0, "N", NULL, CMD_RECORD, "Recording",
		"end the recording after N instructions; the program goes on by itself" },
	[O_NO_KERNEL] = { "no-kernel", 0, NULL, NULL, CMD_RECORD, "Recording",
		"no events of this machine's kernel, only what the recorder sees itself (calls, "
		"maps, tasks); without the rights for them it is so, too" },
	[O_CYC] = { "cyc", 0, NULL, NULL, CMD_RECORD, "Trace unit",
		"cycle counts: the time of each packet is known closely" },
	[O_MTC] = { "mtc", 0, "N", NULL, CMD_RECORD, "Trace unit",
		"Intel PT: a time packet each 2^N ticks of the crystal clock, N from 0 to 15; "
		"none: no MTC" },
	[O_TS] = { "ts", 0, "N", NULL, CMD_RECORD, "Trace unit",
		"Arm: a timestamp each N ticks of the system counter at most (default 4096); none: "
		"only with synchronisation" },
	[O_NO_RETCOMP] = { "no-retcomp", 0, NULL, NULL, CMD_RECORD, "Trace unit",
		"every return with its address, none told by the call stack" },
	[O_SEED] = { "seed", 0, "N", NULL, CMD_RECORD, "Trace unit",
		"of the unit's free choices; the same number gives the same ones" },
	[O_EXPORT_TO] = { "to", 0, "FORMAT", "perf", CMD_EXPORT, "Output",
		"format of the output: perf, a perf.data file" },
	[O_IMAGES] = { "images", 0, "DIR", NULL, CMD_EXPORT, "Output",
		"copy the code that ran into DIR, each file at its recorded path below it; "
		"files of other content there are replaced with -f only" },
	[O_FILTER] = { "filter", 0, "FILTER", NULL, CMD_TIMELINE, "Selection",
		"which kernel events, as 'sched.switch where next_prio < 100, irq.*'; nothing else "
		"is shown, and of the trace only with --level; '*': every virtual event; "
		"dirty:NAME, as 'dirty:kmem:* where bytes_req > 64': those of one recording" },
	[O_PAIR_FROM] = { "from", 0, "POINT", NULL, CMD_PAIRS, "Points",
		"where time begins: a kernel event (syscall.enter:read, \"sched.wakeup where "
		"prio < 100\"), a function (its entry; NAME:exit is its return), an address "
		"(0x401136) or a source line (main.c:12)" },
	[O_PAIR_TO] = { "to", 0, "POINT", NULL, CMD_PAIRS, "Points",
		"where it ends; without it the natural end of --from: the return of a function, "
		"syscall.exit, block.complete, ..." },
	[O_KEY] = { "key", 0, "KEY", NULL, CMD_PAIRS, "Points",
		"what both ends have in common: task, cpu, a field of both events, or FROM=TO of "
		"two fields; without it the events say it (the request of block.issue, the task "
		"that is woken, else the task that runs)" },
	[O_WORST] = { "worst", 0, "N", NULL, CMD_PAIRS, "Selection",
		"latency: so many of the longest are shown (5); why: the N-th longest of those "
		"that touch no hole is explained (1)" },
	[O_CALL] = { "call", 0, "N", NULL, CMD_WHY, "Selection",
		"explain number N: as latency shows it behind #, but of a function that calls "
		"itself only the outermost calls count" },
	[O_DETAIL] = { "level", 0, "LEVEL", "calls range insn events", CMD_TIMELINE, "Selection",
		"calls: entries and exits of functions (default); range: instructions in a row as "
		"one line; insn: each instruction; events: what is no instruction" },
};

const struct opt_def *opt_at(unsigned i)
{
	return i < O_COUNT ? &defs[i] : NULL;
}

static int fail(struct opts *o, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static int fail(struct opts *o, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(o->err, sizeof(o->err), fmt, ap);
	va_end(ap);
	return -EINVAL;
}

/* Decimal number with up to 9 digits after the point, times @scale; digits too fine are cut. */
static int decimal(const char *s, size_t n, uint64_t scale, uint64_t *out)
{
	uint64_t v = 0, part = scale;
	bool dot = false, any = false;

	for (size_t i = 0; i < n; i++) {
		if (s[i] == '.' && !dot) {
			dot = true;
			continue;
		}
		if (s[i] < '0' || s[i] > '9')
			return -EINVAL;
		any = true;
		if (dot) {
			part /= 10;
			if (__builtin_add_overflow(v, (uint64_t)(s[i] - '0') * part, &v))
				return -EINVAL;
		} else if (__builtin_mul_overflow(v, 10, &v) ||
			   __builtin_add_overflow(v, (uint64_t)(s[i] - '0') * scale, &v)) {
			return -EINVAL;
		}
	}
	*out = v;
	return any ? 0 : -EINVAL;
}

int opt_parse_time(struct opt_time *t, const char *s, size_t n, char *err, size_t size)
{
	static const struct { const char *name; uint64_t scale; } units[] = {
		{ "ns", 1 }, { "us", 1000 }, { "ms", 1000000 }, { "s", 1000000000 },
		{ "", 1000000000 },
	};
	struct opt_time out = { .kind = OPT_TIME_OPEN };
	size_t num;

	if (!n)
		goto done;
	if (*s == '%' || s[n - 1] == '%') {
		out.kind = OPT_TIME_PERCENT;
		if (*s == '%')
			s++;
		if (decimal(s, n - 1, 1000, &out.v) || out.v > 100000) {
			snprintf(err, size, "\"%.*s\" is no percentage from 0%% to 100%%",
				 (int)n, s);
			return -EINVAL;
		}
		goto done;
	}
	if (*s == '+')
		s++, n--;
	for (num = 0; num < n && (s[num] == '.' || (s[num] >= '0' && s[num] <= '9')); num++)
		;
	for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++) {
		if (strlen(units[i].name) != n - num || memcmp(units[i].name, s + num, n - num))
			continue;
		out.kind = OPT_TIME_NS;
		if (!decimal(s, num, units[i].scale, &out.v))
			goto done;
		break;
	}
	if (n - num == 2 && !memcmp(s + num, "cs", 2))
		snprintf(err, size, "\"%.*s\": ticks of a CoreSight timestamp are no time, as "
			 "their frequency is not known", (int)n, s);
	else
		snprintf(err, size, "\"%.*s\" is no time: a number and one of ns, us, ms, s or %%",
			 (int)n, s);
	return -EINVAL;
done:
	*t = out;
	return 0;
}

static int parse_window(struct opts *o, const char *s)
{
	const char *dots = strstr(s, "..");

	o->hint = "--time A..B, each a number of seconds or with a unit, or empty: "
		"4.64..4.641, 10ms..12.5ms, 10%..20%, 5us..";
	if (!dots)
		return fail(o, "--time %s: a window is written A..B", s);
	o->have_time = true;
	if (opt_parse_time(&o->lo, s, (size_t)(dots - s), o->err, sizeof(o->err)) ||
	    opt_parse_time(&o->hi, dots + 2, strlen(dots + 2), o->err, sizeof(o->err)))
		return -EINVAL;
	if (o->lo.kind == o->hi.kind && o->lo.kind != OPT_TIME_OPEN && o->lo.v > o->hi.v)
		return fail(o, "--time %s: the window ends before it begins", s);
	o->hint = NULL;
	return 0;
}

#define LIST_MAX 65536		/* numbers of one list option */

/* "0,2-5" appended to *@v. */
static int parse_list(struct opts *o, const char *name, const char *s, int32_t **v, size_t *n)
{
	const char *p = s;

	do {
		char *end;
		long lo, hi;

		if (*p < '0' || *p > '9')
			break;
		lo = hi = strtol(p, &end, 10);
		if (*end == '-' && end[1] >= '0' && end[1] <= '9')
			hi = strtol(end + 1, &end, 10);
		p = end;
		if (lo > hi || hi > INT32_MAX || (size_t)(hi - lo) >= LIST_MAX - *n)
			break;
		int32_t *more = realloc(*v, (*n + (size_t)(hi - lo) + 1) * sizeof(**v));

		if (!more)
			return fail(o, "out of memory");
		*v = more;
		while (lo <= hi)
			more[(*n)++] = (int32_t)lo++;
		if (!*p)
			return 0;
	} while (*p++ == ',');
	return fail(o, "--%s %s: a list of numbers is written 0,2-5", name, s);
}

/* FILE[@ADDR]: the last @ counts only if a number follows it. */
static int parse_elf(struct opts *o, const char *s)
{
	struct hwt_elf_arg *e = realloc(o->elfs, (o->open.nelfs + 1) * sizeof(*e));
	const char *at = strrchr(s, '@');
	char *end, *cut;
	uint64_t addr;

	if (!e)
		return fail(o, "out of memory");
	o->elfs = e;
	o->open.elfs = e;
	e += o->open.nelfs++;
	*e = (struct hwt_elf_arg){ .path = s, .addr = HWT_NO_ADDR };
	if (!at || at[1] < '0' || at[1] > '9')
		return 0;
	errno = 0;
	addr = strtoull(at + 1, &end, 0);
	if (*end || errno || at == s)
		return fail(o, "--elf %s: the address is no number", s);
	char **own = realloc(o->owned, (o->nowned + 1) * sizeof(*own));

	if (!own)
		return fail(o, "out of memory");
	o->owned = own;
	cut = strndup(s, (size_t)(at - s));
	if (!cut)
		return fail(o, "out of memory");
	o->owned[o->nowned++] = cut;
	*e = (struct hwt_elf_arg){ .path = cut, .addr = addr };
	return 0;
}

static int parse_sym(struct opts *o, const char *s)
{
	const char **v = realloc(o->syms, (o->nsyms + 1) * sizeof(*v));

	if (!v)
		return fail(o, "out of memory");
	o->syms = v;
	v[o->nsyms++] = s;
	return 0;
}

/* Index of @s in the blank-separated @choices, or -1. */
static int choice(const char *choices, const char *s)
{
	size_t n = strlen(s);

	for (int i = 0; *choices; i++) {
		size_t k = strcspn(choices, " ");

		if (k == n && !memcmp(choices, s, n))
			return i;
		choices += k + (choices[k] == ' ');
	}
	return -1;
}

static int parse_number(struct opts *o, const char *name, const char *s, uint64_t scale,
			uint64_t *out)
{
	if (decimal(s, strlen(s), scale, out) || (scale == 1 && strchr(s, '.')))
		return fail(o, "--%s %s: not a number", name, s);
	return 0;
}

/* A number from 1 on. */
static int parse_count(struct opts *o, const char *name, const char *s, uint64_t *out)
{
	if (parse_number(o, name, s, 1, out))
		return -EINVAL;
	return *out ? 0 : fail(o, "--%s 0: they are counted from 1 on", name);
}

static int parse_input(struct opts *o, const char *as, const char *path)
{
	char **v;

	if (o->nargs)
		return fail(o, "one input at a time: %s and %s", o->args[0], path);
	v = malloc(sizeof(*v));
	if (!v)
		return fail(o, "out of memory");
	v[0] = (char *)path;
	free(o->args);
	o->args = v;
	o->nargs = 1;
	o->open.as = as;
	return 0;
}

/* A window begins with --from; --to ends the one before it that has no end yet. */
static int parse_place(struct opts *o, const char *arg, bool from)
{
	struct hwt_window *w = o->record.windows;
	size_t n = o->record.nwindows;

	if (!*arg)
		return fail(o, "--%s needs the name of a function", from ? "from" : "to");
	if (!from && n && !w[n - 1].to) {
		w[n - 1].to = arg;
		return 0;
	}
	w = realloc(w, (n + 1) * sizeof(*w));
	if (!w)
		return fail(o, "out of memory");
	w[n] = (struct hwt_window){ .from = from ? arg : NULL, .to = from ? NULL : arg };
	o->record.windows = w;
	o->record.nwindows = n + 1;
	return 0;
}

static int parse_unit(struct opts *o, const char *arg)
{
	if (!strcmp(arg, "model")) {
		o->record.model = true;
		return 0;
	}
	if (!*arg)
		return fail(o, "-e needs the name of a trace unit");
	if (o->record.trace)
		return fail(o, "-e %s: one trace unit at a time, and -e %s is there already", arg,
			    o->record.trace);
	o->record.trace = arg;
	return 0;
}

static int parse_addr_filter(struct opts *o, const char *arg)
{
	const char **v = realloc(o->record.places, (o->record.nplaces + 1) * sizeof(*v));

	if (!v)
		return fail(o, "out of memory");
	o->record.places = v;
	v[o->record.nplaces++] = arg;
	return 0;
}

static int set(struct opts *o, int id, const char *arg)
{
	const struct opt_def *d = &defs[id];
	uint64_t v = 0;
	int k = 0;

	if (d->choices) {
		k = choice(d->choices, arg);
		if (k < 0)
			return fail(o, "--%s %s: not one of: %s", d->name, arg, d->choices);
	}
	switch (id) {
	case O_HELP: o->help = true; break;
	case O_OUTPUT: o->output = arg; break;
	case O_FORCE: o->force = true; break;
	case O_COLOR: o->color = (uint8_t)k; break;
	case O_PAGER: o->pager = true, o->no_pager = false; break;
	case O_NO_PAGER: o->no_pager = true, o->pager = false; break;
	case O_QUIET: o->quiet = true; break;
	case O_VERBOSE: o->verbose = true; break;
	case O_JSON:
	case O_JSONL:
		k = id == O_JSON ? OPT_JSON : OPT_JSONL;
		if (o->format != OPT_TEXT && o->format != k)
			return fail(o, "--json and --jsonl: one of them");
		o->format = (uint8_t)k;
		break;
	case O_AS: o->open.as = arg; break;
	case O_CONFIG: o->open.config = arg; break;
	case O_PT: return parse_input(o, "pt", arg);
	case O_CS: return parse_input(o, "cs", arg);
	case O_ELF: return parse_elf(o, arg);
	case O_SYSROOT: o->open.sysroot = arg; break;
	case O_KCORE: o->open.kcore = arg; break;
	case O_KALLSYMS: o->open.kallsyms = arg; break;
	case O_DEBUGINFOD: o->open.debuginfod_cache = arg; break;
	case O_PERF_MAP: o->open.perf_map_dir = arg; break;
	case O_CPU:
		if (strchr(arg, '/'))
			o->open.cpu = arg;
		else
			return parse_list(o, d->name, arg, &o->cpus, &o->ncpus);
		break;
	case O_TID: return parse_list(o, d->name, arg, &o->tids, &o->ntids);
	case O_PROCESS: return parse_list(o, d->name, arg, &o->pids, &o->npids);
	case O_TIME: return parse_window(o, arg);
	case O_SYM: return parse_sym(o, arg);
	case O_LIMIT:
		if (parse_number(o, d->name, arg, 1, &o->limit))
			return -EINVAL;
		if (!o->limit)
			return fail(o, "--limit 0: at least one line");
		break;
	case O_ABS: o->abs = true; break;
	case O_NS: o->ns = true; break;
	case O_STRICT: o->strict = true; break;
	case O_MAX_LOSS:
		k = (int)strlen(arg);
		if (k && arg[k - 1] == '%')
			k--;
		if (decimal(arg, (size_t)k, 1000, &v) || v > 100000)
			return fail(o, "--max-loss %s: not a percentage", arg);
		o->max_loss = (uint32_t)v;
		o->have_max_loss = true;
		break;
	case O_RESYNC: o->resync = (uint8_t)k; break;
	case O_LEVEL: o->level = (uint8_t)k; break;
	case O_FILTER: o->filter = arg; break;
	case O_PAIR_FROM: o->pairs.from = arg; break;
	case O_PAIR_TO: o->pairs.to = arg; break;
	case O_KEY: o->pairs.key = arg; break;
	case O_WORST: return parse_count(o, d->name, arg, &o->pairs.worst);
	case O_CALL: return parse_count(o, d->name, arg, &o->pairs.call);
	case O_DETAIL:
		o->detail = (uint8_t)k;
		o->have_detail = true;
		break;
	case O_LINES: o->lines = true; break;
	case O_SUMMARY: o->summary = true; break;
	case O_INSNS: o->insns = true; break;
	case O_BUILD: o->build = true; break;
	case O_ABI_CHECK: o->abi_check = arg; break;
	case O_CAPTURE: o->output = arg; break;
	case O_REPLACE: o->force = true; break;
	case O_EVENT: return parse_unit(o, arg);
	case O_ADDR_FILTER: return parse_addr_filter(o, arg);
	case O_TRACE_SIZE:
		if (parse_count(o, d->name, arg, &v) || v > 4096)
			return fail(o, "--trace-size %s: MiB, from 1 to 4096", arg);
		o->record.trace_size = v << 20;
		break;
	case O_VIA: o->record.via = (uint8_t)k; break;
	case O_MODEL: o->record.model = true; break;
	case O_KERNEL: o->record.kernel = arg; break;
	case O_WHOLE: o->record.all = true; break;
	case O_FOR:
		if (parse_number(o, d->name, arg, 1000000000, &o->record.time) || !o->record.time)
			return fail(o, "--time %s: seconds, more than 0", arg);
		break;
	case O_SIZE:
		if (parse_count(o, d->name, arg, &v) || v > 2048)
			return fail(o, "--size %s: MiB, from 1 to 2048", arg);
		o->record.size = v << 20;
		break;
	case O_NARROW: o->record.filter = arg; break;
	case O_CONTEXT: o->record.contexts = arg; break;
	case O_PROVIDER: o->record.provider = (uint8_t)(k + 1); break;
	case O_SNAPSHOT: o->record.snapshot = true; break;
	case O_SNAPSHOT_ON:
		o->record.snapshot = true;
		o->record.trigger = arg;
		break;
	case O_NO_KERNEL: o->record.no_kernel = true; break;
	case O_CYC: o->record.cyc = true; break;
	case O_NO_RETCOMP: o->record.no_retcomp = true; break;
	case O_EXPORT_TO: o->to = arg; break;
	case O_IMAGES: o->images = arg; break;
	case O_SEED: return parse_number(o, d->name, arg, 1, &o->record.seed);
	case O_FROM:
	case O_TO: return parse_place(o, arg, id == O_FROM);
	case O_PID:
		if (parse_number(o, d->name, arg, 1, &v) || !v || v > INT32_MAX)
			return fail(o, "--pid %s: not the number of a process", arg);
		o->record.pid = (int32_t)v;
		break;
	case O_STEPS:
		if (parse_number(o, d->name, arg, 1, &o->limit) || !o->limit)
			return fail(o, "--limit %s: at least one instruction", arg);
		break;
	case O_MTC:
		if (!strcmp(arg, "none"))
			v = MTC_NONE;
		else if (parse_number(o, d->name, arg, 1, &v) || v > 15)
			return fail(o, "--mtc %s: a number from 0 to 15, or none", arg);
		o->record.mtc = (uint8_t)v;
		o->record.have_mtc = true;
		break;
	case O_TS:
		if (!strcmp(arg, "none"))
			v = UINT32_MAX;
		else if (parse_number(o, d->name, arg, 1, &v) || !v || v >= UINT32_MAX)
			return fail(o, "--ts %s: a number of ticks from 1 on, or none", arg);
		o->record.ts_every = (uint32_t)v;
		break;
	}
	return 0;
}

unsigned opt_distance(const char *a, const char *b)
{
	unsigned row[33], n = (unsigned)strlen(b), m = (unsigned)strlen(a);

	if (n > 31 || m > 31)
		return 99;
	for (unsigned j = 0; j <= n; j++)
		row[j] = j;
	for (unsigned i = 1; i <= m; i++) {
		unsigned diag = row[0];

		row[0] = i;
		for (unsigned j = 1; j <= n; j++) {
			unsigned best = diag + (a[i - 1] != b[j - 1]);

			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			diag = row[j];
			row[j] = best;
		}
	}
	return row[n];
}

static int unknown(struct opts *o, unsigned cmd, const char *word)
{
	const char *near = NULL;
	char name[32];
	unsigned best = 3;

	if (strncmp(word, "--", 2))
		return fail(o, "unknown option %.2s", word);
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
	for (int i = 0; i < O_COUNT; i++) {
		if (!strcmp(defs[i].name, name) && !(defs[i].cmds & cmd))
			return fail(o, "this command does not take --%s", name);
		if ((defs[i].cmds & cmd) && opt_distance(defs[i].name, name) < best) {
			best = opt_distance(defs[i].name, name);
			near = defs[i].name;
		}
	}
	if (near)
		return fail(o, "unknown option --%s; did you mean --%s?", name, near);
	return fail(o, "unknown option --%s", name);
}

/* What is left after the options goes behind those given with --pt or --cs. */
static int take_args(struct opts *o, int argc, char **argv)
{
	char **v;

	if (!argc)
		return 0;
	v = realloc(o->args, (size_t)(o->nargs + argc) * sizeof(*v));
	if (!v)
		return fail(o, "out of memory");
	o->args = v;
	for (int i = 0; i < argc; i++)
		v[o->nargs++] = argv[i];
	return 0;
}

int opt_parse(struct opts *o, unsigned cmd, int argc, char **argv)
{
	struct option longs[O_COUNT + 1] = { 0 };
	char shorts[3 + 2 * O_COUNT], *s = shorts;
	unsigned mask = cmd ? cmd : CMD_ALL;
	int n = 0, c;

	if (!cmd || cmd == CMD_RECORD)
		*s++ = '+';	/* what comes behind the command is the command's */
	*s++ = ':';
	for (int i = 0; i < O_COUNT; i++) {
		if (!(defs[i].cmds & mask))
			continue;
		longs[n++] = (struct option){ defs[i].name,
			defs[i].arg ? required_argument : no_argument, NULL, 256 + i };
		if (defs[i].sh)
			*s++ = defs[i].sh;
		if (defs[i].sh && defs[i].arg)
			*s++ = ':';
	}
	*s = 0;
	opterr = 0;
	optind = 0;		/* glibc: start afresh */
	while ((c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == '?' && optopt >= 256)
			return fail(o, "--%s takes no value", defs[optopt - 256].name);
		if (c == '?' && optopt) {
			char word[] = { '-', (char)optopt, 0 };

			return unknown(o, mask, word);
		}
		if (c == '?')
			return unknown(o, mask, argv[optind - 1]);
		if (c == ':')
			return fail(o, "%s needs a value", argv[optind - 1]);
		for (int i = 0; c < 256; i++)
			if (defs[i].sh == c && (defs[i].cmds & mask))
				c = 256 + i;
		if (set(o, c - 256, optarg))
			return -EINVAL;
	}
	n = optind;
	if (cmd && take_args(o, argc - n, argv + n))
		return -ENOMEM;
	return n;
}

void opt_free(struct opts *o)
{
	for (size_t i = 0; i < o->nowned; i++)
		free(o->owned[i]);
	free(o->owned);
	free(o->cpus);
	free(o->tids);
	free(o->pids);
	free(o->syms);
	free(o->elfs);
	free(o->args);
	free(o->record.windows);
	free(o->record.places);
	*o = (struct opts){ 0 };
}

void opt_wrap(struct out *o, const char *s, unsigned col)
{
	while (*s) {
		size_t n = strcspn(s, " ");

		if (o->flushed + o->n - o->line + n + 1 > 80 &&
		    o->flushed + o->n - o->line > col) {
			out_nl(o);
			out_tab(o, col);
		} else if (o->flushed + o->n - o->line > col) {
			out_ch(o, ' ');
		}
		out_mem(o, s, n);
		s += n + (s[n] == ' ');
	}
	out_nl(o);
}

void opt_help(struct out *o, unsigned cmd)
{
	static const char *const groups[] = { "Points", "Recording", "Trace unit", "Input", "Code",
		"Selection", "Output", "Quality", "General" };

	for (size_t g = 0; g < sizeof(groups) / sizeof(groups[0]); g++) {
		bool head = false;

		for (int i = 0; i < O_COUNT; i++) {
			const struct opt_def *d = &defs[i];

			if (!(d->cmds & cmd) || strcmp(d->group, groups[g]))
				continue;
			if (!head)
				out_fmt(o, "\n%s:\n", groups[g]);
			head = true;
			o->line = o->flushed + o->n;
			out_str(o, "  ");
			if (d->sh)
				out_fmt(o, "-%c, ", d->sh);
			out_fmt(o, "--%s", d->name);
			if (d->arg)
				out_fmt(o, " %s", d->arg);
			out_tab(o, 28);
			opt_wrap(o, d->help, 28);
		}
	}
}
