/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What every reading command does around its loop: open, select, progress, quality, exit code.
 * Longer than other files: all of it shares the state of one run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli.h"

#define E_NO_TRACE	49

static struct out err_out = { .fd = STDERR_FILENO };

void say(const char *hint, const char *fmt, ...)
{
	char text[1024];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	out_str(&err_out, "hwtrace: ");
	out_safe(&err_out, text);
	out_nl(&err_out);
	if (hint) {
		out_str(&err_out, "try: ");
		out_safe(&err_out, hint);
		out_nl(&err_out);
	}
	out_flush(&err_out);
}

static void diag_line(const struct hwt_diag *d, int rc, const char *file, uint32_t count)
{
	struct out *e = &err_out;

	out_str(e, "hwtrace: ");
	if (d->file[0] || (file && *file)) {
		out_safe(e, d->file[0] ? d->file : file);
		if (d->off != HWT_NO_OFF) {
			out_str(e, "+0x");
			out_hex(e, d->off, 1);
		}
		out_str(e, ": ");
	}
	out_safe(e, d->text[0] ? d->text : hwt_strerror(rc));
	if (count > 1)
		out_fmt(e, " (%u times)", count);
	if (d->id)
		out_fmt(e, " [E%03u]", d->id);
	out_nl(e);
}

static void hint_line(unsigned id)
{
	const struct hwt_error_info *info = hwt_error_info(id);

	if (!info)
		return;
	out_fmt(&err_out, "try: %s", info->hint);
	out_nl(&err_out);
}

void say_diag(const struct hwt_diag *d, int rc, const char *file)
{
	diag_line(d, rc, file, 1);
	hint_line(d->id);
	out_flush(&err_out);
}

/* Starts the pager; its input becomes our standard output. */
static void start_pager(struct run *r)
{
	const char *pager = getenv("PAGER");
	int fd[2];
	pid_t pid;

	if (pager && (!*pager || !strcmp(pager, "cat")))
		return;
	if (pipe(fd) < 0)
		return;
	pid = fork();
	if (pid == 0) {
		dup2(fd[0], STDIN_FILENO);
		close(fd[0]);
		close(fd[1]);
		setenv("LESS", "FRX", 0);
		if (pager)
			execl("/bin/sh", "sh", "-c", pager, (char *)NULL);
		else
			execlp("less", "less", "-FRX", (char *)NULL);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	if (pid > 0) {
		dup2(fd[1], STDOUT_FILENO);
		r->pager = pid;
	}
	close(fd[0]);
	close(fd[1]);
}

static bool is_file(const char *path, const struct stat *st)
{
	struct stat in;

	return path && !stat(path, &in) && in.st_dev == st->st_dev && in.st_ino == st->st_ino;
}

/* True if @path lies in the directory @dir, or below. */
static bool lies_in(const char *path, const char *dir)
{
	char *p = realpath(path, NULL), *d = realpath(dir, NULL);
	size_t n = d ? strlen(d) : 0;
	bool in = p && d && !strncmp(p, d, n) && p[n] == '/';

	free(p);
	free(d);
	return in;
}

/*
 * True if @fd, a file at @path that may be overwritten, is one of those that are read: named, open,
 * or, as not all stay open, anything in the directory that is the input.
 */
static bool is_input(const struct run *r, const char *path, int fd)
{
	const struct hwt_open_opts *o = &r->opts.open;
	char name[32];
	struct stat st;

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if ((r->opts.nargs && is_file(r->opts.args[0], &st)) || is_file(o->config, &st) ||
	    is_file(o->kcore, &st) || is_file(o->kallsyms, &st))
		return true;
	for (size_t i = 0; i < o->nelfs; i++)
		if (is_file(o->elfs[i].path, &st))
			return true;
	/* descriptors are given out from the lowest */
	for (int i = 0; i < fd; i++) {
		snprintf(name, sizeof(name), "/proc/self/fd/%d", i);
		if (i != STDOUT_FILENO && i != STDERR_FILENO && is_file(name, &st))
			return true;
	}
	return st.st_size && r->opts.nargs && lies_in(path, r->opts.args[0]);
}

static int open_output(struct run *r, const char *path)
{
	int flags = O_WRONLY | O_CREAT | O_CLOEXEC;
	struct stat out;
	int fd;

	/* a device or a pipe is not overwritten */
	if (!r->opts.force && (stat(path, &out) < 0 || S_ISREG(out.st_mode)))
		flags |= O_EXCL;
	fd = open(path, flags, 0666);
	if (fd < 0) {
		if (errno == EEXIST) {
			say("another name, or -f to overwrite it", "%s: %s", path,
			    strerror(errno));
			return EXIT_USAGE;
		}
		say("a name in a directory that exists and may be written",
		    "%s: output can not be made: %s", path, strerror(errno));
		return EXIT_OUTPUT;
	}
	if (is_input(r, path, fd)) {
		close(fd);
		say("another name", "%s: is the input, or part of it", path);
		return EXIT_USAGE;
	}
	if (fstat(fd, &out) == 0 && S_ISREG(out.st_mode) && ftruncate(fd, 0) < 0) {
		say(NULL, "%s: output can not be emptied: %s", path, strerror(errno));
		close(fd);
		return EXIT_OUTPUT;
	}
	out_init(r->out, fd);
	r->out->owned = true;
	return 0;
}

int run_output(struct run *r)
{
	struct opts *o = &r->opts;
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
	bool file = o->output && strcmp(o->output, "-");
	bool tty = !file && isatty(STDOUT_FILENO);
	bool dumb = !term || !strcmp(term, "dumb");
	const struct opt_def *d;
	bool pages = false;

	out_init(r->out, STDOUT_FILENO);
	run_has_output = 1;
	if (file) {
		int rc = open_output(r, o->output);

		if (rc)
			return rc;
	}
	for (unsigned i = 0; (d = opt_at(i)); i++)
		if (!strcmp(d->name, "pager"))
			pages = d->cmds & r->cmd->bit;
	if (tty && pages && !o->no_pager && !dumb)
		start_pager(r);
	if (o->format == OPT_TEXT)
		r->out->color = o->color == OPT_COLOR_ALWAYS ||
			(o->color == OPT_COLOR_AUTO && tty && !dumb && !(no && *no));
	/* lines that scroll by are progress enough */
	r->progress = !o->quiet && isatty(STDERR_FILENO) && !r->pager &&
		(!tty || r->cmd->bit == CMD_CHECK || o->summary);
	return 0;
}

/* A mistyped directory would look like one where nothing is found. */
static bool dirs_there(const struct hwt_open_opts *o)
{
	const struct { const char *option, *dir; } v[] = {
		{ "sysroot", o->sysroot }, { "perf-map", o->perf_map_dir },
		{ "debuginfod-cache", o->debuginfod_cache },
	};
	struct stat st;

	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++) {
		if (!v[i].dir || (!stat(v[i].dir, &st) && S_ISDIR(st.st_mode)))
			continue;
		say("check the path", "--%s %s: there is no such directory", v[i].option, v[i].dir);
		return false;
	}
	return true;
}

int run_open(struct run *r)
{
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	bool between = r->cmd->bit == CMD_BETWEEN;	/* two events behind the input */
	struct hwt_buf_info b;
	int rc;

	if (r->cmd->bit & CMD_PAIRS && r->opts.nargs == 1 && !r->opts.pairs.from) {
		say("hwtrace calls --summary FILE, which lists functions; \"hwtrace help events\" "
		    "lists events", "%s: where does time begin? --from POINT", r->cmd->name);
		return EXIT_USAGE;
	}
	if (r->opts.nargs != (between ? 3 : 1)) {
		char hint[64];

		snprintf(hint, sizeof(hint), "hwtrace help %s", r->cmd->name);
		say(hint, !r->opts.nargs ? "%s: no input is named" : between ?
		    "%s: takes an input and two events" : "%s: one input at a time",
		    r->cmd->name);
		return EXIT_USAGE;
	}
	if (!dirs_there(&r->opts.open))
		return EXIT_INPUT;
	r->opts.open.size = sizeof(r->opts.open);
	rc = hwt_session_open(&r->session, r->opts.args[0], &r->opts.open, &diag);
	if (rc < 0) {
		say_diag(&diag, rc, r->opts.args[0]);
		return EXIT_INPUT;
	}
	show_init(&r->show, r->out, r->session, r->opts.abs);
	r->show.ns = r->opts.ns;
	r->show.verbose = r->opts.verbose;
	r->show.lines = r->opts.lines;
	clock_gettime(CLOCK_MONOTONIC, &r->start);
	rc = run_select(r);
	if (rc)
		return rc;
	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (run_buf(r, i, &b))
			r->total += b.size;
	rc = run_output(r);
	if (rc)
		return rc;
	if (r->opts.format != OPT_TEXT) {
		jsonl_init(&r->json, r->out, r->opts.format == OPT_JSON);
		jsonl_header(&r->json, r->session);
	}
	return 0;
}

static bool cpu_wanted(const struct run *r, int32_t cpu)
{
	for (size_t k = 0; k < r->opts.ncpus; k++)
		if (r->opts.cpus[k] == cpu)
			return true;
	return !r->opts.ncpus || cpu == HWT_NONE;
}

bool run_buf(struct run *r, size_t i, struct hwt_buf_info *b)
{
	struct hwt_src_info src;
	bool any = false;
	size_t k;

	if (hwt_session_buf(r->session, i, b) < 0 || !cpu_wanted(r, b->cpu))
		return false;
	/* units of several CPUs share a buffer */
	for (k = 0; b->cpu == HWT_NONE && hwt_session_src(r->session, i, k, &src); k++)
		any = any || cpu_wanted(r, src.cpu);
	return any || !k;
}

/* Trace that is there, or that is known to be lost. */
static bool has_trace(const struct run *r)
{
	struct hwt_buf_info b;

	for (size_t i = 0; i < hwt_session_bufs(r->session); i++)
		if (!hwt_session_buf(r->session, i, &b) && (b.size || b.lost || b.nspans))
			return true;
	return false;
}

bool run_kernel_only(const struct run *r)
{
	struct hwt_capture_info info;

	hwt_session_info(r->session, &info);
	return info.nevents && !has_trace(r);
}

bool run_trace(struct run *r, bool needed)
{
	const struct hwt_error_info *e = hwt_error_info(E_NO_TRACE);
	struct hwt_capture_info info;
	char hint[512];

	if (has_trace(r))
		return true;
	hwt_session_info(r->session, &info);
	snprintf(hint, sizeof(hint), "hwtrace timeline %.300s, which shows them; latency and why "
		 "--from EVENT take them, too", r->opts.args[0]);
	out_flush(r->out);
	say(info.nevents ? hint : e->hint, "%s: no hardware trace for %s in it, %s%llu kernel "
	    "event%s [E%03u]", r->opts.args[0], r->cmd->name, info.nevents ? "only " : "and ",
	    (unsigned long long)info.nevents, out_s(info.nevents), E_NO_TRACE);
	r->traceless = true;
	if (needed && !r->failed)
		r->failed = EXIT_INPUT;
	return false;
}

struct hwt_stream *run_flow(struct run *r, size_t i, enum hwt_level level, bool unfolded)
{
	const struct hwt_interest want = {
		.level = level, .addrs = r->addrs, .naddrs = r->naddrs,
		.time_lo = r->time_lo, .time_hi = r->time_hi,
		.cpus = r->opts.cpus, .ncpus = r->opts.ncpus,
		.tids = r->opts.tids, .ntids = r->opts.ntids, .resync = r->opts.resync,
		.unfolded = unfolded,
	};
	struct hwt_diag diag = { .off = HWT_NO_OFF };
	struct hwt_stream *st = NULL;
	struct hwt_buf_info b;
	int rc = hwt_session_flow(r->session, i, &want, &st, &diag);

	if (rc >= 0)
		return st;
	out_flush(r->out);
	say_diag(&diag, rc, r->opts.args[0]);
	if (!r->failed)
		r->failed = EXIT_INPUT;
	/* none of it could be decoded */
	if (!hwt_session_buf(r->session, i, &b)) {
		r->sum.bytes_in += b.size;
		r->sum.bytes_skipped += b.size;
		r->sum.gaps++;
		r->decoded = true;
	}
	return NULL;
}

static uint64_t elapsed_ms(const struct timespec *a, const struct timespec *b)
{
	return (uint64_t)((b->tv_sec - a->tv_sec) * 1000 + (b->tv_nsec - a->tv_nsec) / 1000000);
}

/* Of a flow stream, or of all in a timeline. */
static void stats_of(const struct hwt_stream *st, struct hwt_flow_stats *s)
{
	struct hwt_timeline_stats t;

	hwt_timeline_stats(st, &t);
	if (t.inputs)
		*s = t.flow;
	else
		hwt_flow_stats(st, s);
}

static void draw(struct run *r, const struct hwt_stream *st)
{
	struct hwt_flow_stats s = { 0 };
	struct timespec now;
	uint64_t ms, done;

	clock_gettime(CLOCK_MONOTONIC, &now);
	ms = elapsed_ms(&r->start, &now);
	if (ms < 500 || (r->drawn && elapsed_ms(&r->last, &now) < 200))
		return;
	r->last = now;
	r->drawn = true;
	if (st)
		stats_of(st, &s);
	done = s.bytes_decoded + s.bytes_skipped;
	/* a backend may count only what it has finished */
	done = r->before + (r->pos > done ? r->pos : done);
	if (done > r->total)
		done = r->total;
	fprintf(stderr, "\rdecoding %.0f %%  %.3g MB/s",
		r->total ? (double)done * 100 / (double)r->total : 0,
		(double)done / 1000 / (double)ms);
	if (done)
		fprintf(stderr, "  eta %.0f s", (double)(r->total - done) * (double)ms / 1000 /
			(double)done);
	fputs("\033[K", stderr);
}

bool run_tick(struct run *r, const struct hwt_stream *st, uint64_t off)
{
	if (off != HWT_NO_OFF && off > r->pos)
		r->pos = off;
	if (r->progress)
		draw(r, st);
	return !run_interrupted && !r->out->err;
}

void run_count(struct run *r, const struct hwt_stream *st)
{
	struct hwt_timeline_stats t;
	struct hwt_flow_stats s;

	stats_of(st, &s);
	hwt_timeline_stats(st, &t);
	r->anchors += t.anchors;
	r->calls += t.anchors + t.unanchored;
	r->committed += t.committed;
	r->switched += t.switches;
	r->switches += t.switches + t.unswitched;
	r->commits += t.committed + t.uncommitted;
	r->marked += t.marks;
	r->dark += t.dark;
	r->marks += t.marks + t.unmarked;
	r->contradictions += t.contradictions;
	r->decoded = true;
	r->before += s.bytes_in;
	r->pos = 0;
	hwt_flow_stats_add(&r->sum, &s);
}

void run_done(struct run *r, struct hwt_stream *st)
{
	run_count(r, st);
	hwt_stream_close(st);
}

bool run_line(struct run *r)
{
	if (r->opts.limit && r->lines == r->opts.limit)
		r->stopped = true;
	else
		r->lines++;
	return !r->stopped;
}

void run_error(struct run *r, int rc, const char *what)
{
	out_flush(r->out);
	say(NULL, "%s: %s: %s", r->opts.args[0], what, hwt_strerror(rc));
	if (!r->failed)
		r->failed = EXIT_INPUT;
}

/*
 * Which holes are judged: flow reads ahead of what is printed, and a selection leaves holes out, so
 * then those that were printed count.
 */
enum judged { JUDGED_ALL, JUDGED_SELECTED, JUDGED_SHOWN };
static enum judged judged(const struct run *r)
{
	bool prints = !r->opts.summary &&
		(r->cmd->bit & (CMD_LIST | CMD_CALLS | CMD_MERGES));

	if (prints && (r->stopped || run_interrupted))
		return JUDGED_SHOWN;
	return prints && (r->opts.have_time || r->opts.ntids || r->opts.ncpus || r->naddrs) ?
		JUDGED_SELECTED : JUDGED_ALL;
}

#define NOTES_SHOWN 3		/* of one id, without --verbose */
#define E_EVENTS_LOST 46

/*
 * What is told already, or only good to know, but for the reason why a command shows nothing at
 * all.
 */
static bool minor(const struct run *r, const struct hwt_note *n)
{
	bool reason = n->diag.id == E_NO_TRACE && r->cmd->bit != CMD_INFO &&
		!r->kernel_events && !r->lines && !r->traceless;

	/* why the exit code is 3 is told in any case */
	if (r->noted && n->severity == HWT_NOTE_WARN)
		return true;
	/* of lines that were not asked for; those that are lost among the shown ones are shown */
	if (n->diag.id == E_EVENTS_LOST && judged(r) == JUDGED_SHOWN && !r->kernel_holes &&
	    !r->opts.verbose)
		return true;
	return n->severity == HWT_NOTE_INFO && !r->opts.verbose && !reason;
}

/* A fact of the capture, "" if it has none of this name. */
static const char *fact(const struct run *r, const char *name)
{
	const char *key, *value;

	for (size_t i = 0; (key = hwt_session_fact(r->session, i, &value)); i++)
		if (!strcmp(key, name))
			return value;
	return "";
}

/* What the recorder of this capture needs so that fewer events are lost. */
static void lost_hint(const struct run *r)
{
	static const struct { const char *format, *hint; } v[] = {
		{ "perf.data", "perf record -m 16M, a larger buffer of events, or fewer events" },
		{ "ctf", "lttng enable-channel --subbuf-size=4M --num-subbuf=8, or fewer events" },
		{ "ftrace", "trace-cmd record -b 16384 (KiB for each CPU), or fewer events" },
	};
	struct hwt_capture_info info;

	hwt_session_info(r->session, &info);
	for (size_t i = 0; i < sizeof(v) / sizeof(v[0]); i++)
		if (!strcmp(info.format, v[i].format)) {
			out_fmt(&err_out, "try: %s\n", v[i].hint);
			return;
		}
	if (strcmp(info.format, "native"))
		hint_line(E_EVENTS_LOST);
	else if (!strcmp(fact(r, "recorder"), "model"))
		out_str(&err_out, "try: a narrower --from, or --no-kernel\n");
	else
		out_str(&err_out, "try: hwtrace record --size 32 (MiB for each CPU), fewer events, "
			"or conditions for them (--filter)\n");
}

/* Prints the notes of one id from the @first on. */
static void print_notes_of(struct run *r, size_t first)
{
	const struct hwt_note *n = hwt_session_note(r->session, first);
	unsigned id = n->diag.id, shown = 0, more = 0;

	for (size_t i = first; (n = hwt_session_note(r->session, i)); i++) {
		if (n->diag.id != id || minor(r, n))
			continue;
		if (shown < NOTES_SHOWN || r->opts.verbose) {
			diag_line(&n->diag, n->diag.code, NULL, n->count);
			shown++;
		} else {
			more += n->count;
		}
	}
	if (more) {
		out_fmt(&err_out, "hwtrace: and %u more like this", more);
		if (id)
			out_fmt(&err_out, " [E%03u]", id);
		out_str(&err_out, " (-v shows all)");
		out_nl(&err_out);
	}
	if (shown && id == E_EVENTS_LOST)
		lost_hint(r);
	else if (shown)
		hint_line(id);
}

/* Notes name the files of programs. The kernel is none, but often what is missing first. */
static void kernel_note(const struct run *r)
{
	struct hwt_diag d = { .off = HWT_NO_OFF, .id = 14 };
	const struct show *v = &r->show;

	/* a bare-metal system has such addresses, too */
	if (!v->kernel_holes || !hwt_session_task(r->session, 0, &(int32_t){ 0 }, &(int32_t){ 0 }))
		return;
	snprintf(d.text, sizeof(d.text), "kernel code is missing at %llx",
		 (unsigned long long)v->kernel_addr);
	diag_line(&d, 0, NULL, v->kernel_holes > UINT32_MAX ? UINT32_MAX :
		  (uint32_t)v->kernel_holes);
	out_str(&err_out, "try: name it with --kcore FILE, a copy of /proc/kcore of the machine "
		"and boot that was traced\n");
}

/* True if the input is cut inside a declared length. With @said, what is wrong is the command. */
static bool print_notes(struct run *r, bool said)
{
	const struct hwt_note *n;
	bool cut = false;

	for (size_t i = 0; (n = hwt_session_note(r->session, i)); i++) {
		size_t k = 0;

		cut = cut || n->severity == HWT_NOTE_CUT;
		while (k < i && hwt_session_note(r->session, k)->diag.id != n->diag.id)
			k++;
		if (k == i && !r->opts.quiet && !said)
			print_notes_of(r, i);
	}
	if (!r->opts.quiet && !said) {
		if (r->show.code_holes && !r->stopped && !run_interrupted &&
		    judged(r) == JUDGED_ALL)
			run_elf_notes(r);
		kernel_note(r);
	}
	out_flush(&err_out);
	return cut;
}

/* Bytes that are missing or say nothing, of all that were or should have been there. */
static bool too_lossy(const struct run *r)
{
	const struct hwt_flow_stats *s = &r->sum;
	bool all = judged(r) == JUDGED_ALL;
	uint64_t skipped = all ? s->bytes_skipped : r->show.skipped;
	uint64_t lost = all ? s->bytes_lost : r->show.lost;
	unsigned __int128 bad = (unsigned __int128)skipped + lost + (all ? s->bytes_blind : 0);
	unsigned __int128 of = (unsigned __int128)lost +
		(r->stopped ? s->bytes_decoded + skipped : s->bytes_in);

	if (r->opts.strict && ((all ? s->gaps : r->show.holes) || bad))
		return true;
	return r->opts.have_max_loss && bad * 100000 > of * r->opts.max_loss;
}

/* Events of the kernel that the recorder lost: of the capture, or of what was shown of it. */
static bool lost_events(const struct run *r)
{
	const struct hwt_note *n;

	if (r->cmd->bit == CMD_PACKETS)
		return false;
	if (judged(r) != JUDGED_ALL)
		return r->kernel_holes;
	for (size_t i = 0; (n = hwt_session_note(r->session, i)); i++)
		if (n->diag.id == E_EVENTS_LOST)
			return true;
	return r->kernel_holes;
}

/* In tenths of a percent, cut, so that 100.0 % means all. */
static unsigned permille(uint64_t part, uint64_t all)
{
	return all ? (unsigned)((unsigned __int128)part * 1000 / all) : 1000;
}

static void percent(struct out *o, const char *what, unsigned pm)
{
	out_fmt(o, "%s %u.%u %%", what, pm / 10, pm % 10);
}

/*
 * A capture of a software trace unit says so, and whose times it has if it went by single steps.
 * One of ours that lost its description may be such a one.
 */
static void told_model(const struct run *r, struct out *e)
{
	struct hwt_capture_info info;

	hwt_session_info(r->session, &info);
	if (!strcmp(info.format, "native") && !*fact(r, "recorder"))
		out_str(e, "; the recorder is not known, it may be simulation");
	if (strcmp(fact(r, "recorder"), "model"))
		return;
	out_str(e, "; simulation, no trace hardware was involved");
	if (!strncmp(fact(r, "method"), "single steps", 12))
		out_str(e, ", times are those of the stepping");
}

/* Of the kernel's events in a timeline. */
static void kernel_quality(const struct run *r, struct out *e)
{
	if (!(r->cmd->bit & CMD_TIMELINE))
		return;
	out_str(e, "; ");
	out_count(e, r->kernel_events, "kernel event");
	if (r->calls)
		out_fmt(e, ", %llu of %llu system calls tied to their record",
			(unsigned long long)r->anchors, (unsigned long long)r->calls);
	if (r->switches)
		out_fmt(e, ", %llu of %llu switches tied to their change of address space",
			(unsigned long long)r->switched, (unsigned long long)r->switches);
	if (r->commits)
		out_fmt(e, ", %llu of %llu places where the kernel wrote a record tied to it",
			(unsigned long long)r->committed, (unsigned long long)r->commits);
	if (r->marks)
		out_fmt(e, ", %llu of %llu marks tied to their record",
			(unsigned long long)r->marked, (unsigned long long)r->marks);
	if (r->dark) {
		out_str(e, ", times by ");
		out_count(e, r->dark, "record");
		out_str(e, " written while no program ran");
	}
	if (r->contradictions) {
		out_str(e, ", ");
		out_count(e, r->contradictions, "contradiction");
		out_str(e, " between trace and records");
	}
	if (!r->kernel_holes)
		return;
	out_str(e, ", ");
	if (r->kernel_lost)
		out_fmt(e, "at least %llu lost in ", (unsigned long long)r->kernel_lost);
	else
		out_str(e, "some lost in ");
	out_count(e, r->kernel_holes, "place");
}

static void holes_line(const struct run *r, enum judged j)
{
	const struct hwt_flow_stats *s = &r->sum;
	struct out *e = &err_out;

	out_count(e, j == JUDGED_ALL ? s->gaps : r->show.holes, "hole");
	out_str(e, " (");
	out_count(e, j == JUDGED_ALL ? s->bytes_skipped : r->show.skipped, "byte");
	out_fmt(e, " skipped, %llu lost)",
		(unsigned long long)(j == JUDGED_ALL ? s->bytes_lost : r->show.lost));
}

static void quality_line(struct run *r)
{
	const struct hwt_flow_stats *s = &r->sum;
	enum judged j = judged(r);
	struct out *e = &err_out;

	if (r->opts.quiet || !r->decoded)
		return;
	if (r->stopped || run_interrupted)
		out_fmt(e, "%s, %s ", run_interrupted ? "interrupted" : "stopped at --limit",
			j == JUDGED_ALL ? "so far decoded with" : "shown until here:");
	else if (!has_trace(r))
		out_str(e, "no hardware trace");
	else if (!s->bytes_in)
		out_str(e, r->trace_unread ? "trace not read, " : "no trace bytes, ");
	else {
		percent(e, "decoded", permille(s->bytes_decoded, s->bytes_in));
		out_fmt(e, " of %llu byte%s, ", (unsigned long long)s->bytes_in,
			out_s(s->bytes_in));
		if (s->bytes_blind) {
			percent(e, "flow known for",
				permille(s->bytes_decoded - s->bytes_blind, s->bytes_in));
			out_str(e, ", ");
		}
		out_str(e, j == JUDGED_ALL ? "" : "whatever is selected; shown: ");
	}
	if (has_trace(r) || j != JUDGED_ALL)
		holes_line(r, j);
	kernel_quality(r, e);
	told_model(r, e);
	out_nl(e);
	out_flush(e);
}

/* What ran is there, but hard to read: no symbols. */
static void names_hint(const struct run *r)
{
	if (!r->opts.quiet && r->show.nameless && !r->show.named)
		say("--elf FILE[@ADDR], the file with symbols of what was loaded; of a kernel "
		    "--kallsyms FILE (hwtrace help calls)",
		    "no function has a name: the code in this capture comes without symbols");
}

/* Marks that software wrote are no calls. */
static void marks_hint(const struct run *r)
{
	bool calls = r->cmd->bit == CMD_CALLS ||
		(r->cmd->bit == CMD_LIST && r->opts.level == OPT_LEVEL_EVENTS) ||
		(r->cmd->bit == CMD_TIMELINE && !r->trace_unread &&
		 (r->opts.detail == OPT_DETAIL_CALLS || r->opts.detail == OPT_DETAIL_EVENTS));
	size_t i = 0, k = 0, n = calls && !r->opts.quiet ? hwt_session_bufs(r->session) : 0;
	struct hwt_src_info s;

	while (i < n) {
		if (!hwt_session_src(r->session, i, k++, &s)) {
			i++;
			k = 0;
			continue;
		}
		if (s.proto != HWT_PROTO_STM)
			continue;
		say(r->cmd->bit == CMD_TIMELINE ? "hwtrace timeline --level range FILE" :
		    "hwtrace list FILE", "%s is a source of marks by software (STM), which stand "
		    "beside ranges and instructions only", s.name);
		break;
	}
}

/* Most of it tells nothing for want of code: what does tell something. */
static void blind_hint(const struct run *r)
{
	const struct hwt_flow_stats *s = &r->sum;
	struct hwt_capture_info info;
	bool maps = false;
	struct hwt_map m;
	struct out *e = &err_out;

	if (r->opts.quiet || !r->decoded || !r->show.code_holes || judged(r) != JUDGED_ALL ||
	    permille(s->bytes_decoded - s->bytes_blind, s->bytes_in) >= 500)
		return;
	for (size_t i = 0; !maps && hwt_image_map_at(r->show.image, i, &m); i++)
		maps = m.missing;
	hwt_session_info(r->session, &info);
	out_str(e, maps ? "try: hwtrace info " : "try: hwtrace list --level events ");
	out_safe(e, r->opts.args[0]);
	out_str(e, maps ? ", which lists the code that is missing" :
		", whose holes name the addresses without code");
	if (info.nevents)
		out_str(e, "; hwtrace timeline --filter '*' FILE has the kernel's events alone");
	out_nl(e);
	out_flush(e);
}

static void end_output(struct run *r)
{
	int rc = out_close(r->out);

	if (r->drawn)
		fputs("\r\033[K", stderr);
	if (r->pager) {
		close(STDOUT_FILENO);
		while (waitpid(r->pager, NULL, 0) < 0 && errno == EINTR)
			;
	}
	if (rc < 0 && rc != -EPIPE) {
		say(NULL, "%s: %s", r->opts.output ? r->opts.output : "standard output",
		    strerror(-rc));
		r->failed = EXIT_OUTPUT;
	}
}

int run_finish(struct run *r, int rc)
{
	bool cut = false;

	if (r->session && r->opts.format != OPT_TEXT && r->json.o)
		jsonl_fini(&r->json);
	end_output(r);
	if (r->session) {
		cut = print_notes(r, rc == EXIT_USAGE && !r->opts.verbose);
		quality_line(r);
		blind_hint(r);
		names_hint(r);
		marks_hint(r);
		if (run_interrupted)
			rc = EXIT_INTERRUPTED;
		else if (rc != EXIT_USAGE && (cut || r->failed))
			rc = r->failed ? r->failed : EXIT_INPUT;
		else if (rc != EXIT_USAGE && ((r->decoded && too_lossy(r)) ||
					      (r->opts.strict && lost_events(r))))
			rc = EXIT_LOSS;
		show_fini(&r->show);
	} else if (!rc) {
		rc = r->failed;
	}
	hwt_session_close(r->session);
	if (r->closing && !r->opts.quiet && !rc)
		say(r->closing_hint, "%s", r->closing);
	free(r->closing);
	free(r->closing_hint);
	free(r->addrs);
	opt_free(&r->opts);
	return rc;
}
