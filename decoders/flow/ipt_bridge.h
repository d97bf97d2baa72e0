/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_FLOW_IPT_BRIDGE_H
#define HWT_FLOW_IPT_BRIDGE_H

/*
 * Going on in the middle of a PSB period after flow broke: libipt starts at a PSB only, so it is
 * given a copy of what is left of the period, with a PSB group made by hand in front that says what
 * an IP packet there says: the address where flow surely was.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../pt/packet.h"

#define IPT_BRIDGE_MAX	(1U << 20)	/* bytes of a period that are copied */

struct ipt_bridge {
	uint8_t *buf;		/* room for a group, then the bytes [from, to) of the span */
	uint64_t from, to;
	size_t cap;
	/* reads packets of the period once, for the last IP and the mode */
	uint64_t at;
	struct ipt_ctx ctx;
	struct ipt_last_ip last;
	uint8_t mode;		/* payload of the last MODE.Exec */
};

/* A new period starts with the PSB at @psb. */
void ipt_bridge_period(struct ipt_bridge *b, uint64_t psb);

/*
 * Reads the packet at b->at, which lies before @limit; @p are the bytes of the span. Its size, 0 at
 * @limit or at what is no packet. *@ip is its address if it is an IP packet, HWT_NO_ADDR if that
 * is suppressed or it is none.
 */
unsigned ipt_bridge_read(struct ipt_bridge *b, const uint8_t *p, uint64_t limit,
			 struct ipt_packet *pkt, uint64_t *ip);

/*
 * Makes flow go on after the packet of @kind (IPT_TIP, IPT_TIP_PGE or IPT_FUP) with address @ip
 * that ends at b->at; the period ends at @to. @tsc: time to start with, HWT_TIME_UNKNOWN if none.
 * Returns how many bytes of the group lie before the byte of b->at at *@start; 0 if it can not be
 * done: too long, or no memory.
 */
size_t ipt_bridge_make(struct ipt_bridge *b, const uint8_t *p, uint64_t to, unsigned kind,
		       uint64_t ip, uint64_t tsc, uint8_t **start);
void ipt_bridge_free(struct ipt_bridge *b);

#endif
