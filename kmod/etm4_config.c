// SPDX-License-Identifier: GPL-2.0-only
/*
 * What a trace unit can, whether it can do what is wished, and what its registers then have;
 * nothing here touches it. Sections are those of Arm IHI 0064, ETMv4.
 */
#include "etm4_prog.h"

#define TRUE_EVENT	1u		/* resource selector 1 is always active (7.3, TRCRSCTLRn) */
#define SELECT_CONTEXT	2u		/* the two that we use */
#define SELECT_COUNTER	3u
#define GROUP(n)	((u32)(n) << 16)

static u32 field(u32 v, unsigned int lo, unsigned int bits)
{
	return v >> lo & ((1u << bits) - 1);
}

static int cannot(struct etm4 *e, enum etm4_why why, int rc)
{
	e->why = why;
	return rc;
}

static u8 least(u32 a, u32 b)
{
	return (u8)(a < b ? a : b);
}

void etm4_caps_from(struct etm4_caps *c, const u32 id[7])
{
	u32 i;

	c->data = field(id[0], 3, 2);
	c->branch_broadcast = field(id[0], 5, 1);
	c->cycles = field(id[0], 7, 1);
	c->return_stack = field(id[0], 9, 1);
	c->q_filter = field(id[0], 14, 1);
	/* TSSIZE: 6 is 48 bits, 8 is 64 */
	c->time_bits = field(id[0], 24, 5) == 8 ? 64 : field(id[0], 24, 5) == 6 ? 48 : 0;
	c->address_bits = field(id[2], 0, 5) == 8 ? 64 : 32;
	c->context_bits = least(8 * field(id[2], 5, 5), 32);
	c->vmid_bits = least(8 * field(id[2], 10, 5), 32);
	c->threshold_max = (u16)((1u << least(field(id[2], 25, 4) + 12, 12)) - 1);
	c->vmid_ctx = field(id[2], 29, 2) == 1;
	c->threshold_min = (u16)field(id[3], 0, 12);
	c->levels_s = (u8)field(id[3], 16, 4);
	c->levels = (u8)field(id[3], 20, 3);
	c->err_trace = field(id[3], 24, 1);
	c->sync_fixed = field(id[3], 25, 1);
	c->stall = field(id[3], 26, 1) && field(id[3], 27, 1);
	c->no_overflow = field(id[3], 31, 1);
	c->ranges = least(field(id[4], 0, 4), ETM4_MAX);
	c->pe_inputs = least(field(id[4], 12, 4), ETM4_MAX);
	/* a number less one, but for zero in ETMv4.3 and later, which is none */
	i = field(id[4], 16, 4);
	c->selectors = (u8)(i || (!c->ete && c->minor < 3) ? least(2 * i + 2, 32) : 0);
	c->singles = least(field(id[4], 20, 4), 8);
	c->contexts = least(field(id[4], 24, 4), ETM4_MAX);
	c->vmids = least(field(id[4], 28, 4), ETM4_MAX);
	c->inputs = least(field(id[5], 9, 3), 4);
	c->id_bits = (u8)field(id[5], 16, 6);
	c->sequencer = field(id[5], 25, 3);
	c->counters = least(field(id[5], 28, 3), 4);
	c->levels_rl = (u8)field(id[6], 0, 3);
}

static int check_filters(struct etm4 *e, const struct etm4_wish *w)
{
	const struct etm4_caps *c = &e->caps;
	unsigned int i;

	if (w->nranges > c->ranges)
		return cannot(e, ETM4_RANGES, -EOPNOTSUPP);
	for (i = 0; i < w->nranges; i++)
		if (w->range[i].first > w->range[i].last ||
		    (c->address_bits == 32 && w->range[i].last >> 32))
			return cannot(e, ETM4_RANGE, -EINVAL);
	if (w->ncontexts && w->nvmids)
		return cannot(e, ETM4_BOTH, -EOPNOTSUPP);
	if (w->ncontexts > c->contexts || (w->ncontexts && c->selectors < 4))
		return cannot(e, ETM4_CONTEXTS, -EOPNOTSUPP);
	if (w->nvmids > c->vmids || (w->nvmids && c->selectors < 4))
		return cannot(e, ETM4_VMIDS, -EOPNOTSUPP);
	return 0;
}

static int check_cycles(struct etm4 *e, const struct etm4_wish *w)
{
	const struct etm4_caps *c = &e->caps;

	if (!w->cycles)
		return 0;
	if (!c->cycles)
		return cannot(e, ETM4_CYCLES, -EOPNOTSUPP);
	if (w->threshold && (w->threshold < c->threshold_min || w->threshold > c->threshold_max))
		return cannot(e, ETM4_THRESHOLD, -EOPNOTSUPP);
	return 0;
}

int etm4_check(struct etm4 *e, const struct etm4_wish *w)
{
	const struct etm4_caps *c = &e->caps;
	int rc;

	e->u.rc = 0;
	e->why = ETM4_FINE;
	/* a unit whose trace leaves by no bus may have no id (7.3, TRCTRACEIDR) */
	if (c->id_bits && (!w->id || w->id > 0x6f))
		return cannot(e, ETM4_ID, -EINVAL);
	if (!w->levels || w->levels & ~c->levels)
		return cannot(e, ETM4_LEVELS, -EOPNOTSUPP);
	if (w->time && !c->time_bits)
		return cannot(e, ETM4_TIME, -EOPNOTSUPP);
	if (w->time_every && (!w->time || !c->counters || c->selectors < 4))
		return cannot(e, ETM4_TIME_EVERY, -EOPNOTSUPP);
	if (w->context && !c->context_bits)
		return cannot(e, ETM4_CONTEXT, -EOPNOTSUPP);
	if (w->vmid && !c->vmid_bits)
		return cannot(e, ETM4_VMID, -EOPNOTSUPP);
	if (w->vmid_ctx && (!w->vmid || !c->vmid_ctx))
		return cannot(e, ETM4_VMID_CTX, -EOPNOTSUPP);
	if (w->return_stack && !c->return_stack)
		return cannot(e, ETM4_STACK, -EOPNOTSUPP);
	if (w->branch_broadcast && !c->branch_broadcast)
		return cannot(e, ETM4_BROADCAST, -EOPNOTSUPP);
	if (w->stall && !c->stall)
		return cannot(e, ETM4_STALL, -EOPNOTSUPP);
	if (w->no_overflow && !c->no_overflow)
		return cannot(e, ETM4_OVERFLOW, -EOPNOTSUPP);
	if (w->sync && (c->sync_fixed || w->sync < 8 || w->sync > 20))
		return cannot(e, ETM4_SYNC, -EOPNOTSUPP);
	rc = check_cycles(e, w);
	return rc ? rc : check_filters(e, w);
}

static void add(struct etm4 *e, u32 reg, unsigned int n, u16 bits)
{
	unsigned int i;

	for (i = 0; i < n && e->n < ETM4_REGS; i++)
		e->slot[e->n++] = (struct etm4_slot){ .reg = (u16)(reg + i * bits / 8),
			.bits = bits };
}

/* All that this unit has and config writes (7.3: which it has is told by the capabilities). */
static void list_regs(struct etm4 *e)
{
	const struct etm4_caps *c = &e->caps;
	unsigned int masks;

	e->n = 0;
	add(e, TRC_CONFIGR, 1, 32);
	/* an ETE without resource selectors has no events either */
	add(e, TRC_EVENTCTL0R, c->selectors || !c->ete ? 2 : 0, 32);
	add(e, TRC_RSR, c->ete, 32);
	add(e, TRC_STALLCTLR, c->stall || c->no_overflow, 32);
	add(e, TRC_TSCTLR, !!c->time_bits, 32);
	add(e, TRC_SYNCPR, !c->sync_fixed, 32);
	add(e, TRC_CCCTLR, c->cycles, 32);
	add(e, TRC_BBCTLR, c->branch_broadcast, 32);
	add(e, TRC_TRACEIDR, !!c->id_bits, 32);
	add(e, TRC_QCTLR, c->q_filter, 32);
	add(e, TRC_VICTLR, 1, 32);
	add(e, TRC_VIIECTLR, c->ranges ? 2 : 0, 32);
	add(e, TRC_VIPCSSCTLR, !!c->pe_inputs, 32);
	add(e, TRC_VDCTLR, c->data ? 3 : 0, 32);
	add(e, TRC_SEQEVR, c->sequencer ? 3 : 0, 32);
	add(e, TRC_SEQRSTEVR, c->sequencer ? 2 : 0, 32);
	add(e, TRC_EXTINSELR, c->ete ? c->inputs : !!c->inputs, 32);
	add(e, TRC_CNTRLDVR, c->counters, 32);
	add(e, TRC_CNTCTLR, c->counters, 32);
	add(e, TRC_CNTVR, c->counters, 32);
	add(e, TRC_RSCTLR + 8, c->selectors > 2 ? c->selectors - 2 : 0, 32);
	add(e, TRC_SSCCR, c->singles, 32);
	add(e, TRC_SSCSR, c->singles, 32);
	add(e, TRC_SSPCICR, c->pe_inputs ? c->singles : 0, 32);
	add(e, TRC_ACVR, 2u * c->ranges, 64);
	add(e, TRC_ACATR, 2u * c->ranges, 64);
	add(e, TRC_CIDCVR, c->contexts, 64);
	add(e, TRC_VMIDCVR, c->vmids, 64);
	masks = c->contexts ? (c->contexts + 3u) / 4 : 0;
	add(e, TRC_CIDCCTLR, masks, 32);
	masks = c->vmids ? (c->vmids + 3u) / 4 : 0;
	add(e, TRC_VMIDCCTLR, masks, 32);
}

/* Nothing if the unit has no such register: etm4_check() has seen to it. */
static void put(struct etm4 *e, u32 reg, u64 v)
{
	unsigned int i;

	for (i = 0; i < e->n; i++)
		if (e->slot[i].reg == reg)
			e->slot[i].v = v;
}

u64 etm4_has(const struct etm4 *e, u32 reg)
{
	unsigned int i;

	for (i = 0; i < e->n; i++)
		if (e->slot[i].reg == reg)
			return e->slot[i].v;
	return 0;
}

static void put_options(struct etm4 *e, const struct etm4_wish *w)
{
	const struct etm4_caps *c = &e->caps;
	u32 stall = 0;

	put(e, TRC_CONFIGR, 1u | (u32)w->branch_broadcast << 3 | (u32)w->cycles << 4 |
	    (u32)w->context << 6 | (u32)w->vmid << 7 | (u32)w->time << 11 |
	    (u32)w->return_stack << 12 | (u32)w->vmid_ctx << 15);
	if (w->stall)
		stall |= 1u << 8 | 3u << 2;	/* ISTALL, the highest LEVEL */
	if (w->no_overflow)
		stall |= 1u << 13;
	put(e, TRC_STALLCTLR, stall);
	put(e, TRC_SYNCPR, w->sync ? w->sync : 12);
	put(e, TRC_CCCTLR, w->threshold ? w->threshold : c->threshold_min);
	put(e, TRC_TRACEIDR, w->id);
	/* trace starts with no resource active (Arm ARM, TRCRSR.TA) */
	put(e, TRC_RSR, 1u << 12);
	/* with an empty list of ranges to exclude, that is all addresses */
	put(e, TRC_BBCTLR, 0);
	put(e, TRC_SEQSTR, 0);
}

static void put_filters(struct etm4 *e, const struct etm4_wish *w)
{
	const struct etm4_caps *c = &e->caps;
	u32 event = TRUE_EVENT, in = 0, out = 0, n, i;

	for (i = 0; i < w->nranges; i++) {
		put(e, TRC_ACVR + 16 * i, w->range[i].first);
		put(e, TRC_ACVR + 16 * i + 8, w->range[i].last);
		*(w->range[i].exclude ? &out : &in) |= 1u << i;
	}
	put(e, TRC_VIIECTLR, out << 16 | in);
	for (i = 0; i < w->ncontexts; i++)
		put(e, TRC_CIDCVR + 8 * i, w->contexts[i]);
	for (i = 0; i < w->nvmids; i++)
		put(e, TRC_VMIDCVR + 8 * i, w->vmids[i]);
	n = w->ncontexts ? w->ncontexts : w->nvmids;
	if (n) {
		/* any of them: the first n of group 6 or 7 */
		put(e, TRC_RSCTLR + 4 * SELECT_CONTEXT,
		    GROUP(w->ncontexts ? 6 : 7) | ((1u << n) - 1));
		event = SELECT_CONTEXT;
	}
	if (w->time_every) {
		/* counter 0 counts cycles down, and begins anew after zero */
		put(e, TRC_CNTRLDVR, w->time_every - 1u);
		put(e, TRC_CNTVR, w->time_every - 1u);
		put(e, TRC_CNTCTLR, 1u << 16 | TRUE_EVENT);
		put(e, TRC_RSCTLR + 4 * SELECT_COUNTER, GROUP(2) | 1);
		put(e, TRC_TSCTLR, SELECT_COUNTER);
	}
	/* SSSTATUS: started, for nothing starts or stops it; levels whose bit is set are out */
	put(e, TRC_VICTLR, event | 1u << 9 | (u32)c->levels_s << 16 |
	    (u32)(c->levels & ~w->levels) << 20 | (u32)c->levels_rl << 24);
}

void etm4_fill(struct etm4 *e, const struct etm4_wish *w)
{
	list_regs(e);
	put_options(e, w);
	put_filters(e, w);
}

const char *etm4_why_text(enum etm4_why why)
{
	static const char *const text[] = {
#define X(id, words) [id] = words,
		ETM4_WHYS(X)
#undef X
	};

	return (unsigned int)why < sizeof(text) / sizeof(text[0]) ? text[why] : "";
}
