/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWTAKE_H
#define HWT_CAPTURE_HWTAKE_H

/*
 * From rings of perf in memory to a native capture: trace into a buffer for each CPU, records
 * beside it through hwside.h. Who opened the rings, and whether a kernel is behind them, is not
 * known here.
 */
#include "hwside.h"
#include "perf_ring.h"

struct hwtake;

/* What is told of the trace units of the capture when bytes of a buffer first come. */
struct hwtake_units {
	/*
	 * Adds the buffer to @w: its number, or a negative code. @raw: CoreSight trace of @cpu
	 * alone, without frames.
	 */
	int (*add)(void *arg, struct native_writer *w, int32_t cpu, bool raw);
	/* The kernel has given the unit of @cpu this trace id (AUX_OUTPUT_HW_ID). */
	void (*id)(void *arg, int32_t cpu, uint64_t id);
	/* Starts a unit that stopped for want of room. */
	void (*restart)(void *arg, int32_t cpu);
	void *arg;
};

struct hwtake_opts {
	struct time_map map;		/* ticks to ns of perf's clock */
	struct perf_told told;		/* what other records of the capture tell */
	bool coresight;			/* each AUX record is a new start of the unit */
	bool all;			/* of all tasks: who ran is told by switches */
	bool overwrite;			/* rings of trace run over themselves */
	bool clock;			/* this machine's clocks are told, now and then */
	/*
	 * @map leads to CLOCK_MONOTONIC, which records are on, and is made of two readings: it is
	 * made anew of the first and the last one each time that clocks are told.
	 */
	bool fit;
	uint64_t keep;			/* then, bytes of records of each CPU; 0: 4 MiB */
	struct hwtake_units units;
};

struct hwtake_sum { uint64_t trace, lost_places, records_lost, truncated, partial, collisions; };

/* 0 or -ENOMEM */
int hwtake_new(struct hwtake **out, const struct hwtake_opts *o);
void hwtake_free(struct hwtake *t);	/* NULL is fine */
/* Sizes are powers of two. The memory outlives @t. 0 or -ENOMEM. */
int hwtake_add(struct hwtake *t, int32_t cpu, struct perf_event_mmap_page *page, const void *data,
	       uint64_t size, const void *aux, uint64_t aux_size);
/* A new capture: nothing of it is written yet, and what was kept of before is not for it. */
void hwtake_begin(struct hwtake *t);
/*
 * Takes what there is. Rings that run over themselves are left alone, and records beside them are
 * kept in memory, the newest of them; @w is not needed then.
 */
int hwtake_pump(struct hwtake *t, struct native_writer *w);
/* The units have stopped: takes all that is left, or what the rings hold. */
int hwtake_end(struct hwtake *t, struct native_writer *w);
struct hwtake_sum hwtake_sum(const struct hwtake *t);

#endif
