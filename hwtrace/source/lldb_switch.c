/* SPDX-License-Identifier: BSD-2-Clause */
#include "lldb.h"

#include <linux/perf_event.h>

/*
 * Records of an event with sample_id_all and sample type TID|TIME, or TID|TIME|CPU: the trailer
 * is 16 or 24 bytes, told by the record's size (linux/perf_event.h, struct sample_id).
 */
#define TRAILER 16u

void lldb_switches_init(struct lldb_switches *w, const void *p, size_t n, int32_t cpu)
{
	*w = (struct lldb_switches){ .cur = cur_new(p, n, false), .cpu = cpu, .pid = HWT_NONE,
		.tid = HWT_NONE };
}

static int stop(struct lldb_switches *w, const char *why, bool cut)
{
	w->bad = why;
	w->cut = cut;
	w->cur.p = w->cur.end;
	return 0;
}

/* Bytes of @type before the trailer; 0: of no use here. */
static unsigned body(uint32_t type)
{
	switch (type) {
	case PERF_RECORD_SWITCH: return 8;
	case PERF_RECORD_SWITCH_CPU_WIDE: return 16;
	case PERF_RECORD_LOST: return 24;
	}
	return 0;
}

/* Who runs before and after the record at @c, whose header is read. */
static void runs_next(struct cur *c, uint32_t type, uint16_t misc, struct lldb_switch *o)
{
	bool out = misc & PERF_RECORD_MISC_SWITCH_OUT;
	int32_t other_pid = HWT_NONE, other_tid = HWT_NONE, pid, tid;

	o->lost = 0;
	if (type == PERF_RECORD_SWITCH_CPU_WIDE) {
		other_pid = (int32_t)cur_u32(c);
		other_tid = (int32_t)cur_u32(c);
	} else if (type == PERF_RECORD_LOST) {
		cur_skip(c, 8);
		o->lost = cur_u64(c);
		o->lost += !o->lost;
	}
	pid = (int32_t)cur_u32(c);
	tid = (int32_t)cur_u32(c);
	o->time = cur_u64(c);
	o->flags = out && (misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT) ? HWT_F_PREEMPT : 0;
	if (type == PERF_RECORD_LOST)
		pid = tid = HWT_NONE;
	o->pid = out ? other_pid : pid;
	o->tid = out ? other_tid : tid;
	o->prev_pid = out ? pid : other_pid;
	o->prev_tid = out ? tid : other_tid;
}

int lldb_switches_next(struct lldb_switches *w, struct lldb_switch *o)
{
	while (cur_left(&w->cur)) {
		struct cur rec;
		uint32_t type;
		uint16_t misc, size;
		const uint8_t *p = w->cur.p;
		unsigned need;

		o->off = cur_pos(&w->cur);
		if (cur_left(&w->cur) < 8)
			return stop(w, "a record header is cut", true);
		type = cur_u32(&w->cur);
		misc = cur_u16(&w->cur);
		size = cur_u16(&w->cur);
		if (size < 8)
			return stop(w, "record size below 8", false);
		if (size - 8u > cur_left(&w->cur))
			return stop(w, "a record is cut", true);
		rec = cur_new(p, size, false);
		cur_skip(&rec, 8);
		cur_skip(&w->cur, size - 8u);
		need = body(type);
		if (!need || size < need + TRAILER)
			continue;
		runs_next(&rec, type, misc, o);
		if (w->known && !o->lost && w->pid == o->pid && w->tid == o->tid)
			continue;
		if (w->known) {
			o->prev_pid = w->pid;
			o->prev_tid = w->tid;
		}
		w->pid = o->pid;
		w->tid = o->tid;
		w->known = true;
		return 1;
	}
	return 0;
}
