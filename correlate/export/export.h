/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_EXPORT_EXPORT_H
#define HWT_EXPORT_EXPORT_H

/* What the files of the exporter share. */
#include <hwtrace/export.h>

#include "../../hwtrace/base/vec.h"
#include "../../hwtrace/image/history.h"
#include "../../hwtrace/source/capture.h"
#include "sink.h"

enum {	/* error ids, see errors.def */
	E_EXPORT_NO = 190, E_EXPORT_PART, E_EXPORT_CODE, E_EXPORT_CHANGES, E_EXPORT_THREAD,
	E_EXPORT_HOLE,
};

#define PERF_PMU	8u	/* event type of the trace unit in the file; any number will do */
#define KERNEL_START	(1ull << 63)	/* where perf takes addresses for the kernel's */

enum {	/* record types: of the kernel below 64, of the perf tool from there on */
	P_MMAP = 1, P_COMM = 3, P_FORK = 7, P_MMAP2 = 10, P_AUX = 11, P_ITRACE_START = 12,
	P_SWITCH = 14, P_SWITCH_CPU_WIDE = 15, P_FINISHED_ROUND = 68, P_AUXTRACE_INFO = 70,
	P_AUXTRACE = 71, P_TIME_CONV = 79,
};

enum {	/* perf_event_header.misc */
	P_KERNEL = 1, P_USER = 2, P_EXEC = 1 << 13, P_OUT = 1 << 13, P_PREEMPT = 1 << 14,
	P_BUILD_ID = 1 << 14,
};

enum {	/* PERF_RECORD_AUX flags */
	P_AUX_TRUNCATED = 1, P_AUX_PARTIAL = 4, P_AUX_COLLISION = 8, P_AUX_CS_RAW = 0x100,
};

/* One AUX area: of a CPU, or of a thread (@cpu HWT_NONE). */
struct ex_queue {
	const struct trace_buf *b;
	int32_t cpu, pid, tid;
	uint8_t unit_id;	/* unformatted trace: id of its unit in AUXTRACE_INFO */
	bool raw;		/* without frames, also in the file */
};

struct ex_aux {			/* an AUX record */
	uint64_t time, off, size, flags;
	uint32_t q;
	int32_t pid, tid;
};

#define EX_FRAME	16	/* bytes of a CoreSight frame */

struct ex_chunk {		/* an AUXTRACE record */
	uint64_t off, size, time;	/* size: with @frame */
	const uint8_t *p;
	const uint8_t *frame;	/* a last frame behind @p's bytes, or NULL */
	uint32_t q;
	uint64_t ref;		/* first TSC in it, 0: none */
	uint64_t place;		/* offset in the file, when it is written */
};

struct ex_map {
	uint64_t time, addr, last, file_off;
	const char *path;
	const uint8_t *id;
	uint32_t seq;		/* index in the history */
	int32_t pid;		/* HWT_NONE: kernel */
	uint8_t id_size;
};

struct ex_unit {		/* a CoreSight trace unit */
	const struct trace_cfg *cfg;
	int32_t cpu;
	uint8_t id;
};

struct ex_thread { int32_t pid, tid; };	/* one that no record names */

enum ex_kind { EX_FORK, EX_EXEC, EX_MAP, EX_TASK, EX_ITRACE, EX_SWITCH, EX_AUX };

struct ex_event {
	uint64_t time;		/* base ns, 0 where it is not known */
	uint32_t seq;		/* order among those of one time */
	uint8_t  kind;		/* enum ex_kind */
	uint8_t  flags;		/* HWT_F_PREEMPT */
	int32_t  cpu;
	/* FORK: parent in @pid2; SWITCH: who ran before */
	int32_t  pid, tid, pid2, tid2;
	/* MAP, AUX: in its list; TASK: 1 if it has no name; SWITCH: 1 for its "out" */
	uint32_t index;
};

struct ex {
	struct capture *c;
	const struct hwt_export_opts *o;
	struct hwt_export_result *res;
	struct hwt_diag *diag;
	struct arena arena;
	struct vec queues, auxs, chunks, maps, units, events, pids, threads;
	struct vec strips;	/* blocks of memory, freed at the end */
	struct vec files;	/* paths written to the directory of code */
	bool cs, timed, per_cpu, snapshot;
	uint8_t switches;	/* 0: none, 2: SWITCH, 3: SWITCH_CPU_WIDE, as perf's tool counts */
	int32_t new_pid;	/* of the invented process, HWT_NONE: none */
	uint64_t config;	/* of the attribute */
	bool kernel;		/* the kernel's code was traced, too */
	struct bytes rec;	/* the record that is being made */
	struct image_change *hist;
	size_t nhist;
};

/* Words of a note to the user. */
void ex_note(struct ex *e, unsigned id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
int ex_nomem(struct ex *e);

/* plan.c: queues, and how the file is ordered; then auxs and chunks. 0 or negative with diag. */
int ex_plan(struct ex *e);
int ex_offsets(struct ex *e);
/* frames.c: @c gets the bytes of a span of TPIU output as frames without sync words. */
int ex_frames(struct ex *e, const struct trace_span *s, struct ex_chunk *c);
/* The same of trace without frames, which gets the trace id @id. */
int ex_frame_raw(struct ex *e, const struct trace_span *s, uint8_t id, struct ex_chunk *c);
/* The frames of @c, which are whole, get a last one with which perf decodes them to the end. */
void ex_last_frame(struct ex_chunk *c);
/* units.c */
/* What the trace units need: config, units. CoreSight before the offsets, PT behind them. */
int ex_units(struct ex *e);
void ex_auxtrace_info(struct ex *e);	/* as a record in @rec */
/* context.c: threads that stand for context ids */
int ex_contexts(struct ex *e);
/* code.c: maps from the image, files of the directory. */
int ex_code(struct ex *e);
/* list.c: all records with a time, sorted. */
int ex_list(struct ex *e);
int ex_add_pid(struct ex *e, int32_t pid);

/* record.c: each makes one whole record in @rec. */
void rec_begin(struct ex *e, uint32_t type, uint16_t misc);
void rec_end(struct ex *e);
void rec_event(struct ex *e, const struct ex_event *ev);
void rec_auxtrace(struct ex *e, const struct ex_chunk *c, uint32_t index);
void rec_time_conv(struct ex *e);
uint64_t rec_sample_type(const struct ex *e);

#endif
