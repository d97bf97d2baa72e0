/* SPDX-License-Identifier: BSD-2-Clause */
/* Intel PT: what the kernel's perf driver shows of it, and why there may be none. */
#include <stdio.h>
#include <string.h>

#include "doctor.h"

#define PMU	"/sys/bus/event_source/devices/intel_pt"
#define MODEL	"kernel events, and hwtrace record -e model: it steps a program and " \
		"writes the trace that hardware would have sent"

static bool cap(const struct doctor *d, const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), PMU "/caps/%s", name);
	return doctor_number(d, path) == 1;
}

static void found(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	long ranges = doctor_number(d, PMU "/nr_addr_filters");

	doctor_say(i->found, "perf's driver has it: %s, %s",
		   cap(d, "psb_cyc") ? "cycle counts" : "no cycle counts",
		   cap(d, "mtc") ? "MTC" : "no MTC");
	if (cap(d, "ptwrite"))
		doctor_say(i->found, ", PTWRITE");
	if (cap(d, "power_event_trace"))
		doctor_say(i->found, ", power events");
	if (cap(d, "event_trace"))
		doctor_say(i->found, ", event trace");
	if (ranges > 0)
		doctor_say(i->found, ", %ld address filters", ranges);
}

/* perf_event_paranoid: 1 is own tasks, 2 of these the user's side, 3 (Debian) and above nothing. */
static void may(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;
	bool all = doctor_may(d, DOCTOR_PERFMON) || doctor_may(d, DOCTOR_SYS_ADMIN);
	bool closed = !strcmp(d->lockdown, "confidentiality");

	i->verdict = HWT_DOCTOR_YES;
	if (!all && d->paranoid > 2) {
		i->verdict = HWT_DOCTOR_NO;
		doctor_say(i->why, "perf_event_paranoid is %d: only root may record", d->paranoid);
		doctor_say(i->next, "sudo sysctl kernel.perf_event_paranoid=2 (own programs), or "
				"record as root");
		return;
	}
	if (closed || (!all && d->paranoid > 1)) {
		i->verdict = HWT_DOCTOR_PARTLY;
		if (closed)
			doctor_say(i->why, "the kernel is locked down (confidentiality): its own "
					"side can not be traced");
		else
			doctor_say(i->why, "perf_event_paranoid is %d: without rights only the "
					"user side of own programs",
				   d->paranoid);
	} else if (!all && d->paranoid > 0) {
		i->verdict = HWT_DOCTOR_PARTLY;
		doctor_say(i->why, "perf_event_paranoid is 1: without rights only own programs");
	}
	doctor_say(i->next, "hwtrace record -e intel_pt//%s -- PROGRAM",
		   i->verdict == HWT_DOCTOR_YES || d->paranoid <= 1 ? "" : "u");
	doctor_taken(d);
	doctor_untried(d);
}

static void missing(struct doctor *d)
{
	struct hwt_doctor_item *i = &d->item;

	i->verdict = HWT_DOCTOR_NO;
	doctor_say(i->works, MODEL);
	if (strcmp(d->vendor, "GenuineIntel")) {
		doctor_say(i->why, "this CPU (%s) has none", *d->vendor ? d->vendor : "vendor not "
				"known");
		return;
	}
	if (doctor_flag(d, "intel_pt")) {
		doctor_say(i->why, "the CPU has it, but this kernel offers no unit: it is in use "
				"since before Linux began, or "
			   "the kernel is built without it");
		doctor_say(i->next, "sudo dmesg | grep -i 'PT is enabled at boot': if it says so, "
				"the firmware (or a debugger) uses it: "
			   "switch that off in its set-up");
	} else if (d->vm) {
		doctor_say(i->why, "this virtual machine is not shown one");
		doctor_say(i->next, "record on the host; or let the hypervisor pass it on (KVM: "
				"module parameter "
			   "kvm_intel.pt_mode=1 where the host's kernel has it, and a CPU model "
			   "with intel-pt)");
	} else {
		doctor_say(i->why, "this CPU has none, or its firmware hides it");
		doctor_say(i->next, "look for \"processor trace\" in the firmware's set-up; Core "
				"processors have it since Broadwell");
	}
}

void doctor_pt(struct doctor *d)
{
	if (doctor_number(d, PMU "/type") < 0) {
		missing(d);
		return;
	}
	found(d);
	may(d);
}
