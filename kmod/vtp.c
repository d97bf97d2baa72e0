// SPDX-License-Identifier: GPL-2.0-only
/*
 * The functions of vtp.h. Each event has one that is not inlined and holds one instruction with a
 * label: it counts the event on this CPU, before any session is looked at. So the k-th time that
 * a CPU runs this instruction is the record with hit k, and a trace of the code can be put to the
 * records without a clock. Of events that are made in place (place.h) it is their probe.
 */
#include <linux/kernel.h>

#include "place.h"
#include "pt_msr.h"
#include "session.h"
#include "vtp.h"

DEFINE_PER_CPU_ALIGNED(struct vtp_cpu[VTP_COUNT], vtp_here) = {
	[0 ... VTP_COUNT - 1] = { .next = 1 }
};

DEFINE_STATIC_KEY_FALSE(vtp_marks);

/* The whole of it but the count, once for all events. */
static noinline notrace void give(struct vtp *v, struct hwt_rec *rec, u64 hit,
				  const struct vtp_more *more)
{
	/* id, size, version and flags in one word; what vtp_...() adds is not the tracepoint's */
	u64 head = v->head | (u64)place_flags(current, preempt_count() -
					      PREEMPT_DISABLE_OFFSET) << 48;

	BUILD_BUG_ON(offsetof(struct hwt_rec, id) != 8 || offsetof(struct hwt_rec, size) != 10 ||
		     offsetof(struct hwt_rec, version) != 12 ||
		     offsetof(struct hwt_rec, flags) != 14 || !IS_ENABLED(CONFIG_64BIT));
	WRITE_ONCE(*(u64 *)&rec->id, head);
	rec->hit = hit;
	vtp_task(&rec->pid, &rec->tid, current);
	if (more) {
		rec->size += vtp_text_size(more->len);
		rec->flags |= more->flags;
		if (more->no_ctx)
			rec->flags &= HWT_REC_HIT | HWT_REC_CUT;
	}
	session_give(v, rec, more);
	if (IS_ENABLED(CONFIG_X86_64) && static_branch_unlikely(&vtp_marks))
		pt_msr_mark((u64)v->id << 48 | (hit & (~0ull >> 16)));
}

notrace void place_give(unsigned int vtp, struct hwt_rec *rec, u64 hit)
{
	preempt_disable_notrace();
	if (READ_ONCE(vtps[vtp].sessions))
		give(&vtps[vtp], rec, hit, NULL);
	preempt_enable_notrace();
}

#define VTP_FUNCTION_0(sec, name) \
	PLACE_PROBE void vtp_##sec##_##name(struct hwt_rec_##sec##_##name *r, \
					    const struct vtp_more *more) \
	{ \
		u64 hit; \
		\
		preempt_disable_notrace(); \
		VTP_COUNT_HIT("vtp_anchor_" #sec "_" #name, \
			      vtp_here[VTP_##sec##_##name].next, hit); \
		if (READ_ONCE(vtps[VTP_##sec##_##name].sessions)) \
			give(&vtps[VTP_##sec##_##name], &r->rec, hit, more); \
		preempt_enable_notrace(); \
	}
/* counted by its probe */
#define VTP_FUNCTION_1(sec, name)
#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	CONCATENATE(VTP_FUNCTION_, __is_defined(VTP_PLACED_##sec##_##name))(sec, name)
#include <hwtrace/events.def>

#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	extern const char vtp_anchor_##sec##_##name[];
#include <hwtrace/events.def>

#define HWT_EVENT(sec, ev, number, since, stamp, order, often) \
	[VTP_##sec##_##ev] = { .name = #sec "." #ev, .id = HWT_ID_##sec##_##ev, \
		.index = VTP_##sec##_##ev, \
		.anchor = vtp_anchor_##sec##_##ev, .size = sizeof(struct hwt_rec_##sec##_##ev), \
		.head = HWT_ID_##sec##_##ev | sizeof(struct hwt_rec_##sec##_##ev) << 16 | \
			(u64)HWT_ABI_VERSION << 32 },
struct vtp vtps[VTP_COUNT] = {
#include <hwtrace/events.def>
};

static const u8 user_events[] = {
	VTP_sched_fork, VTP_sched_exec, VTP_sched_exit, VTP_sched_comm, VTP_sched_signal_deliver,
	VTP_syscall_enter, VTP_syscall_exit, VTP_mm_map, VTP_mm_unmap, VTP_mm_fault,
	VTP_user_mark, VTP_user_begin, VTP_user_end
};
static const u8 own_events[] = {
	VTP_stream_lost, VTP_stream_state, VTP_clock_sync, VTP_clock_freq, VTP_clock_rate,
	VTP_state_task, VTP_state_map, VTP_state_module, VTP_state_end
};
static const u8 made_events[] = { VTP_user_mark, VTP_user_begin, VTP_user_end, VTP_power_cpu };

#define OTHER(sec, name, field) \
	{ VTP_##sec##_##name, offsetof(struct hwt_rec_##sec##_##name, field) }
static const struct { u8 vtp; u16 other; } others[] = {
	OTHER(sched, switch, next_tid), OTHER(sched, waking, wake_tid),
	OTHER(sched, wakeup, wake_tid), OTHER(sched, wakeup_new, wake_tid),
	OTHER(sched, migrate, task_tid), OTHER(sched, comm, task_tid),
	OTHER(sched, free, task_tid), OTHER(sched, inherit, task_tid),
	OTHER(sched, signal_send, to_tid)
};

void vtp_init(void)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(user_events); i++)
		vtps[user_events[i]].user = true;
	for (i = 0; i < ARRAY_SIZE(own_events); i++)
		vtps[own_events[i]].own = true;
	for (i = 0; i < ARRAY_SIZE(made_events); i++)
		vtps[made_events[i]].made = true;
	for (i = 0; i < ARRAY_SIZE(others); i++)
		vtps[others[i].vtp].other = others[i].other;
}

int vtp_find(u16 id)
{
	int i;

	for (i = 0; i < VTP_COUNT; i++)
		if (vtps[i].id == id)
			return i;
	return -ENOENT;
}
