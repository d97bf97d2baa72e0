/* SPDX-License-Identifier: BSD-2-Clause */
#include "pmu.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../base/diag.h"

#define OPTIONS	1024	/* bytes of text between the slashes */

#define wrong(diag, ...) diag_set(diag, -EINVAL, 186, NULL, HWT_NO_OFF, __VA_ARGS__)

bool pmu_text(const struct pmu *p, const char *file, char *out, size_t size)
{
	char path[512];
	ssize_t n;
	int fd;

	*out = 0;
	if (snprintf(path, sizeof(path), "%s/%s", p->dir, file) >= (int)sizeof(path))
		return false;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return false;
	n = read(fd, out, size - 1);
	close(fd);
	out[n > 0 ? n : 0] = 0;
	out[strcspn(out, "\n")] = 0;
	return n > 0;
}

bool pmu_number(const struct pmu *p, const char *file, int base, uint64_t *v)
{
	char text[64], *end;

	if (!pmu_text(p, file, text, sizeof(text)) || !isxdigit((unsigned char)*text))
		return false;
	errno = 0;
	*v = strtoull(text, &end, base);
	return !errno && !*end;
}

/* "config1:0-7,32-35" */
static bool parse_format(struct pmu_format *f, const char *s)
{
	unsigned long lo, hi;
	char *end;

	if (strncmp(s, "config", 6))
		return false;
	s += 6;
	f->word = *s >= '1' && *s < '0' + PMU_WORDS ? (uint8_t)(*s++ - '0') : 0;
	f->mask = 0;
	do {
		if ((*s != ':' && *s != ',') || !isdigit((unsigned char)*++s))
			return false;
		lo = hi = strtoul(s, &end, 10);
		if (*end == '-' && isdigit((unsigned char)end[1]))
			hi = strtoul(end + 1, &end, 10);
		if (lo > hi || hi > 63)
			return false;
		f->mask |= (UINT64_MAX >> (63 - (hi - lo))) << lo;
		s = end;
	} while (*s);
	return f->mask != 0;
}

static void read_formats(struct pmu *p)
{
	char path[512], text[128], file[96];
	struct dirent *d;
	DIR *dir;

	snprintf(path, sizeof(path), "%s/format", p->dir);
	dir = opendir(path);
	while (dir && p->nformats < PMU_FORMATS && (d = readdir(dir))) {
		struct pmu_format *f = &p->formats[p->nformats];

		if (d->d_name[0] == '.' || strlen(d->d_name) >= sizeof(f->name))
			continue;
		snprintf(f->name, sizeof(f->name), "%.31s", d->d_name);
		snprintf(file, sizeof(file), "format/%s", f->name);
		p->nformats += pmu_text(p, file, text, sizeof(text)) && parse_format(f, text);
	}
	if (dir)
		closedir(dir);
}

void pmu_name(const char *text, char *out, size_t size)
{
	/* "cs_etm:u" names a unit, too */
	snprintf(out, size, "%.*s", (int)strcspn(text, "/:"), text);
}

int pmu_read(struct pmu *p, const char *devices, const char *name, struct hwt_diag *diag)
{
	uint64_t type;

	memset(p, 0, sizeof(*p));
	if (!*name || strlen(name) >= sizeof(p->name) || strchr(name, '/') || *name == '.')
		return wrong(diag, "\"%s\" names no trace unit", name);
	snprintf(p->name, sizeof(p->name), "%s", name);
	if (snprintf(p->dir, sizeof(p->dir), "%s/%s", devices, name) >= (int)sizeof(p->dir))
		return diag_set(diag, -ENAMETOOLONG, 0, NULL, HWT_NO_OFF, "%s", name);
	if (!pmu_number(p, "type", 10, &type) || type > UINT32_MAX)
		return diag_set(diag, -ENOENT, 185, NULL, HWT_NO_OFF,
				"perf has no unit %s on this machine (%s/%s)", name, devices, name);
	p->type = (uint32_t)type;
	read_formats(p);
	return 0;
}

const struct pmu_format *pmu_format(const struct pmu *p, const char *name)
{
	for (unsigned i = 0; i < p->nformats; i++)
		if (!strcmp(p->formats[i].name, name))
			return &p->formats[i];
	return NULL;
}

uint64_t pmu_get(const struct pmu_event *e, const struct pmu_format *f)
{
	uint64_t v = 0;
	unsigned k = 0;

	for (unsigned i = 0; f && i < 64; i++)
		if (f->mask >> i & 1)
			v |= (e->config[f->word] >> i & 1) << k++;
	return v;
}

static bool fits(const struct pmu_format *f, uint64_t v)
{
	int bits = __builtin_popcountll(f->mask);

	return bits == 64 || !(v >> bits);
}

static void put(struct pmu_event *e, const struct pmu_format *f, uint64_t v)
{
	unsigned k = 0;

	for (unsigned i = 0; i < 64; i++) {
		if (!(f->mask >> i & 1))
			continue;
		e->config[f->word] &= ~(1ull << i);
		e->config[f->word] |= (v >> k++ & 1) << i;
	}
}

static void put_named(struct pmu_event *e, const struct pmu *p, const char *name, uint64_t v)
{
	const struct pmu_format *f = pmu_format(p, name);

	if (f && fits(f, v))
		put(e, f, v);
}

/*
 * Of the values that a bit mask allows the greatest that is not above @want, else the least; -1:
 * none is allowed.
 */
static int nearest(uint64_t allowed, int want)
{
	int pick = -1;

	for (int i = 0; i < 64; i++)
		if (allowed >> i & 1 && (i <= want || pick < 0))
			pick = i;
	return pick;
}

/* Values of Intel PT that the CPU may or may not have (SDM vol. 3, CPUID leaf 14H, subleaf 1). */
static const struct { const char *option, *cap, *values; int usual; } pt_ranges[] = {
	{ "mtc_period", "caps/mtc", "caps/mtc_periods", 3 },
	{ "psb_period", "caps/psb_cyc", "caps/psb_periods", 3 },
	{ "cyc_thresh", "caps/psb_cyc", "caps/cycle_thresholds", -1 },
};

static bool capable(const struct pmu *p, const char *cap)
{
	uint64_t v;

	return pmu_number(p, cap, 10, &v) && v;
}

/* TSC and MTC packets, branches, synchronisation each 16 KiB: as perf without options. */
static void pt_usual(struct pmu_event *e, const struct pmu *p)
{
	uint64_t values;

	put_named(e, p, "tsc", 1);
	for (unsigned i = 0; i < 2; i++) {
		int v;

		if (!capable(p, pt_ranges[i].cap) ||
		    !pmu_number(p, pt_ranges[i].values, 16, &values))
			continue;
		v = nearest(values, pt_ranges[i].usual);
		if (v < 0)
			continue;
		put_named(e, p, pt_ranges[i].option, (uint64_t)v);
		if (!i)
			put_named(e, p, "mtc", 1);
	}
	/* drivers before 4.15 have no "pt" bit, and always trace branches */
	if (pmu_format(p, "pt") && pmu_format(p, "branch")) {
		put_named(e, p, "pt", 1);
		put_named(e, p, "branch", 1);
	}
}

static void list_values(uint64_t allowed, char *out, size_t size)
{
	size_t n = 0;

	*out = 0;
	for (int i = 0; i < 64 && n < size; i++)
		if (allowed >> i & 1)
			n += (size_t)snprintf(out + n, size - n, "%s%d", n ? ", " : "", i);
}

/* What the driver would refuse with a bare EINVAL. */
static int pt_check(const struct pmu_event *e, const struct pmu *p, struct hwt_diag *diag)
{
	char text[160];

	if (pmu_get(e, pmu_format(p, "cyc")) && !capable(p, "caps/psb_cyc"))
		return wrong(diag, "intel_pt: this CPU has no cycle counts (cyc)");
	if (pmu_get(e, pmu_format(p, "mtc")) && !capable(p, "caps/mtc"))
		return wrong(diag, "intel_pt: this CPU has no MTC packets (mtc)");
	if ((pmu_get(e, pmu_format(p, "ptw")) || pmu_get(e, pmu_format(p, "fup_on_ptw"))) &&
	    !capable(p, "caps/ptwrite"))
		return wrong(diag, "intel_pt: this CPU has no PTWRITE (ptw)");
	for (size_t i = 0; i < sizeof(pt_ranges) / sizeof(pt_ranges[0]); i++) {
		uint64_t v = pmu_get(e, pmu_format(p, pt_ranges[i].option)), allowed = 0;

		if (!v)
			continue;
		if (capable(p, pt_ranges[i].cap))
			pmu_number(p, pt_ranges[i].values, 16, &allowed);
		if (v < 64 && allowed >> v & 1)
			continue;
		list_values(allowed | 1, text, sizeof(text));
		return wrong(diag, "intel_pt: %s of this CPU can be %s", pt_ranges[i].option, text);
	}
	return 0;
}

/*
 * Who runs is told by context ids and when by timestamps, so both are wanted where the unit has
 * them ("contextid" is the format of whichever level the kernel runs at).
 */
static void etm_usual(struct pmu_event *e, const struct pmu *p)
{
	put_named(e, p, "timestamp", 1);
	put_named(e, p, "contextid", 1);
}

/* "@tmc_etr0": the kernel's number of that sink. */
static int put_sink(struct pmu_event *e, const struct pmu *p, const char *name,
		    struct hwt_diag *diag)
{
	const struct pmu_format *f = pmu_format(p, "sinkid");
	char file[128];
	uint64_t v;

	if (!f || strlen(name) >= sizeof(e->sink))
		return wrong(diag, "%s: a sink can not be chosen (%s)", p->name, name);
	snprintf(file, sizeof(file), "sinks/%s", name);
	if (!*name || *name == '.' || strchr(name, '/') || !pmu_number(p, file, 0, &v))
		return wrong(diag, "%s has no sink %s", p->name, name);
	snprintf(e->sink, sizeof(e->sink), "%s", name);
	put(e, f, v);
	return 0;
}

static bool parse_value(const char *s, uint64_t *v)
{
	char *end;

	errno = 0;
	*v = strtoull(s, &end, 0);
	return isdigit((unsigned char)*s) && !errno && !*end;
}

/* NAME, NAME=NUMBER, config=NUMBER, @SINK */
static int put_option(struct pmu_event *e, const struct pmu *p, char *s, struct hwt_diag *diag)
{
	char *equal = strchr(s, '=');
	const struct pmu_format *f;
	uint64_t v = 1;

	if (*s == '@')
		return put_sink(e, p, s + 1, diag);
	if (equal)
		*equal++ = 0;
	if (equal && !parse_value(equal, &v))
		return wrong(diag, "%s: %s needs a number", p->name, s);
	f = pmu_format(p, s);
	if (f) {
		if (!fits(f, v))
			return wrong(diag, "%s: the value of %s is too large", p->name, s);
		put(e, f, v);
		return 0;
	}
	if (strncmp(s, "config", 6) || !equal ||
	    (s[6] && (s[6] < '1' || s[6] >= '0' + PMU_WORDS || s[7])))
		return wrong(diag, "%s has no option %s", p->name, s);
	e->config[s[6] ? s[6] - '0' : 0] = v;
	return 0;
}

/* "u", "k", "uk", after a colon or the closing slash */
static int put_modifiers(struct pmu_event *e, const char *s, struct hwt_diag *diag)
{
	const char *all = s;

	s += *s == ':';
	e->user = e->kernel = !*s;
	for (; *s; s++) {
		if (*s != 'u' && *s != 'k')
			return wrong(diag, "%s: behind an event are u (user code) and k (the "
				     "kernel's)", all);
		e->user |= *s == 'u';
		e->kernel |= *s == 'k';
	}
	return 0;
}

int pmu_event(struct pmu_event *e, const struct pmu *p, const char *text, struct hwt_diag *diag)
{
	const char *open = text + strcspn(text, "/:"), *close;
	char options[OPTIONS], *save = NULL;
	bool pt = !strcmp(p->name, "intel_pt");
	int rc;

	memset(e, 0, sizeof(*e));
	if (pt)
		pt_usual(e, p);
	else if (pmu_format(p, "sinkid"))
		etm_usual(e, p);
	if (*open != '/')
		return put_modifiers(e, open, diag);
	close = strchr(open + 1, '/');
	if (!close)
		return wrong(diag, "%s: the slash that closes the options is missing", text);
	if ((size_t)(close - open) > sizeof(options))
		return wrong(diag, "%s: the options are too long", p->name);
	snprintf(options, sizeof(options), "%.*s", (int)(close - open - 1), open + 1);
	for (char *s = strtok_r(options, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
		rc = put_option(e, p, s, diag);
		if (rc)
			return rc;
	}
	/* without it the driver takes the other bits for those of drivers that had fewer */
	if (pt)
		put_named(e, p, "pt", 1);
	rc = put_modifiers(e, close + 1, diag);
	/* without perf's driver who drives the unit knows what it can */
	return rc ? rc : pt && p->type ? pt_check(e, p, diag) : 0;
}
