/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CS_FIND_H
#define HWT_KMOD_CS_FIND_H

/*
 * Trace units, what is between them and controllers, and controllers, as the device tree tells of
 * them. They are had as a driver has devices, while a session needs them: the kernel so gives them
 * clocks and power, and its own drivers, or ours, keep the other out.
 */
#include <linux/list.h>

#include "hwreg.h"

struct device;
struct device_node;

enum cs_kind {
	CS_UNIT,		/* in memory */
	CS_SYS_UNIT,		/* by system registers of its CPU: @r is not used */
	CS_SINK,
	CS_FUNNEL,
	CS_REPLICATOR,
	CS_BUFFER,		/* trace buffers of CPUs: only kept from others */
	CS_NONE
};

struct cs_dev {
	struct hwreg r;		/* first */
	struct list_head list;
	enum cs_kind kind;
	struct device *dev;	/* NULL: given by a parameter of the module */
	struct device_node *node;
	void __iomem *base;
	u64 at;			/* where it was given to be */
	int cpu;		/* of a trace unit, -1: another, or not known */
};

/* The number of trace units that are ours now, or an error. */
int cs_find(void);
void cs_let_go(void);
struct cs_dev *cs_unit_of(unsigned int cpu);
struct cs_dev *cs_dev_of(const struct device_node *node);
/* Why there are none: who has them, or that nobody tells of any. */
void cs_why_none(char *to, size_t n);
bool cs_coherent(const struct cs_dev *d);

/* Of the device that @node tells of. */
enum cs_kind cs_kind_of(const struct device_node *node);

#define CS_HOPS	8	/* of trace from a unit to its controller */

/* A part on the way that must be told to let trace through: which of its ports. */
struct cs_hop { struct cs_dev *dev; unsigned int port; };

struct cs_path {
	struct cs_dev *sink;
	unsigned int n;		/* from the unit on */
	struct cs_hop hop[CS_HOPS];
};

/* To the first controller on the way of a unit's trace. -ENODEV: why there is none. */
int cs_path_of(const struct cs_dev *unit, struct cs_path *p, const char **why);
/* cs_path.c: the same by the device tree. */
int cs_path_find(const struct device_node *unit, struct cs_path *p, const char **why);

/*
 * cs_given.c: what parameters of the module tell of, where nothing else does. Added to @devs; the
 * number of trace units, 0: none are given, or an error with @why.
 */
int cs_given_find(struct list_head *devs, const char **why);
void cs_given_let_go(struct list_head *devs);
struct cs_dev *cs_given_sink(const struct list_head *devs);

/* How such a device is reached in memory, and what all have. */
void cs_regs_init(struct cs_dev *d);
void cs_barrier(struct hwreg *r, enum hwreg_barrier kind);
void cs_relax(struct hwreg *r);

#endif
