/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWUNIT_H
#define HWT_CAPTURE_HWUNIT_H

/* The trace units behind a unit of perf, as a reader of their trace must know them. */
#include "../base/cur.h"
#include "../source/capture.h"
#include "pmu.h"

#define HWUNIT_CPUS	4096

struct hwunit {
	struct trace_cfg *cfgs;		/* CoreSight: of each CPU that has one; PT: one */
	size_t n;
	bool coresight;
};

/*
 * Intel PT: @cpuinfo is the text of /proc/cpuinfo. CoreSight: registers are read below the unit's
 * folder; the driver powers the unit for that. -EINVAL: the unit is of neither kind, -ENODEV: no
 * CPU's unit can be read; with words.
 */
int hwunit_read(struct hwunit *u, const struct pmu *p, const struct pmu_event *e,
		const char *cpuinfo, struct hwt_diag *diag);
void hwunit_free(struct hwunit *u);
struct trace_cfg *hwunit_of(const struct hwunit *u, int32_t cpu);	/* NULL: it has none */
/* The trace id that the kernel gave the unit of @cpu, as AUX_OUTPUT_HW_ID has it. */
void hwunit_id(struct hwunit *u, int32_t cpu, uint64_t hw_id);

#endif
