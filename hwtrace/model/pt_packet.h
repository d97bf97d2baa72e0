/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_PT_PACKET_H
#define HWT_MODEL_PT_PACKET_H

/*
 * Writes Intel PT packets, from the manual (Intel SDM vol. 3, "Trace Packets and Data Types"). It
 * shares no table and no code with decoders/, so that a mistake there is not repeated here.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "pt.h"

/* Into memory of the caller; what does not fit sets @full and writes nothing. */
struct model_pt_buf {
	uint8_t *p;
	size_t n, cap;		/* bytes written, room */
	uint64_t last_ip;	/* as the decoder must know it */
	bool full;
};

enum model_pt_ipb {		/* values of the IPBytes field (SDM, "TIP Packet") */
	MODEL_PT_IPB_0 = 0, MODEL_PT_IPB_16 = 1, MODEL_PT_IPB_32 = 2, MODEL_PT_IPB_48S = 3,
	MODEL_PT_IPB_48 = 4, MODEL_PT_IPB_64 = 6,
	MODEL_PT_IPB_BEST = 100	/* the shortest that gives the address */
};

void model_pt_init(struct model_pt_buf *e, void *p, size_t cap);
void model_pt_raw(struct model_pt_buf *e, const void *p, size_t n);	/* any bytes */

void model_pt_pad(struct model_pt_buf *e, unsigned n);
void model_pt_psb(struct model_pt_buf *e);	/* last ip becomes 0 */
void model_pt_psbend(struct model_pt_buf *e);
void model_pt_ovf(struct model_pt_buf *e);
void model_pt_stop(struct model_pt_buf *e);

/*
 * An IP packet: TIP, PGE, PGD or FUP. False, and nothing is written, if @ipb can not give @ip from
 * the last one.
 */
bool model_pt_ip(struct model_pt_buf *e, enum model_pt_kind what, uint64_t ip,
		 enum model_pt_ipb ipb);
bool model_pt_tip(struct model_pt_buf *e, uint64_t ip);		/* MODEL_PT_IPB_BEST */
bool model_pt_pge(struct model_pt_buf *e, uint64_t ip);
bool model_pt_pgd(struct model_pt_buf *e, uint64_t ip);
bool model_pt_fup(struct model_pt_buf *e, uint64_t ip);
void model_pt_pgd_noip(struct model_pt_buf *e);

/* True if @ip sent in this form after the last one is read as @ip. */
bool model_pt_ip_fits(const struct model_pt_buf *e, uint64_t ip, enum model_pt_ipb ipb);

/* The low @n of @bits, the oldest branch highest, 1 taken. */
void model_pt_tnt(struct model_pt_buf *e, uint64_t bits, unsigned n);		/* 1 to 6 */
void model_pt_tnt_long(struct model_pt_buf *e, uint64_t bits, unsigned n);	/* 1 to 47 */

void model_pt_exec(struct model_pt_buf *e, unsigned bits);	/* code size: 16, 32 or 64 */
void model_pt_tsx(struct model_pt_buf *e, bool intx, bool abort);
void model_pt_pip(struct model_pt_buf *e, uint64_t cr3, bool nr);	/* @cr3: multiple of 32 */
void model_pt_vmcs(struct model_pt_buf *e, uint64_t base);		/* multiple of 4096 */
void model_pt_cbr(struct model_pt_buf *e, uint8_t ratio);
void model_pt_tsc(struct model_pt_buf *e, uint64_t tsc);		/* 56 bits */
void model_pt_tma(struct model_pt_buf *e, uint16_t ctc, uint16_t fc);	/* @fc: 9 bits */
void model_pt_mtc(struct model_pt_buf *e, uint8_t ctc);
void model_pt_cyc(struct model_pt_buf *e, uint64_t cycles);		/* shortest form */
void model_pt_mnt(struct model_pt_buf *e, uint64_t v);
void model_pt_ptw(struct model_pt_buf *e, uint64_t v, unsigned bytes, bool ip);	/* 4 or 8 */
void model_pt_exstop(struct model_pt_buf *e, bool ip);
void model_pt_mwait(struct model_pt_buf *e, uint32_t hints, uint32_t extensions);
void model_pt_pwre(struct model_pt_buf *e, unsigned state, unsigned sub, bool hw); /* as sent */
void model_pt_pwrx(struct model_pt_buf *e, unsigned last, unsigned deepest, unsigned wake);
void model_pt_bbp(struct model_pt_buf *e, unsigned type, unsigned item_bytes);	/* 4 or 8 */
void model_pt_bip(struct model_pt_buf *e, unsigned id, uint64_t v, unsigned item_bytes);
void model_pt_bep(struct model_pt_buf *e, bool ip);
void model_pt_cfe(struct model_pt_buf *e, unsigned type, uint8_t vector, bool ip);
void model_pt_evd(struct model_pt_buf *e, unsigned type, uint64_t v);

#endif
