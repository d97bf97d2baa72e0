/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_SCAN_H
#define HWT_FLOW_IPT_SCAN_H

/*
 * One pass over the packets of a span before the flow decoder sees them, so that it only gets whole
 * packets that it knows, and every byte that it does not get is counted exactly. A few percent of
 * the cost of a walk.
 */
#include <stdbool.h>

#include "../../hwtrace/source/capture.h"
#include "../pt/packet.h"

/* A run of well-formed packets that starts with a PSB. Offsets in the span. */
struct ipt_seg {
	uint64_t begin, end;	/* equal if there is none */
	/*
	 * What ends it, and why: a bad packet at @bad, or a PSB group from @end on that holds one
	 * or is cut. @next is a PSB or the end of the span.
	 */
	uint64_t bad, next;
	uint16_t cause;		/* enum hwt_gap_cause: NONE, BAD_PACKET, TRUNCATED or BREAK */
	bool foreign;		/* holds packets that libipt 2.0.5 does not know */
	uint32_t kinds;		/* bit of each enum ipt_kind that it holds */
	uint64_t cut_cyc;	/* the first CYC that an OVF may have cut, HWT_NO_OFF if none */
	uint64_t back;		/* the first TSC packet that is 0 or before the last, HWT_NO_OFF */
	uint64_t tsc;		/* of the last one; zero before the first run of a buffer */
};

/* A CYC of two bytes that with the byte after it reads x7 02 f3: the last two may be an OVF. */
bool ipt_looks_cut(const struct ipt_packet *pkt, const uint8_t *p, uint64_t n);

/* The first run at or after @from; [@from, begin) is before any PSB. */
void ipt_scan(struct ipt_seg *out, const struct trace_span *s, uint64_t from);

/*
 * True if the first @n bytes of a span, before its first PSB, are memory that the trace unit never
 * wrote: zeros, which are read as PAD. Without a PSB behind them zeros are no trace.
 */
bool ipt_unwritten(const struct trace_span *s, uint64_t n);

struct ipt_patch {	/* a copy that is made in pieces */
	uint64_t at;		/* next packet, offset in the span; begins at seg.begin */
	struct ipt_ctx ctx;
	bool group;		/* in a PSB group */
};

/*
 * Copies whole packets of a run to @dst, as many as @room bytes hold, and returns the bytes; 0 at
 * the end of the run. The packets that libipt does not know are taken out: PAD in their place, so
 * that offsets stay. Where one is bound to the FUP after it (BEP, CFE and TRIG with IP,
 * MODE.Exec that tells of a new interrupt flag), an EXSTOP
 * with IP takes its place, so that the FUP keeps its meaning for IP compression and the walker
 * stops at its address. An EXSTOP or PTW whose FUP was lost in an overflow loses its bit IP, so
 * that libipt delivers it without an address.
 */
size_t ipt_scan_patch(uint8_t *dst, size_t room, struct ipt_patch *w, const struct trace_span *s,
		      const struct ipt_seg *seg);

/* A packet, or a whole PEBS block (BBP to BEP), that libipt does not know. */
struct ipt_foreign {
	uint64_t off, size;	/* in the span; without the FUP */
	/* IPT_BBP for a block, IPT_EVD, IPT_CFE, IPT_TRIG, IPT_MNT, IPT_MODE_EXEC, IPT_EXSTOP */
	uint8_t kind;
	bool bound;		/* libipt gives an EXSTOP event for it */
	bool whole;		/* a block that ends with its BEP */
};

/* Reads the foreign packets of a run in order; starts zeroed with the run's begin and end. */
struct ipt_foreign_walk {
	uint64_t at, end;	/* offsets in the span */
	struct ipt_ctx ctx;
	bool group;		/* in a PSB group */
};
/*
 * The next one that begins before @limit: 1, or 0. An EXSTOP with IP is
 * given too (kind IPT_EXSTOP), so that the bound ones can be told apart by their order.
 */
int ipt_foreign_next(struct ipt_foreign *out, struct ipt_foreign_walk *w,
		     const struct trace_span *s, uint64_t limit);

/* True if the FUP that ends at @at is the source of an asynchronous branch. */
bool ipt_fup_has_target(const uint8_t *p, uint64_t at, uint64_t end);

/*
 * Offset of the first OVF in [@from, @limit), or @limit. @from is the start of a packet. @cyc_cut:
 * the CPU may write an OVF after the first byte of a CYC (errata SKD007, SKL049, KBL041).
 */
uint64_t ipt_next_ovf(const struct trace_span *s, uint64_t from, uint64_t limit, bool cyc_cut);

#endif
