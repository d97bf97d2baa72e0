// SPDX-License-Identifier: GPL-2.0-only
#include <linux/build_bug.h>
#include <linux/cgroup.h>
#include <linux/cpu.h>
#include <linux/perf_event.h>
#include <linux/sched.h>

#include "compat/compat.h"
#include "context.h"
#include "probe.h"
#include "session.h"

/* what a user may know of own tasks */
#define CONTEXT_USER (1u << HWT_CONTEXT_vtid | 1u << HWT_CONTEXT_comm | \
	1u << HWT_CONTEXT_prio | 1u << HWT_CONTEXT_cgroup)
#define CONTEXT_COUNTER (1u << HWT_CONTEXT_counter)

#define SIZE_u32	4
#define SIZE_s32	4
#define SIZE_pid	4
#define SIZE_u64	8
#define SIZE_x64	8
#define SIZE_name16	16
#define HWT_CONTEXT(name, number, type, unit, text) [number] = SIZE_##type,
static const u8 sizes[] = {
#include <hwtrace/contexts.def>
};

#define HWT_CONTEXT(name, number, type, unit, text) \
	static_assert((int)CONTEXT_##name == (int)HWT_CONTEXT_##name);
#include <hwtrace/contexts.def>

static void place(struct context_cfg *x, u32 mask)
{
	unsigned int i, small;

	x->mask = mask;
	for (small = 0; small < 2; small++)
		for (i = 0; i < CONTEXT_COUNT; i++) {
			if (!(mask & 1u << i) || (sizes[i] < 8) != small)
				continue;
			x->at[i] = x->size;
			x->size += sizes[i];
		}
	x->size = ALIGN(x->size, 8);
}

/*
 * Only counters of a CPU itself, which can be read there at any time. They are pinned: one that had
 * to give way to others would count less than there was.
 */
static int open_counters(struct session *s, const struct hwt_kmod_session *c)
{
	struct perf_event_attr attr = { .type = c->counter_type, .size = sizeof(attr),
		.config = c->counter_config, .pinned = 1 };
	unsigned int cpu;

	if (attr.type != PERF_TYPE_HARDWARE && attr.type != PERF_TYPE_SOFTWARE &&
	    attr.type != PERF_TYPE_HW_CACHE && attr.type != PERF_TYPE_RAW)
		return -EINVAL;
	for_each_online_cpu(cpu) {
		struct perf_event *e = perf_event_create_kernel_counter(&attr, cpu, NULL, NULL,
									NULL);

		if (IS_ERR(e) && PTR_ERR(e) == -ENODEV)
			continue;	/* the CPU is off by now */
		if (IS_ERR(e))
			return PTR_ERR(e);
		s->cpu[cpu].counter = e;
	}
	return 0;
}

int context_open(struct session *s, const struct hwt_kmod_session *c)
{
	if (c->contexts >> CONTEXT_COUNT)
		return -EINVAL;
	if (!(c->contexts & CONTEXT_COUNTER) && (c->counter_type || c->counter_config))
		return -EINVAL;
	if (s->own && c->contexts & ~CONTEXT_USER)
		return -EACCES;
	place(&s->context, c->contexts);
	return c->contexts & CONTEXT_COUNTER ? open_counters(s, c) : 0;
}

void context_close(struct session *s)
{
	unsigned int cpu;

	for_each_possible_cpu(cpu)
		if (s->cpu[cpu].counter)
			perf_event_release_kernel(s->cpu[cpu].counter);
}

/* Tasks that are being taken apart have none. */
static s32 vtid(void)
{
	s32 nr = task_pid_vnr(current);

	return nr || !current->pid ? nr : -1;
}

static u64 cgroup(void)
{
#ifdef CONFIG_CGROUPS
	return cgroup_id(task_dfl_cgroup(current));
#else
	return U64_MAX;
#endif
}

/*
 * What the code around the probe has: the tracepoint and vtp.c add to it. Kprobes add what depends
 * on how they are made, and without preemption there is no count.
 */
static u32 preempt_depth(u16 flags)
{
	if (!IS_ENABLED(CONFIG_PREEMPT_COUNT) || !(flags & HWT_REC_CTX))
		return U32_MAX;
	return (preempt_count() & PREEMPT_MASK) - COMPAT_TP_PREEMPT - 1;
}

/* One that is not on the CPU, because it failed or the CPU was off, counts nothing. */
static u64 count(struct perf_event *e)
{
	if (!e || READ_ONCE(e->oncpu) != raw_smp_processor_id())
		return U64_MAX;
	e->pmu->read(e);
	return local64_read(&e->count);
}

#define HAS(x, name)	((x)->mask & 1u << HWT_CONTEXT_##name)
#define AT(x, name)	((u8 *)to + (x)->at[HWT_CONTEXT_##name])
#define SET(x, type, name, value) \
	do { \
		if (HAS(x, name)) \
			*(type *)AT(x, name) = (value); \
	} while (0)

void context_put(const struct session_cpu *c, u16 flags, u64 *to)
{
	const struct context_cfg *x = &c->s->context;

	to[x->size / 8 - 1] = 0;
	SET(x, s32, vtid, vtid());
	if (HAS(x, comm))
		vtp_name(AT(x, comm), current->comm);
	SET(x, s32, prio, current->prio);
	SET(x, u64, cgroup, cgroup());
	SET(x, u32, preempt_count, preempt_depth(flags));
	SET(x, u64, aspace, probe_aspace(current));
	SET(x, u64, counter, count(c->counter));
}

void context_none(const struct context_cfg *x, u64 *to)
{
	to[x->size / 8 - 1] = 0;
	SET(x, s32, vtid, -1);
	if (HAS(x, comm))
		vtp_name(AT(x, comm), "-");
	SET(x, s32, prio, S32_MIN);
	SET(x, u64, cgroup, U64_MAX);
	SET(x, u32, preempt_count, U32_MAX);
	SET(x, u64, aspace, U64_MAX);
	SET(x, u64, counter, U64_MAX);
}
