// SPDX-License-Identifier: GPL-2.0-only
/*
 * Trace units and a controller that nothing but a parameter of the module tells of:
 * etm=ADDRESS@CPU,... sink=ADDRESS powered=1. A read of a unit without power may hang the machine,
 * and no driver holds its clock and power: so who loads the module has to say that it is on. What
 * lies between them passes all trace on, or was told to by others.
 */
#include <linux/cpumask.h>
#include <linux/err.h>
#include <linux/io.h>
#include <linux/ioport.h>
#include <linux/kernel.h>
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/platform_device.h>

#include "cs_find.h"
#include "mem.h"

#define PAGE	4096ull

static char *etm, *sink;
static bool powered;
module_param(etm, charp, 0444);
MODULE_PARM_DESC(etm, "trace units that nothing else tells of: ADDRESS@CPU,ADDRESS@CPU...");
module_param(sink, charp, 0444);
MODULE_PARM_DESC(sink, "the trace memory controller that they lead to: ADDRESS");
module_param(powered, bool, 0444);
MODULE_PARM_DESC(powered, "these have power, and keep it");

static struct platform_device *pdev;	/* an ETR's memory is for it */

static bool number(const char **s, u64 *v)
{
	char *end;

	*v = simple_strtoull(*s, &end, 0);
	if (end == *s)
		return false;
	*s = end;
	return true;
}

static int add(struct list_head *devs, u64 at, enum cs_kind kind, int cpu, const char **why)
{
	struct cs_dev *d;

	*why = "parameters of the module: an address is none of a page, or is memory";
	if (!at || at % PAGE ||
	    region_intersects(at, PAGE, IORESOURCE_SYSTEM_RAM, IORES_DESC_NONE) != REGION_DISJOINT)
		return -EINVAL;
	*why = "parameters of the module: a driver of the kernel has an address";
	if (!request_mem_region(at, PAGE, "hwtrace"))
		return -EBUSY;
	*why = "no memory";
	d = mem_alloc(sizeof(*d));
	if (d)
		d->base = ioremap(at, PAGE);
	if (!d || !d->base) {
		mem_free(d);
		release_mem_region(at, PAGE);
		return -ENOMEM;
	}
	cs_regs_init(d);
	d->kind = kind;
	d->cpu = cpu;
	d->at = at;
	d->dev = kind == CS_SINK ? &pdev->dev : NULL;
	list_add(&d->list, devs);	/* before what others tell of that CPU */
	return 0;
}

static bool is_given(const struct list_head *devs, int cpu)
{
	struct cs_dev *d;

	list_for_each_entry(d, devs, list)
		if (d->at && d->cpu == cpu)
			return true;
	return false;
}

static int add_units(struct list_head *devs, const char **why)
{
	const char *s = etm;
	u64 at, cpu;
	int n = 0;

	do {
		bool right = number(&s, &at) && *s++ == '@' && number(&s, &cpu) &&
			(*s == ',' || !*s);
		int rc;

		*why = "parameter etm of the module: ADDRESS@CPU, and a comma before the next";
		if (!right)
			return -EINVAL;
		*why = "parameter etm of the module: there is no such CPU";
		if (cpu >= nr_cpu_ids || !cpu_possible(cpu))
			return -EINVAL;
		*why = "parameter etm of the module: a CPU has one unit";
		if (is_given(devs, cpu))
			return -EINVAL;
		rc = add(devs, at, CS_UNIT, cpu, why);
		if (rc)
			return rc;
		n++;
	} while (*s++ == ',');
	return n;
}

int cs_given_find(struct list_head *devs, const char **why)
{
	const char *s = sink;
	u64 at;
	int rc;

	if (!etm && !sink)
		return 0;
	*why = "parameters of the module: etm and sink are given together";
	if (!etm || !sink)
		return -EINVAL;
	*why = "parameters of the module: nobody says whether these units have power (powered=1)";
	if (!powered)
		return -ENODEV;
	*why = "parameter sink of the module: ADDRESS";
	if (!number(&s, &at) || *s)
		return -EINVAL;
	pdev = platform_device_register_simple("hwtrace-sink", PLATFORM_DEVID_AUTO, NULL, 0);
	if (IS_ERR(pdev)) {
		rc = PTR_ERR(pdev);
		pdev = NULL;
		*why = "no memory";
		return rc;
	}
	rc = add(devs, at, CS_SINK, -1, why);
	if (!rc)
		rc = add_units(devs, why);
	if (rc < 0)
		cs_given_let_go(devs);
	else
		*why = NULL;
	return rc;
}

void cs_given_let_go(struct list_head *devs)
{
	struct cs_dev *d, *next;

	list_for_each_entry_safe(d, next, devs, list) {
		if (!d->at)
			continue;
		list_del(&d->list);
		iounmap(d->base);
		release_mem_region(d->at, PAGE);
		mem_free(d);
	}
	if (pdev)
		platform_device_unregister(pdev);
	pdev = NULL;
}

struct cs_dev *cs_given_sink(const struct list_head *devs)
{
	struct cs_dev *d;

	list_for_each_entry(d, devs, list)
		if (d->at && d->kind == CS_SINK)
			return d;
	return NULL;
}
