// SPDX-License-Identifier: GPL-2.0-only
/*
 * A CPU that does not know a register takes an exception, which can not be caught here: so nothing
 * is touched that ID_AA64DFR0_EL1 does not tell of, and nothing that is not in the lists.
 */
#include <linux/mm.h>

#include <asm/cpufeature.h>
#include <asm/mmu.h>
#include <asm/sysreg.h>

#include "cs_find.h"
#include "cs_sys.h"
#include "cs_sys_regs.h"
#include "etm4_prog.h"

#define UNIT(o)		sys_reg(2, 1, CS_SYS_CRN(o), CS_SYS_CRM(o), CS_SYS_OP2(o))
#define BUFFER(n)	sys_reg(3, 0, 9, 11, n)
#define TRFCR		sys_reg(3, 0, 1, 2, 1)

#define READ_ONE(o)	case (o): *v = read_sysreg_s(UNIT(o)); return 0;
#define WRITE_ONE(o)	case (o): write_sysreg_s(v, UNIT(o)); return 0;
#define READ_B(n)	case (n): *v = read_sysreg_s(BUFFER(n)); return 0;
#define WRITE_B(n)	case (n): write_sysreg_s(v, BUFFER(n)); return 0;

static int unit_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	switch (reg) {
	CS_SYS_READ(READ_ONE)
	CS_SYS_BOTH(READ_ONE)
	default: return -EFAULT;
	}
}

static int unit_wr32(struct hwreg *r, u32 reg, u32 v)
{
	switch (reg) {
	CS_SYS_WRITE(WRITE_ONE)
	CS_SYS_BOTH(WRITE_ONE)
	default: return -EFAULT;
	}
}

static int unit_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	switch (reg) {
	CS_SYS_WIDE(READ_ONE)
	case TRC_TRFCR: *v = read_sysreg_s(TRFCR); return 0;
	default: return -EFAULT;
	}
}

static int unit_wr64(struct hwreg *r, u32 reg, u64 v)
{
	switch (reg) {
	CS_SYS_WIDE(WRITE_ONE)
	case TRC_TRFCR: write_sysreg_s(v, TRFCR); return 0;
	default: return -EFAULT;
	}
}

static int buffer_rd64(struct hwreg *r, u32 reg, u64 *v)
{
	switch (reg) {
	CS_SYS_BUFFER(READ_B)
	CS_SYS_BUFFER_READ(READ_B)
	default: return -EFAULT;
	}
}

static int buffer_wr64(struct hwreg *r, u32 reg, u64 v)
{
	switch (reg) {
	CS_SYS_BUFFER(WRITE_B)
	default: return -EFAULT;
	}
}

/* A trace buffer has none of 32 bits. */
static int none_rd32(struct hwreg *r, u32 reg, u32 *v)
{
	return -EFAULT;
}

static int none_wr32(struct hwreg *r, u32 reg, u32 v)
{
	return -EFAULT;
}

struct hwreg *cs_sys_unit(unsigned int cpu)
{
	static struct hwreg r = { unit_rd32, unit_wr32, unit_rd64, unit_wr64, cs_barrier,
		cs_relax };

	return &r;
}

struct hwreg *cs_sys_buffer(unsigned int cpu)
{
	static struct hwreg r = { none_rd32, none_wr32, buffer_rd64, buffer_wr64, cs_barrier,
		cs_relax };

	return &r;
}

/*
 * Buffers that write where they were not told to, or whose trace may be lost without a word. The
 * kernel knows the CPUs, as far as it was built to; there is a way round some of them, not here.
 */
static const char *erratum(void)
{
	static const struct { int cap; const char *why; } known[] = {
		{ ARM64_WORKAROUND_TRBE_OVERWRITE_FILL_MODE,
		  "an erratum: its trace buffer may write over its own beginning" },
		{ ARM64_WORKAROUND_TRBE_WRITE_OUT_OF_RANGE,
		  "an erratum: its trace buffer may write behind its end" },
		{ ARM64_WORKAROUND_TSB_FLUSH_FAILURE,
		  "an erratum: its trace can not be waited for" },
		{ ARM64_WORKAROUND_2064142, "erratum 2064142 of its trace buffer" },
		{ ARM64_WORKAROUND_2038923, "erratum 2038923 of its trace buffer" },
		{ ARM64_WORKAROUND_1902691, "erratum 1902691 of its trace buffer" },
	};
	unsigned int i;

	/* addresses of the kernel do not translate then, the buffer's neither */
	if (arm64_kernel_unmapped_at_el0())
		return "its trace buffer can not write while programs run: the kernel is not "
			"mapped then (kpti)";
	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (this_cpu_has_cap(known[i].cap))
			return known[i].why;
	return NULL;
}

/* Fields TraceVer, TraceFilt, TraceBuffer; 15 is none, in those that have a sign. */
void cs_sys_look(struct cs_sys *s)
{
	u64 dfr = read_sysreg(id_aa64dfr0_el1);
	unsigned int buffer = dfr >> 44 & 0xf;

	s->unit = dfr >> 4 & 0xf;
	s->trf = dfr >> 40 & 0xf;
	s->buffer = s->unit && s->trf && buffer && buffer != 0xf;
	s->erratum = s->buffer ? erratum() : NULL;
}
