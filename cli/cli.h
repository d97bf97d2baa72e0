/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_CLI_H
#define CLI_CLI_H

/* What main.c, run.c and the commands share. */
#include <hwtrace/hwtrace.h>
#include <signal.h>
#include <time.h>

#include "opt.h"
#include "out/out.h"
#include "out/show.h"

enum exit_code {
	EXIT_OK = 0,
	EXIT_FINDINGS = 1,	/* check found something */
	EXIT_USAGE = 2,
	EXIT_INPUT = 3,		/* can not be opened, or is cut inside a declared length */
	EXIT_LOSS = 4,		/* loss with --strict or above --max-loss */
	EXIT_OUTPUT = 5,	/* output could not be written */
	EXIT_INTERRUPTED = 130
};

struct run;

struct cmd {
	const char *name;
	unsigned bit;		/* CMD_ bit of its options */
	const char *args;	/* "FILE" */
	const char *what;	/* one line */
	const char *text;	/* a paragraph or more, one line each */
	const char *examples[3][2];	/* command line, what it does */
	int (*run)(struct run *r);
	/* what a line or a column of its output means; ends with a NULL; NULL: nothing to tell */
	const char *const (*output)[2];
};

/* The @i-th command, NULL past the end; the command of that name, or NULL. */
const struct cmd *cmd_at(unsigned i);
const struct cmd *cmd_find(const char *name);
extern const char *const cmd_exit_codes[];	/* "0  text", NULL at the end */

/* One command being run. */
struct run {
	const struct cmd *cmd;
	struct opts opts;
	struct out *out;
	struct hwt_session *session;
	struct show show;
	struct jsonl json;
	struct hwt_flow_stats sum;	/* of the buffers read so far */
	struct hwt_addr_range *addrs;
	size_t naddrs;
	uint64_t time_lo, time_hi;	/* base ns */
	uint64_t lines;		/* counted against --limit */
	bool decoded;		/* a buffer was read: there is a quality line */
	bool stopped;		/* by --limit */
	int failed;		/* exit code of a buffer that could not be read, 0 */
	int pager;		/* process id, 0 */
	/* progress */
	bool progress, drawn;
	uint64_t total, before;	/* bytes of all buffers, of those done */
	uint64_t pos;		/* of the last event in the current buffer */
	struct timespec start, last;
};

/* Set by SIGINT and SIGTERM; before there is output they end the program. */
extern volatile sig_atomic_t run_interrupted, run_has_output;

void sig_init(struct run *r);

/* Output file, pager, colours. 0 or an exit code. */
int run_output(struct run *r);
/* Opens the input and checks the selection. 0 or an exit code; r->session may be set then. */
int run_open(struct run *r);
/* Checks the selection against the capture, names to addresses. 0 or an exit code. */
int run_select(struct run *r);
/* Whether a file of --elf stands for a recorded one, or the trace has addresses in it: a walk. */
bool run_elf_used(struct run *r, const char *path);
/* True if buffer @i is wanted; fills @b. */
bool run_buf(struct run *r, size_t i, struct hwt_buf_info *b);
/* Events of buffer @i, or NULL if it can not be read: that is said and remembered. */
struct hwt_stream *run_flow(struct run *r, size_t i, enum hwt_level level);
/*
 * Once a batch, @off is the place of its last event: draws the progress. False if the command
 * should stop.
 */
bool run_tick(struct run *r, const struct hwt_stream *st, uint64_t off);
/* Adds the stream's work to the sum; run_done() also closes it. */
void run_count(struct run *r, const struct hwt_stream *st);
void run_done(struct run *r, struct hwt_stream *st);
/* Adds a line to those counted; false at the limit. */
bool run_line(struct run *r);
/* Says that a stream ended with a negative code. */
void run_error(struct run *r, int rc, const char *what);
/* Notes, quality line; returns the exit code that @rc becomes. Closes everything. */
int run_finish(struct run *r, int rc);

/* "hwtrace: ..." on standard error, and "try: ..." if @hint is not NULL. */
void say(const char *hint, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void say_diag(const struct hwt_diag *d, int rc, const char *file);

void help_overview(struct out *o);
void help_cmd(struct out *o, const struct cmd *c);
/* Table of functions. NULL without memory; 0 or -ENOMEM. Printing sorts it, and ends counting. */
struct functions;
struct functions *functions_new(void);
int functions_count(struct functions *t, struct run *r, const struct hwt_call *c);
/* The instructions of a RANGE. */
int functions_range(struct functions *t, struct run *r, const struct hwt_event *ev);
void functions_print(struct functions *t, struct run *r);
void functions_free(struct functions *t);

/* Man pages and completions, see gen.c. 0 or an exit code. */
int gen_man(struct out *o, const struct cmd *c);	/* NULL: hwtrace(1) */
int gen_completion(struct out *o, const char *shell);

int cmd_info(struct run *r);
int cmd_packets(struct run *r);
int cmd_list(struct run *r);
int cmd_calls(struct run *r);
int cmd_check(struct run *r);
int cmd_help(struct run *r);
int cmd_version(struct run *r);
int cmd_completion(struct run *r);

#endif
