/* SPDX-License-Identifier: BSD-2-Clause */
/* Man pages and shell completions from the tables of commands and options. */
#include "cli.h"

static const struct opt_def *next_opt(unsigned *i, unsigned cmd)
{
	const struct opt_def *d;

	while ((d = opt_at((*i)++)))
		if (d->cmds & cmd)
			return d;
	return NULL;
}

/* Text for roff: a dash stays a dash, no line begins with a control character. */
static void roff(struct out *o, const char *s)
{
	bool begin = o->flushed + o->n == o->line;

	for (; *s; s++) {
		if (begin && (*s == '.' || *s == '\''))
			out_str(o, "\\&");
		if (*s == '\n') {
			out_nl(o);
			begin = true;
			continue;
		}
		if (*s == '\\')
			out_str(o, "\\e");
		else if (*s == '-')
			out_str(o, "\\-");
		else if (*s == '"' && begin)
			out_str(o, "\\(dq");
		else
			out_ch(o, *s);
		begin = false;
	}
}

void gen_line(struct out *o, const char *before, const char *text, const char *after)
{
	out_str(o, before);
	if (*before)
		o->line = 0;	/* not at the beginning */
	else
		o->line = o->flushed + o->n;
	roff(o, text);
	out_str(o, after);
	out_nl(o);
}

static void man_options(struct out *o, unsigned cmd)
{
	const struct opt_def *d;

	gen_line(o, ".SH ", "OPTIONS", "");
	for (unsigned i = 0; (d = next_opt(&i, cmd));) {
		out_str(o, ".TP\n");
		if (d->sh)
			out_fmt(o, "\\fB\\-%c\\fR, ", d->sh);
		out_str(o, "\\fB\\-\\-");
		o->line = 0;
		roff(o, d->name);
		out_str(o, "\\fR");
		if (d->arg) {
			out_str(o, " \\fI");
			roff(o, d->arg);
			out_str(o, "\\fR");
		}
		out_nl(o);
		gen_line(o, "", d->help, "");
	}
}

static void man_exit(struct out *o)
{
	out_str(o, ".SH EXIT STATUS\n");
	for (unsigned i = 0; cmd_exit_codes[i]; i++) {
		size_t n = strcspn(cmd_exit_codes[i], " ");

		out_str(o, ".TP\n.B ");
		out_mem(o, cmd_exit_codes[i], n);
		out_nl(o);
		n += strspn(cmd_exit_codes[i] + n, " ");
		gen_line(o, "", cmd_exit_codes[i] + n, "");
	}
}

static void man_command(struct out *o, const struct cmd *c)
{
	out_fmt(o, ".TH HWTRACE-%s 1 \"\" \"hwtrace %s\" \"hwtrace manual\"\n", c->name,
		HWT_VERSION);
	out_str(o, ".SH NAME\n");
	out_fmt(o, "hwtrace\\-%s \\- ", c->name);
	gen_line(o, "", c->what, "");
	out_fmt(o, ".SH SYNOPSIS\n.B hwtrace %s\n.RI [ option ]...\n", c->name);
	gen_line(o, "", c->args, "");
	out_str(o, ".SH DESCRIPTION\n");
	gen_line(o, "", c->text, "");
	man_options(o, c->bit);
	for (unsigned i = 0; c->output && c->output[i][0]; i++) {
		out_str(o, i ? ".TP\n" : ".SH OUTPUT\n.TP\n");
		gen_line(o, ".B ", c->output[i][0], "");
		gen_line(o, "", c->output[i][1], "");
	}
	out_str(o, ".SH EXAMPLES\n");
	for (unsigned i = 0; i < EXAMPLES && c->examples[i][0]; i++) {
		out_str(o, ".TP\n");
		gen_line(o, ".B ", c->examples[i][0], "");
		gen_line(o, "", c->examples[i][1], "");
	}
	man_exit(o);
	out_str(o, ".SH SEE ALSO\n.BR hwtrace (1),\n.BR hwtrace\\-jsonl (5),\n"
		".BR hwtrace\\-raw (5),\n.BR hwtrace\\-capture (5)\n");
}

static void man_main(struct out *o)
{
	static const char *const env[][2] = {
		{ "NO_COLOR", "If set and not empty, no colours unless \\-C always is given." },
		{ "PAGER", "Program that pages output on a terminal; \"cat\" or empty for none." },
		{ "LESS", "Options of less; FRX if not set." },
	};
	const struct cmd *c;

	out_fmt(o, ".TH HWTRACE 1 \"\" \"hwtrace %s\" \"hwtrace manual\"\n", HWT_VERSION);
	out_str(o, ".SH NAME\nhwtrace \\- hardware trace to exact control flow\n"
		".SH SYNOPSIS\n.B hwtrace\n.I command\n.RI [ option ]...\n.RI [ file ]\n"
		".SH DESCRIPTION\n"
		"Decodes Intel Processor Trace and Arm CoreSight trace. What is missing in the\n"
		"trace is named, never shown as if it were continuous: every hole has a cause, an\n"
		"offset and an error id that\n.B hwtrace help\nexplains.\n.PP\n"
		"The input is a perf.data file, an OpenCSD or DS\\-5 snapshot directory, an LLDB\n"
		"trace bundle, a native capture, or a raw dump given with\n"
		".B \\-\\-pt\nor\n.BR \\-\\-cs ;\n"
		"or, with events of the kernel only, a trace.dat file or a CTF 1.8 trace of LTTng\n"
		"or others.\n"
		"A single dash is standard input.\n.PP\n"
		"Every command that decodes ends with a quality line on standard error. It tells\n"
		"the part of the trace bytes that was decoded, and the holes.\n"
		".SH COMMANDS\n");
	for (unsigned i = 0; (c = cmd_at(i)); i++) {
		out_fmt(o, ".TP\n.BR hwtrace\\-%s (1)\n", c->name);
		gen_line(o, "", c->what, "");
	}
	man_exit(o);
	out_str(o, ".SH ENVIRONMENT\n");
	for (size_t i = 0; i < sizeof(env) / sizeof(env[0]); i++)
		out_fmt(o, ".TP\n.B %s\n%s\n", env[i][0], env[i][1]);
	out_str(o, ".SH SEE ALSO\n.BR hwtrace\\-jsonl (5),\n.BR hwtrace\\-raw (5),\n"
		".BR hwtrace\\-capture (5),\n.BR hwtrace\\-events (7)\n");
}

int gen_man(struct out *o, const struct cmd *c)
{
	out_str(o, ".\\\" SPDX-License-Identifier: BSD-2-Clause\n"
		".\\\" made from the tables of the tool: hwtrace generate man");
	if (c)
		out_fmt(o, " %s", c->name);
	out_nl(o);
	if (c)
		man_command(o, c);
	else
		man_main(o);
	return 0;
}

/* "FILE": a path, "DIR": a directory; what else is no file name. */
static bool takes(const struct opt_def *d, const char *what)
{
	return d->arg && !strncmp(d->arg, what, strlen(what));
}

static void bash(struct out *o)
{
	const struct opt_def *d;
	const struct cmd *c;

	out_str(o, "# SPDX-License-Identifier: BSD-2-Clause\n"
		"# made from the tables of the tool: hwtrace completion bash\n"
		"# shellcheck shell=bash disable=SC2207\n_hwtrace()\n{\n"
		"\tlocal cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} cmd='' i\n"
		"\tCOMPREPLY=()\n"
		"\tfor ((i = 1; i < COMP_CWORD; i++)); do\n"
		"\t\tcase ${COMP_WORDS[i]} in\n\t\t");
	for (unsigned i = 0; (c = cmd_at(i)); i++)
		out_fmt(o, "%s%s", i ? "|" : "", c->name);
	out_str(o, ") cmd=${COMP_WORDS[i]}; break ;;\n\t\tesac\n\tdone\n\tcase $prev in\n");
	for (unsigned i = 0; (d = next_opt(&i, CMD_ALL));) {
		if (!d->arg)
			continue;
		out_fmt(o, "\t--%s", d->name);
		if (d->sh)
			out_fmt(o, "|-%c", d->sh);
		if (d->choices)
			out_fmt(o, ") COMPREPLY=($(compgen -W \"%s\" -- \"$cur\")); return ;;\n",
				d->choices);
		else
			out_fmt(o, ") %s return ;;\n", takes(d, "FILE") ?
				"COMPREPLY=($(compgen -f -- \"$cur\"));" : takes(d, "DIR") ?
				"COMPREPLY=($(compgen -d -- \"$cur\"));" : "");
	}
	out_str(o, "\tesac\n\tcase $cmd:$cur in\n");
	for (unsigned k = 0; (c = cmd_at(k)); k++) {
		out_fmt(o, "\t%s:-*) COMPREPLY=($(compgen -W \"", c->name);
		for (unsigned i = 0; (d = next_opt(&i, c->bit));)
			out_fmt(o, "--%s ", d->name);
		out_str(o, "\" -- \"$cur\")) ;;\n");
	}
	out_str(o, "\t:*|help:*) COMPREPLY=($(compgen -W \"");
	for (unsigned i = 0; (c = cmd_at(i)); i++)
		out_fmt(o, "%s ", c->name);
	out_str(o, "times holes errors events \" -- \"$cur\")) ;;\n"
		"\tcompletion:*) COMPREPLY=($(compgen -W \"bash zsh fish\" -- \"$cur\")) ;;\n"
		"\tversion:*) ;;\n"
		"\t*) COMPREPLY=($(compgen -f -- \"$cur\")) ;;\n"
		"\tesac\n}\ncomplete -o filenames -F _hwtrace hwtrace\n");
}

/* Help inside '...[...]': quotes, brackets and colons have a meaning there. */
static void zsh_text(struct out *o, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'')
			out_str(o, "'\\''");
		else if (*s == '[' || *s == ']' || *s == ':')
			out_ch(o, '\\'), out_ch(o, *s);
		else
			out_ch(o, *s);
	}
}

static void zsh_option(struct out *o, const struct opt_def *d)
{
	if (d->sh)
		out_fmt(o, "\t\t\t'(-%c --%s)'{-%c%s,--%s%s}'[", d->sh, d->name, d->sh,
			d->arg ? "+" : "", d->name, d->arg ? "=" : "");
	else
		out_fmt(o, "\t\t\t'%s--%s%s[", d->arg && strstr(d->help, "repeated") ? "*" : "",
			d->name, d->arg ? "=" : "");
	zsh_text(o, d->help);
	out_ch(o, ']');
	if (d->choices)
		out_fmt(o, ":%s:(%s)", d->arg, d->choices);
	else if (takes(d, "FILE"))
		out_str(o, ":file:_files");
	else if (takes(d, "DIR"))
		out_str(o, ":directory:_files -/");
	else if (d->arg)
		out_fmt(o, ":%s:", d->arg);
	out_str(o, "' \\\n");
}

static void zsh(struct out *o)
{
	const struct opt_def *d;
	const struct cmd *c;

	out_str(o, "#compdef hwtrace\n# SPDX-License-Identifier: BSD-2-Clause\n"
		"# made from the tables of the tool: hwtrace completion zsh\n\n_hwtrace()\n{\n"
		"\tlocal context state state_descr line\n\ttypeset -A opt_args\n"
		"\tlocal -a commands\n\tcommands=(\n");
	for (unsigned i = 0; (c = cmd_at(i)); i++)
		out_fmt(o, "\t\t'%s:%s'\n", c->name, c->what);
	out_str(o, "\t)\n\t_arguments -C '1:command:->command' '*::argument:->argument'\n"
		"\tif [[ $state == command ]]; then\n"
		"\t\t_describe command commands\n\t\treturn\n\tfi\n\tcase $line[1] in\n");
	for (unsigned k = 0; (c = cmd_at(k)); k++) {
		out_fmt(o, "\t%s)\n\t\t_arguments \\\n", c->name);
		for (unsigned i = 0; (d = next_opt(&i, c->bit));)
			zsh_option(o, d);
		if (c->bit == CMD_COMPLETION)
			out_str(o, "\t\t\t'1:shell:(bash zsh fish)'\n\t\t;;\n");
		else if (c->bit == CMD_HELP)
			out_str(o, "\t\t\t'1:command:_describe command commands'\n\t\t;;\n");
		else
			out_str(o, "\t\t\t'*:file:_files'\n\t\t;;\n");
	}
	out_str(o, "\tesac\n}\n\n_hwtrace \"$@\"\n");
}

/* Inside '...' fish knows \' and \\ only. */
static void fish_text(struct out *o, const char *s)
{
	for (; *s; s++) {
		if (*s == '\'' || *s == '\\')
			out_ch(o, '\\');
		out_ch(o, *s);
	}
}

static void fish(struct out *o)
{
	const struct opt_def *d;
	const struct cmd *c;

	out_str(o, "# SPDX-License-Identifier: BSD-2-Clause\n"
		"# made from the tables of the tool: hwtrace completion fish\n");
	for (unsigned i = 0; (c = cmd_at(i)); i++) {
		out_fmt(o, "complete -c hwtrace -n __fish_use_subcommand -f -a %s -d '", c->name);
		fish_text(o, c->what);
		out_str(o, "'\n");
	}
	for (unsigned k = 0; (c = cmd_at(k)); k++)
		for (unsigned i = 0; (d = next_opt(&i, c->bit));) {
			out_fmt(o, "complete -c hwtrace -n '__fish_seen_subcommand_from %s' -l %s",
				c->name, d->name);
			if (d->sh)
				out_fmt(o, " -s %c", d->sh);
			if (d->choices)
				out_fmt(o, " -x -a '%s'", d->choices);
			else if (takes(d, "FILE") || takes(d, "DIR"))
				out_str(o, " -r -F");
			else if (d->arg)
				out_str(o, " -x");
			out_str(o, " -d '");
			fish_text(o, d->help);
			out_str(o, "'\n");
		}
	out_str(o, "complete -c hwtrace -n '__fish_seen_subcommand_from completion' -f "
		"-a 'bash zsh fish'\n");
}

int gen_completion(struct out *o, const char *shell)
{
	if (!strcmp(shell, "bash"))
		bash(o);
	else if (!strcmp(shell, "zsh"))
		zsh(o);
	else if (!strcmp(shell, "fish"))
		fish(o);
	else {
		say("hwtrace completion bash", "\"%s\" is no shell known here: bash, zsh, fish",
		    shell);
		return EXIT_USAGE;
	}
	return 0;
}
