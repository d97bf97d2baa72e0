/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_time.h"

#include "flow.h"

enum { NOW, FROM, UNTIL };	/* ipt_time.at */

void ipt_time_init(struct ipt_time *t, const struct time_map *map, const struct trace_cfg *cfg)
{
	struct ipt_clock_cfg c = { 0 };

	if (cfg)
		c = (struct ipt_clock_cfg){ .ctc_eax = cfg->r.pt.cpuid_15_eax,
			.ctc_ebx = cfg->r.pt.cpuid_15_ebx, .mtc_freq = cfg->r.pt.mtc_freq,
			.nom_freq = cfg->r.pt.nom_freq };
	t->map = map;
	t->tsc = t->lo = t->hi = t->next = t->sent = t->pkt_lo = HWT_TIME_UNKNOWN;
	t->pkt = HWT_NO_OFF;
	t->kept = t->gap_told = false;
	for (unsigned i = 0; i < 3; i++)
		t->at[i].of = t->at[i].ns = HWT_TIME_UNKNOWN;
	ipt_clock_init(&t->clock, &c);
}

void ipt_time_run(struct ipt_time *t, const struct trace_span *s, uint64_t begin, uint64_t end)
{
	ipt_clock_start(&t->clock, s->p, begin, end);
}

static uint64_t convert(struct ipt_time *t, unsigned i, uint64_t tsc)
{
	if (tsc == HWT_TIME_UNKNOWN || !t->map)
		return tsc;
	if (tsc != t->at[i].of) {
		t->at[i].ns = time_map_ns_ordered(t->map, tsc);
		t->at[i].of = tsc;
	}
	return t->at[i].ns;
}

uint64_t ipt_time_ns(struct ipt_time *t)
{
	return t->map ? convert(t, NOW, t->tsc) : HWT_TIME_UNKNOWN;
}

uint64_t ipt_time_ns_lo(struct ipt_time *t)
{
	return t->map ? convert(t, FROM, t->lo) : HWT_TIME_UNKNOWN;
}

uint64_t ipt_time_ns_next(struct ipt_time *t)
{
	return t->map ? convert(t, UNTIL, t->next) : HWT_TIME_UNKNOWN;
}

static void until(struct ipt_time *t, struct hwt_event *ev, uint64_t hi)
{
	/* a switch of tasks may have made it later than it is */
	if (hi < t->lo && t->lo != HWT_TIME_UNKNOWN)
		hi = t->next < t->lo ? HWT_TIME_UNKNOWN : t->next;
	hi = convert(t, UNTIL, hi);
	ev->span = HWT_SPAN_UNKNOWN;
	if (hi != HWT_TIME_UNKNOWN && hi >= ev->time && hi - ev->time < HWT_SPAN_UNKNOWN)
		ev->span = (uint32_t)(hi - ev->time);
}

void ipt_time_reach(struct ipt_time *t, struct hwt_event *ev)
{
	until(t, ev, t->hi);
}

void ipt_time_reach_next(struct ipt_time *t, struct hwt_event *ev)
{
	until(t, ev, t->next);
}

void ipt_time_gap(struct ipt_time *t, struct hwt_event *ev, unsigned cause)
{
	if (cause == HWT_GAP_OVERFLOW)
		return;
	ev->span = HWT_SPAN_UNKNOWN;
	if (!t->gap_told)
		return;
	if (t->gap_hi != HWT_TIME_UNKNOWN && t->gap_hi >= t->lo)
		until(t, ev, t->gap_hi);
	if (ev->span == HWT_SPAN_UNKNOWN)
		ev->span = FLOW_REACH_UNKNOWN;
}

void ipt_time_stamp(struct ipt_time *t, struct hwt_event *ev)
{
	ev->time = convert(t, FROM, t->lo);
	ev->clock = t->map ? HWT_CLOCK_BASE : HWT_CLOCK_TSC;
	ipt_time_reach(t, ev);
}

void ipt_time_place(struct ipt_time *t, struct hwt_event *ev)
{
	uint64_t lo = convert(t, FROM, t->lo);

	if (lo == HWT_TIME_UNKNOWN || lo >= ev->time || ev->time - lo >= HWT_SPAN_UNKNOWN)
		return;
	ev->span = (uint32_t)(ev->time - lo);
	ev->time = lo;
}

void ipt_time_used(struct ipt_time *t, uint64_t off)
{
	struct ipt_clock_time c;

	ipt_clock_at(&t->clock, off, &c);
	t->hi = c.used_hi;
	t->next = c.hi;
}

/* Looks at the packet at @off; returns the earliest time of the one used last. */
static uint64_t look(struct ipt_time *t, uint64_t off)
{
	struct ipt_clock_time c;

	ipt_clock_at(&t->clock, off, &c);
	t->hi = c.used_hi;
	t->next = c.hi;
	t->pkt = off;
	t->pkt_lo = c.lo;
	return c.used_lo;
}

void ipt_time_start(struct ipt_time *t, uint64_t off)
{
	t->event_lo = look(t, off);
	ipt_time_flushed(t);
}

void ipt_time_flushed(struct ipt_time *t)
{
	t->sent = t->event_lo;
	ipt_time_not_before(t, t->sent);
	t->kept = false;
}

enum used { USED_TNT, USED_TIP, USED_EVENT };

static enum used packet_at(const struct trace_span *s, uint64_t off)
{
	const uint8_t *p = s->p + off;

	if (off >= s->size)
		return USED_EVENT;
	if ((p[0] & 0x1f) == 0x0d)
		return USED_TIP;
	if (p[0] == 0x02 && s->size - off > 1)
		return p[1] == 0xa3 ? USED_TNT : USED_EVENT;
	return (p[0] & 1) || !p[0] ? USED_EVENT : USED_TNT;
}

/* The packet at @off, or the first behind it, that is not about time; at most @end. */
static uint64_t skip_timing(const struct trace_span *s, uint64_t off, uint64_t end)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;

	while (off < end) {
		int n = ipt_packet_decode(&pkt, &ctx, s->p + off, end - off);

		if (n < 0)
			break;
		switch (pkt.kind) {
		case IPT_PAD: case IPT_TSC: case IPT_TMA: case IPT_MTC: case IPT_CYC:
			off += (unsigned)n;
			continue;
		}
		break;
	}
	return off < end ? off : end;
}

static uint64_t clock_lo(struct ipt_time *t, uint64_t off)
{
	struct ipt_clock_time c;

	ipt_clock_at(&t->clock, off, &c);
	return c.lo;
}

/*
 * Branches in the packet that was used are later than the packet before that; TIPs behind a TNT may
 * have waited with it (SDM, "Deferred TIPs"). An event is told when flow comes to it.
 */
static void used(struct ipt_time *t, const struct trace_span *s, uint64_t off, bool event)
{
	uint64_t pkt = t->pkt, lo = t->pkt_lo;
	enum used what;

	if (off == pkt)
		return;
	if (pkt < off) {	/* while events wait, the library has not read ahead */
		pkt = skip_timing(s, pkt, off);
		if (pkt != t->pkt)
			lo = clock_lo(t, pkt);
	}
	what = pkt == off ? USED_EVENT : packet_at(s, pkt);
	/* a TIP may be the event's: the library reads the FUP before it ahead */
	if (event && what == USED_TNT)
		t->event_lo = clock_lo(t, skip_timing(s, pkt + (s->p[pkt] == 0x02 ? 8 : 1), off));
	else if (event)
		t->event_lo = lo;
	look(t, off);
	if (what == USED_EVENT)
		return;
	if (what == USED_TNT || !t->kept)
		ipt_time_not_before(t, t->sent);
	t->kept |= what == USED_TNT;
	t->sent = lo;
}

void ipt_time_packet(struct ipt_time *t, const struct trace_span *s, uint64_t off)
{
	used(t, s, off, false);
}

void ipt_time_event(struct ipt_time *t, const struct trace_span *s, uint64_t off)
{
	used(t, s, off, true);
}
