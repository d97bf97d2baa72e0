/* SPDX-License-Identifier: BSD-2-Clause */
/* The command table, and the way from argv to a command. */
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
	{ "(still running), (trace ends inside)", "open at the end of the trace" },
	{ "--summary", "for each function: calls (entered), running (found running, not "
	  "entered), leaves (ends seen, of which unwound), lost (ends in a hole), open (at the "
	  "end), the largest depth. Over all rows, calls + running = leaves + lost + open. "
	  "Leaves above calls are of functions found running. Rows without a function come last" },
	{ "--sym", "only entries and ends of these functions, and holes; depth is the one in "
	  "the whole tree" },
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
	  "is needed. A packet that no manual defines is marked BAD with its bytes.",
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
	{ "check", CMD_CHECK, "FILE", "decode everything and account for every byte",
	  "Decodes all trace buffers and prints a ledger: for each buffer and cause how many\n"
	  "holes, bytes skipped and bytes lost, where the first one is and what to try. Bytes\n"
	  "in = decoded + skipped; lost bytes were never in the input. Exits 1 if there is any\n"
	  "hole or warning.",
	  { { "hwtrace check perf.data", "is this recording good?" },
	    { "hwtrace check -q --max-loss 0.1 perf.data", "in a script" } },
	  cmd_check, NULL },
	{ "help", CMD_HELP, "[TOPIC]",
	  "help for a command, an error id or a topic",
	  "TOPIC is a command, an error id such as E031 (what it means, what to try), or one of:\n"
	  "times (how they print and are given), holes (their causes), errors (all ids).",
	  { { "hwtrace help list", "a command" }, { "hwtrace help E014", "an error id" } },
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
	"1    check found something",
	"2    wrong usage",
	"3    input can not be read, or is cut inside a declared length (what was readable is "
		"shown)",
	"4    loss with --strict or above --max-loss",
	"5    the output can not be written",
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
	char hint[64];

	for (unsigned i = 0; i < NCMDS; i++)
		if (opt_distance(cmds[i].name, word) < best) {
			best = opt_distance(cmds[i].name, word);
			near = cmds[i].name;
		}
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

/* The maintainer's mode: "man [COMMAND]" and "completion SHELL" write the committed files. */
static int generate(struct run *r, int argc, char **argv)
{
	const struct cmd *c = argc > 2 ? cmd_find(argv[2]) : NULL;

	if (argc < 2 || strcmp(argv[1], "man") || (argc > 2 && !c)) {
		say(NULL, "generate man [COMMAND]");
		return EXIT_USAGE;
	}
	out_init(r->out, STDOUT_FILENO);
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
