/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * irq and softirq: include/trace/events/irq.h, ipi.h, workqueue.h and arch/x86 trace/irq_vectors.h
 * of Linux, and LTTng's of the same meaning.
 */
#include "priv.h"

static int make_entry(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_entry *r = rec;

	if (!get_u32(in, "irq", &r->irq))
		return 0;
	r->kind = HWT_irq_kind_device;
	get_name(in, "name", r->name);
	return 1;
}

/* The kernel's results are those of the list: IRQ_NONE, IRQ_HANDLED, IRQ_WAKE_THREAD. */
static int make_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_exit *r = rec;
	__u64 ret;

	if (!get_u32(in, "irq", &r->irq))
		return 0;
	r->kind = HWT_irq_kind_device;
	if (get_u64(in, "ret", &ret))
		r->result = ret & 3;
	return 1;
}

/* Vectors of the local APIC have events of their own; their handlers have no result. */
static int make_vector_entry(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_entry *r = rec;

	if (!get_u32(in, "vector", &r->irq))
		return 0;
	r->kind = in->m->arg;
	virt_set_name(r->name, in->m->text, strlen(in->m->text));
	return 1;
}

static int make_vector_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_exit *r = rec;

	if (!get_u32(in, "vector", &r->irq))
		return 0;
	r->kind = in->m->arg;
	r->result = HWT_irq_result_handled;
	return 1;
}

/* Arm: a text says what for; arch/arm64/kernel/smp.c and arch/arm/kernel/smp.c. */
static uint32_t ipi_kind(const struct virt_in *in)
{
	static const struct { const char *reason; uint32_t kind; } known[] = {
		{ "Rescheduling", HWT_irq_kind_reschedule },
		{ "Function call", HWT_irq_kind_call_many },
		{ "Single function call", HWT_irq_kind_call_one },
		{ "IRQ work", HWT_irq_kind_irq_work },
		{ "Timer broadcast", HWT_irq_kind_timer },
	};
	const char *p;
	size_t n;

	if (in->g->string(in->g->arg, "reason", &p, &n) <= 0)
		return UNKNOWN32;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (n >= strlen(known[i].reason) &&
		    !strncmp(p, known[i].reason, strlen(known[i].reason)))
			return known[i].kind;
	return HWT_irq_kind_other;
}

static int make_ipi_entry(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_entry *r = rec;

	r->kind = ipi_kind(in);
	get_name(in, "reason", r->name);
	return 1;
}

static int make_ipi_exit(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_exit *r = rec;

	r->kind = ipi_kind(in);
	r->result = HWT_irq_result_handled;
	return 1;
}

/* A mask of more than 64 CPUs would be several records: its other half has no place in one. */
static int cpu_mask(const struct virt_in *in, const char *field, struct hwt_rec_irq_ipi_send *r)
{
	uint64_t word, sum = 0;
	unsigned first = UNKNOWN32, bit = 0;

	if (!in->g->item)
		return 0;
	for (unsigned i = 0; i < 1024; i++) {
		int size = in->g->item(in->g->arg, field, i, &word);

		if (size <= 0)
			break;
		word &= size < 8 ? (1ull << 8 * size) - 1 : UNKNOWN64;
		if (word && first == UNKNOWN32)
			first = bit / 64 * 64;
		if (word && bit / 64 * 64 != first)
			return 0;
		if (word)
			sum |= word << (bit - first);
		bit += 8 * (unsigned)size;
	}
	if (!sum)
		return 0;
	r->first_cpu = first;
	r->cpus = sum;
	return 1;
}

static int make_ipi_raise(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_ipi_send *r = rec;

	r->kind = ipi_kind(in);
	return cpu_mask(in, "target_cpus", r);
}

/* Only the request to reschedule has no function (include/linux/smp.h). */
static int send_rest(const struct virt_in *in, struct hwt_rec_irq_ipi_send *r, uint32_t kind)
{
	get_u64(in, "callsite", &r->callsite);
	if (get_u64(in, "callback", &r->callback))
		r->kind = r->callback ? kind : HWT_irq_kind_reschedule;
	return 1;
}

static int make_send_cpu(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_ipi_send *r = rec;
	uint32_t cpu;

	if (!get_u32(in, "cpu", &cpu))
		return 0;
	r->first_cpu = cpu & ~63u;
	r->cpus = 1ull << (cpu & 63);
	return send_rest(in, r, UNKNOWN32);
}

static int make_send_mask(const struct virt_in *in, void *rec)
{
	struct hwt_rec_irq_ipi_send *r = rec;

	return cpu_mask(in, "cpumask", r) ? send_rest(in, r, HWT_irq_kind_call_many) : 0;
}

static int make_vec(const struct virt_in *in, void *rec)
{
	struct hwt_rec_softirq_entry *r = rec;

	return get_u64(in, "vec", &r->vec);
}

static int make_work_queue(const struct virt_in *in, void *rec)
{
	struct hwt_rec_softirq_work_queue *r = rec;
	uint32_t cpu;

	if (!get_u64(in, "work", &r->work))
		return 0;
	get_u64(in, "function", &r->function);
	/* WORK_CPU_UNBOUND is the number of CPUs that the kernel was built for */
	if (get_u32(in, "req_cpu", &cpu) && get_u32(in, "cpu", &r->target_cpu) &&
	    cpu == r->target_cpu)
		r->wanted_cpu = cpu;
	get_name(in, "workqueue", r->queue);
	return 1;
}

static int make_work(const struct virt_in *in, void *rec)
{
	struct hwt_rec_softirq_work_start *r = rec;

	if (!get_u64(in, "work", &r->work))
		return 0;
	get_u64(in, "function", &r->function);
	return 1;
}

#define BOTH (ON_LINUX | ON_LTTNG)
#define VECTOR(name, kind) \
	MAP(ON_LINUX, "irq_vectors", #name "_entry", irq, entry, make_vector_entry, #name, \
	    .arg = HWT_irq_kind_##kind), \
	MAP(ON_LINUX, "irq_vectors", #name "_exit", irq, exit, make_vector_exit, #name, \
	    .arg = HWT_irq_kind_##kind), \
	MAP(ON_LTTNG, NULL, "x86_irq_vectors_" #name "_entry", irq, entry, make_vector_entry, \
	    #name, .arg = HWT_irq_kind_##kind), \
	MAP(ON_LTTNG, NULL, "x86_irq_vectors_" #name "_exit", irq, exit, make_vector_exit, #name, \
	    .arg = HWT_irq_kind_##kind)

const struct virt_map virt_irq_maps[] = {
	MAP(BOTH, "irq", "irq_handler_entry", irq, entry, make_entry),
	MAP(BOTH, "irq", "irq_handler_exit", irq, exit, make_exit),
	VECTOR(local_timer, timer),
	VECTOR(reschedule, reschedule),
	VECTOR(call_function, call_many),
	VECTOR(call_function_single, call_one),
	VECTOR(irq_work, irq_work),
	VECTOR(x86_platform_ipi, other),
	VECTOR(error_apic, other),
	VECTOR(spurious_apic, other),
	VECTOR(thermal_apic, other),
	VECTOR(threshold_apic, other),
	VECTOR(deferred_error_apic, other),
	MAP(ON_LINUX, "ipi", "ipi_entry", irq, entry, make_ipi_entry),
	MAP(ON_LINUX, "ipi", "ipi_exit", irq, exit, make_ipi_exit),
	MAP(ON_LINUX, "ipi", "ipi_raise", irq, ipi_send, make_ipi_raise),
	MAP(ON_LINUX, "ipi", "ipi_send_cpu", irq, ipi_send, make_send_cpu),
	MAP(ON_LINUX, "ipi", "ipi_send_cpumask", irq, ipi_send, make_send_mask),
	MAP(BOTH, "irq", "softirq_raise", softirq, raise, make_vec),
	MAP(BOTH, "irq", "softirq_entry", softirq, entry, make_vec),
	MAP(BOTH, "irq", "softirq_exit", softirq, exit, make_vec),
	MAP(ON_LTTNG, NULL, "irq_softirq_raise", softirq, raise, make_vec),
	MAP(ON_LTTNG, NULL, "irq_softirq_entry", softirq, entry, make_vec),
	MAP(ON_LTTNG, NULL, "irq_softirq_exit", softirq, exit, make_vec),
	MAP(BOTH, "workqueue", "workqueue_queue_work", softirq, work_queue, make_work_queue),
	MAP(BOTH, "workqueue", "workqueue_execute_start", softirq, work_start, make_work),
	MAP(BOTH, "workqueue", "workqueue_execute_end", softirq, work_end, make_work),
	{ 0 }
};
