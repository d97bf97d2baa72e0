/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_PERF_H
#define HWT_SOURCE_PERF_H

/*
 * Private to perf*.c. Layout: linux/perf_event.h for kernel records (types below 64), the perf
 * tool's perf.data-file-format description for the container and its own records.
 */
#include "../base/cur.h"
#include "../base/idmap.h"
#include "../base/vec.h"
#include "capture.h"

enum perf_type {
	REC_MMAP = 1, REC_LOST, REC_COMM, REC_EXIT, REC_THROTTLE, REC_UNTHROTTLE, REC_FORK,
	REC_READ, REC_SAMPLE, REC_MMAP2, REC_AUX, REC_ITRACE_START, REC_LOST_SAMPLES, REC_SWITCH,
	REC_SWITCH_CPU_WIDE, REC_NAMESPACES, REC_KSYMBOL, REC_BPF_EVENT, REC_CGROUP,
	REC_TEXT_POKE, REC_AUX_OUTPUT_HW_ID,
	REC_KERNEL_END = 64,		/* types from here on are the perf tool's own */
	REC_ATTR = 64, REC_TRACING_DATA = 66, REC_BUILD_ID = 67, REC_FINISHED_ROUND = 68,
	REC_ID_INDEX = 69, REC_AUXTRACE_INFO = 70, REC_AUXTRACE = 71, REC_AUXTRACE_ERROR = 72,
	REC_EVENT_UPDATE = 78, REC_TIME_CONV = 79, REC_FEATURE = 80, REC_COMPRESSED = 81,
	REC_COMPRESSED2 = 83,
};

enum {	/* perf_event_header.misc */
	MISC_CPUMODE = 7, MISC_KERNEL = 1, MISC_USER = 2, MISC_GUEST_KERNEL = 4,
	MISC_GUEST_USER = 5,
	MISC_MMAP_DATA = 1 << 13, MISC_COMM_EXEC = 1 << 13, MISC_FORK_EXEC = 1 << 13,
	MISC_SWITCH_OUT = 1 << 13, MISC_SWITCH_PREEMPT = 1 << 14, MISC_BUILD_ID = 1 << 14,
	MISC_BUILD_ID_SIZE = 1 << 15,
};

enum {	/* perf_event_attr.sample_type */
	S_IP = 1 << 0, S_TID = 1 << 1, S_TIME = 1 << 2, S_ADDR = 1 << 3, S_READ = 1 << 4,
	S_CALLCHAIN = 1 << 5, S_ID = 1 << 6, S_CPU = 1 << 7, S_PERIOD = 1 << 8,
	S_STREAM_ID = 1 << 9, S_RAW = 1 << 10, S_BRANCHES = 1 << 11, S_REGS_USER = 1 << 12,
	S_STACK_USER = 1 << 13, S_WEIGHT = 1 << 14, S_DATA_SRC = 1 << 15, S_IDENTIFIER = 1 << 16,
	S_TRANSACTION = 1 << 17, S_REGS_INTR = 1 << 18, S_PHYS_ADDR = 1 << 19, S_AUX = 1 << 20,
	S_CGROUP = 1 << 21, S_DATA_PAGE = 1 << 22, S_CODE_PAGE = 1 << 23,
	S_WEIGHT_STRUCT = 1 << 24,
};

enum {	/* PERF_RECORD_AUX flags */
	AUX_TRUNCATED = 1, AUX_OVERWRITE = 2, AUX_PARTIAL = 4, AUX_COLLISION = 8,
	AUX_FORMAT = 0xff00, AUX_CS_RAW = 0x100,
	AUX_SAMPLED = 1 << 16,		/* of ours: it came in a sample */
};

enum { AUXTRACE_PT = 1, AUXTRACE_CS_ETM = 3 };
#define PERF_TYPE_TP 2		/* perf_event_attr.type of a tracepoint */

/* error ids, see errors.def */
enum {
	E_CUT = 4, E_VERSION = 30, E_HEADER, E_ATTR, E_REC_SIZE, E_REC_CUT, E_UNCLOSED, E_DATA_SIZE,
	E_NO_AUX, E_AUXTRACE_CUT, E_TRACE_TYPE, E_AUXINFO, E_TIME_CONV, E_ZSTD, E_FIELD, E_SAMPLE,
	E_TRACING_DATA, E_LOST, E_FEATURE, E_MEMBER, E_NO_TRACE, E_TRACE_ID, E_CLOCKID, E_SPOOL,
	E_AUX_FLAGS, E_TWICE,
};

struct perf_attr {
	uint32_t type;
	uint64_t config, sample_type, read_format;
	uint64_t branches, regs_user, regs_intr;	/* of these parts of a sample */
	int32_t clockid;
	bool sample_id_all, use_clockid;
	bool inherit, on_exec;
	uint8_t trailer;		/* bytes of the sample id at the end of other records */
	const char *name;		/* "" if not known */
};

/* One run of records: the data section, or a whole data.N file of a directory. */
struct perf_seg {
	const struct file *f;
	uint64_t off, end;		/* bytes in @f */
	uint32_t file;			/* index in capture.files */
};

struct perf_rec {
	uint32_t type;
	uint16_t misc;
	uint32_t size;			/* bytes at @p, header included */
	const uint8_t *p;		/* valid until perf_next() if @inner, else with the file */
	uint64_t off;			/* in the file; of the outer record if @inner */
	uint32_t file;
	bool inner;			/* came out of a COMPRESSED record */
	/* bytes behind the record that its size does not count (AUXTRACE, TRACING_DATA) */
	const uint8_t *extra;
	uint64_t extra_have, extra_want;
};

/* The fields every consumer wants; NONE or UNKNOWN where the record has none. */
struct perf_sample {
	uint64_t time, ip, addr, id, period;
	int32_t pid, tid, cpu;
	const uint8_t *raw;		/* tracepoint data, NULL */
	uint32_t raw_size;
	const uint8_t *aux;		/* trace up to the sample, NULL */
	uint64_t aux_size;
	uint32_t body;			/* bytes of the record before the sample id */
	const struct perf_attr *attr;	/* NULL: the id belongs to no attr */
	bool bad;			/* record too short for what its attr promises */
};

struct perf_zstd;
struct trace_fmt;

struct perf_aux {			/* one PERF_RECORD_AUX */
	uint64_t off, size, flags, time, file_off;
	int32_t pid, tid, cpu;
	uint32_t seq;			/* place in the file */
	uint32_t group;
};

struct perf_chunk {			/* one AUXTRACE record */
	uint64_t off, size;		/* AUX offset; bytes present */
	uint64_t missing;		/* bytes declared and not present */
	const uint8_t *p;
	uint64_t file_off;
	uint32_t file, idx;
	int32_t tid, cpu;
};

struct perf_poke { uint64_t time, addr; const uint8_t *old, *new; uint16_t nold, nnew; };

struct perf_switch { uint64_t time; int32_t cpu, tid; uint8_t flags; };

/* What was lost on a CPU, HWT_NONE: on one that is not told; what the events counted, of all. */
struct perf_lost { uint64_t count, places, off; int32_t cpu; uint32_t file; bool samples; };

struct perf {
	struct capture *c;
	bool swap, pipe;
	struct perf_attr *attrs;
	size_t nattrs;
	struct idmap ids;		/* sample id to index in @attrs */
	struct perf_seg *segs;
	size_t nsegs;
	uint64_t data_end;		/* of the main file: the feature table is here */
	uint64_t feature_bits[4];
	struct trace_fmt *fmt;		/* tracepoint formats, NULL */
	uint16_t cpu_family;
	uint8_t cpu_model, cpu_stepping;
	/* pass 1 only */
	struct vec aux, chunks, pokes, switches, lost, samples;
	struct idmap hw_ids;		/* CPU to trace id, of AUX_OUTPUT_HW_ID */
	struct idmap sampled;		/* CPU, or thread, to its last one of @samples */
	uint64_t nsampled, overlap;	/* samples with trace; bytes that two of them had */
	uint64_t *info;			/* AUXTRACE_INFO priv words */
	const uint8_t *info_raw;	/* the same as bytes, for strings in them */
	size_t ninfo;
	uint32_t info_type;
	bool have_info, have_switch, no_memory;
	bool task_events, all_events;	/* the list of ids has events of one task, of all */
	bool cpu_wide;			/* the schedule of all tasks was recorded */
	uint64_t nrecs;			/* records of any type that could be read */
	int64_t sched_switch;		/* tracepoint id, -1: not known */
	size_t ncfgs;			/* in all buffers */
	char **dirty;			/* names of dirty events, by type, then by attr; arena */
};

/* perf_sampled.c: the trace in a sample becomes a chunk and what an AUX record would say of it. */
int perf_sampled(struct perf *pf, const struct perf_rec *r, const struct perf_sample *s);
void perf_sampled_fact(struct perf *pf);

/* perf_rec.c: records in order of the file, compressed ones opened */
struct perf_walk {
	const struct perf *pf;
	size_t seg;
	uint64_t pos;
	uint64_t told;			/* of file_done_before() */
	struct perf_zstd *z;
	bool inner;
	uint64_t outer_off;
	/* damage found by the last call: error id (0 none), place, words */
	unsigned bad_id, bad_severity;
	uint64_t bad_off;
	uint32_t bad_file;
	char bad_text[160];
};
void perf_walk_init(struct perf_walk *w, const struct perf *pf);
/* 1: @r; 0: end; negative: no memory. Damage found on the way is put in w->bad_*, once. */
int perf_next(struct perf_walk *w, struct perf_rec *r);
/* True if perf_next() leaves pointers of earlier inner records valid. */
bool perf_walk_stable(const struct perf_walk *w);
void perf_walk_fini(struct perf_walk *w);

/* perf_zstd.c: one stream for each file of a recording */
int perf_zstd_new(struct perf_zstd **out);
void perf_zstd_free(struct perf_zstd *z);
void perf_zstd_reset(struct perf_zstd *z);
void perf_zstd_feed(struct perf_zstd *z, const uint8_t *p, size_t n);
/* 1: *p is one whole record; 0: feed more; negative: damaged, *what says how. */
int perf_zstd_record(struct perf_zstd *z, bool swap, const uint8_t **p, uint32_t *n,
		     const char **what);
bool perf_zstd_ready(const struct perf_zstd *z, bool swap);
size_t perf_zstd_left(const struct perf_zstd *z);	/* bytes of a record not yet whole */

/* perf_attr.c */
int perf_add_attr(struct perf *pf, const uint8_t *p, size_t n, struct cur *ids);
void perf_id_index(struct perf *pf, struct cur *c);	/* the record's bytes behind its header */
void perf_scope(struct perf *pf);	/* behind pass 1: whose events were recorded */
/* @s from a record of any type; also the length of its body without the sample id. */
void perf_sample(const struct perf *pf, const struct perf_rec *r, struct perf_sample *s);
/* Body of @r behind its 8-byte header, without the sample id. */
struct cur perf_body(const struct perf *pf, const struct perf_rec *r, const struct perf_sample *s);
/*
 * A name that fills the rest of @c: its length, at most what is there; *whole false if no NUL
 * ends it.
 */
const char *perf_name(struct cur *c, size_t *n, bool *whole);
struct perf_mmap { struct hwt_map map; size_t path_len; bool exec, whole; };
/* MMAP and MMAP2. False if the record is too short. map.path is not terminated if !whole. */
bool perf_mmap(const struct perf *pf, const struct perf_rec *r, const struct perf_sample *s,
	       struct perf_mmap *m);

/* perf_head.c */
int perf_header(struct perf *pf, const struct file *f, struct hwt_diag *diag);
void perf_features(struct perf *pf, const struct file *f);
void perf_feature(struct perf *pf, unsigned id, const struct file *f, uint64_t off,
		  const uint8_t *p, size_t n);
const char *perf_clock_name(int64_t id);	/* of a clockid; static */
/* One build-id record: @c is its body behind the 8-byte header. */
void perf_build_id(struct perf *pf, uint16_t misc, struct cur *c);

/* perf_aux.c, perf_info.c */
void perf_auxtrace_info(struct perf *pf, const struct perf_rec *r);
void perf_time_conv(struct perf *pf, const struct perf_rec *r);
int perf_make_bufs(struct perf *pf, struct hwt_diag *diag);
int perf_cs_cfgs(struct perf *pf, struct trace_buf *b, int32_t cpu);
int perf_pt_cfg(struct perf *pf, struct trace_buf *b);

/* perf.c */
int32_t perf_pid_of(const struct perf *pf, int32_t tid);

/* perf_kernel.c */
int perf_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
int perf_dirty_names(struct perf *pf);	/* once all attrs are known; 0 or -ENOMEM */
const char *perf_dirty_name(const struct capture *c, const struct hwt_event *ev);
size_t perf_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n);
int perf_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		     struct hwt_abi_value *v);

/* perf_ev.c */
#define PERF_FIRST_SAMPLE 0x10000u	/* rec.id of samples: from here on the attr's index */
int perf_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
const char *perf_event_name(const struct capture *c, const struct hwt_event *ev);
size_t perf_event_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n);
const char *perf_type_name(unsigned type);	/* "mmap2"; static */

#endif
