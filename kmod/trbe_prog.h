/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_TRBE_PROG_H
#define HWT_KMOD_TRBE_PROG_H

/*
 * Trace Buffer Extension of a CPU: its ETE writes to memory by virtual addresses (Arm ARM, chapter
 * "The Trace Buffer Extension"). All calls are on that CPU. There are no claim tags: who has those
 * of the CPU's ETE has this, too, and it is started before and stopped behind that.
 */
#include "hwreg.h"

/* TRBxxx_EL1 is S3_0_C9_C11_n. */
enum trbe_reg {
	TRBE_LIMITR	= 0,
	TRBE_PTR	= 1,
	TRBE_BASER	= 2,
	TRBE_SR		= 3,
	TRBE_TRG	= 6,
	TRBE_IDR	= 7
};

#define TRBE_WHYS(X) \
	X(TRBE_FINE,	"nothing is wrong") \
	X(TRBE_BUS,	"an access to it was refused by the CPU") \
	X(TRBE_OWNED,	"firmware or a hypervisor keeps it") \
	X(TRBE_RUNS,	"it is in use by somebody else") \
	X(TRBE_ORDER,	"it is not in a state for that") \
	X(TRBE_BUFFER,	"its buffer is not of whole pages, or begins at a wrong place") \
	X(TRBE_ON,	"it does not stay enabled") \
	X(TRBE_PLACE,	"it says that it wrote outside of its buffer")

enum trbe_why {
#define X(id, text) id,
	TRBE_WHYS(X)
#undef X
};

enum trbe_mode {
	TRBE_FILL	= 0,	/* stops at the end */
	TRBE_WRAP	= 1,	/* goes round, with an interrupt each time */
	TRBE_CIRCULAR	= 3	/* goes round */
};

enum trbe_end {
	TRBE_END_ASKED,
	TRBE_END_FULL,		/* in fill mode */
	TRBE_END_TRIGGER,
	TRBE_END_FAULT,		/* its memory is not mapped, or not to be written */
	TRBE_END_ABORT,		/* the bus refused what it wrote */
	TRBE_END_OTHER
};

struct trbe_wish {
	u64 base, bytes;	/* virtual, whole pages */
	u64 from;		/* offset to begin at, 0 but in fill mode */
	enum trbe_mode mode;
	bool trigger;		/* a trigger ends it */
	u32 behind;		/* bytes that are kept of what comes after that */
};

struct trbe_got {
	u64 from, bytes;	/* as tmc_got has them */
	bool wrapped, interrupt;
	enum trbe_end end;
	u64 status;		/* TRBSR_EL1 as it was */
};

struct trbe {
	struct hwreg *r;
	int rc;
	enum trbe_why why;
	u64 align;		/* of the place to begin at */
	bool open, running;
	struct trbe_wish w;
};

int trbe_open(struct trbe *t, struct hwreg *r);
int trbe_start(struct trbe *t, const struct trbe_wish *w);
/* The trace unit has been stopped. An interrupt is acknowledged. */
int trbe_stop(struct trbe *t, struct trbe_got *got);
int trbe_close(struct trbe *t);
const char *trbe_why_text(enum trbe_why why);
const char *trbe_end_text(enum trbe_end end);

#endif
