/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_TMC_PROG_H
#define HWT_KMOD_TMC_PROG_H

/*
 * CoreSight Trace Memory Controller as a circular buffer (Arm DDI 0461, and 100806 for that of
 * SoC-600): ETB and ETF with their own memory, which is read word by word, ETR into memory of the
 * machine. Trace comes formatted, so several units may share one.
 *
 * open takes it; start, stop, and for ETB and ETF read until nothing is left; close gives it back.
 */
#include "csunit.h"

enum tmc_reg {
	TMC_RSZ		= 0x004,	/* words of 4 bytes */
	TMC_STS		= 0x00c,
	TMC_RRD		= 0x010,
	TMC_RRP		= 0x014,
	TMC_RWP		= 0x018,
	TMC_TRG		= 0x01c,
	TMC_CTL		= 0x020,
	TMC_MODE	= 0x028,
	TMC_RRPHI	= 0x038,
	TMC_RWPHI	= 0x03c,
	TMC_AXICTL	= 0x110,
	TMC_DBALO	= 0x118,
	TMC_DBAHI	= 0x11c,
	TMC_FFSR	= 0x300,
	TMC_FFCR	= 0x304,
	TMC_DEVID	= 0xfc8,
	TMC_DEVTYPE	= 0xfcc,
	TMC_PIDR0	= 0xfe0,
	TMC_PIDR1	= 0xfe4
};

#define TMC_WHYS(X) \
	X(TMC_FINE,	  "nothing is wrong") \
	X(TMC_POWER,	  "nobody says whether it has power, so it was not looked at") \
	X(TMC_BUS,	  "an access to it was refused by the bus") \
	X(TMC_KIND,	  "it is no trace memory controller that keeps trace") \
	X(TMC_SOFT_LOCK,  "its software lock does not open") \
	X(TMC_DEBUGGER,	  "an external debugger has it (claim tag 0)") \
	X(TMC_CLAIMED,	  "other software of this machine has it (claim tag 1)") \
	X(TMC_NO_CLAIM,	  "its claim tag can not be set") \
	X(TMC_RUNS,	  "it is capturing for somebody who set no claim tag") \
	X(TMC_LOST,	  "its claim tag was taken away") \
	X(TMC_NOT_READY,  "it does not become ready") \
	X(TMC_NO_FLUSH,	  "it does not come to the end of a flush") \
	X(TMC_ORDER,	  "it is not in a state for that") \
	X(TMC_BUFFER,	  "its buffer is not of whole pages, or has none") \
	X(TMC_ADDRESS,	  "its buffer lies above the addresses that it has") \
	X(TMC_PLACE,	  "it says that it wrote outside of its buffer") \
	X(TMC_SHORT,	  "its memory had less than it said")

enum tmc_why {
#define X(id, text) id,
	TMC_WHYS(X)
#undef X
};

enum tmc_kind { TMC_ETB, TMC_ETR, TMC_ETF };	/* DEVID.CONFIGTYPE */

enum tmc_end {
	TMC_END_ASKED,		/* by stop */
	TMC_END_TRIGGER,	/* by itself, behind a trigger */
	TMC_END_MEMORY,		/* the bus refused what it wrote */
	TMC_END_OTHER,		/* by itself, for no reason that it tells */
	TMC_END_STUCK		/* it did not end: what it has is not known */
};

/* What there is to take; offsets are of the buffer. */
struct tmc_got {
	u64 from;		/* the oldest byte */
	u64 bytes;		/* from there on, round at the end */
	bool wrapped;		/* older trace was written over */
	bool flushed;		/* what was on its way has come */
	enum tmc_end end;
};

struct tmc_wish {
	u64 base;		/* of an ETR: as the bus sees it, whole pages */
	u64 bytes;
	bool coherent;		/* the bus keeps the CPUs' caches right */
	bool trigger;		/* a trigger ends it */
	u32 behind;		/* bytes that are kept of what comes after that */
};

enum tmc_state { TMC_CLOSED, TMC_OPEN, TMC_RUNNING, TMC_STOPPED };

struct tmc {
	struct csunit u;
	enum tmc_kind kind;
	u32 width;		/* bytes of a word of its memory */
	u32 address_bits;	/* of an ETR */
	u64 ram;		/* bytes of an ETB or ETF */
	bool by_hand;		/* its pointers are set by software (SoC-600) */
	enum tmc_state state;
	enum tmc_why why;	/* of the last call */
	u64 base, bytes;	/* while it runs */
	bool trigger;
	u64 left;		/* bytes still to read */
};

/* @powered: its power domain is on, and stays. All return as those of etm4_prog.h do. */
int tmc_open(struct tmc *t, struct hwreg *r, bool powered);
int tmc_start(struct tmc *t, const struct tmc_wish *w);
/* What is on its way to memory arrives, and it goes on. */
int tmc_flush(struct tmc *t);
/* Also when it has ended by itself: @got says why. It is filled if something can be taken. */
int tmc_stop(struct tmc *t, struct tmc_got *got);
/* Of an ETB or ETF, in the order in which it came: bytes, whole words of its memory; 0: all. */
int tmc_read(struct tmc *t, void *buf, u32 n);
int tmc_close(struct tmc *t);
const char *tmc_why_text(enum tmc_why why);
const char *tmc_end_text(enum tmc_end end);

#endif
