/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_DMG_H
#define TESTS_DMG_H

/* What tests/tools/damage.c is made of. One capture a process, so that the state is one struct. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/hwtrace.h>

#define DMG_FRAME	16	/* bytes of a formatter frame */
#define DMG_IDS		128
#define DMG_PROBE	512	/* bytes that a DSTREAM probe stores at once */
#define DMG_PROBE_SHORTEST (4 * DMG_PROBE)	/* by fewer it is not known for what it is */
/*
 * The formatter repeats the id of a source at least in each eleventh frame (CoreSight Architecture
 * Specification, "Special trace source IDs"), so that many bytes before a packet its id is known.
 */
#define DMG_ID_BACK	(12 * DMG_FRAME)

struct dmg_events { struct hwt_event *v; size_t n, cap; };

struct dmg_result {
	uint64_t gaps, truncated, cut_notes;
	uint64_t hole_end;	/* largest end of a hole in the trace */
	bool blind[DMG_IDS];	/* the last that is told of a source: it is not synchronised */
	bool opened, refused;
};

/* Where the packets of a source end, in bytes of that source; @overlap: they are of half bytes. */
struct dmg_ends { uint64_t *v; size_t n; bool overlap; };

/* A trace buffer of the undamaged capture. */
struct dmg_buf {
	uint8_t proto, framing;
	uint64_t *sync;		/* places where a decoder can begin, ascending */
	uint8_t *sync_id;	/* and the trace id of which it can */
	size_t nsyncs;
	struct dmg_ends ends[DMG_IDS];
};

/* Bytes of the victim that are a span of a trace buffer. */
struct dmg_place { size_t lo, hi; size_t buf, span; uint64_t pos; };

/* A part of a span: [lo, hi) in the buffer's numbering; @at is where it begins in the victim. */
struct dmg_window { uint64_t lo, hi; size_t at; size_t buf, span; };

struct dmg_variant {
	const char *how;
	size_t off;		/* in the victim */
	const unsigned char *p;	/* the victim's bytes, or those of @w */
	size_t n;
	const struct dmg_window *w;	/* NULL: the capture is opened with them */
	bool brief;		/* not all of its trace is decoded, but a part in turn */
	bool reference;		/* of its trace only the instructions are decoded */
	size_t buf;		/* whose events are kept in dmg.evs; SIZE_MAX: no one's */
};

/* A packet of interest, as it is in the trace. */
struct dmg_packet { uint64_t off; uint32_t size; uint8_t raw[8]; };
struct dmg_packets { struct dmg_packet *v; size_t n; };

struct dmg {
	/* set before the first variant */
	const char *victim;	/* file that is damaged */
	const char *capture;	/* what is opened */
	struct hwt_open_opts opts;
	const unsigned char *good;
	size_t good_n;
	bool declared, is_pipe, is_trace, is_probe;	/* options of damage.c */

	/* of the undamaged capture */
	struct hwt_session *session;	/* open to the end if a part can stand for the whole */
	struct dmg_buf *buf;
	size_t nbufs;
	struct dmg_place *place;
	size_t nplaces;
	size_t trace_buf;	/* the buffer that is the victim, nothing else; SIZE_MAX: none */

	struct dmg_events evs;	/* of the last variant */
	unsigned long failures, variants, opened, refused, windows, briefs;
	unsigned long cuts_inside, cuts_between, blocks, times, spilled, compared;
	size_t heap_peak;
};
extern struct dmg dmg;

/* dmg_copy.c: a copy of the capture that can be damaged, removed at exit. */
bool dmg_copy(const char *from, const char *file, const char *open_name);
void dmg_put(const void *p, size_t n);
void *dmg_need(void *p);

/* dmg_try.c: decodes, and checks what holds for any input. */
void dmg_fail(const char *what, const struct dmg_variant *v);
bool dmg_more_words(void);	/* are details of the last failure wanted? */
/* The undamaged capture: also learns what it holds. */
void dmg_learn(void);
void dmg_try(const struct dmg_variant *v, struct dmg_result *r);
/*
 * Packets in [lo, hi) of buffer @buf, those that carry time only or all of them. The caller frees.
 */
struct dmg_packets dmg_list(const struct dmg_variant *v, size_t buf, uint64_t lo, uint64_t hi,
			    bool times);

/* dmg_cut.c */
void dmg_check_cut(const struct dmg_variant *v, const struct dmg_result *r);

/* The source that says @ev; 0: none, or there are no frames. */
unsigned dmg_trace_id(const struct hwt_event *ev);

/* dmg_block.c: what damage must leave alone. dmg.evs are those of @v. */
/* Sets up @w around byte @off of the victim; false if it lies in no trace. */
bool dmg_window(struct dmg_window *w, size_t off);
void dmg_check_blocks(const struct dmg_variant *v, const struct dmg_result *r);
/* Is what @whole gives around the damage what a part of it gives, @part? */
void dmg_compare(const struct dmg_variant *part, const struct dmg_events *p,
		 const struct dmg_variant *whole);

#endif
