/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_PT_UNIT_H
#define HWT_MODEL_PT_UNIT_H

/* The parts of one Intel PT unit: pt.c has the flow, pt_send.c the packets, pt_time.c the time. */
#include "pt_packet.h"

#define PTU_ROOM	8192	/* bytes collected before they are handed out */
#define PTU_LARGEST	64	/* no packet is longer */
#define PTU_RETS	64	/* SDM, "Indirect Transfer Compression for Returns (RET)" */
#define PTU_TIPS	16	/* deferred at most; the manual sets no limit */
#define PTU_BITS	47	/* of the longest TNT */

/* A change of the flow whose target's context is not told yet. */
enum ptu_hold { PTU_NONE, PTU_FAR, PTU_TRAP, PTU_ENTER };

struct model_pt {
	struct model_pt_cfg cfg;
	struct model_out to;
	struct model_pt_count count;
	int err;		/* of model_out.put: final */
	uint64_t rnd;
	bool started, ended;

	/* the CPU */
	struct model_ctx ctx;
	uint64_t next;		/* address of the next instruction; >= MODEL_UNSEEN: not known */
	uint8_t bits;		/* code size, 64 or 32 */
	uint8_t hold;		/* enum ptu_hold */
	uint64_t from, target, held;	/* of @hold; its event */
	uint64_t ptw_at;	/* the PTWRITE that ran last */
	bool context_en, packet_en;	/* SDM, "Packet Enable (PacketEn)" */

	/* what a decoder knows */
	struct model_pt_buf b;
	bool fresh_ip;		/* it does not know the last IP: an overflow may have it */
	uint8_t bits_sent;	/* by MODE.Exec since the last PSB; 0: none */
	uint64_t aspace_sent;	/* by PIP */
	bool aspace_known;
	uint64_t psb_at;	/* count.bytes at the last PSB */

	/* branches and TIPs not sent yet, and the event of the oldest */
	uint64_t tnt, oldest;
	unsigned ntnt, cap, ntips;
	uint64_t tips[PTU_TIPS];
	uint64_t ret[PTU_RETS];	/* a ring */
	unsigned ret_top, nret;

	/* time */
	uint64_t now;		/* TSC */
	uint64_t mtc, mtc_at;	/* CTC >> mtc_freq; TSC at which it changes */
	uint64_t cycles;	/* since the last CYC, times cfg.ratio */
	uint64_t cbr_at;	/* TSC of the next change */
	uint8_t cbr;		/* core : bus now */

	/* internal overflow */
	bool ovf, ovf_state;	/* it lasts; what it hides is more than flow */
	uint64_t ovf_from;	/* first event without trace */
	uint64_t ovf_left;	/* events still to swallow */
	unsigned ovf_mtcs;
	uint64_t fill, fill_now, fill_bytes;	/* buffer * drain_ticks; TSC, count.bytes then */

	uint8_t room[PTU_ROOM];
};

/* 0 to @n - 1 */
uint64_t ptu_rnd(struct model_pt *m, uint64_t n);

/* Each packet is dropped while the unit overflows. */
void ptu_deliver(struct model_pt *m);		/* what was collected goes out */
void ptu_flush(struct model_pt *m);		/* TNT and deferred TIPs */
void ptu_branch(struct model_pt *m, bool taken);
void ptu_indirect(struct model_pt *m, uint64_t to);	/* TIP, now or deferred */
void ptu_ip(struct model_pt *m, enum model_pt_kind what, uint64_t ip);
void ptu_pgd_noip(struct model_pt *m);
void ptu_stop(struct model_pt *m);
void ptu_exec(struct model_pt *m);		/* MODE.Exec if it is not known */
void ptu_pip(struct model_pt *m);		/* PIP if the address space is not known */
void ptu_ptw(struct model_pt *m, uint64_t value, unsigned bytes);
void ptu_psb(struct model_pt *m);		/* PSB+ */
void ptu_mtc(struct model_pt *m);
void ptu_cbr(struct model_pt *m);
void ptu_tsc(struct model_pt *m);		/* TSC and TMA */

void ptu_ovf_begin(struct model_pt *m, uint64_t event);
/* At an instruction boundary with nothing held back. @event leaves trace again. */
void ptu_ovf_end(struct model_pt *m, uint64_t event);
/* The buffer runs over, or did and still has no room. */
bool ptu_full(struct model_pt *m);

void ptu_time_start(struct model_pt *m, uint64_t tsc);
void ptu_time_to(struct model_pt *m, uint64_t tsc);
/* SDM, "TMA Packet": crystal clock count, and TSC ticks since it changed. */
uint64_t ptu_ctc(const struct model_pt *m, unsigned *fc);

#endif
