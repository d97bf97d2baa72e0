/* SPDX-License-Identifier: BSD-2-Clause */
/* CoreSight: what Linux drives, and what device tree or ACPI tell of that it does not. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/text.h"
#include "doctor.h"

#define DEVICES	"/sys/bus/coresight/devices"
#define DEPTH	8	/* of a device tree that is walked */
#define NODES	20000	/* looked at, at most */

enum kind { ETM, ETE, STM, ETR, ETF, ETB, TRBE, FUNNEL, REPLICATOR, OTHER, KINDS };

/* Names that Linux gives, and what a device tree calls them (its bindings, arm,coresight-*). */
static const struct {
	const char *name, *node, *title;
} kinds[KINDS] = {
	[ETM] = { "etm", "arm,coresight-etm", "ETM" },
	[ETE] = { "ete", "arm,embedded-trace-extension", "ETE" },
	[STM] = { "stm", "arm,coresight-stm", "STM" },
	[ETR] = { "tmc_etr", "arm,coresight-tmc", "ETR" },
	[ETF] = { "tmc_etf", "", "ETF" },
	[ETB] = { "tmc_etb", "arm,coresight-etb", "ETB" },
	[TRBE] = { "trbe", "arm,trace-buffer-extension", "TRBE" },
	[FUNNEL] = { "funnel", "funnel", "funnel" },
	[REPLICATOR] = { "replicator", "replicator", "replicator" },
	[OTHER] = { "", "arm,coresight", "other device" },
};

struct tally { unsigned n[KINDS], off; char sink[40]; };

static bool is_sink(unsigned kind)
{
	return kind == ETR || kind == ETF || kind == ETB || kind == TRBE;
}

static unsigned kind_of_name(const char *name)
{
	unsigned k = 0;

	if (!strncmp(name, "etb", 3))
		return ETB;
	while (k < OTHER && strncmp(name, kinds[k].name, strlen(kinds[k].name)))
		k++;
	return k;
}

/* A property of names, each with a zero behind it. */
static unsigned kind_of_node(const char *p, size_t n)
{
	for (unsigned k = 0; k < KINDS; k++)
		if (*kinds[k].node && memmem(p, n, kinds[k].node, strlen(kinds[k].node)) &&
		    (k == FUNNEL || k == REPLICATOR ? memmem(p, n, "coresight", 9) != NULL : true))
			return k;
	return KINDS;
}

static void devices(const struct doctor *d, struct tally *t)
{
	DIR *dir = doctor_dir(d, DEVICES);
	unsigned best = KINDS;
	struct dirent *e;

	while (dir && (e = readdir(dir))) {
		unsigned k = kind_of_name(e->d_name);

		if (e->d_name[0] == '.')
			continue;
		t->n[k]++;
		/* memory behind an ETR holds most; without one the others */
		if (is_sink(k) && (k < best || (k == best && strcmp(e->d_name, t->sink) < 0))) {
			best = k;
			snprintf(t->sink, sizeof(t->sink), "%.39s", e->d_name);
		}
	}
	if (dir)
		closedir(dir);
}

static void node(const struct doctor *d, const char *path, struct tally *t)
{
	char prop[PATH_MAX], text[512];
	unsigned k;

	snprintf(prop, sizeof(prop), "%s/compatible", path);
	memset(text, 0, sizeof(text));
	if (!doctor_text(d, prop, text, sizeof(text)))
		return;
	k = kind_of_node(text, sizeof(text));
	if (k == KINDS)
		return;
	t->n[k]++;
	snprintf(prop, sizeof(prop), "%s/status", path);
	t->off += doctor_text(d, prop, text, sizeof(text)) && *text && strcmp(text, "okay") &&
		  strcmp(text, "ok");
}

/* The device tree without recursion: @path is where we are, one open directory for each level. */
static void device_tree(const struct doctor *d, struct tally *t)
{
	char path[PATH_MAX] = "/proc/device-tree";
	DIR *dir[DEPTH] = { doctor_dir(d, path) };
	size_t len[DEPTH] = { strlen(path) };
	unsigned level = 0, seen = 0;

	while (dir[0]) {
		struct dirent *e = seen < NODES ? readdir(dir[level]) : NULL;

		path[len[level]] = 0;
		if (!e) {
			closedir(dir[level]);
			dir[level] = NULL;
			if (!level)
				break;
			level--;
			continue;
		}
		if (e->d_name[0] == '.' || e->d_type != DT_DIR || level + 1 == DEPTH)
			continue;
		seen++;
		len[level + 1] = len[level] + (size_t)snprintf(path + len[level],
				sizeof(path) - len[level], "/%s", e->d_name);
		if (len[level + 1] >= sizeof(path))
			continue;
		node(d, path, t);
		dir[level + 1] = doctor_dir(d, path);
		level += dir[level + 1] != NULL;
	}
}

/* By hardware id (ACPI for CoreSight, Arm DEN0067); ARMHC97C is an ETF or an ETB. */
static void acpi(const struct doctor *d, struct tally *t)
{
	static const struct { const char *id; enum kind kind; } ids[] = {
		{ "ARMHC500", ETM }, { "ARMHC501", ETR }, { "ARMHC502", STM }, { "ARMHC97C", ETF },
		{ "ARMHC985", REPLICATOR }, { "ARMHC98D", REPLICATOR }, { "ARMHC9FE", FUNNEL },
		{ "ARMHC9FF", FUNNEL }, { "ARMHC", OTHER },
	};
	DIR *dir = doctor_dir(d, "/sys/bus/acpi/devices");
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		for (unsigned i = 0; i < sizeof(ids) / sizeof(ids[0]); i++)
			if (!strncmp(e->d_name, ids[i].id, strlen(ids[i].id))) {
				t->n[ids[i].kind]++;
				break;
			}
	if (dir)
		closedir(dir);
}

static unsigned sum(const struct tally *t)
{
	unsigned n = 0;

	for (unsigned k = 0; k < KINDS; k++)
		n += t->n[k];
	return n;
}

static void list(struct doctor *d, const struct tally *t)
{
	bool any = false;

	for (unsigned k = 0; k < KINDS; k++) {
		if (!t->n[k])
			continue;
		doctor_say(d->item.found, "%s%u %s%s", any ? ", " : "", t->n[k], kinds[k].title,
			   text_s(t->n[k]));
		any = true;
	}
}

static void driven(struct doctor *d, const struct tally *t)
{
	struct hwt_doctor_item *i = &d->item;
	bool all = doctor_may(d, DOCTOR_PERFMON) || doctor_may(d, DOCTOR_SYS_ADMIN);

	if (!t->n[ETM] && !t->n[ETE])
		doctor_say(i->why, "no trace source is driven: each CPU's ETM or ETE must be");
	else if (!*t->sink)
		doctor_say(i->why, "no sink is driven, so trace has nowhere to go");
	else if (doctor_number(d, "/sys/bus/event_source/devices/cs_etm/type") < 0)
		doctor_say(i->why, "perf has no cs_etm unit");
	else if (!all && d->paranoid > 2)
		doctor_say(i->why, "perf_event_paranoid is %d: only root may record", d->paranoid);
	if (*i->why) {
		doctor_say(i->next, !all && d->paranoid > 2 && *t->sink ?
			   "sudo sysctl kernel.perf_event_paranoid=2 (own programs), or record as "
			   "root" :
			   "sudo modprobe -a coresight-etm4x coresight-tmc coresight-funnel "
			   "coresight-replicator, "
			   "then hwtrace doctor again; a missing one is told of in dmesg");
		return;
	}
	i->verdict = HWT_DOCTOR_YES;
	if (!all && d->paranoid > 1) {
		i->verdict = HWT_DOCTOR_PARTLY;
		doctor_say(i->why, "perf_event_paranoid is %d: without rights only the user side "
				"of own programs", d->paranoid);
	}
	if (d->cpus > t->n[ETM] + t->n[ETE]) {
		i->verdict = HWT_DOCTOR_PARTLY;
		doctor_say(i->why, "%s%u of %u CPUs have a trace unit that is "
				"driven", *i->why ? "; " : "",
			   t->n[ETM] + t->n[ETE], d->cpus);
	}
	doctor_say(i->next, "hwtrace record -e cs_etm/@%s/u -- PROGRAM", t->sink);
	doctor_taken(d);
	doctor_untried(d);
}

/* Nothing is driven: is anything there, and is there a driver? */
static void undriven(struct doctor *d, const struct tally *t, bool by_acpi)
{
	struct hwt_doctor_item *i = &d->item;
	char path[160];
	bool module, builtin;

	snprintf(path, sizeof(path), "/lib/modules/%.80s/modules.dep", d->release);
	module = doctor_grep(d, path, "/coresight");
	snprintf(path, sizeof(path), "/lib/modules/%.80s/modules.builtin", d->release);
	builtin = doctor_grep(d, path, "/coresight");
	doctor_say(i->works, "kernel events; trace that a debug probe or firmware saved is read "
		   "(snapshot directories, ETB and ETR dumps)");
	if (!strcmp(d->arch, "aarch64"))
		doctor_say(i->works, "; hwtrace record -e model");
	if (!sum(t)) {
		doctor_say(i->why, "neither device tree nor ACPI describes any");
		doctor_say(i->next, d->vm ? "record on the host" :
			   "ask the board's maker for a device tree with its CoreSight nodes");
		return;
	}
	list(d, t);
	doctor_say(i->found, " in the firmware's description (%s)", by_acpi ? "ACPI, which Linux' "
		   "own drivers follow; the kernel module needs a device tree, or parameters: "
		   "etm=ADDRESS@CPU sink=ADDRESS" : "device tree");
	if (t->off == sum(t)) {
		doctor_say(i->why, "they are disabled there (status)");
		doctor_say(i->next, "enable them in the device tree of this board, for all units "
				"between the CPUs and a sink");
	} else if (module) {
		doctor_say(i->why, "no driver is loaded for them");
		doctor_say(i->next, "sudo modprobe -a coresight-etm4x coresight-tmc "
				"coresight-funnel coresight-replicator");
	} else if (builtin) {
		doctor_say(i->why, "the kernel's drivers did not take them: a clock, a power "
				"domain or a link between them is missing");
		doctor_say(i->next, "sudo dmesg | grep -i coresight; units whose power is off are "
				"best looked at after booting with cpuidle.off=1");
	} else {
		doctor_say(i->why, "this kernel has no drivers for them");
		doctor_say(i->next, "a kernel with CONFIG_CORESIGHT, "
				"CONFIG_CORESIGHT_SOURCE_ETM4X and "
				"CONFIG_CORESIGHT_LINK_AND_SINK_TMC");
	}
}

/* The kernel module drives what nobody else does; of the CPU's own buffer it needs no driver. */
static void ete_by_module(struct doctor *d, const struct tally *t)
{
	struct hwt_doctor_item *i = &d->item;

	doctor_say(i->found, "%u ETE%s%s in the device tree", t->n[ETE], t->n[ETE] == 1 ? "" : "s",
		   t->n[TRBE] ? ", TRBE" : "");
	if (doctor_has(d, "/dev/hwtrace")) {
		i->verdict = HWT_DOCTOR_PARTLY;
		doctor_say(i->next, "sudo hwtrace record -e cs_etm// --via module -a -- PROGRAM");
	} else {
		doctor_say(i->why, "no driver has them; ");
		doctor_say(i->next, "sudo modprobe -a coresight-etm4x coresight-trbe (Linux), or "
			   "make kmod and sudo insmod build/kmod/hwtrace.ko");
	}
}

/* Trace units by system registers, and the buffers of their CPUs (Arm ARM, FEAT_ETE, FEAT_TRBE). */
void doctor_ete(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	struct tally t = { 0 };

	i->verdict = HWT_DOCTOR_NO;
	devices(d, &t);
	if (t.n[ETE]) {
		doctor_say(i->found, "%u ETE%s, %u TRBE%s", t.n[ETE], t.n[ETE] == 1 ? "" : "s",
			   t.n[TRBE], t.n[TRBE] == 1 ? "" : "s");
		doctor_say(i->next, "see CoreSight");
		i->verdict = HWT_DOCTOR_PARTLY;
	} else {
		device_tree(d, &t);
		if (t.n[ETE] && t.off < sum(&t)) {
			ete_by_module(d, &t);
		} else {
			doctor_say(i->why, t.n[ETE] ? "they are disabled in the device tree" :
				   "the device tree tells of no trace unit by system registers");
			doctor_say(i->next, d->vm ? "record on the host" :
				   "a CPU of Armv9 has them; the device tree of its board must "
				   "say so (arm,embedded-trace-extension)");
			return;
		}
	}
	doctor_say(i->why, "their system registers are proven by simulation only");
}

void doctor_coresight(struct doctor *d)
{
	struct tally t = { 0 };
	bool by_acpi;

	d->item.verdict = HWT_DOCTOR_NO;
	devices(d, &t);
	if (sum(&t)) {
		list(d, &t);
		driven(d, &t);
		return;
	}
	device_tree(d, &t);
	by_acpi = !sum(&t);
	if (by_acpi)
		acpi(d, &t);
	undriven(d, &t, by_acpi);
}
