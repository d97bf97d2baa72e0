/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "../base/diag.h"
#include "../base/text.h"
#include "doctor.h"
#include "hwhold.h"

void doctor_add(char *text, size_t size, const char *fmt, ...)
{
	size_t n = strlen(text);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text + n, size - n, fmt, ap);
	va_end(ap);
}

void doctor_untried(struct doctor *d)
{
	doctor_say(d->item.why, "%sthe recorder was proven by simulation and with recordings of "
		   "others, not on hardware", *d->item.why ? "; " : "");
}

void doctor_taken(struct doctor *d)
{
	char who[160];

	hwhold_perf(doctor_dir(d, "/proc"), who, sizeof(who));
	if (*who)
		doctor_say(d->item.found, "; in use by perf now: %s", who);
}

bool doctor_flag(const struct doctor *d, const char *flag)
{
	size_t n = strlen(flag);

	for (const char *p = d->flags; (p = strstr(p, flag)); p += n)
		if ((p == d->flags || p[-1] == ' ') && (p[n] == ' ' || !p[n]))
			return true;
	return false;
}

bool doctor_may(const struct doctor *d, unsigned cap)
{
	return d->caps >> cap & 1;
}

/* What is behind "@name   : " in @text, up to the end of the line. */
static bool line_of(const char *text, const char *name, char *out, size_t size)
{
	size_t n = strlen(name);

	for (const char *p = text; p; p = strchr(p, '\n'), p = p ? p + 1 : NULL) {
		const char *v = p + n;

		if (strncmp(p, name, n))
			continue;
		v += strspn(v, " \t");
		if (*v++ != ':')
			continue;
		v += strspn(v, " \t");
		snprintf(out, size, "%.*s", (int)strcspn(v, "\n"), v);
		return true;
	}
	return false;
}

/* /proc/cpuinfo of x86 tells a vendor, that of Arm an implementer. */
static void read_cpu(struct doctor *d)
{
	char text[16384], word[32];
	struct utsname u;

	doctor_text(d, "/proc/cpuinfo", text, sizeof(text));
	if (line_of(text, "vendor_id", d->vendor, sizeof(d->vendor))) {
		line_of(text, "flags", d->flags, sizeof(d->flags));
		line_of(text, "model name", d->model, sizeof(d->model));
		snprintf(d->arch, sizeof(d->arch), "%s", doctor_flag(d, "lm") ? "x86_64" : "i386");
		d->vm = doctor_flag(d, "hypervisor");
	} else if (line_of(text, "CPU implementer", word, sizeof(word))) {
		char part[32] = "", arch[32] = "";

		line_of(text, "CPU part", part, sizeof(part));
		line_of(text, "CPU architecture", arch, sizeof(arch));
		snprintf(d->model, sizeof(d->model), "implementer %s, part %s", word, part);
		snprintf(d->arch, sizeof(d->arch), "%s", atoi(arch) >= 8 ? "aarch64" : "arm");
	} else if (d->root < 0 && !uname(&u)) {
		snprintf(d->arch, sizeof(d->arch), "%.15s", u.machine);
	}
}

/* "0-3,8-11" is 8. */
static unsigned count_cpus(const char *s)
{
	unsigned n = 0;

	while (*s >= '0' && *s <= '9') {
		char *end;
		unsigned long a = strtoul(s, &end, 10), b = a;

		if (*end == '-')
			b = strtoul(end + 1, &end, 10);
		if (b >= a && b - a < 65536)
			n += (unsigned)(b - a + 1);
		s = *end == ',' ? end + 1 : end;
	}
	return n;
}

static void read_facts(struct doctor *d)
{
	char text[4096], word[64];
	const char *p;

	read_cpu(d);
	doctor_text(d, "/proc/sys/kernel/osrelease", d->release, sizeof(d->release));
	doctor_text(d, "/sys/devices/system/cpu/online", text, sizeof(text));
	d->cpus = count_cpus(text);
	/* a copy tells nothing of whoever will record there */
	d->root_user = d->root >= 0 || !geteuid();
	d->caps = d->root_user ? UINT64_MAX : 0;
	if (doctor_text(d, "/proc/self/status", text, sizeof(text)) &&
	    line_of(text, "CapEff", word, sizeof(word)))
		d->caps = strtoull(word, NULL, 16);
	/* "none [integrity] confidentiality" */
	if (doctor_text(d, "/sys/kernel/security/lockdown", text, sizeof(text)) &&
	    (p = strchr(text, '[')))
		snprintf(d->lockdown, sizeof(d->lockdown), "%.*s", (int)strcspn(p + 1, "]"), p + 1);
	d->paranoid = 4;
	if (doctor_text(d, "/proc/sys/kernel/perf_event_paranoid", text, sizeof(text)) && *text)
		d->paranoid = atoi(text);
}

static void machine(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;

	i->verdict = HWT_DOCTOR_INFO;
	doctor_say(i->found, "%s", *d->arch ? d->arch : "unknown architecture");
	if (*d->release)
		doctor_say(i->found, ", Linux %s", d->release);
	if (d->cpus)
		doctor_say(i->found, ", %u CPU%s", d->cpus, text_s(d->cpus));
	if (*d->vendor || *d->model)
		doctor_say(i->found, ", %s%s%s", d->vendor, *d->vendor ? " " : "", d->model);
	if (d->vm)
		doctor_say(i->found, ", a virtual machine");
	if (*d->lockdown && strcmp(d->lockdown, "none"))
		doctor_say(i->found, ", locked down: %s", d->lockdown);
	if (d->root >= 0)
		doctor_say(i->found, "; a copy of its files: permissions are taken for root's");
}

static bool x86(const struct doctor *d)
{
	return !strcmp(d->arch, "x86_64") || !strcmp(d->arch, "i386");
}

static bool arm(const struct doctor *d)
{
	return !strcmp(d->arch, "aarch64") || !strncmp(d->arch, "arm", 3);
}

static const struct {
	const char *what;
	void (*fill)(struct doctor *d);
	bool (*here)(const struct doctor *d);	/* NULL: everywhere */
	bool way;				/* something can be recorded by it */
} items[] = {
	{ "machine", machine, NULL, false },
	{ "Intel PT", doctor_pt, x86, true },
	{ "CoreSight", doctor_coresight, arm, true },
	{ "ETE and TRBE", doctor_ete, arm, true },
	{ "kernel module", doctor_module, NULL, true },
	{ "tracefs", doctor_tracefs, NULL, true },
	{ "perf", doctor_perf, NULL, true },
	{ "model", doctor_model, NULL, true },
	{ "counter", doctor_counter, NULL, false },
	{ "kernel code", doctor_code, NULL, false },
};

int hwt_doctor(const char *root, hwt_doctor_fn put, void *arg, struct hwt_diag *diag)
{
	struct doctor *d = calloc(1, sizeof(*d));
	int rc, ways;

	if (!d)
		return diag_set(diag, -ENOMEM, 3, NULL, HWT_NO_OFF, "no memory");
	d->root = root ? open(root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	if (root && (d->root < 0 || !doctor_has(d, "."))) {
		rc = diag_set(diag, -errno, 1, root, HWT_NO_OFF, "%s", strerror(errno));
		free(d);
		return rc;
	}
	d->put = put;
	d->arg = arg;
	read_facts(d);
	for (size_t i = 0; i < sizeof(items) / sizeof(items[0]); i++) {
		if (items[i].here && !items[i].here(d))
			continue;
		d->item = (struct hwt_doctor_item){ .what = items[i].what };
		items[i].fill(d);
		d->ways += items[i].way && d->item.verdict >= HWT_DOCTOR_PARTLY;
		put(arg, &d->item);
	}
	if (d->root >= 0)
		close(d->root);
	ways = (int)d->ways;
	free(d);
	return ways;
}
