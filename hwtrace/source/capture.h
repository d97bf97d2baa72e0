/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_CAPTURE_H
#define HWT_SOURCE_CAPTURE_H

/*
 * What a reader makes of a container. A reader fills it once (pass 1); after that it is read only,
 * except that symbols are looked up lazily in the image.
 */
#include <stdbool.h>

#include <hwtrace/abi.h>
#include <hwtrace/event.h>
#include <hwtrace/image.h>
#include <hwtrace/packet.h>
#include <hwtrace/session.h>

#include "../base/arena.h"
#include "../base/diag.h"
#include "../machine/machine.h"
#include "../time/map.h"
#include "file.h"

/* A contiguous run of trace bytes. Between two spans of a buffer the decoder starts afresh. */
struct trace_span {
	const uint8_t *p;	/* @size bytes, alive as long as the capture */
	uint64_t size;
	/* offset of @p in the trace buffer's own numbering (perf: AUX offset) */
	uint64_t pos;
	uint64_t file_off;	/* offset of @p in @file */
	const struct file *file;
	uint64_t time;		/* base ns of the record that announced it, HWT_TIME_UNKNOWN */
	int32_t pid, tid;	/* owner if the recorder said so, HWT_NONE */
	/*
	 * what the recorder says of the bytes just before this span; cause HWT_GAP_NONE: nothing
	 * is missing
	 */
	uint64_t lost_before;	/* bytes, 0 if unknown */
	uint16_t cause_before;	/* enum hwt_gap_cause */
	uint16_t flags;		/* recorder's own flags (perf AUX flags) */
};

/* Configuration of one trace unit. Register names are the architecture's. */
struct trace_cfg {
	const char *name;	/* "ETM_0", NULL */
	const char *core;	/* "Cortex-A57", "" if not known */
	uint8_t proto;		/* enum hwt_proto */
	uint8_t trace_id;	/* CoreSight; 0 if none */
	uint8_t arch;		/* Arm: 7 or 8 (A/R/M v7, v8 and later); 0 unknown */
	uint8_t profile;	/* Arm: 'A', 'R', 'M', 'C' custom; 0 unknown */
	int32_t cpu;		/* HWT_NONE if not known */
	union {
		/* ETMCR, ETMTRACEIDR, ETMCCER, ETMIDR; also PTM */
		struct { uint32_t cr, trcidr, ccer, idr; } etm3;
		struct { uint32_t configr, traceidr, idr0, idr1, idr2, idr8, idr9, idr10, idr11,
			idr12, idr13, devarch; } etm4;
		/* STMTCSR, STMFEAT3R, STMDEVID */
		struct { uint32_t tcsr, feat3r, devid; } stm;
		struct { uint32_t tcr; } itm;
		struct {
			/* x86 CPU; family 0: not known, no errata applied */
			uint16_t family;
			uint8_t model, stepping;
			uint8_t mtc_freq;	/* raw IA32_RTIT_CTL.MTCFreq */
			uint8_t nom_freq;	/* max non-turbo ratio, 0 unknown */
			/* TSC/CTC ratio, denominator and numerator; 0 unknown */
			uint32_t cpuid_15_eax, cpuid_15_ebx;
			bool noretcomp;
			/* address filter ranges that were active: base, limit (both included) */
			uint64_t filter[4][2];
			/* bit i of @filter_stop: range i stops the trace (TraceStop) */
			uint8_t nfilter, filter_stop;
		} pt;
	} r;
};

/*
 * An instant between bytes: those before @pos were sent before @time (base ns), and if @after,
 * those from @pos on behind it.
 */
struct trace_mark { uint64_t pos, time; bool after; };

enum trace_framing { FRAMING_NONE, FRAMING_MEM /* 16-byte frames */,
	FRAMING_TPIU /* with full and half sync */ };

struct trace_buf {
	const char *name;	/* "cpu 3", "ETB_0" */
	struct trace_span *spans;
	size_t nspans;
	struct trace_cfg *cfgs;	/* one for PT and unformatted trace */
	size_t ncfgs;
	int32_t cpu, pid, tid;	/* HWT_NONE if not known or several */
	uint8_t framing;	/* enum trace_framing */
	struct trace_mark *marks;	/* by @pos, as spans number it */
	size_t nmarks;
	/* after the last span */
	uint64_t lost_after;
	uint16_t cause_after;	/* enum hwt_gap_cause, NONE if nothing is missing */
};

struct capture_fact { const char *key, *value; };

/*
 * An instruction of the kernel: each time that it runs, one record of event @id of the CPU is
 * written behind it, before its function returns; and no other is. Several events may share one.
 */
struct capture_commit { uint64_t addr; uint32_t id; };
#define CAPTURE_COMMITS	64

struct capture {
	struct arena arena;	/* strings and tables of the capture */
	const char *format;
	const char *path;
	struct file **files;	/* closed with the capture */
	size_t nfiles;
	/* grown only by the helpers below, as are the arrays of spans, cfgs, files and facts */
	struct trace_buf *bufs;
	size_t nbufs;
	struct hwt_image *image;	/* filled with maps by the reader */
	struct machine *machine;
	struct time_map tsc;	/* TSC or other counter to base ns; not valid: no map */
	/*
	 * where @tsc is fitted, what it points to. Times of the reader and of flow are of the lower
	 * line then, in order; session streams make intervals of them.
	 */
	struct time_fit fit;
	uint8_t counter;	/* enum hwt_clock of the ticks, HWT_CLOCK_BASE: not known */
	uint8_t base;		/* enum hwt_clock of base ns, HWT_CLOCK_BASE: not known */
	/* the kernel's events are stamped with the counter, too: @fit makes intervals of them */
	bool one_counter;
	struct hwt_clock_info how;	/* what is known of @tsc; the first three are not filled */
	const char *clock;	/* name of the base clock, "" */
	uint64_t time_start;	/* base ns, HWT_TIME_UNKNOWN */
	uint64_t nevents;
	uint64_t other_size;	/* bytes of the container that are in none of @files */
	const char *arch, *host, *release, *cmdline, *cpu;	/* "" if not known */
	struct capture_fact *facts;
	size_t nfacts;
	struct hwt_scope scope;
	struct capture_commit *commits;	/* up to CAPTURE_COMMITS */
	size_t ncommits;
	/*
	 * not NULL: such instructions are also the first ones of functions with this before the
	 * name of Linux' event, as symbols have them: "trace_event_raw_event_"
	 */
	const char *commit_by;
	bool commit_marks;	/* each record has a PTWRITE of id << 48 | hit behind it */
	struct notes notes;
	/* container's own events again, in file order; NULL if it has none. Called many times. */
	int (*events)(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
	const char *(*event_name)(const struct capture *c, const struct hwt_event *ev);
	size_t (*event_text)(const struct capture *c, const struct hwt_event *ev, char *buf,
		size_t n);
	/*
	 * Its events in order of time as <hwtrace/kernel.h> tells; NULL if it has none. Called many
	 * times. The others are of its dirty events; NULL if there are none.
	 */
	int (*kernel)(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
	int8_t orders;		/* of these narrow times: 1, they do not: -1, 0: not known */
	/* names of tasks are told by these events, and nobody has looked at them yet */
	bool names_unread;
	const char *(*dirty_name)(const struct capture *c, const struct hwt_event *ev);
	size_t (*dirty_text)(const struct capture *c, const struct hwt_event *ev, char *buf,
		size_t n);
	int (*dirty_field)(const struct capture *c, const struct hwt_event *ev, const char *name,
		struct hwt_abi_value *v);
	/*
	 * What the recorder put beside the fields of virtual events: " ctx.NAME=value" for each, as
	 * snprintf(); a field by NAME. NULL: there is none.
	 */
	size_t (*context_text)(const struct capture *c, const struct hwt_event *ev, char *buf,
		size_t n);
	int (*context_field)(const struct capture *c, const struct hwt_event *ev,
		const char *name, struct hwt_abi_value *v);
	/* Events and context fields (bits) that filters may name; NULL and 0: none. */
	const struct hwt_abi_own *own;
	unsigned nown;
	uint32_t contexts;
	void *priv;		/* reader's own state */
	void (*free_priv)(struct capture *c);
};

/* An empty capture with image and machine. */
int capture_new(struct capture **out);
void capture_free(struct capture *c);	/* NULL is fine */

/*
 * Appends; arrays are grown in the heap by the helper. Each returns a zeroed slot or NULL without
 * memory.
 */
struct trace_buf *capture_add_buf(struct capture *c, const char *name);
struct trace_span *capture_add_span(struct capture *c, struct trace_buf *b);
struct trace_cfg *capture_add_cfg(struct capture *c, struct trace_buf *b);
/* 0 or -ENOMEM */
int capture_add_mark(struct capture *c, struct trace_buf *b, uint64_t pos, uint64_t time,
		     bool after);
int capture_add_commit(struct capture *c, uint32_t id, uint64_t addr);	/* or -E2BIG */
int capture_add_file(struct capture *c, struct file *f);	/* takes @f, also on failure */
/*
 * The counter starts at zero and has @hz ticks in a second, where a tick is no number of ns that a
 * map can hold. False without memory.
 */
bool capture_hz(struct capture *c, uint64_t hz);
/* What base ns are: the name that the recorder gives it; it is kept, and known ones understood. */
void capture_base(struct capture *c, const char *name);
/*
 * Bytes of @s before @off were read and need not stay in memory. Cheap: the system hears of it
 * once in a MiB. *@told is the caller's, zero when a span begins.
 */
static inline void span_done_before(const struct trace_span *s, uint64_t off, uint64_t *told)
{
	if (s->file)
		file_done_before(s->file, s->file_off, off, told);
}
void capture_fact(struct capture *c, const char *key, const char *fmt,
	...) __attribute__((format(printf, 3, 4)));

/*
 * One reader. probe() looks at the first bytes of a file, or at a directory (@f NULL), and says
 * how sure
 * it is: 0 no, 1 maybe, 2 yes. open() fills @c; on failure @c is freed by the caller. An
 * unreadable part is
 * a note and reading goes on; only "nothing usable" is an error.
 */
struct source {
	const char *name;	/* what --as takes */
	const char *what;	/* one line for --help */
	int (*probe)(const struct file *f, const char *path);
	int (*open)(struct capture *c, struct file *f, const char *path,
		const struct hwt_open_opts *o,
		/* takes @f (NULL for a directory), also on failure */
		    struct hwt_diag *diag);
};

extern const struct source source_perf, source_snapshot, source_lldb, source_native, source_ctf,
	source_ftrace, source_pt, source_cs;

/*
 * Finds the reader, opens, applies the options that every format shares (--elf, --kcore,
 * --kallsyms, ...).
 */
int source_open(struct capture **out, const char *path, const struct hwt_open_opts *o,
	struct hwt_diag *diag);
/* The @i-th reader for --help, NULL past the end. */
const struct source *source_at(unsigned i);

#endif
