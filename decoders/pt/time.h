/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWT_PT_TIME_H
#define HWT_PT_TIME_H

/*
 * Between which TSC ticks each packet of a run was sent, from its timing packets alone. Intel SDM
 * vol. 3, chapter "Intel Processor Trace": "TSC Packet", "TMA Packet", "MTC Packet", "CYC Packet",
 * "CBR Packet", "OVF Packet", and the section on estimating the TSC.
 *
 * What is taken for granted:
 * - TSC is exact. TMA belongs to the TSC before it; its fast counter is the ticks since the crystal
 *   clock (CTC) stepped. CPUID leaf 15H gives TSC = CTC * ebx / eax. MTC is sent at a step.
 * - Fewer MTCs are lost in an overflow than its 8 bits count; half of that elsewhere.
 * - CYC is the whole cycles since the CYC before, sent with the packet behind it in one cycle. What
 *   a threshold or a fraction leaves out is in the next one. That of an OVF may have wrapped.
 * - A core cycle is nom_freq / CBR ticks, give or take IPT_CLOCK_DRIFT. CBR is sent as it changes;
 *   in the cycles of the CYC around it both hold. After an overflow it may be any: then two exact
 *   instants with cycles between tell it, up to the next CBR.
 * - What stops cycles and MTCs (sleep, a change of the clock) ends with a TSC. So cycles tell
 *   always how much time passed at least, and over a TSC outside of PSB+ not how much at most.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "packet.h"

/*
 * One part in so many: the reference clock is spread by up to 0.5 % (Intel datasheets, "spread
 * spectrum clocking"), and the TSC ratio of CPUID is up to 0.3 % off nom_freq * 100 MHz.
 */
#define IPT_CLOCK_DRIFT	128
#define IPT_CLOCK_WINDOW 2048	/* instants between two exact ones that are looked at together */
#define IPT_NO_TIME	UINT64_MAX

struct ipt_clock_cfg {
	uint32_t ctc_eax, ctc_ebx;	/* CPUID leaf 15H; 0: MTC is not used */
	uint8_t mtc_freq;		/* CTL.MTCFreq */
	uint8_t nom_freq;		/* core : bus ratio of the TSC; 0: not known */
};

/* A CYC packet, or the exact instant (TSC, MTC) at the end of a window, and what lies around it. */
struct ipt_instant {
	uint64_t off, end;
	uint64_t first;		/* flow packet since the instant before, but for its stamped one */
	uint64_t stamp;		/* flow packet that was sent in the cycle of this CYC */
	uint64_t lo, hi;
	uint64_t cycles;	/* of CYC */
	uint8_t cbr_lo, cbr_hi;	/* ratios in these cycles; both 0: one, not known; one 0: any */
};

struct ipt_clock {
	struct ipt_clock_cfg cfg;
	/* the packets */
	const uint8_t *p;	/* of the span */
	uint64_t at, end;
	struct ipt_ctx ctx;
	bool group;		/* in PSB+ */
	bool fresh;		/* no time passed since the TSC */
	uint64_t tsc;
	uint64_t first, stamp;	/* see struct ipt_instant */
	/* CTC: step @ctc is at @edge; step @count << mtc_freq was sent last */
	bool ctc_known, mtc_lost;
	uint64_t edge, ctc, count, count_mask;
	/* core clock */
	uint8_t raw;		/* CBR as sent last, 0: overflow since */
	uint8_t cbr, cbr_lo, cbr_hi;	/* now, and since the last instant, as in ipt_instant */
	unsigned epoch;		/* instants before this one have another ratio */
	uint64_t rate_lo, rate_hi;	/* of the one that is not known, 0: not learned */
	/* the end of the window before; @lo IPT_NO_TIME: nothing is known yet */
	uint64_t lo, hi;
	bool counted;		/* its cycle is known: it has a CYC */
	/* the window */
	unsigned n, passed;	/* instants; those before the place that was asked for last */
	uint64_t asked;
	struct ipt_instant last;	/* passed last */
	uint64_t used_lo, used_hi;
	struct ipt_instant in[IPT_CLOCK_WINDOW];
};

struct ipt_clock_time {
	uint64_t lo;		/* a packet at the place is not sent earlier */
	uint64_t hi;		/* nor later */
	uint64_t used_lo, used_hi;	/* the same of the last flow packet before the place */
};

void ipt_clock_init(struct ipt_clock *c, const struct ipt_clock_cfg *cfg);
/* A run of whole packets [@begin, @end) of @p, which must outlive it. Nothing is known. */
void ipt_clock_start(struct ipt_clock *c, const uint8_t *p, uint64_t begin, uint64_t end);
/*
 * Time at the packet at @off, in TSC ticks; IPT_NO_TIME where nothing bounds it. Places are asked
 * for in order; for an earlier one than before @lo is not known and the rest is of the later one.
 */
void ipt_clock_at(struct ipt_clock *c, uint64_t off, struct ipt_clock_time *out);

#endif
