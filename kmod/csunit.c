// SPDX-License-Identifier: GPL-2.0-only
#include "csunit.h"

#define POLLS		1000u		/* looks at a status, about a microsecond apart */
#define KEY		0xc5acce55u	/* IHI 0029, LAR */
#define LSR_PRESENT	1u
#define LSR_LOCKED	2u
#define CLAIM_DEBUGGER	1u
#define CLAIM_SELF	2u		/* for software of the machine; Linux's drivers use it */

u32 csunit_rd(struct csunit *u, u32 reg)
{
	u32 v = 0;

	if (!u->rc)
		u->rc = u->r->rd32(u->r, reg, &v);
	return v;
}

void csunit_wr(struct csunit *u, u32 reg, u32 v)
{
	if (!u->rc)
		u->rc = u->r->wr32(u->r, reg, v);
}

void csunit_settle(struct csunit *u)
{
	hwreg_barrier(u->r, u->system ? HWREG_CONTEXT : HWREG_MEMORY);
}

bool csunit_wait(struct csunit *u, u32 reg, u32 mask, u32 want)
{
	unsigned int i;

	for (i = 0; i < POLLS && !u->rc; i++) {
		if ((csunit_rd(u, reg) & mask) == want)
			return !u->rc;
		u->r->relax(u->r);
	}
	return false;
}

void csunit_find_lock(struct csunit *u)
{
	u->lock = !u->system && csunit_rd(u, CSUNIT_LSR) & LSR_PRESENT;
}

bool csunit_unlock(struct csunit *u)
{
	if (u->lock) {
		csunit_wr(u, CSUNIT_LAR, KEY);
		csunit_settle(u);
		if (csunit_rd(u, CSUNIT_LSR) & LSR_LOCKED)
			return false;
	}
	return !u->rc;
}

void csunit_lock(struct csunit *u)
{
	if (u->lock) {
		csunit_settle(u);
		u->r->wr32(u->r, CSUNIT_LAR, 0);
	}
}

static enum csunit_owner owner(struct csunit *u, u32 tags)
{
	return u->rc ? CSUNIT_FAILED : tags & CLAIM_DEBUGGER ? CSUNIT_DEBUGGER :
		tags ? CSUNIT_OTHER : CSUNIT_NOBODY;
}

enum csunit_owner csunit_claim(struct csunit *u)
{
	u32 tags = csunit_rd(u, CSUNIT_CLAIMCLR);

	if (tags || u->rc)
		return owner(u, tags);
	csunit_wr(u, CSUNIT_CLAIMSET, CLAIM_SELF);
	csunit_settle(u);
	tags = csunit_rd(u, CSUNIT_CLAIMCLR);
	if (tags == CLAIM_SELF && !u->rc)
		return CSUNIT_OURS;
	/* a debugger came in between; or there are no tags, then others can not be kept out */
	csunit_wr(u, CSUNIT_CLAIMCLR, CLAIM_SELF);
	return owner(u, tags & ~CLAIM_SELF);
}

bool csunit_ours(struct csunit *u)
{
	return csunit_rd(u, CSUNIT_CLAIMCLR) == CLAIM_SELF && !u->rc;
}

void csunit_unclaim(struct csunit *u)
{
	csunit_settle(u);
	csunit_wr(u, CSUNIT_CLAIMCLR, CLAIM_SELF);
}
