/* SPDX-License-Identifier: BSD-2-Clause */
#include "hwunit.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/diag.h"

#define FIRST_ID	0x10	/* the kernel's id of CPU n, where it does not say: this + 2n */

/* The decimal number behind @name in the first processor's paragraph. */
static unsigned long cpu_number(const char *text, const char *name)
{
	const char *s = strstr(text, name);

	if (!s)
		return 0;
	s += strlen(name);
	s += strspn(s, "\t :");
	return strtoul(s, NULL, 10);
}

static int read_pt(struct hwunit *u, const struct pmu *p, const struct pmu_event *e,
		   const char *cpuinfo)
{
	char ratio[64];
	uint64_t v;
	struct trace_cfg *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	u->cfgs = g;
	u->n = 1;
	*g = (struct trace_cfg){ .name = "PT", .core = "", .proto = HWT_PROTO_PT,
		.cpu = HWT_NONE };
	g->r.pt.family = (uint16_t)cpu_number(cpuinfo, "cpu family");
	g->r.pt.model = (uint8_t)cpu_number(cpuinfo, "\nmodel\t");
	g->r.pt.stepping = (uint8_t)cpu_number(cpuinfo, "\nstepping");
	if (pmu_get(e, pmu_format(p, "mtc")))
		g->r.pt.mtc_freq = (uint8_t)pmu_get(e, pmu_format(p, "mtc_period"));
	g->r.pt.noretcomp = pmu_get(e, pmu_format(p, "noretcomp")) != 0;
	if (pmu_number(p, "max_nonturbo_ratio", 10, &v) && v < 256)
		g->r.pt.nom_freq = (uint8_t)v;
	/* CPUID leaf 15H: EBX:EAX, TSC ticks for ticks of the crystal */
	if (pmu_text(p, "tsc_art_ratio", ratio, sizeof(ratio)) && strchr(ratio, ':')) {
		g->r.pt.cpuid_15_ebx = (uint32_t)strtoul(ratio, NULL, 10);
		g->r.pt.cpuid_15_eax = (uint32_t)strtoul(strchr(ratio, ':') + 1, NULL, 10);
	}
	return 0;
}

/* TRCCONFIGR as the driver makes it of an event (IHI 0064, TRCCONFIGR). */
static uint32_t configr(const struct pmu *p, const struct pmu_event *e)
{
	static const struct { const char *option; uint32_t bits; } map[] = {
		{ "branch_broadcast", 1u << 3 }, { "cycacc", 1u << 4 },
		{ "contextid1", 1u << 6 }, { "contextid2", 1u << 7 | 1u << 15 },
		{ "timestamp", 1u << 11 }, { "retstack", 1u << 12 },
	};
	const struct pmu_format *any = pmu_format(p, "contextid");
	const struct pmu_format *two = pmu_format(p, "contextid2");
	uint32_t v = 0;

	for (size_t i = 0; i < sizeof(map) / sizeof(map[0]); i++)
		if (pmu_get(e, pmu_format(p, map[i].option)))
			v |= map[i].bits;
	/* older drivers have "contextid" only: that of EL1, unless it is the other's bit */
	if (any && pmu_get(e, any) && !(two && two->mask == any->mask))
		v |= 1u << 6;
	return v;
}

static uint32_t reg(const struct pmu *p, int cpu, const char *name)
{
	char file[96];
	uint64_t v;

	snprintf(file, sizeof(file), "cpu%d/%s", cpu, name);
	return pmu_number(p, file, 0, &v) ? (uint32_t)v : 0;
}

static void read_etm(struct trace_cfg *g, const struct pmu *p, uint32_t config, int cpu)
{
	uint32_t id = reg(p, cpu, "mgmt/trctraceid");

	*g = (struct trace_cfg){ .name = "ETM", .core = "", .proto = HWT_PROTO_ETM4, .arch = 8,
		.profile = 'A', .cpu = cpu };
	g->r.etm4.configr = config;
	g->r.etm4.idr0 = reg(p, cpu, "trcidr/trcidr0");
	g->r.etm4.idr1 = reg(p, cpu, "trcidr/trcidr1");
	g->r.etm4.idr2 = reg(p, cpu, "trcidr/trcidr2");
	g->r.etm4.idr8 = reg(p, cpu, "trcidr/trcidr8");
	g->r.etm4.idr9 = reg(p, cpu, "trcidr/trcidr9");
	g->r.etm4.idr10 = reg(p, cpu, "trcidr/trcidr10");
	g->r.etm4.idr11 = reg(p, cpu, "trcidr/trcidr11");
	g->r.etm4.idr12 = reg(p, cpu, "trcidr/trcidr12");
	g->r.etm4.idr13 = reg(p, cpu, "trcidr/trcidr13");
	g->r.etm4.devarch = reg(p, cpu, "mgmt/trcdevarch");
	/* ARCHPART 0xa13, ARCHVER 5: ETE (IHI 0064, TRCDEVARCH) */
	if ((g->r.etm4.devarch & 0xffff) == 0x5a13) {
		g->proto = HWT_PROTO_ETE;
		g->name = "ETE";
	}
	g->trace_id = id ? id & 0x7f : (uint8_t)((FIRST_ID + 2 * cpu) & 0x7f);
	g->r.etm4.traceidr = g->trace_id;
}

static int by_cpu(const void *a, const void *b)
{
	return ((const struct trace_cfg *)a)->cpu - ((const struct trace_cfg *)b)->cpu;
}

static int read_coresight(struct hwunit *u, const struct pmu *p, const struct pmu_event *e,
			  struct hwt_diag *diag)
{
	DIR *dir = opendir(p->dir);
	uint32_t config = configr(p, e);
	struct dirent *d;
	int rc = 0;

	while (dir && !rc && u->n < HWUNIT_CPUS && (d = readdir(dir))) {
		struct trace_cfg *v;
		char *end;
		long cpu;

		if (strncmp(d->d_name, "cpu", 3) || d->d_name[3] < '0' || d->d_name[3] > '9')
			continue;
		cpu = strtol(d->d_name + 3, &end, 10);
		if (*end || cpu >= HWUNIT_CPUS)
			continue;
		v = realloc(u->cfgs, (u->n + 1) * sizeof(*v));
		if (!v) {
			rc = -ENOMEM;
			break;
		}
		u->cfgs = v;
		read_etm(&v[u->n], p, config, (int)cpu);
		u->n += v[u->n].r.etm4.idr0 || v[u->n].r.etm4.idr1;
	}
	if (dir)
		closedir(dir);
	if (u->n)
		qsort(u->cfgs, u->n, sizeof(*u->cfgs), by_cpu);
	return rc || u->n ? rc : diag_set(diag, -ENODEV, 185, NULL, HWT_NO_OFF,
		"%s: no CPU's ETMv4 or ETE can be read (%s/cpuN/trcidr)", p->name, p->dir);
}

int hwunit_read(struct hwunit *u, const struct pmu *p, const struct pmu_event *e,
		const char *cpuinfo, struct hwt_diag *diag)
{
	int rc;

	*u = (struct hwunit){ .coresight = !strcmp(p->name, "cs_etm") };
	if (!u->coresight && strcmp(p->name, "intel_pt"))
		return diag_set(diag, -EINVAL, 186, NULL, HWT_NO_OFF,
				"%s: not a trace unit that is known here (intel_pt, cs_etm)",
				p->name);
	rc = u->coresight ? read_coresight(u, p, e, diag) : read_pt(u, p, e, cpuinfo);
	if (rc == -ENOMEM)
		diag_set(diag, rc, 3, NULL, HWT_NO_OFF, "no memory");
	if (rc)
		hwunit_free(u);
	return rc;
}

void hwunit_free(struct hwunit *u)
{
	free(u->cfgs);
	u->cfgs = NULL;
	u->n = 0;
}

struct trace_cfg *hwunit_of(const struct hwunit *u, int32_t cpu)
{
	for (size_t i = 0; i < u->n; i++)
		if (u->cfgs[i].cpu == cpu || !u->coresight)
			return &u->cfgs[i];
	return NULL;
}

void hwunit_id(struct hwunit *u, int32_t cpu, uint64_t hw_id)
{
	struct trace_cfg *g = u->coresight ? hwunit_of(u, cpu) : NULL;

	/* bits 6:0; others say which sink it is of */
	if (!g || !(hw_id & 0x7f))
		return;
	g->trace_id = hw_id & 0x7f;
	g->r.etm4.traceidr = g->trace_id;
}
