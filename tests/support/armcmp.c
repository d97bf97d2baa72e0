/* SPDX-License-Identifier: BSD-2-Clause */
#include "armcmp.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void differs(struct armcmp *c, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void differs(struct armcmp *c, const char *fmt, ...)
{
	int n = snprintf(c->why, sizeof(c->why), "item %zu: ", c->at);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(c->why + n, sizeof(c->why) - (size_t)n, fmt, ap);
	va_end(ap);
}

void armcmp_mark(struct armrun *run, const struct model_etm4_cfg *cfg, const uint64_t (*lost)[2],
		 size_t nlost)
{
	bool gap = true;
	size_t k = 0;

	for (size_t i = 0; i < run->n; i++) {
		struct arm_item *it = &run->v[i];

		while (k < nlost && lost[k][1] <= it->event)
			k++;
		it->skip = (cfg->exclude >> it->el & 1) || (k < nlost && lost[k][0] <= it->event);
		gap |= it->gap;
		it->gap = gap;
		gap = it->skip;
	}
}

void armcmp_start(struct armcmp *c, const struct armrun *run, const struct model_etm4_cfg *cfg)
{
	memset(c, 0, sizeof(*c));
	c->run = run;
	c->cfg = cfg;
}

static size_t untold(const struct armrun *r, size_t at)
{
	while (at < r->n && r->v[at].skip)
		at++;
	return at;
}

static const char *const names[] = { "instruction", "exception", "exception return" };

uint64_t armcmp_time(const struct armcmp *c, uint64_t tick)
{
	const struct model_etm4_cfg *g = c->cfg;

	return tick * (g->ts_mul ? g->ts_mul : 1) / (g->ts_div ? g->ts_div : 1);
}

/* The next thing that was traced, if it is a @what. */
static const struct arm_item *next(struct armcmp *c, unsigned what, uint64_t pc)
{
	const struct armrun *r = c->run;
	const struct arm_item *it;

	if (*c->why)
		return NULL;
	c->at = untold(r, c->at);
	/* an exception return is no P0 element: it goes with what follows, and may get lost */
	if (c->at < r->n && r->v[c->at].what == ARM_ERET && what != ARM_ERET) {
		size_t k = untold(r, c->at + 1);

		if (k < r->n && r->v[k].gap)
			c->at = k;
	}
	if (c->at == r->n) {
		differs(c, "%s %" PRIx64 ", nothing ran", names[what], pc);
		return NULL;
	}
	it = &r->v[c->at];
	if (it->what != what)
		differs(c, "%s %" PRIx64 ", but it was %s %" PRIx64, names[what], pc,
			names[it->what], it->pc);
	else if (it->gap != c->on)
		differs(c, "%s %" PRIx64 ": trace %s", names[what], pc,
			c->on ? "starts anew in the middle" : "goes on over a gap");
	else if (armcmp_time(c, it->tick) < c->ts_min)
		differs(c, "at tick %" PRIu64 ", after timestamp %" PRIu64, it->tick, c->ts_min);
	if (it->gap)
		c->cc_doubt = true;
	c->on = false;
	c->at++;
	c->tick = it->tick;
	return *c->why ? NULL : it;
}

void armcmp_insn(struct armcmp *c, uint64_t pc, unsigned isa)
{
	const struct arm_item *it = next(c, ARM_INSN, pc);

	if (!it)
		return;
	c->insns++;
	if (it->pc != pc || it->isa != isa)
		differs(c, "%" PRIx64 " isa %u, but %" PRIx64 " isa %u ran", pc, isa, it->pc,
			it->isa);
	else if (it->el != c->el || it->ns != c->ns)
		differs(c, "%" PRIx64 ": EL%u ns %u, but it was EL%u ns %u", pc, c->el, c->ns,
			it->el, it->ns);
	else if ((c->cfg->cid && it->cid != c->cid) ||
		 (c->cfg->vmid_size && it->vmid != c->vmid))
		differs(c, "%" PRIx64 ": context %x vmid %x, but it was %x %x", pc, c->cid,
			c->vmid, it->cid, it->vmid);
}

void armcmp_range(struct armcmp *c, uint64_t first, uint64_t end, unsigned isa)
{
	while (first < end && !*c->why) {
		const struct arm_insn *i = armprog_at(&c->run->prog, first);

		armcmp_insn(c, first, isa);
		if (!i)
			break;
		first += i->size;
	}
}

/* Exception types of A-profile, IHI 0064 table of the exception packet's TYPE. */
static unsigned type_of(unsigned exc)
{
	switch (exc) {
	case 0xff:			return 2;	/* SVC, HVC, SMC */
	case MODEL_TRAP_HALT:		return 1;
	case MODEL_TRAP_UNDEFINED:	return 3;
	case MODEL_TRAP_OTHER:		return 4;
	case MODEL_TRAP_DEBUG:		return 6;
	case MODEL_TRAP_INST_FAULT:	return 11;
	case MODEL_TRAP_DATA_FAULT:	return 12;
	case MODEL_TRAP_IRQ:		return 14;
	default:			return 15;
	}
}

void armcmp_exception(struct armcmp *c, unsigned num, uint64_t ret)
{
	const struct arm_item *it = next(c, ARM_EXC, ret);

	if (!it)
		return;
	c->excs++;
	if (it->pc != ret || type_of(it->exc) != num)
		differs(c, "exception %u returns to %" PRIx64 ", but it was %u to %" PRIx64, num,
			ret, type_of(it->exc), it->pc);
}

void armcmp_eret(struct armcmp *c)
{
	if (next(c, ARM_ERET, 0))
		c->erets++;
}

void armcmp_timestamp(struct armcmp *c, uint64_t value)
{
	c->timestamps++;
	if (armcmp_time(c, c->tick) > value)
		differs(c, "timestamp %" PRIu64 " after tick %" PRIu64, value, c->tick);
	c->ts_min = value;
}

void armcmp_cycles(struct armcmp *c, uint64_t count)
{
	uint64_t mul = c->cfg->cc_mul ? c->cfg->cc_mul : 1;
	uint64_t div = c->cfg->cc_div ? c->cfg->cc_div : 1;
	uint64_t want = c->tick * mul / div - c->cc_tick * mul / div;
	unsigned bits = c->cfg->cc_bits ? c->cfg->cc_bits : 20;

	if (count)
		c->cycles++;
	else
		c->unknown_cycles++;
	if (!*c->why && count && (!c->cc_known || count != want))
		differs(c, "%" PRIu64 " cycles, but it was %" PRIu64 "%s", count, want,
			c->cc_known ? "" : ", which nobody can know");
	if (!*c->why && !count && c->cc_known && !c->cc_doubt && !(want >> bits))
		differs(c, "unknown cycles, but it was %" PRIu64, want);
	c->cc_tick = c->tick;
	c->cc_known = true;
	c->cc_doubt = false;
}

/* IHI 0064 5.3.1: what makes a P0 element. */
static bool is_p0(const struct armcmp *c, const struct arm_item *it)
{
	const struct arm_insn *i = it->what == ARM_INSN ? armprog_at(&c->run->prog, it->pc) : NULL;

	if (!i)
		return it->what == ARM_EXC;
	return i->kind != MODEL_PLAIN && i->kind != MODEL_SYSCALL &&
		(i->kind != MODEL_WAIT || c->cfg->wfx_branch);
}

void armcmp_end(struct armcmp *c, unsigned slack)
{
	size_t at = untold(c->run, c->at);

	c->at = at;
	for (; !*c->why && at < c->run->n; at = untold(c->run, at + 1)) {
		const struct arm_item *it = &c->run->v[at];

		if (is_p0(c, it) && !slack--)
			differs(c, "the trace ends, but %s %" PRIx64 " ran", names[it->what],
				it->pc);
	}
}
