/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_ETM4_PKT_H
#define HWT_MODEL_ETM4_PKT_H

/* Packets of the ETMv4 unit, and what both ends of the link remember between them. */
#include <stdbool.h>

#include "etm4.h"

#define ETM4_ATOMS 24		/* most atoms of one packet (format 6) */
#define ETM4_HISTORY 3		/* addresses that exact match can name, IHI 0064 6.4.12 */

struct etm4_ctx {
	uint32_t cid, vmid;
	uint8_t el, ns, sf;
};

struct etm4_pkt {
	const struct model_etm4_cfg *cfg;
	struct model_out to;
	struct model_etm4_count *count;
	uint64_t rnd;
	int err;			/* of @to, sticky */

	struct { uint64_t a; uint8_t is; } hist[ETM4_HISTORY];
	unsigned nhist;			/* entries written since the last trace info */
	uint64_t ts;			/* last timestamp, 0 after trace info */
	struct etm4_ctx ctx;		/* last one sent */
	bool ctx_known;
	uint32_t spec;			/* P0 elements without commit */
	uint64_t since_sync;		/* bytes */

	/* atoms that wait, first in bit 0; 1 is E; @event: number of the event behind each */
	uint32_t atoms;
	unsigned natoms;
	uint64_t event[ETM4_ATOMS];
	uint64_t proven;		/* events before this one have been told */

	size_t n;
	uint8_t out[4096];
};

/* A number below @n, which is not 0. */
uint32_t etm4_rnd(struct etm4_pkt *k, uint32_t n);
void etm4_send(struct etm4_pkt *k);

/* Of a P0 element that the event number @event made. */
void etm4_atom(struct etm4_pkt *k, bool taken, uint64_t event);
void etm4_flush_atoms(struct etm4_pkt *k);
/* A-sync and trace info; everything remembered is forgotten. */
void etm4_sync(struct etm4_pkt *k);
void etm4_trace_on(struct etm4_pkt *k);
void etm4_overflow(struct etm4_pkt *k);
/* @is: 0 A64 and A32, 1 T32. */
void etm4_address(struct etm4_pkt *k, uint64_t a, unsigned is);
/* Whether the other end knows that @ctx holds. */
bool etm4_same_ctx(const struct etm4_pkt *k, const struct etm4_ctx *ctx);
/* The address, where @addr says so, and the context, where it differs from the last one. */
void etm4_place(struct etm4_pkt *k, const struct etm4_ctx *ctx, bool addr, uint64_t a, unsigned is);
/* The address packet must follow at once. */
void etm4_exception(struct etm4_pkt *k, unsigned type, bool at_target);
void etm4_exception_return(struct etm4_pkt *k);
void etm4_event(struct etm4_pkt *k, unsigned bits);
/* @cycles since the last cycle count, used if they are traced. */
void etm4_timestamp(struct etm4_pkt *k, uint64_t value, uint64_t cycles);
/* Commits all P0 elements that wait. */
void etm4_commit(struct etm4_pkt *k);
void etm4_cycles(struct etm4_pkt *k, uint64_t cycles, bool known);

unsigned etm4_cc_threshold(const struct model_etm4_cfg *cfg);
unsigned etm4_cc_bits(const struct model_etm4_cfg *cfg);

#endif
