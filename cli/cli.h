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
	EXIT_LOSS = 4,		/* of trace or kernel events with --strict, or above --max-loss */
	EXIT_OUTPUT = 5,	/* output could not be written */
	EXIT_INTERRUPTED = 130
};

struct run;

#define EXAMPLES 5	/* of a command, at most */
struct cmd {
	const char *name;
	unsigned bit;		/* CMD_ bit of its options */
	const char *args;	/* "FILE" */
	const char *what;	/* one line */
	const char *text;	/* a paragraph or more, one line each */
	const char *examples[EXAMPLES][2];	/* command line, what it does */
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
	uint64_t kernel_events, kernel_holes, kernel_lost;	/* printed; places, events lost */
	bool trace_unread;	/* only kernel events were asked for */
	bool traceless;		/* that there is no trace was said */
	uint64_t anchors, calls;	/* system calls: tied to their record, all */
	uint64_t switched, switches;	/* to other address spaces: tied to the change, all */
	uint64_t marked, marks;		/* of programs: tied to their record, all that have one */
	uint64_t dark;		/* records written while no program ran, which times go by */
	uint64_t committed, commits;	/* runs of what writes records: tied to theirs, all */
	uint64_t contradictions;	/* between what ran and records */
	bool noted;		/* warnings are in the output and need not be told again */
	bool decoded;		/* a buffer was read: there is a quality line */
	bool stopped;		/* by --limit */
	int failed;		/* exit code of a buffer that could not be read, 0 */
	int pager;		/* process id, 0 */
	char *closing, *closing_hint;	/* last line and its "try:", owned; NULL: none */
	/* progress */
	bool progress, drawn;
	uint64_t total, before;	/* bytes of all buffers, of those done */
	uint64_t pos;		/* of the last event in the current buffer */
	struct timespec start, last;
};

/* Set by SIGINT and SIGTERM; before there is output they end the program. */
extern volatile sig_atomic_t run_interrupted, run_has_output;
/* Number of SIGUSR2, from sig_snapshots() on. */
extern volatile sig_atomic_t run_snapshots;

void sig_init(struct run *r);
/* Signals end a recording in good order, however often they come. NULL: sets run_interrupted. */
void sig_record(void (*handler)(int));
void sig_snapshots(void);

/* Output file, pager, colours. 0 or an exit code. */
int run_output(struct run *r);
/* Opens the input and checks the selection. 0 or an exit code; r->session may be set then. */
int run_open(struct run *r);
/* Checks the selection against the capture, names to addresses. 0 or an exit code. */
int run_select(struct run *r);
/* Whoever names code because a hint says so must hear if it is of no use; may cost a walk. */
void run_elf_notes(struct run *r);
/* True if buffer @i is wanted; fills @b. */
bool run_buf(struct run *r, size_t i, struct hwt_buf_info *b);
/*
 * True if there is trace to decode, in any buffer. Else what there is instead, and the command that
 * shows it, is said, and if it is @needed the run ends with EXIT_INPUT.
 */
bool run_trace(struct run *r, bool needed);
/* The capture has kernel events and no trace. */
bool run_kernel_only(const struct run *r);
/* Events of buffer @i, or NULL if it can not be read: that is said and remembered. */
struct hwt_stream *run_flow(struct run *r, size_t i, enum hwt_level level, bool unfolded);
/* A merged stream, or NULL if there is none: that, and what it lacks, is said and remembered. */
struct hwt_stream *run_timeline(struct run *r, struct hwt_timeline_opts *o);
/* Counts a kernel event of such a stream for the quality line. */
void run_kernel_count(struct run *r, const struct hwt_event *ev);
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
/* A request or text with one piece to escape for roff, as a whole line. */
void gen_line(struct out *o, const char *before, const char *text, const char *after);

/* Virtual events. Prints topic @word; only looks if @o is NULL. False if it is none. */
bool events_topic(struct out *o, const char *word);
void events_man(struct out *o);	/* hwtrace-events(7) */
int events_check(struct run *r);	/* help --abi-check */

/* Notes of the reader that are at least so severe, as JSON. */
void notes_json(struct run *r, unsigned least);

/* Clocks: how ticks become time, for info; the timestamps of buffer @i, true if some are wrong. */
void clock_row(struct run *r);
void clock_json(struct run *r);
bool clock_stamps(struct run *r, size_t i, uint64_t *count);
/* Trace with timestamps (@count), kernel events, and nothing that relates them, or these: true. */
bool clock_missing(struct run *r, uint64_t count);
/* What contradicts the contracts of kernel events (contract.c). True if there is any. */
bool contract_report(struct run *r);
/* A line that says what the recorder left out, if it did. */
void contract_left_out(struct run *r);

int cmd_info(struct run *r);
int cmd_packets(struct run *r);
int cmd_list(struct run *r);
int cmd_calls(struct run *r);
int cmd_check(struct run *r);
int cmd_record(struct run *r);
int cmd_list_events(struct run *r);
int cmd_doctor(struct run *r);
int cmd_export(struct run *r);
int cmd_timeline(struct run *r);
int cmd_latency(struct run *r);
int cmd_why(struct run *r);
int cmd_between(struct run *r);
int cmd_help(struct run *r);
int cmd_version(struct run *r);
int cmd_completion(struct run *r);

#endif
