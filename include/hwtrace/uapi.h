/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
#ifndef HWTRACE_UAPI_H
#define HWTRACE_UAPI_H

/*
 * What kernel and user share: packets and records of a stream file. A stream file is a valid CTF
 * 1.8 stream as it is; its metadata is made of events.def. Numbers have the byte order of the
 * machine that was traced; every number lies at a multiple of its size, every record and packet at
 * a multiple of 8.
 *
 * Not known is: all ones in u32, u64, x32 and x64; the most negative value in s32 and s64; -1 in
 * pid; "-" in name16 and text; length 0 in id24. Readers take an empty name16 or text for "-", but
 * writers do not make them: babeltrace2 2.0.4 shows the text of an earlier record in their place.
 */
#include <linux/types.h>

/* Section numbers; the id of an event is its section times 256 plus 1 to 255, never reused. */
#define HWT_SECTION(sec, number, text) HWT_SECTION_##sec = number,
enum hwt_section {
#include <hwtrace/events.def>
};

/* Values of fields, HWT_irq_kind_timer; a field's unit names its list. */
#define HWT_VALUE(list, number, name, since, text) HWT_##list##_##name = number,
enum hwt_value {
#include <hwtrace/events.def>
};

/* Event ids. Those from HWT_ID_DIRTY on are described by each capture itself, and not stable. */
#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	HWT_ID_##sec##_##name = HWT_SECTION_##sec << 8 | number,
enum hwt_id {
#include <hwtrace/events.def>
	HWT_ID_DIRTY = 0x8000
};

/*
 * Context fields that a recording chose, a bit each (hwtrace/contexts.def). They lie between struct
 * hwt_rec and the event's own fields, the same ones in each record of a trace: those of 8 bytes and
 * more in the order of their numbers, then those of 4, and zeroes up to a multiple of 8.
 */
#define HWT_CONTEXT(name, number, type, unit, text) HWT_CONTEXT_##name = number,
enum hwt_context {
#include <hwtrace/contexts.def>
};

/* Bits of hwt_rec.flags. */
enum hwt_rec_flag {
	HWT_REC_HIT		= 1 << 0,	/* @hit is valid */
	HWT_REC_CTX		= 1 << 1,	/* the context bits below are valid */
	HWT_REC_HARDIRQ		= 1 << 2,	/* in a hardware interrupt */
	HWT_REC_SOFTIRQ		= 1 << 3,	/* in a softirq */
	HWT_REC_NMI		= 1 << 4,
	HWT_REC_IRQS_OFF	= 1 << 5,
	HWT_REC_PREEMPT_OFF	= 1 << 6,
	HWT_REC_RESCHED		= 1 << 7,	/* the task is to be preempted */
	HWT_REC_CUT		= 1 << 8	/* a text was too long and is cut */
};

/* Begins each record. 32 bytes; then context fields, if there are any, and the event's own. */
struct hwt_rec {
	__u64 time;	/* ticks of the counter (TSC, CNTVCT); never goes back within a stream */
	__u16 id;	/* enum hwt_id */
	__u16 size;	/* bytes of the whole record with this header, a multiple of 8 */
	__u16 version;	/* HWT_ABI_VERSION of the writer: fields that are younger are absent */
	__u16 flags;	/* enum hwt_rec_flag */
	/*
	 * Number of this event among those of its id on this CPU, from 1 on, counted before any
	 * filter: so a record can be found again in the executed code without a clock.
	 */
	__u64 hit;
	__s32 pid;	/* of the running task; -1: not known */
	__s32 tid;
};

/*
 * Text of variable length, at most one in an event, takes the last NAME_size bytes of the record
 * (a multiple of 8, with one or more zero bytes at its end; 0: as "-"). So fields can be appended
 * before it, and it is found as record + size - NAME_size by readers of any age. Filters load
 * 32-bit words at constant offsets (classic BPF), so names that one filters by are name16: 16
 * bytes with one or more zeroes at the end. CTF has both: an array and a sequence of characters.
 */
#define HWT_TEXT_MAX	4096	/* bytes, with its zeroes */

#define HWT_T_u32(n)	__u32 n;
#define HWT_T_u64(n)	__u64 n;
#define HWT_T_x32(n)	__u32 n;		/* shown hexadecimal */
#define HWT_T_x64(n)	__u64 n;
#define HWT_T_s32(n)	__s32 n;
#define HWT_T_s64(n)	__s64 n;
#define HWT_T_pid(n)	__s32 n;
#define HWT_T_name16(n)	char n[16];
#define HWT_T_code16(n)	__u8 n[16];		/* bytes of code */
#define HWT_T_id24(n)	__u8 n[24];		/* number of bytes (0..20), the bytes, zeroes */
#define HWT_T_text(n)	__u32 n##_size;

#define HWT_EVENT(sec, name, number, since, stamp, order, often) \
	struct hwt_rec_##sec##_##name { struct hwt_rec rec;
#define HWT_F(type, name, unit, since, text) HWT_T_##type(name)
#define HWT_EVENT_END };
#include <hwtrace/events.def>

/*
 * A function of the kernel was called, or it returned: an event of the recording's own, whose id is
 * HWT_ID_DIRTY or more. A word for each argument follows, or one with what was returned.
 */
struct hwt_rec_probe {
	struct hwt_rec rec;
	__u64 ip;	/* of the instruction that is probed; of that which is returned to */
};

#define HWT_PACKET_MAGIC 0xc1fc1fc1u	/* CTF 1.8 section 5.1 */

/* Bits of hwt_ctf_packet.flags. */
enum hwt_packet_flag {
	HWT_PACKET_CRC		= 1 << 0,	/* @crc is valid */
	HWT_PACKET_PRODUCED	= 1 << 1,	/* else records begin in place of @produced */
	HWT_PACKET_CONTEXT	= 0xff << 16	/* context of each record, in units of 8 bytes */
};

/*
 * Begins each packet, which is one sub-buffer of one CPU. 96 bytes, then records. A writer that
 * died leaves @content_size 0: records then go on up to the first one that can not be (size below
 * 32, no multiple of 8, or past @packet_size; id 0); memory is zeroed before it is used again.
 */
struct hwt_ctf_packet {
	/* CTF packet header */
	__u32 magic;
	__u8  uuid[16];			/* of the trace, as in its metadata */
	__u32 stream_id;		/* 0 */
	/* CTF packet context */
	__u64 timestamp_begin;		/* ticks; not after the first record */
	__u64 timestamp_end;		/* not before the last record */
	__u64 content_size;		/* bits, with this header; 0: not closed */
	__u64 packet_size;		/* bits, a multiple of 64 */
	__u64 events_discarded;		/* on this CPU since the start, counted up to the end of
					   this packet */
	__u64 packet_seq_num;		/* of this CPU, from 0 on without holes */
	__u32 cpu_id;
	__u32 flags;			/* enum hwt_packet_flag */
	__u32 events;			/* number of records */
	__u32 crc;			/* CRC32C (Castagnoli, reflected, initial value and final
					   xor all ones) of the content, @crc itself taken as 0 */
	/*
	 * Records that there were to write on this CPU since the start, up to the end of this
	 * packet: those of all packets up to this one, also of such that were overwritten before
	 * they were read, and @events_discarded.
	 */
	__u64 produced;
};

#endif
