/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_TRUTH_H
#define TESTS_ORACLE_TRUTH_H

/* What a thread ran, held against the events that came out of its trace, in lockstep. */
#include <hwtrace/event.h>

#include "rec.h"

/* RUN events [from, to) of a thread that the unit lost, as struct model_out.lost() says. */
struct truth_hole { uint64_t from, to; };
struct truth_holes { struct truth_hole *h; size_t n, room; };

int truth_hole_add(struct truth_holes *h, uint64_t from, uint64_t to);	/* 0, -ENOMEM */

struct truth_stats {
	uint64_t insns, branches;	/* compared and equal */
	uint64_t ranges;
	uint64_t holes;			/* passed, each with a GAP */
	uint64_t lost;			/* instructions in them */
	/* holes of truth_stale() and truth_rewritten(), and what went with them */
	uint64_t stale, stale_insns;
	uint64_t left;			/* instructions after the last that was decoded */
	uint64_t timed, untimed;	/* ranges by whether an interval is known */
	uint64_t outside;		/* ranges whose time is not in their interval */
	uint32_t median;		/* ticks, of the intervals */
};

struct truth;
/* @clk as the encoder had it; @holes are borrowed. */
int truth_new(struct truth **out, struct rec *r, size_t thread, const struct rec_clock *clk,
	      const struct truth_holes *holes);
/* RUN events on these levels (a bit set) leave no trace: a unit with a filter. Before the first. */
void truth_filter(struct truth *t, unsigned levels);
/*
 * Compressed returns may not be found: a GAP of cause NO_RETURN, and flow goes on where a packet
 * says so next. libipt 2.0.5 keeps the entries of returns that were not compressed (README.md).
 */
void truth_stale(struct truth *t);
/* The same where code is rewritten: GAPs of cause BAD_IMAGE, it is not known which code ran. */
void truth_rewritten(struct truth *t);
void truth_free(struct truth *t);
/* 0, or 1 where the event contradicts the truth: truth_why() says how. */
int truth_event(struct truth *t, const struct hwt_event *ev);
/* 1: truth_event() was asked for more than ran. */
int truth_ended(const struct truth *t);
/* No more comes: what was not decoded is lost, or nothing proves it, but for @open branches. */
int truth_end(struct truth *t, unsigned open);
const char *truth_why(const struct truth *t);
const struct truth_stats *truth_stats(struct truth *t);
/* Adds all but the median, which has no sum. */
void truth_add(struct truth_stats *sum, const struct truth_stats *st);

#endif
