/* SPDX-License-Identifier: BSD-2-Clause */
#include "ipt_time.h"

#include "../pt/packet.h"
#include "flow.h"

void ipt_time_init(struct ipt_time *t, const struct time_map *map)
{
	*t = (struct ipt_time){ .map = map, .tsc = HWT_TIME_UNKNOWN, .lo = HWT_TIME_UNKNOWN,
		.sent = HWT_TIME_UNKNOWN, .pkt = HWT_NO_OFF, .ns_of = HWT_TIME_UNKNOWN,
		.lo_of = HWT_TIME_UNKNOWN };
}

static uint64_t lo_ns(struct ipt_time *t)
{
	if (t->lo != HWT_TIME_UNKNOWN && t->lo != t->lo_of) {
		t->lo_ns = time_map_ns(t->map, t->lo);
		t->lo_of = t->lo;
	}
	return t->lo == HWT_TIME_UNKNOWN ? HWT_TIME_UNKNOWN : t->lo_ns;
}

void ipt_time_reach(struct ipt_time *t, struct hwt_event *ev)
{
	uint64_t d = t->map ? ipt_time_ns(t) : t->tsc;

	ev->span = HWT_SPAN_UNKNOWN;
	if (d == HWT_TIME_UNKNOWN || d < ev->time)
		return;
	d -= ev->time;
	ev->span = d < FLOW_REACH_UNKNOWN ? (uint32_t)d : FLOW_REACH_UNKNOWN;
}

void ipt_time_stamp(struct ipt_time *t, struct hwt_event *ev)
{
	ev->time = t->map ? lo_ns(t) : t->lo;
	ev->clock = t->map ? HWT_CLOCK_BASE : HWT_CLOCK_TSC;
	ipt_time_reach(t, ev);
}

void ipt_time_flushed(struct ipt_time *t, uint64_t off)
{
	ipt_time_not_before(t, t->tsc);
	t->sent = t->tsc;
	t->pkt = off;
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

/*
 * True if no time stands between the packet at @off, a TNT or TIP, and the event behind it, or the
 * end.
 */
static bool event_follows(const struct trace_span *s, uint64_t end, uint64_t off)
{
	struct ipt_ctx ctx = { 0 };
	struct ipt_packet pkt;
	int n;

	for (int i = 0; i < 16 && off < end; i++, off += (unsigned)n) {
		n = ipt_packet_decode(&pkt, &ctx, s->p + off, end - off);
		if (n < 0)
			return false;
		switch (pkt.kind) {
		case IPT_TSC: case IPT_TMA: case IPT_MTC: case IPT_CYC:
			return false;
		}
		if (i && pkt.kind != IPT_PAD)
			return true;
	}
	return off >= end;
}

/*
 * Branches in the packet that was used are later than the packet before that; TIPs behind a TNT may
 * have waited with it (SDM, "Deferred TIPs"). An event is told when flow comes to it.
 */
void ipt_time_packet(struct ipt_time *t, const struct trace_span *s, uint64_t end, uint64_t off,
		     bool sure)
{
	uint64_t pkt = t->pkt;
	enum used used;

	if (off == pkt)
		return;
	used = packet_at(s, pkt);
	t->pkt = off;
	if (used == USED_EVENT)
		return;
	if (used == USED_TNT || !t->kept)
		ipt_time_not_before(t, t->sent);
	t->kept |= used == USED_TNT;
	if (sure || event_follows(s, end, pkt))
		t->sent = t->tsc;
}
