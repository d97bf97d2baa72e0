/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_COMPAT_H
#define HWT_KMOD_COMPAT_H

/*
 * What differs between kernels 6.1 and 6.12, and is known to differ in later ones; nowhere else is
 * the version asked for. Prototypes of tracepoints are told apart by the compiler (hook.h).
 */
#include <linux/mm.h>
#include <linux/module.h>
#include <linux/version.h>
#include <linux/preempt.h>

/*
 * What preempt_count() has more inside a probe than outside: the tracepoint switches preemption
 * off. From 6.13 on not for system calls.
 */
#ifdef CONFIG_PREEMPT_COUNT
#define COMPAT_TP_PREEMPT	1u
#else
#define COMPAT_TP_PREEMPT	0u
#endif

/* Around probes of system calls: there it is on from 6.13 on, and goes off here. */
static __always_inline void compat_call_begin(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	preempt_disable_notrace();
#endif
}

static __always_inline void compat_call_end(void)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
	preempt_enable_notrace();
#endif
}

/*
 * A variable of this CPU, as an operand that __percpu_arg() names: newer kernels (6.12) have the
 * segment in its type, where the compiler knows of those, and not in the prefix.
 */
#ifdef __my_cpu_var
#define COMPAT_CPU_VAR(v)	__my_cpu_var(v)
#else
#define COMPAT_CPU_VAR(v)	(v)
#endif

/* ipi_send_cpu and ipi_send_cpumask came with 6.4. */
#define COMPAT_IPI_SEND		(LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0))

/* Renamed in 6.16. */
#ifdef CONFIG_X86
#include <asm/msr.h>
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 16, 0)
#define compat_rdmsr_safe(reg, v)	rdmsrq_safe(reg, v)
#define compat_wrmsr_safe(reg, v)	wrmsrq_safe(reg, v)
#else
#define compat_rdmsr_safe(reg, v)	rdmsrl_safe(reg, v)
#define compat_wrmsr_safe(reg, v)	wrmsrl_safe(reg, v)
#endif
#endif

/* Flags of a mapping that is being made. */
static inline void compat_vm_flags(struct vm_area_struct *v, unsigned long set,
				   unsigned long clear)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 3, 0)
	vm_flags_mod(v, set, clear);
#else
	v->vm_flags = (v->vm_flags | set) & ~clear;
#endif
}

/* Where a module's code lies. */
static inline void compat_module_text(const struct module *m, u64 *addr, u64 *size)
{
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 4, 0)
	*addr = (unsigned long)m->mem[MOD_TEXT].base;
	*size = m->mem[MOD_TEXT].size;
#else
	*addr = (unsigned long)m->core_layout.base;
	*size = m->core_layout.text_size;
#endif
}

#endif
