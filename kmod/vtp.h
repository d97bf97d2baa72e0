/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_VTP_H
#define HWT_KMOD_VTP_H

/*
 * Event definition: what <hwtrace/events.def> says, as functions that probes call. Nothing here
 * knows where an event comes from, nor how a record is stored.
 */
#include <linux/jump_label.h>
#include <linux/types.h>
#include <linux/string.h>
#include <linux/sched.h>
#include <asm/byteorder.h>
#include <hwtrace/uapi.h>

/* Position of an event in all tables here. */
#define HWT_EVENT(sec, name, number, since, stamp, order, often) VTP_##sec##_##name,
enum vtp_index {
#include <hwtrace/events.def>
	VTP_COUNT
};

struct vtp {
	const char *name;	/* "sched.switch" */
	const void *anchor;	/* address of the instruction that counts */
	u64 sessions;		/* bits: sessions that want it, read by probes */
	u64 head;		/* the record's second word, but for its flags */
	u16 id, size;		/* of the record without text */
	u16 index;		/* enum vtp_index */
	u16 other;		/* offset of the tid of another task that it is about; 0: none */
	bool user;		/* tells only what the running task may know anyway */
	bool own;		/* of a session itself, not counted */
	bool made;		/* by the module, without a hook */
};

extern struct vtp vtps[VTP_COUNT];

/*
 * Of a record in a probe that sets all of its bytes: kernels that zero all variables would do it
 * here for each record. Not for records that have a field which is not always set.
 */
#define VTP_ALL_SET __attribute__((__uninitialized__))

/* What a probe may add to a record. */
struct vtp_more {
	const char *text;	/* not needed after the call; the record has vtp_text_size(len) */
	u32 len;		/* without zeroes, below HWT_TEXT_MAX */
	u16 flags;		/* enum hwt_rec_flag: CUT */
	bool no_ctx;		/* preempt count and interrupt state are those of the probe */
};

/* Those whose probes make them in place (place.h) have no function here. */
#define VTP_PLACED_sched_switch 1
#define VTP_PLACED_sched_waking 1
#define VTP_PLACED_sched_wakeup 1
#define VTP_PLACED_syscall_enter 1
#define VTP_PLACED_syscall_exit 1

/* One function for each event: fills the header, counts, and gives the record to sessions. */
#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	void vtp_##sec##_##name(struct hwt_rec_##sec##_##name *r, const struct vtp_more *more);
#include <hwtrace/events.def>

int vtp_find(u16 id);		/* its position, or -ENOENT */
void vtp_init(void);

static inline u32 vtp_text_size(u32 len)
{
	return len ? (len + 8) & ~7u : 0;
}

/* A name16: zeroes behind it, "-" for none (uapi.h). */
static __always_inline void vtp_name(char *to, const char *from)
{
	if (strscpy_pad(to, from, 16) == 0)
		to[0] = '-';
}

/*
 * The same of the name of a task, all of whose 16 bytes are there, and may just be changed. The
 * kernel writes it in words, the last of them with zeroes behind the name, and then the others with
 * zeroes (strscpy_pad()); what is left of a longer one meanwhile is not taken.
 */
static __always_inline void vtp_comm(char *to, const char *from)
{
	const u64 last = cpu_to_le64(~0ull >> 8);
	u64 lo, hi = 0;

	memcpy(&lo, from, 8);
	if (lo & ~last) {
		memcpy(&hi, from + 8, 8);
		hi &= last;
	} else if (unlikely(!lo)) {
		lo = cpu_to_le64('-');
	}
	memcpy(to, &lo, 8);
	memcpy(to + 8, &hi, 8);
}

static __always_inline void vtp_task(s32 *pid, s32 *tid, const struct task_struct *t)
{
	*pid = t->tgid;
	*tid = t->pid;
}

/* Records are marked in the trace of the CPU (HWT_KMOD_UNIT_MARKS). */
DECLARE_STATIC_KEY_FALSE(vtp_marks);

#endif
