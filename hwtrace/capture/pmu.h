/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_CAPTURE_PMU_H
#define HWT_CAPTURE_PMU_H

/*
 * A unit of perf as sysfs describes it (Documentation/ABI/testing/sysfs-bus-event_source-devices*),
 * and the text of an event of it: "intel_pt/cyc,mtc_period=3/u", "cs_etm/@tmc_etr0/k".
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/err.h>

#define PMU_DEVICES	"/sys/bus/event_source/devices"
#define PMU_WORDS	4	/* config, config1, config2, config3 of perf_event_attr */
#define PMU_FORMATS	64

struct pmu_format {
	char name[32];
	uint8_t word;		/* of PMU_WORDS */
	uint64_t mask;		/* its bits, from the lowest on */
};

struct pmu {
	char dir[256];		/* of its files */
	char name[32];
	uint32_t type;
	struct pmu_format formats[PMU_FORMATS];
	unsigned nformats;
};

struct pmu_event {
	uint64_t config[PMU_WORDS];
	bool user, kernel;	/* what of both is traced */
	char sink[64];		/* of CoreSight, "" if none was named */
};

/* Reads the unit @name below @devices (PMU_DEVICES, or a test's). -ENOENT: there is none. */
int pmu_read(struct pmu *p, const char *devices, const char *name, struct hwt_diag *diag);
/* The format of that name, NULL. */
const struct pmu_format *pmu_format(const struct pmu *p, const char *name);
uint64_t pmu_get(const struct pmu_event *e, const struct pmu_format *f);
/* A file of the unit below its folder, "caps/mtc": a number, decimal, 0x, or bare hexadecimal if
 * @base is 16. False if it is not there. */
bool pmu_number(const struct pmu *p, const char *file, int base, uint64_t *v);
/* The first line of a file of the unit. */
bool pmu_text(const struct pmu *p, const char *file, char *out, size_t size);
/* The unit that an event's text names. */
void pmu_name(const char *text, char *out, size_t size);
/*
 * What @text asks for. Options that it does not name have the values that the unit is recorded with
 * when nothing is said. -EINVAL with words: not understood, or not something that the unit can do.
 */
int pmu_event(struct pmu_event *e, const struct pmu *p, const char *text, struct hwt_diag *diag);

#endif
