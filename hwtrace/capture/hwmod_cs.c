/* SPDX-License-Identifier: BSD-2-Clause */
/* CoreSight by the kernel module: ETMv4 and ETE, with whatever keeps the trace of each CPU. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "hwmod.h"

#define DEVARCH_PART	0xffffu		/* TRCDEVARCH: ARCHVER and ARCHPART (IHI 0064) */
#define DEVARCH_ETE	0x5a13u

/* Options, with the names that perf's driver has for them. Which bits they have is for us only. */
static const struct { const char *name; unsigned bit; uint32_t ask; } options[] = {
	{ "timestamp", 0, HWT_KMOD_CS_TIME }, { "contextid", 1, HWT_KMOD_CS_CONTEXT },
	{ "cycacc", 2, HWT_KMOD_CS_CYCLES }, { "retstack", 3, HWT_KMOD_CS_RETURN },
	{ "branch_broadcast", 4, HWT_KMOD_CS_BROADCAST }, { "stall", 5, HWT_KMOD_CS_STALL },
};

#define NOPTIONS	(sizeof(options) / sizeof(options[0]))

static int cs_read(struct hwmod_unit *u)
{
	struct hwt_kmod_cs *cs = &u->ask.cs;
	int rc;

	/*
	 * Not those of sysfs: where perf drives the units the module is refused them. No sinkid:
	 * trace goes to the first controller on its way, or to the CPU's own buffer.
	 */
	snprintf(u->pmu.name, sizeof(u->pmu.name), "cs_etm");
	for (unsigned i = 0; i < NOPTIONS; i++)
		hwmod_format(&u->pmu, options[i].name, options[i].bit, options[i].bit);
	hwmod_format(&u->pmu, "cc_threshold", 8, 19);
	hwmod_format(&u->pmu, "ts_every", 20, 35);
	hwmod_format(&u->pmu, "sync", 36, 40);
	rc = pmu_event(&u->event, &u->pmu, u->want->event, u->want->k->diag);
	if (rc)
		return rc;
	cs->bits = (u->event.user ? HWT_KMOD_CS_USER : 0) |
		(u->event.kernel ? HWT_KMOD_CS_OS : 0);
	for (unsigned i = 0; i < NOPTIONS; i++)
		if (hwmod_option(u, options[i].name))
			cs->bits |= options[i].ask;
	cs->threshold = (uint16_t)hwmod_option(u, "cc_threshold");
	cs->time_every = (uint16_t)hwmod_option(u, "ts_every");
	cs->sync = (uint8_t)hwmod_option(u, "sync");
	return hwmod_ranges(u, "exclude", cs->range, 4, &cs->nranges);
}

static void fill(struct trace_cfg *g, const struct hwt_kmod_cs_regs *r)
{
	bool ete = (r->devarch & DEVARCH_PART) == DEVARCH_ETE;

	*g = (struct trace_cfg){ .name = ete ? "ETE" : "ETM", .core = "",
		.proto = ete ? HWT_PROTO_ETE : HWT_PROTO_ETM4, .arch = 8, .profile = 'A',
		.cpu = (int32_t)r->cpu, .trace_id = (uint8_t)r->trace_id,
		.r.etm4 = { .configr = r->configr, .traceidr = r->trace_id, .idr0 = r->idr[0],
			.idr1 = r->idr[1], .idr2 = r->idr[2], .idr8 = r->idr[8],
			.idr9 = r->idr[9], .idr10 = r->idr[10], .idr11 = r->idr[11],
			.idr12 = r->idr[12], .idr13 = r->idr[13], .devarch = r->devarch } };
}

/* All CPUs whose trace comes to this buffer, and that were on since the units are ours. */
static int cs_cfgs(const struct hwmod_unit *u, int fd, uint32_t cpus,
		   const struct hwt_kmod_trace *t, struct trace_cfg *cfgs, unsigned *framing)
{
	int n = 0;

	for (uint32_t cpu = 0; cpu < cpus; cpu++) {
		struct hwt_kmod_cs_regs r = { .size = sizeof(r), .cpu = cpu };

		if (ioctl(fd, HWT_KMOD_CS_REGS, &r)) {
			if (errno == ENODEV)
				continue;
			return -errno;
		}
		if (r.buffer != t->buffer || !r.devarch)
			continue;
		*framing = r.trace_id ? FRAMING_MEM : FRAMING_NONE;
		fill(&cfgs[n++], &r);
	}
	return n ? n : -ENODEV;
}

const struct hwmod_kind hwmod_cs = { .name = "cs_etm", .unit = HWT_KMOD_CS, .begins_anew = true,
	.read = cs_read, .cfgs = cs_cfgs };
