/* SPDX-License-Identifier: (GPL-2.0-only WITH Linux-syscall-note) OR BSD-2-Clause */
#ifndef HWTRACE_KMOD_H
#define HWTRACE_KMOD_H

/*
 * The kernel module's device, /dev/hwtrace. An open file has one session: HWT_KMOD_OPEN says what
 * is recorded, HWT_KMOD_START and HWT_KMOD_STOP begin and end it, read(2) gives packets
 * (hwtrace/uapi.h), poll(2) tells when there are some. The session ends with the file.
 *
 * Each struct begins with its size as the caller knows it. What a younger caller has behind what
 * the module knows must be zero (-E2BIG), what an older one does not have is taken as zero.
 *
 * Who may record the whole machine (CAP_PERFMON when the file is opened) may record all events.
 * Others who may open the device get records of their own tasks, of events with HWT_KMOD_EV_USER,
 * without addresses of the kernel.
 *
 * read(2) gives whole packets of any CPU, those of one CPU in their order; the buffer has room for
 * one sub-buffer at least (-EINVAL). packet_size is what is there, not the sub-buffer. It waits
 * until there is one (-EAGAIN with O_NONBLOCK), and returns 0 when the session has stopped and all
 * is read.
 *
 * Without a copy: mmap(2), read only, of one CPU's ring as a whole, at offset CPU times its size
 * (sub_size * subs, a multiple of the page). HWT_KMOD_GET tells where in there the oldest packet
 * lies, and it stays there until HWT_KMOD_PUT, unless the session overwrites: then PUT tells
 * whether it did (-ESTALE), and what was seen of it may be wrong. In a map a packet takes up its
 * whole sub-buffer (packet_size). splice(2) with the same offsets gives the same pages to a pipe,
 * and takes nothing out of the ring either. A map keeps the session as an open file does; fork(2)
 * does not copy it.
 *
 * HWT_KMOD_STATE writes what there is as records of section state: to be called when the session
 * has started, until it returns 0; it returns 1 when half of the ring is full: read, and call it
 * again. Of a session that sees only own tasks or one process it is about those, without modules.
 */
#include <linux/ioctl.h>
#include <linux/types.h>

#define HWT_KMOD_DEVICE		"/dev/hwtrace"
#define HWT_KMOD_VERSION	1
#define HWT_KMOD_SESSIONS	64	/* at one time */
/*
 * Of them, of those who may not record the whole machine: of one user (-EDQUOT), and bytes of rings
 * on all CPUs, of one session (-EDQUOT) and of all that the user has (-EDQUOT); of all such users
 * together (-EBUSY). The rest is left to who may.
 */
#define HWT_KMOD_USER_SESSIONS	16
#define HWT_KMOD_OWN_BYTES	(64ull << 20)
#define HWT_KMOD_USER_BYTES	(256ull << 20)
#define HWT_KMOD_USERS_SESSIONS	48

enum hwt_kmod_counter {
	HWT_KMOD_TSC	= 1,
	HWT_KMOD_CNTVCT	= 2
};

/* Bits of hwt_kmod_info.flags. */
enum hwt_kmod_info_flag {
	HWT_KMOD_ALL	= 1 << 0	/* this file may record the whole machine */
};

struct hwt_kmod_info {
	__u32 size;
	__u32 version;		/* HWT_KMOD_VERSION */
	__u32 abi;		/* HWT_ABI_VERSION */
	__u32 cpus;		/* CPU numbers are below it */
	__u32 counter;		/* enum hwt_kmod_counter: what records are stamped with */
	__u32 flags;		/* enum hwt_kmod_info_flag */
	__u32 events;		/* number of HWT_KMOD_EVENT's indexes */
	__u32 sub_max;		/* bytes, of a sub-buffer */
	__u64 hz;		/* of the counter, as the kernel takes it */
};

/* Bits of hwt_kmod_event.flags. */
enum hwt_kmod_event_flag {
	HWT_KMOD_EV_HERE	= 1 << 0,	/* this kernel can give it */
	HWT_KMOD_EV_USER	= 1 << 1,	/* also to those who see only their own tasks */
	HWT_KMOD_EV_OWN		= 1 << 2	/* of the session itself: always recorded */
};

struct hwt_kmod_event {
	__u32 size;
	__u32 index;		/* set by the caller, 0 to hwt_kmod_info.events - 1 */
	__u32 id;		/* enum hwt_id */
	__u32 flags;		/* enum hwt_kmod_event_flag */
	/*
	 * Address of the instruction that counts the event (hwt_rec.hit): the k-th time that a CPU
	 * runs it is the record with hit k. 0: not told to this caller.
	 */
	__u64 anchor;
};

/* Bits of hwt_kmod_session.flags. */
enum hwt_kmod_session_flag {
	HWT_KMOD_OVERWRITE	= 1 << 0	/* without room the oldest packet goes */
};

/* An event that a session wants. */
struct hwt_kmod_want {
	__u16 id;		/* enum hwt_id */
	__u16 nfilter;		/* instructions; 0: all records */
	__u32 pad;
	/*
	 * Address of struct sock_filter, made for the event (hwtrace/filter.h). The time that it
	 * sees is that of its own run, a little before the record's.
	 */
	__u64 filter;
};

#define HWT_KMOD_PROBES		64	/* of a session */
#define HWT_KMOD_ARGS		8
#define HWT_KMOD_ACTIVE		4096

/* What of a register is told, extended to 64 bits. */
struct hwt_kmod_arg {
	__u8 number;	/* of the arguments in registers, from 0 on; 0 for what is returned */
	__u8 bytes;	/* 1, 2, 4, 8: the low ones */
	__u8 is_signed;	/* 0, 1 */
	__u8 pad;
};

/* Bits of hwt_kmod_probe.flags. */
enum hwt_kmod_probe_flag {
	HWT_KMOD_RETURN		= 1 << 0	/* of its return, else of its call */
};

/*
 * An event of the session's own: a function of the kernel is called, or returns. Its id is
 * HWT_ID_DIRTY + its number in the array, its records are struct hwt_rec_probe. Arguments are
 * what the calling convention has in registers where the function begins. Only for who may record
 * the whole machine (-EACCES); what can not be probed is the kernel's to say (-ENOENT, -EINVAL,
 * -EILSEQ).
 *
 * A return of which the kernel could not take note, because @active calls were open, counts as
 * lost on the CPU of the call. So do hits inside of the handling of another probe, which the kernel
 * does not tell before the end: on the CPU that stops the session.
 */
struct hwt_kmod_probe {
	char symbol[128];	/* with one or more zeroes at the end */
	__u64 offset;		/* bytes from its start; 0 for a return */
	__u32 flags;		/* enum hwt_kmod_probe_flag */
	__u32 active;		/* of a return: calls open at one time, up to HWT_KMOD_ACTIVE; 0:
				   what the kernel takes then, 10 or two for each CPU */
	__u32 nargs;		/* up to HWT_KMOD_ARGS; of a return: 0, 1 */
	__u16 nfilter;		/* as in struct hwt_kmod_want */
	__u16 pad;
	__u64 filter;
	struct hwt_kmod_arg arg[HWT_KMOD_ARGS];
};

/* When the session has stopped. */
struct hwt_kmod_probed {
	__u32 size;
	__u32 index;		/* set by the caller */
	__u64 hits;		/* on all CPUs, before tasks and filters are looked at */
	__u64 missed;		/* returns without note, of tasks that are recorded */
	__u64 nested;		/* hits inside of another probe, as the kernel counts them */
};

struct hwt_kmod_session {
	__u32 size;
	__u32 flags;		/* enum hwt_kmod_session_flag */
	__u32 sub_size;		/* bytes of a sub-buffer, a power of two, 4096 to sub_max */
	__u32 subs;		/* of each CPU, a power of two from 2 on */
	__u64 wants;		/* address of struct hwt_kmod_want, each event once */
	__u32 nwants;
	__s32 pid;		/* this process and what it forks from now on; 0: all tasks */
	__u8 uuid[16];		/* of the trace, for packets */
	/*
	 * Bits of enum hwt_context. Who may not record the whole machine may not have
	 * preempt_count, aspace, counter (-EACCES).
	 */
	__u32 contexts;
	/*
	 * Of the context counter, else 0: type and config of perf_event_open(2), one counter for
	 * each CPU; hardware, software, cache or raw events (-EINVAL). Where there is none, as on a
	 * CPU that came later, its value is not known.
	 */
	__u32 counter_type;
	__u64 counter_config;
	__u64 probes;		/* address of struct hwt_kmod_probe */
	__u32 nprobes;		/* up to HWT_KMOD_PROBES */
	__u32 pad;
};

/* Exact when the session has stopped. produced == lost + overwritten + all that read(2) gives. */
struct hwt_kmod_counts {
	__u32 size;
	__u32 cpu;		/* set by the caller */
	__u64 produced;		/* records that were wanted, after the filter */
	__u64 lost;		/* no room */
	__u64 overwritten;
	__u64 read;
};

/* Bits of hwt_kmod_holder.flags. */
enum hwt_kmod_holder_flag {
	HWT_KMOD_HELD		= 1 << 0,	/* there is such a session */
	HWT_KMOD_HELD_USER	= 1 << 1	/* of who may not record the whole machine */
};

/* Who has which session. Who may not record the whole machine is told the flags of others only. */
struct hwt_kmod_holder {
	__u32 size;
	__u32 index;		/* set by the caller: below HWT_KMOD_SESSIONS */
	__u32 flags;		/* enum hwt_kmod_holder_flag */
	__u32 uid;		/* all ones: not told */
	__s32 pid;		/* of the process that opened it; 0: not told, or not in this
				   namespace */
	__u32 pad;
	__u64 bytes;		/* of its rings */
};

/* A packet in a map. */
struct hwt_kmod_packet {
	__u32 size;
	__u32 cpu;		/* set by the caller */
	__u64 number;		/* among those of the CPU; of PUT all that counts */
	__u64 offset;		/* of its first byte, as mmap(2) counts them */
	__u32 bytes;		/* with its header */
	__u32 pad;
	__u64 begin, end;	/* ticks */
	__u64 lost;		/* up to its end */
	__u64 produced;		/* with those lost */
};

enum hwt_kmod_mark_kind {
	HWT_KMOD_MARK	= 0,	/* user.mark */
	HWT_KMOD_BEGIN	= 1,
	HWT_KMOD_END	= 2
};

/* A record of the calling task, for all sessions that want it. */
struct hwt_kmod_mark {
	__u32 size;
	__u32 kind;		/* enum hwt_kmod_mark_kind */
	__u64 value;
	__u64 text;		/* address */
	__u32 len;		/* bytes of text, up to 255 */
	__u32 channel;
};

/*
 * A session may have the trace units of the CPUs, too: HWT_KMOD_UNIT before it is started, by who
 * may record the whole machine (-EACCES). They run while the session runs, on each CPU that is on.
 * Each has a buffer, which can be mapped, read only and as a whole, at HWT_KMOD_TRACE_AT plus its
 * number times its size. HWT_KMOD_TRACE asks where in there is trace that was not read yet: the
 * unit is stopped for a moment, so all that ran before is in memory. Nothing tells that there is
 * something to read: who reads asks again and again. HWT_KMOD_TRACE_READ makes room.
 */
#define HWT_KMOD_TRACE_AT	(1ull << 46)

enum hwt_kmod_unit_kind {
	HWT_KMOD_PT	= 1,	/* Intel PT; a buffer for each CPU, by its number */
	/*
	 * Arm CoreSight: ETMv4 or ETE, and what keeps its trace (TMC, or the CPU's own trace
	 * buffer); a buffer for each of the latter, from 0 on. HWT_KMOD_CS_REGS tells which is that
	 * of a CPU. Trace of a TMC comes in frames of 16 bytes, as CoreSight's manual has them, and
	 * that of CPU n has the trace id n + 1; hwt_kmod_trace.cpu is -1 where CPUs share it. A
	 * trace buffer has the trace of its CPU alone, without frames; between two runs it may have
	 * packets of an ETE that say nothing.
	 */
	HWT_KMOD_CS	= 2
};

/* Bits of hwt_kmod_pt.bits, as IA32_RTIT_CTL has them (Intel SDM 3C). */
enum hwt_kmod_pt_bit {
	HWT_KMOD_PT_OS		= 1 << 0,
	HWT_KMOD_PT_USER	= 1 << 1,
	HWT_KMOD_PT_BRANCH	= 1 << 2,
	HWT_KMOD_PT_TSC		= 1 << 3,
	HWT_KMOD_PT_NO_RETC	= 1 << 4,	/* returns are not compressed */
	HWT_KMOD_PT_MTC		= 1 << 5,
	HWT_KMOD_PT_CYC		= 1 << 6,
	HWT_KMOD_PT_PTW		= 1 << 7,	/* PTWRITE */
	HWT_KMOD_PT_PTW_IP	= 1 << 8,	/* with its address */
	HWT_KMOD_PT_POWER	= 1 << 9,	/* power events */
	HWT_KMOD_PT_EVENTS	= 1 << 10,	/* event trace */
	HWT_KMOD_PT_NO_TNT	= 1 << 11,
	HWT_KMOD_PT_CR3		= 1 << 12	/* @cr3 only */
};

struct hwt_kmod_range {
	__u64 first, last;	/* addresses, both in it */
	__u32 stop;		/* 1: code there ends the trace; 0: only code there is traced */
	__u32 pad;
};

struct hwt_kmod_pt {
	__u32 bits;		/* enum hwt_kmod_pt_bit */
	__u8 mtc;		/* MTCFreq: each 2^n ticks of the crystal */
	__u8 cyc;		/* CycThresh */
	__u8 psb;		/* PSBFreq: each 2^(n+11) bytes */
	__u8 nranges;		/* up to 4 */
	__u64 cr3;
	struct hwt_kmod_range range[4];
};

/* Bits of hwt_kmod_cs.bits. */
enum hwt_kmod_cs_bit {
	HWT_KMOD_CS_OS		= 1 << 0,	/* the level that the kernel runs at */
	HWT_KMOD_CS_USER	= 1 << 1,
	HWT_KMOD_CS_TIME	= 1 << 2,	/* timestamps */
	HWT_KMOD_CS_CYCLES	= 1 << 3,
	HWT_KMOD_CS_CONTEXT	= 1 << 4,	/* context id; of a kernel at EL2 as VMID */
	HWT_KMOD_CS_RETURN	= 1 << 5,	/* return stack */
	HWT_KMOD_CS_BROADCAST	= 1 << 6,	/* all branches have addresses */
	HWT_KMOD_CS_STALL	= 1 << 7	/* the CPU waits before trace is lost */
};

struct hwt_kmod_cs {
	__u32 bits;		/* enum hwt_kmod_cs_bit */
	__u16 threshold;	/* least number of cycles that are told; 0: the unit's */
	__u16 time_every;	/* cycles between timestamps; 0: with synchronisation only */
	__u8 sync;		/* each 2^n bytes, 8 to 20; 0: the unit's */
	__u8 nranges;		/* up to 4; @stop of a range: code there is left out */
	__u8 pad[6];
	struct hwt_kmod_range range[4];
};

/* Bits of hwt_kmod_unit.flags. */
enum hwt_kmod_unit_flag {
	HWT_KMOD_UNIT_NEWEST	= 1 << 0,	/* without room the oldest trace goes */
	HWT_KMOD_UNIT_TRY	= 1 << 1,	/* only asks whether it could be had */
	/*
	 * Behind each record of any session its id << 48 and the low 48 bits of its hit are written
	 * into the trace of its CPU by PTWRITE: needs HWT_KMOD_PT_PTW. Filters do not count.
	 */
	HWT_KMOD_UNIT_MARKS	= 1 << 2
};

/* @why, @cpu and @offer are set also when it is refused. */
struct hwt_kmod_unit {
	__u32 size;
	__u32 kind;		/* enum hwt_kmod_unit_kind */
	__u32 flags;		/* enum hwt_kmod_unit_flag */
	/*
	 * type of the kernel's own driver in /sys/bus/event_source/devices, 0: there is none. It is
	 * kept away by a disabled counter for each CPU, and refuses that (-EBUSY) if it is in use.
	 */
	__u32 perf_type;
	__u64 bytes;		/* of each buffer: a power of two, 64 KiB to 1 GiB */
	char why[120];		/* of a refusal, else "" */
	__s32 cpu;		/* that refused it, -1: all would */
	__u32 pad;
	__u64 offer;		/* where a value was refused: the nearest that would do */
	struct hwt_kmod_pt pt;
	struct hwt_kmod_cs cs;
};

enum hwt_kmod_trace_state {
	HWT_KMOD_TRACE_OFF,	/* it does not run: not started, stopped, or the CPU is off */
	HWT_KMOD_TRACE_RUNS,
	HWT_KMOD_TRACE_WAITS,	/* it stopped because there was no room; goes on when it is asked */
	HWT_KMOD_TRACE_ENDED	/* it does not go on in this session; @why tells */
};

struct hwt_kmod_trace {
	__u32 size;
	__u32 buffer;		/* set by the caller */
	__s32 cpu;		/* whose trace it is */
	__u32 state;		/* enum hwt_kmod_trace_state */
	/*
	 * Bytes since the start; byte n lies at n % bytes. Of HWT_KMOD_UNIT_NEWEST rounds that
	 * nobody asked about are not counted, and memory that was never written has zeroes.
	 */
	__u64 begin, end;
	/*
	 * How often the unit stopped by itself, for want of room or by an error: what came then is
	 * lost, and the last packet before @end may be cut off.
	 */
	__u64 cuts;
	__u64 time;		/* the counter, when it was stopped at @end */
	char why[120];		/* what ended it, or what the last stop was for; else "" */
};

/* What the trace of a CPU is read with; of a CoreSight session. -ENODEV: that CPU has no unit. */
struct hwt_kmod_cs_regs {
	__u32 size;
	__u32 cpu;		/* set by the caller */
	__u32 buffer;		/* that its trace goes to */
	__u32 trace_id;		/* in the frames there; 0: it has no frames */
	__u32 devarch;		/* TRCDEVARCH; 0: the CPU was not on since the session has it */
	__u32 configr;		/* TRCCONFIGR */
	__u32 idr[16];		/* TRCIDR0 to 13; those without a use in packets are 0 */
};

#define HWT_KMOD_INFO	_IOWR(0xce, 0, struct hwt_kmod_info)
#define HWT_KMOD_EVENT	_IOWR(0xce, 1, struct hwt_kmod_event)
#define HWT_KMOD_OPEN	_IOW(0xce, 2, struct hwt_kmod_session)
#define HWT_KMOD_START	_IO(0xce, 3)
#define HWT_KMOD_STOP	_IO(0xce, 4)
#define HWT_KMOD_COUNTS	_IOWR(0xce, 5, struct hwt_kmod_counts)
#define HWT_KMOD_PROBED	_IOWR(0xce, 16, struct hwt_kmod_probed)
#define HWT_KMOD_HOLDER	_IOWR(0xce, 17, struct hwt_kmod_holder)
#define HWT_KMOD_MARK_IT _IOW(0xce, 6, struct hwt_kmod_mark)
/* 1: there is more to tell, 0: that was all */
#define HWT_KMOD_STATE	_IO(0xce, 7)
#define HWT_KMOD_UNIT	_IOWR(0xce, 10, struct hwt_kmod_unit)
#define HWT_KMOD_TRACE	_IOWR(0xce, 11, struct hwt_kmod_trace)
/* Of the struct buffer and begin count: all before it was read. */
#define HWT_KMOD_TRACE_READ _IOW(0xce, 12, struct hwt_kmod_trace)
#define HWT_KMOD_CS_REGS _IOWR(0xce, 13, struct hwt_kmod_cs_regs)
/* -EAGAIN: none is whole yet; -ENODATA: the session has stopped, and there are no more */
#define HWT_KMOD_GET	_IOWR(0xce, 8, struct hwt_kmod_packet)
#define HWT_KMOD_PUT	_IOW(0xce, 9, struct hwt_kmod_packet)

#endif
