/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_PACKET_H
#define HWTRACE_PACKET_H

/* Trace packets as they are in the buffer, for listing. Flow decoding does not go through here. */
#include <stdint.h>

struct hwt_flow_stats;

enum hwt_proto {
	HWT_PROTO_NONE, HWT_PROTO_PT, HWT_PROTO_ETM3, HWT_PROTO_PTM, HWT_PROTO_ETM4, HWT_PROTO_ETE,
	HWT_PROTO_STM, HWT_PROTO_ITM
};

/* "Intel PT", "ETMv4", ...; static, never NULL. */
const char *hwt_proto_name(unsigned proto);

struct hwt_packet {
	/* byte offset in the trace buffer (frames included for CoreSight) */
	uint64_t off;
	uint32_t size;		/* bytes of this packet; for CoreSight without frame bytes */
	uint8_t  proto;		/* enum hwt_proto */
	uint8_t  trace_id;	/* CoreSight trace id, 0 if none */
	uint8_t  bad;		/* 1: these bytes are no packet; @text says why */
	/*
	 * 1: read as a packet, but it follows damage and there was no synchronisation since, so
	 * nothing is made of it (CoreSight)
	 */
	uint8_t  unused;
	/*
	 * enum hwt_gap_cause: a good packet that is a hole by itself, as it says that trace was
	 * lost before it (overflow), or can not follow what was before it; 0 if not
	 */
	uint8_t  hole;
	uint8_t  raw_size;	/* bytes valid in @raw */
	uint8_t  raw[32];	/* the first bytes of the packet */
	char     name[32];	/* "psb", "tip.pge", "I_ATOM_F1" */
	char     text[160];	/* payload in words, "" if none */
};

struct hwt_packets;

/* 1: @pkt is filled; 0: end of the buffer; negative: error. @pkt is owned by the caller. */
int hwt_packets_next(struct hwt_packets *ps, struct hwt_packet *pkt);
/*
 * Bytes and holes so far, counted as a flow stream counts them but for what needs code. 1, or 0 if
 * this protocol keeps none: then each run of packets with @bad is a hole, and each with @hole.
 */
int hwt_packets_stats(const struct hwt_packets *ps, struct hwt_flow_stats *out);
void hwt_packets_close(struct hwt_packets *ps);	/* NULL is fine */

#endif
