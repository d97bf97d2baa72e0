/* SPDX-License-Identifier: BSD-2-Clause */
#include "opt.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum {
	O_HELP, O_OUTPUT, O_FORCE, O_COLOR, O_PAGER, O_NO_PAGER, O_QUIET, O_VERBOSE, O_JSON,
	O_JSONL, O_AS, O_CONFIG, O_PT, O_CS, O_ELF, O_SYSROOT, O_KCORE, O_KALLSYMS, O_DEBUGINFOD,
	O_PERF_MAP, O_CPU, O_TID, O_TIME, O_SYM, O_LIMIT, O_ABS, O_NS, O_STRICT, O_MAX_LOSS,
	O_RESYNC, O_LEVEL, O_LINES, O_SUMMARY, O_INSNS, O_BUILD, O_COUNT
};

#define SELECTS	(CMD_PACKETS | CMD_LIST | CMD_CALLS)

static const struct opt_def defs[O_COUNT] = {
	[O_HELP] = { "help", 'h', NULL, NULL, CMD_ALL, "General", "show help and exit" },
	[O_OUTPUT] = { "output", 'o', "FILE", NULL, CMD_ALL, "Output",
		"write to FILE; - is standard output" },
	[O_FORCE] = { "force", 'f', NULL, NULL, CMD_ALL, "Output",
		"overwrite the file of -o if it exists" },
	[O_COLOR] = { "color", 'C', "WHEN", "auto always never", CMD_ALL, "Output",
		"use colours: auto (on a terminal, unless NO_COLOR is set), always, never" },
	[O_PAGER] = { "pager", 0, NULL, NULL, CMD_READS | CMD_HELP, "Output",
		"page the output on a terminal (PAGER, else less); the default" },
	[O_NO_PAGER] = { "no-pager", 0, NULL, NULL, CMD_READS | CMD_HELP, "Output",
		"do not page the output" },
	[O_QUIET] = { "quiet", 'q', NULL, NULL, CMD_ALL, "Output",
		"no progress, no warnings, no quality line; errors are still printed" },
	[O_VERBOSE] = { "verbose", 'v', NULL, NULL, CMD_ALL, "Output",
		"say more: all notes, maps, raw timestamps, input offsets" },
	[O_JSON] = { "json", 0, NULL, NULL, CMD_READS, "Output",
		"one JSON document, an array of the objects of --jsonl" },
	[O_JSONL] = { "jsonl", 0, NULL, NULL, CMD_READS, "Output",
		"one JSON object a line, see hwtrace-jsonl(5)" },
	[O_AS] = { "as", 0, "FORMAT", "perf snapshot lldb pt cs", CMD_READS, "Input",
		"format of the input instead of looking at its content: perf, snapshot, lldb, pt, "
		"cs" },
	[O_CONFIG] = { "config", 0, "FILE", NULL, CMD_READS, "Input",
		"\"key = value\" trace configuration of a raw dump, see hwtrace-raw(5)" },
	[O_PT] = { "pt", 0, "FILE", NULL, CMD_READS, "Input", "read a raw Intel PT dump" },
	[O_CS] = { "cs", 0, "FILE", NULL, CMD_READS, "Input", "read a raw CoreSight dump" },
	[O_ELF] = { "elf", 0, "FILE[@ADDR]", NULL, CMD_READS, "Code",
		"code that ran, with its load address; may be repeated" },
	[O_SYSROOT] = { "sysroot", 0, "DIR", NULL, CMD_READS, "Code",
		"directory searched first for mapped files: a recorded /usr/bin/ls is "
		"DIR/usr/bin/ls" },
	[O_KCORE] = { "kcore", 0, "FILE", NULL, CMD_READS, "Code", "copy of /proc/kcore" },
	[O_KALLSYMS] = { "kallsyms", 0, "FILE", NULL, CMD_READS, "Code",
		"copy of /proc/kallsyms, for kernel symbols" },
	[O_DEBUGINFOD] = { "debuginfod-cache", 0, "DIR", NULL, CMD_READS, "Code",
		"directory of a debuginfod client's cache; no network is used" },
	[O_PERF_MAP] = { "perf-map", 0, "DIR", NULL, CMD_READS, "Code",
		"directory of perf-PID.map files of JIT compilers" },
	[O_CPU] = { "cpu", 0, "LIST", NULL, CMD_READS, "Selection",
		"CPUs as 0,2-5; with slashes (6/79/1) the x86 family/model/stepping of a raw "
		"dump" },
	[O_TID] = { "tid", 0, "LIST", NULL, CMD_LIST | CMD_CALLS, "Selection",
		"threads or processes by id, as 12,34" },
	[O_TIME] = { "time", 0, "A..B", NULL, CMD_LIST | CMD_CALLS, "Selection",
		"window from A to B, each empty, a time since the start in seconds or with a unit "
		"(ns, us, ms, s), or a percentage (10%)" },
	[O_SYM] = { "sym", 0, "GLOB", NULL, CMD_LIST | CMD_CALLS, "Selection",
		"functions whose name matches GLOB; may be repeated" },
	[O_LIMIT] = { "limit", 0, "N", NULL, SELECTS, "Selection",
		"stop after N lines of output" },
	[O_ABS] = { "abs", 0, NULL, NULL, CMD_LIST | CMD_CALLS, "Output",
		"times of the base clock instead of since the start, also in --time" },
	[O_NS] = { "ns", 0, NULL, NULL, CMD_LIST | CMD_CALLS, "Output",
		"times as whole nanoseconds" },
	[O_STRICT] = { "strict", 0, NULL, NULL, CMD_PACKETS | CMD_DECODES, "Quality",
		"exit 4 if there is any hole; with --limit or a selection, among those shown" },
	[O_MAX_LOSS] = { "max-loss", 0, "PCT", NULL, CMD_PACKETS | CMD_DECODES, "Quality",
		"exit 4 if more than PCT percent of the trace bytes are skipped, lost, or say "
		"nothing because code is missing; an overflow has no known size (--strict for no "
		"hole at all)" },
	[O_RESYNC] = { "resync", 0, "WHERE", "psb packet", CMD_DECODES, "Quality",
		"where Intel PT goes on behind a hole: psb, the next synchronisation point "
		"(default); packet, the next packet that names known code, which shows more" },
	[O_LEVEL] = { "level", 0, "LEVEL", "insn range events", CMD_LIST, "Selection",
		"insn: each instruction (default); range: instructions in a row as one line; "
		"events: calls, returns and everything else, no instructions" },
	[O_LINES] = { "lines", 0, NULL, NULL, CMD_LIST, "Output",
		"add source file and line" },
	[O_SUMMARY] = { "summary", 0, NULL, NULL, CMD_CALLS, "Output",
		"a table of functions with counts instead of the tree" },
	[O_INSNS] = { "insns", 0, NULL, NULL, CMD_CALLS, "Output",
		"with --summary, the number of instructions that ran in each function, also in "
		"those that no call or return tells of; costs a second decoding" },
	[O_BUILD] = { "build", 0, NULL, NULL, CMD_VERSION, "Output",
		"also the versions of the decoder libraries" },
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
	case O_LINES: o->lines = true; break;
	case O_SUMMARY: o->summary = true; break;
	case O_INSNS: o->insns = true; break;
	case O_BUILD: o->build = true; break;
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

	if (!cmd)
		*s++ = '+';	/* stop at the command */
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
			if (defs[i].sh == c)
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
	free(o->syms);
	free(o->elfs);
	free(o->args);
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
	static const char *const groups[] = { "Input", "Code", "Selection", "Output", "Quality",
		"General" };

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
