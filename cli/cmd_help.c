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
	out_str(o, "\nFILE is a perf.data file, an OpenCSD or DS-5 snapshot directory, an LLDB "
		"trace bundle,\nor a raw dump with --pt FILE or --cs FILE.\n"
		"First steps: hwtrace info FILE, then hwtrace check FILE, then hwtrace list "
		"FILE.\n");
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
	out_str(o, "\nExamples:\n");
	for (unsigned i = 0; i < 3 && c->examples[i][0]; i++)
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

int cmd_help(struct run *r)
{
	const char *word = r->opts.nargs ? r->opts.args[0] : NULL;
	const struct hwt_error_info *e;
	const struct cmd *c;
	int rc;

	if (r->opts.nargs > 1) {
		say("hwtrace help", "help: one word at a time");
		return EXIT_USAGE;
	}
	e = word ? error_of(word) : NULL;
	c = word ? cmd_find(word) : NULL;
	if (word && !e && !c && strcmp(word, "errors")) {
		say("hwtrace help, or hwtrace help errors",
		    "\"%s\" is no command and no error id", word);
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
		help_errors(r->out);
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
