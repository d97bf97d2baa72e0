/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWSIDE_H
#define HWT_CAPTURE_HWSIDE_H

/*
 * The kernel's records that come beside trace (perf's "sideband": switches, tasks, maps) as virtual
 * events of a native capture, on the counter that the trace is on.
 */
#include "../base/strlist.h"
#include "../source/perf_kernel.h"

/* What each event of perf here asks for: all records end with task, time and CPU. */
#define HWSIDE_SAMPLE	(S_TID | S_TIME | S_CPU)
#define HWSIDE_PATHS	4096	/* files of code that are remembered */

struct native_writer;
struct perf_event_header;

struct hwside {
	struct perf pf;			/* one attribute */
	struct perf_attr attr;
	struct perf_turn turn;
	struct time_map map;		/* ticks to ns of perf's clock */
	uint64_t last;			/* ticks: of any CPU, for what is told without a time */
	struct idmap cpus;		/* to index in @times */
	uint64_t *times;		/* ticks of the last record of a CPU */
	uint32_t ncpus;
	struct strlist paths;		/* files that code was mapped from */
	uint64_t lost;			/* records */
	uint64_t rec[(VIRT_REC_MAX + 7) / 8];
};

/* @told: what other records of the capture tell. 0 or -ENOMEM. */
int hwside_init(struct hwside *s, const struct time_map *map, const struct perf_told *told);
void hwside_free(struct hwside *s);
/* Fields that every record has. False if it is too short for them. */
bool hwside_sample(const struct hwside *s, const struct perf_event_header *h,
		   struct perf_sample *out);
/* Writes what a record of @cpu tells, if it is of a kind that the list of events has. */
int hwside_put(struct hwside *s, struct native_writer *w, int32_t cpu,
	       const struct perf_event_header *h);
/* Records of @cpu are missing, nobody knows how many. */
int hwside_lost(struct hwside *s, struct native_writer *w, int32_t cpu);
/* A reading of CLOCK_MONOTONIC at once with the counter. */
int hwside_clock(struct hwside *s, struct native_writer *w, int32_t cpu);
/* Copies of files that code was mapped from, and of the vDSO; what can not be read is left out. */
int hwside_files(struct hwside *s, struct native_writer *w);

#endif
