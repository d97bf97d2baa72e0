/* SPDX-License-Identifier: GPL-2.0-only */
#ifndef HWT_KMOD_CSUNIT_H
#define HWT_KMOD_CSUNIT_H

/*
 * What CoreSight units have in common (Arm IHI 0029, chapter "Programmers' model"): software lock
 * and claim tags; and how they are touched here: after the first access that fails nothing more is,
 * until @rc is cleared.
 */
#include "hwreg.h"

enum csunit_reg {
	CSUNIT_CLAIMSET	= 0xfa0,
	CSUNIT_CLAIMCLR	= 0xfa4,
	CSUNIT_LAR	= 0xfb0,
	CSUNIT_LSR	= 0xfb4
};

struct csunit {
	struct hwreg *r;
	bool system;		/* by system registers: no software lock */
	bool lock;		/* has one */
	int rc;			/* of the first access that failed */
};

enum csunit_owner {
	CSUNIT_OURS,
	CSUNIT_DEBUGGER,	/* claim tag 0 */
	CSUNIT_OTHER,
	CSUNIT_NOBODY,		/* has no claim tags */
	CSUNIT_FAILED		/* @rc says why */
};

u32 csunit_rd(struct csunit *u, u32 reg);
void csunit_wr(struct csunit *u, u32 reg, u32 v);
/* What was written has its effect, or, in memory, has arrived. */
void csunit_settle(struct csunit *u);
/* Until @mask of @reg is @want, about a millisecond; false: it does not come, or @rc. */
bool csunit_wait(struct csunit *u, u32 reg, u32 mask, u32 want);
/* Whether there is a software lock: first of all. */
void csunit_find_lock(struct csunit *u);
/* It keeps stray writes of others out between two calls. false: it does not open, or @rc. */
bool csunit_unlock(struct csunit *u);
/* Is tried whatever @rc is. */
void csunit_lock(struct csunit *u);
/* If it is nobody's it is ours then. */
enum csunit_owner csunit_claim(struct csunit *u);
/* A debugger may come at any time. */
bool csunit_ours(struct csunit *u);
void csunit_unclaim(struct csunit *u);

#endif
