// SPDX-License-Identifier: GPL-2.0-only
#include <linux/delay.h>
#include <asm/barrier.h>
#include <asm/intel_pt.h>
#include <asm/msr.h>
#include <asm/processor.h>
#include <asm/special_insns.h>

#include "compat/compat.h"
#include "pt_msr.h"

static int rd64(struct hwreg *r, u32 reg, u64 *v)
{
	u64 n;

	if (compat_rdmsr_safe(reg, &n))
		return -EFAULT;
	*v = n;
	return 0;
}

static int wr64(struct hwreg *r, u32 reg, u64 v)
{
	return compat_wrmsr_safe(reg, v) ? -EFAULT : 0;
}

/* There are none. */
static int rd32(struct hwreg *r, u32 reg, u32 *v)
{
	return -EFAULT;
}

static int wr32(struct hwreg *r, u32 reg, u32 v)
{
	return -EFAULT;
}

/* WRMSR waits for what was before it: only memory has to be ordered. */
static void barrier_for(struct hwreg *r, enum hwreg_barrier kind)
{
	if (kind == HWREG_MEMORY)
		mb();
}

static void relax(struct hwreg *r)
{
	udelay(1);
}

static struct hwreg regs = { rd32, wr32, rd64, wr64, barrier_for, relax };

struct hwreg *pt_msr(unsigned int cpu)
{
	return &regs;	/* the same numbers on each CPU */
}

/* The first CPUs with Intel PT (Broadwell) have the bit, but must not have it cleared. */
static bool must_branch(void)
{
	switch (boot_cpu_data.x86 == 6 ? boot_cpu_data.x86_model : 0) {
	case 0x3d:
	case 0x47:
	case 0x4f:
	case 0x56: return true;
	default: return false;
	}
}

void pt_msr_leaves(struct pt_leaves *l)
{
	u32 a, b, c, d;

	*l = (struct pt_leaves){ .max = cpuid_eax(0),
		.hypervisor = boot_cpu_has(X86_FEATURE_HYPERVISOR),
		.vmx = __read_cr4() & X86_CR4_VMXE, .must_branch = must_branch() };
	if (boot_cpu_data.x86_vendor != X86_VENDOR_INTEL)
		l->max = 0;
	if (l->max >= 7)
		l->l7_ebx = cpuid_ebx(7);
	if (l->max >= 0x14 && l->l7_ebx >> 25 & 1) {
		cpuid_count(0x14, 0, &a, &b, &c, &d);
		l->l14_ebx = b;
		l->l14_ecx = c;
		if (a)
			cpuid_count(0x14, 1, &l->l14_1_eax, &l->l14_1_ebx, &c, &d);
	}
	l->phys_bits = 36;
	l->virt_bits = 48;
	if (cpuid_eax(0x80000000) >= 0x80000008) {
		a = cpuid_eax(0x80000008);
		l->phys_bits = a & 0xff;
		l->virt_bits = a >> 8 & 0xff;
	}
}

/* PTWRITE RAX, for assemblers that do not know it. */
notrace void pt_msr_mark(u64 value)
{
	asm volatile(".byte 0xf3, 0x48, 0x0f, 0xae, 0xe0" : : "a" (value) : "memory");
}

bool pt_msr_driver(void)
{
	return intel_pt_validate_hw_cap(PT_CAP_topa_output);
}
