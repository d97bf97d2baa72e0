/* SPDX-License-Identifier: BSD-2-Clause */
#include "ocsd_doubt.h"

#define WINDOW	256	/* bytes of code read at once */

/* ---- code against range ---- */

struct walk {
	const struct hwt_image *img;
	const struct hwt_where *where;
	uint64_t base;
	uint32_t n;		/* bytes valid */
	uint8_t code[WINDOW];
};

static bool is_branch(unsigned kind)
{
	return kind >= HWT_INSN_CALL && kind <= HWT_INSN_FAR_JUMP;
}

/*
 * The instruction at @pc; false if it can not be read. One that our tables do not know has only
 * a size.
 */
static bool insn_at(struct walk *w, unsigned isa, uint64_t pc, struct hwt_insn *in)
{
	uint64_t at = pc - w->base;
	const uint8_t *p;

	if (at >= w->n || w->n - at < 4) {
		struct hwt_where any = *w->where;
		int n = hwt_image_read(w->img, &any, pc, w->code, sizeof(w->code));

		if (n <= 0 && any.space) {
			any.space = 0;	/* the level was not that of this code */
			n = hwt_image_read(w->img, &any, pc, w->code, sizeof(w->code));
		}
		w->base = pc;
		w->n = n > 0 ? (uint32_t)n : 0;
		at = 0;
		if (w->n < 2)
			return false;
	}
	p = w->code + at;
	switch (hwt_insn_decode(in, isa, pc, p, (size_t)(w->n - at))) {
	case 0:
		return true;
	case -HWT_E_MORE:
		return false;
	}
	*in = (struct hwt_insn){ .addr = pc, .target = HWT_NO_ADDR, .isa = (uint8_t)isa };
	/* T32: 0b11101, 0b11110 and 0b11111 begin a word (Arm ARM, F3.1) */
	in->size = isa == HWT_ISA_T32 && p[1] >> 3 < 0x1d ? 2 : 4;
	return true;
}

/* SVC and its like that are skipped by a condition leave no trace; IT is not in their bytes. */
static bool skippable(const struct hwt_insn *in)
{
	return in->kind == HWT_INSN_FAR_CALL && (in->cond || in->isa == HWT_ISA_T32);
}

static void prove(struct proof_entry *e, const struct hwt_image *img, const struct hwt_where *where)
{
	struct walk w = { .img = img, .where = where };
	uint64_t pc = e->first;
	struct hwt_insn in;

	e->branch = HWT_NO_ADDR;
	for (uint32_t i = 0; i < e->insns; i++) {
		bool last = i + 1 == e->insns;

		if (!insn_at(&w, e->isa, pc, &in))
			return;		/* nothing to hold against it */
		e->proven = i + 1;
		if (last != (pc == e->last)) {
			e->branch = pc;
			return;
		}
		if (is_branch(in.kind) && !skippable(&in) &&
		    (!last || (e->plain && in.kind != HWT_INSN_FAR_CALL)) &&
		    !(e->straight && in.cond && !last)) {
			e->branch = pc;
			return;
		}
		pc += in.size;
	}
}

static const struct proof_entry *lookup(struct proof *p, const struct hwt_image *img,
					const struct hwt_where *where, const struct hwt_event *ev,
					bool straight)
{
	uint64_t first = ev->u.range.first, last = ev->u.range.last;
	uint64_t h = (first * 31 + last) * 0x9e3779b97f4a7c15u;
	struct proof_entry *e = &p->e[h >> 40 & (PROOF_SLOTS - 1)];
	bool plain = !is_branch(ev->u.range.kind);

	if (e->first == first && e->last == last && e->insns == ev->u.range.insns &&
	    e->version == p->version && e->isa == ev->u.range.isa && e->plain == plain &&
	    e->straight == straight && e->space == where->space && e->pid == where->pid)
		return e;
	*e = (struct proof_entry){
		.first = first, .last = last, .insns = ev->u.range.insns, .version = p->version,
		.space = where->space, .pid = where->pid, .isa = ev->u.range.isa, .plain = plain,
		.straight = straight,
	};
	prove(e, img, where);
	return e;
}

/* ---- flow ---- */

void doubt_packet(struct doubt *d, uint64_t off, enum seen_what what, uint64_t addr)
{
	if (d->head - d->tail == DOUBT_ADDRS)
		d->tail++;	/* an older one can not prove anything any more */
	d->seen[d->head % DOUBT_ADDRS].off = off;
	d->seen[d->head % DOUBT_ADDRS].what = (uint8_t)what;
	d->seen[d->head++ % DOUBT_ADDRS].addr = addr;
}

void doubt_restart(struct doubt *d)
{
	d->stale = d->jumped = false;
}

void doubt_reset(struct doubt *d)
{
	doubt_restart(d);
	d->on = false;
	d->tail = d->head;
}

struct named { bool first, straight, exception; };	/* what the trace says of a range */

static struct named named(struct doubt *d, const struct hwt_event *ev, uint64_t off)
{
	struct named n = { 0 };

	for (; d->head != d->tail; d->tail++) {
		unsigned i = d->tail % DOUBT_ADDRS;

		bool here = d->seen[i].off == off;

		if (d->seen[i].off > off || (here && d->seen[i].what == SEEN_TARGET))
			break;
		switch (d->seen[i].what) {
		case SEEN_TARGET:
			n.first = d->seen[i].addr == ev->u.range.first;
			break;
		case SEEN_SOURCE:
			n.straight = here && d->seen[i].addr == ev->u.range.last;
			break;
		case SEEN_EXCEPTION:
			n.exception = here;
			break;
		case SEEN_NO_RETURNS:
			d->stale = false;
			break;
		}
	}
	return n;
}

static bool jumps(const struct hwt_event *ev)
{
	switch (ev->u.range.kind) {
	case HWT_INSN_ICALL:
	case HWT_INSN_RETURN:
	case HWT_INSN_IJUMP:
	case HWT_INSN_FAR_RETURN:
		return ev->flags & HWT_F_TAKEN;
	}
	return false;
}

void doubt_missed(struct doubt *d)
{
	d->stale = true;
	d->jumped = false;
}

void doubt_begin(struct doubt *d)
{
	d->on = d->stale = true;
}

enum trust doubt_range(struct doubt *d, struct proof *p, const struct hwt_image *img,
		       const struct hwt_where *where, const struct hwt_event *ev, uint64_t off,
		       uint64_t *branch, uint32_t *proven)
{
	struct named n = named(d, ev, off);
	const struct proof_entry *e;
	bool jumped = d->jumped;

	d->jumped = jumps(ev);
	if (n.first)
		d->on = false;
	if (d->on)
		return TRUST_NONE;
	if (d->stack && d->stale && jumped && !n.first) {
		d->on = true;
		return TRUST_STACK;
	}
	e = lookup(p, img, where, ev, n.straight);
	if (e->branch == HWT_NO_ADDR)
		return TRUST_ALL;
	doubt_begin(d);
	*branch = e->branch;
	*proven = e->proven;
	return n.exception ? TRUST_WRONG : TRUST_PART;
}
