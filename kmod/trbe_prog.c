// SPDX-License-Identifier: GPL-2.0-only
/* Fields are those of the Arm ARM's register descriptions, TRBLIMITR_EL1 to TRBIDR_EL1. */
#include "trbe_prog.h"

#define PAGE		4096u		/* the smallest translation granule */
#define ENABLE		1u		/* TRBLIMITR_EL1 */
#define MODE(n)		((u64)(n) << 1)
#define STOP_ON_TRIGGER	0u
#define IGNORE_TRIGGER	(3u << 3)
#define ALIGN(id)	(1ull << ((id) & 15))	/* TRBIDR_EL1 */
#define OWNED		0x10u
#define STOPPED		(1ull << 17)	/* TRBSR_EL1 */
#define EXT_ABORT	(1ull << 18)
#define WRAPPED		(1ull << 20)
#define INTERRUPT	(1ull << 22)
#define CLASS(sr)	((sr) >> 26 & 0x3f)
#define CODE(sr)	((sr) & 0x3f)
#define CLASS_FAULT_1	0x24u
#define CLASS_FAULT_2	0x25u
#define CLASS_GRANULE	0x1eu

static u64 rd(struct trbe *t, u32 reg)
{
	u64 v = 0;

	if (!t->rc)
		t->rc = t->r->rd64(t->r, reg, &v);
	return v;
}

static void wr(struct trbe *t, u32 reg, u64 v)
{
	if (!t->rc)
		t->rc = t->r->wr64(t->r, reg, v);
}

static int no(struct trbe *t, enum trbe_why why, int rc)
{
	t->why = t->rc ? TRBE_BUS : why;
	return t->rc ? -EIO : rc;
}

static int done(struct trbe *t)
{
	t->why = TRBE_FINE;
	return t->rc ? no(t, TRBE_BUS, 0) : 0;
}

int trbe_open(struct trbe *t, struct hwreg *r)
{
	u64 id;

	*t = (struct trbe){ .r = r };
	id = rd(t, TRBE_IDR);
	if (id & OWNED)
		return no(t, TRBE_OWNED, -EBUSY);
	if (rd(t, TRBE_LIMITR) & ENABLE)
		return no(t, TRBE_RUNS, -EBUSY);
	t->align = ALIGN(id);
	t->open = !t->rc;
	return done(t);
}

/* All else is ignored while it is enabled; after that what it reads as is what it was. */
static void disable(struct trbe *t)
{
	wr(t, TRBE_LIMITR, 0);
	hwreg_barrier(t->r, HWREG_CONTEXT);
}

/* Of a buffer that goes round nobody could tell whether what lies before @from is of this run. */
static bool is_right(const struct trbe *t, const struct trbe_wish *w)
{
	return w->bytes && !(w->bytes % PAGE) && !(w->base % PAGE) &&
		w->base + w->bytes > w->base && w->from < w->bytes && !(w->from % t->align) &&
		(w->mode == TRBE_FILL ||
		 ((w->mode == TRBE_WRAP || w->mode == TRBE_CIRCULAR) && !w->from));
}

int trbe_start(struct trbe *t, const struct trbe_wish *w)
{
	u64 limit = (w->base + w->bytes) | MODE(w->mode) |
		(w->trigger ? STOP_ON_TRIGGER : IGNORE_TRIGGER);
	int rc;

	t->rc = 0;
	if (!t->open || t->running)
		return no(t, TRBE_ORDER, -EINVAL);
	if (!is_right(t, w))
		return no(t, TRBE_BUFFER, -EINVAL);
	if (rd(t, TRBE_LIMITR) & ENABLE)
		return no(t, TRBE_RUNS, -EBUSY);
	t->w = *w;
	wr(t, TRBE_SR, 0);
	wr(t, TRBE_BASER, w->base);
	wr(t, TRBE_PTR, w->base + w->from);
	wr(t, TRBE_TRG, w->trigger ? w->behind : 0);
	wr(t, TRBE_LIMITR, limit);
	/* all of it has its effect before it is enabled, and that before the trace unit is */
	hwreg_barrier(t->r, HWREG_CONTEXT);
	wr(t, TRBE_LIMITR, limit | ENABLE);
	hwreg_barrier(t->r, HWREG_CONTEXT);
	rc = rd(t, TRBE_LIMITR) & ENABLE ? done(t) : no(t, TRBE_ON, -EIO);
	if (rc) {
		t->rc = 0;
		disable(t);
	} else {
		t->running = true;
	}
	return rc;
}

static enum trbe_end ended(u64 sr)
{
	u64 c = CLASS(sr);

	if (sr & EXT_ABORT)
		return TRBE_END_ABORT;
	if (c == CLASS_FAULT_1 || c == CLASS_FAULT_2 || c == CLASS_GRANULE)
		return TRBE_END_FAULT;
	if (!(sr & STOPPED))
		return TRBE_END_ASKED;
	if (!c && CODE(sr) == 1)
		return TRBE_END_FULL;
	return !c && CODE(sr) == 2 ? TRBE_END_TRIGGER : TRBE_END_OTHER;
}

static int where(struct trbe *t, struct trbe_got *got)
{
	u64 sr = rd(t, TRBE_SR), at = rd(t, TRBE_PTR) - t->w.base;

	if (t->rc)
		return done(t);
	got->status = sr;
	got->end = ended(sr);
	got->interrupt = sr & INTERRUPT;
	if (at >= t->w.bytes || (!(sr & WRAPPED) && at < t->w.from))
		return no(t, TRBE_PLACE, -EIO);
	if (!(sr & WRAPPED)) {
		got->from = t->w.from;
		got->bytes = at - t->w.from;
	} else if (t->w.mode == TRBE_FILL) {
		/* the place is the base again, where nothing was written */
		got->from = t->w.from;
		got->bytes = t->w.bytes - t->w.from;
	} else {
		got->wrapped = true;
		got->from = at;
		got->bytes = t->w.bytes;
	}
	return 0;
}

int trbe_stop(struct trbe *t, struct trbe_got *got)
{
	int rc, first;

	*got = (struct trbe_got){ .end = TRBE_END_OTHER };
	t->rc = 0;
	if (!t->running)
		return no(t, TRBE_ORDER, -EINVAL);
	/* what the trace unit gave has been written, and can be seen */
	hwreg_barrier(t->r, HWREG_TRACE);
	hwreg_barrier(t->r, HWREG_MEMORY);
	disable(t);
	if (t->rc)
		return done(t);
	t->running = false;
	t->why = TRBE_FINE;
	rc = where(t, got);
	first = t->rc;
	t->rc = 0;
	wr(t, TRBE_SR, 0);
	hwreg_barrier(t->r, HWREG_CONTEXT);
	t->rc = first ? first : t->rc;
	return rc ? rc : done(t);
}

int trbe_close(struct trbe *t)
{
	struct trbe_got got;
	int rc = 0;

	t->why = TRBE_FINE;
	if (t->running)
		rc = trbe_stop(t, &got);
	t->open = false;	/* trbe_stop() tells whether it still runs */
	return rc;
}

const char *trbe_why_text(enum trbe_why why)
{
	static const char *const text[] = {
#define X(id, words) [id] = words,
		TRBE_WHYS(X)
#undef X
	};

	return (unsigned int)why < sizeof(text) / sizeof(text[0]) ? text[why] : "";
}

const char *trbe_end_text(enum trbe_end end)
{
	static const char *const text[] = {
		[TRBE_END_ASKED] = "asked", [TRBE_END_FULL] = "full",
		[TRBE_END_TRIGGER] = "trigger", [TRBE_END_FAULT] = "fault",
		[TRBE_END_ABORT] = "abort", [TRBE_END_OTHER] = "other",
	};

	return (unsigned int)end < sizeof(text) / sizeof(text[0]) ? text[end] : "";
}
