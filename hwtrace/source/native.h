/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_SOURCE_NATIVE_H
#define HWT_SOURCE_NATIVE_H

/* What the files of the reader of native captures share: hwtrace-capture(5) has the format. */
#include <hwtrace/abi.h>

#include "../base/ini.h"
#include "../base/strlist.h"
#include "capture.h"
#include "native_fmt.h"
#include "pairs.h"

/* a frequency that is named, or was measured, is that close to the true one */
#define NATIVE_HZ_PPM	1000

enum {	/* error ids, see errors.def */
	E_NAT_CUT = 4, E_NAT_LOST = 46, E_NAT_DAMAGED = 28, E_NAT_CLOSED = 140, E_NAT_INI,
	E_NAT_IDX, E_NAT_NO_DESC, E_NAT_KERNEL, E_NAT_IMAGE, E_NAT_VERSION, E_NAT_VALUE,
};

struct native_stream {	/* a file of kernel/ or dirty/ */
	const struct file *f;
	uint32_t file;		/* index in capture.files */
	bool dirty;
};

/* What a recording chose itself, as the metadata of kernel/ or dirty/ tells. */
struct native_own {
	struct hwt_abi_field ctx[HWT_ABI_CONTEXTS];
	unsigned nctx;
	uint32_t ctx_size;		/* bytes in each record, 0: none */
	uint32_t contexts;		/* bits of enum hwt_context */
	const char *clock;		/* its name, arena; NULL: not told */
	uint64_t freq;			/* of the clock, 0: not told */
	struct hwt_abi_own *events;	/* arena; names have "dirty:" before them */
	unsigned nevents;
};

struct native {
	struct capture *c;
	struct native_own own, dirty;	/* of kernel/ and dirty/ */
	uint32_t dirty_src;		/* the first of the files that are in dirty/ */
	/*
	 * dirty/ has a clock of its own; @dirty_fit: to ticks of the counter, or straight to base
	 * ns; no piece: none is known. Else its clock is that of the capture.
	 */
	bool dirty_apart, dirty_ticks;
	struct time_fit dirty_fit;
	uint8_t dirty_clock;		/* enum hwt_clock of its own, HWT_CLOCK_BASE: not known */
	const char *dir, *ini_path;
	const char *kernel;		/* folder of kernel records in @dir; "": @dir itself */
	struct native_stream *streams;	/* arena */
	size_t nstreams;
	/* while hwtrace.ini is read */
	int64_t buf_of[NATIVE_MAX_BUFS];	/* number in it to index of buffer, -1 */
	uint32_t units[NATIVE_MAX_BUFS];	/* that a buffer was said to have, by its index */
	const char *file_of[NATIVE_MAX_BUFS];	/* file of a buffer, by its index */
	uint64_t hz;		/* of the counter, 0: not known */
	uint32_t hz_ppm;	/* as far as that is known, parts in 10^6 */
	struct native_rate { uint64_t interval, rate, error; int64_t drift; uint32_t width; }
		rates[8];	/* over the longest interval, by clock_id; interval 0: none */
	uint64_t fit_begin, fit_end;	/* ticks that the fitted map was read at */
	uint64_t clock_error;	/* ns that the writer says its conversion is off */
	struct strlist hw;	/* files with trace, while the capture is read */
	bool traced;		/* there is trace: somebody will ask which code ran */
	bool partial;		/* kernel events of some tasks, or some of a kind */
	bool closed, counter_cs, wrong;	/* @wrong: something of the description was left out */
};

/* Path of @name in folder @sub of the capture ("" for none), in the arena; NULL: no memory. */
const char *native_path(struct native *n, const char *sub, const char *name);
/*
 * Opens a file of the capture and gives it to it. 1: *@f; 0: not there or not readable, *@why says
 * so; negative: no memory.
 */
int native_get(struct native *n, const char *path, const struct file **f, const char **why);

/* native_ini.c: the description into the capture. 0 or -ENOMEM. */
int native_read_ini(struct native *n, const struct file *f);

/* native_hw.c */
/* Blocks of @bin as @idx has them to spans of @b; holes are told by the spans. */
int native_read_buf(struct native *n, struct trace_buf *b, const struct file *bin,
		    const struct file *idx);
/* images/pages.* to the image. */
int native_read_pages(struct native *n, const struct file *bin, const struct file *idx);

/* native_kernel.c */
/* [capture] scope of hwtrace.ini: whose events they are, as hwtrace-capture(5) has the words. */
void native_scope(struct native *n, const char *words);
int native_read_kernel(struct native *n);	/* pass 1: into image and machine */

/* native_clock.c: readings of two clocks, into the clock map. 0 or -ENOMEM. */
/* A record clock.rate; what is known of it at the end, as facts. */
void native_rate(struct native *n, const uint8_t *r);
void native_rates(struct native *n);
/*
 * Behind both fits: where all that has a time is a record with ticks of the counter, times become
 * ns of that counter at its mean rate, which lengths do not need bounds for. The fitted map stays
 * in capture.fit, to tell how far that may be from the other clock.
 */
void native_one_clock(struct native *n);
int native_fit(struct native *n);	/* where there is no map, before all other records */
int native_fit_dirty(struct native *n);	/* the same of dirty/, behind it */
struct native_rec;
int native_pair(struct native *n, struct pairs *ps, const struct native_rec *r, const char *file);
/* Base ns of a record of @s; unknown if there is no map. @span: more ns that it may be later. */
uint64_t native_time(const struct native *n, const struct native_stream *s, uint64_t ticks,
		     uint32_t *span);

/* native_patch.c: what text.patch tells, kept until all of it is known */
struct patched { uint64_t time, addr; size_t nth; uint32_t size, kind; uint8_t old[16], code[16]; };
struct patches { struct patched *v; size_t n, cap; };
/* A record of this time. 0 or -ENOMEM. */
int patches_add(struct patches *ps, uint64_t time, uint32_t span, const uint8_t *rec);
/*
 * Gives it to the image and is empty then; nothing is given if @rc is an error, which is returned.
 * @doubt: on this machine CPUs run the old code for a while.
 */
int patches_use(struct patches *ps, struct hwt_image *img, bool doubt, int rc);

/* native_own.c */
/* The metadata of @folder. 0 or -ENOMEM. */
int native_read_own(struct native *n, struct native_own *own, const char *folder);
/* The same from its text. */
int native_parse_own(struct native *n, struct native_own *own, const void *text, size_t size);
const struct hwt_abi_own *native_own_event(const struct native_own *o, unsigned id);
/*
 * Bytes of a record's header and own fields, which its context comes behind; @e: NULL if it is none
 * of the tables. 0: not known.
 */
size_t native_fields_end(const struct native_own *o, const struct hwt_abi_event *e,
			 const void *rec);
/* Hooks of the capture, see capture.h. */
const char *native_dirty_name(const struct capture *c, const struct hwt_event *ev);
size_t native_dirty_text(const struct capture *c, const struct hwt_event *ev, char *buf, size_t n);
int native_dirty_field(const struct capture *c, const struct hwt_event *ev, const char *name,
		       struct hwt_abi_value *v);
size_t native_context_text(const struct capture *c, const struct hwt_event *ev, char *buf,
			   size_t n);
int native_context_field(const struct capture *c, const struct hwt_event *ev, const char *name,
			 struct hwt_abi_value *v);

/* native_packet.c: records of a stream in order of the file. */
struct native_walk {
	const struct file *f;
	const struct native_own *own;
	uint32_t ctx;		/* bytes of context in records of this packet */
	uint8_t *copy;		/* a record without it, or with it behind its fields; heap */
	uint64_t pos;		/* of the next packet */
	uint64_t rec, end;	/* next record and end of records in this one, bytes in the file */
	uint64_t seq, discarded, produced;	/* of the packet before */
	uint64_t last;		/* time of the last record, ticks */
	uint64_t spent;		/* bytes of checksums that were wrong */
	uint64_t told;		/* of file_done_before() */
	int32_t cpu;
	bool first;		/* no packet was seen */
	bool counted;		/* @produced is known */
	bool quiet;		/* do not say what is wrong: it was said */
	bool unclosed;		/* this packet ends where records end to make sense */
	/* set by native_next() before a record: some may be missing since the last one, */
	bool lost;
	uint64_t nlost;		/* so many; UINT64_MAX: not known */
	uint32_t cause;		/* HWT_lost_cause_... */
	bool foreign;		/* the other byte order: nothing is read */
};
struct native_rec {
	/*
	 * aligned to 8, with context behind the event's own fields; lives as long as the file, or
	 * to the next call if @copied
	 */
	const uint8_t *p;
	bool copied;
	uint32_t size;
	uint64_t off;
	const struct hwt_abi_event *e;	/* NULL: not in our tables */
};
int native_walk_init(struct native_walk *w, const struct native *n, const struct native_stream *s);
void native_walk_free(struct native_walk *w);	/* also behind a failed init, and one of zeroes */
/* 1: @r; 0: end. What is wrong on the way is a note, once for each place. */
int native_next(struct native_walk *w, struct native_rec *r, struct notes *ns);

/* native_events.c */
int native_events(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
int native_kernel(struct capture *c, struct hwt_stream **out, struct hwt_diag *diag);
const char *native_event_name(const struct capture *c, const struct hwt_event *ev);
size_t native_event_text(const struct capture *c, const struct hwt_event *ev, char *buf,
			 size_t size);
/* mm.map as a map. False if it is none of code. */
bool native_rec_map(const struct native_rec *r, struct hwt_map *m);

/* A field of a record that is there since version 1. */
#define native_u32(rec, ev, name) native_load32((rec) + offsetof(struct hwt_rec_##ev, name))
#define native_u64(rec, ev, name) native_load64((rec) + offsetof(struct hwt_rec_##ev, name))

static inline uint32_t native_load32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

static inline uint64_t native_load64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return v;
}

#endif
