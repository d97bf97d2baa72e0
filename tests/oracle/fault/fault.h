/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_FAULT_H
#define TESTS_ORACLE_FAULT_H

/*
 * Faults put into a trace that was right, and what the library makes of it held against what is
 * known: what ran, which packets were sent for it, what was done to them.
 */
#include <stdbool.h>

#include <hwtrace/event.h>

#include "../rec.h"
#include "../rows.h"
#include "../truth.h"

#define NO_POS	UINT64_MAX

/* --- trace.c: one thread's trace in memory --- */

/* One instruction that ran. */
struct insn {
	uint64_t addr;
	uint32_t ev;		/* event that it is part of */
	uint32_t size;
	uint32_t line;		/* instructions from here on that follow each other in memory */
};

/* PSB+ or A-sync with trace info: a decoder that knows nothing starts here. */
struct sync {
	uint64_t off, end;
	uint64_t id;		/* in frames: where their source was named last; else @off */
	uint32_t ev;
};

struct code { uint64_t addr; size_t n; const uint8_t *p; };
struct turn { uint64_t tick; uint32_t ev; int who; };	/* its first event; 0 or 1 */

struct trace {
	struct rec *r;
	struct rec_clock clk;
	bool pt, framed, timed;
	bool no_overflow;	/* with these options they can not be decoded */
	struct model_pt_cfg ptc;
	struct model_etm4_cfg etmc;
	struct model_event *ev;
	size_t nev;
	struct insn *insn;
	size_t ninsn;
	uint64_t *first;	/* by event: its first instruction; one more at the end */
	uint8_t *p;		/* bytes that were sent */
	size_t n, room;
	uint64_t *sent;		/* by event: bytes sent once it was told to the unit */
	struct sync *sync;
	size_t nsync;
	struct truth_holes holes;
	/* two programs that take turns on one CPU: the second, and when the turns begin */
	const struct trace *other;
	struct turn *turn;
	size_t nturns;
	struct code *code;	/* by address, apart from each other */
	size_t ncode;
	uint8_t *code_bytes;
};

/* The program: events and code. 0 or negative. */
int trace_load(struct trace *t, struct rec *r, const struct rec_clock *clk);
/*
 * Two programs that take turns wherever one is in the kernel, by @seed. They must outlive @t, and
 * their clocks start at the same tick.
 */
int trace_turns(struct trace *t, const struct trace *a, const struct trace *b, uint64_t seed);
/* Its trace under the options in @t, in place of the one before. */
int trace_encode(struct trace *t);
void trace_free(struct trace *t);
/* Event that was told when byte @off was sent. */
uint32_t trace_event_at(const struct trace *t, uint64_t off);
/* The first one that a decoder can use that knows nothing and reads from @off on, or NULL. */
const struct sync *trace_sync_from(const struct trace *t, uint64_t off);

/* --- put.c: a capture of what is left of it --- */

/* Bytes of the trace; a hole that the recorder knows of stands before them if it is @told. */
struct piece { uint64_t from, to; bool told; uint16_t cause; uint64_t lost; };

struct patch { uint64_t addr, tick; size_t n; uint8_t bytes[16]; };

#define PIECES	4
#define PATCHES	4

struct plan {
	unsigned fault;		/* enum fault */
	struct piece piece[PIECES];
	unsigned npieces;
	uint64_t flip;		/* bit of the trace, NO_POS: none */
	uint64_t zero, nzero;	/* bytes that read as zero */
	bool late;		/* these were damaged after they were checksummed */
	uint64_t chop;		/* bytes missing at the end of the file */
	uint16_t end_cause;	/* what the recorder says of the end */
	struct patch patch[PATCHES];
	unsigned npatches;
	uint64_t no_code, no_code_n;	/* code that is not there */
	uint64_t shift_code;	/* from here on code lies @shift_by bytes higher, to its end */
	unsigned shift_by;	/* 0: none */
	/* the truth: bytes [from, to) of the trace are missing or wrong */
	uint64_t from, to;
	uint64_t tick;		/* from here on the clock reads as plan_clock() says */
	int64_t step;		/* ticks */
	int32_t ppm;		/* it is too fast by so much */
	bool zero_time;
	size_t no_turn;		/* this turn was not recorded, 0: all are */
	bool silent;		/* nothing but the trace itself tells of it */
	bool code;		/* it is about code, not trace */
};

/* What the clock of the plan reads at @tick. */
static inline uint64_t plan_clock(const struct plan *p, uint64_t tick)
{
	if (tick < p->tick || (!p->step && !p->ppm && !p->zero_time))
		return tick;
	if (p->zero_time)
		return 0;
	return tick + (uint64_t)p->step +
		(uint64_t)((int64_t)(tick - p->tick) * p->ppm / 1000000);
}

/* Writes @dir. 0 or negative, with words on stderr. */
int put_capture(const char *dir, const struct trace *t, const struct plan *p);
/* Where byte @off of the damaged trace was in the whole one. */
uint64_t put_origin(const struct plan *p, uint64_t off);

/* Intel PT: the TSC packets of @bytes, a copy of the trace, by the clock of the plan. */
void trace_set_tsc(const struct trace *t, uint8_t *bytes, const struct plan *p);

/* --- judge.c --- */

struct seen {			/* a range or a hole that came out */
	uint64_t off;		/* in the whole trace */
	uint64_t first, last;
	uint64_t lo, hi;	/* ticks, NO_POS not known */
	uint32_t insns;
	uint16_t cause;		/* not 0: a hole */
	bool doubt;
};

struct seen_list {
	struct seen *v;
	size_t n, room;
	bool differs;		/* truth_why() says how */
	bool noted;		/* that time goes back */
};

/* Decodes the capture @dir; each event is also held against @t if it is not NULL. 0 or negative. */
int see(struct seen_list *out, const char *dir, const struct plan *p, struct truth *t);

struct verdict {
	uint64_t lost;		/* instructions that the whole trace shows and this one does not */
	uint64_t early;		/* of these, before the fault */
	uint64_t late;		/* behind the next synchronisation */
	uint64_t wrong;		/* ranges that did not run, without a mark before them */
	uint64_t marked;	/* such behind a hole, or in doubt */
	uint64_t beyond;	/* such behind the next synchronisation */
	uint64_t outside;	/* ranges at a time that was not theirs */
	unsigned holes, false_holes;
	uint16_t cause;		/* of the first hole at the fault, 0: none */
	bool right_cause;
	char why[200];
};

/* The undamaged trace: what of the program it shows, and the byte that shows it. */
struct base { uint64_t *off; uint64_t shown; };
int judge_base(struct base *b, const struct trace *t, const struct seen_list *s);
void judge(struct verdict *v, const struct trace *t, const struct base *b, const struct plan *p,
	   const struct seen_list *s, uint32_t causes);

#endif
