/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_PT_REGS_H
#define HWT_KMOD_PT_REGS_H

/* Registers of Intel PT; what is cited is told in pt_prog.h. For pt_caps.c and pt_prog.c only. */
#include "pt_prog.h"

enum pt_msr {
	MSR_GLOBAL_STATUS	= 0x38e,	/* IA32_PERF_GLOBAL_STATUS */
	MSR_GLOBAL_CLEAR	= 0x390,	/* IA32_PERF_GLOBAL_OVF_CTRL */
	MSR_VMX_MISC		= 0x485,
	MSR_BASE		= 0x560,	/* IA32_RTIT_OUTPUT_BASE */
	MSR_PTRS		= 0x561,	/* IA32_RTIT_OUTPUT_MASK_PTRS */
	MSR_CTL			= 0x570,
	MSR_STATUS		= 0x571,
	MSR_CR3			= 0x572,
	MSR_ADDR		= 0x580		/* ADDRn_A, ADDRn_B by turns */
};

#define BIT64(n)	(1ull << (n))
#define TOPA_PMI	BIT64(55)	/* of both MSR_GLOBAL_ */
#define VMX_TRACE	BIT64(14)	/* of MSR_VMX_MISC */

/* Table "IA32_RTIT_CTL MSR". */
#define CTL_ON		BIT64(0)
#define CTL_CYC		BIT64(1)
#define CTL_OS		BIT64(2)
#define CTL_USER	BIT64(3)
#define CTL_POWER	BIT64(4)
#define CTL_PTW_IP	BIT64(5)
#define CTL_CR3		BIT64(7)
#define CTL_TOPA	BIT64(8)
#define CTL_MTC		BIT64(9)
#define CTL_TSC		BIT64(10)
#define CTL_NO_RETC	BIT64(11)
#define CTL_PTW		BIT64(12)
#define CTL_BRANCH	BIT64(13)
#define CTL_MTC_AT	14
#define CTL_CYC_AT	19
#define CTL_PSB_AT	24
#define CTL_EVENTS	BIT64(31)
#define CTL_RANGE_AT	32		/* four bits each: 1: trace only this, 2: stop there */
#define CTL_NO_TNT	BIT64(55)

/* Table "IA32_RTIT_STATUS MSR". */
#define STATUS_ERROR	BIT64(4)
#define STATUS_STOPPED	BIT64(5)

/* Section "Table of Physical Addresses (ToPA)". */
#define TOPA_END	BIT64(0)
#define TOPA_INT	BIT64(2)
#define TOPA_STOP	BIT64(4)
#define TOPA_SIZE_AT	6		/* 4 KiB << n */

/* What a unit with this wish, which was checked, has in MSR_CTL, without CTL_ON. */
u64 pt_ctl(const struct pt_caps *c, const struct pt_wish *w);

#endif
