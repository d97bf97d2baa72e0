/* SPDX-License-Identifier: BSD-2-Clause */
#include "time.h"

#include <string.h>

#define FRAC	16		/* bits of a tick behind the point */
#define MANY	(1ull << 62)	/* ticks of no bound */
#define UNCOUNTED (1ull << 32)	/* cycles that are not known, or more than can be converted */
#define NONE	UINT64_MAX	/* offset */

void ipt_clock_init(struct ipt_clock *c, const struct ipt_clock_cfg *cfg)
{
	c->cfg = *cfg;
	ipt_clock_start(c, NULL, 0, 0);
}

void ipt_clock_start(struct ipt_clock *c, const uint8_t *p, uint64_t begin, uint64_t end)
{
	struct ipt_clock_cfg cfg = c->cfg;

	memset(c, 0, offsetof(struct ipt_clock, in));
	c->cfg = cfg;
	c->p = p;
	c->at = c->asked = begin;
	c->end = end;
	c->first = c->stamp = NONE;
	c->lo = c->hi = c->used_lo = c->used_hi = IPT_NO_TIME;
	c->last = (struct ipt_instant){ .off = begin, .stamp = NONE, .lo = IPT_NO_TIME,
		.hi = IPT_NO_TIME };
}

/* --- the core clock --- */

/* Ticks of a cycle, behind the point. */
struct rate { uint64_t lo, hi; };

static struct rate rate_of(const struct ipt_clock *c, const struct ipt_instant *in)
{
	uint64_t nom = (uint64_t)c->cfg.nom_freq << FRAC;
	uint64_t most = in->cbr_hi, least = in->cbr_lo;
	struct rate r;

	if (!most && !least && c->rate_hi)
		return (struct rate){ c->rate_lo, c->rate_hi };
	if (!nom)
		return (struct rate){ 0, MANY };
	if (!most || !least) {
		most = 255;
		least = 1;
	}
	r.lo = nom / most;
	r.hi = nom / least + 1;
	r.lo -= r.lo / IPT_CLOCK_DRIFT + 1;
	r.hi += r.hi / IPT_CLOCK_DRIFT + 1;
	return r;
}

/* Another ratio begins; what was one that is not known was only that up to here. */
static void new_epoch(struct ipt_clock *c)
{
	for (; c->epoch < c->n; c->epoch++)
		if (!c->in[c->epoch].cbr_lo)
			c->in[c->epoch].cbr_hi = 255;
	c->rate_lo = c->rate_hi = 0;
}

static void take_cbr(struct ipt_clock *c, uint8_t raw)
{
	uint8_t cbr = c->cfg.nom_freq ? raw : 0;
	bool same = raw && raw == c->raw;	/* PSB+ repeats it */

	if (!same)
		new_epoch(c);
	if (c->fresh) {
		c->cbr_lo = c->cbr_hi = cbr;
	} else if (!same && cbr && c->cbr_lo && c->cbr_hi) {
		c->cbr_lo = cbr < c->cbr_lo ? cbr : c->cbr_lo;
		c->cbr_hi = cbr > c->cbr_hi ? cbr : c->cbr_hi;
	} else if (!same) {
		c->cbr_lo = 0;
		c->cbr_hi = 255;
	}
	c->raw = raw;
	c->cbr = cbr;
}

static uint64_t at_least(uint64_t sum, uint64_t cycles, uint64_t rate)
{
	return cycles >= UNCOUNTED || sum >= MANY ? sum : sum + cycles * rate;
}

static uint64_t at_most(uint64_t sum, uint64_t cycles, uint64_t rate)
{
	if (cycles >= UNCOUNTED || rate >= MANY || sum >= MANY)
		return MANY;
	return sum + cycles * rate;
}

static uint64_t up(uint64_t ticks)
{
	return (ticks + (1u << FRAC) - 1) >> FRAC;
}

/* --- the crystal clock --- */

static void take_tma(struct ipt_clock *c, const struct ipt_packet *pkt)
{
	unsigned freq = c->cfg.mtc_freq & 15;

	c->ctc_known = c->cfg.ctc_eax && c->cfg.ctc_ebx && c->fresh;
	c->mtc_lost = false;
	c->edge = c->tsc - pkt->extra;
	c->ctc = pkt->payload;
	c->count = pkt->payload >> freq;
	/* the 16 bits that are sent may hold less of the count than an MTC does */
	c->count_mask = freq > 8 ? (1u << (16 - freq)) - 1 : 255;
}

/* False if the MTC has no time, or only that of the one before. */
static bool take_mtc(struct ipt_clock *c, uint8_t mtc, uint64_t *lo, uint64_t *hi)
{
	uint64_t step = (mtc - c->count) & c->count_mask, eax = c->cfg.ctc_eax;
	unsigned freq = c->cfg.mtc_freq & 15;
	unsigned __int128 x;

	if (!c->ctc_known || !step)
		return false;
	if (!c->mtc_lost && step > c->count_mask / 2) {	/* back, or half of the range is missing */
		c->ctc_known = false;
		return false;
	}
	c->count += step;
	if (c->count_mask != 255) {	/* all 8 bits from now on: the distance to @ctc stays */
		uint64_t was = c->count;

		c->count = (c->count & ~255ull) | mtc;
		c->ctc += (c->count - was) << freq;
		c->count_mask = 255;
	}
	c->mtc_lost = false;
	x = (unsigned __int128)((c->count << freq) - c->ctc) * c->cfg.ctc_ebx;
	*lo = c->edge + (uint64_t)(x / eax);
	*hi = c->edge + (uint64_t)((x + eax - 1) / eax);
	return true;
}

/* --- a window: CYCs, and an exact instant behind them --- */

/* Two exact instants tell the ratio that no CBR does: a change would have been told. */
static void learn(struct ipt_clock *c, unsigned n, const struct ipt_instant *close)
{
	uint64_t cycles = 0, lo, hi;

	for (unsigned i = 0; i < n; i++) {
		if (c->in[i].cbr_hi || c->in[i].cycles >= UNCOUNTED)
			return;
		cycles += c->in[i].cycles;
	}
	if (cycles < 2 || c->hi == IPT_NO_TIME || close->lo < c->hi ||
	    close->hi - c->lo >= 1ull << 40)
		return;
	lo = ((close->lo - c->hi) << FRAC) / (cycles + 1);
	hi = ((close->hi - c->lo) << FRAC) / (cycles - 1) + 1;
	lo -= lo / IPT_CLOCK_DRIFT;
	hi += hi / IPT_CLOCK_DRIFT + 1;
	if (!c->rate_hi || hi - lo < c->rate_hi - c->rate_lo) {
		c->rate_lo = lo;
		c->rate_hi = hi;
	}
}

/*
 * From the instant before the window on. Each CYC is sent somewhere in its cycle: of the cycles
 * between two, one may be missing, or one more have passed.
 */
static void forward(struct ipt_clock *c, unsigned n)
{
	uint64_t least = 0, most = 0, cycles, hi;
	bool one = true;	/* that may be missing */

	for (unsigned i = 0; i < n; i++) {
		struct ipt_instant *in = &c->in[i];
		struct rate r = rate_of(c, in);

		cycles = in->cycles;
		if (cycles >= UNCOUNTED || (!i && !c->counted))
			cycles = 0;
		if (cycles && one) {
			cycles--;
			one = false;
		}
		least = at_least(least, cycles, r.lo);
		most = at_most(most, in->cycles, r.hi);
		hi = at_most(most, 1, r.hi);
		in->lo = c->lo + (least >> FRAC);
		in->hi = hi >= MANY || c->hi == IPT_NO_TIME ? IPT_NO_TIME : c->hi + up(hi);
	}
}

/* From the exact instant back. @sure: it has a CYC of its own, and no sleep was before it. */
static void backward(struct ipt_clock *c, unsigned n, const struct ipt_instant *close, bool sure)
{
	uint64_t least = 0, most = 0, one = 0, all = 0, ticks;

	for (unsigned i = n; i--;) {
		struct ipt_instant *in = &c->in[i];
		struct rate r = rate_of(c, in);
		/* what may have passed before it, of the cycles that the next one counts */
		uint64_t before = in->cycles < UNCOUNTED ? one : all;

		ticks = least > before ? (least - before) >> FRAC : 0;
		if (ticks < close->hi && close->hi - ticks < in->hi)
			in->hi = close->hi - ticks;
		if (i == n - 1)
			most = at_most(0, 1, r.hi);
		ticks = up(most);
		if (sure && most < MANY && ticks < close->lo && close->lo - ticks > in->lo)
			in->lo = close->lo - ticks;
		least = at_least(least, in->cycles, r.lo);
		most = at_most(most, in->cycles, r.hi);
		all = at_least(0, in->cycles, r.lo);
		one = r.lo;
	}
}

/* False if times contradict each other: the core clock did not do what is taken for granted. */
static bool order(struct ipt_clock *c, unsigned n, uint64_t end)
{
	uint64_t lo = c->lo, hi = end;

	for (unsigned i = 0; i < n; i++) {
		lo = c->in[i].lo > lo ? c->in[i].lo : lo;
		c->in[i].lo = lo;
	}
	for (unsigned i = n; i--;) {
		hi = c->in[i].hi < hi ? c->in[i].hi : hi;
		c->in[i].hi = hi;
		if (c->in[i].lo > hi)
			return false;
	}
	return true;
}

/* What holds whatever the core clock does. */
static void plain(struct ipt_clock *c, unsigned n, uint64_t end)
{
	for (unsigned i = 0; i < n; i++) {
		c->in[i].lo = c->lo;
		c->in[i].hi = end;
	}
}

/* The last instant is exact. @mtc: it is an MTC. */
static void close_exact(struct ipt_clock *c, bool mtc)
{
	struct ipt_instant *close = &c->in[c->n - 1];
	unsigned n = c->n - 1;
	bool counted = n && close[-1].end == close->off, sure = counted && (mtc || c->group);

	if (n && sure && c->counted)
		learn(c, n, close);
	if (n) {
		forward(c, n);
		backward(c, n, close, sure);
		if (!order(c, n, close->hi))
			plain(c, n, close->hi);
		else if (mtc && counted && close[-1].lo > close->lo)
			close->lo = close[-1].lo;
	}
	c->lo = close->lo;
	c->hi = close->hi;
	c->counted = counted;
}

/* No exact instant is near: the end of the run, or too many CYCs. */
static void close_open(struct ipt_clock *c)
{
	forward(c, c->n);
	order(c, c->n, IPT_NO_TIME);
	c->lo = c->in[c->n - 1].lo;
	c->hi = c->in[c->n - 1].hi;
	c->counted = c->in[c->n - 1].cycles < UNCOUNTED;
}

/* --- packets --- */

static void put(struct ipt_clock *c, uint64_t size, uint64_t cycles)
{
	c->in[c->n++] = (struct ipt_instant){
		.off = c->at, .end = c->at + size, .first = c->first, .stamp = NONE,
		.lo = IPT_NO_TIME, .hi = IPT_NO_TIME, .cycles = cycles,
		.cbr_lo = c->cbr_lo, .cbr_hi = c->cbr_hi,
	};
	c->first = NONE;
	c->cbr_lo = c->cbr_hi = c->cbr;
}

static bool starts(const uint8_t *p, uint64_t n, uint8_t ext)
{
	return n > 1 && p[0] == 0x02 && p[1] == ext;
}

/* True if it is no timing packet or PAD. */
static bool is_flow(const uint8_t *p, uint64_t n)
{
	return n && p[0] && (p[0] & 3) != 3 && p[0] != 0x19 && p[0] != 0x59 &&
		!starts(p, n, 0x73);
}

static void lost(struct ipt_clock *c)
{
	new_epoch(c);
	c->mtc_lost = true;
	c->raw = c->cbr = c->cbr_lo = c->cbr_hi = 0;
}

static void take_cyc(struct ipt_clock *c, const struct ipt_packet *pkt)
{
	const uint8_t *next = c->p + c->at + pkt->size;
	uint64_t n = c->end - c->at - pkt->size, cycles = pkt->payload;

	/* erratum SKD007: an overflow may be written over its second byte */
	if (pkt->size == 2 && n && next[-1] == 0x02 && next[0] == 0xf3)
		cycles = UNCOUNTED;
	/* of an overflow: the counter may have wrapped, and changes of the clock are not told */
	if (starts(next, n, 0xf3))
		cycles = UNCOUNTED;
	if (cycles >= UNCOUNTED) {
		c->cbr_lo = 0;
		c->cbr_hi = 255;
	}
	put(c, pkt->size, cycles < UNCOUNTED ? cycles : UNCOUNTED);
	if (cycles >= UNCOUNTED)
		lost(c);
	if (is_flow(next, n))
		c->in[c->n - 1].stamp = c->stamp = c->at + pkt->size;
}

static void take_ovf(struct ipt_clock *c, const struct ipt_packet *pkt)
{
	/* without a CYC the next one counts this time as well */
	if (c->stamp != c->at && c->lo != IPT_NO_TIME) {
		c->cbr_lo = 0;
		c->cbr_hi = 255;
		put(c, 0, UNCOUNTED);
	}
	lost(c);
}

static bool exact(struct ipt_clock *c, const struct ipt_packet *pkt, uint64_t lo, uint64_t hi)
{
	put(c, pkt->size, 0);
	c->in[c->n - 1].lo = lo;
	c->in[c->n - 1].hi = hi;
	return true;
}

/* True if the packet is an exact instant, which is the last of the window now. */
static bool take(struct ipt_clock *c, const struct ipt_packet *pkt)
{
	uint64_t lo, hi;

	switch (pkt->kind) {
	case IPT_TSC:
		c->tsc = pkt->payload;
		c->fresh = true;
		return exact(c, pkt, c->tsc, c->tsc);
	case IPT_TMA:
		take_tma(c, pkt);
		return false;
	case IPT_MTC:
		c->fresh = false;
		return take_mtc(c, (uint8_t)pkt->payload, &lo, &hi) && exact(c, pkt, lo, hi);
	case IPT_CYC:
		c->fresh = false;
		if (c->lo != IPT_NO_TIME)
			take_cyc(c, pkt);
		return false;
	case IPT_CBR:
		take_cbr(c, (uint8_t)pkt->payload);
		return false;
	case IPT_OVF:
		take_ovf(c, pkt);
		c->group = false;
		break;
	case IPT_PSB:
		c->group = true;
		return false;
	case IPT_PSBEND:
		c->group = false;
		break;
	case IPT_PAD:
		return false;
	}
	c->fresh &= c->group;
	return false;
}

/*
 * The next window, up to an exact instant. Before the first one no packet from @limit on is looked
 * at: nothing is told of those. False there, and at the end.
 */
static bool fill(struct ipt_clock *c, uint64_t limit)
{
	struct ipt_packet pkt;
	bool mtc, closed = false;
	int n;

	c->n = c->passed = c->epoch = 0;
	while (c->at < c->end && (c->lo != IPT_NO_TIME || c->at < limit)) {
		if (c->n >= IPT_CLOCK_WINDOW - 2)	/* room for one packet: two instants */
			break;
		n = ipt_packet_decode(&pkt, &c->ctx, c->p + c->at, c->end - c->at);
		if (n < 0) {
			c->at = c->end;
			break;
		}
		if (is_flow(c->p + c->at, c->end - c->at) && c->first == NONE && c->stamp != c->at)
			c->first = c->at;
		closed = take(c, &pkt);
		mtc = pkt.kind == IPT_MTC;
		c->at += (unsigned)n;
		if (closed) {
			close_exact(c, mtc);
			return true;
		}
	}
	if (!c->n)
		return false;
	close_open(c);
	return true;
}

/* --- answers --- */

static void pass(struct ipt_clock *c, const struct ipt_instant *in)
{
	if (c->last.stamp != NONE) {
		c->used_lo = c->last.lo;
		c->used_hi = c->last.hi;
	}
	if (in->first != NONE) {
		c->used_lo = c->last.lo;
		c->used_hi = in->hi;
	}
	c->last = *in;
}

void ipt_clock_at(struct ipt_clock *c, uint64_t off, struct ipt_clock_time *out)
{
	const struct ipt_instant *next = NULL;
	bool back = off < c->asked;

	if (!back)
		c->asked = off;
	else
		off = c->asked;
	for (;;) {
		if (c->passed == c->n && !fill(c, off))
			break;
		next = &c->in[c->passed];
		if (next->off >= off)
			break;
		pass(c, next);
		c->passed++;
		next = NULL;
	}
	if (c->last.stamp < off) {
		c->used_lo = c->last.lo;
		c->used_hi = c->last.hi;
	}
	if (next ? next->first < off : c->first < off) {
		c->used_lo = c->last.lo;
		c->used_hi = next ? next->hi : IPT_NO_TIME;
	}
	out->lo = back ? IPT_NO_TIME : c->last.lo;
	out->hi = !back && c->last.stamp == off ? c->last.hi : next ? next->hi : IPT_NO_TIME;
	out->used_lo = c->used_lo;
	out->used_hi = c->used_hi;
}
