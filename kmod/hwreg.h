/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_HWREG_H
#define HWT_KMOD_HWREG_H

/*
 * The only way in which pt_prog.c, etm4_prog.c and tmc_prog.c touch a trace unit: real registers
 * in the kernel, a model of them in a program that tests these files.
 *
 * A register is the number of an MSR (Intel PT), or an offset into the unit's 4 KiB (CoreSight);
 * whether an ETM is reached by memory or by system registers is for who fills this struct. Who
 * calls is on the CPU of the unit where the unit is one of system registers.
 */
#ifdef __KERNEL__

#include <linux/bits.h>
#include <linux/errno.h>
#include <linux/string.h>
#include <linux/types.h>

#else /* a program */

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;

#endif

enum hwreg_barrier {
	HWREG_MEMORY,	/* what was stored before is seen by the unit (x86: the CPU, arm64: DSB) */
	HWREG_CONTEXT,	/* register writes before have their effect (arm64: ISB) */
	HWREG_TRACE	/* trace of what ran before has left the unit (arm64: TSB CSYNC) */
};

struct hwreg {
	/* 0, or -EFAULT: refused by the CPU or the bus (#GP, undefined, abort); *v is untouched */
	int (*rd32)(struct hwreg *r, u32 reg, u32 *v);
	int (*wr32)(struct hwreg *r, u32 reg, u32 v);
	int (*rd64)(struct hwreg *r, u32 reg, u64 *v);
	int (*wr64)(struct hwreg *r, u32 reg, u64 v);
	void (*barrier)(struct hwreg *r, enum hwreg_barrier kind);
	/* Between two looks at a status: about a microsecond; it does not sleep. */
	void (*relax)(struct hwreg *r);
};

/* The kernel has a macro of that name, which a call through the pointer would meet. */
static inline void hwreg_barrier(struct hwreg *r, enum hwreg_barrier kind)
{
	(r->barrier)(r, kind);
}

#endif
