/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "hwmod.h"

#define CPUINFO	8192

/* The unit's options where perf has no driver that would list them: IA32_RTIT_CTL (SDM vol. 3). */
static void known_formats(struct pmu *p)
{
	static const struct { const char *name; unsigned low, high; } f[] = {
		{ "pt", 0, 0 }, { "cyc", 1, 1 }, { "pwr_evt", 4, 4 }, { "fup_on_ptw", 5, 5 },
		{ "mtc", 9, 9 }, { "tsc", 10, 10 }, { "noretcomp", 11, 11 }, { "ptw", 12, 12 },
		{ "branch", 13, 13 }, { "mtc_period", 14, 17 }, { "cyc_thresh", 19, 22 },
		{ "psb_period", 24, 27 }, { "event", 31, 31 }, { "notnt", 55, 55 }
	};

	for (unsigned i = 0; i < sizeof(f) / sizeof(f[0]); i++)
		hwmod_format(p, f[i].name, f[i].low, f[i].high);
}

static void take_options(struct hwmod_unit *u)
{
	static const struct { const char *name; uint32_t bit; } t[] = {
		{ "branch", HWT_KMOD_PT_BRANCH }, { "tsc", HWT_KMOD_PT_TSC },
		{ "noretcomp", HWT_KMOD_PT_NO_RETC }, { "mtc", HWT_KMOD_PT_MTC },
		{ "cyc", HWT_KMOD_PT_CYC }, { "ptw", HWT_KMOD_PT_PTW },
		{ "fup_on_ptw", HWT_KMOD_PT_PTW_IP }, { "pwr_evt", HWT_KMOD_PT_POWER },
		{ "event", HWT_KMOD_PT_EVENTS }, { "notnt", HWT_KMOD_PT_NO_TNT }
	};
	struct hwt_kmod_pt *pt = &u->ask.pt;

	pt->bits = (u->event.user ? HWT_KMOD_PT_USER : 0) |
		(u->event.kernel ? HWT_KMOD_PT_OS : 0);
	for (unsigned i = 0; i < sizeof(t) / sizeof(t[0]); i++)
		if (hwmod_option(u, t[i].name))
			pt->bits |= t[i].bit;
	pt->mtc = (uint8_t)hwmod_option(u, "mtc_period");
	pt->cyc = (uint8_t)hwmod_option(u, "cyc_thresh");
	pt->psb = (uint8_t)hwmod_option(u, "psb_period");
}

static int pt_read(struct hwmod_unit *u)
{
	struct hwt_diag *diag = u->want->k->diag;
	char cpuinfo[CPUINFO];
	int fd = open("/proc/cpuinfo", O_RDONLY | O_CLOEXEC), rc;
	ssize_t n = fd < 0 ? 0 : read(fd, cpuinfo, sizeof(cpuinfo) - 1);

	if (fd >= 0)
		close(fd);
	cpuinfo[n > 0 ? n : 0] = 0;
	rc = pmu_read(&u->pmu, PMU_DEVICES, "intel_pt", diag);
	if (rc == -ENOENT) {
		known_formats(&u->pmu);
		rc = 0;
	}
	if (!rc)
		rc = pmu_event(&u->event, &u->pmu, u->want->event, diag);
	if (rc)
		return rc;
	take_options(u);
	u->ask.perf_type = u->pmu.type;
	rc = hwmod_ranges(u, "tracestop", u->ask.pt.range, 4, &u->ask.pt.nranges);
	return rc ? rc : hwunit_read(&u->unit, &u->pmu, &u->event, cpuinfo, diag);
}

static int pt_cfgs(const struct hwmod_unit *u, int fd, uint32_t cpus,
		   const struct hwt_kmod_trace *t, struct trace_cfg *cfgs, unsigned *framing)
{
	const struct hwt_kmod_pt *pt = &u->ask.pt;

	*cfgs = *hwunit_of(&u->unit, t->cpu);
	cfgs->cpu = t->cpu;
	for (unsigned i = 0; i < 4 && i < pt->nranges; i++) {
		cfgs->r.pt.filter[i][0] = pt->range[i].first;
		cfgs->r.pt.filter[i][1] = pt->range[i].last;
		cfgs->r.pt.filter_stop |= (uint8_t)(pt->range[i].stop << i);
	}
	cfgs->r.pt.nfilter = pt->nranges;
	*framing = FRAMING_NONE;
	return 1;
}

const struct hwmod_kind hwmod_pt = { .name = "intel_pt", .unit = HWT_KMOD_PT, .zeroes = true,
	.read = pt_read, .cfgs = pt_cfgs };
