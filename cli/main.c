/* SPDX-License-Identifier: BSD-2-Clause */
/* The command table, and the way from argv to a command. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli.h"

static const char *const calls_output[][2] = {
	{ "f {  ...  } f", "f is entered; f is left, with the time between if it is known" },
	{ "f()", "entered and left with nothing between" },
	{ "tail f", "entered by a jump from what was left as \"(tail call)\"; returns to "
	  "the caller of that" },
	{ "interrupt, exception, syscall, signal", "entered without a call; the end is told by "
	  "the return from it, or by tracing that starts again where it was taken" },
	{ "(not traced)", "ran, but was not recorded: the kernel, what a filter left out, or what "
	  "begins in a hole" },
	{ "libfoo.so+0x1234", "code of a file without symbol; a bare address is of no file" },
	{ "(already running)", "found running, not entered: tracing starts in it, or what it "
	  "called returned. The first such line of a thread has depth 0, those that it returns "
	  "to are below zero; lines are indented from the lowest depth so far. Behind a hole: "
	  "where a call, a return or the end of tracing tells it; what runs from one hole to "
	  "the next without one is not seen here, but in list" },
	{ "(trace begins here)", "tracing starts with its first instruction: what called it, if "
	  "anything did, is not in the trace" },
	{ "(already running, caller not known)", "the first one behind a hole: it may have been "
	  "called by anything, so depth starts at 0 again" },
	{ "-- hole", "trace is missing. Several of one cause in a row are one line; list has "
	  "each of them, check counts them" },
	{ "-- not traced from A to B", "tracing stopped at A and started at B, and no rule about "
	  "calls and exceptions tells how it came there: as uncertain as a hole. \"Hole\" "
	  "below is either" },
	{ "-- goes on in f", "behind a hole flow is in f, or at the return from what f called, "
	  "and f was open before: taken for the same call" },
	{ "(end not seen)", "open before a hole, and not what runs behind it" },
	{ "(open before the hole)", "its end was not seen, and now flow returned to it: taken "
	  "for the same call" },
	{ "(entry not seen)", "left, but found running before" },
	{ "(hole inside)", "a hole lies between entry and end: no duration is told" },
	{ "(unwound)", "left without a return: longjmp, C++ exception, changed return address" },
	{ "(trace ends inside)", "open at the end of the trace: it still ran, or never returned" },
	{ "--summary", "for each function: calls (entered), running (found running, not "
	  "entered), leaves (ends seen, of which unwound), lost (ends in a hole), open (at the "
	  "end), the largest depth. In each row calls + running = leaves + lost + open. Rows "
	  "without a function come last" },
	{ "--sym", "only entries and ends of these functions, and holes; depth is the one in "
	  "the whole tree" },
	{ NULL, NULL }
};

static const char *const latency_output[][2] = {
	{ "return of f", "where its caller goes on, also if f ended by a jump into another "
	  "function (calls says \"tail call\"), which is part of it then" },
	{ "p50, p90, p99, max", "so many percent of the pairs took no longer. \"A to B\": an "
	  "interval that holds the true value, from all the intervals of the pairs and the steps "
	  "of the histogram (1/64 of the value)" },
	{ "###---", "pairs that certainly belong in this row, and those that may, as 371 and "
	  "368..374" },
	{ "#271", "number of the pair, in order of the ends" },
	{ "~", "touches a hole in the trace of its task or CPU, or lost kernel records: not in "
	  "the quantiles. Also what is not certain, as only some tasks were recorded: another "
	  "one may have begun or ended it" },
	{ "on-cpu, preempted, blocked, ready, irq, softirq", "where the time of the task went; "
	  "the parts add up to the whole. What the capture does not tell is not listed, and is "
	  "part of what is: interrupts of on-cpu, ready of blocked" },
	{ "off-cpu, unknown", "another task was seen on its CPU, no switch tells why, or, where "
	  "only some tasks were recorded, it waited or was ready; no switch "
	  "tells that it came to its CPU, so it may run or not" },
	{ "blocked 9 ms in futex: woken by", "a long wait, who ended it, and what that one did in "
	  "this time; the line below is of its own longest wait. \"woken, perhaps, by\": the "
	  "record may have been written for another one" },
	{ "ready 2 ms: ... had cpu 0 for", "who had the CPU; not certain where the task moved, or "
	  "a switch is not told" },
	{ "left over", "ends without a begin, begins without an end, and begins that came again "
	  "before their end: then the last one counts" },
	{ NULL, NULL }
};

static const char *const doctor_output[][2] = {
	{ "yes, partly, no", "whether this user can record with it; partly: see why" },
	{ "found", "what is there" },
	{ "why, note", "what is missing; beside yes: what to know of it" },
	{ "works", "what can be done nevertheless" },
	{ "next", "what to do, one step: a command, package, permission or boot parameter" },
	{ NULL, NULL }
};

static const char *const why_output[][2] = {
	{ "~#12 took at most 5 us", "it touches a hole: its end, or its begin, may be another "
	  "one's, so only the upper bound of its length holds" },
	{ "3 others may have taken longer", "their times overlap that of this one: which of them "
	  "is the longest is not known" },
	{ "+640 us to +641 us", "the part is so much longer than in the typical one; a single "
	  "number is exact. From -N to +N: may be nothing" },
	{ "preempted, blocked, ready, irq, softirq, off-cpu", "as in latency, of the task" },
	{ "fault", "page faults (mm.fault of the kernel; aborts in the trace of an Arm unit), and "
	  "how many; without trace their ends are not told, so it may be up to all of the rest" },
	{ "exception", "faults and interrupts of which the kernel tells nothing" },
	{ "hole", "trace is missing, less what the typical one ran at that place" },
	{ "extra path", "branches that the typical one did not take, and more rounds of a loop; "
	  "missing path: the other way round" },
	{ "same path", "both ran the same there" },
	{ "rest", "on its CPU where no trace tells what ran: the kernel, if only user code is "
	  "traced; all of it, if there is no trace. Always shown" },
	{ "unknown", "neither trace nor a switch tells whether it ran" },
	{ NULL, NULL }
};

static const char *const record_output[][2] = {
	{ "exit code", "0: recorded, and the program ended with 0, or it goes on (--pid, --limit, "
	  "Ctrl-C gives 130); 1: recorded, but the program ended with another code or was killed "
	  "by a signal, which is said; 2: no function has a name that --from gives; 3: no program "
	  "that can be stepped here; 4: recorded, but without the trace or without the kernel "
	  "events that were asked for; 5: the output could not be written, or the system does not "
	  "permit tracing" },
	{ NULL, NULL }
};

static const struct cmd cmds[] = {
	{ "info", CMD_INFO, "FILE", "what is inside a capture",
	  "Shows the format, the machine, clocks, trace buffers and their sources, tasks, the\n"
	  "code that was mapped with the files that are missing, and what the reader noted.\n"
	  "Nothing is decoded.",
	  { { "hwtrace info perf.data", "a perf recording" },
	    { "hwtrace info --json snapshot/", "an OpenCSD or DS-5 snapshot, for a program" } },
	  cmd_info, NULL },
	{ "packets", CMD_PACKETS, "FILE", "the packets of the trace buffers, as they are",
	  "Lists trace packets with their offset and payload, with -v also their bytes. No code\n"
	  "is needed. A packet that no manual defines is marked BAD with its bytes;\n"
	  "one that says that trace was lost has the hole's cause and id behind it.",
	  { { "hwtrace packets --pt trace.bin", "a raw Intel PT buffer" },
	    { "hwtrace packets --jsonl --cpu 0 perf.data", "one CPU, for a program" } },
	  cmd_packets, NULL },
	{ "list", CMD_LIST, "FILE", "every instruction that ran, or ranges, or events",
	  "Lists what ran, in order, buffer by buffer: time, CPU, thread, address, symbol and\n"
	  "the instruction. Kernel-side events of the same CPU stand between (with -v also\n"
	  "those before and after the trace, and maps). Lines that begin\n"
	  "with \"--\" are no instructions; \"-- hole\" is trace that is missing: nothing is\n"
	  "known of what ran there. A time is the earliest instant, \"+N\" the ns it may be\n"
	  "later, \"+?\" says that no later bound is known; \"+1240 cs\" are ticks of the\n"
	  "CoreSight timestamp, whose frequency is not known (hwtrace help times).\n"
	  "With --limit, and with a selection, the quality line, --strict and --max-loss go by\n"
	  "the holes that were shown.",
	  { { "hwtrace list --elf a.out@0x400000 --pt t.bin --cpu 6/79/1", "a raw dump" },
	    { "hwtrace list --level range --time 10ms..12ms perf.data", "a window of time" },
	    { "hwtrace list --sym 'tcp_*' --lines perf.data", "some functions, with lines" } },
	  cmd_list, NULL },
	{ "calls", CMD_CALLS, "FILE", "function calls as a tree, or counted",
	  "Shows entries and exits of functions with their depth, for each thread. A function\n"
	  "that runs where tracing starts, or is returned to, was entered before and is shown\n"
	  "as already running. Behind a hole nothing is open unless flow comes back to it.\n"
	  "With --summary, a table of functions and counts.",
	  { { "hwtrace calls perf.data", "the tree" },
	    { "hwtrace calls --summary --tid 1234 perf.data", "counts of one thread" } },
	  cmd_calls, calls_output },
	{ "timeline", CMD_TIMELINE, "FILE", "trace and kernel events of all CPUs in one order",
	  "Shows what ran and what the kernel told, of all CPUs, merged by time: entries and\n"
	  "exits of functions with their depth (as calls does), and between them the kernel's\n"
	  "events by their virtual names (hwtrace help events), each with a number for between.\n"
	  "What only this capture has is called dirty:NAME, and so is a record of perf.data\n"
	  "that repeats what a tracepoint told (dirty:fork beside sched.fork), so that each\n"
	  "fact counts once. With --level range or insn, what ran is shown in full. The order\n"
	  "is that of the earliest instants, and the same each time: where the intervals of two\n"
	  "CPUs overlap (\"+N\" behind a time), either may have been first. What has no time\n"
	  "stands where its own trace has it. Clocks that are not mapped to each other follow\n"
	  "one another. Each buffer has its own stack of calls: a thread that moves to another\n"
	  "CPU is found running there, at a depth counted anew.",
	  { { "hwtrace timeline perf.data", "everything" },
	    { "hwtrace timeline --time 10ms..11ms --cpu 2 perf.data", "a window on one CPU" },
	    { "hwtrace timeline --filter '*' ls.hwt", "events of the kernel only" },
	    { "hwtrace timeline --filter 'sched.*, irq.*' --level insn ls.hwt",
	      "each instruction, with some kernel events" } },
	  cmd_timeline, NULL },
	{ "between", CMD_BETWEEN, "FILE EVENT EVENT",
	  "the instructions between two events of the kernel",
	  "Lists what ran between two events: those of the thread of both, else of the CPU of\n"
	  "both, or of --tid or --cpu. An EVENT is the number that timeline prints, or NAME:N,\n"
	  "the N-th of that name, or NAME: the first one (as second EVENT: the first behind the\n"
	  "other, of its thread if there is one and no --cpu is given). For NAME stands what\n"
	  "latency and why take, too: syscall.enter:read, or a filter such as\n"
	  "'sched.switch where next_tid == 12', and :N behind it is the N-th of them.\n"
	  "An instruction is certainly between if its time lies wholly\n"
	  "between those of the events, or if it ran behind such a one, or where tracing was off\n"
	  "at the event, as it is in the kernel where only user code is traced; a line that\n"
	  "begins with \"?\" may be. What a hole hides is not counted.",
	  { { "hwtrace between ls.hwt 17 18", "two numbers of timeline" },
	    { "hwtrace between ls.hwt syscall.exit:3 syscall.enter",
	      "from a system call to the next" },
	    { "hwtrace between ls.hwt syscall.enter:read:2 syscall.exit:read",
	      "in the second call of read()" },
	    { "hwtrace between --cpu 1 perf.data sched.switch:5 sched.switch:6", "of one CPU" } },
	  cmd_between, NULL },
	{ "check", CMD_CHECK, "FILE", "decode everything and account for every byte",
	  "Decodes all trace buffers and prints a ledger: for each buffer and cause how many\n"
	  "holes, bytes skipped and bytes lost, where and when the first one is and what to try.\n"
	  "Bytes in = decoded + skipped; lost bytes were never in the input. Timestamps of the\n"
	  "trace units that are all zero, stand still or go back are counted. Then whether the\n"
	  "clocks of the CPUs agree with what must come first: a task is woken before it runs,\n"
	  "and on one CPU at a time. Kernel events are checked against what hwtrace-events(7)\n"
	  "promises of order, frequency, place and values; a finding names the rule: time, twice\n"
	  "(a record comes again), number (of a record: again, or left out), value and where (by\n"
	  "whom, on which CPU), switch and runs (who runs on a CPU), waking, woken and moved,\n"
	  "born, exit and named (lives and names of tasks), signal, irq and ipi, raised and\n"
	  "softirq, queued and work (work queues), syscall, block, idle, set and timer, change\n"
	  "(of CPUs, sleep, code), mark, clock. A rule that the recording does not fit, because\n"
	  "it leaves out tasks or events or because the recorder steps the program, is named as\n"
	  "well. Exits 1 if there is any hole, finding or warning.",
	  { { "hwtrace check perf.data", "is this recording good?" },
	    { "hwtrace check -q --max-loss 0.1 perf.data", "in a script" } },
	  cmd_check, NULL },
	{ "record", CMD_RECORD, "-e UNIT|-k EVENTS [--] CMD [ARG]...",
	  "run a program and record what it does",
	  "With -k the kernel's events are recorded at full speed, of CMD, --pid or, with -a, of\n"
	  "all: by the kernel module hwtrace (not as root: those of own tasks only), or where it\n"
	  "is not loaded from the kernel's tracepoints (tracefs, as root), which is said.\n"
	  "With -e intel_pt or -e cs_etm trace of the hardware is recorded, by perf's drivers in\n"
	  "the kernel; with -k as well both are in one capture, on one clock. If only one of them\n"
	  "can be had here, that is said, and the other one is recorded. What is recorded with -e\n"
	  "was proven with recordings of others and by simulation, not on hardware: \"hwtrace\n"
	  "doctor\" tells what this machine has.\n"
	  "With --snapshot nothing is written before it is asked for.\n"
	  "With -e model (or --model) a software trace unit follows CMD, its threads and its\n"
	  "children by single steps and writes what trace hardware would have sent: Intel PT on\n"
	  "x86-64, ETMv4 on arm64, user code only, one trace buffer for each thread. It works on\n"
	  "any machine and as any user, many thousand times slower than the program: take the\n"
	  "interesting part out with --from and --to. All commands read the capture, which is\n"
	  "marked as simulated. Its times are those of the stepping: they give the order of\n"
	  "events, not how long functions take. As root, events of the machine's kernel\n"
	  "(interrupts, wakeups, system calls) are recorded on the same clock.\n"
	  "Everything runs on one CPU. Ctrl-C ends the recording and keeps it, as SIGTERM, SIGHUP\n"
	  "and SIGQUIT do; a second one changes nothing. The program gets the signal too if it is\n"
	  "of the same terminal, and goes on as it likes. If hwtrace\n"
	  "is killed, a program that it steps is killed with it; one of -k or --pid goes on.\n"
	  "A step would undo that a program ignores SIGTRAP: while it does, it is not stepped,\n"
	  "nor while one waits that it blocks. That is said, and all else that it does with\n"
	  "SIGTRAP goes on as ever. What it begins to do outside of all windows, late (after 4096\n"
	  "system calls), is lost at the next --from.",
	  { { "hwtrace record -e model -- ls -l", "a whole program, to ls.hwt, by single steps" },
	    { "hwtrace record -e model --from parse --to render ./app", "a part of it" },
	    { "hwtrace record -e intel_pt/cyc/u -k 'sched.*' -- ./app",
	      "by hardware, and when it ran" },
	    { "hwtrace record -k 'sched.*,irq.*' -a --time 5", "the machine, five seconds" },
	    { "hwtrace record -k '*' -a --snapshot-on 'sched.exit where prio < 100'",
	      "what came before the end of a task of real time" } },
	  cmd_record, record_output },
	{ "list-events", CMD_EVENTS, "[EVENT]...", "kernel events, and who can record them here",
	  "Shows the virtual events and which providers of this machine can give them to record:\n"
	  "the kernel module hwtrace, or the kernel's own tracepoints (tracefs). With EVENT, a\n"
	  "name or a pattern, or with -v, also the tracepoints that an event comes from, why it\n"
	  "is not here, its behaviour, and its fields with type and unit. The device of the\n"
	  "module is opened, and an instance of the tracer made and taken away.",
	  { { "hwtrace list-events", "all, a line each" },
	    { "hwtrace list-events 'sched.*'", "in full" },
	    { "hwtrace list-events 'dirty:kmem:*'", "other tracepoints of this kernel" },
	    { "hwtrace list-events --json", "for a program" } },
	  cmd_list_events, NULL },
	{ "doctor", CMD_DOCTOR, "[DIR]", "what this machine can record, and why not more",
	  "Looks for Intel PT, CoreSight, the kernel module, tracefs, perf, single steps, the\n"
	  "counter and the kernel's code, and says of each whether this user can record with it,\n"
	  "why not, what works nevertheless, and what to do: a package, an option, a permission\n"
	  "or a boot parameter. Only files that the kernel keeps are read, nothing is switched\n"
	  "on, and no register of a trace unit is touched. With DIR a copy of another machine's\n"
	  "/proc, /sys and /lib/modules is looked at; the more of these files, the more is said.\n"
	  "What is said of hardware trace is what the kernel tells: only a recording shows it.",
	  { { "hwtrace doctor", "this machine and user" },
	    { "hwtrace doctor --json", "for a program" },
	    { "hwtrace doctor board/", "files of a board" } },
	  cmd_doctor, doctor_output },
	{ "export", CMD_EXPORT, "--to FORMAT FILE", "a capture as a file of another tool",
	  "With --to perf a perf.data file is written: trace of Intel PT, ETMv4 or ETE with the\n"
	  "maps of code, tasks and switches that belong to it, so that \"perf script\" and \"perf\n"
	  "report\" decode it, too. The last line says how to call perf.\n"
	  "Code is read by perf from files, at their recorded paths. Code that the capture\n"
	  "carries itself, that lies elsewhere (--sysroot, --elf) or that is the kernel's, gets a\n"
	  "place with --images DIR, which perf takes as --symfs DIR.\n"
	  "What a perf.data file can not hold is told on standard error: trace of other units,\n"
	  "kernel records that are no switches, causes of holes. A clock keeps its times, but not\n"
	  "its name. The file is written from its first byte to its last, so -o - may be a\n"
	  "pipe, but perf itself wants a file.",
	  { { "hwtrace export --to perf -o perf.data --images dir ls.hwt", "a native capture" },
	    { "hwtrace export --to perf -o perf.data snapshot/", "a snapshot of a board" } },
	  cmd_export, NULL },
	{ "latency", CMD_LATENCY, "FILE", "how long it takes from one point to another",
	  "Pairs each --from with the next --to of the same task (or request, or CPU: --key), and\n"
	  "shows how long that took: quantiles, a histogram, the longest with the command that\n"
	  "looks at them, and by task and CPU. A length is an interval where the instants are\n"
	  "only known within bounds; every true length lies in what is printed. A pair that\n"
	  "touches a hole (~) may have another end and is counted apart. Where the kernel's\n"
	  "switches were recorded, the time is split into on CPU, preempted, blocked, woken but\n"
	  "not running yet (ready), and, where they were recorded, interrupts and softirqs.\n"
	  "Of the two longest waits of each of the longest pairs it says who woke the task, what\n"
	  "that one did meanwhile, and who woke that; or who had the CPU.\n"
	  "If only events of the kernel are named, no trace is decoded.",
	  { { "hwtrace latency --from syscall.enter:read perf.data", "system calls" },
	    { "hwtrace latency --from sched.wakeup ls.hwt", "from being woken to running" },
	    { "hwtrace latency --from parse --to main.c:120 ls.hwt", "a function to a line" } },
	  cmd_latency, latency_output },
	{ "why", CMD_WHY, "FILE", "why one took longer than the others",
	  "Of all that ran from --from to --to in a task, the longest (--worst, or --call N as\n"
	  "latency numbers them) is held against a typical one: the middle of those that took\n"
	  "the most frequent path, where rounds of a loop count as one. The difference of their\n"
	  "times is split into parts that add up to it, each an interval that holds the true\n"
	  "amount: times off its CPU, interrupts, faults, holes, instructions that only one\n"
	  "of them ran (extra path, missing path), the same instructions slower (same path),\n"
	  "and what nothing tells (rest). What touches a hole is not ranked, as its length is not\n"
	  "certain: it is told apart, and can be asked for with --call. A call inside another\n"
	  "one of the same function is part of that. Decodes twice.",
	  { { "hwtrace why --from parse perf.data", "the longest call of a function" },
	    { "hwtrace why --from parse --worst 2 perf.data", "the second longest" },
	    { "hwtrace why --from syscall.enter:read --call 271 ls.hwt", "one of latency's" } },
	  cmd_why, why_output },
	{ "help", CMD_HELP, "[TOPIC]",
	  "help for a command, an error id or a topic",
	  "TOPIC is a command, an error id such as E031 (what it means, what to try), or one of:\n"
	  "times (how they print and are given), holes (their causes), errors (all ids), events\n"
	  "(the virtual events), a section of them such as sched, or an event such as\n"
	  "sched.switch. With --abi-check the events that a script names are looked up.",
	  { { "hwtrace help list", "a command" }, { "hwtrace help E014", "an error id" },
	    { "hwtrace help sched.switch", "an event: behaviour and fields" } },
	  cmd_help, NULL },
	{ "version", CMD_VERSION, "", "version of the tool and its libraries",
	  "Prints the version; with --build also those of the decoder libraries in use.",
	  { { "hwtrace version", "the version" },
	    { "hwtrace version --build", "for a bug report" } },
	  cmd_version, NULL },
	{ "completion", CMD_COMPLETION, "bash|zsh|fish", "shell completion script",
	  "Prints a completion script for the shell.",
	  { { "hwtrace completion bash > ~/.local/share/bash-completion/completions/hwtrace",
	      "install for one user" },
	    { "source <(hwtrace completion bash)", "for this shell" } },
	  cmd_completion, NULL },
};

#define NCMDS (sizeof(cmds) / sizeof(cmds[0]))

const char *const cmd_exit_codes[] = {
	"0    did its work; holes are named on the quality line",
	"1    check found something, the recorded program failed, or doctor found no way to record",
	"2    wrong usage",
	"3    input, or a file of it, can not be read, is cut, or has no trace for the command",
	"4    trace or kernel events lost with --strict, trace above --max-loss; recorded in part",
	"5    the output can not be written, or the system does not permit recording",
	"130  interrupted; whole lines are left",
	NULL
};

const struct cmd *cmd_at(unsigned i)
{
	return i < NCMDS ? &cmds[i] : NULL;
}

const struct cmd *cmd_find(const char *name)
{
	for (unsigned i = 0; i < NCMDS; i++)
		if (!strcmp(cmds[i].name, name))
			return &cmds[i];
	return NULL;
}

static int unknown_command(const char *word)
{
	const char *near = NULL;
	unsigned best = 3;
	char hint[PATH_MAX + 16];

	for (unsigned i = 0; i < NCMDS; i++)
		if (opt_distance(cmds[i].name, word) < best) {
			best = opt_distance(cmds[i].name, word);
			near = cmds[i].name;
		}
	if (!access(word, F_OK))	/* who gives a capture alone wants to know what it is */
		snprintf(hint, sizeof(hint), "hwtrace info %s", word);
	else
		snprintf(hint, sizeof(hint), "hwtrace %s", near ? near : "help");
	say(hint, "\"%s\" is no command", word);
	return EXIT_USAGE;
}

static int usage(struct run *r, const char *cmd)
{
	char hint[64];

	snprintf(hint, sizeof(hint), "hwtrace help%s%s", cmd ? " " : "", cmd ? cmd : "");
	say(r->opts.hint ? r->opts.hint : hint, "%s", r->opts.err);
	opt_free(&r->opts);
	return EXIT_USAGE;
}

/* The maintainer's mode: "man [COMMAND]" and "events" write the committed files. */
static int generate(struct run *r, int argc, char **argv)
{
	const struct cmd *c = argc > 2 ? cmd_find(argv[2]) : NULL;

	bool events = argc == 2 && !strcmp(argv[1], "events");

	if (!events && (argc < 2 || strcmp(argv[1], "man") || (argc > 2 && !c))) {
		say(NULL, "generate man [COMMAND], or generate events");
		return EXIT_USAGE;
	}
	out_init(r->out, STDOUT_FILENO);
	if (events)
		events_man(r->out);
	else
		gen_man(r->out, c);
	return out_close(r->out) < 0 ? EXIT_OUTPUT : 0;
}

static int overview(struct run *r)
{
	static const struct cmd self = { .name = "help", .bit = CMD_HELP };
	int rc;

	r->cmd = &self;
	rc = run_output(r);
	if (!rc)
		help_overview(r->out);
	return run_finish(r, rc);
}

int main(int argc, char **argv)
{
	static struct out out;
	static struct run r = { .out = &out, .time_hi = HWT_TIME_UNKNOWN };
	int n, rc;

	sig_init(&r);
	if (argc > 1 && !strcmp(argv[1], "--version"))
		argv[1] = "version";	/* what everyone tries first */
	n = opt_parse(&r.opts, 0, argc, argv);
	if (n < 0)
		return usage(&r, NULL);
	if (n == argc)
		return overview(&r);
	argc -= n;
	argv += n;
	if (!strcmp(argv[0], "generate"))
		return generate(&r, argc, argv);
	r.cmd = cmd_find(argv[0]);
	if (!r.cmd)
		return unknown_command(argv[0]);
	if (opt_parse(&r.opts, r.cmd->bit, argc, argv) < 0)
		return usage(&r, r.cmd->name);
	if (r.opts.help) {
		rc = run_output(&r);
		if (!rc)
			help_cmd(r.out, r.cmd);
	} else {
		rc = r.cmd->run(&r);
	}
	return run_finish(&r, rc);
}
