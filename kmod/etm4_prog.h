/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_ETM4_PROG_H
#define HWT_KMOD_ETM4_PROG_H

/*
 * One trace unit of a CPU: ETMv4 (Arm IHI 0064) or ETE (Arm ARM, chapter "The Embedded Trace
 * Extension"), reached in memory or by system registers: both have the same registers, of which
 * the second has no software lock and no power control. Registers are offsets, as in memory.
 *
 * open takes the unit, config says what is traced, start and stop as often as wanted, close gives
 * it back as it was found. One caller at a time.
 */
#include "csunit.h"

enum etm4_reg {
	TRC_PRGCTLR	= 0x004,
	TRC_STATR	= 0x00c,
	TRC_CONFIGR	= 0x010,
	TRC_EVENTCTL0R	= 0x020,
	TRC_EVENTCTL1R	= 0x024,
	TRC_RSR		= 0x028,	/* ETE */
	TRC_STALLCTLR	= 0x02c,
	TRC_TSCTLR	= 0x030,
	TRC_SYNCPR	= 0x034,
	TRC_CCCTLR	= 0x038,
	TRC_BBCTLR	= 0x03c,
	TRC_TRACEIDR	= 0x040,
	TRC_QCTLR	= 0x044,
	TRC_VICTLR	= 0x080,
	TRC_VIIECTLR	= 0x084,
	TRC_VISSCTLR	= 0x088,
	TRC_VIPCSSCTLR	= 0x08c,
	TRC_VDCTLR	= 0x0a0,
	TRC_VDSACCTLR	= 0x0a4,
	TRC_VDARCCTLR	= 0x0a8,
	TRC_SEQEVR	= 0x100,	/* + 4n */
	TRC_SEQRSTEVR	= 0x118,
	TRC_SEQSTR	= 0x11c,
	TRC_EXTINSELR	= 0x120,	/* + 4n in ETE */
	TRC_CNTRLDVR	= 0x140,	/* + 4n */
	TRC_CNTCTLR	= 0x150,	/* + 4n */
	TRC_CNTVR	= 0x160,	/* + 4n */
	TRC_IDR8	= 0x180,	/* + 4n to IDR13 */
	TRC_IDR0	= 0x1e0,	/* + 4n to IDR7 */
	TRC_RSCTLR	= 0x200,	/* + 4n, from 2 on */
	TRC_SSCCR	= 0x280,	/* + 4n */
	TRC_SSCSR	= 0x2a0,	/* + 4n */
	TRC_SSPCICR	= 0x2c0,	/* + 4n */
	TRC_OSLAR	= 0x300,
	TRC_OSLSR	= 0x304,
	TRC_PDCR	= 0x310,	/* in memory only, as PDSR */
	TRC_PDSR	= 0x314,
	TRC_ACVR	= 0x400,	/* + 8n, 64 bits */
	TRC_ACATR	= 0x480,	/* + 8n, 64 bits */
	TRC_CIDCVR	= 0x600,	/* + 8n, 64 bits */
	TRC_VMIDCVR	= 0x640,	/* + 8n, 64 bits */
	TRC_CIDCCTLR	= 0x680,	/* + 4n: masks of 4 comparators each */
	TRC_VMIDCCTLR	= 0x688,	/* + 4n */
	TRC_DEVARCH	= 0xfbc,
	/* not of the unit but of its CPU, with FEAT_TRF: TRFCR_EL1 */
	TRC_TRFCR	= 0x10000
};

/* Why it does not do what it was asked. */
#define ETM4_WHYS(X) \
	X(ETM4_FINE,	   "nothing is wrong") \
	X(ETM4_POWER,	   "nobody says whether it has power, so it was not looked at") \
	X(ETM4_BUS,	   "an access to it was refused by the CPU or the bus") \
	X(ETM4_KIND,	   "it is neither an ETMv4 nor an ETE") \
	X(ETM4_SOFT_LOCK,  "its software lock does not open") \
	X(ETM4_OS_LOCK,	   "its OS lock does not open") \
	X(ETM4_NO_POWER,   "it does not get power") \
	X(ETM4_DEBUGGER,   "an external debugger has it (claim tag 0)") \
	X(ETM4_CLAIMED,	   "other software of this machine has it (claim tag 1)") \
	X(ETM4_NO_CLAIM,   "its claim tag can not be set") \
	X(ETM4_RUNS,	   "it is tracing for somebody who set no claim tag") \
	X(ETM4_LOST,	   "its claim tag was taken away") \
	X(ETM4_NO_IDLE,	   "it does not become idle") \
	X(ETM4_NO_START,   "it stays idle when it is started") \
	X(ETM4_ORDER,	   "it is not in a state for that") \
	X(ETM4_ID,	   "trace ids are 1 to 0x6f") \
	X(ETM4_LEVELS,	   "it can not trace these exception levels") \
	X(ETM4_CYCLES,	   "it can not count cycles") \
	X(ETM4_THRESHOLD,  "it can not count cycles at that threshold") \
	X(ETM4_TIME,	   "it has no timestamps") \
	X(ETM4_TIME_EVERY, "it has no counter for timestamps at that rate") \
	X(ETM4_CONTEXT,	   "it has no context id") \
	X(ETM4_VMID,	   "it has no virtual context id") \
	X(ETM4_VMID_CTX,   "its virtual context id can not be CONTEXTIDR_EL2") \
	X(ETM4_STACK,	   "it has no return stack") \
	X(ETM4_BROADCAST,  "it can not broadcast branches") \
	X(ETM4_STALL,	   "it can not stall the CPU") \
	X(ETM4_OVERFLOW,   "it can not be kept from overflow") \
	X(ETM4_SYNC,	   "it can not synchronise at that distance") \
	X(ETM4_RANGES,	   "it has not that many address ranges") \
	X(ETM4_RANGE,	   "an address range ends before it begins, or is too wide") \
	X(ETM4_CONTEXTS,   "it has not that many comparators of context ids") \
	X(ETM4_VMIDS,	   "it has not that many comparators of virtual context ids") \
	X(ETM4_BOTH,	   "it compares context ids or virtual context ids, not both")

enum etm4_why {
#define X(id, text) id,
	ETM4_WHYS(X)
#undef X
};

/* What the unit can, from TRCIDR0..6. */
struct etm4_caps {
	bool ete, branch_broadcast, cycles, return_stack, stall, no_overflow, err_trace, sync_fixed;
	bool vmid_ctx;		/* CONTEXTIDR_EL2 may stand for the VMID */
	bool data, q_filter;	/* has registers for what we never ask for */
	u8 minor;		/* of the architecture */
	u8 time_bits, context_bits, vmid_bits, address_bits, id_bits;
	u8 levels;		/* bit n: EL n, non-secure */
	u8 levels_s, levels_rl;	/* secure and realm: never traced */
	u8 ranges, contexts, vmids;	/* comparators; of addresses pairs */
	u8 selectors;		/* resource selectors with the two fixed ones */
	u8 counters, singles, inputs, pe_inputs;
	bool sequencer;
	u16 threshold_min, threshold_max;
};

#define ETM4_MAX	8	/* ranges, contexts, vmids */

struct etm4_range {
	u64 first, last;	/* addresses of instructions, both in it */
	bool exclude;
};

/* What is to be traced, in non-secure state. */
struct etm4_wish {
	u8 id;			/* on the trace bus: 1..0x6f; none where the unit has no bus */
	u8 levels;		/* bit n: EL n */
	u8 sync;		/* synchronises after 2^n bytes, 8..20; 0: 4096, or as fixed */
	bool cycles, time, context, vmid, return_stack, branch_broadcast;
	bool vmid_ctx;		/* VMID is CONTEXTIDR_EL2 */
	bool stall;		/* the CPU waits for the unit before it overflows */
	bool no_overflow;
	u16 threshold;		/* least number of cycles that are told; 0: the unit's */
	u16 time_every;		/* cycles between timestamps; 0: when it synchronises only */
	u8 nranges, ncontexts, nvmids;	/* 0: everything */
	struct etm4_range range[ETM4_MAX];
	u32 contexts[ETM4_MAX], vmids[ETM4_MAX];
};

#define ETM4_REGS	176

/* A register that is written, and what it has: from config, and when the unit lost its power. */
struct etm4_slot { u64 v; u16 reg; u16 bits; };

enum etm4_state { ETM4_CLOSED, ETM4_OPEN, ETM4_READY, ETM4_RUNNING, ETM4_SAVED };

struct etm4 {
	struct csunit u;
	bool trf;		/* the CPU has TRFCR_EL1 */
	enum etm4_state state;
	enum etm4_why why;	/* of the last call */
	struct etm4_caps caps;
	u32 devarch, id[14];	/* TRCIDR0 to 13; 7 is 0 */
	bool os_was;		/* the OS lock was set before */
	bool was_running;	/* when it was saved */
	bool trf_set;
	u64 trfcr, trfcr_was;	/* while it runs, and before */
	unsigned int n;
	struct etm4_slot slot[ETM4_REGS];
};

/*
 * Where the unit is, and what is known about its power: who does not know says so. With @system or
 * @trf all calls are on the unit's CPU.
 */
struct etm4_place {
	struct hwreg *r;
	bool system, trf;
	bool powered;		/* its debug domain is on; by system registers: we are on its CPU */
};

/*
 * All return 0, or a negative errno with @why said: -EBUSY: others have it; -ENODEV, -EIO: it is
 * not there, or not as the manual has it; -EOPNOTSUPP, -EINVAL: what it can not do; -ETIMEDOUT.
 */
int etm4_open(struct etm4 *e, const struct etm4_place *p);
int etm4_config(struct etm4 *e, const struct etm4_wish *w);
int etm4_start(struct etm4 *e);
int etm4_stop(struct etm4 *e);
/* Before the CPU loses power, and when it has it again: it then runs if it ran before. */
int etm4_save(struct etm4 *e);
int etm4_restore(struct etm4 *e);
int etm4_close(struct etm4 *e);
/* Only looks whether it could be done. */
int etm4_check(struct etm4 *e, const struct etm4_wish *w);
const char *etm4_why_text(enum etm4_why why);

/* etm4_config.c: what TRCIDR0..6 say, and what all registers have for a wish that was checked. */
void etm4_caps_from(struct etm4_caps *c, const u32 id[7]);
void etm4_fill(struct etm4 *e, const struct etm4_wish *w);
/* What a register of the list has, 0: it is not there, or nothing was configured. */
u64 etm4_has(const struct etm4 *e, u32 reg);

#endif
