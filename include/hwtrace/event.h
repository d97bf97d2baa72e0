/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_EVENT_H
#define HWTRACE_EVENT_H

/* struct hwt_event: the one currency between all layers above the packet decoders. */
#include <stddef.h>
#include <stdint.h>

#include <hwtrace/time.h>

#define HWT_NONE		(-1)		/* cpu, pid or tid not known */
#define HWT_SPAN_UNKNOWN	UINT32_MAX	/* no later bound is known */
#define HWT_NO_ADDR		UINT64_MAX	/* address not known; zero is an address */

enum hwt_event_type {
	HWT_EV_NONE,		/* progress only: @time is valid, nothing happened */
	/* seen by the trace hardware */
	HWT_EV_INSN,		/* u.range: one instruction, first == last */
	HWT_EV_RANGE,		/* u.range: instructions run in a row */
	HWT_EV_NOPATH,		/* u.range: run between first and last,
		path not known (Q element) */
	HWT_EV_CALL,		/* u.edge: only at HWT_LEVEL_CALLS */
	HWT_EV_RETURN,		/* u.edge: only at HWT_LEVEL_CALLS */
	HWT_EV_ON,		/* u.at: tracing starts here */
	HWT_EV_OFF,		/* u.at: tracing stops here */
	HWT_EV_GAP,		/* u.gap: trace lost or not decodable */
	HWT_EV_ASPACE,		/* u.aspace: address space, exception level or VM changed */
	HWT_EV_EXCEPTION,	/* u.exc: interrupt, fault, system call, transaction abort */
	HWT_EV_ERET,		/* u.at: return from exception */
	HWT_EV_CYCLES,		/* u.value: cycles since the last CYCLES event of this source */
	HWT_EV_TIMESTAMP,	/* u.value: raw timestamp, also when it is 0 */
	HWT_EV_MARK,		/* u.mark: value written by software: PTWRITE, STM, ITM */
	HWT_EV_TX,		/* u.value: transaction, enum hwt_tx; u.value.addr where known */
	HWT_EV_FREQ,		/* u.value: core to bus ratio (PT CBR), or STM FREQ in Hz */
	HWT_EV_POWER,		/* u.power: MWAIT, PWRE, PWRX, EXSTOP */
	HWT_EV_TRIGGER,		/* u.value: ETM event number bits, trigger, TraceStop,
		sync marker */
	/* seen by the kernel */
	HWT_EV_SCHED_SWITCH,	/* u.sched */
	HWT_EV_MAP,		/* u.rec: code mapped (struct hwt_map) */
	HWT_EV_TASK,		/* u.rec: fork, exec, comm, exit */
	HWT_EV_CLOCK_SYNC,	/* u.sync: one instant read on two clocks */
	HWT_EV_RECORD,		/* u.rec: anything else, described by its container */
	HWT_EV_FRAME,		/* u.rec: struct hwt_call, only by hwt_session_timeline() */
	HWT_EV_TYPES
};

enum hwt_isa {
	HWT_ISA_UNKNOWN, HWT_ISA_X86_64, HWT_ISA_X86_32, HWT_ISA_X86_16,
	HWT_ISA_A64, HWT_ISA_A32, HWT_ISA_T32
};

/* What the last instruction of a range does to the flow. */
enum hwt_insn_kind {
	HWT_INSN_OTHER,		/* no branch */
	HWT_INSN_CALL,		/* direct near call, BL */
	HWT_INSN_ICALL,		/* indirect near call, BLR */
	HWT_INSN_RETURN,	/* near return */
	HWT_INSN_JUMP,		/* direct, unconditional */
	HWT_INSN_IJUMP,		/* indirect, unconditional */
	HWT_INSN_BRANCH,	/* direct, conditional */
	HWT_INSN_FAR_CALL,	/* SYSCALL, SYSENTER, INT n, far CALL, VMCALL-like, SVC, HVC, SMC */
	HWT_INSN_FAR_RETURN,	/* IRET, SYSRET, SYSEXIT, far RET, ERET */
	HWT_INSN_FAR_JUMP,	/* far JMP, VMLAUNCH, VMRESUME */
	HWT_INSN_PTWRITE,
	HWT_INSN_BARRIER,	/* ISB, DSB, DMB, WFI, WFE: a waypoint for some trace units,
		no branch */
	HWT_INSN_KINDS
};

/* Why something is missing. Every cause has an error id, see hwt_gap_error(). */
enum hwt_gap_cause {
	HWT_GAP_NONE,
	HWT_GAP_OVERFLOW,	/* the trace unit's internal buffer overflowed */
	HWT_GAP_NO_SYNC,	/* bytes before the first synchronisation point */
	HWT_GAP_BAD_PACKET,	/* undefined or reserved packet */
	HWT_GAP_TRUNCATED,	/* input ends inside a packet or frame */
	HWT_GAP_NO_IMAGE,	/* code at this address is not in the image */
	HWT_GAP_BAD_IMAGE,	/* trace and code contradict each other: not the code that ran */
	HWT_GAP_NO_RETURN,	/* compressed return without its call */
	HWT_GAP_NO_PROGRESS,	/* code loops without needing a packet */
	HWT_GAP_NO_PATH,	/* trace does not tell the path (Q element, unknown address) */
	HWT_GAP_BREAK,		/* discontinuity: wrap, barrier packet, discard, decoder reset */
	HWT_GAP_AUX_LOST,	/* recorder says that bytes were lost (AUX truncated,
		LOST record) */
	HWT_GAP_AUX_MISSING,	/* bytes that should be in the file are not there */
	HWT_GAP_AUX_OVERLAP,	/* bytes present twice, used once */
	HWT_GAP_COLLISION,	/* another owner used the trace unit at the same time */
	HWT_GAP_RESERVED,	/* bytes of reserved or unknown trace ids */
	HWT_GAP_NO_DECODER,	/* no decoder for this protocol here */
	HWT_GAP_LIB,		/* any other error of a backend library, in @code */
	HWT_GAP_UNKNOWN_BRANCH,	/* the backend library walked past a branch */
	HWT_GAP_DAMAGED,	/* bytes that are not those recorded: a checksum is wrong */
	HWT_GAP_CAUSES
};

/* True for causes that name an instruction: u.gap.addr is valid, u.gap.lost is not. */
static inline int hwt_gap_has_addr(unsigned cause)
{
	return (cause >= HWT_GAP_NO_IMAGE && cause <= HWT_GAP_NO_PATH) ||
		cause == HWT_GAP_UNKNOWN_BRANCH;
}

/* Short stable name ("overflow", "no-sync", ...); static, never NULL. */
const char *hwt_gap_name(unsigned cause);
/* Error id that "help" explains; 0 if @cause is not a cause. */
unsigned hwt_gap_error(unsigned cause);

enum hwt_event_flag {
	HWT_F_TAKEN	= 1 << 0,	/* RANGE,
		INSN: the last instruction's branch was taken (Arm E atom) */
	HWT_F_CUT	= 1 << 1,	/* OFF, EXCEPTION: asynchronous,
		after the instruction before u.at */
	HWT_F_TAIL	= 1 << 2,	/* CALL: a jump to another function's first instruction */
	HWT_F_COND	= 1 << 3,	/* RANGE: the last instruction is conditional (A32,
		T32 IT) */
	HWT_F_RESUMED	= 1 << 4,	/* ON: continues where the last OFF was */
	HWT_F_INTR	= 1 << 5,	/* CALL: made by an exception; RETURN: from one;
		ON: tracing restarts as debug state is left */
	HWT_F_PREEMPT	= 1 << 6,	/* SCHED_SWITCH: the task was preempted */
	/*
	 * RANGE: the library's opinion only. Our own tables contradict it, or it follows such a one
	 * and the trace named no address since. A GAP stands before the first one; or behind it,
	 * if it begins with instructions that did run, up to the branch that the GAP names.
	 * INSN: that branch; where it went is not known.
	 */
	HWT_F_DOUBT	= 1 << 6,
	HWT_F_SW	= 1 << 7,	/* MARK: channel and master are valid (STM) */
};

/*
 * u.value.what of HWT_EV_CYCLES. That of HWT_EV_TIMESTAMP: cycles since the last CYCLES event of
 * this source, if that is of the second kind and not 0.
 */
enum hwt_cycles {
	HWT_CYCLES_BEHIND,	/* counted up to what comes next */
	HWT_CYCLES_BEFORE	/* counted up to what came last (ETMv4, ETE); 0: not known */
};
/* u.value.what of HWT_EV_TRIGGER */
enum hwt_trigger {
	HWT_TRIGGER_EVENT,	/* @value: bit set of the trace unit's event numbers */
	HWT_TRIGGER_MARK,	/* trigger of the trace unit or formatter */
	HWT_TRIGGER_STOP,	/* TraceStop (PT) */
	HWT_TRIGGER_SYNC	/* place of the next TIMESTAMP of this source (ETE) */
};
/* u.mark.kind, bits */
enum hwt_mark_kind {
	HWT_MARK_FLAG	= 1 << 0,	/* packet carries a marker */
	HWT_MARK_TRIGGER = 1 << 1,	/* @value: number of the trigger */
	HWT_MARK_MERR	= 1 << 2,	/* @value: error code of the current master */
	HWT_MARK_GERR	= 1 << 3,	/* @value: error code, master not known */
	HWT_MARK_TS	= 1 << 4	/* has its own timestamp: TIMESTAMP event before it */
};
/* u.exc.what; the words are those of the architecture that was traced. */
enum hwt_exc {
	HWT_EXC_UNKNOWN,
	HWT_EXC_ASYNC,		/* Intel PT: interrupt, fault or trap; the trace does not say */
	HWT_EXC_RESET, HWT_EXC_DEBUG_HALT,
	HWT_EXC_CALL,		/* SVC, HVC or SMC; the trace does not say which */
	HWT_EXC_SVC, HWT_EXC_HVC, HWT_EXC_SMC,
	HWT_EXC_TRAP, HWT_EXC_SERROR, HWT_EXC_INST_DEBUG, HWT_EXC_DATA_DEBUG, HWT_EXC_ALIGNMENT,
	HWT_EXC_INST_FAULT,	/* prefetch abort, software breakpoint */
	HWT_EXC_DATA_FAULT,	/* synchronous data abort, software watchpoint */
	HWT_EXC_ASYNC_ABORT, HWT_EXC_UNDEFINED, HWT_EXC_JAZELLE, HWT_EXC_GENERIC,
	HWT_EXC_IRQ, HWT_EXC_FIQ, HWT_EXC_IMPDEF,
	/* M profile */
	HWT_EXC_NMI, HWT_EXC_HARDFAULT, HWT_EXC_MEMMANAGE, HWT_EXC_BUSFAULT, HWT_EXC_USAGEFAULT,
	HWT_EXC_SECUREFAULT, HWT_EXC_DEBUGMON, HWT_EXC_PENDSV, HWT_EXC_SYSTICK, HWT_EXC_LAZYFP,
	HWT_EXC_LOCKUP,
	HWT_EXC_KINDS
};

/* "data fault", "IRQ", "SysTick", ...; "exception" if not known. Static, never NULL. */
const char *hwt_exc_name(unsigned what);
/* True for what comes from outside of the code that runs: IRQ, FIQ, NMI, SysTick, PendSV. */
static inline int hwt_exc_is_interrupt(unsigned what)
{
	return what == HWT_EXC_IRQ || what == HWT_EXC_FIQ || what == HWT_EXC_NMI ||
		what == HWT_EXC_SYSTICK || what == HWT_EXC_PENDSV;
}

enum hwt_tx { HWT_TX_BEGIN, HWT_TX_COMMIT, HWT_TX_ABORT };
enum hwt_power { HWT_POWER_MWAIT, HWT_POWER_PWRE, HWT_POWER_PWRX, HWT_POWER_EXSTOP };

struct hwt_event {
	/* earliest instant, ticks of clock domain @clock, or HWT_TIME_UNKNOWN */
	uint64_t time;
	uint32_t span;		/* latest - earliest, same unit, or HWT_SPAN_UNKNOWN */
	uint16_t type;		/* enum hwt_event_type */
	uint8_t  flags;		/* enum hwt_event_flag */
	uint8_t  clock;		/* enum hwt_clock */
	int32_t  cpu, pid, tid;	/* HWT_NONE if not known */
	uint32_t src;		/* index of the trace buffer or file it came from */
	uint64_t off;		/* byte offset in that source */
	union {
		struct {
			uint64_t first;		/* address of the first instruction */
			uint64_t last;		/* address of the last one, not its end */
			uint32_t insns;		/* number of instructions */
			uint8_t  isa;		/* enum hwt_isa */
			uint8_t  kind;		/* of the last one, enum hwt_insn_kind */
			uint8_t  last_size;	/* bytes, 0 if not known */
			uint8_t  trace_id;	/* CoreSight trace id, 0 if none */
		} range;
		struct {
			/* instruction that branched; first of the callee or after return */
			uint64_t from, to;
			uint16_t number;	/* of the exception if HWT_F_INTR */
			uint8_t  level, level_off;	/* see u.at */
			uint8_t  isa;
			uint8_t  kind;		/* enum hwt_insn_kind of @from */
			uint8_t  last_size;	/* size of @from, bytes, 0 if not known */
			uint8_t  trace_id;
		} edge;
		struct {
			uint64_t addr;
			uint8_t isa, trace_id;
			/*
			 * HWT_LEVEL_CALLS: 1 + the exception level behind it (u.aspace.el) if it
			 * is told here, and how many bytes behind @off the trace tells it; or 0
			 */
			uint8_t level, level_off;
		} at;
		struct {
			uint64_t bytes;		/* input bytes not decoded, from @off on */
			union {
				/* bytes known to be missing from the input, 0 if none
				   or unknown */
				uint64_t lost;
				/* causes about code (hwt_gap_has_addr()): the instruction
				   that could not be passed, or HWT_NO_ADDR */
				uint64_t addr;
			};
			int8_t   cause;		/* enum hwt_gap_cause */
			uint8_t  trace_id;
			uint8_t  level, level_off;	/* see u.at */
			/*
			 * library's or recorder's own code; HWT_GAP_RESERVED: in how many
			 * places @bytes are, between bytes of other ids
			 */
			int32_t  code;
		} gap;
		struct {
			uint64_t id;		/* CR3 or CONTEXTIDR */
			uint32_t vmid;
			/* exception level (Arm), or 0 kernel / 3 user (x86 CPL) */
			uint8_t  el;
			/* 0 non-secure, 1 secure, 2 root, 3 realm */
			uint8_t  secure, trace_id;
			uint8_t  valid;		/* bit 0 id, 1 vmid, 2 el; bit 3: AArch64 state */
		} aspace;
		struct {
			/* interrupted address; handler, HWT_NO_ADDR if not known */
			uint64_t from, to;
			uint16_t number;	/* as in the trace; see the protocol's manual */
			uint8_t  level, level_off;	/* see u.at */
			uint8_t  isa, trace_id;
			uint8_t  what;		/* enum hwt_exc */
			uint8_t  pad;
		} exc;
		struct { uint64_t value, addr; uint32_t what; uint8_t trace_id, pad[3]; } value;
		struct { uint64_t value, addr; uint16_t channel, master; uint8_t bits, trace_id,
			kind, pad; } mark;
		struct { uint64_t payload; uint64_t addr; uint32_t what; uint32_t pad; } power;
		struct { int32_t prev_pid, prev_tid, next_pid,
			next_tid; uint64_t next_aspace; } sched;
		struct { uint64_t other; uint32_t other_clock, pad; } sync;
		struct {
			const void *data;	/* valid until the stream's next call */
			uint32_t size;		/* bytes at @data */
			uint32_t id;		/* container's event id */
			/*
			 * hwt_session_timeline(): number among the kernel events of the capture,
			 * from 1 on; 0: none
			 */
			uint64_t number;
		} rec;
	} u;
};

_Static_assert(sizeof(struct hwt_event) == 64, "one event is one cache line");

/* Where @ev tells a level behind it (see u.at), or NULL; the byte behind that is level_off. */
static inline const uint8_t *hwt_event_level(const struct hwt_event *ev)
{
	switch (ev->type) {
	case HWT_EV_ON:
	case HWT_EV_ERET:	return &ev->u.at.level;
	case HWT_EV_GAP:	return &ev->u.gap.level;
	case HWT_EV_EXCEPTION:	return &ev->u.exc.level;
	case HWT_EV_CALL:
	case HWT_EV_RETURN:	return &ev->u.edge.level;
	default:		return NULL;
	}
}

#endif
