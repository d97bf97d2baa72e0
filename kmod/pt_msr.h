/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_PT_MSR_H
#define HWT_KMOD_PT_MSR_H

/* Intel PT of the CPU that runs this: real registers. A test puts others in their place. */
#include "pt_prog.h"

/* Of @cpu, used on that CPU only. */
struct hwreg *pt_msr(unsigned int cpu);
void pt_msr_leaves(struct pt_leaves *l);
/* Has the kernel a driver of its own for it? */
bool pt_msr_driver(void);
/* Writes @value into the trace of this CPU, which must have PTWRITE. */
void pt_msr_mark(u64 value);

#endif
