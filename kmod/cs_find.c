// SPDX-License-Identifier: GPL-2.0-only
#include <linux/acpi.h>
#include <linux/amba/bus.h>
#include <linux/bits.h>
#include <linux/delay.h>
#include <linux/io.h>
#include <linux/module.h>
#include <linux/of.h>
#include <linux/platform_device.h>
#include <linux/property.h>
#include <asm/barrier.h>
#include <asm/sysreg.h>

#include "cs_find.h"
#include "etm4_prog.h"
#include "mem.h"

#define UNIT	"arm,coresight-etm4x"
#define SYS	"arm,coresight-etm4x-sysreg"
#define ETE	"arm,embedded-trace-extension"
#define BUFFER	"arm,trace-buffer-extension"

static LIST_HEAD(devs);
static const char *given_why;	/* what parameters tell of can not be had */

static void __iomem *at(struct hwreg *r, u32 reg)
{
	return container_of(r, struct cs_dev, r)->base + reg;
}

/* An access that the bus refuses can not be caught here: it ends the kernel. */
static int mem_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	*v = readl_relaxed(at(r, reg));
	return 0;
}

static int mem_wr32(struct hwreg *r, u32 reg, u32 v)
{
	writel_relaxed(v, at(r, reg));
	return 0;
}

/* TRFCR is of the CPU, which is this one. The bus of debug components has 32 bits. */
static int mem_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	if (reg == TRC_TRFCR) {
		*v = read_sysreg_s(sys_reg(3, 0, 1, 2, 1));
		return 0;
	}
	*v = readl_relaxed(at(r, reg));
	*v |= (u64)readl_relaxed(at(r, reg + 4)) << 32;
	return 0;
}

static int mem_wr64(struct hwreg *r, u32 reg, u64 v)
{
	if (reg == TRC_TRFCR) {
		write_sysreg_s(v, sys_reg(3, 0, 1, 2, 1));
		return 0;
	}
	writel_relaxed((u32)v, at(r, reg));
	writel_relaxed((u32)(v >> 32), at(r, reg + 4));
	return 0;
}

void cs_barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	if (kind == HWREG_TRACE)
		asm volatile("hint #18" : : : "memory");	/* TSB CSYNC */
	dsb(sy);
	if (kind == HWREG_CONTEXT)
		isb();
}

void cs_relax(struct hwreg *r)
{
	udelay(1);
}

void cs_regs_init(struct cs_dev *d)
{
	d->r = (struct hwreg){ mem_rd32, mem_wr32, mem_rd64, mem_wr64, cs_barrier, cs_relax };
}

enum cs_kind cs_kind_of(const struct device_node *node)
{
	static const struct { const char *name; enum cs_kind kind; } all[] = {
		{ UNIT, CS_UNIT }, { SYS, CS_SYS_UNIT }, { ETE, CS_SYS_UNIT },
		{ "arm,coresight-tmc", CS_SINK }, { "arm,coresight-dynamic-funnel", CS_FUNNEL },
		{ "arm,coresight-funnel", CS_FUNNEL },
		{ "arm,coresight-dynamic-replicator", CS_REPLICATOR }, { BUFFER, CS_BUFFER },
	};
	unsigned int i;

	for (i = 0; node && i < ARRAY_SIZE(all); i++)
		if (of_device_is_compatible(node, all[i].name))
			return all[i].kind;
	return CS_NONE;
}

static int cpu_of(struct device_node *node)
{
	struct device_node *cpu = of_parse_phandle(node, "cpu", 0);
	int nr = cpu ? of_cpu_node_to_id(cpu) : -1;

	of_node_put(cpu);
	return nr;
}

static struct cs_dev *add(struct device *dev, enum cs_kind kind)
{
	struct cs_dev *d = mem_alloc(sizeof(*d));

	if (!d)
		return NULL;
	cs_regs_init(d);
	d->kind = kind;
	d->dev = dev;
	d->node = dev->of_node;
	d->cpu = kind == CS_UNIT || kind == CS_SYS_UNIT ? cpu_of(dev->of_node) : -1;
	list_add_tail(&d->list, &devs);
	return d;
}

static void forget(void *arg)
{
	struct cs_dev *d = arg;

	list_del(&d->list);
	if (d->base)
		iounmap(d->base);
	mem_free(d);
}

/* The bus calls this with the device's clock and power on, and they stay so until it is removed. */
static int probe(struct amba_device *a, const struct amba_id *id)
{
	enum cs_kind kind = cs_kind_of(a->dev.of_node);
	struct cs_dev *d;

	if (kind != CS_UNIT && kind != CS_SINK && kind != CS_FUNNEL && kind != CS_REPLICATOR)
		return -ENODEV;
	d = add(&a->dev, kind);
	if (!d)
		return -ENOMEM;
	d->base = ioremap(a->res.start, 4096);
	if (!d->base) {
		forget(d);
		return -ENOMEM;
	}
	return devm_add_action_or_reset(&a->dev, forget, d);
}

/* All parts of CoreSight that Arm has designed; which of them they are the device tree says. */
static const struct amba_id ids[] = {
	{ .id = 0x000bb000, .mask = 0x000ff000 },
	{ 0, 0 }
};

static void nothing(struct amba_device *a)
{
}

static struct amba_driver driver = {
	.drv = { .name = "hwtrace", .owner = THIS_MODULE, .suppress_bind_attrs = true },
	.probe = probe,
	.remove = nothing,
	.id_table = ids,
};

/* Those without registers in memory. */
static int sys_probe(struct platform_device *p)
{
	struct cs_dev *d = add(&p->dev, cs_kind_of(p->dev.of_node));

	return d ? devm_add_action_or_reset(&p->dev, forget, d) : -ENOMEM;
}

static const struct of_device_id sys_ids[] = {
	{ .compatible = SYS }, { .compatible = ETE }, { .compatible = BUFFER }, { }
};

static struct platform_driver sys_driver = {
	.driver = { .name = "hwtrace", .of_match_table = sys_ids, .suppress_bind_attrs = true },
	.probe = sys_probe,
};

int cs_find(void)
{
	struct cs_dev *d;
	int rc = amba_driver_register(&driver), n = 0;

	if (rc)
		return rc;
	rc = platform_driver_register(&sys_driver);
	if (rc) {
		amba_driver_unregister(&driver);
		return rc;
	}
	given_why = NULL;
	rc = cs_given_find(&devs, &given_why);
	list_for_each_entry(d, &devs, list)
		n += d->cpu >= 0;
	/* who gave parameters wants those */
	return rc < 0 ? 0 : n;
}

void cs_let_go(void)
{
	cs_given_let_go(&devs);
	platform_driver_unregister(&sys_driver);
	amba_driver_unregister(&driver);
}

struct cs_dev *cs_unit_of(unsigned int cpu)
{
	struct cs_dev *d;

	list_for_each_entry(d, &devs, list)
		if (d->cpu == (int)cpu)
			return d;
	return NULL;
}

struct cs_dev *cs_dev_of(const struct device_node *node)
{
	struct cs_dev *d;

	list_for_each_entry(d, &devs, list)
		if (d->node == node && node)
			return d;
	return NULL;
}

int cs_path_of(const struct cs_dev *unit, struct cs_path *p, const char **why)
{
	*p = (struct cs_path){ 0 };
	if (!unit->at)
		return cs_path_find(unit->node, p, why);
	p->sink = cs_given_sink(&devs);
	return 0;
}

bool cs_coherent(const struct cs_dev *d)
{
	return d->dev && device_get_dma_attr(d->dev) == DEV_DMA_COHERENT;
}

struct asked { char *to; size_t n; };

static int tell(struct device *dev, void *arg)
{
	enum cs_kind kind = cs_kind_of(dev->of_node);
	struct asked *a = arg;

	if (!dev->driver || (kind != CS_UNIT && kind != CS_SYS_UNIT))
		return 0;
	snprintf(a->to, a->n, "the kernel's driver %s has the trace units", dev->driver->name);
	return 1;
}

void cs_why_none(char *to, size_t n)
{
	struct asked a = { to, n };

	strscpy(to, given_why ? given_why :
		acpi_disabled ? "the device tree tells of no ETMv4 or ETE" :
		"of trace units that ACPI tells of this module knows nothing yet", n);
	if (given_why)
		return;
	if (!bus_for_each_dev(&amba_bustype, NULL, &a, tell))
		bus_for_each_dev(&platform_bus_type, NULL, &a, tell);
}
