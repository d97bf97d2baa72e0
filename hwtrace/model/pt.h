/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_PT_H
#define HWT_MODEL_PT_H

/*
 * A software trace unit that sends Intel PT: from what one CPU did (model.h) to the packets of the
 * Intel SDM vol. 3, chapter "Intel Processor Trace" (quoted as "SDM" with a section's title). One
 * unit is one logical processor, TraceEn from the first event to MODEL_END. Memory is fixed at new.
 */
#include <stdbool.h>

#include "model.h"

#define MODEL_PT_PSB_MIN	128	/* bytes: longer than a PSB+ */
#define MODEL_PT_RANGES	4	/* address filters: CPUID leaf 14H has at most four */

enum model_pt_tnt { MODEL_PT_TNT8, MODEL_PT_TNT64, MODEL_PT_TNT_MIX };
enum model_pt_ips {
	MODEL_PT_IP_AUTO,	/* the shortest form that gives the address */
	MODEL_PT_IP_WIDE,	/* never against the last IP: 6 bytes, 8 where they do not do */
	MODEL_PT_IP_MIX		/* any legal form, by @seed */
};

/* Zero is a plain trace: PSB at the start only, no time, user and kernel. */
struct model_pt_cfg {
	uint64_t seed;		/* of all choices; the same seed gives the same bytes */

	/* what is traced (SDM, "Filtering by CPL", "Filtering by IP") */
	bool no_user, no_kernel;	/* CTL.User, CTL.OS cleared; the kernel is CPL 0 to 2 */
	struct { uint64_t first, last; } range[MODEL_PT_RANGES];
	unsigned nranges;	/* 0: all; looked at where blocks begin, not inside them */

	/* form */
	uint32_t psb_bytes;	/* from one PSB to the next, 128 or more; 0: one at the start */
	uint8_t tnt;		/* enum model_pt_tnt */
	uint8_t ips;		/* enum model_pt_ips */
	bool retcomp;		/* returns are compressed: CTL.DisRETC cleared */
	/*
	 * A RET that does not go to the youngest entry empties the stack. Units take that entry
	 * alone, but libipt (2.0.5) takes it for compressed returns only, so it would go on with
	 * another stack: with this, what is compressed is the same for both.
	 */
	bool ret_clear;
	bool defer_tips;	/* TIPs wait behind a TNT that is not full (SDM, "Deferred TIPs") */
	bool ptw, ptw_fup;	/* CTL.PTWEn, CTL.FUPonPTW */
	bool tsx;		/* MODE.TSX in PSB+, as units with TSX do */
	bool nr;		/* VMX non-root, not concealed: NR in PIP */
	uint64_t vmcs;		/* base address for VMCS in PSB+; 0: none */

	/* time; model_event.tick is the TSC */
	bool tsc;		/* CTL.TSCEn */
	bool mtc;		/* CTL.MTCEn */
	uint8_t mtc_freq;	/* CTL.MTCFreq: each 2^n crystal clocks, 0 to 15 */
	uint32_t ctc_eax, ctc_ebx;	/* CPUID leaf 15H: TSC = crystal * ebx / eax; 0: 1 : 1 */
	bool mtc_flush;		/* each MTC finds the TNT sent; else that waits over it */
	bool cyc;		/* CTL.CYCEn */
	uint8_t cyc_thresh;	/* CTL.CYCThresh, 0 to 12: no CYC for less than 2^(n-1) cycles */
	uint8_t ratio;		/* core : bus at the start and of the TSC (P1); 0: 30 */
	uint32_t cbr_every;	/* mean of ticks from one change of the core clock to the next */
	uint8_t cbr_min, cbr_max;	/* ratios it changes to; 0: half and all of @ratio */

	/* internal overflow (SDM, "Internal Buffer Overflow") */
	uint32_t ovf_every;	/* mean of events between two, by @seed; 0: none */
	uint32_t ovf_events;	/* events that each swallows, at most; 0: 64 */
	uint32_t buf_bytes;	/* overflow of a buffer of this size; 0: none */
	uint32_t drain_bytes, drain_ticks;	/* it empties @drain_bytes each @drain_ticks */
};

enum model_pt_kind {
	MODEL_PT_PAD, MODEL_PT_PSB, MODEL_PT_PSBEND, MODEL_PT_OVF, MODEL_PT_TNT_SHORT,
	MODEL_PT_TNT_LONG, MODEL_PT_TIP, MODEL_PT_PGE, MODEL_PT_PGD, MODEL_PT_FUP, MODEL_PT_EXEC,
	MODEL_PT_TSX, MODEL_PT_PIP, MODEL_PT_VMCS, MODEL_PT_CBR, MODEL_PT_TSC, MODEL_PT_TMA,
	MODEL_PT_MTC, MODEL_PT_CYC, MODEL_PT_PTW, MODEL_PT_KINDS
};

/* What was sent so far, so that a test can show that nothing stays unused. */
struct model_pt_count {
	uint64_t bytes, events;
	uint64_t packet[MODEL_PT_KINDS];
	uint64_t ip[8];		/* IP packets by their IPBytes field */
	uint64_t branches;	/* conditional ones that were traced */
	uint64_t returns;	/* near returns that were traced */
	uint64_t compressed;	/* of these, sent as a bit */
	uint64_t deferred;	/* TIPs that waited */
	uint64_t kept;		/* MTCs that passed a TNT */
	uint64_t async;		/* FUP + TIP or TIP.PGD */
	uint64_t psb_off;	/* PSB+ while PacketEn is 0 */
	uint64_t sleeps;	/* times without events for which the clocks stood */
	uint64_t lost;		/* events that overflows swallowed */
	uint64_t jumps;		/* RUNs that began elsewhere than the event before said */
};

struct model_pt;

/* 0, -EINVAL (an option out of its limits), -ENOMEM. @to must outlive the unit, @cfg need not. */
int model_pt_new(struct model_pt **out, const struct model_pt_cfg *cfg, const struct model_out *to);
/*
 * 0, -EINVAL for an event that makes no sense, or the error of model_out.put from then on. After a
 * RUN that ends in no far transfer, a CONTEXT stands for a MOV to CR3 (PIP), also if it changes
 * nothing.
 */
int model_pt_put(struct model_pt *m, const struct model_event *ev);
/*
 * Tracing stops before the instruction at @pc, until MODEL_ENTER: software wants it so, and no
 * interrupt led away. TraceStop says it.
 */
int model_pt_leave(struct model_pt *m, uint64_t pc, uint64_t tick);
/* Sends what is left, as MODEL_END does. */
int model_pt_end(struct model_pt *m);
void model_pt_free(struct model_pt *m);		/* NULL is fine */
const struct model_pt_count *model_pt_counts(const struct model_pt *m);
const char *model_pt_kind_name(unsigned kind);	/* enum model_pt_kind: "tnt.8", ... */

#endif
