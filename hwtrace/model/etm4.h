/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_MODEL_ETM4_H
#define HWT_MODEL_ETM4_H

/*
 * Software trace unit for ETMv4 instruction trace (Arm IHI 0064), A64, A32 and T32. Sections and
 * names in comments are those of IHI 0064 chapters 5 (elements), 6 (packets) and 7 (registers).
 *
 * What is free by the architecture is an option, or chosen by @seed: which atom format, which form
 * of address, when the internal buffer overflows. Working memory is fixed; put() never allocates.
 */
#include <stdint.h>

#include "model.h"

/* Zero is a legal value of each field, but for @trace_id. */
struct model_etm4_cfg {
	uint64_t seed;
	uint8_t trace_id;	/* 1 to 0x6f */
	uint8_t greedy;		/* 1: always the shortest packet; 0: any legal one, by @seed */
	uint8_t ret_stack;	/* TRCCONFIGR.RS */
	/*
	 * 1: the address of an exception right behind an indirect branch is also told to be the
	 * branch's target (E1:E0 = 10). With a return stack OpenCSD 1.3.3 takes that for a
	 * match, and crashes if its stack is empty.
	 */
	uint8_t exc_at_target;
	uint8_t cid;		/* TRCCONFIGR.CID: CONTEXTIDR in context packets */
	uint8_t vmid_size;	/* bytes of a VMID: 0 (not traced), 1 or 4 */
	uint8_t timestamps;	/* TRCCONFIGR.TS */
	uint8_t cycles;		/* TRCCONFIGR.CCI */
	uint8_t commit1;	/* TRCIDR0.COMMOPT: 1 cycle counts do not commit */
	uint8_t max_spec;	/* TRCIDR8.MAXSPEC: elements that may wait for their commit */
	/*
	 * cycle counts of format 2: 0 never, 1 allowed, 2 allowed where bit 0 of the count is the F
	 * bit of the header. OpenCSD 1.3.3 takes the former for the latter.
	 */
	uint8_t cc_format2;
	uint8_t wfx_branch;	/* TRCIDR2.WFXMODE: WFI and WFE are traced as branches */
	uint8_t exclude;	/* bit set of exception levels that leave no trace */
	uint8_t addr32;		/* TRCIDR2.IASIZE is 32 bits: a PE without AArch64 */
	uint8_t cc_bits;	/* of the cycle counter, 12 to 20, TRCIDR2.CCSIZE; 0: 20 */
	uint8_t sync_period;	/* TRCSYNCPR: 2^n bytes, 8 to 20; 0: only where needed */
	uint16_t cc_threshold;	/* TRCCCCTLR: cycles, below 2^12; 0: 1 */
	uint32_t ts_every;	/* ticks between timestamps; 0: with synchronisation only */
	uint32_t event_every;	/* RUN events between event packets, on average; 0: none */
	uint32_t overflow_every;	/* RUN events between overflows, on average; 0: none */
	uint32_t overflow_len;	/* RUN events that an overflow swallows at most; 0: 16 */
	/* timestamp = tick * ts_mul / ts_div, cycles = ticks * cc_mul / cc_div; 0: 1 */
	uint32_t ts_mul, ts_div, cc_mul, cc_div;
};

/* What a decoder must know of the unit. */
struct model_etm4_regs {
	uint32_t configr, traceidr, syncpr, ccctlr;
	uint32_t idr[14];	/* TRCIDR0 to 13; those that do not exist are 0 */
	uint32_t devarch;	/* TRCDEVARCH */
};

struct model_etm4_count {
	uint64_t events;	/* given */
	uint64_t bytes;		/* sent */
	uint64_t atom_packets[7];	/* by format, from 1 */
	uint64_t atoms[2];		/* N, E */
	uint64_t match[3];		/* exact match by entry of the history */
	/* short by bytes and instruction set, long by bits */
	uint64_t short1[2], short2[2], long32[2], long64[2];
	uint64_t ctx_long32[2], ctx_long64[2];	/* address with context */
	uint64_t context, context_same;		/* with and without payload */
	uint64_t ret_matched, ret_missed;	/* indirect branches with a return stack */
	uint64_t exception1, exception2;	/* by bytes of type */
	uint64_t exception_at_target;		/* E1:E0 is 10 */
	uint64_t exception_return;
	uint64_t timestamp, timestamp_cc;
	uint64_t cc1, cc1_unknown, cc2, cc3;
	uint64_t commit;
	uint64_t sync;		/* A-sync with trace info */
	uint64_t trace_on;
	uint64_t overflow, overflow_events;
	uint64_t event_packets;
	uint64_t unproven;	/* RUN events that no packet tells, but for overflows */
};

struct model_etm4;

/* 0, -EINVAL for a configuration that can not be, -ENOMEM. @to is copied. */
int model_etm4_new(struct model_etm4 **out, const struct model_etm4_cfg *cfg,
		   const struct model_out *to);
/*
 * Takes one event; 0 or an error of @to. A TRAP whose ctx.isa is not 0 says by it what instruction
 * set is at @from. A RUN of a SYSCALL block is the exception itself, as no TRAP follows it.
 */
int model_etm4_put(struct model_etm4 *m, const struct model_event *ev);
/* Sends all that waits. Nothing may be put afterwards. */
int model_etm4_end(struct model_etm4 *m);
void model_etm4_free(struct model_etm4 *m);	/* NULL is fine */
const struct model_etm4_count *model_etm4_counts(const struct model_etm4 *m);
/* Pure function. */
void model_etm4_regs(struct model_etm4_regs *out, const struct model_etm4_cfg *cfg);

#endif
