/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_PERF_OPEN_H
#define HWT_CAPTURE_PERF_OPEN_H

/* perf_event_open(2): the events of a CPU, and the rings that they write into. */
#include <linux/perf_event.h>

#include "../source/perf_kernel.h"
#include "pmu.h"

struct perf_open {
	uint32_t type;
	struct pmu_event event;
	bool on_exec;		/* begins when the task executes a program */
	bool inherit;		/* also what a task forks */
	bool snapshot;		/* the ring of trace runs over itself */
	bool backward;		/* that of records does, see perf_ring_back() */
	bool monotonic;		/* times are those of CLOCK_MONOTONIC, not of perf's clock */
	struct perf_told told;	/* and of these */
	uint64_t data_bytes, aux_bytes;	/* powers of two; @aux_bytes 0: no trace, only records */
};

/* A CPU's events: of each task that of trace, and one for the records beside it. */
struct perf_cpu {
	int32_t cpu;
	int *fds, *traces;		/* all; those of trace among them */
	size_t nfds, ntraces, cap;
	struct perf_event_mmap_page *page;	/* NULL: no event yet */
	const uint8_t *data, *aux;
	uint64_t size, aux_size;
};

/*
 * Is it allowed and possible? A negated errno of the system if not. @pid -1: of all tasks.
 */
int perf_open_try(const struct perf_open *o, int32_t pid, int32_t cpu);
/*
 * Adds the events of task @tid (-1: of all) on the CPU, not enabled; with the first one come the
 * rings. Where the user may not lock so much memory @o is made smaller. A negated errno; -ESRCH:
 * the task is gone; -ENXIO: the CPU gets no ring for trace, as CoreSight without a way to the sink.
 */
int perf_open_task(struct perf_cpu *c, struct perf_open *o, int32_t tid);
/* An ioctl of each event of trace; the first failure. */
int perf_open_each(const struct perf_cpu *c, unsigned long request, const void *arg);
void perf_open_close(struct perf_cpu *c);
/* Of this kernel: ticks of the counter to ns of perf's clock. False: it does not tell. */
bool perf_open_clock(struct time_map *map);
/* As many files as the system lets this process have. */
void perf_open_limits(void);

#endif
