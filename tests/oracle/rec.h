/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ORACLE_REC_H
#define TESTS_ORACLE_REC_H

/*
 * A recording of what an emulated program ran (format: README.md), read as the events of each of
 * its threads. A thread is a CPU of its own: the emulator's threads never move.
 */
#include "hwtrace/model/insn.h"

struct rec;

/* How ticks are made of the executed instructions; the same seed gives the same ticks. */
struct rec_clock {
	uint64_t seed, start;
	/*
	 * instructions a tick, on average, 0: 2. Each block differs by up to a factor of two.
	 * Guests: recorded ticks a tick, nothing below is used.
	 */
	uint32_t per_tick;
	uint32_t pause_every;	/* RUN events between pauses, on average, 0: none */
	uint32_t pause_ticks;	/* the longest; half of that on average */
	uint32_t away_ticks;	/* the longest stay in the kernel */
	/* RUN @slow_run of @slow_thread, counted from 1 (0: none), takes so many ticks more */
	uint64_t slow_run;
	uint32_t slow_thread, slow_ticks;
};

/* 0, or a negative code with the reason in @why (static). */
int rec_open(struct rec **out, const char *path, const char **why);
void rec_close(struct rec *r);	/* NULL is fine */

size_t rec_threads(const struct rec *r);
/*
 * 1: a whole guest. A thread is a CPU, times are recorded; CONTEXT has the page table in value, and
 * in to the register that the program which ran last, or comes now, finds its thread by.
 */
int rec_is_guest(const struct rec *r);
unsigned rec_isa(const struct rec *r);	/* enum model_isa of the program's entry */
/* Blocks of code in order of first use, and their bytes; NULL past the end. */
const struct model_block *rec_block(const struct rec *r, size_t i, const uint8_t **p, size_t *n);

/* Of a block that an event points to: size of each instruction, and the code. */
const uint8_t *rec_sizes(const struct model_block *b);
const uint8_t *rec_bytes(const struct model_block *b);

/* Events of one thread, in order. Any number of these can be open on one recording. */
struct rec_iter;
int rec_iter_new(struct rec_iter **out, struct rec *r, size_t thread, const struct rec_clock *clk);
void rec_iter_free(struct rec_iter *it);
/* 1 and *@ev filled, 0 at the end, negative where the recording contradicts itself. */
int rec_next(struct rec_iter *it, struct model_event *ev);
/* Where it contradicts itself, static or owned by @it. */
const char *rec_why(const struct rec_iter *it);

#endif
