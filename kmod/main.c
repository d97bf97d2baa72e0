// SPDX-License-Identifier: GPL-2.0-only
#include <linux/cpuhotplug.h>
#include <linux/module.h>

#include "dev.h"
#include "hook.h"
#include "session.h"
#include "unit.h"

static int off_slot, on_slot;

static void tell_cpu(unsigned int cpu, bool online)
{
	struct hwt_rec_power_cpu r = { .target_cpu = cpu, .online = online };

	preempt_disable();	/* as in the probe of a tracepoint */
	vtp_power_cpu(&r, NULL);
	preempt_enable();
}

/* These two run on another CPU, while this one is off. */
static int cpu_comes(unsigned int cpu)
{
	session_cpu_state(cpu, true);
	return 0;
}

static int cpu_gone(unsigned int cpu)
{
	session_cpu_state(cpu, false);
	tell_cpu(cpu, false);
	return 0;
}

/* These two on the CPU itself. */
static int cpu_up(unsigned int cpu)
{
	tell_cpu(cpu, true);
	session_cpu_here(true);
	return 0;
}

static int cpu_down(unsigned int cpu)
{
	session_cpu_here(false);
	return 0;
}

static int add_cpus(void)
{
	off_slot = cpuhp_setup_state_nocalls(CPUHP_BP_PREPARE_DYN, "hwtrace:off", cpu_comes,
					     cpu_gone);
	if (off_slot < 0)
		return off_slot;
	on_slot = cpuhp_setup_state_nocalls(CPUHP_AP_ONLINE_DYN, "hwtrace:on", cpu_up,
					    cpu_down);
	if (on_slot < 0)
		cpuhp_remove_state_nocalls(off_slot);
	return on_slot < 0 ? on_slot : 0;
}

static void remove_cpus(void)
{
	cpuhp_remove_state_nocalls(on_slot);
	cpuhp_remove_state_nocalls(off_slot);
}

static int __init hwtrace_init(void)
{
	int rc;

	vtp_init();
	hook_init();
	unit_init();
	rc = add_cpus();
	if (!rc) {
		rc = dev_init();
		if (rc)
			remove_cpus();
	}
	if (rc) {
		unit_exit();
		hook_exit();
	}
	return rc;
}

static void __exit hwtrace_exit(void)
{
	dev_exit();
	remove_cpus();
	unit_exit();
	hook_exit();
}

module_init(hwtrace_init);
module_exit(hwtrace_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Kernel events on the hardware counter");
