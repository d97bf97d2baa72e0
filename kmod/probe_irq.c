// SPDX-License-Identifier: GPL-2.0-only
/* Interrupts, softirqs, work queues: include/trace/events/irq.h, ipi.h, workqueue.h. */
#include <linux/interrupt.h>
#include <linux/workqueue.h>
#include <trace/events/irq.h>
#include <trace/events/ipi.h>
#include <trace/events/workqueue.h>
#ifdef CONFIG_X86
#include <asm/trace/irq_vectors.h>
#endif

#include "compat/compat.h"
#include "hook.h"
#include "probe.h"

static void on_irq(void *data, int irq, struct irqaction *action)
{
	struct hwt_rec_irq_entry r = { .irq = irq, .kind = HWT_irq_kind_device };

	vtp_name(r.name, action->name ?: "-");
	vtp_irq_entry(&r, NULL);
}

static void on_irq_end(void *data, int irq, struct irqaction *action, int ret)
{
	struct hwt_rec_irq_exit r = { .irq = irq, .kind = HWT_irq_kind_device };

	r.result = ret == IRQ_NONE ? HWT_irq_result_none :
		ret == IRQ_HANDLED ? HWT_irq_result_handled : HWT_irq_result_wake_thread;
	vtp_irq_exit(&r, NULL);
}

#ifdef CONFIG_X86
/* Interrupts of the local APIC have no handler in the table of devices, but each a tracepoint. */
#define VECTOR(tp, what) \
	static void on_##tp(void *data, int vector) \
	{ \
		struct hwt_rec_irq_entry r = { .irq = vector, .kind = HWT_irq_kind_##what }; \
		\
		vtp_name(r.name, #tp); \
		vtp_irq_entry(&r, NULL); \
	} \
	static void on_##tp##_end(void *data, int vector) \
	{ \
		struct hwt_rec_irq_exit r = { .irq = vector, .kind = HWT_irq_kind_##what, \
			.result = HWT_irq_result_handled }; \
		\
		vtp_irq_exit(&r, NULL); \
	}
VECTOR(local_timer, timer)
VECTOR(reschedule, reschedule)
VECTOR(call_function, call_many)
VECTOR(call_function_single, call_one)
VECTOR(irq_work, irq_work)
VECTOR(spurious_apic, other)
VECTOR(error_apic, other)
VECTOR(x86_platform_ipi, other)
#ifdef CONFIG_X86_MCE_THRESHOLD
VECTOR(threshold_apic, other)
#endif
#ifdef CONFIG_X86_MCE_AMD
VECTOR(deferred_error_apic, other)
#endif
#ifdef CONFIG_X86_THERMAL_VECTOR
VECTOR(thermal_apic, other)
#endif
#define HOOK_VECTOR(tp) \
	{ HOOK_TP(tp##_entry, on_##tp, VTP_irq_entry) }, \
	{ HOOK_TP(tp##_exit, on_##tp##_end, VTP_irq_exit) }
#endif

/* A text says what for: arch/arm64/kernel/smp.c. */
static u32 kind_of(const char *reason)
{
	static const struct { const char *reason; u32 kind; } known[] = {
		{ "Rescheduling", HWT_irq_kind_reschedule },
		{ "Function call", HWT_irq_kind_call_many },
		{ "Single function call", HWT_irq_kind_call_one },
		{ "IRQ work", HWT_irq_kind_irq_work },
		{ "Timer broadcast", HWT_irq_kind_timer },
	};
	int i;

	for (i = 0; i < ARRAY_SIZE(known); i++)
		if (!strncmp(reason, known[i].reason, strlen(known[i].reason)))
			return known[i].kind;
	return HWT_irq_kind_other;
}

static void on_ipi(void *data, const char *reason)
{
	struct hwt_rec_irq_entry r = { .irq = U32_MAX, .kind = kind_of(reason) };

	vtp_name(r.name, reason);
	vtp_irq_entry(&r, NULL);
}

static void on_ipi_end(void *data, const char *reason)
{
	struct hwt_rec_irq_exit r = { .irq = U32_MAX, .kind = kind_of(reason),
		.result = HWT_irq_result_handled };

	vtp_irq_exit(&r, NULL);
}

/* One record for each 64 CPUs. */
static void put_mask(const struct cpumask *mask, struct hwt_rec_irq_ipi_send *r)
{
	const unsigned long *bits = cpumask_bits(mask);
	unsigned int i;

	for (i = 0; i < BITS_TO_LONGS(nr_cpu_ids); i++) {
		r->first_cpu = i * BITS_PER_LONG;
		r->cpus = READ_ONCE(bits[i]);
		if (r->cpus)
			vtp_irq_ipi_send(r, NULL);
	}
}

static void on_raise(void *data, const struct cpumask *mask, const char *reason)
{
	struct hwt_rec_irq_ipi_send r = { .kind = kind_of(reason), .callsite = U64_MAX,
		.callback = U64_MAX };

	put_mask(mask, &r);
}

#if COMPAT_IPI_SEND
/* Only the request to reschedule has no function (include/linux/smp.h). */
static void on_send(void *data, const unsigned int cpu, unsigned long callsite, void *callback)
{
	struct hwt_rec_irq_ipi_send r = { .first_cpu = cpu & ~63u, .cpus = 1ull << (cpu & 63),
		.callsite = callsite, .callback = (unsigned long)callback };

	r.kind = callback ? U32_MAX : HWT_irq_kind_reschedule;
	vtp_irq_ipi_send(&r, NULL);
}

static void on_send_mask(void *data, const struct cpumask *mask, unsigned long callsite,
			 void *callback)
{
	struct hwt_rec_irq_ipi_send r = { .callsite = callsite,
		.callback = (unsigned long)callback };

	r.kind = callback ? HWT_irq_kind_call_many : HWT_irq_kind_reschedule;
	put_mask(mask, &r);
}
#endif

#define SOFTIRQ(ev) \
	static void on_softirq_##ev(void *data, unsigned int vec) \
	{ \
		struct hwt_rec_softirq_##ev r = { .vec = vec }; \
		\
		vtp_softirq_##ev(&r, NULL); \
	}
SOFTIRQ(raise)
SOFTIRQ(entry)
SOFTIRQ(exit)

/* What a queue is called, and where the work goes, lies in structs that are private to it. */
static void on_queue(void *data, int req_cpu, struct pool_workqueue *pwq,
		     struct work_struct *work)
{
	struct hwt_rec_softirq_work_queue r = { .work = (unsigned long)work,
		.function = (unsigned long)work->func, .target_cpu = U32_MAX };

	r.wanted_cpu = req_cpu == WORK_CPU_UNBOUND ? U32_MAX : req_cpu;
	vtp_name(r.queue, "-");
	vtp_softirq_work_queue(&r, NULL);
}

static void on_work(void *data, struct work_struct *work)
{
	struct hwt_rec_softirq_work_start r = { .work = (unsigned long)work,
		.function = (unsigned long)work->func };

	vtp_softirq_work_start(&r, NULL);
}

static void on_work_end(void *data, struct work_struct *work, work_func_t function)
{
	struct hwt_rec_softirq_work_end r = { .work = (unsigned long)work,
		.function = (unsigned long)function };

	vtp_softirq_work_end(&r, NULL);
}

struct hook hooks_irq[] = {
	{ HOOK_TP(irq_handler_entry, on_irq, VTP_irq_entry) },
	{ HOOK_TP(irq_handler_exit, on_irq_end, VTP_irq_exit) },
#ifdef CONFIG_X86
	HOOK_VECTOR(local_timer),
	HOOK_VECTOR(reschedule),
	HOOK_VECTOR(call_function),
	HOOK_VECTOR(call_function_single),
	HOOK_VECTOR(irq_work),
	HOOK_VECTOR(spurious_apic),
	HOOK_VECTOR(error_apic),
	HOOK_VECTOR(x86_platform_ipi),
#ifdef CONFIG_X86_MCE_THRESHOLD
	HOOK_VECTOR(threshold_apic),
#endif
#ifdef CONFIG_X86_MCE_AMD
	HOOK_VECTOR(deferred_error_apic),
#endif
#ifdef CONFIG_X86_THERMAL_VECTOR
	HOOK_VECTOR(thermal_apic),
#endif
#endif
	{ HOOK_TP(ipi_entry, on_ipi, VTP_irq_entry) },
	{ HOOK_TP(ipi_exit, on_ipi_end, VTP_irq_exit) },
#if COMPAT_IPI_SEND
	{ HOOK_TP(ipi_send_cpu, on_send, VTP_irq_ipi_send) },
	{ HOOK_TP(ipi_send_cpumask, on_send_mask, VTP_irq_ipi_send) },
#endif
	{ .unless = "ipi_send_cpu", HOOK_TP(ipi_raise, on_raise, VTP_irq_ipi_send) },
	{ HOOK_TP(softirq_raise, on_softirq_raise, VTP_softirq_raise) },
	{ HOOK_TP(softirq_entry, on_softirq_entry, VTP_softirq_entry) },
	{ HOOK_TP(softirq_exit, on_softirq_exit, VTP_softirq_exit) },
	{ HOOK_TP(workqueue_queue_work, on_queue, VTP_softirq_work_queue) },
	{ HOOK_TP(workqueue_execute_start, on_work, VTP_softirq_work_start) },
	{ HOOK_TP(workqueue_execute_end, on_work_end, VTP_softirq_work_end) },
	{}
};
