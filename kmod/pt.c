// SPDX-License-Identifier: GPL-2.0-only
/*
 * Intel PT of a session: one session has it, on all CPUs that are on. Registers are touched on
 * their CPU with interrupts off, by one at a time (pt_session.lock).
 */
#include <linux/cpu.h>
#include <linux/io.h>
#include <linux/log2.h>
#include <linux/mm.h>
#include <linux/mutex.h>
#include <linux/perf_event.h>
#include <linux/printk.h>
#include <linux/smp.h>

#include "compat/compat.h"
#include "mem.h"
#include "pt_msr.h"
#include "ring_shim.h"
#include "unit.h"
#include "vtp.h"

#define ORDER_MAX	10	/* of pages in a row: 4 MiB, which every kernel has */
#define PIECES		16	/* at least, so that a reader makes room before all is full */

struct pt_cpu {
	struct pt_unit u;
	struct pt_caps caps;
	enum pt_why why;	/* what it was not made ready for */
	struct perf_event *hold;	/* keeps perf's driver away */
	bool barred;		/* that could not be had when the CPU came: it stays off */
	struct page **page;	/* of the buffer, in order */
	struct pt_piece *piece;
	struct pt_table *table;
	u32 npieces, ntables;
	u64 time;		/* of the last stop */
};

struct pt_session {
	struct unit unit;
	struct mutex lock;	/* taken inside of cpus_read_lock() and session.c's running_lock */
	struct pt_wish wish;
	u32 perf_type, npages;
	u64 bytes;
	bool marks;		/* records are marked in the trace */
	bool runs;
	bool sleeps;		/* it ran, and goes on when the machine is awake again */
	struct pt_cpu cpu[];	/* nr_cpu_ids */
};

static DEFINE_MUTEX(owner_lock);	/* of what it points to, for who is not of its session */
static struct pt_session *owner;	/* taken by cmpxchg(), one at a time */

struct call {
	struct pt_session *p;
	int (*f)(struct pt_session *p, unsigned int cpu);
	int rc;
};

static void run_here(void *arg)
{
	struct call *c = arg;

	c->rc = c->f(c->p, raw_smp_processor_id());
}

static int on_cpu(struct pt_session *p, unsigned int cpu,
		  int (*f)(struct pt_session *p, unsigned int cpu))
{
	struct call c = { p, f, 0 };
	int rc = smp_call_function_single(cpu, run_here, &c, 1);

	return rc ? rc : c.rc;
}

static int probe_here(struct pt_session *p, unsigned int cpu)
{
	struct pt_cpu *c = &p->cpu[cpu];
	struct pt_leaves l;

	pt_msr_leaves(&l);
	return pt_probe(pt_msr(cpu), &l, &c->caps, &c->why);
}

static int start_here(struct pt_session *p, unsigned int cpu)
{
	return pt_start(&p->cpu[cpu].u);
}

static int stop_here(struct pt_session *p, unsigned int cpu)
{
	int rc = pt_stop(&p->cpu[cpu].u);

	p->cpu[cpu].time = ring_clock();
	return rc;
}

static int turn_here(struct pt_session *p, unsigned int cpu)
{
	int rc = pt_turn(&p->cpu[cpu].u);

	p->cpu[cpu].time = ring_clock();
	return rc;
}

static void let_go(struct pt_cpu *c)
{
	if (c->hold)
		perf_event_release_kernel(c->hold);
	c->hold = NULL;
}

/* Two counters of this driver can not be on one CPU: it refuses ours, or whoever comes later. */
static int hold(struct pt_session *p, unsigned int cpu)
{
	struct perf_event_attr attr = { .type = p->perf_type, .size = sizeof(attr),
		.disabled = 1 };
	struct pt_cpu *c = &p->cpu[cpu];

	if (!p->perf_type)
		return 0;
	c->hold = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL, NULL);
	if (IS_ERR(c->hold)) {
		int rc = PTR_ERR(c->hold);

		c->hold = NULL;
		return rc;
	}
	if (c->hold->pmu->name && !strcmp(c->hold->pmu->name, "intel_pt"))
		return 0;
	let_go(c);
	return -EINVAL;
}

static void free_buffer(struct pt_session *p, struct pt_cpu *c)
{
	u32 i;

	if (c->u.writes) {	/* better lost than written to by a CPU when others have it */
		pr_warn("hwtrace: Intel PT can not be switched off; its buffer stays\n");
		return;
	}
	for (i = 0; c->page && i < p->npages && c->page[i]; i++)
		__free_page(c->page[i]);
	for (i = 0; c->table && i < c->ntables; i++)
		if (c->table[i].word)
			__free_page(virt_to_page(c->table[i].word));
	mem_free(c->page);
	mem_free(c->piece);
	mem_free(c->table);
	c->page = NULL;
	c->piece = NULL;
	c->table = NULL;
}

static int make_tables(struct pt_cpu *c, unsigned int cpu)
{
	u32 i;

	c->ntables = pt_tables_for(c->npieces);
	c->table = mem_alloc(c->ntables * sizeof(*c->table));
	if (!c->table)
		return -ENOMEM;
	for (i = 0; i < c->ntables; i++) {
		struct page *page = mem_piece(0, cpu);

		if (!page)
			return -ENOMEM;
		c->table[i].word = page_address(page);
		c->table[i].phys = page_to_phys(page);
	}
	return 0;
}

/* @one: the CPU writes to one piece only. */
static int make_buffer(struct pt_session *p, unsigned int cpu, bool one)
{
	struct pt_cpu *c = &p->cpu[cpu];
	unsigned int order = ilog2(p->npages), i;
	u32 n = 0;

	c->page = mem_alloc(p->npages * sizeof(*c->page));
	c->piece = mem_alloc(p->npages * sizeof(*c->piece));
	if (!c->page || !c->piece)
		return -ENOMEM;
	if (!one)
		order = min_t(unsigned int, order - ilog2(PIECES), ORDER_MAX);
	while (n < p->npages) {
		struct page *page = order > ORDER_MAX ? NULL : mem_piece(order, cpu);

		if (!page && (one || !order--))
			return -ENOMEM;
		if (!page)
			continue;
		c->piece[c->npieces++] = (struct pt_piece){ .phys = page_to_phys(page),
			.bytes = PAGE_SIZE << order };
		for (i = 0; i < 1u << order; i++)
			c->page[n++] = page + i;
	}
	if (!one)
		c->npieces = pt_join(c->piece, c->npieces, p->bytes / PIECES);
	return make_tables(c, cpu);
}

/* Makes the unit of a CPU ready that was probed. */
static int prepare(struct pt_session *p, unsigned int cpu, u64 *offer)
{
	struct pt_cpu *c = &p->cpu[cpu];
	int rc = pt_config(&c->u, pt_msr(cpu), &c->caps, &p->wish, offer);

	if (!rc)
		rc = pt_buffer(&c->u, c->piece, c->npieces, c->table, c->ntables);
	c->why = c->u.why;
	return rc;
}

static bool is_ready(const struct pt_cpu *c)
{
	return c->u.state != PT_EMPTY;
}

static void stop_all(struct pt_session *p)
{
	unsigned int cpu;

	for_each_online_cpu(cpu)
		if (is_ready(&p->cpu[cpu]))
			on_cpu(p, cpu, stop_here);
}

/* With cpus_read_lock() held. */
static int start(struct pt_session *p)
{
	unsigned int cpu;
	int rc = 0;

	mutex_lock(&p->lock);
	for_each_online_cpu(cpu) {
		if (!is_ready(&p->cpu[cpu]) || p->cpu[cpu].barred)
			continue;
		rc = on_cpu(p, cpu, start_here);
		if (rc)
			break;
	}
	if (rc)
		stop_all(p);
	p->runs = !rc;
	mutex_unlock(&p->lock);
	return rc;
}

static int pt_session_start(struct unit *u)
{
	struct pt_session *p = container_of(u, struct pt_session, unit);
	int rc;

	cpus_read_lock();
	rc = start(p);
	cpus_read_unlock();
	if (!rc && p->marks)
		static_branch_enable(&vtp_marks);
	return rc;
}

/* With cpus_read_lock() held. */
static void stop(struct pt_session *p)
{
	mutex_lock(&p->lock);
	p->runs = p->sleeps = false;
	stop_all(p);
	mutex_unlock(&p->lock);
}

static void pt_session_stop(struct unit *u)
{
	struct pt_session *p = container_of(u, struct pt_session, unit);

	if (p->marks)
		static_branch_disable(&vtp_marks);
	cpus_read_lock();
	stop(p);
	cpus_read_unlock();
}

/* A CPU that was never on before is made ready now; if it can not be, it stays without trace. */
static void come(struct pt_session *p, unsigned int cpu)
{
	struct pt_cpu *c = &p->cpu[cpu];
	u64 offer;

	c->barred = hold(p, cpu);
	if (c->barred) {
		c->why = c->u.why = PT_TAKEN;
		return;
	}
	if (!is_ready(c) && (on_cpu(p, cpu, probe_here) || prepare(p, cpu, &offer)))
		return;
	if (p->runs)
		on_cpu(p, cpu, start_here);
}

static void pt_session_cpu(struct unit *u, bool on)
{
	struct pt_session *p = container_of(u, struct pt_session, unit);
	unsigned int cpu = raw_smp_processor_id();	/* the thread is bound to it */

	mutex_lock(&p->lock);
	if (on) {
		come(p, cpu);
	} else {
		if (is_ready(&p->cpu[cpu]))
			on_cpu(p, cpu, stop_here);
		let_go(&p->cpu[cpu]);
	}
	mutex_unlock(&p->lock);
}

static u32 state_of(const struct pt_unit *u)
{
	switch (u->state) {
	case PT_RUNS: return HWT_KMOD_TRACE_RUNS;
	case PT_WAITS: return HWT_KMOD_TRACE_WAITS;
	case PT_ENDED:
	case PT_OTHERS: return HWT_KMOD_TRACE_ENDED;
	default: return HWT_KMOD_TRACE_OFF;
	}
}

static int pt_session_get(struct unit *un, struct hwt_kmod_trace *t)
{
	struct pt_session *p = container_of(un, struct pt_session, unit);
	struct pt_cpu *c;
	struct pt_unit *u;

	if (t->buffer >= nr_cpu_ids || !p->cpu[t->buffer].page)
		return -EINVAL;
	c = &p->cpu[t->buffer];
	u = &c->u;
	cpus_read_lock();
	mutex_lock(&p->lock);
	if (p->runs && cpu_online(t->buffer) && is_ready(c))
		on_cpu(p, t->buffer, turn_here);
	t->cpu = t->buffer;
	t->state = state_of(u);
	/* of the newest the oldest byte lies where the next one will be */
	t->begin = p->wish.overwrite ? u->head : u->tail;
	t->end = p->wish.overwrite ? u->head + p->bytes : u->head;
	t->cuts = u->cuts;
	t->time = c->time;
	memset(t->why, 0, sizeof(t->why));
	if (is_ready(c) ? u->why : c->why)
		strscpy(t->why, pt_why_text(is_ready(c) ? u->why : c->why), sizeof(t->why));
	mutex_unlock(&p->lock);
	cpus_read_unlock();
	return 0;
}

static int pt_session_read(struct unit *un, const struct hwt_kmod_trace *t)
{
	struct pt_session *p = container_of(un, struct pt_session, unit);
	struct pt_unit *u;
	int rc = -EINVAL;

	if (t->buffer >= nr_cpu_ids || p->wish.overwrite)
		return rc;
	u = &p->cpu[t->buffer].u;
	mutex_lock(&p->lock);
	if (t->begin >= u->tail && t->begin <= u->head) {
		u->tail = t->begin;
		rc = 0;
	}
	mutex_unlock(&p->lock);
	return rc;
}

static int pt_session_mmap(struct unit *un, struct vm_area_struct *v, u64 off)
{
	struct pt_session *p = container_of(un, struct pt_session, unit);
	u64 n = v->vm_end - v->vm_start, cpu = off >> ilog2(p->bytes);
	u32 i;
	int rc;

	if (v->vm_flags & (VM_WRITE | VM_EXEC))
		return -EPERM;
	if (cpu >= nr_cpu_ids || !p->cpu[cpu].page || off & (p->bytes - 1) || n != p->bytes)
		return -EINVAL;
	compat_vm_flags(v, VM_DONTCOPY | VM_DONTEXPAND | VM_DONTDUMP, VM_MAYWRITE | VM_MAYEXEC);
	for (i = 0; i < p->npages; i++) {
		rc = vm_insert_page(v, v->vm_start + (u64)i * PAGE_SIZE, p->cpu[cpu].page[i]);
		if (rc)
			return rc;
		cond_resched();
	}
	return 0;
}

static void free_session(struct pt_session *p)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu) {
		let_go(&p->cpu[cpu]);
		free_buffer(p, &p->cpu[cpu]);
	}
	mutex_lock(&owner_lock);
	cmpxchg(&owner, p, NULL);
	mutex_unlock(&owner_lock);
	mem_free(p);
}

static void pt_session_close(struct unit *u)
{
	pt_session_stop(u);
	free_session(container_of(u, struct pt_session, unit));
}

static const struct unit_ops ops = {
	.start = pt_session_start,
	.stop = pt_session_stop,
	.cpu = pt_session_cpu,
	.get = pt_session_get,
	.read = pt_session_read,
	.mmap = pt_session_mmap,
	.close = pt_session_close,
};

static int no(struct hwt_kmod_unit *c, int cpu, const char *why, int rc)
{
	c->cpu = cpu;
	strscpy(c->why, why, sizeof(c->why));
	return rc;
}

/* Bits have the same order in both. */
static int take_wish(struct pt_session *p, struct hwt_kmod_unit *c)
{
	const struct hwt_kmod_pt *w = &c->pt;
	unsigned int i;

	BUILD_BUG_ON((u32)PT_BIT_OS != HWT_KMOD_PT_OS || (u32)PT_BIT_BRANCH !=
		     HWT_KMOD_PT_BRANCH || (u32)PT_BIT_TSC != HWT_KMOD_PT_TSC ||
		     (u32)PT_BIT_CYC != HWT_KMOD_PT_CYC || (u32)PT_BIT_PTW != HWT_KMOD_PT_PTW ||
		     (u32)PT_BIT_EVENTS != HWT_KMOD_PT_EVENTS || (u32)PT_BIT_CR3 !=
		     HWT_KMOD_PT_CR3);
	if (w->nranges > PT_RANGE_MAX)
		return no(c, -1, pt_why_text(PT_RANGES), -EINVAL);
	p->wish = (struct pt_wish){ .bits = w->bits, .mtc = w->mtc, .cyc = w->cyc, .psb = w->psb,
		.nranges = w->nranges, .cr3 = w->cr3,
		.overwrite = c->flags & HWT_KMOD_UNIT_NEWEST };
	for (i = 0; i < w->nranges; i++) {
		if (w->range[i].stop > 1 || w->range[i].pad)
			return no(c, -1, pt_why_text(PT_RANGE), -EINVAL);
		p->wish.range[i] = (struct pt_range){ w->range[i].first, w->range[i].last,
			w->range[i].stop };
	}
	p->marks = c->flags & HWT_KMOD_UNIT_MARKS;
	if (p->marks && !(w->bits & HWT_KMOD_PT_PTW))
		return no(c, -1, "marks need PTWRITE", -EINVAL);
	p->perf_type = c->perf_type;
	p->bytes = c->bytes;
	p->npages = c->bytes >> PAGE_SHIFT;
	return 0;
}

/* Others are kept away first; what is found then stays so. */
static int ask(struct pt_session *p, struct hwt_kmod_unit *c)
{
	unsigned int cpu;
	enum pt_why why;
	int rc;

	for_each_online_cpu(cpu) {
		rc = hold(p, cpu);
		if (rc == -EBUSY)
			return no(c, cpu, "perf records Intel PT", rc);
		if (rc)
			return no(c, cpu, "perf_type is not that of intel_pt", rc);
		rc = on_cpu(p, cpu, probe_here);
		if (rc)
			return no(c, cpu, pt_why_text(p->cpu[cpu].why), rc);
		rc = pt_check(&p->cpu[cpu].caps, &p->wish, &why, &c->offer);
		if (rc)
			return no(c, cpu, pt_why_text(why), rc);
	}
	if (!p->perf_type && pt_msr_driver())
		return no(c, -1, "the kernel's driver has it: perf_type is needed", -EINVAL);
	return 0;
}

static int get_ready(struct pt_session *p, struct hwt_kmod_unit *c)
{
	const struct pt_caps *caps = &p->cpu[cpumask_first(cpu_online_mask)].caps;
	bool one = !caps->topa || !caps->pieces;
	unsigned int cpu;
	int rc;

	for_each_possible_cpu(cpu) {
		rc = make_buffer(p, cpu, one);
		if (rc && one)
			return no(c, cpu, "this CPU needs memory in a row: no such", rc);
		if (rc)
			return no(c, cpu, "no memory", rc);
	}
	for_each_online_cpu(cpu) {
		rc = prepare(p, cpu, &c->offer);
		if (rc)
			return no(c, cpu, pt_why_text(p->cpu[cpu].why), rc);
	}
	return 0;
}

/* Called with cpus_read_lock() held, so that no CPU comes before the session knows of it. */
static int pt_open(struct unit **out, struct hwt_kmod_unit *c)
{
	struct pt_session *p = mem_alloc(struct_size(p, cpu, nr_cpu_ids));
	int rc;

	if (!p)
		return no(c, -1, "no memory", -ENOMEM);
	p->unit.ops = &ops;
	mutex_init(&p->lock);
	rc = take_wish(p, c);
	if (!rc && cmpxchg(&owner, NULL, p))
		rc = no(c, -1, "another session of this module has Intel PT", -EBUSY);
	if (!rc)
		rc = ask(p, c);
	if (!rc && !(c->flags & HWT_KMOD_UNIT_TRY))
		rc = get_ready(p, c);
	if (rc || c->flags & HWT_KMOD_UNIT_TRY)
		free_session(p);
	else
		*out = &p->unit;
	return rc;
}

/* Registers are lost while the machine sleeps. Nobody but us runs then: tasks are frozen later. */
static void pt_sleep(void)
{
	mutex_lock(&owner_lock);
	if (owner && owner->runs) {
		stop(owner);
		owner->sleeps = true;
	}
	mutex_unlock(&owner_lock);
}

static void pt_wake(void)
{
	mutex_lock(&owner_lock);
	if (owner && owner->sleeps) {
		owner->sleeps = false;
		start(owner);
	}
	mutex_unlock(&owner_lock);
}

static void pt_off(void)
{
	mutex_lock(&owner_lock);
	if (owner)
		stop(owner);
	mutex_unlock(&owner_lock);
}

const struct unit_kind pt_kind = { pt_open, pt_sleep, pt_wake, pt_off };
