/* SPDX-License-Identifier: BSD-2-Clause */
/* help, version, completion: what the tool says about itself. */
#include <stdlib.h>

#include "cli.h"

void help_overview(struct out *o)
{
	const struct cmd *c;

	out_fmt(o, "hwtrace %s - hardware trace to exact control flow, every hole named\n\n",
		hwt_version());
	for (unsigned i = 0; (c = cmd_at(i)); i++) {
		o->line = o->flushed + o->n;
		out_fmt(o, "  hwtrace %s %s", c->name, c->args);
		out_tab(o, 34);
		out_str(o, c->what);
		out_nl(o);
	}
	out_str(o, "\nFILE is a native capture, a perf.data file, an OpenCSD or DS-5 snapshot "
		"directory,\nan LLDB trace bundle, a raw dump with --pt FILE or --cs FILE, or, "
		"with events of the\nkernel only, a trace.dat file or a CTF trace (LTTng).\n"
		"First steps: hwtrace info FILE, then hwtrace check FILE, then hwtrace list "
		"FILE.\nMore: hwtrace help times, holes, errors or events.\n");
}

static void lines(struct out *o, const char *s, const char *indent)
{
	while (*s) {
		size_t n = strcspn(s, "\n");

		out_str(o, indent);
		out_mem(o, s, n);
		out_nl(o);
		s += n + (s[n] == '\n');
	}
}

void help_cmd(struct out *o, const struct cmd *c)
{
	out_fmt(o, "usage: hwtrace %s [OPTION]... %s\n\n", c->name, c->args);
	lines(o, c->text, "");
	opt_help(o, c->bit);
	for (unsigned i = 0; c->output && c->output[i][0]; i++) {
		out_fmt(o, "%s  %s\n", i ? "" : "\nOutput lines:\n", c->output[i][0]);
		o->line = o->flushed + o->n;
		out_tab(o, 6);
		opt_wrap(o, c->output[i][1], 6);
	}
	out_str(o, "\nExamples:\n");
	for (unsigned i = 0; i < EXAMPLES && c->examples[i][0]; i++)
		out_fmt(o, "  %s\n      %s\n", c->examples[i][0], c->examples[i][1]);
	out_str(o, "\nExit codes:\n");
	for (unsigned i = 0; cmd_exit_codes[i]; i++)
		out_fmt(o, "  %s\n", cmd_exit_codes[i]);
}

/* "E031", "e31", "31" */
static const struct hwt_error_info *error_of(const char *word)
{
	const char *num = word + (*word == 'E' || *word == 'e');
	char *end;
	unsigned long id;

	if (*num < '0' || *num > '9')
		return NULL;
	id = strtoul(num, &end, 10);
	return *end || id > UINT16_MAX ? NULL : hwt_error_info((unsigned)id);
}

static void help_errors(struct out *o)
{
	const struct hwt_error_info *e;

	for (unsigned i = 0; (e = hwt_error_at(i)); i++)
		out_fmt(o, "E%03u  %s\n", e->id, e->name);
}

static const char times_text[] =
	"A time is an interval, printed as its earliest instant and its length:\n"
	"\n"
	"  4.640984842+177357   from 4.640984842 s on, at most 177357 ns later\n"
	"  4.640984842          exactly then\n"
	"  4.641162199+?        not before; no later bound is known\n"
	"  -                    nothing is known\n"
	"  +24656 cs+344        ticks of the CoreSight timestamp (cs) or of the TSC (tsc)\n"
	"\n"
	"Seconds count from the start of the capture, which \"hwtrace info\" shows; --abs\n"
	"counts from the zero of the base clock, --ns prints whole nanoseconds. Ticks are of a\n"
	"clock whose frequency is not known. They count from its first value in the capture\n"
	"(--abs: from its zero) and can not be turned into seconds: neither --ns nor --time\n"
	"apply to them.\n"
	"\n"
	"--time A..B takes seconds, a number with unit (ns, us, ms, s), or a percentage of the\n"
	"time from the first instant of the trace to its last (the recording may be longer);\n"
	"either end may be empty: 4.64..4.641, 10ms..12.5ms, 90%.. An event is shown if it may\n"
	"have happened in the window; trace events without time are always shown.\n"
	"\n"
	"A hole begins at the last time known before it, and its length reaches to the next one.\n"
	"Of two events, one is before the other only if their intervals do not overlap.\n"
	"\n"
	"In a capture of \"record --model\" all times are those of the single steps, not of the\n"
	"program: a step takes many thousand times longer than an instruction, and system\n"
	"calls do not. They tell the order of events, not how long a function takes.\n";

static const char holes_text[] =
	"A hole is a place where it is not known what ran. Nothing is shown across it as if\n"
	"it were continuous. \"skipped\" are bytes of the trace that tell nothing, \"lost\" are\n"
	"bytes that never were in the input. \"hwtrace help E014\" tells what to try.\n"
	"\n";

static void help_holes(struct out *o)
{
	out_str(o, holes_text);
	for (unsigned c = HWT_GAP_NONE + 1; c < HWT_GAP_CAUSES; c++) {
		const struct hwt_error_info *e = hwt_error_info(hwt_gap_error(c));

		if (e)
			out_fmt(o, "%s (E%03u)\n    %s\n", hwt_gap_name(c), e->id, e->cause);
	}
}

/* False if @word is no topic. */
static bool help_topic(struct out *o, const char *word, bool print)
{
	if (!strcmp(word, "errors")) {
		if (print)
			help_errors(o);
	} else if (!strcmp(word, "times")) {
		if (print)
			out_str(o, times_text);
	} else if (!strcmp(word, "holes")) {
		if (print)
			help_holes(o);
	} else {
		return events_topic(print ? o : NULL, word);
	}
	return true;
}

int cmd_help(struct run *r)
{
	const char *word = r->opts.nargs ? r->opts.args[0] : NULL;
	const struct hwt_error_info *e;
	const struct cmd *c;
	int rc;

	if (r->opts.nargs > 1 || (word && r->opts.abi_check)) {
		say("hwtrace help", "help: one word at a time");
		return EXIT_USAGE;
	}
	if (r->opts.abi_check)
		return events_check(r);
	e = word ? error_of(word) : NULL;
	c = word ? cmd_find(word) : NULL;
	if (word && !e && !c && !help_topic(NULL, word, false)) {
		say("hwtrace help, or hwtrace help errors",
		    "\"%s\" is no command, topic, event or error id", word);
		return EXIT_USAGE;
	}
	rc = run_output(r);
	if (rc)
		return rc;
	if (c)
		help_cmd(r->out, c);
	else if (e)
		out_fmt(r->out, "E%03u: %s\n\ncause: %s\ntry:   %s\n", e->id, e->name, e->cause,
			e->hint);
	else if (word)
		help_topic(r->out, word, true);
	else
		help_overview(r->out);
	return 0;
}

int cmd_version(struct run *r)
{
	const char *b;
	int rc = r->opts.nargs ? EXIT_USAGE : run_output(r);

	if (r->opts.nargs)
		say("hwtrace version --build", "version: takes no file");
	if (rc)
		return rc;
	out_fmt(r->out, "hwtrace %s\n", hwt_version());
	for (unsigned i = 0; r->opts.build && (b = hwt_backend(i)); i++)
		out_fmt(r->out, "%s\n", b);
	return 0;
}

int cmd_completion(struct run *r)
{
	int rc;

	if (r->opts.nargs != 1) {
		say("hwtrace completion bash", "completion: name a shell: bash, zsh or fish");
		return EXIT_USAGE;
	}
	rc = run_output(r);
	return rc ? rc : gen_completion(r->out, r->opts.args[0]);
}
