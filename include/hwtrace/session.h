/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_SESSION_H
#define HWTRACE_SESSION_H

/*
 * A capture, opened: what is in it, its trace buffers, and streams of packets and events from
 * them.
 */
#include <hwtrace/decode.h>
#include <hwtrace/err.h>
#include <hwtrace/image.h>
#include <hwtrace/packet.h>
#include <hwtrace/stream.h>

struct hwt_session;

/* A file that the user names as code. */
struct hwt_elf_arg {
	const char *path;
	/* load address (of its lowest segment), or HWT_NO_ADDR: as linked */
	uint64_t addr;
};

/* All strings are borrowed for the call only. Zero is the default of each field. */
struct hwt_open_opts {
	size_t size;			/* sizeof(struct hwt_open_opts) */
	/* "perf", "snapshot", "lldb", "native", "ctf", "ftrace", "pt", "cs"; NULL: found from the
	   content */
	const char *as;
	const char *config;		/* "key=value" file for raw dumps */
	const char *cpu;		/* x86 "family/model[/stepping]" for raw PT */
	const char *sysroot;		/* directory searched first for mapped files */
	const struct hwt_elf_arg *elfs;
	size_t nelfs;
	const char *kcore, *kallsyms;	/* kernel image and symbols */
	/* directory laid out as debuginfod's client cache, NULL: not used */
	const char *debuginfod_cache;
	/* directory of perf-PID.map files, NULL: /tmp is not read */
	const char *perf_map_dir;
};

/*
 * Opens @path (a file, a directory, "-" for standard input) and reads all its small data.
 * 0, or a negative code with @diag filled and *@out untouched. A damaged capture opens as far
 * as it can be read; what is wrong is in the notes.
 */
int hwt_session_open(struct hwt_session **out, const char *path, const struct hwt_open_opts *opts,
		     struct hwt_diag *diag);
void hwt_session_close(struct hwt_session *s);		/* NULL is fine */

/* What the user should know about the input and that is not a hole in the trace. */
enum hwt_severity { HWT_NOTE_INFO, HWT_NOTE_WARN,
	HWT_NOTE_CUT /* input is cut inside a declared length: exit 3 */ };
struct hwt_note {
	struct hwt_diag diag;
	uint8_t severity;	/* enum hwt_severity */
	uint32_t count;		/* times seen; text and place are of the first */
};
/* The @i-th note, or NULL past the end; lives as long as the session. */
const struct hwt_note *hwt_session_note(const struct hwt_session *s, size_t i);

struct hwt_capture_info {
	const char *format;	/* "perf.data", "snapshot", ... */
	const char *path;
	uint64_t size;		/* bytes of trace and container together */
	/* base ns of the first timed thing, HWT_TIME_UNKNOWN if there is none */
	uint64_t time_start;
	const char *clock;	/* name of the base clock, "" if there is none */
	const char *arch;	/* "x86_64", "aarch64", "arm", "" */
	const char *host, *release, *cmdline, *cpu;	/* "" if not known */
	uint64_t nevents;	/* kernel-side records read */
	size_t nbufs, nmaps, ntasks;
};
void hwt_session_info(const struct hwt_session *s, struct hwt_capture_info *out);

/* How ticks become base ns. */
enum hwt_clock_map {
	HWT_MAP_NONE,		/* they do not: times are ticks */
	HWT_MAP_EXACT,		/* by the conversion that the capture states */
	HWT_MAP_FITTED,		/* within bounds, from pairs of readings */
	/*
	 * All times are of one counter: base ns are its ticks at its mean rate by @base, begun
	 * where @base was. So times are exact to each other; from @base they may be off.
	 */
	HWT_MAP_COUNTER
};
struct hwt_clock_info {
	uint8_t how;		/* enum hwt_clock_map */
	uint8_t counter, base;	/* enum hwt_clock; HWT_CLOCK_BASE: not known */
	uint32_t drift_ppb;	/* FITTED: allowed for, parts in 10^9 */
	uint64_t pairs;		/* readings of both clocks in the capture */
	/* EXACT: ns that the worst of them is off; COUNTER: ns that times may be from @base */
	uint64_t pairs_off;
	uint64_t width_mid;	/* FITTED: ns between the bounds halfway between pairs, median */
	uint64_t width_max;	/* and at most */
	uint64_t steps;		/* of the base clock against the counter */
	uint32_t rate_ppb;	/* COUNTER: its mean rate is known to, parts in 10^9 */
};
/* The timestamps that a trace unit sent. */
struct hwt_stamps {
	const char *name;	/* of the unit, as in hwt_src_info */
	uint8_t clock;		/* enum hwt_clock */
	uint8_t trace_id;
	uint8_t bits;		/* they have so many, and wrap */
	int32_t cpu;		/* HWT_NONE if not known */
	uint64_t count;
	uint64_t zero;		/* are 0 */
	uint64_t first, last;	/* ticks */
	uint64_t changes;	/* differ from the one before */
	uint64_t back;		/* are before one that came earlier in this span */
	uint64_t back_off;	/* offset of the first of these in the buffer */
	uint64_t back_by;	/* ticks, the most */
};
/*
 * Those of the sources of buffer @i, in the order of hwt_session_src(): all packets are read. How
 * many were filled, at most @max; or -EINVAL, -ENOMEM.
 */
int hwt_session_stamps(struct hwt_session *s, size_t i, struct hwt_stamps *v, size_t max);
/* Where the capture states no conversion all trace may be read for it, once. */
void hwt_session_clock(struct hwt_session *s, struct hwt_clock_info *out);

/*
 * The "key = value" facts that a reader kept for "info" (trace configuration, features). NULL key
 * past the end.
 */
const char *hwt_session_fact(const struct hwt_session *s, size_t i, const char **value);

/* Whose events of the kernel were recorded, where that is not all. */
enum hwt_scope_bit {
	HWT_SCOPE_TASKS	= 1 << 0,	/* those of some tasks */
	HWT_SCOPE_EVENTS = 1 << 1,	/* those of a kind that a filter let through */
	/*
	 * of TASKS: only what was told while one of them ran, so not that another task woke one of
	 * them or made room for it
	 */
	HWT_SCOPE_INSIDE = 1 << 2,
	HWT_SCOPE_FORKS	= 1 << 3,	/* of TASKS: what one of them forks belongs to them */
	/* of TASKS: not stated; switches of one CPU do not join, and nothing says they were lost */
	HWT_SCOPE_GUESSED = 1 << 4,
	HWT_SCOPE_STATED = 1 << 5	/* the capture says so: without TASKS it is of all tasks */
};
struct hwt_scope {
	unsigned bits;	/* enum hwt_scope_bit; 0: nothing says that it is not of all tasks */
	int32_t pid;	/* TASKS: the process that they are of, HWT_NONE if not told */
};
/* As the capture states it: a guess is made by who reads its events (<hwtrace/latency.h>). */
void hwt_session_scope(const struct hwt_session *s, struct hwt_scope *out);

struct hwt_buf_info {
	const char *name;	/* "cpu 3", "ETB_0" */
	const char *file;	/* file that holds the bytes */
	uint8_t  proto;		/* enum hwt_proto; NONE if several */
	uint8_t  nsources;	/* CoreSight trace ids configured */
	uint8_t  formatted;	/* 1: CoreSight 16-byte frames, 2: with frame sync words (TPIU) */
	int32_t  cpu, pid, tid;	/* HWT_NONE if not known or several */
	uint64_t size;		/* trace bytes present */
	uint64_t lost;		/* bytes that the recorder declared and that are not there */
	size_t   nspans;	/* contiguous runs */
};
size_t hwt_session_bufs(const struct hwt_session *s);
/* 0, -EINVAL */
int hwt_session_buf(const struct hwt_session *s, size_t i, struct hwt_buf_info *out);
/* The @k-th configured source of buffer @i: 1 filled, 0 past the end. */
struct hwt_src_info {
	const char *name;	/* "ETM_0" */
	uint8_t proto, trace_id;
	int32_t cpu;
	const char *core;	/* "Cortex-A57", "" */
};
int hwt_session_src(const struct hwt_session *s, size_t i, size_t k, struct hwt_src_info *out);

/*
 * Packets of buffer @i, to be closed by the caller; the session must outlive them. 0, or a negative
 * code with @diag filled and *@out untouched.
 */
int hwt_session_packets(struct hwt_session *s, size_t i, struct hwt_packets **out,
	struct hwt_diag *diag);

/*
 * Events of buffer @i, times in base ns where the clock map is known. @want is copied with what it
 * points to. The session must outlive the stream, which the caller closes. 0, or a negative code
 * with @diag filled and *@out untouched.
 */
int hwt_session_flow(struct hwt_session *s, size_t i, const struct hwt_interest *want,
		     struct hwt_stream **out, struct hwt_diag *diag);
/* Work counted so far by a stream from hwt_session_flow(). */
void hwt_flow_stats(const struct hwt_stream *s, struct hwt_flow_stats *out);

/*
 * Kernel-side events of the container (switches, tasks, maps, tracepoint samples) in order of the
 * file. Stream and result as above.
 */
int hwt_session_events(struct hwt_session *s, struct hwt_stream **out, struct hwt_diag *diag);
/*
 * Name of a RECORD, MAP or TASK event ("sched:sched_switch"), static or living as long as the
 * session.
 */
const char *hwt_event_name(const struct hwt_session *s, const struct hwt_event *ev);
/* Its fields as "name=value ..." text; always NUL-terminated; returns the full length. */
size_t hwt_event_text(const struct hwt_session *s, const struct hwt_event *ev, char *buf,
	size_t size);

/*
 * What u.gap.code of a GAP event means, in the words of the library that gave it; NULL if it has
 * none. Static.
 */
const char *hwt_gap_code_text(const struct hwt_session *s, const struct hwt_event *ev);

/* The code of the session, for symbols and bytes. Owned by the session. */
struct hwt_image *hwt_session_image(struct hwt_session *s);
/* Ids of the @i-th task that the capture names: 1 filled, 0 past the end. @pid may be HWT_NONE. */
int hwt_session_task(const struct hwt_session *s, size_t i, int32_t *pid, int32_t *tid);
/* Name of the task, the last one that it has in the capture; "" if not known. */
const char *hwt_session_comm(const struct hwt_session *s, int32_t tid);
/*
 * Its name at @time (ns of HWT_CLOCK_BASE; HWT_TIME_UNKNOWN: the last one), "" if not known. A
 * capture that tells each task's name but not since when has one for all times.
 */
const char *hwt_session_comm_at(const struct hwt_session *s, int32_t tid, uint64_t time);

#endif
