// SPDX-License-Identifier: GPL-2.0-only
/* Sections are those of Arm DDI 0480, "CoreSight SoC-400 Technical Reference Manual". */
#include "link_prog.h"

#define PORTS(ctl)	((ctl) & 0xff)		/* 3.6, Funnel Control register */
#define HOLD		(0xfu << 8)
#define HOLD_8		(7u << 8)		/* 8 transactions, then another port has its turn */
#define ALL_IDS		0xffu			/* 3.7, IDFILTER0: none of any id goes out */

static u32 rd(struct link *l, u32 reg)
{
	return csunit_rd(&l->u, reg);
}

static void wr(struct link *l, u32 reg, u32 v)
{
	csunit_wr(&l->u, reg, v);
}

static int no(struct link *l, enum link_why why, int rc)
{
	l->why = l->u.rc ? LINK_BUS : why;
	return l->u.rc ? -EIO : rc;
}

static int done(struct link *l)
{
	return l->u.rc ? no(l, LINK_BUS, 0) : 0;
}

static int begin(struct link *l)
{
	l->u.rc = 0;
	l->why = LINK_FINE;
	return csunit_unlock(&l->u) ? 0 : no(l, LINK_SOFT_LOCK, -EIO);
}

/* A trace link, and which; DEVID has the number of ports. */
static int find_kind(struct link *l)
{
	u32 type = rd(l, LINK_DEVTYPE) & 0xff, ports = rd(l, LINK_DEVID) & 0xf;

	if (type != (l->kind == LINK_FUNNEL ? 0x12 : 0x22) || !ports || ports > LINK_PORTS ||
	    (l->kind == LINK_REPLICATOR && ports > 2))
		return no(l, LINK_KIND, -ENODEV);
	l->ports = ports;
	csunit_find_lock(&l->u);
	return done(l);
}

static int claim(struct link *l)
{
	switch (csunit_claim(&l->u)) {
	case CSUNIT_OURS:
		return 0;
	case CSUNIT_DEBUGGER:
		return no(l, LINK_DEBUGGER, -EBUSY);
	case CSUNIT_OTHER:
		return no(l, LINK_CLAIMED, -EBUSY);
	default:
		return no(l, LINK_NO_CLAIM, -EBUSY);
	}
}

/* As it was found. What does not work is left. */
static void give(struct link *l)
{
	u32 i;

	l->u.rc = 0;
	if (l->kind == LINK_FUNNEL)
		wr(l, FUNNEL_CTL, l->was[0]);
	for (i = 0; l->kind == LINK_REPLICATOR && i < l->ports; i++)
		wr(l, REPLICATOR_ID0 + 4 * i, l->was[i]);
	csunit_unclaim(&l->u);
}

/*
 * A funnel is closed after a reset: one with an open port is in use. A replicator lets all through
 * then, so nothing is told by its filters.
 */
static int take(struct link *l)
{
	int rc = claim(l);
	u32 i;

	if (rc)
		return rc;
	l->was[0] = rd(l, FUNNEL_CTL);
	if (l->kind == LINK_FUNNEL && PORTS(l->was[0])) {
		rc = no(l, LINK_RUNS, -EBUSY);
	} else if (l->kind == LINK_FUNNEL) {
		/* 3.6: nothing but the ports may change while one of them is open */
		wr(l, FUNNEL_CTL, (l->was[0] & ~HOLD) | HOLD_8);
	} else {
		for (i = 0; i < l->ports; i++)
			l->was[i] = rd(l, REPLICATOR_ID0 + 4 * i);
		for (i = 0; i < l->ports; i++)
			wr(l, REPLICATOR_ID0 + 4 * i, ALL_IDS);
	}
	csunit_settle(&l->u);
	if (!rc)
		rc = done(l);
	if (rc && l->why == LINK_RUNS) {
		csunit_unclaim(&l->u);
	} else if (rc) {
		give(l);
		l->u.rc = -EIO;
	}
	return rc;
}

int link_open(struct link *l, struct hwreg *r, enum link_kind kind, bool powered)
{
	int rc;

	*l = (struct link){ .u = { .r = r }, .kind = kind };
	if (!powered)
		return no(l, LINK_POWER, -ENODEV);
	rc = find_kind(l);
	if (rc)
		return rc;
	rc = begin(l);
	if (!rc)
		rc = take(l);
	l->open = !rc;
	csunit_lock(&l->u);
	return rc;
}

/* Opens or closes a port, and looks whether it is. */
static int set(struct link *l, u32 port, bool on)
{
	u32 reg = l->kind == LINK_FUNNEL ? FUNNEL_CTL : REPLICATOR_ID0 + 4 * port, v;

	if (!csunit_ours(&l->u))
		return no(l, LINK_LOST, -EBUSY);
	if (l->kind == LINK_FUNNEL)
		v = on ? rd(l, reg) | 1u << port : rd(l, reg) & ~(1u << port);
	else
		v = on ? 0 : ALL_IDS;
	wr(l, reg, v);
	csunit_settle(&l->u);
	if ((rd(l, reg) & 0xff) != (v & 0xff))
		return no(l, LINK_STUCK, -EIO);
	return done(l);
}

static int change(struct link *l, u32 port, bool on)
{
	int rc;

	l->u.rc = 0;
	if (!l->open || (!on && (port >= l->ports || !l->ways[port])))
		return no(l, LINK_ORDER, -EINVAL);
	if (port >= l->ports)
		return no(l, LINK_PORT, -EINVAL);
	l->why = LINK_FINE;
	if (l->ways[port] > !on) {
		l->ways[port] += on ? 1 : -1;
		return 0;
	}
	rc = begin(l);
	if (!rc)
		rc = set(l, port, on);
	if (!rc)
		l->ways[port] = on;
	csunit_lock(&l->u);
	return rc;
}

int link_begin(struct link *l, u32 port)
{
	return change(l, port, true);
}

int link_end(struct link *l, u32 port)
{
	return change(l, port, false);
}

int link_close(struct link *l)
{
	int rc;

	l->why = LINK_FINE;
	if (!l->open)
		return 0;
	l->open = false;
	rc = begin(l);
	if (!rc) {
		/* one that lost its claim tag is somebody else's, and is not touched */
		if (!csunit_ours(&l->u)) {
			rc = no(l, LINK_LOST, -EBUSY);
		} else {
			if (l->kind == LINK_FUNNEL) {
				/* ports first, then the rest: see take() */
				wr(l, FUNNEL_CTL, rd(l, FUNNEL_CTL) & ~0xffu);
				csunit_settle(&l->u);
			}
			rc = done(l);
			give(l);
			rc = rc ? rc : done(l);
		}
	}
	csunit_lock(&l->u);
	return rc;
}

const char *link_why_text(enum link_why why)
{
	static const char *const text[] = {
#define X(id, words) [id] = words,
		LINK_WHYS(X)
#undef X
	};

	return (unsigned int)why < sizeof(text) / sizeof(text[0]) ? text[why] : "";
}
