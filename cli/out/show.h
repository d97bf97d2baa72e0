/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef CLI_OUT_SHOW_H
#define CLI_OUT_SHOW_H

/* Events as text lines and as JSON objects. */
#include <hwtrace/hwtrace.h>
#include <stdbool.h>

#include "out.h"

#define SHOW_DISASM 16384	/* remembered instructions; a power of two */

struct show_insn {
	uint64_t addr;
	uint8_t code[16];
	uint8_t size, isa;	/* size 0: empty */
	bool whole;		/* an instruction; else all bytes that there were */
	char text[101];
};

struct show {
	struct out *o;
	struct hwt_session *session;
	struct hwt_image *image;
	uint64_t time_start;	/* of the capture */
	uint64_t zero;		/* base ns that is printed as zero */
	/* the same for clocks without a map to ns; HWT_TIME_UNKNOWN: not looked for yet */
	uint64_t tick_zero;
	bool ns, verbose, lines;
	uint32_t told_ticks;	/* clocks whose unit was explained, a bit each */
	const char *last_file;	/* source line printed last */
	int last_line;
	uint64_t holes, skipped, lost;	/* of the holes shown */
	uint64_t code_holes;		/* those without code */
	uint64_t named, nameless;	/* functions shown by name; by address, of no file */
	uint64_t kernel_holes, kernel_addr;	/* without kernel code, the first address */
	const char *own, *own_virtual;	/* name of a container's record, and what it stands for */
	uint64_t repeats;		/* address spaces that the next line stands for */
	char idle[64];			/* name of an idle thread */
	struct hwt_disasm *disasm;	/* NULL: not yet made */
	struct hwt_map map;		/* that show_code() found last; size 0: none */
	struct show_insn *insns;	/* SHOW_DISASM, NULL: not yet made */
};

/* @abs: times of the clock itself instead of since the start. */
void show_init(struct show *v, struct out *o, struct hwt_session *s, bool abs);
void show_fini(struct show *v);

/* What an address is, at an event: space and time of the question. */
struct hwt_where show_where(const struct hwt_event *ev);
/*
 * Name of a task at an event on its CPU, "" if not known; NULL: its last one. Until the next call.
 */
const char *show_comm(struct show *v, const struct hwt_event *ev, int32_t tid);
/* Text of the instruction at @addr; "" if the bytes are not known. @size takes its bytes. */
const char *show_disasm(struct show *v, const struct hwt_event *ev, uint64_t addr, unsigned isa,
			unsigned *size);

/* A line on what the event's time counts, where that is no time and no line has said so yet. */
void show_unit(struct show *v, const struct hwt_event *ev);
/* The time alone, as the column has it, without leading spaces. */
void show_when(struct show *v, const struct hwt_event *ev);
/* Text: the columns time, cpu and task that begin every line; then a whole line. */
void show_head(struct show *v, const struct hwt_event *ev);
void show_addr(struct show *v, const struct hwt_event *ev, uint64_t addr);
void show_sym(struct show *v, const struct hwt_event *ev, uint64_t addr);
/* Code without symbol: "libfoo.so+0x1234", or its address where it is no part of an ELF file. */
void show_code(struct show *v, int32_t pid, uint64_t addr);
/* "hole: overflow, 12 bytes skipped [E010]", no newline */
void show_gap(struct show *v, const struct hwt_event *ev);
void show_event(struct show *v, const struct hwt_event *ev);

/* Adds a hole that is printed to those shown. */
void show_count(struct show *v, const struct hwt_event *ev);

/* Pseudo-events that carry nothing to show without --verbose. */
bool show_wanted(const struct show *v, const struct hwt_event *ev);
/* Name of the event's type, as in JSON. */
const char *show_type(const struct show *v, const struct hwt_event *ev);
const char *show_kind(unsigned kind);	/* enum hwt_insn_kind */
const char *show_isa(unsigned isa);
const char *show_security(unsigned secure);		/* aspace.secure */
const char *show_what(const struct hwt_event *ev);	/* TX, TRIGGER, POWER */
const char *show_mark(unsigned bit);	/* of enum hwt_mark_kind, NULL past the end */

/* JSON lines: members are written with their comma; objects on one line each. */
struct jsonl {
	struct out *o;
	bool array;		/* one document: an array of the objects */
	bool started;		/* an object was written before */
	bool member;		/* the open object has a member */
	uint8_t certain;	/* member of events: 0 none, 1 false, 2 true */
};

void jsonl_init(struct jsonl *j, struct out *o, bool array);
void jsonl_fini(struct jsonl *j);
void jsonl_open(struct jsonl *j, const char *type);
void jsonl_close(struct jsonl *j);
void jsonl_key(struct jsonl *j, const char *key);
void jsonl_str(struct jsonl *j, const char *key, const char *v);
void jsonl_known(struct jsonl *j, const char *key, const char *v);	/* nothing for "" */
void jsonl_u64(struct jsonl *j, const char *key, uint64_t v);
void jsonl_hex(struct jsonl *j, const char *key, uint64_t v);	/* "0x..", a string */
void jsonl_bool(struct jsonl *j, const char *key, bool v);
/* The first line of all output. */
void jsonl_header(struct jsonl *j, const struct hwt_session *s);
/* {"lo":..,"hi":..}: base ns since the start, or ticks; nothing if @time is not known. */
void jsonl_interval(struct jsonl *j, const char *key, const struct show *v, uint64_t time,
		   uint32_t span, unsigned clock);
/* The same of a length of time; nothing if @v.lo is not known, no "hi" without bound. */
void jsonl_length(struct jsonl *j, const char *key, struct hwt_interval v);
/* "time", or "ticks" and "clock"; nothing if the event has none. */
void jsonl_time(struct jsonl *j, const struct show *v, const struct hwt_event *ev);
/* cpu, pid, tid, time, src, off: what every event has, if known. */
void jsonl_common(struct jsonl *j, const struct show *v, const struct hwt_event *ev);
void jsonl_event(struct jsonl *j, struct show *v, const struct hwt_event *ev);
/* @count GAPs of one cause, the first of which is @ev; @bytes are skipped in all of them. */
void jsonl_gaps(struct jsonl *j, struct show *v, const struct hwt_event *ev, uint32_t count,
		uint64_t bytes);

#endif
