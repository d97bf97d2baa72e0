// SPDX-License-Identifier: GPL-2.0-only
/* Sections are those of Arm DDI 0461, "CoreSight Trace Memory Controller". */
#include "tmc_prog.h"

#define PAGE		4096u		/* of memory that an ETR gets */
#define FULL		1u		/* 3.3.2, STS */
#define TRIGGERED	2u
#define READY		4u
#define MEM_ERR		0x20u
#define EN_FT		1u		/* 3.3.17, FFCR */
#define EN_TI		2u
#define FLUSH_ON_TRIGGER 0x20u
#define FLUSH_NOW	0x40u
#define TRIGGER_IN	0x100u
#define STOP_ON_FLUSH	0x1000u
#define BURST		(15u << 8)	/* AXICTL: 16 transfers; non-secure; cache attributes */
#define NON_SECURE	2u
#define CACHE(n)	((u32)(n) << 2)

static u32 rd(struct tmc *t, u32 reg)
{
	return csunit_rd(&t->u, reg);
}

static void wr(struct tmc *t, u32 reg, u32 v)
{
	csunit_wr(&t->u, reg, v);
}

static int no(struct tmc *t, enum tmc_why why, int rc)
{
	t->why = t->u.rc ? TMC_BUS : why;
	return t->u.rc ? -EIO : rc;
}

static int done(struct tmc *t)
{
	return t->u.rc ? no(t, TMC_BUS, 0) : 0;
}

static int begin(struct tmc *t)
{
	t->u.rc = 0;
	t->why = TMC_FINE;
	return csunit_unlock(&t->u) ? 0 : no(t, TMC_SOFT_LOCK, -EIO);
}

static int find_kind(struct tmc *t)
{
	u32 id = rd(t, TMC_DEVID), type = rd(t, TMC_DEVTYPE) & 0xff;
	u32 part = (rd(t, TMC_PIDR0) & 0xff) | (rd(t, TMC_PIDR1) & 0xf) << 8;
	u32 width = id >> 8 & 7;

	t->kind = (enum tmc_kind)(id >> 6 & 3);
	/* a trace sink that is a buffer, or, of an ETF, a link that is a FIFO (3.3, DEVTYPE) */
	if (t->kind > TMC_ETF || type != (t->kind == TMC_ETF ? 0x32 : 0x21) || width < 2 ||
	    width > 5)
		return no(t, TMC_KIND, -ENODEV);
	t->width = 1u << width;
	t->address_bits = id >> 16 & 1 ? id >> 17 & 0x7f : 40;
	t->by_hand = part >= 0x9e8 && part <= 0x9ea;
	csunit_find_lock(&t->u);
	return done(t);
}

static int take(struct tmc *t)
{
	switch (csunit_claim(&t->u)) {
	case CSUNIT_OURS:
		break;
	case CSUNIT_DEBUGGER:
		return no(t, TMC_DEBUGGER, -EBUSY);
	case CSUNIT_OTHER:
		return no(t, TMC_CLAIMED, -EBUSY);
	default:
		return no(t, TMC_NO_CLAIM, -EBUSY);
	}
	/* who captures without a claim tag keeps it */
	if (rd(t, TMC_CTL) & 1) {
		int rc = no(t, TMC_RUNS, -EBUSY);

		csunit_unclaim(&t->u);
		return rc;
	}
	if (t->kind != TMC_ETR)
		t->ram = 4ull * rd(t, TMC_RSZ);
	if (t->u.rc) {
		t->u.rc = 0;
		csunit_unclaim(&t->u);
		t->u.rc = -EIO;
	}
	return done(t);
}

int tmc_open(struct tmc *t, struct hwreg *r, bool powered)
{
	int rc;

	*t = (struct tmc){ .u = { .r = r } };
	if (!powered)
		return no(t, TMC_POWER, -ENODEV);
	rc = find_kind(t);
	if (rc)
		return rc;
	rc = begin(t);
	if (!rc)
		rc = take(t);
	if (!rc)
		t->state = TMC_OPEN;
	csunit_lock(&t->u);
	return rc;
}

static int check(struct tmc *t, const struct tmc_wish *w)
{
	if (t->kind != TMC_ETR)
		return 0;
	/* RSZ has 31 bits of words */
	if (!w->bytes || w->bytes % PAGE || w->base % PAGE || w->bytes > 0x7fffffffull * 4)
		return no(t, TMC_BUFFER, -EINVAL);
	if (w->base + w->bytes - 1 < w->base ||
	    (t->address_bits < 64 && (w->base + w->bytes - 1) >> t->address_bits))
		return no(t, TMC_ADDRESS, -EINVAL);
	return 0;
}

static bool disable(struct tmc *t)
{
	wr(t, TMC_CTL, 0);
	csunit_settle(&t->u);
	return csunit_wait(&t->u, TMC_STS, READY, READY);
}

/* Only while it is disabled (2.2, Disabled state). */
static void program(struct tmc *t, const struct tmc_wish *w)
{
	u32 lo = (u32)t->base, hi = (u32)(t->base >> 32);

	wr(t, TMC_MODE, 0);
	if (t->kind == TMC_ETR) {
		wr(t, TMC_RSZ, (u32)(t->bytes / 4));
		/* write-back, allocated; or not cached, but buffered */
		wr(t, TMC_AXICTL, BURST | NON_SECURE | CACHE(w->coherent ? 0xf : 3));
		wr(t, TMC_DBALO, lo);
		wr(t, TMC_DBAHI, hi);
	}
	wr(t, TMC_RRP, lo);
	wr(t, TMC_RWP, lo);
	if (t->kind == TMC_ETR) {
		wr(t, TMC_RRPHI, hi);
		wr(t, TMC_RWPHI, hi);
	}
	/* else it goes on as if the buffer had been filled before */
	if (t->by_hand)
		wr(t, TMC_STS, 0);
	wr(t, TMC_TRG, w->trigger ? w->behind / 4 : 0);
	/* 2.1.5: a trigger comes, is counted down, and flushes; that flush stops it */
	wr(t, TMC_FFCR, EN_FT | EN_TI |
	   (w->trigger ? TRIGGER_IN | FLUSH_ON_TRIGGER | STOP_ON_FLUSH : 0));
}

int tmc_start(struct tmc *t, const struct tmc_wish *w)
{
	int rc;

	t->u.rc = 0;
	if (t->state != TMC_OPEN && t->state != TMC_STOPPED)
		return no(t, TMC_ORDER, -EINVAL);
	rc = check(t, w);
	if (rc)
		return rc;
	rc = begin(t);
	if (!rc && !csunit_ours(&t->u))
		rc = no(t, TMC_LOST, -EBUSY);
	if (!rc && !(t->state == TMC_STOPPED ? disable(t) :
		     csunit_wait(&t->u, TMC_STS, READY, READY)))
		rc = no(t, TMC_NOT_READY, -ETIMEDOUT);
	if (!rc) {
		t->state = TMC_OPEN;
		t->left = 0;
		t->base = t->kind == TMC_ETR ? w->base : 0;
		t->bytes = t->kind == TMC_ETR ? w->bytes : t->ram;
		t->trigger = w->trigger;
		program(t, w);
		csunit_settle(&t->u);
		wr(t, TMC_CTL, 1);
		csunit_settle(&t->u);
		rc = done(t);
		if (rc) {
			t->u.rc = 0;
			disable(t);
			t->u.rc = 0;
		} else {
			t->state = TMC_RUNNING;
		}
	}
	csunit_lock(&t->u);
	return rc;
}

/* 3.3.17, FFCR: the bit is 1 until all trace that was there before has come to memory. */
static bool flush(struct tmc *t, u32 ffcr)
{
	wr(t, TMC_FFCR, ffcr | FLUSH_NOW);
	csunit_settle(&t->u);
	return csunit_wait(&t->u, TMC_FFCR, FLUSH_NOW, 0);
}

int tmc_flush(struct tmc *t)
{
	int rc;

	t->u.rc = 0;
	/* with a trigger set, any flush would end it */
	if (t->state != TMC_RUNNING || t->trigger)
		return no(t, TMC_ORDER, -EINVAL);
	rc = begin(t);
	if (!rc && !csunit_ours(&t->u))
		rc = no(t, TMC_LOST, -EBUSY);
	if (!rc && !flush(t, EN_FT | EN_TI))
		rc = no(t, TMC_NO_FLUSH, -ETIMEDOUT);
	csunit_lock(&t->u);
	return rc;
}

/* Whether it had ended by itself, and why. */
static enum tmc_end ended(struct tmc *t, u32 sts)
{
	return sts & MEM_ERR ? TMC_END_MEMORY : !(sts & READY) ? TMC_END_ASKED :
		t->trigger && sts & TRIGGERED ? TMC_END_TRIGGER : TMC_END_OTHER;
}

static int where(struct tmc *t, struct tmc_got *got)
{
	u32 sts = rd(t, TMC_STS);
	u64 rwp = rd(t, TMC_RWP);

	if (t->kind == TMC_ETR)
		rwp |= (u64)rd(t, TMC_RWPHI) << 32;
	if (t->u.rc)
		return done(t);
	if (rwp < t->base || rwp - t->base >= t->bytes || (rwp - t->base) % t->width)
		return no(t, TMC_PLACE, -EIO);
	if (sts & MEM_ERR)
		got->end = TMC_END_MEMORY;
	got->wrapped = sts & FULL;
	got->from = got->wrapped ? rwp - t->base : 0;
	got->bytes = got->wrapped ? t->bytes : rwp - t->base;
	return 0;
}

/* 2.1.5: stop on flush, then the flush, in two writes; then it is Stopped, and may be read. */
static int stop_locked(struct tmc *t, struct tmc_got *got)
{
	u32 ffcr = EN_FT | EN_TI | STOP_ON_FLUSH;
	int rc = 0;

	got->end = ended(t, rd(t, TMC_STS));
	if (got->end == TMC_END_ASKED) {
		/* one of tmc_flush() may not have come to its end */
		got->flushed = csunit_wait(&t->u, TMC_FFCR, FLUSH_NOW, 0);
		wr(t, TMC_FFCR, ffcr);
		got->flushed = got->flushed && flush(t, ffcr);
		if (!got->flushed)
			rc = no(t, TMC_NO_FLUSH, -ETIMEDOUT);
	} else {
		got->flushed = got->end == TMC_END_TRIGGER;
	}
	if (!rc && !csunit_wait(&t->u, TMC_STS, READY, READY))
		rc = no(t, TMC_NOT_READY, -ETIMEDOUT);
	if (!rc)
		rc = where(t, got);
	/* memory of an ETR is read without it */
	if (!rc && t->kind != TMC_ETR && got->end != TMC_END_MEMORY) {
		t->left = got->bytes;
		t->state = TMC_STOPPED;
		return 0;
	}
	/* in any case, and whatever was refused before */
	t->u.rc = 0;
	if (!disable(t)) {
		got->end = TMC_END_STUCK;
		return rc ? rc : no(t, TMC_NOT_READY, -ETIMEDOUT);
	}
	t->state = TMC_OPEN;
	return rc;
}

int tmc_stop(struct tmc *t, struct tmc_got *got)
{
	int rc;

	*got = (struct tmc_got){ .end = TMC_END_STUCK };
	t->u.rc = 0;
	if (t->state != TMC_RUNNING)
		return no(t, TMC_ORDER, -EINVAL);
	rc = begin(t);
	if (!rc)
		rc = stop_locked(t, got);
	csunit_lock(&t->u);
	return rc;
}

/* 3.3.3: words of 4 bytes, as many at a time as a word of the memory has. */
int tmc_read(struct tmc *t, void *buf, u32 n)
{
	u32 got, i, v[8];
	int rc;

	t->u.rc = 0;
	if (t->state != TMC_STOPPED)
		return no(t, TMC_ORDER, -EINVAL);
	if (n > 0x7fffffffu)
		n = 0x7fffffffu;
	rc = begin(t);
	for (got = 0; !rc && t->left && got + t->width <= n; got += t->width) {
		for (i = 0; i < t->width / 4; i++)
			v[i] = rd(t, TMC_RRD);
		rc = done(t);
		/* no formatted trace has that: it is empty */
		if (!rc && v[0] == 0xffffffffu)
			rc = no(t, TMC_SHORT, -EIO);
		if (!rc) {
			memcpy((u8 *)buf + got, v, t->width);
			t->left -= t->width;
		}
	}
	if (rc)
		t->left = 0;
	csunit_lock(&t->u);
	return rc ? rc : (int)got;
}

/* Tries all of it, whatever fails. */
int tmc_close(struct tmc *t)
{
	enum tmc_state was = t->state;
	int rc;

	t->state = TMC_CLOSED;
	t->why = TMC_FINE;
	if (was == TMC_CLOSED)
		return 0;
	rc = begin(t);
	if (!rc) {
		struct tmc_got got;

		if (was == TMC_RUNNING)
			rc = stop_locked(t, &got);
		if (t->state == TMC_STOPPED || was == TMC_STOPPED) {
			if (!disable(t))
				rc = no(t, TMC_NOT_READY, -ETIMEDOUT);
			t->u.rc = 0;
		}
		csunit_unclaim(&t->u);
		rc = rc ? rc : done(t);
	}
	csunit_lock(&t->u);
	t->state = TMC_CLOSED;
	return rc;
}

const char *tmc_why_text(enum tmc_why why)
{
	static const char *const text[] = {
#define X(id, words) [id] = words,
		TMC_WHYS(X)
#undef X
	};

	return (unsigned int)why < sizeof(text) / sizeof(text[0]) ? text[why] : "";
}

const char *tmc_end_text(enum tmc_end end)
{
	static const char *const text[] = {
		[TMC_END_ASKED] = "asked", [TMC_END_TRIGGER] = "trigger",
		[TMC_END_MEMORY] = "memory", [TMC_END_OTHER] = "other", [TMC_END_STUCK] = "stuck",
	};

	return (unsigned int)end < sizeof(text) / sizeof(text[0]) ? text[end] : "";
}
