// SPDX-License-Identifier: GPL-2.0-only
/*
 * Sections are those of Arm IHI 0064, "Embedded Trace Macrocell Architecture Specification, ETMv4".
 * Registers that matter have no value after a reset (7.3): config writes all that the unit has, in
 * one list, which is also what is kept while it has no power.
 */
#include "etm4_prog.h"

#define OSLSR_LOCKED	2u
#define OSLSR_KIND	0x19u		/* OSLM: none, the unit's, or the CPU's */
#define OSLSR_UNIT	8u
#define PD_UP		8u		/* TRCPDCR.PU */
#define PD_POWER	1u		/* TRCPDSR.POWER */
#define STAT_IDLE	1u
#define STAT_STABLE	2u
#define TRF_E0		1u
#define TRF_EX		2u
#define TRF_CX		8u		/* TRFCR_EL2 only */
#define TRF_VIRTUAL	(1u << 5)	/* timestamps are CNTVCT, as the module's records are */
#define TRF_BITS	(TRF_E0 | TRF_EX | TRF_CX | 3u << 5)

static u32 rd(struct etm4 *e, u32 reg)
{
	return csunit_rd(&e->u, reg);
}

static void wr(struct etm4 *e, u32 reg, u32 v)
{
	csunit_wr(&e->u, reg, v);
}

static u64 rd_slot(struct etm4 *e, const struct etm4_slot *s)
{
	u64 v = 0;

	if (s->bits == 32)
		return rd(e, s->reg);
	if (!e->u.rc)
		e->u.rc = e->u.r->rd64(e->u.r, s->reg, &v);
	return v;
}

static void wr_slot(struct etm4 *e, const struct etm4_slot *s)
{
	if (s->bits == 32)
		wr(e, s->reg, (u32)s->v);
	else if (!e->u.rc)
		e->u.rc = e->u.r->wr64(e->u.r, s->reg, s->v);
}

static int no(struct etm4 *e, enum etm4_why why, int rc)
{
	e->why = e->u.rc ? ETM4_BUS : why;
	return e->u.rc ? -EIO : rc;
}

static int done(struct etm4 *e)
{
	return e->u.rc ? no(e, ETM4_BUS, 0) : 0;
}

static void settle(struct etm4 *e)
{
	csunit_settle(&e->u);
}

static bool wait_for(struct etm4 *e, u32 reg, u32 mask, u32 want)
{
	return csunit_wait(&e->u, reg, mask, want);
}

static int begin(struct etm4 *e)
{
	e->u.rc = 0;
	e->why = ETM4_FINE;
	return csunit_unlock(&e->u) ? 0 : no(e, ETM4_SOFT_LOCK, -EIO);
}

static void end(struct etm4 *e)
{
	csunit_lock(&e->u);
}

static int find_kind(struct etm4 *e)
{
	u32 v = rd(e, TRC_DEVARCH);

	/* architect Arm, present; 0x4a13 ETMv4, 0x5a13 ETE */
	if (v >> 20 != 0x477 || ((v & 0xffff) != 0x4a13 && (v & 0xffff) != 0x5a13))
		return no(e, ETM4_KIND, -ENODEV);
	e->devarch = v;
	e->caps.ete = (v & 0xffff) == 0x5a13;
	e->caps.minor = v >> 16 & 0xf;
	csunit_find_lock(&e->u);
	return done(e);
}

/* The registers of the core power domain may be touched when this is done (3.4). */
static int power_up(struct etm4 *e)
{
	if (e->u.system)
		return 0;
	wr(e, TRC_PDCR, PD_UP);
	settle(e);
	return wait_for(e, TRC_PDSR, PD_POWER, PD_POWER) ? 0 : no(e, ETM4_NO_POWER, -ETIMEDOUT);
}

static void power_down(struct etm4 *e)
{
	if (!e->u.system)
		wr(e, TRC_PDCR, 0);
}

static int claim(struct etm4 *e)
{
	switch (csunit_claim(&e->u)) {
	case CSUNIT_OURS:
		return 0;
	case CSUNIT_DEBUGGER:
		return no(e, ETM4_DEBUGGER, -EBUSY);
	case CSUNIT_OTHER:
		return no(e, ETM4_CLAIMED, -EBUSY);
	default:
		return no(e, ETM4_NO_CLAIM, -EBUSY);
	}
}

static int os_unlock(struct etm4 *e)
{
	u32 v = rd(e, TRC_OSLSR);

		e->os_was = false;
	if (e->u.rc || !(v & OSLSR_LOCKED))
		return done(e);
	/* that of the CPU is for its debug code */
	e->os_was = (v & OSLSR_KIND) == OSLSR_UNIT;
	if (!e->os_was)
		return no(e, ETM4_OS_LOCK, -EBUSY);
	wr(e, TRC_OSLAR, 0);
	settle(e);
	return rd(e, TRC_OSLSR) & OSLSR_LOCKED ? no(e, ETM4_OS_LOCK, -EIO) : done(e);
}

static void os_lock(struct etm4 *e)
{
	if (e->os_was) {
		wr(e, TRC_OSLAR, 1);
		settle(e);
	}
}

/* The unit as it was before take(); what does not work is left. */
static void give(struct etm4 *e)
{
	e->u.rc = 0;
	os_lock(e);
	csunit_unclaim(&e->u);
	power_down(e);
}

/* Power, claim tag, OS lock. One that runs without a claim tag is left as it is. */
static int take(struct etm4 *e)
{
	int rc = power_up(e);

	if (!rc)
		rc = claim(e);
	if (rc) {
		e->u.rc = 0;
		power_down(e);
		return rc;
	}
	rc = os_unlock(e);
	if (!rc && rd(e, TRC_PRGCTLR) & 1)
		rc = no(e, ETM4_RUNS, -EBUSY);
	if (!rc)
		rc = done(e);
	if (rc)
		give(e);
	return rc;
}

static int read_caps(struct etm4 *e)
{
	unsigned int i;

	for (i = 0; i < (e->caps.ete ? 7 : 6); i++)
		e->id[i] = rd(e, TRC_IDR0 + 4 * i);
	for (i = 8; i < 14; i++)
		e->id[i] = rd(e, TRC_IDR8 + 4 * (i - 8));
	etm4_caps_from(&e->caps, e->id);
	return done(e);
}

int etm4_open(struct etm4 *e, const struct etm4_place *p)
{
	int rc;

	*e = (struct etm4){ .u = { .r = p->r, .system = p->system }, .trf = p->trf };
	if (!p->powered)
		return no(e, ETM4_POWER, -ENODEV);
	rc = find_kind(e);
	if (rc)
		return rc;
	rc = begin(e);
	if (!rc)
		rc = take(e);
	if (!rc) {
		rc = read_caps(e);
		if (rc)
			give(e);
		else
			e->state = ETM4_OPEN;
	}
	end(e);
	return rc;
}

static void put_trf(struct etm4 *e, const struct etm4_wish *w)
{
	e->trfcr = TRF_VIRTUAL;
	if (w->levels & 1)
		e->trfcr |= TRF_E0;
	if (w->levels & 6)
		e->trfcr |= TRF_EX;
	/* only at EL2 it has that bit; a kernel that asks for it runs there */
	if (w->vmid_ctx && w->levels & 4)
		e->trfcr |= TRF_CX;
}

static int write_all(struct etm4 *e)
{
	unsigned int i;

	if (!wait_for(e, TRC_STATR, STAT_IDLE, STAT_IDLE))
		return no(e, ETM4_NO_IDLE, -ETIMEDOUT);
	for (i = 0; i < e->n; i++)
		wr_slot(e, &e->slot[i]);
	settle(e);
	return done(e);
}

/* Still ours, and not changed under us: a debugger may come at any time. */
static int still_ours(struct etm4 *e)
{
	return csunit_ours(&e->u) ? 0 : no(e, ETM4_LOST, -EBUSY);
}

int etm4_config(struct etm4 *e, const struct etm4_wish *w)
{
	int rc;

	e->u.rc = 0;
	if (e->state != ETM4_OPEN && e->state != ETM4_READY)
		return no(e, ETM4_ORDER, -EINVAL);
	rc = etm4_check(e, w);
	if (rc)
		return rc;
	rc = begin(e);
	if (!rc)
		rc = still_ours(e);
	if (!rc) {
		e->state = ETM4_OPEN;
		etm4_fill(e, w);
		put_trf(e, w);
		rc = write_all(e);
	}
	if (!rc)
		e->state = ETM4_READY;
	end(e);
	return rc;
}

/* The CPU may be traced from here on, or may not (Arm ARM, TRFCR_EL1). */
static void trf_on(struct etm4 *e)
{
	u64 was = 0;

	if (!e->trf || e->u.rc)
		return;
	e->u.rc = e->u.r->rd64(e->u.r, TRC_TRFCR, &was);
	if (e->u.rc)
		return;
	e->trfcr_was = was & ~(u64)(TRF_E0 | TRF_EX);
	e->trf_set = true;
	e->u.rc = e->u.r->wr64(e->u.r, TRC_TRFCR, (was & ~(u64)TRF_BITS) | e->trfcr);
	settle(e);
}

static void trf_off(struct etm4 *e)
{
	if (!e->trf_set)
		return;
	e->u.rc = e->u.r->wr64(e->u.r, TRC_TRFCR, e->trfcr_was);
	e->trf_set = e->u.rc;
	settle(e);
}

/*
 * 4.3.7, and 7.3 of TRCPRGCTLR: what the CPU ran has left the unit, then it is disabled, and waited
 * for. All of it is tried; e->u.rc then is of the first access that failed.
 */
static bool disable(struct etm4 *e)
{
	bool idle;
	int rc;

	trf_off(e);
	rc = e->u.rc;
	e->u.rc = 0;
	hwreg_barrier(e->u.r, HWREG_TRACE);
	settle(e);
	wr(e, TRC_PRGCTLR, 0);
	settle(e);
	idle = wait_for(e, TRC_STATR, STAT_IDLE | STAT_STABLE, STAT_IDLE | STAT_STABLE);
	if (rc)
		e->u.rc = rc;
	return idle;
}

static int enable(struct etm4 *e)
{
	/* it may still have trace of the last time */
	if (!wait_for(e, TRC_STATR, STAT_IDLE, STAT_IDLE))
		return no(e, ETM4_NO_IDLE, -ETIMEDOUT);
	trf_on(e);
	settle(e);
	wr(e, TRC_PRGCTLR, 1);
	settle(e);
	if (!wait_for(e, TRC_STATR, STAT_IDLE, 0))
		return no(e, ETM4_NO_START, -ETIMEDOUT);
	return 0;
}

/* With the software lock open. What fails leaves it disabled, as far as the unit still answers. */
static int start_locked(struct etm4 *e)
{
	int rc = still_ours(e);

	if (rc)
		return rc;
	rc = enable(e);
	if (rc) {
		e->u.rc = 0;
		disable(e);
		e->u.rc = 0;
	} else {
		e->state = ETM4_RUNNING;
	}
	return rc;
}

int etm4_start(struct etm4 *e)
{
	int rc;

	e->u.rc = 0;
	if (e->state != ETM4_READY)
		return no(e, ETM4_ORDER, -EINVAL);
	rc = begin(e);
	if (!rc)
		rc = start_locked(e);
	end(e);
	return rc;
}

/* What fails may be tried again: it counts as running until it is known to be idle. */
static int stop_locked(struct etm4 *e)
{
	if (!disable(e))
		return no(e, ETM4_NO_IDLE, -ETIMEDOUT);
	if (!e->u.rc)
		e->state = ETM4_READY;
	return done(e);
}

int etm4_stop(struct etm4 *e)
{
	int rc;

	e->u.rc = 0;
	if (e->state != ETM4_RUNNING)
		return no(e, ETM4_ORDER, -EINVAL);
	rc = begin(e);
	if (!rc)
		rc = stop_locked(e);
	end(e);
	return rc;
}

/*
 * 3.4.2 does this with the OS lock, which keeps the registers from external debuggers; disabled and
 * idle is enough for us, and leaves the lock alone where it is that of the CPU. Read are all, for
 * the unit changes some by itself. Nobody is kept out while there is no power. When it can not be
 * saved it is to be closed.
 */
int etm4_save(struct etm4 *e)
{
	unsigned int i;
	int rc;

	e->u.rc = 0;
	if (e->state != ETM4_READY && e->state != ETM4_RUNNING)
		return no(e, ETM4_ORDER, -EINVAL);
	e->was_running = e->state == ETM4_RUNNING;
	rc = begin(e);
	if (!rc && e->was_running)
		rc = stop_locked(e);
	for (i = 0; !rc && i < e->n; i++) {
		u64 v = rd_slot(e, &e->slot[i]);

		rc = done(e);
		if (!rc)
			e->slot[i].v = v;
	}
	if (!rc) {
		give(e);
		rc = done(e);
		e->state = ETM4_SAVED;
	}
	end(e);
	return rc;
}

int etm4_restore(struct etm4 *e)
{
	bool os_was = e->os_was;
	int rc;

	e->u.rc = 0;
	if (e->state != ETM4_SAVED)
		return no(e, ETM4_ORDER, -EINVAL);
	rc = begin(e);
	if (!rc)
		rc = take(e);
	if (!rc) {
		/* a reset sets the lock; it is given back as it was before all this */
		e->os_was = os_was;
		e->state = ETM4_READY;
		rc = write_all(e);
		if (!rc && e->was_running)
			rc = start_locked(e);
		if (rc) {
			give(e);
			e->state = ETM4_SAVED;
		}
	}
	end(e);
	return rc;
}

/* Tries all of it, whatever fails. A unit that was saved has been given back already. */
int etm4_close(struct etm4 *e)
{
	enum etm4_state was = e->state;
	int rc;

	e->state = ETM4_CLOSED;
	e->why = ETM4_FINE;
	if (was == ETM4_CLOSED || was == ETM4_SAVED)
		return 0;
	rc = begin(e);
	if (!rc) {
		if (was == ETM4_RUNNING)
			rc = stop_locked(e);
		give(e);
		rc = rc ? rc : done(e);
	}
	end(e);
	e->state = ETM4_CLOSED;
	return rc;
}
