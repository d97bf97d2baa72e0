/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OPT_H
#define CLI_OPT_H

/* Options: one table, from which parsing, --help, man pages and completions are made. */
#include <hwtrace/hwtrace.h>
#include <stdbool.h>

#include "out/out.h"

/* Commands an option belongs to. */
enum {
	CMD_INFO = 1 << 0, CMD_PACKETS = 1 << 1, CMD_LIST = 1 << 2, CMD_CALLS = 1 << 3,
	CMD_CHECK = 1 << 4, CMD_HELP = 1 << 5, CMD_VERSION = 1 << 6, CMD_COMPLETION = 1 << 7,
	CMD_RECORD = 1 << 8, CMD_EXPORT = 1 << 9, CMD_TIMELINE = 1 << 10, CMD_BETWEEN = 1 << 11,
	CMD_LATENCY = 1 << 12, CMD_WHY = 1 << 13, CMD_EVENTS = 1 << 14,
	CMD_DOCTOR = 1 << 15,
	CMD_PAIRS = CMD_LATENCY | CMD_WHY,
	CMD_MERGES = CMD_TIMELINE | CMD_BETWEEN,
	CMD_DECODES = CMD_LIST | CMD_CALLS | CMD_CHECK | CMD_MERGES |
		CMD_PAIRS,
	CMD_READS = CMD_INFO | CMD_PACKETS | CMD_DECODES,
	CMD_OPENS = CMD_READS | CMD_EXPORT,
	CMD_HERE = CMD_EVENTS | CMD_DOCTOR,
	CMD_PRINTS = CMD_READS | CMD_HERE | CMD_HELP | CMD_VERSION | CMD_COMPLETION,
	CMD_ALL = CMD_PRINTS | CMD_EXPORT | CMD_RECORD
};

struct opt_def {
	const char *name;
	char sh;		/* short form, 0: none */
	const char *arg;	/* name of the argument, NULL: none */
	const char *choices;	/* "a b c": the only values, NULL: any */
	unsigned cmds;		/* CMD_ bits */
	const char *group;	/* heading in help */
	const char *help;
};

/* The @i-th option, NULL past the end. */
const struct opt_def *opt_at(unsigned i);

enum opt_time_kind { OPT_TIME_OPEN, OPT_TIME_NS, OPT_TIME_PERCENT };
struct opt_time {
	uint8_t kind;		/* enum opt_time_kind */
	uint64_t v;		/* ns, or 1/1000 of a percent */
};

enum opt_format { OPT_TEXT, OPT_JSON, OPT_JSONL };
enum opt_color { OPT_COLOR_AUTO, OPT_COLOR_ALWAYS, OPT_COLOR_NEVER };
#define MTC_NONE	0xff

enum opt_level { OPT_LEVEL_INSN, OPT_LEVEL_RANGE, OPT_LEVEL_EVENTS };
enum opt_detail { OPT_DETAIL_CALLS, OPT_DETAIL_RANGE, OPT_DETAIL_INSN, OPT_DETAIL_EVENTS };

struct opts {
	bool help, quiet, verbose, pager, no_pager, force, abs, ns, strict, lines, summary, insns,
		build;
	uint8_t color;		/* enum opt_color */
	uint8_t format;		/* enum opt_format */
	uint8_t level;		/* enum opt_level */
	uint8_t detail;		/* enum opt_detail: --level of timeline */
	uint8_t resync;		/* enum hwt_resync */
	bool have_time, have_max_loss;
	bool have_detail;	/* --level of timeline is given */
	struct opt_time lo, hi;
	uint32_t max_loss;	/* 1/1000 of a percent */
	uint64_t limit;		/* 0: none */
	const char *output;
	const char *abi_check;
	const char *to, *images;	/* export */
	struct {
		const char *from, *to, *key;
		uint64_t worst, call;	/* 0: not given */
	} pairs;		/* latency, why */
	const char *filter;		/* of kernel events */
	/* strings are those of argv; arrays and cut-off names are owned */
	struct hwt_open_opts open;
	int32_t *cpus, *tids, *pids;
	size_t ncpus, ntids, npids;
	const char **syms;
	size_t nsyms;
	struct hwt_elf_arg *elfs;
	char **owned;
	size_t nowned;
	struct {
		bool model, no_kernel, cyc, no_retcomp, have_mtc;
		uint8_t mtc;		/* MTC_NONE: none */
		uint32_t ts_every;	/* as in struct hwt_record_opts */
		int32_t pid;		/* 0: none */
		const char *kernel;	/* events; NULL: no such recording */
		const char *trace;	/* unit and options; NULL: none */
		const char **places;	/* address filters; owned */
		size_t nplaces;
		uint64_t trace_size;	/* bytes, 0: not given */
		uint8_t via;		/* enum hwt_via */
		const char *filter, *trigger, *contexts;	/* NULL: none */
		bool all, snapshot;
		uint8_t provider;	/* enum hwt_provider + 1, 0: any */
		uint64_t time, size;	/* ns, bytes; 0: not given */
		uint64_t seed;
		struct hwt_window *windows;	/* owned */
		size_t nwindows;
	} record;
	char **args;		/* what is no option */
	int nargs;
	char err[256];		/* what is wrong, "" if nothing */
	const char *hint;	/* what to try instead, static; NULL: the command's help */
};

/*
 * Parses the options of command @cmd (a CMD_ bit; 0: those of all commands, up to the first word
 * that is no option). argv[0] is skipped; argv is reordered. Adds to @o, which starts as zeroes.
 * Returns the number of words used, or a negative value with o->err set.
 */
int opt_parse(struct opts *o, unsigned cmd, int argc, char **argv);
void opt_free(struct opts *o);

/* "1.5ms", "+20us", "10%", "%10", "": returns 0, or -EINVAL with a reason in @err. */
int opt_parse_time(struct opt_time *t, const char *s, size_t n, char *err, size_t size);
/* Number of edits between two words, for "did you mean"; words over 31 bytes are far. */
unsigned opt_distance(const char *a, const char *b);

/* Words of @s from column @col on, at most 80 columns, and a newline. */
void opt_wrap(struct out *o, const char *s, unsigned col);
/* The options of @cmd in groups, two columns. */
void opt_help(struct out *o, unsigned cmd);

#endif
