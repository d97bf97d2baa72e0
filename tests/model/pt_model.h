/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef TESTS_MODEL_PT_MODEL_H
#define TESTS_MODEL_PT_MODEL_H

/*
 * A behavioural model of the registers of Intel PT of one logical CPU, written from the Intel SDM
 * (volume 3C, chapter "Intel Processor Trace"), without a name or number of what is tested. It
 * faults where the manual says #GP, walks ToPA tables, writes bytes to memory, and notes each rule
 * that is broken. What the manual leaves open is by dice: when bytes leave the CPU, when they are
 * seen in memory, when an error is found, what a place reads as while tracing is on.
 */
#include "kmod/hwreg.h"

#define PTM_RULES(X) \
	/* #GP */ \
	X(CTL_WHILE_ON,	   "the control register was changed while tracing was on") \
	X(REG_WHILE_ON,	   "a register was written while tracing was on") \
	X(CTL_RESERVED,	   "a reserved bit of the control register was set") \
	X(CTL_VALUE,	   "a rate has an encoding that the CPU does not have") \
	X(CTL_RANGE,	   "an address range is configured that the CPU does not have, or not so") \
	X(CTL_OUTPUT,	   "tracing was switched on for an output that the CPU does not have") \
	X(CTL_VMX,	   "tracing was switched on beside VMX on a CPU that can not do that") \
	X(STATUS_RESERVED, "a reserved bit of the status register was set") \
	X(BASE_RESERVED,   "a reserved bit of the output base was set") \
	X(CR3_RESERVED,	   "a reserved bit of the address space was set") \
	X(ADDR_FORM,	   "an address is not sign-extended") \
	X(NO_SUCH,	   "a register that this CPU does not have") \
	/* operational errors */ \
	X(TOPA_RESERVED,   "a reserved bit of a table entry was set") \
	X(TOPA_ALIGN,	   "a piece does not lie at a multiple of its size") \
	X(TOPA_TABLE,	   "a table does not lie at a multiple of 4096") \
	X(TOPA_PHYS,	   "an address is above those that the CPU has") \
	X(TOPA_OFFSET,	   "the place lies behind the end of its piece") \
	X(TOPA_END_BITS,   "the entry that leads on has other bits") \
	X(TOPA_END_FIRST,  "the first entry of a table leads on") \
	X(TOPA_ONE,	   "more than one piece, or no way back, on a CPU that has one") \
	X(SINGLE_MASK,	   "the size of the only piece is no power of two") \
	X(SINGLE_ALIGN,	   "the only piece does not lie at a multiple of its size") \
	X(SINGLE_OFFSET,   "the place lies behind the only piece") \
	X(MEMORY,	   "output went to memory that was not meant for it") \
	/* what the CPU does not tell */ \
	X(TABLE_WHILE_ON,  "a table was changed while tracing was on") \
	X(TABLE_NO_FENCE,  "tracing was switched on before tables could be seen") \
	X(DATA_NO_FENCE,   "trace was read before it could be seen") \
	X(PLACE_WHILE_ON,  "the place was read while tracing was on") \
	X(DEAD_START,	   "tracing was switched on with the error or the stop still told") \
	X(PMI_LEFT,	   "tracing was switched on with an interrupt not acknowledged") \
	X(COUNTERS,	   "overflows of others were acknowledged") \
	X(FOREIGN,	   "a unit of somebody else was written to") \
	X(LEFT_ON,	   "the unit was left on")

enum ptm_rule {
#define X(id, text) PTM_##id,
	PTM_RULES(X)
#undef X
	PTM_NRULES
};

#define PTM_AREAS	128

struct ptm_area {
	u64 phys, bytes;
	u8 *mem;		/* as software sees it */
	u8 *unit;		/* of a table: as the CPU sees it; else what the CPU wrote */
	bool table;
};

struct ptm {
	struct hwreg r;		/* what is tested gets this */
	/* set before use: leaf 14H, and the CPU's state */
	u32 ebx, ecx, sub1_eax, sub1_ebx;
	u8 phys_bits, virt_bits;
	bool vmx, vmx_trace;
	u64 seed;
	bool alias;		/* memory is seen at once: no rule about fences */
	bool quiet;		/* no log is kept */
	bool numbered;		/* bytes are 1 to 251 by turns */
	unsigned fault;		/* the n-th access from now on is refused; 0: none */
	/* before each access; NULL: none */
	void (*meddle)(struct ptm *m);
	void *arg;

	u64 ctl, status, base, ptrs, cr3, addr[8], global;
	bool foreign;		/* somebody else uses the unit */
	bool told;		/* an interrupt was delivered, and not yet acknowledged */
	unsigned pmis;
	struct ptm_area area[PTM_AREAS];
	unsigned nareas;
	unsigned broken[PTM_NRULES], accesses;
	/* what was written, in order; at psb[i] began the i-th start */
	u8 *log;
	u64 written, log_cap, dropped, unseen, made;
	u64 psb[4096];
	unsigned nstarts;
	u8 fifo[64];
	unsigned nfifo;
};

/* @m is zeroed but for what is to be set before. */
void ptm_init(struct ptm *m);
void ptm_free(struct ptm *m);
/* Memory that the unit may write to, or that holds tables; stays the caller's. */
void ptm_give(struct ptm *m, u64 phys, void *mem, u64 bytes, bool table);
/* Software runs, and the unit traces up to @n bytes of it; no packet is longer than 16. */
void ptm_run(struct ptm *m, unsigned n);
/* Code of a range that ends the trace is run. */
void ptm_trace_stop(struct ptm *m);
/* Somebody looks at memory at @phys. */
const u8 *ptm_look(struct ptm *m, u64 phys);
/* Software is done with the unit. */
void ptm_end(struct ptm *m);
unsigned ptm_broken(const struct ptm *m);	/* times, all rules */
const char *ptm_rule_text(unsigned rule);

#endif
