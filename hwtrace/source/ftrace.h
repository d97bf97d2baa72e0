/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_FTRACE_H
#define HWT_SOURCE_FTRACE_H

/*
 * What Linux' tracer recorded: trace.dat of trace-cmd (versions 6 and 7; trace-cmd.dat.v6(5) and
 * .v7(5)), and directories laid out as tracefs with saved pages.
 */
#include "../base/vec.h"
#include "capture.h"
#include "ring_page.h"
#include "unpack.h"

#define FTRACE_CPUS_MAX 8192		/* of all buffers; the kernel knows up to 8192 */
#define FTRACE_BUFS_MAX 1024
#define FTRACE_SECTION_MAX (64u << 20)	/* bytes of an unpacked section; kallsyms has some 12 MiB */

/* error ids, see errors.def */
enum {
	E_FT_CUT = 4, E_FT_LOST = 46, E_FT_HEADER = 220, E_FT_SECTION, E_FT_PAGE, E_FT_PACKED,
	E_FT_FORMATS, E_FT_CLOCKS, E_FT_CLOCK, E_FT_BACK, E_FT_TEXT, E_FT_EMPTY, E_FT_TYPE,
};

/* One ring buffer: the top one, or that of an instance. */
struct ftrace_buf {
	const char *name;	/* "" for the top one */
	const char *clock;	/* as trace_clock has it, "local" */
	uint32_t page_size;
	uint8_t domain;		/* enum hwt_clock; BASE: not known, or it counts no time */
	bool joined;		/* its times are, or can be put, on the capture's clock */
};

/* Pages of one CPU in one buffer. */
struct ftrace_cpu {
	uint32_t buf;
	int32_t cpu;
	const uint8_t *p;	/* @size bytes, alive as long as the capture */
	uint64_t size;
	uint64_t off;		/* of @p in its file */
	uint32_t file;		/* index in capture.files */
	bool packed;		/* in chunks, behind their number */
};

struct ftrace_tgid { int32_t tid, pid; };

struct trace_fmt;
struct printk;

struct ftrace {
	struct capture *c;
	const char *path;
	bool swap;			/* the machine had the other byte order */
	uint8_t long_size;		/* of its programs */
	struct ring_layout layout;
	struct trace_fmt *fmt;
	unsigned nformats;
	struct printk *printk;		/* NULL */
	struct vec bufs, cpus;		/* struct ftrace_buf, struct ftrace_cpu */
	enum unpack pack;
	int64_t offset;			/* option: ns to be added */
	struct time_map tsc;		/* option: from TSC to ns */
	struct vec tgids;		/* struct ftrace_tgid */
};

/* ftrace_dat.c: containers. 0; -HWT_E_FORMAT if there is nothing to be read. Takes no file. */
int ftrace_dat(struct ftrace *ft, const struct file *f, uint32_t file, struct hwt_diag *diag);
/* ftrace_dir.c */
bool ftrace_is_dir(const char *path);
int ftrace_dir(struct ftrace *ft, const char *path, struct hwt_diag *diag);

/* ftrace.c: what both find. */
struct ftrace_buf *ftrace_add_buf(struct ftrace *ft, const char *name, const char *clock,
				  uint32_t page_size);
/* To the buffer added last; NULL without memory or if there are too many. */
struct ftrace_cpu *ftrace_add_cpu(struct ftrace *ft);
/* Text of saved_cmdlines; of saved_tgids; of printk_formats. */
void ftrace_cmdlines(struct ftrace *ft, const char *p, size_t n);
void ftrace_tgids(struct ftrace *ft, const char *p, size_t n);
/* The clock that trace_clock's text names: "[local] global ...", or "local". In the arena. */
const char *ftrace_clock_name(struct ftrace *ft, const char *p, size_t n);
/* Text of events/header_page; not known: the layout of 64-bit kernels, and a note. */
void ftrace_header_page(struct ftrace *ft, const char *p, size_t n, uint64_t off);
void ftrace_kallsyms(struct ftrace *ft, const char *p, size_t n);
/* Text of per_cpu/cpuN/stats when the recording ended: told where records were lost. */
void ftrace_stats(struct ftrace *ft, const char *p, size_t n);
/* "Linux HOST RELEASE MACHINE" */
void ftrace_uname(struct ftrace *ft, const char *p, size_t n);

/* ftrace_walk.c: the records of one CPU. A plain value; ftrace_walk_fini() frees. */
struct ftrace_walk {
	const struct ftrace *ft;
	const struct ftrace_cpu *cpu;
	const struct ftrace_buf *buf;
	struct ring_layout layout;
	struct cur chunks;		/* packed: what follows */
	uint32_t nchunks;		/* left */
	uint8_t *chunk;
	size_t chunk_cap;
	uint64_t chunk_off;		/* of @chunk in the file; 0 if not packed */
	const uint8_t *run;		/* pages in a row: all, or a chunk */
	size_t run_size, pos;		/* @pos: of the next page */
	struct ring_page page;
	size_t page_pos;
	uint64_t last;			/* time of the record before, clock's unit */
	bool any;			/* there was one */
	bool in_page, torn;		/* @torn: bytes before this place could not be read */
	/* damage found by the last call: error id (0 none), place, words */
	unsigned bad_id, bad_severity;
	uint64_t bad_off;
	char bad_text[160];
};

struct ftrace_rec {
	const uint8_t *p;	/* valid until the next call; NULL: records were lost here */
	uint32_t size;
	uint64_t time;		/* clock's unit; lost: the earliest instant ... */
	uint64_t until;		/* ... and the latest */
	uint64_t missed;	/* lost: how many, UINT64_MAX if not known */
	uint64_t off;		/* in the file, of its chunk if packed */
	bool back;		/* its own time was before @time, which is that of the one before */
};

void ftrace_walk_init(struct ftrace_walk *w, const struct ftrace *ft, const struct ftrace_cpu *cpu);
/* 1: @r; 0: the end; -ENOMEM. */
int ftrace_walk_next(struct ftrace_walk *w, struct ftrace_rec *r);
void ftrace_walk_fini(struct ftrace_walk *w);

/* ftrace_ev.c: as the capture's own events, and as virtual ones */
int ftrace_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
int ftrace_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
const char *ftrace_dirty_name(const struct capture *c, const struct hwt_event *ev);
size_t ftrace_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n);
int ftrace_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		       struct hwt_abi_value *v);
/* On the capture's clock, or as it is; HWT_TIME_UNKNOWN if it is no time. */
uint64_t ftrace_time(const struct ftrace *ft, const struct ftrace_buf *b, uint64_t time);
const char *ftrace_event_name(const struct capture *c, const struct hwt_event *ev);
size_t ftrace_event_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n);

/* ftrace_printk.c: formats of trace_printk(), which records hold by address. */
int printk_new(struct printk **out, const char *p, size_t n);	/* of printk_formats; 0, -ENOMEM */
void printk_free(struct printk *k);
const char *printk_format(const struct printk *k, uint64_t addr);	/* NULL if not known */
/*
 * A format with its arguments as vbin_printf() of the kernel (lib/vsprintf.c) stored them. As
 * snprintf(); what the bytes do not hold is "?".
 */
size_t printk_text(char *buf, size_t size, const char *format, const uint8_t *p, size_t n,
		   bool swap, unsigned long_size);

#endif
