/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_MODEL_H
#define HWT_MODEL_MODEL_H

/*
 * What a CPU did, told to a software trace unit in program order. A recorder (QEMU plugin, single
 * steps) makes these; an encoder makes of them the packets that trace hardware would have sent.
 * Nothing in this folder uses code or tables of decoders/ or hwtrace/image/: a mistake there must
 * not be repeated here.
 */
#include <stddef.h>
#include <stdint.h>

#define MODEL_NO_ADDR UINT64_MAX

enum model_isa { MODEL_X86_64 = 1, MODEL_X86_32, MODEL_A64, MODEL_A32, MODEL_T32 };

/* What the last instruction of a block does to the flow; the words are those of both vendors. */
enum model_kind {
	MODEL_PLAIN,		/* nothing: the block ends for another reason */
	MODEL_JUMP,		/* direct branch, with or without condition */
	MODEL_CALL,		/* direct, with link */
	MODEL_IJUMP,		/* indirect: JMP r/m, BR, BX, POP {pc}, TBB */
	MODEL_ICALL,		/* indirect, with link */
	MODEL_RETURN,		/* x86 near RET; A64 RET; A32 and T32: an IJUMP that is a return */
	MODEL_SYSCALL,		/* SYSCALL, SYSENTER, SVC, HVC, SMC */
	MODEL_FAR_RETURN,	/* SYSRET, SYSEXIT, IRET, ERET */
	MODEL_FAR,		/* other far transfers: far CALL and JMP, VMLAUNCH, ... */
	MODEL_BARRIER,		/* ISB */
	MODEL_WAIT,		/* WFI, WFE, HLT, MWAIT */
	MODEL_PTWRITE,
	/* x86 INT n, INT3, INT1, INTO: to a trace unit an exception at its own address */
	MODEL_INT
};

/* Instructions that follow each other in memory; only the last may change the flow. */
struct model_block {
	uint64_t first, last;	/* addresses of the first and the last instruction */
	uint64_t target;	/* of a direct branch, else MODEL_NO_ADDR */
	uint32_t insns;
	uint8_t last_size;	/* bytes */
	uint8_t isa;		/* enum model_isa */
	uint8_t kind;		/* enum model_kind */
	uint8_t cond;		/* 1: conditional, also by an IT block or A32 condition */
};

enum model_op {
	MODEL_RUN,	/* the first @insns instructions of @block ran; @to comes next */
	MODEL_TRAP,	/* interrupt or fault before the instruction at @from; handler @to */
	MODEL_ENTER,	/* goes on at @to after something that the recorder does not see */
	MODEL_CONTEXT,	/* @ctx holds from the next instruction on */
	MODEL_VALUE,	/* the PTWRITE that just ran wrote @value */
	MODEL_END	/* nothing more of this CPU */
};

/* What a recorder that sees user code only gives as @to when the kernel runs. */
#define MODEL_UNSEEN (UINT64_MAX - 1)

enum model_trap {
	MODEL_TRAP_IRQ, MODEL_TRAP_NMI, MODEL_TRAP_INST_FAULT, MODEL_TRAP_DATA_FAULT,
	MODEL_TRAP_UNDEFINED, MODEL_TRAP_DEBUG, MODEL_TRAP_OTHER,
	MODEL_TRAP_HALT		/* a debugger from outside stops the CPU; Arm */
};

struct model_ctx {
	uint64_t aspace;	/* CR3 with its low bits as they are, or CONTEXTIDR */
	uint32_t vmid;
	uint8_t level;		/* x86: CPL; Arm: EL */
	uint8_t secure;		/* Arm: 1 secure */
	uint8_t isa;		/* enum model_isa, for MODE.Exec and the SF bit */
	uint8_t valid;		/* bit 0 aspace, 1 vmid, 2 level */
};

struct model_event {
	uint8_t op;		/* enum model_op */
	uint8_t taken;		/* RUN, whole block: the branch was taken (0 also for PLAIN) */
	uint8_t trap;		/* TRAP: enum model_trap */
	uint8_t size;		/* VALUE: 4 or 8 bytes */
	uint32_t insns;		/* RUN: block->insns unless it was interrupted inside */
	/*
	 * Counter of the CPU (TSC, CNTVCT) when the last instruction of a RUN retired, or the
	 * event happened; never goes back. Instructions of a block retire between the tick of the
	 * event before and this one.
	 */
	uint64_t tick;
	const struct model_block *block;	/* RUN; alive as long as the recorder */
	union {
		uint64_t from;	/* TRAP: where the flow was interrupted */
		uint64_t value;	/* VALUE */
	};
	/* RUN, TRAP, ENTER: address that runs next; MODEL_UNSEEN; MODEL_NO_ADDR: at the end */
	uint64_t to;
	struct model_ctx ctx;	/* CONTEXT; TRAP: only isa, of @from, 0 if not known */
};

/*
 * Takes bytes that a unit sent, in order. An error (negative) makes the unit return it from then
 * on.
 */
struct model_out {
	int (*put)(void *arg, const void *p, size_t n);
	/*
	 * Events [@from, @to) of the unit (counted from 0 as they were given) have left no trace:
	 * the unit overflowed. May be NULL.
	 */
	void (*lost)(void *arg, uint64_t from, uint64_t to);
	void *arg;
};

#endif
