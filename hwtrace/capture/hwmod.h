/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_HWMOD_H
#define HWT_CAPTURE_HWMOD_H

/* What differs between the trace units that the kernel module drives (hwmod.c). */
#include <stdbool.h>
#include <stdint.h>

#include <hwtrace/kmod.h>

#include "../source/capture.h"
#include "hwprov.h"
#include "hwunit.h"
#include "pmu.h"

struct hwmod_unit {
	const struct hw_want *want;
	struct pmu pmu;
	struct pmu_event event;
	struct hwunit unit;	/* of Intel PT */
	struct hwt_kmod_unit ask;
};

struct hwmod_kind {
	const char *name;	/* as perf calls the unit */
	uint32_t unit;		/* enum hwt_kmod_unit_kind */
	bool zeroes;		/* of the newest: so is memory that was never written */
	bool begins_anew;	/* a buffer that was asked about begins with a new start of trace */
	/* The event's text to what is asked for; refusals with words. */
	int (*read)(struct hwmod_unit *u);
	/*
	 * What buffer @t is read with: fills @cfgs, which has room for @cpus, and *framing. The
	 * number of them, or a negative code.
	 */
	int (*cfgs)(const struct hwmod_unit *u, int fd, uint32_t cpus,
		    const struct hwt_kmod_trace *t, struct trace_cfg *cfgs, unsigned *framing);
};

extern const struct hwmod_kind hwmod_pt, hwmod_cs;

/* An option as sysfs would tell of it. */
void hwmod_format(struct pmu *p, const char *name, unsigned low, unsigned high);
uint64_t hwmod_option(const struct hwmod_unit *u, const char *name);
/*
 * The address filters: "[filter|OTHER] ADDRESS/SIZE", for the module knows no symbols; @other sets
 * the range's stop.
 */
int hwmod_ranges(const struct hwmod_unit *u, const char *other, struct hwt_kmod_range *range,
		 uint8_t max, uint8_t *n);

#endif
