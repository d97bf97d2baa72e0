/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef HWTRACE_DECODE_H
#define HWTRACE_DECODE_H

/* What a consumer wants, said before decoding, so that nothing else is made. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum hwt_level {
	HWT_LEVEL_HOLES,	/* gaps only: what "check" needs */
	/*
	 * CALL, RETURN, exceptions, on/off, TraceStop, gaps, switches; no ranges, no transactions,
	 * no other triggers. A context
	 * (ASPACE) that repeats the last one told of its source and owner is left out, unless it
	 * is above the user's level and tracing began anew or an exception was left since. So is
	 * one between two of its kind with nothing else between them, and one that was in force
	 * only until tracing began anew in the context told before.
	 * Unless @unfolded is set, what stands behind another event is told in it: the level of a
	 * context (u.at.level) in ON, GAP, EXCEPTION, ERET or RETURN from one, and a system call's
	 * EXCEPTION (HWT_F_INTR, number, target) in its CALL. Contexts that change neither level
	 * nor owner are left out then, and an OFF at whose place tracing resumes.
	 */
	HWT_LEVEL_CALLS,
	HWT_LEVEL_RANGES,	/* RANGE and all other events */
	HWT_LEVEL_INSNS		/* every RANGE is expanded to INSN events */
};

/* Where flow goes on after it broke in the middle of Intel PT. */
enum hwt_resync {
	HWT_RESYNC_PSB,		/* at the next PSB, as libipt's own tools */
	/* at the next packet that names an address with code: a shorter hole, fewer witnesses */
	HWT_RESYNC_PACKET
};

struct hwt_addr_range { uint64_t lo, hi; };	/* both included */

struct hwt_interest {
	enum hwt_level level;
	/* ranges or edges that touch none are dropped; borrowed */
	const struct hwt_addr_range *addrs;
	size_t naddrs;				/* 0: all addresses */
	/* base clock, ns; 0 and HWT_TIME_UNKNOWN: all. Events without time pass */
	uint64_t time_lo, time_hi;
	const int32_t *cpus;			/* borrowed */
	size_t ncpus;				/* 0: all */
	/* threads; where only the process is known, that of the thread of its id; borrowed */
	const int32_t *tids;
	size_t ntids;				/* 0: all */
	enum hwt_resync resync;
	bool unfolded;		/* HWT_LEVEL_CALLS: nothing is told in another event */
	/*
	 * HWT_LEVEL_CALLS: RANGE too, behind what led there and before the CALL or RETURN that it
	 * ends with; as with @unfolded nothing is told in another event
	 */
	bool ranges;
};

#define HWT_INTEREST_ALL { .level = HWT_LEVEL_INSNS, .time_hi = HWT_TIME_UNKNOWN }

/* Work counted by a flow stream, for tests and for the quality line. */
struct hwt_flow_stats {
	uint64_t bytes_in;	/* size of the trace buffer */
	uint64_t bytes_decoded;	/* inside packets that were understood and used */
	/* sum of gap.bytes; bytes_in == bytes_decoded + bytes_skipped at the end */
	uint64_t bytes_skipped;
	/*
	 * of the decoded ones: understood, but the flow that they tell is not known, for want of
	 * code or because it is in doubt; bytes of frames in proportion
	 */
	uint64_t bytes_blind;
	uint64_t bytes_lost;	/* sum of gap.lost: never were in the input */
	/* instructions walked, whether asked for or not; for ranges of unknown path: 0 */
	uint64_t insns;
	uint64_t ranges;	/* ranges walked */
	uint64_t events;	/* events handed to the consumer */
	uint64_t gaps;		/* holes, whether asked for or not */
	/* calls into the backend library: bounded by a linear function of bytes_in */
	uint64_t steps;
};

/* Adds the counts of one buffer to a sum. */
static inline void hwt_flow_stats_add(struct hwt_flow_stats *sum, const struct hwt_flow_stats *s)
{
	sum->bytes_in += s->bytes_in;
	sum->bytes_decoded += s->bytes_decoded;
	sum->bytes_skipped += s->bytes_skipped;
	sum->bytes_blind += s->bytes_blind;
	sum->bytes_lost += s->bytes_lost;
	sum->insns += s->insns;
	sum->ranges += s->ranges;
	sum->events += s->events;
	sum->gaps += s->gaps;
	sum->steps += s->steps;
}

#endif
