/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_LINK_PROG_H
#define HWT_KMOD_LINK_PROG_H

/*
 * What lies between trace units and controllers and must be told to let trace through (Arm DDI
 * 0480, CoreSight SoC-400): a funnel, whose input ports are switched on, and a replicator, whose
 * two outputs have filters. Several ways may go through one port: each says when it begins and
 * ends.
 *
 * open takes the part with all ports closed, close gives it back as it was found.
 */
#include "csunit.h"

enum link_reg {
	FUNNEL_CTL	= 0x000,
	FUNNEL_PRIORITY	= 0x004,
	REPLICATOR_ID0	= 0x000,	/* + 4 for the second output */
	LINK_DEVID	= 0xfc8,
	LINK_DEVTYPE	= 0xfcc
};

#define LINK_WHYS(X) \
	X(LINK_FINE,	  "nothing is wrong") \
	X(LINK_POWER,	  "nobody says whether it has power, so it was not looked at") \
	X(LINK_BUS,	  "an access to it was refused by the bus") \
	X(LINK_KIND,	  "it is neither a funnel nor a replicator") \
	X(LINK_SOFT_LOCK, "its software lock does not open") \
	X(LINK_DEBUGGER,  "an external debugger has it (claim tag 0)") \
	X(LINK_CLAIMED,	  "other software of this machine has it (claim tag 1)") \
	X(LINK_NO_CLAIM,  "its claim tag can not be set") \
	X(LINK_RUNS,	  "it lets trace through for somebody who set no claim tag") \
	X(LINK_LOST,	  "its claim tag was taken away") \
	X(LINK_ORDER,	  "it is not in a state for that") \
	X(LINK_PORT,	  "it has no such port") \
	X(LINK_STUCK,	  "its port does not change")

enum link_why {
#define X(id, text) id,
	LINK_WHYS(X)
#undef X
};

enum link_kind { LINK_FUNNEL, LINK_REPLICATOR };

#define LINK_PORTS	8

struct link {
	struct csunit u;
	enum link_kind kind;
	u32 ports;		/* inputs of a funnel, outputs of a replicator */
	bool open;
	enum link_why why;	/* of the last call */
	u32 was[2];		/* what the registers had */
	u32 ways[LINK_PORTS];	/* that go through a port */
};

/* @powered: its power domain is on, and stays. All return as those of etm4_prog.h do. */
int link_open(struct link *l, struct hwreg *r, enum link_kind kind, bool powered);
int link_begin(struct link *l, u32 port);
/* Nothing that this way needs is left in front of it. */
int link_end(struct link *l, u32 port);
/* Also with ports that are open still. */
int link_close(struct link *l);
const char *link_why_text(enum link_why why);

#endif
