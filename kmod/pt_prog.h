/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_PT_PROG_H
#define HWT_KMOD_PT_PROG_H

/*
 * Intel PT of one logical CPU (Intel SDM volume 3C, chapter "Intel Processor Trace"; sections are
 * cited by their titles, as their numbers change). All registers are of the CPU that runs, so all
 * functions with a unit are called on it, one at a time; none of them sleeps or allocates.
 *
 * pt_probe says what the CPU has, pt_check what of it a wish can have, pt_buffer and pt_config make
 * a unit ready; then pt_start, pt_turn and pt_stop as often as wanted. A unit that does not run is
 * left disabled.
 */
#include "hwreg.h"

/* Why something is refused, or what became of a unit. */
#define PT_WHYS(X) \
	X(PT_FINE,	 "nothing is wrong") \
	X(PT_NONE,	 "this CPU has no Intel PT") \
	X(PT_HIDDEN,	 "the hypervisor does not show Intel PT to this machine") \
	X(PT_DENIED,	 "the CPU refuses an access to the registers of Intel PT") \
	X(PT_NO_OUTPUT,	 "this CPU can not write trace to memory") \
	X(PT_VMX,	 "virtual machines run here, and this CPU can not trace beside VMX") \
	X(PT_TAKEN,	 "Intel PT runs already, for somebody else") \
	X(PT_BITS,	 "an option that is not known") \
	X(PT_NOBODY,	 "neither the kernel nor programs are to be traced") \
	X(PT_CYC,	 "this CPU can not count cycles") \
	X(PT_CYC_EVERY,	 "this CPU does not tell cycles at that threshold") \
	X(PT_PSB_EVERY,	 "this CPU does not synchronise at that distance") \
	X(PT_MTC,	 "this CPU has no MTC packets") \
	X(PT_MTC_EVERY,	 "this CPU does not send MTC at that rate") \
	X(PT_PTW,	 "this CPU has no PTWRITE") \
	X(PT_POWER,	 "this CPU does not trace power events") \
	X(PT_EVENTS,	 "this CPU does not trace events") \
	X(PT_TNT,	 "this CPU can not leave out conditional branches") \
	X(PT_BRANCHES,	 "this CPU can not leave out branches") \
	X(PT_CR3,	 "this CPU can not select an address space") \
	X(PT_CR3_VALUE,	 "the low five bits of an address space are not zero") \
	X(PT_RANGES,	 "this CPU has not that many address ranges") \
	X(PT_RANGE,	 "an address range ends before it begins, or is no address of this CPU") \
	X(PT_NO_STOP,	 "this CPU can not stop where a buffer ends: only the newest can be kept") \
	X(PT_NO_PMI,	 "this CPU does not tell that a buffer fills") \
	X(PT_PIECE,	 "a piece of the buffer has a size or address that is not possible") \
	X(PT_PIECES,	 "this CPU writes to one piece of memory, not to several") \
	X(PT_TABLES,	 "there are not enough tables for the pieces of the buffer") \
	X(PT_ORDER,	 "it is not in a state for that") \
	X(PT_FULL,	 "the buffer is full") \
	X(PT_STOPPED,	 "code in a range that ends the trace was run") \
	X(PT_ERROR,	 "the CPU found an error in the buffer's tables, or can not write there") \
	X(PT_LOST_PLACE, "the CPU tells a place that is not in the buffer") \
	X(PT_CLEARED,	 "somebody else switched it off") \
	X(PT_STOLEN,	 "somebody else changed it while it ran")

enum pt_why {
#define X(id, text) id,
	PT_WHYS(X)
#undef X
};

/* What CPUID and the CPU's state tell; of one CPU, filled by the caller. */
struct pt_leaves {
	u32 max;		/* leaf 0, EAX */
	u32 l7_ebx;
	u32 l14_ebx, l14_ecx;	/* leaf 14H */
	u32 l14_1_eax, l14_1_ebx;	/* its subleaf 1, where EAX of subleaf 0 is 1 or more */
	u8 phys_bits, virt_bits;	/* leaf 80000008H, EAX[7:0] and [15:8] */
	bool hypervisor;	/* leaf 1, ECX[31] */
	bool vmx;		/* CR4.VMXE: VMXON may be, or come */
	bool must_branch;	/* BranchEn can not be cleared: first CPUs with PT (Broadwell) */
};

struct pt_caps {
	bool cr3, cyc, mtc, ptw, power, events, no_tnt;
	bool topa, pieces;	/* ToPA, with more than one piece */
	bool single;		/* output without ToPA */
	bool must_branch;
	u8 ranges, phys_bits, virt_bits;
	u16 mtc_map, cyc_map, psb_map;	/* bit n: value n may be chosen */
};

#define PT_RANGE_MAX	4

enum pt_bit {
	PT_BIT_OS	= 1 << 0,	/* code at CPL 0 */
	PT_BIT_USER	= 1 << 1,
	PT_BIT_BRANCH	= 1 << 2,
	PT_BIT_TSC	= 1 << 3,
	PT_BIT_NO_RETC	= 1 << 4,	/* returns are not compressed */
	PT_BIT_MTC	= 1 << 5,
	PT_BIT_CYC	= 1 << 6,
	PT_BIT_PTW	= 1 << 7,
	PT_BIT_PTW_IP	= 1 << 8,	/* with the address of the instruction */
	PT_BIT_POWER	= 1 << 9,
	PT_BIT_EVENTS	= 1 << 10,
	PT_BIT_NO_TNT	= 1 << 11,
	PT_BIT_CR3	= 1 << 12,	/* @cr3 only */
	PT_BIT_ALL	= (1 << 13) - 1
};

struct pt_range {
	u64 first, last;	/* addresses, both in it */
	bool stop;		/* code there ends the trace; else only code there is traced */
};

struct pt_wish {
	u32 bits;		/* enum pt_bit */
	u8 mtc;			/* MTC each 2^n ticks of the crystal */
	u8 cyc;			/* CYC after 2^(n-1) cycles at least; 0: as often as it can */
	u8 psb;			/* PSB after 2^(n+11) bytes */
	u8 nranges;
	u64 cr3;		/* bits 63:5 as CR3 has them */
	struct pt_range range[PT_RANGE_MAX];
	bool overwrite;		/* keep the newest; else stop when the buffer is full */
	bool pmi;		/* an interrupt each quarter of the buffer */
};

/* A piece of the buffer: 4 KiB to 128 MiB, a power of two, at a multiple of its size. */
struct pt_piece {
	u64 phys, bytes;
	u64 at;			/* of the buffer's bytes; set by pt_buffer */
};

#define PT_TABLE_BYTES	4096
#define PT_TABLE_PIECES	511	/* and one word that leads to the next table */

/* A table of the unit's own: PT_TABLE_BYTES at a multiple of that. */
struct pt_table { u64 *word; u64 phys; };

enum pt_state {
	PT_EMPTY,
	PT_READY,		/* disabled */
	PT_RUNS,
	PT_WAITS,		/* disabled: no room, the next turn may start it */
	PT_ENDED,		/* disabled, and pt_turn leaves it so; @why says what ended it */
	PT_OTHERS		/* it is not ours any more: nothing is written to it */
};

struct pt_unit {
	struct hwreg *r;
	struct pt_caps caps;
	struct pt_wish wish;
	enum pt_state state;
	enum pt_why why;	/* of the last call, or what ended it */
	u64 ctl;		/* without TraceEn */
	const struct pt_piece *piece;
	u32 npieces;
	const struct pt_table *table;
	u32 ntables;		/* that are used; 0: output without ToPA */
	u32 stop;		/* the piece that ends the trace, ~0: none */
	u64 bytes;		/* of all pieces */
	/*
	 * Bytes since the first start: what was written, where it may go at most, and what the
	 * reader is done with, which the reader moves. Byte n lies at n % bytes. Of a buffer that
	 * is written over, @head counts no rounds that nobody looked at.
	 */
	u64 head, limit, tail;
	bool wrapped;		/* all of the buffer was written at least once */
	bool writes;		/* the CPU may still write to the buffer, also when this ended */
	u64 cuts;		/* times that a packet may be cut off: full, error */
	u32 errors;		/* of the unit, since the last progress */
};

/* All return 0, or a negative errno with the reason in *why or unit.why. */
int pt_probe(struct hwreg *r, const struct pt_leaves *l, struct pt_caps *caps, enum pt_why *why);
/* *offer: the nearest value that this CPU has, where a value was refused. */
int pt_check(const struct pt_caps *caps, const struct pt_wish *w, enum pt_why *why, u64 *offer);
/* Joins pieces that lie one after the other, up to @max bytes each; returns how many are left. */
u32 pt_join(struct pt_piece *p, u32 n, u64 max);
u32 pt_tables_for(u32 npieces);
int pt_config(struct pt_unit *u, struct hwreg *r, const struct pt_caps *caps,
	      const struct pt_wish *w, u64 *offer);
/* Pieces and tables stay the caller's, and in place until the unit is stopped for good. */
int pt_buffer(struct pt_unit *u, struct pt_piece *p, u32 n, const struct pt_table *t, u32 ntables);

int pt_start(struct pt_unit *u);
/* Trace is in memory up to @head then. -EBUSY: the unit is not ours any more. */
int pt_stop(struct pt_unit *u);
/* Stops, and starts again where there is room: @head is known then. */
int pt_turn(struct pt_unit *u);
/* In a PMI: 1 if it was this unit's, which then has been turned; 0: not ours. */
int pt_pmi(struct pt_unit *u);
const char *pt_why_text(enum pt_why why);

#endif
