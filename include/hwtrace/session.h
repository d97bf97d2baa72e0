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
	/* format name ("perf", "snapshot", "lldb", "pt", "cs"), NULL: found from the content */
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

/*
 * The "key = value" facts that a reader kept for "info" (trace configuration, features). NULL key
 * past the end.
 */
const char *hwt_session_fact(const struct hwt_session *s, size_t i, const char **value);

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

/* Packets of buffer @i. The session must outlive them. */
int hwt_session_packets(struct hwt_session *s, size_t i, struct hwt_packets **out,
	struct hwt_diag *diag);

/*
 * Events of buffer @i, times in base ns where the clock map is known. @want is copied with what it
 * points to. The session must outlive the stream.
 */
int hwt_session_flow(struct hwt_session *s, size_t i, const struct hwt_interest *want,
		     struct hwt_stream **out, struct hwt_diag *diag);
/* Work counted so far by a stream from hwt_session_flow(). */
void hwt_flow_stats(const struct hwt_stream *s, struct hwt_flow_stats *out);

/*
 * Kernel-side events of the container (switches, tasks, maps, tracepoint samples) in order of the
 * file.
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

/* The code of the session, for symbols and bytes. Owned by the session. */
struct hwt_image *hwt_session_image(struct hwt_session *s);
/* Ids of the @i-th task that the capture names: 1 filled, 0 past the end. @pid may be HWT_NONE. */
int hwt_session_task(const struct hwt_session *s, size_t i, int32_t *pid, int32_t *tid);
/* Name of the task, "" if not known. */
const char *hwt_session_comm(const struct hwt_session *s, int32_t tid);

#endif
