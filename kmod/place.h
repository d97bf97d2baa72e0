/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_PLACE_H
#define HWT_KMOD_PLACE_H

/*
 * Records that are made where they lie, for the events that come most often: if one session wants
 * the event, for all tasks, without filter and context, its probe counts, reserves, fills the
 * record in the ring and commits. All that is inlined into the probe, with sizes and ids that the
 * compiler knows. Whatever else is the case, the record is made on the stack and goes the way of
 * all others (vtp.c, put.c).
 *
 * A probe of that kind:
 *
 *	static void x_staged(u64 hit, ...)
 *	{
 *		struct hwt_rec_SEC_X r;
 *
 *		fill(&r, ...);
 *		PLACE_GIVE(SEC, X, &r, hit);
 *	}
 *
 *	static PLACE_PROBE void on_x(...)
 *	{
 *		struct hwt_rec_SEC_X *r;
 *		struct place at;
 *
 *		if (PLACE_OPEN(SEC, X, &at, &r)) {
 *			fill(r, ...);
 *			PLACE_DONE(SEC, X, &at, r);
 *		} else {
 *			x_staged(at.hit, ...);
 *		}
 *		PLACE_RETURN();
 *	}
 *
 * and VTP_PLACED_SEC_X in vtp.h. Preemption is off in it, once by the tracepoint. Nothing that
 * could fault or sleep lies between opening and being done.
 */
#include <linux/irqflags.h>
#include <linux/objtool.h>
#include <linux/percpu.h>
#include <linux/preempt.h>

#include "compat/compat.h"
#include "filter.h"
#include "pt_msr.h"
#include "ring_try.h"
#include "session.h"
#include "vtp.h"

/* Of an event on a CPU. Probes read each word once; session.c writes them. */
struct vtp_cpu {
	u64 next;			/* hit of the next one */
	struct ring *ring;		/* where it goes in place; NULL: not so */
	struct session_cpu *filtered;	/* the same with a filter, which is asked first */
};
DECLARE_PER_CPU_ALIGNED(struct vtp_cpu[VTP_COUNT], vtp_here);

/* A function that holds the instruction with the label, which must not be there twice. */
#define PLACE_PROBE noinline __noclone notrace

/* In a trace the return of the probe ends the visit: its last call must not become a jump. */
#define PLACE_RETURN() asm volatile("" : : : "memory")

/*
 * Adds one to this CPU's @v, in one instruction or with interrupts off, and tells what it was: what
 * interrupts comes before or after it, and never shares a number. (An interrupt that arm64 can not
 * mask, a pseudo NMI, could; Debian's kernels do not use them unless asked to.)
 */
#ifdef CONFIG_X86
#define VTP_COUNT_HIT(label, v, n) \
	do { \
		n = 1; \
		/* it is told, but nobody jumps there */ \
		asm volatile(".globl " label "\n" label ":\n\t" ANNOTATE_NOENDBR \
			     "xaddq %0, " __percpu_arg(1) \
			     : "+r"(n), "+m"(COMPAT_CPU_VAR(v)) : : "cc", "memory"); \
	} while (0)
#else
#define VTP_COUNT_HIT(label, v, n) \
	do { \
		unsigned long vtp_flags, vtp_sum; \
		\
		raw_local_irq_save(vtp_flags); \
		asm volatile(".globl " label "\n" label ":\n\t" \
			     "ldr %0, %2\n\tadd %1, %0, #1\n\tstr %1, %2" \
			     : "=&r"(n), "=&r"(vtp_sum), "+Q"(*raw_cpu_ptr(&(v))) \
			     : : "memory"); \
		raw_local_irq_restore(vtp_flags); \
	} while (0)
#endif

/* A jump that is taken only then, in place of computing both. */
#define PLACE_ADD(flags, bit) \
	do { \
		flags |= bit; \
		OPTIMIZER_HIDE_VAR(flags); \
	} while (0)

/* Context bits of @t, which runs; @pc: preempt_count() where the tracepoint has added its part. */
static __always_inline u16 place_flags(const struct task_struct *t, unsigned int pc)
{
	u32 f = HWT_REC_HIT | HWT_REC_CTX;

	if (irqs_disabled())
		PLACE_ADD(f, HWT_REC_IRQS_OFF);
	if (unlikely(pc & (HARDIRQ_MASK | SOFTIRQ_OFFSET | NMI_MASK))) {
		if (pc & HARDIRQ_MASK)
			PLACE_ADD(f, HWT_REC_HARDIRQ);
		if (pc & SOFTIRQ_OFFSET)
			PLACE_ADD(f, HWT_REC_SOFTIRQ);
		if (pc & NMI_MASK)
			PLACE_ADD(f, HWT_REC_NMI);
	}
	if (unlikely((pc & PREEMPT_MASK) > COMPAT_TP_PREEMPT))
		PLACE_ADD(f, HWT_REC_PREEMPT_OFF);
	if (unlikely(test_tsk_thread_flag((struct task_struct *)t, TIF_NEED_RESCHED)))
		PLACE_ADD(f, HWT_REC_RESCHED);
	return f;
}

/* All of the head but the time. */
static __always_inline void place_head(struct hwt_rec *r, u16 id, u16 size, u64 hit)
{
	const struct task_struct *t = current;

	r->id = id;
	r->size = size;
	r->version = HWT_ABI_VERSION;
	r->flags = place_flags(t, preempt_count());
	r->hit = hit;
	vtp_task(&r->pid, &r->tid, t);
}

struct place {
	u64 hit;
	struct ring *ring;
};

static __always_inline bool place_open(struct place *at, struct ring *ring, u16 id, u16 size,
				       void **p)
{
	struct hwt_rec *r;
	u64 time;

	at->ring = ring;
	if (unlikely(!ring || !ring_try_reserve(ring, size, &time, p)))
		return false;
	r = *p;
	r->time = time;
	place_head(r, id, size, at->hit);
	return true;
}

/* Counts the event. True: @r is its record in the ring, whose head is filled; false: stage it. */
#define PLACE_OPEN(sec, name, at, r) \
	({ \
		void *place_at; \
		bool place_is; \
		\
		VTP_COUNT_HIT("vtp_anchor_" #sec "_" #name, \
			      vtp_here[VTP_##sec##_##name].next, (at)->hit); \
		place_is = place_open(at, this_cpu_read(vtp_here[VTP_##sec##_##name].ring), \
				      HWT_ID_##sec##_##name, \
				      sizeof(struct hwt_rec_##sec##_##name), &place_at); \
		*(r) = place_at; \
		likely(place_is); \
	})

/* put.c: a sub-buffer became whole. */
void place_wake(struct session_cpu *c);

static __always_inline void place_done(struct ring *ring, const struct hwt_rec *r, u16 id,
				       u16 size)
{
	if (IS_ENABLED(CONFIG_X86_64) && static_branch_unlikely(&vtp_marks))
		pt_msr_mark((u64)id << 48 | (r->hit & (~0ull >> 16)));
	if (unlikely(ring_done(ring, r, size)))
		place_wake(ring->owner);
}

#define PLACE_DONE(sec, name, at, r) \
	place_done((at)->ring, &(r)->rec, HWT_ID_##sec##_##name, \
		   sizeof(struct hwt_rec_##sec##_##name))

/* vtp.c: the record at @r of the event number @hit, which is filled but for its head. */
void place_give(unsigned int vtp, struct hwt_rec *r, u64 hit);

/* The same; if all that is between the event and the ring is a filter, here and now. */
static __always_inline void place_stage(unsigned int vtp, struct hwt_rec *r, u16 id, u16 size,
					u64 hit)
{
	struct session_cpu *c = this_cpu_read(vtp_here[vtp].filtered);
	bool whole;

	if (!c) {
		place_give(vtp, r, hit);
		return;
	}
	place_head(r, id, size, hit);
	r->time = ring_clock();
	if (filter_wants(c->s->filter[vtp], r)) {
		if (unlikely(!ring_try(c->ring, r, size, &whole)))
			whole = ring_write(c->ring, r);
		if (unlikely(whole))
			place_wake(c);
	}
	if (IS_ENABLED(CONFIG_X86_64) && static_branch_unlikely(&vtp_marks))
		pt_msr_mark((u64)id << 48 | (hit & (~0ull >> 16)));
}

#define PLACE_GIVE(sec, name, r, hit) \
	place_stage(VTP_##sec##_##name, &(r)->rec, HWT_ID_##sec##_##name, \
		    sizeof(struct hwt_rec_##sec##_##name), hit)

#endif
